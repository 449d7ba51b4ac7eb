"""Results as files or on the standard output; an input is never overwritten."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Any

from discbayes._files import replace_file
from discbayes._lazy_imports import need
from discbayes.cli.console import STANDARD, UserError
from discbayes.cli.console_encoding import write_utf8
from discbayes.datasets.manifest import cache_folder, data_folder
from discbayes.streams.file_sources import delimiter_of, format_of


def is_standard(path: str | None) -> bool:
    """Return whether a result goes to the standard output."""
    return path is None or path == STANDARD


def check_output(path: str | None, inputs: Sequence[str | None] = ()) -> None:
    """Raise an error if an output cannot be written or is an input, before the work is done."""
    if path is None or is_standard(path):
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
    """Check the output of a table, whose ending must be known too."""
    if path is not None and path != STANDARD:
        format_of(path)
    check_output(path, inputs)


def _refuse_overwriting(target: Path, given: str) -> None:
    """Raise an error if an output is an input under any name, or in a folder of inputs."""
    if Path(given).is_file():
        if target.exists() and os.path.samefile(target, given):
            raise UserError(
                f"cannot write {target}: it is the input {given}, which would be lost; choose"
                " another name"
            )
        return
    # a name that is not a file is a data set in one of these folders
    folders = [Path(given)] if Path(given).is_dir() else [data_folder(), cache_folder()]
    for folder in folders:
        if folder is not None and folder.is_dir() and _is_in(target, folder):
            raise UserError(
                f"cannot write {target}: it is in {folder}, where the rows are read; choose another"
                " folder"
            )


def _is_in(target: Path, folder: Path) -> bool:
    """Return whether a file is, or would be, in a folder; links are followed too."""
    parents = {target.parent, Path(os.path.realpath(target)).parent}
    return any(os.path.samefile(parent, folder) for parent in parents)


# ---- writing


def write_bytes(content: bytes, path: str | None) -> None:
    """Write UTF-8 text to a file, or to the standard output."""
    if path is None or path == STANDARD:
        write_utf8(content)
    else:
        replace_file(path, content)


def write_table(table: Any, path: str | None) -> None:
    """Write an arrow table to a file, or as CSV to the standard output."""
    write_batches(iter([table]), path)


def write_batches(
    tables: Iterator[Any], path: str | None, texts: Sequence[str] | None = None
) -> None:
    """Write tables with the same columns below one another, each as it comes.

    Parameters
    ----------
    tables : iterator of pyarrow.Table
        The tables.
    path : str or None
        The file, whose ending tells its kind; None or "-" is CSV on the standard output.
    texts : sequence of str, optional
        All texts that cells may hold, which decide on quotes in CSV; not needed for a single table.
    """
    if path is None or path == STANDARD:
        for content in _csv_parts(tables, ",", texts):
            write_utf8(content)
        return
    kind = format_of(path).name
    if kind not in ("parquet", "arrow", "csv"):
        raise UserError(f"{path}: {kind} files can be read, not written; use .csv or .parquet")
    ending = path.lower()

    def write(file: IO[bytes]) -> None:
        if kind == "parquet":
            _write_all(need("pyarrow.parquet").ParquetWriter, tables, file)
        elif kind == "arrow":
            # a stream for .arrows, otherwise a file, which Feather is too
            ipc = need("pyarrow.ipc")
            _write_all(ipc.new_stream if ending.endswith(".arrows") else ipc.new_file, tables, file)
        elif ending.endswith(".gz"):
            with gzip.GzipFile(fileobj=file, mode="wb") as packed:
                packed.writelines(_csv_parts(tables, delimiter_of(path), texts))
        else:
            file.writelines(_csv_parts(tables, delimiter_of(path), texts))

    replace_file(path, write)


def _write_all(new_writer: Callable[..., Any], tables: Iterator[Any], file: IO[bytes]) -> None:
    first = next(tables)
    with new_writer(file, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)


def _csv_parts(
    tables: Iterator[Any], delimiter: str, texts: Sequence[str] | None
) -> Iterator[bytes]:
    """Yield CSV in parts, the first with a header; all are quoted if one of the texts needs it."""
    style = None
    for table in tables:
        header = style is None
        if style is None:
            style = _quoting(table, texts, delimiter)
        yield _csv_bytes(table, delimiter, style, header)


def _csv_bytes(table: Any, delimiter: str, style: str, header: bool) -> bytes:
    csv, sink = need("pyarrow.csv"), io.BytesIO()
    form = csv.WriteOptions(include_header=header, delimiter=delimiter, quoting_style=style)
    csv.write_csv(table, sink, form)
    return sink.getvalue()


def _quoting(table: Any, texts: Sequence[str] | None, delimiter: str) -> str:
    """Return the quoting style: arrow quotes all texts or none, and none only if none needs it."""
    if texts is None:
        try:
            # the quickest way to learn whether a text needs quotes: arrow refuses to leave them out
            _csv_bytes(table, delimiter, "none", header=True)
        except ValueError:
            return "needed"
        return "none"
    special = {delimiter, '"', "\n", "\r"}
    special_texts = any(special & set(text) for text in (*table.column_names, *texts))
    return "needed" if special_texts else "none"
