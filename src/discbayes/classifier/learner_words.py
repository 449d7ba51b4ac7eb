"""Learners in words, for progress messages, summaries and reports."""

from __future__ import annotations

import inspect
from typing import Any

from discbayes._text import shortened

STRUCTURE_WORDS = {
    "nb": "naive Bayes: no edges between features",
    "tan": "TAN: a tree by conditional mutual information",
    "tan-fcll": "TAN by factorized conditional likelihood",
    "tan-acll": "TAN by approximate conditional likelihood",
    "kdb": "KDB",
    "ghc": "hill climbing",
    "blanket": "Markov blanket by hill climbing",
    "greedy": "greedy search",
    "order": "order-based search",
    "anneal": "simulated annealing",
    "superparent": "super-parents",
}
PARAMETER_WORDS = {
    "hybrid": "conditional likelihood, regularized towards generative estimates",
    "ml": "relative frequencies",
    "map": "smoothed relative frequencies",
    "cl": "conditional likelihood",
    "ccbn-d": "unconstrained parameters by conditional likelihood (CCBN-d)",
    "ccbn-e": "normalized tables by conditional likelihood (CCBN-e)",
    "ccbn-w": "weighted generative estimates by conditional likelihood (CCBN-w)",
    "hierarchy": "relative frequencies that back off to fewer parents",
    "levels": "weighted back-off levels by conditional likelihood",
    "mm": "soft margin",
    "dfe": "discriminative frequencies",
    "bn-svm": "maximum margin (BN-SVM)",
    "ml-bn-svm": "maximum margin with a likelihood term (ML-BN-SVM)",
}
_CLASSES = {
    "NaiveBayes": "naive Bayes",
    "SpanningTree": "TAN",
    "Branching": "a directed tree",
    "KDB": STRUCTURE_WORDS["kdb"],
    "HillClimb": STRUCTURE_WORDS["ghc"],
    "MarkovBlanketClimb": STRUCTURE_WORDS["blanket"],
    "GreedyEdges": STRUCTURE_WORDS["greedy"],
    "OrderBased": STRUCTURE_WORDS["order"],
    "Annealing": STRUCTURE_WORDS["anneal"],
    "SuperParent": STRUCTURE_WORDS["superparent"],
    "FixedStructure": "the given structure",
    "MaximumLikelihood": PARAMETER_WORDS["ml"],
    "MaximumAPosteriori": PARAMETER_WORDS["map"],
    "MaximumConditionalLikelihood": PARAMETER_WORDS["cl"],
    "DiscriminativeCCBN": PARAMETER_WORDS["ccbn-d"],
    "ExtendedCCBN": PARAMETER_WORDS["ccbn-e"],
    "WeightedCCBN": PARAMETER_WORDS["ccbn-w"],
    "HierarchicalSmoothing": PARAMETER_WORDS["hierarchy"],
    "LevelWeightedCCBN": PARAMETER_WORDS["levels"],
    "MaxMargin": PARAMETER_WORDS["mm"],
    "DFE": PARAMETER_WORDS["dfe"],
    "BNSVM": PARAMETER_WORDS["bn-svm"],
    "MLBNSVM": PARAMETER_WORDS["ml-bn-svm"],
}
_MAX_REPR = 80  # characters of a learner of the user


def learner_in_words(learner: Any) -> str:
    """Return what a learner does, with those of its settings that are numbers or names.

    >>> from discbayes import KDB, ExtendedCCBN, MaximumAPosteriori
    >>> learner_in_words(KDB(k=2))
    'KDB (k=2)'
    >>> learner_in_words(ExtendedCCBN(generative=MaximumAPosteriori()))
    'normalized tables by conditional likelihood (CCBN-e)'
    """
    words = _CLASSES.get(type(learner).__name__)
    if words is None or not hasattr(learner, "get_params"):
        return shortened(repr(learner), _MAX_REPR)
    defaults = inspect.signature(type(learner)).parameters
    changed = [
        f"{name}={value}"
        for name, value in sorted(learner.get_params(deep=False).items())
        if isinstance(value, (str, int, float))
        and name in defaults
        and value != defaults[name].default
    ]
    return f"{words} ({', '.join(changed)})" if changed else words
