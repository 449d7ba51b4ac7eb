"""Normalized tables from weighted levels of a back-off chain, and the gradient of the weights.

The table of a feature is a softmax, over its values, of Σ weight·level + free cells. A level is
known for the values of the first parents only, so that it has fewer lines than the table: the line
of parents' values ``u`` reads line ``u // rest`` of the level. All classes of all values of a line
are next to each other, and most loops run over a whole line.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discbayes.kernels._compile import helper, kernel
from discbayes.kernels.exponential import exp_in_place


class LevelArrays(NamedTuple):
    """Levels of all features, one after the other, and where their numbers are."""

    offsets: np.ndarray  # the first cell of each table of the network
    cards: np.ndarray
    first: np.ndarray  # the first level of each feature
    begin: np.ndarray  # the first number of each level
    rest: np.ndarray  # lines of the table that read the same line of the level
    values: np.ndarray  # the levels: log p, and logarithms of the ratios to the level below
    left_out: np.ndarray  # what is added where the row that reads a cell is left out of the counts
    state_start: np.ndarray
    state_of: np.ndarray  # the state of each value, to which a free cell belongs
    n_states: np.ndarray
    line_start: np.ndarray  # the first line of each table among those that are computed
    lines: np.ndarray  # which lines of the whole table they are


@helper
def _spread_weights(weights, first, last, size, out):
    """Write the weights of some levels for a whole line: those of the classes, again and again."""
    n_classes = weights.shape[1]
    for j in range(first, last):
        for k in range(0, size, n_classes):
            for c in range(n_classes):
                out[j - first, k + c] = weights[j, c]


@helper
def _add_level(weight, level, out):
    for k in range(out.size):
        out[k] += weight[k] * level[k]


@helper
def _to_probabilities(log_theta, power, out):
    """Write the exponentials of a line of numbers that are at most zero."""
    for k in range(out.size):
        out[k] = log_theta[k]
    exp_in_place(out, power)


@kernel
def weighted_tables(weights, free, free_start, levels, n_classes, features, log_theta, own):
    """Compute the tables of some features, and ``own``: what leaving a row out adds to them."""
    first_feature, last_feature = features
    widest, deepest = _largest(levels, n_classes, features)
    scratch, power = np.empty(widest), np.empty(widest)
    top, total = np.empty(n_classes), np.empty(n_classes)
    line_weights = np.empty((deepest, widest))
    for i in range(first_feature, last_feature):
        card = levels.cards[i]
        size = card * n_classes
        n_lines = (levels.offsets[i + 1] - levels.offsets[i]) // size
        first = levels.first[i]
        _spread_weights(weights, first, levels.first[i + 1], size, line_weights)
        for u in range(n_lines):
            whole = levels.lines[levels.line_start[i] + u]
            begin = levels.offsets[i] + u * size
            line, own_line = log_theta[begin : begin + size], own[begin : begin + size]
            line[:] = 0.0
            own_line[:] = 0.0
            for j in range(first, levels.first[i + 1]):
                at = levels.begin[j] + whole // levels.rest[j] * size
                weight = line_weights[j - first]
                _add_level(weight, levels.values[at : at + size], line)
                _add_level(weight, levels.left_out[at : at + size], own_line)
            if free_start[i] < free_start[i + 1]:
                states = levels.state_of[levels.state_start[i] : levels.state_start[i] + card]
                at = free_start[i] + u * levels.n_states[i] * n_classes
                _add_free(free[at:], states, n_classes, line)
            _normalize(line, card, n_classes, top, total, scratch[:size], power[:size])


@helper
def _largest(levels, n_classes, features):
    """Return the length of the longest line, and the largest number of levels."""
    first_feature, last_feature = features
    widest, deepest = 0, 0
    for i in range(first_feature, last_feature):
        widest = max(widest, levels.cards[i] * n_classes)
        deepest = max(deepest, levels.first[i + 1] - levels.first[i])
    return widest, deepest


@helper
def _is_zero(numbers):
    for number in numbers:
        if number != 0.0:
            return False
    return True


@helper
def _add_free(free, states, n_classes, line):
    """Add the free cell of the state of each value."""
    for x in range(states.size):
        for c in range(n_classes):
            line[x * n_classes + c] += free[states[x] * n_classes + c]


@helper
def _add_free_gradient(slope, states, n_classes, free):
    """Add the gradient of each value to that of the free cell of its state."""
    for x in range(states.size):
        for c in range(n_classes):
            free[states[x] * n_classes + c] += slope[x * n_classes + c]


@helper
def _normalize(line, card, n_classes, top, total, scratch, power):
    """Subtract from each class column the logarithm of the sum of its exponentials."""
    for c in range(n_classes):
        top[c] = line[c]
        total[c] = 0.0
    for x in range(1, card):
        for c in range(n_classes):
            number = line[x * n_classes + c]
            top[c] = number if number > top[c] else top[c]
    for x in range(card):
        for c in range(n_classes):
            scratch[x * n_classes + c] = line[x * n_classes + c] - top[c]
    exp_in_place(scratch, power)
    for x in range(card):
        for c in range(n_classes):
            total[c] += scratch[x * n_classes + c]
    for c in range(n_classes):
        top[c] += np.log(total[c])
    for x in range(card):
        for c in range(n_classes):
            line[x * n_classes + c] -= top[c]


@kernel
def weight_gradient(log_theta, gradient, own_gradient, free_start, levels, n_classes, features,
                    weights, free):  # fmt: skip
    """Compute the gradient of weights and free cells from that of the tables and of ``own``.

    A change of one number of a line changes the normalizing sum, too: the gradient of the numbers
    before they were normalized is g − θ·Σg.
    """
    first_feature, last_feature = features
    widest, deepest = _largest(levels, n_classes, features)
    scratch, power = np.empty(widest), np.empty(widest)
    total = np.empty(n_classes)
    sums = np.empty((deepest, widest))
    for i in range(first_feature, last_feature):
        card = levels.cards[i]
        size = card * n_classes
        n_lines = (levels.offsets[i + 1] - levels.offsets[i]) // size
        first = levels.first[i]
        sums[:, :size] = 0.0
        for u in range(n_lines):
            whole = levels.lines[levels.line_start[i] + u]
            begin = levels.offsets[i] + u * size
            slope, own_slope = gradient[begin : begin + size], own_gradient[begin : begin + size]
            if _is_zero(slope):  # no row reads the line
                continue
            before = scratch[:size]
            _to_probabilities(log_theta[begin : begin + size], power[:size], before)
            total[:] = 0.0
            for x in range(card):
                for c in range(n_classes):
                    total[c] += slope[x * n_classes + c]
            for x in range(card):
                for c in range(n_classes):
                    k = x * n_classes + c
                    before[k] = slope[k] - before[k] * total[c]
            for j in range(first, levels.first[i + 1]):
                at = levels.begin[j] + whole // levels.rest[j] * size
                level, left_out = levels.values[at : at + size], levels.left_out[at : at + size]
                total_line = sums[j - first]
                for k in range(size):
                    total_line[k] += before[k] * level[k] + own_slope[k] * left_out[k]
            if free_start[i] < free_start[i + 1]:
                states = levels.state_of[levels.state_start[i] : levels.state_start[i] + card]
                at = free_start[i] + u * levels.n_states[i] * n_classes
                _add_free_gradient(before, states, n_classes, free[at:])
        for j in range(first, levels.first[i + 1]):
            for k in range(0, size, n_classes):
                for c in range(n_classes):
                    weights[j, c] += sums[j - first, k + c]
