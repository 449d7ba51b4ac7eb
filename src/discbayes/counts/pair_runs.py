"""Runs over pairs of features: which kernel counts which pair, and in how much memory.

Two kernels count. Bit sets (a bit vector for each value, rows sorted by class, population count of
the intersection) are several times faster if the features have few values; a plain loop is faster
if they have many, and it counts rows with weights. Bit sets are made for two groups of columns at a
time, so that their memory does not grow with the number of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
WORD_COST = 0.35
CELL_COST = 4.0
ROW_COST = 1.25
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
        values = [int(self.cards[self.seconds(a)].sum()) for a in self.firsts]
        width = self.cards[self.firsts.start : self.firsts.stop] * self.n_classes
        return np.asarray(np.array(values, np.int64) * width)

    @property
    def n_cells(self) -> int:
        """The number of cells of all pairs."""
        return int(self.sizes.sum())

    @cached_property
    def _first_start(self) -> np.ndarray:
        return np.asarray(np.cumsum(self.sizes) - self.sizes)

    def starts(self, first: int, seconds: Any) -> Any:
        """Return the first cell of the pairs of a feature and later ones."""
        values = self.cards[first + 1 :]
        if self.skip is not None:
            values = np.where(self.skip[first - self.start, first + 1 :], 0, values)
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
        # a column of one value counts too: else every column with many values would get bit sets to
        # be paired with it
        cards = data.cards.astype(float)
        self._kept = np.where(data.n_missing > 0, cards, np.maximum(cards - 1, 1))

    def each(
        self, pairs: PairSet, one: OnePairs, n_jobs: int | None, work: float | None = None
    ) -> None:
        """Call ``one(first, seconds, count)`` for each feature and those counted by one kernel."""
        in_bits, looped, cost = self._choose(pairs)
        work = cost if work is None else work

        def by_loop(first: int) -> None:
            seconds = pairs.seconds(first)
            seconds = seconds[~self.by_bits(first, seconds)]
            if seconds.size:
                one(first, seconds, self._count_by_loop)

        if looped:
            parallel_map(by_loop, pairs.firsts, n_jobs, work=work)
        for firsts, others in self._tiles(pairs, in_bits):
            self._build_bits(in_bits & (_mask(firsts, in_bits) | _mask(others, in_bits)), n_jobs)

            def by_bits(first: int, others: range = others) -> None:
                seconds = pairs.seconds(first)
                seconds = seconds[(seconds >= others.start) & (seconds < others.stop)]
                seconds = seconds[self.by_bits(first, seconds)]
                if seconds.size:
                    one(first, seconds, self._count_by_bits)

            parallel_map(by_bits, firsts, n_jobs, work=work)

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

    def _choose(self, pairs: PairSet) -> tuple[np.ndarray, bool, float]:
        """Return the columns that need bit sets, whether a pair is looped over, and the time."""
        in_bits, looped = np.zeros(self.data.n_features, np.bool_), False
        cost = 0.0
        for first in pairs.firsts:
            seconds = pairs.seconds(first)
            bits, loop = self.costs(first, seconds)
            chosen = self._chosen(bits, loop)
            if chosen.any():
                in_bits[first] = in_bits[seconds[chosen]] = True
            looped = looped or not chosen.all()
            cost += float(np.where(chosen, bits, loop).sum())
        return in_bits, looped, cost

    def costs(self, first: int, seconds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the expected time of pairs by bit sets and by the loop."""
        cards, kept = self.data.cards, self._kept
        n_rows, n_classes = self.data.n_samples, self.data.n_classes
        words = n_rows / 64 + n_classes / 2
        bits = kept[first] * kept[seconds] * (words * WORD_COST + n_classes * CELL_COST)
        return bits, n_rows * ROW_COST + float(cards[first]) * cards[seconds] * n_classes

    def by_bits(self, first: int, seconds: np.ndarray) -> np.ndarray:
        """Return for each pair of a feature and later ones whether bit sets count it."""
        return self._chosen(*self.costs(first, seconds))

    def _chosen(self, bits_cost: np.ndarray, loop_cost: np.ndarray) -> np.ndarray:
        if self.method == "auto":
            return np.asarray(bits_cost < loop_cost)
        return np.full(bits_cost.shape, self.method == "bits")

    def _tiles(self, pairs: PairSet, in_bits: np.ndarray) -> Iterator[tuple[range, range]]:
        """Iterate over groups of first and of second columns whose bit sets are made at a time."""
        if not in_bits.any():
            return
        n_words = self.data.n_samples // 64 + self.data.n_classes
        sizes = np.where(in_bits, self.data.cards, 0) * 8 * n_words
        groups = [range(int(part[0]), int(part[-1]) + 1) for part in parts(sizes, BIT_BYTES)]
        for place, group in enumerate(groups):
            firsts = range(max(group.start, pairs.firsts.start), min(group.stop, pairs.firsts.stop))
            if len(firsts):
                yield from ((firsts, others) for others in groups[place:])

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


def _mask(columns: range, like: np.ndarray) -> np.ndarray:
    mask = np.zeros_like(like)
    mask[columns.start : columns.stop] = True
    return mask


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
