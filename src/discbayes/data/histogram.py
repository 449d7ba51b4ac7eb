"""Histograms of columns: the distinct values, and the class weights at each.

Both discretizers need no more of a column than this. Integers of a small range are counted;
anything else is sorted, once. Entries are in the order of values and, within a value, of classes,
and the weight of an entry is the sum of the weights of its rows, added in the order of the rows: it
has the same bits whether the rows come all at once or in batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from discbayes.data.domain import Variable
from discbayes.data.table import EXACT, NumericColumns, kernel_array
from discbayes.engine import parallel_map
from discbayes.kernels.encoding import class_histogram

# the counts of the columns that are counted together stay in the second-level cache
_GROUP_CELLS = 1 << 16
_MIN_LIMIT = 1 << 12
_DENSE_CELLS = 1 << 22  # 32 MB: up to so many cells, ...
# ... and this many per entry, a table of all of them is quicker than sorting those that occur
_FEW_CELLS = 4


@dataclass(frozen=True)
class Histogram:
    """Distinct values in rising order, with the weights of the classes at each.

    Value ``d`` has the classes and weights ``starts[d] .. starts[d+1]``.

    If ``lows`` are given, value ``d`` represents rows between ``lows[d]`` and itself.
    """

    values: np.ndarray
    starts: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    lows: np.ndarray | None = None

    @classmethod
    def empty(cls) -> Histogram:
        """Return the histogram of no rows."""
        return cls(np.zeros(0), np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0))

    @property
    def value_weights(self) -> np.ndarray:
        """The weight of each value, over all classes."""
        return np.add.reduceat(self.weights, self.starts[:-1]) if self.values.size else np.zeros(0)

    def added(self, column: np.ndarray, labels: ClassLabels) -> Histogram:
        """Return the histogram with more rows, whose values are finite."""
        if not column.size:
            return self
        distinct, place = _distinct(column)
        values = _union(self.values, distinct)
        k = labels.n_classes
        rows = np.searchsorted(values, distinct)[place] * k + labels.y
        entries = np.concatenate([self._cells(values, k), rows])
        return _summed(values, entries, np.concatenate([self.weights, labels.weight]), k)

    def merged(self, other: Histogram) -> Histogram:
        """Return the histogram of the rows of both."""
        values = _union(self.values, other.values)
        k = 1 + max(int(self.classes.max(initial=0)), int(other.classes.max(initial=0)))
        entries = np.concatenate([self._cells(values, k), other._cells(values, k)])
        lows = None
        if self.lows is not None or other.lows is not None:
            lows = values.copy()
            for part in (self, other):
                at = np.searchsorted(values, part.values)
                lows[at] = np.minimum(lows[at], part.values if part.lows is None else part.lows)
        return _summed(values, entries, np.concatenate([self.weights, other.weights]), k, lows)

    def coarsened(self, most: float) -> Histogram:
        """Return the histogram with neighbors merged while they weigh at most ``most`` in all.

        A value that weighs more than half of that stays alone.
        """
        weight = self.value_weights
        alone = weight > most / 2
        # values whose cumulated weights fall into the same half of ``most`` become one
        group = np.floor((np.cumsum(weight) - weight) / (most / 2))
        starts_new = np.ones(weight.size, dtype=bool)
        starts_new[1:] = (group[1:] != group[:-1]) | alone[1:] | alone[:-1]
        first = np.flatnonzero(starts_new)
        values = self.values[np.append(first[1:], weight.size) - 1]
        k = 1 + int(self.classes.max(initial=0))
        lows = np.minimum.reduceat(self.values if self.lows is None else self.lows, first)
        return _summed(values, self._cells(values, k), self.weights, k, lows)

    def recoded(self, codes: np.ndarray) -> Histogram:
        """Return the same rows with class ``c`` called ``codes[c]``."""
        k = 1 + int(codes.max(initial=0))
        value = np.repeat(np.arange(self.values.size), np.diff(self.starts))
        order = np.argsort(value * k + codes[self.classes])
        return replace(self, classes=codes[self.classes][order], weights=self.weights[order])

    def cut_points(self, begins: np.ndarray) -> np.ndarray:
        """Return the cut points below the values at which an interval begins.

        A cut point is midway between neighboring values, or at the upper one if no float is between
        them.

        Where values represent ranges that overlap, it is between their greatest values.
        """
        at = np.flatnonzero(begins)
        low, high = self.values[at - 1], self.values[at]
        if self.lows is not None:
            high = np.where(self.lows[at] > low, self.lows[at], high)
        with np.errstate(over="ignore"):
            middle = (low + high) / 2
        middle = np.where(np.isfinite(middle), middle, low / 2 + high / 2)
        return np.where((low < middle) & (middle <= high), middle, high)

    def _cells(self, values: np.ndarray, k: int) -> np.ndarray:
        """Return a number for each entry: its class, and the first of ``values`` not below it."""
        place = np.searchsorted(values, self.values)
        return np.repeat(place, np.diff(self.starts)) * k + self.classes


def _summed(
    values: np.ndarray,
    entries: np.ndarray,
    weights: np.ndarray,
    k: int,
    lows: np.ndarray | None = None,
) -> Histogram:
    """Return the histogram of weights that are added, in order, to ``value * k + class``.

    All values occur in the entries.
    """
    if values.size * k <= min(_DENSE_CELLS, _FEW_CELLS * entries.size):
        return _from_cells(
            values, np.bincount(entries, weights, values.size * k).reshape(-1, k), lows
        )
    order = np.argsort(entries, kind="stable")
    rising = entries[order]
    new = np.concatenate([[True], rising[1:] != rising[:-1]])
    cells = rising[new]
    starts = np.searchsorted(cells, np.arange(values.size + 1) * k)
    return Histogram(
        values, starts, cells % k, np.bincount(np.cumsum(new) - 1, weights[order]), lows
    )


def rising_numbers(numbers: np.ndarray) -> np.ndarray:
    """Return the distinct numbers in rising order, faster than `np.unique` if there are many."""
    rising = np.sort(numbers)
    return rising[np.concatenate([[True], rising[1:] != rising[:-1]])] if rising.size else rising


def _union(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return rising_numbers(np.concatenate([first, second])) if first.size else second


def _distinct(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct numbers in rising order, and the place of each row among them.

    Whole numbers of a small range are not sorted.
    """
    whole = _whole_places(column, max(_MIN_LIMIT, _FEW_CELLS * column.size))
    if whole is None:
        return np.unique(column, return_inverse=True)
    low, span, places = whole
    seen = np.zeros(span, dtype=bool)
    seen[places] = True
    return np.flatnonzero(seen) + low, (np.cumsum(seen) - 1)[places]


