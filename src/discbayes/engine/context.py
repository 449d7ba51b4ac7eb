"""What the parts of one run share."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discbayes.engine.progress import Progress

_LEFT = ContextVar("_LEFT", default=1)


class Interrupts:
    """How often Ctrl-C ends a stage of a run with the best result so far; once more, and it ends
    the run.

    >>> interrupts = Interrupts()
    >>> interrupts.take(), interrupts.take()
    (True, False)
    """

    def __init__(self, left: int | None = None):
        self._left = _LEFT.get() if left is None else left

    def take(self) -> bool:
        """Whether one that has come now ends a stage only."""
        self._left -= 1
        return self._left >= 0


@contextmanager
def interrupts_end_runs() -> Iterator[None]:
    """Let Ctrl-C end every run that begins meanwhile, as where its result is one of many that are
    kept.

    >>> with interrupts_end_runs():
    ...     Interrupts().take()
    False
    """
    before = _LEFT.set(0)
    try:
        yield
    finally:
        _LEFT.reset(before)


@dataclass(frozen=True)
class Context:
    """The random generator, the number of threads, the progress display and the trace of one run.

    A run that was ``interrupted`` already, as the rows were counted, searches no more;
    ``interrupts`` says what the next one does. Where there is an ``engine``, it works on the blocks
    of rows.
    """

    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    n_jobs: int | None = None
    progress: Progress = field(default_factory=Progress)
    history: list[dict[str, Any]] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)
    interrupted: bool = False
    interrupts: Interrupts = field(default_factory=Interrupts)
    engine: Any = None

    def record(self, most: int | None = None, **step: Any) -> None:
        """Add a step to the trace, with the seconds since the start, and show it where steps are
        shown.

        ``most`` is the largest number that the first entry can reach, and is shown only.
        """
        self.history.append({**step, "seconds": time.perf_counter() - self.started})
        if self.progress.verbose >= 2:
            first, *others = (f"{key} {value}" for key, value in step.items())
            self.progress.step(
                ", ".join([first if most is None else f"{first} of at most {most}", *others])
            )
