"""Methods side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discbayes._lazy_imports import need
from discbayes._text import shortened, width_of
from discbayes.evaluation.metrics import N_BINS, calibration_bins, expected_calibration_error
from discbayes.evaluation.statistics import critical_difference, groups_alike
from discbayes.plot.style import BLUE, COLOURS, GREY, MARKERS, ORANGE, keyed, new_axes, plain, words

LONGEST_METHOD = 40  # letters of the name of a method

# Inches: the scale, what is above it, a line of text, two bars from one another, and a letter at
# most.
SCALE, TOP, LINE, BAR, LETTER = 4.2, 0.95, 0.25, 0.09, 0.085


def critical_difference_diagram(
    ranks: Mapping[str, float], n: int, alpha: float = 0.05, ax: Any = None
) -> Any:
    """Mean ranks of methods over n data sets on a line, the best at the left; bars join those that
    do not differ.

    Above the line is the critical difference of Nemenyi's test (Demšar 2006). New axes, the
    default, have the size that the names need.
    """
    if len(ranks) < 2:
        raise ValueError("there must be at least two methods to compare")
    difference = critical_difference(len(ranks), n, alpha)
    names = sorted(ranks, key=lambda name: ranks[name])
    low, high = (
        np.floor(ranks[names[0]]),
        np.ceil(max(ranks[names[-1]], np.floor(ranks[names[0]]) + difference)),
    )
    bars = _rows_of_bars(groups_alike(ranks, difference), ranks)
    depth = BAR * (1 + max((row for row, _, _ in bars), default=0)) + 0.1
    bottom = depth + LINE * ((len(names) + 1) // 2)
    margin = LETTER * max(width_of(shortened(name, LONGEST_METHOD)) for name in names) + 0.7
    if ax is None:
        figure = need("matplotlib.pyplot").figure(figsize=(SCALE + 2 * margin, bottom + TOP))
        ax = figure.add_axes((0, 0, 1, 1))
    inch = (high - low) / SCALE
    _draw_scale(ax, low, high)
    _draw_difference(ax, low, difference, n, alpha)
    for row, first, last in bars:
        ax.plot(
            [first, last],
            [-BAR * (row + 1)] * 2,
            color=ORANGE,
            linewidth=3.2,
            solid_capstyle="round",
        )
    _draw_names(ax, names, ranks, depth, (low - 0.15 * inch, high + 0.15 * inch), 0.05 * inch)
    ax.set_xlim(low - margin * inch, high + margin * inch)
    ax.set_ylim(-bottom, TOP)
    ax.axis("off")
    return ax


def _rows_of_bars(
    groups: Sequence[Sequence[str]], ranks: Mapping[str, float]
) -> list[tuple[int, float, float]]:
    """A row, a beginning and an end for each group, so that bars of one row do not touch."""
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
    gap: float,
) -> None:
    """The better half at the left, from the top down, the others at the right, from the bottom
    up.
    """
    half = (len(names) + 1) // 2
    for place, name in enumerate(names):
        left = place < half
        level = -depth - LINE * ((place if left else len(names) - 1 - place) + 0.5)
        edge = edges[0] if left else edges[1]
        ax.plot(
            [ranks[name], ranks[name], edge], [0, level, level], color=GREY, linewidth=0.8, zorder=1
        )
        shown = words(name, LONGEST_METHOD)
        text = f"{shown}  {ranks[name]:.2f}" if left else f"{ranks[name]:.2f}  {shown}"
        side = "right" if left else "left"
        ax.text(edge - gap if left else edge + gap, level, text, ha=side, va="center", fontsize=9)


def missing_curves(shares: Any, rates: Mapping[str, Any], ax: Any = None) -> Any:
    """Classification rates of methods, from 0 to 1, against the share of features that are missing
    (P10 Figure 11).
    """
    ax = new_axes(ax, (6.4, 4.4))
    for place, (name, values) in enumerate(rates.items()):
        ax.plot(
            100 * np.asarray(shares),
            100 * np.asarray(values),
            marker=MARKERS[place % len(MARKERS)],
            color=COLOURS[place % len(COLOURS)],
            linestyle="-" if place < len(COLOURS) else "--",
            markersize=4,
            label=keyed(name, LONGEST_METHOD),
        )
    ax.set_xlabel("missing features, %")
    ax.set_ylabel("classification rate, %")
    ax.legend(frameon=False, fontsize=9)
    return plain(ax)


def reliability_diagram(
    shares: np.ndarray,
    codes: np.ndarray,
    weight: np.ndarray | None = None,
    n_bins: int = N_BINS,
    ax: Any = None,
) -> Any:
    """How often the most probable class is right against its probability, with the share of rows of
    each bin below.

    ``shares`` is the posterior and ``codes`` are the true classes, as in ``evaluation.metrics``.
    """
    confidence, right, rows = calibration_bins(shares, codes, weight, n_bins)
    error = expected_calibration_error(shares, codes, weight, n_bins)
    ax = new_axes(ax, (4.8, 4.6))
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")
    places = np.searchsorted(np.arange(1, n_bins) / n_bins, confidence)
    ax.bar(
        (places + 0.5) / n_bins,
        rows / rows.sum(),
        0.9 / n_bins,
        color=BLUE,
        alpha=0.2,
        label="share of rows",
    )
    ax.plot(
        confidence, right, "o-", color=BLUE, markersize=4, label=f"calibration error {error:.3f}"
    )
    ax.set_xlabel("probability of the most probable class")
    ax.set_ylabel("how often it is right")
    ax.set_xlim(0, 1.01)
    ax.set_ylim(0, 1.01)
    ax.legend(frameon=False, fontsize=9, loc="best")
    return plain(ax)


def scatter_losses(
    a: Any,
    b: Any,
    labels: tuple[str, str],
    *,
    errors: tuple[Any, Any] | None = None,
    log: bool = False,
    ax: Any = None,
) -> Any:
    """The figures of one method against those of another, a point for each data set, with the
    diagonal (Z17 Figure 4).

    ``labels`` are the names of both methods, ``a`` stands at the horizontal axis. ``errors`` are
    drawn as crosses (C11 Figure 4); ``log`` is for times.
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if a.shape != b.shape or a.ndim != 1 or not a.size:
        raise ValueError(
            f"figures of shape {a.shape} and {b.shape}: give one of each method for every data set"
        )
    if log and min(a.min(), b.min()) <= 0:
        raise ValueError("log=True needs positive figures")
    ax = new_axes(ax, (4.6, 4.6))
    ax.plot(*[_limits(a, b, log)] * 2, color=GREY, linewidth=0.8)
    if errors is not None:
        ax.errorbar(a, b, xerr=errors[0], yerr=errors[1], fmt="none", ecolor=GREY, elinewidth=0.7)
    ax.scatter(a, b, s=18, color=BLUE, zorder=3)
    if log:
        ax.set_xscale("log")
        ax.set_yscale("log")
    ax.set_xlim(_limits(a, b, log))
    ax.set_ylim(_limits(a, b, log))
    ax.set_aspect("equal")
    ax.set_xlabel(words(labels[0], LONGEST_METHOD))
    ax.set_ylabel(words(labels[1], LONGEST_METHOD))
    return plain(ax)


def _limits(a: np.ndarray, b: np.ndarray, log: bool) -> tuple[float, float]:
    """The same for both axes, with a margin."""
    both = np.concatenate([a, b])
    if log:
        return float(both.min() / 1.5), float(both.max() * 1.5)
    margin = 0.05 * float(np.ptp(both)) or 0.05
    return float(both.min() - margin), float(both.max() + margin)
