"""P13 Figure 2: accuracy with features missing at test for several λ, on vehicle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from discbayes._lazy_imports import leaf
from discbayes.evaluation.result_blocks import Block, Picture, ResultTable
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import figure_text, how_many
from discbayes_papers.learning import decisions
from discbayes_papers.p13.shared import (
    SHARES,
    WITH_GAPS,
    accuracy_with_gaps,
    fit,
    mean,
    p13_part,
    p13_tasks,
)

METRICS = ("gamma", "n_test", *WITH_GAPS)
DATA, QUICK_DATA = "vehicle", "iris"
RECIPES = {f"λ = {lam:g}": f"TAN-MLBNSVM lam={lam:g}" for lam in (0, 1, 16, 256)}
N_DRAWS = 100


def tasks(quick: bool) -> list[Task]:
    """All λ on each fold."""
    name, n_folds = (QUICK_DATA, 1) if quick else (DATA, 5)
    return p13_tasks(lose_features, [name], list(RECIPES.values()), n_folds)


def lose_features(task: Task) -> Iterator[Result]:
    """The accuracy with each share of the features missing."""
    part = p13_part(task)
    fitted = {recipe: fit(task, recipe) for recipe in task.recipes}
    judges = {recipe: decisions(one.learned.value) for recipe, one in fitted.items()}
    for recipe, found in accuracy_with_gaps(part, judges, N_DRAWS).items():
        one = fitted[recipe]
        yield task.result(
            recipe, {**one.choice.numbers, "n_test": part.n_test, **found}, one.seconds
        )


def page(store: Store) -> list[Block]:
    """A table and the figure."""
    curves = {
        title: [mean(store.values(metric, recipe=recipe)) for metric in WITH_GAPS]
        for title, recipe in RECIPES.items()
    }
    rows = [
        [f"{share} %", *(figure_text(100 * rates[place]) for rates in curves.values())]
        for place, share in enumerate(SHARES)
    ]
    blocks = [
        *how_many(store, tasks(quick=False)),
        ResultTable("Accuracy in per cent", ("missing features", *curves), rows),
    ]
    if len(store):
        blocks.append(
            Picture(
                "curves",
                "Accuracy with features missing at test, for several λ.",
                lambda: draw(curves),
            )
        )
    return blocks


def draw(curves: dict[str, list[float]]) -> Any:
    """The figure."""
    return leaf("plot").missing_curves([share / 100 for share in SHARES], curves).figure


EXPERIMENT = Experiment(
    name="p13-fig2",
    paper="P13",
    where="Figure 2",
    title="Features missing at test, for several λ (vehicle, TAN)",
    tasks=tasks,
    page=page,
    metrics=METRICS,
)
