"""Explanations of predictions: contributions, relevance, counterfactuals, value of information."""

from discbayes.explanations.contributions import Explanation, explain
from discbayes.explanations.counterfactuals import Counterfactual, counterfactual
from discbayes.explanations.edge_strength import edge_strengths
from discbayes.explanations.pooled import PooledExplanation, explain_pool
from discbayes.explanations.relevance import Relevance, relevance
from discbayes.explanations.same_decision import DecisionDraws, learn_decision_map
from discbayes.explanations.value_of_information import Information, value_of_information

__all__ = [
    "Counterfactual",
    "DecisionDraws",
    "Explanation",
    "Information",
    "PooledExplanation",
    "Relevance",
    "counterfactual",
    "edge_strengths",
    "explain",
    "explain_pool",
    "learn_decision_map",
    "relevance",
    "value_of_information",
]
