"""Margins by a generic convex solver: exact answers on small data, which the scalable solver is compared with (P13).

With ω for log P(c) and log θ, A·ω for how far each row's class is ahead of each rival, and slacks ξ ≥ 0, the problem is

    minimise f(ω) + λ Σ w·ξ    such that A·ω + ξ ≥ γ for every row and rival

and the problems of the paper are choices of f:

==============================  ==========================  ===================================================
problem                         f(ω)                        its conjugate f*(u), the most that uᵀω − f(ω) can be
==============================  ==========================  ===================================================
(10), the ML-BN-SVM             −nᵀω where Σ exp ω ≤ 1      Σ v·log(v/V), v = n + u ≥ 0 and V its row sums
                                in each row of each table
(9) with ``norm="l2"``          ½ ‖ω‖²                      ½ ‖u‖²
(9) with ``norm="likelihood"``  Σ |n·ω|                     0 where |u| ≤ n
==============================  ==========================  ===================================================

(9) lacks ξ ≥ 0 in the paper, without which it is unbounded.

For any prices μ ≥ 0 of the margins with Σ μ ≤ λ·w in each row, no ω does better than γ Σ μ − f*(Aᵀμ). So a solution comes
with a bound that holds whatever the solver says of itself. The solver is given the problem of the best prices first,
which exponential cones of small counts hurt less, and where that leaves a gap, the problem as it stands above.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from discbayes._leaves import need
from discbayes.data.distinct import distinct_rows
from discbayes.data.domain import Encoded
from discbayes.network import Layout, Tables
from discbayes.parameters.parameterization import _own_slots

NORMS = ("l2", "likelihood")
MOST = {"non-zeros": 500_000, "free numbers": 30_000, "of margins and free numbers, the fewer": 3_000}
SETTINGS = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-12, "tol_feas": 1e-10}
CLOSE, NEAR = 1e-9, 1e-6  # gaps, relative to the value: good enough at once, and good enough to be called optimal
SOLVED = ("optimal", "optimal_inaccurate")
TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class Solution:
    """The best tables that were found, and how good they are.

    ``value`` is what they attain, ``slack`` is Σ w·ξ in it, and no tables have a value below ``bound``. ``status`` is
    "optimal" where the two are within 1e-6 of each other, relative to the value, and else "optimal_inaccurate".
    """

    tables: Tables
    value: float
    slack: float
    bound: float
    status: str


def solve_likelihood_margin(
    data: Encoded, layout: Layout, n_prior: np.ndarray, n_cells: np.ndarray, lam: float, gamma: float = 1.0
) -> Solution:
    """Solve problem (10): minimise −nᵀω + λ Σ w·ξ over tables with Σ exp ω ≤ 1 in each row, with margins of γ.

    Parameters
    ----------
    data : Encoded
        Complete rows. Those of weight zero are as if they were not there.
    layout : Layout
        Where the cells of the tables stand; the structure must be C1.
    n_prior, n_cells : array of shape (n_classes,), array of shape (layout.size,)
        Counts of the classes and of the cells, smoothed: with a count of zero the optimum would lie at −∞. Class
        columns that share their numbers, of a feature that does not depend on the class, count together.
    lam : float
        λ: the price of a slack of one. Zero gives relative frequencies, n over its row sum.
    gamma : float, default=1.0
        γ: the margin that log P(y, x) is to keep from every rival.

    Raises
    ------
    ValueError
        Where rows have gaps, the structure is not C1, a count is not above zero, or the problem is too large.
    RuntimeError
        Where the solver fails.
    """
    _check_structure(data, layout)
    return _solve(data, layout, (n_prior, n_cells), lam, gamma, _Likelihood)


def solve_norm_margin(
    data: Encoded,
    layout: Layout,
    lam: float,
    gamma: float = 1.0,
    norm: str = "l2",
    n_prior: np.ndarray | None = None,
    n_cells: np.ndarray | None = None,
) -> Solution:
    """Solve problem (9): minimise a norm of ω plus λ Σ w·ξ, with margins of γ. The tables are not normalised.

    Parameters
    ----------
    data, layout, lam, gamma
        As in ``solve_likelihood_margin``, for any structure.
    norm : {"l2", "likelihood"}, default="l2"
        ½ ‖ω‖² over all numbers, those of the class too, or Σ |n·ω|.
    n_prior, n_cells : arrays, optional
        The counts n, with ``norm="likelihood"`` only; above zero, or else ω may be anything.
    """
    if norm not in NORMS:
        raise ValueError(f"norm={norm!r} is not one of {', '.join(map(repr, NORMS))}")
    given = n_prior is not None and n_cells is not None
    if given != (norm == "likelihood"):
        raise ValueError(f"norm={norm!r} {'takes no counts' if given else 'needs the counts n_prior and n_cells'}")
    if n_prior is None or n_cells is None:
        n_prior, n_cells = np.ones(layout.n_classes), np.ones(layout.size)
    return _solve(data, layout, (n_prior, n_cells), lam, gamma, _Squares if norm == "l2" else _Weighted)


# ---- what is paid for ω


class _Cost(Protocol):
    """A convex function f of ω, and its conjugate, for numpy and for the modelling layer.

    The conjugate is a function of v = centre + u.
    """

    alone: np.ndarray  # where f is least
    centre: np.ndarray

    def __init__(self, n: np.ndarray, rows: np.ndarray): ...

    def inside(self, omega: np.ndarray) -> np.ndarray:
        """The numbers, moved to where f is finite."""
        ...

    def value(self, omega: np.ndarray) -> float:
        """What is paid."""
        ...

    def reach(self, u: np.ndarray) -> float:
        """The largest share of u, at most 1, that has a finite conjugate."""
        ...

    def conjugate(self, v: np.ndarray) -> float:
        """The conjugate, where it is finite."""
        ...

    def pose(self, cp: Any, step: Any) -> tuple[Any, list[Any]]:
        """f at ``alone + step``, up to a constant, and the constraints that go with it."""
        ...

    def pose_conjugate(self, cp: Any, v: Any) -> tuple[Any, list[Any]]:
        """The conjugate, and the constraints that go with it."""
        ...


class _Likelihood:
    """−nᵀω where Σ exp ω ≤ 1 in each row of each table."""

    def __init__(self, n: np.ndarray, rows: np.ndarray):
        self.centre, self._rows = n, np.unique(rows, return_inverse=True)[1]
        self._sums = sparse.csr_array((np.ones(n.size), (self._rows, np.arange(n.size))))
        self._share = n / self._total(n)
        self.alone = np.log(self._share)

    def _total(self, v: np.ndarray) -> np.ndarray:
        """For each number the sum of its row."""
        return np.bincount(self._rows, v)[self._rows]

    def inside(self, omega: np.ndarray) -> np.ndarray:
        return omega - np.maximum(0.0, np.log(self._total(np.exp(omega))))

    def value(self, omega: np.ndarray) -> float:
        return float(-self.centre @ omega)

    def reach(self, u: np.ndarray) -> float:
        return float(np.min(self.centre / np.maximum(-u, TINY), initial=1.0))

    def conjugate(self, v: np.ndarray) -> float:
        v = np.maximum(v, 0.0)
        return float(v @ np.log(np.maximum(v, TINY) / np.maximum(self._total(v), TINY)))

    def pose(self, cp: Any, step: Any) -> tuple[Any, list[Any]]:
        return -self.centre @ step, [self._sums @ cp.multiply(self._share, cp.exp(step)) <= 1]

    def pose_conjugate(self, cp: Any, v: Any) -> tuple[Any, list[Any]]:
        total = cp.Variable(self._sums.shape[0])
        return cp.sum(cp.rel_entr(v, total[self._rows])), [total == self._sums @ v]


class _Squares:
    """½ ‖ω‖²."""

    def __init__(self, n: np.ndarray, rows: np.ndarray):
        self.alone = self.centre = np.zeros(n.size)

    def inside(self, omega: np.ndarray) -> np.ndarray:
        return omega

    def value(self, omega: np.ndarray) -> float:
        return float(0.5 * omega @ omega)

    def reach(self, u: np.ndarray) -> float:
        return 1.0

    def conjugate(self, v: np.ndarray) -> float:
        return float(0.5 * v @ v)

    def pose(self, cp: Any, step: Any) -> tuple[Any, list[Any]]:
        return 0.5 * cp.sum_squares(step), []

    def pose_conjugate(self, cp: Any, v: Any) -> tuple[Any, list[Any]]:
        return 0.5 * cp.sum_squares(v), []


class _Weighted:
    """Σ |n·ω|."""

    def __init__(self, n: np.ndarray, rows: np.ndarray):
        self.alone = self.centre = np.zeros(n.size)
        self._n = n

    def inside(self, omega: np.ndarray) -> np.ndarray:
        return omega

    def value(self, omega: np.ndarray) -> float:
        return float(self._n @ np.abs(omega))

    def reach(self, u: np.ndarray) -> float:
        return float(np.min(self._n / np.maximum(np.abs(u), TINY), initial=1.0))

    def conjugate(self, v: np.ndarray) -> float:
        return 0.0

    def pose(self, cp: Any, step: Any) -> tuple[Any, list[Any]]:
        return self._n @ cp.abs(step), []

    def pose_conjugate(self, cp: Any, v: Any) -> tuple[Any, list[Any]]:
        return 0.0, [cp.abs(v) <= self._n]


# ---- the program


@dataclass(frozen=True)
class _Margins:
    """How far each row's class has to be ahead of each rival: ``ahead`` is A, ``row`` the row of each margin."""

    ahead: sparse.csr_array
    row: np.ndarray
    weight: np.ndarray
    gamma: float

    def slack(self, omega: np.ndarray) -> float:
        """Σ w·ξ for the smallest slacks that do."""
        most = np.zeros(self.weight.size)
        np.maximum.at(most, self.row, self.gamma - self.ahead @ omega)
        return float(self.weight @ most)

    def of_rows(self, prices: Any) -> Any:
        """Σ of the prices of each row."""
        return sparse.csr_array((np.ones(self.row.size), (self.row, np.arange(self.row.size)))) @ prices


