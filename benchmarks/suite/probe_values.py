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
# of the regions of two columns in each class: (0, 0), (0, 1), (1, 0), (1, 1)
REGIONS = np.array([[0.29, 0.26, 0.16, 0.29], [0.16, 0.29, 0.39, 0.16]])
DEFAULT = BayesNetClassifier(n_jobs=1)


def table(n_rows: int, n_values: int, kind: str, seed: int = 1) -> tuple[pd.DataFrame, Any]:
    """Columns of so many values: noise, pairs of columns that only together show the class
    ("linked"), or values of regions that show it a little each and more in pairs ("regions").
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    codes = rng.integers(0, n_values, (N_COLUMNS, n_rows))
    if kind == "regions":  # frequent values and rare ones
        shares = 1.0 / np.arange(1, n_values // 2 + 1)
        codes = 2 * rng.choice(n_values // 2, codes.shape, p=shares / shares.sum()) + codes % 2
    for pair in range(0 if kind == "noise" else LINKED):
        own = codes[2 * pair : 2 * pair + 2]
        if kind == "regions":
            drawn = (rng.random(n_rows)[:, None] > REGIONS.cumsum(axis=1)[y]).sum(axis=1)
            own[:] = own - own % 2 + np.divmod(drawn, 2)
            continue
        follows = rng.random(n_rows) < SHARE
        partner = np.stack([rng.permutation(n_values) for _ in range(2)])
        own[1, follows] = partner[y, own[0]][follows]
    columns = {
        f"x{i}": pd.Categorical.from_codes(own, range(n_values)) for i, own in enumerate(codes)
    }
    return pd.DataFrame(columns), y


def main(n_rows: str, n_values: str, kind: str) -> None:
    warnings.simplefilter("ignore")  # of edges that are left out
    n_train = int(n_rows)
    X, y = table(n_train + n_train // 4, int(n_values), kind)
    warm, classes = table(300, 3, "linked")
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
