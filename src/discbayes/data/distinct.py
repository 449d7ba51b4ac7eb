"""Equal rows as one row of more weight, and rows told apart by what is in them."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np

from discbayes.data.columns import Levels, Part, Table
from discbayes.data.domain import Encoded

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_ROUNDS = 3  # that a change of the highest bits alone, as between 1.0 and 2.0, reaches all others


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
        _mix(keys, values.astype(np.uint64) + np.uint64(1))
    return keys


def table_keys(table: Table) -> np.ndarray:
    """A number for each row of a table that depends on what is in it, by column name: not on the order of anything.

    Columns in which all cells are equal have no say.
    """
    keys = RowKeys()
    return keys.settled(keys.sums(table))


class RowKeys:
    """The same for a table that comes in batches: a sum for each row, and in the end the keys that follow from it."""

    def __init__(self) -> None:
        self._only: dict[str, np.uint64 | None] = {}  # what a column adds to every row; None if cells differ

    def sums(self, table: Table) -> np.ndarray:
        """What the columns add up to in the rows of a batch."""
        sums = np.zeros(table.n_rows, np.uint64)
        for part in table.parts:
            for place, position in enumerate(part.positions):
                name = table.names[position]
                added = _scattered(_cell_keys(part, place), _label_key(name))
                self._look(name, added)
                sums += added
        return sums

    def _look(self, name: str, added: np.ndarray) -> None:
        """See whether a column still has one value everywhere."""
        if not added.size:
            return
        only = self._only.setdefault(name, added[0])
        if only is not None and (added != only).any():
            self._only[name] = None

    def settled(self, sums: np.ndarray) -> np.ndarray:
        """The keys of rows, once all of them were looked at."""
        for only in self._only.values():
            if only is not None:
                sums = sums - only
        return _scattered(sums)


def _cell_keys(part: Part, place: int) -> np.ndarray:
    if isinstance(part, Levels):
        gap = int(_number_keys(np.array([np.nan]))[0])
        return np.array([gap, *map(_label_key, part.levels)], np.uint64)[part.places + 1]
    return _number_keys(part.column(place))


def _scattered(values: np.ndarray, start: int = 0) -> np.ndarray:
    """Other numbers for other values, spread over all 64 bits, so that their sums are told apart too."""
    keys = np.full(values.size, start, np.uint64)
    for step in range(_ROUNDS):
        _mix(keys, values if step == 0 else np.uint64(step))
    return keys


def _mix(keys: np.ndarray, values: np.ndarray | np.uint64) -> None:
    """Let values, the same for equal cells, enter the keys of their rows."""
    keys += values
    keys *= _FACTOR  # wraps around, as it should
    keys ^= keys >> _HALF


def _label_key(label: Any) -> int:
    return int.from_bytes(blake2b(repr(label).encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _number_keys(values: np.ndarray) -> np.ndarray:
    """The bits of numbers: integers and floats of the same worth have the same, and so have all NaN, and both zeros."""
    floats = values.astype(np.float64) + 0.0
    floats[np.isnan(floats)] = np.nan
    return floats.view(np.uint64)


def _starts_a_run(data: Encoded, order: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Where a row, in the given order, differs from the one before; equal keys alone are no proof."""
    first = np.ones(order.size, dtype=bool)
    same = np.flatnonzero(keys[1:] == keys[:-1]) + 1
    here, before = order[same], order[same - 1]
    differs = (np.take(data.codes, here, axis=1) != np.take(data.codes, before, axis=1)).any(axis=0)
    first[same] = differs | (data.classes[here] != data.classes[before])
    return first
