"""Parts of a source that workers read on their own: ranges of rows of files, or Dask partitions."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from discbayes.data import row_blocks
from discbayes.data.domain import Encoded
from discbayes.data.frame_encoder import FrameEncoder
from discbayes.engine import DaskEngine
from discbayes.engine.dask import itself, keep_shard
from discbayes.engine.shards import BlockShard
from discbayes.streams.batch_rows import Reader, refuse_change
from discbayes.streams.batch_sources import DaskSource, partition_batch
from discbayes.streams.batches import Batch, BatchSource, Limits
from discbayes.streams.learned_domain import LearnedDomain

BLOCKS_OF_PART = 4  # that a worker reads at a time in the first pass


@dataclass(frozen=True)
class Part:
    """Some rows of a source, from number ``start`` on; or the partition of some number."""

    start: int = 0
    source: BatchSource | None = None
    partition: int = 0


Request = tuple[Part, tuple[Any, ...]]
"""A part, and the futures of the data that Dask loads for it."""


@dataclass(frozen=True)
class _LoadedPartition:
    """A partition that was loaded, as a source of one batch."""

    batch: Batch
    name: str
    once = False

    def batches(self, limits: Limits) -> Iterator[Batch]:
        """Yield the batch."""
        yield self.batch


@dataclass(frozen=True)
class PartReader:
    """How workers read parts: what is known of the columns, and the bounds on memory."""

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
    def of(cls, reader: Reader, encoder: FrameEncoder) -> PartReader:
        """Return that of a reader of all rows."""
        has_y = isinstance(reader.source, DaskSource) and reader.source.has_y
        own = _on_one_thread(encoder)
        return cls(reader.target, reader.weight, reader.limits, reader.name, own, has_y)

    def open(self, part: Part, loaded: tuple[Any, ...]) -> Reader | None:
        """Return the reader of a part; None if it has no rows."""
        source = part.source
        if source is None:
            if not len(loaded[0]):
                return None
            batch = partition_batch(part.partition, loaded, self.has_y)
            source = _LoadedPartition(batch, self.name)
        reader = Reader(
            source, self.target, self.weight, self.limits, start=part.start, dates=self.encoder
        )
        reader.names, reader.named = self.names, self.named
        return reader


def _on_one_thread(encoder: FrameEncoder) -> FrameEncoder:
    own = copy(encoder)
    own.n_jobs = 1
    return own


class PartEncoder:
    """How workers encode parts by a domain that was learned from all rows."""

    def __init__(self, part_reader: PartReader, learned: LearnedDomain):
        self.part_reader = part_reader
        self.learned = replace(learned, encoder=_on_one_thread(learned.encoder))

    @property
    def name(self) -> str:
        """The name of the source in messages."""
        return self.part_reader.name

    def encode(self, part: Part, loaded: tuple[Any, ...] = ()) -> Iterator[Encoded]:
        """Yield the codes of the rows of a part, batch by batch."""
        reader = self.part_reader.open(part, loaded)
        if reader is not None:
            for _, data in self.learned.encode(reader.rows, self.name):
                yield data


class Parts(Protocol):
    """A source in parts; ``n_rows`` is None where it is not known before the rows are read."""

    n_rows: int | None

    def requests(self, engine: DaskEngine) -> Iterator[Request]:
        """Yield all parts, in the order of the rows."""

    def shards(self, encoder: PartEncoder, n_rows: list[int], engine: DaskEngine) -> list[Any]:
        """Return shards of encoded blocks on the workers; ``n_rows`` are those of each part."""


def parts_of(reader: Reader, engine: DaskEngine) -> Parts | None:
    """Return the parts of a source; None if it has none or few rows, or workers do not see it."""
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
    """Return what identifies a version of a file."""
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
    """Ranges of rows of files; a worker reads whole blocks.

    The ranges of the first pass do not depend on the cluster, so the summaries of columns with very
    many values do not either.
    """

    def __init__(self, source: Any, lengths: list[int]):
        self._source = source
        self._lengths = lengths
        self.n_rows: int | None = sum(lengths)

    def requests(self, engine: DaskEngine) -> Iterator[Request]:
        """Yield ranges of some blocks each."""
        size, n_rows = BLOCKS_OF_PART * row_blocks.ROWS_OF_BLOCK, sum(self._lengths)
        for first in range(0, n_rows, size):
            rows = self._source.part(self._lengths, first, min(first + size, n_rows))
            yield Part(first, rows), ()

    def shards(self, encoder: PartEncoder, n_rows: list[int], engine: DaskEngine) -> list[Any]:
        """Return shards of blocks that the workers read, encode and keep."""
        if sum(n_rows) != self.n_rows:
            refuse_change(encoder.name)
        runs = engine.runs(_n_blocks(sum(n_rows)))
        source = EncodedFiles(encoder, self._source, self._lengths, row_blocks.ROWS_OF_BLOCK)
        memory = engine.share(engine.memory, len(runs))
        return [
            engine.submit(keep_shard, BlockShard(source, *run).alone(), itself, memory)
            for run in runs
        ]


class EncodedFiles:
    """The rows of files as blocks of codes, read when they are needed.

    Blocks that follow each other are read without opening the files again. ``last`` is one after
    the last block that is needed; None where all are.
    """

    tells_where = True

    def __init__(
        self,
        encoder: PartEncoder,
        source: Any,
        lengths: list[int],
        size: int,
        last: int | None = None,
    ):
        self._encoder = encoder
        self._source = source
        self._lengths = lengths
        self._size = size
        self._n_rows = sum(lengths)
        self._last = len(self) if last is None else last
        self._pieces: Iterator[Encoded] | None = None
        self._next = 0

    def __len__(self) -> int:
        """The number of blocks."""
        return -(-self._n_rows // self._size)

    def part(self, first: int, last: int) -> EncodedFiles:
        """Return the same rows, where only some of the blocks are needed."""
        return EncodedFiles(self._encoder, self._source, self._lengths, self._size, last)

    def block(self, number: int) -> Encoded:
        """Return a block of rows."""
        if self._pieces is None or self._next != number:
            self._open(number)
        assert self._pieces is not None
        n_left = min(self._size, self._n_rows - number * self._size)
        found: list[Encoded] = []
        while n_left > 0:
            piece = next(self._pieces, None)
            if piece is None:
                refuse_change(self._encoder.name)
            found.append(piece)
            n_left -= piece.n_samples
        self._next = number + 1
        if self._next == self._last:
            self._pieces = None  # closes the file
        return row_blocks.joined(found)

    def _open(self, number: int) -> None:
        first, last = number * self._size, min(self._last * self._size, self._n_rows)
        rows = self._source.part(self._lengths, first, last)
        self._pieces = self._encoder.encode(Part(first, rows))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pieces": None}


# ---- partitions


class PartitionParts:
    """The partitions of a Dask collection; their rows are counted in the first pass."""

    def __init__(self, source: DaskSource):
        self._partitions = source.partitions()
        self.n_rows: int | None = None

    def requests(self, engine: DaskEngine) -> Iterator[Request]:
        """Yield the partitions; workers load no more of them at a time than they work on."""
        for number, parts in enumerate(self._partitions):
            yield Part(partition=number), tuple(engine.client.compute(part) for part in parts)

    def shards(self, encoder: PartEncoder, n_rows: list[int], engine: DaskEngine) -> list[Any]:
        """Return shards of encoded partitions; Dask keeps on disk what workers cannot hold."""
        starts, size = [0, *accumulate(n_rows)], row_blocks.ROWS_OF_BLOCK
        encoded = [
            engine.submit(_encode_partition, encoder, part, n_rows[k], *futures)
            for k, (part, futures) in enumerate(self.requests(engine))
        ]
        found = []
        for first, last in engine.runs(_n_blocks(starts[-1])):
            overlapping = [
                k
                for k in range(len(encoded))
                if starts[k] < last * size and starts[k + 1] > first * size
            ]
            begin = first * size - starts[overlapping[0]]
            pieces = [encoded[k] for k in overlapping]
            found.append(engine.submit(_assemble, begin, (first, last, size), *pieces))
        return found


def _encode_partition(
    encoder: PartEncoder, part: Part, n_rows: int, *loaded: Any
) -> Encoded | None:
    pieces = list(encoder.encode(part, loaded))
    if sum(piece.n_samples for piece in pieces) != n_rows:
        refuse_change(encoder.name)
    return row_blocks.joined(pieces) if pieces else None


def _assemble(begin: int, run: tuple[int, int, int], *encoded: Encoded) -> BlockShard:
    """Return a run of blocks, from row ``begin`` of the first partition on."""
    first, last, size = run
    whole = row_blocks.joined(encoded)
    data = whole.take(np.arange(begin, min(whole.n_samples, begin + (last - first) * size)))
    return BlockShard(row_blocks.RowsInMemory(data, first, size), first, last)
