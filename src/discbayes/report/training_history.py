"""How a model was found: a chart or a table for each stage of the trace."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from discbayes.classifier import BayesNetClassifier
from discbayes.report.column_table import setting_text
from discbayes.report.curves import thinned
from discbayes.report.markup import aligned, chart_html, charts_html, name_html, table_html
from discbayes.report.svg import N_SERIES, Axis, Chart
from discbayes.report.text import count_of, escaped, shortened
from discbayes.traces import LEFT_OUT, OTHER, Stage, Step, figure, stages

MAX_STEPS = 12  # in a table
_MAX_STAGES, _MAX_BARS, _MAX_NAMES = 8, 60, 6
_REASON_LETTERS = 1000


def history_html(clf: BayesNetClassifier) -> str:
    """The section on the trace; an empty text where there is none."""
    found = stages(getattr(clf, "history_", []))
    if not found:
        return ""
    charts, tables = [], []
    for stage in found[:_MAX_STAGES]:
        chart, table = _VIEWS[stage.kind](stage)
        charts.append(chart)
        tables.append(table)
    left = len(found) - _MAX_STAGES
    more = (
        f"<p>{count_of(left, 'further stage')} of the trace {'is' if left == 1 else 'are'} not"
        " shown.</p>"
    )
    return (
        f'<p class="note">{escaped(_words(clf))}</p>{charts_html(filter(None, charts))}{"".join(tables)}'
        f"{more if left > 0 else ''}"
    )


def _words(clf: BayesNetClassifier) -> str:
    words = f"Structure: {setting_text(clf.structure)}. Parameters: {setting_text(clf.parameters)}."
    last = figure(clf.history_[-1].get("seconds"))
    return (
        f"{words} The last step was done {last:,.1f} s after the start."
        if math.isfinite(last)
        else words
    )


def brief(value: float) -> str:
    """A score in few digits.

    >>> brief(-1292.39331), brief(0.0001012), brief(float("nan"))
    ('−1,292.39', '0.0001012', '–')
    """
    if not math.isfinite(value):
        return "–"
    text = f"{value:,.2f}" if 1e3 <= abs(value) < 1e9 else f"{value:.4g}"
    return text.replace("-", "−")


# ---- views: the chart and the table of a stage


def _edges(stage: Stage) -> tuple[str, str]:
    """Edges that were chosen by weights of their own, the strongest first."""
    order = np.argsort(-np.nan_to_num(stage.scores, nan=-np.inf), kind="stable")
    steps, weights = [stage.steps[k] for k in order], stage.scores[order]
    shown = np.nan_to_num(weights[:_MAX_BARS])
    x = Axis.counting("edge, the strongest first", shown.size)
    x = Axis(x.label, 0.4, shown.size + 0.6, x.ticks[1:], x.texts[1:])
    chart = Chart(
        f"Weights of {count_of(len(steps), 'edge')}", x, _span("weight", np.append(shown, 0.0))
    )
    chart.bars(
        shown, titles=[f"{_plain(step)}: {brief(w)}" for step, w in zip(steps, shown, strict=False)]
    )
    texts = aligned(weights[:MAX_STEPS].tolist())
    rows = [(_change(step), text) for step, text in zip(steps, texts, strict=False)]
    title = (
        "Edges and their weights"
        if len(rows) == len(steps)
        else f"The {len(rows)} strongest of {len(steps)} edges"
    )
    return chart_html("Weights of the edges", chart.svg()), table_html(
        title, ("edge", "weight"), rows, kind="steps"
    )


def _search(stage: Stage) -> tuple[str, str]:
    """Steps that change a network and say what it is worth afterwards."""
    scores, gains = stage.scores, stage.gains
    shown = list(range(len(stage.steps)))
    title, note = "The search, step by step", ""
    if len(stage.steps) > MAX_STEPS:
        best = np.argsort(-np.nan_to_num(gains, nan=-np.inf), kind="stable")[: MAX_STEPS - 2]
        shown = sorted({0, *(int(k) for k in best if gains[k] > 0), len(stage.steps) - 1})
        title = f"The search: {len(shown)} of {len(stage.steps):,} steps"
        note = "The first, the last and those that gained most."
    figures = zip(
        shown, aligned(scores[shown].tolist()), aligned(gains[shown].tolist()), strict=True
    )
    rows = [(f"{k + 1:,}", _change(stage.steps[k]), score, gain) for k, score, gain in figures]
    table = table_html(
        title, ("step", "change", "score", "gain"), rows, left=2, kind="steps", note=note
    )
    return _line_chart("Score of the search", "step", scores), table


def _iterations(stage: Stage) -> tuple[str, str]:
    """The objective of an optimiser."""
    scores = stage.scores[np.isfinite(stage.scores)]
    first, last = (brief(scores[k]) if scores.size else "–" for k in (0, -1))
    words = f"{count_of(len(stage.steps), 'iteration')}, from {first} to {last}"
    gap = figure(stage.steps[-1].get("gap"))
    if math.isfinite(gap):
        words += f"; the optimum is at most {100 * gap:.2g} % better"
    chart = _line_chart("Objective of the parameters", "iteration", stage.scores, f"{words}.")
    return chart, "" if chart else f'<p class="note">Parameters: {escaped(words)}.</p>'


def _annealing(stage: Stage) -> tuple[str, str]:
    """The best score of each run of annealing, as the temperature falls."""
    ranked = sorted(stage.runs(), key=lambda run: -np.nan_to_num(run.scores[-1], nan=-np.inf))
    best = aligned([run.scores[-1] for run in ranked[:MAX_STEPS]])
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
    chosen = "" if len(ranked) <= MAX_STEPS else f": the {MAX_STEPS} best of {len(ranked)} runs"
    header = ("run, the best first", "temperatures", "changes tried", "accepted", "best score")
    lines = [run.scores for run in ranked[:N_SERIES]]
    names = [f"run {place}" for place in range(1, len(lines) + 1)] if len(lines) > 1 else []
    chart = _chart(
        "Annealing: the best score so far", "temperature, falling step by step", lines, "", names
    )
    return chart, table_html(f"Annealing{chosen}", header, rows, kind="steps")


def _settings(stage: Stage) -> tuple[str, str]:
    """Settings that held-out rows were asked about."""
    merits = [figure(step.get("held_out", step.get("score"))) for step in stage.steps]
    top = np.nanmax(merits) if np.isfinite(merits).any() else math.nan
    best = next((k for k, merit in enumerate(merits) if merit >= top - 1e-9 * abs(top)), -1)
    listed = list(zip(stage.steps, merits, strict=True))[: 4 * MAX_STEPS]
    rows = [
        (name_html(str(step["setting"]), 120), brief(merit), "chosen" if k == best else "")
        for k, (step, merit) in enumerate(listed)
    ]
    more = f", the first {len(rows)} of {len(merits)}" if len(rows) < len(merits) else ""
    return "", table_html(
        f"Settings on held-out rows{more}", ("setting", "held out", ""), rows, kind="steps"
    )


def _lambdas(stage: Stage) -> tuple[str, str]:
    """The λ of a margin, chosen by the classification rate of held-out rows."""
    tables = []
    for step in stage.steps:
        rates = step["rates"] if isinstance(step["rates"], dict) else {}
        rows = [
            (escaped(str(lam)), brief(figure(rate)), "chosen" if lam == step.get("lam") else "")
            for lam, rate in list(rates.items())[: 4 * MAX_STEPS]
        ]
        tables.append(
            table_html("λ of the margin by held-out rows", ("λ", "right", ""), rows, kind="steps")
        )
    return "", "".join(tables)


def _path(stage: Stage) -> tuple[str, str]:
    """A path over λ, one fit for each."""
    rows = [
        (
            brief(figure(step.get("lam"))),
            brief(figure(step.get("score"))),
            brief(figure(step.get("gap"))),
        )
        for step in stage.steps[: 4 * MAX_STEPS]
    ]
    more = f", the first {len(rows)} of {len(stage.steps)}" if len(rows) < len(stage.steps) else ""
    return "", table_html(
        f"Path over λ{more}", ("λ", "objective", "relative gap"), rows, kind="steps"
    )


def _left_out(stage: Stage) -> tuple[str, str]:
    """Edges whose tables would have been too large."""
    tables = []
    for step in stage.steps:
        listed = [
            edge
            for edge in _items(step, "edges")
            if isinstance(edge, (list, tuple)) and len(edge) == 2
        ]
        rows = [(_names(edge[:1]), _names(edge[1:])) for edge in listed[:MAX_STEPS]]
        number = _whole(step.get(LEFT_OUT))
        title = f"{count_of(number, 'edge')} left out" + (
            f", {len(rows)} of them" if len(rows) < number else ""
        )
        note = shortened(str(step.get("reason", "")), _REASON_LETTERS)
        tables.append(
            table_html(title, ("column", "column"), rows, left=2, kind="steps", note=note)
        )
    return "", "".join(tables)


def _plain_scores(stage: Stage) -> tuple[str, str]:
    """Steps of a learner that is not ours: their score."""
    return _line_chart("Score", "step", stage.scores), ""


_VIEWS: dict[str, Callable[[Stage], tuple[str, str]]] = {
    "iteration": _iterations,
    "setting": _settings,
    "rates": _lambdas,
    "temperature": _annealing,
    "lam": _path,
    "move": _search,
    "abandoned": _search,
    "edge": _edges,
    LEFT_OUT: _left_out,
    OTHER: _plain_scores,
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
    more = [f"… and {len(names) - _MAX_NAMES} more"] if len(names) > _MAX_NAMES else []
    return ", ".join([*(name_html(str(name)) for name in names[:_MAX_NAMES]), *more])


def _items(step: Step, key: str) -> list[Any]:
    """A list in a step; an empty one where there is something else."""
    value = step.get(key)
    return list(value) if isinstance(value, (list, tuple)) else []


def _whole(value: Any) -> int:
    number = figure(value)
    return round(number) if math.isfinite(number) else 0


# ---- charts


def _line_chart(title: str, x_label: str, scores: np.ndarray, caption: str = "") -> str:
    return _chart(title, x_label, [scores], caption)


def _chart(
    title: str,
    x_label: str,
    lines: Sequence[np.ndarray],
    caption: str = "",
    names: Sequence[str] = (),
) -> str:
    """Lines of scores by step; an empty text where there are no two steps to join."""
    if max((np.isfinite(line).sum() for line in lines), default=0) < 2:
        return ""
    heights = np.concatenate(lines)
    heights = heights[np.isfinite(heights)]
    longest = max(line.size for line in lines)
    chart = Chart(
        f"{title}: from {brief(heights.min())} to {brief(heights.max())} in"
        f" {count_of(longest, 'step')}",
        Axis.counting(x_label, longest),
        _span("score", heights),
    )
    for series, line in enumerate(lines, 1):
        steps = 1.0 + np.flatnonzero(np.isfinite(line))
        if steps.size:
            chart.line(
                *_thin(steps, line[np.isfinite(line)]), series, names[series - 1] if names else ""
            )
    return chart_html(title, chart.svg(), caption, [escaped(name) for name in names])


def _thin(steps: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fewer points, taken as they are seen: evenly along the line on a chart that is as high as
    wide.
    """
    high = max(float(np.ptp(scores)), 1e-300)
    x, y = thinned(steps / steps[-1], (scores - scores.min()) / high)
    return x * steps[-1], y * high + scores.min()


def _span(label: str, values: np.ndarray) -> Axis:
    return Axis.over(label, float(values.min()), float(values.max()))
