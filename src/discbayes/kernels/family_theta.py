"""Log θ of the families that a structure search considers, for every way to hold rows out.

Rows belong to groups (``kernels/scan_records.py``). With resubstitution there is one group. With
folds a group is a fold, and its tables are those of all other rows. With leave-one-out a group is a
weight that a row removes when it is left out; the ``own`` tables hold log θ of the row's own class
after the removal, which changes nothing for the other classes. Tables are flat, ``(group, cell,
class)`` with the class innermost; a cell of a family is ``configuration of the parents * card +
value``.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel, popcount, small_helper
from discbayes.kernels.scan_records import (
    BaseCells,
    CandidateTable,
    ParentTables,
    ScoringRows,
    ValueBits,
)

# Schemes to hold rows out.
RESUBSTITUTION = 0
FOLDS = 1
LEAVE_ONE_OUT = 2
# Smoothing: zeros become an amount, or an amount is added to every cell.
FLOOR = 0
VIRTUAL = 1
WORD_COST, ROW_COST = 0.6, 1.5  # nanoseconds, roughly, of a word of bit sets and of a row of a loop
NEGLIGIBLE = 1e-9  # of a total: what subtracting weights may leave where nothing is left


@small_helper
def _is_empty(count, total):
    """Return whether a cell has no share of its row, or one below the range of a double."""
    return count <= 0.0 or count / total <= 0.0


@small_helper
def _log_share(count, total, zeros, card, smoothing, amount):
    """Return log of a smoothed share; ``zeros`` of the ``card`` cells of its row are empty."""
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
    """Make one row of a table from counts, and log θ with ``removed`` taken from each cell."""
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
def _hold_out(counts, n_groups, size):
    """Replace the counts of each group by those of all other groups."""
    for k in range(size):
        total = 0.0
        for g in range(n_groups):
            total += counts[g * size + k]
        for g in range(n_groups):
            rest = total - counts[g * size + k]
            counts[g * size + k] = rest if rest > NEGLIGIBLE * total else 0.0


@kernel
def tables_of_counts(counts, cells, card, n_classes, scheme, removed, smoothing, amount, out, own):
    """Make all tables of one family from its counts; with folds the counts are overwritten."""
    n_groups, size = removed.size, cells * n_classes
    if scheme == FOLDS:
        _hold_out(counts, n_groups, size)
    for g in range(n_groups):
        source = 0 if scheme == LEAVE_ONE_OUT else g * size
        for row in range(0, cells, card):
            for c in range(n_classes):
                first = row * n_classes + c
                at = g * size + first
                _row_logs(
                    counts,
                    source + first,
                    n_classes,
                    card,
                    smoothing,
                    amount,
                    removed[g],
                    out,
                    own,
                    at,
                )


@kernel
def family_tables(rows, base, n_base, card, smoothing, amount, out, own):
    """Make the tables of a family with the given cell for each row (negative: missing).

    Parameters
    ----------
    rows : ScoringRows
        The rows.
    base, n_base, card
        The cells, their number, and the number of values of the child.
    smoothing, amount
        FLOOR or VIRTUAL, and the amount for each cell.
    out, own
        The tables that are filled; the same array unless rows are left out one by one.
    """
    rows = ScoringRows(*rows)
    y, weight = rows.y, rows.weight
    group, n_classes = rows.group, rows.n_classes
    counts = np.zeros(rows.removed.size * n_base * n_classes)
    for m in range(y.size):
        if base[m] >= 0:
            g = 0 if rows.scheme == LEAVE_ONE_OUT else group[m]
            counts[(g * n_base + base[m]) * n_classes + y[m]] += weight[m]
    tables_of_counts(
        counts, n_base, card, n_classes, rows.scheme, rows.removed, smoothing, amount, out, own
    )


@helper
def _count_by_rows(rows, parent_codes, parent_card, base, n_base, by_group, counts):
    """Count the weight of rows in each cell of a family with a further parent, row by row."""
    y, weight = rows.y, rows.weight
    group, n_classes = rows.group, rows.n_classes
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
    """Count the rows in each cell by bit sets whose words are sorted by group and class."""
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
    rows, cells_of, bits, word_start, card, smoothing, amounts, reference, reference_own, further
):
    """Make for each further parent what the family with it adds to log θ of the reference.

    Parameters
    ----------
    rows : ScoringRows
        The rows.
    cells_of : BaseCells
        The family that the parents join.
    bits, word_start : ValueBits, array
        Bit sets of all rows, sorted by group and class, and the first word of each.
    card : int
        The number of values of the child.
    smoothing, amounts
        FLOOR or VIRTUAL, and the amount for each cell with each parent.
    reference, reference_own : arrays
        The tables of the family without the parent.
    further : ParentTables
        The parents; their tables and ranges are filled.
    """
    rows, cells_of = ScoringRows(*rows), BaseCells(*cells_of)
    bits, further = ValueBits(*bits), ParentTables(*further)
    n_base, n_classes = cells_of.n_base, rows.n_classes
    n_groups, n_base_entries = rows.removed.size, n_base * n_classes
    leave_one_out = rows.scheme == LEAVE_ONE_OUT
    by_group = n_groups > 1 and not leave_one_out
    for k in range(further.parents.size):
        p, start = further.parents[k], further.starts[k]
        parent_card = rows.cards[p]
        cells = parent_card * n_base
        size = n_groups * cells * n_classes
        counts = np.zeros(size)
        words = cells * word_start[word_start.size - 1]
        # Rows are counted by bit sets if there are some and that takes less time.
        if (
            bits.has_bits[p]
            and cells_of.bits.shape[0] == n_base
            and words * WORD_COST < rows.y.size * ROW_COST
        ):
            first = bits.value_start[p]
            parent_bits = bits.bits[first : first + parent_card]
            _count_by_bits(parent_bits, cells_of.bits, word_start, n_classes, counts)
        else:
            _count_by_rows(
                rows, rows.codes[p], parent_card, cells_of.base, n_base, by_group, counts
            )
        table, own = further.tables[start : start + size], further.own[start : start + size]
        tables_of_counts(
            counts,
            cells,
            card,
            n_classes,
            rows.scheme,
            rows.removed,
            smoothing,
            amounts[k],
            table,
            own,
        )
        for g in range(n_groups):
            for v in range(parent_card):
                at = (g * cells + v * n_base) * n_classes
                for q in range(n_base_entries):
                    table[at + q] -= reference[g * n_base_entries + q]
                    if leave_one_out:
                        own[at + q] -= reference_own[g * n_base_entries + q]
        further.ranges[k] = table_range(table, own, n_classes)


@small_helper
def candidate_table(rows, cells_of, further, k):
    """Return the table of one of several further parents of a family."""
    p, start = further.parents[k], further.starts[k]
    n_cells = rows.cards[p] * cells_of.n_base
    end = start + rows.removed.size * n_cells * rows.n_classes
    return CandidateTable(
        rows.codes[p],
        cells_of.base,
        cells_of.n_base,
        n_cells,
        rows.n_classes,
        further.tables[start:end],
        further.own[start:end],
    )


@small_helper
def entries_of(table, group, m):
    """Return where the entries of row ``m`` of a group begin in the table of a candidate."""
    cell = np.int64(table.codes[m]) * table.n_base + table.base[m]
    return (group * table.n_cells + cell) * table.n_classes


@small_helper
def cell_range(tables, own, at, n_classes):
    """Return the largest difference between classes in the cell that begins at ``at``.

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
def table_range(table, own, n_classes):
    """Return the largest difference between classes within any cell."""
    largest = 0.0
    for at in range(0, table.size, n_classes):
        largest = max(largest, cell_range(table, own, at, n_classes))
    return largest


@kernel
def add_family(log_joint, y, group, base, n_base, tables, own, sign):
    """Add a family to the log-joint of each row, or subtract it; not where a value is missing."""
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
    """Find the cells of a family after one more parent joined it, before the others."""
    for m in range(base.size):
        code = np.int64(parent_codes[m])
        out[m] = code * n_base + base[m] if base[m] >= 0 and code < card else -1
