"""Order-based search: put the features in an order, then choose the parents of each among the
earlier ones.

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
TAN-OMI-CRCL           ``OrderBased("omi", "cr", parameters="cl")``
TAN-OMI-CR-Ext         ``OrderBased("omi", "cr", refine=True)``
=====================  ======================================================
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from discbayes.data.rows import Rows
from discbayes.network import Structure
from discbayes.scores.block_scorer import AnyNetwork
from discbayes.scores.candidates import BestCandidate, Candidates, SearchCost
from discbayes.search.base import Run, check_k, check_start
from discbayes.search.feature_orders import order_features
from discbayes.search.sampled import SampleSearch

ORDERS_OF_COUNTS = ("omisp", "random")


class OrderBased(SampleSearch):
    """One order of the features; each takes the set of at most ``k`` earlier ones that improves the
    score most.

    Parameters
    ----------
    order : str or columns, default="omi"
        "omi" (most informative on the class given all earlier ones), "omisp" (given the best single
        earlier one), "ocr" (classification rate of all earlier ones together), "min-mi" (least
        informative), "random", or all columns from first to last.
    score, evaluation, parameters
        The score by which parents are chosen, see ``SampleSearch``.
    k : int, default=1
        The largest number of feature parents.
    strict : bool, default=False
        Parents of a feature must be joined with each other, so that the features form a partial
        k-tree. Then ``refine`` leaves the edges that join parents of a later feature.
    refine : bool, default=False
        Choose the parents of all features again, given those of all others, until nothing changes
        ("Ext" of P10).
    listing : bool, default=False
        Take the first edge that is chosen even if it improves nothing, as the listing of P10's
        algorithm does.
    **shared
        Settings of every search, see ``Search``.

    Notes
    -----
    Features later in the order have no parents yet (or those of ``start``) while the parents of one
    are chosen. OMI begins with an edge between the pair that tells most about the class. Of sets
    that improve the score equally the smaller one, then the one of lower columns, is taken.
    Required and starting parents come earlier in every order.

    Rows on a cluster, or more of them than memory is for, stay where they are as in
    ``GreedyEdges``, if the order is given, "random" or "omisp": the other ones look at all rows
    together.
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
        **shared: Any,
    ):
        super().__init__(score, evaluation, parameters, **shared)
        self.order = order
        self.k = k
        self.strict = strict
        self.refine = refine
        self.listing = listing

    def _check(self) -> None:
        super()._check()
        check_k(self.k)

    def _takes(self, data: Rows) -> bool:
        counts_do = not isinstance(self.order, str) or self.order in ORDERS_OF_COUNTS
        return counts_do and super()._takes(data)

    def _search(self, run: Run) -> None:
        check_start(run, self.k)
        before = _edges(run.structure)
        if self.strict:
            _refuse_loose_parents(run)
        allowed = run.limits.allowed(run.data, run.counts, run.n_jobs) | before
        order = order_features(
            run.data, run.counts, self.order, run.n_jobs, run.rng, before, run.check
        )
        first = self._first_edge(run, order.first_edge, allowed)
        if first is not None:
            run.structure = _with_parent(run.structure, *first)
        network = self._scored(run)
        names = [run.names[i] for i in order.features]
        run.step(first, network.reported(), order.evaluations, order=names)
        self._pass_over(run, network, list(order.features), allowed)
        while self.refine and self._refine(run, network, list(order.features), allowed):
            pass

    def _first_edge(
        self, run: Run, edge: tuple[int, int] | None, allowed: np.ndarray
    ) -> tuple[int, int] | None:
        """The edge that OMI starts with, where it may be added."""
        if edge is None or not allowed[edge] or run.structure.parents[edge[1]]:
            return None
        return edge

    def _pass_over(
        self, run: Run, network: AnyNetwork, order: list[int], allowed: np.ndarray
    ) -> None:
        """Choose parents for one feature after the other."""
        least = -np.inf if self.listing else network.tolerance
        started = 2 if any(map(network.parents, order[:2])) else 1
        for place in range(started, len(order)):
            effort = SearchCost()
            tasks = self._tasks(run, network, order[place], order[:place], allowed)
            found = network.best(tasks, least, effort, run.check)
            if found is not None:
                least = network.tolerance
                network.set_parents(found.child, (*found.joining, *network.parents(found.child)))
            self._record(run, network, order[place], found, effort)

    def _refine(self, run: Run, network: AnyNetwork, order: list[int], allowed: np.ndarray) -> bool:
        """Choose the parents of every feature again; returns whether any has others than before."""
        changed = False
        for place in range(1, len(order)):
            child, effort = order[place], SearchCost()
            old, value = network.parents(child), network.total
            kept = tuple(
                p
                for p in old
                if run.limits.required[p, child] or self._is_needed(network, p, child)
            )
            if old != kept:
                network.set_parents(child, kept)
            tasks = self._tasks(run, network, child, order[:place], allowed)
            gain = value - network.total  # of the parents that it had, over none
            found = network.best(
                tasks, max(network.tolerance, gain - network.tolerance), effort, run.check
            )
            new = (*found.joining, *kept) if found else old if gain > network.tolerance else kept
            if new != kept:
                network.set_parents(child, new)
            changed |= set(new) != set(old)
            self._record(run, network, child, found, effort)
        return changed

    def _is_needed(self, network: AnyNetwork, parent: int, child: int) -> bool:
        """Whether an edge joins two parents of another feature, which must stay joined."""
        ends = {parent, child}
        return self.strict and any(ends.issubset(group) for group in network.structure.parents)

    def _record(
        self,
        run: Run,
        network: AnyNetwork,
        child: int,
        found: BestCandidate | None,
        effort: SearchCost,
    ) -> None:
        run.structure = network.structure
        edge = None if found is None else (found.joining[0], child)
        parents = [run.names[p] for p in network.parents(child)]
        run.step(
            edge, network.reported(), effort.evaluations, abandoned=effort.abandoned, child=run.names[child],
            parents=parents,
        )  # fmt: skip

    def _tasks(
        self, run: Run, network: AnyNetwork, child: int, earlier: list[int], allowed: np.ndarray
    ) -> list[Candidates]:
        """The sets of earlier features that may join the parents of a child, by their lower
        members.
        """
        group, data = network.parents(child), run.data
        if data.cards[child] <= 1:
            return []
        free = sorted(
            p for p in earlier if allowed[p, child] and p not in group and data.cards[p] > 1
        )
        joined = self._joined(network) if self.strict else None
        tasks = []
        for size in range(self.k - len(group)):
            for through in combinations(free, size):
                among = np.zeros(data.n_features, np.bool_)
                among[[
                    p
                    for p in free
                    if (not through or p > through[-1])
                    and (joined is None or _all_joined(joined, (p, *through, *group)))
                ]] = True  # fmt: skip
                parents = np.flatnonzero(run.limits.sizes.joining(child, [*through, *group], among))
                if parents.size:
                    tasks.append(Candidates(child, parents, through))
        return tasks

    @staticmethod
    def _joined(network: AnyNetwork) -> np.ndarray:
        """Which features are neighbours."""
        edges = _edges(network.structure)
        return edges | edges.T


def _edges(structure: Structure) -> np.ndarray:
    """``[p, i]``: whether there is an edge from ``p`` to ``i``."""
    edges = np.zeros((structure.n_features, structure.n_features), np.bool_)
    for i, group in enumerate(structure.parents):
        edges[list(group), i] = True
    return edges


def _refuse_loose_parents(run: Run) -> None:
    """A start whose parents are not joined is no partial k-tree."""
    joined = _edges(run.structure)
    joined |= joined.T
    for i, group in enumerate(run.structure.parents):
        for a, b in combinations(group, 2):
            if not joined[a, b]:
                raise ValueError(
                    f"strict=True, but the parents {run.names[a]!r} and {run.names[b]!r} that"
                    f" {run.names[i]!r} has from the start are not joined"
                )


def _all_joined(joined: np.ndarray, group: tuple[int, ...]) -> bool:
    return all(joined[a, b] for a, b in combinations(group, 2))


def _with_parent(structure: Structure, parent: int, child: int) -> Structure:
    parents = list(structure.parents)
    parents[child] = tuple(sorted((*parents[child], parent)))
    return Structure(tuple(parents), structure.class_children)
