"""Tables of families by EM: against walks over all rows, then the scores and the searches on
them.
"""

from __future__ import annotations

import re
from itertools import product

import numba
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from coded import domain_of, encoded, rows_of
from discbayes import BayesNetClassifier, load
from discbayes.counts import (
    class_information,
    count,
    count_extensions,
    count_family,
    pair_information,
    visit_pairs,
)
from discbayes.counts import contingency as count_tables
from discbayes.data.domain import Encoded
from discbayes.engine import Context
from discbayes.kernels import saturated
from discbayes.scores import (
    EDGE_SCORES,
    ApproximateLikelihood,
    ConditionalInformation,
    DescriptionLength,
    FactorizedLikelihood,
    LeaveOneOutLikelihood,
    LogLikelihood,
)
from discbayes.search import KDB, Branching, HillClimb, SpanningTree
from formulas import informations

UNCOMPILED = bool(numba.config.DISABLE_JIT)
REFUSING = (DescriptionLength, LeaveOneOutLikelihood)
SCORES = sorted((name, kind) for name, kind in EDGE_SCORES.items() if kind not in REFUSING)
CARDS = (3, 2, 4, 2)

every_score = pytest.mark.parametrize(
    "kind", [kind for _, kind in SCORES], ids=[name for name, _ in SCORES]
)


def drawn(seed, gaps=0.3, n_classes=2, weighted=False, cards=CARDS, n_rows=60):
    return encoded(
        np.random.default_rng(seed), list(cards), n_classes, n_rows, gaps, weighted, linked=True
    )


def weight_of(data):
    return np.ones(data.n_samples) if data.weight is None else data.weight


# ---- rows, one by one


def states_of(row, cards):
    """All states that a row may be in."""
    return list(
        product(
            *(range(card) if x == card else [int(x)] for x, card in zip(row, cards, strict=True))
        )
    )


def padded_of(data, family):
    """The table of a family in which a gap is one more value of every feature."""
    cards = data.cards[list(family)]
    table = np.zeros((*(cards + 1), data.n_classes))
    for row, c, weight in zip(data.codes[list(family)].T, data.y, weight_of(data), strict=True):
        table[(*(int(x) for x in row), c)] += weight
    return table


def independent(data, family, c):
    """Shares of a table of a class whose features are independent; where a class knows none, as in
    all rows.
    """
    cards, weight, table = data.cards, weight_of(data), np.ones(())
    for i in family:
        seen = [weight[(data.codes[i] == k) & (data.y == c)].sum() for k in range(cards[i])]
        if not sum(seen):
            seen = [weight[data.codes[i] == k].sum() for k in range(cards[i])]
        if not sum(seen):
            seen = np.ones(cards[i])
        table = np.multiply.outer(table, np.array(seen) / np.sum(seen))
    return table


def known_rows(data, family, c):
    """The rows of a class that know any feature of the family, and their weights."""
    codes, cards = data.codes[list(family)], data.cards[list(family)]
    kept = (data.y == c) & (codes < cards[:, None]).any(axis=0) & (weight_of(data) > 0)
    return codes[:, kept].T, weight_of(data)[kept]


def em_of_rows(data, family, n_iter):
    """The tables of all classes after some iterations, each row spread over the states it may be
    in.
    """
    cards = data.cards[list(family)]
    out = np.zeros((*cards, data.n_classes))
    for c in range(data.n_classes):
        rows, weight = known_rows(data, family, c)
        theta, complete = independent(data, family, c), (rows < cards).all(axis=1)
        if weight.size:
            theta = saturated.SHARE * weight.sum() * theta
            for row, w in zip(rows[complete], weight[complete], strict=True):
                theta[tuple(row)] += w
            for _ in range(n_iter):
                theta = spread_rows(rows, weight, theta / theta.sum())
        out[..., c] = theta * weight_of(data)[data.y == c].sum() / theta.sum()
    return out


def spread_rows(rows, weight, theta):
    new = np.zeros_like(theta)
    for row, w in zip(rows, weight, strict=True):
        states = states_of(row, theta.shape)
        total = sum(theta[state] for state in states)
        for state in states:
            new[state] += w * theta[state] / total
    return new


