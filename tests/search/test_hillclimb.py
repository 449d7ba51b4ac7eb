"""Hill climbing against a plain climb that scores the whole network for every move; constraints,
start, limits.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
from sklearn.base import clone
from test_search import learn, linked

from coded import domain_of, encoded
from discbayes.counts import count, pair_information
from discbayes.data.domain import Encoded
from discbayes.engine import Context
from discbayes.network import Structure
from discbayes.scores import ApproximateLikelihood
from discbayes.search import HillClimb
from formulas import family_by_formula

PER_ROW = ("cmi", "residual")


# ---- the plain climb


def changed(structure, child, parents=None, with_class=None):
    groups, flags = list(structure.parents), list(structure.class_children)
    groups[child] = groups[child] if parents is None else tuple(sorted(parents))
    flags[child] = flags[child] if with_class is None else with_class
    return Structure(tuple(groups), tuple(flags))


def moves(structure, learner):
    """All moves in the order of the documentation, those that close a cycle left out."""
    n, parents = structure.n_features, structure.parents
    pairs = list(product(range(n), repeat=2))
    required, forbidden = set(learner.required), set(learner.forbidden)
    for p, i in pairs:
        if p != i and p not in parents[i] and (p, i) not in forbidden:
            yield "add", (p, i), lambda p=p, i=i: changed(structure, i, (*parents[i], p))
    for p, i in pairs:
        if p in parents[i] and (p, i) not in required:
            yield "delete", (p, i), lambda p=p, i=i: changed(structure, i, set(parents[i]) - {p})
    for p, i in pairs if learner.reverse else []:
        if p in parents[i] and (p, i) not in required and (i, p) not in forbidden:
            yield (
                "reverse",
                (p, i),
                lambda p=p, i=i: changed(
                    changed(structure, i, set(parents[i]) - {p}), p, (*parents[p], i)
                ),
            )
    for i in range(n) if learner.drop_class else []:
        kind = "drop class" if structure.class_children[i] else "add class"
        yield kind, i, lambda i=i: changed(structure, i, with_class=not structure.class_children[i])


def allowed(structure, learner):
    families = zip(structure.parents, structure.class_children, strict=True)
    return all(len(group) + flag <= learner.max_parents for group, flag in families)


def plain_climb(learner, data, start=None):
    """The structure, and each step with the score after it."""
    one_family = cache(lambda *family: family_by_formula(learner.score, data, *family))

    def total(structure):
        families = zip(
            range(data.n_features), structure.parents, structure.class_children, strict=True
        )
        return sum(one_family(*family) for family in families)

    tolerance = 1e-9 * (1 if learner.score in PER_ROW else data.n_samples)
    structure, steps = start or Structure.naive(data.n_features), []
    while True:
        tried = []
        for kind, where, make in moves(structure, learner):
            try:
                after = make()
            except ValueError:
                continue  # a cycle
            if allowed(after, learner):
                tried.append((total(after) - total(structure), kind, where, after))
        best = max((gain for gain, *_ in tried), default=0.0)
        if best <= tolerance:
            return structure, steps
        least = max(best - tolerance, tolerance)
        kind, where, structure = next(move for gain, *move in tried if gain >= least)
        steps.append((kind, where, total(structure)))


def climb(learner, data):
    context = Context()
    structure = learn(learner, data, context)
    steps = []
    for step in context.history:
        where = step["feature"] if step["edge"] is None else step["edge"]
        place = data.domain.names.index
        steps.append(
            (
                step["move"],
                place(where) if isinstance(where, str) else tuple(map(place, where)),
                step["score"],
            )
        )
    return structure, steps


def assert_same_climb(learner, data, start=None):
    structure, steps = climb(learner, data)
    expected, expected_steps = plain_climb(learner, data, start)
    assert [step[:2] for step in steps] == [step[:2] for step in expected_steps]
    assert [step[2] for step in steps] == pytest.approx(
        [step[2] for step in expected_steps], rel=1e-9
    )
    assert structure == expected
    return steps


# ---- the same climb


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("drop_class", [False, True])
@pytest.mark.parametrize("score", ["fcll", "ll", "mdl", "acll", "residual", "cmi"])
def test_the_same_steps_as_a_plain_climb(score, drop_class, reverse):
    seed = (
        4 * ["fcll", "ll", "mdl", "acll", "residual", "cmi"].index(score) + 2 * drop_class + reverse
    )
    data = linked(seed, n_features=4, n_classes=2 + seed % 2, n_rows=70)
    assert_same_climb(HillClimb(score, reverse=reverse, drop_class=drop_class), data)


@pytest.mark.parametrize("max_parents", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_the_same_steps_with_more_parents(seed, max_parents):
    data = chained(seed)
    steps = assert_same_climb(HillClimb("mdl", max_parents, reverse=True), data)
    assert len(steps) > 2 or max_parents == 1
    structure, _ = climb(HillClimb("mdl", max_parents, reverse=True), data)
    assert all(
        len(g) + c <= max_parents
        for g, c in zip(structure.parents, structure.class_children, strict=True)
    )


def chained(seed, n_rows=120):
    """Features that follow one another more than the class, so that the class is dropped and edges
    are turned.
    """
    rng = np.random.default_rng(seed)
    codes = [rng.integers(2, size=n_rows)]
    for _ in range(3):
        source = codes[int(rng.integers(len(codes)))]
        codes.append(np.where(rng.random(n_rows) < 0.85, source, 1 - source))
    y = np.where(rng.random(n_rows) < 0.8, codes[-1], 1 - codes[-1])
    return Encoded(np.array(codes, np.uint8), domain_of([2] * 4, 2), y.astype(np.int32))


def test_every_kind_of_move_is_made_somewhere():
    made = set()
    for seed in range(8):
        start = Structure(((1,), (2,), (3,), ()), (True, True, True, False))
        learner = HillClimb("mdl", 3, reverse=True, start=start)
        made |= {kind for kind, *_ in assert_same_climb(learner, chained(seed), start)}
    assert made == {"add", "delete", "reverse", "drop class", "add class"}


@pytest.mark.parametrize("seed", range(6))
def test_the_same_steps_under_constraints(seed):
    rng = np.random.default_rng(seed)
    data = chained(seed)
    edges = [(a, b) for a in range(4) for b in range(4) if a != b]
    picked = [edges[k] for k in rng.permutation(len(edges))]
    required, forbidden = picked[:1], picked[1:4]
    learner = HillClimb("mdl", reverse=True, required=required, forbidden=forbidden)
    ((p, i),) = required
    assert_same_climb(learner, data, changed(Structure.naive(4), i, (p,)))
    structure, _ = climb(learner, data)
    assert set(required) <= set(structure.edges())
    assert not set(forbidden) & set(structure.edges())


def test_repeated_columns_are_ties_that_go_to_the_lower_column():
    codes = np.tile(np.array([0, 1, 0, 1, 1, 0, 0, 1], np.uint8), (4, 1))
    data = Encoded(codes, domain_of([2] * 4, 2), np.array([0, 0, 0, 0, 1, 1, 1, 1], np.int32))
    assert_same_climb(HillClimb("ll", reverse=True), data)
    assert learn(HillClimb("ll", drop_class=False), data).parents == ((), (0,), (0,), (0,))


def test_a_start_is_climbed_from_and_may_lose_its_edges():
    data = encoded(np.random.default_rng(0), [2, 2, 2], 2, 80)  # nothing depends on anything
    start = Structure(((), (0,), (1,)))
    assert_same_climb(HillClimb("mdl", start=start), data, start)
    assert learn(HillClimb("mdl", start=start), data).n_edges == 0
    assert learn(HillClimb("mdl", start=[("x0", "x1")], required=[(0, 1)]), data).edges() == [
        (0, 1)
    ]


# ---- worked examples


def test_the_class_leaves_a_feature_that_another_one_explains():
    """C → x0 → x1: given x0 the class tells nothing about x1, and its parameters are too many."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=500)
    x0 = np.where(rng.random(500) < 0.8, y, rng.integers(3, size=500))
    x1 = np.where(rng.random(500) < 0.8, x0, rng.integers(3, size=500))
    data = Encoded(np.array([x0, x1], np.uint8), domain_of([3, 3], 3), y.astype(np.int32))
    assert learn(HillClimb("mdl"), data) == Structure(((), (0,)), (True, False))
    assert learn(HillClimb("mdl", drop_class=False), data).class_children == (True, True)


