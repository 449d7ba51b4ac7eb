"""Tables of every kind to codes: what is read, what is refused, and what is said about it."""

from __future__ import annotations

import datetime
import time
import warnings

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numba import config
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, validate_data

from discbayes.data import (
    DataWarning,
    Domain,
    EqualFrequencyDiscretizer,
    FrameEncoder,
    MDLPDiscretizer,
    Variable,
)
from discbayes.data.table import factorize
from discbayes.data.table_reader import factorize_series, read_table

NO_COMPILER = bool(config.DISABLE_JIT)
Y4 = ["a", "b", "a", "b"]


def fit(X, y=None, sample_weight=None, **options):
    if y is None:
        y = np.arange(X.shape[0] if hasattr(X, "shape") else len(X)) % 2
    encoder = FrameEncoder(**options)
    return encoder, encoder.fit_transform(X, y, sample_weight)


def variable(X, column=0, **options):
    return fit(X, **options)[1].domain.features[column]


def refused(match, X, y=None, error=ValueError, sample_weight=None, **options):
    with pytest.raises(error, match=match):
        fit(X, y, sample_weight, **options)


# Kinds of columns


def mixed_frame():
    return pd.DataFrame(
        {
            "size": [1.0, 2.0, 8.0, np.nan] * 5,
            "count": [1, 2, 8, 9] * 5,
            "flag": [True, False, True, True] * 5,
            "colour": ["red", "blue", None, "red"] * 5,
        }
    )


def test_a_frame_of_all_kinds():
    y = np.array(["no", "no", "yes", "yes"] * 5)
    encoder, data = fit(mixed_frame(), y)
    size, count, flag, colour = data.domain.features
    assert (size.kind, size.cuts) == ("numeric", (5.0,))
    assert (count.kind, count.cuts) == ("numeric", (5.0,))
    assert (flag.kind, flag.values) == ("boolean", (False, True))
    assert (colour.kind, colour.values) == ("categorical", ("blue", "red"))
    np.testing.assert_array_equal(
        data.codes[:, :4], [[0, 0, 1, 2], [0, 0, 1, 1], [1, 0, 1, 1], [1, 0, 2, 1]]
    )
    assert data.codes.flags.c_contiguous
    assert data.codes.dtype == np.uint8
    assert data.domain.target.values == ("no", "yes")
    np.testing.assert_array_equal(data.y[:4], [0, 0, 1, 1])
    assert data.weight is None
    np.testing.assert_array_equal(encoder.transform(mixed_frame()), data.codes)


def test_every_make_of_table_gives_the_same_codes():
    frame = mixed_frame()
    y = np.array(["no", "no", "yes", "yes"] * 5)
    expected = fit(frame, y)[1]
    makes = [
        pl.from_pandas(frame),
        pa.Table.from_pandas(frame),
        frame.convert_dtypes(),
        frame.astype(object),
        frame.convert_dtypes(dtype_backend="pyarrow"),
    ]
    for make in makes:
        data = fit(make, y)[1]
        assert data.domain == expected.domain
        np.testing.assert_array_equal(data.codes, expected.codes)
    array = fit(frame.to_numpy(dtype=object), y)[1]
    np.testing.assert_array_equal(array.codes, expected.codes)
    rows = fit(frame.astype(object).where(frame.notna(), None).values.tolist(), y)[1]
    assert rows.domain.names == ["x0", "x1", "x2", "x3"]
    np.testing.assert_array_equal(rows.codes, expected.codes)


@pytest.mark.parametrize(
    "dtype",
    ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", ">i4", "f2", "bool", object],
)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("discretizer", [None, "mdlp"])
def test_arrays_of_every_type(dtype, order, discretizer):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (40, 3))
    data = fit(np.array(X.astype(dtype), order=order), X[:, 1], discretizer=discretizer)[1]
    np.testing.assert_array_equal(data.codes[1], X[:, 1])
    if discretizer is None:
        np.testing.assert_array_equal(data.codes, X.T)


def test_strided_readonly_and_wrapped_arrays():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 5, (60, 8))
    expected = fit(X[::2, ::2].copy(), discretizer=None)[1].codes
    view = X[::2, ::2]
    np.testing.assert_array_equal(fit(view, discretizer=None)[1].codes, expected)
    frozen = view.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(fit(frozen, discretizer=None)[1].codes, expected)

    class Wrapped:
        def __array__(self, dtype=None, copy=None):
            return np.asarray(view, dtype=dtype)

    encoder = FrameEncoder(discretizer=None)
    np.testing.assert_array_equal(
        encoder.fit_transform(Wrapped(), np.arange(30) % 2).codes, expected
    )


