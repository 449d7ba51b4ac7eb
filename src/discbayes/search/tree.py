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
        roots = [int(relevance.argmax())] if self.root is None else [column_position(data, self.root, "root")]
        if self.root is None and (limits.required.any() or limits.forbidden.any()):
            roots += [i for i in np.argsort(-relevance, kind="stable").tolist() if i not in roots]
        parent = _direct(usable, relevance, roots, limits, data.domain.names)
        for i in np.flatnonzero(parent >= 0):
            names = data.domain.names
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


def _direct(
    usable: np.ndarray, relevance: np.ndarray, roots: list[int], limits: Constraints, names: list[str]
) -> np.ndarray:
    """The tree from the first root for which every edge points the way it must."""
    problem = ""
    for root in roots:
        parent = spanning_tree(usable, root, relevance)
        problem = _broken(parent, limits, names)
        if not problem:
            return parent
    raise ValueError(f"no tree keeps to all required and forbidden edges: {problem}")


def _broken(parent: np.ndarray, limits: Constraints, names: list[str]) -> str:
    """What a tree does that the constraints do not allow, in words; empty if nothing."""
    for a, b in np.argwhere(limits.required):
        if parent[b] != a:
            return f"{names[a]} -> {names[b]} is required, but a tree has only one edge into a column"
    for b in np.flatnonzero(parent >= 0):
        if limits.forbidden[parent[b], b]:
            return f"{names[parent[b]]} -> {names[b]} is forbidden, but the tree needs these two columns joined"
    return ""


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
