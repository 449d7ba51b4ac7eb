"""The papers' tables and figures: one small file for each, with data, recipes, protocol, published
figures, tolerance.

``discbayes reproduce NAME`` runs what is not stored yet and writes a page with our figures beside
the published ones.
"""

from discbayes.experiments.papers.registry import ABSENT, EXPERIMENTS, find, reproduce, write_index
from discbayes.experiments.papers.spec import Experiment

__all__ = ["ABSENT", "EXPERIMENTS", "Experiment", "find", "reproduce", "write_index"]
