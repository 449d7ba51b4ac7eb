"""SuperParent: find the feature that would help most as a parent of all others, and keep its best
edges only.

======================  ========================================
tag of the paper        learner
======================  ========================================
TAN-SuperParent (P10)   ``SuperParent("cr")``
2-tree-SuperParent      ``SuperParent("cr", evaluation=5, k=2)``
======================  ========================================
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from discbayes.network.graph import descendants
from discbayes.scores.block_scorer import BlockScorer
from discbayes.scores.candidates import Candidates, SearchCost
from discbayes.scores.counting_scorer import CountingScorer
from discbayes.scores.multi_child_moves import ParentMove, ParentMoves
from discbayes.search.base import Run, check_k, check_start
from discbayes.search.sampled import SampleSearch


class SuperParent(SampleSearch):
    """Again and again: the best parent of all features that may have one more, then the best ``k``
    edges from it.

    Parameters
    ----------
    score, evaluation, parameters
        The score, see ``SampleSearch``. Parameters are frequencies.
    k : int, default=1
        The largest number of feature parents, and the number of edges that are kept together.
    **shared
        Settings of every search, see ``Search``.

    Notes
    -----
    A round looks first at each feature as one more parent of all features that have less than ``k``
    and may have it: the one with the highest score, if that is above the score of the network, is
    the super parent. Then it looks at all sets of ``k`` edges from the super parent, or of as many
    as there can be: the best set stays if it improves the network as it was before the round. The
    search ends with the first round in which one of the two improves nothing. Of equal candidates
    the first columns are taken. The number of sets grows as N to the power of ``k``.

    Rows on a cluster, or more of them than memory is for, stay where they are: a round asks all
    blocks what each super parent adds, and then what each set of its edges does (see
    ``SampleSearch``).
    """

    steps_on_blocks = True
    trains = False

    def __init__(
        self,
        score: Any = "cr",
        evaluation: Any = "resubstitution",
        parameters: Any = "ml",
        k: int = 1,
        **shared: Any,
    ):
        super().__init__(score, evaluation, parameters, **shared)
        self.k = k

    def _check(self) -> None:
        super()._check()
        check_k(self.k)

    def _search(self, run: Run) -> None:
        check_start(run, self.k)
        allowed = run.limits.allowed(run.data, run.counts, run.n_jobs)
        network = self._by_frequencies(run)
        last: dict[int, float] = {}
        while True:
            effort = SearchCost()
            kept = self._round(run, network, allowed, last, effort)
            if kept is None:
                if effort.evaluations:
                    run.step(
                        None, network.reported(), effort.evaluations, abandoned=effort.abandoned
                    )
                return
            for child in kept.children:
                network.set_parents(child, (kept.parent, *network.parents(child)))
            run.structure = network.structure
            children = [run.names[child] for child in kept.children]
            run.step(
                (kept.parent, kept.children[0]), network.reported(), effort.evaluations, abandoned=effort.abandoned,
                children=children,
            )  # fmt: skip

    def _round(
        self,
        run: Run,
        network: CountingScorer | BlockScorer,
        allowed: np.ndarray,
        last: dict[int, float],
        effort: SearchCost,
    ) -> ParentMove | None:
        """The edges that are kept; ``last`` is what each super parent added in the last round."""
        can_join = self._can_join(run, network, allowed)
        everywhere = [
            ParentMove(p, tuple(np.flatnonzero(row).tolist()))
            for p, row in enumerate(can_join)
            if row.any()
        ]
        if not everywhere:
            return None
        if isinstance(network, BlockScorer):
            best = network.best_move(everywhere, network.tolerance, effort, run.check)
            return best and network.best_move(
                self._sets(best), network.tolerance, effort, run.check
            )
        moves = ParentMoves(network)
        network.prepare(
            [Candidates(i, np.flatnonzero(row)) for i, row in enumerate(can_join.T) if row.any()],
            run.check,
        )
        promise = [last.get(move.parent, np.inf) for move in everywhere]
        chosen, gains = moves.best(everywhere, promise, network.tolerance, effort, run.check)
        last.update(zip((move.parent for move in everywhere), gains.tolist(), strict=True))
        return None if chosen is None else self._best_edges(run, moves, chosen, effort)

    def _best_edges(
        self, run: Run, moves: ParentMoves, chosen: ParentMove, effort: SearchCost
    ) -> ParentMove | None:
        """The best set of edges of the super parent."""
        parent, sets = chosen.parent, self._sets(chosen)
        promise = [0.0] * len(sets)
        # edges that are good alone often are together, and a high bound is soon found
        if len(sets[0].children) > 1:
            alone, _ = moves.scan([ParentMove(parent, (child,)) for child in chosen.children])
            worth = dict(zip(chosen.children, alone.tolist(), strict=True))
            effort.evaluations += len(chosen.children)
            promise = [sum(worth[child] for child in move.children) for move in sets]
        return moves.best(sets, promise, moves.network.tolerance, effort, run.check)[0]

    def _sets(self, chosen: ParentMove) -> list[ParentMove]:
        """All sets of edges of the super parent that could be kept."""
        size = min(self.k, len(chosen.children))
        return [
            ParentMove(chosen.parent, children) for children in combinations(chosen.children, size)
        ]

    def _can_join(
        self, run: Run, network: CountingScorer | BlockScorer, allowed: np.ndarray
    ) -> np.ndarray:
        """``[p, i]``: whether ``p`` may become one more parent of ``i``."""
        data, n = run.data, run.data.n_features
        groups = [network.parents(i) for i in range(n)]
        can_join = allowed & ~descendants(groups).T & (data.cards > 1) & (data.cards > 1)[:, None]
        for i, group in enumerate(groups):
            can_join[list(group), i] = False
            can_join[:, i] &= len(group) < self.k
            can_join[:, i] = run.limits.sizes.joining(i, group, can_join[:, i])
        return can_join
