"""P10 Table 7: accuracy on 25 data sets, nine structures with ML and with CL parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import product
from statistics import fmean

from discbayes.evaluation.metrics import binomial_error
from discbayes.evaluation.result_blocks import Block, ResultTable, Text
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.experiment import Experiment, Figures, read_figures
from discbayes_papers.figures import BETTER, WORSE, beside, beside_store, figure_text, runs_text
from discbayes_papers.p10.shared import (
    BY_SIZE,
    FIXED,
    FRIEDMAN,
    QUICK,
    STORE,
    STRUCTURES,
    TESTED,
    TRAINED,
    accuracies,
    average,
    tasks_of,
    trained_runs,
)

PARAMETERS = ("ML", "CL")
TOLERANCE = 1.0  # points of an average
ERRORS = 2.0  # binomial standard errors of a figure of one data set
PUBLISHED = read_figures("p10/table7.csv")
# The last line of the table.
AVERAGES = read_figures("p10/table7_averages.csv")


# What the averages of P10 say, the worse one first.
ORDER = (("NB-ML", "TAN-CMI-ML"), ("TAN-CMI-ML", "TAN-OMI-CR-ML"), ("TAN-OMI-CR-ML", "TAN-CR-ML"))
DRAWS = 10  # of the folds of a cross-validated set, for some columns
DRAWN_STRUCTURES = ("NB", "TAN-CMI", "TAN-OMI-CR", "TAN-CR")
# which of several edges that gain the same is taken; the recipes have the first rule
TIED, TIES = ("TAN-CR", "2-tree-CR"), ("parent first", "child first")
READINGS_STORE = "p10-readings"
CLAIMS = (*ORDER, *((f"{structure}-ML", f"{structure}-CL") for structure in STRUCTURES))


def tasks(quick: bool) -> list[Task]:
    """All columns but OMI-CRCL, which is an experiment of its own; then some columns on other draws
    of the folds.
    """
    data, n_draws = (QUICK, 2) if quick else (BY_SIZE, DRAWS)
    first = tasks_of(data, [structure for structure in STRUCTURES if structure != TRAINED])
    crossed = [name for name in data if name not in FIXED]
    return first + [
        task
        for seed in range(1, n_draws)
        for task in tasks_of(crossed, DRAWN_STRUCTURES, ["ML"], seed)
    ]


def page(store: Store) -> Sequence[Block]:
    """Averages, what they say, the figures of each set, and the time that it took."""
    trained = trained_runs(store)
    figures = accuracies(store) | accuracies(trained)
    return [
        Text(
            f"Stored: {runs_text(store, tasks(False))}, and {len(trained)} of OMI-CRCL with"
            " cross-tuned candidates (`p10-table7-crcl`)."
        ),
        averages(figures),
        claims(figures),
        *cells(figures, STRUCTURES),
        *tie_rules(store),
        draws(store),
        times([*store, *trained]),
    ]


def columns(runs: Sequence[Result], structures: Sequence[str]) -> list[Block]:
    """Some columns by themselves: averages, the figures of each set, and the time."""
    figures = accuracies(runs)
    return [averages(figures, structures), *cells(figures, structures), times(runs, structures)]


def averages(figures: Figures, structures: Sequence[str] = STRUCTURES) -> ResultTable:
    """The last line of the table."""
    ours = {
        (s, tables): average(figures, f"{s}-{tables}") for s in structures for tables in PARAMETERS
    }
    published = {(s, tables): AVERAGES[tables, s] for s in structures for tables in PARAMETERS}
    title = "Average accuracy (%) over the 25 sets, weighted by the rows tested"
    return beside(title, ours, published, structures, PARAMETERS, TOLERANCE, corner="structure")


def claims(figures: Figures) -> ResultTable:
    """What P10's averages say of pairs of columns, and whether ours say it too."""
    rows = []
    for worse, better in CLAIMS:
        low, high = average(figures, worse), average(figures, better)
        held = "–" if math.isnan(high - low) else "yes" if low <= high else "no"
        published = " ≤ ".join(f"{AVERAGES[tag[-2:], tag[:-3]]:.2f}" for tag in (worse, better))
        rows.append(
            [f"{worse} ≤ {better}", published, f"{figure_text(low)}, {figure_text(high)}", held]
        )
    return ResultTable("What the averages say", ["P10", "its averages", "ours", "holds"], rows)


