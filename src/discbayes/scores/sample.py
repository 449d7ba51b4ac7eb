"""Sample scores: an objective on the log-joint of the rows, evaluated on rows that were, or were not, learned from.

A score is a point of a product:

==============  ==================================================================
objective       "cr", "cl", "mm", or an object such as ``Margin(0.1)``
evaluation      "resubstitution", a number of folds, "loo" (leave one out)
parameters      frequencies with any smoothing: "ml" (ε floor), "map", or a learner
==============  ==================================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from discbayes.kernels import scanning
from discbayes.objectives import ClassificationRate, ConditionalLikelihood, Margin, Objective, objective_of
from discbayes.parameters import PARAMETERS, MaximumAPosteriori, MaximumLikelihood
from discbayes.scores.families import Smoothing
from discbayes.scores.rows import check_evaluation


class SampleScore(BaseEstimator):
    """What a search that looks at the rows makes as large as it can.

    Parameters
    ----------
    objective : {"cr", "cl", "mm"} or Objective, default="cr"
        Classification rate, conditional log likelihood or margin.
    evaluation : "resubstitution", "loo" or int, default="resubstitution"
        Rows are scored by tables learned from all rows, from all but the row itself, or from the other folds.
    parameters : {"ml", "map"} or frequency learner, default="ml"
        How the tables are learned inside the search.

    Examples
    --------
    >>> SampleScore("mm", evaluation=5).checked().scale
    0.1
    """

    def __init__(self, objective: Any = "cr", evaluation: Any = "resubstitution", parameters: Any = "ml"):
        self.objective = objective
        self.evaluation = evaluation
        self.parameters = parameters

    def checked(self) -> SampleScore:
        """The score with objects for names; settings that make no sense are refused."""
        check_evaluation(self.evaluation)
        objective = objective_of(self.objective)
        objective._check()
        if isinstance(objective, Margin) and (objective.eta is not None or objective.kappa):
            raise ValueError(
                f"a structure search takes the hard margin, not {objective!r}: leave eta and kappa to the parameters"
            )
        return SampleScore(objective, self.evaluation, _frequencies(self.parameters))

    @property
    def kind(self) -> int:
        """The objective in the words of the kernels."""
        kinds = {
            ClassificationRate: scanning.RATE,
            ConditionalLikelihood: scanning.LIKELIHOOD,
            Margin: scanning.MARGIN,
        }
        return kinds[type(self.objective)]

    @property
    def scale(self) -> float:
        """λ of the margin; one for the others."""
        return float(self.objective.lam) if isinstance(self.objective, Margin) else 1.0

    @property
    def smoothing(self) -> Smoothing:
        """The smoothing of the tables."""
        return Smoothing(self.parameters)

    def rows(self, log_joint: np.ndarray, y: np.ndarray) -> np.ndarray:
        """What each row is worth."""
        objective: Objective = self.objective
        return objective.rows(log_joint, y)


def _frequencies(given: Any) -> MaximumLikelihood | MaximumAPosteriori:
    learner = PARAMETERS[given]() if isinstance(given, str) and given in PARAMETERS else given
    if not isinstance(learner, (MaximumLikelihood, MaximumAPosteriori)):
        raise ValueError(
            f'parameters={given!r}: inside a search parameters are frequencies, "ml" or "map" or an object such as '
            "MaximumLikelihood(epsilon=1e-5)"
        )
    learner._check()
    amount = learner.epsilon if isinstance(learner, MaximumLikelihood) else learner.strength
    if amount <= 0:
        raise ValueError(f"parameters={learner!r}: a search needs smoothing above zero, as log 0 has no margins")
    return learner
