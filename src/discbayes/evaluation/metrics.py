"""Metrics of a posterior, given the true classes.

``shares`` is the posterior, an array (rows, classes); ``codes`` is the position of the true class
of each row in its columns, −1 for a class that was unknown when the model was learned. Such a row
counts as wrong, its true class having the probability zero. ``weight`` are the weights of the rows,
all one by default.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

SMALLEST = float(np.finfo(np.float64).eps)  # where scikit-learn's log_loss clips probabilities too
N_BINS = 15


def accuracy(shares: np.ndarray, codes: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Return the share of rows whose true class is the most probable one.

    Of equally probable classes the first counts.

    Parameters
    ----------
    shares : ndarray of shape (n_rows, n_classes)
        The posterior of each row.
    codes : ndarray of shape (n_rows,)
        The column of the true class, −1 for a class that was unknown at training time.
    weight : ndarray of shape (n_rows,), optional
        Weights of the rows.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> accuracy(np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0, -1]))
    0.5
    """
    shares, codes, weight = _checked(shares, codes, weight)
    return _mean(_hits(shares, codes), weight)


def log_loss(shares: np.ndarray, codes: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Return the mean of −log P(true class), with probabilities clipped at 2.2e-16.

    Parameters
    ----------
    shares : ndarray of shape (n_rows, n_classes)
        The posterior of each row.
    codes : ndarray of shape (n_rows,)
        The column of the true class, −1 for a class that was unknown at training time.
    weight : ndarray of shape (n_rows,), optional
        Weights of the rows.

    Returns
    -------
    float
        Not negative.

    Examples
    --------
    >>> round(log_loss(np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 0])), 4)
    0.5108
    """
    shares, codes, weight = _checked(shares, codes, weight)
    return _mean(-np.log(np.clip(_true_shares(shares, codes), SMALLEST, 1.0)), weight)


def brier(shares: np.ndarray, codes: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Return the Brier score: the mean of Σ_c (P(c) − [c is the true class])².

    It goes from 0 to 2; with two classes it is twice the score of one of them.

    Parameters
    ----------
    shares : ndarray of shape (n_rows, n_classes)
        The posterior of each row.
    codes : ndarray of shape (n_rows,)
        The column of the true class, −1 for a class that was unknown at training time.
    weight : ndarray of shape (n_rows,), optional
        Weights of the rows.

    Returns
    -------
    float
        Between 0 and 2.

    Examples
    --------
    >>> round(brier(np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 0])), 4)
    0.37
    """
    shares, codes, weight = _checked(shares, codes, weight)
    known = np.flatnonzero(codes >= 0)
    off = shares.copy()
    off[known, codes[known]] -= 1.0
    return _mean((off**2).sum(axis=1) + (codes < 0), weight)


def rmse(shares: np.ndarray, codes: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Return the root of the mean of (1 − P(true class))².

    The other classes have no part in it. Z17 gives no formula, and its code has both this and the
    root of the mean over all classes, √(Brier / classes).

    Parameters
    ----------
    shares : ndarray of shape (n_rows, n_classes)
        The posterior of each row.
    codes : ndarray of shape (n_rows,)
        The column of the true class, −1 for a class that was unknown at training time.
    weight : ndarray of shape (n_rows,), optional
        Weights of the rows.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> round(rmse(np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 0])), 4)
    0.4301
    """
    shares, codes, weight = _checked(shares, codes, weight)
    return math.sqrt(_mean((1.0 - _true_shares(shares, codes)) ** 2, weight))


def expected_calibration_error(
    shares: np.ndarray, codes: np.ndarray, weight: np.ndarray | None = None, n_bins: int = N_BINS
) -> float:
    """Return the expected calibration error (ECE) of the most probable class.

    Rows are put in bins of equal width by the probability of their most probable class, a border
    belonging to the bin below it. The error is the mean of ``|accuracy − mean probability|`` over
    the bins, weighted by their rows.

    Parameters
    ----------
    shares : ndarray of shape (n_rows, n_classes)
        The posterior of each row.
    codes : ndarray of shape (n_rows,)
        The column of the true class, −1 for a class that was unknown at training time.
    weight : ndarray of shape (n_rows,), optional
        Weights of the rows.
    n_bins : int, default=15
        The number of bins of equal width.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> round(expected_calibration_error(np.array([[0.9, 0.1], [0.9, 0.1]]), np.array([0, 1])), 4)
    0.4
    """
    confidence, right, rows = calibration_bins(shares, codes, weight, n_bins)
    return float(np.average(np.abs(right - confidence), weights=rows))


def calibration_bins(
    shares: np.ndarray, codes: np.ndarray, weight: np.ndarray | None = None, n_bins: int = N_BINS
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the points of a reliability diagram, for each bin that has rows.

    Parameters
    ----------
    shares : ndarray of shape (n_rows, n_classes)
        The posterior of each row.
    codes : ndarray of shape (n_rows,)
        The column of the true class, −1 for a class that was unknown at training time.
    weight : ndarray of shape (n_rows,), optional
        Weights of the rows.
    n_bins : int, default=15
        The number of bins of equal width.

    Returns
    -------
    confidence : ndarray
        The mean probability of the most probable class.
    right : ndarray
        The accuracy.
    rows : ndarray
        The weight of the rows.

    Examples
    --------
    >>> shares, codes = np.array([[0.9, 0.1], [0.9, 0.1]]), np.array([0, 1])
    >>> confidence, right, rows = calibration_bins(shares, codes)
    >>> confidence.round(2), right, rows
    (array([0.9]), array([0.5]), array([2.]))
    """
    shares, codes, weight = _checked(shares, codes, weight)
    if n_bins < 1:
        raise ValueError(f"n_bins={n_bins}: there must be at least one bin")
    top = shares.max(axis=1)
    place = np.searchsorted(np.arange(1, n_bins) / n_bins, top)
    rows, confidence, right = (
        np.bincount(place, weight * values, n_bins) for values in (1.0, top, _hits(shares, codes))
    )
    used = rows > 0
    return confidence[used] / rows[used], right[used] / rows[used], rows[used]


