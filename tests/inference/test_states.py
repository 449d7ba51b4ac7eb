"""Networks of two resolutions against enumeration over all values."""

from __future__ import annotations

import warnings

import numba
import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import oracle
from discbayes.engine import threads
from discbayes.inference import (
    EstimateWarning,
    InferenceOptions,
    draw,
    exact,
    family_posteriors,
    feature_posterior,
    joint_posterior,
    log_joint,
    log_partition,
    lumps,
    missing_posteriors,
    most_probable,
    most_probable_each,
    sample,
    state_tables,
)
from discbayes.network import CLASS, CPTs, Layout, Structure, normalize

UNCOMPILED = bool(numba.config.DISABLE_JIT)
SEEDS = range(5 if UNCOMPILED else 50)
N_NETWORKS = 6  # of each seed
MAX_VALUES = 100 if UNCOMPILED else 3_000
N_ROWS = 6 if UNCOMPILED else 20


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
        np.testing.assert_array_equal(log_joint(tables, codes[:, :1])[0], found[0])
        if np.isfinite(logsumexp(joint)):
            assert abs(log_partition(tables) - logsumexp(joint)) < 1e-9
        each = most_probable_each(tables, codes)
        for m, row in enumerate(codes.T[:8]):
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


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("kind", ["forest", "any"])
def test_frequencies_of_draws_and_samples(kind, normalized):
    rng = np.random.default_rng([*kind.encode(), normalized])
    cards = np.array([4, 3, 5, 2])
    structure = {
        "forest": Structure(((), (0,), (0,), (2,))),
        "any": Structure(((), (0,), (0, 1), (2, 1)), (True, True, False, True)),
    }[kind]
    states = (np.array([0, 1, 0, 1]), np.zeros(3, int), np.array([0, 0, 1, 1, 2]), np.arange(2))
    tables = oracle.random_tables(rng, structure, cards, 3, normalized, True, states)
    joint = dense(tables)
    n = 2_000 if UNCOMPILED else 20_000
    blank = np.repeat(cards[:, None], n, axis=1).astype(np.uint8)
    given = blank.copy()
    given[2] = 3
    one_class = np.full(n, 2)
    drawn = [
        (sample(tables, n, rng), joint),
        (draw(tables, blank, rng), joint),
        (draw(tables, given, rng), np.where(np.arange(5)[:, None, None] == 3, joint, -np.inf)),
        (draw(tables, blank, rng, one_class), np.where(np.arange(3) == 2, joint, -np.inf)),
    ]
    for (codes, classes), log_shares in drawn:
        expected = n * shares_of(log_shares).ravel()
        cells = np.ravel_multi_index((*codes, classes), joint.shape)
        found = np.bincount(cells, minlength=joint.size)
        assert not found[expected == 0].any()
        # rare cells together, so that the statistic has its distribution
        common = expected >= 10
        found = np.append(found[common], found[~common].sum())
        expected = np.append(expected[common], expected[~common].sum())
        some = expected > 0
        assert stats.chisquare(found[some], expected[some]).pvalue > 1e-4


@pytest.mark.parametrize("route", ["workspace", "lumps"])
@pytest.mark.parametrize("seed", range(2 if UNCOMPILED else 8))
def test_other_routes_of_elimination(monkeypatch, seed, route):
    """Rows that are conditioned on some states, and states that classes cannot tell apart."""
    rng = np.random.default_rng([seed, *route.encode()])
    cards = np.array([6, 4, 5, 3, 4, 2])
    structure = Structure(((), (0,), (0, 1), (1, 2), (2, 3), (3, 4, 0)))
    tables = oracle.random_tables(
        rng, structure, cards, 4, bool(seed % 2), False, oracle.random_states(rng, cards)
    )
    if route == "workspace":
        monkeypatch.setattr(exact, "WORKSPACE", 40)
        monkeypatch.setattr(state_tables, "WORKSPACE", 40)
    else:
        for i, parents in enumerate(structure.parents):
            for axis in range(len(parents)):  # equal slices in some classes
                table = np.moveaxis(tables.log_table(i), axis, 0)
                table[..., rng.integers(4)] = table[0, ..., 0]
        monkeypatch.setattr(exact, "MAX_LIGHT_CELLS", 0.0)
        monkeypatch.setattr(lumps, "MAX_COST", np.inf)
        tables = CPTs(tables.layout, tables.log_prior, tables.log_theta.copy())
        assert lumps.lumped_tables(tables)
    joint, codes = dense(tables), random_rows(rng, cards, N_ROWS)
    expected = np.array([logsumexp(rows_of(joint, cards, row), axis=0) for row in codes.T])
    assert_same(log_joint(tables, codes), expected)
    filled, chosen, value = most_probable(tables, codes)
    assert_same(value, np.array([rows_of(joint, cards, row).max() for row in codes.T]))
    assert_same(joint[(*filled, chosen)], value)
    filled, chosen = draw(tables, codes, rng)
    assert np.isfinite(joint[(*filled, chosen)]).all()


