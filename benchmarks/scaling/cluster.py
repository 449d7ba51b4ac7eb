"""A cluster of two processes on this machine: what a round and a task cost, and times to hold the model against."""

from __future__ import annotations

from collections.abc import Iterator
from operator import add
from typing import Any

from discbayes.counts import count
from discbayes.data.blocks import Blocks, RowsInMemory, _class_rows
from discbayes.engine import DaskEngine
from discbayes.scores import edge_score_of
from scaling.growth import BASE, EVALUATIONS, Rows, Shape
from scaling.results import Line, Results
from suite.measure import Skip, best

CASE, REPEATS = "cluster", 3
WORKERS = 2
FEW, MANY = 4, 404  # tasks of a round
SHAPE = Shape(1_000_000, BASE.features, BASE.values, BASE.classes)


def run(results: Results) -> Iterator[Line]:
    """Measure rounds that do next to nothing, and learners on a million rows."""
    try:
        import dask
        import distributed
    except ImportError:
        raise Skip("dask and distributed are not installed (extra dask)") from None
    with (
        dask.config.set({"distributed.worker.memory.terminate": False}),
        distributed.LocalCluster(WORKERS, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield from _rounds(results, client)
        yield from _learners(results, client)


def _rounds(results: Results, client: Any) -> Iterator[Line]:
    rows = Rows(Shape(100_000, 2, 2, 2)).encoded
    for n_shards in (FEW, MANY):
        blocks = Blocks(RowsInMemory(rows, size=200), DaskEngine(client, n_shards))
        taken = best(lambda: blocks.map_reduce(_class_rows, add), REPEATS)  # noqa: B023
        yield results.add(Line(CASE, f"a round of {n_shards} tasks", rows.n_samples, seconds=taken, repeats=REPEATS))


def _learners(results: Results, client: Any) -> Iterator[Line]:
    rows = Rows(SHAPE)
    blocks = Blocks(RowsInMemory(rows.encoded), DaskEngine(client))
    counts = count(blocks)
    learner = EVALUATIONS["CCBN-w"]()
    fit = learner._fit(learner._settings()[0][0], blocks, counts, rows.tree, None)
    works = {
        "pairs, fCLL": lambda: edge_score_of("fcll").weights(blocks, counts),
        "evaluation, CCBN-w": lambda: fit.problem.loss(fit.start),
    }
    for name, work in works.items():
        shape = (SHAPE.rows, SHAPE.features, SHAPE.values, SHAPE.classes)
        yield results.add(Line(CASE, name, *shape, seconds=best(work, REPEATS), repeats=REPEATS))


def overheads(results: Results) -> tuple[float, float] | None:
    """The seconds of a round without tasks, and of a task."""
    few, many = (results.get(CASE, f"a round of {n} tasks") for n in (FEW, MANY))
    if few is None or many is None:
        return None
    task = max(0.0, (many.time - few.time) / (MANY - FEW))
    return max(0.0, few.time - FEW * task), task
