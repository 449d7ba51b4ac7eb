"""The families of a network that is being searched: the cell of each row, and the tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discbayes.kernels import family_theta as kernels
from discbayes.kernels.scan_records import ParentTables, ScoringRows
from discbayes.parameters import MaximumAPosteriori, MaximumLikelihood
from discbayes.scoring.bit_sets import BitSets


@dataclass(frozen=True)
class Smoothing:
    """How counts become probabilities, in terms of the kernels."""

    learner: MaximumLikelihood | MaximumAPosteriori

    @property
    def mode(self) -> int:
        """FLOOR (zeros become an amount) or VIRTUAL (an amount is added to every cell)."""
        return kernels.FLOOR if isinstance(self.learner, MaximumLikelihood) else kernels.VIRTUAL

    def amount(self, size: int, card: int) -> float:
        """Return the amount for each cell of a table.

        Parameters
        ----------
        size : int
            The number of cells of the table, classes included.
        card : int
            The number of values of the feature.
        """
        if isinstance(self.learner, MaximumLikelihood):
            return float(self.learner.epsilon)
        divisor = {"ess": size, "dirichlet": 1, "m": card}[self.learner.prior]
        return float(self.learner.strength) / divisor


@dataclass(frozen=True)
class Family:
    """A child with its parents, the last to join first: the cell of each row, and log θ.

    Cells are those of ``BaseCells``; ``tables`` and ``own`` are flat, ``(group, cell, class)``.
    """

    child: int
    parents: tuple[int, ...]
    base: np.ndarray
    n_base: int
    tables: np.ndarray
    own: np.ndarray


@dataclass(frozen=True)
class Extensions:
    """The tables that each of several further parents adds to log θ of a family.

    ``record`` has one more start than parents: the end of the last table.
    """

    record: ParentTables
    n_features: int

    def positions(self, parents: np.ndarray) -> np.ndarray:
        """Return the position of each of some parents; −1 for one that is not there."""
        return self._positions[parents]

    @cached_property
    def _positions(self) -> np.ndarray:
        positions = np.full(self.n_features, -1, np.int64)
        positions[self.record.parents] = np.arange(self.record.parents.size)
        return positions

    def has(self, parents: np.ndarray) -> bool:
        """Return whether all of some parents are there."""
        return bool(self._positions[parents].min(initial=0) >= 0)

    @cached_property
    def position_of(self) -> dict[int, int]:
        """The position of each parent; a look at a dictionary is faster than one at an array."""
        return {p: k for k, p in enumerate(self.record.parents.tolist())}

    def take(self, parents: np.ndarray) -> ParentTables:
        """Return the record of some of the parents; the tables are shared."""
        which, record = self.positions(parents), self.record
        return ParentTables(
            record.parents[which],
            record.starts[which],
            record.ranges[which],
            record.tables,
            record.own,
        )

    def tables_of(self, parent: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the table of one parent, and that for the own class of rows."""
        k, record = self.position_of[parent], self.record
        span = slice(record.starts[k], record.starts[k + 1])
        tables = record.tables[span]
        return tables, tables if record.own is record.tables else record.own[span]


class FamilyMaker:
    """Makes families and their extensions by counting rows."""

    def __init__(self, rows: ScoringRows, smoothing: Smoothing, n_jobs: int | None = None):
        self.rows, self.smoothing = rows, smoothing
        self._bits, self._word_start = self._bits_by_class(n_jobs)

    def cells(self, child: int, parents: tuple[int, ...]) -> tuple[np.ndarray, int]:
        """Return the cell of each row in a family, and the number of cells."""
        rows = self.rows
        base, n_base = np.zeros(rows.y.size, np.int32), 1
        for i in (child, *reversed(parents)):
            wider = np.empty_like(base)
            kernels.extend_base(rows.codes[i], rows.cards[i], n_base, base, wider)
            base, n_base = wider, n_base * int(rows.cards[i])
        return base, n_base

    def make(self, child: int, parents: tuple[int, ...]) -> Family:
        """Make a family with its tables."""
        rows, card = self.rows, int(self.rows.cards[child])
        base, n_base = self.cells(child, parents)
        size = n_base * rows.n_classes
        tables, own = self._new_tables(rows.n_groups * size)
        amount = self.smoothing.amount(size, card)
        kernels.family_tables(
            tuple(rows), base, n_base, card, self.smoothing.mode, amount, tables, own
        )
        return Family(child, parents, base, n_base, tables, own)

    def extend(
        self, family: Family, parents: np.ndarray, others: tuple[int, ...] = ()
    ) -> Extensions:
        """Make the extensions of a family by each of the parents, all of ``others`` with it."""
        rows, child = self.rows, family.child
        card = int(rows.cards[child])
        base, n_base = family.base, family.n_base
        reference, own_reference = family.tables, family.own
        if others:
            base, n_base = self.cells(child, (*others, *family.parents))
            reference = self._widen(family.tables, family.n_base, n_base)
            own_reference = self._widen(family.own, family.n_base, n_base)
        sizes = rows.cards[parents] * n_base * rows.n_classes
        starts = np.concatenate([[0], np.cumsum(sizes * rows.n_groups)]).astype(np.int64)
        amounts = np.array([self.smoothing.amount(int(size), card) for size in sizes])
        tables, own = self._new_tables(starts[-1])
        record = ParentTables(parents, starts, np.zeros(parents.size), tables, own)
        kernels.extended_tables(
            tuple(rows),
            (base, n_base, self._bits.cells(child, (*others, *family.parents))),
            tuple(self._bits.record),
            self._word_start,
            card,
            self.smoothing.mode,
            amounts,
            reference,
            own_reference,
            tuple(record),
        )
        return Extensions(record, rows.cards.size)

    def _new_tables(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return arrays for tables and for those of the own class, which rarely differ."""
        tables = np.empty(size)
        own = np.empty(size) if self.rows.scheme == kernels.LEAVE_ONE_OUT else tables
        return tables, own

    def _bits_by_class(self, n_jobs: int | None) -> tuple[BitSets, np.ndarray]:
        """Make bit sets of all rows, sorted by group and class, and the first word of each.

        There are none if rows have weights, as a bit counts once.
        """
        rows = self.rows
        if not rows.has_unit_weights:
            return BitSets.none(rows), np.zeros(1, np.int64)
        in_folds = rows.scheme == kernels.FOLDS
        keys = rows.group * rows.n_classes + rows.y if in_folds else rows.y
        n_keys = (rows.n_groups if in_folds else 1) * rows.n_classes
        return BitSets.by_key(rows, np.arange(rows.y.size), keys, n_keys, n_jobs)

    def _widen(self, tables: np.ndarray, n_base: int, wider: int) -> np.ndarray:
        """Repeat the tables of a family for every value of parents that stand before its own."""
        by_group = tables.reshape(self.rows.n_groups, 1, n_base * self.rows.n_classes)
        return np.tile(by_group, (1, wider // n_base, 1)).ravel()
