"""Numbers that look random and follow from what is in rows and columns."""

from __future__ import annotations

import numpy as np

from discbayes.data.row_keys import numbers_of_content


def test_neither_the_order_of_rows_and_columns_nor_repeated_rows_matter():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (7, 60)).astype(np.uint8)
    by_row, by_cell = numbers_of_content(codes, np.ones(60))
    rows, columns = rng.permutation(60), rng.permutation(7)
    other = numbers_of_content(codes[columns][:, rows], np.ones(60))
    assert np.array_equal(other[0], by_row[rows])
    assert np.array_equal(other[1], by_cell[columns][:, rows])
    weight = np.ones(60)
    weight[:4] = 2.0
    twice = numbers_of_content(np.concatenate([codes, codes[:, :4]], axis=1), np.ones(64))
    assert np.array_equal(numbers_of_content(codes, weight)[1], twice[1][:, :60])


def test_they_are_spread_evenly_and_cells_and_draws_differ():
    codes = np.random.default_rng(1).integers(0, 3, (6, 2000))
    by_cell = numbers_of_content(codes, np.ones(2000))[1]
    one_each = np.unique(codes, axis=1, return_index=True)[1]
    cells = by_cell[:, one_each]
    assert cells.min() >= 0
    assert cells.max() <= 1
    assert np.abs(np.histogram(cells, 4, (0, 1))[0] / cells.size - 0.25).max() < 0.03
    assert np.abs(np.corrcoef(cells) - np.eye(6)).max() < 0.15
    again = numbers_of_content(codes, np.ones(2000), 1)[1][:, one_each]
    assert abs(np.corrcoef(cells.ravel(), again.ravel())[0, 1]) < 0.06
