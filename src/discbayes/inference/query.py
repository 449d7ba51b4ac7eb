"""The joint posterior of any variables given any evidence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from discbayes.engine import row_blocks
from discbayes.inference.marginalization import InferenceOptions, log_joint
from discbayes.inference.plans import blank_rows
from discbayes.network import CLASS, CPTs

MAX_QUERY_CELLS = 1_000_000
_BATCH_CODES = 1 << 24  # in memory at a time: every assignment is a row of all columns


def joint_posterior(
    cpts: CPTs,
    variables: Sequence[int],
    evidence: Mapping[int, int],
    options: InferenceOptions | None = None,
) -> np.ndarray:
    """Return P(variables | evidence), one axis per variable in the order given.

    ``CLASS`` is the class. Every assignment of the queried features is a row, and all rows miss the
    same values, so that one elimination plan serves.
    """
    features = [v for v in variables if v != CLASS]
    shape = [int(cpts.cards[f]) for f in features]
    n_cells = math.prod(shape)
    if n_cells * cpts.n_classes > MAX_QUERY_CELLS:
        raise ValueError(
            f"a joint posterior of {len(variables)} variables needs"
            f" {n_cells * cpts.n_classes:.3g} cells (with one for each class), above"
            f" {MAX_QUERY_CELLS:,}; ask for fewer variables at once"
        )
    values = np.indices(shape).reshape(len(features), n_cells)

    def log_joint_of(cells: slice) -> np.ndarray:
        codes = blank_rows(cpts, cells.stop - cells.start)
        for feature, value in evidence.items():
            if feature != CLASS:
                codes[feature] = value
        codes[features] = values[:, cells]
        return log_joint(cpts, codes, options)

    batches = row_blocks(n_cells, max(1, _BATCH_CODES // cpts.cards.size))
    scores = np.concatenate([log_joint_of(cells) for cells in batches]).reshape(
        *shape, cpts.n_classes
    )
    return _arrange(_normalize(scores, evidence.get(CLASS)), variables)


class ImpossibleEvidenceError(ValueError):
    """The evidence has probability zero; who knows the names of its columns says them."""


def _normalize(scores: np.ndarray, known_class: int | None) -> np.ndarray:
    if known_class is not None:
        masked = np.full_like(scores, -np.inf)
        masked[..., known_class] = scores[..., known_class]
        scores = masked
    top = scores.max()
    if top == -np.inf:
        raise ImpossibleEvidenceError("the evidence has probability zero under this network")
    shares = np.exp(scores - top)
    return shares / shares.sum()


def _arrange(joint: np.ndarray, variables: Sequence[int]) -> np.ndarray:
    """Marginalize the class, or move its axis to its place among the variables."""
    if CLASS not in variables:
        return joint.sum(axis=-1)
    return np.moveaxis(joint, -1, list(variables).index(CLASS))
