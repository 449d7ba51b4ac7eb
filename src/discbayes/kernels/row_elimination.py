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

import numpy as np

from discbayes.kernels._compile import helper, kernel, small_helper
from discbayes.kernels._pointers import pointer, pointers, shifted
from discbayes.kernels.contraction import MAX_SCOPE, multiply, reduce_products, sum_products
from discbayes.kernels.elimination_order import best_order, find_components
from discbayes.kernels.row_factors import (
    find_axes,
    find_factors,
    use_by_step,
)

DONE = 0
TOO_LARGE = 1  # more cells than allowed at once or in all
OUT_OF_RANGE = 2  # needs logarithms
MIN_SAFE = 1e-200  # bounds within which no message is scaled
MAX_SAFE = 1e200
MIN_PRODUCT = 1e-290  # a product below may lose digits
MAX_PRODUCT = 1e290
MIN_SAVED = 64.0  # entries that multiplying two factors beforehand must save


@small_helper
def _unite_scopes(n_operands, s):
    """Write the union of the axes of all operands, in their order, and return its size."""
    first = s.operands[0]
    n_scope = s.n_axes[first]
    for x in range(n_scope):
        s.scope[x] = s.axes[first * MAX_SCOPE + x]
    for j in range(1, n_operands):
        f = s.operands[j]
        size = s.n_axes[f]
        x = 0
        y = 0
        z = 0
        while x < n_scope or y < size:
            if y >= size or (x < n_scope and s.scope[x] > s.axes[f * MAX_SCOPE + y]):
                s.merged[z] = s.scope[x]
                x += 1
            else:
                s.merged[z] = s.axes[f * MAX_SCOPE + y]
                x += x < n_scope and s.scope[x] == s.axes[f * MAX_SCOPE + y]
                y += 1
            z += 1
        if z > n_scope:
            n_scope = z
            for x in range(z):
                s.scope[x] = s.merged[x]
    return n_scope


@small_helper
def _add_operand(f, j, scope, n_scope, s):
    """Write where factor ``f`` begins and its strides along a scope, as operand ``j``."""
    s.operand_base[j] = s.base[f]
    size = s.n_axes[f]
    y = 0
    for x in range(n_scope):
        stride = 0
        if y < size and s.axes[f * MAX_SCOPE + y] == scope[x]:
            stride = s.strides[f * MAX_SCOPE + y]
            y += 1
        s.operand_strides[j * MAX_SCOPE + x] = stride


@small_helper
def _contains(f, g, s):
    """Whether factor ``f`` has all axes of ``g``."""
    y = 0
    for x in range(s.n_axes[f]):
        if y < s.n_axes[g] and s.axes[g * MAX_SCOPE + y] == s.axes[f * MAX_SCOPE + x]:
            y += 1
    return y == s.n_axes[g]


@small_helper
def _new_factor(f, scope, n_scope, base, width, low, s):
    """Write a factor that is stored densely, and return the number of its entries."""
    s.base[f] = base
    s.n_axes[f] = n_scope
    s.low[f] = low
    stride = width
    for x in range(n_scope - 1, -1, -1):
        s.axes[f * MAX_SCOPE + x] = scope[x]
        s.strides[f * MAX_SCOPE + x] = stride
        stride *= s.dims[scope[x]]
    return stride


@small_helper
def _sort_operands(n_operands, s):
    """Sort the operands by their number of entries."""
    for j in range(n_operands):
        f = s.operands[j]
        size = 1.0
        for x in range(s.n_axes[f]):
            size *= s.dims[s.axes[f * MAX_SCOPE + x]]
        k = j
        while k > 0 and s.sizes[k - 1] > size:
            s.operands[k] = s.operands[k - 1]
            s.sizes[k] = s.sizes[k - 1]
            k -= 1
        s.operands[k] = f
        s.sizes[k] = size


@small_helper
def _find_container(j, n_operands, max_size, s):
    """Return the smallest later operand that has all axes of operand ``j``, or −1."""
    for k in range(j + 1, n_operands):
        if s.sizes[k] > max_size:
            break
        if _contains(s.operands[k], s.operands[j], s):
            return k
    return -1


