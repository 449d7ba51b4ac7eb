"""Proposals of simulated annealing: changes of one feature's parent, gone through until one may be
accepted.

The change of a row's log-joint is the entry of the new parent's table minus that of the old one's.
As in ``kernels/candidate_scan.py``, rows whose slack exceeds what the two cells can move are not
looked at, and the linear part of the margin, which is never below the change, is added up first. A
proposal is given up as soon as it is known to be below what its own draw of luck asks for.

Tables are flat, ``(group, code of the parent, code of the child, class)``; each feature has a slot
for its edge.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel, small_helper
from discbayes.kernels.candidate_scan import (
    LIKELIHOOD,
    MARGIN,
    RATE,
    beats,
    cell_reaches,
    measure_ranked,
)


@helper
def _linear_change(
    rows, weight, group, y, other, n_classes, child_codes, card, codes, n_new, start, tables, own, old_codes, n_old,
    old_start, old_tables, old_own,
):  # fmt: skip
    """Σ over the rows below one of what is added to the class minus what is added to the strongest
    other.
    """
    total = 0.0
    for k in range(rows.size):
        m = rows[k]
        own_code, true = np.int64(child_codes[m]), y[m]
        at = start + (group[m] * n_new + np.int64(codes[m]) * card + own_code) * n_classes
        change = own[at + true] - tables[at + other[m]]
        if n_old > 0:
            at = (
                old_start
                + (group[m] * n_old + np.int64(old_codes[m]) * card + own_code) * n_classes
            )
            change -= old_own[at + true] - old_tables[at + other[m]]
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
def _change(
    kind, scale, bound, y, weight, group, n_groups, log_joint, other, slack, value, linear_rows, child_codes, card,
    codes, n_new, start, tables, own, old_codes, n_old, old_start, old_tables, old_own,
):  # fmt: skip
    """By how much the objective changes; below the bound it may be no more than an upper bound of
    the change.
    """
    n_classes = log_joint.shape[1]
    gain = 0.0
    if kind == MARGIN:
        gain = scale * _linear_change(
            linear_rows, weight, group, y, other, n_classes, child_codes, card, codes, n_new, start, tables, own,
            old_codes, n_old, old_start, old_tables, old_own,
        )  # fmt: skip
        if gain < bound:
            return gain
    row, spread, old_spread = np.empty(n_classes), np.empty(n_new), np.empty(n_old)
    cell_reaches(tables, own, start, n_new, n_groups, n_classes, spread)
    cell_reaches(old_tables, old_own, old_start, n_old, n_groups, n_classes, old_spread)
    for m in range(y.size):
        own_code, true, at_old = np.int64(child_codes[m]), y[m], 0
        cell = np.int64(codes[m]) * card + own_code
        reach = spread[cell]
        if n_old > 0:
            old_cell = np.int64(old_codes[m]) * card + own_code
            reach += old_spread[old_cell]
            at_old = old_start + (group[m] * n_old + old_cell) * n_classes
        if kind != LIKELIHOOD and slack[m] > reach:
            continue
        at = start + (group[m] * n_new + cell) * n_classes
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


@helper
def _closes_cycle(parent, node, root):
    while node >= 0:
        if node == root:
            return True
        node = parent[node]
    return False


@kernel
def next_proposal(
    kind, scale, children, parents, least, starts, first, max_tries, allowed, parent, codes, cards, y, weight, group,
    n_groups, log_joint, other, slack, value, linear_rows, tables, own, slots, slot_tables, slot_own, counters,
):  # fmt: skip
    """Go through the draws from ``first`` on to one whose change is not below its ``least``.

    Returns where that one stands and the change; the change is −inf where the draws, or the tries,
    are at their end. ``counters`` are tries, rejections in a row, draws in a row that could not be
    tried, and changes in a row without an effect.
    """
    for k in range(first, children.size):
        child, new = children[k], parents[k]
        if counters[0] >= max_tries:
            return k, -np.inf
        if not allowed[new, child] or parent[child] == new or _closes_cycle(parent, new, child):
            counters[2] += 1
            continue
        counters[0] += 1
        counters[2] = 0
        card, old = cards[child], parent[child]
        n_old = cards[old] * card if old >= 0 else 0
        gain = _change(
            kind, scale, least[k], y, weight, group, n_groups, log_joint, other, slack, value, linear_rows,
            codes[child], card, codes[new], cards[new] * card, starts[k], tables, own, codes[max(old, 0)], n_old,
            slots[child], slot_tables, slot_own,
        )  # fmt: skip
        if gain >= least[k]:
            return k, gain
        counters[1] += 1
        counters[3] = 0
    return children.size, -np.inf


@kernel
def change_parent(
    kind, scale, first, last, y, group, log_joint, other, margin, slack, value, child_codes, card, codes, n_new, start,
    tables, own, old_codes, n_old, old_start, old_tables, old_own,
):  # fmt: skip
    """Make a change in a stretch of rows, and measure them again."""
    n_classes = log_joint.shape[1]
    flat = log_joint.reshape(-1)
    for m in range(first, last):
        row, own_code, true = m * n_classes, np.int64(child_codes[m]), y[m]
        at = start + (group[m] * n_new + np.int64(codes[m]) * card + own_code) * n_classes
        mine = flat[row + true] + own[at + true]
        before = 0
        if n_old > 0:
            before = (
                old_start
                + (group[m] * n_old + np.int64(old_codes[m]) * card + own_code) * n_classes
            )
            mine -= old_own[before + true]
        strongest, next_one, who = -np.inf, -np.inf, 0
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
                scale,
                strongest,
                next_one,
                who,
                other,
                margin,
                slack,
                value,
            )
