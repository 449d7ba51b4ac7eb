"""Rows with gaps on structures in which a feature has at most one feature parent: one upward pass, linear time.

Messages are products of probabilities, kept off the log scale because sums over values need no logarithm there. When a
product comes near the end of the range of a double it is moved to a log-scale store, so nothing underflows however many
children a feature has.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import kernel

LOW, HIGH = 1e-100, 1e100


@kernel
def _store_logs(message, logs, stored):
    """Move a message to its log-scale store and start again at one."""
    for k in range(message.size):
        logs[k] = (logs[k] if stored else 0.0) + np.log(message[k])
        message[k] = 1.0


@kernel
def _release_logs(message, logs, stored, n_classes, top):
    """Bring a message back from the log scale, each class scaled by its largest entry, whose log is added to ``top``."""
    if stored:
        for k in range(message.size):
            message[k] = logs[k] + np.log(message[k])
    else:
        for k in range(message.size):
            message[k] = np.log(message[k])
    for c in range(n_classes):
        best = -np.inf
        for k in range(c, message.size, n_classes):
            best = max(best, message[k])
        top[c] += best
        for k in range(c, message.size, n_classes):
            message[k] = np.exp(message[k] - best) if best > -np.inf else 1.0


@kernel
def _out_of_range(message):
    """Whether an entry comes near the end of the range of a double."""
    low, high = 1.0, 1.0
    for k in range(message.size):
        low = min(low, message[k])
        high = max(high, message[k])
    return low < LOW or high > HIGH


@kernel
def forest_log_joint(
    codes, rows, order, parent, cards, offsets, starts, log_prior, log_theta, theta, shifts, normalized, out
):  # fmt: skip
    """Log P(c, x observed) of the given rows: children before parents, gaps summed out where they have been heard of.

    ``starts`` says where the message to each feature stands in the scratch space; ``order`` has parents first.
    """
    n_features, n_classes = codes.shape[0], log_prior.size
    messages, logs = np.empty(starts[-1]), np.empty(starts[-1])
    heard, stored = np.zeros(n_features, np.bool_), np.zeros(n_features, np.bool_)
    x = np.empty(n_features, np.int64)
    total = np.empty(n_classes)
    for r in range(rows.size):
        result = out[r]
        for i in range(n_features):
            x[i] = codes[i, rows[r]]
        result[:] = log_prior
        for at in range(n_features - 1, -1, -1):
            i = order[at]
            p = parent[i]
            observed = x[i] < cards[i]
            stride = cards[i] * n_classes
            base = offsets[i]
            if p >= 0 and x[p] < cards[p]:
                base += x[p] * stride
            if observed and (p < 0 or x[p] < cards[p]):
                base += x[i] * n_classes
                for c in range(n_classes):
                    result[c] += log_theta[base + c]
                continue
            if not observed:
                own = messages[starts[i] : starts[i + 1]]
                if not heard[i]:
                    if normalized:
                        continue
                    own[:] = 1.0
                elif stored[i] or _out_of_range(own):
                    _release_logs(own, logs[starts[i] : starts[i + 1]], stored[i], n_classes, result)
                heard[i] = stored[i] = False
                if p < 0 or x[p] < cards[p]:
                    total[:] = 0.0
                    for v in range(cards[i]):
                        for c in range(n_classes):
                            total[c] += theta[base + v * n_classes + c] * own[v * n_classes + c]
                    for c in range(n_classes):
                        result[c] += np.log(total[c]) + shifts[i]
                    continue
            # the parent is missing: tell it what the part of the tree below it says of each of its values
            above = messages[starts[p] : starts[p + 1]]
            if not heard[p]:
                above[:] = 1.0
                heard[p] = True
            for u in range(cards[p]):
                line = base + u * stride
                cell = u * n_classes
                if observed:
                    for c in range(n_classes):
                        above[cell + c] *= theta[line + x[i] * n_classes + c]
                else:
                    total[:] = 0.0
                    for v in range(cards[i]):
                        for c in range(n_classes):
                            total[c] += theta[line + v * n_classes + c] * own[v * n_classes + c]
                    for c in range(n_classes):
                        above[cell + c] *= total[c]
            if not normalized:
                for c in range(n_classes):
                    result[c] += shifts[i]
            if _out_of_range(above):
                _store_logs(above, logs[starts[p] : starts[p + 1]], stored[p])
                stored[p] = True
