"""Values for the missing features of rows: the jointly most probable ones, or draws.

After an elimination (``row_elimination``) that keeps its operands, states of the axes are chosen
in the opposite order: the entries of an axis given the states of later steps are one line of
products. Then each feature has one of the values of its state, by its own table.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel, small_helper
from discbayes.kernels._pointers import pointer, pointers, shifted
from discbayes.kernels.contraction import MAX_SCOPE, line_entry
from discbayes.kernels.elimination_step import DRAW, MAX
from discbayes.kernels.row_elimination import DONE, eliminate_row

ANY_STATE = -1


@helper
def _choose(weights, n_values, on_logs, mode, uniform):
    """Return the first value of the largest weight, or one drawn in proportion to the weights.

    Returns what is left of the uniform number as well, which is uniform again.
    """
    best = 0
    for v in range(1, n_values):
        if weights[v] > weights[best]:
            best = v
    top = weights[best]
    if mode == MAX or top == -np.inf or (top == 0.0 and not on_logs):
        return best, uniform
    total = 0.0
    for v in range(n_values):
        weights[v] = np.exp(weights[v] - top) if on_logs else weights[v]
        total += weights[v]
    target = uniform * total
    running = 0.0
    last = best  # rounding may leave the target above the whole sum
    for v in range(n_values):
        if weights[v] > 0.0:
            last = v
            if target < running + weights[v]:
                return v, min((target - running) / weights[v], 1.0)
            running += weights[v]
    return last, 0.0


@helper
def _choose_states(cells, n_steps, c, mode, uniforms, tables, s, weights):
    """Choose the state of every axis for class ``c``, the one eliminated last first."""
    for step in range(n_steps - 1, -1, -1):
        first = s.step_first[step]
        strides = shifted(s.operand_strides, first * MAX_SCOPE)
        n_operands = s.step_operands[step]
        last = s.step_size[step] - 1
        for j in range(n_operands):
            at = s.operand_base[first + j]
            for x in range(last):
                at += strides[j * MAX_SCOPE + x] * s.chosen[s.step_scope[step * MAX_SCOPE + x]]
            s.at[j] = at
        for v in range(s.dims[step]):
            weights[v] = line_entry(cells, n_operands, s.at, strides, last, v, c, tables.on_logs)
        i = s.features[s.steps[step]]
        s.chosen[step], uniforms[i] = _choose(
            weights, s.dims[step], tables.on_logs, mode, uniforms[i]
        )
        s.state[i] = s.chosen[step]


@helper
def _choose_value(i, cells, c, mode, uniforms, tables, s, weights):
    """Return a value of feature ``i`` in its state, given the states of its parents."""
    base = tables.observed[i] + c
    for k in range(tables.parent_start[i], tables.parent_start[i + 1]):
        base += s.state[tables.parent_index[k]] * tables.observed_stride[k]
    first = -1
    n_values = 0
    for v in range(tables.cards[i]):
        is_in = s.state[i] == ANY_STATE or tables.state_of[tables.state_start[i] + v] == s.state[i]
        weights[v] = cells[base + v * tables.width] if is_in else -1.0
        if tables.on_logs and not is_in:
            weights[v] = -np.inf
        if is_in:
            n_values += 1
            if first < 0:
                first = v
    if n_values == 1:
        return first
    for v in range(tables.cards[i]):  # where nothing is possible the first value stands
        if weights[v] < 0.0 and not tables.on_logs:
            weights[v] = 0.0 if mode == DRAW else -1.0
    value, _ = _choose(weights, tables.cards[i], tables.on_logs, mode, uniforms[i])
    if (not tables.on_logs and weights[value] <= 0.0) or weights[value] == -np.inf:
        return first
    return value


@small_helper
def _choose_class(out, n_classes, mode, uniform, weights):
    """Return the class of the largest log-joint, or draw one in proportion."""
    for c in range(n_classes):
        weights[c] = out[c]
    return _choose(weights, n_classes, True, mode, uniform)[0]


@helper
def _complete_row(row, n_features, cells, c, mode, uniforms, tables, s, weights, filled):
    """Write a value of every feature of a row that was eliminated for class ``c``."""
    n_steps = 0
    for i in range(n_features):
        code = row[i]
        if code < tables.cards[i]:
            s.state[i] = tables.state_of[tables.state_start[i] + code]
        else:
            s.state[i] = max(code - tables.cards[i] - 1, 0) if s.needed[i] else ANY_STATE
        n_steps += s.axis[i] >= 0
    _choose_states(cells, n_steps, c, mode, uniforms, tables, s, weights)
    for at in range(n_features):
        i = tables.order[at]
        filled[i] = row[i]
        if row[i] >= tables.cards[i]:
            filled[i] = _choose_value(i, cells, c, mode, uniforms, tables, s, weights)
            s.state[i] = tables.state_of[tables.state_start[i] + filled[i]]


@kernel
def complete_rows(codes, rows, tables, cells, begin, end, scratch, max_cells, mode, uniforms,
                  classes, out, filled, status, costs):  # fmt: skip
    """Choose a class, unless it is given, and a value of every missing feature of rows.

    ``out`` holds the sums of the families without a missing value, and gets the log-joint, or with
    ``MAX`` its maximum over the missing values. ``rows`` are the rows of it and of the arrays
    ``uniforms`` (by feature, and one for the class), ``classes`` (−1 if not known) and ``filled``;
    ``status`` and ``costs`` are those of ``eliminate_rows``.
    """
    n_features = codes.shape[1]
    every_row = pointer(codes.reshape(codes.size))
    numbers = pointer(cells)
    tables_here = pointers(tables)
    s = pointers(scratch)
    n_weights = tables.n_classes
    for i in range(n_features):
        n_weights = max(n_weights, tables.cards[i])
    lines = np.empty(n_weights)
    weights = pointer(lines)
    uniform = pointer(uniforms.reshape(uniforms.size))
    values = pointer(filled.reshape(filled.size))
    for r in range(codes.shape[0]):
        row = shifted(every_row, r * n_features)
        status[r], costs[r, 0], costs[r, 1] = eliminate_row(
            row, n_features, tables_here, numbers, begin, end, max_cells, mode, s
        )
        if status[r] != DONE:
            continue
        at = rows[r]
        for c in range(tables.n_classes):
            out[at, c] += s.total[c]
        here = shifted(uniform, at * (n_features + 1))
        if classes[at] < 0:
            classes[at] = _choose_class(out[at], tables.n_classes, mode, here[n_features], weights)
        _complete_row(
            row, n_features, numbers, classes[at], mode, here, tables_here, s, weights,
            shifted(values, at * n_features),
        )  # fmt: skip
    lines[0] = 0.0  # the last use of the array: until here it is alive
