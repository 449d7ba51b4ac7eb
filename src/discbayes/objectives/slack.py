"""The slack."""

from __future__ import annotations

import numpy as np

from discbayes._settings import require_number
from discbayes.kernels import objective_rows as kernels
from discbayes.objectives.objective import Objective


class Slack(Objective):
    """The cost of margins below a target, as in support vector machines (P13).

    The value is −λ Σ weight · h(γ − log d), where d = P(y, x) / max over the other classes of
    P(c, x), and h(z) = max(0, z).

    Parameters
    ----------
    gamma : float, default=1.0
        The margin γ: rows with log d above it cost nothing.
    lam : float, default=1.0
        The price λ of a slack of one.
    eta : float or None, default=None
        With a number η the maximum is soft, (1/η) log Σ exp(η·log P(c, x)), and so has a gradient
        everywhere.
    radius : float, default=0.0
        Radius of the circle that rounds off the corner of h (h_R of P13): nothing is paid below z =
        R·(1 − √2), and z itself above R·(1 − √½).

    Examples
    --------
    >>> log_joint = np.array([[0.0, -2.0], [0.0, -0.5], [-1.0, 0.0]])
    >>> Slack().rows(log_joint, [0, 0, 0])
    array([-0. , -0.5, -2. ])
    """

    def __init__(
        self, gamma: float = 1.0, lam: float = 1.0, eta: float | None = None, radius: float = 0.0
    ):
        self.gamma = gamma
        self.lam = lam
        self.eta = eta
        self.radius = radius

    def _check(self) -> None:
        require_number("gamma", self.gamma, 0, ": it is the margin that rows are to reach")
        require_number("lam", self.lam)
        if self.eta is not None:
            require_number("eta", self.eta, 0, ", or None for the hard maximum")
        require_number("radius", self.radius)

    def _fill(
        self, log_joint: np.ndarray, y: np.ndarray, values: np.ndarray, gradient: np.ndarray
    ) -> None:
        kernels.slack_rows(log_joint, y, *self._numbers, values, gradient)
        values *= self.lam
        gradient *= self.lam

    def conjugate(
        self, log_joint: np.ndarray, y: np.ndarray, weight: np.ndarray, factors: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Return Σ λ · weight · S*(r) and λ · weight · r, for bounds on the optimum.

        ``r`` is the gradient of the slack S of a row. S(L) ≥ r·L − S*(r) for every log-joint L, so
        that sums over rows are lower bounds.

        Parameters
        ----------
        log_joint : ndarray of float64, shape (n_rows, n_classes)
            Log P(c, x), C-contiguous.
        y : ndarray of int32, shape (n_rows,)
            Class codes.
        weight : ndarray of float64, shape (n_rows,)
            Weights of the rows.
        factors : ndarray of shape (n_rows, n_classes) or (0, 0)
            Numbers of at most one by which the part of each rival in ``r`` is scaled down; empty
            for ones.

        Returns
        -------
        total : float
            The sum of the conjugates.
        residual : ndarray of shape (n_rows, n_classes)
            The scaled gradients.

        Examples
        --------
        >>> Slack().conjugate(
        ...     np.array([[0.0, -0.5]]), np.array([0], np.int32), np.ones(1), np.empty((0, 0))
        ... )
        (-1.0, array([[-1.,  1.]]))
        """
        residual = np.empty_like(log_joint)
        total = kernels.slack_conjugate(log_joint, y, weight, *self._numbers, factors, residual)
        residual *= self.lam
        return self.lam * float(total), residual

    @property
    def _numbers(self) -> tuple[float, float, float]:
        return float(self.gamma), 0.0 if self.eta is None else float(self.eta), float(self.radius)
