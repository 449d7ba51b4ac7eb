"""The parts of a table that has been read.

A table is a list of parts. `NumericColumns` are a two-dimensional array of numbers, of one or more
columns: a numeric matrix is one part, each numeric column of a frame is a part of its own. A
`CategoricalColumn` is one column of labels, held as places in a list of the labels that occur. A
missing value is NaN in numeric columns and place -1 in a categorical one. So is a cell of evidence
(``discbayes.data.evidence``), which a part of one column keeps beside its values, by row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np

from discbayes.data.labels import is_missing
from discbayes.engine import row_blocks

EXACT = 2.0**53  # floats hold every whole number up to this one
# work on so many cells at a time: large enough for threads, small enough to be converted
_CHUNK_CELLS = 1 << 19

# The few types that kernels are compiled for, and what the others are turned into, a chunk at a
# time.
_KERNEL_TYPES = {
    "u1": "u1",
    "i4": "i4",
    "i8": "i8",
    "f8": "f8",
    "i1": "i4",
    "i2": "i4",
    "u2": "i4",
    "u4": "i8",
}


def kernel_array(array: np.ndarray) -> np.ndarray:
    """Return an array as the kernels need it: one of four types, C order, and read-only.

    A kernel is compiled again for an array that differs in writability alone, so all of them are
    made read-only.
    """
    wanted = _KERNEL_TYPES.get(array.dtype.str[1:], "f8")
    block = np.ascontiguousarray(array, dtype=np.dtype(wanted)).view()
    block.flags.writeable = False
    return block


@dataclass(frozen=True)
class NumericColumns:
    """Columns of numbers: ``data[:, j]`` is column ``positions[j]`` of the table."""

    data: np.ndarray
    positions: np.ndarray
    boolean: bool = False
    evidence: Mapping[int, Any] | None = None

    @property
    def whole(self) -> bool:
        """Whether the numbers are stored as integers, so that no value is missing."""
        return self.data.dtype.kind in "iu"

    def chunks(self) -> list[slice]:
        """Return ranges of rows to work on at a time."""
        rows = max(1024, _CHUNK_CELLS // max(1, self.data.shape[1]) // 64 * 64)
        return row_blocks(self.data.shape[0], rows)

    def column(self, j: int) -> np.ndarray:
        """Return column ``j`` as contiguous integers or 64-bit floats."""
        return np.ascontiguousarray(self.data[:, j], dtype=None if self.whole else np.float64)

    def take(self, rows: np.ndarray) -> NumericColumns:
        """Return the same columns of some rows."""
        return replace(self, data=self.data[rows])

    def with_missing(self, mask: np.ndarray) -> NumericColumns:
        """Return the same columns with some more values missing."""
        return replace(self, data=np.where(mask, np.nan, self.data))

    def missing_mask(self, rows: slice) -> np.ndarray:
        """Return which cells of a range of rows are missing."""
        part = self.data[rows]
        return np.zeros(part.shape, dtype=bool) if self.whole else np.isnan(part)


@dataclass(frozen=True)
class DateColumn(NumericColumns):
    """One column of dates, as seconds from the beginning of 2000 on the clock on the wall.

    Parts of dates (``discbayes.data.dates``) take its place before anything is learned.
    """

    @property
    def position(self) -> int:
        """The column of the table."""
        return int(self.positions[0])

    @property
    def has_hours(self) -> bool:
        """Whether any of the dates is not the beginning of a day."""
        return bool((self.data[~np.isnan(self.data)] % 86_400 != 0).any())


@dataclass(frozen=True)
class CategoricalColumn:
    """One column of labels: cell ``m`` holds ``levels[places[m]]``; -1 is a missing value.

    If ``declared``, the levels are the categories that the table itself states, in its order.
    ``text`` marks plain strings, which may turn out to be identifiers, ``ordered`` declared levels
    whose order means something.
    """

    position: int
    places: np.ndarray
    levels: list[Any]
    declared: bool = False
    text: bool = False
    evidence: Mapping[int, Any] | None = None
    ordered: bool = False

    @property
    def positions(self) -> np.ndarray:
        """The column of the table, as an array of one position."""
        return np.array([self.position])

    def chunks(self) -> list[slice]:
        """Return ranges of rows to work on at a time."""
        return row_blocks(self.places.size, _CHUNK_CELLS)

    def take(self, rows: np.ndarray) -> CategoricalColumn:
        """Return the same column of some rows; undeclared levels that are not used are dropped."""
        places = self.places[rows]
        if self.declared:
            return replace(self, places=places)
        places, levels = only_used(places, self.levels)
        return replace(self, places=places, levels=levels)

    def with_missing(self, mask: np.ndarray) -> CategoricalColumn:
        """Return the same column with some more values missing."""
        return replace(self, places=np.where(mask[:, 0], np.int32(-1), self.places))

    def missing_mask(self, rows: slice) -> np.ndarray:
        """Return which cells of a range of rows are missing."""
        return (self.places[rows] < 0)[:, None]


Part = NumericColumns | CategoricalColumn


@dataclass(frozen=True)
class Table:
    """A table in parts, with the names of its columns (``x0``, ``x1`` ... if it has none)."""

    names: list[str]
    n_rows: int
    parts: list[Part]
    named: bool
    # cells that rows do not name, feature-major: unknown, not missing
    unnamed: np.ndarray | None = None
    # what columns are of the dates that were read (`data.dates`), by position; None as it was read
    dates: Mapping[int, Any] | None = None

    @property
    def evidence(self) -> dict[int, Mapping[int, Any]]:
        """The cells of evidence, by column and row."""
        return {int(part.positions[0]): part.evidence for part in self.parts if part.evidence}

    def without_evidence(self) -> Table:
        """Return the table with cells of evidence as unknown values."""
        unnamed = self.unnamed
        unnamed = (
            np.zeros((len(self.names), self.n_rows), bool) if unnamed is None else unnamed.copy()
        )
        for position, cells in self.evidence.items():
            unnamed[position, list(cells)] = True
        parts = [replace(part, evidence=None) for part in self.parts]
        return replace(self, parts=parts, unnamed=unnamed)

    def take(self, rows: np.ndarray) -> Table:
        """Return the table of some rows, given by a mask or by their positions."""
        parts = [part.take(rows) for part in self.parts]
        n_rows = np.count_nonzero(rows) if rows.dtype == bool else rows.size
        unnamed = None if self.unnamed is None else self.unnamed[:, rows]
        return replace(self, n_rows=int(n_rows), parts=parts, unnamed=unnamed)

    def with_missing(self, mask: np.ndarray) -> Table:
        """Return the table with some more values missing, by a mask of the shape of the table."""
        return replace(
            self, parts=[part.with_missing(mask[:, part.positions]) for part in self.parts]
        )

    def by_name(self, names: list[str]) -> Table:
        """Return the columns of these names, in this order; what is not there is unknown.

        Parameters
        ----------
        names : list of str
            The names of the columns.
        """
        places = {name: place for place, name in enumerate(names)}
        parts: list[Part] = []
        unnamed = np.ones((len(names), self.n_rows), dtype=bool)
        for part in self.parts:
            found = [places.get(self.names[at]) for at in part.positions.tolist()]
            kept = [j for j, place in enumerate(found) if place is not None]
            to = np.array([found[j] for j in kept], dtype=np.int64)
            if not kept:
                continue
            if isinstance(part, CategoricalColumn):
                parts.append(replace(part, position=int(to[0])))
            else:
                parts.append(replace(part, data=part.data[:, kept], positions=to))
            at = part.positions[kept]
            unnamed[to] = False if self.unnamed is None else self.unnamed[at]
        lacking = [place for name, place in places.items() if name not in set(self.names)]
        parts += [NumericColumns(np.full((self.n_rows, 1), np.nan), np.array([p])) for p in lacking]
        return Table(names, self.n_rows, parts, named=True, unnamed=unnamed, dates={})

    def find(self, position: int) -> tuple[Part, int]:
        """Return the part that holds a column, and the column's place in it."""
        for part in self.parts:
            place = np.flatnonzero(part.positions == position)
            if place.size:
                return part, int(place[0])
        raise IndexError(f"the table has no column {position}")

    def cells(self, position: int, rows: np.ndarray) -> list[Any]:
        """Return the values of a column in some rows, as they were read."""
        part, place = self.find(position)
        if isinstance(part, CategoricalColumn):
            return [part.levels[at] for at in part.places[rows]]
        found = part.data[rows, place]
        return (found.astype(bool) if part.boolean else found).tolist()

    def missing_mask(self) -> np.ndarray:
        """Return the mask of the missing values, feature-major as codes are."""
        mask = np.zeros((len(self.names), self.n_rows), dtype=bool)
        for part in self.parts:
            for rows in part.chunks():
                mask[part.positions, rows] = part.missing_mask(rows).T
        return mask

    def missing_counts(self) -> np.ndarray:
        """Return the number of missing values of each column."""
        counts = np.zeros(len(self.names), dtype=np.int64)
        for part in self.parts:
            for rows in part.chunks():
                counts[part.positions] += part.missing_mask(rows).sum(axis=0)
        return counts

    def complete_rows(self) -> np.ndarray:
        """Return the mask of the rows without a missing value."""
        complete = np.ones(self.n_rows, dtype=bool)
        for part in self.parts:
            for rows in part.chunks():
                complete[rows] &= ~part.missing_mask(rows).any(axis=1)
        return complete


