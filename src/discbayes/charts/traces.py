"""The trace of a fit in stages: what a page and a plot both show.

A trace is a list of steps that say what they are by their keys: an optimiser counts iterations, a
hill climber names its moves, annealing has a temperature. Steps of one kind that follow each other
are a stage.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

OTHER = "other"
LEFT_OUT = "left_out"  # a step that says which edges the search has left out
# The first of these keys that a step has says what kind it is of.
_KINDS = (
    LEFT_OUT,
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
_LARGEST = 1e99  # of a score; more is as good as infinite

Step = Mapping[str, Any]


@dataclass(frozen=True)
class Stage:
    """Steps of one kind that follow each other."""

    kind: str
    steps: list[Step]

    @property
    def scores(self) -> np.ndarray:
        """The score of each step, NaN where it has none."""
        return np.array([figure(step.get("score")) for step in self.steps])

    @property
    def gains(self) -> np.ndarray:
        """What each step added to the score; NaN for the first."""
        return np.diff(self.scores, prepend=np.nan)

    def runs(self) -> list[Stage]:
        """The steps of each restart; one run where there were none."""
        found: dict[str, Stage] = {}
        for step in self.steps:
            found.setdefault(str(step.get("restart", 0)), Stage(self.kind, [])).steps.append(step)
        return list(found.values())


def stages(history: Sequence[Step]) -> list[Stage]:
    """The trace in stages: a new one begins with another kind of step, and where iterations are
    counted anew.

    >>> [(stage.kind, len(stage.steps)) for stage in stages([{"edge": ("a", "b")}, {"iteration": 1}, {"iteration": 2}])]
    [('edge', 1), ('iteration', 2)]
    """
    found: list[Stage] = []
    for step in history:
        kind = next((key for key in _KINDS if key in step), OTHER)
        # the order is a step of the search along it
        kind = "abandoned" if kind == "order" else kind
        if not found or found[-1].kind != kind or _starts_anew(found[-1].steps[-1], step):
            found.append(Stage(kind, []))
        found[-1].steps.append(step)
    return found


def _starts_anew(before: Step, step: Step) -> bool:
    return figure(step.get("iteration")) < figure(before.get("iteration"))


def figure(value: Any) -> float:
    """A number; NaN for all else that a trace, which may come from a file, can hold."""
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < _LARGEST else math.nan
