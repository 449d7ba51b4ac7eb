"""The conditional log likelihood."""

from __future__ import annotations

import numpy as np

from discbayes.kernels import objective_rows as kernels
from discbayes.objectives.objective import Objective


class ConditionalLikelihood(Objective):
    """Σ weight · log P(y | x), the conditional log likelihood (CL of P10).

    Examples
    --------
    >>> log_joint = np.log([[0.3, 0.1], [0.2, 0.4]])
    >>> np.exp(ConditionalLikelihood().rows(log_joint, [0, 1])).round(3)
    array([0.75 , 0.667])
    """

    def evaluate(
        self, log_joint: np.ndarray, y: np.ndarray, weight: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Return value and gradient of a block of rows, in one pass if the log-joint is finite.

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
        >>> value, gradient = ConditionalLikelihood().evaluate(
        ...     np.log([[0.5, 0.5]]), np.array([0], np.int32), np.ones(1)
        ... )
        >>> round(value, 3), gradient
        (-0.693, array([[ 0.5, -0.5]]))
        """
        gradient = np.empty_like(log_joint)
        value = float(kernels.likelihood_total(log_joint, log_joint.shape[1], y, weight, gradient))
        return (value, gradient) if np.isfinite(value) else super().evaluate(log_joint, y, weight)

    def _fill(
        self, log_joint: np.ndarray, y: np.ndarray, values: np.ndarray, gradient: np.ndarray
    ) -> None:
        kernels.likelihood_rows(log_joint, y, values, gradient)
