"""Conditional-likelihood parameters: every link of the chain against an oracle, then the whole
against others.
"""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.preprocessing import OneHotEncoder

import oracle
from coded import domain_of, encoded, rows_of
from discbayes import BayesNetClassifier
from discbayes.counts import count
from discbayes.data.domain import Encoded
from discbayes.data.folds import stratified_folds
from discbayes.data.row_keys import distinct_rows
from discbayes.engine import Context
from discbayes.inference import component_sums, log_joint
from discbayes.network import Layout, Structure
from discbayes.objectives import ClassificationRate, ConditionalLikelihood, Margin, NoGradientError
from discbayes.optim import lbfgs
from discbayes.parameters import MaximumConditionalLikelihood, MaximumLikelihood, block_scores
from discbayes.parameters.block_scores import BlockScores
from discbayes.parameters.log_scores import LogScores
from discbayes.parameters.parameterization import Numbers, Softmax
from discbayes.parameters.problem import Problem

UNCOMPILED = bool(numba.config.DISABLE_JIT)
TREE = Structure(((), (0,), (0,), (2,)))
# two parents; x1 does not depend on the class
TIED = Structure(((), (0,), (0, 1), (2,)), (True, False, True, True))
UNJOINED = Structure(((), (0,), (1, 3), ()), (False, True, True, True))


def learned(data, structure, learner=None, n_jobs=None):
    context = Context(n_jobs=n_jobs)
    return (learner or MaximumConditionalLikelihood()).learn(
        data, count(data), structure, context
    ), context


def mean_log_posterior(tables, data):
    weight = np.ones(data.n_samples) if data.weight is None else data.weight
    return (
        ConditionalLikelihood().value(log_joint(tables, data.codes), data.y, weight) / weight.sum()
    )


def drawn(seed, n_rows, cards=(2, 3, 2, 3), n_classes=3, **options):
    return encoded(
        np.random.default_rng(seed), list(cards), n_classes, n_rows, linked=True, **options
    )


# ---- the log-joint, forth


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_scores_equal_enumeration_for_every_pattern_of_gaps(seed, normalized):
    rng = np.random.default_rng(seed)
    cards = [2, 3, 1, 2, 3][: 4 if UNCOMPILED else 5]
    structure = oracle.random_structure(rng, len(cards))
    tables = oracle.random_tables(rng, structure, cards, 3, normalized)
    codes = oracle.every_pattern(rng, cards)
    y = np.arange(codes.shape[1])  # tells where a row has gone
    data = Encoded(codes, domain_of(cards, 3), y)
    scores = BlockScores(data, tables.layout, normalized)
    numbers = scores.padded(Numbers(tables.log_prior, tables.log_theta))
    found = np.concatenate([scores.forward(numbers, block) for block in scores.chunks])
    np.testing.assert_allclose(
        found, oracle.log_joint(tables, codes)[scores.y], rtol=1e-10, atol=1e-10
    )


def test_chunks_cover_all_rows_once(monkeypatch):
    monkeypatch.setattr(block_scores, "CHUNK_ROWS", 7)
    data = drawn(0, 60, gaps=0.3)
    scores = BlockScores(data, Layout(TIED, data.cards, 3), True)
    spans = [(chunk.start, chunk.stop) for chunk in scores.chunks]
    assert [a for a, _ in spans] == [0, *(b for _, b in spans[:-1])]
    assert spans[-1][1] == 60
    assert max(b - a for a, b in spans) <= 8  # at least eight chunks


def test_a_structure_too_dense_for_the_gaps_is_refused_with_names(monkeypatch):
    monkeypatch.setattr(component_sums, "MAX_CELLS", 20)
    data = encoded(np.random.default_rng(0), [3, 3, 3, 2], 2, 40)
    data.codes[:3, 5] = 3
    structure = Structure(((), (0,), (0, 1), (0, 1, 2)))
    with pytest.raises(
        ValueError,
        match=r"missing values in 'x0', 'x1', 'x2'; .*missing=\"drop\" or missing=\"value\"",
    ):
        learned(data, structure)


