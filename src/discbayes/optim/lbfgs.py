"""Limited-memory BFGS with a line search by the weak Wolfe conditions."""

from __future__ import annotations

import numpy as np

from discbayes.kernels import quasi_newton as kernels
from discbayes.optim.line import Callback, Evaluation, Function, Outcome, has_converged, search_line

# steps from which the curvature is estimated: many if they are short
MEMORY, MEMORY_CELLS = (10, 40), 4_000_000
CURVATURE = 0.9  # of the Wolfe conditions


def lbfgs(
    function: Function,
    start: np.ndarray,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
) -> Outcome:
    """Minimize; stop when an iteration lowers the value by at most ``tol`` of max(|value|, 1).

    ``callback`` gets the point and the value after each iteration, and ends the run by returning
    True.
    """
    here = Evaluation.at(function, start)
    memory = _Memory(start.size)
    for iteration in range(max_iter):
        if here.is_flat:
            return Outcome(here.point, here.value, iteration, True)
        direction = memory.direction(here.gradient)
        there = search_line(function, here, direction, memory.first_step(here.gradient), CURVATURE)
        if there is None:  # rounding hides any further descent
            return Outcome(here.point, here.value, iteration, True)
        memory.add(there.point - here.point, there.gradient - here.gradient)
        gain, here = here.value - there.value, there
        done = callback is not None and bool(callback(here.point, here.value))
        if done or has_converged(gain, here.value, tol):
            return Outcome(here.point, here.value, iteration + 1, True)
    return Outcome(here.point, here.value, max_iter, False)


class _Memory:
    """The last steps, and how the gradient changed along them."""

    def __init__(self, n: int):
        self._longest = int(np.clip(MEMORY_CELLS // max(n, 1), *MEMORY))
        self._steps, self._changes = np.empty((self._longest, n)), np.empty((self._longest, n))
        self._products, self._shares = np.empty(self._longest), np.empty(self._longest)
        self._newest, self._size = -1, 0

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        out = np.empty_like(gradient)
        kernels.downhill(
            gradient,
            self._steps,
            self._changes,
            self._products,
            self._newest,
            self._size,
            self._shares,
            out,
        )
        return out

    def first_step(self, gradient: np.ndarray) -> float:
        """Return one or, without an estimate of the curvature, a step of length one."""
        return 1.0 if self._size else 1.0 / float(np.sqrt(kernels.dot(gradient, gradient)))

    def add(self, step: np.ndarray, change: np.ndarray) -> None:
        """Add a step, unless rounding hides the curvature along it."""
        product = kernels.dot(step, change)
        if product > 1e-14 * kernels.dot(change, change):
            self._newest = (self._newest + 1) % self._longest
            self._size = min(self._size + 1, self._longest)
            self._steps[self._newest], self._changes[self._newest] = step, change
            self._products[self._newest] = product
