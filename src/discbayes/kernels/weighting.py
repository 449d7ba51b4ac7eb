"""Likelihood weighting: an estimate of log P(c, x observed) by draws, where exact is too costly."""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel


@helper
def _uniform(state):
    """Return the next number in [0, 1) of a small generator (splitmix64); advances its state."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    # the upper 53 bits, which a double holds exactly
    return np.float64(z >> np.uint64(11)) / 9007199254740992.0


@helper
def _draw_weight(x, missing, needed, layout, cpts, c, state):
    """Draw the missing values, parents first; return the log probability of the observed ones."""
    n_classes = cpts.log_prior.size
    weight = 0.0
    for at in range(layout.order.size):
        i = layout.order[at]
        if not needed[i]:
            continue
        base = layout.offsets[i] + c
        for k in range(layout.parent_start[i], layout.parent_start[i + 1]):
            base += x[layout.parent_index[k]] * layout.parent_stride[k]
        if not missing[i]:
            weight += cpts.log_theta[base + x[i] * n_classes]
            continue
        left = _uniform(state)
        x[i] = layout.cards[i] - 1
        for v in range(layout.cards[i] - 1):
            left -= cpts.theta[base + v * n_classes]
            if left < 0.0:
                x[i] = v
                break
    return weight


@kernel
def weighted_log_joint(x, missing, needed, layout, cpts, n_draws, seed, out, relative):
    """Estimate log P(c, x observed) of one row, and the relative standard error of P, by class."""
    n_classes = cpts.log_prior.size
    state = np.array([seed], np.uint64)
    weights = np.empty(n_draws)
    for c in range(n_classes):
        top = -np.inf
        for draw in range(n_draws):
            weights[draw] = _draw_weight(x, missing, needed, layout, cpts, c, state)
            top = max(top, weights[draw])
        if top == -np.inf:
            out[c] = -np.inf
            relative[c] = 0.0
            continue
        # weights relative to the largest, so that they do not underflow together
        total = 0.0
        squares = 0.0
        for draw in range(n_draws):
            w = np.exp(weights[draw] - top)
            total += w
            squares += w * w
        mean = total / n_draws
        variance = max(0.0, squares / n_draws - mean * mean) / max(1, n_draws - 1)
        out[c] = cpts.log_prior[c] + top + np.log(mean)
        relative[c] = np.sqrt(variance) / mean
