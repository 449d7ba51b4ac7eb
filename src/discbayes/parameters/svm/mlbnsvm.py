"""ML-BN-SVM: problems (10) and (11) of P13."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from discbayes.counts import Counts, count_families
from discbayes.data.blocks import Blocks, all_rows
from discbayes.data.domain import Encoded
from discbayes.engine import Context
from discbayes.network import Layout, Structure, Tables
from discbayes.objectives import ClassificationRate
from discbayes.parameters.blockscores import scores_of
from discbayes.parameters.choosing import Setting, numbers_of
from discbayes.parameters.frequency import MaximumAPosteriori
from discbayes.parameters.parameterization import Numbers, Parameterization, Plain, Softmax
from discbayes.parameters.problem import Problem
from discbayes.parameters.starts import begin_at, check_start
from discbayes.parameters.svm.base import MarginLearner
from discbayes.parameters.svm.descent import MarginFit, likelihood_counts
from discbayes.parameters.svm.duality import Bound
from discbayes.parameters.svm.reference import Solution, solve_likelihood_margin

SMOOTH = 0.1  # added to the counts that the free numbers are scaled by


class PathPoint(NamedTuple):
    """The optimum for one λ.

    ``log_likelihood`` is n·ω, with the virtual observations in n, ``slack`` the sum of the slacks of the rows, smoothed
    as in the problem, ``rate`` the share of right decisions, and ``gap`` how far above the optimum the objective is at
    most, relative to it.
    """

    lam: float
    tables: Tables
    log_likelihood: float
    slack: float
    rate: float
    gap: float


class MLBNSVM(MarginLearner):
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

    solvers = ("auto", "lbfgs", "projected", "reference")

    def __init__(self, lam: Any = 1.0, gamma: Any = 1.0, alpha: float = 1.0, start: Any = "generative", **shared: Any):
        super().__init__(lam, gamma, **shared)
        self.alpha = alpha
        self.start = start

    def path(
        self, data: Encoded, counts: Counts, structure: Structure, lams: Sequence[float], context: Context
    ) -> Iterator[PathPoint]:
        """The optimum for each λ, in the given order, each fit begun where the one before ended."""
        self._check()
        if len(gammas := self._gammas()) > 1:
            raise ValueError(f"gamma={self.gamma!r}: a path over λ needs one γ")
        free: np.ndarray | None = None
        for lam in numbers_of("lams", list(lams), (), 0.0):
            setting = Setting(0.0, self._slack(gammas[0], lam))
            fit = self._fit(setting, data, counts, structure, context.n_jobs)
            begin = fit.start if free is None else free
            ending = self._minimize(fit, begin, self.tol, self.max_iter, interrupts=context.interrupts)
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
        check_start(self.start)
        if not (np.isfinite(self.alpha) and self.alpha > 0):
            raise ValueError(f"alpha={self.alpha!r} must be a number above 0: a count of zero would have no optimum")

    def _fit(
        self, setting: Setting, data: Encoded | Blocks, counts: Counts, structure: Structure, n_jobs: int | None
    ) -> MarginFit:
        layout = Layout(structure, data.cards, data.n_classes)
        families = count_families(data, layout, counts, n_jobs)
        weights = likelihood_counts(families, self.alpha)
        parameterization: Parameterization = Plain(layout) if self._projects(structure) else Softmax(layout)
        scores = scores_of(data, layout, parameterization.normalized, n_jobs)
        problem = Problem(setting.objective, scores, parameterization, n_jobs, counts=weights)
        generative = MaximumAPosteriori("ess", self.alpha).tables(families)
        begin = parameterization.start(begin_at(self.start, generative, data.domain.names))
        scale = None
        if isinstance(parameterization, Softmax):
            scale = np.sqrt((parameterization.gathered(weights) + SMOOTH) / problem.total_weight)
        return MarginFit(problem, begin, data, families, scale)

    def _projects(self, structure: Structure) -> bool:
        if self.solver == "lbfgs" and not structure.is_c1:
            raise ValueError(
                'solver="lbfgs" is for structures in which every child of the class has a covering parent, as in naive '
                'Bayes and TAN; use solver="auto" or "projected" here'
            )
        return self.solver == "projected" or not structure.is_c1

    def _bound(self, bound: Bound) -> Callable[[Numbers], float]:
        return bound.of_likelihood

    def _by_reference(self, fit: MarginFit) -> Solution:
        slack, layout = fit.slack, fit.families.layout
        counts = likelihood_counts(fit.families, self.alpha)
        return solve_likelihood_margin(
            all_rows(fit.data, 'solver="reference"'), layout, counts.prior, counts.cells, slack.lam, slack.gamma
        )