def _whole_places(column: np.ndarray, most: float) -> tuple[Any, int, np.ndarray] | None:
    """Return minimum, range and places of whole numbers; None if the range is too large."""
    low = column.min()
    with np.errstate(over="ignore"):
        span = float(column.max()) - float(low) + 1.0
    if not span <= most or abs(float(low)) > 2**52:
        return None
    places = (column - low).astype(np.int64)
    if not np.array_equal(places, column - low) or low != np.floor(low):
        return None
    return low, int(span), places


@dataclass(frozen=True)
class ClassLabels:
    """The class codes and the positive weights of all rows."""

    y: np.ndarray
    weight: np.ndarray
    n_classes: int

    def take(self, rows: np.ndarray) -> ClassLabels:
        """Return the labels of some rows."""
        return ClassLabels(self.y[rows], self.weight[rows], self.n_classes)

    @cached_property
    def whole(self) -> bool:
        """Whether the weights are whole numbers, whose sums have the same bits in any order."""
        return bool((self.weight == np.floor(self.weight)).all())

    @property
    def cell_limit(self) -> int:
        """The number of cells (value, class) up to which counting is faster than sorting."""
        return max(_MIN_LIMIT, _FEW_CELLS * self.y.size)


@dataclass(frozen=True)
class CutPoints:
    """The cut points of a column, and those of them that are coarse; None for one resolution."""

    cuts: np.ndarray
    coarse: np.ndarray | None = None

    def variable(self, name: str) -> Variable:
        """Return the variable of a column of this name."""
        coarse = None if self.coarse is None else tuple(self.coarse.tolist())
        return Variable(name, "numeric", cuts=tuple(self.cuts.tolist()), coarse_cuts=coarse)


CutRule = Callable[[Histogram, int], CutPoints]
"""A function of a histogram and the number of classes that returns the cut points."""


Piece = tuple[NumericColumns, np.ndarray]
"""Numeric columns, and the places of some of them."""


@dataclass(frozen=True)
class _Task:
    """Columns that are counted together, with their ranges; or a single one to be sorted."""

    block: NumericColumns
    columns: np.ndarray
    low_high: np.ndarray | None = None


def fit_cuts(
    pieces: Sequence[Piece],
    names: Sequence[str],
    labels: ClassLabels,
    rule: CutRule,
    n_jobs: int | None = None,
) -> dict[int, CutPoints]:
    """Return the cut points of each column of the pieces, by its position in the table."""
    tasks = [task for block, columns in pieces for task in _tasks(block, columns, labels)]

    def run(task: _Task) -> dict[int, CutPoints]:
        block, columns = task.block, task.columns
        if task.low_high is not None:
            histograms = _counted(block, columns, task.low_high, labels)
        else:
            histograms = [_column_histogram(block, int(columns[0]), names, labels)]
        at = block.positions[columns]
        return {
            int(position): rule(histogram, labels.n_classes)
            for position, histogram in zip(at, histograms, strict=True)
        }

    found: dict[int, CutPoints] = {}
    work = 20 * sum(block.data.shape[0] * columns.size for block, columns in pieces)
    for cuts in parallel_map(run, tasks, n_jobs, work=work):
        found.update(cuts)
    return found


