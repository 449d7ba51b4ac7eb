"""The types that kernels are called with, as text: one line for each list of types.

``signatures.txt`` has those of real use, and ``signatures_of_default.txt`` those of the default
classifier alone; ``make signatures`` records them again. They are compiled ahead
(``hatch_build.py``), or before they are needed (``discbayes warmup``).

A line is the name of a kernel and its arguments. ``u1[2C]`` is an array of unsigned bytes with two
dimensions in C order (F: Fortran order, A: any), with ``r`` where it cannot be written; ``i8`` and
``f8`` are numbers, ``b1`` is a truth value; ``Name(…)`` is a named tuple and ``(…)`` a tuple.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FILE = Path(__file__).with_name("signatures.txt")
FILE_OF_DEFAULT = Path(__file__).with_name("signatures_of_default.txt")
_PACKAGE = __name__.rpartition(".")[0]


class ArrayType(NamedTuple):
    """An array: its dtype as text, its number of dimensions, its order, whether it is read-only."""

    dtype: str
    ndim: int
    order: str
    read_only: bool


class RecordType(NamedTuple):
    """A tuple: the name of its class, empty for a plain one, and the types of its items."""

    name: str
    items: tuple[Any, ...]


# The type of a number is its dtype as text, that of None is "none".
ArgumentType = ArrayType | RecordType | str


def type_of(value: Any) -> ArgumentType:
    """Return the type of an argument as numba distinguishes it, without numba."""
    if isinstance(value, np.ndarray):
        return ArrayType(_name(value.dtype), value.ndim, _order(value), not value.flags.writeable)
    if isinstance(value, tuple):
        name = type(value).__name__ if hasattr(value, "_fields") else ""
        return RecordType(name, tuple(map(type_of, value)))
    return "none" if value is None else _name(np.asarray(value).dtype)


def _name(dtype: np.dtype) -> str:
    return dtype.str[1:] if dtype.isnative else dtype.str


def _order(array: np.ndarray) -> str:
    if array.flags.c_contiguous:
        return "C"
    return "F" if array.flags.f_contiguous else "A"


def as_text(kind: ArgumentType) -> str:
    """Return how a type is written.

    >>> as_text(type_of((np.zeros((2, 3), np.uint8), 4)))
    '(u1[2C],i8)'
    """
    if isinstance(kind, ArrayType):
        return f"{kind.dtype}[{kind.ndim}{kind.order}]{'r' * kind.read_only}"
    if isinstance(kind, RecordType):
        return f"{kind.name}({','.join(map(as_text, kind.items))})"
    return kind


def parse(text: str) -> ArgumentType:
    """Return the type that is written as a text.

    >>> parse("(u1[2C],i8)") == type_of((np.zeros((2, 3), np.uint8), 4))
    True
    """
    if text.endswith(")"):
        name, _, items = text[:-1].partition("(")
        return RecordType(name, tuple(map(parse, _split(items))))
    if "[" in text:
        dtype, _, rest = text.partition("[")
        number, _, flag = rest.partition("]")
        return ArrayType(dtype, int(number[:-1]), number[-1], flag == "r")
    return text


def _split(text: str) -> list[str]:
    """Split at the commas that are not in parentheses."""
    parts, depth = [""], 0
    for letter in text:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def read(path: Path = FILE) -> dict[str, list[tuple[ArgumentType, ...]]]:
    """Return the lists of types of each kernel, by its name in the package."""
    found: dict[str, list[tuple[ArgumentType, ...]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, *kinds = line.split(" ")
        found.setdefault(name, []).append(tuple(map(parse, kinds)))
    return found


def load_kernel(name: str) -> Any:
    """Return a kernel by its name in the package, such as ``counting.count_family``."""
    module, _, function = name.partition(".")
    return getattr(import_module(f"{_PACKAGE}.{module}"), function)
