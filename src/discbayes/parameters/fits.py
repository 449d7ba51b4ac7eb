"""A fit of a problem: its start, the tables of its solution with back-off, and early stopping.

A cell whose values, of the feature and of its parents, were not seen with any class has no estimate
of its own. It backs off to P(feature | class) and, if the value of the feature was not seen either,
to a value that is the same for all classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from discbayes.counts import FamilyCounts
from discbayes.data.domain import Encoded
from discbayes.data.rows import Rows
from discbayes.network import CPTs, Layout, Structure, absorb_class
from discbayes.parameters.generative import MaximumAPosteriori, MaximumLikelihood
from discbayes.parameters.log_scores import LogScores
from discbayes.parameters.problem import Problem

PATIENCE = 20  # iterations without a better held-out value after which a fit ends


@dataclass(frozen=True)
class Fit:
    """A problem with its start."""

    problem: Problem
    start: np.ndarray

    def judge(self, test: Encoded) -> Problem:
        """Return the problem with the same objective on other rows."""
        known = self.problem.parameterization
        scores = LogScores(test, known.layout, known.normalized)
        return replace(
            self.problem, scores=scores, penalty=None, counts=None, unlabeled=None, n_jobs=None
        )

    def tables(self, free: np.ndarray) -> CPTs:
        """Return the tables of a solution."""
        return self.problem.parameterization.tables(free)


@dataclass(frozen=True)
class FitWithBackoff(Fit):
    """A fit whose tables back off where families were not seen in training."""

    families: FamilyCounts
    seen: np.ndarray
    backing: MaximumLikelihood | MaximumAPosteriori

    def tables(self, free: np.ndarray) -> CPTs:
        """Return the tables of a solution, with back-off."""
        normalized = self.problem.parameterization.normalized
        tables = super().tables(free)
        own = tables.class_table
        if own is None:
            return back_off(tables, self.families, self.seen, self.backing, normalized)
        # the tables of the features, before that of the class was absorbed, are normalized
        features = back_off(own.features, self.families, self.seen, self.backing, True)
        return absorb_class(features, own.parents, own.log_table)


class EarlyStopping:
    """A callback that ends a fit when held-out rows have not improved for some iterations."""

    def __init__(
        self,
        judge: Problem,
        start: np.ndarray,
        record: Callable[[np.ndarray, float], None] | None = None,
    ):
        self.judge = judge
        self.best = start
        self.record = record
        self.values = [judge.value(start)]

    def __call__(self, point: np.ndarray, loss: float) -> bool:
        """Evaluate held-out rows at a point; return whether the fit should end."""
        if self.record is not None:
            self.record(point, loss)
        self.values.append(self.judge.value(point))
        if self.values[-1] > max(self.values[:-1]):
            self.best = point
        return len(self.values) - int(np.argmax(self.values)) > PATIENCE


def seen_cells(data: Rows, families: FamilyCounts) -> np.ndarray:
    """Mark cells whose values, of the feature and its parents, were seen with any class.

    A row in which the family is incomplete may be in any of its cells, so that all count as seen.
    """
    layout = families.layout
    by_cell: np.ndarray = families.cells.reshape(-1, layout.n_classes).sum(axis=1) > 0
    seen = by_cell.repeat(layout.n_classes)
    for i, group in enumerate(layout.structure.parents):
        if data.n_missing[[i, *group]].any():
            layout.table(seen, i)[...] = True
    return seen


def back_off(
    tables: CPTs,
    families: FamilyCounts,
    seen: np.ndarray,
    learner: MaximumLikelihood | MaximumAPosteriori,
    normalized: bool,
) -> CPTs:
    """Replace unseen cells by P(feature | class).

    Of normalized tables, rows are replaced that are unseen as a whole. ``seen`` marks the cells
    that were seen with some class.
    """
    if seen.all():
        return tables
    layout = tables.layout
    alone = _by_feature(families, learner, not normalized)
    log_theta = tables.log_theta.copy()
    for i, group in enumerate(layout.structure.parents):
        known = layout.table(seen, i)
        if group and not known.all():
            unseen = ~known
            if normalized:
                unseen = np.broadcast_to(unseen.all(axis=-2, keepdims=True), unseen.shape)
            table = layout.table(log_theta, i)
            np.copyto(table, np.broadcast_to(alone.log_table(i), table.shape), where=unseen)
    return replace(tables, log_theta=log_theta)


def _by_feature(
    families: FamilyCounts, learner: MaximumLikelihood | MaximumAPosteriori, level: bool
) -> CPTs:
    """Estimate P(feature | class); with ``level``, an unseen value is the same for all classes."""
    layout = families.layout
    structure = Structure(((),) * layout.structure.n_features, layout.structure.class_children)
    sums = [
        families.table(i).reshape(-1, *layout.shapes[i][-2:]).sum(axis=0)
        for i in range(layout.structure.n_features)
    ]
    naive = Layout(structure, layout.cards, layout.n_classes)
    cells = np.concatenate([part.ravel() for part in sums]) if sums else np.empty(0)
    tables = learner.tables(FamilyCounts(naive, families.class_count, cells))
    for i, part in enumerate(sums):
        never = part.sum(axis=1) == 0
        if level and never.any():
            tables.log_table(i)[never] = tables.log_table(i)[never].mean(axis=1, keepdims=True)
    return tables
