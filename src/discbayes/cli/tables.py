"""Files to arrow tables and back; the ending of a name says which kind of file it is."""

from __future__ import annotations

import gzip
import io
import os
import sys
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discbayes._leaves import need
from discbayes.cli.console import UserError, listed
from discbayes.io.files import write_atomically

GAPS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")
TRUE = ("true", "True", "TRUE")
FALSE = ("false", "False", "FALSE")


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
    """What a CSV file does not say of itself: further marks of gaps, and an unusual delimiter."""

    na_values: tuple[str, ...] = ()
    delimiter: str | None = None


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
    """Read a file as an arrow table; columns in ``text`` keep their text as it stands."""
    kind = file_kind(path)
    if Path(path).is_dir():
        raise UserError(f"{path} is a folder, not a file")
    try:
        table = _read_parquet(path) if kind.delimiter is None else _read_csv(path, kind, reading, text)
    except (OSError, ValueError) as error:  # arrow's own errors are kinds of these
        raise UserError(f"cannot read {path}: {error}") from error
    _check_table(path, table)
    return as_text(table, text)


def _read_parquet(path: str) -> Any:
    return need("pyarrow.parquet").read_table(path)


def _read_csv(path: str, kind: FileKind, reading: Reading, text: Collection[str]) -> Any:
    csv, string = need("pyarrow.csv"), need("pyarrow").string()
    convert = csv.ConvertOptions(
        null_values=[*GAPS, *reading.na_values],
        true_values=list(TRUE),
        false_values=list(FALSE),
        strings_can_be_null=True,
        column_types=dict.fromkeys(text, string),
    )
    parse = csv.ParseOptions(delimiter=reading.delimiter or kind.delimiter)
    table = csv.read_csv(path, parse_options=parse, convert_options=convert)
    odd = [field.name for field in table.schema if need("pyarrow").types.is_binary(field.type)]
    if odd:
        raise ValueError(f"it is not UTF-8 text in {listed(odd)}; convert it first")
    return table


def _check_table(path: str, table: Any) -> None:
    twice = [name for name, times in Counter(table.column_names).items() if times > 1]
    if twice:
        raise UserError(f"{path} has several columns with the same name: {listed(twice)}; rename them")
    if table.num_rows == 0:
        raise UserError(f"{path} has no rows")


def as_text(table: Any, names: Collection[str]) -> Any:
    """The table with some of its columns cast to text, so that every kind of file gives the same labels."""
    pa = need("pyarrow")
    for place, name in enumerate(table.column_names):
        if name in names and not pa.types.is_string(table.schema.field(place).type):
            table = table.set_column(place, name, table.column(place).cast(pa.string()))
    return table


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
        sys.stdout.write(_csv_bytes(table, ",").decode())
        sys.stdout.flush()  # so that a closed pipe is noticed here
        return
    kind = file_kind(path)
    content = _parquet_bytes(table) if kind.delimiter is None else _csv_bytes(table, kind.delimiter)
    write_atomically(path, gzip.compress(content) if kind.compressed else content)


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
