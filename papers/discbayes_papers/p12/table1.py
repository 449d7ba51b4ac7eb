"""P12 Table 1: accuracy with ML parameters."""

from __future__ import annotations

from discbayes.evaluation.result_blocks import Block
from discbayes.evaluation.result_store import Store
from discbayes_papers.experiment import Experiment, Figures, read_figures
from discbayes_papers.figures import how_many, table_page
from discbayes_papers.p12.shared import (
    COLUMNS,
    METRICS,
    STORE,
    TOLERANCE,
    USPS,
    annealing_table,
    best_accuracies,
    difference_table,
    other_usps,
    p12_tasks,
)

PUBLISHED = read_figures("p12/table1.csv")
# The standard deviations beside them.
ERRORS = read_figures("p12/table1_errors.csv")
P13_USPS = {("TAN-CMI", USPS): 91.20}
PAIRS = {
    "margin and not rate, HC": ("TAN-HC-MM-ML", "TAN-HC-CR-ML"),
    "margin and not rate, SA": ("TAN-SA-MM-ML", "TAN-SA-CR-ML"),
    "SA and not HC, rate": ("TAN-SA-CR-ML", "TAN-HC-CR-ML"),
    "SA and not HC, margin": ("TAN-SA-MM-ML", "TAN-HC-MM-ML"),
    "HC-CR and not TAN-CMI": ("TAN-HC-CR-ML", "TAN-CMI-ML"),
    "HC-MM and not TAN-CMI": ("TAN-HC-MM-ML", "TAN-CMI-ML"),
    "TAN-CMI and not NB": ("TAN-CMI-ML", "NB-ML"),
}


def more(store: Store, ours: Figures) -> list[Block]:
    """The runs of annealing, usps, and what the text says of it."""
    return [
        annealing_table(store, "ML", PUBLISHED),
        other_usps("ML", ours, P13_USPS, PUBLISHED),
        difference_table(
            store, "What is gained, in points (of annealing the median run)", PAIRS, CLAIMS
        ),
    ]


CLAIMS = (
    "P12 says that the margin is as good as the classification rate or better on all its data, that"
    " annealing is mostly better than greedy search, and that greedy search by the rate is worse"
    " than TAN-CMI on spambase."
)


EXPERIMENT = Experiment(
    name="p12-table1",
    paper="P12",
    where="Table 1",
    title="Structures by rate and margin, greedy and annealed, with ML parameters",
    tasks=p12_tasks,
    page=table_page(
        PUBLISHED,
        lambda store: best_accuracies(store, "ML"),
        TOLERANCE,
        title="Accuracy in per cent with ML parameters; of annealing the best run by its score",
        columns=COLUMNS,
        stored=lambda store: how_many(store, p12_tasks(False)),
        more=more,
    ),
    metrics=METRICS,
    store=STORE,
)
