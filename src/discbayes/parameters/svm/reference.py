"""Margin problems by a generic convex solver: exact solutions for small data (P13).

The scalable solver is compared with them. ω are log P(c) and log θ, and A·ω is how far the class of
each row is ahead of each other class. The problem is to

    minimize f(ω) + λ Σ w·ξ    such that A·ω + ξ ≥ γ for every row and other class, and ξ ≥ 0

and the problems of the paper are choices of f. The lower bound of a solution needs its conjugate
f*(u), the maximum of uᵀω − f(ω):

==========================  ===========================================  =======================
problem                     f(ω)                                         f*(u)
==========================  ===========================================  =======================
(10), the ML-BN-SVM         −nᵀω, if Σ exp ω ≤ 1 in each row of a table  Σ v·log(v/V), v = n + u
(9), ``norm="l2"``          ½ ‖ω‖²                                       ½ ‖u‖²
(9), ``norm="likelihood"``  Σ |n·ω|                                      0, if |u| ≤ n
==========================  ===========================================  =======================

with v ≥ 0 and V its row sum. For any dual variables μ ≥ 0 of the margins whose sum in each row is
at most λ·w, γ Σ μ − f*(Aᵀμ) is a lower bound. So a solution is certified whatever the status of the
solver, and (10) can be solved for the best dual variables too, with ω = log(v/V). That is the first
attempt, as it is faster and more exact; some problems with many cells of small counts need others,
for ω itself.

P13 states (9) without ξ ≥ 0, and then it has no minimum.
"""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from discbayes._lazy_imports import need
from discbayes._settings import require_choice
from discbayes.data.domain import Encoded
from discbayes.data.row_keys import distinct_rows
from discbayes.network import CPTs, Layout
from discbayes.parameters.parameterization import own_slots
from discbayes.parameters.svm.refusals import (
    SCALABLE,
    check_missing,
    check_settings,
    check_size,
    check_structure,
)

NORMS = ("l2", "l1", "likelihood")
SETTINGS = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-12, "tol_feas": 1e-10}
# duality gaps, relative to the value: no second attempt is needed; the solution is optimal
CLOSE, NEAR = 1e-8, 1e-6
SOLVED = ("optimal", "optimal_inaccurate")


@dataclass(frozen=True)
class Solution:
    """The best tables that were found, and their quality.

    ``value`` is their objective, and ``bound`` a lower bound of it. ``slack`` is Σ w·ξ.
    ``status`` is "optimal" if value and bound are within 1e-6 of each other, relative to the
    value, and else "optimal_inaccurate".
    """

    tables: CPTs
    value: float
    slack: float
    bound: float
    status: str

    @property
    def gap(self) -> float:
        """The duality gap relative to the value."""
        return _gap(self.value, self.bound)


def solve_likelihood_margin(
    data: Encoded,
    layout: Layout,
    n_prior: np.ndarray,
    n_cells: np.ndarray,
    lam: float,
    gamma: float = 1.0,
) -> Solution:
    """Solve problem (10): minimize −nᵀω + λ Σ w·ξ with margins of γ over normalized tables.

    Parameters
    ----------
    data : Encoded
        Complete rows. Rows of weight zero are ignored.
    layout : Layout
        Where the cells of the tables are; the structure must be C1.
    n_prior, n_cells : array of shape (n_classes,), array of shape (layout.size,)
        Counts of the classes and of the cells, smoothed: at a count of zero the optimum would be
        −∞. The class columns of a feature that does not depend on the class share their numbers,
        and their counts are added.
    lam : float
        The cost λ of a slack of one. At zero the tables are relative frequencies, n over its row
        sum.
    gamma : float, default=1.0
        The required margin γ of log P(y, x) over every other class.

    Returns
    -------
    Solution
        The tables, with a lower bound.

    Raises
    ------
    ValueError
        If values are missing, the structure is not C1, a count is zero, or the problem is too
        large.
    RuntimeError
        If the solver fails.
    """
    check_structure(data, layout)
    return _solve(data, layout, np.concatenate([n_prior, n_cells]), lam, gamma, _Likelihood)


