"""Rows of tables: one cell for each value of a feature, with the same parents and class."""

from __future__ import annotations

from discbayes.kernels._compile import kernel


@kernel
def row_totals(cells, offsets, cards, n_classes, out):
    """Write the sum of the row of every cell."""
    for i in range(cards.size):
        width = cards[i] * n_classes
        for base in range(offsets[i], offsets[i + 1], width):
            for first in range(base, base + n_classes):
                total = 0.0
                for k in range(first, base + width, n_classes):
                    total += cells[k]
                for k in range(first, base + width, n_classes):
                    out[k] = total
