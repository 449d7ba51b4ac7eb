"""Projected gradients: known answers on boxes, balls and rows of tables, and the optimum that
L-BFGS finds.
"""

from __future__ import annotations

import numba
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from coded import encoded
from discbayes.kernels.projection import project_rows
from discbayes.network import Layout, Structure
from discbayes.optim import SOLVERS, lbfgs, projected_gradient
from discbayes.parameters.parameterization import Numbers, Softmax

UNCOMPILED = bool(numba.config.DISABLE_JIT)
MANY = 10_000


def quadratic(matrix, centre):
    """½ (x − centre)' matrix (x − centre)."""

    def function(x):
        slope = matrix @ (x - centre)
        return 0.5 * float((x - centre) @ slope), slope

    return function


def into_ball(x):
    return x / max(1.0, float(np.sqrt(x @ x)))


def into_box(x):
    return np.clip(x, 0.0, 1.0)


def rotated(rng, eigenvalues):
    basis, _ = np.linalg.qr(rng.normal(size=(len(eigenvalues), len(eigenvalues))))
    return basis @ np.diag(eigenvalues) @ basis.T


# ---- sets with known answers


def test_nearest_points_of_a_box_and_a_ball():
    centre = np.array([2.0, -1.0, 0.3])
    for project in (into_box, into_ball):
        found = projected_gradient(quadratic(np.eye(3), centre), project, np.zeros(3), MANY, 0.0)
        np.testing.assert_allclose(found.point, project(centre), atol=1e-12)
        assert found.converged


@pytest.mark.parametrize("condition", [1e2, 1e6, 1e10])
@pytest.mark.parametrize("seed", range(4))
def test_separate_numbers_of_very_different_curvature(seed, condition):
    rng = np.random.default_rng(seed)
    scales, centre = np.geomspace(1.0, condition, 20), rng.normal(size=20)
    function = quadratic(np.diag(scales), centre)
    found = projected_gradient(function, into_box, np.full(20, 0.5), MANY, 0.0)
    lowest = function(into_box(centre))[0]
    np.testing.assert_allclose(found.value, lowest, rtol=1e-11)
    assert found.n_iter < 1_000  # steps of the long inverse alone may need more than 10,000
    # what the value can still tell of each number
    off = np.sqrt(scales) * (found.point - into_box(centre))
    assert (off**2 <= 1e-10 * lowest).all()


@pytest.mark.parametrize("condition", [1e1, 1e4])
def test_rotated_quadratic_in_a_box(condition):
    rng = np.random.default_rng(1)
    function = quadratic(rotated(rng, np.geomspace(1.0, condition, 12)), 0.5 + rng.normal(size=12))
    found = projected_gradient(function, into_box, np.full(12, 0.5), MANY, 0.0)
    known = minimize(
        function, np.full(12, 0.5), jac=True, method="L-BFGS-B", bounds=[(0, 1)] * 12, tol=1e-14
    )
    np.testing.assert_allclose(found.value, known.fun, rtol=1e-9)
    assert (found.point >= 0).all()
    assert (found.point <= 1).all()


def test_rotated_quadratic_in_a_ball():
    rng = np.random.default_rng(2)
    matrix, centre = rotated(rng, np.geomspace(1.0, 1e4, 8)), 3 * rng.normal(size=8)
    found = projected_gradient(quadratic(matrix, centre), into_ball, np.zeros(8), MANY, 0.0)
    np.testing.assert_allclose(found.point @ found.point, 1, rtol=1e-12)
    # on the border the gradient points straight in
    slope = matrix @ (found.point - centre)
    np.testing.assert_allclose(
        slope, (slope @ found.point) * found.point, atol=1e-5 * np.abs(slope).max()
    )
    assert slope @ found.point < 0


def test_an_optimum_inside_is_the_free_one():
    matrix, centre = rotated(np.random.default_rng(3), np.geomspace(0.1, 100.0, 6)), np.full(6, 0.1)
    found = projected_gradient(quadratic(matrix, centre), into_ball, np.eye(6)[0], MANY, 0.0)
    np.testing.assert_allclose(found.point, centre, atol=1e-7)


def test_a_linear_function_takes_few_steps():
    weight = np.array([3.0, -2.0, 0.5])
    found = projected_gradient(
        lambda x: (float(weight @ x), weight), into_ball, np.zeros(3), MANY, 0.0
    )
    np.testing.assert_allclose(found.point, -weight / np.linalg.norm(weight), atol=1e-9)
    assert found.n_iter <= 5


# ---- conventions


def test_it_is_not_among_the_solvers_without_constraints():
    assert projected_gradient not in SOLVERS.values()


