"""Vector arithmetic of limited-memory quasi-Newton steps.

Libraries of linear algebra distribute even short vectors over threads: that costs more than it
saves, and the last bits depend on the number of threads. Plain loops avoid both.
"""

from __future__ import annotations

from discbayes.kernels._compile import kernel, summing_helper


@summing_helper
def _dot(a, b):
    """Return Σ a·b, by several sums at a time, so that the loop is vectorized."""
    total = 0.0
    for k in range(a.size):
        total += a[k] * b[k]
    return total


@kernel
def dot(a, b):
    """Return Σ a·b."""
    return _dot(a, b)


@kernel
def downhill(gradient, steps, changes, products, newest, size, shares, out):
    """Compute the direction −H·gradient by the two-loop recursion of L-BFGS.

    H follows from the last steps and the changes of the gradient along them. ``steps`` and
    ``changes`` are ring buffers of which ``size`` rows are in use,
    ``newest`` the last; ``products`` are those of the two.
    """
    for k in range(gradient.size):
        out[k] = -gradient[k]
    if size == 0:
        return
    for back in range(size):
        at = (newest - back) % steps.shape[0]
        shares[at] = _dot(steps[at], out) / products[at]
        for k in range(out.size):
            out[k] -= shares[at] * changes[at, k]
    scale = products[newest] / _dot(changes[newest], changes[newest])
    for k in range(out.size):
        out[k] *= scale
    for back in range(size - 1, -1, -1):
        at = (newest - back) % steps.shape[0]
        rest = shares[at] - _dot(changes[at], out) / products[at]
        for k in range(out.size):
            out[k] += rest * steps[at, k]
