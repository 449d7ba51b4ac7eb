"""The picture of a network: what is drawn, where, and that names cannot be more than text."""

from __future__ import annotations

import re
import time
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest

import oracle
from discbayes import BayesNet, BayesNetClassifier, Structure, load_dataset
from discbayes.charts.placement import MAX_COLUMNS, place, spaced
from discbayes.data import Domain, Variable
from discbayes.report import network_html, structure_html
from discbayes.report.drawing import network_svg

SVG = "{http://www.w3.org/2000/svg}"


def make_network(structure, names=None, target="class", values=("a", "b", "c")):
    names = names or [f"x{i}" for i in range(structure.n_features)]
    rng = np.random.default_rng(0)
    tables = oracle.random_tables(rng, structure, [len(values)] * structure.n_features, 2)
    features = tuple(Variable(name, "categorical", values) for name in names)
    return BayesNet(Domain(features, Variable(target, "categorical", ("no", "yes"))), tables)


def picture(network):
    html = network_html(network)
    return ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + len("</svg>")])


def boxes(svg):
    """(x, y, width, height) of every box, the class first."""
    return [
        tuple(float(r.get(k)) for k in ("x", "y", "width", "height"))
        for r in svg.iter(f"{SVG}rect")
    ]


def structures():
    rng = np.random.default_rng(7)
    yield "naive", lambda n: Structure.naive(n)
    yield "forest", lambda n: oracle.random_forest(rng, n)
    yield "any", lambda n: oracle.random_structure(rng, n)
    yield "chain", lambda n: Structure(((), *((i,) for i in range(n - 1))))
    yield "star", lambda n: Structure(((), *(((0,),) * (n - 1))))


@pytest.mark.parametrize("n_features", [1, 2, 20, 60])
@pytest.mark.parametrize("kind,build", list(structures()))
def test_boxes_do_not_overlap_and_lie_inside(kind, build, n_features):
    svg = picture(make_network(build(n_features)))
    found = boxes(svg)
    assert len(found) == n_features + 1
    for (x0, y0, w0, h0), (x1, y1, w1, h1) in combinations(found, 2):
        assert x0 + w0 < x1 or x1 + w1 < x0 or y0 + h0 < y1 or y1 + h1 < y0
    _, _, width, height = map(float, svg.get("viewBox").split())
    assert all(x >= 0 and y >= 0 and x + w <= width and y + h <= height for x, y, w, h in found)


@pytest.mark.parametrize("kind,build", list(structures()))
def test_edges_run_down_between_boxes_and_end_on_a_border(kind, build):
    structure = build(40)
    svg = picture(make_network(structure))
    found = boxes(svg)
    starts = {(round(x + w / 2, 1), y + h) for x, y, w, h in found}
    paths = [p for p in svg.iter(f"{SVG}path") if p.get("marker-end")]
    drawn_from_class = 0 if all(structure.class_children) else sum(structure.class_children)
    assert len(paths) == structure.n_edges + drawn_from_class
    ends = []
    for path in paths:
        numbers = [float(v) for v in re.findall(r"[-\d.]+", path.get("d"))]
        assert any(abs(x - numbers[0]) < 0.2 and abs(y - numbers[1]) < 0.2 for x, y in starts)
        end_x, end_y = numbers[-2:]
        assert any(x < end_x < x + w and abs(y - end_y) < 0.2 for x, y, w, _ in found)
        ends.append((end_x, end_y))
        for x, y0, y1 in vertical_parts(path.get("d")):
            assert not any(bx < x < bx + w and y0 < by + h and by < y1 for bx, by, w, h in found)
    assert len(set(ends)) == len(ends)  # arrowheads do not cover each other


def vertical_parts(path):
    """(x, from, to) of the straight parts, with which an edge passes a row."""
    for part in re.finditer(r"([-\d.]+) ([-\d.]+)V([-\d.]+)", path):
        yield tuple(float(v) for v in part.groups())


@pytest.mark.parametrize("kind,build", list(structures()))
def test_a_feature_stands_below_its_parents_and_rows_are_not_too_wide(kind, build):
    structure = build(50)
    grid = place(structure)
    assert all(
        grid.rows[p] < grid.rows[i] for i, group in enumerate(structure.parents) for p in group
    )
    assert max(np.bincount(grid.rows)) <= MAX_COLUMNS
    assert min(grid.columns) >= 0
    assert max(grid.columns) <= grid.n_columns - 1


@pytest.mark.parametrize("seed", range(20))
def test_spaced_is_nearest(seed):
    rng = np.random.default_rng(seed)
    wanted = rng.uniform(-1, 6, size=5)
    found = np.array(spaced(wanted.tolist(), 7.0))
    assert (np.diff(found) >= 1 - 1e-12).all()
    assert found[0] >= 0
    assert found[-1] <= 7
    for _ in range(300):  # no allowed place nearby is better
        other = np.clip(found + rng.normal(scale=0.1, size=5), 0, 7)
        if (np.diff(other) >= 1).all():
            assert np.sum((other - wanted) ** 2) >= np.sum((found - wanted) ** 2) - 1e-9


