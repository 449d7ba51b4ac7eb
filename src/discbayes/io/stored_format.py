"""How the CSV file of the training rows was read, as a field of a model file."""

from __future__ import annotations

import codecs
from typing import Any

from discbayes.data.dates import ORDERS
from discbayes.io.validation import as_bool, as_list, as_object, as_text, wrong
from discbayes.streams.csv_format import CsvFormat, DateFormat, NumberFormat

_FIELDS = (
    "delimiter",
    "decimal",
    "encoding",
    "missing_values",
    "numbers",
    "dropped",
    "skips_ragged",
)
_OPTIONAL = ("dates",)  # of files with texts that are dates
_NUMBER = ("decimal", "thousands", "unit", "marks")
_MAX_TEXT = 1000  # characters of a mark of missing values, or of a name of a column
_MAX_ENTRIES = 100_000
_SIGNS = (".", ",")


def pack_csv_format(csv: CsvFormat) -> dict[str, Any]:
    """Return a format as JSON."""
    numbers = {
        name: {field: _plain(getattr(how, field)) for field in _NUMBER}
        for name, how in csv.numbers.items()
    }
    packed = {field: _plain(getattr(csv, field)) for field in _FIELDS if field != "numbers"}
    if csv.dates:
        packed["dates"] = {name: [how.order, list(how.marks)] for name, how in csv.dates.items()}
    return {**packed, "numbers": numbers}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def unpack_csv_format(value: Any) -> CsvFormat:
    """Return the format that `pack_csv_format` wrote; any other value is refused."""
    fields = as_object(value, "csv_format", _FIELDS, _OPTIONAL)
    dates = as_object(fields.get("dates", {}), "csv_format.dates")
    _bounded(dates, "csv_format.dates")
    numbers = as_object(fields["numbers"], "csv_format.numbers")
    _bounded(numbers, "csv_format.numbers")
    return CsvFormat(
        delimiter=_character(fields["delimiter"], "csv_format.delimiter"),
        missing_values=_texts(fields["missing_values"], "csv_format.missing_values"),
        decimal=as_text(fields["decimal"], "csv_format.decimal", _SIGNS),
        encoding=_encoding(fields["encoding"]),
        numbers={_text(name, "csv_format.numbers"): _number(how) for name, how in numbers.items()},
        dates={_text(name, "csv_format.dates"): _date(how) for name, how in dates.items()},
        dropped=_texts(fields["dropped"], "csv_format.dropped"),
        skips_ragged=as_bool(fields["skips_ragged"], "csv_format.skips_ragged"),
    )


def _number(value: Any) -> NumberFormat:
    fields = as_object(value, "csv_format.numbers", _NUMBER)
    return NumberFormat(
        as_text(fields["decimal"], "csv_format.numbers", _SIGNS),
        _text(fields["thousands"], "csv_format.numbers", 10),
        _text(fields["unit"], "csv_format.numbers", 10),
        _texts(fields["marks"], "csv_format.numbers"),
    )


def _date(value: Any) -> DateFormat:
    where = "csv_format.dates"
    items = as_list(value, where, 2)
    return DateFormat(as_text(items[0], where, ORDERS), _texts(items[1], where))


def _bounded(values: Any, where: str) -> None:
    if len(values) > _MAX_ENTRIES:
        raise ValueError(f"{where} has more than {_MAX_ENTRIES} entries")


def _text(value: Any, where: str, longest: int = _MAX_TEXT) -> str:
    text = as_text(value, where)
    if len(text) > longest:
        wrong(where, f"at most {longest} characters", text)
    return text


def _texts(value: Any, where: str) -> tuple[str, ...]:
    values = as_list(value, where)
    _bounded(values, where)
    return tuple(_text(text, where) for text in values)


def _character(value: Any, where: str) -> str | None:
    if value is None:
        return None
    text = as_text(value, where)
    if len(text) != 1 or not text.isascii() or text in '"\r\n':
        wrong(where, "one character", text)
    return text


def _encoding(value: Any) -> str | None:
    """Return an encoding of text that Python knows; others of its codecs are not text."""
    if value is None:
        return None
    name = _text(value, "csv_format.encoding", 40)
    try:
        known = codecs.lookup(name)
    except (LookupError, ValueError):
        known = None
    if known is None or not getattr(known, "_is_text_encoding", False):
        wrong("csv_format.encoding", "the name of an encoding", name)
    return name
