"""Discriminative parameters: the margin, over normalised tables (Pernkopf, Wohlmayr & Tschiatschek
2012; P12 5.2).
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
    """Tables that maximise Σ h(λ·log d), where d is P(y, x) over that of the best rival, and h a
    rounded min(1, ·).

    Rows with gaps count by what is observed in them: the gaps are summed out exactly.

    Parameters
    ----------
    lam : float, sequence of float or "cv", default=0.1
        λ: a row counts fully from log d = 1/λ on. Of several, held-out folds choose by their rate
        of right decisions; "cv" has the ten values of P13, 0.01 to 1.
    kappa : float, sequence of float or "cv", default=0.5
        κ: half the width of the part in which the corner of h is rounded off; "cv" has ten values,
        0.01 to 0.5.
    eta : float, default=10
        How sharp the soft maximum over the rivals is.
    max_iter, tol, stopping, n_folds, generative, start, penalty, towards, solver, backoff
        As in ``MaximumConditionalLikelihood``.

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
        # the largest first: a fit for a small λ has margins with which larger ones see nothing left
        # to do
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
