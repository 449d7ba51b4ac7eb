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
from discbayes.kernels.family_theta import cell_range
from discbayes.kernels.objective_rows import TIE
from discbayes.kernels.scan_records import (
    BaseCells,
    CountingBits,
    LikelyClasses,
    MarginRows,
    ParentTables,
    ScoringRows,
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
def _margin_change(r, at, log_joint, y, other, value, tables, own, scale):
    """Return by how much a row's value differs from what the linear part has already counted."""
    true = y[r]
    mine = log_joint[r, true] + own[at + true]
    strongest = -np.inf
    for c in range(log_joint.shape[1]):
        score = log_joint[r, c] + tables[at + c] if c != true else -np.inf
        strongest = score if score > strongest else strongest
    change = min(1.0, scale * (mine - strongest)) - value[r]
    if value[r] < 1.0:
        change -= scale * (own[at + true] - tables[at + other[r]])
    return change


@helper
def cell_ranges(tables, own, start, cells, n_groups, n_classes, ranges):
    """Find the range of each cell of the table that begins at ``start``, over all groups."""
    for cell in range(cells):
        ranges[cell] = 0.0
        for g in range(n_groups):
            at = start + (g * cells + cell) * n_classes
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
def bits_are_cheaper(ranges, cells, ends, n_rows):
    """Return whether bit sets find the rows within range sooner than a loop over ``n_rows``."""
    cost = cells * CELL_COST
    for cell in range(cells):
        cost += WORD_COST / 64.0 * end_within(ends, ranges[cell])
    return cost < n_rows * ROW_COST


@helper
def _linear_part(counting, first_bit, parent_card, tables, n_base, n_classes, sign):
    """Sum table entries over rows, which bit sets sorted by group and class count."""
    bits, base_bits = counting.bits, counting.base_bits
    word_start = counting.word_start
    cells, n_keys = parent_card * n_base, word_start.size - 1
    total = 0.0
    for v in range(parent_card):
        row = bits[first_bit + v]
        for b in range(n_base):
            base = base_bits[b]
            cell = v * n_base + b
            for s in range(n_keys):
                count = np.uint64(0)
                for w in range(word_start[s], word_start[s + 1]):
                    count += popcount(row[w] & base[w])
                g, c = s // n_classes, s % n_classes
                total += count * tables[(g * cells + cell) * n_classes + c]
    return sign * total


@helper
def _linear_by_rows(view, rows, parent_codes, base, cells, n_base, tables, own):
    """Sum the linear part row by row: for weights, and for features with many values."""
    linear_rows, other = view.linear_rows, view.best_other
    y, weight = rows.y, rows.weight
    group, n_classes = rows.group, rows.n_classes
    total = 0.0
    for k in range(linear_rows.size):
        m = linear_rows[k]
        at = (group[m] * cells + np.int64(parent_codes[m]) * n_base + base[m]) * n_classes
        total += weight[m] * (own[at + y[m]] - tables[at + other[m]])
    return total


@helper
def _correct_by_bits(gain, threshold, view, value_bits, base_bits, ranges, tables, own):
    """Add the changes of rows within range, cell by cell, until the gain is below the threshold.

    ``value_bits`` are the bit sets of the values of the parent.
    """
    log_joint, value = view.log_joint, view.value
    y, other = view.y, view.other
    group, weight = view.group, view.weight
    ends, scale = view.ends, view.scale
    n_base, n_words = base_bits.shape
    cells, n_classes = value_bits.shape[0] * n_base, log_joint.shape[1]
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
                    gain += weight[r] * _margin_change(
                        r, at, log_joint, y, other, value, tables, own, scale
                    )
            if gain < threshold:
                return gain
    return gain


@helper
def _correct_by_rows(
    gain, threshold, view, end, parent_codes, base, n_base, cells, ranges, tables, own
):
    """Add the changes of rows within range, row by row, until the gain is below the threshold."""
    log_joint, value = view.log_joint, view.value
    y, other = view.y, view.other
    group, weight = view.group, view.weight
    slack, order = view.slack, view.order
    scale, n_classes = view.scale, log_joint.shape[1]
    for r in range(end):
        m = order[r]
        cell = np.int64(parent_codes[m]) * n_base + base[m]
        if slack[r] <= ranges[cell]:
            at = (group[r] * cells + cell) * n_classes
            gain += weight[r] * _margin_change(
                r, at, log_joint, y, other, value, tables, own, scale
            )
            if gain < threshold:
                return gain
    return gain


@kernel
def scan_margin(
    view, rows, bits, cells_of, by_own, by_other, further, threshold, tolerance, gains, exact
):
    """Score the further parents of one child by the margin.

    Parameters
    ----------
    view : MarginRows
        Rows in scan order.
    rows : ScoringRows
        All rows.
    bits, cells_of : ValueBits, BaseCells
        Bit sets of the rows in scan order, and the family that the parents join.
    by_own, by_other : CountingBits
        Bit sets of rows on the linear part, by own and by strongest other class.
    further : ParentTables
        What the parents add to log θ.
    threshold, tolerance : float
        A gain must reach the threshold, which rises to ``tolerance`` below each gain.
    gains, exact : arrays
        Results: the gains, and whether each is exact; if not it is an upper bound. They are not
        returned, as an interrupt while numba makes arrays for Python would be lost.
    """
    view, rows = MarginRows(*view), ScoringRows(*rows)
    bits, cells_of = ValueBits(*bits), BaseCells(*cells_of)
    by_own, by_other = CountingBits(*by_own), CountingBits(*by_other)
    further = ParentTables(*further)
    n_base, base = cells_of.n_base, cells_of.base
    n_groups, n_classes = rows.removed.size, rows.n_classes
    exact[:] = False
    by_counts = by_own.base_bits.shape[0] == n_base
    for k in range(gains.size):
        p, start = further.parents[k], further.starts[k]
        parent_card, parent_codes = rows.cards[p], rows.codes[p]
        cells = parent_card * n_base
        end = start + n_groups * cells * n_classes
        table, own = further.tables[start:end], further.own[start:end]
        first_bit = bits.value_start[p]
        # An upper bound, as the value is concave in what is added.
        if by_counts and bits.has_bits[p]:
            gain = _linear_part(
                by_own, first_bit, parent_card, own, n_base, n_classes, view.scale
            ) + _linear_part(
                by_other, first_bit, parent_card, table, n_base, n_classes, -view.scale
            )
        else:
            gain = view.scale * _linear_by_rows(
                view, rows, parent_codes, base, cells, n_base, table, own
            )
        if gain >= threshold:
            ranges = np.empty(cells)
            cell_ranges(table, own, 0, cells, n_groups, n_classes, ranges)
            n_within = end_within(view.ends, further.ranges[k])
            has_both = bits.has_bits[p] and cells_of.bits.shape[0] == n_base
            if has_both and bits_are_cheaper(ranges, cells, view.ends, n_within):
                value_bits = bits.bits[first_bit : first_bit + parent_card]
                gain = _correct_by_bits(
                    gain, threshold, view, value_bits, cells_of.bits, ranges, table, own
                )
            else:
                gain = _correct_by_rows(
                    gain,
                    threshold,
                    view,
                    n_within,
                    parent_codes,
                    base,
                    n_base,
                    cells,
                    ranges,
                    table,
                    own,
                )
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
def _likelihood_gain(
    likely, rows, parent_codes, base, n_base, cells, own, factors, own_factors, threshold
):
    """Sum the gains of rows and the most that the others can gain.

    Returns an upper bound as soon as that is below the threshold. The factors of several rows are
    multiplied before a logarithm is taken of them.
    """
    which, start = likely.rows, likely.start
    classes, shares = likely.classes, likely.shares
    max_gain_from, n_classes = likely.max_gain_from, rows.n_classes
    weight, group = rows.weight, rows.group
    gain, product = 0.0, 1.0
    pending = 0
    for k in range(which.size):
        m = which[k]
        at = (group[m] * cells + np.int64(parent_codes[m]) * n_base + base[m]) * n_classes
        q = start[k]
        true = classes[q]
        total = shares[q] * own_factors[at + true]
        for j in range(q + 1, start[k + 1]):
            total += shares[j] * factors[at + classes[j]]
        gain += weight[m] * own[at + true]
        if weight[m] == 1.0:
            product *= total
            pending += 1
        else:
            gain -= weight[m] * np.log(total)
        if pending == ROWS_PER_LOG:
            gain -= np.log(product)
            product, pending = 1.0, 0
            if gain + max_gain_from[k + 1] < threshold:
                return gain + max_gain_from[k + 1]
    return gain - np.log(product) + max_gain_from[which.size]


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
    n_base, base = cells_of.n_base, cells_of.base
    exact[:] = False
    for k in range(gains.size):
        p, start = further.parents[k], further.starts[k]
        cells = rows.cards[p] * n_base
        end = start + rows.removed.size * cells * rows.n_classes
        own = further.own[start:end]
        factors, own_factors = np.exp(further.tables[start:end]), np.exp(own)
        codes = rows.codes[p]
        gains[k] = _likelihood_gain(
            doubtful, rows, codes, base, n_base, cells, own, factors, own_factors, threshold
        )
        if gains[k] >= threshold:
            gains[k] = _likelihood_gain(
                every, rows, codes, base, n_base, cells, own, factors, own_factors, -np.inf
            )
            exact[k] = True
            threshold = max(threshold, gains[k] - tolerance)
