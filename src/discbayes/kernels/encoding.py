"""Encoding of cells in tiles of rows: a tile is read once and fills a cache line per feature.

Every kernel reads a C-ordered block ``(n_samples, n_columns)``. ``columns`` are the columns of the
block to work on and, where codes are written, ``rows`` the rows of ``out`` that they go to. Tables
of several columns lie in one flat array; ``offset[j]`` is where that of the j-th listed column
begins.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import kernel

_TILE = 64
_FEW = 8  # up to so many cuts, comparing with each is faster than a binary search


@kernel
def mark_present(block, columns, low, offset, seen):
    """Set ``seen[offset[j] + value - low[j]]`` for every value that occurs."""
    for r in range(block.shape[0]):
        for j in range(columns.size):
            seen[offset[j] + (np.int64(block[r, columns[j]]) - low[j])] = True


@kernel
def class_histogram(block, columns, low, offset, y, weight, n_classes, out):
    """Add each row's weight to the cell (column, value, class); cells of a value lie together."""
    for r in range(block.shape[0]):
        c = y[r]
        w = weight[r]
        for j in range(columns.size):
            out[(offset[j] + (np.int64(block[r, columns[j]]) - low[j])) * n_classes + c] += w


@kernel
def lookup_codes(block, columns, rows, low, size, offset, table, start, out):
    """Encode whole numbers by a lookup table.

    Column j's table has ``size[j]`` entries: the first for anything below ``low[j]``, the last for
    anything above, and between them one for each value from ``low[j]`` on. Codes go to ``out[:,
    start : start + block rows]``.
    """
    n = block.shape[0]
    for tile in range(0, n, _TILE):
        stop = min(tile + _TILE, n)
        for j in range(columns.size):
            column = np.uint64(columns[j])  # unsigned places need no test for counting from the end
            least = low[j]
            most = least + (size[j] - 3)
            codes = table[offset[j] : offset[j] + size[j]]
            line = out[rows[j], start + tile : start + stop]
            for r in range(line.size):
                value = np.int64(block[np.uint64(tile + r), column])
                if value < least:
                    place = np.uint64(0)
                elif value > most:
                    place = np.uint64(size[j] - 1)
                else:
                    place = np.uint64(value - least + 1)
                line[r] = codes[place]


@kernel
def cut_codes(block, columns, rows, size, offset, cuts, missing, start, out):
    """Encode numbers by the count of cut points at or below them; NaN becomes ``missing[j]``.

    Returns -1, or the first listed column in which an infinity was met.
    """
    n = block.shape[0]
    infinite = -1
    for tile in range(0, n, _TILE):
        stop = min(tile + _TILE, n)
        for j in range(columns.size):
            column = columns[j]
            row = rows[j]
            first = offset[j]
            last = first + size[j]
            for r in range(tile, stop):
                value = block[r, column]
                if np.isnan(value):
                    out[row, start + r] = missing[j]
                    continue
                if np.isinf(value):
                    infinite = j
                code = 0
                if size[j] <= _FEW:
                    for place in range(first, last):
                        code += cuts[place] <= value
                else:
                    low, high = first, last
                    while low < high:
                        middle = (low + high) // 2
                        if cuts[middle] <= value:
                            low = middle + 1
                        else:
                            high = middle
                    code = low - first
                out[row, start + r] = code
    return infinite
