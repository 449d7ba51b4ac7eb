"""P10 Figure 13: accuracy on handwritten digits with features missing at test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from time import perf_counter
from typing import Any

import numpy as np

from discbayes.evaluation.result_blocks import Block, Picture, ResultTable
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes.network import CPTs
from discbayes.parameters import MaximumConditionalLikelihood
from discbayes.recipes import parse
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import draw_curves, figure_text, how_many
from discbayes_papers.learning import learn_structure, learn_tables
from discbayes_papers.p10.orders import n_right
from discbayes_papers.p10.shared import QUICK
from discbayes_papers.parts import load_part, with_missing

DATA, N_FEATURES = "mnist14", 196
MISSING = tuple(range(0, 200, 20))  # features of 196
METRICS = (*(f"missing_{n}" for n in MISSING), "n_test")
EARLY = "NB-CL max_iter=10"
PARAMETERS = ("NB-ML", "NB-CL", EARLY, "TAN-CR-ML")  # Figure 13(b), and a fit that ends early
STRUCTURES = ("TAN-CMI-ML", "TAN-OMI-CR-ML")  # further ones for Figure 13(a)
N_DRAWS, N_DRAWS_STRUCTURES, N_QUICK = 100, 10, 2
FIGURES = {
    "structures": ("NB-ML", *STRUCTURES, "TAN-CR-ML"),
    "parameters": PARAMETERS,
}


def tasks(quick: bool) -> list[Task]:
    """One draw of missing features after the other."""
    data, n_draws = (QUICK[-1], N_QUICK) if quick else (DATA, N_DRAWS)
    return [
        Task(
            data,
            0,
            PARAMETERS + (STRUCTURES if draw < N_DRAWS_STRUCTURES else ()),
            draw,
            lose_features,
        )
        for draw in range(n_draws)
    ]


def lose_features(task: Task) -> Iterator[Result]:
    """The accuracy of each classifier with so many features missing, the same ones for all."""
    part = load_part(task.data, task.fold)
    numbers = [n * part.data.n_features // N_FEATURES for n in MISSING]
    codes = list(with_missing(part, numbers, task.seed))
    for tag in task.recipes:
        tables, started = fitted(task.data, tag), perf_counter()
        rates = [n_right(tables, some, part.test_y) / part.n_test for some in codes]
        figures = dict(zip(METRICS, (*rates, part.n_test), strict=True))
        yield task.result(tag, figures, perf_counter() - started)


@lru_cache(maxsize=8)
def fitted(data: str, tag: str) -> CPTs:
    """The tables of a recipe, learned once."""
    part = load_part(data, 0)
    recipe = parse(tag.partition(" ")[0])
    learner: Any = MaximumConditionalLikelihood(max_iter=10) if tag == EARLY else recipe.parameters
    return learn_tables(part, learn_structure(part, recipe.structure).value, learner).value


# ---- the page


def page(store: Store) -> list[Block]:
    """A table and a picture for each half of the figure."""
    blocks: list[Block] = how_many(store, tasks(False))
    for name, tags in FIGURES.items():
        rates = {tag: rates_of(store, tag) for tag in tags}
        blocks.append(_table(name, rates))
        if all(map(len, rates.values())):
            title = (
                "Accuracy with features missing at test, one standard deviation shaded: different"
                f" {name}."
            )
            blocks.append(_picture(name, title, rates))
    return blocks


def rates_of(store: Store, tag: str) -> np.ndarray:
    """Accuracies in per cent, an array (draws, numbers of missing features)."""
    found = store.where(recipe=tag)
    return 100 * np.array([[one[metric] for metric in METRICS[:-1]] for one in found])


def _table(name: str, rates: Mapping[str, np.ndarray]) -> ResultTable:
    rows = []
    for place, n in enumerate(MISSING):
        cells = (
            f"{figure_text(found[:, place].mean())} ± {figure_text(found[:, place].std())}"
            if len(found)
            else "–"
            for found in rates.values()
        )
        rows.append([str(n), *cells])
    draws = ", ".join(f"{tag} {len(found)}" for tag, found in rates.items())
    note = f"Mean and standard deviation over draws of missing features; draws: {draws}."
    return ResultTable(f"Accuracy (%), different {name}", ("missing features", *rates), rows, note)


def _picture(name: str, title: str, rates: Mapping[str, np.ndarray]) -> Picture:
    means, spreads = (
        {tag: f(found, axis=0) for tag, found in rates.items()} for f in (np.mean, np.std)
    )
    labels = ("missing features (of 196)", "classification rate, %")
    return Picture(name, title, lambda: draw_curves(MISSING, means, labels, spreads))


EXPERIMENT = Experiment(
    name="p10-fig13",
    paper="P10",
    where="Figure 13",
    title="Features missing at test on handwritten digits",
    tasks=tasks,
    page=page,
    metrics=METRICS,
)
