"""Contributions of the values of a row to its class, and the relevance of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes._text import count_of, shortened, width_of
from discbayes.explanations.contributions import Explanation
from discbayes.explanations.relevance import Relevance
from discbayes.explanations.wording import probability_in_words, signed, values_in_words
from discbayes.plot.style import BLACK, BLUE, GRAY, ORANGE, framed_axes, max_width, plain, words

LINE = 0.27  # inches of a bar with its margin
POINTS = 9.0  # font size
MAX_LABEL, MAX_NOTE = 44, 64  # characters
MIN_CONTRIBUTION = 0.005  # that has a bar of its own


@dataclass(frozen=True)
class _Bar:
    """A bar of a waterfall: a text, what it adds, and an interval of that, if there is one; a
    ``total`` begins at zero.
    """

    text: str
    part: float
    total: bool = False
    ends: tuple[float, float] | None = None


def waterfall(
    explanation: Explanation,
    row: int = 0,
    label: Any = None,
    most: int = 12,
    ax: Any = None,
    intervals: tuple[np.ndarray, np.ndarray] | None = None,
) -> Any:
    """Plot the contribution of each known value of a row to the log odds of a class.

    Bars lead from the prior to the sum.

    Parameters
    ----------
    explanation : Explanation
        The result of ``clf.explain(X)``.
    row : int
        The position of the row.
    label : optional
        The class; by default the predicted one.
    most : int
        The number of values with a bar of their own, the largest first; the others share one.
    ax : Axes, optional
        The axes to draw on; new ones by default.
    intervals : tuple of two arrays, optional
        The ends of intervals of the contributions, as ``ErrorBars.contributions`` of the same rows
        gives them: error bars at the ends of the bars.

    Returns
    -------
    Axes
        The axes with the plot.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
    >>> waterfall(clf.explain(iris.X[:1])).get_xlabel()
    'log odds of setosa'
    """
    if most < 1:
        raise ValueError(f"most={most!r} must be at least 1")
    place = explanation.class_of(row, label)
    bars = _bars(explanation, row, place, most, _ends_of(explanation, row, place, intervals))
    texts = [words(bar.text, MAX_LABEL) for bar in bars]
    if ax is None:
        left = max_width(texts, POINTS) + 0.2
        ax = framed_axes((5.0, LINE * len(bars)), left, bottom=0.75, top=0.45)
    _draw_bars(ax, bars)
    ax.set_yticks(range(len(bars)), texts, fontsize=POINTS)
    ax.set_ylim(len(bars) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    _describe(ax, explanation, row, place)
    return plain(ax, "left")


def _ends_of(
    explanation: Explanation,
    row: int,
    place: int,
    intervals: tuple[np.ndarray, np.ndarray] | None,
) -> np.ndarray | None:
    """Return the ends of the interval of each contribution of a row to a class."""
    if intervals is None:
        return None
    found = np.array(intervals, dtype=float)
    if found.shape != (2, *explanation.contributions.shape):
        raise ValueError(
            f"intervals have the shape {found.shape}, and the contributions of these rows"
            f" {explanation.contributions.shape}: pass error_bars.contributions(X) of the same rows"
        )
    if explanation.against is not None:
        raise ValueError("intervals are of a class over all others: explain without against=")
    ends: np.ndarray = found[:, row, :, place].T
    return ends


def _bars(
    explanation: Explanation, row: int, place: int, most: int, ends: np.ndarray | None
) -> list[_Bar]:
    """Return the prior, the largest contributions, the others as one, and the sum."""
    features = explanation.beliefs.network.domain.features
    parts = explanation.contributions[row, :, place]
    known = [i for i in explanation.order if explanation.known[row, i]]
    ranked = sorted(known, key=lambda i: -abs(parts[i]))
    n_own = min(most, int(np.count_nonzero(np.abs(parts[known]) >= MIN_CONTRIBUTION)))
    shown, others = ranked[:n_own], ranked[n_own:]
    bars = [_Bar("prior", explanation.base_of(row)[place], total=True)]
    bars += [
        _Bar(
            values_in_words(features[i])[explanation.codes[i, row]],
            parts[i],
            ends=None if ends is None else (float(ends[i, 0]), float(ends[i, 1])),
        )
        for i in shown
    ]
    if others:
        bars.append(_Bar(count_of(len(others), "other column"), float(parts[others].sum())))
    return [*bars, _Bar("sum", explanation.log_odds[row, place], total=True)]


def _draw_bars(ax: Any, bars: list[_Bar]) -> None:
    """Draw bars, each starting where the one before ends; infinite ones end at the border."""
    ends = _ends(bars)
    limits = np.array(
        [
            start + np.array(bar.ends or (0.0, 0.0))
            for bar, (start, _) in zip(bars, ends, strict=True)
        ]
    )
    finite = np.append(ends, limits)
    finite = finite[np.isfinite(finite)]
    low, high = min(0.0, finite.min(initial=0.0)), max(0.0, finite.max(initial=0.0))
    margin = 0.16 * (high - low) or 1.0
    ends, limits = (np.clip(each, low - 2 * margin, high + 2 * margin) for each in (ends, limits))
    for k, (bar, (start, end)) in enumerate(zip(bars, ends, strict=True)):
        right = bar.part >= 0
        color = BLUE if right else ORANGE
        ax.barh(k, end - start, 0.62, left=start, color=BLACK if bar.total else color)
        side = {"ha": "left" if right else "right", "va": "center", "fontsize": POINTS - 1}
        beyond = limits[k, int(right)] if bar.ends is not None else end
        ax.annotate(
            signed(bar.part),
            (beyond, k),
            (3 if right else -3, 0),
            textcoords="offset points",
            **side,
        )
        if bar.ends is not None:
            ax.plot(limits[k], [k, k], color=BLACK, linewidth=1.0, marker="|", markersize=5)
        if k + 1 < len(bars):
            ax.plot([end, end], [k + 0.31, k + 0.69], color=GRAY, linewidth=0.8)
    ax.axvline(0, color=GRAY, linewidth=0.8, linestyle=":", zorder=0)
    ax.set_xlim(min(ends.min(), limits.min()) - margin, max(ends.max(), limits.max()) + margin)


def _ends(bars: list[_Bar]) -> np.ndarray:
    """Return where each bar starts and ends."""
    at, found = 0.0, []
    for bar in bars:
        start = 0.0 if bar.total else at
        at = start + bar.part if np.isfinite(start) else start
        found.append((start, at))
    return np.array(found)


def _describe(ax: Any, explanation: Explanation, row: int, place: int) -> None:
    """Label the scale, and write the probability of the class and what is unknown."""
    name = words(explanation.labels[place])
    label = f"log odds of {name}"
    if explanation.against is not None:
        label += f" over {words(explanation.labels[explanation.against])}"
    unknown = np.array(explanation.names)[~explanation.known[row]].tolist()
    note = f"unknown: {_listed(unknown)}" if unknown else ""
    if explanation.impossible[row]:
        note = "no class can have these values together: only the prior counts"
    ax.set_xlabel(label + (note and f"\n{words(note, 2 * MAX_NOTE)}"), fontsize=POINTS)
    probability = probability_in_words(explanation.posterior[row], place)
    ax.set_title(f"P({name} | row {row}) = {probability}", fontsize=POINTS + 1)


def _listed(names: list[str]) -> str:
    """Return as many names as fit on a line, and the number of others.

    >>> _listed(["a", "b"]), _listed([f"column {k}" for k in range(20)])
    ('a, b', 'column 0, column 1, column 2, column 3 and 16 more')
    """
    shown = [shortened(names[0])]
    for name in names[1:]:
        if width_of(", ".join([*shown, shortened(name)])) > MAX_NOTE - 20:
            return f"{', '.join(shown)} and {len(names) - len(shown):,} more"
        shown.append(shortened(name))
    return ", ".join(shown)


def relevance(relevance: Relevance, most: int = 30, ax: Any = None) -> Any:
    """Plot how much each column changes the log odds of the decisions, the most relevant first.

    Columns in gray are uninformative; consider dropping them.

    Parameters
    ----------
    relevance : Relevance
        The result of ``clf.relevance(X)``.
    most : int
        The number of columns with a bar of their own; the share of the others is written below.
    ax : Axes, optional
        The axes to draw on; new ones by default.

    Returns
    -------
    Axes
        The axes with the plot.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset, plot
    >>> iris = load_dataset("iris")
    >>> clf = BayesNetClassifier().fit(iris.X, iris.y)
    >>> plot.relevance(clf.relevance(iris.X)).get_title()
    'numbers: mean change of the log odds of the decision'
    """
    if most < 1:
        raise ValueError(f"most={most!r} must be at least 1")
    shown = relevance.ranking[:most]
    texts = [words(relevance.names[i], MAX_LABEL) for i in shown]
    if ax is None:
        left = max_width(texts, POINTS) + 0.2
        ax = framed_axes((5.0, LINE * len(texts)), left, bottom=0.92, top=0.35, right=0.5)
    uninformative = set(relevance.hidden.columns)
    colors = [GRAY if relevance.names[i] in uninformative else BLUE for i in shown]
    bars = ax.barh(range(len(shown)), 100 * relevance.share[shown], 0.7, color=colors)
    ax.bar_label(bars, [f"{relevance.mean[i]:.2f}" for i in shown], padding=3, fontsize=POINTS - 1)
    ax.set_yticks(range(len(shown)), texts, fontsize=POINTS)
    for tick, color in zip(ax.get_yticklabels(), colors, strict=True):
        tick.set_color(GRAY if color == GRAY else BLACK)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("\n".join(_sums(relevance, most, GRAY in colors)), fontsize=POINTS)
    ax.set_title("numbers: mean change of the log odds of the decision", fontsize=POINTS)
    return plain(ax, "left")


def _sums(relevance: Relevance, most: int, with_gray: bool) -> list[str]:
    """Return the label of the scale, the share of other columns, and the advice."""
    others, uninformative = relevance.ranking[most:], relevance.hidden.columns
    lines = ["share of all changes of the log odds, %"]
    if len(others):
        share = relevance.share[others].sum()
        lines[0] += f"; {count_of(len(others), 'other column')}: {share:.1%}"
    if uninformative:
        gray = " (gray)" if with_gray else ""
        n_columns = count_of(len(uninformative), "uninformative column")
        lines.append(f"{n_columns}{gray}; consider dropping:")
        lines.append(f"{relevance.hidden.changed:.2%} of the decisions change without them")
    return lines
