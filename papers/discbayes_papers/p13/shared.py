"""What the experiments of P13 share: data sets and splits, four ways to learn tables, and how
numbers are chosen.

A recipe is a tag, such as ``TAN-MLBNSVM``, and perhaps what is set in it: ``TAN-MLBNSVM lam=16``,
or where its fits end: ``TAN-MCL held-out``. The numbers of MM and ML-BN-SVM that are not set are
those with the best rate on three folds of the training rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone

from discbayes.counts import count
from discbayes.data import Encoded
from discbayes.evaluation.judging import split_method
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes.network import Structure
from discbayes.parameters.cross_validated import CrossValidatedLearner
from discbayes.parameters.svm import GAMMAS
from discbayes.recipes import parse
from discbayes_papers.learning import FittedParts, learn_structure, learn_tables
from discbayes_papers.parts import (
    N_FOLDS,
    Part,
    Split,
    SplitRows,
    five_folds,
    folds,
    load_part,
    one_part,
    published_splits,
    with_missing,
)

# The sets of Table 1 that can be had, about from the smallest to the largest; those of QUICK are
# for trying out.
SETS = (
    "hepatitis", "lymphography", "glass", "heart", "cleve", "vote", "soybean-large", "breast",
    "crx", "australian", "diabetes", "vehicle", "german", "flare", "car", "segment", "chess",
    "spambase", "waveform-21", "satimage", "nursery", "letter", "abalone", "usps", "adult",
    "shuttle",
)  # fmt: skip
QUICK = ("iris",)
LARGER = ("satimage", "nursery", "letter", "usps", "adult", "shuttle")  # than 5,000 rows
PUBLISHED_SPLIT = ("letter",)
THIRDS = ("nursery", "usps", "adult", "shuttle")  # one split: a third is for test

# P13's names, and our words
METHODS = {"ML": "P13ML", "MCL": "MCL", "MM": "MM13", "ML-BN-SVM": "MLBNSVM"}
LAMS = (0.0, *(4.0**k for k in range(-1, 6)))
MARGIN_LAMS = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
GRIDS: dict[str, dict[str, Any]] = {
    "MM13": {"lam": MARGIN_LAMS, "kappa": 0.5},
    "MLBNSVM": {"lam": LAMS, "gamma": GAMMAS, "max_iter": 1000},
}
CHOOSING = {"max_iter": 200, "n_folds": 3}
# where fits end, by training rows alone: after the number of iterations that does best on five
# folds of them, or at the iteration that is best on one of the folds, which is not learned from
STOPPING = ("cross-tuning", "held-out")
# one of so many parts of the rows chooses
PARTS = {"letter": 2, "satimage": 2, "usps": 2, "adult": 16, "shuttle": 16}


# ---- data


def n_splits(name: str) -> int:
    """In how many ways a set is cut into training and test rows."""
    return 1 if name in (*PUBLISHED_SPLIT, *THIRDS) else N_FOLDS


def p13_splits(rows: SplitRows, seed: int = 0) -> list[Split]:
    """Five folds of all rows; the published split of letter; of the other large sets a third is for
    test.
    """
    if rows.name in PUBLISHED_SPLIT:
        return published_splits(rows, seed)
    return folds(rows, 3, seed)[:1] if rows.name in THIRDS else five_folds(rows, seed)


def p13_part(task: Task) -> Part:
    """The part of a data set that a task is about."""
    return load_part(task.data, task.fold, task.seed, p13_splits)


def p13_tasks(
    work: Callable[[Task], Iterator[Result]],
    names: Iterable[str],
    recipes: Sequence[str],
    n_folds: int = N_FOLDS,
) -> list[Task]:
    """A task for each split of the sets, of at most so many."""
    cells = [(name, fold) for name in names for fold in range(min(n_folds, n_splits(name)))]
    return [Task(name, fold, tuple(recipes), 0, work) for name, fold in cells]


# ---- learning


@dataclass(frozen=True)
class Choice:
    """The numbers that held-out rows find best, and how many rows chose."""

    numbers: Mapping[str, float]
    n_rows: float = math.nan


@dataclass(frozen=True, eq=False)
class Fitted:
    """The tables of a recipe, and how the numbers in it were chosen."""

    choice: Choice
    choosing_seconds: float
    learned: FittedParts

    @property
    def seconds(self) -> float:
        """Of the choice and the fit."""
        return self.choosing_seconds + self.learned.seconds


def fit(task: Task, recipe: str) -> Fitted:
    """Choose what the recipe leaves open, and learn."""
    tag, given = read_recipe(recipe)
    grid = {name: value for name, value in given.items() if name == "lam"}
    structure = find_structure(task.data, task.fold, task.seed, parse(tag).structure_tag)
    started = perf_counter()
    choice = choose(task.data, task.fold, task.seed, tag, **grid)
    seconds = perf_counter() - started if choice.numbers else 0.0
    learner = p13_learner(tag).set_params(**{**given, **choice.numbers})
    return Fitted(choice, seconds, learn_tables(p13_part(task), structure, learner, task.seed))


def read_recipe(recipe: str) -> tuple[str, dict[str, Any]]:
    """Return the tag of a recipe, and what it sets.

    >>> read_recipe("NB-MCL held-out"), read_recipe("NB-MCL tol=0.01")
    (('NB-MCL', {'stopping': 'held-out'}), ('NB-MCL', {'tol': 0.01}))
    """
    tag, _, word = recipe.partition(" ")
    return (tag, {"stopping": word}) if word in STOPPING else split_method(recipe)


def p13_learner(tag: str) -> Any:
    """The parameters of a tag, with the numbers that are compared here."""
    recipe = parse(tag)
    return recipe.parameters.set_params(**GRIDS.get(recipe.parameters_tag, {}))


@lru_cache(maxsize=4)
def find_structure(name: str, fold: int, seed: int, structure_tag: str) -> Structure:
    """The structure of a split."""
    part = load_part(name, fold, seed, p13_splits)
    return learn_structure(part, parse(structure_tag).structure, seed).value


@cache
def choose(name: str, fold: int, seed: int, tag: str, **grid: float) -> Choice:
    """What the learner of a tag leaves open, by the rate on folds of the training rows, or of a
    part of them.
    """
    learner = p13_learner(tag).set_params(**grid)
    names = [one for one in ("gamma", "lam") if np.ndim(learner.get_params().get(one, 0.0))]
    if not names:
        return Choice({})
    structure = find_structure(name, fold, seed, parse(tag).structure_tag)
    data = one_part(load_part(name, fold, seed, p13_splits).data, PARTS.get(name, 1))
    return Choice(_best(learner, names, data, structure), data.n_samples)


def _best(
    learner: CrossValidatedLearner, names: Sequence[str], data: Encoded, structure: Structure
) -> dict[str, float]:
    """One number for each of the lists of a learner; those of the first pair, if several are
    equal.
    """
    comparing = clone(learner).set_params(**CHOOSING)
    part = Part(data, count(data, 1), data.codes[:, :0], data.classes[:0])
    history = learn_tables(part, structure, comparing).history
    rates = [line["held_out"] for line in history if "held_out" in line]
    pairs = list(product(*(getattr(learner, name) for name in names)))
    return dict(zip(names, pairs[int(np.argmax(rates))], strict=True))


# ---- features missing at test

SHARES = tuple(range(0, 100, 10))  # of the features, in per cent
WITH_GAPS = tuple(f"missing_{share}" for share in SHARES)


def accuracy_with_gaps(
    part: Part, judges: Mapping[str, Callable[[np.ndarray], np.ndarray]], n_draws: int
) -> dict[str, dict[str, float]]:
    """The accuracy of each judge with each share of the features missing; the draws are the same
    for all.
    """
    found = {name: dict.fromkeys(WITH_GAPS, 0.0) for name in judges}
    numbers = [round(share / 100 * part.data.n_features) for share in SHARES]
    for draw in range(n_draws):
        for metric, codes in zip(WITH_GAPS, with_missing(part, numbers, draw), strict=True):
            for name, judge in judges.items():
                found[name][metric] += float((judge(codes) == part.test_y).mean()) / n_draws
    return found


# ---- pages


def mean(values: Sequence[float]) -> float:
    """The mean, NaN of nothing."""
    return float(np.mean(values)) if len(values) else math.nan


def mean_of_sets(store: Store, metric: str, recipe: str, names: Iterable[str]) -> float:
    """The mean over the sets that have it, each of which counts the same."""
    return mean(
        [
            value
            for name in names
            if (value := mean(store.values(metric, data=name, recipe=recipe))) == value
        ]
    )
