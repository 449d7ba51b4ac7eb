"""Held-out rows on the command line: evaluate and fit --test-size."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from discbayes import load
from discbayes.cli import main
from discbayes.cli.splits import cross_validation_splits, hold_out

FAST = ("--structure", "nb", "--parameters", "map", "--quiet")


@pytest.fixture
def visits(tmp_path):
    """Rows of 20 patients in the order of their dates; the date is not in the order of the file."""
    rng = np.random.default_rng(0)
    lines = ["patient,day,spots,sick"]
    for row in rng.permutation(120):
        sick = rng.random() < 0.4
        day = np.datetime64("2024-01-01") + int(row)
        lines.append(f"P{row % 20},{day},{rng.poisson(5 if sick else 2)},{'yes' if sick else 'no'}")
    path = tmp_path / "visits.csv"
    path.write_text("\n".join(lines))
    return path


def rows_of(groups=None, times=None, n_rows=100):
    labels = np.where(np.arange(n_rows) % 4 == 0, "yes", "no").astype(object)

    def require_rows(n_folds):
        assert n_rows >= n_folds

    y = type("Labels", (), {"values": labels, "__len__": lambda self: n_rows})()
    return SimpleNamespace(y=y, groups=groups, times=times, require_rows=require_rows)


def test_groups_are_kept_together():
    groups = np.arange(100) % 17
    args = SimpleNamespace(cv=4, seed=1, repeats=2, test_size=0.3)
    splits = cross_validation_splits(rows_of(groups), args)
    assert len(splits) == 8
    train, test = hold_out(rows_of(groups), args)
    assert abs(test.size - 30) <= 6
    for one, other in [*splits, (train, test)]:
        assert not set(groups[one]) & set(groups[other])
    assert sorted(np.concatenate([other for _, other in splits[:4]])) == list(range(100))


def test_later_rows_are_tested_on():
    times = np.random.default_rng(0).permutation(100) // 2  # pairs of equal times
    args = SimpleNamespace(cv=4, seed=0, test_size=0.25)
    splits = cross_validation_splits(rows_of(times=times), args)
    assert len(splits) == 4
    for train, test in [*splits, hold_out(rows_of(times=times), args)]:
        assert times[train].max() < times[test].min()
    assert hold_out(rows_of(times=times), args)[1].size == pytest.approx(25, abs=2)


def test_a_share_of_each_class_is_held_out():
    data = rows_of()
    args = SimpleNamespace(seed=3, test_size=0.3)
    train, test = hold_out(data, args)
    assert test.size == pytest.approx(30, abs=1)
    assert np.sum(data.y.values[test] == "yes") == pytest.approx(7.5, abs=1)
    assert not set(train) & set(test)


@pytest.mark.parametrize("by", [(), ("--groups", "patient"), ("--time", "day")])
def test_evaluate_says_first_what_it_is_better_than(by, visits, tmp_path, capsys):
    drop = ("--drop", ",".join({"patient", "day"} - {*by}))
    page = tmp_path / "quality.html"
    arguments = ["evaluate", visits, "--target", "sick", *drop, *by, "--cv", 3, "-o", page, *FAST]
    assert main(list(map(str, arguments))) == 0
    out = capsys.readouterr().out
    assert "than always predicting 'no'" in out.splitlines()[0]
    assert "held-out rows" in out.splitlines()[0]
    for name in ("base rate", "balanced accuracy", "AUC", "average precision", "Brier", "ECE"):
        assert name in out
    html = page.read_text(encoding="utf-8")
    assert "Confusion matrix" in html
    assert "than always predicting" in html
    assert "training rows alone" in html


def test_fit_holds_out_test_rows(visits, tmp_path, capsys):
    model, report = tmp_path / "m.json", tmp_path / "r.html"
    arguments = ["fit", visits, "--target", "sick", "--drop", "patient,day", "-o", model]
    arguments += ["--test-size", 0.25, "--report", report, *FAST]
    assert main(list(map(str, arguments))) == 0
    assert "of the 30 test rows are right" in capsys.readouterr().out.splitlines()[0]
    assert load(model).n_samples_seen_ == 90
    html = report.read_text(encoding="utf-8")
    assert "30 test rows" in html
    assert "optimistic" not in html


@pytest.mark.parametrize(
    "given, message",
    [
        (("--time", "sick"), "holds text, "),
        (("--groups", "patien"), "no column 'patien'"),
        (("--groups", "patient", "--cv", "30"), "--cv 20 can"),
    ],
)
def test_columns_that_cannot_split_rows(given, message, visits, capsys):
    target = "spots" if "sick" in given else "sick"
    assert main(["evaluate", str(visits), "--target", target, *given, *FAST]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, message",
    [
        ("fit iris -o m.json --time day", "--time goes with --test-size"),
        ("fit iris -o m.json --test-size 2", "not a share of the rows"),
        ("fit iris -o m.json --test-size 0.2 --memory 1GB", "needs all rows in memory"),
        ("evaluate iris --time a --repeats 2", "one order"),
        ("evaluate iris --model m.json --groups a", "not learned again"),
    ],
)
def test_wrong_usage(arguments, message, capsys):
    with pytest.raises(SystemExit):
        main(arguments.split())
    assert message in capsys.readouterr().err