def log_likelihood(data, family, table):
    """Σ w·log P(x observed | c) of the rows."""
    found = 0.0
    for c in range(data.n_classes):
        rows, weight = known_rows(data, family, c)
        theta = table[..., c] / max(table[..., c].sum(), 1e-300)
        found += sum(
            w * np.log(sum(theta[s] for s in states_of(row, theta.shape)))
            for row, w in zip(rows, weight, strict=True)
        )
    return found


def completed(data, family, max_iter=1000, tol=1e-12):
    """The table of a family by the kernel."""
    padded, cards = padded_of(data, family), data.cards[list(family)]
    out = np.empty((*cards, data.n_classes))
    saturated.complete_table(
        padded.ravel(), cards + 1, cards, data.n_classes, max_iter, tol, out.reshape(-1)
    )  # fmt: skip
    return out


KINDS = [
    (1, (0, 1), 2, False),
    (2, (2, 0), 3, True),
    (3, (1, 3, 0), 2, True),
    (4, (3, 2), 1, False),
]


@pytest.mark.parametrize("seed, family, n_classes, weighted", KINDS)
def test_iterations_are_those_of_the_rows_one_by_one(seed, family, n_classes, weighted):
    data = drawn(seed, n_classes=n_classes, weighted=weighted)
    for n_iter in (1, 2, 5, 20):
        found = completed(data, family, n_iter, tol=-1.0)
        np.testing.assert_allclose(found, em_of_rows(data, family, n_iter), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed, family, n_classes, weighted", KINDS)
def test_the_likelihood_never_falls_and_ends_at_the_top(seed, family, n_classes, weighted):
    data = drawn(seed, n_classes=n_classes, weighted=weighted)
    values = [
        log_likelihood(data, family, completed(data, family, k, tol=-1.0)) for k in range(1, 25)
    ]
    assert (np.diff(values) >= -1e-10).all()
    assert values[-1] > values[0] + 1e-4
    table = completed(data, family)
    top = log_likelihood(data, family, table)
    assert top >= values[-1] - 1e-9
    rng = np.random.default_rng(0)
    for _ in range(10):
        assert log_likelihood(data, family, table * rng.uniform(0.9, 1.1, table.shape)) < top
    # concave: where no direction to a single cell rises there is no better table
    for c in range(n_classes):
        rows, weight = known_rows(data, family, c)
        theta = table[..., c] / table[..., c].sum()
        slope = np.zeros_like(theta)
        for row, w in zip(rows, weight, strict=True):
            states = states_of(row, theta.shape)
            for state in states:
                slope[state] += w / sum(theta[s] for s in states) / weight.sum()
        assert slope.max() < 1 + 1e-3


@pytest.mark.parametrize("seed", range(3))
def test_the_start_does_not_matter_where_the_rows_tell_all(seed):
    data = drawn(seed, gaps=0.2, cards=(2, 2), n_rows=200)
    rows, weight = known_rows(data, (0, 1), 0)
    theta = np.random.default_rng(seed).random((2, 2))
    for _ in range(100):
        theta = spread_rows(rows, weight, theta / theta.sum())
    expected = theta * (data.y == 0).sum() / theta.sum()
    np.testing.assert_allclose(completed(data, (0, 1))[..., 0], expected, rtol=1e-5)


def test_totals_of_classes_are_those_of_all_rows():
    data = drawn(5, n_classes=3, weighted=True)
    for family in [(0,), (0, 1), (3, 0, 2)]:
        np.testing.assert_allclose(
            completed(data, family).reshape(-1, 3).sum(axis=0), count(data).class_count
        )


# ---- what is known in closed form


def test_gaps_in_one_feature_have_a_closed_form():
    data = drawn(6, n_classes=2, weighted=True)
    data.codes[0] = np.minimum(data.codes[0], data.cards[0] - 1)  # no gaps left there
    found, whole = count_family(data, 2, (0,), em=True), count_family(data, 2, (0,))
    of_parent = count(data).feature(0)
    for p, c in product(range(3), range(2)):
        assert whole[p, :, c].sum() > 0
        expected = whole[p, :, c] / whole[p, :, c].sum() * of_parent[p, c]
        np.testing.assert_allclose(found[p, :, c], expected, rtol=1e-12)


def test_values_never_seen_together_are_independent():
    # the second is never seen with value 1
    codes = np.array([[0, 0, 0, 1, 1, 1, 1], [0, 1, 1, 2, 2, 2, 2]], np.uint8)
    data = Encoded(codes, domain_of([2, 2], 1), np.zeros(7, np.int32))
    found = count_family(data, 1, (0,), em=True)[..., 0]
    np.testing.assert_allclose(found, [[1, 2], [4 / 3, 8 / 3]])
    assert pair_information(data, count(data), em=True).conditional[0, 1] == pytest.approx(
        0, abs=1e-12
    )


def test_zeros_of_the_counts_are_no_trap():
    """Both features of a value are often seen alone, never together: the likelihood wants them
    together.
    """
    gap = 2
    codes = np.array([[0, 1, *[0] * 40, *[gap] * 40], [0, 1, *[gap] * 40, *[1] * 40]], np.uint8)
    data = Encoded(codes, domain_of([2, 2], 1), np.zeros(82, np.int32))
    found = count_family(data, 1, (0,), em=True)[..., 0]
    assert found[0, 1] > 40
    assert log_likelihood(data, (0, 1), found[..., None]) > log_likelihood(
        data, (0, 1), np.array([[[41.0], [0.0]], [[0.0], [41.0]]])
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_single_features_are_completed_within_classes(weighted):
    data = drawn(7, n_classes=3, weighted=weighted)
    data.codes[1, data.y == 2] = data.cards[1]  # never seen in this class
    data.codes[3] = data.cards[3]  # never seen at all
    counts = count(data)
    for i in range(4):
        expected = counts.class_count * np.stack(
            [independent(data, (i,), c) for c in range(3)], axis=-1
        )
        np.testing.assert_allclose(counts.completed.feature(i), expected)
        np.testing.assert_allclose(completed(data, (i,)), expected)
    assert class_information(counts.completed)[3] == pytest.approx(0, abs=1e-12)


# ---- the same tables by all ways


@pytest.mark.parametrize("n_classes, weighted", [(2, False), (3, True), (1, False)])
def test_families_extensions_and_pairs_are_the_same_tables(n_classes, weighted):
    data = drawn(8, n_classes=n_classes, weighted=weighted)
    if n_classes == 3:
        data.codes[1] = np.minimum(data.codes[1], data.cards[1] - 1)
    counts, pairs = count(data), {}

    def visit(first, seconds, starts, cells):
        for b, start in zip(seconds, starts, strict=True):
            shape = (*data.cards[[first, b]], n_classes)
            pairs[first, b] = cells[start : start + np.prod(shape)].reshape(shape).copy()

    visit_pairs(data, counts, visit, em=True)
    assert len(pairs) == 6
    for (a, b), table in pairs.items():
        expected = completed(data, (a, b))
        np.testing.assert_allclose(table, expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(
            count_family(data, b, (a,), em=True), expected, rtol=1e-9, atol=1e-9
        )
    for child, parents, more in [(0, (), [1, 2, 3]), (1, (3,), [0, 2])]:
        for p, table in zip(
            more, count_extensions(data, child, parents, more, em=True), strict=True
        ):
            expected = count_family(data, child, (*parents, p), em=True).reshape(table.shape)
            np.testing.assert_allclose(table, expected, rtol=1e-9, atol=1e-9)


@every_score
@pytest.mark.parametrize(
    "n_classes, weighted", [(2, True)] if UNCOMPILED else [(2, True), (3, False)]
)
def test_a_weight_is_the_difference_of_two_families(kind, n_classes, weighted):
    data = drawn(9, n_classes=n_classes, weighted=weighted)
    counts, score = count(data), kind(missing="em")
    weights = score.weights(data, counts)
    assert np.abs(weights - kind().weights(data, counts)).max() > 1e-3
    for p, i in product(range(4), repeat=2):
        if p != i:
            gain = score.family(data, counts, i, (p,)) - score.family(data, counts, i, ())
            assert weights[p, i] == pytest.approx(gain, abs=1e-7)
    for class_parent in (True, False):
        expected = [score.family(data, counts, 0, (1, p), class_parent) for p in (2, 3)]
        assert score.extensions(data, counts, 0, (1,), [2, 3], class_parent) == pytest.approx(
            expected, abs=1e-7
        )


@every_score
def test_scores_are_those_of_the_completed_tables(kind):
    data = drawn(10, n_classes=3, weighted=True)
    counts, score = count(data), kind(missing="em")
    n_rows, own = counts.class_count.sum(), completed(data, (2,))[None]
    assert score.family(data, counts, 2, ()) == pytest.approx(score.local(own, True, n_rows))
    assert score.family(data, counts, 2, (), False) == pytest.approx(
        score.local(own, False, n_rows)
    )
    for parents, class_parent in product([(0,), (3, 0)], [True, False]):
        table = completed(data, (*parents, 2)).reshape(-1, 4, 3)
        within = table.sum(axis=0, keepdims=True)
        expected = score.local(own, True, n_rows)
        expected += score.local(table, class_parent, n_rows) - score.local(within, True, n_rows)
        assert score.family(data, counts, 2, parents, class_parent) == pytest.approx(
            expected, abs=1e-7
        )


def test_information_of_pairs_is_that_of_their_tables():
    data = drawn(11, n_classes=3, weighted=True)
    found = pair_information(data, count(data), em=True)
    for a, b in product(range(4), repeat=2):
        if a != b:
            conditional, plain = informations(completed(data, (a, b)))
            assert found.conditional[a, b] == pytest.approx(conditional, abs=1e-9)
            assert found.plain[a, b] == pytest.approx(plain, abs=1e-9)
            assert found.total[a, b] == pytest.approx(data.weight.sum())


# ---- no gaps, odd data


@every_score
@pytest.mark.parametrize("weighted", [False, True])
def test_without_gaps_nothing_changes(kind, weighted, monkeypatch):
    data = drawn(12, gaps=0.0, n_classes=3, weighted=weighted)
    for name in ("complete_table", "complete_pairs"):
        monkeypatch.setattr(saturated, name, None)  # no EM is run
    counts, plain, score = count(data), kind(), kind(missing="em")
    np.testing.assert_array_equal(score.weights(data, counts), plain.weights(data, counts))
    np.testing.assert_array_equal(counts.completed.cells, counts.cells)
    for parents, class_parent in product([(), (0,), (2, 3)], [True, False]):
        family = (data, counts, 1, parents, class_parent)
        assert score.family(*family) == plain.family(*family)
    assert score.extensions(data, counts, 1, (0,), [2, 3]) == plain.extensions(
        data, counts, 1, (0,), [2, 3]
    )


@every_score
@pytest.mark.parametrize("weighted", [False, True])
def test_pairs_without_gaps_do_not_change(kind, weighted):
    data = drawn(13, gaps=0.0, weighted=weighted)
    data.codes[1, :20] = data.cards[1]
    counts, plain, score = count(data), kind(), kind(missing="em")
    same = np.ix_([0, 2, 3], [0, 2, 3])
    np.testing.assert_array_equal(
        score.weights(data, counts)[same], plain.weights(data, counts)[same]
    )
    assert score.family(data, counts, 0, (2, 3)) == plain.family(data, counts, 0, (2, 3))


def test_gaps_of_rows_without_weight_change_nothing():
    data = drawn(14, gaps=0.0)
    data.codes[:2, :10] = data.cards[:2, None]
    weight = np.where(
        np.arange(data.n_samples) < 10, 0.0, np.random.default_rng(0).random(data.n_samples)
    )
    data = Encoded(data.codes, data.domain, data.y, weight)
    kept = rows_of(data, np.arange(10, data.n_samples))
    found, expected = (
        ConditionalInformation(missing="em").weights(d, count(d)) for d in (data, kept)
    )
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_weight_two_is_the_same_as_the_row_twice():
    data = drawn(15, n_classes=3)
    twice = Encoded(np.repeat(data.codes, 2, axis=1), data.domain, np.repeat(data.y, 2))
    heavy = Encoded(data.codes, data.domain, data.y, np.full(data.n_samples, 2.0))
    light = Encoded(data.codes, data.domain, data.y, np.full(data.n_samples, 1e-9))
    for _, kind in SCORES:
        score = kind(missing="em")
        np.testing.assert_allclose(
            score.weights(heavy, count(heavy)), score.weights(twice, count(twice)), atol=1e-7
        )
    found = [ConditionalInformation(missing="em").weights(d, count(d)) for d in (data, light)]
    np.testing.assert_allclose(*found, atol=1e-7)


@every_score
def test_a_parent_that_is_missing_everywhere_adds_nothing(kind):
    data = drawn(16, n_classes=3)
    data.codes[1] = data.cards[1]
    counts, score = count(data), kind(missing="em")
    found = score.weights(data, counts)
    assert np.isfinite(found).all()
    if kind is not ApproximateLikelihood:  # its smoothing makes something of more cells
        assert found[1] == pytest.approx(0, abs=1e-9)


@every_score
@pytest.mark.parametrize("n_rows", [0, 1, 3])
def test_few_rows_one_value_and_empty_classes(kind, n_rows):
    data = drawn(17, gaps=0.5, n_classes=3, cards=(1, 2, 3), n_rows=n_rows)
    counts, score = count(data), kind(missing="em")
    assert np.isfinite(score.weights(data, counts)).all()
    assert np.isfinite(score.family(data, counts, 1, (0, 2), False))


def test_no_features_and_one():
    for cards in ((), (2,)):
        data = Encoded(
            np.zeros((len(cards), 3), np.uint8), domain_of(cards, 2), np.array([0, 1, 1], np.int32)
        )
        data.codes[:, 0] = 2
        counts = count(data)
        assert not ConditionalInformation(missing="em").weights(data, counts).any()
        assert counts.completed.cells.tolist() == [1.0, 2.0, 0.0, 0.0][: 4 * len(cards)]
    assert structure_of(KDB(score=ConditionalInformation(missing="em")), data).n_edges == 0


@every_score
def test_threads_and_parts_change_no_bit(kind, monkeypatch):
    data = drawn(18, cards=(3, 2, 4, 2, 3))
    counts, score = count(data), kind(missing="em")
    one, more = (
        score.weights(data, counts, n_jobs=1),
        score.extensions(data, counts, 0, (1,), [2, 3, 4]),
    )
    monkeypatch.setattr("discbayes.engine.threads.THREAD_WORK", 0)
    monkeypatch.setattr(count_tables, "CELLS_AT_ONCE", 40)
    np.testing.assert_array_equal(score.weights(data, counts, n_jobs=2), one)
    assert score.extensions(data, counts, 0, (1,), [2, 3, 4]) == more
    skip = np.zeros((5, 5), bool)
    skip[0, 2] = skip[2, 0] = True
    np.testing.assert_array_equal(score.weights(data, counts, skip=skip), np.where(skip, 0.0, one))


# ---- gaps that depend on what is observed

N_ROWS = 10_000 if UNCOMPILED else 20_000


def flipped(rng, values, share):
    return np.where(rng.random(values.size) < share, 1 - values, values)


def tied(seed=0):
    """The tree x1 - x0 - x2 - x3, apart from the class, which x0 does not tell much and x4 tells
    most.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=N_ROWS)
    x0 = flipped(rng, y, 0.4)
    x1, x2 = flipped(rng, x0, 0.1), flipped(rng, x0, 0.15)
    x3, x4 = flipped(rng, x2, 0.2), flipped(rng, y, 0.2)
    return Encoded(
        np.array([x0, x1, x2, x3, x4], np.uint8), domain_of([2] * 5, 2), y.astype(np.int32)
    )


def hidden(data, seed=1):
    """The same rows: x1 is missing nearly always where x0 is 1, x4 where the class is 1, and x3
    here and there.
    """
    rng, codes = np.random.default_rng(seed), data.codes.copy()
    codes[1, (codes[0] == 1) & (rng.random(N_ROWS) < 0.97)] = 2
    codes[4, (data.y == 1) & (rng.random(N_ROWS) < 0.97)] = 2
    codes[3, rng.random(N_ROWS) < 0.2] = 2
    return Encoded(codes, data.domain, data.y, data.weight)


def information_of_flips(share):
    return np.log(2) + share * np.log(share) + (1 - share) * np.log(1 - share)


def test_gaps_that_depend_on_the_other_feature_do_not_mislead():
    rng = np.random.default_rng(0)
    x0 = rng.integers(2, size=N_ROWS)
    x1 = flipped(rng, x0, 0.1)
    x1[(x0 == 1) & (rng.random(N_ROWS) < 0.97)] = 2
    data = Encoded(np.array([x0, x1], np.uint8), domain_of([2, 2], 1), np.zeros(N_ROWS, np.int32))
    truth = information_of_flips(0.1)
    available, by_em = (
        ConditionalInformation(gaps).weights(data, count(data))[0, 1]
        for gaps in ("available", "em")
    )
    assert available < 0.25 * truth
    assert by_em == pytest.approx(truth, abs=0.05)


def test_gaps_that_depend_on_the_class_do_not_mislead():
    counts, truth = count(hidden(tied())), information_of_flips(0.2)
    available, by_em = (
        class_information(ConditionalInformation(gaps).alone(counts))
        for gaps in ("available", "em")
    )
    assert available[4] < 0.25 * truth
    assert by_em[4] == pytest.approx(truth, abs=0.05)


def structure_of(search, data, n_jobs=None):
    return search.learn(data, count(data), Context(n_jobs=n_jobs))


NO_NOISE = [(4, i) for i in range(4)] + [(i, 4) for i in range(4)]
SEARCHES = {
    "tree": lambda gaps: SpanningTree(score=ConditionalInformation(gaps), forbidden=NO_NOISE),
    "forest": lambda gaps: SpanningTree(min_weight=0.1, score=ConditionalInformation(gaps)),
    "candidates": lambda gaps: SpanningTree(
        min_weight=0.1, max_candidates=1, score=ConditionalInformation(gaps)
    ),
    "kdb": lambda gaps: KDB(score=ConditionalInformation(gaps), forbidden=NO_NOISE),
    "branching": lambda gaps: Branching(
        score=ApproximateLikelihood(missing=gaps), min_weight=0.05 * N_ROWS
    ),
    "climb": lambda gaps: HillClimb(
        score=FactorizedLikelihood(gaps), drop_class=False, forbidden=NO_NOISE
    ),
}
# without EM; the others choose the same of few edges
MISLED = {"forest", "candidates", "branching"}


@pytest.mark.parametrize("name", SEARCHES)
def test_searches_find_the_structure_of_complete_rows(name):
    data = tied()
    complete = structure_of(SEARCHES[name]("available"), data)
    assert complete.n_edges >= 3
    for n_jobs in (None, 2):
        assert structure_of(SEARCHES[name]("em"), hidden(data), n_jobs) == complete
    assert (structure_of(SEARCHES[name]("available"), hidden(data)) != complete) == (name in MISLED)


def test_features_are_as_relevant_as_em_says():
    """x4, which is hidden by class, tells most about it: it is the root of a tree, and the first in
    an order.
    """
    data = hidden(tied())
    for search in (SpanningTree, KDB):
        assert structure_of(search(score=ConditionalInformation("em")), data).parents[4] == ()
        assert (
            structure_of(search(score=ConditionalInformation("available")), data).parents[4] != ()
        )


@pytest.mark.parametrize("search", [SpanningTree, KDB, Branching, HillClimb])
def test_candidates_are_those_of_em(search):
    """x1 follows x0, by which it is hidden, and x2 follows x1."""
    rng = np.random.default_rng(0)
    x0 = rng.integers(2, size=N_ROWS)
    x1 = flipped(rng, x0, 0.1)
    x2 = flipped(rng, x1, 0.25)
    x1[(x0 == 1) & (rng.random(N_ROWS) < 0.99)] = 2
    data = Encoded(
        np.array([x0, x1, x2], np.uint8), domain_of([2] * 3, 1), np.zeros(N_ROWS, np.int32)
    )
    into_others = [(p, i) for p in range(3) for i in (0, 2) if p != i]
    misled = [] if search is KDB else [(2, 1)]  # in the order of KDB x2 comes last
    for gaps, edges in (("em", [(0, 1)]), ("available", misled)):
        limited = search(
            score=ConditionalInformation(gaps), max_candidates=1, forbidden=into_others
        )
        assert structure_of(limited, data).edges() == edges
    kept = search(score=ConditionalInformation("em"), max_candidates=1, required=[(2, 1)])
    assert (2, 1) in structure_of(kept, data).edges()


def test_larger_families_are_searched():
    data = hidden(tied())
    found = structure_of(
        HillClimb(score=LogLikelihood("em"), max_parents=3, drop_class=False), data
    )
    assert max(map(len, found.parents)) == 2


# ---- settings


def test_gaps_is_a_setting_like_any_other(tmp_path):
    score = ConditionalInformation(missing="em")
    assert clone(score).missing == "em"
    assert repr(score) == "ConditionalInformation(missing='em')"
    assert ApproximateLikelihood(0.3, "em").get_params() == {"strength": 0.3, "missing": "em"}
    data = hidden(tied())
    X = pd.DataFrame(np.array(["no", "yes", None], object)[data.codes.T], columns=list("abcde"))
    classifier = BayesNetClassifier(
        SpanningTree(min_weight=0.1, score=ConditionalInformation()), "hybrid"
    ).fit(X, data.y)
    available = classifier.structure_
    classifier.set_params(structure__score__missing="em").fit(X, data.y)
    assert classifier.structure_ != available
    classifier.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").structure.score.missing == "em"


@every_score
def test_the_old_name_of_the_setting_works_with_a_warning(kind):
    with pytest.warns(FutureWarning, match="the parameter gaps is deprecated"):
        score = kind(gaps="em")
    assert score.missing == "em"
    with pytest.warns(FutureWarning, match="the attribute gaps"):
        assert score.gaps == "em"
    with pytest.warns(FutureWarning, match="the parameter gaps"):
        assert score.set_params(gaps="available").missing == "available"


def test_a_score_of_a_user_may_name_the_setting_gaps():
    class Own(ConditionalInformation):
        def __init__(self, strength=1.0, gaps="available"):
            super().__init__(gaps)
            self.strength = strength

    score = Own(gaps="em")
    assert clone(score).em
    assert score.get_params() == {"strength": 1.0, "gaps": "em"}
    assert not score.set_params(gaps="available").em


@every_score
def test_what_gaps_cannot_be_is_refused(kind):
    data, message = drawn(0), re.escape("missing='EM' is not one of 'available', 'em'")
    score = kind(missing="EM")
    with pytest.raises(ValueError, match=message):
        HillClimb(score=score)
    search = HillClimb(score=kind())
    search.score = score
    with pytest.raises(ValueError, match=message):
        structure_of(search, data)
    for ask in (
        score.weights,
        lambda *of: score.family(*of, 0, (1,)),
        lambda *of: score.extensions(*of, 0, (), [1]),
    ):
        with pytest.raises(ValueError, match=message):
            ask(data, count(data))


def test_a_description_length_takes_no_filled_rows():
    data, message = (
        drawn(0),
        r"DescriptionLength\(missing='em'\): .* use missing='available', or another score",
    )
    for search in (SpanningTree, KDB, Branching, HillClimb):
        with pytest.raises(ValueError, match=message):
            search(score=DescriptionLength(missing="em"))
    with pytest.raises(ValueError, match=message):
        DescriptionLength(missing="em").weights(data, count(data))


def test_a_score_without_the_setting_is_of_available_rows():
    class Plain(LogLikelihood):
        def __init__(self):
            pass

    data = drawn(1)
    np.testing.assert_array_equal(
        Plain().weights(data, count(data)), LogLikelihood().weights(data, count(data))
    )
    assert structure_of(SpanningTree(score=Plain()), data).n_edges == 3
