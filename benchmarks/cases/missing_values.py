"""Missing values, marginalized exactly: 30 % of all cells against the same rows complete, rows per
second of networks that are not forests, and fits of incomplete rows.
"""

from __future__ import annotations

import warnings

import numpy as np

from discbayes import KDB, BayesNetClassifier, DataWarning
from discbayes.inference import InferenceOptions, elimination_cells, log_joint, posterior
from suite.data import coded, raw, with_missing
from suite.measure import N_JOBS, Row, at_most_times, noted, of, race, repeats

SHARE = 0.3
LIMITS = {"chess": 5.0, "letter": 15.0}  # times as long as complete rows
# rows per second of networks with two and three parents
RATES = {
    "letter": (150_000, 15_000),
    "chess": (300_000, 200_000),
    "mnist14": (20_000, 3_000),
    "kddcup10": (5_000, 2_000),
}
MAX_ROWS = 2000  # whose rate is measured
MAX_CELLS = 3e6  # of rows for which a rate is required: a few rows take most of the time of all
LEARNERS = {
    "TAN": BayesNetClassifier("tan", "map", discretizer=None, n_jobs=N_JOBS),
    "KDB-2": BayesNetClassifier(KDB(k=2), "map", discretizer=None, n_jobs=N_JOBS),
    "KDB-3": BayesNetClassifier(KDB(k=3), "map", discretizer=None, n_jobs=N_JOBS),
    "default": BayesNetClassifier(n_jobs=1),
}


def run(smoke: bool) -> list[Row]:
    rows = [row for name, limit in LIMITS.items() for row in _compare(name, limit, smoke)]
    for name, wanted in RATES.items():
        for learner, rate in zip(("KDB-2", "KDB-3"), wanted, strict=True):
            rows += _rates(name, learner, rate, smoke)
    return rows + of("default", _fit(smoke))


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


def _rates(name: str, learner: str, wanted: int, smoke: bool) -> list[Row]:
    """Rows per second of one thread, of rows that are not very large, and of all rows."""
    data = coded(name, smoke=smoke)
    model = LEARNERS[learner].fit(data.X[: data.n_train], data.y[: data.n_train])
    codes = model.network_.encode(with_missing(data.X[data.n_train :][:MAX_ROWS], SHARE))
    tables = model.network_.parameters
    n_cells = [elimination_cells(tables, codes[:, [k]]) for k in range(codes.shape[1])]
    common = np.ascontiguousarray(codes[:, np.array(n_cells) <= MAX_CELLS])
    options = InferenceOptions(n_jobs=1, max_cells=10**10)
    taken = race(
        lambda: log_joint(tables, common, options),
        lambda: log_joint(tables, codes, options),
        times=repeats(smoke),
    )
    rate = common.shape[1] / taken[0]
    what = f"log-joint, 30 % missing, {learner}, {name}"
    return of(
        learner,
        Row(f"{what}, up to 3e6 cells", rate, "rows/s", f">= {wanted:,}", rate >= wanted),
        noted(f"{what}, all rows", codes.shape[1] / taken[1], unit="rows/s"),
    )


def _fit(smoke: bool) -> Row:
    """The default fit on adult against the same table with its most frequent values filled in."""
    data = raw("adult", published=True, smoke=smoke, as_frame=True)
    filled = data.X.apply(lambda column: column.fillna(column.mode()[0]))
    model = LEARNERS["default"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # a column that MDLP does not use, in each fit
        taken = race(
            lambda: model.fit(data.X, data.y),
            lambda: model.fit(filled, data.y),
            times=repeats(smoke),
        )
    return at_most_times("default fit of adult vs its missing cells filled in", *taken, times=1.15)
