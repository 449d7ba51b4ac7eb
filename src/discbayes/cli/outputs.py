"""Tables and other results to files, or to the standard output; never in the place of what they
were made from.
"""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Any

from discbayes._lazy_imports import need
from discbayes.cli.console import STANDARD, UserError
from discbayes.cli.console_encoding import write_utf8
from discbayes.datasets.manifest import cache_folder, data_folder
from discbayes.io.errors import write_atomically
from discbayes.streams.file_sources import delimiter_of, format_of


def is_standard(path: str | None) -> bool:
    """Whether a result goes to the standard output."""
    return path is None or path == STANDARD


def check_output(path: str | None, inputs: Sequence[str | None] = ()) -> None:
    """Refuse an output that cannot be written, or that is one of the inputs, before the work is
    done.
    """
    if path is None or path == STANDARD:
        return
    target = Path(path)
    if target.is_dir():
        raise UserError(f"cannot write {path}: it is a folder")
    if not target.parent.is_dir():
        raise UserError(f"cannot write {path}: there is no folder {target.parent}")
    for given in inputs:
        if given is not None and given != STANDARD:
            _refuse_overwriting(target, given)
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise UserError(f"cannot write {path}: permission denied")


def check_table(path: str | None, inputs: Sequence[str | None] = ()) -> None:
    """The same for a table, whose ending must be known too."""
    if path is not None and path != STANDARD:
        format_of(path)
    check_output(path, inputs)


def _refuse_overwriting(target: Path, given: str) -> None:
    """Refuse an output that is an input, under any name that it has, or that would be read with the
    next input.
    """
    if Path(given).is_file():
        if target.exists() and os.path.samefile(target, given):
            raise UserError(
                f"cannot write {target}: it is the input {given}, which would be lost; choose"
                " another name"
            )
        return
    # of data sets by name
    folders = [Path(given)] if Path(given).is_dir() else [data_folder(), cache_folder()]
    for folder in folders:
        if folder is not None and folder.is_dir() and _is_in(target, folder):
            raise UserError(
                f"cannot write {target}: it is in {folder}, where the rows are read; choose another"
                " folder"
            )


def _is_in(target: Path, folder: Path) -> bool:
    """Whether a file is, or would be, in a folder; a link is where it leads to as well."""
    return any(
        os.path.samefile(parent, folder)
        for parent in {target.parent, Path(os.path.realpath(target)).parent}
    )


# ---- writing


def write_bytes(content: bytes, path: str | None) -> None:
    """Write UTF-8 text to a file, or to the standard output."""
    if path is None or path == STANDARD:
        write_utf8(content)
    else:
        write_atomically(path, content)


def write_table(table: Any, path: str | None) -> None:
    """Write an arrow table to a file, or as CSV to the standard output."""
    write_batches(iter([table]), path)


def write_batches(
    tables: Iterator[Any], path: str | None, texts: Sequence[str] | None = None
) -> None:
    """Write tables of one kind below one another, each as it comes; ``texts`` are all that their
    cells may hold.

    None is for a single table, whose texts can be looked at.
    """
    if path is None or path == STANDARD:
        for content in _csv_parts(tables, ",", texts):
            write_utf8(content)
        return
    kind = format_of(path)

    def write(file: IO[bytes]) -> None:
        if kind == "parquet":
            _write_parquet(tables, file)
        elif kind == "arrow":
            _write_arrow(tables, file, path)
        elif path.lower().endswith(".gz"):
            with gzip.GzipFile(fileobj=file, mode="wb") as packed:
                packed.writelines(_csv_parts(tables, delimiter_of(path), texts))
        else:
            file.writelines(_csv_parts(tables, delimiter_of(path), texts))

    write_atomically(path, write)


def _write_parquet(tables: Iterator[Any], file: IO[bytes]) -> None:
    first = next(tables)
    with need("pyarrow.parquet").ParquetWriter(file, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)


def _write_arrow(tables: Iterator[Any], file: IO[bytes], path: str) -> None:
    """Arrow batches: a stream of them for ``.arrows``, else a file, which Feather is too."""
    ipc, first = need("pyarrow.ipc"), next(tables)
    new = ipc.new_stream if path.lower().endswith(".arrows") else ipc.new_file
    with new(file, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)


def _csv_parts(
    tables: Iterator[Any], delimiter: str, texts: Sequence[str] | None
) -> Iterator[bytes]:
    """CSV in parts, the first one with a header; all have quotes where one of the texts needs
    them.
    """
    style = None
    for table in tables:
        header = style is None
        if style is None:
            style = _quoting(table, texts, delimiter)
        yield _csv_bytes(table, delimiter, style, header)


def _csv_bytes(table: Any, delimiter: str, style: str, header: bool) -> bytes:
    csv, sink = need("pyarrow.csv"), io.BytesIO()
    csv.write_csv(
        table,
        sink,
        csv.WriteOptions(include_header=header, delimiter=delimiter, quoting_style=style),
    )
    return sink.getvalue()


def _quoting(table: Any, texts: Sequence[str] | None, delimiter: str) -> str:
    """Arrow quotes every text or none, and refuses none where it must not."""
    if texts is None:
        try:
            _csv_bytes(table, delimiter, "none", header=True)
        except ValueError:
            return "needed"
        return "none"
    special = {delimiter, '"', "\n", "\r"}
    return (
        "needed" if any(special & set(text) for text in (*table.column_names, *texts)) else "none"
    )
