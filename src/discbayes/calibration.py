"""Calibrated probabilities: maps from a log-joint to P(c | x), learned on held-out rows.

===========  ======================================================================================
method       P(c | x)
===========  ======================================================================================
temperature  softmax of log-joint / T: one number, which never changes the order of the classes
isotonic     an increasing function of the log odds of each class against the rest, renormalized
pool         a log pool of the network and its generative estimates, by the share of missing values
===========  ======================================================================================

The first two have one virtual row: where W is the weight of the held-out rows, each of them gives
1 / (W + 1) of its weight to all classes in equal parts. That keeps a probability from becoming 0 or
1 because no held-out row contradicts it, and T from becoming 0 where all of them are predicted
correctly. A class that is impossible stays impossible.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, gammaln
from sklearn.isotonic import IsotonicRegression

from discbayes import inference
from discbayes._settings import require_integer, sums_to_one
from discbayes.bayesnet import BayesNet
from discbayes.data.evidence import EvidenceColumn
from discbayes.engine import parallel_map
from discbayes.inference import log_marginal

MIN_TEMPERATURE = 1e-3
MAX_TEMPERATURE = 1e3
STRENGTH = 1.0  # virtual rows
AUTO = "auto"
# rows to hold out, by their weight: few numbers need no more
ENOUGH_ROWS = {"temperature": 5_000.0, "pool": 1_000.0, "ensemble": 700.0}
MIN_SCALE = 0.01
MAX_SCALE = 10.0
POOL_EXPONENT = 8.0  # with an eighth of the values missing, the network has a third of the weight
MAX_EXPONENT = 64.0
EXPONENTS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  # to choose from by held-out rows
UNUSUAL = 0.1  # rows whose missing values have other reasons than those of the training rows
MAX_LOSS = 20.0  # nats: one row must not decide
RARE = 1e-3  # how probable it is, in a usual row, that a value is not known for another reason
_FARTHEST = 1e9  # stands for infinite log-odds where numbers must be finite


@dataclass(frozen=True, eq=False)
class Calibration(ABC):
    """A map from a log-joint to calibrated probabilities.

    Parameters
    ----------
    class_shares : ndarray
        The shares of the classes in the data that the map was learned on: the prior of its
        probabilities.
    """

    class_shares: np.ndarray
    keeps_order: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_class_shares(self.class_shares)

    @abstractmethod
    def _log_posterior(self, log_joint: np.ndarray) -> np.ndarray:
        """Return log P(c | x) where the classes have the shares of the data."""

    def log_posterior(
        self, log_joint: np.ndarray, log_prior: np.ndarray | None = None
    ) -> np.ndarray:
        """Return log P(c | x) of rows that are possible in one class at least.

        Parameters
        ----------
        log_joint : ndarray of shape (n_samples, n_classes)
            The log-joint of the network.
        log_prior : ndarray of shape (n_classes,), optional
            The logarithms of other class shares than those of the data: the odds of the calibrated
            probabilities change as those of the shares do.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The logarithms of the calibrated probabilities.

        Examples
        --------
        >>> half = np.array([0.5, 0.5])
        >>> sure = np.log([[0.99, 0.01]])
        >>> np.exp(Temperature(half, 2.0).log_posterior(sure, np.log([0.1, 0.9]))).round(3)
        array([[0.525, 0.475]])
        """
        posterior = self._log_posterior(log_joint)
        if log_prior is None:
            return posterior
        kept = self.class_shares > 0
        change = np.full(kept.size, -np.inf)
        # exact for calibrated probabilities: their odds change as the shares do
        change[kept] = log_prior[kept] - np.log(self.class_shares[kept])
        return normalized(possible_rows(posterior + change, np.exp(log_prior)))


def check_class_shares(shares: np.ndarray) -> None:
    """Refuse class shares that are not probabilities of one distribution."""
    if shares.ndim != 1 or not sums_to_one(shares):
        raise ValueError("the class shares of a calibration must be probabilities that sum to 1")


@dataclass(frozen=True, eq=False)
class Temperature(Calibration):
    """Temperature scaling: P(c | x) = softmax(log-joint / T).

    Parameters
    ----------
    class_shares : ndarray
        The shares of the classes in the data that the map was learned on.
    temperature : float
        T: above 1 for an overconfident network, below 1 for an underconfident one.

    Examples
    --------
    >>> sure = np.log([[0.99, 0.01]])
    >>> np.exp(Temperature(np.array([0.5, 0.5]), 2.0).log_posterior(sure)).round(3)
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
    """Isotonic calibration: P(c | x) from the log odds of each class against the rest.

    The function of a class is linear between its thresholds and constant beyond them. The
    probabilities of a row are divided by their sum; where all of them are zero the row keeps its
    probabilities.

    Parameters
    ----------
    class_shares : ndarray
        The shares of the classes in the data that the map was learned on.
    log_odds : tuple of ndarray
        The thresholds of each class, in increasing order.
    probabilities : tuple of ndarray
        The probabilities at these thresholds, which do not decrease.

    Examples
    --------
    >>> odds = (np.array([-1.0, 1.0]), np.array([-1.0, 1.0]))
    >>> shares = (np.array([0.2, 0.8]), np.array([0.2, 0.8]))
    >>> isotonic = Isotonic(np.array([0.5, 0.5]), odds, shares)
    >>> np.exp(isotonic.log_posterior(np.log([[0.99, 0.01]]))).round(3)
    array([[0.8, 0.2]])
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
            if not (values[0] >= 0 and values[-1] <= 1 and (np.diff(values) >= 0).all()):
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
        # where the map gives every class zero, the network alone decides
        posterior[lost] = normalized(log_joint[lost])
        return posterior

    def __repr__(self) -> str:
        return f"Isotonic(thresholds={[odds.size for odds in self.log_odds]})"


@dataclass(frozen=True, eq=False)
class LogPool(Calibration):
    """A log pool of a discriminative network and its generative estimates.

    Tables that are learned for complete rows are best on complete rows; with missing values the
    generative estimates of the same structure are better. With r the share of missing values of a
    row beyond the usual one, and b the logarithms of the class shares::

        log P(c | x) = b + w·(log P_network − b) + (1 − w)·τ·(log P_generative − b) + constant,
        w = u·(1 − r)^exponent,  τ = scale^(1 − r)

    So the posterior of a complete row is that of the network, and a row without any value has the
    class shares. In the end the class shares are mixed in by the share ``doubt``, which keeps a
    network that was learned from few rows from being too sure.

    Where "missing" is a value of some columns, u is the probability that the missing values of the
    row are usual, as `usual` computes it from the prior probability ``unusual`` that they are not.
    The network reads them as evidence, and the generative estimates marginalize them. So missing
    values that are like those of the training rows are evidence, and others are not. Without
    ``unusual`` they are evidence always: u is 1, and both networks read them.

    Parameters
    ----------
    class_shares : ndarray
        The shares of the classes in the data that the map was learned on.
    generative : BayesNet
        The generative estimates, a network of the same structure.
    scale : float
        The factor on the log odds of the generative estimates of a complete row. Generative
        estimates are mostly too sure.
    doubt : float, default=0
        The share of the class shares in the result.
    usual_missing : float, default=0
        The share of missing values in the rows that the network was learned from.
    unusual : float, default=0
        The prior probability that the missing values of a row are not missing for the reasons of
        the training rows.
    exponent : float, default=8
        How fast the network loses its weight as values are missing.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> clf = BayesNetClassifier("auto", "auto").fit(iris.X, iris.y)
    >>> clf.calibration_
    LogPool(scale=..., doubt=..., usual_missing=0, exponent=...)
    """

    generative: BayesNet
    scale: float
    doubt: float = 0.0
    usual_missing: float = 0.0
    unusual: float = 0.0
    exponent: float = POOL_EXPONENT

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.exponent <= MAX_EXPONENT:
            raise ValueError(
                f"the exponent of a pool is from 0 to {MAX_EXPONENT:g}, not {self.exponent}"
            )
        if not MIN_SCALE <= self.scale <= MAX_SCALE:
            raise ValueError(
                f"the scale of a pool is from {MIN_SCALE} to {MAX_SCALE}, not {self.scale}"
            )
        for name in ("doubt", "usual_missing", "unusual"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} of a pool is a share, not {getattr(self, name)}")

    @cached_property
    def reads_missing(self) -> np.ndarray:
        """Which columns have a value "missing" that is evidence in usual rows only."""
        features = self.generative.domain.features
        read = [feature.reads_missing and feature.card > 1 for feature in features]
        return np.array(read, dtype=bool) & bool(self.unusual)

    @cached_property
    def observed(self) -> BayesNet:
        """The generative estimates of values that are there: without the values "missing"."""
        tables = self.generative.parameters
        if not self.reads_missing.any():
            return self.generative
        log_theta = tables.log_theta.copy()
        for i in np.flatnonzero(self.reads_missing).tolist():
            table = tables.layout.table(log_theta, i)
            there = table[..., :-1, :]
            total = np.logaddexp.reduce(there, axis=-2, keepdims=True)
            # where a value is never there, all are equally probable
            equal = -np.log(there.shape[-2])
            with np.errstate(invalid="ignore"):
                table[..., :-1, :] = np.where(total > -np.inf, there - total, equal)
            table[..., -1, :] = -np.inf
        return replace(self.generative, parameters=replace(tables, log_theta=log_theta))

    def hidden(self, codes: np.ndarray) -> np.ndarray:
        """Return rows as the generative estimates read them: what is missing is not known.

        Parameters
        ----------
        codes : ndarray of shape (n_features, n_samples)
            The rows as codes.

        Returns
        -------
        ndarray of shape (n_features, n_samples)
            The codes; the rows themselves if missing values are no evidence, or always are.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("auto", "auto").fit(iris.X, iris.y)
        >>> codes = clf.encode(iris.X)
        >>> clf.calibration_.hidden(codes) is codes
        True
        """
        if not self.reads_missing.any():
            return codes
        cards = self.generative.domain.cards[:, None]
        missing = self.reads_missing[:, None] & (codes == cards - 1)
        return np.where(missing, cards, codes).astype(codes.dtype)

    def share_missing(self, codes: np.ndarray) -> np.ndarray:
        """Return the share of missing values of each row, among columns of several values.

        A value "missing" that is read is not one of them.

        Parameters
        ----------
        codes : ndarray of shape (n_features, n_samples)
            The rows as codes.

        Returns
        -------
        ndarray of shape (n_samples,)
            The shares.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("auto", "auto").fit(iris.X, iris.y)
        >>> clf.calibration_.share_missing(clf.encode(iris.X[:1].where(iris.X[:1] > 3)))
        array([0.5])
        """
        return self._n_unknown(codes) / max(1, np.count_nonzero(self._used))

    def usual(self, codes: np.ndarray) -> np.ndarray:
        """Return the probability that the missing values of each row are usual.

        By Bayes' rule, with ``unusual`` as the prior probability of the contrary. Usual missing
        values come from the joint distribution of the generative estimates, which has a probability
        of "missing", and each other value that is not known has the probability 0.001. If they are
        unusual, the number of missing values is any from 0 to d, and so many columns of the d are
        equally probable.

        Parameters
        ----------
        codes : ndarray of shape (n_features, n_samples)
            The rows as codes.

        Returns
        -------
        ndarray of shape (n_samples,)
            The probabilities; 1 where no missing value is read.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("auto", "auto").fit(iris.X, iris.y)
        >>> clf.calibration_.usual(clf.encode(iris.X[:2]))
        array([1., 1.])
        """
        found = np.ones(codes.shape[1])
        hidden = self.hidden(codes)
        rows = np.flatnonzero(self._n_unknown(hidden) > self._n_unknown(codes))
        if not rows.size:
            return found
        codes = codes[:, rows]
        hidden = hidden[:, rows]
        n_missing = self._n_unknown(hidden)
        n_columns = int(np.count_nonzero(self._used))
        log_patterns = log_choose(n_columns, n_missing) + np.log(n_columns + 1)
        usual = log_marginal(self.generative.log_joint_of(codes))
        usual += self._n_unknown(codes) * np.log(RARE)
        unusual = log_marginal(self.observed.log_joint_of(hidden)) - log_patterns
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = usual - unusual + np.log1p(-self.unusual) - np.log(self.unusual)
        found[rows] = np.where(np.isnan(odds), 1.0, expit(odds))  # NaN in impossible rows
        return found

    @cached_property
    def _used(self) -> np.ndarray:
        domain = self.generative.domain
        columns = np.array([feature.kind != "evidence" for feature in domain.features], dtype=bool)
        return columns & (domain.cards > 1)

    def _n_unknown(self, codes: np.ndarray) -> np.ndarray:
        """Return how many values of each row are not known, among columns of several values."""
        used = self._used
        cards = self.generative.domain.cards[used, None]
        return np.asarray((codes[used] >= cards).sum(axis=0))

    def pooled(
        self, log_joint: np.ndarray, generative: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Return the pool of the log-joints of rows with these weights.

        Parameters
        ----------
        log_joint, generative : ndarray of shape (n_samples, n_classes)
            The log-joint under the network, and under the generative estimates, which is not read
            where it has no weight.
        weights : ndarray of shape (2, n_samples)
            The weights of both networks in each row.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The logarithm of the posterior, up to a constant for each row.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> pool = BayesNetClassifier("auto", "auto").fit(iris.X, iris.y).calibration_
        >>> log_joint = np.log([[0.2, 0.3, 0.5]])
        >>> np.exp(pool.pooled(log_joint, log_joint, np.array([[1.0], [0.0]])))
        array([[0.2, 0.3, 0.5]])
        """
        own, of_generative = weights[:, :, None]
        with np.errstate(divide="ignore"):
            shares = np.log(self.class_shares)
        kept = np.isfinite(shares)
        found = np.full(log_joint.shape, -np.inf)
        found[:, kept] = (
            _weighted(own, log_joint[:, kept])
            + (1 - own) * shares[kept]
            + _weighted(of_generative, generative[:, kept] - shares[kept])
        )
        return found

    def weights_of(self, codes: np.ndarray) -> np.ndarray:
        """Return the weights of both networks in each row.

        Parameters
        ----------
        codes : ndarray of shape (n_features, n_samples)
            The rows as codes.

        Returns
        -------
        ndarray of shape (2, n_samples)
            The factors w and (1 − w)·τ on the log odds.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("auto", "auto").fit(iris.X, iris.y)
        >>> clf.calibration_.weights_of(clf.encode(iris.X[:1]))
        array([[1.], [0.]])
        """
        share = self.share_missing(codes)
        if not self.reads_missing.any():
            return self.weights(share)
        return self.weights(share, self.share_missing(self.hidden(codes)), self.usual(codes))

    def weights(
        self,
        share: np.ndarray,
        hidden: np.ndarray | None = None,
        usual: np.ndarray | float = 1.0,
    ) -> np.ndarray:
        """Return the weights of both networks in rows with these shares of missing values.

        Parameters
        ----------
        share : ndarray of shape (n_samples,)
            The shares of missing values.
        hidden : ndarray of shape (n_samples,), optional
            The shares of values that the generative estimates marginalize; by default the same.
        usual : ndarray of shape (n_samples,), default=1
            How probable it is that missing values which are read are usual.

        Returns
        -------
        ndarray of shape (2, n_samples)
            The factors w and (1 − w)·τ on the log odds.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> pool = BayesNetClassifier("auto", "auto").fit(iris.X, iris.y).calibration_
        >>> pool.weights(np.array([0.0, 1.0]))
        array([[1., 0.],
               [0., 1.]])
        """
        own = usual * _share_known(share, self.usual_missing) ** self.exponent
        scale = self.scale ** (1 - (share if hidden is None else hidden))
        return np.array([own, (1 - own) * scale])

    def _log_posterior(self, log_joint: np.ndarray) -> np.ndarray:
        posterior = normalized(log_joint)
        if not self.doubt:
            return posterior
        with np.errstate(divide="ignore"):
            mixed = np.logaddexp(
                np.log1p(-self.doubt) + posterior, np.log(self.doubt * self.class_shares)
            )
        return normalized(mixed)  # the shares sum to one but for rounding

    def __repr__(self) -> str:
        numbers = ["scale", "doubt", "usual_missing", *["unusual"] * bool(self.unusual), "exponent"]
        return f"LogPool({', '.join(f'{name}={getattr(self, name):.3g}' for name in numbers)})"


