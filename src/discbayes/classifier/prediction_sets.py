"""Sets of classes that hold the true one with a given probability: split conformal prediction.

The score of a class in a row is its log odds. Among n rows that the classifier has not learned
from, and one more of the same distribution, the true class of the last one is as likely to have
any rank as of the others. So the classes whose log odds are no less than the k-th smallest of the
true classes, where k = ⌊(n + 1)(1 − level)⌋, hold the true class with a probability of at least
the level, whatever the classifier is; and of at most 1 / (n + 1) more, but for equal log odds.

That needs rows that are alike: the missing values of the rows to calibrate on must be as those of
the rows to predict. A weight of two is the row twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes._settings import float_or_nan
from discbayes.calibration import log_odds
from discbayes.data import FrameEncoder
from discbayes.data.targets import weight_array

_ROUNDING = 1e-9  # of a sum of weights


@dataclass(frozen=True, eq=False)
class ConformalSets:
    """Sets of classes with guaranteed coverage, as ``calibrate_sets`` of a classifier makes them.

    Parameters
    ----------
    classifier : BayesNetClassifier or BayesNetEnsemble
        The fitted classifier.
    level : float
        The probability with which a set holds the true class, at least.
    thresholds : ndarray of shape (n_classes,)
        The smallest log odds with which each class is in a set; −∞ where it always is.
    allow_empty : bool, default=True
        Whether a set may be empty; if not, an empty set gets the most probable class.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> wave = load_dataset("waveform", n_samples=1500, random_state=0)
    >>> clf = BayesNetClassifier("tan", "map").fit(wave.X[:500], wave.y[:500])
    >>> sets = clf.calibrate_sets(wave.X[500:1000], wave.y[500:1000], level=0.9)
    >>> sets.predict(wave.X[1000:1003])
    [('1',), ('0', '1'), ('0',)]
    """

    classifier: Any
    level: float
    thresholds: np.ndarray
    allow_empty: bool = True

    def contains(self, X: Any) -> np.ndarray:
        """Return which classes are in the set of each row.

        Parameters
        ----------
        X : frame, array, list of rows, or a source to read them from
            As in ``predict`` of the classifier.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            True where the class is in the set, in the order of ``classes_``.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("nb", "map").fit(iris.X[::2], iris.y[::2])
        >>> sets = clf.calibrate_sets(iris.X[1::2], iris.y[1::2], level=0.95)
        >>> sets.contains({"petal width (cm)": 0.2}).tolist()
        [[True, False, False]]
        """
        odds = log_odds(self.classifier.predict_log_proba(X))
        found = odds >= self.thresholds
        if not self.allow_empty:
            empty = np.flatnonzero(~found.any(axis=1))
            found[empty, odds[empty].argmax(axis=1)] = True
        return found

    def predict(self, X: Any) -> list[tuple[Any, ...]]:
        """Return the set of each row.

        Parameters
        ----------
        X : frame, array, list of rows, or a source to read them from
            As in ``predict`` of the classifier.

        Returns
        -------
        list of tuple
            The classes of each set, in the order of ``classes_``.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("nb", "map").fit(iris.X[::2], iris.y[::2])
        >>> sets = clf.calibrate_sets(iris.X[1::2], iris.y[1::2], level=0.95)
        >>> sets.predict([{"petal width (cm)": 0.2}, {"sepal length (cm)": 7.0}])
        [('setosa',), ('versicolor', 'virginica')]
        """
        labels = self.classifier.classes_.tolist()
        return [
            tuple(label for label, is_in in zip(labels, row, strict=True) if is_in)
            for row in self.contains(X).tolist()
        ]


def calibrate_sets(
    classifier: Any, X: Any, y: Any, level: float, by_class: bool, allow_empty: bool, weight: Any
) -> ConformalSets:
    """Return the sets of a classifier, calibrated on rows that it has not learned from."""
    if not 0 < float_or_nan(level) < 1:
        raise ValueError(f"level={level!r} must be a probability between 0 and 1, such as 0.9")
    odds = log_odds(classifier.predict_log_proba(X))
    codes = _class_codes(classifier, y, len(odds))
    if not codes.size:
        raise ValueError("X has no rows: sets are calibrated on rows with their classes")
    weights = np.ones(codes.size) if weight is None else weight_array(weight, codes.size)
    own = odds[np.arange(codes.size), codes]
    n_classes = classifier.classes_.size
    if by_class:
        of_class = [codes == c for c in range(n_classes)]
        thresholds = np.array([_threshold(own[at], weights[at], level) for at in of_class])
    else:
        thresholds = np.full(n_classes, _threshold(own, weights, level))
    return ConformalSets(classifier, float(level), thresholds, allow_empty)


def _class_codes(classifier: Any, y: Any, n_rows: int) -> np.ndarray:
    """Return the positions of labels among the classes."""
    target = FrameEncoder.from_domain(classifier.domain_)
    codes = target.transform_y(y)
    if codes.size != n_rows:
        raise ValueError(f"X has {n_rows} rows and y has {codes.size}")
    return codes


def _threshold(own: np.ndarray, weights: np.ndarray, level: float) -> float:
    """Return the least log odds of a set: the k-th smallest of the true classes.

    >>> own = np.array([3.0, 1.0, 2.0])
    >>> _threshold(own, np.ones(3), 0.5), _threshold(own, np.ones(3), 0.9)
    (2.0, -inf)
    """
    allowed = (1 - level) * (weights.sum() + 1) + _ROUNDING
    if allowed < 1:
        return -np.inf
    order = np.argsort(own)
    k = int(np.searchsorted(np.cumsum(weights[order]), allowed - 1, side="right"))
    return float(own[order[k]])
