"""Runs over pairs of features: which kernel counts which pair, and in how much memory.

Two kernels count. Bit sets (a bit vector for each value, rows sorted by class, population count of
the intersection) are several times faster if the features have few values; a plain loop is faster
if they have many, and it counts rows with weights. Bit sets are made for two groups of columns at a
time, so that their memory does not grow with the number of columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from operator import add
from typing import Any

import numpy as np

from discbayes.counts import contingency
from discbayes.counts.contingency import Counts, count, kernel_classes, kernel_weight, parts
from discbayes.data.domain import Encoded
from discbayes.data.row_blocks import in_blocks_if_weighted
from discbayes.data.rows import Rows
from discbayes.engine import parallel_map
from discbayes.kernels import counting, saturated

KNOWN_LOGS = 1 << 20  # rows up to which x log x is tabulated: 8 MB
MEASURES = 4  # numbers in `PairInformation` for each pair
# Nanoseconds, measured: a word of two bit sets, a class of one cell, a row of the loop. Only their
# ratios matter.
WORD_COST = 0.2
CELL_COST = 5.0
ROW_COST = 0.78
BIT_BYTES = 1 << 26  # of the bit sets of a group of columns; two groups are there at a time

NO_STARTS, NO_CELLS = np.empty(0, np.int64), np.empty(0)
NO_MEASURES = np.empty((0, MEASURES))

# called with the first feature, later ones, and the measures of each pair
Receive = Callable[[int, np.ndarray, np.ndarray], None]
# called with the first feature, later ones, and the starts and cells of their tables
Visit = Callable[[int, np.ndarray, np.ndarray, np.ndarray], None]
# called with first, seconds, starts, cells, measures; measures if there are no cells
CountPairs = Callable[[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray], None]
OnePairs = Callable[[int, np.ndarray, CountPairs], None]


@dataclass(frozen=True, eq=False)
class PairSet:
    """Some pairs of features, and where their tables begin if these follow each other.

    The pairs are those of the features from ``start`` to ``stop`` with later ones: (0,1), (0,2), …
    Rows of ``skip``, from ``start`` on, are True for later features that are left out.
    """

    cards: np.ndarray
    n_classes: int
    skip: np.ndarray | None = None
    start: int = 0
    stop: int | None = None

    @property
    def firsts(self) -> range:
        """The first features of pairs."""
        last = self.cards.size - 1
        return range(self.start, last if self.stop is None else min(self.stop, last))

    def seconds(self, first: int) -> np.ndarray:
        """Return the later features that a feature is paired with."""
        if self.skip is None:
            return np.arange(first + 1, self.cards.size)
        return first + 1 + np.flatnonzero(~self.skip[first - self.start, first + 1 :])

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of cells of all pairs of each first feature."""
        firsts = np.array(self.firsts, np.int64)
        if self.skip is None:
            values = self.cards.sum() - self._values_before[firsts] - self.cards[firsts]
        else:
            values = np.array([self.cards[self.seconds(a)].sum() for a in self.firsts], np.int64)
        return np.asarray(values * self.cards[firsts] * self.n_classes)

    @property
    def n_cells(self) -> int:
        """The number of cells of all pairs."""
        return int(self.sizes.sum())

    @cached_property
    def _first_start(self) -> np.ndarray:
        return np.asarray(np.cumsum(self.sizes) - self.sizes)

    @cached_property
    def _values_before(self) -> np.ndarray:
        return np.asarray(np.cumsum(self.cards) - self.cards)

    def starts(self, first: int, seconds: Any) -> Any:
        """Return the first cell of the pairs of a feature and later ones."""
        if self.skip is None:
            before = self._values_before[seconds] - self._values_before[first + 1]
        else:
            left_out = self.skip[first - self.start, first + 1 :]
            values = np.where(left_out, 0, self.cards[first + 1 :])
            before = (np.cumsum(values) - values)[seconds - first - 1]
        return self._first_start[first - self.start] + before * self.cards[first] * self.n_classes

    def part(self, start: int, stop: int) -> PairSet:
        """Return the pairs of some first features, of a set that begins with the first one."""
        skip = None if self.skip is None else self.skip[start:stop]
        return PairSet(self.cards, self.n_classes, skip, start, stop)


