"""Accuracy with features missing at test: P13 Figure 4 (over UCI sets) and Figure 2 (vehicle, several λ).

Every test row loses a share of its features, its own in each draw and the same for all methods; those of a larger share
hold those of a smaller one. Bayesian networks (TAN) sum the gaps out exactly, with λ and γ that ``p13`` chose on
complete rows. The SVM (Gaussian kernel) and logistic regression (LR) see the same intervals and values as indicators;
their gaps become the mean of the five training rows that agree in most of the features that are left.

Ten draws of at most 1,000 test rows; all folds of sets of at most 2,000 training rows, else the first split. SVM and LR
learn from at most 10,000 rows, with C and the width of the kernel from 12 and 3 values by three folds of at most 1,000.
Averages are over sets, each of which counts the same.

``python benchmarks/papers/p13_missing.py`` draws the stored results into the current directory (needs matplotlib).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from p13 import GAMMAS, METHODS, MORE, PUBLISHED, STRUCTURES, choose, chosen_learner, learned, p13_rows
from protocol import Part, parts, with_gaps
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC
from store import Results

from discbayes.data import Encoded
from discbayes.data.folds import stratified_folds
from discbayes.inference import Effort, log_joint
from discbayes.network import Structure, Tables
from discbayes.parameters import MLBNSVM

SHARES = tuple(range(0, 100, 10))
N_DRAWS, VEHICLE_DRAWS = 10, 100
MAX_TEST, MAX_TRAIN, MAX_CHOOSING = 1000, 10_000, 1000
ALL_FOLDS = 2000  # training rows, above which only the first split is done
K = 5
VEHICLE_LAMS = (0.0, 1.0, 16.0, 256.0)
OTHERS = ("SVM", "LR")
TAGS = (*METHODS, *OTHERS)


def run() -> None:
    vehicle()
    runs = Results("p13_missing_runs", ("set", "split", "missing", "rows", *TAGS))
    for name in (*PUBLISHED, *MORE):
        measure(runs, name)
    summarise(runs)


# ---- Figure 4


def measure(runs: Results, name: str) -> None:
    """All methods in the splits that were not done yet, the mean over the draws for each share."""
    rows = p13_rows(name)
    for split, part in enumerate(parts(rows)):
        if split and part.data.n_samples > ALL_FOLDS:
            return
        if all(runs.has(set=name, split=split, missing=share) for share in SHARES):
            continue
        part = some_test_rows(part)
        judges = networks(name, split, part) | imputed(part)
        rates: dict[str, np.ndarray] = {tag: np.zeros(len(SHARES)) for tag in TAGS}
        for draw in range(N_DRAWS):
            for place, codes in enumerate(gappy_rows(part, draw)):
                for tag, right in rate_of_each(judges, part, codes).items():
                    rates[tag][place] += right / N_DRAWS
        for place, share in enumerate(SHARES):
            if not runs.has(set=name, split=split, missing=share):
                found = {tag: float(rates[tag][place]) for tag in TAGS}
                runs.add(set=name, split=split, missing=share, rows=part.test_y.size, **found)


def some_test_rows(part: Part) -> Part:
    if part.test_y.size <= MAX_TEST:
        return part
    kept = np.sort(np.random.default_rng(0).permutation(part.test_y.size)[:MAX_TEST])
    return Part(part.data, part.counts, np.ascontiguousarray(part.test_codes[:, kept]), part.test_y[kept])


def gappy_rows(part: Part, draw: int) -> Iterator[np.ndarray]:
    """The test rows with each share of their features missing."""
    n_features = part.test_codes.shape[0]
    return with_gaps(part, [round(share / 100 * n_features) for share in SHARES], draw)


def rate_of_each(judges: dict[str, Any], part: Part, codes: np.ndarray) -> dict[str, float]:
    """Accuracy in percent; rows are imputed once for all that need it."""
    filled = judges["imputer"](codes)
    decided = {
        tag: judge.predict(filled) if tag in OTHERS else log_joint(judge, codes, Effort(n_jobs=1)).argmax(axis=1)
        for tag, judge in judges.items()
        if tag != "imputer"
    }
    return {tag: 100 * float((classes == part.test_y).mean()) for tag, classes in decided.items()}


def networks(name: str, split: int, part: Part) -> dict[str, Tables]:
    """TAN with the tables of each method."""
    graph = part.learn(STRUCTURES["TAN"])
    chosen = {tag: learner_of(name, split, part.data, graph, tag) for tag in METHODS}
    return {tag: learned(part, graph, learner)[0] for tag, learner in chosen.items()}


def learner_of(name: str, split: int, data: Encoded, graph: Structure, tag: str) -> Any:
    """The learner with the numbers that ``p13`` chose for this split; chosen now where it has not been there."""
    for row in Results("p13_runs", ()).rows:
        if (row["set"], row["structure"], row["split"], row["method"]) == (name, "TAN", str(split), tag):
            return clone(METHODS[tag]).set_params(**{key: float(row[key]) for key in ("lam", "gamma") if row[key]})
    return chosen_learner(name, data, graph, tag)[0]


def imputed(part: Part) -> dict[str, Any]:
    """SVM and logistic regression on indicators of the training rows, and what fills the gaps of others."""
    data = thinned(part.data, MAX_TRAIN)
    seen, small = indicators(data.codes, data.cards), thinned(data, MAX_CHOOSING)
    width = 1 / data.n_features
    grids: dict[str, tuple[Any, dict[str, Any]]] = {
        "SVM": (SVC(), {"C": (0.5, 2, 8, 32), "gamma": (width / 4, width, 4 * width)}),
        "LR": (LogisticRegression(max_iter=1000), {"C": (0.1, 1, 10)}),
    }

    def fill(codes: np.ndarray) -> np.ndarray:
        found = indicators(codes, data.cards)
        near = np.argpartition(found @ seen.T, -K, axis=1)[:, -K:]
        gaps = np.repeat(codes == data.cards[:, None], data.cards, axis=0).T
        return np.where(gaps, seen[near].mean(axis=1), found)

    judges: dict[str, Any] = {"imputer": fill}
    for tag, (model, grid) in grids.items():
        search = GridSearchCV(model, grid, cv=StratifiedKFold(3, shuffle=True, random_state=0), refit=False)
        search.fit(indicators(small.codes, data.cards), small.classes)
        judges[tag] = model.set_params(**search.best_params_).fit(seen, data.classes)
    return judges


def thinned(data: Encoded, limit: int) -> Encoded:
    """A stratified part of the rows, if there are too many."""
    n_parts = -(-data.n_samples // limit)
    if n_parts == 1:
        return data
    return data.take(stratified_folds(data.classes, n_parts, np.random.default_rng(0)) == 0)


def indicators(codes: np.ndarray, cards: np.ndarray) -> np.ndarray:
    """A column for every value of every feature, all zero where it is missing."""
    offsets = np.cumsum(cards) - cards
    found = np.zeros((codes.shape[1], int(cards.sum())), np.float32)
    features, rows = np.nonzero(codes < cards[:, None])
    found[rows, offsets[features] + codes[features, rows]] = 1
    return found


def summarise(runs: Results) -> None:
    """The mean over the splits of each set, and then over the sets."""
    best, fields = tuple(METHODS), ("missing", "sets", *TAGS, "behind_best_network")
    summary = Results("p13_missing", fields, fresh=True)
    names = list(dict.fromkeys(row["set"] for row in runs.rows))
    for share in SHARES:
        means = {
            tag: float(np.mean([np.mean(runs.column(tag, set=name, missing=share)) for name in names])) for tag in TAGS
        }
        behind = max(means[tag] for tag in best) - means["ML-BN-SVM"]
        summary.add(missing=share, sets=len(names), **means, behind_best_network=behind)


# ---- Figure 2


def vehicle() -> None:
    """Vehicle with several λ, and γ by cross-validation for each of them."""
    runs = Results("p13_missing_vehicle_runs", ("split", "lam", "gamma", "missing", "accuracy"))
    for split, part in enumerate(parts(p13_rows("vehicle"))):
        graph = part.learn(STRUCTURES["TAN"])
        for lam in VEHICLE_LAMS:
            if all(runs.has(split=split, lam=lam, missing=share) for share in SHARES):
                continue
            learner, _ = choose(MLBNSVM((lam,), GAMMAS if lam else (1.0,)), part.data, graph)
            tables = learned(part, graph, learner)[0]
            rates = np.zeros(len(SHARES))
            for draw in range(VEHICLE_DRAWS):
                for place, codes in enumerate(gappy_rows(part, draw)):
                    decided = log_joint(tables, codes, Effort(n_jobs=1)).argmax(axis=1)
                    rates[place] += 100 * float((decided == part.test_y).mean()) / VEHICLE_DRAWS
            for share, rate in zip(SHARES, rates.tolist(), strict=True):
                if not runs.has(split=split, lam=lam, missing=share):
                    runs.add(split=split, lam=lam, gamma=learner.gamma, missing=share, accuracy=rate)
    columns = {lam: f"lam_{lam:g}" for lam in VEHICLE_LAMS}
    summary = Results("p13_missing_vehicle", ("missing", *columns.values()), fresh=True)
    for share in SHARES:
        found = {column: runs.column("accuracy", lam=lam, missing=share) for lam, column in columns.items()}
        summary.add(missing=share, **{column: float(np.mean(rates)) for column, rates in found.items()})


# ---- pictures


def plot() -> None:
    """Both figures from the stored results: p13_missing.png and p13_missing_vehicle.png."""
    import matplotlib.pyplot as plt

    for name, columns in (
        ("p13_missing", {tag: tag for tag in TAGS}),
        ("p13_missing_vehicle", {f"lam_{lam:g}": f"λ = {lam:g}" for lam in VEHICLE_LAMS}),
    ):
        results = Results(name, ())
        figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
        for (column, label), marker in zip(columns.items(), "osd^vx", strict=False):
            style = "--" if column in OTHERS else "-"
            axes.plot(
                results.column("missing"), results.column(column), style, marker=marker, markersize=4, label=label
            )
        axes.set(xlabel="missing features (%)", ylabel="accuracy (%)")
        axes.legend(frameon=False)
        axes.grid(alpha=0.3)
        figure.savefig(f"{name}.png", dpi=120)
        plt.close(figure)


if __name__ == "__main__":
    plot()
