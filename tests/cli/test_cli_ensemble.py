"""Ensembles on the command line: fit, predict, evaluate, explain and report; what needs one network
is refused.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from discbayes import BayesNetEnsemble, load
from discbayes.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, and an ensemble that was learned from it."""
    folder = tmp_path_factory.mktemp("ensemble")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    frame = pd.DataFrame(
        {
            "age": np.round(rng.normal(size=80) + y, 2),
            "color": np.where((rng.random(80) < 0.3) ^ (y > 0), "red", "blue"),
            "state": np.where(y, "sick", "well"),
        }
    )
    frame.to_csv(folder / "rows.csv", index=False)
    run("fit", folder / "rows.csv", "--target", "state", "--ensemble", "2", "-o", folder / "m.json")
    return folder


def run(*words):
    return main([str(word) for word in words])


def test_fit_writes_an_ensemble(folder):
    model = load(folder / "m.json")
    assert isinstance(model, BayesNetEnsemble)
    assert len(model.members_) == 2


def test_predict_and_evaluate(folder, capsys):
    assert not run("predict", folder / "m.json", folder / "rows.csv", "--proba")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == '"state","P(sick)","P(well)"'
    assert len(lines) == 81
    assert not run("evaluate", folder / "rows.csv", "--model", folder / "m.json")
    assert "log loss" in capsys.readouterr().out
    assert not run(
        "evaluate", folder / "rows.csv", "--target", "state", "--ensemble", "2", "--cv", "2"
    )
    assert "mean ± sd" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["text", "csv", "json"])
def test_explain_a_row(folder, capsys, form):
    model, rows = folder / "m.json", folder / "rows.csv"
    assert not run("explain", model, rows, "--row", "3", "--format", form)
    out = capsys.readouterr().out
    assert "age" in out
    assert "color" in out
    if form == "json":
        found = json.loads(out)[0]
        total = found["base"] + sum(one["contribution"] for one in found["contributions"])
        assert total == pytest.approx(found["log_odds"])


@pytest.mark.parametrize(
    "words",
    [["explain"], ["explain", "--row", "1", "--counterfactual"], ["ask", "--row", "1"]],
    ids=str,
)
def test_what_needs_one_network_is_refused_with_the_way_out(folder, capsys, words):
    command, *options = words
    assert run(command, folder / "m.json", folder / "rows.csv", *options)
    error = capsys.readouterr().err
    assert "ensemble of 2 networks" in error
    assert "without --ensemble" in error


def test_report(folder, capsys):
    page = folder / "page.html"
    assert not run("report", folder / "m.json", folder / "rows.csv", "-o", page)
    html = page.read_text("utf-8")
    for title in ("Consensus network", "Members", "Evaluation"):
        assert title in html


def test_options_of_one_network_are_refused(folder, capsys):
    words = ["fit", folder / "rows.csv", "--target", "state", "-o", folder / "no.json"]
    with pytest.raises(SystemExit):
        run(*words, "--ensemble", "--structure", "tan")
    assert "--structure: the networks of --ensemble" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run(*words, "--ensemble", "5000")
    assert "at most 1000 networks" in capsys.readouterr().err
