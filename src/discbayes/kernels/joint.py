"""The log-joint of complete rows, and the posterior that a log-joint gives.

A log-joint is an array ``(n_rows, n_classes)``: log P(c, x) of each row and class.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel


@kernel
def incomplete_rows(codes, cards, flags):
    """Mark the rows in which some feature is missing."""
    for i in range(codes.shape[0]):
        row, card = codes[i], cards[i]
        for m in range(row.size):
            flags[m] |= row[m] >= card


@helper
def _find_cells(
    codes, start, feature, offsets, parent_start, parent_index, parent_stride, n_classes, cell
):
    """Write where the classes of consecutive rows begin in the table of a feature."""
    own = codes[feature, start : start + cell.size]
    for m in range(cell.size):
        cell[m] = offsets[feature] + np.int64(own[m]) * n_classes
    for k in range(parent_start[feature], parent_start[feature + 1]):
        parent, stride = codes[parent_index[k], start : start + cell.size], parent_stride[k]
        for m in range(cell.size):
            cell[m] += parent[m] * stride


@kernel
def complete_log_joint(
    codes,
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
    """Write log P(c, x) of consecutive complete rows.

    The loop over features is the outer one, so that a table stays in the cache.
    """
    n_features, n_rows = codes.shape[0], stop - start
    n_classes = log_prior.size
    cell = np.empty(n_rows, np.int64)
    for m in range(n_rows):  # written out: assigning one array to another takes seconds to compile
        for c in range(n_classes):
            out[m, c] = log_prior[c]
    for i in range(n_features):
        _find_cells(
            codes, start, i, offsets, parent_start, parent_index, parent_stride, n_classes, cell
        )
        if n_classes == 2:
            for m in range(n_rows):
                out[m, 0] += log_theta[cell[m]]
                out[m, 1] += log_theta[cell[m] + 1]
        else:
            for m in range(n_rows):
                at = cell[m]
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
