"""Distributions of families, and of missing values in each class.

The derivative of log P(c, observed values) with respect to the logarithm of a table cell is
P(cell | observed values, c). So the sums over the components of missing values of a row and their
expected counts give the distributions of all families with a missing value at once.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discbayes.inference.component_sums import ComponentSums
from discbayes.inference.exact import elimination_cells, largest_component
from discbayes.inference.marginalization import (
    InferenceOptions,
    TooManyCellsError,
    log_joint,
    posterior,
)
from discbayes.inference.plans import blank_rows, restrict_to_row
from discbayes.network import CPTs, Layout

MAX_KEPT_CELLS = 1 << 25  # all factors are kept in memory until the way back


def family_posteriors(cpts: CPTs, options: InferenceOptions | None = None) -> np.ndarray:
    """Return P(parents, x_i, c) of every feature, in the layout of the tables.

    The answer is exact, or a ``TooManyCellsError``.
    """
    if not cpts.layout.size:
        return np.zeros(0)
    limit = min((options or InferenceOptions()).max_cells, MAX_KEPT_CELLS)
    blank = blank_rows(cpts, 1)
    needed = cpts.layout.size + elimination_cells(cpts, blank, every=True)
    if needed > limit:
        raise TooManyCellsError(needed, largest_component(cpts, blank, every=True)[0], limit)
    classes = posterior(log_joint(cpts, blank, options), np.zeros(cpts.n_classes))
    layout, cells = _open_families(cpts, blank, classes)
    if cpts.layout.states is None:
        return cells
    tables = [_by_value(cpts, i, layout.table(cells, i), blank[:, 0]) for i in range(len(blank))]
    return np.concatenate([table.ravel() for table in tables])


def missing_posteriors(
    cpts: CPTs, codes: np.ndarray, options: InferenceOptions | None = None
) -> dict[int, np.ndarray]:
    """Return P(x_i = v | observed values, c) of every missing feature ``i`` of one row.

    ``codes`` has one column, and the arrays have the shape (card of i, n_classes). A class in which
    the row is impossible has equal shares. Where one elimination of all missing values would need
    too many cells, each of them is taken by itself: others may then be left out.
    """
    options = options or InferenceOptions()
    missing = np.flatnonzero(codes[:, 0] >= cpts.cards).tolist()
    if not missing:
        return {}
    if elimination_cells(cpts, codes, every=True) <= min(options.max_cells, MAX_KEPT_CELLS):
        layout, cells = _open_families(cpts, codes, np.ones((1, cpts.n_classes)))
        found = {}
        for i in missing:
            table = _by_value(cpts, i, layout.table(cells, i), codes[:, 0])
            found[i] = table.reshape(-1, int(cpts.cards[i]), cpts.n_classes).sum(axis=0)
    else:
        found = {i: _try_values(_with_equal_classes(cpts), codes, i, options) for i in missing}
    possible = np.ones(cpts.n_classes, np.bool_)
    if np.isneginf(cpts.log_theta).any():
        possible = log_joint(_with_equal_classes(cpts), codes, options)[0] > -np.inf
    return {i: _normalize_columns(found[i] * possible) for i in missing}


def _with_equal_classes(cpts: CPTs) -> CPTs:
    return replace(cpts, log_prior=np.full(cpts.n_classes, -np.log(cpts.n_classes)))


def _open_families(cpts: CPTs, codes: np.ndarray, classes: np.ndarray) -> tuple[Layout, np.ndarray]:
    """Return P(family | observed values, c) · ``classes[0, c]`` of the families of one row.

    They are in tables of what agrees with the row (``restrict_to_row``): in the returned layout an
    observed feature has one value, and a missing one its states. Families without a missing value
    have zeros.
    """
    restricted = restrict_to_row(cpts, codes[:, 0])
    layout, log_theta = restricted.layout, restricted.log_theta
    observed = codes[:, 0] < cpts.cards
    reduced = np.where(observed, 0, layout.cards).astype(codes.dtype)[:, None]
    names = [str(i) for i in range(observed.size)]
    sums = ComponentSums(reduced, layout, normalized=False, names=names, max_cells=np.inf)
    made = sums.log_sums(log_theta, np.empty((sums.n_cells, cpts.n_classes)))
    cells = np.zeros(layout.size)
    sums.add_expected_counts(made, np.repeat(classes, sums.n_cells, axis=0), cells)
    return layout, cells


def _by_value(cpts: CPTs, feature: int, joint: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Return P(parents, x_i | …) of a missing feature by value, given that by state.

    Within a state, a value depends on nothing but the parents and the class.
    """
    layout = cpts.layout
    if layout.states is None:
        return joint
    parents = cpts.structure.parents[feature]
    state = layout.parent_codes(row[:, None])[:, 0]
    given = tuple(
        slice(int(state[p]), int(state[p]) + 1) if row[p] < cpts.cards[p] else slice(None)
        for p in parents
    )
    own = layout.states_of(feature)
    log_values = cpts.log_table(feature)[given]
    log_states = cpts.by_state.log_table(feature)[given].take(own, axis=-2)
    # a state without any possible value has no mass to spread
    shares = np.exp(log_values - np.where(np.isneginf(log_states), 0.0, log_states))
    return joint.take(own, axis=-2) * shares


def _try_values(
    cpts: CPTs, codes: np.ndarray, feature: int, options: InferenceOptions
) -> np.ndarray:
    """Return what is proportional to P(x_i = v | observed values, c): a log-joint of all values."""
    tried = np.repeat(codes, int(cpts.cards[feature]), axis=1)
    tried[feature] = np.arange(cpts.cards[feature])
    scores = log_joint(cpts, tried, options)
    top = scores.max(axis=0)
    return np.exp(scores - np.where(np.isfinite(top), top, 0.0))


def _normalize_columns(table: np.ndarray) -> np.ndarray:
    """Return the table with columns that sum to one; a column of zeros becomes uniform."""
    total = table.sum(axis=0)
    return np.where(total > 0, table / np.where(total > 0, total, 1.0), 1.0 / table.shape[0])
