"""Scores of the candidates of one child: exact, and abandoned as soon as one cannot win.

A candidate is a further parent; its table is what it adds to log θ. The *range* of a cell of the
table is the largest difference between classes in it: the cell moves no class of a row against
another one by more. The *slack* of a row is how far classes may move against each other before the
row's value changes (accuracy) or stops being a linear function of what is added (margin). So a
candidate has to visit, cell by cell, only the rows with a slack within the range of their cell.
Rows are in the order of their slack, those rows come first, and bit sets find the ones that are in
the cell where features have few values; a loop over rows does where they have many.

Margin: the value min(1, λ · margin) is concave in what is added, so that its linear part, which
needs counts only, is an upper bound of the gain. Rows within range correct it downwards, until it
is below the threshold that a candidate has to reach, or exact.

Likelihood: rows in doubt are visited first. What the other rows can gain at most, their loss, is
added: the sum is an upper bound of the gain.

The accuracy has its own kernel, ``kernels/accuracy_scan.py``.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, inline_kernel, kernel, popcount, small_helper
from discbayes.kernels.family_theta import candidate_table, cell_range, entries_of
from discbayes.kernels.objective_rows import TIE
from discbayes.kernels.scan_records import (
    BaseCells,
    CountingBits,
    LikelyClasses,
    LinearRows,
    ParentTables,
    ScanRows,
    ScoringRows,
    SlackSection,
    TableCells,
    ValueBits,
)

# Objectives.
ACCURACY = 0
LIKELIHOOD = 1
MARGIN = 2
KEYS, LAST_KEY = 1024.0, 65535  # slacks are sorted in steps of a thousandth, up to 64
SHIFT = 4  # bits by which the steps are coarser in which the rows within a range are looked up
# Costs, roughly in nanoseconds: of a word of a bit set, a row of the loop, a cell.
WORD_COST = 0.8
ROW_COST = 2.5
CELL_COST = 4.0
ENTRY_COST = 0.5  # of an entry of a table that is read to find the range of its cell
ROWS_PER_LOG = 8  # rows whose factors are multiplied before a logarithm is taken


@kernel
def margins(log_joint, y, kind, scale, best_other, margin, slack, value):
    """Find for each row the strongest other class, the margin, the slack and the value."""
    n_classes = log_joint.shape[1]
    flat = log_joint.reshape(-1)
    for m in range(y.size):
        measure_row(flat, m, n_classes, y[m], kind, scale, best_other, margin, slack, value)


@small_helper
def measure_row(flat, m, n_classes, true, kind, scale, best_other, margin, slack, value):
    """Measure one row of a flat log-joint, see ``margins``.

    The loop over the classes has no branches: with ``min`` and ``max`` in place of the selections
    it takes three times as long.
    """
    start = m * n_classes
    first, second = -np.inf, -np.inf
    who = 0
    for c in range(n_classes):
        score = flat[start + c] if c != true else -np.inf
        lower = score if score < first else first
        second = lower if lower > second else second
        who = c if score > first else who
        first = score if score > first else first
    measure_ranked(
        flat, m, n_classes, true, kind, scale, first, second, who, best_other, margin, slack, value
    )


@small_helper
def measure_ranked(
    flat, m, n_classes, true, kind, scale, first, second, who, best_other, margin, slack, value
):
    """Measure a row whose two strongest other classes are known."""
    start = m * n_classes
    own = flat[start + true]
    best_other[m] = who
    margin[m] = own - first
    if kind == ACCURACY:
        right = margin[m] > 2 * TIE
        if abs(margin[m]) <= 2 * TIE:
            right = True
            for c in range(n_classes):
                right = right and (c == true or not beats(flat[start + c], c, own, true))
        value[m] = 1.0 if right else 0.0
        # Some ties more, so that rounding of what is added never decides.
        slack[m] = abs(margin[m]) - 4 * TIE
    else:
        value[m] = min(1.0, scale * margin[m])
        # The value is linear while the strongest other class stays the strongest, and the margin
        # stays on its side of 1/λ, where the value is cut off.
        apart = first - second if second > -np.inf else np.inf
        slack[m] = min(apart, abs(margin[m] - 1.0 / scale)) - 4 * TIE


@small_helper
def beats(other, c, own, true):
    """Return whether class c wins against the true class: ties go to the first class."""
    return other >= own - TIE if c < true else other > own + TIE


@kernel
def set_bits(codes, card, rows, positions, bits):
    """Set the bit of each row in the bit set of its value; a missing value sets none."""
    for k in range(rows.size):
        code, at = codes[rows[k]], positions[k]
        if code < card:
            bits[code, at >> 6] |= np.uint64(1) << np.uint64(at & 63)


@kernel
def join_bits(first, second, out):
    """Make the bit sets of the cells of two features, the second one innermost."""
    for a in range(first.shape[0]):
        for b in range(second.shape[0]):
            row = out[a * second.shape[0] + b]
            for w in range(row.size):
                row[w] = first[a, w] & second[b, w]


@inline_kernel
def lowest_bit(word):
    """Return the position of the lowest bit of a word that is not zero."""
    return popcount((word & (~word + np.uint64(1))) - np.uint64(1))


@small_helper
def _margin_change(view, r, at, tables, own):
    """Return by how much a row's value differs from what the linear part has already counted."""
    log_joint, true = view.log_joint, view.y[r]
    m = view.order[r]
    strongest = -np.inf
    for c in range(log_joint.shape[1]):
        score = log_joint[m, c] + tables[at + c] if c != true else -np.inf
        strongest = score if score > strongest else strongest
    mine = log_joint[m, true] + own[at + true]
    change = min(1.0, view.scale * (mine - strongest)) - view.value[r]
    if view.value[r] < 1.0:
        change -= view.scale * (own[at + true] - tables[at + view.other[r]])
    return change


