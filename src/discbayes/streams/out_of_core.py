"""Two passes over a source: the domain, then the codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from discbayes.data.discretize import CutPointDiscretizer
from discbayes.data.domain import Domain, Variable
from discbayes.data.frame_encoder import FrameEncoder
from discbayes.data.table import Table
from discbayes.data.targets import warn_of_shares
from discbayes.data.variables import resolve_discretizer
from discbayes.engine import DaskEngine, Progress
from discbayes.streams.batch_rows import BatchRows, Reader, WeightTotals, located
from discbayes.streams.batch_sources import is_dask, open_source
from discbayes.streams.batches import TypesChanged
from discbayes.streams.cluster_codes import ClusterCodes, encode_on_cluster
from discbayes.streams.disk_codes import BlockWriter, DiskCodes, layout_of
from discbayes.streams.file_sources import CsvFormat
from discbayes.streams.learned_domain import ColumnStatistics, LearnedDomain, gather
from discbayes.streams.limits import DEFAULT_DISTINCT, DEFAULT_MEMORY, Limits
from discbayes.streams.rereading import KeyFile, RereadRows, RowReader, refuse_change
from discbayes.streams.throughput import Throughput
from discbayes.streams.workspace import Workspace, megabytes


def open_rows(
    source: Any,
    target: Any = None,
    weight: Any = None,
    *,
    memory: int = DEFAULT_MEMORY,
    max_distinct: int = DEFAULT_DISTINCT,
    folder: str | Path | None = None,
    csv: CsvFormat | None = None,
) -> RereadRows:
    """The rows of a source, to go over as often as is needed.

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
        The bytes that batches, summaries and buffers may take, beside what reading a file and the
        library itself take.
    max_distinct : int, default=200,000
        Up to so many distinct values a numeric column is cut as in memory; with more, it is cut on
        a summary whose error is bounded by a small share of the rows (see
        `discbayes.streams.quantiles`). A column of categories may not have more. With many columns
        the memory may allow fewer.
    folder : path, optional
        Where the temporary folder is made; by default where the system has its own.
    csv : CsvFormat, optional
        What CSV files do not say of themselves.
    """
    return RereadRows(reader_of(source, target, weight, csv, Limits(memory, max_distinct)), folder)


def encode_rows(
    reading: RowReader,
    encoder: FrameEncoder,
    folder: str | Path | None = None,
    progress: Progress | None = None,
    keys: KeyFile | None = None,
    ready: Callable[[], None] = lambda: None,
    engine: DaskEngine | None = None,
) -> tuple[FrameEncoder, DiskCodes | ClusterCodes]:
    """Learn the domain of rows, and write their codes to a temporary file.

    Where there is an ``engine``, its workers read the rows if they can, and keep the codes. Without
    keys, that is.

    Parameters
    ----------
    reading : ManyRows
        The rows.
    encoder : FrameEncoder
        How columns become codes. It is fitted: afterwards it is as if it had seen the whole table,
        as long as no numeric column has more than ``max_distinct`` values.
    folder : path, optional
        Where the temporary folder is made; by default where the system has its own.
    progress : Progress, optional
        Where the passes are announced, with rows per second.
    keys : KeyFile, optional
        Where the keys of the rows are noted.
    ready : callable
        Called between the passes.
    engine : DaskEngine, optional
        The cluster.

    Returns
    -------
    encoder : FrameEncoder
        The encoder, ready to transform.
    rows : Spilled or SpreadRows
        The codes, classes and weights. Close it when it is not needed any more.
    """
    discretizer = _own_discretizer(encoder)
    said = progress or Progress()
    if engine is not None and keys is None and isinstance(reading, RereadRows):
        spread = encode_on_cluster(reading.reader, encoder, discretizer, engine, said)
        if spread is not None:
            return encoder, spread
    learned = _first_pass(reading, encoder, discretizer, said, keys)
    learned.adopted_by(encoder)
    if keys is not None:
        keys.settle(learned.class_codes)
    ready()
    with ExitStack() as made:  # whatever ends it, but for success, takes the file away
        space = Workspace(folder)
        made.callback(space.close)
        spilled = _second_pass(reading, encoder, learned, space, said, keys)
        made.pop_all()
    return encoder, spilled


def batches_of(
    source: Any, domain: Domain, *, memory: int = DEFAULT_MEMORY, csv: CsvFormat | None = None
) -> Iterator[tuple[Table, int]]:
    """The features of a source in batches, with the number of rows of each, in the order of the
    rows.

    Columns that the domain does not have are left out, so that the file of the training rows can be
    read as it is. Columns of CSV files get the types that the domain needs.
    """
    given = csv or CsvFormat()
    told = replace(given, types={**csv_types(domain), **given.types})
    reader = Reader(open_source(source, told), None, None, Limits(memory), wanted=domain.names)
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
    """The arrow types of the columns of a domain in CSV files."""
    return {variable.name: _csv_type(variable) for variable in domain.features}


def _csv_type(variable: Variable) -> str:
    if variable.kind == "boolean":
        return "bool"
    text = variable.cuts is None and all(isinstance(value, str) for value in variable.values)
    return "string" if text else "double"


def reader_of(
    source: Any,
    target: Any,
    weight: Any,
    csv: CsvFormat | None,
    limits: Limits,
    wanted: list[str] | None = None,
) -> Reader:
    """What reads a source; classes and weights that are Dask collections come partition by
    partition with the rows.
    """
    along = {key: value for key, value in (("y", target), ("weight", weight)) if is_dask(value)}
    opened = open_source(source, csv, **along)
    target, weight = (
        None if key in along else given for key, given in (("y", target), ("weight", weight))
    )
    return Reader(opened, target, weight, limits, wanted)


def _own_discretizer(encoder: FrameEncoder) -> CutPointDiscretizer | None:
    discretizer = resolve_discretizer(encoder.discretizer, encoder.n_jobs)
    if discretizer is None or isinstance(discretizer, CutPointDiscretizer):
        return discretizer
    raise TypeError(
        f"the discretizer {type(discretizer).__name__} wants all values of a column at once, which"
        ' are not in memory here: use "mdlp" or "equal-frequency", or cut the columns beforehand'
    )


def _first_pass(
    reading: RowReader,
    encoder: FrameEncoder,
    discretizer: CutPointDiscretizer | None,
    said: Progress,
    keys: KeyFile | None,
) -> LearnedDomain:
    while True:
        try:
            gathered = _gathered(reading, encoder, discretizer, said, keys)
        except TypesChanged:
            said.step(
                "a column of a CSV file has another type than it had at first: beginning again"
            )
            continue
        if not (isinstance(reading, RereadRows) and reading.take_for_shares(gathered.weights)):
            return gathered.learned(encoder)
        warn_of_shares()
        said.step("the weights are shares of rows: beginning again, with a mean of 1")


def _gathered(
    reading: RowReader,
    encoder: FrameEncoder,
    discretizer: CutPointDiscretizer | None,
    said: Progress,
    keys: KeyFile | None,
) -> ColumnStatistics:
    pace = Throughput("first pass (values)", said)
    if keys is not None:
        keys.begin()

    def note(rows: BatchRows) -> None:
        if keys is not None:
            keys.look(rows)
        pace.add(rows.table.n_rows, rows.share)

    gathered = gather(reading, encoder, discretizer, note)
    pace.end()
    return gathered


def _second_pass(
    reading: RowReader,
    encoder: FrameEncoder,
    learned: LearnedDomain,
    space: Workspace,
    said: Progress,
    keys: KeyFile | None,
) -> DiskCodes:
    domain = encoder.domain_
    layout = layout_of(domain, learned.n_rows, learned.weighted)
    path, pace = space.path / "codes", Throughput("second pass (codes)", said, learned.n_rows)
    gaps = np.zeros(len(domain.features), dtype=np.int64)
    space.require(layout.size, "the codes")
    with space.writing(layout.size, "the codes"), open(path, "wb") as file:
        writer = BlockWriter(
            file, layout, reading.limits.buffer_rows(layout.n_features, layout.dtype.itemsize)
        )
        for rows in reading.rows(learned.seen, WeightTotals(), encoder.missing):
            codes = _coded(encoder, rows)
            gaps += (codes == domain.cards.astype(codes.dtype)[:, None]).sum(axis=1)
            if (
                writer.total + rows.y.size > learned.n_rows
                or len(learned.seen) > learned.class_codes.size
            ):
                refuse_change(reading.name)
            writer.write(codes, learned.class_codes[rows.y], rows.weight)
            if keys is not None:
                keys.write(rows, learned.class_codes[rows.y], learned.weighted)
            pace.add(rows.y.size)
        writer.flush()
    if writer.n_rows != learned.n_rows or not np.array_equal(gaps, learned.known_missing(domain)):
        refuse_change(reading.name)
    pace.end(f", {megabytes(layout.size)} on disk")
    return DiskCodes(
        path, layout, domain, learned.classes, gaps, learned.rank_error, space, reading.named
    )


def _coded(encoder: FrameEncoder, rows: BatchRows) -> np.ndarray:
    with located(rows.where):
        if not rows.y.size:
            return np.zeros((len(encoder.domain_.features), 0), dtype=np.uint8)
        return encoder.encode_fitted(rows.table)
