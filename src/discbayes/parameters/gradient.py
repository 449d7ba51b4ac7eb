"""Learners that follow a gradient: an objective, a parameterisation, a start, a penalty, a solver and a stopping rule.

Each learner of the papers is a point of that product; they differ in defaults only (``conditional.py``, ``margin.py``).
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count as count_up
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from discbayes._settings import SharedSettings
from discbayes.counts import Counts, FamilyCounts, count, count_families
from discbayes.data.distinct import distinct_rows
from discbayes.data.domain import Encoded
from discbayes.data.folds import stratified_folds
from discbayes.engine import Context, parallel_map
from discbayes.network import Layout, Structure, Tables
from discbayes.objectives import Objective
from discbayes.optim import SOLVERS, Outcome
from discbayes.parameters.backoff import back_off
from discbayes.parameters.frequency import MaximumAPosteriori, MaximumLikelihood
from discbayes.parameters.logscores import LogScores
from discbayes.parameters.parameterization import Direct, Parameterization, Softmax
from discbayes.parameters.problem import Penalty, Problem

STOPPING = ("convergence", "cross-tuning", "held-out")
STARTS = ("generative", "zeros")
TOWARDS = ("zero", "generative")
GENERATIVE: dict[str, Callable[[], Any]] = {
    "ml": MaximumLikelihood,
    "map": MaximumAPosteriori,
    "m": lambda: MaximumAPosteriori("m", 1.0),
}
PATIENCE = 20  # iterations without a better held-out value after which a fit is done
PENALTIES = tuple(float(10.0**k) for k in range(3, -4, -1))  # the grid of "cv", the strongest first


@dataclass(frozen=True)
class Setting:
    """What cross-validation chooses: the strength of the penalty, and the numbers of the objective."""

    penalty: float
    objective: Objective


@dataclass(frozen=True)
class _Fold:
    """The rows that a fold learns from, and those that it is judged by."""

    rest: Encoded
    test: Encoded


class GradientLearner(SharedSettings):
    """What all of these learners do; subclasses say what they climb and over which free numbers.

    The settings are described in ``MaximumConditionalLikelihood``.
    """

    parameterization: str

    def __init__(
        self,
        max_iter: int = 1000,
        tol: float = 1e-6,
        stopping: str = "convergence",
        n_folds: int = 5,
        generative: Any = "ml",
        start: str = "generative",
        penalty: Any = 0.0,
        towards: str = "zero",
        solver: str = "lbfgs",
        backoff: bool = True,
    ):
        self.max_iter = max_iter
        self.tol = tol
        self.stopping = stopping
        self.n_folds = n_folds
        self.generative = generative
        self.start = start
        self.penalty = penalty
        self.towards = towards
        self.solver = solver
        self.backoff = backoff

    @abstractmethod
    def _settings(self) -> list[list[Setting]]:
        """Settings to choose from; those of a list follow each other along a path, so that each starts at the last."""

    @abstractmethod
    def _merit(self, problem: Problem, free: np.ndarray) -> float:
        """How good held-out rows find a fit, when settings are compared: more is better."""

    # ---- learning

    def learn(self, data: Encoded, counts: Counts, structure: Structure, context: Context) -> Tables:
        """Start at the generative tables, or at zeros, and climb."""
        self._check()
        self._warn_of_local_optima(data, structure)
        setting = self._chosen(data, structure, context)
        if self.stopping == "held-out":
            return self._learn_held_out(setting, data, structure, context)
        tuned = self.stopping == "cross-tuning"
        max_iter = self._tuned_iterations(setting, data, structure, context) if tuned else self.max_iter
        fit = self._fit(setting, data, counts, structure, context.n_jobs)
        outcome = self._climb_or_stop(fit, max_iter, self._recorder(fit.problem, context))
        if not (outcome.converged or tuned):
            self._warn_of_the_limit()
        return fit.tables(outcome.point)

    def _recorder(self, problem: Problem, context: Context) -> Callable[[np.ndarray, float], None]:
        iterations = count_up(1)

        def record(_: np.ndarray, loss: float) -> None:
            context.record(iteration=next(iterations), score=-loss * problem.total_weight)

        return record

    def climb(self, data: Encoded, counts: Counts, structure: Structure, n_jobs: int | None = None) -> Tables:
        """The same to convergence, without warnings and trace: for searches that learn tables again and again."""
        fit = self._fit(self._settings()[0][0], data, counts, structure, n_jobs)
        return fit.tables(self._climb(fit.problem, fit.start, self.max_iter).point)

    def _fit(self, setting: Setting, data: Encoded, counts: Counts, structure: Structure, n_jobs: int | None) -> Fit:
        """What is to be maximised, and where to start."""
        layout = Layout(structure, data.cards, data.n_classes)
        families = count_families(data, layout, counts, n_jobs)
        learner = self._generative()
        counting = learner if learner.gaps == "available" else clone(learner).set_params(gaps="available")
        generative = learner.learn(data, counts, structure, Context(n_jobs=n_jobs))
        zeros = Tables(layout, np.zeros(layout.n_classes), np.zeros(layout.size))
        centre = generative if self.towards == "generative" else zeros
        begin = generative if self.start == "generative" else zeros
        seen = seen_cells(data, families)
        parameterization = self._parameterized(layout, seen, generative, centre if setting.penalty else begin)
        skipped = 0 if self.towards == "generative" else parameterization.n_prior
        centred = parameterization.start(centre)
        penalty = Penalty(setting.penalty, centred, parameterization.repeats, skipped)
        scores = LogScores(distinct_rows(data), layout, parameterization.normalized)
        problem = Problem(setting.objective, scores, parameterization, n_jobs, penalty)
        return Fit(problem, parameterization.start(begin), families, seen, counting if self.backoff else None)

    def _parameterized(self, layout: Layout, seen: np.ndarray, generative: Tables, around: Tables) -> Parameterization:
        """The free numbers; what they leave open stays as in ``around``."""
        return Softmax(layout) if self.parameterization == "e" else Direct(layout, seen, around)

    def _generative(self) -> Any:
        return GENERATIVE[self.generative]() if isinstance(self.generative, str) else self.generative

    def _climb(
        self,
        problem: Problem,
        free: np.ndarray,
        max_iter: int,
        callback: Callable[[np.ndarray, float], bool | None] | None = None,
    ) -> Outcome:
        return SOLVERS[self.solver](problem.loss, free, max_iter, self.tol, callback)

    def _climb_or_stop(self, fit: Fit, max_iter: int, callback: Callable[[np.ndarray, float], bool | None]) -> Outcome:
        """The same; interrupted, it ends where the last iteration did, which is the best point so far."""
        reached = Outcome(fit.start, np.inf, 0, True)

        def look(point: np.ndarray, loss: float) -> bool | None:
            nonlocal reached
            reached = Outcome(point, loss, reached.n_iter + 1, True)
            return callback(point, loss)

        try:
            return self._climb(fit.problem, fit.start, max_iter, look)
        except KeyboardInterrupt:
            if not reached.n_iter:
                raise
            warnings.warn(
                f"the parameters were interrupted after {reached.n_iter} iterations: the tables are the best so far",
                stacklevel=3,
            )
            return reached

    # ---- when to stop

    def _folds(self, data: Encoded, context: Context) -> list[_Fold]:
        """Folds of the rows, without those that have no rows on one of their sides."""
        folds = stratified_folds(data.classes, self.n_folds, context.rng)
        pairs = [_Fold(data.take(folds != fold), data.take(folds == fold)) for fold in range(self.n_folds)]
        return [pair for pair in pairs if pair.rest.n_samples and pair.test.n_samples]

    def _tuned_iterations(self, setting: Setting, data: Encoded, structure: Structure, context: Context) -> int:
        """The number of iterations after which the held-out folds, all together, have the best value."""

        def one(fold: _Fold) -> np.ndarray:
            fit = self._fit(setting, fold.rest, count(fold.rest), structure, None)
            watch = _Watch(fit.judge(fold.test), fit.start)
            self._climb(fit.problem, fit.start, self.max_iter, watch)
            return np.array(watch.values) * watch.judge.total_weight

        curves = parallel_map(one, self._folds(data, context), context.n_jobs)
        longest = max((curve.size for curve in curves), default=1)
        total = sum((np.pad(curve, (0, longest - curve.size), mode="edge") for curve in curves), np.zeros(longest))
        return int(np.argmax(total))

    def _learn_held_out(self, setting: Setting, data: Encoded, structure: Structure, context: Context) -> Tables:
        """Learn from all folds but one, and take the point that does best on that one."""
        folds = self._folds(data, context)
        if not folds:
            raise ValueError(f'stopping="held-out" needs more than {data.n_samples} rows')
        fit = self._fit(setting, folds[0].rest, count(folds[0].rest), structure, context.n_jobs)
        watch = _Watch(fit.judge(folds[0].test), fit.start, self._recorder(fit.problem, context))
        outcome = self._climb_or_stop(fit, self.max_iter, watch)
        if not outcome.converged:
            self._warn_of_the_limit()
        return fit.tables(watch.best)

    # ---- what to choose

    def _chosen(self, data: Encoded, structure: Structure, context: Context) -> Setting:
        """The only setting, or the one that held-out folds find best; of equal ones the first."""
        paths = self._settings()
        settings = [setting for path in paths for setting in path]
        if len(settings) == 1:
            return settings[0]
        folds = self._folds(data, context)
        jobs = list(product(folds, paths))
        merits = parallel_map(lambda job: self._along(*job, structure), jobs, context.n_jobs)
        by_fold = [np.concatenate(merits[k : k + len(paths)]) for k in range(0, len(jobs), len(paths))]
        total = sum(by_fold, np.zeros(len(settings)))
        best = settings[int(np.argmax(total >= total.max() - 1e-9 * abs(total.max())))]
        weight = sum(
            float(fold.test.n_samples if fold.test.weight is None else fold.test.weight.sum()) for fold in folds
        )
        for setting, merit in zip(settings, total, strict=True):
            context.record(setting=repr(setting), score=float(merit), held_out=float(merit / weight))
        return best

    def _along(self, fold: _Fold, path: Sequence[Setting], structure: Structure) -> np.ndarray:
        """The merit of each setting of a path for a fold, each begun where the one before ended."""
        counts, merits = count(fold.rest), []
        free: np.ndarray | None = None
        for setting in path:
            fit = self._fit(setting, fold.rest, counts, structure, None)
            free = self._climb(fit.problem, fit.start if free is None else free, self.max_iter).point
            merits.append(self._merit(fit.judge(fold.test), free))
        return np.array(merits)

    # ---- settings

    def _check(self) -> None:
        for name, least in (("max_iter", 0), ("n_folds", 2)):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name}={value!r} must be a whole number that is at least {least}")
        if not (np.isfinite(self.tol) and self.tol >= 0):
            raise ValueError(f"tol={self.tol!r} must be a number that is at least 0")
        if 0 < self.tol < np.finfo(float).eps:
            raise ValueError(
                f"tol={self.tol!r} is less than a double can tell apart: use 1e-12, or 0 to go on until rounding hides "
                "any rise"
            )
        for name, known in (
            ("stopping", STOPPING), ("solver", SOLVERS), ("start", STARTS), ("towards", TOWARDS),
        ):  # fmt: skip
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r} is not one of {', '.join(map(repr, known))}")
        self._check_generative()
        for path in self._settings():
            for setting in path:
                setting.objective._check()

    def _check_generative(self) -> None:
        if isinstance(self.generative, str) and self.generative not in GENERATIVE:
            known = ", ".join(map(repr, GENERATIVE))
            raise ValueError(f"generative={self.generative!r} is not one of {known}, nor a learner of frequencies")
        learner = self._generative()
        if not isinstance(learner, (MaximumLikelihood, MaximumAPosteriori)):
            raise ValueError(
                f"generative={self.generative!r}: the tables to start from are relative frequencies, "
                "MaximumLikelihood() or MaximumAPosteriori()"
            )
        learner._check()
        if isinstance(learner, MaximumLikelihood) and not learner.epsilon > 0:
            raise ValueError(
                f"epsilon={learner.epsilon!r} must be above 0: from probabilities of zero no gradient leads away"
            )

    def _warn_of_the_limit(self) -> None:
        warnings.warn(
            f"the objective was still rising after max_iter={self.max_iter} iterations: raise max_iter, raise tol, "
            'add a penalty, or use stopping="cross-tuning"',
            ConvergenceWarning,
            stacklevel=3,
        )

    def _warn_of_local_optima(self, data: Encoded, structure: Structure) -> None:
        immoral = [data.domain.names[i] for i in structure.immoral_features]
        if immoral and self.parameterization == "e":
            shown = ", ".join(map(repr, immoral[:5])) + (", …" if len(immoral) > 5 else "")
            warnings.warn(
                f"the parents of {shown} are not joined by edges, so that an objective of normalised tables may have "
                "several local optima; the one that is found depends on the start",
                stacklevel=3,
            )


@dataclass(frozen=True)
class Fit:
    """A problem with its start, and what turns a solution into tables."""

    problem: Problem
    start: np.ndarray
    families: FamilyCounts
    seen: np.ndarray
    backing: MaximumLikelihood | MaximumAPosteriori | None

    def judge(self, test: Encoded) -> Problem:
        """The same objective on other rows."""
        known = self.problem.parameterization
        scores = LogScores(distinct_rows(test), known.layout, known.normalized)
        return replace(self.problem, scores=scores, penalty=None, n_jobs=None)

    def tables(self, free: np.ndarray) -> Tables:
        """The tables of a solution; families that were never seen back off, if that is wanted."""
        known = self.problem.parameterization
        tables = known.tables(free)
        if self.backing is None:
            return tables
        return back_off(tables, self.families, self.seen, self.backing, known.normalized)


class _Watch:
    """Looks at held-out rows after each iteration, and ends a fit that has not become better for a while."""

    def __init__(self, judge: Problem, start: np.ndarray, record: Callable[[np.ndarray, float], None] | None = None):
        self.judge, self.best, self.record = judge, start, record
        self.values = [judge.value(start)]

    def __call__(self, point: np.ndarray, loss: float) -> bool:
        if self.record is not None:
            self.record(point, loss)
        self.values.append(self.judge.value(point))
        if self.values[-1] > max(self.values[:-1]):
            self.best = point
        return len(self.values) - int(np.argmax(self.values)) > PATIENCE


def seen_cells(data: Encoded, families: FamilyCounts) -> np.ndarray:
    """For each cell whether its values, of the feature and of its parents, were seen together with any class.

    A row with a gap in the family may be in any of its cells, and so tells of all of them.
    """
    layout = families.layout
    by_cell: np.ndarray = families.cells.reshape(-1, layout.n_classes).sum(axis=1) > 0
    seen = by_cell.repeat(layout.n_classes)
    for i, group in enumerate(layout.structure.parents):
        if data.gaps[[i, *group]].any():
            layout.table(seen, i)[...] = True
    return seen


def numbers_of(name: str, given: Any, grid: Iterable[float], least: float, strictly: bool = False) -> list[float]:
    """A number, the numbers of a sequence, or the usual grid for "cv"; refused if there are none, or one is too low."""
    if isinstance(given, str) and given != "cv":
        raise ValueError(f'{name}={given!r} is no number, no list of numbers, and not "cv"')
    listed = [float(v) for v in np.atleast_1d(list(grid) if isinstance(given, str) else given)]
    if not listed:
        raise ValueError(f'{name}={given!r} holds no number to choose: give some, or "cv" for the usual ones')
    for value in listed:
        if not (np.isfinite(value) and (value > least if strictly else value >= least)):
            bound = f"above {least:g}" if strictly else f"at least {least:g}"
            raise ValueError(f"{name}={value!r} must be a finite number that is {bound}")
    return listed
