"""Greedy edge addition on a sample score: TAN-CR, TAN-CL, TAN-HC-MM and their k-tree kin.

================  ================================================
tag of the paper  learner
================  ================================================
TAN-CR (P10)      ``GreedyEdges("cr", ties="parent")``
TAN-CL (P10)      ``GreedyEdges("cl", ties="parent")``
2-tree-CR (P10)   ``GreedyEdges("cr", 5, k=2, ties="parent")``
TAN-HC-CR (P12)   ``GreedyEdges("cr", evaluation=5, fill=True)``
TAN-HC-MM (P12)   ``GreedyEdges("mm", evaluation=5, fill=True)``
================  ================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discbayes.network.graph import descendants
from discbayes.scoring import TIES, Candidates, CandidateScorer, SearchCost
from discbayes.search.base import Run, check_k
from discbayes.search.sampled import SampleSearch
from discbayes.search.strict_trees import allowed_edges, joined_features


class GreedyEdges(SampleSearch):
    """Greedy search: from naive Bayes, add the edge that improves the score most, repeatedly.

    Parameters
    ----------
    score : {"cr", "cl", "mm"} or Objective, default="cr"
        The objective of the score, see ``SampleSearch``.
    evaluation : "resubstitution", "loo" or int, default="resubstitution"
        Which rows score the tables: the training rows, or held-out ones.
    parameters : str or parameter learner, default="ml"
        How the tables are learned inside the search.
    k : int, default=1
        The largest number of feature parents.
    fill : bool, default=False
        Continue when nothing improves, until no edge can be added (P12); by default the search
        stops there (P10).
    ties : {"child", "parent"}, default="child"
        Of edges that improve the score equally the one with the first child, then the first parent,
        is taken; or the one with the first parent, then the first child, with which figures of
        TAN-CR in P10 come out to the digit.
    strict : bool, default=False
        Parents of a feature must have an edge to each other, so that the features form a partial
        k-tree.
    **shared
        Settings of every search, see ``Search``.

    Notes
    -----
    The result is that of scoring every edge at every step from scratch.

    Rows on a cluster, or more of them than fit in memory, stay where they are: each step asks all
    blocks for the gains of all edges (see ``SampleSearch``).

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> BayesNetClassifier(GreedyEdges("cl")).fit(iris.X, iris.y).structure_.n_edges
    3
    """

    steps_on_blocks = True

    def __init__(
        self,
        score: Any = "cr",
        evaluation: Any = "resubstitution",
        parameters: Any = "ml",
        k: int = 1,
        fill: bool = False,
        ties: str = "child",
        strict: bool = False,
        **shared: Any,
    ):
        super().__init__(score, evaluation, parameters, **shared)
        self.k = k
        self.fill = fill
        self.ties = ties
        self.strict = strict

    def _check(self) -> None:
        super()._check()
        check_k(self.k)
        if self.ties not in TIES:
            raise ValueError(f"ties={self.ties!r} is not one of {', '.join(TIES)}")

    def _search(self, run: Run) -> None:
        allowed = allowed_edges(run, self.k, self.strict)
        scorer = self._scorer(run)
        min_gain = -np.inf if self.fill else scorer.tolerance
        while True:
            cost = SearchCost()
            candidates = self._candidates(run, scorer, allowed)
            found = scorer.best(candidates, min_gain, cost, run.check, self.ties)
            if found is not None:
                scorer.add_parents(found.child, found.joining)
                run.structure = scorer.structure
            if cost.evaluations:
                edge = None if found is None else (found.joining[0], found.child)
                run.step(edge, scorer.reported(), cost.evaluations, abandoned=cost.abandoned)
            if found is None:
                return

    def _candidates(
        self, run: Run, scorer: CandidateScorer, allowed: np.ndarray
    ) -> list[Candidates]:
        """List for every feature that may have one more parent those that it may have."""
        below = descendants([scorer.parents(i) for i in range(run.data.n_features)])
        joined = joined_features(scorer.structure) if self.strict else None
        candidates = []
        for child in range(run.data.n_features):
            group = scorer.parents(child)
            if len(group) < self.k and run.data.cards[child] > 1:
                free = allowed[:, child] & ~below[child] & (run.data.cards > 1)
                free[list(group)] = False
                if joined is not None:
                    free &= joined[list(group)].all(axis=0)
                free = run.limits.sizes.joining(child, group, free)
                if free.any():
                    candidates.append(Candidates(child, np.flatnonzero(free)))
        return candidates
