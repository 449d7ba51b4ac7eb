"""Columns that are not used are named, once for each fit: those without a cut point, and those of
one value.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from discbayes import BayesNetClassifier, DataWarning, margin_path
from discbayes.report import make_report

NOT_USED = (
    "2 of 4 columns are not used (no cut point is informative, or there is one value only):"
    " 'noise', 'same'. "
)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=200) + 3 * y,
            "noise": rng.normal(size=200),
            "same": "x",
            "two": rng.integers(0, 2, 200),
        }
    )
    return X, y


def held_out_log_joint(function, *arguments, **options):
    """The warnings of a call, under the usual filters of Python."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*arguments, **options)
    return caught


@pytest.mark.parametrize(
    "settings",
    [
        {"parameters": "hybrid"},
        {"structure": "nb", "parameters": "map"},
        {"parameters": "hybrid", "calibrate": "isotonic"},
    ],
)
def test_a_fit_names_them_once(rows, settings, tmp_path):
    """Also where calibration learns from folds, and from files and batches."""
    X, y = rows
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    clf = BayesNetClassifier(**settings, random_state=0)
    parts = (X.assign(y=y)[start::3] for start in range(3))
    for arguments in ((X, y), (tmp_path / "rows.parquet", "y"), (parts, "y")):
        (one,) = held_out_log_joint(clone(clf).fit, *arguments)
        assert one.category is DataWarning
        assert one.filename == __file__
        assert str(one.message).startswith(NOT_USED)
        assert 'discretizer="equal-frequency"' in str(one.message)


def test_nothing_is_said_where_all_are_used(rows):
    X, y = rows
    assert not held_out_log_joint(BayesNetClassifier().fit, X[["size", "two"]], y)
    assert not held_out_log_joint(
        BayesNetClassifier(discretizer="equal-frequency").fit, X[["size", "noise", "two"]], y
    )
    assert not held_out_log_joint(
        BayesNetClassifier(missing="value").fit, X[["size"]].assign(t=[None, *["x"] * 199]), y
    )
    assert not held_out_log_joint(
        clone(BayesNetClassifier(domains=BayesNetClassifier().fit(X, y).network_.domain)).fit, X, y
    )


@pytest.mark.parametrize("settings", [{}, {"discretizer": "equal-frequency"}])
def test_one_value_has_no_other_way_out(rows, settings):
    X, y = rows
    (one,) = held_out_log_joint(BayesNetClassifier(**settings).fit, X, y)
    assert str(one.message) == "1 of 4 columns is not used (one value only): 'same'"
    (one,) = held_out_log_joint(BayesNetClassifier("tan", "hybrid").fit, X[["noise"]], y)
    assert str(one.message).startswith("1 column is not used (no cut point")


def test_of_one_class_it_is_said_that_there_is_one(rows):
    X, _ = rows
    (one,) = held_out_log_joint(BayesNetClassifier().fit, X, np.zeros(200, int))
    assert "y has one class only" in str(one.message)


def test_the_network_and_the_report_say_it(rows):
    X, y = rows
    clf = BayesNetClassifier("nb", "map").fit(X, y)
    assert clf.network_.domain.unused == ["noise", "same"]
    assert repr(clf.network_).startswith("<BayesNet: 4 features (2 not used), 2 classes")
    html = make_report(clf).html
    assert "2 not used: noise, same" in html
    assert "one interval only: the column is not used" in html


def test_the_last_stage_of_a_fit_says_it(rows, capsys):
    X, y = rows
    BayesNetClassifier("nb", "map", verbose=1).fit(X, y)
    assert "(2 not used)" in capsys.readouterr().err


def test_paths_and_parts_say_it(rows):
    X, y = rows
    (one,) = held_out_log_joint(margin_path, X, y, [0, 1])
    assert "not used" in str(one.message)
    clf = BayesNetClassifier("nb", "map")
    (one,) = held_out_log_joint(clf.partial_fit, X, y)
    assert (
        "1 of 4 columns is not used, since the 200 rows to begin with have no informative cut point"
        in str(one.message)
    )
    assert "'noise'" in str(one.message)
    assert not held_out_log_joint(clf.partial_fit, X, y)


def test_the_command_line_says_it_once(rows, run, tmp_path):
    X, y = rows
    X.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    common = [tmp_path / "rows.csv", "--target", "y", "--parameters", "hybrid", "--quiet"]
    for command in (["evaluate", *common, "--cv", 3], ["fit", *common, "-o", tmp_path / "m.json"]):
        code, _, err = run(*command)
        (line,) = err.splitlines()
        assert code == 0
        assert line.startswith("discbayes: warning: 2 of 4 columns are not used")
        assert "--discretizer equal-frequency" in line
        assert "--categorical LIST" in line


def test_parts_of_dates_that_tell_nothing_are_named_as_such(rows):
    X, y = rows
    days = np.random.default_rng(1).permutation(pd.date_range("2023-01-01", periods=len(X)))
    dates = X[["size"]].assign(day=days)
    of_dates = "no cut point of the part of a date is informative"
    for table, reason in (
        (dates, of_dates),
        (dates.assign(same="x"), f"one value only, or {of_dates}"),
    ):
        messages = held_out_log_joint(BayesNetClassifier().fit, table, y)
        assert f"not used ({reason}): " in str(messages[0].message)