@helper
def _multiply_small(cells, n_operands, bucket, n_factors, top, end, tables, s):
    """Multiply operands whose axes another one has into that, where this saves products later.

    Returns the numbers of operands and of factors, and where the free part of the workspace begins.
    """
    width = tables.width
    _sort_operands(n_operands, s)
    j = 0
    while j < n_operands and n_operands > 2:
        hit = _find_container(j, n_operands, bucket / 2, s)
        if hit < 0 or (bucket - 2 * s.sizes[hit]) * width < MIN_SAVED:
            j += 1
            continue
        small = s.operands[j]
        large = s.operands[hit]
        size = s.sizes[hit]
        if top + size * width > end:
            break
        n_scope = s.n_axes[large]
        n_taken = 0
        n_left = j
        low = 1.0
        for k in range(j, n_operands):
            f = s.operands[k]
            same = s.n_axes[small] if k < hit else n_scope
            if k == hit or (s.n_axes[f] == same and _contains(small if k < hit else large, f, s)):
                _add_operand(f, n_taken, shifted(s.axes, large * MAX_SCOPE), n_scope, s)
                n_taken += 1
                low *= s.low[f]
            if k == hit:
                s.operands[n_left] = n_factors
                s.sizes[n_left] = size
                n_left += 1
            elif not (s.n_axes[f] == same and _contains(small if k < hit else large, f, s)):
                s.operands[n_left] = f
                s.sizes[n_left] = s.sizes[k]
                n_left += 1
        n_operands = n_left
        for x in range(n_scope):
            s.scope_dims[x] = s.dims[s.axes[large * MAX_SCOPE + x]]
        multiply(
            cells, n_taken, s.operand_base, s.operand_strides, s.scope_dims, n_scope, width,
            tables.on_logs, top, s.at, s.digits,
        )  # fmt: skip
        top += _new_factor(
            n_factors, shifted(s.axes, large * MAX_SCOPE), n_scope, top, width, low, s
        )
        n_factors += 1
    return n_operands, n_factors, top


@helper
def _take_logs(n_classes, s):
    """Move the product to the logarithms, and start again at one."""
    for c in range(n_classes):
        s.total[c] += np.log(s.product[c])
        s.product[c] = 1.0


@helper
def _scale_message(cells, begin, end, tables, s):
    """Divide a message by its largest entry in each class, which goes to the product.

    Returns the smallest positive entry that is left.
    """
    width = tables.width
    low = 1.0
    for c in range(tables.n_classes):
        best = 0.0
        for k in range(begin + c, end, width):
            best = max(best, cells[k])
        if best > 0.0:
            for k in range(begin + c, end, width):
                cells[k] /= best
                if 0.0 < cells[k] < low:
                    low = cells[k]
        grown = s.product[c] * best
        if best > 0.0 and s.product[c] > 0.0 and not MIN_PRODUCT < grown < MAX_PRODUCT:
            _take_logs(tables.n_classes, s)
        s.product[c] *= best
    return low


@helper
def _run_step(step, cells, top, end, n_factors, scaled, tables, s):
    """Eliminate one axis; return the number of factors and where the free workspace begins.

    Where a product of the step may leave the range of a double, the number of factors is −1.
    """
    n_operands = 0
    f = s.first[step]
    low = 1.0
    while f >= 0:
        s.operands[n_operands] = f
        low *= s.low[f]
        n_operands += 1
        f = s.following[f]
    if scaled and low < MIN_PRODUCT:
        return -1, top
    n_scope = _unite_scopes(n_operands, s)
    width = tables.width
    lines = 1
    for x in range(n_scope - 1):
        lines *= s.dims[s.scope[x]]
    message = top
    top += lines * width
    if n_operands > 2 and n_scope > 1:
        bucket = float(lines * s.dims[step])
        n_operands, n_factors, _ = _multiply_small(
            cells, n_operands, bucket, n_factors, top, end, tables, s
        )
    for j in range(n_operands):
        _add_operand(s.operands[j], j, s.scope, n_scope, s)
    for x in range(n_scope):
        s.scope_dims[x] = s.dims[s.scope[x]]
    if tables.on_logs:
        reduce_products(
            cells, n_operands, s.operand_base, s.operand_strides, s.scope_dims, n_scope, width,
            False, True, message, s.at, s.digits,
        )  # fmt: skip
    else:
        sum_products(
            cells,
            n_operands,
            s.operand_base,
            s.operand_strides,
            s.scope_dims,
            n_scope,
            width,
            message,
            s.at,
            s.digits,
        )
    low = 1.0
    if scaled:
        low = _scale_message(cells, message, top, tables, s)
    if n_scope == 1:
        if tables.on_logs:
            for c in range(tables.n_classes):
                s.total[c] += cells[message + c]
        elif not scaled:
            for c in range(width):
                s.product[c] *= cells[message + c]
        return n_factors, message
    _new_factor(n_factors, s.scope, n_scope - 1, message, width, low, s)
    later = s.scope[n_scope - 2]
    s.following[n_factors] = s.first[later]
    s.first[later] = n_factors
    return n_factors + 1, top


