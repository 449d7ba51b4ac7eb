"""Base of BN-SVM and ML-BN-SVM: choice of λ and γ, solvers, and tables of a solution."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable
from itertools import count as count_up
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from discbayes.counts import Counts
from discbayes.data.rows import Rows
from discbayes.engine import Context, Interrupts
from discbayes.network import CPTs, Structure, normalize
from discbayes.objectives import ClassificationRate, Slack
from discbayes.optim import Outcome
from discbayes.parameters.cross_validated import CrossValidatedLearner, Setting, numbers_of
from discbayes.parameters.parameterization import Numbers
from discbayes.parameters.problem import Problem
from discbayes.parameters.svm.descent import Ending, MarginFit, descend
from discbayes.parameters.svm.duality import Bound
from discbayes.parameters.svm.reference import Solution

GAMMAS = (0.1, 1.0, 5.0, 10.0, 15.0, 20.0)  # P13 5.3
LAMS = (0.0, *(2.0**k for k in range(-2, 11)))
CHOOSING_TOL, CHOOSING_ITER = 1e-2, 200  # of fits that are only compared with each other

Record = Callable[[float, float], None]


class MarginLearner(CrossValidatedLearner):
    """Base of both learners."""

    lams: tuple[float, ...] = LAMS  # the grid of lam="cv"
    cell_bytes = 352  # as in all such learners, measured
    supports_blocks = True
    norm_strength = 0.0  # of ½‖ω‖²
    solvers: tuple[str, ...]

    def __init__(
        self,
        lam: Any = 1.0,
        gamma: Any = 1.0,
        eta: float = 10.0,
        radius: float | None = None,
        solver: str = "auto",
        max_iter: int = 3000,
        tol: float = 1e-3,
        n_folds: int = 5,
    ):
        super().__init__(max_iter, tol, n_folds)
        self.lam = lam
        self.gamma = gamma
        self.eta = eta
        self.radius = radius
        self.solver = solver

    @abstractmethod
    def _fit(
        self,
        setting: Setting,
        data: Rows,
        counts: Counts,
        structure: Structure,
        n_jobs: int | None,
    ) -> MarginFit:
        """Return the problem to minimize, and its start."""

    def learn(self, data: Rows, counts: Counts, structure: Structure, context: Context) -> CPTs:
        """Learn the tables of a structure, after choosing λ and γ if there are several.

        Parameters
        ----------
        data : Rows
            The rows.
        counts : Counts
            Counts of the class and of each feature.
        structure : Structure
            The structure.
        context : Context
            Threads, random numbers, and where iterations are recorded.

        Returns
        -------
        CPTs
            The conditional probability tables.
        """
        self._check()
        self._require_memory(data, structure)
        setting = self._chosen(data, structure, context)
        fit = self._fit(setting, data, counts, structure, context.n_jobs)
        iterations, weight = count_up(1), fit.problem.total_weight

        def record(loss: float, duality_gap: float) -> None:
            context.record(
                most=self.max_iter,
                iteration=next(iterations),
                score=-loss * weight,
                gap=duality_gap,
            )

        ending = self._minimize(fit, fit.start, self.tol, self.max_iter, record, context.interrupts)
        ending = self._certified(fit, ending, context.interrupts)
        context.record(
            iteration=ending.outcome.n_iter,
            score=-ending.outcome.value * weight,
            gap=ending.duality_gap,
        )
        self._warn_of_the_limit(ending)
        return self._tables(fit, ending.outcome.point)

    def _slack(self, gamma: float, lam: float) -> Slack:
        radius = min(1.0, gamma) if self.radius is None else self.radius
        return Slack(gamma, lam, self.eta, radius)

    def _settings(self) -> list[list[Setting]]:
        lams = sorted(numbers_of("lam", self.lam, self.lams, 0.0))
        return [
            [Setting(self.norm_strength, self._slack(gamma, lam)) for lam in lams]
            for gamma in self._gammas()
        ]

    def _gammas(self) -> list[float]:
        return numbers_of("gamma", self.gamma, GAMMAS, 0.0, strictly=True)

    def _merit(self, problem: Problem, free: np.ndarray) -> float:
        return problem.total_of(ClassificationRate(), free)

    def _solve(self, fit: MarginFit, start: np.ndarray) -> np.ndarray:
        tol, max_iter = max(self.tol, CHOOSING_TOL), min(self.max_iter, CHOOSING_ITER)
        return self._minimize(fit, start, tol, max_iter).outcome.point

    def _minimize(
        self,
        fit: MarginFit,
        start: np.ndarray,
        tol: float,
        max_iter: int,
        record: Record | None = None,
        interrupts: Interrupts | None = None,
    ) -> Ending:
        """Return the optimum, to a relative duality gap of ``tol``."""
        if self.solver == "reference":
            found = self._by_reference(fit)
            free = fit.problem.parameterization.start(found.tables)
            return Ending(Outcome(free, found.value / fit.problem.total_weight, 0, True), found.gap)
        bound = self._bound(Bound(fit.problem)) if fit.is_convex else None
        return descend(fit, bound, start, tol, max_iter, record, interrupts)

    @abstractmethod
    def _bound(self, bound: Bound) -> Callable[[Numbers], float]:
        """Return a lower bound of the objective."""

    def _certified(
        self, fit: MarginFit, ending: Ending, interrupts: Interrupts | None = None
    ) -> Ending:
        """Return the ending with the smallest duality gap that is known."""
        return ending

    @abstractmethod
    def _by_reference(self, fit: MarginFit) -> Solution:
        """Return the optimum of the problem without smoothing, by a convex solver."""

    def _tables(self, fit: MarginFit, free: np.ndarray) -> CPTs:
        """Return the tables of a solution, normalized if a network has the same p(c, x)."""
        tables = fit.tables(free)
        return normalize(tables) if tables.structure.is_moral else tables

    def _check(self) -> None:
        super()._check()
        self._check_names(solver=self.solvers)
        if self.eta is None:
            raise ValueError(
                "eta=None, the hard maximum, has no gradient everywhere: use a large number"
            )

    def _warn_of_the_limit(self, ending: Ending) -> None:
        """Warn if the fit ended before it was within the tolerance."""
        if ending.duality_gap <= self.tol:
            return
        far = f"at most {ending.duality_gap:.2g} of the objective above the optimum"
        if not ending.outcome.converged:
            known = "" if math.isnan(ending.duality_gap) else f", {far}"
            message = (
                f"the fit ended after max_iter={self.max_iter} iterations{known}: raise max_iter or"
                " tol, or lower lam"
            )
        elif ending.duality_gap > self.tol and not ending.outcome.interrupted:
            message = f"the fit ended {far}, {ending.reason}"
        else:
            return
        warnings.warn(message, ConvergenceWarning, stacklevel=3)
