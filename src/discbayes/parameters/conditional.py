"""Maximum conditional likelihood over normalized, unconstrained or weighted tables.

==============================  ============================================================
name in the papers              learner
==============================  ============================================================
CL (P10 4.2), cross-tuned       ``MaximumConditionalLikelihood(stopping="cross-tuning")``
MCL (P13), ELR                  ``MaximumConditionalLikelihood()``
CCBN-d (Z17 3)                  ``DiscriminativeCCBN()``
CCBN-e (Z17 4)                  ``ExtendedCCBN()``
CCBN-w (Z17 5)                  ``WeightedCCBN(level=4)``
==============================  ============================================================

P10 and P13 start at the estimates of ``MaximumLikelihood``; Z17 has the m-estimate with m = 1, and
starts at zeros or, with ``start="generative"``, at the estimates. With naive Bayes all of these are
logistic regression.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discbayes.network import CPTs, Layout
from discbayes.objectives import ConditionalLikelihood, SquaredError
from discbayes.parameters.cross_validated import Setting, numbers_of
from discbayes.parameters.gradient import PENALTIES, GradientLearner
from discbayes.parameters.parameterization import LEVELS, Parameterization, Weights
from discbayes.parameters.problem import Problem

# Of Z17: the conditional log likelihood, and the mean squared error (its section 5.3).
CCBN_OBJECTIVES = {"cl": ConditionalLikelihood, "mse": SquaredError}


class _ConditionalLearner(GradientLearner):
    """Learners of Σ log P(y | x)."""

    objective = "cl"

    def _settings(self) -> list[list[Setting]]:
        strengths = sorted(numbers_of("penalty", self.penalty, PENALTIES, 0.0), reverse=True)
        objective = CCBN_OBJECTIVES[self.objective]()
        return [[Setting(strength, objective) for strength in strengths]]

    def _merit(self, problem: Problem, free: np.ndarray) -> float:
        return problem.value(free) * problem.total_weight


class MaximumConditionalLikelihood(_ConditionalLearner):
    """Normalized tables that maximize the conditional likelihood Σ log P(y | x).

    Each row of a table is a softmax of unconstrained parameters. Missing values are marginalized
    exactly.

    Parameters
    ----------
    max_iter : int, default=1000
        The maximum number of iterations.
    tol : float, default=1e-6
        The fit ends when an iteration raises the mean log P(y | x) by less than this, relative to
        ``max(|mean|, 1)``; with ``solver="cg"``, when ten iterations together do.
    stopping : {"convergence", "cross-tuning", "held-out"}, default="convergence"
        When to end: at ``tol``; after the number of iterations that is best on held-out folds of
        the training rows, which prevents overfitting of small data; or at the iteration that is
        best on one such fold, without a fit to all rows. Rows with a weight are not divided between
        folds.
    n_folds : int, default=5
        The number of folds for cross tuning, for holding out, and for choosing the penalty.
    generative : {"ml", "map"} or learner, default="ml"
        The generative estimates of the start, of the center of the penalty, and of the back-off.
    start : {"generative", "zeros"} or CPTs, default="generative"
        Where the fit starts: also tables of the same network, such as ``network_.parameters`` of a
        fitted classifier.
    penalty : float, sequence of float or "cv", default=0
        The strength λ of the penalty λ/2·‖parameters − center‖² on the unconstrained parameters.
        Several values are compared on held-out folds; "cv" has a grid.
    towards : {"zero", "generative"}, default="zero"
        The center of the penalty: zero, with no penalty on the class itself, or the generative
        tables.
    solver : {"auto", "lbfgs", "cg"}, default="auto"
        The optimizer. "auto" is L-BFGS, for unconstrained tables with a penalty and few cells in
        coordinates that even out the curvature; fits that end before convergence are always those
        of "lbfgs".
    backoff : bool, default=True
        Whether values of parents that were not seen together back off to P(feature | class).

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
        objective: str = "cl",
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
        self.objective = objective

    def _check(self) -> None:
        super()._check()
        self._check_names(objective=tuple(CCBN_OBJECTIVES))


