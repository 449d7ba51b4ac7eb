"""Spectral projected gradient over a convex set (Birgin, Martínez and Raydan 2000)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from discbayes.kernels.quasi_newton import dot
from discbayes.optim.line import (
    DECREASE,
    FLAT,
    MAX_TRIALS,
    Callback,
    Evaluation,
    Function,
    Outcome,
    has_converged,
)

Project = Callable[[np.ndarray], np.ndarray]

MEMORY = 10  # values of which the highest is to be undercut
SHORTEST, LONGEST = 1e-30, 1e30  # steps
MIN_SHARE = 0.1  # of a way that was too long, to be tried next
FLAT_GROWTH = 1e10  # of the step, where the gradient did not change


def projected_gradient(
    function: Function,
    project: Project,
    start: np.ndarray,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
) -> Outcome:
    """Minimize over a set, until ten iterations gain at most ``tol`` of max(|value|, 1).

    ``project`` gives the nearest point of the set, and ``function`` is asked for points of the set
    only. Its value may rise for a while. ``callback`` gets the best point so far and its value
    after each iteration, and ends the run by returning True; that point is the outcome, too.
    """
    here = best = Evaluation.at(function, project(start))
    values = deque([here.value], MEMORY)
    step = _clipped(1.0 / max(_length(here.gradient), SHORTEST))
    for iteration in range(max_iter):
        target = project(here.point - step * here.gradient)
        there = _on_the_way(function, here, target, max(values), FLAT * min(step, 1.0))
        if there is None:  # nowhere to go, or rounding hides any further descent
            return Outcome(best.point, best.value, iteration, True)
        step = _next_step(here, there, step)
        here = there
        best = there if there.value < best.value else best
        done = callback is not None and bool(callback(best.point, best.value))
        if done or (
            len(values) == MEMORY and has_converged(max(values) - here.value, here.value, tol)
        ):
            return Outcome(best.point, best.value, iteration + 1, True)
        values.append(here.value)
    return Outcome(best.point, best.value, max_iter, False)


def _on_the_way(
    function: Function, here: Evaluation, target: np.ndarray, limit: float, flat: float
) -> Evaluation | None:
    """Return the target, or a point on the way to it, below the limit; None if it is flat."""
    direction = target - here.point
    slope = dot(direction, here.gradient)
    if not (slope < 0 and np.abs(direction).max() > flat):
        return None
    share, point = 1.0, target
    for _ in range(MAX_TRIALS):
        there = Evaluation.at(function, point)
        if there.value <= limit + DECREASE * share * slope:
            return there
        # of the parabola through both
        lowest = 0.5 * share * slope / (share * slope + here.value - there.value)
        share *= max(MIN_SHARE, lowest)
        point = here.point + share * direction
    return None


def _next_step(here: Evaluation, there: Evaluation, step: float) -> float:
    """Return the inverse of the curvature between two points (Barzilai and Borwein)."""
    moved = there.point - here.point
    square, bend = dot(moved, moved), dot(moved, there.gradient - here.gradient)
    return _clipped(square / bend if bend > square / LONGEST else FLAT_GROWTH * step)


def _length(vector: np.ndarray) -> float:
    return float(np.sqrt(dot(vector, vector)))


def _clipped(step: float) -> float:
    return min(max(step, SHORTEST), LONGEST)
