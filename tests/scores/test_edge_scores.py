"""Edge scores against entropies and the papers' formulas, cell by cell; score equivalence; gaps and
weights.
"""

from __future__ import annotations

import tracemalloc
from itertools import product
from math import log

import numpy as np
import pytest
from sklearn.base import clone

from coded import domain_of, encoded
from discbayes.counts import contingency, count, count_extensions, count_family, count_pairs
from discbayes.data.domain import Encoded
from discbayes.network import Structure
from discbayes.parameters.hierarchical import STRENGTHS
from discbayes.scores import (
    EDGE_SCORES,
    ApproximateLikelihood,
    EdgeScore,
    FactorizedLikelihood,
    LeaveOneOutLikelihood,
    edge_score_of,
)
from formulas import (
    ALPHA,
    BETA,
    LAMBDA,
    acll_by_formula,
    family_by_formula,
    informations,
    log_likelihood,
    second_term,
    table_of,
)
from oracle import random_structure

NAMES = ["ll", "cmi", "mdl", "fcll", "acll", "residual", "interaction", "loo"]
DIRECTED = ("acll", "loo")
KINDS = [(2, 0.0, False), (2, 0.2, True), (3, 0.0, True), (4, 0.2, False)]  # classes, gaps, weights
CARDS = [3, 2, 4, 2]


def data_of(seed, n_classes=3, gaps=0.0, weighted=False, cards=CARDS, n_rows=90):
    return encoded(
        np.random.default_rng(seed), cards, n_classes, n_rows, gaps, weighted, linked=True
    )


def weight_by_entropies(name, table, n_rows):
    """Of the edge between the first two axes: C11 Eq. 25 and 27, and what the other scores are in
    the same terms.
    """
    total = table.sum()
    conditional, plain = informations(table)
    interaction = conditional - plain
    a, b, c = table.shape
    return {
        "ll": total * conditional,
        "cmi": conditional,
        "mdl": total * conditional - 0.5 * log(n_rows) * (a - 1) * (b - 1) * c,
        "fcll": (ALPHA + BETA) * total * conditional - BETA * LAMBDA * total * interaction,
        "interaction": -BETA * LAMBDA * total * interaction,
        "residual": interaction,
    }[name]


# ---- weights of edges


@pytest.mark.parametrize("n_classes, gaps, weighted", KINDS)
@pytest.mark.parametrize("name", [name for name in NAMES if name not in DIRECTED])
def test_weights_of_information_scores_by_entropies(name, n_classes, gaps, weighted):
    data = data_of(1, n_classes, gaps, weighted)
    counts = count(data)
    weights = edge_score_of(name).weights(data, counts)
    for p, i in product(range(4), repeat=2):
        if p == i:
            assert weights[p, i] == 0
        else:
            expected = weight_by_entropies(name, table_of(data, (p, i)), counts.class_count.sum())
            assert weights[p, i] == pytest.approx(expected, abs=1e-9)
            assert weights[p, i] == weights[i, p]


def test_the_constants_are_those_of_the_paper():
    """C11 Eq. 28: 0.322 and 0.557."""
    score = FactorizedLikelihood()
    assert round(score.a, 3) == 0.322
    assert round(score.b, 3) == 0.557


