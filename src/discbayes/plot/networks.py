"""Plots of networks: boxes in layers, edges by strength, and the differences of two structures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from discbayes._lazy_imports import need
from discbayes.charts.network_picture import Point, Sizes, network_picture, picture_size
from discbayes.charts.placement import Placement, place
from discbayes.network import CLASS, Structure
from discbayes.plot.graphs import (
    ADDED,
    REMOVED,
    REVERSED,
    SAME,
    Edge,
    Graph,
    differences,
    graph_of,
    spanning,
)
from discbayes.plot.style import (
    BLACK,
    BLUE,
    COLORS,
    GRAY,
    GREEN,
    ORANGE,
    SHADES,
    bare_axes,
    mixed,
    size_in_inches,
    width_in_inches,
    words,
)

# Inches, in a picture that is not scaled.
SIZES = Sizes(row=0.68, box=0.28, space=0.26, margin=0.15)
ENTRY = 0.19  # height of an entry of the legend
MAX_WIDTH = 13.0
MIN_WIDTH = 4.6
MIN_BOX = 0.5
POINTS, LEGEND_POINTS = 9.0, 8.0  # font sizes
THIN, THICK = 0.7, 3.2  # lines, in points
FROM_CLASS = (ORANGE, (0, (2, 2)))  # color and dashes of an edge from the class
CLASS_FILL = "#fbe8c8"
ROUNDING_NATS = 1e-9  # smaller strengths are rounding errors
LOOKS = {
    SAME: (GRAY, "-"),
    ADDED: (GREEN, "-"),
    REMOVED: (COLORS[5], (0, (4, 2))),
    REVERSED: (COLORS[3], (0, (6, 1, 1, 1))),
}


def network(
    thing: Any,
    ax: Any = None,
    *,
    names: Sequence[Any] | None = None,
    strengths: bool | Mapping[Any, float] = True,
    show_class: bool | str = "auto",
    compare_to: Any = None,
) -> Any:
    """Plot a network, with every feature below its parents.

    Parameters
    ----------
    thing : BayesNetClassifier, BayesNet or Structure
        What to draw.
    ax : Axes, optional
        The axes to draw on, in which the font is as large as they allow; by default those of a new
        figure of the size that the network needs.
    names : sequence, optional
        The names of the features of a ``Structure``.
    strengths : bool or mapping, default=True
        The width of an edge is its strength: the conditional mutual information of parent and
        child given the other parents and the class, in nats. The shade of a box is the same of the
        class and the feature, given its parents. A mapping gives strengths of edges ``(parent,
        child)`` from another source. A structure has no strengths, nor has a network that is too
        dense to compute them exactly, which the legend mentions.
    show_class : bool or "auto"
        Whether the class and its edges are drawn; by default where it is not a parent of every
        feature.
    compare_to : BayesNetClassifier, BayesNet or Structure, optional
        Another structure of the same features: edges are marked as added, removed or reversed
        since.

    Returns
    -------
    Axes
        The axes with the plot.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> network(BayesNetClassifier().fit(iris.X, iris.y))
    <Axes: >
    """
    if show_class not in (True, False, "auto"):
        raise ValueError(f'show_class={show_class!r} must be True, False or "auto"')
    graph, other = graph_of(thing, names), None
    if compare_to is not None:
        own = graph.names if isinstance(compare_to, Structure) else None
        other = graph_of(compare_to, own, "compare_to").in_order_of(graph.names)
    return _Plot(graph, other, strengths, show_class).draw(ax)


class _Plot:
    """The content of one plot; lengths are in inches of a picture that is not scaled."""

    def __init__(self, graph: Graph, other: Graph | None, strengths: Any, show_class: bool | str):
        self.graph = graph
        self.is_compared = other is not None
        self.scale = 1.0
        self.kinds = differences(graph, other or graph)
        everywhere = all(self.kinds.get((CLASS, i)) == SAME for i in range(len(graph.names)))
        self.with_class = not everywhere if show_class == "auto" else bool(show_class)
        known = graph.strengths(strengths)
        self.in_nats = isinstance(strengths, bool)
        self.too_dense = known is None and strengths is True and graph.network is not None
        strength = (known or {}).items()
        self.between = {edge: value for edge, value in strength if edge[0] != CLASS}
        self.of_class = {child: value for (parent, child), value in strength if parent == CLASS}
        self.strongest = max(self.between.values(), default=0.0)
        self.strongest_of_class = max(self.of_class.values(), default=0.0)
        shown = [*graph.names, graph.target] if self.with_class else graph.names
        widths = [width_in_inches(words(name), POINTS) for name in shown]
        self.box = max(MIN_BOX, max(widths) + 0.16)

    # ---- layout

    def draw(self, ax: Any) -> Any:
        """Choose a placement, and draw boxes and edges."""
        between = [edge for edge in self.kinds if edge[0] != CLASS]
        structure = spanning(self.graph.structure, between)
        if ax is None:
            columns = int((MAX_WIDTH - 2 * SIZES.margin) / (self.box + SIZES.space))
            placement = place(structure, max(4, columns))
        else:
            placement, self.scale = self._fitting(structure, ax)
        width, height = self._size(placement)
        ax = bare_axes(ax, (width, height))
        ax.set_xlim(0, width)
        ax.set_ylim(height, 0)
        ax.set_aspect("equal")
        shown = list(self.kinds) if self.with_class else between
        picture = network_picture(placement, shown, self.box, SIZES, width, self.with_class)
        for edge, points in picture.edges.items():
            self._draw_edge(ax, edge, points)
        for node, corner in picture.boxes.items():
            self._draw_box(ax, node, corner)
        self._draw_legend(ax, width)
        return ax

    def _fitting(self, structure: Structure, ax: Any) -> tuple[Placement, float]:
        """Return the placement that allows the largest font in given axes, and its scale."""
        wide, high = size_in_inches(ax)
        found = []
        for columns in range(2, 21):
            placement = place(structure, columns)
            width, height = self._size(placement)
            found.append((min(wide / width, high / height), -columns, placement))
        # of equal scales, the one with fewer columns
        scale, _, placement = max(found, key=lambda item: item[:2])
        return placement, scale

    def _size(self, placement: Placement) -> tuple[float, float]:
        width, height = picture_size(placement, self.box, SIZES, self.with_class)
        width = max(MIN_WIDTH, width)
        return width, height + self._legend_height(width)

    # ---- boxes

    def _draw_box(self, ax: Any, node: int, middle_of_top: Point) -> None:
        is_class = node == CLASS
        is_child = self.with_class or self.graph.structure.class_children[node]
        x, top = middle_of_top
        shape = need("matplotlib.patches").FancyBboxPatch
        ax.add_patch(
            shape(
                (x - self.box / 2, top),
                self.box,
                SIZES.box,
                boxstyle="round,pad=0,rounding_size=0.07",
                facecolor=CLASS_FILL if is_class else self._shade(node),
                edgecolor=ORANGE if is_class else BLUE,
                linestyle="-" if is_child else "--",
                linewidth=min(1.0, self.scale),
                zorder=3,
            )
        )
        ax.text(
            x,
            top + SIZES.box / 2,
            words(self.graph.target if is_class else self.graph.names[node]),
            ha="center",
            va="center",
            fontsize=POINTS * self.scale,
            color=BLACK,
            zorder=4,
        )

    def _shade(self, feature: int) -> tuple[float, ...]:
        """Return the color of a box by the strength of the class, relative to the largest."""
        return mixed(self.of_class.get(feature, 0.0) / (self.strongest_of_class or 1.0))

    # ---- edges

    def _draw_edge(self, ax: Any, edge: Edge, points: list[Point]) -> None:
        kinds = need("matplotlib.path").Path
        path, codes = [points[0]], [kinds.MOVETO]
        for (x0, y0), (x1, y1) in pairwise(points):
            half = (y0 + y1) / 2
            path += [(x0, half), (x1, half), (x1, y1)]
            codes += [kinds.CURVE4] * 3
        color, line = LOOKS[self.kinds[edge]]
        if edge[0] == CLASS and self.kinds[edge] == SAME:
            color, line = FROM_CLASS
        width = self._width(edge) * self.scale
        arrow = need("matplotlib.patches").FancyArrowPatch(
            path=kinds(path, codes),
            arrowstyle="-|>",
            mutation_scale=(5 + 2.2 * width) * math.sqrt(self.scale),
            color=color,
            linestyle=line,
            linewidth=width,
            alpha=0.85,
            zorder=1 if edge[0] == CLASS else 2,
        )
        ax.add_patch(arrow)

    def _width(self, edge: Edge) -> float:
        if edge[0] == CLASS:
            return THIN
        return (
            self._width_of(self.between[edge]) if self.strongest and edge in self.between else 1.2
        )

    def _width_of(self, strength: float) -> float:
        return THIN + (THICK - THIN) * min(1.0, max(0.0, strength / self.strongest))

    # ---- legend

    def _notes(self) -> list[str]:
        """Return what is not drawn."""
        notes = []
        if not self.with_class and all(self.graph.structure.class_children):
            target = words(self.graph.target)
            notes.append(f"{target} is a parent of every feature (edges not drawn)")
        if self.too_dense:
            notes.append("too dense for exact strengths: edges have one width")
        return notes

    @cached_property
    def _entries(self) -> list[Any]:
        """Return lines and patches labeled with the meaning of colors, dashes and widths."""
        line, patch = need("matplotlib.lines").Line2D, need("matplotlib.patches").Patch
        target, found = words(self.graph.target), []
        drawn = {
            edge: kind for edge, kind in self.kinds.items() if self.with_class or edge[0] != CLASS
        }
        if self.is_compared:
            for kind, (color, style) in LOOKS.items():
                if kind in drawn.values():
                    found.append(
                        line([], [], color=color, linestyle=style, linewidth=1.6, label=kind)
                    )
        if any(edge[0] == CLASS and kind == SAME for edge, kind in drawn.items()):
            color, style = FROM_CLASS
            text = f"edge from {target}"
            found.append(line([], [], color=color, linestyle=style, linewidth=THIN, label=text))
        if self.strongest:
            for strength in sorted({self.strongest, min(self.between.values())}, reverse=True):
                text = f"{self._amount(strength)} between parent and child"
                width = self._width_of(strength)
                found.append(line([], [], color=GRAY, linewidth=width, label=text))
        if self.strongest_of_class:
            text = f"{self._amount(self.strongest_of_class)} that {target} adds"
            found.append(patch(facecolor=SHADES[1], edgecolor=BLUE, label=text))
        if not (self.with_class or all(self.graph.structure.class_children)):
            text = f"does not depend on {target}"
            found.append(patch(facecolor=SHADES[0], edgecolor=BLUE, linestyle="--", label=text))
        return found

    def _amount(self, strength: float) -> str:
        if self.in_nats and abs(strength) < ROUNDING_NATS:
            return "0 nats"
        return f"{strength:.2g} nats" if self.in_nats else f"strength {strength:.3g}"

    def _legend_columns(self, width: float) -> int:
        return max(1, int(width / 3.6))

    def _legend_height(self, width: float) -> float:
        lines = len(self._notes()) + math.ceil(len(self._entries) / self._legend_columns(width))
        return ENTRY * lines + 0.15 if lines else 0.0

    def _draw_legend(self, ax: Any, width: float) -> None:
        notes = self._notes()
        if not self._entries and not notes:
            return
        size = LEGEND_POINTS * self.scale
        legend = ax.legend(
            handles=self._entries,
            loc="lower center",
            frameon=False,
            ncols=self._legend_columns(width),
            fontsize=size,
            title="\n".join(notes) or None,
            title_fontsize=size,
        )
        legend.set_zorder(5)
