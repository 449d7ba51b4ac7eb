"""Expectation-maximization: relative frequencies of families in rows with missing values.

A row in which a family is complete counts in one of its cells, the same one in every iteration. An
incomplete row counts in all cells that agree with it, by their probability given what is observed
in the row and its class. Missing values without observed descendants carry no information on any
table and are not counted: with them the maxima are the same, and more iterations are needed. So an
iteration processes the other missing values only, in the rows of one class after the other.
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
    """Rows with values to marginalize, and their expected counts of families.

    Parameters
    ----------
    data : Encoded
        All rows.
    layout : Layout
        Where the cells of the tables are.
    """

    def __init__(self, data: Encoded, layout: Layout):
        self.layout = layout
        one_class = Layout(layout.structure, layout.cards, 1)
        self._alone = one_class.arrays()
        rows = distinct_rows(_incomplete(data))
        classes = np.unique(rows.classes).tolist()
        self._rows = {
            c: BlockScores(rows.take(rows.classes == c), one_class, normalized=True)
            for c in classes
        }
        self._parts = [
            (c, part) for c, scores in self._rows.items() for part in self._parts_of(scores)
        ]

    @property
    def n_samples(self) -> int:
        """The number of distinct rows in which a missing value has an observed descendant."""
        return sum(scores.codes.shape[1] for scores in self._rows.values())

    def expected(self, tables: CPTs, n_jobs: int | None = None) -> tuple[float, np.ndarray]:
        """Return the log likelihood of incomplete families, and their expected counts."""
        n_classes = self.layout.n_classes
        work = 150.0 * self.n_samples * self.layout.structure.n_features  # nanoseconds
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
        self, scores: BlockScores, chunks: list[RowChunk], log_theta: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Return both for some rows of one class, given the column of that class."""
        value, counts = 0.0, np.zeros(log_theta.size)
        for chunk in chunks:
            weight = scores.weight[chunk.rows]
            log_sums = np.zeros((weight.size, 1))
            expectation.sum_missing(
                scores.codes, scores.group_start, chunk.groups, self._alone, log_theta, True,
                log_sums, weight[:, None], counts,
            )  # fmt: skip
            value += float(weight @ log_sums[:, 0])
        return value, counts

    def _parts_of(self, scores: BlockScores) -> list[list[RowChunk]]:
        return in_parts([chunk for chunk in scores.chunks if chunk.groups.size], self.layout.size)


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
    """Return tables that maximize Σ w·log P(y, x observed) plus the log density of a prior.

    Parameters
    ----------
    rows : IncompleteRows
        The rows with values to marginalize.
    families : FamilyCounts
        The counts of families, each from the rows in which it is complete.
    start : CPTs
        The first tables; a probability of zero stays zero.
    step : callable
        From expected counts, which are added to those of ``families``, to tables.
    log_density : callable
        The log density of the prior at some tables, up to a constant.
    max_iter, tol
        The maximum number of iterations, and the relative increase below which EM ends.
    context : Context
        Threads, and where each iteration is recorded.

    Returns
    -------
    CPTs
        The tables of the last iteration.
    """

    def evaluate(tables: CPTs) -> tuple[float, np.ndarray]:
        incomplete, expected = rows.expected(tables, context.n_jobs)
        return _log_likelihood(families, tables) + incomplete + log_density(tables), expected

    tables = start
    value, expected = evaluate(tables)
    for iteration in range(1, max_iter + 1):
        tables, before = step(expected), value
        value, expected = evaluate(tables)
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


def _incomplete(data: Encoded) -> Encoded:
    """Return the rows with a missing value and a weight above zero."""
    incomplete = np.asarray((data.codes >= data.cards[:, None]).any(axis=0))
    return data.take(incomplete if data.weight is None else incomplete & (data.weight > 0))


def _log_likelihood(families: FamilyCounts, tables: CPTs) -> float:
    """Return Σ count·log θ over the class and complete families."""
    pairs = ((families.class_count, tables.log_prior), (families.cells, tables.log_theta))
    return float(sum((counts * np.where(counts > 0, logs, 0.0)).sum() for counts, logs in pairs))
