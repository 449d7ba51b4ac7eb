"""Error bars against closed forms, refits on repeated rows, and a known truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.base import clone

from discbayes import (
    BayesNetClassifier,
    BayesNetEnsemble,
    Between,
    MaximumAPosteriori,
    Not,
    Structure,
    inference,
    load_dataset,
)
from discbayes.bayesnet import BayesNet
from discbayes.calibration import LogPool
from discbayes.classifier.error_bars import ErrorBars
from discbayes.data import Domain, Variable
from discbayes.network import CPTs, Layout, absorb_class

IRIS = load_dataset("iris")


def drawn_network(rng, n_features=8, card=3, n_classes=2):
    """A tree with tables from a uniform distribution."""
    parents = [(), *((int(rng.integers(i)),) for i in range(1, n_features))]
    values = tuple(f"v{k}" for k in range(card))
    features = tuple(Variable(f"x{i}", "categorical", values) for i in range(n_features))
    target = Variable("y", "categorical", tuple(range(n_classes)))
    layout = Layout(Structure(tuple(parents)), np.full(n_features, card), n_classes)
    theta = rng.standard_gamma(1.0, layout.size)
    theta /= layout.row_totals(theta)
    prior = np.log(rng.dirichlet(np.full(n_classes, 5.0)))
    return BayesNet(Domain(features, target), CPTs(layout, prior, np.log(theta)))


def fitted(network, n_rows, rng, structure, parameters="map"):
    """A classifier of rows that a network draws, and these rows."""
    codes, y = inference.sample(network.parameters, n_rows, rng)
    X = network.decode(codes, "pandas")
    clf = BayesNetClassifier(structure, parameters, domains=network.domain)
    return clf.fit(X, y), X, y


def covered(bars, network, rows):
    """The share of intervals of P(c | x) that hold it."""
    X, truth = network.decode(rows, "pandas"), inference.posterior(
        network.log_joint_of(rows), network.prior
    )  # fmt: skip
    low, high = bars.interval(X)
    return ((low <= truth) & (truth <= high)).mean()


def test_intervals_of_the_posterior_hold_the_truth():
    shares = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        network = drawn_network(rng)
        clf, _, _ = fitted(network, 1500, rng, network.structure)
        rows, _ = inference.sample(network.parameters, 200, rng)
        rows[:, ::2][rng.random((8, 100)) < 0.4] = 3  # missing
        shares.append(covered(clf.dirichlet(n=100), network, rows))
    assert 0.85 <= np.mean(shares) <= 0.95


def test_intervals_of_refits_hold_the_truth():
    shares = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        network = drawn_network(rng)
        clf, X, y = fitted(network, 3000, rng, "tan")
        rows, _ = inference.sample(network.parameters, 200, rng)
        shares.append(covered(clf.bootstrap(X, y, n=100), network, rows))
    assert 0.85 <= np.mean(shares) <= 0.95


def test_a_refit_is_the_fit_on_the_rows_that_were_drawn():
    wine = load_dataset("wine")
    clf = BayesNetClassifier("tan", "map").fit(wine.X, wine.y)
    bars = clf.bootstrap(wine.X, wine.y, n=3, random_state=5)
    for rng, draw in zip(np.random.default_rng(5).spawn(3), bars.draws, strict=True):
        often = rng.multinomial(178, np.full(178, 1 / 178))
        rows = np.repeat(np.arange(178), often)
        again = clone(clf).set_params(domains=clf.domain_).fit(wine.X.iloc[rows], wine.y[rows])
        assert again.structure_ == draw.network.structure
        np.testing.assert_allclose(
            again.network_.parameters.log_theta, draw.network.parameters.log_theta, atol=1e-12
        )


def test_weights_threads_and_seeds():
    clf = BayesNetClassifier("tan", "map").fit(IRIS.X, IRIS.y)
    weight = np.arange(150) % 3
    rows = weight > 0
    row = {"petal width (cm)": 1.7}
    some = clf.dirichlet(IRIS.X, IRIS.y, sample_weight=weight)
    repeated = np.repeat(np.arange(150), weight)
    same = clf.dirichlet(IRIS.X.iloc[repeated], IRIS.y[repeated])
    np.testing.assert_array_equal(some.interval(row), same.interval(row))
    one = clf.bootstrap(IRIS.X, IRIS.y, n=10)
    two = clone(clf).set_params(n_jobs=2).fit(IRIS.X, IRIS.y).bootstrap(IRIS.X, IRIS.y, n=10)
    np.testing.assert_array_equal(one.interval(row), two.interval(row))
    other = clf.bootstrap(IRIS.X, IRIS.y, n=10, random_state=1)
    assert (other.interval(row)[0] != one.interval(row)[0]).any()
    weighted = clf.bootstrap(IRIS.X, IRIS.y, n=10, sample_weight=rows.astype(float))
    assert weighted.interval(row)[0].shape == (1, 3)


def test_tables_have_beta_quantiles():
    clf = BayesNetClassifier("nb", "map").fit(IRIS.X, IRIS.y)
    bars = clf.dirichlet(n=2000)
    low, high = bars.tables(0.8, "pandas")
    counts = clf.sufficient_statistics_.counts
    name = clf.domain_.names[3]
    cells = counts.feature(3).T + 0.5  # a row for each class
    total = cells.sum(axis=1, keepdims=True)
    for frame, quantile in ((low, 0.1), (high, 0.9)):
        found = frame[name].iloc[:, 1:].to_numpy(float)
        np.testing.assert_allclose(found, beta.ppf(quantile, cells, total - cells), atol=1e-12)
        prior = frame["class"]["probability"].to_numpy(float)
        np.testing.assert_allclose(prior, beta.ppf(quantile, 50.5, 101), atol=1e-12)
    # a row without any value has the probabilities of the classes
    drawn_low, drawn_high = bars.interval({}, 0.8)
    np.testing.assert_allclose(drawn_low[0], low["class"]["probability"], atol=0.015)
    np.testing.assert_allclose(drawn_high[0], high["class"]["probability"], atol=0.015)


def test_a_table_that_all_classes_share_is_drawn_once():
    structure = Structure(((), (0,), (), ()), (True, False, True, True))
    clf = BayesNetClassifier(structure, "map").fit(IRIS.X, IRIS.y)
    table = clf.dirichlet(n=2).draws[0].network.parameters.log_table(1)
    np.testing.assert_array_equal(table, np.broadcast_to(table[..., :1], table.shape))


def test_tables_of_refits():
    clf = BayesNetClassifier("nb", "map").fit(IRIS.X, IRIS.y)
    low, high = clf.bootstrap(IRIS.X, IRIS.y, n=30).tables(library="pandas")
    now = clf.network_.tables("pandas")
    for name in clf.domain_.names:
        parts = (frame[name].iloc[:, 1:].to_numpy(float) for frame in (low, now, high))
        below, estimate, above = parts
        assert (below <= estimate + 1e-12).all()
        assert (estimate <= above + 1e-12).all()
    trees = BayesNetClassifier("tan", "map").fit(IRIS.X, IRIS.y)
    with pytest.raises(ValueError, match=r"use clf\.dirichlet, or fix the edges"):
        trees.bootstrap(IRIS.X, IRIS.y, n=30).tables()


def test_contributions():
    clf = BayesNetClassifier("nb", "map").fit(IRIS.X, IRIS.y)
    X = IRIS.X[:5].copy()
    X.iloc[0, 1] = np.nan
    low, high = clf.bootstrap(IRIS.X, IRIS.y, n=30).contributions(X)
    now = clf.explain(X).contributions
    np.testing.assert_array_equal(np.isnan(low), np.isnan(now))
    known = ~np.isnan(now)
    assert (low[known] <= now[known] + 1e-9).all()
    assert (now[known] <= high[known] + 1e-9).all()
    assert (high - low)[known].max() > 0.1


def test_the_default_keeps_its_pool():
    clf = BayesNetClassifier(random_state=0).fit(IRIS.X, IRIS.y)
    bars = clf.bootstrap(IRIS.X, IRIS.y, n=2)
    for draw in bars.draws:
        assert isinstance(draw.calibration, LogPool)
        assert draw.calibration.scale == clf.calibration_.scale
        assert draw.calibration.generative.structure == draw.network.structure
    assert bars.interval(IRIS.X[:3])[0].shape == (3, 3)


# ---- edges


def test_edges_that_are_there_are_found():
    rng = np.random.default_rng(0)
    network = drawn_network(rng)
    clf, X, y = fitted(network, 4000, rng, "tan")
    bars = clf.bootstrap(X, y, n=30)
    truth = {frozenset(edge) for edge in network.structure.edges(network.domain.names)}
    frame = bars.edges("pandas")
    frame = frame[frame["parent"] != network.domain.target.name]
    sure = frame[frame["either"] > 0.9]
    assert {frozenset(pair) for pair in zip(sure["parent"], sure["child"], strict=True)} <= truth
    assert len(sure) >= 5
    average = bars.average_structure()
    names = network.domain.names
    assert all(frozenset(edge) in truth for edge in average.edges(names))


def with_structures(*edges):
    """Error bars of draws that have these edges among three columns."""
    clf = BayesNetClassifier("nb", "map").fit(IRIS.X.iloc[:, :3], IRIS.y)
    draws = []
    for some in edges:
        structure = Structure.from_edges(some, [0, 1, 2])
        again = BayesNetClassifier(structure, "map").fit(IRIS.X.iloc[:, :3], IRIS.y)
        draws.append(again.calibrated_posterior())
    return ErrorBars(clf, "bootstrap", tuple(draws))


def test_the_average_has_no_cycle():
    chain, back = [(0, 1), (1, 2)], [(2, 0), (0, 1)]
    bars = with_structures(chain, chain, chain, back, back, [(2, 0), (1, 2)])
    # 0→1 in five, 1→2 in four, 2→0 in three of six: the last would close a cycle
    assert bars.average_structure(0.4).parents == ((), (0,), (1, 0))
    assert bars.average_structure(0.5).parents == ((), (0,), (1,))
    assert bars.average_structure(0.7).parents == ((), (0,), ())
    assert bars.average_structure(0.9).n_edges == 0
    names = bars.classifier.domain_.names
    assert bars.edge_shares()[names[2], names[0]] == 0.5
    frame = with_structures([(0, 1)], [(1, 0)], []).edges("pandas")
    between = frame[frame["parent"].isin(names)]
    assert between["either"].tolist() == [pytest.approx(2 / 3)] * 2
    assert between["share"].tolist() == [pytest.approx(1 / 3)] * 2


def test_a_class_with_parents():
    structure = Structure(((), (0,), (), ()), class_parents=(2, 3))
    clf = BayesNetClassifier(structure, "map").fit(IRIS.X, IRIS.y)
    bars = clf.bootstrap(IRIS.X, IRIS.y, n=3)
    assert bars.edge_shares()[clf.domain_.names[3], "class"] == 1
    assert bars.interval(IRIS.X[:2])[0].shape == (2, 3)
    assert bars.average_structure() == clf.structure_
    now = clf.network_.tables("pandas")
    for found in (bars, clf.dirichlet(IRIS.X, IRIS.y, n=20)):
        low, high = found.tables(library="pandas")
        for name, table in now.items():
            shown = table.columns[-low[name].select_dtypes("number").shape[1] :]
            assert (low[name][shown] <= high[name][shown]).all(axis=None)
    low, high = found.contributions(IRIS.X[:2])
    assert (np.nan_to_num(low) <= np.nan_to_num(high)).all()


def test_the_table_of_a_class_with_parents_has_beta_quantiles():
    clf = BayesNetClassifier([("petal width (cm)", "class")], "map").fit(IRIS.X, IRIS.y)
    bars = clf.dirichlet(IRIS.X, IRIS.y, n=4000, virtual=0.5)
    low, high = bars.tables(0.8, "pandas")
    codes = clf.encode(IRIS.X)[3]
    counts = np.array([np.bincount(clf.classes_.searchsorted(IRIS.y[codes == v]), minlength=3)
                       for v in range(clf.domain_.features[3].card)]) + 0.5  # fmt: skip
    rest = counts.sum(axis=1, keepdims=True) - counts
    for ends, quantile in ((low, 0.1), (high, 0.9)):
        cells = ends["class"][[str(label) for label in clf.classes_]].to_numpy()
        np.testing.assert_allclose(cells, beta.ppf(quantile, counts, rest), rtol=1e-9)
    # draws have these distributions, and so have their posteriors: no other column matters
    rows = [{"petal width (cm)": float(IRIS.X["petal width (cm)"][m])} for m in (0, 75, 140)]
    ends = bars.interval(rows, 0.8)
    at = clf.encode(rows)[3]
    for found, quantile in zip(ends, (0.1, 0.9), strict=True):
        expected = beta.ppf(quantile, counts[at], rest[at])
        np.testing.assert_allclose(found, expected, rtol=0.15, atol=0.003)


def test_intervals_of_a_class_with_parents_hold_the_truth():
    shares = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        root = drawn_network(rng, 4, 3, 2)
        features = replace(root.parameters, log_prior=np.zeros(2))
        table = np.log(rng.dirichlet(np.full(2, 3.0), (3, 3)))
        own = Structure(features.structure.parents, (False, False, True, True))
        layout = Layout(own, features.layout.cards, 2)
        log_theta = features.log_theta.copy()
        for i in (0, 1):  # the parents of the class do not depend on it
            features.layout.table(log_theta, i)[...] = features.log_table(i)[..., :1]
        network = replace(
            root, parameters=absorb_class(CPTs(layout, np.zeros(2), log_theta), (0, 1), table)
        )
        clf, X, y = fitted(network, 1500, rng, network.own_structure)
        rows, _ = inference.sample(network.parameters, 150, rng)
        rows[:, ::2][rng.random((4, 75)) < 0.4] = 3  # missing
        shares.append(covered(clf.dirichlet(X, y, n=100), network, rows))
    assert 0.85 <= np.mean(shares) <= 0.95


def test_an_ensemble_is_the_pool_of_refitted_members():
    clf = BayesNetEnsemble(2, random_state=0).fit(IRIS.X, IRIS.y)
    bars = clf.bootstrap(IRIS.X, IRIS.y, n=4, random_state=3)
    rows = IRIS.X[::40]
    low, high = bars.interval(rows)
    now = clf.predict_proba(rows)
    assert ((low <= now + 1e-12) & (now <= high + 1e-12)).all()
    members = [one.bootstrap(IRIS.X, IRIS.y, n=4, random_state=3) for one in clf.members_]
    for k, draw in enumerate(bars.draws):
        logs = [
            one.draws[k].log_posterior(m.encode(rows))
            for one, m in zip(members, clf.members_, strict=True)
        ]
        scores = clf.scale_ * (np.mean(logs, axis=0) - np.log(clf.class_shares_))
        expected = np.exp(scores) * clf.class_shares_
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(draw.posterior(clf.encode(rows)), expected, rtol=1e-9)
    low, high = bars.contributions(rows)
    assert (low <= clf.explain(rows).contributions + 1e-9).all()
    counted = [one.edge_shares() for one in members]
    assert bars.edge_shares() == {
        edge: np.mean([shares.get(edge, 0.0) for shares in counted])
        for edge in {edge for shares in counted for edge in shares}
    }
    assert bars.average_structure(0.9).n_edges <= bars.average_structure(0.1).n_edges
    with pytest.raises(ValueError, match="an ensemble has tables in each of its members"):
        bars.tables()
    evidence = {"petal width (cm)": Between(1, None)}
    assert bars.interval(evidence)[0].shape == (1, 3)
    with pytest.raises(ValueError, match="petal width"):
        bars.contributions(evidence)


# ---- what is refused


def test_what_is_refused():
    clf = BayesNetClassifier("nb", "map").fit(IRIS.X, IRIS.y)
    for n in (1, 0, 2.5, "many"):
        with pytest.raises(ValueError, match="must be a whole number of draws, at least 2"):
            clf.bootstrap(IRIS.X, IRIS.y, n=n)
    with pytest.raises(ValueError, match="virtual=0 must be a number above 0"):
        clf.dirichlet(virtual=0)
    with pytest.raises(ValueError, match="X has 150 rows and y has 149"):
        clf.bootstrap(IRIS.X, IRIS.y[1:])
    with pytest.raises(ValueError, match="need a table in memory"):
        clf.bootstrap("rows.csv", "class")
    with pytest.raises(ValueError, match="level=90 must be a probability"):
        clf.dirichlet(n=2).interval(IRIS.X, level=90)
    with pytest.raises(ValueError, match="share=1 must be a number from 0"):
        clf.bootstrap(IRIS.X, IRIS.y, n=2).average_structure(1)
    discriminative = BayesNetClassifier("nb", "hybrid").fit(IRIS.X, IRIS.y)
    with pytest.raises(ValueError, match="'hybrid' are not relative frequencies"):
        discriminative.dirichlet(IRIS.X, IRIS.y)
    em = MaximumAPosteriori(missing="em")
    without = BayesNetClassifier("nb", em).fit(IRIS.X, IRIS.y)
    with pytest.raises(ValueError, match=r"keeps no counts: pass the training rows"):
        without.dirichlet()


def test_rows_that_the_fit_drops_are_dropped():
    X = IRIS.X.mask(np.random.default_rng(0).random(IRIS.X.shape) < 0.1)
    clf = BayesNetClassifier("nb", "map", missing="drop").fit(X, IRIS.y)
    kept = X.notna().all(axis=1).to_numpy()
    row = {"petal width (cm)": 1.7}
    np.testing.assert_array_equal(
        clf.dirichlet(X, IRIS.y).interval(row), clf.dirichlet(X[kept], IRIS.y[kept]).interval(row)
    )


def test_evidence_of_any_kind():
    clf = BayesNetClassifier("tan", "map").fit(IRIS.X, IRIS.y)
    name = "petal width (cm)"
    cuts = clf.domain_.features[3].cuts
    for bars in (clf.dirichlet(n=20), clf.bootstrap(IRIS.X, IRIS.y, n=20)):
        certain = bars.interval({name: Between(cuts[0], cuts[0] + 0.01)})
        np.testing.assert_array_equal(certain, bars.interval({name: cuts[0]}))
        row = {name: Not(Between(None, cuts[0] - 0.01)), "sepal length (cm)": 5.0}
        drawn = [draw.network.query("class", row).probabilities for draw in bars.draws]
        low, high = bars.interval(row)
        if bars.kind == "dirichlet":
            expected = np.quantile(drawn, [0.05, 0.95], axis=0, method="linear")
            np.testing.assert_allclose([low[0], high[0]], expected, rtol=0.05)
        low, high = bars.contributions(row)
        assert low.shape == clf.explain(row).contributions.shape
    default = BayesNetClassifier(random_state=0).fit(IRIS.X, IRIS.y)
    low, high = default.bootstrap(IRIS.X, IRIS.y, n=2).interval({name: Between(1, None)})
    assert (low <= high).all()
