"""From what was seen of a table to how it is read: decimals, thousands, units, missing values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from discbayes._text import some_of
from discbayes.checking import column_scan as kinds
from discbayes.checking.column_scan import MAX_VALUES, ColumnScan
from discbayes.checking.table_scan import TableScan
from discbayes.data.dates import DAY_MONTH_YEAR, MONTH_DAY_YEAR, YEAR_MONTH_DAY
from discbayes.streams.csv_format import SPACES, CsvFormat, DateFormat, NumberFormat

# texts that people and programs write for a missing value, in lower case; among numbers they can
# mean nothing else
MARKS = frozenset(
    (
        "?",
        "??",
        "-",
        "--",
        "---",
        "–",
        "—",
        ".",
        "..",
        "...",
        "*",
        "/",
        "n/a",
        "na",
        "n.a.",
        "#n/a",
        "#na",
        "#nv",
        "#null!",
        "#wert!",
        "#value!",
        "#div/0!",
        "#bezug!",
        "#ref!",
        "null",
        "(null)",
        "none",
        "nil",
        "nan",
        "<na>",
        "missing",
        "unknown",
        "unbekannt",
        "fehlt",
        "fehlend",
        "inconnu",
        "manquant",
        "desconocido",
        "sconosciuto",
        "k.a.",
        "n.d.",
        "n.v.",
        "nd",
        "s/d",
        "s.d.",
        "ns/nc",
        "undefined",
        "n/d",
        "k. a.",
        "keine angabe",
        "ohne angabe",
        "nicht bekannt",
        "no data",
        "not available",
        "not known",
        "no answer",
        "n. a.",
        "n. d.",
        "non disponible",
        "non renseigné",
        "sin datos",
    )
)
# in columns of words these are values now and then
_AMONG_NUMBERS_ONLY = {".", "..", "...", "*", "/", "none", "nil", "nd", "-", "–", "—", "s.d."}
_COMMAS = (kinds.COMMA, kinds.GROUPED_BY_POINT, kinds.GROUPED_COMMA)
_POINTS = (kinds.POINT, kinds.GROUPED_BY_COMMA, kinds.GROUPED_POINT)
_GROUPED = (kinds.GROUPED, kinds.GROUPED_POINT, kinds.GROUPED_COMMA)
_NAMED = 3  # columns in the line of assumptions
ENCODINGS = {
    "cp1252": "Windows-1252",
    "latin-1": "Latin-1",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "utf-8": "UTF-8",
}


def is_mark(text: str, among_numbers: bool = True) -> bool:
    """Return whether a text usually stands for a missing value.

    >>> is_mark("k.A."), is_mark("-"), is_mark("-", among_numbers=False), is_mark("Graz")
    (True, True, False, False)
    """
    word = text.strip().lower()
    return word in MARKS and (among_numbers or word not in _AMONG_NUMBERS_ONLY)


@dataclass(frozen=True)
class ReadingPlan:
    """How a table is read.

    Parameters
    ----------
    csv : CsvFormat
        The format, with the columns whose numbers are written in a way of their own.
    decimals : dict of str to str
        The character before decimals of each column that has some.
    ambiguous : list of str
        Columns in which 1,234 may be a decimal or a thousand, and no other column tells.
    mixed : list of str
        Columns in which some numbers have a decimal point and others a decimal comma, or in which
        some have a unit and others another one or none.
    """

    csv: CsvFormat
    decimals: dict[str, str] = field(default_factory=dict)
    ambiguous: list[str] = field(default_factory=list)
    mixed: list[str] = field(default_factory=list)

    def assumptions(self, scan: TableScan) -> list[str]:
        """Return in words what was assumed of CSV text beyond commas, UTF-8 and decimal points."""
        found = []
        layout = scan.layout
        if layout is not None and layout.encoding != "utf-8":
            encoding = ENCODINGS.get(layout.encoding, layout.encoding)
            found.append(
                f"{encoding} text" + (f" ({layout.example:.40})" if layout.example else "")
            )
        usual = "\t" if scan.name.lower().endswith((".tsv", ".tsv.gz")) else ","
        if self.csv.delimiter not in (None, usual):
            found.append(f"{shown_delimiter(self.csv.delimiter or '')} between cells")
        if self.csv.decimal != ".":
            found.append(f"{self.csv.decimal!r} before decimals")
        return found + self._number_assumptions() + self._date_assumptions()

    def _date_assumptions(self) -> list[str]:
        """Return in words what was assumed of dates that are not written year first."""
        grouped: dict[str, list[str]] = {}
        for name, how in self.csv.dates.items():
            if how.order != YEAR_MONTH_DAY:
                grouped.setdefault(f"dates as {how.order} in", []).append(name)
        return [f"{what} {some_of([*map(repr, of)], _NAMED)}" for what, of in grouped.items()]

    def _number_assumptions(self) -> list[str]:
        found = []
        grouped: dict[str, list[str]] = {}
        for name, how in self.csv.numbers.items():
            for mark in how.marks:
                grouped.setdefault(f"{mark!r} missing in", []).append(name)
            if how.unit:
                grouped.setdefault(f"numbers without {how.unit!r} in", []).append(name)
            if how.thousands:
                sign = how.thousands[0]
                grouped.setdefault(f"{sign!r} between thousands in", []).append(name)
            if how.decimal != self.csv.decimal and name in self.decimals:
                grouped.setdefault(f"{how.decimal!r} before decimals in", []).append(name)
        for what, names in grouped.items():
            found.append(f"{what} {some_of([*map(repr, names)], _NAMED)}")
        return found


def shown_delimiter(delimiter: str) -> str:
    """Return a delimiter in a message.

    >>> shown_delimiter(";"), shown_delimiter("\\t")
    ("';'", 'tabs')
    """
    return "tabs" if delimiter == "\t" else repr(delimiter)


def plan_reading(
    scan: TableScan, given: CsvFormat, decimal: str | None = None, texts: tuple[str, ...] = ()
) -> ReadingPlan:
    """Return how a table is read.

    Parameters
    ----------
    scan : TableScan
        What one reading of it has told.
    given : CsvFormat
        What is given: encoding, delimiter and missing values.
    decimal : str, optional
        The character before decimals, if it is given.
    texts : tuple of str
        Columns that are read as text, such as the target.
    """
    columns = [
        column
        for column in scan.columns
        if column.name not in {*texts, *scan.repeated_names} and _holds_numbers(column)
    ]
    decided = {column.name: decimal_of(column) for column in columns}
    commas, points = (sum(each == sign for each in decided.values()) for sign in ",.")
    usual = decimal or ("," if commas and not points else None)
    file_decimal = decimal or ("," if commas > points else ".")
    plan = ReadingPlan(given)
    numbers = {}
    for column in columns:
        own = decided[column.name]
        if own == "mixed" or not _has_one_unit(column):
            plan.mixed.append(column.name)
            continue
        sign = own if own in (",", ".") else _open_decimal(column, usual, points)
        if sign is None:
            plan.ambiguous.append(column.name)
            continue
        if decimal is not None and sign != decimal:
            continue  # the option says that these are not numbers
        how = _number_format(column, sign, given)
        if own is not None:
            plan.decimals[column.name] = sign
        if _needs_parsing(column, how, file_decimal):
            numbers[column.name] = how
    dates = {}
    for column in scan.columns:
        order = order_of(column)
        if order is not None and column.name not in {*texts, *scan.repeated_names}:
            marks = tuple(word for word in column.words if word not in given.missing_values)
            dates[column.name] = DateFormat(order, marks)
    csv = scan.csv or CsvFormat()
    layout = replace(given, delimiter=csv.delimiter, encoding=_encoding(csv.encoding))
    return replace(plan, csv=replace(layout, decimal=file_decimal, numbers=numbers, dates=dates))


def _encoding(encoding: str | None) -> str | None:
    return None if encoding == "utf-8" else encoding


def _holds_numbers(column: ColumnScan) -> bool:
    """Return whether a column holds numbers, and beside them marks of missing values only."""
    return (
        column.n_numbers > 0
        and column.n_dates == 0
        and len(column.words) < MAX_VALUES
        and column.n_words <= column.n_numbers
        and all(map(is_mark, column.words))
    )


def holds_dates(column: ColumnScan) -> bool:
    """Return whether a column holds dates, and beside them marks of missing values only."""
    return (
        column.n_dates > 0
        and not column.n_numbers
        and len(column.words) < MAX_VALUES
        and all(map(is_mark, column.words))
    )


def order_of(column: ColumnScan) -> str | None:
    """Return the order of day, month and year of a column of dates; None if none can be told."""
    if not holds_dates(column) or len(column.dates) > 1:
        return None
    kind = next(iter(column.dates))
    if kind != kinds.SLASHES:
        return {kinds.ISO: YEAR_MONTH_DAY, kinds.POINTS: DAY_MONTH_YEAR}[kind]
    orders = {(True, False): DAY_MONTH_YEAR, (False, True): MONTH_DAY_YEAR}
    return orders.get(column.day_beyond)


def decimal_of(column: ColumnScan) -> str | None:
    """Return the character before decimals of a column; None if no number tells.

    "mixed" stands for both, and "open" for numbers such as 1,234 or 1.234 only.
    """
    commas = any(column.numbers[kind] for kind in _COMMAS)
    points = any(column.numbers[kind] for kind in _POINTS)
    if commas and points:
        return "mixed"
    if commas or points:
        return "," if commas else "."
    return "open" if column.numbers[kinds.COMMA_3] or column.numbers[kinds.POINT_3] else None


def _open_decimal(column: ColumnScan, usual: str | None, points: int) -> str | None:
    """Return the character before decimals where the numbers of a column do not tell.

    A point is one unless the other columns have commas. A comma may be either.
    """
    if column.numbers[kinds.COMMA_3] and column.numbers[kinds.POINT_3]:
        return None
    if column.numbers[kinds.COMMA_3]:
        return usual or ("." if points else None)
    return usual or "."


def _has_one_unit(column: ColumnScan) -> bool:
    return not column.units or (len(column.units) == 1 and column.units.total() == column.n_numbers)


def _number_format(column: ColumnScan, decimal: str, given: CsvFormat) -> NumberFormat:
    thousands = ""
    other = "." if decimal == "," else ","
    groups = {
        ",": (kinds.GROUPED_BY_COMMA, kinds.COMMA_3),
        ".": (kinds.GROUPED_BY_POINT, kinds.POINT_3),
    }[other]
    if any(column.numbers[kind] for kind in groups):
        thousands += other
    if any(column.numbers[kind] for kind in _GROUPED):
        thousands += SPACES
    marks = tuple(word for word in column.words if word not in given.missing_values)
    return NumberFormat(decimal, thousands, next(iter(column.units), ""), marks)


def _needs_parsing(column: ColumnScan, how: NumberFormat, decimal: str) -> bool:
    """Return whether the reader of CSV files would take the numbers of a column for text."""
    if how.thousands or how.unit or how.marks:
        return True
    return decimal_of(column) is not None and how.decimal != decimal
