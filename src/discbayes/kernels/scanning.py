"""Scoring of the candidates of one child: exact, and no further than it takes to know that one cannot win.

The rows of a *view* stand in segments, by their class or by the strongest other one, each sorted by slack: a row whose
slack exceeds the reach of the candidate's cell (how far it can move the classes that matter in the segment against each
other) keeps its decision, or goes on as a linear function of what is added. So a candidate visits, cell by cell, only
the rows at the front of each segment that are in the cell. They are found by bit sets where features have few values,
and by a loop where they have many.

Rate: a visited row turns right or wrong. Rows that are wrong come first and bound the gain; among the right ones the
gain can only fall. Margin: the objective is concave, so that its linear part, which needs counts only, bounds the
gain; each visited row corrects it downwards. Both stop as soon as the gain is below the bound that is to be beaten.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, inline_kernel, kernel, popcount, small_helper
from discbayes.kernels.objective import TIE

RATE, LIKELIHOOD, MARGIN = 0, 1, 2
STEPS = 8.0  # reaches are looked up in steps of an eighth
WORD_COST, ROW_COST, CELL_COST = 0.8, 2.5, 4.0  # of a word of a bit set, a row of the loop, a cell with a segment


@kernel
def margins(log_joint, y, kind, scale, best_other, margin, slack, value):
    """For each row the strongest other class, the margin, the value of the objective, and the slack.

    The slack is how far classes may move against each other before the row's value stops being what it is (rate) or
    linear (margin).
    """
    n_classes = log_joint.shape[1]
    flat = log_joint.reshape(-1)
    for m in range(y.size):
        measure_row(flat, m, n_classes, y[m], kind, scale, best_other, margin, slack, value)


@small_helper
def measure_row(flat, m, n_classes, true, kind, scale, best_other, margin, slack, value):
    """The same for one row of a flat log-joint; written so that nothing in the loop over the classes branches."""
    start = m * n_classes
    own = flat[start + true]
    flat[start + true] = -np.inf
    first, second = -np.inf, -np.inf
    for q in range(start, start + n_classes):
        second = max(second, min(first, flat[q]))
        first = max(first, flat[q])
    who = start
    while flat[who] < first:
        who += 1
    flat[start + true] = own
    best_other[m] = who - start
    margin[m] = own - first
    if kind == RATE:
        right = margin[m] > 2 * TIE
        if abs(margin[m]) <= 2 * TIE:
            right = True
            for c in range(n_classes):
                right = right and (c == true or not _beats(flat[start + c], c, own, true))
        value[m] = 1.0 if right else 0.0
        slack[m] = abs(margin[m]) - 4 * TIE
    else:
        value[m] = min(1.0, scale * margin[m])
        slack[m] = min(first - second, abs(margin[m] - 1.0 / scale)) - 4 * TIE


@small_helper
def _beats(other, c, own, true):
    """Whether class c is decided for against the true class: ties go to the first class."""
    return other >= own - TIE if c < true else other > own + TIE


@kernel
def set_bits(codes, card, rows, positions, bits):
    """Set the bit at its position for each of the rows in the bit set of the value that it has."""
    for k in range(rows.size):
        code, at = codes[rows[k]], positions[k]
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
def _lowest_bit(word):
    """The position of the lowest bit of a word that is not zero."""
    return popcount((word & (~word + np.uint64(1))) - np.uint64(1))


@small_helper
def _rate_change(r, at, top, view_joint, view_y, view_other, view_margin, view_value, tables, own):
    """By how much a row's decision changes; most rows show at their strongest other class that it does not."""
    true = view_y[r]
    if view_value[r] == 0.0:
        if view_margin[r] + own[at + true] - tables[at + view_other[r]] < -2 * TIE:
            return 0.0
    elif view_margin[r] + own[at + true] - top > 2 * TIE:
        return 0.0
    mine = view_joint[r, true] + own[at + true]
    for c in range(view_joint.shape[1]):
        if c != true and _beats(view_joint[r, c] + tables[at + c], c, mine, true):
            return -view_value[r]
    return 1.0 - view_value[r]


