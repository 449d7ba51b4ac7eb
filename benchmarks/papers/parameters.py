"""Published accuracies of discriminative parameters: P10 Table 7 and section 6.5, P12 Table 1, P13 Table 1.

P10 ends CL by cross tuning; the fit to convergence stands beside it. P13 runs to convergence, with λ and κ of the
margin by cross-validation from a hundred pairs; here they are 21. P12's λ is chosen in the same way with κ = 0.5, on
mnist14 on a stratified tenth of the training rows. The structure of SA-MM is that of one run of annealing.

``CAUSES`` are what moves an accuracy: λ, κ, the number of iterations, the start. They look at test rows and choose
nothing.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from protocol import N_FOLDS, Part, complete_rows, parts
from sklearn.base import clone
from store import Results

from discbayes.counts import count
from discbayes.data import Encoded
from discbayes.data.folds import stratified_folds
from discbayes.engine import Context
from discbayes.inference import log_joint
from discbayes.network import Structure, Tables
from discbayes.objectives import Margin
from discbayes.parameters import MaximumConditionalLikelihood, MaximumLikelihood, MaxMargin
from discbayes.search import KDB, Annealing, SpanningTree

LAMS, KAPPAS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0), (0.01, 0.25, 0.5)
CL, MM = MaximumConditionalLikelihood, MaxMargin
CROSS_TUNED, CONVERGED = CL(stopping="cross-tuning"), CL()
N_SPLITS = {"spambase": 10}  # drawn splits; elsewhere the published one, or five folds
LARGE = {"mnist14": 10}  # where λ is chosen on one of so many parts of the training rows
STRUCTURES = {
    "NB": None,
    "TAN-CMI": SpanningTree(),
    "KDB-2": KDB(2),
    "TAN-SA-MM": Annealing(Margin(0.05), evaluation=5, random_state=0),
}


@dataclass(frozen=True)
class Figure:
    """A published accuracy, and the learners that are to meet it; the first of them is the paper's."""

    name: str
    structure: str
    parameters: str
    published: float
    variants: dict[str, Any]

    @property
    def tag(self) -> str:
        return f"{self.structure}-{self.parameters}"


@dataclass(frozen=True)
class EachFromML:
    """A margin whose λ and κ are compared by fits that all start at the ML estimates, as the last one does."""

    learner: MaxMargin


P10 = {"cross-tuned": CROSS_TUNED, "converged": CONVERGED}
P12 = {"λ by cv": EachFromML(MM(lam=LAMS)), "λ by cv along a path": MM(lam=LAMS)}
P12_SMALL = P12 | {"λ by cv, cross-tuned": EachFromML(MM(lam=LAMS, stopping="cross-tuning"))}
P13 = {
    "λ, κ by cv": EachFromML(MM(lam=LAMS, kappa=KAPPAS)),
    "λ, κ by cv along a path": MM(lam=LAMS, kappa=KAPPAS),
}
FIGURES = (
    Figure("mofn-3-7-10", "NB", "CL", 100.0, P10),
    Figure("chess", "NB", "CL", 95.97, P10),
    Figure("chess", "TAN-CMI", "CL", 97.56, P10),
    Figure("letter", "NB", "CL", 85.12, P10),
    Figure("letter", "TAN-CMI", "CL", 88.28, P10),
    Figure("spambase", "NB", "MM", 94.39, P12_SMALL),
    Figure("nursery", "TAN-CMI", "MCL", 98.31, {"converged": CONVERGED}),
    Figure("nursery", "TAN-CMI", "MM", 98.84, P13),
    Figure("mnist14", "NB", "CL", 91.70, P10),
    Figure("mnist14", "NB", "MM", 91.73, P12),
    Figure("mnist14", "TAN-CMI", "CL", 93.80, P10),
    Figure("mnist14", "TAN-CMI", "MM", 94.13, P12),
    Figure("mnist14", "TAN-SA-MM", "MM", 95.25, P12),
)
ROUNDS = (1, 2, 5, 10, 20, 50, 100)
STARTS = {
    "zeros": {"start": "zeros"},
    "ε = 1e-3": {"generative": MaximumLikelihood(1e-3)},
    "ε = 1e-9": {"generative": MaximumLikelihood(1e-9)},
    "equivalent sample size 1": {"generative": "map"},
}
CAUSES = {
    ("spambase", "NB", "MM"): (
        {f"λ = {lam:g}, κ = 0.5": MM(lam) for lam in LAMS}
        | {f"λ = 0.05, κ = {kappa:g}": MM(0.05, kappa) for kappa in KAPPAS[:-1]}
        | {f"λ = 0.05, {rounds} iterations": MM(0.05, max_iter=rounds) for rounds in ROUNDS}
        | {f"λ = 0.05, start: {start}": MM(0.05, **given) for start, given in STARTS.items()}
        | {"λ = 0.05, penalty 0.1": MM(0.05, penalty=0.1), "λ = 0.05, penalty 1": MM(0.05, penalty=1)}
        | {"λ = 0.05, tol 1e-9": MM(0.05, tol=1e-9, max_iter=10_000)}
    ),
    ("letter", "TAN-CMI", "CL"): (
        {f"{rounds} iterations": CL(max_iter=rounds) for rounds in ROUNDS}
        | {f"cross-tuned, start: {start}": CL(stopping="cross-tuning", **given) for start, given in STARTS.items()}
        | {"cross-tuned, conjugate gradient": CL(stopping="cross-tuning", solver="cg")}
        | {"converged, penalty 1": CL(penalty=1)}
    ),
    ("mnist14", "NB", "MM"): {f"λ = {lam:g}, κ = 0.5": MM(lam) for lam in (0.003, 0.05, 0.2)},
    ("mnist14", "TAN-CMI", "MM"): {f"λ = {lam:g}, κ = 0.5": MM(lam) for lam in (0.003, 0.05, 0.2)},
}
FIELDS = (
    "set", "tag", "variant", "split", "lam", "kappa", "iterations", "train_accuracy", "accuracy", "log_loss", "seconds",
)  # fmt: skip
SUMMARY = (
    "set", "tag", "variant", "ours", "published", "difference", "least", "largest", "train_accuracy", "iterations",
    "lam", "kappa", "seconds", "note",
)  # fmt: skip