def test_it_asks_only_for_points_of_the_set():
    asked = []
    inner = quadratic(
        rotated(np.random.default_rng(4), np.geomspace(1.0, 1e3, 10)), np.linspace(-3, 3, 10)
    )

    def function(x):
        asked.append(x.copy())
        return inner(x)

    projected_gradient(function, into_box, np.full(10, 7.0), 200, 0.0)
    np.testing.assert_array_equal(asked[0], np.ones(10))
    assert all((x >= 0).all() and (x <= 1).all() for x in asked)


def test_callbacks_see_the_best_point_so_far():
    function = quadratic(
        rotated(np.random.default_rng(5), np.geomspace(1.0, 1e5, 15)), np.linspace(-1, 2, 15)
    )
    seen = []
    found = projected_gradient(
        function,
        into_box,
        np.zeros(15),
        300,
        0.0,
        lambda point, value: seen.append((point.copy(), value)),
    )
    values = [value for _, value in seen]
    assert len(seen) == found.n_iter
    assert (np.diff(values) <= 0).all()
    for point, value in seen:
        assert function(point)[0] == value
    np.testing.assert_array_equal(found.point, seen[-1][0])
    assert found.value == seen[-1][1]


def test_a_callback_ends_the_run():
    calls = []

    def callback(point, value):
        calls.append(value)
        return len(calls) == 3

    function = quadratic(np.diag(np.geomspace(1.0, 1e6, 9)), np.full(9, 0.5))
    found = projected_gradient(function, into_ball, np.zeros(9), MANY, 0.0, callback)
    assert len(calls) == found.n_iter == 3
    assert found.converged


@pytest.mark.parametrize("max_iter", [0, 1, 4])
def test_max_iter(max_iter):
    function = quadratic(np.diag(np.geomspace(1.0, 1e6, 9)), np.full(9, 0.5))
    found = projected_gradient(function, into_ball, np.full(9, 9.0), max_iter, 0.0)
    assert found.n_iter == max_iter
    assert not found.converged
    assert found.value == function(found.point)[0] <= function(np.full(9, 1 / 3))[0]


def test_looser_tolerances_end_sooner():
    function = quadratic(
        rotated(np.random.default_rng(6), np.geomspace(1.0, 1e6, 30)), np.linspace(-1, 2, 30)
    )
    found = [
        projected_gradient(function, into_box, np.zeros(30), MANY, tol)
        for tol in (1e-1, 1e-3, 1e-12)
    ]
    assert all(outcome.converged for outcome in found)
    assert found[0].n_iter < found[1].n_iter < found[2].n_iter
    assert found[0].value > found[1].value > found[2].value


def test_nothing_to_do():
    at_optimum = projected_gradient(
        quadratic(np.eye(2), np.full(2, 5.0)), into_box, np.ones(2), MANY, 0.0
    )
    np.testing.assert_array_equal(at_optimum.point, np.ones(2))
    assert (at_optimum.n_iter, at_optimum.converged) == (0, True)
    constant = projected_gradient(lambda x: (1.0, np.zeros(2)), into_box, np.zeros(2), MANY, 0.0)
    assert (constant.n_iter, constant.converged) == (0, True)
    empty = projected_gradient(lambda x: (0.0, x), into_box, np.empty(0), MANY, 0.0)
    assert (empty.n_iter, empty.converged) == (0, True)


def test_a_function_that_is_not_finite_everywhere_is_left_behind():
    def function(x):
        return (
            (float(-np.log(x).sum() + 10 * x.sum()), 10 - 1 / x)
            if (x > 0).all()
            else (np.inf, np.zeros(2))
        )

    found = projected_gradient(function, into_box, np.array([0.9, 1e-3]), MANY, 0.0)
    np.testing.assert_allclose(found.point, 0.1, rtol=1e-6)


# ---- rows of tables: problem (11) of P13


