"""Weights on the levels of hierarchical smoothing that maximize the conditional likelihood.

Z17 learns weights on generative log θ, and names in its section 8 what is missing: lower levels,
learned as well. Here they are::

    log q(x | u, c) = w₀·log p₀ + Σ w_l·(log p_l − log p_(l−1)) + free parameters − log Z(u, c)

p_l are the levels of ``HierarchicalSmoothing``, Z is the sum over x: the tables are normalized, so
that the result is a Bayesian network. The weight of a feature and level is a_l + δ: one weight of
each level that all features share, and deviations of the feature and of each class, which are
penalized. Training rows read the
levels without themselves (leave-one-out), since the counts that they are in flatter them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count as count_up
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from discbayes._settings import require_integer, require_number
from discbayes.counts import Counts
from discbayes.data.domain import Encoded
from discbayes.data.rows import Rows
from discbayes.engine import Context, parallel_map
from discbayes.kernels import level_tables as kernels
from discbayes.kernels.level_tables import FreeStates
from discbayes.kernels.objective_rows import likelihood_rows
from discbayes.kernels.quasi_newton import dot
from discbayes.network import CPTs, Structure
from discbayes.objectives import ConditionalLikelihood, Objective
from discbayes.optim import Outcome, lbfgs, until_interrupted
from discbayes.parameters.configurations import Configurations
from discbayes.parameters.hierarchical import (
    BANDWIDTH,
    BackoffLevels,
    HierarchicalSmoothing,
)
from discbayes.parameters.log_scores import LogScores
from discbayes.parameters.parameterization import FreeCells, Numbers
from discbayes.parameters.problem import Penalty, Problem

CLASS_FACTOR = 3.0  # on the penalty, for the deviations of classes
SHARED_PENALTY = 1.0  # of the deviation of a shared weight from one
# coarse intervals: more than for the generative estimates, as weights make up for what it blurs
PARENT_BANDWIDTH = 0.8
PRIOR_PENALTY = 0.1  # of the deviation of the class parameters from the class shares
PART_CELLS = 50_000  # of the tables that a thread computes
# iterations of little gain after which a fit ends: without free cells, and with them
PATIENCE = 4, 2
CELL_WORK = 4.0  # nanoseconds for each number of a level
# of fits that are compared only: single precision is enough for them, and for one that begins where
# such a fit ended; tables are computed in double precision
SINGLE_TOL = 1e-4


class FittedWeights(NamedTuple):
    """The parameters of a fit, and the levels that they belong to."""

    levels: BackoffLevels
    point: np.ndarray


class LevelWeights:
    """Parameters: one for each class, shared weights of the levels, deviations, and free cells.

    Parameters
    ----------
    levels : BackoffLevels
        The levels.
    free_cells : bool, default=False
        Whether states of features and of their parents have free parameters.
    n_jobs : int, optional
        The number of threads.
    observed_only : bool, default=False
        Whether tables have those cells only that occur, as differences from the usual ones, while
        the weights are learned.
    single : bool, default=False
        Whether tables are computed in single precision.
    configurations : Configurations, optional
        Which cells tables have instead, not as differences; nothing is learned from rows.
    """

    normalized, repeats = True, 1.0
    own: FreeCells | None = None

    def __init__(
        self,
        levels: BackoffLevels,
        free_cells: bool = False,
        n_jobs: int | None = None,
        observed_only: bool = False,
        single: bool = False,
        configurations: Configurations | None = None,
    ):
        self.layout, self.n_prior = levels.layout, levels.layout.n_classes
        self.levels, self.n_jobs = levels, n_jobs
        self.configurations = levels.observed if observed_only else levels.whole
        if configurations is not None:
            self.configurations = configurations
        self._arrays = levels.arrays(self.configurations, single)
        self._usual = levels.usual if observed_only else np.full_like(levels.usual, -1)
        # classes in memory: of levels, and of the tables that are written
        self._widths = levels.width, levels.width if observed_only else self.n_prior
        self._own = levels.own_arrays
        self.level_of = levels.level_of
        self.n_shared = int(self.level_of.max(initial=-1)) + 1
        nothing = np.zeros(0, np.int64)
        self._free = FreeStates(np.zeros_like(self.configurations.start), nothing)
        if free_cells:
            self._free = levels.free_cells(self.configurations)
        self.n_free = (int(self._free.place.max(initial=-1)) + 1) * self.n_prior
        self.sizes = (self.n_prior, self.n_shared, self.level_of.size * (1 + self.n_prior))
        self._ends = np.cumsum(self.sizes).tolist()
        self.size = sum(self.sizes) + self.n_free
        # the columns of what does not depend on the class stay equal
        depends = np.array(self.layout.structure.class_children, bool)
        self._by_class = np.repeat(depends, [len(group) for group in levels.values])[:, None]
        lines = np.diff(self.configurations.start)
        self._parts = _parts(lines * self.layout.cards * self.n_prior)
        # what the numbers are, one after the other: tables, own cells, sums of lines, usual cells
        self._ends_of_numbers = np.cumsum([
            self.configurations.size // self.n_prior * self._widths[1],
            self._own.classes.size,
            lines.sum() * levels.width,
            lines.size * levels.width,
        ]).tolist()  # fmt: skip

    def split(self, free: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the parameters of classes, shared weights, deviations, and free cells.

        The deviations of the weight of each level of each feature come first, then those of its
        classes.
        """
        ends = self._ends
        return free[: ends[0]], free[ends[0] : ends[1]], free[ends[1] : ends[2]], free[ends[2] :]

    def start(self, tables: CPTs | None = None) -> np.ndarray:
        """Return the parameters of the generative estimates: weights of one, no free cells."""
        free = np.zeros(self.size)
        log_prior, shared, _, _ = self.split(free)
        log_prior[:] = self.levels.log_prior
        shared[:] = 1.0
        return free

    def begin(self, fitted: FittedWeights | None) -> np.ndarray:
        """Return the parameters to begin with: those of another fit, as far as they are here.

        Of other levels they are those of the same number of parents, and free cells are those of
        the same values of the first parents.
        """
        free = self.start()
        if fitted is None:
            return free
        levels, point = fitted
        if levels is self.levels:
            n = min(free.size, point.size)
            free[:n] = point[:n]
            return free
        n_before, n_levels = levels.level_of.size, self.level_of.size
        n_shared = int(levels.level_of.max(initial=-1)) + 1
        ends = np.cumsum([self.n_prior, n_shared, n_before, n_before * self.n_prior])
        of_prior, of_shared, of_levels, of_classes, of_cells = np.split(point, ends)
        log_prior, shared, deviations, cells = self.split(free)
        log_prior[:] = of_prior
        shared[:n_shared] = of_shared[: shared.size]
        # what one more parent tells is about as much of it new as that of the one before
        shared[n_shared:] = of_shared[-1:]
        depth = max(n_shared, shared.size)
        place = np.full((self.layout.cards.size, depth), -1)
        place[levels.feature_of, levels.level_of] = np.arange(n_before)
        source = place[self.levels.feature_of, self.level_of]
        target = np.flatnonzero(source >= 0)
        source = source[target]
        deviations[target] = of_levels[source]
        by_class = deviations[n_levels:].reshape(n_levels, self.n_prior)
        by_class[target] = of_classes.reshape(n_before, self.n_prior)[source]
        if self.n_free and of_cells.size:
            known = levels.free_like(self.levels)
            of_cells = np.vstack([of_cells.reshape(-1, self.n_prior), np.zeros(self.n_prior)])
            cells[:] = of_cells[known].ravel()
        return free

    def weights(self, free: np.ndarray) -> np.ndarray:
        """Return the weight of each level of each feature in each class."""
        _, shared, deviations, _ = self.split(free)
        n_levels = self.level_of.size
        of_levels = shared[self.level_of] + deviations[:n_levels]
        of_classes = deviations[n_levels:].reshape(n_levels, self.n_prior)
        return np.asarray(of_levels[:, None] + self._by_class * of_classes)

    def _split_numbers(self, numbers: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the tables, what leaving a row out adds, the sums of lines, and usual cells."""
        ends, width = self._ends_of_numbers, self._widths[0]
        return (
            numbers[: ends[0]],
            numbers[ends[0] : ends[1]],
            numbers[ends[1] : ends[2]].reshape(-1, width),
            numbers[ends[2] :].reshape(-1, width),
        )

    def numbers(self, free: np.ndarray) -> Numbers:
        """Return log P(c), not normalized, and log θ; then what leaving a row out adds to it.

        If log θ are differences from usual cells, these are added to log P(c).
        """
        weights, cells = self.weights(free), self.split(free)[3]
        numbers = np.empty(self._ends_of_numbers[-1])
        tables, own, norms, usual = self._split_numbers(numbers)
        usual[:] = 0.0

        def one(features: tuple[int, int]) -> None:
            kernels.weighted_tables(
                weights, cells, self._free, self._arrays, self._widths, features, self._usual,
                usual, norms, tables,
            )  # fmt: skip

        parallel_map(one, self._parts, self.n_jobs, work=CELL_WORK * tables.size)
        kernels.own_values(weights, self._own, self._arrays.first, own)
        return Numbers(free[: self.n_prior] + usual[:, : self.n_prior].sum(axis=0), numbers)

    def pull_back(self, free: np.ndarray, numbers: Numbers, gradient: Numbers) -> np.ndarray:
        """Return the gradient with respect to the parameters, given these and their tables."""
        back = np.zeros(self.size)
        prior, shared, deviations, cells = self.split(back)
        prior[:] = gradient.prior
        weights, free_cells = self.weights(free), self.split(free)[3]
        norms = self._split_numbers(numbers.cells)[2]
        tables, own = np.split(gradient.cells, self._ends_of_numbers[:1])
        slopes = np.zeros((self.level_of.size, self.n_prior))

        def one(features: tuple[int, int]) -> None:
            kernels.weight_gradient(
                weights, free_cells, self._free, self._arrays, self._widths, features,
                self._usual, norms, tables, gradient.prior, slopes, cells,
            )  # fmt: skip

        parallel_map(one, self._parts, self.n_jobs, work=CELL_WORK * tables.size)
        if own.size:  # of rows that are left out
            kernels.own_gradient(own, self._own, self._arrays.first, slopes)
        n_levels = self.level_of.size
        deviations[:n_levels] = slopes.sum(axis=1)
        deviations[n_levels:] = (self._by_class * slopes).ravel()
        shared[:] = np.bincount(self.level_of, deviations[:n_levels], self.n_shared)
        return back

    def curvature(self, free: np.ndarray, numbers: Numbers, variance: Numbers) -> np.ndarray:
        """Return the curvature along each parameter, from that along the cells of their tables."""
        found = np.zeros(self.size)
        prior, shared, deviations, cells = self.split(found)
        prior[:] = variance.prior
        weights, free_cells = self.weights(free), self.split(free)[3]
        norms = self._split_numbers(numbers.cells)[2]
        tables = variance.cells[: self._ends_of_numbers[0]]
        of_weights = np.zeros((self.level_of.size, self.n_prior))

        def one(features: tuple[int, int]) -> None:
            kernels.level_curvature(
                weights, free_cells, self._free, self._arrays, self._widths, features,
                self._usual, norms, tables, variance.prior, of_weights, cells,
            )  # fmt: skip

        parallel_map(one, self._parts, self.n_jobs, work=CELL_WORK * tables.size)
        n_levels = self.level_of.size
        deviations[:n_levels] = of_weights.sum(axis=1)
        deviations[n_levels:] = (self._by_class * of_weights).ravel()
        shared[:] = np.bincount(self.level_of, deviations[:n_levels], self.n_shared)
        return found

    def at(self, configurations: Configurations) -> LevelWeights:
        """Return the same parameters for tables of other cells."""
        return LevelWeights(
            self.levels, bool(self.n_free), self.n_jobs, configurations=configurations
        )

    def tables(self, free: np.ndarray) -> CPTs:
        """Return the tables of the parameters, with all parent configurations."""
        distinct, reads = self.levels.distinct
        prior, cells = self.at(distinct).numbers(free)
        log_prior = prior - np.logaddexp.reduce(prior)
        log_theta = np.empty(self.layout.size)
        for i, lines in enumerate(reads):
            found = cells[distinct.offsets[i] : distinct.offsets[i + 1]]
            size = self.layout.cards[i] * self.n_prior
            table = self.layout.table(log_theta, i).reshape(-1, size)
            np.take(found.reshape(-1, size), lines, axis=0, out=table)
        return CPTs(self.layout, log_prior, log_theta)


def _parts(sizes: np.ndarray) -> list[tuple[int, int]]:
    """Divide features into parts of about equal size, which depend on the sizes alone."""
    n_parts = int(np.clip(sizes.sum() // PART_CELLS, 1, 8))
    ends = np.searchsorted(np.cumsum(sizes), sizes.sum() * np.arange(1, n_parts + 1) / n_parts)
    bounds = np.unique(np.concatenate([[0], np.minimum(ends + 1, sizes.size)]))
    return [(int(a), int(b)) for a, b in pairwise(bounds)]


@dataclass(frozen=True)
class _LevelPenalty(Penalty):
    """½·Σ strength·(parameter − center)², with a strength for each parameter."""

    strengths: np.ndarray = field(default_factory=lambda: np.empty(0))

    def value_and_gradient(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the penalty and its gradient."""
        away = free - self.center
        slope = self.strengths * away
        return 0.5 * float(dot(slope, away)), slope


class _PosteriorVariance(Objective):
    """Σ weight · log P(y | x), with its curvature along each score, P(c | x)·(1 − P(c | x))."""

    def _fill(
        self, log_joint: np.ndarray, y: np.ndarray, values: np.ndarray, gradient: np.ndarray
    ) -> None:
        likelihood_rows(log_joint, y, values, gradient)
        gradient[np.arange(y.size), y] -= 1.0  # minus the posterior is left
        gradient *= -1.0 - gradient


def _curvature(problem: Problem, point: np.ndarray, known: dict[int, np.ndarray]) -> np.ndarray:
    """Return about the second derivative of the loss along each parameter.

    That of the rows is ``known``, by the number of parameters, from a fit with other penalties.
    """
    penalty, weights = problem.penalty, problem.parameterization
    assert isinstance(penalty, _LevelPenalty)
    assert isinstance(weights, LevelWeights)
    if weights.size not in known:
        numbers = weights.numbers(point)
        variance = replace(problem, objective=_PosteriorVariance()).total_and_slopes(numbers)[1]
        known[weights.size] = np.maximum(weights.curvature(point, numbers, variance), 0.0)
    # the first step moves the cells of all features of a row, which add up
    n_features = max(1, np.count_nonzero(weights.layout.cards > 1))
    return (penalty.strengths + known[weights.size]) * n_features / problem.total_weight


class PreparedLevels(NamedTuple):
    """Levels, and the rows of a fit of their weights.

    With ``observed_only`` they have those cells only that occur. Rows without a label are no part
    of the levels. ``curvatures`` are those of the rows, as fits find them.
    """

    levels: BackoffLevels
    scores: LogScores
    observed_only: bool
    curvatures: dict[int, np.ndarray]
    unlabeled: LogScores | None = None


class LevelWeightedCCBN(BaseEstimator):
    """Normalized tables of weighted back-off levels that maximize Σ log P(y | x).

    Weights of one and no free cells are a generative model, ``HierarchicalSmoothing``. Training
    rows read the levels leave-one-out; missing values are marginalized exactly.

    Parameters
    ----------
    weight_penalty : float, default=10.0
        The strength λ of the penalty λ/2·Σ δ² on the deviations of the weights of features from
        those that all features share. The deviations of classes have three times that penalty.
    cell_penalty : float or None, default=None
        The strength ρ of the penalty ρ/2·Σ θ² on free parameters, one for each state of a feature
        and of its parents and each class. None for no free parameters.
    bandwidth : float, default=1.5
        The bandwidth of ``HierarchicalSmoothing``.
    max_iter : int, default=150
        The maximum number of iterations.
    tol : float, default=3e-5
        The fit ends when an iteration raises the mean log P(y | x) by less than this, relative to
        ``max(|mean|, 1)``.
    parent_bandwidth : float, default=0.8
        Its bandwidth for the values of parents.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, LevelWeightedCCBN, load_dataset
    >>> iris = load_dataset("iris")
    >>> clf = BayesNetClassifier("tan", LevelWeightedCCBN()).fit(iris.X, iris.y)
    >>> round(float(clf.score(iris.X, iris.y)), 2)
    0.99
    """

    supports_blocks = True
    uses_two_resolutions = True
    uses_unlabeled = True
    # Rows without a label, whose likelihood is added to the objective (`semi_supervised.py`).
    unlabeled_rows: Encoded | None = None
    # A fit of other rows, whose parameters `learn` begins with.
    begin_with: FittedWeights | None = None

    def __init__(
        self,
        weight_penalty: float = 10.0,
        cell_penalty: float | None = None,
        bandwidth: float = BANDWIDTH,
        max_iter: int = 150,
        tol: float = 3e-5,
        parent_bandwidth: float = PARENT_BANDWIDTH,
    ):
        self.weight_penalty = weight_penalty
        self.cell_penalty = cell_penalty
        self.bandwidth = bandwidth
        self.max_iter = max_iter
        self.tol = tol
        self.parent_bandwidth = parent_bandwidth

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
            Threads, and where iterations are recorded.

        Returns
        -------
        CPTs
            The conditional probability tables.

        Examples
        --------
        >>> from discbayes import LevelWeightedCCBN
        >>> from discbayes.counts import count
        >>> from discbayes.data import FrameEncoder
        >>> from discbayes.engine import Context
        >>> from discbayes.network import Structure
        >>> data = FrameEncoder().fit_transform([["red"], ["blue"], ["red"]], [1, 0, 1])
        >>> learner = LevelWeightedCCBN()
        >>> tables = learner.learn(data, count(data), Structure.naive(1), Context())
        >>> tables.is_normalized
        True
        """
        prepared = self.prepare(data, counts, structure, context.n_jobs)
        weights, outcome = self.maximize(prepared, context, self.begin_with)
        if not outcome.converged:
            warnings.warn(
                f"the objective was still rising after max_iter={self.max_iter} iterations: raise"
                " max_iter, raise tol, or raise the penalties",
                ConvergenceWarning,
                stacklevel=2,
            )
        return weights.tables(outcome.point)

    def prepare(
        self, data: Rows, counts: Counts, structure: Structure, n_jobs: int | None = None
    ) -> PreparedLevels:
        """Learn the levels, and prepare the rows, for fits that differ in their penalties.

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
        PreparedLevels
            The levels, and the rows.

        Examples
        --------
        >>> from discbayes import LevelWeightedCCBN
        >>> from discbayes.counts import count
        >>> from discbayes.data import FrameEncoder
        >>> from discbayes.network import Structure
        >>> data = FrameEncoder().fit_transform([["red"], ["blue"], ["red"]], [1, 0, 1])
        >>> LevelWeightedCCBN().prepare(data, count(data), Structure.naive(1)).observed_only
        True
        """
        self._check()
        smoothing = HierarchicalSmoothing(
            bandwidth=self.bandwidth, parent_bandwidth=self.parent_bandwidth
        )
        levels = smoothing.levels(data, counts, structure, n_jobs, observed_only=True)
        others = self.unlabeled_rows
        observed_only = others is None and not data.n_missing.any()
        layout = levels.observed if observed_only else levels.layout
        scores = LogScores(data, layout, True, n_jobs, levels.own_cells(observed_only))
        unlabeled = None if others is None else LogScores(others, layout, True, n_jobs)
        return PreparedLevels(levels, scores, observed_only, {}, unlabeled)

    def maximize(
        self,
        prepared: PreparedLevels,
        context: Context,
        start: FittedWeights | None = None,
    ) -> tuple[LevelWeights, Outcome]:
        """Maximize the conditional likelihood of prepared rows.

        Parameters
        ----------
        prepared : PreparedLevels
            The levels, and the rows.
        context : Context
            Threads, and where iterations are recorded.
        start : FittedWeights, optional
            Another fit, to begin with its parameters.

        Returns
        -------
        weights : LevelWeights
            The parameterization.
        outcome : Outcome
            The parameters that were found.

        Examples
        --------
        >>> from discbayes import LevelWeightedCCBN
        >>> from discbayes.counts import count
        >>> from discbayes.data import FrameEncoder
        >>> from discbayes.engine import Context
        >>> from discbayes.network import Structure
        >>> data = FrameEncoder().fit_transform([["red"], ["blue"], ["red"]], [1, 0, 1])
        >>> learner = LevelWeightedCCBN()
        >>> prepared = learner.prepare(data, count(data), Structure.naive(1))
        >>> learner.maximize(prepared, Context())[1].converged
        True
        """
        parameterization = LevelWeights(
            prepared.levels,
            self.cell_penalty is not None,
            context.n_jobs,
            prepared.observed_only,
            single=self.tol >= SINGLE_TOL or self.begin_with is not None,
        )
        center = parameterization.start()
        begin = parameterization.begin(start)
        problem = Problem(
            ConditionalLikelihood(),
            prepared.scores,
            parameterization,
            context.n_jobs,
            self._penalty(parameterization, center),
            unlabeled=prepared.unlabeled,
        )
        iterations = count_up(1)

        def record(_: np.ndarray, loss: float) -> None:
            score = -loss * problem.total_weight
            context.record(most=self.max_iter, iteration=next(iterations), score=score)

        has_cells = parameterization.n_free > 0
        patience = PATIENCE[has_cells]
        minimize = partial(lbfgs, problem.loss, begin, self.max_iter, self.tol, patience=patience)
        if has_cells or start is not None:
            minimize = partial(minimize, curvature=_curvature(problem, begin, prepared.curvatures))
        return parameterization, until_interrupted(minimize, record, context.interrupts)

    def _penalty(self, parameterization: LevelWeights, center: np.ndarray) -> _LevelPenalty:
        strengths = np.empty(parameterization.size)
        prior, shared, deviations, cells = parameterization.split(strengths)
        prior[:] = PRIOR_PENALTY
        shared[:] = SHARED_PENALTY
        n_levels = parameterization.level_of.size
        deviations[:n_levels] = self.weight_penalty
        deviations[n_levels:] = CLASS_FACTOR * self.weight_penalty
        cells[:] = 0.0 if self.cell_penalty is None else self.cell_penalty
        return _LevelPenalty(1.0, center, strengths=strengths)

    def _check(self) -> None:
        for name in ("weight_penalty", "cell_penalty", "tol"):
            value = getattr(self, name)
            if value is None and name == "cell_penalty":
                continue
            require_number(name, value)
        require_integer("max_iter", self.max_iter, 1)
