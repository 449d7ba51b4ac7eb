"""Columns of every type that pandas, polars and arrow have: an answer, or an error with the way
out.
"""

from __future__ import annotations

import datetime
import decimal
import enum

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discbayes import BayesNetClassifier, load

PLACES = np.random.default_rng(0).integers(0, 3, 60)
LABELS = np.where(PLACES > 0, "yes", "no")
TEXT = ["abc"[place] for place in PLACES]
WITH_NULL = [None, *TEXT[1:]]
NUMBERS = [int(place) for place in PLACES]
DATES = [datetime.date(2020, 1, 1 + place) for place in NUMBERS]
DECIMALS = [decimal.Decimal(place) for place in NUMBERS]


class Letter(str, enum.Enum):  # noqa: UP042 - str() of its members is not their value
    A = "a"
    B = "b"
    C = "c"


class Number(enum.IntEnum):
    ZERO = 0
    ONE = 1
    TWO = 2


LETTERS = [list(Letter)[place] for place in NUMBERS]


def in_pandas(values, dtype=None) -> pd.DataFrame:
    return pd.DataFrame({"k": pd.Series(values, dtype=dtype)})


def in_arrow(values, dtype=None) -> pa.Table:
    return pa.table({"k": pa.array(values, dtype)})


def in_polars(values, dtype=None) -> pl.DataFrame:
    return pl.DataFrame({"k": pl.Series(values, dtype=dtype)})


def dictionary(values) -> pa.Array:
    return pa.array(values).dictionary_encode()


