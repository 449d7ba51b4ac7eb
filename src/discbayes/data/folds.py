"""Folds of rows for cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from operator import add
from typing import NamedTuple

import numpy as np

from discbayes.data.domain import Encoded, code_dtype
from discbayes.data.rows import Rows

BYTES_OF_A_ROW = 40  # while folds are drawn: whole numbers in some arrays of all rows


def stratified_folds(y: np.ndarray, n_folds: int, rng: np.random.Generator) -> np.ndarray:
    """Return the fold of each row, with each class spread over the folds as evenly as possible.

    >>> folds = stratified_folds(np.array([0, 0, 0, 1, 1, 1]), 3, np.random.default_rng(0))
    >>> folds.reshape(2, 3).sum(axis=1)
    array([3, 3])
    """
    order = rng.permutation(y.size)
    order = order[np.argsort(y[order], kind="stable")]
    folds = np.empty(y.size, np.int64)
    folds[order] = np.arange(y.size) % n_folds
    return folds


@dataclass(frozen=True)
class Folds:
    """The fold of each row, block by block from block number ``first`` on.

    Rows of weight zero are in the first fold.
    """

    by_block: tuple[np.ndarray, ...]
    n_folds: int
    first: int = 0

    @classmethod
    def draw(
        cls, data: Rows, n_folds: int, rng: np.random.Generator, n_jobs: int | None = None
    ) -> Folds:
        """Assign the rows with a weight above zero to folds by ``stratified_folds``."""
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
    def fit_in(data: Rows) -> bool:
        """Return whether the memory limit of the rows allows to draw folds of them."""
        return data.memory is None or data.n_samples * BYTES_OF_A_ROW <= data.memory

    def of(self, number: int) -> np.ndarray:
        """Return the folds of the rows of a block."""
        return self.by_block[number - self.first]

    def part(self, first: int, last: int) -> Folds:
        """Return the folds of some of the blocks."""
        return Folds(self.by_block[first - self.first : last - self.first], self.n_folds, first)


class _Classes(NamedTuple):
    """The classes of the rows of a block, and which of them have a weight above zero."""

    classes: np.ndarray
    kept: np.ndarray


def _classes_in(data: Encoded, n_jobs: int | None) -> list[_Classes]:
    kept = np.ones(data.n_samples, np.bool_) if data.weight is None else data.weight != 0
    return [_Classes(data.classes.astype(code_dtype(data.n_classes)), kept)]
