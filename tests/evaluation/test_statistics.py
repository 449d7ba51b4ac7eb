"""Metrics, tests of significance, bias and variance: against published examples, scipy and
scikit-learn.

Demšar: "Statistical Comparisons of Classifiers over Multiple Data Sets", JMLR 7 (2006) 1-30.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import accuracy_score, brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

from discbayes.evaluation import metrics
from discbayes.evaluation.bias_variance import bias_variance
from discbayes.evaluation.statistics import (
    critical_difference,
    friedman,
    geometric_mean,
    groups_alike,
    paired_t,
    rank_table,
    sign_test,
    wilcoxon,
    win_draw_loss,
)

METHODS = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")

# Demšar Table 6: AUC of four versions of C4.5. In the row of voting the paper ranks 0.975 and 0.975
# as 2 and 3.
AUC = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)

# P10 Table 7: classification rates of NB-ML, TAN-CMI-ML, TAN-OMI-CR-ML and TAN-CR-ML, and the
# number of test rows.
P10 = np.array(
    [
        [86.50, 82.30, 82.04, 84.33, 690],
        [97.39, 96.51, 97.40, 97.10, 683],
        [87.15, 92.40, 94.93, 96.06, 1066],
        [83.11, 79.73, 81.76, 83.11, 296],
        [86.66, 99.20, 99.20, 96.80, 128],
        [85.45, 82.71, 84.07, 84.54, 653],
        [75.12, 75.66, 74.36, 74.88, 768],
        [79.09, 82.46, 82.74, 82.35, 1066],
        [75.20, 70.10, 73.20, 72.90, 1000],
        [71.20, 69.31, 70.70, 72.07, 214],
        [82.77, 80.32, 82.20, 82.77, 163],
        [84.07, 83.33, 81.85, 83.33, 270],
        [91.33, 85.67, 90.67, 89.00, 80],
        [93.33, 94.00, 93.33, 92.67, 150],
        [74.92, 87.46, 87.00, 87.42, 5000],
        [84.77, 85.98, 88.30, 84.80, 148],
        [86.43, 91.70, 91.41, 91.02, 1024],
        [75.39, 76.04, 75.26, 75.78, 768],
        [98.71, 99.48, 99.17, 99.17, 1934],
        [91.50, 93.58, 94.29, 93.82, 435],
        [81.75, 86.90, 88.25, 87.70, 2000],
        [92.34, 94.68, 94.42, 95.19, 770],
        [93.94, 89.29, 91.11, 91.62, 562],
        [58.78, 68.21, 67.38, 67.88, 846],
        [78.60, 78.00, 78.02, 78.47, 4700],
    ]
)


def drawn(
    n_rows: int = 200, n_classes: int = 4, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return (
        rng.dirichlet(np.ones(n_classes), n_rows),
        rng.integers(n_classes, size=n_rows),
        rng.integers(0, 4, size=n_rows).astype(float),
    )


# ---- metrics


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_metrics_are_those_of_scikit_learn(weighted, n_classes):
    shares, codes, weight = drawn(n_classes=n_classes)
    weight = weight if weighted else None
    found = metrics.measures(shares, codes, weight)
    options = {"sample_weight": weight, "labels": np.arange(n_classes)}
    assert found["accuracy"] == pytest.approx(
        accuracy_score(codes, shares.argmax(axis=1), sample_weight=weight)
    )
    assert found["log_loss"] == pytest.approx(sklearn_log_loss(codes, shares, **options))
    assert found["rmse"] == pytest.approx(
        math.sqrt(np.average((1 - shares[np.arange(codes.size), codes]) ** 2, weights=weight))
    )
    square = (shares - np.eye(n_classes)[codes]) ** 2
    assert found["brier"] == pytest.approx(np.average(square.sum(axis=1), weights=weight))


def test_brier_score_of_two_classes_is_twice_that_of_scikit_learn():
    shares, codes, weight = drawn(n_classes=2)
    one = brier_score_loss(codes, shares[:, 1], sample_weight=weight)
    assert metrics.brier(shares, codes, weight) == pytest.approx(2 * one)


def test_probabilities_of_zero_are_clipped_as_in_scikit_learn():
    shares, codes = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([1, 0])
    assert metrics.log_loss(shares, codes) == pytest.approx(sklearn_log_loss(codes, shares))


@pytest.mark.parametrize("weighted", [False, True])
def test_expected_calibration_error_bin_by_bin(weighted):
    shares, codes, weight = drawn(500)
    weight = weight if weighted else np.ones(500)
    top, right = shares.max(axis=1), shares.argmax(axis=1) == codes
    expected = 0.0
    for bin_ in range(15):
        rows = (top > bin_ / 15) & (top <= (bin_ + 1) / 15)
        if weight[rows].sum() > 0:
            gap = np.average(right[rows], weights=weight[rows]) - np.average(
                top[rows], weights=weight[rows]
            )
            expected += weight[rows].sum() / weight.sum() * abs(gap)
    given = weight if weighted else None
    assert metrics.expected_calibration_error(shares, codes, given) == pytest.approx(expected)
    assert metrics.measures(shares, codes, given)["ece"] == pytest.approx(expected)


def test_a_border_belongs_to_the_bin_below():
    shares = np.array([[0.6, 0.4], [0.55, 0.45], [0.65, 0.35]])
    confidence, right, rows = metrics.calibration_bins(shares, np.array([0, 1, 0]), n_bins=5)
    np.testing.assert_allclose(confidence, [0.575, 0.65])
    np.testing.assert_allclose(right, [0.5, 1.0])
    np.testing.assert_allclose(rows, [2, 1])


def test_certain_and_right_is_perfect():
    codes = np.array([0, 2, 1])
    found = metrics.measures(np.eye(3)[codes], codes)
    assert found == {"accuracy": 1.0, "log_loss": 0.0, "brier": 0.0, "rmse": 0.0, "ece": 0.0}


def test_a_class_that_the_model_does_not_know():
    """It is as if the posterior had a column of zeros for it."""
    shares, codes, weight = drawn(100, 3)
    more = np.column_stack([shares, np.zeros(100)])
    unknown = np.random.default_rng(1).random(100) < 0.3
    with_column = metrics.measures(more, np.where(unknown, 3, codes), weight)
    assert metrics.measures(shares, np.where(unknown, -1, codes), weight) == pytest.approx(
        with_column
    )


def test_rows_of_weight_zero_do_not_count():
    shares, codes, weight = drawn()
    kept = weight > 0
    repeated = np.repeat(np.flatnonzero(kept), weight[kept].astype(int))
    expected = metrics.measures(shares[repeated], codes[repeated])
    assert metrics.measures(shares, codes, weight) == pytest.approx(expected)


@pytest.mark.parametrize(
    "shares, codes, weight, message",
    [
        (np.ones((2, 2)) / 2, [0], None, r"shape \(2, 2\) and classes of shape \(1,\)"),
        (np.ones(2), [0, 1], None, r"give \(rows, classes\)"),
        (np.ones((0, 2)), [], None, "no rows"),
        (np.ones((2, 2)) / 2, [0, 2], None, "from −1 to 1 here, not 0 to 2"),
        (np.ones((2, 2)) / 2, [0, 1], [1.0], "1 weights for 2 rows"),
        (np.ones((2, 2)) / 2, [0, 1], [0.0, 0.0], "sum to zero"),
    ],
)
def test_what_cannot_be_scored(shares, codes, weight, message):
    with pytest.raises(ValueError, match=message):
        metrics.measures(shares, np.asarray(codes, int), weight)


def test_binomial_error():
    """P10 Table 1 on the 10,000 test rows of MNIST: 83.73 ± 0.37, 93.94 ± 0.24."""
    np.testing.assert_allclose(
        metrics.binomial_error([0.8373, 0.9394], 10_000), [0.0037, 0.0024], atol=5e-5
    )
    assert metrics.binomial_error(1.0, 1024) == 0.0
    with pytest.raises(ValueError, match="not per cent"):
        metrics.binomial_error(83.73, 10_000)
    with pytest.raises(ValueError, match="n=0"):
        metrics.binomial_error(0.5, 0)


def test_averages_of_p10_are_weighted():
    """The last row of Table 7."""
    averages = [metrics.weighted_mean(column, P10[:, -1]) for column in P10[:, :-1].T]
    np.testing.assert_allclose(averages, [81.50, 84.82, 85.11, 85.38], atol=0.00501)


def test_weights_that_give_no_mean():
    with pytest.raises(ValueError, match="2 values and 1 weights"):
        metrics.weighted_mean([1, 2], [1])
    for weights in ([0, 0], [2, -1]):
        with pytest.raises(ValueError, match="must be positive"):
            metrics.weighted_mean([1, 2], weights)


# ---- two methods


@pytest.mark.parametrize(
    "better, worse, published",
    [(2, 0, 0.0242), (3, 0, 0.0154), (2, 1, 0.0154), (3, 1, 0.0141), (3, 2, 0.190)],
)
def test_t_of_p10_table_2(better, worse, published):
    """The figures of Table 2 are half the density of t, not p: with 24 degrees of freedom none
    could be above 0.198.
    """
    found = paired_t(P10[:, better], P10[:, worse])
    assert stats.t.pdf(found.t, found.df) / 2 == pytest.approx(published, abs=6e-4)
    assert found.p == pytest.approx(
        stats.ttest_rel(P10[:, better], P10[:, worse], alternative="greater").pvalue
    )


def test_corrected_t_of_the_scikit_learn_guide():
    """Its "Statistical comparison of models using grid search" has t = 0.750, p = 0.227, and 2.611,
    0.005 uncorrected.

    These are the AUC of its best model less those of the second in ten times ten folds, in 25ths: a
    test part has five rows of each class.
    """
    differences = np.repeat([-3, -2, -1, 0, 1, 2, 5], [1, 2, 10, 53, 29, 4, 1]) / 25
    corrected = paired_t(differences, np.zeros(100), test_train_ratio=1 / 9)
    assert (corrected.t, corrected.p) == pytest.approx((0.750, 0.227), abs=5e-4)
    plain = paired_t(differences, np.zeros(100))
    assert (plain.t, plain.p, plain.df) == pytest.approx((2.611, 0.005, 99), abs=5e-4)


def test_t_without_spread():
    assert paired_t([0.3, 0.4, 0.5], [0.2, 0.3, 0.4]).t == math.inf
    assert paired_t([0.3, 0.4, 0.5], [0.2, 0.3, 0.4]).p == 0.0
    assert paired_t([0.2, 0.3], [0.3, 0.4]).p == 1.0
    same = paired_t([0.2, 0.3], [0.2, 0.3])
    assert (same.t, same.p) == (0.0, 0.5)


def test_wilcoxon_of_demsar():
    """Section 3.1.3: rank sums 93 and 12 of 14 data sets, the zeros halved; z = −2.54 without
    regard to ties.
    """
    found = wilcoxon(AUC[:, 1], AUC[:, 0])
    ties = 2 * (2**3 - 2)  # two zeros, and 0.005 twice
    z = (93 - 14 * 15 / 4) / math.sqrt(14 * 15 * 29 / 24 - ties / 48)
    assert found.z == pytest.approx(z)
    assert found.z == pytest.approx(2.54, abs=0.005)
    assert found.p == pytest.approx(stats.norm.sf(z))
    assert found.n == 14


def test_p_is_the_one_sided_one_of_z():
    """As in C11 Table 3, which has (1.44, 0.07), (2.13, 0.02), (2.26, 0.01): 0.07 is the upper tail
    of 1.44.
    """
    for better, worse in [(1, 0), (2, 1), (3, 1), (0, 3)]:
        found = wilcoxon(P10[:, better], P10[:, worse])
        assert found.p == pytest.approx(stats.norm.sf(found.z))
        assert wilcoxon(P10[:, worse], P10[:, better]).z == pytest.approx(-found.z)


def test_wilcoxon_by_all_signs():
    """Where differences have no ties, mean and variance of the rank sum are those over all
    signs.
    """
    rng = np.random.default_rng(2)
    a, b = rng.random(10), rng.random(10)
    ranks = stats.rankdata(np.abs(a - b))
    signs = (np.arange(2**10)[:, None] >> np.arange(10)) & 1
    sums = signs @ ranks
    z = (ranks[a > b].sum() - sums.mean()) / sums.std()
    assert wilcoxon(a, b).z == pytest.approx(z)
    exact = np.mean(sums >= ranks[a > b].sum())
    assert wilcoxon(a, b).p == pytest.approx(exact, abs=0.02)


def test_methods_that_are_equal_everywhere():
    a = [0.5, 0.25, 0.75]
    assert (wilcoxon(a, a).z, wilcoxon(a, a).p) == (0.0, 0.5)
    draws = win_draw_loss(a, a)
    assert (draws.draws, draws.p, draws.p_better) == (3, 1.0, 1.0)


@pytest.mark.parametrize(
    "wins, losses, published",
    [
        (45, 23, 0.010),
        (34, 35, 1),
        (39, 29, 0.275),
        (45, 24, 0.015),
        (25, 46, 0.017),
        (29, 41, 0.1882),
    ],
)
def test_sign_test_of_z17_table_4(wins, losses, published):
    """Two-sided, and only without the draws do the figures come out."""
    assert sign_test(wins, losses)[0] == pytest.approx(published, abs=5e-4)


def test_sign_test_by_counting():
    total = sum(math.comb(12, k) for k in range(9, 13)) / 2**12
    assert sign_test(9, 3) == pytest.approx((2 * total, total))
    assert sign_test(3, 9)[1] == pytest.approx(1 - sum(math.comb(12, k) for k in range(3)) / 2**12)
    assert sign_test(0, 0) == (1.0, 1.0)


def test_wins_draws_and_losses():
    a, b = [0.9, 0.8, 0.7, 0.6], [0.8, 0.8, 0.8, 0.55]
    found = win_draw_loss(a, b)
    assert (found.wins, found.draws, found.losses) == (2, 1, 1)
    assert (found.p, found.p_better) == pytest.approx(sign_test(2, 1))
    less = win_draw_loss(a, b, larger_is_better=False)
    assert (less.wins, less.draws, less.losses) == (1, 1, 2)
    wide = win_draw_loss(a, b, tolerance=0.1)
    assert (wide.wins, wide.draws, wide.losses) == (0, 4, 0)
    narrow = win_draw_loss(a, b, tolerance=0.05)
    assert (narrow.wins, narrow.draws, narrow.losses) == (1, 2, 1)


def test_rounding_makes_no_winner():
    a, b = np.array([0.1 + 0.2, 0.7, 0.4]), np.array([0.3, 0.1 * 7, 0.4])
    assert win_draw_loss(a, b).draws == 3
    assert rank_table(np.column_stack([a, b])).tolist() == [[1.5, 1.5]] * 3
    assert wilcoxon(1e-9 * a, 1e-9 * b).z == 0.0


@pytest.mark.parametrize("test", [paired_t, wilcoxon])
def test_smaller_is_better(test):
    losses = 1 - AUC
    assert test(losses[:, 1], losses[:, 0], larger_is_better=False).p == pytest.approx(
        test(AUC[:, 1], AUC[:, 0]).p
    )
    assert test(AUC[:, 0], AUC[:, 1]).p == pytest.approx(1 - test(AUC[:, 1], AUC[:, 0]).p)


@pytest.mark.parametrize("test", [paired_t, wilcoxon, win_draw_loss])
def test_pairs_that_cannot_be_compared(test):
    with pytest.raises(ValueError, match=r"shape \(2,\) and \(3,\)"):
        test([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="1 figures are missing"):
        test([1, math.nan], [1, 2])
    with pytest.raises(ValueError, match="0 pairs"):
        test([], [])


def test_settings_that_make_no_sense():
    with pytest.raises(ValueError, match="test_train_ratio=-1"):
        paired_t([1, 2], [1, 2], test_train_ratio=-1)
    with pytest.raises(ValueError, match="tolerance=-1"):
        win_draw_loss([1, 2], [1, 2], tolerance=-1)
    with pytest.raises(ValueError, match="1 pairs"):
        paired_t([1], [2])


# ---- several methods


def test_friedman_of_demsar():
    """Section 3.2.2: mean ranks, χ² = 9.28, F = 3.69 with 3 and 39 degrees of freedom."""
    found = friedman(AUC)
    np.testing.assert_allclose(found.ranks, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    assert (found.chi2, found.f) == pytest.approx((9.28, 3.69), abs=5e-3)
    assert (found.n, found.df) == (14, (3, 39))
    assert found.p == pytest.approx(stats.f.sf(3.69, 3, 39), abs=5e-4)
    assert "χ² = 9.28, F(3, 39) = 3.69" in repr(found)


def test_friedman_with_ties_is_that_of_scipy():
    expected = stats.friedmanchisquare(*AUC.T)
    found = friedman(AUC, correct_ties=True)
    assert (found.chi2, found.p_chi2) == pytest.approx((expected.statistic, expected.pvalue))
    plain = np.random.default_rng(3).random((9, 5))
    expected = stats.friedmanchisquare(*plain.T)
    for correct in (False, True):
        assert friedman(plain, correct_ties=correct).chi2 == pytest.approx(expected.statistic)


def test_friedman_at_its_limits():
    same = friedman(np.ones((3, 4)), correct_ties=True)
    assert (same.chi2, same.f, same.p, same.p_chi2) == (0.0, 0.0, 1.0, 1.0)
    agreed = friedman([[3, 2, 1]] * 4)
    assert agreed.chi2 == pytest.approx(8.0)
    assert (agreed.f, agreed.p) == (math.inf, 0.0)
    assert friedman([[3, 2, 1]] * 4, larger_is_better=False).ranks.tolist() == [3, 2, 1]


def test_tables_that_cannot_be_ranked():
    with pytest.raises(ValueError, match="1 data sets and 2 methods"):
        friedman([[1, 2]])
    with pytest.raises(ValueError, match=r"give \(data sets, methods\)"):
        friedman([1, 2])
    with pytest.raises(ValueError, match="leave those data sets out"):
        friedman([[1, math.nan], [1, 2]])


@pytest.mark.parametrize(
    "alpha, published",
    [
        (0.05, [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]),
        (0.10, [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920]),
    ],
)
def test_critical_values_of_demsar_table_5(alpha, published):
    found = [critical_difference(k, 6, alpha) / math.sqrt(k * (k + 1) / 36) for k in range(2, 11)]
    np.testing.assert_allclose(found, published, atol=1.1e-3)


def test_critical_difference_of_demsar():
    """Section 3.2.2: 1.25 at 0.05; at 0.10 it is 1.12, and then C4.5 differs from the two methods
    with m.
    """
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=5e-3)
    assert critical_difference(4, 14, 0.10) == pytest.approx(1.12, abs=5e-3)
    ranks = dict(zip(METHODS, friedman(AUC).ranks, strict=True))
    assert groups_alike(ranks, 1.25) == [("C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5")]
    assert groups_alike(ranks, 1.12) == [("C4.5+m+cf", "C4.5+m", "C4.5+cf"), ("C4.5+cf", "C4.5")]
    for k, n, alpha in [(1, 5, 0.05), (3, 0, 0.05), (3, 5, 1.0)]:
        with pytest.raises(ValueError, match=f"k={k}, n={n}, alpha={alpha}"):
            critical_difference(k, n, alpha)


@pytest.mark.parametrize("seed", range(10))
def test_groups_by_brute_force(seed):
    """A group is a largest set in which no two methods differ."""
    rng = np.random.default_rng(seed)
    ranks = dict(
        zip("abcdefg", rng.permutation(np.round(rng.uniform(1, 7, 7), 1)).tolist(), strict=True)
    )
    names = sorted(ranks)
    sets = [
        {name for place, name in enumerate(names) if mask >> place & 1} for mask in range(1, 2**7)
    ]
    sets = [
        s for s in sets if max(map(ranks.get, s)) - min(map(ranks.get, s)) < 1.55 and len(s) > 1
    ]
    largest = {frozenset(s) for s in sets if not any(s < other for other in sets)}
    found = groups_alike(ranks, 1.55)
    assert {frozenset(group) for group in found} == largest
    assert all(
        [ranks[name] for name in group] == sorted(ranks[name] for name in group) for group in found
    )


def test_geometric_mean():
    values = np.random.default_rng(4).random(20)
    assert geometric_mean(values) == pytest.approx(math.prod(values) ** (1 / 20))
    assert geometric_mean([0.0, 1.0]) == 0.0
    for wrong in ([], [-1.0, 1.0]):
        with pytest.raises(ValueError, match="geometric mean"):
            geometric_mean(wrong)


# ---- bias and variance


def slow_bias_variance(
    predictions: np.ndarray, y: np.ndarray, unbiased: bool
) -> tuple[float, float]:
    """Row by row and class by class, as Kohavi and Wolpert write it."""
    n_rounds, n_rows = predictions.shape
    bias = variance = 0.0
    for row in range(n_rows):
        for c in range(max(predictions.max(), y.max()) + 1):
            share = np.mean(predictions[:, row] == c)
            extra = share * (1 - share) / (n_rounds - 1) if unbiased else 0.0
            bias += 0.5 * ((y[row] == c) - share) ** 2 - 0.5 * extra
            variance += 0.5 * (share - share**2) + 0.5 * extra
    return bias / n_rows, variance / n_rows


@pytest.mark.parametrize("unbiased", [False, True])
def test_bias_and_variance_by_brute_force(unbiased):
    rng = np.random.default_rng(5)
    y = rng.integers(4, size=60)
    predictions = np.where(rng.random((5, 60)) < 0.6, y, rng.integers(4, size=(5, 60)))
    found = bias_variance(predictions, y, unbiased=unbiased)
    assert (found.bias, found.variance) == pytest.approx(
        slow_bias_variance(predictions, y, unbiased)
    )
    assert found.error == pytest.approx(np.mean(predictions != y))
    assert found.bias + found.variance == pytest.approx(found.error)


def test_bias_and_variance_by_hand():
    """One row right in 4 of 5 rounds, one always wrong in the same way, one in two ways (3 and 2 of
    5).
    """
    predictions = np.array([[0, 0, 0, 0, 1], [2, 2, 2, 2, 2], [1, 1, 1, 2, 2]]).T
    bias, variance, error = bias_variance(predictions, np.array([0, 0, 0]))
    assert bias == pytest.approx((0.04 + 1.0 + 0.5 * (1 + 0.36 + 0.16)) / 3)
    assert variance == pytest.approx((0.16 + 0.0 + 0.24) / 3)
    assert error == pytest.approx((0.2 + 1 + 1) / 3)


def test_the_unbiased_estimate_is_right_on_average():
    """Over many draws of five rounds, with the shares of a row known."""
    rng = np.random.default_rng(6)
    share = np.array([0.5, 0.3, 0.2])
    predictions = rng.choice(3, size=(5, 40_000), p=share)
    found = bias_variance(predictions, np.zeros(40_000, int), unbiased=True)
    assert found.variance == pytest.approx(0.5 * (1 - (share**2).sum()), abs=0.003)
    assert found.bias == pytest.approx(0.5 * ((share - [1, 0, 0]) ** 2).sum(), abs=0.005)


def test_labels_instead_of_codes():
    predictions = np.array([["n", "p"], ["p", "p"]])
    assert bias_variance(predictions, np.array(["p", "n"])) == pytest.approx((0.625, 0.125, 0.75))


def test_predictions_without_bias_or_variance():
    y = np.array([0, 1, 1])
    assert bias_variance(np.tile(y, (5, 1)), y, unbiased=True) == (0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match=r"shape \(3,\) and classes of shape \(3,\)"):
        bias_variance(y, y)
    with pytest.raises(ValueError, match="no predictions"):
        bias_variance(np.empty((0, 3)), y)
    with pytest.raises(ValueError, match="two rounds"):
        bias_variance(y[None], y, unbiased=True)
