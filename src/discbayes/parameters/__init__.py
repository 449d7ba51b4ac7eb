"""Parameter learners: from data and a structure to tables."""

from typing import Protocol

from discbayes.counts import Counts
from discbayes.data.domain import Encoded
from discbayes.engine import Context
from discbayes.network import Structure, Tables
from discbayes.parameters.frequency import MaximumAPosteriori, MaximumLikelihood


class ParameterLearner(Protocol):
    """What the classifier asks of a parameter learner."""

    def learn(self, data: Encoded, counts: Counts, structure: Structure, context: Context) -> Tables:
        """Tables for the structure, learned from the data."""
        ...


PARAMETERS = {"ml": MaximumLikelihood, "map": MaximumAPosteriori}

__all__ = ["PARAMETERS", "MaximumAPosteriori", "MaximumLikelihood", "ParameterLearner"]