def run() -> None:
    runs = Results("parameters_runs", FIELDS)
    for figure in FIGURES:
        for variant, learner in figure.variants.items():
            measure(runs, figure.name, figure.structure, figure.tag, variant, learner)
    summarise(runs)
    causes = Results("parameters_causes_runs", FIELDS)
    for (name, structure, parameters), variants in CAUSES.items():
        for variant, learner in variants.items():
            measure(causes, name, structure, f"{structure}-{parameters}", variant, learner)
    summarise_causes(causes)
    compare_paths()


def measure(runs: Results, name: str, structure: str, tag: str, variant: str, learner: Any) -> None:
    """Learn and test on every split that was not done yet."""
    done = {row["split"] for row in runs.rows if (row["set"], row["tag"], row["variant"]) == (name, tag, variant)}
    for split, part in all_parts(name, done):
        found = structure_of(part, structure, f"{name} {split}")
        runs.add(set=name, tag=tag, variant=variant, split=split, **fit(name, part, found, learner))


def all_parts(name: str, done: set[str]) -> Iterator[tuple[int, Part]]:
    """The splits of a data set, numbered, without those that were done."""
    rows = complete_rows(name)
    drawn = N_SPLITS.get(name, 1)
    n_parts = drawn * len(rows.splits())
    if len(done) == n_parts:
        return
    every = (part for seed in range(drawn) for part in parts(rows, seed))
    yield from ((split, part) for split, part in enumerate(every) if str(split) not in done)


def structure_of(part: Part, name: str, rows: str = "") -> Structure:
    """The structure of that name for the training rows; one that takes minutes to find is stored for these rows."""
    learner = STRUCTURES[name]
    if learner is None:
        return Structure(((),) * part.data.n_features)
    if not isinstance(learner, Annealing):
        return part.learn(learner)
    stored = Results("parameters_structures", ("rows", "structure", "seconds", "parents"))
    if not stored.has(rows=rows, structure=name):
        started = time.perf_counter()
        groups = [",".join(map(str, group)) or "-" for group in part.learn(learner).parents]
        stored.add(rows=rows, structure=name, seconds=time.perf_counter() - started, parents=" ".join(groups))
    (texts,) = (row["parents"].split() for row in stored.rows if (row["rows"], row["structure"]) == (rows, name))
    return Structure(tuple(() if text == "-" else tuple(map(int, text.split(","))) for text in texts))


def fit(name: str, part: Part, structure: Structure, learner: Any) -> dict[str, Any]:
    """Learn the tables, and test them; the seconds are those of all that the learner does."""
    started = time.perf_counter()
    learner, chosen = chosen_margin(name, part, structure, learner)
    tables, iterations = learned(part, structure, learner)
    seconds = time.perf_counter() - started
    train_rate, _ = judged(tables, part.data.codes, part.data.classes)
    rate, loss = judged(tables, part.test_codes, part.test_y)
    return chosen | {
        "iterations": iterations, "train_accuracy": train_rate, "accuracy": rate, "log_loss": loss, "seconds": seconds,
    }  # fmt: skip


