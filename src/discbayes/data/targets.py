"""The class column and the sample weights: validation, and messages for what is refused."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from math import frexp
from typing import Any, NoReturn

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from discbayes._text import listed
from discbayes.data.domain import Variable
from discbayes.data.labels import is_missing, plain
from discbayes.data.table import factorize, unmasked

_HEAVIEST = 1e100  # of weights: products of a few sums of them are still numbers
_SHARES = 1 + 1e-6  # up to rounding, the largest sum of weights that can only be shares of rows
# whether of shares; the filters of Python would show it again after every change of filters
_warned: list[bool] = []
_LIGHT = 0.1  # of the number of rows: weights that sum to less are probably shares, not counts


class DataWarning(UserWarning):
    """Warning about the rows of a fit.

    It is about columns that are not used, text that is probably numbers, or odd weights.

    It is a ``UserWarning`` of its own so that it can be silenced alone:
    ``warnings.simplefilter("ignore", discbayes.DataWarning)``.

    Examples
    --------
    >>> import warnings
    >>> from discbayes import BayesNetClassifier, DataWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", DataWarning)
    ...     _ = BayesNetClassifier("nb").fit([["a", "x"], ["b", "x"]] * 9, [0, 1] * 9)
    >>> print(caught[0].message)
    1 of 2 columns is not used (one value only): 'x1'
    """


def check_weight(sample_weight: Any, n_rows: int) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return the positive weights, and the mask of their rows.

    The weights are None where every row counts once, the mask where every row is kept.

    >>> check_weight([2.0, 0.0, 1.0], 3)
    (array([2., 1.]), array([ True, False,  True]))
    """
    if sample_weight is None:
        return None, None
    weight = weight_array(sample_weight, n_rows)
    if not (weight > 0).any():
        refuse_zero_weights()
    kept = None if (weight > 0).all() else weight > 0
    if kept is not None:
        weight = weight[kept]
    return (None if (weight == 1).all() else weight), kept


