"""Strict k-trees: the parents of a feature are joined with each other.

Then the moral graph over the features is the graph itself, without further edges, and has a tree
width of at most k (P10, section 5).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import numpy as np

from discbayes.network import Structure
from discbayes.search.base import Run, check_start
from discbayes.search.edgewise import edge_matrix


def joined_features(structure: Structure) -> np.ndarray:
    """Return which features have an edge between them, in either direction, as a matrix.

    >>> joined_features(Structure(((), (0,), ()))).astype(int).tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    """
    edges = edge_matrix(structure)
    return edges | edges.T


def are_joined(joined: np.ndarray, group: Iterable[int]) -> bool:
    """Return whether all features of a group are joined with each other."""
    return all(joined[a, b] for a, b in combinations(group, 2))


def largest_strict_set(
    joined: np.ndarray, parents: list[tuple[int, ...]], parent: int, children: tuple[int, ...]
) -> tuple[int, ...]:
    """Return the children that may have one more parent at once, so that all parents are joined.

    A child needs that parent to be joined with those that it has, by an edge that is there or by
    one that comes with it.
    """
    kept = list(children)
    while True:
        near = joined[parent].copy()
        near[kept] = True
        strict = [child for child in kept if near[list(parents[child])].all()]
        if len(strict) == len(kept):
            return tuple(kept)
        kept = strict


def allowed_edges(run: Run, k: int, strict: bool) -> np.ndarray:
    """Return the edges that a search for at most k parents may add, as a matrix.

    A start that is not such a structure is refused.
    """
    check_start(run, k)
    if strict:
        _refuse_unjoined_parents(run)
    return run.limits.allowed(run.data, run.counts, run.n_jobs)


def _refuse_unjoined_parents(run: Run) -> None:
    """Refuse a start that is not a strict k-tree, as two parents of a feature have no edge."""
    joined = joined_features(run.structure)
    for i, group in enumerate(run.structure.parents):
        for a, b in combinations(group, 2):
            if not joined[a, b]:
                raise ValueError(
                    f"strict=True, but the parents {run.names[a]!r} and {run.names[b]!r} that"
                    f" {run.names[i]!r} has from the start are not joined"
                )
