"""The model card: what the caller says, the data, and metrics by group."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from discbayes import BayesNetClassifier, BayesNetEnsemble, load_dataset
from discbayes.cli import main
from discbayes.evaluation.metrics import measures
from discbayes.report.markup import number, per_cent
from discbayes.report.model_card import MAX_GROUPS, group_names


@pytest.fixture(scope="module")
def wine():
    return load_dataset("wine")


@pytest.fixture(scope="module")
def fitted(wine):
    return BayesNetClassifier("nb", "map").fit(wine.X, wine.y)


def section(html):
    found = re.search(r'<section id="card".*?</section>', html, re.DOTALL)
    return "" if found is None else found[0]


def test_metrics_of_each_group_are_those_of_its_rows(wine, fitted):
    strong = np.where(wine.X["alcohol"] > 13, "strong", "light")
    html = section(fitted.report(X=wine.X, y=wine.y, by=strong).html)
    codes = np.unique(wine.y, return_inverse=True)[1]
    for name in ("light", "strong"):
        rows = strong == name
        found = measures(fitted.predict_proba(wine.X)[rows], codes[rows])
        cells = re.search(rf"<bdi>{name}</bdi></th>(.*?)</tr>", html)[1]
        texts = re.findall(r"<td>(.*?)</td>", cells)
        assert texts[:2] == [str(rows.sum()), per_cent(found["accuracy"])]
        assert texts[4] == number(found["log_loss"])
        assert texts[6] == number(found["ece"])


def test_a_column_of_the_rows_may_be_named(wine, fitted):
    html = section(fitted.report(X=wine.X, y=wine.y, by="alcohol").html)
    assert html.count("<tr>") == 1 + 4  # ranges with about equally many rows
    with pytest.raises(ValueError, match="'alcool' is not a column"):
        fitted.report(X=wine.X, y=wine.y, by="alcool")
    with pytest.raises(ValueError, match="not a frame"):
        BayesNetClassifier("nb", "map").fit(wine.X.to_numpy(), wine.y).report(
            X=wine.X.to_numpy(), y=wine.y, by="alcohol"
        )
    with pytest.raises(ValueError, match="needs rows"):
        fitted.report(by="alcohol")
    with pytest.raises(ValueError, match="by has 3 values for 178 rows"):
        fitted.report(X=wine.X, y=wine.y, by=["a", "b", "c"])


def test_what_the_caller_says_comes_beside_what_is_known(wine, fitted):
    card = {"Limits": "Not for <vinegar>", "Intended use": "Cellars"}
    report = fitted.report(X=wine.X, y=wine.y, card=card, source="Italy")
    html = section(report.html)
    assert re.findall(r"<dt>(.*?)</dt>", html) == ["Intended use", "Data", "Metrics", "Limits"]
    assert "Not for &lt;vinegar&gt;" in html
    assert "Italy: 178 training rows, 13 columns; classes" in html
    assert "Better than always predicting" in html
    own = section(fitted.report(card={"Data": "ours"}).html)
    assert re.findall(r"<dd>(.*?)</dd>", own) == ["ours"]
    assert section(fitted.report(X=wine.X, y=wine.y).html) == ""


def test_an_ensemble_has_one_too(wine):
    model = BayesNetEnsemble(2, random_state=0).fit(wine.X, wine.y)
    html = section(model.report(X=wine.X, y=wine.y, by=wine.X["alcohol"] > 13).html)
    assert "Metrics by group" in html
    assert "<bdi>True</bdi>" in html


def test_groups_are_few():
    towns = [f"town {k % 40}" for k in range(400)]
    names = group_names(towns, None, 400)
    assert len(set(names)) == MAX_GROUPS + 1
    numbers = [float(k) for k in range(100)] + [np.nan, None]
    ranges = group_names(numbers, None, 102)
    assert ranges[0] == "below 24.75"
    assert ranges[30] == "24.75 to 49.5"
    assert ranges[99:] == ["74.25 and more", "(missing)", "(missing)"]
    few = set(group_names([1.0] * 30 + list(range(14)), None, 44))
    assert few == {"below 1", "1 to 2.25", "2.25 and more"}


def test_the_command_line_has_groups_and_cards(tmp_path, capsys):
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    table = pd.DataFrame({"x": x, "ward": ["A", "B"] * 100, "y": np.where(x > 0, "yes", "no")})
    table.loc[3, "y"] = None
    table.to_csv(tmp_path / "d.csv", index=False)
    (tmp_path / "card.json").write_text(json.dumps({"Intended use": "Triage"}))
    model, data, page = (str(tmp_path / name) for name in ("m.json", "d.csv", "r.html"))
    card = ["--card", str(tmp_path / "card.json"), "--quiet"]
    fast = ["--structure", "nb", "--parameters", "map", "--drop", "ward"]
    fit = ["fit", data, "--target", "y", "-o", model, *fast, *card]
    assert main([*fit, "--test-size", "0.3", "--report", page]) == 0
    assert "<dd>Triage</dd>" in (tmp_path / "r.html").read_text("utf-8")
    assert main(["report", model, data, "-o", page, "--by", "ward", *card]) == 0
    html = section((tmp_path / "r.html").read_text("utf-8"))
    assert "<bdi>B</bdi></th><td>99</td>" in html
    assert "<dd>Triage</dd>" in html
    (tmp_path / "card.json").write_text("[1]")
    assert main(["report", model, "-o", page, *card]) == 1
    assert "a JSON object of texts is needed" in capsys.readouterr().err
    assert main(["report", model, data, "-o", page, "--by", "wart", "--quiet"]) == 1
    assert "did you mean 'ward'?" in capsys.readouterr().err
