"""Which cells of a table to remove: at random, by another column, or by their own value.

- Missing completely at random (MCAR): ``missing_masks`` removes the same number of cells from each
  row, ``cell_masks`` each cell on its own. Masks of a larger share contain those of a smaller one.
- Missing at random (MAR): ``missing_by_another`` lets one column, which is itself never removed,
  decide how probable it is that the other cells of a row are missing.
- Missing not at random (MNAR): ``missing_by_value`` lets the value of a cell decide.

The last two compare values with what is usual in the training rows (``UsualValues``), so that the
same cells of test rows are removed whatever the other test rows are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from discbayes.data.table import NumericColumns, Part, Table

PROBABLE = 0.5  # the probability that a cell is missing where its column, or another, says so
IMPROBABLE = 0.1  # and elsewhere


def missing_masks(
    n_rows: int, n_features: int, shares: Sequence[float], rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield a mask per share, with the same number of missing features in each row.

    Parameters
    ----------
    n_rows, n_features : int
        The shape of each mask.
    shares : sequence of float
        Percentages of the features, rounded to whole features.
    rng : Generator
        Draws the order in which each row loses its features.

    Examples
    --------
    >>> [int(mask.sum()) for mask in missing_masks(2, 10, [0, 30, 90], np.random.default_rng(0))]
    [0, 6, 18]
    """
    places = rng.permuted(np.tile(np.arange(n_features, dtype=np.int32), (n_rows, 1)), axis=1)
    for share in shares:
        yield places < round(share / 100 * n_features)


def cell_masks(
    shape: tuple[int, int], shares: Sequence[int], rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield a mask per share, each cell missing independently with that probability in per cent.

    Examples
    --------
    >>> [int(mask.sum()) for mask in cell_masks((100, 10), [0, 30, 100], np.random.default_rng(0))]
    [0, 277, 1000]
    """
    draws = rng.random(shape)
    return (draws < share / 100 for share in shares)


@dataclass(frozen=True)
class UsualValues:
    """The median of each numeric column of the training rows, the mode of each other column.

    Examples
    --------
    >>> from discbayes.data.table_reader import read_table
    >>> rows = read_table([[1.0, "a"], [2.0, "a"], [9.0, "b"]])
    >>> usual = UsualValues.learn(rows)
    >>> usual.values
    (2.0, 'a')
    >>> usual.above(rows)
    array([[False, False],
           [False, False],
           [ True,  True]])
    """

    values: tuple[object, ...]
    includes_median: tuple[bool, ...]

    @classmethod
    def learn(cls, train: Table) -> UsualValues:
        """Find the medians and modes of a table.

        Parameters
        ----------
        train : Table
            The training rows.

        Returns
        -------
        UsualValues
            NaN or None for a column without a value.
        """
        found = [_usual_value(*train.find(at)) for at in range(len(train.names))]
        return cls(tuple(value for value, _ in found), tuple(flag for _, flag in found))

    def above(self, table: Table) -> np.ndarray:
        """Mark the numbers above their median, and the other values that are not the mode.

        Where no training value is above the median, as in a column of mostly ones, numbers at the
        median count as above it. Missing cells are never marked.

        Parameters
        ----------
        table : Table
            Any rows with the columns of the training rows.

        Returns
        -------
        ndarray of bool of shape (n_rows, n_features)
            The marked cells.
        """
        marked = np.zeros((table.n_rows, len(self.values)), dtype=bool)
        for at, (value, at_median) in enumerate(
            zip(self.values, self.includes_median, strict=True)
        ):
            part, place = table.find(at)
            if isinstance(part, NumericColumns):
                column = part.data[:, place]
                marked[:, at] = column >= value if at_median else column > value
            else:
                other = np.array([level != value for level in part.levels], dtype=bool)
                known = part.places >= 0
                marked[known, at] = other[part.places[known]]
        return marked


def _usual_value(part: Part, place: int) -> tuple[object, bool]:
    """Return the median or mode of a column, and whether no value is above the median."""
    if isinstance(part, NumericColumns):
        column = np.asarray(part.data[:, place], np.float64)
        column = column[~np.isnan(column)]
        if not column.size:
            return np.nan, False
        median = float(np.median(column))
        return median, not bool((column > median).any())
    counts = np.bincount(part.places[part.places >= 0], minlength=len(part.levels))
    if not counts.any():
        return None, False
    # of values that are equally frequent the first, in an order that rows do not change
    ties = [part.levels[at] for at in np.flatnonzero(counts == counts.max())]
    return min(ties, key=str), False


def missing_by_value(train: Table, table: Table, rng: np.random.Generator) -> np.ndarray:
    """Return a mask of cells that are missing by their own value (MNAR).

    A number above the median of its column, or a value that is not the most frequent one, is
    missing with probability 0.5, any other with probability 0.1.

    Parameters
    ----------
    train : Table
        The training rows, whose medians and modes are taken.
    table : Table
        The rows to remove cells from.
    rng : Generator
        Draws one number for each cell.

    Returns
    -------
    ndarray of bool of shape (n_rows, n_features)
        The cells to remove.

    Examples
    --------
    >>> from discbayes.data.table_reader import read_table
    >>> rows = read_table([[float(value)] for value in range(1000)])
    >>> mask = missing_by_value(rows, rows, np.random.default_rng(0))
    >>> int(mask[:500].sum()), int(mask[500:].sum())
    (47, 250)
    """
    return _drawn(UsualValues.learn(train).above(table), rng)


def missing_by_another(
    train: Table, table: Table, cause: int, rng: np.random.Generator
) -> np.ndarray:
    """Return a mask of cells that are missing by the value of one other column (MAR).

    Where the column ``cause`` is above its median, or has its most frequent value, each other cell
    of the row is missing with probability 0.5, and with probability 0.1 elsewhere, which includes
    rows in which it was not known to begin with. The column itself stays as it is.

    Parameters
    ----------
    train : Table
        The training rows, whose median or mode is taken.
    table : Table
        The rows to remove cells from.
    cause : int
        The column that decides; ``choose_cause`` draws one.
    rng : Generator
        Draws one number for each cell.

    Returns
    -------
    ndarray of bool of shape (n_rows, n_features)
        The cells to remove.

    Examples
    --------
    >>> from discbayes.data.table_reader import read_table
    >>> rows = read_table([[float(value), 0.0] for value in range(1000)])
    >>> mask = missing_by_another(rows, rows, 0, np.random.default_rng(0))
    >>> int(mask[:, 0].sum()), int(mask[:500, 1].sum()), int(mask[500:, 1].sum())
    (0, 49, 264)
    """
    part, _ = table.find(cause)
    probable = UsualValues.learn(train).above(table)[:, cause]
    if not isinstance(part, NumericColumns):
        probable = ~probable & (part.places >= 0)
    mask = _drawn(np.repeat(probable[:, None], len(table.names), axis=1), rng)
    mask[:, cause] = False
    return mask


def choose_cause(train: Table, rng: np.random.Generator) -> int:
    """Draw the column that decides which other cells are missing.

    Parameters
    ----------
    train : Table
        The training rows; of their columns one with the fewest missing values is drawn.
    rng : Generator
        Draws it.

    Returns
    -------
    int
        The position of the column.

    Examples
    --------
    >>> from discbayes.data.table_reader import read_table
    >>> choose_cause(read_table([[1.0, None], [2.0, 3.0]]), np.random.default_rng(0))
    0
    """
    counts = train.missing_counts()
    return int(rng.choice(np.flatnonzero(counts == counts.min())))


def _drawn(probable: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.random(probable.shape) < np.where(probable, PROBABLE, IMPROBABLE)
