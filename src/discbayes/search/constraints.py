"""What a search must keep to: required and forbidden edges, and how large a table may become."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes.data.columns import find_column
from discbayes.data.domain import Encoded
from discbayes.network.graph import topological_order

MAX_TABLE_SIZE = 10_000_000  # cells: 80 MB


@dataclass(frozen=True)
class Constraints:
    """Constraints by position: ``required[p, i]`` and ``forbidden[p, i]`` are about the edge from ``p`` to ``i``."""

    required: np.ndarray
    forbidden: np.ndarray
    max_table_size: int

    @classmethod
    def of(
        cls,
        data: Encoded,
        required: Iterable[Any] = (),
        forbidden: Iterable[Any] = (),
        max_table_size: int | None = None,
    ) -> Constraints:
        """Read edges given by names or positions; contradictions and cycles are refused."""
        size = MAX_TABLE_SIZE if max_table_size is None else int(max_table_size)
        if size < 1:
            raise ValueError(f"max_table_size={max_table_size!r} must be at least 1")
        needed = _matrix(data, required, "required")
        barred = _matrix(data, forbidden, "forbidden")
        both = np.argwhere(needed & barred)
        if both.size:
            raise ValueError(f"the edge {_edge(data, *both[0])} is required and forbidden")
        limits = cls(needed, barred, size)
        if needed.any():
            _refuse_cycles(data, needed)
            for a, b in np.argwhere(needed & ~limits.fits(data)):
                raise ValueError(f"the required edge {_edge(data, a, b)} needs a table above max_table_size={size:,}")
        return limits

    def fits(self, data: Encoded) -> np.ndarray:
        """Which pairs of features have a table, with the class, within the limit."""
        cards = data.cards.astype(float)
        return np.outer(cards, cards) * data.n_classes <= self.max_table_size

    def table_fits(self, data: Encoded, child: int, parents: Sequence[int]) -> bool:
        """Whether the table of a family is within the limit."""
        return float(np.prod(data.cards[[child, *parents]].astype(float))) * data.n_classes <= self.max_table_size


def _matrix(data: Encoded, edges: Iterable[Any], what: str) -> np.ndarray:
    matrix = np.zeros((data.n_features, data.n_features), np.bool_)
    for edge in edges:
        if isinstance(edge, str) or len(edge) != 2:
            raise ValueError(f"{what} edges are pairs (parent, child), not {edge!r}")
        a, b = (column_position(data, end, f"a {what} edge") for end in edge)
        if a == b:
            raise ValueError(f"the {what} edge {edge!r} joins a column with itself")
        matrix[a, b] = True
    return matrix


def column_position(data: Encoded, column: Any, where: str) -> int:
    """The position of a column given by name or position."""
    names = data.domain.names
    position = find_column(column, names)
    if position is None:
        raise ValueError(f"{where} names {column!r}, which is no column; the columns are {', '.join(names[:20])}")
    return position


def _edge(data: Encoded, a: int, b: int) -> str:
    return f"{data.domain.names[a]} -> {data.domain.names[b]}"


def _refuse_cycles(data: Encoded, required: np.ndarray) -> None:
    try:
        topological_order([np.flatnonzero(column).tolist() for column in required.T], data.domain.names)
    except ValueError as error:
        raise ValueError(f"the required edges cannot all be there: {error}") from None
