"""Greedy edge addition against a search that learns and scores every candidate network from
scratch.
"""

from __future__ import annotations

from itertools import product

import numba
import numpy as np
import pytest

from coded import encoded
from discbayes import recipe
from discbayes.counts import count
from discbayes.engine import Context
from discbayes.network import Structure
from discbayes.objectives import Margin
from discbayes.parameters import MaximumAPosteriori, MaximumLikelihood
from discbayes.scoring import counting_scorer
from discbayes.search import GreedyEdges
from discbayes.search.constraints import Constraints
from published import published_accuracy
from slow_search import SlowScore, greedy_edges

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
        GreedyEdges(score, evaluation, learner or MaximumLikelihood(), random_state=3, **settings),
        data,
    )
    assert found == expected
    if history:
        assert history[-1]["score"] == pytest.approx(slow.reported(value), abs=1e-8)
    return found


@pytest.mark.parametrize("evaluation", ["resubstitution", 3, "loo"])
@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("seed", range(3))
def test_the_same_edges_as_scoring_everything_from_scratch(seed, name, evaluation):
    data = sample(
        seed, n_features=5 if evaluation != "loo" else 4, n_rows=60 if evaluation != "loo" else 30
    )
    check(data, SCORES[name], evaluation)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("settings", [{"k": 2}, {"fill": True}, {"k": 2, "fill": True}], ids=str)
def test_more_parents_and_full_trees(name, settings):
    check(sample(7, n_features=4), SCORES[name], "resubstitution", **settings)
    check(sample(8, n_features=4, n_classes=2), SCORES[name], 3, **settings)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("seed", range(3))
def test_ties_by_the_first_parent(seed, name):
    # Few rows and values, so that many edges gain the same.
    data = encoded(np.random.default_rng(seed), [2] * 5, 2, 25, linked=True)
    check(data, SCORES[name], "resubstitution", ties="parent")
    check(data, SCORES[name], 3, ties="parent", k=2)


@pytest.mark.parametrize("seed", range(3))
def test_strict_trees_have_the_treewidth_that_they_say(seed):
    found = check(sample(seed, n_features=5), "cl", "resubstitution", k=2, fill=True, strict=True)
    assert found.treewidth() == 2


def test_settings_that_are_not_valid_are_refused():
    data = sample(1)
    with pytest.raises(ValueError, match="ties='first' is not one of child, parent"):
        run(GreedyEdges(ties="first"), data)
    start = Structure(((), (), (0, 1), (), ()))
    with pytest.raises(ValueError, match="strict=True, but the parents 'x0' and 'x1'"):
        run(GreedyEdges(k=2, strict=True, start=start), data)


@pytest.mark.data
@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="thousands of rows")
@pytest.mark.parametrize(
    "name, published", [("mofn-3-7-10", 91.02), ("chess", 96.06), ("waveform-21", 78.47)]
)
def test_published_accuracies_of_tan_cr(data_folder, name, published):
    assert published_accuracy(name, recipe("TAN-CR").structure) == published


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


@pytest.mark.parametrize("complete_for_each", [0, 4])
@pytest.mark.parametrize("name, evaluation", list(product(SCORES, ["resubstitution", 3, "loo"])))
def test_rows_with_gaps_are_summed_out(name, evaluation, complete_for_each, monkeypatch):
    """Whether incomplete rows are scanned first, as with few of them, or last."""
    monkeypatch.setattr(counting_scorer, "COMPLETE_FOR_EACH", complete_for_each)
    data = sample(13, n_features=4, n_rows=30, gaps=0.2)
    check(data, SCORES[name], evaluation)


def test_rows_with_gaps_under_two_parents():
    check(sample(14, n_features=4, n_rows=30, gaps=0.15), "cl", "resubstitution", k=2)


@pytest.mark.parametrize("n_classes", [1, 2, 12])
@pytest.mark.parametrize("name", SCORES)
def test_any_number_of_classes(n_classes, name):
    check(sample(15, n_features=4, n_classes=n_classes, n_rows=80), SCORES[name], "resubstitution")


# ---- constraints


def constrained(data, name, evaluation, allowed, begun=None, **settings):
    """The same edges as the slow search that may use the allowed ones only."""
    slow = SlowScore(data, SCORES[name], evaluation, seed=3)
    shared = {key: settings[key] for key in ("k", "fill") if key in settings}
    expected, _ = greedy_edges(slow, start=begun, allowed=allowed, **shared)
    found, _ = run(GreedyEdges(SCORES[name], evaluation, random_state=3, **settings), data)
    assert found == expected
    return found


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize(
    "evaluation, settings", [("resubstitution", {}), (3, {"k": 2}), (3, {"fill": True})], ids=str
)
def test_required_and_forbidden_edges_and_a_start(evaluation, settings, name):
    data = sample(16, n_features=4, n_rows=24)
    allowed = np.random.default_rng(1).random((4, 4)) < 0.7
    allowed[3, 0] = allowed[1, 2] = True
    forbidden = np.argwhere(~allowed & ~np.eye(4, dtype=bool)).tolist()
    start = Structure(((3,), (), (1,), ()))
    constrained(data, name, evaluation, allowed, forbidden=forbidden, **settings)
    for given in (
        {"start": start},
        {"required": [(3, 0), ("x1", "x2")]},
        {"start": start, "required": [(3, 0)]},
    ):
        found = constrained(
            data, name, evaluation, allowed, start, forbidden=forbidden, **given, **settings
        )
        assert set(start.edges()) <= set(found.edges())


@pytest.mark.filterwarnings("ignore:.* left out:UserWarning")
@pytest.mark.parametrize("name", SCORES)
def test_limits_of_candidates_and_of_table_sizes(name):
    data = sample(17, n_features=5, n_rows=24)
    candidates = Constraints.of(data, max_candidates=2).allowed(data, count(data))
    constrained(data, name, 3, candidates, max_candidates=2, fill=True)
    sizes = np.outer(data.cards, data.cards) * data.n_classes
    limit = int(np.median(sizes))
    found = constrained(data, name, 3, sizes <= limit, max_table_size=limit, fill=True)
    assert found.n_edges > 0
    two, _ = run(GreedyEdges(SCORES[name], k=2, fill=True, max_table_size=limit), data)
    assert all(
        np.prod(data.cards[[i, *g]]) * data.n_classes <= limit
        for i, g in enumerate(two.parents)
        if g
    )


@pytest.mark.parametrize("name", SCORES)
def test_weights_when_single_rows_are_left_out(name):
    check(sample(12, n_features=4, n_rows=18, weighted=True), SCORES[name], "loo")


@pytest.mark.parametrize("evaluation", ["resubstitution", 3, "loo"])
def test_tables_that_do_not_fit_into_memory_together_are_made_one_after_the_other(
    monkeypatch, evaluation
):
    monkeypatch.setattr(counting_scorer, "MAX_MADE", 30)
    monkeypatch.setattr(counting_scorer, "MAX_CACHED", 200)
    for score in SCORES.values():
        check(sample(10, n_features=4, n_rows=12), score, evaluation, k=2)


@pytest.mark.parametrize(
    "settings", [{"required": [(0, 2), (1, 2)]}, {"start": Structure(((), (), (0, 1), ()))}]
)
def test_more_parents_than_k_are_refused(settings):
    with pytest.raises(
        ValueError, match="2 parents of 'x2' are required, or in the start, above k=1"
    ):
        run(GreedyEdges("cr", **settings), sample(1, n_features=4))
    assert run(GreedyEdges("cr", k=2, **settings), sample(1, n_features=4))[0].parents[2] == (0, 1)
