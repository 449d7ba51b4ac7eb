"""Charts of ``discbayes.charts`` on axes of matplotlib."""

from __future__ import annotations

from typing import Any

from discbayes._lazy_imports import need
from discbayes.charts.chart import Axis, Bars, Chart, Dots, Guide, Line, Mark
from discbayes.plot.style import (
    BLUE,
    COLORS,
    GRAY,
    MARKERS,
    ORANGE,
    legend_text,
    plain,
    right_axes,
    words,
)

MAX_NAME = 40  # characters of a name in the legend
_MAX_TITLE = 100


def draw_chart(chart: Chart, ax: Any, has_title: bool = False) -> Any:
    """Draw a chart on axes, with a legend of the marks that have names."""
    right = None if chart.right is None else right_axes(ax)
    for mark in chart.marks:
        on_right = isinstance(mark, Line) and mark.is_right
        _draw_mark(right if on_right else ax, mark)
    _scale(ax.xaxis, chart.x, ax.set_xlim, ax.set_xscale, ax.set_xticks)
    _scale(ax.yaxis, chart.y, ax.set_ylim, ax.set_yscale, ax.set_yticks)
    ax.set_xlabel(_label(chart.x))
    ax.set_ylabel(_label(chart.y))
    if has_title:
        ax.set_title(words(chart.subtitle or chart.title, _MAX_TITLE), fontsize=10)
    if any(map(_is_named, chart.marks)):
        ax.legend(frameon=False, fontsize=9, loc="best")
    if chart.right is None or right is None:
        return plain(ax)
    _scale(right.yaxis, chart.right, right.set_ylim, right.set_yscale, right.set_yticks)
    right.set_ylabel(_label(chart.right), color=ORANGE)
    ax.yaxis.label.set_color(BLUE)
    ax.spines["top"].set_visible(False)
    return ax


def _is_named(mark: Mark) -> bool:
    return not isinstance(mark, Guide) and bool(mark.name)


def _draw_mark(ax: Any, mark: Mark) -> None:
    label = {}
    if _is_named(mark):
        note = f" {mark.note}" if isinstance(mark, Line) and mark.note else ""
        label["label"] = legend_text(mark.name, MAX_NAME) + note
    match mark:
        case Guide():
            ends = zip(mark.start, mark.end, strict=True)
            ax.plot(*ends, color=GRAY, linewidth=0.8, linestyle=":")
        case Bars():
            alpha = 0.2 if mark.is_muted else 1.0
            ax.bar(mark.x, mark.heights, mark.width, color=BLUE, alpha=alpha, **label)
        case Dots():
            marker = "D" if mark.is_choice else MARKERS[(mark.series - 1) % len(MARKERS)]
            size = 7 if mark.is_choice else 4
            color = COLORS[(mark.series - 1) % len(COLORS)]
            ax.plot(mark.x, mark.y, marker, color=color, markersize=size, zorder=4, **label)
        case Line():
            ax.plot(mark.x, mark.y, **_line_style(mark), **label)


def _line_style(line: Line) -> dict[str, Any]:
    """Return color, dashes and marker of a line; lines at the right axis are dashed."""
    place = line.series - 1
    is_dashed = line.is_right or place >= len(COLORS)
    style: dict[str, Any] = {
        "color": COLORS[place % len(COLORS)],
        "linestyle": "--" if is_dashed else "-",
        "linewidth": 1.4,
        "drawstyle": "steps-pre" if line.has_steps else "default",
        "zorder": 3 if place == 0 else 2,  # the first line is on top
    }
    if line.has_dots:
        many = len(line.x) > 30
        style |= {"marker": MARKERS[place % len(MARKERS)], "markersize": 2.5 if many else 4}
    return style


def _label(axis: Axis) -> str:
    return f"{axis.label}, {axis.unit}" if axis.unit else axis.label


def _scale(scale: Any, axis: Axis, set_limits: Any, set_scale: Any, set_ticks: Any) -> None:
    if axis.is_log:
        set_scale("log")
    if axis.ticks is not None:
        set_ticks([place for place, _ in axis.ticks], [text for _, text in axis.ticks])
    if axis.limits is not None:
        low, high = axis.limits
        set_limits(low, high + 0.01 * (high - low))  # marks at the end are not cut off
    if axis.is_whole:
        scale.set_major_locator(need("matplotlib.ticker").MaxNLocator(integer=True))