# What each kind of column is to the library: the same column as plain text or numbers.
TEXT_COLUMNS = {
    "pandas object": in_pandas(TEXT, object),
    "pandas string": in_pandas(TEXT, "string"),
    "pandas string of arrow": in_pandas(TEXT, pd.ArrowDtype(pa.string())),
    "pandas category": in_pandas(TEXT, "category"),
    "pandas dictionary of arrow": in_pandas(pd.arrays.ArrowExtensionArray(dictionary(TEXT))),
    "pandas enumeration": in_pandas(LETTERS, object),
    "arrow string": in_arrow(TEXT),
    "arrow large string": in_arrow(TEXT, pa.large_string()),
    "arrow dictionary": in_arrow(dictionary(TEXT)),
    "arrow record batch": pa.record_batch({"k": pa.array(TEXT)}),
    "polars string": in_polars(TEXT),
    "polars category": in_polars(TEXT, pl.Categorical),
    "polars enumeration": in_polars(TEXT, pl.Enum(["a", "b", "c"])),
    "polars object": in_polars(LETTERS, pl.Object),
}
NULL_TEXT_COLUMNS = {
    "pandas string": in_pandas(WITH_NULL, "string"),
    "pandas category": in_pandas(WITH_NULL, "category"),
    "pandas dictionary of arrow": in_pandas(pd.arrays.ArrowExtensionArray(dictionary(WITH_NULL))),
    "arrow dictionary": in_arrow(dictionary(WITH_NULL)),
    "arrow record batch": pa.record_batch({"k": dictionary(WITH_NULL)}),
    "polars category": in_polars(WITH_NULL, pl.Categorical),
    "polars enumeration": in_polars(WITH_NULL, pl.Enum(["a", "b", "c"])),
}
NUMBER_COLUMNS = {
    "pandas": in_pandas(NUMBERS),
    **{
        f"pandas {dtype}": in_pandas(np.array(NUMBERS, dtype))
        for dtype in (">f8", ">i4", "<u2", "f2", "f4", "g")
    },
    **{
        f"pandas {dtype}": in_pandas(NUMBERS, dtype)
        for dtype in ("Int64", "UInt8", "Float32", "int64[pyarrow]")
    },
    "pandas decimal of arrow": in_pandas(DECIMALS, pd.ArrowDtype(pa.decimal128(5, 2))),
    "pandas sparse": in_pandas(pd.arrays.SparseArray(np.array(NUMBERS, float))),
    "pandas sparse whole": in_pandas(pd.arrays.SparseArray(NUMBERS)),
    "pandas enumeration": in_pandas([Number(place) for place in NUMBERS], object),
    "pandas decimal": in_pandas(DECIMALS, object),
    "arrow": in_arrow(NUMBERS),
    "arrow half": in_arrow(np.array(NUMBERS, "f2")),
    "arrow decimal": in_arrow(DECIMALS),
    "arrow run-end encoded": pa.table({"k": pa.compute.run_end_encode(pa.array(NUMBERS))}),
    "arrow u8": in_arrow(np.array(NUMBERS, "u8")),
    "polars": in_polars(NUMBERS),
    "polars 128 bits": in_polars(NUMBERS, pl.Int128),
    "polars decimal": in_polars(DECIMALS),
}
BOOLEANS = PLACES > 0
BOOLEAN_COLUMNS = {
    "pandas": in_pandas(BOOLEANS),
    "pandas nullable": in_pandas(BOOLEANS, "boolean"),
    "pandas of arrow": in_pandas(BOOLEANS, pd.ArrowDtype(pa.bool_())),
    "pandas sparse": in_pandas(pd.arrays.SparseArray(BOOLEANS)),
    "arrow": in_arrow(BOOLEANS),
    "polars": in_polars(BOOLEANS),
}
DATE_COLUMNS = {
    "pandas": in_pandas(pd.to_datetime(DATES)),
    "pandas with zone": in_pandas(pd.to_datetime(DATES).tz_localize("America/Lima")),
    "pandas seconds": in_pandas(pd.to_datetime(DATES).astype("datetime64[s]")),
    "pandas of arrow": in_pandas(DATES, pd.ArrowDtype(pa.date32())),
    "arrow": in_arrow(DATES),
    "arrow with zone": in_arrow(pd.to_datetime(DATES).tz_localize("Asia/Kolkata")),
    "polars": in_polars(DATES),
    "polars times": in_polars(pd.to_datetime(DATES).to_list()),
}
TIMES = "turn it into numbers"
SPLIT = "split it into"
REFUSED = {
    "pandas period": (in_pandas(pd.period_range("2020", periods=60, freq="M")), TIMES),
    "pandas timedelta": (in_pandas(pd.to_timedelta(NUMBERS, unit="D")), TIMES),
    "pandas interval": (
        in_pandas(pd.IntervalIndex.from_breaks([0, 1, 2, 3])[PLACES]),
        "cast it to str",
    ),
    "pandas category of intervals": (
        pd.DataFrame({"k": pd.cut(pd.Series(NUMBERS), 3)}),
        r"astype\(str\)",
    ),
    "pandas category of dates": (
        in_pandas(pd.to_datetime(DATES)).astype("category"),
        r"astype\(str\)",
    ),
    "pandas complex": (in_pandas(np.array(NUMBERS, complex)), SPLIT),
    "pandas bytes": (in_pandas([b"a"] * 60), "convert the column"),
    "pandas list": (in_pandas([[1]] * 60), "convert the column"),
    "arrow binary": (in_arrow([b"a"] * 60), "decode it"),
    "arrow list": (in_arrow([[1]] * 60), SPLIT),
    "arrow struct": (in_arrow([{"a": 1}] * 60), SPLIT),
    "arrow map": (in_arrow([[("a", 1)]] * 60, pa.map_(pa.string(), pa.int64())), SPLIT),
    "polars binary": (in_polars([b"a"] * 60), "decode it"),
    "polars array": (in_polars([[1, 2]] * 60, pl.Array(pl.Int64, 2)), SPLIT),
    "polars struct": (in_polars([{"a": 1}] * 60), SPLIT),
}
ANSWERED = [
    pytest.param(frame, in_pandas(plain), id=f"{kind}: {name}")
    for kind, columns, plain in (
        ("text", TEXT_COLUMNS, TEXT),
        ("text with null", NULL_TEXT_COLUMNS, WITH_NULL),
        ("number", NUMBER_COLUMNS, NUMBERS),
        ("boolean", BOOLEAN_COLUMNS, BOOLEANS),
        ("date", DATE_COLUMNS, DATES),
    )
    for name, frame in columns.items()
]


