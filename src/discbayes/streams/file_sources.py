"""Files and folders of files as sources: Parquet, CSV, and Arrow or Feather.

The ending of a file's name tells its kind. `FileSource` reads files in batches, `read_whole` reads
one as a table.
"""

from __future__ import annotations

import csv as csv_module
import io
import os
import re
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

from discbayes._lazy_imports import need
from discbayes._text import count_of, listed
from discbayes.data.targets import DataWarning
from discbayes.streams.batches import Batch, Limits, TypesChanged
from discbayes.streams.csv_format import CsvFormat
from discbayes.streams.text_detection import opened

TRUE = ("true", "True", "TRUE")
FALSE = ("false", "False", "FALSE")
# of pyarrow
_CONVERSION_ERROR = (
    r"CSV column #(\d+): (?:Row #\d+: )?CSV conversion error.*: invalid value '(.*)'"
)
_TOO_LONG = "straddling object"  # of pyarrow, of a row that does not fit in a block
_RAGGED_WAY_OUT = "correct them, or leave them out with --skip-ragged"
MAX_TITLE_LINES = 50  # among which a header is looked for
_RAGGED_SHOWN = 3
STANDARD_TEXT = "the standard input"  # where CSV text has no file
_BUFFER = 1 << 20
# bytes of CSV that are parsed at a time, in which a row must fit, where a file is read as a whole
_WHOLE_BLOCKS = (1 << 20, 1 << 25, (1 << 31) - 1)
_TEXT_BLOCKS = (1 << 22, *_WHOLE_BLOCKS[1:])  # where it is scanned as text
# as arrow guesses types itself
_WIDER = {"null": "int64", "int64": "double", "bool": "string", "double": "string"}


def list_files(path: str | Path) -> list[Path]:
    """Return the files of a path: itself, or those of a folder in the order of their names."""
    path = Path(path)
    if not path.is_dir():
        if not path.exists():
            remote = ":/" in str(path)
            way_out = ": pass a pyarrow dataset for data that is elsewhere" if remote else ""
            raise FileNotFoundError(f"there is no file or folder {str(path)!r}{way_out}")
        return [path]
    found = sorted(entry for entry in path.iterdir() if not entry.name.startswith((".", "_")))
    for entry in found:
        if entry.is_dir():
            raise ValueError(
                f"the folder {str(path)!r} holds a folder, {entry.name!r}: pass a list of files, or"
                " pyarrow.dataset.dataset(folder) if the names of folders mean something"
            )
    if not found:
        raise ValueError(f"the folder {str(path)!r} holds no files")
    return found


class FileSource:
    """Rows of files, one file after the other."""

    once = False

    def __init__(self, paths: Sequence[str | Path], csv: CsvFormat | None = None):
        self.paths = [file for path in paths for file in list_files(path)]
        self._csv = csv or CsvFormat()
        self._formats = [format_of(path) for path in self.paths]
        self._types: dict[Path, dict[str, str]] = {}

    @property
    def name(self) -> str:
        """The name in messages: the first file, and the number of the others."""
        more = f" and {len(self.paths) - 1} more files" if len(self.paths) > 1 else ""
        return f"{self.paths[0]}{more}"

    def batches(self, limits: Limits) -> Iterator[Batch]:
        """Yield all rows, file by file."""
        need("pyarrow")
        sizes = [path.stat().st_size if path.exists() else 0 for path in self.paths]
        before, total = 0, max(1, sum(sizes))
        for path, kind, size in zip(self.paths, self._formats, sizes, strict=True):
            for batch in self._file_batches(path, kind, limits):
                share = None if batch.share is None else (before + batch.share * size) / total
                yield replace(batch, share=share)
            before += size

    def _file_batches(self, path: Path, kind: FileFormat, limits: Limits) -> Iterator[Batch]:
        """Yield the rows of a file; their share is that of the file."""
        if kind is CSV:
            types = self._types.setdefault(path, self._csv.column_types)
            return _csv_batches(path, limits, self._csv, types)
        return kind.batches(path, limits)

    def lengths(self) -> list[int] | None:
        """Return the number of rows of each file; None if it is not stored in all of them."""
        found = list[int]()
        for path, kind in zip(self.paths, self._formats, strict=True):
            length = None if kind.length is None else kind.length(path)
            if length is None:
                return None
            found.append(length)
        return found

    def part(self, lengths: list[int], first: int, last: int) -> FileRange:
        """Return some of the rows, where the lengths of the files are known."""
        return FileRange(self.paths, lengths, first, last, self.name)


