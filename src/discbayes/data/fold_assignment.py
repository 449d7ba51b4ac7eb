"""Which rows are held out: it follows from what is in them, and is found in bounded memory.

In the order of their keys the rows of a class are dealt out to the folds one by one, a row of
weight 2.5 as three pieces, and equal rows together. So the order of the rows has no part in it, and
a row with a weight of two is the same as the row twice. Of more than `MOST_ROWS` rows not all are
held out: they are dealt out to more folds than are used, so that those which are used hold out so
many in all.

The rows are gone through several times. What is kept are the distinct keys of some of them at a
time, from one key to another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np

from discbayes.data import row_blocks
from discbayes.kernels.fold_order import take_turns

MAX_ROWS = 500_000
ROOM = 1 << 22  # distinct keys that are kept at a time
_MAX_PIECES = 1e6  # that equal rows are dealt out in
_EPSILON = 1e-6  # of a row


@dataclass(frozen=True)
class KeyedRows:
    """Some rows, by keys that are the same for equal rows; no weight where each counts once."""

    keys: np.ndarray
    classes: np.ndarray
    weight: np.ndarray | None = None


Portions = Callable[[], Iterator[KeyedRows]]


@dataclass(frozen=True)
class FoldAssignment:
    """What is held out: of row ``rows[k]``, in fold ``folds[k]``, as much as ``weight[k]``, fold by
    fold.

    Attributes
    ----------
    classes : ndarray
        The class of each of these rows.
    class_rows, class_weight : ndarray
        The number of all rows of each class, and their weight.
    alone : ndarray of bool
        The classes that have one row, or less by its weight: nothing of them is ever held out.
    """

    folds: np.ndarray
    rows: np.ndarray
    classes: np.ndarray
    weight: np.ndarray
    class_rows: np.ndarray
    class_weight: np.ndarray
    alone: np.ndarray

    def fold(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows of a fold, in their order, and what is held out of each."""
        of_fold = slice(*np.searchsorted(self.folds, [number, number + 1]))
        return self.rows[of_fold], self.weight[of_fold]


def in_portions(
    keys: np.ndarray, classes: np.ndarray, weight: np.ndarray | None
) -> Iterator[KeyedRows]:
    """Rows in memory, block by block."""
    for first in range(0, keys.size, row_blocks.ROWS_OF_BLOCK):
        rows = slice(first, first + row_blocks.ROWS_OF_BLOCK)
        yield KeyedRows(keys[rows], classes[rows], None if weight is None else weight[rows])


def deal(
    portions: Portions, n_classes: int, n_folds: int, enough: float = np.inf, room: int = ROOM
) -> FoldAssignment:
    """Deal out the rows of all portions, which are blocks, to the folds.

    There are no more folds as soon as ``enough`` is held out, by its weight. ``room`` is the number
    of distinct keys that are kept at a time; the result does not depend on it.

    >>> keys, classes = np.array([7, 3, 5, 9], np.uint64) << np.uint64(32), np.array([0, 0, 0, 1])
    >>> found = deal(lambda: in_portions(keys, classes, np.array([3.0, 1, 1, 1])), 2, 2)
    >>> np.column_stack([found.folds, found.rows, found.weight]).tolist()
    [[0.0, 0.0, 2.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 2.0, 1.0]]
    """
    class_rows, class_weight = _sizes(portions, n_classes)
    round_ = _Round(portions, n_classes, n_folds, _n_dealt(n_folds, class_rows, class_weight))
    for groups in _stretches(round_, room):
        round_.deal(groups)
    folds, rows, classes, weight = round_.dealt()
    alone = round_.pieces < 2
    order = np.lexsort((rows, folds))
    held_by_fold = np.bincount(folds, weight * ~alone[classes], n_folds)
    used = np.concatenate([[True], np.cumsum(held_by_fold)[:-1] < enough])
    order = order[(used[folds] & ~alone[classes])[order]]
    return FoldAssignment(
        folds[order], rows[order], classes[order], weight[order], class_rows, class_weight, alone
    )


