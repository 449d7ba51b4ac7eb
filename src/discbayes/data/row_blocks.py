"""Tables of any number of rows, block by block: in memory, in files or on a cluster.

The borders of blocks follow from the number of a row alone, and sums over blocks are added up as a
tree over their numbers (`discbayes.engine.shards`). So what is learned does not depend on where the
blocks are. A table in memory with more rows than one block is worked on in the same blocks wherever
the order of a sum shows in its bits.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from operator import add
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discbayes.data.domain import Domain, Encoded, Variable, code_dtype, in_states
from discbayes.data.rows import Rows
from discbayes.engine import Combine, Threads
from discbayes.engine.shards import runs

if TYPE_CHECKING:
    from discbayes.data.folds import Folds

ROWS_OF_BLOCK = 1 << 16


class RowSource(Protocol):
    """Where blocks of rows come from: a table in memory, or codes on disk."""

    @property
    def domain(self) -> Domain:
        """The meaning of the codes."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""

    @property
    def n_missing(self) -> np.ndarray:
        """The number of missing cells of each feature."""

    def __len__(self) -> int: ...

    def block(self, number: int) -> Encoded:
        """Return a block of rows."""


class Engine(Protocol):
    """The worker on the blocks: `Threads` or `DaskEngine`; ``is_local`` if in this process."""

    is_local: bool
    n_shards: int

    def load(self, source: Any) -> Sequence[Any]:
        """Return the shards of a source."""

    def keep(
        self,
        shards: Sequence[Any],
        make: Callable[[Any], Any],
        memory: float = ...,
        n_jobs: int | None = ...,
    ) -> Sequence[Any]:
        """Return shards of what is made of each block."""

    def mapped(self, shards: Sequence[Any], function: Callable[[Any, int], Any]) -> Sequence[Any]:
        """Return shards of ``function(block, number)``, computed when they are asked for."""

    def map_reduce(
        self,
        function: Callable[..., Any],
        shards: Sequence[Any],
        combine: Combine,
        arguments: Sequence[Any] = ...,
        n_jobs: int | None = ...,
    ) -> Any:
        """Combine the results of a function over all blocks."""


