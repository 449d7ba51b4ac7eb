"""P10 Figure 7: the conditional likelihood of the training rows by the order of the features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from discbayes._lazy_imports import leaf, need
from discbayes.evaluation.result_blocks import Block, Picture, ResultTable, Text
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes.recipes import parse
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import how_many
from discbayes_papers.learning import learn_structure
from discbayes_papers.p10.orders import Orders, parts_of, random_orders
from discbayes_papers.p10.shared import BY_SIZE, FRIEDMAN, QUICK
from discbayes_papers.parts import Part

METRICS = ("likelihood", "std", "orders")
OMI, MIN_MI, RANDOM = "TAN-OMI-CL-ML", "TAN-minMI-CL-ML", "TAN-RO-CL-ML"
RECIPES = (OMI, MIN_MI, RANDOM)
N_ORDERS, N_QUICK = 100, 10
WITHOUT_BENEFIT = ("corral", "glass", "heart")  # in P10
# Sets that are exceptions here or in P10, and whose folds P10 does not tell.
DRAWN, DRAWS, N_DRAWN = ("segment", "vehicle", "glass", "heart", "corral"), range(1, 11), 30


def tasks(quick: bool) -> list[Task]:
    """All orders of a data set together; then other draws of the folds and of the orders."""
    n_orders = N_QUICK if quick else N_ORDERS
    first = [
        Task(name, 0, RECIPES, 0, by_orders, {"n_orders": n_orders})
        for name in (QUICK if quick else BY_SIZE)
    ]
    if quick:
        return first
    return first + [
        Task(name, 0, RECIPES, seed, by_orders, {"n_orders": N_DRAWN})
        for seed in DRAWS
        for name in DRAWN
    ]


def by_orders(task: Task) -> Iterator[Result]:
    """The likelihood of a training row after each way to order, over all splits of a data set."""
    for tag in task.recipes:
        started = perf_counter()
        totals, n_rows = np.zeros(1), 0
        for part in parts_of(task.data, task.seed):
            totals = totals + likelihoods(part, tag, task.options["n_orders"], task.seed)
            n_rows += part.data.n_samples
        values = totals / n_rows
        figures = {
            "likelihood": float(values.mean()),
            "std": float(values.std()),
            "orders": float(values.size),
        }
        yield task.result(tag, figures, perf_counter() - started)


def likelihoods(part: Part, tag: str, n_orders: int, seed: int = 0) -> np.ndarray:
    """Log P(y | x) of the training rows together, for the order of a recipe or for random ones."""
    if tag == RANDOM:
        search = Orders(part, "cl")
        return np.array(
            [search.run(order)[1] for order in random_orders(part.data.n_features, n_orders, seed)]
        )
    return np.array([learn_structure(part, parse(tag).structure).history[-1]["score"]])


# ---- the page


def page(store: Store) -> list[Block]:
    """A table, on how many sets OMI is the best, and the figure."""
    found = {(one.data, one.recipe): one for one in store.where(seed=0)}
    names = [name for name in FRIEDMAN if all((name, tag) in found for tag in RECIPES)]
    blocks = [
        *how_many(store, tasks(False)),
        _table(names, found),
        Text(count_better(names, found)),
        other_draws(store),
    ]
    if names:
        title = (
            "Conditional log likelihood of a training row; random orders: mean and one standard"
            " deviation."
        )
        blocks.append(Picture("likelihood", title, lambda: draw(names, found)))
    return blocks


def is_best(name: str, found: dict[tuple[str, str], Result]) -> bool:
    """Whether OMI is above the mean of random orders and above the least informative order."""
    omi, *others = (found[name, tag]["likelihood"] for tag in RECIPES)
    return omi > max(others)


def count_better(names: Sequence[str], found: dict[tuple[str, str], Result]) -> str:
    """How many sets that is, and which are left."""
    not_best = [name for name in names if not is_best(name, found)]
    n, but = len(names) - len(not_best), f", all but {', '.join(not_best)}" if not_best else ""
    return (
        f"OMI is above the mean of random orders and above min-MI on {n} of {len(names)} sets{but} "
        f"(P10: on 22 of 25, all but {', '.join(WITHOUT_BENEFIT)})."
    )


def other_draws(store: Store) -> ResultTable:
    """On how many draws of the folds and of the orders OMI is the best, and by how much."""
    rows = []
    for name in DRAWN:
        drawn = [
            {(one.data, one.recipe): one for one in store.where(data=name, seed=seed)}
            for seed in DRAWS
        ]
        full = [found for found in drawn if len(found) == len(RECIPES)]
        if full:
            above = [
                found[name, OMI]["likelihood"]
                - max(found[name, tag]["likelihood"] for tag in RECIPES[1:])
                for found in full
            ]
            levels = [_text(float(level)) for level in np.quantile(above, (0, 0.5, 1))]
            best = f"{sum(is_best(name, found) for found in full)} of {len(full)}"
            rows.append([name, best, *levels, "no" if name in WITHOUT_BENEFIT else "yes"])
    header = ("data set", "OMI above both", "by, least", "median", "largest", "above both in P10")
    title = f"Other draws of the folds, and of {N_DRAWN} random orders"
    return ResultTable(title, header, rows)


def _table(names: Sequence[str], found: dict[tuple[str, str], Result]) -> ResultTable:
    rows = []
    for name in names:
        omi, least, drawn = (found[name, tag] for tag in RECIPES)
        rows.append(
            [
                name,
                _text(omi["likelihood"]),
                _text(drawn["likelihood"]),
                _text(drawn["std"]),
                _text(least["likelihood"]),
                "yes" if is_best(name, found) else "no",
            ]
        )
    head = ("data set", "OMI", "random, mean", "random, std", "min-MI", "OMI above both")
    return ResultTable("Conditional log likelihood of a training row", head, rows)


def _text(value: float) -> str:
    return f"{value:.4f}" if abs(value) >= 5e-4 else f"{value:.1e}"


def draw(names: Sequence[str], found: dict[tuple[str, str], Result]) -> Any:
    """The figure."""
    looks, pyplot = leaf("plot").style, need("matplotlib.pyplot")
    figure, ax = pyplot.subplots(figsize=(8.4, 4.2), layout="constrained")
    at = np.arange(len(names))
    for place, (tag, name, shift) in enumerate(
        ((OMI, "OMI", -0.2), (RANDOM, "random", 0.0), (MIN_MI, "min-MI", 0.2))
    ):
        values = [found[data, tag]["likelihood"] for data in names]
        bars = [found[data, tag]["std"] for data in names] if tag == RANDOM else None
        look = {
            "color": looks.COLORS[place],
            "fmt": looks.MARKERS[place],
            "markersize": 4,
            "capsize": 2,
        }
        ax.errorbar(at + shift, values, yerr=bars, label=name, **look)
    ax.set_xticks(at, names, rotation=60, ha="right", fontsize=8)
    ax.set_ylabel("log P(y | x) of a row")
    ax.legend(frameon=False, fontsize=9)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return figure


EXPERIMENT = Experiment(
    name="p10-fig7",
    paper="P10",
    where="Figure 7",
    title="Conditional likelihood of the training rows by the order of the features",
    tasks=tasks,
    page=page,
    metrics=METRICS,
)
