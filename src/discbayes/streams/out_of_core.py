"""Learning a domain and encoding in two passes over a source, and predicting in one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from discbayes._text import listed
from discbayes.data.discretize import DISCRETIZERS, CutPointDiscretizer
from discbayes.data.domain import Domain, Variable
from discbayes.data.frame_encoder import EVERY_ROW, FrameEncoder, refuse_missing
from discbayes.data.table import Table
from discbayes.data.targets import refuse_zero_weights, warn_of_shares
from discbayes.data.variables import resolve_discretizer
from discbayes.engine import DaskEngine, Progress
from discbayes.streams.batch_rows import (
    BatchRows,
    Classes,
    Reader,
    WeightTotals,
    refuse_change,
)
from discbayes.streams.batch_sources import is_dask, open_source
from discbayes.streams.batches import DEFAULT_DISTINCT, DEFAULT_MEMORY, Limits, TypesChanged
from discbayes.streams.cluster_codes import ClusterCodes, encode_on_cluster
from discbayes.streams.csv_format import CsvFormat
from discbayes.streams.disk_codes import BlockWriter, DiskCodes, Workspace, layout_of, megabytes
from discbayes.streams.learned_domain import ColumnStatistics, LearnedDomain, collect_statistics
from discbayes.streams.rereading import KeyFile, RereadRows, WithoutHeldOut
from discbayes.streams.throughput import Throughput

Result = TypeVar("Result")


def open_rows(
    source: Any,
    target: Any = None,
    weight: Any = None,
    *,
    memory: int = DEFAULT_MEMORY,
    max_distinct: int = DEFAULT_DISTINCT,
    folder: str | Path | None = None,
    csv: CsvFormat | None = None,
    dates: FrameEncoder | None = None,
) -> RereadRows:
    """Open the rows of a source, to be read as often as needed.

    Parameters
    ----------
    source : path, list of paths, pyarrow dataset, iterator of frames, or Dask collection
        The rows. An iterator is read once, and its rows are kept in the temporary folder.
    target : str or array-like, optional
        The column of the class, or the class of each row. Not needed where an iterator gives pairs
        (X, y).
    weight : str or array-like, optional
        The column of the weights, or the weight of each row.
    memory : int, default=512 MB
        The bytes that batches, summaries and buffers may take, in addition to those of reading a
        file and of the library itself.
    max_distinct : int, default=200,000
        The number of distinct values up to which a numeric column is discretized as in memory;
        with more, it is discretized by a summary whose error is bounded by a small share of the
        rows (see `discbayes.streams.quantiles`). A column of categories may not have more. With
        many columns the memory may allow fewer.
    folder : path, optional
        The folder in which the temporary folder is created; by default that of the system.
    csv : CsvFormat, optional
        How to parse CSV files.
    dates : FrameEncoder, optional
        How dates become columns; without it they are refused.

    Returns
    -------
    reading : RereadRows
        The rows. Close it when it is not needed any more.
    """
    return RereadRows(
        reader_of(source, target, weight, csv, Limits(memory, max_distinct), dates=dates), folder
    )


def reader_of(
    source: Any,
    target: Any,
    weight: Any,
    csv: CsvFormat | None,
    limits: Limits,
    wanted: list[str] | None = None,
    some_columns: bool = False,
    dates: FrameEncoder | Domain | None = None,
) -> Reader:
    """Return the reader of a source; Dask classes and weights come with its partitions."""
    y = target if is_dask(target) else None
    dask_weight = weight if is_dask(weight) else None
    return Reader(
        open_source(source, csv, y, dask_weight),
        target if y is None else None,
        weight if dask_weight is None else None,
        limits,
        wanted,
        some_columns=some_columns,
        dates=dates,
    )


# ---- two passes: the domain, then the codes


def encode_rows(
    reading: RereadRows | WithoutHeldOut,
    encoder: FrameEncoder,
    folder: str | Path | None = None,
    progress: Progress | None = None,
    keys: KeyFile | None = None,
    ready: Callable[[], None] = lambda: None,
    engine: DaskEngine | None = None,
) -> tuple[FrameEncoder, DiskCodes | ClusterCodes]:
    """Learn the domain of rows, and write their codes to a temporary file.

    With an ``engine`` and without ``keys``, the workers of the cluster read the rows, if they can,
    and keep the codes.

    Parameters
    ----------
    reading : RereadRows or WithoutHeldOut
        The rows.
    encoder : FrameEncoder
        How columns become codes. It is fitted, as if it had seen the whole table as long as no
        numeric column has more than ``max_distinct`` values.
    folder : path, optional
        The folder in which the temporary folder is created; by default that of the system.
    progress : Progress, optional
        The display of the passes, with rows per second.
    keys : KeyFile, optional
        The file to which the keys of the rows are written.
    ready : callable
        Called between the passes.
    engine : DaskEngine, optional
        The cluster.

    Returns
    -------
    encoder : FrameEncoder
        The encoder, ready to transform.
    rows : DiskCodes or ClusterCodes
        The codes, classes and weights. Close it when it is not needed any more.
    """
    discretizer = bounded_discretizer(encoder)
    shown = progress or Progress()
    if engine is not None and keys is None and isinstance(reading, RereadRows):
        codes = encode_on_cluster(reading.reader, encoder, discretizer, engine, shown)
        if codes is not None:
            return encoder, codes
    learned = _first_pass(reading, encoder, discretizer, shown, keys)
    if keys is not None:
        keys.settle(learned.class_codes)
    ready()
    with ExitStack() as made:  # removes the file unless all of it is written
        space = Workspace(folder)
        made.callback(space.close)
        found = _second_pass(reading, learned, space, shown, keys)
        made.pop_all()
    return encoder, found


def bounded_discretizer(encoder: FrameEncoder) -> CutPointDiscretizer | None:
    """Return the discretizer of an encoder; refuse one that needs all values of a column."""
    discretizer = resolve_discretizer(encoder.discretizer, encoder.n_jobs)
    if discretizer is None or isinstance(discretizer, CutPointDiscretizer):
        return discretizer
    raise TypeError(
        f"the discretizer {type(discretizer).__name__} needs all values of a column at once, which"
        f" are not in memory here: use one of {listed(DISCRETIZERS)}, or discretize the columns"
        " beforehand"
    )


def _first_pass(
    reading: RereadRows | WithoutHeldOut,
    encoder: FrameEncoder,
    discretizer: CutPointDiscretizer | None,
    progress: Progress,
    keys: KeyFile | None,
) -> LearnedDomain:
    while True:
        try:
            statistics = _statistics(reading, encoder, discretizer, progress, keys)
        except TypesChanged:
            progress.step(
                "a column of a CSV file has another type than it had at first: beginning again"
            )
            continue
        if not (isinstance(reading, RereadRows) and reading.scale_shares(statistics.weights)):
            return statistics.learn_domain(encoder)
        warn_of_shares()
        progress.step("the weights are shares of rows: beginning again, with a mean of 1")


def _statistics(
    reading: RereadRows | WithoutHeldOut,
    encoder: FrameEncoder,
    discretizer: CutPointDiscretizer | None,
    progress: Progress,
    keys: KeyFile | None,
) -> ColumnStatistics:
    throughput = Throughput("first pass (values)", progress)
    if keys is not None:
        keys.begin()

    def note(rows: BatchRows) -> None:
        if keys is not None:
            keys.look(rows)
        throughput.add(rows.table.n_rows, rows.share)

    statistics = collect_statistics(reading.reader, reading.rows, encoder, discretizer, note)
    throughput.end()
    return statistics


def _second_pass(
    reading: RereadRows | WithoutHeldOut,
    learned: LearnedDomain,
    space: Workspace,
    progress: Progress,
    keys: KeyFile | None,
) -> DiskCodes:
    reader, domain = reading.reader, learned.domain
    layout = layout_of(domain, learned.n_rows, learned.weighted)
    path = space.path / "codes"
    throughput = Throughput("second pass (codes)", progress, learned.n_rows)
    n_missing = np.zeros(len(domain.features), dtype=np.int64)
    space.require(layout.size, "the codes")
    with space.writing(layout.size, "the codes"), open(path, "wb") as file:
        buffer_rows = reader.limits.buffer_rows(layout.n_features, layout.dtype.itemsize)
        writer = BlockWriter(file, layout, buffer_rows)
        for rows, data in learned.encode(reading.rows, reader.name):
            n_missing += data.n_missing
            writer.write(data.codes, data.classes, data.weight)
            if keys is not None:
                keys.write(rows, data.classes, learned.weighted)
            throughput.add(rows.y.size)
        writer.flush()
    if writer.n_rows != learned.n_rows or not np.array_equal(n_missing, learned.missing_codes()):
        refuse_change(reader.name)
    throughput.end(f", {megabytes(layout.size)} on disk")
    return DiskCodes(
        path, layout, domain, learned.encoder.classes_, n_missing, learned.rank_error, space,
        reader.named,
    )  # fmt: skip


# ---- one pass, of which nothing is kept


class LabeledRows:
    """The rows of a source with their labels, batch by batch.

    Parameters
    ----------
    source, target, weight
        As in `open_rows`.
    memory : int
        The bytes that batches may take.
    domain : Domain, optional
        The domain of a model: other columns are left out, and columns of CSV files get the types
        that it needs.
    some_columns : bool, default=False
        Whether rows may lack some columns of the domain.
    """

    def __init__(
        self,
        source: Any,
        target: Any,
        weight: Any,
        memory: int,
        domain: Domain | None = None,
        some_columns: bool = False,
        dates: FrameEncoder | None = None,
    ):
        csv, wanted = None, None
        if domain is not None:
            csv, wanted = CsvFormat(types=_labeled_types(domain, target)), domain.columns
        limits, how = Limits(memory), dates if domain is None else domain
        self._reader = reader_of(source, target, weight, csv, limits, wanted, some_columns, how)

    @property
    def names(self) -> list[str]:
        """The columns, once rows were read."""
        return self._reader.names or []

    @property
    def named(self) -> bool:
        """Whether the columns have names of their own."""
        return self._reader.named

    @property
    def target_name(self) -> Any:
        """The name of the target, if there is one."""
        return self._reader.target_name

    def read(self, function: Callable[[Iterator[BatchRows]], Result], missing: str) -> Result:
        """Return the result of a function of all batches.

        It is called again, from the first batch on, if the type of a CSV column has changed.
        """
        while True:
            try:
                return function(self._batches(missing))
            except TypesChanged:
                continue

    def _batches(self, missing: str) -> Iterator[BatchRows]:
        classes, weights = Classes(), WeightTotals()
        n_rows, n_dropped = 0, np.zeros(0)
        for rows in self._reader.rows(classes, weights, missing):
            n_rows += rows.y.size
            if rows.dropped_missing is not None:
                n_dropped = rows.dropped_missing + (n_dropped if n_dropped.size else 0.0)
            if rows.y.size:
                labels, position = classes.sorted()
                yield replace(rows, y=labels[position][rows.y])
        if not weights.n_positive:
            refuse_zero_weights()
        if not n_rows:
            refuse_missing(self.names, n_dropped.astype(int), EVERY_ROW)


def batches_of(
    source: Any,
    domain: Domain,
    *,
    memory: int = DEFAULT_MEMORY,
    csv: CsvFormat | None = None,
    some_columns: bool = False,
) -> Iterator[tuple[Table, int]]:
    """Yield the features of a source in batches, with the number of rows of each.

    Columns that the domain does not have are left out, so that the file of the training rows can be
    read as it is. Columns of CSV files get the types that the domain needs. With ``some_columns``
    rows may lack some of its columns.
    """
    given = csv or CsvFormat()
    typed = replace(given, types={**csv_types(domain), **given.types})
    limits, names = Limits(memory), domain.columns
    opened = open_source(source, typed)
    reader = Reader(opened, None, None, limits, names, some_columns=some_columns, dates=domain)
    done = 0
    while True:
        try:
            for table in reader.tables(done):
                yield table, table.n_rows
                done += table.n_rows
            return
        # of a column that is not read: the batches are the same when they are read again
        except TypesChanged:
            continue


def csv_types(domain: Domain) -> dict[str, str]:
    """Return the arrow types of the columns of a domain in CSV files."""
    plain = (variable for variable in domain.features if variable.date is None)
    return {variable.name: _csv_type(variable) for variable in plain}


def _csv_type(variable: Variable) -> str:
    if variable.kind == "boolean":
        return "bool"
    text = variable.cuts is None and all(isinstance(value, str) for value in variable.values)
    return "string" if text else "double"


def _labeled_types(domain: Domain, target: Any) -> dict[str, str]:
    """Return the types of features and target in CSV files; labels may look like numbers."""
    types = csv_types(domain)
    if isinstance(target, str) and all(isinstance(value, str) for value in domain.target.values):
        types[target] = "string"
    return types
