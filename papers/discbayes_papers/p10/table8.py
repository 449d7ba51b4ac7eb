"""P10 Table 8: does the order matter? OMI-CR against random orders, ML parameters, one parent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np

from discbayes.evaluation.result_blocks import Block, ResultTable, Text
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes.network import Structure
from discbayes.recipes import parse
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import (
    Figures,
    beside,
    figure_text,
    how_many,
    read_figures,
)
from discbayes_papers.learning import learn_structure, learn_tables
from discbayes_papers.p10.orders import Orders, n_right, parts_of, random_orders
from discbayes_papers.p10.shared import BY_SIZE, FRIEDMAN, QUICK, average
from discbayes_papers.parts import Part, SplitRows, load_rows, make_part, published_splits

METRICS = ("accuracy", "std", "median", "at_least", "at_largest", "train_rate", "n_test", "orders")
OMI, MIN_MI, RANDOM = "TAN-OMI-CR-ML", "TAN-minMI-CR-ML", "TAN-RO-CR-ML"
N_ORDERS, N_ORDERS_OF, N_QUICK = 1000, {"letter": 100}, 20
AVERAGE = "average"
TOLERANCE = 1.5
COLUMNS = {
    "OMI-CR": (OMI, "accuracy"), "RO-CR mean": (RANDOM, "accuracy"), "RO-CR median": (RANDOM, "median"),
    "RO-CR min": (RANDOM, "at_least"), "RO-CR max": (RANDOM, "at_largest"), "RO-CR std": (RANDOM, "std"),
    "min-MI": (MIN_MI, "accuracy"),
}  # fmt: skip
PUBLISHED_COLUMNS = ("OMI-CR", "RO-CR mean", "RO-CR std", "RO-CR median", "RO-CR min", "RO-CR max")
PUBLISHED = read_figures(
    """
