"""Trees on directed weights: the maximum branching by Edmonds' algorithm (TAN-aCLL)."""

from __future__ import annotations

from typing import Any

import numpy as np

from discbayes.search.base import Run
from discbayes.search.constraints import column_position
from discbayes.search.edgewise import Edges, EdgeSearch, as_groups

NO_EDGE = -np.inf
NEW = 0
ON_PATH = 1
DONE = 2


class Branching(EdgeSearch):
    """Tree-augmented naive Bayes on any edge score: the directed tree of largest weight.

    Parameters
    ----------
    score : str or EdgeScore, default="acll"
        The weight of an edge, by name ("acll", "fcll", "cmi", …) or as an object, such as
        ``ApproximateLikelihood(missing="em")``, which uses incomplete rows.
    root : column name, position or None
        The root of the tree; by default the one that gives the largest weight.
    min_weight : float or None
        Leave out edges below this weight.
    full : bool, default=True
        Maximize the number of edges, then the weight: a tree with one root, unless constraints
        separate the features. With False only the weight, which leaves out edges of negative
        weight.
    **shared
        Settings of every search, see ``Search``.

    Notes
    -----
    The edges of ``start`` are kept. Ties go to the lower column.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> BayesNetClassifier(Branching()).fit(iris.X, iris.y).structure_.n_edges
    3
    """

    statistics_needed = "pairs"

    def __init__(
        self,
        score: Any = "acll",
        root: Any = None,
        min_weight: float | None = None,
        full: bool = True,
        **shared: Any,
    ):
        super().__init__(score, **shared)
        self.root = root
        self.min_weight = min_weight
        self.full = full

    def _search(self, run: Run) -> None:
        edges = Edges.measure(run, self._edge_score())
        edges.refuse_two_parents(run.names)
        root = None if self.root is None else column_position(run.data, self.root, "root")
        parent = directed_tree(edges, root, self.min_weight, self.full, run.names)
        edges.finish(run, as_groups(parent))


def directed_tree(
    edges: Edges, root: int | None, min_weight: float | None, full: bool, names: list[str]
) -> np.ndarray:
    """Return the branching of largest weight with all edges that must stay."""
    weights = edges.weights()
    usable = edges.usable if min_weight is None else edges.usable & (weights >= min_weight)
    has_parent = np.asarray(edges.kept.any(axis=0))  # features whose parent is given
    usable = np.where(has_parent, edges.kept, usable)
    if root is not None:
        for p in np.flatnonzero(edges.kept[:, root]):
            raise ValueError(
                f"{names[p]} -> {names[root]} is required, but {names[root]} is the root"
            )
        usable[:, root] = False
    return maximum_branching(np.where(usable, weights, NO_EDGE), ~has_parent, full)


def maximum_branching(
    weights: np.ndarray, may_be_root: np.ndarray | None = None, full: bool = True
) -> np.ndarray:
    """Return the parent of each node, −1 for roots, by Edmonds' algorithm.

    Parameters
    ----------
    weights : array (n, n)
        The weight of each edge ``[p, i]``; edges of weight −inf do not exist.
    may_be_root : bool array (n,), optional
        Which nodes may be roots; all by default.
    full : bool, default=True
        Whether the number of edges comes before their weight.

    Returns
    -------
    array (n,)
        The parents.

    Examples
    --------
    >>> no = -np.inf
    >>> maximum_branching(np.array([[no, 3.0, 1.0], [2.0, no, 2.0], [0.0, 0.0, no]])).tolist()
    [-1, 0, 1]
    """
    growth = _Growth(weights, may_be_root, full)
    for node in range(weights.shape[0]):
        growth.grow_from(node)
    return growth.expand()


