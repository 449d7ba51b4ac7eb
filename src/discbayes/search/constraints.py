"""What a search must keep to: required and forbidden edges, and how large a table may become."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes.counts import Counts, pair_information
from discbayes.data.blocks import Blocks
from discbayes.data.columns import find_column
from discbayes.data.domain import Encoded
from discbayes.network import Structure
from discbayes.network.graph import topological_order

MAX_TABLE_SIZE = 10_000_000  # cells: 80 MB
MOST_TABLE_SIZE = 2**31 - 1  # families are numbered in 32 bits while a search counts them


@dataclass(frozen=True)
class Constraints:
    """Constraints by position: ``required[p, i]`` and ``forbidden[p, i]`` are about the edge from ``p`` to ``i``.

    ``start`` is where a search begins: the given structure, or naive Bayes with the required edges.
    """

    required: np.ndarray
    forbidden: np.ndarray
    max_table_size: int
    max_candidates: int | None
    start: Structure

    @classmethod
    def of(
        cls,
        data: Encoded,
        required: Iterable[Any] = (),
        forbidden: Iterable[Any] = (),
        max_table_size: int | None = None,
        max_candidates: int | None = None,
        start: Any = None,
    ) -> Constraints:
        """Read edges given by names or positions; contradictions and cycles are refused."""
        size = MAX_TABLE_SIZE if max_table_size is None else _limit("max_table_size", max_table_size)
        if size > MOST_TABLE_SIZE:
            raise ValueError(f"max_table_size={max_table_size!r} must be at most {MOST_TABLE_SIZE:,}, a table of 17 GB")
        if max_candidates is not None:
            max_candidates = _limit("max_candidates", max_candidates)
        needed = _matrix(data, required, "required")
        barred = _matrix(data, forbidden, "forbidden")
        both = np.argwhere(needed & barred)
        if both.size:
            raise ValueError(f"the edge {_edge(data, *both[0])} is required and forbidden")
        if needed.any():
            _refuse_cycles(data, needed)
        limits = cls(needed, barred, size, max_candidates, _start(data, start, needed, barred))
        for a, b in np.argwhere(needed & ~limits.fits(data)):
            raise ValueError(f"the required edge {_edge(data, a, b)} needs a table above max_table_size={size:,}")
        for i, group in enumerate(limits.start.parents):
            if group and not limits.table_fits(data, i, group):
                raise ValueError(
                    f"the starting structure gives {data.domain.names[i]!r} a table above max_table_size={size:,}"
                )
        return limits

    def allowed(self, data: Encoded, counts: Counts, n_jobs: int | None = None, em: bool = False) -> np.ndarray:
        """Which edges ``[p, i]`` a search may add: not forbidden, within the table size, among the candidates of i.

        With ``em`` the candidates are measured on all rows, as scores with ``gaps="em"`` do.
        """
        allowed = self.fits(data) & ~self.forbidden
        np.fill_diagonal(allowed, False)
        if self.max_candidates is not None and self.max_candidates < data.n_features - 1:
            weights = pair_information(data, counts, n_jobs, skip=~self.fits(data), em=em).conditional
            ranked = np.argsort(np.where(allowed, -weights, np.inf), axis=0, kind="stable")
            candidate = np.zeros_like(allowed)
            np.put_along_axis(candidate, ranked[: self.max_candidates], True, axis=0)
            allowed &= candidate
        return allowed | self.required

    def fits(self, data: Encoded) -> np.ndarray:
        """Which pairs of features have a table, with the class, within the limit."""
        cards = data.cards.astype(float)
        return np.outer(cards, cards) * data.n_classes <= self.max_table_size

    def fitting(self, data: Encoded, child: int, parents: Sequence[int]) -> np.ndarray:
        """Which features may join the parents of a child without making its table too large."""
        others = math.prod(int(data.cards[i]) for i in (child, *parents)) * data.n_classes
        return data.cards <= self.max_table_size // others

    def table_fits(self, data: Encoded, child: int, parents: Sequence[int]) -> bool:
        """Whether the table of a family is within the limit."""
        return math.prod(int(data.cards[i]) for i in (child, *parents)) * data.n_classes <= self.max_table_size


def _limit(name: str, value: Any) -> int:
    """A limit as a whole number; 1e6 is one too."""
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not number or not 1 <= value < np.inf or value != np.floor(value):
        raise ValueError(f"{name}={value!r} must be at least 1 and whole, or None")
    return int(value)


def read_structure(data: Encoded | Blocks, given: Any, what: str) -> Structure:
    """A structure over the columns of the data, from a ``Structure`` or from edges by names or positions."""
    structure = given
    if not isinstance(structure, Structure):
        names, target = data.domain.names, data.domain.target.name
        structure = Structure.from_edges(structure, names, None if target in names else target)
    if structure.n_features != data.n_features:
        raise ValueError(
            f"the {what} structure has {structure.n_features} features and the data {data.n_features}: "
            "it belongs to another table"
        )
    return structure


def _start(data: Encoded, given: Any, required: np.ndarray, forbidden: np.ndarray) -> Structure:
    if given is None:
        return Structure(tuple(tuple(np.flatnonzero(column).tolist()) for column in required.T))
    structure = read_structure(data, given, "starting")
    for i, group in enumerate(structure.parents):
        for p in group:
            if forbidden[p, i]:
                raise ValueError(f"the starting structure has the forbidden edge {_edge(data, p, i)}")
        for p in np.flatnonzero(required[:, i]).tolist():
            if p not in group:
                raise ValueError(f"the starting structure lacks the required edge {_edge(data, p, i)}")
    return structure


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
