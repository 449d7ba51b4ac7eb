"""One row, read from any of the forms that users pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from discbayes.data.date_columns import expand_known
from discbayes.data.dates import DatePart, with_parts
from discbayes.data.mappings import read_mappings
from discbayes.data.table import Table
from discbayes.data.table_reader import read_table

_NESTED = (list, tuple, np.ndarray, Mapping)


def one_row(x: Any, names: list[str], dates: Sequence[DatePart | None] = ()) -> Table:
    """Return a table of one row, given as frame, array, list of values or mapping.

    A mapping (or series) is of column names to values; columns that it leaves out are missing.

    >>> one_row({"size": 3}, ["color", "size"]).missing_mask().ravel()
    array([ True, False])
    """
    if isinstance(x, Mapping) or (hasattr(x, "items") and getattr(x, "ndim", 0) == 1):
        return read_mappings([with_parts(dict(x.items()), dates)], names)
    if isinstance(x, (list, tuple)) and x and not any(isinstance(cell, _NESTED) for cell in x):
        x = _as_row(x)
    elif getattr(x, "ndim", 0) == 1:
        x = np.asarray(x)[None, :]
    table = expand_known(read_table(x), dates, names)
    if table.n_rows != 1:
        raise ValueError(
            f"x has {table.n_rows} rows, and this looks at one: pass X[3:4], X.iloc[[3]], a list of"
            " the values of a row or a mapping of column names to values"
        )
    return table


def _as_row(cells: Iterable[Any]) -> np.ndarray:
    cells = list(cells)
    row = np.empty((1, len(cells)), dtype=object)
    row[0, :] = cells
    return row
