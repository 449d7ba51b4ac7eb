"""A network under a sample score on rows in blocks: in each step every block gives the gains of all
candidates.

The tables of a candidate are frequencies, and follow from counts; what they add is a sum over the
rows. So a step takes two passes over the blocks: one counts the families that are new, in one each
block gives what every candidate adds on its rows (``scores/block_parts.py``). Where the tables of
all candidates are too many to be sent at once there are several such passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import add
from typing import TypeAlias, TypeVar

import numpy as np

from discbayes.counts import Counts, Wanted, count, count_wanted
from discbayes.counts import contingency as counting
from discbayes.data.row_blocks import RowBlocks
from discbayes.kernels import candidate_scan
from discbayes.kernels import family_theta as kernels
from discbayes.network import Structure
from discbayes.scores.block_parts import FamilyTables, ScoringRequest, gains_in
from discbayes.scores.candidate_families import Extensions
from discbayes.scores.candidates import BestCandidate, Candidates, SearchCost, choose
from discbayes.scores.counting_scorer import MAX_CACHED, ROUNDING, CountingScorer, log_prior_of
from discbayes.scores.held_out_scheme import held_out
from discbayes.scores.multi_child_moves import ParentMove
from discbayes.scores.refitting_scorer import RefittingScorer
from discbayes.scores.sample import SampleScore

Item = TypeVar("Item")
FamilyKey = tuple[int, tuple[int, ...]]  # a feature and its parents, the last to join first
Candidate = tuple[int, tuple[int, ...]]  # a feature, and the parents that join those that it has


class BlockScorer:
    """A structure under a score by frequencies, ready to be extended; the interface is that of
    ``CountingScorer``.

    Parameters
    ----------
    data : Blocks
        The rows.
    counts : Counts
        Of the features.
    score : SampleScore
        The score; its parameters are frequencies.
    structure : Structure
        Where the search starts.
    rng : Generator
        For the folds of the score.
    n_jobs : int, optional
        The number of threads.
    """

    def __init__(
        self,
        data: RowBlocks,
        counts: Counts,
        score: SampleScore,
        structure: Structure,
        rng: np.random.Generator,
        n_jobs: int | None = None,
    ):
        if not all(structure.class_children):
            raise ValueError("a sample score needs the class as a parent of every feature")
        self.score, self.n_jobs = score, n_jobs
        self._blocks, self._scheme = held_out(data, score.evaluation, rng, n_jobs)
        self._counts = counts if self._blocks is data else count(self._blocks, n_jobs)
        by_group = self._scheme.by_group(self._counts.class_count)
        self._log_prior = log_prior_of(by_group, self._scheme.kind, self._scheme.removed, score)
        self.total_weight = float(by_group.sum())
        self.tolerance = ROUNDING * self.total_weight
        self._parents = list(structure.parents)
        self._known: dict[FamilyKey, FamilyTables] = {}
        self._room = MAX_CACHED if data.memory is None else min(MAX_CACHED, data.memory // 16)
        self._totals: dict[tuple[tuple[int, ...], ...], float] = {}

    # ---- what it is worth

    @property
    def structure(self) -> Structure:
        """The structure as it is now."""
        return Structure(tuple(tuple(sorted(group)) for group in self._parents))

    def parents(self, child: int) -> tuple[int, ...]:
        """The parents of a feature now."""
        return self._parents[child]

    @property
    def total(self) -> float:
        """The weighted sum of the objective over all rows."""
        if self.structure.parents not in self._totals:
            self._pass([])
        return self._totals[self.structure.parents]

    def reported(self, total: float | None = None) -> float:
        """The value as the papers give it: a rate for CR, a sum for CL and MM."""
        total = self.total if total is None else total
        return total / self.total_weight if self.score.kind == candidate_scan.RATE else total

    # ---- changing it

    def set_parents(self, child: int, parents: tuple[int, ...]) -> None:
        """Give a feature other parents; tables that extend those it had are not needed any more."""
        self._parents[child] = parents
        self._known = {
            key: made for key, made in self._known.items() if key[0] != child or key[1] == parents
        }

    # ---- what could be added

    def best(
        self,
        tasks: Sequence[Candidates],
        least: float,
        effort: SearchCost,
        check: Callable[[], None] = lambda: None,
    ) -> BestCandidate | None:
        """The candidate that adds most, if it adds more than ``least``; of equal ones the first
        child, the fewest parents, and of those the first.
        """
        candidates = [(task.child, (int(p), *task.through)) for task in tasks for p in task.parents]
        gains = self._gains(candidates, check)
        effort.evaluations += len(candidates)
        found = choose(candidates, gains, least, self.tolerance)
        if found is not None:
            self._will_be([(found.child, found.joining)], found.gain)
        return found

    def best_move(
        self,
        moves: Sequence[ParentMove],
        least: float,
        effort: SearchCost,
        check: Callable[[], None] = lambda: None,
    ) -> ParentMove | None:
        """The first of the moves that add most, if that is more than ``least``."""
        parts = [np.empty(0)]
        for part in self._portions(moves, _candidates_of):
            check()
            candidates = dict.fromkeys(each for move in part for each in _candidates_of(move))
            parts.append(self._pass(list(candidates), moves=part))
        gains = np.concatenate(parts)
        effort.evaluations += len(moves)
        winners = np.flatnonzero(
            (gains >= gains.max(initial=-np.inf) - self.tolerance) & (gains > least)
        )
        if not winners.size:
            return None
        chosen = moves[winners[0]]
        self._will_be(_candidates_of(chosen), gains[winners[0]])
        return chosen

    # ---- passes over the blocks

    def _gains(self, candidates: Sequence[Candidate], check: Callable[[], None]) -> np.ndarray:
        """What each candidate adds."""
        parts = [np.empty(0)]
        for part in self._portions(candidates, lambda candidate: [candidate]):
            check()
            parts.append(self._pass(part, tasks=_tasks(part)))
        return np.concatenate(parts)

    def _pass(
        self,
        candidates: Sequence[Candidate],
        tasks: Sequence[Candidates] = (),
        moves: Sequence[ParentMove] = (),
    ) -> np.ndarray:
        """What all blocks give for some candidates, as tasks or as moves; on the way, what the
        network is worth.
        """
        given = replace(self._given(candidates), tasks=tuple(tasks), moves=tuple(moves))
        gains: np.ndarray = self._blocks.map_reduce(gains_in, add, (given,), self.n_jobs)
        self._totals[self.structure.parents] = float(gains[0])
        return gains[1:]

    def _portions(
        self, items: Sequence[Item], candidates_of: Callable[[Item], list[Candidate]]
    ) -> Iterator[list[Item]]:
        """Items whose tables, each counted once, can be sent together."""
        portion: list[Item] = []
        tables: dict[Candidate, int] = {}
        used = 0
        for item in items:
            own = {candidate: self._cells(candidate) for candidate in candidates_of(item)}
            used += sum(cells for candidate, cells in own.items() if candidate not in tables)
            if portion and used > counting.CELLS_OF_A_PASS:
                yield portion
                portion, tables, used = [], {}, sum(own.values())
            portion.append(item)
            tables.update(own)
        if portion:
            yield portion

    def _cells(self, candidate: Candidate) -> int:
        """The cells of the tables of a candidate."""
        child, joining = candidate
        family = self._counts.cards[[child, *joining, *self._parents[child]]]
        return int(np.prod(family)) * self._scheme.n_classes * self._scheme.n_groups

    def _will_be(self, candidates: Iterable[Candidate], gain: float) -> None:
        """Remember what the network will be worth with some more parents."""
        groups = [tuple(sorted(group)) for group in self._parents]
        for child, joining in candidates:
            groups[child] = tuple(sorted((*joining, *groups[child])))
        self._totals[tuple(groups)] = self.total + float(gain)

    # ---- tables

    def _given(self, candidates: Sequence[Candidate]) -> ScoringRequest:
        """What the blocks need to know of the network and of some candidates."""
        now = list(enumerate(self._parents))
        made = self._tables([*now, *map(self._key, candidates)])
        joining: dict[Candidate, list[int]] = {}
        for child, (parent, *through) in candidates:
            joining.setdefault((child, tuple(through)), []).append(parent)
        extensions = {key: self._extensions(key, parents, made) for key, parents in joining.items()}
        return ScoringRequest(
            self.score, self._scheme, self._log_prior, tuple(made[key] for key in now), extensions
        )

    def _key(self, candidate: Candidate) -> FamilyKey:
        child, joining = candidate
        return child, (*joining, *self._parents[child])

    def _extensions(
        self, candidate: Candidate, parents: Sequence[int], made: dict[FamilyKey, FamilyTables]
    ) -> Extensions:
        """What each of some parents adds to log θ of a family, if the candidate joins it as
        well.
        """
        child, through = candidate
        known = made[child, self._parents[child]]
        new = [made[self._key((child, (p, *through)))] for p in parents]
        tables = [self._less(each.tables, known.tables) for each in new]
        own = tables if known.own is None else [self._less(each.own, known.own) for each in new]
        starts = np.concatenate([[0], np.cumsum([table.size for table in tables])]).astype(np.int64)
        spreads = np.array([self._spread(*pair) for pair in zip(tables, own, strict=True)])
        joined = np.concatenate(tables)
        both = (joined, joined if known.own is None else np.concatenate(own))
        return Extensions(np.array(parents, np.int64), starts, *both, spreads, len(self._parents))

    def _less(self, tables: np.ndarray | None, known: np.ndarray) -> np.ndarray:
        """Tables of a family with more parents, which stand before the others, less those of the
        family.
        """
        assert tables is not None
        by_group = known.reshape(self._scheme.n_groups, 1, -1)
        return (tables.reshape(self._scheme.n_groups, -1, by_group.shape[2]) - by_group).ravel()

    def _spread(self, tables: np.ndarray, own: np.ndarray) -> float:
        """The largest difference between classes within any cell."""
        both = [part.reshape(-1, self._scheme.n_classes) for part in (tables, own)]
        high = np.maximum(*(part.max(axis=1) for part in both))
        return float((high - np.minimum(*(part.min(axis=1) for part in both))).max())

    def _tables(self, keys: Iterable[FamilyKey]) -> dict[FamilyKey, FamilyTables]:
        """The tables of some families; those that are new are counted, and kept in half of the
        memory at most.
        """
        wanted = dict.fromkeys(keys)
        made = {key: self._known[key] for key in wanted if key in self._known}
        used = sum(each.n_cells for each in self._known.values())
        for key, counts in self._count([key for key in wanted if key not in made]):
            made[key] = self._smoothed(key, counts)
            used += made[key].n_cells
            if used <= self._room or key[1] == self._parents[key[0]]:
                self._known[key] = made[key]
        return made

    def _count(self, keys: Sequence[FamilyKey]) -> Iterator[tuple[FamilyKey, np.ndarray]]:
        """The counts of some families, the first parent outermost."""
        more: dict[FamilyKey, list[int]] = {}
        for child, group in keys:
            if group:
                more.setdefault((child, group[1:]), []).append(group[0])
            else:
                yield (child, group), self._counts.feature(child)
        wanted = [Wanted(*family, tuple(parents)) for family, parents in more.items()]
        for each, tables in zip(
            wanted, count_wanted(self._blocks, wanted, n_jobs=self.n_jobs), strict=True
        ):
            for parent, table in zip(each.more, tables, strict=True):
                by_parent = table.reshape(-1, self._counts.cards[parent], *table.shape[1:])
                yield (each.child, (parent, *each.parents)), by_parent.swapaxes(0, 1)

    def _smoothed(self, key: FamilyKey, counts: np.ndarray) -> FamilyTables:
        """Log θ from the counts of a family, by cell, then by group and class."""
        scheme, smoothing, card = (
            self._scheme,
            self.score.smoothing,
            int(self._counts.cards[key[0]]),
        )
        by_cell = counts.reshape(-1, scheme.n_counted, scheme.n_classes)
        n_base, size = by_cell.shape[0], by_cell.shape[0] * scheme.n_classes
        tables = np.empty(scheme.n_groups * size)
        own = np.empty_like(tables) if scheme.kind == kernels.LEAVE_ONE_OUT else tables
        kernels.tables_of_counts(
            by_cell.swapaxes(0, 1).flatten(), n_base, card, scheme.n_classes, scheme.kind, scheme.removed,
            smoothing.mode, smoothing.amount(size, card), tables, own,
        )  # fmt: skip
        return FamilyTables(*key, tables, None if own is tables else own)


AnyNetwork: TypeAlias = CountingScorer | RefittingScorer | BlockScorer


def _candidates_of(move: ParentMove) -> list[Candidate]:
    return [(child, (move.parent,)) for child in move.children]


def _tasks(candidates: Sequence[Candidate]) -> list[Candidates]:
    """Consecutive candidates that differ in one parent only, together."""
    alike = groupby(candidates, key=lambda candidate: (candidate[0], candidate[1][1:]))
    return [
        Candidates(child, np.array([joining[0] for _, joining in same], np.int64), through)
        for (child, through), same in alike
    ]
