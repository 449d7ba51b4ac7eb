"""The order in which candidates visit the rows: those that can change the score first.

One class for each objective; ``kernels/candidate_scan.py`` and ``kernels/accuracy_scan.py`` scan
the rows and justify why a candidate may be abandoned.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from discbayes.kernels import accuracy_scan, candidate_scan
from discbayes.kernels.scan_records import (
    CountingBits,
    LikelyClasses,
    ParentTables,
    ScanRows,
    ScoringRows,
    SlackSection,
)
from discbayes.scoring.bit_sets import NO_BITS, BitSets

MIN_NEAR = 1024  # rows that are right, of those of least slack, that have bit sets in any case
MIN_LOSS = 1e-7  # −log P(y|x) below which a row is hardly in doubt
MIN_SHARE = 1e-8  # posterior below which a class is hardly in doubt
NO_COUNTING = tuple(CountingBits(NO_BITS, NO_BITS, np.zeros(1, np.int64)))


class ScanOrder(ABC):
    """Rows in scan order for one objective and one network."""

    kernel: Callable[..., None]
    max_range = np.inf  # the largest range of a table that the order is good for

    @abstractmethod
    def _records(
        self, child: int, parents: tuple[int, ...], base: np.ndarray, n_base: int
    ) -> tuple[tuple[Any, ...], ...]:
        """Return the rows and the cells of a family, as the kernel reads them."""

    def scan(
        self,
        child: int,
        parents: tuple[int, ...],
        base: np.ndarray,
        n_base: int,
        further: ParentTables,
        threshold: float,
        tolerance: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Score further parents of a family.

        Parameters
        ----------
        child, parents
            The family that they join.
        base, n_base
            The cell of each row in it, and the number of cells.
        further : ParentTables
            What each further parent adds to log θ.
        threshold : float
            A candidate is abandoned as soon as its gain is known to be below.
        tolerance : float
            The threshold rises to this much below each gain that is found.

        Returns
        -------
        gains : array
            The gain of each, or an upper bound of it that is below the threshold.
        exact : bool array
            Whether it is the gain.
        """
        gains, exact = new_results(further)
        records = self._records(child, parents, base, n_base)
        self.kernel(*records, tuple(further), threshold, tolerance, gains, exact)
        return gains, exact


