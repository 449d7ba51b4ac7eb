"""Figures on pages: published ones beside ours, as text, as curves, and how many of the runs are
there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from discbayes._lazy_imports import leaf, need
from discbayes.evaluation.result_blocks import Block, ResultTable, Text
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.experiment import Figures, row_names

Curves = Mapping[str, Sequence[float]]
WORSE, BETTER = "▼", "▲"


def figure_text(value: float, digits: int = 2) -> str:
    """A figure as text, a dash if there is none.

    >>> figure_text(85.123), figure_text(math.nan)
    ('85.12', '–')
    """
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def beside(
    title: str,
    ours: Mapping[tuple[str, str], float],
    published: Mapping[tuple[str, str], float],
    rows: Sequence[str],
    columns: Sequence[str],
    tolerance: float | Mapping[str, float],
    digits: int = 2,
    larger_is_better: bool = True,
    corner: str = "",
) -> ResultTable:
    """Our figures with the published ones in brackets; where ours is further off than the
    tolerance, a mark says how.

    The tolerance is one number, or one for each row.

    >>> ours, theirs = {("iris", "NB"): 93.0}, {("iris", "NB"): 94.5}
    >>> table = beside("", ours, theirs, ["iris"], ["NB"], tolerance=1.0)
    >>> table.rows
    [['iris', '93.00 (94.50) ▼']]
    """

    def cell(row: str, column: str) -> str:
        mine, theirs = ours.get((row, column), math.nan), published.get((row, column), math.nan)
        text = figure_text(mine, digits)
        if math.isnan(theirs):
            return text
        allowed = tolerance[row] if isinstance(tolerance, Mapping) else tolerance
        return f"{text} ({theirs:.{digits}f}){_mark(mine - theirs, allowed, larger_is_better)}"

    cells = [[row, *(cell(row, column) for column in columns)] for row in rows]
    limit = "the tolerance of the row" if isinstance(tolerance, Mapping) else f"{tolerance:g}"
    note = (
        f"Ours (published). {WORSE}: worse than the published figure by more than {limit};"
        f" {BETTER}: better by more than that."
    )
    return ResultTable(title, [corner, *columns], cells, note)


def table_page(
    published: Figures,
    ours: Callable[[Store], Figures],
    tolerance: float,
    *,
    title: str = "Accuracy (%)",
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    corner: str = "",
    stored: Callable[[Store], Sequence[Block]] = lambda store: [],
    more: Callable[[Store, Figures], Sequence[Block]] = lambda store, figures: [],
) -> Callable[[Store], list[Block]]:
    """Make the page of an experiment that is one table: ours beside the published figures.

    Parameters
    ----------
    published : Figures
        The table of the paper.
    ours : function of the store
        Our figures by the same rows and columns.
    tolerance : float
        Differences beyond it are marked.
    title, corner : str
        Above the table, and in its first cell.
    rows, columns : sequence of str, optional
        Those of the published table by default.
    stored : function of the store
        Blocks before the table: how many of the runs there are.
    more : function of the store and our figures
        Blocks after the table.

    Returns
    -------
    function of the store
        What ``Experiment.page`` expects.
    """
    named = row_names(published) if rows is None else rows
    headed = list(dict.fromkeys(column for _, column in published)) if columns is None else columns

    def page(store: Store) -> list[Block]:
        figures = ours(store)
        table = beside(title, figures, published, named, headed, tolerance, corner=corner)
        return [*stored(store), table, *more(store, figures)]

    return page


def _mark(difference: float, tolerance: float, larger_is_better: bool) -> str:
    if not abs(difference) > tolerance:
        return ""
    return f" {BETTER if (difference > 0) == larger_is_better else WORSE}"


# ---- runs


def runs_text(store: Store, tasks: Sequence[Task]) -> str:
    """How many of the runs are stored.

    >>> task = Task("letter", 0, ("NB-ML", "NB-CL"), 0, lambda task: iter(()))
    >>> runs_text(Store("none.csv", ()), [task])
    '0 of 2 runs'
    """
    wanted = [(task.data, task.fold, tag, task.seed) for task in tasks for tag in task.recipes]
    return f"{sum(key in store for key in wanted)} of {len(wanted)} runs"


def how_many(store: Store, tasks: Sequence[Task]) -> list[Block]:
    """A line that says so, if not all runs are there."""
    if not any(task.without(store).recipes for task in tasks):
        return []
    return [Text(f"Stored: {runs_text(store, tasks)}.")]


def beside_store(store: Store, name: str) -> Store:
    """The results of another experiment, from the same folder."""
    return Store(store.path.with_name(f"{name}.csv"), ())


# ---- curves


def draw_curves(
    x: Sequence[float],
    means: Curves,
    labels: tuple[str, str],
    spreads: Curves | None = None,
    dashed: str = "-CL",
) -> Any:
    """Lines by name, with a band of one standard deviation where there are spreads; some names are
    dashed lines.

    Names that differ in that end only have the same colour.
    """
    looks, pyplot = leaf("plot").style, need("matplotlib.pyplot")
    figure, ax = pyplot.subplots(figsize=(6.4, 4.4), layout="constrained")
    stems = list(dict.fromkeys(_stem(name, dashed) for name in means))
    for name, values in means.items():
        place = stems.index(_stem(name, dashed))
        colour, marker = (
            looks.COLORS[place % len(looks.COLORS)],
            looks.MARKERS[place % len(looks.MARKERS)],
        )
        style = "--" if name.endswith(dashed) else "-"
        ax.plot(x, values, style, marker=marker, color=colour, markersize=4, label=name)
        if spreads and name in spreads:
            low, high = (np.add(values, sign * np.asarray(spreads[name])) for sign in (-1, 1))
            ax.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
    ax.set_xticks(x)
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    ax.legend(frameon=False, fontsize=9)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return figure


def _stem(name: str, end: str) -> str:
    """What comes before the way to learn parameters.

    >>> _stem("TAN-CMI-CL", "-CL"), _stem("TAN-CMI-ML", "-CL")
    ('TAN-CMI', 'TAN-CMI')
    """
    return name.removesuffix(end).removesuffix("-ML")
