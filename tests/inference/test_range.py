"""Tables of any numerical range: answers are those of enumeration on the log scale, or of tables
near one.
"""

from __future__ import annotations

import numba
import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import oracle
from discbayes.inference import (
    draw,
    family_posteriors,
    feature_posterior,
    joint_posterior,
    log_joint,
    log_marginal,
    log_partition,
    missing_posteriors,
    most_probable,
    most_probable_each,
    posterior,
    sample,
)
from discbayes.network import CLASS, CPTs, Layout, Structure

KINDS = ["naive", "forest", "any"]
RANGES = [100, 350, 700, 2000]  # of log θ, in both directions
CASES = 6 if numba.config.DISABLE_JIT else 25


def structure_of(rng, kind, n):
    makers = {"naive": Structure.naive, "forest": lambda n: oracle.random_forest(rng, n)}
    return makers.get(kind, lambda n: oracle.random_structure(rng, n))(n)


def wide_tables(rng, kind, span):
    """Tables with log θ uniform in ±span, or mostly near zero; some have zeros, some are
    normalized.
    """
    n = int(rng.integers(1, 7))
    structure, cards = structure_of(rng, kind, n), rng.integers(1, 4, n)
    n_classes = int(rng.integers(1, 6))
    layout = Layout(structure, cards, n_classes)
    flat = rng.uniform(-span, span, layout.size)
    if rng.random() < 0.4:
        flat = np.where(rng.random(flat.size) < 0.7, rng.uniform(-2, 2, flat.size), flat)
    if rng.random() < 0.5:
        flat[rng.random(flat.size) < 0.25] = -np.inf
    flat, prior = layout.pool_columns(flat, np.max), rng.uniform(-span, span, n_classes)
    if rng.random() < 0.4:
        prior -= logsumexp(prior)
        for i in range(n):
            table = layout.table(flat, i)
            table[np.isneginf(table).all(axis=-2, keepdims=True) & np.ones(table.shape, bool)] = 0.0
            table -= logsumexp(table, axis=-2, keepdims=True)
    return CPTs(layout, prior, flat)


def drawn_cases(kind, span):
    rng = np.random.default_rng([span, *kind.encode()])
    for _ in range(CASES):
        tables = wide_tables(rng, kind, span)
        yield tables, oracle.every_pattern(rng, tables.cards)


def finite(logarithms):
    """Zeros in the place of −inf, which allclose takes for different from itself in differences."""
    return np.where(np.isneginf(logarithms), 0.0, logarithms)


def assert_same_logs(found, expected, atol=1e-10):
    np.testing.assert_array_equal(np.isneginf(found), np.isneginf(expected))
    np.testing.assert_allclose(finite(found), finite(expected), rtol=0, atol=atol)


@pytest.mark.parametrize("span", RANGES)
@pytest.mark.parametrize("kind", KINDS)
def test_log_joint_of_every_pattern(kind, span):
    for tables, codes in drawn_cases(kind, span):
        assert_same_logs(log_joint(tables, codes), oracle.log_joint(tables, codes))


@pytest.mark.parametrize("span", RANGES)
@pytest.mark.parametrize("kind", KINDS)
def test_most_probable_completion(kind, span):
    for tables, codes in drawn_cases(kind, span):
        joint = oracle.full_log_joint(tables)
        filled, chosen, value = most_probable(tables, codes)
        best = np.array([oracle.selected(joint, tables.cards, row).max() for row in codes.T])
        assert_same_logs(value, best)
        assert_same_logs(joint[(*filled.astype(int), chosen)], best)


@pytest.mark.parametrize("span", RANGES)
@pytest.mark.parametrize("kind", KINDS)
def test_values_of_single_features_and_questions(kind, span):
    for tables, every in drawn_cases(kind, span):
        joint, codes = oracle.full_log_joint(tables), every[:, ::5]
        total = logsumexp(joint)
        assert_same_logs(
            np.array(log_partition(tables)), np.array(0.0 if tables.is_normalized else total)
        )
        if total == -np.inf:
            continue
        filled = most_probable_each(tables, codes)
        n = tables.cards.size
        others = tuple(axis for axis in range(n) if axis)
        expected = np.exp(logsumexp(joint, axis=others) - total)
        np.testing.assert_allclose(joint_posterior(tables, [0, CLASS], {}), expected, atol=1e-10)
        for i in range(n):
            hidden = np.where(np.arange(n)[:, None] == i, tables.cards[:, None], codes).astype(
                np.uint8
            )
            found = feature_posterior(tables, codes, i)
            for m, row in enumerate(hidden.T):
                expected = value_shares(tables, joint, row, i)
                np.testing.assert_allclose(found[m], expected, atol=1e-10)
                if codes[i, m] >= tables.cards[i]:
                    assert expected[filled[i, m]] == pytest.approx(expected.max(), abs=1e-10)


def value_shares(tables, joint, row, feature):
    axis = np.count_nonzero(row[:feature] >= tables.cards[:feature])
    part = oracle.selected(joint, tables.cards, row)
    logs = logsumexp(part, axis=tuple(a for a in range(part.ndim) if a != axis))
    if np.isneginf(logs).all():
        return np.full(logs.size, 1 / logs.size)
    return np.exp(logs - logsumexp(logs))


# ---- one distribution, in tables near one and in tables far from it


