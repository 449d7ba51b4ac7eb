"""Minimization of margin problems, to within a bound of the optimum."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from discbayes.counts import FamilyCounts
from discbayes.data.rows import Rows
from discbayes.engine import Interrupts
from discbayes.objectives import Slack
from discbayes.optim import (
    Callback,
    Coordinates,
    Outcome,
    lbfgs,
    lbfgs_in,
    projected_gradient,
    until_interrupted,
)
from discbayes.parameters.fits import Fit
from discbayes.parameters.generative import MaximumAPosteriori
from discbayes.parameters.parameterization import Numbers, Plain, Subnormalized
from discbayes.parameters.svm.duality import Bound

CHECKS = 1.4  # the iterations between two bounds grow by this factor
STEP_TOL = 1e-3  # of tol, for the change of one iteration, if there is no bound


class Ending(NamedTuple):
    """The end of a fit, and its duality gap relative to the objective: NaN without a bound.

    ``reason`` is why a fit that could go no further may be above the tolerance, and what to do.
    """

    outcome: Outcome
    duality_gap: float
    reason: str = "where rounding hides any descent: raise tol"


@dataclass(frozen=True)
class MarginFit(Fit):
    """A fit with its rows and counts, for the reference solver, and a scale of its parameters."""

    data: Rows
    families: FamilyCounts
    scale: np.ndarray | None = None

    @property
    def is_convex(self) -> bool:
        """Whether the fit can reach the optimum of a convex problem, and its bound.

        It cannot where rows have missing values, nor where tables are kept normalized on a
        structure that is not C1.
        """
        known = self.problem.parameterization
        return Bound.is_known(self.problem) and (
            not known.normalized or known.layout.structure.is_c1
        )

    @property
    def slack(self) -> Slack:
        """The objective."""
        assert isinstance(self.problem.objective, Slack)
        return self.problem.objective


def likelihood_counts(families: FamilyCounts, alpha: float) -> Numbers:
    """Return the counts n of P13: those of the families, with α virtual observations per table.

    The columns of a feature that does not depend on the class are equal, and share its counts.
    """
    in_class, in_cells = MaximumAPosteriori("ess", alpha).virtual_cells(families.layout)
    cells = families.layout.pool_columns(families.cells, np.mean)
    return Numbers(families.class_count + in_class, cells + in_cells)


class Certificate:
    """The relative duality gap during a fit, computed at growing intervals.

    ``duality_gap`` is NaN before the first bound, and stays so if there is none.
    """

    def __init__(self, fit: MarginFit, bound: Callable[[Numbers], float] | None):
        self._fit, self._bound = fit, bound
        self._lowest = -math.inf
        self._iterations, self._last = 0, -1
        self._next = 1
        self.duality_gap = math.nan

    def follow(self, free: np.ndarray, loss: float) -> None:
        """Update the gap at the point of an iteration, if it is time."""
        self._iterations += 1
        if self._iterations >= self._next:
            self._next = int(CHECKS * self._iterations) + 1
            self.renew(free, loss)

    def renew(self, free: np.ndarray, loss: float) -> None:
        """Update the gap at a point, unless it is known there."""
        if self._bound is None or self._last == self._iterations:
            return
        self._last, problem = self._iterations, self._fit.problem
        bound = self._bound(problem.parameterization.numbers(free)) / problem.total_weight
        self._lowest = max(self._lowest, bound)
        self.duality_gap = relative_gap(loss, self._lowest)


def relative_gap(loss: float, lowest: float) -> float:
    """Return the distance of a loss from a lower bound, relative to the loss."""
    return (loss - lowest) / max(abs(loss), float(np.finfo(float).tiny))


def descend(
    fit: MarginFit,
    bound: Callable[[Numbers], float] | None,
    start: np.ndarray,
    tol: float,
    max_iter: int,
    record: Callable[[float, float], None] | None = None,
    interrupts: Interrupts | None = None,
) -> Ending:
    """Minimize until the duality gap is small or, without a bound, until little changes."""
    certificate = Certificate(fit, bound)
    step_tol = 0.0 if bound is not None else STEP_TOL * tol

    def look(free: np.ndarray, loss: float) -> bool:
        certificate.follow(free, loss)
        if record is not None:
            record(loss, certificate.duality_gap)
        return certificate.duality_gap <= tol

    outcome = until_interrupted(
        partial(_minimize, fit, start, max_iter, step_tol), look, interrupts
    )
    certificate.renew(outcome.point, outcome.value)
    return Ending(outcome, certificate.duality_gap)


def _minimize(
    fit: MarginFit, start: np.ndarray, max_iter: int, tol: float, callback: Callback
) -> Outcome:
    """Minimize by L-BFGS on scaled parameters, or by projected gradients if constrained."""
    loss = fit.problem.loss
    known = fit.problem.parameterization
    scale = fit.scale
    if isinstance(known, Subnormalized):  # at the end of another fit, slacks may be zero
        start = known.with_slack(start)
    if isinstance(known, Plain):
        return projected_gradient(loss, known.project, start, max_iter, tol, callback)
    if scale is None:
        return lbfgs(loss, start, max_iter, tol, callback)
    scaled = Coordinates(start * scale, lambda at: at / scale, lambda gradient: gradient / scale)
    return lbfgs_in(scaled, loss, max_iter, tol, callback)
