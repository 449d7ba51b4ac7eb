"""Simulated annealing over trees on a sample score: TAN-SA-CR and TAN-SA-MM of P12."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes._arrays import starts_of
from discbayes._settings import require_integer
from discbayes.engine import parallel_map, row_blocks
from discbayes.kernels import annealing_proposals as kernels
from discbayes.kernels import candidate_scan
from discbayes.kernels.annealing_proposals import IDLE, REJECTIONS, TRIES, UNUSABLE
from discbayes.kernels.scan_records import ChainRows, EdgeTables
from discbayes.network import Structure
from discbayes.scoring.candidate_families import Family
from discbayes.scoring.counting_scorer import MAX_CACHED, CountingScorer
from discbayes.search.base import Run
from discbayes.search.sampled import SampleSearch

N_DRAWS = 4096  # proposals that are drawn at a time
MAX_DRAWN = 10_000_000  # cells of tables that are made at a time if not all are kept: 80 MB
MAX_UNUSABLE = 1000  # draws in a row, for each feature, that cannot be tried before a chain ends


class Annealing(SampleSearch):
    """Simulated annealing over trees: random changes of one parent, accepted or rejected.

    Parameters
    ----------
    score : {"cr", "cl", "mm"} or Objective, default="cr"
        The objective of the score, see ``SampleSearch``.
    evaluation : "resubstitution", "loo" or int, default="resubstitution"
        Which rows score the tables: the training rows, or held-out ones.
    parameters : str or parameter learner, default="ml"
        How the tables are learned inside the search: generative estimates.
    restarts : int, default=1
        Independent runs; the best structure by the score of the search is returned (P12 reports the
        best of 10).
    temperature : float, default=1.0
        The initial temperature T.
    cooling : float, default=0.8
        D: after each round T becomes D·T.
    scale : float or None
        Scale r: a change that lowers the score by d is accepted with probability exp(−d / (r·T)).
        By default 1 for the classification rate, which is a mean here, and 100 for margin and
        likelihood, which are sums.
    max_tries : int or None
        The number of tries after which a round ends, 50·N by default, where N is the number of
        features with more than one value.
    max_successes : int or None
        The number of accepted changes after which a round ends, 5·N by default.
    max_rejections : int or None
        The number of rejections without an improvement after which the search ends, 100·N by
        default. It also ends after as many accepted changes in a row that leave the score as it is,
        or when no structure can have a higher one.
    all_features : bool, default=False
        Whether N counts all features, as in P12, and not only those with more than one value.
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

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> search = Annealing("cl", random_state=0)
    >>> BayesNetClassifier(search).fit(iris.X, iris.y).structure_.max_parents
    1
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
        all_features: bool = False,
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
        self.all_features = all_features

    def _check(self) -> None:
        super()._check()
        for name in ("restarts", "max_tries", "max_successes", "max_rejections"):
            value = getattr(self, name)
            if value is not None or name == "restarts":
                require_integer(name, value, 1)
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
        # It needs the log-joint of all rows, and not only the best of some candidates.
        score = self._tuned_score(run)
        scorer = CountingScorer(run.data, score, run.structure, run.rng, run.n_jobs)
        pool = _Pool(run, scorer, allowed)
        # Either the chains share the threads, or the rows do.
        pool.row_jobs = run.n_jobs if self.restarts == 1 else 1
        schedule = self._schedule(pool)
        seeds = run.rng.integers(2**63, size=self.restarts).tolist()
        chains = [
            _Chain(pool, np.random.default_rng(seed), number) for number, seed in enumerate(seeds)
        ]
        running = [chain for chain in chains if not schedule.is_over(chain)]
        try:
            while running:
                records = parallel_map(
                    lambda chain: self._round(run, schedule, chain), running, run.n_jobs
                )
                run.structure = _best_of(chains)
                for chain, record in zip(running, records, strict=True):
                    run.step(None, restart=chain.number, **record)
                running = [chain for chain in running if not schedule.is_over(chain)]
        finally:
            run.structure = _best_of(chains)

    def _schedule(self, pool: _Pool) -> _Schedule:
        score = pool.scorer.score
        n = max(1, pool.scorer.rows.cards.size if self.all_features else pool.varying.size)
        unit = self.temperature * (self.scale or (1.0 if score.is_mean else 100.0))
        return _Schedule(
            self.max_tries or 50 * n,
            self.max_successes or 5 * n,
            self.max_rejections or 100 * n,
            unit * pool.scorer.total_weight if score.is_mean else unit,
            self.cooling,
        )

    def _round(self, run: Run, schedule: _Schedule, chain: _Chain) -> dict[str, Any]:
        """Try changes at one temperature, and return the record of the round."""
        accepted, share = 0, schedule.cooling**chain.rounds
        chain.begin_round()
        with run.one_of_several():
            while (
                accepted < schedule.successes and chain.tried < schedule.tries and not chain.is_done
            ):
                run.check()
                accepted += chain.advance(schedule.unit * share, schedule.tries)
        score, temperature = chain.pool.scorer.reported(chain.best), self.temperature * share
        run.context.progress.step(f"temperature {temperature:.4g}, best {score:.6g}")
        return {
            "score": score,
            "evaluations": chain.tried,
            "accepted": accepted,
            "temperature": temperature,
        }


