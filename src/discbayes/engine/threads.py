"""Threads over blocks. The kernels release the interpreter lock, so threads are enough.

Results come back in the order of the items and are combined in that order, so that the same data gives the same
bits whatever the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import TypeVar

import joblib

Item = TypeVar("Item")
Result = TypeVar("Result")

BLOCK_ROWS = 8192  # a block of log-joint rows stays in the second-level cache


def worker_count(n_jobs: int | None) -> int:
    """The number of threads behind ``n_jobs``, as scikit-learn reads it (``None`` is one, -1 is all cores)."""
    return max(1, int(joblib.effective_n_jobs(n_jobs)))


def parallel_map(
    function: Callable[[Item], Result], items: Sequence[Item], n_jobs: int | None = None
) -> list[Result]:
    """``[function(item) for item in items]``, on threads, in the order of the items."""
    workers = min(worker_count(n_jobs), len(items))
    if workers <= 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, items))


def map_reduce(
    function: Callable[[Item], Result],
    shards: Sequence[Item],
    combine: Callable[[Result, Result], Result],
    n_jobs: int | None = None,
) -> Result:
    """Apply ``function`` to every shard and fold the results from the first to the last."""
    return reduce(combine, parallel_map(function, shards, n_jobs))


def row_blocks(n_rows: int, size: int = BLOCK_ROWS) -> list[slice]:
    """Slices of ``size`` rows; the boundaries depend on the row number alone."""
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def spread(items: Iterable[Item], n_parts: int) -> list[list[Item]]:
    """Deal items out to ``n_parts`` hands in turn (for work whose cost falls along the list)."""
    hands: list[list[Item]] = [[] for _ in range(max(1, n_parts))]
    for position, item in enumerate(items):
        hands[position % len(hands)].append(item)
    return [hand for hand in hands if hand]
