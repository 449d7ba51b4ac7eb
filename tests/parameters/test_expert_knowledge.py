"""Prior networks and monotone columns of generative estimates, against enumeration."""

from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from support.oracle import full_log_joint

from discbayes import (
    BayesNet,
    BayesNetClassifier,
    ExtendedCCBN,
    GreedyEdges,
    MarkovBlanketClimb,
    MaximumAPosteriori,
    SpanningTree,
    load,
)
from discbayes.data.discretize import EqualFrequencyDiscretizer
from discbayes.parameters.monotone import monotone_child, monotone_class
from discbayes.report.column_table import columns_html

LABELS = {"a": ["u", "v", "w"], "b": ["no", "yes"], "c": ["k", "l"], "y": ["ill", "well"]}


def _expert(seed=0, edges=(("a", "y"), ("a", "b"), ("y", "c"), ("b", "c"))):
    import networkx

    rng = np.random.default_rng(seed)
    graph = networkx.DiGraph(edges)
    for name in graph:
        above = list(graph.predecessors(name))
        sizes = [len(LABELS[p]) for p in above]
        table = rng.dirichlet(np.ones(len(LABELS[name])), sizes)
        graph.add_node(name, labels=LABELS[name], parents=above, table=table)
    return BayesNet.from_networkx(graph, "c")  # another class than that of the rows


def _joint(net, order):
    """P of all variables by enumeration, with the axes of their names."""
    joint = np.exp(full_log_joint(net.parameters))
    names = [*net.domain.names, net.domain.target.name]
    return joint.transpose([names.index(name) for name in order])


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({name: rng.choice(LABELS[name], 60) for name in "abc"})
    X.iloc[:3] = [["u", "no", "k"], ["v", "yes", "l"], ["w", "no", "k"]]
    return X, pd.Series(rng.choice(LABELS["y"], 60), name="y")


@pytest.mark.parametrize("edges", [[("a", "b")], [("a", "y"), ("b", "y"), ("y", "c"), ("a", "c")]])
def test_a_network_is_worth_so_many_rows(rows, edges):
    X, y = rows
    expert = _expert()
    joint = _joint(expert, ["a", "b", "c", "y"])
    net = BayesNetClassifier(edges, MaximumAPosteriori(expert, 25.0)).fit(X, y).network_
    table = X.assign(y=y)
    graph = net.to_networkx()
    for name in ["a", "b", "c", "y"]:
        family = [*graph.nodes[name]["parents"], name]
        found = graph.nodes[name]["table"]
        for values in product(*[range(len(LABELS[n])) for n in family]):
            fixed = dict(zip(family, values, strict=True))

            def mass(given, fixed=fixed):
                at = tuple(fixed[n] if n in given else slice(None) for n in "abcy")
                here = np.all([table[n] == LABELS[n][fixed[n]] for n in given], axis=0)
                return 25.0 * joint[at].sum() + np.sum(here)

            expected = mass(family) / (mass(family[:-1]) if family[:-1] else 85.0)
            assert found[values] == pytest.approx(expected, abs=1e-9)


def test_a_strong_prior_is_the_expert_and_unknown_columns_are_uniform(rows):
    X, y = rows
    expert = _expert(1, edges=(("a", "y"), ("y", "c")))
    learner = MaximumAPosteriori(expert, 1e9)
    with pytest.warns(UserWarning, match="does not have 'b': all of their values are equally"):
        net = BayesNetClassifier("nb", learner).fit(X, y).network_
    np.testing.assert_allclose(
        net.query("c", {"y": "ill"}).probabilities,
        expert.query("c", {"y": "ill"}).probabilities,
        atol=1e-6,
    )
    np.testing.assert_allclose(net.query("b", {"y": "ill"}).probabilities, 0.5, atol=1e-6)


def test_values_that_the_rows_lack_come_from_the_network(rows):
    X, y = rows
    expert = _expert()
    some = X[X["a"] != "w"]
    with pytest.raises(ValueError, match=r"'a' has other values .* 'w' in the prior network only"):
        BayesNetClassifier("nb", MaximumAPosteriori(expert, 9)).fit(some, y[some.index])
    values = {"a": LABELS["a"]}
    clf = BayesNetClassifier("nb", MaximumAPosteriori(expert, 9), domains=values)
    table = clf.fit(some, y[some.index]).network_.tables("pandas")["a"]
    assert (table["w"] > 0).all()


