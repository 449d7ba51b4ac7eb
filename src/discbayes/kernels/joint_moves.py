"""Scoring of moves that change several families at once: one parent joins the families of all
children of a move.

Rows come in the order of their margin (own class against the strongest other one), so that the rows
whose value a move can change stand together: a rate changes only where the margin is within reach
of the move, that is, of what its tables can do to classes against each other, and a margin that
counts fully only where it is within reach of that point. A move is left as soon as what it has
gained, with all that the rows to come could gain, is below the bound.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel
from discbayes.kernels.candidate_scan import LIKELIHOOD, RATE
from discbayes.kernels.family_theta import largest_spread
from discbayes.kernels.objective import TIE, likelihood_rows, margin_rows, rate_rows

BLOCK = 256  # rows whose log-joint stays in the first-level cache


@helper
def _values(kind, scale, block, y, values, no_gradient):
    """What each row of a block is worth."""
    if kind == RATE:
        rate_rows(block, y, values)
    elif kind == LIKELIHOOD:
        likelihood_rows(block, y, values, no_gradient)
    else:
        margin_rows(block, y, scale, 0.0, 0.0, values, no_gradient)


@helper
def _add(block, first, parent_codes, base, n_base, cells, y, group, tables, own):
    """Add what one family gains by its new parent to the log-joint of a block of rows."""
    n_classes = block.shape[1]
    for r in range(block.shape[0]):
        m = first + r
        cell = group[m] * cells + parent_codes[m] * n_base + base[m]
        # without a sign no index can mean the end of the array, and loops are faster
        at = np.uint64(cell * n_classes)
        true = y[m]
        kept = block[r, true]
        for c in range(n_classes):
            block[r, c] += tables[at + np.uint64(c)]
        block[r, true] = kept + own[at + np.uint64(true)]


@helper
def _rows_within(kind, scale, margin, reach):
    """The first and the end of the rows whose value can change."""
    far = reach + 4 * TIE
    first, end = 0, margin.size
    if kind == RATE:
        first = np.searchsorted(margin, -far)
    if kind != LIKELIHOOD:
        end = np.searchsorted(margin, far if kind == RATE else far + 1.0 / scale, side="right")
    return first, end


@kernel
def scan_moves(
    kind, scale, parent_codes, parent_card, bases, children, n_base, starts, tables, own, member_start, members,
    log_joint, margin, y, weight, group, value, left, bound, gains, exact,
):  # fmt: skip
    """The gain of each move of one parent; ``exact`` says where it is the gain and not only a bound
    of it.

    Move ``k`` takes the tables ``members[member_start[k]:member_start[k + 1]]``; table ``q`` is
    that of ``children[q]`` and runs from ``starts[q]``. ``left[m]`` is the most that the rows from
    ``m`` on can gain.
    """
    n_classes = log_joint.shape[1]
    buffer, values, no_gradient = (
        np.empty((BLOCK, n_classes)),
        np.empty(BLOCK),
        np.empty((0, n_classes)),
    )
    spread = np.empty(children.size)
    for q in range(children.size):
        span = slice(starts[q], starts[q + 1])
        spread[q] = largest_spread(tables[span], own[span], n_classes)
    for k in range(gains.size):
        reach = 0.0
        for j in range(member_start[k], member_start[k + 1]):
            reach += spread[members[j]]
        first, end = _rows_within(kind, scale, margin, reach)
        gain, most = 0.0, left[first] - left[end]
        while first < end and most >= bound:
            last = min(first + BLOCK, end)
            block, worth = buffer[: last - first], values[: last - first]
            block[:] = log_joint[first:last]
            for j in range(member_start[k], member_start[k + 1]):
                q = members[j]
                span = slice(starts[q], starts[q + 1])
                _add(
                    block, first, parent_codes, bases[children[q]], n_base[q], parent_card * n_base[q], y, group,
                    tables[span], own[span],
                )  # fmt: skip
            _values(kind, scale, block, y[first:last], worth, no_gradient)
            for r in range(last - first):
                gain += weight[first + r] * (worth[r] - value[first + r])
            first = last
            most = gain + left[first] - left[end]
        gains[k] = most
        exact[k] = first == end and most >= bound
