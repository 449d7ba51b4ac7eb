"""Discriminative parameters over every parameterisation: gradients, optima that others know,
penalties, choices.
"""

from __future__ import annotations

import warnings

import numba
import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder

import oracle
from coded import encoded
from discbayes import BayesNetClassifier, load_dataset
from discbayes.counts import count, count_families
from discbayes.data.folds import stratified_folds
from discbayes.engine import Context
from discbayes.inference import log_joint
from discbayes.network import Layout, Structure
from discbayes.objectives import (
    ClassificationRate,
    ConditionalLikelihood,
    Margin,
    Slack,
    SquaredError,
)
from discbayes.optim import conjugate_gradient, lbfgs
from discbayes.parameters import (
    DiscriminativeCCBN,
    ExtendedCCBN,
    MaximumAPosteriori,
    MaximumConditionalLikelihood,
    MaximumLikelihood,
    MaxMargin,
    WeightedCCBN,
)
from discbayes.parameters.fits import seen_cells
from discbayes.parameters.log_scores import LogScores
from discbayes.parameters.parameterization import Direct, Numbers, Plain, Softmax, Weights
from discbayes.parameters.problem import Penalty, Problem

UNCOMPILED = bool(numba.config.DISABLE_JIT)
NB = Structure.naive(4)
TAN = Structure(((), (0,), (0,), (2,)))
KDB2 = Structure(((), (0,), (0, 1), (1, 2)))
TWO_TREE = Structure(((), (0,), (0, 1), (0, 2)))
TIED = Structure(((), (0,), (0, 1), (2,)), (True, False, True, True))
STRUCTURES = {"nb": NB, "tan": TAN, "kdb2": KDB2, "2-tree": TWO_TREE, "tied": TIED}
OBJECTIVES = [
    ConditionalLikelihood(),
    Margin(0.3, eta=10.0, kappa=0.5),
    Slack(2.0, 0.7, eta=10.0, radius=1.0),
    SquaredError(),
]
LEARNERS = [
    MaximumConditionalLikelihood(),
    DiscriminativeCCBN(),
    ExtendedCCBN(),
    WeightedCCBN(),
    WeightedCCBN(level=2),
    WeightedCCBN(objective="mse"),
    MaxMargin(),
]


def drawn(seed, n_rows, cards=(2, 3, 2, 3), n_classes=3, **options):
    return encoded(
        np.random.default_rng(seed), list(cards), n_classes, n_rows, linked=True, **options
    )


def learned(data, structure, learner, n_jobs=None):
    context = Context(n_jobs=n_jobs)
    return learner.learn(data, count(data), structure, context), context


def posterior(scores):
    return softmax(scores, axis=1)


def total_cll(tables, data):
    weight = np.ones(data.n_samples) if data.weight is None else data.weight
    return ConditionalLikelihood().value(log_joint(tables, data.codes), data.y, weight)


# ---- gradients


def parameterized(kind, data, structure):
    layout = Layout(structure, data.cards, data.n_classes)
    families = count_families(data, layout, count(data))
    generative = MaximumAPosteriori("m", 1.0).tables(families)
    if kind in ("e", "plain"):
        return Softmax(layout) if kind == "e" else Plain(layout)
    if kind == "d":
        return Direct(layout, seen_cells(data, families), generative)
    return Weights(layout, seen_cells(data, families), generative, generative, int(kind[1]))


