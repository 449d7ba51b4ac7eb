"""Sums over blocks of rows that are the same, bit by bit, wherever the blocks are and whoever adds
them up.

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
    """Where blocks come from: they have numbers from 0 on.

    One with ``tells_where`` says itself, in its errors, where they were met.
    """

    def __len__(self) -> int: ...

    def block(self, number: int) -> Any:
        """One block."""


class Shard(Protocol):
    """Consecutive blocks, or what is kept of them."""

    @property
    def numbers(self) -> range:
        """The numbers of the blocks."""

    def item(self, number: int) -> Any:
        """What there is for a block."""


class Node(NamedTuple):
    """The result of the blocks from ``place · 2^level`` up to, and without, ``(place + 1) ·
    2^level``.
    """

    level: int
    place: int
    value: Any

    @property
    def first(self) -> int:
        """The number of the first block."""
        return self.place << self.level


class ReductionTree:
    """Results of blocks on their way to one: each is combined with its neighbour as soon as both
    are there.
    """

    def __init__(self, combine: Combine):
        self._combine = combine
        self._open: dict[tuple[int, int], Any] = {}
        self._lock = Lock()

    def add(self, node: Node) -> None:
        """Take up a result, from any thread and in any order."""
        level, place, value = node
        while True:
            with self._lock:
                if (level, place ^ 1) not in self._open:
                    self._open[level, place] = value
                    return
                other = self._open.pop((level, place ^ 1))
            value = self._combine(other, value) if place & 1 else self._combine(value, other)
            level, place = level + 1, place >> 1

    def nodes(self) -> list[Node]:
        """What has no neighbour yet, in the order of the blocks."""
        return sorted(
            (Node(*at, value) for at, value in self._open.items()), key=lambda node: node.first
        )

    def result(self) -> Any:
        """All results as one; what has no neighbour, as the blocks are no power of two, from the
        first on.
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
        """A block, read when it is asked for; an error names the file."""
        if getattr(self.source, "tells_where", False):
            return self.source.block(number)
        try:
            return self.source.block(number)
        except (OSError, ValueError) as error:
            raise OSError(
                f"block {number} of {_name_of(self.source)} cannot be read: {error}"
            ) from error

    def alone(self) -> BlockShard:
        """The same blocks of a source that has no others, where it can be divided: for sending it
        elsewhere.
        """
        part = getattr(self.source, "part", None)
        return (
            self if part is None else BlockShard(part(self.first, self.last), self.first, self.last)
        )


def _name_of(source: ShardSource) -> str:
    path = getattr(source, "path", None)
    return "the rows in memory" if path is None else str(path)


@dataclass(frozen=True)
class MappedShard:
    """What a function gives for the items of a shard and their numbers, each time that they are
    asked for.
    """

    shard: Shard
    function: Callable[[Any, int], Any]

    @property
    def numbers(self) -> range:
        """The numbers of the blocks."""
        return self.shard.numbers

    def item(self, number: int) -> Any:
        """What the function gives for a block."""
        return self.function(self.shard.item(number), number)


class KeptShard:
    """What was made of consecutive blocks: kept as far as memory allows, the rest in a temporary
    folder.

    What cannot be written there either, as the disk is full, is made again when it is needed. A
    copy that is sent to another process has what is in memory; the folder goes with the shard that
    made it.

    Parameters
    ----------
    shard : Shard
        The blocks.
    make : callable
        What is made of a block; it has ``nbytes``.
    memory : float
        The bytes that may be kept in memory.
    place : str, optional
        Where the temporary folder is made; by default where the system has its own.
    """

    def __init__(
        self, shard: Shard, make: Callable[[Any], Any], memory: float, place: str | None = None
    ):
        self.shard, self.make, self._place = shard, make, place
        self._kept: dict[int, Any] = {}
        self._folder: TemporaryFolder | None = None
        left = memory
        for number in shard.numbers:
            made = make(shard.item(number))
            if made.nbytes <= left:
                left -= made.nbytes
                self._kept[number] = made
            elif not self._write(number, made):
                return

    @property
    def numbers(self) -> range:
        """The numbers of the blocks."""
        return self.shard.numbers

    def item(self, number: int) -> Any:
        """What was made of a block."""
        if number in self._kept:
            return self._kept[number]
        made = self._read(number)
        return self.make(self.shard.item(number)) if made is None else made

    def _write(self, number: int, made: Any) -> bool:
        """Put something into the folder; False if there is no room."""
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
    """What ``function(item, n_jobs, *arguments)`` gives for the items of a shard, combined as far
    as it can be.
    """
    tree = ReductionTree(combine)
    for number in shard.numbers:
        tree.add(Node(0, number, function(shard.item(number), n_jobs, *arguments)))
    return tree.nodes()


def runs(n_blocks: int, n_shards: int) -> Iterator[tuple[int, int]]:
    """Consecutive blocks, the first and one after the last, as even as can be; none of them is
    empty.
    """
    bounds = [n_blocks * k // n_shards for k in range(n_shards + 1)]
    return ((a, b) for a, b in pairwise(bounds) if a < b)
