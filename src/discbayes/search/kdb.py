"""k-dependence Bayesian classifiers (KDB): features in order of relevance, each with its k best earlier ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from discbayes.counts import Counts, class_information, pair_information
from discbayes.data.domain import Encoded
from discbayes.engine import Context
from discbayes.network import Structure
from discbayes.search.constraints import Constraints


class KDB(BaseEstimator):
    """Order the features by I(Xi;C); each takes the ``k`` earlier ones of largest I(Xi;Xj|C) as parents.

    Parameters
    ----------
    k : int, default=1
        The largest number of feature parents.
    required, forbidden : edges (parent, child)
        Edges that must, or must not, be there. A required parent is moved before its child in the order.
    max_table_size : int or None
        A parent that would make a table above this many cells is passed over (10 million by default).
    """

    def __init__(
        self,
        k: int = 1,
        required: Iterable[Any] = (),
        forbidden: Iterable[Any] = (),
        max_table_size: int | None = None,
    ):
        self.k = k
        self.required = required
        self.forbidden = forbidden
        self.max_table_size = max_table_size

    def learn(self, data: Encoded, counts: Counts, context: Context) -> Structure:
        """Order the features, then choose the parents of each."""
        if not isinstance(self.k, (int, np.integer)) or isinstance(self.k, bool) or self.k < 0:
            raise ValueError(f"k={self.k!r} must be a whole number that is at least 0")
        limits = Constraints.of(data, self.required, self.forbidden, self.max_table_size)
        fits = limits.fits(data)
        weights = pair_information(data, counts, context.n_jobs, skip=~fits).conditional
        order = _relevance_order(class_information(counts), limits.required)
        names = data.domain.names
        parents: list[tuple[int, ...]] = [()] * data.n_features
        for place, i in enumerate(order):
            parents[i] = self._parents(data, limits, i, order[:place], weights[i])
            for p in parents[i]:
                context.record(edge=(names[p], names[i]), score=float(weights[p, i]))
        return Structure(tuple(parents))

    def _parents(
        self, data: Encoded, limits: Constraints, child: int, earlier: list[int], weights: np.ndarray
    ) -> tuple[int, ...]:
        chosen = np.flatnonzero(limits.required[:, child]).tolist()  # all of them are earlier in the order
        if len(chosen) > self.k:
            raise ValueError(f"{len(chosen)} parents of {data.domain.names[child]!r} are required, above k={self.k}")
        columns = np.sort(np.array(earlier, np.int64))
        for p in columns[np.argsort(-weights[columns], kind="stable")].tolist():
            if len(chosen) == self.k:
                break
            free = p not in chosen and not limits.forbidden[p, child]
            if free and limits.table_fits(data, child, [*chosen, p]):
                chosen.append(p)
        return tuple(chosen)


def _relevance_order(relevance: np.ndarray, required: np.ndarray) -> list[int]:
    """Most relevant first, ties to the lower column; required parents before their children."""
    left = np.argsort(-relevance, kind="stable").tolist()
    order: list[int] = []
    while left:
        ready = next(i for i in left if not required[left, i].any())
        left.remove(ready)
        order.append(ready)
    return order
