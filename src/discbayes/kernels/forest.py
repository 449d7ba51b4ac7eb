"""Rows with missing values on forests (at most one feature parent): one upward pass, linear time.

Messages are products of probabilities, kept off the log scale because sums over values need no
logarithm there. A lower bound accompanies each product; when it comes near the end of the range of
a double, the product is moved to the log scale, so that nothing underflows however many children a
feature has. Where a sum still depends on numbers beyond that range, the row is left to
``marginals.add_log_sums``, which works on the log scale throughout.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel, small_helper

LOW, HIGH = 1e-100, 1e100
# a sum above MIN_SUM is exact to rounding: terms lost below the range of a double cannot add to it
MIN_SUM, MAX_SUM = 1e-290, 1e290


@helper
def _store_logs(messages, logs, cells, stored):
    """Move a message to its logarithms and start again at one."""
    for k in range(cells):
        logs[k] = (logs[k] if stored else 0.0) + np.log(messages[k])
        messages[k] = 1.0


@helper
def _release_logs(messages, logs, cells, n_classes, out, row):
    """Bring a message back from the log scale, divided by its largest entry in each class.

    The logarithms of these entries are added to ``out``.
    """
    for k in range(cells):
        messages[k] = logs[k] + np.log(messages[k])
    for c in range(n_classes):
        best = -np.inf
        for k in range(c, cells, n_classes):
            best = max(best, messages[k])
        out[row, c] += best
        for k in range(c, cells, n_classes):
            messages[k] = np.exp(messages[k] - best) if best > -np.inf else 1.0


@small_helper
def _multiply_in(message, cells, source, line, step, n_classes, started):
    """Multiply a message by that of a child; the first child starts it."""
    if n_classes == 2:  # common, so written out
        for cell in range(0, cells, 2):
            if started:
                message[cell] *= source[line]
                message[cell + 1] *= source[line + 1]
            else:
                message[cell] = source[line]
                message[cell + 1] = source[line + 1]
            line += step
    elif started:
        for cell in range(0, cells, n_classes):
            for c in range(n_classes):
                message[cell + c] *= source[line + c]
            line += step
    else:
        for cell in range(0, cells, n_classes):
            for c in range(n_classes):
                message[cell + c] = source[line + c]
            line += step


@small_helper
def _sum_values(theta, line, message, cells, n_classes, total, at):
    """Write Σ_v θ[v, c] · message[v, c] for every class to ``total``, from ``at`` on.

    Four classes at a time have their sums in registers, where an array would be written each time.
    """
    if n_classes == 2:
        a = 0.0
        b = 0.0
        for cell in range(0, cells, 2):
            a += theta[line + cell] * message[cell]
            b += theta[line + cell + 1] * message[cell + 1]
        total[at] = a
        total[at + 1] = b
        return
    whole = n_classes - n_classes % 4
    for c in range(0, whole, 4):
        a = b = d = e = 0.0
        for cell in range(c, cells, n_classes):
            a += theta[line + cell] * message[cell]
            b += theta[line + cell + 1] * message[cell + 1]
            d += theta[line + cell + 2] * message[cell + 2]
            e += theta[line + cell + 3] * message[cell + 3]
        total[at + c] = a
        total[at + c + 1] = b
        total[at + c + 2] = d
        total[at + c + 3] = e
    for c in range(whole, n_classes):
        a = 0.0
        for cell in range(c, cells, n_classes):
            a += theta[line + cell] * message[cell]
        total[at + c] = a


@small_helper
def _least(numbers, first, last):
    """Return the smallest of some numbers."""
    least = numbers[first]
    for k in range(first + 1, last):
        least = min(least, numbers[k])
    return least


@kernel
def marginalize_missing(codes, rows, forest, layout, cpts, out, beyond):
    """Add to the log-joint of the given rows what their missing values, marginalized, contribute.

    The families without a missing value are in ``out`` already. ``forest.upward`` lists the
    features that matter when missing: with normalized tables one without children sums to one. Each
    missing feature multiplies the messages of its children (over its values and the classes) by its
    own table, sums over its values, and passes the result to its parent, or to the row where the
    parent is observed. Rows that need numbers beyond the range of a double are marked in
    ``beyond``, and stay in ``out`` as they were.
    """
    n_classes = out.shape[1]
    cards = layout.cards
    offsets = layout.offsets
    normalized = cpts.is_normalized
    starts = forest.message_start
    widest = 0
    for i in range(cards.size):
        widest = max(widest, cards[i])
    message = np.empty(widest * n_classes)
    logs = np.empty(widest * n_classes)
    sent = np.empty(starts[-1])  # messages to parents
    has_sent = np.zeros(cards.size, np.bool_)
    # bounds on the positive entries of each message sent
    low = np.ones(cards.size)
    high = np.ones(cards.size)
    missing = np.empty(forest.upward.size + 1, np.int64)
    # messages to the row are multiplied, and their logarithm is taken once at the end
    product = np.empty(n_classes)
    before = np.empty(n_classes)
    for r in range(rows.size):
        row = rows[r]
        n_missing = 0
        for i in forest.upward:  # without a branch: an observed feature is overwritten by the next
            missing[n_missing] = i
            n_missing += codes[i, row] >= cards[i]
        for c in range(n_classes):
            product[c] = 1.0
            before[c] = out[row, c]
        product_low = product_high = 1.0
        pending = False
        for a in range(n_missing):
            i = missing[a]
            cells = cards[i] * n_classes
            least = most = 1.0
            # false, but not a literal: for a literal every helper would be compiled again
            started = stored = cells < 0
            for at in range(forest.child_start[i], forest.child_start[i + 1]):
                k = forest.child_index[at]
                observed = codes[k, row] < cards[k]
                if not observed and not has_sent[k]:
                    continue
                by_low = cpts.smallest[k] if observed else low[k]
                by_high = 1.0 if observed else high[k]
                if started and (least * by_low < LOW or most * by_high > HIGH):
                    _store_logs(message, logs, cells, stored)
                    stored = True
                    least = most = 1.0
                least *= by_low
                most *= by_high
                beyond[r] |= by_low == 0.0
                if observed:
                    line = offsets[k] + np.int64(codes[k, row]) * n_classes
                    step = cards[k] * n_classes
                    _multiply_in(message, cells, cpts.theta, line, step, n_classes, started)
                    if not normalized:
                        for c in range(n_classes):
                            out[row, c] += cpts.shifts[k]
                else:
                    _multiply_in(message, cells, sent, starts[k], n_classes, n_classes, started)
                    has_sent[k] = False
                started = True
            if not started:
                if normalized:
                    continue
                for cell in range(cells):
                    message[cell] = 1.0
            if stored:
                _release_logs(message, logs, cells, n_classes, out, row)
                least = most = 1.0
            low_of_sum = least * cpts.smallest[i]
            if not normalized:
                most *= cards[i]
                for c in range(n_classes):
                    out[row, c] += cpts.shifts[i]
            p = forest.parent[i]
            base = offsets[i]
            at = starts[i]
            n_lines = 1
            to_parent = p >= 0 and codes[p, row] >= cards[p]
            if to_parent:
                n_lines = cards[p]
            elif p >= 0:
                base += codes[p, row] * cells
            for _ in range(n_lines):
                _sum_values(cpts.theta, base, message, cells, n_classes, sent, at)
                base += cells
                at += n_classes
            # where the bound does not guarantee that the sums are exact, their own size has to
            if stored or low_of_sum < MIN_SUM:
                found = _least(sent, starts[i], at)
                beyond[r] |= found < MIN_SUM * most
                low_of_sum = found if low_of_sum < MIN_SUM else min(low_of_sum, found)
            if beyond[r] or most > MAX_SUM:
                beyond[r] = True
                break
            if to_parent:
                has_sent[i] = True
                low[i] = low_of_sum
                high[i] = most
                continue
            if product_low * low_of_sum < LOW or product_high * most > HIGH:
                for c in range(n_classes):
                    out[row, c] += np.log(product[c])
                    product[c] = 1.0
                product_low = product_high = 1.0
            product_low *= low_of_sum
            product_high *= most
            pending = True
            for c in range(n_classes):
                product[c] *= sent[starts[i] + c]
        if beyond[r]:
            for c in range(n_classes):
                out[row, c] = before[c]
            for i in range(cards.size):
                has_sent[i] = False
        elif pending:
            for c in range(n_classes):
                out[row, c] += np.log(product[c])
