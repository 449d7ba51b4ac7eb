"""Tasks, run one after another or in several processes, with their results stored at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from discbayes.engine import Progress, interrupts_end_runs, worker_count
from discbayes.engine.context import duration, time_left
from discbayes.evaluation.result_store import Result, Store

# seconds after which any estimate of the remaining time is better than none
PATIENCE = 120.0


@dataclass(frozen=True)
class Task:
    """Some recipes to fit and test on one fold of one data set.

    ``work`` is a function of a module, so that other processes find it. It is called with the task
    and yields a ``Result`` for each recipe; recipes that are in the store are taken out of the task
    before.
    """

    data: str
    fold: int
    recipes: tuple[str, ...]
    seed: int
    work: Callable[[Task], Iterator[Result]]
    options: Mapping[str, Any] = field(default_factory=dict)

    def result(
        self, recipe: str, measured: Mapping[str, float], seconds: float, note: str = ""
    ) -> Result:
        """Return the result of one of its recipes."""
        return Result(self.data, self.fold, recipe, self.seed, measured, seconds, note=note)

    def without(self, store: Store) -> Task:
        """Return the task with those recipes that have no result yet."""
        results = {tag: (self.data, self.fold, tag, self.seed) for tag in self.recipes}
        return replace(self, recipes=tuple(t for t, key in results.items() if key not in store))


def unfinished(tasks: Sequence[Task], store: Store) -> list[Task]:
    """Return the tasks that are not finished, with the recipes that are left."""
    return [task for task in (task.without(store) for task in tasks) if task.recipes]


def run_tasks(
    tasks: Sequence[Task],
    store: Store,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    show: Callable[[Result], str] = lambda result: "",
) -> None:
    """Run the tasks that are not in the store yet.

    With ``n_jobs`` above one, whole tasks go to other processes, and the order of the lines depends
    on which is ready first; their content does not. An interrupt ends the run: a fit that is only
    the best so far must not be compared.
    """
    left = unfinished(tasks, store)
    clock = _Clock([tag for task in left for tag in task.recipes], progress or Progress())
    n_workers = worker_count(n_jobs)
    if n_workers == 1 or len(left) < 2:
        batches: Iterator[Any] = (task.work(task) for task in left)
    else:
        pool = Parallel(
            n_workers, return_as="generator_unordered", batch_size=1, pre_dispatch=2 * n_workers
        )
        batches = pool(delayed(_run)(task) for task in left)
    # BLAS: on a busy machine its threads wait for each other, small matrices for seconds
    with threadpool_limits(1), interrupts_end_runs():
        for batch in batches:
            for result in batch:
                store.add(result)
                clock.tick(result, show(result))


def _run(task: Task) -> list[Result]:
    with interrupts_end_runs():
        return list(task.work(task))


class _Clock:
    """Reports progress, and how long the rest will take at the same speed.

    The first run of a recipe may compile code, so the estimate starts again after it.
    """

    def __init__(self, recipes: Sequence[str], progress: Progress):
        self.done = 0
        self.n_left = len(recipes)
        self.progress = progress
        self.new = set(recipes) if len(set(recipes)) < len(recipes) else set()
        self.begun = 0
        self.started = self.begun_at = time.perf_counter()

    def tick(self, result: Result, figures: str) -> None:
        self.done += 1
        left = self._time_left(result.recipe, time.perf_counter())
        self.progress.stage(
            f"{self.done} of {self.n_left}{', ' if left else ''}{left}: {result.data}, fold"
            f" {result.fold + 1}, {result.recipe}{', ' if figures else ''}{figures}"
            f" ({duration(result.seconds)})"
        )

    def _time_left(self, recipe: str, now: float) -> str:
        if recipe not in self.new:
            done = (self.done - self.begun) / (self.n_left - self.begun)
            return time_left(now - self.begun_at, done)
        self.new.remove(recipe)
        self.begun, self.begun_at = self.done, now
        if now - self.started <= PATIENCE:
            return ""
        return time_left(now - self.started, self.done / self.n_left)
