"""P10 Figure 3 and section 3: two features depend on each other, and other two tell the classes
apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache, partial
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.svm import SVC

from discbayes.counts import count
from discbayes.data import FrameEncoder
from discbayes.datasets import make_three_feature
from discbayes.datasets.generators import three_feature_joint
from discbayes.evaluation.result_blocks import Block, Picture, ResultTable
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes.inference import InferenceOptions, log_joint
from discbayes.network import CPTs, Structure
from discbayes.objectives import Margin
from discbayes.parameters import MaximumLikelihood
from discbayes.recipes import parse
from discbayes.search import (
    Annealing,
    GreedyEdges,
    NaiveBayes,
    OrderBased,
    SpanningTree,
    SuperParent,
)
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import draw_curves, figure_text, how_many
from discbayes_papers.learning import learn_structure, learn_tables
from discbayes_papers.p10.orders import n_right
from discbayes_papers.parts import Part, SplitRows, make_part

METRICS = (
    "accuracy",
    "std",
    "possible",
    "with_x1_x3",
    "with_x2_x3",
    "margin_0.1",
    "margin_1",
    "repeats",
)
# The figure.
SIZES, N_TEST, N_REPEATS, N_QUICK = (20, 50, 100, 200, 500, 1000), 1000, 100, 3
SVM = "SVM"
RECIPES = ("NB-ML", "NB-CL", "TAN-CMI-ML", "TAN-CMI-CL", "TAN-OMI-CR-ML", "TAN-OMI-CR-CL", SVM)
# The searches, on so many rows.
N_ROWS = 1000
POPULATION, SEARCHES = "three-feature", f"three-feature-searches-{N_ROWS}"
SCORES = {"CR": "cr", "CL": "cl", "MM": Margin(1.0)}
SEARCH: dict[str, Any] = {
    "greedy {}": GreedyEdges,
    "greedy {}, 5 folds, filled": partial(GreedyEdges, evaluation=5, fill=True),
    "SuperParent {}": SuperParent,
    "OMI-{}": partial(OrderBased, "omi"),
    "OMISP-{}": partial(OrderBased, "omisp"),
    "OCR-{}": partial(OrderBased, "ocr"),
    "RO-{}": partial(OrderBased, "random"),
    "annealing {}": Annealing,
}
LEARNERS: dict[str, Any] = {
    "NB": NaiveBayes(),
    "TAN-CMI": SpanningTree(),
    "TAN-fCLL": SpanningTree(score="fcll"),
    **{
        what.format(tag): make(score=score)
        for what, make in SEARCH.items()
        for tag, score in SCORES.items()
    },
    "greedy MM, λ = 0.1": GreedyEdges(Margin(0.1)),
    "greedy MM, λ by cross-validation": GreedyEdges("mm"),
}
# What the population allows: edges, and the accuracy in per cent.
STRUCTURES = {
    "NB": ((), 50.0),
    "X1-X2, X2-X3 (TAN-CMI)": (((0, 1), (1, 2)), 57.5),
    "X1-X3": (((0, 2),), 65.0),
    "X1-X3, X1-X2": (((0, 2), (0, 1)), 65.0),
    "X1-X3, X3-X2 (TAN-fCLL)": (((0, 2), (2, 1)), 61.25),
}
CELLS = np.indices((2, 2, 2, 2)).reshape(4, -1)  # class, X1, X2, X3
JOINT = three_feature_joint().ravel()


def tasks(quick: bool) -> list[Task]:
    """The figure, the structures in the population, and the searches."""
    options = {"n_repeats": N_QUICK if quick else N_REPEATS}
    sizes, searches = (SIZES[:2], ("NB", "OMI-CR", "RO-CR")) if quick else (SIZES, tuple(LEARNERS))
    curves = [
        Task(name_of(size), 0, (tag,), 0, simulate, options) for size in sizes for tag in RECIPES
    ]
    found = [Task(SEARCHES, 0, (name,), 0, search, options) for name in searches]
    return [*curves, Task(POPULATION, 0, tuple(STRUCTURES), 0, in_population), *found]


def name_of(size: int) -> str:
    """The data with so many training rows."""
    return f"three-feature-{size}"


# ---- the figure


def simulate(task: Task) -> Iterator[Result]:
    """The accuracy on 1,000 test rows: mean and standard deviation over simulations."""
    size = int(task.data.rpartition("-")[2])
    for tag in task.recipes:
        started = perf_counter()
        found = [
            simulated(draw(size, seed), tag, seed) for seed in range(task.options["n_repeats"])
        ]
        figures = {
            "accuracy": float(np.mean(found)),
            "std": float(np.std(found)),
            "repeats": len(found),
        }
        yield task.result(tag, figures, perf_counter() - started)


def draw(size: int, seed: int) -> Part:
    """So many training rows, and 1,000 test rows."""
    X, y = make_three_feature(size + N_TEST, random_state=np.random.default_rng([seed, size]))
    return make_part(
        SplitRows(POPULATION, X, y, size), (np.arange(size), np.arange(size, len(y))), None
    )


def simulated(part: Part, tag: str, seed: int) -> float:
    """The accuracy of a recipe, or of the SVM, on the test rows."""
    if tag == SVM:
        model = SVC(C=3.0, gamma=0.5).fit(part.data.codes.T, part.data.classes)
        return float((model.predict(part.test_codes.T) == part.test_y).mean())
    recipe = parse(tag)
    structure = learn_structure(part, recipe.structure, seed).value
    tables = learn_tables(part, structure, recipe.parameters, seed).value
    return n_right(tables, part.test_codes, part.test_y) / part.n_test


# ---- the population


@cache
def population() -> Part:
    """All rows that there can be, with weights."""
    data = FrameEncoder(None, n_jobs=1).fit_transform(CELLS[1:].T, CELLS[0], 1e4 * JOINT)
    return Part(data, count(data, 1), data.codes, data.classes)


@cache
def possible(structure: Structure) -> CPTs:
    """The tables of a structure that the population has."""
    return learn_tables(population(), structure, MaximumLikelihood()).value


def accuracy_of(tables: CPTs) -> float:
    """The share of the population that tables get right."""
    part = population()
    right = (
        log_joint(tables, part.test_codes, InferenceOptions(n_jobs=1)).argmax(axis=1) == part.test_y
    )
    return float(JOINT[right].sum())


def in_population(task: Task) -> Iterator[Result]:
    """What the parameters of the population give for some structures: accuracy, and margins."""
    for name in task.recipes:
        tables = possible(Structure.from_edges(STRUCTURES[name][0], range(3)))
        scores = log_joint(tables, population().test_codes, InferenceOptions(n_jobs=1))
        margins = {
            f"margin_{lam:g}": Margin(lam).value(scores, CELLS[0], JOINT) for lam in (0.1, 1.0)
        }
        yield task.result(name, {"accuracy": accuracy_of(tables), **margins}, np.nan)


def search(task: Task) -> Iterator[Result]:
    """The structures that a search finds in 1,000 rows, again and again, and their accuracy in the
    population.
    """
    for name in task.recipes:
        started = perf_counter()
        found = [searched(name, seed) for seed in range(task.options["n_repeats"])]
        accuracies = [accuracy_of(tables) for _, tables in found]
        edges = [
            {frozenset((p, i)) for i, group in enumerate(s.parents) for p in group}
            for s, _ in found
        ]
        figures = {
            "accuracy": float(np.mean(accuracies)),
            "std": float(np.std(accuracies)),
            "repeats": len(found),
            "possible": float(
                np.mean([accuracy_of(possible(structure)) for structure, _ in found])
            ),
            "with_x1_x3": sum(frozenset((0, 2)) in some for some in edges),
            "with_x2_x3": sum(frozenset((1, 2)) in some for some in edges),
        }
        yield task.result(name, figures, perf_counter() - started)


def searched(name: str, seed: int) -> tuple[Structure, CPTs]:
    """A structure and its tables, learned from one draw of rows."""
    X, y = make_three_feature(N_ROWS, random_state=seed)
    everything = np.arange(N_ROWS)
    part = make_part(SplitRows(POPULATION, X, y, None), (everything, everything), None)
    structure = learn_structure(part, LEARNERS[name], seed).value
    return structure, learn_tables(part, structure, MaximumLikelihood()).value


# ---- the page


def page(store: Store) -> list[Block]:
    """The curves, and what the searches find."""
    sizes = [
        size
        for size in SIZES
        if all(store.where(data=name_of(size), recipe=tag) for tag in RECIPES)
    ]
    curves = {
        tag: [100 * store.mean("accuracy", name_of(size), tag) for size in sizes] for tag in RECIPES
    }
    blocks = [*how_many(store, tasks(False)), _curves_table(store)]
    if sizes:
        title = "Accuracy against the number of training rows, the mean over simulations."
        labels = ("training rows", "classification rate, %")
        blocks.append(Picture("accuracy", title, lambda: _drawn(sizes, curves, labels)))
    return [*blocks, _population_table(store), _searches_table(store)]


def _drawn(sizes: list[int], curves: dict[str, list[float]], labels: tuple[str, str]) -> Any:
    figure = draw_curves(sizes, curves, labels)
    figure.axes[0].set_xscale("log")
    figure.axes[0].set_xticks(sizes, [str(size) for size in sizes])
    figure.axes[0].minorticks_off()
    return figure


def _curves_table(store: Store) -> ResultTable:
    rows = [[tag, *(_spread(store, name_of(size), tag) for size in SIZES)] for tag in RECIPES]
    head = ("training rows", *map(str, SIZES))
    return ResultTable(
        "Accuracy (%) on 1,000 test rows, mean and standard deviation over simulations", head, rows
    )


def _spread(store: Store, data: str, tag: str) -> str:
    mean, std = (store.mean(metric, data, tag) for metric in ("accuracy", "std"))
    return "–" if math.isnan(mean) else f"{figure_text(100 * mean)} ± {figure_text(100 * std)}"


def _population_table(store: Store) -> ResultTable:
    rows = []
    for name, (_, expected) in STRUCTURES.items():
        values = [
            store.mean(metric, POPULATION, name)
            for metric in ("accuracy", "margin_0.1", "margin_1")
        ]
        rates = (100 * values[0], expected)
        rows.append(
            [name, *map(figure_text, rates), *(figure_text(value, 4) for value in values[1:])]
        )
    head = ("edges", "accuracy (%)", "by hand (%)", "margin, λ = 0.1", "margin, λ = 1")
    return ResultTable("Structures with the parameters of the population", head, rows)


def _searches_table(store: Store) -> ResultTable:
    rows = []
    for name in LEARNERS:
        metrics = ("accuracy", "possible", "with_x1_x3", "with_x2_x3", "repeats")
        accuracy, best, right, wrong, n = (store.mean(metric, SEARCHES, name) for metric in metrics)
        rows.append(
            [
                name,
                *(figure_text(100 * value) for value in (accuracy, best)),
                *(figure_text(value, 0) for value in (right, wrong, n)),
            ]
        )
    head = ("search", "accuracy (%)", "of the structures (%)", "with X1-X3", "with X2-X3", "draws")
    return ResultTable(
        f"Searches on {N_ROWS:,} rows: accuracy in the population", head, rows, SEARCHES_NOTE
    )


SEARCHES_NOTE = (
    "`of the structures` is the accuracy that the structures have with the parameters of the"
    " population;\nthe last columns count draws in which they have an edge."
)

EXPERIMENT = Experiment(
    name="p10-fig3",
    paper="P10",
    where="Figure 3 and section 3",
    title="Three features, where only a discriminative structure helps",
    tasks=tasks,
    page=page,
    metrics=METRICS,
)
