"""The training history: charts and tables for the stages of the trace."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discbayes._text import count_of, shortened
from discbayes.charts.chart import Chart, Line
from discbayes.charts.traces import CHOSEN, LEFT_OUT, OTHER, Stage, Step, figure, stages
from discbayes.charts.training_charts import edge_of, stage_chart, strongest_first
from discbayes.classifier import BayesNetClassifier
from discbayes.report.column_table import setting_text
from discbayes.report.markup import aligned, charts_html, escaped, name_html, table_html
from discbayes.report.svg import chart_html

MAX_STEPS = 12  # in a table
_MAX_LONG = 48  # rows of a table that has nothing to choose from
_MAX_STAGES = 8
_MAX_BARS = 60
_MAX_NAMES = 6
_MAX_REASON = 1000  # characters


def history_html(clf: BayesNetClassifier) -> str:
    """Return the section on the training history; an empty text where there is none."""
    found = stages(getattr(clf, "history_", []))
    if not found:
        return ""
    charts, tables = zip(*(_VIEWS[stage.kind](stage) for stage in found[:_MAX_STAGES]), strict=True)
    more = ""
    n_hidden = len(found) - _MAX_STAGES
    if n_hidden > 0:
        verb = "is" if n_hidden == 1 else "are"
        more = f"<p>{count_of(n_hidden, 'further stage')} of the trace {verb} not shown.</p>"
    return (
        f'<p class="note">{escaped(_introduction(clf))}</p>'
        f"{charts_html(filter(None, charts))}{''.join(tables)}{more}"
    )


def _introduction(clf: BayesNetClassifier) -> str:
    text = f"Structure: {setting_text(clf.structure)}. Parameters: {setting_text(clf.parameters)}."
    seconds = figure(clf.history_[-1].get("seconds"))
    if math.isfinite(seconds):
        text += f" The last step was done {seconds:,.1f} s after the start."
    return text


def brief(value: float) -> str:
    """Return a score in few digits.

    >>> brief(-1292.39331), brief(0.0001012), brief(float("nan"))
    ('−1,292.39', '0.0001012', '–')
    """
    if not math.isfinite(value):
        return "–"
    text = f"{value:,.2f}" if 1e3 <= abs(value) < 1e9 else f"{value:.4g}"
    return text.replace("-", "−")


# ---- the chart and the table of a stage


def _edges(stage: Stage) -> tuple[str, str]:
    """Show edges that were chosen by weights of their own, the strongest first."""
    stage = strongest_first(stage)
    chart = stage_chart(Stage(stage.kind, stage.steps[:_MAX_BARS]))
    assert chart is not None
    n_edges = count_of(len(stage.steps), "edge")
    texts = aligned(stage.scores[:MAX_STEPS].tolist())
    rows = [(_change(step), text) for step, text in zip(stage.steps, texts, strict=False)]
    title = "Edges and their weights"
    if len(rows) < len(stage.steps):
        title = f"The {len(rows)} strongest of {n_edges}"
    return (
        chart_html(replace(chart, summary=f"Weights of {n_edges}")),
        table_html(title, ("edge", "weight"), rows, kind="steps"),
    )


def _search(stage: Stage) -> tuple[str, str]:
    """Show steps that change a network, with the score after each."""
    scores, gains = stage.scores, stage.gains
    shown = list(range(len(stage.steps)))
    title, note = "The search, step by step", ""
    if len(stage.steps) > MAX_STEPS:
        best = np.argsort(-np.nan_to_num(gains, nan=-np.inf), kind="stable")[: MAX_STEPS - 2]
        shown = sorted({0, *(int(k) for k in best if gains[k] > 0), len(stage.steps) - 1})
        title = f"The search: {len(shown)} of {len(stage.steps):,} steps"
        note = "The first, the last and those with the largest gains."
    texts = aligned(scores[shown].tolist()), aligned(gains[shown].tolist())
    rows = [
        (f"{k + 1:,}", _change(stage.steps[k]), score, gain)
        for k, score, gain in zip(shown, *texts, strict=True)
    ]
    header = ("step", "change", "score", "gain")
    return _lines(stage), table_html(title, header, rows, left=2, kind="steps", note=note)


def _iterations(stage: Stage) -> tuple[str, str]:
    """Show the objective of an optimizer."""
    scores = stage.scores[np.isfinite(stage.scores)]
    first, last = (brief(scores[k]) if scores.size else "–" for k in (0, -1))
    text = f"{count_of(len(stage.steps), 'iteration')}, from {first} to {last}"
    relative_gap = figure(stage.steps[-1].get("gap"))
    if math.isfinite(relative_gap):
        text += f"; the optimum is at most {100 * relative_gap:.2g} % better"
    chart = _lines(stage, f"{text}.")
    return chart, "" if chart else f'<p class="note">Parameters: {escaped(text)}.</p>'


def _annealing(stage: Stage) -> tuple[str, str]:
    """Show the best score of each run of annealing, as the temperature falls."""
    ranked = stage.runs()
    best = aligned([run.scores[-1] for run in ranked[:MAX_STEPS]])
    rows = []
    for rank, (run, score) in enumerate(zip(ranked, best, strict=False), 1):
        sums = [sum(_whole(step.get(k)) for step in run.steps) for k in ("evaluations", "accepted")]
        rows.append((str(rank), *(f"{count:,}" for count in (len(run.steps), *sums)), score))
    chosen = "" if len(ranked) <= MAX_STEPS else f": the {MAX_STEPS} best of {len(ranked)} runs"
    header = ("run, the best first", "temperatures", "changes tried", "accepted", "best score")
    return _lines(stage), table_html(f"Annealing{chosen}", header, rows, kind="steps")


def _other(stage: Stage) -> tuple[str, str]:
    """Show the scores of a learner of the user."""
    return _lines(stage, title="Score"), ""


def _lines(stage: Stage, caption: str = "", title: str = "") -> str:
    """Return the lines of a stage; an empty text where none has two points to join."""
    chart = stage_chart(stage)
    assert chart is not None
    lines = [mark for mark in chart.marks if isinstance(mark, Line) and not mark.is_right]
    if max(np.isfinite(line.y).sum() for line in lines) < 2:
        return ""
    scores = np.concatenate([line.y for line in lines])
    scores = scores[np.isfinite(scores)]
    n_steps = count_of(max(len(line.y) for line in lines), "step")
    title = title or chart.title
    summary = f"{title}: from {brief(scores.min())} to {brief(scores.max())} in {n_steps}"
    return chart_html(Chart(title, chart.x, chart.y, tuple(lines), summary), caption)


def _settings(stage: Stage) -> tuple[str, str]:
    """Show settings that were compared on held-out rows."""
    scores = [figure(step.get("held_out", step.get("score"))) for step in stage.steps]
    top = np.nanmax(scores) if np.isfinite(scores).any() else math.nan
    best = next((k for k, score in enumerate(scores) if score >= top - 1e-9 * abs(top)), -1)
    listed = list(zip(stage.steps, scores, strict=True))[:_MAX_LONG]
    rows = [
        (name_html(str(step["setting"]), 120), brief(score), "chosen" if k == best else "")
        for k, (step, score) in enumerate(listed)
    ]
    title = f"Settings on held-out rows{_first_of(len(rows), len(scores))}"
    return "", table_html(title, ("setting", "held out", "choice"), rows, kind="steps")


def _chosen(stage: Stage) -> tuple[str, str]:
    """Show what was compared by the log loss of held-out rows, and what was chosen."""
    tables = []
    for step in stage.steps:
        compared = step["compared"] if isinstance(step.get("compared"), dict) else {}
        chosen = {str(step[CHOSEN]), f"missing={step.get('missing')!r}"}
        rows = [
            (name_html(str(name), 120), brief(figure(loss)), "chosen" if name in chosen else "")
            for name, loss in list(compared.items())[:_MAX_LONG]
        ]
        title = f"Choices on held-out rows{_first_of(len(rows), len(compared))}"
        tables.append(table_html(title, ("setting", "log loss", "choice"), rows, kind="steps"))
    return "", "".join(tables)


def _lambdas(stage: Stage) -> tuple[str, str]:
    """Show the λ of a margin score, chosen by the accuracy of held-out rows."""
    tables = []
    for step in stage.steps:
        accuracies = step["rates"] if isinstance(step["rates"], dict) else {}
        rows = [
            (escaped(str(lam)), brief(figure(accuracy)), "chosen" if lam == step.get("lam") else "")
            for lam, accuracy in list(accuracies.items())[:_MAX_LONG]
        ]
        title = "λ of the margin by held-out rows"
        tables.append(table_html(title, ("λ", "accuracy", "choice"), rows, kind="steps"))
    return "", "".join(tables)


def _path(stage: Stage) -> tuple[str, str]:
    """Show a path over λ, one fit for each."""
    rows = [
        [brief(figure(step.get(key))) for key in ("lam", "score", "gap")]
        for step in stage.steps[:_MAX_LONG]
    ]
    title = f"Path over λ{_first_of(len(rows), len(stage.steps))}"
    return "", table_html(title, ("λ", "objective", "relative gap"), rows, kind="steps")


def _first_of(n_shown: int, n_all: int) -> str:
    return f", the first {n_shown} of {n_all}" if n_shown < n_all else ""


def _left_out(stage: Stage) -> tuple[str, str]:
    """Show edges that were left out, as their tables would have been too large."""
    tables = []
    for step in stage.steps:
        edges = [edge_of({"edge": edge}) for edge in _items(step, "edges")]
        pairs = [edge for edge in edges if len(edge) == 2]
        rows = [(_names(edge[:1]), _names(edge[1:])) for edge in pairs[:MAX_STEPS]]
        number = _whole(step.get(LEFT_OUT))
        more = f", {len(rows)} of them" if len(rows) < number else ""
        note = shortened(str(step.get("reason", "")), _MAX_REASON)
        title, header = f"{count_of(number, 'edge')} left out{more}", ("column", "column")
        tables.append(table_html(title, header, rows, left=2, kind="steps", note=note))
    return "", "".join(tables)


_VIEWS: dict[str, Callable[[Stage], tuple[str, str]]] = {
    "iteration": _iterations,
    "setting": _settings,
    "rates": _lambdas,
    "temperature": _annealing,
    "lam": _path,
    "move": _search,
    "abandoned": _search,
    "edge": _edges,
    CHOSEN: _chosen,
    LEFT_OUT: _left_out,
    OTHER: _other,
}


# ---- steps in words


def _change(step: Step) -> str:
    """Return the change of a step as HTML."""
    edge, order = edge_of(step), _items(step, "order")
    verb = f"{escaped(shortened(str(step['move'])))} " if "move" in step else ""
    along = f"; order: {_names(order)}" if order else ""
    if "feature" in step:  # an edge of the class
        return f"{verb}→ {name_html(str(step['feature']))}"
    if len(edge) != 2:
        child = f" for {name_html(str(step['child']))}" if "child" in step else ""
        return f"no change that helps{child}{along}"
    parents, children = _items(step, "parents") or edge[:1], _items(step, "children") or edge[1:]
    return f"{verb}{_names(parents)} → {_names(children)}{along}"


def _names(names: Sequence[Any]) -> str:
    more = [f"… and {len(names) - _MAX_NAMES} more"] if len(names) > _MAX_NAMES else []
    return ", ".join([*(name_html(str(name)) for name in names[:_MAX_NAMES]), *more])


def _items(step: Step, key: str) -> list[Any]:
    """Return a list of a step; an empty one where there is something else."""
    value = step.get(key)
    return list(value) if isinstance(value, (list, tuple)) else []


def _whole(value: Any) -> int:
    number = figure(value)
    return round(number) if math.isfinite(number) else 0
