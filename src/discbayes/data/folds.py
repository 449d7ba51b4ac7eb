"""Parts of the rows for cross-validation."""

from __future__ import annotations

import numpy as np


def stratified_folds(y: np.ndarray, n_folds: int, rng: np.random.Generator) -> np.ndarray:
    """The fold of each row: every class is spread as evenly as it can be, whatever its number of
    rows.

    >>> stratified_folds(np.array([0, 0, 0, 1, 1, 1]), 3, np.random.default_rng(0)).reshape(2, 3).sum(axis=1)
    array([3, 3])
    """
    order = rng.permutation(y.size)
    order = order[np.argsort(y[order], kind="stable")]
    folds = np.empty(y.size, np.int64)
    folds[order] = np.arange(y.size) % n_folds
    return folds
