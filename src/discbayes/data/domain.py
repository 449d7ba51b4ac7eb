"""Variables and domains: what the codes of a table mean.

Conventions, stated once and used everywhere:

- ``codes`` is feature-major, shape ``(n_features, n_samples)``, unsigned 8, 16 or 32 bits wide.
- feature ``i`` has the codes ``0 .. card[i] - 1``; the code ``card[i]`` means *missing*.
- feature ``i`` has the states ``0 .. n_states - 1``, of which its children in a network see one: a
  numeric column of two resolutions has fine intervals as codes and coarse ones as states, a column
  of many values may have groups of values as states; in any other column each code is a state.
- ``y`` holds class codes ``0 .. n_classes - 1``; there is no missing class.
- ``weight`` is one float per sample, or ``None`` when every sample counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from discbayes._arrays import writable
from discbayes._text import listed
from discbayes.data.dates import DatePart
from discbayes.data.rows import KeptBlock, Rows

if TYPE_CHECKING:
    from discbayes.data.folds import Folds
    from discbayes.data.row_blocks import Change
    from discbayes.engine import Combine

MISSING_LABEL = "(missing)"
NEVER_OBSERVED = "(never observed)"
NAMED_VALUES = 2  # of a group, in its name


def _number(value: float) -> str:
    """Return a cut point as people write it: 0.8, not 0.80000000000000004, and no 2.02402e+07."""
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
    """A column: its name, and the meaning of each of its codes.

    Parameters
    ----------
    name : str
        The name of the column.
    kind : str
        "numeric", "categorical" or "boolean".
    values : tuple
        The values of a variable that is not discretized: code ``k`` is ``values[k]``.
    cuts : tuple of float, optional
        The cut points of a discretized variable: code ``k`` is the half-open interval from
        ``cuts[k-1]`` up to, and without, ``cuts[k]``.
    missing_value : bool, default=False
        Whether the last code means "missing", as a value of its own.
    marginalized : bool, default=False
        Whether "missing" was a value of its own in training only, as in files of version 0.1.0: a
        missing value at prediction is marginalized.
    coarse_cuts : tuple of float, optional
        Some of ``cuts``, in their order: a second, coarse resolution. Its intervals are the states
        that the children of the variable in a network see. None, or all of ``cuts``, for one
        resolution.
    ordered : bool, default=False
        Whether ``values`` stand in an order that means something, as those of a scale do.
    date : DatePart, optional
        The part of a column of dates that the variable is: its month, for example.
    groups : tuple of int, optional
        The group of each of ``values``, numbered in the order of the first values of the groups:
        the states of a column of many values. In an ordered column only neighbors are in a group.
        None where each value is a state.

    Examples
    --------
    >>> from discbayes.data import Variable
    >>> Variable("size", "numeric", cuts=(2.5, 7.0)).labels
    ['< 2.5', '[2.5, 7)', '>= 7']
    >>> size = Variable("size", "numeric", cuts=(1.0, 2.5, 4.0, 7.0), coarse_cuts=(2.5,))
    >>> size.states, size.coarse.labels
    (array([0, 0, 1, 1, 1]), ['< 2.5', '>= 2.5'])
    >>> city = Variable("city", "categorical", ("Bonn", "Kiel", "Köln"), groups=(0, 1, 0))
    >>> city.states, city.coarse.labels
    (array([0, 1, 0]), ['Bonn, Köln', 'Kiel'])
    """

    name: str
    kind: str  # "numeric", "categorical" or "boolean"
    values: tuple[Any, ...] = ()
    cuts: tuple[float, ...] | None = None
    missing_value: bool = False
    marginalized: bool = False
    coarse_cuts: tuple[float, ...] | None = None
    ordered: bool = False
    date: DatePart | None = None
    groups: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.groups is not None:
            self._check_groups(self.groups)
        coarse = self.coarse_cuts
        if coarse is None:
            return
        if self.cuts is None or not _is_part(coarse, self.cuts):
            raise ValueError(
                f"the coarse cut points of column {self.name!r} must be some of its cut points, in"
                " their order"
            )
        if len(coarse) == len(self.cuts):
            object.__setattr__(self, "coarse_cuts", None)

    def _check_groups(self, groups: tuple[int, ...]) -> None:
        if self.cuts is not None or len(groups) != len(self.values) or not _are_groups(groups):
            raise ValueError(
                f"the groups of column {self.name!r} must be one number for each of its values, and"
                " be numbered from 0 on in the order of their first values"
            )
        if self.ordered and any(low > high for low, high in pairwise(groups)):
            raise ValueError(
                f"the values of column {self.name!r} are ordered, and a group of them must be"
                " neighbors"
            )
        if max(groups, default=-1) + 1 == len(groups):
            object.__setattr__(self, "groups", None)

    @property
    def has_states(self) -> bool:
        """Whether children in a network see coarse intervals or groups in place of values."""
        return self.coarse_cuts is not None or self.groups is not None

    @property
    def reads_missing(self) -> bool:
        """Whether a missing value at prediction is a value of its own; else it is marginalized."""
        return self.missing_value and not self.marginalized

    @property
    def card(self) -> int:
        """The number of values; a column that was never observed counts as having one."""
        known = len(self.values) if self.cuts is None else len(self.cuts) + 1
        return max(1, known + self.missing_value)

    @property
    def n_states(self) -> int:
        """The number of states: of coarse intervals or groups, or of values if each is a state."""
        if self.groups is not None:
            return max(self.groups) + 1 + self.missing_value
        return self.coarse.card

    @property
    def states(self) -> np.ndarray:
        """The state of each code; "missing" as a value of its own is a state of its own."""
        codes = np.arange(self.card)
        if self.groups is not None:
            codes[: len(self.groups)] = self.groups
            codes[len(self.groups) :] = max(self.groups) + 1
            return codes
        if self.coarse_cuts is None or self.cuts is None:
            return codes
        at = np.searchsorted(self.cuts, self.coarse_cuts)  # codes above it are in a later state
        return np.searchsorted(at, codes) + (codes > len(self.cuts))

    @property
    def coarse(self) -> Variable:
        """The variable whose values are the states of this one: itself if it has one resolution."""
        if self.groups is not None:
            names = tuple(group_names(self.values, self.groups))
            return replace(self, kind="categorical", values=names, groups=None)
        if self.coarse_cuts is None:
            return self
        return replace(self, cuts=self.coarse_cuts, coarse_cuts=None)

    @property
    def labels(self) -> list[str]:
        """The meaning of each code as text."""
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
            The value of each code.

        Examples
        --------
        >>> from discbayes.data import Variable
        >>> Variable("size", "numeric", cuts=(2.5,)).decode([0, 1, 2])
        array(['< 2.5', '>= 2.5', None], dtype=object)
        """
        if self.cuts is None and self.values:
            known = [*self.values, *([MISSING_LABEL] if self.missing_value else [])]
        else:
            known = list(self.labels)
        return _as_objects([*known, None])[np.asarray(codes, dtype=np.intp)]


