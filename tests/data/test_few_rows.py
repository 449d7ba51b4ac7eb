"""Codes of a few rows, value by value: those of the whole table, or none."""

from __future__ import annotations

import decimal
import pickle
import threading
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from test_dtypes import ANSWERED, LABELS, NUMBERS, REFUSED, TEXT, in_pandas

from discbayes import BayesNetClassifier, load_dataset
from discbayes.data import Domain, FrameEncoder, Variable
from discbayes.data.table_reader import read_table

TARGET = Variable("class", "categorical", ("no", "yes"))
VARIABLES = (
    Variable("cut", "numeric", cuts=(-1.0, 0.5, 2.0)),
    Variable("one interval", "numeric", cuts=()),
    Variable("text", "categorical", ("1", "a", "b")),
    Variable("whole", "categorical", (0, 1, 2, 2**60)),
    Variable("float", "categorical", (-0.5, 0.0, 1.0)),
    Variable("boolean", "boolean", (False, True)),
    Variable("never observed", "categorical"),
    Variable("missing is a value", "categorical", ("a", "b"), missing_value=True),
    Variable("missing is an interval", "numeric", cuts=(0.5,), missing_value=True),
    Variable("marginalized", "categorical", ("a", "b"), missing_value=True, marginalized=True),
)
# fmt: off
CELLS = [
    None, np.nan, pd.NA, 0, 1, 2, 2**53, 2**60, -2**63, 2**63, 10**400, -1.0, -0.0, 0.5, 1.0, 2.0,
    1e300, np.inf, -np.inf, True, False, "1", "a", "b", "c", "", np.float32(0.1), np.float64(2.0),
    np.int8(1), np.bool_(True), np.str_("a"), np.longdouble(0.5), decimal.Decimal(1), [1], b"a",
    1j, np.datetime64("2020-01-01"), pd.Timestamp("2020-01-01"), pd.NaT,
]
# fmt: on


