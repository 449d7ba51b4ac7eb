"""Pictures with matplotlib (extra ``plot``)."""

from discbayes.plot.comparison import critical_difference_diagram, missing_curves, reliability_diagram, scatter_losses
from discbayes.plot.dots import fold_dots
from discbayes.plot.paths import margin_path

__all__ = [
    "critical_difference_diagram",
    "fold_dots",
    "margin_path",
    "missing_curves",
    "reliability_diagram",
    "scatter_losses",
]
