"""Rows with gaps on a forest: what a parent for a root would make of them, without inference for
every candidate.

The parent stands in another tree than the root, so that given the class the two are independent.
Joining them multiplies the joint of a row by Σ Q(x_p) Q(x_i) θ(x_i | x_p) / θ(x_i), where Q is the
*belief* in a value: its probability given the class and all that is known of the row, which is one
for a value that is known. Beliefs are the same for all candidates, one upward and one downward pass
over each row; they sum to one, so that nothing underflows.

Rows are sorted such that those which decide whether a candidate can win come first; ``left`` is the
most that the rows from one on can gain.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel, small_helper
from discbayes.kernels.candidate_scan import LIKELIHOOD, RATE
from discbayes.kernels.objective import TIE

LOW, HIGH = 1e-100, 1e100
TINY = 1e-280  # below, products of shares are compared on the log scale
AT_ONCE = 8  # rows between two looks at the bound


@kernel
def count_missing(codes, cards, block, out):
    """The number of gaps of each feature in each block of so many rows, shape ``(n_blocks,
    n_features)``.
    """
    for i in range(cards.size):
        for m in range(codes.shape[1]):
            if codes[i, m] >= cards[i]:
                out[m // block, i] += 1


@helper
def _to_logs(message, first, cells, logs, stored):
    """Move a message to the log scale and start again at one."""
    for q in range(cells):
        logs[q] = (logs[q] if stored else 0.0) + np.log(message[first + q])
        message[first + q] = 1.0


@helper
def _from_logs(message, first, cells, logs, n_classes):
    """Bring a message back from the log scale; the largest entry of each class becomes one."""
    for q in range(cells):
        logs[q] += np.log(message[first + q])
    for c in range(n_classes):
        top = -np.inf
        for q in range(c, cells, n_classes):
            top = max(top, logs[q])
        for q in range(c, cells, n_classes):
            message[first + q] = np.exp(logs[q] - top)


@small_helper
def _scale_up(message, first, cells, n_classes):
    """Divide each class of a message by its largest entry."""
    for c in range(n_classes):
        top = 0.0
        for q in range(first + c, first + cells, n_classes):
            top = max(top, message[q])
        for q in range(first + c, first + cells, n_classes):
            message[q] /= top


@small_helper
def _multiply(message, first, cells, source, line, step, n_classes):
    """Multiply a message by what a child says of each value."""
    for cell in range(first, first + cells, n_classes):
        for c in range(n_classes):
            message[cell + c] *= source[line + c]
        line += step


@kernel
def fill_beliefs(
    codes, begin, end, group, cards, n_classes, upward, parent, child_start, child_index, theta_start, theta_size,
    theta, smallest, message_start, told_start, place, beliefs,
):  # fmt: skip
    """The beliefs in the values of every gap of a block of rows.

    ``place`` says where those of the next gap of each feature go, and moves on. A gap without known
    features below hears nothing and tells nothing. ``smallest`` bounds what a child can do to a
    message: before products leave the range of a double they are moved to the log scale.
    """
    widest = 0
    for i in range(cards.size):
        widest = max(widest, cards[i])
    messages, told = np.empty(message_start[-1]), np.empty(told_start[-1])
    logs, share = np.empty(widest * n_classes), np.empty(widest * n_classes)
    gaps, tells = np.empty(cards.size + 1, np.int64), np.zeros(cards.size, np.bool_)
    for m in range(begin, end):
        n_missing = 0
        for a in range(upward.size):
            gaps[n_missing] = upward[a]
            n_missing += codes[upward[a], m] >= cards[upward[a]]
        for a in range(n_missing):
            i = gaps[a]
            first, cells = message_start[i], cards[i] * n_classes
            least = 1.0
            # false, but no literal: for a literal every helper would be compiled again
            heard = stored = cells < 0
            for q in range(first, first + cells):
                messages[q] = 1.0
            for at in range(child_start[i], child_start[i + 1]):
                k = child_index[at]
                code = np.int64(codes[k, m])
                if code >= cards[k] and not tells[k]:
                    continue
                heard = True
                if least * smallest[k] < LOW:
                    _to_logs(messages, first, cells, logs, stored)
                    least, stored = 1.0, True
                least *= smallest[k]
                if code < cards[k]:
                    line = theta_start[k] + group[m] * theta_size[k] + code * n_classes
                    _multiply(messages, first, cells, theta, line, cards[k] * n_classes, n_classes)
                else:
                    _multiply(messages, first, cells, told, told_start[k], n_classes, n_classes)
            tells[i] = heard
            if stored:
                _from_logs(messages, first, cells, logs, n_classes)
            elif heard:
                _scale_up(messages, first, cells, n_classes)
            p = parent[i]
            if heard and p >= 0 and codes[p, m] >= cards[p]:
                line = theta_start[i] + group[m] * theta_size[i]
                for v in range(cards[p]):
                    for c in range(n_classes):
                        total = 0.0
                        for q in range(c, cells, n_classes):
                            total += theta[line + q] * messages[first + q]
                        told[told_start[i] + v * n_classes + c] = total
                    line += cells
        for a in range(n_missing - 1, -1, -1):
            i = gaps[a]
            first, cells, out = message_start[i], cards[i] * n_classes, place[i]
            place[i] += cells
            line, p = theta_start[i] + group[m] * theta_size[i], parent[i]
            if p >= 0 and codes[p, m] >= cards[p]:
                above, said = place[p] - cards[p] * n_classes, told_start[i]
                for q in range(cards[p] * n_classes):
                    share[q] = (
                        beliefs[above + q] / told[said + q] if tells[i] else beliefs[above + q]
                    )
                for q in range(cells):
                    beliefs[out + q] = 0.0
                for v in range(cards[p]):
                    for x in range(cards[i]):
                        for c in range(n_classes):
                            q = x * n_classes + c
                            beliefs[out + q] += share[v * n_classes + c] * theta[line + q]
                    line += cells
            else:
                if p >= 0:
                    line += np.int64(codes[p, m]) * cells
                for q in range(cells):
                    beliefs[out + q] = theta[line + q]
            for c in range(n_classes):
                total = 0.0
                for q in range(c, cells, n_classes):
                    beliefs[out + q] *= messages[first + q]
                    total += beliefs[out + q]
                for q in range(c, cells, n_classes):
                    beliefs[out + q] /= total


@small_helper
def _ratios(ratio, n_classes, factors, line, card, parent_card, x, v, beliefs, at, above):
    """By what the joint of a row is multiplied in each class; the child (x), or the parent (v), or
    both are gaps.
    """
    for c in range(n_classes):
        ratio[c] = 0.0
    step = card * n_classes
    if x < card:
        line += x * n_classes
        for _ in range(parent_card):
            for c in range(n_classes):
                ratio[c] += beliefs[above + c] * factors[line + c]
            above += n_classes
            line += step
    elif v < parent_card:
        line += v * step
        for q in range(0, step, n_classes):
            for c in range(n_classes):
                ratio[c] += beliefs[at + q + c] * factors[line + q + c]
    else:
        for _ in range(parent_card):
            for q in range(0, step, n_classes):
                for c in range(n_classes):
                    ratio[c] += beliefs[above + c] * beliefs[at + q + c] * factors[line + q + c]
            above += n_classes
            line += step


@small_helper
def _is_beaten(theirs, mine, c, true):
    """Whether a class is decided for against the true one: ties go to the first class."""
    return theirs >= mine - TIE if c < true else theirs > mine + TIE


@small_helper
def _rate_of_table(m, n_classes, true, joint, tables, own, at):
    """Whether a row is right when the entries of a table are added to it."""
    mine = joint[m * n_classes + true] + own[at + true]
    for c in range(n_classes):
        if c != true and _is_beaten(joint[m * n_classes + c] + tables[at + c], mine, c, true):
            return 0.0
    return 1.0


@small_helper
def _margin_of_table(m, n_classes, true, joint, tables, own, at, scale):
    """The margin of a row, cut off at one, when the entries of a table are added to it."""
    strongest = -np.inf
    for c in range(n_classes):
        if c != true:
            strongest = max(strongest, joint[m * n_classes + c] + tables[at + c])
    return min(1.0, scale * (joint[m * n_classes + true] + own[at + true] - strongest))


@small_helper
def _rate_of_ratios(m, n_classes, true, joint, shares, ratio):
    """Whether a row is right when its classes are multiplied; logarithms are taken only where it is
    close.
    """
    mine = shares[m * n_classes + true] * ratio[true]
    for c in range(n_classes):
        theirs = shares[m * n_classes + c] * ratio[c]
        if c == true or theirs < mine * (1.0 - 4 * TIE):
            continue
        if theirs > mine * (1.0 + 4 * TIE):
            return 0.0
        own = joint[m * n_classes + true] + np.log(ratio[true])
        if _is_beaten(joint[m * n_classes + c] + np.log(ratio[c]), own, c, true):
            return 0.0
    return 1.0


@small_helper
def _margin_of_ratios(m, n_classes, true, joint, shares, ratio, scale):
    """The margin of a row, cut off at one, when its classes are multiplied."""
    mine, strongest = shares[m * n_classes + true] * ratio[true], 0.0
    for c in range(n_classes):
        if c != true:
            strongest = max(strongest, shares[m * n_classes + c] * ratio[c])
    if mine > TINY and strongest > TINY:
        return min(1.0, scale * np.log(mine / strongest))
    best = -np.inf
    for c in range(n_classes):
        if c != true:
            best = max(best, joint[m * n_classes + c] + np.log(ratio[c]))
    return min(1.0, scale * (joint[m * n_classes + true] + np.log(ratio[true]) - best))


@helper
def _decided_gain(
    kind, scale, card, parent_card, child_codes, parent_codes, silent, n_classes, table, mine, factors, top, reach,
    held_out, reference, reference_own, y, group, weight, joint, shares, other, margin, value, left, beliefs, at, above,
    bound,
):  # fmt: skip
    """The gain in rate or margin, rows by rising margin and no further than the candidate reaches;
    and if it is exact.

    A row stays as it is when no class can come near enough to its own. ``top`` is the largest entry
    of each cell.
    """
    ratio = np.empty(n_classes)
    cells, n_rows = parent_card * card, y.size
    # a row keeps its value as long as the margin is beyond
    kept = 0.0 if kind == RATE else 1.0 / scale
    gain = 0.0
    for m in range(n_rows):
        if value[m] >= 1.0 and margin[m] > kept + reach:
            break
        if m % AT_ONCE == 0 and gain + left[m] < bound:
            return gain + left[m], False
        x, v, true = np.int64(child_codes[m]), np.int64(parent_codes[m]), y[m]
        line = group[m] * cells
        if x < card and v < parent_card:
            cell = line + v * card + x
            q = cell * n_classes
            if value[m] >= 1.0 and margin[m] + mine[q + true] - top[cell] > kept + 2 * TIE:
                continue
            if kind == RATE:
                if value[m] == 0.0 and margin[m] + mine[q + true] - table[q + other[m]] < -2 * TIE:
                    continue
                gain += weight[m] * (
                    _rate_of_table(m, n_classes, true, joint, table, mine, q) - value[m]
                )
            else:
                gain += weight[m] * (
                    _margin_of_table(m, n_classes, true, joint, table, mine, q, scale) - value[m]
                )
            continue
        mine_at, above_at = at, above
        if x >= card:
            at += card * n_classes
        if v >= parent_card:
            above += parent_card * n_classes
        if (x >= card and silent) or (kind == RATE and value[m] == 0.0 and margin[m] < -reach):
            continue
        _ratios(
            ratio,
            n_classes,
            factors,
            line * n_classes,
            card,
            parent_card,
            x,
            v,
            beliefs,
            mine_at,
            above_at,
        )
        if held_out and x < card:
            q = (group[m] * card + x) * n_classes + true
            ratio[true] *= np.exp(reference[q] - reference_own[q])
        if kind == RATE:
            gain += weight[m] * (
                _rate_of_ratios(m, n_classes, true, joint, shares, ratio) - value[m]
            )
        else:
            gain += weight[m] * (
                _margin_of_ratios(m, n_classes, true, joint, shares, ratio, scale) - value[m]
            )
    return gain, True


@helper
def _likelihood_gain(
    card, parent_card, child_codes, parent_codes, silent, n_classes, mine, factors, own_factors, held_out, reference,
    reference_own, y, group, weight, shares, left, beliefs, at, above, bound,
):  # fmt: skip
    """The gain in conditional likelihood: the least certain rows first; and whether it is exact.

    Several rows are multiplied before a logarithm is taken of them.
    """
    ratio = np.empty(n_classes)
    cells, n_rows = parent_card * card, y.size
    gain, product = 0.0, 1.0
    for m in range(n_rows):
        if m % AT_ONCE == 0 or product < LOW or product > HIGH:
            gain -= np.log(product)
            product = 1.0
            if gain + left[m] < bound:
                return gain + left[m], False
        x, v, true = np.int64(child_codes[m]), np.int64(parent_codes[m]), y[m]
        line, first = group[m] * cells, m * n_classes
        if x < card and v < parent_card:
            q = (line + v * card + x) * n_classes
            total = shares[first + true] * own_factors[q + true]
            for c in range(true):
                total += shares[first + c] * factors[q + c]
            for c in range(true + 1, n_classes):
                total += shares[first + c] * factors[q + c]
            gain += weight[m] * mine[q + true]
        else:
            mine_at, above_at = at, above
            if x >= card:
                at += card * n_classes
            if v >= parent_card:
                above += parent_card * n_classes
            if x >= card and silent:
                continue
            _ratios(
                ratio,
                n_classes,
                factors,
                line * n_classes,
                card,
                parent_card,
                x,
                v,
                beliefs,
                mine_at,
                above_at,
            )
            if held_out and x < card:
                q = (group[m] * card + x) * n_classes + true
                ratio[true] *= np.exp(reference[q] - reference_own[q])
            total = 0.0
            for c in range(n_classes):
                total += shares[first + c] * ratio[c]
            total /= ratio[true]
        if weight[m] == 1.0:
            product *= total
        else:
            gain -= weight[m] * np.log(total)
    return gain - np.log(product), True


@helper
def _reach_of(table, own, held_out, low_shift, high_shift):
    """How far a table can move two classes of any row against each other."""
    low, high = 0.0, 0.0
    for q in range(table.size):
        low, high = min(low, table[q]), max(high, table[q])
        if held_out:
            low, high = min(low, own[q]), max(high, own[q])
            low, high = min(low, table[q] - high_shift), max(high, table[q] - low_shift)
    return high - low + 4 * TIE


@kernel
def scan_incomplete(
    kind, scale, child, silent, parents, cards, starts, tables, own, held_out, reference, reference_own, n_groups,
    codes, y, group, weight, n_classes, joint, shares, other, margin, value, left, beliefs, belief_start, bounds, gains,
    exact,
):  # fmt: skip
    """What all rows with gaps gain by each further parent of a root; where it is not exact it is a
    bound of it.

    ``tables`` are extensions (see ``kernels/family_theta.py``) of the table of the root, which is
    ``reference``; a row that is left out counts in the families that it is complete in only.
    ``silent``: the root has no children, so that where it is a gap nothing changes.
    """
    card = cards[child]
    low_shift, high_shift = 0.0, 0.0
    if held_out:
        for q in range(reference.size):
            low_shift = min(low_shift, reference_own[q] - reference[q])
            high_shift = max(high_shift, reference_own[q] - reference[q])
    for k in range(parents.size):
        p = parents[k]
        span = n_groups * cards[p] * card * n_classes
        table, mine = tables[starts[k] : starts[k] + span], own[starts[k] : starts[k] + span]
        factors = np.exp(table)
        if kind == LIKELIHOOD:
            own_factors = np.exp(mine) if held_out else factors
            gains[k], exact[k] = _likelihood_gain(
                card, cards[p], codes[child], codes[p], silent, n_classes, mine, factors, own_factors, held_out,
                reference, reference_own, y, group, weight, shares, left, beliefs, belief_start[child], belief_start[p],
                bounds[k],
            )  # fmt: skip
        else:
            top = np.empty(span // n_classes)
            for cell in range(top.size):
                top[cell] = table[cell * n_classes]
                for q in range(cell * n_classes, (cell + 1) * n_classes):
                    top[cell] = max(top[cell], table[q])
            reach = _reach_of(table, mine, held_out, low_shift, high_shift)
            gains[k], exact[k] = _decided_gain(
                kind, scale, card, cards[p], codes[child], codes[p], silent, n_classes, table, mine, factors, top,
                reach, held_out, reference, reference_own, y, group, weight, joint, shares, other, margin, value, left,
                beliefs, belief_start[child], belief_start[p], bounds[k],
            )  # fmt: skip
        exact[k] = exact[k] and gains[k] >= bounds[k]
