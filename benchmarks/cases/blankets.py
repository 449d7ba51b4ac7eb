"""Networks in which the class may have parents, learned from rows that published networks draw,
beside trees: log loss on other rows, and the time of a fit.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from sklearn.base import clone

from cases.networks import TRIED, path_of, variables
from discbayes import BayesNetClassifier, read_bif
from suite.measure import Row, noted, of

NETWORKS = (
    *("cancer", "earthquake", "survey", "asia", "sachs", "child", "insurance", "alarm", "water"),
    *("win95pts", "hepar2", "hailfinder", "barley"),
)
N_ROWS, N_TEST = 5_000, 2_000
MAX_TARGETS = 12  # classes that networks are learned for
LEARNERS = {
    "blanket": BayesNetClassifier("blanket", "map"),
    "TAN-MAP": BayesNetClassifier("tan", "map"),
}


def run(smoke: bool) -> Iterator[Row]:
    for name in TRIED if smoke else NETWORKS:
        yield from _learned(name, smoke)


def _learned(name: str, smoke: bool) -> Iterator[Row]:
    """Mean log loss over classes, and processor time of a fit, beside a tree."""
    path = path_of(name)
    names = np.array(variables(path))
    chosen = np.sort(np.random.default_rng(0).permutation(names.size)[:MAX_TARGETS])
    n_rows = 300 if smoke else N_ROWS
    found, seconds = losses(path, names[chosen].tolist(), n_rows)
    ours, tree = (float(np.nanmean(found[learner])) for learner in LEARNERS)
    # rows of all classes are of one network: the mean over classes is one observation for each
    differences = np.nanmean(found["blanket"] - found["TAN-MAP"], axis=0)
    error = float(np.nanstd(differences) / np.sqrt(differences.size))
    what = f"{name}: learned from {n_rows:,} rows, mean of {chosen.size} classes"
    required = "<= TAN, beyond two standard errors"
    ok = ours - tree <= 2 * error
    yield from of(
        "blanket",
        Row(f"{what}, log loss", ours, "nats", required, ok, tree, ours / tree),
        noted(f"{what}, standard error of the difference", error, unit="nats"),
        noted(f"{what}, processor time", seconds["blanket"]),
    )
    yield from of("TAN-MAP", noted(f"{what}, processor time of TAN", seconds["TAN-MAP"]))


def losses(
    path: Path, targets: Sequence[str], n_rows: int
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """The log losses of other rows, class by class, and the seconds of a fit, by learner.

    A row whose class no training row has is NaN.
    """
    found: dict[str, list[np.ndarray]] = {learner: [] for learner in LEARNERS}
    taken: dict[str, list[float]] = {learner: [] for learner in LEARNERS}
    for target in targets:
        net = read_bif(path, target)
        X, y = net.sample(n_rows + N_TEST, random_state=0, library="pandas")
        if len(set(y[:n_rows])) < 2:
            continue
        for learner, made in LEARNERS.items():
            started = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                clf = clone(made).fit(X[:n_rows], y[:n_rows])
            taken[learner].append(time.process_time() - started)
            place = {label: k for k, label in enumerate(clf.classes_)}
            known = np.array([k for k in range(n_rows, n_rows + N_TEST) if y[k] in place])
            shares = clf.predict_proba(X.iloc[known])
            own = shares[np.arange(known.size), [place[y[k]] for k in known]]
            loss = np.full(N_TEST, np.nan)
            loss[known - n_rows] = -np.log(np.maximum(own, 1e-15))
            found[learner].append(loss)
    means = {learner: float(np.mean(values)) for learner, values in taken.items()}
    return {learner: np.array(values) for learner, values in found.items()}, means