@dataclass(frozen=True)
class _Program:
    """Minimise cost + λ Σ w·ξ; a result is numbers ω with prices μ of the margins."""

    cost: _Cost
    margins: _Margins
    lam: float

    def value(self, omega: np.ndarray) -> float:
        return self.cost.value(omega) + self.lam * self.margins.slack(omega)

    def bound(self, prices: np.ndarray) -> float:
        """What no ω is below, from prices that are nearly those of the optimum."""
        margins = self.margins
        prices = np.maximum(prices, 0.0)
        paid = margins.of_rows(prices)
        prices *= np.minimum(1.0, self.lam * margins.weight / np.maximum(paid, TINY))[margins.row]
        u = margins.ahead.T @ prices
        share = self.cost.reach(u)
        return margins.gamma * share * float(prices.sum()) - self.cost.conjugate(self.cost.centre + share * u)

    def by_prices(self, cp: Any) -> tuple[Any, Any, Any]:
        """The program of the best prices, and expressions of its ω and μ."""
        margins, centre = self.margins, self.cost.centre
        prices, v = cp.Variable(margins.row.size, nonneg=True), cp.Variable(centre.size)
        conjugate, constraints = self.cost.pose_conjugate(cp, v)
        tie = v == centre + margins.ahead.T @ prices
        limit = margins.of_rows(prices) <= self.lam * margins.weight
        problem = cp.Problem(cp.Minimize(conjugate - margins.gamma * cp.sum(prices)), [limit, tie, *constraints])
        return problem, lambda: -tie.dual_value, lambda: prices.value

    def by_numbers(self, cp: Any) -> tuple[Any, Any, Any]:
        """The program as it stands, in steps from where the cost alone would lead."""
        margins, alone = self.margins, self.cost.alone
        step, slack = cp.Variable(alone.size), cp.Variable(margins.weight.size, nonneg=True)
        cost, constraints = self.cost.pose(cp, step)
        kept = margins.ahead @ step + slack[margins.row] >= margins.gamma - margins.ahead @ alone
        problem = cp.Problem(cp.Minimize(cost + self.lam * (margins.weight @ slack)), [kept, *constraints])
        return problem, lambda: alone + step.value, lambda: kept.dual_value

    def solve(self) -> tuple[np.ndarray, float]:
        """The best ω that was found, and the best bound."""
        cp = need("cvxpy")
        need("clarabel")
        omega, value, bound, failures = self.cost.alone, np.inf, -np.inf, []
        for form in (self.by_prices, self.by_numbers):
            problem, numbers, prices = form(cp)
            status = _run(cp, problem)
            if status not in SOLVED:
                failures.append(status)
                continue
            found = self.cost.inside(numbers())
            if self.value(found) < value:
                omega, value = found, self.value(found)
            bound = max(bound, self.bound(prices()))
            if value - bound <= CLOSE * max(1.0, abs(value)):
                break
        if not np.isfinite(value):
            raise RuntimeError(f"clarabel ended with the status {' and then '.join(map(repr, failures))}")
        return omega, bound