class _Growth:
    """Paths grown backwards along the best edge into each node; a cycle is contracted to a node.

    A path ends at a root or at a node that is done. ``full`` decides how a root compares with an
    edge: any edge is better, or only one of positive weight. A contraction costs the length of the
    cycle times the number of nodes, and removes all of its nodes but the lowest, so that the whole
    takes O(n²).
    """

    def __init__(self, weights: np.ndarray, may_be_root: np.ndarray | None, full: bool):
        n = weights.shape[0]
        self.full = full
        # [i, p]: a row has the edges into a node.
        self.into = np.ascontiguousarray(weights.T, dtype=float).copy()
        np.fill_diagonal(self.into, NO_EDGE)
        # The original edge of each weight: child * n + parent.
        self.edge = np.arange(n)[:, None] * n + np.arange(n)
        self.alone = np.zeros(n) if may_be_root is None else np.where(may_be_root, 0.0, NO_EDGE)
        self.alone_node = np.arange(n)
        self.state = np.full(n, NEW)
        self.name = np.arange(n)  # of the node in each place; cycles get names from n on
        self.cycle_of = [-1] * n
        # (parent, child) by name; the parent is −1 for roots.
        self.chosen: list[tuple[int, int]] = [(-1, -1)] * n

    def grow_from(self, node: int) -> None:
        """Follow the best edges from a node back to a root or to a node that is done."""
        if self.state[node] != NEW:
            return
        path = [node]
        while True:
            place = path[-1]
            self.state[place] = ON_PATH
            parent = self._choose(place)
            if parent < 0 or self.state[parent] == DONE:
                self.state[path] = DONE
                return
            if self.state[parent] == ON_PATH:
                first = path.index(parent)
                path[first:] = [self._contract(np.sort(path[first:]))]
            else:
                path.append(parent)

    def _choose(self, place: int) -> int:
        """Choose the best edge into a node; return its source, −1 if the node is a root."""
        parent = int(self.into[place].argmax())
        weight = self.into[place, parent]
        if weight == NO_EDGE or (not self.full and weight <= self.alone[place]):
            self.chosen[self.name[place]] = (-1, int(self.alone_node[place]))
            return -1
        child, source = divmod(int(self.edge[place, parent]), self.state.size)
        self.chosen[self.name[place]] = (source, child)
        return parent

    def _contract(self, cycle: np.ndarray) -> int:
        """Contract a cycle to one node, in the place of its lowest.

        The weight of an edge into it is reduced by that of the edge of the cycle it replaces.
        """
        place, others = int(cycle[0]), cycle[1:]
        columns = np.arange(self.state.size)
        lost = self.into[cycle].max(axis=1)
        entering = self.into[cycle] - lost[:, None]
        entering[:, cycle] = NO_EDGE
        best = entering.argmax(axis=0)
        leaving = cycle[self.into[:, cycle].argmax(axis=1)]
        self.edge[:, place] = self.edge[columns, leaving]
        self.into[:, place] = self.into[columns, leaving]
        self.edge[place] = self.edge[cycle[best], columns]
        self.into[place] = entering[best, columns]
        self.into[:, others] = NO_EDGE
        self._name_cycle(cycle, self.alone[cycle] - lost)
        self.state[others] = DONE
        return place

    def _name_cycle(self, cycle: np.ndarray, alone: np.ndarray) -> None:
        place, best = cycle[0], int(alone.argmax())
        self.alone[place], self.alone_node[place] = alone[best], self.alone_node[cycle[best]]
        for name in self.name[cycle].tolist():
            self.cycle_of[name] = len(self.cycle_of)
        self.name[place] = len(self.cycle_of)
        self.cycle_of.append(-1)
        self.chosen.append((-1, -1))

    def expand(self) -> np.ndarray:
        """Expand the cycles, the last one first, and return the parent of each node.

        The edge into a cycle replaces the one into the node where it ends.
        """
        n = self.state.size
        for name in range(len(self.chosen) - 1, n - 1, -1):
            inside = self.chosen[name][1]
            while self.cycle_of[inside] != name:
                inside = self.cycle_of[inside]
            self.chosen[inside] = self.chosen[name]
        return np.array([parent for parent, _ in self.chosen[:n]], np.int64)
