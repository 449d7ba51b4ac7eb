"""Which known features a feature depends on, once the class is known."""

from __future__ import annotations

from collections.abc import Set

from discbayes.network import Tables
from discbayes.network.graph import Graph, moral_graph


def depends_on(tables: Tables, feature: int, known: Set[int]) -> tuple[int, ...]:
    """The known features that a feature depends on, given the class and the other known ones, by d-separation.

    All features on a way to it that leads through unknown features only, in the moral graph of these features and
    their ancestors. Tables that are not normalised tie the parents of every feature, also of those that nobody asks
    for, and have the moral graph of all features.
    """
    graph = _graph(tables, known | {feature})
    found, seen, waiting = set(), {feature}, [feature]
    while waiting:
        for other in graph[waiting.pop()] - seen:
            seen.add(other)
            if other in known:
                found.add(other)
            else:
                waiting.append(other)
    place = {node: k for k, node in enumerate(tables.structure.order)}
    return tuple(sorted(found, key=place.__getitem__))


def _graph(tables: Tables, asked: Set[int]) -> Graph:
    parents = tables.structure.parents
    nodes = set(range(len(parents)))
    if tables.is_normalized:
        nodes = set(asked)
        waiting = list(asked)
        while waiting:
            new = set(parents[waiting.pop()]) - nodes
            nodes |= new
            waiting.extend(new)
    return moral_graph(((*parents[i], i) for i in nodes), nodes)
