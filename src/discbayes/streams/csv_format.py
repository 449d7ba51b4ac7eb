"""How CSV text is read: encoding, delimiter, numbers as people write them, missing values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from discbayes._lazy_imports import need
from discbayes.data.dates import parse_date

MISSING_VALUES = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")
# signs that stand before or behind a number; a number with one is a number with another scale only
UNITS = ("€", "$", "£", "¥", "₹", "%", "‰", "EUR", "USD", "GBP", "CHF", "kr", "zł", "Kč", "R$")
SPACES = " '’\u00a0\u202f"  # between groups of three digits, beside points and commas
UNIT = "(?:" + "|".join(unit.replace("$", r"\$") for unit in UNITS) + ")"
_SPACE = r"[\s\x{00a0}\x{202f}]*"
_SECONDS_TO_2000 = 946_684_800  # from 1970
_MINUS = "\u2212"  # of typographers, which no parser knows
_EDGES = rf"^{_SPACE}|{_SPACE}$"
_LEADING_UNIT = rf"^([+-]?){_SPACE}{UNIT}{_SPACE}"
_TRAILING_UNIT = rf"{_SPACE}{UNIT}$"


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a column are written, where the default would read them as text.

    Parameters
    ----------
    decimal : str, default="."
        The character before decimals.
    thousands : str, default=""
        The characters between groups of three digits, any of them; empty if there are none.
    unit : str, default=""
        The sign beside the numbers, such as € or %, which is left out; empty if there is none.
    marks : sequence of str
        Texts that stand for a missing value in this column.
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class DateFormat:
    """How the dates of a column are written.

    Parameters
    ----------
    order : str
        The order of day, month and year, as in `discbayes.data.dates`.
    marks : sequence of str
        Texts that stand for a missing value in this column.
    """

    order: str
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class CsvFormat:
    """How to parse a CSV file.

    Parameters
    ----------
    delimiter : str, optional
        The character between cells; by default a tab in .tsv files, and a comma in others.
    missing_values : sequence of str
        The texts that stand for a missing value.
    types : dict of str to str
        The arrow types of columns by name; the types of other columns are inferred.
    decimal : str, default="."
        The character before decimals.
    encoding : str, optional
        The encoding of the text; UTF-8 by default, with or without a byte order mark.
    numbers : mapping of str to NumberFormat
        The columns whose numbers are written in a way of their own, by name.
    dates : mapping of str to DateFormat
        The columns whose texts are dates, by name.
    dropped : sequence of str
        The columns that were left out at fit, so that no later warning names them.
    skips_ragged : bool, default=False
        Whether rows with too many or too few cells are left out, not an error.
    """

    delimiter: str | None = None
    missing_values: Sequence[str] = MISSING_VALUES
    types: dict[str, str] = field(default_factory=dict)
    decimal: str = "."
    encoding: str | None = None
    numbers: Mapping[str, NumberFormat] = field(default_factory=dict)
    dates: Mapping[str, DateFormat] = field(default_factory=dict)
    dropped: Sequence[str] = ()
    skips_ragged: bool = False

    @property
    def column_types(self) -> dict[str, str]:
        """The types of columns that are not inferred; those to be parsed are read as text."""
        return {**self.types, **dict.fromkeys(self._parsed, "string")}

    @property
    def _parsed(self) -> list[str]:
        """The columns that are parsed here, unless they are declared to be text."""
        parsed = {**self.numbers, **self.dates}
        return [name for name in parsed if self.types.get(name) != "string"]

    def parsed(self, table: Any, first_row: int = 0) -> Any:
        """Return a table in which the texts of numbers are numbers, and those of dates dates.

        Parameters
        ----------
        table : pyarrow.Table
            The rows as they were read.
        first_row : int, default=0
            The number of rows before them, for messages.
        """
        for name in self._parsed:
            if name in table.column_names:
                place = table.column_names.index(name)
                texts = table.column(place)
                if name in self.dates:
                    values = parse_date_column(texts, self.dates[name], name, first_row)
                else:
                    values = parse_numbers(texts, self.numbers[name], name, first_row)
                table = table.set_column(place, name, values)
        return table


def bare_numbers(texts: Any) -> Any:
    """Return texts without spaces at their ends and without a unit, by arrow."""
    compute = need("pyarrow.compute")
    texts = compute.replace_substring_regex(texts, _EDGES, "")
    texts = compute.replace_substring(texts, _MINUS, "-")
    texts = compute.replace_substring_regex(texts, _LEADING_UNIT, r"\1")
    return compute.replace_substring_regex(texts, _TRAILING_UNIT, "")


def parse_numbers(column: Any, how: NumberFormat, name: str, first_row: int = 0) -> Any:
    """Return a column of text as numbers; marks of missing values become missing.

    Parameters
    ----------
    column : pyarrow array of strings
        The texts.
    how : NumberFormat
        How they are written.
    name : str
        The name of the column in messages.
    first_row : int, default=0
        The number of rows before the first one, for messages.

    Raises
    ------
    ValueError
        If a text is not a number; the message has its row.

    Examples
    --------
    >>> import pyarrow as pa
    >>> column = pa.chunked_array([["1.234,5 €", "k.A.", None]])
    >>> parse_numbers(column, NumberFormat(",", ".", "€", ("k.A.",)), "price").to_pylist()
    [1234.5, None, None]
    """
    pa, compute = need("pyarrow"), need("pyarrow.compute")
    if not pa.types.is_string(column.type):  # a column without values has no type
        return column.cast(pa.float64())
    marked = compute.is_in(column, value_set=pa.array(how.marks, pa.string()))
    texts = bare_numbers(compute.if_else(marked, None, column))
    for sign in how.thousands:
        texts = compute.replace_substring(texts, sign, "")
    if how.decimal != ".":
        texts = compute.replace_substring(texts, ".", "!")  # a point is not a part of a number
        texts = compute.replace_substring(texts, how.decimal, ".")
    try:
        return compute.cast(texts, pa.float64())
    except pa.ArrowInvalid:
        _refuse_number(column, texts, name, first_row)
        raise


def _refuse_number(column: Any, texts: Any, name: str, first_row: int) -> None:
    """Raise the error for the first text that is not a number."""
    for row, text in enumerate(texts.to_pylist()):
        try:
            float(text or 0)
        except ValueError:
            value = column[row].as_py()
            raise ValueError(
                f"column {name!r} holds numbers, but row {first_row + row + 1} has {value!r} (the"
                " first row below the header is 1): if that marks a missing value, name it with"
                " --na-values, or keep the column as text with --categorical"
            ) from None


def parse_date_column(column: Any, how: DateFormat, name: str, first_row: int = 0) -> Any:
    """Return a column of text as points in time; marks of missing values become missing.

    Parameters
    ----------
    column : pyarrow chunked array of strings
        The texts.
    how : DateFormat
        How they are written.
    name : str
        The name of the column in messages.
    first_row : int, default=0
        The number of rows before the first one, for messages.

    Raises
    ------
    ValueError
        If a text is not a date; the message has its row.

    Examples
    --------
    >>> import pyarrow as pa
    >>> column = pa.chunked_array([["29.02.2024", "k.A.", None]])
    >>> parse_date_column(column, DateFormat("day.month.year", ("k.A.",)), "day").to_pylist()
    [datetime.date(2024, 2, 29), None, None]
    """
    pa = need("pyarrow")
    if not pa.types.is_string(column.type):  # a column without values has no type
        return column.cast(pa.date32())
    coded = column.combine_chunks().dictionary_encode()
    coded = coded.chunk(0) if isinstance(coded, pa.ChunkedArray) else coded
    texts = coded.dictionary.to_pylist()
    seconds = [None if text in how.marks else parse_date(text, how.order) for text in texts]
    for text, date in zip(texts, seconds, strict=True):
        if date is None and text not in how.marks:
            row = first_row + column.index(pa.scalar(text)).as_py() + 1
            raise ValueError(
                f"column {name!r} holds dates ({how.order}), but row {row} has {text!r} (the first"
                " row below the header is 1): correct it, name it with --na-values if it marks a"
                " missing value, or keep the column as text with --categorical"
            )
    since_1970 = [None if date is None else int(date) + _SECONDS_TO_2000 for date in seconds]
    times = pa.array(since_1970, pa.int64()).cast(pa.timestamp("s")).take(coded.indices)
    whole_days = all(date is None or date % 86_400 == 0 for date in seconds)
    return pa.chunked_array([times.cast(pa.date32()) if whole_days else times])
