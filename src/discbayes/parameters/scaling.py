"""Coordinates in which the curvature of a problem is about equal in every direction.

For unconstrained tables (``d``) the curvature of −Σ log P(y | x), at equal posteriors, is that of
one matrix of the cells for each class: Σ weight·x·xᵀ / |C|, where x marks the cells of a row. With
the penalty on its diagonal the matrix is RᵀR, and in the coordinates R·(parameters − start)
quasi-Newton steps need few iterations. That pays if cells are few, as the time for R grows with
their cube, and no class is rare, as such a class has less curvature.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discbayes.kernels import curvature as kernels
from discbayes.objectives import ConditionalLikelihood
from discbayes.optim import Callback, Coordinates, Outcome, lbfgs, lbfgs_in
from discbayes.parameters.parameterization import FreeCells
from discbayes.parameters.problem import Penalty, Problem

MAX_CELLS = 3000  # whose matrix fits in memory several times
# nanoseconds: of the factor for each of cells³, of equations for each number
FACTOR_COST, SOLVE_COST = 0.12, 0.35
ITERATIONS = 50  # after which the factor has to have paid
RARE = 0.25  # times its share among equals: a class with less is rare

Solver = Callable[[np.ndarray, np.ndarray], None]


def minimize(
    problem: Problem, start: np.ndarray, max_iter: int, tol: float, callback: Callback | None = None
) -> Outcome:
    """Minimize the loss of a problem by L-BFGS, in scaled coordinates if these are quicker."""
    own, penalty = problem.parameterization.own, problem.penalty
    factor = None
    if own is not None and penalty is not None and _worthwhile(problem, own, penalty):
        factor = _factor(problem, own, penalty)
    if own is None or factor is None:
        return lbfgs(problem.loss, start, max_iter, tol, callback)
    even = Coordinates(
        np.zeros_like(start),
        lambda at: start + _solved(kernels.solve_upper, factor, own.free, at),
        lambda gradient: _solved(kernels.solve_lower, factor, own.free, gradient),
    )
    return lbfgs_in(even, problem.loss, max_iter, tol, callback)


def _solved(solve: Solver, factor: np.ndarray, free: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Solve equations with R for each class; only the parameters ``free`` belong to R."""
    n_columns = free.shape[1]
    columns, solved = np.zeros((len(free), _width(free))), given.copy()
    columns[:, :n_columns] = given[free]
    solve(factor, columns)
    solved[free] = columns[:, :n_columns]
    return solved


def _width(free: np.ndarray) -> int:
    return -(-free.shape[1] // 4) * 4


def _worthwhile(problem: Problem, own: FreeCells, penalty: Penalty) -> bool:
    """Return whether such coordinates are likely to save more time than they take."""
    n, scores = own.cells.size, problem.scores
    if not isinstance(problem.objective, ConditionalLikelihood) or scores.layout.n_classes < 2:
        return False
    if not penalty.strength or n > MAX_CELLS or _has_rare_class(problem):
        return False
    once = FACTOR_COST * n**3 + scores.n_pairs
    return SOLVE_COST * n**2 * _width(own.free) + once / ITERATIONS <= scores.work


def _has_rare_class(problem: Problem) -> bool:
    """Return whether a class has few rows; two classes have the same curvature in any case."""
    n_classes, weights = problem.scores.layout.n_classes, problem.scores.class_weights
    return n_classes > 2 and bool(weights.min() < RARE * weights.mean())


def _factor(problem: Problem, own: FreeCells, penalty: Penalty) -> np.ndarray | None:
    """Return R of the cells with parameters of their own; None if rounding prevents it."""
    matrix = problem.scores.pair_weights(problem.n_jobs)[np.ix_(own.cells, own.cells)]
    matrix /= problem.scores.layout.n_classes
    matrix[np.diag_indices_from(matrix)] += np.where(
        own.free[:, 0] < penalty.skipped, 0.0, penalty.strength
    )
    matrix *= penalty.repeats / problem.total_weight
    return matrix if kernels.factorize(matrix) else None