@dataclass(frozen=True)
class FileRange:
    """Rows from ``first`` up to, and without, ``last`` of Parquet and Arrow files.

    Rows are numbered over all files.
    """

    paths: list[Path]
    lengths: list[int]
    first: int
    last: int
    name: str
    once = False

    def batches(self, limits: Limits) -> Iterator[Batch]:
        """Yield the rows, file by file."""
        need("pyarrow")
        start = 0
        for path, length in zip(self.paths, self.lengths, strict=True):
            first, last = max(0, self.first - start), min(length, self.last - start)
            if first < last:
                yield from _between(format_of(path).batches(path, limits, first), first, last)
            start += length


def _between(batches: Iterator[Batch], first: int, last: int) -> Iterator[Batch]:
    """Yield some rows of the batches of a file."""
    for batch in batches:
        skipped = max(0, first - batch.first_row)
        size = min(batch.frame.num_rows, last - batch.first_row) - skipped
        if size > 0:
            yield replace(
                batch, frame=batch.frame.slice(skipped, size), first_row=batch.first_row + skipped
            )
        if batch.first_row + batch.frame.num_rows >= last:
            return


@contextmanager
def _reading(where: str) -> Iterator[None]:
    """Name the file in errors of reading it."""
    try:
        yield
    # arrow's own are kinds of these
    except (OSError, ValueError, EOFError, NotImplementedError, zlib.error) as error:
        if isinstance(error, UnicodeDecodeError) or "invalid UTF8" in str(error):
            raise OSError(
                f"cannot read {where}: it is not UTF-8 text; save it as UTF-8, or name its"
                " encoding with --encoding"
            ) from error
        reason = " ".join(str(error).split()).rstrip(".")
        raise OSError(
            f"cannot read {where}: {reason}. If it was cut short, write it again, or leave it out"
        ) from error


def tables_of(where: str, batches: Iterator[Any]) -> Iterator[Any]:
    """Yield batches as tables, and name the file in errors of reading them."""
    table_of = need("pyarrow").Table.from_batches
    while True:
        with _reading(where):
            batch = next(batches, None)
        if batch is None:
            return
        yield table_of([batch])


def open_file(path: str | Path) -> Any:
    """Open a file for pyarrow, decompressed if its name ends with .gz.

    The name is passed as bytes, since pyarrow would not open a text that is not UTF-8.
    """
    pa = need("pyarrow")
    file = pa.OSFile(os.fsencode(path))
    return pa.CompressedInputStream(file, "gzip") if str(path).lower().endswith(".gz") else file


def read_whole(source: str | Path | bytes, csv: CsvFormat | None = None) -> Any:
    """Read a file as one arrow table.

    Parameters
    ----------
    source : path or bytes
        The file, whose ending tells its kind (`FILE_ENDINGS`); bytes are the text of a CSV file.
    csv : CsvFormat, optional
        How to parse CSV.

    Returns
    -------
    table : pyarrow.Table
        All rows.

    Raises
    ------
    OSError, ValueError
        If the file cannot be read; the message does not name it.
    """
    if isinstance(source, bytes) or format_of(source) is CSV:
        return _read_csv(source, csv or CsvFormat())
    return format_of(source).read_whole(source)


# ---- Parquet


def _read_parquet(path: str | Path) -> Any:
    with _open(path) as file:
        return need("pyarrow.parquet").read_table(file)


def _read_arrow(path: str | Path) -> Any:
    with _open(path) as file:
        return _open_arrow(file).read_all()


def _parquet_batches(path: Path, limits: Limits, begin: int = 0) -> Iterator[Batch]:
    """Yield the batches of a Parquet file, from the row group on that holds row ``begin``.

    Small row groups are read together.
    """
    parquet = need("pyarrow.parquet")
    with _reading(str(path)):
        with open_file(path) as opened, parquet.ParquetFile(opened) as plain:
            metadata, text = plain.metadata, _text_columns(plain.schema_arrow)
        opened = open_file(path)
        file = parquet.ParquetFile(
            opened, metadata=metadata, read_dictionary=sorted(text), buffer_size=_BUFFER
        )
    rows = limits.batch_rows(metadata.num_columns)
    starts = [
        0,
        *accumulate(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)),
    ]
    with opened, file:
        for first, last in _row_groups(metadata, rows):
            groups = f"row group {first}" if first == last else f"row groups {first} to {last}"
            where = f"{path}, {groups}"
            wanted = [group for group in range(first, last + 1) if starts[group + 1] > begin]
            if not wanted:
                continue
            first_row = starts[wanted[0]]
            for table in tables_of(where, file.iter_batches(batch_size=rows, row_groups=wanted)):
                end = first_row + table.num_rows
                yield Batch(table, where, first_row, text=text, share=end / metadata.num_rows)
                first_row = end


