"""Greedy hill climbing over networks in which the class is a node as any other.

The class may have parents, so that the search finds the Markov blanket of the class: its parents,
its children, and their other parents. Of complete rows nothing else matters for P(class | row).
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from discbayes._settings import require_choice, require_integer
from discbayes.counts import Counts, count
from discbayes.data import Domain, Encoded, Variable
from discbayes.data.rows import Rows
from discbayes.engine import Context
from discbayes.network import Structure
from discbayes.scores import DescriptionLength, EdgeScore, LeaveOneOutLikelihood, LogLikelihood
from discbayes.search.base import Run
from discbayes.search.constraints import Constraints, read_structure
from discbayes.search.edgewise import EdgeSearch
from discbayes.search.hillclimb import climb

KEEP = ("all", "blanket")
JOINT_SCORES = (LogLikelihood, DescriptionLength, LeaveOneOutLikelihood)
ONE_VALUE = Variable("", "categorical", ("",))  # in the place of the class


class MarkovBlanketClimb(EdgeSearch):
    """Greedy hill climbing where the class may have parents: make the best move until none helps.

    Moves add, delete and reverse edges between any two of the columns and the class. The score is
    that of the joint distribution of all of them.

    Parameters
    ----------
    score : str or EdgeScore, default="mdl"
        The score to maximize: "mdl" (BIC), "ll" or "loo", or such a score as an object.
    max_parents : int, default=3
        The largest number of parents of a column, or of the class; the class counts as any other.
    keep : {"all", "blanket"}, default="all"
        Which edges are kept: all, which rows with missing values need, or those into the class and
        into its children, which are enough for complete rows. Required edges are always kept.
    **shared
        Settings of every search, see ``Search``; in ``required``, ``forbidden``, ``tiers`` and
        ``start`` the class has the name of the target.

    Notes
    -----
    The search starts without edges, or at ``start``, whose edges may be deleted. Of moves that are
    equal up to rounding the first is made: additions, deletions, then reversals; each by the lower
    parent, then the lower child, where the class comes after all columns. A required edge is never
    deleted or reversed. Networks that imply the same independences have the same score, so the
    direction of an edge is often a matter of ties.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> clf = BayesNetClassifier(MarkovBlanketClimb(keep="blanket"), "map").fit(iris.X, iris.y)
    >>> clf.network_.edges(with_class=True)
    [('class', 'petal length (cm)'), ('petal width (cm)', 'class')]
    """

    works_on_blocks = False

    def __init__(self, score: Any = "mdl", max_parents: int = 3, keep: str = "all", **shared: Any):
        super().__init__(score, **shared)
        self.max_parents = max_parents
        self.keep = keep

    def learn(self, data: Rows, counts: Counts, context: Context) -> Structure:
        """Search for a structure; when interrupted, return the best one so far.

        Parameters
        ----------
        data : Rows
            The rows.
        counts : Counts
            Counts of the class and of each feature.
        context : Context
            Threads, randomness, interrupts, and where steps are recorded.

        Returns
        -------
        Structure
            The structure.

        Examples
        --------
        >>> from discbayes.counts import count
        >>> from discbayes.data import FrameEncoder
        >>> from discbayes.engine import Context
        >>> rows = [[c, c] for c in "xy" * 20]
        >>> data = FrameEncoder().fit_transform(rows, [0, 1] * 20)
        >>> MarkovBlanketClimb().learn(data, count(data), Context())
        Structure(parents=((), (0,)), class_children=(False, False), class_parents=(0,))
        """
        wide = with_class_column(data.in_memory(type(self).__name__))
        start = self.start
        if isinstance(start, Structure):
            start = with_class_node(read_structure(data, start, "starting"))
        # the search itself is one of columns only, of which the last is the class
        search = copy(self)
        search.start = start
        found = super(MarkovBlanketClimb, search).learn(wide, count(wide, context.n_jobs), context)
        required = Constraints.of(wide, self.required).required
        return class_at_the_end(found, None if self.keep == "all" else required)

    def _search(self, run: Run) -> None:
        # the class of one value is a parent of all nodes, for which it means nothing
        climb(run, self._edge_score(), self.max_parents + 1, reverse=True, drop_class=False)

    def _check(self) -> None:
        super()._check()
        require_integer("max_parents", self.max_parents, 1)
        require_choice("keep", self.keep, KEEP)

    def _edge_score(self) -> EdgeScore:
        score = super()._edge_score()
        if not isinstance(score, JOINT_SCORES):
            raise ValueError(
                f"score={self.score!r} is about features given the class, and"
                ' MarkovBlanketClimb needs a score of all columns: "mdl", "ll" or "loo"'
            )
        return score


def with_class_column(data: Encoded) -> Encoded:
    """Return rows in which the class is the last column, and which are all of one class."""
    dtype = np.promote_types(data.codes.dtype, np.min_scalar_type(data.n_classes))
    codes = np.vstack([data.codes.astype(dtype), data.classes.astype(dtype)])
    domain = Domain((*data.domain.features, data.domain.target), ONE_VALUE)
    return replace(data, codes=codes, domain=domain, y=np.zeros_like(data.classes))


def with_class_node(structure: Structure) -> Structure:
    """Return a structure as one of features only, of which the last is the class."""
    place, flags = structure.n_features, structure.class_children
    groups = [
        (*group, *[place] * flag) for group, flag in zip(structure.parents, flags, strict=True)
    ]
    return Structure((*groups, structure.class_parents))


def class_at_the_end(wide: Structure, required: np.ndarray | None) -> Structure:
    """Return the structure of a network whose last node is the class.

    Parameters
    ----------
    wide : Structure
        The structure with the class as the last feature.
    required : ndarray of bool, or None
        The edges ``[p, i]`` that are kept into features that are no children of the class. None
        keeps all.
    """
    *groups, above = wide.parents
    place = len(groups)
    children = tuple(place in group for group in groups)
    parents = tuple(
        tuple(p for p in group if p != place and (required is None or flag or required[p, i]))
        for i, (group, flag) in enumerate(zip(groups, children, strict=True))
    )
    return Structure(parents, children, above)