def test_masked_cells_are_gaps():
    X = np.ma.MaskedArray([[1, 5], [2, 5], [1, 5], [2, 5]], mask=[[0, 0], [0, 1], [0, 0], [0, 0]])
    np.testing.assert_array_equal(fit(X, discretizer=None)[1].codes, [[0, 1, 0, 1], [0, 1, 0, 0]])


def test_string_arrays():
    assert variable(np.array([["b"], ["a"], ["b"]])).values == ("a", "b")
    if hasattr(np.dtypes, "StringDType"):  # from NumPy 2 on
        assert variable(np.array([["b"], ["a"], ["b"]], dtype=np.dtypes.StringDType())).values == (
            "a",
            "b",
        )


def test_values_are_plain_python_scalars():
    frame = pd.DataFrame(
        {
            "i": np.array([3, 1, 3, 1], np.int16),
            "f": np.array([2.0, 1.0, 2.0, 1.0], np.float32),
            "b": [True, False] * 2,
        }
    )
    features = fit(frame, np.array([1, 0, 1, 0], np.int8), discretizer=None)[1].domain.features
    assert [list(map(type, feature.values)) for feature in features] == [
        [int] * 2,
        [float] * 2,
        [bool] * 2,
    ]
    domain = fit(frame, np.array([1, 0, 1, 0], np.int8))[1].domain
    assert [type(value) for value in domain.target.values] == [int, int]
    assert all(type(cut) is float for cut in domain.features[0].cuts)


def test_declared_categories_keep_their_order():
    codes = pd.Categorical(["m", "s", None, "s"], categories=["s", "m", "l"])
    for column in (codes, codes.as_ordered()):
        data = fit(pd.DataFrame({"size": column}))[1]
        assert data.domain.features[0].values == ("s", "m", "l")
        np.testing.assert_array_equal(data.codes, [[1, 0, 3, 0]])
    enum = pl.DataFrame({"size": pl.Series(["m", "s", None, "s"], dtype=pl.Enum(["s", "m", "l"]))})
    data = fit(enum)[1]
    assert data.domain.features[0].values == ("s", "m", "l")
    np.testing.assert_array_equal(data.codes, [[1, 0, 3, 0]])
    loose = pl.DataFrame({"size": pl.Series(["m", "s", None, "s"], dtype=pl.Categorical)})
    assert variable(loose).values == ("m", "s")


def test_categories_of_numbers():
    frame = pd.DataFrame({"grade": pd.Categorical([3, 1, 3, 1], categories=[3, 2, 1])})
    encoder, data = fit(frame)
    assert data.domain.features[0].values == (3, 2, 1)
    np.testing.assert_array_equal(
        encoder.transform(pd.DataFrame({"grade": [1.0, 2.0, 3.0, 9.0]})), [[2, 1, 0, 3]]
    )


def test_numeric_columns_declared_as_categories():
    frame = pd.DataFrame({"a": [1, 2, 1, 2], "b": [5.5, 1.0, 5.5, 1.0], "c": ["x", "y"] * 2})
    for categorical in (["b"], [1], [False, True, False], np.array([False, True, False])):
        a, b, c = fit(frame, categorical=categorical)[1].domain.features
        assert (a.kind, b.kind, c.kind) == ("numeric", "categorical", "categorical")
        assert b.values == (1.0, 5.5)
    everything = fit(frame, categorical="all")[1].domain.features
    assert [feature.kind for feature in everything] == ["categorical"] * 3
    refused("categorical names a column 'z'", frame, categorical=["z"])
    refused("column 7", frame, categorical=[7])
    refused("2 entries, but X has 3", frame, categorical=[True, False])
    refused("categorical must be", frame, categorical="some")
    refused("categorical must be", frame, categorical=None)


def test_known_domains():
    frame = pd.DataFrame({"dose": [1, 2, 1, 2], "colour": ["r", "g", None, "g"]})
    options = {"domains": {"dose": [0, 1, 2, 4], "colour": ["r", "g", "b"]}}
    data = fit(frame, **options)[1]
    assert [feature.values for feature in data.domain.features] == [(0, 1, 2, 4), ("r", "g", "b")]
    np.testing.assert_array_equal(data.codes, [[1, 2, 1, 2], [0, 1, 3, 1]])
    refused("'dose' holds 2.*domains", frame, domains={"dose": [0, 1]})
    refused("'colour' holds 'g'", frame, domains={"colour": ["r", "b"]})
    refused("domains names a column 'size'", frame, domains={"size": [1]})
    refused("lists a value twice", frame, domains={"dose": [1, 1, 2]})
    refused("without missing values", frame, domains={"dose": [1, 2, None]})
    refused("mixes strings and numbers", frame, domains={"dose": [1, "2"]})


