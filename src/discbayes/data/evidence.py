"""Evidence that is not one value: sets, ranges, negations and likelihoods of values.

Each kind is a likelihood of the values of a column, λ(v) = P(what was observed | v): 0 or 1 for
sets, any number that is not negative for `Likelihood`. A network multiplies it into the
distribution of the column (``discbayes.network.leaves``).

Numbers of a discretized column are known by their intervals only. So a range stands for all
intervals that hold one of its numbers, as a number stands for the interval that holds it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discbayes._settings import float_or_nan
from discbayes._text import listed
from discbayes.data.domain import Variable, code_dtype
from discbayes.data.labels import is_missing, plain

_SIDES = {
    "both": (True, True),
    "left": (True, False),
    "right": (False, True),
    "neither": (False, False),
}
NOTHING_OBSERVED = "(nothing observed)"


class Evidence(ABC):
    """Knowledge of a column in one row that is not one value."""

    @abstractmethod
    def likelihood(self, variable: Variable) -> np.ndarray:
        """Return the likelihood of each code of a column; an error if all of them are zero.

        Parameters
        ----------
        variable : Variable
            The column.

        Returns
        -------
        ndarray of shape (card,)
            The likelihoods.
        """


class _Set(Evidence):
    """Evidence that some values are possible, and all others are not."""

    @abstractmethod
    def members(self, variable: Variable) -> np.ndarray:
        """Return which codes of a column belong to the set, as a mask."""

    def likelihood(self, variable: Variable) -> np.ndarray:
        """Return 1 for the codes of the set and 0 for all others.

        Parameters
        ----------
        variable : Variable
            The column.

        Returns
        -------
        ndarray of shape (card,)
            The likelihoods.

        Examples
        --------
        >>> from discbayes.data import Between, Variable
        >>> Between(3, None).likelihood(Variable("size", "numeric", cuts=(2.5, 7.0)))
        array([0., 1., 1.])
        """
        found = self.members(variable)
        if not found.any():
            raise ValueError(
                f"no value of the column {variable.name!r} {self}; its values are"
                f" {listed(variable.labels, 20, str)}"
            )
        return found.astype(np.float64)


@dataclass(frozen=True, init=False)
class OneOf(_Set):
    """Evidence that a column has one of several values.

    Parameters
    ----------
    *values
        Values of the column, labels of its intervals, or other sets such as ``Between(1, 2)``.
        None is "missing", where that is a value of the column.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, OneOf, load_dataset
    >>> iris = load_dataset("iris")
    >>> net = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).network_
    >>> net.query("class", {"petal width (cm)": OneOf(0.2, 0.3, 1.0)})
    P(class | evidence)
      setosa: 0.47...
    """

    values: tuple[Any, ...]

    def __init__(self, *values: Any):
        object.__setattr__(self, "values", _parts(values, "OneOf"))

    def members(self, variable: Variable) -> np.ndarray:
        """Return which codes of a column are among the values.

        Parameters
        ----------
        variable : Variable
            The column.

        Returns
        -------
        ndarray of bool, shape (card,)
            The mask.

        Examples
        --------
        >>> from discbayes.data import OneOf, Variable
        >>> OneOf("red", "blue").members(Variable("color", "categorical", ("blue", "green", "red")))
        array([ True, False,  True])
        """
        return _union(self.values, variable)

    def __str__(self) -> str:
        return f"is {_alternatives(self.values)}"


@dataclass(frozen=True)
class Between(_Set):
    """Evidence that the number of a column lies in a range, or its value in one of their order.

    Parameters
    ----------
    low, high : float, str or None
        The ends of the range; None for an open end. Of ordered categories they are values.
    inclusive : {"both", "left", "right", "neither"}, default="both"
        Which ends belong to the range.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, Between, load_dataset
    >>> iris = load_dataset("iris")
    >>> net = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).network_
    >>> net.query("class", {"petal width (cm)": Between(1, None)}).probabilities.round(2).tolist()
    [0.0, 0.5, 0.5]
    """

    low: float | str | None = None
    high: float | str | None = None
    inclusive: str = "both"

    def __post_init__(self) -> None:
        if isinstance(self.low, str) or isinstance(self.high, str):
            self._check_labels()
            return
        for name in ("low", "high"):
            end = getattr(self, name)
            number = -math.inf if end is None else float_or_nan(end)
            if isinstance(end, (bool, str)) or math.isnan(number):
                raise ValueError(f"{name}={end!r} of Between must be a number, or None")
            object.__setattr__(self, name, None if math.isinf(number) else number)
        self._check_inclusive()
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"Between({self.low:g}, {self.high:g}) is empty: low is above high")

    def _check_labels(self) -> None:
        """Refuse a range of which one end only is a value of ordered categories."""
        self._check_inclusive()
        if not all(isinstance(end, (str, type(None))) for end in (self.low, self.high)):
            raise ValueError(f"{self!r} mixes strings and numbers")

    def _check_inclusive(self) -> None:
        if self.inclusive not in _SIDES:
            raise ValueError(
                f"inclusive={self.inclusive!r} of Between must be one of {listed(_SIDES)}"
            )

    def _ordered_members(self, variable: Variable) -> np.ndarray:
        """Return which codes of ordered categories are in the range."""
        ends = {"low": -1, "high": len(variable.values)}
        for name in ends:
            end = getattr(self, name)
            if end is None:
                continue
            if end not in variable.values:
                raise ValueError(
                    f"{end!r} of {self!r} is not a value of the column {variable.name!r}:"
                    f" {listed(variable.values)}"
                )
            ends[name] = variable.values.index(end)
        places = np.arange(variable.card)
        with_low, with_high = _SIDES[self.inclusive]
        above = places >= ends["low"] if with_low else places > ends["low"]
        below = places <= ends["high"] if with_high else places < ends["high"]
        found: np.ndarray = above & below & (places < len(variable.values))
        return found

    def members(self, variable: Variable) -> np.ndarray:
        """Return which codes of a column hold a number of the range.

        Parameters
        ----------
        variable : Variable
            The column, which must have numbers, or values in an order.

        Returns
        -------
        ndarray of bool, shape (card,)
            The mask.

        Examples
        --------
        >>> from discbayes.data import Between, Variable
        >>> Between(7, 9, "neither").members(Variable("size", "numeric", (6, 7, 8, 9)))
        array([False, False,  True, False])
        """
        if variable.ordered:
            return self._ordered_members(variable)
        if variable.kind != "numeric":
            raise ValueError(
                f"the column {variable.name!r} has no numbers, and {self!r} is a range of numbers:"
                " use OneOf"
            )
        if isinstance(self.low, str) or isinstance(self.high, str):
            raise ValueError(f"the column {variable.name!r} has numbers, and {self!r} has labels")
        low = -math.inf if self.low is None else float(self.low)
        high = math.inf if self.high is None else float(self.high)
        with_low, with_high = _SIDES[self.inclusive]
        if variable.cuts is None:
            numbers = np.array(variable.values, dtype=np.float64)
            above = numbers >= low if with_low else numbers > low
            below = numbers <= high if with_high else numbers < high
        else:
            ends = np.array([-math.inf, *variable.cuts, math.inf])
            above = ends[1:] > low
            below = ends[:-1] <= high if with_high else ends[:-1] < high
        found = np.zeros(variable.card, dtype=bool)
        found[: above.size] = above & below
        return found

    def __str__(self) -> str:
        with_low, with_high = _SIDES[self.inclusive]
        texts = []
        if self.low is not None:
            texts.append(f"{'≥' if with_low else '>'} {_end(self.low)}")
        if self.high is not None:
            texts.append(f"{'≤' if with_high else '<'} {_end(self.high)}")
        return " and ".join(texts) or "has any value"


def _end(end: float | str) -> str:
    """Return the end of a range as text."""
    return end if isinstance(end, str) else f"{end:g}"


@dataclass(frozen=True, init=False)
class Not(_Set):
    """Evidence that a column has none of some values.

    Parameters
    ----------
    *values
        As in ``OneOf``. Where "missing" is a value of the column, it is left out as well: the
        evidence is about a value that is there.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, Between, Not, load_dataset
    >>> iris = load_dataset("iris")
    >>> net = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).network_
    >>> net.query("class", {"class": Not("setosa")}).probabilities.tolist()
    [0.0, 0.5, 0.5]
    """

    values: tuple[Any, ...]

    def __init__(self, *values: Any):
        object.__setattr__(self, "values", _parts(values, "Not"))

    def members(self, variable: Variable) -> np.ndarray:
        """Return which codes of a column are not among the values.

        Parameters
        ----------
        variable : Variable
            The column.

        Returns
        -------
        ndarray of bool, shape (card,)
            The mask.

        Examples
        --------
        >>> from discbayes.data import Not, Variable
        >>> Not("red").members(Variable("color", "categorical", ("blue", "green", "red")))
        array([ True,  True, False])
        """
        found = ~_union(self.values, variable)
        if variable.missing_value:
            found[-1] = False
        return found

    def __str__(self) -> str:
        return f"is not {_alternatives(self.values)}"


@dataclass(frozen=True, init=False)
class Likelihood(Evidence):
    """Evidence that favors some values over others: virtual evidence.

    The likelihood of a value is the probability of the observation if the column has that value.
    Only ratios matter to posteriors.

    Parameters
    ----------
    values : mapping of values to numbers, or sequence of numbers
        The likelihood of every value of the column, or of every label of its intervals; or the
        numbers alone, in the order of the labels.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, Likelihood, load_dataset
    >>> iris = load_dataset("iris")
    >>> net = BayesNetClassifier("nb", "map").fit(iris.X, iris.y).network_
    >>> net.query("class", {"class": Likelihood([0.8, 0.1, 0.1])}).probabilities.round(2).tolist()
    [0.8, 0.1, 0.1]
    """

    values: tuple[Any, ...] | None = field(repr=False)
    numbers: tuple[float, ...]

    def __init__(self, values: Mapping[Any, float] | Iterable[float]):
        named = isinstance(values, Mapping)
        given = list(values.values()) if isinstance(values, Mapping) else list(values)
        numbers = tuple(float_or_nan(number) for number in given)
        if not all(0 <= number < math.inf for number in numbers) or not any(numbers):
            raise ValueError(
                f"a likelihood has numbers of at least 0, some of them above 0, not {given!r}"
            )
        object.__setattr__(self, "values", tuple(map(plain, values)) if named else None)
        object.__setattr__(self, "numbers", numbers)

    def likelihood(self, variable: Variable) -> np.ndarray:
        """Return the likelihood of each code of a column.

        Parameters
        ----------
        variable : Variable
            The column. "Missing" as a value of its own has the likelihood 0 unless it has one here.

        Returns
        -------
        ndarray of shape (card,)
            The likelihoods.

        Examples
        --------
        >>> from discbayes.data import Likelihood, Variable
        >>> color = Variable("color", "categorical", ("blue", "red"))
        >>> Likelihood({"red": 0.8, "blue": 0.2}).likelihood(color)
        array([0.2, 0.8])
        """
        found = np.full(variable.card, np.nan)
        if variable.missing_value:
            found[-1] = 0.0
        if self.values is None:
            n_real = variable.card - variable.missing_value
            if len(self.numbers) not in (n_real, variable.card):
                raise ValueError(
                    f"a likelihood of the column {variable.name!r} has {n_real} numbers, one for"
                    f" each of {listed(variable.labels, 20, str)}, not {len(self.numbers)}"
                )
            found[: len(self.numbers)] = self.numbers
        else:
            for value, number in zip(self.values, self.numbers, strict=True):
                found[_code(value, variable)] = number
        lacking = np.flatnonzero(np.isnan(found)).tolist()
        if lacking:
            raise ValueError(
                f"the likelihood of the column {variable.name!r} has no number for"
                f" {listed([variable.labels[code] for code in lacking], 20, str)}"
            )
        return found

    def __str__(self) -> str:
        if self.values is None:
            return f"with the likelihoods {listed(self.numbers, 8, '{:g}'.format)}"
        pairs = [
            f"{number:g} of {_text(value)}"
            for value, number in zip(self.values, self.numbers, strict=True)
        ]
        return f"with the likelihoods {listed(pairs, 8, str)}"


def _parts(values: tuple[Any, ...], name: str) -> tuple[Any, ...]:
    """Return the parts of a set, and refuse what is not a value."""
    if not values:
        raise ValueError(f"{name} needs at least one value")
    for value in values:
        if isinstance(value, Evidence):
            if not isinstance(value, _Set):
                raise ValueError(f"{name} takes values and sets of values, not {value!r}")
        elif isinstance(value, (Sequence, Mapping, set, frozenset, np.ndarray)) and not isinstance(
            value, str
        ):
            raise ValueError(f"{name} takes values one by one, not {value!r}: {name}(*values)")
    return tuple(None if is_missing(value) else plain(value) for value in values)


def _union(values: tuple[Any, ...], variable: Variable) -> np.ndarray:
    """Return which codes of a column are among values and sets of values, as a mask."""
    found = np.zeros(variable.card, dtype=bool)
    for value in values:
        if isinstance(value, _Set):
            found |= value.members(variable)
        else:
            found[_code(value, variable)] = True
    return found


def _code(value: Any, variable: Variable) -> int:
    """Return the code of a value, or of a label of an interval."""
    if value is None and variable.missing_value:
        return variable.card - 1
    if variable.cuts is not None and isinstance(value, (int, float)) and math.isfinite(value):
        return int(np.searchsorted(variable.cuts, value, side="right"))
    if variable.cuts is None and value in variable.values:
        return variable.values.index(value)
    if value in variable.labels:
        return variable.labels.index(value)
    raise ValueError(
        f"{value!r} is not a value of the column {variable.name!r}; give one of"
        f" {listed(variable.labels, 20, str)}"
    )


def _text(value: Any) -> str:
    return "missing" if value is None else str(value)


def _alternatives(values: tuple[Any, ...]) -> str:
    return " or ".join(map(_text, values))


# ---- the evidence of some rows


@dataclass(frozen=True, eq=False)
class EvidenceColumn:
    """Evidence of one column in some rows.

    Parameters
    ----------
    position : int
        The column; −1 is the class.
    kinds : tuple of Evidence
        The different pieces of evidence.
    likelihoods : ndarray of shape (n_kinds, card)
        Their likelihoods of the codes.
    rows : ndarray of shape (n_samples,)
        For each row the position of its evidence among them; ``n_kinds + 1`` where it has none.
    """

    position: int
    kinds: tuple[Evidence, ...]
    likelihoods: np.ndarray
    rows: np.ndarray

    @property
    def variable(self) -> Variable:
        """The evidence as a variable of its own, whose last value is that of no observation."""
        return Variable("", "evidence", (*map(str, self.kinds), NOTHING_OBSERVED))

    @property
    def log_scale(self) -> np.ndarray:
        """For each row the logarithm of the number by which its likelihood was divided.

        The likelihoods of a value add up to one at most, so that they are probabilities.
        """
        tops = np.log(self.likelihoods.max(axis=1) * len(self.kinds))
        return np.append(tops, [0.0, 0.0])[self.rows]

    @property
    def probabilities(self) -> np.ndarray:
        """P(observation | code), with "nothing observed" as the last of the observations."""
        shares = self.likelihoods / self.likelihoods.max(axis=1, keepdims=True) / len(self.kinds)
        rest = np.maximum(1.0 - shares.sum(axis=0), 0.0)
        return np.vstack([shares, rest])


def evidence_columns(
    cells: Mapping[int, Mapping[int, Evidence]], variables: Sequence[Variable], n_rows: int
) -> list[EvidenceColumn]:
    """Return the evidence of rows, column by column.

    Parameters
    ----------
    cells : mapping of columns to mappings of rows to evidence
        The evidence.
    variables : sequence of Variable
        The columns; the class is the last one, and has the position −1.
    n_rows : int
        The number of rows.
    """
    found = []
    for position, by_row in sorted(cells.items()):
        if not by_row:
            continue
        kinds = {kind: place for place, kind in enumerate(dict.fromkeys(by_row.values()))}
        likelihoods = [kind.likelihood(variables[position]) for kind in kinds]
        rows = np.full(n_rows, len(kinds) + 1, code_dtype(len(kinds) + 1))
        rows[list(by_row)] = [kinds[kind] for kind in by_row.values()]
        found.append(EvidenceColumn(position, tuple(kinds), np.array(likelihoods), rows))
    return found


def certain_value(kind: Evidence, variable: Variable) -> int | None:
    """Return the only code that evidence leaves possible; None if it is not as good as a value."""
    likelihood = kind.likelihood(variable)
    only = int(likelihood.argmax())
    return only if likelihood[only] == 1.0 and likelihood.sum() == 1.0 else None


def with_evidence(codes: np.ndarray, columns: Sequence[EvidenceColumn]) -> np.ndarray:
    """Return codes of rows with a row for each column of evidence at the end."""
    return np.vstack([codes, *(column.rows for column in columns)])
