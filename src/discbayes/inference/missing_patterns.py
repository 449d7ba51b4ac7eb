"""Rows grouped by which of their features are missing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discbayes.data.domain import code_dtype
from discbayes.network import CPTs


@dataclass(frozen=True)
class MissingPattern:
    """Rows sorted by pattern: group ``g`` is ``rows[start[g]:start[g + 1]]``; ``place`` is where
    each row came from.
    """

    rows: np.ndarray
    start: np.ndarray
    place: np.ndarray

    @property
    def n_groups(self) -> int:
        """The number of different patterns."""
        return self.start.size - 1


def group_by_missing(codes: np.ndarray, rows: np.ndarray, cards: np.ndarray) -> MissingPattern:
    """Group ``rows`` (column numbers of ``codes``) by their pattern of gaps."""
    packed = np.packbits(codes[:, rows] >= cards[:, None], axis=0).T
    keys = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, group, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    place = np.argsort(group.ravel(), kind="stable")
    return MissingPattern(
        rows[place], np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), place
    )


def blank_rows(tables: CPTs, n_rows: int) -> np.ndarray:
    """Codes of rows in which every feature is missing."""
    cards = tables.cards.astype(code_dtype(int(tables.cards.max(initial=1))))
    return np.repeat(cards[:, None], n_rows, axis=1)
