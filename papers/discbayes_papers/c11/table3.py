"""C11 Table 3: the Bayesian network classifiers against each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discbayes.evaluation.result_blocks import Block, ResultTable
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.c11 import shared, weka
from discbayes_papers.c11.shared import ALL_ROWS, NETWORKS, VARIANTS
from discbayes_papers.experiment import Experiment

TOLERANCE = 1.0  # of Z: other folds move it by as much
DRAWS = range(20)
# Z and one-sided p, the first of a pair being the better one where Z is positive.
PUBLISHED = shared.read_pairs("c11/table3.csv")
DRAWN = (*(tag for tag in NETWORKS if tag.endswith("OFE")), *VARIANTS)
PAIRS = (
    *(pair for pair in PUBLISHED if "TAN-LL-ELR" not in pair),
    *((tag, "TAN-LL-OFE") for tag in VARIANTS),
)


def tasks(quick: bool) -> list[Task]:
    """The protocol of the paper first, then other draws of the folds, with cut points of training
    rows and of all.
    """
    data, draws = (shared.QUICK, range(2)) if quick else (shared.BY_SIZE, DRAWS)
    cuts = ("", ALL_ROWS)
    return shared.tasks_of(data, NETWORKS, suffixes=cuts) + shared.tasks_of(
        data, DRAWN, draws, cuts
    )


def page(store: Store) -> list[Block]:
    """Z and p of each pair beside the published ones; how they move with the folds; the
    accuracies.
    """
    tests = shared.signed_ranks(store, PUBLISHED, TOLERANCE)
    return [
        *shared.state(store, NETWORKS),
        *tests,
        _draws(store),
        _means(store),
        weka.table("c11/weka.csv", weka.PAIRS, "Weka 3.6.14"),
        weka.losing_sets(),
        shared.accuracy_table(store, NETWORKS),
    ]


def _draws(store: Store) -> ResultTable:
    rows = [
        [suffix, shared.pair_name(pair), *_moved(store, pair, suffix)]
        for suffix in ("", ALL_ROWS)
        for pair in PAIRS
    ]
    named = [["all rows" if suffix else "training rows", *rest] for suffix, *rest in rows]
    note = "Z of means: the test on accuracies that are averaged over the draws."
    header = [
        "cut points of",
        "better – worse",
        "draws",
        "median Z",
        "least Z",
        "largest Z",
        "Z of means",
    ]
    return ResultTable("Other draws of the folds", header, named, note, 2)


def _moved(store: Store, pair: Sequence[str], suffix: str) -> list[str]:
    """The number of draws with all sets, the median and range of Z over them, and Z of the
    means.
    """
    z, of_means = shared.z_over_draws(store, pair, DRAWS, suffix)
    if not z:
        return ["0", *["–"] * 4]
    return [str(len(z)), *(f"{one:.2f}" for one in (np.median(z), min(z), max(z), of_means))]


def _means(store: Store) -> ResultTable:
    """By set, the accuracies that are averaged over the draws, where fCLL and likelihood differ
    most first.
    """
    tags = ("TAN-fCLL-OFE", "TAN-LL-OFE", "GHC2-fCLL-OFE", "GHC2-LL-OFE")
    draws = [shared.figures(store, seed=seed) for seed in DRAWS]
    rows = []
    for name in shared.SETS:
        runs = [
            [draw[name, tag] for tag in tags]
            for draw in draws
            if all((name, tag) in draw for tag in tags)
        ]
        if runs:
            mean = 100 * np.mean(runs, axis=0)
            rows.append([name, *(f"{value:.2f}" for value in mean), f"{mean[0] - mean[1]:+.2f}"])
    rows.sort(key=lambda row: float(row[-1]))
    return ResultTable("Accuracy, %, mean over the draws", ["", *tags, "TAN: fCLL less LL"], rows)


EXPERIMENT = Experiment(
    name="c11-table3",
    paper="C11",
    where="Table 3",
    title="Structures by fCLL, aCLL and likelihood against each other",
    tasks=tasks,
    page=page,
    metrics=shared.METRICS,
    store=shared.STORE,
)
