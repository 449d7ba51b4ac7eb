"""Exact marginalization of the missing values of rows, by variable elimination row by row.

The factors of a row (``row_factors``) fall into components that share no axis. In each of them the
axes are eliminated one by one (``elimination_order``): the factors that have the axis are
multiplied and summed over it in one pass (``contraction``), and the sum, the *message*, is a factor
of a later step. Small factors whose axes another one has as well are multiplied into that first, so
that few factors meet over the large scope.

Entries are at most one by their tables' scale, and the smallest positive ones are known. So a bound
shows whether any product of a component could leave the range of a double. If one could, messages
are divided by their largest entry in each class; where even that may lose an entry, the row is left
to tables of logarithms.
"""

from __future__ import annotations

from discbayes.kernels._compile import helper, kernel
from discbayes.kernels._pointers import pointer, pointers, shifted
from discbayes.kernels.contraction import MAX_SCOPE
from discbayes.kernels.elimination_order import best_order, find_components
from discbayes.kernels.elimination_step import (
    MAX,
    MAX_PRODUCT,
    MIN_PRODUCT,
    SUM,
    run_step,
    take_logs,
)
from discbayes.kernels.row_factors import find_axes, find_factors, use_by_step

DONE = 0
TOO_LARGE = 1  # more cells than allowed at once or in all
OUT_OF_RANGE = 2  # needs logarithms
MIN_SAFE = 1e-200  # bounds within which no message is scaled
MAX_SAFE = 1e200


@helper
def _plan_row(n_factors, n_axes, mode, tables, s):
    """Order the axes of every component; return how many, the cells in all, the most at once.

    Cells at once are the entries of all messages of a component, which stand in the workspace, or
    of all components where values are to be chosen.
    """
    n_words = (n_axes + 63) // 64
    n_components = find_components(s.graph, n_axes, n_words, s.component, s.stack)
    for q in range(n_components + 1):
        s.component_start[q] = 0
    for a in range(n_axes):
        s.component_start[s.component[a] + 1] += 1
    for q in range(n_components):
        s.component_start[q + 1] += s.component_start[q]
        s.stack[q] = s.component_start[q]
        s.component_low[q] = 1.0
        s.component_high[q] = 1.0
    for a in range(n_axes):
        q = s.component[a]
        s.nodes[s.stack[q]] = a
        s.stack[q] += 1
    for f in range(n_factors):
        q = s.component[s.axes[f * MAX_SCOPE]]
        s.component_low[q] *= s.low[f]
        s.component_high[q] *= s.high[f]
    total = 0.0
    largest = 0.0
    for q in range(n_components):
        start = s.component_start[q]
        size = s.component_start[q + 1] - start
        cells = s.states[s.nodes[start]]
        messages = 1.0
        s.steps[start] = s.nodes[start]
        if size > 1:
            cells, messages = best_order(
                n_words, shifted(s.nodes, start), size, tables.n_classes, s, shifted(s.steps, start)
            )
        s.component_cells[q] = cells
        total += cells
        largest = max(largest, messages) if mode == SUM else largest + messages
    return n_components, total * tables.n_classes, largest * tables.width


@helper
def _add_single(cells, n_factors, n_open, tables, s):
    """Multiply the factors without axes; return the bounds on the product."""
    low = 1.0
    high = 1.0
    for f in range(n_factors, n_open):
        base = s.base[f]
        if tables.on_logs:
            for c in range(tables.n_classes):
                s.total[c] += cells[base + c]
            continue
        if low * s.low[f] < MIN_SAFE or high > MAX_SAFE:
            take_logs(tables.n_classes, s)
            low = 1.0
        low *= s.low[f]
        high = 0.0
        for c in range(tables.width):
            s.product[c] *= cells[base + c]
            high = max(high, s.product[c])
    return low, high


