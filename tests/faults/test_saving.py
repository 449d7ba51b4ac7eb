"""Files are whole, the old one or the new one: after kills, on full disks, and where writing is not
permitted.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from discbayes import _files, load, read_bif
from discbayes._files import replace_file
from discbayes.cli.outputs import write_batches, write_table

resource = pytest.importorskip("resource", reason="kills and limits as POSIX has them")
KILLING = Path(__file__).parents[1] / "support" / "killing.py"


def names_in(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_a_process_that_is_killed_leaves_the_old_file_or_the_new_one(times):
    command = [sys.executable, str(KILLING), "all", str(5 * times), str(times)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120 * times, check=True)
    found = json.loads(done.stdout)
    for counts in found["kills"].values():
        assert counts["broken"] == 0
        assert counts.get("whole 0", 0) + counts.get("whole 1", 0) == 5 * times
        assert counts["most drafts"] <= 1  # they do not pile up
        assert counts["drafts in the end"] == 0
    left = sum(counts["kills that left a draft"] for counts in found["kills"].values())
    assert left > 0, "no kill has met a file that was being written"
    for counts in found["at once"].values():
        assert counts.get("broken", 0) == counts["failed"] == counts["drafts in the end"] == 0
        assert counts.get("whole 0", 0) + counts.get("whole 1", 0) > 0
    print({kind: dict(counts) for kind, counts in found["kills"].items()})


def test_whoever_loads_a_file_that_others_save_has_one_of_their_models(times):
    """Four processes save one file, and some of them are killed: all reads are sound."""
    n_reads = 100 * times
    command = [sys.executable, str(KILLING), "reads", str(n_reads), str(times)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120 * times, check=True)
    found = json.loads(done.stdout)
    assert found["reads"] == n_reads
    assert found["readers that failed"] == found["broken"] == found["drafts in the end"] == 0
    assert found["kills"] > 0
    print(found)


# Drafts


def leave_draft(folder, age=0.0):
    draft = folder / ".model.json.0123abcd.draft"
    draft.write_bytes(b"half")
    os.utime(draft, (time.time() - age,) * 2)
    return draft


def test_the_next_save_removes_what_a_killed_one_has_left(model, tmp_path):
    leave_draft(tmp_path)
    (tmp_path / ".other.json.0123abcd.draft").write_bytes(b"of another file")
    model.save(tmp_path / "model.json")
    assert names_in(tmp_path) == [".other.json.0123abcd.draft", "model.json"]


def test_a_draft_that_is_being_written_is_left_alone(model, tmp_path):
    path = tmp_path / "model.json"

    def write(file):
        file.write(b"late")
        model.save(path)  # as another process might
        assert len(names_in(tmp_path)) == 2

    replace_file(path, write)
    assert path.read_bytes() == b"late"
    assert names_in(tmp_path) == ["model.json"]


@pytest.mark.parametrize("age, stays", [(60.0, True), (7200.0, False)])
def test_where_files_cannot_be_locked_old_drafts_are_removed(
    age, stays, model, tmp_path, monkeypatch
):
    monkeypatch.setattr(_files, "fcntl", None)
    draft = leave_draft(tmp_path, age)
    model.save(tmp_path / "model.json")
    assert draft.exists() == stays
    assert load(tmp_path / "model.json").classes_.tolist() == model.classes_.tolist()


def test_both_the_file_and_its_folder_are_forced_to_the_disk(model, tmp_path, monkeypatch):
    forced, fsync = [], os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda number: forced.append(os.fstat(number).st_mode) or fsync(number)
    )
    model.save(tmp_path / "model.json")
    assert [stat.S_ISREG(forced[0]), stat.S_ISDIR(forced[1])] == [True, True]


# Links, devices, permissions


def test_a_link_to_nothing_gets_its_file(model, tmp_path):
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "real.json")
    model.save(link)
    assert link.is_symlink()
    assert load(tmp_path / "real.json").n_features_in_ == 4


def test_what_is_no_file_is_written_to_and_stays(model, tmp_path):
    before = os.stat(os.devnull)
    model.save(os.devnull)
    after = os.stat(os.devnull)
    assert (before.st_mode, before.st_ino, before.st_rdev) == (
        after.st_mode,
        after.st_ino,
        after.st_rdev,
    )
    assert not stat.S_ISREG(after.st_mode)


def test_the_mode_of_an_old_file_is_kept_and_that_of_a_new_one_is_usual(model, tmp_path):
    path = tmp_path / "model.json"
    model.save(path)
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    path.chmod(0o600)
    model.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_others_may_not_read_is_not_theirs_to_read_while_it_is_written(tmp_path):
    path = tmp_path / "model.json"
    path.write_text("old", encoding="ascii")
    path.chmod(0o600)
    modes = []
    replace_file(path, lambda file: modes.append(stat.S_IMODE(os.fstat(file.fileno()).st_mode)))
    assert modes == [0o600]


def test_a_file_that_is_read_only_is_not_replaced(model, tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    path.write_text("old")
    access = os.access  # the superuser may write anything, so that modes say nothing
    monkeypatch.setattr(os, "access", lambda at, mode: mode != os.W_OK and access(at, mode))
    with pytest.raises(
        PermissionError, match="the file is read-only: choose another name, or permit writing"
    ) as caught:
        model.save(path)
    assert caught.value.filename == str(path)
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["model.json"]


def test_a_page_says_why_it_cannot_be_written(model, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder") as caught:
        model.report(tmp_path / "none" / "page.html")
    assert caught.value.filename == str(tmp_path / "none" / "page.html")


# Full disks


@contextlib.contextmanager
def no_file_above(n_bytes):
    """As if the disk had so much room: a write beyond it is an error."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


