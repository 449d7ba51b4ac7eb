"""The exponential function of many numbers, in loops that the compiler vectorizes."""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import contracting_helper

PER_LN2 = 1.0 / np.log(2.0)
# ln 2 in two parts; the first has zeros at its end, so that n·LN2_HIGH is exact
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
WHOLE = 1.5 * 2.0**52  # added to a number, it leaves the nearest whole number in the last bits
# where the exponent of a double stands
EXPONENT, BIAS = np.int64(52), np.int64(1023) << np.int64(52)
LOWEST = -708.0  # below it results are not normal doubles


@contracting_helper
def exp_in_place(x, power):
    """Replace numbers that are at most zero by their exponentials; ``power`` is scratch space.

    With x = n·ln 2 + r, exp(x) is 2ⁿ, made as bits, times the Taylor series of exp(r).
    """
    for k in range(x.size):
        held = LOWEST if x[k] < LOWEST else x[k]
        shifted = held * PER_LN2 + WHOLE
        n = shifted - WHOLE
        power[k] = shifted
        r = (held - n * LN2_HIGH) - n * LN2_LOW
        last = 1.0 / 39916800 + r * (1.0 / 479001600 + r * (1.0 / 6227020800))
        high = 1.0 / 5040 + r * (1.0 / 40320 + r * (1.0 / 362880 + r * (1.0 / 3628800 + r * last)))
        low = 1.0 / 2 + r * (
            1.0 / 6 + r * (1.0 / 24 + r * (1.0 / 120 + r * (1.0 / 720 + r * high)))
        )
        x[k] = 1.0 + (r + r * r * low)
    bits = power.view(np.int64)
    for k in range(x.size):
        bits[k] = (bits[k] << EXPONENT) + BIAS
    for k in range(x.size):
        x[k] *= power[k]


PER_LN2_SINGLE, HIGH_SINGLE, LOW_SINGLE = map(np.float32, (PER_LN2, 0.693359375, -2.12194440e-4))
WHOLE_SINGLE, LOWEST_SINGLE, ONE_SINGLE = map(np.float32, (1.5 * 2.0**23, -87.0, 1.0))
EXPONENT_SINGLE, BIAS_SINGLE = np.int32(23), np.int32(127 << 23)
C2, C3, C4, C5, C6, C7 = map(np.float32, (1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040))


@contracting_helper
def exp_single(x, power):
    """Do what ``exp_in_place`` does, in single precision."""
    for k in range(x.size):
        held = LOWEST_SINGLE if x[k] < LOWEST_SINGLE else x[k]
        shifted = held * PER_LN2_SINGLE + WHOLE_SINGLE
        n = shifted - WHOLE_SINGLE
        power[k] = shifted
        r = (held - n * HIGH_SINGLE) - n * LOW_SINGLE
        low = C2 + r * (C3 + r * (C4 + r * (C5 + r * (C6 + r * C7))))
        x[k] = ONE_SINGLE + (r + r * r * low)
    bits = power.view(np.int32)
    for k in range(x.size):
        bits[k] = (bits[k] << EXPONENT_SINGLE) + BIAS_SINGLE
    for k in range(x.size):
        x[k] *= power[k]
