"""P10 Table 7, the two columns of OMI-CRCL: the search trains CL parameters for every candidate."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from discbayes.counts import Counts
from discbayes.data import Encoded
from discbayes.engine import Context
from discbayes.evaluation.result_blocks import Block, ResultTable, Text
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes.network import CPTs, Layout, Structure
from discbayes.parameters import MaximumConditionalLikelihood, MaximumLikelihood
from discbayes.recipes import parse
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import beside_store, figure_text, runs_text
from discbayes_papers.learning import judged, learn_structure, learn_tables
from discbayes_papers.p10 import table7
from discbayes_papers.p10.shared import (
    BY_SIZE,
    FRIEDMAN,
    QUICK,
    STORE,
    TRAINED,
    TRAINED_STORE,
    TUNED,
    accuracies,
    average,
    tasks_of,
    trained_runs,
    trained_tag,
)
from discbayes_papers.p10.table7 import PARAMETERS
from discbayes_papers.parts import Part, load_part

WITHOUT = "TAN-OMI-CR"
ITERATIONS = (1, 5, TUNED)
NAMED = ("no iteration", *(str(n) for n in ITERATIONS))


class WarmStarted:
    """Tables of a network with one edge more begin where those of the network without it ended.

    It is for one search on one data set: it remembers all tables that it learned from the last
    data.
    """

    def __init__(self, learner: Any):
        self.learner = learner
        self._data: Encoded | None = None
        self._known: dict[tuple[tuple[int, ...], ...], CPTs] = {}

    def learn(self, data: Encoded, counts: Counts, structure: Structure, context: Context) -> CPTs:
        """The tables of the learner, from a start that it would have reached late."""
        if data is not self._data:
            self._data, self._known = data, {}
        start = self._start(data, structure)
        learner = self.learner if start is None else clone(self.learner).set_params(start=start)
        tables = self._known[structure.parents] = learner.learn(data, counts, structure, context)
        return tables

    def _start(self, data: Encoded, structure: Structure) -> CPTs | None:
        """The tables of a known network with one edge less, the same whatever the new parent is."""
        for child, group in enumerate(structure.parents):
            for place in range(len(group)):
                fewer = list(structure.parents)
                fewer[child] = group[:place] + group[place + 1 :]
                if tuple(fewer) in self._known:
                    layout = Layout(structure, data.cards, data.n_classes)
                    return widened(self._known[tuple(fewer)], layout, child, place)
        return None


def widened(tables: CPTs, layout: Layout, child: int, place: int) -> CPTs:
    """The same network with one more parent of a child, in that place among its parents, which
    changes nothing yet.
    """
    parts = [tables.log_table(i) for i in range(len(layout.cards))]
    parts[child] = np.broadcast_to(np.expand_dims(parts[child], place), layout.shapes[child])
    return CPTs(layout, tables.log_prior, np.concatenate([part.ravel() for part in parts]))


def work(task: Task) -> Iterator[Result]:
    """Find the structure once, and learn its parameters in each way."""
    part = load_part(task.data, task.fold, task.seed)
    inner = _inner(part, task.options.get("iterations"), task.seed)
    learner = parse(_plain(task.recipes[0])).structure.set_params(parameters=inner)
    found = learn_structure(part, learner, task.seed)
    for tag in task.recipes:
        tables = learn_tables(part, found.value, parse(_plain(tag)).parameters, task.seed)
        yield task.result(tag, judged(part, found, tables), found.seconds + tables.seconds)


def _inner(part: Part, iterations: int | str | None, seed: int) -> Any:
    """How the search trains a candidate: to convergence from a warm start, or for some iterations
    from ML on.
    """
    if iterations is None:
        return WarmStarted(MaximumConditionalLikelihood())
    n = _tuned_iterations(part, seed) if iterations == TUNED else int(iterations)
    return MaximumConditionalLikelihood(max_iter=n) if n else MaximumLikelihood()


def _tuned_iterations(part: Part, seed: int) -> int:
    naive = Structure.naive(part.data.n_features)
    tables = learn_tables(part, naive, MaximumConditionalLikelihood(stopping="cross-tuning"), seed)
    return sum("iteration" in line for line in tables.history)


def _plain(tag: str) -> str:
    return tag.split(",")[0]


def tasks(quick: bool) -> list[Task]:
    """All sets, from the smallest to the largest; then searches that train less."""
    full = [replace(task, work=work) for task in tasks_of(QUICK if quick else BY_SIZE, [TRAINED])]
    return full + [
        replace(
            task,
            recipes=tuple(trained_tag(tag, n) for tag in task.recipes),
            options={"iterations": n},
        )
        for n in ITERATIONS
        for task in full
    ]


def page(store: Store) -> Sequence[Block]:
    """The two columns, and the averages after searches that train less."""
    return [
        Text(f"Stored: {runs_text(store, tasks(False))}."),
        *table7.columns(trained_runs(store), [TRAINED]),
        by_iterations(store),
        marked_by_iterations(store),
    ]


def by_iterations(store: Store) -> ResultTable:
    """Averages by the number of iterations inside the search; without any it is OMI-CR."""
    figures = accuracies(beside_store(store, STORE)) | accuracies(store)
    tags = {"none: TAN-OMI-CR": [f"{WITHOUT}-{tables}" for tables in PARAMETERS]}
    tags |= {
        str(n): [trained_tag(f"{TRAINED}-{tables}", n) for tables in PARAMETERS] for n in ITERATIONS
    }
    tags |= {"to convergence": [f"{TRAINED}-{tables}" for tables in PARAMETERS]}
    repeated = repeated_sets()
    mixed = f"{TUNED}; none on {len(repeated)} sets"
    tags |= {mixed: [f"{mixed}, {tables}" for tables in PARAMETERS]}
    for data, tables in product(BY_SIZE, PARAMETERS):
        used = tags["none: TAN-OMI-CR" if data in repeated else TUNED][PARAMETERS.index(tables)]
        figures[data, f"{mixed}, {tables}"] = figures.get((data, used), math.nan)
    rows = [
        [name, *(figure_text(average(figures, tag)) for tag in pair)] for name, pair in tags.items()
    ]
    title = "Average accuracy (%) by the iterations with which the search trains each candidate"
    note = f"P10 has the figures of {WITHOUT} in both columns on {', '.join(repeated)}."
    return ResultTable(title, ["iterations", *PARAMETERS], rows, note)


def marked_by_iterations(store: Store) -> ResultTable:
    """The figures that are marked, by the iterations inside the search."""
    figures = accuracies(beside_store(store, STORE)) | accuracies(store)
    limits, rows = table7.allowed(), []
    for tables, data in product(PARAMETERS, FRIEDMAN):
        theirs = table7.PUBLISHED[data, f"{TRAINED}-{tables}"]
        tags = [f"{WITHOUT}-{tables}"]
        tags += [trained_tag(f"{TRAINED}-{tables}", n) for n in ITERATIONS]
        found = [figures.get((data, tag), math.nan) for tag in tags]
        if theirs - found[-1] > limits[data]:
            near = [n for n, one in zip(NAMED, found, strict=True) if theirs - one <= limits[data]]
            cells = [*map(figure_text, found), f"{theirs:.2f}", f"{limits[data]:.2f}"]
            rows.append([data, tables, *cells, ", ".join(near) or "none of them"])
    header = ["data set", "", *NAMED, "P10", "tolerance", "within it"]
    title = "Accuracy (%) of the figures that are marked, by the iterations inside the search"
    return ResultTable(title, header, rows, left=2)


def repeated_sets() -> list[str]:
    """The sets on which P10 has the figures of OMI-CR in both columns of OMI-CRCL."""
    return [
        data
        for data in FRIEDMAN
        if all(
            table7.PUBLISHED[data, f"{WITHOUT}-{tables}"]
            == table7.PUBLISHED[data, f"{TRAINED}-{tables}"]
            for tables in PARAMETERS
        )
    ]


EXPERIMENT = Experiment(
    name="p10-table7-crcl",
    paper="P10",
    where="Table 7, columns TAN-OMI-CRCL",
    title="Structures by the accuracy of discriminative parameters on 25 data sets",
    tasks=tasks,
    page=page,
    store=TRAINED_STORE,
)