def solve_norm_margin(
    data: Encoded,
    layout: Layout,
    n_prior: np.ndarray | None,
    n_cells: np.ndarray | None,
    lam: float,
    gamma: float = 1.0,
    norm: str = "l2",
) -> Solution:
    """Solve problem (9): minimize a norm of ω plus λ Σ w·ξ with margins of γ.

    Parameters
    ----------
    data, layout, lam, gamma
        As in ``solve_likelihood_margin``, but for any structure.
    n_prior, n_cells : arrays, or None
        The counts n of ``norm="likelihood"``, above zero: otherwise ω would be arbitrary. The other
        norms have none.
    norm : {"l2", "l1", "likelihood"}, default="l2"
        The norm: ½ ‖ω‖² over all values, those of the class too, Σ |ω|, or Σ |n·ω|.

    Returns
    -------
    Solution
        The tables, with a lower bound.
    """
    require_choice("norm", norm, NORMS)
    if norm != "likelihood":
        cost = _Squares if norm == "l2" else _Absolute
        return _solve(data, layout, np.ones(layout.n_classes + layout.size), lam, gamma, cost)
    if n_prior is None or n_cells is None:
        raise ValueError('norm="likelihood" needs the counts n_prior and n_cells')
    return _solve(data, layout, np.concatenate([n_prior, n_cells]), lam, gamma, _Weighted)


def _solve(
    data: Encoded, layout: Layout, n: np.ndarray, lam: float, gamma: float, kind: type[_Cost]
) -> Solution:
    check_settings(lam, gamma)
    check_missing(data)
    slots = own_slots(layout)
    cost = kind(_counts_of_numbers(data, layout, slots, n), _rows_of_numbers(layout, slots))
    margins = _margins(data, layout, slots, lam, gamma)
    omega, bound = cost.alone, cost.value(cost.alone)
    if margins.row.size:
        omega, bound = _best(cost, margins)
    slack = margins.slack(omega)
    value = cost.value(omega) + lam * slack
    gap = _gap(value, bound)
    if gap > NEAR:
        warnings.warn(
            f"clarabel stopped early: the value {value:.6g} may be above the optimum by a share of"
            f" {gap:.1e}. A large λ or γ with small counts is hard for it: smooth the counts more,"
            f" or {SCALABLE}",
            ConvergenceWarning,
            stacklevel=3,
        )
    numbers = omega[slots]
    tables = CPTs(layout, numbers[: layout.n_classes], numbers[layout.n_classes :])
    return Solution(tables, value, slack, bound, "optimal_inaccurate" if gap > NEAR else "optimal")


def _gap(value: float, bound: float) -> float:
    return (value - bound) / max(1.0, abs(value))


# ---- the margins


@dataclass(frozen=True)
class _Margins:
    """The constraints A·ω ≥ γ − ξ: ``ahead`` is A, ``row`` the row of each, ``price`` λ·w."""

    ahead: sparse.csr_array
    row: np.ndarray
    weight: np.ndarray
    lam: float
    gamma: float

    @property
    def price(self) -> np.ndarray:
        return self.lam * self.weight

    def slack(self, omega: np.ndarray) -> float:
        """Return Σ w·ξ, with the smallest feasible slacks."""
        least = np.zeros(self.weight.size)
        np.maximum.at(least, self.row, self.gamma - self.ahead @ omega)
        return float(self.weight @ least)

    @property
    def rows(self) -> sparse.csr_array:
        """Return a matrix that sums the margins of each row."""
        places = (self.row, np.arange(self.row.size))
        return sparse.csr_array(
            (np.ones(self.row.size), places), shape=(self.weight.size, self.row.size)
        )

    def allowed(self, prices: np.ndarray) -> np.ndarray:
        """Return feasible prices: positive, and in sum at most the price of their row."""
        prices = np.maximum(prices, 0.0)
        paid = self.rows @ prices
        share = np.divide(self.price, paid, out=np.ones_like(paid), where=paid > self.price)
        return prices * share[self.row]


def _margins(
    data: Encoded, layout: Layout, slots: np.ndarray, lam: float, gamma: float
) -> _Margins:
    """Return the margins of the distinct rows over all other classes."""
    rows = distinct_rows(data)
    rows = rows.take(np.asarray(rows.weight) > 0)
    n_classes, n_numbers = layout.n_classes, int(slots.max()) + 1
    check_size(
        rows.n_samples * (n_classes - 1), 2 * (1 + sum(layout.structure.class_children)), n_numbers
    )
    y = rows.classes.astype(np.int64)
    row = np.repeat(np.arange(y.size), n_classes - 1)
    rival = ((y[:, None] + np.arange(1, n_classes)) % n_classes).ravel()
    cells = _cells(rows, layout)[row]
    columns = np.hstack([slots[cells + y[row, None]], slots[cells + rival[:, None]]])
    signs = np.repeat([1.0, -1.0], cells.shape[1])
    starts = np.arange(row.size + 1) * signs.size
    ahead = sparse.csr_array(
        (np.tile(signs, row.size), columns.ravel(), starts), shape=(row.size, n_numbers)
    )
    return _Margins(ahead, row, np.asarray(rows.weight), float(lam), float(gamma))


