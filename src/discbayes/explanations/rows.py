"""One row, in whatever form it comes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from discbayes._text import nearest_first
from discbayes.data.columns import Table, default_names, find_column
from discbayes.data.reading import read_table

_NESTED = (list, tuple, np.ndarray, Mapping)


def one_row(x: Any, names: list[str]) -> Table:
    """A row as a table: a frame or array of one row, a list of values, or a mapping (a series) of names to values.

    What a mapping leaves out is missing.

    >>> one_row({"size": 3}, ["colour", "size"]).gaps().ravel()
    array([ True, False])
    """
    if isinstance(x, Mapping) or (hasattr(x, "items") and getattr(x, "ndim", 0) == 1):
        return read_table(_ordered(dict(x.items()), names))
    if isinstance(x, (list, tuple)) and x and not any(isinstance(cell, _NESTED) for cell in x):
        x = _as_row(x)
    elif getattr(x, "ndim", 0) == 1:
        x = np.asarray(x)[None, :]
    table = read_table(x)
    if table.n_rows != 1:
        raise ValueError(
            f"x has {table.n_rows} rows, and this looks at one: pass X[3:4], X.iloc[[3]], a list of the values of a "
            "row or a mapping of column names to values"
        )
    return table


def _as_row(cells: Iterable[Any]) -> np.ndarray:
    cells = list(cells)
    row = np.empty((1, len(cells)), dtype=object)
    row[0, :] = cells
    return row


def _ordered(values: dict[Any, Any], names: list[str]) -> np.ndarray:
    """The values in the order of the columns, None for those that are left out."""
    places = positions(values, names, "x has a value for")
    row: list[Any] = [None] * len(names)
    for place, value in zip(places, values.values(), strict=True):
        row[place] = value
    return _as_row(row)


def positions(columns: Iterable[Any], names: list[str], what: str) -> list[int]:
    """The positions of columns that are given by name (or by position, where the names are x0, x1, …), each once."""
    numbered = names == default_names(len(names))
    found: list[int] = []
    for column in columns:
        known = numbered or str(column) in names
        place = find_column(column, names) if known else None
        if place is None:
            nearest = ", ".join(map(repr, nearest_first(str(column), names)[:3]))
            raise ValueError(f"{what} {column!r}, which is no column; the nearest are {nearest}")
        if place in found:
            raise ValueError(f"{what} {names[place]!r} twice")
        found.append(place)
    return found
