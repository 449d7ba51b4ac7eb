"""Rows without a label: gradients, the likelihood of EM, what is said, and what is refused."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from coded import encoded
from discbayes import BayesNetClassifier, DataWarning, load_dataset
from discbayes.classifier import unlabeled as using
from discbayes.counts import count
from discbayes.engine import Context
from discbayes.inference import log_joint
from discbayes.network import Layout, Structure
from discbayes.objectives import ConditionalLikelihood, MarginalLikelihood
from discbayes.parameters import (
    MLBNSVM,
    ExtendedCCBN,
    LevelWeightedCCBN,
    MaximumAPosteriori,
    MaximumConditionalLikelihood,
    MaximumLikelihood,
    MaxMargin,
)
from discbayes.parameters.level_weights import LevelWeights
from discbayes.parameters.problem import Problem
from discbayes.parameters.semi_supervised import learn_semi_supervised, with_shares

TAN = Structure(((), (0,), (0,), (2,)))
IMMORAL = Structure(((), (), (0, 1), (2,)))


def drawn(seed, n_labeled=30, n_unlabeled=40, gaps=0.0):
    """Labeled rows, and others with weights of their own."""
    rng = np.random.default_rng(seed)
    data = encoded(rng, [2, 3, 2, 3], 3, n_labeled + n_unlabeled, gaps, linked=True)
    labeled = data.take(np.arange(n_labeled))
    others = data.take(np.arange(n_labeled, n_labeled + n_unlabeled))
    return labeled, replace(others, y=np.zeros(n_unlabeled, np.int64), weight=rng.random(40) * 2)


def learned(learner, data, unlabeled, structure=TAN):
    context = Context()
    tables = learn_semi_supervised(learner, data, count(data), structure, context, unlabeled)
    return tables, context.history


# ---- the objective


def test_the_marginal_likelihood_and_its_gradient():
    scores, weight = np.random.default_rng(0).normal(-4, 3, (20, 4)), np.arange(20.0)
    y = np.zeros(20, int)
    value, gradient = MarginalLikelihood().value_and_gradient(scores, y, weight)
    assert value == pytest.approx(weight @ np.logaddexp.reduce(scores, axis=1))
    for c in range(4):
        step = 1e-6 * (np.arange(4) == c)
        rise = MarginalLikelihood().rows(scores + step, y) - MarginalLikelihood().rows(
            scores - step, y
        )
        np.testing.assert_allclose(gradient[:, c], weight * rise / 2e-6, rtol=1e-6, atol=1e-7)
    impossible = np.full((1, 3), -np.inf)
    assert MarginalLikelihood().rows(impossible, [0]) == -np.inf


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("structure", [TAN, IMMORAL], ids=["tan", "immoral"])
@pytest.mark.parametrize(
    "learner",
    [
        MaximumConditionalLikelihood(),
        ExtendedCCBN(penalty=2.0, towards="generative"),
        MaxMargin(0.3, 0.4),
        MLBNSVM(2.0, 1.0, solver="lbfgs"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_gradients_equal_differences(learner, structure, gaps):
    data, unlabeled = drawn(1, gaps=gaps)
    learner.unlabeled_rows = unlabeled
    setting = learner._settings()[0][0]
    problem = learner._fit(setting, data, count(data), structure, None).problem
    free = np.random.default_rng(2).normal(size=problem.parameterization.size)
    gradient = problem.loss(free)[1]
    for k in range(free.size):
        step = 1e-5 * (np.arange(free.size) == k)
        rise = problem.loss(free + step)[0] - problem.loss(free - step)[0]
        assert gradient[k] == pytest.approx(rise / 2e-5, rel=1e-5, abs=1e-7)
    # the value is that of the definition
    learner.unlabeled_rows = None
    without = learner._fit(setting, data, count(data), structure, None).problem
    tables = problem.parameterization.tables(free)
    marginal = np.logaddexp.reduce(log_joint(tables, unlabeled.codes), axis=1)
    more = -float(marginal @ unlabeled.weight) / without.total_weight
    assert problem.loss(free)[0] == pytest.approx(without.loss(free)[0] + more, rel=1e-9)


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("penalty", [None, 1.0])
def test_gradients_of_weighted_levels(penalty, gaps):
    data, unlabeled = drawn(6, gaps=gaps)
    learner = LevelWeightedCCBN(cell_penalty=penalty)
    without = learner.prepare(data, count(data), IMMORAL)
    learner.unlabeled_rows = unlabeled
    prepared = learner.prepare(data, count(data), IMMORAL)
    values = []
    for one in (prepared, without):
        weights = LevelWeights(one.levels, penalty is not None, None, one.observed_only)
        pull = learner._penalty(weights, weights.start())
        objective = ConditionalLikelihood()
        problem = Problem(objective, one.scores, weights, None, pull, unlabeled=one.unlabeled)
        free = np.random.default_rng(2).normal(0, 0.3, weights.start().size)
        values.append(problem.loss(free)[0])
        if one is without:
            break
        gradient, tables = problem.loss(free)[1], weights.tables(free)
        for k in range(free.size):
            step = 1e-5 * (np.arange(free.size) == k)
            rise = problem.loss(free + step)[0] - problem.loss(free - step)[0]
            assert gradient[k] == pytest.approx(rise / 2e-5, rel=1e-5, abs=1e-7)
        marginal = np.logaddexp.reduce(log_joint(tables, unlabeled.codes), axis=1)
        more = -float(marginal @ unlabeled.weight) / problem.total_weight
    if penalty is None:  # free cells are those that occur, and more of them without labels
        assert values[0] == pytest.approx(values[1] + more, rel=1e-9)


# ---- expectation-maximization


@pytest.mark.parametrize("learner", [MaximumAPosteriori("dirichlet", 1.0), MaximumAPosteriori()])
@pytest.mark.parametrize("seed", range(3))
def test_no_iteration_of_em_lowers_the_likelihood(learner, seed):
    data, unlabeled = drawn(seed)
    tables, history = learned(learner, data, unlabeled)
    scores = [step["score"] for step in history]
    assert len(scores) > 3
    assert min(np.diff(scores)) >= 0
    # at the end the tables are those of the rows with their shares, to the tolerance
    joint = log_joint(tables, unlabeled.codes)
    shares = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
    rows = with_shares(data, unlabeled, shares)
    again = learner.learn(rows, count(rows), TAN, Context())
    np.testing.assert_allclose(np.exp(again.log_theta), np.exp(tables.log_theta), atol=0.02)
    own = log_joint(tables, data.codes)[np.arange(30), data.classes].sum()
    marginal = np.logaddexp.reduce(joint, axis=1) @ unlabeled.weight
    assert scores[-1] == pytest.approx(own + marginal + learner._log_density(tables))


def test_rows_of_no_weight_change_nothing():
    data, unlabeled = drawn(4)
    light = replace(unlabeled, weight=np.zeros(40))
    alone = MaximumLikelihood().learn(data, count(data), TAN, Context())
    found, _ = learned(MaximumLikelihood(), data, light)
    np.testing.assert_allclose(found.log_theta, alone.log_theta, atol=1e-12)


# ---- the classifier


def wine(share=0.3, seed=0):
    """Wine with some labels taken away."""
    data = load_dataset("wine")
    y = np.asarray(data.y, object).copy()
    y[np.random.default_rng(seed).random(y.size) > share] = None
    return data.X, y


def fit(X, y, **settings):
    """A fitted classifier, and what was said of rows without a label."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        clf = BayesNetClassifier("nb", **{"parameters": "map", **settings}).fit(X, y)
    return clf, [str(w.message) for w in caught if "no label" in str(w.message)]


