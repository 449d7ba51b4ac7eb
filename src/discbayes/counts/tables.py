"""Counts of the class, of each feature with the class, and of any family. They add up over parts of the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from reprlib import repr as repr_short

import numpy as np

from discbayes.data.domain import Encoded
from discbayes.engine import parallel_map
from discbayes.kernels import counting, saturated
from discbayes.network import Layout, Structure

NO_WEIGHT = np.empty(0)
CELLS_AT_ONCE = 1 << 17  # of tables that are looked at and not kept: 1 MB, unless one table alone has more
# EM on a table ends when an iteration raises the mean log likelihood of its rows by no more than this, relative to
# max(|mean|, 1), or after so many iterations: by then the table hardly moves.
EM_TOL, EM_MAX_ITER = 1e-12, 1000


def kernel_classes(data: Encoded) -> np.ndarray:
    """Class codes in the one integer type that the kernels are compiled for."""
    return np.ascontiguousarray(data.classes, dtype=np.int32)


def kernel_weight(data: Encoded) -> np.ndarray:
    """Weights for the kernels: an empty array says that every row counts once."""
    return NO_WEIGHT if data.weight is None else np.ascontiguousarray(data.weight, dtype=np.float64)


def _same(kind: str, mine: object, other: object) -> None:
    if mine != other:
        shown = f"{repr_short(mine)} and {repr_short(other)}"
        raise ValueError(f"these counts are of different {kind} and cannot be added: {shown}")


@dataclass(frozen=True)
class Counts:
    """Weighted counts of the class and of each feature with the class, in the layout of a naive Bayes network.

    >>> from discbayes.data.domain import Domain, Encoded, Variable
    >>> colour, target = Variable("colour", "categorical", ("blue", "red")), Variable("y", "categorical", ("no", "yes"))
    >>> data = Encoded(np.array([[0, 1, 1, 2]], np.uint8), Domain((colour,), target), np.array([0, 1, 0, 1]))
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
        """The values of feature ``i`` are numbered ``value_start[i]:value_start[i + 1]`` among all values."""
        return np.concatenate([[0], np.cumsum(self.cards)]).astype(np.int64)

    def feature(self, i: int) -> np.ndarray:
        """Counts of feature ``i`` with the class, shape ``(card, n_classes)``."""
        first, last = self.value_start[i : i + 2] * self.n_classes
        return self.cells[first:last].reshape(-1, self.n_classes)

    @cached_property
    def completed(self) -> Counts:
        """What all rows would count if gaps were like the rest of their class: the maximum likelihood of each feature.

        A class in which a feature is always missing has the shares of all classes.
        """
        cells, cards = self.cells.reshape(-1, self.n_classes), self.cards
        seen = np.add.reduceat(cells, self.value_start[:-1])
        gappy = self.class_count - seen > saturated.ROUNDING * self.class_count
        factor = np.divide(self.class_count, seen, out=np.ones_like(seen), where=gappy & (seen > 0))
        everywhere = np.repeat(seen.sum(axis=1), cards)
        share = np.divide(cells.sum(axis=1), everywhere, out=np.repeat(1.0 / cards, cards), where=everywhere > 0)
        unseen = np.repeat(gappy & (seen == 0), cards, axis=0)
        filled = np.where(unseen, share[:, None] * self.class_count, cells * np.repeat(factor, cards, axis=0))
        return Counts(cards, self.class_count, filled.ravel())

    def __add__(self, other: Counts) -> Counts:
        _same("domains", self.cards.tolist(), other.cards.tolist())
        _same("numbers of classes", self.n_classes, other.n_classes)
        return Counts(self.cards, self.class_count + other.class_count, self.cells + other.cells)


@dataclass(frozen=True)
class FamilyCounts:
    """Weighted counts of every family of a structure, in the layout of its tables, and of the class."""

    layout: Layout
    class_count: np.ndarray
    cells: np.ndarray

    def table(self, feature: int) -> np.ndarray:
        """The counts of one family, class innermost."""
        return self.layout.table(self.cells, feature)

    def __add__(self, other: FamilyCounts) -> FamilyCounts:
        _same("structures", self.layout.structure, other.layout.structure)
        _same("domains", self.layout.cards.tolist(), other.layout.cards.tolist())
        _same("numbers of classes", self.layout.n_classes, other.layout.n_classes)
        return FamilyCounts(self.layout, self.class_count + other.class_count, self.cells + other.cells)


def count(data: Encoded, n_jobs: int | None = None) -> Counts:
    """Count the class and each feature with the class."""
    class_count = np.bincount(data.classes, data.weight, minlength=data.n_classes).astype(float)
    layout = Layout(Structure.naive(data.n_features), data.cards, data.n_classes)
    cells = np.zeros(layout.size)
    _count_into(data, layout, range(data.n_features), cells, n_jobs)
    return Counts(data.cards, class_count, cells)


