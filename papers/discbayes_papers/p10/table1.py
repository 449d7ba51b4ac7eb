"""P10 Table 1: the averages over 25 data sets, and handwritten digits."""

from __future__ import annotations

from discbayes.evaluation.result_blocks import Block, Text
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.experiment import Experiment, Figures, read_figures, row_names
from discbayes_papers.figures import beside_store, runs_text, table_page
from discbayes_papers.p10.shared import (
    LARGE,
    QUICK,
    STORE,
    TRAINED_STORE,
    accuracies,
    accuracies_of,
    random_orders,
    summary,
    tasks_of,
    trained_runs,
)
from discbayes_papers.p10.table7_crcl import by_iterations

# the last column is another data set, which cannot be had; of usps P10 has no figures
PUBLISHED = read_figures("p10/table1.csv")
COLUMNS = ("UCI", "mnist14", "usps", "USPS of 11,000")
DIGITS = ("NB", "TAN-CMI", "TAN-OMI-CR", "TAN-CR")
SLOW = ("TAN-SuperParent", "2-tree-SuperParent", "2-tree-OMI-CR")  # on so many features
TOLERANCE = 1.0


def tasks(quick: bool) -> list[Task]:
    """The digits; the 25 sets are those of p10-table7."""
    if quick:
        return tasks_of(QUICK[:1], ["NB", "TAN-CMI"])
    return [task for structures in (DIGITS, SLOW) for task in tasks_of(LARGE, structures)]


def ours(store: Store) -> Figures:
    """Averages over the 25 sets, and the digits."""
    found = accuracies_of(store, STORE) | accuracies(trained_runs(store)) | random_orders(store)
    return summary(found, row_names(PUBLISHED))


def stored(store: Store) -> list[Block]:
    """How many of the runs there are."""
    return [
        Text(
            f"Stored: {runs_text(store, tasks(False))} on digits; averages are from `p10-table7`"
            " and `p10-table8` (RO-CR)."
        )
    ]


EXPERIMENT = Experiment(
    name="p10-table1",
    paper="P10",
    where="Table 1",
    title="Averages over 25 data sets, and handwritten digits",
    tasks=tasks,
    page=table_page(
        PUBLISHED,
        ours,
        TOLERANCE,
        columns=COLUMNS,
        corner="classifier",
        stored=stored,
        more=lambda store, figures: [by_iterations(beside_store(store, TRAINED_STORE))],
    ),
)
