"""Conjugate gradients after Polak and Ribière: the solver of P10 and P12, here to compare."""

from __future__ import annotations

import numpy as np

from discbayes.kernels import quasi_newton as kernels
from discbayes.optim.line import Callback, Function, Outcome, Place, enough, search_line

CURVATURE = 0.1  # directions stay conjugate only if the line is searched well
LONGEST = 10.0  # times the last step that the next one may try


def conjugate_gradient(
    function: Function, start: np.ndarray, max_iter: int, tol: float, callback: Callback | None = None
) -> Outcome:
    """Minimise; stop when an iteration lowers the value by at most ``tol`` of max(|value|, 1).

    A direction that would not lead down, or a factor β that would be negative, begins again with the gradient.
    """
    here = Place.at(function, start)
    direction, step = -here.gradient, 0.0
    for iteration in range(max_iter):
        if here.is_flat:
            return Outcome(here.point, here.value, iteration, True)
        if not kernels.dot(direction, here.gradient) < 0:
            direction = -here.gradient
        length = float(np.sqrt(kernels.dot(direction, direction)))
        there = search_line(function, here, direction, step or 1.0 / length, CURVATURE)
        if there is None and step:  # the direction or the length may have been a bad guess
            direction = -here.gradient
            length = float(np.sqrt(kernels.dot(direction, direction)))
            there = search_line(function, here, direction, 1.0 / length, CURVATURE)
        if there is None:  # rounding hides any further descent
            return Outcome(here.point, here.value, iteration, True)
        moved = there.point - here.point
        taken = float(np.sqrt(kernels.dot(moved, moved))) / length
        change = there.gradient - here.gradient
        beta = max(0.0, kernels.dot(there.gradient, change) / kernels.dot(here.gradient, here.gradient))
        old_slope = kernels.dot(direction, here.gradient)
        direction = beta * direction - there.gradient
        new_slope = kernels.dot(direction, there.gradient)
        # the first trial lowers the value, to first order, by what the last step did
        step = min(taken * old_slope / new_slope, LONGEST * taken) if new_slope < 0 else taken
        gain, here = here.value - there.value, there
        done = callback is not None and bool(callback(here.point, here.value))
        if done or enough(gain, here.value, tol):
            return Outcome(here.point, here.value, iteration + 1, True)
    return Outcome(here.point, here.value, max_iter, False)
