"""A network under a sample score whose tables are trained: each candidate is learned as a whole.

This is for learners whose tables do not follow from counts, such as conditional likelihood (CRCL of P10): nothing can be
kept from one candidate to the next, so that it is for small data. The interface is that of ``ScoredNetwork``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from discbayes.counts import count
from discbayes.data.domain import Encoded
from discbayes.engine import Context, parallel_map
from discbayes.inference import log_joint
from discbayes.kernels import scanning
from discbayes.network import Structure
from discbayes.scores.rows import Rows
from discbayes.scores.sample import SampleScore
from discbayes.scores.scored import ROUNDING, Effort, Found, ScoredNetwork, Task

AT_ONCE = 32  # candidates between two looks at the clock


class TrainedNetwork:
    """A structure with its value, and the values of all structures that were looked at."""

    def __init__(
        self,
        data: Encoded,
        score: SampleScore,
        structure: Structure,
        rng: np.random.Generator,
        n_jobs: int | None = None,
    ):
        self.score, self.n_jobs = score, n_jobs
        self.data = data if data.weight is None else _part(data, data.weight != 0)
        fold = Rows.of(self.data, score.evaluation, rng).group
        held_out = [fold == k for k in range(fold.max(initial=0) + 1)]
        self._parts = [(_part(self.data, ~test), test) for test in held_out] if len(held_out) > 1 else []
        self._counts = [count(part) for part, _ in self._parts]
        self._weight = np.ones(self.data.n_samples) if self.data.weight is None else self.data.weight
        self.total_weight = float(self._weight.sum())
        self.tolerance = ROUNDING * self.total_weight
