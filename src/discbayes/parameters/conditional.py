"""Discriminative parameters: the conditional likelihood maximised over normalised tables.

The methods of the papers are points of a product, a stopping rule and a number of iterations:

==============================  ======================================================
name in the papers              learner
==============================  ======================================================
CL (P10 4.2), cross-tuned       ``MaximumConditionalLikelihood(stopping="cross-tuning")``
MCL (P13), ELR, CCBN-e (Z17)    ``MaximumConditionalLikelihood()``
==============================  ======================================================

All start at the relative frequencies of ``MaximumLikelihood``. With naive Bayes this is logistic regression.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import count as count_up

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from discbayes.counts import Counts, count, count_families
from discbayes.data.distinct import distinct_rows
from discbayes.data.domain import Encoded
from discbayes.data.folds import stratified_folds
from discbayes.engine import Context, parallel_map
from discbayes.network import Layout, Structure, Tables
from discbayes.objectives import ConditionalLikelihood
from discbayes.optim import SOLVERS, Outcome
from discbayes.parameters.frequency import MaximumLikelihood
from discbayes.parameters.logscores import LogScores
from discbayes.parameters.parameterization import Softmax
from discbayes.parameters.problem import Problem

STOPPING = ("convergence", "cross-tuning")
PATIENCE = 20  # iterations without a better held-out value after which a fold is done


class MaximumConditionalLikelihood(BaseEstimator):
    """Tables that maximise Σ log P(y | x), each row of a table a softmax of free numbers.

    Rows with gaps count by what is observed in them: the gaps are summed out exactly.

    Parameters
    ----------
    max_iter : int, default=1000
        The largest number of iterations.
    tol : float, default=1e-6
        The fit ends when an iteration raises the mean log P(y | x) by less.
    stopping : {"convergence", "cross-tuning"}, default="convergence"
        When to end: at ``tol``, or after the number of iterations that does best on held-out folds of the training
        rows, which keeps small data from being learned by heart. Rows with a weight stay whole in their fold.
    n_folds : int, default=5
        The number of folds for cross tuning.
    epsilon : float, default=1e-5
        What stands in for a probability of zero at the start, which is ``MaximumLikelihood(epsilon)``.
    solver : {"lbfgs"}, default="lbfgs"
        How the maximum is found.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> wine = load_dataset("wine")
    >>> clf = BayesNetClassifier("nb", MaximumConditionalLikelihood()).fit(wine.X, wine.y)
    >>> float(clf.score(wine.X, wine.y))
    1.0
    """

    def __init__(
        self,
        max_iter: int = 1000,
        tol: float = 1e-6,
        stopping: str = "convergence",
        n_folds: int = 5,
        epsilon: float = 1e-5,
        solver: str = "lbfgs",
    ):
        self.max_iter = max_iter
        self.tol = tol
        self.stopping = stopping
        self.n_folds = n_folds
        self.epsilon = epsilon
        self.solver = solver

    def learn(self, data: Encoded, counts: Counts, structure: Structure, context: Context) -> Tables:
        """Start at the relative frequencies and climb."""
        self._check()
        _warn_of_local_optima(data, structure)
        tuned = self.stopping == "cross-tuning"
        max_iter = self._tuned_iterations(data, structure, context) if tuned else self.max_iter
        problem, free = self._problem(data, counts, structure, context.n_jobs)
        iterations = count_up(1)

        def record(_: np.ndarray, loss: float) -> None:
            context.record(iteration=next(iterations), score=-loss * problem.total_weight)

        outcome = self._climb(problem, free, max_iter, record)
        if not (outcome.converged or tuned):
            warnings.warn(
                f"the conditional likelihood was still rising after max_iter={self.max_iter} iterations: raise "
                'max_iter, raise tol, or use stopping="cross-tuning"',
                ConvergenceWarning,
                stacklevel=2,
            )
        return problem.parameterization.tables(outcome.point)

    def climb(self, data: Encoded, counts: Counts, structure: Structure, n_jobs: int | None = None) -> Tables:
        """The same to convergence, without warnings and trace: for searches that learn tables again and again."""
        problem, free = self._problem(data, counts, structure, n_jobs)
        return problem.parameterization.tables(self._climb(problem, free, self.max_iter).point)

    def _check(self) -> None:
        for name, least in (("max_iter", 0), ("n_folds", 2)):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name}={value!r} must be a whole number that is at least {least}")
        if not (np.isfinite(self.tol) and self.tol >= 0):
            raise ValueError(f"tol={self.tol!r} must be a number that is at least 0")
        if not 0 < self.epsilon < 1:
            raise ValueError(f"epsilon={self.epsilon!r} must be above 0 and below 1")
        for name, known in (("stopping", STOPPING), ("solver", SOLVERS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r} is not one of {', '.join(map(repr, known))}")

    def _problem(
        self, data: Encoded, counts: Counts, structure: Structure, n_jobs: int | None
    ) -> tuple[Problem, np.ndarray]:
        """What is to be maximised, and where to start."""
        layout = Layout(structure, data.cards, data.n_classes)
        start = MaximumLikelihood(self.epsilon).tables(count_families(data, layout, counts, n_jobs))
        parameterization = Softmax(layout)
        scores = LogScores(distinct_rows(data), layout, parameterization.normalized)
        problem = Problem(ConditionalLikelihood(), scores, parameterization, n_jobs)
        return problem, parameterization.start(start)

    def _climb(
        self,
        problem: Problem,
        free: np.ndarray,
        max_iter: int,
        callback: Callable[[np.ndarray, float], bool | None] | None = None,
    ) -> Outcome:
        return SOLVERS[self.solver](problem.loss, free, max_iter, self.tol, callback)

    def _tuned_iterations(self, data: Encoded, structure: Structure, context: Context) -> int:
        """The number of iterations after which the held-out folds, all together, have the best value."""
        folds = stratified_folds(data.classes, self.n_folds, context.rng)
        curves = parallel_map(
            lambda fold: self._held_out_curve(data, structure, folds == fold), range(self.n_folds), context.n_jobs
        )
        longest = max(len(curve) for curve in curves)
        total = sum(np.pad(curve, (0, longest - len(curve)), mode="edge") for curve in curves)
        return int(np.argmax(total))

    def _held_out_curve(self, data: Encoded, structure: Structure, held_out: np.ndarray) -> np.ndarray:
        """The value of the rows held out, after each iteration on the others; the first entry is the start."""
        rest, test = _rows(data, ~held_out), _rows(data, held_out)
        if not (rest.n_samples and test.n_samples):
            return np.zeros(1)
        problem, free = self._problem(rest, count(rest), structure, None)
        scores = LogScores(distinct_rows(test), problem.scores.layout, problem.parameterization.normalized)
        judge = Problem(problem.objective, scores, problem.parameterization)
        values = [judge.value(free)]

        def look(point: np.ndarray, _: float) -> bool:
            values.append(judge.value(point))
            return len(values) - int(np.argmax(values)) > PATIENCE

        self._climb(problem, free, self.max_iter, look)
        return np.array(values) * judge.total_weight


def _rows(data: Encoded, chosen: np.ndarray) -> Encoded:
    weight = None if data.weight is None else data.weight[chosen]
    return Encoded(np.ascontiguousarray(data.codes[:, chosen]), data.domain, data.classes[chosen], weight)


def _warn_of_local_optima(data: Encoded, structure: Structure) -> None:
    immoral = [data.domain.names[i] for i in structure.immoral_features]
    if immoral:
        shown = ", ".join(map(repr, immoral[:5])) + (", …" if len(immoral) > 5 else "")
        warnings.warn(
            f"the parents of {shown} are not joined by edges, so that the conditional likelihood of normalised tables "
            "may have several local optima; the one that is found depends on the start",
            stacklevel=3,
        )
