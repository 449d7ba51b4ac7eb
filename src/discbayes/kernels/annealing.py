"""What one feature's change of parent does to an objective: exact where it exceeds a bound, else no more than a bound.

The change of a row's log-joint is the entry of the new parent's table minus that of the old one's. As in
``kernels/scanning.py``, rows whose slack exceeds what the two cells can move are not looked at, and the linear part of
the margin, which is never below the change, is added up first.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel, small_helper
from discbayes.kernels.scanning import LIKELIHOOD, MARGIN, RATE, _beats, measure_row


@kernel
def cell_spreads(tables, own, cells, n_groups, n_classes, spread):
    """The largest difference between classes within each cell, over all groups."""
    for cell in range(cells):
        spread[cell] = 0.0
        for g in range(n_groups):
            at = (g * cells + cell) * n_classes
            low, high = tables[at], tables[at]
            for q in range(at, at + n_classes):
                low = min(low, min(tables[q], own[q]))
                high = max(high, max(tables[q], own[q]))
            spread[cell] = max(spread[cell], high - low)


@kernel
def join_cells(codes, base, n_base, cells):
    """The cell of each row in the family of a child with one parent."""
    for m in range(base.size):
        cells[m] = np.int32(codes[m]) * n_base + base[m]


@helper
def _linear_change(rows, weight, group, y, other, n_classes, new, n_new, tables, own, old, n_old, old_tables, old_own):
    total = 0.0
    for k in range(rows.size):
        m = rows[k]
        at = (group[m] * n_new + new[m]) * n_classes
        change = own[at + y[m]] - tables[at + other[m]]
        if n_old > 0:
            at = (group[m] * n_old + old[m]) * n_classes
            change -= old_own[at + y[m]] - old_tables[at + other[m]]
        total += weight[m] * change
    return total


@small_helper
def _new_row(m, log_joint, true, at, tables, own, n_old, at_old, old_tables, old_own, row):
    """The log-joint of a row after the change."""
    for c in range(row.size):
        row[c] = log_joint[m, c] + tables[at + c]
    row[true] = log_joint[m, true] + own[at + true]
    if n_old > 0:
        for c in range(row.size):
            row[c] -= old_tables[at_old + c] if c != true else old_own[at_old + true]


@small_helper
def _is_right(row, true):
    for c in range(row.size):
        if c != true and _beats(row[c], c, row[true], true):
            return 0.0
    return 1.0


@small_helper
def _margin_value(row, true, scale):
    strongest = -np.inf
    for c in range(row.size):
        if c != true:
            strongest = max(strongest, row[c])
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


@kernel
def change_of_parent(
    kind, scale, bound, y, weight, group, log_joint, other, slack, value, linear_rows, new, n_new, tables, own, spread,
    old, n_old, old_tables, old_own, old_spread,
):  # fmt: skip
    """By how much the objective changes; below the bound it may be no more than an upper bound of the change."""
    n_classes = log_joint.shape[1]
    row = np.empty(n_classes)
    gain = 0.0
    if kind == MARGIN:
        gain = scale * _linear_change(
            linear_rows, weight, group, y, other, n_classes, new, n_new, tables, own, old, n_old, old_tables, old_own
        )
        if gain < bound:
            return gain
    for m in range(y.size):
        reach = spread[new[m]]
        if n_old > 0:
            reach += old_spread[old[m]]
        if kind != LIKELIHOOD and slack[m] > reach:
            continue
        at, true = (group[m] * n_new + new[m]) * n_classes, y[m]
        at_old = (group[m] * n_old + old[m]) * n_classes if n_old > 0 else 0
        _new_row(m, log_joint, true, at, tables, own, n_old, at_old, old_tables, old_own, row)
        if kind == RATE:
            gain += weight[m] * (_is_right(row, true) - value[m])
        elif kind == LIKELIHOOD:
            gain += weight[m] * (_log_posterior(row, true) - value[m])
        else:
            change = _margin_value(row, true, scale) - value[m]
            if value[m] < 1.0:
                linear = own[at + true] - tables[at + other[m]]
                if n_old > 0:
                    linear -= old_own[at_old + true] - old_tables[at_old + other[m]]
                change -= scale * linear
            gain += weight[m] * change
            if gain < bound:
                return gain
    return gain


@kernel
def change_parent(
    kind, scale, first, last, y, group, log_joint, other, margin, slack, value, new, n_new, tables, own, old, n_old,
    old_tables, old_own,
):  # fmt: skip
    """Make the change in a stretch of rows, and measure them again."""
    n_classes = log_joint.shape[1]
    flat = log_joint.reshape(-1)
    for m in range(first, last):
        start, at, true = m * n_classes, (group[m] * n_new + new[m]) * n_classes, y[m]
        own_score = flat[start + true] + own[at + true]
        for c in range(n_classes):
            flat[start + c] += tables[at + c]
        if n_old > 0:
            at = (group[m] * n_old + old[m]) * n_classes
            own_score -= old_own[at + true]
            for c in range(n_classes):
                flat[start + c] -= old_tables[at + c]
        flat[start + true] = own_score
        if kind == LIKELIHOOD:
            value[m] = _log_posterior(log_joint[m], true)
        else:
            measure_row(flat, m, n_classes, true, kind, scale, other, margin, slack, value)
