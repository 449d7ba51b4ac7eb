"""Proposals of simulated annealing: changes of one feature's parent, until one may be accepted.

The log-joint of a row changes by the entry of the new parent's table less that of the old one's. As
in ``kernels/candidate_scan.py``, rows with a slack beyond the ranges of both cells are skipped. For
the margin the linear part, which is an upper bound of the change, is summed first. A proposal is
abandoned as soon as it is known to be below the threshold that its random number sets.

Tables are flat, ``(group, code of the parent, code of the child, class)``.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel, small_helper
from discbayes.kernels.candidate_scan import (
    ACCURACY,
    LIKELIHOOD,
    MARGIN,
    beats,
    cell_ranges,
    measure_ranked,
)
from discbayes.kernels.scan_records import ChainRows, EdgeTable, EdgeTables, ScoringRows

# What ``counters`` count.
TRIES = 0  # of this round
REJECTIONS = 1  # in a row
UNUSABLE = 2  # draws in a row that could not be tried
IDLE = 3  # accepted changes in a row that left the score as it is
N_COUNTERS = 4


@small_helper
def _edge_table(rows, edges, start, parent, child):
    """Return the table of an edge, which begins at ``start``; one without cells if parent is −1."""
    n_cells = rows.cards[parent] * rows.cards[child] if parent >= 0 else 0
    return EdgeTable(rows.codes[max(parent, 0)], n_cells, start, edges.tables, edges.own)


@helper
def _linear_change(view, rows, child, new, old):
    """Sum over the rows below one what is added to the own class, less to the strongest other."""
    linear_rows, other = view.linear_rows, view.other
    codes, y, weight, group, _, _, cards, n_classes = rows
    child_codes, card = codes[child], cards[child]
    new_codes, n_new, start, tables, own = new
    old_codes, n_old, old_start, old_tables, old_own = old
    total = 0.0
    for k in range(linear_rows.size):
        m = linear_rows[k]
        own_code, true = np.int64(child_codes[m]), y[m]
        cell = np.int64(new_codes[m]) * card + own_code
        at = start + (group[m] * n_new + cell) * n_classes
        change = own[at + true] - tables[at + other[m]]
        if n_old > 0:
            cell = np.int64(old_codes[m]) * card + own_code
            at = old_start + (group[m] * n_old + cell) * n_classes
            change -= old_own[at + true] - old_tables[at + other[m]]
        total += weight[m] * change
    return total


@small_helper
def _fill_row(log_joint, m, true, tables, own, at, has_old, old_tables, old_own, at_old, row):
    """Find the log-joint of a row after the change."""
    for c in range(row.size):
        row[c] = log_joint[m, c] + tables[at + c]
    row[true] = log_joint[m, true] + own[at + true]
    if has_old:
        for c in range(row.size):
            row[c] -= old_tables[at_old + c] if c != true else old_own[at_old + true]


@small_helper
def _is_right(row, true):
    for c in range(row.size):
        if c != true and beats(row[c], c, row[true], true):
            return 0.0
    return 1.0


@small_helper
def _margin_value(row, true, scale):
    strongest = -np.inf
    for c in range(row.size):
        score = row[c] if c != true else -np.inf
        strongest = score if score > strongest else strongest
    return min(1.0, scale * (row[true] - strongest))


@small_helper
def _log_posterior(row, true):
    top = row[0]
    for c in range(1, row.size):
        top = max(top, row[c])
    total = 0.0
    for c in range(row.size):
        total += np.exp(row[c] - top)
    return row[true] - top - np.log(total)


@helper
def _change(view, rows, child, new, old, threshold):
    """Return by how much the objective changes; below the threshold it may be an upper bound."""
    kind, scale, log_joint, other, _, slack, value, _ = view
    codes, y, weight, group, removed, _, cards, n_classes = rows
    child_codes, card = codes[child], cards[child]
    new_codes, n_new, start, tables, own = new
    old_codes, n_old, old_start, old_tables, old_own = old
    n_groups = removed.size
    gain = 0.0
    if kind == MARGIN:
        gain = scale * _linear_change(view, rows, child, new, old)
        if gain < threshold:
            return gain
    row, ranges = np.empty(n_classes), np.empty(n_new)
    old_ranges = np.empty(n_old)
    cell_ranges(tables, own, start, n_groups, n_classes, ranges)
    cell_ranges(old_tables, old_own, old_start, n_groups, n_classes, old_ranges)
    for m in range(y.size):
        own_code, true = np.int64(child_codes[m]), y[m]
        cell = np.int64(new_codes[m]) * card + own_code
        row_range, at_old = ranges[cell], 0
        if n_old > 0:
            old_cell = np.int64(old_codes[m]) * card + own_code
            row_range += old_ranges[old_cell]
            at_old = old_start + (group[m] * n_old + old_cell) * n_classes
        if kind != LIKELIHOOD and slack[m] > row_range:
            continue
        at = start + (group[m] * n_new + cell) * n_classes
        _fill_row(log_joint, m, true, tables, own, at, n_old > 0, old_tables, old_own, at_old, row)
        if kind == ACCURACY:
            gain += weight[m] * (_is_right(row, true) - value[m])
        elif kind == LIKELIHOOD:
            gain += weight[m] * (_log_posterior(row, true) - value[m])
        else:
            change = _margin_value(row, true, scale) - value[m]
            if value[m] < 1.0:
                # the linear part has counted it already
                linear = own[at + true] - tables[at + other[m]]
                if n_old > 0:
                    linear -= old_own[at_old + true] - old_tables[at_old + other[m]]
                change -= scale * linear
            gain += weight[m] * change
            if gain < threshold:
                return gain
    return gain


@helper
def _closes_cycle(parent, node, root):
    while node >= 0:
        if node == root:
            return True
        node = parent[node]
    return False


@kernel
def next_proposal(
    view,
    rows,
    children,
    parents,
    drawn,
    thresholds,
    first,
    max_tries,
    allowed,
    parent,
    edges,
    counters,
):
    """Try proposals from ``first`` on, up to one whose change reaches its threshold.

    Parameters
    ----------
    view, rows : ChainRows, ScoringRows
        The rows under the tree.
    children, parents, drawn : arrays, EdgeTables
        The proposals: features, their new parents, and the tables of these edges.
    thresholds : array
        What the change by each proposal must reach.
    first, max_tries : int
        Where to begin, and how many tries a round has.
    allowed : bool array (n_features, n_features)
        Which edges ``[parent, child]`` may be proposed.
    parent, edges : array, EdgeTables
        The tree, −1 for roots, and the table of the edge into each feature.
    counters : array
        TRIES, REJECTIONS, UNUSABLE, IDLE; they are updated.

    Returns
    -------
    position, change
        The change is −inf if the draws, or the tries, are at their end.
    """
    view, rows = ChainRows(*view), ScoringRows(*rows)
    drawn, edges = EdgeTables(*drawn), EdgeTables(*edges)
    for k in range(first, children.size):
        child, proposed = children[k], parents[k]
        if counters[TRIES] >= max_tries:
            return k, -np.inf
        if (
            not allowed[proposed, child]
            or parent[child] == proposed
            or _closes_cycle(parent, proposed, child)
        ):
            counters[UNUSABLE] += 1
            continue
        counters[TRIES] += 1
        counters[UNUSABLE] = 0
        new = _edge_table(rows, drawn, drawn.starts[k], proposed, child)
        old = _edge_table(rows, edges, edges.starts[child], parent[child], child)
        change = _change(view, rows, child, new, old, thresholds[k])
        if change >= thresholds[k]:
            return k, change
        counters[REJECTIONS] += 1
        counters[IDLE] = 0
    return children.size, -np.inf


@kernel
def change_parent(view, rows, child, current, edges, proposed, drawn, at, first, last):
    """Replace the parent of a feature in the rows from ``first`` to ``last``, and measure them.

    Parameters
    ----------
    view, rows : ChainRows, ScoringRows
        The rows under the tree; ``view`` is updated.
    child : int
        The feature.
    current, edges : int, EdgeTables
        Its parent, −1 if it has none, and the table of the edge into each feature.
    proposed, drawn, at : int, EdgeTables, int
        Its new parent, the tables of proposals, and the position of this one.
    first, last : int
        The rows.
    """
    view, rows = ChainRows(*view), ScoringRows(*rows)
    drawn, edges = EdgeTables(*drawn), EdgeTables(*edges)
    new = _edge_table(rows, drawn, drawn.starts[at], proposed, child)
    old = _edge_table(rows, edges, edges.starts[child], current, child)
    _, _, log_joint, other, margin, slack, value, _ = view
    kind, flat = view.kind, log_joint.reshape(-1)
    codes, y, _, group, _, _, cards, n_classes = rows
    child_codes, card = codes[child], cards[child]
    new_codes, n_new, start, tables, own = new
    old_codes, n_old, old_start, old_tables, old_own = old
    for m in range(first, last):
        row, true = m * n_classes, y[m]
        own_code = np.int64(child_codes[m])
        cell = np.int64(new_codes[m]) * card + own_code
        at = start + (group[m] * n_new + cell) * n_classes
        mine = flat[row + true] + own[at + true]
        before = 0
        if n_old > 0:
            cell = np.int64(old_codes[m]) * card + own_code
            before = old_start + (group[m] * n_old + cell) * n_classes
            mine -= old_own[before + true]
        # The two strongest other classes are found on the way, without branches.
        strongest, next_one = -np.inf, -np.inf
        who = 0
        for c in range(n_classes):
            score = flat[row + c] + tables[at + c]
            if n_old > 0:
                score -= old_tables[before + c]
            flat[row + c] = score if c != true else mine
            score = score if c != true else -np.inf
            lower = score if score < strongest else strongest
            next_one = lower if lower > next_one else next_one
            who = c if score > strongest else who
            strongest = score if score > strongest else strongest
        if kind == LIKELIHOOD:
            value[m] = _log_posterior(log_joint[m], true)
        else:
            measure_ranked(
                flat,
                m,
                n_classes,
                true,
                kind,
                view.scale,
                strongest,
                next_one,
                who,
                other,
                margin,
                slack,
                value,
            )
