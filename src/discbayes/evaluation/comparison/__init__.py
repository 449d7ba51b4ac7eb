"""Comparison of methods on one table: running them, the result, and its page."""

from discbayes.evaluation.comparison.result import Comparison
from discbayes.evaluation.comparison.running import compare

__all__ = ["Comparison", "compare"]
