"""Sample scores: the mean or sum of an objective over rows, in or out of the training rows.

A score is a point of a product:

==============  ==================================================================
objective       "cr", "cl", "mm", or an object such as ``Margin(0.1)``
evaluation      "resubstitution", a number of folds, "loo" (leave one out)
parameters      generative estimates with any smoothing: "ml" (ε floor), "map", or a
                learner; or tables that are trained for each candidate: "cl", or a learner
==============  ==================================================================

How candidates of a search are scored is in ``scoring/``.
"""

from __future__ import annotations

from collections.abc import Collection
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from discbayes._settings import is_integer
from discbayes.kernels import candidate_scan
from discbayes.objectives import (
    ClassificationRate,
    ConditionalLikelihood,
    Margin,
    Objective,
    objective_of,
)
from discbayes.parameters import PARAMETERS, MaximumAPosteriori, MaximumLikelihood, ParameterLearner

# Learners whose tables follow from the counts of each family.
GENERATIVE = (MaximumLikelihood, MaximumAPosteriori)

KINDS: dict[type, int] = {
    ClassificationRate: candidate_scan.ACCURACY,
    ConditionalLikelihood: candidate_scan.LIKELIHOOD,
    Margin: candidate_scan.MARGIN,
}


class SampleScore(BaseEstimator):
    """The score of a network on rows, which a search maximizes.

    Parameters
    ----------
    objective : {"cr", "cl", "mm"} or Objective, default="cr"
        Classification rate, conditional log likelihood or margin.
    evaluation : "resubstitution", "loo" or int, default="resubstitution"
        Rows are scored by tables that are learned from all rows, from all but the row itself, or
        from the other folds.
    parameters : str or parameter learner, default="ml"
        How tables are learned inside the search: by generative estimates ("ml", "map") or by any
        other learner ("cl").

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
        """Return the score with objects for names; raise an error for invalid settings.

        Returns
        -------
        SampleScore
            A score that can be used.

        Examples
        --------
        >>> SampleScore("cr").checked().objective
        ClassificationRate()
        """
        _check_evaluation(self.evaluation)
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
        if checked.refits and self.evaluation == "loo":
            raise ValueError(
                'evaluation="loo" needs generative estimates, from which a row can be removed, and'
                f" not {self.parameters!r}: use a number of folds, evaluation=5"
            )
        return checked

    @property
    def refits(self) -> bool:
        """Whether the parameters of each candidate are learned as a whole.

        This includes subclasses of generative learners, as they may use counts in any way.
        """
        return type(self.parameters) not in GENERATIVE

    @property
    def kind(self) -> int:
        """The code of the objective in the kernels."""
        return KINDS[type(self.objective)]

    @property
    def is_mean(self) -> bool:
        """Whether papers report the mean over rows, not the sum."""
        return self.kind == candidate_scan.ACCURACY

    @property
    def max_value(self) -> float:
        """The largest value that a row can have."""
        return 0.0 if self.kind == candidate_scan.LIKELIHOOD else 1.0

    @property
    def scale(self) -> float:
        """λ of the margin; one for other objectives."""
        return float(self.objective.lam) if isinstance(self.objective, Margin) else 1.0

    def rows(self, log_joint: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the value of each row.

        Parameters
        ----------
        log_joint : array (n_rows, n_classes)
            The log-joint of each row and class.
        y : array (n_rows,)
            The class of each row.

        Returns
        -------
        array (n_rows,)
            The values.

        Examples
        --------
        >>> SampleScore("cr").checked().rows(np.log([[0.7, 0.3], [0.4, 0.6]]), np.array([0, 0]))
        array([1., 0.])
        """
        objective: Objective = self.objective
        return objective.rows(log_joint, y)


def _check_evaluation(evaluation: Any) -> None:
    if not is_integer(evaluation, 2) and evaluation not in ("resubstitution", "loo"):
        raise ValueError(
            f'evaluation={evaluation!r} is not "resubstitution", "loo" or a number of folds that is'
            " at least 2"
        )


def _learner(given: Any) -> ParameterLearner:
    learner = PARAMETERS[given]() if isinstance(given, str) and given in PARAMETERS else given
    if isinstance(learner, type) or "structure" not in _arguments(learner):
        raise ValueError(
            f"parameters={given!r}: inside a search parameters are generative estimates,"
            ' "ml" or "map", or those of another learner, "cl", or an object such as'
            " MaximumLikelihood(epsilon=1e-5)"
        )
    if hasattr(learner, "_check"):
        learner._check()
    if isinstance(learner, GENERATIVE) and learner.missing == "em":
        raise ValueError(
            f"parameters={learner!r}: a search counts families one by one, without EM. Use"
            ' missing="available" inside the search, and missing="em" for the tables of the'
            " structure that it finds"
        )
    if isinstance(learner, MaximumAPosteriori):
        learner._require_plain("sample scores inside a search")
    if isinstance(learner, GENERATIVE) and not _smooths(learner):
        raise ValueError(
            f"parameters={learner!r}: a search needs smoothing above zero, as log 0 has no margins"
        )
    return learner


def _arguments(learner: Any) -> Collection[str]:
    """Return the arguments of ``learn``: parameter learners take a structure, searches do not."""
    return signature(learner.learn).parameters if hasattr(learner, "learn") else ()


def _smooths(learner: MaximumLikelihood | MaximumAPosteriori) -> bool:
    return (learner.epsilon if isinstance(learner, MaximumLikelihood) else learner.strength) > 0
