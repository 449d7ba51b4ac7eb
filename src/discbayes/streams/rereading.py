"""The rows of a source as often as they are needed, all of them or without those that are held out.

What can be read only once is kept on disk as it was read.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np

from discbayes._files import naming_file
from discbayes.data import row_blocks
from discbayes.data.folds import KeyedRows
from discbayes.data.row_keys import RowKeys
from discbayes.data.table import Table
from discbayes.data.targets import Shares
from discbayes.streams.batch_cache import BatchCache
from discbayes.streams.batch_rows import BatchRows, Classes, Reader, WeightTotals
from discbayes.streams.limits import Limits
from discbayes.streams.workspace import Workspace


class RowReader(Protocol):
    """What the passes go over: the rows of a reader, of a reading, or what is left of them."""

    @property
    def limits(self) -> Limits:
        """The bounds of memory."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def named(self) -> bool:
        """Whether columns have names of their own; known once rows were read."""

    @property
    def target_name(self) -> Any:
        """What the target is called, if anything."""

    def rows(self, classes: Classes, weights: WeightTotals, missing: str) -> Iterator[BatchRows]:
        """The rows that count; classes and weights are added to those that are known."""


class OfReader:
    """Rows that a reader reads, and what it knows of them."""

    reader: Reader

    @property
    def limits(self) -> Limits:
        """The bounds of memory."""
        return self.reader.limits

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.reader.name

    @property
    def named(self) -> bool:
        """Whether columns have names of their own."""
        return self.reader.named

    @property
    def target_name(self) -> Any:
        """What the target is called, if anything."""
        return self.reader.target_name


class RereadRows(OfReader):
    """The rows of a reader again and again; temporary files go when this is closed."""

    def __init__(self, reader: Reader, folder: str | Path | None = None):
        self.reader = reader
        self.space = Workspace(folder)
        self._cache = BatchCache(self.space) if reader.source.once else None
        self._classes: Classes | None = None  # by which the classes of kept rows are numbered
        self._n_rows: int | None = None
        self._shares: Shares | None = None

    def take_for_shares(self, weights: WeightTotals) -> bool:
        """Whether the weights of all rows turn out to be shares of rows: from now on they have a
        mean of 1.
        """
        if self._shares is not None or not weights.needed:
            return False
        self._shares = Shares.of(weights.total, weights.n_positive)
        return self._shares is not None

    def rows(self, classes: Classes, weights: WeightTotals, missing: str) -> Iterator[BatchRows]:
        """The rows that count; classes and weights are added to those that are known."""
        n_rows = 0
        for rows in self._counted(classes, weights, missing):
            n_rows += rows.y.size
            yield replace(rows, share=n_rows / self._n_rows) if self._n_rows else rows
        if self._n_rows not in (None, n_rows):
            refuse_change(self.name)
        self._n_rows = n_rows

    def _counted(
        self, classes: Classes, weights: WeightTotals, missing: str
    ) -> Iterator[BatchRows]:
        if self._shares is None:
            yield from self._read(classes, weights, missing)
            return
        for rows in self._read(classes, WeightTotals(), missing):
            assert rows.weight is not None
            weight = self._shares.scaled(rows.weight)
            weights.add(weight, weight.size)
            yield replace(rows, weight=weight)

    def _read(self, classes: Classes, weights: WeightTotals, missing: str) -> Iterator[BatchRows]:
        if self._cache is None:
            yield from self.reader.rows(classes, weights, missing)
        elif self._classes is None:
            for rows in self.reader.rows(classes, weights, missing):
                self._cache.write(rows)
                yield rows
            self._cache.close()
            self._classes = classes
        else:
            numbers = classes.take_in(self._classes)
            for rows in self._cache.read():
                weights.add(rows.weight, rows.y.size)
                yield replace(rows, y=numbers[rows.y])

    def close(self) -> None:
        """Remove what was kept."""
        if self._cache is not None:
            with suppress(OSError):
                self._cache.close()
        self.space.close()

    def __enter__(self) -> RereadRows:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class WithoutHeldOut(OfReader):
    """The rows of a reading without what is held out of some of them, given by their numbers in
    rising order.

    ``see`` is shown the rows that are held out, batch by batch, as they are passed.
    """

    def __init__(self, reading: RereadRows, held_rows: np.ndarray, held_out: np.ndarray):
        self.reader = reading.reader
        self._reading, self._held_rows, self._held_out = reading, held_rows, held_out
        self.see: Callable[[Table], None] = lambda table: None

    def rows(self, classes: Classes, weights: WeightTotals, missing: str) -> Iterator[BatchRows]:
        """The rows that are left, by the weights that are left."""
        first = 0
        for rows in self._reading.rows(classes, WeightTotals(), missing):
            end = first + rows.y.size
            among = slice(*np.searchsorted(self._held_rows, [first, end]))
            rest = self._rest_of(rows, self._held_rows[among] - first, self._held_out[among])
            weights.add(rest.weight, rest.y.size)
            yield rest
            first = end

    def _rest_of(self, rows: BatchRows, held_rows: np.ndarray, held_out: np.ndarray) -> BatchRows:
        if not held_rows.size:
            return rows
        self.see(rows.table.take(held_rows))
        weight = np.ones(rows.y.size) if rows.weight is None else rows.weight.copy()
        weight[held_rows] -= held_out
        kept = weight > 0
        return replace(rows, table=rows.table.take(kept), y=rows.y[kept], weight=weight[kept])


