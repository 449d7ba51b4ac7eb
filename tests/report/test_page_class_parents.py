"""The page of a network in which the class has parents: picture, tables and answers."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
from discbayes import BayesNet, BayesNetClassifier, Not, Structure
from discbayes.data import Domain, Variable
from discbayes.network import absorb_class

PARENTS = (0, 2)
STRUCTURE = Structure(((), (0,), (), (1,), (3,)), (False, True, False, True, False))


@pytest.fixture(scope="module")
def classifier():
    rng = np.random.default_rng(4)
    cards = np.array([2, 3, 2, 3, 2])
    tables = oracle.random_tables(rng, STRUCTURE, cards, 3)
    shape = [*cards[list(PARENTS)], 3]
    of_class = np.log(rng.dirichlet(np.ones(3), shape[:-1]))
    features = tuple(
        Variable(f"x{i}", "categorical", tuple(f"v{k}" for k in range(card)))
        for i, card in enumerate(cards)
    )
    target = Variable("disease", "categorical", ("a", "b", "c"))
    network = BayesNet(Domain(features, target), absorb_class(tables, PARENTS, of_class))
    return BayesNetClassifier.from_network(network)


@pytest.fixture
def page(classifier, open_page):
    return open_page(classifier.report())


def posterior(page):
    bars = page.locator("#posterior li").all()
    return [float(bar.get_attribute("data-value")) for bar in bars]


def table(page, node):
    """The rows of the table of a node: heads and numbers as text."""
    page.locator(f'[data-node="{node}"]').click()
    rows = page.locator("#sheet tbody tr").all()
    return [row.locator("th, td").all_inner_texts() for row in rows]


def test_answers_are_those_of_the_library(classifier, page):
    rng = np.random.default_rng(0)
    close = {"rtol": 0, "atol": 1e-9}
    np.testing.assert_allclose(posterior(page), classifier.predict_proba([{}])[0], **close)
    row = {}
    for i in rng.permutation(5).tolist():
        code = int(rng.integers(2))
        page.select_option(f"#value-{i}", str(code))
        row[f"x{i}"] = f"v{code}"
        np.testing.assert_allclose(posterior(page), classifier.predict_proba([row])[0], **close)
    page.locator('#features li[data-feature="1"] > button').click()
    page.locator(".evidence > select").select_option("not")
    page.get_by_label("v0", exact=True).check()
    row["x1"] = Not("v0")
    np.testing.assert_allclose(posterior(page), classifier.predict_proba([row])[0], **close)
    explanation = classifier.explain([row])
    page.select_option("#class-choice", "0")
    shown = page.locator("#reasons .value").all()
    values = explanation.contributions[0, :, 0]
    expected = sorted([explanation.base_of(0)[0], *values[~np.isnan(values)]])
    got = sorted(float(one.get_attribute("data-value")) for one in shown)
    np.testing.assert_allclose(got, expected, **close)


def test_tables_are_those_of_the_network_as_it_was_given(classifier, page):
    of_class = np.exp(classifier.network_.parameters.class_table.log_table)
    rows = table(page, -1)
    assert [row[:2] for row in rows] == [
        ["v0", "v0"], ["v0", "v1"], ["v1", "v0"], ["v1", "v1"]
    ]  # fmt: skip
    found = [[float(cell) for cell in row[2:]] for row in rows]
    np.testing.assert_allclose(found, of_class.reshape(4, 3), atol=6e-4)
    features = classifier.network_.parameters.class_table.features
    for i in PARENTS:  # one of them is the host
        [row] = table(page, i)
        found = [float(cell) for cell in row]
        np.testing.assert_allclose(found, np.exp(features.log_table(i)[..., 0]), atol=6e-4)
        assert "Weights" not in page.inner_text("#sheet")
    page.select_option("#value-0", "1")
    table(page, -1)
    unfit = page.locator("#sheet tbody tr.unfit th:first-child").all_inner_texts()
    assert unfit == ["v0", "v0"]


def test_the_picture_has_edges_to_the_class(page):
    edges = page.eval_on_selector_all(
        "#drawing .edge", "edges => edges.map((e) => [e.dataset.from, e.dataset.to].map(Number))"
    )
    assert sorted(edges) == [
        [-1, 1], [-1, 3], [0, -1], [0, 1], [1, 3], [2, -1], [3, 4]
    ]  # fmt: skip
    page.locator('[data-node="-1"]').click()
    assert "Parents: x0, x2" in page.inner_text("#sheet .note")
    assert "has 2 parents, and is a parent of 2 of 5 features" in page.inner_text("#network .lead")


def test_notebooks_draw_it_too(classifier):
    assert "x2 → disease" in classifier.network_._repr_html_()


def test_rows_with_labels_are_evaluated(classifier):
    X, y = classifier.network_.sample(30, random_state=0)
    assert "Evaluation" in classifier.report(X=X, y=y).html
