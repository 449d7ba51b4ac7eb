"""Scoring of the candidates of one child: exact, and no further than it takes to know that one
cannot win.

Margin: the objective is concave, so that its linear part, which needs counts only, bounds the gain;
the rows for which it does not hold correct it downwards, until the gain is below the bound that is
to be beaten. The rows of a *view* are sorted by slack: a row whose slack exceeds the reach of the
candidate's cell (how far it can move classes against each other) goes on as a linear function of
what is added. So a candidate visits, cell by cell, only the first rows, and of them those that are
in the cell. They are found by bit sets where features have few values, and by a loop where they
have many.

Likelihood: the rows in doubt come first, and with them the most that the others can gain. The rate
has its own kernel, ``kernels/accuracy_scan.py``.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, inline_kernel, kernel, popcount, small_helper
from discbayes.kernels.family_theta import cell_spread
from discbayes.kernels.objective import TIE

RATE, LIKELIHOOD, MARGIN = 0, 1, 2
KEYS, LAST_KEY = 1024.0, 65535  # slacks are sorted in steps of a thousandth, up to 64
SHIFT = 4  # where the rows within reach end is looked up in coarser steps
WORD_COST, ROW_COST, CELL_COST = 0.8, 2.5, 4.0  # of a word of a bit set, a row of the loop, a cell


@kernel
def margins(log_joint, y, kind, scale, best_other, margin, slack, value):
    """For each row the strongest other class, the margin, the value of the objective, and the
    slack.

    The slack is how far classes may move against each other before the row's value stops being what
    it is (rate) or linear (margin).
    """
    n_classes = log_joint.shape[1]
    flat = log_joint.reshape(-1)
    for m in range(y.size):
        measure_row(flat, m, n_classes, y[m], kind, scale, best_other, margin, slack, value)


@small_helper
def measure_row(flat, m, n_classes, true, kind, scale, best_other, margin, slack, value):
    """The same for one row of a flat log-joint.

    Nothing in the loop over the classes branches: with ``min`` and ``max`` in place of the
    selections it takes three times as long.
    """
    start = m * n_classes
    first, second, who = -np.inf, -np.inf, 0
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
    if kind == RATE:
        right = margin[m] > 2 * TIE
        if abs(margin[m]) <= 2 * TIE:
            right = True
            for c in range(n_classes):
                right = right and (c == true or not beats(flat[start + c], c, own, true))
        value[m] = 1.0 if right else 0.0
        slack[m] = abs(margin[m]) - 4 * TIE
    else:
        value[m] = min(1.0, scale * margin[m])
        apart = first - second if second > -np.inf else np.inf
        slack[m] = min(apart, abs(margin[m] - 1.0 / scale)) - 4 * TIE


@small_helper
def beats(other, c, own, true):
    """Whether class c is decided for against the true class: ties go to the first class."""
    return other >= own - TIE if c < true else other > own + TIE


@kernel
def set_bits(codes, card, rows, positions, bits):
    """Set the bit at its position for each of the rows in the bit set of the value that it has; a
    gap sets none.
    """
    for k in range(rows.size):
        code, at = codes[rows[k]], positions[k]
        if code < card:
            bits[code, at >> 6] |= np.uint64(1) << np.uint64(at & 63)


@kernel
def join_bits(first, second, out):
    """The bit sets of the cells of two features: those of the second run fastest."""
    for a in range(first.shape[0]):
        for b in range(second.shape[0]):
            row = out[a * second.shape[0] + b]
            for w in range(row.size):
                row[w] = first[a, w] & second[b, w]


@inline_kernel
def lowest_bit(word):
    """The position of the lowest bit of a word that is not zero."""
    return popcount((word & (~word + np.uint64(1))) - np.uint64(1))


@small_helper
def _margin_change(r, at, view_joint, view_y, view_other, view_value, tables, own, scale):
    """By how much a row's value differs from what the linear part has already counted."""
    true, other = view_y[r], view_other[r]
    mine = view_joint[r, true] + own[at + true]
    strongest = -np.inf
    for c in range(view_joint.shape[1]):
        score = view_joint[r, c] + tables[at + c] if c != true else -np.inf
        strongest = score if score > strongest else strongest
    change = min(1.0, scale * (mine - strongest)) - view_value[r]
    if view_value[r] < 1.0:
        change -= scale * (own[at + true] - tables[at + other])
    return change


@helper
def cell_reaches(tables, own, start, cells, n_groups, n_classes, reach):
    """How far each cell of the table that begins at ``start`` can move classes against each other,
    in any group.
    """
    for cell in range(cells):
        reach[cell] = 0.0
        for g in range(n_groups):
            reach[cell] = max(
                reach[cell],
                cell_spread(tables, own, start + (g * cells + cell) * n_classes, n_classes),
            )


