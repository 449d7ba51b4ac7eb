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
from discbayes_papers.draws import Places, draws_of
from discbayes_papers.experiment import Experiment, Figures, read_figures
from discbayes_papers.figures import BETTER, WORSE, beside, beside_store, figure_text, runs_text
from discbayes_papers.p10.draws import FOUR, N_DRAWS, N_FEW, drawn
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
# which of several edges that gain the same is taken; the recipes have the first rule
TIED, TIES = ("TAN-CR", "2-tree-CR"), ("parent first", "child first")
READINGS_STORE = "p10-readings"
CLAIMS = (*ORDER, *((f"{structure}-ML", f"{structure}-CL") for structure in STRUCTURES))


def tasks(quick: bool) -> list[Task]:
    """All columns but OMI-CRCL, which is an experiment of its own."""
    data = QUICK if quick else BY_SIZE
    return tasks_of(data, [structure for structure in STRUCTURES if structure != TRAINED])


def page(store: Store) -> Sequence[Block]:
    """Averages, what they say, the figures of each set, and the time that it took."""
    trained = trained_runs(store)
    figures, found = accuracies(store) | accuracies(trained), drawn(store)
    return [
        Text(
            f"Stored: {runs_text(store, tasks(False))}, and {len(trained)} of OMI-CRCL with"
            " cross-tuned candidates (`p10-table7-crcl`)."
        ),
        averages(figures),
        claims(figures),
        *cells(figures, STRUCTURES),
        *tie_rules(store),
        central_ranges(found),
        *beyond(figures, found),
        cl_beside_ml(figures),
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


def central_ranges(found: Places) -> ResultTable:
    """The central 95 % of the accuracy over draws of the folds, and whether P10's is within."""

    def cell(data: str, tag: str) -> str:
        if (data, tag) not in found:
            return "–"
        place = found[data, tag]
        low, high = place.central
        mark = "" if place.is_within else f" {BETTER if place.published < low else WORSE}"
        return f"{low:.1f} to {high:.1f} ({place.published:.1f}){mark}"

    crossed = [data for data in FRIEDMAN if data not in FIXED]
    rows = [[data, *(cell(data, f"{structure}-ML") for structure in FOUR)] for data in crossed]
    within = [
        found[data, f"{s}-ML"].is_within
        for data in crossed
        for s in FOUR
        if (data, f"{s}-ML") in found
    ]
    note = (
        f"Central 95 % (published); {WORSE}: the published figure is above; {BETTER}: below. It is"
        f" within in {sum(within)} of {len(within)} cases."
    )
    title = f"Accuracy (%) with ML parameters over {N_FEW} to {N_DRAWS} draws of the five folds"
    return ResultTable(title, ["data set", *FOUR], rows, note)


def cl_beside_ml(figures: Figures) -> ResultTable:
    """The marked figures of CL beside those of ML: where P10 has the same, nothing was trained."""
    limits, rows = allowed(), []
    for data, structure in product(FRIEDMAN, STRUCTURES):
        theirs, ours = (
            [one.get((data, f"{structure}-{tables}"), math.nan) for tables in ("CL", "ML")]
            for one in (PUBLISHED, figures)
        )
        if theirs[0] - ours[0] > limits[data]:
            near = "yes" if theirs[0] - ours[1] <= limits[data] else "no"
            same = "yes" if theirs[0] == theirs[1] else "no"
            rows.append(
                [data, structure, *map(figure_text, theirs), same, *map(figure_text, ours), near]
            )
    header = [
        "data set", "", "CL in P10", "ML in P10", "the same", "CL", "ML", "ML within the tolerance",
    ]  # fmt: skip
    return ResultTable("Marked figures of CL parameters beside ML", header, rows, left=2)


def beyond(figures: Figures, found: Places) -> list[Block]:
    """The draws of the figures of single sets that are marked, as far as there are any."""
    limits = allowed()
    keys = [
        (data, f"{structure}-{tables}")
        for tables, data, structure in product(PARAMETERS, FRIEDMAN, STRUCTURES)
        if abs(
            figures.get((data, f"{structure}-{tables}"), math.nan)
            - PUBLISHED[data, f"{structure}-{tables}"]
        )
        > limits[data]
    ]
    return draws_of(found, keys, "Marked figures, over draws of the folds")


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
