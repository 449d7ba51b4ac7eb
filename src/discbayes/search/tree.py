"""Trees over the features (TAN): the maximum spanning tree, directed away from a root."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discbayes.counts import class_information, pairs_fit_in_memory
from discbayes.network import Structure
from discbayes.scores import EdgeScore
from discbayes.search.base import Run
from discbayes.search.best_pairs import BestPairs
from discbayes.search.branching import NO_EDGE, directed_tree
from discbayes.search.constraints import column_position
from discbayes.search.edgewise import Edges, EdgeSearch, as_groups, settled

PASSED_OVER = -1.0  # below every relevance
WeightsOf = Callable[[int], np.ndarray]


class SpanningTree(EdgeSearch):
    """Tree-augmented naive Bayes (TAN): the maximum spanning tree of a symmetric edge score.

    Parameters
    ----------
    root : column name, position or None
        The root of the tree; the most informative feature on the class by default.
    min_weight : float or None
        Leave out edges below this weight, in the unit of the score: the result is a forest. By
        default the tree is full, also where the score has negative weights.
    score : str or EdgeScore, default="cmi"
        The weight of an edge, by default the conditional mutual information I(Xi;Xj|C): a symmetric
        score, by name ("cmi", "ll", "mdl", "fcll", …) or as an object, such as
        ``ConditionalInformation(missing="em")``, which uses incomplete rows. Scores that are not
        symmetric go with ``Branching``.
    **shared
        Settings of every search, see ``Search``.

    Notes
    -----
    The edges of ``start`` are kept. Ties go to the lower column. If no root directs the tree so
    that all required and forbidden edges hold, an error names an edge that prevents it. With
    ``max_candidates``, which is a limit on directed edges, the tree is found as a maximum
    branching, from the root that has the largest weight if none is given.

    If the weights of all pairs do not fit in memory, the 64 largest of each column are kept. A
    warning and ``history_`` state how much weight the tree can lose by that. It is exact above a
    weight that they name too. Constraints on edges need all weights.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> BayesNetClassifier(SpanningTree()).fit(iris.X, iris.y).structure_.n_edges
    3
    """

    directed = False

    statistics_needed = "pairs"

    def __init__(
        self, root: Any = None, min_weight: float | None = None, score: Any = "cmi", **shared: Any
    ):
        super().__init__(score, **shared)
        self.root = root
        self.min_weight = min_weight

    def _search(self, run: Run) -> None:
        score = self._edge_score()
        root = None if self.root is None else column_position(run.data, self.root, "root")
        relevance = settled(class_information(score.alone(run.counts)))
        if root is not None:
            relevance[root] = np.inf
        if (
            not pairs_fit_in_memory(run.data.n_features)
            and score.visit_weights is not None
            and run.limits.allow_all
        ):
            self._search_best_pairs(run, score, relevance)
            return
        edges = Edges.measure(run, score)
        edges.refuse_two_parents(run.names)
        if self.max_candidates is not None:
            parent = directed_tree(edges, root, self.min_weight, True, run.names)
        else:
            parent = _direct(
                _weights_of(edges, self.min_weight), relevance, edges, run.limits.forbidden,
                run.names,
            )  # fmt: skip
        edges.finish(run, as_groups(parent))

    def _search_best_pairs(self, run: Run, score: EdgeScore, relevance: np.ndarray) -> None:
        """Find the tree of the best edges of each feature, as all of them do not fit in memory."""
        pairs = BestPairs(run, score)

        def weights(node: int) -> np.ndarray:
            row = pairs.weights(node)
            if self.min_weight is not None:
                row[row < self.min_weight] = NO_EDGE
            return row

        parent = spanning_tree(weights, int(relevance.argmax()), relevance)
        pairs.report(run, parent)
        run.structure = Structure(tuple(as_groups(parent)), run.limits.start.class_children)
        evaluations = parent.size * (parent.size - 1) // 2
        for i in np.flatnonzero(parent >= 0).tolist():
            run.step((parent[i], i), pairs.measured(parent[i], i), evaluations)
            evaluations = 0


def _weights_of(edges: Edges, min_weight: float | None) -> WeightsOf:
    """Return a function: the weights of a node's edges; those that must stay have the largest.

    The matrix of weights exists once, as it was measured.
    """
    kept = edges.kept | edges.kept.T
    largest = float(edges.weights(np.unravel_index(edges.measured.argmax(), edges.measured.shape)))

    def weights(node: int) -> np.ndarray:
        row = np.where(edges.pairs[node], edges.weights(node), NO_EDGE)
        if min_weight is not None:
            row[row < min_weight] = NO_EDGE
        row[kept[node]] = max(largest, 0.0) + 1.0
        return row

    return weights


def _direct(
    weights: WeightsOf, relevance: np.ndarray, edges: Edges, forbidden: np.ndarray, names: list[str]
) -> np.ndarray:
    """Direct a tree from the most relevant root, or roots, that allow all required directions.

    If an edge points the wrong way, only nodes behind it can be roots. A root of infinite relevance
    stays.
    """
    preference, columns = relevance.copy(), np.arange(relevance.size)
    problem = ""
    while True:
        parent = spanning_tree(weights, int(preference.argmax()), preference)
        barred = forbidden[parent, columns] | edges.kept[columns, parent]
        wrong = np.flatnonzero((parent >= 0) & barred)
        if not wrong.size:
            return parent
        problem = problem or _wrong_way(parent[wrong[0]], wrong[0], edges.kept, names)
        behind = _descendants(parent, wrong[0])
        lost = _descendants(parent, _root(parent, wrong[0])) & ~behind
        if preference[lost].max() == np.inf or preference[behind].max() == PASSED_OVER:
            raise ValueError(
                f"no tree keeps to all required and forbidden edges: {problem}; Branching finds the"
                " best directed trees"
            )
        preference[lost] = PASSED_OVER


def _wrong_way(parent: int, child: int, kept: np.ndarray, names: list[str]) -> str:
    if kept[child, parent]:
        return (
            f"{names[child]} -> {names[parent]} is required, but the tree can only join them the"
            " other way"
        )
    return (
        f"{names[parent]} -> {names[child]} is forbidden, but the tree can only join them this way"
    )


def _root(parent: np.ndarray, node: int) -> int:
    while parent[node] >= 0:
        node = parent[node]
    return int(node)


def _descendants(parent: np.ndarray, node: int) -> np.ndarray:
    """Return the mask of a node and its descendants."""
    below = np.zeros(parent.size, np.bool_)
    below[node] = True
    while True:
        more = below | ((parent >= 0) & below[parent])
        if (more == below).all():
            return below
        below = more


def spanning_tree(weights: WeightsOf, root: int, start_order: np.ndarray) -> np.ndarray:
    """Return the parent of each node, −1 for roots, by Prim's algorithm.

    ``weights`` returns the weights of the edges of a node, which are the same in both directions;
    edges of weight −inf do not exist. Further components start at their node of largest
    ``start_order``.
    """
    n = start_order.size
    parent = np.full(n, -1, np.int64)
    best = np.full(n, NO_EDGE)
    outside = np.ones(n, np.bool_)
    node = root
    for _ in range(n):
        outside[node] = False
        own = weights(node)
        closer = outside & (own > best)
        best[closer] = own[closer]
        parent[closer] = node
        if not outside.any():
            break
        weight = np.where(outside, best, NO_EDGE)
        node = int(weight.argmax())
        if weight[node] == NO_EDGE:
            node = int(np.where(outside, start_order, NO_EDGE).argmax())
            parent[node] = -1
    return parent
