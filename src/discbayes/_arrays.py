"""Arrays that come from elsewhere, as compiled kernels want them."""

from __future__ import annotations

from typing import Any

import numpy as np


class WithArrays:
    """A value that copies its read-only arrays when it is unpickled.

    joblib and Dask map the arrays of a pickle into memory, where they cannot be written. For numba
    that is another type: every kernel would be compiled once more, and those that also write to
    arrays of the same kind not at all.
    """

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({name: writable(value) for name, value in state.items()})


def writable(value: Any) -> Any:
    """A copy of an array that cannot be written; anything else as it is."""
    read_only = isinstance(value, np.ndarray) and not value.flags.writeable
    return np.array(value) if read_only else value