def _cells(rows: Encoded, layout: Layout) -> np.ndarray:
    """Return the first class entry of P(c) and of the cells of each row."""
    codes, found = rows.codes.astype(np.int64), [np.zeros(rows.n_samples, np.int64)]
    states = layout.parent_codes(codes)
    for i in np.flatnonzero(layout.structure.class_children):
        span = slice(layout.parent_start[i], layout.parent_start[i + 1])
        above = layout.parent_stride[span] @ states[layout.parent_index[span]]
        found.append(layout.n_classes + layout.offsets[i] + codes[i] * layout.n_classes + above)
    return np.stack(found, axis=1)


def _rows_of_numbers(layout: Layout, slots: np.ndarray) -> np.ndarray:
    """Return the table row of each parameter; those of the class are the first."""
    parts, n_rows = [np.zeros(layout.n_classes, np.int64)], 1
    for *parents, card, n_classes in layout.shapes:
        rows = np.arange(math.prod(parents) * n_classes).reshape(-1, 1, n_classes)
        parts.append(n_rows + rows.repeat(card, axis=1).ravel())
        n_rows += rows.size
    first = np.unique(slots, return_index=True)[1]
    return np.unique(np.concatenate(parts)[first], return_inverse=True)[1]


# ---- what ω costs


class _Cost:
    """A convex function f of ω with its minimum at ``alone``."""

    alone: np.ndarray

    def __init__(self, n: np.ndarray, rows: np.ndarray):
        self.n, self.rows = n, rows
        self.alone = np.zeros(n.size)

    @property
    def attempts(self) -> tuple[tuple[Callable[..., _Attempt], bool], ...]:
        """Return the ways to solve the problem, and whether rows and columns are scaled first."""
        return (_for_numbers, True), (_for_numbers, False)

    def inside(self, omega: np.ndarray) -> np.ndarray:
        """Return a point near this one where f is finite."""
        return omega

    @abstractmethod
    def value(self, omega: np.ndarray) -> float:
        """Return f(ω)."""

    @abstractmethod
    def conjugate(self, u: np.ndarray) -> float:
        """Return the conjugate of f, where it is finite."""

    def excess(self, u: np.ndarray) -> float:
        """Return the factor by which u is too large for a finite conjugate."""
        return 0.0

    @abstractmethod
    def pose(self, cp: Any, step: Any) -> tuple[Any, list[Any]]:
        """Return f at ``alone + step`` up to a constant, and constraints."""


class _Likelihood(_Cost):
    """−nᵀω, where Σ exp ω ≤ 1 in each row of a table."""

    def __init__(self, n: np.ndarray, rows: np.ndarray):
        super().__init__(n, rows)
        self.sums = sparse.csr_array((np.ones(n.size), (rows, np.arange(n.size))))
        self.alone = self.frequencies(n)

    def frequencies(self, v: np.ndarray) -> np.ndarray:
        """Return the logarithms of v over its row sums."""
        v = np.maximum(v, np.finfo(float).tiny)
        return np.log(v / (self.sums @ v)[self.rows])

    @property
    def attempts(self) -> tuple[tuple[Callable[..., _Attempt], bool], ...]:
        return (_for_prices, True), (_for_numbers, False), (_for_numbers, True)

    def inside(self, omega: np.ndarray) -> np.ndarray:
        return omega - np.maximum(0.0, np.log(self.sums @ np.exp(omega)))[self.rows]

    def value(self, omega: np.ndarray) -> float:
        return float(-self.n @ omega)

    def conjugate(self, u: np.ndarray) -> float:
        v = np.maximum(0.0, self.n + u)
        return float(v @ self.frequencies(v))

    def excess(self, u: np.ndarray) -> float:
        return float(np.max(-u / self.n))

    def pose(self, cp: Any, step: Any) -> tuple[Any, list[Any]]:
        sums = self.sums @ sparse.dia_array(
            (np.exp(self.alone)[None], [0]), shape=(self.alone.size, self.alone.size)
        )
        return -self.n @ step, [sums @ cp.exp(step) <= 1]


class _Squares(_Cost):
    """½ ‖ω‖²."""

    def value(self, omega: np.ndarray) -> float:
        return float(omega @ omega) / 2

    def conjugate(self, u: np.ndarray) -> float:
        return float(u @ u) / 2

    def pose(self, cp: Any, step: Any) -> tuple[Any, list[Any]]:
        return cp.sum_squares(step) / 2, []


class _Weighted(_Cost):
    """Σ |n·ω|."""

    def value(self, omega: np.ndarray) -> float:
        return float(self.n @ np.abs(omega))

    def conjugate(self, u: np.ndarray) -> float:
        return 0.0

    def excess(self, u: np.ndarray) -> float:
        return float(np.max(np.abs(u) / self.n))

    def pose(self, cp: Any, step: Any) -> tuple[Any, list[Any]]:
        return self.n @ cp.abs(step), []


