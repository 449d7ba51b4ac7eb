"""Scores of the candidates of one child by the accuracy: exact, and abandoned early.

Rows are in two orders of slack (``kernels/candidate_scan.py``): the misclassified ones, then the
others. The slack is how far classes may move against each other before the decision changes, so a
cell of a candidate's table changes only rows with a slack within its range. These come first; bit
sets find the ones that are in the cell where features have few values, a loop over rows does where
they have many.

A candidate corrects a row only if it raises the row's class against the strongest other one by the
slack. That is one comparison a row, and the weight of such rows is an upper bound of the gain,
which is below the threshold for most candidates. For the others the misclassified rows are decided
exactly, which is a lower upper bound, and then the rows that were right: they can only lower the
gain, until it is below the threshold or all rows within range are seen.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel, small_helper
from discbayes.kernels.candidate_scan import (
    ROW_COST,
    beats,
    bits_are_cheaper,
    cell_ranges,
    end_within,
    lowest_bit,
)
from discbayes.kernels.scan_records import (
    AccuracyRows,
    BaseCells,
    ParentTables,
    ScoringRows,
    ValueBits,
)

ENTRY_COST = 0.5  # of an entry of a table that is read to find the range of its cell


@helper
def _is_right(joint, true, at, tables, own):
    """Return whether a row is classified right once its cell is added to its log-joint."""
    score = joint[true] + own[at + true]
    for c in range(joint.size):
        if c != true and beats(joint[c] + tables[at + c], c, score, true):
            return False
    return True


@small_helper
def _may_become_right(r, at, y, other, slack, tables, own):
    """Return whether the class of a misclassified row gains enough on the strongest other one.

    If it gains less than the slack, the row stays wrong.
    """
    return own[at + y[r]] - tables[at + other[r]] >= slack[r]


@small_helper
def _stays_right(r, at, y, slack, order, log_joint, tables, own):
    """Return whether a row that is right stays so; the slack of most rows shows it."""
    true = y[r]
    strongest = tables[at]
    for q in range(at + 1, at + log_joint.shape[1]):
        strongest = tables[q] if tables[q] > strongest else strongest
    return strongest - own[at + true] < slack[r] or _is_right(
        log_joint[order[r]], true, at, tables, own
    )


@helper
def _corrected_by_bits(
    value_bits,
    base_bits,
    ranges,
    ends,
    n_words,
    order,
    slack,
    y,
    other,
    weight,
    group,
    log_joint,
    tables,
    own,
    exactly,
):
    """Return the weight of misclassified rows that become (or may become) right, cell by cell.

    ``value_bits`` are the bit sets of the values of the parent.
    """
    n_base, n_classes = base_bits.shape[0], log_joint.shape[1]
    cells, total = value_bits.shape[0] * n_base, 0.0
    for v in range(value_bits.shape[0]):
        row = value_bits[v]
        for b in range(n_base):
            cell, cell_bits = v * n_base + b, base_bits[b]
            for w in range(min((end_within(ends, ranges[cell]) + 63) >> 6, n_words)):
                word = row[w] & cell_bits[w]
                while word != 0:
                    r = (w << 6) + np.int64(lowest_bit(word))
                    word &= word - np.uint64(1)
                    at = (group[r] * cells + cell) * n_classes
                    if _may_become_right(r, at, y, other, slack, tables, own) and (
                        not exactly or _is_right(log_joint[order[r]], y[r], at, tables, own)
                    ):
                        total += weight[r]
    return total


@helper
def _corrected_by_rows(
    parent_codes,
    base,
    n_base,
    cells,
    end,
    order,
    slack,
    y,
    other,
    weight,
    group,
    log_joint,
    tables,
    own,
    exactly,
):
    """Return the weight of misclassified rows that become (or may become) right, row by row."""
    n_classes, total = log_joint.shape[1], 0.0
    for r in range(end):
        m = order[r]
        at = (group[r] * cells + np.int64(parent_codes[m]) * n_base + base[m]) * n_classes
        if _may_become_right(r, at, y, other, slack, tables, own) and (
            not exactly or _is_right(log_joint[m], y[r], at, tables, own)
        ):
            total += weight[r]
    return total


@helper
def _less_lost_by_bits(
    gain,
    threshold,
    value_bits,
    base_bits,
    ranges,
    ends,
    first_word,
    n_words,
    n_wrong,
    order,
    slack,
    y,
    weight,
    group,
    log_joint,
    tables,
    own,
):
    """Subtract rows that do not stay right from the gain, until it is below the threshold.

    Only the ``n_near`` rows of least slack have bits, from a new word on.
    """
    n_base, n_classes = base_bits.shape[0], log_joint.shape[1]
    cells = value_bits.shape[0] * n_base
    for v in range(value_bits.shape[0]):
        row = value_bits[v]
        for b in range(n_base):
            cell, cell_bits = v * n_base + b, base_bits[b]
            for w in range(min((end_within(ends, ranges[cell]) + 63) >> 6, n_words)):
                word = row[first_word + w] & cell_bits[first_word + w]
                while word != 0:
                    r = n_wrong + (w << 6) + np.int64(lowest_bit(word))
                    word &= word - np.uint64(1)
                    at = (group[r] * cells + cell) * n_classes
                    if not _stays_right(r, at, y, slack, order, log_joint, tables, own):
                        gain -= weight[r]
            if gain < threshold:
                return gain
    return gain


@helper
def _less_lost_by_rows(
    gain,
    threshold,
    first,
    end,
    parent_codes,
    base,
    n_base,
    cells,
    order,
    slack,
    y,
    weight,
    group,
    log_joint,
    tables,
    own,
):
    """Subtract rows that do not stay right from the gain, row by row from ``first`` on."""
    n_classes = log_joint.shape[1]
    for r in range(first, end):
        m = order[r]
        at = (group[r] * cells + np.int64(parent_codes[m]) * n_base + base[m]) * n_classes
        if not _stays_right(r, at, y, slack, order, log_joint, tables, own):
            gain -= weight[r]
            if gain < threshold:
                break
    return gain


@kernel
def scan_accuracy(view, rows, bits, cells_of, further, threshold, tolerance, gains, exact):
    """Score the further parents of one child by the accuracy.

    Parameters
    ----------
    view : AccuracyRows
        Rows in scan order.
    rows : ScoringRows
        All rows.
    bits, cells_of : ValueBits, BaseCells
        Bit sets of the misclassified rows and, from a new word on, of the ``view.n_near`` first
        right ones; and the family that the parents join.
    further : ParentTables
        What the parents add to log θ.
    threshold, tolerance : float
        A gain must reach the threshold, which rises to ``tolerance`` below each gain.
    gains, exact : arrays
        Results: the gains, and whether each is exact; if not it is an upper bound. They are not
        returned, as an interrupt while numba makes arrays for Python would be lost.
    """
    view, rows = AccuracyRows(*view), ScoringRows(*rows)
    bits, cells_of = ValueBits(*bits), BaseCells(*cells_of)
    further = ParentTables(*further)
    n_base, base = cells_of.n_base, cells_of.base
    n_groups, n_classes = rows.removed.size, rows.n_classes
    order, log_joint = view.order, view.log_joint
    y, other = view.y, view.other
    slack, weight = view.slack, view.weight
    group, base_bits = view.group, cells_of.bits
    wrong_ends, right_ends = view.wrong_ends, view.right_ends
    n_wrong, n_near = view.n_wrong, view.n_near
    wrong_words, near_words = (n_wrong + 63) >> 6, (n_near + 63) >> 6
    exact[:] = False
    for k in range(gains.size):
        p, start = further.parents[k], further.starts[k]
        parent_card, parent_codes = rows.cards[p], rows.codes[p]
        cells = parent_card * n_base
        size = n_groups * cells * n_classes
        table, own = further.tables[start : start + size], further.own[start : start + size]
        end = end_within(wrong_ends, further.ranges[k])
        first_bit = bits.value_start[p]
        value_bits, ranges = bits.bits[first_bit : first_bit + parent_card], np.empty(0)
        use_bits = (
            bits.has_bits[p] and base_bits.shape[0] == n_base and end * ROW_COST > size * ENTRY_COST
        )
        if use_bits:
            ranges = np.empty(cells)
            cell_ranges(table, own, 0, cells, n_groups, n_classes, ranges)
            use_bits = bits_are_cheaper(ranges, cells, wrong_ends, end)
        # First the rows that may become right, then those that do.
        for step in range(2):
            exactly = step == 1
            if use_bits:
                gain = _corrected_by_bits(
                    value_bits,
                    base_bits,
                    ranges,
                    wrong_ends,
                    wrong_words,
                    order,
                    slack,
                    y,
                    other,
                    weight,
                    group,
                    log_joint,
                    table,
                    own,
                    exactly,
                )
            else:
                gain = _corrected_by_rows(
                    parent_codes,
                    base,
                    n_base,
                    cells,
                    end,
                    order,
                    slack,
                    y,
                    other,
                    weight,
                    group,
                    log_joint,
                    table,
                    own,
                    exactly,
                )
            if gain < threshold:
                break
        if gain >= threshold:
            first = n_wrong
            if use_bits:
                first += n_near
                gain = _less_lost_by_bits(
                    gain,
                    threshold,
                    value_bits,
                    base_bits,
                    ranges,
                    right_ends,
                    wrong_words,
                    near_words,
                    n_wrong,
                    order,
                    slack,
                    y,
                    weight,
                    group,
                    log_joint,
                    table,
                    own,
                )
            if gain >= threshold:
                end = n_wrong + end_within(right_ends, further.ranges[k])
                gain = _less_lost_by_rows(
                    gain,
                    threshold,
                    first,
                    end,
                    parent_codes,
                    base,
                    n_base,
                    cells,
                    order,
                    slack,
                    y,
                    weight,
                    group,
                    log_joint,
                    table,
                    own,
                )
            exact[k] = gain >= threshold
            threshold = max(threshold, gain - tolerance)
        gains[k] = gain
