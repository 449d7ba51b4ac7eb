"""Methods side by side on one table: running them, what was found, and the page of it."""

from discbayes.experiments.comparison.result import Comparison
from discbayes.experiments.comparison.running import compare

__all__ = ["Comparison", "compare"]
