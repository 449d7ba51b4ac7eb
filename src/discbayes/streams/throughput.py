"""Rows per second of a pass, and the time that is left."""

from __future__ import annotations

import time

from discbayes.engine.context import Progress, time_left

_EVERY = 10.0  # seconds


class Throughput:
    """Display of the number of rows and rows per second: at the end, and every ten seconds.

    ``n_rows`` is the number of rows in all, if it is known.
    """

    def __init__(self, what: str, progress: Progress, n_rows: int | None = None):
        self._what = what
        self._progress = progress
        self._n_rows = n_rows
        self._done = 0
        self._share: float | None = None
        self._started = self._shown = time.perf_counter()

    def add(self, n_rows: int, share: float | None = None) -> None:
        """Count rows; ``share`` is that of all rows that is read with them, if it is known."""
        self._done += n_rows
        if self._n_rows:
            share = self._done / self._n_rows
        self._share = self._share if share is None else share
        now = time.perf_counter()
        if now - self._shown > _EVERY:
            self._shown = now
            left = time_left(now - self._started, self._share)
            self._progress.stage(f"{self._text()}{', ' if left else ''}{left}")

    def end(self, more: str = "") -> None:
        """Display the total."""
        self._progress.stage(self._text() + more)

    def _text(self) -> str:
        seconds = max(1e-9, time.perf_counter() - self._started)
        return f"{self._what}: {self._done:,} rows, {self._done / seconds:,.0f} rows per second"
