"""Tables in passes: the same domain and codes as in memory, whatever the batches and wherever they
come from.
"""

from __future__ import annotations

import pickle
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discbayes.data import EqualFrequencyDiscretizer, FrameEncoder, TwoResolutionDiscretizer
from discbayes.data.row_blocks import ROWS_OF_BLOCK
from discbayes.datasets import load_dataset
from discbayes.streams import batches_of, is_source
from discbayes.streams.csv_format import CsvFormat
from encoding import encode_source


def in_memory(X, y, weight=None, **options):
    encoder = FrameEncoder(**options)
    return encoder, encoder.fit_transform(X, y, weight)


def in_passes(
    source, target=None, weight=None, memory=1 << 25, max_distinct=200_000, csv=None, **options
):
    encoder, spilled = encode_source(
        source,
        FrameEncoder(**options),
        target,
        weight,
        memory=memory,
        max_distinct=max_distinct,
        csv=csv,
    )
    with spilled:
        return encoder, whole(spilled), spilled


def whole(spilled):
    """All blocks as one table in memory."""
    blocks = list(spilled)
    codes = np.concatenate([np.array(block.codes) for block in blocks], axis=1)
    y = np.concatenate([block.y for block in blocks])
    weight = (
        None if blocks[0].weight is None else np.concatenate([block.weight for block in blocks])
    )
    return codes, y, weight


def assert_same(passes, memory):
    """Same domain, to the bit and the type of each value; same codes, classes and weights."""
    (got, (codes, y, weight), spilled), (expected, data) = passes, memory
    assert got.domain_ == expected.domain_
    for one, other in zip(got.domain_.features, expected.domain_.features, strict=True):
        assert list(map(type, one.values)) == list(map(type, other.values))
        assert one.labels == other.labels
    assert got.domain_.target.values == expected.domain_.target.values
    assert got.classes_.dtype.kind == expected.classes_.dtype.kind
    np.testing.assert_array_equal(codes, data.codes)
    assert codes.dtype == data.codes.dtype == spilled.dtype
    np.testing.assert_array_equal(y, data.y)
    assert (weight is None) == (data.weight is None)
    if weight is not None:
        np.testing.assert_array_equal(weight, data.weight)
    np.testing.assert_array_equal(spilled.n_missing, data.n_missing)


def mixed_frame(n=400, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n).round(1),
            "count": rng.integers(-5, 30, n),
            "far": rng.integers(0, 2**40, n),
            "flag": rng.random(n) < 0.3,
            "colour": rng.choice(["red", "green", "blue"], n),
            "grade": pd.Categorical(rng.choice(["low", "high"], n), ["low", "middle", "high"]),
            "incomplete": np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 4, n)),
            "empty": np.full(n, np.nan),
        }
    )
    frame.loc[rng.random(n) < 0.1, "colour"] = None
    y = pd.Series(
        np.where(frame["size"] + frame["count"] / 20 > rng.normal(0.6, 0.5, n), "yes", "no"),
        name="bought",
    )
    return frame, y


def pairs(X, y, size, weight=None):
    for at in range(0, len(X), size):
        rows = slice(at, at + size)
        yield (X[rows], y[rows]) if weight is None else (X[rows], y[rows], weight[rows])


# What is a source


def test_sources_and_tables_are_told_apart(tmp_path):
    frame, _ = mixed_frame(4)
    dataset = pa.dataset.dataset(pa.table({"a": [1]}))
    for source in (
        "a.csv",
        tmp_path,
        ["a.csv", "b.csv"],
        [tmp_path],
        iter([]),
        (f for f in []),
        dataset,
    ):
        assert is_source(source)
    for table in (
        frame,
        pl.DataFrame({"a": [1]}),
        pa.table({"a": [1]}),
        np.zeros((2, 2)),
        [[1, 2]],
        [],
        ["a", "b"],
        None,
    ):
        assert not is_source(table)


# The same as in memory


@pytest.mark.parametrize("size", [33, 400])
@pytest.mark.parametrize("missing", ["available", "value", "drop"])
def test_batches_of_pandas_frames(size, missing):
    frame, y = mixed_frame()
    if missing == "drop":
        frame = frame.drop(columns="empty")
    assert_same(
        in_passes(pairs(frame, y, size), missing=missing), in_memory(frame, y, missing=missing)
    )


