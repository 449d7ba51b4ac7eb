"""A process of its own that prints the time of importing the library and of its first fit."""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def learners() -> dict[str, Any]:
    from discbayes import BayesNetClassifier

    return {
        "TAN": BayesNetClassifier("tan", "map", n_jobs=2),
        "default": BayesNetClassifier(n_jobs=2),
    }


def main(name: str) -> None:
    import numba  # noqa: F401
    import sklearn  # noqa: F401

    start = time.perf_counter()
    model = learners()[name]
    imported = time.perf_counter()
    import numpy as np

    rng = np.random.default_rng(0)
    y = rng.integers(3, size=2000)
    X = rng.normal(size=(2000, 20)) + y[:, None]
    ready = time.perf_counter()
    model.fit(X, y)
    fitted = time.perf_counter()
    model.predict_proba(X)
    done = time.perf_counter()
    print(json.dumps({"import": imported - start, "fit": fitted - ready, "predict": done - fitted}))


if __name__ == "__main__":
    main(*sys.argv[1:])
