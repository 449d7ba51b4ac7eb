"""Discriminative frequency estimates against a loop that learns all tables from scratch for every
row.
"""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score

import discbayes
import oracle
from coded import domain_of, encoded, rows_of
from discbayes import DFE, BayesNetClassifier, GreedyEdges, MaximumAPosteriori, load_dataset
from discbayes.counts import FamilyCounts, count
from discbayes.data.domain import Encoded
from discbayes.engine import Context
from discbayes.inference import log_joint, posterior
from discbayes.network import Layout, Structure
from discbayes.parameters import PARAMETERS

UNCOMPILED = bool(numba.config.DISABLE_JIT)
NB = Structure.naive(4)
TREE = Structure(((), (0,), (0,), (2,)))
# two parents; x1 does not depend on the class
TIED = Structure(((), (0,), (0, 1), (2,)), (True, False, True, True))
ALOOF = Structure(((1,), (), (1, 3), ()), (False,) * 4)  # no feature depends on the class
PRIORS = [("dirichlet", 1.0), ("dirichlet", 0.01), ("ess", 1.0), ("ess", 20.0), ("m", 1.0)]


def drawn(seed, n_rows=40, cards=(2, 3, 2, 3), n_classes=3, **options):
    return encoded(
        np.random.default_rng(seed), list(cards), n_classes, n_rows, linked=True, **options
    )


def learned(data, structure, learner=None, rng=0):
    context = Context(np.random.default_rng(rng))
    return (learner or DFE()).learn(data, count(data), structure, context), context


def cells_of(row, structure, cards):
    """The cell of each family without a gap in the table of its feature, without the class."""
    families = [(i, (*structure.parents[i], i)) for i in range(len(cards))]
    return [
        (i, tuple(int(row[k]) for k in group))
        for i, group in families
        if all(row[k] < cards[k] for k in group)
    ]


def reference(data, structure, learner, orders=None):
    """The tables and the score of each pass, all tables made anew for each row."""
    layout = Layout(structure, data.cards, data.n_classes)
    pseudo = FamilyCounts(layout, np.zeros(data.n_classes), np.zeros(layout.size))
    weight = np.ones(data.n_samples) if data.weight is None else data.weight
    smoothing, scores = MaximumAPosteriori(learner.prior, learner.strength), []
    for k in range(learner.passes):
        scores.append(0.0)
        for m in range(data.n_samples) if orders is None else orders[k]:
            tables, y = smoothing.tables(pseudo), data.y[m]
            cells = cells_of(data.codes[:, m], structure, data.cards)
            log_scores = tables.log_prior + sum(tables.log_table(i)[cell] for i, cell in cells)
            log_posterior = log_scores - logsumexp(log_scores)
            scores[-1] += weight[m] * log_posterior[y]
            # 1 − P, and not zero where it is tiny
            loss = weight[m] * np.exp(np.delete(log_posterior, y)).sum()
            pseudo.class_count[y] += loss
            for i, cell in cells:
                pseudo.table(i)[(*cell, y)] += loss
    return smoothing.tables(pseudo), scores


