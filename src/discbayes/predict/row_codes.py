"""Rows as people give them to codes and evidence, without any package but numpy."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from discbayes._text import listed, nearest_first
from discbayes.data.dates import parts_by_column, seconds_of_cells, with_parts
from discbayes.data.domain import Domain, Variable
from discbayes.data.evidence import Between, Evidence, Likelihood, Not, OneOf, certain_value
from discbayes.data.labels import is_missing, plain

_MANY_ROWS = 10  # of new values only in a column: a sign of a mistake
_SIDES = "inclusive"
_PLAIN = frozenset((str, float, int, bool, type(None)))
Cells = dict[int, dict[int, Evidence]]
Column = np.ndarray | Sequence[Any] | None  # None where nothing is known of it


class RowEncoder:
    """The codes of rows by the variables of a domain.

    Parameters
    ----------
    domain : Domain
        The columns.
    named : bool
        Whether the columns had names at fit.
    by_name : bool
        Whether columns may lack, and others be there.
    refuses_unknown : bool
        Whether values that the domain does not have are an error.
    """

    def __init__(self, domain: Domain, named: bool, by_name: bool, refuses_unknown: bool):
        self.domain = domain
        self.named = named
        self.by_name = by_name
        self.refuses_unknown = refuses_unknown
        self._position = {name: place for place, name in enumerate(domain.names)}
        self._dates = parts_by_column(domain.dates)

    def encode(self, columns: Sequence[Column], n_rows: int) -> tuple[np.ndarray, Cells]:
        """Return the codes of columns, and the cells of evidence by row and column.

        Evidence that leaves one value possible is that value.
        """
        codes = np.empty((len(columns), n_rows), dtype=np.int64)
        evidence: Cells = {}
        for place, (variable, cells) in enumerate(zip(self.domain.features, columns, strict=True)):
            if cells is None:
                codes[place] = variable.card
                continue
            found = [] if _is_numbers(cells) else _evidence(cells, variable)
            codes[place] = self._column(cells, variable, [row for row, _ in found])
            for row, kind in found:
                only = certain_value(kind, variable)
                codes[place, row] = variable.card if only is None else only
                if only is None:
                    evidence.setdefault(row, {})[place] = kind
        return codes, evidence

    def _column(self, cells: Any, variable: Variable, of_evidence: list[int]) -> np.ndarray:
        unnamed = np.zeros(len(cells), dtype=bool)
        if _is_numbers(cells):
            values, missing = cells, np.isnan(cells.astype(np.float64))
        else:
            unnamed = np.array([cell is _UNNAMED for cell in cells])
            unnamed[of_evidence] = True
            if _PLAIN.issuperset(map(type, cells)):
                values = [None if cell != cell else cell for cell in cells]
            else:
                values = [
                    None if unnamed[row] else _value(cell, variable, row)
                    for row, cell in enumerate(cells)
                ]
            missing = np.array([value is None for value in values])
            _refuse_mixture(values, variable)
        codes = self._known(values, variable, missing)
        unseen = (codes == variable.card) & ~missing
        if unseen.any():
            self._check_unseen(values, variable, unseen, missing)
        if variable.reads_missing:
            codes[missing & ~unnamed] = variable.card - 1
        return codes

    def _known(self, values: Any, variable: Variable, missing: np.ndarray) -> np.ndarray:
        """Return codes; those of missing values and of values that are not known are ``card``."""
        if variable.cuts is None:
            code_of = {value: code for code, value in enumerate(variable.values)}
            cells = values.tolist() if isinstance(values, np.ndarray) else values
            _refuse_infinite([cell for cell in cells if isinstance(cell, float)], variable)
            found = [code_of.get(cell, variable.card) for cell in cells]
            return np.array(found, dtype=np.int64)
        filled = [math.nan if cell is None else cell for cell in values]
        floats = _floats(values if isinstance(values, np.ndarray) else filled, variable)
        _refuse_infinite(floats[~missing], variable)
        codes = np.searchsorted(np.array(variable.cuts, dtype=np.float64), floats, side="right")
        return np.where(missing, variable.card, codes).astype(np.int64)

    def _check_unseen(
        self, values: Any, variable: Variable, unseen: np.ndarray, missing: np.ndarray
    ) -> None:
        odd = list(dict.fromkeys(values[row] for row in np.flatnonzero(unseen)[:100].tolist()))
        known = listed(variable.values)
        if self.refuses_unknown:
            raise ValueError(
                f"column {variable.name!r} holds {listed(odd, 5)}, which is none of its known"
                f" values ({known})"
            )
        if unseen.size >= _MANY_ROWS and (unseen | missing).all() and len(variable.values) > 1:
            warnings.warn(
                f"no value of column {variable.name!r} was seen at fit ({listed(odd, 5)} against"
                f" {known}), so the whole column counts as missing: give it the type that it had"
                " at fit",
                stacklevel=5,
            )

    # ---- columns of rows

    def columns(self, X: Any) -> tuple[list[Column], int]:
        """Return the cells of rows column by column, and the number of rows."""
        if isinstance(X, Mapping):
            is_column = [_is_column(value) for value in X.values()]
            if is_column and all(is_column):
                return self._named_columns(dict(X), by_name=self.by_name)
            if any(is_column):
                raise ValueError(
                    "a mapping is one row, or a table whose columns are all lists: some values"
                    " are lists and others are not"
                )
            return self._mappings([X])
        if isinstance(X, (list, tuple)) and X and all(isinstance(row, Mapping) for row in X):
            return self._mappings(X)
        names = getattr(X, "column_names", None) or getattr(X, "columns", None)
        if names is not None and hasattr(X, "__getitem__"):
            return self._named_columns({name: _cells_of(X[name]) for name in names}, self.by_name)
        return self._matrix(X)

    def _mappings(self, rows: Sequence[Mapping[Any, Any]]) -> tuple[list[Column], int]:
        """Return rows that name their columns; what no row names is unknown."""
        columns: list[list[Any]] = [[_UNNAMED] * len(rows) for _ in self._position]
        for number, row in enumerate(rows):
            for name, cell in with_parts(row, self.domain.dates).items():
                columns[self._place(name)][number] = cell
        return list(columns), len(rows)

    def _place(self, name: Any) -> int:
        """Return the position of a column; those without names may be given by number."""
        place = self._position.get(str(name))
        whole = isinstance(name, numbers.Integral) and not isinstance(name, bool)
        if place is None and whole and not self.named and 0 <= int(name) < len(self._position):
            return int(name)
        if place is None:
            near = listed(nearest_first(str(name), list(self._position)[:1000])[:3])
            raise ValueError(f"{str(name)!r:.80} is not a column; the nearest are {near}")
        return place

    def _named_columns(self, columns: Mapping[Any, Any], by_name: bool) -> tuple[list[Column], int]:
        given: dict[str, Any] = {str(name): cells for name, cells in columns.items()}
        if len(given) < len(columns):
            raise ValueError("two columns have the same name")
        n_rows = _one_length(list(given.values()))
        found = self._with_date_parts(given)
        if (
            not self.named
            and len(found) == len(self._position)
            and not found.keys() & self._position
        ):
            return list(found.values()), n_rows
        lacking = [name for name in self._position if name not in found]
        surplus = [name for name in found if name not in self._position]
        if (lacking or surplus) and not by_name:
            raise ValueError(
                f"the columns differ from those at fit: missing {listed(lacking)}; new"
                f" {listed(surplus)}"
            )
        if len(lacking) == len(self._position):
            raise ValueError(f"the rows have none of the columns of the fit: {listed(lacking)}")
        return [found.get(name) for name in self._position], n_rows

    def _with_date_parts(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return columns with the parts of dates in the place of dates."""
        found = dict(columns)
        for name in columns.keys() & self._dates.keys():
            seconds = seconds_of_cells(list(found.pop(name)), self._dates[name][0])
            found.update({part.name: part.values(seconds) for part in self._dates[name]})
        return found

    def _matrix(self, X: Any) -> tuple[list[Column], int]:
        array = _as_matrix(X)
        names = self.domain.columns
        if array.shape[1] != len(names):
            raise ValueError(f"the rows have {array.shape[1]} columns, and the model {len(names)}")
        if not array.shape[0]:
            raise ValueError("there are no rows")
        columns = [array[:, place] for place in range(array.shape[1])]
        if self._dates:
            return self._named_columns(dict(zip(names, columns, strict=True)), by_name=True)
        return [each if _is_numbers(each) else each.tolist() for each in columns], len(array)


