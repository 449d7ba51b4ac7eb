"""Bit sets: for every value of a feature, the rows that have it, one bit per row."""

from __future__ import annotations

import math

import numpy as np

from discbayes.engine import parallel_map
from discbayes.kernels import candidate_scan
from discbayes.kernels.scan_records import ScoringRows, ValueBits

MAX_VALUES = 64  # of a feature with bit sets
MAX_CELLS = 512  # of a family with bit sets
MAX_BYTES = 1 << 28  # of all bit sets over the same rows
NO_BITS = np.zeros((0, 0), np.uint64)


class BitSets:
    """A bit set for every value of the features with few values.

    Parameters
    ----------
    rows : ScoringRows
        All rows.
    which, positions : arrays
        The rows that are in the bit sets, and the position of the bit of each.
    n_words : int
        The number of 64-bit words of a bit set.
    n_jobs : int or None
        The number of threads.
    """

    def __init__(
        self,
        rows: ScoringRows,
        which: np.ndarray,
        positions: np.ndarray,
        n_words: int,
        n_jobs: int | None,
    ):
        cards = np.where(rows.cards <= MAX_VALUES, rows.cards, 0)
        if not n_words or cards.sum() * n_words * 8 > MAX_BYTES:
            cards = np.zeros_like(cards)
        value_start = np.concatenate([[0], np.cumsum(cards)]).astype(np.int64)
        bits = np.zeros((int(cards.sum()), n_words), np.uint64)
        self.cards = rows.cards
        self.record = ValueBits(cards > 0, value_start, bits)

        def fill(i: int) -> None:
            candidate_scan.set_bits(rows.codes[i], rows.cards[i], which, positions, self.of(i))

        features = np.flatnonzero(self.record.has_bits).tolist()
        parallel_map(fill, features, n_jobs, work=which.size * rows.cards.size)

    @classmethod
    def if_worth_it(
        cls,
        n_candidates: int,
        rows: ScoringRows,
        which: np.ndarray,
        positions: np.ndarray,
        n_words: int,
        n_jobs: int | None,
    ) -> BitSets:
        """Make bit sets if there are enough candidates that they save more time than they take."""
        if n_candidates <= 2 * rows.cards.size:
            return cls.none(rows)
        return cls(rows, which, positions, n_words, n_jobs)

    @classmethod
    def by_key(
        cls, rows: ScoringRows, which: np.ndarray, keys: np.ndarray, n_keys: int, n_jobs: int | None
    ) -> tuple[BitSets, np.ndarray]:
        """Make bit sets in which the rows of each key begin a new word.

        Returns them and the word at which each key starts.
        """
        order = np.argsort(keys, kind="stable")
        sizes = np.bincount(keys, minlength=n_keys)
        word_start = np.concatenate([[0], np.cumsum((sizes + 63) // 64)]).astype(np.int64)
        row_start = np.cumsum(sizes) - sizes
        positions = np.arange(keys.size) + (word_start[:-1] * 64 - row_start)[keys[order]]
        return cls(rows, which[order], positions, int(word_start[-1]), n_jobs), word_start

    @classmethod
    def none(cls, rows: ScoringRows) -> BitSets:
        """Return an object without bit sets."""
        return cls(rows, np.empty(0, np.int64), np.empty(0, np.int64), 0, None)

    def of(self, feature: int) -> np.ndarray:
        """Return the bit sets of the values of a feature."""
        start = self.record.value_start
        return self.record.bits[start[feature] : start[feature + 1]]

    def cells(self, child: int, parents: tuple[int, ...]) -> np.ndarray:
        """Return the bit sets of the cells of a family, the child innermost.

        There are none if the family has too many cells, or a feature without bit sets.
        """
        members = (child, *parents)
        n_cells = math.prod(int(self.cards[i]) for i in members)
        if n_cells > MAX_CELLS or not all(self.record.has_bits[i] for i in members):
            return NO_BITS
        cells = self.of(child)
        for p in reversed(parents):
            wider = np.empty((cells.shape[0] * int(self.cards[p]), cells.shape[1]), np.uint64)
            candidate_scan.join_bits(self.of(p), cells, wider)
            cells = wider
        return cells
