"""C11 Theorems 1 to 6: the approximations behind aCLL and fCLL, by numerical integration."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np
from scipy.optimize import minimize

from discbayes._lazy_imports import need
from discbayes.evaluation.result_blocks import Block, Picture, ResultTable
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.experiment import Experiment

TOLERANCE = 5e-4  # of figures that are stated to three digits; the others are stated as formulas
PI2, LN2 = math.pi**2, math.log(2.0)
P = 0.05  # the bound of U and V in the paper's figures
BOUNDS = (0.001, P, 0.5)  # others at which the approximation must be unbiased too
N_NODES, N_TABLES = 200, 3

ALPHA, BETA, LAMBDA = (PI2 + 6) / 24, (PI2 - 18) / 24, PI2 / 6
RHO, DELTA = PI2 / (6 * LN2), PI2 / (12 * LN2) - 2
MU, SIGMA = 1 / (2 * LN2) - 2, math.sqrt((36 + 36 * PI2 - PI2**2) / (288 * LN2**2) - 2)
ROOT_1, ROOT_5 = math.sqrt(9 + 2 * LN2**2 + LN2**4), math.sqrt(4 + LN2**4)

# What is stated: by theorem and quantity, the formula and its value.
STATED: Mapping[str, Mapping[str, tuple[str, float]]] = {
    "Theorem 1": {
        "α": ("(π² + 6)/24", ALPHA),
        "β": ("(π² − 18)/24", BETA),
        "γ, p = 0.05": (
            "π²/(12 ln 2) − 2 − (π² − 6)(log p)/12",
            DELTA - (PI2 - 6) / 12 * math.log2(P),
        ),
        "Hessian, largest eigenvalue": (
            "(3 + ln²2 + √(9 + 2 ln²2 + ln⁴2))/ln²2",
            (3 + LN2**2 + ROOT_1) / LN2**2,
        ),
        "Hessian, second eigenvalue": ("2/ln²2", 2 / LN2**2),
        "Hessian, least eigenvalue": (
            "(3 + ln²2 − √(9 + 2 ln²2 + ln⁴2))/ln²2",
            (3 + LN2**2 - ROOT_1) / LN2**2,
        ),
    },
    "Theorem 2": {
        **{f"mean of f̂ − f, p = {p:g}": ("0", 0.0) for p in BOUNDS},
        "covariance of f̂ − f and log U": ("0 (least squares)", 0.0),
        "covariance of f̂ − f and log V": ("0 (least squares)", 0.0),
    },
    "Theorem 3": {
        "μ = E f": ("1/(2 ln 2) − 2", MU),
        **{f"σ, p = {p:g}": ("√((36 + 36π² − π⁴)/(288 ln²2) − 2) ≈ 0.352", 0.352) for p in BOUNDS},
        "σ/|μ|": ("≈ 0.275", 0.275),
    },
    "Theorem 4": {"what other θ gain on relative frequencies, largest": ("0", 0.0)},
    "Theorem 5": {
        "λ": ("π²/6", LAMBDA),
        "ρ": ("π²/(6 ln 2)", RHO),
        "Hessian, larger eigenvalue": (
            "(2 + ln²2 + √(4 + ln⁴2))/ln²2",
            (2 + LN2**2 + ROOT_5) / LN2**2,
        ),
        "Hessian, smaller eigenvalue": (
            "(2 + ln²2 − √(4 + ln⁴2))/ln²2",
            (2 + LN2**2 - ROOT_5) / LN2**2,
        ),
    },
    "Theorem 6": {
        "mean of ĝ − g": ("0", 0.0),
        "covariance of ĝ − g and log W": ("0 (least squares)", 0.0),
    },
    "Equation 28": {
        "α + β": ("≈ 0.322", 0.322),
        "−βλ": ("≈ 0.557", 0.557),
        "share of the likelihood": ("≈ 36.7 %", 0.367),
        "share of the interaction": ("≈ 63.3 %", 0.633),
    },
}


# ---- quadrature


@cache
def nodes() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points x of (0, 1), 1 − x and their weights, dense at both ends, where logarithms have no
    bound.
    """
    t, weight = np.polynomial.legendre.leggauss(N_NODES)
    t, weight = (t + 1) / 2, weight / 2
    x = [s**3 * (10 - 15 * s + 6 * s**2) for s in (t, 1 - t)]
    return x[0], x[1], weight * 30 * t**2 * (1 - t) ** 2