def default_names(n_columns: int) -> list[str]:
    """Return the names of the columns of a table that has none."""
    return [f"x{position}" for position in range(n_columns)]


def unmasked(values: np.ma.MaskedArray[Any, Any], objects: bool = False) -> np.ndarray:
    """Return a masked array as floats or objects, in which masked values are missing.

    >>> unmasked(np.ma.masked_array([1, 2], [False, True]))
    array([ 1., nan])
    """
    filled = values.data.astype(object if objects else np.float64)
    filled[np.ma.getmaskarray(values)] = None if objects else np.nan
    return filled


def factorize(values: Sequence[Any]) -> tuple[np.ndarray, list[Any]]:
    """Return places in the list of distinct values, and the list, in order of appearance.

    Missing values have place -1.

    >>> factorize(["b", "a", None, "b"])
    (array([ 0,  1, -1,  0], dtype=int32), ['b', 'a'])
    """
    levels = [
        value for value in dict.fromkeys(values) if type(value) is str or not is_missing(value)
    ]
    index = {value: place for place, value in enumerate(levels)}
    places = np.fromiter(map(index.get, values, repeat(-1)), dtype=np.int32, count=len(values))
    return places, levels


def only_used(places: np.ndarray, levels: list[Any]) -> tuple[np.ndarray, list[Any]]:
    """Return places and levels without the levels that do not occur.

    >>> only_used(np.array([2, -1, 0]), ["a", "b", "c"])
    (array([ 1, -1,  0], dtype=int32), ['a', 'c'])
    """
    occurs = np.zeros(len(levels) + 1, dtype=bool)
    occurs[places] = True  # the last entry serves place -1
    occurs[-1] = False
    renumber = np.where(occurs, np.cumsum(occurs) - 1, -1).astype(np.int32)
    return renumber[places], [level for level, used in zip(levels, occurs, strict=False) if used]


def find_column(column: Any, names: list[str]) -> int | None:
    """Return the position of a column, given by name or position; None if it does not exist.

    A number is first taken for a name, since frames may have numbered columns.

    >>> find_column("b", ["a", "b"]), find_column(1, ["a", "b"]), find_column(1, ["1", "0"])
    (1, 1, 0)
    >>> find_column("c", ["a"]) is None
    True
    """
    whole = isinstance(column, (int, np.integer)) and not isinstance(column, bool)
    if (whole or isinstance(column, str)) and str(column) in names:
        return names.index(str(column))
    return int(column) if whole and 0 <= column < len(names) else None


def looks_numeric(text: str) -> bool:
    """Return whether a text can be read as a number.

    >>> looks_numeric("-1.5e3"), looks_numeric("?")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True
