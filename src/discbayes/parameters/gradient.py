"""Gradient-based learners: objective, parameterization, start, penalty, solver, stopping rule.

Each learner of the papers is a point of that product; they differ in defaults only
(``conditional.py``, ``max_margin.py``).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from itertools import count as count_up
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from discbayes.counts import Counts, FamilyCounts, count, count_families
from discbayes.data.rows import Rows
from discbayes.engine import Context, parallel_map
from discbayes.network import CPTs, Layout, Structure
from discbayes.optim import SOLVERS, Callback, Outcome, lbfgs, until_interrupted
from discbayes.parameters.cross_validated import CrossValidatedLearner, Fold, Setting
from discbayes.parameters.fits import EarlyStopping, Fit, FitWithBackoff, seen_cells
from discbayes.parameters.generative import MaximumAPosteriori, MaximumLikelihood
from discbayes.parameters.log_scores import LogScores
from discbayes.parameters.parameterization import (
    AbsorbedClass,
    Direct,
    Parameterization,
    Softmax,
)
from discbayes.parameters.problem import Penalty, Problem
from discbayes.parameters.scaling import minimize
from discbayes.parameters.starts import begin_at, check_start, zeros_like

STOPPING = ("convergence", "cross-tuning", "held-out")
AUTO = "auto"  # the fastest solver
TOWARDS = ("zero", "generative")
GENERATIVE: dict[str, Callable[[], Any]] = {
    "ml": MaximumLikelihood,
    "map": MaximumAPosteriori,
    "m": lambda: MaximumAPosteriori("m", 1.0),
}
PENALTIES = tuple(float(10.0**k) for k in range(3, -4, -1))  # the grid of "cv", the strongest first


class GradientLearner(CrossValidatedLearner):
    """Base of gradient-based learners; subclasses define objective and parameterization.

    The settings are described in ``MaximumConditionalLikelihood``.
    """

    supports_blocks = True
    parameterization: str

    @property
    def uses_unlabeled(self) -> bool:
        """Whether rows without a label have a likelihood: under normalized tables they do."""
        return self.parameterization == "e"

    @property
    def supports_class_parents(self) -> bool:
        """Whether the class may have parents: among normalized tables it may."""
        return self.parameterization == "e"

    def __init__(
        self,
        max_iter: int = 1000,
        tol: float = 1e-6,
        stopping: str = "convergence",
        n_folds: int = 5,
        generative: Any = "ml",
        start: Any = "generative",
        penalty: Any = 0.0,
        towards: str = "zero",
        solver: str = AUTO,
        backoff: bool = True,
    ):
        super().__init__(max_iter, tol, n_folds)
        self.stopping = stopping
        self.generative = generative
        self.start = start
        self.penalty = penalty
        self.towards = towards
        self.solver = solver
        self.backoff = backoff

    # ---- learning

    def learn(self, data: Rows, counts: Counts, structure: Structure, context: Context) -> CPTs:
        """Learn the tables of a structure.

        Parameters
        ----------
        data : Rows
            The rows.
        counts : Counts
            Counts of the class and of each feature.
        structure : Structure
            The structure.
        context : Context
            Threads, random numbers, and where iterations are recorded.

        Returns
        -------
        CPTs
            The conditional probability tables.
        """
        self._check()
        self._require_memory(data, structure)
        self._warn_of_local_optima(data, structure)
        setting = self._chosen(data, structure, context)
        if self.stopping == "held-out":
            return self._learn_held_out(setting, data, structure, context)
        tuned = self.stopping == "cross-tuning"
        max_iter = (
            self._tuned_iterations(setting, data, structure, context) if tuned else self.max_iter
        )
        fit = self._fit(setting, data, counts, structure, context.n_jobs)
        outcome = self._optimize_until_interrupted(
            fit, max_iter, self._recorder(fit.problem, max_iter, context), context
        )
        if not (outcome.converged or tuned):
            self._warn_of_the_limit()
        return fit.tables(outcome.point)

    def _recorder(
        self, problem: Problem, max_iter: int, context: Context
    ) -> Callable[[np.ndarray, float], None]:
        iterations = count_up(1)

        def record(_: np.ndarray, loss: float) -> None:
            context.record(
                most=max_iter, iteration=next(iterations), score=-loss * problem.total_weight
            )

        return record

    def climb(
        self,
        data: Rows,
        counts: Counts,
        structure: Structure,
        n_jobs: int | None = None,
    ) -> CPTs:
        """Learn the tables of a structure to convergence, without warnings and trace.

        For searches that learn tables for every candidate.

        Parameters
        ----------
        data : Rows
            The rows.
        counts : Counts
            Counts of the class and of each feature.
        structure : Structure
            The structure.
        n_jobs : int, optional
            The number of threads.

        Returns
        -------
        CPTs
            The conditional probability tables.
        """
        fit = self._fit(self._settings()[0][0], data, counts, structure, n_jobs)
        return fit.tables(self._optimize(fit.problem, fit.start, self.max_iter).point)

    def _fit(
        self,
        setting: Setting,
        data: Rows,
        counts: Counts,
        structure: Structure,
        n_jobs: int | None,
    ) -> Fit:
        """Return the problem to maximize, and its start."""
        layout = Layout.of(structure, data)
        families = count_families(data, layout, counts, n_jobs)
        learner = self._generative()
        counting = (
            learner
            if learner.missing == "available"
            else clone(learner).set_params(missing="available")
        )
        generative = learner.learn(data, counts, structure, Context(n_jobs=n_jobs))
        center = generative if self.towards == "generative" else zeros_like(generative)
        begin = begin_at(self.start, generative, data.domain.names)
        seen = self._seen_cells(data, families, n_jobs)
        parameterization = self._parameterized(
            layout, seen, generative, center if setting.penalty else begin
        )
        skipped = 0 if self.towards == "generative" else parameterization.n_prior
        centerd = parameterization.start(center)
        penalty = Penalty(setting.penalty, centerd, parameterization.repeats, skipped)
        scores = LogScores(data, parameterization.layout, parameterization.normalized, n_jobs)
        unlabeled = self._unlabeled_scores(parameterization, n_jobs)
        problem = Problem(
            setting.objective, scores, parameterization, n_jobs, penalty, unlabeled=unlabeled
        )
        start = parameterization.start(begin)
        return (
            FitWithBackoff(problem, start, families, seen, counting)
            if self.backoff
            else Fit(problem, start)
        )

    def _seen_cells(self, data: Rows, families: FamilyCounts, n_jobs: int | None) -> np.ndarray:
        """Mark the cells that were seen, in rows without a label too."""
        seen, more = seen_cells(data, families), self.unlabeled_rows
        if more is None:
            return seen
        layout = families.layout
        return seen | seen_cells(more, count_families(more, layout, count(more), n_jobs))

    def _parameterized(
        self, layout: Layout, seen: np.ndarray, generative: CPTs, around: CPTs
    ) -> Parameterization:
        """Return the parameterization; cells without a parameter stay as in ``around``."""
        if self.parameterization != "e":
            return Direct(layout, seen, around)
        return AbsorbedClass(layout) if layout.structure.class_parents else Softmax(layout)

    def _generative(self) -> Any:
        return (
            GENERATIVE[self.generative]() if isinstance(self.generative, str) else self.generative
        )

    def _solve(self, fit: Fit, start: np.ndarray) -> np.ndarray:
        return self._optimize(fit.problem, start, self.max_iter).point

    def _optimize(
        self,
        problem: Problem,
        free: np.ndarray,
        max_iter: int,
        callback: Callback | None = None,
    ) -> Outcome:
        if self.solver != AUTO:
            return SOLVERS[self.solver](problem.loss, free, max_iter, self.tol, callback)
        if self.stopping != "convergence":  # the iterations on the way are what counts
            return lbfgs(problem.loss, free, max_iter, self.tol, callback)
        return minimize(problem, free, max_iter, self.tol, callback)

    def _optimize_until_interrupted(
        self, fit: Fit, max_iter: int, callback: Callback, context: Context
    ) -> Outcome:
        """Optimize; an interrupt ends at the last iteration, which is the best point so far."""
        optimize = partial(self._optimize, fit.problem, fit.start, max_iter)
        return until_interrupted(optimize, callback, context.interrupts)

    # ---- when to stop

    def _tuned_iterations(
        self, setting: Setting, data: Rows, structure: Structure, context: Context
    ) -> int:
        """Return the number of iterations with the best value over all held-out folds."""

        def one(fold: Fold) -> np.ndarray:
            fit = self._fit(setting, fold.rest, count(fold.rest), structure, None)
            watch = EarlyStopping(fit.judge(fold.test), fit.start)
            self._optimize(fit.problem, fit.start, self.max_iter, watch)
            return np.array(watch.values) * watch.judge.total_weight

        curves = parallel_map(one, self._folds(data, context), context.n_jobs)
        longest = max((curve.size for curve in curves), default=1)
        total = sum(
            (np.pad(curve, (0, longest - curve.size), mode="edge") for curve in curves),
            np.zeros(longest),
        )
        return int(np.argmax(total))

    def _learn_held_out(
        self, setting: Setting, data: Rows, structure: Structure, context: Context
    ) -> CPTs:
        """Learn from all folds but one, and return the point that is best on that one."""
        folds = self._folds(data, context)
        if not folds:
            raise ValueError(f'stopping="held-out" needs more than {data.n_samples} rows')
        fit = self._fit(setting, folds[0].rest, count(folds[0].rest), structure, context.n_jobs)
        watch = EarlyStopping(
            fit.judge(folds[0].test), fit.start, self._recorder(fit.problem, self.max_iter, context)
        )
        outcome = self._optimize_until_interrupted(fit, self.max_iter, watch, context)
        if not outcome.converged:
            self._warn_of_the_limit()
        return fit.tables(watch.best)

    # ---- settings

    def _check(self) -> None:
        super()._check()
        self._check_names(stopping=STOPPING, solver=(AUTO, *SOLVERS), towards=TOWARDS)
        check_start(self.start)
        self._check_generative()

    def _check_generative(self) -> None:
        if isinstance(self.generative, str) and self.generative not in GENERATIVE:
            known = ", ".join(map(repr, GENERATIVE))
            raise ValueError(
                f"generative={self.generative!r} is not one of {known}, nor a learner of"
                " frequencies"
            )
        learner = self._generative()
        if not isinstance(learner, (MaximumLikelihood, MaximumAPosteriori)):
            raise ValueError(
                f"generative={self.generative!r} must be a learner of relative frequencies,"
                " MaximumLikelihood() or MaximumAPosteriori()"
            )
        learner._check()
        if getattr(learner, "is_informed", False):
            learner._require_plain(f"the generative estimates of {type(self).__name__}")
        if isinstance(learner, MaximumLikelihood) and not learner.epsilon > 0:
            raise ValueError(
                f"epsilon={learner.epsilon!r} must be above 0: from probabilities of zero no"
                " gradient leads away"
            )

    def _warn_of_the_limit(self) -> None:
        warnings.warn(
            f"the objective was still rising after max_iter={self.max_iter} iterations: raise"
            ' max_iter, raise tol, add a penalty, or use stopping="cross-tuning"',
            ConvergenceWarning,
            stacklevel=3,
        )

    def _warn_of_local_optima(self, data: Rows, structure: Structure) -> None:
        immoral = [data.domain.names[i] for i in structure.immoral_features]
        if immoral and self.parameterization == "e":
            shown = ", ".join(map(repr, immoral[:5])) + (", …" if len(immoral) > 5 else "")
            warnings.warn(
                f"the parents of {shown} are not joined by edges, so that an objective of"
                " normalized tables may have several local optima; the one that is found depends"
                " on the start",
                stacklevel=3,
            )
