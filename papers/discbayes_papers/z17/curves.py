"""How fast a fit descends: the mean of −log P(y | x) over the training rows after each iteration.

A line of the results is a data set and a recipe such as ``NB-W`` (from zeros), ``NB-W-I`` (from the
generative estimates) or ``NB-W L-BFGS-B`` (by SciPy's version of the solver that Z17 has).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from time import process_time
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from discbayes.counts import count
from discbayes.data import Encoded, FrameEncoder
from discbayes.data.folds import stratified_folds
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.statistics import WinDrawLoss, win_draw_loss
from discbayes.evaluation.tasks import Task
from discbayes.inference import InferenceOptions, log_joint
from discbayes.network import Structure
from discbayes.optim import Outcome
from discbayes.recipes import parse
from discbayes_papers.learning import learn_structure, learn_tables
from discbayes_papers.parts import Part, load_rows
from discbayes_papers.z17 import shared

STORE = "z17-convergence"
N_ITER = 50
CURVE = tuple(f"nll_{n}" for n in range(N_ITER + 1))
METRICS = ("n_rows", "iterations", "seconds_per_iteration", *CURVE)
LETTERS = {"w": "W", "d": "D", "e": "E"}
STARTS = {"zeros": "", "generative estimates": "-I"}
SCIPY = " L-BFGS-B"
MAX_ROWS = 60_000
DRAW = 1e-4  # nats for each row
Pairs = dict[str, tuple[np.ndarray, np.ndarray]]  # curves of w and of another, by data set


# ---- running


def tags(both: bool) -> tuple[str, ...]:
    """What is fitted on a data set: by our solver, or by both."""
    own = [
        f"{s}-{p}{start}"
        for s, start, p in product(shared.STRUCTURES, STARTS.values(), LETTERS.values())
    ]
    return (*own, *(f"{tag}{SCIPY}" for tag in own if both))


def tasks(quick: bool) -> list[Task]:
    """All structures, starts and parameterisations on all data sets; SciPy's solver on the big
    ones.
    """
    names, both = (
        (shared.QUICK, shared.QUICK[:1]) if quick else (shared.distinct(shared.SETS), shared.BIG)
    )
    return [Task(name, 0, tags(name in both), 0, descents) for name in names]


def progress_note(store: Store) -> str:
    """How many of the runs there are."""
    return f"{len(store)} of {sum(len(task.recipes) for task in tasks(False))} runs are there."


def descents(task: Task) -> Iterator[Result]:
    """The curves of a data set."""
    part = training_part(task.data)
    structures: dict[str, Structure] = {}
    for tag in task.recipes:
        recipe = parse(tag.removesuffix(SCIPY))
        if recipe.structure_tag not in structures:
            structures[recipe.structure_tag] = learn_structure(part, recipe.structure).value
        found = descent(part, structures[recipe.structure_tag], tag)
        yield task.result(tag, found, found["seconds_per_iteration"] * found["iterations"])


def training_part(name: str) -> Part:
    """The training rows of a data set, which are also those that are tested."""
    rows = load_rows(name, complete=False)
    chosen = np.arange(rows.n_train or len(rows.y))
    if chosen.size > MAX_ROWS:
        labels = rows.labels[chosen]
        fold = stratified_folds(labels, math.ceil(chosen.size / MAX_ROWS), np.random.default_rng(0))
        chosen = chosen[fold == 0]
    return as_part(
        FrameEncoder("mdlp", missing="value", n_jobs=1).fit_transform(
            rows.X[chosen], rows.y[chosen]
        )
    )


def as_part(data: Encoded) -> Part:
    """Rows that are learned from and tested."""
    return Part(data, count(data, 1), data.codes, data.classes)


def descent(part: Part, structure: Structure, tag: str) -> dict[str, float]:
    """What ``METRICS`` names; a fit that ends early stays where it is."""
    learner = shared.z17_learner(tag.removesuffix(SCIPY), N_ITER)
    learner = _by_scipy(learner) if tag.endswith(SCIPY) else learner
    started = process_time()
    learned = learn_tables(part, structure, learner)
    seconds = process_time() - started
    curve = [
        start_value(part, structure, learner),
        *(-line["score"] / part.n_test for line in learned.history),
    ]
    steps = len(curve) - 1
    curve += [curve[-1]] * (N_ITER - steps)
    return {
        "n_rows": part.n_test,
        "iterations": steps,
        "seconds_per_iteration": seconds / max(steps, 1),
    } | dict(zip(CURVE, curve, strict=True))


def start_value(part: Part, structure: Structure, learner: Any) -> float:
    """Where a fit begins: all classes alike, or the generative tables."""
    if learner.start == "zeros":
        return math.log(part.data.n_classes)
    tables = learn_tables(part, structure, parse("NB-M").parameters).value
    joint = log_joint(tables, part.test_codes, InferenceOptions(n_jobs=1))
    return float(np.mean(logsumexp(joint, axis=1) - joint[np.arange(part.n_test), part.test_y]))


class _ByScipy:
    """Puts SciPy's solver in the place of a learner's own."""

    tol: float

    def _optimize(
        self, problem: Any, free: np.ndarray, max_iter: int, callback: Any = None
    ) -> Outcome:
        options: Any = {
            "maxiter": max_iter,
            "maxfun": 100 * max_iter,
            "maxcor": 5,
            "ftol": self.tol,
            "gtol": 1e-10,
        }

        def after_each(intermediate_result: Any) -> None:
            callback(intermediate_result.x, float(intermediate_result.fun))

        found = minimize(
            problem.loss, free, jac=True, method="L-BFGS-B", options=options, callback=after_each
        )
        return Outcome(found.x, float(found.fun), int(found.nit), bool(found.success))


def _by_scipy(learner: Any) -> Any:
    """The same learner with SciPy's L-BFGS-B, five steps in memory as in its authors' examples."""
    kind = type(f"{type(learner).__name__}ByScipy", (_ByScipy, type(learner)), {})
    return kind(**learner.get_params(deep=False))


# ---- reading


def curve(store: Store, name: str, tag: str) -> np.ndarray | None:
    """The curve of a data set and a recipe, if it is there."""
    found = store.results.get((name, 0, tag, 0))
    return None if found is None else np.array([found[metric] for metric in CURVE])


def pairs(
    store: Store, structure: str, start: str, against: str, names: Sequence[str], solver: str = ""
) -> Pairs:
    """The curves of w and of another parameterisation, where there are both, by data set."""
    w, other = (
        f"{structure}-{LETTERS[letter]}{STARTS[start]}{solver}" for letter in ("w", against)
    )
    found = {}
    for name in names:
        first, second = curve(store, name, w), curve(store, name, other)
        if first is not None and second is not None:
            found[name] = (first, second)
    return found


def wins(found: Pairs, after: int, draw: float = DRAW) -> WinDrawLoss | None:
    """How often w is lower after so many iterations; a difference of at most ``draw`` is a draw."""
    if not found:
        return None
    w, other = np.array([[a[after], b[after]] for a, b in found.values()]).T
    return win_draw_loss(w, other, larger_is_better=False, tolerance=draw)


def iterations_to_reach(w: np.ndarray, other: np.ndarray, after: int) -> int:
    """The iterations beyond ``after`` that the other needs for what w has there; where w is behind,
    minus those of w.

    One more than there are to see stands for those that never come.

    >>> w, d = np.array([9.0, 5.0, 2.0, 1.0]), np.array([9.0, 7.0, 4.0, 1.5])
    >>> iterations_to_reach(w, d, 1), iterations_to_reach(d, w, 1)
    (1, -1)
    """
    if w[after] <= other[after]:
        return _more(other, w[after], after)
    return -_more(w, other[after], after)


def _more(curve: np.ndarray, target: float, after: int) -> int:
    below = np.flatnonzero(curve[after:] <= target)
    return int(below[0]) if below.size else curve.size - after
