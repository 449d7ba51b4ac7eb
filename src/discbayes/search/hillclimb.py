"""Greedy hill climbing on the scores of families (GHC2 of C11).

Moves add, delete and reverse edges, and drop or add the class as a parent of a feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes._settings import require_integer
from discbayes.network import Structure
from discbayes.network.graph import CLASS
from discbayes.scores import EdgeScore
from discbayes.search.base import Run
from discbayes.search.edgewise import EdgeSearch
from discbayes.search.family_scores import Family, FamilyScores

TOLERANCE = 1e-9  # nats for each row: smaller differences are rounding
NEVER, UNKNOWN = -np.inf, np.nan  # gains of moves that are not allowed, and of those not yet scored


class HillClimb(EdgeSearch):
    """Greedy hill climbing: make the best move until none improves the score.

    Parameters
    ----------
    score : str or EdgeScore, default="fcll"
        The score to maximize, by name ("fcll", "ll", "mdl", "acll", …) or as an object, such as
        ``FactorizedLikelihood(missing="em")``, which uses incomplete rows.
    max_parents : int, default=2
        The largest number of parents of a feature, the class counted: 2 is GHC2.
    reverse : bool, default=False
        Whether edges may be reversed too.
    drop_class : bool, default=True
        Whether the class may be dropped as a parent of a feature, and added again.
    **shared
        Settings of every search, see ``Search``.

    Notes
    -----
    The search starts at ``start``, whose edges may be deleted. Of moves that are equal up to
    rounding the first is made: additions, deletions, reversals, then the class; each by the lower
    parent, then the lower child. A required edge is never deleted or reversed.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> BayesNetClassifier(HillClimb()).fit(iris.X, iris.y).structure_.max_parents <= 1
    True
    """

    def __init__(
        self,
        score: Any = "fcll",
        max_parents: int = 2,
        reverse: bool = False,
        drop_class: bool = True,
        **shared: Any,
    ):
        super().__init__(score, **shared)
        self.max_parents = max_parents
        self.reverse = reverse
        self.drop_class = drop_class

    def _check(self) -> None:
        super()._check()
        require_integer("max_parents", self.max_parents, 1, "; the class counts")

    def _search(self, run: Run) -> None:
        climb(run, self._edge_score(), self.max_parents, self.reverse, self.drop_class)


def climb(run: Run, score: EdgeScore, max_parents: int, reverse: bool, drop_class: bool) -> None:
    """Make the best move until none improves the score; the settings are those of `HillClimb`."""
    state = _SearchState(run, score, max_parents, reverse, drop_class)
    state.measure_additions()
    while True:
        state.score_additions()
        move = state.best_move()
        if move is None:
            return
        run.structure = move.made(state.structure)
        state.record(move)
        state.follow(
            run.structure, [move.child, *([move.parent] if move.kind == "reverse" else [])]
        )


@dataclass(frozen=True)
class Move:
    """A change of one edge and its gain; the parent of a move of kind "class" is the class."""

    kind: str
    parent: int
    child: int
    gain: float

    def made(self, structure: Structure) -> Structure:
        """Return the structure after the move."""
        groups, flags = list(structure.parents), list(structure.class_children)
        if self.kind in ("delete", "reverse"):
            groups[self.child] = tuple(p for p in groups[self.child] if p != self.parent)
        if self.kind == "add":
            groups[self.child] = tuple(sorted((*groups[self.child], self.parent)))
        if self.kind == "reverse":
            groups[self.parent] = tuple(sorted((*groups[self.parent], self.child)))
        if self.parent == CLASS:
            flags[self.child] = not flags[self.child]
        return Structure(tuple(groups), tuple(flags))


class _SearchState:
    """The state of a search: a structure, the scores of its families, and the gain of each move.

    ``add[p, i]`` is unknown until the move is possible for the first time, so that parents that
    would close a cycle are not scored.
    """

    def __init__(
        self, run: Run, score: EdgeScore, max_parents: int, reverse: bool, drop_class: bool
    ):
        self.run, self.scores = run, FamilyScores(run, score)
        self.max_parents = max_parents
        self.reverse = reverse
        self.drop_class = drop_class
        n, start = run.data.n_features, run.limits.start
        self.allowed = run.limits.allowed(run.data, run.counts, run.n_jobs, score.em)
        self.tolerance = TOLERANCE * score.unit(run.counts)
        self.local = np.zeros(n)
        self.add, self.delete, self.toggle = (
            np.full(shape, NEVER) for shape in ((n, n), (n, n), (1, n))
        )
        self.follow(
            Structure(tuple(tuple(sorted(group)) for group in start.parents), start.class_children),
            range(n),
        )

    # ---- gains of moves

    def follow(self, structure: Structure, children: Sequence[int]) -> None:
        """Set the structure, in which the given children have new parents; reset their gains."""
        self.structure, self.ancestors = structure, ancestors(structure)
        self.reversible = _reversible(structure, self.ancestors) if self.reverse else []
        around = {i: self._around(i) for i in children}
        self.scores.of([family for families in around.values() for family in families.values()])
        for i, families in around.items():
            scores = dict(zip(families, self.scores.of(list(families.values())), strict=True))
            self.local[i] = scores.pop("now")
            self.delete[:, i] = self.toggle[0, i] = NEVER
            if "class" in scores:
                self.toggle[0, i] = scores.pop("class") - self.local[i]
            self.delete[list(scores), i] = np.array(list(scores.values())) - self.local[i]
            self.add[:, i] = np.where(self._addable(i), UNKNOWN, NEVER)

    def _around(self, child: int) -> dict[Any, Family]:
        """Return the families of a child that differ by one deletion or by the class.

        The keys are "now" for the current family, the deleted parent, and "class".
        """
        _, parents, with_class = now = self._family(child)
        families: dict[Any, Family] = {"now": now}
        for p in parents:
            if not self.run.limits.required[p, child]:
                families[p] = (child, tuple(q for q in parents if q != p), with_class)
        if self.drop_class and (with_class or self._allows_parent(child)):
            families["class"] = (child, parents, not with_class)
        return families

    def _family(self, child: int) -> Family:
        return child, self.structure.parents[child], self.structure.class_children[child]

    def _allows_parent(self, child: int) -> bool:
        """Return whether one more parent is allowed; raise an error if there are too many."""
        size = len(self.structure.parents[child]) + self.structure.class_children[child]
        if size > self.max_parents:
            raise ValueError(
                f"the start gives {self.run.names[child]!r} {size} parents, the class counted,"
                f" above max_parents={self.max_parents}"
            )
        return size < self.max_parents

    def _addable(self, child: int) -> np.ndarray:
        """Return the features, as a mask, that may become parents of a child, cycles aside."""
        parents = list(self.structure.parents[child])
        addable = self.allowed[:, child] & self._allows_parent(child)
        addable[parents] = False
        return self.run.limits.sizes.joining(child, parents, addable)

    def measure_additions(self) -> None:
        """Score one parent for each feature that has only the class, in one pass over pairs."""
        run, score = self.run, self.scores.score
        naive = [i for i in range(self.local.size) if self._family(i)[1:] == ((), True)]
        wanted = np.zeros_like(self.allowed)
        wanted[:, naive] = np.isnan(self.add[:, naive])
        pairs = wanted | wanted.T
        if pairs.any():
            self.add[wanted] = score.weights(run.data, run.counts, run.n_jobs, skip=~pairs)[wanted]
            self.scores.evaluations += int(pairs.sum()) // (2 if score.symmetric else 1)

    def score_additions(self) -> None:
        """Score the additions that have become possible, alone or as half of a reversal."""
        possible = ~self.ancestors
        for p, i in self.reversible:
            possible[i, p] = True
        unknown = np.isnan(self.add) & possible
        wanted = {
            i: np.flatnonzero(unknown[:, i]).tolist()
            for i in np.flatnonzero(unknown.any(axis=0)).tolist()
        }
        found = self.scores.extended([(self._family(i), parents) for i, parents in wanted.items()])
        for (i, parents), scores in zip(wanted.items(), found, strict=True):
            self.add[parents, i] = np.array(scores) - self.local[i]

    # ---- moves

    def best_move(self) -> Move | None:
        """Return the first of the best moves, or None if no move improves the score."""
        gains = {
            "add": np.where(self.ancestors, NEVER, self.add),
            "delete": self.delete,
            "reverse": self._reversals(),
            "class": self.toggle,
        }
        best = {kind: float(matrix.max(initial=NEVER)) for kind, matrix in gains.items()}
        least = max(max(best.values()) - self.tolerance, np.nextafter(self.tolerance, np.inf))
        for kind, matrix in gains.items():
            if best[kind] >= least:
                p, i = (int(k) for k in np.unravel_index((matrix >= least).argmax(), matrix.shape))
                return Move(kind, CLASS if kind == "class" else p, i, float(matrix[p, i]))
        return None

    def _reversals(self) -> np.ndarray:
        gains = np.full_like(self.add, NEVER) if self.reversible else np.empty((0, 0))
        for p, i in self.reversible:
            gains[p, i] = self.delete[p, i] + self.add[i, p]
        return gains

    def record(self, move: Move) -> None:
        """Record a move, with the number of scores computed since the previous one."""
        total, evaluations = float(self.local.sum()) + move.gain, self.scores.take_evaluations()
        if move.parent == CLASS:
            kind = "drop class" if self.structure.class_children[move.child] else "add class"
            self.run.step(None, total, evaluations, move=kind, feature=self.run.names[move.child])
        else:
            self.run.step((move.parent, move.child), total, evaluations, move=move.kind)


def ancestors(structure: Structure) -> np.ndarray:
    """Return the matrix ``[i, a]`` of whether ``a`` is an ancestor of ``i``."""
    found = np.zeros((structure.n_features, structure.n_features), np.bool_)
    for i in structure.order:
        for p in structure.parents[i]:
            found[i] |= found[p]
            found[i, p] = True
    return found


def _reversible(structure: Structure, above: np.ndarray) -> list[tuple[int, int]]:
    """Return the edges whose reversal closes no cycle: no other path connects their ends."""
    edges = [(p, i, list(group)) for i, group in enumerate(structure.parents) for p in group]
    return [(p, i) for p, i, group in edges if not above[group, p].any()]
