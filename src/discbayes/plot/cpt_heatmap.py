"""A conditional probability table as a heat map."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

from discbayes import inference
from discbayes._lazy_imports import need
from discbayes.bayesnet import BayesNet
from discbayes.data import Variable
from discbayes.network import CLASS, reduce_states
from discbayes.plot.graphs import feature_position, network_of
from discbayes.plot.style import BLACK, BLUE, PALE, framed_axes, max_width, size_in_inches, words

# Inches.
CELL_WIDTH, CELL_HEIGHT = 0.62, 0.26
MARGIN = 0.14  # around the label of a cell
MAX_WIDTH, MAX_HEIGHT = 10.0, 11.0  # of all cells in a new figure
MIN_WIDTH, MIN_HEIGHT = 1.6, 1.0  # for the title, and for the names of the parents
# Points.
POINTS, MIN_POINTS = 9.0, 5.5  # font sizes
LINE = 1.45  # height of a line, relative to the font size
MAX_TITLE = 60  # characters


def table(thing: Any, feature: Any, ax: Any = None, *, fine: bool = False) -> Any:
    """Plot P(value | class, parents) of a feature: a row for each class and values of the parents.

    Numbers are written into the cells where they fit, and some row labels are left out where there
    are too many. Combinations of parents that cannot occur are gray. Where the tables of the
    network are not normalized, the plot shows the probabilities that they imply. A column of two
    resolutions is shown by its coarse intervals.

    Parameters
    ----------
    thing : BayesNetClassifier or BayesNet
        A fitted classifier, or a network.
    feature : str or int
        The feature, by name or position.
    ax : Axes, optional
        The axes to draw on; new ones by default.
    fine : bool, default=False
        Whether a feature of two resolutions is shown by all of its intervals; parents are always
        shown by coarse intervals, as the table has them.

    Returns
    -------
    Axes
        The axes with the plot.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> table(BayesNetClassifier().fit(iris.X, iris.y), "petal width (cm)").get_title()
    'petal width (cm)'
    """
    network = network_of(thing)
    i = feature_position(network, feature)
    domain, given = network.domain, _given(network, i)
    variable = (domain if fine else domain.coarse).features[i]
    rows = [
        ", ".join(words(label, 24) for label in row) for row in product(*(v.labels for v in given))
    ] or [""]
    values = [words(label) for label in variable.labels]
    cells = _cells(network, i, fine).reshape(len(rows), len(values))
    ax = _new_axes(rows, values) if ax is None else ax
    _draw_cells(ax, cells, fine and variable.has_states)
    width, height = np.divide(size_in_inches(ax), cells.shape[::-1]).tolist()
    _label_rows(ax, rows, height)
    _label_values(ax, values, width)
    _write_numbers(ax, cells, width, height)
    # a line between classes, or values of the first parent, that have several rows
    block = len(rows) // given[0].card if given else 1
    if block > 1:
        for row in range(block, len(rows), block):
            ax.axhline(row - 0.5, color=BLACK, linewidth=0.8)
    ax.set_title(words(variable.name, MAX_TITLE), fontsize=POINTS + 1)
    ax.set_ylabel(", ".join(words(v.name) for v in given), fontsize=POINTS)
    return ax


def _given(network: BayesNet, feature: int) -> list[Variable]:
    """Return the variables that the table of a feature is conditional on, the class first."""
    own = [network.domain.target] if network.structure.class_children[feature] else []
    return own + [network.domain.coarse.features[p] for p in network.structure.parents[feature]]


def _cells(network: BayesNet, feature: int, fine: bool) -> np.ndarray:
    """Return P(value | class, parents), the class as first axis; NaN where these cannot occur.

    Values are those of the table, or the coarse intervals of a column of two resolutions.
    """
    tables, by_class = network.parameters, network.structure.class_children[feature]
    if tables.is_normalized:
        found = np.exp(tables.log_table(feature))
    else:
        parents = network.structure.parents[feature]
        asked = [*parents, feature, CLASS]
        found = inference.joint_posterior(tables, asked, {}, network.inference_options)
        for axis, p in enumerate(parents):  # rows are by state
            by_state = reduce_states(found.swapaxes(axis, -2), tables.layout.states_of(p), np.add)
            found = by_state.swapaxes(axis, -2)
        found = found if by_class else found.sum(axis=-1, keepdims=True)
        with np.errstate(invalid="ignore"):
            found = found / found.sum(axis=-2, keepdims=True)
    if not fine:
        found = reduce_states(found, tables.layout.states_of(feature), np.add)
    return np.moveaxis(found, -1, 0) if by_class else found[..., 0]


def _new_axes(rows: list[str], values: list[str]) -> Any:
    """Return axes of the size that the labels need."""
    longest = max_width(values, POINTS)
    flat = len(values) * (longest + MARGIN) <= MAX_WIDTH
    width = max(CELL_WIDTH, longest + MARGIN) if flat else min(CELL_WIDTH, MAX_WIDTH / len(values))
    height = min(MAX_HEIGHT, CELL_HEIGHT * len(rows))
    size = max(MIN_WIDTH, width * len(values)), max(MIN_HEIGHT, height)
    left = max_width(rows, POINTS) + 0.45
    return framed_axes(size, left, bottom=0.35 if flat else longest + 0.25, top=0.4)


def _draw_cells(ax: Any, cells: np.ndarray, fine: bool) -> None:
    """Draw probabilities from 0 to 1 in colors; of fine intervals, to the largest of them."""
    kinds = need("matplotlib.colors").LinearSegmentedColormap
    colors = kinds.from_list("discbayes", ["#ffffff", BLUE]).with_extremes(bad=PALE)
    most = float(np.nanmax(cells, initial=0.0)) if fine else 1.0
    ax.imshow(cells, cmap=colors, vmin=0, vmax=most, aspect="auto", interpolation="nearest")


def _label_rows(ax: Any, rows: list[str], height: float) -> None:
    """Write a label for each row, or for every n-th row where not all of them fit."""
    points = min(POINTS, max(MIN_POINTS, 72 * height / LINE))
    step = max(1, math.ceil(LINE * points / 72 / height - 1e-6))
    ax.set_yticks(range(0, len(rows), step), rows[::step], fontsize=points)
    ax.tick_params(axis="y", length=0 if step == 1 else 2)


def _label_values(ax: Any, values: list[str], width: float) -> None:
    """Write a label below each value, rotated where it is too wide, or below every n-th value."""
    flat = max_width(values, POINTS) <= width - MARGIN + 1e-6
    points = POINTS if flat else min(POINTS, max(MIN_POINTS, 72 * width / LINE))
    step = 1 if flat else max(1, math.ceil(LINE * points / 72 / width - 1e-6))
    angle = 0 if flat else 90
    ax.set_xticks(range(0, len(values), step), values[::step], fontsize=points, rotation=angle)
    ax.tick_params(axis="x", length=0 if step == 1 else 2)


def _write_numbers(ax: Any, cells: np.ndarray, width: float, height: float) -> None:
    """Write the probabilities in a font that fits the cells; nothing where that is too small."""
    points = min(POINTS - 1, 72 * width / 2.6, 72 * height * 0.75)
    if points < MIN_POINTS:
        return
    dark = 0.6 * ax.images[0].get_clim()[1]
    for (row, column), share in np.ndenumerate(cells):
        if not np.isnan(share):
            style = {"fontsize": points, "color": "white" if share > dark else BLACK}
            ax.text(column, row, _percentage(share), ha="center", va="center", **style)


def _percentage(share: float) -> str:
    """Return a probability in a few characters.

    >>> _percentage(0.254), _percentage(0.0004), _percentage(0.0), _percentage(0.9999)
    ('.25', '<.01', '0', '>.99')
    """
    if share in (0.0, 1.0):
        return f"{share:.0f}"
    if share < 0.005:
        return "<.01"
    return ">.99" if share > 0.995 else f"{share:.2f}"[1:]
