"""How well classifiers do where features are missing."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discbayes.classifier import BayesNetClassifier
from discbayes.evaluation.missing_masks import missing_masks
from discbayes.plot.comparison import missing_curves

SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
Several = Mapping[str, BayesNetClassifier]


def missing_curve_of(
    thing: BayesNetClassifier | Several,
    X: Any,
    y: Any,
    shares: Sequence[float] = SHARES,
    ax: Any = None,
    *,
    random_state: Any = 0,
) -> Any:
    """The classification rate where more and more features of each row are hidden, drawn at random.

    Parameters
    ----------
    thing : BayesNetClassifier or mapping
        A fitted classifier, or several by name, which then see the same rows with the same gaps.
    X, y
        Rows that the classifiers were not fitted to, and their labels.
    shares : sequence of float
        The shares of features that are hidden, from 0 to 1.
    ax : Axes, optional
    random_state : int or Generator
        Which features are hidden.

    Examples
    --------
    >>> from discbayes import load_dataset
    >>> iris = load_dataset("iris")
    >>> clf = BayesNetClassifier().fit(iris.X[::2], iris.y[::2])
    >>> missing_curve_of(clf, iris.X[1::2], iris.y[1::2], [0, 0.5]).get_xlabel()
    'missing features, %'
    """
    amounts = np.asarray(shares, dtype=float)
    if not amounts.size or not ((amounts >= 0) & (amounts <= 1)).all():
        raise ValueError(f"shares={shares!r} must be numbers from 0 to 1")
    classifiers = thing if isinstance(thing, Mapping) else {"classification rate": thing}
    rates = {
        name: _rates(clf, X, np.asarray(y), amounts, random_state)
        for name, clf in classifiers.items()
    }
    ax = missing_curves(amounts, rates, ax)
    if not isinstance(thing, Mapping):
        ax.get_legend().remove()
    return ax


def _rates(
    clf: BayesNetClassifier, X: Any, labels: np.ndarray, shares: np.ndarray, seed: Any
) -> list[float]:
    """How often a classifier is right, for each share."""
    beliefs, codes = clf.calibrated_posterior(), clf.encode(X)
    if labels.shape != codes.shape[1:]:
        raise ValueError(f"y has {labels.size} labels for {codes.shape[1]} rows")
    gap = beliefs.network.domain.cards.astype(codes.dtype)[:, None]
    masks = missing_masks(
        labels.size,
        codes.shape[0],
        (100 * shares).tolist(),
        copy.deepcopy(np.random.default_rng(seed)),
    )
    said = (clf.classes_[beliefs.decisions(np.where(mask.T, gap, codes))] for mask in masks)
    return [float(np.mean(own == labels)) for own in said]
