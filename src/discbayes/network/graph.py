"""Graph algorithms that structures need: order, moral graph, elimination, treewidth.

Graphs are dictionaries from node to the set of its neighbours. Nodes are feature positions;
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
    """Parents before children, the lowest position first; a ``ValueError`` that names a cycle if
    there is one.
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
    """``[i, d]``: whether ``d`` is ``i`` or comes after it, so that an edge from ``d`` to ``i``
    would close a cycle.
    """
    below = np.eye(len(parents), dtype=np.bool_)
    for i in reversed(topological_order(parents)):
        for p in parents[i]:
            below[p] |= below[i]
    return below


def find_cycle(parents: Sequence[Iterable[int]]) -> list[int]:
    """A cycle, first node repeated at the end, of a graph known to have one; nodes without parents
    are passed over.
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
    """The undirected graph in which every family (a node and its parents) is fully connected."""
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
    """The number of edges that eliminating ``node`` would add."""
    return sum(b not in graph[a] for a, b in combinations(graph[node], 2))


def eliminate(graph: Graph, node: int) -> set[int]:
    """Remove ``node`` and connect its neighbours, which are returned."""
    neighbours = graph.pop(node)
    for neighbour in neighbours:
        graph[neighbour].discard(node)
    connect(graph, neighbours)
    return neighbours


def copy_graph(graph: Graph) -> Graph:
    """The same graph in sets of its own."""
    return {node: set(neighbours) for node, neighbours in graph.items()}


def min_fill_order(graph: Graph) -> tuple[list[int], int]:
    """An elimination order by least fill-in (ties: fewest neighbours, lowest node) and its
    width.
    """
    left = copy_graph(graph)
    order, width = [], 0
    while left:
        node = min(left, key=lambda n: (fill_in(left, n), len(left[n]), n))
        width = max(width, len(eliminate(left, node)))
        order.append(node)
    return order, width


def treewidth_bounds(graph: Graph) -> tuple[int, int]:
    """A lower bound (by contracting, node of least degree first) and an upper bound (by least
    fill-in).
    """
    _, upper = min_fill_order(graph)
    left = copy_graph(graph)
    lower = 0
    while left:
        node = min(left, key=lambda n: (len(left[n]), n))
        lower = max(lower, len(left[node]))
        _contract(left, node)
    return lower, upper


def _contract(graph: Graph, node: int) -> None:
    """Merge ``node`` into its neighbour of least degree: the treewidth never rises by that."""
    neighbours = graph.pop(node)
    for neighbour in neighbours:
        graph[neighbour].discard(node)
    if neighbours:
        target = min(neighbours, key=lambda n: (len(graph[n]), n))
        for other in neighbours - {target}:
            graph[target].add(other)
            graph[other].add(target)


def treewidth(graph: Graph) -> int:
    """The exact treewidth; a ``ValueError`` with the bounds where the search for it would take too
    long.
    """
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
    """Eliminate nodes whose neighbours are all joined, which is always optimal; what is left, and
    the width so far.
    """
    width = 0
    waiting = sorted(graph, reverse=True)
    while waiting:
        node = waiting.pop()
        if node in graph and all(b in graph[a] for a, b in combinations(graph[node], 2)):
            neighbours = eliminate(graph, node)
            width = max(width, len(neighbours))
            waiting.extend(neighbours)  # only they can have become simplicial
    return graph, width


def _fits(graph: Graph, width: int, failed: set[frozenset[int]]) -> bool:
    """Whether some elimination order keeps every neighbourhood within ``width``."""
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
