"""Statistical tests of whether methods differ, over data sets or folds.

Pairwise tests take a metric of two methods on the same data sets, in the same order, and ask
whether the first is better; larger figures are the better ones unless ``larger_is_better=False``.
Differences that are equal up to rounding (12 digits of the largest figure) are taken as equal.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

DIGITS = 12


# ---- two methods


@dataclass(frozen=True, repr=False)
class PairedT:
    """The result of a paired t-test.

    ``difference`` is the mean difference, positive if the first method is better; ``p`` is
    one-sided.
    """

    difference: float
    t: float
    df: int
    p: float

    def __repr__(self) -> str:
        t = f"t = {self.t:.3f} ({self.df} df)"
        return f"difference {self.difference:.4g}, {t}, p = {p_text(self.p)}"


def paired_t(
    a: Any, b: Any, *, larger_is_better: bool = True, test_train_ratio: float = 0.0
) -> PairedT:
    """Perform the one-sided paired t-test of "a is better than b" (P10).

    Data sets are independent, folds of one data set are not: their training rows overlap, and the
    test finds too many differences. For folds, ``test_train_ratio`` corrects the variance of the
    mean, s² / n, to s² (1/n + ratio) (Nadeau and Bengio 2003).

    Parameters
    ----------
    a, b : sequence of float
        A metric of two methods on the same data sets or folds.
    larger_is_better : bool, default=True
        False for losses.
    test_train_ratio : float, default=0
        The number of test rows over that of training rows: 1 / (k − 1) for k folds.

    Returns
    -------
    PairedT
        The mean difference, t, its degrees of freedom and p.

    Examples
    --------
    >>> paired_t([0.82, 0.91, 0.77, 0.85], [0.80, 0.90, 0.78, 0.82])
    difference 0.0125, t = 1.464 (3 df), p = 0.120
    >>> paired_t([0.82, 0.91, 0.77, 0.85], [0.80, 0.90, 0.78, 0.82], test_train_ratio=1 / 3)
    difference 0.0125, t = 0.958 (3 df), p = 0.204
    """
    if not test_train_ratio >= 0:
        raise ValueError(
            f"test_train_ratio={test_train_ratio} must not be negative: it is 1 / (k − 1) for k"
            " folds"
        )
    better = _differences(a, b, larger_is_better, at_least=2)
    n, mean = better.size, float(better.mean())
    # equal differences have no spread, where rounding would leave a little
    spread = 0.0 if np.all(better == better[0]) else float(better.std(ddof=1))
    error = spread * math.sqrt(1.0 / n + test_train_ratio)
    if error > 0:
        t = mean / error
    else:
        t = math.copysign(math.inf, mean) if mean else 0.0
    return PairedT(mean, t, n - 1, float(stats.t.sf(t, n - 1)))


@dataclass(frozen=True, repr=False)
class Wilcoxon:
    """The result of a signed-rank test.

    ``z`` is positive if the first method is better, ``p`` is one-sided, ``n`` counts the pairs.
    """

    z: float
    p: float
    n: int

    def __repr__(self) -> str:
        return f"Z = {self.z:.2f}, p = {p_text(self.p)} ({self.n} pairs)"


def wilcoxon(a: Any, b: Any, *, larger_is_better: bool = True) -> Wilcoxon:
    """Perform the one-sided signed-rank test of "a is better than b" (C11 5).

    Z is that of the normal approximation, which is rough for fewer than about ten pairs. The ranks
    of pairs without a difference are halved between both sides (Demšar 2006), and the variance of
    the rank sum allows for ties.

    Parameters
    ----------
    a, b : sequence of float
        A metric of two methods on the same data sets or folds.
    larger_is_better : bool, default=True
        False for losses.

    Returns
    -------
    Wilcoxon
        Z, p and the number of pairs.

    Examples
    --------
    >>> wilcoxon([0.82, 0.91, 0.77, 0.85], [0.80, 0.90, 0.78, 0.82])
    Z = 1.29, p = 0.099 (4 pairs)
    """
    better = _differences(a, b, larger_is_better)
    with warnings.catch_warnings():
        # of SciPy 1.11 and 1.12
        warnings.filterwarnings("ignore", "Sample size too small for normal approximation")
        found: Any = stats.wilcoxon(
            better, zero_method="zsplit", alternative="greater", method="approx"
        )
    return Wilcoxon(float(found.zstatistic), float(found.pvalue), better.size)


@dataclass(frozen=True, repr=False)
class WinDrawLoss:
    """How often the first method is better, equal and worse, and the sign test.

    ``p`` is two-sided, ``p_better`` that of "the first method is better". Draws are left out of
    both, as in Z17.
    """

    wins: int
    draws: int
    losses: int
    p: float
    p_better: float

    def __repr__(self) -> str:
        return f"{self.wins}/{self.draws}/{self.losses}, p = {p_text(self.p)}"


def win_draw_loss(
    a: Any, b: Any, *, larger_is_better: bool = True, tolerance: float = 0.0
) -> WinDrawLoss:
    """Count on how many data sets a is better than, equal to and worse than b.

    Parameters
    ----------
    a, b : sequence of float
        A metric of two methods on the same data sets or folds.
    larger_is_better : bool, default=True
        False for losses.
    tolerance : float, default=0
        Differences up to it are draws.

    Returns
    -------
    WinDrawLoss
        The counts, and the sign test.

    Examples
    --------
    >>> win_draw_loss([0.82, 0.91, 0.77, 0.85], [0.80, 0.90, 0.77, 0.82])
    3/1/0, p = 0.250
    """
    if not tolerance >= 0:
        raise ValueError(f"tolerance={tolerance} must not be negative")
    better = _differences(a, b, larger_is_better)
    wins, losses = int(np.sum(better > tolerance)), int(np.sum(better < -tolerance))
    return WinDrawLoss(wins, better.size - wins - losses, losses, *sign_test(wins, losses))


def sign_test(wins: int, losses: int) -> tuple[float, float]:
    """Perform the sign test on numbers of wins and losses.

    Parameters
    ----------
    wins, losses : int
        On how many data sets the first method is better and worse.

    Returns
    -------
    p : float
        Two-sided.
    p_better : float
        One-sided, for more wins than losses.

    Examples
    --------
    >>> [round(p, 3) for p in sign_test(45, 23)]
    [0.01, 0.005]
    """
    if wins + losses == 0:
        return 1.0, 1.0
    both, more = (
        stats.binomtest(wins, wins + losses, alternative=side).pvalue
        for side in ("two-sided", "greater")
    )
    return float(both), float(more)


# ---- several methods


@dataclass(frozen=True, repr=False, eq=False)
class Friedman:
    """The result of Friedman's test: mean ranks, 1 being the best, over ``n`` data sets.

    ``chi2`` is Friedman's statistic, ``f`` that of Iman and Davenport, which is less conservative,
    with ``df`` degrees of freedom; ``p_chi2`` and ``p`` belong to them.
    """

    ranks: np.ndarray
    n: int
    chi2: float
    p_chi2: float
    f: float
    df: tuple[int, int]
    p: float

    def __repr__(self) -> str:
        ranks = ", ".join(f"{rank:.2f}" for rank in self.ranks)
        return (
            f"mean ranks {ranks} over {self.n} data sets, χ² = {self.chi2:.2f}, "
            f"F({self.df[0]}, {self.df[1]}) = {self.f:.2f}, p = {p_text(self.p)}"
        )


def friedman(table: Any, *, larger_is_better: bool = True, correct_ties: bool = False) -> Friedman:
    """Perform Friedman's test on several methods; equal metrics share their ranks.

    By default χ² is as Demšar (2006) writes it, which ignores ties and is conservative if there are
    some.

    Parameters
    ----------
    table : array of shape (n_datasets, n_methods)
        A metric of each method on each data set.
    larger_is_better : bool, default=True
        False for losses.
    correct_ties : bool, default=False
        Divide χ² by the factor by which ties reduce the variance of the ranks.

    Returns
    -------
    Friedman
        Mean ranks, both statistics and their p.

    Examples
    --------
    >>> friedman([[0.8, 0.7, 0.6], [0.9, 0.8, 0.7], [0.7, 0.8, 0.6], [0.9, 0.6, 0.5]])
    mean ranks 1.25, 1.75, 3.00 over 4 data sets, χ² = 6.50, F(2, 6) = 13.00, p = 0.007
    """
    ranks = rank_table(table, larger_is_better=larger_is_better)
    n, k = ranks.shape
    if n < 2 or k < 2:
        raise ValueError(
            f"{n} data sets and {k} methods: Friedman's test needs two of each at least"
        )
    mean = ranks.mean(axis=0)
    chi2 = 12.0 * n / (k * (k + 1)) * float(((mean - 0.5 * (k + 1)) ** 2).sum())
    if correct_ties and chi2 > 0:
        chi2 *= (k**3 - k) / 12.0 / float(((ranks - 0.5 * (k + 1)) ** 2).sum(axis=1).mean())
    df = (k - 1, (k - 1) * (n - 1))
    # zero where all data sets rank the methods alike: F is infinite then
    left = n * (k - 1) - chi2
    f = (n - 1) * chi2 / left if left > 1e-9 * n else math.inf
    p_chi2, p = float(stats.chi2.sf(chi2, k - 1)), float(stats.f.sf(f, *df))
    return Friedman(mean, n, chi2, p_chi2, f, df, p)


def rank_table(table: Any, *, larger_is_better: bool = True) -> np.ndarray:
    """Return the ranks of the methods on each data set, 1 for the best; ties share the mean rank.

    Parameters
    ----------
    table : array of shape (n_datasets, n_methods)
        A metric of each method on each data set.
    larger_is_better : bool, default=True
        False for losses.

    Returns
    -------
    ndarray of shape (n_datasets, n_methods)
        The ranks.

    Examples
    --------
    >>> rank_table([[0.8, 0.7, 0.8]])
    array([[1.5, 3. , 1.5]])
    """
    figures = np.asarray(table, np.float64)
    if figures.ndim != 2 or not figures.size:
        raise ValueError(f"a table of shape {figures.shape}: give (data sets, methods)")
    _require_finite(figures)
    return stats.rankdata(_rounded(-figures if larger_is_better else figures, figures), axis=1)


def critical_difference(k: int, n: int, alpha: float = 0.05) -> float:
    """Return the critical difference of mean ranks by Nemenyi's test (Demšar 2006).

    Parameters
    ----------
    k : int
        The number of methods.
    n : int
        The number of data sets.
    alpha : float, default=0.05
        The level of significance.

    Returns
    -------
    float
        Mean ranks that are further apart differ significantly.

    Examples
    --------
    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    if k < 2 or n < 1 or not 0 < alpha < 1:
        raise ValueError(
            f"k={k}, n={n}, alpha={alpha}: there must be two methods, a data set, and 0 < alpha < 1"
        )
    q = float(stats.studentized_range.ppf(1.0 - alpha, k, np.inf)) / math.sqrt(2.0)
    return q * math.sqrt(k * (k + 1) / (6.0 * n))