def weight_array(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Return one finite weight of zero or more for each row."""
    weight = _weight_numbers(sample_weight)
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has shape {weight.shape}, but X has {n_rows} rows: pass one weight"
            " per row"
        )
    if not np.isfinite(weight).all():
        row = int(np.flatnonzero(~np.isfinite(weight))[0])
        raise ValueError(
            f"sample_weight contains NaN or infinity, {weight[row]} in row {row}: replace it"
        )
    if (weight < 0).any():
        row = int(np.flatnonzero(weight < 0)[0])
        raise ValueError(
            f"sample_weight is negative, {weight[row]} in row {row}: weights are zero or more"
        )
    if weight.max(initial=0.0) > _HEAVIEST:
        raise ValueError(
            f"sample_weight is {weight.max()}, above {_HEAVIEST}, so that sums would overflow:"
            " scale it"
        )
    return weight


def _weight_numbers(sample_weight: Any) -> np.ndarray:
    """Return weights as floats; masked ones are NaN."""
    try:
        given = sample_weight if np.ma.isMA(sample_weight) else np.asarray(sample_weight)
        if given.dtype.kind in "cmM":
            raise TypeError(f"it holds {given.dtype}")
        return unmasked(given) if np.ma.isMA(given) else given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"sample_weight is not a list of numbers ({error}): pass one number per row"
        ) from error


def refuse_zero_weights() -> NoReturn:
    """Refuse weights of which none is positive."""
    raise ValueError("every sample_weight is zero: at least one row must have a positive weight")


@dataclass(frozen=True)
class Shares:
    """Weights of several rows that sum to one or less: shares of rows, not numbers of rows."""

    total: float
    n_rows: int

    @classmethod
    def of(cls, total: float, n_rows: int) -> Shares | None:
        """Return the shares, by sum and number of positive weights; None for numbers of rows."""
        return cls(total, n_rows) if n_rows > 1 and total <= _SHARES else None

    def scaled(self, weight: np.ndarray) -> np.ndarray:
        """Return weights scaled so that all of them have a mean of 1, however small they are.

        >>> Shares(1e-323, 2).scaled(np.array([5e-324, 5e-324]))
        array([1., 1.])
        """
        mantissa, exponent = frexp(self.total)
        # the order in which weights were added must not matter
        factor = np.float32(self.n_rows / mantissa)
        return np.ldexp(weight, -exponent) * float(factor)


def weights_of_all(weight: np.ndarray) -> np.ndarray:
    """Return the positive weights of all rows of a fit, with a mean of 1 if they are shares.

    Warn of weights that are shares of rows, or seem to be.
    """
    shares = Shares.of(float(weight.sum()), weight.size)
    if shares is None:
        warn_of_light_weights(float(weight.sum()), weight.size)
        return weight
    warn_of_shares()
    return shares.scaled(weight)


def warn_of_shares() -> None:
    """Warn that weights are scaled, once per process.

    Boosting fits many times, and could not rescale them.
    """
    if not _warned:
        warnings.warn(
            "sample_weight sums to 1 or less over several rows, which shares of rows do and numbers"
            " of rows do not: it is scaled to a mean of 1, here and in later fits",
            DataWarning,
            stacklevel=2,
        )
        _warned.append(True)


def warn_of_light_weights(total: float, n_rows: int) -> None:
    """Warn of weights that are probably shares of rows, not numbers of rows."""
    if total < _LIGHT * n_rows:
        warnings.warn(
            f"the sample weights sum to {total:.3g} for {n_rows} rows. They count as numbers of"
            " rows, in discretization and smoothing too: scale them to a mean of 1 unless you mean"
            " that",
            DataWarning,
            stacklevel=2,
        )


@dataclass(frozen=True)
class Labels:
    """Labels of rows, some of which may have none.

    >>> labels = Labels.of(["no", None, "yes"], 3)
    >>> labels.is_there, list(labels.there())
    (array([ True, False,  True]), ['no', 'yes'])
    """

    values: np.ndarray
    is_there: np.ndarray
    name: Any = None

    @classmethod
    def of(cls, y: Any, n_rows: int) -> Labels:
        """Return the labels of rows; a missing one is NaN or None."""
        if y is None or isinstance(y, str):
            label_array(y, n_rows)  # refuses both
        values = column_or_1d(_to_numpy(y), warn=True)
        if values.size != n_rows:
            label_array(values, n_rows)
        if values.dtype.kind == "O":
            missing = np.fromiter(map(is_missing, values.tolist()), bool, values.size)
        else:
            missing = values != values  # NaN
        return cls(values, ~missing, getattr(y, "name", None))

    def there(self) -> Labels:
        """Return the labels of rows that have one."""
        kept = self.values[self.is_there]
        return Labels(kept, np.ones(kept.size, bool), self.name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return the labels as an array."""
        return np.array(self.values, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values.tolist())


def label_array(y: Any, n_rows: int | None) -> np.ndarray:
    """Return labels as a one-dimensional array, one for each of ``n_rows`` if that is given."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    if isinstance(y, str):
        raise ValueError(
            f"y is the text {y!r}, not a label for each row; the name of a column is for files that"
            f" are read: pass the column itself, X[{y!r}], and X without it"
        )
    labels = _to_numpy(y)
    if labels.ndim == 2 and labels.shape[1] > 1:
        raise ValueError(
            f"y has {labels.shape[1]} columns, but a classifier has one target: fit one for each"
            " column"
        )
    labels = column_or_1d(labels, warn=True)
    if n_rows is not None and labels.size != n_rows:
        raise ValueError(
            f"Found inconsistent numbers of samples: X has {n_rows} rows, y has {labels.size}"
        )
    if labels.dtype.kind == "O":
        labels = _from_objects(labels)
    if labels.dtype.kind not in "biufUO":
        raise ValueError(
            f"Unknown label type: y holds {labels.dtype}; labels are strings, numbers or booleans"
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        _refuse_missing_labels(np.isnan(labels), "contains infinity, which is not a label")
    return labels


def _to_numpy(y: Any) -> np.ndarray:
    if type(y).__module__.startswith("pyarrow") and hasattr(y.type, "index_type"):
        return np.array(y.to_pylist(), dtype=object)  # as an array, its nulls would be labels
    if np.ma.isMA(y):
        return unmasked(y, objects=True)
    labels = np.asarray(y)
    if labels.dtype.kind in "Uf" and not hasattr(y, "__array__"):
        objects = np.asarray(y, dtype=object)
        # numpy made strings of numbers, rounded them or truncated them at NULs
        if objects.tolist() != labels.tolist():
            return objects
    return labels.astype(object) if labels.dtype.kind == "T" else labels


def _refuse_missing_labels(missing: np.ndarray, otherwise: str) -> None:
    count = int(np.count_nonzero(missing))
    if count:
        rows = listed(np.flatnonzero(missing), 5, show=str)
        raise ValueError(
            f"Input y contains NaN or None in {count} of {missing.size} rows (row {rows}): leave"
            " those rows out"
        )
    raise ValueError(f"Input y {otherwise}")


def _from_objects(labels: np.ndarray) -> np.ndarray:
    """Return Python objects as an array of numbers; strings stay as they are."""
    values = labels.tolist()
    strings = {issubclass(kind, str) for kind in set(map(type, values))}
    if strings == {True}:
        return (
            labels
            if set(map(type, values)) == {str}
            else np.array([*map(plain, values)], dtype=object)
        )
    missing = np.fromiter(map(is_missing, values), dtype=bool, count=len(values))
    if missing.any():
        _refuse_missing_labels(missing, "")
    if True in strings:
        text = next(value for value in values if isinstance(value, str))
        other = next(value for value in values if not isinstance(value, str))
        raise ValueError(
            f"y mixes strings and numbers, {text!r} and {other!r} for example: cast it to one of"
            " them"
        )
    values = [plain(value) for value in values]
    odd = next((value for value in values if not _is_label(value)), None)
    if odd is not None:
        kind = (
            "a number beyond the range of a float" if isinstance(odd, int) else type(odd).__name__
        )
        raise ValueError(
            f"Unknown label type: y holds {kind}; labels are strings, numbers or booleans: cast it"
            " to str"
        )
    numbers = np.array(values)
    if numbers.tolist() != values:
        raise ValueError(
            "y mixes whole numbers with others in a way that no type of numbers can hold: cast it"
            " to str"
        )
    return numbers


def _is_label(value: Any) -> bool:
    return type(value) in (bool, float) or (type(value) is int and abs(value) <= sys.float_info.max)


def classes_and_codes(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes in rising order, and the class code of each row.

    The labels are those that `label_array` returns.

    >>> classes_and_codes(np.array(["no", "yes", "no"]))
    (array(['no', 'yes'], dtype='<U3'), array([0, 1, 0]))
    """
    if labels.dtype.kind in "biuf":
        classes, codes = np.unique(labels, return_inverse=True)
        broken = classes[classes != np.floor(classes)] if classes.dtype.kind == "f" else classes[:0]
        # shown one of them: it would warn of many classes, since each occurs once here
        if broken.size:
            check_classification_targets(broken[:1])
        return classes, codes.astype(np.int64, copy=False)
    places, levels = factorize(labels.tolist())  # sorting every string would take far longer
    classes = np.array(levels, dtype=labels.dtype)
    order = np.argsort(classes)
    rank = np.empty(order.size, dtype=np.int64)
    rank[order] = np.arange(order.size)
    return classes[order], rank[places]


def target_variable(name: Any, classes: np.ndarray, features: list[str]) -> Variable:
    """Return the class as a variable, named as in the data unless a feature has that name."""
    if not isinstance(name, str) or name in ("", *features):
        name = "class"
    while name in features:
        name += "_"
    kind = "boolean" if classes.dtype == bool else "categorical"
    return Variable(name, kind, tuple(plain(value) for value in classes.tolist()))
