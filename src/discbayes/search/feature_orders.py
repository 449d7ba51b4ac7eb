"""Orders of the features, for searches in which a feature takes its parents among the earlier ones.

The orders of Pernkopf and Bilmes (2010) differ in how the next feature X is chosen, given the
earlier ones E:

========  ================================  =======================================
name      the next feature                  starts with
========  ================================  =======================================
omi       largest I(C;X|E)                  the pair of largest I(C;X,X'), an edge
min-mi    smallest I(C;X|E)                 one feature
omisp     largest I(C;X|X') for an X' in E  one feature
ocr       largest accuracy of C|X,E         one feature
random    drawn
========  ================================  =======================================

``E`` are all earlier features together. They group the rows into parts, which each step makes
finer; a part that holds one class only contributes equally to every candidate from then on, so its
rows are dropped. Only in an order, a missing value counts as a value of its own, "unknown", so that
all candidates are measured on all rows.

Candidates that differ by rounding only are equal, and the lower column comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from discbayes.counts import Counts, class_information, count, entropy, pair_weights
from discbayes.data.domain import Encoded
from discbayes.data.row_blocks import MissingAsValue
from discbayes.engine import parallel_map
from discbayes.kernels import partition as kernels
from discbayes.network.graph import topological_order
from discbayes.search.constraints import column_position
from discbayes.search.table_sizes import MAX_TABLE_SIZE

# All measures are compared as means over rows, so their magnitude is about one and their rounding
# error is below 1e-12.
TIE = 1e-11
TINY = np.finfo(float).tiny
KNOWN_LOGS = 4096  # n log n is tabulated up to here: 32 kB; larger counts are rare
ROW_STEPS = 4  # elementary operations for one row of one candidate


@dataclass(frozen=True)
class Order:
    """The features from first to last, by position.

    ``first_edge`` is the edge (parent, child) that OMI starts with; ``evaluations`` is the number
    of informations or accuracies that were computed to find the order.
    """

    features: tuple[int, ...]
    first_edge: tuple[int, int] | None = None
    evaluations: int = 0


def order_features(
    data: Encoded,
    counts: Counts,
    how: str | Iterable[Any],
    n_jobs: int | None = None,
    rng: Any = None,
    before: np.ndarray | None = None,
    check: Callable[[], None] | None = None,
) -> Order:
    """Return an order of the features.

    Parameters
    ----------
    data : Encoded
        The rows; blocks of rows for orders that need no more than counts.
    counts : Counts
        Counts of the class and of each feature.
    how : str or columns
        A name of the table above, or all columns from first to last, by name or position.
    n_jobs : int, optional
        The number of threads.
    rng : Generator, seed or None
        The random generator of a random order.
    before : bool array (n_features, n_features) or None
        ``before[p, i]`` requires that ``p`` comes before ``i``.
    check : callable or None
        Called before each step; it raises an exception when the time limit is reached.

    Returns
    -------
    Order
        The order.
    """
    task = _Task(data, counts, n_jobs, rng, _read_before(data, before), check or (lambda: None))
    if not isinstance(how, str):
        return _given(task, how)
    if how not in _ORDERS:
        raise ValueError(
            f"order={how!r} is not one of {', '.join(ORDERS)}, or a list of all columns"
        )
    return _ORDERS[how](task if how == "random" else _missing_as_values(task))


@dataclass(frozen=True)
class _Task:
    data: Any  # blocks only for orders that need no more than counts
    counts: Counts
    n_jobs: int | None
    rng: Any
    before: np.ndarray
    check: Callable[[], None]

    @property
    def n_pairs(self) -> int:
        return self.data.n_features * (self.data.n_features - 1) // 2


def _missing_as_values(task: _Task) -> _Task:
    """Return the task with one more value in columns with missing values, which is their code."""
    data = task.data
    if not data.n_missing.any():
        return task
    change = MissingAsValue(data.n_missing > 0)
    widened = data.changed(change)
    return replace(task, data=widened, counts=count(widened, task.n_jobs))


def _read_before(data: Encoded, before: np.ndarray | None) -> np.ndarray:
    n = data.n_features
    if before is None:
        return np.zeros((n, n), np.bool_)
    matrix = np.asarray(before, np.bool_)
    if matrix.shape != (n, n):
        raise ValueError(f"before has the shape {matrix.shape}, and {n} features need {(n, n)}")
    try:
        topological_order(
            [np.flatnonzero(column).tolist() for column in matrix.T], data.domain.names
        )
    except ValueError as error:
        raise ValueError(f"no order is possible: {error}") from None
    return matrix


class _Queue:
    """The features placed so far, and those that may come next."""

    def __init__(self, before: np.ndarray):
        self.placed: list[int] = []
        self._before = before
        self._waits_for = before.sum(axis=0)  # features that must still come earlier
        self._left = np.ones(len(before), np.bool_)

    def __bool__(self) -> bool:
        return bool(self._left.any())

    def ready(self) -> np.ndarray:
        return np.flatnonzero(self._left & (self._waits_for == 0))

    def place(self, feature: int) -> None:
        self.placed.append(int(feature))
        self._left[feature] = False
        self._waits_for -= self._before[feature]

    def ready_pairs(self) -> np.ndarray:
        """Return the matrix of pairs ``[a, b]`` that may come next, ``a`` before ``b``."""
        first = (self._left & (self._waits_for == 0))[:, None]
        second = self._left & (self._waits_for - self._before == 0)
        return first & second & ~np.eye(len(self._left), dtype=bool)


@dataclass(frozen=True)
class _Partition:
    """The rows of all parts that hold several classes, sorted by part: ``kernels/partition.py``."""

    data: Encoded
    rows: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    starts: np.ndarray
    known: np.ndarray

    @classmethod
    def of(cls, data: Encoded) -> _Partition:
        """Return the partition with one part, of all rows with a weight above zero."""
        weight = np.ones(data.n_samples, np.int64) if data.weight is None else _whole(data.weight)
        rows = np.flatnonzero(weight > 0).astype(np.uint32)
        y = data.classes[rows].astype(np.uint32)
        several = bool((y != y[:1]).any())
        keep = slice(rows.size if several else 0)
        starts = np.array([0, rows.size] if several else [0], np.int64)
        return cls(data, rows[keep], y[keep], weight[rows][keep], starts, _known_logs(weight))

    @cached_property
    def total(self) -> float:
        """The weight of the rows."""
        return float(self.weight.sum())

    def split(self, feature: int) -> _Partition:
        """Return the finer partition by the values of a feature; itself if no part is split."""
        column, card = self.data.codes[feature], self.data.cards[feature]
        order, starts = kernels.split(column, self.rows, self.y, self.starts, card)
        if order.size == self.rows.size and starts.size == self.starts.size:
            return self
        return replace(
            self, rows=self.rows[order], y=self.y[order], weight=self.weight[order], starts=starts
        )

    def information(self, feature: int) -> float:
        """Return I(C;X|E) times the weight of the rows, up to a constant that all X share.

        It is zero if X and E determine the class.
        """
        column, card = self.data.codes[feature], self.data.cards[feature]
        parts = self.rows, self.y, self.weight, self.starts
        return kernels.information_left(column, *parts, card, self.data.n_classes, self.known)

    def correct_weight(self, feature: int) -> float:
        """Return the weight of the rows in the most frequent class for their values of X and E."""
        column, card = self.data.codes[feature], self.data.cards[feature]
        return kernels.correct_weight(
            column, self.rows, self.y, self.weight, self.starts, card, self.data.n_classes
        )

    def measure(self, measure: str, features: np.ndarray, n_jobs: int | None) -> np.ndarray:
        """Return one measure of several features: "information" or "correct_weight"."""
        work = float(features.size) * self.rows.size * ROW_STEPS
        return np.array(parallel_map(getattr(self, measure), features.tolist(), n_jobs, work=work))


def _whole(weight: np.ndarray) -> np.ndarray:
    """Return whole weights as integers, which add faster and without rounding; others as floats."""
    if (weight == np.floor(weight)).all() and weight.sum() < 2**53:
        return weight.astype(np.int64)
    return np.ascontiguousarray(weight, np.float64)


def _known_logs(weight: np.ndarray) -> np.ndarray:
    """Return n log n for small counts; an empty array if weights are not whole."""
    n = np.arange(min(weight.sum() + 1, KNOWN_LOGS) if weight.dtype.kind == "i" else 0, dtype=float)
    return n * np.log(np.maximum(n, 1.0))


def _first_best(values: np.ndarray) -> int:
    """Return the position of the first value that equals the largest up to rounding."""
    return int(np.argmax(values >= values.max() - TIE))


def _omi(task: _Task) -> Order:
    """Return the order OMI: the pair of largest I(C;X,X'), then by largest I(C;X|E)."""
    n, queue = task.data.n_features, _Queue(task.before)
    if n < 2:
        return _grow(task, queue, "information")
    task.check()
    pair = _first_pair(task, queue.ready_pairs())
    for feature in pair:
        queue.place(feature)
    return replace(_grow(task, queue, "information", evaluations=task.n_pairs + n), first_edge=pair)


def _first_pair(task: _Task, allowed: np.ndarray) -> tuple[int, int]:
    """Return the pair of largest I(C;X,X'), with the larger I(C;X) first if that is allowed."""
    joint = np.where(np.triu(allowed | allowed.T, 1), _joint_information(task), -np.inf)
    a, b = (int(i) for i in np.unravel_index(_first_best(joint.ravel()), joint.shape))
    alone = class_information(task.counts)
    turned = alone[b] > alone[a] + TIE if allowed[a, b] and allowed[b, a] else not allowed[a, b]
    return (b, a) if turned else (a, b)


def _joint_information(task: _Task) -> np.ndarray:
    """Return I(C;X,X') of all pairs; those with too large tables are measured on the rows."""
    data = task.data
    class_count = task.counts.class_count
    cards = task.data.cards.astype(float)
    wide = np.outer(cards, cards) * data.n_classes > MAX_TABLE_SIZE
    joint = pair_weights(data, task.counts, lambda measures: measures[:, 2], task.n_jobs, skip=wide)
    for a in np.flatnonzero(np.triu(wide, 1).any(axis=1)).tolist():
        others = a + 1 + np.flatnonzero(wide[a, a + 1 :])
        left = _Partition.of(data).split(a).measure("information", others, task.n_jobs)
        joint[a, others] = joint[others, a] = entropy(class_count) + left / max(
            class_count.sum(), TINY
        )
    return joint


def _min_mi(task: _Task) -> Order:
    """Return the order min-MI: next is the feature of smallest I(C;X|E)."""
    return _grow(task, _Queue(task.before), "information", sign=-1.0)


def _ocr(task: _Task) -> Order:
    """Return the order OCR: next is the feature of largest accuracy given the earlier ones."""
    return _grow(task, _Queue(task.before), "correct_weight")


def _grow(
    task: _Task, queue: _Queue, measure: str, sign: float = 1.0, evaluations: int = 0
) -> Order:
    """Return an order: next is the feature of largest measure, given the earlier ones."""
    parts = _Partition.of(task.data)
    for feature in queue.placed:
        parts = parts.split(feature)
    values = np.full(task.data.n_features, np.nan)
    while queue:
        task.check()
        ready = queue.ready()
        best = ready[0]
        if parts.rows.size and ready.size > 1:
            new = ready[np.isnan(values[ready])]
            values[new] = sign * parts.measure(measure, new, task.n_jobs) / parts.total
            best = ready[_first_best(values[ready])]
            evaluations += new.size
        queue.place(best)
        finer = parts.split(best)
        if finer is not parts:
            # A column that splits no part does not change the measures of the others.
            parts, values[:] = finer, np.nan
    return Order(tuple(queue.placed), evaluations=evaluations)


def _omisp(task: _Task) -> Order:
    """Return the order OMISP: largest I(C;X), then largest I(C;X|X') for one earlier X'."""
    alone, joint = class_information(task.counts), _joint_information(task)
    queue, value = _Queue(task.before), alone
    while queue:
        task.check()
        ready = queue.ready()
        best = ready[_first_best(value[ready])]
        beyond = joint[best] - alone[best]  # I(C;X|X') = I(C;X,X') − I(C;X')
        value = np.maximum(value, beyond) if queue.placed else beyond
        queue.place(best)
    return Order(tuple(queue.placed), evaluations=task.n_pairs + task.data.n_features)


def _random(task: _Task) -> Order:
    """Return a random order; a feature waits for those that must come earlier."""
    rank = np.random.default_rng(task.rng).permutation(task.data.n_features).argsort()
    queue = _Queue(task.before)
    while queue:
        ready = queue.ready()
        queue.place(ready[rank[ready].argmin()])
    return Order(tuple(queue.placed))


def _given(task: _Task, columns: Iterable[Any]) -> Order:
    """Return the given order, which must have all columns."""
    names = task.data.domain.names
    order = [column_position(task.data, column, "the order") for column in columns]
    times = np.bincount(order, minlength=len(names))
    for wrong, what in ((times > 1, "names {} more than once"), (times == 0, "leaves out {}")):
        if wrong.any():
            listed = ", ".join(repr(names[i]) for i in np.flatnonzero(wrong)[:20])
            raise ValueError(f"the order {what.format(listed)}; it must have every column once")
    place = np.argsort(order)
    for p, i in np.argwhere(task.before):
        if place[p] > place[i]:
            raise ValueError(
                f"the order has {names[i]!r} before {names[p]!r}, which must come earlier"
            )
    return Order(tuple(order))


_ORDERS: dict[str, Callable[[_Task], Order]] = {
    "omi": _omi,
    "min-mi": _min_mi,
    "omisp": _omisp,
    "ocr": _ocr,
    "random": _random,
}
ORDERS = tuple(_ORDERS)