def _row_groups(metadata: Any, rows: int) -> Iterator[tuple[int, int]]:
    """Yield the first and last of consecutive row groups that have enough rows together."""
    first, size = 0, 0
    for group in range(metadata.num_row_groups):
        size += metadata.row_group(group).num_rows
        if size >= rows or group == metadata.num_row_groups - 1:
            yield first, group
            first, size = group + 1, 0


def _parquet_length(path: Path) -> int:
    with _reading(str(path)), open_file(path) as file:
        return int(need("pyarrow.parquet").read_metadata(file).num_rows)


def _text_columns(schema: Any) -> frozenset[str]:
    types = need("pyarrow").types
    return frozenset(
        field.name
        for field in schema
        if types.is_string(field.type) or types.is_large_string(field.type)
    )


# ---- Arrow


def _arrow_batches(path: Path, limits: Limits, begin: int = 0) -> Iterator[Batch]:
    """Yield all batches of an Arrow or Feather file, or of a stream of Arrow batches."""
    first_row = 0
    with _reading(str(path)):
        file = open_file(path)
    with file:
        with _reading(str(path)):
            batches, n_batches = _stored_batches(_open_arrow(file))
        for number, table in enumerate(tables_of(str(path), batches)):
            share = (number + 1) / n_batches if n_batches else file.tell() / max(1, file.size())
            yield Batch(table, f"{path}, batch {number}", first_row, share=share)
            first_row += table.num_rows


def _open_arrow(file: Any) -> Any:
    """Return the reader of an Arrow file, or of a stream, which has no number of batches."""
    pa, ipc = need("pyarrow"), need("pyarrow.ipc")
    try:
        return ipc.open_file(file)
    except pa.ArrowInvalid:
        file.seek(0)
        return ipc.open_stream(file)


def _stored_batches(reader: Any) -> tuple[Iterator[Any], int | None]:
    """Return the batches of an Arrow file or stream, and how many there are if that is known."""
    n_batches = getattr(reader, "num_record_batches", None)
    if n_batches is None:
        return iter(reader), None
    return (reader.get_batch(number) for number in range(n_batches)), n_batches


def _arrow_length(path: Path) -> int | None:
    """Return the number of rows of a file; None for a stream, which does not store it."""
    with _reading(str(path)), need("pyarrow").memory_map(os.fsencode(path)) as file:
        batches, n_batches = _stored_batches(_open_arrow(file))
        return None if n_batches is None else sum(batch.num_rows for batch in batches)


# ---- CSV


def _csv_batches(
    path: Path, limits: Limits, csv: CsvFormat, types: dict[str, str]
) -> Iterator[Batch]:
    """Yield the batches of a CSV file, whose types are inferred from its first rows.

    Where a later value does not fit, the type is widened: `types` is changed, and the rows must be
    read again.

    """
    first_row, n_bytes = 0, 0
    reader, begin = None, 0
    block = limits.csv_bytes
    seen: dict[str, str] = {}
    compressed = path.name.lower().endswith(".gz")
    size = path.stat().st_size
    while True:
        try:
            if reader is None:
                reader = _open_csv(path, block, csv, {**seen, **types}, begin)
            batch = next(reader, None)
        except (OSError, ValueError) as error:
            # read on from here, in larger blocks
            if _is_too_long(error) and block < limits.longest_row:
                if reader is not None:
                    seen = {field.name: str(field.type) for field in reader.schema}
                reader, begin = None, first_row
                block = limits.longest_row
                continue
            if reader is not None:
                _widen(error, reader.schema, types, csv.column_types)
            with _reading(f"{path}, after row {first_row}" if first_row else str(path)):
                if _is_ragged(error):
                    raise ValueError(f"{error}; {_RAGGED_WAY_OUT}") from error
                if _is_too_long(error):
                    raise ValueError(
                        _too_long_message(block, "set memory to more (--memory)")
                    ) from error
                raise
        if batch is None:
            return
        table = need("pyarrow").Table.from_batches([batch])
        _check_text(path, table.schema)
        try:
            table = csv.parsed(table, first_row)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        n_bytes += block
        share = None if compressed else min(1.0, n_bytes / size)
        yield Batch(table, str(path), first_row, text=_text_columns(table.schema), share=share)
        first_row += table.num_rows


