"""DATA of the command line as an arrow table: a file, the standard input, or a data set by name.

Labels are text, written in one way whatever the kind of file. Text stays as it is; booleans and
numbers that a file stores as such are written as Python prints them: True, 1.0, 1. Labels are
matched to those of a saved model first as they are, and then by the boolean or number that they
stand for: true, TRUE and True are one label, and so are 1, 1.0 and 1.00. Leading zeros are never
dropped: 01 is a code, not a number.
"""

from __future__ import annotations

import gzip
import re
import zlib
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from discbayes._lazy_imports import need
from discbayes._text import did_you_mean, listed, nearest_first
from discbayes.cli.console import STANDARD, STANDARD_INPUT, UserError
from discbayes.cli.console_encoding import read_standard_input
from discbayes.cli.reading import find_format, is_csv
from discbayes.datasets import Dataset, list_datasets, load_dataset
from discbayes.datasets.loading import OPENML
from discbayes.streams.csv_format import CsvFormat
from discbayes.streams.file_sources import (
    CSV,
    FALSE,
    TRUE,
    delimiter_of,
    format_of,
    has_known_ending,
    line_with,
    read_whole,
)

DELIMITERS = (",", ";", "\t")
MAX_HEADER = 1 << 20  # bytes
_BOOLEANS = {**dict.fromkeys(TRUE, "True"), **dict.fromkeys(FALSE, "False")}
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+")


@dataclass(frozen=True)
class InputTable:
    """A table with all its columns.

    Parameters
    ----------
    name : str
        The table in messages.
    table : pyarrow.Table
        The rows.
    target : str, optional
        The column with the classes, if DATA is the name of a data set.
    hint : str
        The end of an error about columns that are not there.
    """

    name: str
    table: Any
    target: str | None = None
    hint: str = ""

    def require(self, names: Sequence[str], what: str) -> None:
        """Raise an error for columns that are not there, with those that are, nearest first."""
        columns = self.table.column_names
        lacking = [name for name in names if name not in columns]
        if lacking:
            raise UserError(
                f"{self.name} has no column {listed(lacking)} ({what}); its columns are"
                f" {listed(nearest_first(lacking[0], columns))}{self.hint}"
                f"{did_you_mean(lacking[0], columns)}"
            )

    def require_roles(self, target: str, args: Namespace) -> None:
        """Raise an error if a column that an option names is not there."""
        self.require([target], "the target")
        self.require(args.categorical, "--categorical")
        self.require(args.drop, "--drop")
        self.require([] if args.weights is None else [args.weights], "--weights")

    def without(self, names: Collection[str]) -> Any:
        """Return the table without some columns."""
        kept = [name for name in self.table.column_names if name not in names]
        if not kept:
            raise UserError(f"{self.name} has no columns left to learn from{self.hint}")
        return self.table.select(kept)

    def numbers(self, name: str) -> np.ndarray:
        """Return a column as numbers, missing values as NaN."""
        values = self.table.column(name).to_pylist()
        try:
            return np.array([np.nan if value is None else float(value) for value in values])
        except (TypeError, ValueError):
            odd = next(value for value in values if not isinstance(value, (int, float, type(None))))
            raise UserError(f"column {name!r} must hold numbers, but there is {odd!r}") from None


def open_source(args: Namespace, text: Collection[str]) -> InputTable:
    """Read DATA: an existing file, the standard input, or else a data set of that name.

    Parameters
    ----------
    args : Namespace
        The parsed options, with ``data`` and the CSV format.
    text : collection of str
        The columns that are read as text.
    """
    data = args.data
    if is_read(data):
        args.progress.stage(f"reading {name_of(data)}")
        return _read_table(args, text)
    if _looks_like_file(data):
        raise UserError(f"{data}: no such file{_nearest_file(data)}")
    found = named_dataset(data)
    args.progress.stage(f"using {found!r}, since there is no file {data!r}")
    return InputTable(data, as_text(dataset_table(found), text), found.target)


# ---- files


def is_read(data: str) -> bool:
    """Return whether DATA is a file, a folder or the standard input, not the name of a data set."""
    return data == STANDARD or Path(data).exists()


def name_of(data: str) -> str:
    """Return the name of DATA in messages."""
    return STANDARD_INPUT if data == STANDARD else data


def _read_table(args: Namespace, text: Collection[str]) -> InputTable:
    """Read a file, or CSV from the standard input."""
    path = args.data
    if Path(path).is_dir():
        raise UserError(f"{path} is a folder, not a file")
    source: str | bytes = read_standard_input() if path == STANDARD else path
    if isinstance(source, str):
        format_of(source)  # an error names the endings that are known
    try:
        csv = find_format(args, source, text)
    except (OSError, ValueError) as error:
        reason = str(error).removeprefix(f"cannot read {name_of(path)}: ")
        raise UserError(f"cannot read {name_of(path)}: {reason}") from error
    name, hint = name_of(path), delimiter_hint(source, csv)
    target = getattr(args, "target", None)
    line = None if target is None or not is_csv(source) else line_with(source, csv, target)
    if line is not None and line > 1 and not hint:
        hint = f"; line {line} has {target!r}: remove the lines before it"
    try:
        table = read_whole(source, replace(csv, types=dict.fromkeys(text, "string")))
        repeated = [column for column, n in Counter(table.column_names).items() if n > 1]
    except UnicodeDecodeError as error:
        raise UserError(
            f"cannot read {name}: its header is not UTF-8 text; save the file as UTF-8"
        ) from error
    except (OSError, ValueError) as error:  # arrow's own errors are kinds of these
        raise UserError(f"cannot read {name}: {error}{hint}") from error
    if repeated:
        raise UserError(
            f"{name} has several columns with the same name: {listed(repeated)}; rename them{hint}"
        )
    if table.num_rows == 0:
        raise UserError(f"{name} has no rows")
    return InputTable(name, as_text(table, text), hint=hint)


