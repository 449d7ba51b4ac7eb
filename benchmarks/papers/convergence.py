"""How fast the parameterisations of the conditional likelihood converge: Z17 section 7.4, appendix D, Tables 5 and 6.

The negative log likelihood of the training rows, Σ −log P(y | x), after so many iterations of L-BFGS without a penalty,
for w (weights on the generative tables, level 4), d (free numbers) and e (normalised tables). Training rows are those
of the published split, or all rows; of a very large set, one of several stratified parts. Missing values are a value of
their own, as in Z17.

Z17 has a two-tailed sign test without the draws, and does not say what a draw is. Here it is a difference below 1e-4
for each row, and there is a count without draws beside it. Z17 does not say either which start Tables 5 and 6 are for.
Its solver is L-BFGS-B of Nocedal and others; SciPy's version of that is here to compare, with five steps in memory as
in their examples.
"""

from __future__ import annotations

import math
import warnings
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.stats import binomtest
from sklearn.exceptions import ConvergenceWarning
from store import Results

from discbayes.counts import Counts, count
from discbayes.data import Encoded, FrameEncoder
from discbayes.data.folds import stratified_folds
from discbayes.datasets import load_dataset
from discbayes.engine import Context
from discbayes.network import Structure
from discbayes.optim import SOLVERS, Outcome
from discbayes.parameters import DiscriminativeCCBN, ExtendedCCBN, WeightedCCBN
from discbayes.search import KDB, NaiveBayes, SpanningTree

SETS = ("nursery", "pendigits", "letter", "shuttle", "adult", "kddcup10", "mnist14")  # the largest last
SOLVED_BY = {"lbfgs": SETS, "lbfgsb": SETS}
STRUCTURES: dict[str, Any] = {"NB": NaiveBayes(), "TAN": SpanningTree(), "KDB-1": KDB(k=1)}
STARTS = ("zeros", "generative")
LEARNERS: dict[str, Any] = {"w": WeightedCCBN, "d": DiscriminativeCCBN, "e": ExtendedCCBN}
AFTER = (5, 10, 50)  # iterations
REACH = (5, 10)  # those after which the others are followed until they are as good
MOST_ROWS = 60_000
DRAW = 1e-4  # nats for each row

KEY = ("solver", "set", "structure", "start")
FIELDS = (*KEY, "parameters", "rows", "n_iter", *(f"nll_{n}" for n in AFTER), "seconds_per_iter", "curve")
NLL = (*KEY, *(f"{p}_{n}" for n, p in product(AFTER, LEARNERS)), *(f"seconds_{p}" for p in LEARNERS))
WINS = (
    *("solver", "against", "start", "after", "sets"),
    *(f"{tag}{part}" for tag in STRUCTURES for part in ("", "_p", "_without_draws")),
)
REACHED = ("solver", "against", "start", "structure", "after", *SETS, "median_iterations")


def run() -> None:
    SOLVERS["lbfgsb"] = lbfgsb
    runs = Results("convergence_runs", FIELDS)
    for name in SETS:
        left = [key for key in fits(name) if not runs.has(**key)]
        if not left:
            continue
        data = training_rows(name)
        counts = count(data, 1)
        found = {tag: search.learn(data, counts, Context(n_jobs=1)) for tag, search in STRUCTURES.items()}
        for key in left:
            make = LEARNERS[key["parameters"]]
            learner = make(start=key["start"], solver=key["solver"], max_iter=max(AFTER), tol=0)
            runs.add(**key, rows=data.n_samples, **fit(learner, data, counts, found[key["structure"]]))
    summarise(runs)


def fits(name: str) -> list[dict[str, str]]:
    """What is to be fitted on a data set."""
    solvers = [solver for solver, sets in SOLVED_BY.items() if name in sets]
    every = product(solvers, [name], STRUCTURES, STARTS, LEARNERS)
    return [dict(zip((*KEY, "parameters"), key, strict=True)) for key in every]


def training_rows(name: str) -> Encoded:
    """The training rows as codes, gaps as values."""
    data = load_dataset(name, source="files", as_frame=False)
    X, y = (data.X, data.y) if data.split is None else (data.X[data.split[0]], data.y[data.split[0]])
    if len(y) > MOST_ROWS:
        labels = np.unique(y, return_inverse=True)[1]
        chosen = stratified_folds(labels, math.ceil(len(y) / MOST_ROWS), np.random.default_rng(0)) == 0
        X, y = X[chosen], y[chosen]
    return FrameEncoder("mdlp", missing="value", n_jobs=1).fit_transform(X, y)