def _is_too_long(error: Exception) -> bool:
    """Return whether pyarrow could not parse a row since it does not fit in one block of bytes."""
    return _TOO_LONG in str(error)


def _too_long_message(block: int, way_out: str) -> str:
    return (
        f"a row has more than {block:,} bytes, perhaps since a quotation mark is opened and never"
        f" closed. If the row is right, {way_out}"
    )


def _open_csv(path: Path, block: int, csv: CsvFormat, types: dict[str, str], skipped: int) -> Any:
    """Return a reader of the batches of a file, from a row on."""
    arrow_csv = need("pyarrow.csv")
    read = arrow_csv.ReadOptions(
        block_size=block, skip_rows_after_names=skipped, encoding=csv.encoding or "utf8"
    )
    ragged = RaggedRows() if csv.skips_ragged else None
    return arrow_csv.open_csv(open_file(path), read, *_csv_options(path, csv, types, ragged))


def open_csv_texts(
    source: str | Path | bytes, csv: CsvFormat, ragged: RaggedRows
) -> tuple[Iterator[Any], list[str]]:
    """Return batches of CSV cells as texts, whatever they look like, and the names of the columns.

    Columns are named by their numbers in the batches, since names may be repeated.

    Parameters
    ----------
    source : path or bytes
        The file, or its text.
    csv : CsvFormat
        How to parse it.
    ragged : RaggedRows
        It collects rows with too many or too few cells, which are left out.
    """
    pa, arrow_csv = need("pyarrow"), need("pyarrow.csv")
    path = "" if isinstance(source, bytes) else source
    parse, convert = _csv_options(path, csv, {}, ragged)
    encoding = csv.encoding or "utf8"
    where = str(path) or STANDARD_TEXT

    # the first block is read again, and rows that are left out are counted then
    of_header, _ = _csv_options(path, csv, {}, RaggedRows())
    names = _header_names(source, of_header, encoding, where)
    numbered = [str(place) for place in range(len(names))]
    convert.column_types = dict.fromkeys(numbered, pa.string())

    def batches_after(n_rows: int, block: int) -> Iterator[Any]:
        read = arrow_csv.ReadOptions(
            block_size=block,
            encoding=encoding,
            column_names=numbered,
            skip_rows=1,
            skip_rows_after_names=n_rows,
        )
        return iter(arrow_csv.open_csv(_open(source), read, parse, convert))

    return _text_batches(where, batches_after), names


def _header_names(source: str | Path | bytes, parse: Any, encoding: str, where: str) -> list[str]:
    arrow_csv = need("pyarrow.csv")
    for block in _TEXT_BLOCKS:
        with _reading(where), _open(source) as file:
            try:
                read = arrow_csv.ReadOptions(block_size=block, encoding=encoding)
                names: list[str] = arrow_csv.open_csv(file, read, parse).schema.names
                return names
            except ValueError as error:
                if not _is_too_long(error):
                    raise
    raise OSError(_too_long_message(_TEXT_BLOCKS[-1], "leave its column out of the file"))


def _text_batches(where: str, batches_after: Callable[[int, int], Iterator[Any]]) -> Iterator[Any]:
    """Yield batches; from a row on that is longer than a block, blocks are larger."""
    n_rows = 0
    for block in _TEXT_BLOCKS:
        batches = None
        while True:
            with _reading(where):
                try:
                    batches = batches or batches_after(n_rows, block)
                    batch = next(batches, None)
                except ValueError as error:
                    if not _is_too_long(error) or block == _TEXT_BLOCKS[-1]:
                        raise
                    break
            if batch is None:
                return
            n_rows += batch.num_rows
            yield batch


