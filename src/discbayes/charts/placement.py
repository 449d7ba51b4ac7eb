"""The placement of features when a structure is drawn: a layered layout on rows and columns.

A feature is below all of its parents. Layers are ordered so that few edges cross (by the mean
position of neighbors, in sweeps down and up), wide layers are split into several rows, and every
feature is moved towards the middle of its neighbors as far as the others in its row allow. Edges
that pass a row go between its boxes, those of different parents side by side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from discbayes.network import CLASS, Structure

MAX_COLUMNS = 8
_SWEEPS = 7  # the last one goes down, which leaves trees without crossings
_LANES = 6  # lines that fit side by side between two boxes
Neighbors = Sequence[Sequence[int]]
Edge = tuple[int, int]  # parent, which may be the class, and child


@dataclass(frozen=True)
class Placement:
    """The column (not always whole) and the row of every feature, and the size of the grid."""

    columns: tuple[float, ...]
    rows: tuple[int, ...]
    n_columns: int
    n_rows: int

    @cached_property
    def _openings(self) -> list[list[tuple[float, float]]]:
        """Return for each row the ranges of columns without boxes, which are one column wide."""
        rows: list[list[float]] = [[] for _ in range(self.n_rows)]
        for column, row in zip(self.columns, self.rows, strict=True):
            rows[row].append(column)
        left, right = -0.5, self.n_columns - 0.5
        found = []
        for row_columns in rows:
            borders = [
                left,
                *(side for c in sorted(row_columns) for side in (c - 0.5, c + 0.5)),
                right,
            ]
            found.append(list(zip(borders[::2], borders[1::2], strict=True)))
        return found

    def spot(self, node: int) -> tuple[float, int]:
        """Return the column and the row of a node; the class is above the middle, in row -1."""
        if node == CLASS:
            return (self.n_columns - 1) / 2, -1
        return self.columns[node], self.rows[node]

    def routes(self, edges: Iterable[Edge], clear: float = 0.1) -> dict[Edge, list[float]]:
        """Return the columns at which edges pass the rows between their ends, outside all boxes.

        Lines of different parents pass an opening side by side. The first node of an edge must be
        above the second. ``clear`` is the share of a column that is not covered by boxes.

        >>> place(Structure(((), (0,), (0, 1)))).routes([(0, 2)])
        {(0, 2): [-0.5]}
        """
        passed: dict[Edge, list[float]] = {edge: [] for edge in edges}
        at = {edge: self.spot(edge[0])[0] for edge in passed}
        for row in range(self.n_rows):
            lines: dict[int, dict[tuple[float, int], list[Edge]]] = {}
            for edge in passed:
                if self.spot(edge[0])[1] < row < self.rows[edge[1]]:
                    opening, column = self._nearest(row, at[edge], edge[1])
                    lines.setdefault(opening, {}).setdefault((column, edge[0]), []).append(edge)
            for opening, group in lines.items():
                at.update(self._side_by_side(self._openings[row][opening], group, at, clear))
            for edge in (
                edge for group in lines.values() for line in group.values() for edge in line
            ):
                passed[edge].append(at[edge])
        return passed

    def _nearest(self, row: int, column: float, feature: int) -> tuple[int, float]:
        """Return the opening of a row, and the column in it, nearest to the way of an edge."""
        # where the straight line to the child would pass this row
        straight = column + (self.columns[feature] - column) / (self.rows[feature] - row + 1)
        near = [min(max(straight, low), max(low, high)) for low, high in self._openings[row]]
        nearest = min(range(len(near)), key=lambda k: abs(near[k] - straight))
        return nearest, near[nearest]

    def _side_by_side(
        self,
        opening: tuple[float, float],
        lines: Mapping[tuple[float, int], list[Edge]],
        at: Mapping[Edge, float],
        clear: float,
    ) -> dict[Edge, float]:
        """Return a column for each line in an opening, near its goal and apart from the others."""
        # lines may lean over the borders of an opening, since boxes leave space there
        margin = 0.5 * clear * (1 - 1 / _LANES)
        low, high = opening[0] - margin, max(opening) + margin
        goal = {
            line: sum(at[e] + self.columns[e[1]] for e in edges) / len(edges)
            for line, edges in lines.items()
        }
        order = sorted(lines, key=lambda line: (line[0], goal[line]))
        step = min(clear / _LANES, (high - low) / max(1, len(order) - 1))
        places = spaced([(column - low) / step for column, _ in order], (high - low) / step)
        return {
            edge: low + place * step
            for line, place in zip(order, places, strict=True)
            for edge in lines[line]
        }


def place(structure: Structure, max_columns: int = MAX_COLUMNS) -> Placement:
    """Place every feature; two in the same row are at least one column apart.

    >>> place(Structure(((), (0,), (0,))))
    Placement(columns=(0.5, 0.0, 1.0), rows=(0, 1, 1), n_columns=2, n_rows=2)
    """
    layers, alone = _layers(structure)
    _uncross(layers, structure)
    rows = [row for layer in layers for row in _split(layer, max_columns)]
    lines = [alone[start : start + max_columns] for start in range(0, len(alone), max_columns)]
    n_columns = max((len(row) for row in (*rows, *lines)), default=1)
    columns = _columns(rows, structure, n_columns) | _grid(lines, n_columns)
    rows += lines
    row_of = {feature: number for number, row in enumerate(rows) for feature in row}
    order = range(structure.n_features)
    return Placement(
        tuple(columns[i] for i in order), tuple(row_of[i] for i in order), n_columns, len(rows)
    )


def _layers(structure: Structure) -> tuple[list[list[int]], list[int]]:
    """Return the features by the length of the longest path to them, and those without edges."""
    depth = [0] * structure.n_features
    for i in structure.order:
        depth[i] = max((depth[p] + 1 for p in structure.parents[i]), default=0)
    layers: list[list[int]] = [[] for _ in range(max(depth, default=0) + 1)]
    alone: list[int] = []
    for i in range(structure.n_features):
        joined = structure.parents[i] or structure.children[i]
        (layers[depth[i]] if joined else alone).append(i)
    return [layer for layer in layers if layer], alone


def _uncross(layers: list[list[int]], structure: Structure) -> None:
    """Sort each layer by the mean position of parents and of children, in turns."""
    place = {i: (k + 0.5) / len(layer) for layer in layers for k, i in enumerate(layer)}
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        neighbors = structure.parents if down else structure.children
        for layer in layers if down else reversed(layers):
            means = {i: _mean([place[j] for j in neighbors[i]], place[i]) for i in layer}
            layer.sort(key=means.__getitem__)
            place.update((i, (k + 0.5) / len(layer)) for k, i in enumerate(layer))


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _split(layer: list[int], max_columns: int) -> list[list[int]]:
    """Split a layer into rows, every n-th feature into one, so that each row spans the width."""
    n_rows = math.ceil(len(layer) / max_columns)
    return [layer[start::n_rows] for start in range(n_rows)]


def _columns(rows: list[list[int]], structure: Structure, n_columns: int) -> dict[int, float]:
    """Space each row evenly, then move its features towards parents, children and parents."""
    columns = {i: (k + 0.5) * n_columns / len(row) - 0.5 for row in rows for k, i in enumerate(row)}
    passes: list[tuple[list[list[int]], Neighbors]] = [
        (rows, structure.parents),
        (rows[::-1], structure.children),
        (rows, structure.parents),
    ]
    # the last pass follows the parents, so that children of one parent stay around it
    for ordered, neighbors in passes:
        for row in ordered:
            goals = [_mean([columns[j] for j in neighbors[i]], columns[i]) for i in row]
            columns.update(zip(row, spaced(goals, n_columns - 1.0), strict=True))
    return columns


def _grid(lines: list[list[int]], n_columns: int) -> dict[int, float]:
    """Return the columns of features without edges, in reading order."""
    left = (n_columns - len(lines[0])) / 2 if lines else 0.0
    return {i: left + k for line in lines for k, i in enumerate(line)}


def spaced(goals: Sequence[float], last: float) -> list[float]:
    """Return positions from 0 to ``last``, in order and at least 1 apart, nearest to the goals.

    Position k minus k must not decrease: this is an isotonic regression (pool adjacent violators).

    >>> spaced([2.0, 2.0, 2.0], 4.0)
    [1.0, 2.0, 3.0]
    """
    pools: list[tuple[float, int]] = []
    for k, goal in enumerate(goals):
        total, size = goal - k, 1
        # merge while the mean of the pool before is above that of the new one
        while pools and pools[-1][0] * size > total * pools[-1][1]:
            before, count = pools.pop()
            total, size = total + before, size + count
        pools.append((total, size))
    highest = last - len(goals) + 1
    level = [min(max(total / size, 0.0), highest) for total, size in pools for _ in range(size)]
    return [k + value for k, value in enumerate(level)]
