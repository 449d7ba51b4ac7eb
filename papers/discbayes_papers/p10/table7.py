"""P10 Table 7: accuracy on 25 data sets, nine structures with ML and with CL parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean

from discbayes.evaluation.metrics import binomial_error
from discbayes.evaluation.result_blocks import Block, ResultTable, Text
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import (
    BETTER,
    WORSE,
    Figures,
    beside,
    beside_store,
    figure_text,
    read_figures,
    runs_text,
)
from discbayes_papers.p10.shared import (
    BY_SIZE,
    FIXED,
    FRIEDMAN,
    QUICK,
    STORE,
    STRUCTURES,
    TESTED,
    TRAINED,
    TRAINED_STORE,
    accuracies,
    average,
    tasks_of,
)

PARAMETERS = ("ML", "CL")
TOLERANCE = 1.0  # points of an average
ERRORS = 2.0  # binomial standard errors of a figure of one data set
PUBLISHED = read_figures(
    """
australian    86.50 82.30 84.92 82.04 82.59 84.33 84.62 84.75 85.36
breast10      97.39 96.51 97.24 97.40 96.96 97.10 97.39 96.66 96.79
chess         87.15 92.40 94.09 94.93 95.68 96.06 94.09 97.56 97.75
cleve         83.11 79.73 82.11 81.76 82.76 83.11 81.42 80.40 78.71
corral        86.66 99.20 96.00 99.20 99.20 96.80 96.80 96.80 99.20
crx           85.45 82.71 83.47 84.07 84.83 84.54 84.22 86.82 84.99
diabetes      75.12 75.66 75.53 74.36 75.91 74.88 74.61 75.78 75.14
flare         79.09 82.46 81.80 82.74 82.64 82.35 82.93 82.54 82.27
german        75.20 70.10 72.80 73.20 72.40 72.90 74.10 71.40 72.50
glass         71.20 69.31 72.69 70.70 71.20 72.07 72.20 67.70 68.44
glass2        82.77 80.32 82.14 82.20 82.20 82.77 82.14 80.95 82.77
heart         84.07 83.33 82.22 81.85 81.85 83.33 81.48 82.59 82.22
hepatitis     91.33 85.67 91.67 90.67 90.67 89.00 93.00 88.33 87.67
iris          93.33 94.00 93.33 93.33 93.33 92.67 92.67 93.33 93.33
letter        74.92 87.46 85.52 87.00 87.00 87.42 84.64 88.08 88.26
lymphography  84.77 85.98 81.93 88.30 85.95 84.80 84.80 85.42 84.80
mofn-3-7-10   86.43 91.70 90.33 91.41 91.02 91.02 89.65 93.16 92.09
pima          75.39 76.04 75.65 75.26 76.30 75.78 75.91 75.13 76.17
shuttle-small 98.71 99.48 99.17 99.17 99.17 99.17 99.17 99.22 99.33
vote          91.50 93.58 94.03 94.29 94.29 93.82 94.51 94.52 94.99
satimage      81.75 86.90 87.50 88.25 88.00 87.70 86.05 86.85 86.15
segment       92.34 94.68 93.77 94.42 94.42 95.19 95.06 94.16 95.06
soybean-large 93.94 89.29 92.14 91.11 90.74 91.62 93.40 93.00 92.65
vehicle       58.78 68.21 67.04 67.38 67.38 67.88 67.75 70.50 69.32
waveform-21   78.60 78.00 78.64 78.02 78.02 78.47 79.13 77.79 78.17
""",
    [f"{structure}-ML" for structure in STRUCTURES],
) | read_figures(
    """
