"""Normalized tables from weighted levels of a back-off chain, and the gradient of the weights.

Levels may have single precision: lines are computed in that of the levels.

The table of a feature is a softmax, over its values, of Σ weight·level + free cells. A level is
known for the values of the first parents only, so that it has fewer lines than the table: the line
of parents' values ``u`` reads line ``u // rest`` of the level. All classes of all values of a line
are next to each other, and most loops run over a whole line. A line is computed where it stays in
the cache; only the cells that rows read are written.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discbayes.kernels._compile import contracting_kernel, helper, inline_kernel, kernel
from discbayes.kernels.exponential import exp_in_place, exp_single

# numbers whose exponential is far from overflow, in double and in single precision
LARGEST, LARGEST_SINGLE = 600.0, 80.0
SAFE, SAFE_SINGLE = np.exp(LARGEST), np.exp(LARGEST_SINGLE)
SINGLE = 4  # bytes of a number


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


class FreeStates(NamedTuple):
    """Which states of which lines have free cells, one for each class."""

    start: np.ndarray  # the first state of the first line of each feature in ``place``
    place: np.ndarray  # the number of each state of each line among those with free cells, or −1


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


@inline_kernel
def _level_line(levels, level, whole, size):
    """Return where the line of a level begins that a line of the whole table reads.

    Without a sign: indices that cannot be negative need no check. A slice would count references.
    """
    line = np.uint64(whole) // np.uint64(levels.rest[level])
    return np.uint64(levels.begin[level]) + line * size


@inline_kernel
def _group_of(levels, feature, whole):
    """Return the number of the lines that differ in the last parent only, and in the last level."""
    last = levels.first[feature + 1] - 1
    return whole // levels.rest[last - 1] if last > levels.first[feature] else 0


@inline_kernel
def _score_group(levels, weights, feature, whole, line):
    """Write Σ weight·level of all levels but the last one, of a line of the whole table."""
    first, size = levels.first[feature], np.uint64(line.size)
    values = levels.values
    for k in range(size):
        line[k] = 0.0
    for j in range(first, levels.first[feature + 1] - 1):
        at = _level_line(levels, j, whole, size)
        for k in range(size):
            line[k] += weights[j - first, k] * values[at + k]


@inline_kernel
def _score_line(levels, weights, feature, whole, group, free, free_cells, places, widths, line):
    """Write Σ weight·level + free cells of a line, given the sum of all levels but the last."""
    n_classes, width = widths
    size, values = np.uint64(line.size), levels.values
    j = levels.first[feature + 1] - 1
    row, begin = j - levels.first[feature], _level_line(levels, j, whole, size)
    for k in range(size):
        line[k] = group[k] + weights[row, k] * values[begin + k]
    if places >= 0:
        start, n = levels.state_start[feature], np.uint64(n_classes)
        for x in range(levels.cards[feature]):
            place = free_cells.place[places + levels.state_of[start + x]]
            if place >= 0:
                cell, column = np.uint64(place * n_classes), np.uint64(x * width)
                for c in range(n):
                    line[column + c] += free[cell + c]


@inline_kernel
def _free_line(free_cells, levels, feature, line):
    """Return where the numbers of the free cells of a line begin; −1 if there are none."""
    start = free_cells.start[feature]
    at = start + (line - levels.line_start[feature]) * levels.n_states[feature]
    return at if start < free_cells.start[feature + 1] else -1


@inline_kernel
def _largest_of(line):
    """Return a number whose exponential is far from overflow in the precision of a line."""
    return LARGEST_SINGLE if line.itemsize == SINGLE else LARGEST


@inline_kernel
def _exponentials(line, power):
    """Replace the numbers of a line by their exponentials; ``power`` is scratch space."""
    if line.itemsize == SINGLE:
        exp_single(line, power)
    else:
        exp_in_place(line, power)


# Loops over columns of few classes are not vectorized: columns are added up by folding the line in
# the middle, and spread by doubling it, in loops over many values at a time.


@inline_kernel
def _column_sums(line, total):
    """Add up each class column, in the place of the first one."""
    width, n = total.size, line.size // total.size
    while n > 1:
        half = (n + 1) // 2
        upper = np.uint64(half * width)
        for k in range(np.uint64((n - half) * width)):
            line[k] += line[upper + k]
        n = half
    for c in range(width):
        total[c] = line[c]


@inline_kernel
def _spread(column, line):
    """Write the numbers of the classes again and again."""
    for c in range(column.size):
        line[c] = column[c]
    _double(line, column.size)


@inline_kernel
def _double(line, width):
    """Write the first numbers of a line again and again."""
    done = width
    while done < line.size:
        upper = np.uint64(done)
        for k in range(np.uint64(min(done, line.size - done))):
            line[upper + k] = line[k]
        done *= 2


@inline_kernel
def _find_norms(line, scratch, power, total, norms, u):
    """Write the logarithm of the sum of the exponentials of each class column."""
    largest = _largest_of(line)
    limit = line.dtype.type(largest)
    for k in range(line.size):
        scratch[k] = limit if line[k] > limit else line[k]
    _exponentials(scratch, power)
    _column_sums(scratch, total)
    safe = SAFE_SINGLE if line.itemsize == SINGLE else SAFE
    for c in range(total.size):
        if total[c] < 1.0 / safe or total[c] > safe:
            total[c] = _column_norm(line, c, total.size)
        else:
            total[c] = np.log(total[c])
        norms[u, c] = total[c]


@helper
def _column_norm(line, c, width):
    """Return the norm of a column whose exponentials may overflow."""
    top, total = -np.inf, 0.0
    for k in range(c, line.size, width):
        top = max(top, line[k])
    for k in range(c, line.size, width):
        total += np.exp(line[k] - top)
    return top + np.log(total)


@inline_kernel
def _minus_shares(line, norms, u, total, power, factors):
    """Replace the numbers of a line by minus their shares of the totals of the classes."""
    extreme = False
    for c in range(total.size):
        extreme |= abs(norms[u, c]) > _largest_of(line)
    if extreme:
        _spread(norms[u], factors)
        for k in range(line.size):
            line[k] -= factors[k]
    _exponentials(line, power)
    for c in range(total.size):
        factors[c] = -total[c] if extreme else -total[c] * np.exp(-norms[u, c])
    _double(factors, total.size)
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


@contracting_kernel
def weighted_tables(weights, free, free_cells, levels, widths, features, usual, at_usual, norms,
                    table):  # fmt: skip
    """Compute the cells that are read of the tables of some features.

    They are differences from the usual cell of the feature, if it has one, which is written to
    ``at_usual``. ``norms`` are the logarithms of the sums by which each line was divided.
    ``widths`` are those of classes in memory, in levels and in the table.
    """
    width, written = widths
    n_classes = weights.shape[1]
    widest, deepest = _largest(levels, width, features)
    precise = levels.values.dtype
    memory, total = np.empty((4, widest), precise), np.empty(width)
    line_weights = np.zeros((deepest, widest), precise)
    for i in range(features[0], features[1]):
        size = levels.cards[i] * width
        line = memory[0, :size]
        scratch = memory[1, :size]
        power = memory[2, :size]
        group, group_now = memory[3, :size], -1
        _spread_weights(weights, levels.first[i], levels.first[i + 1], width, size, line_weights)
        common = at_usual[i]
        first_line, n_lines = levels.line_start[i], levels.line_start[i + 1] - levels.line_start[i]
        begin = first_line
        if usual[i] >= 0:  # its line comes first, and once more in its place
            begin = np.searchsorted(levels.cell_start, usual[i], side="right") - 1
        for turn in range(-1 if usual[i] >= 0 else 0, n_lines):
            u = begin if turn < 0 else first_line + turn
            whole, places = levels.lines[u], _free_line(free_cells, levels, i, u)
            group_here = _group_of(levels, i, whole)
            if group_here != group_now:
                _score_group(levels, line_weights, i, whole, group)
                group_now = group_here
            _score_line(
                levels, line_weights, i, whole, group, free, free_cells, places,
                (n_classes, width), line,
            )  # fmt: skip
            _find_norms(line, scratch, power, total, norms, u)
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


@inline_kernel
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


@inline_kernel
def _add_products(before, values, at, out, row):
    """Add products with the values from ``at`` on to a row."""
    for k in range(np.uint64(before.size)):
        out[row, k] += before[k] * values[at + k]


@inline_kernel
def _add_group(levels, feature, whole, group, out):
    """Add products with all levels but the last one to their rows, and write zeros to the group."""
    first = levels.first[feature]
    for j in range(first, levels.first[feature + 1] - 1):
        at = _level_line(levels, j, whole, np.uint64(group.size))
        _add_products(group, levels.values, at, out, j - first)
    group[:] = 0.0


@contracting_kernel
def weight_gradient(weights, free, free_cells, levels, widths, features, usual, norms, gradient,
                    total, slopes, cells):  # fmt: skip
    """Compute the gradient of weights and free cells from that of the cells of the tables.

    A change of one number of a line changes the normalizing sum, too: the gradient of the numbers
    before they were normalized is g − θ·Σg. The line is computed once more for that, as its levels
    are read anyway. ``total`` is the gradient of a cell that every row has.
    """
    width, written = widths
    n_classes = weights.shape[1]
    widest, deepest = _largest(levels, width, features)
    precise = levels.values.dtype
    memory, line_total = np.empty((5, widest), precise), np.zeros(width)
    line_weights = np.zeros((deepest, widest), precise)
    sums = np.empty((deepest, widest), precise)
    for i in range(features[0], features[1]):
        size = levels.cards[i] * width
        first, last = levels.first[i], levels.first[i + 1]
        before = memory[0, :size]
        power = memory[1, :size]
        factors = memory[2, :size]
        # of the lines that read the same lines of all levels but the last: scores, and gradients
        group, group_total = memory[3, :size], memory[4, :size]
        group_now, of_group = -1, 0
        group_total[:] = 0.0
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
            places = _free_line(free_cells, levels, i, u)
            group_here = _group_of(levels, i, whole)
            if group_here != group_now:
                _add_group(levels, i, of_group, group_total, sums)
                _score_group(levels, line_weights, i, whole, group)
                group_now, of_group = group_here, whole
            _score_line(
                levels, line_weights, i, whole, group, free, free_cells, places,
                (n_classes, width), before,
            )  # fmt: skip
            _minus_shares(before, norms, u, line_total, power, factors)
            for cell in range(*read):
                x = levels.cell_value[cell]
                for c in range(written):
                    before[x * width + c] += gradient[cell * written + c]
            at = _level_line(levels, last - 1, whole, np.uint64(size))
            _add_products(before, levels.values, at, sums, last - 1 - first)
            for k in range(np.uint64(size)):
                group_total[k] += before[k]
            if places >= 0:
                _add_free_gradient(levels, i, before, free_cells, places, (n_classes, width), cells)
        _add_group(levels, i, of_group, group_total, sums)
        for j in range(first, last):
            for k in range(0, size, width):
                for c in range(n_classes):
                    slopes[j, c] += sums[j - first, k + c]


@inline_kernel
def _add_free_gradient(levels, feature, slope, free_cells, places, widths, cells):
    """Add the gradient of each value to that of the free cell of its state.

    Values of the same state that are next to each other are added up first, by folding, in the
    place of the first one: ``slope`` is not read again.
    """
    n_classes, width = widths
    start, card = levels.state_start[feature], levels.cards[feature]
    n, first = np.uint64(n_classes), 0
    while first < card:
        state, last = levels.state_of[start + first], first + 1
        while last < card and levels.state_of[start + last] == state:
            last += 1
        place = free_cells.place[places + state]
        if place >= 0:
            column, many = np.uint64(first * width), last - first
            while many > 1:
                half = (many + 1) // 2
                upper = column + np.uint64(half * width)
                for k in range(np.uint64((many - half) * width)):
                    slope[column + k] += slope[upper + k]
                many = half
            cell = np.uint64(place * n_classes)
            for c in range(n):
                cells[cell + c] += slope[column + c]
        first = last


@kernel
def level_curvature(weights, free, free_cells, levels, widths, features, usual, norms, variance,
                    total, of_weights, of_cells):  # fmt: skip
    """Add up the curvature along each weight and each free cell from that along the cells.

    ``variance`` is the curvature along each cell of the tables, ``total`` that of a cell which
    every row has. A weight moves a cell by its level, less the mean of the level over the line; a
    free cell moves the other values of its line the other way.
    """
    width, written = widths
    n_classes = weights.shape[1]
    widest, deepest = _largest(levels, width, features)
    precise = levels.values.dtype
    memory, line_total = np.empty((5, widest), precise), np.zeros(width)
    line_weights, minus = np.zeros((deepest, widest), precise), np.full(width, -1.0)
    for i in range(features[0], features[1]):
        size = levels.cards[i] * width
        share, power = memory[0, :size], memory[1, :size]
        factors = memory[2, :size]
        here, group = memory[3, :size], memory[4, :size]
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
            places = _free_line(free_cells, levels, i, u)
            _score_group(levels, line_weights, i, whole, group)
            _score_line(
                levels, line_weights, i, whole, group, free, free_cells, places,
                (n_classes, width), share,
            )  # fmt: skip
            _minus_shares(share, norms, u, minus, power, factors)
            here[:] = 0.0
            for cell in range(*read):
                x = levels.cell_value[cell]
                for c in range(written):
                    here[x * width + c] += variance[cell * written + c]
            for j in range(levels.first[i], levels.first[i + 1]):
                at = levels.begin[j] + whole // levels.rest[j] * size
                _add_spread(levels.values[at : at + size], share, here, width, of_weights[j])
            if places >= 0:
                _add_free_curvature(
                    levels, i, share, here, line_total, free_cells.place[places:],
                    (n_classes, width), factors, of_cells,
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
    levels, feature, share, variance, total, places, widths, of_state, cells
):  # fmt: skip
    """Add Σ variance·(one for a value of the state − share of the state)² for each free cell."""
    n_classes, width = widths
    start = levels.state_start[feature]
    of_state[: levels.n_states[feature] * width] = 0.0
    for x in range(levels.cards[feature]):
        for c in range(n_classes):
            of_state[levels.state_of[start + x] * width + c] += share[x * width + c]
    for s in range(levels.n_states[feature]):
        if places[s] < 0:
            continue
        for c in range(n_classes):
            q = of_state[s * width + c]
            cells[places[s] * n_classes + c] += q * q * total[c]
    for x in range(levels.cards[feature]):
        s = levels.state_of[start + x]
        if places[s] < 0:
            continue
        for c in range(n_classes):
            q = of_state[s * width + c]
            cells[places[s] * n_classes + c] += variance[x * width + c] * (1.0 - 2.0 * q)


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
