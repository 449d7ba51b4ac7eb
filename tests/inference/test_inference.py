"""Inference against enumeration over all states: posterior, likelihood, most probable completion,
draws, queries.
"""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pytest
from scipy import stats

import oracle
from discbayes.data.domain import Domain, Variable
from discbayes.inference import (
    InferenceOptions,
    TooManyCellsError,
    completion,
    draw,
    feature_posterior,
    joint_posterior,
    log_joint,
    log_marginal,
    log_partition,
    most_probable,
    most_probable_each,
    posterior,
    posterior_error,
    sample,
)
from discbayes.inference.completion import without_missing_values
from discbayes.kernels import forest, joint, row_elimination, row_factors
from discbayes.network import CLASS, CPTs, Layout, Structure

KINDS = ["naive", "forest", "any"]


def make(seed, kind, normalized=True, zeros=False, n_features=None):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7)) if n_features is None else n_features
    cards = rng.integers(1, 5, size=n)
    structure = {
        "naive": Structure.naive,
        "forest": lambda n: oracle.random_forest(rng, n),
        "any": lambda n: oracle.random_structure(rng, n),
    }[kind](n)
    tables = oracle.random_tables(rng, structure, cards, int(rng.integers(1, 5)), normalized, zeros)
    return tables, oracle.every_pattern(rng, cards), rng


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_log_joint_equals_enumeration_on_every_pattern(kind, normalized, seed):
    tables, codes, _ = make(seed, kind, normalized)
    np.testing.assert_allclose(
        log_joint(tables, codes), oracle.log_joint(tables, codes), rtol=0, atol=1e-10
    )


@pytest.mark.parametrize("n_classes", [1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 17, 26])
@pytest.mark.parametrize("kind", KINDS)
def test_log_joint_of_any_number_of_classes(kind, n_classes):
    rng = np.random.default_rng([n_classes, *kind.encode()])
    shape = {"naive": Structure.naive(5), "forest": oracle.random_forest(rng, 5)}
    structure = shape.get(kind) or oracle.random_structure(rng, 5)
    cards = rng.integers(1, 5, size=5)
    for normalized, zeros in ((True, False), (True, True), (False, False)):
        tables = oracle.random_tables(rng, structure, cards, n_classes, normalized, zeros)
        codes = np.tile(oracle.every_pattern(rng, cards), 3)  # more rows than are taken at a time
        np.testing.assert_allclose(
            log_joint(tables, codes), oracle.log_joint(tables, codes), rtol=0, atol=1e-10
        )


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
@pytest.mark.parametrize("kind", KINDS)
def test_codes_in_any_order_need_no_kernels_of_their_own(kind):
    tables, codes, _ = make(1, kind, n_features=4)
    expected, n_compiled = log_joint(tables, np.ascontiguousarray(codes)), count_compiled()
    for same in (np.asfortranarray(codes), np.repeat(codes, 2, axis=1)[:, ::2]):
        np.testing.assert_array_equal(log_joint(tables, same), expected)
    assert count_compiled() == n_compiled


def count_compiled():
    kernels = (
        joint.incomplete_rows,
        joint.complete_log_joint,
        forest.marginalize_missing,
        joint.observed_log_joint,
        row_factors.take_rows,
        row_elimination.eliminate_rows,
    )
    return sum(len(kernel.signatures) for kernel in kernels)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", KINDS)
def test_log_joint_with_impossible_values(kind, seed):
    tables, codes, _ = make(seed, kind, zeros=True)
    np.testing.assert_allclose(
        log_joint(tables, codes), oracle.log_joint(tables, codes), rtol=0, atol=1e-10
    )


@pytest.mark.parametrize("kind", KINDS)
def test_posterior_and_likelihood(kind):
    tables, codes, _ = make(3, kind)
    expected = np.exp(oracle.log_joint(tables, codes))
    got = posterior(log_joint(tables, codes), np.exp(tables.log_prior))
    np.testing.assert_allclose(got, expected / expected.sum(axis=1, keepdims=True), atol=1e-10)
    np.testing.assert_allclose(
        log_marginal(log_joint(tables, codes)), np.log(expected.sum(axis=1)), atol=1e-10
    )


