"""What a classifier believes of rows that are codes: the network, its calibration and the prior in
force.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discbayes import inference
from discbayes.bayesnet import BayesNet
from discbayes.calibration import Calibration, normalized, possible_rows


@dataclass(frozen=True, eq=False)
class CalibratedPosterior:
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
                f"class_prior has a share for class {self.labels.tolist()[new[0]]!r}, which had"
                " none in calibration: give class_prior at fit, or fit with calibrate=None"
            )

    def log_posterior(self, codes: np.ndarray) -> np.ndarray:
        """Log P(c | x observed), exact also where P is too small for a number."""
        return self.log_posterior_of(self.log_joint(codes))

    def log_posterior_of(self, log_joint: np.ndarray) -> np.ndarray:
        """Log P(c | x observed) of rows whose log-joint is known."""
        scores = possible_rows(log_joint, self._scored_network.prior)
        if self.calibration is None:
            return normalized(scores)
        return self.calibration.log_posterior(scores, self.log_prior)

    def posterior(self, codes: np.ndarray) -> np.ndarray:
        """P(c | x observed); gaps are summed out, and a row that is impossible in every class gets
        the prior.
        """
        if self.calibration is not None:
            return np.exp(self.log_posterior(codes))
        return inference.posterior(
            self.log_joint(codes), self._scored_network.prior, self.network.n_jobs
        )

    def decisions(self, codes: np.ndarray) -> np.ndarray:
        """The place of the most probable class of each row; the first of equal ones."""
        return self.scores_of(self.log_joint(codes)).argmax(axis=1)

    def scores_of(self, log_joint: np.ndarray) -> np.ndarray:
        """What the decision is the largest of: the log-joint where it has the order of the
        posterior, or that.
        """
        if self.calibration is not None and (
            self.log_prior is not None or not self.calibration.keeps_order
        ):
            return self.log_posterior_of(log_joint)
        return possible_rows(log_joint, self._scored_network.prior)

    def log_joint(self, codes: np.ndarray) -> np.ndarray:
        """The log-joint that the posterior is made of; under a calibration it has the prior of the
        fit.
        """
        return self._scored_network.log_joint_of(codes)

    @cached_property
    def _scored_network(self) -> BayesNet:
        if self.calibration is None and self.log_prior is not None:
            return self.network.with_prior(self.log_prior)
        return self.network


def log_prior_of(prior: Sequence[float], n_classes: int) -> np.ndarray:
    """The logarithms of a ``class_prior`` that someone gave."""
    try:
        share = np.asarray(prior, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"class_prior={prior!r} must be a list of probabilities, in the order of classes_"
        ) from None
    if share.shape != (n_classes,):
        raise ValueError(f"class_prior has {share.size} entries for {n_classes} classes")
    if not np.isfinite(share).all() or (share < 0).any() or not np.isclose(share.sum(), 1.0):
        raise ValueError(f"class_prior={prior!r} must be probabilities that sum to 1")
    with np.errstate(divide="ignore"):
        return np.log(share / share.sum())