def groups_alike(ranks: Mapping[str, float], difference: float) -> list[tuple[str, ...]]:
    """Return the largest groups of methods whose mean ranks do not differ, the best first.

    A method may be in several groups; one that differs from all others is in none.

    Parameters
    ----------
    ranks : mapping of str to float
        The mean rank of each method.
    difference : float
        The critical difference.

    Returns
    -------
    list of tuple of str
        The groups.

    Examples
    --------
    >>> groups_alike({"NB": 3.1, "TAN": 1.5, "KDB": 2.0, "SVM": 1.4}, 1.2)
    [('SVM', 'TAN', 'KDB'), ('KDB', 'NB')]
    """
    names = sorted(ranks, key=lambda name: ranks[name])
    groups: list[tuple[str, ...]] = []
    reached = 0
    for first, best in enumerate(names):
        last = sum(ranks[name] - ranks[best] < difference for name in names)
        if last > max(reached, first + 1):
            groups.append(tuple(names[first:last]))
            reached = last
    return groups


def geometric_mean(values: Any) -> float:
    """Return the geometric mean, for losses of very different size (Z17).

    Parameters
    ----------
    values : sequence of float
        None of them negative.

    Returns
    -------
    float
        Zero if one of the values is.

    Examples
    --------
    >>> geometric_mean([0.1, 0.4])
    0.2
    """
    values = np.asarray(values, np.float64)
    if not values.size or not np.all(values >= 0):
        raise ValueError("a geometric mean needs values, none of them negative")
    return float(stats.gmean(values)) if values.all() else 0.0


