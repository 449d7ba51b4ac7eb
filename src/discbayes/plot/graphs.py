"""Graphs to draw: nodes by name, and edges with their strengths or how two graphs differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.utils.validation import check_is_fitted

from discbayes._settings import is_integer
from discbayes._text import listed, nearest_first
from discbayes.bayesnet import BayesNet
from discbayes.charts.network_picture import exact_strengths
from discbayes.charts.placement import Edge
from discbayes.classifier import BayesNetClassifier
from discbayes.network import CLASS, Structure

SAME, ADDED = "in both", "added"
REMOVED, REVERSED = "removed", "reversed"


@dataclass(frozen=True)
class Graph:
    """A structure with the names of its nodes, and its network where there is one."""

    structure: Structure
    names: tuple[str, ...]
    target: str
    network: BayesNet | None

    @property
    def edges(self) -> list[Edge]:
        """Return all edges by position, those of the class first."""
        return self.structure.edges(class_name=CLASS)

    def strengths(self, requested: bool | Mapping[Any, float]) -> dict[Edge, float] | None:
        """Return the strength of each edge; None where it is not requested, or not known."""
        if isinstance(requested, Mapping):
            return self._by_position(requested)
        if not requested or self.network is None:
            return None
        return exact_strengths(self.network)

    def _by_position(self, given: Mapping[Any, float]) -> dict[Edge, float]:
        """Return strengths that are given by pairs of names, or of positions."""
        known = {
            (self.position(a), self.position(b)): float(value) for (a, b), value in given.items()
        }
        lacking = [edge for edge in self.edges if edge not in known and edge[0] != CLASS]
        if lacking:
            parent, child = lacking[0]
            raise ValueError(
                f"strengths has no entry for the edge {(self.names[parent], self.names[child])}"
            )
        return {edge: known[edge] for edge in self.edges if edge in known}

    def position(self, node: Any) -> int:
        """Return the position of a feature by its name or number, or that of the class."""
        if node in self.names:
            return self.names.index(node)
        if node == self.target:
            return CLASS
        if isinstance(node, int) and CLASS <= node < len(self.names):
            return node
        raise ValueError(
            f"no feature is called {node!r}; the features are {listed(self.names, 20, str)}"
        )

    def in_order_of(self, names: Sequence[str]) -> Graph:
        """Return the graph with its features in another order."""
        if sorted(names) != sorted(self.names):
            other = sorted(set(names) ^ set(self.names)) or ["a name that is there twice"]
            some = listed(other, 5, str)
            raise ValueError(f"the two structures have different features: {some} is not in both")
        old = [self.names.index(name) for name in names]
        new = {before: now for now, before in enumerate(old)}
        parents = tuple(tuple(new[p] for p in self.structure.parents[i]) for i in old)
        children = tuple(self.structure.class_children[i] for i in old)
        return Graph(Structure(parents, children), tuple(names), self.target, None)


def network_of(thing: Any) -> BayesNet:
    """Return the network of a fitted classifier, or the network itself."""
    if isinstance(thing, BayesNetClassifier):
        check_is_fitted(thing)
        thing = thing.network_
    if isinstance(thing, BayesNet):
        thing.require_root("a picture")
        return thing
    raise TypeError(
        f"this is drawn of a fitted BayesNetClassifier or a BayesNet, not of {type(thing).__name__}"
    )


def feature_position(network: BayesNet, feature: Any) -> int:
    """Return the position of a feature by its name or number; names come before numbers."""
    names = network.domain.names
    if feature in names:
        return names.index(feature)
    if is_integer(feature, 0) and feature < len(names):
        return int(feature)
    near = ", ".join(nearest_first(str(feature), names)[:5])
    raise ValueError(f"no feature is called {feature!r}; the nearest names are {near}")


def graph_of(thing: Any, names: Sequence[Any] | None = None, argument: str = "thing") -> Graph:
    """Return the graph of a classifier, a network or a structure, which has no names of its own."""
    if isinstance(thing, (BayesNetClassifier, BayesNet)):
        thing = network_of(thing)
        if names is not None:
            raise ValueError("names= is for a Structure: a network has names of its own")
        return Graph(thing.structure, tuple(thing.domain.names), thing.domain.target.name, thing)
    if not isinstance(thing, Structure):
        kind = type(thing).__name__
        raise TypeError(
            f"{argument} must be a fitted BayesNetClassifier, a BayesNet or a Structure, not {kind}"
        )
    own = range(thing.n_features) if names is None else names
    if len(own) != thing.n_features:
        raise ValueError(f"names has {len(own)} entries for {thing.n_features} features")
    return Graph(thing, tuple(map(str, own)), "class", None)


def differences(now: Graph, before: Graph) -> dict[Edge, str]:
    """Return all edges of two structures of the same features, and in which of them each is.

    A reversed edge is listed once, in its new direction.
    """
    old, new = set(before.edges), set(now.edges)
    found = dict.fromkeys(now.edges, ADDED)
    for parent, child in new:
        if (parent, child) in old:
            found[parent, child] = SAME
        elif (child, parent) in old:
            found[parent, child] = REVERSED
    gone = [edge for edge in before.edges if not {edge, edge[::-1]} & new]
    return found | dict.fromkeys(gone, REMOVED)


def spanning(structure: Structure, edges: Sequence[Edge]) -> Structure:
    """Return a structure with further edges, which follow the order of the features."""
    rank = {feature: place for place, feature in enumerate(structure.order)}
    parents = [list(group) for group in structure.parents]
    for a, b in edges:
        upper, lower = sorted((a, b), key=rank.__getitem__)
        if upper not in parents[lower]:
            parents[lower].append(upper)
    return Structure(tuple(map(tuple, parents)), structure.class_children)
