"""Rows with missing values in a forest: scores of parents for a root without inference for each.

The parent is in another tree than the root, so that both are independent given the class. Joining
them multiplies the joint probability of a row by Σ Q(x_p) Q(x_i) θ(x_i | x_p) / θ(x_i), where Q is
the *belief* in a value: its probability given the class and all that is observed in the row, which
is one for an observed value. Beliefs are the same for all candidates; one upward and one downward
pass over each row finds them. They sum to one, so that nothing underflows.

Rows are sorted such that those which decide whether a candidate can win come first;
``max_gain_from`` is the most that the rows from one on can gain.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel, small_helper
from discbayes.kernels.candidate_scan import ACCURACY, LIKELIHOOD, beats
from discbayes.kernels.family_theta import LEAVE_ONE_OUT
from discbayes.kernels.objective_rows import TIE
from discbayes.kernels.scan_records import (
    IncompleteRowRecord,
    ParentTables,
    RootTable,
    ScoringRows,
)

# Beyond these, products of factors are moved to the log scale, before they overflow.
LOW, HIGH = 1e-100, 1e100
TINY = 1e-280  # below, products of shares are compared on the log scale
ROWS_PER_CHECK = 8  # rows between two comparisons with the threshold


@kernel
def count_missing(codes, cards, block_size, out):
    """Count the missing values of each feature in each block, shape ``(n_blocks, n_features)``."""
    for i in range(cards.size):
        for m in range(codes.shape[1]):
            if codes[i, m] >= cards[i]:
                out[m // block_size, i] += 1


@helper
def _to_logs(message, first, cells, logs, stored):
    """Move a message to the log scale, and reset it to one."""
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
    """Multiply a message by that of a child."""
    for cell in range(first, first + cells, n_classes):
        for c in range(n_classes):
            message[cell + c] *= source[line + c]
        line += step


@kernel
def fill_beliefs(forest, rows, begin, end, place, beliefs):
    """Infer the beliefs in the values that are missing in a block of rows.

    A missing value without observed descendants receives no message and sends none.
    ``forest.smallest`` bounds what a child does to a message: before products leave the range of a
    double they are moved to the log scale.

    Parameters
    ----------
    forest : Forest
        The network.
    rows : ScoringRows
        The rows.
    begin, end : int
        The block.
    place : array (n_features,)
        Where the belief of the next missing value of each feature goes; it is moved on.
    beliefs : array
        The beliefs that are filled.
    """
    (upward, parent, child_start, children, theta_start, theta_size, theta, smallest,
     message_start, told_start) = forest  # fmt: skip
    codes, _, _, group, _, _, cards, n_classes = rows
    widest = 0
    for i in range(cards.size):
        widest = max(widest, cards[i])
    messages, told = np.empty(message_start[-1]), np.empty(told_start[-1])
    logs, share = np.empty(widest * n_classes), np.empty(widest * n_classes)
    missing, tells = np.empty(cards.size + 1, np.int64), np.zeros(cards.size, np.bool_)
    for m in range(begin, end):
        n_missing = 0
        for a in range(upward.size):
            i = upward[a]
            missing[n_missing] = i
            n_missing += codes[i, m] >= cards[i]
        # Upward: messages of children, observed or not, to missing parents.
        for a in range(n_missing):
            i = missing[a]
            first, cells = message_start[i], cards[i] * n_classes
            least = 1.0
            # False, but not a literal: for a literal every helper would be compiled once more.
            heard = stored = cells < 0
            for q in range(first, first + cells):
                messages[q] = 1.0
            for at in range(child_start[i], child_start[i + 1]):
                k = children[at]
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
        # Downward: the belief of the parent, less what the feature itself told it.
        for a in range(n_missing - 1, -1, -1):
            i = missing[a]
            first, cells = message_start[i], cards[i] * n_classes
            out = place[i]
            place[i] += cells
            line, p = theta_start[i] + group[m] * theta_size[i], parent[i]
            if p >= 0 and codes[p, m] >= cards[p]:
                above, sent = place[p] - cards[p] * n_classes, told_start[i]
                for q in range(cards[p] * n_classes):
                    share[q] = (
                        beliefs[above + q] / told[sent + q] if tells[i] else beliefs[above + q]
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
def _fill_ratios(ratio, factors, line, card, parent_card, x, v, beliefs, at, above):
    """Find by what the joint of a row is multiplied in each class.

    The child (x), the parent (v), or both are missing; ``at`` and ``above`` are where their beliefs
    begin.
    """
    n_classes, step = ratio.size, card * ratio.size
    for c in range(n_classes):
        ratio[c] = 0.0
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


@helper
def _own_factor(root, group, n_classes, x, true):
    """Return by what leaving a row out changes its own class where the parent is missing.

    The row was counted in the table of the root alone, which it is scored by without itself.
    """
    q = (group * root.card + x) * n_classes + true
    return np.exp(root.reference[q] - root.reference_own[q])


@small_helper
def _is_right_by_table(joint, first, n_classes, true, tables, own, at):
    """Return whether a row is right, 0 or 1, after a cell of a table is added to it."""
    mine = joint[first + true] + own[at + true]
    for c in range(n_classes):
        if c != true and beats(joint[first + c] + tables[at + c], c, mine, true):
            return 0.0
    return 1.0


@small_helper
def _margin_by_table(joint, first, n_classes, true, tables, own, at, scale):
    """Return the value of the margin of a row after a cell of a table is added to it."""
    strongest = -np.inf
    for c in range(n_classes):
        if c != true:
            strongest = max(strongest, joint[first + c] + tables[at + c])
    return min(1.0, scale * (joint[first + true] + own[at + true] - strongest))


@small_helper
def _is_right_by_ratios(joint, shares, first, true, ratio):
    """Return whether a row is right, 0 or 1, after its classes are multiplied by ratios.

    Logarithms are taken only where it is close.
    """
    mine = shares[first + true] * ratio[true]
    for c in range(ratio.size):
        theirs = shares[first + c] * ratio[c]
        if c == true or theirs < mine * (1.0 - 4 * TIE):
            continue
        if theirs > mine * (1.0 + 4 * TIE):
            return 0.0
        own = joint[first + true] + np.log(ratio[true])
        if beats(joint[first + c] + np.log(ratio[c]), c, own, true):
            return 0.0
    return 1.0


@small_helper
def _margin_by_ratios(joint, shares, first, true, ratio, scale):
    """Return the value of the margin of a row after its classes are multiplied by ratios."""
    mine, strongest = shares[first + true] * ratio[true], 0.0
    for c in range(ratio.size):
        if c != true:
            strongest = max(strongest, shares[first + c] * ratio[c])
    if mine > TINY and strongest > TINY:
        return min(1.0, scale * np.log(mine / strongest))
    best = -np.inf
    for c in range(ratio.size):
        if c != true:
            best = max(best, joint[first + c] + np.log(ratio[c]))
    return min(1.0, scale * (joint[first + true] + np.log(ratio[true]) - best))


@helper
def _decision_gain(view, rows, root, max_shift, threshold):
    """Return the gain in accuracy or margin, and whether it is exact.

    Rows that are right come by rising margin: the scan ends at the first row whose margin exceeds
    what the table can change, ``max_shift``. A row keeps its value if no class can come close
    enough to its own.
    """
    kind, scale, joint, shares, other, margin, value, max_gain_from, beliefs, _ = view
    _, y, weight, group, _, _, _, n_classes = rows
    child_codes, parent_codes = root.child_codes, root.parent_codes
    card, parent_card = root.card, root.parent_card
    table, own = root.table, root.own
    factors, held_out = root.factors, root.held_out
    at, above = root.beliefs, root.parent_beliefs
    top = _largest_entries(table, n_classes)
    ratio = np.empty(n_classes)
    cells = parent_card * card
    # A row keeps the value one as long as its margin is beyond.
    kept = 0.0 if kind == ACCURACY else 1.0 / scale
    gain = 0.0
    for m in range(y.size):
        if value[m] >= 1.0 and margin[m] > kept + max_shift:
            break
        if m % ROWS_PER_CHECK == 0 and gain + max_gain_from[m] < threshold:
            return gain + max_gain_from[m], False
        x, v = np.int64(child_codes[m]), np.int64(parent_codes[m])
        true, first = y[m], m * n_classes
        line = group[m] * cells
        if x < card and v < parent_card:
            cell = line + v * card + x
            q = cell * n_classes
            if value[m] >= 1.0 and margin[m] + own[q + true] - top[cell] > kept + 2 * TIE:
                continue
            if kind == ACCURACY:
                moved = margin[m] + own[q + true] - table[q + other[m]]
                if value[m] == 0.0 and moved < -2 * TIE:
                    continue
                new = _is_right_by_table(joint, first, n_classes, true, table, own, q)
            else:
                new = _margin_by_table(joint, first, n_classes, true, table, own, q, scale)
            gain += weight[m] * (new - value[m])
            continue
        own_at, above_at = at, above
        if x >= card:
            at += card * n_classes
        if v >= parent_card:
            above += parent_card * n_classes
        if (x >= card and root.is_leaf) or (
            kind == ACCURACY and value[m] == 0.0 and margin[m] < -max_shift
        ):
            continue
        entry = line * n_classes
        _fill_ratios(ratio, factors, entry, card, parent_card, x, v, beliefs, own_at, above_at)
        if held_out and x < card:
            ratio[true] *= _own_factor(root, group[m], n_classes, x, true)
        if kind == ACCURACY:
            new = _is_right_by_ratios(joint, shares, first, true, ratio)
        else:
            new = _margin_by_ratios(joint, shares, first, true, ratio, scale)
        gain += weight[m] * (new - value[m])
    return gain, True


@helper
def _likelihood_gain(view, rows, root, own_factors, threshold):
    """Return the gain in conditional likelihood, and whether it is exact.

    The least certain rows come first. The factors of several rows are multiplied before a logarithm
    is taken of them.
    """
    _, _, _, shares, _, _, _, max_gain_from, beliefs, _ = view
    _, y, weight, group, _, _, _, n_classes = rows
    child_codes, parent_codes = root.child_codes, root.parent_codes
    card, parent_card = root.card, root.parent_card
    own, factors = root.own, root.factors
    held_out = root.held_out
    at, above = root.beliefs, root.parent_beliefs
    ratio = np.empty(n_classes)
    cells = parent_card * card
    gain, product = 0.0, 1.0
    for m in range(y.size):
        if m % ROWS_PER_CHECK == 0 or product < LOW or product > HIGH:
            gain -= np.log(product)
            product = 1.0
            if gain + max_gain_from[m] < threshold:
                return gain + max_gain_from[m], False
        x, v = np.int64(child_codes[m]), np.int64(parent_codes[m])
        true, first = y[m], m * n_classes
        line = group[m] * cells
        if x < card and v < parent_card:
            q = (line + v * card + x) * n_classes
            total = shares[first + true] * own_factors[q + true]
            for c in range(true):
                total += shares[first + c] * factors[q + c]
            for c in range(true + 1, n_classes):
                total += shares[first + c] * factors[q + c]
            gain += weight[m] * own[q + true]
        else:
            own_at, above_at = at, above
            if x >= card:
                at += card * n_classes
            if v >= parent_card:
                above += parent_card * n_classes
            if x >= card and root.is_leaf:
                continue
            entry = line * n_classes
            _fill_ratios(ratio, factors, entry, card, parent_card, x, v, beliefs, own_at, above_at)
            if held_out and x < card:
                ratio[true] *= _own_factor(root, group[m], n_classes, x, true)
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
def _largest_entries(table, n_classes):
    """Return the largest entry of each cell."""
    top = np.empty(table.size // n_classes)
    for cell in range(top.size):
        top[cell] = table[cell * n_classes]
        for q in range(cell * n_classes, (cell + 1) * n_classes):
            top[cell] = max(top[cell], table[q])
    return top


@helper
def _max_shift(table, own, held_out, low_shift, high_shift):
    """Return how far a table can move two classes of any row against each other.

    The ratio of a row is a mean of table entries, so its logarithm is within their range. With rows
    left out, the own class is moved by the difference of the references too.
    """
    low, high = 0.0, 0.0
    for q in range(table.size):
        low, high = min(low, table[q]), max(high, table[q])
        if held_out:
            low, high = min(low, own[q]), max(high, own[q])
            low, high = min(low, table[q] - high_shift), max(high, table[q] - low_shift)
    return high - low + 4 * TIE


@kernel
def scan_incomplete(
    view, rows, child, is_leaf, further, reference, reference_own, thresholds, gains, exact
):
    """Find what the incomplete rows gain by each further parent of a root.

    Parameters
    ----------
    view : IncompleteRowRecord
        Log-joint and beliefs of the rows, in scan order.
    rows : ScoringRows
        The rows, in the same order.
    child : int
        The root.
    is_leaf : bool
        Whether it has no children: then nothing changes in rows where it is missing.
    further : ParentTables
        What the parents add to log θ of the root.
    reference, reference_own : arrays
        The tables of the root. A row that is left out was counted only where it is complete.
    thresholds : array
        What each gain must reach.
    gains, exact : arrays
        Results: the gains, and whether each is exact; if not it is an upper bound. They are not
        returned, as an interrupt while numba makes arrays for Python would be lost.
    """
    view, rows = IncompleteRowRecord(*view), ScoringRows(*rows)
    further = ParentTables(*further)
    card, n_classes = rows.cards[child], rows.n_classes
    held_out = rows.scheme == LEAVE_ONE_OUT
    low_shift, high_shift = 0.0, 0.0
    if held_out:
        for q in range(reference.size):
            low_shift = min(low_shift, reference_own[q] - reference[q])
            high_shift = max(high_shift, reference_own[q] - reference[q])
    for k in range(gains.size):
        p, start = further.parents[k], further.starts[k]
        end = start + rows.removed.size * rows.cards[p] * card * n_classes
        table, own = further.tables[start:end], further.own[start:end]
        root = RootTable(
            rows.codes[child],
            rows.codes[p],
            card,
            rows.cards[p],
            view.belief_start[child],
            view.belief_start[p],
            is_leaf,
            held_out,
            table,
            own,
            np.exp(table),
            reference,
            reference_own,
        )
        if view.kind == LIKELIHOOD:
            own_factors = np.exp(own) if held_out else root.factors
            gains[k], exact[k] = _likelihood_gain(view, rows, root, own_factors, thresholds[k])
        else:
            max_shift = _max_shift(table, own, held_out, low_shift, high_shift)
            gains[k], exact[k] = _decision_gain(view, rows, root, max_shift, thresholds[k])
        exact[k] = exact[k] and gains[k] >= thresholds[k]
