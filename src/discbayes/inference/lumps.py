"""States of several values, for groups of classes in which tables cannot tell the values apart.

Tables of counts have many equal slices: all values of a parent that no row of a class has leave the
same distribution to its children in that class. Such values are one state. Which values are alike
differs from class to class, so classes whose states are much the same share tables, and the others
have their own: a few small eliminations take the place of a large one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from discbayes.inference.state_tables import Tables, make_tables
from discbayes.kernels._vectors import SIZE
from discbayes.kernels.slices import add_hashes, first_of_each, split_unequal
from discbayes.network import CPTs

MAX_CLASSES = 256  # with more, choosing groups takes longer than it saves
MAX_COST = 0.7  # of that without lumps, from which on they are not used
N_HUBS = 3  # parents of many values and children, which meet in the largest factors
VECTOR_COST = 0.16  # of one class of a cell, beside that of the cell itself
ROW_COST = 30.0  # of each feature, in cells


@dataclass(frozen=True, eq=False)
class _Group:
    """Classes that share tables, the state of every value in them, and what the tables cost."""

    classes: tuple[int, ...]
    states: list[np.ndarray]  # by feature
    n_states: np.ndarray
    cost: float


@dataclass(frozen=True)
class _Costs:
    """How much elimination costs by the numbers of states, about, in products."""

    families: list[list[int]]
    hubs: np.ndarray

    def of(self, n_classes: int, n_states: np.ndarray) -> float:
        """Return the cost for so many classes."""
        width = n_classes if n_classes <= 2 else -(-n_classes // SIZE) * SIZE
        cells = sum(float(np.prod(n_states[family], dtype=float)) for family in self.families)
        cells += float(np.prod(n_states[self.hubs], dtype=float)) + ROW_COST * n_states.size
        return (1.0 + VECTOR_COST * width) * cells


def lumped_tables(cpts: CPTs) -> list[Tables] | None:
    """Return tables with states of several values for groups of classes; None if they do not pay.

    They pay where they take clearly fewer cells than one set of tables for all classes.
    """
    if cpts.n_classes > MAX_CLASSES or not (cpts.smallest > 0).all():
        return None
    alike = _alike_values(cpts)
    n_children = np.array([len(group) for group in cpts.structure.children])
    families = [[*parents, i] for i, parents in enumerate(cpts.structure.parents)]
    hubs = np.argsort(-n_children * np.log(cpts.layout.n_states), kind="stable")[:N_HUBS]
    costs = _Costs(families, hubs)
    limit = MAX_COST * costs.of(cpts.n_classes, np.where(n_children > 0, cpts.layout.n_states, 1))
    groups = []
    for c in range(cpts.n_classes):
        states = [
            np.unique(first[cpts.layout.states_of(i), c], return_inverse=True)[1]
            for i, first in enumerate(alike)
        ]
        groups.append(_group((c,), states, costs))
    # no grouping costs less than the vector part of its classes alone
    if sum(group.cost for group in groups) * VECTOR_COST / (1 + VECTOR_COST) > limit:
        return None
    groups = _merge_groups(groups, costs)
    if sum(group.cost for group in groups) > limit:
        return None
    return make_tables(cpts, [(group.states, np.array(group.classes)) for group in groups])


def _group(classes: tuple[int, ...], states: list[np.ndarray], costs: _Costs) -> _Group:
    n_states = np.array([int(state.max()) + 1 for state in states])
    return _Group(classes, states, n_states, costs.of(len(classes), n_states))


def _merge_groups(groups: list[_Group], costs: _Costs) -> list[_Group]:
    """Merge the two groups that gain most by it, in proportion, as long as any two gain."""
    merged: dict[tuple[_Group, _Group], _Group | None] = {}
    while True:
        best = 0.0
        chosen = None
        for k, a in enumerate(groups):
            for b in groups[:k]:
                if (a, b) not in merged:
                    merged[a, b] = _merge_two(a, b, costs)
                found = merged[a, b]
                if found is not None and 1 - found.cost / (a.cost + b.cost) > best:
                    best = 1 - found.cost / (a.cost + b.cost)
                    chosen = (a, b, found)
        if chosen is None:
            return groups
        groups = [group for group in groups if group not in chosen[:2]] + [chosen[2]]


def _merge_two(a: _Group, b: _Group, costs: _Costs) -> _Group | None:
    """Return the group of the classes of both, or None if it costs more than the two."""
    # the common states are at least as many as those of either
    least = costs.of(len(a.classes) + len(b.classes), np.maximum(a.n_states, b.n_states))
    if least >= a.cost + b.cost:
        return None
    states = [
        np.unique(one * int(count) + other, return_inverse=True)[1]
        for one, other, count in zip(a.states, b.states, b.n_states, strict=True)
    ]
    found = _group(a.classes + b.classes, states, costs)
    return found if found.cost < a.cost + b.cost else None


def _alike_values(cpts: CPTs) -> list[np.ndarray]:
    """Return, for each feature, state and class, the first state with the same slices."""
    hashes = [np.zeros((int(n), cpts.n_classes), np.uint64) for n in cpts.layout.n_states]
    edges = list(_edge_tables(cpts))
    with np.errstate(over="ignore"):  # hashes wrap around
        for parent, bits, shape in edges:
            add_hashes(bits, shape, hashes[parent])
    alike = []
    for values in hashes:
        first = np.empty(values.shape, np.int64)
        first_of_each(values, first)
        alike.append(first)
    for parent, bits, shape in edges:
        split_unequal(bits, shape, alike[parent])
    return alike


def _edge_tables(cpts: CPTs) -> Iterator[tuple[int, np.ndarray, tuple[int, int, int, int]]]:
    """Yield, for each edge, the parent, the cells of the child as bit patterns, and their shape."""
    bits = cpts.theta.view(np.uint64)
    for i, parents in enumerate(cpts.structure.parents):
        shape = cpts.layout.shapes[i]
        cells = bits[cpts.layout.offsets[i] : cpts.layout.offsets[i + 1]]
        for axis, p in enumerate(parents):
            before = int(np.prod(shape[:axis]))
            after = int(np.prod(shape[axis + 1 : -1]))
            yield p, cells, (before, int(shape[axis]), after, int(shape[-1]))