def _run(cp: Any, problem: Any) -> str:
    """Solve, and say how it ended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about accuracy, which the bound tells better
        try:
            problem.solve(solver=cp.CLARABEL, **SETTINGS)
        except cp.SolverError:
            return "solver_error"
    return str(problem.status)


def _solve(
    data: Encoded, layout: Layout, counts: tuple[np.ndarray, np.ndarray], lam: float, gamma: float, kind: type[_Cost]
) -> Solution:
    _check_settings(lam, gamma)
    _check_gaps(data)
    slots = _own_slots(layout)
    cost = kind(_pooled(data, layout, slots, np.concatenate(counts)), _rows_of_tables(layout, slots))
    rows = distinct_rows(data)
    rows = rows.take(np.asarray(rows.weight) > 0)
    program = _Program(cost, _margins(rows, layout, slots, gamma), lam)
    if program.margins.row.size:
        omega, bound = program.solve()
    else:
        omega, bound = cost.alone, cost.value(cost.alone)
    value = program.value(omega)
    gap = (value - bound) / max(1.0, abs(value))
    if gap > NEAR:
        warnings.warn(
            f"clarabel stopped early: the value {value:.6g} may be up to {gap:.1e} of it above the optimum. Large λ and "
            "γ with small counts are hard for it; the scalable solver has no such trouble",
            ConvergenceWarning,
            stacklevel=3,
        )
    every = omega[slots]
    tables = Tables(layout, every[: layout.n_classes], every[layout.n_classes :])
    return Solution(tables, value, program.margins.slack(omega), bound, SOLVED[gap > NEAR])


def _pooled(data, layout, slots, n):
    return np.bincount(slots, n)


def _rows_of_tables(layout: Layout, slots: np.ndarray) -> np.ndarray:
    """For each free number the row of a table that it is in; the class is the first."""
    n_classes, parts, n_rows = layout.n_classes, [np.zeros(layout.n_classes, np.int64)], 1
    for *parents, card, _ in layout.shapes:
        rows = np.arange(math.prod(parents) * n_classes).reshape(-1, 1, n_classes)
        parts.append(n_rows + rows.repeat(card, axis=1).ravel())
        n_rows += rows.size
    return np.concatenate(parts)[np.unique(slots, return_index=True)[1]]


def _margins(rows: Encoded, layout: Layout, slots: np.ndarray, gamma: float) -> _Margins:
    """The margins of rows from all rivals."""
    n_classes, y = layout.n_classes, rows.classes.astype(np.int64)
    row = np.repeat(np.arange(rows.n_samples), n_classes - 1)
    rival = ((y[:, None] + np.arange(1, n_classes)) % n_classes).ravel()
    cells = _cells(rows, layout)[:, row]
    own, other = slots[cells + y[row]], slots[cells + rival]
    at = np.broadcast_to(np.arange(row.size), own.shape)
    entries = np.repeat([1.0, -1.0], own.size)
    places = (np.concatenate([at, at]).ravel(), np.concatenate([own, other]).ravel())
    ahead = sparse.csr_array((entries, places), shape=(row.size, slots.max() + 1))
    return _Margins(ahead, row, np.asarray(rows.weight), float(gamma))


def _cells(rows: Encoded, layout: Layout) -> np.ndarray:
    """Where the classes of each row stand, first in P(c) and then in the table of each feature that depends on them."""
    codes, found = rows.codes.astype(np.int64), [np.zeros(rows.n_samples, np.int64)]
    for i in np.flatnonzero(layout.structure.class_children):
        span = slice(layout.parent_start[i], layout.parent_start[i + 1])
        above = layout.parent_stride[span] @ codes[layout.parent_index[span]]
        found.append(layout.n_classes + layout.offsets[i] + codes[i] * layout.n_classes + above)
    return np.array(found)


def _check_settings(lam,gamma): pass
def _check_gaps(data): pass
def _check_structure(data,layout): pass
