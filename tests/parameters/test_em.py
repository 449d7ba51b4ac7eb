"""EM for frequencies: expected counts against enumeration, then what the iterations promise."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numba
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import oracle
from coded import domain_of, encoded, rows_of
from discbayes import BayesNetClassifier, load
from discbayes.counts import FamilyCounts, count, count_families
from discbayes.data.domain import Encoded
from discbayes.engine import Context
from discbayes.inference import component_sums
from discbayes.network import Layout, Structure
from discbayes.parameters import (
    MaximumAPosteriori,
    MaximumConditionalLikelihood,
    MaximumLikelihood,
    em,
)
from discbayes.parameters.em import IncompleteRows
from discbayes.scores.sample import SampleScore

UNCOMPILED = bool(numba.config.DISABLE_JIT)
CARDS = (2, 3, 2, 3)
NAIVE = Structure.naive(4)
TREE = Structure(((), (0,), (0,), (2,)))
TWO = Structure(((), (0,), (0, 1), (1, 2)))
# x1 and x3 do not depend on the class
TIED = Structure(((), (0,), (0, 1), (2,)), (True, False, True, False))
UNJOINED = Structure(((), (0,), (1, 3), ()), (False, True, True, True))
STRUCTURES = {"nb": NAIVE, "tan": TREE, "two": TWO, "tied": TIED, "unjoined": UNJOINED}
EXACT = [  # learners whose smoothing is an exact M-step
    MaximumLikelihood(0, missing="em"),
    MaximumAPosteriori(missing="em"),
    MaximumAPosteriori("dirichlet", 0.5, missing="em"),
    MaximumAPosteriori("m", 2.0, missing="em"),
    MaximumAPosteriori("m", 0.0, missing="em"),
]


def drawn(seed, n_rows, gaps=0.3, n_classes=3, **options):
    return encoded(
        np.random.default_rng(seed), list(CARDS), n_classes, n_rows, gaps, linked=True, **options
    )


def learned(learner, data, structure, n_jobs=None):
    context = Context(n_jobs=n_jobs)
    return learner.learn(data, count(data), structure, context), context.history


def weight_of(data):
    return np.ones(data.n_samples) if data.weight is None else data.weight


def with_descendants(structure, missing):
    """Which features are observed, or have an observed descendant."""
    needed = ~missing
    for _ in range(missing.size):
        for i, group in enumerate(structure.parents):
            if needed[i]:
                needed[list(group)] = True
    return needed


def enumerated_counts(tables, data, every):
    """Expected counts of all families by walking over all states of every row.

    Families of gaps without observed descendants count too if ``every``.
    """
    joint, parents, cells = (
        oracle.full_joint(tables),
        tables.structure.parents,
        np.zeros(tables.layout.size),
    )
    for row, c, weight in zip(data.codes.T, data.y, weight_of(data), strict=True):
        missing = row >= data.cards
        counted = (
            np.ones(missing.size, bool) if every else with_descendants(tables.structure, missing)
        )
        states = list(
            product(
                *(
                    range(n) if gap else [int(x)]
                    for x, n, gap in zip(row, CARDS, missing, strict=True)
                )
            )
        )
        share = np.array([joint[(*state, c)] for state in states])
        for state, part in zip(states, share / share.sum(), strict=True):
            for i in np.flatnonzero(counted):
                tables.layout.table(cells, i)[(*(state[p] for p in parents[i]), state[i], c)] += (
                    weight * part
                )
    return cells


def log_likelihood(tables, data):
    rows = oracle.log_joint(tables, data.codes)[np.arange(data.n_samples), data.y]
    weight = weight_of(data)
    return float(weight[weight > 0] @ rows[weight > 0])


def log_density(learner, tables):
    """Σ a·log θ, table by table; ``a`` by the formulas at the top of ``frequency``."""
    if isinstance(learner, MaximumLikelihood) or not learner.strength:
        return 0.0
    total = 0.0
    alone = [(tables.log_prior, tables.n_classes)]
    for i, depends in enumerate(tables.structure.class_children):
        table = tables.log_table(i) if depends else tables.log_table(i)[..., :1]
        alone.append((table, int(CARDS[i])))
    for table, card in alone:
        total += (
            learner.strength
            / {"ess": table.size, "dirichlet": 1, "m": card}[learner.prior]
            * table.sum()
        )
    return float(total)


def step_of(learner, data, tables, every=False):
    """One iteration from given tables, by enumeration."""
    plain = clone(learner).set_params(missing="available")
    cells = enumerated_counts(tables, data, every)
    if isinstance(learner, MaximumLikelihood):
        drop_below_the_floor(
            cells, count_families(data, tables.layout, count(data)), learner.epsilon
        )
    return plain.tables(FamilyCounts(tables.layout, count(data).class_count, cells))


def drop_below_the_floor(cells, counted, epsilon):
    """What was never counted, and is expected in a share below ε, becomes zero."""
    for i, depends in enumerate(counted.layout.structure.class_children):
        table, seen = counted.layout.table(cells, i), counted.table(i)
        if not depends:
            table[...] = table.sum(axis=-1, keepdims=True) / table.shape[-1]
            seen = seen.sum(axis=-1, keepdims=True)
        table[(table < epsilon * table.sum(axis=-2, keepdims=True)) & (seen == 0)] = 0.0


# ---- expected counts


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", STRUCTURES)
def test_expected_counts_equal_enumeration(name, weighted):
    structure = STRUCTURES[name]
    data = drawn(0, 12 if UNCOMPILED else 60, weighted=weighted)
    tables = oracle.random_tables(np.random.default_rng(1), structure, CARDS, 3)
    families = count_families(data, tables.layout, count(data))
    value, cells = IncompleteRows(data, tables.layout).expected(tables)
    np.testing.assert_allclose(
        families.cells + cells, enumerated_counts(tables, data, every=False), atol=1e-12
    )
    assert em._log_likelihood(families, tables) + value == pytest.approx(
        log_likelihood(tables, data), rel=1e-12
    )


@pytest.mark.parametrize("seed", range(2 if UNCOMPILED else 8))
def test_expected_counts_on_random_structures(seed):
    rng = np.random.default_rng(seed)
    data = drawn(seed, 10 if UNCOMPILED else 50, gaps=0.5, n_classes=1 + seed % 3, weighted=True)
    tables = oracle.random_tables(rng, oracle.random_structure(rng, 4), CARDS, data.n_classes)
    families = count_families(data, tables.layout, count(data))
    value, cells = IncompleteRows(data, tables.layout).expected(tables)
    np.testing.assert_allclose(
        families.cells + cells, enumerated_counts(tables, data, every=False), atol=1e-12
    )
    assert em._log_likelihood(families, tables) + value == pytest.approx(
        log_likelihood(tables, data), rel=1e-12
    )


def test_impossible_values_get_no_counts():
    data = drawn(0, 30, gaps=0.5)
    tables = oracle.random_tables(np.random.default_rng(0), TWO, CARDS, 3, zeros=True)
    possible = np.isfinite(oracle.log_joint(tables, data.codes)[np.arange(30), data.y])
    data = rows_of(data, np.flatnonzero(possible))
    families = count_families(data, tables.layout, count(data))
    _, cells = IncompleteRows(data, tables.layout).expected(tables)
    assert not cells[np.isneginf(tables.log_theta)].any()
    np.testing.assert_allclose(
        families.cells + cells, enumerated_counts(tables, data, every=False), atol=1e-12
    )


@pytest.mark.parametrize("name", ["nb", "tan", "tied", "unjoined"])
def test_gaps_that_nothing_depends_on_change_the_way_and_not_the_end(name):
    """With their expected counts too, as EM is often written, the iterations end at the same
    tables, only later.
    """
    learner = MaximumAPosteriori("dirichlet", 0.5, missing="em", tol=1e-13, max_iter=2000)
    data = drawn(3, 15 if UNCOMPILED else 40)
    ours, history = learned(learner, data, STRUCTURES[name])
    slow, steps = (
        learned(clone(learner).set_params(missing="available"), data, STRUCTURES[name])[0],
        0,
    )
    while steps < 300:
        slow, before, steps = step_of(learner, data, slow, every=True), slow, steps + 1
        if np.abs(slow.log_theta - before.log_theta).max() < 1e-9:
            break
    assert steps > len(history)
    np.testing.assert_allclose(np.exp(slow.log_theta), np.exp(ours.log_theta), atol=1e-5)
    again = step_of(learner, data, ours, every=True)
    np.testing.assert_allclose(np.exp(again.log_theta), np.exp(ours.log_theta), atol=1e-5)


# ---- iterations


@pytest.mark.parametrize(
    "learner",
    [*EXACT, MaximumLikelihood(missing="em"), MaximumLikelihood(0.05, missing="em")],
    ids=repr,
)
def test_iterations_are_those_of_enumeration(learner):
    data = drawn(5, 15 if UNCOMPILED else 50, weighted=True)
    wanted, _ = learned(clone(learner).set_params(missing="available"), data, TIED)
    if np.isneginf(wanted.log_theta).any():
        wanted, _ = learned(MaximumAPosteriori("m", 1.0), data, TIED)
    for n_iter in (1, 2, 3):
        wanted = step_of(learner, data, wanted)
        with pytest.warns(
            ConvergenceWarning, match=f"still rising after max_iter={n_iter} iterations of EM"
        ):
            tables, history = learned(clone(learner).set_params(max_iter=n_iter, tol=0), data, TIED)
        np.testing.assert_allclose(np.exp(tables.log_theta), np.exp(wanted.log_theta), atol=1e-12)
        assert [step["iteration"] for step in history] == list(range(1, n_iter + 1))
        score = log_likelihood(tables, data) + log_density(learner, tables)
        assert history[-1]["score"] == pytest.approx(score, rel=1e-12)


@pytest.mark.parametrize("learner", EXACT, ids=repr)
@pytest.mark.parametrize("seed", range(2 if UNCOMPILED else 6))
def test_the_likelihood_never_falls(seed, learner):
    rng = np.random.default_rng(seed)
    structure = oracle.random_structure(rng, 4) if seed else TIED
    data = drawn(
        seed,
        20 if UNCOMPILED else 80,
        gaps=0.2 + 0.1 * seed,
        n_classes=1 + seed % 3,
        weighted=seed % 2 == 0,
    )
    tables, history = learned(clone(learner).set_params(tol=1e-9, max_iter=5000), data, structure)
    scores = np.array([step["score"] for step in history])
    assert (np.diff(scores) >= -1e-9 * np.abs(scores[1:])).all()
    assert tables.is_normalized
    plain, _ = learned(clone(learner).set_params(missing="available"), data, structure)
    begin = log_likelihood(plain, data) + log_density(learner, plain)
    end = log_likelihood(tables, data) + log_density(learner, tables)
    assert end >= begin - 1e-9 * abs(end)
    if len(history):
        assert scores[-1] == pytest.approx(end, rel=1e-10)


@pytest.mark.parametrize("learner", EXACT, ids=repr)
def test_the_end_is_a_maximum(learner):
    """No small step to other normalised tables leads higher."""
    data, rng = drawn(2, 20 if UNCOMPILED else 100), np.random.default_rng(0)
    tables, _ = learned(clone(learner).set_params(tol=0, max_iter=20000), data, TWO)
    top = log_likelihood(tables, data) + log_density(learner, tables)
    for _ in range(5 if UNCOMPILED else 20):
        theta = np.exp(tables.log_theta + 0.02 * rng.normal(size=tables.layout.size))
        with np.errstate(divide="ignore"):
            near = replace(tables, log_theta=np.log(theta / tables.layout.row_totals(theta)))
        assert log_likelihood(near, data) + log_density(learner, near) < top


def test_a_floor_holds_for_what_is_hardly_expected():
    """A value that was never counted ends at ε or above, however many iterations there are."""
    data = drawn(1, 20 if UNCOMPILED else 60, gaps=0.4)
    learner = MaximumLikelihood(1e-3, missing="em", tol=1e-8, max_iter=1000)
    tables, history = learned(learner, data, TWO)
    families = count_families(data, tables.layout, count(data))
    uncounted = np.exp(tables.log_theta)[families.cells == 0]
    assert uncounted.min() > 1e-3 / (1 + 3e-3)
    assert (np.diff([step["score"] for step in history]) > -0.05).all()


@pytest.mark.parametrize("learner", [*EXACT, MaximumLikelihood(missing="em")], ids=repr)
@pytest.mark.parametrize(
    "gaps, structure", [(0.0, TWO), (0.0, TIED), (0.4, NAIVE)], ids=["two", "tied", "nb"]
)
def test_without_gaps_that_matter_it_is_counting(gaps, structure, learner):
    data = drawn(4, 40, gaps=gaps, weighted=True)
    tables, history = learned(learner, data, structure)
    plain, _ = learned(clone(learner).set_params(missing="available"), data, structure)
    np.testing.assert_array_equal(tables.log_theta, plain.log_theta)
    np.testing.assert_array_equal(tables.log_prior, plain.log_prior)
    assert history == []


def test_gaps_that_depend_on_what_is_observed_do_not_mislead():
    """x0 is missing more often where its child x1, always observed, is 1: rows without gaps tell
    too little of that.
    """
    rng = np.random.default_rng(0)
    n = 3000 if UNCOMPILED else 40_000
    y = rng.integers(0, 2, n)
    x0 = (rng.random(n) < np.array([0.3, 0.6])[y]).astype(int)
    x1 = (rng.random(n) < np.array([[0.2, 0.1], [0.7, 0.9]])[x0, y]).astype(int)
    x0 = np.where(rng.random(n) < np.array([0.1, 0.8])[x1], 2, x0)
    data = Encoded(np.array([x0, x1], np.uint8), domain_of([2, 2], 2), y)
    chain = Structure(((), (0,)))

    def error(learner):
        tables, _ = learned(learner, data, chain)
        first = np.exp(tables.log_table(0))[1] - [0.3, 0.6]
        second = np.exp(tables.log_table(1))[:, 1] - [[0.2, 0.1], [0.7, 0.9]]
        return max(np.abs(first).max(), np.abs(second).max())

    for kind in (MaximumLikelihood, MaximumAPosteriori):
        assert error(kind()) > 0.2
        assert error(kind(missing="em", tol=1e-9, max_iter=1000)) < (0.1 if UNCOMPILED else 0.02)


# ---- threads, weights


@pytest.mark.parametrize("structure", [TREE, TIED], ids=["tan", "tied"])
def test_threads_change_no_bit(structure, monkeypatch):
    monkeypatch.setattr(component_sums, "PART_WORK", 0.1)
    monkeypatch.setattr(component_sums, "CELL_WORK", 0.0)
    monkeypatch.setattr("discbayes.engine.threads.THREAD_WORK", 0)
    data = drawn(8, 40 if UNCOMPILED else 400, weighted=True)
    (one, first), (two, second) = (
        learned(MaximumAPosteriori(missing="em", tol=1e-4), data, structure, n_jobs)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.log_theta, two.log_theta)
    assert [step["score"] for step in first] == [step["score"] for step in second]


def test_a_weight_of_two_is_the_row_twice_and_order_does_not_matter():
    data, rng = drawn(7, 40), np.random.default_rng(0)
    weight = rng.integers(0, 3, 40)
    repeated = rng.permutation(np.repeat(np.arange(40), weight))
    learner = MaximumLikelihood(missing="em")
    one, _ = learned(learner, replace(data, weight=weight.astype(float)), TWO)
    two, _ = learned(learner, rows_of(data, repeated), TWO)
    np.testing.assert_array_equal(one.log_theta, two.log_theta)


def test_parts_are_limited_by_memory(monkeypatch):
    data = drawn(8, 60)
    monkeypatch.setattr(component_sums, "PART_WORK", 0.1)
    monkeypatch.setattr(component_sums, "CELL_WORK", 0.0)
    layout = Layout(TREE, data.cards, 3)
    tables = oracle.random_tables(np.random.default_rng(0), TREE, CARDS, 3)
    many = IncompleteRows(data, layout)
    monkeypatch.setattr(component_sums, "PART_CELLS", 0)
    few = IncompleteRows(data, layout)
    assert [len(rows._sums._parts) for rows in few._classes] == [1, 1, 1]
    assert all(1 < len(rows._sums._parts) <= 8 for rows in many._classes)
    np.testing.assert_allclose(few.expected(tables)[1], many.expected(tables)[1], rtol=1e-12)


# ---- edges


def test_a_start_that_makes_a_row_impossible_is_left():
    """x1 = 1 is seen with x0 missing only: counts say that it never happens."""
    data = Encoded(
        np.array([[0, 1, 0, 2, 2], [0, 0, 0, 1, 1]], np.uint8),
        domain_of([2, 2], 1),
        np.zeros(5, int),
    )
    chain = Structure(((), (0,)))
    for learner in (MaximumLikelihood(0), MaximumAPosteriori("m", 0.0)):
        plain, _ = learned(learner, data, chain)
        assert log_likelihood(plain, data) == -np.inf
        tables, _ = learned(learner.set_params(missing="em", tol=1e-12), data, chain)
        # shares of what is seen
        assert log_likelihood(tables, data) == pytest.approx(4 * np.log(0.4) + np.log(0.2))


def test_features_never_observed_and_features_with_one_value():
    data = drawn(1, 40)
    data.codes[0] = 2  # the root of the tree is never observed
    tables, _ = learned(MaximumLikelihood(missing="em"), data, TREE)
    assert tables.is_normalized
    constant = encoded(np.random.default_rng(0), [1, 3, 1], 2, 40, gaps=0.3)
    tables, _ = learned(MaximumAPosteriori(missing="em"), constant, Structure(((), (0,), (1,))))
    np.testing.assert_array_equal(tables.log_table(0), 0.0)
    assert tables.is_normalized


def test_no_features_no_weight_and_no_rows():
    nothing = Encoded(np.empty((0, 5), np.uint8), domain_of([], 2), np.array([0, 1, 1, 0, 1]))
    tables, _ = learned(MaximumLikelihood(missing="em"), nothing, Structure(()))
    np.testing.assert_allclose(np.exp(tables.log_prior), [0.4, 0.6])
    weightless = replace(drawn(0, 10), weight=np.zeros(10))
    for data in (weightless, rows_of(drawn(0, 10), np.arange(0))):
        tables, history = learned(MaximumLikelihood(missing="em"), data, TREE)
        assert history == []
        np.testing.assert_allclose(np.exp(tables.log_table(1)), 1 / 3, atol=1e-12)


def test_wide_codes_and_many_classes():
    data = encoded(np.random.default_rng(0), [300, 2], 20, 300, gaps=0.2, linked=True)
    tables, history = learned(MaximumAPosteriori(missing="em"), data, Structure(((), (0,))))
    assert tables.is_normalized
    assert len(history)


def test_a_structure_too_dense_for_the_gaps_is_refused_with_names(monkeypatch):
    monkeypatch.setattr(component_sums, "MAX_CELLS", 5)
    data = encoded(np.random.default_rng(0), [3, 3, 3, 2], 2, 40)
    data.codes[:3, 5] = 3
    with pytest.raises(ValueError, match="missing values in 'x0', 'x1', 'x2'"):
        learned(MaximumLikelihood(missing="em"), data, Structure(((), (0,), (0, 1), (0, 1, 2))))


@pytest.mark.parametrize("kind", [MaximumLikelihood, MaximumAPosteriori])
@pytest.mark.parametrize(
    "setting, message",
    [
        ({"missing": "EM"}, "missing='EM' is not one of 'available', 'em'"),
        ({"missing": None}, "missing=None"),
        ({"max_iter": 0}, "max_iter=0 must be a whole number of at least 1"),
        ({"max_iter": 2.5}, "max_iter=2.5"),
        ({"max_iter": True}, "max_iter=True"),
        ({"tol": -1e-3}, "tol=-0.001 must be a number that is at least 0"),
        ({"tol": float("nan")}, "tol=nan"),
    ],
)
def test_settings_that_make_no_sense_are_refused(kind, setting, message):
    with pytest.raises(ValueError, match=message):
        learned(kind(**setting), drawn(0, 10), TREE)


@pytest.mark.parametrize("kind", [MaximumLikelihood, MaximumAPosteriori])
def test_gaps_is_the_old_name_of_missing(kind):
    with pytest.warns(FutureWarning, match="the parameter gaps is deprecated .* use missing"):
        learner = kind(gaps="em")
    assert learner.missing == "em"
    assert "gaps" not in learner.get_params()
    assert clone(learner).missing == "em"
    with pytest.warns(FutureWarning, match="gaps"):
        assert learner.gaps == "em"
    with pytest.warns(FutureWarning, match="gaps"):
        learner.set_params(gaps="available", max_iter=7)
    assert (learner.missing, learner.max_iter) == ("available", 7)
    with pytest.warns(FutureWarning, match="gaps"):
        learner.gaps = "em"
    old = kind()
    old.__setstate__({**learner.get_params(), "gaps": learner.__dict__.pop("missing")})
    assert old.missing == "em"
    with pytest.raises(TypeError, match="gaps is the old name of missing"):
        kind(gaps="em", missing="em")


def test_where_there_are_counts_only_em_is_refused():
    layout = Layout(NAIVE, np.array(CARDS), 2)
    counts = FamilyCounts(layout, np.ones(2), np.ones(layout.size))
    with pytest.raises(ValueError, match=r"EM needs rows, .*use missing=\"available\""):
        MaximumLikelihood(missing="em").tables(counts)
    with pytest.raises(
        ValueError, match=r"MaximumLikelihood\(missing='em'\): a search counts families one by one"
    ):
        SampleScore("cl", parameters=MaximumLikelihood(missing="em")).checked()


def test_gradient_learners_start_from_em():
    data, by_em = drawn(0, 40, gaps=0.3), MaximumAPosteriori(missing="em")
    with pytest.warns(ConvergenceWarning, match="max_iter=0"):
        start, _ = learned(
            MaximumConditionalLikelihood(max_iter=0, generative=by_em, backoff=False), data, TREE
        )
    np.testing.assert_allclose(start.log_theta, learned(by_em, data, TREE)[0].log_theta, atol=1e-12)


# ---- the estimator


def frame_with_gaps(n):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    first = np.where(rng.random(n) < 0.8, y, rng.integers(0, 3, n))
    X = np.column_stack([first, (first + rng.integers(0, 2, n)) % 3, rng.integers(0, 2, n)]).astype(
        float
    )
    X[rng.random(X.shape) < 0.25] = np.nan
    return X, y


@pytest.mark.parametrize(
    "parameters",
    [MaximumAPosteriori(missing="em"), MaximumLikelihood(missing="em", tol=1e-4)],
    ids=repr,
)
def test_the_estimator_and_its_file(parameters, tmp_path):
    X, y = frame_with_gaps(60 if UNCOMPILED else 300)
    clf = BayesNetClassifier("tan", parameters, discretizer=None).fit(X, y)
    plain = clone(clf).set_params(parameters__missing="available").fit(X, y)
    assert clf.get_params()["parameters__missing"] == "em"
    assert clf.network_.structure == plain.network_.structure
    assert clf.network_.log_likelihood(X, y).sum() > plain.network_.log_likelihood(X, y).sum()
    assert [step["iteration"] for step in clf.history_ if "iteration" in step]
    clf.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.get_params()["parameters__missing"] == "em"
    assert again.get_params()["parameters__tol"] == parameters.tol
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    np.testing.assert_array_equal(clone(again).fit(X, y).predict_proba(X), clf.predict_proba(X))
