"""Components of missing values in rows, and the distinct ones among them.

Missing features that share a family are *connected*. The missing values of a row fall into
connected components, and what a component adds to the log-joint depends on the observed values
beside it only. So it is the same in all rows with the same component and the same values beside it:
such a pair is listed once, as one more cell that rows are in. Where the entries that agree with the
row begin in the table of each family, its *bases*, tells one cell from another.

In normalized tables missing features without observed descendants sum to one; they are left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discbayes.kernels._compile import helper, kernel, small_helper
from discbayes.kernels.elimination_plan import mark_relevant

MASK = (1 << 40) - 1  # of hashes: a product with FACTOR then has less than 63 bits
FACTOR = 1000003
SHIFT = 17


class ComponentLists(NamedTuple):
    """The components of rows, their distinct cells, and the distinct patterns of these.

    The families of a pattern are those with a missing member, in the order of features. They are
    stored as 2·feature, plus one if the feature itself is missing.
    """

    row_start: np.ndarray  # the cells of row m are cells[row_start[m]:row_start[m + 1]]
    cells: np.ndarray
    base_start: np.ndarray  # by cell
    bases: np.ndarray  # of each cell its pattern, then the bases of its families, class left out
    family_start: np.ndarray  # by pattern
    families: np.ndarray
    counts: np.ndarray  # of cells and of patterns


@small_helper
def _mark_needed(codes, row, layout, every, missing, needed):
    """Mark the missing features of a row, and those that are or lead to an observed one."""
    for i in range(missing.size):
        missing[i] = codes[i, row] >= layout.cards[i]
        needed[i] = False
    mark_relevant(missing, layout, every, needed)


@small_helper
def _root(parent, i):
    """Return the feature that stands for all that are connected with a feature."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@small_helper
def _connect(layout, missing, needed, joined, member):
    """Connect the missing features of each family, and write one of them, or −1, for each."""
    for i in range(missing.size):
        joined[i] = i
    for i in range(missing.size):
        member[i] = -1
        if not needed[i]:
            continue
        if missing[i]:
            member[i] = i
        for k in range(layout.parent_start[i], layout.parent_start[i + 1]):
            parent = layout.parent_index[k]
            if missing[parent]:
                if member[i] >= 0:
                    joined[_root(joined, parent)] = _root(joined, member[i])
                member[i] = parent


@small_helper
def _list_families(joined, member, head, tail, following, roots):
    """Chain the families of each component in the order of features; return their number."""
    n_components = 0
    for i in range(member.size):
        head[i] = -1
    for i in range(member.size):
        if member[i] < 0:
            continue
        root = _root(joined, member[i])
        following[i] = -1
        if head[root] < 0:
            head[root] = i
            roots[n_components] = root
            n_components += 1
        else:
            following[tail[root]] = i
        tail[root] = i
    return n_components


@small_helper
def _mixed(hashed, number):
    """Return the hash of a list of numbers with one more."""
    hashed = ((hashed ^ number) * FACTOR) & MASK
    return hashed ^ (hashed >> SHIFT)


@helper
def _find_or_add(table, hashed, first, length, starts, numbers, n_known):
    """Return the place of a list of numbers among the known ones, where it is put if it is new.

    The list is at the end of ``numbers``, from ``first`` on. ``table`` holds places by their hash.
    """
    slot = hashed & (table.size - 1)
    while table[slot] >= 0:
        known = table[slot]
        begin = starts[known]
        if starts[known + 1] - begin == length:
            same = True
            for k in range(length):
                if numbers[begin + k] != numbers[first + k]:
                    same = False
                    break
            if same:
                return known
        slot = (slot + 1) & (table.size - 1)
    table[slot] = n_known
    starts[n_known + 1] = first + length
    return n_known


@small_helper
def _base(codes, parent_codes, row, i, layout, by_state, n_classes, missing):
    """Return the first cell, without the class, of a table that agrees with a row."""
    if missing[i]:
        base, strides = by_state.offsets[i], by_state.parent_stride
    else:
        base, strides = layout.offsets[i], layout.parent_stride
        base += np.int64(codes[i, row]) * n_classes
    for k in range(layout.parent_start[i], layout.parent_start[i + 1]):
        parent = layout.parent_index[k]
        if not missing[parent]:
            base += np.int64(parent_codes[parent, row]) * strides[k]
    return base // n_classes


@helper
def _hash_table(n_items):
    """Return a table for at most so many places, half of it empty."""
    size = 2
    while size < 2 * n_items:
        size *= 2
    return np.full(size, -1, np.int64)


@kernel
def find_components(codes, parent_codes, rows, layout, by_state, n_classes, every, lists):
    """List the components of the given rows, with ``every`` those that sum to one as well.

    ``by_state`` is the layout of the tables of missing features, whose own values are states: the
    same as ``layout`` if there is one resolution. The arrays of ``lists`` are as long as they can
    become; ``counts`` tells how much of them is used.
    """
    n_features = codes.shape[0]
    missing = np.empty(n_features, np.bool_)
    needed = np.empty(n_features, np.bool_)
    scratch = np.empty((6, n_features), np.int64)
    joined, member = scratch[0], scratch[1]
    head, tail = scratch[2], scratch[3]
    following, roots = scratch[4], scratch[5]
    cell_table = _hash_table(lists.cells.size)
    pattern_table = _hash_table(lists.cells.size)
    n_cells, n_patterns = 0, 0
    lists.row_start[0] = lists.base_start[0] = lists.family_start[0] = 0
    for m in range(rows.size):
        _mark_needed(codes, rows[m], layout, every, missing, needed)
        _connect(layout, missing, needed, joined, member)
        n_components = _list_families(joined, member, head, tail, following, roots)
        at = lists.row_start[m]
        for component in range(n_components):
            first_family, length = lists.family_start[n_patterns], 0
            first_base = lists.base_start[n_cells]
            pattern_hash, cell_hash = 0, 0
            i = head[roots[component]]
            while i >= 0:
                family = 2 * i + missing[i]
                base = _base(codes, parent_codes, rows[m], i, layout, by_state, n_classes, missing)
                lists.families[first_family + length] = family
                lists.bases[first_base + 1 + length] = base
                pattern_hash, cell_hash = _mixed(pattern_hash, family), _mixed(cell_hash, base)
                length += 1
                i = following[i]
            pattern = _find_or_add(
                pattern_table, pattern_hash, first_family, length, lists.family_start,
                lists.families, n_patterns,
            )  # fmt: skip
            n_patterns = max(n_patterns, pattern + 1)
            lists.bases[first_base] = pattern
            cell = _find_or_add(
                cell_table, _mixed(cell_hash, pattern), first_base, length + 1, lists.base_start,
                lists.bases, n_cells,
            )  # fmt: skip
            n_cells = max(n_cells, cell + 1)
            lists.cells[at + component] = cell
        lists.row_start[m + 1] = at + n_components
    lists.counts[0], lists.counts[1] = n_cells, n_patterns
