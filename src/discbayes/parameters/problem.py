"""What a discriminative parameter learner optimises: an objective of the log-joint, as a function
of free numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from discbayes.engine import parallel_map
from discbayes.kernels.quasi_newton import dot
from discbayes.objectives import ConditionalLikelihood, Objective, require_gradient
from discbayes.parameters.block_scores import BlockScores, PaddedValues, RowChunk
from discbayes.parameters.log_scores import LogScores
from discbayes.parameters.parameterization import Numbers, Parameterization

MIN_WEIGHT = 1e-100  # of all rows: what is divided by less may overflow


@dataclass(frozen=True)
class Penalty:
    """λ/2 · ‖free numbers − centre‖², each counted as often as there are table entries behind it.

    ``skipped`` of the first free numbers, those of the class, are not counted.
    """

    strength: float
    centre: np.ndarray
    repeats: float = 1.0
    skipped: int = 0

    def value_and_gradient(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        """What is to be paid, and its gradient."""
        away = free - self.centre
        away[: self.skipped] = 0.0
        factor = self.strength * self.repeats
        return 0.5 * factor * float(dot(away, away)), factor * away


@dataclass(frozen=True)
class Problem:
    """The mean of an objective over weighted rows, and its gradient with respect to the free
    numbers.

    The chain is free numbers → log θ (parameterisation) → log-joint (scores) → value (objective),
    and back. The log likelihood of ``counts``, where they are given, is added to the objective. A
    penalty counts in the loss only.
    """

    objective: Objective
    scores: LogScores
    parameterization: Parameterization
    n_jobs: int | None = None
    penalty: Penalty | None = None
    counts: Numbers | None = None

    def __post_init__(self) -> None:
        require_gradient(self.objective)

    @cached_property
    def total_weight(self) -> float:
        """The sum of the weights; one where they are next to nothing, so that a mean exists."""
        total = self.scores.total_weight
        return total if total > MIN_WEIGHT else 1.0

    def value(self, free: np.ndarray) -> float:
        """The mean of the objective."""
        return self.total_of(self.objective, free) / self.total_weight

    def total_of(self, objective: Objective, free: np.ndarray) -> float:
        """The sum of any objective over the weighted rows."""
        return float(
            self.scores.sum(_total, (objective, self.parameterization.numbers(free)), self.n_jobs)
        )

    def value_and_gradient(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        """The mean of the objective, and its gradient."""
        numbers = self.parameterization.numbers(free)
        value, whole = self.total_and_slopes(numbers)
        if self.counts is not None:
            value += self.counts.dot(numbers)
            whole = whole.plus(self.counts)
        back = self.parameterization.pull_back(free, numbers, whole)
        return value / self.total_weight, back / self.total_weight

    def total_and_slopes(self, numbers: Numbers) -> tuple[float, Numbers]:
        """The sum of the objective over the weighted rows, and its gradient with respect to the
        numbers in tables.
        """
        value, slopes = self.scores.sum(_value_and_gradient, (self.objective, numbers), self.n_jobs)
        return value, slopes

    def loss(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        """The negative of the above plus the penalty, for minimisers."""
        value, gradient = self.value_and_gradient(free)
        if self.penalty is None or not self.penalty.strength:
            return -value, -gradient
        paid, push = self.penalty.value_and_gradient(free)
        return paid / self.total_weight - value, push / self.total_weight - gradient


class _Sum(NamedTuple):
    """An objective and its gradient, added up over rows."""

    value: float
    gradient: Numbers


def _total(
    scores: BlockScores, n_jobs: int | None, objective: Objective, numbers: Numbers
) -> float:
    ready = scores.padded(numbers)

    def one(block: RowChunk) -> float:
        return objective.value(scores.forward(ready, block), *scores.truth(block))

    return sum(parallel_map(one, scores.blocks, n_jobs, scores.work / 2))


def _value_and_gradient(
    scores: BlockScores, n_jobs: int | None, objective: Objective, numbers: Numbers
) -> _Sum:
    ready = scores.padded(numbers)
    found = parallel_map(
        lambda part: _of_part(scores, objective, ready, part), scores.parts, n_jobs, scores.work
    )
    value, total = 0.0, scores.blank()
    for share, gradient in found:
        value += share
        total.add(gradient)
    return _Sum(value, scores.stripped(total))


def _of_part(
    scores: BlockScores, objective: Objective, ready: PaddedValues, blocks: list[RowChunk]
) -> _Sum:
    """The sum over some blocks, with its gradient; in the quick way if there is one, and numbers
    are finite.
    """
    if isinstance(objective, ConditionalLikelihood):
        quickly = _add_up(scores, objective, ready, blocks, quick=True)
        if np.isfinite(quickly.value):
            return quickly
    return _add_up(scores, objective, ready, blocks, quick=False)


def _add_up(
    scores: BlockScores,
    objective: Objective,
    ready: PaddedValues,
    blocks: list[RowChunk],
    quick: bool,
) -> _Sum:
    value, gradient = 0.0, scores.blank()
    for block in blocks:
        if quick and not block.groups.size:
            value += scores.add_likelihood(ready, block, gradient)
            continue
        log_joint = scores.forward(ready, block)
        share, residual = objective.evaluate(log_joint, *scores.truth(block))
        scores.pull_back(ready, block, residual, gradient)
        value += share
    return _Sum(value, gradient)
