"""Learners that choose hyperparameters by cross-validation, along paths of warm starts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from discbayes._settings import require_choice, require_integer, require_number
from discbayes._shared_settings import SharedSettings
from discbayes.counts import Counts, count
from discbayes.data.domain import Encoded
from discbayes.data.folds import stratified_folds
from discbayes.data.rows import Rows
from discbayes.engine import Context, parallel_map
from discbayes.network import Layout, Structure
from discbayes.objectives import Objective
from discbayes.parameters.fits import Fit
from discbayes.parameters.log_scores import LogScores
from discbayes.parameters.parameterization import Parameterization
from discbayes.parameters.problem import Problem


@dataclass(frozen=True)
class Setting:
    """Hyperparameters to choose: the strength of the penalty, and those of the objective."""

    penalty: float
    objective: Objective


@dataclass(frozen=True)
class Fold:
    """Training rows and held-out rows of a fold."""

    rest: Encoded
    test: Encoded


class CrossValidatedLearner(SharedSettings):
    """Base of discriminative learners; subclasses define the settings and the fit."""

    # memory for each cell of the tables, measured: most of it are the last steps of L-BFGS
    cell_bytes = 256
    # Rows without a label, whose likelihood is added to the objective (`semi_supervised.py`).
    unlabeled_rows: Encoded | None = None

    def __init__(self, max_iter: int = 1000, tol: float = 1e-6, n_folds: int = 5):
        self.max_iter = max_iter
        self.tol = tol
        self.n_folds = n_folds

    @abstractmethod
    def _settings(self) -> list[list[Setting]]:
        """Return paths of settings to choose from; each fit starts at the last of its path."""

    @abstractmethod
    def _merit(self, problem: Problem, free: np.ndarray) -> float:
        """Return the score of held-out rows by which settings are compared: more is better."""

    @abstractmethod
    def _fit(
        self,
        setting: Setting,
        data: Rows,
        counts: Counts,
        structure: Structure,
        n_jobs: int | None,
    ) -> Fit:
        """Return the problem to maximize, and its start."""

    @abstractmethod
    def _solve(self, fit: Any, start: np.ndarray) -> np.ndarray:
        """Return the unconstrained parameters of the optimum, well enough to compare settings."""

    def _unlabeled_scores(
        self, parameterization: Parameterization, n_jobs: int | None
    ) -> LogScores | None:
        """Return the rows without a label, prepared for a fit; None if there are none."""
        if self.unlabeled_rows is None:
            return None
        layout, normalized = parameterization.layout, parameterization.normalized
        return LogScores(self.unlabeled_rows, layout, normalized, n_jobs)

    def _require_memory(self, data: Rows, structure: Structure) -> None:
        """Raise an error if the tables do not fit in memory, before anything is counted."""
        Layout.of(structure, data).require(data.domain.names, self.cell_bytes)

    def _folds(self, data: Rows, context: Context) -> list[Fold]:
        """Return folds of the rows, without those that have no training or no held-out rows."""
        rows = data.in_memory(f"{self!r}: choosing by held-out rows")
        folds = stratified_folds(rows.classes, self.n_folds, context.rng)
        pairs = [
            Fold(rows.take(folds != fold), rows.take(folds == fold)) for fold in range(self.n_folds)
        ]
        return [pair for pair in pairs if pair.rest.n_samples and pair.test.n_samples]

    def _chosen(self, data: Rows, structure: Structure, context: Context) -> Setting:
        """Return the setting with the best held-out score; of equal ones the first."""
        paths = self._settings()
        settings = [setting for path in paths for setting in path]
        if len(settings) == 1:
            return settings[0]
        folds = self._folds(data, context)
        jobs = list(product(folds, paths))
        merits = parallel_map(lambda job: self._along(*job, structure), jobs, context.n_jobs)
        by_fold = [
            np.concatenate(merits[k : k + len(paths)]) for k in range(0, len(jobs), len(paths))
        ]
        total = sum(by_fold, np.zeros(len(settings)))
        best = settings[int(np.argmax(total >= total.max() - 1e-9 * abs(total.max())))]
        weight = sum(
            float(fold.test.n_samples if fold.test.weight is None else fold.test.weight.sum())
            for fold in folds
        )
        for setting, merit in zip(settings, total, strict=True):
            context.record(
                setting=repr(setting), score=float(merit), held_out=float(merit / weight)
            )
        return best

    def _along(self, fold: Fold, path: Sequence[Setting], structure: Structure) -> np.ndarray:
        """Return the held-out score of each setting of a path, with warm starts."""
        counts, merits = count(fold.rest), []
        free: np.ndarray | None = None
        for setting in path:
            fit = self._fit(setting, fold.rest, counts, structure, None)
            free = self._solve(fit, fit.start if free is None else free)
            merits.append(self._merit(fit.judge(fold.test), free))
        return np.array(merits)

    def _check(self) -> None:
        for name, least in (("max_iter", 0), ("n_folds", 2)):
            require_integer(name, getattr(self, name), least)
        require_number("tol", self.tol)
        if 0 < self.tol < np.finfo(float).eps:
            raise ValueError(
                f"tol={self.tol!r} is less than a double can tell apart: use 1e-12, or 0 to go on"
                " until rounding hides any change"
            )
        for path in self._settings():
            for setting in path:
                setting.objective._check()

    def _check_names(self, **known: Collection[str]) -> None:
        for name, names in known.items():
            require_choice(name, getattr(self, name), names)


def numbers_of(
    name: str, given: Any, grid: Iterable[float], least: float, strictly: bool = False
) -> list[float]:
    """Return a number, the numbers of a sequence, or the grid for "cv"; an error if invalid."""
    if isinstance(given, str) and given != "cv":
        raise ValueError(f'{name}={given!r} is not a number, a list of numbers, or "cv"')
    listed = [float(v) for v in np.atleast_1d(list(grid) if isinstance(given, str) else given)]
    if not listed:
        raise ValueError(
            f'{name}={given!r} has no number to choose: give some, or "cv" for the default grid'
        )
    for value in listed:
        if not (np.isfinite(value) and (value > least if strictly else value >= least)):
            bound = f"above {least:g}" if strictly else f"at least {least:g}"
            raise ValueError(f"{name}={value!r} must be a finite number that is {bound}")
    return listed
