"""Filling in missing values and drawing rows: most probable values, exact draws, samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from discbayes._memory import require_memory
from discbayes.data.domain import Domain
from discbayes.engine import parallel_map, row_blocks
from discbayes.inference.exact import (
    condition_row,
    elimination_tables,
    largest_component,
    rows_of,
    run_all,
)
from discbayes.inference.marginalization import (
    InferenceOptions,
    TooManyCellsError,
    log_joint,
    log_marginal,
    observed_sums,
    posterior,
)
from discbayes.inference.plans import blank_rows, network_plan
from discbayes.inference.state_tables import Tables
from discbayes.kernels import marginals
from discbayes.kernels.elimination_step import DRAW, MAX
from discbayes.kernels.row_completion import complete_rows
from discbayes.kernels.row_elimination import DONE, OUT_OF_RANGE, TOO_LARGE
from discbayes.network import ClassTable, CPTs, Layout
from discbayes.network.graph import topological_order

BLOCK_ROWS = 256  # completed at a time
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
    options = options or InferenceOptions()
    codes = np.ascontiguousarray(codes)
    n_features, n_rows = codes.shape
    shape = (n_rows, n_features + 1)
    choice = _Choice(
        MAX if rng is None else DRAW,
        np.zeros(shape) if rng is None else rng.random(shape),
        np.full(n_rows, -1, np.int64) if classes is None else classes.astype(np.int64),
        observed_sums(cpts, codes, options.n_jobs),
        np.empty((n_rows, n_features), np.int32),
    )
    left = _choose_rows(cpts, codes, np.arange(n_rows), choice, options, on_logs=False)
    _choose_rows(cpts, codes, left, choice, options, on_logs=True)
    value = choice.scores[np.arange(n_rows), choice.classes]
    return choice.filled.T.astype(codes.dtype), choice.classes, value


@dataclass(frozen=True)
class _Choice:
    """How values of rows are chosen, and what was chosen."""

    mode: int
    uniforms: np.ndarray  # by feature, and one for the class
    classes: np.ndarray  # −1 where it is to be chosen
    scores: np.ndarray  # the sum of families without a missing value, then the log-joint
    filled: np.ndarray


def _choose_rows(
    cpts: CPTs,
    codes: np.ndarray,
    rows: np.ndarray,
    choice: _Choice,
    options: InferenceOptions,
    on_logs: bool,
) -> np.ndarray:
    """Choose the values of some rows, and return those that need the log scale."""
    if not rows.size:
        return rows
    scales = ("logs", "max of logs") if on_logs else ("sum", "max")
    tables = elimination_tables(cpts, scales[choice.mode == MAX], options.n_jobs)
    status = np.empty(rows.size, np.int64)
    cells = np.empty(rows.size)

    def one(block: slice) -> None:
        here = rows[block]
        status[block], cells[block] = _choose_block(
            tables, rows_of(cpts, codes, here), here, choice, options.max_cells
        )

    work = rows.size * codes.shape[0] * cpts.n_classes * 20
    parallel_map(one, row_blocks(rows.size, BLOCK_ROWS), options.n_jobs, work=work)
    for k in np.flatnonzero(status == TOO_LARGE):
        taken = rows_of(cpts, codes, rows[k : k + 1])
        status[k], needed = _choose_conditioned(tables, taken[0], int(rows[k]), choice, options)
        if status[k] == TOO_LARGE:
            row = codes[:, rows[k] : rows[k] + 1]
            features, _ = largest_component(cpts, row, every=choice.mode == MAX)
            raise TooManyCellsError(needed, features, options.max_cells)
    return rows[status == OUT_OF_RANGE]


def _choose_block(
    tables: Tables, taken: np.ndarray, rows: np.ndarray, choice: _Choice, max_cells: float
) -> tuple[np.ndarray, np.ndarray]:
    """Choose the values of rows that fit in the workspace; return the status and cells of all."""
    status = np.empty(rows.size, np.int64)
    costs = np.empty((rows.size, 2))
    with tables.shared.workspace() as part, np.errstate(divide="ignore"):
        complete_rows(
            taken, rows, tables.arrays, *part, max_cells, choice.mode, choice.uniforms,
            choice.classes, choice.scores, choice.filled, status, costs,
        )  # fmt: skip
    return status, costs[:, 0]


def _choose_conditioned(
    tables: Tables, row: np.ndarray, at: int, choice: _Choice, options: InferenceOptions
) -> tuple[int, float]:
    """Choose the values of a row that is conditioned on some features; return status and cells."""
    taken, cells = condition_row(tables, row, options.max_cells, keeps_all=True)
    n_rows = len(taken)
    if not n_rows:
        return TOO_LARGE, cells
    if choice.mode == DRAW:
        sums = np.repeat(choice.scores[at : at + 1], n_rows, axis=0)
        status = run_all(tables, taken, options.n_jobs, sums, np.arange(n_rows))
        if status.any():
            return int(status.max()), cells
        if choice.classes[at] >= 0:
            sums = sums[:, choice.classes[at], None]
        shares = np.exp(sums - sums.max(initial=-np.inf)) if np.isfinite(sums).any() else sums == 0
        steps = shares.ravel().cumsum()
        drawn = np.searchsorted(steps, choice.uniforms[at, -1] * steps[-1], side="right")
        best, c = divmod(min(int(drawn), steps.size - 1), sums.shape[1])
        if choice.classes[at] < 0:
            choice.classes[at] = c
        found = _choose_block(tables, taken[best : best + 1], np.array([at]), choice, np.inf)
        return int(found[0][0]), cells
    each = _Choice(
        choice.mode,
        np.zeros((n_rows, row.size + 1)),
        np.repeat(choice.classes[at], n_rows),
        np.repeat(choice.scores[at : at + 1], n_rows, axis=0),
        np.empty((n_rows, row.size), np.int32),
    )
    status, _ = _choose_block(tables, taken, np.arange(n_rows), each, np.inf)
    if status.any():
        return int(status.max()), cells
    best = int(each.scores[np.arange(n_rows), each.classes].argmax())
    choice.classes[at], choice.scores[at] = each.classes[best], each.scores[best]
    choice.filled[at] = each.filled[best]
    return DONE, cells


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
    arrays, tables = plan.forest.arrays, plan.forest.logs
    states = cpts.layout.parent_codes(codes)
    starts = arrays.value_start
    n_values = int(starts[-1])

    def one(block: slice) -> None:
        found = np.empty((block.stop - block.start, n_values))
        marginals.missing_marginals(
            codes, states, np.arange(block.start, block.stop), arrays, tables, classes[block],
            found,
        )  # fmt: skip
        take(rows[block], found, starts)

    blocks = row_blocks(rows.size, int(np.clip(BATCH_CELLS // 8 // max(1, n_values), 1, 1024)))
    parallel_map(one, blocks, options.n_jobs, work=rows.size * n_values * cpts.n_classes * 20)


def without_missing_values(domain: Domain, cpts: CPTs) -> CPTs:
    """Return the tables without the value "missing at fit": every feature has a real value.

    Features with ``missing_value`` lose their last value on every axis, and states that no other
    value has; the tables are not normalized again. A feature that has no other value keeps it.
    """
    extra = np.array([v.missing_value and v.card > 1 for v in domain.features], dtype=bool)
    if not extra.any():
        return cpts
    cards = cpts.cards - extra
    found = [
        np.unique(cpts.layout.states_of(i)[:card], return_inverse=True)
        for i, card in enumerate(cards.tolist())
    ]
    states = None if cpts.layout.states is None else tuple(state for _, state in found)
    layout = Layout(cpts.structure, cards, cpts.n_classes, states)
    parts = [
        cpts.log_table(i)[np.ix_(*(found[p][0] for p in parents), np.arange(cards[i]))].ravel()
        for i, parents in enumerate(cpts.structure.parents)
    ]
    return CPTs(layout, cpts.log_prior, np.concatenate(parts))


def sample(
    cpts: CPTs, n_samples: int, rng: np.random.Generator, options: InferenceOptions | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows and classes from the network: parents first, or by elimination.

    Elimination is needed where the tables are not normalized. A class with parents is drawn after
    them, by its own table.
    """
    n_features = cpts.structure.n_features
    require_memory(
        n_samples * (3 * n_features + 24),
        f"{n_samples:,} rows of {n_features:,} columns",
        "draw fewer at a time, each time with another random_state",
    )
    codes = blank_rows(cpts, n_samples)
    own = cpts.class_table
    if own is not None and own.is_normalized and not cpts.log_prior.any():
        return _draw_in_order(own, codes, rng)
    if not cpts.is_normalized:
        return draw(cpts, codes, rng, options=options)
    prior = np.exp(cpts.log_prior).cumsum()
    classes = np.minimum(
        np.searchsorted(prior / prior[-1], rng.random(n_samples), side="right"), prior.size - 1
    )
    for i in cpts.structure.order:
        table = np.moveaxis(np.exp(cpts.log_table(i)), -1, -2)
        seen = _seen_states(cpts, codes, cpts.structure.parents[i])
        codes[i] = _drawn(table[(*seen, classes)].cumsum(axis=1), rng)
    return codes, classes


