"""Orders of the features, for searches in which a feature takes its parents among the earlier ones.

The orders of Pernkopf and Bilmes (2010) differ in how the next feature X is chosen, given the
earlier ones E:

========  ================================  =======================================
name      the next feature                  starts with
========  ================================  =======================================
omi       largest I(C;X|E)                  the pair of largest I(C;X,X'), an edge
min-mi    smallest I(C;X|E)                 one feature
omisp     largest I(C;X|X') for an X' in E  one feature
ocr       most rows right by C|X,E          one feature
random    drawn
========  ================================  =======================================

``E`` are all earlier features together. They group the rows into parts, which each step makes
finer; a part that holds one class only has the same effect on every candidate from then on, so its
rows are dropped. A gap counts as a value of its own, "unknown", in an order and only there: no row
is left out of some measures and not of others.

Candidates that differ by rounding only are equal, and the lower column comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from discbayes.counts import Counts, class_information, count, entropy, pair_information
from discbayes.data.domain import Encoded
from discbayes.data.transformed_rows import MissingAsValue
from discbayes.engine import parallel_map
from discbayes.kernels import partition as kernels
from discbayes.network.graph import topological_order
from discbayes.search.constraints import column_position
from discbayes.search.table_sizes import MAX_TABLE_SIZE

# All criteria are compared as means over rows, so they are of the order of one, and their rounding
# stays below 1e-12.
TIE = 1e-11
TINY = np.finfo(float).tiny
KNOWN_LOGS = 4096  # n log n is tabulated up to here: 32 kB, and larger counts are few
ROW_STEPS = 4  # elementary steps for a row of one candidate


@dataclass(frozen=True)
class Order:
    """The features from first to last, by position.

    ``first_edge`` is the edge (parent, child) that OMI starts with; ``evaluations`` is the number
    of informations or rates that were measured to find the order.
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
    """Put the features in an order.

    Parameters
    ----------
    how : str or columns
        A name of the table above, or all columns from first to last, by name or position.
    rng : Generator, seed or None
        Where a random order is drawn from.
    before : bool array (n_features, n_features) or None
        ``before[p, i]`` says that ``p`` must come before ``i``.
    check : callable or None
        Called before each step; a search that is out of time raises from it.
    """
    task = _Task(data, counts, n_jobs, rng, _read_before(data, before), check or (lambda: None))
    if not isinstance(how, str):
        return _given(task, how)
    if how not in _ORDERS:
        raise ValueError(f"order={how!r} is none of {', '.join(ORDERS)}, nor a list of all columns")
    return _ORDERS[how](task if how == "random" else _gaps_as_values(task))


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


def _gaps_as_values(task: _Task) -> _Task:
    """The same codes, with one value more in columns with gaps, so that the code for missing
    becomes that value.
    """
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
        """Which pairs ``[a, b]`` may come next, ``a`` before ``b``."""
        first = (self._left & (self._waits_for == 0))[:, None]
        second = self._left & (self._waits_for - self._before == 0)
        return first & second & ~np.eye(len(self._left), dtype=bool)


@dataclass(frozen=True)
class _Partition:
    """The rows of parts that hold several classes, part after part (see
    ``kernels/partition.py``).
    """

    data: Encoded
    rows: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    starts: np.ndarray
    known: np.ndarray

    @classmethod
    def of(cls, data: Encoded) -> _Partition:
        """One part, of all rows with a weight."""
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
        """The finer partition by the values of a feature as well; the same object where it splits
        no part.
        """
        column, card = self.data.codes[feature], self.data.cards[feature]
        order, starts = kernels.split(column, self.rows, self.y, self.starts, card)
        if order.size == self.rows.size and starts.size == self.starts.size:
            return self
        return replace(
            self, rows=self.rows[order], y=self.y[order], weight=self.weight[order], starts=starts
        )

    def information(self, feature: int) -> float:
        """I(C;X|E) times the weight of the rows, but for a number that all X share; zero where X
        leaves no doubt.
        """
        column, card = self.data.codes[feature], self.data.cards[feature]
        parts = self.rows, self.y, self.weight, self.starts
        return kernels.information_left(column, *parts, card, self.data.n_classes, self.known)

    def hits(self, feature: int) -> float:
        """The weight of the rows that have the most frequent class among those with the same X and
        E.
        """
        column, card = self.data.codes[feature], self.data.cards[feature]
        return kernels.hits(
            column, self.rows, self.y, self.weight, self.starts, card, self.data.n_classes
        )

    def measure(self, measure: str, features: np.ndarray, n_jobs: int | None) -> np.ndarray:
        """The information or the hits of several features."""
        work = float(features.size) * self.rows.size * ROW_STEPS
        return np.array(parallel_map(getattr(self, measure), features.tolist(), n_jobs, work=work))


