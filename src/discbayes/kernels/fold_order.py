"""Running sums of weights within groups of rows, for assigning rows to folds."""

from __future__ import annotations

from discbayes.kernels._compile import kernel


@kernel
def add_in_order(groups, weight, total, start, end):
    """Add weights to the ``total`` of their groups; store the total before and after each row."""
    for m in range(groups.size):
        start[m] = total[groups[m]]
        total[groups[m]] += weight[m]
        end[m] = total[groups[m]]
