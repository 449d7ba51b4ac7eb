"""The contribution of one block of rows to scoring: the gains of all candidates on its rows.

A block is a network on its own rows under tables that were counted on the rows of all blocks. So
the kernels for rows in memory find the gains here too, but no candidate is abandoned: a block does
not know what the others gain.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from discbayes.data.domain import Encoded
from discbayes.kernels.scan_records import ScoringRows
from discbayes.network import Structure
from discbayes.scores.sample import SampleScore
from discbayes.scoring.candidate_families import Extensions, Family, FamilyMaker
from discbayes.scoring.candidates import Candidates, Extension, ParentMove
from discbayes.scoring.counting_scorer import CountingScorer
from discbayes.scoring.incomplete_rows import complete_first
from discbayes.scoring.scoring_rows import HeldOutScheme


@dataclass(frozen=True)
class FamilyTables:
    """The tables of a family, see ``Family``; those of the own class only if they differ."""

    child: int
    parents: tuple[int, ...]
    tables: np.ndarray
    own: np.ndarray | None = None

    @property
    def n_cells(self) -> int:
        """The number of cells of all tables."""
        return int(self.tables.size) * (1 if self.own is None else 2)


@dataclass(frozen=True)
class ScoringRequest:
    """All that a block needs to score candidates.

    Attributes
    ----------
    score : SampleScore
        The score.
    scheme : HeldOutScheme
        How rows are held out.
    log_prior : array (n_groups, n_classes, n_classes)
        Log P(class) for a row of each group and true class.
    families : tuple of FamilyTables
        The network.
    extensions : dict
        What further parents add to the tables of a child, by the child and the others that join
        with each of them.
    candidates : tuple of Candidates
        The candidates to score,
    moves : tuple of ParentMove
        and the moves.
    """

    score: SampleScore
    scheme: HeldOutScheme
    log_prior: np.ndarray
    families: tuple[FamilyTables, ...]
    extensions: dict[Extension, Extensions]
    candidates: tuple[Candidates, ...] = ()
    moves: tuple[ParentMove, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as one piece.

        Arrays that a cluster sends on their own arrive read-only, and kernels would be compiled
        once more for those.
        """
        parts = tuple(getattr(self, field.name) for field in fields(self))
        return _unpickled_request, (pickle.dumps(parts, protocol=4),)


def _unpickled_request(parts: bytes) -> ScoringRequest:
    return ScoringRequest(*pickle.loads(parts))


class RequestedFamilies(FamilyMaker):
    """Families on the rows of a block, with the tables of a request."""

    def __init__(self, rows: ScoringRows, request: ScoringRequest):
        self.rows, self.request = rows, request

    def make(self, child: int, parents: tuple[int, ...]) -> Family:
        """Return a family of the network, or one that is extended by further parents."""
        known = self.request.families[child]
        base, n_base = self.cells(child, parents)
        tables, own = known.tables, known.own
        if parents != known.parents:
            joining = parents[: len(parents) - len(known.parents)]
            extensions = self.request.extensions[child, joining[1:]]
            more, own_more = extensions.tables_of(joining[0])
            tables = self._sum(known.tables, more)
            own = None if known.own is None else self._sum(known.own, own_more)
        return Family(child, parents, base, n_base, tables, tables if own is None else own)

    def _sum(self, tables: np.ndarray, more: np.ndarray) -> np.ndarray:
        """Add tables of a family to those of an extension, whose parents stand before."""
        n_groups = self.rows.n_groups
        by_group = tables.reshape(n_groups, 1, -1)
        return np.asarray(by_group + more.reshape(n_groups, -1, by_group.shape[2])).ravel()

    def extend(
        self, family: Family, parents: np.ndarray, others: tuple[int, ...] = ()
    ) -> Extensions:
        """Return the extensions of the request, which may be of more parents than these."""
        return self.request.extensions[family.child, others]


class BlockPartScorer(CountingScorer):
    """A network on the rows of a block."""

    abandons = False

    def __init__(self, data: Encoded, request: ScoringRequest, n_jobs: int | None = None):
        rows, n_complete = complete_first(request.scheme.rows(data))
        maker = RequestedFamilies(rows, request)
        self._set_up(rows, n_complete, request.score, maker, request.log_prior, n_jobs)
        self.reset(Structure(tuple(family.parents for family in request.families)))


def gains_in(data: Encoded, n_jobs: int | None, request: ScoringRequest) -> np.ndarray:
    """Return the value of the network on a block, then the gains of candidates and moves."""
    is_empty = not (data.n_samples if data.weight is None else data.weight.any())
    if is_empty:
        n_candidates = sum(some.parents.size for some in request.candidates)
        return np.zeros(1 + n_candidates + len(request.moves))
    scorer = BlockPartScorer(data, request, n_jobs)
    gains = [np.array([scorer.total]), *scorer.gains(request.candidates)]
    if request.moves:
        gains.append(scorer.move_gains(request.moves))
    return np.concatenate(gains)
