"""Bit sets: for every value of a feature, the rows that have it, a bit for each."""

from __future__ import annotations

import math

import numpy as np

from discbayes.engine import parallel_map
from discbayes.kernels import candidate_scan
from discbayes.scores.scoring_rows import ScoringRows

MAX_VALUES, MAX_CELLS = 64, 512  # of features and of families that have bit sets
MAX_BYTES = 1 << 28  # of all bit sets over the same rows
NO_BITS = np.zeros((0, 0), np.uint64)


class BitSets:
    """A bit set for every value of the features that have few, over rows at given positions."""

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
        self.rows, self.known = rows, cards > 0
        self.value_start = np.concatenate([[0], np.cumsum(cards)]).astype(np.int64)
        self.bits = np.zeros((int(cards.sum()), n_words), np.uint64)

        def one(i: int) -> None:
            candidate_scan.set_bits(rows.codes[i], rows.cards[i], which, positions, self.of(i))

        parallel_map(
            one, np.flatnonzero(self.known).tolist(), n_jobs, work=which.size * rows.cards.size
        )

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
        """Bit sets where there are so many candidates that making them takes less time than they
        save.
        """
        return (
            cls(rows, which, positions, n_words, n_jobs)
            if n_candidates > 2 * rows.cards.size
            else cls.none(rows)
        )

    @classmethod
    def by_key(
        cls, rows: ScoringRows, which: np.ndarray, keys: np.ndarray, n_keys: int, n_jobs: int | None
    ) -> tuple[BitSets, np.ndarray]:
        """Bit sets over some rows, those of each key from a new word on; and the word at which each
        key starts.
        """
        order = np.argsort(keys, kind="stable")
        sizes = np.bincount(keys, minlength=n_keys)
        words = np.concatenate([[0], np.cumsum((sizes + 63) // 64)]).astype(np.int64)
        positions = np.arange(keys.size) + (words[:-1] * 64 - np.cumsum(sizes) + sizes)[keys[order]]
        return cls(rows, which[order], positions, int(words[-1]), n_jobs), words

    @classmethod
    def none(cls, rows: ScoringRows) -> BitSets:
        """No bit sets for any feature."""
        return cls(rows, np.empty(0, np.int64), np.empty(0, np.int64), 0, None)

    def of(self, feature: int) -> np.ndarray:
        """The bit sets of the values of a feature."""
        return self.bits[self.value_start[feature] : self.value_start[feature + 1]]

    def cells(self, child: int, parents: tuple[int, ...]) -> np.ndarray:
        """The bit sets of the cells of a family; none where it has too many, or a feature without
        them.
        """
        members = (child, *parents)
        n_cells = math.prod(int(self.rows.cards[i]) for i in members)
        if n_cells > MAX_CELLS or not all(self.known[i] for i in members):
            return NO_BITS
        cells = self.of(child)
        for p in reversed(parents):
            wider = np.empty((cells.shape[0] * int(self.rows.cards[p]), cells.shape[1]), np.uint64)
            candidate_scan.join_bits(self.of(p), cells, wider)
            cells = wider
        return cells
