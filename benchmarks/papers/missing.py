"""Accuracy on mnist14 with features missing at test: P10 section 6.6, Figure 13(b).

In each draw every test row loses features of its own, uniformly at random and the same ones for every classifier; those
of a larger number hold those of a smaller one. The gaps are summed out exactly. As in P10, 100 draws of all test rows.
``NB-CL`` is cross-tuned, as in P10; ``NB-CL-10`` ends after ten iterations.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from protocol import Part, complete_rows, parts, with_gaps
from sklearn.exceptions import ConvergenceWarning
from store import Results

from discbayes.engine import Context
from discbayes.inference import Effort, log_joint
from discbayes.network import Tables
from discbayes.parameters import MaximumConditionalLikelihood, MaximumLikelihood
from discbayes.search import GreedyEdges, NaiveBayes

CLASSIFIERS: dict[str, tuple[Any, Any]] = {
    "NB-ML": (NaiveBayes(), MaximumLikelihood()),
    "NB-CL": (NaiveBayes(), MaximumConditionalLikelihood(stopping="cross-tuning")),
    "NB-CL-10": (NaiveBayes(), MaximumConditionalLikelihood(max_iter=10)),
    "TAN-CR-ML": (GreedyEdges("cr"), MaximumLikelihood()),
}
MISSING = tuple(range(0, 200, 20))
N_DRAWS = 100
FIELDS = ("draw", "missing", *CLASSIFIERS)
SUMMARY = ("missing", "draws", *(column for tag in CLASSIFIERS for column in (tag, f"{tag}_std")))


def run() -> None:
    runs = Results("missing_runs", FIELDS)
    left = [draw for draw in range(N_DRAWS) if not all(runs.has(draw=draw, missing=n) for n in MISSING)]
    if left:
        (part,) = parts(complete_rows("mnist14"))
        fitted = {tag: fit(part, *how) for tag, how in CLASSIFIERS.items()}
        for draw in left:
            for n, codes in zip(MISSING, with_gaps(part, MISSING, draw), strict=True):
                if not runs.has(draw=draw, missing=n):
                    runs.add(draw=draw, missing=n, **{tag: rate(t, codes, part.test_y) for tag, t in fitted.items()})
    summarise(runs)


def fit(part: Part, search: Any, parameters: Any) -> Tables:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return parameters.learn(part.data, part.counts, part.learn(search), Context(n_jobs=1))


def rate(tables: Tables, codes: np.ndarray, y: np.ndarray) -> float:
    """Accuracy in percent."""
    return 100 * float((log_joint(tables, codes, Effort(n_jobs=1)).argmax(axis=1) == y).mean())


def summarise(runs: Results) -> None:
    """Mean and standard deviation over the draws."""
    summary = Results("missing", SUMMARY, fresh=True)
    for n in MISSING:
        rates = {tag: np.array(runs.column(tag, missing=n)) for tag in CLASSIFIERS}
        spread = {f"{tag}_std": float(found.std()) for tag, found in rates.items()}
        means = {tag: float(found.mean()) for tag, found in rates.items()}
        summary.add(missing=n, draws=len(rates["NB-ML"]), **means, **spread)