@small_helper
def slack_key(slack):
    """The step that a slack falls into."""
    return np.uint16(min(max(slack, 0.0) * KEYS, LAST_KEY))


@kernel
def slack_keys(slack, keys):
    """The key of each row, by which rows are sorted."""
    for m in range(slack.size):
        keys[m] = slack_key(slack[m])


@kernel
def fill_ends(keys, ends):
    """For each step of reach, the end of the rows whose slack it covers; the keys are sorted."""
    r = 0
    for step in range(ends.size):
        while r < keys.size and (keys[r] >> SHIFT) <= step:
            r += 1
        ends[step] = r


@small_helper
def _step(reach):
    return slack_key(reach) >> SHIFT


@kernel
def reach_step(reach):
    """The step that a reach falls into."""
    return _step(reach)


@small_helper
def end_within(ends, reach):
    """The end of the rows whose slack is within reach."""
    return ends[_step(reach)]


@helper
def bits_are_cheaper(reach, cells, ends, n_rows):
    """Whether bit sets find the rows within reach of their cells sooner, roughly, than a loop over
    ``n_rows``.
    """
    cost = cells * CELL_COST
    for cell in range(cells):
        cost += WORD_COST / 64.0 * end_within(ends, reach[cell])
    return cost < n_rows * ROW_COST


@helper
def _linear_part(
    bits, bits_start, parent_card, base_bits, segment_start, tables, cells, n_base, n_classes, sign
):
    """Σ of table entries over rows, rows counted by bit sets whose words are sorted by group and
    class.
    """
    n_segments = segment_start.size - 1
    total = 0.0
    for v in range(parent_card):
        row = bits[bits_start + v]
        for b in range(n_base):
            base = base_bits[b]
            cell = v * n_base + b
            for s in range(n_segments):
                count = np.uint64(0)
                for w in range(segment_start[s], segment_start[s + 1]):
                    count += popcount(row[w] & base[w])
                g, c = s // n_classes, s % n_classes
                total += count * tables[(g * cells + cell) * n_classes + c]
    return sign * total


@helper
def _linear_by_rows(
    parent_codes,
    base,
    linear_rows,
    group,
    y,
    best_other,
    weight,
    tables,
    own,
    cells,
    n_base,
    n_classes,
):
    """The linear part by a loop over the rows: for weights, and for features with many values."""
    total = 0.0
    for k in range(linear_rows.size):
        m = linear_rows[k]
        at = (group[m] * cells + np.int64(parent_codes[m]) * n_base + base[m]) * n_classes
        total += weight[m] * (own[at + y[m]] - tables[at + best_other[m]])
    return total


@helper
def _correct_by_bits(
    gain, bound, scale, bits, first_bit, parent_card, base_bits, reach, ends, view_joint, view_y, view_other,
    view_value, view_weight, view_group, tables, own,
):  # fmt: skip
    """The gain with the changes of the rows within reach, cell by cell, until it is below the
    bound.
    """
    n_base, n_classes = base_bits.shape[0], view_joint.shape[1]
    cells, n_words = parent_card * n_base, base_bits.shape[1]
    for v in range(parent_card):
        row = bits[first_bit + v]
        for b in range(n_base):
            cell, cell_bits = v * n_base + b, base_bits[b]
            for w in range(min((end_within(ends, reach[cell]) + 63) >> 6, n_words)):
                word = row[w] & cell_bits[w]
                while word != 0:
                    r = (w << 6) + np.int64(lowest_bit(word))
                    word &= word - np.uint64(1)
                    at = (view_group[r] * cells + cell) * n_classes
                    gain += view_weight[r] * _margin_change(
                        r, at, view_joint, view_y, view_other, view_value, tables, own, scale
                    )
            if gain < bound:
                return gain
    return gain


@helper
def _correct_by_rows(
    gain, bound, scale, parent_codes, base, n_base, cells, reach, slack, end, view_rows, view_joint, view_y, view_other,
    view_value, view_weight, view_group, tables, own,
):  # fmt: skip
    """The same, row by row."""
    n_classes = view_joint.shape[1]
    for r in range(end):
        m = view_rows[r]
        cell = np.int64(parent_codes[m]) * n_base + base[m]
        if slack[r] <= reach[cell]:
            at = (view_group[r] * cells + cell) * n_classes
            gain += view_weight[r] * _margin_change(
                r, at, view_joint, view_y, view_other, view_value, tables, own, scale
            )
            if gain < bound:
                return gain
    return gain


