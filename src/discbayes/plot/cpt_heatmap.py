"""A conditional table as a heat map."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

from discbayes import inference
from discbayes._lazy_imports import need
from discbayes.bayesnet import BayesNet
from discbayes.data import Variable
from discbayes.network import CLASS
from discbayes.plot.graphs import feature_position, network_of
from discbayes.plot.style import BLACK, BLUE, PALE, framed_axes, max_width, size_in_inches, words

# Inches of a cell, around its label, and the most that all cells of a new figure take up.
CELL_WIDTH, CELL_HEIGHT, MARGIN, WIDEST, HIGHEST = 0.62, 0.26, 0.14, 10.0, 11.0
NARROWEST, LOWEST = 1.6, 1.0  # room for the title, and for the names of the parents
# sizes of letters, and the height of a line relative to them
POINTS, SMALLEST, LINE = 9.0, 5.5, 1.45
LONGEST_TITLE = 60  # letters


def table(thing: Any, feature: Any, ax: Any = None) -> Any:
    """P(value | class and parents) of one feature: a row for each class and values of the parents.

    Numbers stand in the cells where there is room, and row labels are left out evenly where there
    are too many. Combinations of parents that cannot occur are grey. Where the tables of the
    network are not normalised, these are the probabilities that follow from them.

    Parameters
    ----------
    thing : BayesNetClassifier or BayesNet
    feature : str or int
        The feature, by name or position.
    ax : Axes, optional

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> table(BayesNetClassifier().fit(iris.X, iris.y), "petal width (cm)").get_title()
    'petal width (cm)'
    """
    network = network_of(thing)
    i = feature_position(network, feature)
    variable, given = network.domain.features[i], _given(network, i)
    rows = [
        ", ".join(words(label, 24) for label in row) for row in product(*(v.labels for v in given))
    ] or [""]
    values = [words(label) for label in variable.labels]
    cells = _cells(network, i).reshape(len(rows), len(values))
    ax = _new_axes(rows, values) if ax is None else ax
    _colour(ax, cells)
    width, height = (
        length / n for length, n in zip(size_in_inches(ax), cells.shape[::-1], strict=True)
    )
    _label_rows(ax, rows, height)
    _label_values(ax, values, width)
    _write_numbers(ax, cells, width, height)
    if given:
        _draw_lines(ax, cells.shape, len(rows) // given[0].card)
    ax.set_title(words(variable.name, LONGEST_TITLE), fontsize=POINTS + 1)
    ax.set_ylabel(", ".join(words(v.name) for v in given), fontsize=POINTS)
    return ax


def _given(network: BayesNet, feature: int) -> list[Variable]:
    """What the table of a feature is conditional on, the class first."""
    own = [network.domain.target] if network.structure.class_children[feature] else []
    return own + [network.domain.features[p] for p in network.structure.parents[feature]]


def _cells(network: BayesNet, feature: int) -> np.ndarray:
    """P(value | class, parents): the class comes first, then the parents; NaN where these cannot
    occur together.
    """
    tables, by_class = network.parameters, network.structure.class_children[feature]
    if tables.is_normalized:
        found = np.exp(tables.log_table(feature))
    else:
        asked = [*network.structure.parents[feature], feature, CLASS]
        found = inference.joint_posterior(tables, asked, {}, network.inference_options)
        found = found if by_class else found.sum(axis=-1, keepdims=True)
        with np.errstate(invalid="ignore"):
            found = found / found.sum(axis=-2, keepdims=True)
    return np.moveaxis(found, -1, 0) if by_class else found[..., 0]


def _new_axes(rows: list[str], values: list[str]) -> Any:
    """Axes of the size that the labels need."""
    longest = max_width(values, POINTS)
    flat = len(values) * (longest + MARGIN) <= WIDEST
    width = max(CELL_WIDTH, longest + MARGIN) if flat else min(CELL_WIDTH, WIDEST / len(values))
    size = max(NARROWEST, width * len(values)), max(LOWEST, min(HIGHEST, CELL_HEIGHT * len(rows)))
    left = max_width(rows, POINTS) + 0.45
    return framed_axes(size, left, bottom=0.35 if flat else longest + 0.25, top=0.4)


def _colour(ax: Any, cells: np.ndarray) -> None:
    colours = need("matplotlib.colors").LinearSegmentedColormap.from_list(
        "discbayes", ["#ffffff", BLUE]
    )
    ax.imshow(
        cells,
        cmap=colours.with_extremes(bad=PALE),
        vmin=0,
        vmax=1,
        aspect="auto",
        interpolation="nearest",
    )


def _label_rows(ax: Any, rows: list[str], height: float) -> None:
    """A label for each row, or for every second, third and so on where there is no room for all."""
    points = min(POINTS, max(SMALLEST, 72 * height / LINE))
    step = max(1, math.ceil(LINE * points / 72 / height - 1e-6))
    ax.set_yticks(range(0, len(rows), step), rows[::step], fontsize=points)
    ax.tick_params(axis="y", length=0 if step == 1 else 2)


def _label_values(ax: Any, values: list[str], width: float) -> None:
    """A label below each value: upright where it is too wide, and not for all where there are too
    many.
    """
    flat = max_width(values, POINTS) <= width - MARGIN + 1e-6
    points = POINTS if flat else min(POINTS, max(SMALLEST, 72 * width / LINE))
    step = 1 if flat else max(1, math.ceil(LINE * points / 72 / width - 1e-6))
    ax.set_xticks(
        range(0, len(values), step), values[::step], fontsize=points, rotation=0 if flat else 90
    )
    ax.tick_params(axis="x", length=0 if step == 1 else 2)


def _write_numbers(ax: Any, cells: np.ndarray, width: float, height: float) -> None:
    """The probabilities, in letters that fit the cells; none where they would be too small."""
    points = min(POINTS - 1, 72 * width / 2.6, 72 * height * 0.75)
    if points < SMALLEST:
        return
    for (row, column), share in np.ndenumerate(cells):
        if not np.isnan(share):
            ink = "white" if share > 0.6 else BLACK
            ax.text(
                column,
                row,
                _percentage(share),
                ha="center",
                va="center",
                fontsize=points,
                color=ink,
            )


def _percentage(share: float) -> str:
    """A probability in a few letters.

    >>> _percentage(0.254), _percentage(0.0004), _percentage(0.0), _percentage(0.9999)
    ('.25', '<.01', '0', '>.99')
    """
    if share in (0.0, 1.0):
        return f"{share:.0f}"
    if share < 0.005:
        return "<.01"
    return ">.99" if share > 0.995 else f"{share:.2f}"[1:]


def _draw_lines(ax: Any, shape: tuple[int, ...], block: int) -> None:
    """A line between the classes, or between the values of the first parent, where each has several
    rows.
    """
    if block > 1:
        for row in range(block, shape[0], block):
            ax.axhline(row - 0.5, color=BLACK, linewidth=0.8)
