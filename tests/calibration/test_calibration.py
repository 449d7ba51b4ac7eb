"""Calibration and costs: known temperatures, brute force, what the folds see, gaps, weights, files,
bad input.
"""

from __future__ import annotations

import copy
import json
import pickle

import numba
import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax, logsumexp
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

from discbayes import (
    KDB,
    BayesNetClassifier,
    FixedStructure,
    MaximumLikelihood,
    Structure,
    calibration,
    load,
)
from discbayes.calibration import Isotonic, Temperature, learn_isotonic, learn_temperature, log_odds
from discbayes.classifier import calibrating, fitting
from discbayes.cli import main
from discbayes.costs import DecisionCosts, cheapest, cost_matrix
from discbayes.data import FrameEncoder
from discbayes.data.folds import FoldAssignment
from discbayes.io import ModelFileError
from discbayes.io.document import checksum
from discbayes.search import Annealing

UNCOMPILED = bool(numba.config.DISABLE_JIT)
KINDS = ["temperature", "isotonic"]


def generated(n, n_classes=3, temperature=1.0, seed=0):
    """Log-joints that are right at a temperature, and classes drawn from what they say there."""
    rng = np.random.default_rng(seed)
    right = rng.normal(0, 1.5, (n, n_classes))
    share = np.exp(log_softmax(right, axis=1)).cumsum(axis=1)
    classes = np.minimum((share < rng.random(n)[:, None]).sum(axis=1), n_classes - 1)
    return right * temperature + rng.normal(0, 50, (n, 1)), classes


def even(n_classes):
    return np.full(n_classes, 1 / n_classes)


def copies(n=600, seed=0, n_copies=6):
    """Three features, each there several times: naive Bayes takes every copy for news and is far
    too sure.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    features = np.column_stack(
        [np.where(rng.random(n) < 0.5, y, rng.integers(0, 3, n)) for _ in range(3)]
    )
    frame = pd.DataFrame(np.repeat(features, n_copies, axis=1).astype(float))
    frame.columns = [f"x{k}" for k in range(frame.shape[1])]
    return frame, np.array(["a", "b", "c"])[y]


def mixed(n=240, seed=0):
    """Numbers, text, gaps; two classes."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    frame = pd.DataFrame(
        {
            "age": np.where(y, rng.normal(60, 8, n), rng.normal(45, 12, n)).round(1),
            "town": rng.choice(["Graz", "Wien", "Linz"], n),
            "smoker": np.where(rng.random(n) < 0.7, y, ~y),
            "visits": rng.integers(0, 6, n) + 2 * y,
        }
    )
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.1, "town"] = None
    return frame, np.where(y, "sick", "well")


# ---- temperature


