"""Filling gaps and drawing rows: the most probable values, exact draws given what is observed,
samples.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discbayes._memory import require_memory
from discbayes.data.domain import Domain
from discbayes.engine import parallel_map, row_blocks
from discbayes.inference.forest_plan import forest_plan
from discbayes.inference.log_joints import (
    InferenceOptions,
    log_joint,
    log_marginal,
    posterior,
    run_elimination,
)
from discbayes.inference.missing_patterns import blank_rows, group_by_missing
from discbayes.kernels import marginals
from discbayes.kernels.elimination import DRAW, MAX
from discbayes.network import CPTs, Layout

BATCH_CELLS = 1 << 25  # bytes, about, of codes and scores that are worked on at once


def most_probable(
    tables: CPTs,
    codes: np.ndarray,
    classes: np.ndarray | None = None,
    effort: InferenceOptions | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The jointly most probable values of all gaps, the class among them where it is not given.

    Returns the completed codes, the classes and log P of each completed row.
    """
    return _complete(tables, codes, classes, MAX, None, effort)


def draw(
    tables: CPTs,
    codes: np.ndarray,
    rng: np.random.Generator,
    classes: np.ndarray | None = None,
    effort: InferenceOptions | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Values for all gaps, and the class where it is not given, drawn from their distribution given
    the rest.
    """
    return _complete(tables, codes, classes, DRAW, rng, effort)[:2]


def _complete(
    tables: CPTs,
    codes: np.ndarray,
    classes: np.ndarray | None,
    mode: int,
    rng: np.random.Generator | None,
    effort: InferenceOptions | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n_features, n_rows = codes.shape
    gaps = group_by_missing(codes, np.arange(n_rows), tables.cards)
    shape = (n_rows, n_features + 1)
    uniforms = np.zeros(shape) if rng is None else rng.random(shape)[gaps.rows]
    known = None if classes is None else classes[gaps.rows]
    result = run_elimination(
        tables, codes, gaps, mode, effort or InferenceOptions(), known, uniforms
    )
    filled = codes.copy()
    by_row = result.filled.T
    filled[:, gaps.rows] = np.where(by_row >= 0, by_row, codes[:, gaps.rows])
    chosen = np.empty(n_rows, np.int64)
    chosen[gaps.rows] = result.classes
    value = np.empty(n_rows)
    value[gaps.rows] = result.log_joint[np.arange(n_rows), result.classes]
    return filled, chosen, value


def most_probable_each(
    tables: CPTs, codes: np.ndarray, effort: InferenceOptions | None = None
) -> np.ndarray:
    """Each gap filled with the value that is most probable by itself, given what is observed.

    Where features have at most one feature parent, all gaps of a row take one pass up and one down.
    Elsewhere every feature with gaps takes an elimination of its own for each pattern of gaps: with
    very many columns that is slow, and `most_probable`, which needs one elimination for each
    pattern, is the faster way.
    """
    filled = codes.copy()
    if tables.structure.is_forest:
        _fill_forest(tables, codes, effort or InferenceOptions(), filled)
        return filled
    for i in range(codes.shape[0]):
        rows = np.flatnonzero(codes[i] >= tables.cards[i])
        if rows.size:
            filled[i, rows] = feature_posterior(tables, codes[:, rows], i, effort).argmax(axis=1)
    return filled


def feature_posterior(
    tables: CPTs, codes: np.ndarray, feature: int, effort: InferenceOptions | None = None
) -> np.ndarray:
    """P(x_i | what else is observed) of every row; a value of the feature itself in the row is set
    aside.

    Rows whose other values are impossible get equal shares.
    """
    effort = effort or InferenceOptions()
    way = _forest_posterior if tables.structure.is_forest else _tried_posterior
    shares = way(tables, codes, feature, effort)
    total = shares.sum(axis=1, keepdims=True)
    return np.where(total > 0, shares / np.where(total > 0, total, 1.0), 1.0 / shares.shape[1])


def _tried_posterior(
    tables: CPTs, codes: np.ndarray, feature: int, effort: InferenceOptions
) -> np.ndarray:
    """The shares of the values of a feature, all of them tried in one log-joint: they have the same
    gaps.
    """
    n_rows, card = codes.shape[1], int(tables.cards[feature])
    scores = np.empty((n_rows, card))
    cells = card * max(codes.shape[0], 8 * tables.n_classes)
    for block in row_blocks(n_rows, max(1, BATCH_CELLS // cells)):
        tried = np.repeat(codes[:, block], card, axis=1)
        tried[feature] = np.tile(np.arange(card), tried.shape[1] // card)
        scores[block] = log_marginal(log_joint(tables, tried, effort)).reshape(-1, card)
    top = scores.max(axis=1, keepdims=True)
    return np.exp(scores - np.where(np.isfinite(top), top, 0.0))


def _forest_posterior(
    tables: CPTs, codes: np.ndarray, feature: int, effort: InferenceOptions
) -> np.ndarray:
    """The shares of the values of a feature on a forest."""
    tried, card = codes.copy(), int(tables.cards[feature])
    tried[feature] = card
    shares = np.empty((codes.shape[1], card))

    def take(rows: np.ndarray, found: np.ndarray, places: np.ndarray) -> None:
        shares[rows] = found[:, places[feature] : places[feature + 1]]

    _forest_marginals(tables, tried, effort, take)
    return shares


def _fill_forest(
    tables: CPTs, codes: np.ndarray, effort: InferenceOptions, filled: np.ndarray
) -> None:
    """Write the most probable value of each gap by itself to ``filled``, on a forest."""

    def take(rows: np.ndarray, found: np.ndarray, places: np.ndarray) -> None:
        gaps = codes[:, rows] >= tables.cards[:, None]
        for i in np.flatnonzero(gaps.any(axis=1)):
            filled[i, rows[gaps[i]]] = found[gaps[i], places[i] : places[i + 1]].argmax(axis=1)

    _forest_marginals(tables, codes, effort, take)


def _forest_marginals(
    tables: CPTs,
    codes: np.ndarray,
    effort: InferenceOptions,
    take: Callable[[np.ndarray, np.ndarray, np.ndarray], None],
) -> None:
    """Hand ``take`` the posteriors of the gaps, block by block: the rows, a row of shares for each,
    and where they are.

    The shares of feature ``i`` stand in the columns ``places[i]:places[i + 1]`` and hold for the
    rows that miss it; they are zero in rows that are impossible.
    """
    rows = np.flatnonzero((codes >= tables.cards[:, None]).any(axis=0))
    codes = np.ascontiguousarray(codes[:, rows])
    classes = posterior(log_joint(tables, codes, effort), np.zeros(tables.n_classes), effort.n_jobs)
    plan = forest_plan(tables)
    places = plan.places

    def one(block: slice) -> None:
        found = np.empty((block.stop - block.start, int(places[-1])))
        marginals.missing_marginals(
            codes, np.arange(block.start, block.stop), plan.downward, plan.parent, plan.child_start, plan.child_index,
            tables.cards, tables.layout.offsets, plan.starts, places, tables.log_theta, classes[block], found,
        )  # fmt: skip
        take(rows[block], found, places)

    blocks = row_blocks(rows.size, int(np.clip(BATCH_CELLS // 8 // max(1, places[-1]), 1, 1024)))
    parallel_map(
        one, blocks, effort.n_jobs, work=rows.size * int(places[-1]) * tables.n_classes * 20
    )


def without_missing_values(domain: Domain, tables: CPTs) -> CPTs:
    """The tables without the value "missing at fit": what is left if every feature has a real
    value.

    Features with ``missing_value`` lose their last value on every axis; nothing is normalised
    again. A feature that has no other value keeps it.
    """
    extra = np.array([v.missing_value and v.card > 1 for v in domain.features], dtype=bool)
    if not extra.any():
        return tables
    layout = Layout(tables.structure, tables.cards - extra, tables.n_classes)
    parts = [
        tables.log_table(i)[tuple(slice(0, size) for size in shape)].ravel()
        for i, shape in enumerate(layout.shapes)
    ]
    return CPTs(layout, tables.log_prior, np.concatenate(parts))


def sample(
    tables: CPTs, n_samples: int, rng: np.random.Generator, effort: InferenceOptions | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and classes drawn from the network: parents first, or by elimination where tables are
    not normalised.
    """
    require_memory(
        n_samples * (3 * tables.structure.n_features + 24),
        f"{n_samples:,} rows of {tables.structure.n_features:,} columns",
        "draw fewer at a time, each time with another random_state",
    )
    codes = blank_rows(tables, n_samples)
    if not tables.is_normalized:
        return draw(tables, codes, rng, effort=effort)
    prior = np.exp(tables.log_prior).cumsum()
    classes = np.minimum(
        np.searchsorted(prior / prior[-1], rng.random(n_samples), side="right"), prior.size - 1
    )
    for i in tables.structure.order:
        table = np.exp(tables.log_table(i))
        parents = tuple(codes[p].astype(np.intp) for p in tables.structure.parents[i])
        steps = np.moveaxis(table, -1, -2)[(*parents, classes)].cumsum(axis=1)
        codes[i] = (rng.random(n_samples)[:, None] * steps[:, -1:] >= steps[:, :-1]).sum(axis=1)
    return codes, classes
