"""Components of missing values: their sums and expected counts equal enumeration."""

from __future__ import annotations

import pickle
from itertools import pairwise, product

import numba
import numpy as np
import pytest

import oracle
from discbayes.inference import component_sums, log_joint
from discbayes.inference.component_sums import ComponentSums
from discbayes.network import CPTs, Layout, Structure

UNCOMPILED = bool(numba.config.DISABLE_JIT)
CARDS = [2, 3, 1, 2, 3][: 4 if UNCOMPILED else 5]


def made(codes, tables, normalized):
    names = [f"x{i}" for i in range(len(tables.cards))]
    return ComponentSums(codes, tables.layout, normalized, names)


def log_joint_of(sums, tables, codes):
    """The log-joint from the families without a missing value and the sums of components."""
    logs = np.empty((sums.n_cells, tables.n_classes))
    marginals = sums.log_sums(tables.log_theta, logs)
    found = np.tile(tables.log_prior, (codes.shape[1], 1))
    for m in range(codes.shape[1]):
        for i, parents in enumerate(tables.structure.parents):
            at = (*(codes[p, m] for p in parents), codes[i, m])
            if all(x < tables.cards[f] for x, f in zip(at, (*parents, i), strict=True)):
                found[m] += tables.log_table(i)[at]
        for k in sums.cells[sums.row_start[m] : sums.row_start[m + 1]]:
            found[m] += logs[k]
    return found, marginals


def counts_of_row(tables, row, every):
    """P(cell | observed values, c) of the families with a missing value that matter."""
    missing = row >= tables.cards
    needed = every | ~missing
    for i in reversed(tables.structure.order):
        if needed[i]:
            needed[list(tables.structure.parents[i])] = True
    counts, log_joint = np.zeros(tables.layout.size), oracle.full_log_joint(tables)
    values = [
        range(int(card)) if x >= card else [x] for x, card in zip(row, tables.cards, strict=True)
    ]
    chosen = np.stack([log_joint[state] for state in product(*values)])
    shares = np.exp(chosen - chosen.max(axis=0))
    shares /= shares.sum(axis=0)
    for state, share in zip(product(*values), shares, strict=True):
        for i, parents in enumerate(tables.structure.parents):
            if needed[i] and (missing[i] or missing[list(parents)].any()):
                tables.layout.table(counts, i)[(*(state[p] for p in parents), state[i])] += share
    return counts


def check(tables, codes, normalized, tolerance=1e-10):
    sums = made(codes, tables, normalized)
    found, marginals = log_joint_of(sums, tables, codes)
    np.testing.assert_allclose(
        found, oracle.log_joint(tables, codes), rtol=tolerance, atol=tolerance
    )
    for m in range(0, codes.shape[1], 7 if UNCOMPILED else 2):
        residual = np.zeros((sums.n_cells, tables.n_classes))
        residual[sums.cells[sums.row_start[m] : sums.row_start[m + 1]]] = 1.0
        counts = np.zeros(tables.layout.size)
        sums.add_expected_counts(marginals, residual, counts)
        expected = counts_of_row(tables, codes[:, m], not normalized).reshape(-1, tables.n_classes)
        # a class in which the row is impossible has no distribution
        possible = np.isfinite(found[m])
        np.testing.assert_allclose(
            counts.reshape(expected.shape)[:, possible],
            expected[:, possible],
            rtol=tolerance,
            atol=tolerance,
        )
    return marginals


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 5, 13])
def test_sums_and_counts_equal_enumeration_for_every_pattern(n_classes, normalized, zeros):
    rng = np.random.default_rng(n_classes)
    structure = oracle.random_structure(rng, len(CARDS))
    tables = oracle.random_tables(rng, structure, CARDS, n_classes, normalized, zeros)
    with np.errstate(divide="ignore", invalid="ignore"):
        check(tables, oracle.every_pattern(rng, CARDS), normalized)


@pytest.mark.parametrize("spread", [50.0, 400.0, 2000.0])
def test_numbers_of_any_range_are_marginalized(spread):
    """Unnormalized tables whose entries are up to e^±spread: sums that are too small for a double
    beside others go by their logarithms.
    """
    rng = np.random.default_rng(0)
    structure = oracle.random_structure(rng, len(CARDS))
    tables = oracle.random_tables(rng, structure, CARDS, 3, normalized=False)
    wide = CPTs(tables.layout, tables.log_prior, rng.uniform(-spread, spread, tables.layout.size))
    marginals = check(wide, oracle.every_pattern(rng, CARDS), False)
    assert (marginals.on_logs is not None) == (spread > 100)


def test_a_chain_that_underflows_without_logarithms():
    n = 12
    structure = Structure(((), *((0,) for _ in range(n - 1))))
    layout = Layout(structure, np.full(n, 2), 2)
    log_theta = np.random.default_rng(0).uniform(-101, -100, layout.size)
    # beside an entry of one, which is in no row
    for i in range(1, n):
        layout.table(log_theta, i)[:, 1] = 0.0
    codes = np.zeros((n, 1), np.uint8)
    codes[0] = 2
    tables = CPTs(layout, np.zeros(2), log_theta)
    sums = made(codes, tables, True)
    found, marginals = log_joint_of(sums, tables, codes)
    first = layout.table(log_theta, 0)
    rest = sum(layout.table(log_theta, i)[:, 0] for i in range(1, n))
    np.testing.assert_allclose(found[0], np.logaddexp(*(first + rest)), rtol=1e-13)
    assert marginals.marginals.in_logs.all()