def learned(part: Part, structure: Structure, learner: Any) -> tuple[Tables, int]:
    """The tables, and after how many iterations; a limit that is reached shows in their number."""
    context = Context(np.random.default_rng(0), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # limits of iterations, and local optima
        tables = learner.learn(part.data, part.counts, structure, context)
    return tables, sum("iteration" in line for line in context.history)


def chosen_margin(name: str, part: Part, structure: Structure, learner: Any) -> tuple[Any, dict[str, float]]:
    """The learner with the λ and κ that five folds of the training rows find best, if there is a choice."""
    each, learner = (True, learner.learner) if isinstance(learner, EachFromML) else (False, learner)
    if not isinstance(learner, MaxMargin):
        return learner, {}
    pairs = list(product(np.atleast_1d(learner.kappa).tolist(), np.atleast_1d(learner.lam).tolist()))
    best = 0
    if len(pairs) > 1:
        data = part.data
        if name in LARGE:
            data = data.take(stratified_folds(data.classes, LARGE[name], np.random.default_rng(0)) == 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            merits = rates_of_each(data, structure, pairs) if each else rates_along_path(data, structure, learner)
        best = int(np.argmax(merits))
    kappa, lam = pairs[best]
    return clone(learner).set_params(lam=lam, kappa=kappa), {"lam": lam, "kappa": kappa}


def rates_along_path(data: Encoded, structure: Structure, learner: MaxMargin) -> list[float]:
    """The held-out rates that the learner itself compares: each λ starts where the one before ended."""
    context = Context(np.random.default_rng(0), 1)
    clone(learner).set_params(stopping="convergence").learn(data, count(data, 1), structure, context)
    return [line["held_out"] for line in context.history if "held_out" in line]


def rates_of_each(data: Encoded, structure: Structure, pairs: list[tuple[float, float]]) -> list[float]:
    """The held-out rates of fits that all start at the ML estimates."""
    fold, right = stratified_folds(data.classes, N_FOLDS, np.random.default_rng(0)), np.zeros(len(pairs))
    for f in range(N_FOLDS):
        rest, test = data.take(fold != f), data.take(fold == f)
        counts = count(rest, 1)
        for place, (kappa, lam) in enumerate(pairs):
            tables = MaxMargin(lam, kappa).learn(rest, counts, structure, Context(n_jobs=1))
            right[place] += (log_joint(tables, test.codes).argmax(axis=1) == test.classes).sum()
    return list(right / data.n_samples)


def judged(tables: Tables, codes: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Accuracy in percent, and mean −log P(y | x) of the rows whose class is known to the tables."""
    scores = log_joint(tables, codes)
    right = 100 * float((scores.argmax(axis=1) == y).mean())
    known = y >= 0
    scores = scores[known]
    top = scores.max(axis=1, keepdims=True)
    total = top[:, 0] + np.log(np.exp(scores - top).sum(axis=1))
    return right, float((total - scores[np.arange(len(scores)), y[known]]).mean())


def summarise(runs: Results) -> None:
    """One line for every published figure and way to learn."""
    summary = Results("parameters", SUMMARY, fresh=True)
    for figure in FIGURES:
        for variant in figure.variants:
            report(summary, runs, figure, variant)


def report(summary: Results, runs: Results, figure: Figure, variant: str) -> None:
    """Means over the splits; λ and κ are medians."""
    where = {"set": figure.name, "tag": figure.tag, "variant": variant}
    accuracy = np.array(runs.column("accuracy", **where))
    if not accuracy.size:
        return
    ours = float(accuracy.mean())
    means = {key: float(np.mean(runs.column(key, **where))) for key in ("train_accuracy", "iterations", "seconds")}
    chosen = {key: float(np.median(found)) for key in ("lam", "kappa") if (found := runs.column(key, **where))}
    summary.add(
        **where, ours=ours, published=figure.published, difference=ours - figure.published,
        least=float(accuracy.min()), largest=float(accuracy.max()), **means, **chosen,
        note=f"mean of {accuracy.size} splits" if accuracy.size > 1 else "",
    )  # fmt: skip


def summarise_causes(causes: Results) -> None:
    """Means over the splits for every variant."""
    fields = ("accuracy", "train_accuracy", "log_loss", "iterations")
    summary = Results("parameters_causes", ("set", "tag", "variant", "n", *fields), fresh=True)
    for key in dict.fromkeys((row["set"], row["tag"], row["variant"]) for row in causes.rows):
        where = dict(zip(("set", "tag", "variant"), key, strict=True))
        found = {field: causes.column(field, **where) for field in fields}
        means = {field: float(np.mean(values)) for field, values in found.items()}
        summary.add(**where, n=len(found["accuracy"]), **means)


def compare_paths() -> None:
    """Held-out rates by which λ is chosen: each fit from the ML estimates, or along a path of rising or falling λ."""
    found = Results("parameters_paths", ("set", "structure", "lam", "each", "rising", "falling"))
    for name, structure in (("spambase", "NB"), ("mnist14", "NB"), ("mnist14", "TAN-CMI")):
        if found.has(set=name, structure=structure):
            continue
        part = next(parts(complete_rows(name)))
        data, graph = part.data, structure_of(part, structure)
        if name in LARGE:
            data = data.take(stratified_folds(data.classes, LARGE[name], np.random.default_rng(0)) == 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            each = rates_of_each(data, graph, [(0.5, lam) for lam in LAMS])
            rising = rates_along_path(data, graph, MM(lam=LAMS))
            falling = rates_along_path(data, graph, MM(lam=LAMS[::-1]))[::-1]
        for lam, *rates in zip(LAMS, each, rising, falling, strict=True):
            held = {way: 100 * rate for way, rate in zip(("each", "rising", "falling"), rates, strict=True)}
            found.add(set=name, structure=structure, lam=lam, **held)