def same_distribution(rng, kind, span=2000.0):
    """Tables of a random network, and others with the same joint: what a parent says moves from
    child to parent.
    """
    structure = {
        "naive": Structure.naive(3),
        "forest": Structure(((), (0,), (1,))),
        "any": Structure(((), (0,), (0, 1))),
    }[kind]
    near = oracle.random_tables(rng, structure, [2, 3, 2], 2, normalized=kind != "naive")
    flat, prior = near.log_theta.copy(), near.log_prior.copy()
    for i, group in enumerate(structure.parents):
        moved = rng.uniform(
            -span, span, (int(near.cards[group[0]]) if group else 1, near.n_classes)
        )
        table = near.layout.table(flat, i)
        if not group:
            table += moved
            prior -= moved[0]
        else:
            table += moved.reshape(moved.shape[0], *[1] * (table.ndim - 2), near.n_classes)
            near.layout.table(flat, group[0])[...] -= moved
    return near, CPTs(near.layout, prior, flat)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_answers_do_not_depend_on_where_the_numbers_stand(kind, seed):
    rng = np.random.default_rng(seed)
    near, far = same_distribution(rng, kind)
    assert (far.smallest == 0).sum() >= (0 if kind == "naive" else 2)
    codes = oracle.every_pattern(rng, near.cards)
    np.testing.assert_allclose(log_joint(far, codes), log_joint(near, codes), atol=1e-9)
    fallback = np.zeros(2)
    np.testing.assert_allclose(
        posterior(log_joint(far, codes), fallback),
        posterior(log_joint(near, codes), fallback),
        atol=1e-9,
    )
    np.testing.assert_allclose(
        log_marginal(log_joint(far, codes)), log_marginal(log_joint(near, codes)), atol=1e-9
    )
    np.testing.assert_array_equal(most_probable_each(far, codes), most_probable_each(near, codes))
    np.testing.assert_allclose(family_posteriors(far), family_posteriors(near), atol=1e-9)
    for row in codes.T:
        found, expected = (
            missing_posteriors(far, row[:, None]),
            missing_posteriors(near, row[:, None]),
        )
        for i in expected:
            np.testing.assert_allclose(found[i], expected[i], atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_and_draws(kind):
    near, far = same_distribution(np.random.default_rng(5), kind)
    joint, n = oracle.full_joint(near), 4000
    codes, classes = sample(far, n, np.random.default_rng(1))
    seen = np.zeros(joint.shape)
    np.add.at(seen, (*codes.astype(int), classes), 1)
    assert stats.chisquare(seen.ravel(), joint.ravel() / joint.sum() * n).pvalue > 1e-3
    evidence = np.repeat(np.array([[2], [1], [2]], np.uint8), n, axis=1)
    filled, classes = draw(far, evidence, np.random.default_rng(3))
    seen = np.zeros((2, 2, 2))
    np.add.at(seen, (filled[0].astype(int), filled[2].astype(int), classes), 1)
    given = joint[:, 1]
    assert stats.chisquare(seen.ravel(), given.ravel() / given.sum() * n).pvalue > 1e-3


# ---- tables near one whose products leave the range on their way through a forest


def test_long_chains_of_missing_values():
    """Sums along a chain shrink, or grow, by much at every link: no table is wide, the products
    are.
    """
    n = 30 if numba.config.DISABLE_JIT else 1200
    structure = Structure(((), *((i,) for i in range(n - 1))))
    layout = Layout(structure, np.full(n, 2), 2)
    growing = CPTs(layout, np.zeros(2), np.zeros(layout.size))
    codes = np.full((n, 1), 2, np.uint8)
    np.testing.assert_allclose(
        log_joint(growing, codes), np.full((1, 2), n * np.log(2)), rtol=1e-12
    )
    shrinking = np.zeros(layout.size)
    # a value is kept, or changes with a very small probability; never both ways
    for i in range(1, n):
        table = np.full(layout.shapes[i], -np.inf)
        table[0, 1], table[1, 1] = -50.0, 0.0
        table[0, 0] = np.log1p(-np.exp(-50.0))
        layout.table(shrinking, i)[...] = table
    layout.table(shrinking, 0)[...] = np.array([0.0, -np.inf])[:, None]
    tables = CPTs(layout, np.log([0.5, 0.5]), shrinking)
    codes[-1] = 1
    expected = np.log(0.5) - 50.0 + np.log(n - 1)  # it changed at one of the links
    np.testing.assert_allclose(log_joint(tables, codes), np.full((1, 2), expected), rtol=1e-12)


def test_children_that_rule_out_what_is_usual():
    """Hundreds of children speak for a value that is impossible; what is left of the others
    decides.
    """
    n = 40 if numba.config.DISABLE_JIT else 400
    layout = Layout(Structure(((), *[(0,)] * n)), np.full(n + 1, 2), 2)
    flat = np.log(np.full(layout.size, 0.5))
    layout.table(flat, 0)[...] = np.array([-np.inf, 0.0])[:, None]
    for i in range(1, n + 1):
        layout.table(flat, i)[1] = np.log([[1e-30] * 2, [1 - 1e-30] * 2])
    tables = CPTs(layout, np.log([0.3, 0.7]), flat)
    codes = np.zeros((n + 1, 1), np.uint8)
    codes[0] = 2
    expected = tables.log_prior + n * np.log(1e-30)
    np.testing.assert_allclose(log_joint(tables, codes)[0], expected, rtol=1e-12)