def test_object_columns():
    assert variable(np.array([["b"], [None], ["a"]], dtype=object)).values == ("a", "b")
    assert variable(np.array([[True], [None], [False]], dtype=object)).kind == "boolean"
    assert variable(np.array([[True], [np.nan], [False]], dtype=object)).kind == "boolean"
    assert variable(np.array([[1], [2.5], [pd.NA]], dtype=object)).kind == "numeric"
    assert variable(np.array([[1], [True], [2]], dtype=object), discretizer=None).values == (1, 2)
    frame = pd.DataFrame({"k": np.array(["b", pd.NA, np.nan, None, "a"], dtype=object)})
    np.testing.assert_array_equal(fit(frame)[1].codes, [[1, 2, 2, 2, 0]])


def test_one_value_and_no_value():
    frame = pd.DataFrame(
        {
            "k": ["a", "a"],
            "x": [3.0, 3.0],
            "none": [np.nan, np.nan],
            "text": pd.Series([None, None], dtype="str"),
        }
    )
    encoder, data = fit(frame)
    assert [feature.card for feature in data.domain.features] == [1, 1, 1, 1]
    np.testing.assert_array_equal(data.codes, [[0, 0], [0, 0], [1, 1], [1, 1]])
    other = pd.DataFrame({"k": ["b"], "x": [9.0], "none": [1.0], "text": ["t"]})
    np.testing.assert_array_equal(encoder.transform(other), [[1], [0], [0], [1]])
    nulls = pl.DataFrame({"n": [None, None], "x": [1, 2]})
    assert variable(nulls).card == 1


# Discretisers


def test_discretisers_by_name_and_as_objects():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(100, 2))
    y = (X[:, 0] > 0.3).astype(int)
    by_name = fit(X, y)[1].domain.features[0].cuts
    np.testing.assert_array_equal(by_name, MDLPDiscretizer().fit(X, y).cut_points_[0])
    assert fit(X, y, discretizer=MDLPDiscretizer())[1].domain.features[0].cuts == by_name
    assert variable(X, y=y, discretizer="equal-frequency").card == 5
    assert variable(X, y=y, discretizer=EqualFrequencyDiscretizer(3)).card == 3
    refused("discretizer must be", X, y, discretizer="quantile")
    refused("discretizer must be", X, y, discretizer=7)


def test_bin_edges_of_scikit_learn():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 2))
    X[::7, 1] = np.nan
    bins = KBinsDiscretizer(4, encode="ordinal", strategy="kmeans", subsample=None)
    data = fit(X, discretizer=bins, sample_weight=np.full(80, 2.0))[1]
    np.testing.assert_array_equal(data.codes[0], bins.fit_transform(X[:, :1]).ravel())
    kept = ~np.isnan(X[:, 1])
    np.testing.assert_array_equal(data.codes[1, kept], bins.fit_transform(X[kept, 1:]).ravel())
    assert (data.codes[1, ~kept] == 4).all()
    refused("StandardScaler has neither", X, discretizer=StandardScaler(), error=TypeError)


def test_a_transformer_is_cloned_and_gets_the_weights():
    calls = []

    class Halves(BaseEstimator):
        def fit(self, X, y, sample_weight=None):
            calls.append((X.shape, list(y), sample_weight))
            self.cut_points_ = [np.array([X.mean()])]
            return self

    given = Halves()
    X = np.array([[1.0], [np.nan], [3.0]])
    encoder = FrameEncoder(discretizer=given)
    encoder.fit_transform(X, ["a", "b", "b"], [1.0, 1.0, 2.0])
    assert not hasattr(given, "cut_points_")
    ((shape, labels, weight),) = calls
    assert (shape, labels, weight.tolist()) == ((2, 1), ["a", "b"], [1.0, 2.0])
    assert encoder.domain_.features[0].cuts == (2.0,)


# Gaps, unseen values, weights


def incomplete():
    return pd.DataFrame(
        {"x": [1.0, np.nan, 3.0, 4.0], "k": ["a", "b", None, "a"], "z": [1, 2, 1, 2]}
    )


def test_gaps_as_a_value():
    encoder, data = fit(incomplete(), Y4, missing="value", categorical=["x", "z"])
    assert [feature.missing_value for feature in data.domain.features] == [True, True, False]
    assert data.cards.tolist() == [4, 3, 2]
    np.testing.assert_array_equal(data.codes, [[0, 3, 1, 2], [0, 1, 2, 0], [0, 1, 0, 1]])
    np.testing.assert_array_equal(encoder.transform(incomplete()), data.codes)


def test_gaps_dropped():
    encoder, data = fit(incomplete(), Y4, [1.0, 1.0, 1.0, 2.0], missing="drop", categorical="all")
    assert data.n_samples == 2
    assert data.weight.tolist() == [1.0, 2.0]
    assert encoder.kept_rows_.tolist() == [True, False, False, True]
    assert data.domain.features[1].values == ("a",)
    assert encoder.fit_transform(incomplete(), Y4, [0, 1, 1, 1]).n_samples == 1
    assert encoder.kept_rows_.tolist() == [False, False, False, True]
    refused(
        "'x' \\(3\\), 'k' \\(1\\)",
        pd.DataFrame({"x": [np.nan] * 3 + [1], "k": ["a"] * 3 + [None]}),
        missing="drop",
    )


