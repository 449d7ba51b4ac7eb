"""Threads over blocks. The kernels release the interpreter lock, so threads are enough.

Results come back in the order of the items and are combined in that order, so that the same data gives the same
bits whatever the number of threads.
"""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache, reduce
from typing import Any, TypeVar

import joblib

Item = TypeVar("Item")
Result = TypeVar("Result")

THREAD_WORK = 3e5  # about a third of a millisecond: waking a thread up costs a tenth of that
MOST_THREADS = 256  # of all maps of a process together
BLOCK_ROWS = 8192  # a block of log-joint rows stays in the second-level cache


def worker_count(n_jobs: int | None) -> int:
    """The number of threads behind ``n_jobs``, as scikit-learn reads it (``None`` is one, -1 is all cores)."""
    whole = isinstance(n_jobs, numbers.Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not whole or n_jobs == 0):
        raise ValueError(f"n_jobs={n_jobs!r} must be None or a whole number other than 0")
    return max(1, int(joblib.effective_n_jobs(n_jobs)))


def parallel_map(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    n_jobs: int | None = None,
    work: float = float("inf"),
) -> list[Result]:
    """``[function(item) for item in items]``, on threads, in the order of the items.

    ``work`` is a rough number of nanoseconds in all: if there are few, waking threads up costs more than it saves. The
    calling thread is one of the workers; each takes the next item when it is free.
    """
    workers = 1 if work < THREAD_WORK else min(worker_count(n_jobs), len(items))
    if workers <= 1:
        return [function(item) for item in items]
    results: list[Any] = [None] * len(items)
    queue = iter(range(len(items)))  # next() on it is one step under the interpreter lock, so it needs none of its own

    def take() -> None:
        try:
            for position in queue:
                results[position] = function(items[position])
        except BaseException:
            list(queue)  # nothing is left for the others, so that the error, or Ctrl-C, does not wait for them
            raise

    others = [_pool().submit(take) for _ in range(workers - 1)]
    try:
        take()
    finally:  # one that has not begun has nothing to do any more: within another map it might wait for ever
        begun = [other for other in others if not other.cancel()]
        wait(begun)
    for other in begun:
        other.result()
    return results


@cache
def _pool() -> ThreadPoolExecutor:
    """The threads of this process, which are started when they are first needed and stay."""
    return ThreadPoolExecutor(MOST_THREADS, thread_name_prefix="discbayes")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a fork has none of the threads


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
