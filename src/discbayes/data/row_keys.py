"""Keys of rows by their content, and equal rows joined into one row of more weight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np

from discbayes.data.domain import Encoded
from discbayes.data.table import CategoricalColumn, Part, Table

_PRIME = np.uint64(2**31 - 1)  # products of two residues are whole numbers of 64 bits
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_ROUNDS = 3  # of mixing, so that a change of the highest bits (1.0 to 2.0) reaches all others


def distinct_rows(data: Encoded) -> Encoded:
    """Join equal rows, class included, into one row with the sum of their weights.

    The order of the result depends on the content of the rows, not on their positions, so that a
    learner gives the same bits for a row of weight 2 as for the row twice.
    """
    keys = _keys(data)
    order = np.argsort(keys)
    first = _starts_a_run(data, order, keys[order])
    weight = np.ones(data.n_samples) if data.weight is None else data.weight.astype(float)
    total = np.add.reduceat(weight[order], np.flatnonzero(first)) if order.size else weight
    kept = order[first]
    return replace(
        data, codes=np.take(data.codes, kept, axis=1), y=data.classes[kept], weight=total
    )


def _keys(data: Encoded) -> np.ndarray:
    """Return a number for each row: equal for equal rows, different for others almost surely."""
    keys = np.zeros(data.n_samples, np.uint64)
    for values in (data.classes, *data.codes):
        _mix(keys, values.astype(np.uint64) + np.uint64(1))
    return keys


def table_keys(table: Table, classes: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Return a key for each row of a table by its content.

    Neither the order of rows or columns nor the names of columns matter. Columns in which all cells
    are equal are left out. ``classes`` are the class codes of the rows.
    """
    keys = RowKeys()
    keys.look(table, classes, weight)
    keys.settle(np.arange(int(classes.max(initial=0)) + 1))
    return keys.rows(table)


