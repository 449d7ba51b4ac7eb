"""Shared by all tests: where the real data sets are, and the oracle module on the path."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets; tests that ask for it are skipped where there is none."""
    folder = os.environ.get("DISCBAYES_DATA")
    if not folder or not (Path(folder) / "MANIFEST.json").exists():
        pytest.skip("DISCBAYES_DATA does not point to the data sets")
    return Path(folder)
