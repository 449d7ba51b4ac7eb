"""Discriminative parameters: the conditional likelihood, over normalised, free or weighted tables.

==============================  ============================================================
name in the papers              learner
==============================  ============================================================
CL (P10 4.2), cross-tuned       ``MaximumConditionalLikelihood(stopping="cross-tuning")``
MCL (P13), ELR                  ``MaximumConditionalLikelihood()``
CCBN-d (Z17 3)                  ``DiscriminativeCCBN()``
CCBN-e (Z17 4)                  ``ExtendedCCBN()``
CCBN-w (Z17 5)                  ``WeightedCCBN(level=4)``
==============================  ============================================================

P10 and P13 start at the relative frequencies of ``MaximumLikelihood``; Z17 has the m-estimate with
m = 1, and starts at zeros or, with ``start="generative"``, at the estimates. With naive Bayes all
of these are logistic regression.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discbayes.network import CPTs, Layout
from discbayes.objectives import ConditionalLikelihood
from discbayes.parameters.cross_validated import Setting, numbers_of
from discbayes.parameters.gradient import PENALTIES, GradientLearner
from discbayes.parameters.parameterization import LEVELS, Parameterization, Weights
from discbayes.parameters.problem import Problem


class _ConditionalLearner(GradientLearner):
    """Learners of Σ log P(y | x)."""

    def _settings(self) -> list[list[Setting]]:
        strengths = sorted(numbers_of("penalty", self.penalty, PENALTIES, 0.0), reverse=True)
        return [[Setting(strength, ConditionalLikelihood()) for strength in strengths]]

    def _merit(self, problem: Problem, free: np.ndarray) -> float:
        return problem.value(free) * problem.total_weight


class MaximumConditionalLikelihood(_ConditionalLearner):
    """Tables that maximise Σ log P(y | x), each row of a table a softmax of free numbers.

    Rows with gaps count by what is observed in them: the gaps are summed out exactly.

    Parameters
    ----------
    max_iter : int, default=1000
        The largest number of iterations.
    tol : float, default=1e-6
        The fit ends when an iteration raises the mean log P(y | x) by less, relative to
        ``max(|mean|, 1)``; with ``solver="cg"``, when ten iterations together do.
    stopping : {"convergence", "cross-tuning", "held-out"}, default="convergence"
        When to end: at ``tol``; after the number of iterations that does best on held-out folds of
        the training rows, which keeps small data from being learned by heart; or at the iteration
        that does best on one such fold, without going back to all rows. Rows with a weight stay
        whole in their fold.
    n_folds : int, default=5
        The number of folds for cross tuning, for holding out, and for choosing the penalty.
    generative : {"ml", "map"} or learner, default="ml"
        The relative frequencies of the start, of the centre of the penalty, and of the back-off.
    start : {"generative", "zeros"} or Tables, default="generative"
        Where the fit begins: also tables of the same network, such as ``network_.parameters`` of a
        fitted classifier.
    penalty : float, sequence of float or "cv", default=0
        λ of the penalty λ/2·‖free numbers − centre‖². Of several, held-out folds choose; "cv" has a
        grid.
    towards : {"zero", "generative"}, default="zero"
        The centre of the penalty: zero, where the class itself is not penalised, or the generative
        tables.
    solver : {"auto", "lbfgs", "cg"}, default="auto"
        How the maximum is found. "auto" is L-BFGS, for tables of free numbers with a penalty and
        few cells in coordinates that even out the curvature; ways that end before convergence are
        always those of "lbfgs".
    backoff : bool, default=True
        Whether parents' values that were never seen together leave the word to P(feature | class).

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> wine = load_dataset("wine")
    >>> clf = BayesNetClassifier("nb", MaximumConditionalLikelihood()).fit(wine.X, wine.y)
    >>> float(clf.score(wine.X, wine.y))
    1.0
    """

    parameterization = "e"


class _CCBN(_ConditionalLearner):
    """The defaults of Z17."""

    def __init__(
        self,
        start: Any = "zeros",
        penalty: Any = 0.0,
        towards: str = "zero",
        generative: Any = "m",
        backoff: bool = False,
        **shared: Any,
    ):
        super().__init__(
            start=start,
            penalty=penalty,
            towards=towards,
            generative=generative,
            backoff=backoff,
            **shared,
        )


class DiscriminativeCCBN(_CCBN):
    """Free numbers in the place of log P(c) and log θ that maximise Σ log P(y | x): ``d`` of Z17.

    The problem is convex on every structure. What is the same for all classes cancels in P(c | x),
    so that the solution is not unique: marginals and likelihoods of the network depend on the start
    and the penalty.

    Parameters
    ----------
    start : {"zeros", "generative"} or Tables, default="zeros"
        Where the fit begins.
    penalty, towards
        As in ``MaximumConditionalLikelihood``. With naive Bayes and ``towards="zero"`` the fit is
        that of scikit-learn's ``LogisticRegression`` with C = 1/penalty, or 2/penalty where there
        are two classes.
    generative : {"m", "ml", "map"} or learner, default="m"
        The relative frequencies of the start, of the centre of the penalty and of the back-off; "m"
        is the m-estimate with m = 1.
    max_iter, tol, stopping, n_folds, solver
        As in ``MaximumConditionalLikelihood``.
    backoff : bool, default=False
        Whether cells that were never seen leave the word to P(feature | class). Here that made
        probabilities worse on most data, where there is a penalty: without it they say nothing.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> clf = BayesNetClassifier("nb", DiscriminativeCCBN(penalty=1)).fit(iris.X, iris.y)
    >>> round(float(clf.score(iris.X, iris.y)), 2)
    0.95
    """

    parameterization = "d"
    cell_bytes = 112  # the unconstrained parameters are those of cells with rows


class ExtendedCCBN(_CCBN):
    """Normalised tables that maximise Σ log P(y | x), with the settings of Z17: ``e`` there, ELR
    elsewhere.

    The same problem as that of ``MaximumConditionalLikelihood``, which has the settings of P10 and
    P13.

    Parameters
    ----------
    start : {"zeros", "generative"} or Tables, default="zeros"
        Where the fit begins.
    penalty, towards
        As in ``MaximumConditionalLikelihood``: the free numbers are those before the softmax.
    generative : {"m", "ml", "map"} or learner, default="m"
        The relative frequencies of the start, of the centre of the penalty and of the back-off.
    max_iter, tol, stopping, n_folds, solver
        As in ``MaximumConditionalLikelihood``.
    backoff : bool, default=False
        As in ``MaximumConditionalLikelihood``, where it is on; Z17 has none.
    """

    parameterization = "e"


class WeightedCCBN(_CCBN):
    """Weights on the generative log θ that maximise Σ log P(y | x): ``w`` of Z17.

    Weights of one are the generative model, and a penalty ``towards="generative"`` pulls them
    there. The problem is convex on every structure.

    A weight applies to all of its cells, also to those that no training row has. One that no
    training row says anything about stays at its start, and with a penalty it is at the centre.

    Parameters
    ----------
    level : {4, 3, 2, 1}, default=4
        What has a weight of its own: 1 a feature, 2 a value, 3 a value in a class, 4 a value in a
        class with parents.
    start : {"zeros", "generative"} or Tables, default="zeros"
        Weights of zero, of one, or those that come nearest to the tables.
    penalty : float, sequence of float or "cv", default=0
        λ of the penalty λ/2·‖w − centre‖². Of several, held-out folds choose; "cv" has a grid.
    towards : {"zero", "generative"}, default="zero"
        The centre of the penalty: zero, where the class itself is not penalised, or one.
    generative : {"m", "ml", "map"} or learner, default="m"
        θ, and that of the back-off.
    max_iter, tol, stopping, n_folds, solver
        As in ``MaximumConditionalLikelihood``.
    backoff : bool, default=True
        Whether cells that were never seen leave the word to P(feature | class). Z17 has no
        back-off: recipes such as "TAN-W" turn it off.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> pulled = WeightedCCBN(level=1, penalty=10, towards="generative")
    >>> round(float(BayesNetClassifier("tan", pulled).fit(iris.X, iris.y).score(iris.X, iris.y)), 2)
    0.95
    """

    parameterization = "w"
    cell_bytes = 112  # there is one unconstrained parameter for several cells

    def __init__(self, level: int = 4, start: Any = "zeros", backoff: bool = True, **shared: Any):
        super().__init__(start, backoff=backoff, **shared)
        self.level = level

    def _check(self) -> None:
        if self.level not in LEVELS:
            raise ValueError(f"level={self.level!r} is not one of 1, 2, 3 and 4")
        super()._check()

    def _parameterized(
        self, layout: Layout, seen: np.ndarray, generative: CPTs, around: CPTs
    ) -> Parameterization:
        return Weights(layout, seen, generative, around, self.level)
