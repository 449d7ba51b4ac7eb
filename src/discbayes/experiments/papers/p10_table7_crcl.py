"""P10 Table 7, the two columns of OMI-CRCL: the search trains CL parameters for every candidate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from discbayes.counts import Counts
from discbayes.data import Encoded
from discbayes.engine import Context
from discbayes.experiments.blocks import Block
from discbayes.experiments.learning import judged, learn_structure, learn_tables
from discbayes.experiments.papers import p10_table7
from discbayes.experiments.papers._p10 import BY_SIZE, QUICK, TRAINED, TRAINED_STORE, tasks_of
from discbayes.experiments.papers.spec import Experiment
from discbayes.experiments.parts import load_part
from discbayes.experiments.store import Result, Store
from discbayes.experiments.tasks import Task
from discbayes.network import Layout, Structure, Tables
from discbayes.parameters import MaximumConditionalLikelihood
from discbayes.recipes import parse


class WarmStarted:
    """Tables of a network with one edge more begin where those of the network without it ended.

    It is for one search on one data set: it remembers all tables that it learned from the last data.
    """

    def __init__(self, learner: Any):
        self.learner = learner
        self._data: Encoded | None = None
        self._known: dict[tuple[tuple[int, ...], ...], Tables] = {}

    def learn(self, data: Encoded, counts: Counts, structure: Structure, context: Context) -> Tables:
        """The tables of the learner, from a start that it would have reached late."""
        if data is not self._data:
            self._data, self._known = data, {}
        start = self._start(data, structure)
        learner = self.learner if start is None else clone(self.learner).set_params(start=start)
        tables = self._known[structure.parents] = learner.learn(data, counts, structure, context)
        return tables

    def _start(self, data: Encoded, structure: Structure) -> Tables | None:
        """The tables of a known network with one edge less, the same whatever the new parent is."""
        for child, group in enumerate(structure.parents):
            for place in range(len(group)):
                fewer = list(structure.parents)
                fewer[child] = group[:place] + group[place + 1 :]
                if tuple(fewer) in self._known:
                    layout = Layout(structure, data.cards, data.n_classes)
                    return widened(self._known[tuple(fewer)], layout, child, place)
        return None


def widened(tables: Tables, layout: Layout, child: int, place: int) -> Tables:
    """The same network with one more parent of a child, in that place among its parents, which changes nothing yet."""
    parts = [tables.log_table(i) for i in range(len(layout.cards))]
    parts[child] = np.broadcast_to(np.expand_dims(parts[child], place), layout.shapes[child])
    return Tables(layout, tables.log_prior, np.concatenate([part.ravel() for part in parts]))


def work(task: Task) -> Iterator[Result]:
    """Find the structure once, with warm starts, and learn its parameters in each way."""
    part = load_part(task.data, task.fold, task.seed)
    learner = parse(task.recipes[0]).structure.set_params(parameters=WarmStarted(MaximumConditionalLikelihood()))
    found = learn_structure(part, learner, task.seed)
    for tag in task.recipes:
        tables = learn_tables(part, found.value, parse(tag).parameters, task.seed)
        yield task.result(tag, judged(part, found, tables), found.seconds + tables.seconds)


def tasks(quick: bool) -> list[Task]:
    """All sets, from the smallest to the largest."""
    return [replace(task, work=work) for task in tasks_of(QUICK if quick else BY_SIZE, [TRAINED])]


def page(store: Store) -> Sequence[Block]:
    """The two columns."""
    return p10_table7.columns(store, [TRAINED])


EXPERIMENT = Experiment(
    name="p10-table7-crcl",
    paper="P10",
    where="Table 7, columns TAN-OMI-CRCL",
    title="Structures by the accuracy of discriminative parameters on 25 data sets",
    tasks=tasks,
    page=page,
    store=TRAINED_STORE,
)