def least_squares(
    basis: Sequence[np.ndarray], target: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The coefficients of the best approximation, and the Hessian of its mean squared error."""
    moments = np.array([[np.sum(weight * a * b) for b in basis] for a in basis])
    return np.linalg.solve(moments, [np.sum(weight * a * target) for a in basis]), 2 * moments


def ratio(p: float) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """The values of log U, log V and 1, f = log(U / (U + V)) and the weights, of points of the
    square [0, p]².
    """
    x, _, weight = nodes()
    u, v = np.meshgrid(p * x, p * x, indexing="ij")
    return [np.log2(u), np.log2(v), np.ones_like(u)], np.log2(u / (u + v)), np.outer(weight, weight)


def odds() -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """The values of log W and 1, g = log(W / (1 − W)) and the weights, of points of (0, 1)."""
    w, rest, weight = nodes()
    return [np.log2(w), np.ones_like(w)], np.log2(w) - np.log2(rest), weight


def excess(p: float) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """f̂ − f with the coefficients that are stated, and log U, log V and 1, and the weights."""
    basis, f, weight = ratio(p)
    stated = (ALPHA, BETA, DELTA - (PI2 - 6) / 12 * math.log2(p))
    return sum(a * b for a, b in zip(stated, basis, strict=True)) - f, basis, weight


# ---- the theorems


def theorem_1() -> list[float]:
    found, _ = least_squares(*ratio(P))
    eigenvalues = np.linalg.eigvalsh(least_squares(*ratio(1.0))[1])  # of S₁, as in the proof
    return [*found, *eigenvalues[::-1]]


def theorem_2() -> list[float]:
    means = [float(np.sum(weight * off)) for off, _, weight in map(excess, BOUNDS)]
    off, (log_u, log_v, _), weight = excess(P)
    return [*means, *(float(np.sum(weight * off * log)) for log in (log_u, log_v))]


def theorem_3() -> list[float]:
    _, f, weight = ratio(P)
    mean = float(np.sum(weight * f))
    errors = [math.sqrt(float(np.sum(weight * off**2))) for off, _, weight in map(excess, BOUNDS)]
    return [mean, *errors, errors[0] / abs(mean)]


def theorem_4() -> list[float]:
    """Equation 14 with tables of random counts: what an optimiser finds from random starts, less
    the stated maximum.
    """
    rng = np.random.default_rng(0)
    gains = []
    for _ in range(N_TABLES):
        counts = rng.integers(1, 30, (3, 4, 2)).astype(float)  # parent values, values, classes
        ofe = factorized(counts, counts / counts.sum(axis=1, keepdims=True))
        start = rng.normal(size=counts.size)
        found = minimize(_negative, start, (counts,), method="L-BFGS-B", jac=True, tol=1e-10)
        gains.append((-found.fun - ofe) / counts.sum())
    return [max(gains)]


def factorized(counts: np.ndarray, theta: np.ndarray) -> float:
    """Equation 14 with λ = 1, in nats, of one family: ``counts`` and θ are (parent values, values,
    classes).
    """
    within = counts.sum(axis=1, keepdims=True)
    mixed = (within * theta).sum(axis=2, keepdims=True) / within.sum(axis=2, keepdims=True)
    used = counts > 0
    return float((counts[used] * np.log((theta / mixed)[used])).sum())


def _negative(free: np.ndarray, counts: np.ndarray) -> tuple[float, np.ndarray]:
    """Less Equation 14 over unconstrained parameters whose softmax θ is, and its gradient."""
    theta = np.exp(free.reshape(counts.shape))
    theta /= theta.sum(axis=1, keepdims=True)
    within = counts.sum(axis=1, keepdims=True)
    slope = counts - theta * within * counts.sum(axis=2, keepdims=True) / (within * theta).sum(
        axis=2, keepdims=True
    )
    return -factorized(counts, theta), -(slope - theta * slope.sum(axis=1, keepdims=True)).ravel()


def theorem_5() -> list[float]:
    found, hessian = least_squares(*odds())
    return [*found, *np.linalg.eigvalsh(hessian)[::-1]]


def theorem_6() -> list[float]:
    (log_w, one), g, weight = odds()
    off = LAMBDA * log_w + RHO * one - g
    return [float(np.sum(weight * off)), float(np.sum(weight * off * log_w))]


def equation_28() -> list[float]:
    (alpha, beta, _), (rate, _) = least_squares(*ratio(P))[0], least_squares(*odds())[0]
    weights = np.array([alpha + beta, -beta * rate])
    return [*weights, *(weights / weights.sum())]


FOUND: dict[str, Callable[[], list[float]]] = {
    "Theorem 1": theorem_1, "Theorem 2": theorem_2, "Theorem 3": theorem_3, "Theorem 4": theorem_4,
    "Theorem 5": theorem_5, "Theorem 6": theorem_6, "Equation 28": equation_28,
}  # fmt: skip


# ---- the experiment


def work(task: Task) -> Iterator[Result]:
    """All quantities of one theorem."""
    started = perf_counter()
    values = dict(zip(STATED[task.data], FOUND[task.data](), strict=True))
    seconds = (perf_counter() - started) / len(values)
    for name in task.recipes:
        yield task.result(name, {"value": float(values[name])}, seconds)


def tasks(quick: bool) -> list[Task]:
    """One for each theorem; there is nothing to make smaller."""
    return [Task(theorem, 0, tuple(stated), 0, work) for theorem, stated in STATED.items()]


def page(store: Store) -> list[Block]:
    """What was computed beside what is stated, and Figures 2 and 3."""
    rows = [_row(store, theorem, name) for theorem, stated in STATED.items() for name in stated]
    note = (
        f"A figure that is stated to three digits agrees within {TOLERANCE:g}; ▼ marks one that"
        " does not."
    )
    table = ResultTable(
        "Computed and stated",
        ["", "quantity", "stated", "", "computed", "difference"],
        rows,
        note,
        3,
    )
    title = (
        "Figures 2 and 3: the error of f̂ with p = 0.05 (left), and g with its approximation ĝ"
        " (right)"
    )
    return [table, Picture("figures", title, draw)]


def _row(store: Store, theorem: str, name: str) -> list[str]:
    formula, stated = STATED[theorem][name]
    values = store.values("value", data=theorem, recipe=name)
    if not values:
        return [theorem, name, formula, f"{stated:.6g}", "–", "–"]
    difference = values[0] - stated
    mark = " ▼" if abs(difference) > TOLERANCE else ""
    return [
        theorem,
        name,
        formula,
        f"{stated:.6g}",
        f"{_zero(values[0]):.6f}",
        f"{difference:.1e}{mark}",
    ]


def _zero(value: float) -> float:
    """Without the sign of a number that is nothing but rounding."""
    return 0.0 if abs(value) < 5e-7 else value


def draw() -> Any:
    """The error of f̂ as a map, and the curve of g with that of ĝ."""
    figure, (left, right) = need("matplotlib.pyplot").subplots(
        1, 2, figsize=(9.2, 4.0), layout="constrained"
    )
    at = np.linspace(P / 100, P, 100)
    u, v = np.meshgrid(at, at)
    error = (
        np.log2(u / (u + v))
        - ALPHA * np.log2(u)
        - BETA * np.log2(v)
        - DELTA
        + (PI2 - 6) / 12 * math.log2(P)
    )
    image = left.pcolormesh(u, v, error, cmap="RdBu", vmin=-1, vmax=1, shading="auto")
    figure.colorbar(image, ax=left, label="f − f̂, bits")
    left.set(xlabel="U", ylabel="V", aspect="equal")
    w = np.linspace(0.002, 0.998, 400)
    right.plot(w, np.log2(w / (1 - w)), label="g = log(w / (1 − w))")
    right.plot(w, LAMBDA * np.log2(w) + RHO, "--", label="ĝ = λ log w + ρ")
    right.set(xlabel="w", ylabel="bits")
    right.legend(frameon=False)
    return figure


EXPERIMENT = Experiment(
    name="c11-theorems",
    paper="C11",
    where="Theorems 1 to 6, Equation 28, Figures 2 and 3",
    title="The approximations behind aCLL and fCLL",
    tasks=tasks,
    page=page,
    metrics=("value",),
)
