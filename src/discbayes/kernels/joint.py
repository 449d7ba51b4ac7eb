"""The log-joint of complete rows, and the posterior that a log-joint gives.

A log-joint is an array ``(n_rows, n_classes)``: log P(c, x) of each row and class.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel, small_helper
from discbayes.kernels._vectors import SIZE, load, plus, store

# Rows whose cells are found together: they stay in the nearest cache for a few hundred features.
# Not a power of two, since cells of one row would then take turns in few of its places.
CHUNK = 72
ZERO = np.uint64(0)
FOUR = np.uint64(4)
EIGHT = np.uint64(8)
TWELVE = np.uint64(12)

MISSING = 1 << 55


@kernel
def incomplete_rows(codes, cards, flags):
    """Mark the rows in which some feature is missing; return whether there are any."""
    for i in range(codes.shape[0]):
        row, card = codes[i], cards[i]
        for m in range(row.size):
            flags[m] |= row[m] >= card
    found = False
    for m in range(flags.size):
        found |= flags[m]
    return found


@helper
def _find_cells(
    codes, states, start, feature, offsets, parent_start, parent_index, parent_stride, n_classes,
    cell,
):  # fmt: skip
    """Write where the classes of consecutive rows begin in the table of a feature."""
    own = codes[feature, start : start + cell.size]
    for m in range(cell.size):
        cell[m] = offsets[feature] + np.int64(own[m]) * n_classes
    for k in range(parent_start[feature], parent_start[feature + 1]):
        parent, stride = states[parent_index[k], start : start + cell.size], parent_stride[k]
        for m in range(cell.size):
            cell[m] += parent[m] * stride


@small_helper
def _add_tables(log_prior, log_theta, cells, m, flat, at):
    """Write the log-joint of one row of at least four classes, from ``at`` on.

    Three vectors of classes are summed at a time, in registers. The last vector ends at the last
    class: classes that it shares with the one before are computed twice, to the same result.
    """
    wide = np.uint64(log_prior.size)
    last = wide - FOUR
    c = ZERO
    while c + FOUR < wide:
        second = c + FOUR if c + FOUR < last else last
        third = c + EIGHT if c + EIGHT < last else last
        x = load(log_prior, c)
        y = load(log_prior, second)
        z = load(log_prior, third)
        for i in range(cells.shape[0]):
            cell = np.uint64(cells[i, m])
            x = plus(x, load(log_theta, cell + c))
            y = plus(y, load(log_theta, cell + second))
            z = plus(z, load(log_theta, cell + third))
        store(x, flat, at + c)
        store(y, flat, at + second)
        store(z, flat, at + third)
        c += TWELVE
    if c < wide:
        x = load(log_prior, last)
        for i in range(cells.shape[0]):
            x = plus(x, load(log_theta, np.uint64(cells[i, m]) + last))
        store(x, flat, at + last)


@helper
def _add_features(
    codes, states, start, offsets, parent_start, parent_index, parent_stride, log_prior, log_theta,
    out,
):  # fmt: skip
    """Write the log-joint of rows of fewer than four classes.

    The loop over features is the outer one, so that a table stays in the cache.
    """
    n_rows, n_classes = out.shape
    cell = np.empty(n_rows, np.int64)
    for m in range(n_rows):  # written out: assigning one array to another takes seconds to compile
        for c in range(n_classes):
            out[m, c] = log_prior[c]
    for i in range(codes.shape[0]):
        _find_cells(
            codes, states, start, i, offsets, parent_start, parent_index, parent_stride, n_classes,
            cell,
        )  # fmt: skip
        if n_classes == 2:
            for m in range(n_rows):
                out[m, 0] += log_theta[cell[m]]
                out[m, 1] += log_theta[cell[m] + 1]
        else:
            for m in range(n_rows):
                for c in range(n_classes):
                    out[m, c] += log_theta[cell[m] + c]


@kernel
def complete_log_joint(
    codes,
    states,
    start,
    stop,
    offsets,
    parent_start,
    parent_index,
    parent_stride,
    log_prior,
    log_theta,
    out,
):
    """Write log P(c, x) of consecutive complete rows; ``states`` are those that children see."""
    n_features, n_rows = codes.shape[0], stop - start
    n_classes = log_prior.size
    if n_classes >= SIZE:
        flat = out.reshape(out.size)
        cells = np.empty((n_features, CHUNK), np.int64)
        for first in range(0, n_rows, CHUNK):
            size = min(CHUNK, n_rows - first)
            for i in range(n_features):
                _find_cells(
                    codes, states, start + first, i, offsets, parent_start, parent_index,
                    parent_stride, n_classes, cells[i, :size],
                )  # fmt: skip
            for m in range(size):
                at = np.uint64((first + m) * n_classes)
                _add_tables(log_prior, log_theta, cells, m, flat, at)
    else:
        _add_features(
            codes, states, start, offsets, parent_start, parent_index, parent_stride, log_prior,
            log_theta, out,
        )  # fmt: skip


@helper
def _find_observed_cells(codes, states, start, feature, layout, n_classes, cell):
    """Write where the classes of consecutive rows begin; negative where a member is missing."""
    for m in range(cell.size):
        cell[m] = layout.offsets[feature]
    for k in range(layout.parent_start[feature], layout.parent_start[feature + 1] + 1):
        is_parent = k < layout.parent_start[feature + 1]
        member = layout.parent_index[k] if is_parent else feature
        if layout.cards[member] == 1:  # nothing is missing where there is one value only
            continue
        stride = layout.parent_stride[k] if is_parent else n_classes
        card = layout.n_states[member] if is_parent else layout.cards[member]
        here = states[member, start : start + cell.size]
        if not is_parent:
            here = codes[member, start : start + cell.size]
        for m in range(cell.size):
            code = np.int64(here[m])
            # large enough to stay negative whatever the other members add
            cell[m] += code * stride if code < card else -MISSING


@kernel
def observed_log_joint(codes, states, start, stop, layout, log_prior, log_theta, out):
    """Write log P(c) plus the cells of families without a missing value, of consecutive rows.

    ``states`` are those that children see.
    """
    n_rows = stop - start
    n_classes = log_prior.size
    cell = np.empty(n_rows, np.int64)
    for m in range(n_rows):
        for c in range(n_classes):
            out[m, c] = log_prior[c]
    for i in range(codes.shape[0]):
        _find_observed_cells(codes, states, start, i, layout, n_classes, cell)
        for m in range(n_rows):
            at = cell[m]
            if at < 0:
                continue
            if n_classes == 2:
                out[m, 0] += log_theta[at]
                out[m, 1] += log_theta[at + 1]
            else:
                for c in range(n_classes):
                    out[m, c] += log_theta[at + c]


@kernel
def center_rows(log_joint, top):
    """Subtract each row's maximum, and write it to ``top``; rows of −inf are left."""
    for m in range(log_joint.shape[0]):
        row = log_joint[m]
        best = row[0]
        for c in range(1, row.size):
            best = max(best, row[c])
        top[m] = best
        if best > -np.inf:
            for c in range(row.size):
                row[c] -= best


@kernel
def normalize_rows(joint, fallback):
    """Make each row sum to one; a row of zeros becomes ``fallback``."""
    for m in range(joint.shape[0]):
        row = joint[m]
        total = 0.0
        for c in range(row.size):
            total += row[c]
        if total > 0.0:
            scale = 1.0 / total
            for c in range(row.size):
                row[c] *= scale
        else:
            for c in range(row.size):
                row[c] = fallback[c]


@kernel
def sum_rows(joint, out):
    """Write the sum of each row."""
    for m in range(joint.shape[0]):
        total = 0.0
        for c in range(joint.shape[1]):
            total += joint[m, c]
        out[m] = total