@helper
def _run_components(cells, begin, end, at_once, n_components, n_factors, n_open, mode, tables, s):
    """Eliminate all axes of a planned row; return whether all products are in range."""
    for step in range(s.component_start[n_components]):
        axis = s.steps[step]
        s.step_of[axis] = step
        s.dims[step] = tables.states[s.features[axis]]
    use_by_step(n_factors, s.component_start[n_components], s)
    low, high = _add_single(cells, n_factors, n_open, tables, s)
    top = begin
    count = n_open
    operand = 0
    for q in range(n_components):
        own_low = s.component_low[q]
        own_high = s.component_high[q]
        scaled = not tables.on_logs and not (own_low >= MIN_SAFE and own_high <= MAX_SAFE)
        if scaled:
            own_low = 1.0
            own_high = 1.0
            take_logs(tables.n_classes, s)
            low = 1.0
            high = 1.0
        elif not tables.on_logs and (low * own_low < MIN_PRODUCT or high * own_high > MAX_PRODUCT):
            take_logs(tables.n_classes, s)
            low = 1.0
            high = 1.0
        low *= own_low
        high *= own_high
        if mode == SUM:
            top = begin
            count = n_open
            operand = 0
        for step in range(s.component_start[q], s.component_start[q + 1]):
            # what products may take: messages of later steps need no more than all of them
            free = end if mode == SUM else end - at_once
            count, top, operand = run_step(
                step, cells, top, free, count, operand, mode, scaled, tables, s
            )
            if count < 0:
                return False
        if scaled:
            take_logs(tables.n_classes, s)
    if not tables.on_logs:
        take_logs(tables.n_classes, s)
    return True


@helper
def eliminate_row(row, n_features, tables, cells, begin, end, max_cells, mode, s):
    """Write the total of a row; return its status, its cells in all and the most at once."""
    shift = 0.0
    in_range = True
    for c in range(tables.width):
        s.product[c] = 1.0
        s.total[c] = 0.0
    every = mode == MAX or not tables.is_normalized
    n_axes, n_open = find_axes(row, n_features, tables, every, s)
    if n_open == 0:
        return DONE, 0.0, 0.0
    if not tables.on_logs:
        for f in range(n_open):
            shift += tables.shifts[s.families[f]]
            in_range &= tables.smallest[s.families[f]] > 0.0
    n_factors = find_factors(row, tables, n_open, n_axes, s)
    n_components, n_cells, at_once = _plan_row(n_factors, n_axes, mode, tables, s)
    if n_cells > max_cells or at_once > end - begin:
        return TOO_LARGE, n_cells, at_once
    if not in_range or not _run_components(
        cells, begin, end, int(at_once), n_components, n_factors, n_open, mode, tables, s
    ):
        return OUT_OF_RANGE, n_cells, at_once
    for c in range(tables.n_classes):
        s.total[c] += shift
    return DONE, n_cells, at_once


@kernel
def eliminate_rows(codes, rows, tables, cells, begin, end, scratch, max_cells, out, status, costs):
    """Add to ``out[rows[r]]`` what the open families of row ``r`` of the codes give.

    ``cells`` holds the tables; from ``begin`` to ``end`` it is workspace. The cells of each row in
    all, and those of messages at once, go to ``costs``. A row is left as it is, with a ``status``
    of its own, where it needs more than ``max_cells`` in all or than the workspace at once, or
    where its numbers are out of range.
    """
    n_features = codes.shape[1]
    every_row = pointer(codes.reshape(codes.size))
    numbers = pointer(cells)
    tables_here = pointers(tables)
    s = pointers(scratch)
    for r in range(codes.shape[0]):
        row = shifted(every_row, r * n_features)
        status[r], costs[r, 0], costs[r, 1] = eliminate_row(
            row, n_features, tables_here, numbers, begin, end, max_cells, SUM, s
        )
        if status[r] == DONE:
            for c in range(tables.n_classes):
                out[rows[r], c] += s.total[c]


@kernel
def plan_components(codes, tables, scratch, every, component, cells):
    """Write the component of each feature of the first row that is an axis, and their cells.

    Returns the number of components.
    """
    tables_here = pointers(tables)
    s = pointers(scratch)
    n_features = codes.shape[1]
    row = pointer(codes.reshape(codes.size))
    n_axes, n_open = find_axes(row, n_features, tables_here, every or not tables.is_normalized, s)
    n_factors = find_factors(row, tables_here, n_open, n_axes, s)
    n_components, _, _ = _plan_row(n_factors, n_axes, SUM, tables_here, s)
    for a in range(n_axes):
        component[s.features[a]] = s.component[a]
    for q in range(n_components):
        cells[q] = s.component_cells[q] * tables.n_classes
    return n_components


@kernel
def row_costs(codes, tables, scratch, keeps_all, costs):
    """Write the cells of each row in all, and those of messages at once (``eliminate_rows``).

    With ``keeps_all`` values are to be chosen, for which the messages of all steps are kept.
    """
    tables_here = pointers(tables)
    s = pointers(scratch)
    n_features = codes.shape[1]
    every_row = pointer(codes.reshape(codes.size))
    mode = MAX if keeps_all else SUM
    for r in range(codes.shape[0]):
        row = shifted(every_row, r * n_features)
        _, costs[r, 0], costs[r, 1] = eliminate_row(
            row, n_features, tables_here, s.product, 0, 0, -1.0, mode, s
        )