@helper
def _plan_row(n_factors, n_axes, tables, s):
    """Order the axes of every component; return how many, the cells in all, the most at once.

    Cells at once are the entries of all messages of a component, which stand in the workspace.
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
        largest = max(largest, messages)
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
            _take_logs(tables.n_classes, s)
            low = 1.0
        low *= s.low[f]
        high = 0.0
        for c in range(tables.width):
            s.product[c] *= cells[base + c]
            high = max(high, s.product[c])
    return low, high


@helper
def _run_components(cells, begin, end, n_components, n_factors, n_open, tables, s):
    """Eliminate all axes of a planned row; return whether all products are in range."""
    for step in range(s.component_start[n_components]):
        axis = s.steps[step]
        s.step_of[axis] = step
        s.dims[step] = tables.states[s.features[axis]]
    use_by_step(n_factors, s.component_start[n_components], s)
    low, high = _add_single(cells, n_factors, n_open, tables, s)
    for q in range(n_components):
        own_low = s.component_low[q]
        own_high = s.component_high[q]
        scaled = not tables.on_logs and not (own_low >= MIN_SAFE and own_high <= MAX_SAFE)
        if scaled:
            own_low = 1.0
            own_high = 1.0
            _take_logs(tables.n_classes, s)
            low = 1.0
            high = 1.0
        elif not tables.on_logs and (low * own_low < MIN_PRODUCT or high * own_high > MAX_PRODUCT):
            _take_logs(tables.n_classes, s)
            low = 1.0
            high = 1.0
        low *= own_low
        high *= own_high
        top = begin
        count = n_open
        for step in range(s.component_start[q], s.component_start[q + 1]):
            count, top = _run_step(step, cells, top, end, count, scaled, tables, s)
            if count < 0:
                return False
        if scaled:
            _take_logs(tables.n_classes, s)
    if not tables.on_logs:
        _take_logs(tables.n_classes, s)
    return True


@helper
def _eliminate_row(row, n_features, tables, cells, begin, end, max_cells, s):
    """Write the total of a row; return its status, its cells in all and the most at once."""
    shift = 0.0
    in_range = True
    for c in range(tables.width):
        s.product[c] = 1.0
        s.total[c] = 0.0
    n_axes, n_open = find_axes(row, n_features, tables, not tables.is_normalized, s)
    if n_open == 0:
        return DONE, 0.0, 0.0
    if not tables.on_logs:
        for f in range(n_open):
            shift += tables.shifts[s.families[f]]
            in_range &= tables.smallest[s.families[f]] > 0.0
    n_factors = find_factors(row, tables, n_open, n_axes, s)
    n_components, n_cells, at_once = _plan_row(n_factors, n_axes, tables, s)
    if n_cells > max_cells or at_once > end - begin:
        return TOO_LARGE, n_cells, at_once
    if not in_range or not _run_components(
        cells, begin, end, n_components, n_factors, n_open, tables, s
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
        status[r], costs[r, 0], costs[r, 1] = _eliminate_row(
            row, n_features, tables_here, numbers, begin, end, max_cells, s
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
    n_components, _, _ = _plan_row(n_factors, n_axes, tables_here, s)
    for a in range(n_axes):
        component[s.features[a]] = s.component[a]
    for q in range(n_components):
        cells[q] = s.component_cells[q] * tables.n_classes
    return n_components
