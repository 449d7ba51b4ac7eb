"""Trees over the features: the maximum spanning tree on a symmetric score, directed away from a root (TAN)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from discbayes.counts import Counts, class_information, pair_information
from discbayes.data.domain import Encoded
from discbayes.engine import Context
from discbayes.network import Structure
from discbayes.search.constraints import Constraints, column_position

NO_EDGE = -np.inf
PASSED_OVER = -1.0  # below every relevance


class SpanningTree(BaseEstimator):
    """Tree-augmented naive Bayes: the tree of largest conditional mutual information I(Xi;Xj|C).

    Parameters
    ----------
    root : column name, position or None
        Where the tree starts; the most informative feature on the class by default.
    min_weight : float or None
        Leave out edges below this weight (in nats): the result is a forest. By default the tree is full.
    required, forbidden : edges (parent, child)
        Edges that must, or must not, be in the tree.
    max_table_size : int or None
        Pairs of columns whose table would have more cells than this are never joined (10 million by default).

    Notes
    -----
    Ties go to the lower column. A tree that cannot be directed from any root so that all required and forbidden edges
    hold is refused with the edge that is in the way.
    """

    def __init__(
        self,
        root: Any = None,
        min_weight: float | None = None,
        required: Iterable[Any] = (),
        forbidden: Iterable[Any] = (),
        max_table_size: int | None = None,
    ):
        self.root = root
        self.min_weight = min_weight
        self.required = required
        self.forbidden = forbidden
        self.max_table_size = max_table_size

    def learn(self, data: Encoded, counts: Counts, context: Context) -> Structure:
        """Measure all pairs and span the tree."""
        limits = Constraints.of(data, self.required, self.forbidden, self.max_table_size)
        fits = limits.fits(data)
        weights = pair_information(data, counts, context.n_jobs, skip=~fits).conditional
        usable = _usable(weights, fits, limits, self.min_weight)
        relevance = class_information(counts)
        if self.root is not None:
            relevance[column_position(data, self.root, "root")] = np.inf
        names = data.domain.names
        parent = _direct(usable, relevance, limits, names)
        for i in np.flatnonzero(parent >= 0):
            context.record(edge=(names[parent[i]], names[i]), score=float(weights[parent[i], i]))
        return Structure(tuple((int(p),) if p >= 0 else () for p in parent))


def _usable(weights: np.ndarray, fits: np.ndarray, limits: Constraints, min_weight: float | None) -> np.ndarray:
    """Weights of the edges that may be used; those that must be used come before all others."""
    usable = np.where(fits & ~(limits.forbidden & limits.forbidden.T), weights, NO_EDGE)
    if min_weight is not None:
        usable[usable < min_weight] = NO_EDGE
    needed = limits.required | limits.required.T
    usable[needed] = weights.max(initial=0.0) + 1.0
    return usable


def _direct(usable: np.ndarray, relevance: np.ndarray, limits: Constraints, names: list[str]) -> np.ndarray:
    """The tree whose edges all point the way they must, from the most relevant root, or roots, that allow it.

    An edge that points the wrong way leaves as roots only what lies behind it. A root of infinite relevance stays.
    """
    _refuse_two_parents(limits.required, names)
    barred = limits.forbidden | limits.required.T
    preference, columns, problem = relevance.copy(), np.arange(relevance.size), ""
    while True:
        parent = spanning_tree(usable, int(preference.argmax()), preference)
        wrong = np.flatnonzero((parent >= 0) & barred[parent, columns])
        if not wrong.size:
            return parent
        problem = problem or _wrong_way(parent[wrong[0]], wrong[0], limits, names)
        behind = _descendants(parent, wrong[0])
        lost = _descendants(parent, _root(parent, wrong[0])) & ~behind
        if preference[lost].max() == np.inf or preference[behind].max() == PASSED_OVER:
            raise ValueError(f"no tree keeps to all required and forbidden edges: {problem}")
        preference[lost] = PASSED_OVER


def _refuse_two_parents(required: np.ndarray, names: list[str]) -> None:
    for child in np.flatnonzero(required.sum(axis=0) > 1):
        a, b = np.flatnonzero(required[:, child])[:2]
        edges = f"{names[a]} -> {names[child]} and {names[b]} -> {names[child]}"
        raise ValueError(f"{edges} are required, but a tree has only one edge into a column")


def _wrong_way(parent: int, child: int, limits: Constraints, names: list[str]) -> str:
    if limits.required[child, parent]:
        return f"{names[child]} -> {names[parent]} is required, but the tree can only join them the other way"
    return f"{names[parent]} -> {names[child]} is forbidden, but the tree can only join them this way"


def _root(parent: np.ndarray, node: int) -> int:
    while parent[node] >= 0:
        node = parent[node]
    return int(node)


def _descendants(parent: np.ndarray, node: int) -> np.ndarray:
    """The mask of a node and all that is below it."""
    below = np.zeros(parent.size, np.bool_)
    below[node] = True
    while True:
        more = below | ((parent >= 0) & below[parent])
        if (more == below).all():
            return below
        below = more


def spanning_tree(weights: np.ndarray, root: int, start_order: np.ndarray) -> np.ndarray:
    """Prim's algorithm on a dense symmetric matrix: the parent of each node, −1 for roots.

    Edges of weight −inf are not there. Further components start at their node of largest ``start_order``.
    """
    n = weights.shape[0]
    parent = np.full(n, -1, np.int64)
    best = np.full(n, NO_EDGE)
    outside = np.ones(n, np.bool_)
    node = root
    for _ in range(n):
        outside[node] = False
        closer = outside & (weights[node] > best)
        best[closer] = weights[node][closer]
        parent[closer] = node
        if not outside.any():
            break
        reach = np.where(outside, best, NO_EDGE)
        node = int(reach.argmax())
        if reach[node] == NO_EDGE:
            node = int(np.where(outside, start_order, NO_EDGE).argmax())
            parent[node] = -1
    return parent
