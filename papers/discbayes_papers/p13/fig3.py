"""P13 Figure 3 and the relative likelihoods of section 5.3: what discriminative tables keep of the
likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from discbayes._lazy_imports import leaf, need
from discbayes.evaluation.result_blocks import Block, Picture, ResultTable
from discbayes.evaluation.result_store import Store
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import beside, figure_text, how_many
from discbayes_papers.p13.shared import METHODS, mean
from discbayes_papers.p13.table1 import (
    ENDING,
    METRICS,
    STOPPED,
    STRUCTURES,
    names_with,
    relative,
    stopped,
    tasks,
)

# on training and on test rows
PUBLISHED = {"MCL": (67.23, 61.47), "MM": (39.99, 39.10), "ML-BN-SVM": (91.09, 89.84)}
KINDS = {"training rows": "train_log_likelihood", "test rows": "log_likelihood"}
TOLERANCE = 5.0
GROUPS = {"NB and TAN": STRUCTURES, "NB": ("NB",), "TAN": ("TAN",)}


def ratios(
    store: Store, method: str, structures: Sequence[str], metric: str
) -> dict[str, list[float]]:
    """LL(ML) / LL(method) in per cent for the splits of each set that has them."""
    pairs = [
        (f"{structure}-{METHODS['ML']}", f"{structure}-{METHODS[method]}")
        for structure in structures
    ]
    found = {
        name: [ratio for ml, recipe in pairs for ratio in relative(store, name, ml, recipe, metric)]
        for name in store.data()
    }
    return {name: values for name, values in found.items() if values}


def page(store: Store) -> list[Block]:
    """Relative likelihoods beside P13's, by structure and by set, and the scatter plots."""
    over_runs = {
        (method, kind): mean(
            [
                value
                for values in ratios(store, method, STRUCTURES, metric).values()
                for value in values
            ]
        )
        for method in PUBLISHED
        for kind, metric in KINDS.items()
    }
    theirs = {
        (method, kind): both[place]
        for method, both in PUBLISHED.items()
        for place, kind in enumerate(KINDS)
    }
    title = (
        "Relative likelihood LL(ML) / LL(method) in per cent, the mean over all splits, NB and TAN"
        " together"
    )
    blocks: list[Block] = [
        *how_many(store, tasks(quick=False)),
        beside(title, over_runs, theirs, list(PUBLISHED), list(KINDS), TOLERANCE, corner="method"),
        by_structure(store),
        by_end(store),
        by_set(store),
    ]
    if any(points(store, method) for method in PUBLISHED):
        title = (
            "Negative log likelihood of a training row, ML against the others: a point for each"
            " split, NB and TAN."
        )
        blocks.append(Picture("scatter", title, lambda: draw(store)))
    return blocks


def by_structure(store: Store) -> ResultTable:
    """The mean over splits, and over sets, each of which counts the same."""
    rows = []
    for title, structures in GROUPS.items():
        for method in PUBLISHED:
            found = [ratios(store, method, structures, metric) for metric in KINDS.values()]
            runs = [mean([value for values in one.values() for value in values]) for one in found]
            sets = [mean([mean(values) for values in one.values()]) for one in found]
            counts = [str(len(found[0])), str(sum(map(len, found[0].values())))]
            rows.append([title, method, *counts, *map(figure_text, (*runs, *sets))])
    head = (
        "structure",
        "method",
        "sets",
        "splits",
        "training",
        "test",
        "training, by set",
        "test, by set",
    )
    note = "By set: the mean over sets, each of which counts the same."
    return ResultTable("The same by structure", head, rows, note, left=2)


def by_end(store: Store) -> ResultTable:
    """What MCL and MM leave, by where their fits end: the mean over splits."""
    rows = []
    for structure in STRUCTURES:
        ways = {method: stopped(method, structure) for method in ENDING}
        names = names_with(store, ways)
        for method in ENDING:
            for end, recipe in ways[method].items():
                left = [
                    [
                        ratio
                        for name in names
                        for ratio in relative(store, name, f"{structure}-P13ML", recipe, metric)
                    ]
                    for metric in KINDS.values()
                ]
                figures = map(figure_text, map(mean, left))
                rows.append([structure, method, end, str(len(names)), *figures])
    head = ("structure", "method", "ends by", "sets", "training", "test")
    return ResultTable("MCL and MM by where their fits end", head, rows, STOPPED, left=3)


def by_set(store: Store) -> ResultTable:
    """What is left on the training rows of each set."""
    cells = [(structure, method) for structure in STRUCTURES for method in PUBLISHED]
    kept = {cell: ratios(store, cell[1], cell[:1], "train_log_likelihood") for cell in cells}
    rows = [
        [name, *(figure_text(mean(kept[cell].get(name, [])), 1) for cell in cells)]
        for name in store.data()
    ]
    return ResultTable(
        "By data set, training rows",
        ("data", *(f"{structure}, {method}" for structure, method in cells)),
        rows,
    )


def points(store: Store, method: str) -> list[tuple[float, float]]:
    """The negative likelihoods of ML and of the method on the training rows, for each split."""
    found = []
    for structure in STRUCTURES:
        ml, other = (store.where(recipe=f"{structure}-{METHODS[tag]}") for tag in ("ML", method))
        best = {(one.data, one.fold): -one["train_log_likelihood"] for one in ml}
        found += [
            (best.get((one.data, one.fold), math.nan), -one["train_log_likelihood"])
            for one in other
        ]
    return [pair for pair in found if not any(map(math.isnan, pair))]


def draw(store: Store) -> Any:
    """A scatter plot for each method."""
    figure, axes = need("matplotlib.pyplot").subplots(
        1, len(PUBLISHED), figsize=(12, 4.2), layout="constrained"
    )
    for method, ax in zip(PUBLISHED, axes, strict=True):
        found = points(store, method)
        if found:
            leaf("plot").scatter_losses(*zip(*found, strict=True), ("ML", method), log=True, ax=ax)
    return figure


EXPERIMENT = Experiment(
    name="p13-fig3",
    paper="P13",
    where="Figure 3 and section 5.3",
    title="What discriminative parameters leave of the likelihood",
    tasks=tasks,
    page=page,
    metrics=METRICS,
    store="p13-table1",
)