@pytest.mark.parametrize("n_classes, gaps, weighted", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_a_weight_is_the_difference_of_two_families(name, n_classes, gaps, weighted):
    data = data_of(2, n_classes, gaps, weighted)
    counts, score = count(data), edge_score_of(name)
    weights = score.weights(data, counts)
    for p, i in product(range(4), repeat=2):
        if p != i:
            gain = score.family(data, counts, i, (p,)) - score.family(data, counts, i, ())
            assert weights[p, i] == pytest.approx(gain, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_pairs_that_are_skipped_have_no_weight(name):
    data = data_of(3)
    counts, score = count(data), edge_score_of(name)
    skip = np.zeros((4, 4), bool)
    skip[0, 2] = skip[2, 0] = True
    expected = np.where(skip, 0.0, score.weights(data, counts))
    np.testing.assert_array_equal(score.weights(data, counts, skip=skip), expected)


@pytest.mark.parametrize("name", NAMES)
def test_threads_and_parts_change_no_bit(name, monkeypatch):
    data = data_of(4, gaps=0.1, cards=[3, 2, 4, 2, 5, 2, 3])
    counts, score = count(data), edge_score_of(name)
    one = score.weights(data, counts, n_jobs=1)
    more = score.extensions(data, counts, 0, (1,), [2, 3, 4, 5, 6])
    monkeypatch.setattr("discbayes.engine.threads.THREAD_WORK", 0)
    monkeypatch.setattr(contingency, "CELLS_AT_ONCE", 40)
    np.testing.assert_array_equal(score.weights(data, counts, n_jobs=2), one)
    assert score.extensions(data, counts, 0, (1,), [2, 3, 4, 5, 6]) == more


# ---- families


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("class_parent", [True, False])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "loo"])
def test_families_by_their_formulas(name, class_parent, weighted):
    data = data_of(5, weighted=weighted)
    counts, score = count(data), edge_score_of(name)
    for child, parents in [(0, ()), (1, (0,)), (2, (3, 1)), (3, (0, 1, 2))]:
        expected = family_by_formula(name, data, child, parents, class_parent)
        assert score.family(data, counts, child, parents, class_parent) == pytest.approx(
            expected, rel=1e-9, abs=1e-9
        )


