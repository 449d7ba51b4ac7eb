"""Networks of other libraries and files in other formats keep their posteriors."""

import sys
import warnings

import numpy as np
import pytest

from discbayes import BayesNet, BayesNetClassifier, load_dataset, read_network, write_network
from discbayes.io import BifError

gum = pytest.importorskip("pyagrum")


@pytest.fixture(scope="module")
def expert():
    """A network in which the class has parents."""
    gum.initRandom(3)
    return gum.fastBN("a{u|v|w}->c{k|l|m}<-b->d{r|s|t|q}<-c->e<-a;c->f{g|h|i};b->f")


@pytest.fixture(scope="module")
def fitted():
    wine = load_dataset("wine")
    return BayesNetClassifier("tan", "map").fit(wine.X[["hue", "ash", "alcohol"]], wine.y).network_


@pytest.mark.parametrize("target", ["a", "c", "f"])
def test_pyagrum_and_networkx_there_and_back(expert, target):
    net = BayesNet.from_pyagrum(expert, target)
    evidence = {name: net.domain.features[i].values[-1] for i, name in enumerate(net.domain.names)}
    for known in ({}, dict(list(evidence.items())[:2]), evidence):
        expected = gum.getPosterior(expert, target=target, evs=known).tolist()
        for other in (
            net,
            BayesNet.from_pyagrum(net.to_pyagrum(), target),
            BayesNet.from_networkx(net.to_networkx(), target),
        ):
            np.testing.assert_allclose(other.posterior([known])[0], expected, atol=1e-12)
    assert set(net.to_networkx().edges) == set(net.edges(with_class=True))


def test_fitted_networks_keep_names_and_labels(fitted):
    bn = fitted.to_pyagrum()
    assert set(bn.names()) == {"class", "hue", "ash", "alcohol"}
    assert list(bn.variable("hue").labels()) == list(fitted.domain.features[0].labels)
    again = BayesNet.from_pyagrum(bn, "class")
    label = fitted.domain.features[0].labels[1]
    cut = fitted.domain.features[0].cuts[0]
    np.testing.assert_allclose(again.posterior({"hue": label}), fitted.posterior({"hue": cut}))
    default = BayesNetClassifier(random_state=0).fit(*_some_wine()).network_
    two = BayesNet.from_networkx(default.to_networkx(), "class")
    np.testing.assert_allclose(two.prior, default.posterior({})[0], atol=1e-12)


def _some_wine():
    wine = load_dataset("wine")
    return wine.X[["hue", "ash"]], wine.y


@pytest.mark.parametrize("ending", [".bif", ".bifxml", ".dsl", ".net", ".uai", ".xdsl"])
def test_files_of_other_programs(expert, ending, tmp_path):
    net = BayesNet.from_pyagrum(expert, "c")
    path = tmp_path / f"net{ending}"
    write_network(net, path)
    names = {name: name for name in ("c", "d")}
    if ending == ".uai":  # which has no names: variables are numbered in the order of the nodes
        bn = gum.loadBN(str(path))
        place = [node.name for node in _nodes(net)]
        names = {name: bn.variable(place.index(name)).name() for name in names}
    again = read_network(path, names["c"])
    position = again.domain.position(names["d"])
    for code, value in enumerate(net.domain.features[net.domain.position("d")].values):
        there = again.domain.features[position].values[code]
        np.testing.assert_allclose(
            again.posterior({names["d"]: there}), net.posterior({"d": value}), atol=1e-5
        )


def _nodes(net):
    from discbayes.io.exchange import nodes_of

    return nodes_of(net)