australian    82.04 84.58 0.77 84.62 84.63 83.60
breast10      97.40 97.19 0.26 97.23 97.39 96.95
chess         94.93 94.70 0.76 94.75 95.22 93.90
cleve         81.76 81.42 0.97 81.42 82.76 82.76
corral        99.20 95.79 2.55 96.17 96.80 95.20
crx           84.07 84.21 0.82 84.23 84.07 84.22
diabetes      74.36 75.23 0.52 75.26 75.53 75.01
flare         82.74 82.38 0.50 82.44 81.80 81.98
german        73.20 72.83 0.87 72.80 71.50 71.50
glass         70.70 71.74 1.13 71.81 70.20 73.44
glass2        82.20 81.94 0.73 82.14 82.14 82.20
heart         81.85 82.83 0.85 82.96 82.59 83.33
hepatitis     90.67 89.25 1.69 89.00 90.33 90.33
iris          93.33 93.58 0.55 93.33 92.67 93.33
letter        87.00 86.53 0.60 86.54 86.70 86.50
lymphography  88.30 85.83 1.72 85.92 87.12 81.27
mofn-3-7-10   91.41 90.11 1.01 90.14 89.55 89.75
pima          75.26 75.70 0.49 75.65 75.78 76.56
shuttle-small 99.17 99.33 0.13 99.33 99.22 99.17
vote          94.29 93.90 0.69 93.84 93.36 94.06
satimage      88.25 87.47 0.44 87.45 87.05 87.20
segment       94.42 94.63 0.59 94.68 92.99 95.45
soybean-large 91.11 92.29 0.78 92.34 92.14 91.74
vehicle       67.38 68.18 0.90 68.13 67.42 68.20
waveform-21   78.02 78.19 0.51 78.21 78.77 77.79
average       85.11 85.04    - 85.06 85.00 84.82
""",
    PUBLISHED_COLUMNS,
)

# What a search meets where the paper leaves something open: variants of the rows, and how many of
# them.
MOVED, DRAWN, WHOLE = "columns moved", "rows drawn", "no cut points"
VARIED = ("TAN-CR-ML", OMI)
N_MOVED, N_DRAWN = {"mofn-3-7-10": 200, "chess": 30, "satimage": 30, "letter": 10}, 10


def tasks(quick: bool) -> list[Task]:
    """All orders of a data set together; then the variants."""
    if quick:
        return [
            *_order_tasks(QUICK),
            *_variant_tasks(QUICK[-1], 2, 2),
            _variant_task(QUICK[0], VARIED[0], WHOLE, 0),
        ]
    variants = [
        task for name, n_moved in N_MOVED.items() for task in _variant_tasks(name, n_moved, N_DRAWN)
    ]
    return [
        *_order_tasks(BY_SIZE),
        *variants,
        *(_variant_task("letter", tag, WHOLE, 0) for tag in VARIED),
    ]


def _order_tasks(names: Sequence[str]) -> list[Task]:
    quick = {"n_orders": N_QUICK} if names is QUICK else {}
    return [Task(name, 0, (OMI, MIN_MI, RANDOM), 0, by_orders, quick) for name in names]


def _variant_tasks(name: str, n_moved: int, n_drawn: int) -> list[Task]:
    kinds = [(MOVED, seed) for seed in range(n_moved)] + [(DRAWN, seed) for seed in range(n_drawn)]
    return [_variant_task(name, tag, kind, seed) for tag in VARIED for kind, seed in kinds]


def _variant_task(name: str, tag: str, kind: str, seed: int) -> Task:
    return Task(name, 0, (f"{tag}, {kind}",), seed, with_variant)


# ---- orders


@dataclass(frozen=True)
class Tried:
    """What some orders lead to on one part: test rows that are right, and the rate on the training
    rows.
    """

    right: np.ndarray
    rates: np.ndarray
    n_test: int


def by_orders(task: Task) -> Iterator[Result]:
    """The accuracy of each recipe over all splits of a data set; that of random orders is a
    mean.
    """
    n_orders = task.options.get("n_orders", N_ORDERS_OF.get(task.data, N_ORDERS))
    for tag in task.recipes:
        started = perf_counter()
        tried = [
            tried_orders(part, n_orders) if tag == RANDOM else tried_recipe(part, tag)
            for part in parts_of(task.data)
        ]
        yield task.result(tag, summary(tried), perf_counter() - started)


def tried_recipe(part: Part, tag: str) -> Tried:
    """The one order of a recipe."""
    found = learn_structure(part, parse(tag).structure)
    return Tried(
        np.array([_right(part, found.value)]), np.array([found.history[-1]["score"]]), part.n_test
    )


def tried_orders(part: Part, n_orders: int) -> Tried:
    """Random orders, the same ones for each part of a data set."""
    search, known = Orders(part, "cr"), dict[Structure, int]()
    found = [search.run(order) for order in random_orders(part.data.n_features, n_orders)]
    for structure, _ in found:
        if structure not in known:
            known[structure] = _right(part, structure)
    return Tried(
        np.array([known[structure] for structure, _ in found]),
        np.array([r for _, r in found]),
        part.n_test,
    )


def _right(part: Part, structure: Structure) -> int:
    tables = learn_tables(part, structure, parse(OMI).parameters).value
    return n_right(tables, part.test_codes, part.test_y)


def summary(tried: Sequence[Tried]) -> dict[str, float]:
    """Figures over orders of the accuracy on all splits; least and largest are by the rate on the
    training rows.
    """
    n_test = sum(one.n_test for one in tried)
    accuracy = np.sum([one.right for one in tried], axis=0) / n_test
    least = sum(one.right[one.rates.argmin()] for one in tried) / n_test
    largest = sum(one.right[one.rates.argmax()] for one in tried) / n_test
    return {
        "accuracy": float(accuracy.mean()), "std": float(accuracy.std()), "median": float(np.median(accuracy)),
        "at_least": float(least), "at_largest": float(largest), "n_test": n_test, "orders": accuracy.size,
        "train_rate": float(np.mean([one.rates.mean() for one in tried])),
    }  # fmt: skip


# ---- variants


def with_variant(task: Task) -> Iterator[Result]:
    """The accuracy of a recipe on the first split of a variant of the rows."""
    for recipe in task.recipes:
        tag, _, kind = recipe.partition(", ")
        rows = varied(load_rows(task.data), kind, task.seed)
        part = make_part(rows, published_splits(rows)[0], None if kind == WHOLE else "mdlp")
        found = learn_structure(part, parse(tag).structure)
        figures: dict[str, float] = {
            "accuracy": _right(part, found.value) / part.n_test,
            "n_test": part.n_test,
        }
        yield task.result(
            recipe, figures | {"train_rate": found.history[-1]["score"]}, found.seconds
        )


def varied(rows: SplitRows, kind: str, seed: int) -> SplitRows:
    """The same rows with the columns in another order, or in another order, so that others are for
    training.
    """
    rng = np.random.default_rng(seed)
    if kind == MOVED:
        return replace(rows, X=rows.X[:, rng.permutation(rows.X.shape[1])])
    if kind == DRAWN:
        order = rng.permutation(len(rows.y))
        return replace(rows, X=rows.X[order], y=rows.y[order])
    return rows


# ---- the page


def page(store: Store) -> list[Block]:
    """Ours beside the published figures, what OMI is worth, and the variants."""
    ours = figures_of(store)
    table = beside(
        "Accuracy (%)", ours, PUBLISHED, (*FRIEDMAN, AVERAGE), list(COLUMNS)[:5], TOLERANCE, corner="data set"
    )  # fmt: skip
    spread = beside(
        "Standard deviation over random orders, and the order of least information (%)", ours, PUBLISHED,
        (*FRIEDMAN, AVERAGE), list(COLUMNS)[5:], TOLERANCE, corner="data set",
    )  # fmt: skip
    return [
        *how_many(store, tasks(False)),
        table,
        Text(worth(ours)),
        replace(spread, note=""),
        variants_table(store),
    ]


def figures_of(store: Store) -> Figures:
    """Per cent by data set and column, and the averages."""
    found = {(one.data, one.recipe): one for one in store.where(fold=0, seed=0)}
    ours = {
        (name, column): 100 * found[name, tag][metric]
        for name in FRIEDMAN
        for column, (tag, metric) in COLUMNS.items()
        if (name, tag) in found
    }
    return ours | {
        (AVERAGE, column): average(ours, column) for column in COLUMNS if column != "RO-CR std"
    }


def worth(ours: Figures) -> str:
    """On how many sets one column is above another, in our figures and in P10's."""
    omi, choosing = (
        " and on ".join(
            f"{above(figures, *pair)} sets in {whose}"
            for whose, figures in (("our figures", ours), ("P10's", PUBLISHED))
        )
        for pair in (("OMI-CR", "RO-CR mean"), ("RO-CR max", "RO-CR min"))
    )
    return (
        f"OMI-CR is above the mean of random orders on {omi}. Of random orders the one with the"
        f" largest training rate is better on test rows than the one with the least on {choosing}."
    )


