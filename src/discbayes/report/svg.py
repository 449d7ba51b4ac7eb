"""Charts as SVG: axes, lines, steps, dots and bars in the colours of the page around them.

A chart takes its ink from ``currentColor`` and that of its lines from the classes ``series-1`` …
``series-8``, so that it follows the page into the dark and onto paper. It has a view box and no
size: the page says how wide it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discbayes.report.markup import dashes
from discbayes.report.text import escaped, width_of

N_SERIES = 8
Numbers = Sequence[float] | np.ndarray
_WIDTH, _HEIGHT = 360.0, 250.0
_LETTER = 7.4  # mean width of a letter of the ticks
_TOP, _BOTTOM, _RIGHT, _GAP = 28.0, 46.0, 20.0, 8.0
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Axis:
    """What an axis is of, its ends, and where it has ticks."""

    label: str
    low: float
    high: float
    ticks: tuple[float, ...]
    texts: tuple[str, ...]

    @classmethod
    def over(cls, label: str, low: float, high: float, most: int = 5) -> Axis:
        """An axis with round ticks that holds the numbers from low to high.

        >>> Axis.over("seconds", 0.0, 0.73).texts
        ('0.0', '0.2', '0.4', '0.6', '0.8')
        """
        if not high - low > 1e-9 * max(abs(low), abs(high), 1e-99):
            around = abs(low) * 0.1 or 1.0
            low, high = low - around, high + around
        step = _step(high - low, most)
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        ticks = tuple(k * step for k in range(first, last + 1))
        return cls(label, ticks[0], ticks[-1], ticks, tuple(_texts(ticks, step)))

    @classmethod
    def counting(cls, label: str, last: int) -> Axis:
        """An axis from 0 to the number of the last step, with whole ticks.

        >>> Axis.counting("step", 3).ticks, Axis.counting("step", 96).ticks
        ((0, 1, 2, 3), (0, 20, 40, 60, 80))
        """
        step = max(1, round(_step(float(last), 5)))
        ticks = tuple(range(0, last + 1, step))
        return cls(label, 0.0, float(max(last, 1)), ticks, tuple(f"{tick:,}" for tick in ticks))

    @classmethod
    def shares(cls, label: str) -> Axis:
        """An axis from 0 to 100 per cent, for shares."""
        ticks = tuple(k / 5 for k in range(6))
        return cls(label, 0.0, 1.0, ticks, tuple(f"{100 * tick:.0f} %" for tick in ticks))

    def place(self, value: float) -> float:
        """Where a value stands, from 0 to 1."""
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)


def _step(span: float, most: int) -> float:
    """The smallest round step that divides a span into so many parts at most."""
    rough = span / most
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


class Chart:
    """One chart: give it axes, then lines, dots and bars; ``svg`` is the whole.

    Parameters
    ----------
    label : str
        What the picture shows, for those who do not see it.
    x, y : Axis
        The axes.
    """

    def __init__(self, label: str, x: Axis, y: Axis):
        self.label, self.x, self.y = label, x, y
        self.left = max(width_of(text) for text in y.texts) * _LETTER + _GAP + 2
        self._parts: list[str] = []

    def line(
        self, xs: Numbers, ys: Numbers, series: int = 1, name: str = "", steps: bool = False
    ) -> None:
        """A line through points; with ``steps`` it goes up or down to the next y first, and then
        across.
        """
        places = [(self._across(x), self._down(y)) for x, y in zip(xs, ys, strict=True)]
        (x, y), *rest = places
        path = [f"M{_short(x)} {_short(y)}"]
        path += [
            f"V{_short(y)}H{_short(x)}" if steps else f"L{_short(x)} {_short(y)}" for x, y in rest
        ]
        drawn = (
            f'<path d="{"".join(path)}" fill="none" stroke="currentColor" stroke-width="1.8"'
            ' stroke-linejoin="round"'
        )
        self._add(series, f"{drawn}{dashes(series)}>{_title(name)}</path>")

    def dots(
        self,
        xs: Numbers,
        ys: Numbers,
        series: int = 1,
        titles: Sequence[str] = (),
        sizes: Sequence[float] = (),
    ) -> None:
        """A dot at each point, of its own size where sizes are given, with a tooltip."""
        drawn = []
        for k, (x, y) in enumerate(zip(xs, ys, strict=True)):
            radius, title = sizes[k] if sizes else 3.0, _title(titles[k]) if titles else ""
            place = f'cx="{_short(self._across(x))}" cy="{_short(self._down(y))}"'
            drawn.append(
                f'<circle {place} r="{_short(radius)}" fill="currentColor"'
                f' fill-opacity="0.85">{title}</circle>'
            )
        self._add(series, "".join(drawn))

    def bars(self, heights: Numbers, series: int = 1, titles: Sequence[str] = ()) -> None:
        """A bar for each of the numbers 1, 2, … on the x axis, from zero."""
        wide = (self._across(self.x.high) - self._across(self.x.low)) / (self.x.high - self.x.low)
        zero, drawn = self._down(0.0), []
        for k, height in enumerate(heights):
            top, title = self._down(height), _title(titles[k]) if titles else ""
            place = f'x="{_short(self._across(k + 0.55))}" y="{_short(min(top, zero))}"'
            size = f'width="{_short(max(0.9 * wide, 0.5))}" height="{_short(abs(zero - top))}"'
            drawn.append(
                f'<rect {place} {size} fill="currentColor" fill-opacity="0.8">{title}</rect>'
            )
        self._add(series, "".join(drawn))

    def guide(self, x0: float, y0: float, x1: float, y1: float, name: str = "") -> None:
        """A thin line to compare with."""
        ends = (
            f"M{_short(self._across(x0))} {_short(self._down(y0))}L{_short(self._across(x1))}"
            f" {_short(self._down(y1))}"
        )
        self._parts.append(
            f'<path class="guide" d="{ends}" fill="none" stroke="currentColor"'
            f' stroke-opacity="0.55" stroke-dasharray="2 4">{_title(name)}</path>'
        )

    def svg(self) -> str:
        """The chart as an element."""
        return (
            f'<svg viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="img"'
            f' aria-label="{escaped(self.label)}" '
            'font-size="12">'
            f"{self._grid()}{''.join(self._parts)}</svg>"
        )

    def _add(self, series: int, drawn: str) -> None:
        self._parts.append(f'<g class="series-{series}">{drawn}</g>')

    def _across(self, x: float) -> float:
        return self.left + self.x.place(x) * (_WIDTH - _RIGHT - self.left)

    def _down(self, y: float) -> float:
        return _HEIGHT - _BOTTOM - self.y.place(y) * (_HEIGHT - _BOTTOM - _TOP)

    def _grid(self) -> str:
        """Lines at the ticks of y, the lower border, and all text."""
        right, floor = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
        rows = "".join(
            f"M{_short(self.left)} {_short(self._down(y))}H{_short(right)}" for y in self.y.ticks
        )
        marks = "".join(f"M{_short(self._across(x))} {_short(floor)}v4" for x in self.x.ticks)
        base = f"M{_short(self.left)} {_short(floor)}H{_short(right)}"
        return (
            f'<path class="grid" d="{rows}" fill="none" stroke="currentColor"'
            f' stroke-opacity="0.18"/><path d="{base}{marks}" fill="none" stroke="currentColor"'
            ' stroke-opacity="0.6"/><g class="ticks"'
            f' fill="currentColor">{self._x_texts(floor)}{self._y_texts()}</g>'
        )

    def _x_texts(self, floor: float) -> str:
        middle = (self.left + _WIDTH - _RIGHT) / 2
        ticks = [
            _text(self._across(x), floor + 18, text, "middle")
            for x, text in zip(self.x.ticks, self.x.texts, strict=True)
        ]
        return "".join([*ticks, _text(middle, _HEIGHT - 8, self.x.label, "middle")])

    def _y_texts(self) -> str:
        ticks = [
            _text(self.left - _GAP, self._down(y) + 4, text, "end")
            for y, text in zip(self.y.ticks, self.y.texts, strict=True)
        ]
        return "".join([*ticks, _text(2, 13, self.y.label, "start")])


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{_short(x)}" y="{_short(y)}" text-anchor="{anchor}">{escaped(text)}</text>'


def _title(text: str) -> str:
    return f"<title>{escaped(text)}</title>" if text else ""


def _short(value: float) -> str:
    """A coordinate, to the tenth."""
    return f"{value:.1f}".removesuffix(".0")
