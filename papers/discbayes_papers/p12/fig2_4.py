"""P12 Figures 2 to 4: runs of annealing, what they cost, and how fast to cool."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from discbayes._lazy_imports import need
from discbayes.evaluation.result_blocks import Block, Picture, ResultTable
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import figure_text, how_many
from discbayes_papers.p12.shared import (
    ANNEALED,
    METRICS,
    N_RUNS,
    QUICK,
    SPAM,
    STORE,
    learn,
    p12_tasks,
    runs_of,
    store_sets,
)

FIGURE2 = ("TAN-HC-CR", "TAN-SA-CR", "TAN-HC-MM", "TAN-SA-MM")
COOLING = (0.5, 0.6, 0.7, 0.8, 0.9)
USUAL = 0.8
INK = {
    "TAN-HC-CR": "#b5651d",
    "TAN-SA-CR": "#b5651d",
    "TAN-HC-MM": "#1f5a7a",
    "TAN-SA-MM": "#1f5a7a",
}


def tasks(quick: bool) -> list[Task]:
    """The runs of Table 1, and further ones of other schedules on the first split."""
    return [*p12_tasks(quick), *schedule_tasks(quick)]


def schedule_tasks(quick: bool) -> list[Task]:
    """Annealing with each D but the usual one."""
    name, cooling, n_runs = (QUICK, COOLING[:1], 2) if quick else (SPAM, COOLING, N_RUNS)
    return [
        Task(name, 0, (label_of(structure, factor),), run, learn, {"cooling": factor})
        for structure in ANNEALED
        for factor in cooling
        if factor != USUAL
        for run in range(n_runs)
    ]


def label_of(structure: str, factor: float) -> str:
    """The recipe of a schedule; the usual one is that of Table 1.

    >>> label_of("TAN-SA-MM", 0.5), label_of("TAN-SA-MM", 0.8)
    ('TAN-SA-MM-ML D=0.5', 'TAN-SA-MM-ML')
    """
    return f"{structure}-ML" if factor == USUAL else f"{structure}-ML D={factor:g}"


def page(store: Store) -> Sequence[Block]:
    """The boxes of Figures 2 and 3, the schedules of Figure 4, and their numbers."""
    names = [name for name in store_sets(store) if store.where(data=name, recipe="TAN-SA-MM-ML")]
    cooled = [
        name for name in names if store.where(data=name, recipe=label_of("TAN-SA-MM", COOLING[0]))
    ]
    blocks: list[Block] = [
        *how_many(store, tasks(False)),
        *(_evaluations(store, name) for name in names),
    ]
    if names:
        accuracies = partial(draw_boxes, store, names, "accuracy", 100.0)
        blocks.append(Picture("fig2", "Accuracy of the runs (Figure 2), first split", accuracies))
        evaluations = partial(draw_boxes, store, names, "evaluations", 1.0)
        blocks.append(
            Picture("fig3", "Score evaluations of the runs (Figure 3), first split", evaluations)
        )
    blocks += [_schedules(store, name) for name in cooled]
    if cooled:
        blocks.append(
            Picture(
                "fig4", "Schedules (Figure 4), first split", partial(draw_schedules, store, cooled)
            )
        )
    return blocks


# ---- tables


def _evaluations(store: Store, name: str) -> ResultTable:
    rows = []
    for structure in FIGURE2:
        accuracy = runs_of(store, "accuracy", name, f"{structure}-ML", 100.0)
        costs = runs_of(store, "evaluations", name, f"{structure}-ML")
        seconds = runs_of(store, "search_seconds", name, f"{structure}-ML").median
        figures = map(figure_text, (accuracy.median, accuracy.least, accuracy.largest))
        rows.append(
            [
                structure,
                *figures,
                *(_count(value) for value in (costs.median, costs.least, costs.largest)),
                _count(seconds),
            ]
        )
    head = [
        "",
        "accuracy, median",
        "least",
        "largest",
        "evaluations, median",
        "least",
        "largest",
        "seconds",
    ]
    greedy, annealed = (
        runs_of(store, "evaluations", name, f"{s}-ML").median for s in ("TAN-HC-MM", "TAN-SA-MM")
    )
    note = f"Evaluations of HC-MM over those of SA-MM: {figure_text(greedy / annealed, 1)}."
    return ResultTable(f"Runs on {name}", head, rows, note)


def _count(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:,.0f}"


def _schedules(store: Store, name: str) -> ResultTable:
    rows = []
    for structure in ANNEALED:
        for factor in COOLING:
            accuracy, costs, score = (
                first_split(store, metric, name, label_of(structure, factor))
                for metric in ("accuracy", "evaluations", "score")
            )
            if len(accuracy):
                spread = f"{100 * accuracy.min():.2f} to {100 * accuracy.max():.2f}"
                figures = [
                    f"{100 * np.median(accuracy):.2f}",
                    spread,
                    f"{np.median(score):.5g}",
                    _count(np.median(costs)),
                ]
                rows.append([structure, f"{factor:g}", *figures, str(len(accuracy))])
    head = [
        "structure",
        "D",
        "accuracy, median",
        "range",
        "score, median",
        "evaluations, median",
        "runs",
    ]
    return ResultTable(f"Schedules on {name}, first split", head, rows)


def first_split(store: Store, metric: str, name: str, recipe: str) -> np.ndarray:
    """The figures of the runs on the first split."""
    return np.array(store.values(metric, data=name, recipe=recipe, fold=0))


# ---- pictures


def draw_boxes(store: Store, names: Sequence[str], metric: str, scale: float) -> Any:
    """A box for the runs of each structure; greedy search has one run."""

    def one(axes: Any, name: str) -> None:
        values = [
            scale * first_split(store, metric, name, f"{structure}-ML") for structure in FIGURE2
        ]
        boxes = axes.boxplot(values, whis=(0, 100), widths=0.5, medianprops={"color": "#a03c32"})
        for box, structure in zip(boxes["boxes"], FIGURE2, strict=True):
            box.set_color(INK[structure])
        axes.set_xticks(range(1, 5), [structure.removeprefix("TAN-") for structure in FIGURE2])
        if metric == "evaluations":
            axes.set_yscale("log")

    return _side_by_side(
        names, one, "score evaluations" if metric == "evaluations" else "classification rate, %"
    )


def draw_schedules(store: Store, names: Sequence[str]) -> Any:
    """The rate of each run over its score evaluations, by schedule."""
    markers = dict(zip(COOLING, "osD^v", strict=True))

    def one(axes: Any, name: str) -> None:
        for structure in ANNEALED:
            for factor in COOLING:
                label = label_of(structure, factor)
                costs, rates = (
                    first_split(store, metric, name, label)
                    for metric in ("evaluations", "accuracy")
                )
                text = f"{structure.removeprefix('TAN-')}, D = {factor:g}"
                axes.plot(
                    costs,
                    100 * rates,
                    markers[factor],
                    color=INK[structure],
                    ms=4,
                    alpha=0.6,
                    label=text,
                )
        axes.set_xscale("log")
        axes.set_xlabel("score evaluations")
        axes.legend(frameon=False, fontsize=7)

    return _side_by_side(names, one, "classification rate, %")


def _side_by_side(names: Sequence[str], one: Callable[[Any, str], None], label: str) -> Any:
    """Axes for each data set."""
    size = (3.6 * len(names) + 0.6, 3.6)
    figure, axes = need("matplotlib.pyplot").subplots(
        1, len(names), figsize=size, layout="constrained", squeeze=False
    )
    for ax, name in zip(axes[0], names, strict=True):
        one(ax, name)
        ax.set_title(name, fontsize=10)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    axes[0, 0].set_ylabel(label)
    return figure


EXPERIMENT = Experiment(
    name="p12-fig2-4",
    paper="P12",
    where="Figures 2, 3 and 4",
    title="Runs of annealing: accuracy, score evaluations and schedules",
    tasks=tasks,
    page=page,
    metrics=METRICS,
    store=STORE,
)
