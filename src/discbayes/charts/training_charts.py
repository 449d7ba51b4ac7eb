"""Charts of the training history: one for each stage of a trace."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discbayes._text import count_of, shortened
from discbayes.charts.chart import Axis, Bars, Chart, Dots, Line, Mark
from discbayes.charts.traces import CHOSEN, LEFT_OUT, Stage, Step, figure

_MAX_NAME = 40  # characters
_MAX_SETTING = 60


def stage_chart(stage: Stage) -> Chart | None:
    """Describe a stage; None where there is nothing to draw."""
    return _CHARTS.get(stage.kind, search_chart)(stage)


def strongest_first(stage: Stage) -> Stage:
    """Return a stage with its steps by their scores, the largest first."""
    order = np.argsort(-np.nan_to_num(stage.scores, nan=-np.inf), kind="stable")
    return Stage(stage.kind, [stage.steps[k] for k in order])


def edges_chart(stage: Stage) -> Chart:
    """Describe edges that were chosen by weights of their own."""
    stage = strongest_first(stage)
    weights = np.nan_to_num(stage.scores)
    titles = [
        f"{' → '.join(shortened(str(end), _MAX_NAME) for end in edge_of(step))}: {weight:.4g}"
        for step, weight in zip(stage.steps, weights, strict=True)
    ]
    n_edges = count_of(weights.size, "edge")
    return Chart(
        "Weights of the edges",
        Axis("edge, the strongest first", is_whole=True),
        Axis("weight"),
        (Bars(np.arange(1, weights.size + 1), weights, 0.9, titles=titles),),
        summary=f"Weights of {n_edges}",
        subtitle=n_edges,
    )


def edge_of(step: Step) -> list[object]:
    """Return the ends of the edge of a step; an empty list where the step has none."""
    edge = step.get("edge")
    return list(edge) if isinstance(edge, (list, tuple)) else []


def search_chart(stage: Stage) -> Chart:
    """Describe the score after each step of a search.

    There is a line for each run, the best run first, and dots for each kind of move.
    """
    runs = stage.runs()
    marks: list[Mark] = []
    for rank, run in enumerate(runs, 1):
        name = f"run {rank}" if len(runs) > 1 else ""
        marks.append(Line(np.arange(1, len(run.steps) + 1), run.scores, rank, name))
    moves = list(dict.fromkeys(str(step["move"]) for step in stage.steps if "move" in step))
    for series, move in enumerate(moves, 1):
        points = [
            (place, score)
            for run in runs
            for place, (step, score) in enumerate(zip(run.steps, run.scores, strict=True), 1)
            if str(step.get("move")) == move
        ]
        xs, ys = np.transpose(points)
        marks.append(Dots(xs, ys, series, move))
    n_runs = f" in {len(runs)} runs" if len(runs) > 1 else ""
    return Chart(
        "Score of the search",
        Axis("step", is_whole=True),
        Axis("score"),
        tuple(marks),
        subtitle=f"a search of {count_of(len(stage.steps), 'step')}{n_runs}",
    )


def _annealing_chart(stage: Stage) -> Chart:
    chart = search_chart(stage)
    x = Axis("temperature, falling step by step", is_whole=True)
    return Chart("Annealing: the best score so far", x, chart.y, chart.marks, "", chart.subtitle)


def _iterations_chart(stage: Stage) -> Chart:
    """Describe the objective of an optimizer, and the relative duality gap where it is known."""
    iterations = [figure(step.get("iteration")) for step in stage.steps]
    if not np.isfinite(iterations).all():
        iterations = [float(k) for k in range(1, len(stage.steps) + 1)]
    marks = [Line(iterations, stage.scores, has_dots=True)]
    duality_gaps = np.array([figure(step.get("gap")) for step in stage.steps])
    has_bound = bool((duality_gaps > 0).any())
    if has_bound:  # zero has no place on a logarithmic scale
        positive = np.where(duality_gaps > 0, duality_gaps, np.nan)
        marks.append(Line(iterations, positive, series=2, has_dots=True, is_right=True))
    return Chart(
        "Objective of the parameters",
        Axis("iteration", is_whole=True),
        Axis("objective"),
        tuple(marks),
        subtitle=count_of(round(iterations[-1]), "iteration"),
        right=Axis("relative gap", is_log=True) if has_bound else None,
    )


def _settings_chart(stage: Stage) -> Chart:
    """Describe the scores of settings on held-out rows, and which was chosen."""
    scores = np.array([figure(step.get("held_out", step.get("score"))) for step in stage.steps])
    best = int(np.argmax(np.nan_to_num(scores, nan=-np.inf)))
    text = str(stage.steps[best]["setting"]).removeprefix("Setting(").removesuffix(")")
    return Chart(
        "Settings on held-out rows",
        Axis("setting", is_whole=True),
        Axis("score of held-out rows"),
        (
            Line(np.arange(1, scores.size + 1), scores, has_dots=True),
            Dots([best + 1], scores[[best]], series=2, is_choice=True),
        ),
        subtitle=f"{count_of(scores.size, 'setting')}; the best: {shortened(text, _MAX_SETTING)}",
    )


def _margins_chart(stage: Stage) -> Chart | None:
    """Describe the held-out accuracy for each λ of a margin score, and which was chosen."""
    step = stage.steps[-1]
    accuracies = step["rates"] if isinstance(step["rates"], dict) else {}
    lams = [float(lam) for lam in accuracies]
    chosen = figure(step.get("lam"))
    return Chart(
        "λ of the margin by held-out rows",
        Axis("λ", is_log=True),
        Axis("held-out accuracy", unit="%"),
        (
            Line(lams, [100 * figure(value) for value in accuracies.values()], has_dots=True),
            Dots([chosen], [100 * figure(step.get("score"))], series=2, is_choice=True),
        ),
        subtitle=f"the margin of the search: λ = {chosen:g}",
    )


def _path_chart(stage: Stage) -> Chart:
    """Describe the objective along a path over λ, one fit for each."""
    lams = [figure(step.get("lam")) for step in stage.steps]
    ticks = tuple((float(k), f"{lam:g}") for k, lam in enumerate(lams))
    return Chart(
        "Path over λ",
        Axis("λ", ticks=ticks),
        Axis("objective"),
        (Line(np.arange(len(lams)), stage.scores, has_dots=True),),
        subtitle=f"a path of {count_of(len(lams), 'fit')}",
    )


_CHARTS: dict[str, Callable[[Stage], Chart | None]] = {  # all others are searches
    "edge": edges_chart,
    "iteration": _iterations_chart,
    "lam": _path_chart,
    "rates": _margins_chart,
    "setting": _settings_chart,
    "temperature": _annealing_chart,
    CHOSEN: lambda stage: None,  # a few numbers, and a table has them
    LEFT_OUT: lambda stage: None,
}
