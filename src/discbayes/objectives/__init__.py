"""Objectives: how good a log-joint is, given the classes of its rows.

====  =========================  =============================================  ========
name  class                      a row with class y is worth                    gradient
====  =========================  =============================================  ========
cr    ``ClassificationRate``     1 if y is the decision, else 0                 no
cl    ``ConditionalLikelihood``  log P(y | x)                                   yes
mm    ``Margin``                 min(1, λ·log d), d = P(y, x) / best rival's    yes
      ``Slack``                  −λ·max(0, γ − log d)                           yes
      ``SquaredError``           −½ Σ_c (1[c = y] − P(c | x))²                  yes
      ``MarginalLikelihood``     log P(x), for rows without a label             yes
====  =========================  =============================================  ========

Structure searches use the value, parameter learners the value and the gradient.
"""

from typing import Any

from discbayes.kernels.objective_rows import TIE
from discbayes.objectives.classification_rate import ClassificationRate
from discbayes.objectives.conditional_likelihood import ConditionalLikelihood
from discbayes.objectives.margin import Margin
from discbayes.objectives.marginal_likelihood import MarginalLikelihood
from discbayes.objectives.objective import NoGradientError, Objective, require_gradient
from discbayes.objectives.slack import Slack
from discbayes.objectives.squared_error import SquaredError

OBJECTIVES = {"cr": ClassificationRate, "cl": ConditionalLikelihood, "mm": Margin}


def objective_of(given: Any) -> Objective:
    """Return the objective behind a name, or the object itself.

    >>> objective_of("mm")
    Margin()
    """
    if isinstance(given, str) and given in OBJECTIVES:
        return OBJECTIVES[given]()
    if isinstance(given, Objective):
        return given
    if isinstance(given, type):
        raise TypeError(f"{given.__name__} is a class: pass an object, {given.__name__}(...)")
    kind = ValueError if isinstance(given, str) else TypeError
    raise kind(
        f"{given!r} is not an objective; it is one of {', '.join(map(repr, OBJECTIVES))}, or an"
        " object such as Margin()"
    )


__all__ = [
    "OBJECTIVES",
    "TIE",
    "ClassificationRate",
    "ConditionalLikelihood",
    "Margin",
    "MarginalLikelihood",
    "NoGradientError",
    "Objective",
    "Slack",
    "SquaredError",
    "objective_of",
    "require_gradient",
]
