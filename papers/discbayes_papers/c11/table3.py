"""C11 Table 3: the Bayesian network classifiers against each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discbayes.evaluation.result_blocks import Block, ResultTable
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.statistics import wilcoxon
from discbayes.evaluation.tasks import Task
from discbayes_papers.c11 import shared
from discbayes_papers.c11.shared import ALL_ROWS, NETWORKS, VARIANTS
from discbayes_papers.experiment import Experiment

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
    pair = [f"{tag}{suffix}" for tag in pair]
    found = [shared.columns(shared.figures(store, seed=seed), pair) for seed in DRAWS]
    # (draws, 2, sets)
    full = np.array([both for both in found if len(both[0]) == len(shared.SETS)])
    if not len(full):
        return ["0", *["–"] * 4]
    z = [wilcoxon(*both).z for both in full]
    figures = [np.median(z), min(z), max(z), wilcoxon(*full.mean(axis=0)).z]
    return [str(len(full)), *(f"{figure:.2f}" for figure in figures)]


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


DEVIATIONS = (
    "**C11's result is not confirmed.** In the first draw TAN-fCLL is behind TAN-LL (Z = −1.95,"
    " published 2.13) and GHC2-fCLL behind GHC2-LL (−1.87, published 2.26). That draw is an unlucky"
    " one, but no draw of the 20 is near the paper: the median Z of TAN is −0.63 and the largest"
    " 0.43, and on accuracies that are averaged over the draws there is no difference (−0.32; GHC2"
    " 0.13). With cut points of all rows, which is what C11 had as far as one can tell, five of the"
    " nine published Z are within the range of the draws; the four of fCLL against the likelihood"
    " are not. GHC2-fCLL comes near to it there, with up to 1.78 against GHC2-LL, TAN-fCLL does not"
    " (median −0.18, largest 0.50 against TAN-LL).\n\nWhat was looked into, on six or eight draws"
    " with cut points of the training rows that are not stored; Z is that of averaged"
    " accuracies:\n\n- The score is that of the paper: tests compare it with Equation 27 from"
    " entropies. A full tree and a forest without edges of negative weight do equally well.\n-"
    " Breast with its sample number, a column of one value to which fCLL ties all others, is no"
    " better for fCLL than without.\n- The weights of the two terms: with the likelihood counted"
    " twice Z is 0.70, four times −0.27.\n- A slip of sign, as Equation 26 has one: with less"
    " interaction instead of more Z is −2.3, and with I(Xi;Xj) alone −2.5.\n- The opponent: Weka's"
    " default score is Bayesian, with 0.5 for every cell, and not the likelihood. It is better than"
    " the likelihood (2.2), so that fCLL is further behind (−1.8).\n- The score of smoothed tables"
    " (0.5 for every cell) in the place of relative frequencies: −0.5. Both terms as Bayesian"
    " scores: 0.1 against the likelihood, −1.3 against the Bayesian score.\n\n**The cause was not"
    " found.** The accuracies of the paper by set, which would tell, were on a web page that is not"
    " to be had.\n\nBy set fCLL gains up to one point on about half, and loses 1.2 to 3.5 points on"
    " segment, vote, lymphography, waveform-21 and vehicle. Segment, vote and waveform-21 have many"
    " features that repeat each other: there fCLL's tree gives up 71, 63 and 41 % of the dependence"
    " within the classes, Σ I(Xi;Xj|C) over its edges, that the tree of the likelihood holds"
    " (lymphography 5, vehicle 27 %). That alone is not the reason, as it gives up 49 % on iris,"
    " where it gains.\n\nWhat does agree: fCLL tends to be better than aCLL (1.74 on averaged"
    " accuracies, published 1.44; GHC2 1.32, published 1.49), networks by fCLL and TAN-LL-ELR"
    " hardly differ, and the interaction term alone is worse than the likelihood (−2.10). aCLL is"
    " further behind the likelihood than in the paper; with cut points of all rows the published Z"
    " are within the range of the draws. C11 does not say how it evaluates aCLL where a count is"
    " zero; here θ has 0.5 in every cell."
)

EXPERIMENT = Experiment(
    name="c11-table3",
    paper="C11",
    where="Table 3",
    title="Structures by fCLL, aCLL and likelihood against each other",
    tasks=tasks,
    page=page,
    metrics=shared.METRICS,
    store=shared.STORE,
    protocol=(
        shared.PROTOCOL
        + "\n\nThe paper has one draw of the folds; which one matters, so there are 20 here. The"
        " first is the table, the others show how much Z moves. They are done with cut points of"
        " the training rows, and with cut points of all rows, which is what a filter of Weka on a"
        " whole file gives. Two variants are not in the paper's tables: a forest that leaves out"
        " edges of negative weight, and the interaction term alone, of which footnote 2 says that"
        " it was poor."
    ),
    deviations=DEVIATIONS,
)
