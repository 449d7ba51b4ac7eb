"""Scores that add up over the families of a network, so that an edge has a weight of its own.

With L = Σ n log θ of a family, N its rows, θ relative frequencies and I the information of the
feature and the class given the other parents, most of them are points of one line, a·L + b·N·I:

============  ==========================  ==============  ====
====================================================== name          class                       a
b     an edge p → i adds ============  ==========================  ==============  ====
====================================================== ll            ``LogLikelihood``           1
0     N·I(Xi;Xp|C) cmi           ``ConditionalInformation``  1 (each row)    0     I(Xi;Xp|C) mdl,
bic      ``DescriptionLength``       1               0     N·I(Xi;Xp|C) − ½ log M for each parameter
fcll          ``FactorizedLikelihood``    α + β           −βλ   N·((α+β)·I(Xi;Xp|C) − βλ·(I(Xi;Xp|C)
− I(Xi;Xp))) interaction   ``Interaction``             0               −βλ   the last term of fcll
alone (C11 footnote 2) residual      ``ExplainingAway``          0               1     I(Xi;Xp|C) −
I(Xi;Xp), each row acll          ``ApproximateLikelihood``                         C11 Eq. 12, not
the same in both directions ============  ==========================  ==============  ====
======================================================

α, β and λ are those of C11 Theorems 1 and 5. Where the class is not a parent, θ is the same for all
classes: L is Σ n log θ over the classes together and I is zero.

Rows and gaps: rows count with their weight. A parent set is measured by what it adds to the class
alone, on the rows where the whole family is observed; rows with a gap in it add nothing. The score
of the class alone is from the rows where the feature is observed. So an edge's weight is the
difference of two families, with gaps or without.

This misleads where the gaps of a column depend on another one. With ``gaps="em"`` the table of a
family and the class is the saturated one that makes all rows most likely: rows with a gap in the
family are spread over the cells they may be in, in proportion to the table itself, until that
hardly changes. So gaps may depend on whatever is observed in the family, the class included. A
parent set is measured by what it adds to the class alone in that table, for all rows. What no row
tells, as for values that were never observed together, is taken as independent given the class.
What else a search asks, the relevance of features and their candidates, it takes from such tables
too. Without gaps both ways are the same, bit by bit. EM says how strong a relation is, not how
sure: rows with gaps are no evidence for what they are filled with, so a score that weighs one
against the other (mdl) refuses it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from discbayes.counts import (
    Counts,
    Wanted,
    count_extensions,
    count_family,
    count_wanted,
    pair_information,
    visit_pairs,
)
from discbayes.data.rows import Rows
from discbayes.kernels import acll
from discbayes.parameters.generative import MISSING

ALPHA, BETA, LAMBDA = (np.pi**2 + 6) / 24, (np.pi**2 - 18) / 24, np.pi**2 / 6
ROUNDING = 1e-9  # of all rows: counts that differ by less are of the same rows


class EdgeScore(BaseEstimator):
    """A score that is a sum over families.

    ``symmetric`` says that both directions of an edge have the same weight. ``per_row`` says that
    the score is in nats for each row; otherwise it is in nats for all rows together.

    Parameters
    ----------
    gaps : {"available", "em"}, default="available"
        What rows with gaps tell: "available" measures a family on the rows without a gap in it,
        "em" on all rows, by expectation-maximisation of its table. That ends when an iteration
        raises the mean log likelihood of the rows by no more than 1e-12 (relative, if it is below
        −1), or after 1000 iterations.
    """

    symmetric = True
    per_row = False
    gaps = "available"  # of a score without this setting

    def __init__(self, gaps: str = "available"):
        self.gaps = gaps

    def _check(self) -> None:
        """Refuse settings that make no sense."""
        if self.gaps not in MISSING:
            raise ValueError(f"gaps={self.gaps!r} is not one of {', '.join(map(repr, MISSING))}")

    @property
    def em(self) -> bool:
        """Whether rows with gaps in a family count too, by EM."""
        self._check()
        return self.gaps == "em"

    @abstractmethod
    def weights(
        self,
        data: Rows,
        counts: Counts,
        n_jobs: int | None = None,
        skip: np.ndarray | None = None,
    ) -> np.ndarray:
        """What each edge ``[p, i]`` adds where the class is the only parent of i, by EM if
        ``self.em``.

        Pairs marked in the symmetric matrix ``skip`` are not measured and have zeros.
        """

    @abstractmethod
    def local(self, table: np.ndarray, class_parent: bool, n_rows: float) -> float:
        """The score of a family from its counts, ``(parent values, card, n_classes)``; the data
        have ``n_rows``.
        """

    def family(
        self,
        data: Rows,
        counts: Counts,
        child: int,
        parents: Sequence[int],
        class_parent: bool = True,
    ) -> float:
        """The score of a feature with any feature parents, with or without the class as one
        more.
        """
        if not len(parents):
            return self.local(
                self.alone(counts).feature(child)[None],
                class_parent,
                float(counts.class_count.sum()),
            )
        table = count_family(data, child, parents, self.em).reshape(
            -1, data.cards[child], data.n_classes
        )
        return self._from_table(counts, child, table, class_parent)

    def extensions(
        self,
        data: Rows,
        counts: Counts,
        child: int,
        parents: Sequence[int],
        more: Sequence[int],
        class_parent: bool = True,
    ) -> list[float]:
        """The scores of a family with each of ``more`` as one more parent; faster than one by
        one.
        """
        tables = count_extensions(data, child, parents, more, self.em)
        return [self._from_table(counts, child, table, class_parent) for table in tables]

    def of_blocks(
        self,
        data: Rows,
        counts: Counts,
        wanted: Sequence[Wanted],
        class_parent: Sequence[bool],
        n_jobs: int | None = None,
    ) -> list[list[float]]:
        """The scores of several families, or of their extensions, in few passes over the blocks."""
        known = [each for each in wanted if each.parents or each.more]
        tables = count_wanted(data, known, self.em, n_jobs)
        scores = []
        for each, with_class in zip(wanted, class_parent, strict=True):
            if each.parents or each.more:
                scores.append(
                    [
                        self._from_table(counts, each.child, table, with_class)
                        for table in next(tables)
                    ]
                )
            else:
                scores.append([self.family(data, counts, each.child, (), with_class)])
        return scores

    def _from_table(
        self, counts: Counts, child: int, table: np.ndarray, class_parent: bool
    ) -> float:
        """What the class alone is worth, and what the parents add to it on the rows of their
        table.
        """
        n_rows, own = float(counts.class_count.sum()), self.alone(counts).feature(child)[None]
        score, within = self.local(table, class_parent, n_rows), table.sum(axis=0, keepdims=True)
        if np.abs(own - within).max() > ROUNDING * n_rows:  # there are gaps
            score += self.local(own, True, n_rows) - self.local(within, True, n_rows)
        return score

    def alone(self, counts: Counts) -> Counts:
        """The counts of each feature alone that the score is about."""
        return counts.completed if self.em else counts

    def unit(self, counts: Counts) -> float:
        """What one nat in every row is worth."""
        return 1.0 if self.per_row else float(counts.class_count.sum())


class _Information(EdgeScore):
    """A point of the line: ``a`` times the log likelihood and ``b`` times the information on the
    class.
    """

    a, b = 1.0, 0.0

    def weights(
        self,
        data: Rows,
        counts: Counts,
        n_jobs: int | None = None,
        skip: np.ndarray | None = None,
    ) -> np.ndarray:
        """What each edge adds, from the mutual information of the pairs."""
        pairs = pair_information(data, counts, n_jobs, skip=skip, em=self.em)
        weights = pairs.conditional if self.a == 1.0 else self.a * pairs.conditional
        if self.b:
            weights = weights + self.b * (pairs.conditional - pairs.plain)
        return weights if self.per_row else weights * pairs.total

    def local(self, table: np.ndarray, class_parent: bool, n_rows: float) -> float:
        """The score of a family from its counts."""
        pooled = _log_likelihood(table.sum(axis=2), axis=1)
        score = self.a * pooled
        if class_parent:
            given_class = _log_likelihood(table, axis=1)
            score = self.a * given_class + self.b * (given_class - pooled)
        return score / max(float(table.sum()), np.finfo(float).tiny) if self.per_row else score


def _log_likelihood(table: np.ndarray, axis: int) -> float:
    """Σ n log(n / total over the axis): the log likelihood under relative frequencies."""
    return _sum_x_log_x(table) - _sum_x_log_x(table.sum(axis=axis))


def _sum_x_log_x(x: np.ndarray) -> float:
    return float((x * np.log(np.where(x > 0, x, 1.0))).sum())


class LogLikelihood(_Information):
    """The log likelihood under relative frequencies. More parents never lower it."""


class ConditionalInformation(_Information):
    """The log likelihood of a mean row: an edge adds the conditional mutual information
    I(Xi;Xp|C).
    """

    per_row = True


class FactorizedLikelihood(_Information):
    """The factorised conditional log likelihood of C11 (Equations 24, 27): likelihood and what the
    class is told.
    """

    a, b = ALPHA + BETA, -BETA * LAMBDA


class Interaction(_Information):
    """The discriminative term of the factorised conditional log likelihood alone (C11 footnote
    2).
    """

    a, b = 0.0, -BETA * LAMBDA


class ExplainingAway(_Information):
    """The explaining-away residual I(Xi;Xp|C) − I(Xi;Xp)."""

    a, b = 0.0, 1.0
    per_row = True


class DescriptionLength(_Information):
    """Minimum description length (BIC): the log likelihood less ½ log M for each parameter, M the
    rows of the data.

    It takes ``gaps="available"`` only. Where one of two features has gaps, that is what an edge
    adds to the likelihood of all that is observed; with EM, noise would seem worth its parameters.
    """

    def _check(self) -> None:
        super()._check()
        if self.gaps == "em":
            raise ValueError(
                "DescriptionLength(gaps='em'): rows filled by EM are no evidence that pays for"
                " parameters, and edges would be found in noise: use gaps='available', or another"
                " score"
            )

    def weights(
        self,
        data: Rows,
        counts: Counts,
        n_jobs: int | None = None,
        skip: np.ndarray | None = None,
    ) -> np.ndarray:
        """What each edge adds, less its parameters."""
        weights = super().weights(data, counts, n_jobs, skip)
        free = data.cards - 1.0
        weights -= _penalty(data.n_classes * np.outer(free, free), float(counts.class_count.sum()))
        np.fill_diagonal(weights, 0.0)
        return weights if skip is None else np.where(skip, 0.0, weights)

    def local(self, table: np.ndarray, class_parent: bool, n_rows: float) -> float:
        """The log likelihood of a family less its parameters."""
        parent_values, card, n_classes = table.shape
        n_parameters = parent_values * (card - 1) * (n_classes if class_parent else 1)
        return super().local(table, class_parent, n_rows) - _penalty(n_parameters, n_rows)


def _penalty(n_parameters: Any, n_rows: float) -> Any:
    """½ log M for each parameter; weights that sum to less than one row make nothing cheaper than
    free.
    """
    return 0.5 * np.log(max(n_rows, 1.0)) * n_parameters


class ApproximateLikelihood(EdgeScore):
    """The approximate conditional log likelihood of C11: α log θ of the class of a row and β log θ
    of all others.

    Parameters
    ----------
    strength : float, default=0.5
        Added to each count, of the class and of the other classes together, to get θ: the score has
        no value where a θ is zero.
    gaps : {"available", "em"}, default="available"
        What rows with gaps tell, as for every edge score.
    """

    symmetric = False

    def __init__(self, strength: float = 0.5, gaps: str = "available"):
        super().__init__(gaps)
        self.strength = strength

    def weights(
        self,
        data: Rows,
        counts: Counts,
        n_jobs: int | None = None,
        skip: np.ndarray | None = None,
    ) -> np.ndarray:
        """What each edge adds, table by table: none of them is kept."""
        strength, cards = self._strength(), data.cards
        weights = np.zeros((data.n_features, data.n_features))

        def visit(first: int, seconds: np.ndarray, starts: np.ndarray, cells: np.ndarray) -> None:
            gains = np.empty((seconds.size, 2))
            acll.pair_gains(
                cells, starts, cards[first], cards[seconds], data.n_classes, ALPHA, BETA, strength, gains
            )  # fmt: skip
            weights[first, seconds], weights[seconds, first] = gains.T

        visit_pairs(data, counts, visit, n_jobs, skip, self.em)
        return weights

    def local(self, table: np.ndarray, class_parent: bool, n_rows: float) -> float:
        """The score of a family from its counts."""
        pooled = table.sum(axis=2, keepdims=True)
        if not class_parent:
            return (ALPHA + BETA) * float((pooled * self._log_theta(pooled)).sum())
        others = np.maximum(pooled - table, 0.0)
        return float(
            (table * (ALPHA * self._log_theta(table) + BETA * self._log_theta(others))).sum()
        )

    def _log_theta(self, table: np.ndarray) -> np.ndarray:
        smooth = table + self._strength()
        return np.log(smooth / smooth.sum(axis=1, keepdims=True))

    def _strength(self) -> float:
        if not (np.isfinite(self.strength) and self.strength > 0):
            raise ValueError(f"strength={self.strength!r} must be a number above 0")
        return float(self.strength)


EDGE_SCORES: dict[str, type[EdgeScore]] = {
    "ll": LogLikelihood,
    "cmi": ConditionalInformation,
    "mdl": DescriptionLength,
    "bic": DescriptionLength,
    "fcll": FactorizedLikelihood,
    "acll": ApproximateLikelihood,
    "residual": ExplainingAway,
    "interaction": Interaction,
}


def edge_score_of(given: Any) -> EdgeScore:
    """The edge score behind a name, or the object itself.

    >>> edge_score_of("fcll")
    FactorizedLikelihood()
    """
    if isinstance(given, str) and given in EDGE_SCORES:
        return EDGE_SCORES[given]()
    if isinstance(given, EdgeScore):
        return given
    if isinstance(given, type):
        raise TypeError(f"score={given.__name__} is a class: pass an object, {given.__name__}(...)")
    kind = ValueError if isinstance(given, str) else TypeError
    raise kind(
        f"score={given!r} is no score of edges; those are {', '.join(map(repr, EDGE_SCORES))}."
        " Scores of whole networks, by resubstitution or on held-out rows, go with GreedyEdges"
    )
