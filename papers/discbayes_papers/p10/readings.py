"""What P10 leaves open: ties, the first edge, and how many parents; each reading on the 25 sets."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from discbayes.evaluation.result_blocks import Block, ResultTable, Text
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes.recipes.parameter_words import LEARNERS
from discbayes.search import GreedyEdges, OrderBased, SuperParent
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import figure_text, runs_text
from discbayes_papers.learning import judged, learn_structure, learn_tables
from discbayes_papers.p10.shared import BY_SIZE, QUICK, accuracies, average, n_folds
from discbayes_papers.p10.table7 import PUBLISHED
from discbayes_papers.p10.table13 import PUBLISHED as PUBLISHED_ORDERS
from discbayes_papers.parts import load_part

FOLDS = 5  # of the scores of 2-trees
LISTING = {"listing": True, "first_edge": True}
# Each reading by the column of P10 that it stands beside, and a word for it.
READINGS: dict[tuple[str, str], Any] = {
    ("TAN-CR", "child first"): GreedyEdges("cr"),
    ("TAN-CR", "parent first"): GreedyEdges("cr", ties="parent"),
    ("TAN-OMI-CR", "text"): OrderBased("omi"),
    ("TAN-OMI-CR", "listing"): OrderBased("omi", **LISTING),
    ("TAN-OMISP-CR", "text"): OrderBased("omisp"),
    ("TAN-OMISP-CR", "listing"): OrderBased("omisp", **LISTING),
    ("2-tree-CR", "child first"): GreedyEdges("cr", FOLDS, k=2),
    ("2-tree-CR", "parent first"): GreedyEdges("cr", FOLDS, k=2, ties="parent"),
    ("2-tree-CR", "parent first, strict"): GreedyEdges(
        "cr", FOLDS, k=2, ties="parent", strict=True
    ),
    ("2-tree-OMI-CR", "at most two"): OrderBased("omi", "cr", FOLDS, k=2),
    ("2-tree-OMI-CR", "two or none"): OrderBased("omi", "cr", FOLDS, k=2, exactly_k=True),
    ("2-tree-OMI-CR", "two or none, strict"): OrderBased(
        "omi", "cr", FOLDS, k=2, exactly_k=True, strict=True
    ),
    ("2-tree-SuperParent", "any"): SuperParent("cr", FOLDS, k=2),
    ("2-tree-SuperParent", "strict"): SuperParent("cr", FOLDS, k=2, strict=True),
}
WITH_CL = ("TAN-CR", "2-tree-CR")
PUBLISHED_SPLITS = ("mofn-3-7-10", "chess", "satimage", "waveform-21")


def tag_of(column: str, reading: str, parameters: str) -> str:
    """Return the name under which a reading is stored."""
    return f"{column}-{parameters} ({reading})"


BY_TAG = {
    tag_of(*key, parameters): (learner, parameters)
    for key, learner in READINGS.items()
    for parameters in (("ML", "CL") if key[0] in WITH_CL else ("ML",))
}


def tasks(quick: bool) -> list[Task]:
    """Each reading on all folds; one that is learned with ML and CL is searched once."""
    data = QUICK if quick else BY_SIZE
    by_structure = [
        tuple(tag for tag in BY_TAG if BY_TAG[tag][0] is learner) for learner in READINGS.values()
    ]
    return [
        Task(name, fold, tags, 0, work)
        for name in data
        for fold in range(n_folds(name))
        for tags in by_structure
    ]


def work(task: Task) -> Iterator[Result]:
    """Learn the structure once, then the tables."""
    part = load_part(task.data, task.fold, task.seed)
    found = learn_structure(part, BY_TAG[task.recipes[0]][0], task.seed)
    for tag in task.recipes:
        tables = learn_tables(part, found.value, LEARNERS[BY_TAG[tag][1]](), task.seed)
        yield task.result(tag, judged(part, found, tables), found.seconds + tables.seconds)


def published(data: str, column: str, parameters: str) -> float:
    """Return P10's figure; NaN if it has none."""
    tag = f"{column}-{parameters}"
    return PUBLISHED.get((data, tag), PUBLISHED_ORDERS.get((data, tag), math.nan))


def page(store: Store) -> Sequence[Block]:
    """Averages, and the figures of sets whose split is known."""
    figures = accuracies(store)
    return [
        Text(f"Stored: {runs_text(store, tasks(False))}."),
        averages(figures),
        known_splits(figures),
    ]


def averages(figures: dict[tuple[str, str], float]) -> ResultTable:
    """The mean over the 25 sets of each reading beside P10's."""
    rows = []
    for column, reading in READINGS:
        line = [column, reading]
        for parameters in ("ML", "CL"):
            theirs = {(data, column): published(data, column, parameters) for data in BY_SIZE}
            ours = average(figures, tag_of(column, reading, parameters))
            line.append(f"{figure_text(ours)} ({figure_text(average(theirs, column))})")
        rows.append(line)
    title = "Average accuracy (%) over the 25 sets, weighted by the rows tested"
    return ResultTable(title, ["column", "reading", "ML", "CL"], rows, "Ours (P10).", left=2)


def known_splits(figures: dict[tuple[str, str], float]) -> ResultTable:
    """The figures where P10's split is known, and which of them are P10's to the digit."""
    rows = []
    for column, reading in READINGS:
        tag = tag_of(column, reading, "ML")
        cells = []
        for data in PUBLISHED_SPLITS:
            ours, theirs = figures.get((data, tag), math.nan), published(data, column, "ML")
            text = f"{figure_text(ours)} ({figure_text(theirs)})"
            cells.append(f"**{text}**" if f"{ours:.2f}" == f"{theirs:.2f}" else text)
        rows.append([column, reading, *cells])
    title = "Accuracy (%) with ML parameters where P10's split is known"
    note = "Ours (P10); bold: the same to the digit."
    return ResultTable(title, ["column", "reading", *PUBLISHED_SPLITS], rows, note, left=2)


EXPERIMENT = Experiment(
    name="p10-readings",
    paper="P10",
    where="Tables 7 and 13",
    title="What P10 leaves open: ties, the first edge, and the number of parents",
    tasks=tasks,
    page=page,
)
