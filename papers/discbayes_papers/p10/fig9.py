"""P10 Figure 9: the conditional likelihood of structures learned from random distributions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from discbayes.counts import count
from discbayes.data import FrameEncoder
from discbayes.datasets.generators import random_joint
from discbayes.evaluation.result_blocks import Block, Picture, ResultTable
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes.inference import InferenceOptions, log_joint
from discbayes.objectives import ConditionalLikelihood
from discbayes.recipes import parse
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import draw_curves, figure_text, how_many
from discbayes_papers.learning import learn_structure, learn_tables
from discbayes_papers.p10.orders import difference_text, sizes_of
from discbayes_papers.parts import Part

METRICS = ("likelihood", "edges", "search_seconds")
# As P10 lists them: the greedy search first, then by what they cost.
RECIPES = ("TAN-CL-ML", "TAN-OMI-CL-ML", "TAN-RO-CL-ML", "TAN-minMI-CL-ML", "TAN-CMI-ML", "NB-ML")
SIZES, N_ROWS, N_DISTRIBUTIONS = (10, 11, 12, 13, 14), 100_000, 100
QUICK_SIZES, QUICK_ROWS, N_QUICK = (4, 5), 2000, 3


def tasks(quick: bool) -> list[Task]:
    """One distribution of each size, then the next of each."""
    sizes, n_rows, n = (
        (QUICK_SIZES, QUICK_ROWS, N_QUICK) if quick else (SIZES, N_ROWS, N_DISTRIBUTIONS)
    )
    options = {"n_rows": n_rows}
    return [
        Task(name_of(size), 0, RECIPES, seed, work, options) for seed in range(n) for size in sizes
    ]


def name_of(size: int) -> str:
    """The data of so many features."""
    return f"random-{size}"


def work(task: Task) -> Iterator[Result]:
    """The likelihood of a training row after each search."""
    part = draw_part(int(task.data.partition("-")[2]), task.options["n_rows"], task.seed)
    for tag in task.recipes:
        recipe = parse(tag)
        found = learn_structure(part, recipe.structure, task.seed)
        tables = learn_tables(part, found.value, recipe.parameters).value
        value = ConditionalLikelihood().value(
            log_joint(tables, part.data.codes, InferenceOptions(n_jobs=1)),
            part.data.classes,
            part.data.weight,
        )
        figures = {
            "likelihood": value / task.options["n_rows"],
            "edges": found.value.n_edges,
            "search_seconds": found.seconds,
        }
        yield task.result(tag, figures, found.seconds)


def draw_part(n_features: int, n_rows: int, seed: int) -> Part:
    """Rows of a random distribution of a class and binary features: those that are alike are one
    row with a weight.
    """
    rng = np.random.default_rng([seed, n_features])
    joint = random_joint(n_features, 2, rng)
    times = rng.multinomial(n_rows, joint.ravel())
    seen = np.flatnonzero(times)
    y, *features = np.unravel_index(seen, joint.shape)
    data = FrameEncoder(None, n_jobs=1).fit_transform(
        np.column_stack(features), y, times[seen].astype(float)
    )
    return Part(data, count(data, 1), data.codes, data.classes)


# ---- the page


def page(store: Store) -> list[Block]:
    """Means, whether they differ, and the figure."""
    found = {size: likelihoods(store, size) for size in sizes_of(store, SIZES)}
    blocks = [*how_many(store, tasks(False)), _table(found), differences_table(found)]
    if all(map(len, found.values())):
        means = {
            tag: [found[size][:, place].mean() for size in found]
            for place, tag in enumerate(RECIPES)
        }
        labels = ("features", "log P(y | x) of a row")
        title = "Conditional log likelihood of a training row, the mean over random distributions."
        blocks.append(Picture("likelihood", title, lambda: draw_curves(list(found), means, labels)))
    return blocks


def likelihoods(store: Store, size: int) -> np.ndarray:
    """An array (distributions, recipes) of those distributions that all recipes have."""
    by_seed: dict[int, dict[str, float]] = {}
    for one in store.where(data=name_of(size)):
        by_seed.setdefault(one.seed, {})[one.recipe] = one["likelihood"]
    full = [
        [values[tag] for tag in RECIPES]
        for values in by_seed.values()
        if len(values) == len(RECIPES)
    ]
    return np.array(full).reshape(-1, len(RECIPES))


def _table(found: dict[int, np.ndarray]) -> ResultTable:
    rows = []
    for size, values in found.items():
        cells = values.mean(axis=0) if len(values) else np.full(len(RECIPES), np.nan)
        rows.append([str(size), str(len(values)), *(figure_text(cell, 5) for cell in cells)])
    head = ("features", "distributions", *(tag.removesuffix("-ML") for tag in RECIPES))
    return ResultTable(
        "Conditional log likelihood of a training row, mean over distributions", head, rows
    )


def differences_table(found: dict[int, np.ndarray]) -> ResultTable:
    """One-sided paired t-tests between each search and the next of the table."""
    names = [tag.removesuffix("-ML") for tag in RECIPES]
    rows = [
        [str(size), *(difference_text(a, b, 5) for a, b in pairwise(values.T))]
        for size, values in found.items()
    ]
    head = ("features", *(f"{a} − {b}" for a, b in pairwise(names)))
    return ResultTable(
        "Mean difference, and p of the one-sided paired t-test in its direction", head, rows
    )


EXPERIMENT = Experiment(
    name="p10-fig9",
    paper="P10",
    where="Figure 9",
    title="Conditional likelihood of structures of random distributions",
    tasks=tasks,
    page=page,
    metrics=METRICS,
)