def test_contradictory_priors_are_refused(rows):
    X, y = rows
    expert = _expert()
    never = expert.with_table("a", [0.5, 0.5, 0.0])
    with pytest.raises(ValueError, match="table of 'a' in the prior network has probabilities of"):
        BayesNetClassifier("nb", MaximumAPosteriori(never, 5)).fit(X, y)
    other = _expert(edges=(("a", "b"), ("b", "c")))
    with pytest.raises(ValueError, match="prior network has no variable 'y', which is the class"):
        BayesNetClassifier("nb", MaximumAPosteriori(other, 5)).fit(X, y)
    for settings, message in (
        ({"prior": "some"}, "is not one of 'ess', 'dirichlet', 'm', nor a network"),
        ({"prior": expert, "strength": -1}, "strength=-1 must be"),
        ({"prior": expert, "missing": "em"}, "goes with neither a prior network"),
    ):
        with pytest.raises(ValueError, match=message):
            BayesNetClassifier("nb", MaximumAPosteriori(**settings)).fit(X, y)
    learner = MaximumAPosteriori(expert, 5)
    for clf in (
        BayesNetClassifier("tan", ExtendedCCBN(generative=learner)),
        BayesNetClassifier(GreedyEdges(parameters=learner), "map"),
    ):
        with pytest.raises(ValueError, match="take neither a prior network nor monotone columns"):
            clf.fit(X, y)
    with pytest.raises(AttributeError, match="needs all rows at once"):
        BayesNetClassifier("nb", learner, discretizer=None).partial_fit(X, y)


# ---- monotone columns


def _likelihood(counts, table):
    return (counts[counts > 0] * np.log(table[counts > 0])).sum()


@pytest.mark.parametrize("seed", range(6))
def test_the_table_of_a_child_has_the_largest_likelihood(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 20, (4, 2)).astype(float)
    direction = 1 if seed % 2 else -1
    found = monotone_child(counts, direction, 4)
    np.testing.assert_allclose(found.sum(axis=0), 1)
    ratio = found[:, 1] / found[:, 0]
    assert (np.diff(ratio) * direction >= -1e-12).all()

    def tables_of(free):  # the steps of the log ratio are squares
        base = np.exp(np.append(0.0, free[:3]))
        steps = np.cumsum(np.append(0.0, direction * free[3:] ** 2))
        two = np.stack([base, base * np.exp(steps)], axis=1)
        return two / two.sum(axis=0)

    best = max(
        -minimize(lambda x: -_likelihood(counts, tables_of(x)), rng.normal(size=6)).fun
        for _ in range(4)
    )
    assert _likelihood(counts, found) >= best - 1e-6


@pytest.mark.parametrize("directions", [[1, 0], [0, -1], [1, 1], [1, -1]])
def test_the_table_of_the_class_has_the_largest_likelihood(directions):
    rng = np.random.default_rng(3)
    counts = rng.integers(1, 20, (3, 4, 2)).astype(float)
    found = monotone_class(counts, directions)
    np.testing.assert_allclose(found.sum(axis=-1), 1)
    for axis, direction in enumerate(directions):
        if direction:
            assert (np.diff(found[..., 1], axis=axis) * direction >= 0).all()

    bounds = [
        {
            "type": "ineq",
            "fun": lambda p, a=axis, d=d: (np.diff(p.reshape(3, 4), axis=a) * d).ravel(),
        }
        for axis, d in enumerate(directions)
        if d
    ]

    def loss(p):
        p = np.clip(p, 1e-9, 1 - 1e-9).reshape(3, 4)
        return -(counts[..., 1] * np.log(p) + counts[..., 0] * np.log1p(-p)).sum()

    start = np.full(12, counts[..., 1].sum() / counts.sum())
    best = minimize(loss, start, constraints=bounds, bounds=[(1e-6, 1 - 1e-6)] * 12)
    assert loss(found[..., 1].ravel()) <= best.fun + 1e-4


@pytest.fixture(scope="module")
def noisy():
    """Age and dose raise the risk, with few rows: learned odds go up and down."""
    rng = np.random.default_rng(5)
    n = 150
    age, dose, other = rng.integers(20, 90, n), rng.integers(0, 5, n), rng.choice(["p", "q"], n)
    sick = rng.random(n) < 0.2 + 0.005 * age
    X = pd.DataFrame({"age": age, "dose": dose, "other": other, "flag": rng.random(n) < 0.5})
    return X, np.where(sick, "sick", "asymptomatic")


def _violations(clf, X, column, values, rng):
    """How far the log odds of the second class fall from one value to the next, at most."""
    worst = 0.0
    rows = X.sample(40, random_state=0).astype(object)
    rows = rows.mask(rng.random(rows.shape) < 0.3)
    steps = [clf.predict_log_proba(rows.assign(**{column: value})) for value in values]
    odds = [log[:, 1] - log[:, 0] for log in steps]
    for before, after in pairwise(odds):
        worst = max(worst, float((before - after).max()))
    return worst


