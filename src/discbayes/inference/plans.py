"""Plans of marginalization: what to compute for a network, and for a pattern of missing values.

Nothing is computed from the values of rows here; ``marginalization``, ``completion`` and
``conditional_posteriors`` run the plans by kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from discbayes._arrays import starts_of, writable
from discbayes.data.domain import code_dtype
from discbayes.kernels.network_arrays import (
    CPTArrays,
    ForestArrays,
    ForestLogTables,
    ForestTables,
    LayoutArrays,
)
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
    tables: ForestTables
    logs: ForestLogTables
    padded: Layout
    padded_log_theta: np.ndarray


# kept as long as the tables live, and not pickled with them
_plans: WeakKeyDictionary[CPTs, NetworkPlan] = WeakKeyDictionary()


def network_plan(cpts: CPTs) -> NetworkPlan:
    """Return the plan for these tables, made at the first call."""
    plan = _plans.get(cpts)
    if plan is None:
        arrays = CPTArrays(writable(cpts.log_prior), writable(cpts.log_theta))
        forest = _forest_plan(cpts, arrays) if cpts.structure.is_forest else None
        plan = _plans[cpts] = NetworkPlan(cpts.layout.arrays(), arrays, forest)
    return plan


def _forest_plan(cpts: CPTs, tables: CPTArrays) -> ForestPlan:
    structure, layout = cpts.structure, cpts.layout
    # in normalized tables a missing feature without children sums to one
    upward = [
        i for i in reversed(structure.order) if structure.children[i] or not cpts.is_normalized
    ]
    parent = np.array([group[0] if group else -1 for group in structure.parents], np.int64)
    parent_states = np.where(parent >= 0, layout.n_states[np.maximum(parent, 0)], 1)
    arrays = ForestArrays(
        np.array(upward, np.int64),
        np.array(structure.order, np.int64),
        parent,
        starts_of([len(group) for group in structure.children]),
        np.array([k for group in structure.children for k in group], np.int64),
        starts_of(parent_states * cpts.n_classes),
        starts_of(cpts.cards),
    )
    coarse, log_theta = cpts, tables.log_theta
    if layout.states is not None:
        coarse, log_theta = cpts.by_state, cpts.by_state.log_theta
    sizes = (cpts.cards, layout.n_states)
    starts = coarse.layout.offsets
    linear = ForestTables(
        *sizes, layout.offsets, cpts.theta, cpts.smallest, cpts.shifts, starts, coarse.theta,
        coarse.smallest, coarse.shifts, cpts.is_normalized,
    )  # fmt: skip
    logs = ForestLogTables(
        *sizes, layout.state_of, layout.offsets, tables.log_theta, starts, log_theta
    )
    padded = padded_layout(layout)
    padded_log_theta = np.zeros(padded.size)
    for i, shape in enumerate(layout.shapes):
        known = tuple(slice(0, size) for size in shape)
        padded.table(padded_log_theta, i)[known] = cpts.log_table(i)
    return ForestPlan(arrays, linear, logs, padded, padded_log_theta)


def padded_layout(layout: Layout) -> Layout:
    """Return the layout of tables with one more value, "missing", and one more state of it."""
    states = layout.states
    if states is not None:
        states = tuple(np.append(state, state.max() + 1) for state in states)
    return Layout(layout.structure, layout.cards + 1, layout.n_classes, states)


def restrict_to_row(cpts: CPTs, row: np.ndarray) -> CPTs:
    """Return the network of what agrees with the observed values of one row.

    An observed feature has one value there, and a missing one its states as values. So it has one
    resolution, whatever that of the network.
    """
    layout, coarse = cpts.layout, cpts.by_state
    observed = row < cpts.cards
    states = layout.parent_codes(row[:, None])[:, 0]
    kept = [
        slice(int(state), int(state) + 1) if one else slice(None)
        for state, one in zip(states, observed, strict=True)
    ]
    parts = []
    for i, parents in enumerate(cpts.structure.parents):
        own = slice(int(row[i]), int(row[i]) + 1) if observed[i] else slice(None)
        table = (cpts if observed[i] else coarse).log_table(i)
        parts.append(table[(*(kept[p] for p in parents), own)].ravel())
    restricted = Layout(cpts.structure, np.where(observed, 1, layout.n_states), cpts.n_classes)
    return CPTs(restricted, cpts.log_prior, np.concatenate([*parts, np.zeros(0)]))


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
