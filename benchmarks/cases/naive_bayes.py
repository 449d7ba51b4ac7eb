"""Naive Bayes against scikit-learn's CategoricalNB, on one and the same array."""

from __future__ import annotations

from sklearn.naive_bayes import CategoricalNB

from discbayes import BayesNetClassifier
from suite.data import sample_tan
from suite.measure import N_JOBS, Row, faster, race

N_TRAIN, N_TEST = 100_000, 20_000


def run() -> list[Row]:
    X, y = sample_tan(N_TRAIN + N_TEST, 100, 5, 2, seed=1)
    train, classes, test = X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:]
    ours = BayesNetClassifier("nb", discretizer=None, n_jobs=N_JOBS)
    peer = CategoricalNB(min_categories=5)
    fit = race(lambda: ours.fit(train, classes), lambda: peer.fit(train, classes))
    predict = race(lambda: ours.predict_proba(test), lambda: peer.predict_proba(test))
    return [
        faster("NB fit, 100,000 x 100, vs CategoricalNB", *fit, times=1),
        faster("NB predict_proba, 20,000 x 100, vs CategoricalNB", *predict, times=3),
    ]
