"""P13 Figure 1: likelihood, slack and accuracy along λ, on car with naive Bayes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from discbayes._lazy_imports import leaf
from discbayes.engine import Context
from discbayes.evaluation.result_blocks import Block, Picture, ResultTable, Text
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes.parameters.svm import LAMS, MLBNSVM, PathPoint
from discbayes.paths import MarginPath
from discbayes.recipes import parse
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import figure_text, how_many
from discbayes_papers.learning import learn_structure, measured
from discbayes_papers.p13.shared import mean, p13_splits
from discbayes_papers.parts import N_FOLDS, Part, Split, SplitRows, load_part

METRICS = (
    "slack",
    "negative_likelihood",
    "objective",
    "gap",
    "train_accuracy",
    "accuracy",
    "n_test",
)
DATA, QUICK_DATA, TAG = "car", "iris", "NB-MLBNSVM"
ALL_ROWS = N_FOLDS  # the number of the "fold" that is all rows, for training and for test
QUICK_LAMS = (0.0, 1.0, 16.0)
GAMMA, TOL, MAX_ITER = 1.0, 1e-6, 20_000


def tasks(quick: bool) -> list[Task]:
    """Five folds, and all rows."""
    name, lams = (QUICK_DATA, QUICK_LAMS) if quick else (DATA, LAMS)
    recipes = tuple(recipe_of(lam) for lam in lams)
    return [Task(name, fold, recipes, 0, along, {"lams": lams}) for fold in range(N_FOLDS + 1)]


def recipe_of(lam: float) -> str:
    """The recipe of one λ."""
    return f"{TAG} lam={lam:g}"


def splits(rows: SplitRows, seed: int = 0) -> list[Split]:
    """P13's folds, and all rows for both."""
    everything = np.arange(len(rows.y))
    return [*p13_splits(rows, seed), (everything, everything)]


def along(task: Task) -> Iterator[Result]:
    """Slack, likelihood and accuracy for every λ, each fit begun where the one before ended."""
    part, context = load_part(task.data, task.fold, task.seed, splits), Context(n_jobs=1)
    structure = learn_structure(part, parse(TAG).structure).value
    learner, started = MLBNSVM(gamma=GAMMA, tol=TOL, max_iter=MAX_ITER), perf_counter()
    for point in learner.path(part.data, part.counts, structure, task.options["lams"], context):
        recipe, seconds = recipe_of(point.lam), perf_counter() - started
        if recipe in task.recipes:
            yield task.result(recipe, figures(part, point), seconds)
        started = perf_counter()


def figures(part: Part, point: PathPoint) -> dict[str, float]:
    """What ``METRICS`` names; slack and likelihood are for each row."""
    paid, fitted = point.slack / part.data.n_samples, point.log_likelihood / part.data.n_samples
    return {
        "slack": paid,
        "negative_likelihood": -fitted,
        "objective": point.lam * paid - fitted,
        "gap": point.gap,
        "train_accuracy": point.rate,
        "accuracy": measured(point.tables, part.test_codes, part.test_y)["accuracy"],
        "n_test": part.n_test,
    }


# ---- the page


def page(store: Store) -> list[Block]:
    """A table, whether the curves go one way, and the figure."""
    missing = how_many(store, tasks(quick=False))
    lams, curves = path_of(store)
    if not lams:
        return [*missing, Text("No λ is done on all rows yet.")]
    title = "Likelihood, slack and accuracy along λ; the accuracy is that of five folds."
    picture = Picture("path", title, lambda: draw(lams, curves))
    return [*missing, _table(lams, curves), Text(direction(curves)), picture]


def path_of(store: Store) -> tuple[list[float], dict[str, list[float]]]:
    """The figures of all rows for each λ that is there, and the accuracy of the folds."""
    done = {float(one.recipe.rpartition("=")[2]): one for one in store.where(fold=ALL_ROWS)}
    lams = sorted(done)
    curves = {metric: [done[lam][metric] for lam in lams] for metric in METRICS[:5]}
    curves["accuracy"] = [held_out(store, done[lam].recipe) for lam in lams]
    return lams, curves


def held_out(store: Store, recipe: str) -> float:
    """The mean accuracy of the folds."""
    return mean([one["accuracy"] for one in store.where(recipe=recipe) if one.fold != ALL_ROWS])


def _table(lams: Sequence[float], curves: dict[str, list[float]]) -> ResultTable:
    rows = [
        [
            f"{lam:g}",
            *(figure_text(one, 4) for one in (slack, nll)),
            *(figure_text(100 * one) for one in (train, held)),
            f"{gap:.1g}",
        ]
        for lam, slack, nll, train, held, gap in zip(
            lams,
            *(
                curves[name]
                for name in ("slack", "negative_likelihood", "train_accuracy", "accuracy", "gap")
            ),
            strict=True,
        )
    ]
    head = ("λ", "slack", "−n·ω", "accuracy, all rows", "accuracy, five folds", "gap")
    return ResultTable(
        "Slack and negative likelihood of a row, and accuracy in per cent", head, rows
    )


def direction(curves: dict[str, list[float]]) -> str:
    """Whether slack only falls and the negative likelihood only rises."""
    steps = {
        "slack": -np.diff(curves["slack"]),
        "negative likelihood": np.diff(curves["negative_likelihood"]),
    }
    wrong = [
        f"the {name} by {-step.min():.2g}"
        for name, step in steps.items()
        if step.size and step.min() < 0
    ]
    if wrong:
        return f"At some λ a curve goes the wrong way: {', '.join(wrong)}."
    return "The slack never rises and the negative likelihood never falls, as in P13."


def draw(lams: Sequence[float], curves: dict[str, list[float]]) -> Any:
    """The figure."""
    path = MarginPath(
        lams=np.array(lams), accuracy=np.array(curves["accuracy"]),
        log_likelihood=-np.array(curves["negative_likelihood"]), slack=np.array(curves["slack"]),
        gap=np.array(curves["gap"]), classifiers=[],
    )  # fmt: skip
    return leaf("plot").margin_path(path).figure


EXPERIMENT = Experiment(
    name="p13-fig1",
    paper="P13",
    where="Figure 1",
    title="Likelihood, slack and accuracy along λ (car, naive Bayes)",
    tasks=tasks,
    page=page,
    metrics=METRICS,
)
