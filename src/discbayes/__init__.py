"""Bayesian network classifiers: structure and parameters learned generatively or discriminatively.

>>> from discbayes import BayesNetClassifier, load_dataset
>>> wine = load_dataset("wine")
>>> clf = BayesNetClassifier(structure="tan", parameters="map").fit(wine.X, wine.y)
>>> clf.predict_proba(wine.X[:1]).round(3)
array([[1., 0., 0.]])
"""

from typing import TYPE_CHECKING, Any

from discbayes._version import __version__
from discbayes.bayesnet import BayesNet
from discbayes.classifier import BayesNetClassifier, BayesNetEnsemble
from discbayes.data import (
    Between,
    DataWarning,
    EqualFrequencyDiscretizer,
    Likelihood,
    MDLPDiscretizer,
    Not,
    OneOf,
    TwoResolutionDiscretizer,
)
from discbayes.explanations import (
    Counterfactual,
    Explanation,
    Information,
    Relevance,
    edge_strengths,
)
from discbayes.inference import EstimateWarning, TooManyCellsError
from discbayes.network import Structure
from discbayes.objectives import (
    ClassificationRate,
    ConditionalLikelihood,
    Margin,
    Slack,
    SquaredError,
)
from discbayes.parameters import (
    BNSVM,
    DFE,
    MLBNSVM,
    DiscriminativeCCBN,
    ExtendedCCBN,
    HierarchicalSmoothing,
    LevelWeightedCCBN,
    MaximumAPosteriori,
    MaximumConditionalLikelihood,
    MaximumLikelihood,
    MaxMargin,
    WeightedCCBN,
)
from discbayes.paths import margin_path
from discbayes.recipes import recipe, recipes
from discbayes.search import (
    KDB,
    Annealing,
    Branching,
    FixedStructure,
    GreedyEdges,
    HillClimb,
    MarkovBlanketClimb,
    NaiveBayes,
    OrderBased,
    SpanningTree,
    SuperParent,
)

if TYPE_CHECKING:
    from discbayes.checking import check
    from discbayes.datasets import list_datasets, load_dataset
    from discbayes.evaluation.comparison import compare
    from discbayes.io import load, read_bif, read_network, write_network

_LEAVES = {
    "check": "checking",
    "compare": "evaluation.comparison",
    "list_datasets": "datasets",
    "load": "io",
    "load_dataset": "datasets",
    "read_bif": "io",
    "read_network": "io",
    "write_network": "io",
}

__all__ = [
    "BNSVM",
    "DFE",
    "KDB",
    "MLBNSVM",
    "Annealing",
    "BayesNet",
    "BayesNetClassifier",
    "BayesNetEnsemble",
    "Between",
    "Branching",
    "ClassificationRate",
    "ConditionalLikelihood",
    "Counterfactual",
    "DataWarning",
    "DiscriminativeCCBN",
    "EqualFrequencyDiscretizer",
    "EstimateWarning",
    "Explanation",
    "ExtendedCCBN",
    "FixedStructure",
    "GreedyEdges",
    "HierarchicalSmoothing",
    "HillClimb",
    "Information",
    "LevelWeightedCCBN",
    "Likelihood",
    "MDLPDiscretizer",
    "Margin",
    "MarkovBlanketClimb",
    "MaxMargin",
    "MaximumAPosteriori",
    "MaximumConditionalLikelihood",
    "MaximumLikelihood",
    "NaiveBayes",
    "Not",
    "OneOf",
    "OrderBased",
    "Relevance",
    "Slack",
    "SpanningTree",
    "SquaredError",
    "Structure",
    "SuperParent",
    "TooManyCellsError",
    "TwoResolutionDiscretizer",
    "WeightedCCBN",
    "__version__",
    "check",
    "compare",
    "edge_strengths",
    "list_datasets",
    "load",
    "load_dataset",
    "margin_path",
    "read_bif",
    "read_network",
    "recipe",
    "recipes",
    "write_network",
]


def __getattr__(name: str) -> Any:
    """Import packages that few programs use on first access."""
    if name in _LEAVES or name == "plot":
        from discbayes._lazy_imports import leaf

        if name == "plot":
            return leaf("plot")
        return getattr(leaf(_LEAVES[name]), name)
    if name == "FactorTooLargeError":
        from discbayes._deprecation import warn_renamed

        warn_renamed("discbayes.FactorTooLargeError", "discbayes.TooManyCellsError")
        return TooManyCellsError
    raise AttributeError(f"module 'discbayes' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
