"""Discretizers for numeric columns, as scikit-learn transformers.

They describe a column by its cut points: a number's code is how many cut points are at or below it,
so that the intervals are half-open, ``[a, b)``. `TwoResolutionDiscretizer` chooses fine cut points,
and which of them are coarse ones.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import xlogy
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from discbayes.data.domain import Domain
from discbayes.data.histogram import (
    ClassLabels,
    CutPoints,
    Histogram,
    Piece,
    fit_cuts,
    refuse_infinite,
)
from discbayes.data.rows import Rows
from discbayes.data.table import default_names
from discbayes.data.table_reader import matrix_blocks
from discbayes.data.targets import check_weight, classes_and_codes, label_array, weights_of_all
from discbayes.data.value_groups import (
    MIN_ROWS,
    group_by_class,
    has_many_values,
    numbered,
    weights_by_class,
)
from discbayes.kernels.mdlp import mdlp_cuts

MIN_FINE = 32  # intervals of a column, where they follow from the number of rows
MAX_FINE = 64
ROWS_PER_INTERVAL = 500
N_GROUPS = 8  # of values: as many states as numeric columns have by default
_SLACK = 1e-12  # share of a sum of weights by which rounding may change it


class CutPointDiscretizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Base class of discretizers, which differ in how they choose cut points on a histogram."""

    n_jobs: int | None
    cut_points_: list[np.ndarray]

    @abstractmethod
    def _begins(self, histogram: Histogram, n_classes: int) -> np.ndarray:
        """Return which values of the histogram begin a new interval."""

    def find_cuts(
        self, pieces: list[Piece], names: list[str], labels: ClassLabels
    ) -> dict[int, CutPoints]:
        """Return the cut points by column position, for columns and labels that were checked."""
        return fit_cuts(pieces, names, labels, self.cut, self.n_jobs)

    def cut(self, histogram: Histogram, n_classes: int, least: float = 0.0) -> CutPoints:
        """Return the cut points of one column.

        Intervals that weigh less than ``least`` are joined to a neighbor; fine ones, which are
        chosen without the class, stay.
        """
        coarse = self._coarse_begins(histogram, n_classes, least)
        if coarse is None:
            return CutPoints(histogram.cut_points(self._joined(histogram, n_classes, least)))
        fine = coarse | self._begins(histogram, n_classes)
        return CutPoints(histogram.cut_points(fine), histogram.cut_points(coarse))

    def _coarse_begins(
        self, histogram: Histogram, n_classes: int, least: float
    ) -> np.ndarray | None:
        """Return which values begin a coarse interval; None for one resolution."""
        return None

    def _joined(self, histogram: Histogram, n_classes: int, least: float) -> np.ndarray:
        """Return which values begin an interval, after light intervals are joined."""
        begins = self._begins(histogram, n_classes)
        return join_light(histogram, begins, n_classes, least) if least else begins

    def _fit(self, X: np.ndarray, y: np.ndarray | None, sample_weight: Any) -> None:
        weight, kept = check_weight(sample_weight, X.shape[0])
        if weight is not None:
            weight = weights_of_all(weight)
        if kept is not None:
            X, y = X[kept], None if y is None else y[kept]
        pieces = [(block, np.arange(block.positions.size)) for block in matrix_blocks(X)]
        cuts = self.find_cuts(pieces, self._column_names(), make_labels(y, weight, X.shape[0]))
        self._store([cuts[position] for position in range(X.shape[1])])

    def _store(self, cuts: list[CutPoints]) -> None:
        self.cut_points_ = [found.cuts for found in cuts]

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
        return _begins_at_quantiles(histogram, _whole(self.n_bins, "n_bins"))


