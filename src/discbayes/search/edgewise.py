"""What searches on the weights of single edges share: the score, the edges they may use, and their
trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes.network import Structure
from discbayes.scores import EdgeScore, edge_score_of
from discbayes.search.base import Run, Search

_DIGITS = 40  # binary ones of the largest weight or information that count: twelve decimal ones


@dataclass(frozen=True)
class Edges:
    """All edges ``[p, i]``, measured once where the class is the only other parent; which may be
    used, which must stay.

    What must stay are the edges of the start, the required ones among them. ``weights`` are what
    was measured without the noise of rounding, to be compared. ``evaluations`` counts the scores.
    """

    measured: np.ndarray
    weights: np.ndarray
    usable: np.ndarray
    kept: np.ndarray
    evaluations: int

    @classmethod
    def measure(cls, run: Run, score: EdgeScore) -> Edges:
        """Measure all edges that a run may use."""
        kept = edge_matrix(run.limits.start)
        usable = run.limits.allowed(run.data, run.counts, run.n_jobs, score.em) | kept
        pairs = usable | usable.T
        measured = score.weights(run.data, run.counts, run.n_jobs, skip=~pairs)
        scale = 1.0 if score.per_row else float(run.counts.class_count.sum())
        return cls(
            measured,
            settled(measured, scale),
            usable,
            kept,
            int(pairs.sum()) // (2 if score.symmetric else 1),
        )

    def refuse_two_parents(self, names: Sequence[str]) -> None:
        """A tree has only one edge into a column."""
        for child in np.flatnonzero(self.kept.sum(axis=0) > 1).tolist():
            a, b, *_ = np.flatnonzero(self.kept[:, child]).tolist()
            edges = f"{names[a]} -> {names[child]} and {names[b]} -> {names[child]}"
            raise ValueError(f"{edges} are required, but a tree has only one edge into a column")

    def finish(
        self, run: Run, parents: Sequence[tuple[int, ...]], order: Iterable[int] | None = None
    ) -> None:
        """Leave the structure in the run and record its edges, children in the given order.

        Such a search has its structure in one go: a callback sees the steps when all is decided.
        """
        run.structure = Structure(tuple(parents), run.limits.start.class_children)
        evaluations = self.evaluations
        for i in range(len(parents)) if order is None else order:
            for p in parents[i]:
                run.step((p, i), self.measured[p, i], evaluations)
                evaluations = 0


def settled(values: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """Numbers that differ by rounding alone made equal, so that ties go to the lower column, not to
    the last bit.

    ``scale`` is what the sums behind them are made of: information is in nats of a row.

    >>> settled(np.array([0.1 + 0.2, 0.3, 4e-16])) == settled(np.array([0.3, 0.3, 0.0]))
    array([ True,  True,  True])
    """
    largest = np.abs(values[np.isfinite(values)]).max(initial=scale)
    unit = max(np.ldexp(1.0, int(np.frexp(largest)[1]) - _DIGITS), np.finfo(float).tiny)
    return np.asarray(np.round(values / unit) * unit)


class EdgeSearch(Search):
    """A search on a score that adds up over families; subclasses name their own settings."""

    works_on_blocks = True
    directed = True  # whether a score may give the two directions of an edge different weights

    def __init__(self, score: Any, **shared: Any):
        super().__init__(**shared)
        self.score = score
        # a score that does not fit is refused here, not after all the data were read
        self._edge_score()

    def _check(self) -> None:
        super()._check()
        self._edge_score()

    def _edge_score(self) -> EdgeScore:
        score = edge_score_of(self.score)
        score._check()
        if not (score.symmetric or self.directed):
            raise ValueError(
                f"score={self.score!r} gives the two directions of an edge different weights, and"
                f" {type(self).__name__} takes edges without direction: use"
                f" Branching(score={self.score!r})"
            )
        return score


def edge_matrix(structure: Structure) -> np.ndarray:
    """The edges of a structure as a matrix ``[p, i]``."""
    matrix = np.zeros((structure.n_features, structure.n_features), np.bool_)
    for i, group in enumerate(structure.parents):
        matrix[list(group), i] = True
    return matrix


def as_groups(parent: np.ndarray) -> list[tuple[int, ...]]:
    """The parents of each feature, from the one parent of each, −1 for none."""
    return [(p,) if p >= 0 else () for p in parent.tolist()]
