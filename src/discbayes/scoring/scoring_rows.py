"""Rows to score, and which rows the tables that score a row may not be learned from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes.data.domain import Encoded
from discbayes.data.folds import Folds
from discbayes.data.row_blocks import FoldAndClass
from discbayes.data.rows import Rows
from discbayes.kernels import family_theta
from discbayes.kernels.scan_records import ScoringRows

MAX_WEIGHTS = 256  # different weights that leave-one-out removes, each with tables of its own


@dataclass(frozen=True)
class HeldOutScheme:
    """How rows are put into groups; the tables of a group are learned without held-out rows.

    Attributes
    ----------
    kind : int
        RESUBSTITUTION (one group), FOLDS (a group is a fold) or LEAVE_ONE_OUT (a group is a weight
        that a row removes), see ``kernels/family_theta.py``.
    removed : array (n_groups,)
        The weight that a row of each group removes.
    n_classes : int
        The number of classes; with folds, rows come with ``fold * n_classes + class`` as class.
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
        """The number of groups with counts of their own."""
        return self.n_groups if self.kind == family_theta.FOLDS else 1

    def weight_by_group(self, class_count: np.ndarray) -> np.ndarray:
        """Return the weight of each class in each group, shape ``(n_groups, n_classes)``.

        Groups without counts of their own are counted in the first one.
        """
        counts = np.zeros((self.n_groups, self.n_classes))
        counts[: self.n_counted] = class_count.reshape(-1, self.n_classes)
        return counts

    def rows(self, data: Encoded) -> ScoringRows:
        """Return the rows with a weight above zero, in their groups."""
        weight = (
            np.ones(data.n_samples)
            if data.weight is None
            else np.ascontiguousarray(data.weight, np.float64)
        )
        codes, y = data.codes, data.classes
        if not weight.all():
            kept = np.flatnonzero(weight)
            codes = np.ascontiguousarray(codes[:, kept])
            y, weight = y[kept], weight[kept]
        group, y = np.divmod(y, self.n_classes)
        if self.kind == family_theta.LEAVE_ONE_OUT:
            group = np.searchsorted(self.removed, np.minimum(weight, 1.0))
        return ScoringRows(
            codes,
            y.astype(np.int32),
            weight,
            group.astype(np.int32),
            self.removed,
            self.kind,
            data.cards.astype(np.int64),
            self.n_classes,
        )


def hold_out(
    data: Rows,
    evaluation: Any,
    rng: np.random.Generator,
    n_jobs: int | None = None,
) -> tuple[Any, HeldOutScheme]:
    """Put rows into groups.

    Parameters
    ----------
    data : Rows
        The rows.
    evaluation : "resubstitution", "loo" or int
        How rows are held out.
    rng : Generator
        For drawing folds.
    n_jobs : int, optional
        The number of threads.

    Returns
    -------
    data
        The rows as they are to be counted and scored, of the type given.
    HeldOutScheme
        How ``HeldOutScheme.rows`` finds the group of each.
    """
    if evaluation == "resubstitution":
        return data, HeldOutScheme(family_theta.RESUBSTITUTION, np.zeros(1), data.n_classes)
    if evaluation == "loo":
        removed = _removed_weights(data, n_jobs)
        return data, HeldOutScheme(family_theta.LEAVE_ONE_OUT, removed, data.n_classes)
    scheme = HeldOutScheme(family_theta.FOLDS, np.zeros(int(evaluation)), data.n_classes)
    rows = data.without_zero_weights()
    n = rows.n_samples
    if evaluation > n:
        raise ValueError(
            f"evaluation={evaluation!r} folds cannot be made of {n} rows (n_samples={n}):"
            " use fewer folds, or evaluation='resubstitution'"
        )
    folds = Folds.draw(rows, int(evaluation), rng, n_jobs)
    return rows.changed(FoldAndClass(folds)), scheme


def _removed_weights(data: Rows, n_jobs: int | None) -> np.ndarray:
    """Return the different weights that rows remove when they are left out."""
    removed: np.ndarray = data.map_reduce(_weights_in, _union, n_jobs=n_jobs)
    if removed.size > MAX_WEIGHTS:
        raise ValueError(
            f'evaluation="loo" with more than {MAX_WEIGHTS} different weights below 1 would need as'
            " many tables for each family: use a number of folds, evaluation=5"
        )
    return removed


def _weights_in(data: Encoded, n_jobs: int | None) -> np.ndarray:
    if data.weight is None:
        return np.ones(1)
    return np.unique(np.minimum(data.weight[data.weight != 0], 1.0))[: MAX_WEIGHTS + 1]


def _union(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.union1d(a, b)[: MAX_WEIGHTS + 1]
