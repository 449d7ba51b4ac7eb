"""Naive Bayes against scikit-learn's CategoricalNB, on one and the same array."""

from __future__ import annotations

from sklearn.naive_bayes import CategoricalNB

from discbayes import BayesNetClassifier
from suite.data import sample_tan
from suite.measure import N_JOBS, Row, faster, of, race, repeats

N_TRAIN, N_TEST = 100_000, 20_000
LEARNERS = {"NB": BayesNetClassifier("nb", "map", discretizer=None, n_jobs=N_JOBS)}


def run(smoke: bool) -> list[Row]:
    n_train, n_test = (300, 60) if smoke else (N_TRAIN, N_TEST)
    X, y = sample_tan(n_train + n_test, 100, 5, 2, seed=1)
    train, classes, test = X[:n_train], y[:n_train], X[n_train:]
    ours, peer = LEARNERS["NB"], CategoricalNB(min_categories=5)
    fit = race(
        lambda: ours.fit(train, classes), lambda: peer.fit(train, classes), times=repeats(smoke)
    )
    predict = race(
        lambda: ours.predict_proba(test), lambda: peer.predict_proba(test), times=repeats(smoke)
    )
    return of(
        "NB",
        faster(f"NB fit, {n_train:,} x 100, vs CategoricalNB", *fit, times=1),
        faster(f"NB predict_proba, {n_test:,} x 100, vs CategoricalNB", *predict, times=3),
    )
