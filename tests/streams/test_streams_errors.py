"""What goes wrong while data is read in passes: what is said, and that nothing is left behind."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.preprocessing import KBinsDiscretizer

from discbayes.data import FrameEncoder
from discbayes.engine import Progress
from discbayes.streams import disk_codes as spill_module
from discbayes.streams import disk_codes as workspace_module
from discbayes.streams import rereading as spool_module
from encoding import encode_source


@pytest.fixture
def temporary(tmp_path):
    """A folder for temporary files that must be empty in the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    yield folder
    assert list(folder.iterdir()) == []


def refused(
    match,
    source,
    temporary,
    target="y",
    error=ValueError,
    weight=None,
    max_distinct=200_000,
    **options,
):
    with pytest.raises(error, match=match) as caught:
        encode_source(
            source,
            FrameEncoder(**options),
            target,
            weight,
            folder=temporary,
            max_distinct=max_distinct,
        )
    return str(caught.value)


def shards(folder, *tables):
    folder = folder / "shards"
    folder.mkdir()
    for number, table in enumerate(tables):
        pq.write_table(pa.table(table), folder / f"{number}.parquet")
    return folder


def good(n=20):
    return {"a": list(range(n)), "b": ["u", "v"] * (n // 2), "y": ["no", "yes"] * (n // 2)}


# Files


def test_no_such_file(tmp_path, temporary):
    refused(
        "there is no file or folder '.*gone.parquet'",
        tmp_path / "gone.parquet",
        temporary,
        error=FileNotFoundError,
    )
    refused(
        "pass a pyarrow dataset", "s3://bucket/rows.parquet", temporary, error=FileNotFoundError
    )


def test_folders(tmp_path, temporary):
    (tmp_path / "none").mkdir()
    refused("holds no files", tmp_path / "none", temporary)
    (tmp_path / "none" / "deep").mkdir()
    refused("holds a folder, 'deep'", tmp_path / "none", temporary)
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "_SUCCESS").write_text("")
    (tmp_path / "odd" / "notes.txt").write_text("")
    refused(
        r"notes.txt: unknown file ending; the endings are \.parquet", tmp_path / "odd", temporary
    )


@pytest.mark.parametrize("keep", [0, 100, -200])
def test_a_shard_that_was_cut_short(keep, tmp_path, temporary):
    folder = shards(tmp_path, good(), good(2000), good())
    path = folder / "1.parquet"
    path.write_bytes(path.read_bytes()[:keep])
    refused(
        r"cannot read .*1\.parquet.* If it was cut short, write it again",
        folder,
        temporary,
        error=OSError,
    )


def test_a_damaged_row_group_is_named(tmp_path, temporary):
    folder = tmp_path / "shards"
    folder.mkdir()
    rng = np.random.default_rng(0)
    table = pa.table({"a": rng.normal(size=200_000), "y": rng.integers(0, 2, 200_000)})
    pq.write_table(table, folder / "0.parquet", row_group_size=100_000, use_dictionary=False)
    start = pq.ParquetFile(folder / "0.parquet").metadata.row_group(1).column(0).data_page_offset
    content = bytearray((folder / "0.parquet").read_bytes())
    content[start : start + 60] = b"\xff" * 60
    (folder / "0.parquet").write_bytes(content)
    refused(r"cannot read .*0\.parquet, row group 1", folder, temporary, error=OSError)


def test_a_column_is_missing_in_the_third_file(tmp_path, temporary):
    folder = shards(
        tmp_path, good(), good(), {key: value for key, value in good().items() if key != "b"}
    )
    refused(r"2\.parquet.*: there is no column 'b', which all rows before have", folder, temporary)
    (folder / "2.parquet").unlink()
    pq.write_table(pa.table({**good(), "new": [1] * 20}), folder / "2.parquet")
    refused(r"2\.parquet.*: there is a column 'new', which no row before has", folder, temporary)


def test_no_column_for_the_target_or_the_weights(tmp_path, temporary):
    folder = shards(tmp_path, good())
    refused(
        r"0\.parquet.*: there is no column 'Y' \(the target\); the columns are 'y'",
        folder,
        temporary,
        "Y",
    )
    refused(r"no column 'w' \(the weights\)", folder, temporary, weight="w")
    refused("there are no classes: name the column", folder, temporary, None)


def test_the_type_of_a_column_changes(tmp_path, temporary):
    folder = shards(tmp_path, good(), {**good(), "a": ["x"] * 20})
    refused(r"1\.parquet.*: column 'a' holds labels here, and numbers before", folder, temporary)
    (folder / "1.parquet").unlink()
    pq.write_table(pa.table({**good(), "a": [True] * 20}), folder / "1.parquet")
    refused(r"1\.parquet.*: column 'a' holds booleans here, and numbers before", folder, temporary)
    (folder / "1.parquet").unlink()
    pq.write_table(pa.table({**good(), "y": list(range(20))}), folder / "1.parquet")
    refused(r"1\.parquet.*: y mixes strings and numbers, 'no' and 0", folder, temporary)


def test_categories_change_between_batches(temporary):
    def batches():
        for categories in (["u", "v"], ["v", "u"]):
            yield pd.DataFrame({"c": pd.Categorical(["u", "v"], categories), "y": [0, 1]})

    refused("batch 1.*column 'c' has other categories than before", batches(), temporary)


def test_no_rows(tmp_path, temporary):
    empty = pa.table(good()).slice(0, 0)
    (tmp_path / "rows.csv").write_text("a,y\n")
    refused("rows.csv has no rows", tmp_path / "rows.csv", temporary)
    refused("the iterator has no rows", iter([]), temporary)
    refused("the iterator has no rows", iter([empty]), temporary)
    (tmp_path / "rows.csv").write_text("")
    refused(
        "cannot read .*rows.csv: Empty CSV file", tmp_path / "rows.csv", temporary, error=OSError
    )


def test_csv_that_does_not_parse(tmp_path, temporary):
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n1,u\n2,v,w\n")
    refused("cannot read .*rows.csv.*Expected 2 columns, got 3", path, temporary, error=OSError)
    path.write_bytes("a,y\nÄ,u\nÖ,v\n".encode("latin-1"))
    refused("rows.csv is not UTF-8 text in column 'a'", path, temporary)


# Values


def test_gaps_among_the_classes_are_found_in_their_batch(temporary):
    batches = [pd.DataFrame({"a": [1, 2], "y": ["u", label]}) for label in ("v", None)]
    refused(
        "batch 1, from row 0 on: Input y contains NaN or None in 1 of 2 rows",
        iter(batches),
        temporary,
    )
    tables = (pa.Table.from_pandas(batch) for batch in batches)
    refused(
        "batch 1, from row 0 on: Input y contains NaN or None in 1 of 2 rows", tables, temporary
    )


def test_gaps_that_are_refused(temporary):
    batches = [pd.DataFrame({"a": [1, value], "y": ["u", "v"]}) for value in (2, None)]
    refused(
        r"batch 1.*X has missing values \(NaN\): columns with missing values: 'a' \(1\)",
        iter(batches),
        temporary,
        missing="error",
    )
    every = [pd.DataFrame({"a": [np.nan] * 2, "b": [1, 2], "y": ["u", "v"]})] * 3
    message = (
        r"every row has a missing value, so that none is left to learn from; columns with missing"
        r" values: 'a' \(6\)"
    )
    refused(message, iter(every), temporary, missing="drop")


def test_infinity(temporary):
    batches = [pd.DataFrame({"a": [1.0, value], "y": ["u", "v"]}) for value in (2.0, np.inf)]
    for options in ({}, {"discretizer": None}):
        refused("batch 1.*column 'a' contains infinity", iter(batches), temporary, **options)


def test_weights_that_are_refused(temporary):
    for weights, message in (
        ([1, -2], "is negative"),
        ([1, np.nan], "contains NaN"),
        ([0, 0], "every sample_weight is zero"),
    ):
        frame = pd.DataFrame({"a": [1, 2], "y": ["u", "v"], "w": weights})
        refused(message, iter([frame]), temporary, weight="w")
    frame["w"] = ["one", "two"]
    refused(
        "column 'w' holds String, but weights are numbers", iter([frame]), temporary, weight="w"
    )


def test_free_text_is_refused_as_in_memory(temporary):
    names = [f"name {at}" for at in range(200)]
    y = ["u", "v"] * 100
    with pytest.raises(ValueError) as known:
        FrameEncoder().fit_transform(pd.DataFrame({"id": names}), y)
    batches = (
        pd.DataFrame({"id": names[at : at + 30], "y": y[at : at + 30]}) for at in range(0, 200, 30)
    )
    assert refused("looks like free text", batches, temporary) == str(known.value)


def test_more_categories_than_are_kept(temporary):
    frame = pd.DataFrame(
        {"id": [str(at % 60) for at in range(600)], "n": np.arange(600) % 70, "y": [0, 1] * 300}
    )
    refused(
        "column 'id' has more than 50 distinct strings: drop it",
        iter([frame]),
        temporary,
        max_distinct=50,
    )
    options = {"discretizer": None, "max_distinct": 50}
    refused(
        "column 'n' has more than 50 distinct numbers",
        iter([frame.drop(columns="id")]),
        temporary,
        **options,
    )


def test_whole_numbers_that_would_be_rounded(temporary):
    batches = [
        pd.DataFrame({"a": [2**60, 2**60 + 1], "y": [0, 1]}),
        pd.DataFrame({"a": [0.5, 1.5], "y": [0, 1]}),
    ]
    refused(
        "column 'a' has missing values or fractions, and whole numbers above 2\\^53",
        iter(batches),
        temporary,
        discretizer=None,
    )


def test_a_declared_domain_that_lacks_a_value(temporary):
    batches = [pd.DataFrame({"a": ["u", value], "y": [0, 1]}) for value in ("v", "w")]
    refused(
        "batch 1.*column 'a' holds 'w', which is none",
        iter(batches),
        temporary,
        domains={"a": ["u", "v"]},
    )


def test_classes_of_another_length(temporary):
    frame = pd.DataFrame({"a": [1, 2, 3]})
    refused("y ends after 2 rows", iter([frame]), temporary, ["u", "v"])
    refused("X has 3 rows, y has 4", iter([frame]), temporary, ["u", "v", "u", "v"])
    refused(
        "X has 3 rows, sample_weight has 4", iter([frame]), temporary, [0, 1, 0], weight=[1.0] * 4
    )
    refused("Found inconsistent numbers", iter([(frame, [0, 1])]), temporary, None)


def test_columns_that_cannot_be_told_apart(temporary):
    frame = pd.DataFrame([[1, 2, 0], [3, 4, 1]], columns=["a", "a", "y"])
    refused("batch 0: X has several columns with the same name: 'a'", iter([frame]), temporary)
    refused(
        r"batch 0: arrays have no column 'x1' \(the target\)",
        iter([np.zeros((4, 2))]),
        temporary,
        "x1",
    )


def test_what_is_no_source(temporary):
    refused("dict cannot be read in batches", {"a": [1]}, temporary, error=TypeError)
    refused("batch 0 is a tuple of 4", iter([(1, 2, 3, 4)]), temporary, error=TypeError)
    refused("a batch is a frame or an array", iter([np.arange(3)]), temporary, error=TypeError)


def test_settings(tmp_path, temporary):
    frame = pd.DataFrame({"a": [1, 2], "y": [0, 1]})
    refused(
        "KBinsDiscretizer needs all values",
        iter([frame]),
        temporary,
        error=TypeError,
        discretizer=KBinsDiscretizer(),
    )
    refused(
        "there is no folder '.*gone'", iter([frame]), tmp_path / "gone", error=FileNotFoundError
    )
    for options, match in (
        ({"memory": 1000}, "memory is a number of bytes"),
        ({"max_distinct": 1}, "at least 2"),
    ):
        with pytest.raises(ValueError, match=match):
            encode_source(iter([frame]), FrameEncoder(), "y", **options)


# The disk


def no_room(*what):
    raise OSError(errno.ENOSPC, "No space left on device")


class FullFile(io.FileIO):
    """A file on a disk that is full."""

    def write(self, data):
        no_room()


@pytest.mark.parametrize("module", [spill_module, spool_module])
def test_a_full_disk(module, monkeypatch, temporary, tmp_path):
    frame = pd.DataFrame({"a": np.arange(1000) % 7, "y": np.arange(1000) % 2})
    what = "the codes"
    if module is spool_module:
        monkeypatch.setattr(module, "open", lambda path, mode: FullFile(path, mode), raising=False)
        what = "the rows of the iterator"
    else:
        monkeypatch.setattr(module.BlockWriter, "_put", no_room)
    message = refused(
        f"the disk is full: {what} need .* MB in {temporary}",
        iter([frame]),
        temporary,
        error=OSError,
    )
    assert "choose another folder" in message


def test_a_disk_without_room_is_refused_before_the_codes_are_written(monkeypatch, temporary):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(workspace_module.shutil, "disk_usage", lambda path: usage(10, 9, 1))
    frame = pd.DataFrame({"a": np.arange(1000) % 7, "y": np.arange(1000) % 2})
    refused(
        "the codes need 0.0 MB .* which has 0.0 MB left", iter([frame]), temporary, error=OSError
    )


def test_an_interrupt_leaves_nothing(temporary):
    def batches():
        yield pd.DataFrame({"a": [1, 2], "y": [0, 1]})
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode_source(batches(), FrameEncoder(), "y", folder=temporary)


def test_a_source_that_changes_between_the_passes(tmp_path, temporary, monkeypatch):
    folder = shards(tmp_path, good(), good())
    for change in (
        lambda: pq.write_table(pa.table(good(30)), folder / "1.parquet"),
        lambda: (folder / "1.parquet").unlink(),
    ):
        told = Progress()
        monkeypatch.setattr(
            told, "stage", lambda text, change=change: change() if "first" in text else None
        )
        with pytest.raises(
            (RuntimeError, OSError), match=r"has changed between the passes|1\.parquet"
        ):
            encode_source(folder, FrameEncoder(), "y", folder=temporary, progress=told)


def test_the_passes_are_announced(capsys, temporary):
    frame = pd.DataFrame({"a": [1, 2], "y": [0, 1]})
    encode_source(iter([frame]), FrameEncoder(), "y", folder=temporary, progress=Progress(1))[
        1
    ].close()
    said = capsys.readouterr().err
    assert "first pass (values): 2 rows, " in said
    assert "second pass (codes): 2 rows, " in said
    encode_source(iter([frame]), FrameEncoder(), "y", folder=temporary)[1].close()
    assert capsys.readouterr().err == ""


# Packages that are not installed

WITHOUT = """
import json, sys
sys.modules["pyarrow"] = sys.modules["dask"] = None
import numpy as np
from discbayes.data import FrameEncoder
from discbayes.streams import is_source
from encoding import encode_source

class Collection:
    npartitions = 1

Collection.__module__ = "dask.dataframe"
said = []
for source in ("a.parquet", Collection()):
    assert is_source(source)
    try:
        encode_source(source, FrameEncoder(), "y")
    except ModuleNotFoundError as error:
        said.append(str(error))
X, y = np.arange(6.0).reshape(3, 2), ["u", "v", "u"]
assert not is_source(X)
with encode_source(iter([(X, y)]), FrameEncoder())[1] as spilled:
    assert spilled.n_rows == 3
print(json.dumps(said))
"""


def test_a_missing_package_is_named_with_what_to_install_and_arrays_need_none(tmp_path):
    pq.write_table(pa.table(good()), tmp_path / "a.parquet")
    place = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "support")}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, cwd=tmp_path, env=place
    )
    assert done.returncode == 0, done.stderr
    for package, said in zip(("pyarrow", "dask"), json.loads(done.stdout), strict=True):
        assert f"this needs {package}, which is not installed: pip install 'discbayes[" in said
