"""Published networks (BIF files of the folder DISCBAYES_NETWORKS): posteriors of every variable
beside those of pyAgrum.

Until version 1.0.0 the wheel of pgmpy has the files, in ``pgmpy/utils/example_models``, packed by
gzip.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from discbayes import BayesNet, Likelihood, Not, OneOf, read_bif
from discbayes.inference import TooManyCellsError
from suite.measure import Row, Skip, below, noted, of

FOLDER = "DISCBAYES_NETWORKS"
COMPARED = (
    *("cancer", "earthquake", "survey", "asia", "sachs", "child", "insurance", "alarm", "water"),
)
# Where all of that takes hours: variables as the class, and sets of evidence for each of them. Not
# here: pathfinder, in which hardly any evidence is possible, and link, munin, diabetes and mildew,
# whose posteriors take minutes each or more than MAX_CELLS.
PARTLY = {
    "win95pts": (76, 4),
    "hepar2": (70, 4),
    "hailfinder": (56, 4),
    "andes": (20, 3),
    "pigs": (5, 3),
    "barley": (2, 3),
}
TRIED = ("cancer",)
N_SETS = 100  # of evidence, for each variable
MAX_CELLS = 1_000_000_000  # that a posterior may compute: ten times the default
MAX_FILE_CELLS = 100_000_000  # of the tables of a file: ten times the default
LEARNERS = {"posteriors": read_bif}


def run(smoke: bool) -> Iterator[Row]:
    whole = dict.fromkeys(COMPARED, (None, N_SETS))
    for name, (n_targets, n_sets) in ({TRIED[0]: (None, 2)} if smoke else whole | PARTLY).items():
        yield from of("posteriors", *_posteriors(name, n_targets, n_sets))


def path_of(name: str) -> Path:
    """The file of a network."""
    path = Path(os.environ.get(FOLDER, "")) / f"{name}.bif"
    if FOLDER not in os.environ or not path.exists():
        raise Skip(f"{FOLDER} has no {name}.bif")
    return path


def variables(path: Path) -> list[str]:
    """The names of all variables of a file."""
    return re.findall(r"^variable\s+(\S+)", path.read_text("utf-8"), re.MULTILINE)


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
            if engine.evidenceProbability() <= 0:
                continue
            expected = engine.posterior(target).toarray()
        except gum.GumException:  # the evidence has probability zero
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
