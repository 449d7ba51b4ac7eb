"""Gains on rows with gaps: by beliefs, by inference for every candidate, and from scratch."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from coded import encoded
from discbayes.counts import count
from discbayes.engine import Context
from discbayes.inference import log_joint
from discbayes.network import CPTs, Layout, Structure
from discbayes.objectives import Margin
from discbayes.parameters import MaximumAPosteriori
from discbayes.scores.sample import SampleScore
from discbayes.scoring import incomplete_rows
from discbayes.scoring.candidates import Candidates, SearchCost
from discbayes.scoring.counting_scorer import CountingScorer
from discbayes.scoring.incomplete_rows import IncompleteScanOrder
from discbayes.search import GreedyEdges, OrderBased
from slow_search import SlowScore, with_family

SCORES = {"cr": "cr", "cl": "cl", "mm": Margin(0.3)}
EVALUATIONS = ["resubstitution", 3, "loo"]
CARDS = (3, 2, 4, 3, 2, 3, 1, 2)
# a chain that forks, another one, a constant, and one alone
CHAINS = ((), (0,), (1,), (1,), (), (4,), (), ())
TASKS = [
    Candidates(0, np.array([4, 5, 7])),
    Candidates(4, np.array([0, 1, 2, 3, 7])),
    Candidates(7, np.array([0, 1, 2, 3, 4, 5])),
]


def sample(seed, n_rows=60, n_classes=3, gaps=0.3, cards=CARDS, **options):
    data = encoded(
        np.random.default_rng(seed),
        list(cards),
        n_classes,
        n_rows,
        linked=True,
        gaps=gaps,
        **options,
    )
    data.codes[:, :2] = data.cards[:, None]  # rows of which nothing is known
    return data


def scored(data, name, evaluation, parents=CHAINS, parameters="ml", n_jobs=None):
    score = SampleScore(SCORES[name], evaluation, parameters).checked()
    return CountingScorer(data, score, Structure(tuple(parents)), np.random.default_rng(0), n_jobs)


def gains_of(network, tasks=TASKS, bound=-np.inf):
    """The gains, and that they come from the scan order."""
    network._forget_scans()
    found = network._scan_batch(tasks, bound)
    assert isinstance(network._incomplete_order, IncompleteScanOrder)
    return found


def gains_by_inference(network, tasks=TASKS):
    network._forget_scans()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IncompleteScanOrder, "is_possible", lambda *_: False)
        found = network._scan_batch(tasks, -np.inf)
        assert network._incomplete_order is None
    return found


def check(network, data=None, tasks=TASKS, tolerance=1e-9):
    """Against inference; with data also from scratch."""
    fast, slow = gains_of(network, tasks), gains_by_inference(network, tasks)
    for (gains, exact), (expected, _) in zip(fast, slow, strict=True):
        assert exact.all()
        np.testing.assert_allclose(gains, expected, rtol=0, atol=tolerance)
    if data is not None:
        scratch = SlowScore(
            data, network.score.objective, network.score.evaluation, 0, network.score.parameters
        )
        parents = network.structure.parents
        for task, (gains, _) in zip(tasks, fast, strict=True):
            values = [
                scratch(with_family(list(parents), task.child, (int(p),))) for p in task.parents
            ]
            np.testing.assert_allclose(gains, np.array(values) - scratch(parents), atol=1e-7)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("evaluation", EVALUATIONS)
@pytest.mark.parametrize("name", SCORES)
def test_gains(name, evaluation, weighted):
    data = sample(0, weighted=weighted)
    check(scored(data, name, evaluation), data)


@pytest.mark.parametrize("evaluation", EVALUATIONS)
@pytest.mark.parametrize("name", SCORES)
def test_gains_where_a_weight_is_subnormal(name, evaluation):
    """Its share of a row of a table is below the range of a double: it counts as a zero does, not
    as impossible.

    Where weights are taken away again, what is left of it is rounding, which learning from scratch
    does not know.
    """
    data = sample(3)
    weight = np.where(np.arange(data.y.size) == 5, 5e-324, 1.0)
    data = replace(data, weight=weight)
    check(scored(data, name, evaluation), data if evaluation == "resubstitution" else None)


@pytest.mark.parametrize("name, evaluation", list(product(SCORES, EVALUATIONS)))
def test_a_column_that_is_missing_everywhere(name, evaluation):
    for column in (0, 1, 7):
        data = sample(1, n_rows=20)
        data.codes[column] = data.cards[column]
        check(scored(data, name, evaluation), data)


@pytest.mark.parametrize("n_classes", [1, 2, 5])
@pytest.mark.parametrize("name", SCORES)
def test_any_number_of_classes(name, n_classes):
    for evaluation in EVALUATIONS:
        check(scored(sample(2, n_rows=400, n_classes=n_classes), name, evaluation))


@pytest.mark.parametrize("name", SCORES)
def test_other_smoothing_and_threads(name):
    data = sample(3, n_rows=1500, weighted=True)
    for parameters, evaluation in [
        (MaximumAPosteriori("ess", 2.0), "loo"),
        (MaximumAPosteriori("m", 1e-3), 4),
    ]:
        network = scored(data, name, evaluation, parameters=parameters, n_jobs=2)
        check(network)
        one, two = (
            gains_of(scored(data, name, evaluation, parameters=parameters)),
            gains_of(network),
        )
        for (a, _), (b, _) in zip(one, two, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name, evaluation", list(product(SCORES, EVALUATIONS)))
def test_a_bound_changes_nothing_above_it(name, evaluation):
    network = scored(sample(4, n_rows=500, gaps=0.15), name, evaluation)
    free = gains_of(network)
    every = np.concatenate([gains for gains, _ in free])
    for bound in np.quantile(every, [0.3, 0.7, 0.95]) - 1e-7:
        for (gains, _), (bounded, exact) in zip(free, gains_of(network, bound=bound), strict=True):
            np.testing.assert_array_equal(exact, gains >= bound)
            np.testing.assert_allclose(bounded[exact], gains[exact], atol=1e-9)
            assert (bounded[~exact] >= gains[~exact] - 1e-9).all()
            assert (bounded[~exact] < bound).all()


@pytest.mark.parametrize("name", SCORES)
def test_changes_are_noticed(name):
    network = scored(sample(5, n_rows=300), name, 3, parents=[()] * 8)
    tasks = [Candidates(7, np.array([0, 1, 2])), Candidates(5, np.array([0, 2, 7]))]
    network.best(tasks, -np.inf, SearchCost())
    for child, parents in [(1, (0,)), (2, (1,)), (1, (3,)), (2, ())]:
        network.set_parents(child, parents)
        assert network._incomplete_order is None
        check(network, tasks=tasks)
    network.reset(Structure(CHAINS))
    check(network)
    assert network.best(TASKS, -np.inf, SearchCost()) is not None


def test_more_parents_and_memory_fall_back(monkeypatch):
    data = sample(6)
    network = scored(data, "cl", "resubstitution", parents=((), (0,), (0, 1), (), (), (), (), ()))
    network._scan_batch([Candidates(7, np.array([0, 2]))], -np.inf)
    assert network._incomplete_order is None
    network = scored(data, "cl", "resubstitution")
    expected = gains_of(network)
    monkeypatch.setattr(incomplete_rows, "MAX_BYTES", 100)
    network._forget_scans()
    for (gains, _), (slow, _) in zip(expected, network._scan_batch(TASKS, -np.inf), strict=True):
        np.testing.assert_allclose(gains, slow, atol=1e-9)
    assert network._incomplete_order is None


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("shape", ["star", "chain"])
def test_nothing_underflows(name, shape):
    """Half of the children of a gap speak for one value, half for the other: products leave the
    range on the way.
    """
    n, rng = 1200, np.random.default_rng(0)
    data = encoded(rng, [2] * n, 2, 40)
    hidden = rng.integers(2, size=40)
    for i in range(n):
        data.codes[i] = np.where(rng.random(40) < 0.02, 1 - hidden, hidden)
    data.codes[0, :30] = hidden[:30]
    data.codes[0, 30:] = 2
    data.codes[n // 2 :, 30:35] = 1 - data.codes[n // 2 :, 30:35]
    data.codes[rng.random(data.codes.shape) < 0.1] = 2
    data.codes[-1] = np.where(data.codes[-1] == 2, 0, data.codes[-1])
    parents = [(), *[(0,) if shape == "star" else (i - 1,) for i in range(1, n - 1)], ()]
    check(
        scored(data, name, 3, parents),
        tasks=[Candidates(n - 1, np.array([0, 1, n // 2])), Candidates(0, np.array([n - 1]))],
    )


def test_beliefs_are_posteriors():
    data = sample(7, n_rows=30)
    network = scored(data, "cl", "resubstitution")
    gains_of(network)
    view = network._incomplete_order
    tables = (
        SampleScore("cl")
        .checked()
        .parameters.learn(data, count(data), Structure(CHAINS), Context())
    )
    tables = CPTs(Layout(tables.structure, tables.cards, 3), np.zeros(3), tables.log_theta)
    codes, cards = view.rows.codes, view.rows.cards
    for i in range(len(CARDS)):
        rows = np.flatnonzero(codes[i] >= cards[i])
        start, end = view.record.belief_start[i : i + 2]
        found = view.record.beliefs[start:end].reshape(rows.size, cards[i], 3)
        filled = np.repeat(codes[:, rows], cards[i], axis=1)
        filled[i] = np.tile(np.arange(cards[i]), rows.size)
        joint = np.exp(log_joint(tables, filled)).reshape(found.shape)
        np.testing.assert_allclose(found, joint / joint.sum(axis=1, keepdims=True), atol=1e-12)


@pytest.mark.parametrize("name, evaluation", list(product(SCORES, EVALUATIONS)))
def test_searches_find_the_same(monkeypatch, name, evaluation):
    data = sample(8, n_rows=150, weighted=evaluation == 3)
    for search in (GreedyEdges, OrderBased):
        settings = {"score": SCORES[name], "evaluation": evaluation, "random_state": 1}
        fast = search(**settings).learn(data, count(data), Context())
        with monkeypatch.context() as patch:
            patch.setattr(IncompleteScanOrder, "is_possible", lambda *_: False)
            assert search(**settings).learn(data, count(data), Context()) == fast


def test_rows_without_weight_are_not_there():
    data = sample(9, n_rows=200)
    weight = np.where(np.arange(200) % 3 == 0, 0.0, 1.0)
    one, other = (
        scored(replace(data, weight=weight), "cr", "loo"),
        scored(data.take(weight != 0), "cr", "loo"),
    )
    for (a, _), (b, _) in zip(gains_of(one), gains_of(other), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)
