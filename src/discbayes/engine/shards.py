"""Sums over blocks of rows with the same bits wherever the blocks are and whoever adds them.

Results are combined as a binary tree over the numbers of the blocks: blocks 0 and 1, 2 and 3, …,
then the results of 0-1 and 2-3, and so on. A shard, any run of consecutive blocks, gives the
results of the largest whole subtrees in it; the rest of the tree is added up where the shards come
together, in whatever order they arrive.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, Protocol

from discbayes._temporary import TemporaryFolder

Combine = Callable[[Any, Any], Any]


class ShardSource(Protocol):
    """A source of blocks, which are numbered from 0 on.

    The errors of one with ``tells_where`` tell where they occurred.
    """

    def __len__(self) -> int: ...

    def block(self, number: int) -> Any:
        """Return one block."""


class Shard(Protocol):
    """Consecutive blocks, or what is kept of them."""

    @property
    def numbers(self) -> range:
        """The numbers of the blocks."""

    def item(self, number: int) -> Any:
        """Return the item of a block."""


class Node(NamedTuple):
    """The result of the blocks ``place · 2^level`` to ``(place + 1) · 2^level - 1``."""

    level: int
    place: int
    value: Any

    @property
    def first(self) -> int:
        """The number of the first block."""
        return self.place << self.level


class ReductionTree:
    """Reduction of the results of blocks: each is combined with its neighbor once both exist."""

    def __init__(self, combine: Combine):
        self._combine = combine
        self._open: dict[tuple[int, int], Any] = {}
        self._lock = Lock()

    def add(self, node: Node) -> None:
        """Add a result, from any thread and in any order."""
        level, place, value = node
        while True:
            with self._lock:
                if (level, place ^ 1) not in self._open:
                    self._open[level, place] = value
                    return
                other = self._open.pop((level, place ^ 1))
            # outside the lock: other threads add their results meanwhile
            value = self._combine(other, value) if place & 1 else self._combine(value, other)
            level, place = level + 1, place >> 1

    def nodes(self) -> list[Node]:
        """Return the results without a neighbor yet, in the order of the blocks."""
        return sorted(
            (Node(*at, value) for at, value in self._open.items()), key=lambda node: node.first
        )

    def result(self) -> Any:
        """Return the combination of all results.

        Those without a neighbor, as the number of blocks is not a power of two, are combined from
        the first on.
        """
        nodes = self.nodes()
        if not nodes:
            raise ValueError("there are no blocks to work on")
        value = nodes[0].value
        for node in nodes[1:]:
            value = self._combine(value, node.value)
        return value


@dataclass(frozen=True)
class BlockShard:
    """Consecutive blocks of a source."""

    source: ShardSource
    first: int
    last: int

    @property
    def numbers(self) -> range:
        """The numbers of the blocks."""
        return range(self.first, self.last)

    def item(self, number: int) -> Any:
        """Return a block, read when it is needed; an error names the file."""
        if getattr(self.source, "tells_where", False):
            return self.source.block(number)
        try:
            return self.source.block(number)
        except (OSError, ValueError) as error:
            raise OSError(
                f"block {number} of {_name_of(self.source)} cannot be read: {error}"
            ) from error

    def alone(self) -> BlockShard:
        """Return the same blocks with no others of the source, to be sent to another process."""
        part = getattr(self.source, "part", None)
        if part is None:
            return self
        return BlockShard(part(self.first, self.last), self.first, self.last)


def _name_of(source: ShardSource) -> str:
    path = getattr(source, "path", None)
    return "the rows in memory" if path is None else str(path)


@dataclass(frozen=True)
class MappedShard:
    """A function of the items of a shard and their numbers, called each time they are needed."""

    shard: Shard
    function: Callable[[Any, int], Any]

    @property
    def numbers(self) -> range:
        """The numbers of the blocks."""
        return self.shard.numbers

    def item(self, number: int) -> Any:
        """Return the result of the function for a block."""
        return self.function(self.shard.item(number), number)


class KeptShard:
    """What was made of consecutive blocks, kept in memory or in a temporary folder.

    If the disk is full, what cannot be written is made again when it is needed. A copy that is sent
    to another process has what is in memory; the folder is removed with the shard that created it.

    Parameters
    ----------
    shard : Shard
        The blocks.
    make : callable
        What is made of a block; it has ``nbytes``.
    memory : float
        The bytes that may be kept in memory.
    place : str, optional
        The folder in which the temporary folder is created; by default that of the system.
    """

    def __init__(
        self, shard: Shard, make: Callable[[Any], Any], memory: float, place: str | None = None
    ):
        self.shard = shard
        self.make = make
        self._place = place
        self._kept: dict[int, Any] = {}
        self._folder: TemporaryFolder | None = None
        left = memory
        for number in shard.numbers:
            made = make(shard.item(number))
            if made.nbytes <= left:
                left -= made.nbytes
                self._kept[number] = made
            elif not self._write(number, made):
                return  # the disk is full, and will be for the next blocks

    @property
    def numbers(self) -> range:
        """The numbers of the blocks."""
        return self.shard.numbers

    def item(self, number: int) -> Any:
        """Return what was made of a block."""
        if number in self._kept:
            return self._kept[number]
        made = self._read(number)
        return self.make(self.shard.item(number)) if made is None else made

    def _write(self, number: int, made: Any) -> bool:
        """Write something to the folder; return False if the disk is full."""
        try:
            if self._folder is None:
                self._folder = TemporaryFolder(self._place)
            with self._file(number).open("wb") as file:
                pickle.dump(made, file, protocol=pickle.HIGHEST_PROTOCOL)
        except OSError:
            if self._folder is not None:
                self._file(number).unlink(missing_ok=True)
            return False
        return True

    def _read(self, number: int) -> Any:
        if self._folder is None or not self._file(number).exists():
            return None
        with self._file(number).open("rb") as file:
            return pickle.load(file)

    def _file(self, number: int) -> Path:
        assert self._folder is not None
        return self._folder.path / str(number)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_folder": None}


def add_up(
    shard: Shard,
    function: Callable[..., Any],
    combine: Combine,
    arguments: Sequence[Any],
    n_jobs: int | None = None,
) -> list[Node]:
    """Return ``function(item, n_jobs, *arguments)`` of a shard, combined as far as possible."""
    tree = ReductionTree(combine)
    for number in shard.numbers:
        tree.add(Node(0, number, function(shard.item(number), n_jobs, *arguments)))
    return tree.nodes()


def runs(n_blocks: int, n_shards: int) -> Iterator[tuple[int, int]]:
    """Yield the first block of each run and one after its last; runs are even, none is empty."""
    bounds = [n_blocks * k // n_shards for k in range(n_shards + 1)]
    return ((a, b) for a, b in pairwise(bounds) if a < b)
