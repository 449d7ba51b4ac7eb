"""Trees on directed weights: the maximum branching by Edmonds' algorithm (TAN-aCLL)."""

from __future__ import annotations

from typing import Any

import numpy as np

from discbayes.search.base import Run
from discbayes.search.constraints import column_position
from discbayes.search.edgewise import Edges, EdgeSearch, as_groups

NO_EDGE = -np.inf
NEW, ON_PATH, DONE = 0, 1, 2


class Branching(EdgeSearch):
    """Tree-augmented naive Bayes on any edge score: the directed tree of largest weight.

    Parameters
    ----------
    score : str or EdgeScore, default="acll"
        What an edge is worth, by name ("acll", "fcll", "cmi", …) or as an object, which can say
        that rows with gaps count too: ``ApproximateLikelihood(gaps="em")``.
    root : column name, position or None
        Where the tree starts; where the weight is largest by default.
    min_weight : float or None
        Leave out edges below this weight.
    full : bool, default=True
        As many edges as can be, and then the largest weight: a tree with one root, unless
        constraints part the features. With False the largest weight alone, which leaves out edges
        that are worth less than none.
    **shared
        The settings of every search: see ``Search``. The edges of ``start`` are kept.

    Notes
    -----
    Ties go to the lower column.
    """

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
    """The branching of largest weight with all edges that must stay."""
    usable = edges.usable if min_weight is None else edges.usable & (edges.weights >= min_weight)
    bound = np.asarray(edges.kept.any(axis=0))  # features whose parent is settled
    usable = np.where(bound, edges.kept, usable)
    if root is not None:
        for p in np.flatnonzero(edges.kept[:, root]):
            raise ValueError(
                f"{names[p]} -> {names[root]} is required, but {names[root]} is the root"
            )
        usable[:, root] = False
    return maximum_branching(np.where(usable, edges.weights, NO_EDGE), np.logical_not(bound), full)


def maximum_branching(
    weights: np.ndarray, may_be_root: np.ndarray | None = None, full: bool = True
) -> np.ndarray:
    """Edmonds' algorithm on a dense matrix ``weights[p, i]``: the parent of each node, −1 for
    roots.

    Edges of weight −inf are not there. With ``full`` the number of edges comes before their weight.

    >>> maximum_branching(np.array([[-np.inf, 3.0, 1.0], [2.0, -np.inf, 2.0], [0.0, 0.0, -np.inf]])).tolist()
    [-1, 0, 1]
    """
    growth = _Growth(weights, may_be_root, full)
    for node in range(weights.shape[0]):
        growth.grow_from(node)
    return growth.expand()


class _Growth:
    """Paths grown backwards along the best edge into each node; a cycle becomes one node, in the
    place of its lowest.

    A path ends at a root or at a node that is done. The two ways to compare a root with an edge are
    those of ``full``: any edge is better, or an edge of positive weight is. Each contraction costs
    its length times the nodes, and takes all but one of them away, so that all is done in O(n²).
    """

    def __init__(self, weights: np.ndarray, may_be_root: np.ndarray | None, full: bool):
        n = weights.shape[0]
        self.full = full
        # [i, p]: rows are the edges into a node
        self.into = np.ascontiguousarray(weights.T, dtype=float).copy()
        np.fill_diagonal(self.into, NO_EDGE)
        # the edge behind each weight: child · n + parent
        self.edge = np.arange(n)[:, None] * n + np.arange(n)
        self.alone = np.zeros(n) if may_be_root is None else np.where(may_be_root, 0.0, NO_EDGE)
        self.alone_node = np.arange(n)
        self.state = np.full(n, NEW)
        self.name = np.arange(n)  # of the node in each place; cycles get names from n on
        self.cycle_of = [-1] * n
        # (parent, child) by name; parent −1 for roots
        self.chosen: list[tuple[int, int]] = [(-1, -1)] * n

    def grow_from(self, node: int) -> None:
        """Follow the best edges from a node back to a root or to what is done."""
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
        """Choose the best way into a node; the place it comes from, −1 if it is a root."""
        parent = int(self.into[place].argmax())
        weight = self.into[place, parent]
        if weight == NO_EDGE or (not self.full and weight <= self.alone[place]):
            self.chosen[self.name[place]] = (-1, int(self.alone_node[place]))
            return -1
        child, source = divmod(int(self.edge[place, parent]), self.state.size)
        self.chosen[self.name[place]] = (source, child)
        return parent

    def _contract(self, cycle: np.ndarray) -> int:
        """Make one node of a cycle: an edge into it is worth what it is more than the edge of the
        cycle it replaces.
        """
        place, others, columns = int(cycle[0]), cycle[1:], np.arange(self.state.size)
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
        self.state[others] = DONE  # nothing leads there any more
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
        """Open the cycles, the last one first: the edge into a cycle replaces the one into the node
        where it ends.
        """
        n = self.state.size
        for name in range(len(self.chosen) - 1, n - 1, -1):
            inside = self.chosen[name][1]
            while self.cycle_of[inside] != name:
                inside = self.cycle_of[inside]
            self.chosen[inside] = self.chosen[name]
        return np.array([parent for parent, _ in self.chosen[:n]], np.int64)
