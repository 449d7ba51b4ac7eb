"""All pairs of mnist14's features with the class, and the TAN that they give."""

from __future__ import annotations

from discbayes import BayesNetClassifier
from discbayes.counts import count, pair_information
from suite.data import coded
from suite.measure import N_JOBS, Row, below, best


def run() -> list[Row]:
    data = coded("mnist14")
    counts = count(data.encoded, N_JOBS)
    X, y = data.train
    model = BayesNetClassifier("tan", "ml", discretizer=None, n_jobs=N_JOBS)
    size = f"mnist14 {X.shape[0]:,} x {X.shape[1]}"
    return [
        below(f"all pairs with the class, {size}", best(lambda: pair_information(data.encoded, counts, N_JOBS)), 1.0),
        below(f"TAN fit from uint8 codes, {size}", best(lambda: model.fit(X, y)), 1.5),
    ]