class _Unnamed:
    """What a row has for a column that it does not name: unknown, and never a value "missing"."""

    def __repr__(self) -> str:
        return "(not named)"


_UNNAMED = _Unnamed()


def _is_column(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes, Mapping))


def _is_numbers(cells: Any) -> bool:
    return isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf"


def _cells_of(column: Any) -> Any:
    """Return a column of a frame as an array of numbers, or as a list of Python objects."""
    if isinstance(getattr(column, "dtype", None), np.dtype) and column.dtype.kind in "biuf":
        return np.asarray(column)
    for method in ("to_list", "to_pylist", "tolist"):
        if hasattr(column, method):
            return getattr(column, method)()
    raise TypeError(f"a column of the type {type(column).__name__} has no cells that can be read")


def _one_length(columns: Sequence[Any]) -> int:
    lengths = {len(cells) for cells in columns}
    if len(lengths) != 1 or not max(lengths):
        raise ValueError("a table needs at least one row, and columns of the same length")
    return lengths.pop()


def _as_matrix(X: Any) -> np.ndarray:
    """Return rows as an array, in which values keep their types."""
    if isinstance(X, np.ndarray):
        array = X
    elif isinstance(X, (list, tuple)):
        lengths = {len(row) if _is_column(row) else -1 for row in X}
        if len(lengths) != 1 or lengths == {-1}:
            raise ValueError("rows are lists of the same length, or mappings of names to values")
        array = np.empty((len(X), lengths.pop()), dtype=object)
        for number, row in enumerate(X):
            for place, cell in enumerate(row):
                array[number, place] = cell
    else:
        raise TypeError(
            f"rows are mappings, lists, arrays of two dimensions or frames, not {type(X).__name__}"
        )
    if array.ndim != 2:
        raise ValueError(f"an array of rows has two dimensions, not {array.ndim}")
    if array.dtype.kind not in "biufOUT":
        raise ValueError(f"an array of {array.dtype} has neither numbers nor labels")
    return array


