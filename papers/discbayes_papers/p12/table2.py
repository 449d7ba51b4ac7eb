"""P12 Table 2: accuracy with MM parameters, and a support vector machine."""

from __future__ import annotations

from collections.abc import Sequence

from discbayes.evaluation.result_blocks import Block
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import beside, how_many
from discbayes_papers.p12.shared import (
    COLUMNS,
    EARLY,
    METRICS,
    PROTOCOL,
    STORE,
    STRUCTURES,
    TOLERANCE,
    USPS,
    accuracy,
    annealing_table,
    best_accuracies,
    difference_table,
    other_usps,
    p12_figures,
    p12_tasks,
)
from discbayes_papers.p12.svm import SVM, SVM_PROTOCOL, svm_tasks

PUBLISHED = p12_figures("""
NB        91.73 94.39 94.80
TAN-CMI   94.13 93.91 95.50
TAN-HC-CR 94.83 93.56 96.27
TAN-HC-MM 95.20 94.21 96.23
TAN-SA-CR 94.82 94.26 96.10
TAN-SA-MM 95.25 94.47 96.40
SVM       96.40 94.57 97.86
""")
# The standard deviations beside them.
ERRORS = p12_figures("""
NB        0.28 0.48 0.41
TAN-CMI   0.24 0.50 0.38
TAN-HC-CR 0.22 0.51 0.35
TAN-HC-MM 0.21 0.49 0.35
TAN-SA-CR 0.22 0.49 0.35
TAN-SA-MM 0.21 0.48 0.35
SVM       0.19 0.47 0.26
""")
P13_USPS = {("TAN-CMI", USPS): 95.98, (SVM, USPS): 91.80}
GAINS = {structure: (f"{structure}-MM", f"{structure}-ML") for structure in STRUCTURES}


def tasks(quick: bool) -> list[Task]:
    """The runs of Table 1, which learn both kinds of parameters, and the machines."""
    return [*p12_tasks(quick), *svm_tasks(quick)]


def page(store: Store) -> Sequence[Block]:
    """Our figures beside the published ones, the runs of annealing, usps, and what MM parameters
    gain.
    """
    ours = best_accuracies(store, "MM") | {
        (SVM, name): accuracy(store, name, SVM).best for name in (*COLUMNS, USPS)
    }
    title = "Accuracy in per cent with MM parameters; of annealing the best run by its score"
    return [
        *how_many(store, tasks(False)),
        beside(title, ours, PUBLISHED, (*STRUCTURES, SVM), COLUMNS, TOLERANCE),
        annealing_table(store, "MM", PUBLISHED),
        other_usps("MM", ours, P13_USPS, PUBLISHED),
        difference_table(
            store,
            "MM parameters less ML parameters, in points (of annealing the median run)",
            GAINS,
        ),
        beside(
            EARLY_TITLE, best_accuracies(store, EARLY), PUBLISHED, STRUCTURES, COLUMNS, TOLERANCE
        ),
    ]


EARLY_TITLE = (
    "The same with fits that end after the number of iterations that does best on five folds of the"
    " training rows"
)

TABLE_PROTOCOL = f"""{PROTOCOL}

MM parameters: normalised tables, begun at the ML estimates, until an iteration of L-BFGS raises the mean by less than
1e-6; the hinge is rounded off by κ = 0.5, P12's h. Their λ is one of the same seven values, chosen by the rate on five
folds of the training rows, or of the same parts of them: once for naive Bayes, and once for all trees, with TAN-CMI.

{SVM_PROTOCOL}"""

DEVIATIONS = """**How long MM parameters are learned.** P12 does not say when its fits end. P13, by authors of the same
group, says that the algorithm (of Pernkopf, Wohlmayr and Tschiatschek, 2012) stops early, and that P13 does without
it. Until they converge, trees fit the training rows of spambase too closely (TAN-CMI 97.7 to 98.4 % right on three
splits, and 95.4 to 96.9 % if it ends early), and are one to two points below P12 on test rows. With the number of
iterations that does best on held-out folds, all six figures of spambase are met within half a point, so this is what
P12 did, or something like it. On mnist14 the fits that end early are better as well, by 1.2 (NB) and 1.1 points
(TAN-CMI).

**What hardly matters** on spambase, measured with NB-MM on ten splits: λ from 0.01 to 1 (93.4 to 93.6), κ of 0.01 or
0.25 in the place of 0.5 (93.5), zeros as the start (93.6), ε of 1e-3 or 1e-9 in it (93.6), a tolerance of 1e-9 (93.6).
A penalty of 0.1 gives 93.9, and 10 iterations 93.8.

**mnist14** is not quite P12's data, see Table 1: ours are above it with ML and with MM parameters.

**usps.** P13 has 95.98 for TAN with MM, and we have 91.5. The test rows of the published split explain two points of
it (with a random third for test the same λ gives 93.9), and λ most of the others: 1,500 rows chose 0.01, with 0.05 it
is 92.7, and 95.1 on the random third. (The test rows were looked at for this, and nothing is chosen by it.)

**SVM.** P12 does not say what its SVM sees. On spambase C = 1 and γ = 0.01, its values, give 514 support vectors and
94.5 % on the numbers of the intervals (means of five splits), and 711 and 92.4 % on the features as they are; P12 has
517 and 94.57 %. So it saw the intervals, and ours does too. On mnist14 ours learns from 10,000 of the 60,000 training
rows, which explains why it is 0.9 points below P12's. On usps it has 94.7 %, above all networks here and above P13's
91.8 %."""

EXPERIMENT = Experiment(
    "p12-table2", "P12", "Table 2", "Structures by rate and margin, greedy and annealed, with MM parameters, and SVM",
    tasks, page, METRICS, STORE, TABLE_PROTOCOL, DEVIATIONS,
)  # fmt: skip
