"""A network as SVG: for notebooks a picture that stands by itself, for the report one with buttons.

A picture has no scripts, no styles that affect the page around it, and nothing to fetch. Boxes have
a fill and a text color of their own, and lines are of middle gray, so that the picture is legible
on light and on dark pages.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from discbayes._text import count_of, shortened, width_of
from discbayes.bayesnet import BayesNet
from discbayes.charts.network_picture import (
    Point,
    Sizes,
    Strengths,
    exact_marginals,
    network_picture,
    picture_size,
)
from discbayes.charts.placement import place
from discbayes.data import Domain, Variable
from discbayes.network import CLASS, Structure
from discbayes.report.markup import escaped

_SIZES = Sizes(row=64.0, box=28.0, space=16.0, margin=12.0)  # pixels
_SIZES_WITH_BARS = Sizes(row=92.0, box=54.0, space=16.0, margin=12.0)
_MAX_NODES_WITH_BARS = 40  # more boxes are too many to look at each
_BARS_HEIGHT, _BARS_SIDE = 22.0, 9.0  # of the bars in a box, and the space beside them
_MIN_SCALE = 0.6  # of a picture in a notebook or page; a smaller one would be illegible
_CHARACTER = 7.2  # mean width of a character in pixels
_MIN_CHARACTERS = 8  # that fit into a box
_MAX_WIDTH, _MIN_COLUMNS = 960.0, 4  # a wider picture is scaled down, and hard to read
_MAX_VALUES, _MAX_LABEL = 20, 60  # in a tooltip
_FEATURE_COLORS = ("#e6edf7", "#4a6fa5")  # fill and border
_CLASS_COLORS = ("#fbe8c8", "#b3741a")
_TEXT_COLOR, _EDGE_COLOR = "#1c2733", "#8894a3"
_EVEN_WIDTH = 1.4  # of edges without strengths
_MIN_WIDTH, _MAX_EDGE_WIDTH = 0.8, 4.0


def network_html(network: BayesNet) -> str:
    """Return a self-contained picture of a network, for notebooks and pages.

    The class is at the top, and every feature below its parents. Edges from the class are drawn
    only where it is not a parent of every feature. Names are shortened; the tooltip of a box has
    the full name and the values.

    Parameters
    ----------
    network : BayesNet
        The network to draw.

    Returns
    -------
    str
        A ``figure`` element.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> wine = load_dataset("wine")
    >>> network_html(BayesNetClassifier().fit(wine.X, wine.y).network_)[:7]
    '<figure'
    """
    return _figure(_drawing_of(network), network_caption(network))


def structure_html(structure: Structure) -> str:
    """Return a picture of a structure by itself, in which features have numbers instead of names.

    Parameters
    ----------
    structure : Structure
        The structure to draw.

    Returns
    -------
    str
        A ``figure`` element.

    Examples
    --------
    >>> from discbayes import Structure
    >>> structure_html(Structure(((), (0,))))[:7]
    '<figure'
    """
    names = [str(i) for i in range(structure.n_features)]
    tooltips = ["the class", *(f"feature {name}" for name in names)]
    n_edges = f"{count_of(structure.n_edges, 'edge')} between them"
    caption = f"Structure: {count_of(structure.n_features, 'feature')}, {n_edges}."
    drawing = _Drawing(structure, names, "class", tooltips)
    return _figure(drawing, f"{caption} {_class_role('class', structure)}")


def network_svg(network: BayesNet, strengths: Strengths | None, label: str) -> str:
    """Return the picture for the report: nodes are buttons, and stronger edges are wider."""
    return _drawing_of(network, strengths, has_buttons=True).svg(label)


def still_svg(network: BayesNet, strengths: Strengths | None, label: str) -> str:
    """Return the picture for a page without a script: stronger edges are wider."""
    return _drawing_of(network, strengths, kind=_StillDrawing).svg(label)


def consensus_svg(structure: Structure, domain: Domain, shares: Strengths, label: str) -> str:
    """Return the picture of a consensus network: edges of more members are wider."""
    tips = [tooltip(variable) for variable in (domain.target, *domain.features)]
    drawing = _Consensus(structure, domain.names, domain.target.name, tips, shares)
    return drawing.svg(label)


def _drawing_of(
    network: BayesNet,
    strengths: Strengths | None = None,
    has_buttons: bool = False,
    kind: type[_Drawing] | None = None,
) -> _Drawing:
    domain = network.domain
    tips = [tooltip(variable) for variable in (domain.target, *domain.features)]
    has_bars = len(domain.features) <= _MAX_NODES_WITH_BARS
    marginals = exact_marginals(network) if has_bars else {}
    names, target = domain.names, domain.target.name
    return (kind or _Drawing)(
        network.own_structure, names, target, tips, strengths, has_buttons, marginals
    )


def _figure(drawing: _Drawing, caption: str) -> str:
    return (
        '<figure style="margin:0.5em 0"><div style="overflow-x:auto" tabindex="0" role="group"'
        f' aria-label="The network">{drawing.svg(caption)}</div>'
        f'<figcaption style="font-size:85%;opacity:0.85">{escaped(caption)}</figcaption></figure>'
    )


class _Drawing:
    """The boxes and edges of one picture, which share names, sizes and markers."""

    def __init__(
        self,
        structure: Structure,
        names: Sequence[str],
        target: str,
        tips: Sequence[str],
        strengths: Strengths | None = None,
        has_buttons: bool = False,
        marginals: Mapping[int, np.ndarray] | None = None,
    ):
        self.has_buttons = has_buttons
        self.marginals = marginals or {}
        self.sizes = _SIZES_WITH_BARS if self.marginals else _SIZES
        self.strengths = strengths or {}
        self.names = {CLASS: target, **dict(enumerate(names))}
        self.tips = dict(enumerate(tips, CLASS))
        longest = max(width_of(shortened(name)) for name in self.names.values())
        self.box = max(_MIN_CHARACTERS, longest) * _CHARACTER + 14
        columns = int(_MAX_WIDTH / (self.box + self.sizes.space))
        placement = place(structure, max(_MIN_COLUMNS, columns))
        self.width, self.height = picture_size(placement, self.box, self.sizes)
        # Edges from the class are drawn only where it is not a parent of every feature.
        from_class = [(CLASS, i) for i, is_child in enumerate(structure.class_children) if is_child]
        to_class = [(parent, CLASS) for parent in structure.class_parents]
        edges = ([] if all(structure.class_children) else from_class) + structure.edges() + to_class
        self.picture = network_picture(placement, edges, self.box, self.sizes, self.width)
        # Several pictures on one page must not share an id.
        self.arrow = f"discbayes-{secrets.token_hex(6)}"
        between = [self.strengths.get(edge, 0.0) for edge in structure.edges()]
        self.strongest = max(between, default=0.0)

    def svg(self, label: str) -> str:
        """Return the whole picture."""
        edges = [self._edge(*edge, points) for edge, points in self.picture.edges.items()]
        nodes = [self._node(node, x, top) for node, (x, top) in self.picture.boxes.items()]
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" aria-label="{escaped(label)}"'
            f' width="{self.width:.0f}" height="{self.height:.0f}"'
            f' viewBox="0 0 {self.width:.1f} {self.height:.1f}" {self._role()}'
            ' font-family="system-ui,sans-serif" font-size="12">'
            f"{self._markers()}{''.join(edges)}{''.join(nodes)}</svg>"
        )

    def _role(self) -> str:
        if self.has_buttons:
            return 'role="group" class="network"'
        least = round(_MIN_SCALE * self.width)
        return f'role="img" style="max-width:100%;min-width:{least}px;height:auto"'

    # ---- edges

    def _markers(self) -> str:
        # the style sheet of the report uses another one for highlighted edges
        ids = [self.arrow, *(["arrow-on"] if self.has_buttons else [])]
        size = (
            'viewBox="0 0 8 8" refX="8" refY="4" markerWidth="10" markerHeight="10"'
            ' markerUnits="userSpaceOnUse"'
        )
        arrow = f'<path d="M0 0.8 8 4 0 7.2z" fill="{_EDGE_COLOR}"/>'
        markers = [f'<marker id="{name}" {size} orient="auto">{arrow}</marker>' for name in ids]
        return f"<defs>{''.join(markers)}</defs>"

    def _edge(self, parent: int, child: int, points: list[Point]) -> str:
        (x, y), *_ = points
        path = f"M{x:.1f} {y:.1f}"
        for k, ((x0, y0), (x1, y1)) in enumerate(pairwise(points)):
            half = (y1 - y0) / 2
            curve = f"C{x0:.1f} {y0 + half:.1f} {x1:.1f} {y1 - half:.1f} {x1:.1f} {y1:.1f}"
            path += curve if k % 2 == 0 else f"V{y1:.1f}"
        return (
            f'<path d="{path}" {self._ends(parent, child)}fill="none" stroke="{_EDGE_COLOR}"'
            f' {self._style(parent, child)} marker-end="url(#{self.arrow})">'
            f"<title>{escaped(self._edge_tip(parent, child))}</title></path>"
        )

    def _ends(self, parent: int, child: int) -> str:
        """Return the attributes of an edge for a style sheet and a script."""
        return f'class="edge" data-from="{parent}" data-to="{child}" ' if self.has_buttons else ""

    def _style(self, parent: int, child: int) -> str:
        if parent == CLASS:
            return 'stroke-width="1" stroke-dasharray="3 4" opacity="0.8"'
        width = _EVEN_WIDTH
        if self.strongest > 0:
            share = max(0.0, self.strengths.get((parent, child), 0.0)) / self.strongest
            width = round(_MIN_WIDTH + (_MAX_EDGE_WIDTH - _MIN_WIDTH) * math.sqrt(share), 2)
        return f'stroke-width="{width:g}"'

    def _edge_tip(self, parent: int, child: int) -> str:
        tip = f"{self.names[parent]} → {self.names[child]}"
        strength = self.strengths.get((parent, child))
        return tip if strength is None else f"{tip}\n{strength:.3g} nats, given its other parents"

    # ---- nodes

    def _node(self, node: int, x: float, top: float) -> str:
        fill, border = _CLASS_COLORS if node == CLASS else _FEATURE_COLORS
        return (
            f"<g{self._button(node)}><title>{escaped(self.tips[node])}</title>"
            f'<rect x="{x - self.box / 2:.1f}" y="{top:.1f}" width="{self.box:.1f}"'
            f' height="{self.sizes.box}" rx="7" fill="{fill}" stroke="{border}"/>'
            f'<text x="{x:.1f}" y="{top + _SIZES.box / 2 + 4:.1f}" text-anchor="middle"'
            f' fill="{_TEXT_COLOR}">{escaped(shortened(self.names[node]))}</text>'
            f"{self._bars(node, x, top, border)}</g>"
        )

    def _bars(self, node: int, x: float, top: float, color: str) -> str:
        """Return the distribution of a node as bars below its name, one for each value."""
        shares = self.marginals.get(node)
        if shares is None or shares.size < 2:
            return ""
        width = (self.box - 2 * _BARS_SIDE) / shares.size
        space = min(1.0, width / 5)
        left, floor = x - self.box / 2 + _BARS_SIDE, top + self.sizes.box - 4
        heights = _BARS_HEIGHT * shares / shares.max()
        bars = "".join(
            f"M{left + k * width + space / 2:.1f} {floor:.1f}v{-height:.1f}h{width - space:.1f}"
            f"v{height:.1f}z"
            for k, height in enumerate(heights.tolist())
        )
        return f'<path d="{bars}" fill="{color}" fill-opacity="0.55"/>'

    def _spoken(self, node: int) -> str:
        """Return the name of a button, which has the text that is seen in it, as voices need it."""
        name = " ".join(self.names[node].split())
        return name if shortened(name) == name else f"{shortened(name)}: {name}"

    def _button(self, node: int) -> str:
        """Return the attributes of a button.

        One of the nodes is reached by Tab, and the others from there by the arrow keys.
        """
        if not self.has_buttons:
            return ""
        kind, tab_index = ("node target", 0) if node == CLASS else ("node", -1)
        return (
            f' class="{kind}" data-node="{node}" role="button" tabindex="{tab_index}"'
            f' aria-pressed="false" aria-label="{escaped(self._spoken(node))}"'
        )


class _StillDrawing(_Drawing):
    """A picture for a page that styles it, without buttons."""

    def _role(self) -> str:
        return 'role="img" class="network"'

    def _ends(self, parent: int, child: int) -> str:
        return 'class="edge" '

    def _button(self, node: int) -> str:
        return ' class="node target"' if node == CLASS else ' class="node"'


class _Consensus(_StillDrawing):
    """The picture of a consensus network."""

    def _edge_tip(self, parent: int, child: int) -> str:
        share = self.strengths.get((parent, child), 0.0)
        return f"{self.names[parent]} → {self.names[child]}\n{share:.0%} of the members"


# ---- text


def network_caption(network: BayesNet) -> str:
    """Return the size of a network, and of which features the class is a parent."""
    structure = network.own_structure
    return (
        f"Bayesian network: {count_of(structure.n_features, 'feature')},"
        f" {count_of(network.domain.n_classes, 'class', 'es')},"
        f" {count_of(structure.n_edges, 'edge')} between features,"
        f" {count_of(network.n_parameters, 'free parameter')}."
        f" {_class_role(network.domain.target.name, structure)}"
    )


def _class_role(name: str, structure: Structure) -> str:
    n_children, n_features = sum(structure.class_children), structure.n_features
    subject = "The class" if name == "class" else f"The class, {shortened(name)},"
    if n_children == n_features:
        return f"{subject} is a parent of every feature (edges not drawn)."
    above = ""
    if structure.class_parents:
        above = f" has {count_of(len(structure.class_parents), 'parent')}, and"
    return f"{subject}{above} is a parent of {n_children} of {n_features} features (dashed edges)."


def tooltip(variable: Variable) -> str:
    """Return name, kind and values of a variable, a value, interval or group on each line.

    >>> print(tooltip(Variable("size", "numeric", cuts=(2.5,))))
    size (numeric, 2 values)
    < 2.5
    >= 2.5
    """
    labels = [shortened(label, _MAX_LABEL) for label in variable.coarse.labels]
    more = [f"… and {len(labels) - _MAX_VALUES} more"] if len(labels) > _MAX_VALUES else []
    values = count_of(variable.card, "value")
    if variable.has_states:
        states = "coarse interval" if variable.groups is None else "group"
        values = f"{values} in {count_of(len(labels), states)}"
    head = f"{variable.name} ({variable.kind}, {values})"
    return "\n".join([head, *labels[:_MAX_VALUES], *more])
