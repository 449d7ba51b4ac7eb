"""Conditional likelihood and margins of networks in which the class has parents."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import check_grad
from scipy.special import logsumexp
from support.oracle import full_log_joint, random_states, random_tables

from discbayes import BayesNetClassifier, MaximumConditionalLikelihood, Structure
from discbayes.counts import count
from discbayes.data import Domain, Encoded, Variable
from discbayes.engine import Context
from discbayes.network import Layout, absorb_class
from discbayes.objectives import ConditionalLikelihood, Margin
from discbayes.parameters import ExtendedCCBN
from discbayes.parameters.log_scores import LogScores
from discbayes.parameters.parameterization import AbsorbedClass
from discbayes.parameters.problem import Problem

CARDS = np.array([3, 2, 4, 2, 3])
# 0 -> class, 1 -> class, 0 -> 1, class -> 2, 3 -> 2, 4 <- 2
STRUCTURE = Structure(
    ((), (0,), (3,), (), (2,)), (False, False, True, False, True), class_parents=(1, 0)
)


def _tables(rng, states):
    features = Structure(STRUCTURE.parents, STRUCTURE.class_children)
    tables = random_tables(rng, features, CARDS, 3, states=states)
    shape = (*tables.layout.n_states[[1, 0]], 3)
    return absorb_class(tables, (1, 0), np.log(rng.dirichlet(np.ones(3), shape[:-1])))


def _layout(states):
    return Layout(STRUCTURE, CARDS, 3, states)


def _rows(rng, missing):
    codes = np.array([rng.integers(card, size=60) for card in CARDS], np.uint8)
    codes[rng.random(codes.shape) < missing] = 255
    codes = np.minimum(codes, CARDS.astype(np.uint8)[:, None])
    features = [
        Variable(f"x{i}", "categorical", tuple(map(str, range(n)))) for i, n in enumerate(CARDS)
    ]
    target = Variable("y", "categorical", ("a", "b", "c"))
    domain = Domain(tuple(features), target)
    return Encoded(codes, domain, rng.integers(3, size=60), rng.random(60) + 0.5)


@pytest.mark.parametrize("seed", range(3))
def test_parameters_give_the_tables_that_they_start_from(seed):
    rng = np.random.default_rng(seed)
    states = random_states(rng, CARDS) if seed else None
    tables = _tables(rng, states)
    found = AbsorbedClass(_layout(states))
    free = found.start(tables)
    assert free.size == found.size
    numbers = found.numbers(free)
    np.testing.assert_allclose(numbers.cells, tables.log_theta, atol=1e-12)
    again = found.tables(free + 0.0)
    np.testing.assert_allclose(full_log_joint(again), full_log_joint(tables), atol=1e-12)
    assert again.class_table.parents == (1, 0)


@pytest.mark.parametrize("objective", [ConditionalLikelihood(), Margin(0.3, kappa=0.5)])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_values_equal_enumeration_and_gradients_equal_differences(objective, missing):
    rng = np.random.default_rng(1)
    data = _rows(rng, missing)
    found = AbsorbedClass(_layout(None))
    scores = LogScores(data, found.layout, found.normalized)
    problem = Problem(objective, scores, found)
    free = rng.normal(size=found.size)
    assert check_grad(problem.value, lambda x: problem.value_and_gradient(x)[1], free) < 1e-5
    joint = full_log_joint(found.tables(free))
    log_joint = np.empty((60, 3))
    for row, codes in enumerate(data.codes.T):
        at = tuple(
            slice(None) if c >= n else slice(c, c + 1) for c, n in zip(codes, CARDS, strict=True)
        )
        log_joint[row] = logsumexp(joint[at].reshape(-1, 3), axis=0)
    expected = objective.value(log_joint, data.classes, data.weight) / data.weight.sum()
    assert problem.value(free) == pytest.approx(expected, abs=1e-10)


def test_unseen_rows_of_features_back_off_and_the_class_keeps_its_table():
    rng = np.random.default_rng(2)
    data = _rows(rng, 0.0)
    keep = (data.codes[3] == 0) | (data.codes[2] != 1)
    data = data.take(keep)
    learner = MaximumConditionalLikelihood(max_iter=5, tol=0.1)
    with pytest.warns(UserWarning, match="not joined by edges"):
        tables = learner.learn(data, count(data), STRUCTURE, Context())
    own = tables.class_table
    np.testing.assert_allclose(np.exp(own.log_table).sum(axis=-1), 1)
    assert own.features.is_normalized
    joint = np.exp(full_log_joint(tables))
    assert joint.sum() == pytest.approx(1)


@pytest.fixture(scope="module")
def rows():
    """Age and smoking → disease → cough, where the disease is an exclusive or."""
    rng = np.random.default_rng(0)
    n = 600
    age, smokes = rng.random(n) < 0.5, rng.random(n) < 0.4
    sick = rng.random(n) < np.where(age ^ smokes, 0.8, 0.1)
    cough = rng.random(n) < 0.2 + 0.5 * sick
    X = pd.DataFrame({"old": age, "smokes": smokes, "cough": cough}, dtype=object)
    X[rng.random(X.shape) < 0.1] = None
    return X, pd.Series(np.where(sick, "sick", "well"), name="disease")


EDGES = [("old", "disease"), ("smokes", "disease"), ("disease", "cough")]


@pytest.mark.parametrize("parameters", ["hybrid", "cl", "ccbn-e", "mm"])
def test_discriminative_fits(rows, parameters):
    X, y = rows
    clf = BayesNetClassifier(EDGES, parameters, random_state=0).fit(X, y)
    assert clf.network_.class_parents == ("old", "smokes")
    counted = BayesNetClassifier(EDGES, "map", calibrate=None).fit(X, y)

    def mean_log(one):
        at = (np.asarray(y) == "well").astype(int)
        return np.log(one.network_.posterior(X)[np.arange(at.size), at]).mean()

    if parameters != "mm":
        assert mean_log(clf) >= mean_log(counted) - 1e-9
    assert clf.score(X, y) > 0.75
    joint = np.exp(full_log_joint(clf.network_.parameters))
    expected = joint[1, 0].sum(axis=0) / joint[1, 0].sum()
    row = {"old": True, "smokes": False}
    np.testing.assert_allclose(clf.network_.posterior(row)[0], expected, atol=1e-12)
    assert clf.network_.prior.sum() == pytest.approx(1)


def test_given_tables_are_no_start(rows):
    X, y = rows
    clf = BayesNetClassifier(EDGES, "map").fit(X, y)
    learner = ExtendedCCBN(start=clf.network_.parameters)
    with pytest.raises(ValueError, match="starts at given tables where the class has no parents"):
        BayesNetClassifier(EDGES, learner).fit(X, y)
