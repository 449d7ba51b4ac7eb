"""Pictures of networks: what is drawn, and that it can be read."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import oracle
from discbayes import BayesNet, BayesNetClassifier, Structure, load_dataset
from discbayes.charts.placement import place
from discbayes.data import Domain, Variable
from discbayes.explanations.edge_strength import edge_strengths
from discbayes.network import CLASS

matplotlib = pytest.importorskip("matplotlib", reason="pictures are the extra `plot`")
matplotlib.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch  # noqa: E402

from discbayes.plot import network, style  # noqa: E402
from discbayes.plot.graphs import ADDED, REMOVED, REVERSED, SAME, differences, graph_of  # noqa: E402
from discbayes.plot.networks import LOOKS  # noqa: E402

NASTY = [
    "$x_1$ and $\\frac{1}{0}$",
    "one $",
    "\\$",
    "🙂" * 30,
    "עברית מימין לשמאל",
    "x" * 500,
    "",
    "null\x00bell\x07",
    "half \ud800 pair",
    "two\nlines",
    "W" * 20,
    "<b>&amp;</b>",
    "{}",
    "%s %d",
    "日本語の列の名前がとても長い場合",
    "_leg",
]
LONG = [f"{letter * 17}{k:03}" for k in range(20) for letter in "WM"]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def make_network(structure, names=None, seed=0):
    names = names or [f"feature {i}" for i in range(structure.n_features)]
    tables = oracle.random_tables(
        np.random.default_rng(seed), structure, [3] * structure.n_features, 2
    )
    features = tuple(Variable(name, "categorical", ("a", "b", "c")) for name in names)
    return BayesNet(Domain(features, Variable("outcome", "categorical", ("no", "yes"))), tables)


def boxes(ax):
    return [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]


def arrows(ax):
    return [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]


def ends(ax):
    """The pairs of names that the arrows join, by the boxes whose borders they begin and end on."""
    name_of = {text.get_position(): text.get_text() for text in ax.texts}
    found = []
    for arrow in arrows(ax):
        points = arrow._path_original.vertices
        found.append(tuple(box_at(ax, name_of, point) for point in (points[0], points[-1])))
    return found


def box_at(ax, name_of, point):
    for box in boxes(ax):
        x0, y0, x1, y1 = (
            box.get_x(),
            box.get_y(),
            box.get_x() + box.get_width(),
            box.get_y() + box.get_height(),
        )
        if x0 <= point[0] <= x1 and min(abs(point[1] - y0), abs(point[1] - y1)) < 1e-9:
            return next(name for (x, y), name in name_of.items() if x0 < x < x1 and y0 < y < y1)
    raise AssertionError(f"an arrow has its end at {point}, where there is no box")


def check_legible(ax, least_points):
    """Labels stand in their boxes, and neither they nor the boxes overlap or leave the axes."""
    ax.figure.canvas.draw()
    frame = ax.get_window_extent()
    shapes = [box.get_window_extent() for box in boxes(ax)]
    labels = [text.get_window_extent() for text in ax.texts if text.get_text()]
    for group in (shapes, labels):
        assert not any(a.overlaps(b) for a, b in combinations(group, 2))
        assert all(
            frame.x0 <= b.x0 and b.x1 <= frame.x1 and frame.y0 <= b.y0 and b.y1 <= frame.y1
            for b in group
        )
    for label in labels:
        assert any(
            s.x0 <= label.x0 and label.x1 <= s.x1 and s.y0 <= label.y0 and label.y1 <= s.y1
            for s in shapes
        )
    legend = ax.get_legend()
    if legend is not None:
        box = legend.get_window_extent()
        assert not any(box.overlaps(shape) for shape in shapes)
    assert min(text.get_fontsize() for text in ax.texts) >= least_points


def structures():
    rng = np.random.default_rng(3)
    return {
        "naive": Structure.naive,
        "forest": lambda n: oracle.random_forest(rng, n),
        "any": lambda n: oracle.random_structure(rng, n),
        "chain": lambda n: Structure(((), *((i,) for i in range(n - 1)))),
        "star": lambda n: Structure(((), *(((0,),) * (n - 1)))),
    }


@pytest.mark.parametrize("n_features", [1, 5, 20, 60])
@pytest.mark.parametrize("kind", list(structures()))
def test_nothing_overlaps(kind, n_features):
    ax = network(structures()[kind](n_features))
    assert len(boxes(ax)) == len(ax.texts)
    check_legible(ax, 9)
    assert ax.figure.get_size_inches()[0] <= 13.5


def test_long_names_do_not_overlap():
    structure = oracle.random_structure(np.random.default_rng(5), 40)
    check_legible(network(structure, names=LONG, show_class=True), 9)


@pytest.mark.parametrize(
    "size, n_features, points",
    [((5, 4), 20, 3), ((12, 3), 20, 3), ((3, 9), 20, 3), ((10, 8), 60, 3)],
)
def test_given_axes_hold_all_of_it(size, n_features, points):
    _, ax = plt.subplots(figsize=size)
    structure = oracle.random_forest(np.random.default_rng(2), n_features)
    assert network(make_network(structure), ax=ax) is ax
    check_legible(ax, points)


def test_axes_of_any_figure_do():
    figure = matplotlib.figure.Figure(figsize=(8, 6))
    part = figure.subfigures(1, 2)[1]
    ax = part.add_axes((0.1, 0.1, 0.8, 0.8))
    assert network(Structure(((), (0,))), ax=ax) is ax
    check_legible(ax, 5)


def test_arrows_join_the_right_boxes():
    structure = oracle.random_structure(np.random.default_rng(8), 30)
    net = make_network(structure)
    ax = network(net, show_class=True)
    assert sorted(ends(ax)) == sorted(net.edges(with_class=True))
    hidden = network(net, show_class=False)
    assert sorted(ends(hidden)) == sorted(net.edges())


@pytest.mark.parametrize("kind", ["forest", "any", "star"])
def test_arrows_pass_between_the_boxes(kind):
    ax = network(structures()[kind](45), show_class=True)
    shapes = np.array(
        [
            [b.get_x(), b.get_y(), b.get_x() + b.get_width(), b.get_y() + b.get_height()]
            for b in boxes(ax)
        ]
    )
    for arrow in arrows(ax):
        (points,) = arrow._path_original.to_polygons(closed_only=False)
        inside = (points[:, None] > shapes[:, :2] + 1e-9) & (points[:, None] < shapes[:, 2:] - 1e-9)
        assert not inside.all(axis=2).any()


@pytest.mark.parametrize("seed", range(5))
def test_lines_of_different_parents_pass_apart(seed):
    structure = oracle.random_structure(np.random.default_rng(seed), 40)
    grid = place(structure)
    edges = structure.edges(class_name=CLASS)
    routes = grid.routes(edges, 0.15)
    assert list(routes) == edges
    for row in range(grid.n_rows):
        at = {}
        for (parent, child), route in routes.items():
            first = grid.spot(parent)[1] + 1
            assert len(route) == grid.rows[child] - first
            if first <= row < grid.rows[child]:
                at.setdefault(parent, set()).add(round(route[row - first], 9))
        boxes_here = [grid.columns[i] for i in range(40) if grid.rows[i] == row]
        for columns in at.values():
            assert all(abs(column - box) >= 0.5 - 0.075 for column in columns for box in boxes_here)
        assert not any(a & b for a, b in combinations(at.values(), 2))


def test_widths_follow_strengths():
    net = make_network(oracle.random_forest(np.random.default_rng(4), 12))
    strengths = edge_strengths(net)
    ax = network(net, show_class=False)
    names = net.domain.names
    widths = {pair: arrow.get_linewidth() for pair, arrow in zip(ends(ax), arrows(ax), strict=True)}
    pairs = sorted(widths, key=lambda pair: strengths[names.index(pair[0]), names.index(pair[1])])
    assert len(pairs) > 3
    assert (np.diff([widths[pair] for pair in pairs]) > 0).all()
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    strongest = max(value for (parent, _), value in strengths.items() if parent != CLASS)
    assert f"{strongest:.2g} nats between parent and child" in texts
    assert (
        len(
            {
                arrow.get_linewidth()
                for arrow in arrows(network(net, strengths=False, show_class=False))
            }
        )
        == 1
    )


def test_what_rounding_leaves_over_is_no_strength():
    rows = [[a, b, 0] for a in (0, 1) for b in (0, 1)] * 20
    clf = BayesNetClassifier(parameters="map", categorical="all").fit(
        rows, [a ^ b for a, b, _ in rows]
    )
    texts = [text.get_text() for text in network(clf, show_class=False).get_legend().get_texts()]
    assert "0 nats between parent and child" in texts
    assert not [text for text in texts if "e-" in text]


def test_boxes_are_as_dark_as_what_the_class_adds():
    net = make_network(Structure.naive(6))
    strengths = edge_strengths(net)
    shades = [np.mean(box.get_facecolor()[:3]) for box in boxes(network(net))]
    assert (
        np.argsort(shades).tolist() == np.argsort([-strengths[CLASS, i] for i in range(6)]).tolist()
    )


def test_strengths_may_be_given():
    structure = Structure(((), (0,), (0,)))
    ax = network(structure, names=["a", "b", "c"], strengths={("a", "b"): 4.0, (0, 2): 1.0})
    widths = {pair: arrow.get_linewidth() for pair, arrow in zip(ends(ax), arrows(ax), strict=True)}
    assert widths["a", "b"] > widths["a", "c"]
    with pytest.raises(ValueError, match=r"no entry for the edge \('a', 'c'\)"):
        network(structure, names=["a", "b", "c"], strengths={("a", "b"): 4.0})
    with pytest.raises(ValueError, match="no feature is called 'd'"):
        network(structure, names=["a", "b", "c"], strengths={("a", "d"): 4.0})


def test_a_network_too_dense_for_strengths_says_so():
    dense = Structure(tuple(tuple(range(max(0, i - 4), i)) for i in range(10)))
    ax = network(replace(make_network(dense), max_cells=10))
    assert "too dense for exact strengths" in ax.get_legend().get_title().get_text()
    assert len({arrow.get_linewidth() for arrow in arrows(ax)}) == 1
    check_legible(ax, 9)


def test_the_class_is_shown_where_it_matters():
    every, some = Structure(((), (0,))), Structure(((), (0,)), (True, False))
    hidden = network(every)
    assert [text.get_text() for text in hidden.texts] == ["0", "1"]
    assert "class is a parent of every feature" in hidden.get_legend().get_title().get_text()
    assert "class" in [text.get_text() for text in network(some).texts]
    assert ends(network(every, show_class=True)) == [("class", "0"), ("class", "1"), ("0", "1")]
    without = network(some, show_class=False)
    assert [box.get_linestyle() for box in boxes(without)] == ["-", "--"]
    assert "does not depend on class" in [
        text.get_text() for text in without.get_legend().get_texts()
    ]


# ---- two structures


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9))
def test_differences(seed, n_features):
    rng = np.random.default_rng(seed)
    now, before = (graph_of(oracle.random_structure(rng, n_features)) for _ in range(2))
    found = differences(now, before)
    new, old = set(now.edges), set(before.edges)
    turned = {(b, a) for a, b in old}
    assert {edge for edge, kind in found.items() if kind == SAME} == new & old
    assert {edge for edge, kind in found.items() if kind == REVERSED} == new & turned
    assert {edge for edge, kind in found.items() if kind == ADDED} == new - old - turned
    assert {edge for edge, kind in found.items() if kind == REMOVED} == old - new - {
        (b, a) for a, b in new
    }


@pytest.mark.parametrize("seed", range(4))
def test_two_structures_in_one_picture(seed):
    rng = np.random.default_rng(seed)
    now, before = (oracle.random_structure(rng, 20) for _ in range(2))
    ax = network(now, compare_to=before)
    check_legible(ax, 9)
    kinds = differences(graph_of(now), graph_of(before))
    names = [*map(str, range(20)), "class"]
    assert sorted(ends(ax)) == sorted((names[a], names[b]) for a, b in kinds)
    colours = {
        pair: arrow.get_edgecolor() for pair, arrow in zip(ends(ax), arrows(ax), strict=True)
    }
    for (a, b), kind in kinds.items():
        if a != CLASS:
            assert colours[names[a], names[b]][:3] == matplotlib.colors.to_rgb(LOOKS[kind][0])
    shown = {text.get_text() for text in ax.get_legend().get_texts()}
    assert set(kinds.values()) <= shown


def test_structures_are_compared_by_name():
    before = make_network(Structure(((), (0,), (1,))), ["a", "b", "c"])
    now = make_network(Structure(((1,), (2,), ())), ["c", "b", "a"])
    ax = network(now, compare_to=before)
    assert ax.get_legend().get_texts()[0].get_text() == SAME
    assert {arrow.get_edgecolor()[:3] for arrow in arrows(ax)} == {
        matplotlib.colors.to_rgb(LOOKS[SAME][0])
    }
    with pytest.raises(ValueError, match=r"d, feature 0, .* is not in both"):
        network(
            make_network(Structure.naive(3)),
            compare_to=make_network(Structure.naive(3), ["b", "c", "d"]),
        )


# ---- names, errors, colours


@pytest.mark.filterwarnings("ignore:.*Glyph:UserWarning", "ignore:.*font:UserWarning")
def test_names_are_text_whatever_they_hold():
    ax = network(
        make_network(Structure(((), *(((0,),) * (len(NASTY) - 1)))), NASTY), show_class=True
    )
    check_legible(ax, 9)
    shown = [text.get_text() for text in ax.texts]
    assert shown[1] == r"\$x_1\$ and \$…c{1}{0}\$"
    assert max(len(text.replace("\\$", "$")) for text in shown) <= 20


def test_what_cannot_be_drawn():
    with pytest.raises(TypeError, match="not dict"):
        network({})
    with pytest.raises(TypeError, match=r"compare_to must be .* not int"):
        network(Structure.naive(2), compare_to=3)
    with pytest.raises(ValueError, match="show_class='no'"):
        network(Structure.naive(2), show_class="no")
    with pytest.raises(ValueError, match="names has 1 entries for 2"):
        network(Structure.naive(2), names=["a"])
    with pytest.raises(ValueError, match="names of its own"):
        network(make_network(Structure.naive(2)), names=["a", "b"])
    with pytest.raises(NotFittedError):
        network(BayesNetClassifier())


def test_a_fitted_classifier_is_drawn():
    wine = load_dataset("wine")
    clf = BayesNetClassifier().fit(wine.X, wine.y)
    assert sorted(ends(network(clf))) == sorted(
        (style.words(a), style.words(b)) for a, b in clf.network_.edges()
    )


# Machado, Oliveira and Fernandes (2009), severity 1: how colours look without one kind of cones, in
# linear RGB.
SEEN = {
    "all": np.eye(3),
    "no red": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no green": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no blue": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def linear(colour):
    share = np.array(matplotlib.colors.to_rgb(colour))
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    xyz = np.array(
        [[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]]
    ) @ np.clip(rgb, 0, 1)
    xyz = xyz / [0.9505, 1, 1.0888]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eyes", list(SEEN))
def test_colours_can_be_told_apart(eyes):
    seen = [lab(np.array(SEEN[eyes]) @ linear(colour)) for colour in style.COLORS]
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 18
    on_white = [
        1.05 / (np.array([0.2126, 0.7152, 0.0722]) @ linear(colour) + 0.05)
        for colour in style.COLORS
    ]
    assert min(on_white) > 2.5