@pytest.mark.parametrize("weights", ["whole", "broken", "ones", "some zero"])
@pytest.mark.parametrize("discretizer", ["mdlp", "equal-frequency", "two-resolution", None])
def test_weights(weights, discretizer):
    frame, y = mixed_frame()
    frame = frame.drop(columns="far")
    rng = np.random.default_rng(1)
    weight = {
        "whole": rng.integers(1, 4, len(y)).astype(float),
        "broken": rng.random(len(y)) + 0.1,
        "ones": np.ones(len(y)),
        "some zero": (rng.random(len(y)) < 0.7).astype(float),
    }[weights]
    options = {"discretizer": discretizer}
    expected = in_memory(frame, y, weight, **options)
    for size in (29, 400):
        assert_same(in_passes(pairs(frame, y, size, weight), **options), expected)
    joined = frame.assign(w=weight, bought=y)
    assert_same(in_passes(iter([joined[:50], joined[50:]]), "bought", "w", **options), expected)


def test_options_of_columns():
    frame, y = mixed_frame()
    for options in (
        {"categorical": "all"},
        {
            "categorical": ["count", "incomplete"],
            "domains": {"colour": ["blue", "red", "green", "black"]},
        },
        {"discretizer": EqualFrequencyDiscretizer(n_bins=3)},
        {"discretizer": "two-resolution"},
        {"discretizer": "two-resolution", "missing": "value"},
        {"domains": {"incomplete": [3, 2, 1, 0], "flag": [True, False]}},
    ):
        assert_same(in_passes(pairs(frame, y, 37), **options), in_memory(frame, y, **options))


@pytest.mark.parametrize(
    "y",
    [
        np.arange(60) % 3,
        np.arange(60) % 2 == 0,
        np.array(["b", "a", "c"] * 20),
        (np.arange(60) % 3).astype(float),
    ],
)
def test_arrays_and_types_of_classes(y):
    X = np.random.default_rng(0).integers(0, 9, (60, 3)).astype(float)
    assert_same(in_passes(pairs(X, y, 11)), in_memory(X, y))
    assert_same(in_passes(iter([X[:7], X[7:]]), y), in_memory(X, y))


def test_a_class_that_only_dropped_rows_have_is_none():
    frame = pd.DataFrame({"a": [1.0, 2.0, np.nan, 3.0] * 5})
    y = np.array(["x", "y", "rare", "x"] * 5)
    assert_same(in_passes(pairs(frame, y, 3), missing="drop"), in_memory(frame, y, missing="drop"))


def test_columns_of_objects_whose_batches_look_different():
    frame = pd.DataFrame(
        {
            "late": [None, None, None, "a", "b", "a"] * 3,
            "numbers": pd.Series([1, 2, 3, 1.5, None, 2] * 3, dtype=object),
            "whole": pd.Series([1, 2, 3, None, None, 2] * 3, dtype=object),
        }
    )
    y = np.arange(18) % 2
    for options in ({}, {"discretizer": None}):
        assert_same(in_passes(pairs(frame, y, 3), **options), in_memory(frame, y, **options))


def test_one_file_holds_floats_where_the_others_hold_whole_numbers(tmp_path):
    pq.write_table(pa.table({"a": [1, 2, 3, 4], "y": ["u", "v", "u", "v"]}), tmp_path / "1.parquet")
    pq.write_table(
        pa.table({"a": [1.5, None, 3.0, 4.0], "y": ["u", "v", "u", "v"]}), tmp_path / "2.parquet"
    )
    table = pd.DataFrame({"a": [1, 2, 3, 4, 1.5, None, 3.0, 4.0]})
    options = {"discretizer": None}
    expected = in_memory(table, pd.Series(["u", "v"] * 4, name="y"), **options)
    assert_same(in_passes(tmp_path, "y", **options), expected)


cells = {
    "float": st.floats(-3, 3).map(lambda x: round(x, 1)) | st.just(float("nan")),
    "int": st.integers(-4, 4),
    "text": st.sampled_from(["a", "b", "c"]) | st.none(),
    "bool": st.booleans(),
}


