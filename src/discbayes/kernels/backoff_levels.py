"""Smooth the counts of a feature level by level, each towards the one with a parent fewer.

Counts of a level are lines of parents' values, each with the values of the feature, the classes
innermost. Lines of which no row is near are those of the level below, and are not computed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discbayes.kernels._compile import contracting_helper, contracting_kernel, helper

TINY = 1e-300


class LevelCounts(NamedTuple):
    """The counts of a feature, and how counts count for neighboring values."""

    alone: np.ndarray  # with the class: (values, classes)
    table: np.ndarray  # of the family: (lines, values, classes)
    n_lines: np.ndarray  # of each level
    near: np.ndarray  # how much values of parents count for each other, parent by parent
    near_start: np.ndarray  # nothing if values of a parent do not
    spread: np.ndarray  # where the counts of values go; empty if they stay
    left_out: np.ndarray  # the weight of a row that is left out, of each class
    wanted: np.ndarray  # which lines of the family are computed
    pooled: bool  # whether all classes have the same counts


@helper
def _occupied(table):
    """Return which lines have any count."""
    found = np.zeros(table.shape[0], np.bool_)
    for line in range(table.shape[0]):
        for k in range(table.shape[1]):
            if table[line, k] != 0.0:
                found[line] = True
                break
    return found


@helper
def _of_level(lines, n_lines):
    """Return which lines of a level have any of some lines of the highest one."""
    found, group = np.zeros(n_lines, np.bool_), lines.size // n_lines
    for line in range(lines.size):
        found[line // group] |= lines[line]
    return found


@helper
def _sum_lines(table, occupied, n_lines):
    """Return the sums of the lines that differ in the last parents only."""
    sums, group = np.zeros((n_lines, table.shape[1])), table.shape[0] // n_lines
    for line in range(table.shape[0]):
        if occupied[line]:
            for k in range(table.shape[1]):
                sums[line // group, k] += table[line, k]
    return sums


@contracting_helper
def _join_neighbors(lines, counts, level, wanted, has_rows):
    """Return the counts with those of neighboring values of parents, and where there are any.

    Those of the first parent come last, of lines that are wanted.
    """
    n_lines, size = counts.n_lines, lines.shape[1]
    occurs, joined = has_rows, lines.copy()
    for axis in range(level - 1, -1, -1):
        start = counts.near_start[axis]
        if counts.near_start[axis + 1] == start:
            continue
        card, after = n_lines[axis + 1] // n_lines[axis], n_lines[level] // n_lines[axis + 1]
        before, reached = joined, np.zeros(occurs.size, np.bool_)
        joined = np.zeros_like(lines)
        for line in range(occurs.size):
            if not occurs[line]:
                continue
            v = line // after % card
            for u in range(card):
                weight, target = counts.near[start + v * card + u], line + (u - v) * after
                if weight > 0.0 and (axis > 0 or wanted[target]):
                    reached[target] = True
                    for k in range(size):
                        joined[target, k] += weight * before[line, k]
        occurs = reached
    return joined, occurs


@contracting_helper
def _spread_line(line, spread, n_classes, scratch):
    """Spread the counts of a line over neighboring values."""
    card = spread.shape[0]
    scratch[:] = 0.0
    for x in range(card):
        first, empty = x * n_classes, True
        for c in range(n_classes):
            empty &= line[first + c] == 0.0
        if empty:
            continue
        for other in range(card):
            weight, at = spread[x, other], other * n_classes
            for c in range(n_classes):
                scratch[at + c] += weight * line[first + c]
    line[:] = scratch


@helper
def _likelihood(weight, rest, totals, lower, m):
    """Return the leave-one-out likelihood of a strength."""
    value = 0.0
    for k in range(weight.size):
        value += weight[k] * np.log(max((rest[k] + m * lower[k]) / (totals[k] + m), TINY))
    return value


@helper
def _best_strength(found, strengths):
    """Return the strength of largest likelihood, the first of equal ones."""
    best, chosen = -np.inf, strengths[0]
    for m in strengths:
        value = _likelihood(found[0], found[1], found[2], found[3], m)
        if value > best:
            best, chosen = value, m
    return chosen


@helper
def _everywhere(counts, own, below, rest_below):
    """Write P(x) whatever the class, and the same without a row of each value and class."""
    card, n_classes = counts.alone.shape
    lines = counts.alone.copy().reshape(1, card * n_classes)
    if counts.spread.size:
        _spread_line(lines[0], counts.spread, n_classes, np.empty(card * n_classes))
    by_value, total = np.zeros(card), 0.0
    for x in range(card):
        for c in range(n_classes):
            by_value[x] += lines[0, x * n_classes + c]
        if counts.pooled:
            by_value[x] /= n_classes
        total += by_value[x]
    for x in range(card):
        for c in range(n_classes):
            k = x * n_classes + c
            below[0, k] = max((by_value[x] + 1.0 / card) / (total + 1.0), TINY)
            rest = max(by_value[x] - own[k], 0.0) + 1.0 / card
            rest_below[0, k] = rest / (max(total - counts.left_out[c], 0.0) + 1.0)


@contracting_kernel
def smooth_levels(counts, strengths, begin, width, used, values, left, chosen):
    """Compute the levels of a feature, and what leaving a row out changes.

    ``values`` get log p of the lowest level, and the logarithms of the ratios to the level below of
    the others, from ``begin`` of each on, the classes of a cell ``width`` numbers apart. ``left``
    gets what is added to these in the class of a row that is left out, for each cell of the family
    in ``used``. ``chosen`` gets the strengths, of largest leave-one-out likelihood.
    """
    card, n_classes = counts.alone.shape
    size, n_levels = card * n_classes, counts.n_lines.size
    n_all = counts.table.shape[0]
    table = counts.table.reshape(n_all, size)
    own = np.empty(size)  # what a row adds to its own cell
    for x in range(card):
        kept = counts.spread[x, x] if counts.spread.size else 1.0
        for c in range(n_classes):
            own[x * n_classes + c] = kept * counts.left_out[c]
    below, rest_below = np.empty((1, size)), np.empty((1, size))
    _everywhere(counts, own, below, rest_below)
    scratch, inverse = np.empty(size), np.empty(n_classes)
    n_before = 1
    occupied = _occupied(table)
    computed = occupied | counts.wanted
    for level in range(n_levels):
        n = counts.n_lines[level]
        has_rows, wanted = _of_level(occupied, n), _of_level(computed, n)
        here_counts = _sum_lines(table, occupied, n)
        if level == 0:
            here_counts[0] = counts.alone.reshape(size)
            has_rows[0] = wanted[0] = True
        smooth, occurs = _join_neighbors(here_counts, counts, level, wanted, has_rows)
        totals, n_cells = np.zeros((n, n_classes)), 0
        for line in range(n):
            if not (occurs[line] and wanted[line]):
                continue
            for x in range(card):
                for c in range(n_classes):
                    totals[line, c] += smooth[line, x * n_classes + c]
            for k in range(size):
                n_cells += here_counts[line, k] > 0.0
            if counts.spread.size:
                _spread_line(smooth[line], counts.spread, n_classes, scratch)
        found, at = np.empty((4, n_cells)), 0
        for line in range(n):
            if not has_rows[line]:
                continue
            lower = line // (n // n_before)
            for k in range(size):
                if here_counts[line, k] > 0.0:
                    found[0, at] = here_counts[line, k]
                    found[1, at] = max(smooth[line, k] - own[k], 0.0)
                    c = k % n_classes
                    found[2, at] = max(totals[line, c] - counts.left_out[c], 0.0)
                    found[3, at] = rest_below[lower, k]
                    at += 1
        m = _best_strength(found, strengths)
        chosen[level] = m
        rest_here, change = np.empty((n, size)), np.empty((n, size))
        at = 0
        for line in range(n):
            if not (occurs[line] and wanted[line]):
                continue
            lower, start = line // (n // n_before), begin[level] + line * card * width
            for c in range(n_classes):
                inverse[c] = 1.0 / (totals[line, c] + m)
            for x in range(card):
                for c in range(n_classes):
                    k = x * n_classes + c
                    p = max((smooth[line, k] + m * below[lower, k]) * inverse[c], TINY)
                    value = np.log(p / below[lower, k]) if level else np.log(p)
                    values[start + x * width + c] = value
                    smooth[line, k] = p
                    if here_counts[line, k] > 0.0:
                        rest = (found[1, at] + m * found[3, at]) / (found[2, at] + m)
                        rest = max(rest, TINY)
                        rest_here[line, k] = rest
                        change[line, k] = np.log(rest) - value
                        if level:
                            change[line, k] -= np.log(found[3, at])
                        at += 1
        for cell in range(used.size):
            line = used[cell] // size
            left[cell, level] = change[line // (n_all // n), used[cell] % size]
        below, rest_below = smooth, rest_here
        n_before = n
