"""P13 Figure 4: accuracy with features missing at test, averaged over data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from discbayes._lazy_imports import leaf
from discbayes.data import Encoded
from discbayes.evaluation.result_blocks import Block, Picture, ResultTable
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import figure_text, how_many
from discbayes_papers.learning import decisions
from discbayes_papers.p13.shared import (
    METHODS,
    QUICK,
    SETS,
    SHARES,
    WITH_GAPS,
    accuracy_with_gaps,
    fit,
    mean_of_sets,
    p13_part,
    p13_tasks,
)
from discbayes_papers.parts import N_FOLDS, Part, thinned

METRICS = ("n_test", *WITH_GAPS)
# Sets with more than 2,000 training rows count by their first split.
LARGE = ("chess", "spambase", "waveform-21", "satimage", "nursery", "letter")
NAMES = tuple(name for name in SETS if name not in ("abalone", "usps", "adult", "shuttle"))
N_DRAWS, MAX_TEST, MAX_TRAIN, MAX_CHOOSING, K = 10, 1000, 10_000, 1000, 5
NETWORKS = {method: f"TAN-{words}" for method, words in METHODS.items()}
RECIPES = NETWORKS | {"SVM": "SVM", "LR": "LR"}
GRIDS: dict[str, tuple[Any, dict[str, tuple[float, ...]]]] = {
    # γ times the number of features
    "SVM": (SVC(), {"C": (0.5, 2, 8, 32), "gamma": (0.25, 1.0, 4.0)}),
    "LR": (LogisticRegression(max_iter=1000), {"C": (0.1, 1, 10)}),
}
Judge = Callable[[np.ndarray], np.ndarray]


def tasks(quick: bool) -> list[Task]:
    """All methods on the splits of each set."""
    recipes = list(RECIPES.values())
    if quick:
        return p13_tasks(lose_features, QUICK, recipes, 1)
    return [
        task
        for name in NAMES
        for task in p13_tasks(lose_features, [name], recipes, 1 if name in LARGE else N_FOLDS)
    ]


def lose_features(task: Task) -> Iterator[Result]:
    """The accuracy with each share of the features missing, the mean over the draws."""
    part = some_test_rows(p13_part(task))
    fill = Imputer(thinned(part.data, MAX_TRAIN))
    judges, seconds = {}, {}
    for recipe in task.recipes:
        if recipe in GRIDS:
            judges[recipe], seconds[recipe] = imputed(recipe, fill), np.nan
        else:
            fitted = fit(task, recipe)
            judges[recipe], seconds[recipe] = decisions(fitted.learned.value), fitted.seconds
    for recipe, found in accuracy_with_gaps(part, judges, N_DRAWS).items():
        yield task.result(recipe, {"n_test": part.n_test, **found}, seconds[recipe])


def some_test_rows(part: Part) -> Part:
    """The part with at most so many test rows."""
    if part.n_test <= MAX_TEST:
        return part
    kept = np.sort(np.random.default_rng(0).permutation(part.n_test)[:MAX_TEST])
    return replace(
        part, test_codes=np.ascontiguousarray(part.test_codes[:, kept]), test_y=part.test_y[kept]
    )


# ---- SVM and logistic regression


class Imputer:
    """Indicators of rows; a gap becomes the mean of the five training rows that agree in most of
    what is left.
    """

    def __init__(self, data: Encoded):
        self.data = data
        self.seen = indicators(data.codes, data.cards)
        self._last: tuple[Any, np.ndarray] = (None, self.seen)

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        """The rows filled; the last answer is kept, as several ask for the same rows."""
        if codes is not self._last[0]:
            self._last = codes, self._fill(codes)
        return self._last[1]

    def _fill(self, codes: np.ndarray) -> np.ndarray:
        found, cards = indicators(codes, self.data.cards), self.data.cards
        near = np.argpartition(found @ self.seen.T, -K, axis=1)[:, -K:]
        gaps = np.repeat(codes == cards[:, None], cards, axis=0).T
        return np.where(gaps, self.seen[near].mean(axis=1), found)


def indicators(codes: np.ndarray, cards: np.ndarray) -> np.ndarray:
    """A column for every value of every feature, all zero where it is missing.

    >>> indicators(np.array([[0, 1, 2], [1, 0, 3]]), np.array([2, 3])).astype(int).tolist()
    [[1, 0, 0, 1, 0], [0, 1, 1, 0, 0], [0, 0, 0, 0, 0]]
    """
    offsets = np.cumsum(cards) - cards
    found = np.zeros((codes.shape[1], int(cards.sum())), np.float32)
    features, rows = np.nonzero(codes < cards[:, None])
    found[rows, offsets[features] + codes[features, rows]] = 1
    return found


def imputed(name: str, fill: Imputer) -> Judge:
    """An SVM or logistic regression on the indicators, its numbers by three folds of at most 1,000
    rows.
    """
    model, grid = GRIDS[name]
    if "gamma" in grid:
        grid = grid | {"gamma": tuple(width / fill.data.n_features for width in grid["gamma"])}
    small = thinned(fill.data, MAX_CHOOSING)
    search = GridSearchCV(
        model, grid, cv=StratifiedKFold(3, shuffle=True, random_state=0), refit=False
    )
    search.fit(indicators(small.codes, small.cards), small.classes)
    chosen = clone(model).set_params(**search.best_params_).fit(fill.seen, fill.data.classes)
    return lambda codes: chosen.predict(fill(codes))


# ---- the page


def page(store: Store) -> list[Block]:
    """A table and the figure."""
    names = [
        name
        for name in store.data()
        if all(store.where(data=name, recipe=one) for one in RECIPES.values())
    ]
    curves = {
        title: [mean_of_sets(store, metric, recipe, names) for metric in WITH_GAPS]
        for title, recipe in RECIPES.items()
    }
    blocks = [*how_many(store, tasks(quick=False)), _table(curves, len(names))]
    if names:
        title = f"Accuracy with features missing at test, the mean over {len(names)} data sets."
        blocks.append(Picture("curves", title, lambda: draw(curves)))
    return blocks


def _table(curves: dict[str, list[float]], n_sets: int) -> ResultTable:
    rows = []
    for place, share in enumerate(SHARES):
        behind = max(curves[method][place] for method in NETWORKS) - curves["ML-BN-SVM"][place]
        rates = [rates[place] for rates in curves.values()]
        rows.append([f"{share} %", *(figure_text(100 * value) for value in (*rates, behind))])
    head = ("missing features", *curves, "ML-BN-SVM behind the best network")
    return ResultTable(f"Accuracy in per cent, the mean over {n_sets} data sets", head, rows)


def draw(curves: dict[str, list[float]]) -> Any:
    """The figure."""
    return leaf("plot").missing_curves([share / 100 for share in SHARES], curves).figure


EXPERIMENT = Experiment(
    name="p13-fig4",
    paper="P13",
    where="Figure 4",
    title="Features missing at test, averaged over data sets (TAN, SVM, LR)",
    tasks=tasks,
    page=page,
    metrics=METRICS,
)
