"""The structure of a network: the parents of each feature, the class among them or not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from discbayes._lazy_imports import leaf, need
from discbayes.network.graph import CLASS, Graph, moral_graph, topological_order, treewidth

Edge = tuple[Any, Any]


@dataclass(frozen=True)
class Structure:
    """A directed acyclic graph over features and the class.

    Parameters
    ----------
    parents : sequence of sequences of int
        The feature parents of each feature, by position. Their order is kept.
    class_children : sequence of bool, optional
        Whether the class is a parent of each feature; of all of them by default, or of none of the
        features from which a path leads to the class.
    class_parents : sequence of int, optional
        The parents of the class, by position; none by default. They are for learners of normalized
        tables (``discbayes.network.class_parents``); others refuse them.

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
    class_parents: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        parents = tuple(tuple(int(p) for p in group) for group in self.parents)
        above = tuple(dict.fromkeys(int(p) for p in self.class_parents))
        children = tuple(bool(flag) for flag in self.class_children)
        children = children or _below(parents, above)
        object.__setattr__(self, "class_parents", above)
        object.__setattr__(self, "parents", parents)
        object.__setattr__(self, "class_children", children)
        _check_parents(parents)
        if len(children) != len(parents):
            raise ValueError(
                f"class_children has {len(children)} entries for {len(parents)} features"
            )
        _ = self.order  # computed now, so that a cycle is refused at construction
        if above:
            _check_class(parents, children, above)

    def __repr__(self) -> str:
        above = f", class_parents={self.class_parents}" if self.class_parents else ""
        return f"Structure(parents={self.parents}, class_children={self.class_children}{above})"

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The features, parents before children."""
        return topological_order(self.parents)

    # ---- building and listing

    @classmethod
    def naive(cls, n_features: int) -> Structure:
        """Return the structure without edges between features.

        Parameters
        ----------
        n_features : int
            Number of features.

        Returns
        -------
        Structure
            Naive Bayes: the class is the only parent of each feature.

        Examples
        --------
        >>> Structure.naive(2)
        Structure(parents=((), ()), class_children=(True, True))
        """
        return cls(((),) * n_features)

    @classmethod
    def from_edges(
        cls, edges: Iterable[Edge], names: Sequence[Any], class_name: Any = None
    ) -> Structure:
        """Build a structure from edges between features, by name or position.

        Parameters
        ----------
        edges : iterable of (parent, child)
            The edges. Without an edge from the class, it is a parent of every feature that is not
            among its ancestors.
        names : sequence
            Names of the features, in the order of the columns.
        class_name : optional
            Name of the class, if there are edges from it.

        Returns
        -------
        Structure
            The structure; a cycle is a ``ValueError`` that names it.

        Examples
        --------
        >>> Structure.from_edges([("a", "b"), ("y", "a")], ["a", "b"], class_name="y")
        Structure(parents=((), (0,)), class_children=(True, False))
        """
        position = _positions(names, class_name)
        parents: list[list[int]] = [[] for _ in names]
        class_edges: set[int] = set()
        above: list[int] = []
        for edge in edges:
            if isinstance(edge, str) or len(edge) != 2:
                raise ValueError(f"edges are pairs (parent, child), not {edge!r}")
            parent, child = edge
            a, b = _look_up(position, parent, names), _look_up(position, child, names)
            if b == CLASS:
                above.append(a)
            elif a == CLASS:
                class_edges.add(b)
            elif a not in parents[b]:
                parents[b].append(a)
        children = [i in class_edges for i in range(len(names))] if class_edges else []
        # here, so that a cycle is refused by the names of its columns
        topological_order(parents, names)
        if above and children:
            topological_order(_with_class(parents, children, above), [*names, class_name])
        return cls(tuple(tuple(group) for group in parents), tuple(children), tuple(above))

    def edges(self, names: Sequence[Any] | None = None, class_name: Any = None) -> list[Edge]:
        """Return the edges between features, and those of the class if it is named.

        Parameters
        ----------
        names : sequence, optional
            Names of the features; positions by default.
        class_name : optional
            Name of the class; without it, its edges are left out.

        Returns
        -------
        list of (parent, child)
            The edges.

        Examples
        --------
        >>> Structure(((), (0,))).edges(["a", "b"], "y")
        [('y', 'a'), ('y', 'b'), ('a', 'b')]
        """
        label = list(range(self.n_features)) if names is None else list(names)
        found = [(label[p], label[i]) for i, group in enumerate(self.parents) for p in group]
        if class_name is not None:
            found = [
                (class_name, label[i]) for i, flag in enumerate(self.class_children) if flag
            ] + found
            found += [(label[p], class_name) for p in self.class_parents]
        return found

    @classmethod
    def from_networkx(cls, graph: Any, names: Sequence[Any], class_name: Any = None) -> Structure:
        """Build a structure from a ``networkx.DiGraph``.

        Parameters
        ----------
        graph : networkx.DiGraph
            Its nodes are names of features, and the class.
        names : sequence
            Names of the features, in the order of the columns.
        class_name : optional
            Name of the class, if it is a node.

        Returns
        -------
        Structure
            The structure.

        Examples
        --------
        >>> import networkx
        >>> Structure.from_networkx(networkx.DiGraph([("a", "b")]), ["a", "b"]).parents
        ((), (0,))
        """
        return cls.from_edges(graph.edges(), names, class_name)

    def to_networkx(self, names: Sequence[Any] | None = None, class_name: Any = "class") -> Any:
        """Return the structure as a ``networkx.DiGraph``; needs networkx.

        Parameters
        ----------
        names : sequence, optional
            Names of the features; positions by default.
        class_name : default="class"
            Name of the node of the class.

        Returns
        -------
        networkx.DiGraph
            A node for each feature and the class.

        Examples
        --------
        >>> list(Structure(((), (0,))).to_networkx(["a", "b"], "y").edges)
        [('y', 'a'), ('y', 'b'), ('a', 'b')]
        """
        graph = need("networkx").DiGraph()
        graph.add_nodes_from([class_name, *(range(self.n_features) if names is None else names)])
        graph.add_edges_from(self.edges(names, class_name))
        return graph

    def _repr_html_(self) -> str:
        if self.class_parents:
            return f"<pre>{self!r}</pre>"  # of numbers only
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
        """Return a feature and all of its parents, ``CLASS`` (−1) if the class is one of them.

        Parameters
        ----------
        feature : int
            Position of the feature.

        Returns
        -------
        tuple of int
            The parents, and the feature at the end.

        Examples
        --------
        >>> Structure(((), (0,))).family(1)
        (-1, 0, 1)
        """
        own = (CLASS,) if self.class_children[feature] else ()
        return (*own, *self.parents[feature], feature)

    def moral_graph(self, with_class: bool = True) -> Graph:
        """Return the undirected graph in which the members of each family are joined.

        Parameters
        ----------
        with_class : bool, default=True
            Whether the class is a node.

        Returns
        -------
        dict of int to set of int
            The neighbors of each node; ``CLASS`` (−1) is the class.

        Examples
        --------
        >>> Structure(((), (), (0, 1))).moral_graph(with_class=False)
        {0: {1, 2}, 1: {0, 2}, 2: {0, 1}}
        """
        nodes = range(CLASS if with_class else 0, self.n_features)
        families = [self.family(i) for i in range(self.n_features)]
        families.append((*self.class_parents, CLASS))
        return moral_graph(([n for n in family if n in nodes] for family in families), nodes)

    def treewidth(self, with_class: bool = False) -> int:
        """Return the exact treewidth of the moral graph.

        Parameters
        ----------
        with_class : bool, default=False
            Whether the class is a node.

        Returns
        -------
        int
            The treewidth; a ``ValueError`` with bounds where finding it would take too long.

        Examples
        --------
        >>> Structure(((), (), (0, 1))).treewidth()
        2
        """
        return treewidth(self.moral_graph(with_class))

    @property
    def immoral_features(self) -> tuple[int, ...]:
        """Features with two parents (the class counts as one) that are not joined by an edge."""
        return tuple(i for i in range(self.n_features) if not self._is_moral_node(i))

    @property
    def is_moral(self) -> bool:
        """Whether the parents of every feature are joined by edges.

        Then features with parents have covering parents, discriminative fits have no bad local
        optimum, and any tables can be normalized with the same p(c, x).
        """
        return not self.immoral_features

    def _is_moral_node(self, feature: int) -> bool:
        return all(self._joined(a, b) for a, b in combinations(self.family(feature)[:-1], 2))

    def _joined(self, a: int, b: int) -> bool:
        if a == CLASS:
            return self.class_children[b]
        return a in self.parents[b] or b in self.parents[a]

    def covering_parent(self, feature: int) -> int | None:
        """Return a parent of the feature that has all of its other parents as its own.

        Parameters
        ----------
        feature : int
            Position of the feature.

        Returns
        -------
        int or None
            The parent, ``CLASS`` (−1) first; None if there is none.

        Examples
        --------
        >>> Structure(((), (), (0, 1))).covering_parent(2), Structure(((), (0,))).covering_parent(1)
        (None, 0)
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

        Then any tables can be normalized with the same P(c | x). Where the class is a parent of
        every feature, this equals ``is_moral``; features that do not depend on the class need
        nothing here.
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