def test_what_cannot_be_exchanged_is_refused(expert, fitted, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="ends in none of"):
        read_network("net.txt", "c")
    with pytest.raises(BifError, match="'z' is not a single variable"):
        BayesNet.from_pyagrum(expert, "z")
    graph = fitted.to_networkx()
    graph.add_node("odd", labels=["a", "b"])
    with pytest.raises(ValueError, match="'odd' of the graph has no attribute 'table'"):
        BayesNet.from_networkx(graph, "class")
    graph.nodes["odd"]["table"] = [0.5, 0.6]
    with pytest.raises(BifError, match=r"'odd' sums to 1\.1"):
        BayesNet.from_networkx(graph, "class")
    graph.nodes["odd"]["table"] = [0.4, 0.6]
    graph.add_edge("class", "odd")
    with pytest.raises(BifError, match="must have 6 numbers"):
        BayesNet.from_networkx(graph, "class")
    (tmp_path / "bad.net").write_text("nothing")
    with pytest.raises(BifError, match="cannot be read by pyAgrum"):
        read_network(tmp_path / "bad.net", "c")
    write_network(fitted, tmp_path / "good.bifxml")
    with pytest.raises(BifError, match="name it with target="):
        read_network(tmp_path / "good.bifxml")
    monkeypatch.setitem(sys.modules, "pyagrum", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'discbayes\[exchange\]'"):
        write_network(fitted, tmp_path / "net.xdsl")


# ---- tables


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("target", ["a", "c", "f"])
def test_tables_there_and_back(expert, target, library):
    net = BayesNet.from_pyagrum(expert, target)
    again = BayesNet.from_tables(net.tables(library), target)
    assert set(again.edges(with_class=True)) == set(net.edges(with_class=True))
    rng = np.random.default_rng(0)
    for _ in range(5):
        features = [v for v in net.domain.features if rng.random() < 0.5]
        row = {v.name: v.values[rng.integers(v.card)] for v in features}
        np.testing.assert_allclose(again.posterior(row), net.posterior(row), atol=1e-12)


RAIN = {"no": 0.8, "yes": 0.2}
GROUND = {"rain": ["no", "yes"], "dry": [0.9, 0.2], "wet": [0.1, 0.8]}


@pytest.mark.parametrize(
    "tables, message",
    [
        ({"rain": {"no": 0.8, "yes": 0.3}, "ground": GROUND}, "'rain' sums to 1.1"),
        ({"rain": RAIN, "ground": {**GROUND, "dry": [0.9, 0.9]}}, "'ground' sums to 1.7"),
        ({"rain": RAIN, "ground": {**GROUND, "rain": ["no", "no"]}}, "two rows for 'no'"),
        ({"rain": RAIN, "ground": {**GROUND, "rain": ["no", "so"]}}, "the value 'so' of 'rain'"),
        (
            {"rain": RAIN, "ground": {"rain": ["yes"], "dry": [0.2], "wet": [0.8]}},
            "'ground' has no probabilities for {'rain': 'no'}",
        ),
        ({"ground": GROUND}, "the column 'rain' with 'no', which is neither a probability nor"),
        (
            {
                "rain": {"ground": ["dry", "wet"], "no": [0.5] * 2, "yes": [0.5] * 2},
                "ground": GROUND,
            },
            "cycle",
        ),
    ],
)
def test_tables_that_are_no_network_are_refused(tables, message):
    with pytest.raises(ValueError, match=message):
        BayesNet.from_tables(tables, next(iter(tables)))


# ---- pgmpy


@pytest.fixture(scope="module")
def pgmpy():
    """The package, which warns about itself when it is imported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("pgmpy")
        from pgmpy.factors.discrete import TabularCPD
        from pgmpy.inference import VariableElimination
        from pgmpy.models import DiscreteBayesianNetwork

        assert TabularCPD
        assert DiscreteBayesianNetwork
        return VariableElimination


@pytest.mark.parametrize("target", ["a", "c", "f"])
def test_pgmpy_there_and_back(expert, pgmpy, target):
    net = BayesNet.from_pyagrum(expert, target)
    model = net.to_pgmpy()
    assert model.check_model()
    assert set(model.edges()) == set(net.edges(with_class=True))
    again = BayesNet.from_pgmpy(model, target)
    rng = np.random.default_rng(0)
    for _ in range(4):
        features = [v for v in net.domain.features if rng.random() < 0.5]
        row = {v.name: v.values[rng.integers(v.card)] for v in features}
        found = pgmpy(model).query([target], evidence=row, show_progress=False)
        labels = net.domain.target.values
        expected = [found.get_value(**{target: label}) for label in labels]
        np.testing.assert_allclose(net.posterior(row)[0], expected, atol=1e-9)
        np.testing.assert_allclose(again.posterior(row)[0], expected, atol=1e-9)


@pytest.mark.usefixtures("pgmpy")
def test_what_pgmpy_lacks_is_refused(expert):
    model = BayesNet.from_pyagrum(expert, "a").to_pgmpy()
    model.remove_cpds(model.get_cpds("a"))
    with pytest.raises(ValueError, match="the pgmpy network has no table of 'a'"):
        BayesNet.from_pgmpy(model, "a")
