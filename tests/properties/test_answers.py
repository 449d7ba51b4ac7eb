"""Everything that a fitted classifier can be asked, of any table: the answers are there and fit
together.
"""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import strategies as st

import oracle
from discbayes import BayesNetClassifier, edge_strengths
from discbayes.report.payload import payload
from drawn_learners import classifiers, structures
from drawn_tables import tables
from judging_fits import assert_probabilities, fit_or_refuse
from properties import for_all

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
SMALL = {"most_rows": 40, "most_columns": 4}


def log_odds(logs):
    """Log P(c) − log Σ of the others, by the log probabilities of all classes."""
    others = np.array(
        [np.logaddexp.reduce(np.delete(logs, c, axis=1), axis=1) for c in range(logs.shape[1])]
    ).T
    return logs - others


def row_of(table, at, known):
    """The values of one row by name, some of them left out."""
    cells = {column.name: column.cells[at] for column in table.columns}
    return {
        name: value
        for (name, value), keep in zip(cells.items(), known, strict=True)
        if keep and value is not None
    }


@for_all(
    25, clf=classifiers(), table=tables(**SMALL), missing=st.sampled_from(["available", "value"])
)
def test_contributions_add_up_to_the_log_odds(clf, table, missing):
    fitted = fit_or_refuse(clf.set_params(missing=missing), table, "objects")
    if fitted is None or fitted.classes_.size < 2:
        return
    X = table.frame("objects")
    explained = fitted.explain(X)
    assert_probabilities(explained.posterior, table.n_rows, fitted.classes_.size)
    np.testing.assert_allclose(explained.posterior, fitted.predict_proba(X), atol=1e-12)
    logs = fitted.predict_log_proba(X)
    if np.isfinite(logs).all():
        total = explained.base + np.nansum(explained.contributions, axis=1)
        np.testing.assert_allclose(total, log_odds(logs), rtol=1e-7, atol=1e-7)
    assert str(explained)
    explained.to_frame()
    known = np.flatnonzero([label in fitted.classes_.tolist() for label in table.labels.tolist()])
    assert str(fitted.relevance(X[known], table.labels[known]))


@for_all(25, clf=classifiers(), table=tables(**SMALL), seed=st.integers(0, 999))
def test_what_to_ask_and_what_would_change_the_decision(clf, table, seed):
    fitted = fit_or_refuse(clf, table)
    if fitted is None:
        return
    rng, n_classes = np.random.default_rng(seed), fitted.classes_.size
    row = row_of(table, rng.integers(table.n_rows), rng.random(len(table.columns)) < 0.6)
    if not row:
        return
    asked = fitted.value_of_information(row, costs=1 - np.eye(n_classes))
    assert set(asked.names) >= set(table.names) - set(row)
    assert np.isfinite(asked.gain).all()
    assert ((asked.gain >= -1e-9) & (asked.gain <= asked.entropy + 1e-9)).all()
    assert (asked.cost_gain >= -1e-9).all()
    for joint in asked.joints:
        np.testing.assert_allclose(joint.sum(axis=0), asked.posterior, atol=1e-9)
    assert str(asked)
    other = fitted.counterfactual(row)
    if other.found:
        assert other.label_after != other.label_before
        assert 1 <= len(other.changes) <= len(row)
        assert {name for name, _, _ in other.changes} <= set(row)
        texts = {column.name for column in table.columns if column.kind == "text"}
        if {name for name, _, _ in other.changes} <= texts:
            changed = row | {name: value for name, _, value in other.changes}
            cells = np.array([[changed.get(name) for name in table.names]], dtype=object)
            assert fitted.predict(cells)[0] == other.label_after
    assert str(other)


