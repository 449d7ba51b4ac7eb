"""The rows as the scanning kernels want them: those in doubt first, with bit sets (see
``kernels/candidate_scan.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discbayes.kernels import accuracy_scan, candidate_scan
from discbayes.scores.bit_sets import NO_BITS, BitSets
from discbayes.scores.candidate_families import Extensions, Family
from discbayes.scores.scoring_rows import ScoringRows

MIN_NEAR = 1024  # right rows, of those of least slack, that have bit sets in any case
MIN_LOSS, MIN_SHARE = 1e-7, 1e-8  # below: rows, and classes of a row, that are hardly in doubt


def _measured(
    rows: ScoringRows, log_joint: np.ndarray, kind: int, scale: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """For each row the strongest other class, the slack, the value, and the key by which rows are
    sorted.
    """
    n = rows.y.size
    other, margin, slack, value = np.empty(n, np.int32), np.empty(n), np.empty(n), np.empty(n)
    candidate_scan.margins(log_joint, rows.y, kind, scale, other, margin, slack, value)
    keys = np.empty(n, np.uint16)
    candidate_scan.slack_keys(slack, keys)
    return other, slack, value, keys


def _ends(keys: np.ndarray) -> np.ndarray:
    """For each step of reach the number of rows within it; the keys are sorted."""
    ends = np.empty((candidate_scan.LAST_KEY >> candidate_scan.SHIFT) + 1, np.int64)
    candidate_scan.fill_ends(keys, ends)
    return ends


class AccuracyScanOrder:
    """For the rate: the rows that are wrong, by slack, and then those that are right (see
    ``kernels/accuracy_scan.py``).
    """

    reach = np.inf

    def __init__(
        self, rows: ScoringRows, log_joint: np.ndarray, n_candidates: int, n_jobs: int | None
    ):
        self.rows, self.log_joint = rows, log_joint
        other, slack, value, keys = _measured(rows, log_joint, candidate_scan.RATE, 1.0)
        order = np.argsort(keys, kind="stable")
        right = value[order] == 1.0
        self.order = np.concatenate([order[~right], order[right]])
        self.n_wrong = int(np.count_nonzero(~right))
        self.n_near = min(max(self.n_wrong, MIN_NEAR), right.size - self.n_wrong)
        self.slack, self.y, self.other = slack[self.order], rows.y[self.order], other[self.order]
        self.weight, self.group = rows.weight[self.order], rows.group[self.order]
        self.ends = tuple(
            _ends(keys[part]) for part in (self.order[: self.n_wrong], self.order[self.n_wrong :])
        )
        front, aligned = self.n_wrong + self.n_near, (self.n_wrong + 63) // 64 * 64
        positions = np.concatenate([np.arange(self.n_wrong), aligned + np.arange(self.n_near)])
        n_words = (aligned + self.n_near + 63) // 64
        self.bits = BitSets.if_worth_it(
            n_candidates, rows, self.order[:front], positions, n_words, n_jobs
        )

    def scan(
        self, family: Family, base: np.ndarray, n_base: int, through: tuple[int, ...], extensions: Extensions,
        which: np.ndarray, bound: float, rise: float,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """The gain of some of the extensions of a family, and whether it is exact or a bound below
        ``bound``.
        """
        rows, gains, exact = self.rows, np.empty(which.size), np.empty(which.size, np.bool_)
        base_bits = self.bits.cells(family.child, (*through, *family.parents))
        accuracy_scan.scan_child_rate(
            extensions.parents[which], rows.cards, rows.codes, base, n_base, rows.n_groups, extensions.starts[which],
            extensions.spreads[which], extensions.tables, extensions.own, bound, rise, self.order, self.n_wrong,
            self.n_near, *self.ends, self.slack, self.y, self.other, self.weight, self.group, self.log_joint,
            self.bits.known, self.bits.value_start, self.bits.bits, base_bits, gains, exact,
        )  # fmt: skip
        return gains, exact


class MarginScanOrder:
    """For the margin: the rows by slack (see ``kernels/candidate_scan.py``), up to some reach."""

    def __init__(
        self,
        rows: ScoringRows,
        log_joint: np.ndarray,
        scale: float,
        reach: float,
        n_candidates: int,
        n_jobs: int | None,
    ):
        self.rows, self.scale, self.reach = rows, scale, reach
        self.best_other, slack, self.value, keys = _measured(
            rows, log_joint, candidate_scan.MARGIN, scale
        )
        order = np.argsort(keys, kind="stable")
        self.ends = _ends(keys[order])
        self.order = at = order[: self.ends[candidate_scan.reach_step(reach)]]
        self.view = (
            log_joint[at],
            rows.y[at],
            self.best_other[at],
            self.value[at],
            rows.weight[at],
            rows.group[at],
        )
        self.slack = slack[at]
        n_words = (at.size + 63) // 64
        self.bits = BitSets.if_worth_it(n_candidates, rows, at, np.arange(at.size), n_words, n_jobs)
        self._linear(n_jobs)

    def _linear(self, n_jobs: int | None) -> None:
        """The rows whose value is below one: bit sets by true and by strongest other class."""
        self.by_true: tuple[BitSets, np.ndarray] | None = None
        self.by_other: tuple[BitSets, np.ndarray] | None = None
        self.linear_rows = np.flatnonzero(self.value < 1.0)
        if self.rows.unit_weights and self.bits.known.any():
            self.by_true, self.by_other = (
                self._count_by(by, n_jobs) for by in (self.rows.y, self.best_other)
            )

    def _count_by(self, classes: np.ndarray, n_jobs: int | None) -> tuple[BitSets, np.ndarray]:
        rows, which = self.rows, self.linear_rows
        keys = rows.group[which] * rows.n_classes + classes[which]
        return BitSets.by_key(rows, which, keys, rows.n_groups * rows.n_classes, n_jobs)

    def scan(
        self, family: Family, base: np.ndarray, n_base: int, through: tuple[int, ...], extensions: Extensions,
        which: np.ndarray, bound: float, rise: float,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """The gain of some of the extensions of a family, and whether it is exact or a bound below
        ``bound``.
        """
        rows, gains, exact = self.rows, np.empty(which.size), np.empty(which.size, np.bool_)
        members = (family.child, (*through, *family.parents))
        true_bits, true_start, base_true = self._words(self.by_true, members)
        other_bits, other_start, base_other = self._words(self.by_other, members)
        candidate_scan.scan_child_margin(
            self.scale, extensions.parents[which], rows.cards, rows.codes, base, n_base, rows.n_groups,
            extensions.starts[which], extensions.spreads[which], extensions.tables, extensions.own, bound, rise, rows.y,
            rows.weight, rows.group, self.best_other, self.slack, self.ends, self.order, *self.view, self.bits.known,
            self.bits.value_start, self.bits.bits, self.bits.cells(*members), self.linear_rows, true_bits, base_true,
            true_start, other_bits, base_other, other_start, gains, exact,
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
    """Rows with the classes that are likely in each, own class first, and what the rows from each
    on can gain.
    """

    rows: np.ndarray
    start: np.ndarray
    classes: np.ndarray
    shares: np.ndarray
    left: np.ndarray

    @classmethod
    def of(
        cls,
        rows: ScoringRows,
        which: np.ndarray,
        posterior: np.ndarray,
        least: float,
        left: np.ndarray,
    ) -> _Likely:
        start = np.empty(which.size + 1, np.int64)
        classes = np.empty(which.size * rows.n_classes, np.int32)
        shares = np.empty(classes.size)
        end = candidate_scan.likely_classes(posterior, rows.y, which, least, start, classes, shares)
        return cls(which, start, classes[:end].copy(), shares[:end].copy(), left)


class LikelihoodScanOrder:
    """For the conditional likelihood: the rows in doubt, the least certain first, and all rows.

    Where no candidate is to be abandoned, ``bounded=False``, a look at those in doubt would tell
    nothing.
    """

    reach = np.inf

    def __init__(self, rows: ScoringRows, log_joint: np.ndarray, bounded: bool = True):
        self.rows = rows
        posterior, loss = np.empty_like(log_joint), np.empty(rows.y.size)
        candidate_scan.posteriors(log_joint, rows.y, posterior, loss)
        order = np.argsort(-loss, kind="stable")
        order = order[: np.count_nonzero(loss > MIN_LOSS) * bounded]
        weighted = rows.weight * loss
        rest = weighted.sum() - weighted[order].sum()
        left = np.concatenate([np.cumsum(weighted[order][::-1])[::-1] + rest, [rest]])
        self.doubtful = _Likely.of(rows, order, posterior, MIN_SHARE, left)
        everything = np.arange(rows.y.size)
        self.all = _Likely.of(rows, everything, posterior, 0.0, np.zeros(rows.y.size + 1))

    def scan(
        self, family: Family, base: np.ndarray, n_base: int, through: tuple[int, ...], extensions: Extensions,
        which: np.ndarray, bound: float, rise: float,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """The gain of some of the extensions of a family, and whether it is exact or a bound below
        ``bound``.
        """
        rows, some, every = self.rows, self.doubtful, self.all
        gains, exact = np.empty(which.size), np.empty(which.size, np.bool_)
        candidate_scan.scan_child_likelihood(
            extensions.parents[which], rows.cards, rows.codes, base, n_base, rows.n_groups, rows.n_classes,
            extensions.starts[which], extensions.tables, extensions.own, bound, rise, rows.weight, rows.group,
            some.rows, some.start, some.classes, some.shares, some.left, every.rows, every.start, every.classes,
            every.shares, every.left, gains, exact,
        )  # fmt: skip
        return gains, exact


View = AccuracyScanOrder | MarginScanOrder | LikelihoodScanOrder
