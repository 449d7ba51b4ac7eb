"""What missing values cost: TAN on rows with 30 % of their values gone against the same rows
complete.
"""

from __future__ import annotations

import numpy as np

from discbayes import BayesNetClassifier
from discbayes.inference import InferenceOptions, log_joint, posterior
from suite.data import coded, with_missing
from suite.measure import N_JOBS, Row, at_most_times, of, race, repeats

LIMITS = {"chess": 5, "letter": 15}
SHARE = 0.3
LEARNERS = {"TAN": BayesNetClassifier("tan", "map", discretizer=None, n_jobs=N_JOBS)}


def run(smoke: bool) -> list[Row]:
    return [row for name, limit in LIMITS.items() for row in _compare(name, limit, smoke)]


def _compare(name: str, limit: float, smoke: bool) -> list[Row]:
    """The estimator on floats with NaN, and inference alone on codes."""
    data, times = coded(name, smoke=smoke), repeats(smoke)
    X, incomplete = data.X.astype(np.float64), with_missing(data.X, SHARE)
    model = LEARNERS["TAN"].fit(X[: data.n_train], data.y[: data.n_train])
    tables, effort = model.network_.parameters, InferenceOptions(n_jobs=N_JOBS)
    whole, holed = model.network_.encode(X), model.network_.encode(incomplete)
    estimator = race(
        lambda: model.predict_proba(incomplete), lambda: model.predict_proba(X), times=times
    )

    def shares(codes: np.ndarray) -> np.ndarray:
        return posterior(log_joint(tables, codes, effort), np.exp(tables.log_prior), N_JOBS)

    inference = race(lambda: shares(holed), lambda: shares(whole), times=times)
    size = f"{name} {X.shape[0]:,} x {X.shape[1]}"
    return of(
        "TAN",
        at_most_times(f"predict_proba, 30 % missing vs complete, {size}", *estimator, times=limit),
        at_most_times(
            f"posterior on codes, 30 % missing vs complete, {size}", *inference, times=limit
        ),
    )
