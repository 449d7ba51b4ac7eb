"""What one row of a frame takes, as a service predicts it, and some more rows: processor time of
the thread. Of some rounds of calls, the one with the smallest median counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from discbayes import BayesNetClassifier
from suite.data import Parts, raw
from suite.measure import Row, at_most_times, below, noted, of, repeats

LIMITS = {"letter": 0.35, "adult": 0.35, "chess": 0.7}  # ms, of one row
MORE = (50, 1_000)
CALLS = 400
LEARNERS = {"TAN": BayesNetClassifier("tan", "map", n_jobs=1)}


def run(smoke: bool) -> Iterator[Row]:
    for name, limit in LIMITS.items():
        data = raw(name, False, smoke, as_frame=True)
        yield from of("TAN", *_measure(name, limit, data, smoke))


def _measure(name: str, limit: float, data: Parts, smoke: bool) -> Iterator[Row]:
    model = LEARNERS["TAN"].fit(data.X, data.y)
    what = f"predict_proba of {{}} of {name}'s frame, {data.X.shape[1]} columns, {{}}"
    middle, slow = _percentiles(model, data.X_test, 1, smoke)
    yield below(what.format("1 row", "median"), middle, limit, "ms")
    tail = at_most_times(what.format("1 row", "99th percentile vs median"), slow, middle, 2)
    yield replace(tail, unit="ms")
    for n_rows in MORE:
        middle, _ = _percentiles(model, data.X_test, n_rows, smoke)
        yield noted(what.format(f"{n_rows:,} rows", "median"), middle, unit="ms")


def _percentiles(
    model: BayesNetClassifier, X: Any, n_rows: int, smoke: bool
) -> tuple[float, float]:
    """The median and the 99th percentile of the milliseconds of a call."""
    calls = 10 if smoke else CALLS
    rounds = [
        np.percentile(_times(model, X, n_rows, calls), [50, 99]) for _ in range(repeats(smoke))
    ]
    middle, slow = min(rounds, key=tuple)
    return float(middle), float(slow)


def _times(model: BayesNetClassifier, X: Any, n_rows: int, calls: int) -> list[float]:
    """The milliseconds of calls with other rows each time, after some that are not timed."""
    starts = np.random.default_rng(0).integers(max(1, len(X) - n_rows + 1), size=calls + 10)
    taken = []
    for start in starts.tolist():
        rows = X.iloc[start : start + n_rows]
        began = time.thread_time()
        model.predict_proba(rows)
        taken.append(1e3 * (time.thread_time() - began))
    return taken[10:]
