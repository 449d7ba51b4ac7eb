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
from discbayes.kernels._vectors import SIZE, load, plus, store, times

ZERO = np.uint64(0)
FOUR = np.uint64(4)
EIGHT = np.uint64(8)

LOW, HIGH = 1e-100, 1e100
# a sum above MIN_SUM is exact to rounding: terms lost below the range of a double cannot add to it
MIN_SUM, MAX_SUM = 1e-290, 1e290


@helper
def _copy(factor, at, step, cells, n_classes, message):
    """Write a factor over the values of a feature and the classes, without spaces between."""
    for cell in range(0, cells, n_classes):
        for c in range(n_classes):
            message[cell + c] = factor[at + c]
        at += step


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
def _multiply_pairs(message, cells, factor, at, step, started):
    """Multiply a message of two classes by a factor; the first factor starts the message."""
    for cell in range(0, cells, 2):
        if started:
            message[cell] *= factor[at]
            message[cell + 1] *= factor[at + 1]
        else:
            message[cell] = factor[at]
            message[cell + 1] = factor[at + 1]
        at += step


@small_helper
def _sum_pairs(theta, line, message, cells, total, to):
    """Write Σ_v θ[v, c] · message[v, c] of two classes to ``total``, from ``to`` on."""
    p = 0.0
    q = 0.0
    for cell in range(0, cells, 2):
        p += theta[line + cell] * message[cell]
        q += theta[line + cell + 1] * message[cell + 1]
    total[to] = p
    total[to + 1] = q


@small_helper
def _multiply(a, at_a, step_a, b, at_b, step_b, n_classes, cells, product):
    """Write the product of two factors over the values of a feature and the classes.

    A factor is read from ``at`` on, and its values are ``step`` numbers apart; either may be the
    product itself. Four classes at a time are in a register. The last vector ends at the last
    class and may share classes with the one before, so it is read before and written after that.
    """
    if n_classes < SIZE:
        for cell in range(0, cells, n_classes):
            for k in range(n_classes):
                product[cell + k] = a[at_a + k] * b[at_b + k]
            at_a += step_a
            at_b += step_b
        return
    last = np.uint64(n_classes) - FOUR
    x = np.uint64(at_a)
    y = np.uint64(at_b)
    for cell in range(0, cells, n_classes):
        z = np.uint64(cell)
        end = times(load(a, x + last), load(b, y + last))
        c = ZERO
        while c < last:
            store(times(load(a, x + c), load(b, y + c)), product, z + c)
            c += FOUR
        store(end, product, z + last)
        x += np.uint64(step_a)
        y += np.uint64(step_b)


