"""Importances, log odds, summaries and conversions of fitted models."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics import roc_auc_score

from discbayes import BayesNetClassifier, BayesNetEnsemble, load, load_dataset


@pytest.fixture(scope="module")
def cancer():
    return load_dataset("breast-cancer")


@pytest.fixture(scope="module")
def naive(cancer):
    return BayesNetClassifier("nb", "map").fit(cancer.X, cancer.y)


def test_importances_are_mutual_information(naive):
    """Under naive Bayes, the tables have P(x | c), from which it follows by its definition."""
    prior = np.exp(naive.network_.parameters.log_prior)
    expected = []
    for i in range(naive.n_features_in_):
        joint = np.exp(naive.network_.parameters.log_table(i)) * prior
        independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
        expected.append((joint * np.log(joint / independent)).sum())
    found = naive.feature_importances_
    np.testing.assert_allclose(found, np.array(expected) / np.sum(expected), atol=1e-10)
    assert found.sum() == pytest.approx(1)


def test_features_are_selected_by_importance(cancer, naive):
    selector = SelectFromModel(clone(naive), max_features=5, threshold=-np.inf)
    kept = selector.fit(cancer.X, cancer.y).get_support()
    assert set(np.flatnonzero(kept)) == set(np.argsort(-naive.feature_importances_)[:5])


def test_an_ensemble_has_the_mean_of_its_members():
    iris = load_dataset("iris")
    ensemble = BayesNetEnsemble(2, random_state=0).fit(iris.X, iris.y)
    members = [member.feature_importances_ for member in ensemble.members_]
    np.testing.assert_allclose(ensemble.feature_importances_, np.mean(members, axis=0))
    assert ensemble.n_samples_seen_ == 150
    text = str(ensemble.summary())
    assert "2 networks" in text
    assert "petal width (cm)" in text


def test_decision_function_is_the_log_odds_of_the_second_class(cancer, naive):
    odds = naive.decision_function(cancer.X)
    log_shares = naive.predict_log_proba(cancer.X)
    np.testing.assert_allclose(odds, log_shares[:, 1] - log_shares[:, 0], rtol=1e-9)
    assert (naive.classes_[(odds > 0).astype(int)] == naive.predict(cancer.X)).all()
    by_shares = roc_auc_score(cancer.y, naive.predict_proba(cancer.X)[:, 1])
    # probabilities that round to one are ties
    assert roc_auc_score(cancer.y, odds) == pytest.approx(by_shares, abs=1e-4)


def test_decision_function_of_more_classes_has_a_column_for_each():
    iris = load_dataset("iris")
    clf = BayesNetClassifier("tan", "map").fit(iris.X, iris.y)
    odds, shares = clf.decision_function(iris.X), clf.predict_proba(iris.X)
    np.testing.assert_allclose(1 / (1 + np.exp(-odds)), shares, atol=1e-12)


def test_the_number_of_training_rows_is_kept(cancer, naive, tmp_path):
    assert naive.n_samples_seen_ == 569
    naive.save(tmp_path / "counts.json")
    assert load(tmp_path / "counts.json").n_samples_seen_ == 569  # by the counts
    naive.save(tmp_path / "bare.json", counts=False)
    assert load(tmp_path / "bare.json").n_samples_seen_ is None  # a file of version 1
    parts = BayesNetClassifier("nb", "map").partial_fit(cancer.X[:400], cancer.y[:400])
    assert parts.partial_fit(cancer.X[400:], cancer.y[400:]).n_samples_seen_ == 569
    iris = load_dataset("iris")
    default = BayesNetClassifier().fit(iris.X, iris.y)
    default.save(tmp_path / "default.json")
    again = load(tmp_path / "default.json")
    assert again.n_samples_seen_ == 150
    assert str(again.summary()) == str(default.summary())


def test_a_summary_is_about_twenty_lines(naive):
    summary = naive.summary()
    lines = str(summary).splitlines()
    assert lines[0] == "class: benign (63 %), malignant (37 %), from 30 columns"
    assert "training rows" in lines[1]
    assert "569" in lines[1]
    assert len(lines) <= 22
    assert "other columns together" in lines[-1]
    html = summary._repr_html_()
    assert "<table" in html
    assert "worst perimeter" in html


def test_html_of_a_summary_escapes_names():
    X = {"<b>": ["a", "b"] * 10}
    import pandas as pd

    clf = BayesNetClassifier("nb", "map").fit(pd.DataFrame(X), ["<i>", "y"] * 10)
    html = clf.summary()._repr_html_()
    assert "<b>" not in html.replace("<p><b>class", "")
    assert "<i>" not in html


def test_a_network_becomes_a_graph():
    iris = load_dataset("iris")
    network = BayesNetClassifier("tan", "map").fit(iris.X, iris.y).network_
    graph = network.to_networkx()
    assert set(graph.edges) == set(network.edges(with_class=True))
    lines = network.to_dot().splitlines()
    assert lines[0] == "digraph {"
    assert sum("->" in line for line in lines) == graph.number_of_edges()


def test_dot_quotes_names():
    import pandas as pd

    X = pd.DataFrame({'a "b" \\': ["x", "y"] * 5})
    network = BayesNetClassifier("nb", "map").fit(X, [0, 1] * 5).network_
    assert r'"class" -> "a \"b\" \\";' in network.to_dot()


def test_explanations_become_those_of_shap(monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", SimpleNamespace(Explanation=SimpleNamespace))
    iris = load_dataset("iris")
    clf = BayesNetClassifier("tan", "map").fit(iris.X, iris.y)
    rows = iris.X.iloc[[0, 60]].copy()
    rows.iloc[0, 0] = np.nan
    explanation = clf.explain(rows)
    found = explanation.to_shap()
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, explanation.log_odds)
    assert np.isnan(found.data[0, 0])
    assert found.feature_names == explanation.names
    assert found.output_names == ["setosa", "versicolor", "virginica"]


def test_a_package_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    iris = load_dataset("iris")
    explanation = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).explain(iris.X[:1])
    with pytest.raises(ModuleNotFoundError, match="pip install shap"):
        explanation.to_shap()
