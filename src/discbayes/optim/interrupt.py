"""Minimization that can be interrupted and keeps its last iteration."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from discbayes.engine import Interrupts
from discbayes.optim.line import Callback, Outcome


def until_interrupted(
    minimize: Callable[[Callback], Outcome], callback: Callback, interrupts: Interrupts | None
) -> Outcome:
    """Run a minimization; if interrupted, return its last iteration, with a warning."""
    reached: Outcome | None = None

    def look(point: np.ndarray, value: float) -> bool | None:
        nonlocal reached
        reached = Outcome(point, value, 1 if reached is None else reached.n_iter + 1, True)
        return callback(point, value)

    try:
        return minimize(look)
    except KeyboardInterrupt:
        if reached is None or interrupts is None or not interrupts.take():
            raise
        warnings.warn(
            f"the parameters were interrupted after {reached.n_iter} iterations: the tables are the"
            " best so far",
            stacklevel=4,
        )
        return replace(reached, interrupted=True)
