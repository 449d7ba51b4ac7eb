"""What the classifier does with no arguments, and with those of the default of version 0.1: when it
calibrates, what it does not depend on.
"""

from __future__ import annotations

import numba
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from discbayes import (
    BayesNetClassifier,
    ExtendedCCBN,
    MaximumAPosteriori,
    calibration,
    load,
    load_dataset,
    recipe,
)
from discbayes.calibration import LogPool, Temperature
from discbayes.classifier import calibrating, choosing
from discbayes.parameters import PARAMETERS

UNCOMPILED = bool(numba.config.DISABLE_JIT)
RECIPE = "TAN-E-G+T"  # the default of version 0.1
OLD = ("tan", "hybrid")
DEFAULTS = pytest.mark.parametrize("default", [(), OLD], ids=["now", "0.1"])


def incomplete_rows(n=160, seed=0):
    """Numbers and text with gaps; two classes, and some rows are equal."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    frame = pd.DataFrame(
        {
            "age": np.where(y, rng.normal(60, 8, n), rng.normal(45, 12, n)).round(-1),
            "town": rng.choice(np.array(["Graz", "Wien", "Linz"], object), n),
            "smoker": np.where(rng.random(n) < 0.7, y, ~y),
        }
    )
    frame.loc[rng.random(n) < 0.15, "age"] = np.nan
    frame.loc[rng.random(n) < 0.15, "town"] = None
    return frame, np.where(y, "sick", "well")


def small(name):
    data = load_dataset(name)
    step = 3 if UNCOMPILED else 1
    return data.X.iloc[::step], np.asarray(data.y)[::step]


def assert_same(one, two, X):
    """The same network and calibration, to the bit."""
    assert one.structure_ == two.structure_
    np.testing.assert_array_equal(
        one.network_.parameters.log_theta, two.network_.parameters.log_theta
    )
    np.testing.assert_array_equal(
        one.network_.parameters.log_prior, two.network_.parameters.log_prior
    )
    assert numbers_of(one.calibration_) == numbers_of(two.calibration_)
    np.testing.assert_array_equal(one.predict_log_proba(X), two.predict_log_proba(X))


def numbers_of(calibration):
    """The numbers of a temperature or of a pool."""
    names = ("temperature", "scale", "doubt", "usual_missing")
    return [getattr(calibration, name) for name in names if hasattr(calibration, name)]


# ---- what it is


@pytest.mark.parametrize("data", ["gaps", "iris", "wine"])
def test_the_old_default_is_the_recipe(data):
    X, y = incomplete_rows() if data == "gaps" else small(data)
    ours = BayesNetClassifier(*OLD).fit(X, y)
    assert isinstance(ours.calibration_, Temperature)
    assert_same(ours, recipe(RECIPE).fit(X, y), X)


def test_the_default_pools_a_network_of_two_resolutions():
    X, y = small("wine")
    clf = BayesNetClassifier().fit(X, y)
    assert isinstance(clf.calibration_, LogPool)
    assert clf.network_.domain.states is not None
    assert clf.history_[0]["chosen"] in clf.history_[0]["compared"]


@pytest.mark.parametrize("name", ["vote", "zoo"])
def test_the_old_default_is_the_recipe_on_real_data(name, data_folder):
    X, y = small(name)
    assert_same(BayesNetClassifier(*OLD).fit(X, y), recipe(RECIPE).fit(X, y), X)


@pytest.mark.parametrize("parameters", [name for name in PARAMETERS if name != "hybrid"])
def test_other_parameters_are_not_calibrated(parameters):
    X, y = incomplete_rows(60)
    assert BayesNetClassifier("nb", parameters).fit(X, y).calibration_ is None


def test_learners_are_not_calibrated_and_names_are_if_one_says_so():
    X, y = incomplete_rows(60)
    same = ExtendedCCBN("generative", 3.0, "generative", MaximumAPosteriori("dirichlet", 1.0))
    plain, learner = (
        BayesNetClassifier("nb", p, calibrate=None).fit(X, y) for p in ("hybrid", same)
    )
    np.testing.assert_array_equal(plain.predict_proba(X), learner.predict_proba(X))
    assert BayesNetClassifier("nb", same).fit(X, y).calibration_ is None
    assert (
        BayesNetClassifier("nb", "map", calibrate="temperature").fit(X, y).calibration_ is not None
    )
    assert plain.calibration_ is None


def test_settings_are_kept():
    names = ("structure", "parameters", "discretizer", "missing", "calibrate")
    clf = BayesNetClassifier().fit(*incomplete_rows(60))
    for one in (BayesNetClassifier(), clf, clone(clf)):
        assert [getattr(one, name) for name in names] == ["auto"] * 5


# ---- data that leave nothing to calibrate by


def test_one_class():
    X, _ = incomplete_rows(40)
    with pytest.warns(UserWarning, match="one class only"):
        clf = BayesNetClassifier().fit(X, ["a"] * 40)
    assert clf.calibration_ is None
    np.testing.assert_array_equal(clf.predict_proba(X), np.ones((40, 1)))


@DEFAULTS
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_one_row_of_each_class(n_classes, default):
    X, _ = incomplete_rows(n_classes)
    y = np.arange(n_classes)
    clf = BayesNetClassifier(*default).fit(X, y)
    assert clf.calibration_ is None
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1)
    same = recipe("TAN-E-G") if default else BayesNetClassifier("nb", "hierarchy")
    np.testing.assert_array_equal(clf.predict_proba(X), same.fit(X, y).predict_proba(X))


@DEFAULTS
@pytest.mark.parametrize("sizes", [(2, 1), (2, 2), (30, 1), (3, 1, 1, 1)])
def test_few_rows_of_some_classes(sizes, default):
    y = np.repeat(np.arange(len(sizes)), sizes)
    X, _ = incomplete_rows(y.size)
    clf = BayesNetClassifier(*default).fit(X, y)
    assert clf.calibration_ is not None
    shares = clf.predict_proba(X)
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(clf.calibration_.class_shares, np.array(sizes) / y.size)


# ---- what it does not depend on


@DEFAULTS
def test_seeds_threads_and_the_order_of_rows_and_columns(default):
    X, y = incomplete_rows()
    one = BayesNetClassifier(*default).fit(X, y)
    for settings in (
        {"random_state": 0},
        {"random_state": 7},
        {"random_state": np.random.RandomState(3)},
        {"n_jobs": 2},
    ):
        assert_same(one, BayesNetClassifier(*default, **settings).fit(X, y), X)
    rows, columns = np.random.default_rng(0).permutation(y.size), list(reversed(X.columns))
    other = BayesNetClassifier(*default).fit(X[columns].iloc[rows], y[rows])
    np.testing.assert_allclose(other.predict_proba(X[columns]), one.predict_proba(X), atol=1e-9)


@DEFAULTS
@pytest.mark.parametrize("name", ["flare", "vote", "glass"])
def test_a_weight_of_two_is_the_row_twice(name, default, data_folder):
    X, y = small(name)
    X, y = X.iloc[:300], y[:300]
    weight = np.random.default_rng(0).integers(0, 4, y.size)
    repeated = np.random.default_rng(1).permutation(np.repeat(np.arange(y.size), weight))
    one = BayesNetClassifier(*default).fit(X, y, sample_weight=weight)
    two = BayesNetClassifier(*default).fit(X.iloc[repeated], y[repeated])
    numbers = numbers_of(one.calibration_)
    assert numbers_of(two.calibration_) == pytest.approx(numbers, rel=1e-6, abs=1e-6)
    np.testing.assert_allclose(two.predict_proba(X), one.predict_proba(X), atol=1e-6)


# ---- enough rows


def told_folds(capsys):
    return capsys.readouterr().err.count("calibration: fold")


@pytest.mark.parametrize(
    "kind, enough, times, n_folds",
    [
        ("auto", 60, 1, 2),
        ("auto", 59.5, 1, 2),
        ("auto", 61, 1, 3),
        ("auto", 60, 3, 1),
        ("auto", 5000, 1, 5),
        ("temperature", 60, 1, 2),
        ("isotonic", 60, 1, 5),
    ],
)
def test_folds_end_when_enough_rows_were_held_out(
    kind, enough, times, n_folds, monkeypatch, capsys
):
    X, y = incomplete_rows(150)
    monkeypatch.setitem(calibration.ENOUGH_ROWS, "temperature", enough)
    seen = {}
    name = "isotonic" if kind == "isotonic" else "temperature"
    learn = calibration.CALIBRATIONS[name]
    monkeypatch.setitem(
        calibration.CALIBRATIONS, name, lambda *given: seen.update(given=given) or learn(*given)
    )
    weight = None if times == 1 else np.full(150, times)
    clf = BayesNetClassifier("nb", "hybrid", calibrate=kind, verbose=1).fit(X, y, weight)
    assert told_folds(capsys) == n_folds
    log_joint, classes, weight, shares = seen["given"]
    assert weight.sum() == pytest.approx(times * 30 * n_folds)
    assert log_joint.shape == (classes.size, 2)
    np.testing.assert_allclose(shares, np.bincount(np.searchsorted(clf.classes_, y)) / 150)


# ---- files, and a fit that does not end


@DEFAULTS
def test_same_bits_after_loading(tmp_path, default):
    X, y = incomplete_rows()
    clf = BayesNetClassifier(*default).fit(X, y)
    clf.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert (again.parameters, again.calibrate) == (clf.parameters, "auto")
    assert_same(again, clf, X)
    assert_same(clone(again).fit(X, y), clf, X)


@pytest.mark.parametrize("fold", [0, 3])
@pytest.mark.parametrize(
    ("default", "place", "name"),
    [((), choosing.HeldOutFold, "losses"), (OLD, calibrating, "_held_out_log_joint")],
    ids=["now", "0.1"],
)
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(fold, default, place, name, monkeypatch):
    X, y = incomplete_rows()
    clf = BayesNetClassifier(*default).fit(X, y)
    before, said = dict(vars(clf)), clf.predict_proba(X)
    held_out = getattr(place, name)
    folds = []

    def interrupted(*given):
        folds.append(given)
        if len(folds) > fold:
            raise KeyboardInterrupt
        return held_out(*given)

    monkeypatch.setattr(place, name, interrupted)
    new = X[["town", "smoker"]].rename(columns={"town": "place"})
    for estimator in (clf, BayesNetClassifier(*default)):
        folds.clear()
        fresh = dict(vars(estimator))
        with pytest.raises(KeyboardInterrupt):
            estimator.fit(new, np.where(y == "sick", 1, 0))
        assert len(folds) == fold + 1
        assert vars(estimator).keys() == fresh.keys()
        assert all(vars(estimator)[name] is value for name, value in fresh.items())
    assert vars(clf) == before
    np.testing.assert_array_equal(clf.predict_proba(X), said)
