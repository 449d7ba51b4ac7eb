"""Checks of single settings."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np


def is_integer(value: Any, minimum: int) -> bool:
    """Return whether a setting is an integer, not a boolean, and large enough.

    scikit-learn's ``check_scalar`` raises errors of its own, in which the way out has no place.

    >>> is_integer(2, 2), is_integer(1, 2), is_integer(True, 1), is_integer(2.0, 1)
    (True, False, False, False)
    """
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return bool(whole and value >= minimum)


def require_integer(name: str, value: Any, minimum: int, hint: str = "") -> None:
    """Refuse a setting that is not an integer, or too small; the hint ends the message.

    >>> require_integer("k", 0, 1)
    Traceback (most recent call last):
    ValueError: k=0 must be a whole number of at least 1
    """
    if not is_integer(value, minimum):
        raise ValueError(f"{name}={value!r} must be a whole number of at least {minimum}{hint}")


def require_number(name: str, value: Any, above: float | None = None, hint: str = "") -> None:
    """Refuse a setting that is not a finite number of at least 0, or above a bound if one is given.

    >>> require_number("gamma", 0.0, above=0)
    Traceback (most recent call last):
    ValueError: gamma=0.0 must be a number above 0
    """
    if not (np.isfinite(value) and (value >= 0 if above is None else value > above)):
        bound = "that is at least 0" if above is None else f"above {above:g}"
        raise ValueError(f"{name}={value!r} must be a number {bound}{hint}")


def require_choice(name: str, value: Any, choices: Collection[Any]) -> None:
    """Refuse a setting that is not one of several.

    >>> require_choice("keep", "some", ("all", "blanket"))
    Traceback (most recent call last):
    ValueError: keep='some' is not one of 'all', 'blanket'
    """
    if value not in choices:
        raise ValueError(f"{name}={value!r} is not one of {', '.join(map(repr, choices))}")


def sums_to_one(shares: np.ndarray) -> bool:
    """Return whether numbers are probabilities of one distribution; NaN is none.

    >>> sums_to_one(np.array([0.25, 0.75])), sums_to_one(np.array([0.5, np.nan]))
    (True, False)
    """
    # bounded before they are summed: numbers of a file may overflow
    return bool(((shares >= 0) & (shares <= 1.001)).all() and np.isclose(shares.sum(), 1.0))


def float_or_nan(value: Any) -> float:
    """Return a value as a number; NaN if it is none.

    >>> float_or_nan("2.5"), float_or_nan("2,5"), float_or_nan(None)
    (2.5, nan, nan)
    """
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