# ---- cells


def _value(cell: Any, variable: Variable, row: int) -> Any:
    """Return a cell as a string, a number or a boolean; None for missing and unknown ones."""
    if cell is None or isinstance(cell, (str, bool)):
        return None if cell is None else plain(cell)
    if is_missing(cell):
        return None
    if isinstance(cell, (numbers.Real, np.bool_, Decimal)) and not isinstance(cell, np.timedelta64):
        return _number(cell, variable)
    raise ValueError(
        f"column {variable.name!r}, row {row} holds a value of the type {type(cell).__name__},"
        " which is neither a number, a string nor a boolean"
    )


def _number(cell: Any, variable: Variable) -> Any:
    number = plain(cell)
    try:
        as_float = float(number)
    except (OverflowError, ValueError):
        raise ValueError(
            f"column {variable.name!r} holds a number that is not a float: cast it to str"
        ) from None
    return number if isinstance(number, (bool, int, float)) else as_float


def _refuse_mixture(values: Sequence[Any], variable: Variable) -> None:
    texts = next((value for value in values if isinstance(value, str)), None)
    if texts is None:
        return
    if variable.cuts is not None:
        raise ValueError(
            f"column {variable.name!r} was numeric at fit and now holds the string {texts!r:.80}:"
            " cast it to numbers, with what is not a number as missing"
        )
    other = next((v for v in values if v is not None and not isinstance(v, str)), None)
    if other is not None:
        raise ValueError(
            f"column {variable.name!r} mixes strings and numbers, {texts!r:.80} and {other!r:.80}"
            " for example: cast it to one of them"
        )


def _floats(values: Any, variable: Variable) -> np.ndarray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"column {variable.name!r} holds what is not a number: {error}") from None


def _refuse_infinite(values: Any, variable: Variable) -> None:
    if np.isinf(values).any():
        raise ValueError(
            f"column {variable.name!r} contains infinity: replace it by a number, or by null for"
            " a missing value"
        )


def _evidence(cells: Iterable[Any], variable: Variable) -> list[tuple[int, Evidence]]:
    """Return the cells that are evidence of another kind than one value."""
    found = []
    for row, cell in enumerate(cells):
        if isinstance(cell, Mapping):
            try:
                found.append((row, read_evidence(cell)))
            except (TypeError, ValueError) as error:
                raise ValueError(f"column {variable.name!r}, row {row}: {error}") from None
        elif isinstance(cell, Evidence):
            found.append((row, cell))
    return found


def read_evidence(form: Mapping[str, Any]) -> Evidence:
    """Return evidence from its JSON form.

    Parameters
    ----------
    form : mapping
        ``{"one_of": [...]}``, ``{"not": [...]}``, ``{"between": [low, high]}`` with null for an
        open end, or ``{"likelihood": [[value, weight], ...]}``.

    Examples
    --------
    >>> read_evidence({"between": [None, 5]})
    Between(low=None, high=5.0, inclusive='both')
    """
    kinds = ("one_of", "not", "between", "likelihood")
    named = [name for name in form if name in kinds]
    if len(named) != 1 or set(form) - {named[0], *[_SIDES] * (named[0] == "between")}:
        raise ValueError(
            f"evidence is an object with one of the fields {', '.join(kinds)}, not"
            f" {listed(form, 5)}"
        )
    kind, content = named[0], form[named[0]]
    if not isinstance(content, (list, tuple)):
        raise ValueError(f"{kind} has a list, not {type(content).__name__}")
    if kind == "between":
        if len(content) != 2:
            raise ValueError("between has a low and a high end")
        low, high = content
        return Between(low, high, form.get(_SIDES, "both"))
    if kind != "likelihood":
        return OneOf(*content) if kind == "one_of" else Not(*content)
    if not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in content):
        raise ValueError("likelihood has pairs of a value and a weight")
    values = [plain(value) for value, _ in content]
    if len(set(values)) < len(values):
        raise ValueError("likelihood has a value twice")
    return Likelihood(dict(zip(values, (weight for _, weight in content), strict=True)))
