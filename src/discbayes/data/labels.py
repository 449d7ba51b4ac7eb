"""Labels and missing values as single Python objects, whatever library they came from."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def is_missing(value: Any) -> bool:
    """Return whether a value is missing: None, NaN, or pandas' NA and NaT.

    Those of pandas are recognized by name, without importing it.
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return bool(isinstance(value, (float, np.floating)) and value != value)


def plain(value: Any) -> Any:
    """Return a label as a plain Python scalar.

    A member of an enumeration becomes the string or number that it equals.

    >>> from enum import Enum, IntEnum
    >>> plain(Enum("Color", {"RED": "red"}, type=str).RED)
    'red'
    >>> plain(IntEnum("Size", {"SMALL": 1}).SMALL)
    1
    """
    if isinstance(value, str):
        return str.__str__(value)  # str(value) of a member would be "Color.RED"
    if isinstance(value, np.generic):
        return value.item()
    number = next((kind for kind in (bool, int, float) if isinstance(value, kind)), None)
    return value if number is None else number(value)


def check_levels(levels: list[Any], name: str) -> None:
    """Refuse labels that are neither all strings nor all numbers."""
    strings = [value for value in levels if isinstance(value, str)]
    others = [value for value in levels if not isinstance(value, str)]
    if strings and others:
        raise ValueError(
            f"column {name!r} mixes strings and numbers, {strings[0]!r} and {others[0]!r} for"
            " example: cast it to one of them, with astype(str) for example"
        )
    odd = next((value for value in others if not isinstance(value, (bool, int, float))), None)
    if odd is not None:
        raise ValueError(
            f"column {name!r} has the category {odd!r} of type {type(odd).__name__}: cast it with"
            " astype(str)"
        )
    if any(abs(value) > sys.float_info.max for value in others if type(value) is int):
        raise ValueError(
            f"column {name!r} has a whole number beyond the range of a float: cast it with"
            " astype(str)"
        )
