"""How often error bars and sets of classes hold what they should: on real tables, and on rows of
random trees where the truth is known.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from discbayes import BayesNetClassifier, inference, load_dataset
from discbayes.bayesnet import BayesNet
from discbayes.data import Domain, Variable
from discbayes.evaluation.missing_masks import cell_masks
from discbayes.evaluation.quality import Quality
from discbayes.network import CPTs, Layout, Structure
from suite.data import TEN, TRIED, parts
from suite.measure import Row, below, noted, of, repeats, within

LEVEL = 0.9
COVERED = 0.85, 0.95  # by intervals of that level
SHARES = (0, 30, 60)  # per cent of the cells of a row that are missing
N_SPLITS = 100
TREES = ((8, 300), (8, 1000), (8, 4000), (20, 1000))  # columns and rows
N_TREES = 24
FOLD = 60  # rows of which an accuracy has an interval
LEARNERS = {
    "default": BayesNetClassifier(random_state=0),
    "TAN-MAP": BayesNetClassifier("tan", "map", random_state=0),
}


def run(smoke: bool) -> Iterator[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield from of("TAN-MAP", *_refits(smoke))
        yield from of("TAN-MAP", *_intervals(smoke))
        yield from of("TAN-MAP", *_accuracies(smoke))
        yield from of("default", *_sets(smoke))


def _refits(smoke: bool) -> Iterator[Row]:
    """The processor time of 200 refits of a tree."""
    data, n = load_dataset("breast-cancer"), 5 if smoke else 200
    clf = clone(LEARNERS["TAN-MAP"]).fit(data.X, data.y)
    taken = []
    for _ in range(1 + repeats(smoke)):  # the first one is not timed
        started = time.process_time()
        clf.bootstrap(data.X, data.y, n=n)
        taken.append(time.process_time() - started)
    yield below(f"{n} refits of a TAN, breast-cancer, processor time", min(taken[1:]), 3.0)


def _intervals(smoke: bool) -> Iterator[Row]:
    """How often intervals of P(c | x) hold it, on random trees of known tables."""
    for n_columns, n_rows in TREES[:1] if smoke else TREES:
        held: dict[str, list[float]] = {"dirichlet": [], "bootstrap": []}
        for seed in range(1 if smoke else N_TREES):
            rng = np.random.default_rng(seed)
            network = _random_tree(rng, n_columns)
            codes, y = inference.sample(network.parameters, n_rows, rng)
            rows = inference.sample(network.parameters, 300, rng)[0]
            truth = inference.posterior(network.log_joint_of(rows), network.prior)
            X, test = (network.decode(one, "pandas") for one in (codes, rows))
            clf = clone(LEARNERS["TAN-MAP"]).set_params(domains=network.domain).fit(X, y)
            for kind, bars in (
                ("dirichlet", clf.dirichlet(n=100)),
                ("bootstrap", clf.bootstrap(X, y, n=100)),
            ):
                low, high = bars.interval(test, LEVEL)
                held[kind].append(float(((low <= truth) & (truth <= high)).mean()))
        for kind, shares in held.items():
            what = f"90 % intervals of P(c | x) by {kind}, {n_columns} columns, {n_rows:,} rows"
            yield within(what, float(np.mean(shares)), *COVERED)


def _random_tree(rng: np.random.Generator, n_columns: int) -> BayesNet:
    """A tree whose distributions are drawn from all with the same probability."""
    parents = ((), *((int(rng.integers(i)),) for i in range(1, n_columns)))
    columns = tuple(Variable(f"x{i}", "categorical", ("a", "b", "c")) for i in range(n_columns))
    layout = Layout(Structure(parents), np.full(n_columns, 3), 2)
    theta = rng.standard_gamma(1.0, layout.size)
    prior = np.log(rng.dirichlet([5.0, 5.0]))
    tables = CPTs(layout, prior, np.log(theta / layout.row_totals(theta)))
    return BayesNet(Domain(columns, Variable("y", "categorical", (0, 1))), tables)


def _accuracies(smoke: bool) -> Iterator[Row]:
    """How often the interval of the accuracy on a few rows holds that on all held-out rows."""
    total = []
    for name in TRIED if smoke else TEN:
        X, rest, y, labels = parts(name, 0.7)
        clf = clone(LEARNERS["TAN-MAP"]).fit(X, y)
        codes, shares = np.searchsorted(clf.classes_, labels), clf.predict_proba(rest)
        accuracy = (shares.argmax(axis=1) == codes).mean()
        rng, held = np.random.default_rng(0), []
        for _ in range(1000):
            fold = rng.integers(codes.size, size=FOLD)
            quality = Quality(clf.classes_.tolist(), shares[fold], codes[fold])
            low, high = quality.accuracy_interval(LEVEL)
            held.append(low <= accuracy <= high)
        total.append(float(np.mean(held)))
        yield noted(f"90 % intervals of the accuracy on {FOLD} rows, {name}", total[-1], unit="")
    yield within(f"90 % intervals of the accuracy on {FOLD} rows, mean", np.mean(total), *COVERED)


# ---- sets


class Predicted(BayesNetClassifier):
    """What was predicted of some rows, which are given by their numbers."""

    @classmethod
    def of(cls, clf: BayesNetClassifier, X: Any) -> Predicted:
        found = cls()
        found.__dict__.update(clf.__dict__)
        found.logs = clf.predict_log_proba(X)
        return found

    def predict_log_proba(self, X: Any, class_prior: Any = None) -> np.ndarray:
        return self.logs[np.ravel(X)]


def _sets(smoke: bool) -> Iterator[Row]:
    """Coverage and size of sets of classes, with missing values in all held-out rows alike."""
    rng = np.random.default_rng(0)
    for name in TRIED if smoke else TEN:
        X, rest, y, labels = parts(name, 0.6)
        clf = clone(LEARNERS["default"]).fit(X, y)
        codes = np.searchsorted(clf.classes_, labels)
        for share, mask in zip(SHARES, cell_masks(rest.shape, SHARES, rng), strict=True):
            known, held, sizes = Predicted.of(clf, rest.mask(mask)), [], []
            for _ in range(2 if smoke else N_SPLITS):
                cal, test = np.array_split(rng.permutation(codes.size), 2)
                sets = known.calibrate_sets(cal[:, None], labels[cal], LEVEL)
                found = sets.contains(test[:, None])
                held.append(found[np.arange(test.size), codes[test]].mean())
                sizes.append(found.sum(axis=1).mean())
            what = f"sets of 90 %, {name}, {share} % missing"
            yield within(what, float(np.mean(held)), LEVEL - 0.01, LEVEL + 0.01)
            yield noted(f"{what}: classes in a set", float(np.mean(sizes)), unit="classes")
