"""Structures against direct definitions: order, moral graph, treewidth, Condition 1; tables and
their layout.
"""

from __future__ import annotations

import pickle
import time
from itertools import combinations, permutations

import networkx
import numpy as np
import pytest

import oracle
from discbayes.network import CLASS, CPTs, Layout, Structure

# ---- validation


@pytest.mark.parametrize(
    "parents, message",
    [
        (((2,), (0,), (1,)), "form a cycle: 0 -> 1 -> 2 -> 0"),
        (((1,), (0,), ()), "form a cycle: 0 -> 1 -> 0"),
        (((), (1,)), "feature 1 is listed as its own parent"),
        (((), (0, 0)), r"feature 1 lists a parent twice: \(0, 0\)"),
        (((), (2,)), "feature 1 has the parent 2, but the features are 0 to 1"),
        (((-1,), ()), "feature 0 has the parent -1"),
    ],
)
def test_bad_parents_are_refused(parents, message):
    with pytest.raises(ValueError, match=message):
        Structure(parents)


def test_only_the_cycle_is_named():
    with pytest.raises(ValueError, match=r"cycle: 2 -> 4 -> 3 -> 2$"):
        Structure(((), (0,), (0, 3), (4,), (2,), (3,)))


def test_a_wrong_number_of_class_children_is_refused():
    with pytest.raises(ValueError, match="class_children has 1 entries for 2 features"):
        Structure(((), ()), (True,))


def test_the_class_is_a_parent_of_all_unless_said_otherwise():
    assert Structure(((), (0,))).class_children == (True, True)
    assert Structure(((), (0,)), (False, False)).class_children == (False, False)


# ---- order, children, listing


@pytest.mark.parametrize("seed", range(20))
def test_order_and_children(seed):
    structure = oracle.random_structure(np.random.default_rng(seed), 9)
    place = {node: k for k, node in enumerate(structure.order)}
    assert sorted(structure.order) == list(range(9))
    assert all(place[p] < place[i] for i, group in enumerate(structure.parents) for p in group)
    assert structure.order == tuple(networkx.lexicographical_topological_sort(_digraph(structure)))
    for i in range(9):
        assert structure.children[i] == tuple(k for k in range(9) if i in structure.parents[k])
    assert structure.n_edges == sum(map(len, structure.parents))
    assert structure.max_parents == max(map(len, structure.parents))
    assert structure.is_forest == (structure.max_parents <= 1)


def _digraph(structure):
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(structure.n_features))
    graph.add_edges_from(structure.edges())
    return graph


@pytest.mark.parametrize("seed", range(10))
def test_edge_lists_and_networkx_graphs_come_back(seed):
    structure = oracle.random_structure(np.random.default_rng(seed), 6)
    names = list("abcdef")
    edges = structure.edges(names, "class")
    assert Structure.from_edges(edges, names, "class") == structure
    graph = structure.to_networkx(names, "class")
    again = Structure.from_networkx(graph, names, "class")
    assert [set(group) for group in again.parents] == [set(group) for group in structure.parents]
    assert again.class_children == structure.class_children
    assert set(graph.nodes) == {*names, "class"}
    assert graph.number_of_edges() == structure.n_edges + sum(structure.class_children)


def test_edges_by_position_and_without_the_class():
    structure = Structure.from_edges(
        [(0, "c"), ("a", 1), (np.int64(1), np.int64(2)), ("a", "b")], ["a", "b", "c"]
    )
    assert structure.parents == ((), (0,), (0, 1))
    assert structure.class_children == (True, True, True)
    assert structure.edges() == [(0, 1), (0, 2), (1, 2)]


def test_class_edges_say_whose_parent_the_class_is():
    structure = Structure.from_edges([("y", "b"), ("b", "a")], ["a", "b"], "y")
    assert structure.class_children == (False, True)
    assert structure.edges(["a", "b"], "y") == [("y", "b"), ("b", "a")]


@pytest.mark.parametrize(
    "edges, names, message",
    [
        ([("a", "z")], ["a", "b"], "names 'z', which is not a feature; the features are"),
        ([("a", 2)], ["a", "b"], "names 2, which is not a feature"),
        ([("a", True)], ["a", "b"], "names True, which is not a feature"),
        ([("a", "y"), ("y", "b"), ("b", "a")], ["a", "b"], "the edges form a cycle"),
        ([], ["a", "a"], "two features have the same name"),
        ([], ["a", "y"], "'y' is the name of a feature and of the class"),
        (
            [("a", "b", "c")],
            ["a", "b", "c"],
            r"edges are pairs \(parent, child\), not \('a', 'b', 'c'\)",
        ),
        (["ab"], ["a", "b"], r"edges are pairs \(parent, child\), not 'ab'"),
        ([("a", "b"), ("b", "c"), ("c", "a")], ["a", "b", "c"], "cycle: a -> b -> c -> a"),
    ],
)
def test_edge_lists_that_make_no_sense_are_refused(edges, names, message):
    with pytest.raises(ValueError, match=message):
        Structure.from_edges(edges, names, "y")


