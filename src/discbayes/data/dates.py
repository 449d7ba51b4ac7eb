"""Dates as columns of numbers: year, month, weekday, hour, and days since a fixed day.

A column of dates in a table that was read is a `DateColumn`. Before anything is learned it is
replaced by its parts, which are numbers like any other: they are discretized, and a part without an
informative cut point has one interval and is not used. The variables of a domain keep which part
of which column they are, so that later tables have the dates themselves.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discbayes.data.table import (
    CategoricalColumn,
    DateColumn,
    NumericColumns,
    Part,
    Table,
    is_missing,
)

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
_FEW_TEXTS = 50  # more texts than these are dates rather than categories


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


# ---- tables


def expand_dates(
    table: Table,
    dates: str = EXPAND,
    kept: Collection[str] = (),
    hours: Collection[str] | None = None,
    days: bool = True,
) -> Table:
    """Return a table in which dates are replaced by their parts.

    Texts are dates if all of them are, and there are so many that they are not categories.

    Parameters
    ----------
    table : Table
        The table as it was read.
    dates : {"expand", "drop", "error"}
        "drop" leaves a column that is not used; "error" refuses dates, and leaves texts as they
        are.
    kept : collection of str
        Columns whose texts are categories.
    hours : collection of str, optional
        Where these are some of many rows: the columns whose dates have hours. Texts stay texts.
    days : bool, default=True
        Whether the days since 2000 are a part.
    """
    if table.dates is not None:
        return table
    parts = list(table.parts)
    orders: dict[int, str] = {}
    for place, part in enumerate(parts):
        if dates != ERROR and hours is None and isinstance(part, CategoricalColumn):
            order = None if table.names[part.position] in kept else _order_of_column(part)
            if order is not None:
                orders[part.position] = order
                parts[place] = _as_dates(part, order, table.names[part.position])
    wanted: dict[int, list[DatePart]] = {}
    for part in parts:
        if isinstance(part, DateColumn):
            name = table.names[part.position]
            if dates == ERROR:
                raise ValueError(
                    f'column {name!r} holds dates, and dates="error": dates="expand" learns from'
                    ' the year, month, weekday and days, dates="drop" leaves them out'
                )
            has_hours = part.has_hours if hours is None else name in hours
            left_out = {*([] if has_hours else [HOUR]), *([] if days else [DAYS])}
            chosen = [each for each in PARTS if each not in left_out]
            chosen = [DAYS] if dates == DROP else chosen
            wanted[part.position] = [
                DatePart(name, each, orders.get(part.position, "")) for each in chosen
            ]
    return _expanded(replace(table, parts=parts), wanted, blank=dates == DROP)


def expand_known(table: Table, known: Sequence[DatePart | None], names: Sequence[str]) -> Table:
    """Return a table in which dates are replaced by the parts that a domain has.

    Parameters
    ----------
    table : Table
        The table as it was read.
    known : sequence of DatePart or None
        The part that each column of the domain is; None for columns that are not parts of dates.
    names : sequence of str
        The names of the columns of the domain.
    """
    by_column: dict[str, list[DatePart]] = {}
    for one in known:
        if one is not None:
            by_column.setdefault(one.column, []).append(one)
    parts = list(table.parts)
    wanted: dict[int, list[DatePart]] = {}
    for place, part in enumerate(parts):
        for at in part.positions.tolist():
            name = table.names[at]
            if name not in by_column or name in names:
                continue
            wanted[at] = by_column[name]
            if isinstance(part, CategoricalColumn):
                order = by_column[name][0].order or YEAR_MONTH_DAY
                parts[place] = _as_dates(part, order, name)
            elif not isinstance(part, DateColumn):
                _refuse_numbers(part, at, name)
    odd = [part for part in parts if isinstance(part, DateColumn) and part.position not in wanted]
    if not wanted and not odd:
        return table
    if odd:
        raise ValueError(
            f"column {table.names[odd[0].position]!r} holds dates, and held none at fit: give it"
            " the type that it had"
        )
    return _expanded(replace(table, parts=parts), wanted)


def _refuse_numbers(part: NumericColumns, at: int, name: str) -> None:
    """Refuse numbers in place of dates; a column without values has no type of its own."""
    column = part.data[:, np.flatnonzero(part.positions == at)[0]]
    if part.whole or not np.isnan(column).all():
        raise ValueError(f"column {name!r} held dates at fit and now holds numbers: pass dates")


def _order_of_column(part: CategoricalColumn) -> str | None:
    """Return the order of the dates of a column of texts; None if they are categories."""
    levels = part.levels
    if not part.text or len(levels) < 2 or not _may_be_dates(levels[:3]):
        return None
    n_present = int(np.count_nonzero(part.places >= 0))
    few = len(levels) <= _FEW_TEXTS and 2 * len(levels) <= n_present
    return None if few else order_of_dates(levels)


def _may_be_dates(texts: Sequence[str]) -> bool:
    """Return whether all texts are dates of some order."""
    return any(all(parse_date(text, order) is not None for text in texts) for order in ORDERS)


def _as_dates(part: CategoricalColumn, order: str, name: str) -> DateColumn:
    seconds = np.append(parse_dates(part.levels, order, name), np.nan)
    return DateColumn(seconds[part.places][:, None], np.array([part.position]))


def _expanded(table: Table, wanted: dict[int, list[DatePart]], blank: bool = False) -> Table:
    """Return a table in which some columns are replaced by parts of dates."""
    if not wanted:
        return replace(table, dates={})
    sizes = [len(wanted[at]) if at in wanted else 1 for at in range(len(table.names))]
    first = np.concatenate([[0], np.cumsum(sizes)])
    names: list[str] = []
    dates: dict[int, DatePart] = {}
    for at, name in enumerate(table.names):
        for offset, one in enumerate(wanted.get(at, [])):
            dates[int(first[at]) + offset] = one
        names += [one.name for one in wanted[at]] if at in wanted else [name]
    _refuse_taken(names)
    parts: list[Part] = []
    for part in table.parts:
        if isinstance(part, DateColumn):
            parts += _numbers_of(part, wanted[part.position], int(first[part.position]), blank)
        elif isinstance(part, CategoricalColumn):
            parts.append(replace(part, position=int(first[part.position])))
        else:
            parts += _moved(part, wanted, first)
    unnamed = None if table.unnamed is None else np.repeat(table.unnamed, sizes, axis=0)
    return replace(table, names=names, parts=parts, unnamed=unnamed, dates=dates)


def _numbers_of(
    part: DateColumn, wanted: list[DatePart], first: int, blank: bool
) -> list[NumericColumns]:
    """Return the parts of a column of dates as columns of numbers."""
    found = []
    for offset, one in enumerate(wanted):
        values = np.zeros(len(part.data)) if blank else one.values(part.data[:, 0])
        found.append(NumericColumns(values[:, None], np.array([first + offset])))
    return found


def _moved(
    part: NumericColumns, wanted: dict[int, list[DatePart]], first: np.ndarray
) -> list[NumericColumns]:
    """Return columns of numbers at their new positions; those in place of dates have no value."""
    own = np.array([at not in wanted for at in part.positions.tolist()], dtype=bool)
    if own.all():
        return [replace(part, positions=first[part.positions])]
    found = [
        NumericColumns(
            np.full((part.data.shape[0], 1), np.nan), np.array([int(first[at]) + offset])
        )
        for at in part.positions[~own].tolist()
        for offset in range(len(wanted[at]))
    ]
    if own.any():
        found.append(replace(part, data=part.data[:, own], positions=first[part.positions[own]]))
    return found


def _refuse_taken(names: list[str]) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(
            f"X has a column {twice!r}, which is what a part of dates is called: rename it"
        )


def with_parts(row: Any, known: Sequence[DatePart | None]) -> dict[Any, Any]:
    """Return a row, a mapping of names to values, with the parts of its dates in their place.

    >>> parts = [DatePart("day", "month"), DatePart("day", "weekday")]
    >>> with_parts({"day": "2024-02-29", "size": 3}, parts)
    {'size': 3, 'day (month)': 2.0, 'day (weekday)': 4.0}
    """
    by_column: dict[str, list[DatePart]] = {}
    for part in known:
        if part is not None:
            by_column.setdefault(part.column, []).append(part)
    found = {name: value for name, value in row.items() if str(name) not in by_column}
    for name, value in row.items():
        for part in by_column.get(str(name), []):
            number = float(part.values(_seconds_of(value, part))[0])
            found[part.name] = None if number != number else number
    return found


def _seconds_of(value: Any, part: DatePart) -> np.ndarray:
    """Return one cell of a column of dates as the seconds of a `DateColumn`."""
    if isinstance(value, str):
        return parse_dates([value], part.order or YEAR_MONTH_DAY, part.column)
    return seconds_of_objects([value], part.column)


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
