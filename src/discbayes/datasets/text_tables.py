"""A reader of CSV data sets by the standard library: pyarrow, which reads tables, is an extra.

It converts a few million cells a second. Rows are transposed a few hundred at a time, so that their
strings are still in the cache; and each column remembers what it has converted, since most cells
repeat a value. The two ways to write a missing value are known from the start.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from discbayes.datasets.dataset import Columns, Split

MISSING = ("", "?")
_ROWS_AT_A_TIME = 512


class _Known(dict[str, Any]):
    """From the text of a cell to its value, which is converted and stored once for the column."""

    def __init__(self, convert: Callable[[str], Any], missing: Any) -> None:
        super().__init__(dict.fromkeys(MISSING, missing))
        self.convert = convert

    def __missing__(self, text: str) -> Any:
        value = self[text] = self.convert(text)
        return value


class _Column:
    """A column that grows by blocks of cells."""

    def __init__(self, name: str, numeric: bool) -> None:
        self.name = name
        self.known = _Known(float, np.nan) if numeric else _Known(str, None)
        self.dtype: type = np.float64 if numeric else object
        self.blocks: list[np.ndarray] = []

    def extend(self, cells: tuple[str, ...]) -> None:
        try:
            self.blocks.append(
                np.fromiter(map(self.known.__getitem__, cells), self.dtype, len(cells))
            )
        except ValueError as error:
            raise ValueError(f"column {self.name!r} should hold numbers: {error}") from None

    def values(self) -> np.ndarray:
        return np.concatenate(self.blocks) if self.blocks else np.empty(0, self.dtype)


def columns_from_rows(
    header: list[str], rows: Iterable[list[str]], numeric: Iterable[str], target: str
) -> Columns:
    """Convert rows of text to columns: numbers, the class, and categories as the rest."""
    numbers = set(numeric)
    columns = [_Column(name, name in numbers) for name in header]
    remaining, n_rows = iter(rows), 0
    while block := list(islice(remaining, _ROWS_AT_A_TIME)):
        for position, row in enumerate(block, n_rows + 1):
            if len(row) != len(header):
                raise ValueError(
                    f"row {position} has {len(row)} cells, the header has {len(header)}"
                )
        n_rows += len(block)
        for column, cells in zip(columns, zip(*block, strict=True), strict=True):
            column.extend(cells)
    features = {column.name: column.values() for column in columns}
    y = features.pop(target)
    n_missing = _count_missing(y)
    if n_missing:
        raise ValueError(f"the class {target!r} is missing in {n_missing} rows")
    return Columns(features, y.astype(str), target)


def read_csv(path: Path, numeric: list[str], categorical: list[str]) -> Columns:
    """Read a compressed CSV file; the one column that is in neither list is the class."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        header = next(rows, [])
        target = set(header) - set(numeric) - set(categorical)
        if len(target) != 1 or len(header) != len(numeric) + len(categorical) + 1:
            raise ValueError(f"the header of {path.name} does not fit its entry in the manifest")
        return columns_from_rows(header, rows, numeric, target.pop())


def read_npz(path: Path, names: list[str], split: Split) -> Columns:
    """Read the arrays X_train, y_train, X_test and y_test of a numeric data set."""
    with np.load(path, allow_pickle=False) as arrays:
        X = np.concatenate([arrays["X_train"], arrays["X_test"]]).astype(np.float64)
        y = np.concatenate([arrays["y_train"], arrays["y_test"]]).astype(str)
        sizes = (len(arrays["y_train"]), len(arrays["y_test"]))
    if split != sizes or X.shape[1] != len(names):
        raise ValueError(f"{path.name} does not fit its entry in the manifest")
    return Columns(dict(zip(names, X.T, strict=True)), y, split=split)


def missing_cells(columns: Columns) -> int:
    """Return the number of missing cells of the features."""
    return sum(_count_missing(values) for values in columns.features.values())


def _count_missing(values: np.ndarray) -> int:
    if values.dtype == object:
        return sum(value is None for value in values)
    return int(np.isnan(values).sum())