def test_a_row_without_any_value_gets_the_class_prior():
    for kind in KINDS:
        tables, codes, _ = make(5, kind, n_features=4)
        got = posterior(log_joint(tables, codes[:, -1:]), np.exp(tables.log_prior))
        np.testing.assert_allclose(got[0], np.exp(tables.log_prior), atol=1e-12)


def test_impossible_rows_get_the_fallback():
    layout = Layout(Structure.naive(1), np.array([2]), 2)
    with np.errstate(divide="ignore"):
        tables = CPTs(layout, np.log([0.3, 0.7]), np.log(np.array([1.0, 1.0, 0.0, 0.0])))
    got = posterior(log_joint(tables, np.array([[1]], np.uint8)), np.array([0.3, 0.7]))
    np.testing.assert_allclose(got, [[0.3, 0.7]])


@pytest.mark.parametrize("kind", KINDS)
def test_partition_function_of_tables_that_are_not_normalised(kind):
    tables, _, _ = make(2, kind, normalized=False)
    assert log_partition(tables) == pytest.approx(
        np.log(oracle.full_joint(tables).sum()), abs=1e-10
    )
    assert log_partition(make(2, kind)[0]) == 0.0


def brute_mpe(tables, joint, row, known):
    part = oracle.selected(joint, tables.cards, row)
    if known is not None:
        part = part[..., known]
    return part.max()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_most_probable_completion(kind, normalized, seed):
    tables, codes, rng = make(seed, kind, normalized)
    joint = oracle.full_joint(tables)
    known = rng.integers(tables.n_classes, size=codes.shape[1])
    for classes in (None, known):
        filled, chosen, value = most_probable(tables, codes, classes)
        for m, row in enumerate(codes.T):
            best = brute_mpe(tables, joint, row, None if classes is None else classes[m])
            state = (*filled[:, m].astype(int), chosen[m])
            assert joint[state] == pytest.approx(best, rel=1e-10)
            assert value[m] == pytest.approx(np.log(best), abs=1e-10)
            observed = row < tables.cards
            assert (filled[observed, m] == row[observed]).all()


def brute_feature_posterior(tables, joint, row, feature):
    """P(x_i, what else is observed), by enumeration."""
    row = row.copy()
    row[feature] = tables.cards[feature]
    axis = np.count_nonzero(row[:feature] >= tables.cards[:feature])
    part = oracle.selected(joint, tables.cards, row)
    return part.sum(axis=tuple(a for a in range(part.ndim) if a != axis))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("normalized, zeros", [(True, False), (False, False), (True, True)])
@pytest.mark.parametrize("kind", KINDS)
def test_feature_posterior_and_marginal_modes(kind, normalized, zeros, seed):
    tables, codes, _ = make(seed + 7, kind, normalized, zeros, n_features=5)
    joint = oracle.full_joint(tables)
    filled = most_probable_each(tables, codes)
    for i in range(5):
        got = feature_posterior(tables, codes, i)
        for m, row in enumerate(codes.T):
            expected = brute_feature_posterior(tables, joint, row, i)
            total = expected.sum()
            shares = expected / total if total > 0 else np.full(expected.size, 1 / expected.size)
            np.testing.assert_allclose(got[m], shares, atol=1e-10)
            if codes[i, m] >= tables.cards[i]:
                assert expected[filled[i, m]] == pytest.approx(expected.max())
            else:
                assert filled[i, m] == codes[i, m]