@kernel
def scan_child_margin(
    scale, parents, cards, codes, base, n_base, n_groups, starts, spreads, tables, own, bound, rise, y, weight, group,
    best_other, slack, ends, view_rows, view_joint, view_y, view_other, view_value, view_weight, view_group, has_bits,
    value_start, bits, base_bits, linear_rows, true_bits, base_true_bits, true_start, other_bits, base_other_bits,
    other_start, gains, exact,
):  # fmt: skip
    """The gain of each further parent of one child; ``exact`` says where it is the gain and not
    only a bound of it.
    """
    n_classes = view_joint.shape[1]
    by_counts = base_true_bits.shape[0] == n_base
    for k in range(parents.size):
        p = parents[k]
        parent_card = cards[p]
        cells = parent_card * n_base
        span = n_groups * cells * n_classes
        table, mine = tables[starts[k] : starts[k] + span], own[starts[k] : starts[k] + span]
        if by_counts and has_bits[p]:
            gain = _linear_part(
                true_bits, value_start[p], parent_card, base_true_bits, true_start, mine, cells, n_base, n_classes,
                scale,
            ) + _linear_part(
                other_bits, value_start[p], parent_card, base_other_bits, other_start, table, cells, n_base, n_classes,
                -scale,
            )  # fmt: skip
        else:
            gain = scale * _linear_by_rows(
                codes[p],
                base,
                linear_rows,
                group,
                y,
                best_other,
                weight,
                table,
                mine,
                cells,
                n_base,
                n_classes,
            )
        exact[k] = False
        if gain >= bound:
            reach = np.empty(cells)
            cell_reaches(table, mine, 0, cells, n_groups, n_classes, reach)
            end = end_within(ends, spreads[k])
            has_both = has_bits[p] and base_bits.shape[0] == n_base
            if has_both and bits_are_cheaper(reach, cells, ends, end):
                gain = _correct_by_bits(
                    gain, bound, scale, bits, value_start[p], parent_card, base_bits, reach, ends, view_joint, view_y,
                    view_other, view_value, view_weight, view_group, table, mine,
                )  # fmt: skip
            else:
                gain = _correct_by_rows(
                    gain, bound, scale, codes[p], base, n_base, cells, reach, slack, end, view_rows, view_joint, view_y,
                    view_other, view_value, view_weight, view_group, table, mine,
                )  # fmt: skip
            exact[k] = gain >= bound
            bound = max(bound, gain - rise)
        gains[k] = gain


@kernel
def posteriors(log_joint, y, out, loss):
    """P(c | x) of each row, and −log P(y | x)."""
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
def likely_classes(posterior, y, rows, least, start, classes, shares):
    """For each of the rows, its own class and then those of at least some probability; returns
    where they end.
    """
    at = 0
    for k in range(rows.size):
        m = rows[k]
        start[k] = at
        classes[at], shares[at] = y[m], posterior[m, y[m]]
        at += 1
        for c in range(posterior.shape[1]):
            if c != y[m] and posterior[m, c] >= least and posterior[m, c] > 0.0:
                classes[at], shares[at] = c, posterior[m, c]
                at += 1
    start[rows.size] = at
    return at


@helper
def _likelihood_gain(
    parent_codes, base, n_base, cells, n_classes, weight, group, rows, start, classes, shares, left, tables, own,
    factors, own_factors, bound,
):  # fmt: skip
    """Σ of what the rows gain; ``left[k]`` is what the rows from ``k`` on can gain at most.

    Several rows are multiplied before a logarithm is taken of them. Falls below the bound as soon
    as it is known to.
    """
    gain, product, pending = 0.0, 1.0, 0
    for k in range(rows.size):
        m = rows[k]
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
        if pending == 8:
            gain -= np.log(product)
            product, pending = 1.0, 0
            if gain + left[k + 1] < bound:
                return gain + left[k + 1]
    return gain - np.log(product) + left[rows.size]


@kernel
def scan_child_likelihood(
    parents, cards, codes, base, n_base, n_groups, n_classes, starts, tables, own, bound, rise, weight, group, rows,
    start, classes, shares, left, all_rows, all_start, all_classes, all_shares, none_left, gains, exact,
):  # fmt: skip
    """The gain in conditional likelihood of each further parent of one child.

    First on the rows, and in each row on the classes, that are in doubt: what is left out can only
    lower the gain, but for the most that the other rows can gain. Where that is not enough to tell,
    on all rows.
    """
    for k in range(parents.size):
        p = parents[k]
        cells = cards[p] * n_base
        span = n_groups * cells * n_classes
        table, mine = tables[starts[k] : starts[k] + span], own[starts[k] : starts[k] + span]
        factors, own_factors = np.exp(table), np.exp(mine)
        gains[k] = _likelihood_gain(
            codes[p], base, n_base, cells, n_classes, weight, group, rows, start, classes, shares, left, table, mine,
            factors, own_factors, bound,
        )  # fmt: skip
        exact[k] = False
        if gains[k] >= bound:
            gains[k] = _likelihood_gain(
                codes[p], base, n_base, cells, n_classes, weight, group, all_rows, all_start, all_classes, all_shares,
                none_left, table, mine, factors, own_factors, -np.inf,
            )  # fmt: skip
            exact[k] = True
            bound = max(bound, gains[k] - rise)
