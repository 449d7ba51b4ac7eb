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
from discbayes.engine import Context
from discbayes.inference.component_sums import ComponentSums
from discbayes.network import CPTs, Layout


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
        one_class = Layout(layout.structure, layout.cards, 1, layout.states)
        rows = distinct_rows(_incomplete(data))
        self._classes = [
            _ClassRows(c, rows.take(rows.classes == c), one_class)
            for c in np.unique(rows.classes).tolist()
        ]

    @property
    def n_samples(self) -> int:
        """The number of distinct rows in which a missing value has an observed descendant."""
        return sum(rows.n_samples for rows in self._classes)

    def expected(self, tables: CPTs, n_jobs: int | None = None) -> tuple[float, np.ndarray]:
        """Return the log likelihood of incomplete families, and their expected counts."""
        columns = tables.log_theta.reshape(-1, self.layout.n_classes)
        value, cells = 0.0, np.zeros_like(columns)
        for rows in self._classes:
            share, cells[:, rows.label] = rows.expected(columns[:, rows.label], n_jobs)
            value += share
        return value, cells.ravel()


class _ClassRows:
    """The incomplete rows of one class, as distinct components with their weights."""

    def __init__(self, label: int, data: Encoded, one_class: Layout):
        self.label = label
        names = list(data.domain.names)
        self._sums = ComponentSums(data.codes, one_class, True, names)
        n_components = np.diff(self._sums.row_start)
        self.n_samples = int(np.count_nonzero(n_components))
        weight = np.ones(data.n_samples) if data.weight is None else data.weight
        of_cells = np.repeat(weight, n_components)
        self._weight = np.bincount(self._sums.cells, of_cells, self._sums.n_cells)[:, None]

    def expected(self, log_theta: np.ndarray, n_jobs: int | None) -> tuple[float, np.ndarray]:
        """Return the log likelihood, and expected counts, given the column of the class."""
        logs = np.empty_like(self._weight)
        sums = self._sums.log_sums(np.ascontiguousarray(log_theta), logs, n_jobs)
        counts = np.zeros(log_theta.size)
        self._sums.add_expected_counts(sums, self._weight, counts, n_jobs)
        return float((self._weight * logs).sum()), counts


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