def delimiter_hint(source: str | bytes, csv: CsvFormat) -> str:
    """Return a hint at --delimiter if the header of CSV text looks like one with another delimiter.

    Parameters
    ----------
    source : str or bytes
        A path, or the CSV text itself.
    csv : CsvFormat
        The format that the options describe.
    """
    header = _header(source)
    used = csv.delimiter or delimiter_of("" if isinstance(source, bytes) else source)
    best = max(DELIMITERS, key=header.count)
    if header.count(best) <= header.count(used):
        return ""
    shown = "\\t" if best == "\t" else best
    return f"; its header holds more '{shown}' than {used!r}: try --delimiter '{shown}'"


def _header(source: str | bytes) -> str:
    """Return the first line of CSV text; nothing if there is none that can be read."""
    if isinstance(source, bytes):
        return source[:MAX_HEADER].split(b"\n")[0].decode("latin-1")
    if not Path(source).is_file() or not has_known_ending(source) or format_of(source) is not CSV:
        return ""
    opener = gzip.open if source.lower().endswith(".gz") else open
    try:
        with opener(source, "rb") as file:
            return file.readline(MAX_HEADER).decode("latin-1")
    except (OSError, EOFError, zlib.error):
        return ""


def _looks_like_file(data: str) -> bool:
    """Return whether DATA is a path, or a name with an ending that no data set has."""
    if data.lower().startswith(OPENML):
        return False
    if has_known_ending(data) or Path(data).name != data:
        return True
    return bool(Path(data).suffix) and data not in {info.name for info in list_datasets()}


def _nearest_file(data: str) -> str:
    """Return a question about the file in the same folder whose name is most similar, if any."""
    try:
        names = [entry.name for entry in Path(data).absolute().parent.iterdir()]
    except OSError:
        return ""
    near = get_close_matches(Path(data).name, names, n=1)
    return f"; did you mean {str(Path(data).parent / near[0])!r}?" if near else ""


# ---- data sets


def named_dataset(name: str) -> Dataset:
    """Return a data set by name, its features as an arrow table; only openml: asks a server."""
    need("pyarrow")
    try:
        return load_dataset(name, as_frame="pyarrow")
    except (LookupError, ConnectionError) as error:
        if name.lower().startswith(OPENML):
            raise UserError(str(error.args[0])) from error
        near = get_close_matches(name.lower(), [info.name.lower() for info in list_datasets()], n=1)
        if near:
            hint = f"; did you mean {near[0]!r}?"
        else:
            hint = _nearest_file(name) or ": `discbayes datasets` lists them"
        raise UserError(
            f"{name!r} is neither a file nor an embedded data set{hint} ({OPENML}NAME downloads"
            " one of OpenML)"
        ) from error


def dataset_table(data: Dataset) -> Any:
    """Return the features and the class of a data set in one table."""
    return data.X.append_column(data.target, need("pyarrow").array(data.y.tolist()))


# ---- labels


def canonical(text: str) -> str:
    """Return one spelling for all texts of the same boolean or number, and any other text as it is.

    >>> [canonical(text) for text in ("TRUE", "1.0", "1.50", "10", "01.0", "red")]
    ['True', '1', '1.5', '10', '01.0', 'red']
    """
    if _DECIMAL.fullmatch(text):
        return text.rstrip("0").rstrip(".")
    return _BOOLEANS.get(text, text)


def matcher(known: Sequence[str]) -> Callable[[str], str]:
    """Return a function that maps a text to the known label that it means, or to itself.

    >>> list(map(matcher(["true", "01"]), ["True", "01", "1"]))
    ['true', '01', '1']
    """
    exact = {text: text for text in known}
    by_meaning = {canonical(text): text for text in reversed(known)}
    return lambda text: exact.get(text) or by_meaning.get(canonical(text), text)


def matched(column: Any, known: Sequence[str]) -> Any:
    """Return a column of text in the spelling of the known labels."""
    match = matcher(known)
    return _mapped(column, lambda text: None if text is None else match(text))


def as_text(table: Any, names: Collection[str]) -> Any:
    """Return the table with some of its columns as text."""
    pa = need("pyarrow")
    for place, name in enumerate(table.column_names):
        if name in names and not pa.types.is_string(table.schema.field(place).type):
            table = table.set_column(place, name, _text_column(table.column(place), name))
    return table


def _text_column(column: Any, name: str) -> Any:
    pa = need("pyarrow")
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_boolean(column.type) or pa.types.is_floating(column.type):
        # as Python prints them; NaN is missing
        return _mapped(column, lambda value: str(value) if value == value else None)
    try:
        return column.cast(pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise UserError(
            f"column {name!r} holds {column.type}, which cannot be turned into text labels"
        ) from error


def _mapped(column: Any, text_of: Callable[[Any], str | None]) -> Any:
    """Return a column of the texts that a function gives for its distinct values."""
    pa, parts = need("pyarrow"), []
    for chunk in column.chunks:
        coded = chunk.dictionary_encode()
        texts = pa.array(map(text_of, coded.dictionary.to_numpy(zero_copy_only=False)), pa.string())
        parts.append(texts.take(coded.indices))
    return pa.chunked_array(parts, pa.string())