def measures(
    shares: np.ndarray, codes: np.ndarray, weight: np.ndarray | None = None
) -> dict[str, float]:
    """Return accuracy, log loss, Brier score, RMSE and ECE by name.

    Parameters
    ----------
    shares : ndarray of shape (n_rows, n_classes)
        The posterior of each row.
    codes : ndarray of shape (n_rows,)
        The column of the true class, −1 for a class that was unknown at training time.
    weight : ndarray of shape (n_rows,), optional
        Weights of the rows.

    Returns
    -------
    dict of str to float
        The metrics of this module.

    Examples
    --------
    >>> list(measures(np.array([[0.9, 0.1]]), np.array([0])))
    ['accuracy', 'log_loss', 'brier', 'rmse', 'ece']
    """
    functions = {
        "accuracy": accuracy,
        "log_loss": log_loss,
        "brier": brier,
        "rmse": rmse,
        "ece": expected_calibration_error,
    }
    return {name: function(shares, codes, weight) for name, function in functions.items()}


# ---- several data sets


def binomial_error(accuracy: Any, n: Any) -> Any:
    """Return the standard error √(a (1 − a) / n) of an accuracy a on n rows (C11 5).

    Parameters
    ----------
    accuracy : float or array
        Between 0 and 1.
    n : int or array
        The number of tested rows, all rows in cross-validation.

    Returns
    -------
    float or ndarray
        The standard error.

    Examples
    --------
    >>> round(binomial_error(0.8373, 10_000), 4)
    0.0037
    """
    share, rows = np.asarray(accuracy, np.float64), np.asarray(n)
    if not np.all((share >= 0) & (share <= 1)):
        raise ValueError(f"accuracy={accuracy}: it must be a share between 0 and 1, not per cent")
    if not np.all(rows > 0):
        raise ValueError(f"n={n}: there must be rows")
    error = np.sqrt(share * (1.0 - share) / rows)
    return error if error.ndim else float(error)


def weighted_mean(values: Any, weights: Any) -> float:
    """Return the average over data sets, weighted by their test rows (P10, footnote 4).

    Parameters
    ----------
    values : sequence of float
        One value per data set.
    weights : sequence of float
        Its number of test rows.

    Returns
    -------
    float
        The weighted mean.

    Examples
    --------
    >>> weighted_mean([90, 80], [300, 100])
    87.5
    """
    values, weights = np.asarray(values, np.float64), np.asarray(weights, np.float64)
    if values.shape != weights.shape or values.ndim != 1:
        raise ValueError(
            f"{values.size} values and {weights.size} weights: each value needs one weight"
        )
    if not (np.all(weights >= 0) and weights.sum() > 0):
        raise ValueError("the weights must be positive: they are numbers of test rows")
    return float(np.average(values, weights=weights))


# ---- shared


def _checked(
    shares: np.ndarray, codes: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    shares, codes = np.asarray(shares, np.float64), np.asarray(codes)
    if shares.ndim != 2 or codes.shape != shares.shape[:1]:
        raise ValueError(
            f"a posterior of shape {shares.shape} and classes of shape {codes.shape}: give (rows,"
            " classes) and (rows,)"
        )
    if not codes.size:
        raise ValueError("there are no rows to score on")
    if codes.min() < -1 or codes.max() >= shares.shape[1]:
        raise ValueError(
            f"class codes go from −1 to {shares.shape[1] - 1} here, not {codes.min()} to"
            f" {codes.max()}"
        )
    weight = np.ones(codes.size) if weight is None else np.asarray(weight, np.float64)
    if weight.shape != codes.shape:
        raise ValueError(f"{weight.size} weights for {codes.size} rows: each row needs one")
    if not weight.sum() > 0:
        raise ValueError("the weights of the rows to score on sum to zero")
    return shares, codes, weight


def _mean(values: np.ndarray, weight: np.ndarray) -> float:
    return float(np.average(values, weights=weight))


def _hits(shares: np.ndarray, codes: np.ndarray) -> np.ndarray:
    return shares.argmax(axis=1) == codes


def _true_shares(shares: np.ndarray, codes: np.ndarray) -> np.ndarray:
    return np.where(codes >= 0, shares[np.arange(codes.size), codes], 0.0)
