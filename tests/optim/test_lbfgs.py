"""L-BFGS: its direction by matrices, the scale of parameters, and when little gain ends a run."""

from __future__ import annotations

import numpy as np
import pytest

from discbayes.kernels import quasi_newton as kernels
from discbayes.optim import lbfgs


def inverse_by_matrices(first, steps, changes):
    """The inverse of the Hessian by the update of BFGS, from the oldest pair to the newest."""
    inverse = np.diag(first)
    for step, change in zip(steps, changes, strict=True):
        share = 1.0 / (step @ change)
        side = np.eye(step.size) - share * np.outer(step, change)
        inverse = side @ inverse @ side.T + share * np.outer(step, step)
    return inverse


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("n_pairs", [0, 1, 3, 4, 7])
def test_the_direction_is_that_of_the_matrices(n_pairs, scaled):
    """Of a memory of four pairs, of which the oldest are overwritten."""
    rng = np.random.default_rng(n_pairs)
    root = rng.normal(size=(6, 6))
    hessian = root @ root.T + np.eye(6)
    scale = rng.uniform(0.1, 10.0, 6) if scaled else np.zeros(0)
    first = scale if scaled else np.ones(6)
    given = rng.normal(size=(n_pairs, 6))
    steps, changes, products = np.zeros((4, 6)), np.zeros((4, 6)), np.zeros(4)
    for k, step in enumerate(given):
        steps[k % 4], changes[k % 4] = step, hessian @ step
        products[k % 4] = step @ hessian @ step
    size, newest = min(n_pairs, 4), (n_pairs - 1) % 4 if n_pairs else -1
    kept = given[n_pairs - size :]
    if size:
        change = hessian @ kept[-1]
        first = first * (kept[-1] @ change) / (first @ change**2)
    gradient, out = rng.normal(size=6), np.empty(6)
    kernels.downhill(gradient, steps, changes, products, newest, size, np.empty(4), scale, out)
    inverse = inverse_by_matrices(first, kept, kept @ hessian)
    np.testing.assert_allclose(out, -inverse @ gradient, rtol=1e-10)


def test_differences_and_limits():
    a, b = np.array([1.0, -5.0]), np.array([4.0, 2.0])
    out = np.empty(2)
    kernels.subtract(a, b, out)
    assert out.tolist() == [-3.0, -7.0]
    assert kernels.exceeds(a, 4.9)
    assert not kernels.exceeds(a, 5.0)
    assert not kernels.exceeds(np.zeros(0), 0.0)


def two_scales(x):
    """A steep parabola, and a flat one that lies far away: the first step sees the steep one."""
    weight, minimum = np.array([1e3, 1.0]), np.array([1e-3, 3.0])
    away = x - minimum
    return 0.5 * float(weight @ away**2), weight * away


def test_one_iteration_of_little_gain_is_no_end_for_the_patient():
    hasty = lbfgs(two_scales, np.zeros(2), 100, 1e-2)
    patient = lbfgs(two_scales, np.zeros(2), 100, 1e-2, patience=2)
    assert hasty.converged
    assert patient.converged
    assert hasty.value > 1.0
    assert patient.value < 1e-3
    assert patient.n_iter > hasty.n_iter


def test_the_right_curvature_leads_to_the_minimum_of_a_parabola_at_once():
    outcome = lbfgs(two_scales, np.zeros(2), 1, 0.0, curvature=np.array([1e3, 1.0]))
    assert outcome.value < 1e-20
