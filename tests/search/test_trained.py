"""Searches that train every candidate, against plain loops that do the same."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from test_greedy import SCORES, run

from coded import encoded
from discbayes.counts import count
from discbayes.engine import Context
from discbayes.network import Structure
from discbayes.objectives import Margin
from discbayes.parameters import MaximumConditionalLikelihood, MaximumLikelihood
from discbayes.scores.sample import SampleScore
from discbayes.scoring.candidates import Candidates, ParentMove, SearchCost
from discbayes.scoring.counting_scorer import CountingScorer
from discbayes.scoring.refitting_scorer import RefittingScorer
from discbayes.search import GreedyEdges, OrderBased
from slow_search import SlowScore, greedy_edges, with_family

LEARNER = MaximumConditionalLikelihood(max_iter=3)


def sample(seed, n_rows=40, cards=(2, 3, 2, 2), n_classes=2, **options):
    return encoded(
        np.random.default_rng(seed), list(cards), n_classes, n_rows, linked=True, **options
    )


def slow_score(data, score, evaluation, learner=LEARNER):
    return SlowScore(data, score, evaluation, seed=3, learner=learner)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name, evaluation", list(product(SCORES, ["resubstitution", 3])))
def test_greedy_edges_as_in_a_plain_loop(name, evaluation):
    data = sample(1)
    slow = slow_score(data, SCORES[name], evaluation)
    expected, value = greedy_edges(slow)
    found, history = run(GreedyEdges(SCORES[name], evaluation, LEARNER, random_state=3), data)
    assert found == expected
    if history:
        assert history[-1]["score"] == pytest.approx(slow.reported(value), abs=1e-8)
        assert history[0]["evaluations"] == 12


def in_order(slow, order):
    """P10 5.2: each feature in turn takes the earlier one that improves the score most, if one
    does.
    """
    parents = [()] * len(order)
    value = slow(parents)
    for place in range(1, len(order)):
        candidates = [with_family(parents, order[place], (p,)) for p in sorted(order[:place])]
        best, new = slow.first_best(candidates)
        if new > value + slow.tolerance:
            parents, value = best, new
    return Structure(tuple(parents)), value


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("seed", range(3))
def test_order_based_search_as_in_a_plain_loop(seed):
    data, order = sample(seed, n_classes=3), [2, 0, 3, 1]
    expected, _ = in_order(slow_score(data, "cr", "resubstitution"), order)
    found, _ = run(OrderBased(order, "cr", parameters=LEARNER), data)
    assert found == expected


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("options", [{"weighted": True}, {"gaps": 0.1}], ids=str)
def test_weights_and_gaps(options):
    data = sample(5, n_rows=30, cards=(2, 3, 2), **options)
    expected, _ = greedy_edges(slow_score(data, "cl", 3))
    assert run(GreedyEdges("cl", 3, LEARNER, random_state=3), data)[0] == expected


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "learner", [LEARNER, MaximumConditionalLikelihood(3, stopping="cross-tuning", n_folds=2)]
)
def test_threads_change_nothing_and_candidates_do_not_warn(learner):
    data = sample(2)
    (one, first), (two, second) = (
        run(GreedyEdges("cl", parameters=learner, k=2), data, jobs) for jobs in (1, 3)
    )
    assert one == two
    assert [r["score"] for r in first] == [r["score"] for r in second]


@pytest.mark.parametrize("name, evaluation", list(product(SCORES, ["resubstitution", 3])))
def test_with_a_learner_of_frequencies_it_is_the_scored_network(name, evaluation):
    data, start = sample(3, gaps=0.05), Structure(((), (), (1,), ()))
    score = SampleScore(SCORES[name], evaluation).checked()
    slow, fast = (
        kind(data, score, start, np.random.default_rng(0))
        for kind in (RefittingScorer, CountingScorer)
    )
    assert slow.total == pytest.approx(fast.total, abs=1e-9)
    assert slow.tolerance == fast.tolerance
    tasks = [
        Candidates(0, np.array([1, 2])),
        Candidates(3, np.array([0, 1, 2])),
        Candidates(3, np.array([1, 2]), others=(0,)),
    ]
    for _ in range(2):
        effort, found = SearchCost(), slow.best(tasks, -np.inf, SearchCost())
        other = fast.best(tasks, -np.inf, effort)
        assert (found.child, found.joining) == (other.child, other.joining)
        assert found.gain == pytest.approx(other.gain, abs=1e-8)
        for network in (slow, fast):
            network.set_parents(3, (1,))
        assert slow.structure == fast.structure
        assert slow.reported() == pytest.approx(fast.reported(), abs=1e-9)
        tasks = [Candidates(0, np.array([1, 2])), Candidates(3, np.array([0, 2]))]
    moves = [ParentMove(0, (2, 3)), ParentMove(2, (0, 3)), ParentMove(0, (3,))]
    (found, gains), (other, _) = (
        network.best_move(moves, -np.inf, SearchCost()) for network in (slow, fast)
    )
    assert found == other
    np.testing.assert_allclose(gains, fast.move_gains(moves), atol=1e-8)


def test_a_learner_of_your_own_and_each_structure_is_learned_once():
    class Counting(MaximumLikelihood):
        calls = 0

        def learn(self, data, counts, structure, context):
            Counting.calls += 1
            return super().learn(data, counts, structure, context)

    score = SampleScore("cl", parameters=Counting()).checked()
    network = RefittingScorer(sample(3), score, Structure.naive(4), np.random.default_rng(0))
    assert score.refits  # what a subclass makes of counts is not known
    tasks = [Candidates(0, np.array([1, 2]))]
    for _ in range(2):
        network.best(tasks, -np.inf, SearchCost())
    assert Counting.calls == 3


def test_the_time_ends_it():
    with pytest.warns(UserWarning, match="max_time"):
        found, _ = run(GreedyEdges(parameters=LEARNER, max_time=1e-9), sample(1))
    assert found.n_edges == 0


def test_the_name_stands_for_the_learner():
    score = SampleScore("cr", parameters="cl").checked()
    assert score.refits
    assert isinstance(score.parameters, MaximumConditionalLikelihood)
    assert not SampleScore("cr", parameters="map").checked().refits


@pytest.mark.parametrize(
    "settings, message",
    [
        (
            {"parameters": "cl", "evaluation": "loo"},
            'evaluation="loo" needs generative estimates.*evaluation=5',
        ),
        (
            {"parameters": "svm"},
            "parameters='svm': inside a search parameters are generative estimates",
        ),
        (
            {"parameters": MaximumConditionalLikelihood},
            "inside a search parameters are generative estimates",
        ),
        ({"parameters": GreedyEdges()}, "inside a search parameters are generative estimates"),
        ({"parameters": MaximumConditionalLikelihood(max_iter=-1)}, "max_iter=-1"),
        ({"parameters": MaximumLikelihood(0.0)}, "smoothing above zero"),
        ({"score": Margin(0.1, eta=10.0), "parameters": "cl"}, "hard margin"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        run(GreedyEdges(**settings), sample(1))


def test_the_data_stay_as_they_are():
    data = sample(1)
    before = replace(data, codes=data.codes.copy(), y=data.y.copy())
    context = Context()
    GreedyEdges(parameters=LEARNER).learn(data, count(data), context)
    np.testing.assert_array_equal(data.codes, before.codes)
    # the trace is that of the search
    assert all("iteration" not in record for record in context.history)
