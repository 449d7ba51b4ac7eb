"""Two passes over a source: the domain, then the codes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np

from discbayes.data.columns import Table
from discbayes.data.discretize import CutPointDiscretizer
from discbayes.data.domain import Domain, Variable
from discbayes.data.encode import FrameEncoder
from discbayes.data.fitting import resolve_discretizer
from discbayes.engine import Progress
from discbayes.streams.batches import TypesChanged
from discbayes.streams.files import CsvFormat
from discbayes.streams.learning import Learned, gather
from discbayes.streams.limits import DEFAULT_DISTINCT, DEFAULT_MEMORY, Limits
from discbayes.streams.rows import Reader, Rows, Weights, located
from discbayes.streams.sources import is_dask, open_source
from discbayes.streams.spill import BlockWriter, Spilled, layout_of
from discbayes.streams.spool import Spool
from discbayes.streams.workspace import Workspace, megabytes


def encode_source(
    source: Any,
    encoder: FrameEncoder,
    target: Any = None,
    weight: Any = None,
    *,
    memory: int = DEFAULT_MEMORY,
    max_distinct: int = DEFAULT_DISTINCT,
    folder: str | Path | None = None,
    csv: CsvFormat | None = None,
    progress: Progress | None = None,
) -> tuple[FrameEncoder, Spilled]:
    """Learn the domain of a source, and write its codes to a temporary file.

    Parameters
    ----------
    source : path, list of paths, pyarrow dataset, iterator of frames, or Dask collection
        The rows. An iterator is read once, and its rows are kept in the temporary folder for the second pass.
    encoder : FrameEncoder
        How columns become codes. It is fitted: afterwards it is as if it had seen the whole table, as long as no
        numeric column has more than ``max_distinct`` values.
    target : str or array-like, optional
        The column of the class, or the class of each row. Not needed where an iterator gives pairs (X, y).
    weight : str or array-like, optional
        The column of the weights, or the weight of each row.
    memory : int, default=512 MB
        The bytes that batches, summaries and buffers may take, beside what reading a file and the library itself take.
    max_distinct : int, default=200,000
        Up to so many distinct values a numeric column is cut as in memory; with more, it is cut on a summary whose
        error is bounded by a small share of the rows (see `discbayes.streams.quantiles`). A column of categories may
        not have more. With many columns the memory may allow fewer.
    folder : path, optional
        Where the temporary folder is made; by default where the system has its own.
    csv : CsvFormat, optional
        What CSV files do not say of themselves.
    progress : Progress, optional
        Where the passes are announced, with rows per second.

    Returns
    -------
    encoder : FrameEncoder
        The encoder, ready to transform.
    spilled : Spilled
        The codes, classes and weights on disk. Close it when it is not needed any more.
    """
    limits = Limits(memory, max_distinct)
    reader = _reader(source, target, weight, csv, limits)
    discretizer = _own_discretizer(encoder)
    said = progress or Progress()
    with ExitStack() as made:  # whatever ends it, but for success, takes the files away
        space = Workspace(folder)
        made.callback(space.close)
        spool = Spool(space) if reader.source.once else None
        if spool is not None:
            made.callback(_close_quietly, spool)
        learned = _first_pass(reader, encoder, discretizer, spool, said)
        learned.adopted_by(encoder)
        spilled = _second_pass(reader, encoder, learned, spool, space, said)
        made.pop_all()
    return encoder, spilled


def _close_quietly(spool: Spool) -> None:
    with suppress(OSError):
        spool.close()


def batches_of(
    source: Any, domain: Domain, *, memory: int = DEFAULT_MEMORY, csv: CsvFormat | None = None
) -> Iterator[tuple[Table, int]]:
    """The features of a source in batches, with the number of rows of each, in the order of the rows.

    Columns that the domain does not have are left out, so that the file of the training rows can be read as it is.
    Columns of CSV files get the types that the domain needs.
    """
    given = csv or CsvFormat()
    told = CsvFormat(given.delimiter, given.gaps, {**csv_types(domain), **given.types})
    reader = Reader(open_source(source, told), None, None, Limits(memory), wanted=domain.names)
    done = 0
    while True:
        try:
            for table in reader.tables(done):
                yield table, table.n_rows
                done += table.n_rows
            return
        except TypesChanged:  # of a column that is not read: the batches are the same when they are read again
            continue


def csv_types(domain: Domain) -> dict[str, str]:
    """The arrow types of the columns of a domain in CSV files."""
    return {variable.name: _csv_type(variable) for variable in domain.features}


def _csv_type(variable: Variable) -> str:
    if variable.kind == "boolean":
        return "bool"
    text = variable.cuts is None and all(isinstance(value, str) for value in variable.values)
    return "string" if text else "double"


def _reader(source: Any, target: Any, weight: Any, csv: CsvFormat | None, limits: Limits) -> Reader:
    """Classes and weights that are Dask collections come partition by partition with the rows."""
    along = {key: value for key, value in (("y", target), ("weight", weight)) if is_dask(value)}
    opened = open_source(source, csv, **along)
    return Reader(opened, None if "y" in along else target, None if "weight" in along else weight, limits)


def _own_discretizer(encoder: FrameEncoder) -> CutPointDiscretizer | None:
    discretizer = resolve_discretizer(encoder.discretizer, encoder.n_jobs)
    if discretizer is None or isinstance(discretizer, CutPointDiscretizer):
        return discretizer
    raise TypeError(
        f"the discretizer {type(discretizer).__name__} wants all values of a column at once, which are not in memory "
        'here: use "mdlp" or "equal-frequency", or cut the columns beforehand'
    )


def _first_pass(
    reader: Reader, encoder: FrameEncoder, discretizer: CutPointDiscretizer | None, spool: Spool | None, said: Progress
) -> Learned:
    while True:
        try:
            return _learn(reader, encoder, discretizer, spool, said)
        except TypesChanged:
            said.step("a column of a CSV file has another type than it had at first: beginning again")


def _learn(
    reader: Reader, encoder: FrameEncoder, discretizer: CutPointDiscretizer | None, spool: Spool | None, said: Progress
) -> Learned:
    pace = Pace("first pass (values)", said)

    def note(rows: Rows) -> None:
        if spool is not None:
            spool.write(rows)
        pace.add(rows.table.n_rows)

    gathered = gather(reader, encoder, discretizer, note)
    if spool is not None:
        spool.close()
    pace.end()
    return gathered.learned(encoder)


def _second_pass(
    reader: Reader, encoder: FrameEncoder, learned: Learned, spool: Spool | None, space: Workspace, said: Progress
) -> Spilled:
    domain = encoder.domain_
    layout = layout_of(domain, learned.n_rows, learned.weighted)
    path, pace = space.path / "codes", Pace("second pass (codes)", said)
    gaps = np.zeros(len(domain.features), dtype=np.int64)
    space.require(layout.size, "the codes")
    rows_again = reader.rows(learned.seen, Weights(), encoder.missing) if spool is None else spool.read()
    with space.writing(layout.size, "the codes"), open(path, "wb") as file:
        writer = BlockWriter(file, layout, reader.limits.buffer_rows(layout.n_features, layout.dtype.itemsize))
        for rows in rows_again:
            codes = _coded(encoder, rows, reader)
            gaps += (codes == domain.cards.astype(codes.dtype)[:, None]).sum(axis=1)
            if writer.total + rows.y.size > learned.n_rows or len(learned.seen) > learned.class_codes.size:
                _refuse_change(reader)
            writer.write(codes, learned.class_codes[rows.y], rows.weight)
            pace.add(rows.y.size)
        writer.flush()
    if writer.n_rows != learned.n_rows or not np.array_equal(gaps, learned.known_gaps(domain)):
        _refuse_change(reader)
    if spool is not None:
        spool.remove()
    pace.end(f", {megabytes(layout.size)} on disk")
    return Spilled(path, layout, domain, learned.classes, gaps, learned.rank_error, space, reader.named)


def _coded(encoder: FrameEncoder, rows: Rows, reader: Reader) -> np.ndarray:
    with located(rows.where):
        if not rows.y.size:
            return np.zeros((len(encoder.domain_.features), 0), dtype=np.uint8)
        return encoder.encode_fitted(rows.table)


def _refuse_change(reader: Reader) -> None:
    raise RuntimeError(f"{reader.source.name} has changed between the two passes: fit again while nobody writes to it")


class Pace:
    """How many rows were read, and how fast: a stage at the end, steps about every ten seconds."""

    def __init__(self, what: str, said: Progress):
        self._what, self._said = what, said
        self._n_rows = 0
        self._started = self._shown = time.perf_counter()

    def add(self, n_rows: int) -> None:
        """Count rows."""
        self._n_rows += n_rows
        if time.perf_counter() - self._shown > 10:
            self._shown = time.perf_counter()
            self._said.stage(self._text())

    def end(self, more: str = "") -> None:
        """Say how it went."""
        self._said.stage(self._text() + more)

    def _text(self) -> str:
        seconds = max(1e-9, time.perf_counter() - self._started)
        return f"{self._what}: {self._n_rows:,} rows, {self._n_rows / seconds:,.0f} rows per second"