def _measure(
    rows: ScoringRows, log_joint: np.ndarray, kind: int, scale: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return for each row the strongest other class, the slack, the value, and the sort key."""
    n = rows.y.size
    other, margin = np.empty(n, np.int32), np.empty(n)
    slack, value = np.empty(n), np.empty(n)
    candidate_scan.margins(log_joint, rows.y, kind, scale, other, margin, slack, value)
    keys = np.empty(n, np.uint16)
    candidate_scan.slack_keys(slack, keys)
    return other, slack, value, keys


def _ends(keys: np.ndarray) -> np.ndarray:
    """Return for each step of slack the number of rows within it; the keys are sorted."""
    ends = np.empty((candidate_scan.LAST_KEY >> candidate_scan.SHIFT) + 1, np.int64)
    candidate_scan.fill_ends(keys, ends)
    return ends


def new_results(further: ParentTables) -> tuple[np.ndarray, np.ndarray]:
    """Return arrays for the gains of further parents, and for whether each is exact."""
    return np.empty(further.parents.size), np.empty(further.parents.size, np.bool_)


def _scan_rows(
    rows: ScoringRows,
    measured: Sequence[np.ndarray],
    order: np.ndarray,
    log_joint: np.ndarray,
    scale: float = 1.0,
) -> ScanRows:
    """Put what was measured of the rows in scan order."""
    other, slack, value, _ = measured
    return ScanRows(
        scale,
        order,
        slack[order],
        rows.y[order],
        other[order],
        value[order],
        rows.weight[order],
        rows.group[order],
        log_joint,
    )


class AccuracyScanOrder(ScanOrder):
    """For the accuracy: the rows that are misclassified, by slack, then the others, by slack."""

    kernel = staticmethod(accuracy_scan.scan_accuracy)

    def __init__(
        self, rows: ScoringRows, log_joint: np.ndarray, n_candidates: int, n_jobs: int | None
    ):
        self.rows = rows
        measured = _measure(rows, log_joint, candidate_scan.ACCURACY, 1.0)
        _, _, value, keys = measured
        by_slack = np.argsort(keys, kind="stable")
        right = value[by_slack] == 1.0
        order = np.concatenate([by_slack[~right], by_slack[right]])
        n_wrong = int(np.count_nonzero(~right))
        n_near = min(max(n_wrong, MIN_NEAR), right.size - n_wrong)
        # The first row that is right begins a new word, so that words never mix both kinds.
        first_word = (n_wrong + 63) // 64
        self._view = _scan_rows(rows, measured, order, log_joint)
        self._wrong = SlackSection(0, _ends(keys[order[:n_wrong]]), 0, n_wrong)
        self._right = SlackSection(n_wrong, _ends(keys[order[n_wrong:]]), first_word, n_near)
        positions = np.concatenate([np.arange(n_wrong), first_word * 64 + np.arange(n_near)])
        n_words = first_word + (n_near + 63) // 64
        self.bits = BitSets.if_worth_it(
            n_candidates, rows, order[: n_wrong + n_near], positions, n_words, n_jobs
        )

    def _records(
        self, child: int, parents: tuple[int, ...], base: np.ndarray, n_base: int
    ) -> tuple[tuple[Any, ...], ...]:
        return (
            tuple(self._view),
            tuple(self._wrong),
            tuple(self._right),
            tuple(self.rows),
            tuple(self.bits.record),
            (base, n_base, self.bits.cells(child, parents)),
        )


class MarginScanOrder(ScanOrder):
    """For the margin: the rows by slack, up to the largest range of a table."""

    kernel = staticmethod(candidate_scan.scan_margin)

    def __init__(
        self,
        rows: ScoringRows,
        log_joint: np.ndarray,
        scale: float,
        max_range: float,
        n_candidates: int,
        n_jobs: int | None,
    ):
        self.rows, self.max_range = rows, max_range
        measured = _measure(rows, log_joint, candidate_scan.MARGIN, scale)
        self._other, _, value, keys = measured
        by_slack = np.argsort(keys, kind="stable")
        ends = _ends(keys[by_slack])
        order = by_slack[: ends[candidate_scan.range_step(max_range)]]
        self._view = _scan_rows(rows, measured, order, log_joint, scale)
        self._section = SlackSection(0, ends, 0, order.size)
        n_words = (order.size + 63) // 64
        self.bits = BitSets.if_worth_it(
            n_candidates, rows, order, np.arange(order.size), n_words, n_jobs
        )
        # Rows on the linear part, counted by own and by strongest other class.
        self._linear_rows = linear = np.flatnonzero(value < 1.0)
        self._by_class: list[tuple[BitSets, np.ndarray]] = []
        if rows.has_unit_weights and self.bits.record.has_bits.any():
            for classes in (rows.y, self._other):
                keys_of = rows.group[linear] * rows.n_classes + classes[linear]
                n_keys = rows.n_groups * rows.n_classes
                self._by_class.append(BitSets.by_key(rows, linear, keys_of, n_keys, n_jobs))

    def _records(
        self, child: int, parents: tuple[int, ...], base: np.ndarray, n_base: int
    ) -> tuple[tuple[Any, ...], ...]:
        by_class = [
            (sets.record.bits, sets.cells(child, parents), word_start)
            for sets, word_start in self._by_class
        ]
        by_own, by_other = by_class or (NO_COUNTING, NO_COUNTING)
        return (
            tuple(self._view),
            tuple(self._section),
            (self._linear_rows, self._other, by_own, by_other),
            tuple(self.rows),
            tuple(self.bits.record),
            (base, n_base, self.bits.cells(child, parents)),
        )


class LikelihoodScanOrder(ScanOrder):
    """For the conditional likelihood: the rows in doubt, the least certain first, and all rows.

    If no candidate is to be abandoned, ``abandons=False``, the rows in doubt are not scanned first.
    """

    kernel = staticmethod(candidate_scan.scan_likelihood)

    def __init__(self, rows: ScoringRows, log_joint: np.ndarray, abandons: bool = True):
        self.rows = rows
        posterior, loss = np.empty_like(log_joint), np.empty(rows.y.size)
        candidate_scan.posteriors(log_joint, rows.y, posterior, loss)
        order = np.argsort(-loss, kind="stable")
        order = order[: np.count_nonzero(loss > MIN_LOSS) * abandons]
        # A row gains its loss at most: P(y|x) cannot exceed one.
        weighted = rows.weight * loss
        rest = weighted.sum() - weighted[order].sum()
        max_gain = np.concatenate([np.cumsum(weighted[order][::-1])[::-1] + rest, [rest]])
        self.doubtful = _likely_classes(rows, order, posterior, MIN_SHARE, max_gain)
        every_row, none_left = np.arange(rows.y.size), np.zeros(rows.y.size + 1)
        self.all = _likely_classes(rows, every_row, posterior, 0.0, none_left)

    def _records(
        self, child: int, parents: tuple[int, ...], base: np.ndarray, n_base: int
    ) -> tuple[tuple[Any, ...], ...]:
        cells_of = (base, n_base, NO_BITS)
        return tuple(self.doubtful), tuple(self.all), tuple(self.rows), cells_of


def _likely_classes(
    rows: ScoringRows,
    which: np.ndarray,
    posterior: np.ndarray,
    min_share: float,
    max_gain_from: np.ndarray,
) -> LikelyClasses:
    """List the classes of at least some probability in each of some rows, the own class first."""
    start = np.empty(which.size + 1, np.int64)
    classes = np.empty(which.size * rows.n_classes, np.int32)
    shares = np.empty(classes.size)
    end = candidate_scan.likely_classes(posterior, rows.y, which, min_share, start, classes, shares)
    return LikelyClasses(which, start, classes[:end].copy(), shares[:end].copy(), max_gain_from)