@small_helper
def _margin_change(r, at, view_joint, view_y, view_other, view_value, tables, own, scale):
    """By how much a row's value differs from what the linear part has already counted."""
    true, other = view_y[r], view_other[r]
    mine = view_joint[r, true] + own[at + true]
    strongest = -np.inf
    for c in range(view_joint.shape[1]):
        if c != true:
            strongest = max(strongest, view_joint[r, c] + tables[at + c])
    change = min(1.0, scale * (mine - strongest)) - view_value[r]
    if view_value[r] < 1.0:
        change -= scale * (own[at + true] - tables[at + other])
    return change


@helper
def _visit(
    kind, scale, hits, n_hits, cell, cells, top, view_joint, view_y, view_other, view_margin, view_value, view_weight,
    view_group, tables, own,
):  # fmt: skip
    """The summed change of the rows that are listed, all in one cell."""
    n_classes = view_joint.shape[1]
    total = 0.0
    for k in range(n_hits):
        r = hits[k]
        at = (view_group[r] * cells + cell) * n_classes
        if kind == RATE:
            total += view_weight[r] * _rate_change(
                r, at, top[view_group[r] * cells + cell], view_joint, view_y, view_other, view_margin, view_value,
                tables, own,
            )  # fmt: skip
        else:
            total += view_weight[r] * _margin_change(
                r, at, view_joint, view_y, view_other, view_value, tables, own, scale
            )
    return total


@helper
def _reaches(kind, tables, own, cells, n_groups, n_classes, reach, top):
    """How far a cell can move the rows of each segment: segments are classes, of rows that are wrong and then right.

    A wrong row is put right by lowering its strongest other class against any true one, a right row is put wrong by
    raising any class against its own. For margins the second half is empty, and any two classes matter.
    """
    n_segments = 2 * n_classes
    for cell in range(cells):
        first = cell * n_segments
        for s in range(first, first + n_segments):
            reach[s] = 0.0
        for g in range(n_groups):
            at = (g * cells + cell) * n_classes
            low, high, high_own = tables[at], tables[at], own[at]
            for c in range(n_classes):
                low = min(low, min(tables[at + c], own[at + c]))
                high = max(high, tables[at + c])
                high_own = max(high_own, own[at + c])
            top[g * cells + cell] = high
            for c in range(n_classes):
                if kind == RATE:
                    reach[first + c] = max(reach[first + c], high_own - tables[at + c])
                    reach[first + n_classes + c] = max(reach[first + n_classes + c], high - own[at + c])
                else:
                    reach[first + c] = max(reach[first + c], max(high, high_own) - low)


@small_helper
def _prefix(front, segment, reach):
    """The end of the rows of a segment whose slack may be within reach: looked up, rounded up."""
    step = min(np.int64(reach * STEPS), front.shape[1] - 1)
    return front[segment, step]


@kernel
def fill_front(slack, segment_start, segment_end, front):
    """For each segment and each step of reach, the end of the rows whose slack it covers."""
    last = front.shape[1] - 1
    for s in range(segment_start.size):
        r = segment_start[s]
        for step in range(last):
            while r < segment_end[s] and slack[r] <= (step + 1) / STEPS:
                r += 1
            front[s, step] = r
        front[s, last] = segment_end[s]


@helper
def _linear_part(bits, bits_start, parent_card, base_bits, segment_start, tables, cells, n_base, n_classes, sign):
    """Σ of table entries over rows, rows counted by bit sets whose words are sorted by group and class."""
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
    parent_codes, base, linear_rows, group, y, best_other, weight, tables, own, cells, n_base, n_classes
):
    """The linear part by a loop over the rows: for weights, and for features with many values."""
    total = 0.0
    for k in range(linear_rows.size):
        m = linear_rows[k]
        at = (group[m] * cells + np.int64(parent_codes[m]) * n_base + base[m]) * n_classes
        total += weight[m] * (own[at + y[m]] - tables[at + best_other[m]])
    return total


