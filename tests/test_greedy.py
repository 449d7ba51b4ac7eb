"""Greedy edge addition against a search that learns and scores every candidate network from scratch."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from discbayes.counts import count
from discbayes.engine import Context
from discbayes.objectives import Margin
from discbayes.parameters import MaximumAPosteriori, MaximumLikelihood
from discbayes.search import GreedyEdges
from slow_search import SlowScore, greedy_edges
from test_counts import encoded

SCORES = {"cr": "cr", "cl": "cl", "mm": Margin(0.3)}


def sample(seed, n_features=5, n_classes=3, n_rows=60, **options):
    rng = np.random.default_rng(seed)
    cards = rng.integers(1 if seed % 3 == 0 else 2, 5, size=n_features).tolist()
    return encoded(rng, cards, n_classes, n_rows, linked=True, **options)


def run(learner, data, n_jobs=None):
    context = Context(n_jobs=n_jobs)
    return learner.learn(data, count(data), context), context.history


def check(data, score, evaluation, learner=None, **settings):
    slow = SlowScore(data, score, evaluation, seed=3, learner=learner)
    expected, value = greedy_edges(slow, **settings)
    found, history = run(
        GreedyEdges(score, evaluation, learner or MaximumLikelihood(), random_state=3, **settings), data
    )
    assert found == expected
    if history:
        assert history[-1]["score"] == pytest.approx(slow.reported(value), abs=1e-8)
    return found


@pytest.mark.parametrize("evaluation", ["resubstitution", 3, "loo"])
@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("seed", range(3))
def test_the_same_edges_as_scoring_everything_from_scratch(seed, name, evaluation):
    data = sample(seed, n_features=5 if evaluation != "loo" else 4, n_rows=60 if evaluation != "loo" else 30)
    check(data, SCORES[name], evaluation)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("settings", [{"k": 2}, {"fill": True}, {"k": 2, "fill": True}], ids=str)
def test_more_parents_and_full_trees(name, settings):
    check(sample(7, n_features=4), SCORES[name], "resubstitution", **settings)
    check(sample(8, n_features=4, n_classes=2), SCORES[name], 3, **settings)


@pytest.mark.parametrize(
    "learner",
    [
        MaximumLikelihood(0.01),
        MaximumAPosteriori("ess", 2.0),
        MaximumAPosteriori("dirichlet", 0.5),
        MaximumAPosteriori("m", 1.0),
    ],
    ids=str,
)
@pytest.mark.parametrize("evaluation", ["resubstitution", "loo", 4])
def test_any_frequency_smoothing(learner, evaluation):
    check(sample(11, n_features=4, n_rows=30), "cl", evaluation, learner)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("evaluation", ["resubstitution", 3])
def test_weights(name, evaluation):
    data = sample(12, n_features=4, n_rows=50, weighted=True)
    check(data, SCORES[name], evaluation)


@pytest.mark.parametrize("name, evaluation", list(product(SCORES, ["resubstitution", 3, "loo"])))
def test_rows_with_gaps_are_summed_out(name, evaluation):
    data = sample(13, n_features=4, n_rows=30, gaps=0.2)
    check(data, SCORES[name], evaluation)


def test_rows_with_gaps_under_two_parents():
    check(sample(14, n_features=4, n_rows=30, gaps=0.15), "cl", "resubstitution", k=2)


@pytest.mark.parametrize("n_classes", [1, 2, 12])
@pytest.mark.parametrize("name", SCORES)
def test_any_number_of_classes(n_classes, name):
    check(sample(15, n_features=4, n_classes=n_classes, n_rows=80), SCORES[name], "resubstitution")
