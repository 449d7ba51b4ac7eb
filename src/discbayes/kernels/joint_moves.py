"""Scores of moves that change several families at once: one parent joins several children.

Rows are in the order of their margin (own class against the strongest other one), so that rows
whose value a move can change are next to each other. The tables of a move change a margin by no
more than the sum of their ranges. So the accuracy changes only where the margin is within that
range of zero, and the value of a row whose margin exceeds 1/λ by more stays one. A move is
abandoned as soon as what it has gained, with all that the rows to come can gain, is below the
threshold.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel
from discbayes.kernels.candidate_scan import ACCURACY, LIKELIHOOD
from discbayes.kernels.family_theta import table_range
from discbayes.kernels.objective_rows import TIE, likelihood_rows, margin_rows, rate_rows
from discbayes.kernels.scan_records import CandidateTable, MoveRows

BLOCK_SIZE = 256  # rows whose log-joint stays in the first-level cache


@helper
def _fill_values(kind, scale, block, y, values, no_gradient):
    """Find the value of each row of a block."""
    if kind == ACCURACY:
        rate_rows(block, y, values)
    elif kind == LIKELIHOOD:
        likelihood_rows(block, y, values, no_gradient)
    else:
        margin_rows(block, y, scale, 0.0, 0.0, values, no_gradient)


@helper
def _add_table(block, first, view, table):
    """Add what one family gains by its new parent to the log-joint of a block of rows."""
    codes, base, n_base, n_cells, n_classes, tables, own = table
    group, y = view.group, view.y
    for r in range(block.shape[0]):
        m = first + r
        cell = group[m] * n_cells + codes[m] * n_base + base[m]
        # An unsigned index needs no test for negative ones, which makes the loops faster.
        at = np.uint64(cell * n_classes)
        true = y[m]
        kept = block[r, true]
        for c in range(n_classes):
            block[r, c] += tables[at + np.uint64(c)]
        block[r, true] = kept + own[at + np.uint64(true)]


@helper
def _rows_within(view, move_range):
    """Return the first and the end of the rows whose value can change."""
    far = move_range + 4 * TIE
    first, end = 0, view.margin.size
    if view.kind == ACCURACY:
        first = np.searchsorted(view.margin, -far)
        end = np.searchsorted(view.margin, far, side="right")
    elif view.kind != LIKELIHOOD:
        end = np.searchsorted(view.margin, far + 1.0 / view.scale, side="right")
    return first, end


@kernel
def scan_moves(view, joining, member_start, members, threshold, gains, exact):
    """Score the moves of one parent.

    Parameters
    ----------
    view : MoveRows
        Rows by margin.
    joining : ChildTables
        What the parent adds to log θ of each child.
    member_start, members : arrays
        Move k changes the children ``members[member_start[k]:member_start[k + 1]]`` of ``joining``.
    threshold : float
        Moves whose gain is known to be below are abandoned.
    gains, exact : arrays
        Results: the gains, and whether each is exact; if not it is an upper bound. They are not
        returned, as an interrupt while numba makes arrays for Python would be lost.
    """
    view = MoveRows(*view)
    n_classes, n_moves = view.log_joint.shape[1], member_start.size - 1
    codes, card, children, n_bases, bases, starts, tables, own = joining
    _, _, log_joint, _, y, weight, _, value, max_gain_from = view
    buffer, values = np.empty((BLOCK_SIZE, n_classes)), np.empty(BLOCK_SIZE)
    no_gradient = np.empty((0, n_classes))
    ranges = np.empty(children.size)
    for q in range(ranges.size):
        span = slice(starts[q], starts[q + 1])
        ranges[q] = table_range(tables[span], own[span], n_classes)
    for k in range(n_moves):
        move_range = 0.0
        for j in range(member_start[k], member_start[k + 1]):
            move_range += ranges[members[j]]
        first, end = _rows_within(view, move_range)
        gain, upper_bound = 0.0, max_gain_from[first] - max_gain_from[end]
        while first < end and upper_bound >= threshold:
            last = min(first + BLOCK_SIZE, end)
            block, block_values = buffer[: last - first], values[: last - first]
            block[:] = log_joint[first:last]
            for j in range(member_start[k], member_start[k + 1]):
                q = members[j]
                span = slice(starts[q], starts[q + 1])
                base, n_base = bases[children[q]], n_bases[q]
                n_cells = card * n_base
                table = CandidateTable(
                    codes, base, n_base, n_cells, n_classes, tables[span], own[span]
                )
                _add_table(block, first, view, table)
            _fill_values(view.kind, view.scale, block, y[first:last], block_values, no_gradient)
            for r in range(last - first):
                gain += weight[first + r] * (block_values[r] - value[first + r])
            first = last
            upper_bound = gain + max_gain_from[first] - max_gain_from[end]
        gains[k] = upper_bound
        exact[k] = first == end and upper_bound >= threshold
