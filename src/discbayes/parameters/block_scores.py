"""The log-joint of rows in blocks: of each block what ``LogScores`` is, kept where the block is,
and sums over them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from discbayes.data.domain import Encoded
from discbayes.data.row_blocks import RowBlocks, in_blocks
from discbayes.data.row_keys import distinct_rows
from discbayes.network import Layout
from discbayes.parameters.log_scores import LogScores


class _Facts(NamedTuple):
    """What is asked of all rows before a fit begins."""

    total_weight: float
    class_weights: np.ndarray
    work: float
    n_pairs: float


class BlockScores:
    """Rows in blocks, and how sums over them follow from tables.

    Equal rows are joined within a block only, so that a block needs no other one.

    Parameters
    ----------
    data : Blocks
        The rows.
    layout : Layout
        Where the cells of the tables stand.
    normalized : bool
        Whether the tables will be.
    n_jobs : int, optional
        The number of threads.
    """

    def __init__(
        self, data: RowBlocks, layout: Layout, normalized: bool, n_jobs: int | None = None
    ):
        self.layout, self.normalized = layout, normalized
        self.complete = not data.gaps.any()
        self._kept = data.keep(partial(_scores_of, layout=layout, normalized=normalized), n_jobs)
        facts = _Facts(*self.sum(_facts, (), n_jobs))
        self.total_weight, self.class_weights, self.work, self.n_pairs = facts

    def sum(
        self, function: Callable[..., Any], arguments: Sequence[Any], n_jobs: int | None = None
    ) -> Any:
        """The sum of what ``function(scores, n_jobs, *arguments)`` gives for each block: numbers,
        arrays, or tuples.
        """
        return self._kept.map_reduce(function, plus, arguments, n_jobs)

    def pair_weights(self, n_jobs: int | None) -> np.ndarray:
        """As ``LogScores.pair_weights``."""
        found: np.ndarray = self.sum(_pair_weights, (), n_jobs)
        return found


AnyScores = LogScores | BlockScores


def scores_of(
    data: Encoded | RowBlocks, layout: Layout, normalized: bool, n_jobs: int | None = None
) -> AnyScores:
    """How the log-joint of rows follows from tables: in blocks if there are many rows, or they are
    given so.
    """
    rows = in_blocks(data)
    if isinstance(rows, RowBlocks):
        return BlockScores(rows, layout, normalized, n_jobs)
    return _scores_of(rows, layout, normalized)


def plus(a: Any, b: Any) -> Any:
    """The sum of two results; of tuples it is that of their parts."""
    return type(a)(*map(plus, a, b)) if hasattr(a, "_fields") else a + b


def _scores_of(data: Encoded, layout: Layout, normalized: bool) -> LogScores:
    return LogScores(distinct_rows(data), layout, normalized)


def _facts(scores: LogScores, n_jobs: int | None) -> _Facts:
    return _Facts(scores.total_weight, scores.class_weights, scores.work, scores.n_pairs)


def _pair_weights(scores: LogScores, n_jobs: int | None) -> np.ndarray:
    return scores.pair_weights(n_jobs)