@helper
def cell_ranges(tables, own, start, n_groups, n_classes, ranges):
    """Find the range of each cell of the table that begins at ``start``, over all groups."""
    for cell in range(ranges.size):
        ranges[cell] = 0.0
        for g in range(n_groups):
            at = start + (g * ranges.size + cell) * n_classes
            ranges[cell] = max(ranges[cell], cell_range(tables, own, at, n_classes))


@small_helper
def slack_key(slack):
    """Return the step that a slack falls into."""
    return np.uint16(min(max(slack, 0.0) * KEYS, LAST_KEY))


@kernel
def slack_keys(slack, keys):
    """Find the key of each row, by which rows are sorted."""
    for m in range(slack.size):
        keys[m] = slack_key(slack[m])


@kernel
def fill_ends(keys, ends):
    """Find for each step of range the number of rows with a slack within it; keys are sorted."""
    r = 0
    for step in range(ends.size):
        while r < keys.size and (keys[r] >> SHIFT) <= step:
            r += 1
        ends[step] = r


@small_helper
def _step(table_range):
    return slack_key(table_range) >> SHIFT


@kernel
def range_step(table_range):
    """Return the step that a range falls into."""
    return _step(table_range)


@small_helper
def end_within(ends, table_range):
    """Return the number of rows with a slack within a range."""
    return ends[_step(table_range)]


@helper
def find_cells(table, bits, cells_of, parent, n_groups, section, n_rows, need_ranges):
    """Return the ranges of the cells of a table, and the bit sets of a parent if they are quicker.

    They are if they find the rows within range sooner than a loop over ``n_rows``. The ranges are
    left out where neither the bit sets nor the caller needs them.
    """
    has_bits = bits.has_bits[parent] and cells_of.bits.shape[0] == table.n_base
    may_pay = has_bits and n_rows * ROW_COST > table.tables.size * ENTRY_COST
    ranges = np.empty(table.n_cells if need_ranges or may_pay else 0)
    cell_ranges(table.tables, table.own, 0, n_groups, table.n_classes, ranges)
    cost = ranges.size * CELL_COST
    for cell in range(ranges.size):
        cost += WORD_COST / 64.0 * end_within(section.ends, ranges[cell])
    by_bits = has_bits and ranges.size > 0 and cost < n_rows * ROW_COST
    value_bits = bits.bits[bits.value_start[parent] : bits.value_start[parent + 1]]
    return TableCells(by_bits, ranges, value_bits, cells_of.bits)


@small_helper
def words_within(section, cell_range):
    """Return the number of words with the bits of the rows of a section within a range."""
    return (min(end_within(section.ends, cell_range), section.n_bits) + 63) >> 6


