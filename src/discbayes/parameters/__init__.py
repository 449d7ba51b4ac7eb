"""Parameter learners: conditional probability tables from data and a structure.

=========  ================================  =====================================================
name       learner                           what it does
=========  ================================  =====================================================
hybrid     ``ExtendedCCBN``                  maximizes Σ log P(y | x), shrunk to ``map``
ml         ``MaximumLikelihood``             relative frequencies, zeros become ε
map        ``MaximumAPosteriori``            relative frequencies with virtual observations
cl         ``MaximumConditionalLikelihood``  maximizes Σ log P(y | x), from ``ml`` on, penalty 1
ccbn-d     ``DiscriminativeCCBN``            as ``cl`` over tables that are not normalized
ccbn-e     ``ExtendedCCBN``                  as ``cl`` over normalized tables, as in Z17
ccbn-w     ``WeightedCCBN``                  as ``cl`` over weights on generative log θ
hierarchy  ``HierarchicalSmoothing``         relative frequencies that back off to fewer parents
levels     ``LevelWeightedCCBN``             as ``cl`` over weights on the levels of ``hierarchy``
mm         ``MaxMargin``                     maximizes a soft margin, penalty 0.1
dfe        ``DFE``                           frequencies, each row weighted by 1 − P(y | x)
bn-svm     ``BNSVM``                         a support vector machine over the cells
ml-bn-svm  ``MLBNSVM``                       a trade-off of likelihood and margin
=========  ================================  =====================================================
"""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from discbayes.counts import Counts
from discbayes.data.rows import Rows
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
from discbayes.parameters.hierarchical import HierarchicalSmoothing
from discbayes.parameters.level_weights import LevelWeightedCCBN
from discbayes.parameters.max_margin import MaxMargin
from discbayes.parameters.svm import BNSVM, MLBNSVM


class ParameterLearner(Protocol):
    """The protocol of parameter learners."""

    def learn(self, data: Rows, counts: Counts, structure: Structure, context: Context) -> CPTs:
        """Learn the tables of a structure."""
        ...


HYBRID = "hybrid"


def _hybrid() -> ExtendedCCBN:
    """Return the default: discriminative tables, regularized towards generative ones."""
    return ExtendedCCBN("generative", 3.0, "generative", MaximumAPosteriori("dirichlet", 1.0))


PARAMETERS: dict[str, Callable[[], ParameterLearner]] = {
    HYBRID: _hybrid,
    "ml": MaximumLikelihood,
    "map": MaximumAPosteriori,
    # of the papers' learners with a penalty: to convergence without one they do worse on other rows
    "cl": partial(MaximumConditionalLikelihood, penalty=1.0),
    "ccbn-d": DiscriminativeCCBN,
    "ccbn-e": ExtendedCCBN,
    "ccbn-w": WeightedCCBN,
    "hierarchy": HierarchicalSmoothing,
    "levels": LevelWeightedCCBN,
    "mm": partial(MaxMargin, penalty=0.1),
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
    "HierarchicalSmoothing",
    "LevelWeightedCCBN",
    "MaxMargin",
    "MaximumAPosteriori",
    "MaximumConditionalLikelihood",
    "MaximumLikelihood",
    "ParameterLearner",
    "WeightedCCBN",
]