@dataclass(frozen=True)
class _Schedule:
    """When rounds and chains end; ``unit`` is r·T of the first round, for the sum over rows."""

    tries: int
    successes: int
    rejections: int
    unit: float
    cooling: float

    def is_over(self, chain: _Chain) -> bool:
        """Return whether a chain begins no further round."""
        without_success = max(chain.counters[REJECTIONS], chain.counters[IDLE])
        return chain.is_done or bool(without_success >= self.rejections)


def _best_of(chains: list[_Chain]) -> Structure:
    return max(chains, key=lambda chain: chain.best).structure()


class _Pool:
    """What the chains share: the rows, the tables of edges, and the network they start from."""

    def __init__(self, run: Run, scorer: CountingScorer, allowed: np.ndarray):
        self.scorer, self.rows = scorer, scorer.complete_rows
        self.varying = np.flatnonzero(run.data.cards > 1)
        self.allowed = allowed.copy()
        self.allowed[:, np.asarray(run.limits.required.any(axis=0))] = False
        self.start = run.structure
        self.row_jobs: int | None = 1
        self.roots = [scorer.maker.make(i, ()) for i in range(run.data.n_features)]
        # No structure has a higher total.
        self.max_total = scorer.score.max_value * scorer.total_weight - scorer.tolerance
        self._load(run.n_jobs)

    def _load(self, n_jobs: int | None) -> None:
        """Make the tables of all edges, if they take no more memory than a search may keep.

        ``edges.starts[p, i]`` is where the table of the edge from p to i begins, −1 if there is
        none.
        """
        n = len(self.roots)
        varies = np.isin(np.arange(n), self.varying)
        needed = self.allowed & varies & varies[:, None]
        for i, group in enumerate(self.start.parents):
            needed[list(group), i] = True
        cells = np.outer(self.rows.cards, self.rows.cards)[needed].sum(dtype=float)
        self.is_complete = bool(cells * self.entries_per_cell <= MAX_CACHED)
        empty = np.empty(0)
        self.edges = EdgeTables(np.full((n, n), -1, np.int64), empty, empty)
        if self.is_complete:
            children, parents = np.nonzero(needed.T)
            made = self.make_edges(
                list(zip(parents.tolist(), children.tolist(), strict=True)), n_jobs
            )
            self.edges.starts[parents, children] = made.starts
            self.edges = made._replace(starts=self.edges.starts)

    @property
    def entries_per_cell(self) -> int:
        """The number of entries of tables for each cell of an edge."""
        return self.rows.n_classes * self.rows.n_groups

    def make_edges(self, pairs: list[tuple[int, int]], n_jobs: int | None = 1) -> EdgeTables:
        """Make the tables of edges (parent, child)."""
        parents_of: dict[int, list[int]] = {}
        for p, i in pairs:
            parents_of.setdefault(i, []).append(p)
        maker = self.scorer.maker
        made = parallel_map(
            lambda i: maker.extend(self.roots[i], np.array(parents_of[i])).record,
            list(parents_of),
            n_jobs,
        )
        offsets = starts_of([record.tables.size for record in made])
        start_of = {
            (int(p), child): int(offset + start)
            for child, record, offset in zip(parents_of, made, offsets, strict=False)
            for p, start in zip(record.parents, record.starts, strict=False)
        }
        tables = np.concatenate([record.tables for record in made]) if made else np.empty(0)
        has_own = any(record.own is not record.tables for record in made)
        own = np.concatenate([record.own for record in made]) if has_own else tables
        return EdgeTables(np.array([start_of[pair] for pair in pairs], np.int64), tables, own)


