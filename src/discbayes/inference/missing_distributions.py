"""The distribution of every gap of a row in each class: one elimination, forth and back, gives all
of them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discbayes.inference.family_posteriors import incomplete_families
from discbayes.inference.log_joints import InferenceOptions, log_joint
from discbayes.kernels import expectation
from discbayes.network import CPTs


def missing_posteriors(
    tables: CPTs, codes: np.ndarray, effort: InferenceOptions | None = None
) -> dict[int, np.ndarray]:
    """P(x_i = v | what is observed, c) of every gap i of one row, as arrays of shape (card of i,
    n_classes).

    ``codes`` has one column. A class in which the row is impossible has equal shares. Where one
    elimination of all gaps would need more than ``max_factor_size`` cells, each gap is looked at by
    itself: others may then be left out.
    """
    effort = effort or InferenceOptions()
    gaps = np.flatnonzero(codes[:, 0] >= tables.cards).tolist()
    if not gaps:
        return {}
    together = elimination_cells(tables, codes, every=True) <= effort.max_factor_size
    found = _together(tables, codes, gaps) if together else _one_by_one(tables, codes, gaps, effort)
    possible = _possible_classes(tables, codes, effort)
    return {i: _shares(found[i] * possible) for i in gaps}


def _possible_classes(tables: CPTs, codes: np.ndarray, effort: InferenceOptions) -> np.ndarray:
    """In which classes the row is possible, whatever their prior."""
    if not np.isneginf(tables.log_theta).any():
        return np.ones(tables.n_classes, dtype=bool)
    return log_joint(_with_equal_classes(tables), codes, effort)[0] > -np.inf


def _with_equal_classes(tables: CPTs) -> CPTs:
    return replace(tables, log_prior=np.full(tables.n_classes, -np.log(tables.n_classes)))


def _shares(table: np.ndarray) -> np.ndarray:
    """The table with columns that sum to one."""
    total = table.sum(axis=0)
    return np.where(total > 0, table / np.where(total > 0, total, 1.0), 1.0 / table.shape[0])


def elimination_cells(tables: CPTs, codes: np.ndarray, every: bool = False) -> float:
    """How many cells the elimination of the gaps of one row goes through: of every gap, or of those
    that matter.
    """
    layout, sizes = tables.layout, np.empty(1)
    expectation.plan_sizes(
        np.ascontiguousarray(codes), np.array([0, 1]), np.array(tables.structure.order, np.int64), tables.cards,
        layout.parent_start, layout.parent_index, tables.n_classes, tables.is_normalized and not every, sizes,
    )  # fmt: skip
    return float(sizes[0])


def _together(tables: CPTs, codes: np.ndarray, gaps: list[int]) -> dict[int, np.ndarray]:
    """P(family | observed, c) of the family of each gap; all but the gap itself is summed out."""
    layout, n_classes = tables.layout, tables.n_classes
    cells = incomplete_families(tables, codes, np.ones((1, n_classes)))
    return {
        i: layout.table(cells, i).reshape(-1, int(tables.cards[i]), n_classes).sum(axis=0)
        for i in gaps
    }


def _one_by_one(
    tables: CPTs, codes: np.ndarray, gaps: list[int], effort: InferenceOptions
) -> dict[int, np.ndarray]:
    """All values of a gap tried in one log-joint, under equal shares of the classes."""
    even, found = _with_equal_classes(tables), {}
    for i in gaps:
        tried = np.repeat(codes, int(tables.cards[i]), axis=1)
        tried[i] = np.arange(tables.cards[i])
        scores = log_joint(even, tried, effort)
        top = scores.max(axis=0)
        found[i] = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
    return found