def log_choose(n: int, k: np.ndarray) -> np.ndarray:
    """Return the logarithm of the number of sets of k among n.

    >>> np.exp(log_choose(4, np.array([0, 2]))).round(6)
    array([1., 6.])
    """
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def _share_known(share: np.ndarray, usual_missing: float) -> np.ndarray:
    """Return the share of known values, from the share of missing ones; 1 if these are usual."""
    beyond = np.maximum(share - usual_missing, 0.0) / max(1 - usual_missing, 1e-9)
    return np.asarray(1 - np.minimum(beyond, 1.0))


def _weighted(weight: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return weighted logarithms; what has no weight may be −∞."""
    with np.errstate(invalid="ignore"):
        return np.where(weight == 0, 0.0, weight * scores)


# ---- learning a map


def learn_temperature(
    log_joint: np.ndarray,
    classes: np.ndarray,
    weight: np.ndarray,
    class_shares: np.ndarray,
    strength: float = STRENGTH,
) -> Temperature:
    """Learn the T that maximizes Σ weight · log softmax(log-joint / T)[class], from 0.001 to 1000.

    The sum is concave in β = 1/T, so that its slope has one zero; it is looked for in log β. Rows
    whose class is impossible do not count.

    Parameters
    ----------
    log_joint : ndarray of shape (n_samples, n_classes)
        The log-joint of held-out rows.
    classes, weight : ndarray of shape (n_samples,)
        The class codes and the weights of these rows.
    class_shares : ndarray of shape (n_classes,)
        The shares of the classes.
    strength : float, default=1
        The number of virtual rows; with 0 the sum has no maximum where every row is predicted
        correctly, and T is 0.001.
    """
    below = _below_best(log_joint)
    own = below[np.arange(classes.size), classes]
    used = np.isfinite(own) & (weight > 0)
    below = below[used]
    own = own[used]
    share = weight[used] / weight.sum()
    finite = np.where(np.isfinite(below), below, 0.0)
    virtual = strength / (weight.sum() + strength)
    possible = np.count_nonzero(np.isfinite(below), axis=1)
    # the log-joint at the target distribution: the true class, and a bit of all possible ones
    target = (1 - virtual) * own + virtual * finite.sum(axis=1) / possible

    def slope(log_beta: float) -> float:
        odds = np.exp(np.exp(log_beta) * below)
        return float(share @ (target - np.einsum("ij,ij->i", odds, finite) / odds.sum(axis=1)))

    if not finite.any():
        return Temperature(class_shares, 1.0)
    found = np.exp(-_decreasing_zero(slope, -np.log(MAX_TEMPERATURE), -np.log(MIN_TEMPERATURE)))
    return Temperature(class_shares, float(np.clip(found, MIN_TEMPERATURE, MAX_TEMPERATURE)))


def _decreasing_zero(function: Callable[[float], float], lower: float, upper: float) -> float:
    """Return the zero of a decreasing function, or the end of the range if it is beyond.

    The search begins at 0, with steps that double until the sign changes.
    """
    sign = 1.0 if function(0.0) > 0 else -1.0
    near = 0.0
    end = upper if sign > 0 else lower
    step = 0.5
    while near != end:
        far = float(np.clip(near + sign * step, lower, upper))
        if sign * function(far) <= 0:
            return float(brentq(function, near, far, xtol=1e-10))
        near = far
        step *= 2
    return end


def learn_isotonic(
    log_joint: np.ndarray,
    classes: np.ndarray,
    weight: np.ndarray,
    class_shares: np.ndarray,
    strength: float = STRENGTH,
) -> Isotonic:
    """Learn an isotonic regression of each class on its log odds, by weighted least squares.

    The parameters are those of `learn_temperature`; with a ``strength`` of 0 the functions reach 0
    and 1.
    """
    n_classes = log_joint.shape[1]
    used = weight > 0
    odds = log_odds(log_joint[used])
    weight = weight[used]
    virtual = strength / (weight.sum() + strength)
    target = (1 - virtual) * np.eye(n_classes)[classes[used]] + virtual / n_classes
    fits = [
        IsotonicRegression(y_min=0.0, y_max=1.0).fit(odds[:, c], target[:, c], weight)
        for c in range(n_classes)
    ]
    thresholds = tuple(fit.X_thresholds_ for fit in fits)
    return Isotonic(class_shares, thresholds, tuple(fit.y_thresholds_ for fit in fits))


def learn_doubt(probabilities: np.ndarray, shares: np.ndarray, weight: np.ndarray) -> float:
    """Return the share of the class shares that is best mixed into probabilities.

    Parameters
    ----------
    probabilities, shares : ndarray of shape (n_rows,)
        The probability of the class of each held-out row, and the share of that class.
    weight : ndarray of shape (n_rows,)
        The weight of each row.

    Returns
    -------
    float
        The share of the largest likelihood of these rows and one more, which is predicted surely.
    """

    def loss(doubt: float) -> float:
        mixed = np.maximum((1 - doubt) * probabilities + doubt * shares, 1e-300)
        return float(-(weight @ np.log(mixed)) - np.log1p(-doubt))

    found = float(minimize_scalar(loss, bounds=(0.0, 0.999), method="bounded").x)
    return found if loss(found) < loss(0.0) else 0.0


def learn_scale(
    log_joint: np.ndarray, classes: np.ndarray, weight: np.ndarray, class_shares: np.ndarray
) -> float:
    """Learn the scale of generative estimates in a log pool, by the likelihood of held-out rows.

    Parameters
    ----------
    log_joint : ndarray of shape (n_rows, n_classes)
        The log-joint of the rows under generative estimates of other rows.
    classes, weight : ndarray of shape (n_rows,)
        The class and the weight of each row.
    class_shares : ndarray of shape (n_classes,)
        The shares of the classes.

    Returns
    -------
    float
        The factor on the log odds beyond those of the class shares.
    """
    rows = _beyond_shares([log_joint], classes, weight, class_shares)

    def loss(log_scale: float) -> float:
        scores = rows.shares + np.exp(log_scale) * rows.log_odds[0]
        # as if half a row spoke for a scale of one
        return float(rows.weight @ rows.lost(scores)) + 0.5 * log_scale**2

    limits = (np.log(MIN_SCALE), np.log(MAX_SCALE))
    return float(np.exp(minimize_scalar(loss, bounds=limits, method="bounded").x))


class _BeyondShares(NamedTuple):
    """Rows of classes that have a share, and log-joints beyond the logarithms of these shares."""

    used: np.ndarray
    shares: np.ndarray
    weight: np.ndarray
    own_class: tuple[np.ndarray, np.ndarray]
    log_odds: list[np.ndarray]

    def lost(self, scores: np.ndarray) -> np.ndarray:
        """Return the log loss of each row."""
        return log_marginal(scores) - scores[self.own_class]


def _beyond_shares(
    log_joints: Sequence[np.ndarray],
    classes: np.ndarray,
    weight: np.ndarray,
    class_shares: np.ndarray,
) -> _BeyondShares:
    """Return the rows that count, as networks predict them."""
    with np.errstate(divide="ignore"):
        shares = np.log(class_shares)
    kept = np.isfinite(shares)
    used = (weight > 0) & kept[classes]
    own_class = (np.arange(np.count_nonzero(used)), (np.cumsum(kept) - 1)[classes[used]])
    log_odds = [found[used][:, kept] - shares[kept] for found in log_joints]
    return _BeyondShares(used, shares[kept], weight[used], own_class, log_odds)


class PredictedRows(NamedTuple):
    """Held-out rows with missing values as both networks of a log pool predict them.

    Parameters
    ----------
    rows : ndarray of shape (n_rows,)
        Which rows these are.
    log_joint, generative : ndarray of shape (n_rows, n_classes)
        The log-joint under the network, and under the generative estimates.
    share, hidden, usual : ndarray of shape (n_rows,)
        What the weights of the pool depend on (`LogPool.weights`).
    """

    rows: np.ndarray
    log_joint: np.ndarray
    generative: np.ndarray
    share: np.ndarray
    hidden: np.ndarray
    usual: np.ndarray


def learn_pool_weights(
    rows: PredictedRows,
    classes: np.ndarray,
    weight: np.ndarray,
    class_shares: np.ndarray,
    usual_missing: float = 0.0,
) -> tuple[float, float]:
    """Learn the scale and the exponent of a log pool, by the likelihood of held-out rows.

    Parameters
    ----------
    rows : PredictedRows
        The rows, as networks predict them that were learned from other rows.
    classes, weight : ndarray of shape (n_rows,)
        The class and the weight of each row.
    class_shares : ndarray of shape (n_classes,)
        The shares of the classes.
    usual_missing : float, default=0
        The share of missing values in the rows that the networks were learned from.

    Returns
    -------
    scale, exponent : float
        The numbers of `LogPool`. The exponent is one of ``EXPONENTS``.
    """
    kept = _beyond_shares([rows.log_joint, rows.generative], classes, weight, class_shares)
    of_network, of_generative = kept.log_odds
    known = _share_known(rows.share[kept.used], usual_missing)

    def best_scale(exponent: float) -> tuple[float, float, float]:
        own = (rows.usual[kept.used] * known**exponent)[:, None]
        scores_of_own = kept.shares + own * of_network

        def loss(log_scale: float) -> float:
            scale = np.exp(log_scale * (1 - rows.hidden[kept.used]))[:, None]
            scores = scores_of_own + (1 - own) * scale * of_generative
            lost = np.minimum(kept.lost(scores), MAX_LOSS)
            return float(kept.weight @ lost) + 0.5 * log_scale**2

        limits = (np.log(MIN_SCALE), np.log(MAX_SCALE))
        found = minimize_scalar(loss, bounds=limits, method="bounded", options={"xatol": 1e-3})
        # as if half a row spoke for a scale of one, and another half for the usual exponent
        return float(found.fun) + 0.5 * np.log(exponent / POOL_EXPONENT) ** 2, found.x, exponent

    _, log_scale, exponent = min(map(best_scale, EXPONENTS))
    return float(np.exp(log_scale)), exponent


CALIBRATIONS: dict[str, Callable[..., Calibration]] = {
    "temperature": learn_temperature,
    "isotonic": learn_isotonic,
}


def check_calibration(name: Any, n_folds: Any) -> None:
    """Refuse an unknown method and an invalid number of folds."""
    if name not in (None, AUTO) and (not isinstance(name, str) or name not in CALIBRATIONS):
        known = ", ".join(map(repr, (AUTO, *CALIBRATIONS)))
        raise ValueError(f"calibrate={name!r} is not known; it is one of {known}, or None")
    require_integer("calibrate_folds", n_folds, 2)


def check_alone(name: str, alone: np.ndarray, labels: list[Any]) -> None:
    """Refuse classes of one row, of which nothing can be held out.

    Isotonic calibration needs two rows of every class, a temperature two of one class.
    """
    positions = np.flatnonzero(alone)
    if positions.size and (name == "isotonic" or positions.size == len(labels)):
        more = f" (and {positions.size - 1} other classes)" if positions.size > 1 else ""
        raise ValueError(
            f"class {labels[positions[0]]!r}{more} has 1 row, and calibrate={name!r} needs 2 rows"
            " of a class: one to hold out, one to learn from. Add rows, leave the class out, join"
            " it with another one, or do not calibrate"
        )


# ---- log-joints of rows


def possible_rows(log_joint: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Return the log-joint, with the log prior for rows that are impossible in every class.

    >>> possible_rows(np.array([[-1.0, -np.inf], [-np.inf, -np.inf]]), np.array([1.0, 0.0]))
    array([[ -1., -inf], [  0., -inf]])
    """
    impossible = (log_joint == -np.inf).all(axis=1)
    if not impossible.any():
        return log_joint
    with np.errstate(divide="ignore"):
        return np.where(impossible[:, None], np.log(prior), log_joint)


def log_odds(log_joint: np.ndarray) -> np.ndarray:
    """Return log P(c | x) / (1 − P(c | x)), exact also where P rounds to 1.

    Infinite log odds become ±10⁹.

    >>> log_odds(np.log([[0.75, 0.25]])).round(3)
    array([[ 1.099, -1.099]])
    """
    rows = np.arange(log_joint.shape[0])
    best = log_joint.argmax(axis=1)
    others = log_joint.copy()
    others[rows, best] = -np.inf
    below = _below_best(log_joint)
    share = np.exp(below)
    with np.errstate(divide="ignore"):
        odds = below - np.log(share.sum(axis=1, keepdims=True) - share)
    # of the best class the difference above may be 0: its log odds are taken on the log scale
    odds[rows, best] = log_joint[rows, best] - log_marginal(others)
    return np.clip(odds, -_FARTHEST, _FARTHEST)


def _below_best(log_joint: np.ndarray) -> np.ndarray:
    """Return the log-joint minus its maximum in each row."""
    return log_joint - log_joint.max(axis=1, keepdims=True)


def normalized(log_joint: np.ndarray) -> np.ndarray:
    """Return the log posterior that follows from a log-joint."""
    return log_joint - log_marginal(log_joint)[:, None]


# ---- the network with its calibration


@dataclass(frozen=True, eq=False)
class CalibratedPosterior:
    """The posterior of rows that are codes: a network, its calibration and a class prior.

    Parameters
    ----------
    network : BayesNet
        The network that gives the log-joint.
    labels : ndarray
        The class labels, as the user wrote them.
    calibration : Calibration or None
        The map from log-joints to probabilities.
    log_prior : ndarray or None
        The logarithms of class shares that replace those of the fit.
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

    def with_evidence(self, columns: Sequence[EvidenceColumn]) -> CalibratedPosterior:
        """Return the posterior of rows with evidence, whose codes those of the evidence follow."""
        if not columns:
            return self
        calibration = self.calibration
        if isinstance(calibration, LogPool):
            generative = calibration.generative.with_evidence(columns)
            calibration = replace(calibration, generative=generative)
        network = self.network.with_evidence(columns)
        return replace(self, network=network, calibration=calibration)

    def log_joint(self, codes: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the log-joint behind the posterior; calibrated, it has the prior of the fit.

        That of a log pool is the pool, with these weights of its networks; by default those of the
        rows.
        """
        log_joint = self._scored_network.log_joint_of(codes)
        pool = self.pool
        if pool is None:
            return log_joint
        if weights is None:
            weights = pool.weights_of(codes)
        generative = np.zeros_like(log_joint)
        rows = np.flatnonzero(weights[1])
        if rows.size:
            chosen = codes if rows.size == len(generative) else np.take(codes, rows, axis=1)
            generative[rows] = pool.observed.log_joint_of(pool.hidden(chosen))
        return pool.pooled(log_joint, generative, weights)

    @cached_property
    def pool(self) -> LogPool | None:
        """The calibration, if it is a log pool, with the limits of the network."""
        if not isinstance(self.calibration, LogPool):
            return None
        pool, network = self.calibration, self.network
        limits = {name: getattr(network, name) for name in ("max_cells", "beyond_max_cells")}
        # the same pool where it has them already: it keeps what it has computed
        if all(getattr(pool.generative, name) == limit for name, limit in limits.items()):
            return pool
        return replace(pool, generative=replace(pool.generative, **limits))

    @property
    def members(self) -> tuple[CalibratedPosterior, ...]:
        """The posterior alone, as a pool has those of its members."""
        return (self,)

    @property
    def networks(self) -> tuple[BayesNet, ...]:
        """The network, and in a log pool the generative one of observed values."""
        network = self._scored_network
        return (network,) if self.pool is None else (network, self.pool.observed)

    def readings(self, codes: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return rows of codes as each of ``networks`` reads them."""
        return (codes,) if self.pool is None else (codes, self.pool.hidden(codes))

    def posterior(self, codes: np.ndarray) -> np.ndarray:
        """Return P(c | x observed); a row that is impossible in every class gets the prior."""
        network = self._scored_network
        log_joint = self.log_joint(codes)
        if self.calibration is None:
            return inference.posterior(log_joint, network.prior, network.n_jobs)
        return np.exp(self.log_posterior_of(log_joint))

    def log_posterior(self, codes: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """Return log P(c | x observed), exact also where P underflows; ``weights`` as above."""
        return self.log_posterior_of(self.log_joint(codes, weights))

    def log_posterior_of(self, log_joint: np.ndarray) -> np.ndarray:
        """Return log P(c | x observed) of rows whose log-joint is known."""
        log_joint = possible_rows(log_joint, self._scored_network.prior)
        if self.calibration is None:
            return normalized(log_joint)
        return self.calibration.log_posterior(log_joint, self.log_prior)

    def missing_posteriors(self, codes: np.ndarray) -> dict[int, np.ndarray]:
        """Return P(value | x observed, c) of every missing value of one row of codes.

        That of a log pool is the normalized product of those of both networks, each to the power
        of its weight in the row. In a class that is impossible, or in which every value is,
        all are equally probable.
        """
        pairs = zip(self.networks, self.readings(codes), strict=True)
        found = [network.missing_posteriors_of(read) for network, read in pairs]
        if self.pool is None:
            return found[0]
        weights = self.pool.weights_of(codes)
        possible = self.log_joint(codes)[0] > -np.inf
        pooled = {}
        for i in found[0]:
            with np.errstate(divide="ignore"):
                logs = [np.log(shares[i]) for shares in found]
            scores = _weighted(weights[0], logs[0]) + _weighted(weights[1], logs[1])
            total = log_marginal(scores.T)
            kept = possible & (total > -np.inf)
            pooled[i] = np.full(scores.shape, 1 / len(scores))
            pooled[i][:, kept] = np.exp(scores[:, kept] - total[kept])
        return pooled

    def decisions(self, codes: np.ndarray) -> np.ndarray:
        """Return the position of the most probable class of each row, the first of equal ones."""
        return self.scores_of(self.log_joint(codes)).argmax(axis=1)

    @cached_property
    def exact(self) -> CalibratedPosterior:
        """The posterior that refuses rows beyond ``max_cells`` and never estimates."""
        network = replace(self.network, beyond_max_cells=inference.RAISE)
        return replace(self, network=network)

    def scores_of(self, log_joint: np.ndarray) -> np.ndarray:
        """Return scores whose maximum is the decision: the log-joint or the log posterior.

        The log-joint is cheaper, and is taken where it has the order of the posterior.
        """
        calibration = self.calibration
        if calibration is None or (self.log_prior is None and calibration.keeps_order):
            return possible_rows(log_joint, self._scored_network.prior)
        return self.log_posterior_of(log_joint)

    @cached_property
    def _scored_network(self) -> BayesNet:
        """The network with the prior in force; calibration was learned with that of the fit."""
        if self.calibration is None and self.log_prior is not None:
            return self.network.with_prior(self.log_prior)
        return self.network


def log_prior_of(prior: Sequence[float], n_classes: int) -> np.ndarray:
    """Check a ``class_prior``, and return the logarithms of its shares."""
    try:
        share = np.asarray(prior, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"class_prior={prior!r} must be a list of probabilities, in the order of classes_"
        ) from None
    if share.shape != (n_classes,):
        raise ValueError(f"class_prior has {share.size} entries for {n_classes} classes")
    if not sums_to_one(share):
        raise ValueError(f"class_prior={prior!r} must be probabilities that sum to 1")
    with np.errstate(divide="ignore"):
        return np.log(share / share.sum())


# ---- a pool of several networks


@dataclass(frozen=True, eq=False)
class PooledPosterior:
    """The log pool of the posteriors of several members, each of which has codes of its own.

    With b the logarithms of the class shares and L the mean of the members' log posteriors::

        log P(c | x) = b + scale·(L − b) + constant

    Parameters
    ----------
    members : tuple of CalibratedPosterior
        The posteriors of the members.
    labels : ndarray
        The class labels.
    log_shares : ndarray
        The logarithms of the class shares of the fit.
    scale : float
        The factor on the mean log odds beyond those of the class shares.
    log_prior : ndarray or None
        The logarithms of class shares that replace those of the fit.
    n_jobs : int or None
        The number of threads over members.
    """

    members: tuple[CalibratedPosterior, ...]
    labels: np.ndarray
    log_shares: np.ndarray
    scale: float
    log_prior: np.ndarray | None = None
    n_jobs: int | None = None

    def log_posterior(self, codes: Sequence[np.ndarray]) -> np.ndarray:
        """Return log P(c | x observed) of rows, given as the codes of each member."""
        pairs = list(zip(self.members, codes, strict=True))
        # in the order of the members, so that the bits do not depend on the number of threads
        found = parallel_map(lambda pair: pair[0].log_posterior(pair[1]), pairs, self.n_jobs)
        mean = np.sum(found, axis=0) / len(found)
        pooled = rescaled(mean, self.log_shares, self.scale)
        posterior = normalized(possible_rows(pooled, np.exp(self.log_shares)))
        if self.log_prior is None:
            return posterior
        kept = np.isfinite(self.log_shares)
        change = np.full(kept.size, -np.inf)
        change[kept] = self.log_prior[kept] - self.log_shares[kept]
        return normalized(possible_rows(posterior + change, np.exp(self.log_prior)))

    def with_evidence(self, columns: Sequence[Sequence[EvidenceColumn]]) -> PooledPosterior:
        """Return the pool of rows with evidence, given as that of each member."""
        pairs = zip(self.members, columns, strict=True)
        return replace(self, members=tuple(one.with_evidence(found) for one, found in pairs))

    def posterior(self, codes: Sequence[np.ndarray]) -> np.ndarray:
        """Return P(c | x observed)."""
        return np.exp(self.log_posterior(codes))

    def decisions(self, codes: Sequence[np.ndarray]) -> np.ndarray:
        """Return the position of the most probable class of each row, the first of equal ones."""
        return np.asarray(self.log_posterior(codes).argmax(axis=1))


def rescaled(log_posterior: np.ndarray, log_shares: np.ndarray, scale: float) -> np.ndarray:
    """Return log posteriors whose log odds beyond those of the class shares have a factor.

    >>> rescaled(np.log([[0.5, 0.5]]), np.log([0.2, 0.8]), 1.0).round(2)
    array([[-0.69, -0.69]])
    """
    kept = np.isfinite(log_shares)
    found = np.full(log_posterior.shape, -np.inf)
    away = log_posterior[:, kept] - log_shares[kept]
    found[:, kept] = log_shares[kept] + scale * away
    return found
