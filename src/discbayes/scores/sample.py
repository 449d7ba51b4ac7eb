"""Sample scores: an objective on the log-joint of the rows, evaluated on rows that were, or were
not, learned from.

A score is a point of a product:

==============  ==================================================================
objective       "cr", "cl", "mm", or an object such as ``Margin(0.1)``
evaluation      "resubstitution", a number of folds, "loo" (leave one out)
parameters      frequencies with any smoothing: "ml" (ε floor), "map", or a learner;
                or tables that are trained: "cl", or a learner (``scores/refitting_scorer.py``)
==============  ==================================================================
"""

from __future__ import annotations

from collections.abc import Collection
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from discbayes.kernels import candidate_scan
from discbayes.objectives import (
    ClassificationRate,
    ConditionalLikelihood,
    Margin,
    Objective,
    objective_of,
)
from discbayes.parameters import PARAMETERS, MaximumAPosteriori, MaximumLikelihood, ParameterLearner
from discbayes.scores.candidate_families import Smoothing
from discbayes.scores.scoring_rows import check_evaluation

# learners whose tables follow from counts, family by family
FREQUENCIES = (MaximumLikelihood, MaximumAPosteriori)

KINDS: dict[type, int] = {
    ClassificationRate: candidate_scan.RATE,
    ConditionalLikelihood: candidate_scan.LIKELIHOOD,
    Margin: candidate_scan.MARGIN,
}


class SampleScore(BaseEstimator):
    """What a search that looks at the rows makes as large as it can.

    Parameters
    ----------
    objective : {"cr", "cl", "mm"} or Objective, default="cr"
        Classification rate, conditional log likelihood or margin.
    evaluation : "resubstitution", "loo" or int, default="resubstitution"
        Rows are scored by tables learned from all rows, from all but the row itself, or from the
        other folds.
    parameters : str or parameter learner, default="ml"
        How the tables are learned inside the search: by frequencies ("ml", "map") or by any other
        learner ("cl").

    Examples
    --------
    >>> SampleScore("mm", evaluation=5).checked().scale
    0.1
    """

    def __init__(
        self, objective: Any = "cr", evaluation: Any = "resubstitution", parameters: Any = "ml"
    ):
        self.objective = objective
        self.evaluation = evaluation
        self.parameters = parameters

    def checked(self) -> SampleScore:
        """The score with objects for names; settings that make no sense are refused."""
        check_evaluation(self.evaluation)
        objective = objective_of(self.objective)
        objective._check()
        if type(objective) not in KINDS:
            known = ", ".join(kind.__name__ for kind in KINDS)
            raise ValueError(f"{objective!r}: a structure search knows the objectives {known} only")
        if isinstance(objective, Margin) and (objective.eta is not None or objective.kappa):
            raise ValueError(
                f"a structure search takes the hard margin, not {objective!r}: leave eta and kappa"
                " to the parameters"
            )
        checked = SampleScore(objective, self.evaluation, _learner(self.parameters))
        if checked.trained and self.evaluation == "loo":
            raise ValueError(
                'evaluation="loo" needs frequencies, from which a row can be taken away, and not'
                f" {self.parameters!r}: use a number of folds, evaluation=5"
            )
        return checked

    @property
    def trained(self) -> bool:
        """Whether each candidate is learned as a whole: what a subclass makes of counts is not
        known here.
        """
        return type(self.parameters) not in FREQUENCIES

    @property
    def kind(self) -> int:
        """The objective in the words of the kernels."""
        return KINDS[type(self.objective)]

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


def _learner(given: Any) -> ParameterLearner:
    learner = PARAMETERS[given]() if isinstance(given, str) and given in PARAMETERS else given
    if isinstance(learner, type) or "structure" not in _arguments(learner):
        raise ValueError(
            f'parameters={given!r}: inside a search parameters are frequencies, "ml" or "map", or'
            ' those of another learner, "cl", or an object such as MaximumLikelihood(epsilon=1e-5)'
        )
    if hasattr(learner, "_check"):
        learner._check()
    if isinstance(learner, FREQUENCIES) and learner.missing == "em":
        raise ValueError(
            f"parameters={learner!r}: a search counts families one by one, without EM. Use"
            ' missing="available" inside the search, and missing="em" for the tables of the structure'
            " that it finds"
        )
    if isinstance(learner, FREQUENCIES) and _amount(learner) <= 0:
        raise ValueError(
            f"parameters={learner!r}: a search needs smoothing above zero, as log 0 has no margins"
        )
    return learner


def _arguments(learner: Any) -> Collection[str]:
    """What the method that makes a learner of parameters takes: the structure is what tells them
    from searches.
    """
    return signature(learner.learn).parameters if hasattr(learner, "learn") else ()


def _amount(learner: MaximumLikelihood | MaximumAPosteriori) -> float:
    return learner.epsilon if isinstance(learner, MaximumLikelihood) else learner.strength