class _Chain:
    """One run: a tree, the log-joint of the rows under it, its value, and the best tree so far."""

    record: ChainRows
    _drawn: EdgeTables  # the tables of the proposals
    _next: int  # the proposal that is tried next

    def __init__(self, pool: _Pool, rng: np.random.Generator, number: int):
        scorer = pool.scorer
        self.pool, self.rng = pool, rng
        self.number, self.rounds = number, 0
        self.parent = np.array(
            [group[0] if group else -1 for group in pool.start.parents], np.int64
        )
        self.best_parent = self.parent.copy()
        self._tree_tables = _TreeTables(pool, self.parent)
        self.families: list[Family] = list(scorer.families)
        self.incomplete_joint = scorer.incomplete.log_joint
        self.total = self.best = scorer.total
        self.is_stuck = not pool.allowed.any()
        self.counters = np.zeros(kernels.N_COUNTERS, np.int64)
        self._measure(scorer.log_joint.copy())
        self._random = np.empty((0, 3))
        self._draw()

    def _measure(self, log_joint: np.ndarray) -> None:
        score, y = self.pool.scorer.score, self.pool.rows.y
        other, margin = np.zeros(y.size, np.int32), np.zeros(y.size)
        slack, value = np.zeros(y.size), np.zeros(y.size)
        if score.kind == candidate_scan.LIKELIHOOD:
            value = score.rows(log_joint, y)
        else:
            candidate_scan.margins(
                log_joint, y, score.kind, score.scale, other, margin, slack, value
            )
        no_rows = np.empty(0, np.int64)
        self.record = ChainRows(
            score.kind, score.scale, log_joint, other, margin, slack, value, no_rows
        )
        self._find_linear_rows()

    def _find_linear_rows(self) -> None:
        if self.record.kind == candidate_scan.MARGIN:
            # As np.flatnonzero, which takes longer than this search of some hundred rows.
            linear_rows = (self.record.value < 1.0).nonzero()[0]
            self.record = self.record._replace(linear_rows=linear_rows)

    @property
    def tried(self) -> int:
        """The number of tries in this round."""
        return int(self.counters[TRIES])

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to try, or to gain."""
        return self.is_stuck or self.best >= self.pool.max_total

    def structure(self) -> Structure:
        """Return the best tree so far."""
        return Structure(tuple((int(p),) if p >= 0 else () for p in self.best_parent))

    def begin_round(self) -> None:
        """Count tries from zero."""
        self.counters[TRIES] = 0
        self.rounds += 1

    def advance(self, unit: float, max_tries: int) -> bool:
        """Try proposals up to the next one that is accepted, and return whether there is one.

        ``unit`` is r·T: a change is accepted if it is at least r·T·log u, with u uniform in [0, 1).
        """
        pool = self.pool
        # A change must reach its threshold less what the incomplete rows can gain.
        max_gain = pool.scorer.incomplete.max_gain(self.incomplete_joint)
        with np.errstate(divide="ignore"):
            thresholds = unit * np.log(self._luck) - pool.scorer.tolerance - max_gain
        at, gain = kernels.next_proposal(
            tuple(self.record),
            tuple(pool.rows),
            self._children,
            self._parents,
            tuple(self._drawn),
            thresholds,
            self._next,
            max_tries,
            pool.allowed,
            self.parent,
            tuple(self._tree_tables.edges),
            self.counters,
        )
        self._next = at
        self.is_stuck = bool(self.counters[UNUSABLE] >= MAX_UNUSABLE * pool.varying.size)
        if at == self._children.size:
            self._draw()
        if gain == -np.inf:
            return False
        self._next = at + 1
        return self._decide(at, float(gain), float(thresholds[at]) + max_gain)

    def _draw(self) -> None:
        """Draw the next proposals: a feature, a new parent, and the random number that decides."""
        pool, varying = self.pool, self.pool.varying
        if not self._random.size:
            self._random = self.rng.random((N_DRAWS if varying.size else 0, 3))
        children, parents = (
            varying[(self._random[:, k] * varying.size).astype(np.int64)] for k in (0, 1)
        )
        n = children.size if pool.is_complete else self._n_fitting(parents, children)
        self._children, self._parents = children[:n], parents[:n]
        self._luck, self._random = self._random[:n, 2], self._random[n:]
        self._next = 0
        if pool.is_complete:
            starts = pool.edges.starts[self._parents, self._children]
            self._drawn = pool.edges._replace(starts=starts)
            return
        pairs = list(zip(self._parents.tolist(), self._children.tolist(), strict=True))
        usable = [(p, i) for p, i in dict.fromkeys(pairs) if pool.allowed[p, i]]
        made = pool.make_edges(usable)
        start_of = dict(zip(usable, made.starts.tolist(), strict=True))
        starts = np.array([start_of.get(pair, -1) for pair in pairs], np.int64)
        self._drawn = made._replace(starts=starts)

    def _n_fitting(self, parents: np.ndarray, children: np.ndarray) -> int:
        """Return for how many proposals, at least one, the tables fit in memory."""
        pool, cards = self.pool, self.pool.rows.cards
        cells = cards[parents] * cards[children] * pool.allowed[parents, children]
        entries = np.cumsum(cells * pool.entries_per_cell)
        return max(1, int(np.searchsorted(entries, MAX_DRAWN, side="right")))

    def _decide(self, at: int, gain: float, threshold: float) -> bool:
        """Add what the incomplete rows gain; make the change if that reaches the threshold."""
        scorer = self.pool.scorer
        child, parent = int(self._children[at]), int(self._parents[at])
        if scorer.incomplete.size:
            new = scorer.maker.make(child, (parent,))
            more, joint = self._incomplete_gain(new, threshold - gain)
            gain += more
            if gain < threshold:
                self.counters[REJECTIONS] += 1
                self.counters[IDLE] = 0
                return False
            self.families[child], self.incomplete_joint = new, joint
        if gain > scorer.tolerance:
            self.counters[REJECTIONS] = 0
        is_idle = abs(gain) <= scorer.tolerance
        self.counters[IDLE] = self.counters[IDLE] + 1 if is_idle else 0
        self._change(at, child, parent)
        self.total += gain
        if self.total > self.best + scorer.tolerance:
            self.best, self.best_parent = self.total, self.parent.copy()
        return True

    def _incomplete_gain(self, new: Family, threshold: float) -> tuple[float, np.ndarray]:
        """Return what the incomplete rows gain by a family, and their log-joint.

        Rows without a missing value in the family need no inference. With the largest value for the
        others they give an upper bound, which is returned if it is below the threshold.
        """
        incomplete, tolerance = self.pool.scorer.incomplete, self.pool.scorer.tolerance
        now = incomplete.value(self.incomplete_joint)
        joint, affected = incomplete.exchange(self.families[new.child], new, self.incomplete_joint)
        values = incomplete.score.rows(joint, incomplete.rows.y)
        values[affected] = incomplete.score.max_value
        upper_bound = float(values @ incomplete.rows.weight) - now
        if upper_bound < threshold - tolerance:
            return upper_bound, joint
        incomplete.infer_into(joint, affected, self.families, new)
        return incomplete.value(joint) - now, joint

    def _change(self, at: int, child: int, parent: int) -> None:
        """Replace the parent of a feature, in the log-joint of the complete rows."""
        pool, rows = self.pool, self.pool.rows
        view, current = tuple(self.record), int(self.parent[child])
        tree, drawn = self._tree_tables.edges, self._drawn

        def change(block: slice) -> None:
            kernels.change_parent(
                view,
                tuple(rows),
                child,
                current,
                tuple(tree),
                parent,
                tuple(drawn),
                at,
                block.start,
                block.stop,
            )

        work = self.record.log_joint.size * 2
        parallel_map(change, row_blocks(rows.y.size), pool.row_jobs, work=work)
        self._tree_tables.put(parent, child, drawn, at)
        self.parent[child] = parent
        self._find_linear_rows()


class _TreeTables:
    """The tables of the edges of a tree: that of a child begins at ``edges.starts[child]``.

    If the pool has the tables of all edges, they are those of the pool. Otherwise each child has a
    part of the arrays, as long as the longest table that it has had.
    """

    def __init__(self, pool: _Pool, parent: np.ndarray):
        self.pool = pool
        self.edges = pool.edges._replace(starts=np.zeros(parent.size, np.int64))
        self._capacity = np.zeros(parent.size, np.int64)
        children = np.flatnonzero(parent >= 0)
        if pool.is_complete:
            self.edges.starts[children] = pool.edges.starts[parent[children], children]
            return
        for child in children.tolist():
            only = int(parent[child])
            self.put(only, child, pool.make_edges([(only, child)]), 0)

    def put(self, parent: int, child: int, made: EdgeTables, k: int) -> None:
        """Take up the table of the edge from a parent to a child, the k-th that was made."""
        start = made.starts[k]
        if self.pool.is_complete:
            self.edges.starts[child] = start
            return
        cards = self.pool.rows.cards
        size = int(cards[parent]) * int(cards[child]) * self.pool.entries_per_cell
        has_own = made.own is not made.tables
        if size > self._capacity[child]:
            self._lengthen(child, size, has_own)
        at = self.edges.starts[child]
        self.edges.tables[at : at + size] = made.tables[start : start + size]
        if has_own:
            self.edges.own[at : at + size] = made.own[start : start + size]

    def _lengthen(self, child: int, size: int, has_own: bool) -> None:
        """Lengthen the part of a child; the parts behind it move along."""
        starts = self.edges.starts
        begin, end = int(starts[child]), int(starts[child] + self._capacity[child])

        def lengthened(old: np.ndarray) -> np.ndarray:
            return np.concatenate([old[:begin], np.zeros(size), old[end:]])

        tables = lengthened(self.edges.tables)
        own = lengthened(self.edges.own) if has_own else tables
        starts[starts >= end] += size - (end - begin)
        starts[child], self._capacity[child] = begin, size
        self.edges = EdgeTables(starts, tables, own)
