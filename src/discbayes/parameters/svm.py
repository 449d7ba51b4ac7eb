"""Margins of support vector machines: BN-SVM and ML-BN-SVM (Peharz, Tschiatschek & Pernkopf 2013; P13).

============  ======================================================  ==========================================
learner       minimises                                               tables
============  ======================================================  ==========================================
``BNSVM``     ½‖ω‖² + λ Σ slack, problem (9)                          normalised afterwards, where that can be
``MLBNSVM``   −n·ω + λ Σ slack, n the counts, problem (10) or (11)    each row of a table sums to one at most
============  ======================================================  ==========================================

ω are the numbers in the place of log P(c) and log θ; the slack of a row is what its log d, of P(y, x) over that of the
best rival, is short of γ. (11) is (10) with a soft maximum over the rivals and a rounded corner. Both problems are
convex. On C1 structures the optimum of (11) is a proper network, so that it is found among the softmaxes of free
numbers, without constraints and without local optima: from any normalised point Algorithm 1 turns the straight line to
the optimum into a path of normalised points on which the objective falls. Elsewhere it is found by projected gradients.
"""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import count as count_up
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from discbayes.counts import Counts, count_families
from discbayes.data.distinct import distinct_rows
from discbayes.data.domain import Encoded
from discbayes.engine import Context
from discbayes.network import Layout, Structure, Tables, normalize
from discbayes.objectives import ClassificationRate, Slack
from discbayes.optim import Outcome
from discbayes.parameters.choosing import ChoosingLearner, Setting, numbers_of
from discbayes.parameters.descent import Ending, MarginFit, descend, likelihood_counts
from discbayes.parameters.duality import Bound
from discbayes.parameters.frequency import MaximumAPosteriori
from discbayes.parameters.logscores import LogScores
from discbayes.parameters.parameterization import Direct, Parameterization, Plain, Softmax
from discbayes.parameters.problem import Penalty, Problem
from discbayes.parameters.reference import NORMS, Solution, solve_likelihood_margin, solve_norm_margin
from discbayes.parameters.starts import start_tables

GAMMAS = (0.1, 1.0, 5.0, 10.0, 15.0, 20.0)  # P13 5.3
LAMS = (0.0, *(2.0**k for k in range(-2, 11)))
STARTS = ("generative", "zeros")
CHOOSING_TOL, CHOOSING_ITER = 1e-2, 200  # of fits that are only compared with each other
SMOOTH = 0.1  # added to the counts that the free numbers are scaled by

Record = Callable[[float, float], None]


class PathPoint(NamedTuple):
    """The optimum for one λ.

    ``log_likelihood`` is n·ω with the virtual observations in n, ``slack`` the sum of the rows' slacks, both smoothed
    as in the problem, ``rate`` the share of right decisions, ``gap`` how far above the optimum at most, relative to the
    objective.
    """

    lam: float
    tables: Tables
    log_likelihood: float
    slack: float
    rate: float
    gap: float


