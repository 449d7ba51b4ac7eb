"""Published networks (BIF files of the folder DISCBAYES_NETWORKS): posteriors of every variable
beside those of pyAgrum, and networks that are learned from rows that they draw.

Until version 1.0.0 the wheel of pgmpy has the files, in ``pgmpy/utils/example_models``, packed by
gzip.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from discbayes import BayesNet, BayesNetClassifier, Likelihood, Not, OneOf, read_bif
from suite.measure import Row, Skip, below, noted, of

FOLDER = "DISCBAYES_NETWORKS"
COMPARED = (
    *("cancer", "earthquake", "survey", "asia", "sachs", "child", "insurance", "alarm", "water"),
)
LEARNED = (*COMPARED, "win95pts", "hepar2", "hailfinder", "barley")
TRIED = ("cancer",)
N_SETS = 100  # of evidence, for each variable
N_ROWS, N_TEST = 5_000, 2_000
MAX_TARGETS = 12  # classes that networks are learned for
LEARNED_BY = {
    "blanket": BayesNetClassifier("blanket", "map"),
    "TAN-MAP": BayesNetClassifier("tan", "map"),
}
LEARNERS = {"posteriors": read_bif, **LEARNED_BY}


def run(smoke: bool) -> Iterator[Row]:
    for name in TRIED if smoke else COMPARED:
        yield from of("posteriors", *_posteriors(name, smoke))
    for name in TRIED if smoke else LEARNED:
        yield from _learned(name, smoke)


def path_of(name: str) -> Path:
    """The file of a network."""
    path = Path(os.environ.get(FOLDER, "")) / f"{name}.bif"
    if FOLDER not in os.environ or not path.exists():
        raise Skip(f"{FOLDER} has no {name}.bif")
    return path


def variables(path: Path) -> list[str]:
    """The names of all variables of a file."""
    return re.findall(r"^variable\s+(\S+)", path.read_text("utf-8"), re.MULTILINE)


# ---- posteriors


def _posteriors(name: str, smoke: bool) -> Iterator[Row]:
    """The largest difference of posteriors, of a network and through a BIF file of ours."""
    path = path_of(name)
    n_sets = 2 if smoke else N_SETS
    worst, n = compared(path, n_sets)
    yield below(f"{name}: {n:,} posteriors, difference to pyAgrum", worst, 1e-9, "")
    with tempfile.TemporaryDirectory() as scratch:
        worst, n = compared(path, min(n_sets, 5), again=Path(scratch) / "again.bif")
    what = f"{name}: {n:,} posteriors through a BIF file, difference to pyAgrum"
    yield below(what, worst, 1e-9, "")


def compared(
    path: Path, n_sets: int, targets: Sequence[str] | None = None, again: Path | None = None
) -> tuple[float, int]:
    """The largest difference of a posterior to that of pyAgrum, with each variable as the class,
    and the number of posteriors; through a BIF file of ours, if one is named.
    """
    names = variables(path)
    bn = read_bif(path, names[0]).to_pyagrum()
    rng = np.random.default_rng(0)
    worst, n_compared = 0.0, 0
    for target in names if targets is None else targets:
        net = read_bif(path, target)
        if again is not None:
            net.to_bif(again)
            net = read_bif(again, target)
        difference, n = _difference(net, bn, target, n_sets, rng)
        worst, n_compared = max(worst, difference), n_compared + n
    return worst, n_compared


def _difference(
    net: BayesNet, bn: Any, target: str, n_sets: int, rng: np.random.Generator
) -> tuple[float, int]:
    """The largest difference for one class, and the number of sets of evidence that can be."""
    import pyagrum as gum

    if net.domain.n_classes < 2:
        return 0.0, 0
    share = min(0.5, 12 / len(net.domain.features))
    engine, rows, expected = gum.LazyPropagation(bn), [], []
    for _ in range(n_sets):
        evidence, given = random_evidence(rng, net, share)
        engine.eraseAllEvidence()
        engine.setEvidence(given)
        try:
            engine.makeInference()
            if engine.evidenceProbability() <= 0:
                continue
            expected.append(engine.posterior(target).tolist())
            rows.append(evidence)
        except gum.GumException:  # the evidence has probability zero
            continue
    if not rows:
        return 0.0, 0
    return float(np.abs(net.posterior(rows) - np.array(expected)).max()), len(rows)


def random_evidence(
    rng: np.random.Generator, net: BayesNet, share: float
) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """Values, runs of values, negations and likelihoods, here and as pyAgrum takes them."""
    evidence: dict[str, Any] = {}
    given: dict[str, list[float]] = {}
    for feature in net.domain.features:
        if rng.random() > share:
            continue
        kind, card = rng.integers(4), feature.card
        likelihood = np.arange(card) == rng.integers(card)
        known: Any = feature.values[int(likelihood.argmax())]
        if kind == 1:
            likelihood = rng.random(card) + 0.01
            known = Likelihood(likelihood)
        elif kind == 2 and card > 2:  # an interval of the values in their order
            first, last = np.sort(rng.integers(card, size=2))
            likelihood = (np.arange(card) >= first) & (np.arange(card) <= last)
            known = OneOf(*np.array(feature.values, dtype=object)[likelihood])
        elif kind == 3:
            likelihood, known = ~likelihood, Not(known)
        evidence[feature.name], given[feature.name] = known, likelihood.astype(float).tolist()
    return evidence, given


# ---- learned networks


def _learned(name: str, smoke: bool) -> Iterator[Row]:
    """Mean log loss over classes, and processor time of a fit, beside a tree."""
    path = path_of(name)
    names = np.array(variables(path))
    chosen = np.sort(np.random.default_rng(0).permutation(names.size)[:MAX_TARGETS])
    n_rows = 300 if smoke else N_ROWS
    found = losses(path, names[chosen].tolist(), n_rows)
    (ours, seconds), (tree, others) = (found[learner] for learner in LEARNED_BY)
    what = f"{name}: learned from {n_rows:,} rows, mean of {chosen.size} classes"
    loss = Row(f"{what}, log loss", ours, "nats", "<= TAN", ours <= tree, tree, ours / tree)
    yield from of("blanket", loss, noted(f"{what}, processor time", seconds))
    yield from of("TAN-MAP", noted(f"{what}, processor time of TAN", others))


def losses(path: Path, targets: Sequence[str], n_rows: int) -> dict[str, tuple[float, float]]:
    """The mean log loss of other rows, and the seconds of a fit, by learner."""
    found: dict[str, list[tuple[float, float]]] = {learner: [] for learner in LEARNED_BY}
    for target in targets:
        net = read_bif(path, target)
        X, y = net.sample(n_rows + N_TEST, random_state=0, library="pandas")
        if len(set(y[:n_rows])) < 2:
            continue
        for learner, made in LEARNED_BY.items():
            started = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                clf = clone(made).fit(X[:n_rows], y[:n_rows])
            seconds = time.process_time() - started
            place = {label: k for k, label in enumerate(clf.classes_)}
            known = [k for k in range(n_rows, n_rows + N_TEST) if y[k] in place]
            shares = clf.predict_proba(X.iloc[known])
            own = shares[np.arange(len(known)), [place[y[k]] for k in known]]
            found[learner].append((float(-np.log(np.maximum(own, 1e-15)).mean()), seconds))
    means = {learner: np.mean(values, axis=0) for learner, values in found.items()}
    return {learner: (float(mean[0]), float(mean[1])) for learner, mean in means.items()}
