"""P13 Table 1: accuracy of ML, MCL, MM and ML-BN-SVM parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from discbayes.evaluation.metrics import accuracy
from discbayes.evaluation.result_blocks import Block, ResultTable
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes.inference import InferenceOptions, log_joint
from discbayes.network import CPTs
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import beside, figure_text, how_many
from discbayes_papers.p13.shared import (
    CHANGED,
    CHOICE,
    METHODS,
    QUICK,
    SETS,
    Fitted,
    fit,
    mean,
    n_splits,
    p13_part,
    p13_tasks,
)
from discbayes_papers.parts import Part

METRICS = (
    "accuracy", "train_accuracy", "log_likelihood", "train_log_likelihood", "n_test", "lam", "gamma", "iterations",
    "gap", "chosen_on", "lowest_log", "choosing_seconds", "fit_seconds",
)  # fmt: skip
STRUCTURES = ("TAN", "NB")
# methods that end earlier, and at which tolerances
ENDING, EARLY = ("MCL", "MM"), ("0.01", "0.001", "0.0001")
TOLERANCE = 1.5
NAIVE = "Accuracy in per cent, naive Bayes, of which P13 prints no figures"
EARLIER = (
    "They end when an iteration changes the mean by less than `tol`; λ is that of the first table."
    " This looks at test rows, and chooses nothing. The relative likelihood is that of training"
    " rows (p13-fig3)."
)

# Accuracy and the half width of its 95 % interval for the columns.
COLUMNS = (*METHODS, "Linear SVM", "SVM")
TABLE = """
abalone        57.70  1.58  57.92  1.65  57.78  0.96  58.69  1.86  58.42  1.77  59.29  1.40
adult          85.70  0.66  86.65  0.64  86.54  0.65  86.76  0.64  86.86  0.64  86.87  0.64
australian     81.67  2.66  81.97  3.70  85.49  3.40  84.76  3.78  85.78  1.69  86.80  2.34
breast         95.56  2.06  95.56  1.45  96.59  0.50  96.00  2.31  96.15  1.51  97.19  0.41
car            94.24  1.50  98.08  0.75  97.79  0.79  98.08  1.07  93.84  0.65  99.65  0.30
chess          92.19  1.62  97.65  0.81  97.43  0.79  97.99  0.92  97.02  0.82  99.50  0.25
cleve          79.43  6.34  77.74  7.53  79.09  7.56  80.79  7.58  83.57  5.29  82.19  6.37
crx            84.04  4.64  80.32  5.20  83.89  5.89  84.20  4.56  85.75  3.20  85.75  2.65
diabetes       74.35  4.23  74.22  5.50  73.31  5.71  74.35  5.42  73.96  4.46  74.48  4.65
flare          81.57  1.27  81.48  1.91  84.45  0.28  83.30  1.06  84.45  0.28  84.45  0.28
german         71.90  1.83  69.50  3.54  73.20  4.01  72.60  2.89  76.10  1.11  75.80  2.80
glass          72.68  5.29  68.55  4.03  71.71 10.88  72.61  6.35  71.61  5.50  73.24  5.33
heart          80.74 10.36  77.04 10.61  77.41  9.81  81.48  9.34  84.81  4.11  81.85  9.40
hepatitis      86.17 10.00  86.08 11.48  86.08  3.38  86.17  6.31  87.42 10.89  88.67  6.37
letter         86.21  0.84  87.65  0.80  89.58  0.74  88.57  0.77  90.07  0.73  94.07  0.58
lymphography   80.77  7.36  75.38 10.86  80.66 11.11  76.92 10.54  83.57 10.44  86.48  9.99
nursery        92.96  0.77  98.31  0.40  98.84  0.33  98.68  0.35  93.31  0.76 100.00  0.04
satimage       85.79  1.92  81.52  0.95  86.82  2.66  86.98  1.30  88.36  1.58  90.59  1.59
segment        94.89  1.02  94.37  1.57  96.02  1.21  95.76  0.62  96.19  0.73  96.84  1.17
shuttle        99.88  0.05  99.84  0.06  99.91  0.05  99.92  0.04  99.96  0.03  99.96  0.03
soybean-large  91.88  1.28  82.66  4.59  90.77  2.16  91.87  2.26  91.15  3.72  93.54  1.19
spambase       92.97  0.85  92.99  1.10  93.62  0.80  94.03  0.84  94.27  0.72  95.04  0.37
TIMIT          86.85  6.86  84.43  6.45  86.76  5.33  88.74  6.21  89.29  5.90  89.46  6.13
usps           91.20  0.93  90.46  0.97  95.98  0.65  95.98  0.65  95.82  0.66  91.80  0.90
vehicle        70.60  2.00  69.64  3.69  69.04  4.30  69.88  2.41  70.12  1.26  69.76  2.43
vote           94.37  2.62  94.15  2.04  96.01  2.45  95.31  2.74  94.85  2.20  95.54  3.18
waveform-21    82.36  0.71  80.55  1.00  82.86  0.51  83.48  0.56  84.78  1.77  85.16  1.29
"""
Figures = dict[tuple[str, str], float]  # by data set and column


def read_table() -> tuple[Figures, Figures]:
    """The published accuracies, and the half widths of their intervals."""
    rates: Figures = {}
    widths: Figures = {}
    for line in TABLE.strip().splitlines():
        name, *figures = line.split()
        rates |= {
            (name, column): float(figure)
            for column, figure in zip(COLUMNS, figures[::2], strict=True)
        }
        widths |= {
            (name, column): float(figure)
            for column, figure in zip(COLUMNS, figures[1::2], strict=True)
        }
    return rates, widths


PUBLISHED, WIDTHS = read_table()


# ---- runs


def tasks(quick: bool) -> list[Task]:
    """All methods with TAN and NB, and MCL and MM with TAN that end earlier."""
    cells = product(QUICK if quick else SETS, STRUCTURES)
    return [
        task
        for name, structure in cells
        for task in p13_tasks(learn_and_test, [name], recipes_of(structure))
    ]


def recipes_of(structure: str) -> list[str]:
    """The recipes of a structure."""
    every = [f"{structure}-{words}" for words in METHODS.values()]
    if structure == "TAN":
        every += [early(method, tol) for method in ENDING for tol in EARLY]
    return every


def early(method: str, tol: str) -> str:
    """TAN with a method that ends at another tolerance; λ is chosen at the usual one."""
    return f"TAN-{METHODS[method]} tol={tol}"


def learn_and_test(task: Task) -> Iterator[Result]:
    """Accuracy and likelihood on training and test rows."""
    part = p13_part(task)
    for recipe in task.recipes:
        fitted = fit(task, recipe)
        yield task.result(recipe, figures(part, fitted), fitted.seconds, fitted.learned.warned)


def figures(part: Part, fitted: Fitted) -> dict[str, float]:
    """What ``METRICS`` names; likelihoods are natural logarithms, for each row."""
    tables, history, choice = fitted.learned.value, fitted.learned.history, fitted.choice
    rate, likelihood = _judged(tables, part, test=True)
    train_rate, train_likelihood = _judged(tables, part, test=False)
    return {
        "accuracy": rate, "train_accuracy": train_rate, "log_likelihood": likelihood,
        "train_log_likelihood": train_likelihood, "n_test": part.n_test, **choice.numbers,
        "iterations": max((line.get("iteration", 0) for line in history), default=0),
        "gap": history[-1].get("gap", math.nan) if history else math.nan,
        "chosen_on": choice.n_rows, "lowest_log": float(min(tables.log_prior.min(), tables.log_theta.min())),
        "choosing_seconds": fitted.choosing_seconds, "fit_seconds": fitted.learned.seconds,
    }  # fmt: skip


def _judged(tables: CPTs, part: Part, test: bool) -> tuple[float, float]:
    """Accuracy, and the mean of log P(y, x) over the rows whose class is known to the tables."""
    codes, y = (part.test_codes, part.test_y) if test else (part.data.codes, part.data.classes)
    scores, known = log_joint(tables, codes, InferenceOptions(n_jobs=1)), y >= 0
    return accuracy(scores, y), float(scores[known, y[known]].mean())


# ---- the page


def rates(store: Store, recipes: Mapping[str, str]) -> Figures:
    """The mean over the splits in per cent, by data set and column, where all splits are there."""
    found: Figures = {}
    for column, recipe in recipes.items():
        for name in store.data():
            values = store.values("accuracy", data=name, recipe=recipe)
            if len(values) == n_splits(name):
                found[name, column] = 100 * mean(values)
    return found


def of_structure(structure: str) -> dict[str, str]:
    """The recipe of each method."""
    return {method: f"{structure}-{words}" for method, words in METHODS.items()}


def page(store: Store) -> list[Block]:
    """Ours beside the published figures, how many agree, NB, and what MCL and MM are that end
    earlier.
    """
    named = list(dict.fromkeys([*SETS, *store.data()]))
    tan, naive = (rates(store, of_structure(structure)) for structure in STRUCTURES)
    return [
        *how_many(store, tasks(quick=False)),
        beside(
            "Accuracy in per cent, TAN",
            tan,
            PUBLISHED,
            [*named, "TIMIT"],
            COLUMNS,
            TOLERANCE,
            corner="data",
        ),
        agreement(tan),
        replace(beside(NAIVE, naive, {}, named, tuple(METHODS), TOLERANCE, corner="data"), note=""),
        *ended_earlier(store),
    ]


def agreement(ours: Figures) -> ResultTable:
    """How many sets are near the published figures."""
    rows = [
        _agreement_row(method, [key for key in ours if key[1] == method], ours)
        for method in METHODS
    ]
    rows.append(_agreement_row("all cells", list(ours), ours))
    head = (
        "",
        "sets",
        f"within {TOLERANCE:g}",
        f"at most {TOLERANCE:g} below",
        "in P13's interval",
        "mean difference",
    )
    note = "P13's intervals are of 95 %, from its five folds or from the number of test rows."
    return ResultTable("How many agree with P13", head, rows, note)


def _agreement_row(title: str, keys: Sequence[tuple[str, str]], ours: Figures) -> list[str]:
    away = {key: ours[key] - PUBLISHED[key] for key in keys if key in PUBLISHED}
    counts = (
        len(away), sum(abs(value) <= TOLERANCE for value in away.values()),
        sum(value >= -TOLERANCE for value in away.values()), sum(abs(away[key]) <= WIDTHS[key] for key in away),
    )  # fmt: skip
    return [title, *map(str, counts), figure_text(mean(list(away.values())))]


def ends(method: str) -> dict[str, str]:
    """The recipe of a method for each tolerance, its own last."""
    return {tol: early(method, tol) for tol in EARLY} | {"0.000001": of_structure("TAN")[method]}


def ended_earlier(store: Store) -> list[Block]:
    """MCL and MM at several tolerances: how many sets agree with P13, and each set."""
    at = {
        (method, tol): rates(store, {method: recipe})
        for method in ENDING
        for tol, recipe in ends(method).items()
    }
    names = [
        name for name in store.data() if all((name, cell[0]) in found for cell, found in at.items())
    ]
    near = (f"within {TOLERANCE:g}", f"at most {TOLERANCE:g} below", "mean difference")
    head = ("", "tol", "sets", *near, "iterations", "relative likelihood")
    rows = [_end_row(store, method, tol, names, found) for (method, tol), found in at.items()]
    each = [_end_cells(name, at) for name in names]
    columns = (
        "data",
        *(title for method in ENDING for title in (f"{method} in P13", *ends(method))),
    )
    return [
        ResultTable("MCL and MM with TAN that end earlier", head, rows, EARLIER, left=2),
        ResultTable(
            "Accuracy in per cent of MCL and MM that end at these tolerances", columns, each
        ),
    ]


def _end_row(
    store: Store, method: str, tol: str, names: Sequence[str], found: Figures
) -> list[str]:
    recipe, kept = ends(method)[tol], {key: rate for key, rate in found.items() if key[0] in names}
    title, n_sets, near, above, _, difference = _agreement_row(method, list(kept), kept)
    iterations = [
        value for name in names for value in store.values("iterations", data=name, recipe=recipe)
    ]
    ratios = [ratio for name in names for ratio in relative(store, name, "TAN-P13ML", recipe)]
    return [
        title,
        tol,
        n_sets,
        near,
        above,
        difference,
        figure_text(mean(iterations), 0),
        figure_text(mean(ratios)),
    ]


def _end_cells(name: str, at: Mapping[tuple[str, str], Figures]) -> list[str]:
    cells = [name]
    for method in ENDING:
        found = [at[method, tol][name, method] for tol in ends(method)]
        cells += map(figure_text, (PUBLISHED.get((name, method), math.nan), *found))
    return cells


def relative(
    store: Store, name: str, ml: str, recipe: str, metric: str = "train_log_likelihood"
) -> list[float]:
    """LL(ML) / LL(recipe) in per cent, for each split of a set that has both."""
    best = {result.fold: result[metric] for result in store.where(data=name, recipe=ml)}
    found = [
        (best.get(one.fold, math.nan), one[metric]) for one in store.where(data=name, recipe=recipe)
    ]
    return [100 * a / b for a, b in found if not math.isnan(a / b)]


PROTOCOL = f"""TAN structures of maximum likelihood, and naive Bayes. Five folds of all rows; letter has its published
split, and of nursery, usps, adult and shuttle a third is drawn for test. Rows with gaps are left out; cut points by
MDLP on the training rows. All methods begin at P13's ML, with one virtual observation spread over each table. MCL
and MM end when an iteration of L-BFGS changes the mean by less than 1e-6, ML-BN-SVM at a relative gap of 1e-3 or
after 1,000 iterations.

