"""P10 Table 11: three orders of the features, averages over 25 sets and handwritten digits."""

from __future__ import annotations

import math

from discbayes.evaluation.metrics import binomial_error
from discbayes.evaluation.result_blocks import Block, ResultTable, Text
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.experiment import Experiment, Figures, read_figures
from discbayes_papers.figures import figure_text, runs_text, table_page
from discbayes_papers.p10 import table13
from discbayes_papers.p10.shared import LARGE, STORE, accuracies_of, summary, tasks_of
from discbayes_papers.p10.table13 import OTHERS, RECIPES

TOLERANCE = 1.0
PUBLISHED = read_figures("p10/table11.csv")
# USPS as P10 has it, with 11,000 samples: another data set than ours, so that nothing is compared.
OTHER_USPS = {"TAN-OMI-CR-ML": 92.40, "TAN-OMISP-CR-ML": 92.30, "TAN-OCR-CR-ML": 93.06}
N_TEST = {"mnist14": 10_000, "usps": 2007}


def tasks(quick: bool) -> list[Task]:
    """The digits, after the 25 sets of p10-table13."""
    return table13.tasks(quick) + tasks_of(() if quick else LARGE, OTHERS, ("ML",))


def ours(store: Store) -> Figures:
    """Averages over the 25 sets, and the digits."""
    return summary(accuracies_of(store, STORE, "p10-table1"), RECIPES)


def stored(store: Store) -> list[Block]:
    """How many of the runs there are."""
    return [
        Text(
            f"Stored: {runs_text(store, tasks(False))}; those of OMI-CR are in `p10-table7` and"
            " `p10-table1`."
        )
    ]


def usps(figures: Figures) -> ResultTable:
    """Our version of USPS, and P10's figures of another."""
    rows = []
    for tag in RECIPES:
        mine = figures[tag, "usps"]
        error = math.nan if math.isnan(mine) else 100 * binomial_error(mine / 100, N_TEST["usps"])
        rows.append(
            [tag, f"{figure_text(mine)} ± {figure_text(error)}", figure_text(OTHER_USPS[tag])]
        )
    head = ("classifier", "9,298 samples (ours)", "11,000 samples (P10)")
    return ResultTable("USPS, two different data sets: accuracy (%)", head, rows)


EXPERIMENT = Experiment(
    name="p10-table11",
    paper="P10",
    where="Table 11",
    title="Three ways to order the features: averages, and handwritten digits",
    tasks=tasks,
    page=table_page(
        PUBLISHED,
        ours,
        TOLERANCE,
        corner="classifier",
        stored=stored,
        more=lambda store, figures: [usps(figures)],
    ),
    store="p10-table13",
)
