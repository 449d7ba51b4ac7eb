"""Graph algorithms for structures: topological order, moral graph, elimination, treewidth.

Graphs are dictionaries from node to the set of its neighbors. Nodes are feature positions;
``CLASS`` is the class.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from itertools import combinations
from typing import Any

import numpy as np

CLASS = -1
Graph = dict[int, set[int]]

EXACT_CORE = 16  # nodes up to which the exact search for the treewidth stays within seconds


def topological_order(
    parents: Sequence[Sequence[int]], names: Sequence[Any] | None = None
) -> tuple[int, ...]:
    """Return parents before children, the lowest position first.

    A cycle is a ``ValueError`` that names it.
    """
    waiting = [set(group) for group in parents]
    order: list[int] = []
    ready = [node for node, group in enumerate(waiting) if not group]  # sorted, hence a heap
    children: list[list[int]] = [[] for _ in parents]
    for node, group in enumerate(parents):
        for parent in group:
            children[parent].append(node)
    while ready:
        node = heappop(ready)
        order.append(node)
        for child in children[node]:
            waiting[child].discard(node)
            if not waiting[child]:
                heappush(ready, child)
    if len(order) < len(parents):
        cycle = find_cycle(waiting)
        labels = [str(node if names is None else names[node]) for node in cycle]
        raise ValueError("the edges form a cycle: " + " -> ".join(labels))
    return tuple(order)


def descendants(parents: Sequence[Sequence[int]]) -> np.ndarray:
    """Return an array whose entry ``[i, d]`` is true if ``d`` is ``i`` or a descendant of it.

    An edge from ``d`` to ``i`` would then close a cycle.
    """
    below = np.eye(len(parents), dtype=np.bool_)
    for i in reversed(topological_order(parents)):
        for p in parents[i]:
            below[p] |= below[i]
    return below


def find_cycle(parents: Sequence[Iterable[int]]) -> list[int]:
    """Return a cycle of a graph known to have one, its first node repeated at the end.

    Nodes without parents are ignored.
    """
    node = next(node for node, group in enumerate(parents) if group)
    seen: dict[int, int] = {}
    path: list[int] = []
    while node not in seen:
        seen[node] = len(path)
        path.append(node)
        node = min(parents[node])
    cycle = path[seen[node] :]
    return [node, *reversed(cycle[1:]), node]


def moral_graph(families: Iterable[Iterable[int]], nodes: Iterable[int]) -> Graph:
    """Return the undirected graph in which every family (node and parents) is connected."""
    graph: Graph = {node: set() for node in nodes}
    for family in families:
        connect(graph, family)
    return graph


def connect(graph: Graph, nodes: Iterable[int]) -> None:
    """Join all of ``nodes`` with one another."""
    for a, b in combinations(nodes, 2):
        graph[a].add(b)
        graph[b].add(a)


def fill_in(graph: Graph, node: int) -> int:
    """Return the number of edges that eliminating ``node`` would add."""
    return sum(b not in graph[a] for a, b in combinations(graph[node], 2))


def eliminate(graph: Graph, node: int) -> set[int]:
    """Remove ``node`` and connect its neighbors, which are returned."""
    neighbors = graph.pop(node)
    for neighbor in neighbors:
        graph[neighbor].discard(node)
    connect(graph, neighbors)
    return neighbors


def copy_graph(graph: Graph) -> Graph:
    """Return a copy of a graph, with sets of its own."""
    return {node: set(neighbors) for node, neighbors in graph.items()}


def min_fill_order(graph: Graph) -> tuple[list[int], int]:
    """Return an order by least fill-in (ties: fewest neighbors, lowest node) and its width."""
    left = copy_graph(graph)
    order, width = [], 0
    while left:
        node = min(left, key=lambda n: (fill_in(left, n), len(left[n]), n))
        width = max(width, len(eliminate(left, node)))
        order.append(node)
    return order, width


def treewidth_bounds(graph: Graph) -> tuple[int, int]:
    """Return a lower bound (by contraction, least degree first) and an upper one (min-fill)."""
    _, upper = min_fill_order(graph)
    left = copy_graph(graph)
    lower = 0
    while left:
        node = min(left, key=lambda n: (len(left[n]), n))
        lower = max(lower, len(left[node]))
        _contract(left, node)
    return lower, upper


def _contract(graph: Graph, node: int) -> None:
    """Merge ``node`` into its neighbor of least degree: the treewidth never rises by that."""
    neighbors = graph.pop(node)
    for neighbor in neighbors:
        graph[neighbor].discard(node)
    if neighbors:
        target = min(neighbors, key=lambda n: (len(graph[n]), n))
        for other in neighbors - {target}:
            graph[target].add(other)
            graph[other].add(target)


def treewidth(graph: Graph) -> int:
    """Return the exact treewidth; a ``ValueError`` with bounds where that would take too long."""
    core, done = _strip_simplicial(copy_graph(graph))
    lower, upper = treewidth_bounds(core)
    lower = max(lower, done)
    if lower >= upper:
        return max(done, upper)
    if len(core) > EXACT_CORE:
        raise ValueError(
            f"the treewidth lies between {lower} and {upper}; finding it exactly would take too"
            " long"
        )
    for width in range(lower, upper):
        if _fits(core, width, set()):
            return width
    return upper


def _strip_simplicial(graph: Graph) -> tuple[Graph, int]:
    """Eliminate nodes whose neighbors are all joined, which is always optimal.

    Returns the rest of the graph, and the width so far.
    """
    width = 0
    waiting = sorted(graph, reverse=True)
    while waiting:
        node = waiting.pop()
        if node in graph and all(b in graph[a] for a, b in combinations(graph[node], 2)):
            neighbors = eliminate(graph, node)
            width = max(width, len(neighbors))
            waiting.extend(neighbors)  # only they can have become simplicial
    return graph, width


def _fits(graph: Graph, width: int, failed: set[frozenset[int]]) -> bool:
    """Whether some elimination order keeps every neighborhood within ``width``."""
    if len(graph) <= width + 1:
        return True
    key = frozenset(graph)
    if key in failed:
        return False
    for node in sorted(graph, key=lambda n: len(graph[n])):
        if len(graph[node]) <= width:
            smaller = copy_graph(graph)
            eliminate(smaller, node)
            if _fits(smaller, width, failed):
                return True
    failed.add(key)
    return False
