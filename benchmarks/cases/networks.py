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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from discbayes import BayesNet, BayesNetClassifier, Likelihood, Not, OneOf, read_bif
from discbayes.inference import TooManyCellsError
from suite.measure import Row, Skip, below, noted, of

FOLDER = "DISCBAYES_NETWORKS"
COMPARED = (
    *("cancer", "earthquake", "survey", "asia", "sachs", "child", "insurance", "alarm", "water"),
)
# Where all of that takes hours: variables as the class, and sets of evidence for each of them.
PARTLY = {
    "win95pts": (76, 10),
    "hepar2": (70, 10),
    "hailfinder": (56, 10),
    "andes": (20, 5),
    "pigs": (5, 5),
    "pathfinder": (2, 10),
    "barley": (3, 3),
    "link": (2, 3),
    "munin1": (2, 3),
    "munin": (1, 2),
    "munin2": (1, 2),
    "munin3": (1, 2),
    "munin4": (1, 2),
    "diabetes": (1, 2),
    "mildew": (1, 2),
}
LEARNED = (
    *("cancer", "earthquake", "survey", "asia", "sachs", "child", "insurance", "alarm", "water"),
    *("win95pts", "hepar2", "hailfinder", "barley"),
)
TRIED = ("cancer",)
N_SETS = 100  # of evidence, for each variable
N_ROWS, N_TEST = 5_000, 2_000
MAX_TARGETS = 12  # classes that networks are learned for
MAX_CELLS = 1_000_000_000  # that a posterior may compute: ten times the default
MAX_FILE_CELLS = 100_000_000  # of the tables of a file: ten times the default
LEARNED_BY = {
    "blanket": BayesNetClassifier("blanket", "map"),
    "TAN-MAP": BayesNetClassifier("tan", "map"),
}
LEARNERS = {"posteriors": read_bif, **LEARNED_BY}


def run(smoke: bool) -> Iterator[Row]:
    whole = dict.fromkeys(COMPARED, (None, N_SETS))
    for name, (n_targets, n_sets) in ({TRIED[0]: (None, 2)} if smoke else whole | PARTLY).items():
        yield from of("posteriors", *_posteriors(name, n_targets, n_sets))
    means = []
    for name in TRIED if smoke else LEARNED:
        rows = list(_learned(name, smoke))
        means.append((rows[0].ours, rows[0].peer))
        yield from rows
    ours, tree = np.mean(means, axis=0).tolist()
    what = f"all: learned networks, mean of {len(means)} networks, log loss"
    yield from of("blanket", Row(what, ours, "nats", "<= TAN", ours <= tree, tree, ours / tree))


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


@dataclass
class Compared:
    """Posteriors beside those of pyAgrum: the largest difference, and of how many rows."""

    worst: float = 0.0
    n_rows: int = 0
    n_too_large: int = 0  # sets of evidence that would need more than ``MAX_CELLS``

    def __add__(self, other: Compared) -> Compared:
        return Compared(
            max(self.worst, other.worst),
            self.n_rows + other.n_rows,
            self.n_too_large + other.n_too_large,
        )


def _posteriors(name: str, n_targets: int | None, n_sets: int) -> Iterator[Row]:
    """The largest difference of posteriors, of a network and through a BIF file of ours."""
    path = path_of(name)
    names = np.array(variables(path))
    chosen = np.sort(np.random.default_rng(0).permutation(names.size)[:n_targets])
    found = compared(path, n_sets, names[chosen].tolist())
    what = f"{name}: {found.n_rows:,} posteriors of {chosen.size:,} of {names.size:,} variables"
    yield below(f"{what}, difference to pyAgrum", found.worst, 1e-9, "")
    if found.n_too_large:
        n_all = found.n_rows + found.n_too_large
        yield noted(f"{name}: refused by max_cells", found.n_too_large, n_all, "sets of evidence")
    with tempfile.TemporaryDirectory() as scratch:
        some = names[chosen][: None if n_targets is None else 1].tolist()
        again = compared(path, min(n_sets, 5), some, again=Path(scratch) / "again.bif")
    what = f"{name}: {again.n_rows:,} posteriors through a BIF file, difference to pyAgrum"
    yield below(what, again.worst, 1e-9, "")


def compared(
    path: Path, n_sets: int, targets: Sequence[str], again: Path | None = None
) -> Compared:
    """Posteriors beside those of pyAgrum, with each of some variables as the class; through a BIF
    file of ours, if one is named.
    """
    bn = _read(path, targets[0]).to_pyagrum()
    rng = np.random.default_rng(0)
    found = Compared()
    for target in targets:
        net = _read(path, target)
        if again is not None:
            net.to_bif(again)
            net = _read(again, target)
        found += _difference(net, bn, target, n_sets, rng)
    return found


def _read(path: Path, target: str) -> BayesNet:
    """The network of a file, which refuses what it cannot compute exactly."""
    net = read_bif(path, target, max_cells=MAX_FILE_CELLS)
    return replace(net, max_cells=MAX_CELLS, beyond_max_cells="raise")


def _difference(
    net: BayesNet, bn: Any, target: str, n_sets: int, rng: np.random.Generator
) -> Compared:
    """The largest difference for one class, over the sets of evidence that can be."""
    import pyagrum as gum

    found = Compared()
    if net.domain.n_classes < 2:
        return found
    share = min(0.5, 12 / len(net.domain.features))
    engine = gum.LazyPropagation(bn)
    engine.setTargets({target})
    for _ in range(n_sets):
        evidence, given = random_evidence(rng, net, share)
        try:
            ours = net.posterior([evidence])[0]
        except TooManyCellsError:
            found += Compared(n_too_large=1)
            continue
        engine.eraseAllEvidence()
        engine.setEvidence(given)
        try:
            engine.makeInference()
            expected = engine.posterior(target).toarray()
        except gum.GumException:  # the evidence has probability zero
            continue
        if not abs(expected.sum() - 1) < 1e-6:  # here, too
            continue
        found += Compared(float(np.abs(ours - expected).max()), 1)
    return found


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
    found, seconds = losses(path, names[chosen].tolist(), n_rows)
    ours, tree = (float(np.nanmean(found[learner])) for learner in LEARNED_BY)
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
    found: dict[str, list[np.ndarray]] = {learner: [] for learner in LEARNED_BY}
    taken: dict[str, list[float]] = {learner: [] for learner in LEARNED_BY}
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
