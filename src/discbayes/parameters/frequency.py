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
    def _smooth(self, counts: np.ndarray) -> np.ndarray:
        """Probabilities from counts of shape ``(rows, values, columns)``, normalised over the values."""

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
        flat = np.empty(layout.size)
        for i, depends in enumerate(layout.structure.class_children):
            *_, card, n_classes = layout.shapes[i]
            counted = families.table(i).reshape(-1, card, n_classes)
            if not depends:
                counted = counted.sum(axis=2, keepdims=True)
            layout.table(flat, i).reshape(-1, card, n_classes)[...] = self._smooth(counted)
        prior = self._smooth(families.class_count.reshape(1, -1, 1)).ravel()
        with np.errstate(divide="ignore"):
            return Tables(layout, np.log(prior), np.log(flat, out=flat))


class MaximumLikelihood(_Frequency):
    """Relative frequencies; zeros become ``epsilon`` and the row is renormalised.

    Parameters
    ----------
    epsilon : float, default=1e-5
        What stands in for a probability of zero.

    Examples
    --------
    >>> MaximumLikelihood()._smooth(np.array([[[3.0], [1.0], [0.0]]])).round(5).ravel()
    array([0.74999, 0.25   , 0.00001])
    """

    def __init__(self, epsilon: float = 1e-5):
        self.epsilon = epsilon

    def _check(self) -> None:
        if not 0 <= self.epsilon < 1:
            raise ValueError(f"epsilon={self.epsilon!r} must be at least 0 and below 1")

    def _smooth(self, counts: np.ndarray) -> np.ndarray:
        share = _share(counts)
        floored = np.where(share > 0, share, self.epsilon)
        return floored / floored.sum(axis=1, keepdims=True)


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
    >>> MaximumAPosteriori("dirichlet", 0.5)._smooth(np.array([[[3.0], [1.0], [0.0]]])).round(3).ravel()
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

    def _smooth(self, counts: np.ndarray) -> np.ndarray:
        rows, card, columns = counts.shape
        added = {"ess": self.strength / (rows * card * columns), "dirichlet": self.strength, "m": self.strength / card}
        return _share(counts + added[self.prior])


def _share(counts: np.ndarray) -> np.ndarray:
    """Counts over their row totals; rows without any are uniform."""
    total = counts.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0, counts / total, 1.0 / counts.shape[1])
