"""The quick ways of conditional likelihood: vectors of four, one pass over entries, coordinates of
even curvature.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import logsumexp
from test_gradient_learners import NB, STRUCTURES, TAN, UNCOMPILED, drawn, learned, parameterized

from coded import encoded
from discbayes.counts import count
from discbayes.kernels import curvature, entries
from discbayes.kernels._compile import kernel
from discbayes.kernels.exponential import exp_in_place, exp_single
from discbayes.kernels.likelihood_entries import ROWS, add_likelihood
from discbayes.kernels.objective_rows import likelihood_total
from discbayes.kernels.states import map_to_cells
from discbayes.network import Layout, Structure
from discbayes.objectives import ConditionalLikelihood, Margin
from discbayes.optim import lbfgs
from discbayes.parameters import DiscriminativeCCBN, ExtendedCCBN, WeightedCCBN, scaling
from discbayes.parameters.block_scores import BlockScores
from discbayes.parameters.log_scores import LogScores
from discbayes.parameters.problem import Problem

CLASSES = (1, 2, 3, 4, 5, 8, 9, 12, 26)


@kernel
def exponentials(x, power):
    exp_in_place(x, power)


def test_exponentials():
    drawn_at_random = -np.random.default_rng(0).exponential(20, 40 if UNCOMPILED else 9999)
    x = np.concatenate([[0.0, -1e-300, -0.5, -707.9], drawn_at_random])
    found = x.copy()
    exponentials(found, np.empty_like(x))
    exact = np.exp(x.astype(np.longdouble))  # NumPy's own doubles may be off by a bit
    assert np.abs(found / exact - 1).max() < 3e-16
    odd = np.array([-1e4, -np.inf, np.nan])
    with np.errstate(invalid="ignore", over="ignore"):
        exponentials(odd, np.empty(3))
    assert (odd[:2] < 1e-300).all()
    assert np.isnan(odd[2])


@kernel
def single_exponentials(x, power):
    exp_single(x, power)


def test_exponentials_in_single_precision():
    x = np.linspace(-87.0, 80.0, 101 if UNCOMPILED else 9999, dtype=np.float32)
    found = x.copy()
    single_exponentials(found, np.empty_like(x))
    assert np.abs(found / np.exp(x.astype(float)) - 1).max() < 3e-7
    low = np.array([-1e4, -88.0], np.float32)
    single_exponentials(low, np.empty_like(low))
    assert (low < 1e-37).all()


def rows_of_entries(rng, n_rows, n_cells, n_classes):
    """Lists of entries, empty ones too, a base and a table; and which cells each row is in."""
    inside = rng.random((n_rows, n_cells)) < 0.4
    inside[::7] = False
    starts = np.concatenate([[0], np.cumsum(inside.sum(axis=1))])
    width = entries.padded_width(n_classes)
    base, table = np.zeros(width), np.zeros((n_cells, width))
    base[:n_classes], table[:, :n_classes] = (
        rng.normal(size=n_classes),
        rng.normal(size=(n_cells, n_classes)),
    )
    return np.nonzero(inside)[1].astype(np.uint32), starts, base, table, inside.astype(float)


@pytest.mark.parametrize("n_classes", CLASSES)
def test_entries_forth_and_back(n_classes):
    rng = np.random.default_rng(n_classes)
    listed, starts, base, table, inside = rows_of_entries(rng, 20, 9, n_classes)
    out = np.empty((15, base.size))
    entries.add_up(listed, starts, 5, base, table.ravel(), out)
    np.testing.assert_allclose(out, base + inside[5:] @ table, rtol=1e-12, atol=1e-12)
    total, sums = np.zeros(n_classes), np.ones(table.size)
    entries.hand_back(listed, starts, 5, out, total, sums)
    np.testing.assert_allclose(total, out[:, :n_classes].sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(sums, 1 + (inside[5:].T @ out).ravel(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("width", [2, 4])
def test_numbers_of_some_classes_of_some_cells(width):
    """Differences from the usual cells by loops over a whole table; the gradient is adjoint."""
    rng = np.random.default_rng(width)
    bounds, usual = np.array([0, 3, 5, 9]), np.array([1, 4, 5])
    listed = [np.flatnonzero(rng.random((b - a) * width) < 0.6) + a * width
              for a, b in pairwise(bounds)]  # fmt: skip
    places = np.concatenate(listed)
    start = np.cumsum([0, *map(len, listed)])
    source = rng.permutation(places.size)
    own = rng.normal(size=places.size)
    whole = np.zeros(bounds[-1] * width)
    whole[places] = own[source]
    whole = whole.reshape(-1, width)
    expected = np.concatenate([whole[a:b] - whole[u] for (a, b), u in zip(
        pairwise(bounds), usual, strict=True)]).ravel()  # fmt: skip
    lists = (start, places, places % width, source, usual, width)
    base, out = np.zeros(width), np.zeros(whole.size)
    entries.own_differences(own, *lists, base, out)
    np.testing.assert_allclose(base, whole[usual].sum(axis=0))
    np.testing.assert_allclose(out[places], expected[places])

    total, sums, gradient = rng.normal(size=width), np.zeros(whole.size), np.zeros(own.size)
    sums[places] = rng.normal(size=places.size)
    entries.complete_own(sums, total, *lists, gradient)
    np.testing.assert_allclose(gradient @ own, total @ base + sums @ out)


def test_cells_of_rows():
    """The position of each cell, by the definition of its number."""
    rng = np.random.default_rng(0)
    cards, n_rows = np.array([2, 3, 2]), 20
    codes = np.array([rng.integers(0, n, n_rows) for n in cards], np.uint8)
    parents, strides = [(), (0,), (0, 1)], [(), (3,), (6, 2)]
    sizes = [2, 6, 12]
    start = np.cumsum([0, *sizes])[:-1]
    position = rng.permutation(sum(sizes))
    out = np.empty(codes.shape, np.uint32)
    map_to_cells(codes, codes, np.array([0, 0, 1, 3]), np.array([0, 0, 1]), np.array([3, 6, 2]),
                 start, position, out)  # fmt: skip
    for i, m in np.ndindex(out.shape):
        cell = int(codes[i, m]) + sum(
            int(codes[p, m]) * k for p, k in zip(parents[i], strides[i], strict=True)
        )
        assert out[i, m] == position[start[i] + cell]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", CLASSES)
def test_one_pass_is_forth_objective_and_back(n_classes, weighted):
    rng = np.random.default_rng(n_classes)
    n_rows = 40 if UNCOMPILED else 2 * ROWS + 70
    listed, starts, base, table, inside = rows_of_entries(rng, n_rows, 9, n_classes)
    y = rng.integers(0, n_classes, n_rows).astype(np.int32)
    weight = rng.choice([0.0, 1.0, 1.5, 3.0], n_rows) if weighted else np.ones(n_rows)
    total, sums = np.zeros(n_classes), np.zeros(table.size)
    first = 3
    value = add_likelihood(
        listed, starts, first, n_rows, y, weight, base, table.ravel(), total, sums
    )
    scores = (base + inside @ table)[:, :n_classes]
    log_posterior = scores - logsumexp(scores, axis=1, keepdims=True)
    own = np.arange(n_classes) == y[:, None]
    used = np.arange(n_rows) >= first
    residual = (own - np.exp(log_posterior)) * (weight * used)[:, None]
    assert value == pytest.approx((log_posterior[own] * weight * used).sum(), rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(total, residual.sum(axis=0), rtol=1e-9, atol=1e-11)
    found = sums.reshape(table.shape)
    np.testing.assert_allclose(found[:, :n_classes], inside.T @ residual, rtol=1e-9, atol=1e-11)
    assert not found[:, n_classes:].any()


def test_the_gradient_may_take_the_place_of_the_log_joint():
    rng = np.random.default_rng(0)
    for n_classes in (2, 3):
        scores, y = rng.normal(size=(70, 4)), rng.integers(0, n_classes, 70).astype(np.int32)
        gradient = np.zeros_like(scores)
        value = likelihood_total(scores.copy(), n_classes, y, np.ones(70), gradient)
        before = scores[:, n_classes:].copy()
        assert likelihood_total(scores, n_classes, y, np.ones(70), scores) == value
        assert (scores[:, :n_classes] == gradient[:, :n_classes]).all()
        assert (scores[:, n_classes:] == before).all()


def test_rows_that_are_impossible_are_left_to_the_careful_way():
    """A log-joint with −inf, in some classes or in all of them, counts as the objective says."""
    data = drawn(0, 60)
    layout = Layout(NB, data.cards, 3)
    rows = LogScores(data, layout, False)
    scores = BlockScores(data, layout, False)
    rng = np.random.default_rng(1)
    parameterization = parameterized("d", data, NB)
    free = rng.normal(size=parameterization.size)
    free[3:6] = [-np.inf, 0.0, 0.0]  # a cell of the first feature
    free[9:12] = -np.inf
    with np.errstate(invalid="ignore"):
        value = Problem(ConditionalLikelihood(), rows, parameterization).value_and_gradient(free)[0]
        log_joint = np.concatenate(
            [
                scores.forward(scores.padded(parameterization.numbers(free)), block)
                for block in scores.chunks
            ]
        )
    assert value * 60 == pytest.approx(
        ConditionalLikelihood().value(log_joint, scores.y), nan_ok=True
    )


# ---- coordinates


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_weights_of_pairs_of_cells(structure, gaps):
    """Against the outer products of which cells each row is in."""
    data = drawn(2, 12 if UNCOMPILED else 80, weighted=True, gaps=gaps)
    layout = Layout(STRUCTURES[structure], data.cards, 3)
    scores = LogScores(data, layout, False)
    inside = np.zeros((data.n_samples, 1 + layout.size // 3))
    inside[:, 0] = 1
    for m, row in enumerate(data.codes.T):
        for i, parents in enumerate(layout.structure.parents):
            family = [*parents, i]
            if (row[family] < data.cards[family]).all():
                cell = np.ravel_multi_index(tuple(row[family]), layout.shapes[i][:-1])
                inside[m, 1 + layout.offsets[i] // 3 + cell] = 1
    expected = inside.T @ (inside * data.weight[:, None])
    np.testing.assert_allclose(scores.pair_weights(1), expected, rtol=1e-12, atol=1e-10)
    assert (scores.pair_weights(2) == scores.pair_weights(None)).all()


@pytest.mark.parametrize("n", [1, 2, 5, 12 if UNCOMPILED else 70])
def test_factors_and_their_equations(n):
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n))
    matrix = root @ root.T + np.eye(n)
    factor = np.triu(matrix)
    assert curvature.factorize(factor)
    upper = np.triu(factor)
    np.testing.assert_allclose(upper.T @ upper, matrix, rtol=1e-10, atol=1e-10)
    assert (np.tril(factor) == upper.T).all()
    columns = rng.normal(size=(n, 8))
    for solve, left in ((curvature.solve_upper, upper), (curvature.solve_lower, upper.T)):
        found = columns.copy()
        solve(factor, found)
        np.testing.assert_allclose(left @ found, columns, rtol=1e-9, atol=1e-9)
    assert not curvature.factorize(np.diag(np.r_[np.ones(n - 1), -1.0]))


def fitted(data, structure, learner, n_jobs=None):
    fit = learner._fit(learner._settings()[0][0], data, count(data), structure, n_jobs)
    return fit.problem, fit.start


@pytest.fixture
def eager(monkeypatch):
    """Scaled coordinates wherever they exist, also where they do not pay."""
    monkeypatch.setattr(scaling, "_worthwhile", lambda *_: True)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_factor_is_that_of_the_curvature_at_equal_posteriors(n_classes):
    """Against differences of the gradient around zero; there, classes differ by the matrix of one
    class.
    """
    data = drawn(4, 30, n_classes=n_classes, weighted=True)
    problem, start = fitted(data, NB, DiscriminativeCCBN(penalty=0.7))
    own = problem.parameterization.own
    factor = np.triu(scaling._factor(problem, own, problem.penalty))
    for at in range(0, own.cells.size, 4 if UNCOMPILED else 1):
        step = 1e-4 * (np.arange(start.size) == own.free[at, 0])
        change = ((problem.loss(step)[1] - problem.loss(-step)[1]) / 2e-4)[own.free]
        found = change[:, 0] - (change[:, 1] if n_classes > 2 else 0.0)
        np.testing.assert_allclose(found, (factor.T @ factor)[at], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("towards", ["zero", "generative"])
@pytest.mark.parametrize("structure", ["nb", "tan", "tied"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scaled_and_plain_ways_end_at_the_same_point(n_classes, structure, towards, eager):
    data = drawn(
        5,
        25 if UNCOMPILED else 200,
        n_classes=n_classes,
        gaps=0.0 if UNCOMPILED else 0.1,
        weighted=True,
    )
    problem, start = fitted(
        data, STRUCTURES[structure], DiscriminativeCCBN(penalty=2.0, towards=towards)
    )
    plain = lbfgs(problem.loss, start, 1000, 1e-15)
    values = []
    scaled = scaling.minimize(
        problem, start, 1000, 1e-15, lambda point, value: values.append((point, value))
    )
    assert scaled.value == pytest.approx(plain.value, rel=1e-9)
    apart = scaled.point - plain.point
    # what is added to all classes alike cancels, and is not penalised
    if towards == "zero" and n_classes > 2:
        apart[:n_classes] -= apart[:n_classes].mean()
    np.testing.assert_allclose(apart, 0.0, atol=1e-4)
    assert (len(values), scaled.converged) == (scaled.n_iter, True)
    for point, value in values:
        assert problem.loss(point)[0] == pytest.approx(value, rel=1e-12)
    assert (np.diff([value for _, value in values]) <= 0).all()
    assert (values[-1][0] == scaled.point).all()


def test_the_number_of_threads_changes_no_bit(eager):
    data = encoded(np.random.default_rng(6), [3, 4, 2], 3, 60 if UNCOMPILED else 9000, linked=True)
    learner = DiscriminativeCCBN(penalty=1.0, tol=1e-8)
    points = [
        scaling.minimize(*fitted(data, Structure.naive(3), learner, n), 30, 1e-8).point
        for n in (1, 2, None)
    ]
    assert all((points[0] == point).all() for point in points[1:])


def test_a_callback_ends_the_run(eager):
    problem, start = fitted(drawn(5, 40), NB, DiscriminativeCCBN(penalty=1.0))
    outcome = scaling.minimize(problem, start, 100, 0.0, lambda *_: True)
    assert (outcome.n_iter, outcome.converged) == (1, True)


@pytest.mark.parametrize("objective", [ConditionalLikelihood(), Margin()], ids=repr)
@pytest.mark.parametrize(
    "learner",
    [DiscriminativeCCBN(), ExtendedCCBN(penalty=1.0), WeightedCCBN(penalty=1.0)],
    ids=repr,
)
def test_where_there_are_no_such_coordinates_the_way_is_the_plain_one(learner, objective):
    problem, start = fitted(drawn(7, 30), NB, learner)
    problem = replace(problem, objective=objective)
    plain, same = lbfgs(problem.loss, start, 5, 0.0), scaling.minimize(problem, start, 5, 0.0)
    assert (plain.point == same.point).all()


def test_rare_classes_and_many_cells_are_left_to_the_plain_way(monkeypatch):
    def worthwhile(data, n_features, **options):
        problem, _ = fitted(
            data, Structure.naive(n_features), DiscriminativeCCBN(penalty=1.0, **options)
        )
        return scaling._worthwhile(problem, problem.parameterization.own, problem.penalty)

    rng = np.random.default_rng(8)
    data = encoded(rng, [2, 3], 3, 600)
    assert worthwhile(data, 2)
    often = data.take((data.classes != 2) | (np.arange(600) < 20))
    assert not worthwhile(often, 2)
    assert worthwhile(encoded(rng, [2, 3], 2, 600), 2)
    assert not worthwhile(encoded(rng, [9] * 40, 3, 300), 40)
    monkeypatch.setattr(scaling, "MAX_CELLS", 5)
    assert not worthwhile(data, 2)


def test_ways_that_end_early_are_the_plain_ones(eager):
    """Cross tuning counts iterations, so that these have to be those of the papers."""
    data = drawn(9, 30 if UNCOMPILED else 80)
    options = {"penalty": 1.0, "stopping": "cross-tuning", "n_folds": 2, "max_iter": 10}
    auto, plain = (
        learned(data, TAN, DiscriminativeCCBN(solver=s, **options))[0] for s in ("auto", "lbfgs")
    )
    assert (auto.log_theta == plain.log_theta).all()
