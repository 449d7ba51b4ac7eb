"""The rows of a sample score, and which of them a table may not be learned from when it scores a
row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes.data.domain import Encoded
from discbayes.data.folds import stratified_folds
from discbayes.kernels import family_theta

MAX_WEIGHTS = 256  # different amounts that leave-one-out takes away, each with its own tables


@dataclass(frozen=True)
class ScoringRows:
    """Codes, classes and weights of the rows that count, and the group of each (see
    ``kernels/family_theta.py``).
    """

    codes: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    group: np.ndarray
    removed: np.ndarray
    scheme: int
    cards: np.ndarray
    n_classes: int

    @classmethod
    def of(cls, data: Encoded, evaluation: Any, rng: np.random.Generator) -> ScoringRows:
        """The rows of the data, put into groups as the evaluation asks for; rows of weight zero are
        left out.
        """
        y = np.ascontiguousarray(data.classes, dtype=np.int32)
        weight = (
            np.ones(y.size)
            if data.weight is None
            else np.ascontiguousarray(data.weight, dtype=np.float64)
        )
        codes = data.codes
        if not weight.all():
            kept = np.flatnonzero(weight)
            codes, y, weight = np.ascontiguousarray(codes[:, kept]), y[kept], weight[kept]
        group, removed, scheme = _groups(y, weight, evaluation, rng)
        return cls(
            codes, y, weight, group, removed, scheme, data.cards.astype(np.int64), data.n_classes
        )

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return self.removed.size

    @property
    def unit_weights(self) -> bool:
        """Whether every row counts once."""
        return bool((self.weight == 1.0).all())

    def take(self, which: np.ndarray) -> ScoringRows:
        """Some of the rows."""
        return ScoringRows(
            np.ascontiguousarray(self.codes[:, which]), self.y[which], self.weight[which], self.group[which],
            self.removed, self.scheme, self.cards, self.n_classes,
        )  # fmt: skip


def check_evaluation(evaluation: Any) -> None:
    """Refuse what is no way to evaluate a score."""
    whole = isinstance(evaluation, (int, np.integer)) and not isinstance(evaluation, bool)
    if not (whole and evaluation >= 2) and evaluation not in ("resubstitution", "loo"):
        raise ValueError(
            f'evaluation={evaluation!r} is not "resubstitution", "loo" or a number of folds that is'
            " at least 2"
        )


def refuse_many_weights(amounts: np.ndarray) -> None:
    """Refuse leave-one-out with more amounts to take away than there may be tables for."""
    if amounts.size > MAX_WEIGHTS:
        raise ValueError(
            f'evaluation="loo" with more than {MAX_WEIGHTS} different weights below 1 would need as'
            " many tables for each family: use a number of folds, evaluation=5"
        )


def _groups(
    y: np.ndarray, weight: np.ndarray, evaluation: Any, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, int]:
    check_evaluation(evaluation)
    if evaluation == "resubstitution":
        return np.zeros(y.size, np.int32), np.zeros(1), family_theta.RESUBSTITUTION
    if evaluation == "loo":
        amounts, group = np.unique(np.minimum(weight, 1.0), return_inverse=True)
        refuse_many_weights(amounts)
        return group.astype(np.int32), amounts, family_theta.LEAVE_ONE_OUT
    if evaluation > y.size:
        raise ValueError(
            f"evaluation={evaluation!r} folds cannot be made of {y.size} rows (n_samples={y.size}):"
            " use fewer folds, or evaluation='resubstitution'"
        )
    return (
        stratified_folds(y, int(evaluation), rng).astype(np.int32),
        np.zeros(int(evaluation)),
        family_theta.FOLDS,
    )