# ---- the gradient, back


def problem_of(data, structure, objective=None):
    parameterization = Softmax(Layout(structure, data.cards, data.n_classes))
    scores = LogScores(data, parameterization.layout, True)
    return Problem(objective or ConditionalLikelihood(), scores, parameterization)


def check_gradient(problem, free, rng):
    value, gradient = problem.value_and_gradient(free)
    assert problem.value(free) == pytest.approx(value, rel=1e-13)
    step = 1e-5
    for _ in range(4):
        way = rng.normal(size=free.size)
        rise = (problem.value(free + step * way) - problem.value(free - step * way)) / (2 * step)
        assert gradient @ way == pytest.approx(rise, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(
    "objective", [ConditionalLikelihood(), Margin(0.5, eta=10.0, kappa=0.5)], ids=repr
)
@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_gradients_equal_differences_on_random_structures(seed, gaps, objective):
    rng = np.random.default_rng(seed)
    data = encoded(rng, [2, 3, 1, 3, 2], 2 + seed % 2, 25, gaps=gaps, weighted=seed > 0)
    problem = problem_of(data, oracle.random_structure(rng, 5), objective)
    check_gradient(problem, rng.normal(size=problem.parameterization.size), rng)


@pytest.mark.parametrize("structure", [Structure.naive(4), TREE, TIED], ids=["nb", "tan", "tied"])
def test_every_entry_of_the_gradient(structure):
    data = drawn(1, 20, gaps=0.2, weighted=True)
    problem = problem_of(data, structure)
    free = np.random.default_rng(2).normal(size=problem.parameterization.size)
    gradient = problem.value_and_gradient(free)[1]
    for k in range(0, free.size, 5 if UNCOMPILED else 1):
        shift = 1e-5 * (np.arange(free.size) == k)
        rise = (problem.value(free + shift) - problem.value(free - shift)) / 2e-5
        assert gradient[k] == pytest.approx(rise, rel=1e-6, abs=1e-9)


def test_a_gap_counts_by_its_posterior():
    """The derivative with respect to log θ of a cell is its expected count, here in a chain with a
    gap at its head.
    """
    rng = np.random.default_rng(0)
    structure = Structure(((), (0,)))
    tables = oracle.random_tables(rng, structure, [3, 2], 2)
    data = Encoded(np.array([[3], [1]], np.uint8), domain_of([3, 2], 2), np.array([0]))
    scores = BlockScores(data, tables.layout, True)
    numbers, into = scores.padded(Numbers(tables.log_prior, tables.log_theta)), scores.blank()
    scores.pull_back(scores.chunks[0], np.array([[1.0, 0.0]]), into)
    joint = oracle.full_joint(tables)[:, 1, 0]
    expected = scores.stripped(numbers, into).cells
    np.testing.assert_allclose(
        tables.layout.table(expected, 0)[:, 0], joint / joint.sum(), rtol=1e-12
    )
    np.testing.assert_allclose(
        tables.layout.table(expected, 1)[:, 1, 0], joint / joint.sum(), rtol=1e-12
    )
    assert tables.layout.table(expected, 1)[:, 0].sum() == 0


def test_tied_columns_share_their_numbers():
    parameterization = Softmax(Layout(TIED, np.array([2, 3, 2, 3]), 3))
    assert parameterization.size == 3 + 2 * 3 + 2 * 3 + 2 * 3 * 2 * 3 + 2 * 3 * 3
    rng = np.random.default_rng(0)
    tables = oracle.random_tables(rng, TIED, [2, 3, 2, 3], 3)
    again = parameterization.tables(parameterization.start(tables))
    np.testing.assert_allclose(again.log_theta, tables.log_theta, atol=1e-12)
    np.testing.assert_allclose(again.log_prior, tables.log_prior, atol=1e-12)
    anywhere = parameterization.tables(rng.normal(size=parameterization.size))
    assert anywhere.is_normalized
    assert not np.ptp(anywhere.log_table(1), axis=-1).any()


def test_a_start_with_zeros_and_an_objective_without_gradient_are_refused():
    data = drawn(0, 10)
    problem = problem_of(data, TIED)
    zero = MaximumLikelihood(epsilon=0).learn(data, count(data), TIED, Context())
    with pytest.raises(ValueError, match="probabilities of zero"):
        problem.parameterization.start(zero)
    with pytest.raises(NoGradientError, match="has no gradient"):
        problem_of(data, TIED, ClassificationRate())


# ---- the climb


def test_the_minimiser_finds_what_scipy_finds():
    def function(x):
        return rosen(x), rosen_der(x)

    start = np.array([-1.2, 1.0, 0.7, 2.0, -0.3])
    ours = lbfgs(function, start, 500, 1e-14)
    theirs = minimize(
        rosen, start, jac=rosen_der, method="L-BFGS-B", options={"ftol": 1e-14, "maxiter": 500}
    )
    assert ours.converged
    assert ours.n_iter < 2 * theirs.nit
    np.testing.assert_allclose(ours.point, theirs.x, atol=1e-5)
    early = lbfgs(function, start, 3, 1e-14)
    assert (early.n_iter, early.converged) == (3, False)
    seen = []
    stopped = lbfgs(function, start, 500, 1e-14, lambda x, f: seen.append(f) or len(seen) == 4)
    assert stopped.n_iter == 4
    assert seen == sorted(seen, reverse=True)
    flat = lbfgs(lambda x: (0.0, np.zeros_like(x)), start, 10, 0.0)
    assert (flat.n_iter, flat.converged) == (0, True)


@pytest.mark.parametrize("gaps", [0.0, 0.15])
@pytest.mark.parametrize("structure", [Structure.naive(4), TREE], ids=["nb", "tan"])
def test_the_conditional_likelihood_rises_above_that_of_frequencies(structure, gaps):
    data = drawn(3, 40 if UNCOMPILED else 400, gaps=gaps, weighted=True)
    learner = MaximumConditionalLikelihood(tol=1e-4)
    start = MaximumLikelihood().learn(data, count(data), structure, Context())
    tables, context = learned(data, structure, learner)
    values = [step["score"] for step in context.history]
    assert tables.is_normalized
    assert mean_log_posterior(tables, data) > mean_log_posterior(start, data) + 1e-3
    assert values == sorted(values)
    assert values[-1] == pytest.approx(
        mean_log_posterior(tables, data) * data.weight.sum(), rel=1e-9
    )
    assert [step["iteration"] for step in context.history] == list(range(1, len(values) + 1))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_naive_bayes_is_logistic_regression(n_classes):
    rng = np.random.default_rng(0)
    n = 80 if UNCOMPILED else 400
    data = drawn(5, n, (2, 3, 4), n_classes)
    data = replace(
        data,
        y=np.where(rng.random(n) < 0.3, rng.integers(0, n_classes, n), data.y).astype(np.int32),
    )
    tables, _ = learned(
        data, Structure.naive(3), MaximumConditionalLikelihood(tol=1e-9, max_iter=2000)
    )
    X = OneHotEncoder().fit_transform(data.codes.T)
    theirs = LogisticRegression(C=1e8, tol=1e-10, max_iter=5000).fit(X, data.y)
    assert -mean_log_posterior(tables, data) == pytest.approx(
        log_loss(data.y, theirs.predict_proba(X)), abs=1e-5
    )


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_a_weight_of_two_is_the_row_twice_and_order_does_not_matter(gaps):
    data = drawn(7, 30, gaps=gaps)
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 3, 30)
    repeated = rng.permutation(np.repeat(np.arange(30), weight))
    learner = MaximumConditionalLikelihood(tol=1e-3)
    one, _ = learned(
        rows_of(replace(data, weight=weight.astype(float)), np.flatnonzero(weight)), TREE, learner
    )
    two, _ = learned(rows_of(data, repeated), TREE, learner)
    np.testing.assert_array_equal(one.log_theta, two.log_theta)
    np.testing.assert_array_equal(one.log_prior, two.log_prior)


