"""Groups of the values of a column of categories, by what the values tell about the class.

A column of many values has no edge to another one where values are states: nearly all cells of
their table would be empty. Its groups are states instead. A value that weighs as much as a group
should has a group of its own; values of few rows, whose classes may be chance, are a group
together; the others are split in two, again and again, where that tells most about the class. A
split is made only if rows that are left out of the counts say so too, beyond chance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import xlogy

from discbayes.data.domain import Encoded
from discbayes.data.row_blocks import in_blocks_if_weighted
from discbayes.data.rows import Rows

CELLS_PER_ROW = 2  # of a table with one parent; of a sparser one most cells are empty
MIN_ROWS = 2_500  # fewer rows count as these
FEW_ROWS = 20.0  # of a value whose classes may be chance
MAX_SHARE_OF_FEW = 1 / 3  # of the rows of a column, in such values: it has no groups beyond that
MIN_GAIN = 2.0  # standard errors of what a split gains in rows that are left out
STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
_DIGITS = 12  # of what orders values: beyond them is rounding
_STEPS = 30  # of the power method
_TINY = 1e-12


def has_many_values(n_values: int, n_classes: int, n_rows: float) -> bool:
    """Return whether the table of two columns of so many values would be nearly empty.

    >>> has_many_values(100, 2, 20_000), has_many_values(1_000, 2, 20_000)
    (False, True)
    """
    return n_values**2 * n_classes > CELLS_PER_ROW * max(n_rows, MIN_ROWS)


def weights_by_class(data: Rows, columns: Sequence[int]) -> list[np.ndarray]:
    """Return the weight of each value of some columns in each class; missing values are left out.

    Parameters
    ----------
    data : Rows
        The rows.
    columns : sequence of int
        The positions of the columns.

    Returns
    -------
    list of ndarray of shape (card, n_classes)
        The weights.

    Examples
    --------
    >>> from discbayes.data import FrameEncoder
    >>> data = FrameEncoder().fit_transform([["red"], ["blue"], ["red"]], [1, 0, 1])
    >>> weights_by_class(data, [0])
    [array([[1., 0.],
           [0., 2.]])]
    """
    found: list[np.ndarray] = in_blocks_if_weighted(data).map_reduce(
        _weights_of_block, _add_all, (list(columns),)
    )
    return found


def _weights_of_block(
    data: Encoded, n_jobs: int | None, columns: Sequence[int]
) -> list[np.ndarray]:
    n_classes = data.n_classes
    found = []
    for i in columns:
        card = int(data.cards[i])
        cells = data.codes[i].astype(np.int64) * n_classes + data.classes
        weights = np.bincount(cells, data.weight, (card + 1) * n_classes)
        found.append(weights.reshape(-1, n_classes)[:card].astype(float))
    return found


def _add_all(first: list[np.ndarray], second: list[np.ndarray]) -> list[np.ndarray]:
    return [one + other for one, other in zip(first, second, strict=True)]


def group_by_class(weights: np.ndarray, n_groups: int) -> np.ndarray | None:
    """Return the group of each value, by its weight in each class.

    Parameters
    ----------
    weights : ndarray of shape (n_values, n_classes)
        The weights.
    n_groups : int
        The desired number of groups; there is one more if values of few rows are one.

    Returns
    -------
    ndarray of int or None
        The groups, in no order. None if a third of the rows are in values of few rows, or if the
        others cannot be told apart.

    Examples
    --------
    >>> import numpy as np
    >>> weights = np.array([[30, 10], [29, 11], [10, 30], [12, 28], [80, 80]])
    >>> group_by_class(weights, 3)
    array([1, 1, 2, 2, 0])
    """
    by_value = weights.sum(axis=1)
    total = by_value.sum()
    is_heavy = by_value * n_groups >= total * (1 - _TINY)
    is_rare = (by_value < FEW_ROWS) & ~is_heavy
    if not total or by_value[is_rare].sum() > MAX_SHARE_OF_FEW * total:
        return None
    leaves = [np.array([value]) for value in np.flatnonzero(is_heavy)]
    rest = np.flatnonzero(~is_heavy & ~is_rare)
    leaves += [rest] if rest.size else []
    splitter = _Splitter(weights)
    splits = [splitter.split(leaf) for leaf in leaves]
    while len(leaves) < n_groups:
        best = int(np.argmax([gain for gain, _ in splits]))
        gain, at = splits[best]
        if not gain:
            break
        leaf = leaves[best]
        is_high = np.isin(leaf, at)
        leaves[best] = leaf[~is_high]
        leaves.append(leaf[is_high])
        splits[best] = splitter.split(leaves[best])
        splits.append(splitter.split(leaves[-1]))
    if len(leaves) < 2 and not is_heavy.any():
        return None
    groups = np.full(len(weights), len(leaves))
    for number, leaf in enumerate(leaves):
        groups[leaf] = number
    return groups


class _Splitter:
    """Splits values in two by their classes.

    Parameters
    ----------
    weights : ndarray of shape (n_values, n_classes)
        The weight of each value in each class.
    """

    def __init__(self, weights: np.ndarray):
        self.weights = weights
        n_classes = weights.shape[1]
        self.shares = (weights.sum(axis=0) + 1.0) / (weights.sum() + n_classes)
        prior = _best_strength(weights, self.shares) * self.shares
        self.smoothed = weights + prior
        self.totals = self.smoothed.sum(axis=1)
        self.given = self.smoothed / self.totals[:, None]  # P(class | value)
        self.expected = weights.sum(axis=1)[:, None] * self.given

    def split(self, values: np.ndarray) -> tuple[float, np.ndarray]:
        """Return what the best split gains in nats, and the values on one side of it.

        The gain is that of rows that are left out of the counts. It is zero unless it is beyond
        chance.
        """
        nothing = 0.0, values[:0]
        if values.size < 2:
            return nothing
        direction = self._direction(values)
        key = self.given[values] @ direction
        order = np.lexsort((values, np.round(key, _DIGITS)))
        values, key = values[order], key[order]
        below = np.cumsum(self.expected[values], axis=0)
        gains = _information(below[:-1]) + _information(below[-1] - below[:-1])
        last = int(np.argmax(gains))
        if not gains[last] > _information(below[-1]):
            return nothing
        border = (key[last] + key[last + 1]) / 2
        gain, error = self._gain_left_out(values, last + 1, direction, border)
        return (gain, values[last + 1 :]) if gain > MIN_GAIN * error else nothing

    def _direction(self, values: np.ndarray) -> np.ndarray:
        """Return the direction in which P(class | value) differs most, by the power method.

        Of two classes there is one direction only.
        """
        weight = self.expected[values].sum(axis=1)
        mean = self.expected[values].sum(axis=0) / max(weight.sum(), _TINY)
        scale = np.sqrt(self.shares)
        apart = (self.given[values] - mean) / scale
        direction = apart[int(np.argmax(weight * (apart**2).sum(axis=1)))]
        for _ in range(_STEPS if self.shares.size > 2 else 0):
            following = np.einsum("vc,v->c", apart, weight * np.einsum("vc,c->v", apart, direction))
            direction = following / max(float(np.sqrt((following**2).sum())), _TINY)
        return np.asarray(direction / scale)

    def _gain_left_out(
        self, values: np.ndarray, n_low: int, direction: np.ndarray, border: float
    ) -> tuple[float, float]:
        """Return the gain of a split in the log-likelihood of classes, and its standard error.

        A row is left out of the counts of its value, which may then be on the other side, and of
        the counts of the side.
        """
        weights = self.weights[values]
        own = np.minimum(weights, 1.0)
        key = (self.smoothed[values] @ direction)[:, None] - own * direction
        left = np.maximum(self.totals[values][:, None] - own, _TINY)
        is_high = key / left > border
        same = is_high == (np.arange(values.size) >= n_low)[:, None]
        low, high = weights[:n_low].sum(axis=0), weights[n_low:].sum(axis=0)
        of_class = np.where(is_high, high, low) - own * same
        of_side = np.where(is_high, high.sum(), low.sum()) - own * same
        with_split = (np.maximum(of_class, 0.0) + self.shares) / (of_side + 1.0)
        both = low + high
        without = (np.maximum(both - own, 0.0) + self.shares) / (both.sum() - own + 1.0)
        gains = np.log(with_split) - np.log(without)
        return float((weights * gains).sum()), float(np.sqrt((weights * gains**2).sum()))


def _best_strength(weights: np.ndarray, shares: np.ndarray) -> float:
    """Return the number of virtual rows of largest leave-one-out likelihood of the classes."""
    used = weights > 0
    own = np.minimum(weights, 1.0)
    rest = (weights - own)[used]
    totals = (weights.sum(axis=1, keepdims=True) - own)[used]
    lower = np.broadcast_to(shares, weights.shape)[used]

    def likelihood(strength: float) -> float:
        return float(weights[used] @ np.log((rest + strength * lower) / (totals + strength)))

    return max(sorted(STRENGTHS, reverse=True), key=likelihood)


def _information(weights: np.ndarray) -> np.ndarray:
    """Return minus the weight times the entropy of the class."""
    total = weights.sum(axis=-1)
    return np.asarray(xlogy(weights, weights).sum(axis=-1) - xlogy(total, total))


def numbered(groups: np.ndarray) -> tuple[int, ...]:
    """Return groups numbered in the order of their first values.

    >>> numbered(np.array([2, 2, 0, 1, 0]))
    (0, 0, 1, 2, 1)
    """
    _, first, which = np.unique(groups, return_index=True, return_inverse=True)
    number = np.empty(first.size, np.int64)
    number[np.argsort(first)] = np.arange(first.size)
    return tuple(number[which].tolist())