def check(data, structure, learner, **options):
    tables, context = learned(data, structure, learner)
    expected, scores = reference(data, structure, learner, **options)
    np.testing.assert_allclose(tables.log_prior, expected.log_prior, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(tables.log_theta, expected.log_theta, rtol=1e-10, atol=1e-10)
    assert [step["iteration"] for step in context.history] == [*range(1, learner.passes + 1)]
    np.testing.assert_allclose(
        [step["score"] for step in context.history], scores, rtol=1e-9, atol=1e-9
    )
    return tables, context


# ---- the passes


@pytest.mark.parametrize("gaps, weighted", [(0.0, False), (0.0, True), (0.25, False), (0.25, True)])
@pytest.mark.parametrize("prior, strength", PRIORS)
@pytest.mark.parametrize("seed", range(2))
def test_the_passes_are_those_of_a_plain_loop(seed, prior, strength, gaps, weighted):
    rng = np.random.default_rng(seed)
    data = encoded(rng, [2, 3, 1, 4, 2], 2 + seed, 30, gaps=gaps, weighted=weighted, linked=True)
    structure = oracle.random_structure(rng, 5)
    check(data, structure, DFE(3, prior, strength))


@pytest.mark.parametrize("structure", [NB, TREE, TIED, ALOOF], ids=["nb", "tree", "tied", "aloof"])
@pytest.mark.parametrize("prior", ["dirichlet", "ess", "m"])
def test_kinds_of_structures(structure, prior):
    tables, _ = check(drawn(5, gaps=0.1, weighted=True), structure, DFE(2, prior))
    assert tables.is_normalized
    for i, depends in enumerate(structure.class_children):
        assert depends or not np.ptp(tables.log_table(i), axis=-1).any()


def test_shuffled_rows_come_in_an_order_for_each_pass():
    data, rng = drawn(1), np.random.default_rng(0)
    orders = [rng.permutation(data.n_samples) for _ in range(3)]
    check(data, TREE, DFE(3, shuffle=True), orders=orders)
    one, other = (learned(data, TREE, DFE(shuffle=True), seed)[0].log_theta for seed in (0, 1))
    assert np.abs(one - other).max() > 1e-3
    np.testing.assert_array_equal(
        learned(data, TREE, rng=0)[0].log_theta, learned(data, TREE, rng=1)[0].log_theta
    )


def two_rows(weight=None):
    return Encoded(
        np.array([[0, 1]], np.uint8), domain_of([2], 2), np.array([0, 1], np.int32), weight
    )


def test_two_rows_by_hand():
    """Laplace: the first row meets 1/2 and adds 1/2; the second meets 3/2·2/5 against 1·1/2 and
    adds 6/11.
    """
    tables, context = learned(two_rows(), Structure.naive(1), DFE(passes=1))
    np.testing.assert_allclose(np.exp(tables.log_prior), np.array([33, 34]) / 67, rtol=1e-14)
    np.testing.assert_allclose(
        np.exp(tables.log_table(0)), [[3 / 5, 11 / 28], [2 / 5, 17 / 28]], rtol=1e-14
    )
    assert context.history[0]["score"] == pytest.approx(np.log(1 / 2) + np.log(5 / 11), rel=1e-14)


def test_a_weight_of_two_is_not_the_row_twice():
    """At once the row adds 2·1/2. Twice, it adds 1/2 and then 1 − 9/14, as 3/2·3/5 stands against
    1·1/2.
    """
    once, _ = learned(two_rows(np.array([2.0, 0.0])), Structure.naive(1), DFE(passes=1))
    twice, _ = learned(rows_of(two_rows(), np.array([0, 0])), Structure.naive(1), DFE(passes=1))
    assert np.exp(once.log_table(0))[0, 0] == pytest.approx(2 / 3, rel=1e-14)
    assert np.exp(twice.log_table(0))[0, 0] == pytest.approx(
        (1.5 + 5 / 14) / (2.5 + 5 / 14), rel=1e-14
    )


@pytest.mark.parametrize("structure", [TREE, TIED])
def test_a_weight_of_zero_is_absence(structure):
    data = drawn(2, gaps=0.2, weighted=True)
    tables, _ = learned(data, structure)
    rest, _ = learned(data.take(data.weight > 0), structure)
    np.testing.assert_allclose(tables.log_theta, rest.log_theta, rtol=1e-12)
    np.testing.assert_allclose(tables.log_prior, rest.log_prior, rtol=1e-12)


def test_weights_of_one_are_no_weights():
    data = drawn(3)
    weighted = replace(data, weight=np.ones(data.n_samples))
    np.testing.assert_array_equal(
        learned(data, TREE)[0].log_theta, learned(weighted, TREE)[0].log_theta
    )


def test_rows_that_are_classified_well_hardly_count():
    """Two columns that tell the class: after a pass all is right, and each further pass finds less
    to add.
    """
    y = np.arange(60, dtype=np.int32) % 3
    data = Encoded(np.array([y, y], np.uint8), domain_of([3, 3], 3), y)
    tables, _ = learned(data, Structure.naive(2), DFE(passes=1))
    assert (log_joint(tables, data.codes).argmax(axis=1) == y).all()
    tables, context = learned(data, Structure.naive(2), DFE(passes=6))
    scores = [step["score"] for step in context.history]
    assert (np.diff(scores) > 0).all()
    assert (
        np.log(posterior(log_joint(tables, data.codes), np.full(3, 1 / 3))[np.arange(60), y]).sum()
        > scores[-1]
    )


def test_what_was_learned_from_is_left_alone():
    data, structure = drawn(4, gaps=0.1, weighted=True), TIED
    counts = count(data)
    kept = [
        data.codes.copy(),
        data.y.copy(),
        data.weight.copy(),
        counts.cells.copy(),
        counts.class_count.copy(),
    ]
    DFE(shuffle=True).learn(data, counts, structure, Context())
    now = [data.codes, data.y, data.weight, counts.cells, counts.class_count]
    assert all((a == b).all() for a, b in zip(kept, now, strict=True))


# ---- edges of the range


@pytest.mark.parametrize("strength", [1e-100, 1e-30, 1e-3, 1e3, 1e100])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_long_products_of_small_and_large_numbers(strength, scale):
    rng = np.random.default_rng(0)
    data = encoded(rng, [3] * 60, 3, 12, linked=True)
    data = replace(data, weight=rng.random(12) * scale)
    parents = ((), *((i,) for i in range(59)))
    check(data, Structure(parents), DFE(2, strength=strength))


def test_one_class_adds_nothing():
    data = encoded(np.random.default_rng(0), [2, 3], 1, 10)
    tables, context = learned(data, Structure.naive(2))
    np.testing.assert_allclose(tables.log_table(1), np.log(1 / 3))
    assert [step["score"] for step in context.history] == [0.0] * 4


def test_no_features_and_features_of_one_value():
    y = np.array([0, 1, 1, 2, 1], np.int32)
    none = Encoded(np.empty((0, 5), np.uint8), domain_of([], 3), y)
    constant = Encoded(np.zeros((2, 5), np.uint8), domain_of([1, 1], 3), y)
    bare, _ = check(none, Structure.naive(0), DFE())
    same, _ = check(constant, Structure(((), (0,))), DFE())
    np.testing.assert_allclose(bare.log_prior, same.log_prior, rtol=1e-14)
    assert bare.log_theta.size == 0


def test_a_class_without_rows_and_a_column_without_values():
    data = drawn(6, 25, n_classes=4)
    data.codes[1] = 3  # never observed
    data.y[:] = np.minimum(data.y, 2)
    tables, _ = check(data, TREE, DFE(2))
    np.testing.assert_allclose(np.exp(tables.log_table(1)), 1 / 3, rtol=1e-12)


def test_rows_of_gaps_alone_count_for_the_class():
    data = drawn(7, 20)
    data.codes[:] = data.cards[:, None]
    tables, _ = check(data, TIED, DFE())
    np.testing.assert_allclose(tables.log_table(3), np.log(1 / 3))
    assert np.ptp(tables.log_prior) > 0


def test_a_single_row():
    check(drawn(8, 1), TREE, DFE())


def test_wide_codes_and_many_classes():
    data = encoded(np.random.default_rng(1), [300, 4], 30, 40)
    assert data.codes.dtype == np.uint16
    check(data, Structure(((), (0,))), DFE(1))


# ---- settings and the estimator


@pytest.mark.parametrize(
    "setting, message",
    [
        ({"passes": 0}, "passes=0 must be a whole number of at least 1"),
        ({"passes": 2.0}, "passes=2.0 must be a whole number"),
        ({"passes": True}, "passes=True must be a whole number"),
        ({"prior": "laplace"}, "prior='laplace' is not one of 'ess', 'dirichlet', 'm'"),
        ({"strength": -1}, "strength=-1 must be a number that is at least 0"),
        ({"strength": float("nan")}, "strength=nan"),
        (
            {"strength": 0},
            (
                r"strength=0 must be between 1e-100 and 1e\+100: the passes start with virtual"
                r" observations alone"
            ),
        ),
        ({"strength": 1e200}, r"strength=1e\+200 must be between"),
        ({"shuffle": "yes"}, "shuffle='yes' must be True or False"),
    ],
)
def test_settings_that_make_no_sense(setting, message):
    with pytest.raises(ValueError, match=message):
        learned(drawn(0, 10), TREE, DFE(**setting))


def test_a_structure_of_another_table_is_refused():
    with pytest.raises(ValueError, match="they are not of the same table"):
        learned(drawn(0, 10), Structure.naive(3))


def test_the_name_and_the_copies():
    assert type(PARAMETERS["dfe"]()) is discbayes.DFE
    learner = DFE(np.int64(2), "ess", 3.0, np.bool_(True))
    assert clone(learner).get_params() == learner.get_params()
    data = drawn(0)
    np.testing.assert_array_equal(
        learned(data, TREE, learner)[0].log_theta, learned(data, TREE, clone(learner))[0].log_theta
    )


def test_history_and_tables_through_the_estimator(tmp_path):
    wine = load_dataset("wine")
    clf = BayesNetClassifier("tan", "dfe").fit(wine.X, wine.y)
    scores = [step["score"] for step in clf.history_ if "iteration" in step]
    assert len(scores) == 4
    assert scores[-1] > scores[0]
    assert clf.network_.parameters.is_normalized
    again = BayesNetClassifier("tan", DFE(passes=4), n_jobs=2).fit(wine.X, wine.y)
    np.testing.assert_array_equal(clf.predict_proba(wine.X), again.predict_proba(wine.X))
    again.save(tmp_path / "model.json")
    loaded = discbayes.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict_proba(wine.X), again.predict_proba(wine.X))
    assert repr(loaded.parameters) == repr(again.parameters)
    refit = clone(loaded).fit(wine.X, wine.y)
    np.testing.assert_array_equal(refit.predict_proba(wine.X), again.predict_proba(wine.X))


