"""Conjugate gradients after Polak and Ribière: the solver of P10 and P12, here to compare."""

from __future__ import annotations

from collections import deque

import numpy as np

from discbayes.kernels import quasi_newton as kernels
from discbayes.optim.line import Callback, Evaluation, Function, Outcome, has_converged, search_line

CURVATURE = 0.1  # directions stay conjugate only if the line is searched well
LONGEST = 10.0  # times the last step that the next one may try
# iterations that together have to lower the value by little: a single one may be poor by chance
MEMORY = 10


def conjugate_gradient(
    function: Function,
    start: np.ndarray,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
) -> Outcome:
    """Minimize; stop when ten iterations lower the value by at most ``tol`` of max(|value|, 1).

    A direction that would not lead down, or a factor β that would be negative, begins again with
    the gradient, and so does the first iteration after one that lowered the value by no more than
    that.
    """
    here = Evaluation.at(function, start)
    direction = -here.gradient
    step = 0.0
    was_little = False
    values = deque([here.value], MEMORY)
    for iteration in range(max_iter):
        if here.is_flat:
            return Outcome(here.point, here.value, iteration, True)
        if not kernels.dot(direction, here.gradient) < 0:
            direction = -here.gradient
        length = _length(direction)
        there = search_line(function, here, direction, step or 1.0 / length, CURVATURE, strong=True)
        if there is None and step:  # the direction or the length may have been a bad guess
            direction = -here.gradient
            length = _length(direction)
            there = search_line(function, here, direction, 1.0 / length, CURVATURE, strong=True)
        if there is None:  # rounding hides any further descent
            return Outcome(here.point, here.value, iteration, True)
        taken = _length(there.point - here.point) / length
        old_slope = kernels.dot(direction, here.gradient)
        little = has_converged(here.value - there.value, there.value, tol)
        beta = 0.0 if little and not was_little else _beta(here, there)
        direction = beta * direction - there.gradient
        new_slope = kernels.dot(direction, there.gradient)
        # the first trial lowers the value, to first order, by what the last step did
        step = min(taken * old_slope / new_slope, LONGEST * taken) if new_slope < 0 else taken
        here, was_little = there, little
        done = callback is not None and bool(callback(here.point, here.value))
        if done or (
            len(values) == MEMORY and has_converged(values[0] - here.value, here.value, tol)
        ):
            return Outcome(here.point, here.value, iteration + 1, True)
        values.append(here.value)
    return Outcome(here.point, here.value, max_iter, False)


def _beta(here: Evaluation, there: Evaluation) -> float:
    """The share of the last direction in the next one (Polak and Ribière), not below zero."""
    change = there.gradient - here.gradient
    return max(0.0, kernels.dot(there.gradient, change) / kernels.dot(here.gradient, here.gradient))


def _length(vector: np.ndarray) -> float:
    return float(np.sqrt(kernels.dot(vector, vector)))