@pytest.mark.parametrize("score", ["fcll", "mdl", "acll", "ll"])
def test_an_exclusive_or_is_joined(score):
    """x0 and x1 tell the class together and nothing alone; x2 tells nothing."""
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=(3, 400))
    y = codes[0] ^ codes[1] ^ (rng.random(400) < 0.1)
    data = Encoded(codes.astype(np.uint8), domain_of([2] * 3, 2), y.astype(np.int32))
    history = Context()
    structure = learn(HillClimb(score), data, history)
    assert set(history.history[0]["edge"]) == {"x0", "x1"}
    assert {0, 1} in [{p, i} for p, i in structure.edges()]


def test_log_likelihood_keeps_the_class_and_fills_the_families():
    data = linked(0, n_features=6, n_rows=100)
    structure = learn(HillClimb("ll"), data)
    assert all(structure.class_children)
    assert structure.n_edges == 5
    assert structure.is_forest


# ---- data of all kinds, limits


@pytest.mark.parametrize("score", ["fcll", "acll", "mdl", "residual"])
def test_gaps_and_weights(score):
    data = linked(3, n_features=5, n_rows=80, gaps=0.15, weighted=True)
    context = Context()
    structure = learn(HillClimb(score, 3, reverse=True), data, context)
    scores = [step["score"] for step in context.history]
    assert all(after > before for before, after in pairwise(scores))
    kept = data.weight > 0
    part = Encoded(
        np.ascontiguousarray(data.codes[:, kept]), data.domain, data.y[kept], data.weight[kept]
    )
    assert learn(HillClimb(score, 3, reverse=True), part) == structure


