"""Simulated annealing over trees on a sample score: TAN-SA-CR and TAN-SA-MM of P12."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes.engine import parallel_map, row_blocks
from discbayes.kernels import annealing_proposals as kernels
from discbayes.kernels import candidate_scan
from discbayes.network import Structure
from discbayes.scores.candidate_families import Family
from discbayes.scores.counting_scorer import MAX_CACHED, CountingScorer
from discbayes.search.base import Run
from discbayes.search.sampled import SampleSearch

DRAWS = 4096  # proposals that are drawn at a time
# cells of the tables that are made at a time, where not all of them are kept: 80 MB
MAX_DRAWN = 10_000_000
# draws for each feature that may close a cycle, one after the other, before a chain gives up
LOST_DRAWS = 1000


class Annealing(SampleSearch):
    """Random changes of single parents, accepted if they improve the score or, the colder the less
    often, if not.

    Parameters
    ----------
    score, evaluation, parameters
        The score, see ``SampleSearch``.
    restarts : int, default=1
        Independent runs; the best structure by the score of the search is returned (P12 reports the
        best of 10).
    temperature : float, default=1.0
        Where the temperature T starts.
    cooling : float, default=0.8
        D: after each round T becomes D·T.
    scale : float or None
        r: a change that costs d is accepted with probability exp(−d / (r·T)). By default 1 for the
        classification rate, which counts as a rate here, and 100 for margin and likelihood, which
        are sums.
    max_tries, max_successes, max_rejections : int or None
        A round ends after so many tries (50·N) or accepted changes (5·N), and the search after so
        many rejections without an improvement (100·N), where N is the number of features with more
        than one value. It also ends after as many accepted changes in a row that leave the score as
        it is, or when no structure can have a higher one.
    **shared
        Settings of every search, see ``Search``.

    Notes
    -----
    Each feature has at most one parent; a change draws a feature and a new parent for it, and is
    drawn again if that closes a cycle. Edges are never only removed. The best structure seen is
    kept, not the last one. A step of the trace is a round of one of the runs, with the best score
    of that run so far.

    A run takes hundreds of thousands of steps, so all rows must be in memory; those of a file or a
    cluster are gathered there.
    """

    trains = False

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
            raise ValueError(
                f"cooling={self.cooling!r} must be between 0 and 1: the temperature has to fall"
            )
        if self.scale is not None and not self.scale > 0:
            raise ValueError(f"scale={self.scale!r} must be above 0")

    def _search(self, run: Run) -> None:
        if run.structure.max_parents > 1:
            raise ValueError(
                "Annealing goes over trees: the starting structure has a feature with several"
                " parents"
            )
        allowed = run.limits.allowed(run.data, run.counts, run.n_jobs)
        network = self._by_frequencies(run)
        assert isinstance(network, CountingScorer)
        pool = _Pool(run, network, allowed)
        # either the runs share the threads, or their rows do
        pool.row_jobs = run.n_jobs if self.restarts == 1 else 1
        schedule = self._schedule(pool)
        seeds = run.rng.integers(2**63, size=self.restarts).tolist()
        chains = [
            _Chain(pool, np.random.default_rng(seed), number) for number, seed in enumerate(seeds)
        ]
        going = [chain for chain in chains if not schedule.is_over(chain)]
        try:
            while going:
                records = parallel_map(
                    lambda chain: self._round(run, schedule, chain), going, run.n_jobs
                )
                run.structure = _best_of(chains)
                for chain, record in zip(going, records, strict=True):
                    run.step(None, restart=chain.number, **record)
                going = [chain for chain in going if not schedule.is_over(chain)]
        finally:
            run.structure = _best_of(chains)

    def _schedule(self, pool: _Pool) -> _Schedule:
        n, rate = max(1, pool.live.size), pool.kind == candidate_scan.RATE
        unit = self.temperature * (self.scale or (1.0 if rate else 100.0))
        return _Schedule(
            self.max_tries or 50 * n,
            self.max_successes or 5 * n,
            self.max_rejections or 100 * n,
            unit * pool.network.total_weight if rate else unit,
            self.cooling,
        )

    def _round(self, run: Run, schedule: _Schedule, chain: _Chain) -> dict[str, Any]:
        """Try changes at one temperature; the record of what came of it."""
        accepted, share = 0, schedule.cooling**chain.rounds
        chain.begin_round()
        with run.one_of_several():
            while (
                accepted < schedule.successes and chain.tried < schedule.tries and not chain.is_done
            ):
                run.check()
                accepted += chain.advance(schedule.unit * share, schedule.tries)
        score, temperature = chain.pool.network.reported(chain.best), self.temperature * share
        run.context.progress.step(f"temperature {temperature:.4g}, best {score:.6g}")
        return {
            "score": score,
            "evaluations": chain.tried,
            "accepted": accepted,
            "temperature": temperature,
        }


@dataclass(frozen=True)
class _Schedule:
    """When rounds and chains end; ``unit`` is r·T of the first round, in the unit of the sum over
    the rows.
    """

    tries: int
    successes: int
    rejections: int
    unit: float
    cooling: float

    def is_over(self, chain: _Chain) -> bool:
        """Whether a chain begins no further round."""
        return chain.is_done or max(chain.rejected, chain.idle) >= self.rejections


def _best_of(chains: list[_Chain]) -> Structure:
    return max(chains, key=lambda chain: chain.best).structure()


class _Pool:
    """What the chains share: the rows, the tables of the edges, and the network that they start
    from.
    """

    def __init__(self, run: Run, network: CountingScorer, allowed: np.ndarray):
        self.network, self.rows = network, network._whole
        self.kind, self.scale = network.score.kind, network.score.scale
        self.live = np.flatnonzero(run.data.cards > 1)
        self.allowed = allowed.copy()
        self.allowed[:, np.asarray(run.limits.required.any(axis=0))] = False
        self.start = run.structure
        self.row_jobs: int | None = 1
        self.alone = [network.maker.make(i, ()) for i in range(run.data.n_features)]
        most = 0.0 if self.kind == candidate_scan.LIKELIHOOD else network.total_weight
        self.most = most - network.tolerance  # what no structure exceeds
        self._load(run.n_jobs)

    def _load(self, n_jobs: int | None) -> None:
        """The tables of all edges, where they take no more memory than a search may keep."""
        n = len(self.alone)
        self.starts = np.full((n, n), -1, np.int64)
        self.tables = self.own = np.empty(0)
        alive = np.isin(np.arange(n), self.live)
        wanted = self.allowed & alive & alive[:, None]
        for i, group in enumerate(self.start.parents):
            wanted[list(group), i] = True
        cells = np.outer(self.rows.cards, self.rows.cards)[wanted].sum(dtype=float) * self.per_cell
        self.complete = bool(cells <= MAX_CACHED)
        if self.complete:
            children, parents = np.nonzero(wanted.T)
            pairs = list(zip(parents.tolist(), children.tolist(), strict=True))
            self.starts[parents, children], self.tables, self.own = self.edges(pairs, n_jobs)

    @property
    def per_cell(self) -> int:
        """Numbers for each cell of an edge."""
        return self.rows.n_classes * self.rows.n_groups

    def edges(
        self, pairs: list[tuple[int, int]], n_jobs: int | None = 1
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The tables of edges (parent, child), one after the other, and where each of them
        starts.
        """
        wanted: dict[int, list[int]] = {}
        for p, i in pairs:
            wanted.setdefault(i, []).append(p)
        children = list(wanted)
        maker = self.network.maker
        made = parallel_map(
            lambda i: maker.extend(self.alone[i], np.array(wanted[i])), children, n_jobs
        )
        offsets = np.concatenate([[0], np.cumsum([one.tables.size for one in made])]).astype(
            np.int64
        )
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

    def __init__(self, pool: _Pool, rng: np.random.Generator, number: int):
        self.pool, self.rng, self.number, network = pool, rng, number, pool.network
        self.parent = np.array(
            [group[0] if group else -1 for group in pool.start.parents], np.int64
        )
        self.best_parent = self.parent.copy()
        self.rounds = 0
        self._edges = _EdgeTables(pool, self.parent)
        self.log_joint = network.log_joint.copy()
        self.families: list[Family] = list(network.families)
        self.incomplete_joint = network.gaps.log_joint
        self.total = self.best = network.total
        self._measure()
        self.stuck = not pool.allowed.any()
        # tries of the round, rejections, draws in a row that cannot be tried, changes in a row that
        # change nothing
        self.counters = np.zeros(4, np.int64)
        self._waiting = np.empty((0, 3))
        self._next, self._starts, self._tables, self._own = (
            0,
            np.empty(0, np.int64),
            np.empty(0),
            np.empty(0),
        )
        self._draw()

    @property
    def tried(self) -> int:
        """Tries of this round."""
        return int(self.counters[0])

    @property
    def rejected(self) -> int:
        """Rejections since the last improvement."""
        return int(self.counters[1])

    @property
    def idle(self) -> int:
        """Changes in a row that left the score as it is."""
        return int(self.counters[3])

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to try, or to gain."""
        return self.stuck or self.best >= self.pool.most

    def structure(self) -> Structure:
        """The best tree so far."""
        return Structure(tuple((int(p),) if p >= 0 else () for p in self.best_parent))

    def begin_round(self) -> None:
        """Count tries from zero."""
        self.counters[0] = 0
        self.rounds += 1

    def advance(self, unit: float, max_tries: int) -> bool:
        """Go on to the next change that is accepted, and make it; or to the end of the draws, or of
        the tries.
        """
        pool, rows, tolerance = self.pool, self.pool.rows, self.pool.network.tolerance
        hope = pool.network._gap_hope(self.incomplete_joint)
        with np.errstate(divide="ignore"):
            least = unit * np.log(self._luck) - tolerance - hope
        at, gain = kernels.next_proposal(
            pool.kind, pool.scale, self._children, self._parents, least, self._starts, self._next, max_tries,
            pool.allowed, self.parent, rows.codes, rows.cards, rows.y, rows.weight, rows.group, rows.n_groups,
            self.log_joint, self.other, self.slack, self.value, self.linear_rows, self._tables, self._own,
            self._edges.starts, self._edges.tables, self._edges.own, self.counters,
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
        if not self._waiting.size:
            self._waiting = self.rng.random((DRAWS if live.size else 0, 3))
        children, parents = (
            live[(self._waiting[:, k] * live.size).astype(np.int64)] for k in (0, 1)
        )
        n = children.size if pool.complete else self._how_many(parents, children)
        self._children, self._parents, self._luck = children[:n], parents[:n], self._waiting[:n, 2]
        self._waiting, self._next = self._waiting[n:], 0
        if pool.complete:
            self._starts, self._tables, self._own = (
                pool.starts[self._parents, self._children],
                pool.tables,
                pool.own,
            )
            return
        pairs = list(zip(self._parents.tolist(), self._children.tolist(), strict=True))
        usable = [(p, i) for p, i in dict.fromkeys(pairs) if pool.allowed[p, i]]
        starts, self._tables, self._own = pool.edges(usable)
        begin = dict(zip(usable, starts.tolist(), strict=True))
        self._starts = np.array([begin.get(pair, -1) for pair in pairs], np.int64)

    def _how_many(self, parents: np.ndarray, children: np.ndarray) -> int:
        """For how many of the proposals, at least one, the tables can be made at the same time."""
        pool, cards = self.pool, self.pool.rows.cards
        cells = np.cumsum(
            cards[parents] * cards[children] * pool.per_cell * pool.allowed[parents, children]
        )
        return max(1, int(np.searchsorted(cells, MAX_DRAWN, side="right")))

    def _decide(self, at: int, gain: float, least: float) -> bool:
        """Add what the rows with gaps gain; make the change if that is still enough."""
        network, child, parent = self.pool.network, int(self._children[at]), int(self._parents[at])
        if network.gaps.size:
            new = network.maker.make(child, (parent,))
            more, joint = self._incomplete_gain(new, least - gain)
            gain += more
            if gain < least:
                self.counters[1] += 1
                self.counters[3] = 0
                return False
            self.families[child], self.incomplete_joint = new, joint
        if gain > network.tolerance:
            self.counters[1] = 0
        self.counters[3] = self.counters[3] + 1 if abs(gain) <= network.tolerance else 0
        self._change(at, child, parent)
        self.total += gain
        if self.total > self.best + network.tolerance:
            self.best, self.best_parent = self.total, self.parent.copy()
        return True

    def _incomplete_gain(self, new: Family, least: float) -> tuple[float, np.ndarray]:
        """What the rows with gaps gain by a family, and their log-joint; a bound where that is
        below ``least`` already.

        Rows without a gap in the family tell most of it, and need no inference.
        """
        network, gaps = self.pool.network, self.pool.network.gaps
        now = network._incomplete_value(self.incomplete_joint)
        joint, affected = gaps.exchange(self.families[new.child], new, self.incomplete_joint)
        values = network.score.rows(joint, gaps.rows.y)
        values[affected] = 0.0 if self.pool.kind == candidate_scan.LIKELIHOOD else 1.0
        most = float(values @ gaps.rows.weight) - now
        if most < least - network.tolerance:
            return most, joint
        gaps.infer(self.families, new, joint, affected)
        return network._incomplete_value(joint) - now, joint

    def _change(self, at: int, child: int, parent: int) -> None:
        """Make a change, in the log-joint of the rows without gaps."""
        pool, rows, old = self.pool, self.pool.rows, int(self.parent[child])
        card, start = int(rows.cards[child]), int(self._starts[at])
        n_new, n_old = (
            int(rows.cards[parent]) * card,
            int(rows.cards[old]) * card if old >= 0 else 0,
        )

        def one(block: slice) -> None:
            kernels.change_parent(
                pool.kind, pool.scale, block.start, block.stop, rows.y, rows.group, self.log_joint, self.other,
                self.margin, self.slack, self.value, rows.codes[child], card, rows.codes[parent], n_new, start,
                self._tables, self._own, rows.codes[max(old, 0)], n_old, int(self._edges.starts[child]),
                self._edges.tables, self._edges.own,
            )  # fmt: skip

        parallel_map(one, row_blocks(rows.y.size), pool.row_jobs, work=self.log_joint.size * 2)
        self._edges.put(child, start, n_new * pool.per_cell, self._tables, self._own)
        self.parent[child] = parent
        self._find_linear()

    def _measure(self) -> None:
        pool, n = self.pool, self.pool.rows.y.size
        self.other, self.margin = np.zeros(n, np.int32), np.zeros(n)
        self.slack, self.value = np.zeros(n), np.zeros(n)
        if pool.kind == candidate_scan.LIKELIHOOD:
            self.value = pool.network.score.rows(self.log_joint, pool.rows.y)
        else:
            candidate_scan.margins(
                self.log_joint,
                pool.rows.y,
                pool.kind,
                pool.scale,
                self.other,
                self.margin,
                self.slack,
                self.value,
            )
        self._find_linear()

    def _find_linear(self) -> None:
        linear = self.pool.kind == candidate_scan.MARGIN
        self.linear_rows = np.flatnonzero(self.value < 1.0) if linear else np.empty(0, np.int64)


class _EdgeTables:
    """The tables of the edges of a tree, in one array: the table of a child begins at
    ``starts[child]``.

    Where the pool has the tables of all edges the array is that of the pool; elsewhere each child
    has a stretch of its own, as long as the longest table that it has had.
    """

    def __init__(self, pool: _Pool, parent: np.ndarray):
        self.pool, self.tables, self.own = pool, pool.tables, pool.own
        self.starts, self._room = np.zeros(parent.size, np.int64), np.zeros(parent.size, np.int64)
        children = np.flatnonzero(parent >= 0)
        if pool.complete:
            self.starts[children] = pool.starts[parent[children], children]
            return
        for child in children.tolist():
            _, tables, own = pool.edges([(int(parent[child]), child)])
            self.put(child, 0, tables.size, tables, own)

    def put(self, child: int, start: int, size: int, tables: np.ndarray, own: np.ndarray) -> None:
        """Take up the table of a child, which begins at ``start`` of the given ones."""
        if self.pool.complete:
            self.starts[child] = start
            return
        if size > self._room[child]:
            self._make_room(child, size, own is not tables)
        place = slice(self.starts[child], self.starts[child] + size)
        self.tables[place] = tables[start : start + size]
        if own is not tables:
            self.own[place] = own[start : start + size]

    def _make_room(self, child: int, size: int, apart: bool) -> None:
        """Lengthen the stretch of a child; the others move along."""
        at, end = int(self.starts[child]), int(self.starts[child] + self._room[child])

        def lengthened(old: np.ndarray) -> np.ndarray:
            return np.concatenate([old[:at], np.zeros(size), old[end:]])

        own = lengthened(self.own) if apart else None
        self.tables = lengthened(self.tables)
        self.own = self.tables if own is None else own
        self.starts[self.starts >= end] += size - (end - at)
        self.starts[child], self._room[child] = at, size
