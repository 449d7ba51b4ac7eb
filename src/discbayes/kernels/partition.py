"""Partitions of rows: the information of one more column on the class, and the finer partition.

The rows of a partition are sorted by part: ``rows`` are their positions in the columns, ``y``
and ``weight`` their classes and weights, and part ``p`` is ``starts[p]:starts[p + 1]``. Weights are
above zero, integers or floats, and counts have their type. Every part holds several classes: no
column is informative in a part with a single class.

Most parts have few rows, so the work for each part must be small. Small parts visit the cells of
their rows, large ones scan a whole table, and the two are separate loops over all parts, because a
function call for each part would cost more than its rows. Indices are unsigned, which avoids a test
for negative ones, and sums add zeros instead of testing for them, because the processor would often
mispredict the branch.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel, small_helper


@kernel
def information_left(column, rows, y, weight, starts, card, n_classes, known):
    """Return Σ n log n over cells (part, value, class) minus Σ n log n over cells (part, value).

    This is minus the weight of the rows times the conditional entropy, in nats, of the class given
    the cells. ``known`` has n log n for n = 0, 1, 2, … and is empty if weights are not whole.
    """
    values = _gather(column, rows)
    small = _information_of_small(values, y, weight, starts, card, n_classes, known)
    return small + _information_of_large(values, y, weight, starts, card, n_classes, known)


@kernel
def correct_weight(column, rows, y, weight, starts, card, n_classes):
    """Return the weight of the rows in the most frequent class of their cell (part, value)."""
    values = _gather(column, rows)
    small = _correct_weight_of_small(values, y, weight, starts, card, n_classes)
    return small + _correct_weight_of_large(values, y, weight, starts, card, n_classes)


@kernel
def split(column, rows, y, starts, card):
    """Return the positions of the rows of the finer partition in this one, and its starts.

    Parts that hold one class only are left out.
    """
    order = np.empty(rows.size, np.int64)
    new_starts = np.zeros(rows.size // 2 + 1, np.int64)  # no part has fewer than two rows
    size = np.zeros(card, np.int64)
    place = np.empty(card, np.int64)
    seen = np.empty(card, np.int64)
    of_class, mixed = np.empty(card, np.int64), np.empty(card, np.bool_)
    end, n_parts = 0, 0
    for part in range(starts.size - 1):
        n_seen = 0
        for m in range(starts[part], starts[part + 1]):
            x = column[rows[m]]
            if size[x] == 0:
                seen[n_seen] = x
                n_seen += 1
                of_class[x] = y[m]
                mixed[x] = False
            elif y[m] != of_class[x]:
                mixed[x] = True
            size[x] += 1
        for k in range(n_seen):
            x = seen[k]
            if mixed[x]:
                place[x] = end
                end += size[x]
                n_parts += 1
                new_starts[n_parts] = end
            size[x] = 0
        for m in range(starts[part], starts[part + 1]):
            x = column[rows[m]]
            if mixed[x]:
                order[place[x]] = m
                place[x] += 1
    return order[:end], new_starts[: n_parts + 1]


@helper
def _gather(column, rows):
    values = np.empty(rows.size, column.dtype)
    for m in range(rows.size):
        values[m] = column[rows[m]]
    return values


@small_helper
def _is_small(n_rows, card, n_classes):
    # two passes over its rows against one over the table
    return 2 * n_rows < card * n_classes


@small_helper
def _n_log_n(n, known):
    if n < known.size:
        return known[np.uint64(n)]  # a logarithm takes longer than all else in the loops
    if n <= 0:
        return 0.0
    return n * np.log(n)


@helper
def _information_of_small(values, y, weight, starts, card, n_classes, known):
    """Sum over the cells of rows; a cell that several rows share is set to zero at the first."""
    table, totals = np.zeros(card * n_classes, weight.dtype), np.zeros(card, weight.dtype)
    stride, left = np.uint64(n_classes), 0.0
    for part in range(starts.size - 1):
        if not _is_small(starts[part + 1] - starts[part], card, n_classes):
            continue
        first, last = np.uint64(starts[part]), np.uint64(starts[part + 1])
        for m in range(first, last):
            x = np.uint64(values[m])
            table[x * stride + y[m]] += weight[m]
            totals[x] += weight[m]
        for m in range(first, last):
            x = np.uint64(values[m])
            cell = x * stride + y[m]
            left += _n_log_n(table[cell], known) - _n_log_n(totals[x], known)
            table[cell] = 0
            totals[x] = 0
    return left


@helper
def _information_of_large(values, y, weight, starts, card, n_classes, known):
    table = np.zeros(card * n_classes, weight.dtype)
    left = 0.0
    for part in range(starts.size - 1):
        if _is_small(starts[part + 1] - starts[part], card, n_classes):
            continue
        _count(values, y, weight, starts[part], starts[part + 1], n_classes, table)
        for cell in range(0, table.size, n_classes):
            total = table[cell]
            left += _n_log_n(total, known)
            for c in range(1, n_classes):
                total += table[cell + c]
                left += _n_log_n(table[cell + c], known)
            left -= _n_log_n(total, known)
    return left


@helper
def _correct_weight_of_small(values, y, weight, starts, card, n_classes):
    table, most = np.zeros(card * n_classes, weight.dtype), np.zeros(card, weight.dtype)
    stride, correct = np.uint64(n_classes), 0.0
    for part in range(starts.size - 1):
        if not _is_small(starts[part + 1] - starts[part], card, n_classes):
            continue
        first, last = np.uint64(starts[part]), np.uint64(starts[part + 1])
        for m in range(first, last):
            x = np.uint64(values[m])
            cell = x * stride + y[m]
            table[cell] += weight[m]
            most[x] = max(most[x], table[cell])
        for m in range(first, last):
            x = np.uint64(values[m])
            correct += most[x]
            table[x * stride + y[m]] = 0
            most[x] = 0
    return correct


@helper
def _correct_weight_of_large(values, y, weight, starts, card, n_classes):
    table = np.zeros(card * n_classes, weight.dtype)
    correct = 0.0
    for part in range(starts.size - 1):
        if _is_small(starts[part + 1] - starts[part], card, n_classes):
            continue
        _count(values, y, weight, starts[part], starts[part + 1], n_classes, table)
        for cell in range(0, table.size, n_classes):
            most = table[cell]
            for c in range(1, n_classes):
                most = max(most, table[cell + c])
            correct += most
    return correct


@helper
def _count(values, y, weight, first, last, n_classes, table):
    """Sum the weights in each cell (value, class) of one part."""
    stride = np.uint64(n_classes)
    table[:] = 0
    for m in range(np.uint64(first), np.uint64(last)):
        table[np.uint64(values[m]) * stride + y[m]] += weight[m]
