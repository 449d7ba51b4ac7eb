"""Accelerated projected gradient for convex functions over a convex set."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discbayes.kernels.quasi_newton import dot
from discbayes.optim.line import Callback, Function, Outcome, Place, enough

Project = Callable[[np.ndarray], np.ndarray]

GROWTH = 2.0  # times the last step that the next one may be
CAUTION = 0.9  # of the longest step that the curvature just seen would allow
MOST_HALVINGS = 60  # of a step


def projected_gradient(
    function: Function,
    project: Project,
    start: np.ndarray,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
) -> Outcome:
    """Minimise over a set; stop when an iteration lowers the value by at most ``tol`` of max(|value|, 1).

    ``function`` is convex and defined around the set too, ``project`` gives the nearest point of the set. Steps go from
    a point ahead in the direction of the last ones (Nesterov); where that does not lead down, the momentum is dropped.
    ``callback`` gets the point and the value after each iteration, and ends the run by returning True.
    """
    here = Place.at(function, project(start))
    ahead, momentum = here, 1.0
    step = 1.0 / max(float(np.sqrt(dot(here.gradient, here.gradient))), np.finfo(float).tiny)
    for iteration in range(max_iter):
        there, step, longest = _descend(function, project, ahead, step)
        if momentum > 1 and enough(here.value - there.value, here.value, tol):
            ahead, momentum = here, 1.0
            there, step, longest = _descend(function, project, here, step)
        gain, moved = here.value - there.value, there.point - here.point
        if not gain > 0:  # rounding hides any further descent
            return Outcome(here.point, here.value, iteration, True)
        turned = dot(ahead.point - there.point, moved) > 0
        here = there
        done = callback is not None and bool(callback(here.point, here.value))
        if done or enough(gain, here.value, tol):
            return Outcome(here.point, here.value, iteration + 1, True)
        before, step = step, max(step, min(GROWTH * step, CAUTION * longest))
        last, momentum = momentum, 1.0 if turned else (1 + np.sqrt(1 + 4 * momentum**2 * before / step)) / 2
        ahead = here
        if not turned and last > 1:
            ahead = Place.at(function, here.point + (last - 1) / momentum * moved)
    return Outcome(here.point, here.value, max_iter, False)


def _descend(function: Function, project: Project, ahead: Place, step: float) -> tuple[Place, float, float]:
    """The projected step, halved until the function bends no more than it allows; the longest that would have been."""
    for _ in range(MOST_HALVINGS):
        there = Place.at(function, project(ahead.point - step * ahead.gradient))
        moved = there.point - ahead.point
        square, bend = dot(moved, moved), dot(there.gradient - ahead.gradient, moved)
        # by convexity the second implies the first, which rounding hides where little is left to gain
        if there.value <= ahead.value + dot(ahead.gradient, moved) + square / (2 * step) or bend <= square / (2 * step):
            break
        step /= 2
    return there, step, square / bend if bend > 0 else np.inf
