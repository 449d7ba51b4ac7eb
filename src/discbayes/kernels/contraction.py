"""Products of several factors over the axes of a scope, with or without the sum over the last axis.

A factor is a range of one flat array: where it begins, and how far apart its entries are along each
axis of the scope, zero along an axis that it does not have (``MAX_SCOPE`` numbers for a factor).
The classes are innermost, ``width`` of them: one, two or a multiple of four. The product of all
factors is never stored where it is summed.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import contracting_helper, helper, small_helper
from discbayes.kernels._vectors import SIZE, load, plus, store, times

PAIR = 2
MAX_SCOPE = 40  # axes of a factor: with two states each, more would need terabytes


@small_helper
def _advance(n_factors, strides, dims, last, at, digits):
    """Move to the next line of the scope, like an odometer over the axes before the last."""
    k = last - 1
    while k >= 0:
        digits[k] += 1
        for j in range(n_factors):
            at[j] += strides[j * MAX_SCOPE + k]
        if digits[k] < dims[k]:
            break
        for j in range(n_factors):
            at[j] -= digits[k] * strides[j * MAX_SCOPE + k]
        digits[k] = 0
        k -= 1


@small_helper
def _begin(n_factors, bases, dims, last, at, digits):
    """Move to the first line of the scope, and return the number of lines."""
    lines = 1
    for k in range(last):
        lines *= dims[k]
        digits[k] = 0
    for j in range(n_factors):
        at[j] = bases[j]
    return lines


@small_helper
def _sum_one(cells, n_factors, at, strides, last, n_values, target):
    """Sum a line of products for one class."""
    total = 0.0
    p = at[0]
    if n_factors == 1:
        for _v in range(n_values):
            total += cells[p]
            p += strides[last]
    elif n_factors == PAIR:
        q = at[1]
        for _v in range(n_values):
            total += cells[p] * cells[q]
            p += strides[last]
            q += strides[MAX_SCOPE + last]
    else:
        for v in range(n_values):
            product = cells[p]
            for j in range(1, n_factors):
                product *= cells[at[j] + v * strides[j * MAX_SCOPE + last]]
            total += product
            p += strides[last]
    cells[target] = total


@small_helper
def _sum_two(cells, n_factors, at, strides, last, n_values, target):
    """Sum a line of products for two classes."""
    first = 0.0
    second = 0.0
    p = at[0]
    if n_factors == 1:
        for _v in range(n_values):
            first += cells[p]
            second += cells[p + 1]
            p += strides[last]
    elif n_factors == PAIR:  # the usual case, without a loop over factors
        q = at[1]
        for _v in range(n_values):
            first += cells[p] * cells[q]
            second += cells[p + 1] * cells[q + 1]
            p += strides[last]
            q += strides[MAX_SCOPE + last]
    else:
        for v in range(n_values):
            x = cells[p]
            y = cells[p + 1]
            for j in range(1, n_factors):
                k = at[j] + v * strides[j * MAX_SCOPE + last]
                x *= cells[k]
                y *= cells[k + 1]
            first += x
            second += y
            p += strides[last]
    cells[target] = first
    cells[target + 1] = second


@small_helper
def _sum_four(cells, n_factors, at, strides, last, n_values, target, c):
    """Sum a line of products for four classes from ``c`` on."""
    p = at[0] + c
    s = strides[last]
    total = load(cells, p)
    if n_factors == 1:
        for _v in range(1, n_values):
            p += s
            total = plus(total, load(cells, p))
    elif n_factors == PAIR:
        q = at[1] + c
        total = times(total, load(cells, q))
        for _v in range(1, n_values):
            p += s
            q += strides[MAX_SCOPE + last]
            total = plus(total, times(load(cells, p), load(cells, q)))
    else:
        for j in range(1, n_factors):
            total = times(total, load(cells, at[j] + c))
        for v in range(1, n_values):
            p += s
            product = load(cells, p)
            for j in range(1, n_factors - 1):
                product = times(product, load(cells, at[j] + c + v * strides[j * MAX_SCOPE + last]))
            j = n_factors - 1
            other = load(cells, at[j] + c + v * strides[j * MAX_SCOPE + last])
            total = plus(total, times(product, other))
    store(total, cells, target + c)


@small_helper
def _sum_eight(cells, n_factors, at, strides, last, n_values, target, c):
    """Sum a line of products for eight classes from ``c`` on: two registers hide the latency."""
    p = at[0] + c
    s = strides[last]
    left = load(cells, p)
    right = load(cells, p + SIZE)
    if n_factors == 1:
        for _v in range(1, n_values):
            p += s
            left = plus(left, load(cells, p))
            right = plus(right, load(cells, p + SIZE))
    elif n_factors == PAIR:
        q = at[1] + c
        s_q = strides[MAX_SCOPE + last]
        left = times(left, load(cells, q))
        right = times(right, load(cells, q + SIZE))
        for _v in range(1, n_values):
            p += s
            q += s_q
            left = plus(left, times(load(cells, p), load(cells, q)))
            right = plus(right, times(load(cells, p + SIZE), load(cells, q + SIZE)))
    else:
        for j in range(1, n_factors):
            q = at[j] + c
            left = times(left, load(cells, q))
            right = times(right, load(cells, q + SIZE))
        for v in range(1, n_values):
            p += s
            x = load(cells, p)
            y = load(cells, p + SIZE)
            for j in range(1, n_factors - 1):
                q = at[j] + c + v * strides[j * MAX_SCOPE + last]
                x = times(x, load(cells, q))
                y = times(y, load(cells, q + SIZE))
            j = n_factors - 1
            q = at[j] + c + v * strides[j * MAX_SCOPE + last]
            left = plus(left, times(x, load(cells, q)))
            right = plus(right, times(y, load(cells, q + SIZE)))
    store(left, cells, target + c)
    store(right, cells, target + c + SIZE)


@contracting_helper
def sum_products(cells, n_factors, bases, strides, dims, n_axes, width, target, at, digits):
    """Write the sum over the last axis of the product of the factors, one entry for each line."""
    last = n_axes - 1
    n_values = dims[last]
    lines = _begin(n_factors, bases, dims, last, at, digits)
    for _line in range(lines):
        if width == 1:
            _sum_one(cells, n_factors, at, strides, last, n_values, target)
        elif width == PAIR:
            _sum_two(cells, n_factors, at, strides, last, n_values, target)
        else:
            c = 0
            while c + SIZE < width:
                _sum_eight(cells, n_factors, at, strides, last, n_values, target, c)
                c += 2 * SIZE
            if c < width:
                _sum_four(cells, n_factors, at, strides, last, n_values, target, c)
        target += width
        _advance(n_factors, strides, dims, last, at, digits)


@helper
def multiply(cells, n_factors, bases, strides, dims, n_axes, width, on_logs, target, at, digits):
    """Write the product of the factors, one entry for each cell; of logarithms it is their sum."""
    last = n_axes - 1
    lines = _begin(n_factors, bases, dims, last, at, digits)
    for _line in range(lines):
        for v in range(dims[last]):
            if width >= SIZE and not on_logs:
                for c in range(0, width, SIZE):
                    product = load(cells, at[0] + v * strides[last] + c)
                    for j in range(1, n_factors):
                        k = at[j] + v * strides[j * MAX_SCOPE + last] + c
                        product = times(product, load(cells, k))
                    store(product, cells, target + c)
            else:
                for c in range(width):
                    x = cells[at[0] + v * strides[last] + c]
                    for j in range(1, n_factors):
                        y = cells[at[j] + v * strides[j * MAX_SCOPE + last] + c]
                        x = x + y if on_logs else x * y
                    cells[target + c] = x
            target += width
        _advance(n_factors, strides, dims, last, at, digits)


@small_helper
def line_entry(cells, n_factors, at, strides, last, v, c, on_logs):
    """Return the product of the factors, or the sum of logarithms, at one value of a line."""
    entry = cells[at[0] + v * strides[last] + c]
    for j in range(1, n_factors):
        other = cells[at[j] + v * strides[j * MAX_SCOPE + last] + c]
        entry = entry + other if on_logs else entry * other
    return entry


@helper
def reduce_products(cells, n_factors, bases, strides, dims, n_axes, width, maximize, on_logs,
                    target, at, digits):  # fmt: skip
    """Write the largest product of each line, or of logarithms the sum: the seldom used ways."""
    last = n_axes - 1
    lines = _begin(n_factors, bases, dims, last, at, digits)
    for _line in range(lines):
        for c in range(width):
            best = line_entry(cells, n_factors, at, strides, last, 0, c, on_logs)
            for v in range(1, dims[last]):
                best = max(best, line_entry(cells, n_factors, at, strides, last, v, c, on_logs))
            if not maximize and best > -np.inf:
                total = 0.0
                for v in range(dims[last]):
                    x = line_entry(cells, n_factors, at, strides, last, v, c, on_logs)
                    total += np.exp(x - best)
                best += np.log(total)
            cells[target + c] = best
        target += width
        _advance(n_factors, strides, dims, last, at, digits)
