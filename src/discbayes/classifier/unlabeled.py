"""Rows without a label: set aside, and used as far as held-out labeled rows speak for it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from discbayes.classifier.choosing import HeldOutFold, open_folds
from discbayes.classifier.fitting import CalibrationPlan, FitPlan
from discbayes.classifier.training_rows import TrainingRows, UnlabeledRows
from discbayes.counts import Counts
from discbayes.data import Encoded, FrameEncoder
from discbayes.data.folds import assign_folds
from discbayes.data.targets import DataWarning
from discbayes.engine import Context
from discbayes.network import CPTs, Structure
from discbayes.parameters.semi_supervised import learn_semi_supervised

WEIGHTS = (0.01, 0.03, 0.1, 0.3, 1.0)  # of a row without a label, tried in this order
N_FOLDS = 5
ENOUGH = 1000  # held-out rows
MIN_GAIN = 2.0  # standard errors by which each larger weight must help


@dataclass(frozen=True)
class SemiSupervised:
    """A parameter learner that has rows without a label as well.

    Parameters
    ----------
    learner : ParameterLearner
        The learner of the settings.
    rows : UnlabeledRows
        The rows without a label.
    weight : float
        What such a row counts.
    """

    learner: Any
    rows: UnlabeledRows
    weight: float

    @property
    def prior_is_shares(self) -> bool:
        """Whether the prior of the tables is the shares of the classes."""
        return bool(getattr(self.learner, "prior_is_shares", False))

    def learn(self, data: Any, counts: Counts, structure: Structure, context: Context) -> CPTs:
        """Learn the tables of a structure from labeled rows and from the others."""
        rows = data.in_memory('unlabeled="use"')
        unlabeled = self._encoded(rows)
        return learn_semi_supervised(self.learner, rows, counts, structure, context, unlabeled)

    def _encoded(self, data: Encoded) -> Encoded:
        """Return the rows in the domain of labeled ones, which may be other in each fold."""
        table = self.rows.table
        encoder = FrameEncoder.from_domain(data.domain)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # values that labeled rows do not have
            codes = np.ascontiguousarray(encoder.transform(table))
        own = np.ones(table.n_rows) if self.rows.weight is None else self.rows.weight
        return Encoded(codes, data.domain, np.zeros(table.n_rows, np.int64), self.weight * own)


def use_unlabeled(plan: FitPlan, rows: TrainingRows, encoder: FrameEncoder) -> FitPlan:
    """Return the plan whose parameters are learned from rows without a label as well.

    The weight of such a row is raised from zero as long as each step lowers the log loss of
    held-out labeled rows beyond chance. If the first step does not, they are not used.
    """
    unlabeled = rows.unlabeled
    assert unlabeled is not None
    n_rows = unlabeled.n_labeled + unlabeled.n_unlabeled
    there = f"{unlabeled.n_unlabeled} of {n_rows} rows have no label"
    if plan.unlabeled == "drop":
        _warn(f'{there} and are left out (unlabeled="drop")')
        return plan
    weight, losses = _choose_weight(plan, rows, encoder)
    if not losses:
        _warn(f"{there} and are not used: there are too few labeled ones to hold some out")
        return plan
    means = {key: float(np.mean(found)) for key, found in losses.items()}
    plan.context.record(unlabeled=unlabeled.n_unlabeled, weight=weight, log_loss=means)
    if not weight:
        _warn(
            f"{there} and are not used: they do not lower the log loss of held-out labeled rows,"
            f" {means[0.0]:.3f}, beyond chance",
        )
        return plan
    _warn(
        f"{there} and are used with a weight of {weight:g}, which lowers the log loss of held-out"
        f" labeled rows from {means[0.0]:.3f} to {means[weight]:.3f}",
    )
    return replace(plan, parameters=SemiSupervised(plan.parameters, unlabeled, weight))


def _warn(text: str) -> None:
    warnings.warn(text, DataWarning, stacklevel=4)


def _choose_weight(
    plan: FitPlan, rows: TrainingRows, encoder: FrameEncoder
) -> tuple[float, dict[float, np.ndarray]]:
    """Return the weight of unlabeled rows, and the losses of held-out rows of each that was tried.

    The test is paired, row by row. Small weights change all rows a little, so that few labeled rows
    can show whether that helps; the best of all weights is often one that a few rows speak for.
    """
    n_classes, unlabeled = encoder.domain_.n_classes, rows.unlabeled
    assert unlabeled is not None
    if n_classes == 1 or not unlabeled.table.n_rows:
        return 0.0, {}
    folds = assign_folds(rows.keys(), n_classes, N_FOLDS, ENOUGH, rows.max_keys)
    if not folds.rows.size:
        return 0.0, {}
    held_out = replace(plan, calibration=CalibrationPlan("unlabeled", N_FOLDS, required=False))
    labeled = clone(plan.parameters)  # does not begin with a fit that knows the held-out rows
    with ExitStack() as opened:
        parts = list(open_folds(held_out, rows, encoder, folds, opened))
        best, losses = 0.0, {0.0: _held_out_losses(labeled, parts)}
        for weight in WEIGHTS:
            learner = SemiSupervised(labeled, unlabeled, weight)
            losses[weight] = _held_out_losses(learner, parts)
            if not _helps(losses[best] - losses[weight]):
                break
            best = weight
    return best, losses


def _helps(gains: np.ndarray) -> bool:
    """Return whether losses fall beyond chance, from the gain of each row."""
    return bool(gains.sum() > MIN_GAIN * np.sqrt(gains.size) * gains.std())


def _held_out_losses(learner: Any, parts: Sequence[HeldOutFold]) -> np.ndarray:
    """Return the weighted log loss of each held-out row."""
    losses = []
    for part in parts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the fit on all rows warns
            tables = learner.learn(part.data, part.counts, part.structure, part.context)
        losses.append(part.weight * part.losses_of(part.network(learner, tables)))
    return np.concatenate(losses)
