"""Folds of rows for cross-validation, and the rows that calibration holds out.

`stratified_folds` and `Folds` assign rows at random, each class spread evenly.

`assign_folds` assigns rows by their content, in bounded memory. In the order of their keys, the
rows of a class go to the folds one after the other, a row of weight 2.5 as three pieces, and equal
rows together. So the order of the rows does not matter, and a row of weight two is the same as the
row twice. If there are more than `MAX_ROWS` rows, not all of them are held out: they are assigned
to more folds than are used. The rows are read several times; what is kept at a time are the
distinct keys in a range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil
from operator import add
from typing import NamedTuple

import numpy as np

from discbayes.data import row_blocks
from discbayes.data.domain import Encoded, code_dtype
from discbayes.data.rows import Rows
from discbayes.kernels.fold_order import add_in_order

BYTES_OF_A_ROW = 40  # while folds are drawn: whole numbers in some arrays of all rows
MAX_ROWS = 500_000
MAX_KEYS = 1 << 22  # distinct keys that are kept at a time
_MAX_PIECES = 1e6  # of equal rows
_EPSILON = 1e-6  # of a row
MIN_CLASS_ROWS = 200  # of a class, if it has as many, where rows are left out
_MIXING = np.uint64(0x9E3779B97F4A7C15)


def stratified_folds(y: np.ndarray, n_folds: int, rng: np.random.Generator) -> np.ndarray:
    """Return the fold of each row, with each class spread over the folds as evenly as possible.

    >>> folds = stratified_folds(np.array([0, 0, 0, 1, 1, 1]), 3, np.random.default_rng(0))
    >>> folds.reshape(2, 3).sum(axis=1)
    array([3, 3])
    """
    order = rng.permutation(y.size)
    order = order[np.argsort(y[order], kind="stable")]
    folds = np.empty(y.size, np.int64)
    folds[order] = np.arange(y.size) % n_folds
    return folds


@dataclass(frozen=True)
class Folds:
    """The fold of each row, block by block from block number ``first`` on.

    Rows of weight zero are in the first fold.
    """

    by_block: tuple[np.ndarray, ...]
    n_folds: int
    first: int = 0

    @classmethod
    def draw(
        cls, data: Rows, n_folds: int, rng: np.random.Generator, n_jobs: int | None = None
    ) -> Folds:
        """Assign the rows with a weight above zero to folds by ``stratified_folds``."""
        blocks: list[_Classes] = data.map_reduce(_classes_in, add, n_jobs=n_jobs)
        kept = np.concatenate([block.kept for block in blocks])
        y = np.concatenate([block.classes for block in blocks])[kept]
        if n_folds > y.size:
            raise ValueError(
                f"{n_folds} folds cannot be made of {y.size} rows (n_samples={y.size})"
            )
        folds = np.zeros(kept.size, code_dtype(n_folds))
        folds[kept] = stratified_folds(y, n_folds, rng)
        ends = np.cumsum([block.kept.size for block in blocks])
        return cls(tuple(part.copy() for part in np.split(folds, ends[:-1])), n_folds)

    @staticmethod
    def fit_in(data: Rows) -> bool:
        """Return whether the memory limit of the rows allows to draw folds of them."""
        return data.memory is None or data.n_samples * BYTES_OF_A_ROW <= data.memory

    def of(self, number: int) -> np.ndarray:
        """Return the folds of the rows of a block."""
        return self.by_block[number - self.first]

    def part(self, first: int, last: int) -> Folds:
        """Return the folds of some of the blocks."""
        return Folds(self.by_block[first - self.first : last - self.first], self.n_folds, first)


class _Classes(NamedTuple):
    """The classes of the rows of a block, and which of them have a weight above zero."""

    classes: np.ndarray
    kept: np.ndarray


def _classes_in(data: Encoded, n_jobs: int | None) -> list[_Classes]:
    kept = np.ones(data.n_samples, np.bool_) if data.weight is None else data.weight != 0
    return [_Classes(data.classes.astype(code_dtype(data.n_classes)), kept)]


@dataclass(frozen=True)
class KeyedRows:
    """A batch of rows: keys that are equal for equal rows; no weight if each counts once."""

    keys: np.ndarray
    classes: np.ndarray
    weight: np.ndarray | None = None


KeyedBatches = Callable[[], Iterator[KeyedRows]]


@dataclass(frozen=True)
class FoldAssignment:
    """Held-out rows, fold by fold: ``weight[k]`` of row ``rows[k]`` is held out in ``folds[k]``.

    Attributes
    ----------
    classes : ndarray
        The class of each of these rows.
    class_rows, class_weight : ndarray
        The number of rows of each class, and their weight.
    alone : ndarray of bool
        The classes with one row, or less by its weight: nothing of them is held out.
    """

    folds: np.ndarray
    rows: np.ndarray
    classes: np.ndarray
    weight: np.ndarray
    class_rows: np.ndarray
    class_weight: np.ndarray
    alone: np.ndarray

    def fold(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of a fold, in their order, and the weight held out of each."""
        of_fold = slice(*np.searchsorted(self.folds, [number, number + 1]))
        return self.rows[of_fold], self.weight[of_fold]


