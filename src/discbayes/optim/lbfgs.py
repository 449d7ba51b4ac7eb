"""Limited-memory BFGS with a line search by the weak Wolfe conditions, in any coordinates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from discbayes.kernels import quasi_newton as kernels
from discbayes.optim.line import Callback, Evaluation, Function, Outcome, has_converged, search_line

# steps from which the curvature is estimated: many if they are short
MEMORY, MEMORY_CELLS = (5, 40), 4_000_000
CURVATURE = 0.9  # of the Wolfe conditions

Map = Callable[[np.ndarray], np.ndarray]


def lbfgs(
    function: Function,
    start: np.ndarray,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
    patience: int = 1,
    curvature: np.ndarray | None = None,
) -> Outcome:
    """Minimize; stop when an iteration lowers the value by at most ``tol`` of max(|value|, 1).

    ``callback`` gets the point and the value after each iteration, and ends the run by returning
    True. ``patience`` is how many iterations in a row have to gain little: where parameters differ
    in scale, the first step says little of what the next ones gain. ``curvature`` is about the
    second derivative along each parameter, so that steps do not have to find that out.
    """
    here = Evaluation.at(function, start)
    memory = _Memory(start.size, np.zeros(0) if curvature is None else 1.0 / curvature)
    little = 0
    for iteration in range(max_iter):
        if here.is_flat:
            return Outcome(here.point, here.value, iteration, True)
        direction = memory.direction(here.gradient)
        there = search_line(function, here, direction, memory.first_step(here.gradient), CURVATURE)
        if there is None:  # rounding hides any further descent
            return Outcome(here.point, here.value, iteration, True)
        memory.add(here, there)
        gain, here = here.value - there.value, there
        done = callback is not None and bool(callback(here.point, here.value))
        little = little + 1 if has_converged(gain, here.value, tol) else 0
        if done or little == patience:
            return Outcome(here.point, here.value, iteration + 1, True)
    return Outcome(here.point, here.value, max_iter, False)


class _Memory:
    """The last steps, and how the gradient changed along them."""

    def __init__(self, n: int, scale: np.ndarray):
        self._scale = scale
        self._longest = int(np.clip(MEMORY_CELLS // max(n, 1), *MEMORY))
        n_places = self._longest + 1  # one to write a step before it is clear whether it is added
        self._steps, self._changes = np.empty((n_places, n)), np.empty((n_places, n))
        self._products, self._shares = np.empty(n_places), np.empty(n_places)
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
            self._scale,
            out,
        )
        return out

    def first_step(self, gradient: np.ndarray) -> float:
        """Return one or, without an estimate of the curvature, a step of length one."""
        is_scaled = self._size or self._scale.size
        return 1.0 if is_scaled else 1.0 / float(np.sqrt(kernels.dot(gradient, gradient)))

    def add(self, here: Evaluation, there: Evaluation) -> None:
        """Add a step, unless rounding hides the curvature along it."""
        place = (self._newest + 1) % (self._longest + 1)
        step, change = self._steps[place], self._changes[place]
        kernels.subtract(there.point, here.point, step)
        kernels.subtract(there.gradient, here.gradient, change)
        product = kernels.dot(step, change)
        if product > 1e-14 * kernels.dot(change, change):
            self._newest = place
            self._size = min(self._size + 1, self._longest)
            self._products[place] = product


@dataclass(frozen=True)
class Coordinates:
    """The start in these coordinates, the map from them to points, and that of gradients back."""

    start: np.ndarray
    point: Map
    pull_back: Map


def lbfgs_in(
    coordinates: Coordinates,
    function: Function,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
) -> Outcome:
    """Minimize a function of points; the callback and the outcome have points too."""
    # function, callback and outcome ask for the same point one after the other
    latest = coordinates.start, coordinates.point(coordinates.start)

    def point(at: np.ndarray) -> np.ndarray:
        nonlocal latest
        if at is not latest[0]:
            latest = at, coordinates.point(at)
        return latest[1]

    def moved(at: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = function(point(at))
        return value, coordinates.pull_back(gradient)

    seen = None if callback is None else lambda at, value: callback(point(at), value)
    outcome = lbfgs(moved, coordinates.start, max_iter, tol, seen)
    return replace(outcome, point=point(outcome.point))
