"""Rows that name what they know: the same answers as of a table with gaps in all other columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from discbayes import BayesNetClassifier
from shop import FEATURES, make_frame

KNOWN = [
    {"age": 31.0, "town": "B"},
    {},
    {"old": True, "colour": "red", "size": 0.5},
    {"colour": "purple", "age": None},
]


@pytest.fixture(scope="module")
def clf():
    frame = make_frame(600)
    return BayesNetClassifier("tan", "map").fit(frame[FEATURES], frame["bought"])


def as_frame(rows):
    cells = {name: [row.get(name) for row in rows] for name in FEATURES}
    return pd.DataFrame(cells).astype({"age": float, "size": float, "old": "boolean"})


@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"]
)
def test_what_is_not_named_is_missing(clf, method):
    answer = getattr(clf, method)
    expected = answer(as_frame(KNOWN))
    np.testing.assert_array_equal(answer(KNOWN), expected)
    for row, one in zip(KNOWN, expected, strict=True):
        np.testing.assert_array_equal(answer(row), [one])


def test_explanations_take_them_too(clf):
    np.testing.assert_array_equal(
        clf.explain(KNOWN).contributions, clf.explain(as_frame(KNOWN)).contributions
    )


def test_columns_without_names_go_by_number():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(2, size=60)
    clf = BayesNetClassifier("nb", "map").fit(X, y)
    row = [[np.nan, 0.25, np.nan]]
    np.testing.assert_array_equal(clf.predict_proba({1: 0.25}), clf.predict_proba(row))
    np.testing.assert_array_equal(clf.predict_proba([{"x1": 0.25}]), clf.predict_proba(row))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"aged": 3}, r"x has a value for 'aged', which is not a column; the nearest are 'age'"),
        ([{}, {"aged": 3}], r"row 1 has a value for 'aged', which is not a column"),
        (
            {"age": [3, 4]},
            (
                r"column 'age' has several values in a mapping, which is one row: pass a list of"
                r" mappings"
            ),
        ),
        ({"age": pd.Series([3, 4])}, r"column 'age' has several values in a mapping"),
        ({"age": "three"}, r"'age'.*'three'"),
        ({"age": np.datetime64("2024-01-01")}, r"column 'age' holds dates, and held none at fit"),
        ({"age": 10**400}, r"column 'age' holds a number that is not a float"),
        ([{"town": "B"}, {"town": 2}], r"column 'town' mixes strings and numbers"),
    ],
)
def test_false_names_and_values(clf, rows, message):
    with pytest.raises(ValueError, match=message):
        clf.predict_proba(rows)


def test_a_value_in_an_array_without_axes_is_one(clf):
    np.testing.assert_array_equal(
        clf.predict_proba({"age": np.array(31.0)}), clf.predict_proba({"age": 31.0})
    )


def test_before_and_at_the_fit():
    clf = BayesNetClassifier()
    with pytest.raises(NotFittedError):
        clf.predict({"age": 3})
    for rows in ([{"age": 3}, {"age": 4}], {"age": [3, 4]}):
        with pytest.raises(ValueError, match="do not tell what all columns are: pass a frame"):
            clf.fit(rows, [0, 1])
