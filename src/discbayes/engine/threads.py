"""Threads over blocks. The kernels release the interpreter lock, so threads are enough.

Results come back in the order of the items, or are combined as a tree over their numbers, so that
the same data gives the same bits whatever the number of threads.
"""

from __future__ import annotations

import multiprocessing
import numbers
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from math import inf
from typing import Any, TypeVar

import joblib

from discbayes.engine.shards import (
    BlockShard,
    Combine,
    KeptShard,
    MappedShard,
    ReductionTree,
    Shard,
    ShardSource,
    add_up,
    runs,
)

Item = TypeVar("Item")
Result = TypeVar("Result")

THREAD_WORK = 3e5  # about a third of a millisecond: waking a thread up costs a tenth of that
MAX_THREADS = 256  # of all maps of a process together
# for each thread: with fewer, threads share the work within a block, so that none of them waits
# long
SHARDS_EACH = 4
BLOCK_ROWS = 8192  # a block of log-joint rows stays in the second-level cache


def worker_count(n_jobs: int | None) -> int:
    """Return the number of threads of ``n_jobs``, as in scikit-learn: None is one, -1 all cores."""
    whole = isinstance(n_jobs, numbers.Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not whole or n_jobs == 0):
        raise ValueError(f"n_jobs={n_jobs!r} must be None or a whole number other than 0")
    # it may have threads, but joblib thinks of processes and warns
    if multiprocessing.current_process().daemon:
        with joblib.parallel_config("threading"):
            return max(1, int(joblib.effective_n_jobs(n_jobs)))
    return max(1, int(joblib.effective_n_jobs(n_jobs)))


def parallel_map(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    n_jobs: int | None = None,
    work: float = float("inf"),
) -> list[Result]:
    """Return ``[function(item) for item in items]``, computed on threads.

    ``work`` is a rough number of nanoseconds in all: if it is small, waking up threads costs more
    than it saves. The calling thread is one of the workers; each takes the next item when it is
    free.
    """
    workers = 1 if work < THREAD_WORK else min(worker_count(n_jobs), len(items))
    if workers <= 1:
        return [function(item) for item in items]
    results: list[Any] = [None] * len(items)
    # next() on it is one step under the interpreter lock, so it needs none of its own
    queue = iter(range(len(items)))

    def take() -> None:
        try:
            for position in queue:
                results[position] = function(items[position])
        except BaseException:
            # nothing is left for the others, so that the error, or Ctrl-C, does not wait for them
            list(queue)
            raise

    others = [_pool().submit(take) for _ in range(workers - 1)]
    try:
        take()
    # one that has not begun has nothing to do any more: within another map it might wait for ever
    finally:
        begun = [other for other in others if not other.cancel()]
        wait(begun)
    for other in begun:
        other.result()
    return results


@cache
def _pool() -> ThreadPoolExecutor:
    """Return the threads of this process, which are started at their first use and stay."""
    return ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="discbayes")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a fork has none of the threads


class Threads:
    """Engine of one machine: shards on threads, or one after the other if there are few blocks.

    Parameters
    ----------
    n_shards : int, default=32
        The number of runs of blocks; the results are the same for any number.
    """

    is_local = True

    def __init__(self, n_shards: int = 32):
        if n_shards < 1:
            raise ValueError(f"n_shards={n_shards!r} must be at least 1")
        self.n_shards = n_shards

    def load(self, source: ShardSource) -> list[Shard]:
        """Return the shards of a source."""
        return [BlockShard(source, *run) for run in runs(len(source), self.n_shards)]

    def keep(
        self,
        shards: Sequence[Shard],
        make: Callable[[Any], Any],
        memory: float = inf,
        n_jobs: int | None = None,
    ) -> list[Shard]:
        """Return shards of what is made of each block.

        Up to ``memory`` bytes in all are kept in memory, the rest in a temporary folder.
        """
        each = memory / max(1, sum(len(shard.numbers) for shard in shards))
        return parallel_map(
            lambda shard: KeptShard(shard, make, each * len(shard.numbers)), shards, n_jobs
        )

    def mapped(self, shards: Sequence[Shard], function: Callable[[Any, int], Any]) -> list[Shard]:
        """Return shards of a function of each block and its number, called when it is needed."""
        return [MappedShard(shard, function) for shard in shards]

    def map_reduce(
        self,
        function: Callable[..., Any],
        shards: Sequence[Shard],
        combine: Combine,
        arguments: Sequence[Any] = (),
        n_jobs: int | None = None,
    ) -> Any:
        """Return the combined ``function(item, n_jobs, *arguments)`` of all items.

        The results are combined as a tree over the numbers of the items.
        """
        tree, workers = ReductionTree(combine), worker_count(n_jobs)
        aside = workers > 1 and len(shards) >= SHARDS_EACH * workers

        def one(shard: Shard) -> None:
            for node in add_up(shard, function, combine, arguments, 1 if aside else n_jobs):
                tree.add(node)

        parallel_map(one, shards, n_jobs if aside else 1)
        return tree.result()


def row_blocks(n_rows: int, size: int = BLOCK_ROWS) -> list[slice]:
    """Return slices of ``size`` rows; the bounds depend on the row number alone."""
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]