@pytest.mark.parametrize("parameters", ["map", "hierarchy", "hybrid", "ml-bn-svm", "levels"])
def test_rows_without_a_label_are_used_and_counted(parameters):
    X, y = wine()
    clf, said = fit(X, y, unlabeled="use", parameters=parameters)
    n = int(sum(label is None for label in y))
    assert len(said) == 1
    assert said[0].startswith(f"{n} of 178 rows have no label and are ")
    record = clf.history_[0]
    assert record["unlabeled"] == n
    if record["weight"]:
        assert record["log_loss"][record["weight"]] < record["log_loss"][0.0]
        assert f"used with a weight of {record['weight']:g}" in said[0]
    else:
        assert "not used" in said[0]


def test_the_default_uses_them_once_its_network_is_chosen(monkeypatch):
    X, y = wine()
    there = np.array([label is not None for label in y])
    alone = BayesNetClassifier(random_state=0).fit(X[there], y[there].astype(str))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        monkeypatch.setattr(using, "_helps", lambda gains: False)
        unused = BayesNetClassifier(unlabeled="use", random_state=0).fit(X, y)
        monkeypatch.setattr(using, "WEIGHTS", (0.3,))
        monkeypatch.setattr(using, "_helps", lambda gains: True)
        used = BayesNetClassifier(unlabeled="use", random_state=0).fit(X, y)
    np.testing.assert_array_equal(unused.predict_proba(X), alone.predict_proba(X))
    assert used.structure_ == alone.structure_
    assert any(step.get("weight") == 0.3 for step in used.history_)
    change = np.abs(used.network_.parameters.log_theta - alone.network_.parameters.log_theta)
    assert change.max() > 1e-3
    rows = used._encoder.transform(X)
    gain = [model.network_.log_joint_of(rows) for model in (used, alone)]
    more = [float(np.logaddexp.reduce(one[~there], axis=1).sum()) for one in gain]
    assert more[0] > more[1]  # the rows without a label are more likely


