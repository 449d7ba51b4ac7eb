"""Keys of rows: equal for equal rows and for no others, whatever the table, its order and its
types.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discbayes.data.row_keys import RowKeys, table_keys
from discbayes.data.table_reader import read_table


def keys(X, classes=None, weight=None):
    table = read_table(X)
    return table_keys(table, np.zeros(table.n_rows, int) if classes is None else classes, weight)


def mixed(n=200, seed=0):
    """Numbers, text, categories, booleans, gaps; many rows are equal."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.integers(0, 3, n) / 2 - 0.5,
            "town": rng.choice(np.array(["Graz", "Wien", "?"], object), n),
            "grade": pd.Categorical(
                rng.choice(["low", "high"], n), categories=["low", "mid", "high"]
            ),
            "smoker": rng.random(n) < 0.5,
        }
    )
    frame.loc[rng.random(n) < 0.2, "size"] = np.nan
    frame.loc[rng.random(n) < 0.2, ["town", "grade"]] = None
    return frame


def same_partition(one, two):
    """Whether two lists say of the same pairs of rows that they are equal."""
    pairs = set(zip(one, two, strict=True))
    return len(pairs) == len(set(one)) == len(set(two))


def test_equal_rows_have_equal_keys_and_others_have_others():
    frame = mixed()
    rows = [
        tuple("gap" if cell is None or cell != cell else cell for cell in row)
        for row in frame.to_numpy(object)
    ]
    assert 20 < len(set(rows)) < len(rows)
    assert same_partition(rows, keys(frame).tolist())


TABLES = {
    "normal": lambda rng, n: rng.normal(size=(n, 3)),
    "single precision": lambda rng, n: rng.normal(size=(n, 3)).astype(np.float32),
    "rounded": lambda rng, n: rng.normal(size=(n, 8)).round(1),
    "digits": lambda rng, n: rng.integers(0, 10, (n, 12)),
    "bits": lambda rng, n: rng.integers(0, 2, (n, 40)),
    "one column": lambda rng, n: rng.permutation(n)[:, None],
    "large": lambda rng, n: rng.integers(-(2**52), 2**52, (n, 2)),
    "gaps": lambda rng, n: np.where(rng.random((n, 10)) < 0.3, np.nan, rng.integers(0, 9, (n, 10))),
    "all of three values": lambda rng, n: np.array(list(product(range(3), repeat=10))),
    "all bits": lambda rng, n: np.array(list(product([False, True], repeat=16))),
}


@pytest.mark.parametrize("name", TABLES)
def test_different_rows_have_different_keys(name):
    rows = TABLES[name](np.random.default_rng(0), 100_000)
    different = np.unique(np.where(rows != rows, -1, rows), axis=0)  # -1 for the gaps
    assert different.shape[0] > 50_000
    assert np.unique(keys(rows)).size == different.shape[0]


def test_words_have_different_keys():
    rng = np.random.default_rng(0)
    words = np.array([f"w{k}" for k in range(300)], object)
    frame = pd.DataFrame(
        {"a": words[rng.integers(0, 300, 100_000)], "b": words[rng.integers(0, 300, 100_000)]}
    )
    assert np.unique(keys(frame)).size == len(frame.drop_duplicates()) > 50_000


def test_the_order_of_rows_and_columns_and_the_names_of_columns_change_nothing():
    frame = mixed()
    rng = np.random.default_rng(1)
    order, classes = rng.permutation(len(frame)), rng.integers(0, 3, len(frame))
    expected = keys(frame, classes)
    np.testing.assert_array_equal(keys(frame[list(reversed(frame.columns))], classes), expected)
    np.testing.assert_array_equal(keys(frame.set_axis(list("zyxw"), axis=1), classes), expected)
    np.testing.assert_array_equal(keys(frame.iloc[order], classes[order]), expected[order])
    part = read_table(frame).take(order[:100])
    zeros = np.zeros(100, int)
    np.testing.assert_array_equal(table_keys(part, zeros), keys(frame.iloc[order[:100]]))


@pytest.mark.parametrize("name", ["bits", "digits", "rounded", "gaps", "normal"])
def test_columns_are_told_apart_by_what_is_in_them(name):
    """Columns of the same values, in any order: few rows, so that sums over rows are often
    equal.
    """
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = TABLES[name](rng, 60)
        classes, weight = rng.integers(0, 2, 60), rng.choice([0.1, 0.5, 1.0, 3.0], 60)
        columns, order = rng.permutation(rows.shape[1]), rng.permutation(60)
        other = rows[order][:, columns]
        np.testing.assert_array_equal(keys(other, classes[order]), keys(rows, classes)[order])
        np.testing.assert_array_equal(
            keys(other, classes[order], weight[order]), keys(rows, classes, weight)[order]
        )


