"""The types that kernels are compiled ahead for are those that they are called with."""

from __future__ import annotations

import pytest

import kernel_calls
import kernel_uses
from discbayes.kernels._signatures import FILE, as_text, load_kernel, parse, read
from discbayes.kernels._warmup import numba_type

LINES = FILE.read_text(encoding="utf-8").splitlines()


def test_every_line_is_a_kernel_with_types_that_numba_knows():
    assert sorted(set(LINES)) == LINES
    for name in read():
        assert callable(load_kernel(name))
    for line in LINES:
        for text in line.split(" ")[1:]:
            assert as_text(parse(text)) == text
            numba_type(parse(text))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_default_calls_no_kernel_with_other_types():
    with kernel_calls.recorded() as found:
        kernel_uses.default()
    assert len(found) > 30
    assert sorted(found - set(LINES)) == [], "run make signatures"
