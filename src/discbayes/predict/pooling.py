"""From log-joints to calibrated probabilities, by numpy alone (the formulas: docs/model-file)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from discbayes.data.domain import Domain
from discbayes.predict.network_sums import NetworkSums, log_sum

RARE = 1e-3
FARTHEST = 1e9  # stands for infinite log odds

Likelihoods = Mapping[int, np.ndarray]


def normalized(log_joint: np.ndarray) -> np.ndarray:
    """Return log posteriors of rows that are possible in one class at least."""
    return log_joint - log_sum(log_joint, 1)[:, None]


def possible_rows(log_joint: np.ndarray, log_prior: np.ndarray) -> np.ndarray:
    """Return log-joints, with the log prior for rows that are impossible in every class."""
    impossible = (log_joint == -np.inf).all(axis=1)
    return np.where(impossible[:, None], log_prior, log_joint)


def weighted(weight: np.ndarray | float, scores: np.ndarray) -> np.ndarray:
    """Return weighted logarithms; what has no weight may be −∞."""
    with np.errstate(invalid="ignore"):
        return np.where(weight == 0, 0.0, weight * scores)


def changed_shares(posterior: np.ndarray, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return log posteriors for other class shares, both as logarithms."""
    kept = old > -np.inf
    change = np.full(kept.size, -np.inf)
    change[kept] = new[kept] - old[kept]
    return normalized(possible_rows(posterior + change, new))


@dataclass(frozen=True)
class ObservedRows:
    """Coded rows, which have the same evidence other than values.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_samples)
        The codes; the number of values of a column stands for a value that is not known.
    likelihoods : mapping of int to ndarray
        The likelihoods of the values of columns, by position.
    """

    codes: np.ndarray
    likelihoods: Likelihoods

    def log_joint(self, network: NetworkSums) -> np.ndarray:
        """Return the log-joint under a network."""
        if self.likelihoods:
            network = network.with_likelihoods(self.likelihoods)
        return network.log_joint(self.codes)


class ProbabilityMap(ABC):
    """A map from log-joints to log posteriors, for the class shares that it was learned with."""

    log_shares: np.ndarray

    @abstractmethod
    def log_posterior(
        self, rows: ObservedRows, log_joint: np.ndarray, fallback: np.ndarray
    ) -> np.ndarray:
        """Return log P(c | x); rows that are impossible in every class have the fallback."""


@dataclass(frozen=True)
class TemperatureMap(ProbabilityMap):
    """The softmax of log-joints divided by a temperature."""

    log_shares: np.ndarray
    temperature: float

    def log_posterior(
        self, rows: ObservedRows, log_joint: np.ndarray, fallback: np.ndarray
    ) -> np.ndarray:
        """Return log P(c | x)."""
        log_joint = possible_rows(log_joint, fallback)
        return normalized((log_joint - log_joint.max(axis=1, keepdims=True)) / self.temperature)


@dataclass(frozen=True)
class IsotonicMap(ProbabilityMap):
    """A piecewise linear function of the log odds of each class against the rest."""

    log_shares: np.ndarray
    log_odds: tuple[np.ndarray, ...]
    probabilities: tuple[np.ndarray, ...]

    def log_posterior(
        self, rows: ObservedRows, log_joint: np.ndarray, fallback: np.ndarray
    ) -> np.ndarray:
        """Return log P(c | x)."""
        log_joint = possible_rows(log_joint, fallback)
        odds = _log_odds(log_joint)
        columns = zip(odds.T, self.log_odds, self.probabilities, strict=True)
        shares = np.stack([np.interp(each, at, values) for each, at, values in columns], axis=1)
        shares[log_joint == -np.inf] = 0.0
        total = shares.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(total > 0, np.log(shares / total), normalized(log_joint))


