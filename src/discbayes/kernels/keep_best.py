"""The largest weights of each feature among all pairs, in the order of their size."""

from __future__ import annotations

from discbayes.kernels._compile import helper, kernel


@helper
def _insert(best, other, weight, column):
    """Insert a weight into descending ones; of equal weights the lower column is kept."""
    at = best.size
    while at > 0 and (weight > best[at - 1] or (weight == best[at - 1] and column < other[at - 1])):
        if at < best.size:
            best[at] = best[at - 1]
            other[at] = other[at - 1]
        at -= 1
    if at < best.size:
        best[at] = weight
        other[at] = column


@kernel
def keep_best(first, seconds, weights, best, other):
    """Keep the weights of pairs of ``first`` and ``seconds`` that are among the best of either.

    Which ones are kept does not depend on the order of the calls.
    """
    for k in range(seconds.size):
        _insert(best[first], other[first], weights[k], seconds[k])
        _insert(best[seconds[k]], other[seconds[k]], weights[k], first)
