"""Structure learners against networkx and direct definitions; constraints, limits, ties and odd
data.
"""

from __future__ import annotations

import tracemalloc

import networkx
import numba
import numpy as np
import pytest
from sklearn.base import clone

from coded import domain_of, encoded
from discbayes.counts import class_information, count, pair_information
from discbayes.data.domain import Encoded
from discbayes.engine import Context
from discbayes.kernels import counting
from discbayes.network import Structure
from discbayes.scores import edge_score_of
from discbayes.search import KDB, STRUCTURES, FixedStructure, NaiveBayes, SpanningTree
from discbayes.search.tree import spanning_tree


def learn(learner, data, context=None):
    return learner.learn(data, count(data), context or Context())


def linked(seed, n_features=6, n_classes=3, n_rows=200, **options):
    rng = np.random.default_rng(seed)
    cards = rng.integers(2, 5, size=n_features).tolist()
    return encoded(rng, cards, n_classes, n_rows, linked=True, **options)


@pytest.mark.parametrize("name", ["tan", "tan-fcll", "tan-acll", "kdb"])
def test_rows_that_weigh_next_to_nothing(name):
    data = linked(0)
    data = Encoded(data.codes, data.domain, data.y, np.full(data.y.size, 5e-324))
    assert learn(STRUCTURES[name](), data).n_features == 6


def complete_graph(weights, keep=lambda weight: True):
    graph = networkx.Graph()
    graph.add_nodes_from(range(len(weights)))
    pairs = zip(*np.triu_indices(len(weights), 1), strict=True)
    graph.add_weighted_edges_from(
        (int(a), int(b), weights[a, b]) for a, b in pairs if keep(weights[a, b])
    )
    return graph


def edge_set(structure):
    return {tuple(sorted(edge)) for edge in structure.edges()}


# ---- spanning trees


@pytest.mark.parametrize("density", [1.0, 0.4, 0.15])
@pytest.mark.parametrize("seed", range(10))
def test_spanning_forests_of_random_matrices_have_the_weight_that_networkx_finds(seed, density):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 15))
    weights = rng.normal(size=(n, n))
    if seed % 2:
        weights = np.round(weights)  # many ties
    weights = np.where(rng.random((n, n)) < density, weights, -np.inf)
    weights = np.triu(weights, 1) + np.triu(weights, 1).T
    weights[np.diag_indices(n)] = -np.inf
    relevance = rng.random(n)
    root = int(rng.integers(n))
    parent = spanning_tree(weights.__getitem__, root, relevance)
    expected = networkx.maximum_spanning_tree(complete_graph(weights, np.isfinite))
    chosen = [(int(p), i) for i, p in enumerate(parent) if p >= 0]
    assert len(chosen) == expected.number_of_edges()
    assert sum(weights[edge] for edge in chosen) == pytest.approx(
        expected.size(weight="weight"), abs=1e-10
    )
    Structure(tuple((int(p),) if p >= 0 else () for p in parent))  # no cycle
    assert parent[root] == -1
    for component in networkx.connected_components(expected):
        if root not in component:
            assert parent[max(component, key=lambda i: relevance[i])] == -1


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(6))
def test_tan_is_a_maximum_spanning_tree_from_the_most_relevant_feature(seed, gaps):
    data = linked(seed, n_features=7, gaps=gaps)
    weights = pair_information(data, count(data)).conditional
    structure = learn(SpanningTree(), data)
    expected = networkx.maximum_spanning_tree(complete_graph(weights))
    assert edge_set(structure) == {tuple(sorted(edge)) for edge in expected.edges}
    assert structure.parents[int(class_information(count(data)).argmax())] == ()
    assert structure.is_forest
    assert structure.n_edges == 6
    assert all(structure.class_children)


@pytest.mark.parametrize("root", [0, 3, "x5"])
def test_the_root_can_be_chosen(root):
    data = linked(1)
    plain, rooted = learn(SpanningTree(), data), learn(SpanningTree(root=root), data)
    position = root if isinstance(root, int) else 5
    assert [i for i, group in enumerate(rooted.parents) if not group] == [position]
    assert edge_set(plain) == edge_set(rooted)


@pytest.mark.parametrize("root", ["age", 6, -1, True, 2.5])
def test_a_root_that_is_no_column_is_refused(root):
    with pytest.raises(
        ValueError, match=r"root names .*, which is not a column; the columns are x0, x1"
    ):
        learn(SpanningTree(root=root), linked(1))


