"""Rows that are made of other rows block by block, where these are: in memory, on disk or on a
cluster.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discbayes.data.domain import Domain, Encoded, Variable

if TYPE_CHECKING:
    from discbayes.data.row_blocks import RowSource


class Change:
    """What is made of a block of rows; subclasses say it. Rows stay as many as they are, and in
    their order.
    """

    @abstractmethod
    def __call__(self, data: Encoded, number: int) -> Encoded:
        """The rows of a block after the change."""

    def domain(self, domain: Domain) -> Domain:
        """The domain after the change."""
        return domain

    def weighted(self, weighted: bool) -> bool:
        """Whether rows have weights after the change."""
        return weighted

    def gaps(self, gaps: np.ndarray) -> np.ndarray:
        """The number of missing cells of each feature after the change."""
        return gaps

    def part(self, first: int, last: int) -> Change:
        """As much of it as some of the blocks need, which are sent elsewhere."""
        return self


@dataclass(frozen=True)
class ChangedRows:
    """The rows of a source after a change."""

    source: RowSource
    change: Change
    weighted: bool

    @property
    def domain(self) -> Domain:
        """What the codes mean."""
        return self.change.domain(self.source.domain)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.source.n_rows

    @property
    def gaps(self) -> np.ndarray:
        """The number of missing cells of each feature."""
        return self.change.gaps(self.source.gaps)

    @property
    def path(self) -> Any:
        """The file that the rows are from, if any."""
        return getattr(self.source, "path", None)

    def __len__(self) -> int:
        return len(self.source)

    def block(self, number: int) -> Encoded:
        """A block of rows."""
        return self.change(self.source.block(number), number)


@dataclass(frozen=True)
class WithClassWeights(Change):
    """Rows count by the weight of their class too."""

    by_class: np.ndarray

    def __call__(self, data: Encoded, number: int) -> Encoded:
        """The rows of a block after the change."""
        return data.with_class_weights(self.by_class)

    def weighted(self, weighted: bool) -> bool:
        """Rows have weights after the change."""
        return True


@dataclass(frozen=True)
class MissingAsValue(Change):
    """The code for missing becomes one more value of the columns that have gaps."""

    has_missing: np.ndarray

    def __call__(self, data: Encoded, number: int) -> Encoded:
        """The rows of a block after the change."""
        return replace(data, domain=self.domain(data.domain))

    def domain(self, domain: Domain) -> Domain:
        """The domain after the change."""
        features = tuple(
            (
                Variable(variable.name, "categorical", tuple(range(variable.card + 1)))
                if gaps
                else variable
            )
            for variable, gaps in zip(domain.features, self.has_missing, strict=True)
        )
        return Domain(features, domain.target)

    def gaps(self, gaps: np.ndarray) -> np.ndarray:
        """The number of missing cells of each feature after the change: none."""
        return np.zeros_like(gaps)
