"""The variables of a table: the values of each column, or its cut points."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from discbayes._text import listed
from discbayes.data.dates import DatePart
from discbayes.data.discretize import DISCRETIZERS, CutPointDiscretizer, MDLPDiscretizer
from discbayes.data.domain import Domain, Ordered, Variable
from discbayes.data.histogram import (
    ClassLabels,
    CutPoints,
    Piece,
    column_ranges,
    range_tables,
    refuse_infinite,
    rising_numbers,
)
from discbayes.data.labels import check_levels, is_missing, plain
from discbayes.data.table import (
    CategoricalColumn,
    NumericColumns,
    Table,
    find_column,
    kernel_array,
    looks_numeric,
)
from discbayes.data.targets import DataWarning
from discbayes.engine import parallel_map
from discbayes.kernels.encoding import mark_present

# a string column with more distinct values than this, and in most rows a new one, is not a category
TEXT_VALUES = 50
_COUNT_SPAN = 1 << 12
# values of a text column from which on it is worth asking whether they are numbers
MANY_NUMBERS = 10
_DECIMAL_COMMAS = (
    'read it as numbers, with pandas.read_csv(..., decimal=",") if decimals follow the comma'
)
_NAMED = 20  # columns in a message
# words among numbers, and at most a quarter of the values, probably mark missing values
MAX_MARKS = 5


@dataclass(frozen=True)
class Target:
    """The class of each row: raw labels, codes, weights (None where all are one)."""

    labels: np.ndarray
    codes: np.ndarray
    classes: np.ndarray
    weight: np.ndarray | None

    def for_cuts(self) -> ClassLabels:
        """Return the labels for the search of cut points."""
        weight = np.ones(self.codes.size) if self.weight is None else self.weight
        return ClassLabels(self.codes, weight, self.classes.size)


@dataclass(frozen=True)
class Declared:
    """Known facts of columns, by position: categories, values, and parts of dates."""

    categories: frozenset[int]
    domains: Mapping[int, tuple[Any, ...]]
    dates: Mapping[int, DatePart] = field(default_factory=dict)


def resolve(
    categorical: Any, domains: Mapping[str, Sequence[Any]] | None, names: list[str]
) -> Declared:
    """Return the options ``categorical`` and ``domains`` as positions of columns."""
    known = {
        _position(name, names, "domains"): _domain(name, values)
        for name, values in (domains or {}).items()
    }
    return Declared(frozenset(_category_positions(categorical, names)), known)


def _category_positions(categorical: Any, names: list[str]) -> list[int]:
    if isinstance(categorical, str):
        if categorical not in ("auto", "all"):
            raise ValueError(
                'categorical must be "auto", "all", a list of columns or a mask; got'
                f" {categorical!r}"
            )
        return list(range(len(names))) if categorical == "all" else []
    if categorical is None or not hasattr(categorical, "__iter__"):
        raise ValueError(
            f'categorical must be "auto", "all", a list of columns or a mask; got {categorical!r}'
        )
    given = list(categorical)
    if given and all(isinstance(item, (bool, np.bool_)) for item in given):
        if len(given) != len(names):
            raise ValueError(
                f"the mask categorical has {len(given)} entries, but X has {len(names)} columns"
            )
        return [int(position) for position in np.flatnonzero(given)]
    return [_position(item, names, "categorical") for item in given]


def _position(item: Any, names: list[str], option: str) -> int:
    position = find_column(item, names)
    if position is not None:
        return position
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        raise ValueError(
            f"{option} names column {item}, but X has the columns 0 to {len(names) - 1}"
        )
    near = difflib.get_close_matches(str(item), names, n=3, cutoff=0.0)
    raise ValueError(
        f"{option} names a column {item!r} that X does not have; near: {listed(near, show=str)}"
    )


def _domain(name: Any, values: Sequence[Any]) -> tuple[Any, ...]:
    known = [plain(value) for value in values]
    if not known or any(map(is_missing, known)):
        raise ValueError(
            f"domains[{name!r}] must list the values of the column, without missing values; got"
            f" {list(values)!r}"
        )
    check_levels(known, str(name))
    if len(set(known)) < len(known):
        raise ValueError(f"domains[{name!r}] lists a value twice: {known!r}")
    return Ordered(known) if isinstance(values, Ordered) else tuple(known)


def resolve_discretizer(discretizer: Any, n_jobs: int | None) -> Any:
    """Return the transformer of the option ``discretizer``; None stays None."""
    if isinstance(discretizer, str) and discretizer in DISCRETIZERS:
        return DISCRETIZERS[discretizer](n_jobs=n_jobs)
    if discretizer is None or hasattr(discretizer, "fit"):
        return discretizer
    words = ", ".join(f'"{word}"' for word in DISCRETIZERS)
    raise ValueError(f"discretizer must be {words}, None or a transformer; got {discretizer!r}")


def fit_variables(
    table: Table, target: Target, declared: Declared, discretizer: Any, n_jobs: int | None = None
) -> list[Variable]:
    """Return the variable of each column."""
    found: dict[int, Variable] = {}
    pieces: list[Piece] = []
    for part in table.parts:
        if isinstance(part, CategoricalColumn):
            n_present = int(np.count_nonzero(part.places >= 0))
            seen = SeenLabels(part.levels, part.declared, part.text, n_present, part.ordered)
            found[part.position] = labels_variable(
                seen, table.names[part.position], part.position, declared
            )
            continue
        open_columns = _settle(part, table.names, declared, found)
        as_values = np.array(
            [discretizer is None or part.positions[j] in declared.categories for j in open_columns]
        )
        found.update(
            _value_variables(part, open_columns[as_values.astype(bool)], table.names, n_jobs)
        )
        pieces.append((part, open_columns[~as_values.astype(bool)]))
    pieces = [piece for piece in pieces if piece[1].size]
    found.update(_cut_variables(pieces, table.names, target, discretizer))
    if declared.dates and isinstance(discretizer, CutPointDiscretizer):
        found.update(_dates_that_tell(pieces, table.names, target, declared.dates, found))
    return [
        date_variable(found[position], declared.dates.get(position))
        for position in range(len(table.names))
    ]


def date_variable(variable: Variable, part: DatePart | None) -> Variable:
    """Return the variable of a column, which may be a part of dates."""
    return variable if part is None else replace(variable, date=part)


def _dates_that_tell(
    pieces: list[Piece],
    names: list[str],
    target: Target,
    dates: Mapping[int, DatePart],
    found: Mapping[int, Variable],
) -> dict[int, Variable]:
    """Return the variables of parts of dates; one without an informative cut point has no other."""
    of_dates = [
        (block, columns[[int(block.positions[j]) in dates for j in columns.tolist()]])
        for block, columns in pieces
    ]
    of_dates = [piece for piece in of_dates if piece[1].size]
    informative = MDLPDiscretizer().find_cuts(of_dates, names, target.for_cuts())
    return {
        at: informed_variable(found[at], bool(cuts.cuts.size)) for at, cuts in informative.items()
    }


def informed_variable(variable: Variable, is_informative: bool) -> Variable:
    """Return a numeric variable, with one interval unless it is informative."""
    return variable if is_informative else replace(variable, cuts=(), coarse_cuts=None)


def _settle(
    block: NumericColumns, names: list[str], declared: Declared, found: dict[int, Variable]
) -> np.ndarray:
    """Give columns whose values are known beforehand their variables; return the other columns."""
    left = []
    for j, at in enumerate(block.positions.tolist()):
        settled = settled_variable(names[at], at, block.boolean, declared)
        if settled is None:
            left.append(j)
        else:
            found[at] = settled
    return np.array(left, dtype=np.int64)


def settled_variable(
    name: str, position: int, boolean: bool, declared: Declared
) -> Variable | None:
    """Return the variable of a column whose values are known beforehand; None for others."""
    if position in declared.domains:
        return declared_variable(name, declared.domains[position])
    return Variable(name, "boolean", (False, True)) if boolean else None


def declared_variable(name: str, values: tuple[Any, ...]) -> Variable:
    """Return the variable of a column whose values are declared."""
    return Variable(name, "categorical", tuple(values), ordered=isinstance(values, Ordered))


@dataclass(frozen=True)
class SeenLabels:
    """The labels of a column: as in `CategoricalColumn`, with the number of present values."""

    levels: Sequence[Any]
    declared: bool
    text: bool
    n_present: int
    ordered: bool = False


def labels_variable(seen: SeenLabels, name: str, position: int, declared: Declared) -> Variable:
    """Return the variable of a column of labels."""
    if position in declared.domains:
        return declared_variable(name, declared.domains[position])
    if seen.declared:
        return Variable(name, "categorical", tuple(seen.levels), ordered=seen.ordered)
    if seen.text and position not in declared.categories:
        _warn_of_numbers(seen, name)
        _refuse_decimal_commas(seen, name)
        _refuse_free_text(seen, name)
    return Variable(name, "categorical", tuple(sorted(seen.levels)))


def _warn_of_numbers(seen: SeenLabels, name: str) -> None:
    """Warn of a column of text in which all values but a few words are numbers.

    These words probably mark missing values.
    """
    for is_number, commas in (
        (_is_number, ""),
        (_is_number_with_comma, f", and {_DECIMAL_COMMAS}"),
    ):
        words = sorted(level for level in seen.levels if not is_number(level))
        if (
            0 < len(words) <= min(MAX_MARKS, len(seen.levels) // 4)
            and len(seen.levels) >= MANY_NUMBERS
        ):
            warnings.warn(
                f"column {name!r} is text, so each of its values is a category, but all of them are"
                f" numbers except {listed(words)}: if these are missing values,"
                f" replace them by None{commas}",
                DataWarning,
                stacklevel=2,
            )
            return


def _refuse_decimal_commas(seen: SeenLabels, name: str) -> None:
    """Refuse text such as 3,14, whose values would each be a category."""
    commas = [level for level in seen.levels if "," in level]
    if (
        commas
        and len(seen.levels) >= MANY_NUMBERS
        and all(_is_number_with_comma(level) for level in seen.levels)
    ):
        raise ValueError(
            f"column {name!r} is text that looks like numbers with a comma, {commas[0]!r} for"
            f" example: {_DECIMAL_COMMAS}, or declare it with categorical=[{name!r}]"
        )


def _is_number(text: str) -> bool:
    """Return whether a text is a finite number.

    >>> [_is_number(text) for text in ("-1.5e3", "?", "nan")]
    [True, False, False]
    """
    return looks_numeric(text) and isfinite(float(text))


def _is_number_with_comma(text: str) -> bool:
    """Return whether a text is a number whose decimals, if it has any, follow a comma.

    >>> [_is_number_with_comma(text) for text in ("3,14", "3", "3.14", "1,2,3", "a,b")]
    [True, True, False, False, False]
    """
    return "." not in text and text.count(",") <= 1 and _is_number(text.replace(",", "."))


def _refuse_free_text(seen: SeenLabels, name: str) -> None:
    if len(seen.levels) > TEXT_VALUES and 2 * len(seen.levels) > seen.n_present:
        raise ValueError(
            f"column {name!r} looks like free text or an identifier: {len(seen.levels)} distinct"
            f" strings in {seen.n_present} rows ({seen.levels[0]!r:.60} for example). Drop it,"
            f" group its values, or declare it with categorical=[{name!r}]"
        )


def warn_of_unused(domain: Domain, discretizer: Any) -> None:
    """Warn of columns of a fit that are not used, since they have one interval or value only."""
    unused = domain.unused
    # with one class nothing can be learned, of which another message tells
    if not unused or domain.n_classes == 1:
        return
    numbers = any(variable.card == 1 and variable.cuts is not None for variable in domain.features)
    by_class = numbers and isinstance(resolve_discretizer(discretizer, None), MDLPDiscretizer)
    reason = "no cut point is informative, or there is one value only"
    if not by_class:
        reason = "one value only"
        n_dates = sum(one.date is not None for one in domain.features if one.name in unused)
        if n_dates:
            of_dates = "no cut point of the part of a date is informative"
            reason = of_dates if n_dates == len(unused) else f"{reason}, or {of_dates}"
    way_out = (
        '. discretizer="equal-frequency" uses all numbers that differ, and so does categorical=[…]'
        " for numbers that are labels"
    )
    message = (
        f"{some_columns_are(len(unused), domain)} not used ({reason}):"
        f" {listed(unused, _NAMED)}{way_out if by_class else ''}"
    )
    warnings.warn(message, DataWarning, stacklevel=4)


def some_columns_are(number: int, domain: Domain) -> str:
    """Return the beginning of a sentence on some of the columns."""
    if len(domain.features) == 1:
        return "1 column is"
    return f"{number} of {len(domain.features)} columns {'is' if number == 1 else 'are'}"


# Numbers as categories


def _value_variables(
    block: NumericColumns, columns: np.ndarray, names: list[str], n_jobs: int | None
) -> dict[int, Variable]:
    """Return variables whose values are the distinct numbers of a column."""
    counted = np.zeros(columns.size, dtype=bool)
    found: dict[int, Variable] = {}
    if block.whole and columns.size:
        low_high = column_ranges(block)[:, columns]
        span = low_high[1].astype(float) - low_high[0] + 1
        counted = span <= max(_COUNT_SPAN, block.data.shape[0])
        values = _present(block, columns[counted], low_high[:, counted], n_jobs)
        for j, present in zip(columns[counted], values, strict=True):
            found[int(block.positions[j])] = number_category(names[block.positions[j]], present)

    def run(j: int) -> tuple[int, Variable]:
        at = int(block.positions[j])
        return at, number_category(names[at], distinct_numbers(block, j, names[at]))

    return found | dict(
        parallel_map(run, columns[~counted].tolist(), n_jobs, work=50 * block.data.size)
    )


def distinct_numbers(block: NumericColumns, j: int, name: str) -> np.ndarray:
    """Return the distinct numbers of a column in rising order; both zeros are the positive one."""
    column = block.column(j)
    refuse_infinite(column, name)
    return rising_numbers(column[~np.isnan(column)]) + column.dtype.type(0)


def number_category(name: str, values: np.ndarray) -> Variable:
    """Return the variable whose values are numbers in rising order."""
    return Variable(name, "categorical", tuple(values.tolist()))


def _present(
    block: NumericColumns, columns: np.ndarray, low_high: np.ndarray, n_jobs: int | None
) -> list[np.ndarray]:
    """Return the values that occur in columns of whole numbers with small ranges."""
    low, sizes, offset = range_tables(low_high)

    def run(rows: slice) -> np.ndarray:
        seen = np.zeros(int(sizes.sum()), dtype=bool)
        mark_present(kernel_array(block.data[rows]), columns, low, offset, seen)
        return seen

    seen = np.logical_or.reduce(parallel_map(run, block.chunks(), n_jobs, work=block.data.size))
    parts = zip(low, offset, sizes, strict=True)
    return [least + np.flatnonzero(seen[first : first + size]) for least, first, size in parts]


# Numbers with cut points


def _cut_variables(
    pieces: list[Piece], names: list[str], target: Target, discretizer: Any
) -> dict[int, Variable]:
    if not pieces:
        return {}
    if isinstance(discretizer, CutPointDiscretizer):
        cuts = discretizer.find_cuts(pieces, names, target.for_cuts())
    else:
        cuts = {
            int(block.positions[j]): CutPoints(
                _transformer_cuts(discretizer, block.column(j), names[block.positions[j]], target)
            )
            for block, columns in pieces
            for j in columns
        }
    return {at: found.variable(names[at]) for at, found in cuts.items()}


def _transformer_cuts(
    discretizer: Any, column: np.ndarray, name: str, target: Target
) -> np.ndarray:
    """Return the cut points that a transformer finds in one column."""
    column = column.astype(np.float64)
    refuse_infinite(column, name)
    present = ~np.isnan(column)
    if not present.any():
        return np.zeros(0)
    options = {}
    if target.weight is not None and has_fit_parameter(discretizer, "sample_weight"):
        options["sample_weight"] = target.weight[present]
    fitted = clone(discretizer).fit(column[present, None], target.labels[present], **options)
    return _read_cuts(fitted)


def _read_cuts(fitted: Any) -> np.ndarray:
    readers: dict[str, Callable[[Any], Any]] = {
        "cut_points_": lambda cuts: cuts,
        "bin_edges_": lambda edges: edges[1:-1],
    }
    for attribute, inner in readers.items():
        if hasattr(fitted, attribute):
            cuts = np.asarray(inner(getattr(fitted, attribute)[0]), dtype=np.float64)
            return np.unique(cuts[np.isfinite(cuts)])
    raise TypeError(
        f"the discretizer {type(fitted).__name__} has neither cut_points_ nor bin_edges_ after fit,"
        ' so its intervals cannot be read: use "mdlp", "equal-frequency" or scikit-learn\'s'
        " KBinsDiscretizer"
    )
