"""A reader of CSV data sets by the standard library: pyarrow, which reads tables, is an extra.

It converts a few million cells a second. Rows are transposed a few hundred at a time, so that their
strings are still in the cache; and each column remembers what it has converted, since most cells
repeat a value. The two ways to write a missing value are known from the start.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from discbayes.datasets.dataset import Columns, Split

MISSING = ("", "?")
_ROWS_AT_A_TIME = 512


class _Numbers(dict[str, float]):
    """From the text of a cell to its number."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(MISSING, float("nan")))

    def __missing__(self, text: str) -> float:
        number = self[text] = float(text)
        return number


class _Texts(dict[str, str | None]):
    """From the text of a cell to the one string object that stands for it in the whole column."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(MISSING))

    def __missing__(self, text: str) -> str:
        self[text] = text
        return text


class _Column:
    """A column that grows by blocks of cells."""

    def __init__(self, name: str, numeric: bool) -> None:
        self.name = name
        self.known: _Numbers | _Texts = _Numbers() if numeric else _Texts()
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


def _blocks(rows: Iterable[list[str]]) -> Iterator[list[list[str]]]:
    remaining = iter(rows)
    while block := list(islice(remaining, _ROWS_AT_A_TIME)):
        yield block


def columns_from_rows(
    header: list[str], rows: Iterable[list[str]], numeric: Iterable[str], target: str
) -> Columns:
    """Convert rows of text to columns: numbers, the class, and categories as the rest."""
    numbers = set(numeric)
    columns = [_Column(name, name in numbers) for name in header]
    n_rows = 0
    for block in _blocks(rows):
        _check_widths(block, len(header), n_rows)
        n_rows += len(block)
        for column, cells in zip(columns, zip(*block, strict=True), strict=True):
            column.extend(cells)
    features = {column.name: column.values() for column in columns}
    return Columns(features, _labels(features.pop(target), target), target)


def _check_widths(block: list[list[str]], width: int, rows_before: int) -> None:
    for position, row in enumerate(block, start=rows_before + 1):
        if len(row) != width:
            raise ValueError(f"row {position} has {len(row)} cells, the header has {width}")


def _labels(values: np.ndarray, target: str) -> np.ndarray:
    n_missing = _count_missing(values)
    if n_missing:
        raise ValueError(f"the class {target!r} is missing in {n_missing} rows")
    return values.astype(str)


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