def test_equal_components_are_one_cell_in_all_rows():
    structure = Structure(((), (0,), (1,), (), (3,)))
    layout = Layout(structure, np.array([3, 2, 2, 2, 3]), 2)
    codes = np.array([[3, 3, 0, 3], [1, 1, 2, 1], [0, 1, 1, 0], [2, 0, 2, 2], [1, 1, 1, 2]])
    sums = ComponentSums(codes.astype(np.uint8), layout, True, list("abcde"))
    of_rows = [sums.cells[a:b].tolist() for a, b in pairwise(sums.row_start)]
    # x0 beside x1 = 1, in three rows; x3 beside x4 = 1, in two; x1 beside x0 = 0 and x2 = 1
    assert of_rows == [[0, 1], [0], [2, 1], [0, 3]]
    assert sums.n_cells == 4


def test_missing_values_without_observed_descendants_are_left_out_of_normalized_tables():
    structure = Structure(((), (0,), (1,)))
    layout = Layout(structure, np.full(3, 2), 2)
    codes = np.array([[0, 0], [0, 2], [2, 2]], np.uint8)
    assert ComponentSums(codes, layout, True, list("abc")).n_cells == 0
    assert ComponentSums(codes, layout, False, list("abc")).n_cells == 2


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_parts_and_threads(monkeypatch, n_jobs):
    monkeypatch.setattr("discbayes.engine.threads.THREAD_WORK", 0)
    rng = np.random.default_rng(1)
    structure = oracle.random_structure(rng, len(CARDS))
    tables = oracle.random_tables(rng, structure, CARDS, 3)
    codes = oracle.every_pattern(rng, CARDS)
    one = made(codes, tables, True)
    monkeypatch.setattr(component_sums, "PART_WORK", 1.0)
    monkeypatch.setattr(component_sums, "CELL_WORK", 0.0)
    many = pickle.loads(pickle.dumps(made(codes, tables, True)))
    assert len(many._parts) == 8
    assert many.nbytes > 0
    results = []
    for sums in (one, many):
        logs, counts = np.empty((sums.n_cells, 3)), np.zeros(tables.layout.size)
        marginals = sums.log_sums(tables.log_theta, logs, n_jobs)
        sums.add_expected_counts(marginals, np.exp(logs), counts, n_jobs)
        results.append((logs, counts))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-13, atol=1e-15)


def test_plans_that_do_not_fit_at_first_are_written_later(monkeypatch):
    rng = np.random.default_rng(2)
    structure = oracle.random_structure(rng, len(CARDS))
    tables = oracle.random_tables(rng, structure, CARDS, 2)
    codes = oracle.every_pattern(rng, CARDS)
    one = made(codes, tables, True)
    monkeypatch.setattr(component_sums, "FIRST_PLANS", 1)
    two = made(codes, tables, True)
    np.testing.assert_array_equal(one._arrays.plans, two._arrays.plans)
    np.testing.assert_array_equal(one._arrays.plan_start, two._arrays.plan_start)


@pytest.mark.parametrize("n_features", [3, 40 if UNCOMPILED else 150])
def test_large_components_equal_the_log_joint_of_inference(n_features):
    """A tree whose features are nearly all missing, with more of them than enumeration can do."""
    rng = np.random.default_rng(n_features)
    parents = [(), *((int(rng.integers(0, i)),) for i in range(1, n_features))]
    cards = rng.integers(1, 4, n_features)
    tables = oracle.random_tables(rng, Structure(tuple(parents)), cards, 3)
    codes = (rng.random((n_features, 4)) * cards[:, None]).astype(np.uint8)
    codes = np.where(rng.random(codes.shape) < 0.8, cards[:, None], codes).astype(np.uint8)
    found, _ = log_joint_of(made(codes, tables, True), tables, codes)
    np.testing.assert_allclose(found, log_joint(tables, codes), rtol=1e-11)


def test_factors_within_another_are_multiplied_first():
    """Observed children of one parent meet a child of two: they are multiplied on their own."""
    structure = Structure(((), (), (0,), (0,), (0, 1), (1,)))
    layout = Layout(structure, np.full(6, 4), 2)
    codes = np.array([[4], [4], [0], [1], [2], [3]], np.uint8)
    sums = ComponentSums(codes, layout, True, list("abcdef"))
    plan = sums._arrays.plans
    assert plan[0] == 6
    # x0 and its children of one parent; their product with the child of two; x1 at the end
    cards, n_factors, at = [], [], 3 + 6
    while at < plan.size:
        cards.append(int(plan[at]))
        n_factors.append(int(plan[at + 1]))
        at += 5 + plan[at + 2] + plan[at + 1] * (plan[at + 2] + 2)
    assert cards == [1, 4, 4]
    assert n_factors == [3, 2, 3]


def test_no_rows_and_no_features():
    layout = Layout(Structure(()), np.empty(0, np.int64), 2)
    sums = ComponentSums(np.empty((0, 3), np.uint8), layout, True, [])
    assert (sums.n_cells, sums.work) == (0, 0.0)
