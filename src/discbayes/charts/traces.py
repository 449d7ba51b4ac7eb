"""The trace of a fit in stages.

A trace is a list of steps, whose kind is given by their keys: an optimizer counts iterations, hill
climbing names its moves, annealing has a temperature. Consecutive steps of one kind are a stage.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

OTHER = "other"
LEFT_OUT = "left_out"  # a step with the edges that the search has left out
CHOSEN = "chosen"  # a step with what held-out rows have chosen
# The kind of a step is the first of these keys that it has.
_KINDS = (
    LEFT_OUT,
    CHOSEN,
    "iteration",
    "setting",
    "rates",
    "temperature",
    "lam",
    "move",
    "order",
    "abandoned",
    "edge",
)
_MAX_SCORE = 1e99  # larger ones count as infinite

Step = Mapping[str, Any]


@dataclass(frozen=True)
class Stage:
    """Consecutive steps of one kind."""

    kind: str
    steps: list[Step]

    @property
    def scores(self) -> np.ndarray:
        """Return the score of each step, NaN where it has none."""
        return np.array([figure(step.get("score")) for step in self.steps])

    @property
    def gains(self) -> np.ndarray:
        """Return the increase of the score by each step; NaN for the first."""
        return np.diff(self.scores, prepend=np.nan)

    def runs(self) -> list[Stage]:
        """Return the steps of each restart, the best first; one run without restarts."""
        found: dict[str, Stage] = {}
        for step in self.steps:
            found.setdefault(str(step.get("restart", 0)), Stage(self.kind, [])).steps.append(step)
        return sorted(found.values(), key=lambda run: -np.nan_to_num(run.scores[-1], nan=-np.inf))


def stages(history: Sequence[Step]) -> list[Stage]:
    """Return the stages of a trace; where iterations restart their count a new one begins.

    >>> steps = [{"edge": ("a", "b")}, {"iteration": 1}, {"iteration": 2}]
    >>> [(stage.kind, len(stage.steps)) for stage in stages(steps)]
    [('edge', 1), ('iteration', 2)]
    """
    found: list[Stage] = []
    for step in history:
        kind = next((key for key in _KINDS if key in step), OTHER)
        # an order is a step of the search along it
        kind = "abandoned" if kind == "order" else kind
        if not found or found[-1].kind != kind or _restarts(found[-1].steps[-1], step):
            found.append(Stage(kind, []))
        found[-1].steps.append(step)
    return found


def _restarts(before: Step, step: Step) -> bool:
    return figure(step.get("iteration")) < figure(before.get("iteration"))


def figure(value: Any) -> float:
    """Return a number; NaN for anything else, as a trace may come from a file."""
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < _MAX_SCORE else math.nan
