"""What a classifier believes of rows that are codes: the network, its calibration and the prior in force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discbayes import inference
from discbayes.bayesnet import BayesNet
from discbayes.calibration import Calibration, normalized, possible_rows


@dataclass(frozen=True, eq=False)
class Beliefs:
    """From codes to log P(c | x observed), as ``predict_log_proba`` gives it.

    Parameters
    ----------
    network : BayesNet
        The log-joint.
    labels : ndarray
        The classes, as the user wrote them.
    calibration : Calibration or None
        From log-joints to probabilities.
    log_prior : ndarray or None
        Shares of the classes other than those of the fit.
    """

    network: BayesNet
    labels: np.ndarray
    calibration: Calibration | None = None
    log_prior: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.calibration is None or self.log_prior is None:
            return
        new = np.flatnonzero((self.calibration.class_shares == 0) & (self.log_prior > -np.inf))
        if new.size:
            raise ValueError(
                f"class_prior has a share for class {self.labels.tolist()[new[0]]!r}, which had none in calibration: "
                "give class_prior at fit, or fit with calibrate=None"
            )

    def log_posterior(self, codes: np.ndarray) -> np.ndarray:
        """Log P(c | x observed), exact also where P is too small for a number."""
        scores = possible_rows(*self._scores(codes))
        if self.calibration is None:
            return normalized(scores)
        return self.calibration.log_posterior(scores, self.log_prior)

    def posterior(self, codes: np.ndarray) -> np.ndarray:
        """P(c | x observed); gaps are summed out, and a row that is impossible in every class gets the prior."""
        if self.calibration is not None:
            return np.exp(self.log_posterior(codes))
        return inference.posterior(*self._scores(codes), self.network.n_jobs)

    def decisions(self, codes: np.ndarray) -> np.ndarray:
        """The place of the most probable class of each row; the first of equal ones."""
        if self.calibration is not None and (self.log_prior is not None or not self.calibration.keeps_order):
            return self.log_posterior(codes).argmax(axis=1)
        return possible_rows(*self._scores(codes)).argmax(axis=1)

    def _scores(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The log-joint, and the prior that stands in it; a calibration is of the prior of the fit."""
        network = self.network
        if self.calibration is None and self.log_prior is not None:
            network = network.with_prior(self.log_prior)
        return network.log_joint_of(codes), network.prior


def log_prior_of(prior: Sequence[float], n_classes: int) -> np.ndarray:
    """The logarithms of a ``class_prior`` that someone gave."""
    try:
        share = np.asarray(prior, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"class_prior={prior!r} must be a list of probabilities, in the order of classes_") from None
    if share.shape != (n_classes,):
        raise ValueError(f"class_prior has {share.size} entries for {n_classes} classes")
    if not np.isfinite(share).all() or (share < 0).any() or not np.isclose(share.sum(), 1.0):
        raise ValueError(f"class_prior={prior!r} must be probabilities that sum to 1")
    with np.errstate(divide="ignore"):
        return np.log(share / share.sum())