def cells(figures: Figures, structures: Sequence[str]) -> list[ResultTable]:
    """The figures of each set, one table for each way to learn parameters."""
    return [
        beside(
            f"Accuracy (%) with {tables} parameters",
            {
                (data, s): figures.get((data, f"{s}-{tables}"), math.nan)
                for data in FRIEDMAN
                for s in structures
            },
            {(data, s): PUBLISHED[data, f"{s}-{tables}"] for data in FRIEDMAN for s in structures},
            FRIEDMAN,
            structures,
            allowed(),
            corner="data set",
        )
        for tables in PARAMETERS
    ]


def tie_rules(store: Store) -> list[ResultTable]:
    """Columns whose edges may gain the same, by which of these is taken: averages, and each set."""
    figures = accuracies(beside_store(store, READINGS_STORE))
    blocks, named = [], [f"{s}, {rule}" for s in TIED for rule in TIES]
    for parameters in PARAMETERS:
        ours: Figures = {}
        theirs: Figures = {}
        for s, rule in product(TIED, TIES):
            tag, column = f"{s}-{parameters} ({rule})", f"{s}, {rule}"
            ours |= {(data, column): figures.get((data, tag), math.nan) for data in FRIEDMAN}
            theirs |= {(data, column): PUBLISHED[data, f"{s}-{parameters}"] for data in FRIEDMAN}
            ours["average", column] = average(figures, tag)
            theirs["average", column] = AVERAGES[parameters, s]
        title = f"Accuracy (%) with {parameters} parameters by the rule of ties"
        limits = {"average": TOLERANCE, **allowed()}
        rows = ["average", *FRIEDMAN]
        blocks.append(beside(title, ours, theirs, rows, named, limits, corner="data set"))
    return blocks


def allowed() -> dict[str, float]:
    """What chance may do on each set: two binomial standard errors of the mean of its published
    figures, in points.
    """
    rates = {
        data: fmean(PUBLISHED[data, f"{s}-{t}"] for s in STRUCTURES for t in PARAMETERS)
        for data in FRIEDMAN
    }
    return {
        data: ERRORS * 100 * binomial_error(rates[data] / 100, TESTED[data]) for data in FRIEDMAN
    }


def draws(store: Store) -> ResultTable:
    """The range of the accuracy over draws of the folds, and where the published figure is."""
    figures = [accuracies(store, seed) for seed in range(DRAWS)]

    def cell(data: str, tag: str) -> str:
        found = [one[data, tag] for one in figures if (data, tag) in one]
        if not found:
            return "–"
        low, high, theirs = min(found), max(found), PUBLISHED[data, tag]
        mark = f" {BETTER}" if theirs < low else f" {WORSE}" if theirs > high else ""
        return f"{low:.1f} to {high:.1f} ({theirs:.1f}){mark}"

    crossed = [data for data in FRIEDMAN if data not in FIXED]
    rows = [
        [data, *(cell(data, f"{structure}-ML") for structure in DRAWN_STRUCTURES)]
        for data in crossed
    ]
    note = (
        f"Least and largest (published); {WORSE}: the published figure is above all draws;"
        f" {BETTER}: below all."
    )
    title = f"Accuracy (%) with ML parameters over {DRAWS} draws of the five folds"
    return ResultTable(title, ["data set", *DRAWN_STRUCTURES], rows, note)


def times(results: Iterable[Result], structures: Sequence[str] = STRUCTURES) -> ResultTable:
    """Seconds of all sets and folds together: a search counts once, for both ways to learn
    parameters.
    """
    spent = dict.fromkeys(((s, what) for s in structures for what in ("search", *PARAMETERS)), 0.0)
    for result in results:
        structure, tables = result.recipe[:-3], result.recipe[-2:]
        if structure in structures and result.seed == 0:
            spent[structure, tables] += result["fit_seconds"]
            spent[structure, "search"] += result["search_seconds"] if tables == "ML" else 0.0
    rows = [[s, *(f"{spent[s, what]:.1f}" for what in ("search", *PARAMETERS))] for s in structures]
    totals = (sum(spent[key] for key in spent if key[0] not in left) for left in ((TRAINED,), ()))
    plain, all_in_all = totals
    note = f"In all {all_in_all / 60:.1f} minutes" + (
        f", {plain / 60:.1f} of them without {TRAINED}." if plain else "."
    )
    return ResultTable(
        "Seconds of one thread for all sets and folds",
        ["structure", "search", *PARAMETERS],
        rows,
        note,
    )


EXPERIMENT = Experiment(
    name="p10-table7",
    paper="P10",
    where="Table 7",
    title="Nine structures with generative and discriminative parameters on 25 data sets",
    tasks=tasks,
    page=page,
    store=STORE,
)
