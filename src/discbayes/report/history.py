"""How a model was found: the trace of the search and of the optimiser.

The trace is a list of steps that say what they are by their keys: an optimiser counts iterations, a hill climber names
its moves, annealing has a temperature. Steps of one kind that follow each other are a part, with its chart or table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes.classifier import BayesNetClassifier
from discbayes.report.columns import setting_text
from discbayes.report.curves import thinned
from discbayes.report.markup import aligned, chart_html, charts_html, name_html, table_html
from discbayes.report.svg import N_SERIES, Axis, Chart
from discbayes.report.text import count_of, escaped, shortened

MOST_STEPS = 12  # in a table
_MOST_PARTS, _MOST_BARS, _MOST_NAMES = 8, 60, 6
_LARGEST = 1e99  # of a score; more is as good as infinite
_NO_RULE = "other"
# The first of these keys that a step has says what kind it is of.
_KINDS = ("iteration", "setting", "rates", "temperature", "lam", "move", "order", "abandoned", "edge")

Step = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """Steps of one kind that follow each other."""

    kind: str
    steps: list[Step]

    @property
    def scores(self) -> np.ndarray:
        """The score of each step, NaN where it has none."""
        return np.array([_figure(step.get("score")) for step in self.steps])

    @property
    def gains(self) -> np.ndarray:
        """What each step added to the score; NaN for the first."""
        return np.diff(self.scores, prepend=np.nan)


def history_html(clf: BayesNetClassifier) -> str:
    """The section on the trace; an empty text where there is none."""
    found = parts(getattr(clf, "history_", []))
    if not found:
        return ""
    charts, tables = [], []
    for part in found[:_MOST_PARTS]:
        chart, table = _VIEWS[part.kind](part)
        charts.append(chart)
        tables.append(table)
    left = len(found) - _MOST_PARTS
    more = f"<p>{count_of(left, 'further part')} of the trace {'is' if left == 1 else 'are'} not shown.</p>"
    return (
        f'<p class="note">{escaped(_words(clf))}</p>{charts_html(filter(None, charts))}{"".join(tables)}'
        f"{more if left > 0 else ''}"
    )


def _words(clf: BayesNetClassifier) -> str:
    words = f"Structure: {setting_text(clf.structure)}. Parameters: {setting_text(clf.parameters)}."
    last = _figure(clf.history_[-1].get("seconds"))
    return f"{words} The last step was done {last:,.1f} s after the start." if math.isfinite(last) else words


def parts(history: Sequence[Step]) -> list[Part]:
    """The trace in parts: a new one begins with another kind of step, and where iterations are counted anew.

    >>> [(part.kind, len(part.steps)) for part in parts([{"edge": ("a", "b")}, {"iteration": 1}, {"iteration": 2}])]
    [('edge', 1), ('iteration', 2)]
    """
    found: list[Part] = []
    for step in history:
        kind = next((key for key in _KINDS if key in step), _NO_RULE)
        kind = "abandoned" if kind == "order" else kind
        if not found or found[-1].kind != kind or _starts_anew(found[-1].steps[-1], step):
            found.append(Part(kind, []))
        found[-1].steps.append(step)
    return found


def _starts_anew(before: Step, step: Step) -> bool:
    return _figure(step.get("iteration")) < _figure(before.get("iteration"))


def _figure(value: Any) -> float:
    """A number; NaN for all else that a trace may hold."""
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < _LARGEST else math.nan


def brief(value: float) -> str:
    """A score in few digits.

    >>> brief(-1292.39331), brief(0.0001012), brief(float("nan"))
    ('−1,292.39', '0.0001012', '–')
    """
    if not math.isfinite(value):
        return "–"
    text = f"{value:,.2f}" if 1e3 <= abs(value) < 1e9 else f"{value:.4g}"
    return text.replace("-", "−")


# ---- views: the chart and the table of a part


def _edges(part: Part) -> tuple[str, str]:
    """Edges that were chosen by weights of their own, the strongest first."""
    order = np.argsort(-np.nan_to_num(part.scores, nan=-np.inf), kind="stable")
    steps, weights = [part.steps[k] for k in order], part.scores[order]
    shown = np.nan_to_num(weights[:_MOST_BARS])
    x = Axis.counting("edge, the strongest first", shown.size)
    x = Axis(x.label, 0.4, shown.size + 0.6, x.ticks[1:], x.texts[1:])
    chart = Chart(f"Weights of {count_of(len(steps), 'edge')}", x, _span("weight", np.append(shown, 0.0)))
    chart.bars(shown, titles=[f"{_plain(step)}: {brief(w)}" for step, w in zip(steps, shown, strict=False)])
    texts = aligned(weights[:MOST_STEPS].tolist())
    rows = [(_change(step), text) for step, text in zip(steps, texts, strict=False)]
    title = "Edges and their weights" if len(rows) == len(steps) else f"The {len(rows)} strongest of {len(steps)} edges"
    return chart_html("Weights of the edges", chart.svg()), table_html(title, ("edge", "weight"), rows, kind="steps")


def _search(part: Part) -> tuple[str, str]:
    """Steps that change a network and say what it is worth afterwards."""
    scores, gains = part.scores, part.gains
    shown = list(range(len(part.steps)))
    title, note = "The search, step by step", ""
    if len(part.steps) > MOST_STEPS:
        best = np.argsort(-np.nan_to_num(gains, nan=-np.inf), kind="stable")[: MOST_STEPS - 2]
        shown = sorted({0, *(int(k) for k in best if gains[k] > 0), len(part.steps) - 1})
        title = f"The search: {len(shown)} of {len(part.steps):,} steps"
        note = "The first, the last and those that gained most."
    figures = zip(shown, aligned(scores[shown].tolist()), aligned(gains[shown].tolist()), strict=True)
    rows = [(f"{k + 1:,}", _change(part.steps[k]), score, gain) for k, score, gain in figures]
    table = table_html(title, ("step", "change", "score", "gain"), rows, left=2, kind="steps", note=note)
    return _line_chart("Score of the search", "step", scores), table


def _iterations(part: Part) -> tuple[str, str]:
    """The objective of an optimiser."""
    scores = part.scores[np.isfinite(part.scores)]
    first, last = (brief(scores[k]) if scores.size else "–" for k in (0, -1))
    words = f"{count_of(len(part.steps), 'iteration')}, from {first} to {last}"
    gap = _figure(part.steps[-1].get("gap"))
    if math.isfinite(gap):
        words += f"; the optimum is at most {100 * gap:.2g} % better"
    chart = _line_chart("Objective of the parameters", "iteration", part.scores, f"{words}.")
    return chart, "" if chart else f'<p class="note">Parameters: {escaped(words)}.</p>'


def _annealing(part: Part) -> tuple[str, str]:
    """The best score of each run of annealing, as the temperature falls."""
    runs: dict[str, list[Step]] = {}
    for step in part.steps:
        runs.setdefault(str(step.get("restart", 0)), []).append(step)
    by_run = [Part(part.kind, steps) for steps in runs.values()]
    ranked = sorted(by_run, key=lambda run: -np.nan_to_num(run.scores[-1], nan=-np.inf))
    best = aligned([run.scores[-1] for run in ranked[:MOST_STEPS]])
    rows = [
        (
            str(place),
            f"{len(run.steps):,}",
            f"{sum(_whole(step.get('evaluations')) for step in run.steps):,}",
            f"{sum(_whole(step.get('accepted')) for step in run.steps):,}",
            score,
        )
        for place, (run, score) in enumerate(zip(ranked, best, strict=False), 1)
    ]
    chosen = "" if len(ranked) <= MOST_STEPS else f": the {MOST_STEPS} best of {len(ranked)} runs"
    header = ("run, the best first", "temperatures", "changes tried", "accepted", "best score")
    lines = [run.scores for run in ranked[:N_SERIES]]
    names = [f"run {place}" for place in range(1, len(lines) + 1)] if len(lines) > 1 else []
    chart = _chart("Annealing: the best score so far", "temperature, falling step by step", lines, "", names)
    return chart, table_html(f"Annealing{chosen}", header, rows, kind="steps")


def _settings(part: Part) -> tuple[str, str]:
    """Settings that held-out rows were asked about."""
    merits = [_figure(step.get("held_out", step.get("score"))) for step in part.steps]
    top = np.nanmax(merits) if np.isfinite(merits).any() else math.nan
    best = next((k for k, merit in enumerate(merits) if merit >= top - 1e-9 * abs(top)), -1)
    listed = list(zip(part.steps, merits, strict=True))[: 4 * MOST_STEPS]
    rows = [
        (name_html(str(step["setting"]), 120), brief(merit), "chosen" if k == best else "")
        for k, (step, merit) in enumerate(listed)
    ]
    more = f", the first {len(rows)} of {len(merits)}" if len(rows) < len(merits) else ""
    return "", table_html(f"Settings on held-out rows{more}", ("setting", "held out", ""), rows, kind="steps")


def _lambdas(part: Part) -> tuple[str, str]:
    """The λ of a margin, chosen by the classification rate of held-out rows."""
    tables = []
    for step in part.steps:
        rates = step["rates"] if isinstance(step["rates"], dict) else {}
        rows = [
            (escaped(str(lam)), brief(_figure(rate)), "chosen" if lam == step.get("lam") else "")
            for lam, rate in list(rates.items())[: 4 * MOST_STEPS]
        ]
        tables.append(table_html("λ of the margin by held-out rows", ("λ", "right", ""), rows, kind="steps"))
    return "", "".join(tables)


def _path(part: Part) -> tuple[str, str]:
    """A path over λ, one fit for each."""
    rows = [
        (brief(_figure(step.get("lam"))), brief(_figure(step.get("score"))), brief(_figure(step.get("gap"))))
        for step in part.steps[: 4 * MOST_STEPS]
    ]
    more = f", the first {len(rows)} of {len(part.steps)}" if len(rows) < len(part.steps) else ""
    return "", table_html(f"Path over λ{more}", ("λ", "objective", "relative gap"), rows, kind="steps")


def _plain_scores(part: Part) -> tuple[str, str]:
    """Steps of a learner that is not ours: their score."""
    return _line_chart("Score", "step", part.scores), ""


_VIEWS: dict[str, Callable[[Part], tuple[str, str]]] = {
    "iteration": _iterations,
    "setting": _settings,
    "rates": _lambdas,
    "temperature": _annealing,
    "lam": _path,
    "move": _search,
    "abandoned": _search,
    "edge": _edges,
    _NO_RULE: _plain_scores,
}


# ---- steps in words


def _change(step: Step) -> str:
    """What a step did, as HTML."""
    edge, order = _items(step, "edge"), _items(step, "order")
    verb = f"{escaped(shortened(str(step['move'])))} " if "move" in step else ""
    along = f"; order: {_names(order)}" if order else ""
    if "feature" in step:  # an edge of the class
        return f"{verb}→ {name_html(str(step['feature']))}"
    if len(edge) != 2:
        child = f" for {name_html(str(step['child']))}" if "child" in step else ""
        return f"no change that helps{child}{along}"
    parents, children = _items(step, "parents") or edge[:1], _items(step, "children") or edge[1:]
    return f"{verb}{_names(parents)} → {_names(children)}{along}"


def _plain(step: Step) -> str:
    return " → ".join(shortened(str(end), 40) for end in _items(step, "edge"))


def _names(names: Sequence[Any]) -> str:
    more = [f"… and {len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    return ", ".join([*(name_html(str(name)) for name in names[:_MOST_NAMES]), *more])


def _items(step: Step, key: str) -> list[Any]:
    """A list in a step; an empty one where there is something else."""
    value = step.get(key)
    return list(value) if isinstance(value, (list, tuple)) else []


def _whole(value: Any) -> int:
    figure = _figure(value)
    return round(figure) if math.isfinite(figure) else 0


# ---- charts


def _line_chart(title: str, x_label: str, scores: np.ndarray, caption: str = "") -> str:
    return _chart(title, x_label, [scores], caption)


def _chart(title: str, x_label: str, lines: Sequence[np.ndarray], caption: str = "", names: Sequence[str] = ()) -> str:
    """Lines of scores by step; an empty text where there are no two steps to join."""
    if max((np.isfinite(line).sum() for line in lines), default=0) < 2:
        return ""
    heights = np.concatenate(lines)
    heights = heights[np.isfinite(heights)]
    longest = max(line.size for line in lines)
    chart = Chart(
        f"{title}: from {brief(heights.min())} to {brief(heights.max())} in {count_of(longest, 'step')}",
        Axis.counting(x_label, longest),
        _span("score", heights),
    )
    for series, line in enumerate(lines, 1):
        steps = 1.0 + np.flatnonzero(np.isfinite(line))
        if steps.size:
            chart.line(*_thin(steps, line[np.isfinite(line)]), series, names[series - 1] if names else "")
    return chart_html(title, chart.svg(), caption, [escaped(name) for name in names])


def _thin(steps: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fewer points, taken as they are seen: evenly along the line on a chart that is as high as wide."""
    high = max(float(np.ptp(scores)), 1e-300)
    x, y = thinned(steps / steps[-1], (scores - scores.min()) / high)
    return x * steps[-1], y * high + scores.min()


def _span(label: str, values: np.ndarray) -> Axis:
    return Axis.over(label, float(values.min()), float(values.max()))