def numbers_of_content(
    codes: np.ndarray, weight: np.ndarray, draw: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers from 0 to 1 that look random: one for each row, and one for each cell.

    They follow from what is in rows and columns: the order of neither matters, a weight of two is
    the row twice, and equal rows have equal numbers. Each draw has other numbers.

    >>> codes = np.array([[0, 1, 0], [2, 0, 2]])
    >>> by_row, by_cell = numbers_of_content(codes, np.ones(3))
    >>> bool(by_row[0] == by_row[2]), by_cell.shape
    (True, (2, 3))
    """
    cells = _scattered(codes.astype(np.uint64).ravel()).reshape(codes.shape)
    # columns are told apart by which cells they have in which rows
    beside = (cells + _scattered(cells.sum(axis=0, dtype=np.uint64))).ravel()
    often = _hashes(beside).reshape(codes.shape) * _residues(weight) % _PRIME
    columns = _scattered(often.sum(axis=1) % _PRIME)
    cells = _scattered((cells + columns[:, None]).ravel()).reshape(codes.shape)
    rows = _scattered(cells.sum(axis=0, dtype=np.uint64), draw)
    of_cells = _scattered((columns[:, None] + rows).ravel()).reshape(codes.shape)
    return _from_0_to_1(rows), _from_0_to_1(of_cells)


def _from_0_to_1(keys: np.ndarray) -> np.ndarray:
    return np.asarray(_scattered(keys.ravel(), 1).reshape(keys.shape) / 2.0**64)


class RowKeys:
    """Keys of rows in two readings: `look` at all rows, `settle`, then `rows` gives their keys.

    The first reading tells columns apart by what is in them. With h a hash of a cell modulo a
    prime, w the weight of a row and r the sum of the hashes of its cells, a column has the sums of
    w·h and of w·h·r over the rows of each class. They are exact, so that the order of the rows does
    not matter and a weight of two is the row twice. Columns whose sums are equal are numbered in
    their order: rows that differ must not have one key, since rows of one key are assigned to folds
    in the order in which they come.
    """

    def __init__(self) -> None:
        # what all cells of a column are; None if they differ
        self._only: dict[int, np.uint64 | None] = {}
        self._sums = np.zeros((0, 2, 0), np.uint64)  # of a column: Σ w·h and Σ w·h·r, by class
        self._starts: dict[int, int] = {}  # what the keys of the cells of a column begin with

    def look(self, table: Table, classes: np.ndarray, weight: np.ndarray | None = None) -> None:
        """Read the rows of a batch, whose classes may be numbered in any order."""
        if not table.n_rows:
            return
        n_classes = max(int(classes.max()) + 1, self._sums.shape[2])
        sums = np.zeros((len(table.names), 2, n_classes), np.uint64)
        sums[: self._sums.shape[0], :, : self._sums.shape[2]] = self._sums
        count = None if weight is None else _residues(weight)
        total = np.zeros(table.n_rows, np.uint64)
        for position, cells in _columns(table):
            self._note_only(position, cells)
            total += _hashes(cells)
        total %= _PRIME
        for position, cells in _columns(table):
            hashes = _hashes(cells)
            once = hashes if count is None else hashes * count % _PRIME
            np.add.at(sums[position, 0], classes, once)
            np.add.at(sums[position, 1], classes, once * total % _PRIME)
        self._sums = sums % _PRIME

    def _note_only(self, position: int, cells: np.ndarray) -> None:
        """Record whether a column still has one value everywhere."""
        only = self._only.setdefault(position, cells[0])
        if only is not None and (cells != only).any():
            self._only[position] = None

    def settle(self, class_codes: np.ndarray) -> None:
        """End the first reading; class ``c`` of it is ``class_codes[c]``."""
        constant = np.array([only for only in self._only.values() if only is not None], np.uint64)
        of_constant = _hashes(constant).sum() % _PRIME
        once, with_row = self._sums[:, 0], self._sums[:, 1]
        # as if constant columns were not there
        with_row = (with_row + (_PRIME - of_constant) * once) % _PRIME
        codes = class_codes[: once.shape[1]].astype(np.uint64)
        first, second = (_scattered(codes, start) % _PRIME for start in (1, 2))
        columns = (once * first % _PRIME + with_row * second % _PRIME).sum(axis=1) % _PRIME
        met: dict[int, int] = {}
        for position, column in enumerate(columns.tolist()):
            if self._only[position] is None:
                met[column] = met.get(column, -1) + 1
                self._starts[position] = column + (met[column] << 32)

    def rows(self, table: Table) -> np.ndarray:
        """Return the keys of the rows of a batch in the second reading."""
        sums = np.zeros(table.n_rows, np.uint64)
        for position, cells in _columns(table):
            if position in self._starts:
                start = _scattered(np.array([self._starts[position]], np.uint64))[0]
                sums += _scattered(cells, int(start))
        return _scattered(sums)


def _columns(table: Table) -> Iterator[tuple[int, np.ndarray]]:
    """Iterate over the columns of a table: positions, and numbers that are equal for equal
    cells.
    """
    for part in table.parts:
        for place, position in enumerate(part.positions.tolist()):
            yield position, _cell_keys(part, place)


def _hashes(cells: np.ndarray) -> np.ndarray:
    """Return hashes of 31 bits."""
    return _scattered(cells) >> np.uint64(33)


def _residues(weight: np.ndarray) -> np.ndarray:
    """Return weights modulo the prime 2^31 − 1, where halves are whole too and sums are exact.

    >>> _residues(np.array([3.0, 0.5])), int(_PRIME) // 2 + 1
    (array([         3, 1073741824], dtype=uint64), 1073741824)
    """
    mantissa, exponent = np.frexp(weight)
    whole = np.ldexp(mantissa, 53).astype(np.uint64) % _PRIME
    return (whole << ((exponent - 53) % 31).astype(np.uint64)) % _PRIME  # 2^31 is 1


def _cell_keys(part: Part, place: int) -> np.ndarray:
    if isinstance(part, CategoricalColumn):
        missing = int(_number_keys(np.array([np.nan]))[0])
        return np.array([missing, *map(_label_key, part.levels)], np.uint64)[part.places + 1]
    return _number_keys(part.column(place))


def _scattered(values: np.ndarray, start: int = 0) -> np.ndarray:
    """Return different numbers for different values, over all 64 bits, so that sums differ too."""
    keys = np.full(values.size, start, np.uint64)
    for step in range(_ROUNDS):
        _mix(keys, values if step == 0 else np.uint64(step))
    return keys


def _mix(keys: np.ndarray, values: np.ndarray | np.uint64) -> None:
    """Mix values, equal for equal cells, into the keys of their rows."""
    keys += values
    keys *= _FACTOR  # modulo 2^64
    keys ^= keys >> _HALF


def _label_key(label: Any) -> int:
    return int.from_bytes(
        blake2b(repr(label).encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little"
    )


def _number_keys(values: np.ndarray) -> np.ndarray:
    """Return the bits of numbers: equal for integers and floats of one value, NaN, both zeros."""
    floats = values.astype(np.float64) + 0.0
    floats[np.isnan(floats)] = np.nan
    return floats.view(np.uint64)


def _starts_a_run(data: Encoded, order: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Mark rows that differ from the one before in the order; equal keys alone are not enough."""
    first = np.ones(order.size, dtype=bool)
    same = np.flatnonzero(keys[1:] == keys[:-1]) + 1
    here, before = order[same], order[same - 1]
    differs = (np.take(data.codes, here, axis=1) != np.take(data.codes, before, axis=1)).any(axis=0)
    first[same] = differs | (data.classes[here] != data.classes[before])
    return first
