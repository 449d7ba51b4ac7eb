"""Expectation-maximisation: relative frequencies of families in rows with gaps.

A row without a gap in a family counts in one of its cells, the same one in every iteration. A row
with one counts in all cells that agree with it, by their probability given what is observed in the
row and its class. Gaps without observed descendants say nothing about any table and are not
counted: with them the maxima are the same, and the way there is longer. So it is only the other
gaps that an iteration looks at, in the rows of one class after the other.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from discbayes.counts import FamilyCounts
from discbayes.data.domain import Encoded
from discbayes.data.row_keys import distinct_rows
from discbayes.engine import Context, parallel_map
from discbayes.kernels import expectation
from discbayes.network import CPTs, Layout
from discbayes.parameters.block_scores import BlockScores, RowChunk, in_parts


class IncompleteRows:
    """The rows with gaps to sum out, and what they add to the counts of families.

    Parameters
    ----------
    data : Encoded
        All rows.
    layout : Layout
        Where the cells of the tables stand.
    """

    def __init__(self, data: Encoded, layout: Layout):
        self.layout = layout
        self._alone = Layout(layout.structure, layout.cards, 1)
        self._order = np.array(layout.structure.order, np.int64)
        rows = distinct_rows(_with_gaps(data))
        classes = np.unique(rows.classes).tolist()
        self._rows = {
            c: BlockScores(rows.take(rows.classes == c), self._alone, normalized=True)
            for c in classes
        }
        self._parts = [
            (c, part) for c, scores in self._rows.items() for part in self._parts_of(scores)
        ]

    @property
    def n_samples(self) -> int:
        """The number of different rows in which a gap has an observed descendant."""
        return sum(scores.codes.shape[1] for scores in self._rows.values())

    def expected(self, tables: CPTs, n_jobs: int | None = None) -> tuple[float, np.ndarray]:
        """What families with gaps add to the log likelihood, and their expected counts."""
        n_classes, work = (
            self.layout.n_classes,
            150.0 * self.n_samples * self.layout.structure.n_features,
        )
        columns = tables.log_theta.reshape(-1, n_classes)

        def one(part: tuple[int, list[RowChunk]]) -> tuple[float, np.ndarray]:
            return self._expected(
                self._rows[part[0]], part[1], np.ascontiguousarray(columns[:, part[0]])
            )

        value, cells = 0.0, np.zeros_like(columns)
        found = parallel_map(one, self._parts, n_jobs, work)
        for (c, _), (share, counts) in zip(self._parts, found, strict=True):
            value += share
            cells[:, c] += counts
        return value, cells.ravel()

    def _expected(
        self, scores: BlockScores, blocks: list[RowChunk], log_theta: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """The same for some rows of one class, with the column of that class."""
        layout, value, counts = self._alone, 0.0, np.zeros(log_theta.size)
        for block in blocks:
            weight = scores.weight[block.rows]
            log_sums = np.zeros((weight.size, 1))
            expectation.sum_missing(
                scores.codes, scores.group_start, block.groups, self._order, layout.cards,
                layout.offsets, layout.parent_start, layout.parent_index, layout.parent_stride,
                log_theta, True, log_sums, weight[:, None], counts,
            )  # fmt: skip
            value += float(weight @ log_sums[:, 0])
        return value, counts

    def _parts_of(self, scores: BlockScores) -> list[list[RowChunk]]:
        return in_parts([block for block in scores.blocks if block.groups.size], self.layout.size)


def maximize(
    rows: IncompleteRows,
    families: FamilyCounts,
    start: CPTs,
    step: Callable[[np.ndarray], CPTs],
    log_density: Callable[[CPTs], float],
    max_iter: int,
    tol: float,
    context: Context,
) -> CPTs:
    """Tables that maximise Σ w·log P(y, x observed) plus the log density of a prior.

    Parameters
    ----------
    rows : GapRows
        The rows with gaps.
    families : FamilyCounts
        The counts of families, each from the rows without a gap in it.
    start : CPTs
        Where to start; what has a probability of zero there keeps it.
    step : callable
        From counts of gaps, which come on top of those of ``families``, to tables.
    log_density : callable
        The log density of the prior at some tables, up to a constant.
    max_iter, tol
        The largest number of iterations, and the least relative rise that makes another one
        worthwhile.
    context : Context
        Of the run; each iteration is recorded in it.
    """

    def look(tables: CPTs) -> tuple[float, np.ndarray]:
        gaps, expected = rows.expected(tables, context.n_jobs)
        return _log_likelihood(families, tables) + gaps + log_density(tables), expected

    tables, (value, expected) = start, look(start)
    for iteration in range(1, max_iter + 1):
        tables, before = step(expected), value
        value, expected = look(tables)
        context.record(most=max_iter, iteration=iteration, score=value)
        if value - before <= tol * max(abs(before), 1.0):
            return tables
    warnings.warn(
        f"the likelihood was still rising after max_iter={max_iter} iterations of EM: raise"
        " max_iter, or raise tol",
        ConvergenceWarning,
        stacklevel=4,
    )
    return tables


def _with_gaps(data: Encoded) -> Encoded:
    """The rows with any gap, and a weight above zero."""
    incomplete = np.asarray((data.codes >= data.cards[:, None]).any(axis=0))
    return data.take(incomplete if data.weight is None else incomplete & (data.weight > 0))


def _log_likelihood(families: FamilyCounts, tables: CPTs) -> float:
    """Σ count·log θ, over classes and families without a gap."""
    pairs = ((families.class_count, tables.log_prior), (families.cells, tables.log_theta))
    return float(sum((counts * np.where(counts > 0, logs, 0.0)).sum() for counts, logs in pairs))
