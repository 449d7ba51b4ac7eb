"""Values of a feature whose slices in a table are equal, class by class.

A slice is what is left of a table when one of its axes is fixed at a value: cells ``(before, value,
after, class)`` of a table that is seen as an array of these four axes.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import kernel

_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


@kernel
def add_hashes(bits, shape, hashes):
    """Mix the cells of each slice of each class, as bit patterns, into its hash.

    The cells of all slices are taken in the same order, so that equal slices have equal hashes.
    """
    n_before, card, n_after, n_classes = shape
    at = 0
    for _before in range(n_before):
        for value in range(card):
            for _after in range(n_after):
                for c in range(n_classes):
                    h = (hashes[value, c] ^ bits[at]) * _MIX
                    hashes[value, c] = h ^ (h >> _SHIFT)
                    at += 1


@kernel
def first_of_each(hashes, first):
    """Write, for each value and class, the first value that has the same hash."""
    for c in range(hashes.shape[1]):
        for value in range(hashes.shape[0]):
            other = 0
            while hashes[other, c] != hashes[value, c]:
                other += 1
            first[value, c] = other


@kernel
def split_unequal(bits, shape, first):
    """Give a value of its own to each slice that differs from the first one with its hash."""
    n_before, card, n_after, n_classes = shape
    at = 0
    for _before in range(n_before):
        for value in range(card):
            for _after in range(n_after):
                for c in range(n_classes):
                    other = at + (first[value, c] - value) * n_after * n_classes
                    if bits[at] != bits[other]:
                        first[value, c] = value
                    at += 1