@helper
def _correct_by_bits(gain, threshold, view, section, table, cells):
    """Add the changes of rows within range, cell by cell, until the gain is below the threshold."""
    tables, own = table.tables, table.own
    for v in range(cells.value_bits.shape[0]):
        row = cells.value_bits[v]
        for b in range(table.n_base):
            cell, cell_bits = v * table.n_base + b, cells.base_bits[b]
            for w in range(words_within(section, cells.ranges[cell])):
                word = row[w] & cell_bits[w]
                while word != 0:
                    r = (w << 6) + np.int64(lowest_bit(word))
                    word &= word - np.uint64(1)
                    at = (view.group[r] * table.n_cells + cell) * table.n_classes
                    gain += view.weight[r] * _margin_change(view, r, at, tables, own)
            if gain < threshold:
                return gain
    return gain


@helper
def _correct_by_rows(gain, threshold, view, end, table, ranges):
    """Add the changes of rows within range, row by row, until the gain is below the threshold."""
    tables, own = table.tables, table.own
    for r in range(end):
        m = view.order[r]
        cell = np.int64(table.codes[m]) * table.n_base + table.base[m]
        if view.slack[r] <= ranges[cell]:
            at = (view.group[r] * table.n_cells + cell) * table.n_classes
            gain += view.weight[r] * _margin_change(view, r, at, tables, own)
            if gain < threshold:
                return gain
    return gain


