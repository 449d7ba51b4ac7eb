"""Networks that are chosen by held-out rows, and their pool with generative estimates."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp, softmax

from discbayes import KDB, BayesNetClassifier, LevelWeightedCCBN, load, load_dataset
from discbayes.calibration import (
    EXPONENTS,
    LogPool,
    PredictedRows,
    learn_doubt,
    learn_pool_weights,
    learn_scale,
)
from discbayes.classifier import choosing
from discbayes.data import TwoResolutionDiscretizer
from discbayes.parameters import HierarchicalSmoothing
from discbayes.predict import load as load_predictor


def auto(**settings):
    return BayesNetClassifier("auto", "auto", discretizer="auto", **settings)


@pytest.fixture(scope="module")
def wine():
    return load_dataset("wine")


@pytest.fixture(scope="module")
def fitted(wine):
    return auto().fit(wine.X, wine.y)


def with_missing(X, share=0.4, seed=0):
    return X.mask(np.random.default_rng(seed).random(X.shape) < share)


def test_a_choice_on_some_of_the_rows_knows_neither_their_order_nor_where_they_are(
    monkeypatch, tmp_path
):
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b"], 900, p=[0.9, 0.1])
    X = pd.DataFrame({"n": rng.normal(size=900) + (y == "a"), "t": rng.choice(["u", "v"], 900)})
    seen = []
    original = choosing.HeldOutFold._prepared

    def prepared(fold, max_parents):
        seen.append(fold.data.class_rows.tolist())
        return original(fold, max_parents)

    monkeypatch.setattr(choosing.HeldOutFold, "_prepared", prepared)
    monkeypatch.setattr(choosing, "MAX_CHOICE_ROWS", 600)
    clf = BayesNetClassifier().fit(X, y)
    assert {a < 600 for a, _ in seen} == {True}
    n_small = (y == "b").sum()  # none of a small class is left out
    assert all(abs(b - 0.8 * n_small) < 1 for _, b in seen)
    expected = clf.predict_proba(X)
    order = rng.permutation(900)
    turned = BayesNetClassifier().fit(X.iloc[order], y[order])
    assert turned.predict_proba(X) == pytest.approx(expected, abs=1e-8)
    X.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    read = BayesNetClassifier(memory="64MB").fit(str(tmp_path / "rows.csv"), "y")
    assert np.array_equal(read.predict_proba(X), expected)


def test_the_network_is_that_of_the_chosen_learners(wine, fitted, monkeypatch):
    seen = {}
    original = choosing.HeldOutFold.losses

    def losses(fold, choice, near=None):
        found = original(fold, choice, near)
        seen.setdefault(choice, []).append(found)
        return found

    monkeypatch.setattr(choosing.HeldOutFold, "losses", losses)
    clf = auto().fit(wine.X, wine.y)
    means = {str(c): np.concatenate(f).mean() for c, f in seen.items() if len(f) == 5}
    step = clf.history_[0]
    assert step["compared"] == pytest.approx(means)
    best = next(choice for choice in seen if str(choice) == step["chosen"])
    assert step["log_loss"] == means[str(best)]
    # what has more parameters was taken only where it has a smaller loss
    simpler = [c for c in seen if c.max_parents < best.max_parents and c.cell_penalty is None]
    assert all(means.get(str(c), np.inf) >= step["log_loss"] for c in simpler)
    structure = KDB(best.max_parents, score="loo", selective=True) if best.max_parents else "nb"
    same = BayesNetClassifier(
        structure,
        LevelWeightedCCBN(best.weight_penalty, best.cell_penalty),
        discretizer=TwoResolutionDiscretizer("mdlp", min_states=8),
    ).fit(wine.X, wine.y)
    ours, theirs = clf.network_.parameters, fitted.network_.parameters
    assert np.array_equal(ours.log_theta, theirs.log_theta)
    assert clf.structure_ == fitted.structure_ == same.structure_
    # the fit of the default began with the parameters of a fold, and found the same optimum
    codes, y = clf.encode(wine.X), clf._encoder.transform_y(wine.y)
    posterior = [softmax(one.network_.log_joint_of(codes), axis=1) for one in (clf, same)]
    assert np.abs(posterior[0] - posterior[1]).max() < 0.02
    means = [np.log(found[np.arange(y.size), y]).mean() for found in posterior]
    assert means[0] == pytest.approx(means[1], abs=1e-3)
    tables = HierarchicalSmoothing()
    generative = BayesNetClassifier(
        same.structure_, tables, discretizer=TwoResolutionDiscretizer("mdlp", min_states=8)
    ).fit(wine.X, wine.y)
    assert np.array_equal(
        clf.calibration_.generative.parameters.log_theta,
        generative.network_.parameters.log_theta,
    )


def test_posteriors_are_those_of_the_pool(wine, fitted):
    X = pd.concat([wine.X[:40], with_missing(wine.X[40:90]), wine.X[:1] * np.nan])
    codes = fitted.encode(X)
    pool = fitted.calibration_
    shares = np.log(pool.class_shares)
    r = X.isna().mean(axis=1).to_numpy()[:, None]
    own = fitted.network_.log_joint_of(codes)
    generative = pool.generative.log_joint_of(codes)
    w = (1 - r) ** pool.exponent
    pooled = shares + w * (own - shares) + (1 - w) * pool.scale ** (1 - r) * (generative - shares)
    posterior = np.exp(pooled - logsumexp(pooled, axis=1, keepdims=True))
    expected = np.log((1 - pool.doubt) * posterior + pool.doubt * pool.class_shares)
    assert fitted.predict_log_proba(X) == pytest.approx(expected, abs=1e-10)
    complete = np.exp(own[:40] - logsumexp(own[:40], axis=1, keepdims=True))
    expected = (1 - pool.doubt) * complete + pool.doubt * pool.class_shares
    assert fitted.predict_proba(wine.X[:40]) == pytest.approx(expected, abs=1e-10)
    # the prior of generative estimates is smoothed
    assert fitted.predict_proba(X.tail(1))[0] == pytest.approx(pool.class_shares, abs=1e-3)


def test_other_shares_of_classes_change_the_odds(wine, fitted):
    X = with_missing(wine.X[:30])
    other = np.array([0.6, 0.3, 0.1])
    moved = fitted.predict_log_proba(X) + np.log(other / fitted.calibration_.class_shares)
    expected = moved - logsumexp(moved, axis=1, keepdims=True)
    assert fitted.predict_log_proba(X, class_prior=other) == pytest.approx(expected, abs=1e-10)


def test_contributions_add_up_under_the_weights_of_the_row(wine, fitted):
    X = pd.concat([wine.X[:3], with_missing(wine.X[60:66])])
    found = fitted.explain(X)
    codes = fitted.encode(X)
    cards = fitted.network_.domain.cards
    pool = fitted.calibration_
    weights = pool.weights_of(codes)
    for row in range(len(X)):
        total = found.base_of(row) + np.nansum(found.contributions[row], axis=0)
        assert total == pytest.approx(found.log_odds[row], abs=1e-9)
        hidden = codes[:, [row]].copy()
        for feature in reversed([i for i in found.order if found.known[row, i]]):
            after = odds_of(fitted, hidden, weights[:, [row]])
            hidden[feature] = cards[feature]
            before = odds_of(fitted, hidden, weights[:, [row]])
            assert found.contributions[row, feature] == pytest.approx(after - before, abs=1e-9)
        assert found.base_of(row) == pytest.approx(before, abs=1e-9)
    same = fitted.explain(wine.X[:3])
    assert same.base.shape == (3,)


def odds_of(clf, codes, weights):
    """The log odds of each class, both networks pooled with given weights."""
    pool = clf.calibration_
    both = (clf.network_.log_joint_of(codes), pool.generative.log_joint_of(codes))
    log_posterior = pool.log_posterior(pool.pooled(*both, weights))[0]
    rest = [logsumexp(np.delete(log_posterior, c)) for c in range(log_posterior.size)]
    return log_posterior - rest


def test_model_files_hold_the_pool(fitted, wine, tmp_path):
    fitted.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    X = with_missing(wine.X)
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert repr(again.calibration_) == repr(fitted.calibration_)


@pytest.mark.parametrize(("exponent", "version"), [(8.0, 2), (2.0, 5)])
def test_files_name_an_exponent_that_is_not_the_usual_one(
    fitted, wine, tmp_path, exponent, version
):
    clf = copy.copy(fitted)
    clf.calibration_ = replace(fitted.calibration_, exponent=exponent)
    clf.save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    assert document["version"] == version
    assert document["model"]["calibration"].get("exponent", 8.0) == exponent
    assert load(tmp_path / "model.json").calibration_.exponent == exponent
    X = with_missing(wine.X)
    found = load_predictor(tmp_path / "model.json").predict_proba(X)
    assert found == pytest.approx(clf.predict_proba(X), abs=1e-9)
    assert exponent == 8 or not np.allclose(found, fitted.predict_proba(X), atol=1e-3)


def test_an_exponent_has_limits(fitted):
    with pytest.raises(ValueError, match="the exponent of a pool is from 0 to 64, not 65"):
        replace(fitted.calibration_, exponent=65.0)


def test_rows_in_any_order_and_twice_are_the_same_fit(wine):
    order = np.random.default_rng(0).permutation(len(wine.y))
    X, y = wine.X, np.asarray(wine.y)
    plain = auto().fit(X, y)
    shuffled = auto().fit(X.iloc[order], y[order])
    assert plain.calibration_.scale == pytest.approx(shuffled.calibration_.scale, rel=1e-6)
    assert plain.calibration_.exponent == shuffled.calibration_.exponent
    assert plain.predict_proba(X) == pytest.approx(shuffled.predict_proba(X), abs=1e-6)
    twice = auto().fit(pd.concat([X, X]), np.concatenate([y, y]))
    weighted = auto().fit(X, y, np.full(len(y), 2.0))
    assert twice.predict_proba(X) == pytest.approx(weighted.predict_proba(X), abs=1e-6)


def test_a_structure_that_is_given_is_kept(wine):
    clf = BayesNetClassifier("nb", "auto", discretizer="auto").fit(wine.X, wine.y)
    assert clf.structure_.n_edges == 0
    assert isinstance(clf.calibration_, LogPool)


def test_without_calibration_the_network_alone_answers(wine):
    clf = auto(calibrate=None).fit(wine.X, wine.y)
    assert clf.calibration_ is None
    scores = clf.network_.log_joint_of(clf.encode(wine.X))
    expected = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    assert clf.predict_proba(wine.X) == pytest.approx(expected, abs=1e-12)


def test_other_calibrations_follow_the_choice(wine):
    clf = auto(calibrate="temperature").fit(wine.X, wine.y)
    assert clf.calibration_.temperature > 0


@pytest.mark.parametrize("n_rows", [2, 3])
def test_few_rows_have_the_first_choice(wine, n_rows):
    rows = [0, 70, 150][:n_rows]
    clf = auto().fit(wine.X.iloc[rows], [wine.y[k] for k in rows])
    assert clf.calibration_ is None
    assert clf.predict_proba(wine.X).shape == (178, n_rows)


def test_auto_with_another_learner_is_a_tree(wine):
    clf = BayesNetClassifier("auto", "map", discretizer="auto").fit(wine.X, wine.y)
    same = BayesNetClassifier("tan", "map").fit(wine.X, wine.y)
    assert np.array_equal(clf.predict_proba(wine.X), same.predict_proba(wine.X))


def test_the_scale_maximizes_the_likelihood_of_held_out_rows():
    rng = np.random.default_rng(0)
    shares = np.array([0.5, 0.3, 0.2])
    log_joint = rng.normal(size=(300, 3)) * 4
    true = np.log(shares) + 0.4 * (log_joint - np.log(shares))
    p = np.exp(true - logsumexp(true, axis=1, keepdims=True))
    classes = np.array([rng.choice(3, p=row) for row in p])
    weight = rng.integers(1, 3, 300).astype(float)
    found = learn_scale(log_joint, classes, weight, shares)

    def loss(scale):
        scores = np.log(shares) + scale * (log_joint - np.log(shares))
        own = scores[np.arange(300), classes]
        return weight @ (logsumexp(scores, axis=1) - own) + 0.5 * np.log(scale) ** 2

    assert loss(found) <= min(loss(found * 1.01), loss(found / 1.01))
    assert 0.3 < found < 0.5


def test_the_weights_of_a_pool_maximize_the_likelihood_of_held_out_rows():
    rng = np.random.default_rng(1)
    n, shares, usual_missing = 2000, np.array([0.5, 0.3, 0.2]), 0.1
    own, generative = rng.normal(size=(2, n, 3)) * 3
    share, usual = rng.uniform(0.1, 0.6, n), rng.uniform(0.5, 1.0, n)
    hidden = share + 0.1
    weight = rng.integers(1, 3, n).astype(float)
    tables = auto().fit(*some_rows()).calibration_.generative

    def pooled(scale, exponent):
        pool = LogPool(shares, tables, scale, 0.0, usual_missing, 0.1, exponent)
        scores = pool.pooled(own, generative, pool.weights(share, hidden, usual))
        return scores - logsumexp(scores, axis=1, keepdims=True)

    classes = np.array([rng.choice(3, p=row) for row in np.exp(pooled(0.5, 2.0))])
    rows = PredictedRows(np.arange(n), own, generative, share, hidden, usual)
    scale, exponent = learn_pool_weights(rows, classes, weight, shares, usual_missing)
    assert exponent == 2
    assert scale == pytest.approx(0.5, abs=0.1)

    def loss(scale, exponent):
        lost = -pooled(scale, exponent)[np.arange(n), classes]
        return weight @ lost + 0.5 * np.log(scale) ** 2 + 0.5 * np.log(exponent / 8) ** 2

    best = loss(scale, exponent)
    assert best <= min(loss(scale * 1.02, exponent), loss(scale / 1.02, exponent))
    for other in EXPONENTS:
        assert best <= min(loss(s, other) for s in (0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)) + 1e-9


def some_rows():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 40)
    return pd.DataFrame({"x": rng.normal(size=120), "z": rng.normal(size=120)}), y


def test_a_pool_without_hidden_rows_keeps_the_usual_weights():
    nothing, none = np.zeros((0, 2)), np.zeros(0)
    rows = PredictedRows(np.zeros(0, int), nothing, nothing, none, none, none)
    found = learn_pool_weights(rows, np.zeros(0, int), none, np.array([0.5, 0.5]))
    assert found == pytest.approx((1.0, 8.0), abs=1e-3)


def test_missing_values_that_are_usual_leave_the_network_its_weight(wine):
    X = with_missing(wine.X, share=0.2)
    pool = auto().fit(X, wine.y).calibration_
    assert pool.usual_missing == pytest.approx(0.2, abs=0.03)
    rng = np.random.default_rng(0)
    own, generative = rng.normal(size=(2, 4, 3))
    share = np.array([0.0, pool.usual_missing, 0.5, 1.0])
    r = np.maximum(0, share - pool.usual_missing) / (1 - pool.usual_missing)
    shares = np.log(pool.class_shares)
    w, tau = ((1 - r) ** pool.exponent)[:, None], (pool.scale ** (1 - share))[:, None]
    expected = shares + w * (own - shares) + (1 - w) * tau * (generative - shares)
    assert pool.pooled(own, generative, pool.weights(share)) == pytest.approx(expected, abs=1e-12)


def test_doubt_is_the_best_share_of_the_class_shares():
    rng = np.random.default_rng(1)
    weight = rng.integers(1, 3, 200).astype(float)
    shares = np.where(rng.random(200) < 0.1, 0.1, 0.9)
    sure = np.where(rng.random(200) < 0.7, 0.999, 1e-6)

    def loss(doubt):
        return -(weight @ np.log((1 - doubt) * sure + doubt * shares)) - np.log1p(-doubt)

    found = learn_doubt(sure, shares, weight)
    assert 0 < found < 1
    assert loss(found) <= min(loss(found * 1.01), loss(found * 0.99)) + 1e-9
    assert learn_doubt(np.full(200, 0.99), shares, weight) == pytest.approx(0.0, abs=1e-4)
