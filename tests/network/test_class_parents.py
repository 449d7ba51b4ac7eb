"""Networks in which the class has parents, against enumeration and pyAgrum."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from support.oracle import full_log_joint, random_states, random_structure, random_tables

from discbayes import (
    BayesNetClassifier,
    Between,
    Likelihood,
    Not,
    OneOf,
    Structure,
    edge_strengths,
    load,
    plot,
    predict,
    read_bif,
)
from discbayes.inference import sample
from discbayes.io.setting_values import unpack_network_structure, unpack_structure
from discbayes.network import absorb_class

CARDS = (3, 2, 4, 3)


@pytest.mark.parametrize("seed", range(6))
def test_the_product_of_all_tables_stays(seed):
    rng = np.random.default_rng(seed)
    states = random_states(rng, CARDS) if seed % 2 else None
    tables = random_tables(rng, random_structure(rng, 4), CARDS, 3, states=states)
    parents = tuple(rng.permutation(4)[: 1 + seed % 3].tolist())
    shape = (*tables.layout.n_states[list(parents)], 3)
    of_class = np.log(rng.dirichlet(np.ones(3), shape[:-1]))
    absorbed = absorb_class(tables, parents, of_class)
    seen = np.ix_(*[tables.layout.states_of(p) for p in parents], range(3))
    expected = full_log_joint(tables) - tables.log_prior
    by_axis = of_class[seen].transpose([*np.argsort(parents), len(parents)])
    shape = [CARDS[i] if i in parents else 1 for i in range(4)]
    expected = expected + by_axis.reshape(*shape, 3)
    np.testing.assert_allclose(full_log_joint(absorbed), expected, atol=1e-12)


def _networks():
    """Networks that pyAgrum makes without a file: a classic one, and random ones."""
    gum = pytest.importorskip("pyagrum")
    gum.initRandom(1)
    asia = "visit->tub->either<-lung<-smoke->bronc->dysp<-either->xray"
    wide = "a{u|v|w}->c{k|l|m}<-b->d{r|s|t|q}<-c->e<-a;c->f{g|h|i};b->f"
    return [gum.fastBN(asia), gum.fastBN(wide), gum.fastBN("a->b->c[4]->d[3]<-a;c->e[3]<-b;e->f")]


@pytest.mark.parametrize("place", range(3))
def test_every_variable_as_the_class_has_the_posteriors_of_pyagrum(place, tmp_path):
    gum = pytest.importorskip("pyagrum")
    bn = _networks()[place]
    rng = np.random.default_rng(place)
    path = tmp_path / "net.bif"
    bn.saveBIF(str(path))
    for target in bn.names():
        net = read_bif(path, target)
        again = tmp_path / "again.bif"
        net.to_bif(again)
        for _ in range(4):
            evidence, given = _evidence(rng, net)
            engine = gum.LazyPropagation(bn)
            engine.setEvidence(given)
            engine.makeInference()
            expected = engine.posterior(target).tolist()
            np.testing.assert_allclose(net.posterior(evidence)[0], expected, atol=1e-9)
            other = read_bif(again)
            assert set(other.edges(with_class=True)) == set(net.edges(with_class=True))
            np.testing.assert_allclose(other.posterior(evidence)[0], expected, atol=1e-9)
        assert {(bn.variable(a).name(), bn.variable(b).name()) for a, b in bn.arcs()} == set(
            net.edges(with_class=True)
        )


def _evidence(rng, net):
    """Random evidence: values, sets, negations and likelihoods, here and as pyAgrum takes it."""
    evidence, given = {}, {}
    for feature in net.domain.features:
        kind = rng.integers(6)
        likelihood = rng.random(feature.card) + 0.01
        some = rng.random(feature.card) < 0.6
        some[rng.integers(feature.card)] = True
        chosen = [value for value, one in zip(feature.values, some, strict=True) if one]
        if kind == 0:
            evidence[feature.name] = Likelihood(likelihood)
        elif kind == 1:
            evidence[feature.name], likelihood = OneOf(*chosen), some
        elif kind == 2 and not some.all():
            evidence[feature.name], likelihood = Not(*chosen), ~some
        elif kind == 3:
            likelihood = np.arange(feature.card) == rng.integers(feature.card)
            evidence[feature.name] = feature.values[int(likelihood.argmax())]
        if feature.name in evidence:
            given[feature.name] = np.asarray(likelihood, float).tolist()
    return evidence, given


@pytest.fixture(scope="module")
def rows():
    """Age → disease → cough, and smoking → disease."""
    rng = np.random.default_rng(0)
    n = 400
    age, smokes = rng.integers(20, 80, n), rng.random(n) < 0.3
    sick = rng.random(n) < 0.1 + 0.4 * (age > 50) + 0.3 * smokes
    cough = rng.random(n) < 0.2 + 0.5 * sick
    X = pd.DataFrame({"age": age, "smokes": smokes, "cough": cough})
    return X, pd.Series(np.where(sick, "sick", "well"), name="disease")


EDGES = [("age", "disease"), ("smokes", "disease"), ("disease", "cough")]


@pytest.mark.parametrize("parameters", ["map", "ml"])
def test_generative_estimates_are_relative_frequencies(rows, parameters):
    X, y = rows
    clf = BayesNetClassifier(EDGES, parameters).fit(X, y)
    net = clf.network_
    assert set(net.edges(with_class=True)) == set(EDGES)
    assert clf.structure_ == Structure(((), (), ()), (False, False, True), (0, 1))
    table = net.tables("pandas")["disease"]
    assert list(table.columns) == ["age", "smokes", "sick", "well"]
    np.testing.assert_allclose(table[["sick", "well"]].sum(axis=1), 1)
    codes = net.encode(X)
    for at, row in table.iterrows():
        here = (codes[0] == at // 2) & (codes[1] == at % 2)
        virtual = 1.0 / table[["sick", "well"]].size if parameters == "map" else 0.0
        share = (np.sum(here & (y == "sick")) + virtual) / (here.sum() + 2 * virtual)
        assert row["sick"] == pytest.approx(share, abs=1e-4)
    # the marginal of the class, and its parents given it, by enumeration
    joint = np.exp(full_log_joint(net.parameters))
    assert joint.sum() == pytest.approx(1)
    np.testing.assert_allclose(net.prior, joint.sum(axis=(0, 1, 2)), atol=1e-12)
    np.testing.assert_allclose(
        net.query("smokes", {"disease": "sick"}).probabilities,
        joint[..., 0].sum(axis=(0, 2)) / joint[..., 0].sum(),
        atol=1e-12,
    )


def test_predictions_explanations_and_values_of_information(rows):
    X, y = rows
    clf = BayesNetClassifier(EDGES, "map").fit(X, y)
    row = {"age": Between(60, None), "cough": True}
    posterior = clf.predict_proba(row)[0]
    tables = clf.network_.parameters
    codes = clf.network_.encode({"age": 60.0})[0, 0]
    joint = full_log_joint(tables)[codes:, :, 1]
    expected = np.exp(logsumexp(joint, axis=(0, 1)) - logsumexp(joint))
    np.testing.assert_allclose(posterior, expected, atol=1e-12)
    found = clf.explain(row)
    total = found.base_of(0) + np.nansum(found.contributions[0], axis=0)
    np.testing.assert_allclose(total, found.log_odds[0])
    assert clf.value_of_information(row).best == "smokes"
    _, y_new = clf.network_.sample(2000, random_state=0)
    assert np.mean(y_new == "sick") == pytest.approx(clf.network_.prior[0], abs=0.05)
    shifted = clf.predict_proba(row, class_prior=[0.5, 0.5])[0]
    odds = posterior / clf.network_.prior
    np.testing.assert_allclose(shifted, odds / odds.sum(), atol=1e-12)
    own = BayesNetClassifier.from_network(clf.network_)
    np.testing.assert_array_equal(own.predict_proba(row), [posterior])
    assert BayesNetClassifier(EDGES, "map", calibrate="temperature").fit(X, y).score(X, y) > 0.6


def test_answers_about_columns_equal_enumeration(rows):
    X, y = rows
    clf = BayesNetClassifier(EDGES, "hybrid", calibrate="isotonic").fit(X, y)
    net = clf.network_
    joint = np.exp(full_log_joint(net.parameters))  # age, smokes, cough, class
    given = {"cough": True}
    values, log_probability = net.most_probable(given)
    seen = joint[:, :, 1]
    best = np.unravel_index(seen.argmax(), seen.shape)
    assert log_probability == pytest.approx(np.log(seen.max()))
    labels = net.domain.features
    assert values["smokes"] == labels[1].values[best[1]]
    assert values["disease"] == ["sick", "well"][best[2]]
    each = net.fill(given, library="pandas").iloc[0]
    assert each["smokes"] == labels[1].values[seen.sum(axis=(0, 2)).argmax()]
    assert each["age"] == labels[0].labels[seen.sum(axis=(1, 2)).argmax()]
    together = net.fill(given, how="joint", y=["sick"], library="pandas").iloc[0]
    of_sick = np.unravel_index(seen[..., 0].argmax(), seen.shape[:2])
    assert together["age"] == labels[0].labels[of_sick[0]]
    assert together["smokes"] == labels[1].values[of_sick[1]]
    found = net.log_likelihood([given], ["sick"])[0]
    assert found == pytest.approx(np.log(seen[..., 0].sum()))
    # the value of a column is the expected fall of the entropy of the class
    plain = BayesNetClassifier.from_network(net)
    shares = seen.sum(axis=(0, 2)) / seen.sum()
    entropy = _entropy(seen.sum(axis=(0, 1)))
    less = entropy - shares @ [_entropy(seen[:, k].sum(axis=0)) for k in range(2)]
    found = plain.value_of_information(given)
    place = [variable.name for variable in found.variables].index("smokes")
    assert found.gain[place] == pytest.approx(less)
    row = {"age": 30, "smokes": True, "cough": True}
    change = clf.counterfactual(row, "sick")
    assert change.label_after == "sick"
    assert net.novelty(X[:5]).shape == (5,)


def _entropy(weights):
    shares = weights / weights.sum()
    return -(shares * np.log(shares)).sum()


def test_what_needs_a_class_without_parents_refuses_by_name(rows):
    X, y = rows
    clf = BayesNetClassifier(EDGES, "map").fit(X, y)
    message = "'disease' has the parents 'age', 'smokes'"
    for use in (
        lambda: edge_strengths(clf.network_),
        lambda: plot.network(clf),
    ):
        with pytest.raises(ValueError, match=message):
            use()
    for parameters in ("ccbn-d", "dfe", "auto"):
        with pytest.raises(ValueError, match="'disease' the parents 'age', 'smokes'"):
            BayesNetClassifier(EDGES, parameters).fit(X, y)
    with pytest.raises(ValueError, match="partial_fit and merge"):
        BayesNetClassifier(EDGES, "map").partial_fit(X, y)
    assert clf.network_._repr_html_().startswith("<figure")


@pytest.mark.parametrize("parameters", ["map", "hybrid"])
def test_model_files_keep_the_table_of_the_class(rows, parameters, tmp_path):
    X, y = rows
    clf = BayesNetClassifier(EDGES, parameters, class_prior=[0.3, 0.7]).fit(X, y)
    clf.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert again.structure_ == clf.structure_
    for name, table in clf.network_.tables("pandas").items():
        np.testing.assert_array_equal(table, again.network_.tables("pandas")[name])
    by_numpy = predict.load(tmp_path / "model.json").predict_proba(X.to_dict("records"))
    np.testing.assert_allclose(by_numpy, clf.predict_proba(X), atol=1e-12)
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


def test_a_table_of_the_class_that_is_not_that_of_the_network_is_refused(rows, tmp_path):
    X, y = rows
    clf = BayesNetClassifier(EDGES, "map").fit(X, y)
    structure = {"parents": [[]], "class_children": [False], "class_parents": [0]}
    assert unpack_structure(structure, "settings").class_parents == (0,)
    with pytest.raises(ValueError, match="which belong to class_table"):
        unpack_network_structure(structure, "structure")
    own = clf.network_.parameters
    wrong = replace(own.class_table, log_table=own.class_table.log_table[::-1].copy())
    clf.network_ = replace(clf.network_, parameters=replace(own, class_table=wrong))
    with pytest.raises(ValueError, match="the table of the class is not that of the network"):
        clf.save(tmp_path / "model.json")


def test_a_cycle_through_the_class_is_refused():
    with pytest.raises(ValueError, match="cycle"):
        Structure.from_edges([("a", "y"), ("y", "b"), ("b", "a")], ["a", "b"], "y")
    # without edges from the class, its ancestors are no children
    given = Structure.from_edges([("a", "b"), ("b", "y")], ["a", "b", "c"], "y")
    assert given.class_children == (False, False, True)


@pytest.mark.parametrize("seed", range(4))
def test_rows_are_drawn_by_the_tables_as_they_are(seed):
    rng = np.random.default_rng(seed)
    states = random_states(rng, CARDS) if seed % 2 else None
    drawn = random_structure(rng, 4)
    parents = tuple(rng.permutation(4)[: 1 + seed % 3].tolist())
    last = max(map(drawn.order.index, parents))  # none above it is a child of the class
    flags = [drawn.order.index(i) > last and flag for i, flag in enumerate(drawn.class_children)]
    structure = Structure(drawn.parents, tuple(flags))
    tables = random_tables(rng, structure, CARDS, 3, states=states)
    shape = (*tables.layout.n_states[list(parents)], 3)
    of_class = np.log(rng.dirichlet(np.ones(3), shape[:-1]))
    absorbed = absorb_class(tables, parents, of_class)
    assert absorbed.class_table.is_normalized
    codes, classes = sample(absorbed, 40_000, rng)
    found = np.zeros((*CARDS, 3))
    np.add.at(found, (*codes, classes), 1 / 40_000)
    expected = np.exp(full_log_joint(absorbed))
    assert expected.sum() == pytest.approx(1)
    # 216 cells: none is further away than 5 standard errors
    error = np.sqrt(expected * (1 - expected) / 40_000) + 1e-12
    assert (abs(found - expected) / error).max() < 5


def test_a_table_is_replaced(rows):
    X, y = rows
    for edges in (EDGES, [("age", "smokes"), ("disease", "cough")]):
        net = BayesNetClassifier(edges, "map").fit(X, y).network_
        graph = net.to_networkx()
        other = net
        rng = np.random.default_rng(0)
        for name in ("disease", "cough", "smokes"):
            table = graph.nodes[name]["table"]
            new = rng.dirichlet(np.ones(table.shape[-1]), table.shape[:-1])
            other = other.with_table(name, new)
            np.testing.assert_allclose(other.to_networkx().nodes[name]["table"], new, atol=1e-12)
        kept = other.to_networkx().nodes["age"]["table"]
        np.testing.assert_allclose(kept, graph.nodes["age"]["table"], atol=1e-12)
        assert np.exp(full_log_joint(other.parameters)).sum() == pytest.approx(1)
        assert other.edges(with_class=True) == net.edges(with_class=True)
    with pytest.raises(ValueError, match="'cough' has the shape"):
        net.with_table("cough", [0.5, 0.5])
    with pytest.raises(ValueError, match="'smokes' must be at least 0 and sum to 1"):
        net.with_table("smokes", graph.nodes["smokes"]["table"] * 2)