@pytest.mark.parametrize("seed", range(5))
def test_light_edges_can_be_left_out(seed):
    data = linked(seed, n_features=8)
    weights = pair_information(data, count(data)).conditional
    level = float(np.quantile(weights[np.triu_indices(8, 1)], 0.85))
    structure = learn(SpanningTree(min_weight=level), data)
    expected = networkx.maximum_spanning_tree(
        complete_graph(weights, lambda weight: weight >= level)
    )
    assert edge_set(structure) == {tuple(sorted(edge)) for edge in expected.edges}
    assert 0 < structure.n_edges < 7
    assert learn(SpanningTree(min_weight=100.0), data).n_edges == 0


def test_ties_go_to_the_lower_column():
    codes = np.tile(np.array([0, 1, 0, 1, 1, 0, 0, 1], np.uint8), (5, 1))
    data = Encoded(codes, domain_of([2] * 5, 2), np.array([0, 0, 0, 0, 1, 1, 1, 1], np.int32))
    assert learn(SpanningTree(), data).parents == ((), (0,), (0,), (0,), (0,))
    assert learn(KDB(2), data).parents == ((), (0,), (0, 1), (0, 1), (0, 1))


# ---- constraints


def test_required_edges_are_honoured():
    data = linked(2, n_features=7)
    free = learn(SpanningTree(), data)
    absent = [
        (a, b)
        for a in range(7)
        for b in range(7)
        if a != b and tuple(sorted((a, b))) not in edge_set(free)
    ]
    for a, b in absent:
        structure = learn(SpanningTree(required=[(a, f"x{b}")]), data)
        assert structure.parents[b] == (a,)
        assert structure.n_edges == 6
        with_edge = pair_information(data, count(data)).conditional.copy()
        with_edge[a, b] = with_edge[b, a] = 100.0
        best = networkx.maximum_spanning_tree(complete_graph(with_edge))
        assert edge_set(structure) == {tuple(sorted(edge)) for edge in best.edges}


def test_a_required_edge_turns_the_tree():
    data = linked(2)
    for child, group in enumerate(learn(SpanningTree(), data).parents):
        for parent in group:
            turned = learn(SpanningTree(required=[(child, parent)]), data)
            assert turned.parents[parent] == (child,)
            assert edge_set(turned) == edge_set(learn(SpanningTree(), data))


def test_every_part_of_a_forest_turns_for_itself():
    data = linked(3, n_features=8)
    order = np.argsort(-class_information(count(data)), kind="stable").tolist()
    # each against its natural direction
    pairs = [(order[1], order[0]), (order[3], order[2]), (order[5], order[4])]
    structure = learn(SpanningTree(min_weight=100.0, required=pairs), data)
    assert set(structure.edges()) == set(pairs)
    reverse = [(b, a) for a, b in pairs]
    both = learn(SpanningTree(min_weight=100.0, required=pairs, forbidden=reverse), data)
    assert both == structure


def test_forbidden_edges_are_honoured():
    data = linked(4, n_features=7)
    weights = pair_information(data, count(data)).conditional.copy()
    free = learn(SpanningTree(), data)
    for parent, child in free.edges():
        turned = learn(SpanningTree(forbidden=[(parent, child)]), data)
        assert parent not in turned.parents[child]
        assert edge_set(turned) == edge_set(free)
        apart = learn(SpanningTree(forbidden=[(parent, child), (child, parent)]), data)
        without = weights.copy()
        without[parent, child] = without[child, parent] = -1.0
        best = networkx.maximum_spanning_tree(complete_graph(without))
        assert edge_set(apart) == {tuple(sorted(edge)) for edge in best.edges}


@pytest.mark.parametrize("seed", range(40))
def test_a_tree_is_refused_only_where_no_root_allows_it(seed):
    rng = np.random.default_rng(seed)
    data = linked(seed % 5, n_features=5)
    edges = [(a, b) for a in range(5) for b in range(5) if a != b]
    picked = rng.permutation(len(edges))
    required = [edges[k] for k in picked[: rng.integers(0, 3)]]
    forbidden = [edges[k] for k in picked[3 : 3 + rng.integers(0, 4)]]
    weights = pair_information(data, count(data)).conditional.copy()
    for a, b in required:
        weights[a, b] = weights[b, a] = 100.0
    for a, b in forbidden:
        if (b, a) in forbidden:
            weights[a, b] = weights[b, a] = -100.0
    tree = networkx.maximum_spanning_tree(complete_graph(weights))
    directed = [set(networkx.bfs_edges(tree, root)) for root in range(5)]
    allowed = [found for found in directed if found >= set(required) and not found & set(forbidden)]
    learner = SpanningTree(required=required, forbidden=forbidden)
    if allowed:
        assert set(learn(learner, data).edges()) in allowed
    else:
        with pytest.raises(ValueError, match=r"required|forbidden"):
            learn(learner, data)


