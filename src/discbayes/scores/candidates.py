"""Candidates of a search step: those of one child are a task, which is cut into stretches and put
in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

# candidates that looked best last time and are scored first: one in so many
MAX_SEEDS, SEED_SHARE = 64, 256
STRETCH = 64  # candidates of a child that are scanned at a time


@dataclass(frozen=True)
class Candidates:
    """Candidates of one child: each of ``parents`` joins the family, together with those of
    ``through``.
    """

    child: int
    parents: np.ndarray
    through: tuple[int, ...] = ()


@dataclass(frozen=True)
class BestCandidate:
    """The best candidate: how much it adds, the child, and the parents that join; and what finding
    it took.
    """

    gain: float
    child: int
    joining: tuple[int, ...]


@dataclass
class SearchCost:
    """How many candidates were scored, and how many of them were abandoned because they could not
    win.
    """

    evaluations: int = 0
    abandoned: int = 0


def stretches(task: Candidates) -> list[Candidates]:
    """A task in parts for several threads, of the same size whatever their number."""
    n = task.parents.size
    return (
        [replace(task, parents=task.parents[k : k + STRETCH]) for k in range(0, n, STRETCH)]
        if n > STRETCH
        else [task]
    )


def joined(results: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """The gains of the parts of a task, and whether they are exact, together."""
    if len(results) == 1:
        return results[0]
    return np.concatenate([gains for gains, _ in results]), np.concatenate(
        [exact for _, exact in results]
    )


def in_turns(
    tasks: Sequence[Candidates], gains: Sequence[np.ndarray]
) -> tuple[list[Candidates], list[Candidates], list[Candidates]]:
    """A few of the candidates that added most last time, some more of them, and the rest.

    A gain that is not known is infinite, and its candidate is left for the rest.
    """
    every = np.concatenate([np.empty(0), *gains])
    turn, known = np.full(every.size, 2), np.flatnonzero(np.isfinite(every))
    seeds = min(MAX_SEEDS, 2 + known.size // SEED_SHARE)
    if known.size > seeds:
        best = known[np.argsort(-every[known], kind="stable")[:seeds]]
        turn[best], turn[best[: 2 + seeds // 8]] = 1, 0
    batches: tuple[list[Candidates], list[Candidates], list[Candidates]] = ([], [], [])
    end = 0
    for task in tasks:
        end, its = end + task.parents.size, turn[end : end + task.parents.size]
        for t in np.unique(its):
            batches[t].append(replace(task, parents=task.parents[its == t]))
    return batches


def choose(
    candidates: Sequence[tuple[int, tuple[int, ...]]],
    gains: np.ndarray,
    least: float,
    tolerance: float,
) -> BestCandidate | None:
    """The candidate, a child and who joins its parents, that adds most, if it adds more than
    ``least``.

    Of equal ones it is that of the first child, the fewest parents, and of those the first.
    """
    bound = max(least, gains.max(initial=-np.inf) - tolerance)
    winners = np.flatnonzero((gains >= bound) & (gains > least)).tolist()
    if not winners:
        return None
    won = min(
        winners, key=lambda k: (candidates[k][0], len(candidates[k][1]), sorted(candidates[k][1]))
    )
    return BestCandidate(float(gains[won]), *candidates[won])
