"""Calls go to shipped code where there is some for their types, and to nothing else otherwise."""

from __future__ import annotations

import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from discbayes.kernels import _shipped
from discbayes.kernels._shipped import Instruction, Kernel, entry_name, shipped_type
from discbayes.kernels._signatures import parse, type_of
from discbayes.kernels._vectors import load as load_at_once
from discbayes.kernels.quasi_newton import dot

NAME = "test_shipped.total"
LISTED = "u1[2C]r (f8[1C],i4) f8 b1 none"
CODES, NUMBERS = np.ones((2, 3), np.uint8), np.ones(4)


def total(codes, record, factor, is_used, nothing):
    return codes.sum() + record[0].sum() * record[1] * factor


@pytest.fixture
def kernel(monkeypatch):
    """A kernel with shipped code for one list of types."""
    kinds = tuple(map(parse, LISTED.split(" ")))
    entry = entry_name(NAME, tuple(map(shipped_type, kinds)))
    monkeypatch.setattr(_shipped, "SHIPPED", SimpleNamespace(**{entry: lambda *values: "shipped"}))
    monkeypatch.setattr(_shipped, "_table", lambda: {NAME: [kinds]})
    monkeypatch.setattr(_shipped, "HAS_NUMBA", False)
    monkeypatch.setattr(_shipped, "_warned", False)
    return Kernel(total, {})


def read_only(array):
    view = array.view()
    view.flags.writeable = False
    return view


@pytest.mark.parametrize(
    "arguments",
    [
        (CODES, (NUMBERS, 2), 1.0, True, None),
        (read_only(CODES), (read_only(NUMBERS), np.int64(2)), np.float64(1), np.True_, None),
        (CODES, (NUMBERS, np.uint8(2)), 1.0, False, None),
        (np.zeros((0, 3), np.uint8), (NUMBERS, 2), 1.0, True, None),
        (pickle.loads(pickle.dumps(CODES)), (NUMBERS, 2), 1.0, True, None),
    ],
)
def test_types_that_are_listed(kernel, arguments):
    assert kernel(*arguments) == "shipped"


@pytest.mark.parametrize(
    "arguments",
    [
        (CODES.astype(np.uint16), (NUMBERS, 2), 1.0, True, None),
        (CODES[0], (NUMBERS, 2), 1.0, True, None),
        (CODES[:, ::2], (NUMBERS, 2), 1.0, True, None),
        (np.asfortranarray(CODES), (NUMBERS, 2), 1.0, True, None),
        (CODES, (NUMBERS.astype(">f8"), 2), 1.0, True, None),
        (CODES, (np.zeros(33, np.uint8)[1:].view(float), 2), 1.0, True, None),  # not aligned
        (CODES, (NUMBERS, np.uint64(2)), 1.0, True, None),
        (CODES, (NUMBERS, 2.0), 1.0, True, None),
        (CODES, (NUMBERS, 2, 3), 1.0, True, None),
        (CODES, (NUMBERS, 2), 1, True, None),
        (CODES, (NUMBERS, 2), 1.0, 1, None),
        (CODES, (NUMBERS, 2), 1.0, True, 0),
    ],
)
def test_types_that_are_not_listed(kernel, arguments):
    with pytest.warns(UserWarning, match=r"no compiled code is shipped .* 'discbayes\[jit\]'"):
        assert kernel(*arguments) == total(*arguments)


def test_what_would_take_long_is_an_error(kernel):
    large = np.ones((2, _shipped.MAX_PLAIN_CELLS), np.uint16)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'discbayes\[jit\]'"):
        kernel(large, (NUMBERS, 2), 1.0, True, None)


def test_the_warning_comes_once(kernel):
    with pytest.warns(UserWarning, match="runs slowly"):
        kernel(CODES[0], (NUMBERS, 2), 1.0, True, None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel(CODES[0], (NUMBERS, 2), 1.0, True, None)


def test_an_array_in_order_takes_code_for_that_order_first(monkeypatch):
    lists = [(parse("f8[1A]"),), (parse("f8[1C]"),)]
    entries = {entry_name("test_shipped.total", kinds): kinds[0].order for kinds in lists}
    made = {name: lambda value, order=order: order for name, order in entries.items()}
    monkeypatch.setattr(_shipped, "SHIPPED", SimpleNamespace(**made))
    monkeypatch.setattr(_shipped, "_table", lambda: {NAME: lists})
    kernel = Kernel(total, {})
    assert (kernel(NUMBERS), kernel(NUMBERS[::2])) == ("C", "A")


def test_a_processor_that_lacks_something_loads_nothing(monkeypatch):
    monkeypatch.delenv("DISCBAYES_SHIPPED", raising=False)
    monkeypatch.setattr(_shipped, "find_spec", lambda name: object())
    monkeypatch.setattr(_shipped, "import_module", lambda name: name)
    monkeypatch.setattr(_shipped, "_features", lambda: {*_shipped._FEATURES, "sse"})
    assert _shipped._load() == "discbayes.kernels._ahead"
    monkeypatch.setattr(_shipped, "_features", lambda: _shipped._FEATURES - {"avx2"})
    assert _shipped._load() is None
    monkeypatch.setenv("DISCBAYES_SHIPPED", "0")
    assert _shipped._load() is None


# Kernels that numba compiles later than they are defined


@Instruction
def load(array, at):
    return array[at : at + 4].copy()


@Instruction
def store(four, array, at):
    array[at : at + 4] = four


def _twice(x):
    return x + x


def _copy(values, out):
    store(load(values, 0), out, 0)
    return inlined(out[0]) + helped(out[1])


inlined = Kernel(_twice, {"inline": "always"})
helped = Kernel(_twice, {"no_cpython_wrapper": True, "no_cfunc_wrapper": True})
copied = Kernel(_copy, {})


def test_kernels_that_are_compiled_late_may_use_others():
    values, out = np.arange(4.0), np.zeros(4)
    assert copied(values, out) == 2.0
    np.testing.assert_array_equal(out, values)
    assert load.intrinsic is load_at_once
    assert copied.dispatcher is copied.dispatcher
    assert pickle.loads(pickle.dumps(Kernel(dot.py_func, {}))) is dot
    assert type_of(out) == parse("f8[1C]")