def test_gaps_refused():
    refused("'x' \\(1\\), 'k' \\(1\\)", incomplete(), missing="error")
    assert fit(incomplete()[["z"]], missing="error")[1].n_samples == 4
    with pytest.raises(ValueError, match="missing must be one of"):
        FrameEncoder(missing="ignore")


def test_unseen_values():
    frame = pd.DataFrame({"k": ["a", "b"] * 2, "i": [1, 2] * 2, "f": [0.5, 1.5] * 2})
    new = pd.DataFrame({"k": ["c", None], "i": [3, 1], "f": [np.nan, 2.5]})
    encoder, _ = fit(frame, discretizer=None)
    np.testing.assert_array_equal(encoder.transform(new), [[2, 2], [2, 0], [2, 2]])
    strict, _ = fit(frame, discretizer=None, unknown="error")
    for column, value in (("k", "'c'"), ("i", "3"), ("f", "2.5")):
        changed = frame.copy()
        changed[column] = new[column].reindex(range(4))
        with pytest.raises(ValueError, match=f"'{column}' holds {value}.*marginalize"):
            strict.transform(changed)
    gaps = frame.copy()
    gaps.loc[0, :] = None
    np.testing.assert_array_equal(strict.transform(gaps)[:, 0], [2, 2, 2])
    with pytest.raises(ValueError, match="unknown must be one of"):
        FrameEncoder(unknown="ignore")


def test_numbers_match_by_value_whatever_their_type():
    whole, _ = fit(np.array([[1], [2], [5], [1]]), discretizer=None)
    np.testing.assert_array_equal(
        whole.transform(np.array([[1.0], [np.nan], [5.0], [1.5]])), [[0, 3, 2, 3]]
    )
    np.testing.assert_array_equal(whole.transform([["1"], ["2"]]), [[3, 3]])
    np.testing.assert_array_equal(whole.transform(np.array([[True], [False]])), [[0, 3]])
    broken, _ = fit(np.array([[1.0], [np.nan], [5.0], [2.5]]), discretizer=None)
    np.testing.assert_array_equal(broken.transform(np.array([[1], [5], [2]])), [[0, 2, 3]])
    text, _ = fit([["1"], ["2"]])
    np.testing.assert_array_equal(text.transform([[1], [2]]), [[2, 2]])
    flags, _ = fit(np.array([[True], [False]]))
    np.testing.assert_array_equal(flags.transform(np.array([[1.0], [0.0], [np.nan]])), [[1, 0, 2]])


def test_text_in_a_numeric_column():
    encoder, _ = fit(pd.DataFrame({"x": [1.0, 2.0]}))
    with pytest.raises(ValueError, match="'x' was numeric at fit and now holds the string 'two'"):
        encoder.transform(pd.DataFrame({"x": ["two"]}))
    assert encoder.transform(pd.DataFrame({"x": pd.Categorical([1, 2])})).shape == (1, 2)


def test_whole_numbers_far_apart_and_large():
    far = 2**62
    X = np.array([[0, far], [10**9, far + 1], [-(10**15), far], [0, far + 1]])
    encoder, data = fit(X, discretizer=None)
    np.testing.assert_array_equal(data.codes, [[1, 2, 0, 1], [0, 1, 0, 1]])
    assert data.domain.features[1].values == (far, far + 1)
    np.testing.assert_array_equal(
        encoder.transform([[7, far], [0, -(2**63)], [2**63 - 1, 5]]), [[3, 1, 3], [0, 2, 2]]
    )
    cut, data = fit(np.array([[-(10**12)], [10**12]] * 10), np.arange(20) % 2)
    np.testing.assert_array_equal(data.codes[0], np.arange(20) % 2)
    np.testing.assert_array_equal(cut.transform([[-1], [0], [1]]), [[0, 1, 1]])


def test_whole_numbers_beyond_the_cuts():
    X = np.array([[2], [7]] * 20)
    encoder, _ = fit(X, X[:, 0])
    np.testing.assert_array_equal(
        encoder.transform(np.array([[-900], [4], [5], [9000]])), [[0, 0, 1, 1]]
    )
    np.testing.assert_array_equal(
        encoder.transform(np.array([[-900], [4], [5], [9000]], np.int16)), [[0, 0, 1, 1]]
    )


