"""Trees over so many features that the weights of all pairs do not fit in memory.

Of each feature the edges of largest weight are kept, ``MAX_KEPT`` of them, while all pairs are
measured. An edge is left out if it is among the best of neither of its ends. So it weighs at most
L, the second largest of the smallest kept weights of all features: by Kruskal's algorithm the edges
above L of the maximum spanning tree of the kept edges are those of the maximum spanning tree of all
edges. Each of the others could weigh up to L at most, which bounds what the tree can lose.
"""

from __future__ import annotations

from threading import Lock

import numpy as np

from discbayes._text import count_of
from discbayes.kernels.keep_best import keep_best
from discbayes.scores import EdgeScore
from discbayes.search.base import Run
from discbayes.search.edgewise import rounded, rounding_unit

NO_EDGE = -np.inf
MAX_KEPT = 64  # edges of each feature


class BestPairs:
    """The edges of largest weight of each feature.

    Parameters
    ----------
    run : Run
        The run of a search, in which all edges are allowed and none is required.
    score : EdgeScore
        A score that visits the weights of pairs.
    """

    def __init__(self, run: Run, score: EdgeScore):
        n = run.data.n_features
        n_kept = min(MAX_KEPT, n - 1)
        self.best = np.full((n, n_kept), NO_EDGE)
        self.other = np.full((n, n_kept), n, np.int64)
        lock = Lock()

        def visit(first: int, seconds: np.ndarray, weights: np.ndarray) -> None:
            with lock:  # two threads may meet in one feature
                keep_best(first, seconds, weights, self.best, self.other)

        assert score.visit_weights is not None
        score.visit_weights(run.data, run.counts, visit, run.n_jobs)
        scale = 1.0 if score.per_row else float(run.counts.class_count.sum())
        self.unit = rounding_unit(self.best, scale)
        self._join()

    def _join(self) -> None:
        """List the neighbors of each feature: its best ones, and those that it is a best one of."""
        n, n_kept = self.best.shape
        own, other = np.repeat(np.arange(n), n_kept), self.other.ravel()
        keys, first = np.unique(
            np.concatenate([own * n + other, other * n + own]), return_index=True
        )
        self._neighbors, self._weights = keys % n, self.best.ravel()[first % own.size]
        self._start = np.searchsorted(keys, np.arange(n + 1) * n)

    @property
    def n_left_out(self) -> int:
        """The number of pairs that were left out."""
        n = self.best.shape[0]
        return n * (n - 1) // 2 - self._neighbors.size // 2

    def measured(self, feature: int, other: int) -> float:
        """Return the weight of a kept edge."""
        span = slice(self._start[feature], self._start[feature + 1])
        at = int(np.searchsorted(self._neighbors[span], other))
        return float(self._weights[span][at])

    def weights(self, feature: int) -> np.ndarray:
        """Return the weights of all edges of a feature, −inf where an edge was left out."""
        row = np.full(self.best.shape[0], NO_EDGE)
        span = slice(self._start[feature], self._start[feature + 1])
        row[self._neighbors[span]] = rounded(self._weights[span], self.unit)
        return row

    def report(self, run: Run, parent: np.ndarray) -> None:
        """Record how many pairs were left out, and what the tree can lose by that."""
        if not self.n_left_out:
            return
        floor = np.sort(self.best[:, -1])[-2]
        chosen = [self.measured(i, p) for i, p in enumerate(parent.tolist()) if p >= 0]
        n_roots = parent.size - len(chosen)
        below = np.maximum(floor - np.array(chosen), 0.0)
        loss = float(below.sum()) + max(floor, 0.0) * (n_roots - 1)
        run.left_out(
            self.n_left_out,
            f"the weights of all {count_of(parent.size * (parent.size - 1) // 2, 'pair')} of"
            f" columns do not fit in memory, and those of largest weight were kept,"
            f" {self.best.shape[1]} of each column. The edges above {floor:.4g} are those of the"
            f" maximum spanning tree; it could weigh {loss:.4g} more at most. To avoid this, leave"
            " columns out, or use more memory",
        )
