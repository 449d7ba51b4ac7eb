"""Reading the rows of a source several times: all of them, or without those that are held out.

The rows of a source that can be read only once are kept on disk: the parts of the tables as arrays,
labels as text, so that reading executes nothing.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import astuple, replace
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np

from discbayes._files import naming_file
from discbayes.data import row_blocks
from discbayes.data.dates import DatePart
from discbayes.data.folds import KeyedRows
from discbayes.data.row_keys import RowKeys
from discbayes.data.table import CategoricalColumn, NumericColumns, Part, Table
from discbayes.data.targets import Shares
from discbayes.streams.batch_rows import BatchRows, Classes, Reader, WeightTotals, refuse_change
from discbayes.streams.disk_codes import Workspace


class BatchCache:
    """A temporary file of rows, which are read after the last one was written."""

    def __init__(self, space: Workspace):
        self._space = space
        self._path = space.path / "rows"
        self._file: IO[bytes] | None = None

    def write(self, rows: BatchRows) -> None:
        """Add rows."""
        if self._file is None:
            self._file = open(self._path, "wb")  # noqa: SIM115 - open until the last rows
        with self._space.writing(2 * self._file.tell(), "the rows of the iterator"):
            _write(self._file, rows)

    def close(self) -> None:
        """End writing."""
        if self._file is not None and not self._file.closed:
            with self._space.writing(2 * self._file.tell(), "the rows of the iterator"):
                self._file.close()

    def read(self) -> Iterator[BatchRows]:
        """Yield all rows, in the order of writing."""
        with naming_file(self._path), open(self._path, "rb") as file:
            while line := file.readline():
                yield _read(file, json.loads(line))


def _write(file: IO[bytes], rows: BatchRows) -> None:
    table = rows.table
    head = {
        "names": table.names,
        "named": table.named,
        "n_rows": table.n_rows,
        "where": rows.where,
        "ends_block": rows.ends_block,
        "weighted": rows.weight is not None,
        "parts": [_part_head(part) for part in table.parts],
        "dates": [(at, *astuple(part)) for at, part in (table.dates or {}).items()],
    }
    file.write(json.dumps(head).encode() + b"\n")
    for part in table.parts:
        _save(file, part.data if isinstance(part, NumericColumns) else part.places)
    _save(file, rows.y)
    if rows.weight is not None:
        _save(file, rows.weight)


def _save(file: IO[bytes], array: np.ndarray) -> None:
    """Write an array; the errors of numpy itself do not tell that the disk is full."""
    content = BytesIO()
    np.save(content, array, allow_pickle=False)
    file.write(content.getbuffer())


def _part_head(part: Part) -> dict[str, Any]:
    if isinstance(part, NumericColumns):
        return {"positions": part.positions.tolist(), "boolean": part.boolean}
    return {
        "position": part.position,
        "levels": part.levels,
        "declared": part.declared,
        "text": part.text,
        "ordered": part.ordered,
    }


def _read(file: IO[bytes], head: dict[str, Any]) -> BatchRows:
    parts = [_read_part(file, part) for part in head["parts"]]
    y = np.load(file, allow_pickle=False)
    weight = np.load(file, allow_pickle=False) if head["weighted"] else None
    dates = {at: DatePart(*part) for at, *part in head["dates"]}
    table = Table(head["names"], head["n_rows"], parts, head["named"], dates=dates)
    return BatchRows(table, y, weight, head["where"], head["ends_block"])


def _read_part(file: IO[bytes], head: dict[str, Any]) -> Part:
    array = np.load(file, allow_pickle=False)
    if "positions" in head:
        return NumericColumns(array, np.array(head["positions"]), head["boolean"])
    stated = {name: head[name] for name in ("declared", "text", "ordered")}
    return CategoricalColumn(head["position"], array, head["levels"], **stated)


class RereadRows:
    """The rows of a source, which are read as often as needed.

    Temporary files are removed by `close`.

    Parameters
    ----------
    reader : Reader
        The reader of the source.
    folder : path, optional
        The folder for temporary files; by default that of the system.
    """

    def __init__(self, reader: Reader, folder: str | Path | None = None):
        self.reader = reader
        self.space = Workspace(folder)
        self._cache = BatchCache(self.space) if reader.source.once else None
        self._classes: Classes | None = None  # that number the labels of cached rows
        self._n_rows: int | None = None
        self._shares: Shares | None = None

    def scale_shares(self, weights: WeightTotals) -> bool:
        """Return whether the weights are shares of rows: from now on they have a mean of 1."""
        if self._shares is not None or not weights.needed:
            return False
        self._shares = Shares.of(weights.total, weights.n_positive)
        return self._shares is not None

    def rows(self, classes: Classes, weights: WeightTotals, missing: str) -> Iterator[BatchRows]:
        """Yield the rows that count; add classes and weights to those that are known."""
        n_rows = 0
        for rows in self._scaled(classes, weights, missing):
            n_rows += rows.y.size
            yield replace(rows, share=n_rows / self._n_rows) if self._n_rows else rows
        if self._n_rows not in (None, n_rows):
            refuse_change(self.reader.name)
        self._n_rows = n_rows

    def _scaled(self, classes: Classes, weights: WeightTotals, missing: str) -> Iterator[BatchRows]:
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
            numbers = classes.merge(self._classes)
            for rows in self._cache.read():
                weights.add(rows.weight, rows.y.size)
                yield replace(rows, y=numbers[rows.y])

    def close(self) -> None:
        """Remove the temporary files."""
        if self._cache is not None:
            with suppress(OSError):
                self._cache.close()
        self.space.close()

    def __enter__(self) -> RereadRows:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class WithoutHeldOut:
    """The rows of a source without those that are held out, or without a part of their weight.

    Parameters
    ----------
    reading : RereadRows
        All rows.
    held_rows : ndarray
        The numbers of the held-out rows, in rising order.
    held_out : ndarray
        The weight that is held out of each of them.
    omitted : ndarray
        The numbers of further rows that are left out, in rising order.

    Attributes
    ----------
    see : callable
        Called with the held-out rows of each batch, while the others are read.
    """

    def __init__(
        self,
        reading: RereadRows,
        held_rows: np.ndarray,
        held_out: np.ndarray,
        omitted: np.ndarray,
    ):
        self.reader = reading.reader
        self._reading = reading
        self._held_rows = held_rows
        self._held_out = held_out
        self._omitted = omitted
        self.see: Callable[[Table], None] = lambda table: None

    def rows(self, classes: Classes, weights: WeightTotals, missing: str) -> Iterator[BatchRows]:
        """Yield the rows that are not held out, with the weights that are not held out."""
        first = 0
        for rows in self._reading.rows(classes, WeightTotals(), missing):
            end = first + rows.y.size
            among = slice(*np.searchsorted(self._held_rows, [first, end]))
            beside = slice(*np.searchsorted(self._omitted, [first, end]))
            rest = self._rest_of(
                rows,
                self._held_rows[among] - first,
                self._held_out[among],
                self._omitted[beside] - first,
            )
            weights.add(rest.weight, rest.y.size)
            yield rest
            first = end

    def _rest_of(
        self, rows: BatchRows, held_rows: np.ndarray, held_out: np.ndarray, omitted: np.ndarray
    ) -> BatchRows:
        if not held_rows.size and not omitted.size:
            return rows
        if held_rows.size:
            self.see(rows.table.take(held_rows))
        weight = np.ones(rows.y.size) if rows.weight is None else rows.weight.copy()
        weight[held_rows] -= held_out
        weight[omitted] = 0.0
        kept = weight > 0
        return replace(rows, table=rows.table.take(kept), y=rows.y[kept], weight=weight[kept])


class KeyFile:
    """The keys, classes and weights of rows on disk, by which they are assigned to folds."""

    def __init__(self, space: Workspace):
        self._space = space
        self._keys = RowKeys()
        self._paths = {name: space.path / name for name in ("keys", "classes", "weights")}
        self._n_rows = 0
        self._weighted = False

    def begin(self) -> None:
        """Begin the first pass, or begin it again."""
        self._keys = RowKeys()

    def look(self, rows: BatchRows) -> None:
        """Look at rows in the first pass."""
        self._keys.look(rows.table, rows.y, rows.weight)

    def settle(self, class_codes: np.ndarray) -> None:
        """End the first pass; class ``c`` of its rows is ``class_codes[c]``."""
        self._keys.settle(class_codes)

    def write(self, rows: BatchRows, classes: np.ndarray, weighted: bool) -> None:
        """Add rows in the second pass.

        Parameters
        ----------
        rows : BatchRows
            The rows.
        classes : ndarray
            Their class codes.
        weighted : bool
            Whether any row of the source has a weight other than one.
        """
        self._weighted = weighted
        self._n_rows += classes.size
        weight = np.ones(classes.size) if rows.weight is None else rows.weight
        with self._space.writing(20 * self._n_rows, "the keys of the rows"):
            _append(self._paths["keys"], self._keys.rows(rows.table))
            _append(self._paths["classes"], classes.astype(np.int32))
            if weighted:
                _append(self._paths["weights"], weight)

    def blocks(self) -> Iterator[KeyedRows]:
        """Yield all rows, block by block."""
        for first in range(0, self._n_rows, row_blocks.ROWS_OF_BLOCK):
            n_rows = min(row_blocks.ROWS_OF_BLOCK, self._n_rows - first)
            keys = _part(self._paths["keys"], np.uint64, first, n_rows)
            weight = (
                _part(self._paths["weights"], np.float64, first, n_rows) if self._weighted else None
            )
            yield KeyedRows(keys, _part(self._paths["classes"], np.int32, first, n_rows), weight)


def _append(path: Path, array: np.ndarray) -> None:
    with open(path, "ab") as file:
        file.write(array.data)


def _part(path: Path, dtype: Any, first: int, n_rows: int) -> np.ndarray:
    with naming_file(path):
        found = np.fromfile(path, dtype, n_rows, offset=first * np.dtype(dtype).itemsize)
    if found.size < n_rows:  # numpy returns fewer without an error
        raise OSError(errno.EIO, "cannot be read in full", str(path))
    return found
