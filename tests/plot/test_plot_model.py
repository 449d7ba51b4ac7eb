"""Pictures of tables, classes, histories, explanations and gaps: that they show the right numbers,
legibly.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import oracle
from discbayes import MLBNSVM, BayesNet, BayesNetClassifier, Structure, load_dataset
from discbayes.charts.traces import stages
from discbayes.data import Domain, Variable
from discbayes.evaluation.missing_masks import missing_masks
from discbayes.parameters import DiscriminativeCCBN
from discbayes.search import Annealing, GreedyEdges

matplotlib = pytest.importorskip("matplotlib", reason="pictures are the extra `plot`")
matplotlib.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402

from discbayes import plot  # noqa: E402


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def wine():
    data = load_dataset("wine")
    return data, BayesNetClassifier("tan", "hybrid", random_state=0).fit(data.X, data.y)


@pytest.fixture(scope="module")
def wine_by_default():
    data = load_dataset("wine")
    return data, BayesNetClassifier(random_state=0).fit(data.X, data.y)


def make_network(structure, cards, n_classes=3, seed=0, labels=None, **options):
    tables = oracle.random_tables(
        np.random.default_rng(seed), structure, cards, n_classes, **options
    )
    features = tuple(
        Variable(f"x{i}", "categorical", tuple(labels or (f"v{k}" for k in range(card))))
        for i, card in enumerate(cards)
    )
    return BayesNet(Domain(features, Variable("y", "categorical", tuple(range(n_classes)))), tables)


def texts_of(ax):
    return [text.get_text() for text in ax.texts]


def check_tick_labels(ax):
    """No two labels of an axis overlap."""
    ax.figure.canvas.draw()
    for axis in (ax.xaxis, ax.yaxis):
        boxes = [label.get_window_extent() for label in axis.get_ticklabels() if label.get_text()]
        assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))


def check_inside(ax):
    """All text of the axes is within the figure."""
    ax.figure.canvas.draw()
    page, box = ax.figure.bbox, ax.get_tightbbox()
    assert page.x0 - 1 <= box.x0 and page.y0 - 1 <= box.y0  # noqa: PT018
    assert box.x1 <= page.x1 + 1 and box.y1 <= page.y1 + 1  # noqa: PT018


# ---- tables


STRUCTURE = Structure(((), (0,), (0, 1), (2,)), (True, True, True, False))


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("feature", range(4))
def test_tables_are_conditional_probabilities(feature, normalized):
    network = make_network(STRUCTURE, [2, 3, 2, 4], seed=feature, normalized=normalized)
    joint = oracle.full_joint(network.parameters)
    kept = [*STRUCTURE.parents[feature], feature, 4]
    family = joint.sum(axis=tuple(set(range(5)) - set(kept)))
    family = np.moveaxis(family, [sorted(kept).index(k) for k in kept], range(len(kept)))
    by_class = STRUCTURE.class_children[feature]
    family = np.moveaxis(family, -1, 0) if by_class else family.sum(axis=-1)
    expected = family / family.sum(axis=-1, keepdims=True)
    ax = plot.table(network, feature)
    shown = ax.images[0].get_array()
    np.testing.assert_allclose(shown, expected.reshape(shown.shape), atol=1e-12)
    assert len(texts_of(ax)) == shown.size
    check_tick_labels(ax)
    check_inside(ax)


@pytest.mark.parametrize("normalized", [True, False])
def test_tables_of_two_resolutions_are_shown_by_coarse_intervals(normalized):
    cuts = tuple(float(cut) for cut in range(1, 12))
    features = (
        Variable("size", "numeric", cuts=cuts, coarse_cuts=(3.0, 9.0)),
        Variable("age", "numeric", cuts=cuts, coarse_cuts=(5.0,), missing_value=True),
    )
    domain = Domain(features, Variable("y", "categorical", (0, 1)))
    tables = oracle.random_tables(
        np.random.default_rng(0), Structure(((), (0,))), domain.cards, 2, normalized,
        states=domain.states,
    )  # fmt: skip
    network = BayesNet(domain, tables)
    ax = plot.table(network, "age")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["< 5", ">= 5", "(missing)"]
    assert len(ax.get_yticklabels()) == 6
    fine = plot.table(network, "age", fine=True).images[0].get_array()
    assert fine.shape == (6, 13)
    coarse = np.array([fine[:, :5].sum(axis=1), fine[:, 5:12].sum(axis=1), fine[:, 12]]).T
    np.testing.assert_allclose(ax.images[0].get_array(), coarse, atol=1e-12)
    np.testing.assert_allclose(fine.sum(axis=1), 1.0)
    bars, all_bars = plot.class_bars(network, "age"), plot.class_bars(network, "age", fine=True)
    assert (len(bars.patches), len(all_bars.patches)) == (6, 26)
    heights = np.array([patch.get_height() for patch in all_bars.patches]).reshape(2, 13)
    expected = np.add.reduceat(heights, [0, 5, 12], axis=1).ravel()
    np.testing.assert_allclose([p.get_height() for p in bars.patches], expected, atol=1e-12)
    check_tick_labels(all_bars)


def test_rows_and_values_are_labelled():
    network = make_network(STRUCTURE, [2, 3, 2, 4])
    ax = plot.table(network, "x2")
    assert [label.get_text() for label in ax.get_yticklabels()][:3] == [
        "0, v0, v0",
        "0, v0, v1",
        "0, v0, v2",
    ]
    assert ax.get_ylabel() == "y, x0, x1"
    assert [label.get_text() for label in ax.get_xticklabels()] == ["v0", "v1"]
    assert plot.table(network, 3).get_ylabel() == "x2"


def test_impossible_parents_are_blank():
    network = make_network(Structure(((), (0,))), [2, 2], n_classes=1, normalized=False)
    log_theta = network.parameters.log_theta.copy()
    log_theta[0] = -np.inf
    network = replace(network, parameters=replace(network.parameters, log_theta=log_theta))
    shown = plot.table(network, 1).images[0].get_array()
    assert np.ma.getmaskarray(np.ma.masked_invalid(shown)).tolist() == [
        [True, True],
        [False, False],
    ]


@pytest.mark.parametrize("cards", [[2, 60], [60, 2], [4, 4, 5, 12], [1, 1]])
def test_large_and_small_tables_can_be_read(cards):
    last = len(cards) - 1
    structure = Structure((*(() for _ in range(last)), tuple(range(last))))
    labels = None if max(cards) > 30 else [f"a rather long value {k}" for k in range(max(cards))]
    network = make_network(structure, cards, 2)
    if labels:
        renamed = tuple(replace(v, values=tuple(labels[: v.card])) for v in network.domain.features)
        network = replace(network, domain=replace(network.domain, features=renamed))
    ax = plot.table(network, last)
    check_tick_labels(ax)
    check_inside(ax)
    assert max(ax.figure.get_size_inches()) < 16
    _, small = plt.subplots(figsize=(4, 3))
    assert plot.table(network, last, ax=small) is small
    check_tick_labels(small)


# ---- classes


@pytest.mark.parametrize("normalized", [True, False])
def test_bars_are_the_distribution_in_each_class(normalized):
    network = make_network(STRUCTURE, [2, 3, 2, 4], normalized=normalized)
    prior = np.log([0.5, 0.5, 0.0], where=[True, True, False], out=np.full(3, -np.inf))
    joint = oracle.full_joint(network.parameters)
    for feature in range(4):
        marginal = joint.sum(axis=tuple(set(range(4)) - {feature}))
        expected = marginal / marginal.sum(axis=0)
        ax = plot.class_bars(network.with_prior(prior), feature)
        heights = [[bar.get_height() for bar in group] for group in ax.containers]
        np.testing.assert_allclose(np.transpose(heights), expected, atol=1e-12)
    one = plot.class_bars(network, 0, classes=[2])
    assert [text.get_text() for text in one.get_legend().get_texts()] == ["2"]


@pytest.mark.parametrize("model, cuts", [("wine", "cuts"), ("wine_by_default", "coarse_cuts")])
def test_bars_do_not_overlap_and_intervals_have_their_cuts(model, cuts, request):
    _, clf = request.getfixturevalue(model)
    variable = clf.network_.domain.features[0]
    cuts = getattr(variable, cuts)
    ax = plot.class_bars(clf, variable.name)
    spans = sorted(
        (bar.get_x(), bar.get_x() + bar.get_width()) for group in ax.containers for bar in group
    )
    assert all(before[1] <= after[0] + 1e-9 for before, after in pairwise(spans))
    assert [float(label.get_text()) for label in ax.get_xticklabels()] == pytest.approx(cuts)
    assert ax.get_xticks().tolist() == [k + 0.5 for k in range(len(cuts))]
    for cut, label in zip(cuts, ax.get_xticklabels(), strict=True):
        inside = [start for start, end in spans if start < ax.get_xticks()[0] < end]
        assert not inside, (cut, label)
    check_tick_labels(ax)


@pytest.mark.parametrize("n_values, n_classes", [(1, 1), (3, 2), (40, 2), (12, 26)])
def test_many_values_and_classes(n_values, n_classes):
    network = make_network(Structure.naive(1), [n_values], n_classes)
    ax = plot.class_bars(network, 0)
    check_tick_labels(ax)
    check_inside(ax)
    colours = {group[0].get_facecolor() for group in ax.containers}
    assert len(colours) == n_classes


def test_what_is_no_feature_or_class(wine):
    _, clf = wine
    with pytest.raises(ValueError, match="no feature is called 'ash2'; the nearest names are ash"):
        plot.table(clf, "ash2")
    with pytest.raises(ValueError, match="no feature is called 99"):
        plot.class_bars(clf, 99)
    with pytest.raises(ValueError, match=r"classes=\['red'\] must name some of the classes"):
        plot.class_bars(clf, 0, classes=["red"])
    with pytest.raises(TypeError, match="not of Structure"):
        plot.table(clf.structure_, 0)


# ---- history


FITS = [
    ("tan", "hybrid", ["edge", "iteration"]),
    ("ghc", "map", ["move"]),
    ("greedy", "ml", ["abandoned"]),
    ("order", "ml", ["abandoned"]),
    ("superparent", "ml", ["abandoned"]),
    (Annealing(restarts=3), "ml", ["temperature"]),
    (GreedyEdges(score="mm"), "ml", ["rates", "abandoned"]),
    ("nb", DiscriminativeCCBN(penalty="cv"), ["setting", "iteration"]),
    ("nb", MLBNSVM(lam="cv"), ["setting", "iteration"]),
    ("tan", "dfe", ["edge", "iteration"]),
]


@pytest.mark.parametrize(
    "structure, parameters, expected", FITS, ids=[f"{s}-{p}"[:30] for s, p, _ in FITS]
)
def test_histories_of_all_kinds_of_fits(structure, parameters, expected):
    data = load_dataset("wine")
    clf = BayesNetClassifier(structure, parameters, random_state=0).fit(data.X.iloc[:, :6], data.y)
    found = stages(clf.history_)
    assert [stage.kind for stage in found] == expected
    assert [step for stage in found for step in stage.steps] == clf.history_
    ax = plot.history(clf)
    shown = ax.child_axes if len(found) > 1 else [ax]
    assert len(shown) == len(found)
    for stage, panel in zip(found, shown, strict=True):
        kind, scores = stage.kind, [step["score"] for step in stage.steps]
        if kind == "edge":
            assert [bar.get_height() for bar in panel.patches] == sorted(scores, reverse=True)
        elif kind in ("iteration", "move", "abandoned"):
            np.testing.assert_allclose(panel.lines[0].get_ydata(), scores)
        elif kind == "setting":
            np.testing.assert_allclose(
                panel.lines[1].get_ydata(), max(step["held_out"] for step in stage.steps)
            )
    check_inside(ax)
    titles = [panel.title.get_window_extent() for panel in shown]
    labels = [panel.xaxis.label.get_window_extent() for panel in shown]
    assert not any(title.overlaps(label) for title in titles for label in labels)


def test_restarts_have_a_line_each():
    iris = load_dataset("iris")
    clf = BayesNetClassifier(Annealing(restarts=3), "ml", random_state=0).fit(iris.X, iris.y)
    ax = plot.history(clf.history_)
    assert len(ax.lines) == 3
    assert "in 3 runs" in ax.get_title()


def test_gaps_to_the_optimum_stand_at_the_right():
    iris = load_dataset("iris")
    clf = BayesNetClassifier("nb", "ml-bn-svm").fit(iris.X, iris.y)
    (right,) = plot.history(clf).child_axes
    np.testing.assert_allclose(right.lines[0].get_ydata(), [step["gap"] for step in clf.history_])


def test_no_history_is_an_error():
    iris = load_dataset("iris")
    with pytest.raises(ValueError, match="the history is empty"):
        plot.history(BayesNetClassifier("nb", "ml").fit(iris.X, iris.y))
    with pytest.raises(NotFittedError):
        plot.history(BayesNetClassifier())


# ---- explanations


@pytest.mark.parametrize("model", ["wine", "wine_by_default"])
def test_a_waterfall_runs_from_the_prior_to_the_sum(model, request):
    data, clf = request.getfixturevalue(model)
    rows = data.X.iloc[:2].copy()
    rows.iloc[1, 3:6] = np.nan
    explanation = clf.explain(rows)
    # with a pool, the prior depends on the missing values of the row
    base = np.broadcast_to(explanation.base, (2, clf.classes_.size))
    for row in range(2):
        for label in (None, *clf.classes_):
            place = explanation.class_of(row, label)
            ax = explanation.plot(row=row, label=label)
            bars = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches]
            assert bars[0] == pytest.approx((0, base[row, place]))
            assert bars[-1] == pytest.approx((0, explanation.log_odds[row, place]))
            assert all(
                before[1] == pytest.approx(after[0]) for before, after in pairwise(bars[:-1])
            )
            assert bars[-2][1] == pytest.approx(bars[-1][1])
        check_inside(ax)
        check_tick_labels(ax)
        plt.close("all")
    assert "unknown: " in explanation.plot(row=1).get_xlabel()
    assert data.X.columns[3] in explanation.plot(row=1).get_xlabel()


def test_a_waterfall_of_few_bars(wine):
    data, clf = wine
    explanation = clf.explain(data.X.iloc[:1], against=clf.classes_[1])
    ax = plot.waterfall(explanation, most=2)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    parts = explanation.contributions[0, :, 0]
    largest = np.argsort(-np.abs(parts))[:2]
    assert labels[0] == "prior"
    assert [label.split(" in ")[0].split(" <")[0].split(" ≥")[0] for label in labels[1:3]] == [
        explanation.names[i] for i in largest
    ]
    assert labels[3:] == [f"{len(parts) - 2} other columns", "sum"]
    assert f"over {clf.classes_[1]}" in ax.get_xlabel()
    with pytest.raises(ValueError, match="most=0"):
        plot.waterfall(explanation, most=0)


def test_infinite_contributions_end_at_the_border():
    X = [["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5
    y = ["no", "no", "yes", "yes"] * 5
    clf = BayesNetClassifier("nb", "ml", domains={"x0": ["a", "b"]}).fit(X, y)
    tables = clf.network_.parameters
    log_theta = np.where(tables.log_theta < np.log(0.01), -np.inf, tables.log_theta)
    clf.network_ = replace(clf.network_, parameters=replace(tables, log_theta=log_theta))
    explanation = clf.explain([["a", "u"]])
    assert np.isinf(explanation.log_odds).all()
    for label in ("no", "yes"):
        ax = explanation.plot(label=label)
        assert all(np.isfinite(bar.get_width()) for bar in ax.patches)
        assert any("∞" in text for text in texts_of(ax))
        check_inside(ax)


def test_relevance(wine):
    data, clf = wine
    found = clf.relevance(data.X, data.y)
    ax = plot.relevance(found, most=5)
    np.testing.assert_allclose(
        [bar.get_width() for bar in ax.patches], 100 * np.sort(found.share)[::-1][:5]
    )
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        found.names[i] for i in found.ranking[:5]
    ]
    assert "8 other columns" in ax.get_xlabel()
    check_inside(ax)
    grey = [bar.get_facecolor() for bar in plot.relevance(found, most=13).patches]
    could_go = [found.names[i] in found.hidden.columns for i in found.ranking]
    assert [colour == matplotlib.colors.to_rgba(plot.style.GRAY) for colour in grey] == could_go


# ---- gaps, and axes


def test_missing_curves_of_classifiers(wine):
    data, clf = wine
    other = BayesNetClassifier("nb").fit(data.X, data.y)
    ax = plot.missing_curve_of(
        {"TAN": clf, "NB": other}, data.X, data.y, [0, 0.5, 1], random_state=3
    )
    values = data.X.to_numpy(copy=True)
    for line, classifier in zip(ax.lines, (clf, other), strict=True):
        expected = []
        for mask in missing_masks(*values.shape, [0, 50, 100], np.random.default_rng(3)):
            rows = data.X.mask(mask)
            expected.append(100 * np.mean(classifier.predict(rows) == np.asarray(data.y)))
        np.testing.assert_allclose(line.get_ydata(), expected)
    assert plot.missing_curve_of(clf, data.X, data.y, [0, 0.5]).get_legend() is None
    with pytest.raises(ValueError, match="shares="):
        plot.missing_curve_of(clf, data.X, data.y, [50])
    with pytest.raises(ValueError, match="y has 3 labels for 178 rows"):
        plot.missing_curve_of(clf, data.X, data.y[:3])


def test_axes_that_are_given_are_used(wine):
    data, clf = wine
    figure, axes = plt.subplots(2, 3, figsize=(15, 9), layout="constrained")
    explanation, found = clf.explain(data.X.iloc[:1]), clf.relevance(data.X)
    drawn = [
        plot.table(clf, 0, ax=axes[0, 0]),
        plot.class_bars(clf, 0, ax=axes[0, 1]),
        plot.history(clf, ax=axes[0, 2]),
        plot.waterfall(explanation, ax=axes[1, 0]),
        plot.relevance(found, ax=axes[1, 1]),
        plot.missing_curve_of(clf, data.X, data.y, [0, 0.5], ax=axes[1, 2]),
    ]
    assert drawn == axes.ravel().tolist()
    figure.canvas.draw()
    boxes = [ax.get_tightbbox() for ax in drawn]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))


def test_formulas_in_names_are_text():
    labels = ["$a_1$", "$b$"]
    network = make_network(Structure(((), (0,))), [2, 2], 2, labels=labels)
    renamed = tuple(replace(v, name=f"$x^{i}$") for i, v in enumerate(network.domain.features))
    network = replace(network, domain=replace(network.domain, features=renamed))
    for ax in (plot.table(network, "$x^1$"), plot.class_bars(network, "$x^1$")):
        assert {label.get_text() for label in ax.get_xticklabels()} == {r"\$a_1\$", r"\$b\$"}
        ax.figure.canvas.draw()


def test_the_pictures_of_the_docs_are_there():
    docs = Path(__file__).parents[2] / "docs"
    pages = [path.read_text(encoding="utf-8") for path in docs.rglob("*.md")]
    named = {name for page in pages for name in re.findall(r"pictures/([^)\s]+\.png)", page)}
    files = {path.name: path.stat().st_size for path in (docs / "pictures").iterdir()}
    assert named == set(files)
    assert sum(files.values()) < 3_000_000


def test_a_waterfall_with_error_bars():
    iris = load_dataset("iris")
    clf = BayesNetClassifier("tan", "map").fit(iris.X, iris.y)
    rows = iris.X[60:62]
    bars = clf.bootstrap(iris.X, iris.y, n=20)
    low, high = bars.contributions(rows)
    explanation = clf.explain(rows)
    ax = explanation.plot(1, intervals=(low, high))
    place = int(explanation.decisions[1])
    drawn = [line for line in ax.lines if line.get_marker() == "|"]
    largest = int(np.nanargmax(abs(explanation.contributions[1, :, place])))
    start = explanation.base_of(1)[place]  # the largest one comes after the prior
    ends = [start + low[1, largest, place], start + high[1, largest, place]]
    np.testing.assert_allclose(drawn[0].get_xdata(), ends)
    assert ax.get_xlim()[0] < min(line.get_xdata().min() for line in drawn)
    with pytest.raises(ValueError, match=r"error_bars\.contributions\(X\) of the same rows"):
        explanation.plot(intervals=(low[:1], high[:1]))
    with pytest.raises(ValueError, match="explain without against="):
        clf.explain(rows, against="setosa").plot(intervals=(low, high))
    # edges are as wide as they are often found
    assert plot.network(clf, strengths=bars.edge_shares()).lines is not None