def _sizes(portions: Portions, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """The number and the weight of the rows of each class."""
    rows, weight = np.zeros(n_classes, np.int64), np.zeros(n_classes)
    for some in portions():
        rows += np.bincount(some.classes, minlength=n_classes)
        weight += np.bincount(some.classes, some.weight, n_classes)
    return rows, weight


def _n_dealt(n_folds: int, class_rows: np.ndarray, class_weight: np.ndarray) -> int:
    """The number of folds that rows are dealt out to, of which the first ``n_folds`` are used."""
    n_rows = int(class_rows.sum())
    if n_rows <= MAX_ROWS:
        return n_folds
    return ceil(n_folds * max(n_rows, float(class_weight.sum())) / MAX_ROWS)


def _stretches(round_: _Round, room: int) -> Iterator[np.ndarray]:
    """All places, each once and in order, in stretches of some of them."""
    lower: np.uint64 | None = np.uint64(0)
    while lower is not None:
        found = _Smallest(room)
        for places, _, _ in round_.places(lower):
            found.add(places)
        known, lower = found.all()
        yield known


class _Smallest:
    """The smallest of many numbers, each once: as many as there is room for."""

    def __init__(self, room: int):
        self._room, self._known = room, np.zeros(0, np.uint64)
        self._upper: np.uint64 | None = None
        self._waiting: list[np.ndarray] = []
        self._n_waiting = 0

    def add(self, numbers: np.ndarray) -> None:
        """Look at more of them."""
        if self._upper is not None:
            numbers = numbers[numbers < self._upper]
        self._waiting.append(numbers)
        self._n_waiting += numbers.size
        if self._n_waiting > max(self._known.size, row_blocks.ROWS_OF_BLOCK):
            self._settle()

    def _settle(self) -> None:
        known = np.concatenate([self._known, *self._waiting])
        known.sort()
        known = known[np.append(True, known[1:] != known[:-1])[: known.size]]
        if known.size > self._room:
            self._upper, known = known[self._room], known[: self._room].copy()
        self._known, self._waiting, self._n_waiting = known, [], 0

    def all(self) -> tuple[np.ndarray, np.uint64 | None]:
        """Those that were kept, and the smallest one that was not."""
        self._settle()
        return self._known, self._upper


class _Round:
    """Dealing out, one stretch of places after the other.

    A place is a class and a key in one number, so that places are in the order of the classes, then
    of the keys.
    """

    def __init__(self, portions: Portions, n_classes: int, n_folds: int, n_dealt: int):
        self._portions, self._n_folds, self._n_dealt = portions, n_folds, n_dealt
        self._bits = np.uint64(max(1, (n_classes - 1).bit_length()))
        self.pieces = np.zeros(n_classes)
        self._found: list[tuple[np.ndarray, ...]] = []

    def places(
        self, lower: np.uint64, upper: np.uint64 | None = None
    ) -> Iterator[tuple[np.ndarray, ...]]:
        """Portion by portion the places from one to another, the numbers of their rows and the
        weights.
        """
        first = 0
        for some in self._portions():
            places = (some.classes.astype(np.uint64) << (np.uint64(64) - self._bits)) | (
                some.keys >> self._bits
            )
            inside = places >= lower
            if upper is not None:
                inside &= places <= upper
            weight = np.ones(places.size) if some.weight is None else some.weight
            yield places[inside], first + np.flatnonzero(inside), weight[inside]
            first += places.size

    def deal(self, groups: np.ndarray) -> None:
        """Deal out all rows of some places."""
        if not groups.size:
            return
        total = np.zeros(groups.size)
        for _ in self._turns(groups, total):
            pass  # adds up in total
        pieces = np.clip(np.ceil(total - _EPSILON), 1, _MAX_PIECES)
        unit, before = total / pieces, self.pieces.sum() + np.cumsum(pieces) - pieces
        for group, rows, weight, start, end in self._turns(groups, np.zeros(groups.size)):
            begins, ends = (
                before[group] + np.clip(_snapped(taken / unit[group]), 0, pieces[group])
                for taken in (start, end)
            )
            self._hold_out(groups[group], rows, weight, unit[group], begins, ends)
        classes = (groups >> (np.uint64(64) - self._bits)).astype(np.int64)
        self.pieces += np.bincount(classes, pieces, self.pieces.size)

    def _turns(self, groups: np.ndarray, taken: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
        """Portion by portion: groups, rows and weights, and what was taken of each group before and
        with each row.
        """
        for places, rows, weight in self.places(groups[0], groups[-1]):
            order = np.argsort(places)
            group = np.empty(places.size, np.int64)
            group[order] = np.searchsorted(groups, places[order])
            start, end = np.empty(places.size), np.empty(places.size)
            take_turns(group, weight, taken, start, end)
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
        (rounds, begins), (more_rounds, ends) = (
            np.divmod(at, self._n_dealt) for at in (begins, ends)
        )
        for fold in range(self._n_folds):
            share = (
                more_rounds
                - rounds
                + np.clip(ends - fold, 0.0, 1.0)
                - np.clip(begins - fold, 0.0, 1.0)
            )
            held_out = _snapped(share * unit / weight) * weight
            some = held_out > 0
            classes = (places[some] >> (np.uint64(64) - self._bits)).astype(np.int64)
            self._found.append((np.full(classes.size, fold), rows[some], classes, held_out[some]))

    def dealt(self) -> list[np.ndarray]:
        """Folds, rows, classes and weights of all that is held out."""
        return [np.concatenate(parts) for parts in zip(*self._found, strict=True)]


def _snapped(places: np.ndarray) -> np.ndarray:
    """Whole numbers where rounding has made them almost such."""
    whole = np.rint(places)
    return np.where(np.abs(places - whole) < _EPSILON, whole, places)