def test_estimates_of_rows_beyond_the_limit():
    rng = np.random.default_rng(3)
    cards = np.full(9, 6)
    structure = Structure(tuple(tuple(range(max(0, i - 3), i)) for i in range(9)))
    states = tuple(np.array([0, 0, 1, 1, 2, 2]) for _ in cards)
    for normalized in (True, False):
        tables = oracle.random_tables(rng, structure, cards, 2, normalized, False, states)
        codes = random_rows(rng, cards, 6)
        codes[-1] = 2
        options = InferenceOptions(20, 400)
        error = np.zeros((6, 2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EstimateWarning)
            found = log_joint(tables, codes, options, error)
        expected = log_joint(tables, codes)
        assert error.any()
        assert (np.abs(np.expm1(found - expected)) <= 4 * error + 1e-9).all()


@pytest.mark.parametrize("max_parents", [1, 2])
def test_threads_change_no_bit(monkeypatch, max_parents):
    monkeypatch.setattr(threads, "THREAD_WORK", 0.0)
    rng = np.random.default_rng(max_parents)
    cards = np.array([6, 4, 5, 7, 3, 4])
    structure = oracle.random_structure(rng, 6, max_parents)
    states = oracle.random_states(rng, cards)
    tables = oracle.random_tables(rng, structure, cards, 5, False, True, states)
    codes = random_rows(rng, cards, 300 if UNCOMPILED else 5_000)
    one, two = InferenceOptions(n_jobs=1), InferenceOptions(n_jobs=2)

    def answers(options):
        yield log_joint(tables, codes, options)
        yield from most_probable(tables, codes, None, options)
        yield from draw(tables, codes, np.random.default_rng(0), None, options)
        yield most_probable_each(tables, codes, options)

    for first, second in zip(answers(one), answers(two), strict=True):
        np.testing.assert_array_equal(first, second)


def test_states_are_checked():
    structure, cards = Structure(((), (0,))), np.array([3, 2])
    for wrong in (
        (np.array([0, 1, 1]),),
        (np.array([0, 1]), np.arange(2)),
        (np.array([0, 2, 2]), np.arange(2)),
        (np.array([1, 1, 2]), np.arange(2)),
        (np.array([-1, 0, 1]), np.arange(2)),
    ):
        with pytest.raises(ValueError, match="states of"):
            Layout(structure, cards, 2, wrong)


@pytest.mark.parametrize("seed", SEEDS[:10])
def test_values_as_states_give_the_same_bits(seed):
    rng = np.random.default_rng(seed)
    for _ in range(N_NETWORKS):
        tables = oracle.one_resolution(random_network(rng))
        layout = tables.layout
        own = tuple(np.arange(card) for card in layout.cards)
        same = CPTs(
            Layout(layout.structure, layout.cards, layout.n_classes, own), tables.log_prior,
            tables.log_theta,
        )  # fmt: skip
        codes = random_rows(rng, layout.cards, N_ROWS)
        np.testing.assert_array_equal(log_joint(same, codes), log_joint(tables, codes))
        found, expected = most_probable(same, codes), most_probable(tables, codes)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(
            most_probable_each(same, codes), most_probable_each(tables, codes)
        )
        assert layout.has_states(own)
        assert same.layout.has_states(None)
