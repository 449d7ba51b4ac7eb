"""Parameter learners: from data and a structure to tables.

====  ================================  ==================================================
name  learner                           what it does
====  ================================  ==================================================
ml    ``MaximumLikelihood``             relative frequencies, zeros become ε
map   ``MaximumAPosteriori``            relative frequencies with virtual observations
cl    ``MaximumConditionalLikelihood``  maximises Σ log P(y | x), from ``ml`` on
====  ================================  ==================================================
"""

from typing import Protocol

from discbayes.counts import Counts
from discbayes.data.domain import Encoded
from discbayes.engine import Context
from discbayes.network import Structure, Tables
from discbayes.parameters.conditional import MaximumConditionalLikelihood
from discbayes.parameters.frequency import MaximumAPosteriori, MaximumLikelihood


class ParameterLearner(Protocol):
    """What the classifier asks of a parameter learner."""

    def learn(self, data: Encoded, counts: Counts, structure: Structure, context: Context) -> Tables:
        """Tables for the structure, learned from the data."""
        ...


PARAMETERS = {"ml": MaximumLikelihood, "map": MaximumAPosteriori, "cl": MaximumConditionalLikelihood}

__all__ = [
    "PARAMETERS",
    "MaximumAPosteriori",
    "MaximumConditionalLikelihood",
    "MaximumLikelihood",
    "ParameterLearner",
]
