"""Style that all plots share: colors, fonts, and the axes that they are drawn on.

The colors can be distinguished with every kind of color blindness; wherever there are several,
lines, markers or signs differ as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from discbayes._lazy_imports import need
from discbayes._text import LONGEST, printable, shortened, width_of

COLORS = ("#2f55b4", "#d28700", "#28805a", "#a3508f", "#4aa3ee", "#7d1d0d", "#2a2f3a")
MARKERS = "os^Dv<>P"
BLUE, ORANGE, GREEN = COLORS[:3]
GRAY = "#888888"
PALE = "#d9dee6"
BLACK = "#1c2733"
SHADES = ("#f2f5fb", "#9db4e0")  # from little to much, both light enough for dark text


def new_axes(ax: Any, size: tuple[float, float]) -> Any:
    """Return the given axes, or those of a new figure of this size in inches."""
    if ax is not None:
        return ax
    return need("matplotlib.pyplot").subplots(figsize=size, layout="constrained")[1]


def bare_axes(ax: Any, size: tuple[float, float]) -> Any:
    """Return axes without scales; new ones fill a figure of this size in inches."""
    if ax is None:
        ax = need("matplotlib.pyplot").figure(figsize=size).add_axes((0, 0, 1, 1))
    ax.axis("off")
    return ax


def framed_axes(
    size: tuple[float, float], left: float, bottom: float, top: float, right: float = 0.15
) -> Any:
    """Return new axes of this size with these margins, all in inches."""
    width, height = left + size[0] + right, bottom + size[1] + top
    figure = need("matplotlib.pyplot").figure(figsize=(width, height))
    return figure.add_axes((left / width, bottom / height, size[0] / width, size[1] / height))


def size_in_inches(ax: Any) -> tuple[float, float]:
    """Return the current size of axes."""
    extent, dpi = ax.get_window_extent(), ax.figure.dpi
    return extent.width / dpi, extent.height / dpi


def panels(ax: Any, heights: Sequence[float], space: float = 0.12) -> list[Any]:
    """Divide axes into panels one below the other, of these relative heights."""
    ax.axis("off")
    unit = (1 - space * (len(heights) - 1)) / sum(heights)
    found, top = [], 1.0
    for height in heights:
        found.append(ax.inset_axes((0.0, top - height * unit, 1.0, height * unit)))
        top -= height * unit + space
    return found


def right_axes(ax: Any) -> Any:
    """Return axes over these with the same x scale and another y scale, at the right."""
    other = ax.inset_axes((0.0, 0.0, 1.0, 1.0), sharex=ax)
    other.patch.set_visible(False)
    other.xaxis.set_visible(False)
    other.yaxis.tick_right()
    other.yaxis.set_label_position("right")
    for side in ("top", "left", "bottom"):
        other.spines[side].set_visible(False)
    ax.spines["right"].set_visible(False)
    return other


def plain(ax: Any, *more: str) -> Any:
    """Remove the frame of axes at the top, at the right and at further sides."""
    for side in ("top", "right", *more):
        ax.spines[side].set_visible(False)
    return ax


def words(text: Any, max_length: int = LONGEST) -> str:
    """Return a name or value as matplotlib text: shortened, and never parsed as a formula.

    >>> print(words("price in $ or €"))
    price in \\$ or €
    """
    return shortened(printable(str(text)), max_length).replace("$", r"\$")


def legend_text(text: Any, max_length: int = LONGEST) -> str:
    """Return a name as legend entry; matplotlib omits empty ones and those that begin with "_".

    >>> legend_text("_other"), legend_text("")
    (' _other', ' ')
    """
    shown = words(text, max_length)
    return shown if shown and not shown.startswith("_") else f" {shown}"


def mixed(share: float) -> tuple[float, ...]:
    """Return a color between the two shades."""
    low, high = map(need("matplotlib.colors").to_rgb, SHADES)
    return tuple(a + (b - a) * share for a, b in zip(low, high, strict=True))


def width_in_inches(text: str, points: float) -> float:
    """Return the width of a text in a font of this size."""
    properties = need("matplotlib.font_manager").FontProperties(size=points)
    measure = need("matplotlib.textpath").text_to_path.get_text_width_height_descent
    return float(measure(text.replace(r"\$", "$"), properties, False)[0]) / 72


def max_width(texts: Iterable[str], points: float) -> float:
    """Return the width of the widest text in inches; of many, only the longest are measured."""
    longest = sorted(texts, key=width_of, reverse=True)[:30]
    return max((width_in_inches(text, points) for text in longest), default=0.0)
