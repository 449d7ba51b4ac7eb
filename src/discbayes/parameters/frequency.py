"""Generative parameters: relative frequencies, smoothed.

The estimates of the papers are points of one family, a smoothing and its amount:

=====================  ===========================================  ==========================================
name in the papers     learner                                      a cell with count n in a row with total N
=====================  ===========================================  ==========================================
ML (P10, P12)          ``MaximumLikelihood(epsilon=1e-5)``          n/N; zeros become ε, rows are renormalised
OFE (C11)              ``MaximumAPosteriori("dirichlet", 0.5)``     (n + a) / (N + a·r)
P13-ML                 ``MaximumAPosteriori("ess", 1)``             (n + α/cells) / (N + α/rows)
Z17-MAP                ``MaximumAPosteriori("m", 1)``               (n + m/r) / (N + m)
=====================  ===========================================  ==========================================

``r`` is the number of values, ``cells`` and ``rows`` count the whole table. A row without data is uniform.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from sklearn.base import BaseEstimator

from discbayes.counts import Counts, FamilyCounts, count_families
from discbayes.data.domain import Encoded
from discbayes.engine import Context
from discbayes.network import Layout, Structure, Tables

PRIORS = ("ess", "dirichlet", "m")


class _Frequency(BaseEstimator):
    """Counts to tables, by a smoothing that subclasses give."""

    @abstractmethod
    def _smooth(self, counts: np.ndarray, layout: Layout) -> np.ndarray:
        """Probabilities from counts in the given layout, normalised over the values of each feature."""

    def _check(self) -> None:
        """Refuse settings that make no sense."""

    def learn(self, data: Encoded, counts: Counts, structure: Structure, context: Context) -> Tables:
        """Count the families of the structure and turn the counts into tables."""
        layout = Layout(structure, data.cards, data.n_classes)
        return self.tables(count_families(data, layout, counts, context.n_jobs))

    def tables(self, families: FamilyCounts) -> Tables:
        """Tables from counts of the families."""
        self._check()
        layout = families.layout
        theta = self._smooth(_pool_classes(families), layout)
        alone = Layout(Structure.naive(1), np.array([layout.n_classes]), 1)  # the class, as a feature by itself
        prior = self._smooth(families.class_count, alone)
        with np.errstate(divide="ignore"):
            return Tables(layout, np.log(prior), np.log(theta, out=theta))


class MaximumLikelihood(_Frequency):
    """Relative frequencies; zeros become ``epsilon`` and the row is renormalised.

    Parameters
    ----------
    epsilon : float, default=1e-5
        What stands in for a probability of zero.

    Examples
    --------
    >>> layout = Layout(Structure.naive(1), np.array([3]), 1)
    >>> counts = FamilyCounts(layout, np.array([4.0]), np.array([3.0, 1.0, 0.0]))
    >>> np.exp(MaximumLikelihood().tables(counts).log_theta).round(5).tolist()
    [0.74999, 0.25, 1e-05]
    """

    def __init__(self, epsilon: float = 1e-5):
        self.epsilon = epsilon

    def _check(self) -> None:
        if not 0 <= self.epsilon < 1:
            raise ValueError(f"epsilon={self.epsilon!r} must be at least 0 and below 1")

    def _smooth(self, counts: np.ndarray, layout: Layout) -> np.ndarray:
        share = _share(counts, layout)
        floored = np.where(share > 0, share, self.epsilon)
        return floored / layout.row_totals(floored)


class MaximumAPosteriori(_Frequency):
    """Relative frequencies with virtual observations added.

    Parameters
    ----------
    prior : {"ess", "dirichlet", "m"}, default="ess"
        How they are spread: "ess" spreads ``strength`` observations over a whole table, "dirichlet" adds ``strength``
        to every cell, "m" adds ``strength`` observations to every row.
    strength : float, default=1.0
        How many there are.

    Examples
    --------
    >>> layout = Layout(Structure.naive(1), np.array([3]), 1)
    >>> counts = FamilyCounts(layout, np.array([4.0]), np.array([3.0, 1.0, 0.0]))
    >>> np.exp(MaximumAPosteriori("dirichlet", 0.5).tables(counts).log_theta).round(3)
    array([0.636, 0.273, 0.091])
    """

    def __init__(self, prior: str = "ess", strength: float = 1.0):
        self.prior = prior
        self.strength = strength

    def _check(self) -> None:
        if self.prior not in PRIORS:
            raise ValueError(f"prior={self.prior!r} is not one of {', '.join(map(repr, PRIORS))}")
        if not (np.isfinite(self.strength) and self.strength >= 0):
            raise ValueError(f"strength={self.strength!r} must be a number that is at least 0")

    def _smooth(self, counts: np.ndarray, layout: Layout) -> np.ndarray:
        sizes = np.diff(layout.offsets)
        depends = np.array(layout.structure.class_children)
        among = {
            "ess": np.where(depends, sizes, sizes // layout.n_classes),
            "dirichlet": np.ones_like(sizes),
            "m": layout.cards,
        }
        return _share(counts + np.repeat(self.strength / among[self.prior], sizes), layout)


def _pool_classes(families: FamilyCounts) -> np.ndarray:
    """The counts; a feature that does not depend on the class has those of all classes together in each column."""
    cells = families.cells.copy()
    for i, depends in enumerate(families.layout.structure.class_children):
        if not depends:
            table = families.layout.table(cells, i)
            table[...] = table.sum(axis=-1, keepdims=True)
    return cells


def _share(counts: np.ndarray, layout: Layout) -> np.ndarray:
    """Counts over their row totals; rows without any are uniform."""
    total = layout.row_totals(counts)
    uniform = np.repeat(1.0 / layout.cards, np.diff(layout.offsets))
    return np.divide(counts, total, out=uniform, where=total > 0)
