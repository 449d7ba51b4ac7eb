"""The sections of a page that are made in Python: numbers, markup, and names that cannot be more
than text.
"""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from importlib.resources import files
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    auc,
    average_precision_score,
    confusion_matrix,
    precision_recall_fscore_support,
    roc_auc_score,
)

from discbayes import BayesNetClassifier, Structure, load, load_dataset
from discbayes.charts.chart import Axis, Bars, Chart, Dots, Line
from discbayes.charts.evaluation_charts import (
    mean_curve,
    precision_recall_curves,
    reliability_chart,
    roc_curves,
)
from discbayes.charts.traces import stages
from discbayes.evaluation.metrics import measures
from discbayes.evaluation.quality import class_metrics, confusion_counts
from discbayes.parameters import MLBNSVM, MaximumLikelihood
from discbayes.report.column_table import columns_html
from discbayes.report.drawing import tooltip
from discbayes.report.evaluation import (
    class_codes,
    evaluation_html,
)
from discbayes.report.markup import aligned, number, per_cent
from discbayes.report.missing_curve import missing_charts, missing_curve
from discbayes.report.svg import MAX_POINTS, Scale, chart_html, thinned
from discbayes.report.training_history import history_html
from discbayes.search import KDB, Annealing, GreedyEdges, HillClimb, OrderBased, SuperParent

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "\"' onmouseover=alert(1) x='",
    "]]></script><script>alert(1)</script>",
    "🦊 emoji & <b>",
    "שלום עולם\u202e gnp",
    "long " * 100,
]
ALLOWED = {
    *("p", "div", "dl", "dt", "dd", "b", "small", "h3", "bdi", "ul", "li", "span"),
    *("table", "thead", "tbody", "tfoot", "tr", "th", "td", "figure", "figcaption"),
    *("details", "summary", "h4"),
    *("svg", "g", "path", "circle", "rect", "text", "title"),
}
VOID = {"br", "img", "hr", "input", "meta", "link"}


class Page(HTMLParser):
    """Elements, attributes and text of a fragment; refuses tags that are not closed."""

    def __init__(self, html: str):
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def checked(html):
    """The parsed fragment, after the checks that every fragment has to pass."""
    page = Page(html)
    assert {tag for tag, _ in page.elements} <= ALLOWED
    for _, attributes in page.elements:
        assert not {"style", "id", "href", "src"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
        assert not any(
            "url(" in (value or "") for name, value in attributes.items() if name != "title"
        )
    assert "http" not in html
    for svg in pictures(html):
        assert svg.get("viewBox")
        assert svg.get("aria-hidden") or (svg.get("role") == "img" and svg.get("aria-label"))
    return page


def pictures(html):
    return [
        ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL)
    ]


def numbers_in(svg):
    """Every coordinate of a picture, to see that all are finite and inside."""
    text = " ".join(
        value
        for e in svg.iter()
        for key, value in e.attrib.items()
        if key in ("d", "cx", "cy", "x", "y")
    )
    assert "nan" not in text
    assert "inf" not in text
    return text


def posterior(seed, n_rows, n_classes, sharp=3.0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_classes, size=n_rows)
    scores = rng.normal(size=(n_rows, n_classes)) + sharp * np.eye(n_classes)[codes] * rng.random(
        (n_rows, 1)
    )
    shares = np.exp(scores)
    return shares / shares.sum(axis=1, keepdims=True), codes


@pytest.fixture(scope="module")
def wine():
    return load_dataset("wine")


@pytest.fixture(scope="module")
def fitted(wine):
    return BayesNetClassifier("tan", "hybrid", random_state=0).fit(wine.X.iloc[::2], wine.y[::2])


# ---- figures


