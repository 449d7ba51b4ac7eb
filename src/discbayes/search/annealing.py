"""Simulated annealing over trees on a sample score: TAN-SA-CR and TAN-SA-MM of P12."""

from __future__ import annotations

from typing import Any

import numpy as np

from discbayes.engine import parallel_map, row_blocks
from discbayes.kernels import annealing as kernels
from discbayes.kernels import scanning
from discbayes.network import Structure
from discbayes.scores.families import Family
from discbayes.scores.scored import MOST_CACHED, ScoredNetwork
from discbayes.search.base import Run, SearchStopped
from discbayes.search.sampled import SampleSearch

DRAWS, FEW_DRAWS = 4096, 256  # proposals that are drawn at a time, where all tables are kept and where they are not
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
            accepted = 0
            chain.begin_round()
            while accepted < successes and chain.tried < tries and not chain.stuck:
                run.check()
                if stops:
                    return
                accepted += chain.advance(unit * temperature, tries)
            chain.end_round(temperature, accepted)
            run.context.progress.step(f"temperature {temperature:.4g}, best {chain.best:.6g}")
            temperature *= self.cooling


class _Pool:
    """What the chains share: the rows, the tables of the edges, and the network that they start from."""

    def __init__(self, run: Run, network: ScoredNetwork, allowed: np.ndarray):
        self.network, self.rows = network, network._whole
        self.kind, self.scale = network.score.kind, network.score.scale
        self.live = np.flatnonzero(run.data.cards > 1)
        fixed = run.limits.required.any(axis=0)
        self.allowed = allowed & ~fixed[None, :]
        self.start = run.structure
        self.row_jobs: int | None = 1
        self.alone = [network.maker.make(i, ()) for i in range(run.data.n_features)]
        cards, per_cell = self.rows.cards, self.rows.n_classes * self.rows.n_groups
        widest = int(cards.max(initial=1))
        self.slots = np.concatenate([[0], np.cumsum(cards * widest * per_cell)]).astype(np.int64)
        self._load(run.n_jobs, float(cards[self.live].astype(float).sum() ** 2 * per_cell))

    def _load(self, n_jobs: int | None, cells: float) -> None:
        """The tables of all edges, where they take no more memory than a search may keep."""
        n = len(self.alone)
        self.starts = np.full((n, n), -1, np.int64)
        self.tables = self.own = np.empty(0)
        self.complete = cells <= MOST_CACHED
        if self.complete:
            pairs = [(int(p), int(i)) for i in self.live for p in self.live if p != i]
            starts, self.tables, self.own = self.edges(pairs, n_jobs)
            for (p, i), start in zip(pairs, starts, strict=True):
                self.starts[p, i] = start

    def edges(
        self, pairs: list[tuple[int, int]], n_jobs: int | None = 1
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The tables of edges (parent, child), one after the other, and where each of them starts."""
        children = list(dict.fromkeys(child for _, child in pairs))
        wanted = {child: np.array([p for p, i in pairs if i == child]) for child in children}
        maker = self.network.maker
        made = parallel_map(lambda i: maker.extend(self.alone[i], wanted[i]), children, n_jobs)
        offsets = np.concatenate([[0], np.cumsum([one.tables.size for one in made])]).astype(np.int64)
        begin = {
            (int(p), child): int(offset + start)
            for child, one, offset in zip(children, made, offsets, strict=False)
            for p, start in zip(one.parents, one.starts, strict=False)
        }
        tables = np.concatenate([one.tables for one in made]) if made else np.empty(0)
        same = all(one.own is one.tables for one in made)
        own = tables if same else np.concatenate([one.own for one in made])
        return np.array([begin[pair] for pair in pairs], np.int64), tables, own


class _Chain:
    """One run: a tree, the log-joint of the rows under it, its value, and the best tree so far."""

    def __init__(self, pool: _Pool, rng: np.random.Generator):
        self.pool, self.rng, network = pool, rng, pool.network
        self.parent = np.array([group[0] if group else -1 for group in pool.start.parents], np.int64)
        self.best_parent = self.parent.copy()
        self.slot_tables = np.zeros(pool.slots[-1])
        held_out = any(family.own is not family.tables for family in pool.alone)
        self.slot_own = np.zeros(pool.slots[-1]) if held_out else self.slot_tables
        for child in np.flatnonzero(self.parent >= 0).tolist():
            _, tables, own = pool.edges([(int(self.parent[child]), child)])
            self._fill_slot(child, tables, own)
        self.log_joint = network.log_joint.copy()
        self.families: list[Family] = list(network.families)
        self.gap_joint = network.gaps.log_joint
        self.total = self.best = network.total
        self._measure()
        self.stuck = not pool.allowed.any()
        self.records: list[dict[str, Any]] = []
        self.counters = np.zeros(3, np.int64)  # tries, rejections in a row, draws in a row that cannot be tried
        self._draw()

    @property
    def tried(self) -> int:
        """Tries of this round."""
        return int(self.counters[0])

    @property
    def rejected(self) -> int:
        """Rejections since the last improvement."""
        return int(self.counters[1])

    def structure(self) -> Structure:
        """The best tree so far."""
        return Structure(tuple((int(p),) if p >= 0 else () for p in self.best_parent))

    def begin_round(self) -> None:
        """Count tries from zero."""
        self.counters[0] = 0

    def end_round(self, temperature: float, accepted: int) -> None:
        """Write the round down."""
        score = self.pool.network.reported(self.best)
        self.records.append(
            {"score": score, "evaluations": self.tried, "accepted": accepted, "temperature": temperature}
        )

    def advance(self, unit: float, max_tries: int) -> bool:
        """Go on to the next change that is accepted, and make it; or to the end of the draws, or of the tries."""
        pool, rows, tolerance = self.pool, self.pool.rows, self.pool.network.tolerance
        hope = pool.network._gap_hope(self.gap_joint)
        with np.errstate(divide="ignore"):
            least = unit * np.log(self._luck) - tolerance - hope
        at, gain = kernels.next_proposal(
            pool.kind, pool.scale, self._children, self._parents, least, self._starts, self._next, max_tries,
            pool.allowed, self.parent, rows.codes, rows.cards, rows.y, rows.weight, rows.group, rows.n_groups,
            self.log_joint, self.other, self.slack, self.value, self.linear_rows, self._tables, self._own, pool.slots,
            self.slot_tables, self.slot_own, self.counters,
        )  # fmt: skip
        self._next = at
        self.stuck = self.counters[2] >= LOST_DRAWS * pool.live.size
        if at == self._children.size:
            self._draw()
        if gain == -np.inf:
            return False
        self._next = at + 1
        return self._decide(at, float(gain), float(least[at]) + hope)

    def _draw(self) -> None:
        """Draw the next proposals: a feature, a new parent for it, and how lucky it is."""
        pool, live = self.pool, self.pool.live
        draws = self.rng.random((DRAWS if pool.complete else FEW_DRAWS, 3))
        self._children = live[(draws[:, 0] * live.size).astype(np.int64)] if live.size else np.empty(0, np.int64)
        self._parents = live[(draws[:, 1] * live.size).astype(np.int64)] if live.size else np.empty(0, np.int64)
        self._luck, self._next = draws[: self._children.size, 2], 0
        if pool.complete:
            self._starts, self._tables, self._own = pool.starts[self._parents, self._children], pool.tables, pool.own
            return
        pairs = list(zip(self._parents.tolist(), self._children.tolist(), strict=True))
        usable = [(p, i) for p, i in dict.fromkeys(pairs) if pool.allowed[p, i]]
        starts, self._tables, self._own = pool.edges(usable)
        begin = dict(zip(usable, starts.tolist(), strict=True))
        self._starts = np.array([begin.get(pair, -1) for pair in pairs], np.int64)

    def _decide(self, at: int, gain: float, least: float) -> bool:
        """Add what the rows with gaps gain; make the change if that is still enough."""
        network, child, parent = self.pool.network, int(self._children[at]), int(self._parents[at])
        if network.gaps.size:
            new = network.maker.make(child, (parent,))
            joint = network.gaps.after(self.families, new, self.gap_joint)
            gain += network._gap_value(joint) - network._gap_value(self.gap_joint)
            if gain < least:
                self.counters[1] += 1
                return False
            self.families[child], self.gap_joint = new, joint
        if gain > network.tolerance:
            self.counters[1] = 0
        self._change(at, child, parent)
        self.total += gain
        if self.total > self.best + network.tolerance:
            self.best, self.best_parent = self.total, self.parent.copy()
        return True

    def _change(self, at: int, child: int, parent: int) -> None:
        """Make a change, in the log-joint of the rows without gaps."""
        pool, rows, old = self.pool, self.pool.rows, int(self.parent[child])
        card, start = int(rows.cards[child]), int(self._starts[at])
        n_new, n_old = int(rows.cards[parent]) * card, int(rows.cards[old]) * card if old >= 0 else 0

        def one(block: slice) -> None:
            kernels.change_parent(
                pool.kind, pool.scale, block.start, block.stop, rows.y, rows.group, self.log_joint, self.other,
                self.margin, self.slack, self.value, rows.codes[child], card, rows.codes[parent], n_new, start,
                self._tables, self._own, rows.codes[max(old, 0)], n_old, int(pool.slots[child]), self.slot_tables,
                self.slot_own,
            )  # fmt: skip

        parallel_map(one, row_blocks(rows.y.size), pool.row_jobs, work=self.log_joint.size * 2)
        span = slice(start, start + n_new * rows.n_classes * rows.n_groups)
        self._fill_slot(child, self._tables[span], self._own[span])
        self.parent[child] = parent
        self._find_linear()

    def _fill_slot(self, child: int, tables: np.ndarray, own: np.ndarray) -> None:
        first = self.pool.slots[child]
        self.slot_tables[first : first + tables.size] = tables
        self.slot_own[first : first + own.size] = own

    def _measure(self) -> None:
        pool, n = self.pool, self.pool.rows.y.size
        self.other, self.margin = np.zeros(n, np.int32), np.zeros(n)
        self.slack, self.value = np.zeros(n), np.zeros(n)
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