def _class_positions(y: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a bit position for each row, with each class from a new word on; and those words."""
    sizes = np.bincount(y, minlength=n_classes)
    word_start = np.concatenate([[0], np.cumsum((sizes + 63) // 64)]).astype(np.int64)
    place = np.empty(y.size, np.int64)
    place[np.argsort(y, kind="stable")] = np.arange(y.size)  # rank of each row when sorted by class
    return place + (64 * word_start[:-1] - np.cumsum(sizes) + sizes)[y], word_start


class PairRun:
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
        self.data = in_blocks_if_weighted(data)
        self.counts, self.method = counts, method
        self.cards, self.n_classes = data.cards, data.n_classes
        self.pairs = PairSet(data.cards, data.n_classes, skip)
        # weights need not be whole numbers
        self.known = np.empty(0) if data.weighted else known_logs(data.n_samples)
        self.em = em and bool(data.n_missing.any())

    # ---- what is done with the tables

    def count(self, places: PairSet, cells: np.ndarray, n_jobs: int | None) -> None:
        """Count every pair into ``cells``."""

        def one(first: int, seconds: np.ndarray, tables: CountPairs) -> None:
            tables(first, seconds, places.starts(first, seconds), cells, NO_MEASURES)

        self._each(one, n_jobs)

    def measure(self, receive: Receive, n_jobs: int | None) -> None:
        """Call ``receive(first, seconds, measures)`` for each feature and later ones."""

        def one(first: int, seconds: np.ndarray, tables: CountPairs) -> None:
            information = np.zeros((seconds.size, MEASURES))
            tables(first, seconds, NO_STARTS, NO_CELLS, information)
            receive(first, seconds, information)

        def completed(
            first: int, seconds: np.ndarray, starts: np.ndarray, cells: np.ndarray
        ) -> None:
            information = np.empty((seconds.size, MEASURES))
            missing = self.data.n_missing
            complete = missing[seconds] + missing[first] == 0
            self._measure(first, seconds, starts, cells, complete, information)
            receive(first, seconds, information)

        if self.em:
            self.visit(completed, n_jobs)
        else:
            self._each(one, n_jobs)

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
            stored = data.statistics.all_pairs()
            self._each_stored(self.pairs, stored.places, stored.cells, one, n_jobs)
        elif data.n_blocks == 1:
            (block,) = data.blocks()
            work = np.inf if self.em else None
            BlockPairs(block, self.counts, self.method, self.known).each(
                self.pairs, one, n_jobs, work
            )
        else:
            self._each_in_passes(one, n_jobs)

    def _each_in_passes(self, one: OnePairs, n_jobs: int | None) -> None:
        """Count as many tables as fit in memory in one pass over the blocks."""
        sizes = self.pairs.sizes
        for part in parts(sizes, contingency.CELLS_OF_A_PASS):
            if sizes[part].any():
                pairs = self.pairs.part(int(part[0]), int(part[-1]) + 1)
                cells = self.data.map_reduce(_count_some, add, (self.method, pairs), n_jobs)
                self._each_stored(pairs, pairs, cells, one, n_jobs)

    def _each_stored(
        self,
        pairs: PairSet,
        places: PairSet,
        cells: np.ndarray,
        one: OnePairs,
        n_jobs: int | None,
    ) -> None:
        """Call ``one`` with tables that were counted before and are at these places."""

        def tables(
            first: int,
            seconds: np.ndarray,
            into: np.ndarray,
            out: np.ndarray,
            information: np.ndarray,
        ) -> None:
            own = places.starts(first, seconds)
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
            seconds = pairs.seconds(first)
            if seconds.size:
                one(first, seconds, tables)

        parallel_map(column, pairs.firsts, n_jobs, work=10 * cells.size)


class BlockPairs:
    """The pairs of one block of rows: which kernel for which pair, and the bit sets if needed."""

    def __init__(self, data: Encoded, counts: Counts, method: str, known: np.ndarray):
        self.data = data
        self.counts = counts
        self.known = known
        self.method = "loop" if data.weighted else method
        self.y, self.weight = kernel_classes(data), kernel_weight(data)
        self._kind, self._costs = self._choose()
        bits_cost, loop_cost, _ = self._costs
        self._in_bits = np.full(bits_cost.shape, self.method == "bits")
        if self.method == "auto":
            self._in_bits = bits_cost < loop_cost

    def _choose(self) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Return the kind of each column, and the times of pairs of kinds by both kernels.

        The times are nanoseconds by bit sets and by the loop, and the number of such pairs. Columns
        of one kind have as many values, and all or none of them has missing ones.
        """
        data = self.data
        missing = data.n_missing > 0
        _, one, kind, sizes = np.unique(
            2 * data.cards + missing, return_index=True, return_inverse=True, return_counts=True
        )
        cards = data.cards[one].astype(float)
        # a column of one value counts too: else every column with many values would get bit sets to
        # be paired with it
        kept = np.where(missing[one], cards, np.maximum(cards - 1, 1))
        words = data.n_samples / 64 + data.n_classes / 2
        bits = np.outer(kept, kept) * (words * WORD_COST + data.n_classes * CELL_COST)
        loop = data.n_samples * ROW_COST + np.outer(cards, cards) * data.n_classes
        return kind.ravel(), (bits, loop, np.outer(sizes, sizes) / 2)

    def each(
        self, pairs: PairSet, one: OnePairs, n_jobs: int | None, work: float | None = None
    ) -> None:
        """Call ``one(first, seconds, count)`` for each feature and those counted by one kernel."""
        if work is None:
            bits_cost, loop_cost, number = self._costs
            work = float((np.where(self._in_bits, bits_cost, loop_cost) * number).sum())

        def by_loop(first: int) -> None:
            seconds = pairs.seconds(first)
            seconds = seconds[~self.by_bits(first, seconds)]
            if seconds.size:
                one(first, seconds, self._count_by_loop)

        if not self._in_bits.all():
            parallel_map(by_loop, pairs.firsts, n_jobs, work=work)
        if self._in_bits.any():
            self._each_by_bits(pairs, one, n_jobs, work)

    def _each_by_bits(self, pairs: PairSet, one: OnePairs, n_jobs: int | None, work: float) -> None:
        """Make bit sets of some columns at a time, and count their pairs."""
        used = np.asarray(self._in_bits.any(axis=1))[self._kind]
        n_words = self.data.n_samples // 64 + self.data.n_classes
        sizes = np.where(used, self.data.cards, 0) * 8 * n_words
        groups = [range(int(part[0]), int(part[-1]) + 1) for part in parts(sizes, BIT_BYTES)]
        for place, group in enumerate(groups):
            firsts = range(max(group.start, pairs.firsts.start), min(group.stop, pairs.firsts.stop))
            for others in groups[place:] if len(firsts) else []:
                both = np.zeros_like(used)
                both[group.start : group.stop] = both[others.start : others.stop] = True
                self._build_bits(used & both, n_jobs)

                def by_bits(first: int, others: range = others) -> None:
                    seconds = pairs.seconds(first)
                    if len(groups) > 1:
                        seconds = seconds[(seconds >= others.start) & (seconds < others.stop)]
                    seconds = seconds[self.by_bits(first, seconds)]
                    if seconds.size:
                        one(first, seconds, self._count_by_bits)

                parallel_map(by_bits, firsts, n_jobs, work=work)

    def by_bits(self, first: int, seconds: np.ndarray) -> np.ndarray:
        """Return for each pair of a feature and later ones whether bit sets count it."""
        return np.asarray(self._in_bits[self._kind[first], self._kind[seconds]])

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

    def _build_bits(self, used: np.ndarray, n_jobs: int | None) -> None:
        data = self.data
        start = np.concatenate([[0], np.cumsum(np.where(used, data.cards, 0))]).astype(np.int64)
        position, word_start = _class_positions(self.y, data.n_classes)
        bits = np.zeros((int(start[-1]), int(word_start[-1])), np.uint64)
        counts = self.counts
        terms = np.empty(counts.cells.size + int(counts.value_start[-1]))
        counting.tabulate_terms(counts.cells, data.n_classes, self.known, terms)
        self.sets = counting.PairBitSets(
            bits, start, word_start, counts.value_start, counts.cells, data.n_missing, terms
        )

        def fill(i: int) -> None:
            own = bits[start[i] : start[i + 1]]
            counting.fill_bits(data.codes[i], data.cards[i], position, own)

        columns = np.flatnonzero(used).tolist()
        parallel_map(fill, columns, n_jobs, work=len(columns) * data.n_samples)


def _count_some(data: Encoded, n_jobs: int | None, method: str, pairs: PairSet) -> np.ndarray:
    """Count some of the pairs in a block."""
    cells = np.zeros(pairs.n_cells)

    def one(first: int, seconds: np.ndarray, tables: CountPairs) -> None:
        tables(first, seconds, pairs.starts(first, seconds), cells, NO_MEASURES)

    BlockPairs(data, count(data, n_jobs), method, np.empty(0)).each(pairs, one, n_jobs)
    return cells


def known_logs(n_samples: int) -> np.ndarray:
    """Tabulate x log x for counts up to a number of rows; empty if there are too many rows."""
    if n_samples >= KNOWN_LOGS:
        return np.empty(0)
    known = np.empty(n_samples + 1)
    counting.tabulate_x_log_x(known)
    return known
