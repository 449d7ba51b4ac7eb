"""Counts of pairs of features with the class, and the mutual information that they give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from discbayes._memory import TooLargeError, require_memory
from discbayes.counts.contingency import Counts, _same
from discbayes.counts.pair_runs import MEASURES, PairRun, PairSet, Receive, Visit
from discbayes.data.rows import Rows
from discbayes.kernels import saturated

# for each cell of tables that are kept: the counts so far, those of more rows, and their sum
KEPT_BYTES = 24
MASK_BYTES = 8  # for each pair: which edges are required, forbidden, usable, …
MIRRORED_AT_ONCE = 256  # rows and columns of a matrix that are in the cache together


@dataclass(frozen=True)
class PairInformation:
    """Mutual information of every pair of features, in nats.

    All are symmetric matrices of shape ``(n_features, n_features)`` with zeros on the diagonal.
    Each pair is measured on the rows where both features are observed, or by EM on all rows.

    Parameters
    ----------
    conditional : ndarray
        The conditional mutual information I(Xi;Xj|C).
    plain : ndarray
        The mutual information I(Xi;Xj).
    joint : ndarray
        The mutual information I(C;Xi,Xj).
    total : ndarray
        The weight of the rows of each pair.

    Examples
    --------
    >>> from discbayes.counts import count, pair_information
    >>> from discbayes.data import FrameEncoder
    >>> rows = [["red", "big"], ["red", "small"], ["blue", "big"], ["blue", "small"]]
    >>> data = FrameEncoder().fit_transform(rows, ["yes", "no", "no", "yes"])
    >>> information = pair_information(data, count(data))
    >>> information.plain.round(4)
    array([[0., 0.],
           [0., 0.]])
    >>> information.conditional.round(4)
    array([[0.    , 0.6931],
           [0.6931, 0.    ]])
    """

    conditional: np.ndarray
    plain: np.ndarray
    joint: np.ndarray
    total: np.ndarray


@dataclass(frozen=True)
class PairCounts:
    """Counts of every pair of features with the class: pairs (0,1), (0,2), …, class innermost."""

    cards: np.ndarray
    n_classes: int
    cells: np.ndarray

    @cached_property
    def places(self) -> PairSet:
        """Where the table of each pair begins."""
        return PairSet(self.cards, self.n_classes)

    def table(self, i: int, j: int) -> np.ndarray:
        """Return the counts of two features, shape ``(card[i], card[j], n_classes)``."""
        if i == j:
            raise ValueError(f"a pair needs two features, not feature {i} twice")
        a, b = min(i, j), max(i, j)
        shape = int(self.cards[a]), int(self.cards[b]), self.n_classes
        start = int(self.places.starts(a, b))
        table = self.cells[start : start + prod(shape)].reshape(shape)
        return table if i < j else table.transpose(1, 0, 2)

    def __add__(self, other: PairCounts) -> PairCounts:
        _same("domains", self.cards.tolist(), other.cards.tolist())
        _same("numbers of classes", self.n_classes, other.n_classes)
        return PairCounts(self.cards, self.n_classes, self.cells + other.cells)

    def information(self) -> PairInformation:
        """Measure the mutual information of every pair."""
        n, n_classes = self.cards.size, self.n_classes
        matrices = np.zeros((MEASURES, n, n))
        for first in range(n - 1):
            seconds = np.arange(first + 1, n)
            measured = np.empty((seconds.size, MEASURES))
            saturated.measure_pairs(
                self.cells, self.places.starts(first, seconds), self.cards[first],
                self.cards[seconds], np.ones(seconds.size, np.bool_), n_classes, np.empty(0),
                measured,
            )  # fmt: skip
            matrices[:, first, seconds] = measured.T
        return PairInformation(*map(_mirrored, matrices))


def count_pairs(
    data: Rows, counts: Counts, n_jobs: int | None = None, method: str = "auto"
) -> PairCounts:
    """Count every pair of features with the class (``method``: "auto", "bits" or "loop")."""
    run = PairRun(data, counts, method)
    places = PairSet(data.cards, data.n_classes)
    n_cells = places.n_cells
    require_memory(
        KEPT_BYTES * n_cells,
        f"counts of {n_cells:,} cells",
        "leave columns out, or use structure='nb'",
    )
    cells = np.zeros(n_cells)
    run.count(places, cells, n_jobs)
    return PairCounts(data.cards, data.n_classes, cells)


def pair_information(
    data: Rows,
    counts: Counts,
    n_jobs: int | None = None,
    method: str = "auto",
    skip: np.ndarray | None = None,
    em: bool = False,
) -> PairInformation:
    """Measure the mutual information of every pair, without keeping the tables of rows.

    Parameters
    ----------
    data : Rows
        The rows, or their sufficient statistics.
    counts : Counts
        Counts of the class and of each feature.
    n_jobs : int, optional
        The number of threads.
    method : {"auto", "bits", "loop"}, default="auto"
        The kernel that counts rows.
    skip : ndarray of bool, optional
        A symmetric matrix of pairs that are not measured and have zeros.
    em : bool, default=False
        Whether the table of a pair is the saturated one of largest likelihood, given all rows.

    Returns
    -------
    PairInformation
        Matrices of mutual information.

    Examples
    --------
    >>> from discbayes.counts import count, pair_information
    >>> from discbayes.data import FrameEncoder
    >>> rows = [["red", "big"], ["red", "small"], ["blue", "big"], ["blue", "small"]]
    >>> data = FrameEncoder().fit_transform(rows, ["yes", "no", "no", "yes"])
    >>> pair_information(data, count(data)).joint.round(4)
    array([[0.    , 0.6931],
           [0.6931, 0.    ]])
    """
    n = data.n_features
    _require_matrices(n, MEASURES)
    matrices = np.zeros((MEASURES, n, n))

    def receive(first: int, seconds: np.ndarray, measures: np.ndarray) -> None:
        matrices[:, first, seconds] = measures.T

    PairRun(data, counts, method, skip, em).measure(receive, n_jobs)
    return PairInformation(*map(_mirrored, matrices))


def pair_weights(
    data: Rows,
    counts: Counts,
    weigh: Callable[[np.ndarray], np.ndarray],
    n_jobs: int | None = None,
    skip: np.ndarray | None = None,
    em: bool = False,
) -> np.ndarray:
    """Return one number for each pair of features, a function of its mutual information.

    Only these numbers are held for all pairs: a quarter of the memory of ``pair_information``.

    Parameters
    ----------
    data : Rows
        The rows, or their sufficient statistics.
    counts : Counts
        Counts of the class and of each feature.
    weigh : callable
        Called with an array of shape ``(n_pairs, 4)``, with I(Xi;Xj|C), I(Xi;Xj), I(C;Xi,Xj) and
        the weight of the rows of some pairs, on several threads; returns a number for each pair.
    n_jobs : int, optional
        The number of threads.
    skip : ndarray of bool, optional
        A symmetric matrix of pairs that are not measured and have zeros.
    em : bool, default=False
        Whether the table of a pair is the saturated one of largest likelihood, given all rows.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        A symmetric matrix with zeros on the diagonal.

    Examples
    --------
    >>> from discbayes.counts import count, pair_weights
    >>> from discbayes.data import FrameEncoder
    >>> rows = [["red", "big"], ["red", "small"], ["blue", "big"], ["blue", "small"]]
    >>> data = FrameEncoder().fit_transform(rows, ["yes", "no", "no", "yes"])
    >>> pair_weights(data, count(data), lambda measures: measures[:, 0] - measures[:, 1]).round(4)
    array([[0.    , 0.6931],
           [0.6931, 0.    ]])
    """
    n = data.n_features
    _require_matrices(n, 1)
    matrix = np.zeros((n, n))

    def receive(first: int, seconds: np.ndarray, measures: np.ndarray) -> None:
        matrix[first, seconds] = weigh(measures)

    visit_pair_information(data, counts, receive, n_jobs, skip, em)
    return _mirrored(matrix)


def visit_pair_information(
    data: Rows,
    counts: Counts,
    receive: Receive,
    n_jobs: int | None = None,
    skip: np.ndarray | None = None,
    em: bool = False,
) -> None:
    """Call a function with the mutual information of every pair, which is not kept.

    Parameters
    ----------
    data : Rows
        The rows, or their sufficient statistics.
    counts : Counts
        Counts of the class and of each feature.
    receive : callable
        Called as ``receive(first, seconds, measures)`` with a feature and later ones, on several
        threads. ``measures`` has I(Xi;Xj|C), I(Xi;Xj), I(C;Xi,Xj) and the weight of the rows of
        each pair.
    n_jobs : int, optional
        The number of threads.
    skip : ndarray of bool, optional
        A symmetric matrix of pairs that are left out.
    em : bool, default=False
        Whether the table of a pair is the saturated one of largest likelihood, given all rows.

    Examples
    --------
    >>> from discbayes.counts import count, visit_pair_information
    >>> from discbayes.data import FrameEncoder
    >>> rows = [["red", "big"], ["red", "small"], ["blue", "big"], ["blue", "small"]]
    >>> data = FrameEncoder().fit_transform(rows, ["yes", "no", "no", "yes"])
    >>> def show(first, seconds, measures):
    ...     print(first, seconds, measures.round(4))
    >>> visit_pair_information(data, count(data), show)
    0 [1] [[0.6931 0.     0.6931 4.    ]]
    """
    PairRun(data, counts, "auto", skip, em).measure(receive, n_jobs)


def pairs_fit_in_memory(n_features: int) -> bool:
    """Return whether one number for each pair of so many features fits in memory."""
    try:
        _require_matrices(n_features, 1)
    except TooLargeError:
        return False
    return True


def visit_pairs(
    data: Rows,
    counts: Counts,
    visit: Visit,
    n_jobs: int | None = None,
    skip: np.ndarray | None = None,
    em: bool = False,
) -> None:
    """Call a function with the tables of every pair of features, which are not kept.

    Parameters
    ----------
    data : Rows
        The rows, or their sufficient statistics.
    counts : Counts
        Counts of the class and of each feature.
    visit : callable
        Called as ``visit(first, seconds, starts, cells)`` with a feature and later ones, on several
        threads. The table of ``first`` and ``seconds[k]``, of shape ``(card, card, n_classes)``,
        begins at ``cells[starts[k]]``.
    n_jobs : int, optional
        The number of threads.
    skip : ndarray of bool, optional
        A symmetric matrix of pairs that are left out.
    em : bool, default=False
        Whether the table of a pair is the saturated one of maximum likelihood, given all rows.

    Examples
    --------
    >>> from discbayes.counts import count, visit_pairs
    >>> from discbayes.data import FrameEncoder
    >>> rows = [["red", "big"], ["red", "small"], ["blue", "big"], ["blue", "small"]]
    >>> data = FrameEncoder().fit_transform(rows, ["yes", "no", "no", "yes"])
    >>> def show(first, seconds, starts, cells):
    ...     print(first, seconds, starts, cells)
    >>> visit_pairs(data, count(data), show)
    0 [1] [0] [1. 0. 0. 1. 0. 1. 1. 0.]
    """
    PairRun(data, counts, "auto", skip, em).visit(visit, n_jobs)


def _require_matrices(n_features: int, n_matrices: int) -> None:
    require_memory(
        n_features**2 * (8 * n_matrices + MASK_BYTES),
        f"mutual information of all pairs of {n_features:,} columns",
        "leave columns out, or use structure='nb'",
    )


def _mirrored(matrix: np.ndarray) -> np.ndarray:
    """Copy what is above the diagonal below it, a tile after the other, and return the matrix."""
    n = matrix.shape[0]
    for first in range(0, n, MIRRORED_AT_ONCE):
        rows = slice(first, min(first + MIRRORED_AT_ONCE, n))
        for second in range(first, n, MIRRORED_AT_ONCE):
            columns = slice(second, min(second + MIRRORED_AT_ONCE, n))
            tile = matrix[rows, columns]
            if first == second:
                tile += np.triu(tile, 1).T
            else:
                matrix[columns, rows] = tile.T
    return matrix
