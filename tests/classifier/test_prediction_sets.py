"""Sets of classes with guaranteed coverage."""

from __future__ import annotations

import numpy as np
import pytest

from discbayes import BayesNetClassifier, BayesNetEnsemble, load_dataset
from discbayes.calibration import log_odds

WAVE = load_dataset("waveform", n_samples=2400, random_state=0)


@pytest.fixture(scope="module")
def clf():
    return BayesNetClassifier("tan", "map").fit(WAVE.X[:400], WAVE.y[:400])


def slow_sets(cal_odds, cal_codes, odds, level, by_class):
    """A class is in the set unless too few true classes have log odds that are no larger."""
    found = np.zeros(odds.shape, dtype=bool)
    for m, row in enumerate(odds):
        for c, own in enumerate(row):
            ranked = [
                scores[code]
                for scores, code in zip(cal_odds, cal_codes, strict=True)
                if code == c or not by_class
            ]
            share = (sum(score <= own for score in ranked) + 1) / (len(ranked) + 1)
            found[m, c] = share > 1 - level + 1e-12
    return found


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.99])
def test_sets_are_those_of_their_definition(clf, level, by_class):
    X, y = WAVE.X[400:460], WAVE.y[400:460]
    sets = clf.calibrate_sets(X, y, level, by_class=by_class)
    cal, odds = (log_odds(clf.predict_log_proba(part)) for part in (X, WAVE.X[500:560]))
    codes = np.searchsorted(clf.classes_, y)
    expected = slow_sets(cal, codes, odds, level, by_class)
    np.testing.assert_array_equal(sets.contains(WAVE.X[500:560]), expected)
    named = [tuple(clf.classes_[row].tolist()) for row in expected]
    assert sets.predict(WAVE.X[500:560]) == named


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("level", [0.8, 0.9])
def test_the_mean_coverage_is_the_level(clf, share, level):
    """Over 100 splits, with values missing in all rows alike."""
    rng = np.random.default_rng(0)
    X = WAVE.X[400:]
    X = X.mask(rng.random(X.shape) < share)
    codes = np.searchsorted(clf.classes_, WAVE.y[400:])
    proba = clf.predict_log_proba(X)

    class Known(BayesNetClassifier):
        """Looks up what was predicted of the rows, which are given by their numbers."""

        def predict_log_proba(self, X, class_prior=None):
            return proba[np.asarray(X).ravel()]

    known = Known()
    known.__dict__.update(clf.__dict__)
    covered = []
    for _ in range(100):
        order = rng.permutation(len(codes))
        cal, rest = order[:500], order[500:]
        sets = known.calibrate_sets(cal[:, None], clf.classes_[codes[cal]], level)
        found = sets.contains(rest[:, None])
        covered.append(found[np.arange(rest.size), codes[rest]].mean())
    assert abs(np.mean(covered) - level) < 0.01


def test_within_each_class(clf):
    X, y = WAVE.X[400:1400], WAVE.y[400:1400]
    sets = clf.calibrate_sets(X, y, 0.9, by_class=True)
    found = sets.contains(WAVE.X[1400:])
    codes = np.searchsorted(clf.classes_, WAVE.y[1400:])
    for c in range(3):
        assert abs(found[codes == c, c].mean() - 0.9) < 0.05
    # two rows of a class do not tell what 90 % of them are like
    few = np.r_[np.flatnonzero(y != "0"), np.flatnonzero(y == "0")[:2]]
    sets = clf.calibrate_sets(X.iloc[few], y[few], 0.9, by_class=True)
    assert sets.contains(WAVE.X[1400:])[:, 0].all()


def test_a_weight_of_two_is_the_row_twice(clf):
    X, y = WAVE.X[400:500], WAVE.y[400:500]
    weight = np.random.default_rng(1).integers(0, 4, 100)
    rows = np.repeat(np.arange(100), weight)
    for level in (0.6, 0.9, 0.95):
        weighted = clf.calibrate_sets(X, y, level, sample_weight=weight)
        repeated = clf.calibrate_sets(X.iloc[rows], y[rows], level)
        np.testing.assert_array_equal(weighted.thresholds, repeated.thresholds)


def test_a_set_that_would_be_empty():
    iris = load_dataset("iris")
    clf = BayesNetClassifier("nb", "map").fit(iris.X[::2], iris.y[::2])
    held_out = iris.X[1::2], iris.y[1::2]
    sets = clf.calibrate_sets(*held_out, 0.5)
    empty = ~sets.contains(iris.X).any(axis=1)
    assert empty.any()
    found = clf.calibrate_sets(*held_out, 0.5, allow_empty=False).contains(iris.X)
    assert (found[empty].sum(axis=1) == 1).all()
    np.testing.assert_array_equal(clf.classes_[found[empty].argmax(1)], clf.predict(iris.X[empty]))
    np.testing.assert_array_equal(found[~empty], sets.contains(iris.X)[~empty])


def test_of_an_ensemble():
    iris = load_dataset("iris")
    clf = BayesNetEnsemble(2, random_state=0).fit(iris.X[::2], iris.y[::2])
    sets = clf.calibrate_sets(iris.X[1::2], iris.y[1::2], 0.9)
    assert len(sets.predict(iris.X)) == 150


@pytest.mark.parametrize("level", [0, 1, -0.1, 90, "sure", None])
def test_a_level_is_a_probability(clf, level):
    with pytest.raises(ValueError, match=r"must be a probability between 0 and 1, such as 0\.9"):
        clf.calibrate_sets(WAVE.X[:9], WAVE.y[:9], level)


def test_rows_and_classes_belong_together(clf):
    with pytest.raises(ValueError, match="X has 9 rows and y has 8"):
        clf.calibrate_sets(WAVE.X[:9], WAVE.y[:8])
    with pytest.raises(ValueError, match="'moon'"):
        clf.calibrate_sets(WAVE.X[:1], ["moon"])
    with pytest.raises(ValueError, match="sample_weight has shape"):
        clf.calibrate_sets(WAVE.X[:9], WAVE.y[:9], sample_weight=np.ones(8))
