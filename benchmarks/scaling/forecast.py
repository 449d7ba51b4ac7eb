"""The model with its constants, held against measurements that it was not fitted to, and asked
about larger data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from scaling import cluster, files, growth
from scaling.extrapolate import PLANS, Cluster, Cost, Round, cost, counting
from scaling.model import Size, Work, fitted
from scaling.probe import ITERATIONS
from scaling.results import Line, Results
from scaling.verdicts import TAN, WEIGHTED
from suite.measure import N_JOBS

PER_ITERATION = 1.1  # evaluations, with those of the line search
SCENARIOS: dict[str, Size] = {
    "10⁹ rows × 100 features × 5 values × 3 classes": Size.even(1e9, 100, 5, 3),
    "10¹⁰ rows × 1,000 features × 5 values × 3 classes": Size.even(1e10, 1000, 5, 3),
}


def model_of(results: Results) -> dict[str, Work]:
    """The constants of all kinds of work that were measured on some sizes."""
    found = {name: results.of(growth.CASE, name) for name in (*growth.WORKS, *growth.SMALL_WORKS)}
    return {name: fitted(name, lines) for name, lines in found.items() if len(lines) > 4}


def complete(works: dict[str, Work]) -> bool:
    """Whether all kinds of work were measured."""
    return len(works) == len(growth.WORKS) + len(growth.SMALL_WORKS)


# ---- held against measurements


def checks(results: Results) -> Iterator[tuple[str, float, float]]:
    """What was measured, its seconds, and those of the model."""
    works = model_of(results)
    if not complete(works):
        return
    yield from _checks_of_files(results, works)
    yield from _checks_of_cluster(results, works)


def _checks_of_files(
    results: Results, works: dict[str, Work]
) -> Iterator[tuple[str, float, float]]:
    reading = reading_of(results, works)
    for name in (TAN, WEIGHTED):
        line = results.get(files.CASE, name)
        if reading is None or line is None or not line.cards:
            continue
        size = size_of(line)
        work = sum(each.seconds * each.times for each in counting("fCLL", 1)(size, works))
        if name == WEIGHTED:
            evaluations = 1 + PER_ITERATION * ITERATIONS
            work += works["preparing"].seconds(size) + evaluations * works[
                "evaluation, CCBN-w"
            ].seconds(size)
        said = reading * size.rows * (size.features + 1) + work / N_JOBS
        yield f"{name} from files, {line.rows:,} rows, {N_JOBS} threads", line.time, said


def reading_of(results: Results, works: dict[str, Work]) -> float | None:
    """The seconds that reading takes for a cell: what counting leaves of naive Bayes on the fewest
    rows.
    """
    lines = results.of(files.CASE, "NB + MAP")
    if not lines or "features" not in works:
        return None
    size = size_of(lines[0])
    return (lines[0].time - works["features"].seconds(size) / N_JOBS) / (
        size.rows * (size.features + 1)
    )


def size_of(line: Line) -> Size:
    """The sizes of a line on files."""
    return Size(line.rows, tuple(map(int, line.cards.split())), line.classes or 0)


def _checks_of_cluster(
    results: Results, works: dict[str, Work]
) -> Iterator[tuple[str, float, float]]:
    found = cluster.overheads(results)
    for name in ("pairs, fCLL", "evaluation, CCBN-w"):
        line = results.get(cluster.CASE, name)
        if found is None or line is None:
            continue
        here = replace(
            Cluster(), workers=cluster.WORKERS, threads=1, latency=found[0], task=found[1]
        )
        size = Size.even(line.rows, line.features or 0, line.values or 0, line.classes or 0)
        numbers = size.pair_cells if name.startswith("pairs") else size.cells(1)
        said = cost([Round(name, works[name].seconds(size), numbers, 8 * numbers)], size, here)
        yield f"{name}, {line.rows:,} rows, {cluster.WORKERS} processes", line.time, said.seconds


# ---- asked about larger data


def forecasts(results: Results) -> Iterator[tuple[str, dict[str, Cost]]]:
    """For each of the larger data what every learner takes."""
    works, found = model_of(results), cluster.overheads(results)
    if found is None or not complete(works):
        return
    there = replace(Cluster(), latency=found[0], task=found[1])
    for title, size in SCENARIOS.items():
        yield title, {name: cost(plan(size, works), size, there) for name, plan in PLANS.items()}
