"""Saturated tables of a family and the class, from incomplete rows: expectation-maximization.

A *padded* table has one more value, the last, for features with missing values: the rows where they
are missing. It is flat, ``(values of the features, n_classes)``. The classes have no parameters in
common, so that each is maximized by itself. The logarithm of a sum is concave, so that every
maximum of the likelihood is global. Where several tables reach it, as for values that were never
seen together, the start decides: it is made of the counts and of independent features.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discbayes.kernels._compile import helper, kernel
from discbayes.kernels.counting import pair_information

# of independent features in the start: cells without counts would otherwise stay at zero
SHARE = 0.1
ROUNDING = 1e-12  # of the rows of a class: a smaller difference of two sums is zero


class IncompleteCells(NamedTuple):
    """Padded cells with a missing feature: where they are, which features are missing, counts."""

    cell: np.ndarray
    mask: np.ndarray
    n_rows: np.ndarray


class PossibleCells(NamedTuple):
    """Offsets of the cells that a padded cell may be, one list for each set of missing features."""

    starts: np.ndarray
    offsets: np.ndarray


@helper
def _advance(values, sizes):
    """Move to the next values of several features, the last of them fastest, as an odometer."""
    for d in range(values.size - 1, -1, -1):
        values[d] += 1
        if values[d] < sizes[d]:
            return
        values[d] = 0


@helper
def _place_cells(sizes, cards, mask, cell):
    """Write the missing features of each padded cell, as bits, and its cell without padding.

    Missing features are at zero there.
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
    """Return the cells that a padded cell may be, from its own on, by set of missing features."""
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
    return PossibleCells(starts, offsets)


@helper
def _share_values(padded, sizes, cards, n_classes):
    """Return the share of each value in the complete rows of a class, by feature, value, class.

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
    """Write the table of a class with this total whose features are independent."""
    values = np.zeros(cards.size, np.int64)
    for k in range(out.size):
        out[k] = total
        for d in range(cards.size):
            out[k] *= shares[d, values[d], c]
        _advance(values, cards)


@helper
def _expected_counts(counted, theta, independent, incomplete, n_incomplete, possible, out):
    """Write counts plus incomplete cells, in proportion to ``theta``; return its log likelihood.

    Where ``theta`` is zero in all possible cells, ``independent`` takes its place.
    """
    starts, offsets = possible
    value = 0.0
    for k in range(counted.size):
        out[k] = counted[k]
        if counted[k] > 0.0:
            value += counted[k] * np.log(theta[k])
    for g in range(n_incomplete):
        cell, count = incomplete.cell[g], incomplete.n_rows[g]
        first, last = starts[incomplete.mask[g]], starts[incomplete.mask[g] + 1]
        total = 0.0
        for k in range(first, last):
            total += theta[cell + offsets[k]]
        source = theta
        # counts alone, the start for one set of missing features, may be zero in all these cells
        if total > 0.0:
            value += count * np.log(total)
        else:
            source = independent
            for k in range(first, last):
                total += independent[cell + offsets[k]]
        share = count / total
        for k in range(first, last):
            out[cell + offsets[k]] += source[cell + offsets[k]] * share
    return value


@helper
def _maximize(counted, independent, incomplete, n_incomplete, possible, total, max_iter, tol,
              theta, new):  # fmt: skip
    """Return the table of one class, with this total; ``theta`` and ``new`` are overwritten.

    If the same features are missing in all incomplete cells, one step from the counts is exact.
    """
    several, inside = False, 0.0
    for g in range(n_incomplete):
        several = several or incomplete.mask[g] != incomplete.mask[0]
        inside += incomplete.n_rows[g]
    share = SHARE if several else 0.0
    scale = total / (total - inside + share * total) if several else 1.0
    for k in range(counted.size):
        theta[k] = (counted[k] + share * independent[k]) * scale
    before = -np.inf
    for _ in range(max_iter if several else 1):
        value = _expected_counts(
            counted, theta, independent, incomplete, n_incomplete, possible, new
        )
        value = value / total - np.log(total)
        theta, new = new, theta  # the tables change places, so that none is copied
        if value - before <= tol * max(abs(value), 1.0):
            break
        before = value
    return theta


@kernel
def complete_table(padded, sizes, cards, n_classes, max_iter, tol, out):
    """Write the saturated table of maximum likelihood, with class totals, from a padded table.

    ``sizes`` are the numbers of values of the padded table, ``cards`` those of ``out``. Rows in
    which all features are missing have the class only: they are distributed as all others of their
    class.
    """
    n_padded, n_cells = padded.size // n_classes, out.size // n_classes
    mask, cell = np.empty(n_padded, np.int64), np.empty(n_padded, np.int64)
    _place_cells(sizes, cards, mask, cell)
    possible = _list_offsets(sizes, cards)
    shares = _share_values(padded, sizes, cards, n_classes)
    everything = (1 << cards.size) - 1
    incomplete = IncompleteCells(
        np.empty(n_padded, np.int64), np.empty(n_padded, np.int64), np.empty(n_padded)
    )
    counted, independent = np.empty(n_cells), np.empty(n_cells)
    theta, new = np.empty(n_cells), np.empty(n_cells)
    for c in range(n_classes):
        n_incomplete = 0
        total, unknown = 0.0, 0.0
        for k in range(n_padded):
            rows = padded[k * n_classes + c]
            if mask[k] == everything:
                unknown += rows
                continue
            total += rows
            if mask[k] == 0:
                counted[cell[k]] = rows
            elif rows > 0.0:
                incomplete.cell[n_incomplete] = cell[k]
                incomplete.mask[n_incomplete] = mask[k]
                incomplete.n_rows[n_incomplete] = rows
                n_incomplete += 1
        _fill_independent(shares, cards, c, total if total > 0.0 else unknown, independent)
        found, scale = independent, 1.0
        if total > 0.0:
            scale = (total + unknown) / total
            found = _maximize(
                counted, independent, incomplete, n_incomplete, possible, total, max_iter, tol,
                theta, new,
            )  # fmt: skip
        for k in range(n_cells):
            out[k * n_classes + c] = found[k] * scale


@helper
def _pad_pair(table, counts_a, counts_b, class_count, card_a, card_b, out):
    """Write a pair table padded by what its margins lack: rows where a feature is missing."""
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
    first, seconds, value_start, counts, class_count, n_missing, starts, cells, max_iter, tol
):
    """Complete the pair tables of ``first`` with each of ``seconds``, in place.

    ``counts`` are those of single features, ``n_missing`` the rows that miss each of them.
    """
    n_classes = class_count.size
    card_a = value_start[first + 1] - value_start[first]
    counts_a = counts[value_start[first] * n_classes : value_start[first + 1] * n_classes]
    for k in range(seconds.size):
        b = seconds[k]
        if n_missing[first] == 0 and n_missing[b] == 0:
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
    """Write the information of several pair tables.

    ``known``, x log x of whole numbers, serves tables of whole counts (``whole``).
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