@pytest.mark.parametrize("learner", [SpanningTree, KDB])
@pytest.mark.parametrize(
    "required, forbidden, message",
    [
        ([("x0", "x1")], [(0, 1)], "the edge x0 -> x1 is required and forbidden"),
        (
            [(0, 1), (1, 2), (2, 0)],
            [],
            "no structure has all required edges: the edges form a cycle: x0 -> x1 -> x2 -> x0",
        ),
        (
            [("x0", "age")],
            [],
            "a required edge names 'age', which is not a column; the columns are x0",
        ),
        ([], [(0, 9)], "a forbidden edge names 9, which is not a column"),
        ([(1, 1)], [], r"the required edge \(1, 1\) joins a column with itself"),
        ([(1, 2, 3)], [], r"required edges are pairs \(parent, child\), not \(1, 2, 3\)"),
        ([], ["x0"], r"forbidden edges are pairs \(parent, child\), not 'x0'"),
    ],
)
def test_constraints_that_make_no_sense_are_refused(learner, required, forbidden, message):
    with pytest.raises(ValueError, match=message):
        learn(learner(required=required, forbidden=forbidden), linked(0))


def test_trees_that_cannot_be_are_refused_with_the_edge_in_the_way():
    data = linked(2)
    with pytest.raises(
        ValueError, match="x0 -> x2 and x1 -> x2 are required, but a tree has only one edge into"
    ):
        learn(SpanningTree(required=[(0, 2), (1, 2)]), data)
    with pytest.raises(
        ValueError, match="x1 -> x0 is required, but the tree can only join them the other way"
    ):
        learn(SpanningTree(required=[(1, 0)], root=0), data)
    star = learn(SpanningTree(required=[(0, i) for i in range(1, 6)]), data)
    assert star.parents == ((), (0,), (0,), (0,), (0,), (0,))
    away = [(i, j) for i in range(6) for j in range(6) if i != j and 0 not in (i, j)]
    hub = [(0, i) for i in range(1, 6)]
    with pytest.raises(
        ValueError, match=r"x0 -> x. is forbidden, but the tree can only join them this way"
    ):
        learn(SpanningTree(forbidden=[*away, *hub[1:]], root=0), data)
    toward = learn(SpanningTree(forbidden=away), data)
    assert all(0 in edge for edge in toward.edges())


def test_kdb_with_too_many_required_parents_is_refused():
    with pytest.raises(ValueError, match="2 parents of 'x2' are required, above k=1"):
        learn(KDB(1, required=[(0, 2), (1, 2)]), linked(0))


# ---- size limits


@pytest.mark.parametrize(
    "learner", [SpanningTree(max_table_size=10**7), KDB(2, max_table_size=10**7)], ids=repr
)
def test_columns_of_many_values_are_not_joined_and_cost_little_memory(learner, monkeypatch):
    counted, original = set(), counting.pairs_by_loop

    def spy(first, seconds, *arguments):
        counted.update((first, int(second)) for second in seconds)
        original(first, seconds, *arguments)

    monkeypatch.setattr(counting, "pairs_by_loop", spy)
    wide = 10_000 if not numba.config.DISABLE_JIT else 2_500
    data = encoded(np.random.default_rng(0), [wide, wide, 2, 3, 1], 2, 500, linked=True)
    counts = count(data)
    tracemalloc.start()
    with pytest.warns(
        UserWarning, match=r"'x0', 'x1'.* left out: a table may have max_table_size=10,000,"
    ):
        structure = learner.learn(data, counts, Context())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (0, 1) not in edge_set(structure)
    assert structure.n_edges > 2
    # never the two together: that table has 1.6 GB
    assert counted == {(a, b) for a in (0, 1) for b in (2, 3, 4)}
    assert peak < 60e6


