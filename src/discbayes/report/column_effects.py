"""The effects of each column on the class: an importance chart, and a chart of log odds for each.

The log odds of a class after one value is observed, less those before, with nothing else known;
they follow exactly from the model, and no rows are needed. Bars below are the probabilities of the
values, by the model.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discbayes._text import count_of, shortened
from discbayes.calibration import log_odds
from discbayes.charts.chart import N_SERIES
from discbayes.classifier import BayesNetClassifier
from discbayes.data import Variable
from discbayes.explanations.value_of_information import Information, value_of_information
from discbayes.explanations.wording import signed, values_in_words
from discbayes.inference import TooManyCellsError, blank_rows
from discbayes.report.markup import (
    MAX_LONG_NAME,
    charts_html,
    escaped,
    name_html,
    per_cent,
    table_html,
)

MAX_BARS = 15  # of the importance chart
N_OPEN = 6  # charts that are not folded away
MAX_TOLD = 40  # charts whose values have tooltips
_MAX_ODDS = 6.0  # of the scale: a factor of 400
_LEFT, _RIGHT = 34.0, 318.0
_TOP, _MIDDLE = 8.0, 52.0
_HALF = 42.0  # of the height of the log odds
_FLOOR, _SHARES = 136.0, 30.0  # of the bars: their lower border and largest height
_CHARACTER = 5.4  # width of a character below a chart
_LINE, _MAX_LINES = 12.0, 3  # of a category below a chart: the height, and how many
_MIN_CHARACTERS = 7  # of a line, below which only the first and the last category are named


@dataclass(frozen=True)
class _Effect:
    """A column: its importance, the probability of its values, and the log odds after each."""

    variable: Variable
    importance: float
    shares: np.ndarray
    odds: np.ndarray  # (n_values, n_lines)


def column_information(classifier: BayesNetClassifier) -> Information | None:
    """Return what each column alone tells about the class; None if that needs too many cells."""
    posterior = classifier.calibrated_posterior()
    try:
        return value_of_information(posterior.exact, blank_rows(posterior.network.parameters, 1))
    except TooManyCellsError:
        return None


def effects_html(classifier: BayesNetClassifier) -> str:
    """Return the section; an empty text where the model is too dense, or tells nothing."""
    information = column_information(classifier)
    if information is None or len(information.labels) < 2 or not information.gain.any():
        return ""
    lines = _lines(information)
    names = classifier.domain_.names
    importances = dict(zip(names, information.importances(names).tolist(), strict=True))
    effects = [
        _effect(information, k, importances[name], lines)
        for k, name in enumerate(information.names)
        if information.gain[k] > 0
    ]
    largest = max(float(np.nanmax(np.abs(effect.odds))) for effect in effects)
    scale = min(max(largest, 0.5), _MAX_ODDS)
    charts = [_figure(effect, scale, k < MAX_TOLD) for k, effect in enumerate(effects)]
    labels = [str(information.labels[c]) for c in lines]
    return _importances(effects) + _charts(charts, labels)


def _lines(information: Information) -> list[int]:
    """Return the classes that have a line: of two the rarer one, else the most probable ones."""
    prior = information.posterior
    if prior.size == 2:
        return [1 if prior[1] <= prior[0] else 0]
    return sorted(np.argsort(-prior, kind="stable")[:N_SERIES].tolist())


def _effect(
    information: Information, place: int, importance: float, lines: Sequence[int]
) -> _Effect:
    joint = information.joints[place]
    shares = joint.sum(axis=1)
    odds = np.full((shares.size, len(lines)), np.nan)
    with np.errstate(divide="ignore"):
        before = log_odds(np.log(information.posterior[None]))[0, lines]
        odds[shares > 0] = log_odds(np.log(joint[shares > 0]))[:, lines] - before
    return _Effect(information.variables[place], importance, shares, odds)


# ---- the importance chart


def _importances(effects: Sequence[_Effect]) -> str:
    """Return the most important columns with bars."""
    largest = effects[0].importance
    rows = []
    for effect in effects[:MAX_BARS]:
        width = 160 * effect.importance / largest
        bar = (
            '<svg class="bar series-1" width="160" height="12" viewBox="0 0 160 12"'
            f' aria-hidden="true"><rect width="{width:.1f}" height="12" rx="2"'
            ' fill="currentColor"/></svg>'
        )
        rows.append(
            (name_html(effect.variable.name, MAX_LONG_NAME), bar, per_cent(effect.importance))
        )
    others = effects[MAX_BARS:]
    note = (
        "The mutual information of each column alone with the class, as a share of the sum of all"
        " columns."
    )
    if others:
        rest = per_cent(sum(effect.importance for effect in others))
        note += f" {count_of(len(others), 'further column')} together: {rest}."
    header = ("column", "share", "importance")
    return table_html("Importance of the columns", header, rows, 2, "importance", note=note)


# ---- a chart for each column


def _charts(charts: Sequence[str], labels: Sequence[str]) -> str:
    what = f"of {shortened(labels[0], 40)}" if len(labels) == 1 else "of each class"
    note = (
        f"Lines are the change of the log odds {what} by a value, with nothing else known: above"
        " zero it speaks for the class, below against it, and +0.7 doubles the odds. Bars are how"
        " probable the values are. All charts have the same scale."
    )
    legend = "" if len(labels) == 1 else _legend(labels)
    html = f'<h3>Column by column</h3><p class="note">{escaped(note)}</p>{legend}'
    html += charts_html(charts[:N_OPEN])
    others = charts[N_OPEN:]
    if others:
        title = count_of(len(others), "further column")
        html += f"<details><summary>{title}</summary>{charts_html(others)}</details>"
    return html


def _legend(labels: Sequence[str]) -> str:
    items = [
        f'<li class="series-{k}"><svg class="key" width="14" height="4" aria-hidden="true"><rect'
        f' width="14" height="4" fill="currentColor"/></svg><span>{name_html(label)}</span></li>'
        for k, label in enumerate(labels, 1)
    ]
    return f'<ul class="legend">{"".join(items)}</ul>'


def _figure(effect: _Effect, scale: float, told: bool) -> str:
    variable = effect.variable
    low, high = np.nanmin(effect.odds), np.nanmax(effect.odds)
    label = (
        f"{variable.name}: {count_of(variable.card, 'value')}, log odds change from"
        f" {signed(float(low))} to {signed(float(high))}"
    )
    name = f"{name_html(variable.name, MAX_LONG_NAME)} <small>{per_cent(effect.importance)}</small>"
    edges = np.linspace(_LEFT, _RIGHT, variable.card + 1)
    texts, n_lines = _texts(variable, edges)
    height = _FLOOR + 4 + n_lines * _LINE
    drawn = _frame(scale) + _bars(effect.shares, edges)
    for series, odds in enumerate(effect.odds.T, 1):
        line = _steps(np.clip(odds, -scale, scale) / scale, edges)
        drawn += (
            f'<path class="series-{series}" d="{line}" fill="none" stroke="currentColor"'
            ' stroke-width="2"/>'
        )
    drawn += texts + (_tips(effect, edges) if told else "")
    return (
        f'<figure class="chart effect"><h4>{name}</h4><svg viewBox="0 0 320 {height:g}"'
        f' role="img" aria-label="{escaped(label)}" font-size="10">{drawn}</svg></figure>'
    )


def _frame(scale: float) -> str:
    ticks = ((_MIDDLE - _HALF, signed(scale)), (_MIDDLE, "0"), (_MIDDLE + _HALF, signed(-scale)))
    texts = "".join(
        f'<text x="{_LEFT - 4:g}" y="{y + 3.5:g}" text-anchor="end">{text}</text>'
        for y, text in ticks
    )
    return (
        f'<path d="M{_LEFT:g} {_MIDDLE:g}H{_RIGHT:g}M{_LEFT:g} {_FLOOR:g}H{_RIGHT:g}" fill="none"'
        ' stroke="currentColor" stroke-opacity="0.4"/><g class="ticks"'
        f' fill="currentColor">{texts}</g>'
    )


def _steps(heights: np.ndarray, edges: np.ndarray) -> str:
    """Return a line with a level for each value; values that do not occur have none."""
    parts = []
    pen_down = False
    for height, left, right in zip(heights, edges[:-1], edges[1:], strict=True):
        if np.isnan(height):
            pen_down = False
            continue
        y = _MIDDLE - _HALF * height
        parts.append(f"V{y:.1f}" if pen_down else f"M{left:.1f} {y:.1f}")
        parts.append(f"H{right:.1f}")
        pen_down = True
    return "".join(parts)


def _bars(shares: np.ndarray, edges: np.ndarray) -> str:
    space = 1.0 if shares.size <= 40 else 0.0
    heights = _SHARES * shares / shares.max()
    path = "".join(
        f"M{left + space:.1f} {_FLOOR:g}v{-height:.1f}H{right - space:.1f}V{_FLOOR:g}z"
        for height, left, right in zip(heights, edges[:-1], edges[1:], strict=True)
    )
    return f'<path d="{path}" fill="currentColor" fill-opacity="0.25"/>'


def _texts(variable: Variable, edges: np.ndarray) -> tuple[str, int]:
    """Return the values below the chart, and the number of lines that they take.

    Categories may take several lines. Where there are too many values, the first and the last one
    are named.
    """
    labels = [label.replace(">=", "≥") for label in variable.labels]
    width = int((edges[1] - edges[0]) / _CHARACTER) - 1
    if max(map(len, labels)) <= width:
        lines = [[label] for label in labels]
    elif variable.cuts is None and width >= _MIN_CHARACTERS:
        lines = [_wrapped(label, width) for label in labels]
    else:
        ends = [(edges[0], "start", labels[0]), (edges[-1], "end", labels[-1])]
        drawn = [_text(place, anchor, 0, shortened(label, 22)) for place, anchor, label in ends]
        return _ticks(drawn), 1
    middles = (edges[:-1] + edges[1:]) / 2
    drawn = [
        _text(middle, "middle", at, line)
        for middle, some in zip(middles, lines, strict=True)
        for at, line in enumerate(some)
    ]
    return _ticks(drawn), max(map(len, lines))


def _wrapped(label: str, width: int) -> list[str]:
    """Return a label in a few lines.

    >>> _wrapped("atypical angina", 10)
    ['atypical', 'angina']
    """
    lines = textwrap.wrap(label, width, max_lines=_MAX_LINES, placeholder="…")
    return [shortened(line, width) for line in lines] or [""]


def _text(place: float, anchor: str, line: int, text: str) -> str:
    y = _FLOOR + 13 + line * _LINE
    return f'<text x="{place:.1f}" y="{y:g}" text-anchor="{anchor}">{escaped(text)}</text>'


def _ticks(texts: Sequence[str]) -> str:
    return f'<g class="ticks" fill="currentColor">{"".join(texts)}</g>'


def _tips(effect: _Effect, edges: np.ndarray) -> str:
    """Return areas that tell each value, its probability and its log odds."""
    words = values_in_words(effect.variable)
    tips = []
    for k, word in enumerate(words):
        odds = [signed(float(value)) for value in effect.odds[k] if not np.isnan(value)]
        text = f"{shortened(word, 80)}: {', '.join(odds) or '–'} ({per_cent(effect.shares[k])})"
        width = edges[k + 1] - edges[k]
        tips.append(
            f'<rect x="{edges[k]:.1f}" y="{_TOP:g}" width="{width:.1f}" height="{_FLOOR - _TOP:g}"'
            f' fill="transparent"><title>{escaped(text)}</title></rect>'
        )
    return "".join(tips)
