"""What a block of rows gives to a search: the gains of all candidates on its rows, by tables that
it is told.

A block is a network of its own rows under tables that were counted on all of them. So what finds
the gains in memory, row by row and no further than a candidate reaches, finds them here; only that
no candidate is abandoned, as a block does not know what the others give.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from discbayes.data.domain import Encoded
from discbayes.kernels import candidate_scan
from discbayes.network import Structure
from discbayes.scores.candidate_families import Extensions, Family, FamilyMaker
from discbayes.scores.candidates import Candidates
from discbayes.scores.counting_scorer import CountingScorer
from discbayes.scores.held_out_scheme import Scheme
from discbayes.scores.incomplete_rows import complete_first
from discbayes.scores.multi_child_moves import ParentMove, ParentMoves
from discbayes.scores.sample import SampleScore
from discbayes.scores.scan_orders import LikelihoodScanOrder, View
from discbayes.scores.scoring_rows import ScoringRows


@dataclass(frozen=True)
class FamilyTables:
    """The tables of a family, as ``Family`` has them; those of the own class only if they
    differ.
    """

    child: int
    parents: tuple[int, ...]
    tables: np.ndarray
    own: np.ndarray | None = None

    @property
    def n_cells(self) -> int:
        """The cells of all tables."""
        return int(self.tables.size) * (1 if self.own is None else 2)


@dataclass(frozen=True)
class ScoringRequest:
    """All that a block is told: the families of the network, and the extensions by which candidates
    change them.

    Extensions are by child and by the parents that join together with each.
    """

    score: SampleScore
    scheme: Scheme
    log_prior: np.ndarray
    families: tuple[FamilyTables, ...]
    extensions: dict[tuple[int, tuple[int, ...]], Extensions]
    tasks: tuple[Candidates, ...] = ()
    moves: tuple[ParentMove, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """As one piece: arrays sent on their own cannot be written to, and kernels are compiled for
        those apart.
        """
        parts = tuple(getattr(self, each.name) for each in fields(self))
        return _given, (pickle.dumps(parts, protocol=4),)


def _given(parts: bytes) -> ScoringRequest:
    return ScoringRequest(*pickle.loads(parts))


class RequestedFamilies(FamilyMaker):
    """Families of the rows of a block, with tables that are given."""

    def __init__(self, rows: ScoringRows, given: ScoringRequest):
        self.rows, self.given = rows, given

    def make(self, child: int, parents: tuple[int, ...]) -> Family:
        """A family of the network, or one that has more parents and is among the extensions."""
        known = self.given.families[child]
        base, n_base = self.cells(child, parents)
        tables, own = known.tables, known.own
        if parents != known.parents:
            tables, own = self._extended(known, parents)
        return Family(child, parents, base, n_base, tables, tables if own is None else own)

    def _extended(
        self, known: FamilyTables, parents: tuple[int, ...]
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """The tables of a family that was extended by the first of some parents, and those right
        after it.
        """
        joining = parents[: len(parents) - len(known.parents)]
        made = self.given.extensions[known.child, joining[1:]]
        place = made.place[joining[0]]
        span = slice(made.starts[place], made.starts[place + 1])
        tables = self._sum(known.tables, made.tables[span])
        return tables, None if known.own is None else self._sum(known.own, made.own[span])

    def _sum(self, tables: np.ndarray, more: np.ndarray) -> np.ndarray:
        n_groups = self.rows.n_groups
        by_group = tables.reshape(n_groups, 1, -1)
        return np.asarray(by_group + more.reshape(n_groups, -1, by_group.shape[2])).ravel()

    def extend(
        self, family: Family, parents: np.ndarray, through: tuple[int, ...] = ()
    ) -> Extensions:
        """The extensions that were given, which may be of more parents than these."""
        return self.given.extensions[family.child, through]


class BlockPartScorer(CountingScorer):
    """A network on the rows of a block."""

    def __init__(self, data: Encoded, given: ScoringRequest, n_jobs: int | None = None):
        rows, n_whole = complete_first(given.scheme.rows(data))
        self._set_up(
            rows, n_whole, given.score, RequestedFamilies(rows, given), given.log_prior, n_jobs
        )
        self.reset(Structure(tuple(family.parents for family in given.families)))

    def gains(self, tasks: Sequence[Candidates]) -> list[np.ndarray]:
        """What each candidate adds, task by task."""
        self._n_candidates = sum(task.parents.size for task in tasks)
        return [gains for gains, _ in self._scan_batch(tasks, -np.inf)]

    def _make_view(self, reach: float) -> View:
        if self.score.kind == candidate_scan.LIKELIHOOD:
            return LikelihoodScanOrder(self._whole, self.log_joint, bounded=False)
        return super()._make_view(reach)


def gains_in(data: Encoded, n_jobs: int | None, given: ScoringRequest) -> np.ndarray:
    """What the network is worth on the rows of a block, and then what each candidate, or each move,
    adds to that.
    """
    if _is_empty(data):
        return np.zeros(1 + len(given.moves) + sum(task.parents.size for task in given.tasks))
    network = BlockPartScorer(data, given, n_jobs)
    moves = [ParentMoves(network).scan(given.moves)[0]] if given.moves else []
    return np.concatenate([[network.total], *network.gains(given.tasks), *moves])


def _is_empty(data: Encoded) -> bool:
    """Whether no row of a block counts."""
    return not (data.n_samples if data.weight is None else data.weight.any())
