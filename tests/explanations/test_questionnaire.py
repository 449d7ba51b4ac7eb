"""The cheapest questionnaire: two steps ahead against enumeration, the tree, and what it asks."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import believing
from discbayes import BayesNetClassifier, Likelihood, OneOf, load_dataset
from discbayes.costs import DecisionCosts
from discbayes.explanations.questionnaire import Lookahead

IRIS = load_dataset("iris")


def joint_of(network, codes, shares, feature):
    """P(value, c) of a feature, from log-joints of each of its values."""
    card = int(network.parameters.cards[feature])
    tried = np.repeat(codes, card, axis=1)
    tried[feature] = np.arange(card)
    found = np.exp(network.log_joint_of(tried))
    return found / found.sum(axis=0) * shares


def cheapest_cost(network, costs, prices, codes, shares, steps):
    """The cost of deciding now or after at most so many questions; mass may be below one."""
    best, first = (shares @ costs).min(), None
    cards = network.parameters.cards
    for i in np.flatnonzero(codes[:, 0] >= cards) if steps else []:
        total = prices[i] * shares.sum()
        for value, joint in enumerate(joint_of(network, codes, shares, i)):
            after = codes.copy()
            after[i] = value
            total += cheapest_cost(network, costs, prices, after, joint, steps - 1)[0]
        if total < best - 1e-12:
            best, first = total, i
    return best, first


@pytest.mark.parametrize("calibration", [None, "temperature", "pool"])
@pytest.mark.parametrize("kind", believing.KINDS)
def test_the_question_is_that_of_enumeration(kind, calibration):
    found = 0
    for seed in range(3):
        tables, rng = believing.random_tables(seed, kind, normalized=True)
        beliefs = believing.believing(tables, calibration, rng=rng)
        n = tables.n_classes
        costs = DecisionCosts.of(rng.random((n, n)) * 5, beliefs.labels)
        prices = rng.random(tables.cards.size) * 0.1
        for known in ([1], [0, 2]):
            codes = tables.cards.astype(np.uint8)[:, None].copy()
            codes[known] = 0
            shares = beliefs.posterior(codes)[0]
            now = (shares @ costs.matrix).min()
            network = beliefs.networks[-1]
            cost, first = cheapest_cost(network, costs.matrix, prices, codes, shares, 2)
            question = Lookahead(beliefs, costs, prices).question(codes)
            if first is not None:
                found += 1
                assert question.feature == first
                assert question.gain == pytest.approx(now - cost, abs=1e-9)
    assert found


def xor_rows():
    """Two columns that tell the class together, and nothing alone."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (2000, 3)).astype(str)
    y = np.where(X[:, 0] == X[:, 1], "same", "other")
    return X, y


def test_columns_that_tell_together_are_asked_for():
    X, y = xor_rows()
    clf = BayesNetClassifier([(0, 1)], "map").fit(X, y)
    assert clf.value_of_information({}, costs=1 - np.eye(2)).best != "x0"
    tree = clf.questionnaire(prices=0.1)
    found = tree.evaluate(X[:100], y[:100], "pandas")
    assert found["accuracy"].tolist() == [1.0, 1.0]
    assert found["questions"].tolist() == [2.0, 3.0]
    assert clf.questionnaire(prices=0.3).n_questions == 0  # half a mistake costs less than both


def test_what_needs_many_answers_is_asked_for():
    """Each of nine columns alone, and every two of them, leave the decision as it is."""
    rng = np.random.default_rng(0)
    y = (rng.random(3000) < 0.15).astype(int)
    X = (rng.random((3000, 9)) < np.where(y, 0.75, 0.25)[:, None]).astype(int).astype(str)
    clf = BayesNetClassifier("nb", "map").fit(X, y)
    asked, _ = zip(*clf.questionnaire(prices=0.002).follow(X[:50]), strict=True)
    assert np.mean([len(one) for one in asked]) > 2.5
    found = clf.questionnaire(prices=0.002).evaluate(X[:1000], y[:1000], "pandas")
    assert found["accuracy"][0] >= found["accuracy"][1] - 0.015
    assert found["cost"][0] < found["cost"][1]


def test_fewer_questions_for_nearly_the_same_accuracy():
    cancer = load_dataset("breast-cancer")
    clf = BayesNetClassifier("tan", "hybrid").fit(cancer.X[::2], cancer.y[::2])
    tree = clf.questionnaire(prices=0.003, max_questions=10)
    found = tree.evaluate(cancer.X[1:201:2], cancer.y[1:201:2], "pandas")
    assert found["questions"].tolist()[0] <= 10
    assert found["accuracy"][0] >= found["accuracy"][1] - 0.01
    np.testing.assert_allclose(found["price"], 0.003 * found["questions"])
    np.testing.assert_allclose(found["cost"], found["price"] + found["cost of decisions"])