class KeyFile:
    """What rows are dealt out by, on disk: their keys, classes and weights."""

    def __init__(self, space: Workspace):
        self._space, self._keys = space, RowKeys()
        self._paths = {name: space.path / name for name in ("keys", "classes", "weights")}
        self._n_rows = 0
        self._weighted = False

    def begin(self) -> None:
        """Begin the first pass, perhaps once more."""
        self._keys = RowKeys()

    def look(self, rows: BatchRows) -> None:
        """Look at rows in the first pass."""
        self._keys.look(rows.table, rows.y, rows.weight)

    def settle(self, class_codes: np.ndarray) -> None:
        """End the first pass; class ``c`` of its rows is ``class_codes[c]``."""
        self._keys.settle(class_codes)

    def write(self, rows: BatchRows, classes: np.ndarray, weighted: bool) -> None:
        """Add rows in the second pass; ``weighted`` says whether any row at all counts other than
        once.
        """
        self._weighted, self._n_rows = weighted, self._n_rows + classes.size
        weight = np.ones(classes.size) if rows.weight is None else rows.weight
        with self._space.writing(20 * self._n_rows, "the keys of the rows"):
            _append(self._paths["keys"], self._keys.rows(rows.table))
            _append(self._paths["classes"], classes.astype(np.int32))
            if weighted:
                _append(self._paths["weights"], weight)

    def portions(self) -> Iterator[KeyedRows]:
        """All rows, block by block."""
        for first in range(0, self._n_rows, row_blocks.ROWS_OF_BLOCK):
            n_rows = min(row_blocks.ROWS_OF_BLOCK, self._n_rows - first)
            keys = _part(self._paths["keys"], np.uint64, first, n_rows)
            weight = (
                _part(self._paths["weights"], np.float64, first, n_rows) if self._weighted else None
            )
            yield KeyedRows(keys, _part(self._paths["classes"], np.int32, first, n_rows), weight)


def refuse_change(name: str) -> NoReturn:
    """Say that a source is not what it was."""
    raise RuntimeError(
        f"{name} has changed between the passes: fit again while nobody writes to it"
    )


def _append(path: Path, array: np.ndarray) -> None:
    with open(path, "ab") as file:
        file.write(array.data)


def _part(path: Path, dtype: Any, first: int, n_rows: int) -> np.ndarray:
    with naming_file(path):
        found = np.fromfile(path, dtype, n_rows, offset=first * np.dtype(dtype).itemsize)
    if found.size < n_rows:  # numpy does not say so
        raise OSError(errno.EIO, "cannot be read in full", str(path))
    return found