@pytest.mark.parametrize(
    "n_values, dtype", [(255, np.uint8), (300, np.uint16), (70_000, np.uint32)]
)
def test_many_categories(n_values, dtype):
    if NO_COMPILER:
        n_values = min(n_values, 66_000)
    X = np.arange(n_values)[:, None]
    encoder, data = fit(X, discretizer=None)
    assert data.codes.dtype == dtype
    np.testing.assert_array_equal(data.codes[0], X[:, 0])
    assert encoder.transform([[n_values]]).tolist() == [[n_values]]
    names = pd.DataFrame({"k": [f"{value:06d}" for value in range(n_values)]})
    data = fit(names, categorical=["k"])[1]
    assert data.codes.dtype == dtype
    np.testing.assert_array_equal(data.codes[0], X[:, 0])


def test_rows_of_weight_zero_are_absent():
    frame = pd.DataFrame({"k": ["a", "b", "rare", "a"], "n": [1, 2, 7, 1]})
    encoder, data = fit(frame, ["u", "v", "w", "u"], [1, 1, 0, 1], discretizer=None)
    assert data.domain.features[0].values == ("a", "b")
    assert data.domain.features[1].values == (1, 2)
    assert data.domain.target.values == ("u", "v")
    assert data.weight is None
    assert encoder.kept_rows_.tolist() == [True, True, False, True]
    assert data.codes.shape == (2, 3)


@pytest.mark.parametrize(
    "weight, match",
    [
        ([1, -1, 1, 1], "negative, -1.0 in row 1"),
        ([1, np.nan, 1, 1], "NaN"),
        ([1, np.inf, 1, 1], "infinity"),
        ([0, 0, 0, 0], "zero"),
        ([1, 1], "4 rows"),
        ([[1], [1], [1], [1]], "one weight per row"),
    ],
)
def test_weights_refused(weight, match):
    refused(match, np.eye(4), Y4, sample_weight=weight)


def test_weights_of_one_are_no_weights():
    assert fit(np.eye(4), Y4, [1, 1, 1, 1])[1].weight is None
    assert fit(np.eye(4), Y4, pd.Series([1, 2, 1, 1]))[1].weight.tolist() == [1.0, 2.0, 1.0, 1.0]


# Refusals


def test_shapes_refused():
    refused(r"0 sample\(s\) \(shape=\(0, 3\)\)", np.empty((0, 3)), [])
    refused(
        r"0 feature\(s\) \(shape=\(12, 0\)\) while a minimum of 1 is required", np.empty((12, 0))
    )
    refused(r"0 sample\(s\)", pd.DataFrame({"a": []}), [])
    refused(r"0 feature\(s\)", pd.DataFrame(index=range(3)))
    refused("Reshape your data", np.arange(4), Y4)
    refused("Reshape your data", pd.Series([1, 2, 3, 4]), Y4)
    refused("3 dimensions", np.zeros((4, 2, 2)), Y4)
    refused("differ in length", [[1, 2], [3]], [0, 1])


def test_infinities_refused():
    frame = pd.DataFrame({"ok": [1.0, 2.0], "pay": [1.0, np.inf]})
    for options in ({}, {"discretizer": None}, {"discretizer": KBinsDiscretizer(2)}):
        refused("'pay' contains infinity", frame, **options)
    for options in ({}, {"discretizer": None}):
        encoder, _ = fit(frame.replace(np.inf, 2), **options)
        with pytest.raises(ValueError, match="'pay' contains infinity"):
            encoder.transform(frame)
    refused("'x1' contains infinity", np.array([[1, -np.inf], [2, 3]], np.float32))


@pytest.mark.parametrize(
    "column",
    [
        pd.to_datetime(["2020-01-01", "2021-01-01"]),
        pd.to_timedelta([1, 2], unit="D"),
        [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)],
        [datetime.time(1), datetime.time(2)],
        pd.interval_range(0, 2),
    ],
)
def test_types_refused_in_pandas(column):
    frame = pd.DataFrame({"ok": [1, 2], "when": column})
    refused("column 'when' holds", frame, dates="error")


@pytest.mark.parametrize(
    "column",
    [
        [datetime.date(2020, 1, 1)] * 2,
        [datetime.timedelta(1)] * 2,
        [[1], [2]],
        [{"a": 1}, {"a": 2}],
        [b"a", b"b"],
    ],
)
def test_types_refused_in_polars_and_arrow(column):
    columns = {"ok": [1, 2], "when": column}
    refused("column 'when' holds", pl.DataFrame(columns), dates="error")
    refused("column 'when' holds", pa.table(columns), dates="error")


