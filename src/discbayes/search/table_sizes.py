"""Limits on the sizes of tables, for all searches, and the edges that are left out by them.

A row fills one cell of a table. So by default the table of a feature with one parent has at most
two cells for each row: at least half of a larger one is empty, and all such tables together have no
more than twice as many cells as the training table. (On tables of 500 to 4,000 rows, one cell for
each row excluded some useful edges, two excluded none.) More parents need sparser tables: each
further parent may make a table ten times as large. Fewer than 2,500 rows count as 2,500: such
tables cost little, and the score of the search decides. A given number of cells replaces these
rules.

Searches see groups of values where columns have them. The table of such a column has its values,
and up to ten times as many cells.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes._text import count_of
from discbayes.counts import Counts
from discbayes.data.domain import Domain
from discbayes.data.value_groups import CELLS_PER_ROW, MIN_ROWS
from discbayes.network import Layout, Structure

MAX_TABLE_SIZE = 10_000_000  # cells: 80 MB
MAX_NUMBERED = 2**31 - 1  # families are numbered in 32 bits while a search counts them
CELLS_PER_PARENT = 10  # times as many cells for each parent after the first
CELLS_PER_STATE = 10  # cells of values, times as many as those of their groups
MAX_EDGES_LISTED = 100  # in the trace
MAX_COLUMNS_NAMED = 5  # in a warning
_SURELY_FITS = 1_000_000  # cells that fit in memory without a check
# A column with more values than this, most of them seen once or never, is an identifier or free
# text. Columns with fewer values and few rows are common, and their tables are small: a warning
# about them would be noise.
MANY_VALUES = 50
_GROUP = (
    'group the values of these columns (discretizer="two-resolution" does so where rows tell them'
    " apart)"
)


@dataclass(frozen=True, eq=False)
class TableSizes:
    """The parents that the limits on the sizes of tables allow.

    ``widths`` are ``cards``, but for columns of very many values in groups.
    ``left_out[p, i]`` is True for an edge that was refused because of its table. ``n_rows`` is the
    weight of all rows; it is None if ``given``, or 10 million cells, is the only limit.
    """

    names: Sequence[str]
    cards: np.ndarray
    widths: np.ndarray  # of the own table of a feature
    n_classes: int
    n_rows: float | None
    given: int | None
    left_out: np.ndarray
    worst: list[tuple[int, int]]  # the cells of the largest table that was refused, and its parents

    @classmethod
    def of(cls, data: Any, n_rows: float | None, given: int | None) -> TableSizes:
        """Return the limits for the data; ``given`` is None for the default."""
        if given is not None and given > MAX_NUMBERED:
            raise ValueError(
                f"max_table_size={given} must be at most {MAX_NUMBERED:,}, a table of 17 GB"
            )
        n, rows = data.n_features, n_rows if given is None else None
        return cls(
            data.domain.names,
            data.cards,
            _widths(data.domain),
            data.n_classes,
            rows,
            given,
            np.zeros((n, n), np.bool_),
            [],
        )

    @property
    def limit(self) -> int:
        """The largest number of cells of a table with any number of parents."""
        return MAX_TABLE_SIZE if self.given is None else self.given

    def max_cells(self, n_parents: int) -> int:
        """Return the largest number of cells of a table that a search may choose."""
        if self.n_rows is None:
            return self.limit
        filled = CELLS_PER_ROW * int(max(self.n_rows, MIN_ROWS))
        return min(self.limit, filled * CELLS_PER_PARENT ** (max(n_parents, 1) - 1))

    def cells(self, child: int, parents: Iterable[int]) -> int:
        """Return the number of cells of the table of a feature."""
        states = math.prod(int(self.cards[p]) for p in parents)
        return int(self.widths[child]) * states * self.n_classes

    @property
    def allow_all(self) -> bool:
        """Whether the table of every feature with any other one is small."""
        widest = float(self.cards.max(initial=0)) * float(self.widths.max(initial=0))
        return widest * self.n_classes <= min(self.max_cells(1), _SURELY_FITS)

    def pairs(self, among: np.ndarray, given: Callable[[], np.ndarray]) -> np.ndarray:
        """Return the edges ``[p, i]`` whose tables are within the limit.

        The class is the only other parent. Edges that ``given`` returns are not chosen by the
        search, so they are never listed among those left out.
        """
        if self.allow_all:
            return among
        widths, most = self.widths.astype(float) * self.n_classes, self.max_cells(1)
        settled = given()
        fitting, largest = np.zeros_like(among), (0.0, 0, 0)
        for p, own in enumerate(among):  # a row at a time: the cells of all pairs may be many
            cells = widths * float(self.cards[p])
            fitting[p] = own & (cells <= most)
            refused = own & ~fitting[p] & ~settled[p] & self._live & self._live[p]
            if refused.any():
                self.left_out[p, refused] = True
                self._note(cells[refused].max(), 1)
            if fitting[p].any():
                child = int(np.where(fitting[p], cells, 0.0).argmax())
                largest = max(largest, (cells[child], p, child), key=lambda found: found[0])
        if largest[0]:
            self._require(largest[2], [largest[1]])
        return fitting

    def joining(self, child: int, parents: Sequence[int], among: np.ndarray) -> np.ndarray:
        """Return the features, as a mask, that may become one more parent of a child.

        Each table of the child with the feature and some of the parents must be within the limit
        for this number of parents: otherwise a parent with two values would allow one with many.
        Of parent sets of one size, the one with the most values decides.
        """
        widest = sorted(parents, key=lambda p: -int(self.cards[p]))
        loss = self._fits(child, widest)  # otherwise the parents alone are above the limit
        fitting, live = among, self._live & self._live[child]
        for j in range(len(parents) + 1):
            cells = self.cells(child, widest[:j])
            refused = fitting & (self.cards > self.max_cells(j + 1) // cells)
            fitting = fitting & ~refused
            if loss and (refused & live).any():
                self.left_out[refused & live, child] = True
                self._note(cells * int(self.cards[refused].max()), j + 1)
        if fitting.any():
            self._require(child, [*parents, int(np.where(fitting, self.cards, 0).argmax())])
        return fitting

    def _fits(self, child: int, widest: Sequence[int]) -> bool:
        """Return whether a family is within the limit; ``widest`` are its parents in order."""
        return all(
            self.cells(child, widest[:j]) <= self.max_cells(j) for j in range(1, len(widest) + 1)
        )

    @property
    def _live(self) -> np.ndarray:
        """Columns with several values; edges of other columns are uninformative."""
        return self.cards > 1

    def _note(self, cells: float, n_parents: int) -> None:
        """Store the size of the largest table that was refused."""
        self.worst[:] = [max([*self.worst, (int(cells), n_parents)])]

    def _require(self, child: int, parents: Sequence[int]) -> None:
        """Raise an error if the table of one family does not fit in memory."""
        if self.cells(child, parents) > _SURELY_FITS:
            groups = tuple(tuple(parents) if i == child else () for i in range(len(self.cards)))
            Layout(Structure(groups), self.cards, self.n_classes).require(self.names)

    # ---- report

    @property
    def _once(self) -> np.ndarray:
        """The edges that were left out; an edge left out in both directions occurs once."""
        return np.asarray(np.triu(self.left_out) | (self.left_out & ~self.left_out.T))

    @property
    def n_left_out(self) -> int:
        """The number of edges that were left out."""
        return int(np.count_nonzero(self._once)) if self.worst else 0

    def edges(self) -> list[tuple[str, str]]:
        """Return the first of the edges (parent, child) that were left out."""
        first = np.argwhere(self._once)[:MAX_EDGES_LISTED].tolist()
        return [(self.names[p], self.names[i]) for p, i in first]

    def reason(self) -> str:
        """Return a message: the columns of the edges left out, the reason, and what to do."""
        touched = (self.left_out | self.left_out.T).sum(axis=0)
        columns = [self.names[i] for i in np.argsort(-touched, kind="stable") if touched[i]]
        largest, n_parents = self.worst[0]
        most, parents = f"{self.max_cells(n_parents):,} cells", count_of(n_parents, "parent")
        if self.given is not None:
            why, way_out = (
                f"a table may have max_table_size={most}",
                f"raise it, or {_GROUP}",
            )
        elif self.max_cells(n_parents) == MAX_TABLE_SIZE:
            why, way_out = (
                f"a table may have {most}",
                f"{_GROUP}, or raise max_table_size",
            )
        else:
            why = f"for {self.n_rows:,.10g} rows, a table with {parents} may have {most}"
            way_out = (
                f"{_GROUP} or drop them; or set max_table_size, the largest number of cells of a"
                " table, which then is the only limit"
            )
        return (
            f"{count_of(self.n_left_out, 'edge')} between {named(columns)} left out: {why}, and the"
            f" largest table would have {largest:,}. To avoid this, {way_out}"
        )


def _widths(domain: Domain) -> np.ndarray:
    """Return the cards of features, or a tenth of the values of which they are groups."""
    if domain.n_grouped is None:
        return domain.cards
    return np.maximum(domain.cards, -(-np.array(domain.n_grouped) // CELLS_PER_STATE))


def warn_of_sparse_columns(data: Any, counts: Counts) -> None:
    """Warn about columns whose table P(x | class) has more cells than there are rows."""
    n_rows, cells = float(counts.class_count.sum()), data.cards * data.n_classes
    sparse = np.flatnonzero((data.cards > MANY_VALUES) & (cells > n_rows)).tolist()
    if sparse:
        columns = [data.domain.names[i] for i in sorted(sparse, key=lambda i: -int(cells[i]))]
        warnings.warn(
            f"more cells than rows ({n_rows:,.10g}) in the tables P(x | class) of {named(columns)},"
            f" with up to {max(data.cards[sparse]):,} values and"
            f" {count_of(data.n_classes, 'class', 'es')}: most of their probabilities are learned"
            " from one row or none. To avoid this, drop such columns, or group their values",
            stacklevel=3,
        )


def named(columns: Sequence[str]) -> str:
    """Return the names of the first columns, and the number of the others.

    >>> named(["a", "b"]), named(list("abcdefg"))
    ("'a', 'b'", "'a', 'b', 'c', 'd', 'e' and 2 more columns")
    """
    shown = ", ".join(map(repr, columns[:MAX_COLUMNS_NAMED]))
    more = len(columns) - MAX_COLUMNS_NAMED
    return f"{shown} and {count_of(more, 'more column')}" if more > 0 else shown
