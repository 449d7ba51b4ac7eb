"""Projection of rows of tables to {ω : Σ exp ω ≤ 1}.

Outside of that set the nearest point p of x satisfies p + ν·exp(p) = x with the ν > 0 for which
Σ exp p = 1. As a function of ν, 1 / Σ exp p increases and is concave: from any start Newton's
method approaches ν from below, and with the second derivative it needs fewer steps. The shares
w = exp(p), which solve log w + ν·w = x, follow ν step by step.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel, small_helper

ROUNDING = 1e-15  # times the length of a row: the tolerance of its sum above one
HIGH = 100.0  # a row with a value above this stays on the log scale until its ν is known
NOTHING = 1e-310  # a share up to this is not changed
NEAR = 1e-6  # a sum this near to one is one, to rounding, after a last step of third order
# relative steps of a share after which little is left, or nothing but rounding
COARSE, FINE = 0.1, 1e-5
MAX_PASSES = 100  # through a row


@small_helper
def _moved(share, nu, further):
    """Extrapolate the share at ν to ν + ``further``: 1 / w is almost linear."""
    scale = 1.0 / (1.0 + nu * share)
    step = further * share * scale
    bend = 0.5 * step * step * scale if step < 0.5 else 0.0
    return share / (1.0 + step - bend)


@small_helper
def _corrected(share, nu, step, scale):
    """Correct a share by a step of third order, given Newton's ``step`` for log w + ν·w = x."""
    if step > 0.5:
        return share * (1.0 + step)
    if step < -0.5:
        return share * np.exp(step)
    third = (1.0 - 2.0 * nu * share) * scale * scale / 6.0
    return share * (1.0 + step * (1.0 + step * (0.5 * scale + step * third)))


@small_helper
def _solved(share, x, nu):
    """Solve log w + ν·w = x near ``share``; return w, 1 / (1 + ν·w) and the size of the step."""
    scale = 1.0 / (1.0 + nu * share)
    step = (x - nu * share - np.log(share)) * scale
    while abs(step) > COARSE:
        share = _corrected(share, nu, step, scale)
        scale = 1.0 / (1.0 + nu * share)
        step = (x - nu * share - np.log(share)) * scale
    solution = _corrected(share, nu, step, scale)
    return solution, scale * (1.0 - nu * (solution - share) * scale), abs(step)


@small_helper
def _rise(total, squares, cubes):
    """Return the increase of ν: Newton's step for 1 / Σw, or Halley's if that is safe."""
    excess = total - 1.0
    newton = excess * total / squares
    bend = 0.5 * excess * (cubes * total / (squares * squares) - 2.0)
    return newton / (1.0 - bend) if abs(excess) < 1.0 and abs(bend) < 0.5 else newton


@helper
def _project_row(numbers, first, stop, stride, out):
    """Project one row: the values from ``first`` on that are ``stride`` apart."""
    length = (stop - first + stride - 1) // stride
    top = numbers[first]
    for k in range(first + stride, stop, stride):
        top = max(top, numbers[k])
    total = np.inf
    squares = 0.0
    cubes = 0.0
    if not top > HIGH:
        total = 0.0
        for k in range(first, stop, stride):
            share = np.exp(numbers[k])
            total += share
            squares += share * share
            cubes += share * share * share
            out[k] = share
    if length == 1 or not total > 1.0 + ROUNDING * length:
        for k in range(first, stop, stride):
            out[k] = min(numbers[k], 0.0)
        return
    nu, further = 0.0, 0.0
    if not top > HIGH:
        further = max(_rise(total, squares, 3.0 * cubes), np.log(total))
    else:  # ν is at least log Σ exp x
        nu = top
        for k in range(first, stop, stride):
            share = np.exp(-abs(numbers[k]))
            out[k] = 1.0 / (share + nu) if numbers[k] > 0.0 else share / (1.0 + nu * share)
    worst = 0.0
    for _ in range(MAX_PASSES):
        if abs(total - 1.0) <= NEAR and worst <= FINE:
            break
        there = nu + further
        unit = 1.0 + there
        total = 0.0
        squares = 0.0
        cubes = 0.0
        worst = 0.0
        for k in range(first, stop, stride):
            if out[k] > NOTHING:
                share, scale, size = _solved(_moved(out[k], nu, further), numbers[k], there)
                worst = max(worst, size)
                pull = share * scale * unit
                total += share
                squares += share * pull
                cubes += share * pull * pull * (2.0 + scale)
                out[k] = share
        nu, further = there, max(_rise(total, squares, cubes) * unit, -0.5 * there)
    there = nu + further
    for k in range(first, stop, stride):
        share = _moved(out[k], nu, further)
        number = numbers[k] - there * share if there * share <= 1.0 else np.log(share)
        out[k] = min(number, 0.0)


@kernel
def project_rows(numbers, offsets, cards, n_classes, out):
    """Project every row of every table, over the values of its feature, to Σ exp ω ≤ 1.

    Minus infinity stays. Rows in the set stay as they are, which includes all projected rows.
    ``out`` is another array.
    """
    for i in range(cards.size):
        width = cards[i] * n_classes
        for base in range(offsets[i], offsets[i + 1], width):
            for first in range(base, base + n_classes):
                _project_row(numbers, first, base + width, n_classes, out)