def in_batches(
    keys: np.ndarray, classes: np.ndarray, weight: np.ndarray | None
) -> Iterator[KeyedRows]:
    """Iterate over rows in memory, block by block."""
    for first in range(0, keys.size, row_blocks.ROWS_OF_BLOCK):
        rows = slice(first, first + row_blocks.ROWS_OF_BLOCK)
        yield KeyedRows(keys[rows], classes[rows], None if weight is None else weight[rows])


def assign_folds(
    batches: KeyedBatches,
    n_classes: int,
    n_folds: int,
    min_weight: float = np.inf,
    max_keys: int = MAX_KEYS,
) -> FoldAssignment:
    """Assign the rows of all batches to folds by their keys.

    Parameters
    ----------
    batches : callable
        Returns an iterator over the rows, the same at each call.
    n_classes, n_folds : int
        The number of classes, and of folds.
    min_weight : float, optional
        No more folds are used once this weight is held out.
    max_keys : int, optional
        The number of distinct keys that are kept at a time; the result does not depend on it.

    Returns
    -------
    FoldAssignment
        The rows that are held out.

    Examples
    --------
    >>> keys, classes = np.array([7, 3, 5, 9], np.uint64) << np.uint64(32), np.array([0, 0, 0, 1])
    >>> weight = np.array([3.0, 1, 1, 1])
    >>> found = assign_folds(lambda: in_batches(keys, classes, weight), 2, 2)
    >>> np.column_stack([found.folds, found.rows, found.weight]).tolist()
    [[0.0, 0.0, 2.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 2.0, 1.0]]
    """
    class_rows, class_weight = _sizes(batches, n_classes)
    n_assigned = _n_assigned(n_folds, class_rows, class_weight)
    assignment = _Assignment(batches, n_classes, n_folds, n_assigned)
    for places in _place_ranges(assignment, max_keys):
        assignment.assign(places)
    folds, rows, classes, weight = assignment.held_out()
    alone = assignment.pieces < 2
    order = np.lexsort((rows, folds))
    held_by_fold = np.bincount(folds, weight * ~alone[classes], n_folds)
    used = np.concatenate([[True], np.cumsum(held_by_fold)[:-1] < min_weight])
    order = order[(used[folds] & ~alone[classes])[order]]
    return FoldAssignment(
        folds[order], rows[order], classes[order], weight[order], class_rows, class_weight, alone
    )


