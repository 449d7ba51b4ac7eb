"""Methods side by side on one table: running them, what was found, and the page of it."""

from discbayes.evaluation.comparison.result import Comparison
from discbayes.evaluation.comparison.running import compare

__all__ = ["Comparison", "compare"]
