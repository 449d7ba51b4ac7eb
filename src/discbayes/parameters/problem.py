"""The problem of discriminative learners: an objective of unconstrained parameters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from discbayes.engine import parallel_map
from discbayes.kernels.quasi_newton import dot
from discbayes.objectives import (
    ConditionalLikelihood,
    MarginalLikelihood,
    Objective,
    require_gradient,
)
from discbayes.parameters.block_scores import BlockScores, PaddedValues
from discbayes.parameters.log_scores import LogScores
from discbayes.parameters.parameterization import Numbers, Parameterization

MIN_WEIGHT = 1e-100  # of all rows: a division by less may overflow


@dataclass(frozen=True)
class Penalty:
    """λ/2 · ‖parameters − center‖², each as often as there are table entries behind it.

    The first ``skipped`` of the unconstrained parameters, those of the class, are not penalized.
    """

    strength: float
    center: np.ndarray
    repeats: float = 1.0
    skipped: int = 0

    def value_and_gradient(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the penalty and its gradient."""
        away = free - self.center
        away[: self.skipped] = 0.0
        factor = self.strength * self.repeats
        return 0.5 * factor * float(dot(away, away)), factor * away


@dataclass(frozen=True)
class Problem:
    """The mean of an objective over weighted rows as a function of unconstrained parameters.

    The chain is parameters → log θ (parameterization) → log-joint (scores) → value (objective), and
    back for the gradient. The log likelihood of ``counts``, if they are given, is added to the
    objective, and so is that of rows without a label. A penalty counts in the loss only.
    """

    objective: Objective
    scores: LogScores
    parameterization: Parameterization
    n_jobs: int | None = None
    penalty: Penalty | None = None
    counts: Numbers | None = None
    unlabeled: LogScores | None = None

    def __post_init__(self) -> None:
        require_gradient(self.objective)

    @cached_property
    def total_weight(self) -> float:
        """The sum of the weights; one if they are almost zero, so that a mean exists."""
        total = self.scores.total_weight
        return total if total > MIN_WEIGHT else 1.0

    def value(self, free: np.ndarray) -> float:
        """Return the mean of the objective."""
        return self.total_of(self.objective, free) / self.total_weight

    def total_of(self, objective: Objective, free: np.ndarray) -> float:
        """Return the sum of any objective over the weighted rows."""
        return float(
            self.scores.sum(_total, (objective, self.parameterization.numbers(free)), self.n_jobs)
        )

    def value_and_gradient(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the mean of the objective, and its gradient."""
        numbers = self.parameterization.numbers(free)
        value, whole = self.total_and_slopes(numbers)
        if self.counts is not None:
            value += self.counts.dot(numbers)
            whole = whole.plus(self.counts)
        if self.unlabeled is not None:
            more, slopes = self._of_unlabeled(self.unlabeled, numbers)
            # what labeled rows add to the cells in their own class comes after these
            own = np.zeros(whole.cells.size - slopes.cells.size)
            value += more
            whole = whole.plus(Numbers(slopes.prior, np.append(slopes.cells, own)))
        back = self.parameterization.pull_back(free, numbers, whole)
        return value / self.total_weight, back / self.total_weight

    def _of_unlabeled(self, rows: LogScores, numbers: Numbers) -> tuple[float, Numbers]:
        """Return the log likelihood of rows without a label, where P(c) sums to one."""
        log_prior = numbers.prior - np.logaddexp.reduce(numbers.prior)
        value, slopes = rows.sum(
            _value_and_gradient,
            (MarginalLikelihood(), Numbers(log_prior, numbers.cells)),
            self.n_jobs,
        )
        prior = slopes.prior - np.exp(log_prior) * slopes.prior.sum()
        return value, Numbers(prior, slopes.cells)

    def total_and_slopes(self, numbers: Numbers) -> tuple[float, Numbers]:
        """Return the sum of the objective, and its gradient with respect to the tables."""
        value, slopes = self.scores.sum(_value_and_gradient, (self.objective, numbers), self.n_jobs)
        return value, slopes

    def loss(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the negative mean objective plus the penalty, and its gradient, to minimize."""
        value, gradient = self.value_and_gradient(free)
        if self.penalty is None or not self.penalty.strength:
            return -value, -gradient
        paid, push = self.penalty.value_and_gradient(free)
        return paid / self.total_weight - value, push / self.total_weight - gradient


class _Sum(NamedTuple):
    """The sum of an objective over rows, and its gradient."""

    value: float
    gradient: Numbers


def _total(
    scores: BlockScores, n_jobs: int | None, objective: Objective, numbers: Numbers
) -> float:
    ready = scores.padded(numbers, n_jobs)

    def one(chunk: slice) -> float:
        return objective.value(scores.forward(ready, chunk), *scores.truth(chunk))

    return sum(parallel_map(one, scores.chunks, n_jobs, scores.work / 2))


def _value_and_gradient(
    scores: BlockScores, n_jobs: int | None, objective: Objective, numbers: Numbers
) -> _Sum:
    ready = scores.padded(numbers, n_jobs)
    found = parallel_map(
        lambda part: _of_part(scores, objective, ready, part), scores.parts, n_jobs, scores.work
    )
    value, total = found[0]
    for share, gradient in found[1:]:
        value += share
        total.add(gradient)
    return _Sum(value, scores.stripped(ready, total, n_jobs))


def _of_part(
    scores: BlockScores, objective: Objective, ready: PaddedValues, chunks: list[slice]
) -> _Sum:
    """Return the sum over some chunks and its gradient.

    The conditional likelihood has a fused kernel, whose result is used if it is finite.
    """
    if isinstance(objective, ConditionalLikelihood):
        quickly = _add_up(scores, objective, ready, chunks, quick=True)
        if np.isfinite(quickly.value):
            return quickly
    return _add_up(scores, objective, ready, chunks, quick=False)


def _add_up(
    scores: BlockScores,
    objective: Objective,
    ready: PaddedValues,
    chunks: list[slice],
    quick: bool,
) -> _Sum:
    value, gradient = 0.0, scores.blank()
    for chunk in chunks:
        if quick:
            value += scores.add_likelihood(ready, chunk, gradient)
            continue
        log_joint = scores.forward(ready, chunk)
        share, residual = objective.evaluate(log_joint, *scores.truth(chunk))
        scores.pull_back(chunk, residual, gradient)
        value += share
    return _Sum(value, gradient)
