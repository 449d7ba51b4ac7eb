"""SuperParent: the feature that helps most as a parent of all others keeps its best edges.

======================  ========================================
tag of the paper        learner
======================  ========================================
TAN-SuperParent (P10)   ``SuperParent("cr")``
2-tree-SuperParent      ``SuperParent("cr", evaluation=5, k=2)``
======================  ========================================
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from discbayes.network.graph import descendants
from discbayes.scoring import CandidateScorer, ParentMove, SearchCost
from discbayes.search.base import Run, check_k
from discbayes.search.sampled import SampleSearch
from discbayes.search.strict_trees import (
    allowed_edges,
    joined_features,
    largest_strict_set,
)


class SuperParent(SampleSearch):
    """SuperParent search: find the best parent of all features, keep its ``k`` best edges, repeat.

    Parameters
    ----------
    score : {"cr", "cl", "mm"} or Objective, default="cr"
        The objective of the score, see ``SampleSearch``.
    evaluation : "resubstitution", "loo" or int, default="resubstitution"
        Which rows score the tables: the training rows, or held-out ones.
    parameters : str or parameter learner, default="ml"
        How the tables are learned inside the search: generative estimates.
    k : int, default=1
        The largest number of feature parents, and the number of edges that are kept at a time.
    strict : bool, default=False
        Parents of a feature must have an edge to each other, so that the features form a partial
        k-tree.
    **shared
        Settings of every search, see ``Search``.

    Notes
    -----
    A round first scores each feature as one more parent of all features that have less than ``k``
    and may have it: the one with the highest score, if that is above the score of the network, is
    the super parent. Then it scores all sets of ``k`` edges from the super parent, or of as many as
    there can be: the best set is kept if it improves the network as it was before the round. The
    search ends with the first round in which one of the two improves nothing. Of equal candidates
    the first columns are taken. The number of sets grows as N to the power of ``k``.

    Rows on a cluster, or more of them than fit in memory, stay where they are: a round asks all
    blocks for the gain of each super parent, and then of each set of its edges (see
    ``SampleSearch``).

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> BayesNetClassifier(SuperParent("cl")).fit(iris.X, iris.y).structure_.n_edges
    3
    """

    steps_on_blocks = True
    trains = False

    def __init__(
        self,
        score: Any = "cr",
        evaluation: Any = "resubstitution",
        parameters: Any = "ml",
        k: int = 1,
        strict: bool = False,
        **shared: Any,
    ):
        super().__init__(score, evaluation, parameters, **shared)
        self.k = k
        self.strict = strict

    def _check(self) -> None:
        super()._check()
        check_k(self.k)

    def _search(self, run: Run) -> None:
        allowed = allowed_edges(run, self.k, self.strict)
        scorer = self._scorer(run)
        last_gains: dict[int, float] = {}
        while True:
            cost = SearchCost()
            kept = self._best_edges(run, scorer, allowed, last_gains, cost)
            if kept is None:
                if cost.evaluations:
                    run.step(None, scorer.reported(), cost.evaluations, abandoned=cost.abandoned)
                return
            for child in kept.children:
                scorer.add_parents(child, (kept.parent,))
            run.structure = scorer.structure
            run.step(
                (kept.parent, kept.children[0]),
                scorer.reported(),
                cost.evaluations,
                abandoned=cost.abandoned,
                children=[run.names[child] for child in kept.children],
            )

    def _best_edges(
        self,
        run: Run,
        scorer: CandidateScorer,
        allowed: np.ndarray,
        last_gains: dict[int, float],
        cost: SearchCost,
    ) -> ParentMove | None:
        """Find the super parent of a round, and the best set of its edges.

        ``last_gains`` is what each feature gained as a super parent in the last round.
        """
        strict = self._strict_children(run, scorer)
        moves = [
            ParentMove(p, strict(p, tuple(np.flatnonzero(children).tolist())))
            for p, children in enumerate(self._can_join(run, scorer, allowed))
        ]
        moves = [move for move in moves if move.children]
        if not moves:
            return None
        expected = [last_gains.get(move.parent, np.inf) for move in moves]
        chosen, gains = scorer.best_move(moves, scorer.tolerance, cost, run.check, expected)
        if chosen is None:
            return None
        last_gains.update(zip((move.parent for move in moves), gains.tolist(), strict=True))
        size = min(self.k, len(chosen.children))
        edge_sets = [
            ParentMove(chosen.parent, children)
            for children in combinations(chosen.children, size)
            if strict(chosen.parent, children) == children
        ]
        expected = []
        if size > 1 and scorer.abandons:
            # Edges that are good alone are often good in a set: a high threshold is soon found.
            single = [ParentMove(chosen.parent, (child,)) for child in chosen.children]
            gain_of = dict(zip(chosen.children, scorer.move_gains(single).tolist(), strict=True))
            cost.evaluations += len(single)
            expected = [sum(gain_of[child] for child in edges.children) for edges in edge_sets]
        return scorer.best_move(edge_sets, scorer.tolerance, cost, run.check, expected)[0]

    def _strict_children(
        self, run: Run, scorer: CandidateScorer
    ) -> Callable[[int, tuple[int, ...]], tuple[int, ...]]:
        """Return the function from a super parent and its children to those that may have it."""
        if not self.strict:
            return lambda _, children: children
        parents = [scorer.parents(i) for i in range(run.data.n_features)]
        return partial(largest_strict_set, joined_features(scorer.structure), parents)

    def _can_join(self, run: Run, scorer: CandidateScorer, allowed: np.ndarray) -> np.ndarray:
        """Return whether ``p`` may become one more parent of ``i``, as a matrix ``[p, i]``."""
        data, n = run.data, run.data.n_features
        groups = [scorer.parents(i) for i in range(n)]
        can_join = allowed & ~descendants(groups).T & (data.cards > 1) & (data.cards > 1)[:, None]
        for i, group in enumerate(groups):
            can_join[list(group), i] = False
            can_join[:, i] &= len(group) < self.k
            can_join[:, i] = run.limits.sizes.joining(i, group, can_join[:, i])
        return can_join
