"""Bias and variance of a learning method, after Kohavi and Wolpert (1996).

With P̂(c | x) the share of training sets after which x is put into class c, and the observed class
as the only one that x can have (no noise), a row has

    bias² = ½ Σ_c ([c is the class of x] − P̂(c | x))²,    variance = ½ (1 − Σ_c P̂(c | x)²),

and bias² + variance = 1 − P̂(class of x | x), the share of training sets after which the row is
wrong. So the means over the rows add up to the error rate.

The training sets are those of repeated cross-validation (Webb 2000): in each round every row is in
the test part once, and P̂ is the share of rounds. Z17 takes five rounds of two folds. As few rounds
make P̂ uncertain, bias² comes out too large and variance too small by ½ Σ_c P̂(c | x) (1 − P̂(c |
x)) / (rounds − 1), which is variance / (rounds − 1). ``unbiased`` moves that from one to the other,
as Kohavi and Wolpert advise and the code of Z17 does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class BiasVariance(NamedTuple):
    """Means over the rows; ``error`` is the sum of the squared ``bias`` and ``variance``."""

    bias: float
    variance: float
    error: float


def bias_variance(
    predictions: np.ndarray, y: np.ndarray, *, unbiased: bool = False
) -> BiasVariance:
    """Return squared bias and variance of the predictions of repeated cross-validation.

    Parameters
    ----------
    predictions : ndarray of shape (n_rounds, n_rows)
        The predicted class of each row in each round.
    y : ndarray of shape (n_rows,)
        The true classes.
    unbiased : bool, default=False
        Correct for the number of rounds.

    Returns
    -------
    BiasVariance
        Squared bias, variance and error.

    Examples
    --------
    >>> bias_variance(np.array([[0, 1], [0, 1], [0, 0], [1, 1]]), np.array([0, 0]))
    BiasVariance(bias=0.3125, variance=0.1875, error=0.5)
    >>> bias_variance(np.array([[0, 1], [0, 1], [0, 0], [1, 1]]), np.array([0, 0]), unbiased=True)
    BiasVariance(bias=0.25, variance=0.25, error=0.5)
    """
    predictions, y = np.asarray(predictions), np.asarray(y)
    if predictions.ndim != 2 or y.shape != predictions.shape[1:]:
        raise ValueError(
            f"predictions of shape {predictions.shape} and classes of shape {y.shape}: give"
            " (rounds, rows) and (rows,)"
        )
    if not predictions.size:
        raise ValueError("there are no predictions")
    n_rounds = len(predictions)
    if unbiased and n_rounds < 2:
        raise ValueError("unbiased=True needs at least two rounds")
    # the mean of Σ_c P̂(c | x)²
    agreeing = np.mean([np.mean(predictions == other) for other in predictions])
    variance = 0.5 * (1.0 - agreeing) * (n_rounds / (n_rounds - 1) if unbiased else 1.0)
    error = np.mean(predictions != y)
    return BiasVariance(float(error - variance), float(variance), float(error))
