"""The page of a network, and the bars in its boxes."""

import re

import numpy as np
import pandas as pd
import pytest

from discbayes import BayesNetClassifier, load_dataset
from discbayes.charts import network_picture
from discbayes.charts.network_picture import exact_marginals
from discbayes.inference import TooManyCellsError
from discbayes.network import CLASS
from discbayes.report import network_html
from discbayes.report.drawing import _BARS_HEIGHT, network_svg, still_svg


@pytest.fixture(scope="module")
def net():
    iris = load_dataset("iris")
    return BayesNetClassifier("tan", "map").fit(iris.X, iris.y).network_


def heights_of(svg):
    return [
        [float(height) for height in re.findall(r"v-([0-9.]+)h", path)]
        for path in re.findall(r'<path d="([^"]*)" fill="[^"]*" fill-opacity', svg)
    ]


def test_marginals_are_those_of_queries(net):
    found = exact_marginals(net)
    assert np.allclose(found[CLASS], net.prior)
    for place, name in enumerate(net.domain.names):
        assert np.allclose(found[place], net.query(name).probabilities, atol=1e-12)


def test_bars_are_as_high_as_their_probabilities(net):
    marginals = exact_marginals(net)
    heights = heights_of(network_svg(net, None, "the network"))
    assert len(heights) == 5
    expected = sorted((_BARS_HEIGHT * p / p.max()).round(1).tolist() for p in marginals.values())
    assert sorted(heights) == expected


def test_large_and_dense_networks_have_no_bars(net, monkeypatch):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (80, 41)).astype(str))
    large = BayesNetClassifier("nb", "map").fit(X, rng.integers(0, 2, 80)).network_
    assert heights_of(network_html(large)) == []

    def refuse(*arguments):
        raise TooManyCellsError(10, [0], 1, ["a"])

    monkeypatch.setattr(network_picture, "missing_posteriors", refuse)
    assert exact_marginals(net) == {}
    assert heights_of(network_html(net)) == []


def test_the_page_of_a_network(net, tmp_path):
    path = tmp_path / "network.html"
    page = net.to_html(path, title="Irises & friends", source="Anderson, 1935")
    html = path.read_text(encoding="utf-8")
    assert html == page.html
    assert "<title>Irises &amp; friends</title>" in html
    assert "Anderson, 1935" in html
    assert "prefers-color-scheme: dark" in html
    assert "max-height:48em" not in html + network_html(net)
    # of the picture, no style but that of the page, which its policy allows
    assert 'style="' not in html.split("<body>")[1]
    # which has the colors of the page, also where that is dark
    assert html.count('class="node"') == len(net.domain.features)
    assert html.count('class="node target"') == 1
    assert 'class="edge"' in html
    widths = set(re.findall(r'stroke-width="([0-9.]+)"', still_svg(net, {(0, 1): 1.0}, "")))
    assert len(widths) > 1
