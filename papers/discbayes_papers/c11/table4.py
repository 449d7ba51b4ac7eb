"""C11 Table 4: networks by aCLL and fCLL against trees, nearest neighbours, support vector
machines, regression.
"""

from __future__ import annotations

from discbayes.evaluation.result_blocks import Block
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.c11 import shared, weka
from discbayes_papers.experiment import Experiment

TOLERANCE = 1.0  # of Z: other folds move it by as much
# Z and p; 0 is "<0.01".
PUBLISHED = shared.read_pairs("c11/table4.csv")
RECIPES = (*shared.PROPOSED, *shared.OTHERS)


def tasks(quick: bool) -> list[Task]:
    """All classifiers on all sets, then with cut points of all rows."""
    data = shared.QUICK if quick else shared.BY_SIZE
    return [
        task
        for cuts in ("", shared.ALL_ROWS)
        for task in shared.tasks_of(data, RECIPES, suffixes=(cuts,))
    ]


def page(store: Store) -> list[Block]:
    """Z and p of each pair beside the published ones, and the accuracies."""
    tests = shared.signed_ranks(store, PUBLISHED, TOLERANCE)
    j48 = weka.table("c11/weka_j48.csv", weka.PAIRS_J48, "Weka 3.6.14 with J48, its C4.5")
    return [*shared.state(store, RECIPES), *tests, j48, shared.accuracy_table(store, RECIPES)]


EXPERIMENT = Experiment(
    name="c11-table4",
    paper="C11",
    where="Table 4",
    title="Networks by aCLL and fCLL against other classifiers",
    tasks=tasks,
    page=page,
    metrics=shared.METRICS,
    store=shared.STORE,
)