@pytest.mark.parametrize("chain", [False, True])
def test_marginals_do_not_underflow_with_many_features(chain):
    n = 3000 if not _uncompiled() else 200
    tables, rng = star(n, chain=chain)
    codes = rng.integers(3, size=(n + 1, 1)).astype(np.uint8)
    codes[:3] = 3
    scores = np.empty((3, 3, 3))
    for state in np.ndindex(3, 3, 3):
        complete = codes.copy()
        complete[:3, 0] = state
        scores[state] = log_marginal(log_joint(tables, complete))[0]
    joint = np.exp(scores - scores.max())
    for i in range(3):
        expected = joint.sum(axis=tuple(a for a in range(3) if a != i)) / joint.sum()
        np.testing.assert_allclose(feature_posterior(tables, codes, i)[0], expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_marginal_modes_of_many_rows_do_not_depend_on_blocks_and_threads(seed, monkeypatch):
    tables, _, rng = make(seed, "forest", n_features=5)
    codes = np.minimum(
        (rng.random((5, 300)) * (tables.cards[:, None] + 1)), tables.cards[:, None]
    ).astype(np.uint8)
    expected = most_probable_each(tables, codes)
    monkeypatch.setattr(completion, "BATCH_CELLS", 1)
    np.testing.assert_array_equal(
        most_probable_each(tables, codes, InferenceOptions(n_jobs=2)), expected
    )


def test_trying_values_in_blocks_changes_nothing(monkeypatch):
    tables, codes, _ = make(1, "any", n_features=5)
    expected = [feature_posterior(tables, codes, i) for i in range(5)]
    monkeypatch.setattr(completion, "BATCH_CELLS", 1)
    for i in range(5):
        np.testing.assert_array_equal(feature_posterior(tables, codes, i), expected[i])


@pytest.mark.parametrize("kind", KINDS)
def test_tables_without_the_value_for_missing(kind):
    structure = {"naive": Structure.naive(4), "forest": Structure(((), (0,), (1,), (1,)))}
    structure = structure.get(kind, Structure(((), (0,), (0, 1), (2, 0))))
    domain = Domain(
        (
            Variable("a", "categorical", ("u", "v"), missing_value=True),
            Variable("b", "numeric", cuts=(1.0,)),
            Variable("c", "numeric", cuts=(1.0, 2.0), missing_value=True),
            Variable("d", "categorical", (), missing_value=True),
        ),
        Variable("y", "categorical", (0, 1)),
    )
    tables = oracle.random_tables(np.random.default_rng(0), structure, domain.cards, 2)
    real = without_missing_values(domain, tables)
    assert real.cards.tolist() == [2, 2, 3, 1]
    np.testing.assert_allclose(
        oracle.full_joint(real), oracle.full_joint(tables)[:2, :, :3], rtol=1e-12
    )
    plain = Domain(tuple(replace(v, missing_value=False) for v in domain.features), domain.target)
    assert without_missing_values(plain, real) is real


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_samples_pass_a_chi_square_test(kind, normalized):
    rng = np.random.default_rng(11)
    structure = {
        "naive": Structure.naive(3),
        "forest": Structure(((), (0,), (0,))),
        "any": Structure(((), (0,), (0, 1))),
    }
    tables = oracle.random_tables(rng, structure[kind], [2, 3, 2], 2, normalized)
    n = 4000
    codes, classes = sample(tables, n, np.random.default_rng(1))
    seen = np.zeros((2, 3, 2, 2))
    np.add.at(seen, (*codes.astype(int), classes), 1)
    joint = oracle.full_joint(tables)
    assert stats.chisquare(seen.ravel(), joint.ravel() / joint.sum() * n).pvalue > 1e-3


@pytest.mark.parametrize("kind", ["forest", "any"])
def test_draws_given_evidence_pass_a_chi_square_test(kind):
    rng = np.random.default_rng(4)
    structure = Structure(((), (0,), (1,))) if kind == "forest" else Structure(((), (0,), (0, 1)))
    tables = oracle.random_tables(rng, structure, [2, 3, 2], 2)
    n = 4000
    codes = np.repeat(np.array([[2], [1], [2]], np.uint8), n, axis=1)
    filled, classes = draw(tables, codes, np.random.default_rng(3))
    assert (filled[1] == 1).all()
    seen = np.zeros((2, 2, 2))
    np.add.at(seen, (filled[0].astype(int), filled[2].astype(int), classes), 1)
    expected = oracle.full_joint(tables)[:, 1]
    assert stats.chisquare(seen.ravel(), expected.ravel() / expected.sum() * n).pvalue > 1e-3


@pytest.mark.parametrize("seed", range(5))
def test_queries_equal_enumeration(seed):
    tables, _, _ = make(seed, "any", n_features=4)
    joint = oracle.full_joint(tables)
    joint /= joint.sum()
    np.testing.assert_allclose(
        joint_posterior(tables, [2, CLASS, 0], {}),
        joint.sum(axis=(1, 3)).transpose(1, 2, 0),
        atol=1e-12,
    )
    part = joint[:, :, 0, :]
    np.testing.assert_allclose(
        joint_posterior(tables, [3], {2: 0}), part.sum(axis=(0, 1, 3)) / part.sum(), atol=1e-12
    )
    part = joint[..., -1]
    np.testing.assert_allclose(
        joint_posterior(tables, [1, 0], {CLASS: tables.n_classes - 1}),
        part.sum(axis=(2, 3)).T / part.sum(),
        atol=1e-12,
    )


def star(n_children, n_classes=2, chain=False):
    """One feature with very many children, or a long chain."""
    parents = [()] + [((i,) if chain else (0,)) for i in range(n_children)]
    rng = np.random.default_rng(0)
    return (
        oracle.random_tables(rng, Structure(tuple(parents)), [3] * (n_children + 1), n_classes),
        rng,
    )


@pytest.mark.parametrize("chain", [False, True])
def test_nothing_underflows_with_many_features(chain):
    n = 10_000 if not _uncompiled() else 300
    tables, rng = star(n, chain=chain)
    codes = rng.integers(3, size=(n + 1, 1)).astype(np.uint8)
    codes[0] = 3
    parts = []
    for value in range(3):
        complete = codes.copy()
        complete[0] = value
        parts.append(log_joint(tables, complete)[0])
    expected = np.logaddexp.reduce(parts, axis=0)
    np.testing.assert_allclose(log_joint(tables, codes)[0], expected, rtol=1e-12)
    # the same row by elimination: give the forest one more, immoral, feature that is observed
    assert np.isfinite(expected).all()


def _uncompiled():
    import numba

    return bool(numba.config.DISABLE_JIT)


def test_elimination_does_not_underflow_either():
    n = 3000 if not _uncompiled() else 200
    rng = np.random.default_rng(1)
    parents = [(), ()] + [(0, 1)] * n
    tables = oracle.random_tables(rng, Structure(tuple(parents)), [2] * (n + 2), 2)
    codes = rng.integers(2, size=(n + 2, 1)).astype(np.uint8)
    codes[:2] = 2
    parts = []
    for a in range(2):
        for b in range(2):
            complete = codes.copy()
            complete[:2, 0] = a, b
            parts.append(log_joint(tables, complete)[0])
    np.testing.assert_allclose(
        log_joint(tables, codes)[0], np.logaddexp.reduce(parts, axis=0), rtol=1e-12
    )


@pytest.mark.parametrize("mode", ["sum", "max", "draw"])
def test_contradicting_evidence_beyond_the_range_of_a_double(mode):
    """Hundreds of children of two gaps say one thing, hundreds of children of one of the gaps the
    opposite.
    """
    n = 700 if not _uncompiled() else 150
    structure = Structure(((), (), *[(0, 1)] * n, *[(1,)] * n))
    layout = Layout(structure, np.full(2 * n + 2, 2), 2)
    log_theta = np.log(np.full(layout.size, 0.5))
    for i in range(2, 2 + n):  # joint children are improbable where the second gap is 0
        table = np.full(layout.shapes[i], 0.5)
        table[:, 0, 0], table[:, 0, 1] = 1e-4, 1 - 1e-4
        layout.table(log_theta, i)[...] = np.log(table)
    for i in range(2 + n, 2 + 2 * n):  # and the others where it is 1, a little more so
        table = np.full(layout.shapes[i], 0.5)
        table[1, 0], table[1, 1] = 0.9e-4, 1 - 0.9e-4
        layout.table(log_theta, i)[...] = np.log(table)
    tables = CPTs(layout, np.log([0.3, 0.7]), log_theta)
    codes = np.zeros((2 * n + 2, 1), np.uint8)
    codes[:2] = 2
    parts = {}
    for a in range(2):
        for b in range(2):
            complete = codes.copy()
            complete[:2, 0] = a, b
            parts[a, b] = log_joint(tables, complete)[0]
    if mode == "sum":
        np.testing.assert_allclose(
            log_joint(tables, codes)[0], np.logaddexp.reduce(list(parts.values())), rtol=1e-12
        )
    elif mode == "max":
        filled, chosen, value = most_probable(tables, codes)
        assert value[0] == pytest.approx(max(max(part) for part in parts.values()), rel=1e-12)
        assert parts[tuple(filled[:2, 0].tolist())][chosen[0]] == pytest.approx(value[0], rel=1e-12)
    else:
        filled, _ = draw(tables, np.repeat(codes, 50, axis=1), np.random.default_rng(0))
        assert (filled[1] == 0).all()  # the other value is improbable by many orders
        assert set(filled[0].tolist()) == {0, 1}


def dense(n=8):
    """Every feature depends on all earlier ones, and the last, observed one couples them all."""
    rng = np.random.default_rng(2)
    structure = Structure(tuple(tuple(range(i)) for i in range(n)))
    return oracle.random_tables(rng, structure, [3] * n, 2), rng


def test_a_factor_that_is_too_large_is_an_error_that_names_the_columns():
    tables, _ = dense()
    codes = np.full((8, 1), 3, np.uint8)
    codes[-1] = 0
    with pytest.raises(
        TooManyCellsError, match=r"6\.56e\+03 cells, .* over 7 columns.*max_cells=1,000"
    ) as error:
        log_joint(tables, codes, InferenceOptions(max_cells=1000))
    assert error.value.features == list(range(7))


@pytest.mark.filterwarnings("ignore::discbayes.EstimateWarning")
def test_draws_stand_in_for_large_factors_with_an_honest_error():
    tables, rng = dense(5)
    codes = np.full((5, 20), 3, np.uint8)
    codes[-1] = rng.integers(3, size=20)
    exact = posterior(log_joint(tables, codes), np.exp(tables.log_prior))
    relative = np.zeros((20, tables.n_classes))
    scores = log_joint(
        tables, codes, InferenceOptions(max_cells=10, beyond_max_cells=2000, seed=3), relative
    )
    estimate = posterior(scores, np.exp(tables.log_prior))
    error = posterior_error(estimate, relative)
    assert (error > 0).all()
    assert np.abs((estimate - exact) / error).max() < 4.5
    again = log_joint(
        tables, codes, InferenceOptions(max_cells=10, beyond_max_cells=2000, seed=3, n_jobs=2)
    )
    np.testing.assert_array_equal(posterior(again, np.exp(tables.log_prior)), estimate)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_no_bit(kind):
    tables, _, rng = make(9, kind, n_features=6)
    codes = (
        rng.random((6, 30_000 if not _uncompiled() else 200)) * (tables.cards[:, None] + 1)
    ).astype(np.uint8)
    codes = np.minimum(codes, tables.cards[:, None]).astype(np.uint8)
    one, two = (log_joint(tables, codes, InferenceOptions(n_jobs=jobs)) for jobs in (1, 2))
    np.testing.assert_array_equal(one, two)
