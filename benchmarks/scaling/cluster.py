"""A cluster of two processes on this machine: what a round and a task cost, and times to hold the
model against.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, replace
from operator import add
from typing import Any

from discbayes.counts import count
from discbayes.data.row_blocks import RowBlocks, RowsInMemory, _class_rows
from discbayes.engine import DaskEngine
from discbayes.scores import edge_score_of
from scaling.growth import BASE, LEARNERS, TINY, Rows, Shape
from scaling.results import Line, Results
from suite.measure import Skip, best, repeats
from suite.settings import settings_of

CASE, REPEATS = "cluster", 3
WORKERS = 2
FEW, MANY = 4, 404  # tasks of a round
SHAPE = Shape(1_000_000, BASE.features, BASE.values, BASE.classes)
WEIGHTED = "evaluation, CCBN-w"
SETTINGS = {WEIGHTED: settings_of(LEARNERS[WEIGHTED], n_jobs=None)}


def run(results: Results, smoke: bool = False) -> Iterator[Line]:
    """Measure rounds that do next to nothing, and learners on a million rows, or try both on
    few.
    """
    try:
        import dask
        import distributed
    except ImportError:
        raise Skip("dask and distributed are not installed (extra dask)") from None
    with (
        dask.config.set({"distributed.worker.memory.terminate": False}),
        distributed.LocalCluster(
            WORKERS, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield from _rounds(results, client, repeats(smoke, REPEATS))
        yield from _learners(results, client, TINY if smoke else SHAPE)


def _rounds(results: Results, client: Any, times: int) -> Iterator[Line]:
    rows = Rows(Shape(100_000, 2, 2, 2)).encoded
    for n_shards in (FEW, MANY):
        blocks = RowBlocks(RowsInMemory(rows, size=200), DaskEngine(client, n_shards))
        taken = best(lambda: blocks.map_reduce(_class_rows, add), times)  # noqa: B023
        yield results.add(
            Line(CASE, f"a round of {n_shards} tasks", rows.n_samples, seconds=taken, repeats=times)
        )


def _learners(results: Results, client: Any, shape: Shape) -> Iterator[Line]:
    rows = Rows(shape)
    blocks = RowBlocks(RowsInMemory(rows.encoded), DaskEngine(client))
    counts = count(blocks)
    learner = LEARNERS[WEIGHTED]
    fit = learner._fit(learner._settings()[0][0], blocks, counts, rows.tree, None)
    works = {
        "pairs, fCLL": lambda: edge_score_of("fcll").weights(blocks, counts),
        WEIGHTED: lambda: fit.problem.loss(fit.start),
    }
    for name, work in works.items():
        line = Line(CASE, name, *astuple(shape), seconds=best(work, REPEATS), repeats=REPEATS)
        yield results.add(replace(line, settings=SETTINGS.get(name, "")))


def overheads(results: Results) -> tuple[float, float] | None:
    """The seconds of a round without tasks, and of a task."""
    few, many = (results.get(CASE, f"a round of {n} tasks") for n in (FEW, MANY))
    if few is None or many is None:
        return None
    task = max(0.0, (many.time - few.time) / (MANY - FEW))
    return max(0.0, few.time - FEW * task), task
