"""Equal rows as one row of more weight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discbayes.data.domain import Encoded

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


def distinct_rows(data: Encoded) -> Encoded:
    """The same data with equal rows, class included, as one row that has the sum of their weights.

    The order depends on what is in the rows and not on where they were, so that learners that use it give the same bits
    for a row of weight 2 as for the row twice.
    """
    keys = _keys(data)
    order = np.argsort(keys)
    first = _starts_a_run(data, order, keys[order])
    weight = np.ones(data.n_samples) if data.weight is None else data.weight.astype(float)
    total = np.add.reduceat(weight[order], np.flatnonzero(first)) if order.size else weight
    kept = order[first]
    return replace(data, codes=np.take(data.codes, kept, axis=1), y=data.classes[kept], weight=total)


def _keys(data: Encoded) -> np.ndarray:
    """A number for each row that is the same for equal rows, and almost surely another for others."""
    keys = np.zeros(data.n_samples, np.uint64)
    for values in (data.classes, *data.codes):
        keys += values.astype(np.uint64) + np.uint64(1)
        keys *= _FACTOR  # wraps around, as it should
        keys ^= keys >> _HALF
    return keys


def _starts_a_run(data: Encoded, order: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Where a row, in the given order, differs from the one before; equal keys alone are no proof."""
    first = np.ones(order.size, dtype=bool)
    same = np.flatnonzero(keys[1:] == keys[:-1]) + 1
    here, before = order[same], order[same - 1]
    differs = (np.take(data.codes, here, axis=1) != np.take(data.codes, before, axis=1)).any(axis=0)
    first[same] = differs | (data.classes[here] != data.classes[before])
    return first
