"""The log-joint of rows and its gradient, by lists of the cells that are not the usual ones.

Each feature has a usual cell, its most frequent one. A row is the list of its other cells, its
*entries*: its log-joint is that of a row with usual cells only, plus the difference of each entry
from the usual cell of its feature. Most rows have few entries, so that this is a sparse sum. The
classes of a cell are ``width`` consecutive values, two or a multiple of four, which are summed
eight or four at a time, so that sums stay in registers. Components of missing values
(``components``) are cells after those of all tables, at the end of the lists of their rows.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import kernel, small_helper
from discbayes.kernels._vectors import load, plus, store

PAIR = 2
ZERO = np.uint64(0)
ONE = np.uint64(1)
FOUR = np.uint64(4)
EIGHT = np.uint64(8)


def padded_width(n_classes: int) -> int:
    """Return the number of values that the classes of a cell take up in memory."""
    return PAIR if n_classes <= PAIR else -(-n_classes // 4) * 4


@small_helper
def _cell(codes, parent_codes, m, feature, parent_start, parent_index, parent_stride):
    """Return the cell of a row in the table of a feature, without the class."""
    cell = np.int64(codes[feature, m])
    for k in range(parent_start[feature], parent_start[feature + 1]):
        cell += parent_codes[parent_index[k], m] * parent_stride[k]
    return cell


@kernel
def find_usual(
    codes, parent_codes, parent_start, parent_index, parent_stride, offsets, usual, lengths
):
    """Find the most frequent cell of each feature, and the number of others in each row."""
    n_features, n_rows = codes.shape
    cells = np.empty(n_rows, np.int64)
    for i in range(n_features):
        counts = np.zeros(offsets[i + 1] - offsets[i], np.int64)
        for m in range(n_rows):
            cells[m] = _cell(codes, parent_codes, m, i, parent_start, parent_index, parent_stride)
            counts[cells[m]] += 1
        most = np.argmax(counts) if counts.size else 0
        usual[i] = offsets[i] + most
        for m in range(n_rows):
            lengths[m] += cells[m] != most


@kernel
def count_others(codes, parent_codes, parent_start, parent_index, parent_stride, offsets, usual,
                 lengths):  # fmt: skip
    """Count the cells of each row that are not the usual ones, which are known."""
    for i in range(codes.shape[0]):
        most = usual[i] - offsets[i]
        for m in range(codes.shape[1]):
            cell = _cell(codes, parent_codes, m, i, parent_start, parent_index, parent_stride)
            lengths[m] += cell != most


@kernel
def list_entries(codes, parent_codes, parent_start, parent_index, parent_stride, offsets, usual,
                 starts, ends, entries):  # fmt: skip
    """List the cells of each row that are not the usual ones, from the start of its list."""
    for m in range(codes.shape[1]):
        at, end = starts[m], ends[m]
        i = 0
        while at < end:
            cell = offsets[i]
            cell += _cell(codes, parent_codes, m, i, parent_start, parent_index, parent_stride)
            entries[at] = cell
            at += cell != usual[i]  # without a branch: a usual cell is overwritten by the next
            i += 1


@kernel
def append_entries(row_start, cells, rows, n_cells, ends, entries):
    """Append the components of missing values of each row; they are cells from ``n_cells`` on."""
    for m in range(rows.size):
        at = ends[m]
        for k in range(row_start[rows[m]], row_start[rows[m] + 1]):
            entries[at] = n_cells + cells[k]
            at += 1


@kernel
def differences(numbers, prior, offsets, usual, n_classes, width, base, out):
    """Compute the difference of each cell from the usual one, and the log-joint of usual cells."""
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
def add_up(entries, starts, first, base, table, out):
    """Compute the log-joint of consecutive rows, from row ``first`` on."""
    n_rows, width = out.shape
    wide, flat = np.uint64(width), out.reshape(out.size)
    for m in range(n_rows):
        begin, end = starts[first + m], starts[first + m + 1]
        if width == PAIR:
            p, q = base[0], base[1]
            for k in range(begin, end):
                at = np.uint64(entries[k]) * wide
                p += table[at]
                q += table[at + ONE]
            out[m, 0], out[m, 1] = p, q
            continue
        row, c = np.uint64(m) * wide, ZERO
        while c + FOUR < wide:
            left, right = load(base, c), load(base, c + FOUR)
            for k in range(begin, end):
                at = np.uint64(entries[k]) * wide + c
                left, right = plus(left, load(table, at)), plus(right, load(table, at + FOUR))
            store(left, flat, row + c)
            store(right, flat, row + c + FOUR)
            c += EIGHT
        if c < wide:
            left = load(base, c)
            for k in range(begin, end):
                left = plus(left, load(table, np.uint64(entries[k]) * wide + c))
            store(left, flat, row + c)


@kernel
def hand_back(entries, starts, first, residual, total, out):
    """Add the gradient of each row to its entries, and to the total over the rows."""
    n_rows, width = residual.shape
    wide, flat = np.uint64(width), residual.reshape(residual.size)
    for m in range(n_rows):
        begin, end = starts[first + m], starts[first + m + 1]
        for k in range(total.size):
            total[k] += residual[m, k]
        if width == PAIR:
            p, q = residual[m, 0], residual[m, 1]
            for k in range(begin, end):
                at = np.uint64(entries[k]) * wide
                out[at] += p
                out[at + ONE] += q
            continue
        row, c = np.uint64(m) * wide, ZERO
        while c + FOUR < wide:
            left, right = load(flat, row + c), load(flat, row + c + FOUR)
            for k in range(begin, end):
                at = np.uint64(entries[k]) * wide + c
                store(plus(left, load(out, at)), out, at)
                store(plus(right, load(out, at + FOUR)), out, at + FOUR)
            c += EIGHT
        if c < wide:
            left = load(flat, row + c)
            for k in range(begin, end):
                at = np.uint64(entries[k]) * wide + c
                store(plus(left, load(out, at)), out, at)


@kernel
def add_own(entries, starts, first, y, base, table, out):
    """Add to the log-joint of consecutive rows, in their own class only, from row ``first`` on."""
    width = out.shape[1]
    for m in range(out.shape[0]):
        c = y[first + m]
        value = base[c]
        for k in range(starts[first + m], starts[first + m + 1]):
            value += table[np.int64(entries[k]) * width + c]
        out[m, c] += value


@kernel
def hand_back_own(entries, starts, first, y, residual, total, out):
    """Add the gradient of each row with respect to its own class to the entries of ``add_own``."""
    width = residual.shape[1]
    for m in range(residual.shape[0]):
        c = y[first + m]
        total[c] += residual[m, c]
        for k in range(starts[first + m], starts[first + m + 1]):
            out[np.int64(entries[k]) * width + c] += residual[m, c]


@kernel
def own_differences(own, start, places, classes, source, usual, width, base, out):
    """Compute what ``differences`` does from the numbers of some classes of some cells.

    The others are not read by any row. ``places`` are those of the numbers in ``out``, and
    ``source`` those in ``own``.
    """
    common = np.empty(width)
    for i in range(usual.size):
        common[:] = 0.0
        for k in range(start[i], start[i + 1]):
            if places[k] // width == usual[i]:
                common[classes[k]] = own[source[k]]
        for c in range(width):
            base[c] += common[c]
        for k in range(start[i], start[i + 1]):
            out[places[k]] = own[source[k]] - common[classes[k]]


@kernel
def complete_own(sums, total, start, places, classes, source, usual, width, out):
    """Add the gradient of the numbers of ``own_differences``, as ``complete`` does."""
    left = np.empty(total.size)
    for i in range(usual.size):
        left[:] = total
        for k in range(start[i], start[i + 1]):
            left[classes[k]] -= sums[places[k]]
            out[source[k]] += sums[places[k]]
        for k in range(start[i], start[i + 1]):
            if places[k] // width == usual[i]:
                out[source[k]] += left[classes[k]]


@kernel
def least(entries, starts, first, offsets, usual, by_class, by_cell, out):
    """Find the smallest term of the log-joint of consecutive rows, for each class."""
    n_rows, n_classes = out.shape
    for m in range(n_rows):
        for c in range(n_classes):
            out[m, c] = by_class[c]
        at, end = starts[first + m], starts[first + m + 1]
        for i in range(usual.size):
            cell = usual[i]
            # entries are in the order of features
            if at < end and np.int64(entries[at]) * n_classes < offsets[i + 1]:
                cell = np.int64(entries[at])
                at += 1
            for c in range(n_classes):
                number = by_cell[cell * n_classes + c]
                out[m, c] = number if number < out[m, c] else out[m, c]


@kernel
def complete(sums, total, offsets, usual, n_classes, width, out):
    """Add the gradient of every cell; of a usual one it is the total minus the other cells."""
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