def test_evaluation_says_what_the_metrics_say(wine, fitted):
    X, y = wine.X.iloc[1::2], wine.y[1::2]
    page = checked(evaluation_html(fitted, X, y))
    found = measures(fitted.predict_proba(X), class_codes(fitted, y, len(y)))
    assert f"accuracy {per_cent(found['accuracy'])} ±" in page.text
    assert f"log loss {number(found['log_loss'])}" in page.text
    assert f"Brier score {number(found['brier'])}" in page.text
    assert f"ECE {number(found['ece'])}" in page.text
    assert f"rows {len(y)}" in page.text
    assert "the metrics are optimistic" in page.text
    assert found["accuracy"] == pytest.approx(fitted.score(X, y))


@pytest.mark.parametrize("n_classes", [2, 3, 9])
def test_confusions_and_class_metrics_are_those_of_scikit_learn(n_classes):
    shares, codes = posterior(n_classes, 300, n_classes)
    decided = shares.argmax(axis=1)
    counts = confusion_counts(shares, codes)
    assert np.array_equal(counts[:-1], confusion_matrix(codes, decided, labels=range(n_classes)))
    assert not counts[-1].any()
    found = class_metrics(shares, codes)
    precision, recall, f1, rows = precision_recall_fscore_support(
        codes, decided, zero_division=np.nan
    )
    np.testing.assert_allclose(found[:, :4], np.column_stack([rows, precision, recall, f1]))
    areas = [roc_auc_score(codes == c, shares[:, c]) for c in range(n_classes)]
    np.testing.assert_allclose(found[:, 4], areas)
    precisions = [average_precision_score(codes == c, shares[:, c]) for c in range(n_classes)]
    np.testing.assert_allclose(found[:, 5], precisions)


def test_a_class_without_rows_has_dashes_and_no_curve():
    shares, codes = posterior(0, 60, 4)
    codes = np.where(codes == 3, 0, codes)
    found = class_metrics(shares, codes)
    assert math.isnan(found[3, 2])
    assert math.isnan(found[3, 4])
    assert [curve.name for curve in roc_curves(shares, codes, "abcd")] == ["a", "b", "c"]


def test_the_matrix_on_the_page_holds_the_counts(wine, fitted):
    html = evaluation_html(fitted, wine.X, wine.y)
    table = html[html.index('<table class="figures confusion"') :]
    table = table[: table.index("</table>")]
    cells = [
        int(text)
        for text in re.findall(r'<td class="(?:right|wrong) shade-\d">(\d+)<small>', table)
    ]
    expected = confusion_matrix(wine.y, fitted.predict(wine.X), labels=fitted.classes_)
    assert cells == expected.ravel().tolist()


@pytest.mark.parametrize("n_classes, matrix", [(26, True), (40, False)])
def test_many_classes(n_classes, matrix):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), 12)
    X = pd.DataFrame(
        {f"x{k}": (y * (k + 1) + rng.integers(3, size=y.size)) % n_classes for k in range(3)}
    ).astype(str)
    clf = BayesNetClassifier("nb", "map", categorical="all").fit(
        X, [f"class {label:02d}" for label in y]
    )
    truth = rng.permutation([f"class {label:02d}" for label in y])
    html = evaluation_html(clf, X, truth)
    page = checked(html)
    assert ("Confusion matrix" in page.text) is matrix
    assert ("The most frequent confusions" in page.text) is not matrix
    assert f"Each of {n_classes} classes against the others" in page.text
    assert len(html) < 120_000


# ---- labels


def test_labels_may_be_text_of_the_classes(wine):
    y = np.unique(wine.y, return_inverse=True)[1]
    clf = BayesNetClassifier("nb", "map").fit(wine.X, y)
    assert np.array_equal(class_codes(clf, y.astype(str), y.size), y)
    assert evaluation_html(clf, wine.X, y.astype(str)) == evaluation_html(clf, wine.X, y)


