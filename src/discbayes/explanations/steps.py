"""The log odds of rows that become known feature by feature, for ``contributions``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from discbayes.bayesnet import BayesNet
from discbayes.calibration import CalibratedPosterior
from discbayes.calibration import log_odds as finite_log_odds
from discbayes.engine import row_blocks
from discbayes.inference import blank_rows
from discbayes.inference.completion import BATCH_CELLS


class Steps:
    """Rows that become known feature by feature, in blocks that fit the memory.

    With normalized tables, rows whose known features have known parents add one cell to the
    log-joint at each step. In others each step marginalizes the missing values anew.
    """

    def __init__(self, beliefs: CalibratedPosterior, codes: np.ndarray, against: int | None):
        self.beliefs = beliefs
        self.codes = codes
        self.against = against
        self.tables = beliefs.network.parameters
        # the weights of a pool are those of the whole row, at each of its steps
        pool = beliefs.pool
        self.weights = None if pool is None else pool.weights_of(codes)
        self.order = np.array(self.tables.structure.order, dtype=np.intp)
        self.rank = np.empty_like(self.order)
        self.rank[self.order] = np.arange(self.order.size)
        self.whole = beliefs.log_posterior(codes, self.weights)
        blank = blank_rows(self.tables, 1 if self.weights is None else codes.shape[1])
        # against itself, or where both are impossible, a class has no odds
        base = _log_odds(beliefs.log_posterior(blank, self.weights), against)
        self._base = np.where(np.isnan(base), 0.0, base)
        self.impossible = _impossible_rows(beliefs, codes)

    @property
    def base(self) -> np.ndarray:
        """The log odds before anything is known: of all rows, or by row if these differ."""
        first = self._base[:1]
        return first[0] if (self._base == first).all() else self._base

    def blocks(self) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield blocks of rows, their contributions and their log odds."""
        n_features, n_rows = self.codes.shape
        # a step is a row of its own: its codes, or what inference holds for each class
        cells = n_features * max(n_features, 8 * self.tables.n_classes)
        for rows in row_blocks(n_rows, max(1, BATCH_CELLS // max(1, cells))):
            yield rows, *self._block(rows)

    def _block(self, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        codes = self.codes[:, rows]
        known = self._known(codes)
        odds = self._odds(codes, known, rows)
        parts = np.full((codes.shape[1], codes.shape[0], self.tables.n_classes), np.nan)
        for place, feature in enumerate(self.order):
            before, after = odds[place], odds[place + 1]
            # a missing value, or an impossible row, leaves the odds as they are
            np.copyto(after, before, where=np.isnan(after))
            with np.errstate(invalid="ignore"):
                # infinite odds that stay infinite: ∞ − ∞ is NaN, but nothing has changed
                change = np.where(after == before, 0.0, after - before)
            parts[known[place], feature] = change[known[place]]
        return parts, odds[-1]

    def _odds(self, codes: np.ndarray, known: np.ndarray, rows: slice) -> np.ndarray:
        """Return the log odds after each position of the order, by position, row and class.

        They are NaN where they do not change.
        """
        n_features, n_rows = codes.shape
        odds = np.full((n_features + 1, n_rows, self.tables.n_classes), np.nan)
        odds[0] = self._base if self.weights is None else self._base[rows]
        weights = None if self.weights is None else self.weights[:, rows]
        plain = np.logical_and.reduce(
            [self._plain_rows(read) for read in self.beliefs.readings(codes)]
        )
        if plain.any():
            odds[1:, plain] = self._odds_by_cells(
                np.ascontiguousarray(codes[:, plain]),
                known[:, plain],
                None if weights is None else weights[:, plain],
            )
        some = np.flatnonzero(known.any(axis=0))
        # with the last known feature the row is complete, and its posterior is there already
        last = n_features - 1 - known[::-1].argmax(axis=0)
        odds[last[some] + 1, some] = _log_odds(self.whole[rows][some], self.against)
        # the other steps of rows with an unknown parent are inferred, all at once
        inner = known.T & ~plain[:, None]
        inner[some, last[some]] = False
        row, place = np.nonzero(inner)
        if row.size:
            prefix = self._up_to(codes, row, place)
            of_rows = None if weights is None else weights[:, row]
            posterior = self.beliefs.log_posterior(prefix, of_rows)
            odds[place + 1, row] = _log_odds(posterior, self.against)
        odds[1:, self.impossible[rows]] = np.nan
        return odds

    def _known(self, codes: np.ndarray) -> np.ndarray:
        """Return which features are known, in the order of the network."""
        return codes[self.order] < self.tables.cards[self.order, None]

    def _plain_rows(self, codes: np.ndarray) -> np.ndarray:
        """Return which rows need no marginalization: known features have known parents."""
        known = self._known(codes)
        plain = np.full(known.shape[1], self.tables.is_normalized)
        for place, feature in enumerate(self.order):
            for parent in self.tables.structure.parents[feature]:
                plain &= known[self.rank[parent]] | ~known[place]
        return plain

    def _odds_by_cells(
        self, codes: np.ndarray, known: np.ndarray, weights: np.ndarray | None
    ) -> np.ndarray:
        """Return the log odds after each position of the order, for plain rows."""
        pairs = zip(self.beliefs.networks, self.beliefs.readings(codes), strict=True)
        log_joints = [self._sums(network, read) for network, read in pairs]
        shape = log_joints[0].shape
        flat = [log_joint.reshape(-1, shape[2]) for log_joint in log_joints]
        if weights is None:
            scores = flat[0]
        else:
            assert self.beliefs.pool is not None
            scores = self.beliefs.pool.pooled(flat[0], flat[1], np.tile(weights, shape[0]))
        odds = _log_odds(self.beliefs.log_posterior_of(scores), self.against).reshape(shape)
        odds[~known] = np.nan
        return odds

    def _sums(self, network: BayesNet, codes: np.ndarray) -> np.ndarray:
        """Return the log-joint of plain rows after each position of the order."""
        known = self._known(codes)
        tables = network.parameters
        layout, n_classes = tables.layout, tables.n_classes
        cells = tables.log_theta.reshape(-1, n_classes)
        states = layout.parent_codes(codes)
        scores = np.empty((*known.shape, n_classes))
        before = np.broadcast_to(network.log_joint_of(blank_rows(tables, 1)), scores.shape[1:])
        for place, feature in enumerate(self.order):
            at = layout.offsets[feature] // n_classes + codes[feature].astype(np.intp)
            parents = slice(layout.parent_start[feature], layout.parent_start[feature + 1])
            for parent, stride in zip(
                layout.parent_index[parents], layout.parent_stride[parents], strict=True
            ):
                at += states[parent].astype(np.intp) * (stride // n_classes)
            # any cell, since it is not added
            at[~known[place]] = 0
            scores[place] = before + np.where(known[place, :, None], cells[at], 0.0)
            before = scores[place]
        return scores

    def _up_to(self, codes: np.ndarray, row: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Return rows in which only the features up to a position of the order are known."""
        missing = self.tables.cards.astype(codes.dtype)[:, None]
        return np.where(self.rank[:, None] <= place, codes[:, row], missing)


def _log_odds(log_posterior: np.ndarray, against: int | None) -> np.ndarray:
    """Return the log odds against the rest or one class; NaN where both are impossible."""
    if against is not None:
        with np.errstate(invalid="ignore"):
            return log_posterior - log_posterior[:, [against]]
    odds = finite_log_odds(log_posterior)
    possible = log_posterior > -np.inf
    odds[~possible] = -np.inf
    odds[possible & (possible.sum(axis=1, keepdims=True) == 1)] = np.inf
    return odds


def _impossible_rows(beliefs: CalibratedPosterior, codes: np.ndarray) -> np.ndarray:
    """Return which rows are impossible in every class that the current prior allows."""
    if not any(np.isneginf(net.parameters.log_theta).any() for net in beliefs.networks):
        return np.zeros(codes.shape[1], dtype=bool)
    possible = beliefs.log_joint(codes) > -np.inf
    if beliefs.log_prior is not None:
        possible &= beliefs.log_prior > -np.inf
    return np.asarray(~possible.any(axis=1))