@pytest.mark.parametrize("stopping", ["convergence", "cross-tuning"])
def test_threads_change_no_bit(stopping, monkeypatch):
    monkeypatch.setattr(block_scores, "CHUNK_ROWS", 16)
    monkeypatch.setattr("discbayes.engine.threads.THREAD_WORK", 0)
    data = drawn(8, 50 if UNCOMPILED else 300, gaps=0.1, weighted=True)
    learner = MaximumConditionalLikelihood(max_iter=10, tol=1e-2, stopping=stopping, n_folds=3)
    one, two = (learned(data, TREE, learner, n_jobs)[0] for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.log_theta, two.log_theta)


def test_cross_tuning_stops_where_held_out_rows_say():
    """Noise with many values is learned by heart: held-out rows say so after a few iterations."""
    rng = np.random.default_rng(0)
    n = 60 if UNCOMPILED else 300
    structure = Structure.naive(6)
    data = encoded(rng, [8] * 6, 2, n)
    test = encoded(rng, [8] * 6, 2, n)
    tuned, short = learned(
        data, structure, MaximumConditionalLikelihood(stopping="cross-tuning", max_iter=40)
    )
    full, long = learned(data, structure, MaximumConditionalLikelihood(tol=1e-4))
    assert len(short.history) < min(5, len(long.history))
    assert mean_log_posterior(tuned, test) > mean_log_posterior(full, test)
    assert mean_log_posterior(tuned, data) < mean_log_posterior(full, data)


