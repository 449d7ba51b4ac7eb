"""The factors of one row with missing values: which tables take part, and along which axes.

The *axes* of a row are its missing features of several states that matter. A code below the card of
its feature is an observed value, the card itself a missing one, and ``card + 1 + s`` stands for a
missing value that is known to be in state ``s``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discbayes.kernels._compile import helper, kernel, small_helper
from discbayes.kernels._pointers import shifted
from discbayes.kernels.contraction import MAX_SCOPE
from discbayes.kernels.elimination_order import ZERO, connect


class RowScratch(NamedTuple):
    """Arrays that a row is worked on in, used again for every row of a block.

    Factors are numbered: families first, then the products and messages of the steps. The axes of a
    factor are listed by the step that eliminates them, the last step first, so that the axis to be
    eliminated next is always the last one.
    """

    axis: np.ndarray  # by feature: its number among the axes, or −1
    needed: np.ndarray  # by feature: its table takes part
    is_open: np.ndarray  # by feature: its family has a missing value
    families: np.ndarray  # the features whose families are open
    features: np.ndarray  # by axis
    states: np.ndarray  # by axis, as floats
    graph: np.ndarray  # by axis, bit sets: axes that share a factor
    component: np.ndarray  # by axis
    nodes: np.ndarray  # the axes of each component, one component after another
    component_start: np.ndarray
    component_cells: np.ndarray  # cells of all steps, without the classes
    component_low: np.ndarray  # bounds on products of the factors of a component
    component_high: np.ndarray
    stack: np.ndarray
    steps: np.ndarray  # by step: the axis
    step_of: np.ndarray  # by axis
    dims: np.ndarray  # by step: number of states
    base: np.ndarray  # by factor: its first entry
    n_axes: np.ndarray  # by factor
    axes: np.ndarray  # by factor: axes, then steps
    strides: np.ndarray  # by factor
    low: np.ndarray  # by factor: lower bound of its positive entries
    high: np.ndarray  # by family: upper bound of its entries and of the sum over its own axis
    following: np.ndarray  # by factor: the next one that is used in the same step, or −1
    first: np.ndarray  # by step: the first factor that is used in it, or −1
    product: np.ndarray  # by class: product of what is done
    total: np.ndarray  # by class: logarithm of what was taken out of it
    left: np.ndarray  # from here on for one order: the axes that are not eliminated yet
    order: np.ndarray
    order_graph: np.ndarray
    order_cells: np.ndarray
    order_scores: np.ndarray
    stale: np.ndarray
    operands: np.ndarray  # from here on for one step: its factors
    sizes: np.ndarray  # their numbers of entries, without the classes
    scope: np.ndarray  # the axes of all of them, by step, the last first
    merged: np.ndarray
    scope_dims: np.ndarray
    operand_base: np.ndarray
    operand_strides: np.ndarray  # along the scope
    at: np.ndarray
    digits: np.ndarray
    step_first: np.ndarray  # from here on where values are chosen, by step: its first operand
    step_operands: np.ndarray  # their number
    step_size: np.ndarray  # number of axes of the scope
    step_scope: np.ndarray
    chosen: np.ndarray  # by step: the state
    state: np.ndarray  # by feature


def make_scratch(n_features: int, width: int) -> RowScratch:
    """Return the arrays for rows of so many features, flat."""
    n = n_features + 1
    words = (n + 63) // 64
    n_factors = 4 * n + 8
    sizes = {
        "graph": n * words,
        "order_graph": n * words,
        "component_start": n + 1,
        "product": width,
        "total": width,
        "scope": 2 * MAX_SCOPE,
        "merged": 2 * MAX_SCOPE,
        "scope_dims": 2 * MAX_SCOPE,
        "digits": 2 * MAX_SCOPE,
    }
    for name in ("base", "n_axes", "low", "following", "operands", "sizes", "operand_base", "at"):
        sizes[name] = n_factors
    for name in ("axes", "strides", "operand_strides"):
        sizes[name] = n_factors * MAX_SCOPE
    sizes["step_scope"] = n * MAX_SCOPE
    kinds = dict.fromkeys(("graph", "order_graph"), np.uint64) | dict.fromkeys(
        ("states", "component_cells", "component_low", "component_high", "low", "high", "product",
         "total", "order_cells", "order_scores", "sizes"),
        np.float64,
    )  # fmt: skip
    scratch = [
        np.empty(sizes.get(name, n), kinds.get(name, np.int64)) for name in RowScratch._fields
    ]
    scratch[RowScratch._fields.index("is_open")][:] = 0
    return RowScratch(*scratch)


@kernel
def take_rows(codes, rows, cards, out):
    """Write the codes of some rows, features innermost, missing values as the card.

    A feature of one value is never missing: there is nothing to sum over.
    """
    for i in range(codes.shape[0]):
        card = cards[i]
        for r in range(rows.size):
            code = np.int64(codes[i, rows[r]])
            out[r, i] = min(code, card) if card > 1 else 0


@helper
def find_axes(row, n_features, tables, every, s):
    """Find the axes of a row and its open families; return how many there are of each.

    In normalized tables a missing feature without observed descendants sums to one and is left out,
    unless ``every`` feature is needed.
    """
    n_axes = 0
    n_open = 0
    for at in range(n_features - 1, -1, -1):
        i = tables.order[at]
        s.axis[i] = -1
        card = tables.cards[i]
        if row[i] < card:
            s.needed[i] = 1
            continue
        needed = every or row[i] > card
        k = tables.child_start[i]
        end = tables.child_start[i + 1]
        while not needed and k < end:
            needed = s.needed[tables.child_index[k]] > 0
            k += 1
        s.needed[i] = needed
        if not needed:
            continue
        if row[i] == card and tables.states[i] > 1:
            s.axis[i] = n_axes
            s.features[n_axes] = i
            s.states[n_axes] = tables.states[i]
            n_axes += 1
        if not s.is_open[i]:
            s.is_open[i] = 1
            s.families[n_open] = i
            n_open += 1
        for k in range(tables.child_start[i], end):
            j = tables.child_index[k]
            if s.needed[j] and not s.is_open[j]:
                s.is_open[j] = 1
                s.families[n_open] = j
                n_open += 1
    for f in range(n_open):
        s.is_open[s.families[f]] = 0
    return n_axes, n_open


@small_helper
def parent_state(row, p, tables):
    """Return the state of a parent that is no axis of the row."""
    code = row[p]
    if code < tables.cards[p]:
        return tables.state_of[tables.state_start[p] + code]
    return max(code - tables.cards[p] - 1, 0)


@small_helper
def _find_factor(row, i, f, tables, s):
    """Write factor ``f``: the part of the table of feature ``i`` that agrees with the row."""
    axes = shifted(s.axes, f * MAX_SCOPE)
    own_strides = shifted(s.strides, f * MAX_SCOPE)
    n_axes = 0
    code = row[i]
    strides = tables.observed_stride
    if code < tables.cards[i]:
        base = tables.observed[i] + code * tables.width
    else:
        strides = tables.missing_stride
        base = tables.missing[i]
        if s.axis[i] >= 0:
            axes[0] = s.axis[i]
            own_strides[0] = tables.width
            n_axes = 1
        elif code > tables.cards[i]:
            base += (code - tables.cards[i] - 1) * tables.width
    for k in range(tables.parent_start[i], tables.parent_start[i + 1]):
        p = tables.parent_index[k]
        if s.axis[p] >= 0:
            axes[n_axes] = s.axis[p]
            own_strides[n_axes] = strides[k]
            n_axes += 1
        else:
            base += parent_state(row, p, tables) * strides[k]
    s.base[f] = base
    s.n_axes[f] = n_axes
    s.low[f] = tables.smallest[i]
    s.high[f] = 1.0 if code < tables.cards[i] else float(tables.cards[i] * tables.states[i])


@helper
def find_factors(row, tables, n_open, n_axes, s):
    """Write the factors of the open families, those without axes last; return how many have axes.

    The graph of the axes is made as well.
    """
    n_words = (n_axes + 63) // 64
    for a in range(n_axes):
        for w in range(n_words):
            s.graph[a * n_words + w] = ZERO
    n_factors = 0
    n_single = n_open
    for k in range(n_open):
        _find_factor(row, s.families[k], n_factors, tables, s)
        size = s.n_axes[n_factors]
        if size == 0:
            n_single -= 1
            s.base[n_single] = s.base[n_factors]
            s.low[n_single] = s.low[n_factors]
            continue
        axes = shifted(s.axes, n_factors * MAX_SCOPE)
        for x in range(size):
            for y in range(x):
                connect(s.graph, n_words, axes[x], axes[y])
        n_factors += 1
    return n_factors


@helper
def use_by_step(n_factors, n_axes, s):
    """Sort the axes of all families by step, and list each family in the step that needs it."""
    for step in range(n_axes):
        s.first[step] = -1
    for f in range(n_factors):
        axes = shifted(s.axes, f * MAX_SCOPE)
        strides = shifted(s.strides, f * MAX_SCOPE)
        for x in range(s.n_axes[f]):
            step = s.step_of[axes[x]]
            stride = strides[x]
            y = x
            while y > 0 and axes[y - 1] < step:
                axes[y] = axes[y - 1]
                strides[y] = strides[y - 1]
                y -= 1
            axes[y] = step
            strides[y] = stride
        step = axes[s.n_axes[f] - 1]
        s.following[f] = s.first[step]
        s.first[step] = f
