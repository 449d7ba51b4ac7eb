"""Elimination row by row against enumeration: random networks, ranges, components, conditioning."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from scipy.special import logsumexp

import oracle
from discbayes.inference import (
    InferenceOptions,
    TooManyCellsError,
    draw,
    elimination_cells,
    exact,
    largest_component,
    log_joint,
    lumps,
    most_probable,
    state_tables,
)
from discbayes.kernels import slices
from discbayes.network import CPTs, Layout, Structure

UNCOMPILED = bool(numba.config.DISABLE_JIT)
N_NETWORKS = 12 if UNCOMPILED else 100  # for each of five seeds
MAX_STATES = 300 if UNCOMPILED else 20_000


def dense_log_joint(tables):
    """The log-joint of all states as one array, by broadcasting."""
    n = tables.structure.n_features
    joint = np.zeros((*tables.cards.tolist(), tables.n_classes)) + tables.log_prior
    for i, parents in enumerate(tables.structure.parents):
        members = (*parents, i, n)
        order = np.argsort(members)
        table = tables.log_table(i).transpose(order)
        shape = [joint.shape[k] if k in members else 1 for k in range(n + 1)]
        joint = joint + table.reshape(shape)
    return joint


def enumerated(tables, codes):
    """The log-joint of rows, by enumeration."""
    joint = dense_log_joint(tables)
    parts = [oracle.selected(joint, tables.cards, row) for row in codes.T]
    return np.array([logsumexp(part.reshape(-1, tables.n_classes), axis=0) for part in parts])


def random_rows(rng, cards, n_rows):
    """Rows with 10 to 100 % of their values missing."""
    values = (rng.random((len(cards), n_rows)) * cards[:, None]).astype(np.uint8)
    missing = rng.random(values.shape) < rng.choice([0.1, 0.4, 0.8, 1.0], n_rows)
    return np.where(missing, cards[:, None], values).astype(np.uint8)


def random_network(rng):
    n = int(rng.integers(1, 14))
    cards = rng.integers(1, 6, n)
    while cards.prod() > MAX_STATES:
        cards[rng.integers(n)] = rng.integers(1, 3)
    structure = oracle.random_structure(rng, n, max_parents=4)
    tables = oracle.random_tables(
        rng, structure, cards, int(rng.integers(1, 14)), rng.random() < 0.5, rng.random() < 0.3
    )
    if rng.random() < 0.3:  # numbers between 1e-300 and 1e300
        span = rng.choice([50.0, 300.0, 690.0])
        wide = tables.log_theta + rng.uniform(-span, span, tables.log_theta.size)
        tables = CPTs(tables.layout, tables.log_prior, tables.layout.pool_columns(wide, np.max))
    return tables


def assert_same(found, expected, atol=1e-10):
    np.testing.assert_array_equal(np.isneginf(found), np.isneginf(expected))
    finite = np.isfinite(expected)
    scale = np.maximum(1.0, np.abs(expected[finite]) * 1e-3)
    assert (np.abs(found[finite] - expected[finite]) <= atol * scale).all()


@pytest.mark.parametrize("seed", range(5))
def test_random_networks_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    for _ in range(N_NETWORKS):
        tables = random_network(rng)
        codes = random_rows(rng, tables.cards, 8)
        assert_same(log_joint(tables, codes), enumerated(tables, codes))


@pytest.mark.parametrize("n_classes", [1, 2, 3, 4, 5, 8, 9, 12, 13])
def test_every_width_of_the_class_axis(n_classes):
    rng = np.random.default_rng(n_classes)
    structure = Structure(((), (0,), (0, 1), (0, 1, 2), (1, 2), (0, 2, 4)))
    tables = oracle.random_tables(rng, structure, [2, 3, 2, 3, 2, 3], n_classes)
    codes = random_rows(rng, tables.cards, 10 if UNCOMPILED else 100)
    assert_same(log_joint(tables, codes), enumerated(tables, codes))


def ladder(rng, n, n_classes=3, card=2):
    """Each feature depends on the two before; the last column of codes may be observed."""
    structure = Structure(tuple(tuple(range(max(0, i - 2), i)) for i in range(n)))
    return oracle.random_tables(rng, structure, [card] * n, n_classes)


def forward(tables, observed):
    """The log-joint of a ladder, by a pass over pairs of neighboring values."""
    n, n_classes = tables.cards.size, tables.n_classes
    card = int(tables.cards[0])
    state = np.full((card, card, n_classes), -np.inf)  # of the last two features
    first, second = tables.log_table(0), tables.log_table(1)
    state[...] = first[:, None] + second
    for i, allowed in ((0, observed.get(0)), (1, observed.get(1))):
        if allowed is not None:
            np.moveaxis(state, i, 0)[[v for v in range(card) if v != allowed]] = -np.inf
    for i in range(2, n):
        state = logsumexp(state[:, :, None] + tables.log_table(i), axis=0)
        if i in observed:
            state[:, [v for v in range(card) if v != observed[i]]] = -np.inf
    return tables.log_prior + logsumexp(state, axis=(0, 1))


@pytest.mark.parametrize("n", [20, 40] if UNCOMPILED else [20, 71, 131, 200])
def test_components_beyond_the_words_of_a_bit_set(n):
    rng = np.random.default_rng(n)
    tables = ladder(rng, n)
    codes = tables.cards[:, None].astype(np.uint8)
    codes[-1] = 1
    assert len(largest_component(tables, codes)[0]) == n - 1
    np.testing.assert_allclose(
        log_joint(tables, codes)[0], forward(tables, {n - 1: 1}), rtol=0, atol=1e-9
    )


def test_hundreds_of_improbable_children():
    n = 60 if UNCOMPILED else 300
    structure = Structure(((), (0,), *[(0, 1)] * n))
    layout = Layout(structure, np.full(n + 2, 2), 5)
    rng = np.random.default_rng(0)
    table = np.array([1e-5, 1 - 1e-5])[None, None, :, None] * np.ones((2, 2, 2, 5))
    parts = [rng.dirichlet([1, 1], 5).T, rng.dirichlet([1, 1], (2, 5)).transpose(0, 2, 1)]
    flat = np.concatenate([part.ravel() for part in [*parts, *[table] * n]])
    tables = CPTs(layout, np.log(np.full(5, 0.2)), np.log(flat))
    codes = np.zeros((n + 2, 1), np.uint8)
    codes[:2] = 2
    np.testing.assert_allclose(
        log_joint(tables, codes)[0], np.log(0.2) + n * np.log(1e-5), rtol=1e-12
    )


def test_messages_are_scaled_where_products_leave_the_range():
    """Ladders whose numbers are small in all steps, and in each step within the range."""
    rng = np.random.default_rng(3)
    tables = ladder(rng, 30 if UNCOMPILED else 120)
    small = CPTs(tables.layout, tables.log_prior, tables.log_theta - 0.0)
    flat = np.concatenate([table.ravel() for table in _tilted(rng, tables)])
    small = CPTs(tables.layout, tables.log_prior, flat)
    codes = np.repeat(tables.cards[:, None], 4, axis=1).astype(np.uint8)
    codes[-1] = [0, 1, 0, 1]
    codes[5] = [0, 0, 1, 1]
    expected = [
        forward(small, {5: int(a), tables.cards.size - 1: int(b)}) for b, a in codes[[-1, 5]].T
    ]
    np.testing.assert_allclose(log_joint(small, codes), expected, rtol=0, atol=1e-9)


def _tilted(rng, tables):
    for i in range(tables.cards.size):
        yield tables.log_table(i) - rng.choice([0.0, 30.0], tables.log_table(i).shape)


def grid(rng, side, n_classes=3):
    """A grid, each feature a child of those above and to the left, and a common observed child."""
    parents = []
    for i in range(side * side):
        above = (i - side,) if i >= side else ()
        left = (i - 1,) if i % side else ()
        parents.append((*above, *left))
    return oracle.random_tables(
        rng, Structure(tuple(parents)), rng.integers(2, 4, side * side), n_classes
    )


@pytest.mark.parametrize("normalized", [True, False])
def test_conditioning_equals_the_direct_way(normalized, monkeypatch):
    rng = np.random.default_rng(5)
    side = 3 if UNCOMPILED else 5
    tables = grid(rng, side)
    if not normalized:
        wide = tables.log_theta + rng.uniform(-3, 3, tables.log_theta.size)
        tables = CPTs(tables.layout, tables.log_prior, wide)
    codes = np.repeat(tables.cards[:, None], 3, axis=1).astype(np.uint8)
    codes[-1] = [0, 1, 0]
    codes[1] = [0, 1, tables.cards[1]]
    expected = log_joint(tables, codes)
    for size in (100, 300):
        small = CPTs(tables.layout, tables.log_prior, tables.log_theta)
        monkeypatch.setattr(state_tables, "WORKSPACE", size)
        monkeypatch.setattr(exact, "WORKSPACE", size)
        for n_jobs in (1, 2):
            found = log_joint(small, codes, InferenceOptions(n_jobs=n_jobs))
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def test_the_limit_is_on_all_cells_of_a_row():
    rng = np.random.default_rng(6)
    tables = grid(rng, 4)
    codes = tables.cards[:, None].astype(np.uint8)
    codes[-1] = 0
    cells = elimination_cells(tables, codes)
    expected = log_joint(tables, codes)
    np.testing.assert_array_equal(
        log_joint(tables, codes, InferenceOptions(max_cells=int(cells))), expected
    )
    with pytest.raises(TooManyCellsError, match=r"above max_cells=") as error:
        log_joint(tables, codes, InferenceOptions(max_cells=int(cells) - 1))
    assert isinstance(error.value, TooManyCellsError)
    assert error.value.features == list(range(15))
    assert error.value.size == cells


def test_leaves_without_a_value_cost_one_cell_where_tables_are_not_normalized():
    rng = np.random.default_rng(7)
    structure = Structure(((), (0,), (0, 1), *[(0, 1, 2)] * 6))
    tables = oracle.random_tables(rng, structure, [3] * 9, 4, normalized=False)
    codes = tables.cards[:, None].astype(np.uint8)
    assert largest_component(tables, codes)[0] == [0, 1, 2]
    assert_same(log_joint(tables, codes), enumerated(tables, codes))


def test_threads_change_no_bit_of_heavy_rows(monkeypatch):
    rng = np.random.default_rng(8)
    tables = grid(rng, 3 if UNCOMPILED else 5)
    codes = random_rows(rng, tables.cards, 10 if UNCOMPILED else 300)
    monkeypatch.setattr(exact, "MAX_LIGHT_CELLS", 200.0)
    monkeypatch.setattr(exact, "LIGHT_BLOCK", 32)
    one, two = (log_joint(tables, codes, InferenceOptions(n_jobs=jobs)) for jobs in (1, 2))
    # no workspace for threads that no machine has, which a model file may ask for
    many = log_joint(tables, codes, InferenceOptions(n_jobs=10**12))
    np.testing.assert_array_equal(many, one)
    np.testing.assert_array_equal(one, two)


def lumpy_network(rng, n_classes=4, normalized=True):
    """A hub of many values of which tables tell few apart, and those differ by class."""
    structure = Structure(((), (0,), (0, 1), (0, 2), (0, 1, 3), (0,)))
    cards = np.array([9, 6, 2, 3, 2, 5])
    tables = oracle.random_tables(rng, structure, cards, n_classes, normalized)
    for i, parents in enumerate(structure.parents):
        table = tables.log_table(i)
        for axis, p in enumerate(parents):
            for c in range(n_classes):
                part = np.moveaxis(table[..., c], axis, 0)
                part[...] = part[lumps_of(p, c, cards[p])]
    return tables


def lumps_of(feature, c, card):
    """The first value that each value is like: all, the upper half, or the odd ones."""
    values = np.arange(card)
    if c == 0:
        return np.zeros(card, int)
    return np.where(values >= card // 2, card // 2, values) if (c + feature) % 2 else values % 2


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("n_classes", [1, 4, 7])
def test_lumps_equal_enumeration(n_classes, normalized, monkeypatch):
    rng = np.random.default_rng(n_classes)
    tables = lumpy_network(rng, n_classes, normalized)
    monkeypatch.setattr(exact, "MAX_LIGHT_CELLS", 0.0)
    monkeypatch.setattr(lumps, "ROW_COST", 0.0)
    monkeypatch.setattr(lumps, "MAX_COST", 10.0)
    groups = lumps.lumped_tables(tables)
    assert sorted(c for group in groups for c in group.classes) == list(range(n_classes))
    (first,) = [group for group in groups if 0 in group.classes.tolist()]
    if first.classes.size == 1:  # all values are alike in the first class
        assert first.arrays.states.tolist() == [1] * 6
    codes = random_rows(rng, tables.cards, 10 if UNCOMPILED else 100)
    assert_same(log_joint(tables, codes), enumerated(tables, codes))
    monkeypatch.setattr(state_tables, "WORKSPACE", 40)
    monkeypatch.setattr(exact, "WORKSPACE", 40)
    again = CPTs(tables.layout, tables.log_prior, tables.log_theta)
    assert_same(log_joint(again, codes), enumerated(tables, codes))


def test_values_alike_are_found_class_by_class():
    tables = lumpy_network(np.random.default_rng(0), 3)
    for i, first in enumerate(lumps._alike_values(tables)):
        if tables.structure.children[i]:
            for c in range(3):
                expected = lumps_of(i, c, int(tables.cards[i]))
                _, where, state = np.unique(expected, return_index=True, return_inverse=True)
                np.testing.assert_array_equal(first[:, c], where[state])
        else:
            assert (first == 0).all()


def test_states_may_have_any_numbers(monkeypatch):
    rng = np.random.default_rng(4)
    tables = lumpy_network(rng)

    def shuffled(cpts):
        return [rng.permutation(state.max() + 1)[state] for state in state_tables.base_states(cpts)]

    monkeypatch.setattr(exact, "base_states", shuffled)
    codes = random_rows(rng, tables.cards, 50)
    assert_same(log_joint(tables, codes), enumerated(tables, codes))


def test_slices_of_one_hash_are_compared():
    bits = np.arange(24, dtype=np.uint64)
    first = np.zeros((3, 2), np.int64)
    slices.split_unequal(bits, (2, 3, 2, 2), first)
    np.testing.assert_array_equal(first, np.repeat(np.arange(3)[:, None], 2, axis=1))


def test_tables_that_tell_all_values_apart_have_no_lumps():
    rng = np.random.default_rng(1)
    tables = oracle.random_tables(rng, Structure(((), (0,), (0, 1))), [5, 5, 5], 3)
    assert lumps.lumped_tables(tables) is None


@pytest.mark.parametrize("maximize", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_values_are_chosen_in_conditioned_rows(seed, maximize, monkeypatch):
    rng = np.random.default_rng(seed)
    tables = grid(rng, 3)
    codes = random_rows(rng, tables.cards, 6)
    joint = dense_log_joint(tables)
    monkeypatch.setattr(state_tables, "WORKSPACE", 60)
    monkeypatch.setattr(exact, "WORKSPACE", 60)
    if maximize:
        filled, classes, value = most_probable(tables, codes)
        best = [oracle.selected(joint, tables.cards, row).max() for row in codes.T]
        np.testing.assert_allclose(value, best, rtol=0, atol=1e-10)
        np.testing.assert_allclose(joint[(*filled.astype(int), classes)], best, atol=1e-10)
        return
    n = 60 if UNCOMPILED else 3000
    row = codes[:, :1].copy()
    row[[0, 4, 8]] = tables.cards[[0, 4, 8], None]
    filled, classes = draw(tables, np.repeat(row, n, axis=1), np.random.default_rng(seed))
    shares = np.exp(oracle.selected(joint, tables.cards, row[:, 0]))
    missing = row[:, 0] >= tables.cards
    assert (filled[~missing] == row[~missing]).all()
    seen = np.zeros(shares.shape)
    np.add.at(seen, (*filled[missing].astype(int), classes), 1)
    first, second = (a.sum(axis=tuple(range(1, a.ndim - 1))) for a in (seen, shares))
    expected = second / second.sum() * n
    assert ((first - expected) ** 2 / expected).sum() < 40


def test_values_of_leaves_and_of_features_without_observed_descendants():
    rng = np.random.default_rng(2)
    structure = Structure(((), (0,), (0, 1), (0, 1, 2), (3, 0), (3,)))
    for normalized in (True, False):
        tables = oracle.random_tables(rng, structure, [2, 3, 2, 2, 3, 2], 3, normalized)
        joint = dense_log_joint(tables)
        codes = random_rows(rng, tables.cards, 20)
        filled, classes, value = most_probable(tables, codes)
        best = [oracle.selected(joint, tables.cards, row).max() for row in codes.T]
        np.testing.assert_allclose(value, best, rtol=0, atol=1e-10)
        np.testing.assert_allclose(joint[(*filled.astype(int), classes)], best, atol=1e-10)
        n = 100 if UNCOMPILED else 20_000
        blank = np.repeat(tables.cards[:, None], n, axis=1).astype(np.uint8)
        drawn, classes = draw(tables, blank, rng)
        shares = np.exp(joint - logsumexp(joint))
        seen = np.zeros(joint.shape)
        np.add.at(seen, (*drawn.astype(int), classes), 1)
        for axes in ((0, 1, 2), (2, 3, 5), (0, 3, 4, 6), (1, 5, 6)):
            others = tuple(k for k in range(7) if k not in axes)
            one, two = seen.sum(axis=others), shares.sum(axis=others) * n
            assert ((one - two) ** 2 / two).sum() < one.size + 6 * np.sqrt(2 * one.size)
