"""Files to arrow tables; the ending of a name says which kind of file it is
(`discbayes.streams.file_sources`).
"""

from __future__ import annotations

import gzip
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discbayes._lazy_imports import need
from discbayes.cli.console import UserError, listed
from discbayes.cli.spelling import as_text
from discbayes.streams.file_sources import (
    ENDINGS,
    FALSE,
    GAPS,
    TRUE,
    delimiter_of,
    format_of,
    is_too_long,
    open_file,
    read_arrow,
    too_long,
)

STANDARD = "-"  # as a name: the standard input, or the standard output
STANDARD_INPUT = "the standard input"
DELIMITERS = (",", ";", "\t")
LONGEST_HEADER = 1 << 20  # bytes
# bytes that are parsed at a time, in which a row must fit
_BLOCKS = (1 << 20, 1 << 25, (1 << 31) - 1)


@dataclass(frozen=True)
class FileReading:
    """What a CSV file does not say of itself: further marks of gaps, an unusual delimiter, the sign
    before decimals.
    """

    na_values: tuple[str, ...] = ()
    delimiter: str | None = None
    decimal: str = "."


@dataclass(frozen=True)
class CsvInput:
    """CSV text: what messages call it, how it is opened for pyarrow, its first line, and what is
    between its cells.
    """

    name: str
    open: Callable[[], Any]
    header: str
    delimiter: str


def has_known_ending(name: str) -> bool:
    """Whether the name is one of a file that can be read and written here."""
    return name.lower().endswith(ENDINGS)


def read_table(path: str, reading: FileReading, text: Collection[str]) -> tuple[Any, str]:
    """Read a file, or CSV from the standard input, as an arrow table; and what an error about
    columns should mention.

    Columns in ``text`` are read as text (see `discbayes.cli.spelling`).
    """
    given = csv_input(path)
    hint = "" if given is None else delimiter_hint(given, reading)
    name = path if given is None else given.name
    try:
        table = _read_binary(path) if given is None else _read_csv(given, reading, text)
    except UnicodeDecodeError as error:
        raise UserError(
            f"cannot read {name}: its header is not UTF-8 text; save the file as UTF-8"
        ) from error
    except (OSError, ValueError) as error:  # arrow's own errors are kinds of these
        raise UserError(f"cannot read {name}: {error}{hint}") from error
    _check_table(name, table)
    return as_text(table, text), hint


def csv_input(path: str) -> CsvInput | None:
    """A file of CSV, or the standard input; None is another kind of file."""
    if path == STANDARD:
        content = standard_input()
        header = content[:LONGEST_HEADER].split(b"\n")[0].decode("latin-1")
        return CsvInput(STANDARD_INPUT, lambda: need("pyarrow").BufferReader(content), header, ",")
    kind = format_of(path)
    if Path(path).is_dir():
        raise UserError(f"{path} is a folder, not a file")
    return (
        CsvInput(path, lambda: open_file(path), _header(path), delimiter_of(path))
        if kind == "csv"
        else None
    )


def standard_input() -> bytes:
    """All that comes from the standard input."""
    if sys.stdin is None:
        raise UserError(f"{STANDARD_INPUT} is closed")
    buffer = getattr(sys.stdin, "buffer", None)
    return bytes(sys.stdin.read().encode() if buffer is None else buffer.read())


def _read_binary(path: str) -> Any:
    if format_of(path) == "arrow":
        return read_arrow(path)
    with open_file(path) as file:
        return need("pyarrow.parquet").read_table(file)


def _read_csv(given: CsvInput, reading: FileReading, text: Collection[str]) -> Any:
    """Read CSV; what is not UTF-8, arrow takes for bytes, or refuses by the number of the column if
    text is wanted.
    """
    try:
        table = _parse_csv(given, reading, text)
    except ValueError as error:
        if not text or "UTF8" not in str(error):
            raise
        table = _parse_csv(given, reading, ())
    columns, is_binary = (
        zip(table.column_names, table.schema.types, strict=True),
        need("pyarrow").types.is_binary,
    )
    odd = [name for name, stored in columns if is_binary(stored)]
    if odd:
        raise ValueError(f"it is not UTF-8 text in {listed(odd)}; save the file as UTF-8")
    return table


def _parse_csv(given: CsvInput, reading: FileReading, text: Collection[str]) -> Any:
    csv, string = need("pyarrow.csv"), need("pyarrow").string()
    convert = csv.ConvertOptions(
        null_values=[*GAPS, *reading.na_values],
        true_values=list(TRUE),
        false_values=list(FALSE),
        strings_can_be_null=True,
        decimal_point=reading.decimal,
        column_types=dict.fromkeys(text, string),
    )
    parse = csv.ParseOptions(delimiter=reading.delimiter or given.delimiter)
    for block in _BLOCKS:
        try:
            with given.open() as file:
                return csv.read_csv(file, csv.ReadOptions(block_size=block), parse, convert)
        except ValueError as error:
            if not is_too_long(error):
                raise
    raise ValueError(too_long(_BLOCKS[-1], "leave its column out of the file"))


def delimiter_hint(given: CsvInput, reading: FileReading) -> str:
    """The option that an error should mention: where the header of CSV text looks like one with
    another delimiter.
    """
    used = reading.delimiter or given.delimiter
    best = max(DELIMITERS, key=given.header.count)
    if given.header.count(best) <= given.header.count(used):
        return ""
    shown = "\\t" if best == "\t" else best
    return f"; its header holds more '{shown}' than {used!r}: try --delimiter '{shown}'"


def _header(path: str) -> str:
    """The first line of a text file; nothing where it cannot be read."""
    opener = gzip.open if path.lower().endswith(".gz") else open
    try:
        with opener(path, "rb") as file:
            return file.readline(LONGEST_HEADER).decode("latin-1")
    except (OSError, EOFError, zlib.error):
        return ""


def _check_table(name: str, table: Any) -> None:
    twice = [name for name, times in Counter(table.column_names).items() if times > 1]
    if twice:
        raise UserError(
            f"{name} has several columns with the same name: {listed(twice)}; rename them"
        )
    if table.num_rows == 0:
        raise UserError(f"{name} has no rows")
