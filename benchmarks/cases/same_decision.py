"""Whether decisions stay when the missing values become known, as often as it is stated."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from discbayes import BayesNetClassifier
from suite.data import TEN, TRIED, parts
from suite.measure import Row, below, noted, of

MISSING = (0.3, 0.6, 0.9)  # shares of the values of a row: each row is asked about with each
N_SPLITS = 5
MAX_ROWS = 400  # of a split, to ask about and to calibrate on
LEARNERS = {"default": BayesNetClassifier(random_state=0)}


def run(smoke: bool) -> Iterator[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name in TRIED[:1] if smoke else TEN:
            yield from of("default", *_same_decisions(name, 1 if smoke else N_SPLITS))


def _same_decisions(name: str, n_splits: int) -> Iterator[Row]:
    """ECE of same-decision probabilities, not calibrated and calibrated on held-out rows."""
    rng = np.random.default_rng(0)
    stated: dict[str, list[np.ndarray]] = {"not calibrated": [], "calibrated": []}
    stayed, taken, n_rows = [], 0.0, 0
    for seed in range(n_splits):
        X, rest, y, labels = parts(name, 0.5, seed)
        held, test, _, _ = train_test_split(rest, labels, test_size=0.5, random_state=seed)
        held, test = held[:MAX_ROWS], test[:MAX_ROWS]
        clf = clone(LEARNERS["default"]).fit(X, y)
        asked = pd.concat([test.mask(rng.random(test.shape) < share) for share in MISSING])
        stayed.append(clf.predict(asked) == np.tile(clf.predict(test), len(MISSING)))
        started = time.process_time()
        stated["not calibrated"].append(clf.same_decision(asked))
        taken += time.process_time() - started
        n_rows += len(asked)
        stated["calibrated"].append(clf.same_decision(asked, held))
    same = np.concatenate(stayed)
    errors = {kind: _ece(np.concatenate(found), same) for kind, found in stated.items()}
    yield below(f"{name}: ECE", errors["calibrated"], 0.03, "")
    yield noted(f"{name}: ECE without held-out rows", errors["not calibrated"], unit="")
    yield noted(f"{name}: share of decisions that stay", float(same.mean()), unit="")
    yield noted(f"{name}: processor time of a row", 1e3 * taken / n_rows, unit="ms")


def _ece(stated: np.ndarray, same: np.ndarray) -> float:
    """The expected calibration error of probabilities of an event, in ten bins."""
    bins = np.minimum((stated * 10).astype(int), 9)
    return float(sum(abs((stated - same)[bins == k].sum()) for k in range(10)) / same.size)
