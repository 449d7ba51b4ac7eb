"""The structure of a network: which features, and whether the class, are the parents of each
feature.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from discbayes._lazy_imports import leaf
from discbayes.network.graph import CLASS, Graph, moral_graph, topological_order, treewidth

Edge = tuple[Any, Any]


@dataclass(frozen=True)
class Structure:
    """A directed acyclic graph over the features; the class has no parents and is a parent of
    features.

    Parameters
    ----------
    parents : sequence of sequences of int
        The feature parents of each feature, by position. Their order is kept.
    class_children : sequence of bool, optional
        Whether the class is a parent of each feature; of all of them by default.

    Examples
    --------
    >>> chain = Structure.from_edges([("a", "b"), ("b", "c")], names=["a", "b", "c"])
    >>> chain.parents
    ((), (0,), (1,))
    >>> chain.edges(["a", "b", "c"])
    [('a', 'b'), ('b', 'c')]
    >>> chain.treewidth(), chain.is_c1
    (1, True)
    """

    parents: tuple[tuple[int, ...], ...]
    class_children: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        parents = tuple(tuple(int(p) for p in group) for group in self.parents)
        children = tuple(bool(flag) for flag in self.class_children) or (True,) * len(parents)
        object.__setattr__(self, "parents", parents)
        object.__setattr__(self, "class_children", children)
        _check_parents(parents)
        if len(children) != len(parents):
            raise ValueError(
                f"class_children has {len(children)} entries for {len(parents)} features"
            )
        _ = self.order  # computed now, so that a cycle is refused at construction

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The features, parents before children."""
        return topological_order(self.parents)

    # ---- building and listing

    @classmethod
    def naive(cls, n_features: int) -> Structure:
        """No edges between features."""
        return cls(((),) * n_features)

    @classmethod
    def from_edges(
        cls, edges: Iterable[Edge], names: Sequence[Any], class_name: Any = None
    ) -> Structure:
        """Build from edges ``(parent, child)`` between names, or positions, of features.

        With ``class_name``, edges that leave the class say whose parent it is; where there is no
        such edge the class is a parent of every feature.
        """
        position = _positions(names, class_name)
        parents: list[list[int]] = [[] for _ in names]
        class_edges = set()
        for edge in edges:
            if isinstance(edge, str) or len(edge) != 2:
                raise ValueError(f"edges are pairs (parent, child), not {edge!r}")
            parent, child = edge
            a, b = _look_up(position, parent, names), _look_up(position, child, names)
            if b == CLASS:
                raise ValueError(
                    f"the class {class_name!r} cannot have a parent, but the edges give it"
                    f" {parent!r}"
                )
            if a == CLASS:
                class_edges.add(b)
            elif a not in parents[b]:
                parents[b].append(a)
        children = [i in class_edges for i in range(len(names))] if class_edges else []
        # here, so that a cycle is refused by the names of its columns
        topological_order(parents, names)
        return cls(tuple(tuple(group) for group in parents), tuple(children))

    def edges(self, names: Sequence[Any] | None = None, class_name: Any = None) -> list[Edge]:
        """The edges between features, and those from the class if it is given a name."""
        label = list(range(self.n_features)) if names is None else list(names)
        found = [(label[p], label[i]) for i, group in enumerate(self.parents) for p in group]
        if class_name is not None:
            found = [
                (class_name, label[i]) for i, flag in enumerate(self.class_children) if flag
            ] + found
        return found

    @classmethod
    def from_networkx(cls, graph: Any, names: Sequence[Any], class_name: Any = None) -> Structure:
        """Build from a ``networkx.DiGraph`` whose nodes are feature names (and the class)."""
        return cls.from_edges(graph.edges(), names, class_name)

    def to_networkx(self, names: Sequence[Any] | None = None, class_name: Any = "class") -> Any:
        """The structure as a ``networkx.DiGraph``; needs networkx."""
        import networkx

        graph = networkx.DiGraph()
        graph.add_nodes_from([class_name, *(range(self.n_features) if names is None else names)])
        graph.add_edges_from(self.edges(names, class_name))
        return graph

    def _repr_html_(self) -> str:
        return leaf("report").structure_html(self)

    # ---- properties

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.parents)

    @property
    def n_edges(self) -> int:
        """The number of edges between features."""
        return sum(len(group) for group in self.parents)

    @property
    def max_parents(self) -> int:
        """The largest number of feature parents."""
        return max((len(group) for group in self.parents), default=0)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The feature children of each feature."""
        lists: list[list[int]] = [[] for _ in self.parents]
        for i, group in enumerate(self.parents):
            for parent in group:
                lists[parent].append(i)
        return tuple(tuple(group) for group in lists)

    def family(self, feature: int) -> tuple[int, ...]:
        """The feature and all of its parents, ``CLASS`` among them where the class is one."""
        own = (CLASS,) if self.class_children[feature] else ()
        return (*own, *self.parents[feature], feature)

    def moral_graph(self, with_class: bool = True) -> Graph:
        """The undirected graph that joins each feature, its parents and its parents with one
        another.
        """
        nodes = range(CLASS if with_class else 0, self.n_features)
        families = (self.family(i) for i in range(self.n_features))
        return moral_graph(([n for n in family if n in nodes] for family in families), nodes)

    def treewidth(self, with_class: bool = False) -> int:
        """The exact treewidth of the moral graph, over the features alone by default."""
        return treewidth(self.moral_graph(with_class))

    @property
    def immoral_features(self) -> tuple[int, ...]:
        """Features with two parents (the class counts as one) that are not joined by an edge."""
        return tuple(i for i in range(self.n_features) if not self._is_moral_node(i))

    @property
    def is_moral(self) -> bool:
        """Whether the parents of every feature are joined, so that features with parents have
        covering parents.

        Then discriminative fits have no bad local optimum, and any tables can be normalised with
        the same p(c, x).
        """
        return not self.immoral_features

    def _is_moral_node(self, feature: int) -> bool:
        return all(self._joined(a, b) for a, b in combinations(self.family(feature)[:-1], 2))

    def _joined(self, a: int, b: int) -> bool:
        if a == CLASS:
            return self.class_children[b]
        return a in self.parents[b] or b in self.parents[a]

    def covering_parent(self, feature: int) -> int | None:
        """A parent Y of the feature with all of its other parents among Y's (``CLASS``, a position
        or none).
        """
        parents = set(self.family(feature)[:-1])
        for candidate in sorted(parents):
            above = set() if candidate == CLASS else set(self.family(candidate)[:-1])
            if parents <= above | {candidate}:
                return candidate
        return None

    @property
    def is_c1(self) -> bool:
        """Whether every child of the class has a covering parent (Condition 1).

        Then any tables can be normalised with the same P(c | x). Where the class is a parent of
        every feature this is the same as ``is_moral``; features that do not depend on the class are
        asked for nothing here.
        """
        return all(
            self.covering_parent(i) is not None
            for i, flag in enumerate(self.class_children)
            if flag
        )

    @cached_property
    def is_forest(self) -> bool:
        """Whether every feature has at most one feature parent."""
        return self.max_parents <= 1


def _check_parents(parents: tuple[tuple[int, ...], ...]) -> None:
    n = len(parents)
    for feature, group in enumerate(parents):
        if feature in group:
            raise ValueError(f"feature {feature} is listed as its own parent")
        outside = [p for p in group if not 0 <= p < n]
        if outside:
            raise ValueError(
                f"feature {feature} has the parent {outside[0]}, but the features are 0 to {n - 1}"
            )
        if len(set(group)) < len(group):  # of numbers in range, since any others may share one hash
            raise ValueError(f"feature {feature} lists a parent twice: {group}")


def _positions(names: Sequence[Any], class_name: Any) -> dict[Any, int]:
    position = {name: i for i, name in enumerate(names)}
    if len(position) < len(names):
        raise ValueError("two features have the same name, so edges between names are not clear")
    if class_name is not None:
        if class_name in position:
            raise ValueError(f"{class_name!r} is the name of a feature and of the class")
        position[class_name] = CLASS
    return position


def _look_up(position: dict[Any, int], node: Any, names: Sequence[Any]) -> int:
    if node in position:
        return position[node]
    if str(node) in position:  # a frame whose columns are numbered: names come before positions
        return position[str(node)]
    if (
        isinstance(node, (int, np.integer))
        and not isinstance(node, bool)
        and 0 <= node < len(names)
    ):
        return int(node)
    raise ValueError(
        f"an edge names {node!r}, which is no feature; the features are {list(names)[:20]}"
    )
