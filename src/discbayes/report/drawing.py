"""A network as a picture: for notebooks one that stands by itself, for the page one that a script
brings to life.

No scripts, no styles that reach the page around it, nothing to fetch. The colours of boxes come in
pairs of fill and ink, and lines are of middle grey, so that the picture can stand on a light page
and on a dark one.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence

from discbayes.bayesnet import BayesNet
from discbayes.data import Domain, Variable
from discbayes.network import CLASS, Structure
from discbayes.placement import place
from discbayes.report.text import count_of, escaped, shortened, width_of

# heights of a row and a box, between boxes, around
_ROW, _BOX, _GAP, _MARGIN = 64.0, 28.0, 16.0, 12.0
_LETTER, _SHORTEST = 7.2, 8  # mean width of a letter; letters that a box has room for at least
_WIDEST, _FEWEST_COLUMNS = 960.0, 4  # a wider picture is scaled down by the page, and hard to read
_MAX_VALUES, _MAX_LABEL = 20, 60  # in a tooltip
_FEATURE = ("#e6edf7", "#4a6fa5")
_CLASS = ("#fbe8c8", "#b3741a")
_INK, _LINE = "#1c2733", "#8894a3"
_EVEN, _THINNEST, _THICKEST = 1.4, 0.8, 4.0  # widths of edges

Strengths = Mapping[tuple[int, int], float]


def network_html(network: BayesNet) -> str:
    """A self-contained picture of a network, for notebooks and pages.

    The class stands at the top and every feature below its parents. Edges from the class are drawn
    only where it is not a parent of every feature. Names are shortened; the tooltip of a box has
    the whole name and the values.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> wine = load_dataset("wine")
    >>> network_html(BayesNetClassifier().fit(wine.X, wine.y).network_)[:7]
    '<figure'
    """
    domain = network.domain
    picture = _Picture(network.structure, domain.names, domain.target.name, _tooltips(domain))
    return _figure(picture, network_caption(network))


def structure_html(structure: Structure) -> str:
    """A picture of a structure by itself, in which features go by their numbers.

    >>> structure_html(Structure(((), (0,))))[:7]
    '<figure'
    """
    names = [str(i) for i in range(structure.n_features)]
    picture = _Picture(
        structure, names, "class", ["the class", *(f"feature {name}" for name in names)]
    )
    sizes = (
        count_of(structure.n_features, "feature"),
        f"{count_of(structure.n_edges, 'edge')} between them",
    )
    return _figure(picture, f"Structure: {', '.join(sizes)}. {_class_role('class', structure)}")


def network_svg(network: BayesNet, strengths: Strengths | None, label: str) -> str:
    """The picture for the page: nodes are buttons, and edges are as wide as they are strong."""
    domain = network.domain
    tips = _tooltips(domain)
    return _Picture(
        network.structure, domain.names, domain.target.name, tips, strengths, buttons=True
    ).svg(label)


def _figure(picture: _Picture, caption: str) -> str:
    return (
        '<figure style="margin:0.5em 0"><div style="overflow:auto;max-height:48em">'
        f"{picture.svg(caption)}</div>"
        f'<figcaption style="font-size:85%;opacity:0.85">{escaped(caption)}</figcaption></figure>'
    )


class _Picture:
    """The parts of one picture, which share scale and markers; the class has the number
    ``CLASS``.
    """

    def __init__(
        self,
        structure: Structure,
        names: Sequence[str],
        target: str,
        tips: Sequence[str],
        strengths: Strengths | None = None,
        buttons: bool = False,
    ):
        self.structure, self.strengths, self.buttons = structure, strengths or {}, buttons
        self.names = {CLASS: target, **dict(enumerate(names))}
        self.tips = dict(enumerate(tips, CLASS))
        letters = max(_SHORTEST, *(width_of(shortened(name)) for name in self.names.values()))
        self.box = letters * _LETTER + 14
        self.grid = place(structure, max(_FEWEST_COLUMNS, int(_WIDEST / (self.box + _GAP))))
        # several pictures on one page must not share an id
        self.arrow = f"discbayes-{secrets.token_hex(6)}"
        self.width = self.grid.n_columns * (self.box + _GAP) - _GAP + 2 * _MARGIN
        self.height = (self.grid.n_rows + 1) * _ROW - (_ROW - _BOX) + 2 * _MARGIN
        self.strongest = max(
            (self.strengths.get(edge, 0.0) for edge in structure.edges()), default=0.0
        )

    def svg(self, label: str) -> str:
        """The whole picture."""
        size = (
            f'width="{self.width:.0f}" height="{self.height:.0f}" viewBox="0 0 {self.width:.1f}'
            f' {self.height:.1f}"'
        )
        role = (
            'role="group" class="network"'
            if self.buttons
            else 'role="img" style="max-width:100%;height:auto"'
        )
        return "".join(
            (
                (
                    f'<svg xmlns="http://www.w3.org/2000/svg" aria-label="{escaped(label)}" {size}'
                    f' {role} font-family="system-ui,sans-serif" font-size="12">'
                ),
                self._marker(),
                *self._edges(),
                self._node(CLASS, self.width / 2, self._top(-1), _CLASS),
                *(self._feature(i) for i in range(self.structure.n_features)),
                "</svg>",
            )
        )

    def _x(self, column: float) -> float:
        return _MARGIN + self.box / 2 + column * (self.box + _GAP)

    def _top(self, row: int) -> float:
        """The upper border of the boxes in a row; the class is in row -1."""
        return _MARGIN + (row + 1) * _ROW

    # ---- edges

    def _marker(self) -> str:
        # the page has one more for edges that it marks
        ids = [self.arrow, *(["arrow-on"] if self.buttons else [])]
        size = (
            'viewBox="0 0 8 8" refX="8" refY="4" markerWidth="10" markerHeight="10"'
            ' markerUnits="userSpaceOnUse"'
        )
        arrow = f'<path d="M0 0.8 8 4 0 7.2z" fill="{_LINE}"/>'
        markers = [f'<marker id="{name}" {size} orient="auto">{arrow}</marker>' for name in ids]
        return f"<defs>{''.join(markers)}</defs>"

    def _edges(self) -> list[str]:
        """All edges; those from the class only where it is not a parent of every feature."""
        children = self.structure.class_children
        from_class = (
            [] if all(children) else [(CLASS, i) for i, flag in enumerate(children) if flag]
        )
        routes = self.grid.routes([*from_class, *self.structure.edges()], _GAP / (self.box + _GAP))
        return [self._edge(parent, child, route) for (parent, child), route in routes.items()]

    def _style(self, parent: int, child: int) -> str:
        if parent == CLASS:
            return 'stroke-width="1" stroke-dasharray="3 4" opacity="0.8"'
        return f'stroke-width="{self._width(parent, child):g}"'

    def _width(self, parent: int, child: int) -> float:
        if self.strongest <= 0:
            return _EVEN
        share = max(0.0, self.strengths.get((parent, child), 0.0)) / self.strongest
        return round(_THINNEST + (_THICKEST - _THINNEST) * math.sqrt(share), 2)

    def _edge(self, parent: int, child: int, route: list[float]) -> str:
        """Curves from the lower border of a box through the gaps of the rows between to the upper
        border of another.
        """
        column, row = self.grid.spot(parent)
        x, y = self._x(column), self._top(row) + _BOX
        path = f"M{x:.1f} {y:.1f}"
        for k, stop in enumerate([*route, self.grid.columns[child]], row + 1):
            x0, y0, x, y = x, y, self._x(stop), self._top(k)
            half = (y - y0) / 2
            path += f"C{x0:.1f} {y0 + half:.1f} {x:.1f} {y - half:.1f} {x:.1f} {y:.1f}"
            if k < self.grid.rows[child]:
                y += _BOX
                path += f"V{y:.1f}"
        ends = f'class="edge" data-from="{parent}" data-to="{child}" ' if self.buttons else ""
        return (
            f'<path d="{path}" {ends}fill="none" stroke="{_LINE}" {self._style(parent, child)} '
            f'marker-end="url(#{self.arrow})"><title>{escaped(self._edge_tip(parent, child))}</title></path>'
        )

    def _edge_tip(self, parent: int, child: int) -> str:
        tip = f"{self.names[parent]} → {self.names[child]}"
        strength = self.strengths.get((parent, child))
        return tip if strength is None else f"{tip}\n{strength:.3g} nats, given its other parents"

    # ---- nodes

    def _feature(self, i: int) -> str:
        return self._node(i, self._x(self.grid.columns[i]), self._top(self.grid.rows[i]), _FEATURE)

    def _node(self, node: int, x: float, y: float, colours: tuple[str, str]) -> str:
        fill, border = colours
        return (
            f"<g{self._button(node)}><title>{escaped(self.tips[node])}</title>"
            f'<rect x="{x - self.box / 2:.1f}" y="{y:.1f}" width="{self.box:.1f}" height="{_BOX}"'
            ' rx="7" '
            f'fill="{fill}" stroke="{border}"/>'
            f'<text x="{x:.1f}" y="{y + _BOX / 2 + 4:.1f}" text-anchor="middle" fill="{_INK}">'
            f"{escaped(shortened(self.names[node]))}</text></g>"
        )

    def _button(self, node: int) -> str:
        """What makes a node a button. One of them is reached by Tab, and the others from there by
        the arrow keys.
        """
        if not self.buttons:
            return ""
        kind, stop = ("node target", 0) if node == CLASS else ("node", -1)
        return (
            f' class="{kind}" data-node="{node}" role="button" tabindex="{stop}"'
            f' aria-pressed="false" aria-label="{escaped(self.names[node])}"'
        )


# Text


def network_caption(network: BayesNet) -> str:
    """The size of a network, and where the class is a parent."""
    structure = network.structure
    counts = ", ".join(
        (
            count_of(structure.n_features, "feature"),
            count_of(network.domain.n_classes, "class", "es"),
            f"{count_of(structure.n_edges, 'edge')} between features",
            count_of(network.n_parameters, "free parameter"),
        )
    )
    return f"Bayesian network: {counts}. {_class_role(network.domain.target.name, structure)}"


def _class_role(name: str, structure: Structure) -> str:
    n_children, n_features = sum(structure.class_children), structure.n_features
    subject = "The class" if name == "class" else f"The class, {shortened(name)},"
    if n_children == n_features:
        return f"{subject} is a parent of every feature (edges not drawn)."
    return f"{subject} is a parent of {n_children} of {n_features} features (dashed edges)."


def _tooltips(domain: Domain) -> list[str]:
    return [tooltip(variable) for variable in (domain.target, *domain.features)]


def tooltip(variable: Variable) -> str:
    """Name, kind and values, a value on each line.

    >>> print(tooltip(Variable("size", "numeric", cuts=(2.5,))))
    size (numeric, 2 values)
    < 2.5
    >= 2.5
    """
    labels = [shortened(label, _MAX_LABEL) for label in variable.labels]
    more = [f"… and {len(labels) - _MAX_VALUES} more"] if len(labels) > _MAX_VALUES else []
    head = f"{variable.name} ({variable.kind}, {count_of(len(labels), 'value')})"
    return "\n".join([head, *labels[:_MAX_VALUES], *more])
