"""Plans to marginalize components of missing values: what to compute for each pattern.

A component is marginalized one missing feature after the other, that of the smallest product first.
Each *step* multiplies *factors*: tables of families, and *messages*, which are the results of
earlier steps. It sums the product over the feature, or over nothing: factors whose features are
all among those of another factor are multiplied with it first, if their product with all others is
twice as large or more. The result of the last step is the sum over the component.

A plan is a list of numbers, so that all plans are one array:

- the number of families, where the last step begins, and the number of cells of all messages;
- the table of each family: those of missing features come after all others where features have two
  resolutions, and are the same where they have one;
- of each step: the number of values that are summed over, of factors, and of other axes, the first
  cell of its message, and where the step before it begins; the number of values of each other axis;
  and of each factor its source and its strides, those of the other axes before that of the sum.

A source is the number of a family, or −1 minus the first cell of a message. Beginnings are counted
from that of the plan, and cells without the class.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discbayes.kernels._compile import helper, kernel, small_helper

HEADER = 3  # numbers before the features of a plan
STEP_HEADER = 5  # numbers before the axes of a step


class Factors(NamedTuple):
    """Factors on the way; features are counted in the order in which they are summed over."""

    scope: np.ndarray  # by factor and feature
    stride: np.ndarray  # by factor and feature, where the scope has it
    size: np.ndarray  # cells, as floats, which cannot overflow
    source: np.ndarray


@small_helper
def _weight(joined, alive, log_cards, v):
    """Return the logarithm of the cells of the product in which a feature is summed over."""
    weight = log_cards[v]
    for u in range(alive.size):
        if alive[u] and joined[v, u]:
            weight += log_cards[u]
    return weight


@helper
def _choose_order(joined, cards, position):
    """Write when each feature is summed over; return the cells of all products, and most axes.

    The feature of the smallest product is next; ``joined`` is overwritten.
    """
    n = cards.size
    log_cards = np.log(cards)
    alive = np.ones(n, np.bool_)
    weights = np.empty(n)
    for v in range(n):
        joined[v, v] = False
        weights[v] = _weight(joined, alive, log_cards, v)
    cells, widest = 0.0, 0
    for step in range(n):
        best = -1
        for v in range(n):
            # rounding must not decide between equal products
            if alive[v] and (best < 0 or weights[v] < weights[best] - 1e-9):
                best = v
        position[best] = step
        alive[best] = False
        cells += np.exp(weights[best])
        axes = 0
        for a in range(n):
            if not (alive[a] and joined[best, a]):
                continue
            axes += 1
            for b in range(a):
                if alive[b] and joined[best, b]:
                    joined[a, b] = joined[b, a] = True
        for a in range(n):
            if alive[a] and joined[best, a]:
                weights[a] = _weight(joined, alive, log_cards, a)
        widest = max(widest, axes)
    return cells, widest


@small_helper
def _join_members(families, layout, local, joined):
    """Mark the missing features that share a family."""
    members = np.empty(local.size, np.int64)
    for family in families:
        i, n_members = family >> 1, 0
        if local[i] >= 0:
            members[0] = local[i]
            n_members = 1
        for k in range(layout.parent_start[i], layout.parent_start[i + 1]):
            if local[layout.parent_index[k]] >= 0:
                members[n_members] = local[layout.parent_index[k]]
                n_members += 1
        for a in range(n_members):
            for b in range(n_members):
                joined[members[a], members[b]] = True


@small_helper
def _add_tables(families, layout, by_state, n_classes, local, position, cards, factors):
    """Make a factor of the table of each family."""
    for t in range(families.size):
        i = families[t] >> 1
        strides = by_state.parent_stride if local[i] >= 0 else layout.parent_stride
        factors.source[t] = t
        factors.size[t] = 1.0
        if local[i] >= 0:
            at = position[local[i]]
            factors.scope[t, at] = True
            factors.stride[t, at] = 1
            factors.size[t] *= cards[at]
        for k in range(layout.parent_start[i], layout.parent_start[i + 1]):
            if local[layout.parent_index[k]] >= 0:
                at = position[local[layout.parent_index[k]]]
                factors.scope[t, at] = True
                factors.stride[t, at] = strides[k] // n_classes
                factors.size[t] *= cards[at]


@helper
def _is_within(scope, a, b):
    """Return whether all features of factor ``a`` are features of factor ``b``."""
    for v in range(scope.shape[1]):
        if scope[a, v] and not scope[b, v]:
            return False
    return True


@helper
def _find_cover(factors, met, n_met, limit):
    """Return the smallest factor of ``limit`` cells at most that has all features of another."""
    best = -1
    for b in range(n_met):
        size = factors.size[met[b]]
        if size > limit or (best >= 0 and size >= factors.size[best]):
            continue
        for a in range(n_met):
            if a != b and _is_within(factors.scope, met[a], met[b]):
                best = met[b]
                break
    return best


@helper
def _write_step(plan, at, before, factors, used, n_used, result, cards, summed, message):
    """Write a step that makes the factor ``result``; return where the step ends.

    The scope of the result is given. Its axis that is summed over next is the innermost one.
    """
    n_axes = 0
    for v in range(cards.size - 1, -1, -1):
        if factors.scope[result, v]:
            plan[at + STEP_HEADER + n_axes] = cards[v]
            n_axes += 1
    plan[at] = cards[summed] if summed >= 0 else 1
    plan[at + 1] = n_used
    plan[at + 2] = n_axes
    plan[at + 3] = message
    plan[at + 4] = before
    at += STEP_HEADER + n_axes
    for j in range(n_used):
        f = used[j]
        plan[at] = factors.source[f]
        at += 1
        for v in range(cards.size - 1, -1, -1):
            if factors.scope[result, v]:
                plan[at] = factors.stride[f, v] if factors.scope[f, v] else 0
                at += 1
        # every factor that meets here has the feature that is summed over
        plan[at] = factors.stride[f, summed] if summed >= 0 else 0
        at += 1
    stride = 1
    for v in range(cards.size):
        if factors.scope[result, v]:
            factors.stride[result, v] = stride
            stride *= cards[v]
    factors.size[result] = stride
    factors.source[result] = -1 - message
    return at


@small_helper
def _gather(factors, n_factors, taken, v, cards, met):
    """List the factors with feature ``v``; write the scope of their sum as the next factor's.

    Returns their number, and the cells of their product.
    """
    n_met, cells = 0, float(cards[v])
    joint = factors.scope[n_factors]
    joint[:] = False
    for f in range(n_factors):
        if not taken[f] and factors.scope[f, v]:
            met[n_met] = f
            n_met += 1
            for u in range(v + 1, cards.size):
                if factors.scope[f, u] and not joint[u]:
                    joint[u] = True
                    cells *= cards[u]
    return n_met, cells


@helper
def _write_plan(plan, families, n_before, factors, cards):
    """Write the plan of a pattern; return where it ends.

    Tables of missing features are numbered from ``n_before`` on.
    """
    n_factors = families.size
    for t in range(n_factors):
        plan[HEADER + t] = (families[t] >> 1) + n_before * (families[t] & 1)
    at = HEADER + n_factors
    before, messages = -1, 0
    taken = np.zeros(factors.size.size, np.bool_)
    met = np.empty(factors.size.size, np.int64)
    used = np.empty(factors.size.size, np.int64)
    for v in range(cards.size):
        cover = 0
        while cover >= 0:
            n_met, cells = _gather(factors, n_factors, taken, v, cards, met)
            cover = _find_cover(factors, met, n_met, cells / 2)
            n_used = 0
            for k in range(n_met):
                if cover < 0 or _is_within(factors.scope, met[k], cover):
                    used[n_used] = met[k]
                    taken[met[k]] = True
                    n_used += 1
            if cover >= 0:
                factors.scope[n_factors] = factors.scope[cover]
            begin = at
            at = _write_step(plan, begin, before, factors, used, n_used, n_factors, cards,
                             v if cover < 0 else -1, messages)  # fmt: skip
            before = begin
            messages += int(factors.size[n_factors])
            n_factors += 1
    plan[0] = families.size
    plan[1] = before
    plan[2] = messages
    return at


@kernel
def write_plans(family_start, all_families, layout, by_state, n_classes, max_cells, begin, starts,
                cells, plans):  # fmt: skip
    """Write the plans of patterns from ``begin`` on while they fit; return the next pattern.

    Each begins at ``starts`` of its pattern in ``plans``. The cells of all products of a pattern
    are written to ``cells``; if they are more than ``max_cells``, its plan is empty. ``by_state``
    is the layout of the tables of missing features, if these are tables of their own.
    """
    n_before = layout.cards.size if by_state.offsets[0] > layout.offsets[0] else 0
    local = np.full(layout.cards.size, -1, np.int64)
    members = np.empty(layout.cards.size, np.int64)
    at = 0
    for p in range(begin, family_start.size - 1):
        families = all_families[family_start[p] : family_start[p + 1]]
        n = 0
        for family in families:
            if family & 1:
                members[n] = family >> 1
                local[family >> 1] = n
                n += 1
        joined = np.zeros((n, n), np.bool_)
        _join_members(families, layout, local, joined)
        position = np.empty(n, np.int64)
        local_cards = by_state.cards[members[:n]]
        cells[p], widest = _choose_order(joined, local_cards, position)
        # a message for each feature, and at most one more for each factor that is taken in
        n_results = 2 * n + families.size
        n_numbers = HEADER + families.size + n_results * (STEP_HEADER + widest)
        n_numbers += (families.size + n_results) * (widest + 2)
        if cells[p] <= max_cells and at + n_numbers > plans.size:
            return p
        starts[p] = at
        if cells[p] <= max_cells:
            cards = np.empty(n, np.int64)
            for v in range(n):
                cards[position[v]] = local_cards[v]
            n_factors = families.size + n_results
            factors = Factors(
                np.zeros((n_factors, n), np.bool_),
                np.zeros((n_factors, n), np.int64),
                np.zeros(n_factors),
                np.zeros(n_factors, np.int64),
            )
            _add_tables(families, layout, by_state, n_classes, local, position, cards, factors)
            at += _write_plan(plans[at:], families, n_before, factors, cards)
        starts[p + 1] = at
        for v in range(n):
            local[members[v]] = -1
    return family_start.size - 1
