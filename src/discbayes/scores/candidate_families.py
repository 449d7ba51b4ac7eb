"""The families of a structure that is being searched: the cell of each row, and the tables for
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discbayes.kernels import family_theta as kernels
from discbayes.parameters import MaximumAPosteriori, MaximumLikelihood
from discbayes.scores.bit_sets import BitSets
from discbayes.scores.scoring_rows import ScoringRows


@dataclass(frozen=True)
class Smoothing:
    """How counts become probabilities, in terms of the kernels: a mode, and an amount that may
    depend on the table.
    """

    learner: MaximumLikelihood | MaximumAPosteriori

    @property
    def mode(self) -> int:
        """Zeros become an amount, or an amount is added everywhere."""
        return kernels.FLOOR if isinstance(self.learner, MaximumLikelihood) else kernels.VIRTUAL

    def amount(self, size: int, card: int) -> float:
        """The amount for each cell of a table of ``size`` cells, classes and all, of a feature with
        ``card`` values.
        """
        if isinstance(self.learner, MaximumLikelihood):
            return float(self.learner.epsilon)
        return (
            float(self.learner.strength)
            / {"ess": size, "dirichlet": 1, "m": card}[self.learner.prior]
        )


@dataclass(frozen=True)
class Family:
    """A child with its parents, the last to join first; the cell of each row (negative: a gap), and
    log θ.

    ``tables`` and ``own`` are flat, ``(group, cell, class)``.
    """

    child: int
    parents: tuple[int, ...]
    base: np.ndarray
    n_base: int
    tables: np.ndarray
    own: np.ndarray


@dataclass(frozen=True)
class Extensions:
    """What each of several further parents would add to log θ of a family: tables one after the
    other.
    """

    parents: np.ndarray
    starts: np.ndarray
    tables: np.ndarray
    own: np.ndarray
    spreads: np.ndarray
    n_features: int

    def where(self, parents: np.ndarray) -> np.ndarray:
        """Where each of some parents stands; −1 for one that is not there."""
        return self._positions[parents]

    @cached_property
    def _positions(self) -> np.ndarray:
        positions = np.full(self.n_features, -1, np.int64)
        positions[self.parents] = np.arange(self.parents.size)
        return positions

    @cached_property
    def place(self) -> dict[int, int]:
        """Where each parent stands."""
        return {int(p): k for k, p in enumerate(self.parents)}


class FamilyMaker:
    """Makes families and their extensions from the rows."""

    def __init__(self, rows: ScoringRows, smoothing: Smoothing, n_jobs: int | None = None):
        self.rows, self.smoothing = rows, smoothing
        self.bits, self.word_start = self._bits(n_jobs)

    def cells(self, child: int, parents: tuple[int, ...]) -> tuple[np.ndarray, int]:
        """The cell of each row in a family, and the number of cells."""
        rows = self.rows
        base, n_base = np.empty(rows.y.size, np.int32), int(rows.cards[child])
        kernels.extend_base(
            rows.codes[child], rows.cards[child], 1, np.zeros(rows.y.size, np.int32), base
        )
        for p in reversed(parents):
            wider = np.empty_like(base)
            kernels.extend_base(rows.codes[p], rows.cards[p], n_base, base, wider)
            base, n_base = wider, n_base * int(rows.cards[p])
        return base, n_base

    def make(self, child: int, parents: tuple[int, ...]) -> Family:
        """The family with its tables."""
        rows, card = self.rows, int(self.rows.cards[child])
        base, n_base = self.cells(child, parents)
        size = n_base * rows.n_classes
        tables = np.empty(rows.n_groups * size)
        own = np.empty_like(tables) if rows.scheme == kernels.LEAVE_ONE_OUT else tables
        kernels.family_tables(
            rows.y, rows.weight, rows.group, base, n_base, card, rows.n_classes, rows.scheme, rows.removed,
            self.smoothing.mode, self.smoothing.amount(size, card), tables, own,
        )  # fmt: skip
        return Family(child, parents, base, n_base, tables, own)

    def extend(
        self, family: Family, parents: np.ndarray, through: tuple[int, ...] = ()
    ) -> Extensions:
        """Extensions of a family by each of the parents, with those of ``through`` joining as
        well.
        """
        rows, card, child = self.rows, int(self.rows.cards[family.child]), family.child
        base, n_base, reference, own_reference = (
            family.base,
            family.n_base,
            family.tables,
            family.own,
        )
        if through:
            base, n_base = self.cells(child, (*through, *family.parents))
            reference, own_reference = (
                self._widen(t, family.n_base, n_base) for t in (reference, own_reference)
            )
        sizes = rows.cards[parents] * n_base * rows.n_classes
        starts = np.concatenate([[0], np.cumsum(sizes * rows.n_groups)]).astype(np.int64)
        amounts = np.array([self.smoothing.amount(int(size), card) for size in sizes])
        tables, spreads = np.empty(starts[-1]), np.zeros(parents.size)
        own = np.empty_like(tables) if rows.scheme == kernels.LEAVE_ONE_OUT else tables
        bits = self.bits
        kernels.extended_tables(
            rows.codes, parents, rows.cards, rows.y, rows.weight, rows.group, base, n_base, card, rows.n_classes,
            rows.scheme, rows.removed, self.smoothing.mode, amounts, reference, own_reference, bits.known,
            bits.value_start, bits.bits, bits.cells(child, (*through, *family.parents)), self.word_start, starts,
            tables, own, spreads,
        )  # fmt: skip
        return Extensions(parents, starts, tables, own, spreads, rows.cards.size)

    def _bits(self, n_jobs: int | None) -> tuple[BitSets, np.ndarray]:
        """Bit sets over all rows in the order of group and class, and the word at which each of
        these starts.

        None where rows have weights, which a bit set does not know.
        """
        rows = self.rows
        if not rows.unit_weights:
            return BitSets.none(rows), np.zeros(1, np.int64)
        by_group = rows.scheme == kernels.FOLDS
        keys = rows.group * rows.n_classes + rows.y if by_group else rows.y
        n_keys = (rows.n_groups if by_group else 1) * rows.n_classes
        return BitSets.by_key(rows, np.arange(rows.y.size), keys, n_keys, n_jobs)

    def _widen(self, tables: np.ndarray, n_base: int, wider: int) -> np.ndarray:
        """Tables of a family, repeated for every value of parents that stand before its own."""
        by_group = tables.reshape(self.rows.n_groups, 1, n_base * self.rows.n_classes)
        return np.tile(by_group, (1, wider // n_base, 1)).ravel()
