"""One step of variable elimination: factors that have an axis are multiplied and summed over it.

Where values are to be chosen afterwards (``row_completion``), the operands of all steps are kept:
their entries stay in the workspace, and their strides along the scope in the scratch arrays.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, small_helper
from discbayes.kernels._pointers import shifted
from discbayes.kernels.contraction import MAX_SCOPE, multiply, reduce_products, sum_products

SUM = 0  # over the missing values
MAX = 1  # of them, to be traced back
DRAW = 2  # sum, and draw values on the way back
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
def _multiply_small(cells, n_operands, bucket, n_factors, top, end, first, tables, s):
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
            alike = small if k < hit else large  # factors of the same scope as either go along
            is_taken = k == hit or (s.n_axes[f] == s.n_axes[alike] and _contains(alike, f, s))
            if is_taken:
                axes = shifted(s.axes, large * MAX_SCOPE)
                _add_operand(f, first + n_taken, axes, n_scope, s)
                n_taken += 1
                low *= s.low[f]
            if k == hit or not is_taken:
                s.operands[n_left] = n_factors if k == hit else f
                s.sizes[n_left] = s.sizes[k]
                n_left += 1
        n_operands = n_left
        for x in range(n_scope):
            s.scope_dims[x] = s.dims[s.axes[large * MAX_SCOPE + x]]
        multiply(
            cells, n_taken, shifted(s.operand_base, first),
            shifted(s.operand_strides, first * MAX_SCOPE), s.scope_dims, n_scope, width,
            tables.on_logs, top, s.at, s.digits,
        )  # fmt: skip
        top += _new_factor(
            n_factors, shifted(s.axes, large * MAX_SCOPE), n_scope, top, width, low, s
        )
        n_factors += 1
    return n_operands, n_factors, top


@helper
def take_logs(n_classes, s):
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
            take_logs(tables.n_classes, s)
        s.product[c] *= best
    return low


@small_helper
def _keep_step(step, first, n_operands, n_scope, s):
    """Note where the operands of a step are, and the axes of its scope."""
    s.step_first[step] = first
    s.step_operands[step] = n_operands
    s.step_size[step] = n_scope
    for x in range(n_scope):
        s.step_scope[step * MAX_SCOPE + x] = s.scope[x]


@helper
def run_step(step, cells, top, end, n_factors, first, mode, scaled, tables, s):
    """Eliminate one axis by operands that are written from number ``first`` on.

    Returns the number of factors, where the free workspace begins, and the next free operand. Where
    a product of the step may leave the range of a double, the number of factors is −1.
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
        return -1, top, first
    n_scope = _unite_scopes(n_operands, s)
    width = tables.width
    lines = 1
    for x in range(n_scope - 1):
        lines *= s.dims[s.scope[x]]
    message = top
    message_end = top + lines * width
    top = message_end
    if n_operands > 2 and n_scope > 1:
        bucket = float(lines * s.dims[step])
        n_operands, n_factors, top = _multiply_small(
            cells, n_operands, bucket, n_factors, top, end, first, tables, s
        )
    for j in range(n_operands):
        _add_operand(s.operands[j], first + j, s.scope, n_scope, s)
    for x in range(n_scope):
        s.scope_dims[x] = s.dims[s.scope[x]]
    bases = shifted(s.operand_base, first)
    strides = shifted(s.operand_strides, first * MAX_SCOPE)
    if tables.on_logs or mode == MAX:
        reduce_products(
            cells, n_operands, bases, strides, s.scope_dims, n_scope, width, mode == MAX,
            tables.on_logs, message, s.at, s.digits,
        )  # fmt: skip
    else:
        sum_products(
            cells, n_operands, bases, strides, s.scope_dims, n_scope, width, message, s.at, s.digits
        )
    if mode == SUM:
        top = message_end  # products were for this step only
    else:
        _keep_step(step, first, n_operands, n_scope, s)
        first += n_operands
    low = 1.0
    if scaled:
        low = _scale_message(cells, message, message_end, tables, s)
    if n_scope == 1:
        if tables.on_logs:
            for c in range(tables.n_classes):
                s.total[c] += cells[message + c]
        elif not scaled:
            for c in range(width):
                s.product[c] *= cells[message + c]
        return n_factors, top, first
    _new_factor(n_factors, s.scope, n_scope - 1, message, width, low, s)
    later = s.scope[n_scope - 2]
    s.following[n_factors] = s.first[later]
    s.first[later] = n_factors
    return n_factors + 1, top, first