def _are_groups(groups: tuple[int, ...]) -> bool:
    """Return whether numbers count from zero on, each new one the next."""
    n_before = 0
    for group in groups:
        if type(group) is not int or not 0 <= group <= n_before:
            return False
        n_before = max(n_before, group + 1)
    return bool(groups)


def group_names(values: Sequence[Any], groups: Sequence[int]) -> list[str]:
    """Return the names of groups of values: a few of their values, and the number of the others.

    >>> group_names(["Bonn", "Kiel", "Köln", "Ulm"], [0, 1, 0, 0])
    ['Bonn, Köln, 1 more', 'Kiel']
    """
    members: list[list[str]] = [[] for _ in range(max(groups) + 1)]
    for value, group in zip(values, groups, strict=True):
        members[group].append(str(value))
    names = [
        ", ".join(group[:NAMED_VALUES])
        + (f", {len(group) - NAMED_VALUES:,} more" if len(group) > NAMED_VALUES else "")
        for group in members
    ]
    if len(set(names)) < len(names):  # values may have commas
        return [f"group {k}: {name}" for k, name in enumerate(names, 1)]
    return names


def _is_part(some: tuple[float, ...], numbers: tuple[float, ...]) -> bool:
    """Return whether numbers are some of others, in the same order."""
    rest = iter(numbers)
    return all(number in rest for number in some)


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


