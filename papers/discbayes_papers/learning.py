"""Recipes learned and tested on a part of a data set: the work of most experiments."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from discbayes.engine import Context
from discbayes.evaluation.metrics import measures
from discbayes.evaluation.result_store import Result
from discbayes.evaluation.tasks import Task
from discbayes.inference import InferenceOptions, log_joint, posterior
from discbayes.network import CPTs, Structure
from discbayes.recipes import parse
from discbayes_papers.parts import Part, load_part

METRICS = (
    "accuracy", "log_loss", "rmse", "n_test", "edges", "parameters", "evaluations", "iterations",
    "search_seconds", "fit_seconds",
)  # fmt: skip


@dataclass
class FittedParts:
    """A structure or tables, what was said on the way, and the seconds."""

    value: Any
    seconds: float
    history: list[Any] = field(default_factory=list)
    warned: str = ""


def classify(task: Task) -> Iterator[Result]:
    """The figures of each recipe; recipes of one structure find it once. Options are those of
    ``load_part``.
    """
    part = load_part(task.data, task.fold, task.seed, **task.options)
    structures: dict[str, FittedParts] = {}
    for tag in task.recipes:
        recipe = parse(tag)
        if recipe.structure_tag not in structures:
            structures[recipe.structure_tag] = learn_structure(part, recipe.structure, task.seed)
        found = structures[recipe.structure_tag]
        tables = learn_tables(part, found.value, recipe.parameters, task.seed)
        yield task.result(
            tag, judged(part, found, tables), found.seconds + tables.seconds, tables.warned
        )


def learn_structure(part: Part, learner: Any, seed: int = 0) -> FittedParts:
    """What a structure learner finds in the training rows."""
    return _timed(lambda context: learner.learn(part.data, part.counts, context), seed)


def learn_tables(part: Part, structure: Structure, learner: Any, seed: int = 0) -> FittedParts:
    """What a parameter learner makes of the training rows."""
    return _timed(lambda context: learner.learn(part.data, part.counts, structure, context), seed)


def _timed(learn: Any, seed: int) -> FittedParts:
    context = Context(np.random.default_rng(seed), 1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        started = perf_counter()
        value = learn(context)
        seconds = perf_counter() - started
    said = dict.fromkeys(str(warning.message) for warning in caught)
    return FittedParts(value, seconds, context.history, "; ".join(said))


def judged(part: Part, found: FittedParts, learned: FittedParts) -> dict[str, float]:
    """What ``METRICS`` names, on the test rows."""
    tables: CPTs = learned.value
    return measured(tables, part.test_codes, part.test_y) | {
        "n_test": part.n_test,
        "edges": found.value.n_edges,
        "parameters": tables.n_parameters,
        "evaluations": sum(line.get("evaluations", 0) for line in found.history),
        "iterations": sum("iteration" in line for line in learned.history),
        "search_seconds": found.seconds,
        "fit_seconds": learned.seconds,
    }


def measured(tables: CPTs, codes: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Accuracy, log loss and root mean squared error of the tables on some rows."""
    found = measures(shares(tables, codes), y)
    return {metric: found[metric] for metric in ("accuracy", "log_loss", "rmse")}


def shares(tables: CPTs, codes: np.ndarray) -> np.ndarray:
    """P(c | x observed) of rows given as codes."""
    prior = np.exp(tables.log_prior - tables.log_prior.max())
    return posterior(log_joint(tables, codes, InferenceOptions(n_jobs=1)), prior / prior.sum(), 1)


def decisions(tables: CPTs) -> Callable[[np.ndarray], np.ndarray]:
    """The most probable classes of rows given as codes; missing features are summed out."""
    return lambda codes: log_joint(tables, codes, InferenceOptions(n_jobs=1)).argmax(axis=1)
