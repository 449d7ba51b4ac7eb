"""All pairs of mnist14's features with the class, and the TAN that they give."""

from __future__ import annotations

from discbayes import BayesNetClassifier
from discbayes.counts import count, pair_information
from suite.data import coded
from suite.measure import N_JOBS, Row, below, best, of, repeats

LEARNERS = {
    "pairs": pair_information,
    "TAN": BayesNetClassifier("tan", "ml", discretizer=None, n_jobs=N_JOBS),
}


def run(smoke: bool) -> list[Row]:
    data, times = coded("mnist14", smoke=smoke), repeats(smoke)
    counts = count(data.encoded, N_JOBS)
    X, y = data.train
    size = f"mnist14 {X.shape[0]:,} x {X.shape[1]}"
    pairs = best(lambda: LEARNERS["pairs"](data.encoded, counts, N_JOBS), times)
    fit = best(lambda: LEARNERS["TAN"].fit(X, y), times)
    return [
        *of("pairs", below(f"all pairs with the class, {size}", pairs, 1.0)),
        *of("TAN", below(f"TAN fit from uint8 codes, {size}", fit, 1.5)),
    ]