class MarginProblem:
    """−n·ω + λ Σ h(γ − log d) by dense one-hot features, the corner of h rounded by a circle."""

    def __init__(self, data, structure, lam, gamma, eta=10.0):
        self.layout = Layout(structure, data.cards, data.n_classes)
        self.lam, self.gamma, self.eta, self.radius = lam, gamma, eta, min(1.0, gamma)
        self.y, n_classes = data.y, data.n_classes
        self.features = np.zeros((data.n_samples, n_classes, n_classes + self.layout.size))
        for m, row in enumerate(data.codes.T):
            for c in range(n_classes):
                self.features[m, c, c] = 1
                for i, group in enumerate(structure.parents):
                    places = self.layout.table(np.arange(self.layout.size), i)
                    self.features[
                        m, c, n_classes + places[(*(row[p] for p in group), row[i], c)]
                    ] = 1
        sizes = np.array([n_classes, *np.diff(self.layout.offsets)])
        self.counts = self.features[np.arange(self.y.size), self.y].sum(axis=0) + 1.0 / np.repeat(
            sizes, sizes
        )

    def __call__(self, numbers):
        scores = self.features @ numbers
        rows = np.arange(self.y.size)
        own = scores[rows, self.y]
        rivals = self.eta * scores
        rivals[rows, self.y] = -np.inf
        rival = logsumexp(rivals, axis=1)
        slack = self.gamma - own + rival / self.eta
        corner = self.radius * (1 - np.sqrt(2))
        inner = np.clip(slack - corner, 0, self.radius / np.sqrt(2))
        root = np.sqrt(self.radius**2 - inner**2)
        line = slack - corner > self.radius / np.sqrt(2)
        pull = np.exp(rivals - rival[:, None])
        pull[rows, self.y] = -1.0
        pull *= (self.lam * np.where(line, 1.0, inner / root))[:, None]
        value = self.lam * np.where(line, slack, self.radius - root).sum() - self.counts @ numbers
        return float(value), np.tensordot(pull, self.features, 2) - self.counts

    def project(self, numbers):
        alone, layout, n_classes = (
            Layout.of_class(self.layout.n_classes),
            self.layout,
            self.layout.n_classes,
        )
        out = np.empty_like(numbers)
        project_rows(numbers[:n_classes], alone.offsets, alone.cards, 1, out[:n_classes])
        project_rows(numbers[n_classes:], layout.offsets, layout.cards, n_classes, out[n_classes:])
        return out

    @property
    def generative(self):
        n_classes = self.layout.n_classes
        prior, cells = self.counts[:n_classes], self.counts[n_classes:]
        return np.log(np.concatenate([prior / prior.sum(), cells / self.layout.row_totals(cells)]))

    def by_lbfgs(self):
        """The optimum among normalised tables."""
        softmax, n_classes = Softmax(self.layout), self.layout.n_classes

        def function(free):
            numbers = softmax.numbers(free)
            value, slope = self(np.concatenate(numbers))
            return value, softmax.pull_back(
                free, numbers, Numbers(slope[:n_classes], slope[n_classes:])
            )

        found = lbfgs(function, self.generative, MANY, 0.0)
        return found.value, np.concatenate(softmax.numbers(found.point))


def margin_problem(structure, lam, gamma):
    data = encoded(np.random.default_rng(7), [2, 3, 2], 3, 60, linked=True)
    return MarginProblem(data, structure, lam, gamma)


NB, TAN, NOT_C1 = Structure.naive(3), Structure(((), (0,), (1,))), Structure(((), (), (0, 1)))


def test_the_gradient_of_the_margin_problem():
    problem = margin_problem(TAN, 2.0, 1.0)
    rng = np.random.default_rng(8)
    at, along = (
        problem.generative + rng.normal(size=problem.counts.size),
        rng.normal(size=problem.counts.size),
    )
    slope = (problem(at + 1e-6 * along)[0] - problem(at - 1e-6 * along)[0]) / 2e-6
    np.testing.assert_allclose(problem(at)[1] @ along, slope, rtol=1e-6)


@pytest.mark.parametrize("structure", [NB, TAN, NOT_C1])
def test_without_margins_relative_frequencies_are_the_optimum(structure):
    problem = margin_problem(structure, 0.0, 1.0)
    found = projected_gradient(problem, problem.project, np.zeros(problem.counts.size), MANY, 0.0)
    np.testing.assert_allclose(np.exp(found.point), np.exp(problem.generative), atol=1e-8)


@pytest.mark.parametrize("structure", [NB, TAN])
@pytest.mark.parametrize(("lam", "gamma"), [(0.25, 1.0), (4.0, 1.0), (1.0, 5.0)])
def test_margins_have_the_same_optimum_as_among_normalised_tables(structure, lam, gamma):
    problem = margin_problem(structure, lam, gamma)
    found = projected_gradient(
        problem, problem.project, problem.generative, 2000 if UNCOMPILED else 20_000, 0.0
    )
    value, numbers = problem.by_lbfgs()
    assert found.value < problem(problem.generative)[0]
    np.testing.assert_allclose(found.value, value, rtol=1e-6)
    np.testing.assert_allclose(np.exp(found.point), np.exp(numbers), atol=1e-2)


def test_elsewhere_the_optimum_may_be_lower_than_any_normalised_one():
    problem = margin_problem(NOT_C1, 4.0, 1.0)
    found = projected_gradient(
        problem, problem.project, problem.generative, 2000 if UNCOMPILED else 20_000, 1e-12
    )
    assert found.value < problem.by_lbfgs()[0] * (1 - 1e-6)
