"""Why the classifier says what it says, what would change its mind, and what to ask next."""

from discbayes.explanations.contributions import Explanation, explain

__all__ = ["Explanation", "explain"]
