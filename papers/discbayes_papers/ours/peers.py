"""Our recipes beside what users would pick instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discbayes._lazy_imports import leaf
from discbayes.evaluation.result_blocks import Block, Picture, ResultTable, Text
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.statistics import friedman, win_draw_loss
from discbayes_papers.experiment import Experiment
from discbayes_papers.ours import manifest
from discbayes_papers.ours.manifest import MISSING, PEERS

OURS = ("NB-LAPLACE", "TAN-LAPLACE", "TAN-E-G", "TAN-E-G+T", "TAN-CR-E-G", "NB-D-R", "TAN-D-R")
METHODS = (*OURS, *PEERS)
OLD_DEFAULT = "TAN-E-G+T"
OLD_NAME = "discbayes, default of 0.1"
LONG = {
    OLD_DEFAULT: OLD_NAME,
    "cnb": "CategoricalNB",
    "tree": "decision tree",
    "knn": "k-NN *",
    "lr": "logistic regression",
    "hgb": "HistGradientBoosting", "svm": "RBF SVM *",
}  # fmt: skip
TITLES = {
    "accuracy": "accuracy", "log_loss": "log loss",
    f"accuracy@{MISSING}": f"accuracy, {MISSING} % missing",
    f"log_loss@{MISSING}": f"log loss, {MISSING} % missing",
}  # fmt: skip


def page(store: Store) -> list[Block]:
    """Means, ranks, tests and diagrams."""
    names = manifest.complete_sets(store, METHODS)
    if len(names) < 2:
        return [Text("There are no data sets yet on which all methods were run.")]
    pictures = [_diagram(store, metric, names) for metric in TITLES]
    return [
        _means(store, names),
        _against(store, names),
        *pictures,
        *(_sets(store, m, names) for m in TITLES),
    ]


def _name(method: str) -> str:
    return LONG.get(method, method)


def _means(store: Store, names: Sequence[str]) -> ResultTable:
    values = {
        metric: manifest.figures(store, metric, names, METHODS).mean(axis=0) for metric in TITLES
    }
    places = {
        metric: manifest.ranks(store, metric, names, METHODS).mean(axis=0) for metric in TITLES
    }
    calibration = manifest.figures(store, "ece", names, METHODS).mean(axis=0)
    seconds = np.median(manifest.figures(store, "fit_seconds", names, METHODS), axis=0)
    rows = []
    for at in np.argsort(places["log_loss"], kind="stable"):
        cells = [
            text
            for metric in TITLES
            for text in (_figure(metric, values[metric][at]), f"{places[metric][at]:.2f}")
        ]
        rows.append(
            [
                _name(METHODS[at]),
                METHODS[at],
                *cells,
                f"{calibration[at]:.3f}",
                f"{seconds[at]:.2f}",
            ]
        )
    header = [
        "method",
        "tag",
        *(text for title in TITLES.values() for text in (title, "rank")),
        "calibration error",
        "fit s",
    ]
    note = (
        f"Means over {len(names)} data sets, 5 folds each, and mean ranks among the {len(METHODS)}"
        f" methods.{manifest.lacking(names)} Fit: the median over the data sets, one thread. *"
        " learns from at most 10,000 of the training rows, the same for both."
    )
    return ResultTable("Ours and others", header, rows, note, left=2)


def _figure(metric: str, value: float) -> str:
    return f"{100 * value:.2f}" if metric.startswith("accuracy") else f"{value:.4f}"


def _against(store: Store, names: Sequence[str]) -> ResultTable:
    """Wins, draws and losses of the default against the others."""
    rows = []
    for other in (method for method in METHODS if method != OLD_DEFAULT):
        cells = []
        for metric in TITLES:
            pair = manifest.figures(store, metric, names, (OLD_DEFAULT, other))
            found = win_draw_loss(
                pair[:, 0], pair[:, 1], larger_is_better=metric.startswith("accuracy")
            )
            cells.append(f"{found.wins}/{found.draws}/{found.losses} ({found.p:.2g})")
        rows.append([_name(other), *cells])
    return ResultTable(
        f"{OLD_NAME} against the others: wins/draws/losses (p of the sign test)",
        ["", *TITLES.values()],
        rows,
    )


def _diagram(store: Store, metric: str, names: Sequence[str]) -> Picture:
    table = manifest.figures(store, metric, names, METHODS)
    found = friedman(table, larger_is_better=metric.startswith("accuracy"))
    ranks = {_name(method): float(rank) for method, rank in zip(METHODS, found.ranks, strict=True)}

    def draw() -> Any:
        return leaf("plot").critical_difference_diagram(ranks, len(names)).figure

    title = (
        f"Mean ranks in {TITLES[metric]}: Friedman F = {found.f:.1f}, p = {found.p:.1g}; bars join"
        " what does not differ"
    )
    return Picture(metric.replace("@", "-"), title, draw)


def _sets(store: Store, metric: str, names: Sequence[str]) -> ResultTable:
    table = manifest.figures(store, metric, names, METHODS)
    rows = [
        [name, *(_figure(metric, value) for value in table[at])] for at, name in enumerate(names)
    ]
    return ResultTable(
        f"Data set by data set: {TITLES[metric]}", ["data", *map(_name, METHODS)], rows
    )


EXPERIMENT = Experiment(
    name="peers",
    paper="ours",
    where="",
    title="Our recipes beside what users would pick instead",
    tasks=lambda quick: manifest.tasks(METHODS, quick),
    page=page,
    metrics=manifest.METRICS,
    store=manifest.STORE,
)
