"""Filling gaps and drawing rows: the most probable values, exact draws given what is observed, samples."""

from __future__ import annotations

import numpy as np

from discbayes.inference.joint import Effort, log_joint, run_elimination
from discbayes.inference.patterns import blank_rows, group_by_gaps
from discbayes.kernels.elimination import DRAW, MAX
from discbayes.network import Tables


def most_probable(
    tables: Tables, codes: np.ndarray, classes: np.ndarray | None = None, effort: Effort | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The jointly most probable values of all gaps, the class among them where it is not given.

    Returns the completed codes, the classes and log P of each completed row.
    """
    return _complete(tables, codes, classes, MAX, None, effort)


def draw(
    tables: Tables,
    codes: np.ndarray,
    rng: np.random.Generator,
    classes: np.ndarray | None = None,
    effort: Effort | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Values for all gaps, and the class where it is not given, drawn from their distribution given the rest."""
    return _complete(tables, codes, classes, DRAW, rng, effort)[:2]


def _complete(
    tables: Tables,
    codes: np.ndarray,
    classes: np.ndarray | None,
    mode: int,
    rng: np.random.Generator | None,
    effort: Effort | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n_features, n_rows = codes.shape
    gaps = group_by_gaps(codes, np.arange(n_rows), tables.cards)
    shape = (n_rows, n_features + 1)
    uniforms = np.zeros(shape) if rng is None else rng.random(shape)[gaps.rows]
    known = None if classes is None else classes[gaps.rows]
    result = run_elimination(tables, codes, gaps, mode, effort or Effort(), known, uniforms)
    filled = codes.copy()
    by_row = result.filled.T
    filled[:, gaps.rows] = np.where(by_row >= 0, by_row, codes[:, gaps.rows])
    chosen = np.empty(n_rows, np.int64)
    chosen[gaps.rows] = result.classes
    value = np.empty(n_rows)
    value[gaps.rows] = result.log_joint[np.arange(n_rows), result.classes]
    return filled, chosen, value


def most_probable_each(tables: Tables, codes: np.ndarray, effort: Effort | None = None) -> np.ndarray:
    """Each gap filled with the value that is most probable by itself, given what is observed; one at a time."""
    filled = codes.copy()
    for i in range(codes.shape[0]):
        rows = np.flatnonzero(codes[i] >= tables.cards[i])
        if rows.size:
            filled[i, rows] = feature_posterior(tables, codes[:, rows], i, effort).argmax(axis=1)
    return filled


def feature_posterior(tables: Tables, codes: np.ndarray, feature: int, effort: Effort | None = None) -> np.ndarray:
    """P(x_i | what else is observed) of every row; a value of the feature itself in the row is set aside."""
    tried = np.ascontiguousarray(codes).copy()
    scores = np.empty((codes.shape[1], int(tables.cards[feature])))
    for value in range(scores.shape[1]):
        tried[feature] = value
        scores[:, value] = np.logaddexp.reduce(log_joint(tables, tried, effort), axis=1)
    top = scores.max(axis=1, keepdims=True)
    shares = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
    total = shares.sum(axis=1, keepdims=True)
    return np.where(total > 0, shares / np.where(total > 0, total, 1.0), 1.0 / scores.shape[1])


def sample(
    tables: Tables, n_samples: int, rng: np.random.Generator, effort: Effort | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and classes drawn from the network: parents first, or by elimination where tables are not normalised."""
    codes = blank_rows(tables, n_samples)
    if not tables.is_normalized:
        return draw(tables, codes, rng, effort=effort)
    prior = np.exp(tables.log_prior).cumsum()
    classes = np.minimum(np.searchsorted(prior / prior[-1], rng.random(n_samples), side="right"), prior.size - 1)
    for i in tables.structure.order:
        table = np.exp(tables.log_table(i))
        parents = tuple(codes[p].astype(np.intp) for p in tables.structure.parents[i])
        steps = np.moveaxis(table, -1, -2)[(*parents, classes)].cumsum(axis=1)
        codes[i] = (rng.random(n_samples)[:, None] * steps[:, -1:] >= steps[:, :-1]).sum(axis=1)
    return codes, classes
