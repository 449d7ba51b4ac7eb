"""ML-BN-SVM: problems (10) and (11) of P13."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from discbayes._settings import require_number
from discbayes.counts import Counts, count_families
from discbayes.data.domain import Encoded
from discbayes.data.rows import Rows
from discbayes.engine import Context, Interrupts
from discbayes.network import CPTs, Layout, Structure
from discbayes.objectives import ClassificationRate
from discbayes.parameters.cross_validated import Setting, numbers_of
from discbayes.parameters.generative import MaximumAPosteriori
from discbayes.parameters.log_scores import LogScores
from discbayes.parameters.parameterization import Numbers, Plain, Softmax, Subnormalized
from discbayes.parameters.problem import Problem
from discbayes.parameters.starts import begin_at, check_start
from discbayes.parameters.svm.descent import Ending, MarginFit, likelihood_counts, relative_gap
from discbayes.parameters.svm.duality import Bound
from discbayes.parameters.svm.margin_learner import MarginLearner
from discbayes.parameters.svm.reference import Solution, solve_likelihood_margin

SMOOTH = 0.1  # added to the counts by which the parameters are scaled
# a pass over the rows for so many iterations of the fit goes into a better bound, at the end
BOUND_SHARE = 4
NORMALIZED = (
    'with tables kept normalized, which may cost that much on this structure: solver="auto" does'
    " without"
)


class PathPoint(NamedTuple):
    """The optimum for one λ.

    ``log_likelihood`` is n·ω, with the virtual observations in n, ``slack`` the sum of the slacks
    of the rows, smoothed as in the problem, ``rate`` the accuracy, and ``gap`` the duality gap
    relative to the objective.
    """

    lam: float
    tables: CPTs
    log_likelihood: float
    slack: float
    rate: float
    gap: float


class MLBNSVM(MarginLearner):
    """Tables that trade likelihood for margins: they minimize −n·ω + λ Σ slack (P13, 10 and 11).

    λ goes from generative to discriminative. At λ = 0 the tables are the relative frequencies
    of ``MaximumAPosteriori("ess", alpha)``; the larger it is, the more the margins of rows count.

    On structures that are not C1 (``Structure.is_c1``) the problem stays convex, but rows of the
    tables at its optimum may sum to less than one. The tables then stand for p(c, x) ∝
    exp(log-joint), and −n·ω is not a likelihood. With ``solver="lbfgs"`` the tables are
    normalized on every structure (P13, section 2); off C1 that problem is not convex, so the
    optimum may be a local one, and what is proven of it is the gap to the convex optimum. With
    missing values the counts are of the rows in which a family is complete, and the slack is that
    of the observed values: the problem is not convex then, and the optimum that is found may be a
    local one.

    Parameters
    ----------
    lam : float, sequence of float or "cv", default=1
        The cost λ of a slack of one. Several values are compared by accuracy on held-out folds;
        "cv" has P13's values: 0 and 2⁻² to 2¹⁰.
    gamma : float, sequence of float or "cv", default=1
        The required margin γ of rows; "cv" has P13's values, 0.1 to 20.
    alpha : float, default=1
        The virtual observations of each table, so that no count is zero.
    start : {"generative", "zeros"} or CPTs, default="generative"
        Where the fit starts: at the relative frequencies, at uniform tables, or at tables of the
        same network, such as ``network_.parameters`` of a fitted classifier. The optimum does not
        depend on it.
    eta : float, default=10
        The sharpness of the soft maximum over the other classes.
    radius : float, optional
        The radius of the circle that rounds the corner of the slack; min(1, γ) by default.
    solver : {"auto", "lbfgs", "subnormalized", "projected", "reference"}, default="auto"
        - "lbfgs": L-BFGS over normalized tables, the softmax of unconstrained parameters.
        - "subnormalized": L-BFGS over tables whose rows sum to one at most, with a slack in the
          normalizer of each row that needs one. On C1 structures none does, and it is the same as
          "lbfgs".
        - "projected": projected gradients over the same tables, as in P13, section 4; slow with a
          large λ.
        - "reference": problem (10) by a convex solver (``pip install 'discbayes[solver]'``), for
          small data and C1 structures; ``eta`` and ``radius`` have no effect.

        "auto" is "lbfgs" on C1 structures and "subnormalized" on others.
    max_iter : int, default=3000
        The maximum number of iterations.
    tol : float, default=1e-3
        The fit ends when it is at most this share of the objective above the optimum, by a bound
        from the dual problem. For rows with missing values, and for normalized tables on structures
        that are not C1, it ends when an iteration changes less than a thousandth of that. ``gap``
        in the last step of ``history_`` is the share that is proven at the end.
    n_folds : int, default=5
        The number of folds for choosing λ and γ. Fits that are only compared end at a relative
        duality gap of 1e-2, or after 200 iterations.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> wine = load_dataset("wine")
    >>> float(BayesNetClassifier("tan", MLBNSVM(lam=4)).fit(wine.X, wine.y).score(wine.X, wine.y))
    1.0
    """

    solvers = ("auto", "lbfgs", "projected", "reference", "subnormalized")

    @property
    def uses_unlabeled(self) -> bool:
        """Whether rows without a label have a likelihood: under normalized tables they do."""
        return self.solver in ("auto", "lbfgs")

    def __init__(
        self,
        lam: Any = 1.0,
        gamma: Any = 1.0,
        alpha: float = 1.0,
        start: Any = "generative",
        **shared: Any,
    ):
        super().__init__(lam, gamma, **shared)
        self.alpha = alpha
        self.start = start

    def path(
        self,
        data: Encoded,
        counts: Counts,
        structure: Structure,
        lams: Sequence[float],
        context: Context,
    ) -> Iterator[PathPoint]:
        """Iterate over the optima for values of λ, each fit started where the last ended.

        Parameters
        ----------
        data : Encoded
            The rows.
        counts : Counts
            Counts of the class and of each feature.
        structure : Structure
            The structure.
        lams : sequence of float
            The values of λ, in the order of the fits.
        context : Context
            The number of threads, and the trace of the fits.

        Yields
        ------
        PathPoint
            The optimum for a value of λ.

        Examples
        --------
        >>> from discbayes import MLBNSVM
        >>> from discbayes.counts import count
        >>> from discbayes.data import FrameEncoder
        >>> from discbayes.engine import Context
        >>> from discbayes.network import Structure
        >>> data = FrameEncoder().fit_transform([["red"], ["blue"], ["red"]], [1, 0, 1])
        >>> points = MLBNSVM().path(data, count(data), Structure.naive(1), [0.0, 4.0], Context())
        >>> [(point.lam, float(point.rate)) for point in points]
        [(0.0, 1.0), (4.0, 1.0)]
        """
        self._check()
        if len(gammas := self._gammas()) > 1:
            raise ValueError(f"gamma={self.gamma!r}: a path over λ needs one γ")
        free: np.ndarray | None = None
        for lam in numbers_of("lams", list(lams), (), 0.0):
            setting = Setting(0.0, self._slack(gammas[0], lam))
            fit = self._fit(setting, data, counts, structure, context.n_jobs)
            begin = fit.start if free is None else free
            ending = self._minimize(
                fit, begin, self.tol, self.max_iter, interrupts=context.interrupts
            )
            ending = self._certified(fit, ending, context.interrupts)
            self._warn_of_the_limit(ending)
            free = ending.outcome.point
            point = self._point(fit, free, ending.duality_gap)
            context.record(
                lam=lam,
                score=-ending.outcome.value * fit.problem.total_weight,
                gap=ending.duality_gap,
            )
            yield point

    def _point(self, fit: MarginFit, free: np.ndarray, duality_gap: float) -> PathPoint:
        problem, counts = fit.problem, likelihood_counts(fit.families, self.alpha)
        slack = -problem.total_of(clone(fit.slack).set_params(lam=1.0), free)
        rate = problem.total_of(ClassificationRate(), free) / problem.total_weight
        likelihood = counts.dot(problem.parameterization.numbers(free))
        return PathPoint(
            fit.slack.lam, self._tables(fit, free), likelihood, slack, rate, duality_gap
        )

    def _check(self) -> None:
        super()._check()
        check_start(self.start)
        require_number("alpha", self.alpha, 0, ": a count of zero would have no optimum")

    def _fit(
        self,
        setting: Setting,
        data: Rows,
        counts: Counts,
        structure: Structure,
        n_jobs: int | None,
    ) -> MarginFit:
        layout = Layout.of(structure, data)
        families = count_families(data, layout, counts, n_jobs)
        weights = likelihood_counts(families, self.alpha)
        parameterization = self._parameterization(layout)
        scores = LogScores(data, layout, parameterization.normalized, n_jobs)
        unlabeled = self._unlabeled_scores(parameterization, n_jobs)
        problem = Problem(
            setting.objective,
            scores,
            parameterization,
            n_jobs,
            counts=weights,
            unlabeled=unlabeled,
        )
        generative = MaximumAPosteriori("ess", self.alpha).tables(families)
        begin = parameterization.start(begin_at(self.start, generative, data.domain.names))
        return MarginFit(problem, begin, data, families, _scale(problem))

    def _parameterization(self, layout: Layout) -> Plain | Softmax:
        if self.solver == "projected":
            return Plain(layout)
        normalized = self.solver == "lbfgs" or layout.structure.is_c1
        # The likelihood of rows without a label is that of normalized tables.
        normalized |= self.unlabeled_rows is not None
        return Softmax(layout) if normalized else Subnormalized(layout)

    def _certified(
        self, fit: MarginFit, ending: Ending, interrupts: Interrupts | None = None
    ) -> Ending:
        """Return the ending with a gap from a better bound, if it is not within the tolerance."""
        done = (
            ending.duality_gap <= self.tol
            or ending.outcome.interrupted
            or self.solver == "reference"
        )
        if done or not Bound.is_known(fit.problem):
            return ending
        try:
            lowest = self._lowest(fit, ending, interrupts)
        except KeyboardInterrupt:  # ends the search for a bound, not the run
            if interrupts is None or not interrupts.take():
                raise
            return ending
        duality_gap = np.fmin(ending.duality_gap, relative_gap(ending.outcome.value, lowest))
        return ending._replace(
            duality_gap=float(duality_gap), reason=ending.reason if fit.is_convex else NORMALIZED
        )

    def _lowest(self, fit: MarginFit, ending: Ending, interrupts: Interrupts | None) -> float:
        """Return a lower bound of the loss, if need be from the problem without normalization."""
        if fit.is_convex:
            numbers = fit.problem.parameterization.numbers(ending.outcome.point)
            rounds = ending.outcome.n_iter // BOUND_SHARE
            return Bound(fit.problem).by_lowering(numbers, rounds) / fit.problem.total_weight
        relaxed = Subnormalized(fit.families.layout)
        problem = replace(fit.problem, parameterization=relaxed)
        begin = relaxed.start(fit.tables(ending.outcome.point))
        free = replace(fit, problem=problem, start=begin, scale=_scale(problem))
        found = self._certified(
            free, self._minimize(free, begin, self.tol, self.max_iter), interrupts
        )
        return found.outcome.value - found.duality_gap * abs(found.outcome.value)

    def _bound(self, bound: Bound) -> Callable[[Numbers], float]:
        return bound.of_likelihood

    def _by_reference(self, fit: MarginFit) -> Solution:
        slack, layout = fit.slack, fit.families.layout
        counts = likelihood_counts(fit.families, self.alpha)
        return solve_likelihood_margin(
            fit.data.in_memory('solver="reference"'),
            layout,
            counts.prior,
            counts.cells,
            slack.lam,
            slack.gamma,
        )


def _scale(problem: Problem) -> np.ndarray | None:
    """Return the square roots of the counts of each parameter, the units of L-BFGS steps."""
    known, counts = problem.parameterization, problem.counts
    if counts is None or not isinstance(known, Softmax):
        return None
    return np.sqrt((known.gathered(counts) + SMOOTH) / problem.total_weight)
