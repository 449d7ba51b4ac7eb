"""Simulated annealing over trees on a sample score: TAN-SA-CR and TAN-SA-MM of P12."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discbayes.engine import parallel_map, row_blocks
from discbayes.kernels import annealing as kernels
from discbayes.kernels import scanning
from discbayes.network import Structure
from discbayes.scores.families import Extensions, Family
from discbayes.scores.scored import MOST_CACHED, ScoredNetwork
from discbayes.search.base import Run, SearchStopped
from discbayes.search.sampled import SampleSearch

DRAWS = 4096  # numbers that are drawn at a time
LOST_DRAWS = 1000  # draws for each feature that may close a cycle, one after the other, before a chain gives up


class Annealing(SampleSearch):
    """Random changes of single parents, accepted if they improve the score or, the colder the less often, if not.

    Parameters
    ----------
    score, evaluation, parameters
        The score, see ``SampleSearch``.
    restarts : int, default=1
        Independent runs; the best structure by the score of the search is returned (P12 reports the best of 10).
    temperature : float, default=1.0
        Where the temperature T starts.
    cooling : float, default=0.8
        D: after each round T becomes D·T.
    scale : float or None
        r: a change that costs d is accepted with probability exp(−d / (r·T)). By default 1 for the classification
        rate, which counts as a rate here, and 100 for margin and likelihood, which are sums.
    max_tries, max_successes, max_rejections : int or None
        A round ends after so many tries (50·N) or accepted changes (5·N), and the search after so many rejections
        without an improvement (100·N), where N is the number of features with more than one value.
    **shared
        Settings of every search, see ``Search``.

    Notes
    -----
    Each feature has at most one parent; a change draws a feature and a new parent for it, and is drawn again if that
    closes a cycle. Edges are never only removed. The best structure seen is kept, not the last one.
    """

    def __init__(
        self,
        score: Any = "cr",
        evaluation: Any = "resubstitution",
        parameters: Any = "ml",
        restarts: int = 1,
        temperature: float = 1.0,
        cooling: float = 0.8,
        scale: float | None = None,
        max_tries: int | None = None,
        max_successes: int | None = None,
        max_rejections: int | None = None,
        **shared: Any,
    ):
        super().__init__(score, evaluation, parameters, **shared)
        self.restarts = restarts
        self.temperature = temperature
        self.cooling = cooling
        self.scale = scale
        self.max_tries = max_tries
        self.max_successes = max_successes
        self.max_rejections = max_rejections

    def _check(self) -> None:
        super()._check()
        for name in ("restarts", "max_tries", "max_successes", "max_rejections"):
            value = getattr(self, name)
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            if not (whole and value >= 1) and not (value is None and name != "restarts"):
                raise ValueError(f"{name}={value!r} must be a whole number that is at least 1")
        if not self.temperature > 0:
            raise ValueError(f"temperature={self.temperature!r} must be above 0")
        if not 0 < self.cooling < 1:
            raise ValueError(f"cooling={self.cooling!r} must be between 0 and 1: the temperature has to fall")
        if self.scale is not None and not self.scale > 0:
            raise ValueError(f"scale={self.scale!r} must be above 0")

    def _search(self, run: Run) -> None:
        if run.structure.max_parents > 1:
            raise ValueError("Annealing goes over trees: the starting structure has a feature with several parents")
        allowed = run.limits.allowed(run.data, run.counts, run.n_jobs)
        pool = _Pool(run, self._scored(run), allowed)
        pool.row_jobs = run.n_jobs if self.restarts == 1 else 1  # either the runs share the threads, or their rows do
        seeds = run.rng.integers(2**63, size=self.restarts).tolist()
        stops: list[BaseException] = []
        chains = parallel_map(lambda seed: self._chain(run, pool, seed, stops), seeds, run.n_jobs)
        best = max(chains, key=lambda chain: chain.best)
        run.structure = best.structure()
        for number, chain in enumerate(chains):
            for record in chain.records:
                run.step(None, restart=number, **record)
        if stops:
            raise stops[0]

    def _chain(self, run: Run, pool: _Pool, seed: int, stops: list[BaseException]) -> _Chain:
        """One run to its end, or to where it, or another one, was stopped."""
        chain = _Chain(pool, np.random.default_rng(seed))
        try:
            self._anneal(run, chain, stops)
        except (KeyboardInterrupt, SearchStopped) as stop:
            stops.append(stop)
        return chain

    def _anneal(self, run: Run, chain: _Chain, stops: list[BaseException]) -> None:
        n = max(1, chain.pool.live.size)
        tries, successes = self.max_tries or 50 * n, self.max_successes or 5 * n
        rejections = self.max_rejections or 100 * n
        unit = self.scale or (1.0 if chain.pool.kind == scanning.RATE else 100.0)
        if chain.pool.kind == scanning.RATE:
            unit *= chain.pool.network.total_weight
        temperature = self.temperature
        while chain.rejected < rejections and not chain.stuck:
            chain.begin_round()
            while chain.accepted < successes and chain.tried < tries and not chain.stuck:
                run.check()
                if stops:
                    return
                chain.attempt(unit * temperature)
            chain.end_round(temperature)
            run.context.progress.step(f"temperature {temperature:.4g}, best {chain.best:.6g}")
            temperature *= self.cooling


class _Pool:
    """What the chains share: the rows, the tables of every edge, and the network that they start from."""

    def __init__(self, run: Run, network: ScoredNetwork, allowed: np.ndarray):
        self.network, self.rows = network, network._whole
        self.kind, self.scale = network.score.kind, network.score.scale
        self.live = np.flatnonzero(run.data.cards > 1)
        fixed = run.limits.required.any(axis=0)
        self.allowed = allowed & ~fixed[None, :]
        self.start = run.structure
        self.alone = [network.maker.make(i, ()) for i in range(run.data.n_features)]
        self.row_jobs: int | None = 1
        self.extensions = self._all_extensions(run.n_jobs)

    def _all_extensions(self, n_jobs: int | None) -> dict[int, Extensions]:
        """The tables of all edges, where they take no more memory than a search may keep."""
        rows = self.network.rows
        cards = rows.cards[self.live].astype(float)
        if cards.sum() ** 2 * rows.n_classes * rows.n_groups > MOST_CACHED:
            return {}
        made = parallel_map(lambda i: self._extend(int(i), self.live[self.live != i]), self.live.tolist(), n_jobs)
        return dict(zip(self.live.tolist(), made, strict=True))

    def _extend(self, child: int, parents: np.ndarray) -> Extensions:
        return self.network.maker.extend(self.alone[child], parents)

    def edge(self, parent: int, child: int) -> _Edge:
        """What an edge adds to the log-joint, cell by cell."""
        made = self.extensions.get(child) or self._extend(child, np.array([parent]))
        k = made.place[parent]
        span, rows = slice(made.starts[k], made.starts[k + 1]), self.rows
        alone = self.alone[child]
        edge = _Edge(int(rows.cards[parent]) * alone.n_base, made.tables[span], made.own[span])
        edge.cells = np.empty(rows.y.size, np.int32)
        kernels.join_cells(rows.codes[parent], alone.base[: rows.y.size], alone.n_base, edge.cells)
        edge.spread = np.empty(edge.n_cells)
        kernels.cell_spreads(edge.tables, edge.own, edge.n_cells, rows.n_groups, rows.n_classes, edge.spread)
        return edge


@dataclass
class _Edge:
    """The tables of one edge, and the cell of every row without gaps."""

    n_cells: int
    tables: np.ndarray
    own: np.ndarray
    cells: np.ndarray = field(default_factory=lambda: np.empty(0, np.int32))
    spread: np.ndarray = field(default_factory=lambda: np.empty(0))


NO_EDGE = _Edge(0, np.empty(0), np.empty(0))


class _Chain:
    """One run: a tree, the log-joint of the rows under it, its value, and the best tree so far."""

    def __init__(self, pool: _Pool, rng: np.random.Generator):
        self.pool, self.rng, network = pool, rng, pool.network
        self.parent = np.array([group[0] if group else -1 for group in pool.start.parents])
        self.edges = [pool.edge(int(p), i) if p >= 0 else NO_EDGE for i, p in enumerate(self.parent)]
        self.log_joint = network.log_joint.copy()
        self.families: list[Family] = list(network.families)
        self.gap_joint = network.gaps.log_joint
        self.total = self.best = network.total
        self.best_parent = self.parent.copy()
        n = pool.rows.y.size
        self.other, self.margin = np.empty(n, np.int32), np.empty(n)
        self.slack, self.value = np.empty(n), np.empty(n)
        self.rejected, self.stuck = 0, not pool.allowed.any()
        self.records: list[dict[str, Any]] = []
        self._draws, self._next = np.empty((0, 3)), 0
        self._measure()

    # ---- the tree

    def structure(self) -> Structure:
        """The best tree so far."""
        return Structure(tuple((int(p),) if p >= 0 else () for p in self.best_parent))

    def _measure(self) -> None:
        pool = self.pool
        if pool.kind == scanning.LIKELIHOOD:
            self.value = pool.network.score.rows(self.log_joint, pool.rows.y)
        else:
            scanning.margins(
                self.log_joint, pool.rows.y, pool.kind, pool.scale, self.other, self.margin, self.slack, self.value
            )
        self._find_linear()

    def _find_linear(self) -> None:
        linear = self.pool.kind == scanning.MARGIN
        self.linear_rows = np.flatnonzero(self.value < 1.0) if linear else np.empty(0, np.int64)

    # ---- a round

    def begin_round(self) -> None:
        """Count tries and accepted changes from zero."""
        self.tried = self.accepted = 0

    def end_round(self, temperature: float) -> None:
        """Write the round down."""
        score = self.pool.network.reported(self.best)
        self.records.append(
            {"score": score, "evaluations": self.tried, "accepted": self.accepted, "temperature": temperature}
        )

    def attempt(self, unit: float) -> None:
        """Draw a change, and make it if it improves the score by more than a random, negative amount."""
        drawn = self._draw()
        if drawn is None:
            self.stuck = True
            return
        child, parent, luck = drawn
        self.tried += 1
        least = unit * np.log(luck) if luck > 0 else -np.inf
        edge = self.pool.edge(parent, child)
        gain = self._gain(child, parent, edge, least)
        if gain > self.pool.network.tolerance:
            self.rejected = 0
        elif not gain >= least - self.pool.network.tolerance:
            self.rejected += 1
            return
        self.accepted += 1
        self._accept(child, parent, edge, gain)

    def _draw(self) -> tuple[int, int, float] | None:
        """A feature, a new parent for it, and a number between 0 and 1; none if no change seems to be left."""
        live, allowed = self.pool.live, self.pool.allowed
        for _ in range(LOST_DRAWS * live.size):
            if self._next == len(self._draws):
                self._draws, self._next = self.rng.random((DRAWS, 3)), 0
            first, second, luck = self._draws[self._next]
            self._next += 1
            child, parent = int(live[int(first * live.size)]), int(live[int(second * live.size)])
            if allowed[parent, child] and self.parent[child] != parent and not self._is_below(parent, child):
                return child, parent, float(luck)
        return None

    def _is_below(self, node: int, root: int) -> bool:
        while node >= 0:
            if node == root:
                return True
            node = int(self.parent[node])
        return False

    def _gain(self, child: int, parent: int, edge: _Edge, least: float) -> float:
        pool, old = self.pool, self.edges[child]
        network, rows = pool.network, pool.rows
        hope = network._gap_hope(self.gap_joint)
        bound = least - network.tolerance - hope
        gain = kernels.change_of_parent(
            pool.kind, pool.scale, bound, rows.y, rows.weight, rows.group, self.log_joint, self.other, self.slack,
            self.value, self.linear_rows, edge.cells, edge.n_cells, edge.tables, edge.own, edge.spread, old.cells,
            old.n_cells, old.tables, old.own, old.spread,
        )  # fmt: skip
        if not network.gaps.size or gain < bound:
            return float(gain)
        self._new = network.maker.make(child, (parent,))
        self._new_gap_joint = network.gaps.after(self.families, self._new, self.gap_joint)
        return float(gain + network._gap_value(self._new_gap_joint) - network._gap_value(self.gap_joint))

    def _accept(self, child: int, parent: int, edge: _Edge, gain: float) -> None:
        pool, rows, old = self.pool, self.pool.rows, self.edges[child]

        def one(block: slice) -> None:
            kernels.change_parent(
                pool.kind, pool.scale, block.start, block.stop, rows.y, rows.group, self.log_joint, self.other,
                self.margin, self.slack, self.value, edge.cells, edge.n_cells, edge.tables, edge.own, old.cells,
                old.n_cells, old.tables, old.own,
            )  # fmt: skip

        parallel_map(one, row_blocks(rows.y.size), pool.row_jobs, work=self.log_joint.size * 2)
        if self.pool.network.gaps.size:
            self.families[child], self.gap_joint = self._new, self._new_gap_joint
        self.edges[child], self.parent[child] = edge, parent
        self.total += gain
        self._find_linear()
        if self.total > self.best + self.pool.network.tolerance:
            self.best, self.best_parent = self.total, self.parent.copy()
