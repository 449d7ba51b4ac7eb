"""Networks of two resolutions against enumeration over all values."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from scipy.special import logsumexp

import oracle
from discbayes.inference import (
    InferenceOptions,
    draw,
    family_posteriors,
    feature_posterior,
    joint_posterior,
    log_joint,
    log_partition,
    missing_posteriors,
    most_probable,
    most_probable_each,
    sample,
)
from discbayes.network import CLASS, CPTs, Layout, Structure, normalize

UNCOMPILED = bool(numba.config.DISABLE_JIT)
SEEDS = range(6 if UNCOMPILED else 60)
N_NETWORKS = 6  # of each seed
MAX_VALUES = 100 if UNCOMPILED else 3_000
N_ROWS = 6 if UNCOMPILED else 24


def dense(tables):
    """The log-joint of all values as one array, by broadcasting over tables by value."""
    n = tables.structure.n_features
    joint = np.zeros((*tables.cards.tolist(), tables.n_classes)) + tables.log_prior
    for i, parents in enumerate(tables.structure.parents):
        table = tables.log_table(i)
        for axis, p in enumerate(parents):
            table = table.take(tables.layout.states_of(p), axis=axis)
        members = (*parents, i, n)
        shape = [joint.shape[k] if k in members else 1 for k in range(n + 1)]
        joint = joint + table.transpose(np.argsort(members)).reshape(shape)
    return joint


def random_network(rng):
    n = int(rng.integers(1, 10))
    cards = rng.integers(1, 8, n)
    while cards.prod() > MAX_VALUES:
        cards[rng.integers(n)] = rng.integers(1, 4)
    structure = oracle.random_structure(rng, n, max_parents=int(rng.integers(0, 4)))
    normalized = bool(rng.random() < 0.6)
    tables = oracle.random_tables(
        rng, structure, cards, int(rng.integers(1, 7)), normalized, bool(rng.random() < 0.4),
        oracle.random_states(rng, cards),
    )  # fmt: skip
    if rng.random() < 0.3:  # from 1e-300 to 1e300
        wide = tables.log_theta + rng.uniform(-690, 690, tables.log_theta.size)
        tables = CPTs(tables.layout, tables.log_prior, tables.layout.pool_columns(wide, np.max))
    return tables


def random_rows(rng, cards, n_rows):
    """Rows with 0 to 100 % of their values missing."""
    values = (rng.random((len(cards), n_rows)) * cards[:, None]).astype(np.uint8)
    missing = rng.random(values.shape) < rng.choice([0.0, 0.3, 0.8, 1.0], n_rows)
    return np.where(missing, cards[:, None], values).astype(np.uint8)


def networks(seed):
    rng = np.random.default_rng(seed)
    for _ in range(N_NETWORKS):
        tables = random_network(rng)
        yield rng, tables, dense(tables), random_rows(rng, tables.cards, N_ROWS)


def assert_same(found, expected, atol=1e-10):
    np.testing.assert_array_equal(np.isneginf(found), np.isneginf(expected))
    finite = np.isfinite(expected)
    scale = np.maximum(1.0, np.abs(expected[finite]) * 1e-3)
    assert (np.abs(found[finite] - expected[finite]) <= atol * scale).all()


def rows_of(joint, cards, row):
    """The joint of what is missing in a row: a row of the result for each combination."""
    return oracle.selected(joint, cards, row).reshape(-1, joint.shape[-1])


def shares_of(log_shares, axis=None):
    """Probabilities, equal ones where nothing is possible."""
    top = np.max(log_shares, axis=axis, keepdims=True)
    shares = np.exp(log_shares - np.where(np.isneginf(top), 0.0, top))
    total = shares.sum(axis=axis, keepdims=True)
    size = shares.size // total.size
    return np.where(total > 0, shares / np.where(total > 0, total, 1.0), 1.0 / size)


def log_marginals(joint, cards, row, feature):
    """Log P(x_i, c, observed values) of a feature that is missing: by value and class."""
    part = oracle.selected(joint, cards, row)
    axis = sum(row[j] >= cards[j] for j in range(feature))
    others = tuple(k for k in range(part.ndim - 1) if k != axis)
    with np.errstate(divide="ignore"):
        return logsumexp(part, axis=others)


@pytest.mark.parametrize("seed", SEEDS)
def test_log_joint_and_posteriors_of_missing_features(seed):
    for _, tables, joint, codes in networks(seed):
        cards = tables.cards
        expected = np.array([logsumexp(rows_of(joint, cards, row), axis=0) for row in codes.T])
        found = log_joint(tables, codes)
        assert_same(found, expected)
        two = log_joint(tables, codes, InferenceOptions(n_jobs=2))
        np.testing.assert_array_equal(two, found)
        np.testing.assert_array_equal(log_joint(tables, codes[:, :1])[0], found[0])
        if np.isfinite(logsumexp(joint)):
            assert abs(log_partition(tables) - logsumexp(joint)) < 1e-9
        each = most_probable_each(tables, codes)
        for m, row in enumerate(codes.T):
            given = missing_posteriors(tables, codes[:, [m]])
            assert sorted(given) == np.flatnonzero(row >= cards).tolist()
            for i, shares in given.items():
                by_class = log_marginals(joint, cards, row, i)
                np.testing.assert_allclose(shares, shares_of(by_class, axis=0), atol=1e-10)
                of_all = shares_of(logsumexp(by_class, axis=1))
                found_all = feature_posterior(tables, codes[:, [m]], i)[0]
                np.testing.assert_allclose(found_all, of_all, atol=1e-10)
                assert of_all[each[i, m]] >= of_all.max() - 1e-10


@pytest.mark.parametrize("seed", SEEDS)
def test_the_most_probable_values(seed):
    for rng, tables, joint, codes in networks(1000 + seed):
        classes = rng.integers(0, tables.n_classes, N_ROWS)
        for known in (None, classes):
            filled, chosen, value = most_probable(tables, codes, known)
            if known is not None:
                np.testing.assert_array_equal(chosen, known)
            for m, row in enumerate(codes.T):
                part = rows_of(joint, tables.cards, row)
                part = part if known is None else part[:, classes[m]]
                observed = row < tables.cards
                np.testing.assert_array_equal(filled[observed, m], row[observed])
                assert_same(value[m : m + 1], np.array([part.max()]))
                if np.isfinite(part.max()):
                    reached = joint[(*filled[:, m], chosen[m])]
                    assert_same(np.array([reached]), np.array([part.max()]))


@pytest.mark.parametrize("seed", SEEDS)
def test_queries_and_families(seed):
    for rng, tables, joint, codes in networks(2000 + seed):
        n = tables.structure.n_features
        shares = shares_of(joint)
        if np.isfinite(joint).any():
            cells = family_posteriors(tables)
            for i, parents in enumerate(tables.structure.parents):
                expected = np.zeros(tables.layout.shapes[i])
                axes = tuple(k for k in range(n) if k not in (*parents, i))
                part = shares.sum(axis=axes)
                kept = sorted((*parents, i))
                part = part.transpose([*(kept.index(k) for k in (*parents, i)), len(kept)])
                states = [tables.layout.states_of(p) for p in parents]
                np.add.at(expected, np.ix_(*states, np.arange(tables.cards[i])), part)
                np.testing.assert_allclose(tables.layout.table(cells, i), expected, atol=1e-10)
        asked = [CLASS, *rng.permutation(n)[:2].tolist()]
        row = codes[:, 0].copy()
        row[asked[1:]] = tables.cards[asked[1:]]
        part = oracle.selected(joint, tables.cards, row)
        if np.isneginf(part).all():
            continue
        missing = [i for i in range(n) if row[i] >= tables.cards[i]]
        axes = tuple(k for k, i in enumerate(missing) if i not in asked)
        expected = np.exp(logsumexp(part, axis=axes) - logsumexp(part))
        expected = np.moveaxis(expected, -1, 0)
        if len(asked) == 3 and asked[1] > asked[2]:
            expected = expected.swapaxes(1, 2)
        evidence = {i: int(row[i]) for i in range(n) if row[i] < tables.cards[i]}
        np.testing.assert_allclose(joint_posterior(tables, asked, evidence), expected, atol=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_normalized_tables_have_the_same_joint(seed):
    for _, tables, joint, _ in networks(3000 + seed):
        if np.isneginf(joint).all() or not tables.structure.is_moral:
            continue
        found = normalize(tables)
        assert found.is_normalized
        assert found.layout.states is tables.layout.states
        np.testing.assert_allclose(np.exp(dense(found)), shares_of(joint), atol=1e-10)
