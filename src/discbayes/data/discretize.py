"""Discretizers for numeric columns, as scikit-learn transformers.

Both describe a column by its cut points: a number's code is how many cut points are at or below it,
so that the intervals are half-open, ``[a, b)``.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy.special import xlogy
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from discbayes.data.histogram import ClassLabels, Histogram, Piece, fit_cuts, refuse_infinite
from discbayes.data.table import default_names
from discbayes.data.table_reader import matrix_blocks
from discbayes.data.targets import check_weight, classes_and_codes, label_array, weights_of_all
from discbayes.kernels.mdlp import mdlp_cuts


class CutPointDiscretizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Base class of discretizers, which differ in how they choose cut points on a histogram."""

    n_jobs: int | None
    cut_points_: list[np.ndarray]

    @abstractmethod
    def _begins(self, histogram: Histogram, n_classes: int) -> np.ndarray:
        """Return which values of the histogram begin a new interval."""

    def find_cuts(
        self, pieces: list[Piece], names: list[str], labels: ClassLabels
    ) -> dict[int, np.ndarray]:
        """Return the cut points by column position, for columns and labels that were checked."""
        return fit_cuts(pieces, names, labels, self.cut, self.n_jobs)

    def cut(self, histogram: Histogram, n_classes: int, least: float = 0.0) -> np.ndarray:
        """Return the cut points of one column.

        Intervals that weigh less than ``least`` are joined to a neighbor.
        """
        begins = self._begins(histogram, n_classes)
        return histogram.cut_points(
            join_light(histogram, begins, n_classes, least) if least else begins
        )

    def _fit(self, X: np.ndarray, y: np.ndarray | None, sample_weight: Any) -> None:
        weight, kept = check_weight(sample_weight, X.shape[0])
        if weight is not None:
            weight = weights_of_all(weight)
        if kept is not None:
            X, y = X[kept], None if y is None else y[kept]
        pieces = [(block, np.arange(block.positions.size)) for block in matrix_blocks(X)]
        cuts = self.find_cuts(pieces, self._column_names(), make_labels(y, weight, X.shape[0]))
        self.cut_points_ = [cuts[position] for position in range(X.shape[1])]

    def _column_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return default_names(self.n_features_in_) if names is None else list(names)

    def transform(self, X: Any) -> np.ndarray:
        """Return the number of the interval of each value.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers; NaN is kept.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Whole numbers as floats, and NaN where ``X`` has NaN.

        Examples
        --------
        >>> from discbayes.data import EqualFrequencyDiscretizer
        >>> EqualFrequencyDiscretizer(n_bins=2).fit_transform([[1], [2], [3], [4]]).ravel()
        array([0., 0., 1., 1.])
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype="numeric", ensure_all_finite=False)
        codes = np.empty(X.shape)
        for position, (name, cuts) in enumerate(
            zip(self._column_names(), self.cut_points_, strict=True)
        ):
            column = X[:, position].astype(np.float64)
            refuse_infinite(column, name)
            found = np.searchsorted(cuts, column, side="right")
            codes[:, position] = np.where(np.isnan(column), np.nan, found)
        return codes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags


class MDLPDiscretizer(CutPointDiscretizer):
    """Discretize by minimal class entropy and minimum description length (Fayyad & Irani, 1993).

    Each column is split at the cut point at which the entropy of the class in the two parts,
    weighted by their size, is minimal; each part is split in the same way, until a cut point gains
    less than it costs to describe. Cut points lie midway between neighboring distinct values; of
    equally good ones the lowest is taken. A column without an accepted cut point becomes constant.
    A column of two distinct values always has a cut point between them, as a column of booleans or
    of two words keeps both of its values.

    Parameters
    ----------
    n_jobs : int or None, default=None
        The number of threads over the columns; -1 for all cores.

    Attributes
    ----------
    cut_points_ : list of ndarray
        The cut points of each column, in rising order.
    n_features_in_ : int
        The number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        The names of the columns, where all of them are strings.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discbayes.data import MDLPDiscretizer
    >>> X, y = load_iris(return_X_y=True)
    >>> discretizer = MDLPDiscretizer().fit(X, y)
    >>> [[round(float(cut), 2) for cut in cuts] for cuts in discretizer.cut_points_]
    [[5.55, 6.15], [2.95, 3.35], [2.45, 4.75], [0.8, 1.75]]
    >>> discretizer.transform([[5.0, 3.0, 2.45, float("nan")]])
    array([[ 0.,  1.,  1., nan]])
    """

    def __init__(self, *, n_jobs: int | None = None):
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MDLPDiscretizer:
        """Find the cut points of every column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers. The rows in which a column is NaN are left out for that column.
        y : array-like of shape (n_samples,)
            The class of each row.
        sample_weight : array-like of shape (n_samples,), optional
            A weight of two counts like a row that occurs twice, a weight of zero like a row that is
            not there. Weights that sum to 1 or less over several rows are scaled to a mean of 1.

        Returns
        -------
        MDLPDiscretizer
            The discretizer, fitted.

        Examples
        --------
        >>> from discbayes.data import MDLPDiscretizer
        >>> MDLPDiscretizer().fit([[1], [2], [8], [9]] * 3, [0, 0, 1, 1] * 3).cut_points_
        [array([5.])]
        """
        X, y = validate_data(self, X, y, dtype="numeric", ensure_all_finite=False)
        self._fit(X, y, sample_weight)
        return self

    def _begins(self, histogram: Histogram, n_classes: int) -> np.ndarray:
        if histogram.values.size == 2:
            return np.array([False, True])
        return mdlp_cuts(histogram.starts, histogram.classes, histogram.weights, n_classes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class EqualFrequencyDiscretizer(CutPointDiscretizer):
    """Discretize into intervals that hold about the same weight of rows each.

    For each of the ``n_bins - 1`` quantiles the cut point is placed between the two distinct values
    nearest to it, so that equal values are never separated. Columns with few distinct values, or
    with very frequent ones, get fewer intervals.

    Parameters
    ----------
    n_bins : int, default=5
        The desired number of intervals.
    n_jobs : int or None, default=None
        The number of threads over the columns; -1 for all cores.

    Attributes
    ----------
    cut_points_ : list of ndarray
        The cut points of each column, in rising order.
    n_features_in_ : int
        The number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        The names of the columns, where all of them are strings.

    Examples
    --------
    >>> from discbayes.data import EqualFrequencyDiscretizer
    >>> discretizer = EqualFrequencyDiscretizer(n_bins=3).fit([[1], [2], [3], [4], [5], [6]])
    >>> discretizer.cut_points_
    [array([2.5, 4.5])]
    """

    def __init__(self, n_bins: int = 5, *, n_jobs: int | None = None):
        self.n_bins = n_bins
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> EqualFrequencyDiscretizer:
        """Find the cut points of every column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers. The rows in which a column is NaN are left out for that column.
        y : None
            Not used, present for compatibility with pipelines.
        sample_weight : array-like of shape (n_samples,), optional
            The weight of each row.

        Returns
        -------
        EqualFrequencyDiscretizer
            The discretizer, fitted.

        Examples
        --------
        >>> from discbayes.data import EqualFrequencyDiscretizer
        >>> EqualFrequencyDiscretizer(n_bins=2).fit([[1], [2], [3], [4]]).cut_points_
        [array([2.5])]
        """
        X = validate_data(self, X, dtype="numeric", ensure_all_finite=False)
        self._fit(X, None, sample_weight)
        return self

    def _begins(self, histogram: Histogram, n_classes: int) -> np.ndarray:
        if not isinstance(self.n_bins, (int, np.integer)) or self.n_bins < 1:
            raise ValueError(f"n_bins must be a whole number of at least 1, got {self.n_bins!r}")
        begins = np.zeros(histogram.values.size, dtype=bool)
        below = np.cumsum(histogram.value_weights)
        if below.size < 2:
            return begins
        targets = below[-1] * np.arange(1, self.n_bins) / self.n_bins
        begins[_nearest(below[:-1], targets) + 1] = True
        return begins


def join_light(
    histogram: Histogram, begins: np.ndarray, n_classes: int, least: float
) -> np.ndarray:
    """Return which values begin an interval, after intervals lighter than ``least`` are joined.

    The lightest comes first; each is joined to the neighbor with the smaller loss of information.
    """
    places = [0, *np.flatnonzero(begins).tolist()]
    first = histogram.starts[places]
    entry = np.searchsorted(first, np.arange(histogram.classes.size), side="right") - 1
    cells = np.bincount(
        entry * n_classes + histogram.classes, histogram.weights, len(places) * n_classes
    )
    weights = list(cells.reshape(-1, n_classes))
    while len(places) > 1:
        at = int(np.argmin([weight.sum() for weight in weights]))
        if weights[at].sum() >= least:
            break
        right = at == 0 or (at + 1 < len(places) and _loss(weights, at) < _loss(weights, at - 1))
        at += right  # the interval that goes into the one before it
        weights[at - 1] = weights[at - 1] + weights.pop(at)
        del places[at]
    joined = np.zeros_like(begins)
    joined[places[1:]] = True
    return joined


def _loss(weights: list[np.ndarray], at: int) -> float:
    """Return the loss of information on the class when an interval is joined with the next one."""
    low, high = weights[at], weights[at + 1]
    return float(_disorder(low + high) - _disorder(low) - _disorder(high))


def _disorder(weight: np.ndarray) -> float:
    """Return the weight times the entropy of the class."""
    total = weight.sum()
    return float(xlogy(total, total) - xlogy(weight, weight).sum())


def make_labels(y: np.ndarray | None, weight: np.ndarray | None, n_rows: int) -> ClassLabels:
    """Return labels for the search of cut points; without a class, all rows are of one class."""
    weights = np.ones(n_rows) if weight is None else weight
    if y is None:
        return ClassLabels(np.zeros(n_rows, dtype=np.int64), weights, 1)
    classes, codes = classes_and_codes(label_array(y, n_rows))
    return ClassLabels(codes, weights, classes.size)


def _nearest(rising: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the place of the number nearest to each target; of two as near, the lower one."""
    upper = np.clip(np.searchsorted(rising, targets), 0, rising.size - 1)
    lower = np.maximum(upper - 1, 0)
    slack = 1e-12 * rising[-1]
    return np.where(
        targets - rising[lower] <= np.abs(rising[upper] - targets) + slack, lower, upper
    )
