"""Greedy edge addition on a sample score: TAN-CR, TAN-CL, TAN-HC-MM and their k-tree kin.

================  ===================================================
tag of the paper  learner
================  ===================================================
TAN-CR (P10)      ``GreedyEdges("cr")``
TAN-CL (P10)      ``GreedyEdges("cl")``
2-tree-CR (P10)   ``GreedyEdges("cr", evaluation=5, k=2)``
TAN-HC-CR (P12)   ``GreedyEdges("cr", evaluation=5, fill=True)``
TAN-HC-MM (P12)   ``GreedyEdges("mm", evaluation=5, fill=True)``
================  ===================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discbayes.network.graph import descendants
from discbayes.scores.block_scorer import AnyNetwork
from discbayes.scores.candidates import Candidates, SearchCost
from discbayes.search.base import Run, check_k, check_start
from discbayes.search.sampled import SampleSearch


class GreedyEdges(SampleSearch):
    """From naive Bayes, add again and again the edge that improves the score most.

    Parameters
    ----------
    score, evaluation, parameters
        The score, see ``SampleSearch``.
    k : int, default=1
        The largest number of feature parents.
    fill : bool, default=False
        Go on when nothing improves, until no edge can be added (P12); by default the search stops
        there (P10).
    **shared
        Settings of every search, see ``Search``.

    Notes
    -----
    Of edges that improve the score equally the one with the first child, then the first parent, is
    taken. The result is that of scoring every edge at every step from scratch.

    Rows on a cluster, or more of them than memory is for, stay where they are: each step asks all
    blocks for what each edge adds (see ``SampleSearch``).
    """

    steps_on_blocks = True

    def __init__(
        self,
        score: Any = "cr",
        evaluation: Any = "resubstitution",
        parameters: Any = "ml",
        k: int = 1,
        fill: bool = False,
        **shared: Any,
    ):
        super().__init__(score, evaluation, parameters, **shared)
        self.k = k
        self.fill = fill

    def _check(self) -> None:
        super()._check()
        check_k(self.k)

    def _search(self, run: Run) -> None:
        check_start(run, self.k)
        allowed = run.limits.allowed(run.data, run.counts, run.n_jobs)
        network = self._scored(run)
        least = -np.inf if self.fill else network.tolerance
        while True:
            effort = SearchCost()
            found = network.best(self._tasks(run, network, allowed), least, effort, run.check)
            if found is None:
                if effort.evaluations:
                    run.step(
                        None, network.reported(), effort.evaluations, abandoned=effort.abandoned
                    )
                return
            network.set_parents(found.child, (*found.joining, *network.parents(found.child)))
            run.structure = network.structure
            run.step(
                (found.joining[0], found.child),
                network.reported(),
                effort.evaluations,
                abandoned=effort.abandoned,
            )

    def _tasks(self, run: Run, network: AnyNetwork, allowed: np.ndarray) -> list[Candidates]:
        """For every feature that may have one more parent, those that it may have."""
        below = descendants([network.parents(i) for i in range(run.data.n_features)])
        tasks = []
        for child in range(run.data.n_features):
            group = network.parents(child)
            if len(group) < self.k and run.data.cards[child] > 1:
                free = allowed[:, child] & ~below[child] & (run.data.cards > 1)
                free[list(group)] = False
                free = run.limits.sizes.joining(child, group, free)
                if free.any():
                    tasks.append(Candidates(child, np.flatnonzero(free)))
        return tasks