@pytest.mark.filterwarnings("ignore:.* left out:UserWarning")
@pytest.mark.parametrize("learner", [SpanningTree, KDB])
def test_max_table_size_prevents_a_join(learner):
    data = linked(5)
    data = Encoded(data.codes, data.domain, data.y)
    sizes = np.outer(data.cards, data.cards) * data.n_classes
    limit = int(np.median(sizes))
    structure = learn(learner(max_table_size=limit), data)
    assert structure.n_edges > 0
    assert all(sizes[edge] <= limit for edge in structure.edges())
    assert any(sizes[edge] > limit for edge in learn(learner(), data).edges())
    assert learn(learner(max_table_size=1), data).n_edges == 0
    with pytest.raises(ValueError, match="max_table_size=0 must be at least 1"):
        learn(learner(max_table_size=0), data)
    with pytest.raises(
        ValueError, match="the required edge x0 -> x1 needs a table above max_table_size=3"
    ):
        learn(learner(max_table_size=3, required=[(0, 1)]), data)


def test_max_table_size_counts_all_parents_of_kdb():
    data = encoded(np.random.default_rng(0), [4] * 5, 2, 200, linked=True)
    with pytest.warns(
        UserWarning,
        match="3 edges .* left out: a table may have max_table_size=128 cells, .* have 512",
    ):
        structure = learn(KDB(3, max_table_size=4**3 * 2), data)
    assert structure.max_parents == 2
    assert learn(KDB(3), data).max_parents == 3


# ---- KDB


def kdb_by_definition(data, k):
    """Z17 section 7: order by I(Xi;C), then the k earlier features of largest I(Xi;Xj|C)."""
    relevance, weights = (
        class_information(count(data)),
        pair_information(data, count(data)).conditional,
    )
    order = sorted(range(data.n_features), key=lambda i: (-relevance[i], i))
    return [
        set(sorted(order[: order.index(i)], key=lambda j: (-weights[i, j], j))[:k])
        for i in range(data.n_features)
    ]


