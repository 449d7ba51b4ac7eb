"""Masks of missing cells: probabilities by values, thresholds of the training rows, seeds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discbayes.data.table_reader import read_table
from discbayes.evaluation.missing_masks import (
    UsualValues,
    cell_masks,
    choose_cause,
    missing_by_another,
    missing_by_value,
)

N = 20_000


def rows(n: int = N, seed: int = 0) -> pd.DataFrame:
    """A number with missing values, a complete one, a category and a column of mostly ones."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "count": rng.integers(0, 9, n),
            "colour": rng.choice(["red", "green", "blue"], n, p=[0.2, 0.5, 0.3]),
            "flag": (rng.random(n) < 0.8).astype(float),
        }
    )
    frame.loc[::10, "size"] = np.nan
    return frame


def above(frame: pd.DataFrame, train: pd.DataFrame) -> np.ndarray:
    """The marked cells, by hand."""
    return np.column_stack(
        [
            frame["size"] > train["size"].median(),
            frame["count"] > train["count"].median(),
            frame["colour"] != "green",
            frame["flag"] == 1.0,
        ]
    )


def draws(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_values_are_compared_with_those_of_the_training_rows():
    train, test = rows(), rows(seed=1)
    usual = UsualValues.learn(read_table(train))
    assert usual.values[2] == "green"
    assert usual.values[0] == pytest.approx(train["size"].median())
    np.testing.assert_array_equal(usual.above(read_table(test)), above(test, train))
    some = test[:100].assign(size=test["size"] + 5.0)  # the test rows do not move the median
    np.testing.assert_array_equal(usual.above(read_table(some[:50])), above(some[:50], train))


def test_new_categories_are_not_the_most_frequent_one_and_missing_ones_are_never_marked():
    train = read_table(pd.DataFrame({"kind": ["a", "a", "b"]}))
    test = read_table(pd.DataFrame({"kind": ["a", "c", None]}))
    assert UsualValues.learn(train).above(test)[:, 0].tolist() == [False, True, False]


def test_a_column_without_values_marks_nothing():
    train = read_table(pd.DataFrame({"x": [np.nan, np.nan], "y": [1.0, 2.0]}))
    test = read_table(pd.DataFrame({"x": [1.0, np.nan], "y": [1.0, 2.0]}))
    assert not UsualValues.learn(train).above(test)[:, 0].any()


def test_of_equally_frequent_values_the_choice_does_not_depend_on_the_order_of_rows():
    for kinds in (["b", "a"], ["a", "b"]):
        assert UsualValues.learn(read_table(pd.DataFrame({"kind": kinds}))).values == ("a",)


def test_cells_are_missing_by_their_own_value():
    train, test = rows(), rows(seed=1)
    mask = missing_by_value(read_table(train), read_table(test), draws())
    marked = above(test, train)
    for at in range(4):
        assert mask[marked[:, at], at].mean() == pytest.approx(0.5, abs=0.02)
        assert mask[~marked[:, at], at].mean() == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize("cause", [1, 2])
def test_cells_are_missing_by_another_column_which_stays(cause):
    train, test = rows(), rows(seed=1)
    mask = missing_by_another(read_table(train), read_table(test), cause, draws())
    probable = above(test, train)[:, 1] if cause == 1 else (test["colour"] == "green").to_numpy()
    assert not mask[:, cause].any()
    for at in set(range(4)) - {cause}:
        assert mask[probable, at].mean() == pytest.approx(0.5, abs=0.02)
        assert mask[~probable, at].mean() == pytest.approx(0.1, abs=0.02)
    # given the cause, the values of the other columns do not matter
    high = above(test, train)[:, 3]
    assert mask[probable & high, 3].mean() == pytest.approx(0.5, abs=0.02)


def test_the_cause_is_a_column_that_is_known_in_all_rows():
    table = read_table(rows())
    found = {choose_cause(table, draws(seed)) for seed in range(40)}
    assert found == {1, 2, 3}
    empty = read_table(pd.DataFrame({"x": [np.nan, 1.0], "y": [2.0, np.nan]}))
    assert choose_cause(empty, draws()) in {0, 1}


def test_masks_are_those_of_their_seed():
    table = read_table(rows(100))
    first, same, other = (missing_by_value(table, table, draws(s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, same)
    assert (first != other).any()


def test_cells_missing_at_random_are_nested_and_of_their_share():
    few, many = cell_masks((N, 3), [10, 50], draws())
    assert few.mean() == pytest.approx(0.1, abs=0.01)
    assert many.mean() == pytest.approx(0.5, abs=0.01)
    assert (few <= many).all()
