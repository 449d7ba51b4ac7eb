"""Normalized tables from weighted levels of a back-off chain, and the gradient of the weights.

The table of a feature is a softmax, over its values, of Σ weight·level + free cells. A level is
known for the values of the first parents only, so that it has fewer lines than the table: the line
of parents' values ``u`` reads line ``u // rest`` of the level. All classes of all values of a line
are next to each other, and most loops run over a whole line. A line is computed where it stays in
the cache; only the cells that rows read are written.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discbayes.kernels._compile import contracting_helper, helper, kernel
from discbayes.kernels.exponential import exp_in_place

LARGEST = 600.0  # number whose exponential is far from overflow
SAFE = np.exp(LARGEST)


class LevelArrays(NamedTuple):
    """Levels of all features, one after the other, and where their numbers are."""

    cards: np.ndarray
    first: np.ndarray  # the first level of each feature
    begin: np.ndarray  # the first number of each level
    rest: np.ndarray  # lines of the table that read the same line of the level
    values: np.ndarray  # the levels: log p, and logarithms of the ratios to the level below
    state_start: np.ndarray
    state_of: np.ndarray  # the state of each value, to which a free cell belongs
    n_states: np.ndarray
    line_start: np.ndarray  # the first line of each table among those that are computed
    lines: np.ndarray  # which lines of the whole table they are
    cell_start: np.ndarray  # the first of the cells of each line that are written
    cell_value: np.ndarray  # the value of each of them


class OwnArrays(NamedTuple):
    """The changes of cells in the class of a row if the row is left out of the counts."""

    start: np.ndarray  # the first of the cells of each feature in which there are rows
    classes: np.ndarray  # the class of each
    begin: np.ndarray  # the first number of each feature
    left_out: np.ndarray  # what is added to each level of each cell


@helper
def _spread_weights(weights, first, last, width, size, out):
    """Write the weights of some levels for a whole line: those of the classes, again and again."""
    for j in range(first, last):
        for k in range(0, size, width):
            for c in range(weights.shape[1]):
                out[j - first, k + c] = weights[j, c]


@contracting_helper
def _score_line(levels, weights, feature, whole, free, at_free, widths, line):
    """Write Σ weight·level + free cells of a line of the whole table of a feature."""
    n_classes, width = widths
    first, size = levels.first[feature], line.size
    for j in range(first, levels.first[feature + 1]):
        at = levels.begin[j] + whole // levels.rest[j] * size
        weight, level = weights[j - first], levels.values[at : at + size]
        if j == first:
            for k in range(size):
                line[k] = weight[k] * level[k]
        else:
            for k in range(size):
                line[k] += weight[k] * level[k]
    if at_free < 0:
        return
    start, n = levels.state_start[feature], np.uint64(n_classes)
    for x in range(levels.cards[feature]):
        # without a sign: indices that cannot be negative need no check, and the loop is vectorized
        cell = np.uint64(at_free + levels.state_of[start + x] * n_classes)
        at = np.uint64(x * width)
        for c in range(n):
            line[at + c] += free[cell + c]


@helper
def _free_line(free_start, levels, feature, line, n_classes):
    """Return where the free cells of a line begin; −1 if there are none."""
    if free_start[feature] == free_start[feature + 1]:
        return -1
    before = line - levels.line_start[feature]
    return free_start[feature] + before * levels.n_states[feature] * n_classes


# Loops over columns of few classes are not vectorized: columns are added up by folding the line in
# the middle, and spread by doubling it, in loops over many values at a time.


@helper
def _column_sums(line, total):
    """Add up each class column, in the place of the first one."""
    width, n = total.size, line.size // total.size
    while n > 1:
        half = (n + 1) // 2
        upper = line[half * width : n * width]
        for k in range(upper.size):
            line[k] += upper[k]
        n = half
    for c in range(width):
        total[c] = line[c]


@helper
def _spread(column, line):
    """Write the numbers of the classes again and again."""
    for c in range(column.size):
        line[c] = column[c]
    done = column.size
    while done < line.size:
        upper = line[done : min(2 * done, line.size)]
        for k in range(upper.size):
            upper[k] = line[k]
        done += upper.size


@helper
def _find_norms(line, scratch, power, total, norms):
    """Write the logarithm of the sum of the exponentials of each class column."""
    for k in range(line.size):
        scratch[k] = LARGEST if line[k] > LARGEST else line[k]
    exp_in_place(scratch, power)
    _column_sums(scratch, total)
    for c in range(norms.size):
        if total[c] < 1.0 / SAFE or total[c] > SAFE:
            total[c] = _column_norm(line, c, norms.size)
        else:
            total[c] = np.log(total[c])
        norms[c] = total[c]


@helper
def _column_norm(line, c, width):
    """Return the norm of a column whose exponentials may overflow."""
    top, total = -np.inf, 0.0
    for k in range(c, line.size, width):
        top = max(top, line[k])
    for k in range(c, line.size, width):
        total += np.exp(line[k] - top)
    return top + np.log(total)


@helper
def _minus_shares(line, norms, total, power, factors):
    """Replace the numbers of a line by minus their shares of the totals of the classes."""
    extreme = False
    for c in range(norms.size):
        extreme |= abs(norms[c]) > LARGEST
    if extreme:
        _spread(norms, factors)
        for k in range(line.size):
            line[k] -= factors[k]
    exp_in_place(line, power)
    for c in range(norms.size):
        power[c] = -total[c] if extreme else -total[c] * np.exp(-norms[c])
    _spread(power[: norms.size], factors)
    for k in range(line.size):
        line[k] *= factors[k]


@helper
def _largest(levels, width, features):
    """Return the length of the longest line, and the largest number of levels."""
    first_feature, last_feature = features
    widest, deepest = width, 0
    for i in range(first_feature, last_feature):
        widest = max(widest, levels.cards[i] * width)
        deepest = max(deepest, levels.first[i + 1] - levels.first[i])
    return widest, deepest


@kernel
def weighted_tables(weights, free, free_start, levels, widths, features, usual, at_usual, norms,
                    table):  # fmt: skip
    """Compute the cells that are read of the tables of some features.

    They are differences from the usual cell of the feature, if it has one, which is written to
    ``at_usual``. ``norms`` are the logarithms of the sums by which each line was divided.
    ``widths`` are those of classes in memory, in levels and in the table.
    """
    width, written = widths
    n_classes = weights.shape[1]
    widest, deepest = _largest(levels, width, features)
    memory, total = np.empty((3, widest)), np.empty(width)
    line_weights = np.zeros((deepest, widest))
    for i in range(features[0], features[1]):
        size = levels.cards[i] * width
        line = memory[0, :size]
        scratch = memory[1, :size]
        power = memory[2, :size]
        _spread_weights(weights, levels.first[i], levels.first[i + 1], width, size, line_weights)
        common = at_usual[i]
        first_line, n_lines = levels.line_start[i], levels.line_start[i + 1] - levels.line_start[i]
        begin = first_line
        if usual[i] >= 0:  # its line comes first, and once more in its place
            begin = np.searchsorted(levels.cell_start, usual[i], side="right") - 1
        for turn in range(-1 if usual[i] >= 0 else 0, n_lines):
            u = begin if turn < 0 else first_line + turn
            at_free = _free_line(free_start, levels, i, u, n_classes)
            _score_line(
                levels, line_weights, i, levels.lines[u], free, at_free, (n_classes, width), line
            )
            _find_norms(line, scratch, power, total, norms[u])
            if turn < 0:
                x = levels.cell_value[usual[i]]
                for c in range(width):
                    common[c] = line[x * width + c] - norms[u, c]
                continue
            for cell in range(levels.cell_start[u], levels.cell_start[u + 1]):
                x = levels.cell_value[cell]
                for c in range(written):
                    table[cell * written + c] = line[x * width + c] - (norms[u, c] + common[c])


@helper
def _complete_usual(gradient, cells, usual, written, total):
    """Write the gradient of the usual cell of a feature: the total minus the other cells."""
    for c in range(written):
        gradient[usual * written + c] = 0.0
    left = total.copy()
    for cell in range(cells[0], cells[1]):
        for c in range(total.size):
            left[c] -= gradient[cell * written + c]
    for c in range(total.size):
        gradient[usual * written + c] = left[c]


@helper
def _sum_cells(gradient, cells, written, total):
    """Write the sum of the gradients of some cells by class; return whether any is not zero."""
    total[:] = 0.0
    found = False
    for cell in range(cells[0], cells[1]):
        for c in range(written):
            number = gradient[cell * written + c]
            total[c] += number
            found |= number != 0.0
    return found


@contracting_helper
def _add_products(before, level, out):
    for k in range(before.size):
        out[k] += before[k] * level[k]


@kernel
def weight_gradient(weights, free, free_start, levels, widths, features, usual, norms, gradient,
                    total, slopes, cells):  # fmt: skip
    """Compute the gradient of weights and free cells from that of the cells of the tables.

    A change of one number of a line changes the normalizing sum, too: the gradient of the numbers
    before they were normalized is g − θ·Σg. The line is computed once more for that, as its levels
    are read anyway. ``total`` is the gradient of a cell that every row has.
    """
    width, written = widths
    n_classes = weights.shape[1]
    widest, deepest = _largest(levels, width, features)
    memory, line_total = np.empty((3, widest)), np.zeros(width)
    line_weights, sums = np.zeros((deepest, widest)), np.empty((deepest, widest))
    for i in range(features[0], features[1]):
        size = levels.cards[i] * width
        first, last = levels.first[i], levels.first[i + 1]
        before = memory[0, :size]
        power = memory[1, :size]
        factors = memory[2, :size]
        _spread_weights(weights, first, last, width, size, line_weights)
        sums[:, :size] = 0.0
        if usual[i] >= 0:
            begin = levels.cell_start[levels.line_start[i]]
            end = levels.cell_start[levels.line_start[i + 1]]
            _complete_usual(gradient, (begin, end), usual[i], written, total)
        for u in range(levels.line_start[i], levels.line_start[i + 1]):
            read = levels.cell_start[u], levels.cell_start[u + 1]
            if not _sum_cells(gradient, read, written, line_total):  # no row reads the line
                continue
            whole = levels.lines[u]
            at_free = _free_line(free_start, levels, i, u, n_classes)
            _score_line(levels, line_weights, i, whole, free, at_free, (n_classes, width), before)
            _minus_shares(before, norms[u], line_total, power, factors)
            for cell in range(*read):
                x = levels.cell_value[cell]
                for c in range(written):
                    before[x * width + c] += gradient[cell * written + c]
            for j in range(first, last):
                at = levels.begin[j] + whole // levels.rest[j] * size
                _add_products(before, levels.values[at : at + size], sums[j - first])
            if at_free >= 0:
                _add_free_gradient(levels, i, before, at_free, (n_classes, width), cells)
        for j in range(first, last):
            for k in range(0, size, width):
                for c in range(n_classes):
                    slopes[j, c] += sums[j - first, k + c]


@helper
def _add_free_gradient(levels, feature, slope, at_free, widths, cells):
    """Add the gradient of each value to that of the free cell of its state."""
    n_classes, width = widths
    start, n = levels.state_start[feature], np.uint64(n_classes)
    for x in range(levels.cards[feature]):
        cell = np.uint64(at_free + levels.state_of[start + x] * n_classes)
        at = np.uint64(x * width)
        for c in range(n):
            cells[cell + c] += slope[at + c]


@kernel
def level_curvature(weights, free, free_start, levels, widths, features, usual, norms, variance,
                    total, of_weights, of_cells):  # fmt: skip
    """Add up the curvature along each weight and each free cell from that along the cells.

    ``variance`` is the curvature along each cell of the tables, ``total`` that of a cell which
    every row has. A weight moves a cell by its level, less the mean of the level over the line; a
    free cell moves the other values of its line the other way.
    """
    width, written = widths
    n_classes = weights.shape[1]
    widest, deepest = _largest(levels, width, features)
    memory, line_total = np.empty((4, widest)), np.zeros(width)
    line_weights, minus = np.zeros((deepest, widest)), np.full(width, -1.0)
    for i in range(features[0], features[1]):
        size = levels.cards[i] * width
        share, power = memory[0, :size], memory[1, :size]
        factors, here = memory[2, :size], memory[3, :size]
        _spread_weights(weights, levels.first[i], levels.first[i + 1], width, size, line_weights)
        if usual[i] >= 0:
            begin = levels.cell_start[levels.line_start[i]]
            end = levels.cell_start[levels.line_start[i + 1]]
            _complete_usual(variance, (begin, end), usual[i], written, total)
        for u in range(levels.line_start[i], levels.line_start[i + 1]):
            read = levels.cell_start[u], levels.cell_start[u + 1]
            if not _sum_cells(variance, read, written, line_total):  # no row reads the line
                continue
            whole = levels.lines[u]
            at_free = _free_line(free_start, levels, i, u, n_classes)
            _score_line(levels, line_weights, i, whole, free, at_free, (n_classes, width), share)
            _minus_shares(share, norms[u], minus, power, factors)
            here[:] = 0.0
            for cell in range(*read):
                x = levels.cell_value[cell]
                for c in range(written):
                    here[x * width + c] += variance[cell * written + c]
            for j in range(levels.first[i], levels.first[i + 1]):
                at = levels.begin[j] + whole // levels.rest[j] * size
                _add_spread(levels.values[at : at + size], share, here, width, of_weights[j])
            if at_free >= 0:
                _add_free_curvature(
                    levels, i, share, here, line_total, at_free, (n_classes, width), factors,
                    of_cells,
                )  # fmt: skip


@helper
def _add_spread(level, share, variance, width, out):
    """Add Σ variance·(level − mean)² of each class column, the mean being that by the shares."""
    for c in range(out.size):
        mean = 0.0
        for k in range(c, level.size, width):
            mean += share[k] * level[k]
        for k in range(c, level.size, width):
            away = level[k] - mean
            out[c] += variance[k] * away * away


@helper
def _add_free_curvature(
    levels, feature, share, variance, total, at_free, widths, of_state, cells
):  # fmt: skip
    """Add Σ variance·(one for a value of the state − share of the state)² for each free cell."""
    n_classes, width = widths
    start = levels.state_start[feature]
    of_state[: levels.n_states[feature] * width] = 0.0
    for x in range(levels.cards[feature]):
        for c in range(n_classes):
            of_state[levels.state_of[start + x] * width + c] += share[x * width + c]
    for s in range(levels.n_states[feature]):
        for c in range(n_classes):
            q = of_state[s * width + c]
            cells[at_free + s * n_classes + c] += q * q * total[c]
    for x in range(levels.cards[feature]):
        s = levels.state_of[start + x]
        for c in range(n_classes):
            q = of_state[s * width + c]
            cells[at_free + s * n_classes + c] += variance[x * width + c] * (1.0 - 2.0 * q)


@kernel
def own_values(weights, own, first, out):
    """Compute what leaving a row out adds to each cell in which there are rows of a class."""
    for i in range(first.size - 1):
        at = own.begin[i]
        for cell in range(own.start[i], own.start[i + 1]):
            out[cell] = 0.0
            for j in range(first[i], first[i + 1]):
                out[cell] += weights[j, own.classes[cell]] * own.left_out[at]
                at += 1


@kernel
def own_gradient(gradient, own, first, slopes):
    """Add the gradient of the weights from that of ``own_values``."""
    for i in range(first.size - 1):
        at = own.begin[i]
        for cell in range(own.start[i], own.start[i + 1]):
            for j in range(first[i], first[i + 1]):
                slopes[j, own.classes[cell]] += gradient[cell] * own.left_out[at]
                at += 1