def _with_class(
    parents: Sequence[Sequence[int]], children: Sequence[bool], above: Sequence[int]
) -> list[list[int]]:
    """Return the parents of all features, and at the end those of the class."""
    place = len(parents)
    with_class = zip(parents, children, strict=True)
    return [*([*group, *[place] * flag] for group, flag in with_class), list(above)]


def _check_class(
    parents: Sequence[Sequence[int]], children: Sequence[bool], above: Sequence[int]
) -> None:
    """Raise an error for parents of the class that do not exist, or that close a cycle."""
    odd = [p for p in above if not 0 <= p < len(parents)]
    if odd:
        raise ValueError(
            f"the class has the parent {odd[0]}, and there are {len(parents)} features"
        )
    names = [*map(str, range(len(parents))), "the class"]
    topological_order(_with_class(parents, children, above), names)


def _below(parents: Sequence[Sequence[int]], above: Sequence[int]) -> tuple[bool, ...]:
    """Return which features may be children of the class: those that are not its ancestors."""
    ancestors: set[int] = set()
    left = list(above)
    while left:
        one = left.pop()
        if one not in ancestors and 0 <= one < len(parents):
            ancestors.add(one)
            left += parents[one]
    return tuple(i not in ancestors for i in range(len(parents)))


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
        f"an edge names {node!r}, which is not a feature; the features are {list(names)[:20]}"
    )