ALONE = [("age", "*"), ("*", "age"), ("dose", "*"), ("*", "dose")]
EXPERT_EDGES = [("age", "class"), ("dose", "class"), ("class", "other"), ("class", "flag")]


@pytest.mark.parametrize(
    "structure",
    [
        "nb",
        SpanningTree(forbidden=[("age", "*"), ("*", "age"), ("dose", "*"), ("*", "dose")]),
        EXPERT_EDGES,
    ],
)
@pytest.mark.parametrize("calibrate", [None, "temperature", "isotonic"])
def test_the_odds_never_fall(noisy, structure, calibrate):
    X, y = noisy
    rng = np.random.default_rng(0)
    shared = {
        "discretizer": EqualFrequencyDiscretizer(7),
        "calibrate": calibrate,
        "random_state": 0,
    }
    free = BayesNetClassifier(structure, "map", **shared).fit(X, y)
    learner = MaximumAPosteriori(monotone={"age": 1, "dose": -1})
    clf = BayesNetClassifier(structure, learner, **shared).fit(X, y)
    ages, doses = [25, 35, 45, 55, 65, 75, 85], [4.5, 3.5, 2.5, 1.5, 0.5]
    assert _violations(clf, X, "age", ages, rng) <= 1e-9
    assert _violations(clf, X, "dose", doses, rng) <= 1e-9
    if calibrate is None:
        assert _violations(free, X, "age", ages, rng) > 0.01


def test_a_class_that_is_not_there_and_boolean_columns():
    counts = np.array([[0.0, 2.0], [0.0, 3.0]])
    np.testing.assert_allclose(monotone_child(counts, 1, 2), [[0.4, 0.4], [0.6, 0.6]])
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"flag": rng.random(50) < 0.5})
    y = np.where(X["flag"], "a", "b")
    learner = MaximumAPosteriori(monotone={"flag": 1})  # of b, which falls
    clf = BayesNetClassifier("nb", learner, calibrate=None).fit(X, y)
    found = clf.predict_proba(pd.DataFrame({"flag": [False, True]}))
    np.testing.assert_allclose(found[0], found[1], atol=1e-12)


@pytest.mark.parametrize(
    "monotone, message",
    [
        ({"z": 1}, "monotone names 'z', which is not a column"),
        ({"age": 2}, "the direction of 'age' is 2, not \\+1 or -1"),
        (["age"], "must be a dict of columns"),
        ({"other": 1}, "the values of 'other' have no order"),
        ({"age": 1}, "'age' has an edge with 'dose'.*forbidden="),
    ],
)
def test_what_cannot_be_monotone_is_refused(noisy, monotone, message):
    X, y = noisy
    learner = MaximumAPosteriori(monotone=monotone)
    with pytest.raises(ValueError, match=message):
        BayesNetClassifier([("dose", "age")], learner).fit(X, y)


def test_monotone_columns_are_for_two_classes_and_for_generative_fits(noisy):
    X, _ = noisy
    learner = MaximumAPosteriori(monotone={"age": 1})
    three = np.arange(len(X)) % 3
    with pytest.raises(ValueError, match="for two classes, and 'class' has 3"):
        BayesNetClassifier("nb", learner).fit(X, three)
    with pytest.raises(ValueError, match="take neither a prior network nor monotone"):
        BayesNetClassifier("nb", ExtendedCCBN(generative=learner)).fit(X, three)


def test_a_blanket_with_a_monotone_parent(noisy, tmp_path):
    X, y = noisy
    search = MarkovBlanketClimb(
        "ll",
        max_parents=2,
        required=[("age", "class")],
        forbidden=[("age", "[dof]*"), ("*", "age")],
    )
    learner = MaximumAPosteriori(monotone={"age": 1})
    clf = BayesNetClassifier(search, learner, calibrate=None).fit(X, y)
    assert "age" in clf.network_.class_parents
    assert _violations(clf, X, "age", [25, 45, 65, 85], np.random.default_rng(0)) <= 1e-9
    plain = BayesNetClassifier("nb", learner).fit(X, y)
    plain.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").parameters.monotone == {"age": 1}


def test_the_report_names_monotone_columns(noisy):
    X, y = noisy
    learner = MaximumAPosteriori(monotone={"age": 1, "dose": -1})
    clf = BayesNetClassifier("nb", learner, discretizer=EqualFrequencyDiscretizer(4)).fit(X, y)
    found = columns_html(clf)
    assert found.count("the odds of") == 2
    assert "<bdi>sick</bdi> never fall as it rises" in found
    assert "never rise as it rises" in found
