"""P12 Table 2: accuracy with MM parameters, and a support vector machine."""

from __future__ import annotations

from discbayes.evaluation.result_blocks import Block, ResultTable
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.experiment import Experiment, Figures, read_figures
from discbayes_papers.figures import beside, how_many, table_page
from discbayes_papers.p12.shared import (
    COLUMNS,
    EARLY,
    HELD_OUT,
    METRICS,
    STORE,
    STRUCTURES,
    TOLERANCE,
    USPS,
    accuracy,
    annealing_table,
    best_accuracies,
    difference_table,
    other_usps,
    p12_tasks,
)
from discbayes_papers.p12.svm import SVM, svm_tasks

PUBLISHED = read_figures("p12/table2.csv")
# The standard deviations beside them.
ERRORS = read_figures("p12/table2_errors.csv")
P13_USPS = {("TAN-CMI", USPS): 95.98, (SVM, USPS): 91.80}
GAINS = {structure: (f"{structure}-MM", f"{structure}-ML") for structure in STRUCTURES}


def tasks(quick: bool) -> list[Task]:
    """The runs of Table 1, which learn both kinds of parameters, and the machines."""
    return [*p12_tasks(quick), *svm_tasks(quick)]


def ours_of(store: Store) -> Figures:
    """The best runs of the networks, and the machines."""
    return best_accuracies(store, "MM") | {
        (SVM, name): accuracy(store, name, SVM).best for name in (*COLUMNS, USPS)
    }


def more(store: Store, ours: Figures) -> list[Block]:
    """The runs of annealing, usps, what MM parameters gain, and fits that end early."""
    return [
        annealing_table(store, "MM", PUBLISHED),
        other_usps("MM", ours, P13_USPS, PUBLISHED),
        difference_table(
            store,
            "MM parameters less ML parameters, in points (of annealing the median run)",
            GAINS,
        ),
        *(ended(store, name) for name in reversed(COLUMNS)),
    ]


ENDS = {"convergence": "MM", "cross-tuning": EARLY, "held-out": HELD_OUT}


def ended(store: Store, name: str) -> ResultTable:
    """MM parameters by where fits end: at convergence, or as training rows find best."""
    found = {end: best_accuracies(store, words, [name]) for end, words in ENDS.items()}
    ours = {(row, end): one[row, name] for end, one in found.items() for row in STRUCTURES}
    theirs = {(row, end): PUBLISHED[row, name] for row, end in ours}
    title = f"MM parameters by where a fit ends, {name}, accuracy in per cent"
    return beside(title, ours, theirs, STRUCTURES, tuple(ENDS), TOLERANCE)


EXPERIMENT = Experiment(
    name="p12-table2",
    paper="P12",
    where="Table 2",
    title="Structures by rate and margin, greedy and annealed, with MM parameters, and SVM",
    tasks=tasks,
    page=table_page(
        PUBLISHED,
        ours_of,
        TOLERANCE,
        title="Accuracy in per cent with MM parameters; of annealing the best run by its score",
        columns=COLUMNS,
        stored=lambda store: how_many(store, tasks(False)),
        more=more,
    ),
    metrics=METRICS,
    store=STORE,
)
