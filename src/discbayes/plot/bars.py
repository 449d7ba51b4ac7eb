"""The distribution of a feature in each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discbayes import inference
from discbayes._lazy_imports import need
from discbayes.bayesnet import BayesNet
from discbayes.data import Variable
from discbayes.data.domain import MISSING_LABEL, cut_texts
from discbayes.network import CLASS, reduce_states
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

POINTS = 9.0  # font size
MAX_TITLE = 60  # characters
MAX_ENTRIES = 12  # in a column of the legend


def class_bars(
    thing: Any,
    feature: Any,
    ax: Any = None,
    *,
    classes: Sequence[Any] | None = None,
    fine: bool = False,
) -> Any:
    """Plot P(value | class) of a feature as bars; its parents are marginalized exactly.

    Each class has a color. The intervals of a numeric feature have the same width, with the cut
    points at their borders. A column of two resolutions is shown by its coarse intervals.

    Parameters
    ----------
    thing : BayesNetClassifier or BayesNet
        A fitted classifier, or a network.
    feature : str or int
        The feature, by name or position.
    ax : Axes, optional
        The axes to draw on; new ones by default.
    classes : sequence, optional
        The labels of the classes that are drawn; all by default.
    fine : bool, default=False
        Whether a feature of two resolutions is shown by all of its intervals.

    Returns
    -------
    Axes
        The axes with the plot.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> class_bars(BayesNetClassifier().fit(iris.X, iris.y), "petal width (cm)").get_ylabel()
    'P(value | class)'
    """
    network = network_of(thing)
    i = feature_position(network, feature)
    variable, probabilities = network.domain.features[i], given_class(network, i)
    if not fine:
        probabilities = reduce_states(probabilities, variable.states, np.add)
        variable = variable.coarse
    positions = _positions(network.domain.target, classes)
    ax = new_axes(ax, (min(12.0, max(4.8, 0.2 * variable.card * (len(positions) + 1))), 3.4))
    width = 0.84 / len(positions)
    for k, (c, color) in enumerate(zip(positions, _colors(len(positions)), strict=True)):
        at = np.arange(variable.card) + (k - (len(positions) - 1) / 2) * width
        label = legend_text(network.domain.target.labels[c])
        ax.bar(at, probabilities[:, c], 0.94 * width, color=color, label=label)
    _label(ax, variable)
    ax.set_xlim(-0.5, variable.card - 0.5)
    ax.set_ylabel("P(value | class)")
    ax.set_xlabel(words(variable.name, MAX_TITLE))
    text = {"title": words(network.domain.target.name), "fontsize": 8, "title_fontsize": 8}
    columns = -(-len(positions) // MAX_ENTRIES)
    ax.legend(frameon=False, ncols=columns, loc="center left", bbox_to_anchor=(1, 0.5), **text)
    return plain(ax)


def given_class(network: BayesNet, feature: int) -> np.ndarray:
    """Return P(value | class), exactly: a row for each value, a column for each class."""
    # an even prior, so that classes of prior probability zero have a distribution too
    level = network.with_prior(np.zeros(network.domain.n_classes))
    asked, options = [feature, CLASS], network.inference_options
    joint = inference.joint_posterior(level.parameters, asked, {}, options)
    with np.errstate(invalid="ignore"):
        return joint / joint.sum(axis=0)


def _positions(target: Variable, classes: Sequence[Any] | None) -> list[int]:
    """Return the positions of the requested classes."""
    if classes is None:
        return list(range(len(target.values)))
    known = [*target.values]
    unknown = [label for label in classes if label not in known]
    if unknown or not len(classes):
        raise ValueError(f"classes={list(classes)!r} must name some of the classes {known[:20]}")
    return [known.index(label) for label in classes]


def _colors(n: int) -> list[Any]:
    """Return n colors; more than the palette has are from dark to light."""
    if n <= len(COLORS):
        return list(COLORS[:n])
    return [need("matplotlib").colormaps["viridis"](k / (n - 1) * 0.92) for k in range(n)]


def _label(ax: Any, variable: Variable) -> None:
    """Write the cut points at the borders of intervals, or the value below each group of bars."""
    width = 0.85 * size_in_inches(ax)[0] / variable.card
    if variable.cuts:
        at, texts = [k + 0.5 for k in range(len(variable.cuts))], cut_texts(variable.cuts)
        for place in at:
            ax.axvline(place, color=GRAY, linewidth=0.6, alpha=0.5, zorder=0)
        if variable.missing_value:
            at, texts = [*at, variable.card - 1.0], [*texts, MISSING_LABEL]
    else:
        at, texts = list(range(variable.card)), [words(label) for label in variable.labels]
    flat = max_width(texts, POINTS) < width - 0.06
    step = 1 if flat else max(1, int(np.ceil(0.19 / width)))
    ax.set_xticks(at[::step], texts[::step], fontsize=POINTS, rotation=0 if flat else 90)