@pytest.mark.parametrize("temperature", [0.4, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_a_known_temperature_is_found(temperature, n_classes):
    log_joint, classes = generated(20_000, n_classes, temperature)
    found = learn_temperature(log_joint, classes, np.ones(classes.size), even(n_classes))
    assert found.temperature == pytest.approx(temperature, rel=0.04)


def slow_value(log_joint, classes, weight, strength, beta):
    """The weighted log likelihood of the classes with the virtual rows."""
    log_share = beta * log_joint - np.logaddexp.reduce(beta * log_joint, axis=1, keepdims=True)
    own, heard = (
        log_share[np.arange(classes.size), classes],
        np.isfinite(log_joint[np.arange(classes.size), classes]),
    )
    mean = np.array([row[np.isfinite(row)].mean() for row in log_share])
    virtual = strength / (weight.sum() + strength)
    return (weight[heard] * ((1 - virtual) * own[heard] + virtual * mean[heard])).sum()


@pytest.mark.parametrize("strength", [0.0, 1.0, 5.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_temperature_of_a_fine_grid(seed, strength):
    rng = np.random.default_rng(seed)
    log_joint, classes = generated(60, 3, 2.0, seed)
    log_joint[:, 1:][rng.random((60, 2)) < 0.1] = -np.inf
    weight = rng.integers(0, 4, 60) * rng.random(60)
    found = learn_temperature(log_joint, classes, weight, even(3), strength).temperature
    betas = 1 / found * np.exp(np.linspace(-0.1, 0.1, 41))
    values = np.array([slow_value(log_joint, classes, weight, strength, beta) for beta in betas])
    assert values.argmax() == 20
    wide = [
        slow_value(log_joint, classes, weight, strength, 1 / t) for t in np.geomspace(1e-3, 1e3, 61)
    ]
    assert values[20] >= max(wide) - 1e-12


def test_the_limits_of_the_temperature():
    scores, ones = np.array([[2.0, 0.0], [0.0, 2.0]] * 10), np.ones(20)
    right, wrong = np.array([0, 1] * 10), np.array([1, 0] * 10)
    assert learn_temperature(scores, right, ones, even(2), 0.0).temperature == pytest.approx(1e-3)
    # softmax(2 / T) is (W + 1/2) / (W + 1), as the virtual row has it
    expected = 2 / np.log((20 + 0.5) / 0.5)
    assert learn_temperature(scores, right, ones, even(2)).temperature == pytest.approx(
        expected, rel=1e-8
    )
    assert learn_temperature(scores, wrong, ones, even(2)).temperature == pytest.approx(1e3)
    assert learn_temperature(np.zeros((20, 2)), right, ones, even(2)).temperature == 1.0
    impossible = np.where(np.eye(2)[wrong] == 1, -1.0, -np.inf)
    assert learn_temperature(impossible, right, ones, even(2)).temperature == 1.0


def test_large_differences_keep_their_order():
    scores = np.array([[-5000.0, -6000.0, -5000.5], [-1e6, -np.inf, -2e6]])
    log_share = Temperature(even(3), 5.0).log_posterior(scores)
    np.testing.assert_allclose(log_share, log_softmax(scores / 5.0, axis=1), rtol=1e-12)
    np.testing.assert_array_equal(log_share.argsort(axis=1), scores.argsort(axis=1))


# ---- isotonic


def test_log_odds_by_brute_force():
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 20, (200, 4))
    scores[rng.random(scores.shape) < 0.1] = -np.inf
    scores[:, 1] = np.maximum(scores[:, 1], -1000)
    scores[0] = [3.0, 3.0, 3.0, 3.0]
    scores[1] = [900.0, 0.0, -900.0, -np.inf]
    slow = np.empty_like(scores)
    with np.errstate(divide="ignore"):
        for m, row in enumerate(scores):
            for c in range(4):
                slow[m, c] = row[c] - logsumexp(np.delete(row, c))
    np.testing.assert_allclose(log_odds(scores), np.clip(slow, -1e9, 1e9), rtol=1e-10, atol=1e-10)


def slow_isotonic(odds, wanted, weight):
    """The isotonic regression by its min-max formula, at distinct odds."""
    order = np.argsort(odds)
    t, w = wanted[order], weight[order]
    n = t.size
    means = np.full((n, n), np.nan)
    for a in range(n):
        for b in range(a, n):
            means[a, b] = np.average(t[a : b + 1], weights=w[a : b + 1])
    fitted = np.empty(n)
    for i in range(n):
        fitted[i] = max(min(means[a, i:]) for a in range(i + 1))
    out = np.empty(n)
    out[order] = fitted
    return out


@pytest.mark.parametrize("strength", [0.0, 1.0])
def test_isotonic_by_brute_force(strength):
    log_joint, classes = generated(40, 3, 4.0)
    weight = np.random.default_rng(1).random(40) + 0.1
    found = learn_isotonic(log_joint, classes, weight, even(3), strength)
    virtual = strength / (weight.sum() + strength)
    share = np.empty((40, 3))
    for c in range(3):
        odds = log_odds(log_joint)[:, c]
        wanted = (1 - virtual) * (classes == c) + virtual / 3
        share[:, c] = slow_isotonic(odds, wanted, weight)
        np.testing.assert_allclose(
            np.interp(odds, found.log_odds[c], found.probabilities[c]), share[:, c], atol=1e-9
        )
    total = share.sum(axis=1, keepdims=True)
    expected = np.where(
        total > 0, share / np.where(total > 0, total, 1), np.exp(log_softmax(log_joint, axis=1))
    )
    np.testing.assert_allclose(np.exp(found.log_posterior(log_joint)), expected, atol=1e-9)


def test_isotonic_is_monotone_and_bounded():
    log_joint, classes = generated(3000, 4, 3.0)
    found = learn_isotonic(log_joint, classes, np.ones(3000), even(4))
    for odds, share in zip(found.log_odds, found.probabilities, strict=True):
        grid = np.interp(np.linspace(-200, 200, 2000), odds, share)
        assert (np.diff(grid) >= 0).all()
        assert share.min() >= 1 / 4 / 3001 * (1 - 1e-9)
        assert share.max() <= 1 - 3 / 4 / 3001 * (1 - 1e-9)
    assert repr(found).startswith("Isotonic(thresholds=[")


def test_two_classes_are_mirrored():
    log_joint, classes = generated(500, 2, 3.0)
    found = learn_isotonic(log_joint, classes, np.ones(500), even(2))
    odds = log_odds(log_joint)
    first = np.interp(odds[:, 0], found.log_odds[0], found.probabilities[0])
    second = np.interp(odds[:, 1], found.log_odds[1], found.probabilities[1])
    np.testing.assert_allclose(first + second, 1.0, atol=1e-9)


def test_rows_that_become_zero_keep_their_probabilities():
    found = Isotonic(even(3), (np.array([1.0, 2.0]),) * 3, (np.array([0.0, 1.0]),) * 3)
    scores = np.log([[0.2, 0.25, 0.2]])  # log-odds below 1, each of them
    np.testing.assert_allclose(
        np.exp(found.log_posterior(scores)), np.exp(log_softmax(scores, axis=1)), atol=1e-12
    )


@pytest.mark.parametrize("learn", [learn_temperature, learn_isotonic])
def test_what_is_impossible_stays_impossible(learn):
    log_joint, classes = generated(200, 3)
    found = learn(log_joint, classes, np.ones(200), even(3))
    one = found.log_posterior(np.array([[0.0, -np.inf, 0.0], [-np.inf, -3.0, -np.inf]]))
    assert one[0, 1] == -np.inf
    np.testing.assert_allclose(np.exp(one).sum(axis=1), 1)
    np.testing.assert_array_equal(one[1], [-np.inf, 0.0, -np.inf])


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Temperature(even(2), 0.0), "temperature is from"),
        (lambda: Temperature(even(2), np.nan), "temperature is from"),
        (lambda: Temperature(np.array([0.5, 0.6]), 1.0), "sum to 1"),
        (lambda: Temperature(np.array([np.nan, 1.0]), 1.0), "sum to 1"),
        (lambda: Isotonic(even(2), (np.zeros(1),), (np.zeros(1),)), "every class"),
        (lambda: Isotonic(even(2), (np.zeros(1),) * 2, (np.zeros(2),) * 2), "pairs"),
        (lambda: Isotonic(even(2), (np.zeros(0),) * 2, (np.zeros(0),) * 2), "pairs"),
        (lambda: Isotonic(even(2), (np.zeros(2),) * 2, (np.zeros(2),) * 2), "rise"),
        (lambda: Isotonic(even(2), (np.array([0, np.inf]),) * 2, (np.zeros(2),) * 2), "finite"),
        (
            lambda: Isotonic(even(2), (np.arange(2.0),) * 2, (np.array([0.5, 0.4]),) * 2),
            "do not fall",
        ),
        (
            lambda: Isotonic(even(2), (np.arange(2.0),) * 2, (np.array([0.5, 1.4]),) * 2),
            "probabilities",
        ),
    ],
)
def test_maps_that_are_none(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# ---- the estimator


def test_probabilities_of_an_overconfident_network_get_better():
    """Six copies of each feature: the temperature is 6, and the probabilities are those of one copy
    each.
    """
    n = 3000 if not UNCOMPILED else 400
    (X, y), (new, truth) = copies(n), copies(n, seed=1)
    loss = {}
    for kind in (None, *KINDS):
        clf = BayesNetClassifier("nb", "map", calibrate=kind).fit(X, y)
        loss[kind] = log_loss(truth, clf.predict_proba(new))
        if kind == "temperature":
            assert clf.calibration_.temperature == pytest.approx(6, rel=0.1)
    right = BayesNetClassifier("nb", "map").fit(X.iloc[:, ::6], y)
    best = log_loss(truth, right.predict_proba(new.iloc[:, ::6]))
    assert loss[None] > 2 * best
    assert loss["temperature"] < 1.01 * best
    assert loss["isotonic"] < 1.05 * best


@pytest.mark.parametrize("parameters", ["hybrid", "map"])
@pytest.mark.parametrize(
    "structure", ["nb", "tan", KDB(k=2), FixedStructure(Structure.naive(4))], ids=str
)
def test_temperature_changes_no_decision(structure, parameters):
    X, y = mixed()
    plain = BayesNetClassifier(structure, parameters, calibrate=None).fit(X, y)
    warm = BayesNetClassifier(structure, parameters, calibrate="temperature").fit(X, y)
    new = mixed(seed=1)[0].copy()
    new.loc[::3, "age"], new.loc[::4, "town"] = np.nan, "Salzburg"
    np.testing.assert_array_equal(plain.predict(new), warm.predict(new))
    np.testing.assert_array_equal(
        warm.classes_[warm.predict_proba(new).argmax(axis=1)], warm.predict(new)
    )
    assert warm.calibration_.temperature != 1.0
    assert plain.calibration_ is None


@pytest.mark.parametrize("kind", KINDS)
def test_all_answers_agree_also_with_gaps(kind):
    X, y = mixed()
    clf = BayesNetClassifier(KDB(k=2), calibrate=kind, random_state=0).fit(X, y)
    incomplete = X.mask(np.random.default_rng(0).random(X.shape) < 0.5)
    incomplete.iloc[0] = None
    share = clf.predict_proba(incomplete)
    np.testing.assert_allclose(share.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(np.exp(clf.predict_log_proba(incomplete)), share, atol=1e-12)
    np.testing.assert_array_equal(clf.classes_[share.argmax(axis=1)], clf.predict(incomplete))
    expected = clf.calibration_.log_posterior(clf.predict_joint_log_proba(incomplete))
    np.testing.assert_array_equal(clf.predict_log_proba(incomplete), expected)


OPTIONS = {
    "plain": {},
    "weights": {},
    "balanced": {"class_weight": "balanced"},
    "drop": {"missing": "drop"},
    "value": {"missing": "value"},
    "unknown": {"unknown": "error"},
    "prior": {"class_prior": [0.8, 0.2]},
    "conditional": {"structure": "nb", "parameters": "cl"},
    "hybrid": {"parameters": "hybrid"},
    "zeros": {"structure": "nb", "parameters": MaximumLikelihood(epsilon=0)},
}


def dealt(weight, n_folds):
    """Row m is held out in fold m and, where it has a weight of two, in fold m + 1, once in
    each.
    """
    held_out = np.zeros((n_folds, weight.size))
    for m, times in enumerate(weight):
        for k in range(int(times)):
            held_out[(m + k) % n_folds, m] += 1
    return held_out


def deal(portions, n_classes, n_folds, enough, room):
    """The same for the classifier."""
    (rows,) = portions()
    weight = np.ones(rows.classes.size) if rows.weight is None else rows.weight
    held_out = dealt(weight, n_folds)
    folds, at = np.nonzero(held_out)
    sizes = np.bincount(rows.classes), np.bincount(rows.classes, weight)
    return FoldAssignment(
        folds, at, rows.classes[at], held_out[folds, at], *sizes, np.zeros(n_classes, bool)
    )


@pytest.mark.parametrize("case", OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_fold_is_scored_by_a_fit_on_the_other_rows(kind, case, monkeypatch):
    """The same map from the outside: fit on the rest, score the fold, learn from all scores
    together.
    """
    X, y = mixed(120)
    weight = (
        np.random.default_rng(2).integers(0, 3, y.size).astype(float)
        if case == "weights"
        else np.ones(y.size)
    )
    seen = {}
    monkeypatch.setitem(
        calibration.CALIBRATIONS, kind, lambda *given: seen.update(given=given) or learn(*given)
    )
    learn = learn_temperature if kind == "temperature" else learn_isotonic
    monkeypatch.setattr(calibrating, "assign_folds", deal)
    settings = {"parameters": "map", **OPTIONS[case]}
    clf = BayesNetClassifier(calibrate=kind, calibrate_folds=3, **settings)
    clf.fit(X, y, weight if case == "weights" else None)

    kept = weight > 0
    if case == "drop":
        kept &= ~X.isna().any(axis=1).to_numpy()
    X, y, weight = X[kept], y[kept], weight[kept]
    log_joint, rows, sizes, codes = [], [], [], np.searchsorted(clf.classes_, y)
    for out in dealt(weight, 3):
        rest = np.repeat(np.arange(y.size), (weight - out).astype(int))
        other = BayesNetClassifier(calibrate=None, **settings).fit(X.iloc[rest], y[rest])
        said = other.set_params(unknown="marginalize").predict_joint_log_proba(X[out > 0])
        said[np.isneginf(said).all(axis=1)] = other.network_.parameters.log_prior
        log_joint.append(said)
        rows.append(np.flatnonzero(out))
        sizes.append(out[out > 0])
    log_joint, rows, size = np.concatenate(log_joint), np.concatenate(rows), np.concatenate(sizes)
    codes = codes[rows]
    if case == "balanced":
        size = size * (y.size / 2 / np.bincount(codes))[codes]
    if case == "prior":
        size = size * (np.array([0.8, 0.2]) / np.bincount(codes) * y.size)[codes]
    np.testing.assert_allclose(seen["given"][0], log_joint, atol=1e-9)
    np.testing.assert_array_equal(seen["given"][1], codes)
    np.testing.assert_allclose(seen["given"][2], size, rtol=1e-12)
    np.testing.assert_allclose(seen["given"][3], np.bincount(codes, size) / size.sum(), rtol=1e-12)
    expected = learn(log_joint, codes, size, seen["given"][3]).log_posterior(
        clf.predict_joint_log_proba(X)
    )
    np.testing.assert_allclose(np.exp(clf.predict_log_proba(X)), np.exp(expected), atol=1e-9)


def test_no_fold_sees_the_rows_that_it_holds_out(monkeypatch):
    X, y = mixed(100)
    X = X.assign(row=np.arange(100))
    fitted, scored = [], []

    class Spy(FrameEncoder):
        def fit_selected(self, table, labels, weight, target=None):
            fitted.append((id(self), set(table.cells(4, np.arange(table.n_rows)))))
            return super().fit_selected(table, labels, weight, target)

        def transform(self, table, unknown=None):
            scored.append((id(self), set(table.cells(4, np.arange(table.n_rows)))))
            return super().transform(table, unknown)

    monkeypatch.setattr(fitting, "FrameEncoder", Spy)
    clf = BayesNetClassifier("tan", "hybrid", calibrate="isotonic", calibrate_folds=4)
    clf.fit(X, y)
    everything = set(range(100))
    assert [len(rows) for _, rows in fitted] == [100, 75, 75, 75, 75]
    assert len(scored) == 4
    for (one, learned), (two, held_out) in zip(fitted[1:], scored, strict=True):
        assert one == two
        assert learned == everything - held_out
    assert set.union(*(rows for _, rows in scored)) == everything
    assert sum(len(rows) for _, rows in scored) == 100
    fitted.clear()
    scored.clear()
    BayesNetClassifier().fit(X, y)  # folds choose too, with missing values treated in two ways
    learned = dict(fitted[1:])
    assert len(scored) == 10
    for encoder, held_out in scored:
        assert learned[encoder] == everything - held_out


def test_calibration_changes_nothing_in_the_network():
    X, y = mixed()
    plain = BayesNetClassifier("order", "map", random_state=3).fit(X, y)
    assert plain.calibration_ is None
    for kind in KINDS:
        clf = BayesNetClassifier("order", "map", calibrate=kind, random_state=3).fit(X, y)
        assert clf.structure_ == plain.structure_
        assert len(clf.history_) == len(plain.history_)
        np.testing.assert_array_equal(
            clf.network_.parameters.log_theta, plain.network_.parameters.log_theta
        )


@pytest.mark.parametrize("parameters", ["hybrid", "map"])
@pytest.mark.parametrize("kind", KINDS)
def test_seeds_and_threads_change_no_bit(kind, parameters):
    X, y = mixed(240 if not UNCOMPILED else 80)
    one, *others = (
        BayesNetClassifier("tan", parameters, calibrate=kind, random_state=seed, n_jobs=jobs)
        .fit(X, y)
        .predict_proba(X)
        for seed, jobs in [(1, 1), (1, 2), (2, 1), (np.random.RandomState(0), 1), (None, 1)]
    )
    for other in others:
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", KINDS)
def test_seeds_of_learners_that_draw_repeat(kind):
    """What a fold draws follows from the seed, and is not what the others draw."""
    X, y = mixed(80)
    drawing = Annealing(max_tries=8, max_successes=3, max_rejections=10)
    fits = [
        BayesNetClassifier(drawing, "map", calibrate=kind, calibrate_folds=2, random_state=seed)
        .fit(X, y)
        .predict_proba(X)
        for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert (fits[0] != fits[2]).any()


@pytest.mark.parametrize("parameters", ["hybrid", "map"])
@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_repetitions_and_zeros_are_absence(kind, parameters):
    X, y = mixed(240 if not UNCOMPILED else 80)
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    some, repeated = weight > 0, np.repeat(np.arange(len(y)), weight.astype(int))
    one, two, three = (
        BayesNetClassifier("tan", parameters, calibrate=kind).fit(*given)
        for given in [
            (X, y, weight),
            (X[some], y[some], weight[some]),
            (X.iloc[repeated], y[repeated]),
        ]
    )
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    np.testing.assert_allclose(three.predict_proba(X), one.predict_proba(X), rtol=1e-9)


def test_a_text_column_that_only_all_rows_show_to_be_a_category():
    """60 values in 125 rows are categories; the 4/5 of them that a fold sees would be too few to
    say so.
    """
    rng = np.random.default_rng(0)
    town = np.array([f"t{k % 60}" for k in range(125)])
    y = rng.integers(0, 2, 125)
    frame = pd.DataFrame({"town": town, "x": rng.normal(size=125) + y})
    clf = BayesNetClassifier("nb", calibrate="temperature", random_state=0).fit(frame, y)
    assert clf.calibration_ is not None


def test_a_class_of_one_row_is_never_held_out():
    X, y = mixed(100)
    y = y.astype(object)
    y[0] = "rare"
    clf = BayesNetClassifier(calibrate="temperature", random_state=0).fit(X, y)
    np.testing.assert_allclose(clf.calibration_.class_shares[0], 0.01)
    assert (clf.predict_proba(X)[:, 0] > 0).all()
    with pytest.raises(
        ValueError,
        match=r"class 'rare' has 1 row, and calibrate='isotonic' needs 2 .* leave the class",
    ):
        BayesNetClassifier(calibrate="isotonic").fit(X, y)
    with pytest.raises(ValueError, match=r"class 0 \(and 9 other classes\) has 1 row"):
        BayesNetClassifier(calibrate="temperature").fit(X[:10], np.arange(10))
    with pytest.raises(ValueError, match="class 'rare' has 1 row"):
        BayesNetClassifier(calibrate="isotonic", missing="drop").fit(
            X.assign(age=np.where(np.arange(100) == 1, np.nan, 40.0), town="Graz"),
            np.where(np.arange(100) < 2, "rare", y),
        )


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_of_equal_rows_is_held_out_in_parts(kind):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (120, 3))
    y = np.where(rng.random(120) < 0.9, X[:, 0], 1 - X[:, 0])
    X[:30], y[:30] = 2, 2
    clf = BayesNetClassifier("nb", discretizer=None, calibrate=kind).fit(X, y)
    assert clf.predict_proba(X[:1])[0, 2] > 0.9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("as_weights", [False, True])
def test_few_distinct_rows_are_calibrated_by_their_shares(kind, as_weights):
    """A network that is right already stays so: no fold takes all rows of a kind away."""
    X, y, times = (
        np.array([[0], [0], [1], [1]]),
        np.array([0, 1, 0, 1]),
        np.array([400, 100, 50, 450]),
    )
    given = (X, y, times) if as_weights else (np.repeat(X, times, axis=0), np.repeat(y, times))
    clf = BayesNetClassifier("nb", discretizer=None, calibrate=kind).fit(*given)
    np.testing.assert_allclose(clf.predict_proba([[0], [1]]), [[0.8, 0.2], [0.1, 0.9]], atol=0.01)


def test_more_folds_than_rows_hold_out_one_at_a_time():
    X, y = mixed(12)
    one = BayesNetClassifier("nb", calibrate="temperature", calibrate_folds=12).fit(X, y)
    two = BayesNetClassifier("nb", calibrate="temperature", calibrate_folds=40).fit(X, y)
    assert one.calibration_.temperature == pytest.approx(two.calibration_.temperature)


@pytest.mark.parametrize("kind", KINDS)
def test_one_class_has_nothing_to_calibrate(kind):
    X, _ = mixed(40)
    with pytest.warns(UserWarning, match="one class only"):
        clf = BayesNetClassifier(calibrate=kind).fit(X, ["a"] * 40)
    assert clf.calibration_ is None
    np.testing.assert_array_equal(clf.predict_proba(X), np.ones((40, 1)))


@pytest.mark.parametrize(
    "settings, message",
    [
        (
            {"calibrate": "platt"},
            (
                "calibrate='platt' is not known; it is one of 'auto', 'temperature', 'isotonic', or"
                " None"
            ),
        ),
        ({"calibrate": True}, "calibrate=True is not known"),
        ({"calibrate": ["isotonic"]}, "calibrate="),
        (
            {"calibrate": "temperature", "calibrate_folds": 1},
            "calibrate_folds=1 must be a whole number of at least 2",
        ),
        ({"calibrate": "temperature", "calibrate_folds": 2.5}, "calibrate_folds=2.5"),
        ({"calibrate": "temperature", "calibrate_folds": True}, "calibrate_folds=True"),
        (
            {
                "calibrate": "temperature",
                "class_prior": [0.0, 1.0],
                "class_weight": {"sick": 1, "well": 0},
            },
            "calibrate has no rows",
        ),
    ],
)
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises(ValueError, match=message):
        BayesNetClassifier(**settings).fit(*mixed(60))


def test_the_folds_are_told_and_warn_of_nothing(capsys):
    X, y = mixed(100)
    BayesNetClassifier(calibrate="temperature", calibrate_folds=3, verbose=1, random_state=0).fit(
        X, y
    )
    shown = capsys.readouterr().err
    assert [f"fold {k} of 3" in shown for k in (1, 2, 3)] == [True] * 3
    assert shown.count("structure:") == 1
    frame = pd.DataFrame({"size": [*map(str, range(40)), "?"] * 5, "x": np.arange(205) % 4})
    with pytest.warns(UserWarning, match="'size' is text") as caught:
        BayesNetClassifier(calibrate="temperature", random_state=0).fit(frame, np.arange(205) % 2)
    assert len(caught) == 1


# ---- priors


@pytest.mark.parametrize("kind", KINDS)
def test_a_prior_at_predict_changes_the_odds_as_the_shares_change(kind):
    X, y = mixed()
    clf = BayesNetClassifier(calibrate=kind, random_state=0).fit(X, y)
    share, shares = clf.predict_proba(X), clf.calibration_.class_shares
    np.testing.assert_allclose(shares, [(y == "sick").mean(), (y == "well").mean()])
    expected = share * np.array([0.9, 0.1]) / shares
    expected /= expected.sum(axis=1, keepdims=True)
    shifted = clf.predict_proba(X, class_prior=[0.9, 0.1])
    np.testing.assert_allclose(shifted, expected, atol=1e-12)
    np.testing.assert_allclose(clf.predict_proba(X, class_prior=shares), share, atol=1e-12)
    np.testing.assert_array_equal(
        clf.predict(X, class_prior=[0.9, 0.1]), clf.classes_[shifted.argmax(axis=1)]
    )
    np.testing.assert_array_equal(
        clf.predict_proba(X, class_prior=[0.0, 1.0]), np.tile([0.0, 1.0], (len(y), 1))
    )
    with pytest.raises(ValueError, match="class_prior"):
        clf.predict_proba(X, class_prior=[0.5, 0.6])


def test_a_shifted_prior_that_a_row_contradicts_is_all_that_is_left():
    found = Temperature(even(2), 2.0)
    with np.errstate(divide="ignore"):
        log_share = found.log_posterior(np.array([[-np.inf, 0.0], [0.0, 0.0]]), np.log([1.0, 0.0]))
    np.testing.assert_array_equal(log_share, [[0.0, -np.inf], [0.0, -np.inf]])


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_without_a_prior_at_fit_cannot_get_one_later(kind):
    X, y = mixed()
    clf = BayesNetClassifier(class_prior=[0.0, 1.0], calibrate=kind, random_state=0).fit(X, y)
    np.testing.assert_array_equal(clf.predict_proba(X)[:, 0], 0)
    with pytest.raises(
        ValueError, match="class 'sick', which had none in calibration: give class_prior at fit"
    ):
        clf.predict(X, class_prior=[0.5, 0.5])


def test_calibrated_shifts_beat_plain_ones():
    """Rows of one class in ten: an overconfident network hardly hears of the new prior, a
    calibrated one does.
    """
    X, y = copies(1500 if not UNCOMPILED else 400)
    new, truth = copies(3000 if not UNCOMPILED else 800, seed=1)
    keep = (truth != "c") | (np.arange(truth.size) % 10 == 0)
    prior = np.bincount(np.searchsorted(["a", "b", "c"], truth[keep])) / keep.sum()
    plain = BayesNetClassifier("nb", "map").fit(X, y)
    warm = BayesNetClassifier("nb", "map", calibrate="temperature").fit(X, y)
    right = {
        clf: (clf.predict(new[keep], class_prior=prior) == truth[keep]).mean()
        for clf in (plain, warm)
    }
    assert right[warm] > right[plain]
    assert log_loss(truth[keep], warm.predict_proba(new[keep], class_prior=prior)) < log_loss(
        truth[keep], warm.predict_proba(new[keep])
    )


def test_rows_that_are_impossible_in_every_class():
    X = np.array([[0, 0], [0, 0], [1, 1], [1, 1]] * 10)
    y = np.array([0, 0, 1, 1] * 10)
    for kind in KINDS:
        clf = BayesNetClassifier(
            "nb", MaximumLikelihood(epsilon=0), discretizer=None, calibrate=kind
        )
        share = clf.fit(X, y).predict_proba([[0, 1], [0, 0]])
        assert clf.calibration_ is not None
        np.testing.assert_allclose(share.sum(axis=1), 1)
        assert share[0] == pytest.approx([0.5, 0.5])


# ---- costs


def slow_decisions(posterior, costs):
    """For each row the first decision whose expected cost is the least, summed one by one."""
    found = []
    for row in posterior:
        expected = [sum(p * costs[i][j] for i, p in enumerate(row)) for j in range(len(row))]
        found.append(min(range(len(row)), key=lambda j: expected[j]))
    return np.array(found)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("seed", range(3))
def test_the_cheapest_decision_by_brute_force(seed, n_classes):
    rng = np.random.default_rng(seed)
    posterior = rng.dirichlet(np.ones(n_classes) / 2, 200)
    costs = rng.normal(0, 10, (n_classes, n_classes)).round(2)
    np.testing.assert_array_equal(cheapest(posterior, costs), slow_decisions(posterior, costs))


def test_equal_costs_go_to_the_first_class():
    costs = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    third = 1 / 3
    posterior = np.array(
        [[third, third, third], [0.1 + 0.2, 0.3, 0.4], [0.2, 0.4, 0.1 + 0.3], [0.0, 0.5, 0.5]]
    )
    assert cheapest(posterior, costs).tolist() == [0, 2, 1, 1]
    assert cheapest(posterior + np.array([1e-15, 0, -1e-15]), 1e6 * costs).tolist() == [0, 2, 1, 1]
    assert cheapest(posterior, np.zeros((3, 3))).tolist() == [0] * 4
    # a decision out of the question does not make the others equal
    dear = np.array([[1e15, 1.0, 2.0]] * 3)
    assert cheapest(posterior, dear[:, ::-1]).tolist() == [1] * 4


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_decisions_and_expected_costs_of_the_estimator(kind):
    X, y = mixed()
    clf = BayesNetClassifier(calibrate=kind, random_state=0).fit(X, y)
    costs = [[0, 20], [1, 0]]
    share = clf.predict_proba(X)
    np.testing.assert_allclose(clf.expected_costs(X, costs), share @ np.array(costs), atol=1e-12)
    decided = clf.predict(X, costs=costs)
    np.testing.assert_array_equal(decided, clf.classes_[slow_decisions(share, costs)])
    np.testing.assert_array_equal(decided == "sick", share[:, 0] * 20 >= share[:, 1])
    assert (decided == "sick").sum() > (clf.predict(X) == "sick").sum()
    np.testing.assert_array_equal(clf.predict(X, costs=[[0, 1], [1, 0]]), clf.predict(X))
    shifted = clf.predict(X, class_prior=[0.01, 0.99], costs=costs)
    shifted_share = clf.predict_proba(X, class_prior=[0.01, 0.99])
    np.testing.assert_array_equal(shifted, clf.classes_[slow_decisions(shifted_share, costs)])
    np.testing.assert_allclose(
        clf.expected_costs(X, costs, class_prior=[0.01, 0.99]),
        shifted_share @ np.array(costs),
        atol=1e-12,
    )


def test_costs_in_every_form():
    X, y = mixed()
    clf = BayesNetClassifier().fit(X, y)
    expected = clf.predict(X, costs=[[0, 20], [1, 0]])
    forms = [
        np.array([[0, 20], [1, 0]]),
        {"sick": {"well": 20}, "well": {"sick": 1}},
        {"well": {"sick": np.float32(1)}, "sick": {"well": 20, "sick": 0}},
        pd.DataFrame([[0, 1], [20, 0]], index=["well", "sick"], columns=["well", "sick"]),
    ]
    for costs in forms:
        np.testing.assert_array_equal(clf.predict(X, costs=costs), expected)
    numbered = np.array([3, 5, 9])
    np.testing.assert_array_equal(
        cost_matrix({np.int64(9): {3: 7.5}}, numbered), [[0, 0, 0], [0, 0, 0], [7.5, 0, 0]]
    )
    np.testing.assert_array_equal(
        cost_matrix({False: {True: 2}}, np.array([False, True])), [[0, 2], [0, 0]]
    )


def test_an_action_is_a_decision_of_its_own():
    X, y = mixed()
    clf = BayesNetClassifier("nb", "map").fit(X, y)
    costs = {"sick": {"well": 20, "refer": 2}, "well": {"sick": 10, "refer": 2}}
    share = clf.predict_proba(X)
    expected = np.column_stack([10 * share[:, 1], 20 * share[:, 0], np.full(len(share), 2.0)])
    np.testing.assert_allclose(clf.expected_costs(X, costs), expected, atol=1e-12)
    names = np.array(["sick", "well", "refer"])
    decided = clf.predict(X, costs=costs)
    np.testing.assert_array_equal(decided, names[expected.argmin(axis=1)])
    assert set(decided) == set(names)
    by_frame = pd.DataFrame([[0, 20, 2], [10, 0, 2]], ["sick", "well"], names)
    np.testing.assert_array_equal(clf.predict(X, costs=by_frame), decided)
    asked = clf.value_of_information({}, costs=costs)
    assert asked.cost == pytest.approx(clf.expected_costs([{}], costs).min())
    assert (asked.cost_gain >= 0).all()
    numbered = DecisionCosts.of({3: {"wait": 1}, 5: {"wait": 1}}, np.array([3, 5]))
    assert numbered.decisions.tolist() == [3, 5, "wait"]


def test_an_action_has_a_cost_for_every_class():
    costs = {"sick": {"well": 20, "refer": 2}, "well": {"sick": 10}}
    with pytest.raises(ValueError, match="'refer' has none where 'well' is true"):
        DecisionCosts.of(costs, np.array(["sick", "well"]))


@pytest.mark.parametrize(
    "costs, message",
    [
        ([[0, 1]], r"shape \(1, 2\) for 2 classes"),
        ([0, 1], r"shape \(2,\) for 2 classes"),
        ([[0, 1], [1]], r"shape \(2,\) for 2 classes"),
        (3, r"shape \(\) for 2 classes"),
        (
            [[0, 1], [np.nan, 0]],
            "costs says nan for deciding 'sick' where 'well' is true: it must be a finite number",
        ),
        ([[0, np.inf], [1, 0]], "costs says inf for deciding 'well' where 'sick' is true"),
        ([[0, "dear"], [1, 0]], "costs says 'dear' for deciding 'well' where 'sick' is true"),
        ([[0, None], [1, 0]], "costs says None"),
        ({"ill": {"well": 1}}, "names a class 'ill', which is none of the classes 'sick', 'well'"),
        ({"sick": {"fine": 1}}, "names a class 'fine'"),
        ({"ill": {}}, "names a class 'ill'"),
        ({"sick": 3}, r"costs\['sick'\]=3 must be a mapping: write {truth: {decision: cost}}"),
        ({("sick", "well"): 3}, "must be a mapping"),
        ({"sick": {"well": None}}, "costs says None for deciding 'well' where 'sick' is true"),
        (pd.DataFrame([[0, 1], [2, 0]]), "names a class 0"),
    ],
)
def test_costs_that_are_none(costs, message):
    X, y = mixed(60)
    clf = BayesNetClassifier("nb").fit(X, y)
    for answer in (lambda: clf.predict(X, costs=costs), lambda: clf.expected_costs(X, costs)):
        with pytest.raises(ValueError, match=message):
            answer()


# ---- scikit-learn


@pytest.mark.skipif(UNCOMPILED, reason="scikit-learn's checks are for the compiled library")
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks_pass_without_exception():
    results = check_estimator(
        BayesNetClassifier("nb", "map", calibrate="temperature"), on_fail=None
    )
    assert not [
        (r["check_name"], r["exception"]) for r in results if r["status"] in ("failed", "xfail")
    ]
    assert len(results) > 50


@pytest.mark.parametrize("kind", KINDS)
def test_clone_pickle_and_settings(kind):
    X, y = mixed()
    clf = BayesNetClassifier(calibrate=kind, calibrate_folds=3, random_state=0).fit(X, y)
    assert (clf.get_params()["calibrate"], clf.get_params()["calibrate_folds"]) == (kind, 3)
    np.testing.assert_array_equal(clone(clf).fit(X, y).predict_proba(X), clf.predict_proba(X))
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(clf)).predict_proba(X), clf.predict_proba(X)
    )
    assert not hasattr(clone(clf), "calibration_")
    for answer in ("predict", "predict_proba", "predict_log_proba"):
        with pytest.raises(ValueError, match="not fitted"):
            getattr(clone(clf), answer)(X)
    with pytest.raises(ValueError, match="not fitted"):
        clone(clf).expected_costs(X, [[0, 1], [1, 0]])


def test_calibration_can_be_searched():
    X, y = copies(150)
    grid = GridSearchCV(
        BayesNetClassifier("nb", "map"), {"calibrate": [None, *KINDS]}, cv=3, scoring="neg_log_loss"
    ).fit(X, y)
    assert grid.best_params_["calibrate"] in KINDS


def test_a_fit_without_calibration_forgets_the_old_one():
    X, y = mixed(100)
    clf = BayesNetClassifier("nb", calibrate="temperature").fit(X, y)
    new = BayesNetClassifier("nb", calibrate=None).fit(X, y)
    assert (clf.predict_proba(X) != new.predict_proba(X)).any()
    plain = clf.set_params(calibrate=None).fit(X, y)
    assert plain.calibration_ is None
    np.testing.assert_array_equal(plain.predict_proba(X), new.predict_proba(X))


# ---- files and the command line


@pytest.mark.parametrize("kind", KINDS)
def test_same_bits_after_loading(kind, tmp_path):
    X, y = copies(200)
    clf = BayesNetClassifier("nb", "map", calibrate=kind, calibrate_folds=4).fit(X, y)
    clf.save(tmp_path / "a.json")
    again = load(tmp_path / "a.json")
    assert (again.calibrate, again.calibrate_folds) == (kind, 4)
    np.testing.assert_array_equal(again.predict_log_proba(X), clf.predict_log_proba(X))
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))
    prior = [0.2, 0.3, 0.5]
    np.testing.assert_array_equal(
        again.predict_proba(X, class_prior=prior), clf.predict_proba(X, class_prior=prior)
    )
    again.save(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    np.testing.assert_array_equal(clone(again).fit(X, y).predict_proba(X), clf.predict_proba(X))


def test_files_without_calibration_have_no_word_of_it(tmp_path):
    X, y = mixed(60)
    BayesNetClassifier("nb", "map").fit(X, y).save(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text())
    assert "calibration" not in document["model"]
    # as in files that were written before there was any
    for setting in ("calibrate", "calibrate_folds"):
        del document["model"]["settings"][setting]
    document["sha256"] = checksum(document)
    (tmp_path / "m.json").write_text(json.dumps(document))
    assert load(tmp_path / "m.json").calibration_ is None


ODD = [None, True, 0, -1, 10**400, 0.5, "", "x", [], {}, [[]], {"tuple": []}, ["a", "b"]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_in_a_file_is_refused_or_harmless(kind, tmp_path):
    X, y = mixed(80)
    BayesNetClassifier("nb", calibrate=kind, random_state=0).fit(X, y).save(tmp_path / "m.json")
    good = json.loads((tmp_path / "m.json").read_text())
    own = {
        "temperature": [("temperature",)],
        "isotonic": [
            ("log_odds",),
            ("log_odds", 0),
            ("probabilities", 1, "data"),
            ("probabilities",),
        ],
    }[kind]
    for place in [(), ("kind",), ("class_shares",), ("class_shares", "shape"), ("more",), *own]:
        for odd in ODD:
            document = copy.deepcopy(good)
            *folders, last = ("calibration", *place)
            at = document["model"]
            for folder in folders:
                at = at[folder]
            at[last] = odd
            document["sha256"] = checksum(document)
            (tmp_path / "bad.json").write_text(json.dumps(document))
            if (place, odd) == (("temperature",), 0.5):
                assert load(tmp_path / "bad.json").calibration_.temperature == 0.5
                continue
            with pytest.raises(ModelFileError, match=r"calibration|temperature|too large"):
                load(tmp_path / "bad.json")


def test_calibration_on_the_command_line(tmp_path, capsys):
    X, y = mixed(100)
    X.assign(outcome=y).to_csv(tmp_path / "d.csv", index=False)
    fit = [
        "fit",
        str(tmp_path / "d.csv"),
        "--target",
        "outcome",
        "-o",
        str(tmp_path / "m.json"),
        "--quiet",
    ]
    assert main([*fit, "--calibrate", "isotonic"]) == 0
    clf = load(tmp_path / "m.json")
    assert isinstance(clf.calibration_, Isotonic)
    assert (
        main(
            [
                "predict",
                str(tmp_path / "m.json"),
                str(tmp_path / "d.csv"),
                "--proba",
                "--full-precision",
                "--quiet",
            ]
        )
        == 0
    )
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].replace('"', "") == "outcome,P(sick),P(well)"
    assert float(printed[1].split(",")[1]) == pytest.approx(clf.predict_proba(X[:1])[0, 0])
    assert main([*fit, "--calibrate", "none"]) == 0
    assert load(tmp_path / "m.json").calibration_ is None
    (tmp_path / "few.csv").write_text("a,outcome\n1,n\n2,n\n1,p\n")
    fit[1] = str(tmp_path / "few.csv")
    assert main([*fit, "--calibrate", "isotonic"]) == 1
    assert "class 'p' has 1 row" in capsys.readouterr().err
