"""What a discriminative parameter learner optimises: an objective of the log-joint, as a function of free numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discbayes.engine import parallel_map
from discbayes.kernels.quasi_newton import dot
from discbayes.objectives import ConditionalLikelihood, Objective, require_gradient
from discbayes.parameters.logscores import Block, LogScores, Ready, in_parts
from discbayes.parameters.parameterization import Numbers, Parameterization


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
    """The mean of an objective over weighted rows, and its gradient with respect to the free numbers.

    The chain is free numbers → log θ (parameterisation) → log-joint (scores) → value (objective), and back. The log
    likelihood of ``counts``, where they are given, is added to the objective. A penalty counts in the loss only.
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
        """The sum of the weights; one where there is none, so that a mean exists."""
        return float(self.scores.weight.sum()) or 1.0

    def value(self, free: np.ndarray) -> float:
        """The mean of the objective."""
        return self.total_of(self.objective, free) / self.total_weight

    def total_of(self, objective: Objective, free: np.ndarray) -> float:
        """The sum of any objective over the weighted rows."""
        numbers = self.scores.padded(self.parameterization.numbers(free))

        def one(block: Block) -> float:
            return objective.value(self.scores.forward(numbers, block), *self.truth(block))

        return sum(parallel_map(one, self.scores.blocks, self.n_jobs, self.scores.work / 2))

    def value_and_gradient(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        """The mean of the objective, and its gradient."""
        numbers = self.parameterization.numbers(free)
        padded = self.scores.padded(numbers)
        found = parallel_map(lambda part: self._part(padded, part), self.parts, self.n_jobs, self.scores.work)
        value, total = 0.0, self.scores.blank()
        for share, gradient in found:
            value += share
            total.add(gradient)
        whole = self.scores.stripped(total)
        if self.counts is not None:
            value += self.counts.dot(numbers)
            whole = whole.plus(self.counts)
        back = self.parameterization.pull_back(numbers, whole)
        return value / self.total_weight, back / self.total_weight

    def loss(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        """The negative of the above plus the penalty, for minimisers."""
        value, gradient = self.value_and_gradient(free)
        if self.penalty is None or not self.penalty.strength:
            return -value, -gradient
        paid, push = self.penalty.value_and_gradient(free)
        return paid / self.total_weight - value, push / self.total_weight - gradient

    def _part(self, ready: Ready, blocks: list[Block]) -> tuple[float, Numbers]:
        """The sum over some blocks, with its gradient; in the quick way if there is one, and numbers are finite."""
        if isinstance(self.objective, ConditionalLikelihood):
            value, gradient = self._add_up(ready, blocks, quick=True)
            if np.isfinite(value):
                return value, gradient
        return self._add_up(ready, blocks, quick=False)

    def _add_up(self, ready: Ready, blocks: list[Block], quick: bool) -> tuple[float, Numbers]:
        value, gradient = 0.0, self.scores.blank()
        for block in blocks:
            if quick and not block.groups.size:
                value += self.scores.add_likelihood(ready, block, gradient)
                continue
            log_joint = self.scores.forward(ready, block)
            share, residual = self.objective.evaluate(log_joint, *self.truth(block))
            self.scores.pull_back(ready, block, residual, gradient)
            value += share
        return value, gradient

    def truth(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """The classes and the weights of the rows of a block."""
        return self.scores.y[block.rows], self.scores.weight[block.rows]

    @cached_property
    def parts(self) -> list[list[Block]]:
        """Blocks that are worked on one after the other, each part by one thread."""
        return in_parts(self.scores.blocks, self.scores.blank().cells.size)
