"""Relevance of columns and strengths of edges, against enumeration over all states and against
hiding columns.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss
from test_explanations import beliefs_of, draw_patients, impossible_tables, make, network_of

import oracle
from discbayes import BayesNetClassifier, TooManyCellsError
from discbayes.explanations import edge_strengths, explain, relevance
from discbayes.explanations.relevance import relevance_of
from discbayes.inference import family_posteriors, sample
from discbayes.network import CLASS, CPTs, Layout, Structure


@pytest.fixture(scope="module")
def patients():
    return draw_patients()


def test_relevance_is_the_mean_change_of_the_decision():
    tables, codes = make(9, n_classes=3)
    beliefs = beliefs_of(tables)
    found, got = explain(beliefs, codes), relevance(beliefs, codes)
    decisions = beliefs.decisions(codes)
    for i in range(tables.cards.size):
        known = codes[i] < tables.cards[i]
        own = np.abs(found.contributions[known, i, decisions[known]])
        np.testing.assert_allclose(got.mean[i], own.mean())
        assert got.unknown[i] == pytest.approx(1 - known.mean())
    assert got.share.sum() == pytest.approx(1)
    ratio = got.mean * (1 - got.unknown)
    np.testing.assert_allclose(got.share, ratio / ratio.sum())
    same = found.relevance()
    np.testing.assert_allclose(same.mean, got.mean)
    assert same.hidden.columns == got.hidden.columns


@pytest.fixture(scope="module")
def noisy(patients):
    """Patients with a column of noise and a copy of a column."""
    X, y = patients
    rng = np.random.default_rng(5)
    return (
        X.assign(noise=rng.choice(list("abc"), len(X)), copy=np.where(X["old"] == "yes", "J", "N")),
        y,
    )


def test_under_a_pool_hidden_columns_leave_the_weights_of_both_networks(noisy):
    X, y = noisy
    clf = BayesNetClassifier("auto", "auto").fit(X, y)
    found = clf.relevance(X, y).hidden
    assert {"noise", "smell"} <= set(found.columns)
    beliefs, codes = clf.calibrated_posterior(), clf.encode(X)
    hidden = codes.copy()
    places = [clf.network_.domain.position(name) for name in found.columns]
    hidden[places] = clf.network_.domain.cards[places, None]
    after = beliefs.log_posterior(hidden, beliefs.pool.weights_of(codes))
    decisions = clf.classes_[after.argmax(axis=1)]
    assert found.changed == pytest.approx((decisions != clf.predict(X)).mean())
    assert found.accuracy[1] == pytest.approx((decisions == y).mean())


def test_advice_names_noise_and_copies_and_is_true(noisy):
    X, y = noisy
    clf = BayesNetClassifier("tan", "hybrid").fit(X, y)
    found = clf.relevance(X, y)
    could_go = list(found.hidden.columns)
    assert "noise" in could_go
    assert "smell" in could_go
    assert "glucose" not in could_go
    assert len({"old", "copy"} & set(could_go)) >= 1
    rest = X.copy()
    rest[could_go] = None
    before, after = clf.predict(X), clf.predict(rest)
    assert found.hidden.changed == pytest.approx((before != after).mean())
    assert found.hidden.accuracy == pytest.approx(((before == y).mean(), (after == y).mean()))
    losses = [log_loss(y, clf.predict_proba(rows), labels=clf.classes_) for rows in (X, rest)]
    assert found.hidden.log_loss == pytest.approx(losses)
    assert 0 < found.hidden.lost <= 0.01
    shares, others = (
        clf.predict_proba(X),
        [clf.predict_proba(rows) for rows in (rest, X.iloc[:1].mask(X.notna()))],
    )
    lost, information = ((shares * np.log(shares / other)).sum(axis=1).mean() for other in others)
    assert found.hidden.lost == pytest.approx(lost / information)
    text = found.text(most=2)
    assert text.startswith("column")
    assert "3 other columns" in text
    assert f"{len(could_go)} uninformative columns; consider dropping " in text
    assert "accuracy" in text
    assert text.endswith("(on these rows: optimistic if the model was learned from them)")
    frame = found.to_frame("pandas")
    assert frame["column"].iloc[0] == "glucose"
    assert set(frame["column"][frame["could_go"]]) == set(could_go)
    assert frame["share"].is_monotonic_decreasing


def test_a_rare_class_is_not_given_up():
    """Four rows of a thousand are of the second class: hiding all columns would change few
    decisions.
    """
    rng = np.random.default_rng(0)
    y = np.arange(1000) < 4
    X = pd.DataFrame({"signal": np.where(y, "on", "off"), "noise": rng.choice(["a", "b"], 1000)})
    clf = BayesNetClassifier("nb", "map").fit(X, y)
    assert clf.predict(X).sum() == 4
    assert clf.relevance(X).hidden.columns == ("noise",)


def test_relevance_refuses_what_makes_no_sense(patients):
    X, y = patients
    clinic = BayesNetClassifier([("old", "glucose")], "map").fit(X, y)
    with pytest.raises(ValueError, match=r"tolerance=1\.5 must be a share"):
        clinic.relevance(X, tolerance=1.5)
    with pytest.raises(ValueError, match="X has no rows"):
        relevance(clinic.calibrated_posterior(), np.empty((3, 0), np.uint8))
    with pytest.raises(ValueError, match="X has 2000 rows and y has 1999"):
        clinic.relevance(X, y[1:])
    with pytest.raises(ValueError, match="classes that were not there at fit"):
        clinic.relevance(X, np.where(y == "healthy", "well", y))


def test_relevance_without_any_known_value_and_with_infinite_contributions():
    beliefs = beliefs_of(impossible_tables())
    nothing = relevance(beliefs, np.array([[3], [2]], np.uint8))
    assert nothing.mean.tolist() == nothing.share.tolist() == [0, 0]
    assert nothing.unknown.tolist() == [1, 1]
    assert nothing.hidden.columns == ("x0", "x1")
    infinite = relevance(beliefs, np.array([[0], [1]], np.uint8))
    assert infinite.mean[1] == 100
    assert infinite.share.sum() == pytest.approx(1)


def test_columns_that_cannot_be_summed_out_are_not_advised():
    """Hiding both parents needs a factor of 5 · 5 · 2 cells."""
    rng = np.random.default_rng(0)
    tables = oracle.random_tables(rng, Structure(((), (), (0, 1))), [5, 5, 2], 2)
    codes, _ = sample(tables, 500, rng)
    beliefs = beliefs_of(tables, max_cells=10)
    changes = np.array([1.0, 2.0, 3.0])
    assert len(relevance_of(beliefs, codes, changes, None, 1.0).hidden.columns) == 1
    free = replace(beliefs, network=replace(beliefs.network, max_cells=1000))
    assert len(relevance_of(free, codes, changes, None, 1.0).hidden.columns) == 3


# ---- edges


def information(joint, a, b):
    """I(a; b | all other axes) from its definition, of a joint that sums to one."""
    found, rest = 0.0, joint.sum(axis=(a, b), keepdims=True)
    ratio = joint * rest / (joint.sum(axis=a, keepdims=True) * joint.sum(axis=b, keepdims=True))
    for p, r in zip(joint.ravel(), ratio.ravel(), strict=True):
        found += p * np.log(r) if p > 0 else 0.0
    return found


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_strengths_equal_enumeration(seed, normalized):
    tables, _ = make(seed + 40, "any", normalized)
    structure, n = tables.structure, tables.cards.size
    joint = oracle.full_joint(tables)
    joint /= joint.sum()
    found = edge_strengths(network_of(tables))
    expected = set(structure.edges(range(n), CLASS))
    assert set(found) == expected
    for parent, child in expected:
        kept = [*structure.parents[child], child, n]
        family = joint.sum(axis=tuple(i for i in range(n) if i not in kept), keepdims=True)
        other = n if parent == CLASS else parent
        assert found[parent, child] == pytest.approx(information(family, other, child), abs=1e-12)


def test_families_with_impossible_values():
    tables, _ = make(3, "any", zeros=True)
    joint = oracle.full_joint(tables)
    joint /= joint.sum()
    n, cells = tables.cards.size, family_posteriors(tables)
    for i, parents in enumerate(tables.structure.parents):
        kept = [*parents, i, n]
        family = joint.sum(axis=tuple(k for k in range(n) if k not in kept))
        moved = np.moveaxis(family, [sorted(kept).index(k) for k in kept], range(len(kept)))
        np.testing.assert_allclose(tables.layout.table(cells, i), moved, atol=1e-14)


def test_an_edge_that_says_nothing_has_no_strength():
    rng = np.random.default_rng(2)
    structure = Structure(((), (), (0, 1)), (True, False, True))
    tables = oracle.random_tables(rng, structure, [3, 2, 3], 2)
    theta = tables.log_theta.copy()
    table = tables.layout.table(theta, 2)
    table[:] = table[:1]  # whatever the first parent is
    found = edge_strengths(network_of(replace(tables, log_theta=theta)))
    assert found[0, 2] < 1e-14
    assert found[1, 2] > 0.01
    assert found[CLASS, 2] > 0.01
    assert (CLASS, 1) not in found


def test_strengths_of_many_features():
    """A path of sixty features: the last edge from the two marginals that a query gives."""
    rng = np.random.default_rng(4)
    structure = Structure(((), *((i,) for i in range(59))))
    network = network_of(oracle.random_tables(rng, structure, np.full(60, 2), 2))
    joint = network.query(["x58", "x59", "y"]).probabilities
    assert edge_strengths(network)[58, 59] == pytest.approx(information(joint, 0, 1), abs=1e-12)


def test_strengths_that_are_too_large_to_find_name_the_columns():
    rng = np.random.default_rng(4)
    structure = Structure(((), (0,), (0, 1), (0, 1, 2)))
    network = network_of(oracle.random_tables(rng, structure, np.full(4, 3), 2), max_cells=100)
    with pytest.raises(TooManyCellsError, match="3 columns \\(x0, x1, x2\\), above max_cells=100"):
        edge_strengths(network)
    assert len(edge_strengths(replace(network, max_cells=400))) == 10


def test_a_network_without_features_has_no_edges():
    assert (
        edge_strengths(
            network_of(
                CPTs(
                    Layout(Structure(()), np.empty(0, np.int64), 2), np.log([0.5, 0.5]), np.empty(0)
                )
            )
        )
        == {}
    )
