"""P10 Figure 7: conditional log likelihood of the training rows after OMI-CL, min-MI-CL, and 100 random orders."""

from __future__ import annotations

import time

import numpy as np
from orderings import Orders
from protocol import FRIEDMAN, complete_rows, parts
from store import Results

N_ORDERS = 100
FIELDS = ("set", "omi", "ro_mean", "ro_std", "min_mi", "omi_above_both", "seconds")


def run() -> None:
    results = Results("fig7", FIELDS)
    for name in FRIEDMAN:
        if not results.has(set=name):
            results.add(**measure(name))
    above = sum(row["omi_above_both"] == "yes" for row in results.rows)
    print(f"OMI-CL is above the mean of random orders and above min-MI on {above} of {len(results.rows)}")


def measure(name: str) -> dict[str, object]:
    """The likelihoods for each row, over the training parts of the data set together."""
    rows, started = complete_rows(name), time.perf_counter()
    rng = np.random.default_rng(0)
    orders = [rng.permutation(rows.X.shape[1]) for _ in range(N_ORDERS)]
    omi, min_mi, by_order, n_rows = 0.0, 0.0, np.zeros(N_ORDERS), 0
    for part in parts(rows):
        search = Orders(part, "cl")
        search.check(orders[0])
        omi += search.named("omi")[1]
        min_mi += search.named("min-mi")[1]
        by_order += [search.run(order)[1] for order in orders]
        n_rows += part.data.n_samples
    return {
        "set": name,
        "omi": omi / n_rows,
        "ro_mean": by_order.mean() / n_rows,
        "ro_std": by_order.std() / n_rows,
        "min_mi": min_mi / n_rows,
        "omi_above_both": "yes" if omi > by_order.mean() and omi > min_mi else "no",
        "seconds": time.perf_counter() - started,
    }
