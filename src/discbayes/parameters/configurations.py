"""Tables of those parent configurations only that rows have, for fits that read no others.

With two parents or more, most parent configurations do not occur. Their cells take part in no row
of a fit, so that the fit need not compute them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from discbayes._arrays import starts_of
from discbayes.kernels.states import map_to_configurations
from discbayes.network import Layout


@dataclass(frozen=True, eq=False)
class Configurations(Layout):
    """A layout of tables that have some parent configurations of each feature only.

    The configurations of a feature that are used are numbered, and their number is the state of its
    only parent. It is for complete rows.

    Parameters
    ----------
    structure, cards, n_classes, states
        Those of the whole tables.
    used : ndarray of bool
        For each configuration of each feature, one feature after the other, whether it is used.
    """

    used: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))

    @classmethod
    def some_of(cls, layout: Layout, used: np.ndarray) -> Configurations:
        """Return some parent configurations of a layout."""
        return cls(layout.structure, layout.cards, layout.n_classes, layout.states, used)

    @classmethod
    def all_of(cls, layout: Layout) -> Configurations:
        """Return all parent configurations of a layout."""
        n_all = sum(math.prod(shape[:-2]) for shape in layout.shapes)
        return cls.some_of(layout, np.ones(n_all, bool))

    @cached_property
    def whole(self) -> Layout:
        """The layout of the whole tables."""
        return Layout(self.structure, self.cards, self.n_classes, self.states)

    @cached_property
    def whole_start(self) -> np.ndarray:
        """Where the configurations of each feature start in ``used``, and where the last end."""
        return starts_of([math.prod(shape[:-2]) for shape in self.whole.shapes])

    @cached_property
    def start(self) -> np.ndarray:
        """Where those of each feature start among the configurations that are used."""
        n_before = np.concatenate([[0], np.cumsum(self.used, dtype=np.int64)])
        return np.asarray(n_before[self.whole_start])

    @cached_property
    def numbers(self) -> np.ndarray:
        """The configurations that are used, as numbers within their feature."""
        first = np.repeat(self.whole_start[:-1], np.diff(self.start))
        return np.asarray(np.flatnonzero(self.used) - first)

    @cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shape of each table."""
        n_used = np.diff(self.start).tolist()
        cards = self.cards.tolist()
        return [(n, card, self.n_classes) for n, card in zip(n_used, cards, strict=True)]

    @cached_property
    def parent_start(self) -> np.ndarray:
        """Where the parents of each feature start: each has one, its configuration."""
        return np.arange(self.cards.size + 1, dtype=np.int64)

    @cached_property
    def parent_index(self) -> np.ndarray:
        """The parent of each feature: it has the same position."""
        return self.parent_start[:-1]

    def parent_codes(self, codes: np.ndarray) -> np.ndarray:
        """Return the number of the parent configuration of each feature of each row.

        Parameters
        ----------
        codes : ndarray of shape (n_features, n_samples)
            Codes of complete rows.

        Returns
        -------
        ndarray of shape (n_features, n_samples)
            The numbers. A configuration that is not used has that of the one before: only rows
            without weight have any.

        Examples
        --------
        >>> from discbayes.network import Structure
        >>> layout = Layout(Structure(((), (0,))), np.array([3, 2]), 2)
        >>> some = Configurations.some_of(layout, np.array([True, True, False, True]))
        >>> some.shapes, some.parent_codes(np.array([[0, 2], [1, 1]])).tolist()
        ([(1, 3, 2), (2, 2, 2)], [[0, 0], [0, 1]])
        """
        whole = self.whole
        first = np.repeat(self.start[:-1], np.diff(self.whole_start))
        position = np.maximum(np.cumsum(self.used) - 1 - first, 0)
        cells = np.repeat(self.cards * self.n_classes, np.diff(whole.parent_start))
        found = np.empty(codes.shape, np.uint32)
        map_to_configurations(
            whole.parent_codes(codes),
            whole.parent_start,
            whole.parent_index,
            whole.parent_stride // cells,
            self.whole_start,
            position,
            found,
        )
        return found
