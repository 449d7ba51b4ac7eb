"""Statistics of the columns of rows in batches or in parts, and the domain learned from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from operator import methodcaller
from typing import Any

import numpy as np

from discbayes._text import listed
from discbayes.data.discretize import CutPointDiscretizer
from discbayes.data.domain import Domain, Encoded, Variable
from discbayes.data.frame_encoder import EVERY_ROW, FrameEncoder, refuse_missing
from discbayes.data.histogram import ClassLabels
from discbayes.data.table import CategoricalColumn, NumericColumns, Part, Table
from discbayes.data.targets import refuse_zero_weights, target_variable, warn_of_light_weights
from discbayes.data.variables import Declared, date_variable
from discbayes.engine import parallel_map
from discbayes.streams.batch_rows import (
    BatchRows,
    Classes,
    Reader,
    ReadRows,
    WeightTotals,
    located,
    refuse_change,
)
from discbayes.streams.batches import Limits
from discbayes.streams.column_summaries import (
    ColumnSummary,
    DeclaredSummary,
    DistinctNumbersSummary,
    DistributionSummary,
    LabelSummary,
    kind_of,
)

_CELL_WORK = 100  # nanoseconds


class ColumnStatistics:
    """Statistics of the columns of some rows, from which their domain is learned.

    Statistics of consecutive parts of the rows can be merged.

    Attributes
    ----------
    names : list of str
        The features.
    n_rows : int
        The number of rows that count.
    n_missing : ndarray
        The number of missing values of each feature.
    n_dropped : ndarray
        The number of missing values of each feature in rows that were dropped for them.
    classes : Classes
        The classes that occur.
    weights : WeightTotals
        The totals of the weights.
    target_name : object
        The name of the target, if there is one.
    """

    def __init__(
        self,
        names: list[str],
        encoder: FrameEncoder,
        discretizer: CutPointDiscretizer | None,
        limits: Limits,
        n_numeric: int | None = None,
    ):
        self.names = names
        self.n_rows = 0
        self.n_missing = np.zeros(len(names), dtype=np.int64)
        self.n_dropped = np.zeros(len(names), dtype=np.int64)
        self.classes = Classes()
        self.weights = WeightTotals()
        self.target_name: Any = None
        self._declared = _declared(encoder, names)
        self._discretizer = discretizer
        self._limits = limits
        self._n_jobs = encoder.n_jobs
        self._n_numeric = n_numeric
        self._columns: list[ColumnSummary | None] = [None] * len(names)
        # columns with batches in which all values are missing
        self._has_empty = np.zeros(len(names), dtype=bool)
        self._where = ""  # of the first rows
        self._wheres = [""] * len(names)  # of the first cells of each column

    def add(self, rows: BatchRows) -> None:
        """Add the rows of a batch."""
        table = rows.table
        if self._n_numeric is None:
            self._n_numeric = count_numeric(table)
        self._declared = replace(self._declared, dates=table.dates or {})
        self._where = self._where or rows.where
        self.n_rows += table.n_rows
        self.n_missing += table.missing_counts()
        if rows.dropped_missing is not None:
            self.n_dropped += rows.dropped_missing
        weight = np.ones(rows.y.size) if rows.weight is None else rows.weight
        labels = ClassLabels(rows.y, weight, len(self.classes))
        places = [(part, place) for part in table.parts for place in range(part.positions.size)]
        work = _CELL_WORK * table.n_rows * len(places)
        with located(rows.where):
            parallel_map(
                lambda item: self._add_column(*item, labels, rows.where),
                places,
                self._n_jobs,
                work=work,
            )
        if rows.ends_block:
            summaries = [column for column in self._columns if column is not None]
            parallel_map(methodcaller("close_block"), summaries, self._n_jobs)

    def _add_column(self, part: Part, place: int, labels: ClassLabels, where: str) -> None:
        at = int(part.positions[place])
        if _is_empty(part, place):
            self._has_empty[at] = True
            return
        column = self._columns[at]
        if column is None:
            column = self._columns[at] = self._new_column(part, at)
            self._wheres[at] = where
        self._check_kind(at, column, kind_of(part))
        column.add(part, place, labels)

    def _check_kind(self, at: int, column: ColumnSummary, kind: str) -> None:
        if column.kind != kind:
            raise ValueError(
                f"column {self.names[at]!r} holds {kind} here, and {column.kind} before: give it"
                " one type everywhere"
            )

    def _new_column(self, part: Part | None, at: int) -> ColumnSummary:
        """Return the summary of a column; without a part, of one with no value."""
        name, max_distinct = self.names[at], self._limits.max_distinct
        if isinstance(part, CategoricalColumn):
            return LabelSummary(name, at, self._declared, max_distinct)
        boolean = part is not None and part.boolean
        if boolean or at in self._declared.domains:
            return DeclaredSummary(name, at, self._declared, boolean)
        if self._discretizer is None or at in self._declared.categories:
            return DistinctNumbersSummary(name, max_distinct)
        is_part = at in self._declared.dates
        return DistributionSummary(name, self._limits.distinct(self._n_numeric or 0), is_part)

    def merge(self, later: ColumnStatistics) -> ColumnStatistics:
        """Add the statistics of the rows that come next."""
        with located(later._where):
            numbers = self.classes.merge(later.classes)
        self.weights.merge(later.weights)
        self.n_rows += later.n_rows
        self.n_missing += later.n_missing
        self.n_dropped = self.n_dropped + later.n_dropped
        self._has_empty |= later._has_empty
        for at, (column, more) in enumerate(zip(self._columns, later._columns, strict=True)):
            if more is None:
                continue
            if column is None:
                more.renumber(numbers)
                self._columns[at], self._wheres[at] = more, later._wheres[at]
                continue
            with located(later._wheres[at]):
                self._check_kind(at, column, more.kind)
                column.merge(more, numbers)
        return self

    def learn_domain(self, encoder: FrameEncoder) -> LearnedDomain:
        """Return the domain of all rows, and fit the encoder to it."""
        self._check_rows()
        labels, class_codes = self.classes.sorted()
        if isinstance(encoder.domains, Domain):
            known = FrameEncoder.from_domain(encoder.domains, encoder.unknown, encoder.n_jobs)
            class_codes = known.transform_y(labels)[class_codes]
            text = labels.dtype.kind == "O"
            classes = known.classes_.astype(object) if text else known.classes_
            rank_error = np.zeros(len(self.names))
            encoder.use_domain(encoder.domains, classes)
        else:
            features = self._variables(labels.size, class_codes)
            rank_error = np.array([_rank_share(column) for column in self._columns])
            target = target_variable(self.target_name, labels, self.names)
            encoder.adopt(features, self.n_missing, target, labels)
        return LearnedDomain(
            encoder, self.classes, class_codes, self.n_missing, rank_error, self.n_rows,
            self.weights.needed,
        )  # fmt: skip

    def _check_rows(self) -> None:
        weights = self.weights
        if not weights.n_positive:
            refuse_zero_weights()
        if weights.needed:
            warn_of_light_weights(weights.total, weights.n_positive)
        if not self.n_rows:
            refuse_missing(self.names, self.n_dropped, EVERY_ROW)

    def _variables(self, n_classes: int, class_codes: np.ndarray) -> list[Variable]:
        def variable(at: int) -> Variable:
            column = self._columns[at] or self._new_column(None, at)
            if isinstance(column, DistinctNumbersSummary) and self._has_empty[at]:
                column.add_numbers(np.zeros(0))  # a column with missing values holds floats
            found = column.variable(n_classes, self._discretizer, class_codes)
            return date_variable(found, self._declared.dates.get(at))

        return parallel_map(variable, range(len(self.names)), self._n_jobs)


def collect_statistics(
    reader: Reader,
    read: ReadRows,
    encoder: FrameEncoder,
    discretizer: CutPointDiscretizer | None,
    note: Callable[[BatchRows], None] = lambda rows: None,
    n_numeric: int | None = None,
) -> ColumnStatistics:
    """Return the statistics of the columns of rows.

    Parameters
    ----------
    reader : Reader
        The reader of the source.
    read : callable
        The rows of the source that count: those of the reader, or some of them.
    encoder : FrameEncoder
        How columns become codes.
    discretizer : CutPointDiscretizer or None
        How numeric columns are discretized.
    note : callable
        Called with each batch.
    n_numeric : int, optional
        The number of numeric columns, which share the memory for their values; by default that of
        the first batch.
    """
    classes, weights = Classes(), WeightTotals()
    statistics: ColumnStatistics | None = None
    for rows in read(classes, weights, encoder.missing):
        if statistics is None:
            statistics = ColumnStatistics(
                rows.table.names, encoder, discretizer, reader.limits, n_numeric
            )
            statistics.classes, statistics.weights = classes, weights
        statistics.add(rows)
        note(rows)
    assert statistics is not None  # a source without rows was refused
    statistics.target_name = reader.target_name
    return statistics


@dataclass(frozen=True)
class LearnedDomain:
    """A domain that was learned from rows, and how to encode the same rows by it.

    Attributes
    ----------
    encoder : FrameEncoder
        The encoder, fitted.
    seen : Classes
        The classes as they are numbered in the rows.
    class_codes : ndarray
        The code of each of them.
    n_missing : ndarray
        The number of missing values of each feature.
    rank_error : ndarray
        The bound on the error of the summary by which each feature was discretized, as a share of
        all rows.
    n_rows : int
        The number of rows that count.
    weighted : bool
        Whether any row has a weight other than one.
    """

    encoder: FrameEncoder
    seen: Classes
    class_codes: np.ndarray
    n_missing: np.ndarray
    rank_error: np.ndarray
    n_rows: int
    weighted: bool

    @property
    def domain(self) -> Domain:
        """The variables."""
        return self.encoder.domain_

    def missing_codes(self) -> np.ndarray:
        """Return the number of codes for "missing" of each feature: none where it is a value."""
        is_value = [variable.missing_value for variable in self.domain.features]
        return np.where(is_value, 0, self.n_missing)

    def encode(self, read: ReadRows, name: str) -> Iterator[tuple[BatchRows, Encoded]]:
        """Yield the rows, read once more, and their codes; refuse rows that have changed."""
        n_rows = 0
        for rows in read(self.seen, WeightTotals(), self.encoder.missing):
            n_rows += rows.y.size
            if n_rows > self.n_rows or len(self.seen) > self.class_codes.size:
                refuse_change(name)
            yield rows, self._encoded(rows)

    def _encoded(self, rows: BatchRows) -> Encoded:
        with located(rows.where):
            if rows.y.size:
                codes = self.encoder.encode_fitted(rows.table)
            else:
                codes = np.zeros((len(self.domain.features), 0), dtype=np.uint8)
        weight = rows.weight if self.weighted else None
        return Encoded(codes, self.domain, self.class_codes[rows.y], weight)


def count_numeric(table: Table) -> int:
    """Return the number of columns of numbers and booleans."""
    return sum(part.positions.size for part in table.parts if isinstance(part, NumericColumns))


def _is_empty(part: Part, place: int) -> bool:
    """Return whether all values of a column are missing, and its type states nothing about them."""
    if isinstance(part, CategoricalColumn) or part.boolean or part.whole:
        return False
    return bool(np.isnan(part.data[:, place]).all())


def _rank_share(column: ColumnSummary | None) -> float:
    return column.distribution.rank_share if isinstance(column, DistributionSummary) else 0.0


def _declared(encoder: FrameEncoder, names: list[str]) -> Declared:
    """Return what is declared of the columns; a whole domain leaves nothing to learn."""
    if not isinstance(encoder.domains, Domain):
        return encoder.declared(names)
    if names != encoder.domains.names:
        odd = sorted(set(names) ^ set(encoder.domains.names)) or names
        raise ValueError(
            f"the columns differ from those of the domain, or stand in another order: {listed(odd)}"
        )
    features = enumerate(encoder.domains.features)
    return Declared(frozenset(), {at: variable.values for at, variable in features})