def test_labeled_rows_alone_are_what_is_left_of_drop_and_of_no_help(monkeypatch):
    X, y = wine()
    there = np.array([label is not None for label in y])
    plain = BayesNetClassifier("nb", "map").fit(X[there], y[there].astype(str))
    dropped, said = fit(X, y, unlabeled="drop")
    assert said == [
        f'{(~there).sum()} of 178 rows have no label and are left out (unlabeled="drop")'
    ]
    monkeypatch.setattr(using, "MIN_GAIN", np.inf)
    unused, _ = fit(X, y, unlabeled="use")
    for other in (dropped, unused):
        np.testing.assert_array_equal(other.predict_proba(X), plain.predict_proba(X))
    assert not fit(X[there], y[there], unlabeled="use")[1]


def test_a_weight_is_raised_while_each_step_helps(monkeypatch):
    """Neither a step that one row speaks for, nor one after that, is taken."""
    rng = np.random.default_rng(0)
    many = rng.normal(0.01, 0.02, 50)  # a little in most rows
    one = np.zeros(50)
    one[7] = 20.0
    assert using._helps(many)
    assert not using._helps(one)
    assert not using._helps(np.zeros(50))
    losses = {0.0: np.zeros(50), 0.01: -many, 0.03: -2 * many, 0.1: -2 * many - one}
    losses |= {0.3: -9 * many, 1.0: -10 * many}

    def held_out(learner, parts):
        return losses[getattr(learner, "weight", 0.0)]

    monkeypatch.setattr(using, "_held_out_losses", held_out)
    record = fit(*wine(), unlabeled="use")[0].history_[0]
    assert record["weight"] == 0.03
    assert list(record["log_loss"]) == [0.0, 0.01, 0.03, 0.1]


@pytest.mark.parametrize("parameters", ["map", "hybrid"])
def test_rows_without_label_and_values_change_nothing(monkeypatch, parameters):
    X, y = wine()
    monkeypatch.setattr(using, "WEIGHTS", (0.3,))
    monkeypatch.setattr(using, "_helps", lambda gains: True)
    clf, _ = fit(X, y, unlabeled="use", parameters=parameters)
    empty = pd.DataFrame(np.nan, index=range(20), columns=X.columns)
    more, _ = fit(
        pd.concat([X, empty]), np.append(y, [None] * 20), unlabeled="use", parameters=parameters
    )
    assert "used with a weight of 0.3" in fit(X, y, unlabeled="use", parameters=parameters)[1][0]
    np.testing.assert_array_equal(more.predict_proba(X), clf.predict_proba(X))


def test_labels_of_numbers_and_weights_of_rows():
    X, y = wine()
    codes = pd.factorize(y)[0].astype(float)
    codes[codes < 0] = np.nan
    weight = np.where(np.isnan(codes), 0.5, 2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        clf = BayesNetClassifier("nb", "map", unlabeled="use").fit(X, codes, weight)
    assert clf.classes_.tolist() == [0.0, 1.0, 2.0]


def test_what_is_refused():
    X, y = wine()
    with pytest.raises(ValueError, match="NaN or None"):
        BayesNetClassifier("nb", "map").fit(X, y)
    with pytest.raises(ValueError, match="unlabeled='keep' is not known"):
        BayesNetClassifier(unlabeled="keep").fit(X, y)
    for parameters in ("dfe", "bn-svm", "ccbn-d", MLBNSVM(solver="projected")):
        with pytest.raises(ValueError, match="are learned from labeled rows only"):
            BayesNetClassifier("nb", parameters, unlabeled="use").fit(X, y)
    with pytest.raises(ValueError, match="no label in 178 rows"):
        BayesNetClassifier("nb", "map", unlabeled="use").fit(X, [None] * 178)
    pairs = iter([(X, y)])
    with pytest.raises(ValueError, match="needs a table in memory"):
        BayesNetClassifier("nb", "map", unlabeled="drop").fit(pairs)
    assert not hasattr(BayesNetClassifier("nb", "map", unlabeled="drop"), "partial_fit")
    gap = X.astype(float).copy()
    gap.iloc[0, 0] = np.nan
    with pytest.raises(ValueError, match="missing values"):
        BayesNetClassifier("nb", "map", unlabeled="drop", missing="error").fit(gap, y)


def test_normalized_tables_on_any_structure():
    data, unlabeled = drawn(5)
    tables, _ = learned(MLBNSVM(2.0), data, unlabeled, IMMORAL)
    layout = Layout.of(IMMORAL, data)
    for i in range(4):
        sums = np.exp(layout.table(tables.log_theta, i)).sum(axis=-2)
        np.testing.assert_allclose(sums, 1.0, atol=1e-9)
