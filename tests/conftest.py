"""Shared by all tests: a place without data, cache and network, small blocks, a cluster, a browser.

Tests are in folders by the package of the library that they are about; what several of them need is
in ``support/``.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
import urllib.error
from pathlib import Path

import numba
import pytest

import workers
from browser import axe, browser, open_page  # noqa: F401
from discbayes.cli import main
from discbayes.data import row_blocks, targets
from discbayes.datasets import openml
from discbayes.streams import batches as limits

# The run without the compiler is there for the kernels: indices are checked in it, as compiled code
# does not do. What stands far from them is tested with the compiler alone.
NEAR_KERNELS = {
    "bayesnet",
    "counts",
    "data",
    "engine",
    "inference",
    "network",
    "objectives",
    "optim",
    "parameters",
    "scores",
    "search",
    "support",
}
# as a module with examples, of which there can be one of each name
collect_ignore_glob = ["*/conftest.py"]
if numba.config.DISABLE_JIT:
    collect_ignore = [
        package.name
        for package in Path(__file__).parent.iterdir()
        if package.name not in NEAR_KERNELS
    ]


@pytest.fixture(autouse=True)
def _no_warning_before():
    """What is said once in a process is said once in each test."""
    targets._warned.clear()


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets; tests that ask for it are skipped where there is none."""
    folder = os.environ.get("DISCBAYES_DATA")
    if not folder or not (Path(folder) / "MANIFEST.json").exists():
        pytest.skip("DISCBAYES_DATA does not point to the data sets")
    return Path(folder)


def no_network(address: str) -> bytes:
    """An opener that reaches nothing."""
    raise urllib.error.URLError(f"a test asked for {address}")


@pytest.fixture
def isolated(monkeypatch, tmp_path):
    """No test that uses this sees the user's data or cache, or the network."""
    monkeypatch.delenv("DISCBAYES_DATA", raising=False)
    monkeypatch.setenv("DISCBAYES_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(openml, "open_url", no_network)


@pytest.fixture
def run(capsys, monkeypatch):
    """Run the command line, with lines typed in: the exit code, stdout and stderr."""

    def call(*arguments, typed=""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def small_blocks(request, monkeypatch):
    """Blocks of so few rows that small tables have several: 512, or as many as the tests of a file
    say.
    """
    n_rows = getattr(request.module, "BLOCK_ROWS", 512)
    monkeypatch.setattr(row_blocks, "ROWS_OF_BLOCK", n_rows)
    monkeypatch.setattr(limits, "MAX_ROWS", n_rows)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder for temporary files, which must be empty in the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture(scope="session")
def client():
    """A client of a real cluster of two processes, which is started when the first test asks for
    it.
    """
    with workers.two_workers() as client:
        yield client
