"""Importance sampling beyond the limit of exact inference: near enumeration, with honest errors."""

from __future__ import annotations

import warnings

import numba
import numpy as np
import pytest

import oracle
from discbayes.inference import EstimateWarning, sampling
from discbayes.inference.plans import network_plan
from discbayes.kernels import importance
from discbayes.kernels.elimination_plan import relevant_features
from discbayes.network import CPTs, Layout, Structure

UNCOMPILED = bool(numba.config.DISABLE_JIT)


def estimated(tables, codes, max_bucket, n_draws, seed=0, max_exact=0):
    """The log-joint of each row, its relative errors and numbers of effective draws."""
    plan = network_plan(tables)
    limits = np.array([max_bucket, max_exact], float)
    shape = (codes.shape[1], tables.n_classes)
    out = importance.Estimate(*(np.empty(shape) for _ in range(3)))
    for row in range(codes.shape[1]):
        x = np.where(tables.cards == 1, 0, codes[:, row]).astype(np.int64)
        missing = x >= tables.cards
        needed = relevant_features(missing, plan.layout, not tables.is_normalized)
        with np.errstate(over="ignore"):
            importance.estimate_row(
                x, missing, needed, plan.layout, plan.cpts, limits, n_draws, np.uint64(seed),
                importance.Estimate(*(array[row] for array in out)),
            )  # fmt: skip
    return out


def random_case(seed, normalized=True, zeros=False, n_features=6, n_classes=3):
    rng = np.random.default_rng(seed)
    cards = rng.integers(1, 4, n_features)
    structure = oracle.random_structure(rng, n_features)
    tables = oracle.random_tables(rng, structure, cards, n_classes, normalized, zeros)
    return tables, oracle.every_pattern(rng, cards)


@pytest.mark.parametrize("normalized, zeros", [(True, False), (True, True), (False, False)])
@pytest.mark.parametrize("seed", range(3))
def test_without_division_the_answer_is_exact(seed, normalized, zeros):
    tables, codes = random_case(seed, normalized, zeros)
    for limits in ({"max_bucket": 10_000}, {"max_bucket": 1, "max_exact": 100_000}):
        found = estimated(tables, codes, n_draws=1, **limits)
        np.testing.assert_allclose(
            found.log_joint, oracle.log_joint(tables, codes), rtol=0, atol=1e-10
        )
        assert (found.relative == 0).all()
        assert (found.effective == np.inf).all()


@pytest.mark.parametrize("normalized, zeros", [(True, False), (True, True), (False, False)])
def test_errors_are_honest(normalized, zeros):
    deviations = []
    for seed in range(1 if UNCOMPILED else 12):
        tables, codes = random_case(seed, normalized, zeros)
        exact = oracle.log_joint(tables, codes)
        found = estimated(tables, codes, max_bucket=4, n_draws=50 if UNCOMPILED else 400)
        known = np.isfinite(exact)
        assert np.isneginf(found.log_joint[~known]).all()
        # what no draw has found is not reliable
        assert (found.effective[known & np.isneginf(found.log_joint)] == 0).all()
        drawn = known & (found.relative > 0)
        ratio = np.expm1(exact[drawn] - found.log_joint[drawn])
        deviations.extend(np.abs(ratio) / found.relative[drawn])
        same = known & (found.effective == np.inf)
        np.testing.assert_allclose(found.log_joint[same], exact[same], atol=1e-10)
    assert len(deviations) > 50
    assert np.mean(np.array(deviations) > 3) <= 0.01


def test_estimates_converge():
    rng = np.random.default_rng(5)
    structure = Structure(((), (0,), (0, 1), (1, 2), (2, 3), (0, 4)))
    tables = oracle.random_tables(rng, structure, [3] * 6, 3, normalized=False)
    codes = oracle.every_pattern(rng, tables.cards)
    exact = oracle.log_joint(tables, codes)
    few, many = (estimated(tables, codes, 4, n) for n in (50, 100 if UNCOMPILED else 20_000))
    drawn = few.relative > 0.05
    assert drawn.mean() > 0.3
    if not UNCOMPILED:
        assert np.median(many.relative[drawn] / few.relative[drawn]) < 0.07  # √(1/400) = 0.05
        assert np.abs(many.log_joint - exact).max() < 0.05


def test_worked_example():
    """A circle of four features cannot be summed in pieces of two: P(x3 = 0 | c) by hand."""
    structure = Structure(((), (0,), (0,), (1, 2)))
    layout = Layout(structure, np.array([2, 2, 2, 2]), 1)
    same = np.array([[0.9, 0.1], [0.1, 0.9]])
    both = np.array([[[0.8, 0.2], [0.5, 0.5]], [[0.5, 0.5], [0.2, 0.8]]])
    theta = np.concatenate([[0.5, 0.5], same.ravel(), same.ravel(), both.ravel()])
    tables = CPTs(layout, np.zeros(1), np.log(theta))
    codes = np.array([[2], [2], [2], [0]], np.uint8)
    # x1 = x2 with probability 0.82, half of them 0; otherwise the last is even
    expected = 0.82 / 2 * (0.8 + 0.2) + 0.18 * 0.5
    found = estimated(tables, codes, max_bucket=2, n_draws=2000)
    assert found.relative[0, 0] > 0
    assert np.exp(found.log_joint[0, 0]) == pytest.approx(expected, rel=4 * found.relative[0, 0])


def test_tables_of_any_range():
    rng = np.random.default_rng(3)
    structure = oracle.random_structure(rng, 5)
    layout = Layout(structure, np.full(5, 3), 2)
    flat = layout.pool_columns(rng.uniform(-2000, 2000, layout.size), np.max)
    tables = CPTs(layout, np.zeros(2), flat)
    codes = np.full((5, 1), 3, np.uint8)
    exact = oracle.log_joint(tables, codes)
    found = estimated(tables, codes, max_bucket=9, n_draws=200)
    # the sum is that of its largest term, which the messages lead to
    np.testing.assert_allclose(found.log_joint, exact, rtol=0, atol=1e-6)


def rows_estimated(tables, codes, n_jobs=1, n_draws=100, max_cells=8):
    out = np.zeros((codes.shape[1], tables.n_classes))
    rows = np.arange(codes.shape[1])
    sampling.estimate_rows(tables, codes, rows, max_cells, n_draws, 0, n_jobs, out, None)
    return out


@pytest.mark.filterwarnings("ignore::discbayes.EstimateWarning")
def test_draws_depend_on_the_row_alone():
    tables, codes = random_case(1)
    together = rows_estimated(tables, codes)
    np.testing.assert_array_equal(rows_estimated(tables, codes, n_jobs=2), together)
    np.testing.assert_array_equal(rows_estimated(tables, codes[:, ::-1]), together[::-1])


def test_one_warning_names_the_rows():
    tables, codes = random_case(1)
    with pytest.warns(
        EstimateWarning, match=r"^64 rows would need more than max_cells=8 .* by"
    ) as w:
        rows_estimated(tables, codes, n_draws=None)
    assert len(w) == 1
    with pytest.warns(EstimateWarning, match=r"not reliable in \d+ rows \(fewer than 30 effective"):
        rows_estimated(tables, codes, n_draws=2)
    with warnings.catch_warnings():  # who asks for draws knows that these are estimates
        warnings.simplefilter("error")
        rows_estimated(tables, codes[:, :1], n_draws=100)
