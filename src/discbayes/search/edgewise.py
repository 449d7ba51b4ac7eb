"""Searches on the weights of single edges: their score, the edges they may use, and their trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes.network import Structure
from discbayes.scores import EdgeScore, edge_score_of
from discbayes.search.base import Run, Search

_ROWS_AT_ONCE = 256
_DIGITS = 40  # significant bits of the largest weight or information: twelve decimal digits


@dataclass(frozen=True)
class Edges:
    """The weights of all edges ``[p, i]`` if the class is the only other parent, measured once.

    ``usable`` are the edges that a search may use, ``pairs`` those that it may use in one of both
    directions. ``kept`` are those that must stay: the edges of the start, the required ones among
    them. ``unit`` is that of rounding errors. ``evaluations`` is the number of scores computed.
    """

    measured: np.ndarray
    unit: float
    usable: np.ndarray
    pairs: np.ndarray
    kept: np.ndarray
    evaluations: int

    @classmethod
    def measure(cls, run: Run, score: EdgeScore) -> Edges:
        """Measure all edges that a run may use."""
        kept = edge_matrix(run.limits.start)
        usable = run.limits.allowed(run.data, run.counts, run.n_jobs, score.em) | kept
        pairs = usable | usable.T
        n, n_pairs = run.data.n_features, int(np.count_nonzero(pairs))
        skip = None if n_pairs == n * (n - 1) else ~pairs
        measured = score.weights(run.data, run.counts, run.n_jobs, skip=skip)
        scale = 1.0 if score.per_row else float(run.counts.class_count.sum())
        evaluations = n_pairs // (2 if score.symmetric else 1)
        return cls(measured, rounding_unit(measured, scale), usable, pairs, kept, evaluations)

    def weights(self, at: Any = ...) -> np.ndarray:
        """Return measured values with rounding errors removed, for comparisons.

        All of them are a matrix as large as ``measured``; ``at`` is an index of some.
        """
        return rounded(self.measured[at], self.unit)

    def refuse_two_parents(self, names: Sequence[str]) -> None:
        """Raise an error if two edges into one column must stay, which no tree can have."""
        for child in np.flatnonzero(self.kept.sum(axis=0) > 1).tolist():
            a, b, *_ = np.flatnonzero(self.kept[:, child]).tolist()
            edges = f"{names[a]} -> {names[child]} and {names[b]} -> {names[child]}"
            raise ValueError(f"{edges} are required, but a tree has only one edge into a column")

    def finish(
        self, run: Run, parents: Sequence[tuple[int, ...]], order: Iterable[int] | None = None
    ) -> None:
        """Store the structure in the run and record its edges, children in the given order.

        The whole structure is decided before the first step is recorded, so a callback sees the
        steps afterwards.
        """
        run.structure = Structure(tuple(parents), run.limits.start.class_children)
        evaluations = self.evaluations
        for i in range(len(parents)) if order is None else order:
            for p in parents[i]:
                run.step((p, i), self.measured[p, i], evaluations)
                evaluations = 0


def settled(values: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """Return values rounded so that those that differ by rounding errors only are equal.

    Ties then go to the lower column and not to the last bit. ``scale`` is the magnitude of the
    terms of the sums that the values are: one for information, in nats per row.

    >>> settled(np.array([0.1 + 0.2, 0.3, 4e-16])) == settled(np.array([0.3, 0.3, 0.0]))
    array([ True,  True,  True])
    """
    return rounded(values, rounding_unit(values, scale))


def rounding_unit(values: np.ndarray, scale: float = 1.0) -> float:
    """Return the power of two to which values are rounded by ``settled``."""
    largest = scale
    for first in range(0, len(values), _ROWS_AT_ONCE):  # a copy of all may not fit in memory
        some = values[first : first + _ROWS_AT_ONCE]
        largest = np.abs(some[np.isfinite(some)]).max(initial=largest)
    return max(np.ldexp(1.0, int(np.frexp(largest)[1]) - _DIGITS), np.finfo(float).tiny)


def rounded(values: np.ndarray, unit: float) -> np.ndarray:
    """Return values as multiples of a unit."""
    return np.asarray(np.round(values / unit) * unit)


class EdgeSearch(Search):
    """A search on a score that is a sum over families; subclasses name their own settings.

    Parameters
    ----------
    score : str or EdgeScore
        The score, by name or as an object.
    **shared
        Settings of every search, see ``Search``.
    """

    works_on_blocks = True
    directed = True  # whether a score may give the two directions of an edge different weights

    def __init__(self, score: Any, **shared: Any):
        super().__init__(**shared)
        self.score = score
        # An unsuitable score is refused here, before the data are read.
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
    """Return the edges of a structure as a matrix ``[p, i]``."""
    matrix = np.zeros((structure.n_features, structure.n_features), np.bool_)
    for i, group in enumerate(structure.parents):
        matrix[list(group), i] = True
    return matrix


def as_groups(parent: np.ndarray) -> list[tuple[int, ...]]:
    """Return the parents of each feature from an array of single parents, −1 for none."""
    return [(p,) if p >= 0 else () for p in parent.tolist()]
