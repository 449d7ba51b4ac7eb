"""Plans of marginalization: what to compute for a network, and for a pattern of missing values.

Nothing is computed from the values of rows here; ``marginalization``, ``completion`` and
``conditional_posteriors`` run the plans by kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from discbayes._arrays import writable
from discbayes.data.domain import code_dtype
from discbayes.inference.state_tables import starts_of
from discbayes.kernels.network_arrays import CPTArrays, ForestArrays, LayoutArrays
from discbayes.network import CPTs, Layout


@dataclass(frozen=True)
class NetworkPlan:
    """The arrays of a network as kernels take them, and those of its forest if it is one."""

    layout: LayoutArrays
    cpts: CPTArrays
    forest: ForestPlan | None


@dataclass(frozen=True)
class ForestPlan:
    """The edges of a forest, and tables with one more value, "missing", on every axis.

    The cells of that value are zero on the log scale. Families with a missing value then add
    nothing to a log-joint, without a test for each cell.
    """

    arrays: ForestArrays
    padded: Layout
    padded_log_theta: np.ndarray


# kept as long as the tables live, and not pickled with them
_plans: WeakKeyDictionary[CPTs, NetworkPlan] = WeakKeyDictionary()


def network_plan(cpts: CPTs) -> NetworkPlan:
    """Return the plan for these tables, made at the first call."""
    plan = _plans.get(cpts)
    if plan is None:
        arrays = CPTArrays(
            writable(cpts.log_prior),
            writable(cpts.log_theta),
            cpts.theta,
            cpts.smallest,
            cpts.shifts,
            cpts.is_normalized,
        )
        forest = _forest_plan(cpts) if cpts.structure.is_forest else None
        plan = _plans[cpts] = NetworkPlan(cpts.layout.arrays(), arrays, forest)
    return plan


def _forest_plan(cpts: CPTs) -> ForestPlan:
    structure = cpts.structure
    # in normalized tables a missing feature without children sums to one
    upward = [
        i for i in reversed(structure.order) if structure.children[i] or not cpts.is_normalized
    ]
    parent = np.array([group[0] if group else -1 for group in structure.parents], np.int64)
    parent_cards = np.where(parent >= 0, cpts.cards[np.maximum(parent, 0)], 1)
    arrays = ForestArrays(
        np.array(upward, np.int64),
        np.array(structure.order, np.int64),
        parent,
        starts_of([len(group) for group in structure.children]),
        np.array([k for group in structure.children for k in group], np.int64),
        starts_of(parent_cards * cpts.n_classes),
        starts_of(cpts.cards),
    )
    padded = Layout(structure, cpts.cards + 1, cpts.n_classes)
    log_theta = np.zeros(padded.size)
    for i, shape in enumerate(cpts.layout.shapes):
        known = tuple(slice(0, size) for size in shape)
        padded.table(log_theta, i)[known] = cpts.log_table(i)
    return ForestPlan(arrays, padded, log_theta)


@dataclass(frozen=True)
class MissingPatterns:
    """Rows sorted by which of their features are missing.

    The rows of pattern ``g`` are ``rows[start[g]:start[g + 1]]``.
    """

    rows: np.ndarray
    start: np.ndarray

    @property
    def n_groups(self) -> int:
        """The number of different patterns."""
        return self.start.size - 1


def group_by_missing(codes: np.ndarray, rows: np.ndarray, cards: np.ndarray) -> MissingPatterns:
    """Group ``rows`` (column numbers of ``codes``) by which of their features are missing."""
    packed = np.packbits(codes[:, rows] >= cards[:, None], axis=0).T
    keys = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, group, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    return MissingPatterns(rows[np.argsort(group.ravel(), kind="stable")], starts_of(sizes))


def blank_rows(cpts: CPTs, n_rows: int) -> np.ndarray:
    """Return codes of rows in which every feature is missing."""
    cards = cpts.cards.astype(code_dtype(int(cpts.cards.max(initial=1))))
    return np.repeat(cards[:, None], n_rows, axis=1)
