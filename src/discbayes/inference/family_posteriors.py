"""How probable the values of families are: each feature with its parents and the class, before
anything is known.

The derivative of log P(c) of a row without values with respect to a cell of a table is P(cell | c).
So one elimination forth and back gives the distributions of all families at once.
"""

from __future__ import annotations

import numpy as np

from discbayes.inference.log_joints import (
    FactorTooLargeError,
    InferenceOptions,
    log_joint,
    posterior,
)
from discbayes.inference.missing_patterns import blank_rows
from discbayes.kernels import elimination, expectation
from discbayes.network import CPTs

FACTORS_AT_ONCE = 8  # of the largest size that all factors together may have


def family_posteriors(tables: CPTs, effort: InferenceOptions | None = None) -> np.ndarray:
    """P(parents, x_i, c) of every feature, in the layout of the tables; exact, or a
    ``FactorTooLargeError``.
    """
    if not tables.layout.size:
        return np.zeros(0)
    _check_size(tables, effort or InferenceOptions())
    blank = blank_rows(tables, 1)
    return incomplete_families(
        tables, blank, posterior(log_joint(tables, blank, effort), np.zeros(tables.n_classes))
    )


def incomplete_families(tables: CPTs, codes: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """P(family | what is observed, c) of the families of one row with a gap, each class times its
    weight.

    They stand in the layout of the tables; families without a gap have zeros.
    """
    layout, cells = tables.layout, np.zeros(tables.layout.size)
    codes = np.ascontiguousarray(codes)
    with np.errstate(divide="ignore"):
        expectation.sum_missing(
            codes, np.array([0, 1]), np.array([0]), np.array(tables.structure.order, np.int64), layout.cards,
            layout.offsets, layout.parent_start, layout.parent_index, layout.parent_stride, tables.log_theta, False,
            np.zeros_like(classes), classes, cells,
        )  # fmt: skip
    return cells


def _check_size(tables: CPTs, effort: InferenceOptions) -> None:
    """Refuse an elimination with a bucket that is too large, or with too many cells: all stay until
    the way back.
    """
    layout, every = tables.layout, np.ones(tables.structure.n_features, np.bool_)
    _, features, cards, _, start, scopes = elimination.make_plan(
        every, every, layout.cards, layout.parent_start, layout.parent_index
    )
    sizes = np.empty(start.size - 1)
    elimination.bucket_sizes(start, scopes, cards, tables.n_classes, sizes)
    worst = int(sizes.argmax())
    needed = max(float(sizes[worst]), float(sizes.sum()) / FACTORS_AT_ONCE)
    if needed > effort.max_factor_size:
        columns = sorted(features[scopes[start[worst] : start[worst + 1]]].tolist())
        raise FactorTooLargeError(needed, columns, effort.max_factor_size)