def by_table(encoder, X, **options):
    """The codes of the general way, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return encoder.transform(encoder.read(X), **options)


def agrees(encoder, X, **options) -> bool:
    """Whether there are codes; they are those of the general way, which refuses nothing."""
    few = encoder.encode_few(X, **options)
    if few is None:
        return False
    expected = by_table(encoder, X, **options)
    np.testing.assert_array_equal(few, expected)
    assert few.dtype == expected.dtype
    assert few.flags.c_contiguous
    assert few.flags.writeable
    return True


@pytest.mark.parametrize("variable", VARIABLES, ids=lambda variable: variable.name)
def test_any_cells_have_the_codes_of_the_table_or_none(variable):
    encoder = FrameEncoder.from_domain(Domain((variable,), TARGET))
    rng = np.random.default_rng(0)
    answered = 0
    pairs = [[CELLS[k] for k in rng.integers(len(CELLS), size=2)] for _ in range(500)]
    usual = CELLS[:2] + CELLS[3:6] + CELLS[11:16] + CELLS[19:25]
    dozens = [[usual[k] for k in rng.integers(len(usual), size=12)] for _ in range(50)]
    dozens += [[usual[k]] * 11 + [None] for k in range(len(usual))]
    for cells in [[cell] for cell in CELLS] + pairs + dozens:
        frame = pd.DataFrame({variable.name: pd.Series(cells, dtype=object)})
        mappings = [{variable.name: cell} for cell in cells]
        for X in (frame, mappings):
            for unknown in ("marginalize", "error"):
                answered += agrees(encoder, X, unknown=unknown)
    assert answered > 100


@pytest.mark.parametrize("frame, plain", ANSWERED)
@pytest.mark.parametrize("fitted_on", [NUMBERS, TEXT], ids=["numbers", "text"])
@pytest.mark.parametrize("discretizer", [None, "mdlp"])
def test_any_type_has_the_codes_of_the_table_or_none(frame, plain, fitted_on, discretizer):
    encoder = FrameEncoder(discretizer)
    encoder.fit_transform(in_pandas(fitted_on), LABELS)
    for rows in (frame[3:4], frame[:7], frame[:60]):
        agrees(encoder, rows)


@pytest.mark.parametrize("frame", [frame for frame, _ in REFUSED.values()], ids=REFUSED)
def test_types_that_are_refused_have_no_codes(frame):
    encoder = FrameEncoder(None)
    encoder.fit_transform(in_pandas(NUMBERS), LABELS)
    assert encoder.encode_few(frame[:1]) is None
    assert encoder.encode_few(frame[:7]) is None


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i8", "u1", "u8", "?", "O"])
def test_plain_numbers_are_read_value_by_value(dtype):
    encoder = FrameEncoder(None)
    encoder.fit_transform(in_pandas(NUMBERS), LABELS)
    assert agrees(encoder, in_pandas(np.array(NUMBERS, dtype))[:7])


@pytest.mark.parametrize("name", ["iris", "wine", "vote", "zoo", "crx"])
@pytest.mark.parametrize("missing", ["available", "value"])
def test_real_rows_have_the_codes_of_the_table(name, missing):
    try:
        data = load_dataset(name)
    except LookupError:
        pytest.skip(f"{name} is not here")
    X = data.X[:500]
    encoder = FrameEncoder(missing=missing)
    encoder.fit_transform(X[::2], data.y[:500][::2])
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)
    in_polars = pl.from_pandas(X)
    for size in (1, 7, 50):
        for start in range(0, len(X), size):
            rows = slice(start, start + size)
            assert agrees(encoder, X[rows])
            assert agrees(encoder, holes[rows])
            assert agrees(encoder, in_polars[rows])
            records = holes[rows].to_dict("records")
            assert agrees(encoder, records) or missing == "value"


def mixed():
    rows = pd.DataFrame(
        {"size": [1.0, 2.0, 8.0, 9.0] * 5, "color": ["red", "blue", "green", "red"] * 5}
    )
    return rows, np.array(["no", "no", "yes", "yes"] * 5)


def test_only_the_columns_of_the_fit_are_read_value_by_value():
    X, y = mixed()
    clf = BayesNetClassifier("nb", "map").fit(X, y)
    expected = clf.predict_proba(X)[:1]
    np.testing.assert_array_equal(clf.predict_proba(X[:1]), expected)
    with pytest.raises(ValueError, match="same order"):
        clf.predict(X[:1][["color", "size"]])
    with pytest.raises(ValueError, match="unseen at fit"):
        clf.predict(X[:1].rename(columns={"size": "weight"}))
    with pytest.raises(ValueError, match="several columns with the same name"):
        clf.predict(pd.concat([X[:1], X[:1]], axis=1))
    with pytest.raises(ValueError, match="0 sample"):
        clf.predict(X[:0])
    unnamed = BayesNetClassifier("nb", "map").fit(X[["size"]].to_numpy(), y)
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        unnamed.predict(pd.DataFrame({"x0": [1.0]}))


@pytest.mark.parametrize(
    "cell, column, match",
    [
        (np.inf, "size", "size.*inf"),
        ("small", "size", "was numeric at fit"),
        (2**63, "size", "too large for 64 bits"),
    ],
)
def test_what_is_refused_is_refused_in_one_row(cell, column, match):
    X, y = mixed()
    clf = BayesNetClassifier("nb", "map").fit(X, y)
    row = X[:1].astype({column: object})
    row.loc[0, column] = cell
    with pytest.raises(ValueError, match=match):
        clf.predict(row)


def test_unseen_values_are_refused_or_warned_of_in_few_rows():
    X, y = mixed()
    clf = BayesNetClassifier("nb", "map", unknown="error").fit(X, y)
    with pytest.raises(ValueError, match="none of its known"):
        clf.predict(X[:1].assign(color="violet"))
    clf.set_params(unknown="marginalize")
    alone = clf.predict_proba({"size": 1.0})
    np.testing.assert_array_equal(clf.predict_proba(X[:1].assign(color="violet")), alone)
    with pytest.warns(UserWarning, match="no value of column 'color' was seen at fit"):
        clf.predict(X[:12].assign(color="violet"))


def test_few_rows_are_read_by_copies_and_by_many_threads():
    X, y = mixed()
    clf = BayesNetClassifier("nb", "map").fit(X, y)
    expected = clf.predict_proba(X)
    again = pickle.loads(pickle.dumps(clf))
    assert agrees(again._encoder, X[:3])
    found: list[bool] = []

    def run(first: int) -> None:
        rows = [again.predict_proba(X[k : k + 1]) for k in range(20)]
        found.append(np.array_equal(np.concatenate(rows), expected))

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "?"])
def test_columns_of_one_type_are_read_as_one_block(dtype):
    values = np.random.default_rng(0).integers(0, 2, (100, 3)).astype(dtype)
    frame = pd.DataFrame(values, columns=["a", "b", "c"])
    frame.insert(1, "text", "red")
    frame["other"] = np.arange(100.0) if dtype != "f8" else np.arange(100)
    table = read_table(frame)
    assert [part.positions.tolist() for part in table.parts] == [[0, 2, 3], [4], [1]]
    assert table.parts[0].boolean == (dtype == "?")
    columns = [read_table(frame[[name]]).parts[0].column(0) for name in "abc"]
    np.testing.assert_array_equal(np.column_stack(columns), table.parts[0].data)
