"""Arrays as bare pointers, for records of many arrays that pass through many small kernels.

numba counts the references of arrays: a record of twenty takes forty atomic additions for each call
of a function. A pointer has no such count and is one word. ``pointers`` turns the flat arrays of a
named tuple into pointers, ``pointer`` does so with one array, and ``shifted`` gives the part of one
from some element on. Whoever calls keeps the arrays alive. Uncompiled, they stay arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discbayes.kernels._compile import instruction


@instruction
def pointer(array: np.ndarray) -> np.ndarray:
    """Return where an array begins."""
    return array


@instruction
def pointers(record: Any) -> Any:
    """Return a named tuple with pointers in place of its arrays."""
    return record


@instruction
def shifted(array: np.ndarray, start: int) -> np.ndarray:
    """Return a pointer some elements further on."""
    return array[start:]