def fit(learner: Any, data: Encoded, counts: Counts, structure: Structure) -> dict[str, Any]:
    """What a fit comes to after each iteration, and the seconds that one takes, line search and all."""
    context = Context(n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        learner.learn(data, counts, structure, context)
    curve = [-step["score"] for step in context.history]
    seconds = [step["seconds"] for step in context.history]
    return {
        "n_iter": len(curve),
        **{f"nll_{n}": f"{after(curve, n):.8g}" for n in AFTER},
        "seconds_per_iter": (seconds[-1] - seconds[0]) / max(1, len(curve) - 1),
        "curve": " ".join(f"{value:.8g}" for value in curve),
    }


def after(curve: list[float], n: int) -> float:
    """What there is after so many iterations; a fit that ended before stays where it was."""
    return curve[min(n, len(curve)) - 1]


def lbfgsb(function: Any, start: np.ndarray, max_iter: int, tol: float, callback: Any = None) -> Outcome:
    """SciPy's L-BFGS-B, as a solver of the library."""
    options = {"maxiter": max_iter, "maxfun": 100 * max_iter, "maxcor": 5, "ftol": tol, "gtol": 1e-10}

    def after_each(intermediate_result: Any) -> None:
        callback(intermediate_result.x, float(intermediate_result.fun))

    found = minimize(function, start, jac=True, method="L-BFGS-B", options=options, callback=after_each)
    return Outcome(found.x, float(found.fun), int(found.nit), bool(found.success))


def summarise(runs: Results) -> None:
    """The values, the wins of w, and the iterations that the others need to be where w is."""
    curves = {
        (*(row[column] for column in KEY), row["parameters"]): [float(value) for value in row["curve"].split()]
        for row in runs.rows
    }
    values = Results("convergence_nll", NLL, fresh=True)
    for key in product(SOLVED_BY, SETS, STRUCTURES, STARTS):
        if all((*key, p) in curves for p in LEARNERS):
            row = dict(zip(KEY, key, strict=True))
            (rows,) = set(runs.column("rows", **row))
            nll = {f"{p}_{n}": after(curves[*key, p], n) / rows for n, p in product(AFTER, LEARNERS)}
            seconds = {f"seconds_{p}": runs.column("seconds_per_iter", **row, parameters=p)[0] for p in LEARNERS}
            values.add(**row, **nll, **seconds)
    wins, reached = Results("convergence", WINS, fresh=True), Results("convergence_reach", REACHED, fresh=True)
    for solver, against, start, n in product(SOLVED_BY, ("d", "e"), STARTS, AFTER):
        row = {"solver": solver, "start": start}
        compared = [win_draw_loss(values, against, n, tag, row) for tag in STRUCTURES]
        n_sets = len(values.column("w_5", **row, structure="NB"))
        wins.add(**row, against=against, after=n, sets=n_sets, **{k: v for part in compared for k, v in part.items()})
    for solver, against, start, tag, n in product(SOLVED_BY, ("d", "e"), STARTS, STRUCTURES, REACH):
        row = {"solver": solver, "start": start, "structure": tag}
        pairs = {
            name: (curves[solver, name, tag, start, "w"], curves[solver, name, tag, start, against])
            for name in SETS
            if values.has(set=name, **row)
        }
        reached.add(**row, against=against, after=n, **iterations_to_reach(pairs, n))


def win_draw_loss(values: Results, against: str, n: int, tag: str, where: dict[str, str]) -> dict[str, Any]:
    """On how many sets w is lower after n iterations, as high, and higher; and without draws."""
    w, other = (np.array(values.column(f"{p}_{n}", structure=tag, **where)) for p in ("w", against))
    draw = np.abs(w - other) < DRAW
    won, lost = int((~draw & (w < other)).sum()), int((~draw & (w > other)).sum())
    return {
        tag: f"{won}/{int(draw.sum())}/{lost}",
        f"{tag}_p": binomtest(won, won + lost).pvalue if won + lost else 1.0,
        f"{tag}_without_draws": f"{int((w < other).sum())}/{int((w > other).sum())}",
    }


def iterations_to_reach(pairs: dict[str, tuple[list[float], list[float]]], n: int) -> dict[str, str]:
    """The iterations after n that the other needs for what w has after n; where w is behind, those of w, negative."""
    found: dict[str, float] = {}
    for name, (w, other) in pairs.items():
        leads = after(w, n) <= after(other, n)
        found[name] = more(other, after(w, n), n) if leads else -more(w, after(other, n), n)
    found_median = {"median_iterations": float(np.median(list(found.values())))} if found else {}
    return {name: limited(k, n) for name, k in (found | found_median).items()}


def limited(k: float, n: int) -> str:
    """A number of iterations beyond n as text; there were none to see beyond the last."""
    most = max(AFTER) - n
    return f"{k:g}" if abs(k) <= most else f"{'-' * (k < 0)}>{most}"


def more(curve: list[float], target: float, n: int) -> int:
    """The iterations beyond n until the curve is at the target; one more than there are if it never is."""
    below = np.flatnonzero(np.array(curve[n - 1 :]) <= target)
    return int(below[0]) if below.size else max(AFTER) - n + 1