def test_a_weight_of_two_is_the_row_twice():
    """Also of weights whose sums would be rounded, and of a row in parts."""
    frame, rng = mixed(), np.random.default_rng(2)
    classes, weight = (
        rng.integers(0, 3, len(frame)),
        rng.random(len(frame)) * 10.0 ** rng.integers(-9, 9, len(frame)),
    )
    twice, both = pd.concat([frame, frame]), np.concatenate([classes, classes])
    expected = keys(frame, classes, 2 * weight)
    np.testing.assert_array_equal(
        keys(twice, both, np.concatenate([weight, weight])), np.tile(expected, 2)
    )
    np.testing.assert_array_equal(
        keys(twice, both), np.tile(keys(frame, classes, np.full(len(frame), 2.0)), 2)
    )
    parts = np.concatenate([np.full(len(frame), 0.25), np.full(len(frame), 0.75)])
    np.testing.assert_array_equal(keys(twice, both, parts), np.tile(keys(frame, classes), 2))


def test_batches_with_classes_in_the_order_in_which_they_are_met():
    frame, classes = mixed(), np.random.default_rng(3).integers(0, 4, 200)
    met = list(dict.fromkeys(classes.tolist()))
    found = RowKeys()
    for start in range(0, 200, 30):
        rows = slice(start, start + 30)
        found.look(read_table(frame[rows]), np.array([met.index(code) for code in classes[rows]]))
    found.settle(np.array(met))
    batches = [found.rows(read_table(frame[start : start + 70])) for start in range(0, 200, 70)]
    np.testing.assert_array_equal(np.concatenate(batches), keys(frame, classes))


def test_cells_that_change_places_change_the_key():
    assert np.unique(keys(np.array([[0, 1], [1, 0], [0, 0], [1, 1]]))).size == 4
    frame = pd.DataFrame({"a": ["x", "y"], "b": ["y", "x"]})
    assert keys(frame)[0] != keys(frame)[1]


def test_frames_and_arrays_of_the_same_numbers():
    numbers = np.random.default_rng(0).integers(0, 5, (50, 3))
    frame = pd.DataFrame(numbers, columns=["x0", "x1", "x2"])
    others = [
        numbers.astype(np.uint8),
        numbers.astype(np.float32),
        numbers.astype(float),
        np.asfortranarray(numbers),
        numbers.astype(object),
        numbers.tolist(),
        frame,
        frame.astype({"x1": float}),
        frame.astype("Int64"),
        pl.from_pandas(frame),
        pa.Table.from_pandas(frame),
    ]
    for other in others:
        np.testing.assert_array_equal(keys(other), keys(numbers))


def test_frames_of_the_same_words_and_gaps():
    frame = mixed().astype({"grade": object})
    table = pa.Table.from_pandas(frame)
    for other in (pl.from_arrow(table), table, frame.astype({"town": "category"})):
        np.testing.assert_array_equal(keys(other), keys(frame))
    declared = frame.astype({"grade": pd.CategoricalDtype(["high", "never", "low"], ordered=True)})
    np.testing.assert_array_equal(keys(declared), keys(frame))


def test_zeros_and_gaps_are_one_each():
    first = keys(np.array([[0.0], [-0.0], [np.nan], [-np.nan], [1.0]]))
    assert first[0] == first[1]
    assert first[2] == first[3]
    assert np.unique(first).size == 3
    for column in (
        [1.0, None, np.nan],
        [1, pd.NA, None],
        [True, None, np.nan],
        ["a", None, np.nan],
    ):
        found = keys(pd.DataFrame({"a": pd.Series(column, dtype=object)}))
        assert found[1] == found[2] != found[0]


def test_columns_of_equal_cells_have_no_say():
    frame = mixed()
    padded = frame.assign(constant="same", nothing=np.nan, void=None, one=1)
    np.testing.assert_array_equal(keys(padded), keys(frame))
    assert np.unique(keys(frame[["town"]].assign(town="Graz"))).size == 1
    assert (keys(padded.assign(one=[2, *[1] * (len(frame) - 1)])) != keys(frame)).all()


def test_text_that_looks_like_something_else_is_text():
    found = keys(pd.DataFrame({"a": ["1", "1.0", "None", "nan", "", "'1'", "é", "e\u0301", None]}))
    assert np.unique(found).size == 9


def test_keys_do_not_change_between_runs():
    """They are no hashes of Python, which differ from one process to the next."""
    frame = pd.DataFrame({"a": [1.5, 2.0], "b": ["x", "y"]})
    assert keys(frame).tolist() == [9452690374422088627, 17281217653202430696]
