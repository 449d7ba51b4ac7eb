"""Bayesian network classifiers: structure and parameters learned generatively or discriminatively.

>>> from discbayes import BayesNetClassifier, load_dataset
>>> wine = load_dataset("wine")
>>> clf = BayesNetClassifier(structure="tan", parameters="map").fit(wine.X, wine.y)
>>> clf.predict_proba(wine.X[:1]).round(3)
array([[1., 0., 0.]])
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from discbayes._version import __version__

if TYPE_CHECKING:
    from discbayes.bayesnet import BayesNet
    from discbayes.checking import check
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
    from discbayes.datasets import list_datasets, load_dataset
    from discbayes.evaluation.comparison import compare
    from discbayes.explanations import (
        Counterfactual,
        Explanation,
        Information,
        Relevance,
        edge_strengths,
    )
    from discbayes.inference import EstimateWarning, TooManyCellsError
    from discbayes.io import load, read_bif, read_network, write_network
    from discbayes.io.trusted_types import TRUSTED_TYPES
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
else:
    from discbayes._lazy_imports import lazy_names

    _lazy, __dir__ = lazy_names(
        __name__,
        {
            "bayesnet": ["BayesNet"],
            "checking": ["check"],
            "classifier": ["BayesNetClassifier", "BayesNetEnsemble"],
            "data": [
                "Between",
                "DataWarning",
                "EqualFrequencyDiscretizer",
                "Likelihood",
                "MDLPDiscretizer",
                "Not",
                "OneOf",
                "TwoResolutionDiscretizer",
            ],
            "datasets": ["list_datasets", "load_dataset"],
            "evaluation.comparison": ["compare"],
            "explanations": [
                "Counterfactual",
                "Explanation",
                "Information",
                "Relevance",
                "edge_strengths",
            ],
            "inference": ["EstimateWarning", "TooManyCellsError"],
            "io": ["load", "read_bif", "read_network", "write_network"],
            "io.trusted_types": ["TRUSTED_TYPES"],
            "network": ["Structure"],
            "objectives": [
                "ClassificationRate",
                "ConditionalLikelihood",
                "Margin",
                "Slack",
                "SquaredError",
            ],
            "parameters": [
                "BNSVM",
                "DFE",
                "MLBNSVM",
                "DiscriminativeCCBN",
                "ExtendedCCBN",
                "HierarchicalSmoothing",
                "LevelWeightedCCBN",
                "MaximumAPosteriori",
                "MaximumConditionalLikelihood",
                "MaximumLikelihood",
                "MaxMargin",
                "WeightedCCBN",
            ],
            "paths": ["margin_path"],
            "recipes": ["recipe", "recipes"],
            "search": [
                "KDB",
                "Annealing",
                "Branching",
                "FixedStructure",
                "GreedyEdges",
                "HillClimb",
                "MarkovBlanketClimb",
                "NaiveBayes",
                "OrderBased",
                "SpanningTree",
                "SuperParent",
            ],
        },
        (
            "bayesnet",
            "calibration",
            "classifier",
            "costs",
            "counts",
            "data",
            "engine",
            "explanations",
            "inference",
            "kernels",
            "network",
            "objectives",
            "optim",
            "parameters",
            "paths",
            "plot",
            "scores",
            "scoring",
            "search",
            "streams",
        ),
    )

    def __getattr__(name: str) -> Any:
        """Import what is used for the first time."""
        if name == "FactorTooLargeError":
            from discbayes._deprecation import warn_renamed

            warn_renamed("discbayes.FactorTooLargeError", "discbayes.TooManyCellsError")
            return _lazy("TooManyCellsError")
        return _lazy(name)


class _Package(ModuleType):
    """The package itself: ``recipes`` is the function, also once its package is imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "recipes" and isinstance(value, ModuleType):
            value = value.recipes
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

__all__ = [
    "BNSVM",
    "DFE",
    "KDB",
    "MLBNSVM",
    "TRUSTED_TYPES",
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
