"""P10 Table 13: three ways to put the features in an order, on 25 data sets."""

from __future__ import annotations

from math import nan

from discbayes.evaluation.result_blocks import Block, Text
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.statistics import win_draw_loss
from discbayes.evaluation.tasks import Task
from discbayes_papers.draws import draws_of
from discbayes_papers.experiment import Experiment, Figures, read_figures
from discbayes_papers.figures import runs_text, table_page
from discbayes_papers.p10.draws import drawn
from discbayes_papers.p10.orders import difference_text
from discbayes_papers.p10.shared import (
    BY_SIZE,
    FRIEDMAN,
    QUICK,
    STORE,
    accuracies_of,
    average,
    tasks_of,
)

OMI, OTHERS = "TAN-OMI-CR", ("TAN-OMISP-CR", "TAN-OCR-CR")
RECIPES = tuple(f"{structure}-ML" for structure in (OMI, *OTHERS))
AVERAGE = "average"
TOLERANCE = 1.5
PUBLISHED = read_figures("p10/table13.csv")


def tasks(quick: bool) -> list[Task]:
    """The two orders that are not in p10-table7."""
    return tasks_of(QUICK if quick else BY_SIZE, OTHERS, ("ML",))


def ours(store: Store) -> Figures:
    """Accuracies of all three orders, and their averages; OMI-CR is stored with Tables 7 and 1."""
    found = accuracies_of(store, STORE, "p10-table1")
    return found | {(AVERAGE, tag): average(found, tag) for tag in RECIPES}


def stored(store: Store) -> list[Block]:
    """How many of the runs there are."""
    return [Text(f"Stored: {runs_text(store, tasks(False))}; those of OMI-CR are in `p10-table7`.")]


def compared(ours: Figures, other: str) -> str:
    """OMI-CR against another order, in our figures and in P10's."""
    names = [name for name in FRIEDMAN if all((name, tag) in ours for tag in (RECIPES[0], other))]
    if len(names) < 2:
        return f"{other} cannot be compared yet."
    said = []
    for whose, figures, sets in (("our", ours, names), ("P10's", PUBLISHED, FRIEDMAN)):
        first, second = ([figures[name, tag] for name in sets] for tag in (RECIPES[0], other))
        found, difference = win_draw_loss(first, second), difference_text(first, second, 2)
        said.append(
            f"{found.wins} wins, {found.draws} draws, {found.losses} losses, {difference} in"
            f" {whose} figures"
        )
    return (
        f"{RECIPES[0]} against {other}: {'; '.join(said)}. In brackets is p of the one-sided paired"
        " t-test."
    )


def more(store: Store, figures: Figures) -> list[Block]:
    """The orders against each other, and the figures that are marked over draws of the folds."""
    keys = [key for key in PUBLISHED if abs(figures.get(key, nan) - PUBLISHED[key]) > TOLERANCE]
    return [
        *(Text(compared(figures, other)) for other in RECIPES[1:]),
        *draws_of(drawn(store), keys, "Marked figures, over draws of the folds"),
    ]


EXPERIMENT = Experiment(
    name="p10-table13",
    paper="P10",
    where="Table 13",
    title="Three ways to order the features on 25 data sets",
    tasks=tasks,
    page=table_page(
        PUBLISHED,
        ours,
        TOLERANCE,
        corner="data set",
        stored=stored,
        more=more,
    ),
)