australian    85.04 81.60 84.77 82.19 82.89 84.19 84.62 85.77 85.95
breast10      97.39 96.51 97.24 97.40 96.96 97.10 97.39 96.51 95.75
chess         95.97 97.56 97.37 97.84 97.56 97.75 97.28 97.94 98.41
cleve         82.77 78.72 82.11 81.76 82.76 82.44 81.76 80.40 78.71
corral        88.89 99.20 96.00 99.20 99.20 96.80 96.80 96.80 99.20
crx           86.99 82.55 83.47 83.76 84.99 85.16 85.15 86.51 85.30
diabetes      74.47 75.79 75.78 74.87 74.74 75.40 74.48 75.91 75.14
flare         79.09 82.46 82.17 82.64 82.82 82.35 83.02 82.64 82.46
german        75.10 70.20 72.60 73.20 72.50 72.90 74.50 71.50 72.30
glass         71.94 69.31 72.69 71.07 72.07 72.07 72.20 68.07 68.44
glass2        82.77 80.32 82.14 82.20 82.20 82.77 82.14 80.95 82.77
heart         83.33 83.33 82.22 81.85 81.48 82.96 82.22 82.22 81.48
hepatitis     91.33 85.67 91.67 90.67 90.67 89.00 93.00 88.33 87.67
iris          93.33 94.00 93.33 93.33 93.33 92.67 92.67 93.33 93.33
letter        85.12 88.28 87.02 88.18 88.18 88.30 86.52 88.62 88.58
lymphography  85.95 86.54 81.93 88.30 85.95 84.80 85.36 85.42 84.80
mofn-3-7-10   100.00 97.46 100.00 99.61 98.73 99.51 99.80 98.63 96.97
pima          74.47 75.78 75.65 75.00 76.05 75.78 75.91 74.87 76.17
shuttle-small 99.28 99.48 99.17 99.17 99.17 99.17 99.17 99.22 99.33
vote          95.63 93.81 94.70 94.52 94.52 94.04 94.97 94.75 94.99
satimage      83.60 87.35 87.50 88.20 87.75 87.85 86.15 85.85 85.10
segment       94.68 95.45 93.77 94.94 94.94 95.84 95.19 94.94 95.06
soybean-large 93.76 89.83 92.51 91.11 90.92 90.91 93.22 93.00 92.49
vehicle       67.40 68.09 68.36 67.61 67.61 68.00 67.26 70.59 69.70
waveform-21   79.55 78.00 78.64 78.02 78.02 78.47 80.00 77.79 78.17
""",
    [f"{structure}-CL" for structure in STRUCTURES],
)
# The last line of the table.
AVERAGES = read_figures(
    "ML 81.50 84.82 84.80 85.11 85.16 85.38 84.77 85.50 85.53\n"
    "CL 85.18 85.47 85.70 85.82 85.78 86.00 85.90 85.81 85.73",
    STRUCTURES,
)


# What the averages of P10 say, the worse one first.
ORDER = (("NB-ML", "TAN-CMI-ML"), ("TAN-CMI-ML", "TAN-OMI-CR-ML"), ("TAN-OMI-CR-ML", "TAN-CR-ML"))
DRAWS = 10  # of the folds of a cross-validated set, for some columns
DRAWN_STRUCTURES = ("NB", "TAN-CMI", "TAN-OMI-CR", "TAN-CR")
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
    trained = beside_store(store, TRAINED_STORE)
    figures = accuracies(store) | accuracies(trained)
    return [
        Text(
            f"Stored: {runs_text(store, tasks(False))}, and {len(trained)} of OMI-CRCL"
            " (`p10-table7-crcl`)."
        ),
        averages(figures),
        claims(figures),
        *cells(figures, STRUCTURES),
        draws(store),
        times([*store, *trained]),
    ]


def columns(store: Store, structures: Sequence[str]) -> list[Block]:
    """Some columns by themselves: averages, the figures of each set, and the time."""
    figures = accuracies(store)
    return [averages(figures, structures), *cells(figures, structures), times(store, structures)]


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


PROTOCOL = """\
Data and splits are those of Friedman et al. (1997) as far as they can be had: rows with gaps are left out, five \
stratified folds of a fixed draw, or the published split (chess, letter, mofn-3-7-10, satimage, shuttle-small, \
waveform-21), or a stratified draw of the published size (segment). Cut points are those of Fayyad and Irani on the \
training rows. ML: relative frequencies, zeros become 1e-5. CL: from ML on, by L-BFGS (P10: conjugate gradients), for \
the number of iterations that does best on five folds of the training rows. TAN structures are scored on the training \
rows themselves, 2-trees by five folds of them; 2-trees of OMI-CR may have one parent as well. The search of OMI-CRCL \
trains CL parameters to convergence for each candidate, begun at those of the network without the new edge.