class Ordered(tuple[Any, ...]):
    """The values of a column in an order that means something, from low to high, for ``domains``.

    Tables learned by `HierarchicalSmoothing`, which the default parameters build on, spread counts
    over neighboring values, as they do over intervals of numbers, and ``Between`` is evidence of a
    range. Ordered categories of pandas and ordered dictionaries of arrow are such columns by
    themselves.

    Parameters
    ----------
    iterable : iterable
        The values.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier
    >>> from discbayes.data import Ordered
    >>> pain = ["none", "mild", "severe", "mild", "none", "severe"] * 10
    >>> sick = [level != "none" for level in pain]
    >>> order = Ordered(["none", "mild", "moderate", "severe"])
    >>> clf = BayesNetClassifier("nb", "hierarchy", domains={"x0": order})
    >>> clf.fit([[level] for level in pain], sick).domain_.features[0].ordered
    True
    """


@dataclass(frozen=True)
class Domain:
    """The variables of a table: the features in column order, and the class.

    Parameters
    ----------
    features : tuple of Variable
        The features.
    target : Variable
        The class.
    n_grouped : tuple of int, optional
        For each feature the number of values that its own values are groups of, 0 for other
        features. None where no values are groups.

    Examples
    --------
    >>> from discbayes.data import Domain, Variable
    >>> color = Variable("color", "categorical", ("blue", "red"))
    >>> domain = Domain((color,), Variable("class", "categorical", ("no", "yes")))
    >>> domain.names, domain.n_classes
    (['color'], 2)
    """

    features: tuple[Variable, ...]
    target: Variable
    n_grouped: tuple[int, ...] | None = field(default=None, compare=False, repr=False)

    @property
    def names(self) -> list[str]:
        """The feature names in column order."""
        return [variable.name for variable in self.features]

    @property
    def columns(self) -> list[str]:
        """The names of the columns of a table: those of dates in place of their parts."""
        names = [
            variable.name if variable.date is None else variable.date.column
            for variable in self.features
        ]
        return list(dict.fromkeys(names))

    @property
    def dates(self) -> list[DatePart | None]:
        """The part of a column of dates that each feature is; None for other features."""
        return [variable.date for variable in self.features]

    def by_column(self, numbers: np.ndarray) -> np.ndarray:
        """Return numbers of the features added up by column of a table.

        Parameters
        ----------
        numbers : ndarray of shape (n_features,)
            The numbers.

        Returns
        -------
        ndarray of shape (n_columns,)
            One for each of ``columns``: the parts of dates are added up.

        Examples
        --------
        >>> import numpy as np
        >>> from discbayes.data import Domain, Variable
        >>> columns = Variable("a", "boolean", (False, True)), Variable("b", "numeric", cuts=())
        >>> domain = Domain(columns, Variable("class", "categorical", ("no", "yes")))
        >>> domain.by_column(np.array([0.25, 0.75]))
        array([0.25, 0.75])
        """
        if all(variable.date is None for variable in self.features):
            return numbers
        places = {name: place for place, name in enumerate(self.columns)}
        at = [
            places[variable.name if variable.date is None else variable.date.column]
            for variable in self.features
        ]
        return np.bincount(at, numbers, len(places))

    @property
    def unused(self) -> list[str]:
        """The features with one value or interval only, which tell nothing about the class.

        Parts of dates are such features only if no part of the same dates tells anything.
        """
        used = {
            variable.date.column
            for variable in self.features
            if variable.date is not None and variable.card > 1
        }
        return [
            variable.name
            for variable in self.features
            if variable.card == 1 and (variable.date is None or variable.date.column not in used)
        ]

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.target.values)

    @cached_property
    def cards(self) -> np.ndarray:
        """The number of values of each feature."""
        return np.array([variable.card for variable in self.features], dtype=np.int64)

    @cached_property
    def states(self) -> tuple[np.ndarray, ...] | None:
        """The state of each code of each feature; None if no feature has two resolutions."""
        if not any(variable.has_states for variable in self.features):
            return None
        return tuple(variable.states for variable in self.features)

    @property
    def coarse(self) -> Domain:
        """The domain whose values are states; this one if no feature has two resolutions."""
        return self if self.states is None else self._coarse

    @cached_property
    def _coarse(self) -> Domain:
        n_grouped = tuple(0 if one.groups is None else one.card for one in self.features)
        coarse = tuple(variable.coarse for variable in self.features)
        return Domain(coarse, self.target, n_grouped if any(n_grouped) else None)

    def position(self, name: str) -> int:
        """Return the position of a feature.

        Parameters
        ----------
        name : str
            The name of the feature.

        Returns
        -------
        int
            Its column.

        Examples
        --------
        >>> from discbayes.data import Domain, Variable
        >>> columns = Variable("a", "boolean", (False, True)), Variable("b", "numeric", cuts=())
        >>> Domain(columns, Variable("class", "categorical", ("no", "yes"))).position("b")
        1
        """
        try:
            return self._positions[name]
        except KeyError:
            raise KeyError(
                f"no feature is called {name!r}; the features are"
                f" {listed(self.names, 20, show=str)}"
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
    """A table in codes: one block of rows.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_samples)
        The codes, in unsigned integers of 8, 16 or 32 bits. Feature ``i`` has the codes
        ``0 .. cards[i] - 1``; the code ``cards[i]`` means missing.
    domain : Domain
        The variables.
    y : ndarray of shape (n_samples,), optional
        The class codes.
    weight : ndarray of shape (n_samples,), optional
        The weights; without them every row counts once.

    Examples
    --------
    >>> import numpy as np
    >>> from discbayes.data import Domain, Encoded, Variable
    >>> color = Variable("color", "categorical", ("blue", "red"))
    >>> domain = Domain((color,), Variable("class", "categorical", ("no", "yes")))
    >>> data = Encoded(np.array([[0, 1, 2]], np.uint8), domain, np.array([0, 1, 1]))
    >>> data.n_samples, data.n_missing, data.class_rows
    (3, array([1]), array([1, 2]))
    """

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
        """Iterate over the only block.

        Returns
        -------
        iterator of Encoded
            The block.

        Examples
        --------
        >>> from discbayes.data import FrameEncoder
        >>> data = FrameEncoder().fit_transform([["red"], ["blue"], ["red"]], [1, 0, 1])
        >>> [block.n_samples for block in data.blocks()]
        [3]
        """
        return iter((self,))

    def in_memory(self, who: str) -> Encoded:
        """Return the rows as they are.

        Parameters
        ----------
        who : str
            The learner that needs the rows in memory, for the message of an error.

        Returns
        -------
        Encoded
            The rows.

        Examples
        --------
        >>> from discbayes.data import FrameEncoder
        >>> data = FrameEncoder().fit_transform([["red"], ["blue"], ["red"]], [1, 0, 1])
        >>> data.in_memory("a learner") is data
        True
        """
        return self

    def map_reduce(
        self,
        function: Callable[..., Any],
        combine: Combine,
        arguments: Sequence[Any] = (),
        n_jobs: int | None = None,
    ) -> Any:
        """Call a function with the only block; there is nothing to combine.

        Parameters
        ----------
        function : callable
            Called as ``function(block, n_jobs, *arguments)``.
        combine : callable
            Combines the results of two blocks.
        arguments : sequence, default=()
            More arguments of the function.
        n_jobs : int, optional
            The number of threads.

        Returns
        -------
        object
            The result of the function.

        Examples
        --------
        >>> from operator import add
        >>> from discbayes.data import FrameEncoder
        >>> data = FrameEncoder().fit_transform([["red"], ["blue"], ["red"]], [1, 0, 1])
        >>> data.map_reduce(lambda block, n_jobs: block.n_samples, add)
        3
        """
        return function(self, n_jobs, *arguments)

    def keep(self, make: Callable[[Encoded], Any], n_jobs: int | None = None) -> KeptBlock:
        """Compute an object from the rows and keep it.

        Parameters
        ----------
        make : callable
            Called with the block.
        n_jobs : int, optional
            The number of threads.

        Returns
        -------
        KeptBlock
            The result, with a ``map_reduce`` of its own.

        Examples
        --------
        >>> from operator import add
        >>> from discbayes.data import FrameEncoder
        >>> data = FrameEncoder().fit_transform([["red"], ["blue"], ["red"]], [1, 0, 1])
        >>> kept = data.keep(lambda block: block.codes.max())
        >>> kept.map_reduce(lambda largest, n_jobs: int(largest), add)
        1
        """
        return KeptBlock(make(self))

    # ---- other rows

    @property
    def coarse(self) -> Encoded:
        """The rows in states: themselves if no feature has two resolutions."""
        # a cached property that is the object itself would keep it alive until it is collected
        return self if self.domain.states is None else self._coarse

    @cached_property
    def _coarse(self) -> Encoded:
        return in_states(self)

    def take(self, rows: np.ndarray) -> Encoded:
        """Return some of the rows.

        Parameters
        ----------
        rows : ndarray of int or bool
            The positions of the rows, or a mask.

        Returns
        -------
        Encoded
            These rows.

        Examples
        --------
        >>> import numpy as np
        >>> from discbayes.data import FrameEncoder
        >>> data = FrameEncoder().fit_transform([["red"], ["blue"], ["red"]], [1, 0, 1])
        >>> data.take(np.array([2, 1])).codes
        array([[1, 0]], dtype=uint8)
        """
        y, weight = (None if part is None else part[rows] for part in (self.y, self.weight))
        return Encoded(np.ascontiguousarray(self.codes[:, rows]), self.domain, y, weight)

    def changed(self, change: Change) -> Encoded:
        """Return the rows after a change.

        Parameters
        ----------
        change : Change
            Called with the block and its number.

        Returns
        -------
        Encoded
            The changed rows.

        Examples
        --------
        >>> import numpy as np
        >>> from discbayes.data import FrameEncoder
        >>> from discbayes.data.row_blocks import WithClassWeights
        >>> data = FrameEncoder().fit_transform([["red"], ["blue"], ["red"]], [1, 0, 1])
        >>> data.changed(WithClassWeights(np.array([1.0, 0.5]))).weight
        array([0.5, 1. , 0.5])
        """
        return change(self, 0)

    def with_class_weights(self, by_class: np.ndarray) -> Encoded:
        """Return the rows with each weight multiplied by the weight of its class.

        Parameters
        ----------
        by_class : ndarray of shape (n_classes,)
            The weight of each class.

        Returns
        -------
        Encoded
            The weighted rows.

        Examples
        --------
        >>> import numpy as np
        >>> from discbayes.data import FrameEncoder
        >>> data = FrameEncoder().fit_transform([["red"], ["blue"], ["red"]], [1, 0, 1], [1, 2, 3])
        >>> data.with_class_weights(np.array([1.0, 0.5])).weight
        array([0.5, 2. , 1.5])
        """
        return replace(
            self, weight=by_class[self.classes] * (1.0 if self.weight is None else self.weight)
        )

    def without_zero_weights(self) -> Encoded:
        """Return the rows without those of weight zero.

        Returns
        -------
        Encoded
            The rows of any other weight.

        Examples
        --------
        >>> import numpy as np
        >>> from discbayes.data import FrameEncoder
        >>> data = FrameEncoder().fit_transform([["red"], ["blue"], ["red"]], [1, 0, 1])
        >>> data.with_class_weights(np.array([0.0, 1.0])).without_zero_weights().n_samples
        2
        """
        return self if self.weight is None else self.take(self.weight != 0)

    def without_fold(self, folds: Folds, fold: int) -> Encoded:
        """Return the rows of all other folds.

        Parameters
        ----------
        folds : Folds
            The fold of each row.
        fold : int
            The fold to leave out.

        Returns
        -------
        Encoded
            The remaining rows.

        Examples
        --------
        >>> import numpy as np
        >>> from discbayes.data import FrameEncoder
        >>> from discbayes.data.folds import Folds
        >>> data = FrameEncoder().fit_transform([["red"], ["blue"], ["red"]], [1, 0, 1])
        >>> data.without_fold(Folds((np.array([0, 1, 1]),), 2), 0).y
        array([0, 1])
        """
        return self.take(folds.of(0) != fold)


def in_states(data: Encoded) -> Encoded:
    """Return rows with the states of their codes in place of the codes.

    Parameters
    ----------
    data : Encoded
        The rows.

    Returns
    -------
    Encoded
        The rows in the coarse domain; the same rows if no feature has two resolutions.

    Examples
    --------
    >>> import numpy as np
    >>> from discbayes.data import Domain, Encoded, Variable
    >>> from discbayes.data.domain import in_states
    >>> size = Variable("size", "numeric", cuts=(1.0, 2.5, 4.0), coarse_cuts=(2.5,))
    >>> domain = Domain((size,), Variable("class", "categorical", ("no", "yes")))
    >>> in_states(Encoded(np.array([[0, 1, 2, 3, 4]], np.uint8), domain)).codes
    array([[0, 0, 1, 1, 2]], dtype=uint8)
    """
    domain = data.domain
    if domain.states is None:
        return data
    dtype = code_dtype(int(domain.coarse.cards.max()))
    codes = np.empty(data.codes.shape, dtype)
    for row, fine, states, missing in zip(
        codes, data.codes, domain.states, domain.coarse.cards, strict=True
    ):
        row[:] = np.append(states, missing).astype(dtype)[fine]
    return replace(data, codes=codes, domain=domain.coarse)