def test_cross_tuning_is_the_plain_loop_over_folds():
    data = drawn(9, 60, weighted=False)
    learner = MaximumConditionalLikelihood(max_iter=6, stopping="cross-tuning", n_folds=3)
    folds = stratified_folds(data.y, 3, np.random.default_rng(0))
    total = np.zeros(7)
    for fold in range(3):
        for n_iter in range(7):
            rest, test = (
                rows_of(data, np.flatnonzero(folds != fold)),
                rows_of(data, np.flatnonzero(folds == fold)),
            )
            with pytest.warns(ConvergenceWarning):
                tables, _ = learned(
                    rest, TREE, MaximumConditionalLikelihood(max_iter=n_iter, tol=0)
                )
            total[n_iter] += mean_log_posterior(tables, test) * test.n_samples
    _, context = learned(data, TREE, learner)
    assert len(context.history) == total.argmax()


# ---- edges


def test_one_class_and_one_row_keep_the_frequencies():
    one_class = drawn(0, 20, n_classes=1)
    one_row = rows_of(drawn(0, 20), np.array([4]))
    for data in (one_class, one_row):
        for stopping in ("convergence", "cross-tuning"):
            learner = MaximumConditionalLikelihood(stopping=stopping)
            tables, _ = learned(data, TREE, learner)
            assert np.isfinite(tables.log_theta).all()
            assert mean_log_posterior(tables, data) == pytest.approx(0, abs=1e-3)


def test_weights_of_zero_everywhere_and_features_without_any_row():
    data = replace(drawn(0, 10), weight=np.zeros(10))
    tables, _ = learned(data, TREE)
    assert tables.is_normalized
    gone = drawn(1, 20)
    gone.codes[2] = 2  # never observed
    tables, _ = learned(gone, TREE, MaximumConditionalLikelihood(tol=1e-3))
    np.testing.assert_allclose(np.exp(tables.log_table(2)), 0.5, atol=0.5)
    assert tables.is_normalized


def test_wide_codes_and_a_hundred_classes():
    data = encoded(
        np.random.default_rng(0),
        [300, 2],
        100 if not UNCOMPILED else 20,
        200,
        gaps=0.1,
        linked=True,
    )
    with pytest.warns(ConvergenceWarning, match="still rising after max_iter=2 .* raise max_iter"):
        tables, _ = learned(data, Structure(((), (0,))), MaximumConditionalLikelihood(max_iter=2))
    assert tables.is_normalized


