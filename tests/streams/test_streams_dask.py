"""Dask collections as sources: the same as in memory."""

from __future__ import annotations

import numpy as np
import pytest
from test_streams import assert_same, in_memory, in_passes, mixed_frame

from discbayes.data import FrameEncoder
from discbayes.streams import is_source
from encoding import encode_source

dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")


def test_frames():
    frame, y = mixed_frame()
    expected = in_memory(frame, y)
    for npartitions in (1, 7):
        joined = dd.from_pandas(frame.assign(bought=y), npartitions=npartitions)
        assert is_source(joined)
        assert_same(in_passes(joined, "bought"), expected)
        rows, classes = (dd.from_pandas(part, npartitions=npartitions) for part in (frame, y))
        assert_same(in_passes(rows, classes), expected)


def test_frames_with_weights():
    frame, y = mixed_frame()
    weight = np.random.default_rng(0).random(len(y)) + 0.2
    expected = in_memory(frame, y, weight)
    joined = dd.from_pandas(frame.assign(bought=y, w=weight), npartitions=3)
    assert_same(in_passes(joined, "bought", "w"), expected)
    assert_same(
        in_passes(joined.drop(columns=["bought", "w"]), joined["bought"], joined["w"]), expected
    )


def test_arrays():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, (300, 5)).astype(float), rng.integers(0, 3, 300)
    expected = in_memory(X, y)
    for chunks in ((100, 5), (70, 2)):
        rows = da.from_array(X, chunks=chunks)
        assert is_source(rows)
        assert_same(in_passes(rows, da.from_array(y, chunks=chunks[:1])), expected)
        assert_same(in_passes(rows, y), expected)


def test_partitions_that_do_not_match():
    frame, y = mixed_frame()
    rows, classes = dd.from_pandas(frame, npartitions=3), dd.from_pandas(y, npartitions=2)
    with pytest.raises(ValueError, match="different numbers of partitions"):
        encode_source(rows, FrameEncoder(), classes)


def test_a_partition_that_fails_is_named(tmp_path):
    frame, y = mixed_frame()
    frame.loc[250, "size"] = np.inf
    rows = dd.from_pandas(frame.assign(bought=y), npartitions=4)
    with pytest.raises(ValueError, match=r"partition 2.*column 'size' contains infinity"):
        encode_source(rows, FrameEncoder(), "bought", folder=tmp_path)
    assert not list(tmp_path.iterdir())