@dataclass(frozen=True)
class RowsInMemory:
    """A table in memory as a source of blocks, the first of which has the number ``first``."""

    data: Encoded
    first: int = 0
    size: int = field(default_factory=lambda: ROWS_OF_BLOCK)

    @property
    def domain(self) -> Domain:
        """The meaning of the codes."""
        return self.data.domain

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.data.n_samples

    @property
    def n_missing(self) -> np.ndarray:
        """The number of missing cells of each feature."""
        return self.data.n_missing

    def __len__(self) -> int:
        return max(1, -(-self.n_rows // self.size))

    def block(self, number: int) -> Encoded:
        """Return a block of rows as arrays of its own: kernels are quickest on those."""
        return self._rows(number, number + 1)

    def part(self, first: int, last: int) -> RowsInMemory:
        """Return some of the blocks, with their numbers."""
        return RowsInMemory(self._rows(first, last), first, self.size)

    def _rows(self, first: int, last: int) -> Encoded:
        data = self.data
        rows = slice((first - self.first) * self.size, (last - self.first) * self.size)
        y, weight = (None if part is None else part[rows].copy() for part in (data.y, data.weight))
        return Encoded(data.codes[:, rows].copy(), data.domain, y, weight)


class RowBlocks(Rows):
    """A table in codes, block by block: rows of any number.

    Parameters
    ----------
    source : RowSource
        Where blocks come from: ``RowsInMemory``, or codes on disk (`discbayes.streams.DiskCodes`).
    engine : Engine, optional
        What works on them: threads, or a cluster (`discbayes.engine.DaskEngine`).
    memory : int, optional
        The bytes that learners may keep of the rows; the rest goes to a temporary folder.
    """

    def __init__(self, source: RowSource, engine: Engine | None = None, memory: int | None = None):
        self.source, self.domain = source, source.domain
        self.engine = Threads() if engine is None else engine
        self.memory = memory

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return self.source.n_rows

    @property
    def n_missing(self) -> np.ndarray:
        """The number of missing cells of each feature."""
        return self.source.n_missing

    @cached_property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        known = getattr(self.source, "weighted", None)
        return self.source.block(0).weight is not None if known is None else bool(known)

    @cached_property
    def class_rows(self) -> np.ndarray:
        """The number of rows of each class, without weights."""
        rows: np.ndarray = self.map_reduce(_class_rows, add)
        return rows

    @property
    def n_blocks(self) -> int:
        """The number of blocks."""
        return len(self.source)

    def blocks(self) -> Iterator[Encoded]:
        """Iterate over the blocks in their order; from a cluster, those of a shard at a time."""
        if self.engine.is_local:
            return map(self.source.block, range(self.n_blocks))
        gathered = (self.engine.map_reduce(_contents, [shard], add) for shard in self._shards)
        return (
            Encoded(codes, self.domain, y, weight)
            for blocks in gathered
            for codes, y, weight in blocks
        )

    @cached_property
    def _shards(self) -> Sequence[Any]:
        return self.engine.load(self.source)

    def map_reduce(
        self,
        function: Callable[..., Any],
        combine: Combine,
        arguments: Sequence[Any] = (),
        n_jobs: int | None = None,
    ) -> Any:
        """Combine ``function(block, n_jobs, *arguments)`` over all blocks."""
        return self.engine.map_reduce(function, self._shards, combine, arguments, n_jobs)

    def keep(self, make: Callable[[Encoded], Any], n_jobs: int | None = None) -> KeptBlocks:
        """Make something of each block and keep it where the block is, as far as memory allows."""
        memory = inf if self.memory is None else self.memory
        return KeptBlocks(self.engine, self.engine.keep(self._shards, make, memory, n_jobs))

    @property
    def coarse(self) -> RowBlocks:
        """The rows in states; a block is recoded each time that it is read."""
        # rows that refer to themselves are freed late, and so is what workers have
        return self if self.domain.states is None else self._coarse

    @cached_property
    def _coarse(self) -> RowBlocks:
        return self.changed(InStates())

    def with_class_weights(self, by_class: np.ndarray) -> RowBlocks:
        """Return the rows with each weight multiplied by the weight of its class."""
        return self.changed(WithClassWeights(by_class))

    def without_zero_weights(self) -> RowBlocks:
        """Return the rows as they are: without some of them the borders of blocks would move."""
        return self

    def without_fold(self, folds: Folds, fold: int) -> RowBlocks:
        """Return the rows with a weight of zero for those of a fold."""
        return self.changed(WithoutFold(folds, fold))

    def changed(self, change: Change) -> RowBlocks:
        """Return the rows after a change, which is made each time that a block is read."""
        rows = RowBlocks(
            ChangedRows(self.source, change, change.weighted(self.weighted)),
            self.engine,
            self.memory,
        )
        shards = zip(self._shards, runs(self.n_blocks, self.engine.n_shards), strict=True)
        rows._shards = [
            self.engine.mapped([shard], change.part(*span))[0] for shard, span in shards
        ]
        return rows

    @cached_property
    def nbytes(self) -> int:
        """The bytes of all codes."""
        return (
            self.n_samples * self.n_features * np.dtype(code_dtype(int(self.cards.max()))).itemsize
        )

    @property
    def fits_in_memory(self) -> bool:
        """Whether all rows may be gathered here: they fit, and are not on a cluster."""
        return self.engine.is_local and (self.memory is None or self.nbytes <= self.memory)

    def in_memory(self, who: str) -> Encoded:
        """Return all rows as one table, for ``who``; an error if they exceed the memory limit."""
        if self.memory is not None and self.nbytes > self.memory:
            raise ValueError(
                f"{who} needs all rows in memory: their codes take {self.nbytes:,} bytes, above the"
                f" limit of {self.memory:,}. Raise the limit of memory, or learn from fewer rows"
            )
        if isinstance(self.source, RowsInMemory):
            return self.source.data
        codes: np.ndarray | None = None
        y = np.empty(self.n_samples, np.int64)
        weight = np.empty(self.n_samples if self.weighted else 0)
        first = 0
        for block in self.blocks():
            rows = slice(first, first := first + block.n_samples)
            if codes is None:
                codes = np.empty((self.n_features, self.n_samples), block.codes.dtype)
            codes[:, rows], y[rows] = block.codes, block.classes
            if block.weight is not None:
                weight[rows] = block.weight
        assert codes is not None
        return Encoded(codes, self.domain, y, weight if self.weighted else None)


@dataclass(frozen=True)
class KeptBlocks:
    """Results that were made of each of many blocks, where the block is."""

    engine: Engine
    shards: Sequence[Any]

    def map_reduce(
        self,
        function: Callable[..., Any],
        combine: Combine,
        arguments: Sequence[Any] = (),
        n_jobs: int | None = None,
    ) -> Any:
        """Combine ``function(what was made, n_jobs, *arguments)`` over all blocks."""
        return self.engine.map_reduce(function, self.shards, combine, arguments, n_jobs)


def _class_rows(data: Encoded, n_jobs: int | None) -> np.ndarray:
    return data.class_rows


def _contents(
    data: Encoded, n_jobs: int | None
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
    return [(data.codes, data.classes, data.weight)]


def joined(blocks: Sequence[Encoded]) -> Encoded:
    """Return blocks, at least one, as one table."""
    weights = [block.weight for block in blocks if block.weight is not None]
    return Encoded(
        np.concatenate([block.codes for block in blocks], axis=1),
        blocks[0].domain,
        np.concatenate([block.classes for block in blocks]),
        np.concatenate(weights) if weights else None,
    )


def in_blocks(data: Rows) -> Rows:
    """Return rows in memory as blocks if they are more than one block, and others as they are."""
    if isinstance(data, Encoded) and data.n_samples > ROWS_OF_BLOCK:
        return RowBlocks(RowsInMemory(data))
    return data


def in_blocks_if_weighted(data: Rows) -> Rows:
    """Return the rows by `in_blocks` if they have weights.

    Counts without weights are whole numbers, which have the same sum in any order.
    """
    return in_blocks(data) if data.weighted else data


# ---- changes of rows, made where the blocks are


class Change:
    """A function of a block of rows, defined by subclasses.

    The number of rows and their order stay.
    """

    @abstractmethod
    def __call__(self, data: Encoded, number: int) -> Encoded:
        """Return the rows of a block after the change."""

    def domain(self, domain: Domain) -> Domain:
        """Return the domain after the change."""
        return domain

    def weighted(self, weighted: bool) -> bool:
        """Return whether rows have weights after the change."""
        return weighted

    def n_missing(self, n_missing: np.ndarray) -> np.ndarray:
        """Return the number of missing cells of each feature after the change."""
        return n_missing

    def part(self, first: int, last: int) -> Change:
        """Return the part of the change that some of the blocks need, to be sent with them."""
        return self


@dataclass(frozen=True)
class ChangedRows:
    """The rows of a source after a change."""

    source: RowSource
    change: Change
    weighted: bool

    @property
    def domain(self) -> Domain:
        """The meaning of the codes."""
        return self.change.domain(self.source.domain)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.source.n_rows

    @property
    def n_missing(self) -> np.ndarray:
        """The number of missing cells of each feature."""
        return self.change.n_missing(self.source.n_missing)

    @property
    def path(self) -> Any:
        """The file that the rows are from, if any."""
        return getattr(self.source, "path", None)

    def __len__(self) -> int:
        return len(self.source)

    def block(self, number: int) -> Encoded:
        """Return a block of rows."""
        return self.change(self.source.block(number), number)


@dataclass(frozen=True)
class WithClassWeights(Change):
    """Weights are multiplied by the weight of the class."""

    by_class: np.ndarray

    def __call__(self, data: Encoded, number: int) -> Encoded:
        """Return the rows of a block after the change."""
        return data.with_class_weights(self.by_class)

    def weighted(self, weighted: bool) -> bool:
        """Return True: rows have weights after the change."""
        return True


@dataclass(frozen=True)
class MissingAsValue(Change):
    """The code for missing becomes one more value of the columns that have missing values."""

    has_missing: np.ndarray

    def __call__(self, data: Encoded, number: int) -> Encoded:
        """Return the rows of a block after the change."""
        return replace(data, domain=self.domain(data.domain))

    def domain(self, domain: Domain) -> Domain:
        """Return the domain after the change."""
        features = tuple(
            (
                Variable(variable.name, "categorical", tuple(range(variable.card + 1)))
                if widened
                else variable
            )
            for variable, widened in zip(domain.features, self.has_missing, strict=True)
        )
        return Domain(features, domain.target)

    def n_missing(self, n_missing: np.ndarray) -> np.ndarray:
        """Return zeros: no cell is missing after the change."""
        return np.zeros_like(n_missing)


@dataclass(frozen=True)
class InStates(Change):
    """Codes become the states that children in a network see."""

    def __call__(self, data: Encoded, number: int) -> Encoded:
        """Return the rows of a block after the change."""
        return in_states(data)

    def domain(self, domain: Domain) -> Domain:
        """Return the domain after the change."""
        return domain.coarse


@dataclass(frozen=True)
class WithDomain(Change):
    """Codes get another meaning."""

    meaning: Domain

    def __call__(self, data: Encoded, number: int) -> Encoded:
        """Return the rows of a block after the change."""
        return replace(data, domain=self.meaning)

    def domain(self, domain: Domain) -> Domain:
        """Return the domain after the change."""
        return self.meaning


@dataclass(frozen=True)
class FoldAndClass(Change):
    """The class code becomes ``fold · n_classes + class``.

    So what is counted by class is counted by fold and class.
    """

    folds: Folds

    def __call__(self, data: Encoded, number: int) -> Encoded:
        """Return the rows of a block after the change."""
        y = self.folds.of(number).astype(np.int64) * data.n_classes + data.classes
        return Encoded(data.codes, self.domain(data.domain), y, data.weight)

    def domain(self, domain: Domain) -> Domain:
        """Return the domain after the change."""
        both = tuple(range(self.folds.n_folds * domain.n_classes))
        return Domain(domain.features, Variable(domain.target.name, "categorical", both))

    def part(self, first: int, last: int) -> FoldAndClass:
        """Return the change of some of the blocks."""
        return FoldAndClass(self.folds.part(first, last))


@dataclass(frozen=True)
class WithoutFold(Change):
    """Rows of one fold get a weight of zero, as if they were not there."""

    folds: Folds
    fold: int

    def __call__(self, data: Encoded, number: int) -> Encoded:
        """Return the rows of a block after the change."""
        kept = self.folds.of(number) != self.fold
        weight = kept.astype(np.float64) if data.weight is None else data.weight * kept
        return Encoded(data.codes, data.domain, data.classes, weight)

    def weighted(self, weighted: bool) -> bool:
        """Return True: rows have weights after the change."""
        return True

    def part(self, first: int, last: int) -> WithoutFold:
        """Return the change of some of the blocks."""
        return WithoutFold(self.folds.part(first, last), self.fold)
