"""Encoding of tables by the variables of a domain.

There are three ways, chosen per column: whole numbers by a lookup table, numbers with cut points by
comparison, and anything else by its value. Values match if they are equal: 1, 1.0 and True are the
same, and "1" is another one.

To read a table column by column has a cost per column, however few rows there are: most of the time
of a prediction for one row. So the cells of a few rows become Python objects, which are looked up
one by one. That is for tables of the same columns and cells of plain types; anything else, and all
that is refused or warned of, is left to `read_table` and `Codebook.encode`.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from discbayes._arrays import WithArrays
from discbayes.data.domain import Variable, code_dtype
from discbayes.data.histogram import refuse_infinite, table_offsets
from discbayes.data.mappings import mappings_of
from discbayes.data.table import (
    EXACT,
    CategoricalColumn,
    NumericColumns,
    Table,
    kernel_array,
    looks_numeric,
)
from discbayes.engine import parallel_map
from discbayes.kernels.encoding import cut_codes, lookup_codes

# whole numbers are looked up in a table while it has no more entries than this ...
_TABLE_SPAN = 1024
# ... with many columns, than their share of these, since many tables do not fit in a cache ...
_ALL_SPANS = 1 << 22
_SPARSE = 8  # ... or than this many per value
_FAR = 2**62

MANY_ROWS = 10  # with fewer rows, a column of new values only is not a sign of a mistake
_MAX_FEW = 64  # with more rows, whole columns take less time than single values
_PLAIN = frozenset((str, float, int, bool, type(None)))
# The types of columns whose cells tell all that matters. Those of categories, for example, do not:
# their levels are checked too.
_NUMBERS = {
    *("Float16DType", "Float32DType", "Float64DType", "BoolDType", "Int8DType", "Int16DType"),
    *("Int32DType", "Int64DType", "UInt8DType", "UInt16DType", "UInt32DType", "UInt64DType"),
}
_IN_PANDAS = {*_NUMBERS, "ObjectDType", "StringDtype"}
_IN_POLARS = {
    *("Float32", "Float64", "Boolean", "Int8", "Int16", "Int32", "Int64"),
    *("UInt8", "UInt16", "UInt32", "UInt64", "String"),
}


class Codebook(WithArrays):
    """The codes of the variables, laid out for the kernels.

    Examples
    --------
    >>> from discbayes.data.table_reader import read_table
    >>> size = Variable("size", "numeric", cuts=(1.5,))
    >>> color = Variable("color", "categorical", ("blue", "red"))
    >>> Codebook([size, color]).encode(read_table([[1.0, "red"], [2.0, "green"], [None, "blue"]]))
    array([[0, 1, 2],
           [1, 2, 0]], dtype=uint8)
    """

    def __init__(self, variables: Sequence[Variable]):
        self.variables = list(variables)
        self.missing = np.array([variable.card for variable in variables], dtype=np.int64)
        self.dtype = code_dtype(int(self.missing.max()))
        self._is_cut = np.array([variable.cuts is not None for variable in variables])
        self._lay_out_cuts()
        self._lay_out_tables()

    def _lay_out_cuts(self) -> None:
        cuts = [np.array(variable.cuts or (), dtype=np.float64) for variable in self.variables]
        self._n_cuts = np.array([part.size for part in cuts], dtype=np.int64)
        self._cut_offset = table_offsets(self._n_cuts)
        self._cuts = np.concatenate(cuts)

    def _lay_out_tables(self) -> None:
        span = min(_TABLE_SPAN, _ALL_SPANS // len(self.variables))
        tables = [_whole_table(variable, span) for variable in self.variables]
        self._has_table = np.array([table is not None for table in tables])
        found = [table or (0, np.zeros(0, dtype=np.int64)) for table in tables]
        self._low = np.array([low for low, _ in found], dtype=np.int64)
        self._size = np.array([codes.size for _, codes in found], dtype=np.int64)
        self._offset = table_offsets(self._size)
        self._table = np.concatenate([codes for _, codes in found]).astype(self.dtype)

    def encode(self, table: Table, n_jobs: int | None = None) -> np.ndarray:
        """Return the codes of a table with the same columns, feature-major."""
        if table.evidence:
            position, cells = next(iter(table.evidence.items()))
            row, cell = next(iter(cells.items()))
            raise ValueError(
                f"column {table.names[position]!r}, row {row} holds the evidence {cell!r}, where"
                " one value is needed: evidence of other kinds is for predict and its relatives,"
                " explain, value_of_information and query"
            )
        out = np.empty((len(self.variables), table.n_rows), dtype=self.dtype)
        tasks: list[Callable[[], None]] = []
        for part in table.parts:
            if isinstance(part, NumericColumns):
                tasks += self._numeric_tasks(part, out)
            else:
                tasks.append(partial(self._encode_labels, part, out))
        parallel_map(lambda task: task(), tasks, n_jobs, work=4 * out.size)
        return out

    def _numeric_tasks(self, block: NumericColumns, out: np.ndarray) -> list[Callable[[], None]]:
        columns = np.arange(block.positions.size)
        at = block.positions
        has_table = self._has_table[at] & block.whole
        is_cut = self._is_cut[at] & ~has_table
        by_table, by_cut = columns[has_table], columns[is_cut]
        by_value = columns[~has_table & ~is_cut]
        chunks = block.chunks() if by_value.size < columns.size else []
        return [
            *(partial(self._encode_rows, block, by_table, by_cut, rows, out) for rows in chunks),
            *(partial(self._encode_values, block, j, out) for j in by_value),
        ]

    def _encode_rows(
        self,
        block: NumericColumns,
        by_table: np.ndarray,
        by_cut: np.ndarray,
        rows: slice,
        out: np.ndarray,
    ) -> None:
        """Encode some rows of the columns that kernels can encode."""
        data, start = block.data[rows], rows.start
        if by_table.size:
            at = block.positions[by_table]
            lookup_codes(
                kernel_array(data), by_table, at, self._low[at], self._size[at], self._offset[at],
                self._table, start, out,
            )  # fmt: skip
        if by_cut.size:
            at = block.positions[by_cut]
            floats = kernel_array(data.astype(np.float64, copy=False))
            infinite = cut_codes(
                floats, by_cut, at, self._n_cuts[at], self._cut_offset[at], self._cuts,
                self.missing[at], start, out,
            )  # fmt: skip
            if infinite >= 0:
                refuse_infinite(floats[:, by_cut[infinite]], self.variables[at[infinite]].name)

    def _encode_values(self, block: NumericColumns, j: int, out: np.ndarray) -> None:
        """Encode one column by looking each value up among those of the variable."""
        at = block.positions[j]
        variable = self.variables[at]
        column = block.column(j)
        refuse_infinite(column, variable.name)
        keys, codes = _numeric_keys(variable)
        if not keys.size:
            out[at] = self.missing[at]
            return
        place = np.minimum(np.searchsorted(keys, column), keys.size - 1)
        out[at] = np.where(keys[place] == column, codes[place], self.missing[at])

    def _encode_labels(self, part: CategoricalColumn, out: np.ndarray) -> None:
        """Encode a column of labels by the codes of its levels."""
        variable = self.variables[part.position]
        missing = int(self.missing[part.position])
        if variable.cuts is None:
            known = self._value_codes[part.position].known
            codes = [known.get(level, missing) for level in part.levels]
        else:
            _refuse_text(variable, part.levels)
            codes = np.searchsorted(variable.cuts, part.levels, side="right").tolist()
        # the last one serves place -1
        out[part.position] = np.array([*codes, missing], dtype=self.dtype)[part.places]

    # ---- few rows

    def encode_few(self, X: Any, unseen: bool = True) -> np.ndarray | None:
        """Return the codes of a few rows; None if they have to be read column by column.

        Missing values have the code of the value "missing" if there is one.

        Parameters
        ----------
        X : object
            The rows. Frames of pandas and polars, mappings and lists of mappings may have codes.
        unseen : bool, default=True
            Whether values that a variable does not have get the code for missing. If not, or if a
            column of many rows has no other values, None is returned.

        Examples
        --------
        >>> codebook = Codebook([Variable("size", "numeric", cuts=(1.5,))])
        >>> codebook.encode_few([{"size": 2}, {"size": None}])
        array([[1, 2]], dtype=uint8)
        >>> codebook.encode_few({"size": "large"}) is None
        True
        """
        columns = self._cells(X)
        if columns is None:
            return None
        codes = []
        for column, values in zip(self._value_codes, columns, strict=True):
            found = column.encode(values, unseen)
            if found is None:
                return None
            codes.append(found)
        return np.array(codes, dtype=self.dtype)

    def _cells(self, X: Any) -> Iterable[Sequence[Any]] | None:
        """Return the cells of each column as Python objects; None if they are not plain."""
        library = type(X).__module__.partition(".")[0]
        if library not in ("pandas", "polars"):
            rows = mappings_of(X)
            return None if rows is None else self._cells_of_mappings(rows)
        if type(X) is not sys.modules[library].DataFrame or not 0 < len(X) <= _MAX_FEW:
            return None
        kinds = {type(dtype).__name__ for dtype in X.dtypes}
        if not kinds <= (_IN_PANDAS if library == "pandas" else _IN_POLARS):
            return None
        if list(X.columns) != [variable.name for variable in self.variables]:
            return None
        if library == "polars":
            return zip(*X.rows(), strict=True)
        if kinds <= _NUMBERS:
            return X.to_numpy().T.tolist()  # type: ignore[no-any-return]
        # the cells of one row are there far sooner than the objects of each column
        cells = X.iloc[0].to_numpy(object)[:, None] if len(X) == 1 else X.to_numpy(object).T
        return [[_as_python(value) for value in column] for column in cells]

    def _cells_of_mappings(self, rows: list[Mapping[Any, Any]]) -> list[list[Any]] | None:
        # where a missing value is a value of its own, a column that is left out is another case
        if len(rows) > _MAX_FEW or any(variable.reads_missing for variable in self.variables):
            return None
        names = [variable.name for variable in self.variables]
        known = set(names)
        if not all(row.keys() <= known for row in rows):
            return None
        return [[_as_python(row.get(name)) for row in rows] for name in names]

    @cached_property
    def _value_codes(self) -> list[_ValueCodes]:
        return [_ValueCodes(variable) for variable in self.variables]

    def __getstate__(self) -> dict[str, Any]:
        """Return all but the codes of single values, which follow from the variables."""
        return {name: part for name, part in vars(self).items() if name != "_value_codes"}

    def unseen(self, table: Table, codes: np.ndarray, position: int) -> list[Any]:
        """Return up to five values of a column of labels that its variable does not know."""
        variable = self.variables[position]
        if variable.cuts is not None:
            return []
        odd = codes[position] == self.missing[position]
        if not odd.any():
            return []
        part, j = table.find(position)
        if isinstance(part, CategoricalColumn):
            places = part.places[odd]
            return [part.levels[place] for place in np.unique(places[places >= 0])[:5]]
        column = part.column(j)[odd]
        return np.unique(column[~np.isnan(column)])[:5].tolist()


def _refuse_text(variable: Variable, levels: list[Any]) -> None:
    """Refuse labels that are strings in a column of numbers."""
    texts = [level for level in levels if isinstance(level, str)]
    if texts:
        odd = next((text for text in texts if not looks_numeric(text)), texts[0])
        raise ValueError(
            f"column {variable.name!r} was numeric at fit and now holds the string {odd!r}:"
            " cast it to numbers, with what is not a number as missing"
        )


def _numeric_keys(variable: Variable) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers among the values of a variable in rising order, and their codes."""
    pairs = sorted(
        (value, code) for code, value in enumerate(variable.values) if not isinstance(value, str)
    )
    keys = np.array([value for value, _ in pairs])
    if keys.dtype.kind not in "iuf":
        keys = keys.astype(np.float64)
    return keys, np.array([code for _, code in pairs], dtype=np.int64)