@pytest.mark.parametrize(
    "cards, n_classes, n_rows", [([3], 2, 20), ([2, 2], 2, 20), ([1, 1], 2, 9), ([2, 3, 2], 1, 9)]
)
@pytest.mark.parametrize("score", ["fcll", "acll", "cmi"])
def test_odd_data_have_an_answer(cards, n_classes, n_rows, score):
    data = encoded(np.random.default_rng(0), cards, n_classes, n_rows)
    assert_same_climb(HillClimb(score, 3, reverse=True), data)


def test_a_column_that_is_missing_everywhere():
    data = linked(0, n_rows=60)
    data.codes[2] = data.cards[2]
    structure = learn(HillClimb("mdl"), data)
    assert structure.parents[2] == ()
    assert all(2 not in group for group in structure.parents)


@pytest.mark.filterwarnings("ignore:.* left out:UserWarning")
def test_size_and_candidates_limit_the_families():
    data = linked(5, n_features=6, n_rows=100)
    sizes = np.outer(data.cards, data.cards) * data.n_classes
    limit = int(np.median(sizes))
    structure = learn(HillClimb("ll", 4, max_table_size=limit), data)
    assert structure.n_edges > 0
    for i, group in enumerate(structure.parents):
        assert np.prod(data.cards[[i, *group]]) * data.n_classes <= limit
    information = pair_information(data, count(data)).conditional.copy()
    np.fill_diagonal(information, -1)
    candidates = np.argsort(-information, axis=0, kind="stable")[:2]
    structure = learn(HillClimb("ll", 3, max_candidates=2), data)
    assert structure.n_edges > 0
    assert all(p in candidates[:, i] for p, i in structure.edges())


def test_threads_give_the_same_structure(monkeypatch):
    monkeypatch.setattr("discbayes.engine.threads.THREAD_WORK", 0)
    data = linked(7, n_features=6, n_rows=80)
    one, two = (Context(n_jobs=jobs) for jobs in (1, 2))
    assert learn(HillClimb("ll", 3), data, one) == learn(HillClimb("ll", 3), data, two)
    assert [s["score"] for s in one.history] == [s["score"] for s in two.history]


# ---- interruption, settings


def test_a_family_is_scored_once_and_the_trace_counts_them(monkeypatch):
    data, context, asked = linked(2, n_features=5, n_rows=60), Context(), []
    learner = HillClimb(ApproximateLikelihood(), 3)
    original = ApproximateLikelihood.local
    monkeypatch.setattr(ApproximateLikelihood, "local", lambda *a: asked.append(1) or original(*a))
    learn(learner, data, context)
    # all edges; all features with the class and without
    assert context.history[0]["evaluations"] >= 20 + 2 * 5
    assert 20 + len(asked) >= sum(step["evaluations"] for step in context.history)
    assert all(
        set(step) >= {"edge", "score", "evaluations", "move", "seconds"} for step in context.history
    )


def test_the_best_so_far_is_kept_when_a_callback_has_enough():
    data, seen = linked(1, n_features=6, n_rows=100), []

    def enough(step):
        seen.append(step)
        return len(seen) == 2

    with pytest.warns(
        UserWarning,
        match="HillClimb: stopped by the callback; the best structure so far, with 2 edges",
    ):
        structure = learn(HillClimb("ll", callback=enough), data)
    full = Context()
    learn(HillClimb("ll"), data, full)
    assert {tuple(step["edge"]) for step in full.history[:2]} == set(
        structure.edges(data.domain.names)
    )


def test_time_that_is_over():
    data = linked(1, n_features=6, n_rows=100)
    with pytest.warns(
        UserWarning, match=r"HillClimb: max_time of 1e-09 s is over; .* with 0 edges"
    ):
        assert learn(HillClimb(max_time=1e-9), data) == Structure.naive(6)


@pytest.mark.parametrize("value", [0, -1, 1.5, "2", True, None])
def test_a_number_of_parents_that_makes_no_sense_is_refused(value):
    with pytest.raises(
        ValueError,
        match=r"max_parents=.* must be a whole number of at least 1; the class counts",
    ):
        learn(HillClimb(max_parents=value), linked(0))


@pytest.mark.parametrize("setting", ["required", "start"])
def test_a_start_with_too_many_parents_is_refused(setting):
    learner = HillClimb(**{setting: [(0, 2), (1, 2)]})
    with pytest.raises(
        ValueError, match="the start gives 'x2' 3 parents, the class counted, above max_parents=2"
    ):
        learn(learner, linked(0))
    assert learn(learner.set_params(max_parents=3, score="ll"), linked(0)).n_edges > 2


@pytest.mark.parametrize("score", ["cr", None])
def test_scores_of_whole_networks_are_refused(score):
    with pytest.raises((ValueError, TypeError), match="is not an edge score"):
        HillClimb(score)


def test_settings_are_kept_and_cloned():
    learner = HillClimb("mdl", 3, reverse=True, forbidden=[(0, 1)], start=[(1, 2)], max_time=9)
    copy = clone(learner)
    learn(learner, linked(0))
    assert repr(copy) == repr(learner)
