"""Why a figure of ``published`` is not met to the digit: the same search where the paper leaves something open.

- ``ties``: a greedy search on the rate meets edges that improve it equally, and the papers do not say which one is
  taken. Here it is the first; with the columns in another order it is another.
- ``categories``: whole numbers as categories, without cut points.
- ``split``: other rows for training, as many as in the published split.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from protocol import Rows, complete_rows, parts
from store import Results

from discbayes.search import GreedyEdges, OrderBased

TAN_CR, OMI_CR = GreedyEdges("cr"), OrderBased("omi", "cr")
FIELDS = ("set", "tag", "cause", "variant", "accuracy", "train_rate")
N_TIES, N_SPLITS = {"mofn-3-7-10": 200, "chess": 30, "satimage": 30, "letter": 10}, 10
LEARNERS = {"TAN-CR": TAN_CR, "TAN-OMI-CR": OMI_CR}


def run() -> None:
    results = Results("causes", FIELDS)
    for name, n_orders in N_TIES.items():
        for tag in LEARNERS:
            for seed in range(n_orders):
                if not results.has(set=name, tag=tag, cause="ties", variant=seed):
                    results.add(set=name, tag=tag, cause="ties", variant=seed, **with_columns_moved(name, tag, seed))
            for seed in range(N_SPLITS):
                if not results.has(set=name, tag=tag, cause="split", variant=seed):
                    results.add(set=name, tag=tag, cause="split", variant=seed, **with_other_rows(name, tag, seed))
    for tag in LEARNERS:
        if not results.has(set="letter", tag=tag, cause="categories"):
            found = measure(complete_rows("letter"), tag, discretizer=None)
            results.add(set="letter", tag=tag, cause="categories", variant=0, **found)
    summarise(results)


def with_columns_moved(name: str, tag: str, seed: int) -> dict[str, float]:
    """The same rows, columns in another order."""
    rows = complete_rows(name)
    order = np.random.default_rng(seed).permutation(rows.X.shape[1])
    return measure(replace(rows, X=rows.X[:, order]), tag)


def with_other_rows(name: str, tag: str, seed: int) -> dict[str, float]:
    """As many training rows as were published, drawn anew."""
    rows = complete_rows(name)
    order = np.random.default_rng(seed).permutation(len(rows.y))
    return measure(replace(rows, X=rows.X[order], y=rows.y[order]), tag)


def measure(rows: Rows, tag: str, discretizer: object = "mdlp") -> dict[str, float]:
    (part,) = parts(rows, discretizer=discretizer)
    history: list[dict[str, float]] = []
    structure = part.learn(LEARNERS[tag].set_params(callback=history.append))
    return {"accuracy": 100 * part.right(structure) / len(part.test_y), "train_rate": 100 * history[-1]["score"]}


def summarise(results: Results) -> None:
    """Range of the accuracies for every cause."""
    summary = Results("causes_summary", ("set", "tag", "cause", "n", "least", "median", "largest", "mean"), fresh=True)
    for name, tag, cause in dict.fromkeys((row["set"], row["tag"], row["cause"]) for row in results.rows):
        accuracy = np.array(results.column("accuracy", set=name, tag=tag, cause=cause))
        summary.add(
            set=name, tag=tag, cause=cause, n=accuracy.size, least=float(accuracy.min()),
            median=float(np.median(accuracy)), largest=float(accuracy.max()), mean=float(accuracy.mean()),
        )  # fmt: skip
