"""Which recipe the default of version 0.1 is: the best mean rank over the distinct data sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from discbayes.evaluation.result_blocks import Block, ResultTable, Text
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.statistics import geometric_mean
from discbayes_papers.experiment import Experiment
from discbayes_papers.ours import manifest
from discbayes_papers.ours.manifest import MISSING, RECIPES

# a fit that takes longer than that of gradient boosting, in the geometric mean, is too slow
PATIENCE = "hgb"
FIRST = "TAN-MAP"  # what the default was before there were results
COMPLETE, WITH_GAPS = ("accuracy", "log_loss"), (f"accuracy@{MISSING}", f"log_loss@{MISSING}")


def page(store: Store) -> list[Block]:
    """The ranks, and what is chosen if one data set is left out."""
    names = manifest.complete_sets(store, (*RECIPES, PATIENCE))
    if len(names) < 2:
        return [Text("There are no data sets yet on which all recipes were run.")]
    return [*_ranked(store, names), *_left_out(store, names), _sets(store, names)]


def scores(store: Store, names: Sequence[str]) -> np.ndarray:
    """The mean of the ranks in accuracy and in log loss on each data set; what is too slow has
    none.
    """
    mean = np.mean([manifest.ranks(store, metric, names, RECIPES) for metric in COMPLETE], axis=0)
    return np.where(costs(store, names) <= 1.0, mean, np.inf)


def costs(store: Store, names: Sequence[str]) -> np.ndarray:
    """The time of each recipe's fits as a share of that of gradient boosting, in the geometric
    mean.
    """
    seconds = manifest.figures(store, "fit_seconds", names, (*RECIPES, PATIENCE))
    return np.array([geometric_mean(column) for column in (seconds[:, :-1] / seconds[:, -1:]).T])


def _ranked(store: Store, names: Sequence[str]) -> list[Block]:
    means = {
        metric: manifest.figures(store, metric, names, RECIPES).mean(axis=0)
        for metric in COMPLETE + WITH_GAPS
    }
    places = {
        metric: manifest.ranks(store, metric, names, RECIPES).mean(axis=0)
        for metric in COMPLETE + WITH_GAPS
    }
    both, cost = scores(store, names).mean(axis=0), costs(store, names)
    rows = []
    for at in np.argsort(both, kind="stable"):
        share = f"{both[at]:.2f}" if np.isfinite(both[at]) else "too slow"
        figures = [
            f"{100 * means[m][at]:.2f}" if m[0] == "a" else f"{means[m][at]:.4f}"
            for m in COMPLETE + WITH_GAPS
        ]
        ranks = [f"{places[metric][at]:.2f}" for metric in COMPLETE + WITH_GAPS]
        rows.append(
            [
                RECIPES[at],
                share,
                *(text for pair in zip(figures, ranks, strict=True) for text in pair),
                f"{100 * cost[at]:.1f}",
            ]
        )
    header = ["recipe", "mean rank", "accuracy", "rank", "log loss", "rank"]
    header += [
        f"accuracy, {MISSING} % missing",
        "rank",
        f"log loss, {MISSING} % missing",
        "rank",
        "time, %",
    ]
    note = (
        f"Means over {len(names)} data sets, 5 folds each.{manifest.lacking(names)} The mean rank"
        " is that of the ranks in accuracy and log loss on complete test rows. Time: that of a fit"
        " in per cent of HistGradientBoosting's, geometric mean; above 100 a recipe could not"
        " become the default. Runs were made at different loads of the machine, so only its order"
        " of magnitude counts."
    )
    return [ResultTable("Recipes by their mean rank", header, rows, note)]


def _left_out(store: Store, names: Sequence[str]) -> list[Block]:
    """The choice made without a data set, judged on it."""
    table = scores(store, names)
    without = [int(np.delete(table, at, axis=0).mean(axis=0).argmin()) for at in range(len(names))]
    got = float(np.mean([table[at, chosen] for at, chosen in enumerate(without)]))
    winner, chosen = int(table.mean(axis=0).argmin()), Counter(RECIPES[at] for at in without)
    listed = ", ".join(f"{tag} ({n} times)" for tag, n in chosen.most_common())
    return [
        Text(
            f"Over all data sets the best is **{RECIPES[winner]}** (mean rank"
            f" {table.mean(axis=0)[winner]:.2f} of {len(RECIPES)}). Chosen with one data set left"
            f" out: {listed}. Judged on the set that was left out, this way to choose has a mean"
            f" rank of **{got:.2f}**; {FIRST} has {table[:, RECIPES.index(FIRST)].mean():.2f}."
        )
    ]


def _sets(store: Store, names: Sequence[str]) -> ResultTable:
    """The winner beside what was the default, set by set."""
    winner = RECIPES[int(scores(store, names).mean(axis=0).argmin())]
    pair = (FIRST, winner)
    accuracy, loss = (manifest.figures(store, metric, names, pair) for metric in COMPLETE)
    rows = [
        [
            name,
            *(f"{100 * value:.2f}" for value in accuracy[at]),
            *(f"{value:.4f}" for value in loss[at]),
        ]
        for at, name in enumerate(names)
    ]
    return ResultTable(
        "Data set by data set",
        ["data", *(f"{tag}, {what}" for what in COMPLETE for tag in pair)],
        rows,
    )


EXPERIMENT = Experiment(
    name="default",
    paper="ours",
    where="",
    title="Recipes compared: how the default of version 0.1 was chosen",
    tasks=lambda quick: manifest.tasks((*RECIPES, PATIENCE), quick),
    page=page,
    metrics=manifest.METRICS,
    store=manifest.STORE,
)
