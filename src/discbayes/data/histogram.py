"""Cut points from histograms: the distinct values of a column, and the class weights at each.

Both discretisers need no more of a column than this. Integers of a small range are counted; anything else is
sorted, once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from discbayes.data.columns import Block, kernel_array
from discbayes.engine import parallel_map
from discbayes.kernels.encoding import class_histogram

_GROUP_CELLS = 1 << 16  # the counts of the columns that are counted together stay in the second-level cache
_LEAST_LIMIT = 1 << 12


@dataclass(frozen=True)
class Histogram:
    """Distinct values in rising order; value ``d`` has (class, weight) at ``starts[d] .. starts[d+1]``."""

    values: np.ndarray
    starts: np.ndarray
    classes: np.ndarray
    weights: np.ndarray

    @property
    def value_weights(self) -> np.ndarray:
        """The weight of each value, over all classes."""
        return np.add.reduceat(self.weights, self.starts[:-1]) if self.values.size else np.zeros(0)


@dataclass(frozen=True)
class Labels:
    """What a column is held against: class codes and weights of all rows (weights are positive)."""

    y: np.ndarray
    weight: np.ndarray
    n_classes: int

    def take(self, rows: np.ndarray) -> Labels:
        """The labels of some rows."""
        return Labels(self.y[rows], self.weight[rows], self.n_classes)

    @property
    def cell_limit(self) -> int:
        """Up to so many cells (value, class), counting beats sorting and takes little memory."""
        return max(_LEAST_LIMIT, 4 * self.y.size)


CutRule = Callable[[Histogram, int], np.ndarray]
"""From a histogram and the number of classes: which values begin a new interval."""


Piece = tuple[Block, np.ndarray]
"""A block, and those of its columns that are meant."""


@dataclass(frozen=True)
class _Task:
    """Columns of a block that are counted together, with their ranges; or a single one to be sorted."""

    block: Block
    columns: np.ndarray
    low_high: np.ndarray | None = None


def fit_cuts(
    pieces: Sequence[Piece], names: Sequence[str], labels: Labels, rule: CutRule, n_jobs: int | None = None
) -> dict[int, np.ndarray]:
    """The cut points of each column of the pieces, by its position in the table."""
    tasks = [task for block, columns in pieces for task in _tasks(block, columns, labels)]

    def run(task: _Task) -> dict[int, np.ndarray]:
        block, columns = task.block, task.columns
        if task.low_high is not None:
            histograms = _counted(block, columns, task.low_high, labels)
        else:
            histograms = [_column_histogram(block, int(columns[0]), names, labels)]
        at = block.positions[columns]
        return {
            int(position): _cut_points(histogram.values, rule(histogram, labels.n_classes))
            for position, histogram in zip(at, histograms, strict=True)
        }

    found: dict[int, np.ndarray] = {}
    work = 20 * sum(block.data.shape[0] * columns.size for block, columns in pieces)
    for cuts in parallel_map(run, tasks, n_jobs, work=work):
        found.update(cuts)
    return found


def _tasks(block: Block, columns: np.ndarray, labels: Labels) -> list[_Task]:
    if not block.whole:
        return [_Task(block, columns[j : j + 1]) for j in range(columns.size)]
    low_high = column_ranges(block)[:, columns]
    cells = (low_high[1].astype(float) - low_high[0] + 1) * labels.n_classes
    small = np.flatnonzero(cells <= labels.cell_limit)
    group_of = np.cumsum(cells[small]) // _GROUP_CELLS
    groups = [small[group_of == group] for group in np.unique(group_of)]
    counted = [_Task(block, columns[group], low_high[:, group]) for group in groups]
    large = np.flatnonzero(cells > labels.cell_limit)
    return counted + [_Task(block, columns[j : j + 1]) for j in large]


def column_ranges(block: Block) -> np.ndarray:
    """Least and greatest value of each column of a block of integers, as two rows."""
    if block.data.dtype == np.uint8:  # not worth a pass over the data
        return np.repeat(np.array([[0], [255]]), block.data.shape[1], axis=1)
    lows = [block.data[rows].min(axis=0) for rows in block.chunks()]
    highs = [block.data[rows].max(axis=0) for rows in block.chunks()]
    return np.array([np.min(lows, axis=0), np.max(highs, axis=0)], dtype=np.int64)


def table_offsets(sizes: np.ndarray) -> np.ndarray:
    """Where each of several tables begins when they lie one after the other."""
    return np.asarray(np.cumsum(sizes) - sizes, dtype=np.int64)


def _counted(block: Block, columns: np.ndarray, low_high: np.ndarray, labels: Labels) -> list[Histogram]:
    low = low_high[0].astype(np.int64)
    sizes = low_high[1].astype(np.int64) - low + 1
    offset = table_offsets(sizes)
    k = labels.n_classes
    cells = np.zeros(int(sizes.sum()) * k)
    for rows in block.chunks():
        part = kernel_array(block.data[rows])
        class_histogram(part, columns, low, offset, labels.y[rows], labels.weight[rows], k, cells)
    return [
        _from_cells(np.arange(least, least + size), cells[first * k : (first + size) * k].reshape(size, k))
        for least, size, first in zip(low, sizes, offset, strict=True)
    ]


def _column_histogram(block: Block, j: int, names: Sequence[str], labels: Labels) -> Histogram:
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
        raise ValueError(f"column {name!r} contains infinity ({value}): replace inf by a number, or by NaN for a gap")


def _integral_histogram(column: np.ndarray, labels: Labels) -> Histogram | None:
    """Count floats that are whole numbers of a small range; None where they are not."""
    low = column.min()
    with np.errstate(over="ignore"):
        span = column.max() - low + 1.0
    if not span * labels.n_classes <= labels.cell_limit or abs(low) > 2**52:
        return None
    places = (column - low).astype(np.int64)
    if not np.array_equal(places, column - low) or low != np.floor(low):
        return None
    return _from_cells(np.arange(int(span)) + low, _cells(places, int(span), labels))


def _sorted_histogram(column: np.ndarray, labels: Labels) -> Histogram:
    order = np.argsort(column)
    rising = column[order]
    new = np.concatenate([[True], rising[1:] != rising[:-1]])
    values = rising[new]
    labels = labels.take(order)
    if values.size * labels.n_classes <= labels.cell_limit:
        return _from_cells(values, _cells(np.cumsum(new) - 1, values.size, labels))
    starts = np.append(np.flatnonzero(new), column.size)
    return Histogram(values, starts, labels.y, labels.weight)


def _cells(places: np.ndarray, n_values: int, labels: Labels) -> np.ndarray:
    k = labels.n_classes
    return np.bincount(places * k + labels.y, labels.weight, n_values * k).reshape(n_values, k)


def _from_cells(values: np.ndarray, cells: np.ndarray) -> Histogram:
    """The histogram of a dense table (value, class), without the values that do not occur."""
    rows, classes = np.nonzero(cells)
    present, starts = np.unique(rows, return_index=True)
    return Histogram(
        values=np.asarray(values[present], dtype=np.float64),
        starts=np.append(starts, rows.size).astype(np.int64),
        classes=classes.astype(np.int64),
        weights=cells[rows, classes],
    )


def _cut_points(values: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """Midway between neighbours; at the upper one where no number lies between them."""
    at = np.flatnonzero(begins)
    low, high = values[at - 1], values[at]
    with np.errstate(over="ignore"):
        middle = (low + high) / 2
    middle = np.where(np.isfinite(middle), middle, low / 2 + high / 2)
    return np.where((low < middle) & (middle <= high), middle, high)
