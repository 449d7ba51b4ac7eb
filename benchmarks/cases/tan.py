"""TAN against pyAgrum's, on the same codes of real data."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from discbayes import BayesNetClassifier
from suite.data import coded
from suite.measure import N_JOBS, Row, Skip, faster, of, race, repeats

SETS = ("letter", "satimage", "spambase")
LEARNERS = {"TAN": BayesNetClassifier("tan", "map", discretizer=None, n_jobs=N_JOBS)}


def run(smoke: bool) -> list[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pyAgrum's own
        return [row for name in SETS for row in _compare(name, smoke)]


def _compare(name: str, smoke: bool) -> list[Row]:
    data = coded(name, smoke=smoke)
    X, y = (part.astype(np.int32) for part in data.train)
    test = data.X_test.astype(np.int32)
    ours = LEARNERS["TAN"]
    fit = race(lambda: ours.fit(X, y), lambda: pyagrum_tan().fit(X, y), times=repeats(smoke))
    peer = pyagrum_tan().fit(X, y)
    predict = race(
        lambda: ours.predict_proba(test), lambda: peer.predict_proba(test), times=repeats(smoke)
    )
    return of(
        "TAN",
        faster(f"TAN fit, {name} {X.shape[0]:,} x {X.shape[1]}, vs pyAgrum", *fit, times=20),
        faster(
            f"TAN predict_proba, {name} {len(test):,} x {X.shape[1]}, vs pyAgrum",
            *predict,
            times=100,
        ),
    )


def pyagrum_tan() -> Any:
    try:
        import pyagrum
        from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
        from pyagrum.skbn import BNClassifier
    except ImportError:
        raise Skip("pyagrum is not installed") from None
    pyagrum.setNumberOfThreads(N_JOBS)
    codes_are_labels = DiscreteTypeProcessor(discretizationThreshold=100_000)
    return BNClassifier(
        type_processor=codes_are_labels, learningMethod="TAN", prior="Smoothing", priorWeight=1
    )
