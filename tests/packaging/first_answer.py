"""What a new process takes to its first answers, and whether they are the same to the last bit.

``python first_answer.py`` imports the library, fits the default on 2,000 rows, and predicts these
rows and rows with more missing values. It prints the processor's seconds for each step, whether
numba was imported, and a digest of the probabilities. The rows are those of adult where
``DISCBAYES_DATA`` is set.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from hashlib import sha256
from typing import Any

N_ROWS = 2000


def rows() -> tuple[Any, Any]:
    """Return features of numbers and of text, some of them missing, and classes."""
    import numpy as np

    from discbayes import load_dataset

    if os.environ.get("DISCBAYES_DATA"):
        adult = load_dataset("adult")
        return np.asarray(adult.X, dtype=object)[:N_ROWS], np.asarray(adult.y)[:N_ROWS]
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N_ROWS)
    X = (rng.normal(size=(N_ROWS, 14)) + y[:, None] * rng.random(14)).round(2).astype(object)
    X[:, 7:] = np.array(["u", "v", "w", "x", "y"])[np.clip(X[:, 7:] + 2, 0, 4).astype(int)]
    X[rng.random(X.shape) < 0.02] = None
    return X, y


def main() -> None:
    """Take the time of all steps."""
    warnings.simplefilter("ignore")
    seconds, started = {}, time.process_time()

    def took(step: str) -> None:
        nonlocal started
        now = time.process_time()
        seconds[step], started = now - started, now

    import numpy as np

    from discbayes import BayesNetClassifier

    took("import")
    X, y = rows()
    incomplete = X.copy()
    incomplete[np.random.default_rng(1).random(X.shape) < 0.3] = None
    started = time.process_time()  # reading the rows does not count
    model = BayesNetClassifier().fit(X, y)
    took("fit")
    complete = model.predict_proba(X)
    took("predict")
    answers = complete.tobytes() + model.predict_proba(incomplete).tobytes()
    took("predict with missing values")
    digest = sha256(answers).hexdigest()
    print(json.dumps({"seconds": seconds, "numba": "numba" in sys.modules, "digest": digest}))


if __name__ == "__main__":
    main()
