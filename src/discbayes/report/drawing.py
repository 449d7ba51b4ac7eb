"""A network as an HTML fragment with a picture in it: no scripts, no styles that reach the page, nothing to fetch.

The colours of boxes come in pairs of fill and ink, and lines are of middle grey, so that the picture can stand on a
light page and on a dark one.
"""

from __future__ import annotations

import secrets

from discbayes.bayesnet import BayesNet
from discbayes.data import Variable
from discbayes.placement import place
from discbayes.report.text import count_of, escaped, shortened, width_of

_ROW, _BOX, _GAP, _MARGIN = 64.0, 28.0, 16.0, 12.0  # heights of a row and a box, between boxes, around
_LETTER, _SHORTEST = 7.2, 8  # mean width of a letter; letters that a box has room for at least
_WIDEST, _FEWEST_COLUMNS = 960.0, 4  # a wider picture is scaled down by the page, and hard to read
_MAX_VALUES, _MAX_LABEL = 20, 60  # in a tooltip
_FEATURE = ("#e6edf7", "#4a6fa5")
_CLASS = ("#fbe8c8", "#b3741a")
_INK, _LINE = "#1c2733", "#8894a3"


def network_html(network: BayesNet) -> str:
    """A self-contained picture of a network, for notebooks and pages.

    The class stands at the top and every feature below its parents. Edges from the class are drawn only where it is
    not a parent of every feature. Names are shortened; the tooltip of a box has the whole name and the values.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> wine = load_dataset("wine")
    >>> network_html(BayesNetClassifier().fit(wine.X, wine.y).network_)[:7]
    '<figure'
    """
    caption = escaped(_caption(network))
    return (
        '<figure style="margin:0.5em 0"><div style="overflow:auto;max-height:48em">'
        f"{_Picture(network).svg(caption)}</div>"
        f'<figcaption style="font-size:85%;opacity:0.85">{caption}</figcaption></figure>'
    )


def _caption(network: BayesNet) -> str:
    children = network.structure.class_children
    counts = ", ".join(
        (
            count_of(len(children), "feature"),
            count_of(network.domain.n_classes, "class", "es"),
            f"{count_of(network.structure.n_edges, 'edge')} between features",
            count_of(network.n_parameters, "free parameter"),
        )
    )
    return f"Bayesian network: {counts}. {_class_role(network.domain.target.name, sum(children), len(children))}"


def _class_role(name: str, n_children: int, n_features: int) -> str:
    subject = "The class" if name == "class" else f"The class, {shortened(name)},"
    if n_children == n_features:
        return f"{subject} is a parent of every feature (edges not drawn)."
    return f"{subject} is a parent of {n_children} of {n_features} features (dashed edges)."


class _Picture:
    """The parts of one picture, which share scale and marker."""

    def __init__(self, network: BayesNet):
        self.structure, self.domain = network.structure, network.domain
        names = [self.domain.target.name, *self.domain.names]
        letters = max(_SHORTEST, *(width_of(shortened(name)) for name in names))
        self.box = letters * _LETTER + 14
        self.grid = place(self.structure, max(_FEWEST_COLUMNS, int(_WIDEST / (self.box + _GAP))))
        self.arrow = f"discbayes-{secrets.token_hex(6)}"  # several pictures on one page must not share an id
        self.width = self.grid.n_columns * (self.box + _GAP) - _GAP + 2 * _MARGIN
        self.height = (self.grid.n_rows + 1) * _ROW - (_ROW - _BOX) + 2 * _MARGIN

    def svg(self, label: str) -> str:
        """The whole picture."""
        size = f'width="{self.width:.0f}" height="{self.height:.0f}" viewBox="0 0 {self.width:.1f} {self.height:.1f}"'
        return "".join(
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" {size} '
                'style="max-width:100%;height:auto" font-family="system-ui,sans-serif" font-size="12">',
                self._marker(),
                *self._class_edges(),
                *self._edges(),
                self._node(self.domain.target, self.width / 2, self._top(-1), _CLASS),
                *(self._feature(i, variable) for i, variable in enumerate(self.domain.features)),
                "</svg>",
            )
        )

    def _x(self, column: float) -> float:
        return _MARGIN + self.box / 2 + column * (self.box + _GAP)

    def _top(self, row: int) -> float:
        """The upper border of the boxes in a row; the class is in row -1."""
        return _MARGIN + (row + 1) * _ROW

    def _feature(self, i: int, variable: Variable) -> str:
        return self._node(variable, self._x(self.grid.columns[i]), self._top(self.grid.rows[i]), _FEATURE)

    def _marker(self) -> str:
        return (
            f'<defs><marker id="{self.arrow}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
            f'orient="auto"><path d="M0 0.8 8 4 0 7.2z" fill="{_LINE}"/></marker></defs>'
        )

    def _class_edges(self) -> list[str]:
        flags = self.structure.class_children
        if all(flags):
            return []
        style = 'stroke-width="1" stroke-dasharray="3 4" opacity="0.8"'
        start, name = (self.grid.n_columns - 1) / 2, self.domain.target.name
        return [self._edge(start, -1, i, style, name) for i, flag in enumerate(flags) if flag]

    def _edges(self) -> list[str]:
        columns, rows, names = self.grid.columns, self.grid.rows, self.domain.names
        return [
            self._edge(columns[parent], rows[parent], child, 'stroke-width="1.4"', names[parent])
            for child, group in enumerate(self.structure.parents)
            for parent in group
        ]

    def _edge(self, column: float, row: int, child: int, style: str, parent: str) -> str:
        """Curves from the lower border of a box through the gaps of the rows between to the upper border of another."""
        x, y = self._x(column), self._top(row) + _BOX
        path = f"M{x:.1f} {y:.1f}"
        for k, stop in enumerate([*self.grid.route(column, row, child), self.grid.columns[child]], row + 1):
            x0, y0, x, y = x, y, self._x(stop), self._top(k)
            half = (y - y0) / 2
            path += f"C{x0:.1f} {y0 + half:.1f} {x:.1f} {y - half:.1f} {x:.1f} {y:.1f}"
            if k < self.grid.rows[child]:
                y += _BOX
                path += f"V{y:.1f}"
        title = escaped(f"{parent} → {self.domain.names[child]}")
        return (
            f'<path d="{path}" fill="none" stroke="{_LINE}" {style} marker-end="url(#{self.arrow})">'
            f"<title>{title}</title></path>"
        )

    def _node(self, variable: Variable, x: float, y: float, colours: tuple[str, str]) -> str:
        fill, border = colours
        return (
            f"<g><title>{escaped(tooltip(variable))}</title>"
            f'<rect x="{x - self.box / 2:.1f}" y="{y:.1f}" width="{self.box:.1f}" height="{_BOX}" rx="7" '
            f'fill="{fill}" stroke="{border}"/>'
            f'<text x="{x:.1f}" y="{y + _BOX / 2 + 4:.1f}" text-anchor="middle" fill="{_INK}">'
            f"{escaped(shortened(variable.name))}</text></g>"
        )


# Text


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
