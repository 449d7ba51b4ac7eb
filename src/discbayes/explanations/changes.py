"""The search for the fewest changes of values that lead to another decision.

A *move* changes one observed feature to one other value; a set of moves changes several features.
All sets of one move and all sets of two are tried, and all larger ones as long as that takes
seconds. Beyond that a beam keeps the sets that come nearest to the decision and adds one move to
each; moves that turn out not to be needed are removed.

Two features that share no family, also by way of missing values that are marginalized, add to the
log-joint what each of them adds alone. So most sets are sums of numbers that are known from single
moves; for the others, and those too close to a tie for a sum to be trusted, the log-joint is
computed as for any row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from discbayes.calibration import CalibratedPosterior
from discbayes.inference import elimination_cells
from discbayes.network import Structure

MAX_PAIRS = 20_000_000  # sets of two moves that are all tried
MAX_SETS = 1_000_000  # sets of three moves or more that are all tried
MAX_STEPS = 5e8  # of arithmetic that all sets of a size may take: seconds
BEAM_SETS = 200_000  # that a step of the beam tries, about
KEPT = 64  # of the sets that lead to the decision, the best
_MIN_WIDTH, _MAX_WIDTH = 4, 256
_CELL_STEPS = 10  # of arithmetic that a cell of an elimination takes
_BLOCK_CELLS = 1 << 22
_TIE = 1e-9


@dataclass(frozen=True, eq=False)
class Changes:
    """The moves from one row of codes, and the search among sets of them.

    Parameters
    ----------
    beliefs : CalibratedPosterior
        The network, with calibration and prior.
    codes : ndarray of shape (n_features, 1)
        The row.
    now : int
        The decision for the row as it is.
    wanted : int or None
        The decision to reach; None for any other than ``now``.
    fixed : ndarray of bool
        Features that stay as they are.
    """

    beliefs: CalibratedPosterior
    codes: np.ndarray
    now: int
    wanted: int | None
    fixed: np.ndarray

    # ---- moves and sets of them

    @cached_property
    def moves(self) -> np.ndarray:
        """The feature and the new value of each move, in their order, shape (2, n_moves)."""
        pairs = []
        for i, variable in enumerate(self.beliefs.network.domain.features):
            code, n_values = int(self.codes[i, 0]), variable.card - variable.missing_value
            if code < n_values and not self.fixed[i]:
                pairs += [(i, value) for value in range(n_values) if value != code]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2).T

    @property
    def n_moves(self) -> int:
        """The number of moves."""
        return int(self.moves.shape[1])

    @property
    def n_features(self) -> int:
        """The number of features that can be changed."""
        return int(np.unique(self.moves[0]).size)

    @cached_property
    def _next(self) -> np.ndarray:
        """For each move, the first one of a later feature."""
        return np.searchsorted(self.moves[0], self.moves[0], side="right")

    def n_sets(self, size: int) -> float:
        """Return the number of sets of ``size`` moves."""
        ways = np.zeros(size + 1)
        ways[0] = 1.0
        for values in np.unique(self.moves[0], return_counts=True)[1]:
            # a generating function: each feature is not changed, or takes one of its values
            ways[1:] += values * ways[:-1]
        return float(ways[size])

    def all_sets(self, size: int) -> Iterator[np.ndarray]:
        """Yield all sets of ``size`` moves in blocks, in the order of columns and values."""
        if size == 1:
            yield np.arange(self.n_moves)[:, None]
            return
        for sets in self.all_sets(size - 1):
            # numbers of sets before each one is extended, to cut blocks of about equal size
            ends = np.cumsum(self.n_moves - self._next[sets[:, -1]])
            start = 0
            while start < len(sets):
                done = ends[start - 1] if start else 0
                stop = max(start + 1, int(np.searchsorted(ends, done + self._block, side="right")))
                if ends[stop - 1] > done:
                    yield self._followed(sets[start:stop])
                start = stop

    def _followed(self, sets: np.ndarray) -> np.ndarray:
        """Return the sets with each move of a later feature added to them."""
        first = self._next[sets[:, -1]]
        times = self.n_moves - first
        # 0, 1, … for each set anew
        within = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        return np.column_stack([np.repeat(sets, times, axis=0), np.repeat(first, times) + within])

    def _extended(self, sets: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the sets with each move of another feature added to them, each set once."""
        more = np.column_stack(
            [np.repeat(sets, self.n_moves, axis=0), np.tile(np.arange(self.n_moves), len(sets))]
        )
        features = self.moves[0][more]
        more = np.sort(more[(features[:, :-1] != features[:, -1:]).all(axis=1)], axis=1)
        more = np.unique(more, axis=0)
        yield from (more[start : start + self._block] for start in range(0, len(more), self._block))

    @cached_property
    def _block(self) -> int:
        cells = max(self.codes.shape[0], 8 * self.beliefs.labels.size)
        return max(256, _BLOCK_CELLS // cells)

    # ---- decisions after moves

    def rows(self, sets: np.ndarray) -> np.ndarray:
        """Return the row after each set of moves, as codes."""
        rows = np.repeat(self.codes, len(sets), axis=1)
        features, values = self.moves[:, sets]
        rows[features, np.arange(len(sets))[:, None]] = values
        return rows

    def _judged(self, sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the log-joint of the row after each set of moves, and the scores that decide."""
        if sets.shape[1] == 1:
            log_joint = self._single[sets[:, 0]]
        elif self._parts is None:
            log_joint = self.beliefs.log_joint(self.rows(sets))
        else:
            log_joint = self._start + self._parts[sets].sum(axis=1)
        scores = self.beliefs.scores_of(log_joint)
        if sets.shape[1] == 1 or self._parts is None:
            return log_joint, scores
        # sums are not exact where features meet, nor where rounding could decide
        unsure = self._meet(sets) | (
            (scores >= scores.max(axis=1, keepdims=True) - _TIE).sum(axis=1) > 1
        )
        if unsure.any():
            log_joint[unsure] = self.beliefs.log_joint(self.rows(sets[unsure]))
            scores = self.beliefs.scores_of(log_joint)
        return log_joint, scores

    def _meet(self, sets: np.ndarray) -> np.ndarray:
        """Return which sets have two features in one factor, whose parts do not add up."""
        features = self.moves[0][sets]
        pairs = combinations(range(sets.shape[1]), 2)
        return np.any([self._joined[features[:, a], features[:, b]] for a, b in pairs], axis=0)

    @cached_property
    def _start(self) -> np.ndarray:
        return self.beliefs.log_joint(self.codes)[0]

    @cached_property
    def _parts(self) -> np.ndarray | None:
        """The change of the log-joint by each move; None where a class is impossible before it."""
        if not np.isfinite(self._start).all():
            return None
        return self._single - self._start

    @cached_property
    def _single(self) -> np.ndarray:
        """The log-joint after each move alone."""
        return self.beliefs.log_joint(self.rows(np.arange(self.n_moves)[:, None]))

    @cached_property
    def _joined(self) -> np.ndarray:
        missing = self.codes[:, 0] >= self.beliefs.network.domain.cards
        return joined_features(self.beliefs.network.structure, missing)

    def _reach_decision(self, log_joint: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Return which rows get the decision to reach; impossible rows never do."""
        decisions = scores.argmax(axis=1)
        reached = decisions != self.now if self.wanted is None else decisions == self.wanted
        return reached & (log_joint > -np.inf).any(axis=1)

    def _decision_log_probability(self, log_joint: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Return the log probability of the decision."""
        posterior = self.beliefs.log_posterior_of(log_joint)
        return posterior[np.arange(len(scores)), scores.argmax(axis=1)]

    def _nearness(self, log_joint: np.ndarray) -> np.ndarray:
        """Return the lead of the best class to reach over the others.

        It is taken before calibration, which has plateaus.
        """
        classes = np.arange(log_joint.shape[1])
        targets = classes != self.now if self.wanted is None else classes == self.wanted
        with np.errstate(invalid="ignore"):
            best_target = log_joint[:, targets].max(axis=1, initial=-np.inf)
            ahead = best_target - log_joint[:, ~targets].max(axis=1)
        return np.where(np.isnan(ahead), -np.inf, ahead)

    # ---- the search

    def search(self, max_changes: int) -> tuple[np.ndarray, int]:
        """Return the smallest sets found that lead to the decision, of up to ``max_changes``.

        The first result has a row with the positions of the moves for each set, the best first. The
        second is the largest size of which every set, and every smaller one, was tried and none
        was enough.
        """
        excluded, tried_all = 0, True
        kept = np.empty((0, 0), dtype=np.int64)
        for size in range(1, min(max_changes, self.n_features) + 1):
            tried_all = tried_all and (size == 1 or self._most_sets(size) >= self.n_sets(size))
            sets = self.all_sets(size) if tried_all else self._extended(kept)
            successful, kept = self._try(sets, self._width(size + 1))
            if len(successful):
                smallest = successful if tried_all else self._reduced(successful, excluded + 1)
                return smallest, excluded
            excluded = size if tried_all else excluded
        return np.empty((0, 1), dtype=np.int64), max_changes if tried_all else excluded

    def _most_sets(self, size: int) -> float:
        """Return the number of sets of a size up to which all are tried."""
        return min(MAX_PAIRS if size == 2 else MAX_SETS, MAX_STEPS / self._steps(size))

    def _width(self, size: int) -> int:
        """Return the number of sets that the beam keeps to extend to a size."""
        most = min(BEAM_SETS, MAX_STEPS / 4 / self._steps(size))
        return int(np.clip(most // self.n_moves, _MIN_WIDTH, _MAX_WIDTH))

    def _steps(self, size: int) -> float:
        """Return the mean cost of a set, in steps of arithmetic: a sum, or a log-joint."""
        tables = self.beliefs.network.parameters
        look_up = self.codes.shape[0] * tables.n_classes + _CELL_STEPS * elimination_cells(
            tables, self.codes
        )
        # the share of sets without a pair that meets, if pairs were independent
        apart = 0.0 if self._parts is None else (1 - self._meeting) ** (size * (size - 1) / 2)
        return size * tables.n_classes + (1 - apart) * look_up

    @cached_property
    def _meeting(self) -> float:
        """The share of the pairs of moves whose features meet in a factor."""
        features, times = np.unique(self.moves[0], return_counts=True)
        pairs = np.outer(times, times) * ~np.eye(features.size, dtype=bool)
        return float((pairs * self._joined[np.ix_(features, features)]).sum() / max(1, pairs.sum()))

    def _try(self, blocks: Iterable[np.ndarray], width: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Return the best sets that lead to the decision, and those that come nearest to it.

        The latter are needed only if there are none of the former.
        """
        successful, near = _Best(KEPT), _Best(width)
        for sets in blocks:
            log_joint, scores = self._judged(sets)
            reached = self._reach_decision(log_joint, scores)
            if reached.any():
                worth = self._decision_log_probability(log_joint[reached], scores[reached])
                successful.add(sets[reached], worth)
            elif not len(successful.sets):
                near.add(sets, self._nearness(log_joint))
        return successful.sets, near.sets

    def _reduced(self, sets: np.ndarray, least: int) -> np.ndarray:
        """Return the sets without moves that are not needed; of the results, the smallest."""
        while sets.shape[1] > least:
            # the beam may have added a move that a later one made needless
            smaller = np.unique(
                np.concatenate([np.delete(sets, k, axis=1) for k in range(sets.shape[1])]), axis=0
            )
            successful, _ = self._try([smaller])
            if not len(successful):
                break
            sets = successful
        return sets


class _Best:
    """The best of the sets that were added, best first; of equal ones, the first."""

    def __init__(self, most: int):
        self.most = most
        self.sets, self.worth = np.empty((0, 0), dtype=np.int64), np.empty(0)

    def add(self, sets: np.ndarray, worth: np.ndarray) -> None:
        """Add sets that come after all others in the order of columns and values."""
        # so that rounding does not decide between equal sets
        worth = np.round(worth / _TIE) * _TIE
        if worth.size > self.most:
            least = np.partition(worth, worth.size - self.most)[worth.size - self.most]
            sets, worth = sets[worth >= least], worth[worth >= least]
        if len(self.sets):
            sets, worth = np.concatenate([self.sets, sets]), np.concatenate([self.worth, worth])
        order = np.argsort(-worth, kind="stable")[: self.most]
        self.sets, self.worth = sets[order], worth[order]


def joined_features(structure: Structure, missing: np.ndarray) -> np.ndarray:
    """Return which observed features share a factor once missing ones are marginalized."""
    graph = structure.moral_graph(with_class=False)
    joined = np.zeros((structure.n_features, structure.n_features), dtype=bool)
    for node, others in graph.items():
        joined[node, list(others)] = True
    seen: set[int] = set()
    for feature in np.flatnonzero(missing).tolist():
        if feature not in seen:
            around = _observed_around(graph, feature, missing, seen)
            joined[np.ix_(around, around)] = True
    return joined


def _observed_around(
    graph: dict[int, set[int]], start: int, missing: np.ndarray, seen: set[int]
) -> list[int]:
    """Return the observed neighbors of the component of missing features that has ``start``."""
    waiting, around = [start], set()
    seen.add(start)
    while waiting:
        for other in graph[waiting.pop()]:
            if not missing[other]:
                around.add(other)
            elif other not in seen:
                seen.add(other)
                waiting.append(other)
    return sorted(around)
