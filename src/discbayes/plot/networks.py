"""A network as a picture: boxes in layers, edges as wide as they are strong, and how two structures
differ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from discbayes._lazy_imports import need
from discbayes.network import CLASS, Structure
from discbayes.placement import Placement, place
from discbayes.plot.graphs import (
    ADDED,
    REMOVED,
    SAME,
    TURNED,
    Edge,
    Graph,
    differences,
    graph_of,
    spanning,
)
from discbayes.plot.style import (
    BLACK,
    BLUE,
    COLOURS,
    GREEN,
    GREY,
    ORANGE,
    SHADES,
    bare_axes,
    mixed,
    size_in_inches,
    width_in_inches,
    words,
)

# Inches, in a picture that is not scaled: a row, a box, between boxes, around, and an entry of the
# legend.
ROW, BOX, GAP, MARGIN, ENTRY = 0.68, 0.28, 0.26, 0.15, 0.19
WIDEST, NARROWEST, NARROWEST_BOX = 13.0, 4.6, 0.5
POINTS, LEGEND_POINTS = 9.0, 8.0
THIN, THICK = 0.7, 3.2  # lines, in points
NO_NATS = 1e-9  # less is left over by rounding
LOOKS = {
    SAME: (GREY, "-"),
    ADDED: (GREEN, "-"),
    REMOVED: (COLOURS[5], (0, (4, 2))),
    TURNED: (COLOURS[3], (0, (6, 1, 1, 1))),
}
ANY_CLASS = (True, False, "auto")


def network(
    thing: Any,
    ax: Any = None,
    *,
    names: Sequence[Any] | None = None,
    strengths: bool | Mapping[Any, float] = True,
    show_class: bool | str = "auto",
    compare_to: Any = None,
) -> Any:
    """Draw a network: every feature below its parents.

    Parameters
    ----------
    thing : BayesNetClassifier, BayesNet or Structure
    ax : Axes, optional
        By default a new figure of the size that the network needs; in given axes letters are as
        large as they allow.
    names : sequence, optional
        The names of the features of a ``Structure``.
    strengths : bool or mapping, default=True
        Edges are as wide as they are strong: by the information that parent and child share given
        the other parents and the class, in nats, and boxes as dark as what the class adds to the
        feature's parents. A mapping gives the strengths of edges ``(parent, child)`` by other
        means. A structure has no strengths of its own, nor has a network that is too dense for
        exact ones, of which the legend tells.
    show_class : bool or "auto"
        Whether the class and its edges are drawn; by default where it is not a parent of every
        feature.
    compare_to : BayesNetClassifier, BayesNet or Structure, optional
        Another structure of the same features: shows which edges were added since, removed or
        turned round.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> network(BayesNetClassifier().fit(iris.X, iris.y))
    <Axes: >
    """
    if show_class not in ANY_CLASS:
        raise ValueError(f'show_class={show_class!r} must be True, False or "auto"')
    graph, other = graph_of(thing, names), None
    if compare_to is not None:
        own = graph.names if isinstance(compare_to, Structure) else None
        other = graph_of(compare_to, own, "compare_to").in_order_of(graph.names)
    return _Picture(graph, other, strengths, show_class).draw(ax)


class _Picture:
    """What one picture shows, and where; lengths are in inches of a picture that is not scaled."""

    def __init__(self, graph: Graph, other: Graph | None, strengths: Any, show_class: bool | str):
        self.graph = graph
        self.compared, self.scale = other is not None, 1.0
        self.kinds = differences(graph, other or graph)
        everywhere = all(self.kinds.get((CLASS, i)) == SAME for i in range(len(graph.names)))
        self.with_class = not everywhere if show_class == "auto" else bool(show_class)
        self.strengths = graph.strengths(strengths)
        self.in_nats = isinstance(strengths, bool)
        self.too_dense = self.strengths is None and strengths is True and graph.network is not None
        between = {
            edge: value for edge, value in (self.strengths or {}).items() if edge[0] != CLASS
        }
        self.strongest = max(between.values(), default=0.0)
        self.box = max(
            NARROWEST_BOX,
            *(width_in_inches(words(name), POINTS) + 0.16 for name in self._shown_names()),
        )

    def _shown_names(self) -> list[str]:
        return [*self.graph.names, *([self.graph.target] if self.with_class else [])]

    # ---- size and place

    def draw(self, ax: Any) -> Any:
        """Choose a grid, and draw on it."""
        structure = spanning(
            self.graph.structure, [edge for edge in self.kinds if edge[0] != CLASS]
        )
        if ax is None:
            self.grid = place(structure, max(4, int((WIDEST - 2 * MARGIN) / (self.box + GAP))))
        else:
            self.grid, self.scale = self._fitting(structure, ax)
        width, height = self._size(self.grid)
        ax = bare_axes(ax, (width, height))
        self.left = (width - self.grid.n_columns * (self.box + GAP)) / 2
        ax.set_xlim(0, width)
        ax.set_ylim(height, 0)
        ax.set_aspect("equal")
        self._draw_edges(ax)
        self._draw_boxes(ax)
        self._draw_legend(ax, width)
        return ax

    def _fitting(self, structure: Any, ax: Any) -> tuple[Placement, float]:
        """The grid that leaves most room for letters in given axes, and by how much the picture is
        scaled.
        """
        wide, high = size_in_inches(ax)
        found = []
        for columns in range(2, 21):
            grid = place(structure, columns)
            width, height = self._size(grid)
            found.append((min(wide / width, high / height), -columns, grid))
        scale, _, grid = max(found, key=lambda item: item[:2])
        return grid, scale

    def _size(self, grid: Placement) -> tuple[float, float]:
        width = max(NARROWEST, grid.n_columns * (self.box + GAP) - GAP + 2 * MARGIN)
        rows = grid.n_rows + self.with_class
        return width, rows * ROW - (ROW - BOX) + 2 * MARGIN + self._below(width)

    def _x(self, column: float) -> float:
        return self.left + (column + 0.5) * (self.box + GAP)

    def _top(self, row: int) -> float:
        return MARGIN + (row + self.with_class) * ROW

    # ---- boxes

    def _draw_boxes(self, ax: Any) -> None:
        for i, name in enumerate(self.graph.names):
            dashed = not (self.with_class or self.graph.structure.class_children[i])
            self._draw_box(
                ax, i, name, mixed(self._share_of_class(i)), BLUE, "--" if dashed else "-"
            )
        if self.with_class:
            self._draw_box(ax, CLASS, self.graph.target, "#fbe8c8", ORANGE, "-")

    def _draw_box(self, ax: Any, node: int, name: str, fill: Any, ink: str, line: str) -> None:
        column, row = self.grid.spot(node)
        corner = (self._x(column) - self.box / 2, self._top(row))
        look = {
            "facecolor": fill,
            "edgecolor": ink,
            "linestyle": line,
            "linewidth": min(1.0, self.scale),
            "zorder": 3,
        }
        shape = need("matplotlib.patches").FancyBboxPatch
        ax.add_patch(
            shape(corner, self.box, BOX, boxstyle="round,pad=0,rounding_size=0.07", **look)
        )
        middle = self._x(column), self._top(row) + BOX / 2
        ax.text(
            *middle,
            words(name),
            ha="center",
            va="center",
            fontsize=POINTS * self.scale,
            color=BLACK,
            zorder=4,
        )

    def _share_of_class(self, feature: int) -> float:
        """How dark a box is: what the class adds, relative to the largest."""
        if self.strengths is None or not self._most_of_class():
            return 0.0
        return self.strengths.get((CLASS, feature), 0.0) / self._most_of_class()

    def _most_of_class(self) -> float:
        return max(
            (value for (parent, _), value in (self.strengths or {}).items() if parent == CLASS),
            default=0.0,
        )

    # ---- edges

    def _draw_edges(self, ax: Any) -> None:
        shown = [edge for edge in self.kinds if self.with_class or edge[0] != CLASS]
        downwards = {edge: self._downwards(edge) for edge in shown}
        routes = self.grid.routes(downwards.values(), GAP / (self.box + GAP))
        ends = self._ends(downwards.values(), routes)
        for edge, line in downwards.items():
            points = self._points(line, routes[line], ends[line])
            self._draw_edge(ax, edge, points if line == edge else points[::-1])

    def _downwards(self, edge: Edge) -> Edge:
        """The edge from the upper to the lower of its nodes; one that was removed may point up."""
        upper, lower = sorted(edge, key=lambda node: self.grid.spot(node)[1])
        return upper, lower

    def _ends(self, edges: Any, routes: Mapping[Edge, list[float]]) -> dict[Edge, float]:
        """Where each edge meets the upper border of a box: side by side, in the order in which they
        come.
        """
        coming: dict[int, list[tuple[float, Edge]]] = {}
        for edge in edges:
            last = routes[edge][-1] if routes[edge] else self.grid.spot(edge[0])[0]
            coming.setdefault(edge[1], []).append((last, edge))
        found = {}
        for child, lines in coming.items():
            step = min(0.14, 0.7 * self.box / len(lines))
            for k, (_, edge) in enumerate(sorted(lines)):
                found[edge] = self._x(self.grid.columns[child]) + step * (k - (len(lines) - 1) / 2)
        return found

    def _points(self, edge: Edge, route: list[float], end: float) -> list[tuple[float, float]]:
        """Where an edge leaves a box, passes the borders of the rows between, and meets the other
        box.
        """
        column, row = self.grid.spot(edge[0])
        points = [(self._x(column), self._top(row) + BOX)]
        for between, stop in enumerate(route, row + 1):
            points += [
                (self._x(stop), self._top(between)),
                (self._x(stop), self._top(between) + BOX),
            ]
        return [*points, (end, self._top(self.grid.rows[edge[1]]))]

    def _draw_edge(self, ax: Any, edge: Edge, points: list[tuple[float, float]]) -> None:
        kinds = need("matplotlib.path").Path
        path, codes = [points[0]], [kinds.MOVETO]
        for (x0, y0), (x1, y1) in pairwise(points):
            half = (y0 + y1) / 2
            path += [(x0, half), (x1, half), (x1, y1)]
            codes += [kinds.CURVE4] * 3
        look = self._look(edge)
        width = look["linewidth"]
        head = {"arrowstyle": "-|>", "mutation_scale": (5 + 2.2 * width) * math.sqrt(self.scale)}
        arrow = need("matplotlib.patches").FancyArrowPatch
        ax.add_patch(
            arrow(path=kinds(path, codes), **head, **look, zorder=1 if edge[0] == CLASS else 2)
        )

    def _look(self, edge: Edge) -> dict[str, Any]:
        colour, line = LOOKS[self.kinds[edge]]
        if edge[0] == CLASS and self.kinds[edge] == SAME:
            colour, line = ORANGE, (0, (2, 2))
        return {
            "color": colour,
            "linestyle": line,
            "linewidth": self._width(edge) * self.scale,
            "alpha": 0.85,
        }

    def _width(self, edge: Edge) -> float:
        if edge[0] == CLASS:
            return THIN
        if self.strengths is None or not self.strongest or edge not in self.strengths:
            return 1.2
        return self._width_of(self.strengths[edge])

    def _width_of(self, strength: float) -> float:
        return THIN + (THICK - THIN) * min(1.0, max(0.0, strength / self.strongest))

    # ---- legend

    def _notes(self) -> list[str]:
        """What the picture leaves out."""
        notes = []
        target = words(self.graph.target)
        if not self.with_class and all(self.graph.structure.class_children):
            notes.append(f"{target} is a parent of every feature (edges not drawn)")
        if self.too_dense:
            notes.append("too dense for exact strengths: edges have one width")
        return notes

    @cached_property
    def _entries(self) -> list[tuple[str, Any]]:
        """What colours, lines and widths mean: texts with a line or a patch for each."""
        line, patch = need("matplotlib.lines").Line2D, need("matplotlib.patches").Patch
        target, found = words(self.graph.target), []
        if self.compared:
            used = {
                kind for edge, kind in self.kinds.items() if self.with_class or edge[0] != CLASS
            }
            found += [
                (kind, line([], [], color=colour, linestyle=style, linewidth=1.6))
                for kind, (colour, style) in LOOKS.items()
                if kind in used
            ]
        if self.with_class and SAME in (
            self.kinds.get((CLASS, i)) for i in range(len(self.graph.names))
        ):
            found.append(
                (
                    f"edge from {target}",
                    line([], [], color=ORANGE, linestyle=(0, (2, 2)), linewidth=THIN),
                )
            )
        for strength in self._ends_of_widths():
            text = f"{self._amount(strength)} between parent and child"
            found.append((text, line([], [], color=GREY, linewidth=self._width_of(strength))))
        if self._most_of_class():
            text = f"{self._amount(self._most_of_class())} that {target} adds"
            found.append((text, patch(facecolor=SHADES[1], edgecolor=BLUE)))
        if not (self.with_class or all(self.graph.structure.class_children)):
            found.append(
                (
                    f"does not depend on {target}",
                    patch(facecolor=SHADES[0], edgecolor=BLUE, linestyle="--"),
                )
            )
        return found

    def _amount(self, strength: float) -> str:
        if self.in_nats and abs(strength) < NO_NATS:
            return "0 nats"
        return f"{strength:.2g} nats" if self.in_nats else f"strength {strength:.3g}"

    def _ends_of_widths(self) -> list[float]:
        """The strengths of the strongest and of the weakest edge."""
        values = [value for (parent, _), value in (self.strengths or {}).items() if parent != CLASS]
        return sorted({max(values), min(values)}, reverse=True) if values and self.strongest else []

    def _legend_columns(self, width: float) -> int:
        return max(1, int(width / 3.6))

    def _below(self, width: float) -> float:
        """The height of the legend."""
        lines = len(self._notes()) + math.ceil(len(self._entries) / self._legend_columns(width))
        return ENTRY * lines + 0.15 if lines else 0.0

    def _draw_legend(self, ax: Any, width: float) -> None:
        entries, notes = self._entries, self._notes()
        if not entries and not notes:
            return
        size = LEGEND_POINTS * self.scale
        shown = ax.legend(
            [handle for _, handle in entries], [text for text, _ in entries], loc="lower center", frameon=False,
            ncols=self._legend_columns(width), fontsize=size, title="\n".join(notes) or None, title_fontsize=size,
        )  # fmt: skip
        shown.set_zorder(5)