NASTY = [
    "<script>alert(1)</script>",
    "\"quoted\" & 'quoted' onload=x",
    "</title></svg><img src=x onerror=y>",
    "🙂" * 30,
    "x" * 500,
    "",
    "null\x00bell\x07",
    "half \ud800 pair",
    "]]>",
    "\ufffe",
]


def test_names_are_text_whatever_they_hold():
    network = make_network(
        Structure.naive(len(NASTY)), NASTY, target="<b>y</b>", values=tuple(NASTY)
    )
    html = network_html(network)
    assert "<script" not in html
    assert "<img" not in html
    assert "<b>" not in html
    html.encode("utf-8")
    svg = picture(network)
    shown = [text.text or "" for text in svg.iter(f"{SVG}text")]
    assert shown[1].startswith("<script>")
    assert max(map(len, shown)) <= 20
    titles = [title.text for title in svg.iter(f"{SVG}title")]
    assert any("x" * 500 in title for title in titles)
    assert any("</title></svg><img" in title for title in titles)


def test_nothing_runs_and_nothing_is_fetched():
    html = network_html(make_network(Structure(((), (0,)))))
    assert not re.search(r"<script|<style|<link|@import|href=|src=|\son\w+=", html)
    assert re.findall(r"https?://[^\"]+", html) == ["http://www.w3.org/2000/svg"]
    assert set(re.findall(r"url\(([^)]*)\)", html)) == {"#" + re.search(r'id="([^"]+)"', html)[1]}


def test_ids_differ_between_pictures():
    network = make_network(Structure.naive(2))
    ids = {re.search(r'id="([^"]+)"', network_html(network))[1] for _ in range(10)}
    assert len(ids) == 10


def test_caption_counts_and_says_where_the_class_is_a_parent():
    every = make_network(Structure(((), (0,), (0,))))
    html = network_html(every)
    assert "3 features, 2 classes, 2 edges between features" in html
    assert "is a parent of every feature (edges not drawn)" in html
    assert "stroke-dasharray" not in html
    some = network_html(make_network(Structure(((), (0,), (0,)), (True, False, True))))
    assert "is a parent of 2 of 3 features (dashed edges)" in some
    assert some.count("stroke-dasharray") == 2


def test_the_picture_is_labelled():
    svg = picture(make_network(Structure.naive(3)))
    assert svg.get("role") == "img"
    assert "3 features" in svg.get("aria-label")


@pytest.mark.parametrize(
    "build", [Structure.naive, lambda n: oracle.random_structure(np.random.default_rng(1), n)]
)
def test_large_networks_are_drawn_quickly(build):
    network = make_network(build(250))
    network_html(network)
    start = time.perf_counter()
    network_html(network)
    assert time.perf_counter() - start < 1.0  # 0.1 s on an idle machine


def test_a_fitted_classifier_shows_it():
    wine = load_dataset("wine")
    classifier = BayesNetClassifier().fit(wine.X, wine.y)
    assert "<svg" in classifier.network_._repr_html_()
    assert "flavanoids" in classifier._repr_mimebundle_()["text/html"]


def test_a_structure_shows_itself_by_the_numbers_of_features():
    structure = Structure(((), (0,), (0, 1)), (True, False, True))
    html = structure._repr_html_()
    assert re.sub("discbayes-[0-9a-f]+", "", html) == re.sub(
        "discbayes-[0-9a-f]+", "", structure_html(structure)
    )
    assert "3 features, 3 edges between them" in html
    svg = ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + len("</svg>")])
    assert [text.text for text in svg.iter(f"{SVG}text")] == ["class", "0", "1", "2"]


def test_edges_are_as_wide_as_they_are_strong():
    network = make_network(Structure(((), (0,), (0, 1))))
    strengths = {(0, 1): 0.4, (0, 2): 0.1, (1, 2): 0.0}
    svg = ElementTree.fromstring(network_svg(network, strengths, "a network"))
    ends = {
        (int(p.get("data-from")), int(p.get("data-to"))): p
        for p in svg.iter(f"{SVG}path")
        if p.get("data-to")
    }
    widths = {edge: float(path.get("stroke-width")) for edge, path in ends.items()}
    assert widths[0, 1] > widths[0, 2] > widths[1, 2] > 0
    assert "0.4 nats" in ends[0, 1].find(f"{SVG}title").text
    even = ElementTree.fromstring(network_svg(network, None, "a network"))
    assert len({p.get("stroke-width") for p in even.iter(f"{SVG}path") if p.get("data-to")}) == 1


def test_nodes_of_the_page_are_buttons_with_names():
    svg = ElementTree.fromstring(
        network_svg(make_network(Structure.naive(2), NASTY[:2]), None, '"')
    )
    nodes = [g for g in svg.iter(f"{SVG}g") if g.get("role") == "button"]
    spoken = [node.get("aria-label") for node in nodes]
    assert [name.split(": ")[-1] for name in spoken] == ["class", *NASTY[:2]]
    for node, name in zip(nodes, spoken, strict=True):  # voices hear the text that is seen
        assert name.startswith(node.find(f"{SVG}text").text)
    assert [node.get("tabindex") for node in nodes] == ["0", "-1", "-1"]
    assert not any(element.get("style") for element in svg.iter())
