"""Whatever the structure, the parameters, the number of classes and the weights: a fit that ends
answers every row.

In the usual run each structure, parameter learner and number of classes has weights of one kind;
``make answers`` tries all kinds of them.
"""

from __future__ import annotations

import os
import warnings
from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from discbayes import BayesNetClassifier
from discbayes.parameters import PARAMETERS
from discbayes.search import KDB

STRUCTURES = {"nb": lambda: "nb", "tan": lambda: "tan", "kdb2": lambda: KDB(k=2)}
CLASSES = (2, 3, 100)
WEIGHTS = ("none", "whole", "fractional", "zeros", "sum to 1", "one huge", "one subnormal")
HUGE, SUBNORMAL = 1e100, 5e-324  # the largest weight that is accepted, and the smallest there is


def cases():
    for (s, structure), (p, parameters), (c, n_classes) in product(
        *map(enumerate, (STRUCTURES, PARAMETERS, CLASSES))
    ):
        chosen = (
            WEIGHTS
            if os.environ.get("DISCBAYES_ANSWERS")
            else [WEIGHTS[(s + p + 3 * c) % len(WEIGHTS)]]
        )
        for kind in chosen:
            yield structure, parameters, n_classes, kind


def sample(n_classes, n_rows, cards, rng):
    """Columns that tell the classes apart."""
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n_rows - n_classes)])
    codes = [
        (y * (k + 3) // 7 + rng.integers(3, size=n_rows)) % card for k, card in enumerate(cards)
    ]
    return np.array(["u", "v", "w", "x", "y"], dtype=object)[np.array(codes).T], y


def sample_with_numbers(n_classes, rng):
    """Four columns, the last one numeric; some values are missing where there are three classes."""
    X, y = sample(n_classes, 10 * n_classes if n_classes > 10 else 150, (3, 5, 5, 5), rng)
    X[:, 3] = np.round(y % 5 + rng.normal(0, 0.5, y.size), 3)
    if n_classes == 3:
        X[rng.random(X.shape) < 0.05] = None
    return X, y


def weight_of(kind, n_rows, rng):
    return {
        "none": None,
        "whole": rng.integers(1, 4, n_rows),
        "fractional": 0.1 + rng.random(n_rows),
        "zeros": np.where(rng.random(n_rows) < 0.3, 0.0, 0.1 + rng.random(n_rows)),
        "sum to 1": np.full(n_rows, 1 / n_rows),
        "one huge": np.where(np.arange(n_rows) == 7, HUGE, 1.0),
        "one subnormal": np.where(np.arange(n_rows) == 7, SUBNORMAL, 1.0),
    }[kind]


def fitted(structure, parameters, X, y, weight=None):
    clf = BayesNetClassifier(STRUCTURES[structure](), parameters)
    with warnings.catch_warnings():  # of light weights, and of learners that could go on
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clf.fit(X, y, sample_weight=weight)


def rows_to_answer(X, rng):
    complete = X[:30].copy()
    complete[complete == None] = "u"  # noqa: E711 — cell by cell
    complete[:, 3] = np.where(complete[:, 3] == "u", 0.5, complete[:, 3])
    missing, new = complete.copy(), complete.copy()
    missing[rng.random(missing.shape) < 0.4] = None
    new[::2, 0], new[15:, 2] = "never seen", "nor this"
    return {
        "complete": complete,
        "missing": missing,
        "nothing": np.full((2, 4), None, dtype=object),
        "new": new,
    }


@pytest.mark.parametrize("structure, parameters, n_classes, kind", list(cases()))
def test_every_fit_answers(structure, parameters, n_classes, kind):
    rng = np.random.default_rng(n_classes)
    X, y = sample_with_numbers(n_classes, rng)
    clf = fitted(structure, parameters, X, y, weight_of(kind, y.size, rng))
    rows = rows_to_answer(X, rng)
    for name, some in rows.items():
        shares = clf.predict_proba(some)
        assert np.isfinite(shares).all(), name
        assert (shares >= 0).all(), name
        np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-9, err_msg=name)
    hidden = rows["new"].copy()
    hidden[::2, 0], hidden[15:, 2] = None, None
    np.testing.assert_array_equal(clf.predict_proba(rows["new"]), clf.predict_proba(hidden))
    check_network(clf.network_, rows)


def check_network(net, rows):
    """Sums over missing values are those over complete rows; questions, samples and filled rows are
    there too.
    """
    codes = net.encode(rows["complete"][:5])
    shape = tuple(int(card) for card in net.domain.cards[:2])
    hidden = codes.copy()
    hidden[:2] = net.domain.cards[:2, None]
    tried = np.repeat(codes, np.prod(shape), axis=1)
    tried[:2] = np.tile(np.indices(shape).reshape(2, -1), codes.shape[1])
    parts = net.log_joint_of(tried).reshape(codes.shape[1], -1, net.domain.n_classes)
    np.testing.assert_allclose(
        net.log_joint_of(hidden), logsumexp(parts, axis=1), rtol=1e-10, atol=1e-8
    )
    assert np.isfinite(net.log_likelihood(rows["missing"])).all()
    assert net.query([net.domain.names[0]], {}).probabilities.sum() == pytest.approx(1)
    assert net.sample(3, random_state=0) is not None
    for how in ("each", "joint", "draw"):
        assert net.fill(rows["missing"][:5], how, random_state=0) is not None


@pytest.mark.parametrize(
    "structure, parameters",
    [("tan", "ccbn-d"), ("tan", "ccbn-w"), ("tan", "mm"), ("kdb2", "ccbn-w")],
)
def test_fits_that_go_far(structure, parameters):
    """Fifty classes that six columns tell apart: without a penalty, tables exceed the range of a
    double.
    """
    rng = np.random.default_rng(2)
    X, y = sample(50, 1000, (5,) * 6, rng)
    net = fitted(structure, parameters, X, y).network_
    missing = X[:30].copy()
    missing[rng.random(missing.shape) < 0.4] = None
    check_network(net, {"complete": X[:30], "missing": missing})
