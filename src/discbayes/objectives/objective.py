"""The base class of objectives: values of rows, their sum, and its gradient."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from sklearn.base import BaseEstimator

from discbayes.engine import parallel_map, row_blocks
from discbayes.kernels import objective_rows as kernels

NO_WEIGHT = np.empty(0)


class Objective(BaseEstimator):
    """A function of a log-joint and the classes of its rows, summed over the rows; more is better.

    Sums run over blocks of rows with fixed boundaries, so that they do not depend on ``n_jobs``.
    Subclasses write the values of rows, and the gradient, in ``_fill``.

    Examples
    --------
    >>> from discbayes import ConditionalLikelihood
    >>> isinstance(ConditionalLikelihood(), Objective)
    True
    """

    differentiable = True

    @abstractmethod
    def _fill(
        self, log_joint: np.ndarray, y: np.ndarray, values: np.ndarray, gradient: np.ndarray
    ) -> None:
        """Write the value of each row and, unless that array is empty, its gradient."""

    def _check(self) -> None:
        """Refuse settings that make no sense."""

    def rows(self, log_joint: np.ndarray, y: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Return the value of each row.

        Parameters
        ----------
        log_joint : array of shape (n_rows, n_classes)
            Log P(c, x).
        y : array of shape (n_rows,)
            Class codes.
        n_jobs : int, optional
            Number of threads.

        Returns
        -------
        ndarray of shape (n_rows,)
            The values, without weights.

        Examples
        --------
        >>> from discbayes import ClassificationRate
        >>> ClassificationRate().rows([[0.0, -1.0], [0.0, -1.0]], [0, 1])
        array([1., 0.])
        """
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
        """Return the weighted sum over the rows.

        Parameters
        ----------
        log_joint : array of shape (n_rows, n_classes)
            Log P(c, x).
        y : array of shape (n_rows,)
            Class codes.
        weight : array of shape (n_rows,), optional
            Weights of the rows; ones by default.
        n_jobs : int, optional
            Number of threads.

        Returns
        -------
        float
            The sum.

        Examples
        --------
        >>> from discbayes import ClassificationRate
        >>> ClassificationRate().value([[0.0, -1.0], [0.0, -1.0]], [0, 1], [2.0, 1.0])
        2.0
        """
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
        """Return the weighted sum over the rows, and its gradient.

        Parameters
        ----------
        log_joint : array of shape (n_rows, n_classes)
            Log P(c, x).
        y : array of shape (n_rows,)
            Class codes.
        weight : array of shape (n_rows,), optional
            Weights of the rows; ones by default.
        n_jobs : int, optional
            Number of threads.

        Returns
        -------
        value : float
            The sum.
        gradient : ndarray of shape (n_rows, n_classes)
            Its gradient with respect to the log-joint.

        Examples
        --------
        >>> from discbayes import Margin
        >>> Margin(lam=0.1).value_and_gradient([[0.0, -2.0]], [0])
        (0.2, array([[ 0.1, -0.1]]))
        """
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
        """Return value and gradient of a block of rows, without checks, for solvers.

        Parameters
        ----------
        log_joint : ndarray of float64, shape (n_rows, n_classes)
            Log P(c, x), C-contiguous.
        y : ndarray of int32, shape (n_rows,)
            Class codes.
        weight : ndarray of float64, shape (n_rows,) or (0,)
            Weights of the rows; empty for ones.

        Returns
        -------
        value : float
            The weighted sum over the rows.
        gradient : ndarray of shape (n_rows, n_classes)
            Its gradient with respect to the log-joint.

        Examples
        --------
        >>> from discbayes import Margin
        >>> Margin().evaluate(np.array([[0.0, -2.0]]), np.array([0], np.int32), np.ones(1))
        (0.2, array([[ 0.1, -0.1]]))
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
    """Return the objective itself; raise an error if it has no gradient."""
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
    """Return the arguments in the types that the kernels are compiled for."""
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
            f"y holds codes that are not among the {scores.shape[1]} classes of the log-joint"
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
