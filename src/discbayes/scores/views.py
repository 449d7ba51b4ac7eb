"""The rows as the scanning kernels want them: those in doubt first, with bit sets (see ``kernels/scanning.py``)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discbayes.engine import parallel_map
from discbayes.kernels import scanning
from discbayes.scores.families import Extensions, Family
from discbayes.scores.rows import Rows

NEAR_ROWS = 384  # rows of least slack that every candidate looks at
MOST_VALUES, MOST_CELLS = 64, 512  # of features and of families that have bit sets
MOST_BYTES = 1 << 28  # of all bit sets of one view
LEAST_LOSS, LEAST_SHARE = 1e-7, 1e-8  # below: rows, and classes of a row, that are hardly in doubt
NO_BITS = np.zeros((0, 0), np.uint64)
NO_ROWS = np.empty(0, np.int64)


class BitSets:
    """A bit set for every value of the features that have few, over rows at given positions."""

    def __init__(self, rows: Rows, which: np.ndarray, positions: np.ndarray, n_words: int, n_jobs: int | None):
        cards = np.where(rows.cards <= MOST_VALUES, rows.cards, 0)
        if cards.sum() * n_words * 8 > MOST_BYTES:
            cards = np.zeros_like(cards)
        self.rows, self.known = rows, cards > 0
        self.value_start = np.concatenate([[0], np.cumsum(cards)]).astype(np.int64)
        self.bits = np.zeros((int(cards.sum()), n_words), np.uint64)

        def one(i: int) -> None:
            scanning.set_bits(rows.codes[i], rows.cards[i], which, positions, self.of(i))

        parallel_map(one, np.flatnonzero(self.known).tolist(), n_jobs, work=which.size * rows.cards.size)

    def of(self, feature: int) -> np.ndarray:
        """The bit sets of the values of a feature."""
        return self.bits[self.value_start[feature] : self.value_start[feature + 1]]

    def cells(self, child: int, parents: tuple[int, ...]) -> np.ndarray:
        """The bit sets of the cells of a family; none where it has too many, or a feature without them."""
        members = (child, *parents)
        n_cells = math.prod(int(self.rows.cards[i]) for i in members)
        if n_cells > MOST_CELLS or not all(self.known[i] for i in members):
            return NO_BITS
        cells = self.of(child)
        for p in reversed(parents):
            wider = np.empty((cells.shape[0] * int(self.rows.cards[p]), cells.shape[1]), np.uint64)
            scanning.join_bits(self.of(p), cells, wider)
            cells = wider
        return cells


def _spread_out(keys: np.ndarray, n_keys: int, offset: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions for rows that are sorted by key, each key from a new word on; where each key starts, and ends."""
    sizes = np.bincount(keys, minlength=n_keys)
    starts = offset + np.concatenate([[0], np.cumsum((sizes + 63) // 64 * 64)]).astype(np.int64)
    positions = np.arange(keys.size) + (starts[:-1] - np.cumsum(sizes) + sizes)[keys]
    return positions, starts, starts[:-1] + sizes


class DoubtView:
    """For the rate and the margin: rows by segment and slack (see ``kernels/scanning.py``), up to some reach."""

    def __init__(self, rows: Rows, log_joint: np.ndarray, kind: int, scale: float, reach: float, n_jobs: int | None):
        self.rows, self.kind, self.scale, self.reach, self.n_jobs = rows, kind, scale, reach, n_jobs
        n = rows.y.size
        self.best_other, self.margin = np.empty(n, np.int32), np.empty(n)
        self.slack, self.value = np.empty(n), np.empty(n)
        scanning.margins(log_joint, rows.y, kind, scale, self.best_other, self.margin, self.slack, self.value)
        self._place()
        self._fill(log_joint)
        self._linear()

    def _place(self) -> None:
        """Choose the rows within reach and give each its position in the view."""
        near = np.flatnonzero(self.slack <= self.reach)
        segment = self.best_other[near]
        if self.kind == scanning.RATE:
            segment = np.where(self.value[near] == 0, segment, self.rows.n_classes + self.rows.y[near])
        slack = self.slack[near]
        first = min(NEAR_ROWS, near.size)
        self.near_reach = float(np.partition(slack, first - 1)[first - 1]) if first else 0.0
        order = np.lexsort((slack, segment))
        close = slack[order] <= self.near_reach
        front, rest = order[close], order[~close]
        n_segments = 2 * self.rows.n_classes
        positions, starts, ends = _spread_out(segment[rest], n_segments, (front.size + 63) // 64 * 64)
        n_wrong = int(np.count_nonzero(segment[front] < self.rows.n_classes))
        self.near_start = np.array([0, n_wrong, front.size], np.int64)
        self.segment_start, self.segment_end = starts[:-1].copy(), ends
        self.positions = np.concatenate([np.arange(front.size), positions])
        self.chosen = near[np.concatenate([front, rest])]
        self.segment = segment[np.concatenate([front, rest])]
        self.size = int(starts[-1])

    def _fill(self, log_joint: np.ndarray) -> None:
        """What the kernel reads of each row, in the order of the view."""
        rows, at = self.rows, np.zeros(self.size, np.int64)
        at[self.positions] = self.chosen
        self.view_rows, self.view_segment = at, np.zeros(self.size, np.int32)
        self.view_segment[self.positions] = self.segment
        self.view = (
            log_joint[at], rows.y[at], self.best_other[at], self.margin[at], self.value[at], rows.weight[at],
            rows.group[at],
        )  # fmt: skip
        steps = int(min(self.reach, 64.0) * scanning.STEPS) + 2
        self.front = np.empty((2 * rows.n_classes, steps), np.int32)
        self.view_slack = self.slack[at]
        scanning.fill_front(self.view_slack, self.segment_start, self.segment_end, self.front)
        self.bits = BitSets(rows, self.chosen, self.positions, (self.size + 63) // 64, self.n_jobs)

    def _linear(self) -> None:
        """For the margin, the rows whose value is below one: bit sets by true and by strongest other class."""
        self.linear_rows = NO_ROWS
        self.by_true: tuple[BitSets, np.ndarray] | None = None
        self.by_other: tuple[BitSets, np.ndarray] | None = None
        if self.kind == scanning.MARGIN:
            self.linear_rows = np.flatnonzero(self.value < 1.0)
            if self.rows.unit_weights:
                self.by_true, self.by_other = self._count_by(self.rows.y), self._count_by(self.best_other)

    def _count_by(self, classes: np.ndarray) -> tuple[BitSets, np.ndarray]:
        rows, which = self.rows, self.linear_rows
        key = rows.group[which] * rows.n_classes + classes[which]
        order = np.argsort(key, kind="stable")
        positions, starts, _ = _spread_out(key[order], rows.n_groups * rows.n_classes, 0)
        return BitSets(rows, which[order], positions, int(starts[-1]) // 64, self.n_jobs), starts // 64

    def scan(
        self, family: Family, base: np.ndarray, n_base: int, through: tuple[int, ...], extensions: Extensions,
        which: np.ndarray, bound: float,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """The gain of some of the extensions of a family, and whether it is exact or a bound below ``bound``."""
        rows, gains, exact = self.rows, np.empty(which.size), np.empty(which.size, np.bool_)
        members = (family.child, (*through, *family.parents))
        true_bits, true_start, base_true = self._words(self.by_true, members)
        other_bits, other_start, base_other = self._words(self.by_other, members)
        scanning.scan_child(
            self.kind, self.scale, extensions.parents[which], rows.cards, rows.codes, base, n_base, rows.n_groups,
            extensions.starts[which], extensions.tables, extensions.own, bound, rows.y, rows.weight, rows.group,
            self.best_other, self.view_slack, self.near_start, self.near_reach, self.segment_start, self.front,
            self.view_rows, self.view_segment, *self.view, self.bits.known, self.bits.value_start, self.bits.bits,
            self.bits.cells(*members), self.linear_rows, true_bits, base_true, true_start, other_bits, base_other,
            other_start, gains, exact,
        )  # fmt: skip
        return gains, exact

    @staticmethod
    def _words(
        counted: tuple[BitSets, np.ndarray] | None, members: tuple[int, tuple[int, ...]]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if counted is None:
            return NO_BITS, np.zeros(1, np.int64), NO_BITS
        return counted[0].bits, counted[1], counted[0].cells(*members)


@dataclass(frozen=True)
class _Likely:
    """Rows with the classes that are likely in each, own class first, and what the rows from each on can gain."""

    rows: np.ndarray
    start: np.ndarray
    classes: np.ndarray
    shares: np.ndarray
    left: np.ndarray

    @classmethod
    def of(cls, rows: Rows, which: np.ndarray, posterior: np.ndarray, least: float, left: np.ndarray) -> _Likely:
        start = np.empty(which.size + 1, np.int64)
        classes = np.empty(which.size * rows.n_classes, np.int32)
        shares = np.empty(classes.size)
        end = scanning.likely_classes(posterior, rows.y, which, least, start, classes, shares)
        return cls(which, start, classes[:end].copy(), shares[:end].copy(), left)


class LikelihoodView:
    """For the conditional likelihood: the rows in doubt, the least certain first, and all rows."""

    reach = np.inf

    def __init__(self, rows: Rows, log_joint: np.ndarray):
        self.rows = rows
        posterior, loss = np.empty_like(log_joint), np.empty(rows.y.size)
        scanning.posteriors(log_joint, rows.y, posterior, loss)
        order = np.argsort(-loss, kind="stable")
        order = order[: np.count_nonzero(loss > LEAST_LOSS)]
        weighted = rows.weight * loss
        rest = weighted.sum() - weighted[order].sum()
        left = np.concatenate([np.cumsum(weighted[order][::-1])[::-1] + rest, [rest]])
        self.doubtful = _Likely.of(rows, order, posterior, LEAST_SHARE, left)
        everything = np.arange(rows.y.size)
        self.all = _Likely.of(rows, everything, posterior, 0.0, np.zeros(rows.y.size + 1))

    def scan(
        self, family: Family, base: np.ndarray, n_base: int, through: tuple[int, ...], extensions: Extensions,
        which: np.ndarray, bound: float,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """The gain of some of the extensions of a family, and whether it is exact or a bound below ``bound``."""
        rows, some, every = self.rows, self.doubtful, self.all
        gains, exact = np.empty(which.size), np.empty(which.size, np.bool_)
        scanning.scan_child_likelihood(
            extensions.parents[which], rows.cards, rows.codes, base, n_base, rows.n_groups, rows.n_classes,
            extensions.starts[which], extensions.tables, extensions.own, bound, rows.weight, rows.group, some.rows,
            some.start, some.classes, some.shares, some.left, every.rows, every.start, every.classes, every.shares,
            every.left, gains, exact,
        )  # fmt: skip
        return gains, exact
