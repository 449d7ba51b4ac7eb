"""Why the classifier says what it says, what would change its mind, and what to ask next."""

from discbayes.explanations.contributions import Explanation, explain
from discbayes.explanations.strength import edge_strengths

__all__ = ["Explanation", "edge_strengths", "explain"]
