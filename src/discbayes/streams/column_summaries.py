"""The first pass: what the domain follows from, gathered batch by batch.

Each column has a summary of its own: the labels that occur, the numbers that occur, or the
distribution of numbers that are to be cut. What is made of them is the same code that learns the
domain of a table in memory (`data.fitting`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

from discbayes._text import listed
from discbayes.data.discretize import CutPointDiscretizer
from discbayes.data.domain import Variable
from discbayes.data.histogram import ClassLabels, refuse_infinite, rising_numbers
from discbayes.data.table import EXACT, CategoricalColumn, NumericColumns, Part, Table
from discbayes.data.table_reader import check_levels
from discbayes.data.variables import (
    Declared,
    SeenLabels,
    distinct_numbers,
    labels_variable,
    number_category,
    settled_variable,
)
from discbayes.engine import parallel_map
from discbayes.streams.batch_rows import located
from discbayes.streams.limits import Limits
from discbayes.streams.quantiles import Distribution

_CELL_WORK = 100  # nanoseconds


class LabelColumn:
    """The labels of a column, in the order in which they were met."""

    kind = "labels"

    def __init__(self, name: str, position: int, declared: Declared, most: int):
        self.name, self.position, self.declared, self.most = name, position, declared, most
        self._index: dict[Any, None] = {}
        self._stated: list[Any] | None = None  # the categories, where the table itself states them
        self._first: list[Any] | None = None  # the labels of the first batch
        self._text = False
        self._n_present = 0

    def add(self, part: Part, place: int, labels: ClassLabels) -> None:
        """Add the cells of a batch."""
        assert isinstance(part, CategoricalColumn)
        self._check_stated(part)
        self._n_present += int(np.count_nonzero(part.places >= 0))
        self._text |= part.text
        if part.declared or self.position in self.declared.domains:
            return
        self._take(part.levels)

    def _check_stated(self, part: CategoricalColumn) -> None:
        stated = part.levels if part.declared else None
        if self._first is None:
            self._first, self._stated = part.levels, stated
        self._check_like(part.levels, stated)

    def _check_like(self, levels: list[Any], stated: list[Any] | None) -> None:
        if stated != self._stated and (levels or stated):
            raise ValueError(
                f"column {self.name!r} has other categories than before ({listed(levels, 5)} instead of"
                f" {listed(self._stated or self._index, 5)}): give it the same categories in all"
                " batches, or cast it to strings"
            )
        check_levels([*levels[:1], *list(self._index)[:1]], self.name)

    def take_in(self, later: Any, numbers: np.ndarray) -> None:
        """Add the cells of later rows."""
        self._check_like(later._first or [], later._stated)
        self._n_present += later._n_present
        self._text |= later._text
        self._take(later._index)

    def _take(self, labels: Iterable[Any]) -> None:
        self._index.update(dict.fromkeys(labels))
        if len(self._index) > self.most:
            _refuse_many(self.name, self.most, "strings")

    def renumber(self, numbers: np.ndarray) -> None:
        """Labels are the same for all classes."""

    def close_block(self) -> None:
        """Labels are kept as they are."""

    def variable(self, n_classes: int, discretizer: Any, order: np.ndarray) -> Variable:
        """The variable that follows."""
        levels = list(self._index) if self._stated is None else self._stated
        seen = SeenLabels(levels, self._stated is not None, self._text, self._n_present)
        return labels_variable(seen, self.name, self.position, self.declared)


class SettledColumn:
    """Booleans, and numbers whose values are declared: there is nothing to learn."""

    def __init__(self, name: str, position: int, declared: Declared, boolean: bool):
        self.kind = "booleans" if boolean else "numbers"
        self._variable = settled_variable(name, position, boolean, declared)

    def add(self, part: Part, place: int, labels: ClassLabels) -> None:
        """Add the cells of a batch."""

    def close_block(self) -> None:
        """Nothing is kept."""

    def take_in(self, later: Any, numbers: np.ndarray) -> None:
        """Nothing is kept."""

    def renumber(self, numbers: np.ndarray) -> None:
        """Nothing is kept."""

    def variable(self, n_classes: int, discretizer: Any, order: np.ndarray) -> Variable:
        """The variable that is known."""
        assert self._variable is not None
        return self._variable


class ValueColumn:
    """Numbers that are categories: the distinct ones, as integers while all of them are."""

    kind = "numbers"

    def __init__(self, name: str, most: int):
        self.name, self.most = name, most
        self._values = np.zeros(0, dtype=np.int64)

    def add(self, part: Part, place: int, labels: ClassLabels) -> None:
        """Add the cells of a batch."""
        assert isinstance(part, NumericColumns)
        self.add_numbers(distinct_numbers(part, place, self.name))

    def take_in(self, later: Any, numbers: np.ndarray) -> None:
        """Add the cells of later rows."""
        self.add_numbers(later._values)

    def renumber(self, numbers: np.ndarray) -> None:
        """Numbers are the same for all classes."""

    def add_numbers(self, found: np.ndarray) -> None:
        """Add distinct numbers."""
        if found.dtype.kind != self._values.dtype.kind:
            for values in (found, self._values):
                if (
                    values.dtype.kind in "iu"
                    and values.size
                    and max(abs(int(values[0])), abs(int(values[-1]))) > EXACT
                ):
                    raise ValueError(
                        f"column {self.name!r} has gaps or fractions, and whole numbers above 2^53,"
                        " which would be rounded: cast it to str"
                    )
        self._values = rising_numbers(np.concatenate([self._values, found]))
        if self._values.size > self.most:
            _refuse_many(self.name, self.most, "numbers")

    def close_block(self) -> None:
        """Values are kept as they are."""

    def variable(self, n_classes: int, discretizer: Any, order: np.ndarray) -> Variable:
        """The variable that follows."""
        return number_category(self.name, self._values)


class CutColumn:
    """Numbers that are cut: their distribution over the classes."""

    kind = "numbers"

    def __init__(self, name: str, limit: int):
        self.name = name
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
        """The distribution may become coarser."""
        self.distribution.close_block()

    def take_in(self, later: Any, numbers: np.ndarray) -> None:
        """Add the cells of later rows, whose class ``c`` is ``numbers[c]`` here."""
        self.distribution.take_in(later.distribution.renumbered(numbers))

    def renumber(self, numbers: np.ndarray) -> None:
        """Call class ``c`` from now on ``numbers[c]``."""
        self.distribution = self.distribution.renumbered(numbers)

    def variable(
        self, n_classes: int, discretizer: CutPointDiscretizer, order: np.ndarray
    ) -> Variable:
        """The variable that follows; class ``c`` of the summary is ``order[c]`` in the end."""
        histogram = self.distribution.histogram().recoded(order)
        cuts = discretizer.cut(histogram, n_classes, self.distribution.rank_error)
        return Variable(self.name, "numeric", cuts=tuple(cuts.tolist()))


Column = LabelColumn | SettledColumn | ValueColumn | CutColumn


class Summary:
    """What the first pass knows of the features.

    Attributes
    ----------
    names : list of str
        The features.
    gaps : ndarray
        The number of missing cells of each.
    n_rows : int
        The number of rows that count.
    """

    def __init__(
        self,
        names: list[str],
        declared: Declared,
        discretizer: Any,
        limits: Limits,
        n_jobs: int | None,
        n_numeric: int | None = None,
    ):
        self.names = names
        self.gaps = np.zeros(len(names), dtype=np.int64)
        self.n_rows = 0
        self._declared, self._discretizer, self._limits, self._n_jobs = (
            declared,
            discretizer,
            limits,
            n_jobs,
        )
        self._columns: list[Column | None] = [None] * len(names)
        # columns with batches that have nothing but gaps
        self._gaps_only = np.zeros(len(names), dtype=bool)
        self._wheres = [""] * len(names)  # of the first cells of each column
        self._n_numeric = n_numeric

    @property
    def columns(self) -> list[Column | None]:
        """The summaries of the columns; None where nothing but gaps was met."""
        return self._columns

    def add(self, table: Table, labels: ClassLabels, where: str = "") -> None:
        """Add the rows of a batch, and where they are from."""
        if self._n_numeric is None:
            self._n_numeric = n_numeric(table)
        self.n_rows += table.n_rows
        self.gaps += table.missing_counts()
        places = [(part, place) for part in table.parts for place in range(part.positions.size)]
        work = _CELL_WORK * table.n_rows * len(places)
        parallel_map(
            lambda item: self._add_column(*item, labels, where), places, self._n_jobs, work=work
        )

    def _add_column(self, part: Part, place: int, labels: ClassLabels, where: str) -> None:
        at = int(part.positions[place])
        if _tells_nothing(part, place):
            self._gaps_only[at] = True
            return
        column = self._columns[at]
        if column is None:
            column = self._columns[at] = self._new_column(part, at)
            self._wheres[at] = where
        self._check_kind(at, column, _kind(part))
        column.add(part, place, labels)

    def _check_kind(self, at: int, column: Column, kind: str) -> None:
        if column.kind != kind:
            raise ValueError(
                f"column {self.names[at]!r} holds {kind} here, and {column.kind} before: give it"
                " one type everywhere"
            )

    def take_in(self, later: Summary, numbers: np.ndarray) -> None:
        """Add later rows, whose class ``c`` is ``numbers[c]`` here."""
        self.n_rows += later.n_rows
        self.gaps += later.gaps
        self._gaps_only |= later._gaps_only
        for at, (column, more) in enumerate(zip(self._columns, later._columns, strict=True)):
            if more is None:
                continue
            if column is None:
                more.renumber(numbers)
                self._columns[at], self._wheres[at] = more, later._wheres[at]
                continue
            with located(later._wheres[at]):
                self._check_kind(at, column, more.kind)
                column.take_in(more, numbers)

    def _new_column(self, part: Part | None, at: int) -> Column:
        name, most = self.names[at], self._limits.max_distinct
        if isinstance(part, CategoricalColumn):
            return LabelColumn(name, at, self._declared, most)
        boolean = part is not None and part.boolean
        if boolean or at in self._declared.domains:
            return SettledColumn(name, at, self._declared, boolean)
        if self._discretizer is None or at in self._declared.categories:
            return ValueColumn(name, most)
        return CutColumn(name, self._limits.distinct(self._n_numeric or 0))

    def close_block(self) -> None:
        """End a block of rows."""
        parallel_map(lambda column: column and column.close_block(), self._columns, self._n_jobs)

    def variables(self, n_classes: int, order: np.ndarray) -> list[Variable]:
        """The variable of each column; class ``c`` of the batches is ``order[c]`` in the end."""

        def variable(at: int) -> Variable:
            column = self._columns[at] or self._new_column(None, at)
            if isinstance(column, ValueColumn) and self._gaps_only[at]:
                column.add_numbers(np.zeros(0))  # a column with gaps holds floats
            return column.variable(n_classes, self._discretizer, order)

        return parallel_map(variable, range(len(self.names)), self._n_jobs)


def n_numeric(table: Table) -> int:
    """The number of columns of numbers."""
    return sum(part.positions.size for part in table.parts if isinstance(part, NumericColumns))


def _tells_nothing(part: Part, place: int) -> bool:
    """Whether a batch has nothing but gaps in a column, without a type that it states."""
    if isinstance(part, CategoricalColumn) or part.boolean or part.whole:
        return False
    return bool(np.isnan(part.data[:, place]).all())


def _kind(part: Part) -> str:
    if isinstance(part, CategoricalColumn):
        return "labels"
    return "booleans" if part.boolean else "numbers"


def _refuse_many(name: str, most: int, what: str) -> NoReturn:
    raise ValueError(
        f"column {name!r} has more than {most} distinct {what}: drop it, group its values, or raise"
        " max_distinct"
    )
