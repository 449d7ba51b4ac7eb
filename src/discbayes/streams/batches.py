"""Batches of the rows of a source, and the bounds on what is held of them in memory.

All bounds follow from one setting and the number of columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Protocol

DEFAULT_MEMORY = 1 << 29
DEFAULT_DISTINCT = 200_000
MAX_ROWS = 1 << 16
_MIN_ROWS = 1 << 9
_MIN_DISTINCT = 1 << 10
_MIN_MEMORY = 1 << 24
_CELL_BYTES = 32  # of a batch: as it was read, as numbers, as codes
# of a distinct value with its classes and weights, and while two lists of them are put together
_VALUE_BYTES = 64
_CSV_BYTES = 1 << 24
_LARGEST_BLOCK = (1 << 31) - 1  # bytes that pyarrow can parse at a time
_UNITS = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
}


def bytes_of(memory: Any) -> int:
    """Return a setting of memory as a number of bytes; None is the default.

    >>> bytes_of("1.5GB"), bytes_of(16 << 20), bytes_of(None)
    (1500000000, 16777216, 536870912)
    """
    if memory is None:
        return DEFAULT_MEMORY
    if isinstance(memory, Integral) and not isinstance(memory, bool):
        size = int(memory)
    else:
        found = (
            re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", memory)
            if isinstance(memory, str)
            else None
        )
        if found is None or found[2].upper() not in _UNITS:
            raise ValueError(
                'memory is a number of bytes, or text such as "500MB", "2GB" or "2GiB"; got'
                f" {memory!r}"
            )
        size = int(float(found[1]) * _UNITS[found[2].upper()])
    if size < _MIN_MEMORY:
        raise ValueError(f"memory is at least {_MIN_MEMORY} bytes (16 MiB); got {memory!r}")
    return size


@dataclass(frozen=True)
class Limits:
    """The bounds of one run.

    They are bytes of memory, distinct values of a column that are kept exactly, and rows at a time.
    """

    memory: int = DEFAULT_MEMORY
    max_distinct: int = DEFAULT_DISTINCT
    most_rows: int = field(default_factory=lambda: MAX_ROWS)

    def __post_init__(self) -> None:
        if not self.memory >= _MIN_MEMORY:
            raise ValueError(
                f"memory is a number of bytes, at least {_MIN_MEMORY} (16 MB); got {self.memory!r}"
            )
        if not self.max_distinct >= 2:
            raise ValueError(
                f"max_distinct is a number of values, at least 2; got {self.max_distinct!r}"
            )

    def batch_rows(self, n_columns: int) -> int:
        """Return the rows of a batch: a quarter of the memory, at most a block."""
        return self._power_within(self.memory // 4 // (_CELL_BYTES * max(1, n_columns)))

    def summary_rows(self, n_numeric: int) -> int:
        """Return the rows after which summaries of numeric columns shrink: another quarter."""
        return self._power_within(self.memory // 4 // (_VALUE_BYTES * max(1, n_numeric)))

    def distinct(self, n_numeric: int) -> int:
        """Return the distinct values kept of a numeric column: half of the memory for all."""
        affordable = self.memory // 2 // (_VALUE_BYTES * max(1, n_numeric))
        return min(self.max_distinct, max(_MIN_DISTINCT, affordable))

    def buffer_rows(self, n_features: int, itemsize: int) -> int:
        """Return the rows of codes that are buffered before writing: a quarter of the memory.

        The summaries are not needed any more at that time.
        """
        return self._power_within(self.memory // 4 // (itemsize * max(1, n_features)))

    @property
    def csv_bytes(self) -> int:
        """The bytes of a CSV file that are parsed at a time."""
        return min(_CSV_BYTES, self.memory // 32)

    @property
    def longest_row(self) -> int:
        """The bytes of a row of a CSV file that can be read: a quarter of the memory."""
        return min(_LARGEST_BLOCK, self.memory // 4)

    def _power_within(self, rows: int) -> int:
        """Return the largest power of two up to a number of rows, within bounds."""
        power = 1 << max(0, int(rows).bit_length() - 1)
        return max(_MIN_ROWS, min(self.most_rows, power))


@dataclass(frozen=True)
class Batch:
    """Rows of a source: a frame or an array, and where they are from.

    ``first_row`` is the number of rows before them there. ``text`` names columns of plain text
    whose values arrow has numbered while reading, so that they look like categories. ``share`` is
    how much of the source is read with these rows, if that is known.
    """

    frame: Any
    where: str
    first_row: int = 0
    y: Any = None
    weight: Any = None
    text: frozenset[str] = frozenset()
    share: float | None = None


class BatchSource(Protocol):
    """Rows in batches, in their order."""

    @property
    def name(self) -> str:
        """The name of the source in messages."""

    @property
    def once(self) -> bool:
        """Whether it can be read a single time only."""

    def batches(self, limits: Limits) -> Iterator[Batch]:
        """Yield all rows, from the first one on."""


class TypesChanged(Exception):
    """A CSV column has another type than in the rows before, which must be read again."""
