"""ML-BN-SVM beside ML, MCL and MM: P13 Table 1, the relative likelihood of its section 5.3, and Figure 1.

Sets of at most 5,000 rows, and satimage, are cut into five folds; nursery is drawn, two thirds for training; letter has
its published split. All methods begin at P13's ML (equivalent sample size 1) and go on to convergence.

λ and γ of ML-BN-SVM, and λ of MM, are those with the best rate on three folds of the training rows. P13 compares 84
pairs and, for MM, 100; here they are 48 (every second power of two) and 7 (κ = 0.5), in fits of at most 200 iterations
along paths of λ, each begun where the one before ended. On letter and satimage only half of the training rows choose.
"""

from __future__ import annotations

import time
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from protocol import N_FOLDS, Part, Rows, complete_rows, parts
from sklearn.base import clone
from store import Results

from discbayes.counts import count
from discbayes.data import Encoded
from discbayes.data.folds import stratified_folds
from discbayes.engine import Context
from discbayes.inference import log_joint
from discbayes.network import Structure, Tables
from discbayes.parameters import MLBNSVM, MaximumAPosteriori, MaximumConditionalLikelihood, MaxMargin
from discbayes.search import NaiveBayes, SpanningTree

# P13 Table 1 (TAN): ML, MCL, MM, ML-BN-SVM; the smaller sets first, and small ones that are beside the question
PUBLISHED = {
    "vote": (94.37, 94.15, 96.01, 95.31),
    "australian": (81.67, 81.97, 85.49, 84.76),
    "vehicle": (70.60, 69.64, 69.04, 69.88),
    "car": (94.24, 98.08, 97.79, 98.08),
    "segment": (94.89, 94.37, 96.02, 95.76),
    "nursery": (92.96, 98.31, 98.84, 98.68),
    "chess": (92.19, 97.65, 97.43, 97.99),
    "waveform-21": (82.36, 80.55, 82.86, 83.48),
    "spambase": (92.97, 92.99, 93.62, 94.03),
    "letter": (86.21, 87.65, 89.58, 88.57),
    "satimage": (85.79, 81.52, 86.82, 86.98),
}
MORE = {
    "breast": (95.56, 95.56, 96.59, 96.00),
    "cleve": (79.43, 77.74, 79.09, 80.79),
    "crx": (84.04, 80.32, 83.89, 84.20),
    "diabetes": (74.35, 74.22, 73.31, 74.35),
    "flare": (81.57, 81.48, 84.45, 83.30),
    "german": (71.90, 69.50, 73.20, 72.60),
    "glass": (72.68, 68.55, 71.71, 72.61),
    "heart": (80.74, 77.04, 77.41, 81.48),
    "hepatitis": (86.17, 86.08, 86.08, 86.17),
    "lymphography": (80.77, 75.38, 80.66, 76.92),
    "soybean-large": (91.88, 82.66, 90.77, 91.87),
}
RELATIVE = {"MCL": (67.23, 61.47), "MM": (39.99, 39.10), "ML-BN-SVM": (91.09, 89.84)}  # on training and on test rows
STRUCTURES = {"TAN": SpanningTree(), "NB": NaiveBayes()}
GAMMAS = (0.1, 1.0, 5.0, 10.0, 15.0, 20.0)
LAMS = (0.0, *(4.0**k for k in range(-1, 6)))
MARGIN_LAMS = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
METHODS: dict[str, Any] = {
    "ML": MaximumAPosteriori("ess", 1),
    "MCL": MaximumConditionalLikelihood(generative="map"),
    "MM": MaxMargin(MARGIN_LAMS, generative="map"),
    "ML-BN-SVM": MLBNSVM(LAMS, GAMMAS),
}
CHOOSING_ITER, CHOOSING_FOLDS = 200, 3
LARGE = {"letter": 2, "satimage": 2}  # the choice is made on one of so many parts of the training rows
PUBLISHED_SPLIT, THIRDS = ("letter",), {"nursery": 3}  # one of three parts is for test
N_JOBS = 2

