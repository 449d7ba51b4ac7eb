"""The log-joint of rows as a function of tables: sums over blocks of `BlockScores`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from discbayes.data.domain import Encoded
from discbayes.data.row_blocks import in_blocks
from discbayes.data.row_keys import distinct_rows
from discbayes.data.rows import Rows
from discbayes.network import Layout
from discbayes.parameters.block_scores import BlockScores, OwnCells


class LogScores:
    """Rows that are prepared for a fit, block by block, and sums over them.

    Most tables are one block, and a sum is the result of a function for it. Equal rows are joined
    within a block only, so that no block needs another one.

    Parameters
    ----------
    data : Rows
        The rows; a table in memory is divided if it has more rows than one block.
    layout : Layout
        Where the cells of the tables are.
    normalized : bool
        Whether the tables will be normalized.
    n_jobs : int, optional
        The number of threads.
    own : OwnCells, optional
        The cells to which a row adds something in its own class.
    """

    def __init__(
        self,
        data: Rows,
        layout: Layout,
        normalized: bool,
        n_jobs: int | None = None,
        own: OwnCells | None = None,
    ):
        self.layout, self.normalized = layout, normalized
        rows = in_blocks(data)
        self.complete = not rows.n_missing.any()
        prepare = partial(_prepare, layout=layout, normalized=normalized, own=own)
        self._kept = rows.keep(prepare, n_jobs)
        totals: _Totals = self.sum(_totals, (), n_jobs)
        self.total_weight, self.class_weights = totals.total_weight, totals.class_weights
        self.work, self.n_pairs = totals.work, totals.n_pairs

    def sum(
        self, function: Callable[..., Any], arguments: Sequence[Any], n_jobs: int | None = None
    ) -> Any:
        """Return the sum of ``function(block, n_jobs, *arguments)`` over the prepared blocks.

        The function returns a number, an array, or a named tuple of them.
        """
        return self._kept.map_reduce(function, plus, arguments, n_jobs)

    def pair_weights(self, n_jobs: int | None) -> np.ndarray:
        """Return the weight of the rows in each two cells (`BlockScores.pair_weights`)."""
        found: np.ndarray = self.sum(BlockScores.pair_weights, (), n_jobs)
        return found


class _Totals(NamedTuple):
    """Properties of all rows that a fit asks for before it begins."""

    total_weight: float
    class_weights: np.ndarray
    work: float
    n_pairs: float


def _prepare(
    data: Encoded, layout: Layout, normalized: bool, own: OwnCells | None = None
) -> BlockScores:
    return BlockScores(distinct_rows(data), layout, normalized, own)


def _totals(block: BlockScores, n_jobs: int | None) -> _Totals:
    return _Totals(block.total_weight, block.class_weights, block.work, block.n_pairs)


def plus(a: Any, b: Any) -> Any:
    """Return the sum of two results; of named tuples, that of their parts."""
    return type(a)(*map(plus, a, b)) if hasattr(a, "_fields") else a + b