class DiscriminativeCCBN(_CCBN):
    """Unconstrained tables that maximize Σ log P(y | x): ``d`` of Z17.

    Unconstrained parameters replace log P(c) and log θ. The problem is convex for every structure.
    Terms that are equal for all classes cancel in P(c | x), so that the solution is not unique:
    marginals and likelihoods of the network depend on the start and the penalty.

    Parameters
    ----------
    start : {"zeros", "generative"} or CPTs, default="zeros"
        Where the fit starts.
    penalty : float, sequence of float or "cv", default=0
        The strength of the penalty, as in ``MaximumConditionalLikelihood``. With naive Bayes and
        ``towards="zero"`` the fit is that of scikit-learn's ``LogisticRegression`` with C =
        1/penalty, or 2/penalty where there are two classes.
    towards : {"zero", "generative"}, default="zero"
        The center of the penalty, as in ``MaximumConditionalLikelihood``.
    generative : {"m", "ml", "map"} or learner, default="m"
        The generative estimates of the start, of the center of the penalty and of the back-off; "m"
        is the m-estimate with m = 1.
    backoff : bool, default=False
        Whether cells that were not seen back off to P(feature | class). With a penalty that made
        probabilities worse on most data: without back-off these cells are neutral.
    objective : {"cl", "mse"}, default="cl"
        What is maximized: the conditional log likelihood, or minus the mean squared error of
        P(c | x), which is not concave (``SquaredError``).
    max_iter : int, default=1000
        The maximum number of iterations.
    tol : float, default=1e-6
        The relative increase of an iteration below which the fit ends.
    stopping : {"convergence", "cross-tuning", "held-out"}, default="convergence"
        When to end, as in ``MaximumConditionalLikelihood``.
    n_folds : int, default=5
        The number of folds, as in ``MaximumConditionalLikelihood``.
    solver : {"auto", "lbfgs", "cg"}, default="auto"
        The optimizer, as in ``MaximumConditionalLikelihood``.

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
    """Normalized tables that maximize Σ log P(y | x), with the settings of Z17: ``e`` there.

    Elsewhere this is called ELR. ``MaximumConditionalLikelihood`` solves the same problem with the
    settings of P10 and P13.

    Parameters
    ----------
    start : {"zeros", "generative"} or CPTs, default="zeros"
        Where the fit starts.
    penalty : float, sequence of float or "cv", default=0
        The strength of the penalty, as in ``MaximumConditionalLikelihood``.
    towards : {"zero", "generative"}, default="zero"
        The center of the penalty, as in ``MaximumConditionalLikelihood``.
    generative : {"m", "ml", "map"} or learner, default="m"
        The generative estimates of the start, of the center of the penalty and of the back-off.
    backoff : bool, default=False
        As in ``MaximumConditionalLikelihood``, where it is on; Z17 has none.
    objective : {"cl", "mse"}, default="cl"
        What is maximized: the conditional log likelihood, or minus the mean squared error of
        P(c | x), which is not concave (``SquaredError``).
    max_iter : int, default=1000
        The maximum number of iterations.
    tol : float, default=1e-6
        The relative increase of an iteration below which the fit ends.
    stopping : {"convergence", "cross-tuning", "held-out"}, default="convergence"
        When to end, as in ``MaximumConditionalLikelihood``.
    n_folds : int, default=5
        The number of folds, as in ``MaximumConditionalLikelihood``.
    solver : {"auto", "lbfgs", "cg"}, default="auto"
        The optimizer, as in ``MaximumConditionalLikelihood``.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> clf = BayesNetClassifier("tan", ExtendedCCBN(penalty=1)).fit(iris.X, iris.y)
    >>> round(float(clf.score(iris.X, iris.y)), 2)
    0.96
    """

    parameterization = "e"


class WeightedCCBN(_CCBN):
    """Weights on the generative log θ that maximize Σ log P(y | x): ``w`` of Z17.

    Weights of one are the generative model, and a penalty ``towards="generative"`` shrinks them to
    it. The problem is convex for every structure.

    A weight applies to all of its cells, also to those that no training row is in. A weight without
    training rows stays at its start, and with a penalty it is at the center.

    Parameters
    ----------
    level : {4, 3, 2, 1}, default=4
        What has a weight of its own: 1 a feature, 2 a value, 3 a value in a class, 4 a value in a
        class with parents.
    start : {"zeros", "generative"} or CPTs, default="zeros"
        Weights of zero, of one, or the weights nearest to the tables.
    backoff : bool, default=True
        Whether cells that were not seen back off to P(feature | class). Z17 has no back-off:
        recipes such as "TAN-W" turn it off.
    penalty : float, sequence of float or "cv", default=0
        The strength λ of the penalty λ/2·‖w − center‖². Several values are compared on held-out
        folds; "cv" has a grid.
    towards : {"zero", "generative"}, default="zero"
        The center of the penalty: zero, with no penalty on the class itself, or one.
    generative : {"m", "ml", "map"} or learner, default="m"
        The learner of θ, and of the back-off.
    objective : {"cl", "mse"}, default="cl"
        What is maximized: the conditional log likelihood, or minus the mean squared error of
        P(c | x), which is not concave (``SquaredError``).
    max_iter : int, default=1000
        The maximum number of iterations.
    tol : float, default=1e-6
        The relative increase of an iteration below which the fit ends.
    stopping : {"convergence", "cross-tuning", "held-out"}, default="convergence"
        When to end, as in ``MaximumConditionalLikelihood``.
    n_folds : int, default=5
        The number of folds, as in ``MaximumConditionalLikelihood``.
    solver : {"auto", "lbfgs", "cg"}, default="auto"
        The optimizer, as in ``MaximumConditionalLikelihood``.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> shrunk = WeightedCCBN(level=1, penalty=10, towards="generative")
    >>> round(float(BayesNetClassifier("tan", shrunk).fit(iris.X, iris.y).score(iris.X, iris.y)), 2)
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
