"""Back-off of cells that were not seen in training to the feature alone.

A cell whose values, of the feature and of its parents, were not seen with any class has no estimate
of its own. It backs off to P(feature | class) and, if the value of the feature was not seen either,
to a value that is the same for all classes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discbayes.counts import FamilyCounts
from discbayes.network import CPTs, Layout, Structure
from discbayes.parameters.generative import MaximumAPosteriori, MaximumLikelihood


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
