"""Charts as SVG, in the colors of the page around them.

A chart takes the color of its text from ``currentColor`` and that of its lines from the classes
``series-1`` … ``series-8``, so that it follows the page into dark mode and onto paper. It has a
view box and no size: the page sets its width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discbayes._text import shortened, width_of
from discbayes.charts.chart import N_SERIES, Axis, Bars, Chart, Dots, Guide, Line, Mark, Values
from discbayes.report.markup import escaped, name_html

MAX_POINTS = 200  # of a line
_WIDTH, _HEIGHT = 360.0, 250.0
_CHARACTER = 7.4  # mean width of a character of the ticks
_TOP, _BOTTOM = 28.0, 46.0
_RIGHT, _SPACE = 20.0, 8.0
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_MIN_RANGE = 1e-290  # smaller numbers have too few digits for ticks
_LEGEND_NAME, _TOOLTIP_NAME = 28, 40  # characters
# Series differ by their dashes too, for readers and printers that do not distinguish colors.
_DASHES = ("", "7 3", "2 3", "8 3 2 3", "4 2", "10 2 2 2 2 2", "1 2", "12 4")


def chart_html(chart: Chart, caption: str = "") -> str:
    """Return a chart below its title, with a legend of its named lines and a caption.

    Parameters
    ----------
    chart : Chart
        Marks on its right axis, and lines beyond ``N_SERIES``, are left out.
    caption : str
        Plain text.
    """
    named = [
        mark for mark in chart.marks if isinstance(mark, Line) and mark.name and _is_drawn(mark)
    ]
    keys = "".join(
        f'<li class="series-{line.series}">{_key(line.series)}<span>'
        f"{name_html(line.name, _LEGEND_NAME)}{f' {line.note}' if line.note else ''}</span></li>"
        for line in named
    )
    legend = f'<ul class="legend">{keys}</ul>' if keys else ""
    note = f"<p>{escaped(caption)}</p>" if caption else ""
    return (
        f'<figure class="chart"><h3>{escaped(chart.title)}</h3>{_Canvas(chart).svg()}'
        f"<figcaption>{legend}{note}</figcaption></figure>"
    )


def _key(series: int) -> str:
    return (
        '<svg class="key" viewBox="0 0 24 8" width="24" height="8" aria-hidden="true"><path d="M0'
        f' 4H24" fill="none" stroke="currentColor" stroke-width="2.5"{_dashes(series)}/></svg>'
    )


def _dashes(series: int) -> str:
    pattern = _DASHES[(series - 1) % len(_DASHES)]
    return f' stroke-dasharray="{pattern}"' if pattern else ""


# ---- scales


@dataclass(frozen=True)
class Scale:
    """The ends of an axis, and its ticks with their texts."""

    low: float
    high: float
    ticks: tuple[float, ...]
    texts: tuple[str, ...]

    @classmethod
    def of(cls, axis: Axis, values: Values) -> Scale:
        """Return the scale of an axis that holds these values."""
        low, high = axis.limits or (float(np.min(values)), float(np.max(values)))
        if axis.ticks is not None:
            ticks = tuple(place for place, _ in axis.ticks)
            return cls(low, high, ticks, tuple(text for _, text in axis.ticks))
        scale = cls.whole(low, high) if axis.is_whole else cls.over(low, high)
        unit = f" {axis.unit}" if axis.unit else ""
        return cls(scale.low, scale.high, scale.ticks, tuple(text + unit for text in scale.texts))

    @classmethod
    def over(cls, low: float, high: float, max_ticks: int = 5) -> Scale:
        """Return a scale with round ticks that holds the numbers from low to high.

        >>> Scale.over(0.0, 0.73).texts
        ('0.0', '0.2', '0.4', '0.6', '0.8')
        """
        largest = max(abs(low), abs(high))
        if not high - low > max(1e-9 * largest, _MIN_RANGE):
            # all numbers are equal, or nearly: a range around them
            around = 0.1 * largest if largest > _MIN_RANGE else 1.0
            low, high = low - around, high + around
        step = _round_step(high - low, max_ticks)
        # the tolerance keeps a number that is a tick, but for rounding, on it
        first = math.floor(low / step + 1e-9)
        last = math.ceil(high / step - 1e-9)
        ticks = tuple(k * step for k in range(first, last + 1))
        return cls(ticks[0], ticks[-1], ticks, tuple(_texts(ticks, step)))

    @classmethod
    def whole(cls, low: float, high: float) -> Scale:
        """Return a scale with ticks at whole numbers, which are counts from 0 or 1 on.

        >>> Scale.whole(0, 3).ticks, Scale.whole(0, 96).ticks, Scale.whole(0.5, 4.5).ticks
        ((0, 1, 2, 3), (0, 20, 40, 60, 80), (1, 2, 3, 4))
        """
        high = max(high, 1.0)
        low = min(low, high - 1)
        step = max(1, round(_round_step(high, 5)))
        ticks = tuple(tick for tick in range(0, math.floor(high) + 1, step) if tick >= low)
        return cls(low, high, ticks, tuple(f"{tick:,}" for tick in ticks))

    def position(self, value: float) -> float:
        """Return the position of a value, from 0 to 1."""
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)


def _round_step(span: float, max_steps: int) -> float:
    """Return the smallest round step that divides a span into at most ``max_steps`` parts."""
    rough = span / max_steps
    unit = 10.0 ** math.floor(math.log10(rough))
    return next(step * unit for step in _STEPS if step * unit >= rough * (1 - 1e-9))


def _texts(ticks: Sequence[float], step: float) -> list[str]:
    largest = max(abs(ticks[0]), abs(ticks[-1]))
    if largest >= 1e6 or largest < 1e-3:
        digits = 1 + max(0, math.ceil(math.log10(largest / step)))
        return [f"{tick:.{digits}g}".replace("-", "−") for tick in ticks]
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    digits += round(step * 10**digits, 6) % 1 != 0  # steps of 2.5
    return [f"{tick:,.{digits}f}".replace("-", "−") for tick in ticks]


# ---- marks


def _is_drawn(mark: Mark) -> bool:
    if isinstance(mark, Line):
        return not mark.is_right and mark.series <= N_SERIES
    return True


class _Canvas:
    """The scales of a chart, and its marks in coordinates of the view box."""

    def __init__(self, chart: Chart):
        self.chart = chart
        self.marks = [_finite(mark) for mark in chart.marks if _is_drawn(mark)]
        xs, ys = (np.concatenate(values) for values in zip(*map(_extent, self.marks), strict=True))
        self.x = Scale.of(chart.x, xs)
        self.y = Scale.of(chart.y, ys)
        self.left = max(width_of(text) for text in self.y.texts) * _CHARACTER + _SPACE + 2

    def svg(self) -> str:
        """Return the whole chart."""
        return (
            f'<svg viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="img"'
            f' aria-label="{escaped(self.chart.summary or self.chart.title)}" font-size="12">'
            f"{self._axes()}{''.join(self._drawn(mark) for mark in self.marks)}</svg>"
        )

    def _across(self, x: float) -> float:
        return self.left + self.x.position(x) * (_WIDTH - _RIGHT - self.left)

    def _down(self, y: float) -> float:
        return _HEIGHT - _BOTTOM - self.y.position(y) * (_HEIGHT - _BOTTOM - _TOP)

    def _drawn(self, mark: Mark) -> str:
        match mark:
            case Guide():
                (x0, y0), (x1, y1) = mark.start, mark.end
                return (
                    f'<path class="guide" d="M{self._point(x0, y0)}L{self._point(x1, y1)}"'
                    ' fill="none" stroke="currentColor" stroke-opacity="0.55"'
                    f' stroke-dasharray="2 4">{_title(mark.name)}</path>'
                )
            case Bars():
                return _group(1, self._bars(mark))
            case Line():
                return _group(mark.series, self._line(mark))
            case Dots():
                return _group(mark.series, self._dots(mark))

    def _line(self, line: Line) -> str:
        xs = np.array([self._across(x) for x in line.x])
        ys = np.array([self._down(y) for y in line.y])
        if not xs.size:
            return ""
        (x, y), *others = zip(*thinned(xs, ys), strict=True)
        path = f"M{_short(x)} {_short(y)}" + "".join(
            f"V{_short(y)}H{_short(x)}" if line.has_steps else f"L{_short(x)} {_short(y)}"
            for x, y in others
        )
        note = f": {line.note}" if line.note else ""
        return (
            f'<path d="{path}" fill="none" stroke="currentColor" stroke-width="1.8"'
            f' stroke-linejoin="round"{_dashes(line.series)}>'
            f"{_title(shortened(line.name, _TOOLTIP_NAME) + note)}</path>"
        )

    def _dots(self, dots: Dots) -> str:
        drawn = []
        for k, (x, y) in enumerate(zip(dots.x, dots.y, strict=True)):
            title = _title(dots.titles[k]) if dots.titles else ""
            center = f'cx="{_short(self._across(x))}" cy="{_short(self._down(y))}"'
            drawn.append(
                f'<circle {center} r="3" fill="currentColor" fill-opacity="0.85">{title}</circle>'
            )
        return "".join(drawn)

    def _bars(self, bars: Bars) -> str:
        zero = self._down(0.0)
        opacity = 0.2 if bars.is_muted else 0.8
        drawn = []
        for k, (x, height) in enumerate(zip(bars.x, bars.heights, strict=True)):
            title = _title(bars.titles[k]) if bars.titles else ""
            left, right = self._across(x - bars.width / 2), self._across(x + bars.width / 2)
            top = self._down(height)
            drawn.append(
                f'<rect x="{_short(left)}" y="{_short(min(top, zero))}"'
                f' width="{_short(max(right - left, 0.5))}" height="{_short(abs(zero - top))}"'
                f' fill="currentColor" fill-opacity="{opacity}">{title}</rect>'
            )
        return "".join(drawn)

    def _point(self, x: float, y: float) -> str:
        return f"{_short(self._across(x))} {_short(self._down(y))}"

    def _axes(self) -> str:
        """Draw lines at the ticks of y, the lower border, and all text."""
        right, floor = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
        span = f"M{_short(self.left)} {{}}H{_short(right)}"
        rows = "".join(span.format(_short(self._down(y))) for y in self.y.ticks)
        marks = "".join(f"M{_short(self._across(x))} {_short(floor)}v4" for x in self.x.ticks)
        middle = (self.left + right) / 2
        texts = []
        for x, text in zip(self.x.ticks, self.x.texts, strict=True):
            texts.append(_text(self._across(x), floor + 18, text, "middle"))
        texts.append(_text(middle, _HEIGHT - 8, self.chart.x.label, "middle"))
        for y, text in zip(self.y.ticks, self.y.texts, strict=True):
            texts.append(_text(self.left - _SPACE, self._down(y) + 4, text, "end"))
        texts.append(_text(2, 13, self.chart.y.label, "start"))
        return (
            f'<path class="grid" d="{rows}" fill="none" stroke="currentColor"'
            f' stroke-opacity="0.18"/><path d="{span.format(_short(floor))}{marks}" fill="none"'
            ' stroke="currentColor" stroke-opacity="0.6"/>'
            f'<g class="ticks" fill="currentColor">{"".join(texts)}</g>'
        )


def _finite(mark: Mark) -> Mark:
    """Return a mark without the points of a line that are not finite."""
    if not isinstance(mark, Line):
        return mark
    kept = np.isfinite(mark.x) & np.isfinite(mark.y)
    x, y = np.asarray(mark.x)[kept], np.asarray(mark.y)[kept]
    return Line(x, y, mark.series, mark.name, mark.note, mark.has_steps)


def _extent(mark: Mark) -> tuple[Values, Values]:
    """Return the x and the y that a scale has to hold."""
    match mark:
        case Guide():
            return (mark.start[0], mark.end[0]), (mark.start[1], mark.end[1])
        case Bars():
            half = mark.width / 2 + 0.1 * mark.width
            return (np.min(mark.x) - half, np.max(mark.x) + half), np.append(mark.heights, 0.0)
        case _:
            return np.asarray(mark.x), np.asarray(mark.y)


def thinned(
    x: np.ndarray, y: np.ndarray, max_points: int = MAX_POINTS
) -> tuple[np.ndarray, np.ndarray]:
    """Return at most ``max_points`` points of a line, evenly along it; both ends are kept.

    >>> thinned(np.arange(5.0), np.zeros(5), 3)[0]
    array([0., 2., 4.])
    """
    if x.size <= max_points:
        return x, y
    # where a line is steep it needs more points than where it is flat
    length = np.cumsum(np.abs(np.diff(x, prepend=x[0])) + np.abs(np.diff(y, prepend=y[0])))
    kept = np.unique(np.searchsorted(length, np.linspace(0.0, length[-1], max_points)))
    kept[-1] = x.size - 1
    return x[kept], y[kept]


def _group(series: int, drawn: str) -> str:
    return f'<g class="series-{series}">{drawn}</g>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{_short(x)}" y="{_short(y)}" text-anchor="{anchor}">{escaped(text)}</text>'


def _title(text: str) -> str:
    return f"<title>{escaped(text)}</title>" if text else ""


def _short(value: float) -> str:
    """Return a coordinate with one decimal."""
    return f"{value:.1f}".removesuffix(".0")
