"""Explanations of predictions: contributions, relevance, counterfactuals, value of information."""

from discbayes.explanations.contributions import Explanation, explain
from discbayes.explanations.counterfactuals import Counterfactual, counterfactual
from discbayes.explanations.edge_strength import edge_strengths
from discbayes.explanations.pooled import PooledExplanation, explain_pool
from discbayes.explanations.questionnaire import Lookahead, Questionnaire, build_questionnaire
from discbayes.explanations.relevance import Relevance, relevance
from discbayes.explanations.same_decision import DecisionDraws, learn_decision_map
from discbayes.explanations.value_of_information import (
    Information,
    column_prices,
    value_of_information,
)

__all__ = [
    "Counterfactual",
    "DecisionDraws",
    "Explanation",
    "Information",
    "Lookahead",
    "PooledExplanation",
    "Questionnaire",
    "Relevance",
    "build_questionnaire",
    "column_prices",
    "counterfactual",
    "edge_strengths",
    "explain",
    "explain_pool",
    "learn_decision_map",
    "relevance",
    "value_of_information",
]
