"""``discbayes warmup`` compiles what is listed, and says what it does."""

from __future__ import annotations

from pathlib import Path

import numba
import pytest

from discbayes.cli import warmup
from discbayes.kernels import _signatures
from discbayes.kernels._cache import is_kept
from discbayes.kernels.quasi_newton import dot

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


def test_each_module_is_reported_and_compiled(run, monkeypatch, tmp_path):
    few = [line for line in read_lines() if line.startswith(("quasi_newton.", "joint.sum_rows"))]
    (tmp_path / "few.txt").write_text("\n".join(few) + "\n")
    monkeypatch.setattr(warmup, "FILE_OF_DEFAULT", tmp_path / "few.txt")
    code, out, err = run("warmup", "--n-jobs", "1", "--default")
    assert (code, out) == (0, "")
    assert "compiled quasi_newton, 1 of 2 modules" in err
    assert "compiled joint, 2 of 2 modules" in err
    assert is_kept(dot)


def read_lines() -> list[str]:
    return Path(_signatures.FILE).read_text(encoding="utf-8").splitlines()


def test_nothing_to_do_where_code_is_shipped(run, monkeypatch):
    monkeypatch.setattr(warmup, "SHIPPED", object())
    code, _, err = run("warmup")
    assert code == 0
    assert "nothing to do" in err


def test_nothing_is_compiled_without_the_compiler(run, monkeypatch):
    monkeypatch.setattr(warmup, "UNCOMPILED", True)
    code, _, err = run("warmup")
    assert code == 1
    assert "NUMBA_DISABLE_JIT" in err
