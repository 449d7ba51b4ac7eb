"""A process of its own that learns from Parquet files, or predicts them, and prints seconds and its
largest memory.

python -m scaling.probe fit "TAN-fCLL + MAP" FOLDER TEST_FOLDER '{"n00": 12}'
"""

from __future__ import annotations

import gc
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss

from discbayes import BayesNetClassifier
from discbayes.parameters import DiscriminativeCCBN, WeightedCCBN
from scaling.peers import TARGET, NaiveBayes, Peer, Regression
from suite.measure import N_JOBS
from suite.probe_memory import forget_peak, peak

WARM_ROWS = 70_000  # more than a block, so that all that is needed is loaded
ITERATIONS = 20
OURS: dict[str, BayesNetClassifier] = {
    name: BayesNetClassifier(*learners, calibrate=None, n_jobs=N_JOBS)
    for name, learners in {
        "TAN-fCLL + MAP": ("tan-fcll", "map"),
        "NB + MAP": ("nb", "map"),
        "TAN-fCLL + CCBN-w": ("tan-fcll", WeightedCCBN(max_iter=ITERATIONS)),
        "NB + CCBN-d": ("nb", DiscriminativeCCBN(max_iter=ITERATIONS)),
    }.items()
} | {"default": BayesNetClassifier(random_state=0, n_jobs=N_JOBS)}
PEERS: dict[str, Callable[[], Peer]] = {
    "CategoricalNB": NaiveBayes,
    "SGDClassifier": lambda: Regression(1),
    "SGDClassifier, 3 epochs": lambda: Regression(3),
}
IN_MEMORY, IN_PARTS = ", in memory", ", partial_fit"


def ours(name: str) -> BayesNetClassifier:
    """A new classifier of ours, by its name with or without the way in which it reads rows."""
    return clone(OURS[name.removesuffix(IN_MEMORY).removesuffix(IN_PARTS)])


class Ours:
    """A classifier of this library, on rows that are read in passes, in parts or at once."""

    def __init__(self, name: str):
        self.name = name
        self.model = ours(name)
        self.reading = 0.0

    def fit(self, folder: Path, bins: dict[str, int]) -> Ours:
        if self.name.endswith(IN_PARTS):
            for path in sorted(folder.glob("*.parquet")):
                self.model.partial_fit(*_frame(pq.read_table(path)))
        elif self.name.endswith(IN_MEMORY):
            start = time.perf_counter()
            X, y = _frame(pq.read_table(folder))
            self.reading = time.perf_counter() - start
            self.model.fit(X, y)
        else:
            self.model.fit(folder, TARGET)
        return self

    def predict_batches(self, folder: Path) -> Iterator[np.ndarray]:
        return self.model.predict_batches(folder, "predict_proba")

    @property
    def classes(self) -> list[str]:
        return self.model.classes_.tolist()


def _frame(table: pa.Table) -> tuple[Any, Any]:
    frame = table.to_pandas()
    return frame.drop(columns=TARGET), frame[TARGET]


def _learner(name: str) -> Ours | Peer:
    return PEERS[name]() if name in PEERS else Ours(name)


def fit(name: str, folder: Path, test: Path, bins: dict[str, int]) -> dict[str, Any]:
    """Learn, after a try on a few rows that loads what is needed, and judge by other rows."""
    with TemporaryDirectory() as few:
        pq.write_table(
            pq.read_table(next(folder.glob("*.parquet"))).slice(0, WARM_ROWS), f"{few}/rows.parquet"
        )
        _learner(name).fit(Path(few), bins)
    learner, taken, most = _timed(lambda: _learner(name).fit(folder, bins))
    found = {
        "seconds": taken,
        "peak": most,
        "reading": getattr(learner, "reading", 0.0),
        **_judged(learner, test),
    }
    if isinstance(learner, Ours):
        features = learner.model.network_.domain.features
        found["bins"] = {f.name: f.card for f in features if f.kind == "numeric"}
        found["cards"] = [f.card for f in features]
    return found


def predict(name: str, folder: Path, test: Path, bins: dict[str, int]) -> dict[str, Any]:
    """Learn from a few rows, and predict all others."""
    learner = _learner(name).fit(test, bins)
    for _ in learner.predict_batches(test):
        pass
    _, taken, most = _timed(lambda: sum(len(shares) for shares in learner.predict_batches(folder)))
    return {"seconds": taken, "peak": most}


def _timed(work: Callable[[], Any]) -> tuple[Any, float, int]:
    """A result, the seconds that it took and the largest memory meanwhile."""
    gc.collect()
    forget_peak()
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start, peak()


def _judged(learner: Ours | Peer, test: Path) -> dict[str, float]:
    shares = np.concatenate(list(learner.predict_batches(test)))
    truth = np.searchsorted(
        learner.classes, pq.read_table(test, columns=[TARGET])[TARGET].to_pylist()
    )
    right = float((shares.argmax(axis=1) == truth).mean())
    return {
        "accuracy": right,
        "log_loss": float(log_loss(truth, shares, labels=range(shares.shape[1]))),
    }


def main(action: str, name: str, folder: str, test: str, bins: str) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)  # of a fixed number of iterations
    found = {"fit": fit, "predict": predict}[action](
        name, Path(folder), Path(test), json.loads(bins)
    )
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
