"""Scoring of the candidates of one child by the classification rate: exact, and no further than it
takes.

The rows of a view are those that are decided wrongly, by slack, and then those that are decided
rightly, by slack; the slack is how far classes may move against each other before the decision
changes. So a cell of a candidate, which moves classes by so much and no more, reaches the first
rows only, of which it visits those that are in the cell: bit sets find them where features have few
values, and a loop over the rows where they have many.

A candidate can put a row right only if it raises the row's class against the strongest other one by
its slack: that is one comparison a row, and for most candidates the number of such rows is already
too small. For the others the wrong rows are decided exactly, which gives the most that the
candidate can gain, and then the right ones, by which the gain can only fall, until it is below the
bound or all rows within reach are seen.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel, small_helper
from discbayes.kernels.candidate_scan import (
    ROW_COST,
    beats,
    bits_are_cheaper,
    cell_reaches,
    end_within,
    lowest_bit,
)

ENTRY_COST = 0.5  # of an entry of a table that is looked at to find out how far its cell reaches


@small_helper
def _could_be_put_right(r, at, y, other, slack, tables, own):
    """Whether the class of a wrong row gains enough on the strongest other one."""
    return own[at + y[r]] - tables[at + other[r]] >= slack[r]


@helper
def _is_right(joint, true, at, tables, own):
    """Whether a row is decided rightly once its cell of the tables is added to its log-joint."""
    score = joint[true] + own[at + true]
    for c in range(joint.size):
        if c != true and beats(joint[c] + tables[at + c], c, score, true):
            return False
    return True


@small_helper
def _stays_right(r, at, y, slack, rows, log_joint, tables, own):
    """Whether a right row is right after the change; most show it by their slack."""
    true = y[r]
    strongest = tables[at]
    for q in range(at + 1, at + log_joint.shape[1]):
        strongest = tables[q] if tables[q] > strongest else strongest
    return strongest - own[at + true] < slack[r] or _is_right(
        log_joint[rows[r]], true, at, tables, own
    )


@helper
def _put_right_by_bits(
    exactly, bits, first_bit, parent_card, base_bits, reach, ends, n_words, weight, group, rows, y, other, slack,
    log_joint, tables, own,
):  # fmt: skip
    """The weight of the wrong rows that become right, or, if that is enough to know, that could."""
    n_base, n_classes = base_bits.shape[0], log_joint.shape[1]
    cells, total = parent_card * n_base, 0.0
    for v in range(parent_card):
        row = bits[first_bit + v]
        for b in range(n_base):
            cell, cell_bits = v * n_base + b, base_bits[b]
            for w in range(min((end_within(ends, reach[cell]) + 63) >> 6, n_words)):
                word = row[w] & cell_bits[w]
                while word != 0:
                    r = (w << 6) + np.int64(lowest_bit(word))
                    word &= word - np.uint64(1)
                    at = (group[r] * cells + cell) * n_classes
                    if _could_be_put_right(r, at, y, other, slack, tables, own) and (
                        not exactly or _is_right(log_joint[rows[r]], y[r], at, tables, own)
                    ):
                        total += weight[r]
    return total


@helper
def _put_right_by_rows(
    exactly,
    parent_codes,
    base,
    n_base,
    cells,
    end,
    weight,
    group,
    rows,
    y,
    other,
    slack,
    log_joint,
    tables,
    own,
):
    n_classes, total = log_joint.shape[1], 0.0
    for r in range(end):
        m = rows[r]
        at = (group[r] * cells + np.int64(parent_codes[m]) * n_base + base[m]) * n_classes
        if _could_be_put_right(r, at, y, other, slack, tables, own) and (
            not exactly or _is_right(log_joint[m], y[r], at, tables, own)
        ):
            total += weight[r]
    return total


@helper
def _put_wrong_by_bits(
    gain, bound, bits, first_bit, parent_card, base_bits, reach, ends, first_word, n_words, first, weight, group, rows,
    y, slack, log_joint, tables, own,
):  # fmt: skip
    """The gain after the right rows that become wrong are taken from it, until it is below the
    bound.
    """
    n_base, n_classes = base_bits.shape[0], log_joint.shape[1]
    cells = parent_card * n_base
    for v in range(parent_card):
        row = bits[first_bit + v]
        for b in range(n_base):
            cell, cell_bits = v * n_base + b, base_bits[b]
            for w in range(min((end_within(ends, reach[cell]) + 63) >> 6, n_words)):
                word = row[first_word + w] & cell_bits[first_word + w]
                while word != 0:
                    r = first + (w << 6) + np.int64(lowest_bit(word))
                    word &= word - np.uint64(1)
                    at = (group[r] * cells + cell) * n_classes
                    if not _stays_right(r, at, y, slack, rows, log_joint, tables, own):
                        gain -= weight[r]
            if gain < bound:
                return gain
    return gain


@helper
def _put_wrong_by_rows(
    gain,
    bound,
    parent_codes,
    base,
    n_base,
    cells,
    first,
    end,
    weight,
    group,
    rows,
    y,
    slack,
    log_joint,
    tables,
    own,
):
    n_classes = log_joint.shape[1]
    for r in range(first, end):
        m = rows[r]
        at = (group[r] * cells + np.int64(parent_codes[m]) * n_base + base[m]) * n_classes
        if not _stays_right(r, at, y, slack, rows, log_joint, tables, own):
            gain -= weight[r]
            if gain < bound:
                break
    return gain


@kernel
def scan_child_rate(
    parents, cards, codes, base, n_base, n_groups, starts, spreads, tables, own, bound, rise, rows, n_wrong, n_near,
    wrong_ends, right_ends, slack, y, other, weight, group, log_joint, has_bits, value_start, bits, base_bits, gains,
    exact,
):  # fmt: skip
    """The gain of each further parent of one child; ``exact`` says where it is the gain and not
    only a bound of it.

    The bound rises to ``rise`` below each gain that is found. The bit sets are of the wrong rows
    and, from a new word on, of the ``n_near`` first right ones.
    """
    n_classes = log_joint.shape[1]
    wrong_words, near_words = (n_wrong + 63) >> 6, (n_near + 63) >> 6
    for k in range(parents.size):
        p = parents[k]
        parent_card, parent_codes, first_bit = cards[p], codes[p], value_start[p]
        cells = parent_card * n_base
        span = n_groups * cells * n_classes
        table, mine = tables[starts[k] : starts[k] + span], own[starts[k] : starts[k] + span]
        end = end_within(wrong_ends, spreads[k])
        reach = np.empty(0)
        use_bits = (
            has_bits[p] and base_bits.shape[0] == n_base and end * ROW_COST > span * ENTRY_COST
        )
        if use_bits:
            reach = np.empty(cells)
            cell_reaches(table, mine, 0, cells, n_groups, n_classes, reach)
            use_bits = bits_are_cheaper(reach, cells, wrong_ends, end)
        exact[k] = False
        for exactly in range(2):
            if use_bits:
                gain = _put_right_by_bits(
                    exactly == 1, bits, first_bit, parent_card, base_bits, reach, wrong_ends, wrong_words, weight,
                    group, rows, y, other, slack, log_joint, table, mine,
                )  # fmt: skip
            else:
                gain = _put_right_by_rows(
                    exactly == 1, parent_codes, base, n_base, cells, end, weight, group, rows, y, other, slack,
                    log_joint, table, mine,
                )  # fmt: skip
            if gain < bound:
                break
        if gain >= bound:
            seen = 0
            if use_bits:
                seen = n_near
                gain = _put_wrong_by_bits(
                    gain, bound, bits, first_bit, parent_card, base_bits, reach, right_ends, wrong_words, near_words,
                    n_wrong, weight, group, rows, y, slack, log_joint, table, mine,
                )  # fmt: skip
            if gain >= bound:
                end = n_wrong + end_within(right_ends, spreads[k])
                gain = _put_wrong_by_rows(
                    gain, bound, parent_codes, base, n_base, cells, n_wrong + seen, end, weight, group, rows, y,
                    slack, log_joint, table, mine,
                )  # fmt: skip
            exact[k] = gain >= bound
            bound = max(bound, gain - rise)
        gains[k] = gain
