"""Cross-fitted calibration: learn the map to probabilities from predictions of held-out rows."""

from __future__ import annotations

import warnings

import numpy as np

from discbayes.calibration import (
    CALIBRATIONS,
    ENOUGH_ROWS,
    Calibration,
    check_alone,
    log_prior_of,
    possible_rows,
)
from discbayes.classifier.fitting import FitPlan, class_weights, learn_network, weigh_and_count
from discbayes.classifier.training_rows import TrainingRows
from discbayes.data import FrameEncoder
from discbayes.data.folds import FoldAssignment, assign_folds


def assign_calibration_folds(
    plan: FitPlan, rows: TrainingRows, encoder: FrameEncoder
) -> FoldAssignment | None:
    """Assign the rows of a fit to the folds of calibration; None if none are held out.

    Classes that are too small for the method that the user asked for are refused.
    """
    calibration, target = plan.calibration, encoder.domain_.target
    n_classes = encoder.domain_.n_classes
    if calibration is None or n_classes == 1:
        return None
    enough = ENOUGH_ROWS.get(calibration.method, np.inf)
    folds = assign_folds(rows.keys(), n_classes, calibration.n_folds, enough, rows.max_keys)
    if calibration.required:
        check_alone(calibration.method, folds.alone, list(target.values))
    return folds if folds.rows.size else None


def learn_calibration(
    plan: FitPlan, rows: TrainingRows, encoder: FrameEncoder, folds: FoldAssignment
) -> Calibration:
    """Learn the map from the log-joint to calibrated probabilities.

    Everything, the cut points included, is learned anew without each fold; the map is learned
    from the log-joint of the rows of all folds.

    Parameters
    ----------
    plan : FitPlan
        The settings of the fit.
    rows : TrainingRows
        The rows of the fit.
    encoder : FrameEncoder
        The encoder of all rows.
    folds : FoldAssignment
        The rows, and how much of their weight, that each fold holds out.
    """
    calibration = plan.calibration
    assert calibration is not None
    log_joint = []
    for fold, rng in enumerate(plan.context.rng.spawn(calibration.n_folds)):
        held_out, weight = folds.fold(fold)
        if held_out.size:
            plan.context.progress.stage(f"calibration: fold {fold + 1} of {calibration.n_folds}")
            log_joint.append(_held_out_log_joint(plan, rows, encoder, held_out, weight, rng))
    weight, shares = calibration_weights(plan, folds, encoder.classes_)
    learn = CALIBRATIONS[calibration.method]
    return learn(np.concatenate(log_joint), folds.classes, weight, shares)


def _held_out_log_joint(
    plan: FitPlan,
    rows: TrainingRows,
    encoder: FrameEncoder,
    held_out: np.ndarray,
    weight: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return the log-joint of held-out rows under the network fitted on the remaining rows.

    Rows that are impossible in every class have the log prior.
    """
    context = plan.context.of_fold(rng)
    fold_encoder = plan.new_encoder(encoder.domain_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the fit on all rows has warned already
        with rows.encode_without(held_out, weight, fold_encoder, context.progress) as split:
            data, held_out_codes = split
            data, counts = weigh_and_count(plan, data, fold_encoder.classes_)
            network = learn_network(plan, data, counts, context)
        return possible_rows(network.log_joint_of(held_out_codes()), network.prior)


def calibration_weights(
    plan: FitPlan, folds: FoldAssignment, classes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of held-out rows in calibration, and the class shares that follow.

    The classes have the shares that the network takes for their prior.
    """
    factors = np.ones(classes.size)
    if plan.class_weight is not None:
        factors = class_weights(plan.class_weight, classes, folds.class_rows)
    total = folds.class_weight * factors
    shares = total / total.sum()
    if plan.class_prior is None:
        return factors[folds.classes] * folds.weight, shares
    prior = np.exp(log_prior_of(plan.class_prior, classes.size))
    if not (prior * shares).any():
        raise ValueError(
            "calibrate has no rows: the classes that class_prior allows have no weight in"
            " class_weight"
        )
    factors = factors * np.divide(prior, shares, out=np.zeros_like(prior), where=shares > 0)
    total = folds.class_weight * factors
    return factors[folds.classes] * folds.weight, total / total.sum()
