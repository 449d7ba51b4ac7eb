"""Held-out rows with hidden values, from which the weights of a log pool are learned.

Rows that are asked for have missing values for which nothing is known beforehand. So values of
held-out rows are hidden, in each row another share of them, and both networks of the pool predict
what is left. What is hidden follows from what is in the rows, not from their order.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discbayes.bayesnet import BayesNet
from discbayes.calibration import LogPool, PredictedRows
from discbayes.data.row_keys import numbers_of_content
from discbayes.inference import ESTIMATE, blank_rows, elimination_cells

SHARES = 0.1, 0.5  # of values that are hidden: from, to
# about so many rows have hidden values: a share of many rows; few rows are taken several times
ENOUGH_ROWS, MAX_DRAWS = 1_000, 4
MAX_CELLS = 300_000  # that marginalize the hidden values of a row: one with more is not used


def predict_hidden(
    network: BayesNet,
    generative: BayesNet,
    codes: np.ndarray,
    weight: np.ndarray,
    n_held_out: int,
    unusual: float = 0.0,
) -> PredictedRows:
    """Hide values of some rows, and return what both networks of a pool predict of them.

    Parameters
    ----------
    network, generative : BayesNet
        The network, and the generative estimates of the same structure.
    codes : ndarray of shape (n_features, n_rows)
        The rows of one fold.
    weight : ndarray of shape (n_rows,)
        Their weights.
    n_held_out : int
        How many rows all folds hold out.
    unusual : float, default=0
        The number of the pool.

    Returns
    -------
    PredictedRows
        The rows, by their positions in the fold; of few rows several draws.
    """
    # the limits of the settings are for rows that are asked for
    network, generative = (
        replace(each, max_cells=10**9, beyond_max_cells=ESTIMATE) for each in (network, generative)
    )
    pool = LogPool(network.prior, generative, 1.0, unusual=unusual)
    n_draws = draws_of(n_held_out)
    rows = np.flatnonzero(_taken(codes, weight, ENOUGH_ROWS / n_held_out))
    hidden = np.concatenate(
        [_hide(pool, codes, weight, draw)[:, rows] for draw in range(n_draws)], axis=1
    )
    rows = np.tile(rows, n_draws)
    is_cheap = _is_cheap(network, hidden)
    rows, known = rows[is_cheap], np.ascontiguousarray(hidden[:, is_cheap])
    marginalized = pool.hidden(known)
    return PredictedRows(
        rows,
        network.log_joint_of(known),
        pool.observed.log_joint_of(marginalized),
        pool.share_missing(known),
        pool.share_missing(marginalized),
        pool.usual(known),
    )


def draws_of(n_held_out: int) -> int:
    """Return how often each row is taken.

    >>> draws_of(100), draws_of(400), draws_of(5_000)
    (4, 2, 1)
    """
    return int(np.clip(ENOUGH_ROWS // n_held_out, 1, MAX_DRAWS))


def _taken(codes: np.ndarray, weight: np.ndarray, share: float) -> np.ndarray:
    """Return which rows are about a share of them, by what is in the rows."""
    taken = numbers_of_content(codes, weight, MAX_DRAWS)[0] < share
    if 2 * taken.sum() < share * taken.size:  # many rows are alike
        taken[:] = True
    return taken


def _hide(pool: LogPool, codes: np.ndarray, weight: np.ndarray, draw: int) -> np.ndarray:
    """Return the codes of rows with values hidden.

    A value "missing" that is evidence in every row is not hidden, nor are values of its column.
    """
    features = pool.generative.domain.features
    cards = np.array([feature.card for feature in features])[:, None]
    marks = cards - pool.reads_missing[:, None]
    is_evidence = np.array([feature.reads_missing for feature in features])
    by_row, by_cell = numbers_of_content(codes, weight, draw)
    least, most = SHARES
    hidden = by_cell < least + (most - least) * by_row
    hidden &= ~(is_evidence & ~pool.reads_missing)[:, None] & (codes < cards)
    return np.where(hidden, marks, codes).astype(codes.dtype)


def _is_cheap(network: BayesNet, codes: np.ndarray) -> np.ndarray:
    """Return in which rows the missing values are marginalized with few cells."""
    tables, rows = network.parameters, range(codes.shape[1])
    of_all = elimination_cells(tables, blank_rows(tables, 1), every=True)
    if tables.structure.is_forest or of_all <= MAX_CELLS:
        return np.ones(len(rows), bool)
    return np.array([elimination_cells(tables, codes[:, [k]]) <= MAX_CELLS for k in rows])
