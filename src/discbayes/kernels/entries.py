"""The log-joint of rows, and the way back of a gradient, by lists of the cells that are not the usual ones.

Each feature has a usual cell, the one that most rows are in. A row is the list of its other cells, its *entries*: its
log-joint is that of a row with usual cells only, plus what each entry differs from the usual cell of its feature. The
classes of a cell stand in a stretch of ``width`` numbers, an even number, which are summed four at a time, and the last
two if need be, so that sums stay in registers.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import kernel

ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)


@kernel
def family_cells(codes, feature, first, parents, strides, out):
    """The cell of each row in the table of a feature, counted over all tables; a class makes no cell of its own."""
    own = codes[feature]
    for m in range(out.size):
        out[m] = first + np.int64(own[m])
    for k in range(parents.size):
        parent, stride = codes[parents[k]], strides[k]
        for m in range(out.size):
            out[m] += parent[m] * stride


@kernel
def count_entries(cells, usual, lengths):
    """Add one to the length of each row whose cell is not the usual one."""
    for m in range(cells.size):
        if cells[m] != usual:
            lengths[m] += 1


@kernel
def add_entries(cells, usual, ends, entries):
    """Append the cell of each row that is not the usual one; ``ends`` are where the lists end so far."""
    for m in range(cells.size):
        if cells[m] != usual:
            entries[ends[m]] = cells[m]
            ends[m] += 1


@kernel
def differences(numbers, prior, offsets, usual, n_classes, width, base, out):
    """What each cell differs from the usual one of its feature, and the log-joint of usual cells."""
    for c in range(n_classes):
        base[c] = prior[c]
    for i in range(usual.size):
        common = usual[i] * n_classes
        for c in range(n_classes):
            base[c] += numbers[common + c]
        for cell in range(offsets[i] // n_classes, offsets[i + 1] // n_classes):
            for c in range(n_classes):
                out[cell * width + c] = numbers[cell * n_classes + c] - numbers[common + c]


@kernel
def add_up(entries, starts, first, base, table, width, out):
    """The log-joint of consecutive rows, of which ``first`` is the first."""
    n_rows, n_classes = out.shape
    wide = np.uint64(width)
    for m in range(n_rows):
        begin, end = starts[first + m], starts[first + m + 1]
        for c in range(0, width - 3, 4):
            p, q, r, s = base[c], base[c + 1], base[c + 2], base[c + 3]
            shift = np.uint64(c)
            for k in range(begin, end):
                at = np.uint64(entries[k]) * wide + shift
                p += table[at]
                q += table[at + ONE]
                r += table[at + TWO]
                s += table[at + THREE]
            out[m, c], out[m, c + 1], out[m, c + 2] = p, q, r
            if c + 3 < n_classes:
                out[m, c + 3] = s
        if width & 3:
            p, q = base[width - 2], base[width - 1]
            shift = np.uint64(width - 2)
            for k in range(begin, end):
                at = np.uint64(entries[k]) * wide + shift
                p += table[at]
                q += table[at + ONE]
            out[m, width - 2] = p
            if width == n_classes:
                out[m, width - 1] = q


@kernel
def hand_back(entries, starts, first, residual, width, total, out):
    """Add the gradient of each row to its entries, and to the total over the rows."""
    n_rows, n_classes = residual.shape
    wide = np.uint64(width)
    for m in range(n_rows):
        begin, end = starts[first + m], starts[first + m + 1]
        for c in range(n_classes):
            total[c] += residual[m, c]
        for c in range(0, width - 3, 4):
            p, q, r = residual[m, c], residual[m, c + 1], residual[m, c + 2]
            s = residual[m, c + 3] if c + 3 < n_classes else 0.0
            shift = np.uint64(c)
            for k in range(begin, end):
                at = np.uint64(entries[k]) * wide + shift
                out[at] += p
                out[at + ONE] += q
                out[at + TWO] += r
                out[at + THREE] += s
        if width & 3:
            p = residual[m, width - 2]
            q = residual[m, width - 1] if width == n_classes else 0.0
            shift = np.uint64(width - 2)
            for k in range(begin, end):
                at = np.uint64(entries[k]) * wide + shift
                out[at] += p
                out[at + ONE] += q


@kernel
def complete(sums, total, offsets, usual, n_classes, width, out):
    """Add the gradient of every cell: of a usual one it is what the other cells of its feature leave of the total."""
    left = np.empty(n_classes)
    for i in range(usual.size):
        for c in range(n_classes):
            left[c] = total[c]
        for cell in range(offsets[i] // n_classes, offsets[i + 1] // n_classes):
            for c in range(n_classes):
                out[cell * n_classes + c] += sums[cell * width + c]
                left[c] -= sums[cell * width + c]
        for c in range(n_classes):
            out[usual[i] * n_classes + c] += left[c]
