"""P10 Table 5: parents chosen again until nothing changes (OMI-CR-Ext)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from discbayes.evaluation.result_blocks import Block, Text
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import (
    Figures,
    beside,
    beside_store,
    read_figures,
    runs_text,
)
from discbayes_papers.p10.shared import (
    BY_SIZE,
    LARGE,
    QUICK,
    STORE,
    accuracies,
    average,
    tasks_of,
)

COLUMNS = ("UCI", "mnist14", "usps")
PUBLISHED = read_figures(
    """
TAN-OMI-CR-ML     85.11 92.01 -
TAN-OMI-CR-CL     85.82 93.39 -
TAN-OMI-CR-Ext-ML 85.16 92.20 -
TAN-OMI-CR-Ext-CL 85.65 93.62 -
""",
    COLUMNS,
)
RECIPES = tuple(dict.fromkeys(tag for tag, _ in PUBLISHED))
STRUCTURE = "TAN-OMI-CR-Ext"
TOLERANCE = 1.0


def tasks(quick: bool) -> list[Task]:
    """The extended search on all sets."""
    return tasks_of(QUICK if quick else (*BY_SIZE, *LARGE), [STRUCTURE])


def page(store: Store) -> Sequence[Block]:
    """Ours beside the published figures."""
    figures = accuracies(store)
    for other in (STORE, "p10-table1"):
        figures |= accuracies(beside_store(store, other))
    ours: Figures = {(tag, "UCI"): average(figures, tag) for tag in RECIPES}
    ours |= {(tag, data): figures.get((data, tag), math.nan) for tag in RECIPES for data in LARGE}
    there = Text(
        f"Stored: {runs_text(store, tasks(False))}; those of OMI-CR are in `p10-table7` and"
        " `p10-table1`."
    )
    return [
        there,
        beside("Accuracy (%)", ours, PUBLISHED, RECIPES, COLUMNS, TOLERANCE, corner="classifier"),
    ]


PROTOCOL = """\
As `p10-table7` and `p10-table1`; Ext: given the parents of all other features, each feature chooses again, none \
being a choice, until nothing changes. The order is found once. usps is not the data set of P10."""


DEVIATIONS = """\
Choosing again changes the average by −0.07 points with ML and −0.14 with CL parameters, in P10 by 0.05 and −0.17: it \
does not pay here either. On mnist14 all columns are above P10's, see `p10-table1`."""


EXPERIMENT = Experiment(
    name="p10-table5",
    paper="P10",
    where="Table 5",
    title="Parents of an order, chosen again until nothing changes",
    tasks=tasks,
    page=page,
    protocol=PROTOCOL,
    deviations=DEVIATIONS,
)
