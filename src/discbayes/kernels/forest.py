"""Rows with gaps on structures in which a feature has at most one feature parent: one upward pass,
linear time.

Messages are products of probabilities, kept off the log scale because sums over values need no
logarithm there. A lower bound travels with each product; when it comes near the end of the range of
a double the product is moved to a log-scale store, so nothing underflows however many children a
feature has. Where a sum still depends on numbers beyond that range the row is left to
``marginals.add_log_sums``, which works on the log scale throughout.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel, small_helper

LOW, HIGH = 1e-100, 1e100
# terms that were lost below the range of a double are no part of such a sum
MIN_SUM, MAX_SUM = 1e-290, 1e290


@helper
def _store_logs(messages, logs, cells, stored):
    """Move a message to its log-scale store and start again at one."""
    for k in range(cells):
        logs[k] = (logs[k] if stored else 0.0) + np.log(messages[k])
        messages[k] = 1.0


@helper
def _release_logs(messages, logs, cells, n_classes, out, row):
    """Bring a message back from the log scale, each class scaled by its largest entry, whose log
    goes to ``out``.
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
def _take_in(message, cells, source, line, step, n_classes, heard):
    """Multiply a message by what a child says; the first child starts it. Two classes are common
    and written out.
    """
    if n_classes == 2:
        for cell in range(0, cells, 2):
            if heard:
                message[cell] *= source[line]
                message[cell + 1] *= source[line + 1]
            else:
                message[cell] = source[line]
                message[cell + 1] = source[line + 1]
            line += step
    elif heard:
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
    """Σ_v θ[v, c] · message[v, c] for every class, written to ``total`` from ``at`` on; four
    classes at a time.
    """
    if n_classes == 2:
        a, b = 0.0, 0.0
        for cell in range(0, cells, 2):
            a += theta[line + cell] * message[cell]
            b += theta[line + cell + 1] * message[cell + 1]
        total[at], total[at + 1] = a, b
        return
    whole = n_classes - n_classes % 4
    for c in range(0, whole, 4):
        a, b, d, e = 0.0, 0.0, 0.0, 0.0
        for cell in range(c, cells, n_classes):
            a += theta[line + cell] * message[cell]
            b += theta[line + cell + 1] * message[cell + 1]
            d += theta[line + cell + 2] * message[cell + 2]
            e += theta[line + cell + 3] * message[cell + 3]
        total[at + c], total[at + c + 1], total[at + c + 2], total[at + c + 3] = a, b, d, e
    for c in range(whole, n_classes):
        a = 0.0
        for cell in range(c, cells, n_classes):
            a += theta[line + cell] * message[cell]
        total[at + c] = a


@small_helper
def _least(numbers, first, last):
    """The smallest of some numbers."""
    least = numbers[first]
    for k in range(first + 1, last):
        least = min(least, numbers[k])
    return least


@kernel
def marginalize_missing(
    codes, rows, upward, parent, child_start, child_index, cards, offsets, starts, smallest, theta, shifts, normalized,
    out, beyond,
):  # fmt: skip
    """Add to the log-joint of the given rows what their gaps, summed out, contribute.

    The families without a gap are in ``out`` already. ``upward`` lists the features whose gaps
    matter, children before parents: with normalised tables a gap without children sums to one. Each
    such gap collects what its children say of its values (a *message* over its values and the
    classes), multiplies by its own table, sums, and passes the result to its parent, or to the row
    where the parent is known. ``starts`` says where what a feature tells its parent stands in the
    scratch space; ``smallest`` is the smallest positive entry of each table. Rows that need numbers
    beyond the range of a double are marked in ``beyond``, and stay in ``out`` as they were.
    """
    n_classes = out.shape[1]
    widest = 0
    for i in range(cards.size):
        widest = max(widest, cards[i])
    message, logs = np.empty(widest * n_classes), np.empty(widest * n_classes)
    told = np.empty(starts[-1])
    tells = np.zeros(cards.size, np.bool_)
    low, high = np.ones(cards.size), np.ones(cards.size)
    gaps = np.empty(upward.size + 1, np.int64)
    product, before = np.empty(n_classes), np.empty(n_classes)
    for r in range(rows.size):
        row = rows[r]
        n_missing = 0
        for a in range(upward.size):
            gaps[n_missing] = upward[a]
            n_missing += codes[upward[a], row] >= cards[upward[a]]
        for c in range(n_classes):
            product[c], before[c] = 1.0, out[row, c]
        product_low, product_high, pending = 1.0, 1.0, False
        for a in range(n_missing):
            i = gaps[a]
            cells = cards[i] * n_classes
            least, most = 1.0, 1.0
            # false, but no literal: for a literal every helper would be compiled again
            heard = stored = cells < 0
            for at in range(child_start[i], child_start[i + 1]):
                k = child_index[at]
                seen = codes[k, row] < cards[k]
                if not seen and not tells[k]:
                    continue
                by_low, by_high = (smallest[k], 1.0) if seen else (low[k], high[k])
                if heard and (least * by_low < LOW or most * by_high > HIGH):
                    _store_logs(message, logs, cells, stored)
                    stored, least, most = True, 1.0, 1.0
                least *= by_low
                most *= by_high
                beyond[r] |= by_low == 0.0
                if seen:
                    line = offsets[k] + np.int64(codes[k, row]) * n_classes
                    step = cards[k] * n_classes
                    _take_in(message, cells, theta, line, step, n_classes, heard)
                    if not normalized:
                        for c in range(n_classes):
                            out[row, c] += shifts[k]
                else:
                    _take_in(message, cells, told, starts[k], n_classes, n_classes, heard)
                    tells[k] = False
                heard = True
            if not heard:
                if normalized:
                    continue
                for cell in range(cells):
                    message[cell] = 1.0
            if stored:
                _release_logs(message, logs, cells, n_classes, out, row)
                least, most = 1.0, 1.0
            low_of_sum = least * smallest[i]
            if not normalized:
                most *= cards[i]
                for c in range(n_classes):
                    out[row, c] += shifts[i]
            p = parent[i]
            base, at, n_lines = offsets[i], starts[i], 1
            told_on = p >= 0 and codes[p, row] >= cards[p]
            if told_on:
                n_lines = cards[p]
            elif p >= 0:
                base += codes[p, row] * cells
            for _ in range(n_lines):
                _sum_values(theta, base, message, cells, n_classes, told, at)
                base += cells
                at += n_classes
            # the bound does not vouch for the sums: they have to do so themselves
            if stored or low_of_sum < MIN_SUM:
                found = _least(told, starts[i], at)
                beyond[r] |= found < MIN_SUM * most
                low_of_sum = found if low_of_sum < MIN_SUM else min(low_of_sum, found)
            if beyond[r] or most > MAX_SUM:
                beyond[r] = True
                break
            if told_on:
                tells[i], low[i], high[i] = True, low_of_sum, most
                continue
            if product_low * low_of_sum < LOW or product_high * most > HIGH:
                for c in range(n_classes):
                    out[row, c] += np.log(product[c])
                    product[c] = 1.0
                product_low, product_high = 1.0, 1.0
            product_low *= low_of_sum
            product_high *= most
            pending = True
            for c in range(n_classes):
                product[c] *= told[starts[i] + c]
        if beyond[r]:
            for c in range(n_classes):
                out[row, c] = before[c]
            for i in range(cards.size):
                tells[i] = False
        elif pending:
            for c in range(n_classes):
                out[row, c] += np.log(product[c])
