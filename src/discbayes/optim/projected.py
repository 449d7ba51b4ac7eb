"""Spectral projected gradient over a convex set (Birgin, Martínez and Raydan 2000).

Steps are inverses of the curvature by Barzilai and Borwein, twenty times the long one, then twenty
times by the rule ABBmin of Frassoldati, Zanni and Zanghirati (2008), and so on. Where curvatures
differ widely, the long one alone needs ten to a hundred times as many iterations, and rounding
decides how many; on margins, ABBmin alone needs forty times as many.
"""

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
# ABBmin: if the short inverse is less than this share of the long one, the shortest of the latest
SHORT_SHARE, SHORT_MEMORY = 0.8, 5
TURN = 20  # iterations with one rule


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
    short_steps: deque[float] = deque(maxlen=SHORT_MEMORY)
    step = _clipped(1.0 / max(_length(here.gradient), SHORTEST))
    for iteration in range(max_iter):
        target = project(here.point - step * here.gradient)
        there = _on_the_way(function, here, target, max(values), FLAT * min(step, 1.0))
        if there is None:  # nowhere to go, or rounding hides any further descent
            return Outcome(best.point, best.value, iteration, True)
        long, short = _inverse_curvatures(here, there, step)
        short_steps.append(short)
        is_short = iteration // TURN % 2 == 1 and short < SHORT_SHARE * long
        step = min(short_steps) if is_short else long
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


def _inverse_curvatures(here: Evaluation, there: Evaluation, step: float) -> tuple[float, float]:
    """Return both inverses of the curvature between two points, the long one first."""
    moved, turned = there.point - here.point, there.gradient - here.gradient
    square, bend = dot(moved, moved), dot(moved, turned)
    if bend <= square / LONGEST:
        return (_clipped(FLAT_GROWTH * step),) * 2
    return _clipped(square / bend), _clipped(bend / dot(turned, turned))


def _length(vector: np.ndarray) -> float:
    return float(np.sqrt(dot(vector, vector)))


def _clipped(step: float) -> float:
    return min(max(step, SHORTEST), LONGEST)
