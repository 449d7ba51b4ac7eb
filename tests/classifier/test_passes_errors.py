"""Fits on files that go wrong: what is said, and that no temporary file is left."""

from __future__ import annotations

import resource
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discbayes import BayesNetClassifier
from discbayes.streams import rereading

pytestmark = pytest.mark.usefixtures("temporary")


def make_frame(n_rows=5000):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{k}": rng.integers(0, 9, n_rows) for k in range(20)})
    return frame.assign(place=rng.choice(list("abc"), n_rows), y=rng.integers(0, 2, n_rows))


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "five"
    folder.mkdir()
    frame = make_frame()
    for k in range(5):
        write(frame[1000 * k : 1000 * (k + 1)], folder / f"part-{k}.parquet")
    return folder


def write(frame, path):
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)


@contextmanager
def largest_file(size):
    """While no file may be larger than so many bytes: what is too much fails as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


CALIBRATED = BayesNetClassifier("nb", "map", calibrate="temperature", calibrate_folds=2)


def refused(error, match, X, largest=1 << 40, clf=CALIBRATED):
    with largest_file(largest), pytest.raises(error, match=match):
        clf.fit(X, "y")
    assert not hasattr(clf, "network_")


def test_a_file_that_cannot_be_read(folder):
    path = folder / "part-3.parquet"
    content = bytearray(path.read_bytes())
    path.write_bytes(content[:4000])
    refused(
        OSError,
        r"cannot read .*part-3\.parquet: .* If it was cut short, write it again, or leave it out",
        folder,
    )
    content[1500:1900] = b"\xff" * 400
    path.write_bytes(content)
    refused(
        OSError,
        r"cannot read .*part-3\.parquet, row group 0: .* write it again, or leave it out",
        folder,
    )


@pytest.mark.parametrize("column", ["x7", "y"])
def test_a_column_that_one_file_does_not_have(folder, column):
    write(make_frame(50).drop(columns=column), folder / "part-2.parquet")
    refused(ValueError, rf"part-2\.parquet, row group 0: there is no column '{column}'", folder)


def test_a_file_that_goes_while_folds_are_read(folder, monkeypatch):
    def gone(*arguments):
        (folder / "part-4.parquet").unlink()
        return rest(*arguments)

    rest = rereading.WithoutHeldOut.rows
    monkeypatch.setattr(rereading.WithoutHeldOut, "rows", gone)
    refused(OSError, r"cannot read .*part-4\.parquet", folder)


def test_a_disk_without_room_for_the_codes(folder, temporary):
    refused(
        OSError,
        rf"the disk is full: the codes need 0\.1 MB in {temporary}, which has .* choose another",
        folder,
        9000,
    )


def test_a_disk_without_room_for_the_rows_of_an_iterator(temporary):
    batches = (make_frame(500) for _ in range(10))
    refused(
        OSError,
        f"the disk is full: the rows of the iterator need .* MB in {temporary}",
        batches,
        200_000,
    )


def test_a_disk_without_room_for_the_keys(tmp_path, temporary):
    write(make_frame()[["x0", "x1", "y"]], tmp_path / "narrow.parquet")
    refused(
        OSError,
        f"the disk is full: the keys of the rows need 0.1 MB in {temporary}",
        tmp_path / "narrow.parquet",
        30_000,
    )
