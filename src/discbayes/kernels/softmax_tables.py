"""Normalized tables as softmaxes of unconstrained parameters, and their gradient."""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import kernel


@kernel
def log_softmax(free, offsets, cards, n_classes, out):
    """Compute log θ: the log-softmax of each row of a table, over the values of its feature."""
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
    """Compute the gradient of the parameters from that of log θ: g − θ·Σg in each row."""
    for i in range(cards.size):
        width = cards[i] * n_classes
        for base in range(offsets[i], offsets[i + 1], width):
            for first in range(base, base + n_classes):
                total = 0.0
                for k in range(first, base + width, n_classes):
                    total += gradient[k]
                for k in range(first, base + width, n_classes):
                    out[k] = gradient[k] - np.exp(log_theta[k]) * total