@st.composite
def tables(draw):
    n = draw(st.integers(4, 60))
    kinds = draw(st.lists(st.sampled_from(sorted(cells)), min_size=1, max_size=4))
    columns = {}
    for at, kind in enumerate(kinds):
        values = draw(st.lists(cells[kind], min_size=n, max_size=n))
        columns[f"{kind}{at}"] = pd.Series(values, dtype=object if kind == "text" else None)
    y = draw(st.lists(st.sampled_from(["p", "q", "r"]), min_size=n, max_size=n))
    weight = draw(
        st.none() | st.lists(st.sampled_from([0.0, 0.1, 0.3, 1.0, 2.0]), min_size=n, max_size=n)
    )
    borders = sorted(draw(st.sets(st.integers(1, n - 1), max_size=6)))
    return (
        pd.DataFrame(columns),
        np.array(y),
        weight if weight is None or any(weight) else None,
        [0, *borders, n],
    )


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    tables(),
    st.sampled_from(["available", "value", "drop", "error"]),
    st.sampled_from(["mdlp", "equal-frequency", TwoResolutionDiscretizer(n_fine=4), None]),
    st.sampled_from(["pandas", "polars"]),
)
def test_any_table_in_any_batches(table, missing, discretizer, library):
    frame, y, weight, borders = table
    X = frame if library == "pandas" else pl.from_pandas(frame, nan_to_null=True)
    options = {"missing": missing, "discretizer": discretizer}

    def batches():
        for first, last in pairwise(borders):
            rows = slice(first, last)
            yield (X[rows], y[rows]) if weight is None else (X[rows], y[rows], weight[rows])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            expected = in_memory(X, y, weight, **options)
        except ValueError as error:
            with pytest.raises(ValueError, match="gap|missing" if "gap" in str(error) else "."):
                in_passes(batches(), **options)
            return
        assert_same(in_passes(batches(), **options), expected)


@pytest.mark.parametrize("name", ["adult", "nursery", "letter", "german"])
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_real_tables(name, library, data_folder, tmp_path):
    data = load_dataset(name, as_frame=library)
    expected = in_memory(data.X, data.y)
    size = len(data.y) // 3 + 5
    parts = [(data.X[at : at + size], data.y[at : at + size]) for at in range(0, len(data.y), size)]
    assert_same(in_passes(iter(parts)), expected)
    if library != "pyarrow":
        return
    for number, (X, y) in enumerate(parts):
        table = X.append_column("the class", pa.array(y.tolist()))
        pq.write_table(table, tmp_path / f"{number}.parquet", row_group_size=1000)
    got, (codes, y, _), _ = in_passes(tmp_path, "the class")
    assert got.domain_.features == expected[0].domain_.features
    np.testing.assert_array_equal(codes, expected[1].codes)
    np.testing.assert_array_equal(y, expected[1].y)


def test_the_same_warning_of_numbers_as_text():
    frame = pd.DataFrame({"a": [str(at % 20) for at in range(200)]})
    frame.loc[150, "a"] = "?"
    y = np.arange(200) % 2
    with pytest.warns(UserWarning, match=r"all of them are numbers except '\?'") as caught:
        in_passes(pairs(frame, y, 60))
    with pytest.warns(UserWarning, match="numbers except") as known:
        in_memory(frame, y)
    assert [str(w.message) for w in caught] == [str(w.message) for w in known]


def test_the_same_warning_of_light_weights():
    frame, y = mixed_frame()
    with pytest.warns(UserWarning, match="weights sum to 4 for 400 rows"):
        in_passes(pairs(frame, y, 60, np.full(400, 0.01)))


def test_a_domain_that_is_given():
    frame, y = mixed_frame()
    domain = in_memory(frame, y)[0].domain_
    part, classes = frame[:90], y[:90]
    assert_same(
        in_passes(pairs(part, classes, 40), domains=domain),
        in_memory(part, classes, domains=domain),
    )
    with pytest.raises(ValueError, match=r"columns differ from those of the domain.*'flag'"):
        in_passes(pairs(part.drop(columns="flag"), classes, 40), domains=domain)
    with pytest.raises(ValueError, match="classes that were not there at fit: 'perhaps'"):
        in_passes(pairs(part, classes.replace("no", "perhaps"), 40), domains=domain)


