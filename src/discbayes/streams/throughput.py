"""How fast rows are read, and how long the rest will take."""

from __future__ import annotations

import time

from discbayes.engine.context import Progress, time_left

_EVERY = 10.0  # seconds


class Throughput:
    """How many rows were read, and how fast: a stage at the end, and about every ten seconds on the
    way.

    ``n_rows`` is the number of rows in all, if it is known.
    """

    def __init__(self, what: str, said: Progress, n_rows: int | None = None):
        self._what, self._said, self._all = what, said, n_rows
        self._done = 0
        self._share: float | None = None
        self._started = self._shown = time.perf_counter()

    def add(self, n_rows: int, share: float | None = None) -> None:
        """Count rows; ``share`` is how much of everything is read with them, if that is known."""
        self._done += n_rows
        if self._all:
            share = self._done / self._all
        self._share = self._share if share is None else share
        now = time.perf_counter()
        if now - self._shown > _EVERY:
            self._shown = now
            left = time_left(now - self._started, self._share)
            self._said.stage(f"{self._text()}{', ' if left else ''}{left}")

    def end(self, more: str = "") -> None:
        """Say how it went."""
        self._said.stage(self._text() + more)

    def _text(self) -> str:
        seconds = max(1e-9, time.perf_counter() - self._started)
        return f"{self._what}: {self._done:,} rows, {self._done / seconds:,.0f} rows per second"
