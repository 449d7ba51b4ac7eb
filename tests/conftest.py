"""Shared by all tests: the oracle module on the path, and a place without data, cache and network."""

from __future__ import annotations

import os
import sys
import urllib.error
from pathlib import Path

import numba
import pytest

from discbayes.datasets import openml

sys.path.insert(0, str(Path(__file__).parent))
from browser import browser, open_page  # noqa: F401

# The run without the compiler is there for the kernels; what stands far from them is tested with it alone.
if numba.config.DISABLE_JIT:
    collect_ignore_glob = [
        "test_papers_*.py", "test_experiments*.py", "test_*compare.py", "test_*recipes.py", "test_baselines.py",
        "test_statistics.py", "test_plot_*.py", "test_streams*.py", "test_page*.py", "test_cli_explain.py",
        "test_blocks.py", "test_dask.py", "test_explanations.py", "test_relevance.py", "test_counterfactuals.py",
        "test_incremental.py", "test_passes.py",
    ]  # fmt: skip


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