@pytest.mark.parametrize("k", [0, 1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_kdb_by_its_definition(seed, k):
    data = linked(seed, n_features=7, gaps=0.1 * (seed % 2))
    structure = learn(KDB(k), data)
    assert [set(group) for group in structure.parents] == kdb_by_definition(data, k)
    assert structure.max_parents == k


def test_selective_kdb_takes_parents_while_the_score_rises():
    data = linked(3)
    counts, score = count(data), edge_score_of("loo")
    weights = score.weights(data, counts)
    structure = learn(KDB(2, score="loo", selective=True), data)
    order = np.argsort(-class_information(counts), kind="stable").tolist()
    assert 0 < structure.n_edges < learn(KDB(2), data).n_edges
    for place, i in enumerate(order):
        candidates = sorted(order[:place], key=lambda p, i=i: -weights[p, i])[:6]
        taken = []
        now = score.family(data, counts, i, ())
        while len(taken) < 2:
            found = {
                p: score.family(data, counts, i, [*taken, p]) for p in candidates if p not in taken
            }
            best = max(found, key=found.get, default=None)
            if best is None or found[best] <= now + 1e-9:
                break
            taken.append(best)
            now = found[best]
        assert structure.parents[i] == tuple(taken)


def test_selective_kdb_finds_no_edges_in_noise():
    data = encoded(np.random.default_rng(0), [4] * 6, 2, 300)
    assert learn(KDB(3, score="mdl", selective=True), data).n_edges == 0


def test_kdb_honours_required_and_forbidden_edges():
    data = linked(6, n_features=6)
    order = np.argsort(-class_information(count(data)), kind="stable").tolist()
    last, first = order[-1], order[0]
    structure = learn(KDB(2, required=[(last, first)]), data)
    assert last in structure.parents[first]
    assert structure.max_parents <= 2
    free = learn(KDB(2), data)
    for parent, child in free.edges():
        barred = learn(KDB(2, forbidden=[(parent, child)]), data)
        assert parent not in barred.parents[child]
        others = [i for i in range(6) if i != child]
        assert [barred.parents[i] for i in others] == [free.parents[i] for i in others]


@pytest.mark.parametrize("k", [-1, 1.5, "2", None])
def test_kdb_refuses_a_k_that_makes_no_sense(k):
    with pytest.raises(ValueError, match=r"k=.* must be a whole number of at least 0"):
        learn(KDB(k), linked(0))


# ---- fixed structures


def test_naive_bayes_has_no_edges():
    assert learn(NaiveBayes(), linked(0)) == Structure.naive(6)


def test_fixed_structures():
    data = linked(0, n_features=3)
    expected = Structure(((), (0,), (1,)))
    assert learn(FixedStructure(expected), data) is expected
    assert learn(FixedStructure([("x0", "x1"), (1, "x2")]), data) == expected
    assert learn(FixedStructure([]), data) == Structure.naive(3)
    with_class = learn(FixedStructure([("y", "x1"), ("x0", "x1")]), data)
    assert with_class == Structure(((), (0,), ()), (False, True, False))


@pytest.mark.parametrize(
    "structure, message",
    [
        (
            Structure.naive(4),
            "the given structure has 4 features and the data 3: it belongs to another table",
        ),
        ([("x0", "x7")], "an edge names 'x7', which is not a feature"),
        ([("x0", "x1"), ("x1", "x0")], "the edges form a cycle: x0 -> x1 -> x0"),
        ([("x0", "y"), ("y", "x0")], "the edges form a cycle"),
        (["x0"], "edges are pairs"),
    ],
)
def test_fixed_structures_that_do_not_fit_are_refused(structure, message):
    with pytest.raises(ValueError, match=message):
        learn(FixedStructure(structure), linked(0, n_features=3))


# ---- odd data, history, threads

SEARCHES = [
    NaiveBayes(),
    SpanningTree(),
    SpanningTree(min_weight=0.01),
    KDB(0),
    KDB(2),
    FixedStructure([]),
]


@pytest.mark.parametrize("learner", SEARCHES, ids=repr)
@pytest.mark.parametrize(
    "cards, n_classes, n_rows",
    [
        ([3], 2, 20),
        ([2, 2], 2, 20),
        ([1, 1, 1], 2, 20),
        ([1, 3, 2], 3, 20),
        ([2, 3], 1, 20),
        ([2, 3, 2], 4, 1),
    ],
)
def test_odd_data_have_an_answer(learner, cards, n_classes, n_rows):
    data = encoded(np.random.default_rng(0), cards, n_classes, n_rows)
    structure = learn(learner, data)
    assert structure.n_features == len(cards)
    full = {"SpanningTree()": len(cards) - 1, "KDB(k=2)": sum(min(i, 2) for i in range(len(cards)))}
    if repr(learner) in full:
        assert structure.n_edges == full[repr(learner)]


@pytest.mark.parametrize("learner", [SpanningTree(), KDB(2)], ids=repr)
def test_a_column_that_is_missing_everywhere(learner):
    data = linked(0)
    data.codes[2] = data.cards[2]
    assert learn(learner, data).n_features == 6


@pytest.mark.parametrize("learner", [SpanningTree(), KDB(2)], ids=repr)
def test_the_history_holds_every_edge_and_its_score(learner):
    data, context = linked(3), Context()
    structure = learn(learner, data, context)
    weights = pair_information(data, count(data)).conditional
    names = data.domain.names
    assert {step["edge"] for step in context.history} == set(structure.edges(names))
    assert len(context.history) == structure.n_edges
    for step in context.history:
        a, b = (names.index(end) for end in step["edge"])
        assert step["score"] == weights[a, b]
        assert type(step["score"]) is float


@pytest.mark.parametrize("learner", [SpanningTree(), KDB(3)], ids=repr)
def test_threads_give_the_same_structure(learner, monkeypatch):
    monkeypatch.setattr("discbayes.engine.threads.THREAD_WORK", 0)
    data = linked(7, n_features=12, n_rows=150)
    assert learn(learner, data, Context(n_jobs=1)) == learn(learner, data, Context(n_jobs=2))


def test_learning_does_not_change_the_learner():
    learner = SpanningTree(root="x1", required=[("x1", "x0")])
    before = learner.get_params()
    learn(learner, linked(0))
    assert learner.get_params() == before
    assert clone(learner).get_params() == before


def test_the_registered_names():
    expected = {
        "nb": "NaiveBayes()",
        "tan": "SpanningTree()",
        "tan-fcll": "SpanningTree(score='fcll')",
        "tan-acll": "Branching()",
        "kdb": "KDB()",
        "ghc": "HillClimb()",
    }
    assert expected.items() <= {name: repr(make()) for name, make in STRUCTURES.items()}.items()
