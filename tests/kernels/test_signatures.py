"""The types that kernels are compiled ahead for are those that they are called with."""

from __future__ import annotations

import re

import numba
import numpy as np
import pytest

import kernel_calls
import kernel_uses
from discbayes.kernels._signatures import (
    FILE,
    FILE_OF_DEFAULT,
    ArrayType,
    RecordType,
    as_text,
    load_kernel,
    parse,
    read,
)
from discbayes.kernels._warmup import numba_type, record_class

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


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_types_are_those_that_numba_finds_in_calls():
    """Or ``discbayes warmup`` would compile what no call uses."""
    kinds = [parse(text) for line in LINES for text in line.split(" ")[1:]]
    for kind in dict.fromkeys(kinds):
        assert numba_type(kind) == numba.typeof(sample(kind)), as_text(kind)


def sample(kind):
    """A value of a type."""
    if isinstance(kind, ArrayType):
        size = 2 if kind.order == "A" else 1
        array = np.zeros((3,) * kind.ndim + (size,), kind.dtype)[..., 0]
        array = np.asarray(array, order={"C": "C", "F": "F"}.get(kind.order))
        array.flags.writeable = not kind.read_only
        return array
    if isinstance(kind, RecordType):
        items = tuple(map(sample, kind.items))
        return record_class(kind.name)(*items) if kind.name else items
    return None if kind == "none" else np.zeros(1, kind)[0]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_default_calls_no_kernel_with_other_types():
    with kernel_calls.recorded() as found:
        kernel_uses.default()
    assert len(found) > 30
    of_default = set(FILE_OF_DEFAULT.read_text(encoding="utf-8").splitlines())
    assert sorted(found - set(LINES)) == [], 'run make signatures USES="default"'
    assert sorted(found ^ of_default) == [], 'run make signatures USES="default"'
