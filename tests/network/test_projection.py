"""The projection of rows onto {ω : Σ exp ω ≤ 1}: against generic solvers, and by what makes a
projection one.
"""

from __future__ import annotations

from types import SimpleNamespace

import numba
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp, wrightomega

from discbayes.kernels.projection import project_rows
from discbayes.network import Layout, Structure

UNCOMPILED = bool(numba.config.DISABLE_JIT)
LENGTHS = range(1, 201, 40 if UNCOMPILED else 1)
N_CLASSES, N_PARENTS = 5, 2 if UNCOMPILED else 10
SCALES = [1e-9, 1e-4, 1e-2, 1.0, 10.0, 1e3, 1e6]
MANY = 1000 if UNCOMPILED else 10_000


def projected(row):
    """One row by itself."""
    row = np.asarray(row, dtype=float)
    out = np.full(row.size, np.nan)
    project_rows(row, np.array([0, row.size]), np.array([row.size]), 1, out)
    return out


def sums(rows):
    """Σ exp ω over the values, in plain order."""
    return np.cumsum(np.exp(rows), axis=-2)[..., -1, :]


def drawn_table(rng, length):
    """Rows around the border at many scales, some with ties, in the layout of a table."""
    shape = (N_PARENTS, length, N_CLASSES)
    scale = rng.choice(SCALES, size=(N_PARENTS, 1, N_CLASSES))
    table = np.log(
        rng.dirichlet(np.full(length, 0.5), size=(N_PARENTS, N_CLASSES)) + 1e-12
    ).transpose(0, 2, 1)
    table = table + scale * (
        rng.normal(size=shape) + rng.choice([-1.0, 0.0, 1.0], size=scale.shape)
    )
    table[0, length // 2 :] = table[0, :1]
    return table


@pytest.fixture(scope="module")
def drawn():
    """10,000 rows of length 1 to 200, as one layout of tables; before and after one call of the
    kernel.
    """
    rng = np.random.default_rng(0)
    tables = [drawn_table(rng, length) for length in LENGTHS]
    offsets = np.cumsum([0, *(table.size for table in tables)])
    flat = np.concatenate([table.ravel() for table in tables])
    before, out = flat.copy(), np.full(flat.size, np.nan)
    project_rows(flat, offsets, np.array(LENGTHS), N_CLASSES, out)
    np.testing.assert_array_equal(flat, before)
    after = [
        out[a:b].reshape(table.shape)
        for a, b, table in zip(offsets[:-1], offsets[1:], tables, strict=True)
    ]
    return SimpleNamespace(tables=tables, after=after, offsets=offsets, out=out)


def by_bisection(table):
    """ν by bisection on a bracket that is shown to be one, the numbers by the ω function of
    Wright.
    """
    total = logsumexp(table, axis=-2, keepdims=True)
    outside = total > 0
    low = np.log(np.where(outside, total, 1.0))
    high = low + np.log(table.shape[-2]) + 1e-9

    def numbers(log_nu):
        taken = wrightomega(log_nu + table)
        with np.errstate(divide="ignore"):
            return np.where(taken > 1, np.log(taken) - log_nu, table - taken)

    def total_at(log_nu):
        return np.exp(numbers(log_nu)).sum(axis=-2, keepdims=True)

    assert ((total_at(low) >= 1 - 1e-12) | ~outside).all()
    assert ((total_at(high) <= 1 + 1e-12) | ~outside).all()
    for _ in range(42):
        middle = (low + high) / 2
        above = total_at(middle) > 1
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.where(outside, numbers((low + high) / 2), table)


def test_equals_the_answer_by_bisection(drawn):
    assert UNCOMPILED or sum(table.shape[0] * N_CLASSES for table in drawn.tables) == 10_000
    for table, after in zip(drawn.tables, drawn.after, strict=True):
        np.testing.assert_allclose(after, by_bisection(table), rtol=0, atol=1e-11)


def test_never_leaves_the_set(drawn):
    for length, table, after in zip(LENGTHS, drawn.tables, drawn.after, strict=True):
        total = sums(after)
        assert (total <= 1 + 1e-15 * length).all()
        assert (after <= 0).all()
        outside = logsumexp(table, axis=-2) > 1e-12
        np.testing.assert_allclose(total[outside], 1, rtol=0, atol=1e-13)


def test_the_projection_of_a_projection_is_itself(drawn):
    again = np.full(drawn.out.size, np.nan)
    project_rows(drawn.out, drawn.offsets, np.array(LENGTHS), N_CLASSES, again)
    np.testing.assert_array_equal(again, drawn.out)


def test_rows_in_the_set_stay_bit_by_bit(drawn):
    n_inside = 0
    for table, after in zip(drawn.tables, drawn.after, strict=True):
        inside = (sums(np.minimum(table, 1.0)) <= 1)[..., None, :] & np.ones(table.shape, bool)
        np.testing.assert_array_equal(after[inside], table[inside])
        n_inside += inside.any(axis=-2).sum()
    assert n_inside > (0 if UNCOMPILED else 1000)


def test_no_other_point_of_the_set_is_nearer(drawn):
    rng = np.random.default_rng(1)
    for table, after in zip(drawn.tables, drawn.after, strict=True):
        others = [
            log_softmax(table, axis=-2),
            log_softmax(rng.normal(size=table.shape), axis=-2),
            log_softmax(after + 1e-3 * rng.normal(size=table.shape), axis=-2),
            after - rng.exponential(size=table.shape),
        ]
        size = np.sqrt(((table - after) ** 2).sum(axis=-2))
        for other in others:
            away = np.sqrt(((other - after) ** 2).sum(axis=-2))
            product = ((table - after) * (other - after)).sum(axis=-2)
            assert (product <= 1e-12 * (1 + size) * (1 + away)).all()
            further = np.sqrt(((table - other) ** 2).sum(axis=-2))
            assert (size <= further * (1 + 1e-12)).all()


def test_points_come_no_further_apart(drawn):
    for after, table in zip(drawn.after, drawn.tables, strict=True):
        before = np.sqrt(((table[0] - table[1]) ** 2).sum(axis=0))
        assert (
            np.sqrt(((after[0] - after[1]) ** 2).sum(axis=0)) <= before * (1 + 1e-12) + 1e-12
        ).all()


@pytest.mark.parametrize("seed", range(6))
def test_equals_a_solver_of_nonlinear_programs(seed):
    rng = np.random.default_rng(seed)
    row = rng.normal(size=int(rng.integers(2, 9))) * [0.3, 1.0, 3.0][seed % 3]
    found = minimize(
        lambda w: 0.5 * ((w - row) ** 2).sum(),
        log_softmax(row),
        jac=lambda w: w - row,
        method="SLSQP",
        constraints={
            "type": "ineq",
            "fun": lambda w: -logsumexp(w),
            "jac": lambda w: -np.exp(w - logsumexp(w)),
        },
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    np.testing.assert_allclose(projected(row), found.x, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "number", [-1e300, -1e3, -0.5, -0.0, 0.0, 1e-300, 0.5, 1e3, 1e300, -np.inf]
)
def test_a_single_number_goes_below_zero(number):
    assert projected([number]) == [min(number, 0.0)]


@pytest.mark.parametrize("number", [-1.0, 0.0, 1e-9, 0.5, 99.0, 101.0, 1e3, 1e9, 1e300])
def test_equal_numbers_stay_equal(number):
    np.testing.assert_allclose(projected([number] * 7), [min(number, -np.log(7))] * 7, rtol=1e-15)


@pytest.mark.parametrize(
    "row",
    [
        [1e3, -1e3],
        [1e3, 1e3, -1e3, 0.0],
        [2000.0, 1255.0, 709.0, -745.0],
        [100.0, 99.9, -100.0],
        [1e6, 1e6 - 1, 3.0],
        [1e-300, -745.0],
        [0.4, -800.0],
        [5e-324, -5e-324],
        [-1e308, 0.5, 0.4],
        [0.0, 0.0],
    ],
)
def test_far_numbers(row):
    found = projected(row)
    np.testing.assert_allclose(
        found, by_bisection(np.array(row)[:, None])[:, 0], rtol=1e-14, atol=1e-12
    )
    np.testing.assert_array_equal(projected(found), found)
    assert np.exp(found).sum() <= 1 + 1e-15 * len(row)


def test_numbers_near_the_end_of_the_range():
    found = projected([1e300, 0.5e300, -1e300])
    assert found[2] == -1e300
    np.testing.assert_allclose(np.exp(found).sum(), 1, rtol=1e-15)
    nu = 1e300 / np.exp(found[0])  # where x is so large, p itself is nothing
    np.testing.assert_allclose(nu * np.exp(found[1]), 0.5e300, rtol=1e-12)


def test_impossible_values_stay_so():
    np.testing.assert_array_equal(projected([-np.inf, -np.inf]), [-np.inf, -np.inf])
    np.testing.assert_array_equal(projected([-np.inf, 3.0, -np.inf]), [-np.inf, 0.0, -np.inf])
    found = projected([-np.inf, 3.0, 2.0, -np.inf])
    np.testing.assert_array_equal(found[[0, 3]], -np.inf)
    np.testing.assert_allclose(found[1:3], projected([3.0, 2.0]), rtol=1e-15)
    np.testing.assert_allclose(
        projected([-np.inf, 1e3, 2e3])[1:], projected([1e3, 2e3]), rtol=1e-15
    )


def test_not_a_number_does_not_spread():
    out = np.empty(4)
    project_rows(np.array([np.nan, 1.0, 1.0, 1.0]), np.array([0, 4]), np.array([2]), 1, out)
    assert np.isnan(out[:2]).any()
    np.testing.assert_allclose(out[2:], [-np.log(2)] * 2, rtol=1e-15)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 50.0])