def above(figures: Figures, better: str, worse: str) -> str:
    """On how many sets, of those that have both columns, the first is larger.

    >>> above({("iris", "a"): 2.0, ("iris", "b"): 1.0, ("glass", "a"): 1.0}, "a", "b")
    '1 of 1'
    """
    pairs = [(figures.get((name, better)), figures.get((name, worse))) for name in FRIEDMAN]
    larger = [a > b for a, b in pairs if a is not None and b is not None]
    return f"{sum(larger)} of {len(larger)}"


def variants_table(store: Store) -> ResultTable:
    """Least, median and largest accuracy of each variant."""
    rows = []
    for name, tag in product(store.data(), VARIED):
        for kind in (MOVED, DRAWN, WHOLE):
            found = [
                100 * value
                for value in store.values("accuracy", data=name, recipe=f"{tag}, {kind}")
            ]
            if found:
                levels: Any = np.quantile(found, (0, 0.5, 1))
                rows.append([name, tag, kind, str(len(found)), *map(figure_text, levels)])
    head = ("data set", "recipe", "variant", "runs", "least", "median", "largest")
    return ResultTable("What is left open in the paper moves: accuracy (%)", head, rows, left=3)


PROTOCOL = f"""1,000 random orders, {N_ORDERS_OF["letter"]} for letter; the same ones in each fold. Accuracies are
over all splits of a data set (five stratified folds or the published split, as in p10-table7); mean, standard
deviation and median are over the orders. As in P10, min and max are test accuracies of those orders that have the
least and the largest rate on the training rows, chosen in each fold. Parents are chosen by the classification rate on
the training rows, of equal ones the first. Published figures in brackets.

The last table shows how far an accuracy moves where the paper leaves something open: with the columns in another
order, of edges that improve the rate equally another is the first; with the rows drawn anew, as many as in the
published split are for training; and the whole numbers of letter as categories, without cut points."""
DEVIATIONS = """The averages are within 0.3 points of P10's but for that of the orders with the least training rate
(0.65 below), and the standard deviations over orders are P10's within 0.2 points on all but glass2, iris,
lymphography and pima. As in P10 an order by OMI is on average hardly better than a random one: by 0.04 points here,
by 0.07 there. P10's remark that orders which do worst on the training rows do better on the test rows than those
which do best is not confirmed: here the average of the latter is 0.6 points higher.

**Min and max** are test accuracies of one structure in each fold, of a thousand; with a standard deviation over
structures of up to 2.5 points differences of 2 points in either direction are what chance makes, and they go both
ways. Equal training rates are frequent, and which of equal orders is taken is not said in P10 (here the first).

**Lymphography** (6 to 9 points below): it is the smoothing. Two of its four classes have four rows and two. Zero
entries become 1e-5, as P10 says it did; over six draws of the folds that gives 80.7 for NB-ML and for OMI-CR, with a
range of 77.7 to 83.8. With 0.01 in the place of 1e-5 NB-ML has 84.6, and with 0.5 added to each count 84.1 (P10:
84.77), and OMI-CR 84.4 with 0.5 added (80.4 to 87.8; P10: 88.30). Whole numbers as categories instead of cut points
change less than one point. So P10's figure fits a larger smoothing than the one it names; on heart and glass2 0.01
adds 0.3 to 0.9 points, on vehicle it takes 0.3.

**Heart and glass2** (mean and median 1.3 to 2.2 below): it is the draw of the folds. Over six draws the mean of
random orders goes from 80.5 to 82.7 on heart (P10: 82.83) and from 78.4 to 82.7 on glass2 (P10: 81.94).

**Vehicle** (1.7 to 3.1 above): not the draw of the folds, as three draws have 70.1 to 71.4 for OMI-CR; NB-ML is above
P10's figure too (60.1 against 58.8). The cause was not found; other cut points are likely.

**Ties** move all figures of a greedy search on the rate, as the last table shows: edges that gain the same are
frequent, with ML parameters an edge between two features without parents gains the same in both directions, and the
papers do not say which one is taken. With the columns in another order OMI-CR goes from 94.5 to 96.3 on chess, from
86.5 to 88.4 on satimage (P10: 88.25) and from 90.0 to 91.1 on mofn-3-7-10. TAN-CR, which is in p10-table7, moves in
the same way: on mofn-3-7-10, where ours is 1.1 below P10, from 89.5 to 91.1, and 91.02, P10's figure, is one of the
outcomes; on chess from 94.0 to 96.1.

**Letter** (0.7 below): P10's split is not quite ours. Other draws of 15,000 training rows give 86.2 to 87.2 for
OMI-CR (P10: 87.00) and 86.2 to 87.8 for TAN-CR (87.42); its whole numbers as categories give 86.5 and 86.0."""

EXPERIMENT = Experiment(
    "p10-table8", "P10", "Table 8", "Does the order matter? OMI-CR against random orders",
    tasks, page, METRICS, protocol=PROTOCOL, deviations=DEVIATIONS,
)  # fmt: skip
