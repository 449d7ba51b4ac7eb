"""Counts of pairs of features with the class, and the mutual information that they give.

Two kernels stand behind one function. Bit sets (a bit vector for each value, rows sorted by class,
population count of the intersection) are several times faster while the features have few values; a
plain loop is where they have many, and where rows have weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from operator import add
from typing import Any

import numpy as np

from discbayes._memory import require_memory
from discbayes.counts import contingency
from discbayes.counts.contingency import Counts, _same, count, kernel_classes, kernel_weight, parts
from discbayes.counts.counted import Counted, Visit
from discbayes.data.domain import Encoded
from discbayes.data.row_blocks import RowBlocks, in_blocks_if_weighted
from discbayes.engine import parallel_map
from discbayes.kernels import counting, saturated

KNOWN_LOGS = 1 << 20  # rows up to which x log x is tabulated: 8 MB
# for each cell of tables that are kept: the counts so far, those of more rows, and their sum
KEPT_BYTES = 24
MEASURES = 4  # numbers that stand in `PairInformation` for each pair
# Nanoseconds, measured: a word of two bit sets, a class of one cell, a row of the loop. Only their
# ratios matter.
WORD_COST, CELL_COST, ROW_COST = 1.4, 4.0, 1.25


@dataclass(frozen=True)
class PairInformation:
    """Mutual information in nats of every pair of features, each an ``(n_features, n_features)``
    array.

    ``conditional`` is I(Xi;Xj|C), ``plain`` is I(Xi;Xj), ``joint`` is I(C;Xi,Xj). Diagonals are
    zero. Each pair is measured on the rows where both features are observed, or by EM on all rows;
    ``total`` is their weight.
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
        """The counts of features ``i`` and ``j``, shape ``(card[i], card[j], n_classes)``."""
        if i == j:
            raise ValueError(f"a pair needs two features, not feature {i} twice")
        a, b = min(i, j), max(i, j)
        position = self.places(a, b)
        cells = self.cells[self.starts[position] : self.starts[position + 1]]
        table = cells.reshape(self.cards[a], self.cards[b], self.n_classes)
        return table if i < j else table.transpose(1, 0, 2)

    def places(self, first: int, seconds: Any) -> Any:
        """Where the pairs of a feature and later ones stand among all pairs."""
        return first * (2 * self.cards.size - first - 3) // 2 + seconds - 1

    def __add__(self, other: PairCounts) -> PairCounts:
        _same("domains", self.cards.tolist(), other.cards.tolist())
        _same("numbers of classes", self.n_classes, other.n_classes)
        return PairCounts(self.cards, self.n_classes, self.cells + other.cells)

    def information(self) -> PairInformation:
        """Mutual information of every pair."""
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


def pair_starts(cards: np.ndarray, n_classes: int, wanted: np.ndarray | None = None) -> np.ndarray:
    """Where the table of each pair begins; pairs that are not wanted take no place."""
    a, b = np.triu_indices(cards.size, 1)
    sizes = cards[a] * cards[b] * n_classes
    return np.concatenate(
        [[0], np.cumsum(sizes if wanted is None else sizes * wanted[a, b])]
    ).astype(np.int64)


def count_pairs(
    data: Encoded | RowBlocks, counts: Counts, n_jobs: int | None = None, method: str = "auto"
) -> PairCounts:
    """Count every pair of features with the class (``method``: "auto", "bits" or "loop")."""
    run, starts = _run(data, counts, method), pair_starts(data.cards, data.n_classes)
    n_cells = int(starts[-1])
    require_memory(
        KEPT_BYTES * n_cells,
        f"counts of {n_cells:,} cells",
        "leave columns out, or use structure='nb'",
    )
    cells = np.zeros(n_cells)
    run.run(starts, cells, n_jobs)
    return PairCounts(data.cards, data.n_classes, cells)


def pair_information(
    data: Encoded | RowBlocks | Counted,
    counts: Counts,
    n_jobs: int | None = None,
    method: str = "auto",
    skip: np.ndarray | None = None,
    em: bool = False,
) -> PairInformation:
    """Mutual information of every pair, without keeping the tables: memory grows with the data, not
    with the pairs.

    Pairs marked in the symmetric matrix ``skip`` are not measured and have zeros. With ``em`` the
    table of a pair is the saturated one of largest likelihood, given all rows.
    """
    if isinstance(data, Counted):
        return data.pair_information(n_jobs, skip)
    run = _run(data, counts, method, skip, em)
    measured = (
        run.measure(n_jobs) if run.em else run.run(np.empty(0, np.int64), np.empty(0), n_jobs)
    )
    return _as_matrices(measured, data.n_features)


