"""Plans of variable elimination for one pattern of missing values, as mini-buckets need them.

A plan gives the order in which the missing features are eliminated (least fill-in first) and the
*scope* of each step: the neighbors that are not eliminated yet, then the feature itself.

Missing features are counted apart from the others: ``position`` maps a feature to its number among
those that are eliminated, and orders and scopes are lists of such numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discbayes.kernels._compile import helper, kernel, small_helper


class EliminationPlan(NamedTuple):
    """The features to eliminate, their order and the scope of each step."""

    missing: np.ndarray  # by feature: missing in the rows of this pattern
    needed: np.ndarray  # by feature: its table takes part
    is_open: np.ndarray  # by feature: needed, and some member of its family is missing
    position: np.ndarray  # by feature: its number among the eliminated ones, or −1
    features: np.ndarray  # the eliminated features
    cards: np.ndarray  # their numbers of values
    steps: np.ndarray  # which of them is eliminated in each step
    scope_start: np.ndarray
    scopes: np.ndarray
    sizes: np.ndarray  # cells of each bucket, as floats, which cannot overflow


@small_helper
def mark_relevant(missing, layout, every, needed):
    """Mark the features whose tables matter, in a mask without marks."""
    for at in range(missing.size - 1, -1, -1):
        i = layout.order[at]
        needed[i] = needed[i] or every or not missing[i]
        if needed[i]:
            for k in range(layout.parent_start[i], layout.parent_start[i + 1]):
                needed[layout.parent_index[k]] = True


@kernel
def relevant_features(missing, layout, every):
    """Mark the features whose tables matter: all, or those that are or lead to an observed one.

    In normalized tables a missing feature without observed descendants sums to one, so that it can
    be left out.
    """
    needed = np.zeros(missing.size, np.bool_)
    mark_relevant(missing, layout, every, needed)
    return needed


@small_helper
def _interaction_graph(missing, needed, position, n_missing, layout):
    """Return which of the missing features share a family."""
    joined = np.zeros((n_missing, n_missing), np.bool_)
    members = np.empty(missing.size, np.int64)
    for i in range(missing.size):
        if not needed[i]:
            continue
        size = 0
        if missing[i]:
            members[size] = position[i]
            size += 1
        for k in range(layout.parent_start[i], layout.parent_start[i + 1]):
            if missing[layout.parent_index[k]]:
                members[size] = position[layout.parent_index[k]]
                size += 1
        for a in range(size):
            for b in range(a):
                joined[members[a], members[b]] = joined[members[b], members[a]] = True
    return joined


@helper
def _fill_in(joined, alive, v):
    """Return the number of edges that eliminating ``v`` adds, and the number of its neighbors."""
    fill = 0
    degree = 0
    for a in range(alive.size):
        if alive[a] and joined[v, a]:
            degree += 1
            for b in range(a):
                if alive[b] and joined[v, b] and not joined[a, b]:
                    fill += 1
    return fill, degree


@helper
def _next_to_eliminate(joined, alive, fills, degrees, stale):
    """Return the node of least fill-in, then of fewest neighbors, then the first.

    Fill-ins are kept from step to step; only those near the last eliminated node are stale.
    """
    best = -1
    for v in range(alive.size):
        if not alive[v]:
            continue
        if stale[v]:
            fills[v], degrees[v] = _fill_in(joined, alive, v)
            stale[v] = False
        if (
            best < 0
            or fills[v] < fills[best]
            or (fills[v] == fills[best] and degrees[v] < degrees[best])
        ):
            best = v
    return best


@helper
def _elimination_order(joined):
    """Return an order by least fill-in and the scopes of its steps; the graph is overwritten."""
    n_missing = joined.shape[0]
    alive = np.ones(n_missing, np.bool_)
    stale = np.ones(n_missing, np.bool_)
    fills = np.zeros(n_missing, np.int64)
    degrees = np.zeros(n_missing, np.int64)
    steps = np.empty(n_missing, np.int64)
    scope_start = np.zeros(n_missing + 1, np.int64)
    scopes = np.empty(n_missing * (n_missing + 1), np.int64)
    for step in range(n_missing):
        v = _next_to_eliminate(joined, alive, fills, degrees, stale)
        steps[step] = v
        alive[v] = False
        at = scope_start[step]
        for a in range(n_missing):
            if alive[a] and joined[v, a]:
                scopes[at] = a
                at += 1
        for k in range(scope_start[step], at):
            a = scopes[k]
            for other in range(scope_start[step], k):
                joined[a, scopes[other]] = joined[scopes[other], a] = True
            # an edge that is new, or gone, changes the fill-in of its ends and of their neighbors
            for b in range(n_missing):
                if joined[a, b]:
                    stale[b] = True
            stale[a] = True
        scopes[at] = v
        scope_start[step + 1] = at + 1
    return steps, scope_start, scopes[: scope_start[n_missing]].copy()


@small_helper
def _bucket_sizes(scope_start, scopes, cards, n_classes):
    """Return the number of cells of each bucket."""
    sizes = np.empty(scope_start.size - 1)
    for step in range(sizes.size):
        cells = float(n_classes)
        for k in range(scope_start[step], scope_start[step + 1]):
            cells *= cards[scopes[k]]
        sizes[step] = cells
    return sizes


@kernel
def make_plan(missing, needed, layout, n_classes):
    """Return the plan of a pattern; ``needed`` is that of ``relevant_features``."""
    n_features = missing.size
    position = np.full(n_features, -1, np.int64)
    is_open = np.zeros(n_features, np.bool_)
    n_missing = 0
    for i in range(n_features):
        if missing[i] and needed[i]:
            position[i] = n_missing
            n_missing += 1
        is_open[i] = missing[i]
        for k in range(layout.parent_start[i], layout.parent_start[i + 1]):
            is_open[i] |= missing[layout.parent_index[k]]
        is_open[i] &= needed[i]
    features = np.empty(n_missing, np.int64)
    cards = np.empty(n_missing, np.int64)
    for i in range(n_features):
        if position[i] >= 0:
            features[position[i]] = i
            cards[position[i]] = layout.cards[i]
    joined = _interaction_graph(missing, needed, position, n_missing, layout)
    steps, scope_start, scopes = _elimination_order(joined)
    sizes = _bucket_sizes(scope_start, scopes, cards, n_classes)
    return EliminationPlan(
        missing, needed, is_open, position, features, cards, steps, scope_start, scopes, sizes
    )