@pytest.mark.parametrize("class_parent", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_with_gaps_a_parent_counts_for_what_it_adds_on_the_rows_that_have_it(name, class_parent):
    data = data_of(6, gaps=0.2, weighted=True)
    counts, score = count(data), edge_score_of(name)
    child, parents = 2, (0, 3)
    whole = (data.codes[[child, *parents]] < data.cards[[child, *parents]][:, None]).all(axis=0)
    part = Encoded(
        np.ascontiguousarray(data.codes[:, whole]), data.domain, data.y[whole], data.weight[whole]
    )
    own = score.family(data, counts, child, ())
    on_part = count(part)
    n_rows = counts.class_count.sum()  # the penalty of a description is that of all rows
    gain = score.local(table_of(part, (*parents, child)).reshape(-1, 4, 3), class_parent, n_rows)
    gain -= score.local(on_part.feature(child)[None], True, n_rows)
    found = score.family(data, counts, child, parents, class_parent)
    assert found == pytest.approx(own + gain, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_a_parent_that_is_missing_everywhere_adds_nothing(name):
    data = data_of(7)
    data.codes[1] = data.cards[1]
    counts, score = count(data), edge_score_of(name)
    weight = score.weights(data, counts)[1, 0]
    penalty = 0.5 * log(data.n_samples) * 2 * 1 * 3 if name == "mdl" else 0.0
    assert weight == pytest.approx(-penalty)
    gain = score.family(data, counts, 0, (1,)) - score.family(data, counts, 0, ())
    assert gain == pytest.approx(-penalty)


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
def test_extensions_count_what_families_count(gaps, weighted):
    data = data_of(8, gaps=gaps, weighted=weighted, cards=[3, 2, 4, 1, 300])
    for child, parents, more in [
        (0, (), [1, 2, 3, 4]),
        (1, (2,), [4, 0]),
        (4, (0, 3), [2, 1]),
        (2, (1, 0, 3), [4]),
    ]:
        for p, table in zip(more, count_extensions(data, child, parents, more), strict=True):
            expected = count_family(data, child, (*parents, p)).reshape(table.shape)
            np.testing.assert_allclose(table, expected, rtol=0, atol=1e-12)
    counts = count(data)
    for name in NAMES:
        score = edge_score_of(name)
        for class_parent in (True, False):
            expected = [score.family(data, counts, 1, (0, p), class_parent) for p in (2, 3, 4)]
            assert score.extensions(
                data, counts, 1, (0,), [2, 3, 4], class_parent
            ) == pytest.approx(expected)
    assert score.extensions(data, counts, 1, (0,), []) == []


def test_weight_two_is_the_same_as_the_row_twice():
    data = data_of(9)
    twice = Encoded(np.repeat(data.codes, 2, axis=1), data.domain, np.repeat(data.y, 2))
    heavy = Encoded(data.codes, data.domain, data.y, np.full(data.n_samples, 2.0))
    for name in NAMES:
        score = edge_score_of(name)
        np.testing.assert_allclose(
            score.weights(heavy, count(heavy)), score.weights(twice, count(twice)), atol=1e-9
        )
        assert score.unit(count(heavy)) == score.unit(count(twice)) == (1 if score.per_row else 180)


def test_a_description_of_less_than_one_row_costs_nothing():
    data = data_of(9)
    light = Encoded(data.codes, data.domain, data.y, np.full(data.n_samples, 1e-6))
    assert (edge_score_of("mdl").weights(light, count(light)) >= 0).all()


# ---- C11: Eq. 24 and 27 of whole networks, Theorem 7, Eq. 12 and 13


def total_score(score, data, structure):
    counts = count(data)
    families = zip(range(data.n_features), structure.parents, structure.class_children, strict=True)
    return sum(score.family(data, counts, *family) for family in families)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_fcll_of_a_network_by_equation_24_and_27(seed, n_classes):
    data = data_of(seed, n_classes)
    structure = random_structure(np.random.default_rng(seed), 4, drop_class=False)
    found = total_score(FactorizedLikelihood(), data, structure)
    by_24 = sum(
        (ALPHA + BETA) * log_likelihood(data, i, group, True)
        - BETA * LAMBDA * second_term(data, i, group)
        for i, group in enumerate(structure.parents)
    )
    assert found == pytest.approx(by_24, rel=1e-9)
    by_27 = 0.0
    for i, group in enumerate(structure.parents):
        joint = table_of(data, (i, *group)).reshape(data.cards[i], -1, n_classes)
        conditional, plain = informations(joint)
        by_27 += data.n_samples * (
            (ALPHA + BETA) * conditional - BETA * LAMBDA * (conditional - plain)
        )
    naive = total_score(FactorizedLikelihood(), data, Structure.naive(4))
    assert found - naive == pytest.approx(by_27, rel=1e-9, abs=1e-9)


def covered_pair(rng, n_features):
    """Two structures that differ in the direction of one covered edge, the class a parent of all
    features.
    """
    structure = random_structure(rng, n_features, max_parents=2, drop_class=False)
    x, y = (structure.order[k] for k in sorted(rng.choice(n_features, 2, replace=False)))
    below = list(structure.parents)
    below[y] = (*structure.parents[x], x)
    above = list(below)
    above[x], above[y] = (*structure.parents[x], y), structure.parents[x]
    return Structure(tuple(below)), Structure(tuple(above))


@pytest.mark.parametrize("name", ["fcll", "ll", "mdl", "cmi", "interaction", "residual"])
def test_symmetric_scores_are_score_equivalent(name):
    """C11 Theorem 7, by Chickering's covered edges."""
    rng = np.random.default_rng(0)
    data = data_of(10, cards=[3, 2, 4, 2, 2], weighted=True)
    for _ in range(15):
        one, two = covered_pair(rng, 5)
        assert one != two
        score = edge_score_of(name)
        assert total_score(score, data, one) == pytest.approx(
            total_score(score, data, two), rel=1e-9
        )


def test_acll_is_not_score_equivalent():
    rng = np.random.default_rng(0)
    data = data_of(10, cards=[3, 2, 4, 2, 2])
    totals = [
        [total_score(ApproximateLikelihood(), data, s) for s in covered_pair(rng, 5)]
        for _ in range(10)
    ]
    assert max(abs(a - b) for a, b in totals) > 0.01


def two_features():
    """Three rows of class 0, two of class 1 and the features of each: a table small enough to do by
    hand.
    """
    codes = np.array([[0, 0, 1, 1, 1], [0, 1, 1, 0, 1]], np.uint8)
    return Encoded(codes, domain_of([2, 2], 2), np.array([0, 0, 0, 1, 1], np.int32))


def test_acll_of_two_features_by_hand():
    """Each row adds α log θ of its class and β log θ of the other, θ = (n + ½) / (N + 1)."""
    data = two_features()
    counts, score = count(data), ApproximateLikelihood()
    alone = [  # x1 with the class alone; class 0 has it 0 once and 1 twice, class 1 once and once
        ALPHA * log(1.5 / 4) + BETA * log(1.5 / 3),
        ALPHA * log(2.5 / 4) + BETA * log(1.5 / 3),
        ALPHA * log(2.5 / 4) + BETA * log(1.5 / 3),
        ALPHA * log(1.5 / 3) + BETA * log(1.5 / 4),
        ALPHA * log(1.5 / 3) + BETA * log(2.5 / 4),
    ]
    # x0 = 0: class 0 has (1, 1), class 1 nothing; x0 = 1: class 0 has (0, 1), class 1 has (1, 1)
    given_x0 = [
        ALPHA * log(1.5 / 3) + BETA * log(0.5 / 1),
        ALPHA * log(1.5 / 3) + BETA * log(0.5 / 1),
        ALPHA * log(1.5 / 2) + BETA * log(1.5 / 3),
        ALPHA * log(1.5 / 3) + BETA * log(0.5 / 2),
        ALPHA * log(1.5 / 3) + BETA * log(1.5 / 2),
    ]
    assert score.family(data, counts, 1, ()) == pytest.approx(sum(alone))
    assert score.family(data, counts, 1, (0,)) == pytest.approx(sum(given_x0))
    weights = score.weights(data, counts)
    assert weights[0, 1] == pytest.approx(sum(given_x0) - sum(alone))
    assert weights[1, 0] != pytest.approx(weights[0, 1])


@pytest.mark.parametrize("n_classes", [2, 4])
def test_acll_by_equation_13_where_no_count_is_zero(n_classes):
    rng = np.random.default_rng(0)
    data = encoded(rng, [2, 3], n_classes, 400)
    table = table_of(data, (0, 1))
    assert table.min() > 0
    expected = 0.0
    for j, k, c in np.ndindex(*table.shape):
        n, in_class = table[j, k, c], table[j, :, c].sum()
        other, in_others = table[j, k].sum() - n, table[j].sum() - in_class
        expected += (ALPHA + BETA) * n * log(n / in_class) - BETA * n * log(
            n * in_others / (in_class * other)
        )
    found = ApproximateLikelihood(strength=1e-12).family(data, count(data), 1, (0,))
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n_classes, gaps, weighted", KINDS)
def test_acll_weights_by_equation_12(n_classes, gaps, weighted):
    data = data_of(11, n_classes, gaps, weighted)
    weights = ApproximateLikelihood(strength=0.3).weights(data, count(data))
    for p, i in product(range(4), repeat=2):
        if p != i:
            table = table_of(data, (p, i))
            alone = acll_by_formula(table.sum(axis=0, keepdims=True), True, 0.3)
            assert weights[p, i] == pytest.approx(
                acll_by_formula(table, True, 0.3) - alone, abs=1e-9
            )


def test_acll_of_one_class_is_defined():
    data = data_of(12, n_classes=1)
    assert np.isfinite(ApproximateLikelihood().weights(data, count(data))).all()


def test_no_table_of_all_pairs_is_kept(monkeypatch):
    data = data_of(13, cards=[16] * 14, n_rows=30)
    whole = count_pairs(data, count(data)).cells.nbytes
    monkeypatch.setattr(contingency, "CELLS_AT_ONCE", 1_000)
    counts = count(data)
    ApproximateLikelihood().weights(data, counts)  # loads the kernels
    tracemalloc.start()
    ApproximateLikelihood().weights(data, counts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < whole / 4


# ---- names and objects


def test_every_name_makes_a_score():
    assert list(EDGE_SCORES) == [
        "ll",
        "cmi",
        "mdl",
        "bic",
        "fcll",
        "acll",
        "loo",
        "residual",
        "interaction",
    ]
    assert EDGE_SCORES["bic"] is EDGE_SCORES["mdl"]
    for name, kind in EDGE_SCORES.items():
        score = edge_score_of(name)
        assert type(score) is kind
        assert isinstance(score, EdgeScore)
        assert score.symmetric == (name not in DIRECTED)
        assert edge_score_of(score) is score
        assert clone(score).get_params() == score.get_params()


@pytest.mark.parametrize(
    "given, error, message",
    [
        (
            "cr",
            ValueError,
            "score='cr' is not an edge score; those are 'll', 'cmi'.* go with GreedyEdges",
        ),
        (None, TypeError, "score=None is not an edge score"),
        (FactorizedLikelihood, TypeError, r"score=FactorizedLikelihood is a class: pass an object"),
    ],
)
def test_what_is_no_edge_score_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        edge_score_of(given)


@pytest.mark.parametrize("strength", [0, -1, np.nan, np.inf])
def test_acll_needs_smoothing(strength):
    data = two_features()
    for ask in ("weights", "family"):
        with pytest.raises(ValueError, match=r"strength=.* must be a number above 0"):
            getattr(ApproximateLikelihood(strength), ask)(
                data, count(data), *([0, ()] if ask == "family" else [])
            )


# ---- leave-one-out likelihood


def left_out_by_hand(table):
    """Each row under tables from all others: the best strength of each level, by loops."""

    def likelihood(read):
        return sum(n * log(read(u, x, c)) for (u, x, c), n in np.ndenumerate(table) if n > 0)

    alone, everywhere = table.sum(axis=0), table.sum(axis=(0, 2))
    card, total = table.shape[1], table.sum()

    def below(x):
        return (everywhere[x] - 1 + 1 / card) / total

    def of_class(m):
        return lambda u, x, c: (alone[x, c] - 1 + m * below(x)) / (alone[:, c].sum() - 1 + m)

    m0 = max(STRENGTHS, key=lambda m: likelihood(of_class(m)))
    if len(table) == 1:
        return likelihood(of_class(m0))

    def of_parents(m):
        return lambda u, x, c: (
            (table[u, x, c] - 1 + m * of_class(m0)(u, x, c)) / (table[u, :, c].sum() - 1 + m)
        )

    return max(likelihood(of_parents(m)) for m in STRENGTHS)


@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_leave_one_out_likelihood_by_hand(n_classes):
    data = data_of(5, n_classes)
    score = LeaveOneOutLikelihood()
    for i, parents in ((0, ()), (0, (1,)), (2, (0,)), (3, (0, 2))):
        table = table_of(data, (*parents, i)).reshape(-1, data.cards[i], n_classes)
        expected = left_out_by_hand(table)
        assert score.local(table, True, 90.0) == pytest.approx(expected, abs=1e-9)
    pooled = table.sum(axis=2, keepdims=True)
    assert score.local(table, False, 90.0) == pytest.approx(left_out_by_hand(pooled), abs=1e-9)


def test_edges_in_noise_do_not_raise_the_leave_one_out_likelihood():
    rng = np.random.default_rng(0)
    data = encoded(rng, [8, 8, 8, 8], 3, 400)
    weights = LeaveOneOutLikelihood().weights(data, count(data))
    assert weights.max() < 5.0
    assert edge_score_of("ll").weights(data, count(data)).max() > 50.0


def test_leave_one_out_refuses_em():
    with pytest.raises(ValueError, match="cannot be left out"):
        LeaveOneOutLikelihood(missing="em")._check()
