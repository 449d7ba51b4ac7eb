"""Every open, read, write, force, rename and close fails once, and every check of sizes: the old
file or the new one stays, nothing else is left, and errors are those of the contract and name the
file."""

from __future__ import annotations

import errno
import gc
import io
import os
import tempfile
from collections import Counter
from functools import cache

import numpy as np
import pandas as pd
import pytest

from discbayes import BayesNetClassifier, _memory, load, read_bif
from discbayes.io import ModelFileError
from faulty import each_fault

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/fd"), reason="open files have their names in /proc"
)
WRITERS = {
    "model.json": lambda model, path: model.save(path),
    "network.bif": lambda model, path: model.network_.to_bif(path),
    "page.html": lambda model, path: pages(model).save(path),
}
pages = cache(lambda model: model.report())  # each page has identifiers of its own
READERS = {"model.json": load, "network.bif": read_bif}


def codes(times):
    """The errors that are tried: one of them in all tests, all of them in ``make faults``."""
    return [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EDQUOT][: 1 if times == 1 else None]


@pytest.mark.parametrize("there", [False, True], ids=["new", "old"])
@pytest.mark.parametrize("name", WRITERS)
def test_writing(name, there, model, times, tmp_path):
    path = tmp_path / name
    WRITERS[name](model, path)
    whole = path.read_bytes()
    failed = Counter()
    for code in codes(times):
        path.unlink(missing_ok=True)
        if there:
            path.write_bytes(b"old")
        for what, error in each_fault(tmp_path, code, lambda: WRITERS[name](model, path)):
            failed[what] += 1
            found = path.read_bytes() if path.exists() else None
            if error is None:
                assert found == whole, what
            else:
                assert found in (whole, b"old" if there else None), what
                # only what comes after the rename can leave the new file
                assert found != whole or what == "close"
                assert os.fspath(error.filename) == str(path), what
                assert "\n" not in str(error)
            assert [entry.name for entry in tmp_path.iterdir()] == [name] * path.exists(), what
            path.unlink(missing_ok=True)
            if there:
                path.write_bytes(b"old")
        assert path.read_bytes() in (whole, b"old")
    assert {"open", "write", "force", "rename", "close"} <= failed.keys()


@pytest.mark.parametrize("name", READERS)
def test_reading(name, model, times, tmp_path):
    path = tmp_path / name
    WRITERS[name](model, path)
    before = path.read_bytes()
    for code in codes(times):
        failed = Counter()
        for what, error in each_fault(tmp_path, code, lambda: READERS[name](path)):
            failed[what] += 1
            assert error is not None, what
            assert os.fspath(error.filename) == str(path), what
        assert failed.keys() == {"open", "read", "close"}
    assert path.read_bytes() == before


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The temporary folder of the system, which is empty in the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    gc.freeze()  # what was there before needs no look at each collection
    yield folder
    gc.unfreeze()


@pytest.mark.parametrize("calibrate", [None, "temperature"])
def test_codes_on_disk(calibrate, times, temporary):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.integers(0, 4, 90), "b": rng.normal(size=90), "y": rng.integers(0, 2, 90)}
    )
    expected = BayesNetClassifier("nb", "map", calibrate=calibrate).fit(
        frame[["a", "b"]], frame["y"]
    )

    def fit():
        parts = iter([frame[:40], frame[40:]])
        return BayesNetClassifier("nb", "map", calibrate=calibrate).fit(parts, "y")

    for code in codes(times):
        failed = Counter()
        for what, error in each_fault(temporary, code, fit):
            failed[what] += 1
            if error is not None:
                assert str(temporary) in str(error), (what, error)
            gc.collect()
            assert list(temporary.iterdir()) == [], what
        assert {"mkdir", "open", "write", "close"} <= failed.keys()
    log_theta = expected.network_.parameters.log_theta
    np.testing.assert_array_equal(fit().network_.parameters.log_theta, log_theta)


# Memory


def each_check(monkeypatch, operation):
    """Run an operation again and again, with a MemoryError at its first check of sizes, its second,
    and so on.
    """
    at = calls = 0
    limit = _memory.memory_limit

    def asked():
        nonlocal calls
        calls += 1
        if calls == at:
            raise MemoryError
        return limit()

    monkeypatch.setattr(_memory, "_SMALL", -1)
    monkeypatch.setattr(_memory, "memory_limit", asked)
    while calls >= at:
        at, calls = at + 1, 0
        try:
            operation()
            error = None
        except (MemoryError, ModelFileError, OSError) as caught:
            error = caught
        if calls >= at:
            yield error
    assert error is None


def test_memory_that_is_short_while_a_model_is_saved(model, monkeypatch, tmp_path):
    path = tmp_path / "model.json"
    path.write_bytes(b"old")
    n_checks = 0
    for error in each_check(monkeypatch, lambda: model.save(path)):
        n_checks += 1
        assert isinstance(error, MemoryError)
        assert path.read_bytes() == b"old"
        assert [entry.name for entry in tmp_path.iterdir()] == ["model.json"]
    assert n_checks > 0


def test_memory_that_is_short_while_a_model_is_loaded(model, monkeypatch, tmp_path):
    path = tmp_path / "model.json"
    model.save(path)
    errors = list(each_check(monkeypatch, lambda: load(path)))
    assert errors
    for error in errors:
        assert isinstance(error, ModelFileError)
        assert str(error) == f"{path} cannot be loaded: there is not enough memory to read it"


def test_memory_that_is_short_while_a_page_is_written(model, monkeypatch, tmp_path):
    path = tmp_path / "page.html"
    path.write_bytes(b"old")
    for error in each_check(monkeypatch, lambda: model.report(path)):
        assert isinstance(error, MemoryError)
        assert path.read_bytes() == b"old"
        assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]


def test_memory_that_is_short_while_rows_are_read_in_passes(monkeypatch, temporary):
    frame = pd.DataFrame({"a": np.arange(60) % 4, "y": np.arange(60) % 2})
    n_checks = 0
    for error in each_check(
        monkeypatch, lambda: BayesNetClassifier("nb", "map").fit(iter([frame]), "y")
    ):
        n_checks += 1
        assert isinstance(error, MemoryError)
        gc.collect()
        assert list(temporary.iterdir()) == []
    assert n_checks > 0


def test_the_disk_of_these_tests_fails_where_it_is_told_to(tmp_path):
    found = []

    def write():
        with io.open(tmp_path / "x", "wb") as file:  # noqa: UP020 - as pathlib does
            file.write(b"x")
            file.flush()
            os.fsync(file.fileno())
        os.replace(tmp_path / "x", tmp_path / "y")

    for what, error in each_fault(tmp_path, errno.EIO, write):
        assert error.errno == errno.EIO
        found.append(what)
    assert found == ["open", "write", "force", "close", "rename"]
