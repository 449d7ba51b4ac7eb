"""Contingency tables of families and of pairs of features, and mutual information.

Pair tables have the shape ``(card_a, card_b, n_classes)``, flat, class innermost. A missing cell
(code = card) is left out of every table that it would enter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discbayes.kernels._compile import helper, inline_kernel, kernel, popcount


class PairBitSets(NamedTuple):
    """Bit sets of rows by value, the rows sorted by class, and counts of single features."""

    bits: np.ndarray  # by value and word
    bit_start: np.ndarray  # the first bit set of each feature
    word_start: np.ndarray  # the first word of each class
    value_start: np.ndarray  # the first value of each feature in the counts
    counts: np.ndarray  # of values and classes
    n_missing: np.ndarray  # the missing cells of each feature
    value_terms: np.ndarray  # x log x of the counts of values and classes, then of values alone


@kernel
def count_family(
    codes, states, y, weight, cards, n_states, n_classes, feature, parents, strides, out
):
    """Add rows to a family table; an empty ``weight`` means that every row counts once.

    ``states`` has the codes of parents, and ``n_states`` how many there are.
    """
    n_rows = codes.shape[1]
    own, card = codes[feature], cards[feature]
    weighted = weight.size > 0
    for m in range(n_rows):
        if own[m] >= card:
            continue
        cell = np.int64(own[m]) * n_classes + y[m]
        known = True
        for k in range(parents.size):
            code = np.int64(states[parents[k], m])
            if code >= n_states[parents[k]]:
                known = False
                break
            cell += code * strides[k]
        if known:
            out[cell] += weight[m] if weighted else 1.0


@kernel
def fill_bits(codes, card, position, bits):
    """Set the bit of each row in the bit set of its value; missing values set none."""
    for m in range(codes.size):
        if codes[m] < card:
            at = position[m]
            bits[codes[m], at >> 6] |= np.uint64(1) << np.uint64(at & 63)


@inline_kernel
def _pair_by_bits(bits_a, bits_b, word_start, counts_a, counts_b, complete, out):
    """Count a pair table by bit sets; of complete columns the last value follows from margins."""
    n_classes = word_start.size - 1
    card_a, card_b = bits_a.shape[0], bits_b.shape[0]
    do_a = card_a - 1 if complete else card_a
    do_b = card_b - 1 if complete else card_b
    for a in range(do_a):
        for b in range(do_b):
            cell = (a * card_b + b) * n_classes
            for c in range(n_classes):
                # The words of a class are sliced: an index that cannot be negative lets the
                # compiler count several words at once, which is five times as fast.
                words_a = bits_a[a, word_start[c] : word_start[c + 1]]
                words_b = bits_b[b, word_start[c] : word_start[c + 1]]
                total = np.uint64(0)
                for w in range(words_a.size):
                    total += popcount(words_a[w] & words_b[w])
                out[cell + c] = total
    if complete:
        _fill_from_margins(counts_a, counts_b, card_a, card_b, n_classes, out)


@inline_kernel
def _fill_from_margins(counts_a, counts_b, card_a, card_b, n_classes, out):
    """Fill the last row and the last column of a complete pair table from its margins."""
    last = (card_b - 1) * n_classes
    for a in range(card_a - 1):
        for c in range(n_classes):
            left = counts_a[a * n_classes + c]
            for b in range(card_b - 1):
                left -= out[(a * card_b + b) * n_classes + c]
            out[a * card_b * n_classes + last + c] = left
    for b in range(card_b):
        for c in range(n_classes):
            left = counts_b[b * n_classes + c]
            for a in range(card_a - 1):
                left -= out[(a * card_b + b) * n_classes + c]
            out[((card_a - 1) * card_b + b) * n_classes + c] = left


@inline_kernel
def _pair_by_loop(base, codes_b, weight, card_a, card_b, n_classes, scratch, out):
    """Count a pair table row by row; ``base`` is code_a · n_classes + class of each row.

    The scratch table has one more row and column for missing values: the loop has no branch.
    """
    stride = np.int64((card_a + 1) * n_classes)
    for cell in range((card_b + 1) * stride):
        scratch[cell] = 0.0
    if weight.size > 0:
        for m in range(base.size):
            scratch[codes_b[m] * stride + base[m]] += weight[m]
    else:
        for m in range(base.size):
            scratch[codes_b[m] * stride + base[m]] += 1.0
    for a in range(card_a):
        for b in range(card_b):
            for c in range(n_classes):
                out[(a * card_b + b) * n_classes + c] = scratch[b * stride + a * n_classes + c]


@helper
def _x_log_x(x, known):
    """Return x log x, from ``known`` (the values at 0, 1, 2, …) if it is there."""
    if x <= 0.0:
        return 0.0
    if x < known.size:
        return known[int(x)]
    return x * np.log(x)


@kernel
def tabulate_x_log_x(known):
    """Tabulate x log x by the logarithm of kernels: that of NumPy may differ in a bit."""
    known[0] = 0.0
    for x in range(1, known.size):
        known[x] = float(x) * np.log(float(x))


@helper
def _write_information(joint, pair, with_class, alone, of_class, whole, total, out):
    """Write I(A;B|C), I(A;B), I(C;A,B) and the total, from the sums of x log x over margins."""
    # rounding can take what is zero a little below it
    out[0] = max(0.0, (joint + of_class - with_class) / total)
    out[1] = max(0.0, (pair + whole - alone) / total)
    out[2] = max(0.0, (joint + whole - pair - of_class) / total)
    out[3] = total


@kernel
def pair_information(table, card_a, card_b, n_classes, known, margins, out):
    """Measure I(A;B|C), I(A;B) and I(C;A,B) in nats, and the total; zeros for an empty table.

    ``margins`` is scratch space for (A,C), (B,C), A, B and C; ``known`` has x log x for whole x
    (empty: counts are not whole, or there are too many).
    """
    bc = card_a * n_classes
    a_, b_ = bc + card_b * n_classes, bc + card_b * n_classes + card_a
    c_ = b_ + card_b
    end = c_ + n_classes
    for k in range(end):
        margins[k] = 0.0
    joint = 0.0
    pair = 0.0
    total = 0.0
    for a in range(card_a):
        for b in range(card_b):
            both = 0.0
            cell = (a * card_b + b) * n_classes
            for c in range(n_classes):
                x = table[cell + c]
                joint += _x_log_x(x, known)
                both += x
                margins[a * n_classes + c] += x
                margins[bc + b * n_classes + c] += x
                margins[c_ + c] += x
            pair += _x_log_x(both, known)
            margins[a_ + a] += both
            margins[b_ + b] += both
            total += both
    if total <= 0.0:
        out[0] = out[1] = out[2] = out[3] = 0.0
        return
    with_class = 0.0
    alone = 0.0
    of_class = 0.0
    for k in range(end):
        term = _x_log_x(margins[k], known)
        if k < a_:
            with_class += term
        elif k < c_:
            alone += term
        else:
            of_class += term
    whole = _x_log_x(total, known)
    _write_information(joint, pair, with_class, alone, of_class, whole, total, out)


@kernel
def tabulate_terms(counts, n_classes, known, out):
    """Write x log x of the counts of values and classes, then of values alone."""
    n_values = counts.size // n_classes
    for v in range(n_values):
        total = 0.0
        for c in range(n_classes):
            x = counts[v * n_classes + c]
            out[v * n_classes + c] = _x_log_x(x, known)
            total += x
        out[counts.size + v] = _x_log_x(total, known)


@helper
def _sum_terms(terms, first, last, total):
    """Add terms one by one, in the order of ``pair_information``, so that no bit differs."""
    for k in range(first, last):
        total += terms[k]
    return total


@helper
def _complete_information(
    table, card_a, card_b, n_classes, known, with_class, alone, of_class, total, out
):
    """Measure a pair of complete columns as ``pair_information`` does, given sums over margins."""
    joint = 0.0
    pair = 0.0
    for cell in range(card_a * card_b):
        both = 0.0
        for c in range(n_classes):
            x = table[cell * n_classes + c]
            joint += _x_log_x(x, known)
            both += x
        pair += _x_log_x(both, known)
    whole = _x_log_x(total, known)
    _write_information(joint, pair, with_class, alone, of_class, whole, total, out)


@kernel
def pairs_by_bits(first, seconds, sets, n_classes, known, starts, out, information):
    """Count pairs of ``first`` and ``seconds`` by bit sets into ``out``; measure if it is empty."""
    value_start, counts = sets.value_start, sets.counts
    terms, n_cells = sets.value_terms, counts.size
    bits, bit_start = sets.bits, sets.bit_start
    card_a = value_start[first + 1] - value_start[first]
    keep = out.size > 0
    bits_a = bits[bit_start[first] : bit_start[first + 1]]
    counts_a = counts[value_start[first] * n_classes : value_start[first + 1] * n_classes]
    widest = 0
    for b in seconds:
        widest = max(widest, value_start[b + 1] - value_start[b])
    table = np.empty(0 if keep else card_a * widest * n_classes)
    margins = np.empty((card_a + widest) * (n_classes + 1) + n_classes)
    # Margins of complete columns are counts of single features, the same in all pairs.
    total = 0.0
    of_class = 0.0
    if not keep:
        for c in range(n_classes):
            in_class = 0.0
            for a in range(card_a):
                in_class += counts_a[a * n_classes + c]
            total += in_class
            of_class += _x_log_x(in_class, known)
        a_first, a_last = value_start[first], value_start[first + 1]
        with_class_a = _sum_terms(terms, a_first * n_classes, a_last * n_classes, 0.0)
        alone_a = _sum_terms(terms, n_cells + a_first, n_cells + a_last, 0.0)
    for k in range(seconds.size):
        b = seconds[k]
        card_b = value_start[b + 1] - value_start[b]
        bits_b = bits[bit_start[b] : bit_start[b + 1]]
        counts_b = counts[value_start[b] * n_classes : value_start[b + 1] * n_classes]
        complete = sets.n_missing[first] == 0 and sets.n_missing[b] == 0
        target = out[starts[k] :] if keep else table
        _pair_by_bits(bits_a, bits_b, sets.word_start, counts_a, counts_b, complete, target)
        if keep:
            continue
        if complete and total > 0.0:
            b_first, b_last = value_start[b], value_start[b + 1]
            with_class = _sum_terms(terms, b_first * n_classes, b_last * n_classes, with_class_a)
            alone = _sum_terms(terms, n_cells + b_first, n_cells + b_last, alone_a)
            _complete_information(
                table, card_a, card_b, n_classes, known, with_class, alone, of_class, total,
                information[k],
            )  # fmt: skip
        else:
            pair_information(table, card_a, card_b, n_classes, known, margins, information[k])


@kernel
def pairs_by_loop(
    first, seconds, codes, y, weight, cards, n_classes, known, starts, out, information
):
    """Count pairs of ``first`` and ``seconds`` by a loop into ``out``; measure if it is empty."""
    card_a = cards[first]
    keep = out.size > 0
    widest = 0
    for b in seconds:
        widest = max(widest, cards[b])
    scratch = np.empty((card_a + 1) * (widest + 1) * n_classes)
    table = np.empty(0 if keep else card_a * widest * n_classes)
    margins = np.empty((card_a + widest) * (n_classes + 1) + n_classes)
    # 32 bits are enough for a class and a value if the table itself fits in memory
    base = np.empty(y.size, np.int32)
    for m in range(y.size):
        base[m] = np.int64(codes[first, m]) * n_classes + y[m]
    for k in range(seconds.size):
        b = seconds[k]
        target = out[starts[k] :] if keep else table
        _pair_by_loop(base, codes[b], weight, card_a, cards[b], n_classes, scratch, target)
        if not keep:
            pair_information(table, card_a, cards[b], n_classes, known, margins, information[k])


@kernel
def joint_by_loop(base, card_a, seconds, codes, weight, cards, n_classes, starts, out):
    """Count several features taken as one with each of ``seconds``.

    ``base`` is the joint code · n_classes + class of each row.
    """
    widest = 0
    for b in seconds:
        widest = max(widest, cards[b])
    scratch = np.empty((card_a + 1) * (widest + 1) * n_classes)
    for k in range(seconds.size):
        b = seconds[k]
        _pair_by_loop(
            base, codes[b], weight, card_a, cards[b], n_classes, scratch, out[starts[k] :]
        )
