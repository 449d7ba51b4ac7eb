"""The kept files of the fuzzer, read by its harnesses: on every platform, and without the fuzzer."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[2] / "fuzz"
HARNESSES = ("model_file", "bif", "frame")
KEPT = [(name, path) for name in HARNESSES for path in sorted((FUZZ / "corpus" / name).iterdir())]


@pytest.fixture(scope="module")
def checks():
    """The function of each harness that reads a file."""
    real, found = os.fsync, {}
    for name in HARNESSES:
        spec = importlib.util.spec_from_file_location(f"fuzz_{name}", FUZZ / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found[name] = module.check
    yield found
    os.fsync = real


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name, path", KEPT, ids=lambda value: value.name if isinstance(value, Path) else value)
def test_kept_files_keep_the_promises(name, path, checks):
    checks[name](path.read_bytes())


def test_the_corpus_is_small():
    assert all(5 <= sum(name == harness for name, _ in KEPT) <= 40 for harness in HARNESSES)
    assert sum(path.stat().st_size for _, path in KEPT) < 200_000
