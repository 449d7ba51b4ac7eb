"""Progress on the error stream: silent unless asked for."""

from __future__ import annotations

import sys
import time
from typing import TextIO


class Progress:
    """Says what a run is doing. ``verbose=0`` says nothing, 1 the stages, 2 the steps as well.

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
        """Announce a stage of the run; values are put into the text, on one line, only if it is
        shown.
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


def duration(seconds: float) -> str:
    """A time for people.

    >>> [duration(s) for s in (0.25, 12, 200, 9000)]
    ['0.2 s', '12 s', '3 min', '2.5 h']
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def time_left(seconds: float, share: float | None) -> str:
    """How long the rest will take, if it is like the share that took so many seconds; nothing if
    that is unknown.

    >>> time_left(30.0, 0.4), time_left(30.0, None)
    ('about 45 s left', '')
    """
    return f"about {duration(seconds * (1 - share) / share)} left" if share else ""
