"""Order-based search against the enumeration of all parent sets, every network learned and scored
from scratch.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise, product

import numba
import numpy as np
import pytest
from test_greedy import SCORES, run

from coded import encoded
from discbayes.counts import count
from discbayes.network import Structure
from discbayes.objectives import Margin
from discbayes.parameters import MaximumLikelihood
from discbayes.scoring import counting_scorer
from discbayes.search import OrderBased
from discbayes.search.constraints import Constraints
from discbayes.search.feature_orders import order_features
from published import published_accuracy
from slow_search import SlowScore, order_based

EVALUATIONS = ["resubstitution", 3, "loo"]
ORDERS = ["omi", "omisp", "ocr", "min-mi", "random"]
SEED = 3


@cache
def sample(seed, n_rows=40, n_features=5, n_classes=3, gaps=0.0, weighted=False):
    rng = np.random.default_rng(seed)
    cards = rng.integers(1 if seed % 3 == 0 else 2, 4, size=n_features).tolist()
    return encoded(rng, cards, n_classes, n_rows, gaps, weighted, linked=True)


_JOINTS = {}


def slow_score(data, name, evaluation, rng):
    """A slow score that shares what it learns with others on the same rows and folds."""
    key = (id(data), evaluation, rng.bit_generator.state["state"]["state"])
    _, joints = _JOINTS.setdefault(key, (data, {}))  # the data too, so that no other has its number
    return SlowScore(data, SCORES[name], evaluation, seed=rng, joints=joints)


def ordered(data, order, before=None):
    """The order that the search must find, and the generator as it then is, for the folds."""
    rng = np.random.default_rng(SEED)
    return order_features(data, count(data), order, rng=rng, before=before), rng


def check(data, name, evaluation, order="omi", slow_settings=None, **settings):
    """The structure that both find, and the trace."""
    slow_settings = slow_settings or {}
    start = slow_settings.get("start") or settings.get("start")
    required = slow_settings.get("required")
    before = edges(start) if start else required
    found_order, rng = ordered(data, order, before)
    slow = slow_score(data, name, evaluation, rng)
    plain = {
        key: settings[key]
        for key in ("k", "strict", "refine", "listing", "start", "exactly_k")
        if key in settings
    }
    features, first = list(found_order.features), found_order.first_edge
    if "first_edge" in settings:
        first = tuple(features[:2]) if settings["first_edge"] else None
    expected, value = order_based(slow, features, first, **plain, **slow_settings)
    search = OrderBased(
        order, SCORES[name], evaluation, MaximumLikelihood(), random_state=SEED, **settings
    )
    found, history = run(search, data)
    assert found == expected
    assert history[-1]["score"] == pytest.approx(slow.reported(value), abs=1e-8)
    return found, history


def edges(structure):
    matrix = np.zeros((structure.n_features, structure.n_features), bool)
    for p, i in structure.edges():
        matrix[p, i] = True
    return matrix


# ---- the same parents as the enumeration


@pytest.mark.parametrize("name, evaluation, k", list(product(SCORES, EVALUATIONS, [1, 2])))
def test_every_score_and_evaluation(name, evaluation, k):
    data = sample(1, 18, 4) if evaluation == "loo" else sample(0)
    found, history = check(data, name, evaluation, k=k)
    assert found.max_parents <= k
    assert history[0]["order"] == [data.domain.names[i] for i in ordered(data, "omi")[0].features]


@pytest.mark.parametrize("order, k", list(product(ORDERS, [1, 2])))
@pytest.mark.parametrize("name", SCORES)
def test_every_order(name, order, k):
    check(sample(2), name, 3, order, k=k)


@pytest.mark.parametrize("name, k", list(product(SCORES, [1, 2])))
def test_a_given_order(name, k):
    check(sample(4), name, "resubstitution", [3, "x0", 4, "x2", 1], k=k)


@pytest.mark.parametrize("order, first_edge", list(product(ORDERS, [True, False])))
@pytest.mark.parametrize("listing", [False, True])
def test_the_first_edge_of_every_order(order, first_edge, listing):
    _, history = check(sample(2), "cr", 3, order, first_edge=first_edge, listing=listing)
    if first_edge:
        assert history[0]["edge"] == tuple(history[0]["order"][:2])


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("refine, strict", [(False, False), (True, False), (False, True)])
def test_exactly_k_parents_or_none(name, refine, strict):
    found, _ = check(
        related(2, 40), name, "resubstitution", k=2, exactly_k=True, refine=refine, strict=strict
    )
    assert sorted(map(len, found.parents)).count(1) <= 1  # the second feature has no other choice


@pytest.mark.data
@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="thousands of rows")
@pytest.mark.parametrize(
    "name, order, published, reading",
    [
        ("mofn-3-7-10", "omi", 91.41, {"listing": True}),
        ("mofn-3-7-10", "omisp", 90.92, {"listing": True, "first_edge": True}),
        ("chess", "omi", 94.93, {}),
        ("chess", "omisp", 95.31, {}),
        ("satimage", "omisp", 87.55, {}),
        ("waveform-21", "omisp", 77.74, {}),
    ],
)
def test_published_accuracies(data_folder, name, order, published, reading):
    assert published_accuracy(name, OrderBased(order, **reading)) == published


@pytest.mark.parametrize("strict", [False, True])
def test_three_parents(strict):
    check(sample(4), "cl", "resubstitution", k=3, strict=strict)


@cache
def related(seed, n_rows=80, n_features=6):
    """Binary features of which each follows two others and the class: several parents help."""
    rng = np.random.default_rng(seed)
    data = encoded(rng, [2] * n_features, 2, n_rows)
    for i in range(2, n_features):
        a, b = rng.choice(i, 2, replace=False)
        told = data.codes[a] ^ data.codes[b] ^ data.y.astype(np.uint8)
        data.codes[i] = np.where(rng.random(n_rows) < 0.8, told, data.codes[i])
    return data


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_strict_trees_have_the_treewidth_that_they_say(k, refine, name):
    found, _ = check(
        related(k, 30), name, "resubstitution", "random", k=k, strict=True, refine=refine
    )
    assert found.treewidth() <= k
    assert found.max_parents <= k


def test_without_strict_the_treewidth_may_be_larger():
    widths = [
        run(OrderBased("random", "cl", k=2, random_state=SEED), related(s))[0].treewidth()
        for s in range(6)
    ]
    assert max(widths) > 2


@pytest.mark.parametrize("order", ["omi", "ocr"])
@pytest.mark.parametrize("name, evaluation", list(product(SCORES, ["resubstitution", 3])))
def test_the_listing_takes_its_first_edge_in_any_case(name, evaluation, order):
    # independent of each other: nothing helps on folds
    data = encoded(np.random.default_rng(5), [2, 2, 3, 2], 2, 24)
    found, history = check(data, name, evaluation, order, listing=True)
    first = 2 if order == "omi" else 1
    assert history[1]["edge"] is not None
    assert found.n_edges >= first


# ---- refinement


@pytest.mark.parametrize("name, evaluation", list(product(SCORES, EVALUATIONS)))
def test_refinement(name, evaluation):
    data = related(1, 18, 4) if evaluation == "loo" else related(2, 30, 5)
    _found, history = check(data, name, evaluation, refine=True)
    check(data, name, evaluation, k=2, refine=True)
    scores = [step["score"] for step in history]
    assert all(new >= old - 1e-9 for old, new in pairwise(scores))


@pytest.mark.parametrize("order", ["random", "min-mi"])
def test_refinement_goes_on_until_a_pass_changes_nothing(order):
    passes, better = [], 0
    for seed in (0, 2):
        data = related(seed, 30, 5)
        found, history = check(data, "cr", "resubstitution", order, k=2, refine=True)
        once, _ = run(OrderBased(order, "cr", k=2, random_state=SEED), data)
        passes.append((len(history) - 1) // (data.n_features - 1) - 1)
        better += found != once
    assert better
    assert max(passes) > 1


def test_refinement_can_leave_a_feature_without_parents():
    for seed in range(20):
        data = related(seed, 40)
        once, _ = run(OrderBased("omi", "cr", k=2), data)
        again, _ = run(OrderBased("omi", "cr", k=2, refine=True), data)
        if any(
            before and not after for before, after in zip(once.parents, again.parents, strict=True)
        ):
            return
    pytest.fail("no feature lost its parents")


# ---- weights, gaps, ties


@pytest.mark.parametrize(
    "name, evaluation, refine", list(product(SCORES, EVALUATIONS, [False, True]))
)
def test_weights(name, evaluation, refine):
    data = sample(7, 24 if evaluation == "loo" else 50, 4, weighted=True)
    check(data, name, evaluation, k=2, refine=refine)


@pytest.mark.parametrize("name, evaluation", list(product(SCORES, EVALUATIONS)))
def test_rows_with_gaps_are_summed_out(name, evaluation):
    data = sample(8, 16 if evaluation == "loo" else 30, 4, gaps=0.15)
    check(data, name, evaluation, "omi")
    check(data, name, evaluation, "random", k=2, refine=True)


@pytest.mark.parametrize("name", SCORES)
def test_equal_sets_go_to_the_smaller_and_then_to_the_lower_columns(name):
    data = encoded(np.random.default_rng(0), [2] * 5, 2, 30)
    codes = data.codes
    codes[2], codes[3] = codes[0], 1 - codes[0]
    codes[4] = codes[0] ^ data.y.astype(np.uint8)
    codes[4, :4] ^= 1
    found, _ = check(data, name, "resubstitution", [3, 2, 1, 0, 4], k=2)
    assert 0 in found.parents[4]
    assert not {2, 3} & set(found.parents[4])  # they tell the same
    check(data, name, "resubstitution", [3, 2, 1, 0, 4], k=2, refine=True)


def test_a_score_that_nothing_changes_keeps_no_edge():
    data = encoded(np.random.default_rng(0), [2, 3, 2], 1, 30, linked=True)
    assert check(data, "cr", "resubstitution", "random", k=2, refine=True)[0] == Structure.naive(3)
    # that of the pair, which OMI keeps
    assert check(data, "cr", "resubstitution", "omi")[0].n_edges == 1


# ---- constraints


@pytest.mark.parametrize("order", ["omi", "ocr", "random"])
@pytest.mark.parametrize("name, refine", list(product(SCORES, [False, True])))
def test_required_and_forbidden_edges(name, refine, order):
    data = related(4, 40, 5)
    required = np.zeros((5, 5), bool)
    required[4, 1] = required[3, 0] = True
    forbidden = np.random.default_rng(1).random((5, 5)) < 0.4
    np.fill_diagonal(forbidden, False)
    forbidden &= ~required
    found, _ = check(
        data,
        name,
        "resubstitution",
        order,
        {"required": required, "allowed": ~forbidden},
        k=2,
        refine=refine,
        required=[(4, 1), ("x3", "x0")],
        forbidden=np.argwhere(forbidden).tolist(),
    )
    assert 4 in found.parents[1]
    assert 3 in found.parents[0]
    assert not (edges(found) & forbidden).any()


@pytest.mark.parametrize("order", ["omi", "min-mi"])
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("refine", [False, True])
def test_a_start(refine, strict, order):
    data = related(5, 30, 5)
    start = Structure(((3,), (0, 3), (), (), ()))
    found, _ = check(data, "cl", 3, order, k=2, strict=strict, refine=refine, start=start)
    if not refine:
        assert all(set(a) <= set(b) for a, b in zip(start.parents, found.parents, strict=True))
    if strict:
        assert found.treewidth() <= 2


def test_edges_of_the_start_stay_candidates_when_parents_are_chosen_again():
    data = related(6, 60)
    start, _ = run(OrderBased("random", "cl", k=2, random_state=SEED), data)
    kept, _ = run(
        OrderBased(
            "random", "cl", k=2, start=start, max_candidates=1, refine=True, random_state=SEED
        ),
        data,
    )
    slow = SlowScore(data, "cl")
    assert slow(kept.parents) >= slow(start.parents) - 1e-9


@pytest.mark.parametrize("k", [1, 2])
def test_a_limit_of_candidates(k):
    data = related(7, 60)
    allowed = Constraints.of(data, max_candidates=2).allowed(data, count(data))
    assert (allowed.sum(axis=0) == 2).all()
    check(data, "cl", "resubstitution", "omi", {"allowed": allowed}, k=k, max_candidates=2)


@pytest.mark.filterwarnings("ignore:.* left out:UserWarning")
def test_a_limit_of_table_sizes():
    data = sample(4, n_features=5, n_classes=2)
    sizes = np.outer(data.cards, data.cards) * data.n_classes
    limit = int(np.median(sizes))
    for k in (1, 2):
        found, _ = check(
            data,
            "cl",
            "resubstitution",
            "omi",
            {"allowed": sizes <= limit, "most_cells": limit},
            k=k,
            max_table_size=limit,
        )
        assert all(
            np.prod(data.cards[[i, *g]]) * 2 <= limit for i, g in enumerate(found.parents) if g
        )


@pytest.mark.parametrize("evaluation", EVALUATIONS)
def test_tables_that_do_not_fit_into_memory_together_are_made_one_after_the_other(
    monkeypatch, evaluation
):
    data = sample(10, 20, 5)
    settings = {"k": 2, "refine": True, "random_state": SEED}
    expected = [
        run(OrderBased("omi", score, evaluation, **settings), data)[0] for score in SCORES.values()
    ]
    monkeypatch.setattr(counting_scorer, "MAX_MADE", 30)
    monkeypatch.setattr(counting_scorer, "MAX_CACHED", 200)
    assert [
        run(OrderBased("omi", score, evaluation, **settings), data)[0] for score in SCORES.values()
    ] == expected


# ---- the trace, and what is refused


def test_every_choice_and_every_score_is_in_the_trace():
    data = related(3)
    slow = SlowScore(data, "cr")
    found, history = run(OrderBased("omi", "cr", k=2, refine=True), data)
    first, *choices = history
    order = [int(name[1:]) for name in first["order"]]
    n = len(order)
    assert first["edge"] == (f"x{order[0]}", f"x{order[1]}")
    assert [step["child"] for step in choices] == [
        f"x{i}" for i in order[2:] + order[1:] * ((len(choices) - n + 2) // (n - 1))
    ]
    sets = [m + m * (m - 1) // 2 for m in range(2, n)]
    assert [step["evaluations"] for step in choices[: n - 2]] == sets
    assert all(0 <= step["abandoned"] <= step["evaluations"] for step in choices)
    parents = [[]] * n
    parents[order[1]] = [order[0]]
    for step in choices:
        parents[int(step["child"][1:])] = [int(name[1:]) for name in step["parents"]]
        assert step["score"] == pytest.approx(slow.reported(slow(parents)), abs=1e-9)
    assert Structure(tuple(tuple(sorted(group)) for group in parents)) == found


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"order": "best"}, "order='best' is not one of"),
        ({"order": [0, 1, 2]}, "the order leaves out 'x3'"),
        ({"k": 0}, "k=0 must be a whole number of at least 1"),
        ({"k": 1.5}, "k=1.5 must be a whole number"),
        (
            {"required": [(0, 2), (1, 2)]},
            "2 parents of 'x2' are required, or in the start, above k=1",
        ),
        (
            {"start": Structure(((), (), (0, 1), ()))},
            "2 parents of 'x2' are required, or in the start, above k=1",
        ),
        (
            {"k": 2, "strict": True, "required": [(0, 2), (1, 2)]},
            "the parents 'x0' and 'x1' that 'x2' has from the start",
        ),
        (
            {"order": [2, 1, 0, 3], "required": [(0, 2)]},
            "the order has 'x2' before 'x0', which must come earlier",
        ),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        run(OrderBased(**settings), related(0, 20, 4))


def test_a_required_edge_may_turn_the_first_pair_around():
    data = related(1)
    _free, history = run(OrderBased("omi", "cr"), data)
    a, b = history[0]["edge"]
    turned, history = run(OrderBased("omi", "cr", required=[(b, a)]), data)
    assert history[0]["order"].index(b) < history[0]["order"].index(a)
    assert (b, a) in turned.edges(data.domain.names)


def test_margin_objects_are_taken_as_they_are():
    data = related(0, 30, 4)
    wide, narrow = (run(OrderBased("omi", Margin(lam)), data)[1] for lam in (0.001, 1.0))
    assert wide[-1]["score"] != narrow[-1]["score"]
