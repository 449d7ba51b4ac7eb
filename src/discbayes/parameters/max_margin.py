"""Maximum margin parameters of normalized tables (P12 5.2).

Pernkopf, Wohlmayr & Tschiatschek 2012.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discbayes.objectives import ClassificationRate, Margin
from discbayes.parameters.cross_validated import Setting, numbers_of
from discbayes.parameters.gradient import GradientLearner
from discbayes.parameters.problem import Problem

LAMS = tuple(float(x) for x in np.linspace(0.01, 1.0, 10))  # P13 5.3
KAPPAS = tuple(float(x) for x in np.linspace(0.01, 0.5, 10))


class MaxMargin(GradientLearner):
    """Tables that maximize the margin Σ h(λ·log d) of all rows.

    d is P(y, x) divided by that of the best other class, and h is min(1, ·) with a rounded corner.
    Missing values are marginalized exactly.

    Parameters
    ----------
    lam : float, sequence of float or "cv", default=0.1
        The scale λ: the margin of a row is full from log d = 1/λ on. Several values are compared by
        accuracy on held-out folds; "cv" has the ten values of P13, 0.01 to 1.
    kappa : float, sequence of float or "cv", default=0.5
        Half the width κ of the interval in which the corner of h is rounded; "cv" has ten values,
        0.01 to 0.5.
    eta : float, default=10
        The sharpness of the soft maximum over the other classes.
    max_iter : int, default=1000
        The maximum number of iterations.
    tol : float, default=1e-6
        The relative increase of an iteration below which the fit ends.
    stopping : {"convergence", "cross-tuning", "held-out"}, default="convergence"
        When to end, as in ``MaximumConditionalLikelihood``.
    n_folds : int, default=5
        The number of folds, as in ``MaximumConditionalLikelihood``.
    generative : {"ml", "map"} or learner, default="ml"
        The generative estimates, as in ``MaximumConditionalLikelihood``.
    start : {"generative", "zeros"} or CPTs, default="generative"
        Where the fit starts, as in ``MaximumConditionalLikelihood``.
    penalty : float, sequence of float or "cv", default=0
        The strength of the penalty, as in ``MaximumConditionalLikelihood``.
    towards : {"zero", "generative"}, default="zero"
        The center of the penalty, as in ``MaximumConditionalLikelihood``.
    solver : {"auto", "lbfgs", "cg"}, default="auto"
        The optimizer, as in ``MaximumConditionalLikelihood``.
    backoff : bool, default=True
        Whether unseen values back off, as in ``MaximumConditionalLikelihood``.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> wine = load_dataset("wine")
    >>> float(BayesNetClassifier("nb", MaxMargin()).fit(wine.X, wine.y).score(wine.X, wine.y))
    1.0
    """

    parameterization = "e"

    def __init__(self, lam: Any = 0.1, kappa: Any = 0.5, eta: float = 10.0, **shared: Any):
        super().__init__(**shared)
        self.lam = lam
        self.kappa = kappa
        self.eta = eta

    def _settings(self) -> list[list[Setting]]:
        # the largest first: after a fit for a small λ the margins are full for larger ones, whose
        # gradient vanishes
        lams = sorted(numbers_of("lam", self.lam, LAMS, 0.0, strictly=True), reverse=True)
        kappas = numbers_of("kappa", self.kappa, KAPPAS, 0.0)
        penalties = sorted(
            numbers_of("penalty", self.penalty, (1.0, 0.1, 0.01, 0.0), 0.0), reverse=True
        )
        return [
            [Setting(penalty, Margin(lam, self.eta, kappa)) for lam in lams]
            for penalty in penalties
            for kappa in kappas
        ]

    def _merit(self, problem: Problem, free: np.ndarray) -> float:
        return problem.total_of(ClassificationRate(), free)
