"""C11 section 5: the total time of each classifier on the 25 sets."""

from __future__ import annotations

import math

from discbayes.engine.context import duration
from discbayes.evaluation.result_blocks import Block, ResultTable
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.c11 import shared
from discbayes_papers.experiment import Experiment

RECIPES = (*shared.NETWORKS, *shared.OTHERS)
MINUTE, HOUR = 60.0, 3600.0
FEW = (1.0, 3.0)
# Seconds for all 25 sets, from and to, as the text gives them: "most of the methods" took a few
# seconds.
PUBLISHED = dict.fromkeys(RECIPES, FEW) | {
    "TAN-aCLL-OFE": (2 * MINUTE, 3 * MINUTE),
    "SVM": (17 * MINUTE, 18 * MINUTE),
    "TAN-LL-ELR": (1 * HOUR, 2 * HOUR),
    "SVM2": (1 * HOUR, 2 * HOUR),
    "LogR": (18 * HOUR, 32 * HOUR),
    "SVMG": (18 * HOUR, 32 * HOUR),
}
BASE = "TAN-fCLL-OFE"


def tasks(quick: bool) -> list[Task]:
    """All classifiers on all sets."""
    return shared.tasks_of(shared.QUICK if quick else shared.BY_SIZE, RECIPES)


def totals(store: Store) -> dict[str, float]:
    """The seconds of each classifier, where all 25 sets have a time."""
    found = {(one.data, one.recipe): one.seconds for one in store if one.seed == 0}
    sums = {tag: sum(found.get((name, tag), math.nan) for name in shared.SETS) for tag in RECIPES}
    return {tag: total for tag, total in sums.items() if not math.isnan(total)}


def page(store: Store) -> list[Block]:
    """Total times beside the published ones, and how many times that of TAN-fCLL they are."""
    found = totals(store)
    rows = [[tag, *_cells(found, tag)] for tag in RECIPES]
    header = ["", "seconds", "published", f"× {BASE}", "× published", "largest set"]
    largest = {tag: _largest(store, tag) for tag in found}
    rows = [[*row, largest.get(row[0], "–")] for row in rows]
    return [*shared.state(store, RECIPES), ResultTable("Total time on the 25 sets", header, rows)]


def _cells(found: dict[str, float], tag: str) -> list[str]:
    low, high = PUBLISHED[tag]
    published = f"{duration(low)} to {duration(high)}"
    times = "" if PUBLISHED[tag] == FEW else f"{low / FEW[1]:.0f} to {high / FEW[0]:.0f}"
    ours = f"{found[tag]:.2f}" if tag in found else "–"
    ratio = f"{found[tag] / found[BASE]:.1f}" if tag in found and BASE in found else "–"
    return [ours, published, ratio, times]


def _largest(store: Store, tag: str) -> str:
    """The set that took longest, and its share of the total."""
    runs = [one for one in store.where(recipe=tag, seed=0) if one.data in shared.SETS]
    slow = max(runs, key=lambda one: one.seconds)
    return f"{slow.data}, {100 * slow.seconds / sum(one.seconds for one in runs):.0f} %"


EXPERIMENT = Experiment(
    name="c11-times",
    paper="C11",
    where="section 5, running times",
    title="The total time of each classifier on 25 data sets",
    tasks=tasks,
    page=page,
    metrics=shared.METRICS,
    store=shared.STORE,
)
