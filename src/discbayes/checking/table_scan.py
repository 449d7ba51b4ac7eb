"""One reading of a table, a batch of rows at a time, in memory that does not grow with its rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from discbayes._lazy_imports import need
from discbayes.checking.column_scan import ColumnScan
from discbayes.data.table_reader import as_frame
from discbayes.engine import Progress
from discbayes.streams import Throughput
from discbayes.streams.batches import Limits
from discbayes.streams.csv_format import CsvFormat
from discbayes.streams.file_sources import (
    CSV,
    RaggedRows,
    delimiter_of,
    format_of,
    list_files,
    open_csv_texts,
)
from discbayes.streams.text_detection import TextLayout, detect_layout

SAMPLE_ROWS = 20_000  # rows that are kept to compare columns with the classes
MAX_ROW_KEYS = 1_000_000
_BATCH_ROWS = 1 << 16


@dataclass
class TableScan:
    """The statistics of one reading of a table.

    Attributes
    ----------
    name : str
        The table in messages.
    columns : list of ColumnScan
        The columns, in their order.
    layout : TextLayout or None
        The encoding and delimiter of CSV text.
    csv : CsvFormat or None
        How the text was read.
    sample : pyarrow.Table
        Every n-th row, as text.
    """

    name: str
    columns: list[ColumnScan]
    layout: TextLayout | None = None
    csv: CsvFormat | None = None
    ragged: RaggedRows = field(default_factory=RaggedRows)
    n_rows: int = 0
    n_duplicate_rows: int = 0
    sample: Any = None
    typed_dates: frozenset[str] = frozenset()
    _step: int = 1
    _row_keys: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    @property
    def repeated_names(self) -> list[str]:
        """The names that several columns have."""
        return [name for name, times in Counter(self.names).items() if times > 1]

    @property
    def n_compared_rows(self) -> int:
        """The number of rows that duplicates were looked for among."""
        return min(self.n_rows, MAX_ROW_KEYS)

    def column(self, name: str) -> ColumnScan:
        """Return a column by its name."""
        return self.columns[self.names.index(name)]

    def add(self, texts: list[Any]) -> None:
        """Add a batch: the texts of each column."""
        row_keys = np.zeros(len(texts[0]), dtype=np.uint64)
        for place, (column, values) in enumerate(zip(self.columns, texts, strict=True)):
            with np.errstate(over="ignore"):
                row_keys += column.add(values) * np.uint64(2 * place + 1)
        self._count_duplicates(row_keys)
        self._keep_some(texts)
        self.n_rows += len(texts[0])

    def _keep_some(self, texts: list[Any]) -> None:
        """Keep every n-th row, where n is doubled whenever too many are kept."""
        pa = need("pyarrow")
        rows = np.arange(-self.n_rows % self._step, len(texts[0]), self._step)
        names = [str(place) for place in range(len(texts))]
        some = pa.table([values.take(pa.array(rows)) for values in texts], names=names)
        self.sample = some if self.sample is None else pa.concat_tables([self.sample, some])
        while self.sample.num_rows > SAMPLE_ROWS:
            self._step *= 2
            self.sample = self.sample.take(pa.array(np.arange(0, self.sample.num_rows, 2)))

    def _count_duplicates(self, keys: np.ndarray) -> None:
        keys = keys[: max(0, MAX_ROW_KEYS - self.n_rows)]
        if keys.size:
            together = np.union1d(self._row_keys, keys)
            self.n_duplicate_rows += self._row_keys.size + keys.size - together.size
            self._row_keys = together


def scan_file(
    path: str | Path | bytes, csv: CsvFormat, name: str, progress: Progress | None = None
) -> TableScan:
    """Read a file, a folder of files or CSV text once.

    Parameters
    ----------
    path : path or bytes
        The file or folder, or CSV text.
    csv : CsvFormat
        What is known of the format; its encoding and delimiter are found where they are None.
    name : str
        The table in messages.
    progress : Progress, optional
        The display.
    """
    files: list[Any] = [path] if isinstance(path, bytes) else list(list_files(path))
    throughput = Throughput("checking", progress or Progress())
    scan: TableScan | None = None
    for file in files:
        if isinstance(file, bytes) or format_of(file) is CSV:
            scan = _scan_csv(file, csv, name, scan, throughput, len(files) == 1)
        else:
            for batch in format_of(file).batches(file, Limits()):
                scan = _add_table(scan or _empty(batch.frame, name), batch.frame)
                throughput.add(batch.frame.num_rows, batch.share)
    throughput.end()
    if scan is None or not scan.names:
        raise ValueError(f"{name} has no columns")
    return scan


def text_size(file: Any, encoding: str) -> int | None:
    """Return about how many bytes a text has as UTF-8; None if it is compressed.

    >>> text_size(b"a,b\\n", "utf-8"), text_size("a,b\\n".encode("utf-16-le"), "utf-16-le")
    (4, 4)
    """
    if not isinstance(file, bytes) and str(file).lower().endswith(".gz"):
        return None
    size = len(file) if isinstance(file, bytes) else Path(file).stat().st_size
    return max(1, size // 2 if encoding.startswith("utf-16") else size)


def _scan_csv(
    file: Any,
    csv: CsvFormat,
    name: str,
    scan: TableScan | None,
    throughput: Throughput,
    is_all: bool,
) -> TableScan:
    layout = detect_layout(file, csv.encoding)
    delimiter = csv.delimiter or layout.delimiter
    delimiter = delimiter or delimiter_of("" if isinstance(file, bytes) else file)
    known = CsvFormat(delimiter, csv.missing_values, encoding=layout.encoding)
    ragged = RaggedRows() if scan is None else scan.ragged
    n_known = len(ragged.first)
    reader, names = open_csv_texts(file, known, ragged)
    if scan is None:
        scan = TableScan(name, [ColumnScan(each) for each in names], layout, known, ragged)
    elif names != scan.names:
        raise ValueError(f"{file} has other columns than the files before: {names}")
    size, n_read = text_size(file, layout.encoding) if is_all else None, 0
    for batch in reader:
        scan.add(batch.columns)
        # characters, and a sign after each cell
        cells = batch.num_rows * batch.num_columns
        n_read += sum(column.nbytes for column in batch.columns) - 3 * cells
        throughput.add(batch.num_rows, None if size is None else min(1.0, n_read / size))
    ragged.find_lines(file, known, n_known)
    return scan


def scan_frame(X: Any, name: str = "the table") -> TableScan:
    """Read a frame, an array or a list of rows once."""
    table = arrow_of(X)
    scan = _empty(table, name)
    for start in range(0, max(1, table.num_rows), _BATCH_ROWS):
        _add_table(scan, table.slice(start, _BATCH_ROWS))
    return scan


def arrow_of(X: Any) -> Any:
    """Return a frame, an array or a list of rows as an arrow table."""
    pa = need("pyarrow")
    if isinstance(X, pa.Table):
        return X
    frame = as_frame(X)
    if frame is not None:
        return pa.table(
            [_arrow_column(frame.get_column(key)) for key in frame.columns],
            names=[str(key) for key in frame.columns],
        )
    array = np.asarray(X, dtype=None if hasattr(X, "dtype") else object)
    if array.ndim != 2:
        raise ValueError("X must be a table with rows and columns")
    return pa.table(
        [_plain_array(column.tolist()) for column in array.T],
        names=[f"x{place}" for place in range(array.shape[1])],
    )


def _arrow_column(series: nw.Series[Any]) -> Any:
    try:
        return series.to_arrow()
    except (TypeError, ValueError):  # objects of several types
        return _plain_array(series.to_list())


def _plain_array(values: list[Any]) -> Any:
    pa = need("pyarrow")
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values], pa.string())


def _empty(table: Any, name: str) -> TableScan:
    types = need("pyarrow").types
    dates = [field.name for field in table.schema if types.is_temporal(field.type)]
    columns = [ColumnScan(each) for each in table.column_names]
    return TableScan(name, columns, typed_dates=frozenset(dates))


def _add_table(scan: TableScan, table: Any) -> TableScan:
    if table.num_rows:
        scan.add([_texts(column) for column in table.columns])
    return scan


def _texts(column: Any) -> Any:
    """Return a column of any type as an array of texts; NaN is missing."""
    pa, compute = need("pyarrow"), need("pyarrow.compute")
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        column = compute.if_else(compute.is_nan(column), None, column)
    try:
        texts = column.cast(pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        values = column.to_pylist()
        texts = pa.chunked_array([[None if v is None else str(v) for v in values]], pa.string())
    found = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    return found if not isinstance(found, pa.ChunkedArray) else found.chunk(0)