class RaggedRows:
    """Rows with too many or too few cells, which pyarrow reports while it reads, and leaves out.

    Attributes
    ----------
    n_rows : int
        The number of such rows.
    first : list of (line, expected, actual, text)
        The first of them; the line is None where pyarrow does not count it.
    """

    def __init__(self) -> None:
        self.n_rows = 0
        self.first: list[tuple[int | None, int, int, str]] = []

    def __call__(self, row: Any) -> str:
        self.n_rows += 1
        if len(self.first) < _RAGGED_SHOWN:
            self.first.append((row.number, row.expected_columns, row.actual_columns, row.text))
        return "skip"

    def find_lines(self, source: str | Path | bytes, csv: CsvFormat, n_known: int = 0) -> None:
        """Find the lines of the rows that are kept, of which the first ones may be known.

        It reads the text again, up to the last of them.
        """
        if any(line is None for line, *_ in self.first[n_known:]):
            lines = _ragged_lines(source, csv, self.first[n_known][1])
            for place, line in zip(range(n_known, len(self.first)), lines, strict=False):
                self.first[place] = (line, *self.first[place][1:])

    def describe(self) -> str:
        """Return the rows as the beginning of a sentence."""
        shown = [
            f"{'a line' if line is None else f'line {line}'} has {count_of(actual, 'cell')}"
            f" ({text!r:.60})"
            for line, _, actual, text in self.first
        ]
        more = ", …" if self.n_rows > len(shown) else ""
        return (
            f"{count_of(self.n_rows, 'row')} with too many or too few cells, where the header has"
            f" {self.first[0][1]}: {', '.join(shown)}{more}"
        )


def _ragged_lines(source: str | Path | bytes, csv: CsvFormat, n_cells: int) -> Iterator[int]:
    """Yield the numbers of the lines on which rows with other numbers of cells begin."""
    return (line for line, row in _lines(source, csv) if row and len(row) != n_cells)


def line_with(source: str | Path | bytes, csv: CsvFormat, cell: str) -> int | None:
    """Return the first of the first lines that has a cell; None if there is none.

    >>> line_with(b"Ward 3;\\n\\nage;sick\\n", CsvFormat(";"), "sick")
    3
    """
    some = islice(_lines(source, csv), MAX_TITLE_LINES)
    return next((line for line, row in some if cell in row), None)


