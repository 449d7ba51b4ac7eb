"""The conditional log likelihood of rows in lists of entries, and its gradient, in one pass."""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import kernel
from discbayes.kernels.entries import add_own, add_up, hand_back, hand_back_own
from discbayes.kernels.objective_rows import likelihood_total

ROWS = 256  # whose scores stay in the first-level cache from the forward to the backward pass


@kernel
def add_likelihood(entries, starts, first, last, y, weight, base, table, total, out):
    """Return Σ weight · log P(y | x) of consecutive rows, and add its gradient.

    If the log-joint of a row is not finite, neither is the result, and the gradient is invalid.
    """
    value, scores = 0.0, np.empty((ROWS, base.size))
    for begin in range(first, last, ROWS):
        end = min(begin + ROWS, last)
        block = scores[: end - begin]
        add_up(entries, starts, begin, base, table, block)
        value += likelihood_total(block, total.size, y[begin:end], weight[begin:end], block)
        hand_back(entries, starts, begin, block, total, out)
    return value


@kernel
def add_own_likelihood(
    entries, starts, first, last, y, weight, base, table, own_base, own_table, total, out,
    own_total, own_out,
):  # fmt: skip
    """Return what ``add_likelihood`` does where the own class of a row has numbers of its own.

    ``own_base`` and ``own_table`` are added to the log-joint of the own class of each row.
    """
    value, scores = 0.0, np.empty((ROWS, base.size))
    for begin in range(first, last, ROWS):
        end = min(begin + ROWS, last)
        block = scores[: end - begin]
        add_up(entries, starts, begin, base, table, block)
        add_own(entries, starts, begin, y, own_base, own_table, block)
        value += likelihood_total(block, total.size, y[begin:end], weight[begin:end], block)
        hand_back(entries, starts, begin, block, total, out)
        hand_back_own(entries, starts, begin, y, block, own_total, own_out)
    return value
