"""What an objective is, and how its rows are added up."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from sklearn.base import BaseEstimator

from discbayes.engine import parallel_map, row_blocks
from discbayes.kernels import objective as kernels

NO_WEIGHT = np.empty(0)


class Objective(BaseEstimator):
    """A function of a log-joint and the classes of its rows, summed over the rows; more is better.

    ``log_joint`` has the shape ``(n_rows, n_classes)``, ``y`` holds class codes, ``weight`` one
    number for each row. Sums run over blocks of rows with fixed boundaries, so that they do not
    depend on ``n_jobs``.
    """

    differentiable = True

    @abstractmethod
    def _fill(
        self, log_joint: np.ndarray, y: np.ndarray, values: np.ndarray, gradient: np.ndarray
    ) -> None:
        """Write what each row is worth and, unless that array is empty, the gradient of it."""

    def _check(self) -> None:
        """Refuse settings that make no sense."""

    def rows(self, log_joint: np.ndarray, y: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """What each row is worth."""
        self._check()
        scores, classes, _ = _arrays(log_joint, y, None)
        return self._rows(scores, classes, _no_gradient(scores), n_jobs)

    def value(
        self,
        log_joint: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray | None = None,
        n_jobs: int | None = None,
    ) -> float:
        """The weighted sum over the rows."""
        self._check()
        scores, classes, weights = _arrays(log_joint, y, weight)
        return _total(self._rows(scores, classes, _no_gradient(scores), n_jobs), weights)

    def value_and_gradient(
        self,
        log_joint: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray | None = None,
        n_jobs: int | None = None,
    ) -> tuple[float, np.ndarray]:
        """The weighted sum over the rows, and its gradient with respect to the log-joint."""
        require_gradient(self)
        self._check()
        scores, classes, weights = _arrays(log_joint, y, weight)
        gradient = np.empty_like(scores)
        values = self._rows(scores, classes, gradient, n_jobs)
        kernels.scale_rows(gradient, weights)
        return _total(values, weights), gradient

    def evaluate(
        self, log_joint: np.ndarray, y: np.ndarray, weight: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """The same without a look at the arguments, for solvers that ask again and again for a
        block of rows.
        """
        values, gradient = np.empty(y.size), np.empty_like(log_joint)
        self._fill(log_joint, y, values, gradient)
        kernels.scale_rows(gradient, weight)
        return float(kernels.weighted_total(values, weight)), gradient

    def _rows(
        self, log_joint: np.ndarray, y: np.ndarray, gradient: np.ndarray, n_jobs: int | None
    ) -> np.ndarray:
        values = np.empty(y.size)

        def one(block: slice) -> None:
            self._fill(log_joint[block], y[block], values[block], gradient[block])

        parallel_map(one, row_blocks(y.size), n_jobs, work=log_joint.size * 10)
        return values


class NoGradientError(TypeError):
    """An objective without a gradient was given where one is needed."""


def require_gradient(objective: Objective) -> Objective:
    """The objective itself; an error where it has no gradient, for learners to call when they are
    made.
    """
    if not objective.differentiable:
        raise NoGradientError(
            f"{objective!r} has no gradient, so parameters cannot be learned with it: take"
            ' conditional likelihood ("cl") or margin ("mm") for the parameters, and keep this one'
            " to choose structures"
        )
    return objective


def _arrays(
    log_joint: np.ndarray, y: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The arguments in the types that the kernels are compiled for."""
    scores = np.ascontiguousarray(log_joint, dtype=np.float64)
    classes = np.ascontiguousarray(y, dtype=np.int32)
    weights = NO_WEIGHT if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
    if (
        scores.ndim != 2
        or classes.shape != scores.shape[:1]
        or weights.size not in (0, classes.size)
    ):
        raise ValueError(
            f"log_joint {scores.shape}, y {classes.shape} and weight {weights.shape} do not belong"
            " to the same rows"
        )
    if classes.size and not (classes.min() >= 0 and classes.max() < scores.shape[1]):
        raise ValueError(
            f"y holds codes that are none of the {scores.shape[1]} classes of the log-joint"
        )
    return scores, classes, weights


def _no_gradient(log_joint: np.ndarray) -> np.ndarray:
    return np.empty((0, log_joint.shape[1]))


def _total(values: np.ndarray, weight: np.ndarray) -> float:
    return float(
        sum(
            kernels.weighted_total(values[block], weight[block])
            for block in row_blocks(values.size)
        )
    )