def test_a_class_that_is_new_counts_as_wrong_and_is_named(wine, fitted):
    y = wine.y.astype(object).copy()
    y[:5] = "new <class>"
    html = evaluation_html(fitted, wine.X, y)
    page = checked(html)
    right = (fitted.predict(wine.X)[5:] == wine.y[5:]).sum()
    assert f"accuracy {per_cent(right / y.size)}" in page.text
    assert (
        "5 rows of classes that are unknown to the model (new <class>) count as errors" in page.text
    )
    assert "new &lt;class&gt;" in html
    assert (
        confusion_counts(fitted.predict_proba(wine.X), class_codes(fitted, y, y.size))[-1].sum()
        == 5
    )


def test_bad_labels_are_refused(wine, fitted):
    with pytest.raises(
        ValueError, match=r"no class in y is one of the model's: y holds 'a', 'b', the model knows"
    ):
        evaluation_html(fitted, wine.X, ["a", "b"] * (len(wine.y) // 2))
    gaps = wine.y.astype(object).copy()
    gaps[3] = None
    with pytest.raises(
        ValueError, match=r"NaN or None in 1 of 178 rows \(row 3\): leave those rows out"
    ):
        evaluation_html(fitted, wine.X, gaps)
    with pytest.raises(ValueError, match="X has 178 rows, y has 3"):
        evaluation_html(fitted, wine.X, wine.y[:3])
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        evaluation_html(fitted, wine.X.iloc[:0], wine.y[:0])


def test_one_class_has_no_curves_and_no_errors():
    X = pd.DataFrame({"a": ["x", "y"] * 10})
    with pytest.warns(UserWarning, match="one class only"):
        clf = BayesNetClassifier("nb", "map").fit(X, ["only"] * 20)
    page = checked(evaluation_html(clf, X, ["only"] * 20))
    assert "ROC" not in page.text
    assert "accuracy 100.0 %" in page.text


# ---- curves


@pytest.mark.parametrize("n_classes", [2, 3, 12])
def test_areas_are_those_of_scikit_learn(n_classes):
    shares, codes = posterior(7, 400, n_classes)
    names = [str(c) for c in range(n_classes)]
    for curves, area in (
        (roc_curves(shares, codes, names), roc_auc_score),
        (precision_recall_curves(shares, codes, names), average_precision_score),
    ):
        assert len(curves) == (1 if n_classes == 2 else n_classes)
        for curve in curves:
            c = int(curve.name)
            assert curve.area == pytest.approx(area(codes == c, shares[:, c]))
            assert curve.x[0] == 0
            assert curve.x[-1] == 1
            assert (np.diff(curve.x) >= 0).all()


def test_the_positive_class_of_two_is_the_rarer_one():
    shares, codes = posterior(1, 200, 2)
    for rarer in (0, 1):
        rows = np.flatnonzero((codes != rarer) | (np.arange(codes.size) % 3 == 0))
        assert [curve.name for curve in roc_curves(shares[rows], codes[rows], ["a", "b"])] == [
            "ab"[rarer]
        ]


def test_steps_of_precision_have_the_average_precision_as_area():
    shares, codes = posterior(3, 500, 3)
    for curve in precision_recall_curves(shares, codes, "abc"):
        assert np.diff(curve.x) @ curve.y[1:] == pytest.approx(curve.area)


def test_the_mean_of_curves_is_taken_at_even_places():
    shares, codes = posterior(5, 200, 3)
    first, second, _ = precision_recall_curves(shares, codes, "abc")
    mean = mean_curve([first, second], has_steps=True)
    for x, y in zip(mean.x, mean.y, strict=True):
        assert y == pytest.approx(
            np.mean([curve.y[curve.x >= x - 1e-12][0] for curve in (first, second)])
        )
    assert mean.area == pytest.approx((first.area + second.area) / 2)
    straight = mean_curve(roc_curves(shares, codes, "abc"), has_steps=False)
    assert (straight.y[0], straight.y[-1]) == (pytest.approx(straight.y.min()), 1.0)
    assert auc(straight.x, straight.y) == pytest.approx(straight.area, abs=0.01)


@given(st.integers(2, 3000), st.integers(0, 10))
def test_thinning_keeps_the_ends_and_the_shape(n_points, seed):
    rng = np.random.default_rng(seed)
    x, y = np.sort(rng.random(n_points)), np.sort(rng.random(n_points))
    kept_x, kept_y = thinned(x, y)
    assert kept_x.size <= MAX_POINTS
    assert (kept_x[0], kept_y[0], kept_x[-1], kept_y[-1]) == (x[0], y[0], x[-1], y[-1])
    if n_points > 1000:
        assert np.abs(np.interp(x, kept_x, kept_y) - y).max() < 0.03


def test_reliability_draws_a_dot_for_every_bin_with_rows():
    shares, codes = posterior(2, 500, 3)
    svg, *_ = pictures(chart_html(reliability_chart(shares, codes)))
    top = shares.max(axis=1)
    used = np.unique(np.ceil(top * 15 - 1e-12))
    assert len(list(svg.iter("circle"))) == used.size


# ---- gaps


def test_the_curve_is_what_the_classifier_predicts_for_rows_with_missing_values(wine, fitted):
    codes = class_codes(fitted, wine.y, len(wine.y))
    curve = missing_curve(fitted.calibrated_posterior(), fitted.encode(wine.X), codes)
    assert curve.n_rows == len(wine.y)
    assert not curve.stopped
    found = measures(fitted.predict_proba(wine.X), codes)
    assert curve.accuracies[0] == found["accuracy"]
    assert curve.losses[0] == pytest.approx(found["log_loss"])
    assert curve.fractions == sorted(set(curve.fractions))
    assert curve.fractions[-1] == 12 / 13
    assert curve.losses[-1] > 2 * curve.losses[0]
    again = missing_curve(fitted.calibrated_posterior(), fitted.encode(wine.X), codes)
    assert again == curve


def test_few_features_are_hidden_one_by_one():
    iris = load_dataset("iris")
    clf = BayesNetClassifier("nb", "map").fit(iris.X, iris.y)
    curve = missing_curve(
        clf.calibrated_posterior(), clf.encode(iris.X), class_codes(clf, iris.y, 150)
    )
    assert curve.fractions == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert curve.losses[-1] == pytest.approx(math.log(3), abs=0.05)


def test_a_curve_that_takes_too_much_says_where_it_ends(wine):
    clf = BayesNetClassifier(KDB(k=3), "map", max_cells=40).fit(wine.X, wine.y)
    codes = class_codes(clf, wine.y, len(wine.y))
    curve = missing_curve(clf.calibrated_posterior(), clf.encode(wine.X), codes)
    assert 1 <= len(curve.fractions) < 10
    assert "above max_cells=40" in curve.stopped
    assert "takes too much" in checked("".join(missing_charts(curve, 0.4, codes.size))).text


# ---- columns


def test_columns_say_what_was_done_with_them():
    rng = np.random.default_rng(0)
    n = 240
    y = rng.integers(2, size=n)
    X = pd.DataFrame(
        {
            "number": y * 2.0 + rng.normal(size=n),
            "colour": rng.choice([f"shade {k:02d}" for k in range(20)], n),
            "incomplete": np.where(rng.random(n) < 0.2, None, rng.choice(["a", "b"], n)),
            "noise": rng.normal(size=n),
        }
    )
    structure = Structure(((), (0,), (0,), ()), (True, False, True, True))
    clf = BayesNetClassifier(structure, "map", missing="value", unknown="error").fit(X, y)
    html = columns_html(clf)
    text = checked(html).text
    variables = {v.name: v for v in clf.network_.domain.features}
    assert all(
        label.replace("<", "&lt;").replace(">", "&gt;") in html
        for label in variables["number"].labels
    )
    assert "shade 07 , … and 12 more" in text
    assert "shade 08" not in text
    assert "(missing) the last value is for missing values" in text
    assert "any one interval only: the column is not used" in text
    assert "colour categorical 20" in text
    assert text.count(" yes") == 3
    assert text.count(" no ") == 1
    assert "A missing value is a value of its own" in text
    assert "is refused" in text
    assert "outermost interval" in text


def test_settings_of_the_classifier_are_listed(fitted):
    text = checked(columns_html(fitted)).text
    assert f"temperature {fitted.calibration_.temperature:.2f}" in text
    assert "hybrid how the conditional probability tables were learned" in text
    assert "The class is a parent of every column" in text


# ---- history


@pytest.mark.parametrize(
    "structure, parameters, kinds",
    [
        ("nb", "ml", []),
        ("tan", "ml", ["edge"]),
        ("tan", "hybrid", ["edge", "iteration"]),
        ("auto", "auto", ["chosen", "edge", "iteration"]),
        (HillClimb(), "ml", ["move"]),
        (GreedyEdges(k=2), "cl", ["abandoned", "iteration"]),
        (SuperParent(k=2), "ml", ["abandoned"]),
        (OrderBased(k=2), "mm", ["abandoned", "iteration"]),
        (Annealing(restarts=2, max_tries=30), "ml", ["temperature"]),
        ("tan", MLBNSVM(lam=[0.5, 2.0]), ["edge", "setting", "iteration"]),
    ],
)
def test_every_learner_has_its_history_shown(structure, parameters, kinds):
    cancer = load_dataset("breast-cancer")
    clf = BayesNetClassifier(structure, parameters, calibrate=None, random_state=0)
    clf.fit(cancer.X.iloc[::3, :12], cancer.y[::3])
    assert [stage.kind for stage in stages(clf.history_)] == kinds
    html = history_html(clf)
    page = checked(html)
    assert bool(html) is bool(kinds)
    for svg in pictures(html):
        numbers_in(svg)
    if "edge" in kinds:
        best = max(
            (step for step in clf.history_ if "edge" in step), key=lambda step: step["score"]
        )
        assert "{} → {}".format(*best["edge"]) in page.text
    if "move" in kinds or "abandoned" in kinds:
        last = [stage for stage in stages(clf.history_) if stage.kind in ("move", "abandoned")][-1]
        assert aligned([last.scores[-1]])[0] in page.text


def test_a_new_count_of_iterations_is_a_new_part(wine):
    X = wine.X.mask(np.random.default_rng(0).random(wine.X.shape) < 0.1)
    clf = BayesNetClassifier("tan", MaximumLikelihood(missing="em")).fit(X, wine.y)
    steps = [*clf.history_, {"iteration": 1, "score": 2.0}, {"iteration": 2, "score": 3.0}]
    assert [stage.kind for stage in stages(steps)] == ["edge", "iteration", "iteration"]


def test_a_saved_model_keeps_its_history(wine, tmp_path):
    clf = BayesNetClassifier(GreedyEdges(k=2), "cl").fit(wine.X.iloc[:, :6], wine.y)
    clf.save(tmp_path / "model.json")
    shown = re.sub(r" The last step was done [\d.]+ s after the start\.", "", history_html(clf))
    assert shown != history_html(clf)
    assert history_html(load(tmp_path / "model.json")) == shown  # no file has the time of a step


def test_steps_that_nobody_knows_do_no_harm(fitted, monkeypatch):
    odd = [
        {"score": "<b>high</b>", "edge": "a → b"},
        {"edge": None, "score": math.inf},
        {"edge": ("<i>", 7), "score": 10**400, "move": "<u>add</u>"},
        {"iteration": "first", "score": None, "seconds": math.nan},
        {"rates": "none"},
        {"chosen": None, "compared": 3},
        {"chosen": "<s>", "missing": [], "compared": {"<s>": "<i>", "b": math.nan}},
        {"rates": {"<s>": 0.5}, "lam": "<s>"},
        {"setting": "<q>", "score": math.nan},
        {"temperature": 1.0, "restart": "<a>"},
        {"lam": 1e300, "score": -1e300},
        *({"whatever": k, "score": 1e-320 * k} for k in range(3)),
        {},
    ]
    for steps in (
        odd,
        odd[::-1],
        *([step] for step in odd),
        [{"iteration": k, "score": 1.0} for k in range(5)],
    ):
        monkeypatch.setattr(fitted, "history_", steps)
        monkeypatch.setattr("discbayes.report.training_history._MAX_STAGES", 50)
        page = checked(history_html(fitted))
        assert "nan" not in page.text


def test_long_histories_stay_small(fitted, monkeypatch):
    steps = [{"iteration": k + 1, "score": -1000 / (k + 1)} for k in range(20_000)]
    monkeypatch.setattr(fitted, "history_", steps)
    html = history_html(fitted)
    assert len(html) < 8_000
    assert "20,000 iterations, from −1,000.00 to −0.05" in checked(html).text


# ---- names that are more than text


@pytest.mark.parametrize("structure", ["tan", GreedyEdges(k=1), HillClimb(), SuperParent()])
def test_hostile_text_is_shown_as_text(structure):
    rng = np.random.default_rng(0)
    n = 300
    y = rng.integers(len(HOSTILE), size=n)
    columns = {
        name: np.array(HOSTILE, object)[(y + rng.integers(2, size=n)) % len(HOSTILE)]
        for name in HOSTILE
    }
    target = pd.Series(np.array(HOSTILE, object)[y], name="<svg onload=alert(1)>")
    clf = BayesNetClassifier(structure, "hybrid", random_state=0).fit(pd.DataFrame(columns), target)
    fragments = (
        evaluation_html(clf, pd.DataFrame(columns), target),
        columns_html(clf),
        history_html(clf),
    )
    for fragment in fragments:
        checked(fragment)
        assert "<img" not in fragment
        assert "<script" not in fragment
        assert "<svg onload" not in fragment
    assert "&lt;img src=x onerror=alert(1)&gt;" in fragments[1]
    assert max(map(len, fragments)) < 80_000


# ---- charts and styles


@given(
    st.lists(st.floats(-1e12, 1e12, allow_nan=False), min_size=1, max_size=8),
    st.floats(1e-12, 1e6),
)
def test_axes_hold_their_numbers_and_ticks_differ(values, scale):
    low, high = min(values) * scale, max(values) * scale
    check_scale(Scale.over(low, high), low, high)


def check_scale(scale, low, high):
    rounding = 1e-6 * (scale.high - scale.low)
    assert scale.low - rounding <= low <= high <= scale.high + rounding
    assert 2 <= len(scale.ticks) <= 8
    assert len(set(scale.texts)) == len(scale.texts)


@pytest.mark.parametrize("unit", [1e-290, 1e-307, 1e-320, 1e-322, 5e-324, 0.0])
def test_ranges_next_to_the_smallest_double_have_ticks(unit):
    for low, high in ((0.0, unit), (-unit, unit), (unit, 2 * unit), (unit, 3 * unit)):
        check_scale(Scale.over(low, high), low, high)


def test_lines_lie_inside_and_names_are_escaped():
    marks = (
        Line([0, 0.5, 1], [-3, 7, 2], 1, "<title>"),
        Bars([1], [0.5], 0.9, titles=["<b>"]),
        Dots([0.2], [0.1], titles=["&"]),
    )
    chart = Chart("<h>", Axis.fractions("<x>"), Axis("y", (-3.0, 7.0)), marks, "a < b & c")
    svg = ElementTree.fromstring(re.search("<svg.*?</svg>", chart_html(chart))[0])
    _, _, width, height = map(float, svg.get("viewBox").split())
    path = next(p for p in svg.iter("path") if p.find("title") is not None)
    assert path.find("title").text == "<title>"
    assert svg.get("aria-label") == "a < b & c"
    places = [tuple(map(float, pair.split())) for pair in re.split("[ML]", path.get("d"))[1:]]
    assert all(0 <= x <= width and 0 <= y <= height for x, y in places)
    assert places[1][1] == min(y for _, y in places)
    assert places[0][1] == max(y for _, y in places)


def test_every_class_of_the_fragments_has_a_rule(fitted, wine):
    style = "".join(
        files("discbayes.report").joinpath("assets", f"{n}.css").read_text("utf-8")
        for n in ("page", "sections")
    )
    html = evaluation_html(fitted, wine.X, wine.y) + columns_html(fitted) + history_html(fitted)
    used = {
        name
        for _, attributes in checked(html).elements
        for name in (attributes.get("class") or "").split()
    }
    unstyled = {"text", "guide", "grid", "shade-0"}  # marks, drawn by their attributes
    assert {name for name in used - unstyled if f".{name}" not in style} == set()


def test_columns_of_two_resolutions_are_listed_by_coarse_intervals():
    iris = load_dataset("iris")
    clf = BayesNetClassifier("tan", "map", discretizer="two-resolution").fit(iris.X, iris.y)
    text = checked(columns_html(clf)).text
    variable = clf.network_.domain.features[3]
    assert variable.name == "petal width (cm)"
    assert f"{variable.card} < 0.8 , [0.8, 1.75) , >= 1.75 coarse intervals, of" in text
    assert "fine intervals, and coarse ones that the children of a column see" in text
    shown = tooltip(variable)
    assert shown.splitlines() == [
        f"petal width (cm) (numeric, {variable.card} values in 3 coarse intervals)",
        "< 0.8",
        "[0.8, 1.75)",
        ">= 1.75",
    ]


def test_a_domain_that_was_given_says_so_in_place_of_how_numbers_are_cut():
    iris = load_dataset("iris")
    first = BayesNetClassifier("nb", "map").fit(iris.X, iris.y)
    given = BayesNetClassifier("nb", "map", domains=first.network_.domain).fit(iris.X, iris.y)
    assert "discretizer" in columns_html(first)
    assert "discretizer" not in columns_html(given)
    assert "were given" in columns_html(given)


def test_error_bars_have_a_section():
    cancer = load_dataset("breast-cancer")
    X, y = cancer.X.iloc[:, :8], cancer.y
    clf = BayesNetClassifier("tan", "map").fit(X[:300], y[:300])
    bars = clf.bootstrap(X[:300], y[:300], n=20)
    html = clf.report(X=X[300:], y=y[300:], error_bars=bars).html
    section = html.split('<section id="error-bars"')[1].split("</section>")[0]
    assert "From 20 draws by bootstrap." in section
    low, high = bars.interval({})
    for end in (*low[0], *high[0], *clf.predict_proba({})[0]):
        assert f"<td>{100 * end:.1f} %</td>" in section
    low, high = bars.interval(X[300:])
    best = clf.predict_proba(X[300:]).argmax(axis=1)
    width = (high - low)[np.arange(best.size), best]
    assert f"{100 * np.median(width):.1f} percentage points wide in the median row" in section
    (parent, child), share = max(
        ((edge, share) for edge, share in bars.edge_shares().items() if "class" not in edge),
        key=lambda pair: pair[1],
    )
    assert f"<td>{100 * share:.1f} %</td>" in section
    assert f"<bdi>{parent}</bdi>" in section
    assert f"<bdi>{child}</bdi>" in section
    other = clf.dirichlet()
    section = clf.report(error_bars=other).html.split('<section id="error-bars"')[1]
    assert "Edges found again" not in section.split("</section>")[0]
    assert "error-bars" not in clf.report().html.split("</main>")[0].split("<style>")[0]
    with pytest.raises(ValueError, match="those of another classifier"):
        BayesNetClassifier("nb", "map").fit(X, y).report(error_bars=bars)
