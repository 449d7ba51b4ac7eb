"""Matrices of the curvature: sums over rows, their triangular factor, and equations with it.

A factor R of a matrix RᵀR is in the upper triangle of a square array, and its transpose in the
lower one, so that both solvers read along rows.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import contracting_kernel, kernel
from discbayes.kernels._vectors import less, load, store

ZERO, FOUR = np.uint64(0), np.uint64(4)


@kernel
def add_pairs(entries, starts, first, last, weight, out):
    """Add the weight of each row to every pair of its entries, below the diagonal and on it.

    Index 0 is in every row; the entry of a cell has the index of the cell plus one. Components of
    missing values, the last entries of a row, are left out.
    """
    for m in range(first, last):
        out[0, 0] += weight[m]
        for a in range(starts[m], starts[m + 1]):
            if entries[a] + 1 >= out.shape[0]:
                break
            row = out[entries[a] + 1]
            row[0] += weight[m]
            for b in range(starts[m], a + 1):
                row[entries[b] + 1] += weight[m]


@contracting_kernel
def factorize(matrix):
    """Factorize a symmetric matrix, given by its upper triangle, in place; False if impossible."""
    n = matrix.shape[0]
    for i in range(n):
        row = matrix[i]
        for k in range(i):
            above, factor = matrix[k], matrix[k, i]
            if factor != 0.0:
                for j in range(i, n):
                    row[j] -= factor * above[j]
        if not row[i] > 0.0:
            return False
        scale = 1.0 / np.sqrt(row[i])
        for j in range(i, n):
            row[j] *= scale
    for i in range(n):
        for j in range(i):
            matrix[i, j] = matrix[j, i]
    return True


@kernel
def solve_upper(factor, columns):
    """Solve R·x = columns in place; the number of columns is a multiple of four."""
    n = factor.shape[0]
    wide = np.uint64(columns.shape[1])
    flat = columns.reshape(columns.size)
    for i in range(n - 1, -1, -1):
        for c in range(ZERO, wide, FOUR):
            at = np.uint64(i) * wide + c
            left = load(flat, at)
            for j in range(i + 1, n):
                left = less(left, factor[i, j], load(flat, np.uint64(j) * wide + c))
            store(left, flat, at)
        for c in range(columns.shape[1]):
            columns[i, c] /= factor[i, i]


@kernel
def solve_lower(factor, columns):
    """Solve Rᵀ·x = columns in place; the number of columns is a multiple of four."""
    n = factor.shape[0]
    wide = np.uint64(columns.shape[1])
    flat = columns.reshape(columns.size)
    for i in range(n):
        for c in range(ZERO, wide, FOUR):
            at = np.uint64(i) * wide + c
            left = load(flat, at)
            for j in range(i):
                left = less(left, factor[i, j], load(flat, np.uint64(j) * wide + c))
            store(left, flat, at)
        for c in range(columns.shape[1]):
            columns[i, c] /= factor[i, i]
