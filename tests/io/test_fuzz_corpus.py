"""The kept files of the fuzzer, read by its harnesses: on every platform, and without the
fuzzer.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
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
@pytest.mark.parametrize(
    "name, path", KEPT, ids=lambda value: value.name if isinstance(value, Path) else value
)
def test_kept_files_keep_the_promises(name, path, checks):
    checks[name](path.read_bytes())


def test_files_that_are_changed_and_sealed_again_keep_the_promises():
    """The first files of a seed, in a process of their own, where limits of memory hold: ``make
    fuzz`` has 20,000.
    """
    command = [sys.executable, str(FUZZ / "sealed.py"), "--files", "200", "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    answered, refused = (
        int(re.search(rf"'{word}': (\d+)", done.stdout)[1]) for word in ("answered", "refused")
    )
    assert answered + refused == 200
    assert min(answered, refused) > 20


def test_the_corpus_is_small():
    assert all(5 <= sum(name == harness for name, _ in KEPT) <= 40 for harness in HARNESSES)
    assert sum(path.stat().st_size for _, path in KEPT) < 200_000
