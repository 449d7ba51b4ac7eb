"""Parameter learners: from data and a structure to tables.

=========  ================================  =====================================================
name       learner                           what it does
=========  ================================  =====================================================
hybrid     ``ExtendedCCBN``                  maximises Σ log P(y | x), pulled towards frequencies
ml         ``MaximumLikelihood``             relative frequencies, zeros become ε
map        ``MaximumAPosteriori``            relative frequencies with virtual observations
cl         ``MaximumConditionalLikelihood``  maximises Σ log P(y | x), from ``ml`` on
ccbn-d     ``DiscriminativeCCBN``            the same over numbers that are not normalised
ccbn-e     ``ExtendedCCBN``                  the same over normalised tables, as in Z17
ccbn-w     ``WeightedCCBN``                  the same over weights on generative log θ
mm         ``MaxMargin``                     maximises a soft margin
dfe        ``DFE``                           frequencies, each row counted by 1 − P(y | x)
bn-svm     ``BNSVM``                         a support vector machine over the cells
ml-bn-svm  ``MLBNSVM``                       likelihood and margin, with a dial between them
=========  ================================  =====================================================
"""

from collections.abc import Callable
from typing import Protocol

from discbayes.counts import Counts
from discbayes.data.domain import Encoded
from discbayes.engine import Context
from discbayes.network import CPTs, Structure
from discbayes.parameters.conditional import (
    DiscriminativeCCBN,
    ExtendedCCBN,
    MaximumConditionalLikelihood,
    WeightedCCBN,
)
from discbayes.parameters.dfe import DFE
from discbayes.parameters.generative import MaximumAPosteriori, MaximumLikelihood
from discbayes.parameters.max_margin import MaxMargin
from discbayes.parameters.svm import BNSVM, MLBNSVM


class ParameterLearner(Protocol):
    """What the classifier asks of a parameter learner."""

    def learn(self, data: Encoded, counts: Counts, structure: Structure, context: Context) -> CPTs:
        """Tables for the structure, learned from the data."""
        ...


HYBRID = "hybrid"  # the default of the classifier


def _hybrid() -> ExtendedCCBN:
    """Normalised tables between the generative model, one added to each count, and the
    discriminative one.
    """
    return ExtendedCCBN("generative", 3.0, "generative", MaximumAPosteriori("dirichlet", 1.0))


PARAMETERS: dict[str, Callable[[], ParameterLearner]] = {
    HYBRID: _hybrid,
    "ml": MaximumLikelihood,
    "map": MaximumAPosteriori,
    "cl": MaximumConditionalLikelihood,
    "ccbn-d": DiscriminativeCCBN,
    "ccbn-e": ExtendedCCBN,
    "ccbn-w": WeightedCCBN,
    "mm": MaxMargin,
    "dfe": DFE,
    "bn-svm": BNSVM,
    "ml-bn-svm": MLBNSVM,
}

__all__ = [
    "BNSVM",
    "DFE",
    "HYBRID",
    "MLBNSVM",
    "PARAMETERS",
    "DiscriminativeCCBN",
    "ExtendedCCBN",
    "MaxMargin",
    "MaximumAPosteriori",
    "MaximumConditionalLikelihood",
    "MaximumLikelihood",
    "ParameterLearner",
    "WeightedCCBN",
]