class _Absolute(_Weighted):
    """Σ |ω|."""

    def __init__(self, n: np.ndarray, rows: np.ndarray):
        super().__init__(np.ones(n.size), rows)


# ---- solving


# a program of the modeling layer, and the candidates for ω and the prices in its solution
_Attempt = tuple[Any, Callable[[], list[np.ndarray]], Callable[[], np.ndarray]]


def _for_numbers(cp: Any, cost: _Cost, margins: _Margins) -> _Attempt:
    """Return the primal problem, in steps from the minimum of f."""
    step, slack = cp.Variable(cost.alone.size), cp.Variable(margins.weight.size, nonneg=True)
    paid, constraints = cost.pose(cp, step)
    kept = margins.ahead @ step + slack[margins.row] >= margins.gamma - margins.ahead @ cost.alone
    problem = cp.Problem(cp.Minimize(paid + margins.price @ slack), [kept, *constraints])
    return problem, lambda: [cost.alone + step.value], lambda: kept.dual_value


def _for_prices(cp: Any, cost: _Likelihood, margins: _Margins) -> _Attempt:
    """Return the dual problem; ω are the dual variables of its equations."""
    prices, v = cp.Variable(margins.row.size, nonneg=True), cp.Variable(cost.n.size)
    total = cp.Variable(cost.sums.shape[0])
    equations = v == cost.n + margins.ahead.T @ prices
    constraints = [margins.rows @ prices <= margins.price, equations, total == cost.sums @ v]
    missed = cp.sum(cp.rel_entr(v, total[cost.rows])) - margins.gamma * cp.sum(prices)

    def numbers() -> list[np.ndarray]:
        return [-equations.dual_value, cost.frequencies(cost.n + margins.ahead.T @ prices.value)]

    return cp.Problem(cp.Minimize(missed), constraints), numbers, lambda: prices.value


def _best(cost: _Cost, margins: _Margins) -> tuple[np.ndarray, float]:
    """Return the best ω of all attempts, and the highest bound."""
    cp, _ = need("cvxpy"), need("clarabel")
    omega = cost.alone
    value = np.inf
    bound = -np.inf
    endings = []
    for pose, scaled in cost.attempts:
        problem, numbers, prices = pose(cp, cost, margins)
        endings.append(_run(cp, problem, scaled))
        if endings[-1] not in SOLVED:
            continue
        for found in map(cost.inside, numbers()):
            paid = cost.value(found) + margins.lam * margins.slack(found)
            if paid < value:
                omega, value = found, paid
        bound = max(bound, _bound(cost, margins, prices()))
        if _gap(value, bound) <= CLOSE:
            break
    if not np.isfinite(value):
        raise RuntimeError(
            "clarabel found no solution: it ended with the status"
            f" {' and then '.join(map(repr, endings))}. Smooth the counts more, or {SCALABLE}"
        )
    return omega, bound


def _run(cp: Any, problem: Any, scaled: bool) -> str:
    """Solve, and return the status."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about accuracy, of which the bound tells more
        try:
            problem.solve(solver=cp.CLARABEL, equilibrate_enable=scaled, **SETTINGS)
        except cp.SolverError:
            return "solver_error"
    return str(problem.status)


def _bound(cost: _Cost, margins: _Margins, prices: np.ndarray) -> float:
    """Return a lower bound from prices that may violate their limits slightly."""
    prices = margins.allowed(prices)
    u = margins.ahead.T @ prices
    share = 1.0 / max(1.0, cost.excess(u))
    return margins.gamma * share * float(prices.sum()) - cost.conjugate(share * u)


def _counts_of_numbers(
    data: Encoded, layout: Layout, slots: np.ndarray, n: np.ndarray
) -> np.ndarray:
    """Return the counts of the parameters, which must be above zero."""
    if n.size != slots.size:
        raise ValueError(
            f"there are {n.size} counts for {layout.n_classes} classes and {layout.size} cells"
        )
    counts = np.bincount(slots, n)
    wrong = np.flatnonzero(~(np.isfinite(counts) & (counts > 0))[slots])
    if wrong.size:
        at = wrong[0] - layout.n_classes
        i = int(np.searchsorted(layout.offsets, at, side="right")) - 1
        name = data.domain.target.name if at < 0 else data.domain.names[i]
        raise ValueError(
            f"{wrong.size} of the counts are not above zero, the first of them in the table of"
            f" {name!r}: their log θ would be −∞ or arbitrary. Smooth the counts, as P13 does with"
            " α > 0"
        )
    return counts
