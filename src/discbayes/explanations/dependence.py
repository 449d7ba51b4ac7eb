"""Which known features a feature depends on, given the class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from discbayes.network import CPTs


class Dependence:
    """Dependence between features given the class, by d-separation in the structure.

    A feature depends on the known features that a path leads to through unknown ones only, in the
    moral graph of these features and their ancestors. Tables that are not normalized tie the
    parents of every feature, and have the moral graph of all features. Sets of features are bit
    masks here.
    """

    def __init__(self, tables: CPTs):
        structure = tables.structure
        self._order, self._children = structure.order, structure.children
        self._parents = [_bits(group) for group in structure.parents]
        # ancestors, and the feature itself: in the order, parents come first
        self._above = [0] * structure.n_features
        for i in structure.order:
            self._above[i] = 1 << i
            for p in structure.parents[i]:
                self._above[i] |= self._above[p]
        self._always = 0 if tables.is_normalized else (1 << structure.n_features) - 1
        # rows share patterns of missing values, so that the same questions recur
        self._found: dict[tuple[int, int], tuple[int, ...]] = {}

    def on(self, feature: int, known: Iterable[int]) -> tuple[int, ...]:
        """Return the known features that a feature depends on given the class, in order."""
        return self._on(feature, _bits(known))

    def in_order(self, known: Iterable[int]) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield each known feature and those before it in the order that it depends on."""
        all_known, earlier = _bits(known), 0
        for i in self._order:
            if all_known >> i & 1:
                yield i, self._on(i, earlier)
                earlier |= 1 << i

    def _on(self, feature: int, known: int) -> tuple[int, ...]:
        key = feature, known
        if key not in self._found:
            reached = self._reached(feature, known) & known
            self._found[key] = tuple(i for i in self._order if reached >> i & 1)
        return self._found[key]

    def _reached(self, feature: int, known: int) -> int:
        """Return the features that paths lead to through unknown ones."""
        present = self._always | self._above[feature]
        for i in _members(known):
            present |= self._above[i]
        seen, waiting = 1 << feature, 1 << feature
        while waiting:
            new = 0
            for i in _members(waiting):
                new |= self._neighbors(i, present)
            new &= ~seen
            seen |= new
            # a path ends at a known feature
            waiting = new & ~known
        return seen & ~(1 << feature)

    def _neighbors(self, feature: int, present: int) -> int:
        """Return parents, children, and other parents of children, among those present."""
        found = self._parents[feature]
        for child in self._children[feature]:
            if present >> child & 1:
                found |= 1 << child | self._parents[child]
        return found


def _bits(features: Iterable[int]) -> int:
    found = 0
    for i in features:
        found |= 1 << i
    return found


def _members(features: int) -> Iterator[int]:
    while features:
        # the lowest bit that is set
        lowest = features & -features
        yield lowest.bit_length() - 1
        features ^= lowest
