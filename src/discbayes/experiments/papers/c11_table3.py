"""C11 Table 3: the Bayesian network classifiers against each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discbayes.experiments.blocks import Block, Table
from discbayes.experiments.papers import _c11
from discbayes.experiments.papers._c11 import ALL_ROWS, NETWORKS, VARIANTS
from discbayes.experiments.papers.spec import Experiment
from discbayes.experiments.statistics import wilcoxon
from discbayes.experiments.store import Store
from discbayes.experiments.tasks import Task

TOLERANCE = 1.0  # of Z: other folds move it by as much
DRAWS = range(20)
# Z and one-sided p, the first of a pair being the better one where Z is positive.
PUBLISHED = {
    ("TAN-fCLL-OFE", "GHC2-fCLL-OFE"): (0.37, 0.36),
    ("TAN-fCLL-OFE", "TAN-aCLL-OFE"): (1.44, 0.07),
    ("TAN-fCLL-OFE", "GHC2-LL-OFE"): (2.13, 0.02),
    ("TAN-fCLL-OFE", "TAN-LL-OFE"): (2.13, 0.02),
    ("TAN-fCLL-OFE", "TAN-LL-ELR"): (0.31, 0.38),
    ("GHC2-fCLL-OFE", "TAN-aCLL-OFE"): (1.49, 0.07),
    ("GHC2-fCLL-OFE", "GHC2-LL-OFE"): (2.26, 0.01),
    ("GHC2-fCLL-OFE", "TAN-LL-OFE"): (2.21, 0.01),
    ("GHC2-fCLL-OFE", "TAN-LL-ELR"): (0.06, 0.48),
    ("TAN-aCLL-OFE", "GHC2-LL-OFE"): (0.04, 0.48),
    ("TAN-aCLL-OFE", "TAN-LL-OFE"): (-0.34, 0.37),
    ("TAN-aCLL-OFE", "TAN-LL-ELR"): (-1.31, 0.10),
}
DRAWN = (*(tag for tag in NETWORKS if tag.endswith("OFE")), *VARIANTS)
PAIRS = (*(pair for pair in PUBLISHED if "TAN-LL-ELR" not in pair), *((tag, "TAN-LL-OFE") for tag in VARIANTS))


def tasks(quick: bool) -> list[Task]:
    """The protocol of the paper first, then other draws of the folds, with cut points of training rows and of all."""
    data, draws = (_c11.QUICK, range(2)) if quick else (_c11.BY_SIZE, DRAWS)
    return _c11.tasks_of(data, NETWORKS) + _c11.tasks_of(data, DRAWN, draws, ("", ALL_ROWS))


def page(store: Store) -> list[Block]:
    """Z and p of each pair beside the published ones; how they move with the folds; the accuracies."""
    table = _c11.signed_ranks("Signed-rank tests over the 25 sets, one draw of folds", store, PUBLISHED, TOLERANCE)
    return [*_c11.state(store, NETWORKS), table, _draws(store), _means(store), _c11.accuracy_table(store, NETWORKS)]


def _draws(store: Store) -> Table:
    rows = [[suffix, _c11.pair_name(pair), *_moved(store, pair, suffix)] for suffix in ("", ALL_ROWS) for pair in PAIRS]
    named = [["all rows" if suffix else "training rows", *rest] for suffix, *rest in rows]
    note = "Z of means: the test on accuracies that are averaged over the draws."
    header = ["cut points of", "better – worse", "draws", "median Z", "least Z", "largest Z", "Z of means"]
    return Table("Other draws of the folds", header, named, note, 2)


def _moved(store: Store, pair: Sequence[str], suffix: str) -> list[str]:
    """The number of draws with all sets, the median and range of Z over them, and Z of the means."""
    pair = [f"{tag}{suffix}" for tag in pair]
    found = [_c11.columns(_c11.figures(store, seed=seed), pair) for seed in DRAWS]
    full = np.array([both for both in found if len(both[0]) == len(_c11.SETS)])  # (draws, 2, sets)
    if not len(full):
        return ["0", *["–"] * 4]
    z = [wilcoxon(*both).z for both in full]
    figures = [np.median(z), min(z), max(z), wilcoxon(*full.mean(axis=0)).z]
    return [str(len(full)), *(f"{figure:.2f}" for figure in figures)]


def _means(store: Store) -> Table:
    """By set, the accuracies that are averaged over the draws, where fCLL and likelihood differ most first."""
    tags = ("TAN-fCLL-OFE", "TAN-LL-OFE", "GHC2-fCLL-OFE", "GHC2-LL-OFE")
    draws = [_c11.figures(store, seed=seed) for seed in DRAWS]
    rows = []
    for name in _c11.SETS:
        runs = [[draw[name, tag] for tag in tags] for draw in draws if all((name, tag) in draw for tag in tags)]
        if runs:
            mean = 100 * np.mean(runs, axis=0)
            rows.append([name, *(f"{value:.2f}" for value in mean), f"{mean[0] - mean[1]:+.2f}"])
    rows.sort(key=lambda row: float(row[-1]))
    return Table("Accuracy, %, mean over the draws", ["", *tags, "TAN: fCLL less LL"], rows)


EXPERIMENT = Experiment(
    name="c11-table3",
    paper="C11",
    where="Table 3",
    title="Structures by fCLL, aCLL and likelihood against each other",
    tasks=tasks,
    page=page,
    metrics=_c11.METRICS,
    store=_c11.STORE,
    protocol=(
        _c11.PROTOCOL
        + "\n\nThe paper has one draw of the folds; which one matters, so there are 20 here. The first is the "
        "table, the others show how much Z moves. They are done with cut points of the training rows, and with cut "
        "points of all rows, which is what a filter of Weka on a whole file gives. Two variants are not in the "
        "paper's tables: a forest that leaves out edges of negative weight, and the interaction term alone, of which "
        "footnote 2 says that it was poor."
    ),
    deviations="",
)