class _MarginLearner(ChoosingLearner):
    """What both learners do."""

    def __init__(
        self,
        lam: Any = 1.0,
        gamma: Any = 1.0,
        eta: float = 10.0,
        radius: float | None = None,
        solver: str = "auto",
        max_iter: int = 3000,
        tol: float = 1e-3,
        n_folds: int = 5,
    ):
        super().__init__(max_iter, tol, n_folds)
        self.lam = lam
        self.gamma = gamma
        self.eta = eta
        self.radius = radius
        self.solver = solver

    @abstractmethod
    def _fit(
        self, setting: Setting, data: Encoded, counts: Counts, structure: Structure, n_jobs: int | None
    ) -> MarginFit:
        """What is to be minimised, and where to start."""

    def learn(self, data: Encoded, counts: Counts, structure: Structure, context: Context) -> Tables:
        """Choose λ and γ, if there are several, and minimise."""
        self._check()
        setting = self._chosen(data, structure, context)
        fit = self._fit(setting, data, counts, structure, context.n_jobs)
        iterations, weight = count_up(1), fit.problem.total_weight

        def record(loss: float, gap: float) -> None:
            context.record(iteration=next(iterations), score=-loss * weight, gap=gap)

        ending = self._minimize(fit, fit.start, self.tol, self.max_iter, record)
        context.record(iteration=ending.outcome.n_iter, score=-ending.outcome.value * weight, gap=ending.gap)
        self._warn_of_the_limit(ending)
        return self._tables(fit, ending.outcome.point)

    def _slack(self, gamma: float, lam: float) -> Slack:
        radius = min(1.0, gamma) if self.radius is None else self.radius
        return Slack(gamma, lam, self.eta, radius)

    def _settings(self) -> list[list[Setting]]:
        lams = sorted(numbers_of("lam", self.lam, LAMS, 0.0))
        gammas = numbers_of("gamma", self.gamma, GAMMAS, 0.0, strictly=True)
        return [[Setting(0.0, self._slack(gamma, lam)) for lam in lams] for gamma in gammas]

    def _merit(self, problem: Problem, free: np.ndarray) -> float:
        return problem.total_of(ClassificationRate(), free)

    def _solve(self, fit: MarginFit, start: np.ndarray) -> np.ndarray:
        tol, max_iter = max(self.tol, CHOOSING_TOL), min(self.max_iter, CHOOSING_ITER)
        return self._minimize(fit, start, tol, max_iter).outcome.point

    @abstractmethod
    def _minimize(
        self,
        fit: MarginFit,
        start: np.ndarray,
        tol: float,
        max_iter: int,
        record: Record | None = None,
    ) -> Ending:
        """The optimum, to a relative gap of ``tol``."""

    def _tables(self, fit: MarginFit, free: np.ndarray) -> Tables:
        """The tables of a solution: a proper network with the same p(c, x), where there is one."""
        tables = fit.tables(free)
        return normalize(tables) if tables.structure.is_moral else tables

    def _check(self) -> None:
        super()._check()
        if self.eta is None:
            raise ValueError("eta=None, the hard maximum, has no gradient everywhere: use a large number")

    def _warn_of_the_limit(self, ending: Ending) -> None:
        """Say so where the fit ended before it was within the tolerance."""
        far = f"at most {ending.gap:.2g} of the objective above the optimum"
        if not ending.outcome.converged:
            known = "" if math.isnan(ending.gap) else f", {far}"
            message = (
                f"the fit ended after max_iter={self.max_iter} iterations{known}: raise max_iter or tol, or lower lam"
            )
        elif ending.gap > self.tol and not ending.outcome.interrupted:
            message = f"the fit ended {far}, where rounding hides any descent: raise tol"
        else:
            return
        warnings.warn(message, ConvergenceWarning, stacklevel=3)


class BNSVM(_MarginLearner):
    """Numbers that minimise ½‖ω‖² + λ Σ slack: a support vector machine over the cells of a network (P13, problem 9).

    The numbers are then turned into a normalised network with the same P(c | x), if the parents of every feature are
    joined (naive Bayes, TAN). Elsewhere they stay as they are, and stand for p(c, x) ∝ exp(log-joint). They were not
    learned to describe the data: likelihoods and answers about rows with gaps mean little; see ``MLBNSVM``.

    Parameters
    ----------
    lam : float, sequence of float or "cv", default=1
        λ, the price of a slack of one. Of several, held-out folds choose by their rate of right decisions; "cv" has
        P13's values, 2⁻² to 2¹⁰.
    gamma : float, sequence of float or "cv", default=1
        γ, the margin that rows are to reach. With the square norm the optimum only scales with it, if λ does too.
    eta : float, default=10
        How sharp the soft maximum over the rivals is.
    radius : float, optional
        The radius of the circle that rounds off the corner of the slack; min(1, γ) by default.
    norm : {"l2", "likelihood"}, default="l2"
        ½‖ω‖², or Σ |n·ω| with the counts n, which only the reference solver has.
    solver : {"auto", "lbfgs", "reference"}, default="auto"
        L-BFGS, or the exact problem by a convex solver (``pip install 'discbayes[solver]'``), for small data: without
        soft maximum and rounded corner, so that ``eta`` and ``radius`` do not count.
    max_iter : int, default=3000
        The largest number of iterations.
    tol : float, default=1e-3
        The fit ends when it is at most this share of the objective above the optimum, by a bound from the dual problem.
        For rows with gaps, which are summed out and make the problem another one, it ends when an iteration changes
        less than a thousandth of that.
    n_folds : int, default=5
        The number of folds that choose. Fits that are only compared end at a gap of 1e-2, or after 200 iterations.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> wine = load_dataset("wine")
    >>> float(BayesNetClassifier("nb", BNSVM()).fit(wine.X, wine.y).score(wine.X, wine.y))
    1.0
    """

    def __init__(self, lam: Any = 1.0, gamma: Any = 1.0, norm: str = "l2", **shared: Any):
        super().__init__(lam, gamma, **shared)
        self.norm = norm

    def _settings(self) -> list[list[Setting]]:
        lams = sorted(numbers_of("lam", self.lam, LAMS[1:], 0.0))
        gammas = numbers_of("gamma", self.gamma, GAMMAS, 0.0, strictly=True)
        return [[Setting(1.0, self._slack(gamma, lam)) for lam in lams] for gamma in gammas]

    def _check(self) -> None:
        super()._check()
        self._check_names(norm=NORMS, solver=("auto", "lbfgs", "reference"))
        if self.norm == "likelihood" and self.solver != "reference":
            raise ValueError('norm="likelihood" needs solver="reference": its corners have no gradient')

    def _fit(
        self, setting: Setting, data: Encoded, counts: Counts, structure: Structure, n_jobs: int | None
    ) -> MarginFit:
        layout = Layout(structure, data.cards, data.n_classes)
        families = count_families(data, layout, counts, n_jobs)
        zeros = Tables(layout, np.zeros(layout.n_classes), np.zeros(layout.size))
        every = np.ones(layout.size, bool)
        parameterization = Direct(layout, every, zeros)
        centre = np.zeros(parameterization.size)
        penalty = Penalty(setting.penalty, centre, parameterization.repeats)
        scores = LogScores(distinct_rows(data), layout, normalized=False)
        problem = Problem(setting.objective, scores, parameterization, n_jobs, penalty)
        return MarginFit(problem, centre, families, every, None, data, np.ones(centre.size))

    def _minimize(
        self,
        fit: MarginFit,
        start: np.ndarray,
        tol: float,
        max_iter: int,
        record: Record | None = None,
    ) -> Ending:
        if self.solver == "reference":
            return self._by_reference(fit)
        bound = Bound(fit.problem).of_norm if Bound.is_known(fit.problem) else None
        return descend(fit, bound, start, tol, max_iter, record)

    def _by_reference(self, fit: MarginFit) -> Ending:
        slack, known = fit.slack, fit.problem.parameterization
        counts = likelihood_counts(fit.families, 1.0)
        found = solve_norm_margin(fit.data, known.layout, counts.prior, counts.cells, slack.lam, slack.gamma, self.norm)
        return _exact(fit, found)


