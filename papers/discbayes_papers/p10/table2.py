"""P10 Table 2: one-sided paired t-tests between the classifiers with ML parameters, over 25 data
sets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from discbayes.evaluation.result_blocks import Block, ResultTable, Text
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.statistics import paired_t
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import Figures, beside_store, read_figures
from discbayes_papers.p10 import table7, table8
from discbayes_papers.p10.shared import (
    FRIEDMAN,
    RANDOM,
    STORE,
    STRUCTURES,
    TRAINED_STORE,
    accuracies,
    average,
    random_orders,
)

ORDERS = f"{RANDOM} (max)"
RECIPES = ("NB-ML", "TAN-CMI-ML", ORDERS, *(f"{structure}-ML" for structure in STRUCTURES[2:]))
ROWS, COLUMNS = RECIPES[:-1], RECIPES[2:]
LEVEL = 0.05
# A minus where the arrow points to the classifier of the row.
PUBLISHED = read_figures(
    """
NB-ML                 0.0300 0.0232 0.0242 0.0203 0.0154  0.0103 0.0316 0.0317
TAN-CMI-ML             0.120 -0.122 0.0154 0.0094 0.0141 -0.0705 0.0271 0.0159
TAN-RO-CR-ML_(max)         - -0.197  0.144 0.0945 0.0446  -0.131  0.148  0.140
TAN-SuperParent-ML         -      -  0.136 0.0848 0.0917  -0.189  0.149  0.139
TAN-OMI-CR-ML              -      -      -  0.182  0.190  -0.194  0.197  0.196
TAN-OMI-CRCL-ML            -      -      -      -  0.197  -0.182  0.196  0.197
TAN-CR-ML                  -      -      -      -      -  -0.178  0.194  0.197
2-tree-SuperParent-ML      -      -      -      -      -       -  0.195  0.192
2-tree-OMI-CR-ML           -      -      -      -      -       -      -  0.195
""",
    COLUMNS,
)


def published_accuracies() -> Figures:
    """Those of Table 7, and of Table 8 for random orders."""
    return table7.PUBLISHED | {
        (data, ORDERS): table8.PUBLISHED[data, "RO-CR max"] for data in FRIEDMAN
    }


def page(store: Store) -> Sequence[Block]:
    """Our tests, and the same tests on the published accuracies beside what P10 prints."""
    ours = accuracies(store) | accuracies(beside_store(store, TRAINED_STORE)) | random_orders(store)
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


PROTOCOL = """\
Accuracies with ML parameters from the runs of `p10-table7`, `p10-table7-crcl` and `p10-table8` (RO-CR: of 1,000 \
random orders the one that is best on the training rows). Each set counts once."""


DEVIATIONS = """\
What P10 prints as the significance is half the density of Student's t, f(t) / 2, and not the tail 1 − F(t): 42 of \
its 44 figures come out so from its own Tables 7 and 8 (not SuperParent against TAN-CR and against \
2-tree-SuperParent). Near 0.03 the two are almost equal, and what is significant at 0.05 is the same for all pairs; \
but the printed figures never exceed f(0) / 2 = 0.197, where p is 0.5. Its arrows follow the weighted averages and \
not the mean differences that are tested: nine of them point to the classifier with the lower mean.

As in P10, the structures of SuperParent, CR, OMI-CR and random orders are significantly better than NB, and OMI-CR \
and CR than TAN-CMI; CR is not significantly better than OMI-CR. Others than in P10: OMI-CRCL is worse than all but \
NB and TAN-CMI, as its search trains more (see `p10-table7-crcl`); 2-tree-OMI-CR is just not significant against NB \
(0.055; in P10 0.032) and not against TAN-CMI; 2-tree-CR is significantly better than SuperParent, OMI-CR and both \
other 2-trees. The mean differences behind these are of one point or less, which other folds may change (see \
`p10-table7`)."""


EXPERIMENT = Experiment(
    name="p10-table2",
    paper="P10",
    where="Table 2",
    title="Which classifiers differ: paired t-tests over 25 data sets",
    tasks=table7.tasks,
    page=page,
    store=STORE,
    protocol=PROTOCOL,
    deviations=DEVIATIONS,
)
