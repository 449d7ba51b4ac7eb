"""Maps from a log-joint to probabilities that mean what they say, learned on rows that were held
out.

===========
========================================================================================== name
P(c | x) ===========
==========================================================================================
temperature  softmax of log-joint / T: one number, which never changes the order of the classes
isotonic     a rising step-like function of the log-odds of each class against the rest,
renormalised ===========
==========================================================================================

Both have one virtual row: where W is the weight of the rows that were held out, each of them gives
1 / (W + 1) of its weight to all classes in equal parts. That keeps a probability from becoming 0 or
1 because no held-out row speaks against it, and T from becoming 0 where all of them are right. A
class that is impossible stays impossible.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import brentq
from sklearn.isotonic import IsotonicRegression

from discbayes import inference
from discbayes.bayesnet import BayesNet
from discbayes.inference import log_marginal

MIN_TEMPERATURE, MAX_TEMPERATURE = 1e-3, 1e3
STRENGTH = 1.0  # virtual rows
AUTO = "auto"
ENOUGH_ROWS = {"temperature": 5_000.0}  # to hold out, by their weight: one number needs no more
_FARTHEST = 1e9  # stands for infinite log-odds where numbers must be finite


@dataclass(frozen=True, eq=False)
class Calibration(ABC):
    """What all maps share.

    ``class_shares`` are the shares of the classes in the data that the map was learned on: the
    prior that its probabilities have in them.
    """

    class_shares: np.ndarray
    keeps_order: ClassVar[bool] = False

    def __post_init__(self) -> None:
        shares = self.class_shares
        if (
            shares.ndim != 1
            or not ((shares >= 0) & (shares <= 1.001)).all()
            or not np.isclose(shares.sum(), 1.0)
        ):
            raise ValueError(
                "the class shares of a calibration must be probabilities that sum to 1"
            )

    @abstractmethod
    def _log_posterior(self, log_joint: np.ndarray) -> np.ndarray:
        """Log P(c | x) where the classes have their shares."""

    def log_posterior(
        self, log_joint: np.ndarray, log_prior: np.ndarray | None = None
    ) -> np.ndarray:
        """Log P(c | x) of rows that are possible in one class at least.

        Where the classes have other shares than they had in learning, ``log_prior``, the odds of
        the calibrated probabilities change as those of the shares do.
        """
        posterior = self._log_posterior(log_joint)
        if log_prior is None:
            return posterior
        kept = self.class_shares > 0
        change = np.full(kept.size, -np.inf)
        change[kept] = log_prior[kept] - np.log(self.class_shares[kept])
        return normalized(possible_rows(posterior + change, np.exp(log_prior)))


@dataclass(frozen=True, eq=False)
class Temperature(Calibration):
    """P(c | x) = softmax(log-joint / T): above 1 for a network that is too sure of itself, below 1
    for the other case.

    >>> sharp = np.log([[0.99, 0.01]])
    >>> np.exp(Temperature(np.array([0.5, 0.5]), 2.0).log_posterior(sharp)).round(3)
    array([[0.909, 0.091]])
    """

    temperature: float
    keeps_order: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not MIN_TEMPERATURE <= self.temperature <= MAX_TEMPERATURE:
            raise ValueError(
                f"a temperature is from {MIN_TEMPERATURE} to {MAX_TEMPERATURE}, not"
                f" {self.temperature}"
            )

    def _log_posterior(self, log_joint: np.ndarray) -> np.ndarray:
        return normalized(_below_best(log_joint) / self.temperature)


@dataclass(frozen=True, eq=False, repr=False)
class Isotonic(Calibration):
    """P(c | x) from the log-odds of each class against the rest: linear between thresholds,
    constant beyond them.

    ``log_odds[c]`` and ``probabilities[c]`` are the thresholds of class c, both rising. The
    probabilities of a row are divided by their sum; where all of them are zero the row keeps its
    probabilities.
    """

    log_odds: tuple[np.ndarray, ...]
    probabilities: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not len(self.log_odds) == len(self.probabilities) == self.class_shares.size:
            raise ValueError("an isotonic calibration needs thresholds for every class")
        for odds, values in zip(self.log_odds, self.probabilities, strict=True):
            if odds.ndim != 1 or odds.shape != values.shape or not odds.size:
                raise ValueError(
                    "the thresholds of an isotonic calibration are pairs of numbers, one pair at"
                    " least"
                )
            if not (np.abs(odds) <= _FARTHEST).all() or not (np.diff(odds) > 0).all():
                raise ValueError(
                    "the log-odds of an isotonic calibration must be finite (at most"
                    f" ±{_FARTHEST:g}) and rise"
                )
            if (
                not (values >= 0).all()
                or not (values <= 1).all()
                or not (np.diff(values) >= 0).all()
            ):
                raise ValueError(
                    "the values of an isotonic calibration must be probabilities that do not fall"
                )

    def _log_posterior(self, log_joint: np.ndarray) -> np.ndarray:
        shares = np.empty_like(log_joint)
        columns = zip(log_odds(log_joint).T, self.log_odds, self.probabilities, strict=True)
        for c, (odds, thresholds, values) in enumerate(columns):
            shares[:, c] = np.interp(odds, thresholds, values)
        shares[log_joint == -np.inf] = 0.0
        total = shares.sum(axis=1, keepdims=True)
        lost = total[:, 0] == 0
        with np.errstate(divide="ignore", invalid="ignore"):
            posterior = np.log(shares / total)
        posterior[lost] = normalized(log_joint[lost])
        return posterior

    def __repr__(self) -> str:
        return f"Isotonic(thresholds={[odds.size for odds in self.log_odds]})"


# Learning


def learn_temperature(
    log_joint: np.ndarray,
    classes: np.ndarray,
    weight: np.ndarray,
    class_shares: np.ndarray,
    strength: float = STRENGTH,
) -> Temperature:
    """The T of the largest Σ weight · log softmax(log-joint / T)[class], from 0.001 to 1000.

    The sum is concave in 1/T, so that its slope has one zero. Rows whose class is impossible have
    no say. ``strength`` is the number of virtual rows; with 0 the sum has no maximum where every
    row is right, and T is 0.001.
    """
    gap = _below_best(log_joint)
    own = gap[np.arange(classes.size), classes]
    heard = np.isfinite(own) & (weight > 0)
    gap, own, share = gap[heard], own[heard], weight[heard] / weight.sum()
    finite = np.where(np.isfinite(gap), gap, 0.0)
    virtual = strength / (weight.sum() + strength)
    possible = np.count_nonzero(np.isfinite(gap), axis=1)
    wanted = (1 - virtual) * own + virtual * finite.sum(axis=1) / possible

    def slope(log_beta: float) -> float:
        odds = np.exp(np.exp(log_beta) * gap)
        return float(share @ (wanted - np.einsum("ij,ij->i", odds, finite) / odds.sum(axis=1)))

    if not finite.any():
        return Temperature(class_shares, 1.0)
    found = np.exp(-_falling_zero(slope, -np.log(MAX_TEMPERATURE), -np.log(MIN_TEMPERATURE)))
    return Temperature(class_shares, float(np.clip(found, MIN_TEMPERATURE, MAX_TEMPERATURE)))


def _falling_zero(function: Callable[[float], float], least: float, most: float) -> float:
    """Where a falling function is zero, looked for from 0 on; an end of the range if that is beyond
    it.
    """
    sign = 1.0 if function(0.0) > 0 else -1.0
    near, end = 0.0, most if sign > 0 else least
    step = 0.5
    while near != end:
        far = float(np.clip(near + sign * step, least, most))
        if sign * function(far) <= 0:
            return float(brentq(function, near, far, xtol=1e-10))
        near, step = far, 2 * step
    return end


def learn_isotonic(
    log_joint: np.ndarray,
    classes: np.ndarray,
    weight: np.ndarray,
    class_shares: np.ndarray,
    strength: float = STRENGTH,
) -> Isotonic:
    """For each class the rising function of its log-odds that is nearest to the classes, by
    weighted squares.

    ``strength`` is the number of virtual rows; with 0 the functions reach 0 and 1.
    """
    n_classes, used = log_joint.shape[1], weight > 0
    odds, classes, weight = log_odds(log_joint[used]), classes[used], weight[used]
    virtual = strength / (weight.sum() + strength)
    wanted = (1 - virtual) * np.eye(n_classes)[classes] + virtual / n_classes
    fits = [
        IsotonicRegression(y_min=0.0, y_max=1.0).fit(odds[:, c], wanted[:, c], weight)
        for c in range(n_classes)
    ]
    return Isotonic(
        class_shares,
        *(tuple(getattr(f, a) for f in fits) for a in ("X_thresholds_", "y_thresholds_")),
    )


CALIBRATIONS: dict[str, Callable[..., Calibration]] = {
    "temperature": learn_temperature,
    "isotonic": learn_isotonic,
}


def check_calibration(name: Any, n_folds: Any) -> None:
    """Refuse settings that make no sense."""
    if name not in (None, AUTO) and (not isinstance(name, str) or name not in CALIBRATIONS):
        known = ", ".join(map(repr, (AUTO, *CALIBRATIONS)))
        raise ValueError(f"calibrate={name!r} is not known; it is one of {known}, or None")
    if not isinstance(n_folds, (int, np.integer)) or isinstance(n_folds, bool) or n_folds < 2:
        raise ValueError(f"calibrate_folds={n_folds!r} must be a whole number of at least 2")


def check_alone(name: str, alone: np.ndarray, labels: list[Any]) -> None:
    """Refuse classes of one row where each class is calibrated on its own; one class of two rows is
    always needed.
    """
    places = np.flatnonzero(alone)
    if places.size and (name == "isotonic" or places.size == len(labels)):
        more = f" (and {places.size - 1} other classes)" if places.size > 1 else ""
        raise ValueError(
            f"class {labels[places[0]]!r}{more} has 1 row, and calibrate={name!r} needs 2 rows of a"
            " class: one to hold out, one to learn from. Add rows, leave the class out, join it"
            " with another one, or do not calibrate"
        )


# Rows


def possible_rows(log_joint: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """The log-joint; rows that are impossible in every class have the logarithm of the prior there.

    >>> possible_rows(np.array([[-1.0, -np.inf], [-np.inf, -np.inf]]), np.array([1.0, 0.0]))
    array([[ -1., -inf], [  0., -inf]])
    """
    impossible = (log_joint == -np.inf).all(axis=1)
    if not impossible.any():
        return log_joint
    with np.errstate(divide="ignore"):
        return np.where(impossible[:, None], np.log(prior), log_joint)


def log_odds(log_joint: np.ndarray) -> np.ndarray:
    """Log P(c | x) / (1 − P(c | x)), exact also where P is 1 to the last digit; infinite ones
    become ±10⁹.

    >>> log_odds(np.log([[0.75, 0.25]])).round(3)
    array([[ 1.099, -1.099]])
    """
    rows, best = np.arange(log_joint.shape[0]), log_joint.argmax(axis=1)
    others = log_joint.copy()
    others[rows, best] = -np.inf
    gap = _below_best(log_joint)
    share = np.exp(gap)
    with np.errstate(divide="ignore"):
        odds = gap - np.log(share.sum(axis=1, keepdims=True) - share)
    odds[rows, best] = log_joint[rows, best] - log_marginal(others)
    return np.clip(odds, -_FARTHEST, _FARTHEST)


def _below_best(log_joint: np.ndarray) -> np.ndarray:
    return log_joint - log_joint.max(axis=1, keepdims=True)


def normalized(log_joint: np.ndarray) -> np.ndarray:
    return log_joint - log_marginal(log_joint)[:, None]


# ---- the network with its calibration


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
