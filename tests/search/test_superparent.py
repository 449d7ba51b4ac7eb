"""SuperParent against a search that learns and scores every candidate network from scratch."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numba
import numpy as np
import pytest
from test_greedy import SCORES, run, sample

from coded import encoded
from discbayes.network import Structure
from discbayes.parameters import MaximumAPosteriori, MaximumLikelihood
from discbayes.scores.sample import SampleScore
from discbayes.scoring import counting_scorer, multi_child_moves
from discbayes.scoring.candidates import ParentMove, SearchCost
from discbayes.scoring.counting_scorer import CountingScorer
from discbayes.scoring.multi_child_moves import MoveScan
from discbayes.search import SuperParent
from published import published_accuracy
from slow_search import SlowScore, super_parent

UNCOMPILED = bool(numba.config.DISABLE_JIT)
EVALUATIONS = ["resubstitution", 3, "loo"]


def related(seed, evaluation):
    """Features that, with the class, mostly follow an earlier one: edges help also on rows that are
    held out.
    """
    rng = np.random.default_rng(seed)
    n_features, n_rows = (4, 16) if evaluation == "loo" else (5, 40)
    data = encoded(rng, rng.integers(2, 4, n_features).tolist(), 2 + seed, n_rows)
    codes = data.codes.astype(int)
    for i in range(1, n_features):
        told = (codes[rng.integers(i)] + data.y) % data.cards[i]
        codes[i] = np.where(rng.random(n_rows) < 0.9, told, codes[i])
    return replace(data, codes=codes.astype(data.codes.dtype))


def check(data, score, evaluation, learner=None, **settings):
    slow = SlowScore(data, score, evaluation, seed=3, learner=learner)
    expected, value = super_parent(slow, **settings)
    allowed = settings.pop("allowed", None)
    if allowed is not None:
        settings["forbidden"] = [(int(p), int(i)) for p, i in np.argwhere(~allowed)]
    search = SuperParent(
        score, evaluation, learner or MaximumLikelihood(), random_state=3, **settings
    )
    found, history = run(search, data)
    assert found == expected
    if history:
        assert history[-1]["score"] == pytest.approx(slow.reported(value), abs=1e-8)
    return found, history


@pytest.mark.parametrize("name, evaluation, k", list(product(SCORES, EVALUATIONS, [1, 2])))
@pytest.mark.parametrize("seed", range(2))
def test_the_same_edges_as_scoring_everything_from_scratch(seed, name, evaluation, k):
    check(related(seed, evaluation), SCORES[name], evaluation, k=k)


@pytest.mark.parametrize("evaluation", EVALUATIONS)
def test_these_data_ask_for_edges(evaluation):
    found, _ = run(SuperParent("cl", evaluation, k=2, random_state=3), related(1, evaluation))
    assert found.n_edges >= 2
    assert found.max_parents == 2 or evaluation == "loo"


@pytest.mark.parametrize("name, k", list(product(SCORES, [1, 2])))
def test_weights(name, k):
    check(sample(12, n_features=4, n_rows=50, weighted=True), SCORES[name], 3, k=k)


@pytest.mark.parametrize("name, evaluation", list(product(SCORES, EVALUATIONS)))
def test_rows_with_gaps_are_summed_out(name, evaluation):
    check(
        sample(13, n_features=4, n_rows=14 if evaluation == "loo" else 24, gaps=0.15),
        SCORES[name],
        evaluation,
    )


@pytest.mark.parametrize("name", SCORES)
def test_rows_with_gaps_under_two_parents(name):
    check(sample(14, n_features=5, n_rows=40, gaps=0.1), SCORES[name], "resubstitution", k=2)


@pytest.mark.parametrize("seed", range(3))
def test_strict_trees_have_the_treewidth_that_they_say(seed):
    data = related(seed, "resubstitution")
    found, _ = check(data, SCORES["cl"], "resubstitution", k=2, strict=True)
    assert found.treewidth() == 2


def test_three_parents():
    check(sample(16, n_features=5, n_rows=80), "cl", "resubstitution", k=3)


@pytest.mark.parametrize(
    "learner", [MaximumLikelihood(0.01), MaximumAPosteriori("dirichlet", 0.5)], ids=str
)
def test_any_frequency_smoothing(learner):
    check(sample(11, n_features=4, n_rows=30), "cl", "loo", learner)


@pytest.mark.parametrize("n_classes", [1, 2, 12])
@pytest.mark.parametrize("name", SCORES)
def test_any_number_of_classes(n_classes, name):
    check(sample(15, n_features=4, n_classes=n_classes, n_rows=50), SCORES[name], "resubstitution")


@pytest.mark.parametrize("k", [1, 2])
def test_forbidden_edges_and_a_start(k):
    data = sample(17, n_features=5, n_rows=80)
    allowed = np.random.default_rng(0).random((5, 5)) < 0.6
    np.fill_diagonal(allowed, True)
    check(data, "cl", "resubstitution", k=k, allowed=allowed)
    start = Structure(((), (0,), (), (2,), ()))
    found, _ = check(data, "cl", "resubstitution", k=k, start=start)
    assert set(start.edges()) <= set(found.edges())


@pytest.mark.filterwarnings("ignore:.* left out:UserWarning")
def test_required_edges_candidates_and_table_size():
    data = sample(17, n_features=5, n_rows=80)
    found, _ = run(SuperParent("cl", required=[(4, 0)]), data)
    assert found == super_parent(SlowScore(data, "cl"), start=Structure(((4,), (), (), (), ())))[0]
    found, _ = run(SuperParent("cl", k=2, max_candidates=1), data)
    assert found.max_parents <= 1
    tables = np.outer(data.cards, data.cards) * data.n_classes
    limit = int(np.median(tables))
    check_size, _ = run(SuperParent("cl", k=2, max_table_size=limit), data)
    for i, group in enumerate(check_size.parents):
        assert np.prod(data.cards[[i, *group]]) * data.n_classes <= limit or not group


def test_of_equal_candidates_the_first_columns_are_taken():
    rng = np.random.default_rng(0)
    bit, y = rng.integers(2, size=(2, 400))
    data = encoded(rng, [2, 2, 2, 2], 2, 400)
    codes = np.array([bit, bit ^ y, bit, bit ^ y]).astype(data.codes.dtype)
    data = replace(data, codes=codes, y=y.astype(np.int32))
    found, history = run(SuperParent(), data)
    assert history[0]["edge"] == ("x0", "x1")
    assert found == super_parent(SlowScore(data))[0]


def test_a_pair_of_edges_in_one_step():
    _, history = run(SuperParent("cl", k=2), sample(17, n_features=5, n_rows=80))
    assert len(history[0]["children"]) == 2
    assert history[0]["edge"][1] == history[0]["children"][0]
    assert history[0]["evaluations"] >= 5 + 6


def test_threads_change_nothing():
    data = encoded(
        np.random.default_rng(5),
        [3, 2, 4, 3, 2],
        3,
        1500 if not UNCOMPILED else 90,
        gaps=0.01,
        linked=True,
    )
    for k in (1, 2):
        (one, first), (two, second) = (
            run(SuperParent("cl", 3, k=k), data, jobs) for jobs in (1, 3)
        )
        assert one == two
        for record in (*first, *second):
            record.pop("seconds")
        assert first == second


@pytest.mark.parametrize("n_features", [1, 2])
def test_few_features(n_features):
    check(sample(4, n_features=n_features), "cr", "resubstitution", k=2)


def test_a_callback_and_the_time_end_it():
    data = sample(17, n_features=5, n_rows=80)
    with pytest.warns(UserWarning, match="SuperParent: stopped by the callback"):
        found, history = run(SuperParent("cl", callback=lambda record: True), data)
    assert found.n_edges == len(history) == 1
    with pytest.warns(UserWarning, match="max_time of 1e-09 s is over"):
        found, _ = run(SuperParent("cl", max_time=1e-9), data)
    assert found.n_edges == 0


def test_what_makes_no_sense_is_refused():
    data = sample(1)
    for settings, message in [
        ({"k": 0}, "k=0 must be a whole number"),
        ({"parameters": "cl"}, "parameters='cl': SuperParent uses generative estimates"),
    ]:
        with pytest.raises(ValueError, match=message):
            run(SuperParent(**settings), data)


@pytest.mark.data
@pytest.mark.skipif(UNCOMPILED, reason="thousands of rows")
@pytest.mark.parametrize(
    "name, k, published", [("chess", 1, 94.09), ("chess", 2, 94.09), ("mofn-3-7-10", 1, 90.33)]
)
def test_published_accuracy(data_folder, name, k, published):
    assert published_accuracy(name, SuperParent(k=k)) == published


# ---- the moves


def network(name, evaluation, n_rows=700 if not UNCOMPILED else 120, **options):
    data = encoded(np.random.default_rng(0), [3, 2, 4, 3, 2], 3, n_rows, linked=True, **options)
    score = SampleScore(SCORES[name], evaluation).checked()
    return data, CountingScorer(
        data, score, Structure(((), (0,), (), (), ())), np.random.default_rng(0)
    )


MOVES = [
    ParentMove(0, (2,)),
    ParentMove(0, (2, 3)),
    ParentMove(0, (2, 3, 4)),
    ParentMove(4, (0, 1)),
    ParentMove(2, (3,)),
]


@pytest.mark.parametrize("most", [multi_child_moves.MAX_CELLS, 0], ids=["blocks", "families"])
@pytest.mark.parametrize("name, evaluation", list(product(SCORES, EVALUATIONS)))
def test_gains_of_moves(monkeypatch, name, evaluation, most):
    monkeypatch.setattr(multi_child_moves, "MAX_CELLS", most)
    data, net = network(name, evaluation, **({"n_rows": 30} if evaluation == "loo" else {}))
    slow, now = SlowScore(data, SCORES[name], evaluation), [(), (0,), (), (), ()]
    gains, exact = MoveScan(net).scan(MOVES)
    assert exact.all()
    for move, gain in zip(MOVES, gains, strict=True):
        after = [
            (*group, move.parent) if i in move.children else group for i, group in enumerate(now)
        ]
        assert gain == pytest.approx(slow(after) - slow(now), abs=1e-7)


@pytest.mark.parametrize("gaps", [0.0, 0.05])
@pytest.mark.parametrize("name", SCORES)
def test_a_bound_changes_nothing_above_it(name, gaps):
    _, net = network(name, 3, gaps=gaps)
    free, _ = MoveScan(net).scan(MOVES)
    middle = float(np.median(free))
    bounded, exact = MoveScan(net).scan(MOVES, middle)
    np.testing.assert_array_equal(exact, free >= middle)
    np.testing.assert_allclose(bounded[exact], free[exact], atol=1e-9)
    assert (bounded[~exact] >= free[~exact] - 1e-9).all()
    assert (bounded[~exact] < middle).all()


def test_without_memory_for_tables_the_same_is_found(monkeypatch):
    data = sample(17, n_features=5, n_rows=80)
    expected, _ = run(SuperParent("cl", 3, k=2), data)
    monkeypatch.setattr(counting_scorer, "MAX_CACHED", 0)
    monkeypatch.setattr(multi_child_moves, "MAX_CELLS", 0)
    assert run(SuperParent("cl", 3, k=2), data)[0] == expected


def test_expected_gains_change_the_way_and_not_the_answer():
    _, net = network("cl", 3)
    answers = [
        net.best_move(MOVES, -np.inf, SearchCost(), expected_gains=expected)[0]
        for expected in ([], range(5), [-p for p in range(5)], [np.inf] * 5)
    ]
    assert len(set(answers)) == 1