def rows_beyond(batches: KeyedBatches, n_classes: int, max_rows: int) -> np.ndarray:
    """Return the rows to leave out so that about ``max_rows`` are left, which their keys decide.

    Classes keep their shares, but no class is left with less than ``MIN_CLASS_ROWS`` of its rows.

    Parameters
    ----------
    batches : callable
        Returns an iterator over the rows.
    n_classes : int
        The number of classes.
    max_rows : int
        About how many rows are left.

    Returns
    -------
    ndarray of int
        The numbers of the other rows, in rising order.

    Examples
    --------
    >>> keys = np.random.default_rng(0).integers(2**63, size=1000, dtype=np.uint64)
    >>> classes = np.zeros(1000, np.int64)
    >>> 1000 - rows_beyond(lambda: in_batches(keys, classes, None), 1, 300).size
    302
    """
    class_rows, _ = _sizes(batches, n_classes)
    if class_rows.sum() <= max_rows:
        return np.zeros(0, np.int64)
    wanted = np.maximum(class_rows * (max_rows / class_rows.sum()), MIN_CLASS_ROWS)
    share = wanted / np.maximum(class_rows, 1)
    found, first = [], 0
    for batch in batches():
        # another order than that of the keys, by which rows are assigned to folds
        mixed = (batch.keys ^ (batch.keys >> np.uint64(29))) * _MIXING
        place = (mixed >> np.uint64(11)) / 2.0**53
        found.append(first + np.flatnonzero(place >= share[batch.classes]))
        first += batch.keys.size
    return np.concatenate(found)


