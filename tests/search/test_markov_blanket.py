"""Hill climbing over networks in which the class may have parents, against all networks."""

from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from test_greedy import run

from coded import encoded
from discbayes import BayesNetClassifier, MarkovBlanketClimb, Structure
from discbayes.network.graph import topological_order

N = 4  # with the class, which is the last


def _is_acyclic(parents):
    try:
        topological_order(parents)
    except ValueError:
        return False
    return True


@cache
def all_networks():
    """The parents of each node of all 543 networks of four nodes."""
    others = [[p for p in range(N) if p != i] for i in range(N)]
    groups = [
        [
            tuple(p for p, one in zip(rest, bits, strict=True) if one)
            for bits in product((0, 1), repeat=N - 1)
        ]
        for rest in others
    ]
    return [parents for parents in product(*groups) if _is_acyclic(parents)]


def bic_of_family(codes, cards, child, parents):
    """The log likelihood of a family less ½ log M for each parameter, written out."""
    table = np.zeros([cards[i] for i in (*parents, child)])
    np.add.at(table, tuple(codes[[*parents, child]]), 1)
    total = table.sum(axis=-1, keepdims=True)
    value = (table[table > 0] * np.log((table / np.maximum(total, 1))[table > 0])).sum()
    free = (cards[child] - 1) * np.prod([cards[p] for p in parents])
    return value - 0.5 * np.log(codes.shape[1]) * free


def drawn(seed, n_rows=400):
    """Rows of a random network of four nodes."""
    rng = np.random.default_rng(seed)
    cards = rng.integers(2, 4, N)
    parents = all_networks()[rng.integers(len(all_networks()))]
    codes = np.zeros((N, n_rows), np.int64)
    for i in topological_order(parents):
        table = rng.dirichlet(np.ones(cards[i]), [cards[p] for p in parents[i]])
        shares = (
            table[tuple(codes[list(parents[i])])] if parents[i] else np.tile(table, (n_rows, 1))
        )
        codes[i] = (rng.random(n_rows)[:, None] > shares.cumsum(axis=1)[:, :-1]).sum(axis=1)
    data = encoded(rng, cards[:-1].tolist(), int(cards[-1]), n_rows)
    data.codes[:] = codes[:-1]
    data.y[:] = codes[-1]
    return data, codes, cards


def nodes_of(structure):
    groups = zip(structure.parents, structure.class_children, strict=True)
    return [*((*group, *[N - 1] * flag) for group, flag in groups), structure.class_parents]


@pytest.mark.parametrize("block", range(3))
def test_the_best_of_all_networks_is_found_or_no_move_improves(block):
    best_found = 0
    for seed in range(10 * block, 10 * block + 10):
        data, codes, cards = drawn(seed)
        family = cache(
            lambda i, group, codes=codes, cards=cards: bic_of_family(codes, cards, i, group)
        )

        def score(parents, family=family):
            return sum(family(i, tuple(sorted(group))) for i, group in enumerate(parents))

        found, history = run(MarkovBlanketClimb(), data)
        value = score(nodes_of(found))
        if history:
            assert history[-1]["score"] == pytest.approx(value, abs=1e-6)
        best = max(map(score, all_networks()))
        assert value <= best + 1e-6
        best_found += value >= best - 1e-6
        # no network that differs by one edge is better
        edges = {(p, i) for i, group in enumerate(nodes_of(found)) for p in group}
        for parents in all_networks():
            more = {(p, i) for i, group in enumerate(parents) for p in group} ^ edges
            if len(more) == 1 or (len(more) == 2 and len({frozenset(e) for e in more}) == 1):
                assert score(parents) <= value + 1e-6
    assert best_found >= 7  # the other climbs end at a local optimum


def test_only_edges_of_the_blanket_and_required_ones_are_kept():
    for seed in range(10):
        data, _, _ = drawn(seed)
        every, _ = run(MarkovBlanketClimb(), data)
        blanket, _ = run(MarkovBlanketClimb(keep="blanket"), data)
        assert blanket.class_parents == every.class_parents
        assert blanket.class_children == every.class_children
        for own, group, flag in zip(
            blanket.parents, every.parents, every.class_children, strict=True
        ):
            assert own == (group if flag else ())
        kept, _ = run(MarkovBlanketClimb(keep="blanket", required=[("x1", "x0")]), data)
        assert 1 in kept.parents[0]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    n = 3000
    age, smokes, other = rng.random(n) < 0.5, rng.random(n) < 0.4, rng.random(n) < 0.5
    sick = rng.random(n) < np.where(age & smokes, 0.7, 0.1)
    cough = rng.random(n) < np.where(sick ^ other, 0.8, 0.2)
    X = pd.DataFrame({"old": age, "smokes": smokes, "other": other, "cough": cough})
    return X, pd.Series(np.where(sick, "sick", "well"), name="disease")


def test_parents_children_and_their_parents_are_found(rows):
    X, y = rows
    net = BayesNetClassifier("blanket", "map").fit(X, y).network_
    assert set(net.class_parents) == {"old", "smokes"}
    assert set(net.edges()) == {("other", "cough")}


def test_constraints_name_the_class_by_the_target(rows):
    X, y = rows
    learner = MarkovBlanketClimb(forbidden=[("old", "disease")], required=[("disease", "smokes")])
    net = BayesNetClassifier(learner, "map").fit(X, y).network_
    assert "old" not in net.class_parents
    assert ("disease", "smokes") in net.edges(with_class=True)
    start = [("cough", "disease")]
    learner = MarkovBlanketClimb(start=start, max_time=1e6, required=start)
    assert "cough" in BayesNetClassifier(learner, "map").fit(X, y).network_.class_parents
    given = Structure(((), (), (), ()), (False,) * 4, class_parents=(3,))
    same = MarkovBlanketClimb(start=given, required=start)
    assert "cough" in BayesNetClassifier(same, "map").fit(X, y).network_.class_parents


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"score": "fcll"}, 'needs a score of all columns: "mdl", "ll" or "loo"'),
        ({"max_parents": 0}, "max_parents=0 must be a whole number of at least 1"),
        ({"keep": "some"}, "keep='some' is not one of 'all', 'blanket'"),
        ({"required": [("a", "class"), ("class", "a")]}, "form a cycle: a -> class -> a"),
    ],
)
def test_wrong_settings(settings, message):
    X, y = pd.DataFrame({"a": list("xy" * 10)}), list("uv" * 10)
    with pytest.raises(ValueError, match=message):
        BayesNetClassifier(MarkovBlanketClimb(**settings), "map").fit(X, y)


def test_missing_values_and_many_classes():
    rng = np.random.default_rng(0)
    data = encoded(rng, [3, 2, 300], 300, 500)
    with pytest.warns(UserWarning, match="left out"):
        found, _ = run(MarkovBlanketClimb("loo"), data)
    assert found.n_features == 3
    X = pd.DataFrame({"a": rng.choice(["u", "v", None], 300), "b": rng.choice(["k", "l"], 300)})
    y = np.where(X["a"] == "u", "yes", "no")
    net = BayesNetClassifier("blanket", "map").fit(X, y).network_
    assert net.class_parents == ("a",) or ("class", "a") in net.edges(with_class=True)