FIELDS = (
    "set", "structure", "method", "split", "lam", "gamma", "iterations", "gap", "train_accuracy", "accuracy",
    "train_likelihood", "likelihood", "chosen_on", "choosing_seconds", "seconds",
)  # fmt: skip
SUMMARY = ("set", *(f"{tag}{what}" for tag in METHODS for what in ("", "_difference")))
TOLERANCE, TOLS = 1.5, (1e-2, 1e-3, 1e-4, 1e-6)
PATH = (0.0, *(2.0**k for k in range(-2, 11)))
PATH_FIELDS = ("lam", "slack", "negative_likelihood", "objective", "gap", "train_accuracy", "accuracy")


@dataclass(frozen=True)
class P13Rows(Rows):
    """The rows in P13's splits."""

    def splits(self, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
        if self.name in PUBLISHED_SPLIT:
            return super().splits(seed)
        n_folds = THIRDS.get(self.name, N_FOLDS)
        rng = np.random.default_rng([seed, zlib.crc32(self.name.encode())])
        fold = stratified_folds(np.unique(self.y, return_inverse=True)[1], n_folds, rng)
        every = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(n_folds)]
        return every[:1] if self.name in THIRDS else every


def run() -> None:
    path()
    runs = Results("p13_runs", FIELDS)
    for structure, name in (*product(STRUCTURES, PUBLISHED), *product(STRUCTURES, MORE)):
        measure(runs, name, structure)
    summarise(runs)
    causes(runs)


def p13_rows(name: str) -> P13Rows:
    rows = complete_rows(name)
    return P13Rows(rows.name, rows.X, rows.y, rows.n_train)


# ---- Table 1


def measure(runs: Results, name: str, structure: str) -> None:
    """All methods in all splits that were not done yet."""
    for split, part in enumerate(parts(p13_rows(name))):
        key = {"set": name, "structure": structure, "split": split}
        left = [tag for tag in METHODS if not runs.has(**key, method=tag)]
        if not left:
            continue
        graph = part.learn(STRUCTURES[structure])
        for tag in left:
            runs.add(**key, method=tag, **fit(name, part, graph, tag))


def fit(name: str, part: Part, graph: Structure, tag: str) -> dict[str, Any]:
    """Choose, learn and test."""
    started = time.perf_counter()
    learner, chosen = chosen_learner(name, part.data, graph, tag)
    seconds = {"choosing_seconds": time.perf_counter() - started} if chosen else {}
    return chosen | seconds | tested(part, graph, learner)


def tested(part: Part, graph: Structure, learner: Any) -> dict[str, Any]:
    """Learn and test; likelihoods are natural logarithms, for each row."""
    started = time.perf_counter()
    tables, history = learned(part, graph, learner)
    seconds = time.perf_counter() - started
    train_rate, train_likelihood = judged(tables, part.data.codes, part.data.classes)
    rate, likelihood = judged(tables, part.test_codes, part.test_y)
    return {
        "iterations": sum("iteration" in line for line in history),
        "gap": history[-1].get("gap", "") if history else "",
        "train_accuracy": train_rate, "accuracy": rate, "train_likelihood": train_likelihood, "likelihood": likelihood,
        "seconds": seconds,
    }  # fmt: skip


