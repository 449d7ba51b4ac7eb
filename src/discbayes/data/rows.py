"""The protocol of rows that learners take: one block in memory, many blocks, or counts of rows.

===========================  ==================================================================
implementation               what it holds
===========================  ==================================================================
``Encoded``                  one block of rows in memory
``RowBlocks``                many blocks: in memory, in files or on the workers of a cluster
``SufficientStatistics``     counts of rows that are not kept
===========================  ==================================================================

A learner asks for sums over blocks (`Rows.map_reduce`), or for something to be kept of each block
(`Rows.keep`). With one block both are plain function calls.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discbayes._arrays import WithArrays

if TYPE_CHECKING:
    from discbayes.data.domain import Domain, Encoded
    from discbayes.data.folds import Folds
    from discbayes.data.row_blocks import Change
    from discbayes.engine import Combine


class Rows(WithArrays, ABC):
    """Coded rows of a table, in one block or in many, with a class for each row."""

    domain: Domain
    memory: int | None = None  # the bytes that learners may keep of the rows; None for no limit

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return len(self.domain.features)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.domain.n_classes

    @property
    def cards(self) -> np.ndarray:
        """The number of values of each feature."""
        return self.domain.cards

    @property
    @abstractmethod
    def n_samples(self) -> int:
        """The number of rows."""

    @property
    @abstractmethod
    def weighted(self) -> bool:
        """Whether rows have weights."""

    @property
    @abstractmethod
    def n_missing(self) -> np.ndarray:
        """The number of missing cells of each feature."""

    @property
    @abstractmethod
    def class_rows(self) -> np.ndarray:
        """The number of rows of each class, without weights."""

    @property
    def statistics(self) -> Any:
        """Counts that are there in place of the rows (``SufficientStatistics``), or None."""
        return None

    # ---- blocks

    @property
    @abstractmethod
    def n_blocks(self) -> int:
        """The number of blocks."""

    @property
    @abstractmethod
    def fits_in_memory(self) -> bool:
        """Whether all rows are in this process, or may be gathered here."""

    @abstractmethod
    def blocks(self) -> Iterator[Encoded]:
        """Iterate over the blocks in their order."""

    @abstractmethod
    def in_memory(self, who: str) -> Encoded:
        """Return all rows as one block, for ``who``; an error if they exceed the memory limit."""

    @abstractmethod
    def map_reduce(
        self,
        function: Callable[..., Any],
        combine: Combine,
        arguments: Sequence[Any] = (),
        n_jobs: int | None = None,
    ) -> Any:
        """Combine ``function(block, n_jobs, *arguments)`` over all blocks."""

    @abstractmethod
    def keep(self, make: Callable[[Encoded], Any], n_jobs: int | None = None) -> Kept:
        """Make something of each block and keep it next to the block."""

    # ---- other rows

    @property
    @abstractmethod
    def coarse(self) -> Rows:
        """The rows in states, as parents are seen: themselves if all columns have one resolution.

        Structures are searched on them; parameters are learned from the rows themselves.
        """

    @abstractmethod
    def changed(self, change: Change) -> Rows:
        """Return the rows after a change of each block."""

    @abstractmethod
    def with_class_weights(self, by_class: np.ndarray) -> Rows:
        """Return the rows with each weight multiplied by the weight of its class."""

    @abstractmethod
    def without_zero_weights(self) -> Rows:
        """Return the rows without those of weight zero, where removing them moves no other row."""

    @abstractmethod
    def without_fold(self, folds: Folds, fold: int) -> Rows:
        """Return the rows of all other folds; the rows of this fold are gone or weigh zero."""


class Kept(Protocol):
    """Results that were made of each block of some rows."""

    def map_reduce(
        self,
        function: Callable[..., Any],
        combine: Combine,
        arguments: Sequence[Any] = (),
        n_jobs: int | None = None,
    ) -> Any:
        """Combine ``function(what was made, n_jobs, *arguments)`` over all blocks."""


@dataclass(frozen=True)
class KeptBlock:
    """The result of the only block."""

    made: Any

    def map_reduce(
        self,
        function: Callable[..., Any],
        combine: Combine,
        arguments: Sequence[Any] = (),
        n_jobs: int | None = None,
    ) -> Any:
        """Return ``function(what was made, n_jobs, *arguments)``."""
        return function(self.made, n_jobs, *arguments)
