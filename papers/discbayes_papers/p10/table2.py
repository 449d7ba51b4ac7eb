"""P10 Table 2: one-sided paired t-tests between the classifiers with ML parameters, over 25 data
sets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from discbayes.evaluation.result_blocks import Block, ResultTable, Text
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.statistics import paired_t
from discbayes_papers.experiment import Experiment, Figures, read_figures
from discbayes_papers.p10 import table7, table8
from discbayes_papers.p10.shared import (
    FRIEDMAN,
    RANDOM,
    STORE,
    STRUCTURES,
    accuracies,
    average,
    random_orders,
    trained_runs,
)

ORDERS = f"{RANDOM} (max)"
RECIPES = ("NB-ML", "TAN-CMI-ML", ORDERS, *(f"{structure}-ML" for structure in STRUCTURES[2:]))
ROWS, COLUMNS = RECIPES[:-1], RECIPES[2:]
LEVEL = 0.05
# A minus where the arrow points to the classifier of the row.
PUBLISHED = read_figures("p10/table2.csv")


def published_accuracies() -> Figures:
    """Those of Table 7, and of Table 8 for random orders."""
    return table7.PUBLISHED | {
        (data, ORDERS): table8.PUBLISHED[data, "RO-CR max"] for data in FRIEDMAN
    }


def page(store: Store) -> Sequence[Block]:
    """Our tests, and the same tests on the published accuracies beside what P10 prints."""
    ours = accuracies(store) | accuracies(trained_runs(store)) | random_orders(store)
    note = (
        "⇑, ⇐: significant at the level of 0.05; ↑: the classifier of the column is better; ←: that"
        " of the row."
    )
    return [
        Text(
            f"p of a one-sided paired t-test over the {len(FRIEDMAN)} sets, of the better"
            " classifier against the other."
        ),
        ResultTable("From our accuracies", ["", *COLUMNS], comparisons(ours), note),
        ResultTable(
            "From the published accuracies (as P10 prints it)",
            ["", *COLUMNS],
            comparisons(published_accuracies(), True),
            note,
        ),
    ]


def comparisons(figures: Figures, printed: bool = False) -> list[list[str]]:
    """One line for each classifier, compared with those after it."""
    return [[row, *(_cell(figures, row, column, printed) for column in COLUMNS)] for row in ROWS]


def _cell(figures: Figures, row: str, column: str, printed: bool) -> str:
    if RECIPES.index(column) <= RECIPES.index(row):
        return ""
    figure = PUBLISHED.get((row, column))
    beside = f" ({'←' if figure < 0 else '↑'} {abs(figure):g})" if printed and figure else ""
    if math.isnan(average(figures, row) + average(figures, column)):
        return f"–{beside}"
    return comparison(figures, row, column) + beside


def comparison(figures: Figures, row: str, column: str) -> str:
    """An arrow to the better one, and p."""
    found = paired_t(*([figures[data, tag] for data in FRIEDMAN] for tag in (column, row)))
    p = min(found.p, 1.0 - found.p)
    arrow = ("⇑" if p < LEVEL else "↑") if found.difference > 0 else ("⇐" if p < LEVEL else "←")
    return f"{arrow} {p:.4f}"


EXPERIMENT = Experiment(
    name="p10-table2",
    paper="P10",
    where="Table 2",
    title="Which classifiers differ: paired t-tests over 25 data sets",
    tasks=table7.tasks,
    page=page,
    store=STORE,
)
