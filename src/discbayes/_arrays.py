"""Arrays in the form that compiled kernels take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class WithArrays:
    """A value that copies its read-only arrays when it is unpickled.

    joblib and Dask map the arrays of a pickle into memory as read-only. For numba that is another
    type: every kernel would be compiled once more, and kernels that also write to arrays of that
    kind could not be compiled at all.
    """

    def __getstate__(self) -> dict[str, Any]:
        """Return all attributes but those that are the value itself, which skops cannot follow."""
        return {name: value for name, value in vars(self).items() if value is not self}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({name: writable(value) for name, value in state.items()})


def writable(value: Any) -> Any:
    """Return a copy of a read-only array, and any other value as it is."""
    read_only = isinstance(value, np.ndarray) and not value.flags.writeable
    return np.array(value) if read_only else value


def starts_of(sizes: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return where each of several consecutive parts begins, and where the last one ends.

    >>> starts_of([2, 3])
    array([0, 2, 5])
    """
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
