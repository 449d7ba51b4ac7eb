"""Maximum branchings against networkx and against all branchings; constraints, ties, small and
large matrices.
"""

from __future__ import annotations

import time
from itertools import product

import networkx
import numpy as np
import pytest
from sklearn.base import clone
from test_search import learn, linked

from coded import domain_of, encoded
from discbayes.counts import count, pair_information
from discbayes.data.domain import Encoded
from discbayes.engine import Context
from discbayes.network import Structure
from discbayes.scores import ApproximateLikelihood, edge_score_of
from discbayes.search import KDB, Branching, SpanningTree
from discbayes.search.branching import maximum_branching

ROOT_COST = 1e4


def random_weights(seed):
    """Few or many nodes and edges, often with ties; nothing on the diagonal."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    weights = rng.normal(size=(n, n))
    if seed % 2:
        weights = np.round(2 * weights)
    weights = np.where(rng.random((n, n)) < [1.0, 0.5, 0.15][seed % 3], weights, -np.inf)
    np.fill_diagonal(weights, -np.inf)
    return weights


def digraph(weights):
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(len(weights)))
    graph.add_weighted_edges_from(
        (int(p), int(i), float(weights[p, i])) for p, i in np.argwhere(np.isfinite(weights))
    )
    return graph


def value(weights, parent):
    Structure(tuple((int(p),) if p >= 0 else () for p in parent))  # no cycle
    return sum(weights[p, i] for i, p in enumerate(parent) if p >= 0)


def independent(n_features):
    """Features that follow the class and, but for two, not one another: most edges are worth less
    than none.
    """
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    codes = np.where(rng.random((n_features, 300)) < 0.8, y, 1 - y)
    codes[-1] = np.where(rng.random(300) < 0.9, codes[-2] ^ y, codes[-1])
    return Encoded(codes.astype(np.uint8), domain_of([2] * n_features, 2), y.astype(np.int32))


# ---- the algorithm


@pytest.mark.parametrize("seed", range(60))
def test_full_branchings_have_the_weight_that_networkx_finds(seed):
    """A node above all others, whose edges are dear, makes an arborescence of the forest with the
    fewest roots.
    """
    weights = random_weights(seed)
    parent = maximum_branching(weights)
    graph = digraph(weights)
    graph.add_weighted_edges_from((-1, i, -ROOT_COST) for i in range(len(weights)))
    expected = networkx.maximum_spanning_arborescence(graph).size(weight="weight")
    assert value(weights, parent) - ROOT_COST * (parent < 0).sum() == pytest.approx(
        expected, abs=1e-8
    )


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_one_tree_has_the_weight_of_the_maximum_spanning_arborescence(seed):
    weights = random_weights(seed)  # every third of them has all edges
    parent = maximum_branching(weights)
    assert (parent < 0).sum() == 1
    if len(weights) > 1:
        expected = networkx.maximum_spanning_arborescence(digraph(weights)).size(weight="weight")
        assert value(weights, parent) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(60))
def test_free_branchings_have_the_weight_that_networkx_finds(seed):
    weights = random_weights(seed)
    parent = maximum_branching(weights, full=False)
    expected = networkx.maximum_branching(digraph(weights)).size(weight="weight")
    assert value(weights, parent) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_roots_that_are_ruled_out_against_all_branchings(seed, full):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(4, 4))
    np.fill_diagonal(weights, -np.inf)
    may_be_root = rng.random(4) < 0.5
    may_be_root[0] = True
    best = (-9, -np.inf)
    for choice in product(range(-1, 4), repeat=4):
        legal = all(p != i and (p >= 0 or may_be_root[i]) for i, p in enumerate(choice))
        if legal and networkx.is_forest(
            networkx.DiGraph([(p, i) for i, p in enumerate(choice) if p >= 0] or [(0, 9)])
        ):
            edges = sum(p >= 0 for p in choice) if full else 0
            best = max(best, (edges, sum(weights[p, i] for i, p in enumerate(choice) if p >= 0)))
    parent = maximum_branching(weights, may_be_root, full)
    assert all(p >= 0 or may_be_root[i] for i, p in enumerate(parent))
    assert value(weights, parent) == pytest.approx(best[1])


def test_small_matrices():
    assert maximum_branching(np.full((1, 1), -np.inf)).tolist() == [-1]
    # the diagonal is no edge
    assert maximum_branching(np.array([[0.0, 1.0], [2.0, 0.0]])).tolist() == [1, -1]
    assert maximum_branching(np.array([[0.0, 1.0], [1.0, 0.0]])).tolist() == [-1, 0]
    assert maximum_branching(np.full((2, 2), -1.0)).tolist() == [-1, 0]
    assert maximum_branching(np.full((2, 2), -1.0), full=False).tolist() == [-1, -1]
    assert maximum_branching(np.full((2, 2), -np.inf)).tolist() == [-1, -1]


def test_ties_go_to_the_lower_column():
    assert maximum_branching(np.ones((5, 5))).tolist() == [-1, 0, 0, 0, 0]
    assert maximum_branching(np.zeros((5, 5)), full=False).tolist() == [-1] * 5


def test_the_matrix_is_not_changed():
    weights = random_weights(3)
    before = weights.copy()
    maximum_branching(weights)
    np.testing.assert_array_equal(weights, before)


@pytest.mark.parametrize("kind", ["random", "symmetric", "chain"])
def test_a_thousand_columns_take_less_than_a_second(kind):
    n = 1000
    weights = np.random.default_rng(0).normal(size=(n, n))
    if kind == "symmetric":
        weights += weights.T
    if kind == "chain":
        weights = (
            -np.abs(np.subtract.outer(np.arange(n), np.arange(n))) - 0.001 * np.arange(n)[:, None]
        )
    started = time.perf_counter()
    parent = maximum_branching(weights)
    assert time.perf_counter() - started < 2  # a tenth of that on an idle machine
    assert (parent < 0).sum() == 1


# ---- the search


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("score", ["acll", "fcll", "cmi", "mdl"])
def test_the_tree_has_the_largest_weight(score, gaps):
    data, context = linked(1, n_features=7, gaps=gaps), Context()
    weights = edge_score_of(score).weights(data, count(data))
    np.fill_diagonal(weights, -np.inf)
    structure = learn(Branching(score), data, context)
    expected = networkx.maximum_spanning_arborescence(digraph(weights)).size(weight="weight")
    assert structure.n_edges == 6
    assert structure.is_forest
    assert sum(weights[edge] for edge in structure.edges()) == pytest.approx(expected)
    assert [step["score"] for step in context.history] == pytest.approx(
        [weights[e] for e in structure.edges()]
    )
    assert sum(step["evaluations"] for step in context.history) == (42 if score == "acll" else 21)


def test_light_edges_can_be_left_out():
    data = independent(8)
    weights = edge_score_of("fcll").weights(data, count(data))
    np.fill_diagonal(weights, -np.inf)
    free = learn(Branching("fcll", full=False), data)
    expected = networkx.maximum_branching(digraph(weights)).size(weight="weight")
    assert 0 < free.n_edges < 7
    assert sum(weights[edge] for edge in free.edges()) == pytest.approx(expected)
    heavy = float(np.quantile(weights, 0.9))
    forest = learn(Branching("fcll", min_weight=heavy), data)
    assert forest.n_edges > 0
    assert all(weights[edge] >= heavy for edge in forest.edges())
    assert learn(Branching("fcll", min_weight=1e9), data).n_edges == 0


def test_the_root_can_be_chosen():
    data = linked(1)
    for root in (0, "x3", 5):
        structure = learn(Branching(root=root), data)
        position = int(str(root)[-1])
        assert [i for i, group in enumerate(structure.parents) if not group] == [position]
    with pytest.raises(ValueError, match="root names 'age', which is not a column"):
        learn(Branching(root="age"), data)


@pytest.mark.parametrize("seed", range(12))
def test_required_forbidden_and_start_edges(seed):
    rng = np.random.default_rng(seed)
    data = linked(seed % 3, n_features=5)
    weights = edge_score_of("acll").weights(data, count(data))
    np.fill_diagonal(weights, -np.inf)
    edges = [(a, b) for a in range(5) for b in range(5) if a != b]
    picked = [edges[k] for k in rng.permutation(len(edges))]
    required, forbidden = picked[:1], picked[1:4]
    barred = weights.copy()
    for p, i in forbidden:
        barred[p, i] = -np.inf
    for edge in required:
        barred[edge] += ROOT_COST  # networkx takes it at any price
    expected = (
        networkx.maximum_spanning_arborescence(digraph(barred)).size(weight="weight") - ROOT_COST
    )
    for learner in (
        Branching(required=required, forbidden=forbidden),
        Branching(start=required, forbidden=forbidden),
    ):
        structure = learn(learner, data)
        assert set(required) <= set(structure.edges())
        assert not set(forbidden) & set(structure.edges())
        assert sum(weights[edge] for edge in structure.edges()) == pytest.approx(expected)


def test_constraints_that_no_tree_keeps_are_refused():
    data = linked(2)
    with pytest.raises(
        ValueError, match="x0 -> x2 and x1 -> x2 are required, but a tree has only one edge into"
    ):
        learn(Branching(required=[(0, 2), (1, 2)]), data)
    with pytest.raises(ValueError, match="x1 -> x0 is required, but x0 is the root"):
        learn(Branching(required=[(1, 0)], root=0), data)


def test_a_start_keeps_its_edges_and_its_class_parents():
    data = linked(3)
    start = Structure(((), (), (5,), (), (), ()), (True, True, True, False, True, True))
    for learner in (Branching(start=start), SpanningTree(start=start), KDB(start=start)):
        structure = learn(learner, data)
        assert structure.parents[2] == (5,)
        assert structure.class_children == start.class_children


@pytest.mark.filterwarnings("ignore:.* left out:UserWarning")
@pytest.mark.parametrize("learner", [Branching, SpanningTree, KDB])
def test_size_and_candidates_limit_the_edges(learner):
    data = linked(5, n_features=7)
    sizes = np.outer(data.cards, data.cards) * data.n_classes
    limit = int(np.median(sizes))
    structure = learn(learner(max_table_size=limit), data)
    assert structure.n_edges > 0
    assert all(sizes[edge] <= limit for edge in structure.edges())
    information = pair_information(data, count(data)).conditional.copy()
    np.fill_diagonal(information, -1)
    candidates = np.argsort(-information, axis=0, kind="stable")[:2]
    structure = learn(learner(max_candidates=2), data)
    assert structure.n_edges > 0
    assert all(p in candidates[:, i] for p, i in structure.edges())
    assert learn(learner(max_candidates=6), data).n_edges == 6


def test_candidates_on_both_sides_of_a_tree_leave_it_as_heavy_as_a_branching():
    data = linked(6, n_features=8)
    weights = pair_information(data, count(data)).conditional
    tree = learn(SpanningTree(max_candidates=3), data)
    branching = learn(Branching("cmi", max_candidates=3), data)
    total = [sum(weights[edge] for edge in structure.edges()) for structure in (tree, branching)]
    assert total[0] == pytest.approx(total[1])
    rooted = learn(SpanningTree(max_candidates=7, root=4), data)
    assert rooted.parents[4] == ()


@pytest.mark.parametrize("n_features", [1, 2])
@pytest.mark.parametrize("full", [True, False])
def test_one_and_two_features_and_constant_columns(n_features, full):
    data = encoded(np.random.default_rng(0), [3] * n_features, 2, 30, linked=True)
    assert learn(Branching(full=full), data).n_edges <= n_features - 1
    constant = encoded(np.random.default_rng(0), [1] * n_features, 2, 30)
    assert learn(Branching(), constant).n_edges == n_features - 1
    assert learn(Branching(full=False), constant).n_edges == 0


# ---- the score of a tree


@pytest.mark.parametrize("score", ["ll", "mdl", "bic", "fcll", "residual", "interaction"])
def test_spanning_trees_on_every_symmetric_score(score):
    data = linked(4, n_features=7)
    weights = edge_score_of(score).weights(data, count(data))
    graph = networkx.Graph()
    graph.add_weighted_edges_from((a, b, weights[a, b]) for a in range(7) for b in range(a))
    tree = learn(SpanningTree(score=score), data)
    assert tree.n_edges == 6
    expected = networkx.maximum_spanning_tree(graph)
    assert {frozenset(edge) for edge in tree.edges()} == {
        frozenset(edge) for edge in expected.edges
    }
    forest = learn(SpanningTree(score=score, min_weight=0.0), data)
    assert all(weights[edge] >= 0 for edge in forest.edges())
    best = sum(weights[tuple(edge)] for edge in expected.edges if weights[tuple(edge)] >= 0)
    assert sum(weights[edge] for edge in forest.edges()) >= best - 1e-9


def test_fcll_has_negative_weights_and_a_forest_without_them():
    data = independent(8)
    weights = edge_score_of("fcll").weights(data, count(data))
    assert weights.min() < 0
    assert learn(SpanningTree(score="fcll"), data).n_edges == 7
    assert learn(SpanningTree(score="fcll", min_weight=0.0), data).n_edges < 7


@pytest.mark.parametrize("score", ["acll", ApproximateLikelihood(2.0)], ids=str)
def test_a_tree_refuses_a_directed_score_when_it_is_made(score):
    message = r"gives the two directions of an edge different weights, .* use Branching\(score="
    with pytest.raises(ValueError, match=message):
        SpanningTree(score=score)
    with pytest.raises(ValueError, match=message):
        learn(SpanningTree().set_params(score=score), linked(0))
    assert learn(Branching(score), linked(0)).n_edges == 5
    assert learn(KDB(score=score), linked(0)).n_edges == 5


@pytest.mark.parametrize("learner", [SpanningTree, Branching, KDB])
@pytest.mark.parametrize("score", ["cr", "likelihood", None, 3])
def test_scores_of_whole_networks_are_refused_when_a_search_is_made(learner, score):
    with pytest.raises(
        (ValueError, TypeError), match=r"is not an edge score; those are .* go with GreedyEdges"
    ):
        learner(score=score)


def test_settings_are_kept_and_cloned():
    learner = Branching(
        ApproximateLikelihood(0.25), root="x1", full=False, forbidden=[(0, 1)], max_time=5
    )
    copy = clone(learner)
    assert repr(copy) == repr(learner)
    assert "start" in Branching().get_params()
    learn(learner, linked(0))
    assert repr(copy) == repr(learner)


@pytest.mark.parametrize("learner", [SpanningTree, Branching, KDB])
def test_a_callback_sees_the_edges_and_can_end_the_trace(learner):
    data, seen = linked(0), []
    structure = learn(learner(callback=seen.append), data)
    assert [step["edge"] for step in seen] == structure.edges(data.domain.names) or learner is KDB
    assert len(seen) == structure.n_edges
    with pytest.warns(
        UserWarning, match=f"{learner.__name__}: stopped by the callback; .* 5 edges"
    ):
        assert learn(learner(callback=lambda step: True), data) == structure