def test_structures_are_values():
    one, two = Structure(((), [0])), Structure([[], (np.int64(0),)], [1, 1])
    assert one == two
    assert hash(one) == hash(two)
    assert one != Structure(((), (0,)), (True, False))
    assert len({one, two, Structure.naive(2)}) == 2
    _ = one.children
    again = pickle.loads(pickle.dumps(one))
    assert again == one
    assert again.order == one.order
    with pytest.raises(AttributeError):
        one.parents = ()


# ---- moral graph and treewidth


@pytest.mark.parametrize("with_class", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_moral_graph_by_its_definition(seed, with_class):
    structure = oracle.random_structure(np.random.default_rng(seed), 7)
    got = structure.moral_graph(with_class)
    nodes = range(-1 if with_class else 0, 7)
    assert sorted(got) == list(nodes)
    for a, b in combinations(nodes, 2):
        together = any({a, b} <= set(structure.family(i)) for i in range(7))
        assert (b in got[a]) == (a in got[b]) == together


def brute_treewidth(graph):
    """The least, over all elimination orders, of the largest neighbourhood at elimination."""
    best = len(graph)
    for order in permutations(graph):
        left = {node: set(neighbours) for node, neighbours in graph.items()}
        width = 0
        for node in order:
            neighbours = left.pop(node)
            width = max(width, len(neighbours))
            if width >= best:
                break
            for a in neighbours:
                left[a] = (left[a] | neighbours) - {a, node}
        best = min(best, width)
    return best


@pytest.mark.parametrize("with_class", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_treewidth_equals_a_search_over_all_orders(seed, with_class):
    rng = np.random.default_rng(seed)
    structure = oracle.random_structure(rng, int(rng.integers(1, 7)), max_parents=2 + seed % 2)
    assert structure.treewidth(with_class) == brute_treewidth(structure.moral_graph(with_class))


@pytest.mark.parametrize("loose_bounds", [False, True])
def test_treewidth_of_random_graphs(loose_bounds, monkeypatch):
    """On small graphs the bounds meet; with loose ones the exact search has to find the answer."""
    from discbayes.network import graph as module

    rng = np.random.default_rng(0)
    for _ in range(25):
        graph = {node: set() for node in range(7)}
        for a, b in combinations(range(7), 2):
            if rng.random() < 0.5:
                graph[a].add(b)
                graph[b].add(a)
        exact = brute_treewidth(graph)
        if loose_bounds:
            monkeypatch.setattr(module, "treewidth_bounds", lambda core: (0, len(core)))
        else:
            lower, upper = module.treewidth_bounds(graph)
            assert lower <= exact <= upper
        assert module.treewidth(graph) == exact


def test_treewidth_of_known_graphs():
    from discbayes.network.graph import treewidth

    def graph_of(nx_graph):
        nodes = {node: k for k, node in enumerate(nx_graph)}
        return {nodes[node]: {nodes[other] for other in nx_graph[node]} for node in nx_graph}

    assert treewidth(graph_of(networkx.grid_2d_graph(4, 4))) == 4
    assert treewidth(graph_of(networkx.petersen_graph())) == 4
    assert treewidth(graph_of(networkx.cycle_graph(9))) == 2
    assert treewidth(graph_of(networkx.complete_graph(6))) == 5
    assert treewidth(graph_of(networkx.complete_bipartite_graph(3, 5))) == 3
    assert treewidth({}) == 0


@pytest.mark.parametrize("seed", range(3))
def test_trees_have_treewidth_one_and_with_the_class_two(seed):
    rng = np.random.default_rng(seed)
    tree = Structure(((), *((int(rng.integers(i)),) for i in range(1, 40))))
    assert tree.treewidth() == 1
    assert tree.treewidth(with_class=True) == 2
    assert Structure.naive(5).treewidth() == 0
    assert Structure.naive(5).treewidth(with_class=True) == 1


def test_a_star_of_thousands_is_quick():
    star = Structure(((), *((0,) for _ in range(3000))))
    start = time.perf_counter()
    assert star.treewidth() == 1
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize("k", [2, 3])
def test_k_trees_have_treewidth_k(k):
    """Each new node joins the nodes of a clique that is there: treewidth k, whatever the number of
    nodes.
    """
    rng = np.random.default_rng(k)
    parents, cliques = [tuple(range(i)) for i in range(k + 1)], list(combinations(range(k + 1), k))
    for node in range(k + 1, 60):
        clique = cliques[rng.integers(len(cliques))]
        parents.append(clique)
        cliques += [(*(c for c in clique if c != left_out), node) for left_out in clique]
    assert Structure(tuple(parents)).treewidth() == k


def test_a_large_dense_structure_raises_with_bounds():
    rng = np.random.default_rng(0)
    parents = [
        tuple(sorted(rng.choice(i, size=min(i, 3), replace=False).tolist())) if i else ()
        for i in range(60)
    ]
    with pytest.raises(
        ValueError, match=r"lies between (\d+) and (\d+); finding it exactly"
    ) as error:
        Structure(tuple(parents)).treewidth()
    lower, upper = (
        int(word) for word in str(error.value).replace(";", "").split() if word.isdigit()
    )
    assert 3 <= lower < upper < 60


# ---- moral features and Condition 1


def all_parents(structure):
    """The parents of every feature as sets, the class among them."""
    return [
        set(group) | ({CLASS} if flag else set())
        for group, flag in zip(structure.parents, structure.class_children, strict=True)
    ]


@pytest.mark.parametrize("seed", range(40))
def test_condition_1_covering_parents_and_morality_by_definition(seed):
    rng = np.random.default_rng(seed)
    structure = oracle.random_structure(rng, int(rng.integers(1, 6)), max_parents=2)
    above = all_parents(structure)
    covered = []
    for i, group in enumerate(above):
        covers = [y for y in group if group <= {y} | (set() if y == CLASS else above[y])]
        found = structure.covering_parent(i)
        assert (found is None) == (not covers)
        assert found is None or found in covers
        covered.append(bool(covers))
    assert structure.is_c1 == all(
        ok for ok, group in zip(covered, above, strict=True) if CLASS in group
    )

    def joined(a, b):
        return any(x != CLASS and y in above[x] for x, y in ((a, b), (b, a)))

    immoral = [
        i
        for i, group in enumerate(above)
        if not all(joined(a, b) for a, b in combinations(group, 2))
    ]
    assert structure.immoral_features == tuple(immoral)
    assert structure.is_moral == (not immoral)


def test_both_answers_of_condition_1_occur():
    rng = np.random.default_rng(1)
    answers = {oracle.random_structure(rng, 5, max_parents=2).is_c1 for _ in range(40)}
    assert answers == {True, False}


def test_classics_and_condition_1():
    assert Structure.naive(4).is_c1
    assert Structure(((), (0,), (0,), (2,))).is_c1
    assert Structure(((), (0,), (0, 1))).is_c1
    assert not Structure(((), (), (0, 1))).is_c1
    assert not Structure(((), (0,)), (False, True)).is_c1
    assert Structure(((), (), (0, 1)), (True, True, False)).is_c1
    assert Structure(((), (), (0, 1))).immoral_features == (2,)
    assert Structure(((), (0,)), (False, True)).immoral_features == (1,)


# ---- layout and tables


@pytest.mark.parametrize("seed", range(10))
def test_layout_is_the_order_of_numpy(seed):
    rng = np.random.default_rng(seed)
    structure = oracle.random_structure(rng, 5)
    cards = rng.integers(1, 5, size=5)
    layout = Layout(structure, cards, 3)
    start = 0
    for i, group in enumerate(structure.parents):
        shape = (*cards[list(group)], cards[i], 3)
        assert layout.shapes[i] == shape
        assert layout.offsets[i] == start
        cell = tuple(rng.integers(shape))
        at = layout.offsets[i] + cell[-2] * 3 + cell[-1]
        strides = layout.parent_stride[layout.parent_start[i] : layout.parent_start[i + 1]]
        assert layout.parent_index[
            layout.parent_start[i] : layout.parent_start[i + 1]
        ].tolist() == list(group)
        at += sum(code * stride for code, stride in zip(cell[:-2], strides, strict=True))
        assert at - start == np.ravel_multi_index(cell, shape)
        flat = np.arange(layout.size)
        assert layout.table(flat, i)[cell] == at
        start += int(np.prod(shape))
    assert layout.size == start


@pytest.mark.parametrize("seed", range(5))
def test_row_totals(seed):
    rng = np.random.default_rng(seed)
    layout = Layout(oracle.random_structure(rng, 4), rng.integers(1, 5, size=4), 3)
    flat = rng.random(layout.size)
    totals = layout.row_totals(flat)
    for i in range(4):
        expected = layout.table(flat, i).sum(axis=-2, keepdims=True)
        np.testing.assert_allclose(
            layout.table(totals, i), np.broadcast_to(expected, layout.shapes[i]), rtol=1e-13
        )


def test_a_layout_of_the_wrong_size_is_refused():
    with pytest.raises(ValueError, match="the structure has 2 features and the data 3"):
        Layout(Structure.naive(2), np.array([2, 2, 2]), 2)


def test_a_table_that_no_memory_holds_is_refused_by_name():
    layout = Layout(Structure((*((),) * 70, tuple(range(70)))), np.full(71, 2), 2)
    with pytest.raises(
        ValueError, match=r"table of feature 70 would have 4\.72e\+21 cells, as it has 70 parents"
    ):
        _ = layout.size


def test_tables_of_the_wrong_size_or_with_nonsense_are_refused():
    layout = Layout(Structure.naive(1), np.array([3]), 2)
    good = np.log(np.full(6, 1 / 3)), np.log([0.5, 0.5])
    with pytest.raises(
        ValueError, match="have 2 classes and 5 cells where the structure needs 2 and 6"
    ):
        CPTs(layout, good[1], good[0][:5])
    with pytest.raises(ValueError, match="have 3 classes"):
        CPTs(layout, np.zeros(3), good[0])
    for nonsense in (np.nan, np.inf):
        for at in (0, 1):
            values = [good[0].copy(), good[1].copy()]
            values[at][1] = nonsense
            with pytest.raises(ValueError, match="NaN or infinite"):
                CPTs(layout, values[1], values[0])


def test_number_of_parameters_by_hand():
    structure = Structure(((), (0,), (0, 1), ()), (True, True, False, False))
    tables = oracle.random_tables(np.random.default_rng(0), structure, [2, 3, 4, 5], 3)
    assert tables.n_parameters == 2 + 1 * 3 + 2 * 2 * 3 + 3 * 6 + 4
    naive = oracle.random_tables(np.random.default_rng(0), Structure.naive(2), [1, 2], 1)
    assert naive.n_parameters == 1


def test_normalised_or_not():
    rng = np.random.default_rng(0)
    structure = Structure(((), (0,), (0, 1)), (True, False, True))
    tables = oracle.random_tables(rng, structure, [2, 3, 1], 2)
    assert tables.is_normalized
    assert not oracle.random_tables(rng, structure, [2, 3, 1], 2, normalized=False).is_normalized
    changed = tables.log_theta.copy()
    changed[-1] += 1e-6
    assert not CPTs(tables.layout, tables.log_prior, changed).is_normalized
    assert not CPTs(tables.layout, tables.log_prior + 1e-6, tables.log_theta).is_normalized
    # exp overflows
    assert not CPTs(tables.layout, tables.log_prior, tables.log_theta + 800.0).is_normalized


def test_theta_and_shifts_of_tables_far_from_one():
    rng = np.random.default_rng(1)
    tables = oracle.random_tables(rng, Structure(((), (0,))), [2, 3], 2, normalized=False)
    far = CPTs(tables.layout, tables.log_prior, tables.log_theta + 900.0)
    assert np.isfinite(far.theta).all()
    assert far.theta.max() == 1.0
    back = np.log(far.theta) + np.repeat(far.shifts, np.diff(far.layout.offsets))
    np.testing.assert_allclose(back, far.log_theta, rtol=1e-13)
    for i in range(2):
        assert far.smallest[i] == far.layout.table(far.theta, i).min()


def test_log_table_is_a_view_on_the_numbers():
    tables = oracle.random_tables(np.random.default_rng(0), Structure(((), (0,))), [2, 3], 2)
    assert tables.log_table(1).shape == (2, 3, 2)
    assert np.shares_memory(tables.log_table(1), tables.log_theta)
    np.testing.assert_allclose(np.exp(tables.log_table(1)).sum(axis=1), 1.0)


def test_tables_that_do_not_fit_into_the_range_of_a_double_have_no_smallest_entry():
    layout = Layout(Structure(((), (0,))), np.array([2, 2]), 2)
    log_theta = np.full(layout.size, np.log(0.5))
    layout.table(log_theta, 1)[:, 0] = -800.0
    layout.table(log_theta, 1)[:, 1] = 0.0
    probabilities = CPTs(layout, np.log([0.1, 0.9]), log_theta)
    assert probabilities.is_normalized
    np.testing.assert_array_equal(probabilities.smallest, [0.5, 0.0])
    layout.table(log_theta, 1)[:, 1] = 0.5
    free = CPTs(layout, np.log([0.1, 0.9]), log_theta)
    assert not free.is_normalized
    np.testing.assert_array_equal(free.smallest, [1.0, 0.0])
    layout.table(log_theta, 1)[:, 0] = -np.inf  # impossible is another matter
    np.testing.assert_array_equal(CPTs(layout, np.log([0.1, 0.9]), log_theta).smallest, [1.0, 1.0])