def _lines(source: str | Path | bytes, csv: CsvFormat) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row, and the number of the line on which it begins."""
    delimiter = csv.delimiter or delimiter_of("" if isinstance(source, bytes) else source)
    with opened(source) as file:
        encoding = {None: "utf-8-sig", "utf-8": "utf-8-sig"}.get(csv.encoding, csv.encoding)
        text = io.TextIOWrapper(file, encoding, "replace", newline="")
        rows = csv_module.reader(text, delimiter=delimiter)
        first = 1
        with suppress(csv_module.Error, OSError, EOFError, zlib.error):
            for row in rows:
                yield first, row
                first = rows.line_num + 1


def _is_ragged(error: Exception) -> bool:
    """Return whether pyarrow found a row with too many or too few cells."""
    return "CSV parse error: Expected" in str(error) or (
        "CSV parse error: Row" in str(error) and "columns, got" in str(error)
    )


def _csv_options(
    path: str | Path, csv: CsvFormat, types: dict[str, str], ragged: RaggedRows | None = None
) -> tuple[Any, Any]:
    """Return how pyarrow splits CSV text into cells, and how it converts the cells."""
    pa, arrow_csv = need("pyarrow"), need("pyarrow.csv")
    parse = arrow_csv.ParseOptions(
        delimiter=csv.delimiter or delimiter_of(path),
        invalid_row_handler=ragged,
    )
    convert = arrow_csv.ConvertOptions(
        null_values=list(csv.missing_values),
        true_values=list(TRUE),
        false_values=list(FALSE),
        strings_can_be_null=True,
        decimal_point=csv.decimal,
        column_types={name: pa.type_for_alias(kind) for name, kind in types.items()},
    )
    return parse, convert


def _read_csv(source: str | Path | bytes, csv: CsvFormat) -> Any:
    """Return CSV text as one table."""
    ragged = RaggedRows() if csv.skips_ragged else None
    try:
        table = _parse_csv(source, csv, csv.column_types, ragged)
    except ValueError as error:
        if _is_ragged(error):
            _refuse_ragged(source, csv, error)
        # a column of text that is not UTF-8 is named by its number only: as bytes it can be read
        if not csv.column_types or "UTF8" not in str(error):
            raise
        table = _parse_csv(source, csv, {}, ragged)
    if ragged is not None and ragged.n_rows:
        warnings.warn(f"left out {ragged.describe()}", DataWarning, stacklevel=3)
    try:
        binary = _binary_columns(table.schema)
    except UnicodeDecodeError as error:
        raise ValueError("its header is not UTF-8 text; save the file as UTF-8") from error
    if binary:
        raise ValueError(
            f"it is not UTF-8 text in {listed(binary)}; save the file as UTF-8, or name its"
            " encoding with --encoding"
        )
    return csv.parsed(table)


def _refuse_ragged(source: str | Path | bytes, csv: CsvFormat, error: Exception) -> None:
    """Raise the error for rows with too many or too few cells, all of which are looked for."""
    ragged = RaggedRows()
    _parse_csv(source, csv, csv.column_types, ragged)
    if ragged.n_rows:
        raise ValueError(f"{ragged.describe()}; {_RAGGED_WAY_OUT}") from error


def _parse_csv(
    source: str | Path | bytes,
    csv: CsvFormat,
    types: dict[str, str],
    ragged: RaggedRows | None = None,
) -> Any:
    arrow_csv, path = need("pyarrow.csv"), "" if isinstance(source, bytes) else source
    parse, convert = _csv_options(path, csv, types, ragged)
    # only one thread counts the lines
    more = {"use_threads": ragged is None, "encoding": csv.encoding or "utf8"}
    for block in _WHOLE_BLOCKS:
        try:
            with _open(source) as file:
                read = arrow_csv.ReadOptions(block_size=block, **more)
                return arrow_csv.read_csv(file, read, parse, convert)
        except ValueError as error:
            if not _is_too_long(error):
                raise
    raise ValueError(_too_long_message(_WHOLE_BLOCKS[-1], "leave its column out of the file"))


def _open(source: str | Path | bytes) -> Any:
    if isinstance(source, bytes):
        return need("pyarrow").BufferReader(source)
    return open_file(source)


def _widen(error: Exception, schema: Any, types: dict[str, str], given: dict[str, str]) -> None:
    """Give the column that an error names the next wider type, and request the rows again."""
    found = re.search(_CONVERSION_ERROR, str(error), re.DOTALL)
    if found is None:
        return
    column = schema.field(int(found.group(1)))
    wider = _WIDER.get(str(column.type))
    if wider == "int64" and found.group(2) in (*TRUE, *FALSE):
        wider = "bool"
    if wider is not None and column.name not in given:
        types[column.name] = wider
        raise TypesChanged from error


def _check_text(path: Path, schema: Any) -> None:
    binary = _binary_columns(schema)
    if binary:
        raise ValueError(f"{path} is not UTF-8 text in column {binary[0]!r}: save it as UTF-8")


def _binary_columns(schema: Any) -> list[str]:
    """Return the columns whose text pyarrow took for bytes, since it is not UTF-8."""
    is_binary = need("pyarrow").types.is_binary
    return [field.name for field in schema if is_binary(field.type)]


@dataclass(frozen=True)
class FileFormat:
    """A kind of file that can be read.

    Parameters
    ----------
    name : str
        The name of the format.
    batches : callable
        ``batches(path, limits, first_row=0)`` yields `Batch` objects; CSV takes how to parse it
        too.
    read_whole : callable
        ``read_whole(path)`` returns all rows as a frame or an arrow table.
    length : callable, optional
        ``length(path)`` returns the number of rows, where it is stored in the file.
    """

    name: str
    batches: Callable[..., Iterator[Batch]]
    read_whole: Callable[[Any], Any]
    length: Callable[[Path], int | None] | None = None


PARQUET = FileFormat("parquet", _parquet_batches, _read_parquet, _parquet_length)
ARROW = FileFormat("arrow", _arrow_batches, _read_arrow, _arrow_length)
CSV = FileFormat("csv", _csv_batches, partial(_read_csv, csv=CsvFormat()))

FILE_ENDINGS: dict[str, FileFormat] = {
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".csv": CSV,
    ".csv.gz": CSV,
    ".tsv": CSV,
    ".tsv.gz": CSV,
    ".arrow": ARROW,
    ".arrows": ARROW,
    ".feather": ARROW,
}


def has_known_ending(path: str | Path) -> bool:
    """Return whether the ending of a name is that of a file that can be read."""
    return Path(path).name.lower().endswith(tuple(FILE_ENDINGS))


def format_of(path: str | Path) -> FileFormat:
    """Return the format of a file by its name."""
    name = Path(path).name.lower()
    found = next((kind for ending, kind in FILE_ENDINGS.items() if name.endswith(ending)), None)
    if found is None:
        raise ValueError(f"{path}: unknown file ending; the endings are {', '.join(FILE_ENDINGS)}")
    return found


def delimiter_of(path: str | Path) -> str:
    """Return the character between the cells of a CSV file, by its name."""
    return "\t" if Path(path).name.lower().endswith((".tsv", ".tsv.gz")) else ","