@helper
def _collect(row, base_row, first, last, hits):
    """List the rows between two positions of the view whose bit is set in both."""
    n_hits = 0
    w = first >> 6
    while (w << 6) < last:
        word = row[w] & base_row[w]
        while word != 0:
            r = (w << 6) + np.int64(_lowest_bit(word))
            word &= word - np.uint64(1)
            if r < last:
                hits[n_hits] = r
                n_hits += 1
        w += 1
    return n_hits


@helper
def _scan_by_bits(
    kind, scale, bits, first_bit, parent_card, base_bits, reach, near_reach, top, front, segment_start, low, high, gain,
    bound, falling, hits, view_joint, view_y, view_other, view_margin, view_value, view_weight, view_group, tables, own,
):  # fmt: skip
    """Add the changes of the rows of some segments, cell by cell; a gain that only falls may stop at the bound."""
    n_base, n_segments = base_bits.shape[0], segment_start.size
    cells = parent_card * n_base
    for v in range(parent_card):
        row = bits[first_bit + v]
        for b in range(n_base):
            cell = v * n_base + b
            for s in range(low, high):
                far = reach[cell * n_segments + s]
                if far > near_reach:
                    n_hits = _collect(row, base_bits[b], segment_start[s], _prefix(front, s, far), hits)
                    if n_hits > 0:
                        gain += _visit(
                            kind, scale, hits, n_hits, cell, cells, top, view_joint, view_y, view_other, view_margin,
                            view_value, view_weight, view_group, tables, own,
                        )  # fmt: skip
            if falling and gain < bound:
                return gain
    return gain


@helper
def _scan_rows(
    kind, scale, parent_codes, base, n_base, cells, reach, top, slack, first, last, n_segments, gain, hits, view_rows,
    view_segment, view_joint, view_y, view_other, view_margin, view_value, view_weight, view_group, tables, own,
):  # fmt: skip
    """Add the changes of a stretch of rows, one after the other."""
    for r in range(first, last):
        m = view_rows[r]
        cell = np.int64(parent_codes[m]) * n_base + base[m]
        if slack[r] <= reach[cell * n_segments + view_segment[r]]:
            hits[0] = r
            gain += _visit(
                kind, scale, hits, 1, cell, cells, top, view_joint, view_y, view_other, view_margin, view_value,
                view_weight, view_group, tables, own,
            )  # fmt: skip
    return gain


@helper
def _bits_are_cheaper(reach, near_reach, widest, front, segment_start, cells):
    """Whether going through the cells of all segments by bit sets takes less time, roughly, than through their rows."""
    n_segments = segment_start.size
    by_bits, by_rows = 0.0, 0.0
    for s in range(n_segments):
        widest[s] = 0.0
    for cell in range(cells):
        for s in range(n_segments):
            widest[s] = max(widest[s], reach[cell * n_segments + s])
    for s in range(n_segments):
        if widest[s] > near_reach:
            rows = _prefix(front, s, widest[s]) - segment_start[s]
            by_rows += ROW_COST * rows
            far = 0
            for cell in range(cells):
                if reach[cell * n_segments + s] > near_reach:
                    far += 1
            by_bits += far * (CELL_COST + WORD_COST * rows / 128.0)  # half of the rows, on average
        else:
            widest[s] = 0.0
    return by_bits < by_rows