def _log_odds(log_joint: np.ndarray) -> np.ndarray:
    """Return log P(c | x) / (1 − P(c | x)), exact also where P rounds to 1."""
    rows = np.arange(log_joint.shape[0])
    best = log_joint.argmax(axis=1)
    others = log_joint.copy()
    others[rows, best] = -np.inf
    below = log_joint - log_joint.max(axis=1, keepdims=True)
    share = np.exp(below)
    with np.errstate(divide="ignore"):
        odds = below - np.log(share.sum(axis=1, keepdims=True) - share)
    odds[rows, best] = log_joint[rows, best] - log_sum(others, 1)
    return np.clip(odds, -FARTHEST, FARTHEST)


@dataclass(frozen=True)
class PoolMap(ProbabilityMap):
    """A log pool of the network and its generative estimates (``discbayes.calibration.LogPool``).

    Parameters
    ----------
    log_shares : ndarray of shape (n_classes,)
        The logarithms of the class shares.
    generative : NetworkSums
        The generative estimates.
    scale, doubt, usual_missing, unusual, exponent : float
        The numbers of the pool.
    """

    log_shares: np.ndarray
    generative: NetworkSums
    scale: float
    doubt: float
    usual_missing: float
    unusual: float
    exponent: float

    @property
    def domain(self) -> Domain:
        """The columns."""
        return self.generative.domain

    @cached_property
    def _reads(self) -> np.ndarray:
        """Which columns have a value "missing" that is evidence in usual rows only."""
        read = [each.reads_missing and each.card > 1 for each in self.domain.features]
        return np.array(read, dtype=bool) & (self.unusual > 0)

    @cached_property
    def _observed(self) -> NetworkSums:
        """The generative estimates of values that are there."""
        network = self.generative
        tables = list(network.tables)
        for i in np.flatnonzero(self._reads).tolist():
            there = tables[i][..., :-1, :]
            total = log_sum(there, -2)[..., None, :]
            with np.errstate(invalid="ignore"):
                scaled = np.where(total > -np.inf, there - total, -np.log(there.shape[-2]))
            never = np.full_like(tables[i][..., -1:, :], -np.inf)
            tables[i] = np.concatenate([scaled, never], axis=-2)
        return NetworkSums(network.domain, network.structure, network.log_prior, tables)

    def log_posterior(
        self, rows: ObservedRows, log_joint: np.ndarray, fallback: np.ndarray
    ) -> np.ndarray:
        """Return log P(c | x)."""
        hidden = self._hidden(rows)
        share = self._n_unknown(rows) / self._n_used
        hidden_share = self._n_unknown(hidden) / self._n_used
        beyond = np.maximum(share - self.usual_missing, 0.0) / max(1 - self.usual_missing, 1e-9)
        own = self._usual(rows, hidden) * (1 - np.minimum(beyond, 1.0)) ** self.exponent
        other = (1 - own) * self.scale ** (1 - hidden_share)
        generative = np.zeros_like(log_joint)
        needed = np.flatnonzero(other)
        if needed.size:
            part = replace(hidden, codes=hidden.codes[:, needed])
            generative[needed] = part.log_joint(self._observed)
        pooled = self._pooled(log_joint, generative, own[:, None], other[:, None])
        posterior = normalized(possible_rows(pooled, fallback))
        if not self.doubt:
            return posterior
        with np.errstate(divide="ignore"):
            doubted = np.log(self.doubt) + self.log_shares
            return normalized(np.logaddexp(np.log1p(-self.doubt) + posterior, doubted))

    def _pooled(
        self, log_joint: np.ndarray, generative: np.ndarray, own: np.ndarray, other: np.ndarray
    ) -> np.ndarray:
        kept = np.isfinite(self.log_shares)
        shares = self.log_shares[kept]
        found = np.full(log_joint.shape, -np.inf)
        found[:, kept] = (
            weighted(own, log_joint[:, kept])
            + (1 - own) * shares
            + weighted(other, generative[:, kept] - shares)
        )
        return found

    def _hidden(self, rows: ObservedRows) -> ObservedRows:
        """Return rows in which what is missing is not known."""
        cards = self.domain.cards[:, None]
        missing = self._reads[:, None] & (rows.codes == cards - 1)
        return replace(rows, codes=np.where(missing, cards, rows.codes))

    @cached_property
    def _n_used(self) -> int:
        return max(1, int(np.count_nonzero(self.domain.cards > 1)))

    def _n_unknown(self, rows: ObservedRows) -> np.ndarray:
        cards = self.domain.cards[:, None]
        return np.asarray(((rows.codes >= cards) & (cards > 1)).sum(axis=0))

    def _usual(self, rows: ObservedRows, hidden: ObservedRows) -> np.ndarray:
        """Return the probability that the missing values of each row are usual."""
        found = np.ones(rows.codes.shape[1])
        chosen = np.flatnonzero(self._n_unknown(hidden) > self._n_unknown(rows))
        if not chosen.size:
            return found
        rows = replace(rows, codes=rows.codes[:, chosen])
        hidden = replace(hidden, codes=hidden.codes[:, chosen])
        usual = log_sum(rows.log_joint(self.generative), 1)
        usual += self._n_unknown(rows) * np.log(RARE)
        n_sets = np.array([_log_choose(self._n_used, int(n)) for n in self._n_unknown(hidden)])
        unusual = log_sum(hidden.log_joint(self._observed), 1) - n_sets - np.log(self._n_used + 1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            odds = usual - unusual + np.log1p(-self.unusual) - np.log(self.unusual)
            found[chosen] = np.where(np.isnan(odds), 1.0, 1 / (1 + np.exp(-odds)))
        return found


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


@dataclass(frozen=True)
class NetworkPosterior:
    """The posterior by one network, its map and the prior.

    Parameters
    ----------
    network : NetworkSums
        The network.
    prior_offset : ndarray or None
        What a discriminative prior has besides the logarithms of the class shares.
    to_probabilities : ProbabilityMap or None
        The map to calibrated probabilities.
    """

    network: NetworkSums
    prior_offset: np.ndarray | None
    to_probabilities: ProbabilityMap | None

    def log_posterior(self, rows: ObservedRows, log_prior: np.ndarray | None) -> np.ndarray:
        """Return log P(c | x); ``log_prior`` replaces the class shares of the fit."""
        network, to_probabilities = self.network, self.to_probabilities
        if log_prior is not None and to_probabilities is None:
            offset = 0.0 if self.prior_offset is None else self.prior_offset
            network = network.with_prior(normalized((log_prior + offset)[None])[0])
        log_joint = rows.log_joint(network)
        fallback = normalized(network.log_prior[None])[0]
        if to_probabilities is None:
            return normalized(possible_rows(log_joint, fallback))
        found = to_probabilities.log_posterior(rows, log_joint, fallback)
        if log_prior is None:
            return found
        return changed_shares(found, to_probabilities.log_shares, log_prior)


@dataclass(frozen=True)
class EnsemblePosterior:
    """The log pool of several members.

    Parameters
    ----------
    log_shares : ndarray of shape (n_classes,)
        The logarithms of the class shares of the fit.
    scale : float
        The factor on the mean log odds beyond those of the class shares.
    """

    log_shares: np.ndarray
    scale: float

    def log_posterior(
        self, of_members: Sequence[np.ndarray], log_prior: np.ndarray | None
    ) -> np.ndarray:
        """Return log P(c | x) from those of the members."""
        mean = np.sum(of_members, axis=0) / len(of_members)
        kept = np.isfinite(self.log_shares)
        pooled = np.full(mean.shape, -np.inf)
        shares = self.log_shares[kept]
        pooled[:, kept] = shares + self.scale * (mean[:, kept] - shares)
        posterior = normalized(possible_rows(pooled, self.log_shares))
        if log_prior is None:
            return posterior
        return changed_shares(posterior, self.log_shares, log_prior)