def visit_pairs(
    data: Encoded | RowBlocks | Counted,
    counts: Counts,
    visit: Visit,
    n_jobs: int | None = None,
    skip: np.ndarray | None = None,
    em: bool = False,
) -> None:
    """Call ``visit(first, seconds, starts, cells)`` with the tables of a feature and later ones,
    which are not kept.

    The table of ``first`` and ``seconds[k]``, shape ``(card, card, n_classes)``, begins at
    ``cells[starts[k]]``. Calls come on several threads. Pairs marked in the symmetric matrix
    ``skip`` are left out; ``em`` is that of ``pair_information``.
    """
    if isinstance(data, Counted):
        return data.visit_pairs(visit, n_jobs, skip)
    return _run(data, counts, "auto", skip, em).visit(visit, n_jobs)


def _as_matrices(measured: np.ndarray, n: int) -> PairInformation:
    matrices = np.zeros((MEASURES, n, n))
    upper = np.triu_indices(n, 1)
    for matrix, values in zip(matrices, measured.T, strict=True):
        matrix[upper] = values
        matrix.T[upper] = values
    return PairInformation(*matrices)


def _class_positions(y: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """A bit for each row, the rows of a class side by side and each class from a new word on; and
    those first words.
    """
    sizes = np.bincount(y, minlength=n_classes)
    word_start = np.concatenate([[0], np.cumsum((sizes + 63) // 64)]).astype(np.int64)
    place = np.empty(y.size, np.int64)
    place[np.argsort(y, kind="stable")] = np.arange(y.size)  # rank of each row when sorted by class
    return place + (64 * word_start[:-1] - np.cumsum(sizes) + sizes)[y], word_start


def _run(
    data: Encoded | RowBlocks,
    counts: Counts,
    method: str,
    skip: np.ndarray | None = None,
    em: bool = False,
) -> _Pairs:
    """A pass over all pairs of rows in memory, or of blocks."""
    if method not in ("auto", "bits", "loop"):
        raise ValueError(f"method is 'auto', 'bits' or 'loop', not {method!r}")
    rows = in_blocks_if_weighted(data)
    weighted = rows.weighted if isinstance(rows, RowBlocks) else rows.weight is not None
    if method == "bits" and weighted:
        raise ValueError(
            "bit sets count rows, so they cannot count weights; use method='loop' or 'auto'"
        )
    if isinstance(rows, RowBlocks):
        return _BlockRun(rows, counts, method, skip, em)
    return _PairRun(rows, counts, method, skip, em)


class _Pairs(ABC):
    """One pass over all pairs, of rows in memory or of blocks.

    With ``em`` tables that are visited or measured are completed; tables to be kept are counts in
    any case.
    """

    def __init__(
        self,
        data: Encoded | RowBlocks,
        weighted: bool,
        counts: Counts,
        skip: np.ndarray | None = None,
        em: bool = False,
    ):
        self.counts, self.cards, self.gaps = counts, data.cards, data.gaps
        self.n_features, self.n_classes = data.n_features, data.n_classes
        n = data.n_features
        size = 8 * n**2 * (2 * MEASURES + 1)
        require_memory(
            size,
            f"what {n:,} columns say of each other",
            "leave columns out, or use structure='nb'",
        )
        self.skip = np.zeros((n, n), np.bool_) if skip is None else skip
        # weights need not be whole
        self.known = np.empty(0) if weighted else known_logs(data.n_samples)
        self.em = em and bool(data.gaps.any())

    @abstractmethod
    def _each(
        self, one: Callable[[int, np.ndarray, Callable[..., None]], None], n_jobs: int | None
    ) -> None:
        """Call ``one(first, seconds, count)`` for each feature and later ones that are counted with
        it in one way.
        """

    def run(self, starts: np.ndarray, cells: np.ndarray, n_jobs: int | None) -> np.ndarray:
        """Count or measure every pair; returns the measures, in the order of the pairs."""
        measured = self._nothing_measured()

        def one(first: int, seconds: np.ndarray, count: Callable[..., None]) -> None:
            rows = self._places(first, seconds)
            information = np.zeros((seconds.size, MEASURES))
            count(first, seconds, starts[rows] if cells.size else starts, cells, information)
            measured[rows] = information

        self._each(one, n_jobs)
        return measured

    def measure(self, n_jobs: int | None) -> np.ndarray:
        """Measure the tables that are visited."""
        measured, (cards, gaps) = self._nothing_measured(), (self.cards, self.gaps)

        def look(first: int, seconds: np.ndarray, starts: np.ndarray, cells: np.ndarray) -> None:
            information = np.empty((seconds.size, MEASURES))
            whole = gaps[seconds] + gaps[first] == 0
            saturated.measure_pairs(
                cells,
                starts,
                cards[first],
                cards[seconds],
                whole,
                self.n_classes,
                self.known,
                information,
            )
            measured[self._places(first, seconds)] = information

        self.visit(look, n_jobs)
        return measured

    def _nothing_measured(self) -> np.ndarray:
        n = self.n_features
        return np.zeros((n * (n - 1) // 2, MEASURES))

    def _places(self, first: int, seconds: np.ndarray) -> np.ndarray:
        """Where the pairs of a feature and later ones stand among all pairs."""
        return first * (2 * self.n_features - first - 3) // 2 + seconds - 1

    def visit(self, visit: Visit, n_jobs: int | None) -> None:
        """Show the tables of the pairs, a few of them at a time."""
        cards, n_classes, nothing = self.cards, self.n_classes, np.empty((0, MEASURES))

        def one(first: int, seconds: np.ndarray, count: Callable[..., None]) -> None:
            sizes = cards[first] * cards[seconds] * n_classes
            for part in parts(sizes):
                starts = np.cumsum(sizes[part]) - sizes[part]
                cells = np.empty(int(sizes[part].sum()))
                count(first, seconds[part], starts, cells, nothing)
                if self.em:
                    self._complete(first, seconds[part], starts, cells)
                visit(first, seconds[part], starts, cells)

        self._each(one, n_jobs)

    def _complete(
        self, first: int, seconds: np.ndarray, starts: np.ndarray, cells: np.ndarray
    ) -> None:
        counts = self.counts
        saturated.complete_pairs(
            first, seconds, counts.value_start, counts.cells, counts.class_count, self.gaps, starts, cells,
            contingency.EM_MAX_ITER, contingency.EM_TOL,
        )  # fmt: skip


class _PairRun(_Pairs):
    """The pairs of rows in memory: which kernel for which pair, and the bit sets where they are
    used.
    """

    def __init__(
        self,
        data: Encoded,
        counts: Counts,
        method: str,
        skip: np.ndarray | None = None,
        em: bool = False,
    ):
        super().__init__(data, data.weight is not None, counts, skip, em)
        self.data = data
        self.method = "loop" if data.weight is not None else method
        self.y, self.weight = kernel_classes(data), kernel_weight(data)

    def _each(
        self, one: Callable[[int, np.ndarray, Callable[..., None]], None], n_jobs: int | None
    ) -> None:
        """Call ``one(first, seconds, count)`` for each feature and the later ones that a kernel
        counts with it.
        """
        bits_cost, loop_cost = self._costs()
        chosen, wanted = self._by_bits(bits_cost, loop_cost), np.triu(~self.skip, 1)
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

        work = np.inf if self.em else bits_cost[by_bits].sum() + loop_cost[by_loop].sum()
        parallel_map(column, range(self.data.n_features - 1), n_jobs, work=work)

    def _count_by_bits(
        self,
        first: int,
        seconds: np.ndarray,
        starts: np.ndarray,
        cells: np.ndarray,
        information: np.ndarray,
    ) -> None:
        data = self.data
        counting.pairs_by_bits(
            first, seconds, self.bits, self.bit_start, self.counts.value_start, self.word_start, self.counts.cells,
            data.gaps, data.n_classes, self.known, starts, cells, information,
        )  # fmt: skip

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
            first, seconds, data.codes, self.y, self.weight, data.cards, data.n_classes, self.known, starts, cells,
            information,
        )  # fmt: skip

    def _costs(self) -> tuple[np.ndarray, np.ndarray]:
        """The expected time of each pair by bit sets and by the loop."""
        cards, n_rows, n_classes = (
            self.data.cards.astype(float),
            self.data.n_samples,
            self.data.n_classes,
        )
        # a column of one value counts too: else every column with many values would get bit sets to
        # be paired with it
        kept = np.where(self.data.gaps > 0, cards, np.maximum(cards - 1, 1))
        words = n_rows / 64 + n_classes / 2
        bits = np.outer(kept, kept) * (words * WORD_COST + n_classes * CELL_COST)
        return bits, n_rows * ROW_COST + np.outer(cards, cards) * n_classes

    def _by_bits(self, bits_cost: np.ndarray, loop_cost: np.ndarray) -> np.ndarray:
        """For each pair, whether bit sets are the way to go."""
        if self.method == "auto":
            return bits_cost < loop_cost
        return np.full(bits_cost.shape, self.method == "bits")

    def _build_bits(self, used: np.ndarray, n_jobs: int | None) -> None:
        data = self.data
        start = self.bit_start = np.concatenate(
            [[0], np.cumsum(np.where(used, data.cards, 0))]
        ).astype(np.int64)
        position, self.word_start = _class_positions(self.y, data.n_classes)
        self.bits = np.zeros((int(start[-1]), int(self.word_start[-1])), np.uint64)

        def fill(i: int) -> None:
            counting.fill_bits(
                data.codes[i], data.cards[i], position, self.bits[start[i] : start[i + 1]]
            )

        columns = np.flatnonzero(used).tolist()
        parallel_map(fill, columns, n_jobs, work=len(columns) * data.n_samples)


class _BlockRun(_Pairs):
    """The pairs of blocks: as many tables as fit in memory are counted in one pass over the
    blocks.
    """

    def __init__(
        self,
        data: RowBlocks,
        counts: Counts,
        method: str,
        skip: np.ndarray | None = None,
        em: bool = False,
    ):
        super().__init__(data, data.weighted, counts, skip, em)
        self.data, self.method = data, method

    def _each(
        self, one: Callable[[int, np.ndarray, Callable[..., None]], None], n_jobs: int | None
    ) -> None:
        wanted = np.triu(~self.skip, 1)
        sizes = np.where(wanted, np.outer(self.cards, self.cards), 0).sum(axis=1) * self.n_classes
        for part in parts(sizes[:-1], contingency.CELLS_OF_A_PASS):
            now = np.zeros_like(wanted)
            now[part] = wanted[part]
            if now.any():
                self._one_pass(now, one, n_jobs)

    def _one_pass(
        self,
        now: np.ndarray,
        one: Callable[[int, np.ndarray, Callable[..., None]], None],
        n_jobs: int | None,
    ) -> None:
        """Count these pairs, and show them."""
        starts = pair_starts(self.cards, self.n_classes, now)
        counted = self.data.map_reduce(_count_some_pairs, add, (self.method, now, starts), n_jobs)

        def show(
            first: int,
            seconds: np.ndarray,
            into: np.ndarray,
            cells: np.ndarray,
            information: np.ndarray,
        ) -> None:
            own, cards = starts[self._places(first, seconds)], self.cards[seconds]
            if not cells.size:
                whole = np.ones(seconds.size, np.bool_)
                saturated.measure_pairs(
                    counted,
                    own,
                    self.cards[first],
                    cards,
                    whole,
                    self.n_classes,
                    self.known,
                    information,
                )
                return
            for source, to, size in zip(
                own, into, self.cards[first] * cards * self.n_classes, strict=True
            ):
                cells[to : to + size] = counted[source : source + size]

        firsts = np.flatnonzero(now.any(axis=1)).tolist()
        parallel_map(
            lambda i: one(i, np.flatnonzero(now[i]), show), firsts, n_jobs, work=10 * counted.size
        )


def _count_some_pairs(
    data: Encoded, n_jobs: int | None, method: str, wanted: np.ndarray, starts: np.ndarray
) -> np.ndarray:
    """The tables of some pairs in a block."""
    cells = np.zeros(int(starts[-1]))
    _PairRun(data, count(data, n_jobs), method, ~(wanted | wanted.T)).run(starts, cells, n_jobs)
    return cells


def known_logs(n_samples: int) -> np.ndarray:
    """The values of x log x for counts of up to so many rows; none where those are too many."""
    if n_samples >= KNOWN_LOGS:
        return np.empty(0)
    known = np.empty(n_samples + 1)
    counting.tabulate_x_log_x(known)
    return known
