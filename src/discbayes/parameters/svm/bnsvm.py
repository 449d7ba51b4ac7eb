"""BN-SVM: problem (9) of P13."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discbayes.counts import Counts, count_families
from discbayes.data.rows import Rows
from discbayes.network import Layout, Structure
from discbayes.parameters.cross_validated import Setting
from discbayes.parameters.log_scores import LogScores
from discbayes.parameters.parameterization import Direct, Numbers
from discbayes.parameters.problem import Penalty, Problem
from discbayes.parameters.starts import zero_tables
from discbayes.parameters.svm.descent import MarginFit, likelihood_counts
from discbayes.parameters.svm.duality import Bound
from discbayes.parameters.svm.margin_learner import LAMS, MarginLearner
from discbayes.parameters.svm.reference import NORMS, Solution, solve_norm_margin


class BNSVM(MarginLearner):
    """A support vector machine over the cells of a network (P13, problem 9).

    It minimizes ½‖ω‖² + λ Σ slack. The values ω are then turned into a normalized network with the
    same P(c | x), if the parents of every feature are joined (naive Bayes, TAN). Otherwise they
    stay as they are, and stand for p(c, x) ∝ exp(log-joint). They do not model the distribution of
    the rows: likelihoods, and predictions for rows with missing values, mean little; see
    ``MLBNSVM``.

    Parameters
    ----------
    lam : float, sequence of float or "cv", default=1
        The cost λ of a slack of one. Several values are compared by accuracy on held-out folds;
        "cv" has P13's values, 2⁻² to 2¹⁰.
    gamma : float, sequence of float or "cv", default=1
        The required margin γ of rows. With the square norm the optimum only scales with it,
        if λ does too.
    norm : {"l2", "l1", "likelihood"}, default="l2"
        The norm: ½‖ω‖²; or ``Σ |ω|``, at whose optimum most values are zero, or ``Σ |n·ω|`` with
        the counts n, which only the reference solver has.
    eta : float, default=10
        The sharpness of the soft maximum over the other classes.
    radius : float, optional
        The radius of the circle that rounds the corner of the slack; min(1, γ) by default.
    solver : {"auto", "lbfgs", "reference"}, default="auto"
        L-BFGS, or the exact problem by a convex solver (``pip install 'discbayes[solver]'``), for
        small data: without soft maximum and rounded corner, so that ``eta`` and ``radius`` have no
        effect.
    max_iter : int, default=3000
        The maximum number of iterations.
    tol : float, default=1e-3
        The fit ends when it is at most this share of the objective above the optimum, by a bound
        from the dual problem. With missing values, which are marginalized and change the problem,
        it ends when an iteration changes less than a thousandth of that.
    n_folds : int, default=5
        The number of folds for choosing λ and γ. Fits that are only compared end at a relative
        duality gap of 1e-2, or after 200 iterations.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> wine = load_dataset("wine")
    >>> float(BayesNetClassifier("nb", BNSVM()).fit(wine.X, wine.y).score(wine.X, wine.y))
    1.0
    """

    lams = LAMS[1:]
    norm_strength = 1.0
    solvers = ("auto", "lbfgs", "reference")

    def __init__(self, lam: Any = 1.0, gamma: Any = 1.0, norm: str = "l2", **shared: Any):
        super().__init__(lam, gamma, **shared)
        self.norm = norm

    def _check(self) -> None:
        super()._check()
        self._check_names(norm=NORMS)
        if self.norm != "l2" and self.solver != "reference":
            raise ValueError(
                f'norm="{self.norm}" needs solver="reference": its corners have no gradient'
            )

    def _fit(
        self,
        setting: Setting,
        data: Rows,
        counts: Counts,
        structure: Structure,
        n_jobs: int | None,
    ) -> MarginFit:
        layout = Layout.of(structure, data)
        families = count_families(data, layout, counts, n_jobs)
        parameterization = Direct(layout, np.ones(layout.size, bool), zero_tables(layout))
        center = np.zeros(parameterization.size)
        penalty = Penalty(setting.penalty, center, parameterization.repeats)
        scores = LogScores(data, layout, False, n_jobs)
        problem = Problem(setting.objective, scores, parameterization, n_jobs, penalty)
        return MarginFit(problem, center, data, families)

    def _bound(self, bound: Bound) -> Callable[[Numbers], float]:
        return bound.of_norm

    def _by_reference(self, fit: MarginFit) -> Solution:
        slack, layout = fit.slack, fit.families.layout
        counts = likelihood_counts(fit.families, 1.0)
        return solve_norm_margin(
            fit.data.in_memory('solver="reference"'),
            layout,
            counts.prior,
            counts.cells,
            slack.lam,
            slack.gamma,
            self.norm,
        )
