"""States of values, as the children of a feature with two resolutions see them."""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import kernel


@kernel
def map_to_states(codes, state_start, state_of, n_states, out):
    """Write the state of every value, and the number of states where a value is missing."""
    for i in range(codes.shape[0]):
        first = state_start[i]
        card = state_start[i + 1] - first
        own, row = codes[i], out[i]
        differs = False
        for v in range(card):
            differs |= state_of[first + v] != v
        if not differs:
            for m in range(own.size):
                row[m] = own[m]
            continue
        for m in range(own.size):
            row[m] = state_of[first + own[m]] if own[m] < card else n_states[i]


@kernel
def map_to_cells(codes, states, parent_start, parent_index, stride, start, position, out):
    """Write the position of the cell of every feature of every complete row."""
    for i in range(out.shape[0]):
        own, values = out[i], codes[i]
        for m in range(own.size):
            cell = start[i] + np.int64(values[m])
            for k in range(parent_start[i], parent_start[i + 1]):
                cell += states[parent_index[k], m] * stride[k]
            own[m] = position[cell]


@kernel
def log_sum_states(log_theta, offsets, cards, state_start, state_of, n_states, n_classes, used,
                   state_offsets, out):  # fmt: skip
    """Write the logarithms of the sums over the values of each state, for the features used."""
    for i in range(cards.size):
        if not used[i]:
            continue
        line, state_line = cards[i] * n_classes, n_states[i] * n_classes
        top, total = np.empty(state_line), np.empty(state_line)
        states = state_of[state_start[i] : state_start[i + 1]]
        for u in range((offsets[i + 1] - offsets[i]) // line):
            begin, at = offsets[i] + u * line, state_offsets[i] + u * state_line
            top[:] = -np.inf
            total[:] = 0.0
            for x in range(cards[i]):
                for c in range(n_classes):
                    k = states[x] * n_classes + c
                    top[k] = max(top[k], log_theta[begin + x * n_classes + c])
            for x in range(cards[i]):
                for c in range(n_classes):
                    k = states[x] * n_classes + c
                    if top[k] > -np.inf:
                        total[k] += np.exp(log_theta[begin + x * n_classes + c] - top[k])
            for k in range(state_line):
                out[at + k] = top[k] + np.log(total[k]) if total[k] > 0.0 else top[k]


@kernel
def share_states(log_theta, by_state, offsets, cards, state_start, state_of, n_states, n_classes,
                 used, state_offsets, amounts, out):  # fmt: skip
    """Add the amount of each state to its values, by their shares in the sum of the state."""
    for i in range(cards.size):
        if not used[i]:
            continue
        line, state_line = cards[i] * n_classes, n_states[i] * n_classes
        for u in range((offsets[i + 1] - offsets[i]) // line):
            begin, at = offsets[i] + u * line, state_offsets[i] + u * state_line
            for x in range(cards[i]):
                state = state_of[state_start[i] + x]
                for c in range(n_classes):
                    k = at + state * n_classes + c
                    if amounts[k] != 0.0 and by_state[k] > -np.inf:
                        cell = begin + x * n_classes + c
                        out[cell] += amounts[k] * np.exp(log_theta[cell] - by_state[k])
