"""Rows that are dealt out to folds."""

from __future__ import annotations

from discbayes.kernels._compile import kernel


@kernel
def take_turns(groups, weight, taken, start, end):
    """For each row, how much of its group was taken before it and with it; ``taken`` goes on from
    row to row.
    """
    for m in range(groups.size):
        start[m] = taken[groups[m]]
        taken[groups[m]] += weight[m]
        end[m] = taken[groups[m]]
