"""Few rows: mappings of names to values, and codes value by value.

A column that a mapping does not name is unknown. Reading a table column by column has a cost per
column, however few rows there are: most of the time of a prediction for one row. So the cells of a
few rows become Python objects, which are looked up one by one. Only tables of the columns of the
fit and cells of plain types are read in this way; anything else, and all that is refused or warned
of, is left to `read_table` and `Codebook`.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any

import numpy as np

from discbayes._text import listed, nearest_first
from discbayes.data.domain import Variable
from discbayes.data.table import EXACT, Table, default_names, find_column
from discbayes.data.table_reader import read_objects

MANY_ROWS = 10  # with fewer rows, a column of new values only is not a sign of a mistake
_MAX_ROWS = 64  # with more of them, whole columns take less time
_PLAIN = frozenset((str, float, int, bool, type(None)))
# The types of columns whose cells tell all that matters. Categories, for example, do not: their
# levels are checked too.
_NUMBERS = {
    *("Float16DType", "Float32DType", "Float64DType", "BoolDType", "Int8DType", "Int16DType"),
    *("Int32DType", "Int64DType", "UInt8DType", "UInt16DType", "UInt32DType", "UInt64DType"),
}
_IN_PANDAS = {*_NUMBERS, "ObjectDType", "StringDtype"}
_IN_POLARS = {
    *("Float32", "Float64", "Boolean", "Int8", "Int16", "Int32", "Int64"),
    *("UInt8", "UInt16", "UInt32", "UInt64", "String"),
}


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


class FewRowsEncoder:
    """The codes of the values of variables, for one value at a time.

    It is made anew from the variables wherever it is unpickled.

    Examples
    --------
    >>> size = Variable("size", "numeric", cuts=(1.5,))
    >>> color = Variable("color", "categorical", ("blue", "red"))
    >>> encoder = FewRowsEncoder([size, color], np.uint8)
    >>> encoder.encode([{"size": 2, "color": "red"}, {"size": None}])
    array([[1, 2],
           [1, 2]], dtype=uint8)
    >>> encoder.encode([{"size": "large"}]) is None
    True
    """

    def __init__(self, variables: Sequence[Variable], dtype: Any):
        self._arguments = (variables, dtype)
        self._names = [variable.name for variable in variables]
        self._columns = [_ValueCodes(variable) for variable in variables]
        self._dtype = dtype
        self._reads_missing = any(variable.reads_missing for variable in variables)

    def __reduce__(self) -> Any:
        return FewRowsEncoder, self._arguments

    def encode(self, X: Any, unseen: bool = True) -> np.ndarray | None:
        """Return the codes of a table; None if it has to be read column by column.

        Parameters
        ----------
        X : object
            The rows. Frames of pandas and polars, mappings and lists of mappings may have codes.
        unseen : bool, default=True
            Whether values that a variable does not have get the code for missing. If not, or if a
            column of many rows has no other values, None is returned.
        """
        columns = self._read(X)
        if columns is None:
            return None
        codes = []
        for column, values in zip(self._columns, columns, strict=True):
            found = column.encode(values, unseen)
            if found is None:
                return None
            codes.append(found)
        return np.array(codes, dtype=self._dtype)

    def _read(self, X: Any) -> Iterable[Sequence[Any]] | None:
        """Return the cells of each column as Python objects; None if they are not plain."""
        library = type(X).__module__.partition(".")[0]
        if library not in ("pandas", "polars"):
            rows = mappings_of(X)
            return None if rows is None else self._read_mappings(rows)
        if not 0 < len(X) <= _MAX_ROWS:
            return None
        if type(X) is not sys.modules[library].DataFrame or list(X.columns) != self._names:
            return None
        kinds = {type(dtype).__name__ for dtype in X.dtypes}
        if library == "polars":
            return zip(*X.rows(), strict=True) if kinds <= _IN_POLARS else None
        if not kinds <= _IN_PANDAS:
            return None
        if kinds <= _NUMBERS:
            return X.to_numpy().T.tolist()  # type: ignore[no-any-return]
        # the cells of one row are far sooner there than the objects of each column
        cells = X.iloc[0].to_numpy(object)[:, None] if len(X) == 1 else X.to_numpy(object).T
        return [[_plain(value) for value in column] for column in cells]

    def _read_mappings(self, rows: list[Mapping[Any, Any]]) -> Iterable[Sequence[Any]] | None:
        # where a missing value is a value of its own, a column that is left out is another case
        if self._reads_missing or len(rows) > _MAX_ROWS:
            return None
        known = set(self._names)
        if not all(row.keys() <= known for row in rows):
            return None
        return [[_plain(row.get(name)) for row in rows] for name in self._names]


def _plain(value: Any) -> Any:
    """Return a scalar of numpy as the Python object that it equals, and all else as it is."""
    return value.item() if isinstance(value, np.generic) else value


class _ValueCodes:
    """The codes of single values of one variable."""

    def __init__(self, variable: Variable):
        self.cuts = variable.cuts
        self.unseen = variable.card
        self.missing = variable.card - 1 if variable.reads_missing else variable.card
        self.known = {value: code for code, value in enumerate(variable.values)}
        self.known[None] = self.missing

    def encode(self, values: Sequence[Any], unseen: bool) -> list[int] | None:
        """Return the codes of values; None if they are not all plain, or are to be refused."""
        if not _PLAIN.issuperset(map(type, values)):
            return None
        values = [None if value != value else value for value in values]
        kinds = set(map(type, values))
        if str in kinds:
            if self.cuts is not None or not kinds <= {str, type(None)}:
                return None
        # neither infinities nor whole numbers that a float does not hold
        elif any(abs(value) >= EXACT for value in values if value is not None):
            return None
        if self.cuts is not None:
            cuts, missing = self.cuts, self.missing
            return [missing if value is None else bisect_right(cuts, value) for value in values]
        codes = [self.known.get(value, -1) for value in values]
        if -1 not in codes:
            return codes
        cells = zip(values, codes, strict=True)
        if not unseen or (
            len(codes) >= MANY_ROWS and all(code < 0 or value is None for value, code in cells)
        ):
            return None
        return [self.unseen if code < 0 else code for code in codes]
