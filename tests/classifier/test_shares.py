"""Weights that sum to one: shares of rows, which boosting gives, count as many rows as there
are.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier
from sklearn.model_selection import train_test_split

from discbayes import BayesNetClassifier, DataWarning, MDLPDiscretizer
from discbayes.data import targets
from discbayes.data.frame_encoder import FrameEncoder
from discbayes.data.targets import Shares
from judging_fits import assert_same_network

SCALED = pytest.warns(
    DataWarning, match="sample_weight sums to 1 or less over several rows.*scaled to a mean of 1"
)


@pytest.fixture
def rows():
    """Numbers, words and missing values, with weights of a mean of 1 and some that are zero."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=400) + 2 * y,
            "b": rng.choice(["u", "v"], 400),
            "c": rng.normal(size=400) - y,
        }
    )
    X.loc[rng.random(400) < 0.1, "c"] = np.nan
    weight = rng.gamma(2.0, size=400)
    weight[::7] = 0
    return X, y, weight * np.count_nonzero(weight) / weight.sum()


def test_boosting_is_no_worse_than_what_it_boosts(recwarn):
    X, y = load_breast_cancer(return_X_y=True)
    single, boosted = [], []
    for seed in range(3):
        train, test, classes, truth = train_test_split(X, y, random_state=seed, stratify=y)
        clf = BayesNetClassifier("nb", "map", n_jobs=2)
        single.append(clone(clf).fit(train, classes).score(test, truth))
        boosted.append(
            AdaBoostClassifier(clf, n_estimators=20, random_state=0)
            .fit(train, classes)
            .score(test, truth)
        )
    (said,) = [w for w in recwarn.list if "scaled to a mean of 1" in str(w.message)]
    assert said.category is DataWarning
    assert np.mean(boosted) >= np.mean(single) > 0.9


@pytest.mark.parametrize("total", [1.0, 1 + 1e-12, 0.37, 1e-300])
@pytest.mark.parametrize(
    "settings",
    [{"structure": "nb", "parameters": "map"}, {"structure": "tan", "parameters": "hybrid"}],
)
def test_shares_are_weights_of_mean_one(rows, settings, total):
    X, y, weight = rows
    clf = BayesNetClassifier(**settings, calibrate=None)
    expected = clone(clf).fit(X, y, weight)
    with SCALED:
        found = clone(clf).fit(X, y, weight / weight.sum() * total)
    assert found.network_.domain == expected.network_.domain
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-5)


def test_the_smallest_weights_there_are(rows):
    X, y, _ = rows
    clf = BayesNetClassifier("nb", "map")
    with SCALED:
        found = clone(clf).fit(X, y, np.full(400, 5e-324))
    assert_same_network(found, clone(clf).fit(X, y))


def test_weights_of_more_than_one_row_are_counts(rows, recwarn):
    X, y, _ = rows
    clf = BayesNetClassifier("nb", "map")
    clone(clf).fit(X[:2], y[:2], [0.6, 0.6])
    clone(clf).fit(X[:1], y[:1], [0.5])
    assert not [w for w in recwarn.list if "scaled" in str(w.message)]
    assert Shares.of(1.01, 5) is None
    assert Shares.of(0.5, 1) is None


def test_the_order_of_adding_does_not_matter():
    weight = np.random.default_rng(1).gamma(0.1, size=1000)
    weight /= weight.sum()
    sums = {
        float(weight.sum()),
        sum(weight.tolist()),
        float(np.sum(weight[::-1])),
        float(weight.reshape(10, -1).sum()),
    }
    scaled = [Shares(total, 1000).scaled(weight) for total in sums]
    assert all(other.tobytes() == scaled[0].tobytes() for other in scaled)
    assert scaled[0].mean() == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("settings", [{"parameters": "map"}, {"calibrate_folds": 2}])
def test_the_same_bits_from_batches(rows, settings, tmp_path):
    X, y, weight = rows
    shares = weight / weight.sum()
    clf = BayesNetClassifier("nb", **settings, random_state=0)
    with SCALED:
        expected = clone(clf).fit(X, pd.Series(y, name="y"), shares)
    frame = X.assign(y=y, w=shares)
    frame.to_parquet(tmp_path / "rows.parquet")
    parts = [frame[start : start + 90] for start in range(0, 400, 90)]
    # it was said before
    assert_same_network(clone(clf).fit(tmp_path / "rows.parquet", "y", "w"), expected)
    targets._warned.clear()
    with SCALED as caught:
        assert_same_network(clone(clf).fit(iter(parts), "y", "w"), expected)
    assert len(caught) == 1


def test_folds_take_weights_as_they_are(rows, monkeypatch):
    """Weights that are counts over all rows may sum to one over those that a fold learns from."""
    X, y, _ = rows
    learned = []

    class Spy(FrameEncoder):
        def fit_selected(self, table, labels, weight, target=None):
            learned.append(weight)
            return super().fit_selected(table, labels, weight, target)

    monkeypatch.setattr("discbayes.classifier.fitting.FrameEncoder", Spy)
    weight = np.full(10, 0.15)
    BayesNetClassifier("nb", "map", calibrate="temperature", calibrate_folds=2).fit(
        X[:10], y[:10], weight
    )
    assert len(learned) == 3
    assert all(part.sum() <= 1 for part in learned[1:])
    assert all(part.max() <= 0.15 for part in learned)


def test_parts_take_weights_as_they_are(rows):
    """Of a part nobody knows what all weights sum to."""
    X, y, weight = rows
    some = weight[:40] / weight.sum()
    clf = BayesNetClassifier("nb", "map")
    with pytest.warns(DataWarning, match="sample weights sum to"):
        clf.partial_fit(X[["b"]][:40], y[:40], sample_weight=some)
    assert clf.sufficient_statistics_.counts.class_count.sum() == pytest.approx(some.sum())


def test_cut_points_of_shares(rows):
    X, y, weight = rows
    kept = weight > 0
    expected = (
        MDLPDiscretizer().fit(X[["a", "c"]][kept], y[kept], sample_weight=weight[kept]).cut_points_
    )
    with SCALED:
        found = (
            MDLPDiscretizer().fit(X[["a", "c"]], y, sample_weight=weight / weight.sum()).cut_points_
        )
    assert sum(cuts.size for cuts in expected) > 1
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, two)
