"""Tables of those cells only that rows have, for fits that read no others.

With two parents or more, most parent configurations do not occur, and neither do most values in
those that do. A fit computes the lines of configurations that occur, and keeps the cells of them
that rows read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from discbayes._arrays import starts_of
from discbayes.kernels.states import map_to_cells
from discbayes.network import Layout


@dataclass(frozen=True, eq=False)
class Configurations(Layout):
    """A layout of tables that have some cells of each feature only.

    The cells of a feature that are used are numbered, in the order of the whole table. It is for
    complete rows, whose codes are the numbers of their cells: features then have no parents.

    Parameters
    ----------
    structure, cards, n_classes, states
        Those of the whole tables.
    used : ndarray of bool
        For each value in each configuration of each feature, one feature after the other, whether
        it is used.
    """

    used: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))

    @classmethod
    def some_of(cls, layout: Layout, used: np.ndarray) -> Configurations:
        """Return some cells of a layout."""
        return cls(layout.structure, layout.cards, layout.n_classes, layout.states, used)

    @classmethod
    def all_of(cls, layout: Layout) -> Configurations:
        """Return all cells of a layout."""
        return cls.some_of(layout, np.ones(layout.size // layout.n_classes, bool))

    @cached_property
    def whole(self) -> Layout:
        """The layout of the whole tables."""
        return Layout(self.structure, self.cards, self.n_classes, self.states)

    @cached_property
    def whole_start(self) -> np.ndarray:
        """Where the lines of each feature start in the whole tables, and where the last end."""
        return starts_of([math.prod(shape[:-2]) for shape in self.whole.shapes])

    @cached_property
    def _whole_cells(self) -> np.ndarray:
        """Where the cells of each feature start in ``used``, and where the last end."""
        return np.asarray(self.whole.offsets // self.n_classes)

    @cached_property
    def position(self) -> np.ndarray:
        """The number of each cell of the whole tables, if it is used, among those that are."""
        return np.cumsum(self.used) - 1

    @cached_property
    def _n_used(self) -> np.ndarray:
        """The number of cells that are used in each line of the whole tables."""
        before = np.concatenate([[0], np.cumsum(self.used, dtype=np.int64)])
        lines = np.repeat(self.cards, np.diff(self.whole_start))
        return np.diff(before[starts_of(lines)])

    @cached_property
    def used_lines(self) -> np.ndarray:
        """For each line of the whole tables, whether it has a cell that is used."""
        return np.asarray(self._n_used > 0)

    @cached_property
    def start(self) -> np.ndarray:
        """Where those of each feature start among the lines that are used."""
        n_before = np.concatenate([[0], np.cumsum(self.used_lines, dtype=np.int64)])
        return np.asarray(n_before[self.whole_start])

    @cached_property
    def numbers(self) -> np.ndarray:
        """The lines that are used, as numbers within their feature."""
        first = np.repeat(self.whole_start[:-1], np.diff(self.start))
        return np.asarray(np.flatnonzero(self.used_lines) - first)

    @cached_property
    def cell_start(self) -> np.ndarray:
        """Where the cells of each line that is used start, and where the last end."""
        return starts_of(self._n_used[self.used_lines])

    @cached_property
    def cell_value(self) -> np.ndarray:
        """The value of the feature of each cell that is used."""
        at = np.flatnonzero(self.used)
        feature = np.repeat(np.arange(self.cards.size), np.diff(self.offsets) // self.n_classes)
        return np.asarray((at - self._whole_cells[feature]) % self.cards[feature])

    @cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shape of each table."""
        before = np.concatenate([[0], np.cumsum(self.used, dtype=np.int64)])
        return [(n, self.n_classes) for n in np.diff(before[self._whole_cells]).tolist()]

    @cached_property
    def parent_start(self) -> np.ndarray:
        """Where the parents of each feature start: there are none."""
        return np.zeros(self.cards.size + 1, np.int64)

    @cached_property
    def parent_index(self) -> np.ndarray:
        """The parents of all features: there are none."""
        return np.zeros(0, np.int64)

    def cells_of(self, codes: np.ndarray) -> np.ndarray:
        """Return the number of the cell of each feature of each row.

        Parameters
        ----------
        codes : ndarray of shape (n_features, n_samples)
            Codes of complete rows.

        Returns
        -------
        ndarray of shape (n_features, n_samples)
            The numbers, from zero on for each feature. A cell that is not used has that of the one
            before: only rows without weight have any.

        Examples
        --------
        >>> from discbayes.network import Structure
        >>> layout = Layout(Structure(((), (0,))), np.array([2, 2]), 2)
        >>> some = Configurations.some_of(layout, np.array([True, True, True, False, False, True]))
        >>> some.shapes, some.cells_of(np.array([[0, 1], [0, 1]])).tolist()
        ([(2, 2), (2, 2)], [[0, 1], [0, 1]])
        """
        whole, first = self.whole, self.offsets[:-1] // self.n_classes
        position = self.position - np.repeat(first, np.diff(self._whole_cells))
        found = np.empty(codes.shape, np.uint32)
        map_to_cells(
            np.ascontiguousarray(codes),
            whole.parent_codes(codes),
            whole.parent_start,
            whole.parent_index,
            whole.parent_stride // self.n_classes,
            self._whole_cells,
            np.maximum(position, 0),
            found,
        )
        return found


def cells_of(layout: Layout, codes: np.ndarray) -> np.ndarray:
    """Return the number of the cell of each feature of each complete row, in all tables.

    Examples
    --------
    >>> from discbayes.network import Structure
    >>> layout = Layout(Structure(((), (0,))), np.array([2, 2]), 2)
    >>> cells_of(layout, np.array([[0, 1], [0, 1]])).tolist()
    [[0, 1], [2, 5]]
    """
    found = codes + (layout.offsets[:-1] // layout.n_classes)[:, None]
    states, stride = layout.parent_codes(codes), layout.parent_stride // layout.n_classes
    for i, (first, last) in enumerate(pairwise(layout.parent_start.tolist())):
        for k in range(first, last):
            found[i] += states[layout.parent_index[k]] * stride[k]
    return np.asarray(found)
