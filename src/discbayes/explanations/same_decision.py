"""Same-decision probability: how sure it is that a decision stays if the missing values are known.

The missing values of a row are drawn from their distribution given the observed ones: a class from
P(c | x observed), calibration included, then all missing values together given that class, by the
network, or in a log pool by its generative network. The decision of each completed row is that of
the classifier. The share of draws with the decision of the row is the uncalibrated answer, which
is too sure where the network is wrong about how columns depend on each other.

Held-out rows correct that, and need no labels: values are hidden in them as they are missing in the
rows that are asked about, the shares of draws are found in the same way, and whether the decision
stays as the values are shown again is known. A logistic regression of the latter on the log odds
of the former is the map: two numbers, as if half a row each spoke for the identity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from discbayes.calibration import CalibratedPosterior
from discbayes.costs import DecisionCosts, cheapest
from discbayes.engine import row_blocks

N_PAIRS = 1000  # of a held-out row and a pattern of missing values, at least
BLOCK_CELLS = 1 << 24  # of completed rows at a time


@dataclass(frozen=True, eq=False)
class DecisionDraws:
    """Draws of the missing values of rows, and the decision of each completed row.

    Parameters
    ----------
    posterior : CalibratedPosterior
        The posterior of rows that are codes.
    n_columns : int
        The number of columns that can be missing; evidence comes after them.
    costs : DecisionCosts or None
        The costs of decisions; None for the most probable class.
    n_draws : int
        The number of draws for each row.
    """

    posterior: CalibratedPosterior
    n_columns: int
    costs: DecisionCosts | None
    n_draws: int

    def decide(self, codes: np.ndarray) -> np.ndarray:
        """Return the decision of each row."""
        if self.costs is None:
            return self.posterior.decisions(codes)
        return cheapest(self.posterior.posterior(codes), self.costs.matrix)

    def missing(self, codes: np.ndarray) -> np.ndarray:
        """Return which columns of each row are missing."""
        cards = self.posterior.network.domain.cards[: self.n_columns, None]
        return codes[: self.n_columns] >= cards

    def shares(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the share of draws with the decision of the row; 1 where nothing is missing."""
        found = np.ones(codes.shape[1])
        rows = np.flatnonzero(self.missing(codes).any(axis=0))
        at_once = max(1, BLOCK_CELLS // max(1, self.n_draws * len(codes)))
        for block in row_blocks(rows.size, at_once):
            taken = np.ascontiguousarray(codes[:, rows[block]])
            decided = self.decide(self.completed(taken, rng)).reshape(-1, self.n_draws)
            found[rows[block]] = (decided == self.decide(taken)[:, None]).mean(axis=1)
        return found

    def completed(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return ``n_draws`` completed rows for each row."""
        network, read = self.posterior.networks[-1], self.posterior.readings(codes)[-1]
        classes = self._classes(codes, network.log_joint_of(read) > -np.inf, rng)
        repeated = np.repeat(codes, self.n_draws, axis=1)
        drawn = network.filled_of(np.repeat(read, self.n_draws, axis=1), "draw", classes, rng)
        at = slice(self.n_columns)
        repeated[at] = np.where(self.missing(repeated), drawn[at], repeated[at])
        return repeated

    def _classes(
        self, codes: np.ndarray, possible: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw classes from the posterior, spread evenly over the draws of a row."""
        shares = self.posterior.posterior(codes)
        kept = np.where(possible, shares, 0.0)
        kept = np.where(kept.any(axis=1, keepdims=True), kept, shares)
        steps = kept.cumsum(axis=1)
        even = (np.arange(self.n_draws) + rng.random((len(steps), 1))) / self.n_draws
        below = steps[:, None, :-1] <= (even * steps[:, -1:])[:, :, None]
        return below.sum(axis=2).ravel()


@dataclass(frozen=True)
class DecisionMap:
    """A map from the share of draws to a probability: sigmoid(shift + scale · log odds)."""

    n_draws: int
    shift: float = 0.0
    scale: float = 1.0

    def __call__(self, shares: np.ndarray) -> np.ndarray:
        """Return the probabilities of shares of draws."""
        return expit(self.shift + self.scale * self._odds(shares))

    def _odds(self, shares: np.ndarray) -> np.ndarray:
        """Return the log odds of shares, as if one more draw were half and half."""
        return logit((self.n_draws * shares + 0.5) / (self.n_draws + 1))

    def learned(self, shares: np.ndarray, same: np.ndarray) -> DecisionMap:
        """Return the map of the largest likelihood of held-out rows."""
        odds = self._odds(shares)
        sign = np.where(same, 1.0, -1.0)

        def loss(point: np.ndarray) -> tuple[float, np.ndarray]:
            shift, log_scale = point
            scale = np.exp(log_scale)
            margin = sign * (shift + scale * odds)
            slope = -sign * expit(-margin)
            value = np.logaddexp(0.0, -margin).sum() + 0.5 * (point @ point)
            return value, np.array([slope.sum(), scale * (slope @ odds)]) + point

        limits = [(-10.0, 10.0), (-5.0, 2.0)]
        shift, log_scale = minimize(loss, np.zeros(2), jac=True, bounds=limits).x
        return DecisionMap(self.n_draws, float(shift), float(np.exp(log_scale)))


def learn_decision_map(
    draws: DecisionDraws, held_out: np.ndarray, missing: np.ndarray, rng: np.random.Generator
) -> DecisionMap:
    """Learn the map to calibrated probabilities from held-out rows.

    Parameters
    ----------
    draws : DecisionDraws
        How values are drawn and decisions made.
    held_out : ndarray of shape (n_columns, n_rows)
        The held-out rows as codes.
    missing : ndarray of shape (n_columns, n_patterns)
        Which columns are missing in the rows that the map is for.
    rng : Generator
        Draws the patterns and the missing values.
    """
    n_rows = held_out.shape[1]
    n_pairs = max(N_PAIRS, n_rows)
    pattern = missing[:, rng.integers(missing.shape[1], size=n_pairs)]
    shown = held_out[:, np.arange(n_pairs) % n_rows]
    changes = (pattern & ~draws.missing(shown)).any(axis=0)
    pattern = pattern[:, changes]
    shown = np.ascontiguousarray(shown[:, changes])
    if not shown.size:
        raise ValueError(
            "held_out tells nothing: in every row it lacks what is missing in X, so that nothing"
            " can be hidden and shown again"
        )
    cards = draws.posterior.network.domain.cards[:, None].astype(shown.dtype)
    hidden = np.where(pattern, cards, shown)
    same = draws.decide(hidden) == draws.decide(shown)
    return DecisionMap(draws.n_draws).learned(draws.shares(hidden, rng), same)