def classifier() -> BayesNetClassifier:
    return BayesNetClassifier("nb", "map", discretizer=None)


def halves(frame):
    """Two batches, the first of them with all values."""
    return (
        (frame[:40], frame[40:])
        if not hasattr(frame, "slice")
        else (frame.slice(0, 40), frame.slice(40))
    )


@pytest.mark.parametrize("frame, plain", ANSWERED)
def test_a_type_is_read_as_the_plain_column_everywhere(frame, plain, tmp_path):
    expected = classifier().fit(plain, LABELS).predict_proba(plain)
    fitted = classifier().fit(frame, LABELS)
    np.testing.assert_array_equal(fitted.predict_proba(frame), expected)
    np.testing.assert_array_equal(fitted.predict_proba(plain), expected)
    fitted.save(tmp_path / "model.json")
    np.testing.assert_array_equal(load(tmp_path / "model.json").predict_proba(frame), expected)
    batches = iter(zip(halves(frame), (LABELS[:40], LABELS[40:]), strict=True))
    streamed = classifier().fit(batches)
    np.testing.assert_array_equal(streamed.predict_proba(iter(halves(frame))), expected)
    in_parts = classifier()
    for part, labels in zip(halves(frame), (LABELS[:40], LABELS[40:]), strict=True):
        in_parts.partial_fit(part, labels)
    np.testing.assert_allclose(in_parts.predict_proba(frame), expected, rtol=1e-12)


@pytest.mark.parametrize("frame, way_out", REFUSED.values(), ids=REFUSED)
def test_a_type_that_is_refused_names_the_column_and_the_way_out(frame, way_out):
    known = classifier().fit(in_pandas(NUMBERS), LABELS)
    for refuse in (
        lambda: classifier().fit(frame, LABELS),
        lambda: classifier().partial_fit(frame, LABELS),
        lambda: classifier().fit(iter([(frame, LABELS)])),
        lambda: known.predict(frame),
    ):
        with pytest.raises((ValueError, TypeError), match=f"column 'k'.*{way_out}"):
            refuse()


def test_columns_of_a_record_batch_are_found_by_name():
    batch = pa.record_batch({"k": pa.array(TEXT), "other": pa.array(NUMBERS[::-1])})
    fitted = classifier().fit(batch, LABELS)
    assert list(fitted.feature_names_in_) == ["k", "other"]
    with pytest.raises(ValueError, match="same order"):
        fitted.predict(batch.select(["other", "k"]))


@pytest.mark.parametrize("kind", [list, lambda y: np.array(y, dtype=object), pd.Series])
@pytest.mark.parametrize(
    "members", [Letter, Number, enum.StrEnum("Color", ["RED", "GREEN", "BLUE"])]
)
def test_members_of_enumerations_are_the_labels_that_they_equal(members, kind, tmp_path):
    labels = kind([list(members)[place] for place in NUMBERS])
    fitted = classifier().fit(in_pandas(TEXT), labels)
    assert fitted.classes_.tolist() == sorted(member.value for member in members)
    assert {type(label) for label in fitted.classes_.tolist()} <= {str, int}
    fitted.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert fitted.score(in_pandas(TEXT), labels) == again.score(in_pandas(TEXT), labels) == 1.0


def test_members_of_enumerations_and_their_strings_are_the_same_values():
    fitted = classifier().fit(in_pandas(LETTERS, object), LABELS)
    expected = fitted.predict_proba(in_pandas(TEXT))
    np.testing.assert_array_equal(fitted.predict_proba(in_pandas(LETTERS, object)), expected)
    np.testing.assert_array_equal(
        fitted.predict_proba([{"k": letter} for letter in LETTERS]), expected
    )
    query = fitted.network_.query
    np.testing.assert_array_equal(
        query("class", {"k": Letter.A}).probabilities, query("class", {"k": "a"}).probabilities
    )
