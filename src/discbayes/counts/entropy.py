"""Entropies and mutual information with the class, in nats, from counts."""

from __future__ import annotations

import numpy as np

from discbayes.counts.contingency import Counts


def entropy(counts: np.ndarray) -> float:
    """Return the entropy of the distribution of counts; zero if there are none.

    >>> round(entropy(np.array([1.0, 1.0])), 4)
    0.6931
    """
    total = counts.sum()
    share = counts[counts > 0] / total if total > 0 else np.empty(0)
    return float(-(share * np.log(share)).sum())


def class_information(counts: Counts) -> np.ndarray:
    """Return the mutual information I(Xi;C) of each feature with the class, in nats.

    Parameters
    ----------
    counts : Counts
        Counts of the class and of each feature.

    Returns
    -------
    ndarray of shape (n_features,)
        The mutual information, from the rows in which the feature is observed.

    Examples
    --------
    >>> from discbayes.counts import class_information, count
    >>> from discbayes.data import FrameEncoder
    >>> rows = [["red", "big"], ["red", "small"], ["blue", "big"], ["blue", "small"]]
    >>> data = FrameEncoder().fit_transform(rows, ["yes", "yes", "no", "no"])
    >>> class_information(count(data)).round(4)
    array([0.6931, 0.    ])
    """
    cells, starts = counts.cells.reshape(-1, counts.n_classes), counts.value_start[:-1]
    per_class = np.add.reduceat(cells, starts)
    total = per_class.sum(axis=1)
    joint = np.add.reduceat(_x_log_x(cells).sum(axis=1), starts)
    margins = np.add.reduceat(_x_log_x(cells.sum(axis=1)), starts) + _x_log_x(per_class).sum(axis=1)
    return np.maximum(0.0, (joint + _x_log_x(total) - margins) / np.where(total > 0, total, 1.0))


def _x_log_x(x: np.ndarray) -> np.ndarray:
    return x * np.log(np.where(x > 0, x, 1.0))
