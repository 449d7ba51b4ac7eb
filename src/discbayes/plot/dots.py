"""Metrics of cross-validation folds, method by method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import stats

from discbayes._lazy_imports import need
from discbayes.plot.style import BLUE, GRAY, plain, words

MIN_LOG_RATIO = 20.0  # of largest to smallest value, for a logarithmic scale


def fold_dots(
    figures: Mapping[str, Mapping[str, np.ndarray]],
    confidence: float = 0.95,
    bounds: Mapping[str, tuple[float, float]] | None = None,
) -> Any:
    """Plot the folds of each method as dots, and their mean with its confidence interval.

    The interval takes into account that the training sets of folds overlap (Nadeau and Bengio
    2003). This is a whole figure with a panel for each metric, the only plot without ``ax``.

    Parameters
    ----------
    figures : mapping
        ``figures[title][method]`` has the metric of each fold, NaN where there is none.
    confidence : float
        The level of the interval.
    bounds : mapping, optional
        ``bounds[title]`` are the smallest and the largest possible value, at which intervals end.

    Returns
    -------
    Figure
        The figure with the panels.

    Examples
    --------
    >>> figure = fold_dots({"accuracy": {"NB": np.array([0.90, 0.92, 0.94])}})
    >>> figure.axes[0].get_xlabel()
    'accuracy'
    """
    methods = list(next(iter(figures.values())))
    size = (4.0 * len(figures), 1.0 + 0.28 * len(methods))
    pyplot = need("matplotlib.pyplot")
    figure, axes = pyplot.subplots(
        1, len(figures), figsize=size, layout="constrained", sharey=True, squeeze=False
    )
    for ax, (title, by_method) in zip(axes[0], figures.items(), strict=True):
        limits = (bounds or {}).get(title, (-np.inf, np.inf))
        for place, method in enumerate(methods):
            _draw_method(ax, place, by_method[method], confidence, limits)
        _scale(ax, by_method)
        ax.set_xlabel(title)
        plain(ax, "left")
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="y", color=GRAY, alpha=0.25, linewidth=0.6)
    axes[0][0].set_yticks(range(len(methods)), [words(method, 40) for method in methods])
    axes[0][0].set_ylim(len(methods) - 0.5, -0.5)
    return figure


def _draw_method(
    ax: Any, place: int, values: np.ndarray, confidence: float, bounds: tuple[float, float]
) -> None:
    values = values[~np.isnan(values)]
    if not values.size:
        return
    mean, half = values.mean(), half_width(values, confidence)
    ax.plot(np.clip([mean - half, mean + half], *bounds), [place, place], color=BLUE, linewidth=1.6)
    ax.plot([mean], [place], "o", color=BLUE, markersize=6)
    small = {"color": GRAY, "alpha": 0.6, "markersize": 3, "markeredgewidth": 0}
    ax.plot(values, np.full(values.size, place + 0.28), "o", **small)


def half_width(values: np.ndarray, confidence: float = 0.95) -> float:
    """Return half of the interval of the mean of k folds, with variance s² (1/k + 1/(k − 1)).

    >>> round(half_width(np.array([0.90, 0.92, 0.94, 0.91, 0.93])), 4)
    0.0294
    """
    k = values.size
    if k < 2:
        return 0.0
    error = values.std(ddof=1) * np.sqrt(1 / k + 1 / (k - 1))
    return float(stats.t.ppf((1 + confidence) / 2, k - 1) * error)


def _scale(ax: Any, by_method: Mapping[str, np.ndarray]) -> None:
    """Set a logarithmic scale where values differ by orders of magnitude."""
    known = np.concatenate([values[~np.isnan(values)] for values in by_method.values()])
    if known.size and known.min() > 0 and known.max() / known.min() > MIN_LOG_RATIO:
        ax.set_xscale("log")
