"""Rows as mappings of names to values: a column that a row does not name is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any

import numpy as np

from discbayes._text import listed, nearest_first
from discbayes.data.table import Table, default_names, find_column
from discbayes.data.table_reader import read_objects


def mappings_of(X: Any) -> list[Mapping[Any, Any]] | None:
    """Return the rows of a mapping, or of a list of mappings; None for anything else.

    >>> mappings_of({"size": 3})
    [{'size': 3}]
    >>> mappings_of([[1, 2]]) is None
    True
    """
    if isinstance(X, Mapping):
        return [X]
    if isinstance(X, (list, tuple)) and X and all(isinstance(row, Mapping) for row in X):
        return list(X)
    return None


def read_mappings(rows: Sequence[Mapping[Any, Any]], names: list[str]) -> Table:
    """Return rows as a table, with the columns in the order of their names.

    A cell that a row does not name is unknown; one that it names as None is missing, which may be a
    value.

    >>> read_mappings([{"size": 3}, {}], ["color", "size"]).missing_mask().T.tolist()
    [[True, False], [True, True]]
    """
    cells = np.full((len(rows), len(names)), None, dtype=object)
    unnamed = np.ones((len(names), len(rows)), dtype=bool)
    for number, row in enumerate(rows):
        where = "x has a value for" if len(rows) == 1 else f"row {number} has a value for"
        for place, value in zip(positions(row, names, where), row.values(), strict=True):
            cells[number, place] = _one_value(value, names[place])
            unnamed[place, number] = False
    parts = [
        read_objects(cells[:, place].tolist(), place, name) for place, name in enumerate(names)
    ]
    return Table(names=names, n_rows=len(rows), parts=parts, named=True, unnamed=unnamed)


def _one_value(value: Any, name: str) -> Any:
    """Return a value, and refuse several."""
    if (
        isinstance(value, Sized)
        and not isinstance(value, (str, bytes))
        and getattr(value, "ndim", None) != 0
    ):
        raise ValueError(
            f"column {name!r} has several values in a mapping, which is one row: pass a list of"
            " mappings, or a frame"
        )
    return value.item() if isinstance(value, np.ndarray) else value


def positions(columns: Iterable[Any], names: list[str], what: str) -> list[int]:
    """Return the positions of columns, each given once, by name.

    Where the names are x0, x1, ..., columns may also be given by position.
    """
    numbered = names == default_names(len(names))
    found: list[int] = []
    for column in columns:
        known = numbered or str(column) in names
        place = find_column(column, names) if known else None
        if place is None:
            nearest = listed(nearest_first(str(column), names)[:3])
            raise ValueError(f"{what} {column!r}, which is not a column; the nearest are {nearest}")
        if place in found:
            raise ValueError(f"{what} {names[place]!r} twice")
        found.append(place)
    return found