def test_other_things_refused():
    refused("Sparse", sparse.csr_array(np.eye(4)), Y4, error=TypeError)
    refused("Complex data not supported", np.eye(4) * 1j, Y4)
    refused("Complex data not supported: column 'x0'", np.array([[1j], [2]], dtype=object))
    refused(
        "column 'x0', row 1: argument must be a string or a number",
        [[1], [{"a": 1}]],
        error=TypeError,
    )
    dates = np.array([["2020-01-01"]], dtype="M8[D]")
    refused("column 'x0' holds dates", dates, [0], dates="error")
    refused("column 'x0' holds", np.array([[b"a"]]), [0])
    refused("mixes strings and numbers, 'a' and 1", np.array([["a"], [1]], dtype=object))
    refused("'x1' mixes", [[1, "a"], [2, 3]])
    refused("'k'.*astype", pd.DataFrame({"k": pd.cut(pd.Series([1.0, 2.0, 3.0]), 2)}))
    refused("too large for 64 bits", np.array([[2**64 - 1], [1]], dtype=np.uint64))
    refused("collect\\(\\)", pl.LazyFrame({"a": [1, 2]}), [0, 1], error=TypeError)


def test_column_names():
    refused("same name: 'a'", pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]))
    refused("same name: 'a'", pa.table([[1, 2], [3, 4]], names=["a", "a"]))
    refused("same name: '1'", pd.DataFrame([[1, 2], [3, 4]], columns=[1, "1"]))
    assert fit(pd.DataFrame([[1, 2], [3, 4]], columns=[10, 20]))[1].domain.names == ["10", "20"]


def test_other_columns_at_transform():
    encoder, data = fit(pd.DataFrame({"a": [1, 2], "b": [3, 4]}))
    with pytest.raises(ValueError, match="X has 1 features, but BayesNet is expecting 2"):
        encoder.transform(pd.DataFrame({"a": [1]}))
    with pytest.raises(ValueError, match="missing 'b'; new 'c'"):
        encoder.transform(pd.DataFrame({"a": [1], "c": [1]}))
    with pytest.raises(ValueError, match="another order, 'b', 'a' instead of 'a', 'b'"):
        encoder.transform(pd.DataFrame({"b": [1], "a": [1]}))
    np.testing.assert_array_equal(encoder.transform(np.array([[1, 3], [2, 4]])), data.codes)


def test_the_name_of_a_column_is_no_target_of_a_frame():
    with pytest.raises(
        ValueError, match=r"y is the text 'k', not a label for each row.*X\['k'\], and X without it"
    ):
        FrameEncoder().fit_transform(pd.DataFrame({"a": [1, 2], "k": ["p", "q"]}), "k")


def test_a_row_of_a_frame_is_no_table():
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    refused(r"Expected 2D array.*frame\.iloc\[\[0\]\], or dict\(frame\.iloc\[0\]\)", frame.iloc[0])


def test_numbers_with_a_comma_refused():
    prices = pd.DataFrame({"price": [f"{k},5" for k in range(12)], "k": ["a", "b"] * 6})
    refused(
        r"'price' is text that looks like numbers with a comma,"
        r" '0,5'.*decimal=.*categorical=\['price'\]",
        prices,
    )
    assert variable(prices, categorical=["price"]).card == 12
    assert variable(prices.assign(price=[f"{k},5;" for k in range(12)])).card == 12


def with_marks(marks, n=200, decimal="."):
    """Numbers as text, some of which are replaced by words."""
    cells = [f"{at % 40}.5".replace(".", decimal) for at in range(n)]
    return pd.DataFrame({"a": [*marks, *cells]})


@pytest.mark.parametrize(
    "marks", [["?"], ["?", "-"], ["?", "-", "none"], ["?", "-", "n. a.", "nan", "x"]]
)
@pytest.mark.parametrize("decimal", [".", ","])
def test_a_few_words_among_numbers_are_spoken_of(marks, decimal):
    with pytest.warns(
        DataWarning, match="column 'a' is text.*all of them are numbers except"
    ) as caught:
        fit(with_marks(marks, decimal=decimal))
    (said,) = [str(w.message) for w in caught]
    assert (
        f"numbers except {', '.join(map(repr, sorted(marks)))}: if these are missing values,"
        " replace them" in said
    )
    assert ('pandas.read_csv(..., decimal=",")' in said) == (decimal == ",")


def test_words_that_are_no_marks():
    """More words than anyone has marks, or hardly any numbers: these are categories."""
    fit(with_marks(["u", "v", "w", "x", "y", "z"]))
    fit(pd.DataFrame({"a": ["1", "2", "3", "4", "5", "6", "7", "u", "v", "w"] * 20}))
    fit(with_marks(["?"]), categorical=["a"])


def test_free_text_refused():
    words = pd.DataFrame({"id": [f"n{i}" for i in range(60)], "k": ["a", "b"] * 30})
    refused(r"'id' looks like free text.*60 distinct.*categorical=\['id'\]", words)
    assert variable(words, categorical=["id"]).card == 60
    assert variable(words, categorical="all").card == 60
    assert variable(words.astype({"id": "category"})).card == 60
    twice = pd.concat([words, words])
    assert variable(twice).card == 60
    assert variable(words[:50]).card == 50