@small_helper
def _sum_values(theta, line, factor, at, step, cells, n_classes, total, to):
    """Write Σ_v θ[v, c] · factor[v, c] for every class to ``total``, from ``to`` on.

    Two vectors of four classes have their sums in registers. The last vector ends at the last
    class; classes that it shares with the one before are computed twice, to the same result.
    """
    if n_classes < SIZE:
        for k in range(n_classes):
            total[to + k] = 0.0
            for v in range(cells // n_classes):
                total[to + k] += theta[line + v * n_classes + k] * factor[at + v * step + k]
        return
    wide = np.uint64(n_classes)
    last = wide - FOUR
    c = ZERO
    while c < wide:
        second = c + FOUR if c + FOUR < last else last
        first = c if c < last else last
        x = np.uint64(line)
        y = np.uint64(at)
        p = times(load(theta, x + first), load(factor, y + first))
        q = times(load(theta, x + second), load(factor, y + second))
        for _ in range(n_classes, cells, n_classes):
            x += wide
            y += np.uint64(step)
            p = plus(p, times(load(theta, x + first), load(factor, y + first)))
            q = plus(q, times(load(theta, x + second), load(factor, y + second)))
        store(p, total, np.uint64(to) + first)
        store(q, total, np.uint64(to) + second)
        c += EIGHT


@small_helper
def _least(numbers, first, last):
    """Return the smallest of some numbers."""
    least = numbers[first]
    for k in range(first + 1, last):
        least = min(least, numbers[k])
    return least


@kernel
def marginalize_missing(codes, states, rows, forest, tables, out, beyond):
    """Add to the log-joint of the given rows what their missing values, marginalized, contribute.

    The families without a missing value are in ``out`` already. ``forest.upward`` lists the
    features that matter when missing: with normalized tables one without children sums to one. Each
    missing feature multiplies the messages of its children (over its states and the classes) by its
    own table, sums over its states, and passes the result to its parent, or to the row where the
    parent is observed; ``states`` has the states of observed parents. Rows that need numbers beyond
    the range of a double are marked in ``beyond``, and stay in ``out`` as they were.
    """
    n_classes = out.shape[1]
    cards = tables.cards
    n_states = tables.n_states
    offsets = tables.offsets
    normalized = tables.is_normalized
    starts = forest.message_start
    widest = 0
    for i in range(cards.size):
        widest = max(widest, n_states[i])
    # one array: a product of messages in front, then the messages to parents
    sent_start = widest * n_classes
    work = np.empty(sent_start + starts[-1])
    logs = np.empty(widest * n_classes)
    has_sent = np.zeros(cards.size, np.bool_)
    # bounds on the positive entries of each message sent
    low = np.ones(cards.size)
    high = np.ones(cards.size)
    missing = np.empty(forest.upward.size + 1, np.int64)
    # messages to the row are multiplied, and their logarithm is taken once at the end
    row_product = np.empty(n_classes)
    before = np.empty(n_classes)
    for r in range(rows.size):
        row = rows[r]
        n_missing = 0
        for i in forest.upward:  # without a branch: an observed feature is overwritten by the next
            missing[n_missing] = i
            n_missing += codes[i, row] >= cards[i]
        for c in range(n_classes):
            row_product[c] = 1.0
            before[c] = out[row, c]
        product_low = product_high = 1.0
        pending = False
        for a in range(n_missing):
            i = missing[a]
            cells = n_states[i] * n_classes
            least = most = 1.0
            # false, but not a literal: for a literal every helper would be compiled again
            started = stored = in_table = cells < 0
            # the product so far: where it starts, in a table or in ``work``, and its step by value
            at = step = 0
            for place in range(forest.child_start[i], forest.child_start[i + 1]):
                k = forest.child_index[place]
                observed = codes[k, row] < cards[k]
                if not observed and not has_sent[k]:
                    continue
                by_low = tables.smallest[k] if observed else low[k]
                by_high = 1.0 if observed else high[k]
                if started and (least * by_low < LOW or most * by_high > HIGH):
                    if in_table or at > 0:  # one child so far, which was not copied
                        product = tables.theta if in_table else work
                        _copy(product, at, step, cells, n_classes, work)
                    _store_logs(work, logs, cells, stored)
                    stored = True
                    in_table = False
                    at = 0
                    step = n_classes
                    least = most = 1.0
                least *= by_low
                most *= by_high
                beyond[r] |= by_low == 0.0
                if observed:
                    child_at = offsets[k] + np.int64(codes[k, row]) * n_classes
                    child_step = cards[k] * n_classes
                    if not normalized:
                        for c in range(n_classes):
                            out[row, c] += tables.shifts[k]
                else:
                    child_at = sent_start + starts[k]
                    child_step = n_classes
                    has_sent[k] = False
                child = tables.theta if observed else work
                if n_classes == 2:
                    _multiply_pairs(work, cells, child, child_at, child_step, started)
                elif started:
                    product = tables.theta if in_table else work
                    _multiply(
                        product, at, step, child, child_at, child_step, n_classes, cells, work
                    )
                    in_table = False
                    at = 0
                    step = n_classes
                else:  # not copied: with one child, its table or message is the product
                    in_table = observed
                    at = child_at
                    step = child_step
                started = True
            if not started:
                if normalized:
                    continue
                for cell in range(cells):
                    work[cell] = 1.0
                step = n_classes
            if stored:
                _release_logs(work, logs, cells, n_classes, out, row)
                least = most = 1.0
            low_of_sum = least * tables.missing_smallest[i]
            if not normalized:
                most *= n_states[i]
                for c in range(n_classes):
                    out[row, c] += tables.missing_shifts[i]
            p = forest.parent[i]
            base = tables.missing_offsets[i]
            first = sent_start + starts[i]
            end = first + n_classes
            to_parent = p >= 0 and codes[p, row] >= cards[p]
            if to_parent:
                end = first + n_states[p] * n_classes
            elif p >= 0:
                base += states[p, row] * cells
            product = tables.theta if in_table else work
            for to in range(first, end, n_classes):
                if n_classes == 2:
                    _sum_pairs(tables.missing_theta, base, work, cells, work, to)
                else:
                    _sum_values(
                        tables.missing_theta, base, product, at, step, cells, n_classes, work, to
                    )
                base += cells
            # where the bound does not guarantee that the sums are exact, their own size has to
            if stored or low_of_sum < MIN_SUM:
                found = _least(work, first, end)
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
                    out[row, c] += np.log(row_product[c])
                    row_product[c] = 1.0
                product_low = product_high = 1.0
            product_low *= low_of_sum
            product_high *= most
            pending = True
            for c in range(n_classes):
                row_product[c] *= work[first + c]
        if beyond[r]:
            for c in range(n_classes):
                out[row, c] = before[c]
            for i in range(cards.size):
                has_sent[i] = False
        elif pending:
            for c in range(n_classes):
                out[row, c] += np.log(row_product[c])
