"""The conditional log likelihood."""

from __future__ import annotations

import numpy as np

from discbayes.kernels import objective as kernels
from discbayes.objectives.base import Objective


class ConditionalLikelihood(Objective):
    """Σ weight · log P(y | x), the conditional log likelihood (CL of P10).

    Examples
    --------
    >>> log_joint = np.log([[0.3, 0.1], [0.2, 0.4]])
    >>> np.exp(ConditionalLikelihood().rows(log_joint, [0, 1])).round(3)
    array([0.75 , 0.667])
    """

    def _fill(self, log_joint: np.ndarray, y: np.ndarray, values: np.ndarray, gradient: np.ndarray) -> None:
        kernels.likelihood_rows(log_joint, y, values, gradient)
