"""Why the classifier says what it says, what would change its mind, and what to ask next."""

from discbayes.explanations.contributions import Explanation, explain
from discbayes.explanations.counterfactuals import Counterfactual, counterfactual
from discbayes.explanations.information import Information, value_of_information
from discbayes.explanations.relevance import Relevance, relevance
from discbayes.explanations.strength import edge_strengths

__all__ = [
    "Counterfactual",
    "Explanation",
    "Information",
    "Relevance",
    "counterfactual",
    "edge_strengths",
    "explain",
    "relevance",
    "value_of_information",
]