class MLBNSVM(_MarginLearner):
    """Tables that minimise −n·ω + λ Σ slack: margins as far as the likelihood allows (P13, problems 10 and 11).

    λ is a dial from generative to discriminative. At λ = 0 the tables are the relative frequencies of
    ``MaximumAPosteriori("ess", alpha)``; the more it grows, the more the rows' margins count.

    On structures that are not C1 (``Structure.is_c1``) the problem stays convex, but rows of the tables at its optimum
    may sum to less than one. The tables then stand for p(c, x) ∝ exp(log-joint), and −n·ω is no likelihood any more.
    Where rows have gaps the counts are of the rows without a gap in the family, and the slack is that of what is
    observed: the problem is not convex then, and the optimum that is found may be a local one.

    Parameters
    ----------
    lam : float, sequence of float or "cv", default=1
        λ, the price of a slack of one. Of several, held-out folds choose by their rate of right decisions; "cv" has
        P13's values: 0 and 2⁻² to 2¹⁰.
    gamma : float, sequence of float or "cv", default=1
        γ, the margin that rows are to reach; "cv" has P13's values, 0.1 to 20.
    alpha : float, default=1
        The virtual observations that are spread over each table, so that no count is zero.
    start : {"generative", "zeros"} or Tables, default="generative"
        Where the fit begins: at the relative frequencies, at uniform tables, or at tables of the same network, such as
        ``network_.parameters`` of a fitted classifier. The optimum does not depend on it.
    eta : float, default=10
        How sharp the soft maximum over the rivals is.
    radius : float, optional
        The radius of the circle that rounds off the corner of the slack; min(1, γ) by default.
    solver : {"auto", "lbfgs", "projected", "reference"}, default="auto"
        L-BFGS over normalised tables, which is for C1 structures; projected gradients, for any structure; or problem
        (10) by a convex solver (``pip install 'discbayes[solver]'``), for small data, where ``eta`` and ``radius`` do
        not count. "auto" takes the first where it can be used, else the second.
    max_iter : int, default=3000
        The largest number of iterations.
    tol : float, default=1e-3
        The fit ends when it is at most this share of the objective above the optimum, by a bound from the dual problem.
        For rows with gaps it ends when an iteration changes less than a thousandth of that.
    n_folds : int, default=5
        The number of folds that choose. Fits that are only compared end at a gap of 1e-2, or after 200 iterations.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> wine = load_dataset("wine")
    >>> float(BayesNetClassifier("tan", MLBNSVM(lam=4)).fit(wine.X, wine.y).score(wine.X, wine.y))
    1.0
    """

    def __init__(self, lam: Any = 1.0, gamma: Any = 1.0, alpha: float = 1.0, start: Any = "generative", **shared: Any):
        super().__init__(lam, gamma, **shared)
        self.alpha = alpha
        self.start = start

    def path(
        self, data: Encoded, counts: Counts, structure: Structure, lams: Sequence[float], context: Context
    ) -> Iterator[PathPoint]:
        """The optimum for each λ, in the given order, each fit begun where the one before ended."""
        self._check()
        if len(gammas := numbers_of("gamma", self.gamma, GAMMAS, 0.0, strictly=True)) > 1:
            raise ValueError(f"gamma={self.gamma!r}: a path over λ needs one γ")
        free: np.ndarray | None = None
        for lam in numbers_of("lams", list(lams), (), 0.0):
            setting = Setting(0.0, self._slack(gammas[0], lam))
            fit = self._fit(setting, data, counts, structure, context.n_jobs)
            ending = self._minimize(fit, fit.start if free is None else free, self.tol, self.max_iter)
            self._warn_of_the_limit(ending)
            free = ending.outcome.point
            point = self._point(fit, free, ending.gap)
            context.record(lam=lam, score=-ending.outcome.value * fit.problem.total_weight, gap=ending.gap)
            yield point

    def _point(self, fit: MarginFit, free: np.ndarray, gap: float) -> PathPoint:
        problem, counts = fit.problem, likelihood_counts(fit.families, self.alpha)
        slack = -problem.total_of(clone(fit.slack).set_params(lam=1.0), free)
        rate = problem.total_of(ClassificationRate(), free) / problem.total_weight
        likelihood = counts.dot(problem.parameterization.numbers(free))
        return PathPoint(fit.slack.lam, self._tables(fit, free), likelihood, slack, rate, gap)

    def _check(self) -> None:
        super()._check()
        self._check_names(solver=("auto", "lbfgs", "projected", "reference"))
        if not isinstance(self.start, Tables):
            self._check_names(start=STARTS)
        if not (np.isfinite(self.alpha) and self.alpha > 0):
            raise ValueError(f"alpha={self.alpha!r} must be a number above 0: a count of zero would have no optimum")

    def _fit(
        self, setting: Setting, data: Encoded, counts: Counts, structure: Structure, n_jobs: int | None
    ) -> MarginFit:
        layout = Layout(structure, data.cards, data.n_classes)
        families = count_families(data, layout, counts, n_jobs)
        weights = likelihood_counts(families, self.alpha)
        parameterization: Parameterization = Plain(layout) if self._projects(structure) else Softmax(layout)
        scores = LogScores(distinct_rows(data), layout, parameterization.normalized)
        problem = Problem(setting.objective, scores, parameterization, n_jobs, counts=weights)
        generative = MaximumAPosteriori("ess", self.alpha).tables(families)
        begin = parameterization.start(self._begin(layout, data.domain.names, generative))
        scale = np.ones(begin.size)
        if isinstance(parameterization, Softmax):
            scale = np.sqrt((parameterization.gathered(weights) + SMOOTH) / problem.total_weight)
        return MarginFit(problem, begin, families, np.empty(0, bool), None, data, scale)

    def _begin(self, layout: Layout, names: Sequence[str], generative: Tables) -> Tables:
        if isinstance(self.start, str):
            return generative if self.start == "generative" else _uniform(layout)
        return start_tables(self.start, layout, names)

    def _projects(self, structure: Structure) -> bool:
        if self.solver == "lbfgs" and not structure.is_c1:
            raise ValueError(
                'solver="lbfgs" is for structures in which every child of the class has a covering parent, as in naive '
                'Bayes and TAN; use solver="auto" or "projected" here'
            )
        return self.solver == "projected" or not structure.is_c1

    def _minimize(
        self,
        fit: MarginFit,
        start: np.ndarray,
        tol: float,
        max_iter: int,
        record: Record | None = None,
    ) -> Ending:
        if self.solver == "reference":
            return self._by_reference(fit)
        bound = Bound(fit.problem).of_likelihood if Bound.is_known(fit.problem) else None
        return descend(fit, bound, start, tol, max_iter, record)

    def _by_reference(self, fit: MarginFit) -> Ending:
        slack, known, counts = fit.slack, fit.problem.parameterization, likelihood_counts(fit.families, self.alpha)
        found = solve_likelihood_margin(fit.data, known.layout, counts.prior, counts.cells, slack.lam, slack.gamma)
        return _exact(fit, found)


def _exact(fit: MarginFit, found: Solution) -> Ending:
    """What the reference solver found, in the free numbers of a fit."""
    free = fit.problem.parameterization.start(found.tables)
    gap = (found.value - found.bound) / max(abs(found.value), np.finfo(float).tiny)
    return Ending(Outcome(free, found.value / fit.problem.total_weight, 0, True), gap)


def _uniform(layout: Layout) -> Tables:
    theta = -np.log(np.repeat(layout.cards, np.diff(layout.offsets)))
    return Tables(layout, np.full(layout.n_classes, -math.log(layout.n_classes)), theta)