def _draw_in_order(
    own: ClassTable, codes: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows of a network in which the class has parents, each node after its parents."""
    features, place = own.features, len(codes)
    structure = features.structure
    groups = zip(structure.parents, structure.class_children, strict=True)
    nodes = [*((*group, *[place] * flag) for group, flag in groups), own.parents]
    # what does not depend on the class has equal columns
    classes = np.zeros(codes.shape[1], np.intp)
    for node in topological_order(nodes):
        if node == place:
            seen = _seen_states(features, codes, own.parents)
            classes = _drawn(np.exp(own.log_table)[seen].cumsum(axis=1), rng)
        else:
            table = np.moveaxis(np.exp(features.log_table(node)), -1, -2)
            seen = _seen_states(features, codes, structure.parents[node])
            codes[node] = _drawn(table[(*seen, classes)].cumsum(axis=1), rng)
    return codes, classes


def _seen_states(cpts: CPTs, codes: np.ndarray, parents: Sequence[int]) -> tuple[np.ndarray, ...]:
    """Return the states of some features that their children see, in each row."""
    return tuple(cpts.layout.states_of(p)[codes[p].astype(np.intp)] for p in parents)


def _drawn(steps: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a value for each row of cumulated probabilities."""
    share = rng.random(len(steps))[:, None] * steps[:, -1:]
    return np.asarray((share >= steps[:, :-1]).sum(axis=1))