def _whole(weight: np.ndarray) -> np.ndarray:
    """Weights as integers, which are faster to add and have no rounding, where they are whole
    numbers.
    """
    if (weight == np.floor(weight)).all() and weight.sum() < 2**53:
        return weight.astype(np.int64)
    return np.ascontiguousarray(weight, np.float64)


def _known_logs(weight: np.ndarray) -> np.ndarray:
    """The values of n log n for small counts; none where counts are not whole."""
    n = np.arange(min(weight.sum() + 1, KNOWN_LOGS) if weight.dtype.kind == "i" else 0, dtype=float)
    return n * np.log(np.maximum(n, 1.0))


def _first_best(values: np.ndarray) -> int:
    """The first of the values that are as large as the largest."""
    return int(np.argmax(values >= values.max() - TIE))


def _omi(task: _Task) -> Order:
    """The pair that tells most about the class, then always the feature that tells most beyond the
    earlier ones.
    """
    n, queue = task.data.n_features, _Queue(task.before)
    if n < 2:
        return _grow(task, queue, "information")
    task.check()
    pair = _first_pair(task, queue.ready_pairs())
    for feature in pair:
        queue.place(feature)
    return replace(_grow(task, queue, "information", evaluations=task.n_pairs + n), first_edge=pair)


def _first_pair(task: _Task, allowed: np.ndarray) -> tuple[int, int]:
    """The pair of largest I(C;X,X'), the feature of larger I(C;X) first unless it must come
    second.
    """
    joint = np.where(np.triu(allowed | allowed.T, 1), _joint_information(task), -np.inf)
    a, b = (int(i) for i in np.unravel_index(_first_best(joint.ravel()), joint.shape))
    alone = class_information(task.counts)
    turned = alone[b] > alone[a] + TIE if allowed[a, b] and allowed[b, a] else not allowed[a, b]
    return (b, a) if turned else (a, b)


def _joint_information(task: _Task) -> np.ndarray:
    """I(C;X,X') of all pairs; the few whose table would be too large are measured on the rows
    instead.
    """
    data = task.data
    class_count = task.counts.class_count
    cards = task.data.cards.astype(float)
    wide = np.outer(cards, cards) * data.n_classes > MAX_TABLE_SIZE
    joint = pair_information(data, task.counts, task.n_jobs, skip=wide).joint
    for a in np.flatnonzero(np.triu(wide, 1).any(axis=1)).tolist():
        others = a + 1 + np.flatnonzero(wide[a, a + 1 :])
        left = _Partition.of(data).split(a).measure("information", others, task.n_jobs)
        joint[a, others] = joint[others, a] = entropy(class_count) + left / max(
            class_count.sum(), TINY
        )
    return joint


def _min_mi(task: _Task) -> Order:
    """Always the feature that tells least about the class beyond the earlier ones."""
    return _grow(task, _Queue(task.before), "information", sign=-1.0)


def _ocr(task: _Task) -> Order:
    """Always the feature with which, and with the earlier ones, most rows have the class of most
    rows like them.
    """
    return _grow(task, _Queue(task.before), "hits")


def _grow(
    task: _Task, queue: _Queue, measure: str, sign: float = 1.0, evaluations: int = 0
) -> Order:
    """Place feature after feature by what it has, given all that are placed."""
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
            # a column that splits no part changes nothing for the others
            parts, values[:] = finer, np.nan
    return Order(tuple(queue.placed), evaluations=evaluations)


def _omisp(task: _Task) -> Order:
    """The feature that tells most, then always the one that tells most beyond the best single
    earlier one.
    """
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
    """Drawn; a feature whose turn comes too early waits for those that must be earlier."""
    rank = np.random.default_rng(task.rng).permutation(task.data.n_features).argsort()
    queue = _Queue(task.before)
    while queue:
        ready = queue.ready()
        queue.place(ready[rank[ready].argmin()])
    return Order(tuple(queue.placed))


def _given(task: _Task, columns: Iterable[Any]) -> Order:
    """All columns in the order in which they are given."""
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