Averages weigh a set by the rows that are tested, in cross-validation all; with that, all 18 published averages come \
out of the published table. Averages are marked beyond one point, figures of single sets beyond two binomial standard \
errors."""


DEVIATIONS = """\
Where the split is P10's, NB and TAN-CMI agree to the digit or by one row (chess, mofn-3-7-10, satimage). All \
averages but OMI-CRCL-ML are within 0.6 points of P10's. What moves single figures by more than chance, from \
measurements:

**Folds.** P10's folds are not known. Ten draws of ours are above: the published figure is within their range in 52 \
of 72 cases, above it in 13 and below it in 7. It is above for all four columns on lymphography, and below for three \
on vehicle, for which no cause was found.

**lymphography** (148 rows). Its three ordered features as categories, without cut points, do not help (six draws: NB \
80.4 to 83.8, TAN-CMI 74.3 to 80.4). The same group later reports 80.77 for TAN with ML parameters (P13, Table 1), \
which is ours. The cause in P10 was not found.

**CL.** In P10 85 of 200 figures of CL are those of ML to the digit, as if the cross tuning had ended before the \
first iteration, which P10 itself calls too restrictive (6.5.1); here it is 25. On NB ours makes about ten iterations \
on breast10, which lose 1.3 points (eight draws: 95.6 to 96.6), and on flare, which gain 3.3 (82.3 to 83.4). The \
other figures of CL above P10 (chess, vehicle, waveform-21, corral, mofn-3-7-10) come with such iterations too, and \
make the averages of CL higher than P10's.

**2-trees** are chosen by five folds of the training rows. Ten draws of these folds alone give on chess 92.5 to 96.1 \
(SuperParent), 96.0 to 98.3 (OMI-CR) and 96.0 to 97.3 (CR), on mofn-3-7-10 90.7 to 93.5, 90.8 to 93.3 and 88.0 to \
91.9, on waveform-21 78.0 to 78.6, 75.5 to 77.3 and 77.3 to 79.0. On waveform-21 OMI-CR stays below P10's 77.79; if \
the two parents of a feature must be joined themselves, as in a partial 2-tree, it is 76.6 to 77.9.

**Ties.** With ML parameters an edge between two features without parents gains the same in both directions, and few \
training rows make many other edges equal; we take the first. With the columns in other orders TAN-CR goes from 89.5 \
to 91.1 on mofn-3-7-10, from 94.0 to 96.1 on chess (so that our 96.44 is luck), and from 86.6 to 88.4 on satimage \
(`p10-table8` has these).

**Data.** letter: the split is not quite P10's (NB 74.08 against 74.92); other draws of 15,000 rows give 86.2 to 87.8 \
with TAN-CR, and its integers as categories 86.0. segment: only the sizes of the split are known; ten draws give NB \
91.6 to 93.9 and SuperParent 92.6 to 95.8. shuttle-small: the original selection cannot be had, ours is the first \
5,800 rows of shuttle.

**OMI-CRCL** with ML parameters is the one average that is more than a point below: see `p10-table7-crcl`.

Seconds are those of a machine that was busy with other work: the runs had a fifth to a third of a core."""


EXPERIMENT = Experiment(
    name="p10-table7",
    paper="P10",
    where="Table 7",
    title="Nine structures with generative and discriminative parameters on 25 data sets",
    tasks=tasks,
    page=page,
    store=STORE,
    protocol=PROTOCOL,
    deviations=DEVIATIONS,
)