@pytest.mark.parametrize(
    "options", [{}, {"weighted": True}, {"gaps": 0.25, "weighted": True}], ids=str
)
@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
@pytest.mark.parametrize("kind", ["e", "d", "plain", "w1", "w2", "w3", "w4"])
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_gradients_equal_differences(n_classes, structure, kind, objective, options):
    rng = np.random.default_rng(5)
    data = drawn(1, 12 if UNCOMPILED else 40, n_classes=n_classes, **options)
    parameterization = parameterized(kind, data, STRUCTURES[structure])
    scores = LogScores(data, parameterization.layout, parameterization.normalized)
    free = rng.normal(size=parameterization.size)
    penalty = Penalty(
        0.7, rng.normal(size=free.size), parameterization.repeats, parameterization.n_prior
    )
    counts = Numbers(rng.random(data.n_classes), rng.random(parameterization.layout.size))
    problem = Problem(objective, scores, parameterization, penalty=penalty, counts=counts)
    gradient = problem.loss(free)[1]
    for _ in range(1 if UNCOMPILED else 3):
        way = rng.normal(size=free.size)
        rise = (problem.loss(free + 1e-5 * way)[0] - problem.loss(free - 1e-5 * way)[0]) / 2e-5
        assert gradient @ way == pytest.approx(rise, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("kind", ["d", "w1", "w2", "w3", "w4"])
def test_free_numbers_stand_for_what_they_should(kind):
    data = drawn(3, 400)
    layout = Layout(TWO_TREE, data.cards, 3)
    parameterization = parameterized(kind, data, TWO_TREE)
    cards = data.cards
    expected = {
        "d": 3 + layout.size,
        "w4": 3 + layout.size,
        "w3": 3 + int(cards.sum()) * 3,
        "w2": 3 + int(cards.sum()),
        "w1": 1 + cards.size,
    }
    assert seen_cells(data, count_families(data, layout, count(data))).all()
    assert parameterization.size == expected[kind]
    assert parameterization.n_prior == (1 if kind == "w1" else 3)


def test_weights_by_level_multiply_what_they_should():
    data = drawn(3, 60)
    families = count_families(data, Layout(TAN, data.cards, 3), count(data))
    generative = MaximumAPosteriori().tables(families)
    rng = np.random.default_rng(0)
    for level in (1, 2, 3, 4):
        seen = np.ones(generative.layout.size, bool)
        weights = Weights(generative.layout, seen, generative, generative, level)
        tables = weights.tables(rng.normal(size=weights.size))
        for i in range(4):
            factor = tables.log_table(i) / generative.log_table(i)
            same = {1: (0, 1, 2), 2: (0, 2), 3: (0,), 4: ()}[level]
            axes = (
                tuple(k for k in same if k < factor.ndim)
                if factor.ndim == 3
                else tuple(k - 1 for k in same if k)
            )
            spread = np.ptp(factor, axis=axes) if axes else np.zeros(1)
            np.testing.assert_allclose(spread, 0, atol=1e-9)
    np.testing.assert_allclose(
        weights.tables(np.ones(weights.size)).log_theta, generative.log_theta
    )


def test_two_classes_need_one_number_for_both():
    data = drawn(2, 300, n_classes=2)
    layout = Layout(TAN, data.cards, 2)
    parameterization = parameterized("d", data, TAN)
    assert parameterization.size == 1 + layout.size // 2
    tables = oracle.random_tables(np.random.default_rng(0), TAN, data.cards.tolist(), 2)
    again = parameterization.tables(parameterization.start(tables))
    np.testing.assert_allclose(
        posterior(log_joint(again, data.codes)),
        posterior(log_joint(tables, data.codes)),
        atol=1e-12,
    )


# ---- optima that others know


def one_hot(data):
    return OneHotEncoder(categories=[range(int(card)) for card in data.cards]).fit_transform(
        data.codes.T
    )


@pytest.mark.skipif(UNCOMPILED, reason="takes hundreds of passes over the data")
@pytest.mark.parametrize("penalty", [1.0, 0.05])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_naive_bayes_is_penalised_logistic_regression(n_classes, penalty):
    data = drawn(4, 500, n_classes=n_classes)
    C = (2 if n_classes == 2 else 1) / penalty
    theirs = LogisticRegression(C=C, tol=1e-10, max_iter=100_000).fit(one_hot(data), data.classes)
    learner = DiscriminativeCCBN(penalty=penalty, tol=1e-13, max_iter=10_000)
    tables, _ = learned(data, NB, learner)
    ours = posterior(log_joint(tables, data.codes))
    np.testing.assert_allclose(ours, theirs.predict_proba(one_hot(data)), atol=1e-5)
    fit = learner._fit(learner._settings()[0][0], data, count(data), NB, None)
    reached = fit.problem.loss(fit.problem.parameterization.start(tables))[0] * data.n_samples
    log_proba = theirs.predict_log_proba(one_hot(data))[np.arange(data.n_samples), data.classes]
    best = -log_proba.sum() + 0.5 / C * (theirs.coef_**2).sum()
    assert reached == pytest.approx(best, rel=1e-6)


@pytest.mark.skipif(UNCOMPILED, reason="takes thousands of passes over the data")
@pytest.mark.parametrize("start", ["zeros", "generative"])
@pytest.mark.parametrize("structure", ["nb", "tan", "kdb1"])
def test_d_e_and_w_reach_the_same_optimum(structure, start):
    """On data in which every cell of every family is seen with every class, so that the optimum is
    finite.
    """
    structure = {"nb": NB, "tan": TAN, "kdb1": Structure(((), (0,), (1,), (0,)))}[structure]
    data = drawn(6, 3000, cards=(2, 3, 2, 3))
    layout = Layout(structure, data.cards, 3)
    assert count_families(data, layout, count(data)).cells.min() > 0
    values = []
    for learner in (DiscriminativeCCBN, ExtendedCCBN, WeightedCCBN):
        tables, _ = learned(data, structure, learner(start=start, tol=1e-15, max_iter=20_000))
        values.append(total_cll(tables, data))
    np.testing.assert_allclose(values, values[0], rtol=1e-8)


def test_weights_of_one_are_the_generative_model():
    data = drawn(7, 80)
    generative = MaximumLikelihood().learn(data, count(data), TAN, Context())
    learner = WeightedCCBN(level=1, start="generative", generative="ml", max_iter=0)
    with pytest.warns(ConvergenceWarning, match="max_iter=0"):
        tables, _ = learned(data, TAN, learner)
    np.testing.assert_allclose(tables.log_theta, generative.log_theta, atol=1e-15)
    np.testing.assert_allclose(tables.log_prior, generative.log_prior, atol=1e-15)


@pytest.mark.parametrize("learner", [DiscriminativeCCBN, WeightedCCBN, ExtendedCCBN])
def test_a_strong_pull_towards_the_generative_model_gives_it(learner):
    data = drawn(8, 60, gaps=0.1)
    strong = learner(start="zeros", penalty=1e7, towards="generative", generative="map", tol=1e-12)
    tables, _ = learned(data, TAN, strong)
    generative = MaximumAPosteriori().learn(data, count(data), TAN, Context())
    np.testing.assert_allclose(
        posterior(log_joint(tables, data.codes)),
        posterior(log_joint(generative, data.codes)),
        atol=1e-3,
    )


def test_cells_that_were_never_seen_keep_their_start_or_go_to_the_centre():
    data = drawn(9, 12)
    families = count_families(data, Layout(TAN, data.cards, 3), count(data))
    unseen = ~seen_cells(data, families)
    assert unseen.any()
    generative = MaximumAPosteriori("m", 1.0).tables(families)
    for options, expected in (
        ({"start": "generative"}, generative.log_theta),
        ({"start": "zeros"}, np.zeros(unseen.size)),
        ({"start": "zeros", "penalty": 0.1, "towards": "generative"}, generative.log_theta),
        ({"start": "generative", "penalty": 0.1}, np.zeros(unseen.size)),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            tables, _ = learned(data, TAN, DiscriminativeCCBN(backoff=False, max_iter=5, **options))
        np.testing.assert_allclose(tables.log_theta[unseen], expected[unseen], atol=1e-12)
        assert np.abs(tables.log_theta[~unseen] - expected[~unseen]).max() > 1e-3


# ---- back-off


@pytest.mark.parametrize(
    "learner",
    [DiscriminativeCCBN(max_iter=3, backoff=True), MaximumConditionalLikelihood(max_iter=3)],
    ids=repr,
)
def test_unseen_cells_back_off_to_the_feature_alone(learner):
    data = drawn(10, 14, cards=(3, 4, 2, 3))
    data.codes[0][data.codes[0] == 2] = 0  # a value of the root that is never seen
    layout = Layout(TAN, data.cards, 3)
    families = count_families(data, layout, count(data))
    unseen = ~seen_cells(data, families)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        tables, _ = learned(data, TAN, learner)
        plain, _ = learned(data, TAN, clone(learner).set_params(backoff=False))
    alone = learner._generative().learn(data, count(data), NB, Context())
    some = 0
    for i, group in enumerate(TAN.parents):
        cells = layout.table(unseen, i)
        if learner.parameterization == "e" and group:
            cells = np.broadcast_to(cells.all(axis=-2, keepdims=True), cells.shape)
        cells = cells & bool(group)
        seen_alone = (
            layout.table(families.cells, i).reshape(-1, layout.cards[i], 3).sum(axis=(0, 2)) > 0
        )
        known = cells & seen_alone[:, None]
        some += known.sum()
        np.testing.assert_allclose(
            tables.log_table(i)[known],
            np.broadcast_to(alone.log_table(i), known.shape)[known],
            atol=1e-12,
        )
        np.testing.assert_array_equal(tables.log_table(i)[~cells], plain.log_table(i)[~cells])
        never = cells & ~seen_alone[:, None]
        if never.any() and learner.parameterization != "e":
            assert np.ptp(tables.log_table(i), axis=-1)[never[..., 0]].max() < 1e-12
    assert some > 0
    assert tables.is_normalized == (learner.parameterization == "e")


# ---- solvers


def test_conjugate_gradients_find_what_scipy_finds():
    start = np.array([-1.2, 1.0, 0.5, 2.0])
    ours = conjugate_gradient(lambda x: (rosen(x), rosen_der(x)), start, 5000, 0.0)
    np.testing.assert_allclose(ours.point, minimize(rosen, start, jac=rosen_der).x, atol=1e-4)
    assert ours.converged
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(30, 12))
    square = matrix.T @ matrix + np.eye(12)
    goal = rng.normal(size=12)
    found = conjugate_gradient(
        lambda x: (0.5 * x @ square @ x - goal @ x, square @ x - goal), np.zeros(12), 200, 0.0
    )
    np.testing.assert_allclose(found.point, np.linalg.solve(square, goal), atol=1e-6)


@pytest.mark.parametrize("solver", [lbfgs, conjugate_gradient])
def test_solvers_stop_when_told_and_say_when_they_ran_out(solver):
    calls = []

    def stop(point, value):
        calls.append(value)
        return np.bool_(len(calls) == 3)  # as comparisons of arrays give it

    outcome = solver(lambda x: (rosen(x), rosen_der(x)), np.array([-1.2, 1.0]), 100, 0.0, stop)
    assert (outcome.n_iter, len(calls), outcome.value) == (3, 3, calls[-1])
    assert (np.diff(calls) < 0).all()
    assert not solver(lambda x: (rosen(x), rosen_der(x)), np.array([-1.2, 1.0]), 2, 0.0).converged
    flat = solver(lambda x: (1.0, np.zeros(2)), np.ones(2), 5, 0.0)
    assert (flat.n_iter, flat.converged) == (0, True)


@pytest.mark.skipif(UNCOMPILED, reason="takes hundreds of passes over the data")
def test_all_solvers_end_at_the_same_value():
    data = drawn(11, 400)
    values = [
        total_cll(
            learned(
                data, TAN, DiscriminativeCCBN(penalty=0.5, solver=solver, tol=1e-12, max_iter=5000)
            )[0],
            data,
        )
        for solver in ("auto", "lbfgs", "cg")
    ]
    assert values[1:] == pytest.approx(values[:1] * 2, rel=1e-5)


# ---- choosing and stopping


def test_cross_validation_is_the_plain_loop_over_folds_and_settings():
    data = drawn(12, 60)
    grid = [10.0, 1.0, 0.1]
    learner = DiscriminativeCCBN(penalty=grid, n_folds=3, tol=1e-10)
    tables, context = learned(data, NB, learner)
    folds = stratified_folds(data.classes, 3, Context().rng)
    merits = np.zeros(3)
    for fold in range(3):
        rest, test = data.take(folds != fold), data.take(folds == fold)
        for k, penalty in enumerate(grid):
            merits[k] += total_cll(
                learned(rest, NB, DiscriminativeCCBN(penalty=penalty, tol=1e-10))[0], test
            )
    recorded = [step["score"] for step in context.history if "setting" in step]
    np.testing.assert_allclose(recorded, merits, rtol=1e-4)
    best = learned(data, NB, DiscriminativeCCBN(penalty=grid[int(merits.argmax())], tol=1e-10))[0]
    np.testing.assert_allclose(tables.log_theta, best.log_theta, atol=1e-12)


@pytest.mark.skipif(UNCOMPILED, reason="fits a hundred settings")
def test_the_margin_chooses_lambda_and_kappa_by_decisions():
    data = drawn(13, 90)
    learner = MaxMargin(lam=[0.05, 0.5], kappa=[0.1, 0.5], n_folds=3, max_iter=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        _, context = learned(data, TAN, learner)
    tried = [step for step in context.history if "setting" in step]
    assert len(tried) == 4
    assert all(0 <= step["held_out"] <= 1 for step in tried)
    assert len(MaxMargin(lam="cv", kappa="cv")._settings()) == 10
    for path in MaxMargin(lam="cv", kappa="cv")._settings():
        lams = [setting.objective.lam for setting in path]
        # a fit for a small λ would leave a larger one nothing to do
        assert lams == sorted(lams, reverse=True)
        assert len(lams) == 10


def test_held_out_stopping_keeps_the_best_point():
    data = drawn(14, 40, cards=(4, 4, 4, 4))
    learner = DiscriminativeCCBN(stopping="held-out", n_folds=4, tol=0.0)
    tables, _ = learned(data, TAN, learner)
    fold = stratified_folds(data.classes, 4, Context().rng) == 0
    rest, test = data.take(~fold), data.take(fold)
    to_the_end, _ = learned(rest, TAN, DiscriminativeCCBN())
    assert total_cll(tables, test) > total_cll(to_the_end, test)
    value = total_cll(tables, test)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for n in range(8):
            assert (
                value
                >= total_cll(learned(rest, TAN, DiscriminativeCCBN(max_iter=n, tol=0.0))[0], test)
                - 1e-9
            )


@pytest.mark.parametrize("stopping", ["convergence", "held-out"])
def test_interrupted_it_keeps_the_best_so_far(monkeypatch, stopping):
    data, calls, loss = drawn(22, 60), [], Problem.loss

    def interrupted(problem, free):
        calls.append(free)
        if len(calls) > 9:
            raise KeyboardInterrupt
        return loss(problem, free)

    learner = WeightedCCBN(start="generative", stopping=stopping)
    with monkeypatch.context() as patch:
        patch.setattr(Problem, "loss", interrupted)
        with pytest.warns(UserWarning, match="interrupted after [1-9] iterations"):
            tables, context = learned(data, TAN, learner)
    judged = (
        data.take(stratified_folds(data.classes, 5, Context().rng) == 0)
        if stopping == "held-out"
        else data
    )
    learned_from = (
        data.take(stratified_folds(data.classes, 5, Context().rng) != 0)
        if stopping == "held-out"
        else data
    )
    generative = learner._generative().learn(learned_from, count(learned_from), TAN, Context())
    assert total_cll(tables, judged) >= total_cll(generative, judged) - 1e-9
    assert 0 < len(context.history) < 10
    calls[:] = [0] * 10
    with monkeypatch.context() as patch:
        patch.setattr(Problem, "loss", interrupted)
        with pytest.raises(KeyboardInterrupt):  # nothing has been learned yet
            learned(data, TAN, learner)


# ---- the learners


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_every_learner_beats_its_start_on_its_own_ground(learner):
    data = drawn(15, 60 if UNCOMPILED else 300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        tables, _ = learned(data, TAN, clone(learner).set_params(max_iter=3 if UNCOMPILED else 200))
    objective = (
        Margin(0.1, 10.0, 0.5) if isinstance(learner, MaxMargin) else ConditionalLikelihood()
    )
    start = learner._generative().learn(data, count(data), TAN, Context())
    ours, theirs = (objective.value(log_joint(t, data.codes), data.y) for t in (tables, start))
    assert ours > theirs if not UNCOMPILED else np.isfinite(ours)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_threads_change_no_bit(learner, monkeypatch):
    monkeypatch.setattr("discbayes.parameters.block_scores.CHUNK_ROWS", 32)
    monkeypatch.setattr("discbayes.engine.threads.THREAD_WORK", 0)
    data = drawn(16, 150, gaps=0.1, weighted=True)
    few = clone(learner).set_params(max_iter=2 if UNCOMPILED else 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one, two = (learned(data, TAN, few, n_jobs)[0] for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.log_theta, two.log_theta)


@pytest.mark.parametrize(
    "learner", [DiscriminativeCCBN(max_iter=8), WeightedCCBN(level=3, max_iter=8)], ids=repr
)
def test_a_weight_of_two_is_the_row_twice(learner):
    data = drawn(17, 50, gaps=0.2)
    twice = data.take(np.r_[np.arange(50), np.arange(50)])
    heavy = data.take(np.arange(50))
    heavy = type(heavy)(heavy.codes, heavy.domain, heavy.classes, np.full(50, 2.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        a, b = (learned(d, TAN, learner)[0] for d in (twice, heavy))
    np.testing.assert_allclose(a.log_theta, b.log_theta, atol=1e-7)


@pytest.mark.parametrize("name", ["ccbn-d", "ccbn-e", "ccbn-w", "mm"])
def test_names_in_the_estimator(name):
    iris = load_dataset("iris")
    clf = BayesNetClassifier("tan", name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf.fit(iris.X, iris.y)
    assert clf.score(iris.X, iris.y) > 0.94
    incomplete = iris.X.astype(float).mask(np.random.default_rng(0).random(iris.X.shape) < 0.3)
    np.testing.assert_allclose(clf.predict_proba(incomplete).sum(axis=1), 1)


def test_one_class_one_value_and_no_feature():
    data = drawn(18, 20, n_classes=1)
    for learner in (DiscriminativeCCBN(), WeightedCCBN(), MaxMargin()):
        tables, _ = learned(data, NB, learner)
        np.testing.assert_allclose(posterior(log_joint(tables, data.codes)), 1.0)
    constant = drawn(19, 30, cards=(1, 1, 1, 1), n_classes=2)
    tables, _ = learned(constant, NB, DiscriminativeCCBN(tol=1e-12))
    share = np.bincount(constant.classes) / 30
    np.testing.assert_allclose(posterior(log_joint(tables, constant.codes))[0], share, atol=1e-4)
    with pytest.raises(ValueError, match="structure has 3 features and the data 4"):
        learned(data, Structure.naive(3), DiscriminativeCCBN())


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (DiscriminativeCCBN(penalty=-1), "penalty=-1.0 must be a finite number that is at least 0"),
        (DiscriminativeCCBN(penalty=[]), r"penalty=\[\] has no number to choose"),
        (DiscriminativeCCBN(penalty=np.nan), "penalty=nan must be a finite number"),
        (DiscriminativeCCBN(penalty="auto"), "penalty='auto' is not a number"),
        (DiscriminativeCCBN(start="ones"), "start='ones' is not one of 'generative', 'zeros'"),
        (DiscriminativeCCBN(towards="one"), "towards='one' is not one of 'zero', 'generative'"),
        (DiscriminativeCCBN(generative="cl"), "generative='cl' is not one of 'ml', 'map', 'm'"),
        (DiscriminativeCCBN(generative=MaxMargin()), "relative frequencies"),
        (DiscriminativeCCBN(tol=1e-20), "tol=1e-20 is less than a double can tell apart"),
        (DiscriminativeCCBN(n_folds=1), "n_folds=1 must be a whole number of at least 2"),
        (WeightedCCBN(level=5), "level=5 is not one of 1, 2, 3 and 4"),
        (MaxMargin(lam=0), "lam=0.0 must be a finite number that is above 0"),
        (MaxMargin(kappa=-0.1), "kappa=-0.1 must be a finite number that is at least 0"),
        (MaxMargin(eta=0), "eta=0 must be a number above 0"),
        (MaxMargin(solver="adam"), "solver='adam' is not one of 'auto', 'lbfgs', 'cg'"),
    ],
    ids=str,
)
def test_settings_that_make_no_sense(learner, message):
    with pytest.raises(ValueError, match=message):
        learned(drawn(0, 10), TAN, learner)


def test_only_normalised_tables_have_local_optima():
    unjoined = Structure(((), (), (0, 1), ()))
    data = drawn(20, 60)
    for learner in (MaxMargin(), ExtendedCCBN()):
        with pytest.warns(UserWarning, match="'x2' are not joined by edges"):
            learned(
                data,
                unjoined,
                clone(learner).set_params(max_iter=2, stopping="cross-tuning", n_folds=2),
            )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        learned(data, unjoined, DiscriminativeCCBN(max_iter=2))


def test_held_out_rates_count_decisions():
    data = drawn(21, 40)
    parameterization = parameterized("d", data, TAN)
    scores = LogScores(data, parameterization.layout, False)
    problem = Problem(ConditionalLikelihood(), scores, parameterization)
    free = np.random.default_rng(0).normal(size=parameterization.size)
    rate = ClassificationRate().value(log_joint(parameterization.tables(free), data.codes), data.y)
    assert problem.total_of(ClassificationRate(), free) == rate


# ---- starts that are given


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_a_start_at_the_optimum_saves_iterations(learner):
    data = drawn(31, 60)
    settings = {"max_iter": 2000, "tol": 1e-9, "penalty": 0.5, "backoff": False}
    best, first = learned(data, TAN, clone(learner).set_params(**settings))
    again, second = learned(data, TAN, clone(learner).set_params(**settings, start=best))
    assert len(second.history) <= len(first.history) // 2
    np.testing.assert_allclose(
        posterior(log_joint(again, data.codes)), posterior(log_joint(best, data.codes)), atol=1e-3
    )


def test_starts_of_other_networks_or_with_zeros_are_refused():
    data = drawn(32, 60)
    best, _ = learned(data, TAN, MaximumAPosteriori())
    with pytest.raises(
        ValueError, match="the start is of another structure: there the parents of 'x1' are"
    ):
        learned(data, NB, MaximumConditionalLikelihood(start=best))
    zero, _ = learned(data, NB, MaximumLikelihood(0.0))
    zero.log_theta[0] = -np.inf
    with pytest.raises(ValueError, match="probability of zero"):
        learned(data, NB, MaxMargin(start=zero))
    with pytest.raises(ValueError, match=r"start='ones' is not one of"):
        learned(data, NB, MaxMargin(start="ones"))


def test_tables_of_separable_rows_answer_about_gaps():
    """Numbers that run away towards −∞ are held in sums over gaps, and count in full where nothing
    is missing.
    """
    layout = Layout(TAN, np.array([2, 3, 2, 3]), 3)
    free = np.random.default_rng(33).normal(scale=800.0, size=Softmax(layout).size)
    tables = Softmax(layout).tables(free)
    assert tables.is_normalized
    assert tables.log_theta.min() < -1000.0
    codes = np.array([[0, 2], [3, 1], [2, 0], [1, 3]], np.uint8)
    assert np.isfinite(log_joint(tables, codes)).all()
    complete = np.array([[0, 1], [2, 1], [1, 0], [1, 2]], np.uint8)
    expected = tables.log_prior + sum(
        np.array(
            [
                tables.log_table(i)[(*complete[list(TAN.parents[i]), m], complete[i, m])]
                for m in range(2)
            ]
        )
        for i in range(4)
    )
    np.testing.assert_allclose(log_joint(tables, complete), expected, rtol=1e-12)
