"""Filling in missing values and drawing rows: most probable values, exact draws, samples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discbayes._memory import require_memory
from discbayes.data.domain import Domain
from discbayes.engine import parallel_map, row_blocks
from discbayes.inference.marginalization import (
    InferenceOptions,
    eliminate,
    log_joint,
    log_marginal,
    posterior,
)
from discbayes.inference.plans import blank_rows, group_by_missing, network_plan
from discbayes.kernels import marginals
from discbayes.kernels.elimination import DRAW, MAX, Completion
from discbayes.network import CPTs, Layout

BATCH_CELLS = 1 << 25  # bytes, about, of codes and scores that are worked on at once


def most_probable(
    cpts: CPTs,
    codes: np.ndarray,
    classes: np.ndarray | None = None,
    options: InferenceOptions | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the jointly most probable values of all missing features, and of the class.

    The class is one of them where ``classes`` does not give it. Returns the completed codes, the
    classes and log P of each completed row.
    """
    return _complete(cpts, codes, classes, None, options)


def draw(
    cpts: CPTs,
    codes: np.ndarray,
    rng: np.random.Generator,
    classes: np.ndarray | None = None,
    options: InferenceOptions | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw all missing values from their distribution given the observed ones.

    The class is one of them where ``classes`` does not give it. Returns the completed codes and the
    classes.
    """
    return _complete(cpts, codes, classes, rng, options)[:2]


def _complete(
    cpts: CPTs,
    codes: np.ndarray,
    classes: np.ndarray | None,
    rng: np.random.Generator | None,
    options: InferenceOptions | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Complete rows by draws, or, without a generator, by the most probable values."""
    n_features, n_rows = codes.shape
    patterns = group_by_missing(codes, np.arange(n_rows), cpts.cards)
    rows = patterns.rows
    shape = (n_rows, n_features + 1)
    completion = Completion(
        MAX if rng is None else DRAW,
        np.zeros(shape) if rng is None else rng.random(shape)[rows],
        np.full(n_rows, -1, np.int64) if classes is None else classes[rows].astype(np.int64),
        np.full((n_rows, n_features), -1, np.int64),
    )
    codes = np.ascontiguousarray(codes)
    scores, _ = eliminate(cpts, codes, patterns, options or InferenceOptions(), completion)
    filled = codes.copy()
    by_feature = completion.filled.T
    filled[:, rows] = np.where(by_feature >= 0, by_feature, codes[:, rows])
    chosen = np.empty(n_rows, np.int64)
    chosen[rows] = completion.classes
    value = np.empty(n_rows)
    value[rows] = scores[np.arange(n_rows), completion.classes]
    return filled, chosen, value


def most_probable_each(
    cpts: CPTs, codes: np.ndarray, options: InferenceOptions | None = None
) -> np.ndarray:
    """Return codes where each missing value is the one most probable by itself.

    Where features have at most one feature parent, all missing values of a row take one pass up and
    one down. Elsewhere every feature with missing values takes an elimination of its own for each
    pattern: with very many columns that is slow, and `most_probable`, which needs one elimination
    for each pattern, is the faster way.
    """
    filled = codes.copy()
    if not cpts.structure.is_forest:
        for i in range(codes.shape[0]):
            rows = np.flatnonzero(codes[i] >= cpts.cards[i])
            if rows.size:
                shares = feature_posterior(cpts, codes[:, rows], i, options)
                filled[i, rows] = shares.argmax(axis=1)
        return filled

    def take(rows: np.ndarray, found: np.ndarray, starts: np.ndarray) -> None:
        missing = codes[:, rows] >= cpts.cards[:, None]
        for i in np.flatnonzero(missing.any(axis=1)):
            shares = found[missing[i], starts[i] : starts[i + 1]]
            filled[i, rows[missing[i]]] = shares.argmax(axis=1)

    _visit_forest_marginals(cpts, codes, options or InferenceOptions(), take)
    return filled


def feature_posterior(
    cpts: CPTs, codes: np.ndarray, feature: int, options: InferenceOptions | None = None
) -> np.ndarray:
    """Return P(x_i | the other observed values) of every row.

    A value of the feature itself is ignored. Rows whose other values are impossible get equal
    shares.
    """
    options = options or InferenceOptions()
    compute = _forest_posterior if cpts.structure.is_forest else _tried_posterior
    shares = compute(cpts, codes, feature, options)
    total = shares.sum(axis=1, keepdims=True)
    return np.where(total > 0, shares / np.where(total > 0, total, 1.0), 1.0 / shares.shape[1])


def _tried_posterior(
    cpts: CPTs, codes: np.ndarray, feature: int, options: InferenceOptions
) -> np.ndarray:
    """Return the unnormalized posterior of a feature, by a log-joint of each of its values.

    All of them have the same pattern of missing values, so that one plan serves.
    """
    n_rows, card = codes.shape[1], int(cpts.cards[feature])
    scores = np.empty((n_rows, card))
    cells = card * max(codes.shape[0], 8 * cpts.n_classes)
    for block in row_blocks(n_rows, max(1, BATCH_CELLS // cells)):
        tried = np.repeat(codes[:, block], card, axis=1)
        tried[feature] = np.tile(np.arange(card), tried.shape[1] // card)
        scores[block] = log_marginal(log_joint(cpts, tried, options)).reshape(-1, card)
    top = scores.max(axis=1, keepdims=True)
    return np.exp(scores - np.where(np.isfinite(top), top, 0.0))


def _forest_posterior(
    cpts: CPTs, codes: np.ndarray, feature: int, options: InferenceOptions
) -> np.ndarray:
    """Return the unnormalized posterior of a feature on a forest."""
    card = int(cpts.cards[feature])
    hidden = codes.copy()
    hidden[feature] = card
    shares = np.empty((codes.shape[1], card))

    def take(rows: np.ndarray, found: np.ndarray, starts: np.ndarray) -> None:
        shares[rows] = found[:, starts[feature] : starts[feature + 1]]

    _visit_forest_marginals(cpts, hidden, options, take)
    return shares


def _visit_forest_marginals(
    cpts: CPTs,
    codes: np.ndarray,
    options: InferenceOptions,
    take: Callable[[np.ndarray, np.ndarray, np.ndarray], None],
) -> None:
    """Call ``take`` with the posteriors of missing values, block by block.

    Its arguments are the rows, a row of shares for each, and where each feature starts in it: the
    shares of feature ``i`` are in the columns ``starts[i]:starts[i + 1]`` and hold for the rows
    that miss it; they are zero in rows that are impossible.
    """
    rows = np.flatnonzero((codes >= cpts.cards[:, None]).any(axis=0))
    codes = np.ascontiguousarray(codes[:, rows])
    classes = posterior(log_joint(cpts, codes, options), np.zeros(cpts.n_classes), options.n_jobs)
    plan = network_plan(cpts)
    assert plan.forest is not None
    arrays = plan.forest.arrays
    starts = arrays.value_start
    n_values = int(starts[-1])

    def one(block: slice) -> None:
        found = np.empty((block.stop - block.start, n_values))
        marginals.missing_marginals(
            codes, np.arange(block.start, block.stop), arrays, plan.layout, plan.cpts.log_theta,
            classes[block], found,
        )  # fmt: skip
        take(rows[block], found, starts)

    blocks = row_blocks(rows.size, int(np.clip(BATCH_CELLS // 8 // max(1, n_values), 1, 1024)))
    parallel_map(one, blocks, options.n_jobs, work=rows.size * n_values * cpts.n_classes * 20)


def without_missing_values(domain: Domain, cpts: CPTs) -> CPTs:
    """Return the tables without the value "missing at fit": every feature has a real value.

    Features with ``missing_value`` lose their last value on every axis; the tables are not
    normalized again. A feature that has no other value keeps it.
    """
    extra = np.array([v.missing_value and v.card > 1 for v in domain.features], dtype=bool)
    if not extra.any():
        return cpts
    layout = Layout(cpts.structure, cpts.cards - extra, cpts.n_classes)
    parts = [
        cpts.log_table(i)[tuple(slice(0, size) for size in shape)].ravel()
        for i, shape in enumerate(layout.shapes)
    ]
    return CPTs(layout, cpts.log_prior, np.concatenate(parts))


def sample(
    cpts: CPTs, n_samples: int, rng: np.random.Generator, options: InferenceOptions | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows and classes from the network: parents first, or by elimination.

    Elimination is needed where the tables are not normalized.
    """
    n_features = cpts.structure.n_features
    require_memory(
        n_samples * (3 * n_features + 24),
        f"{n_samples:,} rows of {n_features:,} columns",
        "draw fewer at a time, each time with another random_state",
    )
    codes = blank_rows(cpts, n_samples)
    if not cpts.is_normalized:
        return draw(cpts, codes, rng, options=options)
    prior = np.exp(cpts.log_prior).cumsum()
    classes = np.minimum(
        np.searchsorted(prior / prior[-1], rng.random(n_samples), side="right"), prior.size - 1
    )
    for i in cpts.structure.order:
        table = np.exp(cpts.log_table(i))
        parents = tuple(codes[p].astype(np.intp) for p in cpts.structure.parents[i])
        steps = np.moveaxis(table, -1, -2)[(*parents, classes)].cumsum(axis=1)
        codes[i] = (rng.random(n_samples)[:, None] * steps[:, -1:] >= steps[:, :-1]).sum(axis=1)
    return codes, classes
