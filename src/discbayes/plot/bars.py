"""How the values of a feature are spread in each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discbayes import inference
from discbayes._lazy_imports import need
from discbayes.bayesnet import BayesNet
from discbayes.data import Variable
from discbayes.data.domain import MISSING_LABEL, cut_texts
from discbayes.network import CLASS
from discbayes.plot.graphs import feature_position, network_of
from discbayes.plot.style import (
    COLORS,
    GRAY,
    legend_text,
    max_width,
    new_axes,
    plain,
    size_in_inches,
    words,
)

POINTS = 9.0
LONGEST_TITLE, MAX_IN_A_COLUMN = 60, 12  # letters; entries of the legend


def class_bars(
    thing: Any, feature: Any, ax: Any = None, *, classes: Sequence[Any] | None = None
) -> Any:
    """P(value | class) of one feature as bars, a colour for each class; parents are summed out
    exactly.

    A numeric feature has the axis of its intervals: each has the same width, and the cut points
    stand at the borders.

    Parameters
    ----------
    thing : BayesNetClassifier or BayesNet
    feature : str or int
        The feature, by name or position.
    ax : Axes, optional
    classes : sequence, optional
        The labels of the classes that are drawn; all by default.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> class_bars(BayesNetClassifier().fit(iris.X, iris.y), "petal width (cm)").get_ylabel()
    'P(value | class)'
    """
    network = network_of(thing)
    i = feature_position(network, feature)
    variable, shares = network.domain.features[i], shares_by_class(network, i)
    places = _places(network.domain.target, classes)
    ax = new_axes(ax, (min(12.0, max(4.8, 0.2 * variable.card * (len(places) + 1))), 3.4))
    width = 0.84 / len(places)
    for k, (place, colour) in enumerate(zip(places, _colours(len(places)), strict=True)):
        at = np.arange(variable.card) + (k - (len(places) - 1) / 2) * width
        label = legend_text(network.domain.target.labels[place])
        ax.bar(at, shares[:, place], 0.94 * width, color=colour, label=label)
    _label(ax, variable)
    ax.set_xlim(-0.5, variable.card - 0.5)
    ax.set_ylabel("P(value | class)")
    ax.set_xlabel(words(variable.name, LONGEST_TITLE))
    title = words(network.domain.target.name)
    columns = -(-len(places) // MAX_IN_A_COLUMN)
    ax.legend(
        title=title,
        frameon=False,
        fontsize=8,
        title_fontsize=8,
        ncols=columns,
        loc="center left",
        bbox_to_anchor=(1, 0.5),
    )
    return plain(ax)


def shares_by_class(network: BayesNet, feature: int) -> np.ndarray:
    """P(value | class), exact: a row for each value, a column for each class."""
    # classes that the prior rules out have values too
    level = network.with_prior(np.zeros(network.domain.n_classes))
    joint = inference.joint_posterior(
        level.parameters, [feature, CLASS], {}, network.inference_options
    )
    with np.errstate(invalid="ignore"):
        return joint / joint.sum(axis=0)


def _places(target: Variable, classes: Sequence[Any] | None) -> list[int]:
    """Where the classes stand that were asked for."""
    if classes is None:
        return list(range(len(target.values)))
    known = [*target.values]
    unknown = [label for label in classes if label not in known]
    if unknown or not len(classes):
        raise ValueError(f"classes={list(classes)!r} must name some of the classes {known[:20]}")
    return [known.index(label) for label in classes]


def _colours(n: int) -> list[Any]:
    """As many colours; where there are more than of the palette, from dark to light."""
    if n <= len(COLORS):
        return list(COLORS[:n])
    return [need("matplotlib").colormaps["viridis"](k / (n - 1) * 0.92) for k in range(n)]


def _label(ax: Any, variable: Variable) -> None:
    """The cut points at the borders of intervals, or the value in the middle of each group of
    bars.
    """
    room = 0.85 * size_in_inches(ax)[0] / variable.card
    if variable.cuts:
        at, texts = [k + 0.5 for k in range(len(variable.cuts))], cut_texts(variable.cuts)
        for place in at:
            ax.axvline(place, color=GRAY, linewidth=0.6, alpha=0.5, zorder=0)
        if variable.missing_value:
            at, texts = [*at, variable.card - 1.0], [*texts, MISSING_LABEL]
    else:
        at, texts = list(range(variable.card)), [words(label) for label in variable.labels]
    flat = max_width(texts, POINTS) < room - 0.06
    step = 1 if flat else max(1, int(np.ceil(0.19 / room)))
    ax.set_xticks(at[::step], texts[::step], fontsize=POINTS, rotation=0 if flat else 90)
