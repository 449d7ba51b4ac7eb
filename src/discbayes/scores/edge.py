"""Scores that are sums over the families of a network, so that an edge has a weight of its own.

With L = Σ n log θ of a family, N its rows, θ relative frequencies and I the information of the
feature and the class given the other parents, most of them are points of one line, a·L + b·N·I:

===========  ==========================  ======  ====  ========================================
name         class                       a       b     an edge p → i adds
===========  ==========================  ======  ====  ========================================
ll           ``LogLikelihood``           1       0     N·I(Xi;Xp|C)
cmi          ``ConditionalInformation``  1       0     I(Xi;Xp|C): the mean over rows
mdl, bic     ``DescriptionLength``       1       0     N·I(Xi;Xp|C) − ½ log M for each parameter
fcll         ``FactorizedLikelihood``    α + β   −βλ   N·((α+β)·I(Xi;Xp|C) − βλ·D), see below
interaction  ``Interaction``             0       −βλ   −N·βλ·D (C11 footnote 2)
residual     ``ExplainingAway``          0       1     D: the mean over rows
acll         ``ApproximateLikelihood``                 C11 Eq. 12; depends on the direction
loo          ``LeaveOneOutLikelihood``                 log likelihood of rows left out
===========  ==========================  ======  ====  ========================================

D is I(Xi;Xp|C) − I(Xi;Xp). α, β and λ are those of C11 Theorems 1 and 5. If the class is not a
parent, all classes share one θ: L is Σ n log θ over the pooled classes and I is zero.

Weights and missing values: rows count with their weight. The score of a parent set is its gain over
the class alone, on the rows where the whole family is observed (available-case analysis). The score
of the class alone is from the rows where the feature is observed. So the weight of an edge is the
difference of the scores of two families, with and without missing values.

This is biased if the missingness of a value depends on another column. With ``missing="em"`` the
table of a family and the class is the saturated one that maximizes the likelihood of all rows: a
row with a missing value in the family is distributed over the cells that agree with it, in
proportion to the table itself, until convergence. So missingness may depend on all that is observed
in the family, the class included. The score of a parent set is its gain over the class alone in
that table, for all rows. Values that were never observed together are taken as independent given
the class. The relevance of features and their candidate parents come from such tables too. Without
missing values the results of both settings are identical, bit by bit. EM estimates the strength of
a dependence, not its significance: incomplete rows are not evidence for the values they are filled
with, so a score that compares the two (mdl) refuses it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from discbayes._deprecation import GapsIsMissing, renamed_parameters
from discbayes._settings import require_choice, require_number
from discbayes.counts import (
    Counts,
    Wanted,
    count_extensions,
    count_family,
    count_wanted,
    pair_weights,
    visit_pair_information,
    visit_pairs,
)
from discbayes.data.rows import Rows
from discbayes.kernels import acll, leave_one_out
from discbayes.parameters.generative import MISSING
from discbayes.parameters.hierarchical import STRENGTHS

# α, β and λ of C11 Theorems 1 and 5.
ALPHA = (np.pi**2 + 6) / 24
BETA = (np.pi**2 - 18) / 24
LAMBDA = np.pi**2 / 6
ROUNDING = 1e-9  # of all rows: counts that differ by less are taken as equal
VisitWeights = Callable[..., None]


class EdgeScore(GapsIsMissing, BaseEstimator):
    """A score that is a sum over families.

    If ``symmetric``, both directions of an edge have equal weights. If ``per_row``, the score is in
    nats per row; otherwise it is in nats for all rows.

    Parameters
    ----------
    missing : {"available", "em"}, default="available"
        How missing values are handled: "available" measures a family on the rows without a missing
        value in it, "em" on all rows, by expectation-maximization of its table. That ends when an
        iteration raises the mean log likelihood of the rows by no more than 1e-12 (relative, if it
        is below −1), or after 1000 iterations.

    Examples
    --------
    >>> isinstance(LogLikelihood(), EdgeScore), LogLikelihood().symmetric
    (True, True)
    """

    symmetric = True
    per_row = False
    counts_pairs_only = False  # whether `weights` needs no more of the rows than counts of pairs
    missing = "available"  # of a subclass without this parameter
    # Calls a function with the weights of some pairs at a time; None if there is only the matrix.
    visit_weights: VisitWeights | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        """Ask a score with weights of its own to declare that they need no rows."""
        super().__init_subclass__(**options)
        if "weights" in vars(cls):
            if "counts_pairs_only" not in vars(cls):
                cls.counts_pairs_only = False
            if "visit_weights" not in vars(cls):
                cls.visit_weights = None

    @renamed_parameters(gaps="missing")
    def __init__(self, missing: str = "available"):
        self.missing = missing

    # Subclasses of users may still name the parameter ``gaps`` in their constructor. For these it
    # is not deprecated: scikit-learn reads and sets it by that name.

    @property
    def gaps(self) -> str:
        """Deprecated: use ``missing``."""
        return self.missing if "gaps" in self._get_param_names() else super().gaps

    @gaps.setter
    def gaps(self, value: str) -> None:
        if "gaps" in self._get_param_names():
            self.missing = value
        else:
            GapsIsMissing.gaps.__set__(self, value)  # type: ignore[attr-defined]

    def set_params(self, **params: Any) -> Any:
        """Set parameters, as scikit-learn does.

        Parameters
        ----------
        **params
            The parameters by name.

        Returns
        -------
        EdgeScore
            The score itself.

        Examples
        --------
        >>> LogLikelihood().set_params(missing="em")
        LogLikelihood(missing='em')
        """
        if "gaps" in self._get_param_names():
            return BaseEstimator.set_params(self, **params)
        return super().set_params(**params)

    def _check(self) -> None:
        """Raise an error for invalid settings."""
        require_choice("missing", self.missing, MISSING)

    @property
    def em(self) -> bool:
        """Whether rows with missing values in a family count too, by EM."""
        self._check()
        return self.missing == "em"

    @abstractmethod
    def weights(
        self,
        data: Rows,
        counts: Counts,
        n_jobs: int | None = None,
        skip: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the gain of each edge ``[p, i]`` if the class is the only other parent of i.

        Parameters
        ----------
        data : Encoded or RowBlocks
            The rows.
        counts : Counts
            The counts of the features.
        n_jobs : int, optional
            The number of threads.
        skip : bool array (n_features, n_features), optional
            A symmetric matrix of pairs that are not measured and have zeros.

        Returns
        -------
        array (n_features, n_features)
            The weights, by EM if ``self.em``.

        Examples
        --------
        >>> from discbayes.counts import count
        >>> from discbayes.data import FrameEncoder
        >>> data = FrameEncoder().fit_transform([["x", "x"], ["x", "x"], ["y", "y"]], [0, 1, 0])
        >>> LogLikelihood().weights(data, count(data)).round(4).tolist()
        [[0.0, 1.3863], [1.3863, 0.0]]
        """

    @abstractmethod
    def local(self, table: np.ndarray, class_parent: bool, n_rows: float) -> float:
        """Return the score of a family from its counts.

        Parameters
        ----------
        table : array (parent values, card, n_classes)
            The counts.
        class_parent : bool
            Whether the class is a parent too.
        n_rows : float
            The weight of all rows of the data.

        Returns
        -------
        float
            The score.

        Examples
        --------
        >>> table = np.array([[[2.0, 0.0], [1.0, 3.0]]])
        >>> round(LogLikelihood().local(table, class_parent=True, n_rows=6.0), 4)
        -1.9095
        """

    def family(
        self,
        data: Rows,
        counts: Counts,
        child: int,
        parents: Sequence[int],
        class_parent: bool = True,
    ) -> float:
        """Return the score of a feature with any feature parents.

        Parameters
        ----------
        data : Encoded or RowBlocks
            The rows.
        counts : Counts
            The counts of the features.
        child : int
            The feature.
        parents : sequence of int
            Its feature parents.
        class_parent : bool, default=True
            Whether the class is a parent too.

        Returns
        -------
        float
            The score.

        Examples
        --------
        >>> from discbayes.counts import count
        >>> from discbayes.data import FrameEncoder
        >>> data = FrameEncoder().fit_transform([["x", "x"], ["x", "x"], ["y", "y"]], [0, 1, 0])
        >>> score = ConditionalInformation()
        >>> gain = score.family(data, count(data), 0, [1]) - score.family(data, count(data), 0, [])
        >>> round(gain, 4)
        0.4621
        """
        if not len(parents):
            alone = self.alone(counts).feature(child)[None]
            return self.local(alone, class_parent, float(counts.class_count.sum()))
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
        """Return the scores of a family with each of several features as one more parent.

        It is faster than ``family`` for each of them.

        Parameters
        ----------
        data : Encoded or RowBlocks
            The rows.
        counts : Counts
            The counts of the features.
        child : int
            The feature.
        parents : sequence of int
            Its feature parents.
        more : sequence of int
            The further parents.
        class_parent : bool, default=True
            Whether the class is a parent too.

        Returns
        -------
        list of float
            The score with each further parent.

        Examples
        --------
        >>> from discbayes.counts import count
        >>> from discbayes.data import FrameEncoder
        >>> data = FrameEncoder().fit_transform([["x", "x"], ["x", "x"], ["y", "y"]], [0, 1, 0])
        >>> LogLikelihood().extensions(data, count(data), 0, [], [1])
        [0.0]
        """
        tables = count_extensions(data, child, parents, more, self.em)
        if not data.n_missing[[child, *parents, *more]].any():  # tables have the same rows
            n_rows = float(counts.class_count.sum())
            return [self.local(table, class_parent, n_rows) for table in tables]
        return [self._from_table(counts, child, table, class_parent) for table in tables]

    def of_blocks(
        self,
        data: Rows,
        counts: Counts,
        wanted: Sequence[Wanted],
        class_parent: Sequence[bool],
        n_jobs: int | None = None,
    ) -> list[list[float]]:
        """Return the scores of several families or extensions, in few passes over the blocks.

        Parameters
        ----------
        data : RowBlocks
            The rows.
        counts : Counts
            The counts of the features.
        wanted : sequence of Wanted
            The families, and the further parents of each.
        class_parent : sequence of bool
            For each of them whether the class is a parent too.
        n_jobs : int, optional
            The number of threads.

        Returns
        -------
        list of list of float
            For each family the score with each further parent, or its own if there is none.

        Examples
        --------
        >>> from discbayes.counts import Wanted, count
        >>> from discbayes.data import FrameEncoder
        >>> data = FrameEncoder().fit_transform([["x", "x"], ["x", "x"], ["y", "y"]], [0, 1, 0])
        >>> LogLikelihood().of_blocks(data, count(data), [Wanted(0, (), (1,))], [True])
        [[0.0]]
        """
        counted = [each for each in wanted if each.parents or each.more]
        tables = count_wanted(data, counted, self.em, n_jobs)
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
        """Return the score of the class alone plus the gain of parents on the rows of a table."""
        n_rows, own = float(counts.class_count.sum()), self.alone(counts).feature(child)[None]
        score, within = self.local(table, class_parent, n_rows), table.sum(axis=0, keepdims=True)
        # If values are missing the table has fewer rows than the feature alone.
        if np.abs(own - within).max() > ROUNDING * n_rows:
            score += self.local(own, True, n_rows) - self.local(within, True, n_rows)
        return score

    def alone(self, counts: Counts) -> Counts:
        """Return the counts of each feature alone that the score is about.

        Parameters
        ----------
        counts : Counts
            The counts of the observed values.

        Returns
        -------
        Counts
            These counts, or those of all rows by EM.

        Examples
        --------
        >>> from discbayes.counts import count
        >>> from discbayes.data import FrameEncoder
        >>> data = FrameEncoder().fit_transform([["x", "x"], ["x", "x"], ["y", "y"]], [0, 1, 0])
        >>> LogLikelihood().alone(count(data)).feature(0).tolist()
        [[1.0, 1.0], [1.0, 0.0]]
        """
        return counts.completed if self.em else counts

    def unit(self, counts: Counts) -> float:
        """Return the gain of the score if every row gains one nat.

        Parameters
        ----------
        counts : Counts
            The counts of the features.

        Returns
        -------
        float
            One, or the weight of all rows.

        Examples
        --------
        >>> from discbayes.counts import count
        >>> from discbayes.data import FrameEncoder
        >>> data = FrameEncoder().fit_transform([["x", "x"], ["x", "x"], ["y", "y"]], [0, 1, 0])
        >>> ConditionalInformation().unit(count(data)), LogLikelihood().unit(count(data))
        (1.0, 3.0)
        """
        return 1.0 if self.per_row else float(counts.class_count.sum())


