"""Lower bounds of margin problems by convex duality.

The slack S of a row is a convex function of its log-joint L, so that S(L) ≥ r·L − S*(r) for any r.
With r from the rows at the current point, the objective is bounded below by a linear function of
log θ, whose minimum is known:

===========  =======================================  ==========================================
learner      linear in log θ, with v = n − λ Σ r      least value
===========  =======================================  ==========================================
ML-BN-SVM    −v·ω with Σ exp ω ≤ 1 in each row        Σ −v log(v / V), V the sum of the row
BN-SVM       ½‖ω‖² − v·ω with n = 0                   −½‖v‖²
===========  =======================================  ==========================================

The first needs v ≥ 0. If a count v would be negative, there are two ways to one that is not:

- ``of_likelihood``: the shares of the classes that take too much are reduced. It takes a few passes
  over the rows and is the check during a fit. With large λ, if v is the small difference of large
  numbers, the bound becomes much weaker.
- ``by_lowering``: ω, at which the gradients r are taken, is lowered in the cells with v < 0 until
  there is none. Any ω gives a bound, not only one with normalized tables. A little less ω in a cell
  moves its competitors to other classes, which costs about (shortage) · (change of ω), far less
  than to give up their margins. It takes hundreds of passes, and is for the end of a fit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discbayes.engine import parallel_map
from discbayes.objectives import Slack
from discbayes.parameters.block_scores import BlockScores
from discbayes.parameters.parameterization import Numbers
from discbayes.parameters.problem import Problem

ROUNDS = 8  # in which shares are reduced one by one, before all of them together
ROUNDING = 1e-12  # relative amount that is left
# by which ω is lowered in a cell: doubled while v < 0 there, then halved
FIRST_STEP, MAX_STEP = 1e-5, 16.0


class _Pass(NamedTuple):
    """λ Σ S*(r) and λ Σ r over the rows, and of the latter what the classes of the rows get."""

    paid: float
    taken: Numbers
    of_own: Numbers


class Bound:
    """A lower bound of the optimum of a margin problem, for complete rows.

    Parameters
    ----------
    problem : Problem
        The problem, with ``Slack`` as its objective and, for ML-BN-SVM, with counts.
    """

    def __init__(self, problem: Problem):
        if not isinstance(problem.objective, Slack):
            raise TypeError(f"a bound of {problem.objective!r} is not known")
        self._problem, self._slack = problem, problem.objective
        self._scores = problem.scores

    @staticmethod
    def is_known(problem: Problem) -> bool:
        """Return whether the problem is convex: with anything to marginalize it is not."""
        complete = problem.scores.complete and problem.unlabeled is None
        return isinstance(problem.objective, Slack) and complete

    def of_norm(self, numbers: Numbers) -> float:
        """Return a lower bound of ½‖ω‖² + λ Σ slack."""
        found = self._pass(numbers, None)
        return -0.5 * found.taken.dot(found.taken) - found.paid

    def of_likelihood(self, numbers: Numbers) -> float:
        """Return a lower bound of −n·ω + λ Σ slack."""
        counts = self._counts
        factors = Numbers(np.ones_like(counts.prior), np.ones_like(counts.cells))
        found = self._pass(numbers, None)
        for _ in range(ROUNDS):
            left = counts.plus(found.taken, -1.0)
            if min(left.prior.min(), left.cells.min(initial=0.0)) >= 0:
                return self._entropy(left) - found.paid
            for factor, count, of_own, taken in zip(
                factors, counts, found.of_own, found.taken, strict=True
            ):
                factor *= _share_left(count + of_own, taken + of_own)
            found = self._pass(numbers, factors)
        together = min(
            _share_left(count, taken).min()
            for count, taken in zip(counts, found.taken, strict=True)
        )
        for factor in factors:
            factor *= together
        found = self._pass(numbers, factors)
        return self._entropy(counts.plus(found.taken, -1.0)) - found.paid

    def by_lowering(self, numbers: Numbers, max_rounds: int) -> float:
        """Return a lower bound of −n·ω + λ Σ slack that is higher than ``of_likelihood``.

        Parameters
        ----------
        numbers : Numbers
            Where the search for a bound starts: at the optimum, or near.
        max_rounds : int
            The maximum number of passes over the rows.
        """
        counts, omega = np.concatenate(self._counts), np.concatenate(numbers)
        n_classes = numbers.prior.size
        step, before = np.full(omega.size, FIRST_STEP), np.zeros(omega.size, bool)
        best = -np.inf
        for _ in range(max_rounds):
            taken, height = self._tangent(Numbers(omega[:n_classes], omega[n_classes:]))
            # the rest is that of the tangent at zero: all slacks are ≥ 0
            share = _share_left(counts, taken).min()
            left = counts - share * taken
            best = max(
                best, self._entropy(Numbers(left[:n_classes], left[n_classes:])) + share * height
            )
            short = taken > counts
            if not short.any():
                break
            step[short & before] *= 2.0
            step[before & ~short] /= 2.0
            np.minimum(step, MAX_STEP, out=step)
            omega = np.where(short, omega - step, omega)
            before = short
        return best

    @property
    def _counts(self) -> Numbers:
        counts = self._problem.counts
        if counts is None:
            raise ValueError("a bound of the likelihood needs the counts that it is of")
        return counts

    def _tangent(self, numbers: Numbers) -> tuple[np.ndarray, float]:
        """Return λ Σ r and −λ Σ S*(r): λ Σ slack is at least (λ Σ r)·ω plus the latter."""
        value, slopes = self._problem.total_and_slopes(numbers)
        slopes = self._pooled(slopes)
        return -np.concatenate(slopes), slopes.dot(numbers) - value

    def _pass(self, numbers: Numbers, factors: Numbers | None) -> _Pass:
        """Sum over the rows, with the shares of other classes scaled by their smallest factor."""
        found = self._scores.sum(_pass, (self._slack, numbers, factors), self._problem.n_jobs)
        return _Pass(found.paid, self._pooled(found.taken), self._pooled(found.of_own))

    def _pooled(self, numbers: Numbers) -> Numbers:
        return numbers._replace(cells=self._scores.layout.pool_columns(numbers.cells, np.mean))

    def _entropy(self, counts: Numbers) -> float:
        """Return Σ −v log(v / V): the negative log likelihood of counts at their frequencies."""
        totals = self._scores.layout.row_totals(counts.cells)
        return _entropy(counts.prior, counts.prior.sum()) + _entropy(counts.cells, totals)


def _pass(
    scores: BlockScores, n_jobs: int | None, slack: Slack, numbers: Numbers, factors: Numbers | None
) -> _Pass:
    ready = scores.padded(numbers, n_jobs)

    def one(chunks: list[slice]) -> tuple[float, Numbers, Numbers]:
        taken, of_own = scores.blank(), scores.blank()
        paid = 0.0
        for chunk in chunks:
            least = np.empty((0, 0)) if factors is None else scores.least(*factors, chunk)
            y, weight = scores.truth(chunk)
            share, residual = slack.conjugate(scores.forward(ready, chunk), y, weight, least)
            scores.pull_back(chunk, residual, taken)
            rows, own = np.arange(y.size), np.zeros_like(residual)
            own[rows, y] = -residual[rows, y]
            scores.pull_back(chunk, own, of_own)
            paid += share
        return paid, taken, of_own

    taken, of_own = scores.blank(), scores.blank()
    paid = 0.0
    for share, *sums in parallel_map(one, scores.parts, n_jobs, 2 * scores.work):
        paid += share
        for total, part in zip((taken, of_own), sums, strict=True):
            total.add(part)
    of_all = (scores.stripped(ready, sums, n_jobs) for sums in (taken, of_own))
    return _Pass(paid, *of_all)


def _share_left(there: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """Return the share of ``taken`` that leaves nothing below zero."""
    too_much = taken > there
    return np.where(too_much, (1 - ROUNDING) * there / np.where(too_much, taken, 1.0), 1.0)


def _entropy(counts: np.ndarray, totals: np.ndarray | float) -> float:
    share = np.divide(counts, totals, out=np.ones_like(counts), where=np.asarray(totals) > 0)
    return -float((counts * np.log(np.where(counts > 0, share, 1.0))).sum())
