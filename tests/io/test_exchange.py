"""Networks of other libraries and files in other formats keep their posteriors."""

import sys

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
