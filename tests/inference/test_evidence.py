"""Evidence that is not one value, against enumeration and pyAgrum."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import logsumexp
from support.oracle import (
    full_log_joint,
    random_forest,
    random_states,
    random_structure,
    random_tables,
)

from discbayes import (
    BayesNet,
    BayesNetClassifier,
    BayesNetEnsemble,
    Between,
    Likelihood,
    Not,
    OneOf,
    load_dataset,
)
from discbayes.data import Domain, Variable

CARDS = (3, 2, 4, 3)


def network_of(tables, states=None):
    """A network of categories, or of intervals where children see states."""
    features = []
    for i, card in enumerate(tables.cards):
        cuts = tuple(float(cut) for cut in range(1, card))
        coarse = None
        if states is not None:
            coarse = tuple(cuts[k] for k in np.flatnonzero(np.diff(states[i])))
        features.append(Variable(f"x{i}", "numeric", cuts=cuts, coarse_cuts=coarse))
    target = Variable("y", "categorical", tuple("abc"[: tables.n_classes]))
    return BayesNet(Domain(tuple(features), target), tables)


def soft(rng, card):
    """Random evidence of a column with ``card`` intervals, and its likelihoods."""
    kind = rng.integers(4)
    if kind == 0:
        likelihood = rng.random(card) * (rng.random(card) < 0.8)
        likelihood[rng.integers(card)] += 0.1
        return Likelihood(likelihood), likelihood
    low, high = sorted(rng.integers(card, size=2).tolist())
    inside = (np.arange(card) >= low) & (np.arange(card) <= high)
    if kind == 1:
        return Between(low, high + 0.5), inside.astype(float)
    if kind == 2 and not inside.all():
        return Not(Between(low, high + 0.5)), 1.0 - inside
    chosen = rng.random(card) < 0.5
    chosen[low] = True
    return OneOf(*np.flatnonzero(chosen).tolist()), chosen.astype(float)


def enumerated(joint, likelihoods):
    """The log-joint of classes, with the likelihoods of the values of each feature."""
    with np.errstate(divide="ignore"):
        for i, likelihood in enumerate(likelihoods):
            shape = [1] * joint.ndim
            shape[i] = -1
            joint = joint + np.log(likelihood).reshape(shape)
    return joint


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("normalized", [True, False])
def test_rows_with_any_evidence_equal_enumeration(seed, normalized):
    rng = np.random.default_rng(seed)
    structure = (random_forest if seed % 2 else random_structure)(rng, len(CARDS))
    states = tuple(np.sort(s) for s in random_states(rng, CARDS)) if seed % 3 else None
    tables = random_tables(rng, structure, CARDS, 3, normalized, zeros=seed == 5, states=states)
    net = network_of(tables, states)
    joint = full_log_joint(tables)
    rows, expected = [], []
    for _ in range(12):
        row, likelihoods = {}, [np.ones(card) for card in CARDS]
        for i, card in enumerate(CARDS):
            how = rng.random()
            if how < 0.3:
                row[f"x{i}"] = value = int(rng.integers(card))
                likelihoods[i] = np.eye(card)[value]
            elif how < 0.8:
                row[f"x{i}"], likelihoods[i] = soft(rng, card)
        rows.append(row)
        expected.append(logsumexp(enumerated(joint, likelihoods), axis=(0, 1, 2, 3)))
    np.testing.assert_allclose(net.log_joint(rows), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_queries_and_completions_with_any_evidence(seed):
    rng = np.random.default_rng(seed)
    structure = random_structure(rng, len(CARDS))
    tables = random_tables(rng, structure, CARDS, 3)
    net = network_of(tables)
    joint = full_log_joint(tables)
    kind, likelihood = soft(rng, 3)
    of_class = np.array([0.2, 0.5, 0.7])
    weighed = enumerated(joint, [likelihood]) + np.log(of_class)
    evidence = {"x0": kind, "y": Likelihood(of_class)}
    total = logsumexp(weighed)
    found = net.query(["x0", "y"], evidence).probabilities
    np.testing.assert_allclose(
        found, np.exp(logsumexp(weighed, axis=(1, 2, 3)) - total), atol=1e-12
    )
    values, log_probability = net.most_probable(evidence)
    assert log_probability == pytest.approx(weighed.max())
    best = np.unravel_index(weighed.argmax(), weighed.shape)
    assert values["y"] == "abc"[best[-1]]
    assert values["x2"] == net.domain.features[2].labels[best[2]]


def test_posteriors_equal_those_of_pyagrum():
    gum = pytest.importorskip("pyagrum")
    bn = gum.fastBN("y{a|b|c}->x0{u|v|w}->x1{s|t}<-y;x0->x2{k|l|m|n}<-x1;y->x3{p|q}")
    net = _from_pyagrum(bn, "y")
    rng = np.random.default_rng(0)
    for _ in range(25):
        evidence, given = {}, {}
        for feature in net.domain.features:
            if rng.random() < 0.6:
                likelihood = rng.random(feature.card) * (rng.random(feature.card) < 0.7)
                likelihood[rng.integers(feature.card)] += 0.1
                evidence[feature.name] = Likelihood(
                    dict(zip(feature.values, likelihood, strict=True))
                )
                given[feature.name] = likelihood.tolist()
        inference = gum.LazyPropagation(bn)
        inference.setEvidence(given)
        inference.makeInference()
        np.testing.assert_allclose(
            net.posterior(evidence)[0], inference.posterior("y").tolist(), atol=1e-9
        )


def _from_pyagrum(bn, target):
    """The network through a BIF file, which both read."""
    import tempfile
    from pathlib import Path

    from discbayes import read_bif

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.bif"
        bn.saveBIF(str(path))
        return read_bif(path, target)


# ---- classifiers


@pytest.fixture(scope="module")
def iris():
    return load_dataset("iris")


@pytest.fixture(scope="module")
def default(iris):
    return BayesNetClassifier(random_state=0).fit(iris.X, iris.y)


def test_a_set_of_one_value_is_that_value(iris, default):
    row = iris.X.iloc[60].to_dict()
    number = row["petal width (cm)"]
    plain = default.predict_proba(row)
    for kind in (OneOf(number), Between(number, number), OneOf(Between(number, number))):
        found = default.predict_proba({**row, "petal width (cm)": kind})
        np.testing.assert_array_equal(found, plain)


def test_evidence_in_frames_arrays_and_mappings(iris, default):
    some = iris.X.iloc[[0, 60, 120]]
    cells = some.astype(object).copy()
    cells.iloc[1, 2] = Between(3, 4)
    cells.iloc[2, 3] = Not(Between(None, 1))
    rows = cells.to_dict("records")
    expected = default.predict_proba(rows)
    forms = [
        cells,
        pl.DataFrame({name: pl.Series(list(cells[name]), dtype=pl.Object) for name in cells}),
    ]
    for form in forms:
        np.testing.assert_allclose(default.predict_proba(form), expected, atol=1e-12)
    unnamed = BayesNetClassifier("nb", "map").fit(iris.X.to_numpy(), iris.y)
    np.testing.assert_allclose(
        unnamed.predict_proba(cells.to_numpy()),
        BayesNetClassifier("nb", "map").fit(iris.X, iris.y).predict_proba(rows),
        atol=1e-12,
    )
    # rows without evidence are as they are alone
    np.testing.assert_allclose(expected[:1], default.predict_proba(some[:1]), atol=1e-12)
    assert (default.predict(cells) == default.classes_[expected.argmax(axis=1)]).all()
    np.testing.assert_allclose(np.exp(default.predict_log_proba(cells)), expected)


def test_explanations_add_up_and_name_the_evidence(iris, default):
    row = {"petal width (cm)": Between(0.9, 1.4), "petal length (cm)": 4.0}
    found = default.explain(row)
    total = found.base_of(0) + np.nansum(found.contributions[0], axis=0)
    np.testing.assert_allclose(total, found.log_odds[0])
    np.testing.assert_allclose(found.posterior, default.predict_proba(row))
    assert "petal width (cm) ≥ 0.9 and ≤ 1.4" in found.text()
    assert "unknown: sepal length (cm), sepal width (cm)" in found.text()
    information = default.value_of_information(row)
    assert set(information.names) == set(iris.X.columns) - {"petal length (cm)"}
    np.testing.assert_allclose(information.posterior, default.predict_proba(row)[0])


def test_an_ensemble_takes_evidence(iris):
    pool = BayesNetEnsemble(2, random_state=0).fit(iris.X, iris.y)
    row = iris.X.iloc[60].to_dict()
    number = row["petal width (cm)"]
    expected = pool.predict_proba([row])
    found = pool.predict_proba([{**row, "petal width (cm)": Between(number, number)}])
    np.testing.assert_allclose(found, expected)
    with pytest.raises(ValueError, match="holds the evidence"):
        pool.explain([{**row, "petal width (cm)": Between(1, 2)}])


def test_missing_as_a_value_is_not_what_evidence_is_about():
    X = pd.DataFrame({"color": ["red", "blue", None, "green"] * 5})
    clf = BayesNetClassifier("nb", "map", missing="value").fit(X, [0, 1, 1, 0] * 5)
    feature = clf.network_.domain.features[0]
    assert feature.labels[-1] == "(missing)"
    assert not Not("red").members(feature)[-1]
    assert Likelihood([1, 1, 1]).likelihood(feature).tolist() == [1, 1, 1, 0]
    assert OneOf("red", None).members(feature)[-1]
    np.testing.assert_allclose(
        clf.predict_proba({"color": OneOf(None)}), clf.predict_proba({"color": None})
    )


def test_impossible_evidence_is_answered_as_impossible_rows():
    X = pd.DataFrame({"a": ["x", "y", "z"] * 4, "b": ["u", "v", "v"] * 4})
    structure = [("a", "b")]
    clf = BayesNetClassifier(structure, "ml").fit(X, [0, 1, 1] * 4)
    tables = clf.network_.parameters
    log_theta = tables.log_theta.copy()
    log_theta[log_theta < -5] = -np.inf
    from dataclasses import replace

    net = replace(clf.network_, parameters=replace(tables, log_theta=log_theta))
    row = {"a": OneOf("y", "z"), "b": "u"}
    np.testing.assert_allclose(net.posterior(row)[0], net.prior)
    with pytest.raises(ValueError, match="probability zero"):
        net.query("class", row)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OneOf(), "at least one value"),
        (lambda: OneOf(["a", "b"]), "one by one"),
        (lambda: Not(Likelihood([1])), "sets of values"),
        (lambda: Between(2, 1), "low is above high"),
        (lambda: Between(True), "must be a number"),
        (lambda: Between("a", 2), "mixes strings and numbers"),
        (lambda: Between(1, 2, "all"), "inclusive"),
        (lambda: Likelihood([0, 0]), "at least 0"),
        (lambda: Likelihood({"a": -1}), "at least 0"),
    ],
)
def test_evidence_that_is_none_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (OneOf("pink"), "'pink' is not a value of the column 'color'"),
        (Between(1, 2), "has no numbers"),
        (Not("red", "blue"), "no value of the column 'color' is not red or blue"),
        (Likelihood({"red": 1}), "no number for blue"),
        (Likelihood([1, 2, 3]), "has 2 numbers"),
    ],
)
def test_evidence_that_does_not_fit_its_column_is_refused(kind, message):
    color = Variable("color", "categorical", ("blue", "red"))
    with pytest.raises(ValueError, match=message):
        kind.likelihood(color)


def test_learning_and_encoding_refuse_evidence(iris, default):
    row = {"petal width (cm)": Between(0.9, 1.4)}
    for use in (default.encode, default.counterfactual, default.network_.fill):
        with pytest.raises(ValueError, match="'petal width \\(cm\\)', row 0 holds the evidence"):
            use(row)
