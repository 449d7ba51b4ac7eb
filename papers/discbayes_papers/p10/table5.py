"""P10 Table 5: parents chosen again until nothing changes (OMI-CR-Ext)."""

from __future__ import annotations

from discbayes.evaluation.result_blocks import Block, Text
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.experiment import Experiment, Figures, read_figures, row_names
from discbayes_papers.figures import runs_text, table_page
from discbayes_papers.p10.shared import (
    BY_SIZE,
    LARGE,
    QUICK,
    STORE,
    accuracies_of,
    summary,
    tasks_of,
)

PUBLISHED = read_figures("p10/table5.csv")
COLUMNS = ("UCI", "mnist14", "usps")
STRUCTURE = "TAN-OMI-CR-Ext"
TOLERANCE = 1.0


def tasks(quick: bool) -> list[Task]:
    """The extended search on all sets."""
    return tasks_of(QUICK if quick else (*BY_SIZE, *LARGE), [STRUCTURE])


def ours(store: Store) -> Figures:
    """Averages over the 25 sets, and the digits."""
    return summary(accuracies_of(store, STORE, "p10-table1"), row_names(PUBLISHED))


def stored(store: Store) -> list[Block]:
    """How many of the runs there are."""
    return [
        Text(
            f"Stored: {runs_text(store, tasks(False))}; those of OMI-CR are in `p10-table7` and"
            " `p10-table1`."
        )
    ]


EXPERIMENT = Experiment(
    name="p10-table5",
    paper="P10",
    where="Table 5",
    title="Parents of an order, chosen again until nothing changes",
    tasks=tasks,
    page=table_page(
        PUBLISHED, ours, TOLERANCE, columns=COLUMNS, corner="classifier", stored=stored
    ),
)
