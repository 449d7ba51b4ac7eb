"""Readers of single JSON values: each returns the value, checked to be of the required type.

They raise a ``ValueError`` that names the place in the file; `load` adds the path. Nothing is
allocated by a size that the file only claims, and no values are hashed that were chosen to collide.
"""

from __future__ import annotations

import base64
import binascii
import math
import sys
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from reprlib import Repr
from typing import Any, NoReturn

import numpy as np

from discbayes._text import listed

_MAX_FLOAT = sys.float_info.max
_SHOWN = 60
_REPR = Repr()
_REPR.maxstring = _REPR.maxlong = _REPR.maxother = _SHOWN
_REPR.maxlevel = 3
MAX_DEPTH = 100  # levels of lists and objects in a file
MAX_EQUAL_HASHES = 100  # values of one set; floats that fit the type reach a few dozen
FLOATS = "<f8"
# length of an axis of an empty array, which no byte of the file confirms
_MAX_EMPTY_AXIS = 1000
CONTENT_ERRORS = (ValueError, TypeError, ArithmeticError, LookupError, RecursionError)


def shown(value: Any) -> str:
    """Return a short repr of a value, however large it is."""
    text = _REPR.repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def wrong(where: str, expected: str, value: Any) -> NoReturn:
    """Raise the error for a value that is not as expected at this place."""
    raise ValueError(f"{where} must be {expected}, not {shown(value)}")


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Add the place in the file to errors of the code inside."""
    try:
        yield
    except RecursionError:
        raise
    except CONTENT_ERRORS as error:
        raise ValueError(f"{where}: {error}") from error


def as_object(
    value: Any, where: str, keys: Collection[str] | None = None, optional: Collection[str] = ()
) -> dict[str, Any]:
    """Return a JSON object, with exactly these keys if they are given, and optional ones."""
    if type(value) is not dict:
        wrong(where, "an object", value)
    if keys is not None:
        lacking = sorted(set(keys) - set(value))
        surplus = sorted(set(value) - set(keys) - set(optional))
        if lacking or surplus:
            kinds = {"missing": lacking, "unknown": surplus}
            parts = [f"{kind} {listed(names, 5, shown)}" for kind, names in kinds.items() if names]
            raise ValueError(f"{where} has wrong fields: {'; '.join(parts)}")
    return value


def as_list(value: Any, where: str, length: int | None = None) -> list[Any]:
    """Return a JSON list, of this length if it is given."""
    if type(value) is not list:
        wrong(where, "a list", value)
    if length is not None and len(value) != length:
        raise ValueError(f"{where} has {len(value)} entries where {length} are needed")
    return value


def as_text(value: Any, where: str, choices: Collection[str] | None = None) -> str:
    """Return a string, one of the choices if they are given."""
    if type(value) is not str:
        wrong(where, "a string", value)
    if choices is not None and value not in choices:
        wrong(where, f"one of {', '.join(choices)}", value)
    return value


def as_int(value: Any, where: str, least: int | None = None, most: int | None = None) -> int:
    """Return an integer (not true or false) within bounds."""
    if type(value) is not int:
        wrong(where, "a whole number", value)
    if least is not None and value < least:
        wrong(where, f"at least {least}", value)
    if most is not None and value > most:
        wrong(where, f"at most {most} in a file", value)
    return value


def as_optional_int(
    value: Any, where: str, least: int | None = None, most: int | None = None
) -> int | None:
    """Return an integer within bounds, or None for null."""
    return None if value is None else as_int(value, where, least, most)


def as_bool(value: Any, where: str) -> bool:
    """Return true or false."""
    if type(value) is not bool:
        wrong(where, "true or false", value)
    return value


def as_finite(value: Any, where: str) -> float:
    """Return a number that is neither infinite nor NaN."""
    if type(value) not in (int, float) or not -_MAX_FLOAT <= value <= _MAX_FLOAT:
        wrong(where, "a finite number", value)
    return value


def check_hashes(values: Sequence[Hashable]) -> None:
    """Refuse many values with the same hash: a set of them would take quadratic time.

    The hash of an integer is its remainder modulo 2⁶¹ − 1, and that of a tuple follows from its
    members, so that anyone can construct such values. That of a string is salted by each process.

    >>> check_hashes(list(range(1000)))
    >>> check_hashes([k * (2**61 - 1) for k in range(1000)])
    Traceback (most recent call last):
    ValueError: 1000 entries have the same hash, so that looking them up would take long: use
    strings
    """
    hashes = [hash(value) for value in values if type(value) is not str]
    if len(hashes) > MAX_EQUAL_HASHES:
        n_equal = int(np.unique(hashes, return_counts=True)[1].max())
        if n_equal > MAX_EQUAL_HASHES:
            raise ValueError(
                f"{n_equal} entries have the same hash, so that looking them up would take long:"
                " use strings"
            )


def is_deeper(value: Any, levels: int) -> bool:
    """Return whether lists and objects are nested in more than so many levels."""
    level = [value] if type(value) in (dict, list) else []
    # level by level, since recursion would end in an error at the depth to be refused
    for _ in range(levels):
        if not level:
            return False
        members = chain.from_iterable(
            each.values() if type(each) is dict else each for each in level
        )
        level = [member for member in members if type(member) in (dict, list)]
    return bool(level)


def only_entry(value: Mapping[str, Any], where: str) -> tuple[str, Any]:
    """Return the key and value of an object with one field."""
    if len(value) != 1:
        wrong(where, "an object with one field", dict(value))
    return next(iter(value.items()))


# Arrays


def pack_array(array: np.ndarray, dtype: str = FLOATS) -> dict[str, Any]:
    """Return an array of numbers as JSON: dtype, shape, and the little-endian bytes in base64.

    >>> pack_array(np.array([0.5, -np.inf]))
    {'dtype': '<f8', 'shape': [2], 'data': 'AAAAAAAA4D8AAAAAAADw/w=='}
    """
    data = np.ascontiguousarray(array, dtype=dtype).tobytes()
    return {
        "dtype": dtype,
        "shape": list(array.shape),
        "data": base64.b64encode(data).decode("ascii"),
    }


def as_array(value: Any, where: str, dtypes: Collection[str] = (FLOATS,)) -> np.ndarray:
    """Return the array that `pack_array` wrote; its shape must match the bytes."""
    fields = as_object(value, where, ("dtype", "shape", "data"))
    dtype = np.dtype(as_text(fields["dtype"], f"{where}.dtype", dtypes))
    shape = [as_int(n, f"{where}.shape", 0) for n in as_list(fields["shape"], f"{where}.shape")]
    data = _bytes(fields["data"], f"{where}.data")
    endless = not data and max(shape, default=0) > _MAX_EMPTY_AXIS
    if len(shape) > 32 or endless or math.prod(shape) * dtype.itemsize != len(data):
        raise ValueError(
            f"{where}: {len(data)} bytes do not fill the shape {shape[:33]} of {dtype.str}"
        )
    return np.frombuffer(data, dtype).reshape(shape).astype(dtype.newbyteorder("="))


def _bytes(value: Any, where: str) -> bytes:
    text = as_text(value, where)
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"{where} is not base64: {error}") from None
