"""A network as a picture: where its boxes stand, and the points that its edges pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from discbayes.bayesnet import BayesNet
from discbayes.charts.placement import Edge, Placement
from discbayes.explanations.edge_strength import edge_strengths
from discbayes.inference import (
    RAISE,
    InferenceOptions,
    TooManyCellsError,
    blank_rows,
    missing_posteriors,
)
from discbayes.network import CLASS

Point: TypeAlias = tuple[float, float]
Strengths: TypeAlias = Mapping[Edge, float]


class Sizes(NamedTuple):
    """Lengths of a picture in the unit of its renderer."""

    row: float  # from the top of a box to the top of a box in the next row
    box: float  # the height of a box
    space: float  # between two boxes of a row
    margin: float  # around the picture


@dataclass(frozen=True)
class NetworkPicture:
    """Boxes and edges of a network in a coordinate system whose y points down.

    Attributes
    ----------
    boxes : dict of int to Point
        The middle of the upper border of each box, by node.
    edges : dict of Edge to list of Point
        The points of each edge, from parent to child: curves and vertical lines take turns, and
        the first and the last part are curves.
    """

    boxes: dict[int, Point]
    edges: dict[Edge, list[Point]]


def picture_size(
    placement: Placement, box_width: float, sizes: Sizes, with_class: bool = True
) -> tuple[float, float]:
    """Return the width and the height that boxes with their margins need."""
    width = placement.n_columns * (box_width + sizes.space) - sizes.space + 2 * sizes.margin
    n_rows = placement.n_rows + with_class
    return width, n_rows * sizes.row - (sizes.row - sizes.box) + 2 * sizes.margin


def network_picture(
    placement: Placement,
    edges: Iterable[Edge],
    box_width: float,
    sizes: Sizes,
    width: float,
    with_class: bool = True,
) -> NetworkPicture:
    """Lay out boxes and edges.

    Parameters
    ----------
    placement : Placement
        Rows and columns of the features.
    edges : iterable of (int, int)
        The edges that are drawn, which may point up.
    box_width : float
        The width of a box.
    sizes : Sizes
        The other lengths.
    width : float
        The width of the picture, in which the boxes are centered.
    with_class : bool
        Whether there is a row for the class above the features.
    """
    column_width = box_width + sizes.space
    left = (width - placement.n_columns * column_width) / 2

    def box(node: int) -> Point:
        column, row = placement.spot(node)
        return left + (column + 0.5) * column_width, sizes.margin + (row + with_class) * sizes.row

    downwards = {edge: _downwards(edge, placement) for edge in edges}
    routes = placement.routes(downwards.values(), sizes.space / column_width)
    shifts = _shifts(routes, placement, 0.2 * sizes.row, box_width)
    drawn = {}
    for edge, (upper, lower) in downwards.items():
        x, top = box(upper)
        points = [(x, top + sizes.box)]
        for column in routes[upper, lower]:
            top += sizes.row
            x = left + (column + 0.5) * column_width
            points += [(x, top), (x, top + sizes.box)]
        x, top = box(lower)
        points.append((x + shifts[upper, lower], top))
        drawn[edge] = points if edge == (upper, lower) else points[::-1]
    nodes = range(CLASS if with_class else 0, len(placement.columns))
    return NetworkPicture({node: box(node) for node in nodes}, drawn)


def _downwards(edge: Edge, placement: Placement) -> Edge:
    """Return an edge from the upper to the lower of its nodes."""
    upper, lower = sorted(edge, key=lambda node: placement.spot(node)[1])
    return upper, lower


def _shifts(
    routes: Mapping[Edge, list[float]], placement: Placement, step: float, box_width: float
) -> dict[Edge, float]:
    """Return where each edge meets the upper border of a box, relative to its middle.

    Edges end side by side in the order in which they arrive, so that their arrowheads do not cover
    each other.
    """
    arriving: dict[int, list[tuple[float, Edge]]] = {}
    for edge, route in routes.items():
        last = route[-1] if route else placement.spot(edge[0])[0]
        arriving.setdefault(edge[1], []).append((last, edge))
    shifts = {}
    for group in arriving.values():
        # many edges share the border of a box evenly
        distance = min(step, 0.7 * box_width / len(group))
        for k, (_, edge) in enumerate(sorted(group)):
            shifts[edge] = distance * (k - (len(group) - 1) / 2)
    return shifts


def exact_marginals(network: BayesNet) -> dict[int, np.ndarray]:
    """Return the distribution of each node; none where the network is too dense to compute them."""
    try:
        options = InferenceOptions(network.max_cells, RAISE)
        given_class = missing_posteriors(
            network.parameters, blank_rows(network.parameters, 1), options
        )
    except TooManyCellsError:
        return {}
    return {CLASS: network.prior, **{i: p @ network.prior for i, p in given_class.items()}}


def exact_strengths(network: BayesNet) -> dict[Edge, float] | None:
    """Return the strength of each edge; None where the network is too dense to compute them."""
    try:
        return edge_strengths(network)
    except TooManyCellsError:
        return None
