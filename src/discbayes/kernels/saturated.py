"""Saturated tables of a family and the class, from rows with gaps: maximum likelihood by
expectation-maximisation.

A *padded* table has one more value, the last, for features with gaps: the rows where they are
missing. It is flat, ``(values of the features, n_classes)``. The classes have no parameters in
common, so each is maximised by itself. The logarithm of a sum is concave, so there are no maxima
but the largest. Where several tables reach it, as for values that were never seen together, the
start decides: it is made of the counts and of independent features.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel
from discbayes.kernels.counting import pair_information

SHARE = 0.1  # of independent features in the start: else what was never counted would stay at zero
ROUNDING = 1e-12  # of the rows of a class: a smaller difference of two sums is none


@helper
def _advance(values, sizes):
    """The next values of several features, the last of them fastest; after the last come the first
    again.
    """
    for d in range(values.size - 1, -1, -1):
        values[d] += 1
        if values[d] < sizes[d]:
            return
        values[d] = 0


@helper
def _place_cells(sizes, cards, mask, cell):
    """For each padded cell its features that are missing, as bits, and its cell without padding,
    these at zero.
    """
    values = np.zeros(cards.size, np.int64)
    for k in range(mask.size):
        missing, place = 0, 0
        for d in range(cards.size):
            place *= cards[d]
            if values[d] == cards[d]:
                missing |= 1 << d
            else:
                place += values[d]
        mask[k], cell[k] = missing, place
        _advance(values, sizes)


@helper
def _list_offsets(sizes, cards):
    """The cells that a padded cell may be, from its own on, one list for each set of missing
    features.
    """
    n_sets = 1 << cards.size
    starts, limits = np.zeros(n_sets + 1, np.int64), np.ones((n_sets, cards.size), np.int64)
    for missing in range(n_sets):
        length = 1
        for d in range(cards.size):
            if missing >> d & 1:
                limits[missing, d] = cards[d]
                length *= cards[d] if sizes[d] > cards[d] else 0
        starts[missing + 1] = starts[missing] + length
    offsets, values = np.empty(starts[n_sets], np.int64), np.zeros(cards.size, np.int64)
    for missing in range(n_sets):
        for k in range(starts[missing], starts[missing + 1]):
            offset = 0
            for d in range(cards.size):
                offset = offset * cards[d] + values[d]
            offsets[k] = offset
            _advance(values, limits[missing])
    return starts, offsets


@helper
def _share_values(padded, sizes, cards, n_classes):
    """The share of each value in the rows of each class that have one, ``(feature, value, class)``.

    A class without any such row has the shares of all classes together.
    """
    widest = 0
    for card in cards:
        widest = max(widest, card)
    shares, values = np.zeros((cards.size, widest, n_classes)), np.zeros(cards.size, np.int64)
    for k in range(0, padded.size, n_classes):
        for d in range(cards.size):
            if values[d] < cards[d]:
                for c in range(n_classes):
                    shares[d, values[d], c] += padded[k + c]
        _advance(values, sizes)
    pooled = np.empty(widest)
    for d in range(cards.size):
        everything = 0.0
        for k in range(cards[d]):
            pooled[k] = 0.0
            for c in range(n_classes):
                pooled[k] += shares[d, k, c]
            everything += pooled[k]
        for c in range(n_classes):
            total = 0.0
            for k in range(cards[d]):
                total += shares[d, k, c]
            for k in range(cards[d]):
                if total > 0.0:
                    shares[d, k, c] /= total
                else:
                    shares[d, k, c] = pooled[k] / everything if everything > 0.0 else 1.0 / cards[d]
    return shares


@helper
def _fill_independent(shares, cards, c, total, out):
    """The table of a class with this total whose features are independent."""
    values = np.zeros(cards.size, np.int64)
    for k in range(out.size):
        out[k] = total
        for d in range(cards.size):
            out[k] *= shares[d, values[d], c]
        _advance(values, cards)


@helper
def _spread(
    counted,
    theta,
    independent,
    missing_cell,
    missing_mask,
    missing_count,
    n_missing,
    starts,
    offsets,
    out,
):
    """One iteration: to the counts come the gaps, in proportion to ``theta``, or if that is zero to
    ``independent``.

    Returns the log likelihood of ``theta``.
    """
    value = 0.0
    for k in range(counted.size):
        out[k] = counted[k]
        if counted[k] > 0.0:
            value += counted[k] * np.log(theta[k])
    for g in range(n_missing):
        first, last = starts[missing_mask[g]], starts[missing_mask[g] + 1]
        total = 0.0
        for k in range(first, last):
            total += theta[missing_cell[g] + offsets[k]]
        source = theta
        if total > 0.0:
            value += missing_count[g] * np.log(total)
        else:
            source = independent
            for k in range(first, last):
                total += independent[missing_cell[g] + offsets[k]]
        share = missing_count[g] / total
        for k in range(first, last):
            out[missing_cell[g] + offsets[k]] += source[missing_cell[g] + offsets[k]] * share
    return value


@helper
def _maximize(
    counted, independent, missing_cell, missing_mask, missing_count, n_missing, starts, offsets, total, max_iter, tol, theta, new
):  # fmt: skip
    """The table of one class, whose ``total`` is that of its counts and gaps; ``theta`` and ``new``
    are scratch space.

    If all gaps are in the same features, one step from the counts is the end.
    """
    several, inside = False, 0.0
    for g in range(n_missing):
        several = several or missing_mask[g] != missing_mask[0]
        inside += missing_count[g]
    share = SHARE if several else 0.0
    scale = total / (total - inside + share * total) if several else 1.0
    for k in range(counted.size):
        theta[k] = (counted[k] + share * independent[k]) * scale
    before = -np.inf
    for _ in range(max_iter if several else 1):
        value = _spread(
            counted,
            theta,
            independent,
            missing_cell,
            missing_mask,
            missing_count,
            n_missing,
            starts,
            offsets,
            new,
        )
        value = value / total - np.log(total)
        theta, new = new, theta
        if value - before <= tol * max(abs(value), 1.0):
            break
        before = value
    return theta


@kernel
def complete_table(padded, sizes, cards, n_classes, max_iter, tol, out):
    """The saturated table of largest likelihood, with the total of each class, from a padded table.

    ``sizes`` are the numbers of values of the padded table, ``cards`` those of ``out``. Rows in
    which all features are missing know the class only: they are spread like all others of their
    class.
    """
    n_padded, n_cells = padded.size // n_classes, out.size // n_classes
    mask, cell = np.empty(n_padded, np.int64), np.empty(n_padded, np.int64)
    _place_cells(sizes, cards, mask, cell)
    starts, offsets = _list_offsets(sizes, cards)
    shares = _share_values(padded, sizes, cards, n_classes)
    everything = (1 << cards.size) - 1
    missing_cell, missing_mask, missing_count = (
        np.empty(n_padded, np.int64),
        np.empty(n_padded, np.int64),
        np.empty(n_padded),
    )
    counted, independent = np.empty(n_cells), np.empty(n_cells)
    theta, new = np.empty(n_cells), np.empty(n_cells)
    for c in range(n_classes):
        n_missing, total, unknown = 0, 0.0, 0.0
        for k in range(n_padded):
            rows = padded[k * n_classes + c]
            if mask[k] == everything:
                unknown += rows
                continue
            total += rows
            if mask[k] == 0:
                counted[cell[k]] = rows
            elif rows > 0.0:
                missing_cell[n_missing], missing_mask[n_missing], missing_count[n_missing] = (
                    cell[k],
                    mask[k],
                    rows,
                )
                n_missing += 1
        _fill_independent(shares, cards, c, total if total > 0.0 else unknown, independent)
        found, scale = independent, 1.0
        if total > 0.0:
            scale = (total + unknown) / total
            found = _maximize(
                counted, independent, missing_cell, missing_mask, missing_count, n_missing, starts, offsets, total, max_iter, tol,
                theta, new,
            )  # fmt: skip
        for k in range(n_cells):
            out[k * n_classes + c] = found[k] * scale


@helper
def _pad_pair(table, counts_a, counts_b, class_count, card_a, card_b, out):
    """A pair table with the rows where one feature, or both, are missing: what its margins lack."""
    n_classes = class_count.size
    row = (card_b + 1) * n_classes
    for c in range(n_classes):
        least, left = ROUNDING * class_count[c], class_count[c]
        for b in range(card_b):
            out[card_a * row + b * n_classes + c] = counts_b[b * n_classes + c]
        for a in range(card_a):
            alone = counts_a[a * n_classes + c]
            for b in range(card_b):
                n = table[(a * card_b + b) * n_classes + c]
                out[a * row + b * n_classes + c] = n
                out[card_a * row + b * n_classes + c] -= n
                alone -= n
                left -= n
            out[a * row + card_b * n_classes + c] = alone if alone > least else 0.0
            left -= out[a * row + card_b * n_classes + c]
        for b in range(card_b):
            if out[card_a * row + b * n_classes + c] <= least:
                out[card_a * row + b * n_classes + c] = 0.0
            left -= out[card_a * row + b * n_classes + c]
        out[card_a * row + card_b * n_classes + c] = left if left > least else 0.0


@kernel
def complete_pairs(
    first, seconds, value_start, counts, class_count, gaps, starts, cells, max_iter, tol
):
    """Complete the pair tables of ``first`` with each of ``seconds``, in place, from counts of
    single features.
    """
    n_classes = class_count.size
    card_a = value_start[first + 1] - value_start[first]
    counts_a = counts[value_start[first] * n_classes : value_start[first + 1] * n_classes]
    for k in range(seconds.size):
        b = seconds[k]
        if gaps[first] == 0 and gaps[b] == 0:
            continue
        card_b = value_start[b + 1] - value_start[b]
        counts_b = counts[value_start[b] * n_classes : value_start[b + 1] * n_classes]
        table = cells[starts[k] : starts[k] + card_a * card_b * n_classes]
        padded = np.empty((card_a + 1) * (card_b + 1) * n_classes)
        _pad_pair(table, counts_a, counts_b, class_count, card_a, card_b, padded)
        cards = np.array([card_a, card_b])
        complete_table(padded, cards + 1, cards, n_classes, max_iter, tol, table)


@kernel
def measure_pairs(cells, starts, card_a, cards_b, whole, n_classes, known, out):
    """The information of several pair tables; ``known``, x log x of whole numbers, is for those
    marked ``whole``.
    """
    widest = 0
    for card in cards_b:
        widest = max(widest, card)
    margins = np.empty((card_a + widest) * (n_classes + 1) + n_classes)
    for k in range(cards_b.size):
        table = cells[starts[k] : starts[k] + card_a * cards_b[k] * n_classes]
        pair_information(
            table, card_a, cards_b[k], n_classes, known if whole[k] else known[:0], margins, out[k]
        )
