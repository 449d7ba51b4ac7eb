"""Every variable of published networks as the class has the posteriors of pyAgrum.

``DISCBAYES_NETWORKS`` is a folder of BIF files, such as ``pgmpy/utils/example_models`` of the wheel
of pgmpy 1.0.0, unpacked; later versions of pgmpy download them. ``python test_published_networks.py
FOLDER NAME ...`` compares 100 sets of evidence for each variable and prints what it found.
"""

import os
import re
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from discbayes import BayesNetClassifier, Likelihood, Not, OneOf, read_bif

SETS = 100
FOLDER = os.environ.get("DISCBAYES_NETWORKS")


def variables(path):
    return re.findall(r"^variable\s+(\S+)", path.read_text(), re.MULTILINE)


def random_evidence(rng, net, share):
    """Values, sets, runs of values, negations and likelihoods, here and as pyAgrum takes them."""
    evidence, given = {}, {}
    for feature in net.domain.features:
        if rng.random() > share:
            continue
        kind, card = rng.integers(4), feature.card
        likelihood = np.arange(card) == rng.integers(card)
        known = feature.values[int(likelihood.argmax())]
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


def largest_difference(path, bn, target, n_sets, rng):
    """The largest difference of a posterior, of the network and of what a BIF file keeps."""
    import pyagrum as gum

    net = read_bif(path, target)
    if net.domain.n_classes < 2:
        return 0.0, 0
    share = min(0.5, 12 / len(net.domain.features))
    pairs = [random_evidence(rng, net, share) for _ in range(n_sets)]
    engine, expected, possible = gum.LazyPropagation(bn), [], []
    for number, (_, given) in enumerate(pairs):
        engine.eraseAllEvidence()
        engine.setEvidence(given)
        try:
            engine.makeInference()
            if engine.evidenceProbability() <= 0:
                continue
            expected.append(engine.posterior(target).tolist())
            possible.append(number)
        except gum.GumException:  # the evidence has probability zero
            continue
    if not possible:
        return 0.0, 0
    found = net.posterior([pairs[k][0] for k in possible])
    return float(np.abs(found - np.array(expected)).max()), len(possible)


def compared(path, n_sets, targets=None, again=None):
    """Compare all variables of a file; return the largest difference and the number of sets."""
    names = variables(path)
    bn = read_bif(path, names[0]).to_pyagrum()
    rng = np.random.default_rng(0)
    worst, n_compared = 0.0, 0
    for target in names if targets is None else targets:
        source = path
        if again is not None:  # through a BIF file of ours
            read_bif(path, target).to_bif(again)
            source = again
        difference, n = largest_difference(source, bn, target, n_sets, rng)
        worst, n_compared = max(worst, difference), n_compared + n
    return worst, n_compared


@pytest.mark.skipif(FOLDER is None, reason="DISCBAYES_NETWORKS names no folder of BIF files")
@pytest.mark.parametrize("name", ["asia", "cancer", "child", "sachs"])
def test_posteriors_are_those_of_pyagrum(name, tmp_path):
    pytest.importorskip("pyagrum")
    worst, n = compared(Path(FOLDER) / f"{name}.bif", 5, again=tmp_path / "again.bif")
    assert n > 5
    assert worst < 1e-9


def losses(path, targets, structures, seed=0):
    """Mean log loss of 2,000 rows after fits to 5,000, and seconds of a fit, by structure."""
    found = {structure: [] for structure in structures}
    for target in targets:
        net = read_bif(path, target)
        X, y = net.sample(7000, random_state=seed, library="pandas")
        for structure in structures:
            started = time.perf_counter()
            clf = BayesNetClassifier(structure, "map", calibrate=None).fit(X[:5000], y[:5000])
            seconds = time.perf_counter() - started
            place = {label: k for k, label in enumerate(clf.classes_)}
            known = [k for k in range(5000, 7000) if y[k] in place]
            shares = clf.predict_proba(X.iloc[known])
            own = shares[np.arange(len(known)), [place[y[k]] for k in known]]
            found[structure].append((-np.log(np.maximum(own, 1e-15)).mean(), seconds))
    return {structure: np.mean(values, axis=0) for structure, values in found.items()}


@pytest.mark.skipif(FOLDER is None, reason="DISCBAYES_NETWORKS names no folder of BIF files")
@pytest.mark.parametrize(
    "name, targets",
    [("asia", ["lung", "either"]), ("sachs", ["Erk", "PKA"]), ("child", ["Disease", "LungFlow"])],
)
def test_learned_networks_have_at_most_the_loss_of_trees(name, targets):
    found = losses(Path(FOLDER) / f"{name}.bif", targets, ["tan", "blanket"])
    assert found["blanket"][0] <= found["tan"][0]


def main(folder, names):
    for name in names:
        path, started = Path(folder) / f"{name}.bif", time.perf_counter()
        worst, n = compared(path, SETS)
        with tempfile.TemporaryDirectory() as scratch:
            others, _ = compared(path, 5, again=Path(scratch) / "again.bif")
        seconds = time.perf_counter() - started
        print(
            f"{name}: {len(variables(path))} variables, {n} posteriors, largest difference"
            f" {worst:.1e}, through a BIF file {others:.1e}, {seconds:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
