"""P10 Table 11: three ways to put the features in an order, the average over 25 data sets and handwritten digits."""

from __future__ import annotations

import math

from discbayes.experiments.blocks import Block, Table, Text
from discbayes.experiments.metrics import binomial_error
from discbayes.experiments.papers import p10_table13
from discbayes.experiments.papers._p10 import LARGE, Figures, average, percent, read_figures, runs_text, tasks_of
from discbayes.experiments.papers.p10_table13 import OTHERS, RECIPES
from discbayes.experiments.papers.spec import Experiment, beside
from discbayes.experiments.store import Store
from discbayes.experiments.tasks import Task

TOLERANCE = 1.0
COLUMNS = ("UCI", "mnist14")
PUBLISHED = read_figures(
    """
TAN-OMI-CR-ML   85.11 92.01
TAN-OMISP-CR-ML 85.04 92.10
TAN-OCR-CR-ML   84.94 91.94
""",
    COLUMNS,
)
# USPS as P10 has it, with 11,000 samples: another data set than ours, so that nothing is compared.
OTHER_USPS = {"TAN-OMI-CR-ML": 92.40, "TAN-OMISP-CR-ML": 92.30, "TAN-OCR-CR-ML": 93.06}
N_TEST = {"mnist14": 10_000, "usps": 2007}


def tasks(quick: bool) -> list[Task]:
    """The digits, after the 25 sets of p10-table13."""
    return p10_table13.tasks(quick) + tasks_of(() if quick else LARGE, OTHERS, ("ML",))


def page(store: Store) -> list[Block]:
    """Ours beside the published figures; USPS apart."""
    found = p10_table13.figures_of(store)
    ours: Figures = {(tag, "UCI"): average(found, tag) for tag in RECIPES}
    ours |= {(tag, "mnist14"): found.get(("mnist14", tag), math.nan) for tag in RECIPES}
    there = Text(f"Stored: {runs_text(store, tasks(False))}; those of OMI-CR are in `p10-table7` and `p10-table1`.")
    return [
        there,
        beside("Accuracy (%)", ours, PUBLISHED, RECIPES, COLUMNS, TOLERANCE, corner="classifier"),
        usps(found),
    ]


def usps(found: Figures) -> Table:
    """Our version of USPS, and P10's figures of another."""
    rows = []
    for tag in RECIPES:
        mine = found.get(("usps", tag), math.nan)
        error = math.nan if math.isnan(mine) else 100 * binomial_error(mine / 100, N_TEST["usps"])
        rows.append([tag, f"{percent(mine)} ± {percent(error)}", percent(OTHER_USPS[tag])])
    head = ("classifier", "9,298 samples (ours)", "11,000 samples (P10)")
    return Table("USPS, two different data sets: accuracy (%)", head, rows)


PROTOCOL = f"""{p10_table13.PROTOCOL} mnist14 and usps have their usual training and test rows. TIMIT and SurfInsp
cannot be had, and USPS of P10 is a version with 11,000 samples (3,000 for test); ours has 9,298 (2,007 for test)."""
DEVIATIONS = ""

EXPERIMENT = Experiment(
    "p10-table11", "P10", "Table 11", "Three ways to order the features: averages, and handwritten digits",
    tasks, page, store="p10-table13", protocol=PROTOCOL, deviations=DEVIATIONS,
)  # fmt: skip
