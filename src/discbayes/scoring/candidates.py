"""Candidates of a search step: further parents of a child, or one parent of several children."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

# Candidates of largest last gain are scored first: one in SEED_SHARE, and MAX_SEEDS at most.
MAX_SEEDS = 64
SEED_SHARE = 256
CHUNK_SIZE = 64  # candidates of a child that a thread scores at a time

# A feature, and the parents that join those that it has.
Extension = tuple[int, tuple[int, ...]]


@dataclass(frozen=True)
class Candidates:
    """Candidates of one child: each of ``parents`` joins its family, all of ``others`` with it.

    Parameters
    ----------
    child : int
        The feature.
    parents : array
        Features, each of which is a candidate.
    others : tuple of int
        Features that join the family with every candidate.
    """

    child: int
    parents: np.ndarray
    others: tuple[int, ...] = ()

    def chunks(self) -> list[Candidates]:
        """Split the candidates for several threads, independent of the number of threads."""
        if self.parents.size <= CHUNK_SIZE:
            return [self]
        starts = range(0, self.parents.size, CHUNK_SIZE)
        return [replace(self, parents=self.parents[k : k + CHUNK_SIZE]) for k in starts]

    def extensions(self, which: np.ndarray | slice = slice(None)) -> list[Extension]:
        """List the candidates, or some of them, one by one."""
        return [(self.child, (p, *self.others)) for p in self.parents[which].tolist()]


@dataclass(frozen=True)
class BestCandidate:
    """The best candidate: its gain, the child, and the parents that join."""

    gain: float
    child: int
    joining: tuple[int, ...]


@dataclass(frozen=True)
class ParentMove:
    """A parent that joins the families of several children at once."""

    parent: int
    children: tuple[int, ...]

    def extensions(self) -> list[Extension]:
        """List the families that change, and the parent that joins each."""
        return [(child, (self.parent,)) for child in self.children]


@dataclass
class SearchCost:
    """How many candidates were scored, and how many of them were abandoned as they cannot win."""

    evaluations: int = 0
    abandoned: int = 0


def seeds_first(
    all_candidates: Sequence[Candidates], last_gains: Sequence[np.ndarray]
) -> tuple[list[Candidates], list[Candidates], list[Candidates]]:
    """Split candidates in three batches: a few of largest last gain, some more, and the rest.

    A gain that is not known is infinite, and its candidate is in the last batch.
    """
    gains = np.concatenate([np.empty(0), *last_gains])
    known = np.flatnonzero(np.isfinite(gains))
    batch_of = np.full(gains.size, 2)
    n_seeds = min(MAX_SEEDS, 2 + known.size // SEED_SHARE)
    if known.size > n_seeds:
        seeds = known[np.argsort(-gains[known], kind="stable")[:n_seeds]]
        batch_of[seeds] = 1
        batch_of[seeds[: 2 + n_seeds // 8]] = 0
    batches: tuple[list[Candidates], list[Candidates], list[Candidates]] = ([], [], [])
    end = 0
    for candidates in all_candidates:
        begin, end = end, end + candidates.parents.size
        for b in np.unique(batch_of[begin:end]):
            chosen = candidates.parents[batch_of[begin:end] == b]
            batches[b].append(replace(candidates, parents=chosen))
    return batches


def best_extension(
    extensions: Sequence[Extension],
    gains: np.ndarray,
    min_gain: float,
    tolerance: float,
    ties: str = "child",
) -> BestCandidate | None:
    """Return the extension of largest gain if that is above ``min_gain``, else None.

    Gains that differ by ``tolerance`` at most are equal. ``ties`` names which of equal ones wins.
    """
    winners = _winners(gains, min_gain, tolerance)
    if not winners:
        return None
    won = min(winners, key=lambda k: TIES[ties](*extensions[k]))
    return BestCandidate(float(gains[won]), *extensions[won])


def _by_child(child: int, joining: tuple[int, ...]) -> tuple[Any, ...]:
    return child, len(joining), sorted(joining)


def _by_parent(child: int, joining: tuple[int, ...]) -> tuple[Any, ...]:
    return len(joining), sorted(joining), child


# What equal candidates are sorted by: the first child, then the fewest and first parents; or the
# parents, and then the child.
TIES = {"child": _by_child, "parent": _by_parent}


def best_move(
    moves: Sequence[ParentMove], gains: np.ndarray, min_gain: float, tolerance: float
) -> ParentMove | None:
    """Return the first of the moves of largest gain if that is above ``min_gain``, else None."""
    winners = _winners(gains, min_gain, tolerance)
    return moves[winners[0]] if winners else None


def _winners(gains: np.ndarray, min_gain: float, tolerance: float) -> list[int]:
    threshold = max(min_gain, gains.max(initial=-np.inf) - tolerance)
    found: list[int] = np.flatnonzero((gains >= threshold) & (gains > min_gain)).tolist()
    return found