class _Information(EdgeScore):
    """A point of the line: ``a`` log likelihoods and ``b`` informations on the class."""

    a, b = 1.0, 0.0

    counts_pairs_only = True

    def weights(
        self,
        data: Rows,
        counts: Counts,
        n_jobs: int | None = None,
        skip: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the gain of each edge, from the mutual information of pairs.

        Parameters
        ----------
        data : Encoded or RowBlocks
            The rows.
        counts : Counts
            The counts of the features.
        n_jobs : int, optional
            The number of threads.
        skip : bool array (n_features, n_features), optional
            Pairs that are not measured.

        Returns
        -------
        array (n_features, n_features)
            The weight of each edge ``[p, i]``.

        Examples
        --------
        >>> from discbayes.counts import count
        >>> from discbayes.data import FrameEncoder
        >>> data = FrameEncoder().fit_transform([["x", "x"], ["x", "x"], ["y", "y"]], [0, 1, 0])
        >>> ConditionalInformation().weights(data, count(data)).round(4).tolist()
        [[0.0, 0.4621], [0.4621, 0.0]]
        """
        return pair_weights(data, counts, self._weigh, n_jobs, skip=skip, em=self.em)

    def visit_weights(  # type: ignore[override]
        self,
        data: Rows,
        counts: Counts,
        visit: Callable[[int, np.ndarray, np.ndarray], None],
        n_jobs: int | None = None,
    ) -> None:
        """Call a function with the gain of the edges of each pair, which are not kept.

        Parameters
        ----------
        data : Encoded or RowBlocks
            The rows.
        counts : Counts
            The counts of the features.
        visit : callable
            Called as ``visit(first, seconds, weights)`` with a feature and later ones, on several
            threads.
        n_jobs : int, optional
            The number of threads.

        Examples
        --------
        >>> from discbayes.counts import count
        >>> from discbayes.data import FrameEncoder
        >>> data = FrameEncoder().fit_transform([["x", "x"], ["x", "x"], ["y", "y"]], [0, 1, 0])
        >>> ConditionalInformation().visit_weights(
        ...     data, count(data), lambda *pairs: print(*pairs)
        ... )
        0 [1] [0.46209812]
        """

        def receive(first: int, seconds: np.ndarray, measures: np.ndarray) -> None:
            visit(first, seconds, self._weigh(measures))

        visit_pair_information(data, counts, receive, n_jobs, em=self.em)

    def _weigh(self, measures: np.ndarray) -> np.ndarray:
        """Return the gain of edges between pairs of features from their mutual information."""
        conditional, plain, _, total = measures.T
        gain = conditional if self.a == 1.0 else self.a * conditional
        if self.b:
            gain = gain + self.b * (conditional - plain)
        return gain if self.per_row else gain * total

    def local(self, table: np.ndarray, class_parent: bool, n_rows: float) -> float:
        """Return the score of a family from its counts.

        Parameters
        ----------
        table : array (parent values, card, n_classes)
            The counts.
        class_parent : bool
            Whether the class is a parent too.
        n_rows : float
            The weight of all rows of the data.

        Returns
        -------
        float
            The score.

        Examples
        --------
        >>> table = np.array([[[2.0, 0.0], [1.0, 3.0]]])
        >>> round(FactorizedLikelihood().local(table, class_parent=True, n_rows=6.0), 4)
        0.4483
        """
        pooled = _log_likelihood(table.sum(axis=2), axis=1)
        score = self.a * pooled
        if class_parent:
            given_class = _log_likelihood(table, axis=1)
            score = self.a * given_class + self.b * (given_class - pooled)
        return score / max(float(table.sum()), np.finfo(float).tiny) if self.per_row else score


def _log_likelihood(table: np.ndarray, axis: int) -> float:
    """Return Σ n log(n / total over the axis), the log likelihood under relative frequencies."""
    return _sum_x_log_x(table) - _sum_x_log_x(table.sum(axis=axis))


def _sum_x_log_x(x: np.ndarray) -> float:
    return float((x * np.log(np.where(x > 0, x, 1.0))).sum())


class LogLikelihood(_Information):
    """The log likelihood under relative frequencies, which more parents never lower.

    Parameters
    ----------
    missing : {"available", "em"}, default="available"
        How missing values are handled, see ``EdgeScore``.

    Examples
    --------
    >>> from discbayes import SpanningTree
    >>> SpanningTree(score=LogLikelihood()).score
    LogLikelihood()
    """


class ConditionalInformation(_Information):
    """The mean log likelihood: an edge adds the conditional mutual information I(Xi;Xp|C).

    Parameters
    ----------
    missing : {"available", "em"}, default="available"
        How missing values are handled, see ``EdgeScore``.

    Examples
    --------
    >>> from discbayes import SpanningTree
    >>> SpanningTree(score=ConditionalInformation()).score
    ConditionalInformation()
    """

    per_row = True


class FactorizedLikelihood(_Information):
    """The factorized conditional log likelihood of C11 (Equations 24, 27).

    Parameters
    ----------
    missing : {"available", "em"}, default="available"
        How missing values are handled, see ``EdgeScore``.

    Examples
    --------
    >>> from discbayes import SpanningTree
    >>> SpanningTree(score=FactorizedLikelihood()).score
    FactorizedLikelihood()
    """

    a, b = ALPHA + BETA, -BETA * LAMBDA


class Interaction(_Information):
    """The discriminative term of the factorized conditional log likelihood (C11 footnote 2).

    Parameters
    ----------
    missing : {"available", "em"}, default="available"
        How missing values are handled, see ``EdgeScore``.

    Examples
    --------
    >>> from discbayes import SpanningTree
    >>> SpanningTree(score=Interaction()).score
    Interaction()
    """

    a, b = 0.0, -BETA * LAMBDA


class ExplainingAway(_Information):
    """The explaining-away residual I(Xi;Xp|C) − I(Xi;Xp).

    Parameters
    ----------
    missing : {"available", "em"}, default="available"
        How missing values are handled, see ``EdgeScore``.

    Examples
    --------
    >>> from discbayes import SpanningTree
    >>> SpanningTree(score=ExplainingAway()).score
    ExplainingAway()
    """

    a, b = 0.0, 1.0
    per_row = True


class DescriptionLength(_Information):
    """Minimum description length (BIC): the log likelihood less ½ log M for each parameter.

    M is the number of rows. With ``missing="available"``, an edge between two features of which one
    has missing values adds its part of the likelihood of all observed values. EM is refused, as the
    gain of edges between independent features could exceed the penalty of their parameters.

    Parameters
    ----------
    missing : {"available", "em"}, default="available"
        How missing values are handled, see ``EdgeScore``.

    Examples
    --------
    >>> from discbayes import SpanningTree
    >>> SpanningTree(score=DescriptionLength()).score
    DescriptionLength()
    """

    counts_pairs_only = True

    def _check(self) -> None:
        super()._check()
        if self.missing == "em":
            raise ValueError(
                "DescriptionLength(missing='em'): values filled in by EM are not evidence for more"
                " parameters, and edges would be found in noise: use missing='available', or"
                " another score"
            )

    def weights(
        self,
        data: Rows,
        counts: Counts,
        n_jobs: int | None = None,
        skip: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the gain of each edge, less the penalty of its parameters.

        Parameters
        ----------
        data : Encoded or RowBlocks
            The rows.
        counts : Counts
            The counts of the features.
        n_jobs : int, optional
            The number of threads.
        skip : bool array (n_features, n_features), optional
            Pairs that are not measured.

        Returns
        -------
        array (n_features, n_features)
            The weight of each edge ``[p, i]``.

        Examples
        --------
        >>> from discbayes.counts import count
        >>> from discbayes.data import FrameEncoder
        >>> data = FrameEncoder().fit_transform([["x", "x"], ["x", "x"], ["y", "y"]], [0, 1, 0])
        >>> DescriptionLength().weights(data, count(data)).round(4).tolist()
        [[0.0, 0.2877], [0.2877, 0.0]]
        """
        weights = super().weights(data, counts, n_jobs, skip)
        free, n_rows = data.cards - 1.0, float(counts.class_count.sum())
        for p, row in enumerate(weights):
            row -= _penalty(data.n_classes * (free[p] * free), n_rows)
            row[p] = 0.0
            if skip is not None:
                row[skip[p]] = 0.0
        return weights

    def local(self, table: np.ndarray, class_parent: bool, n_rows: float) -> float:
        """Return the log likelihood of a family, less the penalty of its parameters.

        Parameters
        ----------
        table : array (parent values, card, n_classes)
            The counts.
        class_parent : bool
            Whether the class is a parent too.
        n_rows : float
            The weight of all rows of the data.

        Returns
        -------
        float
            The score.

        Examples
        --------
        >>> table = np.array([[[2.0, 0.0], [1.0, 3.0]]])
        >>> round(float(DescriptionLength().local(table, class_parent=True, n_rows=6.0)), 4)
        -3.7013
        """
        parent_values, card, n_classes = table.shape
        n_parameters = parent_values * (card - 1) * (n_classes if class_parent else 1)
        return super().local(table, class_parent, n_rows) - _penalty(n_parameters, n_rows)


def _penalty(n_parameters: Any, n_rows: float) -> Any:
    """Return ½ log M for each parameter; less than one row counts as one."""
    return 0.5 * np.log(max(n_rows, 1.0)) * n_parameters


class ApproximateLikelihood(EdgeScore):
    """The approximate conditional log likelihood of C11.

    A row adds α log θ of its class and β log θ of all other classes.

    Parameters
    ----------
    strength : float, default=0.5
        Added to each count, of the class and of all other classes, to get θ: the score has no value
        where a θ is zero.
    missing : {"available", "em"}, default="available"
        How missing values are handled, see ``EdgeScore``.

    Examples
    --------
    >>> from discbayes import Branching
    >>> Branching(score=ApproximateLikelihood(strength=1.0)).score
    ApproximateLikelihood(strength=1.0)
    """

    symmetric = False

    counts_pairs_only = True

    @renamed_parameters(gaps="missing")
    def __init__(self, strength: float = 0.5, missing: str = "available"):
        super().__init__(missing)
        self.strength = strength

    def weights(
        self,
        data: Rows,
        counts: Counts,
        n_jobs: int | None = None,
        skip: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the gain of each edge, from the counts of each pair of features.

        Parameters
        ----------
        data : Encoded or RowBlocks
            The rows.
        counts : Counts
            The counts of the features.
        n_jobs : int, optional
            The number of threads.
        skip : bool array (n_features, n_features), optional
            Pairs that are not measured.

        Returns
        -------
        array (n_features, n_features)
            The weight of each edge ``[p, i]``.

        Examples
        --------
        >>> from discbayes.counts import count
        >>> from discbayes.data import FrameEncoder
        >>> data = FrameEncoder().fit_transform([["x", "x"], ["x", "x"], ["y", "y"]], [0, 1, 0])
        >>> ApproximateLikelihood().weights(data, count(data)).round(4).tolist()
        [[0.0, 0.164], [0.164, 0.0]]
        """
        strength, cards = self._strength(), data.cards
        weights = np.zeros((data.n_features, data.n_features))

        def visit(first: int, seconds: np.ndarray, starts: np.ndarray, cells: np.ndarray) -> None:
            gains = np.empty((seconds.size, 2))
            acll.pair_gains(
                cells,
                starts,
                cards[first],
                cards[seconds],
                data.n_classes,
                ALPHA,
                BETA,
                strength,
                gains,
            )
            weights[first, seconds], weights[seconds, first] = gains.T

        visit_pairs(data, counts, visit, n_jobs, skip, self.em)
        return weights

    def local(self, table: np.ndarray, class_parent: bool, n_rows: float) -> float:
        """Return the score of a family from its counts.

        Parameters
        ----------
        table : array (parent values, card, n_classes)
            The counts.
        class_parent : bool
            Whether the class is a parent too.
        n_rows : float
            The weight of all rows of the data.

        Returns
        -------
        float
            The score.

        Examples
        --------
        >>> table = np.array([[[2.0, 0.0], [1.0, 3.0]]])
        >>> round(ApproximateLikelihood().local(table, class_parent=True, n_rows=6.0), 4)
        0.9159
        """
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
        require_number("strength", self.strength, above=0)
        return float(self.strength)


class LeaveOneOutLikelihood(EdgeScore):
    """The log likelihood of each row under tables that are estimated from all other rows.

    The tables back off to the class alone, as those of ``HierarchicalSmoothing``, with the strength
    of the largest likelihood. An edge has a positive weight only if it predicts rows that it was
    not estimated from, so that a search on this score ends by itself. Weights of rows are numbers
    of observations, of which one is left out.

    Parameters
    ----------
    missing : {"available", "em"}, default="available"
        How missing values are handled, see ``EdgeScore``; EM is refused, as values that it fills in
        cannot be left out.

    Examples
    --------
    >>> from discbayes import HillClimb
    >>> HillClimb(score=LeaveOneOutLikelihood()).score
    LeaveOneOutLikelihood()
    """

    symmetric = False

    counts_pairs_only = True

    def _check(self) -> None:
        super()._check()
        if self.missing == "em":
            raise ValueError(
                "LeaveOneOutLikelihood(missing='em'): values filled in by EM cannot be left out:"
                " use missing='available', or another score"
            )

    def weights(
        self,
        data: Rows,
        counts: Counts,
        n_jobs: int | None = None,
        skip: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the gain of each edge, from the counts of each pair of features.

        Parameters
        ----------
        data : Encoded or RowBlocks
            The rows.
        counts : Counts
            The counts of the features.
        n_jobs : int, optional
            The number of threads.
        skip : bool array (n_features, n_features), optional
            Pairs that are not measured.

        Returns
        -------
        array (n_features, n_features)
            The weight of each edge ``[p, i]``.

        Examples
        --------
        >>> from discbayes.counts import count
        >>> from discbayes.data import FrameEncoder
        >>> data = FrameEncoder().fit_transform([["x", "x"], ["x", "x"], ["y", "y"]] * 4, [0] * 12)
        >>> LeaveOneOutLikelihood().weights(data, count(data)).round(1).tolist()
        [[0.0, 6.0], [6.0, 0.0]]
        """
        self._check()
        cards, strengths = data.cards, np.array(STRENGTHS)
        weights = np.zeros((data.n_features, data.n_features))

        def visit(first: int, seconds: np.ndarray, starts: np.ndarray, cells: np.ndarray) -> None:
            gains = np.empty((seconds.size, 2))
            leave_one_out.pair_gains(
                cells, starts, cards[first], cards[seconds], data.n_classes, strengths, gains
            )
            weights[first, seconds], weights[seconds, first] = gains.T

        visit_pairs(data, counts, visit, n_jobs, skip)
        return weights

    def local(self, table: np.ndarray, class_parent: bool, n_rows: float) -> float:
        """Return the score of a family from its counts.

        Parameters
        ----------
        table : array (parent values, card, n_classes)
            The counts.
        class_parent : bool
            Whether the class is a parent too.
        n_rows : float
            The weight of all rows of the data.

        Returns
        -------
        float
            The score.

        Examples
        --------
        >>> table = np.array([[[2.0, 0.0], [1.0, 3.0]]])
        >>> round(LeaveOneOutLikelihood().local(table, class_parent=True, n_rows=6.0), 2)
        -4.01
        """
        if not class_parent:
            table = table.sum(axis=2, keepdims=True)
        return float(
            leave_one_out.family_likelihood(np.ascontiguousarray(table), np.array(STRENGTHS))
        )


EDGE_SCORES: dict[str, type[EdgeScore]] = {
    "ll": LogLikelihood,
    "cmi": ConditionalInformation,
    "mdl": DescriptionLength,
    "bic": DescriptionLength,
    "fcll": FactorizedLikelihood,
    "acll": ApproximateLikelihood,
    "loo": LeaveOneOutLikelihood,
    "residual": ExplainingAway,
    "interaction": Interaction,
}


def edge_score_of(given: Any) -> EdgeScore:
    """Return the edge score of a name, or the object itself.

    Parameters
    ----------
    given : str or EdgeScore
        A name of ``EDGE_SCORES``, or a score.

    Returns
    -------
    EdgeScore
        The score.

    Examples
    --------
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
        f"score={given!r} is not an edge score; those are {', '.join(map(repr, EDGE_SCORES))}."
        " Scores of whole networks, by resubstitution or on held-out rows, go with GreedyEdges"
    )