LONG = pa.table({"p": [k / 7 for k in range(10_000)], "q": [str(k) for k in range(10_000)]})
WRITING = {
    "model.json": lambda model, path: model.save(path),
    "network.bif": lambda model, path: model.network_.to_bif(path),
    "page.html": lambda model, path: model.report(path),
    "rows.csv": lambda model, path: write_table(LONG, str(path)),
    "rows.csv.gz": lambda model, path: write_table(LONG, str(path)),
    "rows.parquet": lambda model, path: write_table(LONG, str(path)),
    "batches.csv": lambda model, path: write_batches(iter([LONG, LONG]), str(path), []),
    "batches.csv.gz": lambda model, path: write_batches(iter([LONG, LONG]), str(path), []),
    "batches.parquet": lambda model, path: write_batches(iter([LONG, LONG]), str(path), []),
}


@pytest.mark.parametrize("name", WRITING)
def test_a_full_disk_leaves_the_old_file_and_nothing_else(name, model, tmp_path):
    path = tmp_path / name
    path.write_bytes(b"old")
    model.report()  # what is read at first use is read now
    with no_file_above(1000), pytest.raises(OSError, match="the disk is full") as caught:
        WRITING[name](model, path)
    assert caught.value.errno == errno.EFBIG
    assert caught.value.filename == str(path)
    assert "Free some space, or choose another folder" in str(caught.value)
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == [name]
    WRITING[name](model, path)
    assert path.stat().st_size > 1000


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_device_without_room(model):
    with pytest.raises(OSError, match="there is no space left") as caught:
        model.save("/dev/full")
    assert caught.value.errno == errno.ENOSPC


def test_the_command_line_says_so_in_one_line(model, run, tmp_path):
    path = tmp_path / "iris.json"
    with no_file_above(1000):
        code, out, err = run(
            "fit", "iris", "--structure", "tan", "--parameters", "map", "-o", path, "--quiet"
        )
    assert (code, out) == (1, "")
    assert err.startswith(f"discbayes: error: {path}: cannot be written, since the disk is full")
    assert len(err.splitlines()) == 1
    assert names_in(tmp_path) == []


def test_what_was_written_can_be_read(model, tmp_path):
    model.network_.to_bif(tmp_path / "network.bif")
    assert read_bif(tmp_path / "network.bif").structure == model.structure_
