"""Simulated annealing against Algorithm 1 of P12 with the same draws, every tree learned and scored
from scratch.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
from test_greedy import SCORES, run

from coded import encoded
from discbayes.counts import count
from discbayes.data.folds import stratified_folds
from discbayes.engine import Context
from discbayes.network import Structure
from discbayes.objectives import Margin
from discbayes.search import Annealing, annealing
from discbayes.search.base import SearchStopped
from slow_search import SlowScore
from slow_search import annealing as slow_annealing

EVALUATIONS = ["resubstitution", 3, "loo"]
SHORT = {"max_tries": 9, "max_successes": 4, "max_rejections": 12}
SEED = 3


@cache
def sample(seed, n_rows=24, n_features=5, n_classes=3, gaps=0.0, weighted=False):
    rng = np.random.default_rng(seed)
    cards = rng.integers(1 if seed % 3 == 0 else 2, 4, size=n_features).tolist()
    return encoded(rng, cards, n_classes, n_rows, gaps, weighted, linked=True)


_JOINTS = {}


def slow_score(data, name, evaluation):
    """A slow score that shares what it learns with others on the same rows and folds."""
    # the data too, so that no other has its number
    _, joints = _JOINTS.setdefault((id(data), evaluation), (data, {}))
    return SlowScore(data, SCORES[name], evaluation, seed=SEED, joints=joints)


def seeds_of_the_runs(slow, restarts):
    """The generator of the search makes the folds, and then a seed for each run."""
    rng = np.random.default_rng(SEED)
    if isinstance(slow.evaluation, int):
        stratified_folds(slow.data.y, slow.evaluation, rng)
    return rng.integers(2**63, size=restarts).tolist()


def check(
    data,
    name,
    evaluation="resubstitution",
    scale=None,
    restarts=1,
    allowed=None,
    start=None,
    **settings,
):
    """The structure and the trace, which are those of the slow search."""
    settings = {**SHORT, **settings}
    slow = slow_score(data, name, evaluation)
    unit = scale or (1.0 if name == "cr" else 100.0)
    runs = [
        slow_annealing(slow, seed, unit, **settings, allowed=allowed, start=start)
        for seed in seeds_of_the_runs(slow, restarts)
    ]
    expected, value, _ = max(runs, key=lambda one: one[1])
    if allowed is not None:
        settings["forbidden"] = np.argwhere(~allowed & ~np.eye(len(allowed), dtype=bool)).tolist()
    search = Annealing(
        SCORES[name],
        evaluation,
        restarts=restarts,
        scale=scale,
        start=start,
        random_state=SEED,
        **settings,
    )
    found, history = run(search, data)
    assert found == expected
    for number, (_, best, rounds) in enumerate(runs):
        steps = [step for step in history if step["restart"] == number and step["evaluations"]]
        assert [(step["evaluations"], step["accepted"]) for step in steps] == [
            one[:2] for one in rounds
        ]
        np.testing.assert_allclose(
            [step["score"] for step in steps], [one[2] for one in rounds], atol=1e-8
        )
        if steps:
            assert steps[-1]["score"] == pytest.approx(best, abs=1e-8)
    assert value >= slow.reported(slow((start or Structure.naive(data.n_features)).parents)) - 1e-9
    return found, history


# ---- the same trees as the algorithm


@pytest.mark.parametrize("name, evaluation", list(product(SCORES, EVALUATIONS)))
@pytest.mark.parametrize("seed", range(2))
def test_every_score_and_evaluation(seed, name, evaluation):
    data = sample(seed, 16, 4) if evaluation == "loo" else sample(seed)
    found, history = check(data, name, evaluation)
    assert found.max_parents <= 1
    assert len(history) > 1


@pytest.mark.parametrize("name, scale", list(product(SCORES, [0.01, 1.0, 100.0])))
def test_every_scale(name, scale):
    check(sample(2), name, scale=scale)


@pytest.mark.parametrize("temperature, cooling", [(0.001, 0.5), (5.0, 0.9), (1.0, 1e-3)])
def test_every_schedule(temperature, cooling):
    _, history = check(sample(4), "cl", scale=1.0, temperature=temperature, cooling=cooling)
    expected = temperature * cooling ** np.arange(len(history))
    np.testing.assert_allclose([step["temperature"] for step in history], expected)


@pytest.mark.parametrize("name, evaluation", list(product(SCORES, EVALUATIONS)))
def test_weights(name, evaluation):
    check(sample(7, 18 if evaluation == "loo" else 30, 4, weighted=True), name, evaluation)


@pytest.mark.parametrize("name, evaluation", list(product(SCORES, EVALUATIONS)))
def test_rows_with_gaps_are_summed_out(name, evaluation):
    check(
        sample(8, 12 if evaluation == "loo" else 16, 4, gaps=0.1),
        name,
        evaluation,
        max_rejections=6,
    )


def test_gaps_and_weights_and_another_start():
    data = sample(10, 20, 4, gaps=0.1, weighted=True)
    check(data, "cl", 3, start=Structure(((), (0,), (), (2,))), max_rejections=6)


@pytest.mark.parametrize("name, evaluation", [("cr", "resubstitution"), ("cl", "loo"), ("mm", 3)])
@pytest.mark.parametrize("most", [1, 100])
def test_tables_that_are_not_kept(monkeypatch, most, name, evaluation):
    """All tables of the proposals that are drawn do not fit into memory: they are made as they are
    needed.
    """
    monkeypatch.setattr(annealing, "MAX_CACHED", 0)
    monkeypatch.setattr(annealing, "MAX_DRAWN", most)
    data = sample(11, 12, 4)
    check(data, name, evaluation)
    check(data, name, evaluation, start=Structure(((), (0,), (), (1,))))


def test_draws_at_a_time_do_not_matter(monkeypatch):
    expected = run(Annealing("cl", random_state=SEED, **SHORT), sample(1))
    monkeypatch.setattr(annealing, "N_DRAWS", 3)
    found = run(Annealing("cl", random_state=SEED, **SHORT), sample(1))
    assert found[0] == expected[0]
    assert [step["score"] for step in found[1]] == [step["score"] for step in expected[1]]


# ---- constraints


@pytest.mark.parametrize("name", SCORES)
def test_forbidden_edges_and_a_start(name):
    allowed = np.random.default_rng(2).random((5, 5)) < 0.6
    allowed[1, 0] = allowed[2, 3] = True
    check(sample(1), name, 3, allowed=allowed)
    found, _ = check(sample(1), name, 3, allowed=allowed, start=Structure(((1,), (), (), (2,), ())))
    assert all(allowed[edge] for edge in found.edges())


def test_required_edges_stay():
    data = sample(4)
    for seed in range(2):
        found, history = run(
            Annealing("cl", required=[(3, 0), (0, 2)], random_state=seed, **SHORT), data
        )
        assert found.parents[0] == (3,)
        assert found.parents[2] == (0,)
        assert found.n_edges > 2
        assert history[-1]["score"] >= SlowScore(data, "cl")([(3,), (), (0,), (), ()]) - 1e-9


def test_edges_of_a_start_that_are_no_candidates_can_be_replaced():
    data = sample(5)
    slow = SlowScore(data, "cl")
    for start in (Structure(((4,), (), (), (), ())), Structure(((), (4,), (3,), (4,), ()))):
        found, history = run(
            Annealing("cl", start=start, max_candidates=1, random_state=1, **SHORT), data
        )
        assert history[-1]["score"] == pytest.approx(slow(found.parents), abs=1e-8)
        assert slow(found.parents) >= slow(start.parents) - 1e-9


# ---- ends


@pytest.mark.parametrize(
    "cards, settings, most_edges",
    [
        ([3], {}, 0),
        ([1, 1], {}, 0),
        ([1, 3], {}, 0),
        ([2, 3], {}, 1),
        ([2, 2, 2], {"forbidden": [(a, b) for a in range(3) for b in range(3) if a != b]}, 0),
        ([2, 2, 2], {"required": [(0, 1), (1, 2)], "forbidden": [(1, 0), (2, 0)]}, 2),
        ([2, 2, 2], {"required": [(0, 1), (1, 2)]}, 2),
        ([2, 2, 2], {"max_table_size": 7}, 0),
        ([2, 2, 2], {"forbidden": [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2)]}, 1),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:.* left out:UserWarning")
@pytest.mark.parametrize("name", SCORES)
def test_dead_ends(name, cards, settings, most_edges):
    data = encoded(np.random.default_rng(0), cards, 2, 20, linked=True)
    found, _ = run(Annealing(SCORES[name], random_state=0, **settings), data)
    assert found.n_edges <= most_edges
    assert all((p, i) in found.edges() for p, i in settings.get("required", []))


@pytest.mark.parametrize("name", SCORES)
def test_a_score_that_is_as_high_as_it_can_be_ends_the_search(name):
    data = encoded(np.random.default_rng(0), [2, 3, 2], 1, 20)
    found, history = run(Annealing(SCORES[name]), data)
    assert found == Structure.naive(3)
    assert not history


def test_a_score_that_nothing_changes_ends_the_search():
    """Equal scores are accepted, so that there is never a rejection."""
    data = encoded(np.random.default_rng(0), [2, 2, 2], 2, 60)
    data.y[:] = np.arange(60) < 4  # the frequent class wins everywhere
    data.codes[:] = np.arange(60) % 2
    found, history = run(Annealing("cr", max_rejections=30, max_successes=8), data)
    assert found == Structure.naive(3)
    assert [step["evaluations"] for step in history] == [8, 8, 8, 8]
    check(data, "cr", max_rejections=30, max_successes=8)


@pytest.mark.parametrize("limits", [(12, 5, 20), (3, 100, 20), (100, 1, 10), (1, 1, 1)])
def test_rounds_end_after_tries_or_successes_and_the_search_after_rejections(limits):
    tries, successes, rejections = limits
    names = {"max_tries": tries, "max_successes": successes, "max_rejections": rejections}
    _, history = check(sample(2), "cl", scale=1.0, **names)
    for step in history:
        assert step["evaluations"] == tries or step["accepted"] == successes
        assert step["evaluations"] <= tries
        assert step["accepted"] <= successes
    rejected = sum(step["evaluations"] - step["accepted"] for step in history)
    assert rejected >= rejections


@pytest.mark.parametrize("all_features, n", [(False, 3), (True, 4)])
def test_the_limits_grow_with_the_features_that_have_several_values(all_features, n):
    data = encoded(np.random.default_rng(1), [2, 2, 1, 3], 2, 12, linked=True)
    limits = {"max_tries": 50 * n, "max_successes": 5 * n, "max_rejections": 100 * n}
    expected = run(Annealing("cr", **limits, random_state=0), data)
    found = run(Annealing("cr", all_features=all_features, random_state=0), data)
    assert len(found[1]) > 2
    assert found[0] == expected[0]
    assert [step["evaluations"] for step in found[1]] == [
        step["evaluations"] for step in expected[1]
    ]


# ---- restarts and threads


def test_the_best_of_several_runs_is_kept():
    found, history = check(sample(5), "cl", 3, restarts=3, max_rejections=6, max_tries=4)
    last = {step["restart"]: step["score"] for step in history}
    assert len(set(last.values())) > 1
    slow = SlowScore(sample(5), "cl", 3, seed=SEED)
    assert slow(found.parents) == pytest.approx(max(last.values()), abs=1e-8)


@pytest.mark.parametrize("restarts", [1, 3])
@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_threads_change_nothing(monkeypatch, gaps, restarts):
    monkeypatch.setattr("discbayes.engine.threads.THREAD_WORK", 0)
    monkeypatch.setattr("discbayes.engine.threads.BLOCK_ROWS", 8)
    data = sample(8, 12, 4, gaps=gaps)
    runs = []
    for n_jobs in (1, 2):
        search = Annealing(
            "cl", 3, restarts=restarts, random_state=SEED, **{**SHORT, "max_rejections": 4}
        )
        found, history = run(search, data, n_jobs=n_jobs)
        runs.append((found, [{**step, "seconds": 0} for step in history]))
    assert runs[0] == runs[1]


def test_seeds():
    data = sample(1)
    traces = []
    for seed in (0, 0, 1):
        found, history = run(Annealing("cl", random_state=seed, **SHORT), data)
        traces.append((found, [(step["evaluations"], step["accepted"]) for step in history]))
    assert traces[0] == traces[1]
    assert traces[0] != traces[2]


# ---- stopping


def test_a_callback_sees_every_round_when_it_is_over_and_can_end_the_search():
    seen = []

    def callback(step):
        seen.append(step)
        return len(seen) == 3

    data = sample(1)
    with pytest.warns(
        UserWarning, match="Annealing: stopped by the callback; the best structure so far"
    ):
        found, history = run(Annealing("cl", random_state=SEED, callback=callback, **SHORT), data)
    _, everything = run(Annealing("cl", random_state=SEED, **SHORT), data)
    assert len(history) == len(seen) == 3 < len(everything)
    assert [step["score"] for step in history] == [step["score"] for step in everything[:3]]
    assert SlowScore(data, "cl")(found.parents) == pytest.approx(history[-1]["score"], abs=1e-8)
    assert history[0]["seconds"] < history[-1]["seconds"]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("stop", [KeyboardInterrupt(), SearchStopped("enough")], ids=repr)
def test_what_interrupts_a_round_loses_nothing_that_was_found(monkeypatch, stop, n_jobs):
    calls, original = [], annealing._Chain.advance

    def advance(self, *arguments):
        calls.append(self)
        if len(calls) > 12:
            raise stop
        return original(self, *arguments)

    monkeypatch.setattr(annealing._Chain, "advance", advance)
    data = sample(1)
    with pytest.warns(UserWarning, match="the best structure so far"):
        found, _ = run(Annealing("cl", restarts=2, random_state=SEED, **SHORT), data, n_jobs)
    best = max(set(calls), key=lambda chain: chain.best)
    assert found == best.structure()
    assert found.n_edges > 0
    slow = SlowScore(data, "cl")
    assert slow(found.parents) == pytest.approx(best.best, abs=1e-8)
    assert slow(found.parents) > slow(Structure.naive(5).parents)


# ---- what is refused


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"restarts": 0}, "restarts=0 must be a whole number of at least 1"),
        ({"restarts": None}, "restarts=None must be a whole number"),
        ({"max_tries": 0}, "max_tries=0 must be"),
        ({"max_successes": 1.5}, "max_successes=1.5 must be"),
        ({"max_rejections": True}, "max_rejections=True must be"),
        ({"temperature": 0}, "temperature=0 must be above 0"),
        ({"temperature": float("nan")}, "temperature=nan must be above 0"),
        ({"cooling": 1.0}, "cooling=1.0 must be between 0 and 1: the temperature has to fall"),
        ({"cooling": 0}, "cooling=0 must be between 0 and 1"),
        ({"scale": -1}, "scale=-1 must be above 0"),
        ({"parameters": "cl"}, "Annealing uses generative estimates"),
        (
            {"start": Structure(((), (), (0, 1), ()))},
            "Annealing goes over trees: the starting structure has",
        ),
        ({"required": [(0, 2), (1, 2)]}, "Annealing goes over trees: the starting structure has"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        run(Annealing(**settings), sample(1, n_features=4))


@pytest.mark.filterwarnings("ignore:.* left out:UserWarning")
def test_memory_follows_the_edges_that_are_allowed():
    """Two columns of many values are not joined, so no memory is set aside for a table of the
    two.
    """
    data = encoded(np.random.default_rng(0), [3_000, 3_000, 2, 3], 2, 40, linked=True)
    search = Annealing(Margin(0.3), max_table_size=20_000, random_state=0, **SHORT)
    made = []
    pool_made = annealing._Pool._load

    def load(self, n_jobs):
        pool_made(self, n_jobs)
        made.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(annealing._Pool, "_load", load)
        found = search.learn(data, count(data), Context())
    assert not {(0, 1), (1, 0)} & set(found.edges())
    assert made[0].edges.tables.size == 2 * (2 * 2 * 3_000 * (2 + 3) + 2 * 2 * 3)
