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
