"""Objectives against plain formulas and numerical gradients; ties, weights, extremes, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from discbayes.engine.threads import BLOCK_ROWS
from discbayes.objectives import (
    OBJECTIVES,
    TIE,
    ClassificationRate,
    ConditionalLikelihood,
    Margin,
    NoGradientError,
    Slack,
    SquaredError,
    objective_of,
    require_gradient,
)

MARGINS = [
    Margin(),
    Margin(0.5),
    Margin(0.5, eta=10.0),
    Margin(0.3, kappa=0.5),
    Margin(1.0, eta=2.0, kappa=0.4),
]
SLACKS = [
    Slack(),
    Slack(3.0, 0.5, eta=10.0),
    Slack(0.4, radius=0.4),
    Slack(5.0, 2.0, eta=3.0, radius=1.0),
]
SMOOTH = [ConditionalLikelihood(), SquaredError(), *MARGINS, *SLACKS]
ALL = [ClassificationRate(), *SMOOTH]


def random_rows(seed, n_classes, n_rows=60, spread=3.0):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(-5, spread, (n_rows, n_classes)),
        rng.integers(0, n_classes, n_rows),
        rng.random(n_rows) * 3,
    )


def plain(objective, row, y):
    """What a row is worth, straight from the definition."""
    others = np.delete(row, y)
    if isinstance(objective, ClassificationRate):
        before, after = row[:y], row[y + 1 :]
        return float((row[y] > before + TIE).all() and (row[y] >= after - TIE).all())
    if isinstance(objective, ConditionalLikelihood):
        return row[y] - np.logaddexp.reduce(row)
    if isinstance(objective, SquaredError):
        posterior = np.exp(row - np.logaddexp.reduce(row))
        return -((posterior - np.eye(row.size)[y]) ** 2).sum() / 2
    if others.size == 0:
        return 0.0 if isinstance(objective, Slack) else 1.0
    rival = (
        others.max()
        if objective.eta is None
        else np.logaddexp.reduce(objective.eta * others) / objective.eta
    )
    if isinstance(objective, Slack):
        return -objective.lam * hinge_of_p13(objective.gamma - (row[y] - rival), objective.radius)
    x, kappa = objective.lam * (row[y] - rival), objective.kappa
    if x < 1 - kappa:
        return x
    return 1.0 if x >= 1 + kappa else 1 - (1 + kappa - x) ** 2 / (4 * kappa)


def hinge_of_p13(zeta, radius):
    """The soft hinge as section 4 of P13 has it."""
    mu = radius * (1 - np.sqrt(2))
    if zeta < mu or (zeta < 0 and not radius):
        return 0.0
    return (
        zeta if zeta > mu + radius / np.sqrt(2) else radius - np.sqrt(radius**2 - (zeta - mu) ** 2)
    )


@pytest.mark.parametrize("objective", ALL, ids=repr)
@pytest.mark.parametrize("n_classes", [1, 2, 5, 100])
def test_rows_and_values_equal_the_definition(objective, n_classes):
    log_joint, y, weight = random_rows(n_classes, n_classes)
    expected = np.array([plain(objective, row, c) for row, c in zip(log_joint, y, strict=True)])
    np.testing.assert_allclose(objective.rows(log_joint, y), expected, rtol=1e-12, atol=1e-12)
    assert objective.value(log_joint, y) == pytest.approx(expected.sum(), rel=1e-12)
    assert objective.value(log_joint, y, weight) == pytest.approx(expected @ weight, rel=1e-12)


@pytest.mark.parametrize("objective", SMOOTH, ids=repr)
@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_gradients_equal_differences(objective, n_classes):
    log_joint, y, weight = random_rows(7 + n_classes, n_classes, 25)
    value, gradient = objective.value_and_gradient(log_joint, y, weight)
    assert value == objective.value(log_joint, y, weight)
    step = 1e-6
    for c in range(n_classes):
        shift = step * (np.arange(n_classes) == c)
        rise = objective.rows(log_joint + shift, y) - objective.rows(log_joint - shift, y)
        np.testing.assert_allclose(gradient[:, c], weight * rise / (2 * step), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("objective", SMOOTH, ids=repr)
def test_the_gradient_without_weights_has_weights_of_one(objective):
    log_joint, y, _ = random_rows(3, 4)
    value, gradient = objective.value_and_gradient(log_joint, y)
    again, same = objective.value_and_gradient(log_joint, y, np.ones(y.size))
    assert value == again
    np.testing.assert_array_equal(gradient, same)
    # a constant for all classes changes nothing
    np.testing.assert_allclose(gradient.sum(axis=1), 0, atol=1e-12)


def test_ties_go_to_the_first_class_and_survive_rounding():
    log_joint = np.array(
        [[0.0, 0.0, -1.0], [0.0, 1e-12, -1.0], [1e-12, 0.0, -1.0], [0.0, 1e-8, -1.0]]
    )
    rate = ClassificationRate()
    for c, right in enumerate([[1, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]):
        np.testing.assert_array_equal(rate.rows(log_joint, np.full(4, c)), right)
    equal = np.zeros((3, 3))
    np.testing.assert_array_equal(rate.rows(equal, [0, 1, 2]), [1, 0, 0])


@pytest.mark.parametrize("objective", ALL, ids=repr)
def test_extreme_scores_give_numbers(objective):
    low = -np.inf
    log_joint = np.array(
        [
            [-1e5, -2e5, -3e5],
            [-2e5, -1e5, -3e5],
            [-1.0, low, low],
            [low, -1.0, -2.0],
            [low, low, low],
            [low, low, -1e5],
        ]
    )
    y = np.array([0, 0, 0, 0, 1, 2])
    values = objective.rows(log_joint, y)
    assert not np.isnan(values).any()
    assert objective.value(log_joint[:3], y[:3], [1.0, 1.0, 1.0]) > low
    # the one row of minus infinity does not count
    weight = np.array([1.0, 1.0, 1.0, 0.0, 1.0, 1.0])
    assert np.isfinite(objective.value(log_joint, y, weight))
    if objective.differentiable:
        assert np.isfinite(objective.value_and_gradient(log_joint, y, weight)[1]).all()


def test_what_impossible_rows_are_worth():
    low = -np.inf
    log_joint = np.array([[low, -1.0], [-1.0, low], [low, low]])
    y = np.array([0, 0, 0])
    np.testing.assert_array_equal(ClassificationRate().rows(log_joint, y), [0, 1, 1])
    np.testing.assert_array_equal(ConditionalLikelihood().rows(log_joint, y), [low, 0, -np.log(2)])
    np.testing.assert_array_equal(Margin(eta=10.0, kappa=0.5).rows(log_joint, y), [low, 1, 0])


@pytest.mark.parametrize("objective", ALL, ids=repr)
def test_one_class_is_always_right_and_no_rows_are_worth_nothing(objective):
    log_joint = np.array([[-3.0], [-np.inf]])
    best = 0.0 if isinstance(objective, (ConditionalLikelihood, SquaredError, Slack)) else 1.0
    np.testing.assert_array_equal(objective.rows(log_joint, [0, 0]), [best, best])
    assert objective.value(np.empty((0, 3)), np.empty(0)) == 0.0


@pytest.mark.parametrize("objective", ALL, ids=repr)
def test_threads_change_no_bit_and_weight_two_is_a_row_twice(objective):
    log_joint, y, weight = random_rows(0, 2, 2 * BLOCK_ROWS + 5)
    assert objective.value(log_joint, y, weight, n_jobs=1) == objective.value(
        log_joint, y, weight, n_jobs=2
    )
    few = slice(0, 50)
    double = objective.value(log_joint[few], y[few], np.full(50, 2.0))
    assert double == pytest.approx(
        objective.value(np.tile(log_joint[few], (2, 1)), np.tile(y[few], 2)), rel=1e-12
    )


def test_the_rounded_hinge_meets_the_sharp_one_smoothly():
    """Values and slopes of both pieces agree where they meet: at 1 − κ and 1 + κ."""
    kappa, step = 0.5, 1e-7
    objective = Margin(1.0, kappa=kappa)
    at = np.array([1 - kappa - step, 1 - kappa + step, 1 + kappa - step, 1 + kappa + step])
    log_joint = np.column_stack([at, np.zeros(4)])
    values, gradient = (
        objective.rows(log_joint, np.zeros(4)),
        objective.value_and_gradient(log_joint, np.zeros(4))[1],
    )
    np.testing.assert_allclose(values, [0.5, 0.5, 1, 1], atol=1e-6)
    np.testing.assert_allclose(gradient[:, 0], [1, 1, 0, 0], atol=1e-6)


def test_the_soft_maximum_is_above_the_hard_one_and_tends_to_it():
    log_joint, y, _ = random_rows(5, 6)
    hard = Margin(0.01).rows(log_joint, y)
    gaps = [np.max(hard - Margin(0.01, eta=eta).rows(log_joint, y)) for eta in (1.0, 10.0, 1000.0)]
    assert gaps[0] > gaps[1] > gaps[2] >= 0
    assert gaps[2] < 1e-4


def test_the_soft_slack_is_above_the_sharp_one_and_tends_to_it():
    log_joint, y, _ = random_rows(6, 4, spread=1.0)
    sharp = Slack(2.0).rows(log_joint, y)
    gaps = [
        np.max(sharp - Slack(2.0, eta=1 / r, radius=r).rows(log_joint, y)) for r in (1.0, 0.1, 1e-5)
    ]
    assert gaps[0] > gaps[1] > gaps[2] >= 0
    assert gaps[2] < 1e-4


@pytest.mark.parametrize("objective", SLACKS[1:], ids=repr)
@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_the_conjugate_of_the_slack_bounds_it_from_below(objective, n_classes):
    """λ w S(L) ≥ λ w (r·L − S*(r)) for every L, and both are equal where r is the gradient."""
    log_joint, y, weight = random_rows(7, n_classes, spread=2.0)
    elsewhere = log_joint + np.random.default_rng(8).normal(size=log_joint.shape)
    paid, residual = objective.conjugate(log_joint, y.astype(np.int32), weight, np.empty((0, 0)))
    assert -objective.value(log_joint, y, weight) == pytest.approx(
        (residual * log_joint).sum() - paid, abs=1e-9
    )
    assert -objective.value(elsewhere, y, weight) >= (residual * elsewhere).sum() - paid - 1e-9
    np.testing.assert_allclose(
        residual, -objective.value_and_gradient(log_joint, y, weight)[1], atol=1e-12
    )
    factors = np.random.default_rng(9).random(log_joint.shape)
    paid, smaller = objective.conjugate(log_joint, y.astype(np.int32), weight, factors)
    for point in (log_joint, elsewhere):
        assert -objective.value(point, y, weight) >= (smaller * point).sum() - paid - 1e-9
    rivals = np.arange(n_classes) != y[:, None]
    np.testing.assert_allclose(smaller[rivals], (residual * factors)[rivals], atol=1e-12)
    np.testing.assert_allclose(smaller.sum(axis=1), 0.0, atol=1e-12)


def test_names_objects_and_what_is_neither():
    assert [type(objective_of(name)) for name in OBJECTIVES] == list(OBJECTIVES.values())
    margin = Margin(0.2)
    assert objective_of(margin) is margin
    with pytest.raises(
        ValueError, match="'cll' is not an objective; it is one of 'cr', 'cl', 'mm'"
    ):
        objective_of("cll")
    with pytest.raises(TypeError, match=r"Margin is a class: pass an object, Margin\(...\)"):
        objective_of(Margin)
    with pytest.raises(TypeError, match="3 is not an objective"):
        objective_of(3)


def test_a_gradient_of_the_rate_is_refused_readably():
    message = r"ClassificationRate\(\) has no gradient.*\"cl\".*\"mm\""
    with pytest.raises(NoGradientError, match=message):
        require_gradient(ClassificationRate())
    with pytest.raises(NoGradientError, match=message):
        ClassificationRate().value_and_gradient(np.zeros((1, 2)), [0])
    assert require_gradient(margin := Margin()) is margin


@pytest.mark.parametrize(
    "objective, message",
    [
        (Margin(0.0), "lam=0.0 must be a number above 0"),
        (Margin(np.nan), "lam=nan"),
        (Margin(eta=0.0), "eta=0.0 must be a number above 0, or None"),
        (Margin(kappa=-1.0), "kappa=-1.0"),
        (Slack(gamma=0.0), "gamma=0.0 must be a number above 0: it is the margin"),
        (Slack(gamma=np.inf), "gamma=inf"),
        (Slack(lam=-1.0), "lam=-1.0 must be a number that is at least 0"),
        (Slack(eta=-1.0), "eta=-1.0 must be a number above 0, or None"),
        (Slack(radius=np.nan), "radius=nan"),
    ],
)
def test_settings_that_make_no_sense(objective, message):
    with pytest.raises(ValueError, match=message):
        objective.value(np.zeros((1, 2)), [0])


def test_arrays_that_do_not_fit_together():
    rate = ClassificationRate()
    with pytest.raises(ValueError, match="do not belong to the same rows"):
        rate.value(np.zeros((2, 2)), [0])
    with pytest.raises(ValueError, match="do not belong to the same rows"):
        rate.value(np.zeros((2, 2)), [0, 1], [1.0])
    with pytest.raises(ValueError, match="not among the 2 classes"):
        rate.value(np.zeros((2, 2)), [0, 2])


def test_objectives_are_settings():
    assert repr(clone(Margin(0.2, kappa=0.1))) == "Margin(kappa=0.1, lam=0.2)"
    assert Margin(0.2).get_params() == {"lam": 0.2, "eta": None, "kappa": 0.0}
