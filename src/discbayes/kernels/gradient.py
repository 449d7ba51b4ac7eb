"""The way back from a log-joint to the numbers in the tables, and from tables to the free numbers behind them."""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import kernel


@kernel
def scatter_rows(
    codes, start, stop, offsets, parent_start, parent_index, parent_stride, residual, prior_gradient, gradient
):
    """Add the gradient of each row with respect to its log-joint to the cells that were read for it.

    The opposite of ``complete_log_joint``, and like it feature after feature so that a table stays in the cache.
    """
    n_rows, n_classes = residual.shape
    cell = np.empty(n_rows, np.int64)
    for m in range(n_rows):
        for c in range(n_classes):
            prior_gradient[c] += residual[m, c]
    for i in range(codes.shape[0]):
        own = codes[i, start:stop]
        for m in range(n_rows):
            cell[m] = offsets[i] + np.int64(own[m]) * n_classes
        for k in range(parent_start[i], parent_start[i + 1]):
            parent, stride = codes[parent_index[k], start:stop], parent_stride[k]
            for m in range(n_rows):
                cell[m] += parent[m] * stride
        if n_classes == 2:
            for m in range(n_rows):
                gradient[cell[m]] += residual[m, 0]
                gradient[cell[m] + 1] += residual[m, 1]
        else:
            for m in range(n_rows):
                at = cell[m]
                for c in range(n_classes):
                    gradient[at + c] += residual[m, c]


@kernel
def log_softmax(free, offsets, cards, n_classes, out):
    """Log θ from free numbers: each row of a table, over the values of its feature, made to sum to one."""
    for i in range(cards.size):
        width = cards[i] * n_classes
        for base in range(offsets[i], offsets[i + 1], width):
            for first in range(base, base + n_classes):
                top = free[first]
                for k in range(first + n_classes, base + width, n_classes):
                    top = max(top, free[k])
                total = 0.0
                for k in range(first, base + width, n_classes):
                    total += np.exp(free[k] - top)
                shift = top + np.log(total)
                for k in range(first, base + width, n_classes):
                    out[k] = free[k] - shift


@kernel
def softmax_gradient(gradient, log_theta, offsets, cards, n_classes, out):
    """The gradient with respect to the free numbers, from that with respect to log θ: g − θ·Σg in each row."""
    for i in range(cards.size):
        width = cards[i] * n_classes
        for base in range(offsets[i], offsets[i + 1], width):
            for first in range(base, base + n_classes):
                total = 0.0
                for k in range(first, base + width, n_classes):
                    total += gradient[k]
                for k in range(first, base + width, n_classes):
                    out[k] = gradient[k] - np.exp(log_theta[k]) * total
