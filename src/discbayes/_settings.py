"""Checks of single settings."""

from __future__ import annotations

import math
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


def float_or_nan(value: Any) -> float:
    """Return a value as a number; NaN if it is none.

    >>> float_or_nan("2.5"), float_or_nan("2,5"), float_or_nan(None)
    (2.5, nan, nan)
    """
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
