"""Problems on incomplete rows: value and gradient of every objective, structure and table."""

from __future__ import annotations

import pickle

import numba
import numpy as np
import pytest

import oracle
from coded import encoded, rows_of
from discbayes.network import Layout, Structure
from discbayes.objectives import ConditionalLikelihood, Margin, Slack
from discbayes.parameters.block_scores import BlockScores
from discbayes.parameters.log_scores import LogScores
from discbayes.parameters.parameterization import Numbers, Plain, Softmax
from discbayes.parameters.problem import Problem

UNCOMPILED = bool(numba.config.DISABLE_JIT)
CARDS = [2, 3, 1, 3, 2]
STRUCTURES = {
    "nb": Structure.naive(5),
    "tan": Structure(((), (0,), (1,), (1,), (3,))),
    "kdb2": Structure(((), (0,), (0, 1), (0, 1), (1, 3))),
}
OBJECTIVES = [
    ConditionalLikelihood(),
    Margin(0.5, eta=10.0, kappa=0.5),
    Slack(2.0, 1.5, eta=3.0, radius=0.5),
]


@pytest.mark.parametrize("n_classes", [2, 3, 13])
@pytest.mark.parametrize("kind", [Softmax, Plain], ids=["normalized", "plain"])
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
def test_value_and_gradient_of_incomplete_rows(objective, structure, kind, n_classes):
    if UNCOMPILED and n_classes == 13:
        pytest.skip("the same code as with three classes, which takes long without the compiler")
    rng = np.random.default_rng(n_classes)
    data = encoded(rng, CARDS, n_classes, 30, gaps=0.3, weighted=True)
    chain = kind(Layout(STRUCTURES[structure], data.cards, n_classes))
    problem = Problem(objective, LogScores(data, chain.layout, chain.normalized), chain)
    free = rng.normal(size=chain.size)
    value, gradient = problem.value_and_gradient(free)
    log_joint = oracle.log_joint(chain.tables(free), data.codes)
    exact = objective.value(log_joint, data.classes, data.weight) / data.weight.sum()
    assert value == pytest.approx(exact, rel=1e-11)
    for _ in range(3):
        way = rng.normal(size=free.size)
        sides = (problem.value(free + sign * 1e-5 * way) for sign in (1, -1))
        assert gradient @ way == pytest.approx(
            (next(sides) - next(sides)) / 2e-5, rel=1e-6, abs=1e-8
        )


def test_extreme_parameters_have_exact_gradients():
    """Entries of e^±300 beside each other, so that sums go by their logarithms."""
    rng = np.random.default_rng(5)
    data = encoded(rng, CARDS, 3, 40, gaps=0.4)
    chain = Plain(Layout(STRUCTURES["kdb2"], data.cards, 3))
    scores = LogScores(data, chain.layout, chain.normalized)
    problem = Problem(Slack(2.0, 1.0, eta=1e-3), scores, chain)
    free = rng.uniform(-300, 300, chain.size)
    value, gradient = problem.value_and_gradient(free)
    log_joint = oracle.log_joint(chain.tables(free), data.codes)
    assert value == pytest.approx(problem.objective.value(log_joint, data.classes) / 40, rel=1e-12)
    for k in range(0, free.size, 9):
        shift = 1e-4 * (np.arange(free.size) == k)
        rise = (problem.value(free + shift) - problem.value(free - shift)) / 2e-4
        assert gradient[k] == pytest.approx(rise, rel=1e-5, abs=1e-7)


def test_incomplete_rows_are_stored_by_components():
    rng = np.random.default_rng(1)
    data = encoded(rng, CARDS, 3, 60, gaps=0.2)
    layout = Layout(STRUCTURES["tan"], data.cards, 3)
    incomplete = BlockScores(data, layout, True)
    again = pickle.loads(pickle.dumps(incomplete))
    numbers = Numbers(rng.normal(size=3), rng.normal(size=layout.size))
    for one, two in zip(incomplete.chunks, again.chunks, strict=True):
        np.testing.assert_array_equal(
            incomplete.forward(incomplete.padded(numbers), one),
            again.forward(again.padded(numbers), two),
        )
    complete = BlockScores(rows_of(data, (data.codes < data.cards[:, None]).all(0)), layout, True)
    assert incomplete.nbytes > complete.nbytes


def test_without_missing_values_nothing_is_made_for_them(monkeypatch):
    """Kernels that only missing values need are not compiled without any."""

    def refuse(*_):
        raise AssertionError("components of complete rows")

    monkeypatch.setattr("discbayes.parameters.block_scores.ComponentSums", refuse)
    data = encoded(np.random.default_rng(0), CARDS, 2, 20)
    BlockScores(data, Layout(STRUCTURES["kdb2"], data.cards, 2), True)
