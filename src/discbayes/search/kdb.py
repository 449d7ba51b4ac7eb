"""k-dependence Bayesian classifiers (KDB): each feature has its k best more relevant ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from discbayes.counts import class_information
from discbayes.search.base import Run, check_k
from discbayes.search.edgewise import Edges, EdgeSearch, settled


class KDB(EdgeSearch):
    """The k-dependence Bayesian classifier: each feature has up to ``k`` more relevant parents.

    Features are ordered by I(Xi;C); each takes the ``k`` earlier ones of largest I(Xi;Xj|C).

    Parameters
    ----------
    k : int, default=1
        The largest number of feature parents.
    score : str or EdgeScore, default="cmi"
        The weight of an edge, by default I(Xi;Xj|C), by name or as an object.
        ``ConditionalInformation(missing="em")`` uses incomplete rows too, also for I(Xi;C).
    **shared
        Settings of every search, see ``Search``.

    Notes
    -----
    The edges of ``start`` are kept. A required parent is moved before its child in the order. A
    parent that would make a table too large is left out, and the next one is taken.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> BayesNetClassifier(KDB(k=2)).fit(iris.X, iris.y).structure_.n_edges
    5
    """

    def __init__(self, k: int = 1, score: Any = "cmi", **shared: Any):
        super().__init__(score, **shared)
        self.k = k

    @property
    def statistics_needed(self) -> str | None:  # type: ignore[override]
        """The counts that are enough to learn from: those of pairs, if there is one parent."""
        return "pairs" if self.k == 1 else None

    def _check(self) -> None:
        super()._check()
        check_k(self.k, least=0)

    def _search(self, run: Run) -> None:
        if not self.k and not run.structure.n_edges:
            return  # no edge is asked for, so none is left out
        score = self._edge_score()
        edges = Edges.measure(run, score)
        order = _relevance_order(settled(class_information(score.alone(run.counts))), edges.kept)
        parents: list[tuple[int, ...]] = [()] * run.data.n_features
        for place, i in enumerate(order):
            parents[i] = self._parents(run, edges, i, order[:place])
        edges.finish(run, parents, order)

    def _parents(self, run: Run, edges: Edges, child: int, earlier: list[int]) -> tuple[int, ...]:
        # All of them are earlier in the order.
        chosen = np.flatnonzero(edges.kept[:, child]).tolist()
        if len(chosen) > self.k:
            raise ValueError(
                f"{len(chosen)} parents of {run.names[child]!r} are required, above k={self.k}"
            )
        columns = np.sort(np.array(earlier, np.int64))
        for p in columns[np.argsort(-edges.weights((columns, child)), kind="stable")].tolist():
            if len(chosen) == self.k:
                break
            free = np.zeros(run.data.n_features, np.bool_)
            free[p] = p not in chosen and edges.usable[p, child]
            if run.limits.sizes.joining(child, chosen, free)[p]:
                chosen.append(p)
        return tuple(chosen)


def _relevance_order(relevance: np.ndarray, required: np.ndarray) -> list[int]:
    """Order features by relevance, ties by column; required parents before their children."""
    left = np.argsort(-relevance, kind="stable").tolist()
    order: list[int] = []
    while left:
        ready = next(i for i in left if not required[left, i].any())
        left.remove(ready)
        order.append(ready)
    return order
