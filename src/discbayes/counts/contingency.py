"""Counts of the class, of features with the class, and of families; they add up over parts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import add
from reprlib import repr as repr_short
from typing import NamedTuple

import numpy as np

from discbayes._arrays import WithArrays
from discbayes.data.domain import Encoded
from discbayes.data.row_blocks import in_blocks_if_weighted
from discbayes.data.rows import Rows
from discbayes.engine import parallel_map
from discbayes.kernels import counting, saturated
from discbayes.network import Layout, Structure, reduce_states

NO_WEIGHT = np.empty(0)
# of tables that are visited and not kept: 1 MB, unless one table alone has more
CELLS_AT_ONCE = 1 << 17
# of tables that are counted in one pass over blocks of rows: 16 MB for each thread
CELLS_OF_A_PASS = 1 << 21
# EM on a table ends when an iteration raises the mean log likelihood of its rows by no more than
# this, relative to max(|mean|, 1), or after so many iterations: by then the table hardly changes.
EM_TOL, EM_MAX_ITER = 1e-12, 1000


def kernel_classes(data: Encoded) -> np.ndarray:
    """Return class codes in the one integer type that the kernels are compiled for."""
    return np.ascontiguousarray(data.classes, dtype=np.int32)


def kernel_weight(data: Encoded) -> np.ndarray:
    """Return weights for the kernels: an empty array if every row counts once."""
    return NO_WEIGHT if data.weight is None else np.ascontiguousarray(data.weight, dtype=np.float64)


def _same(kind: str, mine: object, other: object) -> None:
    if mine != other:
        shown = f"{repr_short(mine)} and {repr_short(other)}"
        raise ValueError(f"these counts are of different {kind} and cannot be added: {shown}")


@dataclass(frozen=True)
class Counts(WithArrays):
    """Weighted counts of the class and of each feature with it, laid out as naive Bayes.

    Counts of the same domain can be added.

    Parameters
    ----------
    cards : ndarray of shape (n_features,)
        The number of values of each feature.
    class_count : ndarray of shape (n_classes,)
        The count of each class.
    cells : ndarray
        The counts of all features with the class, one table after the other, class innermost.

    Examples
    --------
    >>> import numpy as np
    >>> from discbayes.counts import count
    >>> from discbayes.data import Domain, Encoded, Variable
    >>> color = Variable("color", "categorical", ("blue", "red"))
    >>> domain = Domain((color,), Variable("y", "categorical", ("no", "yes")))
    >>> data = Encoded(np.array([[0, 1, 1, 2]], np.uint8), domain, np.array([0, 1, 0, 1]))
    >>> counts = count(data)
    >>> counts.class_count, counts.feature(0)
    (array([2., 2.]), array([[1., 0.],
                             [1., 1.]]))
    >>> (counts + counts).class_count
    array([4., 4.])
    """

    cards: np.ndarray
    class_count: np.ndarray
    cells: np.ndarray

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.class_count.size

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.cards.size

    @cached_property
    def value_start(self) -> np.ndarray:
        """The positions of values: feature ``i`` has ``value_start[i]:value_start[i + 1]``."""
        return np.concatenate([[0], np.cumsum(self.cards)]).astype(np.int64)

    def feature(self, i: int) -> np.ndarray:
        """Return the counts of feature ``i`` with the class.

        Parameters
        ----------
        i : int
            The position of the feature.

        Returns
        -------
        ndarray of shape (card, n_classes)
            The count of each value in each class, a view of ``cells``.

        Examples
        --------
        >>> from discbayes.counts import count
        >>> from discbayes.data import FrameEncoder
        >>> data = FrameEncoder().fit_transform([["red"], ["blue"], ["red"]], [1, 0, 0])
        >>> count(data).feature(0)
        array([[1., 0.],
               [1., 1.]])
        """
        first, last = self.value_start[i : i + 2] * self.n_classes
        return self.cells[first:last].reshape(-1, self.n_classes)

    @cached_property
    def completed(self) -> Counts:
        """Counts of all rows if missing values were distributed as the others of their class.

        This is the maximum likelihood of each feature. A class in which a feature is always missing
        has the shares of all classes.
        """
        cells, cards = self.cells.reshape(-1, self.n_classes), self.cards
        seen = np.add.reduceat(cells, self.value_start[:-1])
        incomplete = self.class_count - seen > saturated.ROUNDING * self.class_count
        factor = np.divide(
            self.class_count, seen, out=np.ones_like(seen), where=incomplete & (seen > 0)
        )
        everywhere = np.repeat(seen.sum(axis=1), cards)
        share = np.divide(
            cells.sum(axis=1), everywhere, out=np.repeat(1.0 / cards, cards), where=everywhere > 0
        )
        unseen = np.repeat(incomplete & (seen == 0), cards, axis=0)
        filled = np.where(
            unseen, share[:, None] * self.class_count, cells * np.repeat(factor, cards, axis=0)
        )
        return Counts(cards, self.class_count, filled.ravel())

    def by_state(self, states: Sequence[np.ndarray] | None) -> Counts:
        """Return the counts of the states of each feature.

        Parameters
        ----------
        states : sequence of ndarray or None
            The state of each value of each feature; None if each value is one.

        Returns
        -------
        Counts
            The counts.

        Examples
        --------
        >>> import numpy as np
        >>> from discbayes.counts import Counts
        >>> counts = Counts(np.array([3]), np.array([4.0]), np.array([2.0, 1.0, 1.0]))
        >>> counts.by_state([np.array([0, 0, 1])]).feature(0).ravel()
        array([3., 1.])
        """
        if states is None:
            return self
        tables = [reduce_states(self.feature(i), state, np.add) for i, state in enumerate(states)]
        cards = np.array([len(table) for table in tables], np.int64)
        cells = np.concatenate([np.zeros(0), *(table.ravel() for table in tables)])
        return Counts(cards, self.class_count, cells)

    def __add__(self, other: Counts) -> Counts:
        _same("domains", self.cards.tolist(), other.cards.tolist())
        _same("numbers of classes", self.n_classes, other.n_classes)
        return Counts(self.cards, self.class_count + other.class_count, self.cells + other.cells)


@dataclass(frozen=True)
class FamilyCounts(WithArrays):
    """Weighted counts of the class and of every family, in the layout of a structure's tables.

    Counts of the same structure and domain can be added.

    Parameters
    ----------
    layout : Layout
        The layout of the tables.
    class_count : ndarray of shape (n_classes,)
        The count of each class.
    cells : ndarray
        The counts of all families, one table after the other.

    Examples
    --------
    >>> import numpy as np
    >>> from discbayes.counts import FamilyCounts
    >>> from discbayes.network import Layout, Structure, reduce_states
    >>> layout = Layout(Structure.naive(1), np.array([3]), 2)
    >>> counts = FamilyCounts(layout, np.array([4.0, 2.0]), np.array([3.0, 0, 1, 0, 0, 2]))
    >>> (counts + counts).class_count
    array([8., 4.])
    """

    layout: Layout
    class_count: np.ndarray
    cells: np.ndarray

    def table(self, feature: int) -> np.ndarray:
        """Return the counts of one family, class innermost.

        Parameters
        ----------
        feature : int
            The position of the child.

        Returns
        -------
        ndarray of shape (*cards of the parents, card, n_classes)
            The table of counts, a view of ``cells``.

        Examples
        --------
        >>> import numpy as np
        >>> from discbayes.counts import FamilyCounts
        >>> from discbayes.network import Layout, Structure, reduce_states
        >>> layout = Layout(Structure.naive(1), np.array([3]), 2)
        >>> counts = FamilyCounts(layout, np.array([4.0, 2.0]), np.array([3.0, 0, 1, 0, 0, 2]))
        >>> counts.table(0)
        array([[3., 0.],
               [1., 0.],
               [0., 2.]])
        """
        return self.layout.table(self.cells, feature)

    def __add__(self, other: FamilyCounts) -> FamilyCounts:
        _same("structures", self.layout.structure, other.layout.structure)
        _same("domains", self.layout.cards.tolist(), other.layout.cards.tolist())
        _same("numbers of classes", self.layout.n_classes, other.layout.n_classes)
        return FamilyCounts(
            self.layout, self.class_count + other.class_count, self.cells + other.cells
        )


def count(data: Rows, n_jobs: int | None = None) -> Counts:
    """Count the class and each feature with the class.

    Parameters
    ----------
    data : Rows
        The rows.
    n_jobs : int, optional
        The number of threads.

    Returns
    -------
    Counts
        The counts; missing values are not counted.

    Examples
    --------
    >>> from discbayes.counts import count
    >>> from discbayes.data import FrameEncoder
    >>> rows = [["red", "big"], ["red", "small"], ["blue", "big"], ["blue", "big"]]
    >>> data = FrameEncoder().fit_transform(rows, ["yes", "yes", "no", "yes"])
    >>> counts = count(data)
    >>> counts.class_count
    array([1., 3.])
    >>> counts.feature(0)
    array([[1., 1.],
           [0., 2.]])
    """
    Layout(Structure.naive(data.n_features), data.cards, data.n_classes).require(data.domain.names)
    counts: Counts = in_blocks_if_weighted(data).map_reduce(_count, add, n_jobs=n_jobs)
    return counts


def _count(data: Encoded, n_jobs: int | None) -> Counts:
    class_count = np.bincount(data.classes, data.weight, minlength=data.n_classes).astype(float)
    layout = Layout(Structure.naive(data.n_features), data.cards, data.n_classes)
    return Counts(data.cards, class_count, _count_in(data, n_jobs, layout, range(data.n_features)))


def count_families(
    data: Rows, layout: Layout, counts: Counts, n_jobs: int | None = None
) -> FamilyCounts:
    """Count every family of the structure of a layout.

    Parameters
    ----------
    data : Rows
        The rows, or their sufficient statistics.
    layout : Layout
        The layout of the tables.
    counts : Counts
        Counts of the class and of each feature: the tables of features without parents.
    n_jobs : int, optional
        The number of threads.

    Returns
    -------
    FamilyCounts
        The counts, each of the rows in which the family is complete.

    Examples
    --------
    >>> from discbayes.counts import count, count_families
    >>> from discbayes.network import Layout, Structure, reduce_states
    >>> from discbayes.data import FrameEncoder
    >>> rows = [["red", "big"], ["red", "small"], ["blue", "big"], ["blue", "big"]]
    >>> data = FrameEncoder().fit_transform(rows, ["yes", "yes", "no", "yes"])
    >>> layout = Layout(Structure([(), (0,)]), data.cards, data.n_classes)
    >>> count_families(data, layout, count(data)).table(1)
    array([[[1., 1.],
            [0., 0.]],
           [[0., 1.],
            [0., 1.]]])
    """
    if data.statistics is not None:
        known: FamilyCounts = data.statistics.families_of(layout)
        return known
    parents = layout.structure.parents
    with_parents = [i for i, group in enumerate(parents) if group]
    if with_parents:
        rows = in_blocks_if_weighted(data)
        cells = rows.map_reduce(_count_in, add, (layout, with_parents), n_jobs)
    else:
        cells = np.zeros(layout.size)
    for i, group in enumerate(parents):
        if not group:
            layout.table(cells, i)[...] = counts.feature(i)
    return FamilyCounts(layout, counts.class_count, cells)


def count_family(data: Rows, child: int, parents: Sequence[int], em: bool = False) -> np.ndarray:
    """Count one family with the class.

    Parameters
    ----------
    data : Rows
        The rows.
    child : int
        The position of the child.
    parents : sequence of int
        The positions of its feature parents.
    em : bool, default=False
        Whether all rows count, not only those in which the family is complete: the result is then
        the saturated table of maximum likelihood, by expectation-maximization, times the number of
        rows.

    Returns
    -------
    ndarray of shape (*cards of the parents, card of the child, n_classes)
        The table of counts.

    Examples
    --------
    >>> from discbayes.counts import count_family
    >>> from discbayes.data import FrameEncoder
    >>> rows = [["red", "big"], ["red", "small"], ["blue", "big"], ["blue", None]]
    >>> data = FrameEncoder().fit_transform(rows, ["yes"] * 4)
    >>> count_family(data, child=1, parents=[0])[..., 0]
    array([[1., 0.],
           [1., 1.]])
    >>> count_family(data, child=1, parents=[0], em=True)[..., 0].round(2)
    array([[2., 0.],
           [1., 1.]])
    """
    cards = _padded_cards(data) if em else data.cards
    family = [*parents, child]
    cells = in_blocks_if_weighted(data).map_reduce(_family_cells, add, (family, cards))
    return _complete(cells.reshape(*cards[family], data.n_classes), data.cards[family])


def count_extensions(
    data: Rows,
    child: int,
    parents: Sequence[int],
    more: Sequence[int],
    em: bool = False,
) -> Iterator[np.ndarray]:
    """Count a family with each of ``more`` as one more parent.

    The tables have the shape ``(parent values, card, n_classes)``. The family is one code for each
    row, made once, so that a candidate costs no more than a pair. ``em`` is that of
    ``count_family``.
    """
    rows = in_blocks_if_weighted(data)
    cards = _padded_cards(data) if em else data.cards
    family = int(np.prod(cards[[*parents, child]])) * data.n_classes
    for part in parts(family * cards[np.array(more, np.int64)], CELLS_OF_A_PASS):
        wanted = Wanted(child, tuple(parents), tuple(more[k] for k in part))
        if wanted.more:
            cells = rows.map_reduce(_extension_cells, add, (wanted, cards))
            yield from _extension_tables(data, wanted, cards, cells)


class Wanted(NamedTuple):
    """A family to be counted or, with ``more``, that family with each of these as a parent."""

    child: int
    parents: tuple[int, ...]
    more: tuple[int, ...] = ()

    def n_cells(self, cards: np.ndarray, n_classes: int) -> int:
        """Return the number of cells of all tables."""
        family = int(np.prod(cards[[*self.parents, self.child]])) * n_classes
        return family * int(cards[list(self.more)].sum()) if self.more else family


def count_wanted(
    data: Rows, wanted: Sequence[Wanted], em: bool = False, n_jobs: int | None = None
) -> Iterator[list[np.ndarray]]:
    """Count several families in few passes over the rows: a list of tables for each."""
    cards = _padded_cards(data) if em else data.cards
    sizes = np.array([each.n_cells(cards, data.n_classes) for each in wanted], np.int64)
    for part in parts(sizes, CELLS_OF_A_PASS):
        if not part.size:
            continue
        cells = data.map_reduce(_count_wanted, add, ([wanted[k] for k in part], cards), n_jobs)
        for k, own in zip(part, np.split(cells, np.cumsum(sizes[part])[:-1]), strict=True):
            yield list(_wanted_tables(data, wanted[k], cards, own))


def _wanted_tables(
    data: Rows, wanted: Wanted, cards: np.ndarray, cells: np.ndarray
) -> Iterator[np.ndarray]:
    if wanted.more:
        yield from _extension_tables(data, wanted, cards, cells)
        return
    family = [*wanted.parents, wanted.child]
    table = _complete(cells.reshape(*cards[family], data.n_classes), data.cards[family])
    yield table.reshape(-1, data.cards[wanted.child], data.n_classes)


def _extension_tables(
    data: Rows, wanted: Wanted, cards: np.ndarray, cells: np.ndarray
) -> Iterator[np.ndarray]:
    """Iterate over the counts of a family with each of more parents, as tables of the child."""
    family, n_classes = [*wanted.parents, wanted.child], data.n_classes
    counted, known = cards.tolist(), data.cards.tolist()
    of_family = [counted[i] for i in family]
    card, size = known[wanted.child], math.prod(of_family) * n_classes
    at = 0
    for p in wanted.more:
        table = cells[at : at + size * counted[p]]
        at += table.size
        if cards is not data.cards:
            shape = (*of_family, counted[p], n_classes)
            table = _complete(table.reshape(shape), data.cards[[*family, p]])
        table = table.reshape(-1, card, known[p], n_classes)
        yield table.swapaxes(1, 2).reshape(-1, card, n_classes)


def _count_wanted(
    data: Encoded, n_jobs: int | None, wanted: Sequence[Wanted], cards: np.ndarray
) -> np.ndarray:
    """Count the cells of all wanted tables, one after the other."""

    def one(each: Wanted) -> np.ndarray:
        if each.more:
            return _extension_cells(data, n_jobs, each, cards)
        return _family_cells(data, n_jobs, [*each.parents, each.child], cards)

    return np.concatenate(parallel_map(one, wanted, n_jobs, work=len(wanted) * data.n_samples))


def _family_cells(
    data: Encoded, n_jobs: int | None, features: Sequence[int], cards: np.ndarray
) -> np.ndarray:
    """Count some features, the last of them the child, with the class."""
    family = np.array(features, np.int64)
    table = np.zeros((*cards[family], data.n_classes))
    strides = np.array(table.strides[:-2], np.int64) // table.itemsize
    counting.count_family(
        data.codes, data.codes, kernel_classes(data), kernel_weight(data), cards, cards,
        data.n_classes, features[-1], family[:-1], strides, table.ravel(),
    )  # fmt: skip
    return table.ravel()


def _extension_cells(
    data: Encoded, n_jobs: int | None, wanted: Wanted, cards: np.ndarray
) -> np.ndarray:
    """Count a family with each of more parents: cells of one table after the other."""
    base, size = _base_codes(data, (*wanted.parents, wanted.child), cards)
    n_classes, added = data.n_classes, np.array(wanted.more, np.int64)
    sizes = size * cards[added] * n_classes
    starts, cells = np.cumsum(sizes) - sizes, np.empty(int(sizes.sum()))
    counting.joint_by_loop(
        base, size, added, data.codes, kernel_weight(data), cards, n_classes, starts, cells
    )
    return cells


def parts(sizes: np.ndarray, at_once: int = CELLS_AT_ONCE) -> list[np.ndarray]:
    """Group the positions of tables of these sizes so that each group needs little memory."""
    return np.split(np.arange(sizes.size), np.flatnonzero(np.diff(np.cumsum(sizes) // at_once)) + 1)


def _padded_cards(data: Rows) -> np.ndarray:
    """Return the number of values of each feature, with "missing" as one where it occurs."""
    return np.asarray(data.cards + (data.n_missing > 0))


def _complete(padded: np.ndarray, cards: np.ndarray) -> np.ndarray:
    """Return the table of maximum likelihood, given one in which "missing" is a value.

    A table without such values is returned as it is.
    """
    *sizes, n_classes = padded.shape
    if tuple(sizes) == tuple(cards):
        return padded
    table = np.empty((*cards, n_classes))
    saturated.complete_table(
        padded.ravel(), np.array(sizes), cards, n_classes, EM_MAX_ITER, EM_TOL, table.reshape(-1)
    )  # fmt: skip
    return table


def _base_codes(
    data: Encoded, features: Sequence[int], cards: np.ndarray
) -> tuple[np.ndarray, int]:
    """Return one code for several features and the class, the last fastest, and their number.

    The number, without the class, is the code for a missing value in any of the features, as it is
    for a single feature.
    """
    code, missing = np.zeros(data.n_samples, np.int32), np.zeros(data.n_samples, np.bool_)
    size = 1
    for i in features:
        card = int(cards[i])
        code *= np.int32(card)
        code += data.codes[i].astype(np.int32)
        missing |= data.codes[i] == card
        size *= card
    code[missing] = size
    return code * np.int32(data.n_classes) + kernel_classes(data), size


def _count_in(
    data: Encoded, n_jobs: int | None, layout: Layout, features: Sequence[int]
) -> np.ndarray:
    """Count some families into the cells of a layout; zeros elsewhere."""
    y, weight = kernel_classes(data), kernel_weight(data)
    states = layout.parent_codes(data.codes)
    cells = np.zeros(layout.size)

    def one(i: int) -> None:
        span = slice(layout.parent_start[i], layout.parent_start[i + 1])
        table = cells[layout.offsets[i] : layout.offsets[i + 1]]
        parents, strides = layout.parent_index[span], layout.parent_stride[span]
        counting.count_family(
            data.codes, states, y, weight, layout.cards, layout.n_states, layout.n_classes, i,
            parents, strides, table,
        )  # fmt: skip

    steps = sum(1 + len(layout.structure.parents[i]) for i in features) * data.n_samples
    parallel_map(one, list(features), n_jobs, work=steps)
    return cells
