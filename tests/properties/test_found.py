"""What the properties have found, each by itself."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discbayes import BayesNetClassifier, Structure
from discbayes.data import FrameEncoder

N = 150  # more rows than the type of a column of objects is guessed from


def objects(first, then):
    return pd.DataFrame({"column": pd.Series([first] * N + [then] * N, dtype=object)})


@pytest.mark.parametrize("value, kind", [(1.5, "numeric"), (True, "boolean"), ("a", "categorical")])
def test_a_column_of_objects_that_begins_with_gaps_has_the_type_of_what_follows(value, kind):
    data = FrameEncoder().fit_transform(objects(None, value), ["no", "yes"] * N)
    assert data.domain.features[0].kind == kind
    expected = FrameEncoder().fit_transform(objects(None, value).to_numpy(), ["no", "yes"] * N)
    np.testing.assert_array_equal(data.codes, expected.codes)


@pytest.mark.parametrize(
    "first, then, message",
    [
        (None, np.inf, "'column' contains infinity"),
        (None, 1j, "column 'column' holds 1j"),
        ("a", 1.5, "'column' mixes strings and numbers, 'a' and 1.5"),
        ("a", True, "'column' mixes strings and numbers, 'a' and True"),
    ],
)
def test_a_column_of_objects_is_checked_beyond_its_first_rows(first, then, message):
    with pytest.raises(ValueError, match=message):
        BayesNetClassifier("nb", "map").fit(objects(first, then), ["no", "yes"] * N)


def test_labels_that_differ_by_a_nul_at_their_end_stay_apart():
    """An array of text has no room for it, so that lists of such labels must not become one."""
    labels = ["", "\0"] * 10
    clf = BayesNetClassifier("nb", "map", discretizer=None).fit([[0], [1]] * 10, labels)
    assert clf.classes_.tolist() == ["", "\0"]
    assert clf.predict([[0], [1]]).tolist() == ["", "\0"]


def test_the_page_says_what_tables_that_are_not_normalised_say_of_a_row_without_values():
    X, y = np.array([[0.13], [-2.33], [-0.13], [5.0]]), ["no", "yes", "yes", "yes"]
    clf = BayesNetClassifier("nb", "ccbn-d", discretizer=None, calibrate=None).fit(X, y)
    assert not clf.network_.parameters.is_normalized
    share = clf.predict_proba([[np.nan]])[0, 0]
    assert abs(clf.network_.prior[0] - share) > 0.01
    assert f"<dt>class prior</dt><dd>{share:.3g}, " in clf.report().html


def test_what_a_mask_hides_is_a_gap():
    text = np.ma.masked_array([["a", "x"], ["b", "y"]], [[True, False], [False, False]])
    assert FrameEncoder().fit_transform(text, ["no", "yes"]).codes.tolist() == [[1, 0], [0, 1]]
    flags = np.ma.masked_array([[True], [False]], [[True], [False]])
    assert FrameEncoder().fit_transform(flags, ["no", "yes"]).domain.features[0].kind == "boolean"
    with pytest.raises(ValueError, match=r"y contains NaN or None in 1 of 2 rows \(row 1\)"):
        BayesNetClassifier("nb", "map").fit([[1], [2]], np.ma.masked_array([1, 2], [False, True]))
    with pytest.raises(ValueError, match="sample_weight contains NaN or infinity, nan in row 0"):
        BayesNetClassifier("nb", "map").fit(
            [[1], [2]], ["no", "yes"], np.ma.masked_array([1, 2], [True, False])
        )


@pytest.mark.parametrize(
    "weight",
    [
        ["a", "b"],
        [[1], [1, 2]],
        [1j, 1],
        {0: 1, 1: 1},
        [10**400, 1],
        np.array(["2026", "2027"], "M8[Y]"),
        [1e308, 1.0],
    ],
)
def test_weights_that_are_none_are_refused_by_their_name(weight):
    with pytest.raises(ValueError, match="sample_weight"):
        BayesNetClassifier("nb", "map").fit([[1], [2]], ["no", "yes"], weight)


def test_class_weights_of_labels_that_look_like_numbers():
    """A newer scikit-learn had taken the class "0" for the number 0."""
    clf = BayesNetClassifier("nb", "map", class_weight={"0": 2.0, "1": 1.0})
    shares = clf.fit([[0], [1]] * 4, ["0", "1"] * 4).network_.prior
    np.testing.assert_allclose(shares, [0.65, 0.35], atol=0.02)
    with pytest.raises(
        ValueError, match="class_weight names 0, which is not a class, and not '0', which is one"
    ):
        clf.set_params(class_weight={0: 2.0}).fit([[0], [1]], ["0", "1"])
    with pytest.raises(ValueError, match=r"class_weight=.* must hold numbers: could not convert"):
        clf.set_params(class_weight={"0": "two"}).fit([[0], [1]], ["0", "1"])


def test_booleans_among_numbers_in_lists_are_booleans():
    rows = [[False, 0.5], [True, 1.5]] * 4
    kinds = [
        variable.kind
        for variable in FrameEncoder().fit_transform(rows, ["no", "yes"] * 4).domain.features
    ]
    assert kinds == ["boolean", "numeric"]


def test_a_list_far_down_in_a_column_of_objects_is_refused_by_the_name_of_the_column():
    frame = pd.DataFrame({"wrong": [None] * 300 + [[1, 2]]}, dtype=object)
    with pytest.raises(
        TypeError,
        match="column 'wrong', row 300: argument must be a string or a number, not 'list'",
    ):
        BayesNetClassifier("nb", "map").fit(frame, ["no", "yes", "no"] * 100 + ["yes"])


@pytest.mark.parametrize("structure", ["tan", "kdb"])
def test_ties_do_not_depend_on_the_order_of_sums(structure):
    """Information that is equal but for rounding: the lower column is taken, whatever the classes
    are called.
    """
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 60)
    first = (y + rng.integers(0, 2, 60)) % 3
    X = np.stack(
        [first, (first + 1) % 3, (2 * first) % 3, rng.integers(0, 2, 60), (first + 2) % 3], axis=1
    )
    clf = BayesNetClassifier(structure, "map", discretizer=None)
    found = clf.fit(X, y).structure_
    for names in ([2, 1, 0], [1, 2, 0], [0, 2, 1]):
        assert clf.fit(X, np.array(names)[y]).structure_ == found


def test_noise_alone_makes_no_edge_better_than_another():
    """The second column says nothing that the first does not, and the third nothing: no edge is
    worth anything.
    """
    y = np.array(list("nyynnnnnnyyyyyyy"))
    first, second = (y == "n").astype(float), (y == "n").astype(float)
    second[[4, 8, 11]] = [1.0, 1.0, 1.0]
    X = np.stack([first, second, np.zeros(16)], axis=1)
    structures = {
        BayesNetClassifier("tan", "ml").fit(X, names).structure_
        for names in (y, np.where(y == "n", "z", "y"))
    }
    assert structures == {Structure([(), (0,), (0,)], [True] * 3)}
