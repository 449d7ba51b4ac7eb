"""What sums over gaps on a forest need, prepared once for a set of tables."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from discbayes.network import CPTs, Layout


@dataclass(frozen=True)
class Padded:
    """Tables with one more value for "missing" on every axis, whose cells are zero on the log
    scale.
    """

    layout: Layout
    log_prior: np.ndarray
    log_theta: np.ndarray
    n_classes: int


@dataclass(frozen=True)
class ForestPlan:
    """Padded tables, and the orders and neighbours by which messages travel up and down a forest.

    What feature ``i`` tells its parent starts at ``starts[i]``, its own values start at
    ``places[i]``.
    """

    padded: Padded
    upward: np.ndarray
    downward: np.ndarray
    parent: np.ndarray
    child_start: np.ndarray
    child_index: np.ndarray
    starts: np.ndarray
    places: np.ndarray


_plans: WeakKeyDictionary[CPTs, ForestPlan] = WeakKeyDictionary()


def forest_plan(tables: CPTs) -> ForestPlan:
    """The plan for these tables, made at the first call and kept as long as they live."""
    plan = _plans.get(tables)
    if plan is None:
        plan = _plans[tables] = _make_plan(tables)
    return plan


def _make_plan(tables: CPTs) -> ForestPlan:
    """Children before parents; features without children only where the tables are not
    normalised.
    """
    structure = tables.structure
    upward = [
        i for i in reversed(structure.order) if structure.children[i] or not tables.is_normalized
    ]
    parent = np.array([group[0] if group else -1 for group in structure.parents], np.int64)
    above = np.where(parent >= 0, tables.cards[np.maximum(parent, 0)], 1)
    sizes = [len(group) for group in structure.children]
    return ForestPlan(
        _pad(tables),
        np.array(upward, np.int64),
        np.array(structure.order, np.int64),
        parent,
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.array([k for group in structure.children for k in group], np.int64),
        np.concatenate([[0], np.cumsum(above * tables.n_classes)]).astype(np.int64),
        np.concatenate([[0], np.cumsum(tables.cards)]).astype(np.int64),
    )


def _pad(tables: CPTs) -> Padded:
    """Pad the tables, so that families with a gap add nothing and need no test."""
    layout = Layout(tables.structure, tables.cards + 1, tables.n_classes)
    flat = np.zeros(layout.size)
    for i in range(tables.structure.n_features):
        known = tuple(slice(0, size) for size in tables.layout.shapes[i][:-1])
        layout.table(flat, i)[known] = tables.log_table(i)
    return Padded(layout, tables.log_prior, flat, tables.n_classes)
