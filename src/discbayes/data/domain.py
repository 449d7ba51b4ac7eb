"""Domains: the variables of a table and their values; and tables turned into codes.

Conventions, stated once and used everywhere:

- ``codes`` is feature-major, shape ``(n_features, n_samples)``, unsigned 8, 16 or 32 bits wide.
- feature ``i`` has the codes ``0 .. card[i] - 1``; the code ``card[i]`` means *missing*.
- ``y`` holds class codes ``0 .. n_classes - 1``; there is no missing class.
- ``weight`` is one float per sample, or ``None`` when every sample counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from discbayes._arrays import writable
from discbayes.data.rows import KeptBlock, Rows

if TYPE_CHECKING:
    from discbayes.data.folds import Folds
    from discbayes.data.transformed_rows import Change
    from discbayes.engine import Combine

MISSING_LABEL = "(missing)"
NEVER_OBSERVED = "(never observed)"


def _number(value: float) -> str:
    """Format a cut point for people: 0.8, not 0.80000000000000004; 20240150, not 2.02402e+07."""
    plain = value == 0 or 1e-4 <= abs(value) < 1e15
    for digits in (6, 9, 12, 17):
        if plain:
            text = np.format_float_positional(
                value, precision=digits, unique=False, fractional=False, trim="-"
            )
        else:
            text = f"{value:.{digits}g}"
        if abs(float(text) - value) <= 1e-9 * abs(value):
            break
    return text


@dataclass(frozen=True)
class Variable:
    """A column: its name, and the meaning of its codes.

    A numeric variable has ``cuts``: code ``k`` is the half-open interval from ``cuts[k-1]`` up to,
    and without, ``cuts[k]``. Any other variable has ``values``: code ``k`` is ``values[k]``. With
    ``missing_value`` the last code stands for "missing", as a value of its own. Where that is
    ``marginalized``, as in files of version 0.1.0, it was learned at fit, and a missing value at
    predict is unknown all the same.
    """

    name: str
    kind: str  # "numeric", "categorical" or "boolean"
    values: tuple[Any, ...] = ()
    cuts: tuple[float, ...] | None = None
    missing_value: bool = False
    marginalized: bool = False

    @property
    def reads_missing(self) -> bool:
        """Whether a missing value at predict is a value of its own; if not, it is marginalized."""
        return self.missing_value and not self.marginalized

    @property
    def card(self) -> int:
        """The number of values; a column that was never observed counts as having one."""
        known = len(self.values) if self.cuts is None else len(self.cuts) + 1
        return max(1, known + self.missing_value)

    @property
    def labels(self) -> list[str]:
        """The meaning of each code, for people."""
        if self.cuts is not None:
            labels = _interval_labels(self.cuts)
        else:
            labels = [str(value) for value in self.values]
        if self.missing_value:
            labels.append(MISSING_LABEL)
        return labels or [NEVER_OBSERVED]

    def decode(self, codes: Any) -> np.ndarray:
        """Return the values of codes: intervals for a numeric variable, None for missing values.

        Parameters
        ----------
        codes : array-like of int
            The codes.

        Returns
        -------
        ndarray of object
            The values.

        Examples
        --------
        >>> Variable("size", "numeric", cuts=(2.5,)).decode([0, 1, 2])
        array(['< 2.5', '>= 2.5', None], dtype=object)
        """
        if self.cuts is None and self.values:
            known = [*self.values, *([MISSING_LABEL] if self.missing_value else [])]
        else:
            known = list(self.labels)
        return _as_objects([*known, None])[np.asarray(codes, dtype=np.intp)]


def _as_objects(items: list[Any]) -> np.ndarray:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def cut_texts(cuts: tuple[float, ...]) -> list[str]:
    """Return cut points as they are written in intervals."""
    texts = [_number(cut) for cut in cuts]
    return texts if len(set(texts)) == len(texts) else [repr(float(cut)) for cut in cuts]


def _interval_labels(cuts: tuple[float, ...]) -> list[str]:
    if not cuts:
        return ["any"]
    texts = cut_texts(cuts)
    inner = [f"[{low}, {high})" for low, high in pairwise(texts)]
    return [f"< {texts[0]}", *inner, f">= {texts[-1]}"]


@dataclass(frozen=True)
class Domain:
    """The variables of a table: the features in column order, and the class."""

    features: tuple[Variable, ...]
    target: Variable

    @property
    def names(self) -> list[str]:
        """The feature names in column order."""
        return [variable.name for variable in self.features]

    @property
    def unused(self) -> list[str]:
        """The features with one value or interval only, which are not informative."""
        return [variable.name for variable in self.features if variable.card == 1]

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.target.values)

    @cached_property
    def cards(self) -> np.ndarray:
        """The number of values of each feature."""
        return np.array([variable.card for variable in self.features], dtype=np.int64)

    def position(self, name: str) -> int:
        """Return the column of the feature called ``name``.

        Parameters
        ----------
        name : str
            The name of a feature.

        Returns
        -------
        int
            Its position.
        """
        try:
            return self._positions[name]
        except KeyError:
            raise KeyError(
                f"no feature is called {name!r}; the features are {', '.join(self.names[:20])}"
            ) from None

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}


def code_dtype(largest_card: int) -> type[np.unsignedinteger[Any]]:
    """Return the narrowest unsigned type that holds every code and the code for missing."""
    if largest_card <= np.iinfo(np.uint8).max:
        return np.uint8
    return np.uint16 if largest_card <= np.iinfo(np.uint16).max else np.uint32


@dataclass(frozen=True)
class Encoded(Rows):
    """A table in codes: one block of rows (see the conventions at the top of this module)."""

    codes: np.ndarray
    domain: Domain
    y: np.ndarray | None = None
    weight: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name in ("codes", "y", "weight"):  # kernels are compiled for arrays that can be written
            object.__setattr__(self, name, writable(getattr(self, name)))

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return int(self.codes.shape[1])

    @property
    def classes(self) -> np.ndarray:
        """The class codes; an error if the table has none."""
        if self.y is None:
            raise ValueError("this data has no class column, and learning needs one")
        return self.y

    @cached_property
    def n_missing(self) -> np.ndarray:
        """The number of missing cells of each feature."""
        return np.array(
            [
                np.count_nonzero(row == card)
                for row, card in zip(self.codes, self.cards, strict=True)
            ]
        )

    @property
    def class_rows(self) -> np.ndarray:
        """The number of rows of each class, without weights."""
        return np.bincount(self.classes, minlength=self.n_classes)

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.weight is not None

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        return sum(part.nbytes for part in (self.codes, self.y, self.weight) if part is not None)

    # ---- the only block

    @property
    def n_blocks(self) -> int:
        """The number of blocks: one."""
        return 1

    @property
    def fits_in_memory(self) -> bool:
        """Whether all rows are in this process: they are."""
        return True

    def blocks(self) -> Iterator[Encoded]:
        """Iterate over the only block."""
        return iter((self,))

    def in_memory(self, who: str) -> Encoded:
        """Return the rows as they are."""
        return self

    def map_reduce(
        self,
        function: Callable[..., Any],
        combine: Combine,
        arguments: Sequence[Any] = (),
        n_jobs: int | None = None,
    ) -> Any:
        """Return ``function(self, n_jobs, *arguments)``: there is nothing to combine."""
        return function(self, n_jobs, *arguments)

    def keep(self, make: Callable[[Encoded], Any], n_jobs: int | None = None) -> KeptBlock:
        """Make something of the rows and keep it."""
        return KeptBlock(make(self))

    # ---- other rows

    def take(self, rows: np.ndarray) -> Encoded:
        """Return some of the rows, by position or by a mask."""
        y, weight = (None if part is None else part[rows] for part in (self.y, self.weight))
        return Encoded(np.ascontiguousarray(self.codes[:, rows]), self.domain, y, weight)

    def changed(self, change: Change) -> Encoded:
        """Return the rows after a change."""
        return change(self, 0)

    def with_class_weights(self, by_class: np.ndarray) -> Encoded:
        """Return the rows with each weight multiplied by the weight of its class."""
        return replace(
            self, weight=by_class[self.classes] * (1.0 if self.weight is None else self.weight)
        )

    def without_zero_weights(self) -> Encoded:
        """Return the rows without those of weight zero."""
        return self if self.weight is None else self.take(self.weight != 0)

    def without_fold(self, folds: Folds, fold: int) -> Encoded:
        """Return the rows of all other folds."""
        return self.take(folds.of(0) != fold)
