"""Conjugate gradients: one poor iteration is no convergence; what the line search accepts, and when
it gives up.
"""

from __future__ import annotations

import numba
import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from discbayes import load_dataset
from discbayes.counts import count
from discbayes.data import FrameEncoder
from discbayes.engine import Context
from discbayes.inference import log_joint
from discbayes.objectives import Margin
from discbayes.optim import conjugate_gradient, lbfgs
from discbayes.optim.line import Evaluation, search_line
from discbayes.parameters import MaxMargin
from discbayes.search import SpanningTree

UNCOMPILED = bool(numba.config.DISABLE_JIT)


def badly_scaled_logistic(seed):
    """Mean logistic loss of columns whose scales differ by 100, with a small ridge."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 12)) * 10.0 ** np.linspace(0, -2, 12)
    y = np.where(rng.random(80) < expit(3 * X @ rng.normal(size=12)), 1, -1)

    def loss(w):
        z = y * (X @ w)
        gradient = -X.T @ (y * expit(-z)) / 80 + 1e-5 * w
        return np.mean(np.logaddexp(0, -z)) + 0.5e-5 * w @ w, gradient

    return loss


@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("seed", range(3))
def test_a_badly_scaled_problem_is_solved_before_it_is_called_so(seed, tol):
    loss = badly_scaled_logistic(seed)
    best = minimize(loss, np.zeros(12), jac=True, method="BFGS", options={"gtol": 1e-10}).fun
    outcome = conjugate_gradient(loss, np.zeros(12), 1000, tol)
    assert outcome.converged
    assert best - 1e-10 <= outcome.value <= best + 5 * tol


@pytest.mark.parametrize(("n", "tol"), [(4, 1e-4), (10, 1e-4), (20, 1e-4), (20, 1e-6)])
def test_a_curved_valley_is_followed_to_its_end(n, tol):
    start = np.tile([-1.2, 1.0], n // 2)
    outcome = conjugate_gradient(lambda x: (rosen(x), rosen_der(x)), start, 1000, tol)
    assert outcome.converged
    assert outcome.value < 10 * tol


def test_what_has_not_converged_says_so():
    loss = badly_scaled_logistic(0)
    needed = conjugate_gradient(loss, np.zeros(12), 1000, 1e-6).n_iter
    assert needed > 20
    assert not conjugate_gradient(loss, np.zeros(12), needed - 1, 1e-6).converged
    assert conjugate_gradient(loss, np.zeros(12), needed, 1e-6).converged


@pytest.mark.parametrize("first", [1e-3, 1.9, 50.0])
def test_a_strong_search_does_not_stop_far_beyond_the_minimum(first):
    """On a parabola from 1 to its minimum at 0; a step of 1.9 leads to −0.9, which is lower but as
    steep.
    """
    here = Evaluation.at(lambda x: (0.5 * float(x @ x), x), np.ones(1))
    there = search_line(
        lambda x: (0.5 * float(x @ x), x), here, -here.gradient, first, 0.1, strong=True
    )
    assert there is not None
    assert abs(there.gradient[0]) <= 0.1


@pytest.mark.parametrize("solver", [conjugate_gradient, lbfgs])
def test_a_line_search_goes_on_until_rounding_hides_the_descent(solver):
    """The only way down is some 1e-10 long at first."""
    scale = np.array([1e12, 1.0])
    outcome = solver(
        lambda x: (0.5 * float(scale @ x**2), scale * x), np.array([1e-10, 1.0]), 1000, 0.0
    )
    assert outcome.converged
    assert outcome.value < 1e-15


@pytest.mark.parametrize("solver", [conjugate_gradient, lbfgs])
def test_where_no_step_leads_down_a_solver_ends(solver):
    """The gradient says that there is a way down, and the values say that there is none."""
    outcome = solver(lambda x: (float(np.any(x)), np.ones(2)), np.zeros(2), 10, 0.0)
    assert (outcome.n_iter, outcome.value, outcome.converged) == (0, 0.0, True)


@pytest.mark.skipif(UNCOMPILED, reason="takes thousands of passes over the data")
def test_margins_of_waveform_are_not_called_converged_on_the_way(data_folder):
    """A single iteration with a gain of 1e-9 ended this fit without a word, 0.02 below the
    maximum.
    """
    waveform = load_dataset("waveform-21")
    data = FrameEncoder("mdlp").fit_transform(waveform.X, waveform.y)
    counts = count(data)
    structure = SpanningTree().learn(data, counts, Context())

    def reached(**settings):
        tables = MaxMargin(0.1, **settings).learn(data, counts, structure, Context())
        return Margin(0.1, 10.0, 0.5).value(log_joint(tables, data.codes), data.y) / data.n_samples

    with pytest.warns(ConvergenceWarning, match="max_iter=1200"):
        # how far 400 iterations come depends on rounding, and so on the processor
        value = reached(solver="cg", tol=1e-8, max_iter=1200)
    assert value > reached(solver="lbfgs") - 0.003
