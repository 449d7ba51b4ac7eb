"""Dates as numbers: year, month, weekday, hour, and days since a fixed day.

The variables of a domain keep which part of which column of dates they are, so that later tables
have the dates themselves. ``discbayes.data.date_columns`` puts the parts in the place of columns.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes.data.labels import is_missing

EXPAND, DROP = "expand", "drop"
ERROR = "error"
DATES = (EXPAND, DROP, ERROR)
YEAR, MONTH = "year", "month"
WEEKDAY, HOUR = "weekday", "hour"
DAYS = "days"
PARTS = (YEAR, MONTH, WEEKDAY, HOUR, DAYS)
REFERENCE = np.datetime64("2000-01-01", "s")
_BEGIN = datetime.datetime(2000, 1, 1)
_TITLES = {DAYS: "days since 2000"}
_TIME = r"(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
# The orders in which texts have the numbers of a date. A time zone is not looked at: the hour is
# that of the clock on the wall.
YEAR_MONTH_DAY = "year-month-day"
DAY_MONTH_YEAR = "day.month.year"
MONTH_DAY_YEAR = "month/day/year"
ORDERS = (YEAR_MONTH_DAY, DAY_MONTH_YEAR, MONTH_DAY_YEAR)
_PATTERNS = {
    YEAR_MONTH_DAY: re.compile(rf"(\d{{4}})[-/](\d{{1,2}})[-/](\d{{1,2}}){_TIME}"),
    DAY_MONTH_YEAR: re.compile(rf"(\d{{1,2}})[./-](\d{{1,2}})[./-](\d{{4}}|\d{{2}}){_TIME}"),
    MONTH_DAY_YEAR: re.compile(rf"(\d{{1,2}})[/-](\d{{1,2}})[/-](\d{{4}}|\d{{2}}){_TIME}"),
}
_PLACES = {YEAR_MONTH_DAY: (0, 1, 2), DAY_MONTH_YEAR: (2, 1, 0), MONTH_DAY_YEAR: (2, 0, 1)}
_FIRST_YEAR = 69  # of two digits: 69 to 99 are years of the last century, as in POSIX


@dataclass(frozen=True)
class DatePart:
    """A number that is taken from the dates of a column.

    Parameters
    ----------
    column : str
        The column of the dates.
    part : str
        "year", "month" (1 to 12), "weekday" (1 to 7, from Monday on), "hour", or "days" since the
        first day of 2000.
    order : str, default=""
        The order of day, month and year in texts, if the dates were texts.
    """

    column: str
    part: str
    order: str = ""

    @property
    def name(self) -> str:
        """The name of the column of the numbers."""
        return f"{self.column} ({_TITLES.get(self.part, self.part)})"

    def values(self, seconds: np.ndarray) -> np.ndarray:
        """Return the numbers of dates; NaN where there is none.

        Parameters
        ----------
        seconds : ndarray of float
            The dates, as a `DateColumn` has them.

        Examples
        --------
        >>> import numpy as np
        >>> seconds = np.array([parse_date("2024-02-29 15:30", "year-month-day"), np.nan])
        >>> [DatePart("day", part).values(seconds)[0].item() for part in PARTS]
        [2024.0, 2.0, 4.0, 15.0, 8825.0]
        >>> DatePart("day", "month").values(seconds)[1].item()
        nan
        """
        missing = np.isnan(seconds)
        times = REFERENCE + np.where(missing, 0.0, np.floor(seconds)).astype("timedelta64[s]")
        days = times.astype("datetime64[D]")
        if self.part == YEAR:
            found = times.astype("datetime64[Y]").astype(np.int64) + 1970
        elif self.part == MONTH:
            found = times.astype("datetime64[M]").astype(np.int64) % 12 + 1
        elif self.part == WEEKDAY:
            found = (days.astype(np.int64) + 3) % 7 + 1  # the first day of 1970 was a Thursday
        elif self.part == HOUR:
            found = (times - days).astype(np.int64) // 3600
        else:
            found = (days - REFERENCE.astype("datetime64[D]")).astype(np.int64)
        return np.where(missing, np.nan, found.astype(np.float64))


# ---- texts


def parse_date(text: str, order: str) -> float | None:
    """Return the date that a text means, in seconds since 2000; None if it is not a date.

    >>> parse_date("2.1.00 0:01", "day.month.year")
    86460.0
    >>> parse_date("30.2.2024", "day.month.year") is None
    True
    """
    found = _PATTERNS[order].fullmatch(text.strip())
    if found is None:
        return None
    cells = found.groups()
    year, month, day = (int(cells[place]) for place in _PLACES[order])
    if len(cells[_PLACES[order][0]]) == 2:
        year += 1900 if year >= _FIRST_YEAR else 2000
    hour, minute, second = (int(cell or 0) for cell in cells[3:])
    try:
        time = datetime.datetime(year, month, day, hour, minute, second)
    except ValueError:
        return None
    return (time - _BEGIN).total_seconds()


def order_of_dates(texts: Sequence[str]) -> str | None:
    """Return the order of day, month and year in texts; None if not all of them are dates.

    Dates such as 3/4/2024 have an order if another text tells which number is the day.

    >>> order_of_dates(["3/4/2024", "3/14/2024"])
    'month/day/year'
    >>> order_of_dates(["3/4/2024"]) is None
    True
    """
    possible = [
        order
        for order in ORDERS
        if texts and all(parse_date(text, order) is not None for text in texts)
    ]
    return possible[0] if len(possible) == 1 else None


def parse_dates(texts: Sequence[str], order: str, column: str) -> np.ndarray:
    """Return the dates that texts mean, in seconds since 2000; other texts are refused."""
    found = np.empty(len(texts))
    for place, text in enumerate(texts):
        seconds = parse_date(text, order)
        if seconds is None:
            raise ValueError(
                f"column {column!r} holds dates ({order}), and now {text!r}, which is not one:"
                " correct it, or mark it as missing"
            )
        found[place] = seconds
    return found


# ---- cells


def parts_by_column(known: Sequence[DatePart | None]) -> dict[str, list[DatePart]]:
    """Return the parts of dates that a domain has, by the column of the date."""
    found: dict[str, list[DatePart]] = {}
    for part in known:
        if part is not None:
            found.setdefault(part.column, []).append(part)
    return found


def with_parts(row: Mapping[Any, Any], known: Sequence[DatePart | None]) -> dict[Any, Any]:
    """Return a row, a mapping of names to values, with the parts of its dates in their place.

    >>> parts = [DatePart("day", "month"), DatePart("day", "weekday")]
    >>> with_parts({"day": "2024-02-29", "size": 3}, parts)
    {'size': 3, 'day (month)': 2.0, 'day (weekday)': 4.0}
    """
    by_column = parts_by_column(known)
    found = {name: value for name, value in row.items() if str(name) not in by_column}
    for name, value in row.items():
        for part in by_column.get(str(name), []):
            number = float(part.values(seconds_of_cells([value], part))[0])
            found[part.name] = None if number != number else number
    return found


def seconds_of_cells(cells: Sequence[Any] | np.ndarray, part: DatePart) -> np.ndarray:
    """Return cells of a column of dates as the seconds of a `DateColumn`.

    >>> seconds_of_cells(["2000-01-02", None], DatePart("day", "month"))
    array([86400.,    nan])
    """
    found = np.full(len(cells), np.nan)
    texts = [place for place, cell in enumerate(cells) if isinstance(cell, str)]
    others = [place for place, cell in enumerate(cells) if not isinstance(cell, str)]
    order = part.order or YEAR_MONTH_DAY
    found[texts] = parse_dates([cells[place] for place in texts], order, part.column)
    found[others] = seconds_of_objects([cells[place] for place in others], part.column)
    return found


def seconds_since(times: np.ndarray) -> np.ndarray:
    """Return numpy's points in time as the seconds of a `DateColumn`.

    >>> import numpy as np
    >>> seconds_since(np.array(["2000-01-02", "NaT"], "datetime64[D]"))
    array([86400.,    nan])
    """
    seconds = (times.astype("datetime64[s]") - REFERENCE).astype(np.int64)
    return np.where(np.isnat(times), np.nan, seconds.astype(np.float64))


def seconds_of_objects(values: Sequence[Any], column: str) -> np.ndarray:
    """Return Python's dates as the seconds of a `DateColumn`; what is missing is NaN."""
    found = np.empty(len(values))
    for place, value in enumerate(values):
        if is_missing(value):
            found[place] = np.nan
        elif isinstance(value, np.datetime64):
            found[place] = seconds_since(np.array([value]))[0]
        elif isinstance(value, datetime.date):
            plain = datetime.datetime.fromisoformat(value.isoformat()[:19])
            found[place] = (plain - _BEGIN).total_seconds()
        else:
            raise ValueError(
                f"column {column!r} holds dates and other values, {value!r} for example: give it"
                " one type"
            )
    return found