def test_the_seed_of_the_estimator_decides_the_order():
    iris = load_dataset("iris")
    fits = [
        BayesNetClassifier("nb", DFE(shuffle=True), random_state=seed).fit(iris.X, iris.y)
        for seed in (0, 0, 1)
    ]
    first, same, other = (clf.predict_proba(iris.X) for clf in fits)
    np.testing.assert_array_equal(first, same)
    assert np.abs(first - other).max() > 1e-6


def test_gaps_and_class_weights_through_the_estimator():
    iris = load_dataset("iris")
    X = iris.X.mask(np.random.default_rng(0).random(iris.X.shape) < 0.3)
    clf = BayesNetClassifier("tan", "dfe", class_weight="balanced").fit(X, iris.y)
    assert clf.score(X, iris.y) > 0.85


def test_a_search_can_train_its_candidates_by_it():
    data = drawn(9, 60, n_classes=2)
    search = GreedyEdges("cr", parameters=DFE(passes=2, shuffle=True), random_state=0)
    assert search.learn(data, count(data), Context()) == clone(search).learn(
        data, count(data), Context()
    )


@pytest.mark.skipif(UNCOMPILED, reason="five folds of real data are for the compiled library")
@pytest.mark.parametrize(
    "name, structure", [("digits", "nb"), ("breast-cancer", "nb"), ("breast-cancer", "tan")]
)
def test_held_out_rows_find_it_better_than_frequencies(name, structure):
    data, folds = load_dataset(name), StratifiedKFold(5, shuffle=True, random_state=0)
    ours, theirs = (
        cross_val_score(BayesNetClassifier(structure, parameters), data.X, data.y, cv=folds).mean()
        for parameters in ("dfe", "ml")
    )
    assert ours > theirs + 0.005
