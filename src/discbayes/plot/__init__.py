"""Plots with matplotlib (extra ``plot``): each takes axes, or makes new ones, and returns them."""

from discbayes.plot.bars import class_bars
from discbayes.plot.comparison import (
    critical_difference_diagram,
    missing_curve_of,
    missing_curves,
    reliability_diagram,
    scatter_losses,
)
from discbayes.plot.contribution_bars import relevance, waterfall
from discbayes.plot.cpt_heatmap import table
from discbayes.plot.dots import fold_dots
from discbayes.plot.networks import network
from discbayes.plot.training_curves import history, margin_path

__all__ = [
    "class_bars",
    "critical_difference_diagram",
    "fold_dots",
    "history",
    "margin_path",
    "missing_curve_of",
    "missing_curves",
    "network",
    "relevance",
    "reliability_diagram",
    "scatter_losses",
    "table",
    "waterfall",
]
