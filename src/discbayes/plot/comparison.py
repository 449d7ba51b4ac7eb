"""Comparisons of methods."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discbayes._lazy_imports import need
from discbayes._text import shortened, width_of
from discbayes.charts.evaluation_charts import (
    missing_values_chart,
    reliability_chart,
    with_missing_values,
)
from discbayes.classifier import BayesNetClassifier
from discbayes.evaluation.metrics import N_BINS
from discbayes.evaluation.statistics import critical_difference, groups_alike
from discbayes.plot.rendering import draw_chart
from discbayes.plot.style import BLUE, GRAY, ORANGE, new_axes, plain, words

MAX_METHOD = 40  # characters of the name of a method
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

# Inches of a critical difference diagram.
SCALE = 4.2  # width of the scale
TOP = 0.95  # height above the scale
LINE = 0.25  # height of a line of text
BAR = 0.09  # distance of two bars
CHARACTER = 0.085  # width of a wide character


def critical_difference_diagram(
    ranks: Mapping[str, float], n: int, alpha: float = 0.05, ax: Any = None
) -> Any:
    """Plot mean ranks of methods, the best at the left; bars join those that do not differ.

    Above the scale is the critical difference of the Nemenyi test (Demšar 2006).

    Parameters
    ----------
    ranks : mapping of str to float
        The mean rank of each method.
    n : int
        The number of data sets.
    alpha : float
        The significance level.
    ax : Axes, optional
        The axes to draw on; by default those of a new figure of the size that the names need.

    Returns
    -------
    Axes
        The axes with the plot.

    Examples
    --------
    >>> critical_difference_diagram({"NB": 2.8, "TAN": 1.9, "KDB": 1.3}, 20)
    <Axes: >
    """
    if len(ranks) < 2:
        raise ValueError("there must be at least two methods to compare")
    difference = critical_difference(len(ranks), n, alpha)
    names = sorted(ranks, key=lambda name: ranks[name])
    low = np.floor(ranks[names[0]])
    high = np.ceil(max(ranks[names[-1]], low + difference))
    bars = _rows_of_bars(groups_alike(ranks, difference), ranks)
    depth = BAR * (1 + max((row for row, _, _ in bars), default=0)) + 0.1
    bottom = depth + LINE * ((len(names) + 1) // 2)
    margin = CHARACTER * max(width_of(shortened(name, MAX_METHOD)) for name in names) + 0.7
    if ax is None:
        figure = need("matplotlib.pyplot").figure(figsize=(SCALE + 2 * margin, bottom + TOP))
        ax = figure.add_axes((0, 0, 1, 1))
    inch = (high - low) / SCALE
    _draw_scale(ax, low, high)
    _draw_difference(ax, low, difference, n, alpha)
    for row, first, last in bars:
        thick = {"color": ORANGE, "linewidth": 3.2, "solid_capstyle": "round"}
        ax.plot([first, last], [-BAR * (row + 1)] * 2, **thick)
    _draw_names(ax, names, ranks, depth, (low - 0.15 * inch, high + 0.15 * inch), 0.05 * inch)
    ax.set_xlim(low - margin * inch, high + margin * inch)
    ax.set_ylim(-bottom, TOP)
    ax.axis("off")
    return ax


def _rows_of_bars(
    groups: Sequence[Sequence[str]], ranks: Mapping[str, float]
) -> list[tuple[int, float, float]]:
    """Return a row, a start and an end for each group, so that bars of one row do not touch."""
    ends: list[float] = []
    bars = []
    for group in groups:
        first, last = ranks[group[0]], ranks[group[-1]]
        row = next((row for row, end in enumerate(ends) if end < first), len(ends))
        ends[row : row + 1] = [last]
        bars.append((row, first, last))
    return bars


def _draw_scale(ax: Any, low: float, high: float) -> None:
    ax.plot([low, high], [0, 0], color="black", linewidth=1)
    for place in np.arange(low, high + 1):
        ax.plot([place, place], [0, 0.08], color="black", linewidth=1)
        ax.text(place, 0.12, f"{place:g}", ha="center", va="bottom", fontsize=9)


def _draw_difference(ax: Any, low: float, difference: float, n: int, alpha: float) -> None:
    at = 0.55
    ax.plot([low, low + difference], [at, at], color=BLUE, linewidth=1.5)
    for end in (low, low + difference):
        ax.plot([end, end], [at - 0.05, at + 0.05], color=BLUE, linewidth=1.5)
    text = f"critical difference {difference:.2f} ({n} data sets, α = {alpha:g})"
    ax.text(low, at + 0.08, text, color=BLUE, ha="left", va="bottom", fontsize=9)


def _draw_names(
    ax: Any,
    names: Sequence[str],
    ranks: Mapping[str, float],
    depth: float,
    edges: tuple[float, float],
    space: float,
) -> None:
    """Write the better half at the left, from the top down, the others at the right, upwards."""
    half = (len(names) + 1) // 2
    for place, name in enumerate(names):
        left = place < half
        level = -depth - LINE * ((place if left else len(names) - 1 - place) + 0.5)
        edge = edges[0] if left else edges[1]
        rank, shown = ranks[name], words(name, MAX_METHOD)
        ax.plot([rank, rank, edge], [0, level, level], color=GRAY, linewidth=0.8, zorder=1)
        text = f"{shown}  {rank:.2f}" if left else f"{rank:.2f}  {shown}"
        side, start = ("right", edge - space) if left else ("left", edge + space)
        ax.text(start, level, text, ha=side, va="center", fontsize=9)


def missing_curves(shares: Any, rates: Mapping[str, Any], ax: Any = None) -> Any:
    """Plot accuracies of methods against the share of missing features (P10 Figure 11).

    Parameters
    ----------
    shares : array-like
        The shares of features that are missing, from 0 to 1.
    rates : mapping of str to array-like
        The accuracies of each method, from 0 to 1.
    ax : Axes, optional
        The axes to draw on; new ones by default.

    Returns
    -------
    Axes
        The axes with the plot.

    Examples
    --------
    >>> missing_curves([0, 0.5], {"NB": [0.9, 0.8], "TAN": [0.95, 0.8]}).get_ylabel()
    'accuracy, %'
    """
    accuracies = {name: 100 * np.asarray(values) for name, values in rates.items()}
    chart = missing_values_chart(100 * np.asarray(shares), accuracies)
    return draw_chart(chart, new_axes(ax, (6.4, 4.4)))


def missing_curve_of(
    thing: BayesNetClassifier | Mapping[str, BayesNetClassifier],
    X: Any,
    y: Any,
    shares: Sequence[float] = SHARES,
    ax: Any = None,
    *,
    random_state: Any = 0,
) -> Any:
    """Plot the accuracy when more and more features of each row are removed at random.

    Parameters
    ----------
    thing : BayesNetClassifier or mapping
        A fitted classifier, or several by name, which get the same rows with the same missing
        values.
    X, y : array-like or DataFrame
        Rows that the classifiers were not fitted to, and their labels.
    shares : sequence of float
        The shares of features that are removed, from 0 to 1.
    ax : Axes, optional
        The axes to draw on; new ones by default.
    random_state : int or Generator
        The seed of the choice of features.

    Returns
    -------
    Axes
        The axes with the plot.

    Examples
    --------
    >>> from discbayes import load_dataset
    >>> iris = load_dataset("iris")
    >>> clf = BayesNetClassifier().fit(iris.X[::2], iris.y[::2])
    >>> missing_curve_of(clf, iris.X[1::2], iris.y[1::2], [0, 0.5]).get_xlabel()
    'missing features, %'
    """
    amounts = np.asarray(shares, dtype=float)
    if not amounts.size or not ((amounts >= 0) & (amounts <= 1)).all():
        raise ValueError(f"shares={shares!r} must be numbers from 0 to 1")
    classifiers = thing if isinstance(thing, Mapping) else {"accuracy": thing}
    accuracies = {
        name: _accuracies(clf, X, np.asarray(y), amounts, random_state)
        for name, clf in classifiers.items()
    }
    ax = missing_curves(amounts, accuracies, ax)
    if not isinstance(thing, Mapping):
        ax.get_legend().remove()
    return ax


def _accuracies(
    clf: BayesNetClassifier, X: Any, labels: np.ndarray, shares: np.ndarray, seed: Any
) -> list[float]:
    """Return the accuracy of a classifier for each share of missing features."""
    classifier, codes = clf.calibrated_posterior(), clf.encode(X)
    if labels.shape != codes.shape[1:]:
        raise ValueError(f"y has {labels.size} labels for {codes.shape[1]} rows")
    # every classifier gets the same missing values, also where the seed is a generator
    rng = copy.deepcopy(np.random.default_rng(seed))
    incomplete = with_missing_values(classifier.network, codes, (100 * shares).tolist(), rng)
    decisions = (clf.classes_[classifier.decisions(rows)] for rows in incomplete)
    return [float(np.mean(decided == labels)) for decided in decisions]


def reliability_diagram(
    shares: np.ndarray,
    codes: np.ndarray,
    weight: np.ndarray | None = None,
    n_bins: int = N_BINS,
    ax: Any = None,
) -> Any:
    """Plot how often the most probable class is right against its probability.

    Bars show the share of rows in each bin, and the legend the expected calibration error (ECE).

    Parameters
    ----------
    shares : array of shape (n_rows, n_classes)
        The predicted probabilities.
    codes : array of shape (n_rows,)
        The position of the true class of each row.
    weight : array of shape (n_rows,), optional
        Weights of the rows.
    n_bins : int
        The number of bins of equal width.
    ax : Axes, optional
        The axes to draw on; new ones by default.

    Returns
    -------
    Axes
        The axes with the plot.

    Examples
    --------
    >>> ax = reliability_diagram(np.array([[0.8, 0.2], [0.6, 0.4]]), np.array([0, 1]))
    >>> ax.get_xlabel()
    'probability of the most probable class'
    """
    chart = reliability_chart(shares, codes, weight, n_bins)
    return draw_chart(chart, new_axes(ax, (4.8, 4.6)))


def scatter_losses(
    a: Any,
    b: Any,
    labels: tuple[str, str],
    *,
    errors: tuple[Any, Any] | None = None,
    log: bool = False,
    ax: Any = None,
) -> Any:
    """Plot the losses of one method against those of another, a point for each data set.

    The diagonal separates the data sets on which one or the other is better (Z17 Figure 4).

    Parameters
    ----------
    a, b : array-like of shape (n_data_sets,)
        The losses, or other figures, of both methods; ``a`` is at the horizontal axis.
    labels : tuple of str
        The names of both methods.
    errors : tuple of array-like, optional
        The standard errors of both, drawn as crosses (C11 Figure 4).
    log : bool
        Whether the scales are logarithmic, as for times.
    ax : Axes, optional
        The axes to draw on; new ones by default.

    Returns
    -------
    Axes
        The axes with the plot.

    Examples
    --------
    >>> scatter_losses([0.1, 0.2], [0.1, 0.3], ("TAN", "NB")).get_xlabel()
    'TAN'
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if a.shape != b.shape or a.ndim != 1 or not a.size:
        raise ValueError(
            f"figures of shape {a.shape} and {b.shape}: give one of each method for every data set"
        )
    if log and min(a.min(), b.min()) <= 0:
        raise ValueError("log=True needs positive figures")
    ax = new_axes(ax, (4.6, 4.6))
    limits = _limits(a, b, log)
    ax.plot(limits, limits, color=GRAY, linewidth=0.8)
    if errors is not None:
        ax.errorbar(a, b, xerr=errors[0], yerr=errors[1], fmt="none", ecolor=GRAY, elinewidth=0.7)
    ax.scatter(a, b, s=18, color=BLUE, zorder=3)
    if log:
        ax.set(xscale="log", yscale="log")
    x_label, y_label = (words(label, MAX_METHOD) for label in labels)
    ax.set(xlim=limits, ylim=limits, aspect="equal", xlabel=x_label, ylabel=y_label)
    return plain(ax)


def _limits(a: np.ndarray, b: np.ndarray, log: bool) -> tuple[float, float]:
    """Return limits for both axes, with a margin."""
    both = np.concatenate([a, b])
    if log:
        return float(both.min() / 1.5), float(both.max() * 1.5)
    margin = 0.05 * float(np.ptp(both)) or 0.05
    return float(both.min() - margin), float(both.max() + margin)
