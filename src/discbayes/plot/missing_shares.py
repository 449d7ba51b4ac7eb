"""The accuracy of classifiers when features are missing."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discbayes.charts.evaluation_charts import with_missing_values
from discbayes.classifier import BayesNetClassifier
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
    """Plot the accuracy when more and more features of each row are removed at random.

    Parameters
    ----------
    thing : BayesNetClassifier or mapping
        A fitted classifier, or several by name, which get the same rows with the same missing
        values.
    X, y : array-like or DataFrame
        Rows that the classifiers were not fitted to, and their labels.
    shares : sequence of float
        The shares of features that are removed, from 0 to 1.
    ax : Axes, optional
        The axes to draw on; new ones by default.
    random_state : int or Generator
        The seed of the choice of features.

    Returns
    -------
    Axes
        The axes with the plot.

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
    classifiers = thing if isinstance(thing, Mapping) else {"accuracy": thing}
    accuracies = {
        name: _accuracies(clf, X, np.asarray(y), amounts, random_state)
        for name, clf in classifiers.items()
    }
    ax = missing_curves(amounts, accuracies, ax)
    if not isinstance(thing, Mapping):
        ax.get_legend().remove()
    return ax


def _accuracies(
    clf: BayesNetClassifier, X: Any, labels: np.ndarray, shares: np.ndarray, seed: Any
) -> list[float]:
    """Return the accuracy of a classifier for each share of missing features."""
    classifier, codes = clf.calibrated_posterior(), clf.encode(X)
    if labels.shape != codes.shape[1:]:
        raise ValueError(f"y has {labels.size} labels for {codes.shape[1]} rows")
    # every classifier gets the same missing values, also where the seed is a generator
    rng = copy.deepcopy(np.random.default_rng(seed))
    incomplete = with_missing_values(classifier.network, codes, (100 * shares).tolist(), rng)
    decisions = (clf.classes_[classifier.decisions(rows)] for rows in incomplete)
    return [float(np.mean(decided == labels)) for decided in decisions]