def test_a_million_identifiers_are_refused_soon():
    frame = pl.DataFrame({"id": np.arange(10**6).astype(str)})
    started = time.perf_counter()
    refused("'id' looks like free text.*1000000 distinct", frame, y=np.zeros(10**6))
    assert time.perf_counter() - started < 60  # a second, and hours if it grew with the square


# The class


@pytest.mark.parametrize(
    "y, match",
    [
        (None, "requires y to be passed, but the target y is None"),
        ([0, np.nan, 1, 0], "NaN or None in 1 of 4 rows"),
        (["a", None, "b", None], "NaN or None in 2 of 4 rows"),
        ([0, np.inf, 1, 0], "infinity"),
        ([[0, 1]] * 4, "2 columns"),
        ([0.5, 1.2, 0.1, 3.3], "Unknown label type"),
        ([0, 1], "X has 4 rows, y has 2"),
        (["a", 1, "b", 2], "mixes strings and numbers"),
        (np.array(["2020"] * 4, dtype="M8[Y]"), "Unknown label type"),
    ],
)
def test_classes_refused(y, match):
    with pytest.raises(ValueError, match=match):
        FrameEncoder().fit_transform(np.eye(4), y)


@pytest.mark.parametrize(
    "y, values",
    [
        (["b", "a", "b", "a"], ("a", "b")),
        (pd.Series(["b", "a", "b", "a"], name="kind"), ("a", "b")),
        (pl.Series(["b", "a", "b", "a"]), ("a", "b")),
        (pd.Series(["b", "a", "b", "a"], dtype="category"), ("a", "b")),
        (np.array(["b", "a", "b", "a"], dtype=object), ("a", "b")),
        (np.array([1, 0, 1, 0], dtype=object), (0, 1)),
        ([True, False, True, False], (False, True)),
        ([2.0, 1.0, 2.0, 1.0], (1.0, 2.0)),
    ],
)
def test_classes_of_every_kind(y, values):
    encoder, data = fit(np.eye(4), y)
    assert data.domain.target.values == values
    assert data.domain.target.name == (getattr(y, "name", None) or "class")
    assert encoder.classes_.tolist() == list(values)
    np.testing.assert_array_equal(data.y, [1, 0, 1, 0])
    np.testing.assert_array_equal(encoder.transform_y(y[:3]), [1, 0, 1])


def test_unknown_classes_are_named():
    encoder, _ = fit(np.eye(4), Y4)
    with pytest.raises(ValueError, match="not there at fit: 'c'; the classes are 'a', 'b'"):
        encoder.transform_y(["a", "c"])


def test_a_column_vector_is_taken_with_a_warning():
    with pytest.warns(DataConversionWarning, match="column-vector"):
        data = FrameEncoder().fit_transform(np.eye(4), np.array([[0], [1], [0], [1]]))
    np.testing.assert_array_equal(data.y, [0, 1, 0, 1])


def test_many_numeric_classes_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fit(np.arange(200.0)[:, None], np.arange(200) % 100)[1].n_classes == 100


# Round trips


def test_from_a_domain():
    y = np.array(["no", "no", "yes", "yes"] * 5)
    encoder, data = fit(mixed_frame(), y)
    again = FrameEncoder.from_domain(data.domain)
    np.testing.assert_array_equal(again.transform(mixed_frame()), encoder.transform(mixed_frame()))
    np.testing.assert_array_equal(again.transform_y(y), data.y)
    strict = FrameEncoder.from_domain(data.domain, unknown="error")
    frame = mixed_frame().assign(colour="green")
    with pytest.raises(ValueError, match="'colour' holds 'green'"):
        strict.transform(frame)


def test_from_a_domain_written_by_hand():
    features = (
        Variable("x", "numeric", cuts=(0.5, 1.5)),
        Variable("k", "categorical", ("lo", "hi"), missing_value=True),
    )
    encoder = FrameEncoder.from_domain(Domain(features, Variable("class", "categorical", (0, 1))))
    np.testing.assert_array_equal(
        encoder.transform([[1, "hi"], [2, None], [0, "lo"]]), [[1, 2, 0], [1, 2, 0]]
    )


def test_the_number_of_threads_does_not_matter():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(3000, 4)).round(2)
    y = (X.sum(axis=1) > 0).astype(int)
    first, second = (fit(X, y, n_jobs=n_jobs)[1] for n_jobs in (1, 2))
    assert first.domain == second.domain
    np.testing.assert_array_equal(first.codes, second.codes)


