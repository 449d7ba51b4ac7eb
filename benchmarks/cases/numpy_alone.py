"""Predictions by ``discbayes.predict``, which needs numpy alone, beside those of the library: the
import, and rows per second of the default, complete and with 30 % of the cells missing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import discbayes.predict
from discbayes import BayesNetClassifier
from suite.data import raw
from suite.measure import Row, below, in_new_process, noted, of, race, repeats

SHARE = 0.3
MAX_ROWS = 2000
SETS = ("letter", "adult")
LEARNERS = {"default": BayesNetClassifier(n_jobs=1)}


def run(smoke: bool) -> Iterator[Row]:
    seconds = [in_new_process("suite.probe_import")["import"] for _ in range(repeats(smoke))]
    yield below("import discbayes.predict beyond numpy, processor time", min(seconds), 0.15)
    for name in SETS:
        yield from of("default", *_rates(name, smoke))


def _rates(name: str, smoke: bool) -> Iterator[Row]:
    """Rows per second of one thread, as they are and with more missing values."""
    data = raw(name, False, smoke, as_frame=True)
    clf = LEARNERS["default"].fit(data.X, data.y)
    with tempfile.TemporaryDirectory() as folder:
        clf.save(Path(folder) / "model.json")
        model = discbayes.predict.load(Path(folder) / "model.json")
    complete = data.X_test[:MAX_ROWS]
    hidden = np.random.default_rng(0).random(complete.shape) < SHARE
    for words, X in (("as it is", complete), ("30 % missing", complete.mask(hidden))):
        alone, whole = race(
            lambda X=X: model.predict_proba(X),
            lambda X=X: clf.predict_proba(X),
            times=repeats(smoke),
        )
        what = f"rows a second by numpy alone, {name} {words}"
        yield noted(what, len(X) / alone, len(X) / whole, unit="rows/s")
