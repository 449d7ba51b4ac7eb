"""Rows made of other rows, block by block, where these are: in memory, on disk, on a cluster."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discbayes.data.domain import Domain, Encoded, Variable

if TYPE_CHECKING:
    from discbayes.data.folds import Folds
    from discbayes.data.row_blocks import RowSource


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
        """What the codes mean."""
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