def count_families(data: Encoded, layout: Layout, counts: Counts, n_jobs: int | None = None) -> FamilyCounts:
    """Count every family of the structure; features without parents are taken from ``counts``."""
    cells = np.zeros(layout.size)
    parents = layout.structure.parents
    for i in (i for i, group in enumerate(parents) if not group):
        layout.table(cells, i)[...] = counts.feature(i)
    _count_into(data, layout, [i for i, group in enumerate(parents) if group], cells, n_jobs)
    return FamilyCounts(layout, counts.class_count, cells)


def count_family(data: Encoded, child: int, parents: Sequence[int], em: bool = False) -> np.ndarray:
    """Counts of one family, shape ``(*cards of the parents, card of the child, n_classes)``.

    They are of the rows without a gap in the family. With ``em`` they are those of all rows: the saturated table of
    largest likelihood times the number of rows.
    """
    family = np.array([*parents, child], np.int64)
    cards = _padded_cards(data) if em else data.cards
    table = np.zeros((*cards[family], data.n_classes))
    strides = np.array(table.strides[:-2], np.int64) // table.itemsize
    counting.count_family(
        data.codes, kernel_classes(data), kernel_weight(data), cards, data.n_classes, child, family[:-1], strides,
        table.ravel(),
    )  # fmt: skip
    return _complete(table, data.cards[family])


def count_extensions(
    data: Encoded, child: int, parents: Sequence[int], more: Sequence[int], em: bool = False
) -> Iterator[np.ndarray]:
    """Counts of a family with each of ``more`` as one more parent, shape ``(parent values, card, n_classes)``.

    The family is one code for each row, made once, so that a candidate costs no more than a pair. ``em`` is that of
    ``count_family``.
    """
    n_classes, weight, added = data.n_classes, kernel_weight(data), np.array(more, np.int64)
    cards = _padded_cards(data) if em else data.cards
    family = [*parents, child]
    base, size = _joint_codes(data, family, cards)
    base = base * np.int32(n_classes) + kernel_classes(data)
    sizes = size * cards[added] * n_classes
    for part in parts(sizes):
        starts, cells = np.cumsum(sizes[part]) - sizes[part], np.empty(int(sizes[part].sum()))
        counting.joint_by_loop(base, size, added[part], data.codes, weight, cards, n_classes, starts, cells)
        for p, at, n in zip(added[part], starts, sizes[part], strict=True):
            table = cells[at : at + n].reshape(*cards[family], cards[p], n_classes)
            table = _complete(table, data.cards[[*family, p]]).reshape(-1, *data.cards[[child, p]], n_classes)
            yield table.swapaxes(1, 2).reshape(-1, data.cards[child], n_classes)


def parts(sizes: np.ndarray) -> list[np.ndarray]:
    """Positions of tables of these sizes, in groups of which each needs little memory."""
    return np.split(np.arange(sizes.size), np.flatnonzero(np.diff(np.cumsum(sizes) // CELLS_AT_ONCE)) + 1)


def _padded_cards(data: Encoded) -> np.ndarray:
    """The number of values of each feature, a gap counted as one."""
    return np.asarray(data.cards + (data.gaps > 0))


def _complete(padded: np.ndarray, cards: np.ndarray) -> np.ndarray:
    """The table of largest likelihood from one in which features with gaps have a value more; as it is if none has."""
    *sizes, n_classes = padded.shape
    if tuple(sizes) == tuple(cards):
        return padded
    table = np.empty((*cards, n_classes))
    saturated.complete_table(
        padded.ravel(), np.array(sizes), cards, n_classes, EM_MAX_ITER, EM_TOL, table.reshape(-1)
    )  # fmt: skip
    return table


def _joint_codes(data: Encoded, features: Sequence[int], cards: np.ndarray) -> tuple[np.ndarray, int]:
    """Several features as one code for each row, the last of them fastest, and how many codes there are.

    The number itself is the code for a gap in any of them, as it is for a single feature.
    """
    code, size, gap = np.zeros(data.n_samples, np.int32), 1, np.zeros(data.n_samples, np.bool_)
    for i in features:
        card = int(cards[i])
        code *= np.int32(card)
        code += data.codes[i].astype(np.int32)
        gap |= data.codes[i] == card
        size *= card
    code[gap] = size
    return code, size


def _count_into(data: Encoded, layout: Layout, features: Sequence[int], cells: np.ndarray, n_jobs: int | None) -> None:
    y, weight = kernel_classes(data), kernel_weight(data)

    def one(i: int) -> None:
        span = slice(layout.parent_start[i], layout.parent_start[i + 1])
        table = cells[layout.offsets[i] : layout.offsets[i + 1]]
        parents, strides = layout.parent_index[span], layout.parent_stride[span]
        counting.count_family(data.codes, y, weight, layout.cards, layout.n_classes, i, parents, strides, table)

    steps = sum(1 + len(layout.structure.parents[i]) for i in features) * data.n_samples
    parallel_map(one, list(features), n_jobs, work=steps)
