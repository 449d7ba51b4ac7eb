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
    beats,
    end_within,
    find_cells,
    lowest_bit,
    words_within,
)
from discbayes.kernels.family_theta import candidate_table
from discbayes.kernels.scan_records import (
    BaseCells,
    ParentTables,
    ScanRows,
    ScoringRows,
    SlackSection,
    ValueBits,
)


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
def _corrected_by_bits(view, section, table, cells, exactly):
    """Return the weight of misclassified rows that become (or may become) right, cell by cell."""
    _, order, slack, y, other, _, weight, group, log_joint = view
    _, _, n_base, n_cells, n_classes, tables, own = table
    total = 0.0
    for v in range(cells.value_bits.shape[0]):
        row = cells.value_bits[v]
        for b in range(n_base):
            cell, cell_bits = v * n_base + b, cells.base_bits[b]
            for w in range(words_within(section, cells.ranges[cell])):
                word = row[w] & cell_bits[w]
                while word != 0:
                    r = (w << 6) + np.int64(lowest_bit(word))
                    word &= word - np.uint64(1)
                    at = (group[r] * n_cells + cell) * n_classes
                    if _may_become_right(r, at, y, other, slack, tables, own) and (
                        not exactly or _is_right(log_joint[order[r]], y[r], at, tables, own)
                    ):
                        total += weight[r]
    return total


@helper
def _corrected_by_rows(view, table, end, exactly):
    """Return the weight of misclassified rows that become (or may become) right, row by row."""
    _, order, slack, y, other, _, weight, group, log_joint = view
    codes, base, n_base, n_cells, n_classes, tables, own = table
    total = 0.0
    for r in range(end):
        m = order[r]
        at = (group[r] * n_cells + np.int64(codes[m]) * n_base + base[m]) * n_classes
        if _may_become_right(r, at, y, other, slack, tables, own) and (
            not exactly or _is_right(log_joint[m], y[r], at, tables, own)
        ):
            total += weight[r]
    return total


@helper
def _less_lost_by_bits(gain, threshold, view, section, table, cells):
    """Subtract rows that do not stay right from the gain, until it is below the threshold."""
    _, order, slack, y, _, _, weight, group, log_joint = view
    _, _, n_base, n_cells, n_classes, tables, own = table
    first, first_word = section.first, section.first_word
    for v in range(cells.value_bits.shape[0]):
        row = cells.value_bits[v]
        for b in range(n_base):
            cell, cell_bits = v * n_base + b, cells.base_bits[b]
            for w in range(words_within(section, cells.ranges[cell])):
                word = row[first_word + w] & cell_bits[first_word + w]
                while word != 0:
                    r = first + (w << 6) + np.int64(lowest_bit(word))
                    word &= word - np.uint64(1)
                    at = (group[r] * n_cells + cell) * n_classes
                    if not _stays_right(r, at, y, slack, order, log_joint, tables, own):
                        gain -= weight[r]
            if gain < threshold:
                return gain
    return gain


@helper
def _less_lost_by_rows(gain, threshold, view, table, first, end):
    """Subtract rows that do not stay right from the gain, row by row from ``first`` on."""
    _, order, slack, y, _, _, weight, group, log_joint = view
    codes, base, n_base, n_cells, n_classes, tables, own = table
    for r in range(first, end):
        m = order[r]
        at = (group[r] * n_cells + np.int64(codes[m]) * n_base + base[m]) * n_classes
        if not _stays_right(r, at, y, slack, order, log_joint, tables, own):
            gain -= weight[r]
            if gain < threshold:
                break
    return gain


@kernel
def scan_accuracy(
    view, wrong, right, rows, bits, cells_of, further, threshold, tolerance, gains, exact
):
    """Score the further parents of one child by the accuracy.

    Parameters
    ----------
    view : ScanRows
        Rows in scan order.
    wrong, right : SlackSection
        Those that are misclassified, and the others.
    rows : ScoringRows
        All rows.
    bits, cells_of : ValueBits, BaseCells
        Bit sets of the misclassified rows and of the first right ones, and the family that the
        parents join.
    further : ParentTables
        What the parents add to log θ.
    threshold, tolerance : float
        A gain must reach the threshold, which rises to ``tolerance`` below each gain.
    gains, exact : arrays
        Results: the gains, and whether each is exact; if not it is an upper bound. They are not
        returned, as an interrupt while numba makes arrays for Python would be lost.
    """
    view, rows = ScanRows(*view), ScoringRows(*rows)
    wrong, right = SlackSection(*wrong), SlackSection(*right)
    bits, cells_of = ValueBits(*bits), BaseCells(*cells_of)
    further = ParentTables(*further)
    exact[:] = False
    for k in range(gains.size):
        p, table = further.parents[k], candidate_table(rows, cells_of, further, k)
        table_range = further.ranges[k]
        n_within = end_within(wrong.ends, table_range)
        cells = find_cells(table, bits, cells_of, p, rows.removed.size, wrong, n_within, False)
        # First the rows that may become right, then those that do.
        for exactly in (False, True):
            if cells.by_bits:
                gain = _corrected_by_bits(view, wrong, table, cells, exactly)
            else:
                gain = _corrected_by_rows(view, table, n_within, exactly)
            if gain < threshold:
                break
        if gain >= threshold:
            first = right.first
            if cells.by_bits:
                gain = _less_lost_by_bits(gain, threshold, view, right, table, cells)
                # The rows of larger slack have no bits.
                first += right.n_bits
            if gain >= threshold:
                end = right.first + end_within(right.ends, table_range)
                gain = _less_lost_by_rows(gain, threshold, view, table, first, end)
            exact[k] = gain >= threshold
            threshold = max(threshold, gain - tolerance)
        gains[k] = gain
