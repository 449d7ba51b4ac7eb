"""Log θ of the families that a structure search considers, for every way to hold rows out.

Rows belong to groups. Without held-out rows there is one group; with folds a group is a fold, and
its tables are those of all other rows; with leave-one-out a group is an amount of weight that a row
takes away when it is left out, and the ``own`` tables hold, for the class of the row itself, what
remains. Tables are flat, ``(group, cell, class)`` with the class innermost; a cell of a family is
``configuration of the parents · card + value``.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel, popcount, small_helper

RESUBSTITUTION, FOLDS, LEAVE_ONE_OUT = 0, 1, 2
FLOOR, VIRTUAL = 0, 1  # smoothing: zeros become an amount; an amount is added to every cell
WORD_COST, ROW_COST = 0.6, 1.5  # nanoseconds, roughly, of a word of bit sets and of a row of a loop
NEGLIGIBLE = 1e-9  # of a total: what subtracting weights may leave where nothing is left


@small_helper
def _is_empty(count, total):
    """Whether a cell has no share of its row, or one below the range of a double: the smoothing
    takes its place.
    """
    return count <= 0.0 or count / total <= 0.0


@small_helper
def _log_share(count, total, zeros, card, smoothing, amount):
    """Log of a smoothed share; ``zeros`` of the ``card`` cells of its row are empty."""
    if smoothing == VIRTUAL:
        if total + amount * card <= 0.0:
            return -np.log(card)
        return np.log((count + amount) / (total + amount * card))
    if total <= 0.0:
        return -np.log(card)
    share = amount if _is_empty(count, total) else count / total
    return np.log(share / (1.0 + zeros * amount))


@helper
def _row_logs(counts, first, step, card, smoothing, amount, removed, out, own, at):
    """One row of a table, from its counts to log θ; and, for each cell, log θ with ``removed``
    taken from that cell.
    """
    total, zeros = 0.0, 0
    for x in range(card):
        total += counts[first + x * step]
    for x in range(card):
        zeros += _is_empty(counts[first + x * step], total)
    for x in range(card):
        count = counts[first + x * step]
        out[at + x * step] = _log_share(count, total, zeros, card, smoothing, amount)
        if removed > 0.0:
            left = count - removed
            rest = total - removed
            if left <= NEGLIGIBLE * total:
                left = 0.0
            if rest <= NEGLIGIBLE * total:
                rest = 0.0
            emptied = zeros + 1 if left == 0.0 and not _is_empty(count, total) else zeros
            own[at + x * step] = _log_share(left, rest, emptied, card, smoothing, amount)


@helper
def _hold_out(counts, start, n_groups, size):
    """Replace the counts of each group by those of all other groups."""
    for k in range(size):
        total = 0.0
        for g in range(n_groups):
            total += counts[start + g * size + k]
        for g in range(n_groups):
            rest = total - counts[start + g * size + k]
            counts[start + g * size + k] = rest if rest > NEGLIGIBLE * total else 0.0


@helper
def _tables_of(counts, start, cells, card, n_classes, scheme, removed, smoothing, amount, out, own):
    """All tables of one family from its counts, in place of what is there."""
    n_groups, size = removed.size, cells * n_classes
    if scheme == FOLDS:
        _hold_out(counts, start, n_groups, size)
    for g in range(n_groups):
        source = start if scheme == LEAVE_ONE_OUT else start + g * size
        for row in range(0, cells, card):
            for c in range(n_classes):
                first = row * n_classes + c
                _row_logs(
                    counts, source + first, n_classes, card, smoothing, amount, removed[g], out, own,
                    start + g * size + first,
                )  # fmt: skip


@kernel
def family_tables(
    y, weight, group, base, n_base, card, n_classes, scheme, removed, smoothing, amount, out, own
):
    """The tables of the family with the given cell for each row (negative: a gap)."""
    counts = np.zeros(removed.size * n_base * n_classes)
    for m in range(y.size):
        if base[m] >= 0:
            g = 0 if scheme == LEAVE_ONE_OUT else group[m]
            counts[(g * n_base + base[m]) * n_classes + y[m]] += weight[m]
    _tables_of(counts, 0, n_base, card, n_classes, scheme, removed, smoothing, amount, out, own)


@kernel
def tables_of_counts(counts, n_base, card, n_classes, scheme, removed, smoothing, amount, out, own):
    """The tables of a family whose counts, of each group if groups are folds, are known; folds
    overwrite the counts.
    """
    _tables_of(counts, 0, n_base, card, n_classes, scheme, removed, smoothing, amount, out, own)


@helper
def _count_by_rows(
    parent_codes, parent_card, y, weight, group, base, n_base, n_classes, by_group, counts
):
    """The weight of the rows in each cell of a family with a further parent, by a loop over the
    rows.
    """
    cells = parent_card * n_base
    for m in range(y.size):
        code = np.int64(parent_codes[m])
        if base[m] >= 0 and code < parent_card:
            cell = code * n_base + base[m]
            if by_group:
                cell += group[m] * cells
            counts[cell * n_classes + y[m]] += weight[m]


@helper
def _count_by_bits(parent_bits, base_bits, word_start, n_classes, counts):
    """The number of rows in each cell, by bit sets whose words are sorted by group and class."""
    parent_card, n_base = parent_bits.shape[0], base_bits.shape[0]
    cells = parent_card * n_base
    for v in range(parent_card):
        row = parent_bits[v]
        for b in range(n_base):
            cell_bits, cell = base_bits[b], v * n_base + b
            for s in range(word_start.size - 1):
                count = np.uint64(0)
                for w in range(word_start[s], word_start[s + 1]):
                    count += popcount(row[w] & cell_bits[w])
                g, c = s // n_classes, s % n_classes
                counts[(g * cells + cell) * n_classes + c] = count


@kernel
def extended_tables(
    codes, parents, cards, y, weight, group, base, n_base, card, n_classes, scheme, removed, smoothing, amounts,
    reference, reference_own, has_bits, value_start, bits, base_bits, word_start, starts, out, own, spread,
):  # fmt: skip
    """For each further parent, what the family with it adds to log θ of the reference: one table
    after the other.

    A cell of the extended family is ``code of the parent · n_base + base``. ``reference`` has a
    table for each cell of the base. ``spread`` is the largest difference between classes within any
    cell of each table. Rows are counted by bit sets where there are some and that takes less time.
    """
    n_groups, n_base_cells = removed.size, n_base * n_classes
    leave_one_out = scheme == LEAVE_ONE_OUT
    for k in range(parents.size):
        parent_codes, parent_card, start = codes[parents[k]], cards[parents[k]], starts[k]
        cells = parent_card * n_base
        size = cells * n_classes
        counts = np.zeros(n_groups * size)
        words = cells * word_start[word_start.size - 1]
        if (
            has_bits[parents[k]]
            and base_bits.shape[0] == n_base
            and words * WORD_COST < y.size * ROW_COST
        ):
            first = value_start[parents[k]]
            _count_by_bits(
                bits[first : first + parent_card], base_bits, word_start, n_classes, counts
            )
        else:
            by_group = n_groups > 1 and not leave_one_out
            _count_by_rows(
                parent_codes,
                parent_card,
                y,
                weight,
                group,
                base,
                n_base,
                n_classes,
                by_group,
                counts,
            )
        table, table_own = (
            out[start : start + n_groups * size],
            own[start : start + n_groups * size],
        )
        if not leave_one_out:
            table_own = table
        _tables_of(
            counts,
            0,
            cells,
            card,
            n_classes,
            scheme,
            removed,
            smoothing,
            amounts[k],
            table,
            table_own,
        )
        for g in range(n_groups):
            for v in range(parent_card):
                at = (g * cells + v * n_base) * n_classes
                for q in range(n_base_cells):
                    table[at + q] -= reference[g * n_base_cells + q]
                    if leave_one_out:
                        table_own[at + q] -= reference_own[g * n_base_cells + q]
        spread[k] = largest_spread(table, table_own, n_classes)


@small_helper
def cell_spread(tables, own, at, n_classes):
    """The largest difference between classes in the cell that begins at ``at``.

    Written with selections: with ``min`` and ``max`` it takes three times as long.
    """
    low, high = tables[at], tables[at]
    for q in range(at, at + n_classes):
        low = tables[q] if tables[q] < low else low
        low = own[q] if own[q] < low else low
        high = tables[q] if tables[q] > high else high
        high = own[q] if own[q] > high else high
    return high - low


@helper
def largest_spread(table, own, n_classes):
    """The largest difference between classes within any cell."""
    largest = 0.0
    for at in range(0, table.size, n_classes):
        largest = max(largest, cell_spread(table, own, at, n_classes))
    return largest


@kernel
def add_family(log_joint, y, group, base, n_base, tables, own, sign):
    """Add a family to the log-joint of each row, or take it away; rows with a gap in it are
    left.
    """
    n_classes = log_joint.shape[1]
    for m in range(log_joint.shape[0]):
        if base[m] >= 0:
            at = (group[m] * n_base + base[m]) * n_classes
            true = y[m]
            kept = log_joint[m, true]
            for c in range(n_classes):
                log_joint[m, c] += sign * tables[at + c]
            log_joint[m, true] = kept + sign * own[at + true]


@kernel
def extend_base(parent_codes, card, n_base, base, out):
    """The cells of a family after one more parent has joined it; it stands before the others."""
    for m in range(base.size):
        code = np.int64(parent_codes[m])
        out[m] = code * n_base + base[m] if base[m] >= 0 and code < card else -1