def test_long_rows(scale):
    row = np.random.default_rng(2).normal(size=MANY) * scale - np.log(MANY)
    found = projected(row)
    np.testing.assert_allclose(found, by_bisection(row[:, None])[:, 0], rtol=0, atol=1e-11)
    np.testing.assert_array_equal(projected(found), found)
    assert np.cumsum(np.exp(found))[-1] <= 1 + 1e-15 * MANY


def test_rows_are_those_of_the_layout():
    layout = Layout(Structure(((), (0,), (0, 1), ())), np.array([2, 3, 4, 1]), 3)
    numbers = np.random.default_rng(3).normal(size=layout.size)
    out = np.full(layout.size, np.nan)
    project_rows(numbers, layout.offsets, layout.cards, layout.n_classes, out)
    for i in range(4):
        before, after = layout.table(numbers, i), layout.table(out, i)
        for at in np.ndindex(*before.shape[:-2], 3):
            np.testing.assert_array_equal(
                after[(*at[:-1], slice(None), at[-1])],
                projected(before[(*at[:-1], slice(None), at[-1])]),
            )


def test_the_class_is_one_row():
    alone = Layout.of_class(3)
    numbers, out = np.array([1.0, 0.0, -2.0]), np.empty(3)
    project_rows(numbers, alone.offsets, alone.cards, alone.n_classes, out)
    np.testing.assert_array_equal(out, projected(numbers))


def test_no_features():
    layout = Layout(Structure(()), np.empty(0, np.int64), 3)
    project_rows(np.empty(0), layout.offsets, layout.cards, 3, np.empty(0))
