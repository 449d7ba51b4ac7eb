"""P12 Figure 5, on mnist14 in the place of DCMall: features missing at test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from time import perf_counter

import numpy as np

from discbayes.evaluation.result_blocks import Block, Picture, ResultTable
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes.recipes import parse
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import draw_curves, how_many
from discbayes_papers.learning import decisions, learn_structure, learn_tables
from discbayes_papers.p10.fig13 import METRICS, MISSING, N_FEATURES
from discbayes_papers.p12.shared import (
    EARLY,
    MNIST,
    QUICK,
    p12_part,
    table_learner,
    table_scale,
)
from discbayes_papers.p12.svm import SVM, fit_machine
from discbayes_papers.parts import with_missing

NETWORKS = ("NB-ML", "NB-MM", f"NB-{EARLY}")
RECIPES = (*NETWORKS, SVM)
N_DRAWS, N_DRAWS_SVM = 100, 3
Judge = Callable[[np.ndarray], np.ndarray]


def tasks(quick: bool) -> list[Task]:
    """One draw of missing features after the other."""
    name, n_draws = (QUICK, 2) if quick else (MNIST, N_DRAWS)
    return [
        Task(name, 0, RECIPES if draw < N_DRAWS_SVM else NETWORKS, draw, lose_features)
        for draw in range(n_draws)
    ]


def lose_features(task: Task) -> Iterator[Result]:
    """The accuracy of each classifier with so many features missing, the same ones for all."""
    part = p12_part(task.data, 0)
    numbers = [n * part.data.n_features // N_FEATURES for n in MISSING]
    codes = list(with_missing(part, numbers, task.seed))
    for recipe in task.recipes:
        judge, started = judge_of(task.data, recipe), perf_counter()
        rates = [float((judge(some) == part.test_y).mean()) for some in codes]
        figures = dict(zip(METRICS, (*rates, part.n_test), strict=True))
        yield task.result(recipe, figures, perf_counter() - started)


@lru_cache(maxsize=len(RECIPES))
def judge_of(name: str, recipe: str) -> Judge:
    """What a classifier, learned once, says of rows given as codes."""
    if recipe == SVM:
        return _imputing(name)
    part, words = p12_part(name, 0), parse(recipe.split()[0])
    lam = table_scale(name, 0, "NB") if words.parameters_tag == "MM" else np.nan
    structure = learn_structure(part, words.structure).value
    return decisions(learn_tables(part, structure, table_learner(recipe, lam)).value)


def _imputing(name: str) -> Judge:
    """The machine; gaps become the mean over the training rows."""
    machine, cards = fit_machine(name, 0), p12_part(name, 0).data.cards
    means = machine[0].mean_
    return lambda codes: machine.predict(np.where(codes == cards[:, None], means[:, None], codes).T)


# ---- the page


def page(store: Store) -> Sequence[Block]:
    """Means and standard deviations over the draws, and the picture."""
    rates = {recipe: rates_of(store, recipe) for recipe in RECIPES}
    rows = [
        [str(n), *(_cell(found[:, place]) if len(found) else "–" for found in rates.values())]
        for place, n in enumerate(MISSING)
    ]
    draws = ", ".join(f"{recipe} {len(found)}" for recipe, found in rates.items())
    note = f"Mean and standard deviation over draws of missing features; draws: {draws}."
    blocks: list[Block] = [*how_many(store, tasks(False))]
    blocks.append(
        ResultTable(
            "Accuracy in per cent on mnist14", ["missing features, of 196", *RECIPES], rows, note
        )
    )
    shown = {recipe: found for recipe, found in rates.items() if len(found)}
    if shown:
        blocks.append(
            Picture("curves", "Accuracy with features missing at test", lambda: draw(shown))
        )
    return blocks


def rates_of(store: Store, recipe: str) -> np.ndarray:
    """Accuracies in per cent, an array (draws, numbers of missing features)."""
    found = [result for name in (MNIST, QUICK) for result in store.where(data=name, recipe=recipe)]
    return 100 * np.array([[result[metric] for metric in METRICS[:-1]] for result in found])


def _cell(rates: np.ndarray) -> str:
    return f"{rates.mean():.2f} ± {rates.std():.2f}"


def draw(rates: dict[str, np.ndarray]) -> object:
    """The figure."""
    means, spreads = (
        {recipe: f(found, axis=0) for recipe, found in rates.items()} for f in (np.mean, np.std)
    )
    return draw_curves(
        MISSING, means, ("missing features (of 196)", "classification rate, %"), spreads
    )


EXPERIMENT = Experiment(
    name="p12-fig5",
    paper="P12",
    where="Figure 5",
    title="Features missing at test: naive Bayes by ML and MM, and SVM with mean imputation",
    tasks=tasks,
    page=page,
    metrics=METRICS,
)
