"""States of values, as the children of a feature with two resolutions see them."""

from __future__ import annotations

from discbayes.kernels._compile import kernel


@kernel
def map_to_states(codes, state_start, state_of, n_states, out):
    """Write the state of every value, and the number of states where a value is missing."""
    for i in range(codes.shape[0]):
        first = state_start[i]
        card = state_start[i + 1] - first
        for m in range(codes.shape[1]):
            code = codes[i, m]
            out[i, m] = state_of[first + code] if code < card else n_states[i]
