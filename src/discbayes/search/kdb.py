"""k-dependence Bayesian classifiers (KDB): each feature has its k best more relevant ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from discbayes.counts import class_information
from discbayes.scores import EdgeScore
from discbayes.search.base import Run, check_k
from discbayes.search.edgewise import Edges, EdgeSearch, rounded, settled

TINY = 1e-6  # nats: the relevance of features that are not relevant, in a sampled order
ORDERS = ("relevance", "sampled")
CANDIDATES = 6  # features that a selective search tries as the next parent


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
    selective : bool, default=False
        Whether a parent is taken only if it raises the score of the family with the parents that
        were taken before it, so that the number of parents is that which the data support. Of the
        six earlier features of largest weight the best one is taken, again and again. Scores that
        more parents never lower, such as "cmi", always take ``k``; "loo" and "mdl" end before.
        Parents are then listed in the order in which they were taken.
    order : {"relevance", "sampled"}, default="relevance"
        The order of the features: by I(Xi;C), or drawn one after the other with probabilities
        proportional to I(Xi;C), as ensembles of these classifiers do (Zhang, Petitjean & Buntine
        2020).
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

    def __init__(
        self,
        k: int = 1,
        score: Any = "cmi",
        selective: bool = False,
        order: str = "relevance",
        **shared: Any,
    ):
        super().__init__(score, **shared)
        self.k = k
        self.selective = selective
        self.order = order

    @property
    def statistics_needed(self) -> str | None:  # type: ignore[override]
        """The counts that are enough to learn from: those of pairs, if there is one parent."""
        return "pairs" if self.k == 1 and not self.selective else None

    def _check(self) -> None:
        super()._check()
        check_k(self.k, least=0)
        if self.order not in ORDERS:
            known = " or ".join(map(repr, ORDERS))
            raise ValueError(f"order={self.order!r} must be {known}")

    def _search(self, run: Run) -> None:
        if not self.k and not run.structure.n_edges:
            return  # no edge is asked for, so none is left out
        score = self._edge_score()
        edges = Edges.measure(run, score)
        relevance = settled(class_information(score.alone(run.counts)))
        if self.order == "sampled":
            relevance = _sampled(relevance, run.rng)
        order = _relevance_order(relevance, edges.kept)
        parents: list[tuple[int, ...]] = [()] * run.data.n_features
        for place, i in enumerate(order):
            earlier = np.sort(np.array(order[:place], np.int64))
            if self.selective:
                parents[i] = self._selected(run, edges, score, i, earlier)
            else:
                parents[i] = self._parents(run, edges, i, earlier)
        edges.finish(run, parents, order)

    def _parents(self, run: Run, edges: Edges, child: int, earlier: np.ndarray) -> tuple[int, ...]:
        """Return the required parents and the earlier features of largest weight."""
        chosen = self._required(run, edges, child)
        for p in _by_weight(edges, earlier, child):
            if len(chosen) == self.k:
                break
            if self._joinable(run, edges, child, chosen, [p]):
                chosen.append(p)
        return tuple(chosen)

    def _selected(
        self, run: Run, edges: Edges, score: EdgeScore, child: int, earlier: np.ndarray
    ) -> tuple[int, ...]:
        """Return the required parents and those that raise the score, one after the other."""
        chosen = self._required(run, edges, child)
        candidates = _by_weight(edges, earlier, child)[:CANDIDATES]
        now = score.family(run.data, run.counts, child, chosen)
        while len(chosen) < self.k:
            candidates = self._joinable(run, edges, child, chosen, candidates)
            if not candidates:
                break
            found = score.extensions(run.data, run.counts, child, chosen, candidates)
            best = int(np.argmax(rounded(np.array(found), edges.unit)))
            if not found[best] - now > edges.unit:
                break
            now = found[best]
            chosen.append(candidates[best])
        return tuple(chosen)

    def _required(self, run: Run, edges: Edges, child: int) -> list[int]:
        # All of them are earlier in the order.
        required: list[int] = np.flatnonzero(edges.kept[:, child]).tolist()
        if len(required) > self.k:
            raise ValueError(
                f"{len(required)} parents of {run.names[child]!r} are required, above k={self.k}"
            )
        return required

    def _joinable(
        self, run: Run, edges: Edges, child: int, chosen: list[int], candidates: list[int]
    ) -> list[int]:
        """Return the candidates that may be one more parent."""
        free = np.zeros(run.data.n_features, np.bool_)
        free[[p for p in candidates if p not in chosen and edges.usable[p, child]]] = True
        joining = run.limits.sizes.joining(child, chosen, free)
        return [p for p in candidates if joining[p]]


def _by_weight(edges: Edges, earlier: np.ndarray, child: int) -> list[int]:
    """Return features by the weights of their edges to a child, ties by column."""
    order = np.argsort(-edges.weights((earlier, child)), kind="stable")
    found: list[int] = earlier[order].tolist()
    return found


def _sampled(relevance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return numbers whose order is that of draws without replacement, by relevance.

    The largest of log r + Gumbel noise is a draw with probabilities proportional to r.
    """
    return np.asarray(np.log(np.maximum(relevance, TINY)) + rng.gumbel(size=relevance.size))


def _relevance_order(relevance: np.ndarray, required: np.ndarray) -> list[int]:
    """Order features by relevance, ties by column; required parents before their children."""
    left = np.argsort(-relevance, kind="stable").tolist()
    order: list[int] = []
    while left:
        ready = next(i for i in left if not required[left, i].any())
        left.remove(ready)
        order.append(ready)
    return order
