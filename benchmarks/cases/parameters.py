"""Discriminative parameters on real data: against logistic regression on the same codes, and alone
on mnist14.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from discbayes.counts import count
from discbayes.data import Encoded
from discbayes.engine import Context
from discbayes.network import Structure
from discbayes.optim import lbfgs
from discbayes.parameters import DFE, DiscriminativeCCBN, ExtendedCCBN, WeightedCCBN
from discbayes.parameters.fits import Fit
from discbayes.parameters.gradient import GradientLearner
from discbayes.parameters.scaling import minimize
from discbayes.search import SpanningTree
from suite.data import coded
from suite.measure import N_JOBS, Row, below, faster, noted, of, repeats, seconds

PAUSE = 0.3  # seconds until threads of a peer that wait for more work have gone to sleep
# two classes: C = 1 of the peer is twice it
PENALTIES = {"letter": 1.0, "adult": 2.0, "satimage": 1.0, "mnist14": 1.0}
TAN = SpanningTree(score="cmi")
EXACT = {"tol": 1e-12, "max_iter": 20_000, "start": "generative", "penalty": 0.1}
TO_THE_END = (DiscriminativeCCBN(**EXACT), WeightedCCBN(**EXACT), ExtendedCCBN(**EXACT))
LEARNERS: dict[str, Any] = {
    **{
        f"NB-CL, L2, {name}": DiscriminativeCCBN(penalty=penalty)
        for name, penalty in PENALTIES.items()
    },
    "TAN-w, λ = 1": (TAN, WeightedCCBN(penalty=1.0)),
    "DFE, 4 passes": DFE(passes=4),
    **{
        f"TAN, λ = 0.1, to 1e-12, {learner.parameterization}": (TAN, learner)
        for learner in TO_THE_END
    },
}


def run(smoke: bool) -> Iterator[Row]:
    for name in PENALTIES:
        yield from _against_regression(name, smoke)
    data = coded("mnist14", smoke=smoke).encoded
    counts, tree = count(data, N_JOBS), _tree(data)
    yield from of("TAN-w, λ = 1", *_weighted(data, tree))
    for what, structure in (("NB", Structure.naive(data.n_features)), ("TAN", tree)):
        learn = partial(
            LEARNERS["DFE, 4 passes"].learn, data, counts, structure, Context(n_jobs=N_JOBS)
        )
        passes = min(seconds(learn) for _ in range(repeats(smoke)))
        yield from of("DFE, 4 passes", below(f"DFE, 4 passes, {what}, mnist14", passes, 3.0))
    yield from _full_precision("letter", smoke)


def _tree(data: Encoded) -> Structure:
    return TAN.learn(data, count(data, N_JOBS), Context(n_jobs=N_JOBS))


# ---- logistic regression


def _against_regression(name: str, smoke: bool) -> list[Row]:
    """The time until the objective is what logistic regression ends at, by turns with it."""
    data = coded(name, missing="value", smoke=smoke).encoded
    X, y = _one_hot(data), data.classes
    learner = LEARNERS[f"NB-CL, L2, {name}"]
    theirs, ours = [], []
    for _ in range(1 if name == "mnist14" else repeats(smoke)):
        model = LogisticRegression(solver="lbfgs", tol=1e-4, max_iter=10_000)
        theirs.append(seconds(lambda: model.fit(X, y)))  # noqa: B023
        goal = _their_loss(model, X, y)
        time.sleep(PAUSE)
        ours.append(_time_to(learner, data, Structure.naive(data.n_features), goal))
    what = (
        f"NB-CL, L2, {name} {data.n_samples:,} x {data.n_features}, to the loss of"
        " LogisticRegression"
    )
    return of(f"NB-CL, L2, {name}", faster(what, min(ours), min(theirs), times=3))


def _one_hot(data: Encoded) -> sparse.csr_matrix:
    starts = np.concatenate([[0], np.cumsum(data.cards)])
    columns = data.codes.T.astype(np.int64) + starts[:-1]
    ends = np.arange(0, columns.size + 1, data.n_features)
    shape = (data.n_samples, int(starts[-1]))
    return sparse.csr_matrix((np.ones(columns.size), columns.ravel(), ends), shape=shape)


def _their_loss(model: LogisticRegression, X: sparse.csr_matrix, y: np.ndarray) -> float:
    """Σ −log P(y | x) + ‖w‖²/2, which is what it minimises with C = 1."""
    log_proba = model.predict_log_proba(X)[np.arange(y.size), y]
    return float(-log_proba.sum() + 0.5 * (model.coef_**2).sum())


def _time_to(learner: GradientLearner, data: Encoded, structure: Structure, goal: float) -> float:
    start = time.perf_counter()
    fit = _fit(learner, data, structure)
    weight = fit.problem.total_weight
    outcome = minimize(fit.problem, fit.start, 10_000, 0.0, lambda _, loss: loss * weight <= goal)
    taken = time.perf_counter() - start
    if outcome.value * weight > goal:
        raise RuntimeError(f"ended at {outcome.value * weight}, above {goal}")
    return taken


def _fit(learner: GradientLearner, data: Encoded, structure: Structure) -> Fit:
    return learner._fit(learner._settings()[0][0], data, count(data, N_JOBS), structure, N_JOBS)


# ---- alone


@dataclass
class _Rule:
    """Ends a fit at a gradient of max-norm ≤ 1e-4 per row, or when the loss falls by less than 1e-9
    twice.
    """

    loss: Callable[[np.ndarray], tuple[float, np.ndarray]]
    steepest: float = np.inf
    values: list[float] = field(default_factory=list)
    small: int = 0

    def function(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = self.loss(free)
        self.steepest = float(np.abs(gradient).max())
        return value, gradient

    def __call__(self, _: Any, value: float) -> bool:
        if self.values:
            self.small = self.small + 1 if self.decrease(value) < 1e-9 else 0
        self.values.append(value)
        return self.steepest <= 1e-4 or self.small >= 2

    def decrease(self, value: float) -> float:
        last = self.values[-1]
        return (last - value) / max(abs(last), abs(value), 1e-300)


def _weighted(data: Encoded, tree: Structure) -> Iterator[Row]:
    start = time.perf_counter()
    fit = _fit(LEARNERS["TAN-w, λ = 1"][1], data, tree)
    rule = _Rule(fit.problem.loss)
    outcome = lbfgs(rule.function, fit.start, 10_000, 0.0, rule)
    yield below("TAN-w, λ = 1, mnist14", time.perf_counter() - start, 60.0)
    yield Row("  iterations", outcome.n_iter, "")
    yield Row("  largest entry of the gradient, per row", rule.steepest, "")
    last, value = rule.values[-2:]
    yield Row("  relative decrease of the last iteration", (last - value) / last, "")


def _full_precision(name: str, smoke: bool) -> Iterator[Row]:
    """How long the normalised tables take to a relative improvement of 1e-12, and the free numbers
    to the same.
    """
    data = coded(name, smoke=smoke).encoded
    counts, structure = count(data), _tree(data)
    for exact in TO_THE_END:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            taken = seconds(partial(exact.learn, data, counts, structure, Context(n_jobs=N_JOBS)))
        what = f"λ = 0.1, to 1e-12, {exact.parameterization}"
        yield from of(f"TAN, {what}", noted(f"TAN, {name}, {what}", taken))
