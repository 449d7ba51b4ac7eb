"""P12 Table 1: accuracy with ML parameters."""

from __future__ import annotations

from collections.abc import Sequence

from discbayes.evaluation.result_blocks import Block
from discbayes.evaluation.result_store import Store
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import beside, how_many
from discbayes_papers.p12.shared import (
    COLUMNS,
    METRICS,
    PROTOCOL,
    STORE,
    STRUCTURES,
    TOLERANCE,
    USPS,
    annealing_table,
    best_accuracies,
    difference_table,
    other_usps,
    p12_figures,
    p12_tasks,
)

PUBLISHED = p12_figures("""
NB        83.73 89.87 87.10
TAN-CMI   91.28 92.86 91.90
TAN-HC-CR 92.63 92.08 93.07
TAN-HC-MM 93.15 93.43 95.40
TAN-SA-CR 92.66 93.52 94.07
TAN-SA-MM 93.30 93.26 95.46
""")
# The standard deviations beside them.
ERRORS = p12_figures("""
NB        0.37 0.63 0.61
TAN-CMI   0.28 0.54 0.50
TAN-HC-CR 0.26 0.56 0.46
TAN-HC-MM 0.25 0.52 0.38
TAN-SA-CR 0.26 0.51 0.43
TAN-SA-MM 0.25 0.52 0.38
""")
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


def page(store: Store) -> Sequence[Block]:
    """Our figures beside the published ones, the runs of annealing, usps, and what the text says of
    it.
    """
    ours = best_accuracies(store, "ML")
    title = "Accuracy in per cent with ML parameters; of annealing the best run by its score"
    return [
        *how_many(store, p12_tasks(False)),
        beside(title, ours, PUBLISHED, STRUCTURES, COLUMNS, TOLERANCE),
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

DEVIATIONS = """**spambase.** All six figures are met within 0.3 points, although P12's split is not known; from draw
to draw most of ours differ by two points.

**mnist14.** Ours are above P12's by 0.9 to 1.3 points, NB (+0.9) and TAN-CMI (+1.3) included, for which nothing is
searched; so the cause is not in the search but in the data. P12's images were made smaller "by a factor of two", it is
not said how; ours are means of 2 × 2 pixels. That they differ can be seen from Table 3: 5,159 parameters of naive
Bayes are 515 cut points, and MDLP finds 713 in ours with the same rows. How fine the cuts are is not it: with cut
points from 22,000 of the rows, which leaves 496, NB has 84.4 and TAN-CMI 92.5. All ten runs of annealing are above
P12's best, by the rate (93.5 to 93.9) and by the margin (94.4 to 94.6).

**usps.** The 2,007 test rows of this version are harder than its training rows. That explains what is missing to P13,
which cut the images in a way of its own (its intervals fit about 3,500 test rows): with a random third for test TAN-
CMI has 90.6, 91.9 and 91.4 in three draws (P13: 91.2), and 88.8 with the published split. The margin is far better
than the rate here: 92.7 (HC-MM) and 92.3 to 93.2 (ten runs of SA-MM) against 88.0 (HC-CR) and 89.8 to 91.0 (ten runs of
SA-CR). That order is P12's, on its other images.

**What the text says.** That the margin is better than the rate holds on both sets, and so does that HC-CR is worse
than TAN-CMI on spambase. Annealing is better than greedy search with the rate on spambase, by 0.8 points; on mnist14,
and with the margin, both are equal.

**Annealing.** What the score of a run says of its accuracy differs: on spambase the correlation over the ten runs of a
split is 0.55 on average with CR, and zero with MM. So the best SA-MM run by the score is about the median run. If P12
chose its best of ten by the test rows, which it does not say, it is to be compared with our largest."""

EXPERIMENT = Experiment(
    "p12-table1", "P12", "Table 1", "Structures by rate and margin, greedy and annealed, with ML parameters",
    p12_tasks, page, METRICS, STORE, PROTOCOL, DEVIATIONS,
)  # fmt: skip
