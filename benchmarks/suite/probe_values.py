"""A process of its own that fits the default to columns of many values and prints what it took."""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.metrics import log_loss

from discbayes import BayesNetClassifier
from suite.probe_memory import peak

N_COLUMNS = 20
LINKED = 5  # pairs of columns of which the second follows from the first and the class
SHARE = 0.6  # of the rows in which it does
DEFAULT = BayesNetClassifier(n_jobs=1)


def table(n_rows: int, n_values: int, linked: bool, seed: int = 1) -> tuple[pd.DataFrame, Any]:
    """Columns of so many values: noise, or pairs that only together show the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    codes = rng.integers(0, n_values, (N_COLUMNS, n_rows))
    for pair in range(LINKED if linked else 0):
        follows = rng.random(n_rows) < SHARE
        partner = np.stack([rng.permutation(n_values) for _ in range(2)])
        codes[2 * pair + 1, follows] = partner[y, codes[2 * pair]][follows]
    columns = {
        f"x{i}": pd.Categorical.from_codes(own, range(n_values)) for i, own in enumerate(codes)
    }
    return pd.DataFrame(columns), y


def main(n_rows: str, n_values: str, linked: str) -> None:
    warnings.simplefilter("ignore")  # of edges that are left out
    n_train = int(n_rows)
    X, y = table(n_train + n_train // 4, int(n_values), linked == "linked")
    warm, classes = table(300, 3, True)
    clone(DEFAULT).fit(warm, classes)  # loads every kernel
    began = time.process_time()
    model = clone(DEFAULT).fit(X[:n_train], y[:n_train])
    seconds, most = time.process_time() - began, peak()
    naive = clone(DEFAULT).set_params(structure="nb").fit(X[:n_train], y[:n_train])
    losses = [log_loss(y[n_train:], each.predict_proba(X[n_train:])) for each in (model, naive)]
    right = float((model.predict(X[n_train:]) == y[n_train:]).mean())
    print(
        json.dumps(
            {
                "seconds": seconds,
                "bytes": most,
                "loss": losses[0],
                "naive": losses[1],
                "right": right,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
