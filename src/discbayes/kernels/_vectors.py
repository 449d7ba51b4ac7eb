"""Four numbers in one register, for sums over the classes of a cell.

The compiler does not vectorize these sums by itself.

``load`` reads four numbers of a flat array or from a pointer, ``plus`` and ``times`` add and
multiply two vectors, ``less`` subtracts a multiple of one from another, and ``store`` writes one.
A product that is added to something may be rounded once, with the sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discbayes.kernels._compile import instruction

SIZE = 4


@instruction
def load(array: np.ndarray, at: Any) -> np.ndarray:
    """Read four numbers."""
    return array[int(at) : int(at) + SIZE].copy()


@instruction
def plus(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Add two vectors."""
    return a + b


@instruction
def times(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Multiply two vectors."""
    return a * b


@instruction
def less(a: np.ndarray, factor: float, b: np.ndarray) -> np.ndarray:
    """Subtract a multiple of one vector from another."""
    return a - factor * b


@instruction
def store(four: np.ndarray, array: np.ndarray, at: Any) -> None:
    """Write four numbers."""
    array[int(at) : int(at) + SIZE] = four
