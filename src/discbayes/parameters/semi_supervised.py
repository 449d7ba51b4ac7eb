"""Learning from rows without a label as well: what is observed in them is likely, or unlikely.

Generative estimates maximize Σ log P(y, x) + weight · Σ log P(x) by expectation-maximization over
the class: an unlabeled row counts in each class by its probability, given the row. Learners of
normalized tables by gradients add weight · Σ log P(x) to their objective.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from discbayes.counts import Counts, count
from discbayes.data.domain import Encoded
from discbayes.data.row_keys import distinct_rows
from discbayes.engine import Context
from discbayes.inference import InferenceOptions, log_joint
from discbayes.network import CPTs, Structure
from discbayes.objectives import MarginalLikelihood

MAX_ITER, TOL = 200, 1e-6  # of expectation-maximization


def learn_semi_supervised(
    learner: Any,
    data: Encoded,
    counts: Counts,
    structure: Structure,
    context: Context,
    unlabeled: Encoded,
) -> CPTs:
    """Learn tables from labeled rows and from rows without a label.

    Parameters
    ----------
    learner : ParameterLearner
        The learner; ``uses_unlabeled`` says that it can.
    data, counts, structure, context
        As in ``ParameterLearner.learn``.
    unlabeled : Encoded
        The rows without a label, with weights.

    Returns
    -------
    CPTs
        The conditional probability tables.
    """
    if unlabeled.n_samples and getattr(learner, "learns_from_counts", False):
        return _maximize(learner, data, counts, structure, context, distinct_rows(unlabeled))
    own = copy(learner)
    if unlabeled.n_samples:
        own.unlabeled_rows = unlabeled
    tables: CPTs = own.learn(data, counts, structure, context)
    return tables


def _maximize(
    learner: Any,
    data: Encoded,
    counts: Counts,
    structure: Structure,
    context: Context,
    unlabeled: Encoded,
) -> CPTs:
    """Return the tables of expectation-maximization over the class, from those of labeled rows."""
    log_density: Callable[[CPTs], float] = getattr(learner, "_log_density", lambda _: 0.0)
    quiet = replace(context, history=[])
    tables: CPTs = learner.learn(data, counts, structure, quiet)
    value, shares = _likelihood(tables, data, unlabeled, context.n_jobs)
    value += log_density(tables)
    for iteration in range(1, MAX_ITER + 1):
        rows = with_shares(data, unlabeled, shares)
        new: CPTs = learner.learn(rows, count(rows, context.n_jobs), structure, quiet)
        found, shares = _likelihood(new, data, unlabeled, context.n_jobs)
        found += log_density(new)
        # Smoothing that is not a prior may lower the likelihood a little: then EM is over.
        if found < value:
            break
        gain = found - value
        tables, value = new, found
        context.record(most=MAX_ITER, iteration=iteration, score=value)
        if gain <= TOL * max(abs(value), 1.0):
            break
    return tables


def _likelihood(
    tables: CPTs, data: Encoded, unlabeled: Encoded, n_jobs: int | None
) -> tuple[float, np.ndarray]:
    """Return Σ w·log P(y, x) + Σ w·log P(x) of rows without a label, and P(c | x) of these."""
    options = InferenceOptions(n_jobs=n_jobs)
    labeled = log_joint(tables, data.codes, options)[np.arange(data.n_samples), data.classes]
    weight = 1.0 if data.weight is None else data.weight
    scores = log_joint(tables, unlabeled.codes, options)
    shares = MarginalLikelihood().value_and_gradient(scores, unlabeled.classes)[1]
    rows = MarginalLikelihood().rows(scores, unlabeled.classes)
    value = float((weight * labeled).sum()) + float(rows @ unlabeled.weight)
    return value, shares


def with_shares(data: Encoded, unlabeled: Encoded, shares: np.ndarray) -> Encoded:
    """Return the labeled rows and, for each class, the others with their share of the class."""
    n_classes, weight = data.n_classes, unlabeled.weight
    assert weight is not None
    own = np.ones(data.n_samples) if data.weight is None else data.weight
    return Encoded(
        np.concatenate([data.codes, np.tile(unlabeled.codes, n_classes)], axis=1),
        data.domain,
        np.concatenate([data.classes, np.repeat(np.arange(n_classes), unlabeled.n_samples)]),
        np.concatenate([own, *(weight * shares[:, c] for c in range(n_classes))]),
    )
