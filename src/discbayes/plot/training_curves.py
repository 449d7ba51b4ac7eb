"""What a fit has recorded on its way: steps of a search, settings that were compared, iterations of
a solver.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discbayes._lazy_imports import need
from discbayes._text import count_of
from discbayes.plot.style import (
    BLUE,
    COLOURS,
    GREY,
    MARKERS,
    ORANGE,
    keyed,
    new_axes,
    panels,
    plain,
    right_axes,
    words,
)
from discbayes.traces import LEFT_OUT, Stage, Step, stages


def history(thing: Any, ax: Any = None) -> Any:
    """The trace of a fit, stage by stage, from the search for a structure to the last iteration of
    its parameters.

    Where there are several stages the axes are divided into one for each, ``ax.child_axes``, one
    below the other. A search that weighs single edges is drawn as their weights, the largest first;
    other searches by their score after each step, settings by what held-out rows say of them,
    solvers by their objective, with the gap to the optimum where they know it.

    Parameters
    ----------
    thing : BayesNetClassifier or list of dict
        A fitted classifier, or its ``history_``.
    ax : Axes, optional

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> [panel.get_title() for panel in history(BayesNetClassifier().fit(iris.X, iris.y)).child_axes]
    ['3 edges', '6 iterations']
    """
    if not isinstance(thing, Sequence):
        check_is_fitted(thing)
        thing = thing.history_
    # which has nothing to draw
    found = [stage for stage in stages(thing) if stage.kind != LEFT_OUT]
    if not found:
        raise ValueError(
            "the history is empty: this fit had no search and no iterations, so there is nothing to"
            " draw"
        )
    ax = new_axes(ax, (6.4, 0.6 + 2.3 * len(found)))
    places = (
        [ax] if len(found) == 1 else panels(ax, [1] * len(found), 0.26 if len(found) == 2 else 0.16)
    )
    for stage, panel in zip(found, places, strict=True):
        _DRAWN.get(stage.kind, _draw_search)(panel, stage)
        if not panel.child_axes:
            plain(panel)
    return ax


# ---- one stage


def _draw_edges(ax: Any, stage: Stage) -> None:
    scores = sorted(stage.scores, reverse=True)
    ax.bar(range(1, len(scores) + 1), scores, color=BLUE)
    _label(ax, count_of(len(scores), "edge"), "edge, from the largest score on", "score")


def _draw_search(ax: Any, stage: Stage) -> None:
    """The score after each step: a line for each restart, a marker for each kind of move."""
    runs = stage.runs()
    best = max(runs, key=lambda run: run.scores[-1])
    for run in runs:
        look = {"color": BLUE, "zorder": 3} if run is best else {"color": GREY, "alpha": 0.6}
        ax.plot(range(1, len(run.steps) + 1), run.scores, linewidth=1.4, **look)
    _mark_moves(ax, stage.steps)
    title = f"a search of {count_of(len(stage.steps), 'step')}"
    _label(ax, title + (f" in {len(runs)} runs" if len(runs) > 1 else ""), "step", "score")


def _mark_moves(ax: Any, steps: list[Step]) -> None:
    moves = list(dict.fromkeys(step["move"] for step in steps if "move" in step))
    for k, move in enumerate(moves):
        at = [place for place, step in enumerate(steps, 1) if step.get("move") == move]
        look = {"color": COLOURS[k % len(COLOURS)], "zorder": 4, "label": keyed(move)}
        ax.plot(
            at,
            [steps[place - 1]["score"] for place in at],
            MARKERS[k % len(MARKERS)],
            markersize=4,
            **look,
        )
    if moves:
        ax.legend(frameon=False, fontsize=8, loc="lower right")


def _draw_settings(ax: Any, stage: Stage) -> None:
    values = np.array([step["held_out"] for step in stage.steps])
    best = int(values.argmax())
    ax.plot(range(1, len(values) + 1), values, "o-", color=BLUE, markersize=4, linewidth=0.8)
    ax.plot([best + 1], [values[best]], "D", color=ORANGE, markersize=7, zorder=3)
    _label(
        ax,
        f"{count_of(len(values), 'setting')}; the best: {_setting(stage.steps[best])}",
        "setting",
        "on held-out rows",
    )


def _setting(step: Step) -> str:
    """What a setting is, without the name of its type."""
    return words(step["setting"].removeprefix("Setting(").removesuffix(")"), 60)


def _draw_rates(ax: Any, stage: Stage) -> None:
    """The classification rate for each λ that a search could have, the chosen one marked."""
    chosen = stage.steps[-1]
    lams, rates = zip(*((float(lam), rate) for lam, rate in chosen["rates"].items()), strict=True)
    ax.plot(lams, 100 * np.array(rates), "o-", color=BLUE, markersize=4, linewidth=0.8)
    ax.plot([chosen["lam"]], [100 * chosen["score"]], "D", color=ORANGE, markersize=7, zorder=3)
    ax.set_xscale("log")
    _label(ax, f"the margin of the search: λ = {chosen['lam']:g}", "λ", "held-out rate, %")


def _draw_path(ax: Any, stage: Stage) -> None:
    at = range(len(stage.steps))
    ax.plot(at, stage.scores, "o-", color=BLUE, markersize=4)
    _label(ax, f"a path of {count_of(len(at), 'fit')}", "λ", "objective")
    ax.set_xticks(at, [f"{step['lam']:g}" for step in stage.steps])


def _draw_solver(ax: Any, stage: Stage) -> None:
    at = [step["iteration"] for step in stage.steps]
    ax.plot(at, stage.scores, "o-", color=BLUE, markersize=2.5, linewidth=1.4)
    _label(ax, count_of(at[-1], "iteration"), "iteration", "objective")
    gaps = np.array([step.get("gap", np.nan) for step in stage.steps])
    if (gaps > 0).any():  # a gap of zero has no place on a logarithmic scale
        other = right_axes(ax)
        ax.spines["top"].set_visible(False)
        other.plot(
            at, np.where(gaps > 0, gaps, np.nan), "s--", color=ORANGE, markersize=2.5, linewidth=1.0
        )
        other.set_yscale("log")
        other.set_ylabel("relative gap", color=ORANGE)
        ax.yaxis.label.set_color(BLUE)


def _label(ax: Any, title: str, x: str, y: str) -> None:
    ax.set_title(title, fontsize=10)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    if x != "λ":
        ax.xaxis.set_major_locator(need("matplotlib.ticker").MaxNLocator(integer=True))


_DRAWN = {  # all others are searches
    "edge": _draw_edges,
    "setting": _draw_settings,
    "rates": _draw_rates,
    "lam": _draw_path,
    "iteration": _draw_solver,
}