def _whole_table(variable: Variable, span: int) -> tuple[int, np.ndarray] | None:
    """Return the codes of a range of whole numbers, and its minimum; None if it is too long.

    The first and last codes are those of numbers below and above the range. A table depends on the
    variables alone, not on data.

    """
    if variable.cuts is not None:
        return _cut_table(np.array(variable.cuts, dtype=np.float64), span)
    pairs = [
        (int(value), code)
        for code, value in enumerate(variable.values)
        if not isinstance(value, str) and float(value).is_integer()
    ]
    missing = variable.card
    low = min((value for value, _ in pairs), default=0)
    high = max((value for value, _ in pairs), default=0)
    if high - low >= max(span, _SPARSE * len(pairs)) or max(abs(low), abs(high)) > _FAR:
        return None
    table = np.full(high - low + 3, missing, dtype=np.int64)
    for value, code in pairs:
        table[value - low + 1] = code
    return low, table


def _cut_table(cuts: np.ndarray, span: int) -> tuple[int, np.ndarray] | None:
    low = math.floor(cuts[0]) if cuts.size else 0
    high = math.ceil(cuts[-1]) if cuts.size else 0
    if high - low >= span or max(abs(low), abs(high)) >= EXACT:  # neighbors would be one float
        return None
    whole = np.arange(low - 1, high + 2)
    return low, np.searchsorted(cuts, whole.astype(np.float64), side="right")


def _as_python(value: Any) -> Any:
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