@kernel
def scan_child(
    kind, scale, parents, cards, codes, base, n_base, n_groups, starts, tables, own, bound, y, weight, group,
    best_other, slack, near_start, near_reach, segment_start, front, view_rows, view_segment, view_joint, view_y,
    view_other, view_margin, view_value, view_weight, view_group, has_bits, value_start, bits, base_bits, linear_rows,
    true_bits, base_true_bits, true_start, other_bits, base_other_bits, other_start, gains, exact,
):  # fmt: skip
    """The gain of each further parent of one child; ``exact`` says where it is the gain and not only a bound of it."""
    n_classes = view_joint.shape[1]
    n_segments = 2 * n_classes
    hits = np.empty(max(view_rows.size, 1), np.int64)
    by_counts = base_true_bits.shape[0] == n_base
    widest = np.empty(n_segments)
    for k in range(parents.size):
        p = parents[k]
        parent_card = cards[p]
        cells = parent_card * n_base
        span = n_groups * cells * n_classes
        table, mine = tables[starts[k] : starts[k] + span], own[starts[k] : starts[k] + span]
        gain = 0.0
        if kind == MARGIN:
            if by_counts and has_bits[p]:
                gain = _linear_part(
                    true_bits, value_start[p], parent_card, base_true_bits, true_start, mine, cells, n_base, n_classes,
                    scale,
                ) + _linear_part(
                    other_bits, value_start[p], parent_card, base_other_bits, other_start, table, cells, n_base,
                    n_classes, -scale,
                )  # fmt: skip
            else:
                gain = scale * _linear_by_rows(
                    codes[p], base, linear_rows, group, y, best_other, weight, table, mine, cells, n_base, n_classes
                )
        exact[k] = False
        if kind == MARGIN and gain < bound:
            gains[k] = gain
            continue
        reach, top = np.empty(cells * n_segments), np.empty(n_groups * cells)
        _reaches(kind, table, mine, cells, n_groups, n_classes, reach, top)
        use_bits = _bits_are_cheaper(reach, near_reach, widest, front, segment_start, cells)
        use_bits = use_bits and has_bits[p] and base_bits.shape[0] == n_base
        for part in range(2):
            low, high = (0, n_classes) if part == 0 else (n_classes, n_segments)
            falling = part == 1 or kind == MARGIN
            gain = _scan_rows(
                kind, scale, codes[p], base, n_base, cells, reach, top, slack, near_start[part], near_start[part + 1],
                n_segments, gain, hits, view_rows, view_segment, view_joint, view_y, view_other, view_margin,
                view_value, view_weight, view_group, table, mine,
            )  # fmt: skip
            if use_bits:
                gain = _scan_by_bits(
                    kind, scale, bits, value_start[p], parent_card, base_bits, reach, near_reach, top, front,
                    segment_start, low, high, gain, bound, falling, hits, view_joint, view_y, view_other, view_margin,
                    view_value, view_weight, view_group, table, mine,
                )  # fmt: skip
            else:
                for s in range(low, high):
                    if falling and gain < bound:
                        break
                    gain = _scan_rows(
                        kind, scale, codes[p], base, n_base, cells, reach, top, slack, segment_start[s],
                        _prefix(front, s, widest[s]), n_segments, gain, hits, view_rows, view_segment, view_joint,
                        view_y, view_other, view_margin, view_value, view_weight, view_group, table, mine,
                    )  # fmt: skip
            if gain < bound:
                break
        gains[k] = gain
        exact[k] = gain >= bound


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
    """For each of the rows, its own class and then those of at least some probability; returns where they end."""
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

    Several rows are multiplied before a logarithm is taken of them. Falls below the bound as soon as it is known to.
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
    parents, cards, codes, base, n_base, n_groups, n_classes, starts, tables, own, bound, weight, group, rows, start,
    classes, shares, left, all_rows, all_start, all_classes, all_shares, none_left, gains, exact,
):  # fmt: skip
    """The gain in conditional likelihood of each further parent of one child.

    First on the rows, and in each row on the classes, that are in doubt: what is left out can only lower the gain, but
    for the most that the other rows can gain. Where that is not enough to tell, on all rows.
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