{CHOICE} On letter, satimage and usps half of the training rows choose, on adult and shuttle a sixteenth.
The columns of the SVMs are P13's and were not run. TIMIT cannot be had."""

DEVIATIONS = f"""{CHANGED} On usps an eighth of the rows chose at first, with an accuracy of 92.1 (MM 93.6).

**ML-BN-SVM** is within 1.5 points of P13 on 20 of 26 sets and in its interval on 23; it is the best of the four
methods on 13 sets, in P13 on 14. ML is within 1.5 points on 20 sets and in the interval on 25, so data and cut points
are mostly the same; MCL and MM agree less, see below.

**Small sets.** hepatitis (80 rows) is above P13 with all four methods, by 3.8 to 5.2, glass (214 rows) below with all
four, by 2.7 to 3.9, lymphography (148 rows) above with ML-BN-SVM and below with MM: other folds are enough for that,
as P13's intervals there are ±3 to ±11. soybean-large and diabetes are above it with MCL and MM.

**abalone** is above P13 with all methods, by 5 to 6: the rings are grouped into 1 to 8, 9 to 10 and more here, and
P13 does not say how it groups them.

**usps** has 95.98 in P13 with MM and ML-BN-SVM, here 94.7 and 93.1, while ML (90.8, 91.2) agrees and MCL is 3.1 above:
it may be another version of the data, see "Splits".

**satimage** is above P13 with ML (1.6), ML-BN-SVM (1.7) and MCL (3.8; at no tolerance below 85.3, where P13 has
81.5). As ML has nothing to tune, the cut points or the folds are probably others; which was not found out.

**australian, ML** is 2.5 above P13, within P13's interval of ±2.7.

**MCL on waveform-21, letter and crx, MM on these and on satimage, australian, vote, cleve, german and flare** are below
P13, by 1.8 to 4.2. These fits go on after the training rows are fitted (100 % right on letter, satimage and vote,
93 % on waveform-21), and what they gain there they lose at test: the last table has them at earlier ends. MCL at 1e-3
is on no set more than 1.5 points below. MM at 1e-2 is within 1.5 points on waveform-21, australian and vote, at
1e-3 on letter and satimage; no tolerance suits all sets. P13's relative likelihood of MCL, 67 %, lies between those
of 1e-4 and 1e-6, after 24 to 69 iterations, so its fits probably ended earlier than ours. P13 says that MM was run
without early stopping; its optimiser is another one (conjugate gradient), and the 100 pairs of λ and κ that it
compares against our 7 are one more possible reason. Neither was tried.

**MCL on segment** is 1.9 above P13; at 1e-2 it is 1.3 above. The cause was not found.

**Splits.** The intervals of P13's large sets tell their test rows, if they are 1.96 standard errors: about 6,480 on
letter (here 5,000, so its split is another one), 4,100 to 4,200 on nursery (here 4,320), 3,530 to 3,560 on usps. The
last is 38 % of the 9,298 rows that can be had, but 32 % of the 11,000 rows of the other version, the share that
letter and nursery have: P13's USPS may be the version that cannot be had.

**MM with small λ.** Log probabilities of tables of MM can go below −700. For a time fits raised them to −700, which
sums over gaps need, and decisions on complete rows changed by it; now only those sums do. Nearly all rows here were
made before, and come out as stored now. NB with MM on chess, 91.3, has it in it: its fold 2 (counted from 0; 66.0,
with 98.1 on the training rows) has a value that no training row has, so that its test rows went through sums over
gaps, which hold such probabilities at −700 still."""

EXPERIMENT = Experiment(
    "p13-table1", "P13", "Table 1", "Accuracy of ML, MCL, MM and ML-BN-SVM parameters (TAN and naive Bayes)",
    tasks, page, METRICS, protocol=PROTOCOL, deviations=DEVIATIONS,
)  # fmt: skip
