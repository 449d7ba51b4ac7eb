"""Rows without a label: set aside, and used as far as held-out labeled rows speak for it."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discbayes.classifier.choosing import open_folds
from discbayes.classifier.fitting import CalibrationPlan, FitPlan
from discbayes.classifier.training_rows import TrainingRows, UnlabeledRows
from discbayes.counts import Counts
from discbayes.data import Encoded, FrameEncoder
from discbayes.data.folds import assign_folds
from discbayes.data.targets import DataWarning
from discbayes.engine import Context
from discbayes.network import CPTs, Structure
from discbayes.parameters.semi_supervised import learn_semi_supervised

WEIGHTS = (0.01, 0.03, 0.1, 0.3, 1.0)  # of a row without a label, to choose from
N_FOLDS = 5
ENOUGH = 1000  # held-out rows
MIN_GAIN = 2.0  # standard errors by which rows without a label must help


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

    The weight of such a row is that of the least log loss of held-out labeled rows. It is zero, and
    they are not used, unless they help beyond chance.
    """
    unlabeled = rows.unlabeled
    assert unlabeled is not None
    n_rows = unlabeled.n_labeled + unlabeled.n_unlabeled
    there = f"{unlabeled.n_unlabeled} of {n_rows} rows have no label"
    if plan.unlabeled == "drop":
        _warn(f'{there} and are left out (unlabeled="drop")')
        return plan
    losses = _held_out_losses(plan, rows, encoder)
    if not losses:
        _warn(f"{there} and are not used: there are too few labeled ones to hold some out")
        return plan
    weight = _best_weight(losses)
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


def _best_weight(losses: dict[float, np.ndarray]) -> float:
    """Return the weight of the least loss if that is less than without, beyond chance, else 0."""
    best = min(losses, key=lambda weight: float(losses[weight].sum()))
    gain = losses[0.0] - losses[best]
    error = float(np.sqrt(gain.size) * gain.std())
    return best if gain.sum() > MIN_GAIN * error else 0.0


def _held_out_losses(
    plan: FitPlan, rows: TrainingRows, encoder: FrameEncoder
) -> dict[float, np.ndarray]:
    """Return the weighted log loss of each held-out row, for each weight of unlabeled rows."""
    n_classes, unlabeled = encoder.domain_.n_classes, rows.unlabeled
    assert unlabeled is not None
    if n_classes == 1 or not unlabeled.table.n_rows:
        return {}
    folds = assign_folds(rows.keys(), n_classes, N_FOLDS, ENOUGH, rows.max_keys)
    if not folds.rows.size:
        return {}
    held_out = replace(plan, calibration=CalibrationPlan("unlabeled", N_FOLDS, required=False))
    found: dict[float, list[np.ndarray]] = {weight: [] for weight in (0.0, *WEIGHTS)}
    with ExitStack() as opened:
        for part in open_folds(held_out, rows, encoder, folds, opened):
            for weight, losses in found.items():
                learner = SemiSupervised(plan.parameters, unlabeled, weight)
                if not weight:
                    learner = plan.parameters
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)  # the fit on all rows warns
                    tables = learner.learn(part.data, part.counts, part.structure, part.context)
                losses.append(part.weight * part.losses_of(part.network(learner, tables)))
    return {weight: np.concatenate(losses) for weight, losses in found.items()}
