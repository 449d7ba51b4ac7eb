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
def subtract(a, b, out):
    """Write a − b."""
    for k in range(a.size):
        out[k] = a[k] - b[k]


@kernel
def exceeds(a, limit):
    """Return whether any number is larger than a limit, or smaller than its negative."""
    for number in a:
        if abs(number) > limit:
            return True
    return False


@summing_helper
def _scaled_dot(a, scale):
    """Return Σ scale·a²."""
    total = 0.0
    for k in range(a.size):
        total += scale[k] * a[k] * a[k]
    return total


@kernel
def downhill(gradient, steps, changes, products, newest, size, shares, scale, out):
    """Compute the direction −H·gradient by the two-loop recursion of L-BFGS.

    H follows from the last steps and the changes of the gradient along them. ``steps`` and
    ``changes`` are ring buffers of which ``size`` rows are in use,
    ``newest`` the last; ``products`` are those of the two. ``scale`` is the diagonal of H before
    any step, up to a factor; it is empty if all parameters are alike.
    """
    for k in range(gradient.size):
        out[k] = -gradient[k]
    if size == 0:
        for k in range(scale.size):
            out[k] *= scale[k]
        return
    for back in range(size):
        at = (newest - back) % steps.shape[0]
        shares[at] = _dot(steps[at], out) / products[at]
        for k in range(out.size):
            out[k] -= shares[at] * changes[at, k]
    if scale.size:
        factor = products[newest] / _scaled_dot(changes[newest], scale)
        for k in range(out.size):
            out[k] *= factor * scale[k]
    else:
        factor = products[newest] / _dot(changes[newest], changes[newest])
        for k in range(out.size):
            out[k] *= factor
    for back in range(size - 1, -1, -1):
        at = (newest - back) % steps.shape[0]
        rest = shares[at] - _dot(changes[at], out) / products[at]
        for k in range(out.size):
            out[k] += rest * steps[at, k]
