"""Rows of a source that can be read only once, kept on disk between the passes.

The parts of the tables are stored as arrays, and labels as text: reading executes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from typing import IO, Any

import numpy as np

from discbayes._files import naming_file
from discbayes.data.table import CategoricalColumn, NumericColumns, Part, Table
from discbayes.streams.batch_rows import BatchRows
from discbayes.streams.workspace import Workspace


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
    }


def _read(file: IO[bytes], head: dict[str, Any]) -> BatchRows:
    parts = [_read_part(file, part) for part in head["parts"]]
    y = np.load(file, allow_pickle=False)
    weight = np.load(file, allow_pickle=False) if head["weighted"] else None
    table = Table(head["names"], head["n_rows"], parts, head["named"])
    return BatchRows(table, y, weight, head["where"], head["ends_block"])


def _read_part(file: IO[bytes], head: dict[str, Any]) -> Part:
    array = np.load(file, allow_pickle=False)
    if "positions" in head:
        return NumericColumns(array, np.array(head["positions"]), head["boolean"])
    return CategoricalColumn(
        head["position"], array, head["levels"], head["declared"], head["text"]
    )
