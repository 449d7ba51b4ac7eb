"""The marginal log likelihood of rows."""

from __future__ import annotations

import numpy as np

from discbayes.objectives.objective import Objective


class MarginalLikelihood(Objective):
    """Σ weight · log P(x), for rows without a label; the classes that are given have no effect.

    Examples
    --------
    >>> log_joint = np.log([[0.3, 0.1], [0.2, 0.4]])
    >>> np.exp(MarginalLikelihood().rows(log_joint, [0, 1])).round(3)
    array([0.4, 0.6])
    """

    def _fill(
        self, log_joint: np.ndarray, y: np.ndarray, values: np.ndarray, gradient: np.ndarray
    ) -> None:
        top = log_joint.max(axis=1, keepdims=True)
        # A row that is impossible in every class counts as a tie of all of them.
        possible = np.isfinite(top)
        share = np.exp(np.where(possible, log_joint - np.where(possible, top, 0.0), 0.0))
        total = share.sum(axis=1, keepdims=True)
        values[:] = (top + np.log(total))[:, 0]
        if gradient.size:
            np.divide(share, total, out=gradient)
