"""The value of information against enumeration: gains, costs and prices, zero gains, rows of every
make, bad input.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

import oracle
from believing import (
    CALIBRATIONS,
    KINDS,
    believing,
    enumerated_pool,
    hidden_row,
    named,
    pooled_weights,
    random_pool,
    random_tables,
    some_rows,
)
from discbayes import KDB, BayesNetClassifier, TooManyCellsError, load_dataset
from discbayes.calibration import CalibratedPosterior
from discbayes.explanations import value_of_information
from discbayes.inference import conditional_posteriors, missing_posteriors
from discbayes.network import CPTs, Layout, Structure


def entropy(shares):
    return -sum(p * np.log(p) for p in shares if p > 0)


def brute_joints(tables, joint, posterior, row):
    """P(v, c) of every gap by enumeration: p(c) of the classifier times P(v | x, c) of the whole
    joint.
    """
    found = {}
    for i in np.flatnonzero(row >= tables.cards):
        table = np.empty((int(tables.cards[i]), tables.n_classes))
        for v in range(len(table)):
            tried = row.copy()
            tried[i] = v
            table[v] = (
                oracle.selected(joint, tables.cards, tried)
                .reshape(-1, tables.n_classes)
                .sum(axis=0)
            )
        total = table.sum(axis=0)
        shares = np.where(total > 0, table / np.where(total > 0, total, 1), 1 / len(table))
        found[int(i)] = posterior * shares
    return found


def pooled_joints(beliefs, wholes, posterior, row):
    """P(v, c) of every gap under a pool: p(c) times the product of P(v | x, c)^weight of both
    networks, normalized.
    """
    networks = [network.parameters for network in beliefs.networks]
    ones = np.ones(posterior.size)
    rows = (row, hidden_row(beliefs.calibration, row))
    parts = [brute_joints(*one) for one in zip(networks, wholes, [ones] * 2, rows, strict=True)]
    own, generative = pooled_weights(beliefs.calibration, row)
    found = {}
    for i in parts[0]:
        product = parts[0][i] ** own * parts[1][i] ** generative
        found[i] = posterior * product / product.sum(axis=0)
    return found


def brute_gain(posterior, joint):
    after = sum(sum(cells) * entropy(cells / sum(cells)) for cells in joint if sum(cells) > 0)
    return entropy(posterior) - after


def brute_saved(posterior, joint, costs):
    n = costs.shape[1]
    now = min(sum(posterior[c] * costs[c, d] for c in range(n)) for d in range(n))
    return now - sum(
        min(sum(cells[c] * costs[c, d] for c in range(n)) for d in range(n)) for cells in joint
    )


def by_name(info, values):
    return dict(zip(info.names, values, strict=True))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("options", [{}, {"normalized": False}, {"zeros": True}], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_gains_and_savings_equal_enumeration(kind, options, seed):
    tables, rng = random_tables(seed, kind, **options)
    whole = oracle.full_joint(tables)
    cases = [*((calibration, ()) for calibration in CALIBRATIONS), ("pool", (0, 1, 3))]
    for calibration, missing_value in cases:
        beliefs = believing(tables, calibration, rng=rng, missing_value=missing_value)
        costs = rng.gamma(1.0, size=(tables.n_classes, tables.n_classes))
        np.fill_diagonal(costs, 0.0)
        prices = {"a": 0.01, "c": 0.3}
        for row in some_rows(rng, tables.cards, 4, gaps=0.5).T:
            codes = row[:, None]
            posterior = beliefs.posterior(codes)[0]
            info = value_of_information(beliefs, codes, costs, prices)
            if calibration == "pool":
                expected = np.exp(enumerated_pool(beliefs, row))
                np.testing.assert_allclose(posterior, expected, rtol=0, atol=1e-12)
                wholes = [oracle.full_joint(net.parameters) for net in beliefs.networks]
                joints = pooled_joints(beliefs, wholes, posterior, row)
                if (beliefs.log_joint(codes) == -np.inf).any():
                    continue  # below
            else:
                joints = brute_joints(tables, whole, posterior, row)
            names = [beliefs.network.domain.names[i] for i in joints]
            assert sorted(info.names) == sorted(names)
            np.testing.assert_allclose(info.posterior, posterior, rtol=0, atol=1e-15)
            assert info.entropy == pytest.approx(entropy(posterior), abs=1e-12)
            gains, saved, net = (
                by_name(info, part) for part in (info.gain, info.cost_gain, info.net_gain)
            )
            for name, joint in zip(names, joints.values(), strict=True):
                assert gains[name] == pytest.approx(brute_gain(posterior, joint), abs=1e-10)
                assert saved[name] == pytest.approx(brute_saved(posterior, joint, costs), abs=1e-10)
                assert net[name] == pytest.approx(saved[name] - prices.get(name, 0.0), abs=1e-15)
            assert (info.gain >= 0).all()
            assert (info.cost_gain >= 0).all()
            assert (np.diff(info.net_gain) <= 1e-12).all()
            np.testing.assert_array_equal(info.worth, info.net_gain)
            assert (np.diff(value_of_information(beliefs, codes).gain) <= 1e-12).all()


@pytest.mark.parametrize("seed", range(8))
def test_of_a_class_that_a_pool_excludes_nothing_is_to_be_learned(seed):
    tables, rng = random_tables(seed, KINDS[seed % 3], zeros=True)
    network = named(tables)
    pool = random_pool(rng, network, zeros=True)
    beliefs = CalibratedPosterior(network, np.arange(tables.n_classes), pool)
    for row in some_rows(rng, tables.cards, 20, gaps=0.5).T:
        info = value_of_information(beliefs, row[:, None])
        impossible = beliefs.log_joint(row[:, None])[0] == -np.inf
        for joint in info.joints:
            np.testing.assert_allclose(joint.sum(axis=0), info.posterior, rtol=0, atol=1e-12)
            assert np.ptp(joint[:, impossible], axis=0) == pytest.approx(0, abs=1e-12)
        assert (info.gain >= 0).all()
        assert not info.gain.any() or not impossible.all()


@pytest.mark.parametrize("kind", KINDS)
def test_without_calibration_the_gain_is_what_the_posteriors_of_the_filled_rows_say(kind):
    tables, rng = random_tables(11, kind)
    beliefs = believing(tables, log_prior=np.log(rng.dirichlet(np.ones(tables.n_classes))))
    codes = some_rows(rng, tables.cards, 1, gaps=0.6)
    info = value_of_information(beliefs, codes)
    for variable, joint, gain in zip(info.variables, info.joints, info.gain, strict=True):
        filled = np.repeat(codes, variable.card, axis=1)
        filled[beliefs.network.domain.position(variable.name)] = np.arange(variable.card)
        after = beliefs.posterior(filled)
        np.testing.assert_allclose(
            joint / joint.sum(axis=1, keepdims=True), after, rtol=0, atol=1e-12
        )
        expected = entropy(info.posterior) - sum(
            p * entropy(q) for p, q in zip(joint.sum(axis=1), after, strict=True)
        )
        assert gain == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("options", [{}, {"normalized": False}, {"zeros": True}], ids=str)
def test_gaps_one_by_one_are_the_gaps_together(options, monkeypatch):
    tables, rng = random_tables(5, "any", n_features=7, **options)
    rows = some_rows(rng, tables.cards, 6, gaps=0.5).T[:, :, None]
    together = [missing_posteriors(tables, codes) for codes in rows]
    monkeypatch.setattr(
        conditional_posteriors, "elimination_cells", lambda *arguments, **options: np.inf
    )
    for codes, expected in zip(rows, together, strict=True):
        alone = missing_posteriors(tables, codes)
        assert list(alone) == list(expected) == np.flatnonzero(codes[:, 0] >= tables.cards).tolist()
        for i, shares in expected.items():
            np.testing.assert_allclose(shares.sum(axis=0), 1.0, rtol=1e-12)
            np.testing.assert_allclose(alone[i], shares, rtol=0, atol=1e-12)


def test_too_large_a_factor_names_the_columns():
    tables, _ = random_tables(5, "any", n_features=7, normalized=False)
    beliefs = CalibratedPosterior(
        replace(named(tables), max_cells=4, beyond_max_cells="raise"), np.arange(tables.n_classes)
    )
    with pytest.raises(TooManyCellsError, match=r"columns \([a-g]"):
        value_of_information(beliefs, tables.cards[:, None].astype(np.uint8))


# ---- nothing to gain


def structure_tables(parents, class_children, seed=0):
    structure = Structure(parents, class_children)
    return oracle.random_tables(np.random.default_rng(seed), structure, [3] * len(parents), 2)


def gains(tables, row):
    info = value_of_information(believing(tables), np.array(row, np.uint8)[:, None])
    return by_name(info, info.gain)


def test_columns_that_are_separated_from_the_class_have_no_gain():
    # y → a → b, c → d ← a, y → d
    tables = structure_tables(((), (0,), (), (0, 2)), (True, False, False, True))
    unknown = gains(tables, [3, 3, 3, 3])
    assert unknown["b"] > 1e-3
    assert unknown["c"] == 0.0
    known = gains(tables, [1, 3, 3, 3])
    assert known["b"] == 0.0
    assert known["c"] == 0.0
    assert known["d"] > 1e-3
    assert gains(tables, [1, 3, 3, 2])["c"] > 1e-3  # once d is known, c explains it


def test_a_row_without_gaps_has_nothing_to_ask():
    tables, rng = random_tables(0, "any")
    info = value_of_information(
        believing(tables), some_rows(rng, tables.cards, 1, gaps=0), np.eye(tables.n_classes)
    )
    assert info.names == []
    assert info.best is None
    assert info.gain.size == info.net_gain.size == 0
    assert len(info.to_frame("pandas")) == 0
    assert "nothing is missing" in info.text()


def test_one_class_leaves_no_doubt():
    tables, _ = random_tables(0, "forest", n_classes=1)
    info = value_of_information(believing(tables), tables.cards[:, None].astype(np.uint8))
    assert info.entropy == 0.0
    assert info.best is None
    assert not info.gain.any()
    assert not info.share.any()
    assert info.names == list("abcde")
    assert "no column is informative by itself" in repr(info)


def test_a_row_that_no_class_can_have_learns_nothing():
    layout = Layout(Structure.naive(2), np.array([2, 2]), 2)
    with np.errstate(divide="ignore"):
        theta = np.log(np.array([1.0, 1.0, 0.0, 0.0, 0.9, 0.1, 0.1, 0.9]))
    beliefs = believing(CPTs(layout, np.log([0.3, 0.7]), theta))
    info = value_of_information(beliefs, np.array([[1], [2]], np.uint8))
    np.testing.assert_allclose(info.posterior, [0.3, 0.7])
    assert info.gain.tolist() == [0.0]
    assert value_of_information(beliefs, np.array([[0], [2]], np.uint8)).gain[0] > 0.1


def test_a_class_that_had_no_share_can_be_given_one():
    tables, _ = random_tables(3, "forest", n_classes=2)
    with np.errstate(divide="ignore"):
        impossible = replace(tables, log_prior=np.log([1.0, 0.0]))
    blank = tables.cards[:, None].astype(np.uint8)
    prior = np.log([0.4, 0.6])
    got = value_of_information(believing(impossible, log_prior=prior), blank)
    expected = value_of_information(believing(replace(tables, log_prior=prior)), blank)
    assert got.names == expected.names
    np.testing.assert_allclose(got.gain, expected.gain, atol=1e-14)
    assert not value_of_information(believing(impossible), blank).gain.any()


def test_tiny_probabilities_make_no_infinite_gain():
    layout = Layout(Structure.naive(2), np.array([2, 2]), 2)
    theta = np.array(
        [-1e-300, -700.0, -700.0, -1e-300, np.log(0.5), np.log(0.5), np.log(0.5), np.log(0.5)]
    )
    info = value_of_information(
        believing(CPTs(layout, np.array([0.0, -700.0]), theta)), np.array([[2], [2]], np.uint8)
    )
    assert np.isfinite(info.gain).all()
    assert (info.gain >= 0).all()


# ---- as people use it


@pytest.fixture(scope="module")
def iris():
    data = load_dataset("iris")
    return BayesNetClassifier("tan", "hybrid").fit(data.X, data.y), data


def test_ranking_frame_and_text(iris):
    clf, data = iris
    row = data.X.iloc[[60]].copy()
    row[["petal length (cm)", "petal width (cm)", "sepal width (cm)"]] = np.nan
    info = clf.value_of_information(row)
    np.testing.assert_allclose(info.posterior, clf.predict_proba(row)[0], atol=1e-15)
    assert info.best == info.names[0] == "petal width (cm)"
    assert info.cost is info.net_gain is info.cost_gain is None
    frame = info.to_frame("pandas")
    assert frame.columns.tolist() == ["column", "gain", "share"]
    assert frame["share"].tolist() == (info.gain / info.entropy).tolist()
    lines = info.text(most=2).splitlines()
    assert lines[1] == "ask for petal width (cm)"
    assert lines[-1] == "and 1 more"
    assert lines[3].split()[-1] == f"{info.share[0]:.1%}"
    assert repr(info) == info.text()


def test_answers_add_up_to_what_is_believed_now(iris):
    clf, _ = iris
    info = clf.value_of_information({"sepal length (cm)": 5.0})
    answers = info.answers("petal width (cm)", "pandas")
    assert answers["value"].tolist() == ["< 0.8", "[0.8, 1.75)", ">= 1.75"]
    after = answers[["setosa", "versicolor", "virginica"]].to_numpy()
    np.testing.assert_allclose(answers["probability"] @ after, info.posterior, atol=1e-12)
    with pytest.raises(
        ValueError, match="'sepal length \\(cm\\)' is not one of the missing columns"
    ):
        info.answers("sepal length (cm)")


def test_costs_and_prices_decide_what_is_worth_asking(iris):
    clf, _ = iris
    row = {"sepal length (cm)": 5.6}
    frame = pd.DataFrame(row, index=[0]).reindex(columns=clf.feature_names_in_)
    free = clf.value_of_information(row, costs=1 - np.eye(3))
    assert free.cost == pytest.approx(clf.expected_costs(frame, 1 - np.eye(3)).min())
    dear = clf.value_of_information(row, costs=1 - np.eye(3), prices={free.best: 0.9})
    assert dear.best != free.best
    assert dear.price.tolist() == [0.9 if name == free.best else 0.0 for name in dear.names]
    assert dear.names[-1] == free.best
    assert dear.net_gain[-1] < 0
    some = clf.value_of_information(
        {"petal width (cm)": 0.2, "petal length (cm)": 1.4}, costs=1 - np.eye(3)
    )
    assert some.best is None
    assert "no column reduces the expected cost by itself" in some.text()
    with pytest.raises(ValueError, match="most=-1 is a number of lines"):
        some.text(most=-1)
    all_dear = clf.value_of_information(
        row, costs=1 - np.eye(3), prices=dict.fromkeys(free.names, 2.0)
    )
    assert all_dear.best is None
    assert "no column is worth its price" in all_dear.text()
    assert {"cost_gain", "price", "net_gain"} <= set(all_dear.to_frame("pandas").columns)
    # known already
    known = clf.value_of_information(row, costs=1 - np.eye(3), prices={"sepal length (cm)": 5})
    assert known.best == free.best
    named_costs = {"setosa": {"virginica": 5.0}}
    cost = clf.value_of_information(row, costs=named_costs).cost
    assert cost == pytest.approx(clf.expected_costs(frame, named_costs).min())


def test_a_row_may_come_in_any_form(iris):
    clf, data = iris
    expected = clf.value_of_information(data.X.iloc[[0]].assign(**{"petal width (cm)": np.nan}))
    cells = [*data.X.iloc[0].tolist()[:3], None]
    frame = pd.DataFrame([cells], columns=data.X.columns)
    forms = [
        cells,
        tuple(cells),
        [cells],
        np.array(cells, float),
        np.array([cells], float),
        np.array(cells, object),
        dict(zip(data.X.columns[:3], cells, strict=False)),
        frame,
        frame.iloc[0],
        pl.from_pandas(frame.astype(float)),
    ]
    for form in forms:
        info = clf.value_of_information(form)
        assert info.names == ["petal width (cm)"]
        np.testing.assert_allclose(info.gain, expected.gain, atol=1e-15)


def test_columns_of_arrays_go_by_their_numbers_too():
    data = load_dataset("iris")
    clf = BayesNetClassifier(structure="nb", parameters="map").fit(data.X.to_numpy(), data.y)
    by_name_, by_number = clf.value_of_information({"x2": 1.4}), clf.value_of_information({2: 1.4})
    assert by_name_.names == by_number.names
    assert "x2" not in by_name_.names
    clf.value_of_information({}, costs=1 - np.eye(3), prices={3: 0.1})


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            {"x": {"petal widht (cm)": 1}},
            r"a value for 'petal widht \(cm\)', which is not a column; .* 'petal width \(cm\)'",
        ),
        ({"x": {0: 5.0}}, "a value for 0, which is not a column"),
        ({"x": [[5.0, 3.0, 1.0, 0.2]] * 2}, r"x has 2 rows, and this looks at one: pass X\[3:4\]"),
        ({"x": [5.0, 3.0]}, "X has 2 features"),
        ({"x": {}, "prices": {"petal width (cm)": 1}}, "in the unit of costs, and there are none"),
        ({"x": {}, "costs": [[0, 1], [1, 0]]}, "costs has the shape"),
        (
            {"x": {}, "costs": np.eye(3), "prices": {"petal": 1}},
            "prices names 'petal', which is not a column",
        ),
        (
            {"x": {}, "costs": np.eye(3), "prices": {"petal width (cm)": -1}},
            "prices says -1 for 'petal width",
        ),
        (
            {"x": {}, "costs": np.eye(3), "prices": {"petal width (cm)": "cheap"}},
            "prices says 'cheap'",
        ),
        ({"x": {}, "costs": np.eye(3), "prices": [1, 2]}, "must be a mapping of column names"),
        ({"x": {}, "class_prior": [0.5, 0.5]}, "class_prior has 2 entries for 3 classes"),
    ],
)
def test_bad_input_is_refused(iris, arguments, message):
    with pytest.raises(ValueError, match=message):
        iris[0].value_of_information(**arguments)


def test_missing_as_a_value_is_one_of_the_answers_and_unseen_values_are_missing():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    lost = rng.random(300) < np.where(y == 1, 0.6, 0.1)
    frame = pd.DataFrame({"a": np.where(lost, None, "told"), "b": rng.choice(["u", "v"], 300)})
    clf = BayesNetClassifier(parameters="map", missing="value").fit(frame, y)
    info = clf.value_of_information({"b": "never seen"})
    assert sorted(info.names) == ["a", "b"]
    assert info.best == "a"
    answers = info.answers("a", "pandas")
    assert answers["value"].tolist() == ["told", "(missing)"]
    assert answers["1"].iloc[1] > 0.7


@pytest.mark.parametrize("structure", ["tan", KDB(k=2)])
def test_on_real_data_with_a_hundred_values_the_gains_are_those_of_single_queries(
    data_folder, structure
):
    data = load_dataset("chess")
    clf = BayesNetClassifier(structure=structure, parameters="map").fit(data.X, data.y)
    row = data.X.iloc[[7]].copy()
    known = row.columns[::3]
    info = clf.value_of_information(row[known].iloc[0].to_dict())
    assert len(info.names) == 36 - len(known)
    target = clf.network_.domain.target.name
    for name in info.names[:4]:
        joint = clf.network_.query([name, target], row[known].iloc[0].to_dict()).probabilities
        expected = entropy(joint.sum(axis=0)) + entropy(joint.sum(axis=1)) - entropy(joint.ravel())
        assert info.gain[info.names.index(name)] == pytest.approx(expected, abs=1e-10)
