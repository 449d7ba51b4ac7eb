"""A chart as data: two axes, and marks in their coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

N_SERIES = 8  # that a reader can tell apart
Values: TypeAlias = Sequence[float] | np.ndarray


@dataclass(frozen=True)
class Axis:
    """A label, and what is fixed of the scale; a renderer chooses the rest by the data.

    Attributes
    ----------
    label : str
        What the axis shows.
    limits : tuple of float, optional
        The ends of the scale.
    unit : str
        Written after the numbers, or after the label.
    ticks : tuple of (float, str), optional
        Positions with their texts.
    is_whole : bool
        Ticks are at whole numbers only.
    is_log : bool
        The scale is logarithmic; renderers without such scales leave out what is drawn on it.
    """

    label: str
    limits: tuple[float, float] | None = None
    unit: str = ""
    ticks: tuple[tuple[float, str], ...] | None = None
    is_whole: bool = False
    is_log: bool = False

    @classmethod
    def fractions(cls, label: str) -> Axis:
        """Return an axis for numbers from 0 to 1, whose ticks are in per cent."""
        return cls(label, (0.0, 1.0), ticks=tuple((k / 5, f"{20 * k} %") for k in range(6)))


@dataclass(frozen=True)
class Line:
    """A line through points; ``has_steps``: first up or down to the next y, then across.

    ``series`` is its color, from 1 to ``N_SERIES``; lines of series 0 are muted. ``note`` is
    written after the name in a legend. ``is_right``: y belongs to the axis at the right.
    """

    x: Values
    y: Values
    series: int = 1
    name: str = ""
    note: str = ""
    has_steps: bool = False
    has_dots: bool = False
    is_right: bool = False


@dataclass(frozen=True)
class Dots:
    """A dot at each point, with a tooltip where the renderer has any.

    ``is_choice`` marks the point that was chosen among others.
    """

    x: Values
    y: Values
    series: int = 1
    name: str = ""
    titles: Sequence[str] = ()
    is_choice: bool = False


@dataclass(frozen=True)
class Bars:
    """Bars of one width around their x, from zero; ``is_muted`` ones stand behind other marks."""

    x: Values
    heights: Values
    width: float
    name: str = ""
    titles: Sequence[str] = ()
    is_muted: bool = False


@dataclass(frozen=True)
class Guide:
    """A thin line to compare with, from one point to another."""

    start: tuple[float, float]
    end: tuple[float, float]
    name: str = ""


Mark: TypeAlias = Line | Dots | Bars | Guide


@dataclass(frozen=True)
class Chart:
    """Axes and marks.

    Attributes
    ----------
    title : str
        The heading.
    x, y : Axis
        The axes.
    marks : tuple of marks
        Drawn in this order.
    summary : str
        The content in words, for readers who do not see the chart.
    subtitle : str
        What is drawn, with its size.
    right : Axis, optional
        A second axis for y, at the right.
    """

    title: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    summary: str = ""
    subtitle: str = ""
    right: Axis | None = None
