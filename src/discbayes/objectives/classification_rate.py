"""The classification rate."""

from __future__ import annotations

import numpy as np

from discbayes.kernels import objective_rows as kernels
from discbayes.objectives.objective import Objective


class ClassificationRate(Objective):
    """The weighted number of correctly classified rows (CR of P10 and P12); without a gradient.

    Scores within ``TIE`` of each other are equal, and of equal classes the first is the decision.

    Examples
    --------
    >>> log_joint = np.log([[0.3, 0.1], [0.2, 0.4], [0.1, 0.1]])
    >>> ClassificationRate().rows(log_joint, [0, 0, 1])
    array([1., 0., 0.])
    >>> ClassificationRate().value(log_joint, [0, 1, 0])
    3.0
    """

    differentiable = False

    def _fill(
        self, log_joint: np.ndarray, y: np.ndarray, values: np.ndarray, gradient: np.ndarray
    ) -> None:
        kernels.rate_rows(log_joint, y, values)
