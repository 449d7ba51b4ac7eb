"""P13 Table 1: where the published figures lie among many draws of the five folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from discbayes.evaluation.metrics import accuracy
from discbayes.evaluation.result_blocks import Block
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.draws import Places, draws_page, places
from discbayes_papers.experiment import Experiment, Figures, read_figures
from discbayes_papers.figures import beside_store
from discbayes_papers.learning import shares
from discbayes_papers.p13.shared import METHODS, QUICK, fit, n_splits, p13_part

STORE = "p13-draws"
METRICS = ("accuracy", "n_test")
TAN = {method: f"TAN-{words}" for method, words in METHODS.items()}
PUBLISHED: Figures = {
    (data, TAN[method]): figure
    for (data, method), figure in read_figures("p13/table1.csv").items()
    if method in TAN
}
EARLY = {f"{TAN[method]}, cross-tuning": f"{TAN[method]} cross-tuning" for method in ("MCL", "MM")}
ALWAYS = "most frequent class"
# Sets of five folds with a figure beyond the tolerance.
SMALL = ("lymphography", "glass", "flare", "cleve", "crx", "australian", "vote", "german")
N_DRAWS = 20


def tasks(quick: bool) -> list[Task]:
    """Each set with each draw; the figures of all folds of a draw are one result."""
    recipes = (ALWAYS, TAN["ML"], TAN["MCL"], TAN["MM"], *EARLY)
    if quick:
        return [Task(name, 0, recipes, 0, work) for name in QUICK]
    return [
        *(Task(name, 0, recipes, seed, work) for name in SMALL for seed in range(N_DRAWS)),
    ]


def work(task: Task) -> Iterator[Result]:
    """The mean accuracy over the folds of one draw, as P13 has it."""
    for recipe in task.recipes:
        folds = [replace(task, fold=fold) for fold in range(n_splits(task.data))]
        found = [_accuracy(one, EARLY.get(recipe, recipe)) for one in folds]
        n_test = sum(p13_part(one).n_test for one in folds)
        yield task.result(recipe, {"accuracy": float(np.mean(found)), "n_test": n_test}, 0.0)


def _accuracy(task: Task, recipe: str) -> float:
    part = p13_part(task)
    if recipe == ALWAYS:
        return float((part.test_y == np.bincount(part.data.classes).argmax()).mean())
    return accuracy(shares(fit(task, recipe).learned.value, part.test_codes), part.test_y)


def drawn(store: Store) -> Places:
    """The draws of each set and recipe, from beside a store."""
    return places(beside_store(store, STORE), PUBLISHED)


def page(store: Store) -> Sequence[Block]:
    """All draws."""
    title = "Accuracy (%) over draws of the folds, and P13's figure among them"
    return draws_page(store, tasks(quick=False), drawn(store), title)


EXPERIMENT = Experiment(
    name="p13-draws",
    paper="P13",
    where="Table 1",
    title="P13's figures among many draws of the folds",
    tasks=tasks,
    page=page,
    metrics=METRICS,
)
