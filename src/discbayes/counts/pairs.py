"""Counts of pairs of features with the class, and the mutual information that they give.

Two kernels count. Bit sets (a bit vector for each value, rows sorted by class, population count of
the intersection) are several times faster if the features have few values; a plain loop is faster
if they have many, and it counts rows with weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from operator import add
from typing import Any

import numpy as np

from discbayes._memory import require_memory
from discbayes.counts import contingency
from discbayes.counts.contingency import Counts, _same, count, kernel_classes, kernel_weight, parts
from discbayes.data.domain import Encoded
from discbayes.data.row_blocks import in_blocks_if_weighted
from discbayes.data.rows import Rows
from discbayes.engine import parallel_map
from discbayes.kernels import counting, saturated

KNOWN_LOGS = 1 << 20  # rows up to which x log x is tabulated: 8 MB
# for each cell of tables that are kept: the counts so far, those of more rows, and their sum
KEPT_BYTES = 24
MEASURES = 4  # numbers in `PairInformation` for each pair
# Nanoseconds, measured: a word of two bit sets, a class of one cell, a row of the loop. Only their
# ratios matter.
WORD_COST = 1.4
CELL_COST = 4.0
ROW_COST = 1.25

NO_STARTS, NO_CELLS = np.empty(0, np.int64), np.empty(0)
NO_MEASURES = np.empty((0, MEASURES))

# called with the first feature, later ones, and the starts and cells of their tables
Visit = Callable[[int, np.ndarray, np.ndarray, np.ndarray], None]
# called with first, seconds, starts, cells, measures; measures if there are no cells
CountPairs = Callable[[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray], None]
OnePairs = Callable[[int, np.ndarray, CountPairs], None]


@dataclass(frozen=True)
class PairInformation:
    """Mutual information of every pair of features, in nats.

    All are symmetric matrices of shape ``(n_features, n_features)`` with zeros on the diagonal.
    Each pair is measured on the rows where both features are observed, or by EM on all rows.

    Parameters
    ----------
    conditional : ndarray
        The conditional mutual information I(Xi;Xj|C).
    plain : ndarray
        The mutual information I(Xi;Xj).
    joint : ndarray
        The mutual information I(C;Xi,Xj).
    total : ndarray
        The weight of the rows of each pair.

    Examples
    --------
    >>> from discbayes.counts import count, pair_information
    >>> from discbayes.data import FrameEncoder
    >>> rows = [["red", "big"], ["red", "small"], ["blue", "big"], ["blue", "small"]]
    >>> data = FrameEncoder().fit_transform(rows, ["yes", "no", "no", "yes"])
    >>> information = pair_information(data, count(data))
    >>> information.plain.round(4)
    array([[0., 0.],
           [0., 0.]])
    >>> information.conditional.round(4)
    array([[0.    , 0.6931],
           [0.6931, 0.    ]])
    """

    conditional: np.ndarray
    plain: np.ndarray
    joint: np.ndarray
    total: np.ndarray


@dataclass(frozen=True)
class PairCounts:
    """Counts of every pair of features with the class: pairs (0,1), (0,2), …, class innermost."""

    cards: np.ndarray
    n_classes: int
    cells: np.ndarray

    @cached_property
    def starts(self) -> np.ndarray:
        """The first cell of each pair, and the number of cells at the end."""
        return pair_starts(self.cards, self.n_classes)

    def table(self, i: int, j: int) -> np.ndarray:
        """Return the counts of two features, shape ``(card[i], card[j], n_classes)``."""
        if i == j:
            raise ValueError(f"a pair needs two features, not feature {i} twice")
        a, b = min(i, j), max(i, j)
        position = pair_places(self.cards.size, a, b)
        cells = self.cells[self.starts[position] : self.starts[position + 1]]
        table = cells.reshape(self.cards[a], self.cards[b], self.n_classes)
        return table if i < j else table.transpose(1, 0, 2)

    def __add__(self, other: PairCounts) -> PairCounts:
        _same("domains", self.cards.tolist(), other.cards.tolist())
        _same("numbers of classes", self.n_classes, other.n_classes)
        return PairCounts(self.cards, self.n_classes, self.cells + other.cells)

    def information(self) -> PairInformation:
        """Measure the mutual information of every pair."""
        n, n_classes = self.cards.size, self.n_classes
        measured = np.zeros((self.starts.size - 1, MEASURES))
        widest = int(self.cards.max(initial=1))
        margins = np.empty(2 * widest * (n_classes + 1) + n_classes)
        for position, (a, b) in enumerate(zip(*np.triu_indices(n, 1), strict=True)):
            cells = self.cells[self.starts[position] : self.starts[position + 1]]
            counting.pair_information(
                cells,
                self.cards[a],
                self.cards[b],
                n_classes,
                np.empty(0),
                margins,
                measured[position],
            )
        return _as_matrices(measured, n)


def pair_places(n_features: int, first: int, seconds: Any) -> Any:
    """Return the positions of the pairs of a feature and later ones among all pairs."""
    return first * (2 * n_features - first - 3) // 2 + seconds - 1


def pair_starts(cards: np.ndarray, n_classes: int, wanted: np.ndarray | None = None) -> np.ndarray:
    """Return the first cell of the table of each pair; unwanted pairs have no cells."""
    a, b = np.triu_indices(cards.size, 1)
    sizes = cards[a] * cards[b] * n_classes
    return np.concatenate(
        [[0], np.cumsum(sizes if wanted is None else sizes * wanted[a, b])]
    ).astype(np.int64)


def count_pairs(
    data: Rows, counts: Counts, n_jobs: int | None = None, method: str = "auto"
) -> PairCounts:
    """Count every pair of features with the class (``method``: "auto", "bits" or "loop")."""
    run = _PairRun(data, counts, method)
    starts = pair_starts(data.cards, data.n_classes)
    n_cells = int(starts[-1])
    require_memory(
        KEPT_BYTES * n_cells,
        f"counts of {n_cells:,} cells",
        "leave columns out, or use structure='nb'",
    )
    cells = np.zeros(n_cells)
    run.count(starts, cells, n_jobs)
    return PairCounts(data.cards, data.n_classes, cells)


def pair_information(
    data: Rows,
    counts: Counts,
    n_jobs: int | None = None,
    method: str = "auto",
    skip: np.ndarray | None = None,
    em: bool = False,
) -> PairInformation:
    """Measure the mutual information of every pair, without keeping the tables of rows.

    Parameters
    ----------
    data : Rows
        The rows, or their sufficient statistics.
    counts : Counts
        Counts of the class and of each feature.
    n_jobs : int, optional
        The number of threads.
    method : {"auto", "bits", "loop"}, default="auto"
        The kernel that counts rows.
    skip : ndarray of bool, optional
        A symmetric matrix of pairs that are not measured and have zeros.
    em : bool, default=False
        Whether the table of a pair is the saturated one of largest likelihood, given all rows.

    Returns
    -------
    PairInformation
        Matrices of mutual information.

    Examples
    --------
    >>> from discbayes.counts import count, pair_information
    >>> from discbayes.data import FrameEncoder
    >>> rows = [["red", "big"], ["red", "small"], ["blue", "big"], ["blue", "small"]]
    >>> data = FrameEncoder().fit_transform(rows, ["yes", "no", "no", "yes"])
    >>> pair_information(data, count(data)).joint.round(4)
    array([[0.    , 0.6931],
           [0.6931, 0.    ]])
    """
    measured = _PairRun(data, counts, method, skip, em).measure(n_jobs)
    return _as_matrices(measured, data.n_features)


def visit_pairs(
    data: Rows,
    counts: Counts,
    visit: Visit,
    n_jobs: int | None = None,
    skip: np.ndarray | None = None,
    em: bool = False,
) -> None:
    """Call a function with the tables of every pair of features, which are not kept.

    Parameters
    ----------
    data : Rows
        The rows, or their sufficient statistics.
    counts : Counts
        Counts of the class and of each feature.
    visit : callable
        Called as ``visit(first, seconds, starts, cells)`` with a feature and later ones, on several
        threads. The table of ``first`` and ``seconds[k]``, of shape ``(card, card, n_classes)``,
        begins at ``cells[starts[k]]``.
    n_jobs : int, optional
        The number of threads.
    skip : ndarray of bool, optional
        A symmetric matrix of pairs that are left out.
    em : bool, default=False
        Whether the table of a pair is the saturated one of maximum likelihood, given all rows.

    Examples
    --------
    >>> from discbayes.counts import count, visit_pairs
    >>> from discbayes.data import FrameEncoder
    >>> rows = [["red", "big"], ["red", "small"], ["blue", "big"], ["blue", "small"]]
    >>> data = FrameEncoder().fit_transform(rows, ["yes", "no", "no", "yes"])
    >>> def show(first, seconds, starts, cells):
    ...     print(first, seconds, starts, cells)
    >>> visit_pairs(data, count(data), show)
    0 [1] [0] [1. 0. 0. 1. 0. 1. 1. 0.]
    """
    _PairRun(data, counts, "auto", skip, em).visit(visit, n_jobs)


def _as_matrices(measured: np.ndarray, n: int) -> PairInformation:
    matrices = np.zeros((MEASURES, n, n))
    upper = np.triu_indices(n, 1)
    for matrix, values in zip(matrices, measured.T, strict=True):
        matrix[upper] = values
        matrix.T[upper] = values
    return PairInformation(*matrices)


def _class_positions(y: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a bit position for each row, with each class from a new word on; and those words."""
    sizes = np.bincount(y, minlength=n_classes)
    word_start = np.concatenate([[0], np.cumsum((sizes + 63) // 64)]).astype(np.int64)
    place = np.empty(y.size, np.int64)
    place[np.argsort(y, kind="stable")] = np.arange(y.size)  # rank of each row when sorted by class
    return place + (64 * word_start[:-1] - np.cumsum(sizes) + sizes)[y], word_start


class _PairRun:
    """One run over all pairs of features, whose tables are counted, measured or visited.

    Tables are counted by kernels (one block of rows), in passes over blocks (many blocks), or are
    there already (sufficient statistics). With ``em`` tables that are measured or visited are
    completed.
    """

    def __init__(
        self,
        data: Rows,
        counts: Counts,
        method: str = "auto",
        skip: np.ndarray | None = None,
        em: bool = False,
    ):
        if method not in ("auto", "bits", "loop"):
            raise ValueError(f"method is 'auto', 'bits' or 'loop', not {method!r}")
        if method == "bits" and data.weighted:
            raise ValueError(
                "bit sets count rows, so they cannot count weights; use method='loop' or 'auto'"
            )
        n = data.n_features
        require_memory(
            8 * n**2 * (2 * MEASURES + 1),
            f"mutual information of all pairs of {n:,} columns",
            "leave columns out, or use structure='nb'",
        )
        self.data = in_blocks_if_weighted(data)
        self.counts, self.method = counts, method
        self.cards, self.n_classes = data.cards, data.n_classes
        self.wanted = np.triu(np.ones((n, n), np.bool_) if skip is None else ~skip, 1)
        # weights need not be whole numbers
        self.known = np.empty(0) if data.weighted else known_logs(data.n_samples)
        self.em = em and bool(data.n_missing.any())

    # ---- what is done with the tables

    def count(self, starts: np.ndarray, cells: np.ndarray, n_jobs: int | None) -> None:
        """Count every pair into ``cells``."""

        def one(first: int, seconds: np.ndarray, tables: CountPairs) -> None:
            tables(first, seconds, starts[self._places(first, seconds)], cells, NO_MEASURES)

        self._each(one, n_jobs)

    def measure(self, n_jobs: int | None) -> np.ndarray:
        """Measure every pair, in the order of the pairs."""
        n = self.cards.size
        measured = np.zeros((n * (n - 1) // 2, MEASURES))

        def one(first: int, seconds: np.ndarray, tables: CountPairs) -> None:
            information = np.zeros((seconds.size, MEASURES))
            tables(first, seconds, NO_STARTS, NO_CELLS, information)
            measured[self._places(first, seconds)] = information

        def completed(
            first: int, seconds: np.ndarray, starts: np.ndarray, cells: np.ndarray
        ) -> None:
            information = np.empty((seconds.size, MEASURES))
            missing = self.data.n_missing
            complete = missing[seconds] + missing[first] == 0
            self._measure(first, seconds, starts, cells, complete, information)
            measured[self._places(first, seconds)] = information

        if self.em:
            self.visit(completed, n_jobs)
        else:
            self._each(one, n_jobs)
        return measured

    def visit(self, visit: Visit, n_jobs: int | None) -> None:
        """Show the tables of the pairs, a few of them at a time."""

        def one(first: int, seconds: np.ndarray, tables: CountPairs) -> None:
            sizes = self.cards[first] * self.cards[seconds] * self.n_classes
            for part in parts(sizes):
                starts = np.cumsum(sizes[part]) - sizes[part]
                cells = np.empty(int(sizes[part].sum()))
                tables(first, seconds[part], starts, cells, NO_MEASURES)
                if self.em:
                    self._complete(first, seconds[part], starts, cells)
                visit(first, seconds[part], starts, cells)

        self._each(one, n_jobs)

    def _places(self, first: int, seconds: np.ndarray) -> np.ndarray:
        return pair_places(self.cards.size, first, seconds)  # type: ignore[no-any-return]

    def _complete(
        self, first: int, seconds: np.ndarray, starts: np.ndarray, cells: np.ndarray
    ) -> None:
        counts = self.counts
        saturated.complete_pairs(
            first, seconds, counts.value_start, counts.cells, counts.class_count,
            self.data.n_missing, starts, cells, contingency.EM_MAX_ITER, contingency.EM_TOL,
        )  # fmt: skip

    def _measure(
        self,
        first: int,
        seconds: np.ndarray,
        starts: np.ndarray,
        cells: np.ndarray,
        complete: np.ndarray,
        information: np.ndarray,
    ) -> None:
        saturated.measure_pairs(
            cells, starts, self.cards[first], self.cards[seconds], complete, self.n_classes,
            self.known, information,
        )  # fmt: skip

    # ---- where the tables are from

    def _each(self, one: OnePairs, n_jobs: int | None) -> None:
        """Call ``one(first, seconds, tables)`` for each feature and later ones, on threads."""
        data = self.data
        if data.statistics is not None:
            pairs: PairCounts = data.statistics.all_pairs()
            self._each_stored(self.wanted, pairs.starts, pairs.cells, one, n_jobs)
        elif data.n_blocks == 1:
            (block,) = data.blocks()
            work = np.inf if self.em else None
            _BlockPairs(block, self.counts, self.method, self.known).each(
                self.wanted, one, n_jobs, work
            )
        else:
            self._each_in_passes(one, n_jobs)

    def _each_in_passes(self, one: OnePairs, n_jobs: int | None) -> None:
        """Count as many tables as fit in memory in one pass over the blocks."""
        wanted = self.wanted
        sizes = np.where(wanted, np.outer(self.cards, self.cards), 0).sum(axis=1) * self.n_classes
        for part in parts(sizes[:-1], contingency.CELLS_OF_A_PASS):
            now = np.zeros_like(wanted)
            now[part] = wanted[part]
            if now.any():
                starts = pair_starts(self.cards, self.n_classes, now)
                cells = self.data.map_reduce(
                    _count_some_pairs, add, (self.method, now, starts), n_jobs
                )
                self._each_stored(now, starts, cells, one, n_jobs)

    def _each_stored(
        self,
        wanted: np.ndarray,
        starts: np.ndarray,
        cells: np.ndarray,
        one: OnePairs,
        n_jobs: int | None,
    ) -> None:
        """Call ``one`` with tables that were counted before; ``starts`` are those of all pairs."""

        def tables(
            first: int,
            seconds: np.ndarray,
            into: np.ndarray,
            out: np.ndarray,
            information: np.ndarray,
        ) -> None:
            own = starts[self._places(first, seconds)]
            if not out.size:
                complete = np.ones(seconds.size, np.bool_)
                self._measure(first, seconds, own, cells, complete, information)
                return
            sizes = self.cards[first] * self.cards[seconds] * self.n_classes
            total = int(sizes.sum())
            if own[-1] + sizes[-1] - own[0] == into[-1] + sizes[-1] - into[0] == total:
                # tables that follow each other here and there are copied at once
                out[into[0] : into[0] + total] = cells[own[0] : own[0] + total]
                return
            for source, target, size in zip(own, into, sizes, strict=True):
                out[target : target + size] = cells[source : source + size]

        def column(first: int) -> None:
            one(first, np.flatnonzero(wanted[first]), tables)

        firsts = np.flatnonzero(wanted.any(axis=1)).tolist()
        parallel_map(column, firsts, n_jobs, work=10 * cells.size)


class _BlockPairs:
    """The pairs of one block of rows: which kernel for which pair, and the bit sets if needed."""

    def __init__(self, data: Encoded, counts: Counts, method: str, known: np.ndarray):
        self.data = data
        self.counts = counts
        self.known = known
        self.method = "loop" if data.weighted else method
        self.y, self.weight = kernel_classes(data), kernel_weight(data)

    def each(
        self, wanted: np.ndarray, one: OnePairs, n_jobs: int | None, work: float | None = None
    ) -> None:
        """Call ``one(first, seconds, count)`` for each feature and those counted by one kernel."""
        bits_cost, loop_cost = self._costs()
        chosen = self._by_bits(bits_cost, loop_cost)
        by_bits, by_loop = wanted & chosen, wanted & ~chosen
        if by_bits.any():
            self._build_bits(by_bits.any(axis=0) | by_bits.any(axis=1), n_jobs)

        def column(first: int) -> None:
            for pairs, by_kernel in (
                (by_bits, self._count_by_bits),
                (by_loop, self._count_by_loop),
            ):
                seconds = np.flatnonzero(pairs[first])
                if seconds.size:
                    one(first, seconds, by_kernel)

        if work is None:
            work = bits_cost[by_bits].sum() + loop_cost[by_loop].sum()
        parallel_map(column, range(self.data.n_features - 1), n_jobs, work=work)

    def _count_by_bits(
        self,
        first: int,
        seconds: np.ndarray,
        starts: np.ndarray,
        cells: np.ndarray,
        information: np.ndarray,
    ) -> None:
        n_classes = self.data.n_classes
        counting.pairs_by_bits(
            first, seconds, self.sets, n_classes, self.known, starts, cells, information
        )

    def _count_by_loop(
        self,
        first: int,
        seconds: np.ndarray,
        starts: np.ndarray,
        cells: np.ndarray,
        information: np.ndarray,
    ) -> None:
        data = self.data
        counting.pairs_by_loop(
            first, seconds, data.codes, self.y, self.weight, data.cards, data.n_classes, self.known,
            starts, cells, information,
        )  # fmt: skip

    def _costs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the expected time of each pair by bit sets and by the loop."""
        cards = self.data.cards.astype(float)
        n_rows, n_classes = self.data.n_samples, self.data.n_classes
        # a column of one value counts too: else every column with many values would get bit sets to
        # be paired with it
        kept = np.where(self.data.n_missing > 0, cards, np.maximum(cards - 1, 1))
        words = n_rows / 64 + n_classes / 2
        bits = np.outer(kept, kept) * (words * WORD_COST + n_classes * CELL_COST)
        return bits, n_rows * ROW_COST + np.outer(cards, cards) * n_classes

    def _by_bits(self, bits_cost: np.ndarray, loop_cost: np.ndarray) -> np.ndarray:
        """Return for each pair whether bit sets are faster."""
        if self.method == "auto":
            return bits_cost < loop_cost
        return np.full(bits_cost.shape, self.method == "bits")

    def _build_bits(self, used: np.ndarray, n_jobs: int | None) -> None:
        data = self.data
        start = np.concatenate([[0], np.cumsum(np.where(used, data.cards, 0))]).astype(np.int64)
        position, word_start = _class_positions(self.y, data.n_classes)
        bits = np.zeros((int(start[-1]), int(word_start[-1])), np.uint64)
        counts = self.counts
        self.sets = counting.PairBitSets(
            bits, start, word_start, counts.value_start, counts.cells, data.n_missing
        )

        def fill(i: int) -> None:
            own = bits[start[i] : start[i + 1]]
            counting.fill_bits(data.codes[i], data.cards[i], position, own)

        columns = np.flatnonzero(used).tolist()
        parallel_map(fill, columns, n_jobs, work=len(columns) * data.n_samples)


def _count_some_pairs(
    data: Encoded, n_jobs: int | None, method: str, wanted: np.ndarray, starts: np.ndarray
) -> np.ndarray:
    """Count some of the pairs in a block."""
    cells = np.zeros(int(starts[-1]))

    def one(first: int, seconds: np.ndarray, tables: CountPairs) -> None:
        places = pair_places(data.n_features, first, seconds)
        tables(first, seconds, starts[places], cells, NO_MEASURES)

    _BlockPairs(data, count(data, n_jobs), method, np.empty(0)).each(wanted, one, n_jobs)
    return cells


def known_logs(n_samples: int) -> np.ndarray:
    """Tabulate x log x for counts up to a number of rows; empty if there are too many rows."""
    if n_samples >= KNOWN_LOGS:
        return np.empty(0)
    known = np.empty(n_samples + 1)
    counting.tabulate_x_log_x(known)
    return known