@pytest.fixture(scope="module")
def tree():
    clf = BayesNetClassifier("tan", "map").fit(IRIS.X, IRIS.y)
    return clf.questionnaire(prices=0.005)


def test_the_tree_says_what_it_does(tree):
    lines = tree.text().splitlines()
    assert lines[0].endswith("?")
    assert sum(line.endswith("?") for line in lines) == tree.n_questions
    shares = [node.share for node in tree._nodes() if node.question is None]
    assert sum(shares) == pytest.approx(1)
    dot = tree.to_dot()
    assert dot.count("shape=box") == tree.n_questions
    assert dot.count("->") == len(lines) - 1
    svg = ElementTree.fromstring(tree.to_svg())
    texts = [one.text for one in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == [line.strip() for line in lines]
    assert tree._repr_html_() == tree.to_svg()


def test_names_are_escaped():
    X, y = xor_rows()
    names = ['<script>"', "back\\slash", "x"]
    clf = BayesNetClassifier([(0, 1)], "map").fit(pd.DataFrame(X, columns=names), y)
    tree = clf.questionnaire(prices=0.1)
    assert "<script>" not in tree.to_svg()
    ElementTree.fromstring(tree.to_svg())
    labels = re.findall(r'label="((?:[^"\\]|\\.)*)"', tree.to_dot())
    assert len(labels) == tree.to_dot().count("label=")


def test_what_cannot_be_answered_is_not_asked_again(tree):
    asked, decision = tree.follow([{"sepal length (cm)": 5.0}])[0]
    assert len(set(asked)) == len(asked)
    assert set(asked) >= {"petal width (cm)", "sepal length (cm)"}
    assert decision in tree.classifier.classes_


def test_a_tree_that_is_cut_off_goes_on(tree):
    clf = tree.classifier
    small = clf.questionnaire(prices=0.005, max_questions=1)
    assert "cut off" in small.text()
    assert small.follow(IRIS.X[::10]) == tree.follow(IRIS.X[::10])
    known = clf.questionnaire(prices=0.005, known={"petal width (cm)": 0.2})
    assert known.n_questions == 0


def test_actions_can_end_it():
    clf = BayesNetClassifier("tan", "map").fit(IRIS.X, IRIS.y)
    labels = clf.classes_.tolist()
    costs = {c: {d: 1.0 for d in labels if d != c} | {"refer": 0.02} for c in labels}
    tree = clf.questionnaire(costs, prices=0.015)
    assert "refer" in tree.text()
    found = tree.evaluate(IRIS.X, IRIS.y, "pandas")
    assert (found["cost of decisions"] <= 0.02 + 1e-9).all()


def test_the_next_question():
    clf = BayesNetClassifier("tan", "map").fit(IRIS.X, IRIS.y)
    name, gain = clf.next_question({}, prices=0.01)
    assert 0 < gain < 2 / 3
    assert clf.next_question({}, prices=0.01, exclude=[name])[0] != name
    assert clf.next_question({}, prices=5.0) is None
    assert clf.next_question(IRIS.X.iloc[0].to_dict()) is None
    with pytest.raises(ValueError, match="exclude names 'sepals'"):
        clf.next_question({}, exclude=["sepals"])
    with pytest.raises(ValueError, match="must be a finite number that is not negative"):
        clf.questionnaire(prices=-1.0)
    with pytest.raises(ValueError, match="prices names 'sepals'"):
        clf.questionnaire(prices={"sepals": 1.0})
    with pytest.raises(ValueError, match="max_questions=0 must be"):
        clf.questionnaire(max_questions=0)


def test_evidence_before_the_first_question():
    X, y = xor_rows()
    clf = BayesNetClassifier([(0, 1)], "map").fit(X, y)
    certain = clf.questionnaire(prices=0.1, known={"x0": OneOf("1")})
    assert certain.text() == clf.questionnaire(prices=0.1, known={"x0": "1"}).text()
    sure = {"x0": Likelihood({"0": 0.05, "1": 0.95})}
    tree = clf.questionnaire(prices=0.1, known=sure)
    assert tree.text().splitlines()[0] == "x1?"
    assert clf.next_question(sure, prices=0.1)[0] == "x1"
    [(asked, decision)] = tree.follow([["0", "1", "0"]])
    assert (asked, decision) == (["x1"], "same")  # what is known is that x0 is about 1
    of_value = clf.predict_proba({**sure, "x1": "1"})[0]
    assert tree.root.answers[1].probability == pytest.approx(of_value.max())
    found = tree.evaluate(X[:100], y[:100], "pandas")
    assert found["accuracy"][1] == 1.0
