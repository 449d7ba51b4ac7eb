"""The squared error of the posterior."""

from __future__ import annotations

import numpy as np

from discbayes.kernels import objective_rows as kernels
from discbayes.objectives.objective import Objective


class SquaredError(Objective):
    """−½ Σ weight · Σ_c (1[c = y] − P(c | x))², the mean squared error of Z17 with its sign turned.

    A row costs at most one, however wrong it is. As a function of parameters it is not concave, so
    that a fit may end in a local optimum.

    Examples
    --------
    >>> log_joint = np.log([[0.3, 0.1], [0.2, 0.4]])
    >>> SquaredError().rows(log_joint, [0, 1]).round(4)
    array([-0.0625, -0.1111])
    """

    def _fill(
        self, log_joint: np.ndarray, y: np.ndarray, values: np.ndarray, gradient: np.ndarray
    ) -> None:
        kernels.square_rows(log_joint, y, values, gradient)
