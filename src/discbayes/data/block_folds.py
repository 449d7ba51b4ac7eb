"""Folds of rows that come in blocks: the same as those of the rows in memory, one small number for
each row.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import add
from typing import NamedTuple

import numpy as np

from discbayes.data.domain import Domain, Encoded, Variable, code_dtype
from discbayes.data.folds import stratified_folds
from discbayes.data.row_blocks import RowBlocks
from discbayes.data.transformed_rows import Change

BYTES_OF_A_ROW = 40  # while folds are drawn: whole numbers in some arrays of all rows


@dataclass(frozen=True)
class BlockFolds:
    """The fold of each row, block by block from block number ``first`` on; rows of weight zero are
    in the first.
    """

    by_block: tuple[np.ndarray, ...]
    n_folds: int
    first: int = 0

    @classmethod
    def draw(
        cls, data: RowBlocks, n_folds: int, rng: np.random.Generator, n_jobs: int | None = None
    ) -> BlockFolds:
        """Deal out the rows as ``stratified_folds`` does with those in memory, those of weight zero
        left out.
        """
        blocks: list[_Classes] = data.map_reduce(_classes_in, add, n_jobs=n_jobs)
        kept = np.concatenate([block.kept for block in blocks])
        y = np.concatenate([block.classes for block in blocks])[kept]
        if n_folds > y.size:
            raise ValueError(
                f"{n_folds} folds cannot be made of {y.size} rows (n_samples={y.size})"
            )
        folds = np.zeros(kept.size, code_dtype(n_folds))
        folds[kept] = stratified_folds(y, n_folds, rng)
        ends = np.cumsum([block.kept.size for block in blocks])
        return cls(tuple(part.copy() for part in np.split(folds, ends[:-1])), n_folds)

    @staticmethod
    def fit_in(data: RowBlocks) -> bool:
        """Whether the memory of the data is enough to draw folds."""
        return data.memory is None or data.n_samples * BYTES_OF_A_ROW <= data.memory

    def of(self, number: int) -> np.ndarray:
        """The folds of the rows of a block."""
        return self.by_block[number - self.first]

    def part(self, first: int, last: int) -> BlockFolds:
        """The folds of some of the blocks."""
        return BlockFolds(
            self.by_block[first - self.first : last - self.first], self.n_folds, first
        )


class _Classes(NamedTuple):
    """The classes of the rows of a block, and which of them have a weight above zero."""

    classes: np.ndarray
    kept: np.ndarray


def _classes_in(data: Encoded, n_jobs: int | None) -> list[_Classes]:
    kept = np.ones(data.n_samples, np.bool_) if data.weight is None else data.weight != 0
    return [_Classes(data.classes.astype(code_dtype(data.n_classes)), kept)]


@dataclass(frozen=True)
class FoldAndClass(Change):
    """The class of a row tells its fold too: ``fold · n_classes + class``.

    So what is counted by class is counted by fold and class.
    """

    folds: BlockFolds

    def __call__(self, data: Encoded, number: int) -> Encoded:
        """The rows of a block after the change."""
        y = self.folds.of(number).astype(np.int64) * data.n_classes + data.classes
        return Encoded(data.codes, self.domain(data.domain), y, data.weight)

    def domain(self, domain: Domain) -> Domain:
        """The domain after the change."""
        both = tuple(range(self.folds.n_folds * domain.n_classes))
        return Domain(domain.features, Variable(domain.target.name, "categorical", both))

    def part(self, first: int, last: int) -> FoldAndClass:
        """The same for some of the blocks."""
        return FoldAndClass(self.folds.part(first, last))


@dataclass(frozen=True)
class WithoutFold(Change):
    """Rows of one fold have a weight of zero: as if they were not there."""

    folds: BlockFolds
    fold: int

    def __call__(self, data: Encoded, number: int) -> Encoded:
        """The rows of a block after the change."""
        there = self.folds.of(number) != self.fold
        weight = there.astype(np.float64) if data.weight is None else data.weight * there
        return Encoded(data.codes, data.domain, data.classes, weight)

    def weighted(self, weighted: bool) -> bool:
        """Rows have weights after the change."""
        return True

    def part(self, first: int, last: int) -> WithoutFold:
        """The same for some of the blocks."""
        return WithoutFold(self.folds.part(first, last), self.fold)
