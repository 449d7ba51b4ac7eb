"""The section on what each column tells: importances, and charts of log odds."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from discbayes import BayesNetClassifier, load_dataset
from discbayes.report.column_effects import N_OPEN, effects_html
from discbayes.report.heading import Heading


@pytest.fixture(scope="module")
def cancer():
    data = load_dataset("breast-cancer")
    return BayesNetClassifier("tan", "map").fit(data.X, data.y)


def test_columns_are_sorted_by_importance(cancer):
    html = effects_html(cancer)
    names = re.findall(r"<h4><bdi>(.*?)</bdi>", html)
    shares = dict(zip(cancer.domain_.names, cancer.feature_importances_, strict=True))
    assert names == sorted(names, key=lambda name: -shares[name])
    assert set(names) == {name for name, share in shares.items() if share > 0}
    assert html.index("<details>") > html.index(f"<bdi>{names[N_OPEN - 1]}</bdi>")


def test_lines_are_the_change_of_the_log_odds_by_a_value(cancer):
    """The tooltip of each value has what ``predict_log_proba`` says of a row with that alone."""
    html = effects_html(cancer)
    root = ElementTree.fromstring(f"<div>{html}</div>")
    titles = [title.text for title in root.iter("title")]
    variable = cancer.domain_.features[cancer.domain_.names.index("worst perimeter")]
    above = cancer.decision_function({"worst perimeter": variable.cuts[-1] + 1.0})[0]
    network = cancer.network_.query("class").probabilities
    change = above - np.log(network[1] / network[0])
    found = next(title for title in titles if title.startswith("worst perimeter ≥"))
    assert f": +{change:.1f} (" in found


def test_several_classes_have_a_legend_and_names_are_escaped():
    X = pd.DataFrame({"<b>x": ["p", "q", "r"] * 10, "noise": [1.0] * 30})
    clf = BayesNetClassifier("nb", "map").fit(X, ["<i>", "b", "c"] * 10)
    html = effects_html(clf)
    assert '<ul class="legend">' in html
    assert "&lt;b&gt;x" in html
    assert "<i>" not in html
    assert "noise" not in html
    report = clf.report().html
    assert "<summary>1 column not used</summary>" in report


def test_a_report_has_a_title_a_source_and_a_card(cancer):
    card = {"Intended use": "A <demonstration>"}
    html = cancer.report(title="Tumors & more", source="Wisconsin, 1993", card=card).html
    assert "<title>Tumors &amp; more</title>" in html
    assert "Wisconsin, 1993" in html
    assert "A &lt;demonstration&gt;" in html
    assert ">Model card</h2>" in html
    assert "Model card" not in cancer.report().html
    with pytest.raises(TypeError, match="mapping of headings"):
        Heading(card={"Limits": 1})
    with pytest.raises(TypeError, match="title=3"):
        cancer.report(title=3)


def test_categories_are_named_below_their_charts_in_lines():
    pain = ["atypical angina", "non-anginal pain", "none", "typical angina"] * 50
    rng = np.random.default_rng(0)
    y = np.where(rng.random(200) < np.tile([0.9, 0.5, 0.2, 0.6], 50), "sick", "well")
    clf = BayesNetClassifier("nb", "map").fit(pd.DataFrame({"pain": pain}), y)
    html = effects_html(clf)
    texts = re.findall(r'<text [^>]*text-anchor="middle">(.*?)</text>', html)
    assert texts == ["atypical", "angina", "non-anginal", "pain", "none", "typical", "angina"]
    assert 'viewBox="0 0 320 164"' in html


def test_many_categories_are_named_at_both_ends():
    rng = np.random.default_rng(0)
    towns = [f"town number {k}" for k in rng.integers(10, 30, 600)]
    y = ["a" if town > "town number 2" else "b" for town in towns]
    html = effects_html(BayesNetClassifier("nb", "map").fit(pd.DataFrame({"town": towns}), y))
    assert re.findall(r'<text [^>]*text-anchor="(?:start|end)">(town.*?)</text>', html) == [
        "town number 10",
        "town number 29",
    ]