@for_all(25, structure=structures(), table=tables(**SMALL), seed=st.integers(0, 999))
def test_questions_to_the_network_agree_with_one_another(structure, table, seed):
    fitted = fit_or_refuse(BayesNetClassifier(structure, "map", random_state=0), table)
    if fitted is None:
        return
    rng, net = np.random.default_rng(seed), fitted.network_
    target = net.domain.target.name
    counted = np.flatnonzero(np.ones(table.n_rows) if table.weight is None else table.weight)
    row = row_of(table, rng.choice(counted), rng.random(len(table.columns)) < 0.5)
    found = net.query([target], row)
    whole = [[row.get(name) for name in table.names]]
    np.testing.assert_allclose(
        found.probabilities, net.posterior(np.array(whole, dtype=object))[0], atol=1e-9
    )
    hidden = [name for name in table.names if name not in row]
    if hidden:
        joint = net.query([hidden[0], target], row)
        np.testing.assert_allclose(joint.probabilities.sum(axis=0), found.probabilities, atol=1e-9)
        assert str(joint)
        joint.to_frame()
    best, log_p = net.most_probable(row)
    assert set(best) == {*hidden, target}
    assert log_p <= 1e-9
    assert best[target] in net.domain.target.values
    frame, labels = net.sample(5, random_state=0)
    assert frame.shape == (5, len(table.columns))
    assert set(labels.tolist()) <= set(fitted.classes_.tolist())
    filled = net.fill(table.frame(), how=["each", "joint", "draw"][seed % 3], random_state=0)
    assert filled.shape == (table.n_rows, len(table.columns))
    for column in table.columns:
        pairs = [
            (value, full) for value, full in zip(column.cells, filled[column.name], strict=True)
        ]
        if column.kind == "text" and any(column.cells[m] is not None for m in counted):
            assert all(
                full == value if value is not None else full in column.cells
                for value, full in pairs
            )
    unusual = net.novelty(table.frame(), n_draws=20)
    assert ((unusual >= 0) & (unusual <= 1)).all()
    strengths = edge_strengths(net)
    assert all(np.isfinite(value) and value >= -1e-9 for value in strengths.values())


@for_all(
    30,
    structure=structures(),
    parameters=st.sampled_from(["ml", "map", "map", "ccbn-d"]),
    table=tables(most_rows=40, most_columns=4),
    seed=st.integers(0, 999),
)
def test_gaps_are_the_sum_over_what_they_hide(structure, parameters, table, seed):
    fitted = fit_or_refuse(
        BayesNetClassifier(structure, parameters, random_state=0), table, "objects"
    )
    if fitted is None or np.prod(fitted.network_.domain.cards) > 500:
        return
    mask = np.random.default_rng(seed).random((table.n_rows, len(table.columns))) < 0.4
    rows = table.hidden(mask).take(range(min(table.n_rows, 6))).frame("objects")
    codes = fitted._encoder.transform(rows)
    expected = oracle.log_joint(fitted.network_.parameters, codes)
    try:
        found = fitted.predict_joint_log_proba(rows)
    except ValueError as error:  # free numbers without a penalty have no bounds
        if (
            "below the range" not in str(error)
            or np.ptp(fitted.network_.parameters.log_theta) < 700
        ):
            raise
        return
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@for_all(25, clf=classifiers(), table=tables(**SMALL), seed=st.integers(0, 999))
def test_priors_and_costs_decide_as_they_say(clf, table, seed):
    fitted = fit_or_refuse(clf, table, "objects")
    if fitted is None:
        return
    rng, n_classes, X = np.random.default_rng(seed), fitted.classes_.size, table.frame("objects")
    prior = rng.dirichlet(np.ones(n_classes))
    shares = fitted.predict_proba(X, class_prior=prior)
    assert_probabilities(shares, table.n_rows, n_classes)
    costs = rng.integers(0, 9, (n_classes, n_classes)).astype(float)
    expected = fitted.expected_costs(X, costs, class_prior=prior)
    np.testing.assert_allclose(expected, shares @ costs)
    decided = np.searchsorted(fitted.classes_, fitted.predict(X, class_prior=prior, costs=costs))
    rows = np.arange(table.n_rows)
    np.testing.assert_allclose(expected[rows, decided], expected.min(axis=1), atol=1e-9)


@for_all(6, clf=classifiers(), table=tables(**SMALL))
def test_the_page_holds_the_model_and_nothing_that_runs(clf, table):
    fitted = fit_or_refuse(clf, table)
    if fitted is None:
        return
    html = fitted.report(X=table.frame(), y=table.labels).html
    model = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', html, re.DOTALL)
    assert json.loads(model[1]) == json.loads(json.dumps(payload(fitted)))
    assert fitted._repr_html_()
