"""Likelihood weighting: an estimate of log P(c, x observed) by draws, for structures too dense to
be exact.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel


@helper
def _uniform(state):
    """The next number in [0, 1) of a small generator (splitmix64), whose state is advanced."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) / 9007199254740992.0


@helper
def _draw_weight(x, order, cards, offsets, parent_start, parent_index, parent_stride, log_theta, theta, missing, needed,
                 n_classes, c, state):  # fmt: skip
    """Draw the gaps parents first and return the log probability of what is observed, given
    them.
    """
    weight = 0.0
    for at in range(order.size):
        i = order[at]
        if not needed[i]:
            continue
        base = offsets[i] + c
        for k in range(parent_start[i], parent_start[i + 1]):
            base += x[parent_index[k]] * parent_stride[k]
        if not missing[i]:
            weight += log_theta[base + x[i] * n_classes]
            continue
        left = _uniform(state)
        x[i] = cards[i] - 1
        for v in range(cards[i] - 1):
            left -= theta[base + v * n_classes]
            if left < 0.0:
                x[i] = v
                break
    return weight


@kernel
def weighted_log_joint(x, missing, needed, order, cards, offsets, parent_start, parent_index, parent_stride, log_prior,
                       log_theta, theta, n_draws, seed, out, relative):  # fmt: skip
    """Estimates of one row: log P(c, x observed) and the relative standard error of P, for every
    class.
    """
    n_classes = log_prior.size
    state = np.array([seed], np.uint64)
    weights = np.empty(n_draws)
    for c in range(n_classes):
        top = -np.inf
        for draw in range(n_draws):
            weights[draw] = _draw_weight(x, order, cards, offsets, parent_start, parent_index, parent_stride, log_theta,
                                         theta, missing, needed, n_classes, c, state)  # fmt: skip
            top = max(top, weights[draw])
        if top == -np.inf:
            out[c], relative[c] = -np.inf, 0.0
            continue
        total, squares = 0.0, 0.0
        for draw in range(n_draws):
            w = np.exp(weights[draw] - top)
            total += w
            squares += w * w
        mean = total / n_draws
        spread = max(0.0, squares / n_draws - mean * mean) / max(1, n_draws - 1)
        out[c] = log_prior[c] + top + np.log(mean)
        relative[c] = np.sqrt(spread) / mean
