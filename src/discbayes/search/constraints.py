"""Constraints of a search: required and forbidden edges, candidate parents, table sizes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from discbayes.counts import Counts, pair_weights
from discbayes.data.domain import Encoded
from discbayes.data.rows import Rows
from discbayes.data.table import find_column
from discbayes.network import Structure
from discbayes.network.graph import topological_order
from discbayes.search.table_sizes import TableSizes


@dataclass(frozen=True)
class Constraints:
    """Constraints of a search, with columns by position.

    ``required[p, i]`` and ``forbidden[p, i]`` are about the edge from ``p`` to ``i``. ``start`` is
    the structure that a search starts with: the given one, or naive Bayes with the required edges.
    ``sizes`` limits the tables of the edges that the search adds.
    """

    required: np.ndarray
    forbidden: np.ndarray
    sizes: TableSizes
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
        n_rows: float | None = None,
        tiers: Iterable[Any] = (),
    ) -> Constraints:
        """Read edges given by names or positions; raise an error for contradictions and cycles.

        If ``max_table_size`` is None, ``n_rows``, the weight of all rows, limits tables too.
        """
        given = None if max_table_size is None else _limit("max_table_size", max_table_size)
        sizes = TableSizes.of(data, n_rows, given)
        if max_candidates is not None:
            max_candidates = _limit("max_candidates", max_candidates)
        needed = _matrix(data, required, "required")
        barred = _matrix(data, forbidden, "forbidden")
        edges = np.argwhere(needed)
        for a, b in edges[barred[edges[:, 0], edges[:, 1]]][:1]:
            raise ValueError(f"the edge {_edge(data, a, b)} is required and forbidden")
        backwards = _against_tiers(data, tiers)
        for a, b in edges[backwards[edges[:, 0], edges[:, 1]]][:1]:
            raise ValueError(
                f"the edge {_edge(data, a, b)} is required, and the tiers forbid it: there"
                f" {data.domain.names[a]!r} comes after {data.domain.names[b]!r}"
            )
        barred |= backwards
        if edges.size:
            _refuse_cycles(data, needed)
        limits = cls(needed, barred, sizes, max_candidates, _start(data, start, needed, barred))
        for a, b in edges:
            if sizes.cells(b, [a]) > sizes.limit:
                raise ValueError(
                    f"the required edge {_edge(data, a, b)} needs a table above"
                    f" max_table_size={sizes.limit:,}"
                )
        for i, group in enumerate(limits.start.parents):
            if group and sizes.cells(i, group) > sizes.limit:
                raise ValueError(
                    f"the starting structure gives {data.domain.names[i]!r} a table above "
                    f"max_table_size={sizes.limit:,}"
                )
        return limits

    def allowed(
        self, data: Encoded, counts: Counts, n_jobs: int | None = None, em: bool = False
    ) -> np.ndarray:
        """Return the matrix of edges ``[p, i]`` that a search may add.

        These are not forbidden, within the table size, and from a candidate parent of ``i``. With
        ``em`` the candidates are measured on all rows, like scores with ``missing="em"``.
        """
        apart = ~np.eye(data.n_features, dtype=bool)
        allowed = self.sizes.pairs(apart & ~self.forbidden, self._given)
        if self.max_candidates is not None and self.max_candidates < data.n_features - 1:
            fitting = allowed | allowed.T
            weights = pair_weights(
                data, counts, lambda measures: measures[:, 0], n_jobs, skip=~fitting, em=em
            )
            ranked = np.argsort(np.where(allowed, -weights, np.inf), axis=0, kind="stable")
            candidate = np.zeros_like(allowed)
            np.put_along_axis(candidate, ranked[: self.max_candidates], True, axis=0)
            allowed &= candidate
        return allowed | self.required

    @property
    def allow_all(self) -> bool:
        """Whether a search may add every edge, and has none of a start to keep."""
        return not (
            self.forbidden.any()
            or self.start.n_edges
            or self.max_candidates is not None
            or not self.sizes.allow_all
        )

    def _given(self) -> np.ndarray:
        """Return the edges of the start, the required ones among them, in both directions."""
        given = self.required.copy()
        for i, group in enumerate(self.start.parents):
            given[list(group), i] = True
        return np.asarray(given | given.T)


def _limit(name: str, value: Any) -> int:
    """Return a limit as a whole number; floats such as 1e6 are accepted."""
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(
        value, bool
    )
    if not number or not 1 <= value < np.inf or value != np.floor(value):
        raise ValueError(f"{name}={value!r} must be at least 1 and whole, or None")
    return int(value)


def read_structure(data: Rows, given: Any, what: str) -> Structure:
    """Return a structure over the columns of the data.

    It is given as a ``Structure``, or as edges by names or positions.
    """
    structure = given
    if not isinstance(structure, Structure):
        names, target = data.domain.names, data.domain.target.name
        structure = Structure.from_edges(structure, names, None if target in names else target)
    if structure.n_features != data.n_features:
        raise ValueError(
            f"the {what} structure has {structure.n_features} features and the data"
            f" {data.n_features}: it belongs to another table"
        )
    return structure


def _start(data: Encoded, given: Any, required: np.ndarray, forbidden: np.ndarray) -> Structure:
    if given is None:
        groups: list[list[int]] = [[] for _ in range(data.n_features)]
        for p, i in np.argwhere(required).tolist():
            groups[i].append(p)
        return Structure(tuple(map(tuple, groups)))
    structure = read_structure(data, given, "starting")
    if structure.class_parents:
        raise ValueError("the starting structure of a search needs a class without parents")
    for i, group in enumerate(structure.parents):
        for p in group:
            if forbidden[p, i]:
                raise ValueError(
                    f"the starting structure has the forbidden edge {_edge(data, p, i)}"
                )
        for p in np.flatnonzero(required[:, i]).tolist():
            if p not in group:
                raise ValueError(
                    f"the starting structure lacks the required edge {_edge(data, p, i)}"
                )
    return structure


def _matrix(data: Encoded, edges: Iterable[Any], what: str) -> np.ndarray:
    matrix = np.zeros((data.n_features, data.n_features), np.bool_)
    for edge in edges:
        if isinstance(edge, str) or len(edge) != 2:
            raise ValueError(f"{what} edges are pairs (parent, child), not {edge!r}")
        parents, children = (_columns(data, end, f"a {what} edge") for end in edge)
        if parents == children and len(parents) == 1:
            raise ValueError(f"the {what} edge {edge!r} joins a column with itself")
        matrix[np.ix_(parents, children)] = True
    np.fill_diagonal(matrix, False)
    return matrix


def _against_tiers(data: Encoded, tiers: Iterable[Any]) -> np.ndarray:
    """Return the edges ``[p, i]`` from a column of a later tier to one of an earlier."""
    target = data.domain.target.name
    tier_of = np.full(data.n_features, -1)
    for place, tier in enumerate(tiers):
        for column in [tier] if isinstance(tier, (str, int, np.integer)) else tier:
            if column == target and target not in data.domain.names:
                _require_first(data, np.flatnonzero(tier_of >= 0), place)
                continue
            found = np.array(_columns(data, column, "a tier"), np.int64)
            for i in found[(tier_of[found] >= 0) & (tier_of[found] != place)][:1]:
                raise ValueError(f"the column {data.domain.names[i]!r} is in two tiers")
            tier_of[found] = place
    given = tier_of >= 0
    return (tier_of[:, None] > tier_of) & given[:, None] & given


def _require_first(data: Encoded, before: np.ndarray, place: int) -> None:
    """Refuse columns in tiers before the class, which is a parent of columns."""
    if place and before.size:
        raise ValueError(
            f"the tiers put {data.domain.names[before[0]]!r} before the class"
            f" {data.domain.target.name!r}, which has no parents in this search: use"
            " MarkovBlanketClimb, or leave the class out of the tiers"
        )


def _columns(data: Encoded, column: Any, where: str) -> list[int]:
    """Return the positions of the columns that a name, a position or a pattern stands for."""
    names = data.domain.names
    if isinstance(column, str) and column not in names and set(column) & set("*?["):
        found = [i for i, name in enumerate(names) if fnmatchcase(name, column)]
        if not found:
            raise ValueError(
                f"{where} has the pattern {column!r}, which no column matches; the columns are"
                f" {', '.join(names[:20])}"
            )
        return found
    return [column_position(data, column, where)]


def column_position(data: Encoded, column: Any, where: str) -> int:
    """Return the position of a column given by name or position."""
    names = data.domain.names
    position = find_column(column, names)
    if position is None:
        raise ValueError(
            f"{where} names {column!r}, which is not a column; the columns are"
            f" {', '.join(names[:20])}"
        )
    return position


def _edge(data: Encoded, a: int, b: int) -> str:
    return f"{data.domain.names[a]} -> {data.domain.names[b]}"


def _refuse_cycles(data: Encoded, required: np.ndarray) -> None:
    try:
        topological_order(
            [np.flatnonzero(column).tolist() for column in required.T], data.domain.names
        )
    except ValueError as error:
        raise ValueError(f"no structure has all required edges: {error}") from None
