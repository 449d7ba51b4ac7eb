"""The margin."""

from __future__ import annotations

import numpy as np

from discbayes._settings import require_number
from discbayes.kernels import objective_rows as kernels
from discbayes.objectives.objective import Objective


class Margin(Objective):
    """The sum of the margins of all rows, each up to a limit (MM of P10).

    The value is Σ weight · h(λ·log d), where d = P(y, x) / max over the other classes of P(c, x),
    and h(z) = min(1, z). Where the maximum or the corner of h is sharp, the gradient is that of one
    side.

    Parameters
    ----------
    lam : float, default=0.1
        Scale λ of the margin: a row counts fully from log d = 1/λ on.
    eta : float or None, default=None
        With a number η the maximum is soft, (1/η) log Σ exp(η·log P(c, x)), and so has a gradient
        everywhere.
    kappa : float, default=0.0
        Half-width κ of the part around z = 1 in which the corner of h is rounded off by a parabola.

    Examples
    --------
    >>> log_joint = np.array([[0.0, -2.0], [0.0, -20.0], [-1.0, 0.0]])
    >>> Margin(lam=0.1).rows(log_joint, [0, 0, 0])
    array([ 0.2,  1. , -0.1])
    """

    def __init__(self, lam: float = 0.1, eta: float | None = None, kappa: float = 0.0):
        self.lam = lam
        self.eta = eta
        self.kappa = kappa

    def _check(self) -> None:
        require_number("lam", self.lam, above=0)
        if self.eta is not None:
            require_number("eta", self.eta, 0, ", or None for the hard maximum")
        require_number("kappa", self.kappa)

    def _fill(
        self, log_joint: np.ndarray, y: np.ndarray, values: np.ndarray, gradient: np.ndarray
    ) -> None:
        eta = 0.0 if self.eta is None else float(self.eta)
        kernels.margin_rows(log_joint, y, float(self.lam), eta, float(self.kappa), values, gradient)
