"""Generative parameters: relative frequencies, smoothed.

The estimates of the papers are points of one family, a smoothing and its amount:

=====================  ===========================================
========================================== name in the papers     learner
a cell with count n in a row with total N =====================
===========================================  ========================================== ML (P10,
P12)          ``MaximumLikelihood(epsilon=1e-5)``          n/N; zeros become ε, rows are
renormalised OFE (C11)              ``MaximumAPosteriori("dirichlet", 0.5)``     (n + a) / (N + a·r)
P13-ML                 ``MaximumAPosteriori("ess", 1)``             (n + α/cells) / (N + α/rows)
Z17-MAP                ``MaximumAPosteriori("m", 1)``               (n + m/r) / (N + m)
=====================  ===========================================
==========================================

``r`` is the number of values, ``cells`` and ``rows`` count the whole table. A row without data is
uniform.

Where rows have gaps, n are the rows without a gap in the family, or expected counts
(``gaps="em"``).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator

from discbayes.counts import Counts, FamilyCounts, count_families
from discbayes.data.rows import Rows
from discbayes.engine import Context
from discbayes.network import CPTs, Layout, Structure
from discbayes.parameters.em import IncompleteRows, maximize

PRIORS = ("ess", "dirichlet", "m")
GAPS = ("available", "em")


class _Frequency(BaseEstimator):
    """Counts to tables, by a smoothing that subclasses give."""

    supports_blocks = True
    prior_is_shares = True  # of the classes, smoothed, and nothing else

    gaps: str
    max_iter: int
    tol: float

    @abstractmethod
    def _smooth(self, counts: np.ndarray, layout: Layout) -> np.ndarray:
        """Probabilities from counts in the given layout, normalised over the values of each
        feature.
        """

    def _check(self) -> None:
        """Refuse settings that make no sense."""
        if self.gaps not in GAPS:
            raise ValueError(f"gaps={self.gaps!r} is not one of {', '.join(map(repr, GAPS))}")
        whole = isinstance(self.max_iter, (int, np.integer)) and not isinstance(self.max_iter, bool)
        if not whole or self.max_iter < 1:
            raise ValueError(
                f"max_iter={self.max_iter!r} must be a whole number that is at least 1"
            )
        if not (np.isfinite(self.tol) and self.tol >= 0):
            raise ValueError(f"tol={self.tol!r} must be a number that is at least 0")

    def learn(self, data: Rows, counts: Counts, structure: Structure, context: Context) -> CPTs:
        """Count the families of the structure and turn the counts into tables."""
        self._check()
        layout = Layout(structure, data.cards, data.n_classes)
        families = count_families(data, layout, counts, context.n_jobs)
        if self.gaps == "em" and data.n_missing.any():
            rows = IncompleteRows(data.in_memory(f'{type(self).__name__}(gaps="em")'), layout)
            if rows.n_samples:
                return self._maximized(rows, families, context)
        return self._tables(families)

    def tables(self, families: FamilyCounts) -> CPTs:
        """Tables from counts of the families."""
        self._check()
        if self.gaps == "em":
            raise ValueError(
                f'{self!r}: EM needs rows, and here there are counts only: use gaps="available"'
            )
        return self._tables(families)

    def _tables(self, families: FamilyCounts) -> CPTs:
        layout = families.layout
        theta = self._smooth(families.layout.pool_columns(families.cells), layout)
        prior = self._smooth(families.class_count, Layout.of_class(layout.n_classes))
        with np.errstate(divide="ignore"):
            return CPTs(layout, np.log(prior), np.log(theta, out=theta))

    def _maximized(self, rows: IncompleteRows, families: FamilyCounts, context: Context) -> CPTs:
        start = self._tables(families)
        if np.isneginf(start.log_theta).any():  # no iteration would lead away from zero
            start = MaximumAPosteriori("m", 1.0)._tables(families)

        def step(expected: np.ndarray) -> CPTs:
            return self._tables(self._with_expected(families, expected))

        return maximize(
            rows, families, start, step, self._log_density, self.max_iter, self.tol, context
        )

    def _with_expected(self, families: FamilyCounts, expected: np.ndarray) -> FamilyCounts:
        """The counts, with the expected counts of gaps."""
        return replace(families, cells=families.cells + expected)

    def _log_density(self, tables: CPTs) -> float:
        """The log density of the prior behind the smoothing, up to a constant."""
        return 0.0


class MaximumLikelihood(_Frequency):
    """Relative frequencies; zeros become ``epsilon`` and the row is renormalised.

    Parameters
    ----------
    epsilon : float, default=1e-5
        What stands in for a probability of zero.
    gaps : {"available", "em"}, default="available"
        What rows with gaps tell: "available" counts each family in the rows without a gap in it.
        "em" starts there and maximises Σ w·log P(y, x observed) by expectation-maximisation, which
        does not mislead where the gaps of a column depend on what is observed. A value that was
        never counted and is expected in a share below ``epsilon`` is taken as zero. Without
        ``epsilon`` no iteration makes the likelihood smaller; with it, one can by a trifle, and is
        then the last.
    max_iter : int, default=200
        The largest number of iterations of EM.
    tol : float, default=1e-6
        EM ends when an iteration raises the log likelihood by no more, relative to ``max(|log
        likelihood|, 1)``.

    Examples
    --------
    >>> layout = Layout(Structure.naive(1), np.array([3]), 1)
    >>> counts = FamilyCounts(layout, np.array([4.0]), np.array([3.0, 1.0, 0.0]))
    >>> np.exp(MaximumLikelihood().tables(counts).log_theta).round(5).tolist()
    [0.74999, 0.25, 1e-05]
    """

    def __init__(
        self, epsilon: float = 1e-5, gaps: str = "available", max_iter: int = 200, tol: float = 1e-6
    ):
        self.epsilon = epsilon
        self.gaps = gaps
        self.max_iter = max_iter
        self.tol = tol

    def _check(self) -> None:
        super()._check()
        if not 0 <= self.epsilon < 1:
            raise ValueError(f"epsilon={self.epsilon!r} must be at least 0 and below 1")

    def _smooth(self, counts: np.ndarray, layout: Layout) -> np.ndarray:
        share = _share(counts, layout)
        floored = np.where(share > 0, share, self.epsilon)
        return floored / layout.row_totals(floored)

    def _with_expected(self, families: FamilyCounts, expected: np.ndarray) -> FamilyCounts:
        both = super()._with_expected(families, expected)
        pooled = both.layout.pool_columns(both.cells)
        little = pooled < self.epsilon * families.layout.row_totals(pooled)
        both.cells[little & (families.layout.pool_columns(families.cells) == 0)] = 0.0
        return both


class MaximumAPosteriori(_Frequency):
    """Relative frequencies with virtual observations added.

    Parameters
    ----------
    prior : {"ess", "dirichlet", "m"}, default="ess"
        How they are spread: "ess" spreads ``strength`` observations over a whole table, "dirichlet"
        adds ``strength`` to every cell, "m" adds ``strength`` observations to every row.
    strength : float, default=1.0
        How many there are.
    gaps : {"available", "em"}, default="available"
        What rows with gaps tell: "available" counts each family in the rows without a gap in it.
        "em" starts there and maximises Σ w·log P(y, x observed) + Σ a·log θ by
        expectation-maximisation, where a are the virtual observations: the density of a Dirichlet
        prior. No iteration makes that smaller.
    max_iter : int, default=200
        The largest number of iterations of EM.
    tol : float, default=1e-6
        EM ends when an iteration raises that sum by no more, relative to ``max(|sum|, 1)``.

    Examples
    --------
    >>> layout = Layout(Structure.naive(1), np.array([3]), 1)
    >>> counts = FamilyCounts(layout, np.array([4.0]), np.array([3.0, 1.0, 0.0]))
    >>> np.exp(MaximumAPosteriori("dirichlet", 0.5).tables(counts).log_theta).round(3)
    array([0.636, 0.273, 0.091])
    """

    def __init__(
        self,
        prior: str = "ess",
        strength: float = 1.0,
        gaps: str = "available",
        max_iter: int = 200,
        tol: float = 1e-6,
    ):
        self.prior = prior
        self.strength = strength
        self.gaps = gaps
        self.max_iter = max_iter
        self.tol = tol

    def _check(self) -> None:
        super()._check()
        if self.prior not in PRIORS:
            raise ValueError(f"prior={self.prior!r} is not one of {', '.join(map(repr, PRIORS))}")
        if not (np.isfinite(self.strength) and self.strength >= 0):
            raise ValueError(f"strength={self.strength!r} must be a number that is at least 0")

    def _smooth(self, counts: np.ndarray, layout: Layout) -> np.ndarray:
        return _share(
            counts + np.repeat(self.virtual_counts(layout), np.diff(layout.offsets)), layout
        )

    def virtual_counts(self, layout: Layout) -> np.ndarray:
        """The virtual observations in each cell of the table of each feature."""
        sizes = np.diff(layout.offsets)
        depends = np.array(layout.structure.class_children)
        among = {
            "ess": np.where(depends, sizes, sizes // layout.n_classes),
            "dirichlet": np.ones_like(sizes),
            "m": layout.cards,
        }
        return self.strength / among[self.prior]

    def virtual_cells(self, layout: Layout) -> tuple[float, np.ndarray]:
        """The same for each class and each cell; columns that are one and the same share what their
        table has.
        """
        shared = np.where(layout.structure.class_children, 1, layout.n_classes)
        cells = np.repeat(self.virtual_counts(layout) / shared, np.diff(layout.offsets))
        return float(self.virtual_counts(Layout.of_class(layout.n_classes))[0]), cells

    def _log_density(self, tables: CPTs) -> float:
        if not self.strength:
            return 0.0
        in_class, in_cells = self.virtual_cells(tables.layout)
        return float((in_cells * tables.log_theta).sum() + (in_class * tables.log_prior).sum())


def _share(counts: np.ndarray, layout: Layout) -> np.ndarray:
    """Counts over their row totals; rows without any are uniform."""
    total = layout.row_totals(counts)
    uniform = np.repeat(1.0 / layout.cards, np.diff(layout.offsets))
    return np.divide(counts, total, out=uniform, where=total > 0)
