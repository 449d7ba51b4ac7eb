"""Vector arithmetic of limited-memory quasi-Newton steps.

Libraries of linear algebra spread even short vectors over threads: that costs more than it saves, and makes the last
bits depend on how many there are. Plain loops do neither.
"""

from __future__ import annotations

from discbayes.kernels._compile import helper, kernel


@helper
def _dot(a, b):
    """Σ a·b, in four sums at a time."""
    p, q, r, s = 0.0, 0.0, 0.0, 0.0
    whole = a.size - a.size % 4
    for k in range(0, whole, 4):
        p += a[k] * b[k]
        q += a[k + 1] * b[k + 1]
        r += a[k + 2] * b[k + 2]
        s += a[k + 3] * b[k + 3]
    for k in range(whole, a.size):
        p += a[k] * b[k]
    return (p + q) + (r + s)


@kernel
def dot(a, b):
    """Σ a·b."""
    return _dot(a, b)


@kernel
def downhill(gradient, steps, changes, newest, size, shares, out):
    """The direction −H·gradient, where H follows from the last steps and the changes of the gradient along them.

    The two-loop recursion. ``steps`` and ``changes`` are rings of which ``size`` rows are in use, ``newest`` the last.
    """
    for k in range(gradient.size):
        out[k] = -gradient[k]
    if size == 0:
        return
    for back in range(size):
        at = (newest - back) % steps.shape[0]
        shares[at] = _dot(steps[at], out) / _dot(steps[at], changes[at])
        for k in range(out.size):
            out[k] -= shares[at] * changes[at, k]
    scale = _dot(steps[newest], changes[newest]) / _dot(changes[newest], changes[newest])
    for k in range(out.size):
        out[k] *= scale
    for back in range(size - 1, -1, -1):
        at = (newest - back) % steps.shape[0]
        rest = shares[at] - _dot(changes[at], out) / _dot(steps[at], changes[at])
        for k in range(out.size):
            out[k] += rest * steps[at, k]
