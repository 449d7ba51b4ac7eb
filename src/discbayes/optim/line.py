"""Evaluations, outcomes and the line search that the solvers share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discbayes.kernels import quasi_newton as kernels

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]
Callback = Callable[[np.ndarray, float], bool | None]

FLAT = 1e-10  # a gradient with no entry above this is zero
DECREASE = 1e-4  # of the Wolfe conditions
MAX_TRIALS = 30  # steps that one line search may try, unless none of them led down
ROUNDING = float(np.finfo(float).eps)  # of a value


@dataclass(frozen=True)
class Outcome:
    """The result of a minimization: point, value, iterations, and how it ended."""

    point: np.ndarray
    value: float
    n_iter: int
    converged: bool
    interrupted: bool = False


@dataclass(frozen=True)
class Evaluation:
    """A point, with the value and the gradient there."""

    point: np.ndarray
    value: float
    gradient: np.ndarray

    @classmethod
    def at(cls, function: Function, point: np.ndarray) -> Evaluation:
        """Evaluate the function at a point."""
        return cls(point, *function(point))

    @property
    def is_flat(self) -> bool:
        """Whether the gradient is zero."""
        return not kernels.exceeds(self.gradient, FLAT)


def has_converged(gain: float, value: float, tol: float) -> bool:
    """Return whether a gain is at most ``tol`` of max(|before|, |after|, 1), the rule of Z17."""
    return gain <= tol * max(abs(value), abs(value + gain), 1.0)


def search_line(
    function: Function,
    here: Evaluation,
    direction: np.ndarray,
    step: float,
    curvature: float,
    strong: bool = False,
) -> Evaluation | None:
    """Return a point along the direction with sufficient decrease, or None if there is none.

    The slope has to fall to ``curvature`` of what it is here (weak Wolfe conditions). With
    ``strong`` it may not rise more steeply than that either: a point far beyond the minimum of the
    line is not accepted.
    """
    slope = kernels.dot(direction, here.gradient)
    if not slope < 0:
        return None
    low = 0.0
    high = np.inf
    best = None
    trials = 0
    while trials < MAX_TRIALS or (
        best is None and -step * slope > ROUNDING * max(abs(here.value), 1.0)
    ):
        trials += 1
        there = Evaluation.at(function, here.point + step * direction)
        if not there.value <= here.value + DECREASE * step * slope:
            high = step
        elif (tilt := kernels.dot(direction, there.gradient)) < curvature * slope:
            low, best = step, there
        elif strong and tilt > -curvature * slope:
            high, best = step, there
        else:
            return there
        step = 2 * low if high == np.inf else (low + high) / 2
    return best
