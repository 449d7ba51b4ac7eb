"""Normalisation against enumeration: the same distribution, extreme and impossible numbers,
refusals.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.special import logsumexp

import oracle
from discbayes import BayesNet, read_bif
from discbayes.data import Domain, Variable
from discbayes.inference import joint_posterior, log_joint, log_marginal, log_partition, posterior
from discbayes.io import BifError
from discbayes.network import CLASS, CPTs, Layout, Structure, normalize

COLLIDER = ((), (), (0, 1))  # two parents that are not joined


def random_covered(rng, n_features, max_parents=3, drop_class=False):
    """A random structure where every feature with parents has a covering parent."""
    order = [int(i) for i in rng.permutation(n_features)]
    parents: list[tuple[int, ...]] = [()] * n_features
    flags = [True] * n_features
    for place, i in enumerate(order):
        if place and rng.random() < 0.85:
            cover = order[int(rng.integers(place))]
            others = [p for p in parents[cover] if rng.random() < 0.8][: max_parents - 1]
            parents[i] = tuple(int(p) for p in rng.permutation([cover, *others]))
        if drop_class:
            flags[i] = all(flags[p] for p in parents[i]) and rng.random() < 0.7
    return Structure(tuple(parents), tuple(flags))


def make(kind, rng, n_features=5):
    if kind == "nb":
        return Structure.naive(n_features)
    if kind == "tan":
        order = [int(i) for i in rng.permutation(n_features)]
        above = {i: (order[int(rng.integers(k))],) if k else () for k, i in enumerate(order)}
        return Structure(tuple(above[i] for i in range(n_features)))
    # in KDB every feature that is not the first has a parent; a limit may leave some without
    if kind == "kdb-1":
        return oracle.random_structure(rng, n_features, max_parents=1, drop_class=False)
    return random_covered(rng, n_features, drop_class=kind == "without class")


KINDS = ["nb", "tan", "kdb-1", "c1", "without class"]


def case(kind, seed, **options):
    rng = np.random.default_rng(seed)
    structure = make(kind, rng)
    cards = rng.integers(1, 4, structure.n_features)
    return oracle.random_tables(
        rng, structure, cards, int(rng.integers(1, 4)), normalized=False, **options
    )


def every_state(tables):
    cards = [range(int(card)) for card in tables.cards]
    return np.ascontiguousarray(np.array(list(product(*cards)), np.uint8).reshape(-1, len(cards)).T)


def shares(tables, codes):
    """P(c | x)."""
    prior = np.exp(tables.log_prior - tables.log_prior.max())
    return posterior(log_joint(tables, codes), prior / prior.sum())


def assert_columns_equal(tables):
    for i, depends in enumerate(tables.structure.class_children):
        if not depends:
            table = tables.log_table(i)
            np.testing.assert_allclose(
                table, np.broadcast_to(table[..., :1], table.shape), rtol=1e-14
            )


# ---- the same distribution


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", KINDS)
def test_the_distribution_stays_and_the_tables_are_normalised(kind, seed):
    tables = case(kind, seed)
    before = tables.log_prior.copy(), tables.log_theta.copy()
    found = normalize(tables)
    assert not tables.is_normalized
    assert found.is_normalized
    assert found.layout is tables.layout
    np.testing.assert_array_equal(tables.log_prior, before[0])
    np.testing.assert_array_equal(tables.log_theta, before[1])
    assert_columns_equal(found)
    codes = every_state(tables)
    np.testing.assert_allclose(shares(found, codes), shares(tables, codes), rtol=0, atol=1e-10)
    incomplete = oracle.every_pattern(np.random.default_rng(seed), tables.cards)
    expected = log_joint(tables, incomplete) - log_partition(tables)
    np.testing.assert_allclose(log_joint(found, incomplete), expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(
        log_marginal(log_joint(found, incomplete)), log_marginal(expected), rtol=0, atol=1e-10
    )


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", KINDS)
def test_every_table_is_the_conditional_distribution_of_the_joint(kind, seed):
    tables = case(kind, seed)
    found = normalize(tables)
    joint = oracle.full_joint(tables)
    joint /= joint.sum()
    n = tables.structure.n_features
    np.testing.assert_allclose(
        np.exp(found.log_prior), joint.reshape(-1, tables.n_classes).sum(axis=0), atol=1e-12
    )
    for i, group in enumerate(tables.structure.parents):
        family = (*group, i, n)
        left = sorted(family)
        part = joint.sum(axis=tuple(k for k in range(n) if k not in family))
        part = part.transpose([left.index(k) for k in family])
        if not tables.structure.class_children[i]:
            part = np.broadcast_to(part.sum(axis=-1, keepdims=True), part.shape)
        np.testing.assert_allclose(
            np.exp(found.log_table(i)), part / part.sum(axis=-2, keepdims=True), atol=1e-12
        )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_marginals_by_elimination_are_the_same(kind, seed):
    tables = case(kind, 100 + seed)
    found = normalize(tables)
    nodes = [CLASS, *range(tables.structure.n_features)]
    for asked in [*((node,) for node in nodes), *combinations(nodes, 2)]:
        given = {node: 0 for node in nodes[:2] if node not in asked}
        for evidence in ({}, given):
            expected = joint_posterior(tables, asked, evidence)
            np.testing.assert_allclose(
                joint_posterior(found, asked, evidence), expected, rtol=0, atol=1e-10
            )


def test_random_structures_of_the_tests_have_several_parents_and_features_without_the_class():
    found = [
        make(kind, np.random.default_rng(seed))
        for kind in ("c1", "without class")
        for seed in range(12)
    ]
    assert {s.max_parents for s in found} >= {1, 2, 3}
    assert all(s.is_moral and s.is_c1 for s in found)
    assert sum(not all(s.class_children) for s in found) >= 6
    assert any(not s.class_children[i] and s.parents[i] for s in found for i in range(5))


def test_normalised_tables_stay_the_same_object_on_any_structure():
    tables = oracle.random_tables(np.random.default_rng(0), Structure(COLLIDER), [2, 3, 2], 2)
    assert normalize(tables) is tables
    found = normalize(case("tan", 0))
    assert normalize(found) is found


def test_no_features_one_class_one_value():
    nothing = CPTs(
        Layout(Structure(()), np.empty(0, np.int64), 3), np.array([1.0, 2.0, 3.0]), np.empty(0)
    )
    np.testing.assert_allclose(
        np.exp(normalize(nothing).log_prior), np.exp([-2, -1, 0]) / np.exp([-2, -1, 0]).sum()
    )
    single = CPTs(
        Layout(Structure(((), (0,))), np.array([1, 2]), 1),
        np.array([5.0]),
        np.array([7.0, 0.0, 0.0]),
    )
    found = normalize(single)
    np.testing.assert_allclose(found.log_prior, [0])
    np.testing.assert_allclose(np.exp(found.log_theta), [1, 0.5, 0.5])


# ---- numbers far from one


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", KINDS)
def test_numbers_far_outside_the_range_of_exp(kind, seed):
    rng = np.random.default_rng(seed)
    tables = case(kind, seed)
    flat = tables.log_theta * 0
    for i, depends in enumerate(tables.structure.class_children):
        table = rng.uniform(-1e4, 1e4, tables.layout.shapes[i])
        tables.layout.table(flat, i)[...] = table if depends else table[..., :1]
    wild = CPTs(tables.layout, rng.uniform(-1e4, 1e4, tables.n_classes), flat)
    found = normalize(wild)
    assert found.is_normalized
    codes = every_state(wild)
    before, after = log_joint(wild, codes), log_joint(found, codes)
    np.testing.assert_allclose(after, before - logsumexp(before), rtol=0, atol=1e-9)
    np.testing.assert_allclose(shares(found, codes), shares(wild, codes), rtol=0, atol=1e-10)


def test_constants_of_many_features_cost_no_digits():
    rng = np.random.default_rng(0)
    n = 400
    structure = Structure(((), *((i,) for i in range(n - 1))))
    plain = oracle.random_tables(rng, structure, [3] * n, 4, normalized=False)
    moved = CPTs(plain.layout, plain.log_prior - 3e4, plain.log_theta + 2.0**13)
    codes = rng.integers(0, 3, (n, 50)).astype(np.uint8)
    found = normalize(moved)
    assert found.is_normalized
    np.testing.assert_allclose(
        log_joint(found, codes), log_joint(normalize(plain), codes), rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(shares(found, codes), shares(plain, codes), rtol=0, atol=1e-9)


# ---- impossible values


def with_impossible_rows(tables, rng, share):
    """Some rows of the tables without any possible value, in some or all of the classes."""
    flat = tables.log_theta.copy()
    for i, depends in enumerate(tables.structure.class_children):
        table = tables.layout.table(flat, i)
        rows = rng.random((*table.shape[:-2], 1, table.shape[-1] if depends else 1)) < share
        table[np.broadcast_to(rows, table.shape)] = -np.inf
    return CPTs(tables.layout, tables.log_prior, flat)


@pytest.mark.parametrize("share", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_impossible_stays_so(kind, seed, share):
    tables = with_impossible_rows(case(kind, seed, zeros=True), np.random.default_rng(seed), share)
    joint = oracle.full_joint(tables)
    if joint.sum() == 0:
        with pytest.raises(ValueError, match="no row is possible under these tables in any class"):
            normalize(tables)
        return
    found = normalize(tables)
    assert found.is_normalized
    assert_columns_equal(found)
    np.testing.assert_allclose(
        oracle.full_joint(found), joint / joint.sum(), rtol=1e-12, atol=1e-14
    )
    np.testing.assert_array_equal(oracle.full_joint(found) == 0, joint == 0)
    codes = every_state(tables)[:, joint.sum(axis=-1).ravel() > 0]
    np.testing.assert_allclose(shares(found, codes), shares(tables, codes), rtol=0, atol=1e-10)


def test_a_row_without_possible_values_becomes_uniform_and_its_parents_impossible():
    layout = Layout(Structure(((), (0,))), np.array([2, 2]), 2)
    flat = np.zeros(layout.size)
    layout.table(flat, 1)[0, :, 1] = -np.inf
    found = normalize(CPTs(layout, np.zeros(2), flat))
    np.testing.assert_allclose(np.exp(found.log_table(1)), 0.5)
    np.testing.assert_allclose(np.exp(found.log_table(0)), [[0.5, 0], [0.5, 1]])
    np.testing.assert_allclose(np.exp(found.log_prior), [2 / 3, 1 / 3])


def test_a_class_without_possible_rows_gets_probability_zero():
    layout = Layout(Structure.naive(1), np.array([2]), 2)
    found = normalize(CPTs(layout, np.array([1.0, 2.0]), np.array([0.0, -np.inf, 1.0, -np.inf])))
    np.testing.assert_array_equal(found.log_prior, [0, -np.inf])
    assert found.is_normalized


# ---- structures without covering parents


def collider(flags=(), seed=0, normalized=False):
    structure = Structure(COLLIDER, flags)
    return oracle.random_tables(np.random.default_rng(seed), structure, [2, 3, 2], 3, normalized)


@pytest.mark.parametrize(
    "parents, flags, message",
    [
        (COLLIDER, (), "cannot be normalized: feature 2 has no covering parent"),
        (((), (0,)), (False, True), "feature 1 has no covering parent"),
        (((), (), (0, 1), (), (0, 3, 2)), (), "feature 2, feature 4 have no covering parent"),
    ],
)
def test_structures_without_covering_parents_are_refused(parents, flags, message):
    structure = Structure(parents, flags)
    assert not structure.is_c1
    tables = oracle.random_tables(
        np.random.default_rng(0), structure, [2] * len(parents), 2, normalized=False
    )
    for keep in ("joint", "posterior"):
        with pytest.raises(ValueError, match=message) as caught:
            normalize(tables, keep)
        assert "Use the tables as they are: they represent p(c, x) ∝ exp(log-joint)" in str(
            caught.value
        )
        assert "keep=" not in str(caught.value)


def test_long_lists_of_features_are_cut():
    structure = Structure((*((),) * 2, *((0, 1),) * 20))
    tables = oracle.random_tables(
        np.random.default_rng(0), structure, [2] * 22, 2, normalized=False
    )
    with pytest.raises(ValueError, match=r"feature 13, … have no covering parent"):
        normalize(tables)


def test_the_posterior_can_be_kept_where_the_joint_cannot():
    tables = collider((True, True, False))
    assert tables.structure.is_c1
    assert not tables.structure.is_moral
    with pytest.raises(
        ValueError, match=r'feature 2 has no .* With keep="posterior" there is a network'
    ):
        normalize(tables)
    found = normalize(tables, keep="posterior")
    assert found.is_normalized
    codes = every_state(tables)
    np.testing.assert_allclose(shares(found, codes), shares(tables, codes), rtol=0, atol=1e-12)
    assert not np.allclose(
        joint_posterior(found, [0], {}), joint_posterior(tables, [0], {}), atol=1e-3
    )


@pytest.mark.parametrize("seed", range(20))
def test_keeping_the_posterior_works_on_every_c1_structure(seed):
    rng = np.random.default_rng(seed)
    while not (structure := oracle.random_structure(rng, 5)).is_c1 or structure.is_moral:
        pass
    tables = oracle.random_tables(rng, structure, rng.integers(1, 4, 5), 3, normalized=False)
    found = normalize(tables, "posterior")
    assert found.is_normalized
    codes = every_state(tables)
    np.testing.assert_allclose(shares(found, codes), shares(tables, codes), rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_both_ways_are_the_same_where_every_feature_is_covered(kind):
    tables = case(kind, 3)
    np.testing.assert_array_equal(
        normalize(tables).log_theta, normalize(tables, "posterior").log_theta
    )


@pytest.mark.parametrize("flags", [(), (True, True, False), (False, True, True)])
def test_equal_sums_need_no_covering_parent(flags):
    tables = collider(flags, normalized=True)
    flat = tables.log_theta.copy()
    factors = np.array([1.0, -2.0, 0.5])
    tables.layout.table(flat, 2)[...] += (
        factors if tables.structure.class_children[2] else factors[0]
    )
    tables.layout.table(flat, 1)[...] += np.array([-1.0, 3.0, 0.2])
    found = normalize(CPTs(tables.layout, tables.log_prior + 1.0, flat))
    assert found.is_normalized
    joint = oracle.full_joint(CPTs(tables.layout, tables.log_prior, flat))
    np.testing.assert_allclose(oracle.full_joint(found), joint / joint.sum(), rtol=1e-12)


def test_equal_sums_of_which_one_class_has_none():
    tables = collider(normalized=True)
    flat = tables.log_theta.copy()
    tables.layout.table(flat, 2)[..., 1] = -np.inf
    found = normalize(CPTs(tables.layout, tables.log_prior, flat))
    assert found.log_prior[1] == -np.inf
    assert found.is_normalized
    tables.layout.table(flat, 2)[0, 0, :, 0] = -np.inf
    with pytest.raises(ValueError, match="feature 2 has no covering parent"):
        normalize(CPTs(tables.layout, tables.log_prior, flat))


def test_what_to_keep_is_checked():
    with pytest.raises(ValueError, match=r'keep=\'all\' is not "joint" or "posterior"'):
        normalize(collider(), keep="all")


# ---- networks with names


def network(structure, normalized=False, **options):
    cards = (2, 3, 2)
    features = tuple(
        Variable(name, "categorical", tuple("uvw"[:card]))
        for name, card in zip("abd", cards, strict=True)
    )
    domain = Domain(features, Variable("kind", "categorical", ("no", "yes")))
    tables = oracle.random_tables(np.random.default_rng(1), structure, cards, 2, normalized)
    return BayesNet(domain, tables, **options)


def test_a_network_can_be_normalised():
    net = network(Structure(((), (0,), (1, 0))), max_cells=1000, beyond_max_cells=7, n_jobs=1)
    found = net.normalized()
    assert found.parameters.is_normalized
    assert found.domain is net.domain
    assert (found.max_cells, found.beyond_max_cells, found.n_jobs) == (1000, 7, 1)
    assert found.normalized() is found
    rows = [["u", "w", "v"], ["v", None, "u"], [None, None, "v"], [None, None, None]]
    np.testing.assert_allclose(found.posterior(rows), net.posterior(rows), rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        found.log_likelihood(rows), net.log_likelihood(rows), rtol=0, atol=1e-12
    )
    labels = ["no", "yes", "yes", "no"]
    np.testing.assert_allclose(
        found.log_likelihood(rows, labels), net.log_likelihood(rows, labels), rtol=0, atol=1e-12
    )
    for asked, given in (
        (["kind"], {"b": "w"}),
        (["a", "d"], {"kind": "yes"}),
        (["b", "kind", "a"], {}),
    ):
        expected = net.query(asked, given).probabilities
        np.testing.assert_allclose(
            found.query(asked, given).probabilities, expected, rtol=0, atol=1e-12
        )
    assert found.most_probable()[0] == net.most_probable()[0]


def test_refusals_of_a_network_name_its_columns():
    with pytest.raises(ValueError, match="cannot be normalized: 'd' has no covering parent"):
        network(Structure(COLLIDER)).normalized()
    kept = network(Structure(COLLIDER, (True, True, False)))
    with pytest.raises(ValueError, match=r'With keep="posterior"'):
        kept.normalized()
    rows = [["u", "w", "v"], ["v", "u", "u"]]
    np.testing.assert_allclose(
        kept.normalized("posterior").posterior(rows), kept.posterior(rows), atol=1e-12
    )
    fine = network(Structure(COLLIDER), normalized=True)
    assert fine.normalized() is fine


def test_bif_files_after_normalisation(tmp_path):
    net = network(Structure(((), (0,), (1, 0))))
    with pytest.raises(BifError, match=r"write network\.normalized\(\)"):
        net.to_bif(tmp_path / "net.bif")
    found = net.normalized()
    found.to_bif(tmp_path / "net.bif")
    again = read_bif(tmp_path / "net.bif")
    rows = [["u", "w", "v"], ["v", None, "u"]]
    np.testing.assert_allclose(again.posterior(rows), net.posterior(rows), rtol=0, atol=1e-12)
