"""The cache of compiled kernels may be read-only, missing, broken or shared: the results are the
same.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import discbayes
from discbayes.kernels import _cache

TINY = """
from discbayes.kernels._compile import kernel

@kernel
def twice(x):
    return x + x
"""
USE = """
import numpy as np
from discbayes.network import Layout, Structure
print(Layout(Structure.naive(2), np.array([2, 3]), 1).row_totals(np.arange(5.0)).tolist())
"""
FIT = """
from discbayes import BayesNetClassifier, load_dataset
wine = load_dataset("wine")
print(BayesNetClassifier("tan", "map").fit(wine.X, wine.y).predict_proba(wine.X).sum())
"""
MISSES = """
import gc
from numba.core.dispatcher import Dispatcher
dispatchers = [one for one in gc.get_objects() if isinstance(one, Dispatcher)]
known = [one for one in dispatchers if "discbayes" in one.py_func.__module__]
print(sum(sum(one.stats.cache_misses.values()) for one in known))
"""


def started(code, **environment):
    """A process that runs some code with other settings of the environment; None takes one away."""
    settings = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment}
    kept = {name: value for name, value in settings.items() if value is not None}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code], env=kept, cwd=os.sep, **pipes
    )


def said(process):
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "")
    return out.splitlines()


# No folder for the cache


def test_the_library_works_where_no_cache_can_be_written(tmp_path, times):
    package = tmp_path / "discbayes"
    shutil.copytree(
        Path(discbayes.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    # as little of one as where writing is forbidden
    (package / "kernels" / "__pycache__").write_text("no folder")
    nowhere = os.path.join(os.devnull, "none")
    places = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "NUMBA_CACHE_DIR"), nowhere)
    told = f"import discbayes\nprint(discbayes.__file__)\n{USE}" + (FIT if times > 1 else "")
    lines = said(started(told, PYTHONPATH=str(tmp_path), **places))
    assert lines[:2] == [str(package / "__init__.py"), "[1.0, 1.0, 9.0, 9.0, 9.0]"]
    if times > 1:
        assert float(lines[2]) == pytest.approx(178)


def test_processes_that_compile_at_once(tmp_path, times):
    if times == 1:
        pytest.skip("compiles for half a minute: make faults")
    processes = [started(FIT, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(3)]
    answers = [said(process) for process in processes]
    assert answers[0] == answers[1] == answers[2]
    assert said(started(FIT + MISSES, NUMBA_CACHE_DIR=str(tmp_path))) == [*answers[0], "0"]


# Files that are broken


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """Import a module with one kernel, as a new process would, whose compiled code is kept beside
    it.
    """
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    source = tmp_path / "tiny.py"
    source.write_text(TINY)

    def again():
        spec = importlib.util.spec_from_file_location("tiny", source)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.twice

    return again


def files(tmp_path, ending):
    return sorted((tmp_path / "__pycache__").glob(f"*.{ending}"))


def hits(kernel):
    return sum(kernel.stats.cache_hits.values())


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGES = {
    "index cut short": ("nbi", lambda path: path.write_bytes(path.read_bytes()[:-90])),
    "index of nothing": ("nbi", lambda path: path.write_bytes(b"")),
    "index of something else": ("nbi", lambda path: path.write_bytes(b"[1, 2, 3]" * 9)),
    "code cut short": ("nbc", lambda path: path.write_bytes(path.read_bytes()[:1000])),
    "no code": ("nbc", lambda path: path.write_bytes(b"")),
    "code with another bit": ("nbc", flip),
    "code that is gone": ("nbc", lambda path: path.unlink()),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_broken_files_are_compiled_again(damage, tiny, tmp_path):
    assert tiny()(2) == 4
    assert (tiny()(3), hits(kernel := tiny())) == (6, 0)
    assert (kernel(3), hits(kernel)) == (6, 1)
    ending, change = DAMAGES[damage]
    for path in files(tmp_path, ending):
        change(path)
    assert ((kernel := tiny())(4), hits(kernel)) == (8, 0)
    assert ((kernel := tiny())(5), hits(kernel)) == (10, 1)  # and is sound again


def test_code_for_other_types_is_not_run(tiny, tmp_path):
    kernel = tiny()
    assert (kernel(2), kernel(2.5)) == (4, 5.0)
    one, two = files(tmp_path, "nbc")
    content = one.read_bytes()
    one.write_bytes(two.read_bytes())  # as when two processes give their files the same number
    two.write_bytes(content)
    kernel = tiny()
    assert (kernel(3), kernel(3.5), hits(kernel)) == (6, 7.0, 0)


def test_another_version_of_the_library_compiles_again(tiny, monkeypatch):
    assert tiny()(2) == 4
    monkeypatch.setattr(_cache, "__version__", "9.9")
    assert ((kernel := tiny())(2), hits(kernel)) == (4, 0)


def test_a_full_disk_keeps_nothing_and_fails_nowhere(tiny, tmp_path):
    resource = pytest.importorskip("resource")
    kernel = tiny()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with contextlib.ExitStack() as limited:
        limited.callback(resource.setrlimit, resource.RLIMIT_FSIZE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
        assert kernel(2) == 4
    assert files(tmp_path, "nbc") == []
    assert [path.name for path in (tmp_path / "__pycache__").iterdir() if ".tmp" in path.name] == []
