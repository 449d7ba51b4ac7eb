"""Summaries of single columns, batch by batch, from which their variables are learned.

A summary holds the labels that occur, the numbers that occur, or the distribution of the numbers
that are discretized. The variables are made by the code that also learns the domain of a table in
memory (`discbayes.data.variables`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

from discbayes._text import listed
from discbayes.data.discretize import CutPointDiscretizer, MDLPDiscretizer
from discbayes.data.domain import Variable
from discbayes.data.histogram import ClassLabels, refuse_infinite, rising_numbers
from discbayes.data.labels import check_levels
from discbayes.data.table import EXACT, CategoricalColumn, NumericColumns, Part
from discbayes.data.variables import (
    Declared,
    SeenLabels,
    distinct_numbers,
    informed_variable,
    labels_variable,
    number_category,
    settled_variable,
)
from discbayes.streams.quantiles import Distribution


class ColumnSummary:
    """Summary of a column; kinds of columns override what they need.

    Classes are numbered in the order in which they occur in the rows.
    """

    kind = "numbers"

    def add(self, part: Part, place: int, labels: ClassLabels) -> None:
        """Add the cells of a batch, column ``place`` of a part of its table."""

    def merge(self, later: Any, numbers: np.ndarray) -> None:
        """Add the cells of later rows, whose class ``c`` has the number ``numbers[c]`` here."""

    def renumber(self, numbers: np.ndarray) -> None:
        """Give class ``c`` the number ``numbers[c]``."""

    def close_block(self) -> None:
        """End a block of rows, after which a summary may become coarser."""

    def variable(self, n_classes: int, discretizer: Any, class_codes: np.ndarray) -> Variable:
        """Return the variable; class ``c`` of the rows has the code ``class_codes[c]``."""
        raise NotImplementedError


class LabelSummary(ColumnSummary):
    """The labels of a column, in the order in which they occur."""

    kind = "labels"

    def __init__(self, name: str, position: int, declared: Declared, max_distinct: int):
        self.name = name
        self.position = position
        self.declared = declared
        self.max_distinct = max_distinct
        self._index: dict[Any, None] = {}
        self._stated: list[Any] | None = None  # the categories, where the table itself states them
        self._first: list[Any] | None = None  # the labels of the first batch
        self._text = False
        self._ordered = False
        self._n_present = 0

    def add(self, part: Part, place: int, labels: ClassLabels) -> None:
        """Add the cells of a batch."""
        assert isinstance(part, CategoricalColumn)
        stated = part.levels if part.declared else None
        if self._first is None:
            self._first, self._stated = part.levels, stated
        self._check_same_categories(part.levels, stated)
        self._n_present += int(np.count_nonzero(part.places >= 0))
        self._text |= part.text
        self._ordered |= part.ordered
        if not part.declared and self.position not in self.declared.domains:
            self._add_labels(part.levels)

    def _check_same_categories(self, levels: list[Any], stated: list[Any] | None) -> None:
        if stated != self._stated and (levels or stated):
            before = listed(self._stated or self._index, 5)
            raise ValueError(
                f"column {self.name!r} has other categories than before ({listed(levels, 5)}"
                f" instead of {before}): give it the same categories in all batches, or cast it to"
                " strings"
            )
        check_levels([*levels[:1], *list(self._index)[:1]], self.name)

    def merge(self, later: Any, numbers: np.ndarray) -> None:
        """Add the cells of later rows."""
        self._check_same_categories(later._first or [], later._stated)
        self._n_present += later._n_present
        self._text |= later._text
        self._ordered |= later._ordered
        self._add_labels(later._index)

    def _add_labels(self, labels: Iterable[Any]) -> None:
        self._index.update(dict.fromkeys(labels))
        if len(self._index) > self.max_distinct:
            _refuse_many_values(self.name, self.max_distinct, "strings")

    def variable(self, n_classes: int, discretizer: Any, class_codes: np.ndarray) -> Variable:
        """Return the variable whose values are the labels."""
        levels = list(self._index) if self._stated is None else self._stated
        stated = self._stated is not None
        seen = SeenLabels(levels, stated, self._text, self._n_present, self._ordered)
        return labels_variable(seen, self.name, self.position, self.declared)


class DeclaredSummary(ColumnSummary):
    """Booleans, and numbers whose values are declared: nothing is learned from the rows."""

    def __init__(self, name: str, position: int, declared: Declared, boolean: bool):
        self.kind = "booleans" if boolean else "numbers"
        self._variable = settled_variable(name, position, boolean, declared)

    def variable(self, n_classes: int, discretizer: Any, class_codes: np.ndarray) -> Variable:
        """Return the declared variable."""
        assert self._variable is not None
        return self._variable


class DistinctNumbersSummary(ColumnSummary):
    """The distinct numbers of a column of categories, as integers while all of them are."""

    def __init__(self, name: str, max_distinct: int):
        self.name = name
        self.max_distinct = max_distinct
        self._values = np.zeros(0, dtype=np.int64)

    def add(self, part: Part, place: int, labels: ClassLabels) -> None:
        """Add the cells of a batch."""
        assert isinstance(part, NumericColumns)
        self.add_numbers(distinct_numbers(part, place, self.name))

    def merge(self, later: Any, numbers: np.ndarray) -> None:
        """Add the cells of later rows."""
        self.add_numbers(later._values)

    def add_numbers(self, found: np.ndarray) -> None:
        """Add distinct numbers."""
        if found.dtype.kind != self._values.dtype.kind:
            self._check_exact(found)
            self._check_exact(self._values)
        self._values = rising_numbers(np.concatenate([self._values, found]))
        if self._values.size > self.max_distinct:
            _refuse_many_values(self.name, self.max_distinct, "numbers")

    def _check_exact(self, values: np.ndarray) -> None:
        """Refuse integers, in rising order, that are not the same as floats."""
        if values.dtype.kind not in "iu" or not values.size:
            return
        if max(abs(int(values[0])), abs(int(values[-1]))) > EXACT:
            raise ValueError(
                f"column {self.name!r} has missing values or fractions, and whole numbers above"
                " 2^53, which would be rounded: cast it to str"
            )

    def variable(self, n_classes: int, discretizer: Any, class_codes: np.ndarray) -> Variable:
        """Return the variable whose values are the numbers."""
        return number_category(self.name, self._values)


class DistributionSummary(ColumnSummary):
    """The distribution over the classes of numbers that are discretized."""

    def __init__(self, name: str, limit: int, is_date_part: bool = False):
        self.name = name
        self.is_date_part = is_date_part
        self.distribution = Distribution(limit)

    def add(self, part: Part, place: int, labels: ClassLabels) -> None:
        """Add the cells of a batch."""
        assert isinstance(part, NumericColumns)
        column = part.column(place).astype(np.float64, copy=False)
        refuse_infinite(column, self.name)
        present = ~np.isnan(column)
        if present.all():
            self.distribution.add(column, labels)
        else:
            self.distribution.add(column[present], labels.take(present))

    def close_block(self) -> None:
        """End a block of rows, after which the distribution may become coarser."""
        self.distribution.close_block()

    def merge(self, later: Any, numbers: np.ndarray) -> None:
        """Add the cells of later rows, whose class ``c`` has the number ``numbers[c]`` here."""
        self.distribution.merge(later.distribution.renumbered(numbers))

    def renumber(self, numbers: np.ndarray) -> None:
        """Give class ``c`` the number ``numbers[c]``."""
        self.distribution = self.distribution.renumbered(numbers)

    def variable(
        self, n_classes: int, discretizer: CutPointDiscretizer, class_codes: np.ndarray
    ) -> Variable:
        """Return the variable with its cut points."""
        histogram = self.distribution.histogram().recoded(class_codes)
        error = self.distribution.rank_error
        variable = discretizer.cut(histogram, n_classes, error).variable(self.name)
        if not self.is_date_part:
            return variable
        informative = MDLPDiscretizer().cut(histogram, n_classes, error)
        return informed_variable(variable, bool(informative.cuts.size))


def kind_of(part: Part) -> str:
    """Return what messages call the cells of a part of a table."""
    if isinstance(part, CategoricalColumn):
        return "labels"
    return "booleans" if part.boolean else "numbers"


def _refuse_many_values(name: str, max_distinct: int, what: str) -> NoReturn:
    raise ValueError(
        f"column {name!r} has more than {max_distinct} distinct {what}: drop it, group its values,"
        " or raise max_distinct"
    )
