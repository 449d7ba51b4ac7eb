"""The types that kernels are compiled ahead for are those that they are called with."""

from __future__ import annotations

import re

import pytest

import kernel_calls
import kernel_uses
from discbayes.kernels._signatures import (
    FILE,
    FILE_OF_DEFAULT,
    as_text,
    load_kernel,
    parse,
    read,
)
from discbayes.kernels._warmup import numba_type

LINES = FILE.read_text(encoding="utf-8").splitlines()


def test_every_line_is_a_kernel_with_types_that_numba_knows():
    assert sorted(set(LINES)) == LINES
    for name in read():
        assert callable(load_kernel(name))
    for line in LINES:
        assert kernel_uses.fits(line)
        for text in line.split(" ")[1:]:
            assert as_text(parse(text)) == text
            numba_type(parse(text))


def test_lines_that_no_longer_fit_their_kernel_are_found():
    named = re.compile(r"\b[A-Z]\w*\(")
    line = next(line for line in LINES if named.search(line))
    name, *kinds = line.split(" ")
    for changed in (
        " ".join([name, *kinds, "i8"]),
        " ".join([name + "_before", *kinds]),
        " ".join(["before." + name, *kinds]),
        named.sub(lambda found: f"{found[0]}i8,", line),
    ):
        assert not kernel_uses.fits(changed)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_default_calls_no_kernel_with_other_types():
    with kernel_calls.recorded() as found:
        kernel_uses.default()
    assert len(found) > 30
    of_default = set(FILE_OF_DEFAULT.read_text(encoding="utf-8").splitlines())
    assert sorted(found - set(LINES)) == [], 'run make signatures USES="default"'
    assert sorted(found ^ of_default) == [], 'run make signatures USES="default"'
