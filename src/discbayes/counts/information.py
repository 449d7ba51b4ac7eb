"""Entropies and mutual information with the class, in nats, from counts."""

from __future__ import annotations

import numpy as np

from discbayes.counts.tables import Counts


def entropy(counts: np.ndarray) -> float:
    """The entropy of the distribution that the counts stand for; zero for no counts at all.

    >>> round(entropy(np.array([1.0, 1.0])), 4)
    0.6931
    """
    total = counts.sum()
    share = counts[counts > 0] / total if total > 0 else np.empty(0)
    return float(-(share * np.log(share)).sum())


def class_information(counts: Counts) -> np.ndarray:
    """I(Xi;C) of each feature, on the rows where the feature is observed."""
    return np.array([_mutual(counts.feature(i)) for i in range(counts.n_features)])


def _mutual(table: np.ndarray) -> float:
    """Mutual information of the two margins of a table."""
    return max(0.0, entropy(table.sum(axis=0)) + entropy(table.sum(axis=1)) - entropy(table.ravel()))