# ---- shared


def _differences(a: Any, b: Any, larger_is_better: bool, at_least: int = 1) -> np.ndarray:
    """Return how much better a is than b on each data set."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(
            f"figures of shape {a.shape} and {b.shape}: give one of each method for every data set"
        )
    if a.size < at_least:
        raise ValueError(f"{a.size} pairs: there must be at least {at_least}")
    both = np.stack([a, b])
    _require_finite(both)
    return _rounded(a - b if larger_is_better else b - a, both)


def _require_finite(figures: np.ndarray) -> None:
    missing = int(np.sum(~np.isfinite(figures)))
    if missing:
        raise ValueError(
            f"{missing} figures are missing or infinite: leave those data sets out for all methods"
        )


def _rounded(values: np.ndarray, figures: np.ndarray) -> np.ndarray:
    """Round away the noise in the last digits of the metrics that values come from."""
    scale = float(np.abs(figures).max())
    if not scale > 0:
        return values
    return np.round(values, min(DIGITS - math.ceil(math.log10(scale)), 300))


def p_text(p: float) -> str:
    """Format the p of a test.

    >>> p_text(0.0001), p_text(0.0321), p_text(math.nan)
    ('<0.001', '0.032', '–')
    """
    if math.isnan(p):
        return "–"
    return "<0.001" if p < 0.001 else f"{p:.3f}"
