"""Sums over components of missing values, and expected counts of the cells of their tables.

The derivative of the logarithm of such a sum with respect to the logarithm of a table cell is
P(cell | observed values, c), the expected count of the cell. The steps of a plan give the sum
(``component_plans`` explains them), and the chain rule gives the derivatives from the last step to
the first: a factor gets, in each cell, the share that the product there has in its sum. Messages
are computed again on that way, as they are in the cache then, so that only the sums are kept.

Tables are divided by their largest entry. Where a sum is so small nevertheless that terms of it
could have been lost, its component is marginalized on the log scale.

The classes of a cell are ``wide`` consecutive numbers, a multiple of four.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discbayes.kernels._compile import helper, kernel, small_helper
from discbayes.kernels._vectors import load, plus, store, times
from discbayes.kernels.component_plans import HEADER, STEP_HEADER
from discbayes.kernels.exponential import exp_in_place

FOUR = 4
EIGHT = 8
MIN_ENTRY = 1e-300  # of a table that is divided by its largest entry: less is zero
MIN_SUM = 1e-200  # beside it, terms that were lost as zero do not matter


class ComponentCells(NamedTuple):
    """The distinct components of rows (``components``), and the plans of their patterns."""

    base_start: np.ndarray
    bases: np.ndarray
    plan_start: np.ndarray
    plans: np.ndarray


class Marginals(NamedTuple):
    """The sums of all components, and the tables that they are of."""

    values: np.ndarray  # entries of the tables, then space for the messages of each thread
    sums: np.ndarray
    in_logs: np.ndarray  # components whose sums are logarithms


@kernel
def scale_tables(cells, offsets, used, n_classes, wide, shifts, theta):
    """Write the entries of the tables that are used, divided by exp(``shifts``)."""
    for i in range(used.size):
        if not used[i]:
            continue
        block = cells[offsets[i] : offsets[i + 1]].copy()
        top = -np.inf
        for x in block:
            top = max(top, x)
        shifts[i] = top if top > -np.inf else 0.0
        for k in range(block.size):
            block[k] -= shifts[i]
        exp_in_place(block, np.empty(block.size))
        at = offsets[i] // n_classes * wide
        for k in range(0, block.size, n_classes):
            for c in range(n_classes):
                theta[at + c] = 0.0 if block[k + c] < MIN_ENTRY else block[k + c]
            for c in range(n_classes, wide):
                theta[at + c] = 0.0
            at += wide


@small_helper
def _product(values, address, stride, n_factors, v, c):
    """Return the product of the factors at one value of the feature that is summed over."""
    product = load(values, np.uint64(address[0] + v * stride[0] + c))
    for j in range(1, n_factors):
        product = times(product, load(values, np.uint64(address[j] + v * stride[j] + c)))
    return product


@small_helper
def _log_product(values, address, stride, n_factors, v, c):
    """Return the sum of the logarithms of the factors."""
    total = values[address[0] + v * stride[0] + c]
    for j in range(1, n_factors):
        total += values[address[j] + v * stride[j] + c]
    return total


@helper
def _sum_line(values, address, stride, n_factors, card, wide, out):
    """Write the sum of the products of one line: all axes but the last have one value."""
    c = 0
    while c + FOUR < wide:
        left = _product(values, address, stride, n_factors, 0, c)
        right = _product(values, address, stride, n_factors, 0, c + FOUR)
        for v in range(1, card):
            left = plus(left, _product(values, address, stride, n_factors, v, c))
            right = plus(right, _product(values, address, stride, n_factors, v, c + FOUR))
        store(left, values, np.uint64(out + c))
        store(right, values, np.uint64(out + c + FOUR))
        c += EIGHT
    if c < wide:
        left = _product(values, address, stride, n_factors, 0, c)
        for v in range(1, card):
            left = plus(left, _product(values, address, stride, n_factors, v, c))
        store(left, values, np.uint64(out + c))


@helper
def _log_sum_line(values, address, stride, n_factors, card, wide, out):
    """Write the logarithm of the sum of the products of one line, all of them logarithms."""
    for c in range(wide):
        top = -np.inf
        for v in range(card):
            top = max(top, _log_product(values, address, stride, n_factors, v, c))
        total = 0.0
        for v in range(card):
            if top > -np.inf:
                total += np.exp(_log_product(values, address, stride, n_factors, v, c) - top)
        values[out + c] = top + np.log(total) if total > 0.0 else top


@helper
def _share_line(values, address, stride, n_factors, card, wide, shift, ratio, shares, adjoint):
    """Add to each factor the shares of its cells in the sum of one line."""
    for v in range(card):
        for c in range(0, wide, FOUR):
            share = times(
                load(ratio, np.uint64(c)), _product(values, address, stride, n_factors, v, c)
            )
            store(share, shares, np.uint64(v * wide + c))
    # one factor after the other, as the compiler then keeps the addresses in registers
    for j in range(n_factors):
        at = address[j] - shift[j]
        step = stride[j]
        for first in range(0, card * wide, wide):
            for c in range(0, wide, FOUR):
                total = plus(load(adjoint, np.uint64(at + c)), load(shares, np.uint64(first + c)))
                store(total, adjoint, np.uint64(at + c))
            at += step


@helper
def _log_share_line(values, address, stride, n_factors, card, wide, shift, out, given, adjoint):
    """Add to each factor the shares of its cells in the sum of one line of logarithms."""
    for c in range(wide):
        if values[out + c] == -np.inf:
            continue
        for v in range(card):
            log_share = _log_product(values, address, stride, n_factors, v, c) - values[out + c]
            share = adjoint[given + c] * np.exp(log_share)
            for j in range(n_factors):
                adjoint[address[j] - shift[j] + v * stride[j] + c] += share


@small_helper
def _find_factors(plan, step, bases, slot, wide, address, stride):
    """Write where the factors of a step begin, and their strides along the sum."""
    n_factors, n_axes = plan[step + 1], plan[step + 2]
    at = step + STEP_HEADER + n_axes
    for j in range(n_factors):
        source = plan[at]
        address[j] = bases[source] * wide if source >= 0 else slot + (-1 - source) * wide
        stride[j] = plan[at + 1 + n_axes] * wide
        at += n_axes + 2


@small_helper
def _next_line(plan, step, digits, wide, address):
    """Move the factors to the next line, like an odometer; return False after the last."""
    n_factors, n_axes = plan[step + 1], plan[step + 2]
    axis = n_axes - 1
    while axis >= 0:
        digits[axis] += 1
        card = plan[step + STEP_HEADER + axis]
        ends = digits[axis] == card
        at = step + STEP_HEADER + n_axes + 1 + axis
        for j in range(n_factors):
            address[j] += plan[at] * wide * (1 - card if ends else 1)
            at += n_axes + 2
        if not ends:
            return True
        digits[axis] = 0
        axis -= 1
    return False


@small_helper
def _run_step(plan, step, bases, values, slot, wide, on_logs, address, stride, digits):
    """Compute the message of a step."""
    _find_factors(plan, step, bases, slot, wide, address, stride)
    card, n_factors = plan[step], plan[step + 1]
    out = slot + plan[step + 3] * wide
    goes_on = True
    while goes_on:
        if on_logs:
            _log_sum_line(values, address, stride, n_factors, card, wide, out)
        else:
            _sum_line(values, address, stride, n_factors, card, wide, out)
        out += wide
        goes_on = _next_line(plan, step, digits, wide, address)


@small_helper
def _return_step(plan, step, bases, values, slot, wide, on_logs, address, stride, digits, shift,
                 ratio, shares, own_slot, adjoint):  # fmt: skip
    """Share the adjoint of the message of a step among its factors."""
    _find_factors(plan, step, bases, slot, wide, address, stride)
    card, n_factors = plan[step], plan[step + 1]
    for j in range(n_factors):
        shift[j] = slot - own_slot if address[j] >= slot else 0
    out, given = slot + plan[step + 3] * wide, own_slot + plan[step + 3] * wide
    goes_on = True
    while goes_on:
        if on_logs:
            _log_share_line(values, address, stride, n_factors, card, wide, shift, out, given,
                            adjoint)  # fmt: skip
        else:
            for c in range(wide):
                # what sums to zero has no share in anything
                ratio[c] = adjoint[given + c] / values[out + c] if values[out + c] > 0.0 else 0.0
            _share_line(
                values, address, stride, n_factors, card, wide, shift, ratio, shares, adjoint
            )
        out += wide
        given += wide
        goes_on = _next_line(plan, step, digits, wide, address)


@helper
def _most_factors(plans, plan_start):
    """Return a bound on the factors, and on the axes, of all steps of all plans."""
    most = 1
    for p in range(plan_start.size - 1):
        if plan_start[p + 1] > plan_start[p]:
            most = max(most, 4 * plans[plan_start[p]])
    return most


@kernel
def sum_components(cells, first, last, marginals, slot, wide, on_logs, shifts, n_classes, out):
    """Marginalize components ``first`` to ``last``, those on the log scale or the others.

    Their logarithms are written to the rows of ``out``. Components that need the log scale are
    marked.
    """
    values = marginals.values
    n_most = _most_factors(cells.plans, cells.plan_start)
    address, stride = np.empty(n_most, np.int64), np.empty(n_most, np.int64)
    digits = np.zeros(n_most, np.int64)
    for k in range(first, last):
        if marginals.in_logs[k] != on_logs:
            continue
        pattern = cells.bases[cells.base_start[k]]
        bases = cells.bases[cells.base_start[k] + 1 : cells.base_start[k + 1]]
        plan = cells.plans[cells.plan_start[pattern] : cells.plan_start[pattern + 1]]
        step = HEADER + bases.size
        while step < plan.size:
            _run_step(plan, step, bases, values, slot, wide, on_logs, address, stride, digits)
            step += STEP_HEADER + plan[step + 2] + plan[step + 1] * (plan[step + 2] + 2)
        root = slot + (plan[2] - 1) * wide
        shift = 0.0
        for t in range(bases.size):
            shift += shifts[plan[HEADER + t]]
        for c in range(wide):
            marginals.sums[k * wide + c] = values[root + c]
        for c in range(n_classes):
            if on_logs:
                out[k, c] = values[root + c]
            elif values[root + c] < MIN_SUM:
                marginals.in_logs[k] = True
            else:
                out[k, c] = np.log(values[root + c]) + shift


@kernel
def add_expected(cells, first, last, marginals, slot, wide, on_logs, n_classes, max_card, residual,
                 own_slot, adjoint):  # fmt: skip
    """Add ``residual`` times the expected counts of components ``first`` to ``last``.

    They are added to the cells of the tables in ``adjoint``; from ``own_slot`` on it has space for
    the messages of one component.
    """
    values = marginals.values
    n_most = _most_factors(cells.plans, cells.plan_start)
    address, stride = np.empty(n_most, np.int64), np.empty(n_most, np.int64)
    digits, shift = np.zeros(n_most, np.int64), np.empty(n_most, np.int64)
    ratio, shares = np.empty(wide), np.empty(max_card * wide)
    for k in range(first, last):
        if marginals.in_logs[k] != on_logs:
            continue
        pattern = cells.bases[cells.base_start[k]]
        bases = cells.bases[cells.base_start[k] + 1 : cells.base_start[k + 1]]
        plan = cells.plans[cells.plan_start[pattern] : cells.plan_start[pattern + 1]]
        step = HEADER + bases.size
        while step < plan[1]:
            _run_step(plan, step, bases, values, slot, wide, on_logs, address, stride, digits)
            step += STEP_HEADER + plan[step + 2] + plan[step + 1] * (plan[step + 2] + 2)
        root = (plan[2] - 1) * wide
        for at in range(own_slot, own_slot + root + wide):
            adjoint[at] = 0.0
        for c in range(wide):
            values[slot + root + c] = marginals.sums[k * wide + c]
        for c in range(n_classes):
            adjoint[own_slot + root + c] = residual[k, c]
        step = plan[1]
        while step >= 0:
            _return_step(plan, step, bases, values, slot, wide, on_logs, address, stride, digits,
                         shift, ratio, shares, own_slot, adjoint)  # fmt: skip
            step = plan[step + 4]
