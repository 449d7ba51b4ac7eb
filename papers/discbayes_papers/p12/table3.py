"""P12 Table 3: how many numbers the classifiers hold."""

from __future__ import annotations

import math
from collections.abc import Sequence

from discbayes.evaluation.result_blocks import Block, ResultTable
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.experiment import Experiment, read_figures
from discbayes_papers.figures import how_many
from discbayes_papers.p12.shared import (
    METRICS,
    MNIST,
    OTHER_USPS,
    SPAM,
    STORE,
    STRUCTURES,
    USPS,
    p12_tasks,
    runs_of,
    store_sets,
)
from discbayes_papers.p12.svm import SVM, svm_tasks

VECTORS, MACHINE, BAYES, TREE = "support vectors", "SVM", "NB", "best TAN"
COLUMNS = (VECTORS, MACHINE, BAYES, TREE)
# DCMall, the fourth line, cannot be had.
PUBLISHED = read_figures("p12/table3.csv")
N_FEATURES = {MNIST: 196, OTHER_USPS: 256, SPAM: 57}
N_CLASSES = {MNIST: 10, OTHER_USPS: 10, SPAM: 2}
BEST = "TAN-SA-MM-MM"  # the best network of P12's Table 2 on these data


def tasks(quick: bool) -> list[Task]:
    """The runs of Table 1, and the machines."""
    return [*p12_tasks(quick), *svm_tasks(quick)]


def page(store: Store) -> Sequence[Block]:
    """Sizes beside the published ones, and those of every structure."""
    return [*how_many(store, tasks(False)), _sizes(store), _ratios(store), _structures(store)]


def ours_of(store: Store, name: str) -> dict[str, float]:
    """The sizes of a data set, means over the splits; of annealing those of the best run by the
    score.
    """
    return {
        VECTORS: runs_of(store, "support_vectors", name, SVM).best,
        MACHINE: runs_of(store, "parameters", name, SVM).best,
        BAYES: runs_of(store, "parameters", name, "NB-ML").best,
        TREE: runs_of(store, "parameters", name, BEST).best,
    }


def _sizes(store: Store) -> ResultTable:
    rows = []
    for name in store_sets(store):
        ours, theirs = ours_of(store, name), OTHER_USPS if name == USPS else name
        rows.append(
            [
                name,
                *(
                    f"{_number(ours[c])} ({_number(PUBLISHED.get((theirs, c), math.nan))})"
                    for c in COLUMNS
                ),
            ]
        )
    note = "Ours (published). Of usps the published figures are those of the 11,000 other images."
    return ResultTable("Support vectors, and the number of parameters", ["", *COLUMNS], rows, note)


def _ratios(store: Store) -> ResultTable:
    rows = []
    for name in store_sets(store):
        ours, theirs = ours_of(store, name), OTHER_USPS if name == USPS else name
        published = PUBLISHED.get((theirs, MACHINE), math.nan) / PUBLISHED.get(
            (theirs, TREE), math.nan
        )
        rows.append([name, _number(ours[MACHINE] / ours[TREE]), _number(published)])
    return ResultTable(
        "The parameters of the SVM over those of the network", ["", "ours", "published"], rows
    )


def _structures(store: Store) -> ResultTable:
    names = store_sets(store)
    sizes = [
        [
            structure,
            *(
                _number(runs_of(store, "parameters", name, f"{structure}-ML").best)
                for name in names
            ),
        ]
        for structure in STRUCTURES
    ]
    return ResultTable("Parameters of each structure", ["", *names], sizes)


def _number(value: float) -> str:
    """A count for people.

    >>> _number(5159.4), _number(float("nan"))
    ('5,159', '–')
    """
    return "–" if math.isnan(value) else f"{value:,.0f}"


EXPERIMENT = Experiment(
    name="p12-table3",
    paper="P12",
    where="Table 3",
    title="Model complexity: naive Bayes, TAN and SVM",
    tasks=tasks,
    page=page,
    metrics=METRICS,
    store=STORE,
)