# Where rows come from


def written(table, folder, kind):
    """The table as two files of a kind."""
    for number, part in enumerate((table.slice(0, 150), table.slice(150))):
        path = folder / f"part-{number}.{kind}"
        if kind == "parquet":
            pq.write_table(part, path, row_group_size=40)
        elif kind.startswith("csv"):
            with pa.output_stream(path) as sink:  # compresses by the ending
                pa.csv.write_csv(part, sink)
        elif kind == "arrows":
            with pa.ipc.new_stream(path, part.schema) as sink:
                sink.write_table(part)
        else:
            pa.feather.write_feather(part, path, chunksize=70)
    return folder


@pytest.mark.parametrize("kind", ["parquet", "csv", "csv.gz", "feather", "arrow", "arrows"])
def test_files(kind, tmp_path):
    frame, y = mixed_frame()
    frame["grade"] = frame["grade"].astype(str)
    expected = in_memory(frame, y)
    folder = written(
        pa.Table.from_pandas(frame.assign(bought=y), preserve_index=False), tmp_path, kind
    )
    files = sorted(folder.iterdir())
    for source in (folder, str(folder), files, list(map(str, files))):
        assert_same(in_passes(source, "bought"), expected)
    assert_same(in_passes(files[0], "bought"), in_memory(frame[:150], y[:150]))


def test_datasets_of_pyarrow(tmp_path):
    frame, y = mixed_frame()
    frame["grade"] = frame["grade"].astype(str)
    folder = written(
        pa.Table.from_pandas(frame.assign(bought=y), preserve_index=False), tmp_path, "parquet"
    )
    dataset = pa.dataset.dataset(folder)
    assert_same(in_passes(dataset, "bought"), in_memory(frame, y))
    kept = (frame["count"] > 0).to_numpy()
    filtered = dataset.filter(pa.dataset.field("count") > 0)
    assert_same(in_passes(filtered, "bought"), in_memory(frame[kept], y[kept]))
    reader = dataset.scanner().to_reader()
    assert_same(in_passes(reader, "bought"), in_memory(frame, y))


def test_columns_in_another_order_are_found_by_name(tmp_path):
    table = pa.table({"a": [1, 2] * 6, "b": ["u", "v"] * 6, "y": [0, 1] * 6})
    pq.write_table(table, tmp_path / "1.parquet")
    pq.write_table(table.select(["y", "b", "a"]), tmp_path / "2.parquet")
    whole_table = pa.concat_tables([table, table]).to_pandas()
    assert_same(in_passes(tmp_path, "y"), in_memory(whole_table[["a", "b"]], whole_table["y"]))


def test_csv_types_are_those_of_the_whole_file(tmp_path):
    """The first megabyte holds whole numbers, then come others: rows are read again as what they
    are in the end.
    """
    n = 200_000
    lines = [f"{at % 7},{at % 5},,,{at % 2}" for at in range(n)]
    lines[-1] = "1.5,word,3,true,0"
    path = tmp_path / "rows.csv"
    path.write_text("a,b,c,d,y\n" + "\n".join(lines) + "\n")
    encoder, (codes, _, _), _ = in_passes(path, "y", categorical=["a", "c"])
    a, b, c, d = encoder.domain_.features
    assert a.values == (0.0, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0)
    assert b.values == ("0", "1", "2", "3", "4", "word")
    assert c.values == (3.0,)
    assert d.kind == "boolean"
    assert codes.shape == (4, n)


