"""The context of a run: random generator, threads, trace, interrupts and progress display."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TextIO

import numpy as np

_ALLOWED_INTERRUPTS = ContextVar("_ALLOWED_INTERRUPTS", default=1)


class Interrupts:
    """The number of times that Ctrl-C ends a stage of a run and keeps its best result so far.

    The next interrupt ends the run.

    >>> interrupts = Interrupts()
    >>> interrupts.take(), interrupts.take()
    (True, False)
    """

    def __init__(self, left: int | None = None):
        self._left = _ALLOWED_INTERRUPTS.get() if left is None else left

    def take(self) -> bool:
        """Count an interrupt, and return whether it ends a stage only."""
        self._left -= 1
        return self._left >= 0


@contextmanager
def interrupts_end_runs() -> Iterator[None]:
    """Let Ctrl-C end every run that begins meanwhile, as where its result is one of many.

    >>> with interrupts_end_runs():
    ...     Interrupts().take()
    False
    """
    before = _ALLOWED_INTERRUPTS.set(0)
    try:
        yield
    finally:
        _ALLOWED_INTERRUPTS.reset(before)


class Progress:
    """The progress of a run on the error stream.

    Parameters
    ----------
    verbose : int, default=0
        0 shows nothing, 1 the stages, 2 the steps as well.
    stream : text stream, optional
        Where to write; the error stream by default.

    Examples
    --------
    >>> import sys
    >>> progress = Progress(verbose=1, stream=sys.stdout)
    >>> progress.stage("counting")
    [discbayes] counting
    >>> progress.step("edge 3 of 10")
    """

    def __init__(self, verbose: int = 0, stream: TextIO | None = None):
        self.verbose = int(verbose)
        self._stream = stream
        self.started = time.perf_counter()

    def stage(self, text: str, **values: object) -> None:
        """Announce a stage of the run.

        Values are formatted into the text, on one line, only if it is shown: the representation
        of a network or a learner takes time.
        """
        if self.verbose >= 1:
            self._write(" ".join(text.format(**values).split()) if values else text)

    def step(self, text: str) -> None:
        """Announce a step within a stage."""
        if self.verbose >= 2:
            self._write(f"  {text}")

    def _write(self, text: str) -> None:
        stream = sys.stderr if self._stream is None else self._stream
        stream.write(f"[discbayes] {text}\n")
        stream.flush()


@dataclass(frozen=True)
class Context:
    """The context of one run, which its learners share.

    Parameters
    ----------
    rng : Generator
        The random generator.
    n_jobs : int or None
        The number of threads.
    progress : Progress
        The progress display.
    history : list of dict
        The trace of the search, step by step.
    started : float
        The start of the run, by the clock of ``time.perf_counter``.
    interrupted : bool
        Whether the run was interrupted as the rows were counted: it does not search any more.
    interrupts : Interrupts
        The number of interrupts that end a stage only, not the run.

    Examples
    --------
    >>> import numpy as np
    >>> from discbayes.engine import Context
    >>> context = Context(rng=np.random.default_rng(7), n_jobs=2)
    >>> context.n_jobs, context.history
    (2, [])
    """

    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    n_jobs: int | None = None
    progress: Progress = field(default_factory=Progress)
    history: list[dict[str, Any]] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)
    interrupted: bool = False
    interrupts: Interrupts = field(default_factory=Interrupts)

    def of_fold(self, rng: np.random.Generator) -> Context:
        """Return the context of a fold, which has its own random numbers and its own trace.

        An interrupt ends the whole run, since a part of the folds is not a result.

        Parameters
        ----------
        rng : Generator
            The random generator.

        Returns
        -------
        Context
            The context, which shows less of its progress.

        Examples
        --------
        >>> import numpy as np
        >>> from discbayes.engine import Context
        >>> Context(n_jobs=2).of_fold(np.random.default_rng(7)).n_jobs
        2
        """
        progress = Progress(self.progress.verbose - 1)
        return Context(rng, self.n_jobs, progress, interrupts=Interrupts(0))

    def record(self, most: int | None = None, **step: Any) -> None:
        """Add a step to the trace, with the seconds since the start, and show it.

        Parameters
        ----------
        most : int or None
            The largest number that the first entry can reach; it is shown only.
        **step
            The entries of the step.

        Examples
        --------
        >>> import sys
        >>> from discbayes.engine import Context, Progress
        >>> context = Context(progress=Progress(verbose=2, stream=sys.stdout))
        >>> context.record(most=10, edges=3, score=0.5)
        [discbayes]   edges 3 of at most 10, score 0.5
        >>> sorted(context.history[0])
        ['edges', 'score', 'seconds']
        """
        self.history.append({**step, "seconds": time.perf_counter() - self.started})
        if self.progress.verbose >= 2:
            first, *others = (f"{key} {value}" for key, value in step.items())
            if most is not None:
                first = f"{first} of at most {most}"
            self.progress.step(", ".join([first, *others]))


def duration(seconds: float) -> str:
    """Return a time for people.

    >>> [duration(s) for s in (0.25, 12, 200, 9000)]
    ['0.2 s', '12 s', '3 min', '2.5 h']
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def time_left(seconds: float, share: float | None) -> str:
    """Return how long the rest of a run will take, where a share of it took so many seconds.

    The text is empty where the share is not known.

    >>> time_left(30.0, 0.4), time_left(30.0, None)
    ('about 45 s left', '')
    """
    return f"about {duration(seconds * (1 - share) / share)} left" if share else ""
