"""What is drawn of a network: its nodes by name, and its edges with their strengths or how they
differ from another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discbayes._text import nearest_first
from discbayes.bayesnet import BayesNet
from discbayes.classifier import BayesNetClassifier
from discbayes.explanations.edge_strength import edge_strengths
from discbayes.inference import FactorTooLargeError
from discbayes.network import CLASS, Structure

SAME, ADDED, REMOVED, TURNED = "in both", "added", "removed", "turned round"
Edge = tuple[int, int]  # parent, which may be the class, and child


@dataclass(frozen=True)
class Graph:
    """A structure with the names of its nodes, and the network that it belongs to where there is
    one.
    """

    structure: Structure
    names: tuple[str, ...]
    target: str
    network: BayesNet | None

    @property
    def edges(self) -> list[Edge]:
        """All edges by position, those of the class first."""
        return self.structure.edges(class_name=CLASS)

    def strengths(self, wanted: bool | Mapping[Any, float]) -> dict[Edge, float] | None:
        """How strong each edge is; None where it is not asked for, or not known."""
        if isinstance(wanted, Mapping):
            return self._given(wanted)
        if not wanted or self.network is None:
            return None
        try:
            return edge_strengths(self.network)
        except FactorTooLargeError:
            return None

    def _given(self, wanted: Mapping[Any, float]) -> dict[Edge, float]:
        """Strengths by pairs of names, or of positions."""
        known = {
            (self.position(a), self.position(b)): float(value) for (a, b), value in wanted.items()
        }
        lacking = [edge for edge in self.edges if edge not in known and edge[0] != CLASS]
        if lacking:
            parent, child = lacking[0]
            raise ValueError(
                f"strengths has no entry for the edge {(self.names[parent], self.names[child])}"
            )
        return {edge: known[edge] for edge in self.edges if edge in known}

    def position(self, node: Any) -> int:
        """The position of a feature by its name or number, and that of the class."""
        if node in self.names:
            return self.names.index(node)
        if node == self.target:
            return CLASS
        if isinstance(node, int) and CLASS <= node < len(self.names):
            return node
        raise ValueError(
            f"no feature is called {node!r}; the features are {', '.join(self.names[:20])}"
        )

    def in_order_of(self, names: Sequence[str]) -> Graph:
        """The same with the features at other positions."""
        if sorted(names) != sorted(self.names):
            other = sorted(set(names) ^ set(self.names)) or ["a name that is there twice"]
            raise ValueError(
                f"the two structures have different features: {', '.join(other[:5])} is not in both"
            )
        old = [self.names.index(name) for name in names]
        new = {before: now for now, before in enumerate(old)}
        parents = tuple(tuple(new[p] for p in self.structure.parents[i]) for i in old)
        children = tuple(self.structure.class_children[i] for i in old)
        return Graph(Structure(parents, children), tuple(names), self.target, None)


def network_of(thing: Any) -> BayesNet:
    """The network of a fitted classifier, or the network itself."""
    if isinstance(thing, BayesNetClassifier):
        check_is_fitted(thing)
        return thing.network_
    if isinstance(thing, BayesNet):
        return thing
    raise TypeError(
        f"this is drawn of a fitted BayesNetClassifier or a BayesNet, not of {type(thing).__name__}"
    )


def feature_position(network: BayesNet, feature: Any) -> int:
    """The position of a feature by its name or number; names come before numbers."""
    names = network.domain.names
    if feature in names:
        return names.index(feature)
    if (
        isinstance(feature, (int, np.integer))
        and not isinstance(feature, bool)
        and 0 <= feature < len(names)
    ):
        return int(feature)
    listed = ", ".join(nearest_first(str(feature), names)[:5])
    raise ValueError(f"no feature is called {feature!r}; the nearest names are {listed}")


def graph_of(thing: Any, names: Sequence[Any] | None = None, argument: str = "thing") -> Graph:
    """What is drawn of a classifier, a network or a structure; only the last has no names of its
    own.
    """
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
    """All edges of two structures of the same features, and in which of them each is.

    An edge that was turned round is there once, in its new direction.
    """
    old, new = set(before.edges), set(now.edges)
    found = dict.fromkeys(now.edges, ADDED)
    for parent, child in new:
        if (parent, child) in old:
            found[parent, child] = SAME
        elif (child, parent) in old:
            found[parent, child] = TURNED
    gone = [
        (parent, child)
        for parent, child in before.edges
        if not {(parent, child), (child, parent)} & new
    ]
    return found | dict.fromkeys(gone, REMOVED)


def spanning(structure: Structure, edges: Sequence[Edge]) -> Structure:
    """A structure for placing nodes: further edges point down as the order of the features has
    it.
    """
    rank = {feature: place for place, feature in enumerate(structure.order)}
    parents = [list(group) for group in structure.parents]
    for a, b in edges:
        upper, lower = sorted((a, b), key=rank.__getitem__)
        if upper not in parents[lower]:
            parents[lower].append(upper)
    return Structure(tuple(map(tuple, parents)), structure.class_children)