def test_csv_formats(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a;y\n" + "1;u\n?;v\n3;u\n" * 4)
    encoder, _, spilled = in_passes(
        path, "y", csv=CsvFormat(delimiter=";", missing_values=["?"]), discretizer=None
    )
    assert encoder.domain_.features[0].values == (1.0, 3.0)
    assert spilled.n_missing.tolist() == [4]


# Blocks on disk


def test_blocks_do_not_depend_on_batches():
    rng = np.random.default_rng(0)
    n = ROWS_OF_BLOCK + 1234
    X, y = rng.integers(0, 5, (n, 3)), rng.integers(0, 3, n)
    expected = in_memory(X, y)[1]
    contents = []
    for size, memory in ((n, 1 << 29), (10_007, 1 << 29), (65_536, 1 << 24)):
        _, spilled = encode_source(pairs(X, y, size), FrameEncoder(), memory=memory)
        with spilled:
            assert len(spilled) == 2
            first, last = spilled.block(0), spilled.block(1)
            assert (first.n_samples, last.n_samples) == (ROWS_OF_BLOCK, 1234)
            np.testing.assert_array_equal(first.codes, expected.codes[:, :ROWS_OF_BLOCK])
            np.testing.assert_array_equal(last.codes, expected.codes[:, ROWS_OF_BLOCK:])
            assert first.codes.flags.c_contiguous
            assert first.y.dtype == expected.y.dtype
            contents.append(spilled.path.read_bytes())
            with pytest.raises(IndexError, match="no block 2"):
                spilled.block(2)
        assert not spilled.path.parent.exists()
    assert contents[0] == contents[1] == contents[2]


def test_wide_tables_are_written_through_small_buffers():
    """With so many features a block does not fit in the memory that is allowed: it is written piece
    by piece.
    """
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (9000, 600)).astype(np.uint8), rng.integers(0, 2, 9000)
    expected = in_memory(X, y, discretizer=None)
    assert_same(in_passes(pairs(X, y, 5000), memory=1 << 24, discretizer=None), expected)


def test_codes_and_classes_of_two_bytes():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 700, (5000, 2)), rng.integers(0, 300, 5000)
    expected = in_memory(X, y, discretizer=None)
    assert expected[1].codes.dtype == np.uint16
    assert_same(in_passes(pairs(X, y, 999), discretizer=None), expected)


def test_writing_to_a_block_changes_no_file():
    frame, y = mixed_frame()
    _, spilled = encode_source(pairs(frame, y, 100), FrameEncoder())
    with spilled:
        before = spilled.path.read_bytes()
        spilled.block(0).codes[:] = 0
        assert spilled.path.read_bytes() == before
        assert spilled.block(0).codes.any()


def test_a_copy_for_another_process_does_not_remove_the_file():
    frame, y = mixed_frame()
    _, spilled = encode_source(pairs(frame, y, 100), FrameEncoder())
    copy = pickle.loads(pickle.dumps(spilled))
    np.testing.assert_array_equal(copy.block(0).codes, spilled.block(0).codes)
    copy.close()
    del copy
    assert spilled.path.exists()
    folder = spilled.path.parent
    del spilled
    assert not folder.exists()


# Prediction


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_batches_for_prediction_have_the_columns_and_types_of_the_fit(kind, tmp_path):
    frame, y = mixed_frame()
    # looks like a number in most of the file
    frame["code"] = np.where(np.arange(400) < 390, "1", "x")
    encoder, _ = in_memory(frame, y)
    table = pa.Table.from_pandas(frame.assign(bought=y), preserve_index=False)
    folder = written(table, tmp_path, kind)
    found = list(batches_of(folder, encoder.domain_))
    assert sum(n_rows for _, n_rows in found) == 400
    codes = np.concatenate([encoder.transform(batch) for batch, _ in found], axis=1)
    np.testing.assert_array_equal(codes, encoder.transform(frame))


def test_columns_that_are_not_wanted_may_change_their_type(tmp_path):
    """A column of a CSV file that the model does not know turns to text late: no batch is lost or
    given twice.
    """
    n = 150_000
    path = tmp_path / "rows.csv"
    lines = [f"{at},{at % 2},true" for at in range(n)]
    lines[-1] = f"{n - 1},x,false"
    path.write_text("a,other,flag\n" + "\n".join(lines) + "\n")
    encoder, _ = in_memory(pd.DataFrame({"a": [0.0, n], "flag": [True, False]}), [0, 1])
    found = [
        batch.find(0)[0].data[:, 0]
        for batch, _ in batches_of(path, encoder.domain_, memory=1 << 25)
    ]
    assert len(found) > 2
    np.testing.assert_array_equal(np.concatenate(found), np.arange(n))
    path.write_text("a,flag\n1,true\n2,maybe\n")
    with pytest.raises(OSError, match=r"rows.csv.*conversion error to bool: invalid value 'maybe'"):
        list(batches_of(path, encoder.domain_))