class TwoResolutionDiscretizer(CutPointDiscretizer):
    """Discretize into fine intervals, and join them to the coarse ones of another discretizer.

    A network that learns from such a column has a table of its fine intervals, while its children
    see the coarse interval only. So a table stays small however many parents it has, and little is
    lost of a number. In the same way columns of categories with many values get groups of values.

    The fine cut points are the quantiles, and the coarse ones as well. A value that weighs as much
    as a fine interval should has an interval of its own, and so has each value of a column with no
    more than ``n_fine`` of them. A column of two or more values always has a cut point: where the
    coarse discretizer finds too few, the heaviest coarse intervals are halved.

    Parameters
    ----------
    coarse : "mdlp", "equal-frequency", discretizer or int, default="mdlp"
        How coarse intervals are chosen; a number of them is chosen as that of fine ones is.
    n_fine : int or None, default=None
        The desired number of fine intervals. None for 32, and for one in 500 rows, at most 64, in a
        column with more rows than 16,000.
    min_states : int, default=2
        The number of coarse intervals below which the heaviest of them are halved, one by one.
    n_groups : int or None, default=8
        The desired number of groups that `FrameEncoder` makes of the values of a column of
        categories, where the table of two such columns would have more than two cells for each row:
        a value of many rows is a group of its own, values of few rows are one together, and the
        others are grouped by what they tell about the class. Of ordered categories neighbors are
        grouped. None for no groups. Numbers have none, so that `fit` does not need it.
    shift : float, default=0.0
        How far fine cut points, and a number of coarse ones, are moved away from the quantiles, in
        widths of an interval: above -1 and below 1. Members of an ensemble have different ones.
    n_jobs : int or None, default=None
        The number of threads over the columns; -1 for all cores.

    Attributes
    ----------
    cut_points_ : list of ndarray
        The fine cut points of each column, in rising order.
    coarse_cut_points_ : list of ndarray
        The coarse cut points of each column, which are some of the fine ones.
    n_features_in_ : int
        The number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        The names of the columns, where all of them are strings.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discbayes.data import TwoResolutionDiscretizer
    >>> X, y = load_iris(return_X_y=True)
    >>> discretizer = TwoResolutionDiscretizer(n_fine=6).fit(X[:, 2:3], y)
    >>> [round(float(cut), 2) for cut in discretizer.coarse_cut_points_[0]]
    [2.45, 4.75]
    >>> [round(float(cut), 2) for cut in discretizer.cut_points_[0]]
    [1.45, 2.45, 4.35, 4.75, 4.85, 5.55]
    """

    coarse_cut_points_: list[np.ndarray]

    def __init__(
        self,
        coarse: Any = "mdlp",
        *,
        n_fine: int | None = None,
        min_states: int = 2,
        n_groups: int | None = N_GROUPS,
        shift: float = 0.0,
        n_jobs: int | None = None,
    ):
        self.coarse = coarse
        self.n_fine = n_fine
        self.min_states = min_states
        self.n_groups = n_groups
        self.shift = shift
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> TwoResolutionDiscretizer:
        """Find the fine and coarse cut points of every column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers. The rows in which a column is NaN are left out for that column.
        y : array-like of shape (n_samples,), optional
            The class of each row, if the coarse discretizer needs it.
        sample_weight : array-like of shape (n_samples,), optional
            The weight of each row.

        Returns
        -------
        TwoResolutionDiscretizer
            The discretizer, fitted.

        Examples
        --------
        >>> from discbayes.data import EqualFrequencyDiscretizer, TwoResolutionDiscretizer
        >>> discretizer = TwoResolutionDiscretizer(EqualFrequencyDiscretizer(2), n_fine=4)
        >>> discretizer.fit([[1], [2], [3], [4], [5], [6], [7], [8]]).cut_points_
        [array([2.5, 4.5, 6.5])]
        >>> discretizer.coarse_cut_points_
        [array([4.5])]
        """
        checked = validate_data(self, X, y, dtype="numeric", ensure_all_finite=False)
        X, y = (checked, None) if y is None else checked
        self._fit(X, y, sample_weight)
        return self

    def _store(self, cuts: list[CutPoints]) -> None:
        super()._store(cuts)
        self.coarse_cut_points_ = [
            found.cuts if found.coarse is None else found.coarse for found in cuts
        ]

    def _coarse_begins(self, histogram: Histogram, n_classes: int, least: float) -> np.ndarray:
        if isinstance(self.coarse, (int, np.integer)):
            n_coarse = _whole(self.coarse, "coarse")
            begins = _begins_beside_heavy(histogram.value_weights, n_coarse, self.shift)
            return join_light(histogram, begins, n_classes, least) if least else begins
        begins = self._coarse()._joined(histogram, n_classes, least)
        min_states = _whole(self.min_states, "min_states")
        return _halve_heaviest(histogram.value_weights, begins, min_states)

    def group_values(self, data: Rows) -> Domain:
        """Return the domain of rows with groups of values in the columns that have many.

        Parameters
        ----------
        data : Rows
            The rows, with their classes.

        Returns
        -------
        Domain
            The domain; that of the rows if there is nothing to group.

        Examples
        --------
        >>> from discbayes.data import FrameEncoder, TwoResolutionDiscretizer
        >>> X = [[f"city {i % 100}"] for i in range(4000)]
        >>> encoder = FrameEncoder(TwoResolutionDiscretizer(n_groups=None))
        >>> data = encoder.fit_transform(X, [i % 100 < 40 for i in range(4000)])
        >>> domain = TwoResolutionDiscretizer(n_groups=4).group_values(data)
        >>> [(one.card, one.n_states) for one in domain.features]
        [(100, 2)]
        """
        domain, n_classes = data.domain, data.domain.n_classes
        n_groups = None if self.n_groups is None else _whole(self.n_groups, "n_groups")
        columns = [
            i
            for i, variable in enumerate(domain.features)
            if n_groups is not None
            and len(variable.values) > n_groups
            and has_many_values(len(variable.values), n_classes, MIN_ROWS)
        ]
        features = list(domain.features)
        for i, weights in zip(columns, weights_by_class(data, columns), strict=True):
            known = weights[: len(features[i].values)]
            groups = self._groups(known, features[i].ordered)
            if groups is not None:
                features[i] = replace(features[i], groups=numbered(groups))
        if any(variable.groups is not None for variable in features):
            return replace(domain, features=tuple(features))
        return domain

    def _groups(self, weights: np.ndarray, ordered: bool) -> np.ndarray | None:
        """Return the group of each value by its weight in each class; None for no groups."""
        by_value = weights.sum(axis=1)
        if not has_many_values(by_value.size, weights.shape[1], float(by_value.sum())):
            return None
        n_groups = _whole(self.n_groups, "n_groups")
        if ordered:
            return np.cumsum(_begins_beside_heavy(by_value, n_groups, self.shift))
        return group_by_class(weights, n_groups)

    def _coarse(self) -> CutPointDiscretizer:
        """Return the discretizer of coarse intervals."""
        make = DISCRETIZERS.get(self.coarse) if isinstance(self.coarse, str) else None
        coarse = self.coarse if make is None else make()
        if not isinstance(coarse, CutPointDiscretizer) or isinstance(coarse, type(self)):
            raise ValueError(
                'coarse must be "mdlp", "equal-frequency", MDLPDiscretizer() or'
                f" EqualFrequencyDiscretizer(...); got {self.coarse!r}"
            )
        return coarse

    def _begins(self, histogram: Histogram, n_classes: int) -> np.ndarray:
        weights = histogram.value_weights
        n_fine = self.n_fine
        if n_fine is None:  # an interval keeps rows enough for a class to show in it
            n_fine = int(np.clip(weights.sum() // ROWS_PER_INTERVAL, MIN_FINE, MAX_FINE))
        return _begins_beside_heavy(weights, _whole(n_fine, "n_fine"), self.shift)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if not isinstance(self.coarse, (int, np.integer)):
            tags.target_tags.required = self._coarse().__sklearn_tags__().target_tags.required
        return tags


DISCRETIZERS: dict[str, Callable[..., CutPointDiscretizer]] = {
    "mdlp": MDLPDiscretizer,
    "equal-frequency": EqualFrequencyDiscretizer,
    "two-resolution": TwoResolutionDiscretizer,
}
"""The discretizers that have a name as a setting."""


def _whole(number: Any, option: str) -> int:
    if not isinstance(number, (int, np.integer)) or number < 1:
        raise ValueError(f"{option} must be a whole number of at least 1, got {number!r}")
    return int(number)


def _begins_beside_heavy(weights: np.ndarray, n_bins: int, shift: float = 0.0) -> np.ndarray:
    """Return which values begin an interval, if heavy values are intervals of their own.

    A value is heavy if it weighs as much as an interval should. The other values are divided into
    ``n_bins`` intervals that weigh about the same.
    """
    if weights.size <= n_bins:
        begins = np.ones(weights.size, dtype=bool)
    else:
        heavy = weights * n_bins >= weights.sum() * (1 - _SLACK)
        begins = heavy.copy()
        begins[1:] |= heavy[:-1]
        light = np.flatnonzero(~heavy)
        below = np.cumsum(weights[light])
        if light.size > 1:
            targets = below[-1] * (np.arange(1, n_bins) + shift) / n_bins
            begins[light[_nearest(below[:-1], targets) + 1]] = True
    begins[:1] = False
    return begins


def _halve_heaviest(weights: np.ndarray, begins: np.ndarray, n_intervals: int) -> np.ndarray:
    """Return which values begin an interval, after the heaviest intervals are halved.

    An interval of one value stays, and so do all of them once there are ``n_intervals``.
    """
    begins = begins.copy()
    below = np.concatenate([[0.0], np.cumsum(weights)])
    while np.count_nonzero(begins) + 1 < n_intervals:
        edges = np.concatenate([[0], np.flatnonzero(begins), [weights.size]])
        divisible = np.flatnonzero(np.diff(edges) > 1)
        if not divisible.size:
            break
        interval_weights = below[edges[divisible + 1]] - below[edges[divisible]]
        heaviest = divisible[_first_largest(interval_weights, below[-1])]
        first, end = edges[heaviest], edges[heaviest + 1]
        middle = (below[first] + below[end]) / 2
        begins[first + 1 + _nearest(below[first + 1 : end], np.array([middle]))] = True
    return begins


def _first_largest(weights: np.ndarray, total: float) -> int:
    """Return the place of the largest weight, the first of those that differ by rounding only."""
    return int(np.flatnonzero(weights >= weights.max() - _SLACK * total)[0])


def _begins_at_quantiles(histogram: Histogram, n_bins: int) -> np.ndarray:
    """Return which values begin an interval, if intervals are to weigh about the same."""
    begins = np.zeros(histogram.values.size, dtype=bool)
    below = np.cumsum(histogram.value_weights)
    if below.size < 2:
        return begins
    targets = below[-1] * np.arange(1, n_bins) / n_bins
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
    slack = _SLACK * rising[-1]
    return np.where(
        targets - rising[lower] <= np.abs(rising[upper] - targets) + slack, lower, upper
    )