def _sizes(batches: KeyedBatches, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the number and the weight of the rows of each class."""
    rows, weight = np.zeros(n_classes, np.int64), np.zeros(n_classes)
    for batch in batches():
        rows += np.bincount(batch.classes, minlength=n_classes)
        weight += np.bincount(batch.classes, batch.weight, n_classes)
    return rows, weight


def _n_assigned(n_folds: int, class_rows: np.ndarray, class_weight: np.ndarray) -> int:
    """Return the number of folds to assign rows to, of which the first ``n_folds`` are used."""
    n_rows = int(class_rows.sum())
    if n_rows <= MAX_ROWS:
        return n_folds
    return ceil(n_folds * max(n_rows, float(class_weight.sum())) / MAX_ROWS)


def _place_ranges(assignment: _Assignment, max_keys: int) -> Iterator[np.ndarray]:
    """Iterate over all distinct places in order, at most ``max_keys`` at a time."""
    lower: np.uint64 | None = np.uint64(0)
    while lower is not None:
        found = _Smallest(max_keys)
        for places, _, _ in assignment.places(lower):
            found.add(places)
        known, lower = found.all()
        yield known


class _Smallest:
    """The smallest distinct numbers of many, up to a number of them."""

    def __init__(self, max_size: int):
        self._max_size = max_size
        self._known = np.zeros(0, np.uint64)
        self._upper: np.uint64 | None = None
        self._waiting: list[np.ndarray] = []
        self._n_waiting = 0

    def add(self, numbers: np.ndarray) -> None:
        """Add numbers."""
        if self._upper is not None:
            numbers = numbers[numbers < self._upper]
        self._waiting.append(numbers)
        self._n_waiting += numbers.size
        # sorting is put off until there is as much to add as is known, so that it costs O(n log n)
        if self._n_waiting > max(self._known.size, row_blocks.ROWS_OF_BLOCK):
            self._settle()

    def _settle(self) -> None:
        known = np.concatenate([self._known, *self._waiting])
        known.sort()
        known = known[np.append(True, known[1:] != known[:-1])[: known.size]]
        if known.size > self._max_size:
            self._upper = known[self._max_size]
            known = known[: self._max_size].copy()
        self._known = known
        self._waiting = []
        self._n_waiting = 0

    def all(self) -> tuple[np.ndarray, np.uint64 | None]:
        """Return the numbers that were kept, and the smallest one that was not."""
        self._settle()
        return self._known, self._upper


class _Assignment:
    """An assignment of rows to folds in progress, one range of places after the other.

    A place is a class and a key in one number, so that places are in the order of the classes, then
    of the keys.
    """

    def __init__(self, batches: KeyedBatches, n_classes: int, n_folds: int, n_assigned: int):
        self._batches = batches
        self._n_folds = n_folds
        self._n_assigned = n_assigned
        self._bits = np.uint64(max(1, (n_classes - 1).bit_length()))
        self.pieces = np.zeros(n_classes)
        self._found: list[tuple[np.ndarray, ...]] = []

    def places(
        self, lower: np.uint64, upper: np.uint64 | None = None
    ) -> Iterator[tuple[np.ndarray, ...]]:
        """Iterate over batches: the places in a range, the numbers of their rows, the weights."""
        first = 0
        for batch in self._batches():
            places = (batch.classes.astype(np.uint64) << (np.uint64(64) - self._bits)) | (
                batch.keys >> self._bits
            )
            inside = places >= lower
            if upper is not None:
                inside &= places <= upper
            weight = np.ones(places.size) if batch.weight is None else batch.weight
            yield places[inside], first + np.flatnonzero(inside), weight[inside]
            first += places.size

    def assign(self, groups: np.ndarray) -> None:
        """Assign all rows of some places; rows of the same place are a group."""
        if not groups.size:
            return
        total = np.zeros(groups.size)
        for _ in self._intervals(groups, total):
            pass  # adds up in total
        pieces = np.clip(np.ceil(total - _EPSILON), 1, _MAX_PIECES)
        unit = total / pieces
        before = self.pieces.sum() + np.cumsum(pieces) - pieces
        for group, rows, weight, start, end in self._intervals(groups, np.zeros(groups.size)):
            begins, ends = (
                before[group] + np.clip(_snapped(weight_so_far / unit[group]), 0, pieces[group])
                for weight_so_far in (start, end)
            )
            self._hold_out(groups[group], rows, weight, unit[group], begins, ends)
        classes = (groups >> (np.uint64(64) - self._bits)).astype(np.int64)
        self.pieces += np.bincount(classes, pieces, self.pieces.size)

    def _intervals(self, groups: np.ndarray, total: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
        """Iterate over batches: groups, rows, weights, and the interval of each row in its group.

        The interval is the weight of the group before the row and with it.
        """
        for places, rows, weight in self.places(groups[0], groups[-1]):
            order = np.argsort(places)
            group = np.empty(places.size, np.int64)
            group[order] = np.searchsorted(groups, places[order])
            start, end = np.empty(places.size), np.empty(places.size)
            add_in_order(group, weight, total, start, end)
            yield group, rows, weight, start, end

    def _hold_out(
        self,
        places: np.ndarray,
        rows: np.ndarray,
        weight: np.ndarray,
        unit: np.ndarray,
        begins: np.ndarray,
        ends: np.ndarray,
    ) -> None:
        """Hold out rows whose pieces are numbered from ``begins`` to ``ends``, round the folds."""
        first_round, begins = np.divmod(begins, self._n_assigned)
        last_round, ends = np.divmod(ends, self._n_assigned)
        for fold in range(self._n_folds):
            share = (
                last_round
                - first_round
                + np.clip(ends - fold, 0.0, 1.0)
                - np.clip(begins - fold, 0.0, 1.0)
            )
            held_out = _snapped(share * unit / weight) * weight
            some = held_out > 0
            classes = (places[some] >> (np.uint64(64) - self._bits)).astype(np.int64)
            self._found.append((np.full(classes.size, fold), rows[some], classes, held_out[some]))

    def held_out(self) -> list[np.ndarray]:
        """Return folds, rows, classes and weights of all that is held out."""
        return [np.concatenate(parts) for parts in zip(*self._found, strict=True)]


def _snapped(places: np.ndarray) -> np.ndarray:
    """Round numbers that are whole up to rounding errors."""
    whole = np.rint(places)
    return np.where(np.abs(places - whole) < _EPSILON, whole, places)
