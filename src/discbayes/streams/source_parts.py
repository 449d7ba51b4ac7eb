"""Parts of a source that workers read on their own: rows of files by number, or partitions of Dask
collections.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from discbayes.data import row_blocks
from discbayes.data.domain import Domain, Encoded
from discbayes.data.frame_encoder import FrameEncoder
from discbayes.engine import DaskEngine
from discbayes.engine.dask import keep_shard
from discbayes.engine.shards import BlockShard
from discbayes.streams.batch_rows import BatchRows, Classes, Reader, WeightTotals, located
from discbayes.streams.batch_sources import DaskSource, partition_batch
from discbayes.streams.batches import Batch, BatchSource
from discbayes.streams.limits import Limits
from discbayes.streams.rereading import refuse_change

BLOCKS_OF_PART = 4  # that a worker reads at a time in the first pass


@dataclass(frozen=True)
class Part:
    """Some rows of a source, from number ``start`` on; a partition by its number, which Dask has
    loaded.
    """

    start: int = 0
    source: BatchSource | None = None
    partition: int = 0


@dataclass(frozen=True)
class Asked:
    """A part, and the futures of what has to be loaded for it."""

    part: Part
    futures: tuple[Any, ...] = ()


@dataclass(frozen=True)
class _Loaded:
    """A partition that was loaded, as a source."""

    batch: Batch
    name: str
    once = False

    def batches(self, limits: Limits) -> Iterator[Batch]:
        """The one that there is."""
        yield self.batch


@dataclass(frozen=True)
class Settings:
    """How workers read: what they know of the columns before they have seen any, and the bounds of
    memory.
    """

    target: str | None
    weight: str | None
    limits: Limits
    name: str
    encoder: FrameEncoder
    has_y: bool = False
    names: list[str] | None = None
    named: bool = False
    n_numeric: int | None = None

    @classmethod
    def of(cls, reader: Reader, encoder: FrameEncoder) -> Settings:
        """Those of a reader of all rows."""
        has_y = isinstance(reader.source, DaskSource) and reader.source.has_y
        return cls(
            reader.target, reader.weight, reader.limits, reader.name, _on_one_thread(encoder), has_y
        )

    def with_encoder(self, encoder: FrameEncoder) -> Settings:
        """The same with an encoder that has learned."""
        return replace(self, encoder=_on_one_thread(encoder))

    def after(self, reader: Reader, n_numeric: int) -> Settings:
        """The same with what a reader of the first rows has seen."""
        return replace(self, names=reader.names, named=reader.named, n_numeric=n_numeric)

    def reader(self, part: Part, loaded: tuple[Any, ...]) -> Reader | None:
        """The reader of a part; None if it has no rows."""
        source = part.source
        if source is None:
            if not len(loaded[0]):
                return None
            source = _Loaded(partition_batch(part.partition, loaded, self.has_y), self.name)
        reader = Reader(source, self.target, self.weight, self.limits, start=part.start)
        reader.names, reader.named = self.names, self.named
        return reader


def _on_one_thread(encoder: FrameEncoder) -> FrameEncoder:
    twin = copy(encoder)
    twin.n_jobs = 1
    return twin


@dataclass(frozen=True)
class Coder:
    """How workers turn rows into codes, once the domain and the classes are known."""

    settings: Settings
    seen: Classes
    class_codes: np.ndarray
    weighted: bool

    @property
    def domain(self) -> Domain:
        """What the codes mean."""
        return self.settings.encoder.domain_

    def coded(self, part: Part, loaded: tuple[Any, ...] = ()) -> Iterator[Encoded]:
        """The rows of a part, batch by batch."""
        reader = self.settings.reader(part, loaded)
        if reader is not None:
            yield from map(
                self._code, reader.rows(self.seen, WeightTotals(), self.settings.encoder.missing)
            )

    def _code(self, rows: BatchRows) -> Encoded:
        if len(self.seen) > self.class_codes.size:
            refuse_change(self.settings.name)
        with located(rows.where):
            codes = self.settings.encoder.encode_fitted(rows.table)
        return Encoded(
            codes, self.domain, self.class_codes[rows.y], rows.weight if self.weighted else None
        )

    def joined(self, pieces: list[Encoded]) -> Encoded:
        """Pieces one after the other."""
        codes = np.concatenate([piece.codes for piece in pieces], axis=1)
        y = np.concatenate([piece.classes for piece in pieces])
        weights = [piece.weight for piece in pieces if piece.weight is not None]
        return Encoded(codes, self.domain, y, np.concatenate(weights) if self.weighted else None)


class Parts(Protocol):
    """A source in parts; the number of rows is None where it is not known before they are read."""

    n_rows: int | None

    def each(self, engine: DaskEngine) -> Iterator[Asked]:
        """All parts, in the order of the rows."""

    def shards(self, coder: Coder, n_rows: list[int], engine: DaskEngine) -> list[Any]:
        """The coded rows as shards of blocks on the workers, where the number of rows of each part
        is known.
        """


def parts_of(reader: Reader, engine: DaskEngine) -> Parts | None:
    """The parts of what a reader reads; None if it has none, few rows, or files that not all
    workers see.
    """
    source = reader.source
    if isinstance(source, DaskSource):
        return PartitionParts(source)
    lengths = source.lengths() if hasattr(source, "lengths") else None
    if lengths is None or sum(lengths) <= row_blocks.ROWS_OF_BLOCK:
        return None
    if not engine.agrees(_see, [_mark(path) for path in source.paths]):  # type: ignore[attr-defined]
        return None
    return FileParts(source, lengths)


def _mark(path: Path) -> tuple[str, int, int]:
    """What tells a file from others of its name."""
    found = path.stat()
    return str(path), found.st_size, found.st_mtime_ns


def _see(marks: list[tuple[str, int, int]]) -> bool:
    try:
        return all(_mark(Path(mark[0])) == mark for mark in marks)
    except OSError:
        return False


def _n_blocks(n_rows: int) -> int:
    return -(-n_rows // row_blocks.ROWS_OF_BLOCK)


# ---- files


class FileParts:
    """Rows of files; workers read runs of whole blocks.

    In the first pass these are the same for every cluster, and so is what is learned of columns
    that are summarised.
    """

    def __init__(self, source: Any, lengths: list[int]):
        self._source, self._lengths = source, lengths
        self.n_rows: int | None = sum(lengths)

    def each(self, engine: DaskEngine) -> Iterator[Asked]:
        """Some blocks at a time."""
        size, n_rows = BLOCKS_OF_PART * row_blocks.ROWS_OF_BLOCK, sum(self._lengths)
        for first in range(0, n_rows, size):
            yield Asked(
                Part(first, self._source.part(self._lengths, first, min(first + size, n_rows)))
            )

    def shards(self, coder: Coder, n_rows: list[int], engine: DaskEngine) -> list[Any]:
        """Blocks that the workers read, code and keep."""
        if sum(n_rows) != self.n_rows:
            refuse_change(coder.settings.name)
        runs = engine.runs(_n_blocks(sum(n_rows)))
        source = CodedFiles(coder, self._source, self._lengths, row_blocks.ROWS_OF_BLOCK)
        each = engine.share(engine.memory, len(runs))
        return [
            engine.submit(keep_shard, BlockShard(source, *run).alone(), _itself, each)
            for run in runs
        ]


class CodedFiles:
    """The rows of files as blocks of codes, read when they are asked for.

    Reading goes on where the last block ended. ``last`` is one after the last block that is wanted,
    if not all are.
    """

    tells_where = True

    def __init__(
        self, coder: Coder, source: Any, lengths: list[int], size: int, last: int | None = None
    ):
        self._coder, self._source, self._lengths, self._size = coder, source, lengths, size
        self._n_rows = sum(lengths)
        self._last = len(self) if last is None else last
        self._pieces: Iterator[Encoded] | None = None
        self._next = 0

    def __len__(self) -> int:
        """The number of blocks."""
        return -(-self._n_rows // self._size)

    def part(self, first: int, last: int) -> CodedFiles:
        """The same, for whom wants some of the blocks only."""
        return CodedFiles(self._coder, self._source, self._lengths, self._size, last)

    def block(self, number: int) -> Encoded:
        """A block of rows."""
        if self._pieces is None or self._next != number:
            self._open(number)
        assert self._pieces is not None
        wanted = min(self._size, self._n_rows - number * self._size)
        found: list[Encoded] = []
        while wanted > 0:
            piece = next(self._pieces, None)
            if piece is None:
                refuse_change(self._coder.settings.name)
            found.append(piece)
            wanted -= piece.n_samples
        self._next = number + 1
        if self._next == self._last:
            self._pieces = None  # and with them the file
        return self._coder.joined(found)

    def _open(self, number: int) -> None:
        first, last = number * self._size, min(self._last * self._size, self._n_rows)
        self._pieces = self._coder.coded(Part(first, self._source.part(self._lengths, first, last)))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pieces": None}


def _itself(block: Encoded) -> Encoded:
    return block


# ---- partitions


class PartitionParts:
    """The partitions of a Dask collection, which Dask loads; their rows are counted in the first
    pass.
    """

    def __init__(self, source: DaskSource):
        self._partitions = source.partitions()
        self.n_rows: int | None = None

    def each(self, engine: DaskEngine) -> Iterator[Asked]:
        """The partitions; no more is loaded at a time than the workers work on."""
        for number, parts in enumerate(self._partitions):
            futures = tuple(engine.client.compute(part) for part in parts)
            yield Asked(Part(partition=number), futures)

    def shards(self, coder: Coder, n_rows: list[int], engine: DaskEngine) -> list[Any]:
        """Partitions that are coded, and put together to blocks; what the workers cannot hold, Dask
        puts on disk.
        """
        starts, size = [0, *accumulate(n_rows)], row_blocks.ROWS_OF_BLOCK
        coded = [
            engine.submit(_coded, coder, asked.part, n_rows[k], *asked.futures)
            for k, asked in enumerate(self.each(engine))
        ]
        found = []
        for first, last in engine.runs(_n_blocks(starts[-1])):
            some = [
                k
                for k in range(len(coded))
                if starts[k] < last * size and starts[k + 1] > first * size
            ]
            begin = first * size - starts[some[0]]
            taken = [coded[k] for k in some]
            found.append(engine.submit(_assembled, coder, begin, (first, last, size), *taken))
        return found


def _coded(coder: Coder, part: Part, n_rows: int, *loaded: Any) -> Encoded | None:
    """A partition in codes."""
    pieces = list(coder.coded(part, loaded))
    if sum(piece.n_samples for piece in pieces) != n_rows:
        refuse_change(coder.settings.name)
    return coder.joined(pieces) if pieces else None


def _assembled(coder: Coder, begin: int, run: tuple[int, int, int], *coded: Encoded) -> BlockShard:
    """A run of blocks, from so many rows of the first partition on."""
    first, last, size = run
    rows = slice(begin, begin + (last - first) * size)
    whole = coder.joined(list(coded))
    weight = None if whole.weight is None else whole.weight[rows]
    data = Encoded(
        np.ascontiguousarray(whole.codes[:, rows]), whole.domain, whole.classes[rows], weight
    )
    return BlockShard(row_blocks.RowsInMemory(data, first, size), first, last)