class TinyNaiveBayes(ClassifierMixin, BaseEstimator):
    """Just enough of a classifier to put the encoder through scikit-learn's checks."""

    def fit(self, X, y, sample_weight=None):
        validate_data(self, X, skip_check_array=True)
        self.encoder_ = FrameEncoder()
        data = self.encoder_.fit_transform(X, y, sample_weight)
        weight = np.ones(data.n_samples) if data.weight is None else data.weight
        self.classes_ = self.encoder_.classes_
        self.prior_ = np.log(np.bincount(data.y, weight))
        self.tables_ = [
            self._table(row, data.y, weight, card)
            for row, card in zip(data.codes, data.cards, strict=True)
        ]
        return self

    def _table(self, row, y, weight, card):
        counts = np.full((card + 1, self.classes_.size), 1.0)
        np.add.at(counts, (row, y), weight)
        counts = np.log(counts / counts[:card].sum(axis=0))
        counts[card] = 0.0
        return counts

    def predict_proba(self, X):
        check_is_fitted(self)
        table = read_table(X)  # first, since it says what to do about one dimension
        validate_data(self, X, skip_check_array=True, reset=False)
        codes = self.encoder_.transform(table)
        scores = self.prior_ + sum(
            table[row] for table, row in zip(self.tables_, codes, strict=True)
        )
        share = np.exp(scores - scores.max(axis=1, keepdims=True))
        return share / share.sum(axis=1, keepdims=True)

    def predict(self, X):
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


@pytest.mark.skipif(
    NO_COMPILER,
    reason="scikit-learn's checks are about the interface, and slow without the compiler",
)
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([TinyNaiveBayes()])
def test_scikit_learn_checks_of_a_classifier_on_the_encoder(estimator, check):
    check(estimator)


def test_whole_numbers_of_a_wide_range_as_categories():
    X = np.array([[7, 1], [9_000_000, 2], [7, 3], [-40, 1]])
    data = FrameEncoder(discretizer=None).fit_transform(X[:, :1], [0, 1, 0, 1])
    assert data.domain.features[0].values == (-40, 7, 9_000_000)
    both = FrameEncoder(discretizer=None).fit_transform(X, [0, 1, 0, 1])
    assert both.codes.tolist() == [[1, 2, 1, 0], [0, 1, 2, 0]]


@pytest.mark.parametrize(
    "cuts, labels",
    [
        ((0.8, 1.75), ["< 0.8", "[0.8, 1.75)", ">= 1.75"]),
        ((20240150.0, 20250050.0), ["< 20240150", "[20240150, 20250050)", ">= 20250050"]),
        ((0.1 + 0.2,), ["< 0.3", ">= 0.3"]),
        ((1234667.5,), ["< 1234667.5", ">= 1234667.5"]),
        ((1e-7, 2.5e20), ["< 1e-07", "[1e-07, 2.5e+20)", ">= 2.5e+20"]),
        ((-3.0, 0.0), ["< -3", "[-3, 0)", ">= 0"]),
    ],
)
def test_intervals_are_written_as_people_do(cuts, labels):
    assert Variable("x", "numeric", cuts=cuts).labels == labels


def test_whole_numbers_with_gaps_too_large_for_a_double_are_refused():
    frame = pd.DataFrame({"id": pd.array([2**60 + 1, 2**60 + 2, None] * 4, dtype="Int64")})
    with pytest.raises(ValueError, match="'id' has missing values and whole numbers above"):
        FrameEncoder(categorical="all").fit_transform(frame, [0, 1, 0] * 4)


def test_gaps_among_classes_of_arrow_are_refused():
    labels = pa.array(["a", "b", None, "c"]).dictionary_encode()
    for y in (labels, pa.chunked_array([labels])):
        with pytest.raises(ValueError, match=r"NaN or None in 1 of 4 rows \(row 2\)"):
            FrameEncoder().fit_transform([[1], [2], [3], [4]], y)


# ---- text of frames


@pytest.mark.parametrize("values", [
    [], [None], [None, None], ["a"], ["b", None, "a", "b", ""], ["x", "😀", "nan", "None", "x"],
    ["a", 1, 1.0, True, None], ["1", 1, "1"], [np.str_("a"), "a", float("nan"), pd.NA],
], ids=repr)  # fmt: skip
def test_numbers_of_text_are_those_of_a_list(values):
    expected = factorize(values)
    columns = [pd.Series(values, dtype=object)]
    if all(value is None or type(value) is str for value in values):
        columns += [pd.Series(values, dtype="string"), pl.Series(values, dtype=pl.String)]
        columns += [
            pl.Series(values, dtype=pl.Categorical),
            pa.chunked_array([pa.array(values, pa.string())]),
        ]
        columns += [
            pl.Series(values, dtype=pl.String).filter(
                pl.Series([True] * len(values), dtype=pl.Boolean)
            )
        ]
    for column in columns:
        places, levels = factorize_series(nw.from_native(column, series_only=True))
        assert places.dtype == np.int32
        assert places.tolist() == expected[0].tolist()
        assert [(type(level), level) for level in levels] == [
            (type(level), level) for level in expected[1]
        ]