def test_searches_learn_the_same_tables_in_silence():
    data, learner = drawn(0, 30), MaximumConditionalLikelihood(tol=1e-2)
    quiet = learner.climb(data, count(data), UNJOINED)
    with pytest.warns(UserWarning, match="local optima"):
        loud, _ = learned(data, UNJOINED, learner)
    np.testing.assert_array_equal(quiet.log_theta, loud.log_theta)


def test_local_optima_are_spoken_of():
    with pytest.warns(UserWarning, match="the parents of 'x1', 'x2' are not joined.*local optima"):
        learned(drawn(0, 30), UNJOINED, MaximumConditionalLikelihood(tol=1e-2))


@pytest.mark.parametrize(
    "setting, message",
    [
        ({"max_iter": -1}, "max_iter=-1 must be a whole number of at least 0"),
        ({"max_iter": 2.5}, "max_iter=2.5"),
        ({"n_folds": 1}, "n_folds=1 must be a whole number of at least 2"),
        ({"tol": -1e-3}, "tol=-0.001"),
        ({"tol": float("nan")}, "tol=nan"),
        ({"generative": MaximumLikelihood(0)}, "epsilon=0 must be above 0"),
        ({"stopping": "early"}, "stopping='early' is not one of 'convergence', 'cross-tuning'"),
        ({"solver": "newton"}, "solver='newton' is not one of 'auto', 'lbfgs'"),
    ],
)
def test_settings_that_make_no_sense(setting, message):
    with pytest.raises(ValueError, match=message):
        learned(drawn(0, 10), TIED, MaximumConditionalLikelihood(**setting))


def test_the_name_in_the_estimator_beats_frequencies_on_its_own_ground():
    rng = np.random.default_rng(0)
    n = 100 if UNCOMPILED else 1000
    first = rng.integers(0, 2, n)
    # naive Bayes counts the same evidence four times
    copies = np.column_stack([first] * 4 + [rng.integers(0, 2, n)])
    y = np.where(rng.random(n) < 0.7, first, copies[:, 4])
    ours = BayesNetClassifier("nb", "cl", discretizer=None).fit(copies, y)
    plain = BayesNetClassifier("nb", "ml", discretizer=None).fit(copies, y)
    assert log_loss(y, ours.predict_proba(copies)) < log_loss(y, plain.predict_proba(copies)) - 0.01


# ---- rows


def test_distinct_rows_sum_their_weights():
    data = encoded(np.random.default_rng(0), [2, 2], 2, 60, gaps=0.2, weighted=True)
    found = distinct_rows(data)
    table = {}
    for row, c, w in zip(data.codes.T.tolist(), data.y.tolist(), data.weight, strict=True):
        table[(*row, c)] = table.get((*row, c), 0.0) + w
    again = {
        (*r, c): w
        for r, c, w in zip(found.codes.T.tolist(), found.y.tolist(), found.weight, strict=True)
    }
    assert again.keys() == table.keys()
    assert found.n_samples == len(table)
    for key, weight in table.items():
        assert again[key] == pytest.approx(weight)


def test_rows_with_equal_keys_are_still_compared(monkeypatch):
    monkeypatch.setattr(
        "discbayes.data.row_keys._keys", lambda data: np.zeros(data.n_samples, np.uint64)
    )
    data = encoded(np.random.default_rng(0), [2, 2], 2, 60)
    found = distinct_rows(data)
    assert found.weight.sum() == 60
    np.testing.assert_array_equal(
        np.bincount(found.codes[0] * 2 + found.codes[1], found.weight),
        np.bincount(data.codes[0] * 2 + data.codes[1]),
    )


def test_folds_spread_every_class_evenly():
    y = np.array([0] * 17 + [1] * 3 + [2] * 30)
    folds = stratified_folds(y, 5, np.random.default_rng(0))
    np.testing.assert_array_equal(np.bincount(folds), [10] * 5)
    for c in range(3):
        assert np.ptp(np.bincount(folds[y == c], minlength=5)) <= 1
    np.testing.assert_array_equal(folds, stratified_folds(y, 5, np.random.default_rng(0)))
