"""L-BFGS in other coordinates, in which the curvature is about the same in every direction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from discbayes.optim.lbfgs import lbfgs
from discbayes.optim.line import Callback, Function, Outcome

Map = Callable[[np.ndarray], np.ndarray]


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
