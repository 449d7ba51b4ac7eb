"""Order-based search: put the features in an order, then choose parents among earlier ones.

=====================  ======================================================
tag of the paper       learner
=====================  ======================================================
TAN-OMI-CR             ``OrderBased("omi", "cr")``
TAN-OMISP-CR           ``OrderBased("omisp", "cr")``
TAN-OCR-CR             ``OrderBased("ocr", "cr")``
TAN-RO-CR              ``OrderBased("random", "cr")``
TAN-OMI-CL             ``OrderBased("omi", "cl")``
min-MI of Fig. 7       ``OrderBased("min-mi", "cl")``
2-tree-OMI-CR          ``OrderBased("omi", "cr", evaluation=5, k=2)``
TAN-OMI-CRCL           ``OrderBased("omi", "cr", parameters=cross_tuned)``
TAN-OMI-CR-Ext         ``OrderBased("omi", "cr", refine=True)``
=====================  ======================================================

``cross_tuned`` is ``MaximumConditionalLikelihood(stopping="cross-tuning")``: P10 ends all fits of
conditional likelihood so (6.1). It is for small data.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from discbayes.data.rows import Rows
from discbayes.network import Structure
from discbayes.scoring import BestCandidate, Candidates, CandidateScorer, SearchCost
from discbayes.search.base import Run, check_k
from discbayes.search.edgewise import edge_matrix
from discbayes.search.feature_orders import Order, order_features
from discbayes.search.sampled import SampleSearch
from discbayes.search.strict_trees import (
    allowed_edges,
    are_joined,
    joined_features,
)

ORDERS_OF_COUNTS = ("omisp", "random")  # orders that need no more than counts


class OrderBased(SampleSearch):
    """Order-based search: each feature takes the best set of at most ``k`` earlier features.

    Parameters
    ----------
    order : str or columns, default="omi"
        "omi" (most informative on the class given all earlier ones), "omisp" (given the best single
        earlier one), "ocr" (classification rate given all earlier ones), "min-mi" (least
        informative), "random", or all columns from first to last.
    score : {"cr", "cl", "mm"} or Objective, default="cr"
        The objective of the score by which parents are chosen, see ``SampleSearch``.
    evaluation : "resubstitution", "loo" or int, default="resubstitution"
        Which rows score the tables: the training rows, or held-out ones.
    parameters : str or parameter learner, default="ml"
        How the tables are learned inside the search.
    k : int, default=1
        The largest number of feature parents.
    strict : bool, default=False
        Parents of a feature must have an edge to each other, so that the features form a partial
        k-tree. Then ``refine`` keeps the edges between parents of a later feature.
    refine : bool, default=False
        Choose the parents of all features again, given those of all others, until nothing changes
        ("Ext" of P10).
    listing : bool, default=False
        Take the first edge that is chosen even if it improves nothing, as the listing of P10's
        algorithm does.
    exactly_k : bool, default=False
        A feature has ``k`` parents or none, as P10's text reads, and not any number up to ``k``;
        fewer where less than ``k`` features are earlier.
    first_edge : bool or None, default=None
        Keep an edge from the first feature of the order to the second, whatever it improves: True
        for any order, False for none. By default only OMI does.
    **shared
        Settings of every search, see ``Search``.

    Notes
    -----
    Features later in the order have no parents yet (or those of ``start``) while the parents of one
    are chosen. OMI begins with an edge between the pair of largest I(C;X,X'). Of sets that improve
    the score equally the smaller one, then the one of lower columns, is taken. Required and
    starting parents come earlier in every order.

    Rows on a cluster, or more of them than fit in memory, stay where they are as in
    ``GreedyEdges``, if the order is given, "random" or "omisp": the other orders need all rows at
    once.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> BayesNetClassifier(OrderBased("omi", "cl")).fit(iris.X, iris.y).structure_.n_edges
    3
    """

    steps_on_blocks = True

    def __init__(
        self,
        order: Any = "omi",
        score: Any = "cr",
        evaluation: Any = "resubstitution",
        parameters: Any = "ml",
        k: int = 1,
        strict: bool = False,
        refine: bool = False,
        listing: bool = False,
        exactly_k: bool = False,
        first_edge: bool | None = None,
        **shared: Any,
    ):
        super().__init__(score, evaluation, parameters, **shared)
        self.order = order
        self.k = k
        self.strict = strict
        self.refine = refine
        self.listing = listing
        self.exactly_k = exactly_k
        self.first_edge = first_edge

    def _check(self) -> None:
        super()._check()
        check_k(self.k)

    def _takes(self, data: Rows) -> bool:
        needs_counts_only = not isinstance(self.order, str) or self.order in ORDERS_OF_COUNTS
        return needs_counts_only and super()._takes(data)

    def _search(self, run: Run) -> None:
        before = edge_matrix(run.structure)
        allowed = allowed_edges(run, self.k, self.strict) | before
        order = order_features(
            run.data, run.counts, self.order, run.n_jobs, run.rng, before, run.check
        )
        first = self._first_edge(order)
        # It is added where it may be.
        if first is not None and (not allowed[first] or run.structure.parents[first[1]]):
            first = None
        if first is not None:
            run.structure = _with_parent(run.structure, *first)
        scorer = self._scorer(run)
        names = [run.names[i] for i in order.features]
        run.step(first, scorer.reported(), order.evaluations, order=names)
        self._choose_parents(run, scorer, list(order.features), allowed)
        while self.refine and self._refine(run, scorer, list(order.features), allowed):
            pass

    def _first_edge(self, order: Order) -> tuple[int, int] | None:
        """Return the edge that the search starts with."""
        if self.first_edge is None:
            return order.first_edge
        if self.first_edge and len(order.features) > 1:
            return order.features[0], order.features[1]
        return None

    def _choose_parents(
        self, run: Run, scorer: CandidateScorer, order: list[int], allowed: np.ndarray
    ) -> None:
        """Choose the parents of each feature in the order."""
        min_gain = -np.inf if self.listing else scorer.tolerance
        started = 2 if any(map(scorer.parents, order[:2])) else 1
        for place in range(started, len(order)):
            cost = SearchCost()
            candidates = self._candidates(run, scorer, order[place], order[:place], allowed)
            found = scorer.best(candidates, min_gain, cost, run.check)
            if found is not None:
                min_gain = scorer.tolerance
                scorer.add_parents(found.child, found.joining)
            self._record(run, scorer, order[place], found, cost)

    def _refine(
        self, run: Run, scorer: CandidateScorer, order: list[int], allowed: np.ndarray
    ) -> bool:
        """Choose the parents of every feature again; return whether any of them changed."""
        changed = False
        for place in range(1, len(order)):
            child, cost = order[place], SearchCost()
            old, value = scorer.parents(child), scorer.total
            kept = tuple(
                p for p in old if run.limits.required[p, child] or self._is_needed(scorer, p, child)
            )
            if old != kept:
                scorer.set_parents(child, kept)
            candidates = self._candidates(run, scorer, child, order[:place], allowed)
            old_gain = value - scorer.total  # of the old parents, over the kept ones alone
            min_gain = max(scorer.tolerance, old_gain - scorer.tolerance)
            found = scorer.best(candidates, min_gain, cost, run.check)
            new = kept
            if found is not None:
                new = (*found.joining, *kept)
            elif old_gain > scorer.tolerance:
                new = old
            if new != kept:
                scorer.set_parents(child, new)
            changed |= set(new) != set(old)
            self._record(run, scorer, child, found, cost)
        return changed

    def _is_needed(self, scorer: CandidateScorer, parent: int, child: int) -> bool:
        """Return whether an edge connects two parents of another feature and has to stay."""
        ends = {parent, child}
        return self.strict and any(ends.issubset(group) for group in scorer.structure.parents)

    def _record(
        self,
        run: Run,
        scorer: CandidateScorer,
        child: int,
        found: BestCandidate | None,
        cost: SearchCost,
    ) -> None:
        run.structure = scorer.structure
        run.step(
            None if found is None else (found.joining[0], child),
            scorer.reported(),
            cost.evaluations,
            abandoned=cost.abandoned,
            child=run.names[child],
            parents=[run.names[p] for p in scorer.parents(child)],
        )

    def _candidates(
        self,
        run: Run,
        scorer: CandidateScorer,
        child: int,
        earlier: list[int],
        allowed: np.ndarray,
    ) -> list[Candidates]:
        """List the sets of earlier features that may join the parents of a child.

        A set is listed once: as its largest member, with the others.
        """
        group, data = scorer.parents(child), run.data
        if data.cards[child] <= 1:
            return []
        free = sorted(
            p for p in earlier if allowed[p, child] and p not in group and data.cards[p] > 1
        )
        joined = joined_features(scorer.structure) if self.strict else None
        candidates = []
        # A set of one more feature than `size`.
        for size in self._sizes(self.k - len(group), len(free)):
            for others in combinations(free, size):
                may_join = np.zeros(data.n_features, np.bool_)
                for p in free:
                    is_last = not others or p > others[-1]
                    may_join[p] = is_last and (
                        joined is None or are_joined(joined, (p, *others, *group))
                    )
                fitting = run.limits.sizes.joining(child, [*others, *group], may_join)
                if fitting.any():
                    candidates.append(Candidates(child, np.flatnonzero(fitting), others))
        return candidates

    def _sizes(self, n_joining: int, n_free: int) -> range:
        """Return how many others a further parent may have with it."""
        if not self.exactly_k:
            return range(n_joining)
        size = min(n_joining, n_free)
        return range(max(size - 1, 0), size)


def _with_parent(structure: Structure, parent: int, child: int) -> Structure:
    parents = list(structure.parents)
    parents[child] = tuple(sorted((*parents[child], parent)))
    return Structure(tuple(parents), structure.class_children)