def _tasks(block: NumericColumns, columns: np.ndarray, labels: ClassLabels) -> list[_Task]:
    if not block.whole:
        return [_Task(block, columns[j : j + 1]) for j in range(columns.size)]
    low_high = column_ranges(block)[:, columns]
    low, high = low_high.astype(float)
    cells = (high - low + 1) * labels.n_classes
    # cut points are floats, which such numbers have to be first
    cells[np.maximum(-low, high) > EXACT] = np.inf
    small = np.flatnonzero(cells <= labels.cell_limit)
    group_of = np.cumsum(cells[small]) // _GROUP_CELLS
    groups = [small[group_of == group] for group in np.unique(group_of)]
    counted = [_Task(block, columns[group], low_high[:, group]) for group in groups]
    large = np.flatnonzero(cells > labels.cell_limit)
    return counted + [_Task(block, columns[j : j + 1]) for j in large]


def column_ranges(block: NumericColumns) -> np.ndarray:
    """Return the minimum and maximum of each column of integers, as two rows."""
    if block.data.dtype == np.uint8:  # not worth a pass over the data
        return np.repeat(np.array([[0], [255]]), block.data.shape[1], axis=1)
    lows = [block.data[rows].min(axis=0) for rows in block.chunks()]
    highs = [block.data[rows].max(axis=0) for rows in block.chunks()]
    return np.array([np.min(lows, axis=0), np.max(highs, axis=0)], dtype=np.int64)


def table_offsets(sizes: np.ndarray) -> np.ndarray:
    """Return the offset of each of several tables that lie one after the other."""
    return np.asarray(np.cumsum(sizes) - sizes, dtype=np.int64)


def range_tables(low_high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the first number, the size and the offset of a table of each range of numbers."""
    low = low_high[0].astype(np.int64)
    sizes = low_high[1].astype(np.int64) - low + 1
    return low, sizes, table_offsets(sizes)


def _counted(
    block: NumericColumns, columns: np.ndarray, low_high: np.ndarray, labels: ClassLabels
) -> list[Histogram]:
    low, sizes, offset = range_tables(low_high)
    k = labels.n_classes
    cells = np.zeros(int(sizes.sum()) * k)
    for rows in block.chunks():
        part = kernel_array(block.data[rows])
        class_histogram(part, columns, low, offset, labels.y[rows], labels.weight[rows], k, cells)
    return [
        _from_cells(least + np.arange(size), cells[first * k : (first + size) * k].reshape(size, k))
        for least, size, first in zip(low, sizes, offset, strict=True)
    ]


def _column_histogram(
    block: NumericColumns, j: int, names: Sequence[str], labels: ClassLabels
) -> Histogram:
    column = block.column(j).astype(np.float64, copy=False)
    refuse_infinite(column, names[block.positions[j]])
    present = ~np.isnan(column)
    if not present.all():
        column, labels = column[present], labels.take(present)
    if not column.size:
        return _from_cells(np.zeros(0), np.zeros((0, labels.n_classes)))
    return _integral_histogram(column, labels) or _sorted_histogram(column, labels)


def refuse_infinite(column: np.ndarray, name: str) -> None:
    """Refuse a column that holds an infinity."""
    if column.dtype.kind == "f" and np.isinf(column).any():
        value = column[np.isinf(column)][0]
        raise ValueError(
            f"column {name!r} contains infinity ({value}): replace inf by a number, or by NaN for"
            " a missing value"
        )


def _integral_histogram(column: np.ndarray, labels: ClassLabels) -> Histogram | None:
    """Count floats that are whole numbers of a small range; None where they are not."""
    whole = _whole_places(column, labels.cell_limit / labels.n_classes)
    if whole is None:
        return None
    low, span, places = whole
    return _from_cells(np.arange(span) + low, _cells(places, span, labels))


def _sorted_histogram(column: np.ndarray, labels: ClassLabels) -> Histogram:
    order = np.argsort(column, kind=None if labels.whole else "stable")
    rising = column[order]
    new = np.concatenate([[True], rising[1:] != rising[:-1]])
    values = rising[new]
    place, labels = np.cumsum(new) - 1, labels.take(order)
    if values.size * labels.n_classes <= labels.cell_limit:
        return _from_cells(values, _cells(place, values.size, labels))
    return _summed(values, place * labels.n_classes + labels.y, labels.weight, labels.n_classes)


def _cells(places: np.ndarray, n_values: int, labels: ClassLabels) -> np.ndarray:
    k = labels.n_classes
    return np.bincount(places * k + labels.y, labels.weight, n_values * k).reshape(n_values, k)


def _from_cells(values: np.ndarray, cells: np.ndarray, lows: np.ndarray | None = None) -> Histogram:
    """Return the histogram of a dense table (value, class), without values that do not occur."""
    rows, classes = np.nonzero(cells)
    n_classes = np.bincount(rows, minlength=len(values))
    present = np.flatnonzero(n_classes)
    return Histogram(
        values=np.asarray(values[present], dtype=np.float64),
        starts=np.concatenate([[0], np.cumsum(n_classes[present])]),
        classes=np.ascontiguousarray(classes, dtype=np.int64),
        weights=cells[rows, classes],
        lows=lows,
    )
