"""Which rows a table may not be learned from when it scores a row, for rows that come in blocks.

It is what ``Rows`` says of rows in memory: groups are folds, or amounts of weight that a row takes
away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes.data.domain import Encoded
from discbayes.data.folds import Folds
from discbayes.data.row_blocks import RowBlocks
from discbayes.data.transformed_rows import FoldAndClass
from discbayes.kernels import family_theta
from discbayes.scores.scoring_rows import (
    MAX_WEIGHTS,
    ScoringRows,
    check_evaluation,
    refuse_many_weights,
)


@dataclass(frozen=True)
class Scheme:
    """How rows of a block are put into groups; with folds, the class of a row tells its fold
    too.
    """

    kind: int
    removed: np.ndarray
    n_classes: int

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return self.removed.size

    @property
    def n_counted(self) -> int:
        """The number of groups that are counted apart."""
        return self.n_groups if self.kind == family_theta.FOLDS else 1

    def by_group(self, class_count: np.ndarray) -> np.ndarray:
        """The weight of each class in each group; all in the first where groups are not counted
        apart.
        """
        counts = np.zeros((self.n_groups, self.n_classes))
        counts[: self.n_counted] = class_count.reshape(-1, self.n_classes)
        return counts

    def rows(self, data: Encoded) -> ScoringRows:
        """The rows of a block that count, with their groups."""
        weight = (
            np.ones(data.n_samples) if data.weight is None else np.asarray(data.weight, np.float64)
        )
        codes, y = data.codes, data.classes
        if not weight.all():
            kept = np.flatnonzero(weight)
            codes, y, weight = np.ascontiguousarray(codes[:, kept]), y[kept], weight[kept]
        group = y // self.n_classes
        if self.kind == family_theta.LEAVE_ONE_OUT:
            group = np.searchsorted(self.removed, np.minimum(weight, 1.0))
        y = (y % self.n_classes).astype(np.int32)
        cards = data.cards.astype(np.int64)
        return ScoringRows(
            codes, y, weight, group.astype(np.int32), self.removed, self.kind, cards, self.n_classes
        )


def held_out(
    data: RowBlocks, evaluation: Any, rng: np.random.Generator, n_jobs: int | None = None
) -> tuple[RowBlocks, Scheme]:
    """The rows as they are to be counted and scored, and how they are put into groups."""
    check_evaluation(evaluation)
    if evaluation == "resubstitution":
        return data, Scheme(family_theta.RESUBSTITUTION, np.zeros(1), data.n_classes)
    if evaluation == "loo":
        return data, Scheme(family_theta.LEAVE_ONE_OUT, _amounts(data, n_jobs), data.n_classes)
    folds = Folds.draw(data, int(evaluation), rng, n_jobs)
    rows = data.changed(FoldAndClass(folds))
    return rows, Scheme(family_theta.FOLDS, np.zeros(int(evaluation)), data.n_classes)


def _amounts(data: RowBlocks, n_jobs: int | None) -> np.ndarray:
    """The different amounts that rows take away when they are left out."""
    amounts: np.ndarray = (
        data.map_reduce(_amounts_in, _union, n_jobs=n_jobs) if data.weighted else np.ones(1)
    )
    refuse_many_weights(amounts)
    return amounts


def _amounts_in(data: Encoded, n_jobs: int | None) -> np.ndarray:
    assert data.weight is not None
    return np.unique(np.minimum(data.weight[data.weight != 0], 1.0))[: MAX_WEIGHTS + 1]


def _union(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.union1d(a, b)[: MAX_WEIGHTS + 1]
