"""What a discriminative parameter learner optimises: an objective of the log-joint, as a function of free numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from discbayes.engine import parallel_map
from discbayes.objectives import Objective, require_gradient
from discbayes.parameters.logscores import Block, LogScores
from discbayes.parameters.parameterization import Numbers, Softmax

MOST_PARTS = 8  # each has a gradient of its own, and they are added in order: the same sum for any number of threads
PART_CELLS = 1 << 25  # of all of these gradients together


@dataclass(frozen=True)
class Problem:
    """The mean of an objective over weighted rows, and its gradient with respect to the free numbers.

    The chain is free numbers → log θ (parameterisation) → log-joint (scores) → value (objective), and back.
    """

    objective: Objective
    scores: LogScores
    parameterization: Softmax
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        require_gradient(self.objective)

    @cached_property
    def total_weight(self) -> float:
        """The sum of the weights; one where there is none, so that a mean exists."""
        return float(self.scores.weight.sum()) or 1.0

    def value(self, free: np.ndarray) -> float:
        """The mean of the objective."""
        numbers = self.scores.padded(self.parameterization.numbers(free))

        def one(block: Block) -> float:
            return self.objective.value(self.scores.forward(numbers, block), *self._truth(block))

        return sum(parallel_map(one, self.scores.blocks, self.n_jobs, self.scores.work / 2)) / self.total_weight

    def value_and_gradient(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        """The mean of the objective, and its gradient."""
        numbers = self.parameterization.numbers(free)
        padded = self.scores.padded(numbers)
        found = parallel_map(lambda part: self._part(padded, part), self._parts, self.n_jobs, self.scores.work)
        value, total = 0.0, self.scores.blank()
        for share, gradient in found:
            value += share
            total.prior[:] += gradient.prior
            total.cells[:] += gradient.cells
        back = self.parameterization.pull_back(numbers, self.scores.stripped(total))
        return value / self.total_weight, back / self.total_weight

    def loss(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        """The negative of the above, for minimisers."""
        value, gradient = self.value_and_gradient(free)
        return -value, -gradient

    def _part(self, numbers: Numbers, blocks: list[Block]) -> tuple[float, Numbers]:
        value, gradient = 0.0, self.scores.blank()
        for block in blocks:
            log_joint = self.scores.forward(numbers, block)
            share, residual = self.objective.value_and_gradient(log_joint, *self._truth(block))
            self.scores.pull_back(numbers, block, residual, gradient)
            value += share
        return value, gradient

    def _truth(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        return self.scores.y[block.rows], self.scores.weight[block.rows]

    @cached_property
    def _parts(self) -> list[list[Block]]:
        """Consecutive blocks, in as many parts as memory allows; they depend on the data alone."""
        blocks, size = self.scores.blocks, self.scores.blank().cells.size
        n_parts = int(np.clip(PART_CELLS // max(1, size), 1, min(MOST_PARTS, max(1, len(blocks)))))
        bounds = [len(blocks) * k // n_parts for k in range(n_parts + 1)]
        return [blocks[a:b] for a, b in pairwise(bounds)]
