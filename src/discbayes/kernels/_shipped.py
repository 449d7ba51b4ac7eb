"""Kernels that were compiled ahead, and what runs where there is no code for some types.

Compiled code trusts the types of its arguments, so each call is compared with a table first: the
dtype, the dimensions and the order of arrays, the kind of numbers. What is not in the table is
compiled by numba, where that is installed. Without it, small calls run as plain Python with one
warning, and large ones are an error that names the extra to install.
"""

from __future__ import annotations

import os
import warnings
from contextlib import suppress
from functools import cache, cached_property
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from threading import RLock
from types import ModuleType, NoneType
from typing import Any

import numpy as np

from discbayes.kernels import _signatures
from discbayes.kernels._signatures import ArgumentType, ArrayType, RecordType, as_text, type_of

HAS_NUMBA = find_spec("numba") is not None
MAX_PLAIN_CELLS = 10_000  # of all arrays of a call that runs without compiled code
_PACKAGE = __name__.rpartition(".")[0]
# What the level x86-64-v3 adds, as Linux names it; hatch_build.py compiles for that level.
_FEATURES = {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}
_INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4")
_SCALARS = {
    "none": frozenset({NoneType}),
    "b1": frozenset({bool, np.bool_}),
    "i8": frozenset({int, np.longlong, *(np.dtype(name).type for name in _INTEGERS)}),
    "u8": frozenset({np.uint64, np.ulonglong}),
    "f8": frozenset({float, np.float64, np.float32}),
}
# Bits of ndarray.flags.num: C order, Fortran order, aligned
_ORDERS = {"C": 0x101, "F": 0x102, "A": 0x100}


def _load() -> ModuleType | None:
    """Return the compiled module, if there is one and this machine can run it."""
    name = f"{_PACKAGE}._ahead"
    if os.environ.get("DISCBAYES_SHIPPED") == "0" or find_spec(name) is None:
        return None
    with suppress(ImportError):  # of a system that is older than the one that it was built on
        return import_module(name) if _features() >= _FEATURES else None
    return None


def _features() -> set[str]:
    """Return what the processor can do beyond the oldest of its kind."""
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as listing:
        for line in listing:
            if line.startswith("flags"):
                return set(line.split())
    return set()


SHIPPED = _load()


# Types


def shipped_type(kind: ArgumentType) -> ArgumentType:
    """Return the type that stands for a type in compiled code.

    Whether an array can be written, and how long a whole number is, makes no difference there.
    """
    if isinstance(kind, ArrayType):
        return kind._replace(read_only=False)
    if isinstance(kind, RecordType):
        return kind._replace(items=tuple(map(shipped_type, kind.items)))
    return {**dict.fromkeys(_INTEGERS, "i8"), "f4": "f8"}.get(kind, kind)


def entry_name(kernel: str, kinds: tuple[ArgumentType, ...]) -> str:
    """Return the name in the compiled module of a kernel for some types."""
    digest = sha256(" ".join(map(as_text, kinds)).encode()).hexdigest()
    return f"{kernel.replace('.', '_')}_{digest[:12]}"


def _form(kind: ArgumentType) -> tuple[Any, Any, Any]:
    """Return a type as it is compared: a dtype, a number of dimensions and flags for an array, the
    forms of its items for a tuple, types for anything else.
    """
    if isinstance(kind, ArrayType):
        return np.dtype(kind.dtype), kind.ndim, _ORDERS[kind.order]
    if isinstance(kind, RecordType):
        return None, tuple(map(_form, kind.items)), None
    return None, None, _SCALARS[kind]


def _fits(values: tuple[Any, ...], forms: tuple[Any, ...]) -> bool:
    if len(values) != len(forms):
        return False
    for value, (dtype, inner, wanted) in zip(values, forms, strict=True):
        if dtype is not None:
            if not isinstance(value, np.ndarray) or value.ndim != inner:
                return False
            # equal dtypes are mostly one object, but not those of arrays that were unpickled
            if value.dtype is not dtype and value.dtype != dtype:
                return False
            if value.flags.num & wanted != wanted:
                return False
        elif inner is None:
            if type(value) not in wanted:
                return False
        elif not isinstance(value, tuple) or not _fits(value, inner):
            return False
    return True


def _n_cells(values: tuple[Any, ...]) -> int:
    arrays = [value for value in values if isinstance(value, np.ndarray)]
    inner = [value for value in values if isinstance(value, tuple)]
    return sum(array.size for array in arrays) + sum(map(_n_cells, inner))


# Calls


class Instruction:
    """A function of Python whose place an intrinsic takes in compiled kernels."""

    def __init__(self, function: Any):
        self._function = function
        self.__doc__ = function.__doc__

    @cached_property
    def intrinsic(self) -> Any:
        """The intrinsic, which only numba can use."""
        return getattr(import_module(f"{_PACKAGE}._intrinsics"), self._function.__name__)

    @property
    def _numba_type_(self) -> Any:
        intrinsic = self.intrinsic
        typing_context = import_module("numba.core.registry").cpu_target.typing_context
        typing_context.refresh()  # what was imported just now is not known to it yet
        return typing_context.resolve_value_type(intrinsic)

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)


class Kernel:
    """A function that runs as compiled code: shipped for some types, by numba for others."""

    def __init__(self, function: Any, options: dict[str, Any]):
        self.py_func = function
        self.__doc__ = function.__doc__
        self.name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        self.targetoptions = options  # where numba looks whether to inline
        self._dispatcher: Any = None

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return _signatures.load_kernel, (self.name,)

    @property
    def dispatcher(self) -> Any:
        """The function as compiled by numba, for each list of types."""
        with _ONE_THREAD:  # so that threads that need it at once do not compile it once each
            if self._dispatcher is None:
                compiler = import_module(f"{_PACKAGE}._cache")
                self._dispatcher = compiler.compile_on_call(self.py_func, self.targetoptions)
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        return import_module("numba").types.Dispatcher(self.dispatcher)

    @cached_property
    def _entries(self) -> list[tuple[Any, Any]]:
        """Shipped code with the types that it is for; that for arrays in any order comes last."""
        found = {}
        for kinds in _table().get(self.name, ()):
            shipped = tuple(map(shipped_type, kinds))
            entry = getattr(SHIPPED, entry_name(self.name, shipped), None)
            if entry is not None:
                found[shipped] = entry
        by_order = sorted(found, key=lambda kinds: str(kinds).count("order='A'"))
        return [(tuple(map(_form, kinds)), found[kinds]) for kinds in by_order]

    def __call__(self, *arguments: Any) -> Any:
        for forms, entry in self._entries:
            if _fits(arguments, forms):
                return entry(*arguments)
        if HAS_NUMBA:
            return self.dispatcher(*arguments)
        self._require_small(arguments)
        return self.py_func(*arguments)

    def _require_small(self, arguments: tuple[Any, ...]) -> None:
        """Warn that a call runs as plain Python, or raise an error if that would take too long."""
        reason = (
            f"no compiled code is shipped for {self.name} with {as_text(type_of(arguments))}"
            if SHIPPED is not None
            else "this installation has no compiled code that this machine can run"
        )
        if _n_cells(arguments) > MAX_PLAIN_CELLS:
            raise ModuleNotFoundError(
                f"{reason}, and numba, which would compile it, is not installed: pip install"
                " 'discbayes[jit]'",
                name="numba",
            )
        _warn_once(
            f"{reason}: it runs slowly until numba is installed (pip install 'discbayes[jit]')"
        )


_ONE_THREAD = RLock()
_table = cache(_signatures.read)
_warned = False


def _warn_once(message: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(message, stacklevel=4)