def learned(part: Part, graph: Structure, learner: Any) -> tuple[Tables, list[dict[str, Any]]]:
    """The tables, and the history of the fit; a limit that is reached shows in it."""
    context = Context(np.random.default_rng(0), N_JOBS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return learner.learn(part.data, part.counts, graph, context), context.history


def chosen_learner(name: str, data: Encoded, graph: Structure, tag: str) -> tuple[Any, dict[str, Any]]:
    """The learner of a method with the numbers that held-out rows find best, if there is a choice."""
    learner = METHODS[tag]
    if not isinstance(learner, (MaxMargin, MLBNSVM)):
        return learner, {}
    if name in LARGE:
        data = data.take(stratified_folds(data.classes, LARGE[name], np.random.default_rng(0)) == 0)
    learner, found = choose(learner, data, graph)
    return learner, found | {"chosen_on": data.n_samples}


def choose(learner: Any, data: Encoded, graph: Structure) -> tuple[Any, dict[str, float]]:
    """The same learner with one number for each of its lists, and these numbers."""
    context = Context(np.random.default_rng(0), N_JOBS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        comparing = clone(learner).set_params(max_iter=CHOOSING_ITER, n_folds=CHOOSING_FOLDS)
        comparing.learn(data, count(data, N_JOBS), graph, context)
    rates = [line["held_out"] for line in context.history if "held_out" in line] or [1.0]
    names = [name for name in ("gamma", "lam") if name in learner.get_params()]
    pairs = list(product(*(getattr(learner, name) for name in names)))
    found = dict(zip(names, pairs[int(np.argmax(rates))], strict=True))
    return clone(learner).set_params(**found), found


def judged(tables: Tables, codes: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Accuracy in percent, and the mean of log P(y, x) over the rows whose class is known to the tables."""
    scores = log_joint(tables, codes)
    right, known = 100 * float((scores.argmax(axis=1) == y).mean()), np.flatnonzero(y >= 0)
    return right, float(scores[known, y[known]].mean())


# ---- the summary


def summarise(runs: Results) -> None:
    """Ours beside theirs, how many of them agree, and the relative likelihood."""
    summary = Results("p13", SUMMARY, fresh=True)
    away: dict[str, dict[str, float]] = {}
    for name, published in (PUBLISHED | MORE).items():
        line: dict[str, float] = {}
        for tag, theirs in zip(METHODS, published, strict=True):
            found = runs.column("accuracy", set=name, structure="TAN", method=tag)
            if found:
                away.setdefault(name, {})[tag] = float(np.mean(found)) - theirs
                line |= {tag: float(np.mean(found)), f"{tag}_difference": away[name][tag]}
        if line:
            summary.add(set=name, **line)
    summarise_agreement(away)
    summarise_likelihood(runs)


def groups(done: set[str]) -> list[tuple[str, ...]]:
    """The eleven sets, and all sets where more were done."""
    every = tuple(PUBLISHED | MORE)
    return [tuple(PUBLISHED), every] if done & set(MORE) else [tuple(PUBLISHED)]


def summarise_agreement(away: dict[str, dict[str, float]]) -> None:
    """How many sets are within 1.5 points of P13, of its eleven larger ones and of all."""
    summary = Results("p13_agreement", ("method", "sets", "within", "not_below", "mean_difference"), fresh=True)
    for names in groups(set(away)):
        for tags in (*((tag,) for tag in METHODS), tuple(METHODS)):
            found = [[differences[tag] for tag in tags] for name, differences in away.items() if name in names]
            differences = np.array(found).reshape(-1, len(tags))
            for method, every in (("all four", True), ("any", False)) if len(tags) > 1 else ((tags[0], True),):
                near, above = abs(differences) <= TOLERANCE, differences >= -TOLERANCE
                counted = [int(each.all(axis=1).sum() if every else each.sum()) for each in (near, above)]
                summary.add(
                    method=method, sets=len(found) if every else differences.size, within=counted[0],
                    not_below=counted[1], mean_difference=float(differences.mean()),
                )  # fmt: skip


def summarise_likelihood(runs: Results) -> None:
    """LL(ML) / LL(method) in percent: the mean over all splits, and over sets, each of which counts the same."""
    what = ("train", "test", "train_by_set", "test_by_set")
    fields = ("structure", "method", "sets", "runs", *what, "train_published", "test_published")
    summary = Results("p13_likelihood", fields, fresh=True)
    done = {row["set"] for row in runs.rows}
    for names, structures in product(groups(done), (("NB", "TAN"), ("NB",), ("TAN",))):
        for tag, (train, test) in RELATIVE.items():
            by_set = [relative(runs, name, structures, tag) for name in names]
            by_set = [np.array(found) for found in by_set if found]
            of_runs, of_sets = np.concatenate(by_set), np.array([found.mean(axis=0) for found in by_set])
            ratio = 100 * np.concatenate((of_runs.mean(axis=0), of_sets.mean(axis=0)))
            means = dict(zip(what, ratio.tolist(), strict=True))
            theirs = {"train_published": train, "test_published": test} if len(structures) == 2 else {}
            counts = {"sets": len(by_set), "runs": sum(map(len, by_set))}
            summary.add(structure=" and ".join(structures), method=tag, **counts, **means, **theirs)


def relative(runs: Results, name: str, structures: tuple[str, ...], tag: str) -> list[tuple[float, float]]:
    """What is left of the likelihood of ML, on the training and the test rows of each split of a set."""
    found: list[tuple[float, float]] = []
    for structure in structures:
        rows = [row for row in runs.rows if (row["set"], row["structure"]) == (name, structure)]
        found += ratios(*([row for row in rows if row["method"] == method] for method in ("ML", tag)))
    return found


def ratios(ml: list[dict[str, str]], other: list[dict[str, str]]) -> list[tuple[float, float]]:
    """LL(ML) / LL(other) of the training and the test rows, for each line of the other."""
    best = {(row["set"], row["split"]): row for row in ml}
    pairs = [(best[row["set"], row["split"]], row) for row in other]
    train, test = ([float(a[key]) / float(b[key]) for a, b in pairs] for key in ("train_likelihood", "likelihood"))
    return list(zip(train, test, strict=True))


# ---- when MCL and MM end


def causes(runs: Results) -> None:
    """What MCL and MM, with the λ that was chosen, would be if they ended earlier; TAN, on the eleven sets."""
    found = Results("p13_causes_runs", ("tol", *FIELDS))
    for name in PUBLISHED:
        for split, part in enumerate(parts(p13_rows(name))):
            key = {"set": name, "structure": "TAN", "split": split}
            left = [(tag, tol) for tag in ("MCL", "MM") for tol in TOLS if not found.has(**key, method=tag, tol=tol)]
            graph = part.learn(STRUCTURES["TAN"]) if left else None
            for tag, tol in left:
                learner = clone(METHODS[tag]).set_params(tol=tol)
                lam = runs.column("lam", **key, method=tag)
                if lam:
                    learner.set_params(lam=lam[0])
                found.add(**key, method=tag, tol=tol, **tested(part, graph, learner))
    fields = ("method", "tol", "within", "not_below", "mean_difference", "iterations", "train", "test")
    summary = Results("p13_causes", fields, fresh=True)
    for tag, tol in product(("MCL", "MM"), TOLS):
        rows = [row for row in found.rows if (row["method"], float(row["tol"])) == (tag, tol)]
        means = {name: float(np.mean(found.column("accuracy", set=name, method=tag, tol=tol))) for name in PUBLISHED}
        away = np.array([means[name] - theirs[list(METHODS).index(tag)] for name, theirs in PUBLISHED.items()])
        ml = [row for row in runs.rows if row["method"] == "ML" and row["structure"] == "TAN"]
        train, test = 100 * np.mean(list(ratios(ml, rows)), axis=0)
        summary.add(
            method=tag, tol=tol, within=int((abs(away) <= TOLERANCE).sum()), not_below=int((away >= -TOLERANCE).sum()),
            mean_difference=float(away.mean()), iterations=float(np.mean([float(row["iterations"]) for row in rows])),
            train=float(train), test=float(test),
        )  # fmt: skip


# ---- Figure 1


def path() -> None:
    """Car with naive Bayes: slack and likelihood of all rows along λ at γ = 1, and the accuracy of five folds."""
    rows = p13_rows("car")
    stored = Results("p13_path", PATH_FIELDS)
    if len(stored.rows) == len(PATH):
        return
    held = np.mean([[line["test"] for line in along(part)] for part in parts(rows)], axis=0)
    for line, accuracy in zip(along(whole(rows)), held, strict=True):
        del line["test"]
        if not stored.has(lam=line["lam"]):
            stored.add(**line, accuracy=float(accuracy))
    for name, sign in (("slack", -1), ("negative_likelihood", 1)):
        steps = sign * np.diff(stored.column(name))
        print(f"{name}: {'monotone' if (steps >= 0).all() else f'a step of {steps.min():.2g} the wrong way'}")


def along(part: Part) -> Iterator[dict[str, Any]]:
    """Slack and likelihood for each row, and accuracy, for every λ."""
    learner, context = MLBNSVM(gamma=1.0, tol=1e-6, max_iter=20_000), Context(n_jobs=N_JOBS)
    data, graph = part.data, part.learn(NaiveBayes())
    for point in learner.path(data, part.counts, graph, PATH, context):
        paid, fitted = point.slack / data.n_samples, point.log_likelihood / data.n_samples
        yield {
            "lam": point.lam, "slack": paid, "negative_likelihood": -fitted, "objective": point.lam * paid - fitted,
            "gap": point.gap, "train_accuracy": 100 * point.rate,
            "test": judged(point.tables, part.test_codes, part.test_y)[0],
        }  # fmt: skip


def whole(rows: Rows) -> Part:
    """All rows, for training and for test."""
    everything = np.arange(len(rows.y))

    class Everything(Rows):
        def splits(self, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
            return [(everything, everything)]

    return next(parts(Everything(rows.name, rows.X, rows.y, None)))
