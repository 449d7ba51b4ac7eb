"""Candidates on rows in blocks: in each step every block returns the gains of all candidates.

The tables of a candidate are generative estimates, which follow from counts; a gain is a sum over
rows. So a step takes two passes over the blocks: one counts the families that are new, the other
sums the gains of all candidates over the blocks (``scoring/block_parts.py``). If the tables of all
candidates are too many to be sent at once, there are several such passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import add
from typing import TypeVar

import numpy as np

from discbayes._arrays import starts_of
from discbayes.counts import Counts, Wanted, count, count_wanted
from discbayes.counts import contingency as counting
from discbayes.data.rows import Rows
from discbayes.kernels import family_theta
from discbayes.kernels.scan_records import ParentTables
from discbayes.network import Structure
from discbayes.scores.sample import SampleScore
from discbayes.scoring.block_parts import FamilyTables, ScoringRequest, gains_in
from discbayes.scoring.candidate_families import Extensions, Smoothing
from discbayes.scoring.candidate_scorer import Check, ExhaustiveScorer, no_check
from discbayes.scoring.candidates import (
    BestCandidate,
    Candidates,
    Extension,
    ParentMove,
    SearchCost,
)
from discbayes.scoring.counting_scorer import MAX_CACHED, log_class_priors, require_class_parents
from discbayes.scoring.scoring_rows import hold_out

Item = TypeVar("Item")
FamilyKey = tuple[int, tuple[int, ...]]  # a feature and its parents, the last to join first


class BlockScorer(ExhaustiveScorer):
    """A network of generative estimates on rows in blocks.

    Parameters
    ----------
    data : Rows
        The rows.
    counts : Counts
        The counts of the features.
    score : SampleScore
        The score; its parameters are generative estimates.
    structure : Structure
        Where the search starts.
    rng : Generator
        For the folds of the score.
    n_jobs : int, optional
        The number of threads.
    """

    def __init__(
        self,
        data: Rows,
        counts: Counts,
        score: SampleScore,
        structure: Structure,
        rng: np.random.Generator,
        n_jobs: int | None = None,
    ):
        require_class_parents(structure)
        self.score, self.n_jobs = score, n_jobs
        self._blocks, self._scheme = hold_out(data, score.evaluation, rng, n_jobs)
        self._counts = counts if self._blocks is data else count(self._blocks, n_jobs)
        by_group = self._scheme.weight_by_group(self._counts.class_count)
        self._log_prior = log_class_priors(by_group, self._scheme.kind, self._scheme.removed, score)
        self.total_weight = float(by_group.sum())
        self._parents = list(structure.parents)
        self._known: dict[FamilyKey, FamilyTables] = {}
        # Tables take up half of the memory at most, 8 bytes for each cell.
        self._max_cells = MAX_CACHED if data.memory is None else min(MAX_CACHED, data.memory // 16)
        self._totals: dict[tuple[tuple[int, ...], ...], float] = {}

    # ---- the value of the network

    @property
    def structure(self) -> Structure:
        """The structure of the network."""
        return Structure(tuple(tuple(sorted(group)) for group in self._parents))

    def parents(self, child: int) -> tuple[int, ...]:
        """Return the parents of a feature, the last to join first."""
        return self._parents[child]

    @property
    def total(self) -> float:
        """The weighted sum of the objective over all rows."""
        if self.structure.parents not in self._totals:
            self._request_gains([])
        return self._totals[self.structure.parents]

    def _note_total(self, extensions: Iterable[Extension], gain: float) -> None:
        """Note the value of the network after some extensions, which saves a pass to find it."""
        groups = [tuple(sorted(group)) for group in self._parents]
        for child, joining in extensions:
            groups[child] = tuple(sorted((*joining, *groups[child])))
        self._totals[tuple(groups)] = self.total + float(gain)

    # ---- changes

    def set_parents(self, child: int, parents: tuple[int, ...]) -> None:
        """Replace the parents of a feature; tables that extend the old ones are dropped."""
        self._parents[child] = parents
        self._known = {
            key: made for key, made in self._known.items() if key[0] != child or key[1] == parents
        }

    # ---- candidates

    def best(
        self,
        all_candidates: Sequence[Candidates],
        min_gain: float,
        cost: SearchCost,
        check: Check = no_check,
        ties: str = "child",
    ) -> BestCandidate | None:
        """Find the candidate of largest gain, see ``CandidateScorer.best``."""
        found = super().best(all_candidates, min_gain, cost, check, ties)
        if found is not None:
            self._note_total([(found.child, found.joining)], found.gain)
        return found

    def best_move(
        self,
        moves: Sequence[ParentMove],
        min_gain: float,
        cost: SearchCost,
        check: Check = no_check,
        expected_gains: Sequence[float] = (),
    ) -> tuple[ParentMove | None, np.ndarray]:
        """Find the first of the moves of largest gain, see ``CandidateScorer.best_move``."""
        chosen, gains = super().best_move(moves, min_gain, cost, check)
        if chosen is not None:
            self._note_total(chosen.extensions(), gains[moves.index(chosen)])
        return chosen, gains

    def _gains(self, extensions: Sequence[Extension], check: Check) -> np.ndarray:
        gains = [np.empty(0)]
        for batch in self._batches(extensions, lambda extension: [extension]):
            check()
            gains.append(self._request_gains(batch, candidates=_by_child(batch)))
        return np.concatenate(gains)

    def move_gains(self, moves: Sequence[ParentMove], check: Check = no_check) -> np.ndarray:
        """Return the gain of each move."""
        gains = [np.empty(0)]
        for batch in self._batches(moves, ParentMove.extensions):
            check()
            needed = dict.fromkeys(each for move in batch for each in move.extensions())
            gains.append(self._request_gains(list(needed), moves=batch))
        return np.concatenate(gains)

    def _batches(
        self, items: Sequence[Item], extensions_of: Callable[[Item], list[Extension]]
    ) -> Iterator[list[Item]]:
        """Yield batches of items whose tables can be sent at once; shared ones count once."""
        batch: list[Item] = []
        tables: dict[Extension, int] = {}
        used = 0
        for item in items:
            own = {extension: self._n_cells(extension) for extension in extensions_of(item)}
            used += sum(cells for extension, cells in own.items() if extension not in tables)
            if batch and used > counting.CELLS_OF_A_PASS:
                yield batch
                batch, tables = [], {}
                used = sum(own.values())
            batch.append(item)
            tables.update(own)
        if batch:
            yield batch

    def _n_cells(self, extension: Extension) -> int:
        """Return the number of cells of the tables of an extended family."""
        child, joining = extension
        family = self._counts.cards[[child, *joining, *self._parents[child]]]
        return int(np.prod(family)) * self._scheme.n_classes * self._scheme.n_groups

    def _request_gains(
        self,
        extensions: Sequence[Extension],
        candidates: Sequence[Candidates] = (),
        moves: Sequence[ParentMove] = (),
    ) -> np.ndarray:
        """Ask all blocks for the gains of candidates or moves, and note the network's value."""
        request = self._request(extensions)
        request = replace(request, candidates=tuple(candidates), moves=tuple(moves))
        gains: np.ndarray = self._blocks.map_reduce(gains_in, add, (request,), self.n_jobs)
        self._totals[self.structure.parents] = float(gains[0])
        return gains[1:]

    # ---- tables

    def _request(self, extensions: Sequence[Extension]) -> ScoringRequest:
        """Return what blocks need to know of the network and of some extensions."""
        now = list(enumerate(self._parents))
        made = self._tables([*now, *map(self._key, extensions)])
        by_others: dict[Extension, list[int]] = {}
        for child, (parent, *others) in extensions:
            by_others.setdefault((child, tuple(others)), []).append(parent)
        return ScoringRequest(
            self.score,
            self._scheme,
            self._log_prior,
            tuple(made[key] for key in now),
            {key: self._extensions(*key, parents, made) for key, parents in by_others.items()},
        )

    def _key(self, extension: Extension) -> FamilyKey:
        child, joining = extension
        return child, (*joining, *self._parents[child])

    def _extensions(
        self,
        child: int,
        others: tuple[int, ...],
        parents: Sequence[int],
        made: dict[FamilyKey, FamilyTables],
    ) -> Extensions:
        """Return what each of some parents adds to log θ of a child, all of ``others`` with it."""
        known = made[child, self._parents[child]]
        new = [made[self._key((child, (p, *others)))] for p in parents]
        tables = [self._less(each.tables, known.tables) for each in new]
        own = tables if known.own is None else [self._less(each.own, known.own) for each in new]
        all_tables = np.concatenate(tables)
        record = ParentTables(
            np.array(parents, np.int64),
            starts_of([table.size for table in tables]),
            np.array([self._range(*pair) for pair in zip(tables, own, strict=True)]),
            all_tables,
            all_tables if known.own is None else np.concatenate(own),
        )
        return Extensions(record, len(self._parents))

    def _less(self, tables: np.ndarray | None, known: np.ndarray) -> np.ndarray:
        """Subtract the tables of a family from those with more parents, which stand before."""
        assert tables is not None
        by_group = known.reshape(self._scheme.n_groups, 1, -1)
        return (tables.reshape(self._scheme.n_groups, -1, by_group.shape[2]) - by_group).ravel()

    def _range(self, tables: np.ndarray, own: np.ndarray) -> float:
        """Return the largest difference between classes within any cell."""
        both = [part.reshape(-1, self._scheme.n_classes) for part in (tables, own)]
        high = np.maximum(*(part.max(axis=1) for part in both))
        return float((high - np.minimum(*(part.min(axis=1) for part in both))).max())

    def _tables(self, keys: Iterable[FamilyKey]) -> dict[FamilyKey, FamilyTables]:
        """Return the tables of families; new ones are counted, and kept if there is memory."""
        needed = dict.fromkeys(keys)
        made = {key: self._known[key] for key in needed if key in self._known}
        used = sum(each.n_cells for each in self._known.values())
        for key, counts in self._count([key for key in needed if key not in made]):
            made[key] = self._smoothed(key, counts)
            used += made[key].n_cells
            if used <= self._max_cells or key[1] == self._parents[key[0]]:
                self._known[key] = made[key]
        return made

    def _count(self, keys: Sequence[FamilyKey]) -> Iterator[tuple[FamilyKey, np.ndarray]]:
        """Yield the counts of families, the first parent outermost."""
        more: dict[FamilyKey, list[int]] = {}
        for child, group in keys:
            if group:
                more.setdefault((child, group[1:]), []).append(group[0])
            else:
                yield (child, group), self._counts.feature(child)
        wanted = [Wanted(*family, tuple(parents)) for family, parents in more.items()]
        counted = count_wanted(self._blocks, wanted, n_jobs=self.n_jobs)
        for each, tables in zip(wanted, counted, strict=True):
            for parent, table in zip(each.more, tables, strict=True):
                by_parent = table.reshape(-1, self._counts.cards[parent], *table.shape[1:])
                yield (each.child, (parent, *each.parents)), by_parent.swapaxes(0, 1)

    def _smoothed(self, key: FamilyKey, counts: np.ndarray) -> FamilyTables:
        """Make log θ from the counts of a family, by cell, then by group and class."""
        scheme, smoothing = self._scheme, Smoothing(self.score.parameters)
        card = int(self._counts.cards[key[0]])
        by_cell = counts.reshape(-1, scheme.n_counted, scheme.n_classes)
        n_base, size = by_cell.shape[0], by_cell.shape[0] * scheme.n_classes
        tables = np.empty(scheme.n_groups * size)
        own = np.empty_like(tables) if scheme.kind == family_theta.LEAVE_ONE_OUT else tables
        family_theta.tables_of_counts(
            by_cell.swapaxes(0, 1).flatten(),
            n_base,
            card,
            scheme.n_classes,
            scheme.kind,
            scheme.removed,
            smoothing.mode,
            smoothing.amount(size, card),
            tables,
            own,
        )
        return FamilyTables(*key, tables, None if own is tables else own)


def _by_child(extensions: Sequence[Extension]) -> list[Candidates]:
    """Group consecutive extensions that differ in one parent only."""
    alike = groupby(extensions, key=lambda extension: (extension[0], extension[1][1:]))
    return [
        Candidates(child, np.array([joining[0] for _, joining in same], np.int64), others)
        for (child, others), same in alike
    ]
