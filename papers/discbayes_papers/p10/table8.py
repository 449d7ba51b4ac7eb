"""P10 Table 8: does the order matter? OMI-CR against random orders, ML parameters, one parent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import nan, sqrt
from time import perf_counter
from typing import Any

import numpy as np

from discbayes.evaluation.result_blocks import Block, ResultTable, Text
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes.network import Structure
from discbayes.recipes import parse
from discbayes_papers.experiment import Experiment, Figures, read_figures
from discbayes_papers.figures import beside, figure_text, how_many, table_page
from discbayes_papers.learning import learn_structure, learn_tables
from discbayes_papers.p10.draws import drawn
from discbayes_papers.p10.orders import Orders, n_right, parts_of, random_orders
from discbayes_papers.p10.shared import BY_SIZE, FRIEDMAN, QUICK, average
from discbayes_papers.parts import Part, SplitRows, load_rows, make_part, published_splits

METRICS = ("accuracy", "std", "median", "at_least", "at_largest", "train_rate", "n_test", "orders")
OMI, MIN_MI, RANDOM = "TAN-OMI-CR-ML", "TAN-minMI-CR-ML", "TAN-RO-CR-ML"
N_ORDERS, N_ORDERS_OF, N_QUICK = 1000, {"letter": 100}, 20
AVERAGE = "average"
TOLERANCE = 1.5
COLUMNS = {
    "OMI-CR": (OMI, "accuracy"), "RO-CR mean": (RANDOM, "accuracy"),
    "RO-CR median": (RANDOM, "median"), "RO-CR min": (RANDOM, "at_least"),
    "RO-CR max": (RANDOM, "at_largest"), "RO-CR std": (RANDOM, "std"),
    "min-MI": (MIN_MI, "accuracy"),
}  # fmt: skip
PUBLISHED = read_figures("p10/table8.csv")

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
            tried_orders(part, n_orders, task.seed) if tag == RANDOM else tried_recipe(part, tag)
            for part in parts_of(task.data, task.seed)
        ]
        yield task.result(tag, summary(tried), perf_counter() - started)


def tried_recipe(part: Part, tag: str) -> Tried:
    """The one order of a recipe."""
    found = learn_structure(part, parse(tag).structure)
    return Tried(
        np.array([_right(part, found.value)]), np.array([found.history[-1]["score"]]), part.n_test
    )


def tried_orders(part: Part, n_orders: int, seed: int = 0) -> Tried:
    """Random orders, the same ones for each part of a data set."""
    search, known = Orders(part, "cr"), dict[Structure, int]()
    found = [search.run(order) for order in random_orders(part.data.n_features, n_orders, seed)]
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
        "accuracy": float(accuracy.mean()),
        "std": float(accuracy.std()),
        "median": float(np.median(accuracy)),
        "at_least": float(least),
        "at_largest": float(largest),
        "n_test": n_test,
        "orders": accuracy.size,
        "train_rate": float(np.mean([one.rates.mean() for one in tried])),
    }


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


def more(store: Store, ours: Figures) -> list[Block]:
    """What OMI is worth, the spread over random orders, and the variants."""
    spread = beside(
        "Standard deviation over random orders, and the order of least information (%)",
        ours,
        PUBLISHED,
        (*FRIEDMAN, AVERAGE),
        list(COLUMNS)[5:],
        TOLERANCE,
        corner="data set",
    )
    return [
        Text(worth(ours)),
        replace(spread, note=""),
        by_chance(store, ours),
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


def by_chance(store: Store, ours: Figures) -> ResultTable:
    """The figures that are marked, in deviations over orders and over draws of the folds.

    P10's figure and ours are one draw of the folds each, and least and largest one order each.
    """
    found, rows = drawn(store), []
    for name, column in product(FRIEDMAN, list(COLUMNS)[:5]):
        difference = ours.get((name, column), nan) - PUBLISHED[name, column]
        if not abs(difference) > TOLERANCE:
            continue
        place = found.get((name, OMI))
        folds = 0.0 if place is None else float(place.values.std())
        orders = ours[name, "RO-CR std"] if column in ("RO-CR min", "RO-CR max") else 0.0
        both = sqrt(2 * (folds**2 + orders**2))
        if not both:  # one published split, and no order at random
            continue
        rows.append(
            [
                name, column, f"{difference:+.2f}", figure_text(folds), figure_text(orders),
                figure_text(difference / both),
            ]
        )  # fmt: skip
    header = ["data set", "column", "difference", "over folds", "over orders", "in deviations"]
    title = "Marked figures: the difference in standard deviations (%)"
    note = (
        "Over folds: OMI-CR over draws of the folds (p10-draws), zero where the split is published."
        " Over orders: RO-CR std. In deviations: of the difference of two such figures."
    )
    return ResultTable(title, header, rows, note, left=2)


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


EXPERIMENT = Experiment(
    name="p10-table8",
    paper="P10",
    where="Table 8",
    title="Does the order matter? OMI-CR against random orders",
    tasks=tasks,
    page=table_page(
        PUBLISHED,
        figures_of,
        TOLERANCE,
        columns=list(COLUMNS)[:5],
        corner="data set",
        stored=lambda store: how_many(store, tasks(False)),
        more=more,
    ),
    metrics=METRICS,
)
