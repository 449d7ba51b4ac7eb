"""Same-decision probability: draws against enumeration, and calibration on held-out rows."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import believing
from discbayes import BayesNetClassifier, Between, load_dataset
from discbayes.costs import DecisionCosts
from discbayes.explanations.same_decision import DecisionDraws, DecisionMap


def enumerated(beliefs, codes, decide):
    """The probability that completions of one row have its decision, over all of them."""
    cards = beliefs.network.domain.cards
    row = codes[:, 0]
    posterior = beliefs.posterior(codes)[0]
    now = decide(codes)[0]
    network = beliefs.networks[-1]
    missing = np.flatnonzero(row >= cards)
    completed = np.repeat(codes, int(np.prod(cards[missing])), axis=1)
    completed[missing] = np.array(list(product(*(range(c) for c in cards[missing])))).T
    joint = np.exp(network.log_joint_of(completed))
    of_class = joint / joint.sum(axis=0)
    return float((of_class @ posterior)[decide(completed) == now].sum())


@pytest.mark.parametrize("calibration", [None, "temperature", "pool"])
@pytest.mark.parametrize("kind", believing.KINDS)
def test_the_share_of_draws_is_the_probability(kind, calibration):
    tables, rng = believing.random_tables(3, kind, normalized=True)
    beliefs = believing.believing(tables, calibration, rng=rng)
    n = tables.n_classes
    costs = DecisionCosts.of(rng.random((n, n)), beliefs.labels)
    for given in (None, costs):
        draws = DecisionDraws(beliefs, tables.cards.size, given, 4000)
        for known in ([], [0], [1, 3]):
            codes = tables.cards.astype(np.uint8)[:, None].copy()
            codes[known] = 0
            expected = enumerated(beliefs, codes, draws.decide)
            assert abs(draws.shares(codes, np.random.default_rng(0))[0] - expected) < 0.03


def test_the_map_is_that_of_the_largest_likelihood():
    rng = np.random.default_rng(0)
    shares = rng.beta(2, 1, 5000)
    same = rng.random(5000) < DecisionMap(100, 0.4, 0.5)(shares)
    learned = DecisionMap(100).learned(shares, same)
    assert (learned.shift, learned.scale) == pytest.approx((0.4, 0.5), abs=0.1)
    few = DecisionMap(100).learned(np.array([0.9, 0.8]), np.array([True, True]))
    assert 0.5 < few.scale < 2  # little moves it away from the identity


@pytest.fixture(scope="module")
def fitted():
    data = load_dataset("waveform", n_samples=1500, random_state=0)
    clf = BayesNetClassifier("nb", "map").fit(data.X[:400], data.y[:400])
    return clf, data.X


def test_held_out_rows_calibrate(fitted):
    """Naive Bayes is too sure on columns that go together."""
    clf, X = fitted
    rng = np.random.default_rng(0)
    test = X[900:]
    asked = test.mask(rng.random(test.shape) < 0.5)
    same = clf.predict(asked) == clf.predict(test)
    plain, calibrated = clf.same_decision(asked), clf.same_decision(asked, X[400:900])
    assert plain.mean() > same.mean() + 0.04
    assert abs(calibrated.mean() - same.mean()) < 0.03
    # sure rows stay surer than others
    assert same[calibrated > 0.8].mean() > same[calibrated < 0.7].mean() + 0.15


def test_rows_without_missing_values_are_sure(fitted):
    clf, X = fitted
    assert (clf.same_decision(X[:5], X[400:500]) == 1).all()
    mixed = [X.iloc[0].to_dict(), {}]
    sure, unsure = clf.same_decision(mixed, X[400:500])
    assert sure == 1
    assert 0 < unsure < 0.8
    assert clf.same_decision([X.iloc[0].to_dict(), {}], X[400:500]).tolist() == [sure, unsure]


def test_evidence_and_costs(fitted):
    clf, X = fitted
    some = {X.columns[6]: Between(3.0, None)}
    found = clf.same_decision([some], X[400:500])
    assert 0 < found[0] < 1
    costs = {c: {"refer": 0.0} for c in clf.classes_.tolist()}
    always = clf.same_decision([{}], costs={**costs, "0": {"1": 5, "refer": -100}})
    assert always == 1


def test_what_is_refused(fitted):
    clf, _ = fitted
    with pytest.raises(ValueError, match="n_draws=0 must be a whole number of at least 1"):
        clf.same_decision([{}], n_draws=0)
    with pytest.raises(ValueError, match="random_state='x' must be a whole number"):
        clf.same_decision([{}], random_state="x")
    with pytest.raises(ValueError, match="held_out tells nothing"):
        clf.same_decision([{}], held_out=[{}])