@helper
def _linear_by_counts(counting, first_bit, table, entries):
    """Sum table entries over rows, which bit sets sorted by group and class count."""
    word_start, total = counting.word_start, 0.0
    for cell in range(table.n_cells):
        row = counting.bits[first_bit + cell // table.n_base]
        base = counting.base_bits[cell % table.n_base]
        for s in range(word_start.size - 1):
            count = np.uint64(0)
            for w in range(word_start[s], word_start[s + 1]):
                count += popcount(row[w] & base[w])
            g, c = s // table.n_classes, s % table.n_classes
            total += count * entries[(g * table.n_cells + cell) * table.n_classes + c]
    return total


@helper
def _linear_by_rows(linear, rows, table):
    """Sum the linear part row by row: for weights, and for features with many values."""
    total = 0.0
    for m in linear.rows:
        at = entries_of(table, rows.group[m], m)
        total += rows.weight[m] * (table.own[at + rows.y[m]] - table.tables[at + linear.other[m]])
    return total


@kernel
def scan_margin(
    view, section, linear, rows, bits, cells_of, further, threshold, tolerance, gains, exact
):
    """Score the further parents of one child by the margin.

    Parameters
    ----------
    view, section : ScanRows, SlackSection
        The rows of least slack, in scan order.
    linear : LinearRows
        The rows on the linear part.
    rows : ScoringRows
        All rows.
    bits, cells_of : ValueBits, BaseCells
        Bit sets of the rows in scan order, and the family that the parents join.
    further : ParentTables
        What the parents add to log θ.
    threshold, tolerance : float
        A gain must reach the threshold, which rises to ``tolerance`` below each gain.
    gains, exact : arrays
        Results: the gains, and whether each is exact; if not it is an upper bound. They are not
        returned, as an interrupt while numba makes arrays for Python would be lost.
    """
    view, section = ScanRows(*view), SlackSection(*section)
    linear, rows = LinearRows(*linear), ScoringRows(*rows)
    bits, cells_of = ValueBits(*bits), BaseCells(*cells_of)
    further, scale = ParentTables(*further), view.scale
    by_own, by_other = CountingBits(*linear.by_own), CountingBits(*linear.by_other)
    exact[:] = False
    for k in range(gains.size):
        p, table = further.parents[k], candidate_table(rows, cells_of, further, k)
        first_bit = bits.value_start[p]
        # An upper bound, as the value is concave in what is added.
        if bits.has_bits[p] and by_own.base_bits.shape[0] == table.n_base:
            by_class = scale * _linear_by_counts(by_own, first_bit, table, table.own)
            gain = by_class - scale * _linear_by_counts(by_other, first_bit, table, table.tables)
        else:
            gain = scale * _linear_by_rows(linear, rows, table)
        if gain >= threshold:
            n_within = end_within(section.ends, further.ranges[k])
            cells = find_cells(table, bits, cells_of, p, rows.removed.size, section, n_within, True)
            if cells.by_bits:
                gain = _correct_by_bits(gain, threshold, view, section, table, cells)
            else:
                gain = _correct_by_rows(gain, threshold, view, n_within, table, cells.ranges)
            exact[k] = gain >= threshold
            threshold = max(threshold, gain - tolerance)
        gains[k] = gain


@kernel
def posteriors(log_joint, y, out, loss):
    """Find P(c | x) of each row, and the loss −log P(y | x)."""
    n_classes = log_joint.shape[1]
    for m in range(y.size):
        top = log_joint[m, 0]
        for c in range(1, n_classes):
            top = max(top, log_joint[m, c])
        total = 0.0
        for c in range(n_classes):
            out[m, c] = np.exp(log_joint[m, c] - top)
            total += out[m, c]
        for c in range(n_classes):
            out[m, c] /= total
        loss[m] = np.log(total) - (log_joint[m, y[m]] - top)


@kernel
def likely_classes(posterior, y, rows, min_share, start, classes, shares):
    """List for each of the rows its own class, then those of at least some probability.

    Returns the length of the list.
    """
    at = 0
    for k in range(rows.size):
        m = rows[k]
        start[k] = at
        classes[at], shares[at] = y[m], posterior[m, y[m]]
        at += 1
        for c in range(posterior.shape[1]):
            if c != y[m] and posterior[m, c] >= min_share and posterior[m, c] > 0.0:
                classes[at], shares[at] = c, posterior[m, c]
                at += 1
    start[rows.size] = at
    return at


@helper
def _likelihood_gain(likely, rows, table, factors, own_factors, threshold):
    """Sum the gains of rows and the most that the others can gain.

    Returns an upper bound as soon as that is below the threshold. The factors of several rows are
    multiplied before a logarithm is taken of them.
    """
    gain, product = 0.0, 1.0
    pending = 0
    for k in range(likely.rows.size):
        m, q = likely.rows[k], likely.start[k]
        at = entries_of(table, rows.group[m], m)
        true, weight = likely.classes[q], rows.weight[m]
        total = likely.shares[q] * own_factors[at + true]
        for j in range(q + 1, likely.start[k + 1]):
            total += likely.shares[j] * factors[at + likely.classes[j]]
        gain += weight * table.own[at + true]
        if weight == 1.0:
            product *= total
            pending += 1
        else:
            gain -= weight * np.log(total)
        if pending == ROWS_PER_LOG:
            gain -= np.log(product)
            product, pending = 1.0, 0
            if gain + likely.max_gain_from[k + 1] < threshold:
                return gain + likely.max_gain_from[k + 1]
    return gain - np.log(product) + likely.max_gain_from[likely.rows.size]


@kernel
def scan_likelihood(doubtful, every, rows, cells_of, further, threshold, tolerance, gains, exact):
    """Score the further parents of one child by the conditional likelihood.

    The first scan visits the rows, and in each row the classes, that are in doubt. A class that is
    left out can only lower the gain, and the rows that are left out gain their loss at most: so the
    scan gives an upper bound. A candidate whose bound reaches the threshold is scored on all rows.

    Parameters
    ----------
    doubtful, every : LikelyClasses
        The rows in doubt, the least certain first, and all rows.
    rows : ScoringRows
        All rows.
    cells_of : BaseCells
        The family that the parents join.
    further : ParentTables
        What the parents add to log θ.
    threshold, tolerance : float
        A gain must reach the threshold, which rises to ``tolerance`` below each gain.
    gains, exact : arrays
        Results: the gains, and whether each is exact; if not it is an upper bound. They are not
        returned, as an interrupt while numba makes arrays for Python would be lost.
    """
    doubtful, every = LikelyClasses(*doubtful), LikelyClasses(*every)
    rows, cells_of = ScoringRows(*rows), BaseCells(*cells_of)
    further = ParentTables(*further)
    exact[:] = False
    for k in range(gains.size):
        table = candidate_table(rows, cells_of, further, k)
        factors, own_factors = np.exp(table.tables), np.exp(table.own)
        gains[k] = _likelihood_gain(doubtful, rows, table, factors, own_factors, threshold)
        if gains[k] >= threshold:
            gains[k] = _likelihood_gain(every, rows, table, factors, own_factors, -np.inf)
            exact[k] = True
            threshold = max(threshold, gains[k] - tolerance)
