"""Columns of dates in a table, and the parts that take their place.

A column of dates in a table that was read is a `DateColumn`. Before anything is learned it is
replaced by its parts, which are numbers like any other: they are discretized, and a part without an
informative cut point has one interval and is not used.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from discbayes.data.dates import (
    DAYS,
    DROP,
    ERROR,
    EXPAND,
    HOUR,
    ORDERS,
    PARTS,
    YEAR_MONTH_DAY,
    DatePart,
    order_of_dates,
    parse_date,
    parse_dates,
    parts_by_column,
)
from discbayes.data.table import CategoricalColumn, DateColumn, NumericColumns, Part, Table

_FEW_TEXTS = 50  # more texts than these are dates rather than categories


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
        The table as it was read. Columns without names are taken in their order.
    known : sequence of DatePart or None
        The part that each column of the domain is; None for columns that are not parts of dates.
    names : sequence of str
        The names of the columns of the domain.
    """
    by_column = parts_by_column(known)
    if by_column and not table.named:
        pairs = zip(known, names, strict=True)
        columns = list(dict.fromkeys(name if one is None else one.column for one, name in pairs))
        if len(columns) == len(table.names):
            table = replace(table, names=columns)
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
