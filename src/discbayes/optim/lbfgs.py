"""Limited-memory BFGS with a line search by the weak Wolfe conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discbayes.kernels import quasi_newton as kernels

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]

MEMORY = 10  # steps from which the curvature is estimated
FLAT = 1e-10  # a gradient with no entry above this is zero
DECREASE, CURVATURE = 1e-4, 0.9  # of the Wolfe conditions
MOST_TRIALS = 30  # steps that one line search may try


@dataclass(frozen=True)
class Outcome:
    """Where a minimisation ended: the point, the value there, the iterations, and whether they were enough."""

    point: np.ndarray
    value: float
    n_iter: int
    converged: bool


@dataclass(frozen=True)
class _Place:
    point: np.ndarray
    value: float
    gradient: np.ndarray


def lbfgs(
    function: Function,
    start: np.ndarray,
    max_iter: int,
    tol: float,
    callback: Callable[[np.ndarray, float], bool | None] | None = None,
) -> Outcome:
    """Minimise; stop when an iteration lowers the value by at most ``tol`` of max(|value|, 1).

    ``callback`` gets the point and the value after each iteration, and ends the run by returning True.
    """
    here = _Place(start, *function(start))
    memory = _Memory(start.size)
    for iteration in range(max_iter):
        if not np.abs(here.gradient).max(initial=0.0) > FLAT:
            return Outcome(here.point, here.value, iteration, True)
        there = _search_line(function, here, memory.direction(here.gradient), memory.first_step(here.gradient))
        if there is None:  # rounding hides any further descent
            return Outcome(here.point, here.value, iteration, True)
        memory.add(there.point - here.point, there.gradient - here.gradient)
        gain, here = here.value - there.value, there
        enough = callback is not None and callback(here.point, here.value) is True
        if enough or gain <= tol * max(abs(here.value), abs(here.value + gain), 1.0):
            return Outcome(here.point, here.value, iteration + 1, True)
    return Outcome(here.point, here.value, max_iter, False)


class _Memory:
    """The last steps, and how the gradient changed along them."""

    def __init__(self, n: int):
        self._steps, self._changes = np.empty((MEMORY, n)), np.empty((MEMORY, n))
        self._shares = np.empty(MEMORY)
        self._newest, self._size = -1, 0

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        out = np.empty_like(gradient)
        kernels.downhill(gradient, self._steps, self._changes, self._newest, self._size, self._shares, out)
        return out

    def first_step(self, gradient: np.ndarray) -> float:
        """One, or, while nothing is known of the curvature, what moves by a distance of one."""
        return 1.0 if self._size else 1.0 / float(np.sqrt(kernels.dot(gradient, gradient)))

    def add(self, step: np.ndarray, change: np.ndarray) -> None:
        """Remember a step; one along which the curvature is lost in rounding would spoil the estimate."""
        if kernels.dot(step, change) > 1e-14 * kernels.dot(change, change):
            self._newest = (self._newest + 1) % MEMORY
            self._size = min(self._size + 1, MEMORY)
            self._steps[self._newest], self._changes[self._newest] = step, change


def _search_line(function: Function, here: _Place, direction: np.ndarray, step: float) -> _Place | None:
    """A point along the direction with a sufficient decrease and a flatter slope; none if there is no decrease."""
    slope = kernels.dot(direction, here.gradient)
    if not slope < 0:
        return None
    low, high, best = 0.0, np.inf, None
    for _ in range(MOST_TRIALS):
        point = here.point + step * direction
        there = _Place(point, *function(point))
        if not there.value <= here.value + DECREASE * step * slope:
            high = step
        elif kernels.dot(direction, there.gradient) < CURVATURE * slope:
            low, best = step, there
        else:
            return there
        step = 2 * low if high == np.inf else (low + high) / 2
    return best
