"""Rows in parts: what is gathered of parts is what is gathered of all rows, and parts of files are
those rows.
"""

from __future__ import annotations

from copy import deepcopy
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discbayes.data import FrameEncoder
from discbayes.data.histogram import ClassLabels
from discbayes.streams.batch_rows import Reader
from discbayes.streams.batch_sources import IteratorSource
from discbayes.streams.batches import Limits
from discbayes.streams.file_sources import FileSource
from discbayes.streams.learned_domain import collect_statistics, count_numeric
from discbayes.streams.out_of_core import bounded_discretizer
from discbayes.streams.quantiles import Distribution
from shop import make_frame

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def gathered(frame, encoder, start=0, names=None):
    reader = Reader(
        IteratorSource(iter([frame])), "bought", None, Limits(most_rows=512), start=start
    )
    reader.names, reader.named = names, names is not None
    discretizer = bounded_discretizer(encoder)
    return collect_statistics(reader, reader.rows, encoder, discretizer, n_numeric=3)


def variables(found, encoder):
    learned = deepcopy(found).learn_domain(encoder)
    return (
        learned.domain,
        learned.n_missing.tolist(),
        learned.n_rows,
        learned.encoder.classes_.tolist(),
    )


FRAME = make_frame(1500).drop(columns="w")
FRAME.loc[:400, "colour"] = None
FRAME.loc[900:, "bought"] = "late"
ENCODERS = {
    "cuts": FrameEncoder(),
    "two resolutions": FrameEncoder(discretizer="two-resolution"),
    "values": FrameEncoder(discretizer=None),
    "declared": FrameEncoder(categorical=["age"], domains={"town": ["C", "B", "A", "Z"]}),
}


@given(st.lists(st.integers(1, 1499), max_size=5), st.sampled_from(sorted(ENCODERS)), st.randoms())
@settings(deadline=None, max_examples=30)
def test_parts_say_what_all_rows_say(cuts, name, order):
    encoder, bounds = ENCODERS[name], sorted({0, 1500, *cuts})
    whole = gathered(FRAME, encoder)
    parts = [
        gathered(FRAME[first:last], encoder, first, whole.names) for first, last in pairwise(bounds)
    ]
    while len(parts) > 1:  # neighbours in any order
        at = order.randrange(len(parts) - 1)
        parts[at : at + 2] = [parts[at].merge(parts[at + 1])]
    assert variables(parts[0], encoder) == variables(whole, encoder)


def test_first_batches_tell_the_numeric_columns():
    reader = Reader(IteratorSource(iter([FRAME])), "bought", None, Limits())
    assert count_numeric(next(iter(reader.tables()))) == 3  # booleans are numbers here


# ---- summaries of many values


def distribution(values, y, limit, block):
    found = Distribution(limit)
    for first in range(0, values.size, block):
        rows = slice(first, first + block)
        found.add(values[rows], ClassLabels(y[rows], np.ones(y[rows].size), 2))
        if y[rows].size == block:
            found.close_block()
    return found


def assert_within_bound(found, values, y, limit, n_blocks):
    """No rank, of any class, is wrong by more than is said; and no more is said than the doublings
    allow.
    """
    histogram = found.histogram()
    assert histogram.weights.sum() == values.size
    at = np.repeat(histogram.values, np.diff(histogram.starts))
    for k in (0, 1):
        for value in np.quantile(values, np.linspace(0, 1, 60)):
            below = histogram.weights[(at <= value) & (histogram.classes == k)].sum()
            assert abs(below - np.count_nonzero((values <= value) & (y == k))) <= found.rank_error
    doublings = int(np.ceil(np.log2(n_blocks))) + 1
    assert found.rank_error <= doublings * values.size / (limit / 16) * (1 + 1e-9)


@given(st.lists(st.integers(1, 39), max_size=6, unique=True), st.integers(0, 5), st.randoms())
@settings(deadline=None, max_examples=25)
def test_summaries_of_parts_keep_the_bound(cuts, seed, order):
    rng = np.random.default_rng(seed)
    block, limit, n_rows = 256, 640, 40 * 256
    values = np.round(rng.normal(size=n_rows), rng.choice([1, 2, 6]))
    y = (values + rng.normal(size=n_rows) > 0).astype(np.int64)
    bounds = [0, *(cut * block for cut in sorted(cuts)), n_rows]
    pairs = list(pairwise(bounds))
    parts = [distribution(values[a:b], y[a:b], limit, block) for a, b in pairs]
    while len(parts) > 1:
        at = order.randrange(len(parts) - 1)
        parts[at].merge(parts[at + 1])
        del parts[at + 1]
    found, whole = parts[0], distribution(values, y, limit, block)
    assert found.exact == whole.exact
    if whole.exact:
        assert found.rank_error == 0
        for name in ("values", "starts", "classes", "weights"):
            assert np.array_equal(
                getattr(found.histogram(), name), getattr(whole.histogram(), name)
            )
    assert_within_bound(whole, values, y, limit, 40)
    assert_within_bound(found, values, y, limit, 40)


def test_renumbered_classes_stay_with_their_values():
    values, y = np.array([3.0, 1.0, 1.0, 2.0]), np.array([0, 1, 0, 1])
    found = distribution(values, y, 1000, 4).renumbered(np.array([5, 2])).histogram()
    assert found.values.tolist() == [1, 2, 3]
    assert found.classes.tolist() == [2, 5, 2, 5]
    assert found.weights.tolist() == [1, 1, 1, 1]


# ---- parts of files


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Three files of 1,000 rows: small row groups, one large one, and batches of Arrow."""
    folder = tmp_path_factory.mktemp("files")
    table = pa.table({"n": np.arange(3000), "t": [f"v{k % 7}" for k in range(3000)]})
    pq.write_table(table.slice(0, 1000), folder / "a.parquet", row_group_size=130)
    pq.write_table(table.slice(1000, 1000), folder / "b.parquet")
    with (
        pa.OSFile(str(folder / "c.arrow"), "wb") as file,
        pa.ipc.new_file(file, table.schema) as writer,
    ):
        writer.write_table(table.slice(2000), max_chunksize=300)
    return FileSource([folder])


@given(st.integers(0, 2999), st.integers(1, 3000), st.sampled_from([16, 512]))
@settings(deadline=None, max_examples=60)
def test_parts_of_files_are_those_rows(files, first, size, most_rows):
    lengths, last = files.lengths(), min(3000, first + size)
    assert lengths == [1000, 1000, 1000]
    batches = list(files.part(lengths, first, last).batches(Limits(most_rows=most_rows)))
    assert np.concatenate(
        [batch.frame.column("n").to_numpy() for batch in batches]
    ).tolist() == list(range(first, last))
    for batch in batches:
        in_file = batch.frame.column("n")[0].as_py() % 1000
        assert batch.first_row == in_file


def test_files_that_do_not_say_how_long_they_are(tmp_path):
    pd.DataFrame({"a": [1, 2]}).to_csv(tmp_path / "a.csv", index=False)
    assert FileSource([tmp_path / "a.csv"]).lengths() is None
    table = pa.table({"a": [1, 2]})
    with (
        pa.OSFile(str(tmp_path / "b.arrows"), "wb") as file,
        pa.ipc.new_stream(file, table.schema) as writer,
    ):
        writer.write_table(table)
    assert FileSource([tmp_path / "b.arrows"]).lengths() is None
    (tmp_path / "c.parquet").write_bytes(b"nothing")
    with pytest.raises(OSError, match=r"cannot read .*c\.parquet: .*cut short"):
        FileSource([tmp_path / "c.parquet"]).lengths()
