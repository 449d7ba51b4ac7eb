"""Files to arrow tables and back; the ending of a name says which kind of file it is."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any

from discbayes._leaves import need
from discbayes.cli.console import UserError, listed
from discbayes.cli.letters import write_utf8
from discbayes.cli.spelling import as_text
from discbayes.io.files import write_atomically
from discbayes.streams.files import FALSE, GAPS, TRUE

DELIMITERS = (",", ";", "\t")
LONGEST_HEADER = 1 << 20  # bytes


@dataclass(frozen=True)
class FileKind:
    """How a file is laid out; Parquet has no delimiter."""

    delimiter: str | None
    compressed: bool = False


KINDS = {
    ".csv": FileKind(","),
    ".csv.gz": FileKind(",", compressed=True),
    ".tsv": FileKind("\t"),
    ".tsv.gz": FileKind("\t", compressed=True),
    ".parquet": FileKind(None),
}


@dataclass(frozen=True)
class Reading:
    """What a CSV file does not say of itself: further marks of gaps, an unusual delimiter, the sign before decimals."""

    na_values: tuple[str, ...] = ()
    delimiter: str | None = None
    decimal: str = "."


def has_known_ending(name: str) -> bool:
    """Whether the name is one of a file that can be read and written here."""
    return name.lower().endswith(tuple(KINDS))


def file_kind(path: str | Path) -> FileKind:
    """The kind of a file by its name; an error that lists the endings where it is none of them."""
    lower = str(path).lower()
    kind = next((kind for ending, kind in KINDS.items() if lower.endswith(ending)), None)
    if kind is None:
        raise UserError(f"{path}: unknown file ending; the endings are {', '.join(KINDS)}")
    return kind


# ---- reading


def read_file(path: str, reading: Reading, text: Collection[str]) -> Any:
    """Read a file as an arrow table; columns in ``text`` are read as text (see `discbayes.cli.spelling`)."""
    kind = file_kind(path)
    if Path(path).is_dir():
        raise UserError(f"{path} is a folder, not a file")
    try:
        table = _read_parquet(path) if kind.delimiter is None else _read_csv(path, kind, reading, text)
    except UnicodeDecodeError as error:
        raise UserError(f"cannot read {path}: its header is not UTF-8 text; save the file as UTF-8") from error
    except (OSError, ValueError) as error:  # arrow's own errors are kinds of these
        raise UserError(f"cannot read {path}: {error}{delimiter_hint(path, reading)}") from error
    _check_table(path, table)
    return as_text(table, text)


def _read_parquet(path: str) -> Any:
    return need("pyarrow.parquet").read_table(path)


def _read_csv(path: str, kind: FileKind, reading: Reading, text: Collection[str]) -> Any:
    """Read CSV; what is not UTF-8, arrow takes for bytes, or refuses by the number of the column if text is wanted."""
    try:
        table = _parse_csv(path, kind, reading, text)
    except ValueError as error:
        if not text or "UTF8" not in str(error):
            raise
        table = _parse_csv(path, kind, reading, ())
    columns, is_binary = zip(table.column_names, table.schema.types, strict=True), need("pyarrow").types.is_binary
    odd = [name for name, stored in columns if is_binary(stored)]
    if odd:
        raise ValueError(f"it is not UTF-8 text in {listed(odd)}; save the file as UTF-8")
    return table


def _parse_csv(path: str, kind: FileKind, reading: Reading, text: Collection[str]) -> Any:
    csv, string = need("pyarrow.csv"), need("pyarrow").string()
    convert = csv.ConvertOptions(
        null_values=[*GAPS, *reading.na_values],
        true_values=list(TRUE),
        false_values=list(FALSE),
        strings_can_be_null=True,
        decimal_point=reading.decimal,
        column_types=dict.fromkeys(text, string),
    )
    parse = csv.ParseOptions(delimiter=reading.delimiter or kind.delimiter)
    return csv.read_csv(path, parse_options=parse, convert_options=convert)


def delimiter_hint(path: str, reading: Reading) -> str:
    """The option that an error should mention: where the header of a CSV file looks like one with another delimiter."""
    used = reading.delimiter or file_kind(path).delimiter
    if used is None:
        return ""
    header = _header(path)
    best = max(DELIMITERS, key=header.count)
    if header.count(best) <= header.count(used):
        return ""
    shown = "\\t" if best == "\t" else best
    return f"; its header holds more '{shown}' than {used!r}: try --delimiter '{shown}'"


def _header(path: str) -> str:
    """The first line of a text file; nothing where it cannot be read."""
    opener = gzip.open if file_kind(path).compressed else open
    try:
        with opener(path, "rb") as file:
            return file.readline(LONGEST_HEADER).decode("latin-1")
    except (OSError, EOFError, zlib.error):
        return ""


def _check_table(path: str, table: Any) -> None:
    twice = [name for name, times in Counter(table.column_names).items() if times > 1]
    if twice:
        raise UserError(f"{path} has several columns with the same name: {listed(twice)}; rename them")
    if table.num_rows == 0:
        raise UserError(f"{path} has no rows")


# ---- writing


def check_writable(path: str) -> None:
    """Refuse an output that cannot be written before the work is done, not after it."""
    target = Path(path)
    if target.is_dir():
        raise UserError(f"cannot write {path}: it is a folder")
    if not target.parent.is_dir():
        raise UserError(f"cannot write {path}: there is no folder {target.parent}")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise UserError(f"cannot write {path}: permission denied")


def check_output(path: str | None) -> None:
    """The same for a table, whose ending must be known too; None is the standard output."""
    if path is not None:
        file_kind(path)
        check_writable(path)


def write_table(table: Any, path: str | None) -> None:
    """Write an arrow table to a file, or as CSV to the standard output."""
    if path is None:
        write_utf8(_csv_bytes(table, ","))
        return
    kind = file_kind(path)
    content = _parquet_bytes(table) if kind.delimiter is None else _csv_bytes(table, kind.delimiter)
    write_atomically(path, gzip.compress(content) if kind.compressed else content)


def write_batches(tables: Iterator[Any], path: str | None, texts: Sequence[str]) -> None:
    """Write tables of one kind below one another, each as it comes; ``texts`` are all that their cells may hold."""
    if path is None:
        for content in _csv_parts(tables, ",", texts):
            write_utf8(content)
        return
    kind = file_kind(path)

    def write(file: IO[bytes]) -> None:
        if kind.delimiter is None:
            _write_parquet(tables, file)
        elif kind.compressed:
            with gzip.GzipFile(fileobj=file, mode="wb") as packed:
                packed.writelines(_csv_parts(tables, kind.delimiter, texts))
        else:
            file.writelines(_csv_parts(tables, kind.delimiter, texts))

    write_atomically(path, write)


def _write_parquet(tables: Iterator[Any], file: IO[bytes]) -> None:
    first = next(tables)
    with need("pyarrow.parquet").ParquetWriter(file, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)


def _csv_parts(tables: Iterator[Any], delimiter: str, texts: Sequence[str]) -> Iterator[bytes]:
    """CSV in parts, the first one with a header; all have quotes where one of the texts needs them."""
    csv = need("pyarrow.csv")
    style = None
    for table in tables:
        header = style is None
        if style is None:
            style = _quoting(table.column_names, texts, delimiter)
        sink = io.BytesIO()
        csv.write_csv(table, sink, csv.WriteOptions(include_header=header, delimiter=delimiter, quoting_style=style))
        yield sink.getvalue()


def _quoting(names: Sequence[str], texts: Sequence[str], delimiter: str) -> str:
    """Arrow quotes every text or none, and refuses none where it must not."""
    special = {delimiter, '"', "\n", "\r"}
    return "needed" if any(special & set(text) for text in (*names, *texts)) else "none"


def _parquet_bytes(table: Any) -> bytes:
    sink = io.BytesIO()
    need("pyarrow.parquet").write_table(table, sink)
    return sink.getvalue()


def _csv_bytes(table: Any, delimiter: str) -> bytes:
    """CSV with quotes where they are needed: arrow quotes every text or none, and refuses none where it must not."""
    csv = need("pyarrow.csv")
    sink = io.BytesIO()
    try:
        csv.write_csv(table, sink, csv.WriteOptions(delimiter=delimiter, quoting_style="none"))
    except ValueError:
        sink = io.BytesIO()
        csv.write_csv(table, sink, csv.WriteOptions(delimiter=delimiter, quoting_style="needed"))
    return sink.getvalue()
